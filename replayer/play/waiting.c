/* SPDX-License-Identifier: MIT */
#include "replayer/play/waiting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/command/parallel.h"
#include "replayer/play/player.h"

#define MOST_BYTES 65536u /* of a request */

/* The last packet in front of the frame; 0: there is none. */
static uint64_t last_played(const struct replay *r)
{
    return r->options.wait > 1 ? lap_reader_frame_end(r->reader, r->options.wait - 2) : 0;
}

enum lap_status replay_wait(struct replay *r)
{
    uint64_t frames = lap_reader_summary(r->reader)->frames;
    enum lap_status status;

    if (r->program && r->options.pictures.folder)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "a replay program is no trace to change");
    if (r->options.wait > frames + 1)
        return lap_fail(LAP_ERROR_ARGUMENT, "there is no frame %" PRIu64 " to wait in front of: the trace has %" PRIu64,
                        r->options.wait, frames);
    status = replay_run_before(r, r->options.wait);
    if (status != LAP_OK)
        return status;
    lap_log(r->log, LAP_LOG_INFO, "waits in front of frame %" PRIu64, r->options.wait);
    replay_progress_wait(r);
    return LAP_OK;
}

/* ---- the request ---- */

/* One without words has one zero. */
static bool is_whole(const char *text, size_t bytes)
{
    return bytes && !text[bytes - 1] && (bytes == 1 || !text[bytes - 2]);
}

static enum lap_status split(struct replay_request *request)
{
    int count = 0;

    for (const char *at = request->text; *at; at += strlen(at) + 1)
        count++;
    request->words = calloc((size_t)count + 1, sizeof *request->words);
    if (!request->words)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a request");
    for (char *at = request->text; *at; at += strlen(at) + 1)
        request->words[request->count++] = at;
    return LAP_OK;
}

enum lap_status replay_request_read(int fd, struct replay_request *out)
{
    size_t bytes = 0;
    ssize_t got = 1;

    *out = (struct replay_request){.text = malloc(MOST_BYTES)};
    if (!out->text)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a request");
    while (!is_whole(out->text, bytes) && bytes < MOST_BYTES && got) {
        got = read(fd, out->text + bytes, MOST_BYTES - bytes);
        if (got < 0 && errno != EINTR)
            return lap_fail(LAP_ERROR_IO, "a request can't be read: %s", strerror(errno));
        bytes += got > 0 ? (size_t)got : 0;
    }
    if (!bytes)
        return LAP_END;
    return is_whole(out->text, bytes)
               ? split(out)
               : lap_fail(LAP_ERROR_ARGUMENT, "a request ends with an empty word, and has 64 KiB at most");
}

void replay_request_finish(struct replay_request *request)
{
    free(request->words);
    free(request->text);
}

/* ---- going on ---- */

/* Whether the replay began with this change. Lists have the order of packets, and *at moves on in `before`. */
static bool was_there(const struct lap_edits *before, const struct lap_edit *edit, size_t *at)
{
    size_t count = 0;
    const struct lap_edit *list = before ? lap_edits_list(before, &count) : NULL;

    while (*at < count && list[*at].ticket < edit->ticket)
        ++*at;
    for (size_t i = *at; i < count && list[i].ticket == edit->ticket; i++)
        if (list[i].kind == edit->kind && list[i].command == edit->command && list[i].bytes == edit->bytes &&
            (!edit->bytes || memcmp(list[i].body, edit->body, edit->bytes) == 0))
            return true;
    return false;
}

static enum lap_status is_too_late(const struct lap_edits *before, const struct lap_edits *edits, uint64_t played)
{
    size_t count, at = 0;
    const struct lap_edit *list = lap_edits_list(edits, &count);

    if (lap_edits_last_ticket(edits) <= played)
        return lap_fail(LAP_AGAIN, "this is in front of what was played already");
    for (size_t i = 0; i < count && list[i].ticket <= played; i++)
        if ((list[i].kind == LAP_EDIT_BEHIND) == was_there(before, &list[i], &at))
            return lap_fail(LAP_AGAIN, "this changes packet %" PRIu64 ", which was played already", list[i].ticket);
    return LAP_OK;
}

/* The new packets behind one. */
static enum lap_status play_behind(struct replay *r, uint64_t ticket)
{
    enum lap_status status = lap_reader_seek(r->reader, ticket);

    while (status == LAP_OK && (status = lap_reader_next(r->reader, &r->at.packet)) == LAP_OK &&
           r->at.packet.ticket == ticket)
        if (r->at.packet.is_new)
            status = replay_packet(r);
    return status;
}

/* What such a packet uses may have ended since then: no call is left out. */
static enum lap_status play_late(struct replay *r, uint64_t played)
{
    bool strict = r->options.strict;
    size_t count;
    const struct lap_edit *list = lap_edits_list(r->edits, &count);
    enum lap_status status = LAP_OK;

    r->options.strict = true;
    for (size_t i = 0; i < count && list[i].ticket <= played && status == LAP_OK; i++)
        if (i == 0 || list[i - 1].ticket != list[i].ticket)
            status = play_behind(r, list[i].ticket);
    if (status == LAP_OK)
        status = replay_parallel_finish(r);
    r->options.strict = strict;
    r->at.packet = (struct lap_packet){0};
    return status == LAP_OK ? LAP_OK : lap_fail(LAP_AGAIN, "this can't be added any more: %s", lap_error_message());
}

enum lap_status replay_wait_end(struct replay *r, const struct replay_options *asked)
{
    const struct lap_reader_options options = {.trusts_blobs = true};
    const uint64_t played = last_played(r);
    struct edit_work work = {.wanted = &r->options.experiments,
                             .log = r->log,
                             .after = &r->options.pictures.after,
                             .wish = &r->options.pictures.wish,
                             .each = &r->options.pictures.each,
                             .pictures = asked->pictures.list,
                             .texel = asked->texel.wanted ? &asked->texel.wish : NULL,
                             .history = asked->texel.history,
                             .counted = &r->options.overdraw.wish,
                             .counts = asked->overdraw.counts,
                             .meshed = &r->options.mesh.wish,
                             .vertices = r->options.mesh.values,
                             .debugged = &r->options.debug.wish,
                             .values = asked->debug.values};
    enum lap_status status;

    r->waited = true;
    if (!r->options.pictures.folder)
        return LAP_OK;
    r->holds = false;
    r->options.experiments = asked->experiments;
    r->options.pictures = asked->pictures;
    r->options.pictures.each.names = asked->pictures.names;
    r->options.texel = asked->texel;
    r->options.debug = asked->debug;
    r->options.overdraw = asked->overdraw;
    r->options.mesh = asked->mesh;
    r->options.json = asked->json;
    status = lap_reader_open_again(r->reader, NULL, &work.reader);
    if (status != LAP_OK)
        return status;
    status = edit_experiments_apply(&work, &options);
    if (status == LAP_OK && work.pictures->next)
        status = lap_fail(LAP_AGAIN, "the pictures take several replays");
    r->reader_before = r->reader;
    r->reader = work.reader;
    r->edits_before = r->edits;
    r->edits = work.edits;
    if (status == LAP_OK)
        status = is_too_late(r->edits_before, r->edits, played);
    if (status == LAP_OK)
        status = play_late(r, played);
    return status == LAP_OK ? lap_reader_seek(r->reader, played + 1) : status;
}
