/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "trace/format/chunk.h"
#include "trace/read/reader.h"
#include "trace/rewrite.h"

static enum lap_status differ(const char *what, uint64_t number)
{
    return lap_fail(LAP_ERROR_FORMAT, "%s %" PRIu64 " differs from the source", what, number);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_names(const struct lap_reader *a, const struct lap_reader *b,
                       uint32_t (*count)(const struct lap_reader *),
                       const char *(*name)(const struct lap_reader *, uint64_t))
{
    bool same = count(a) == count(b);
    for (uint32_t i = 0; same && i < count(a); i++)
        same = same_text(name(a, i), name(b, i));
    return same;
}

/* Calls that had not returned follow the old one's reason; those of a tail file stay there. */
static bool same_end(const struct lap_reader_summary *x, const struct lap_reader_summary *y)
{
    if (x->complete != y->complete || !x->stopped != !y->stopped || (y->ended && !same_text(x->ended, y->ended)))
        return false;
    return !x->stopped ||
           strncmp(x->stopped, y->stopped, x->in_flight_count ? strlen(y->stopped) : LAP_END_REASON_BYTES - 1) == 0;
}

static enum lap_status compare_wholes(const struct lap_reader *a, const struct lap_reader *b)
{
    const struct lap_reader_summary *x = lap_reader_summary(a), *y = lap_reader_summary(b);
    const char *what = NULL;
    if (!same_names(a, b, lap_reader_command_count, lap_reader_command_name) ||
        !same_names(a, b, lap_reader_struct_count, lap_reader_struct_name) ||
        !same_names(a, b, lap_reader_handle_type_count, lap_reader_handle_type_name))
        what = "the dictionary";
    else if (!same_text(x->info, y->info))
        what = "the information";
    else if (!same_end(x, y))
        what = "the end";
    else if (x->frames != y->frames || x->packets != y->packets)
        what = "the number of frames or packets";
    else if (x->blobs != y->blobs || x->blob_bytes != y->blob_bytes ||
             memcmp(x->counters, y->counters, sizeof(x->counters)) != 0)
        what = "a total";
    return what ? lap_fail(LAP_ERROR_FORMAT, "%s differs from the source", what) : LAP_OK;
}

static enum lap_status compare_blob(struct lap_reader *a, struct lap_reader *b, uint64_t id)
{
    enum lap_status status = LAP_ERROR_FORMAT;
    const uint8_t *x = NULL, *y = NULL;
    size_t x_bytes = 0, y_bytes = 0;
    int kind = 0;
    for (; kind <= LAP_BLOB_PACKET && status == LAP_ERROR_FORMAT; kind++) /* a reader wants its kind */
        status = lap_reader_blob(a, (enum lap_blob_kind)kind, id, &x, &x_bytes);
    if (status == LAP_OK)
        status = lap_reader_blob(b, (enum lap_blob_kind)(kind - 1), id, &y, &y_bytes);
    if (status != LAP_OK)
        return status;
    return x_bytes == y_bytes && memcmp(x, y, x_bytes) == 0 ? LAP_OK : differ("blob", id);
}

static bool same_packet(const struct lap_packet *a, const struct lap_packet *b)
{
    return a->command == b->command && a->stream == b->stream && a->flags == b->flags && a->ticket == b->ticket &&
           a->epoch == b->epoch && a->frame == b->frame && a->thread_id == b->thread_id && a->bytes == b->bytes &&
           memcmp(a->body, b->body, a->bytes) == 0;
}

static enum lap_status compare_packets(struct lap_reader *a, struct lap_reader *b,
                                       const struct lap_rewrite_options *options)
{
    struct lap_packet x, y;
    uint64_t all = lap_reader_summary(a)->packets;
    for (;;) {
        enum lap_status status = lap_reader_next(a, &x);
        if (status < 0)
            return status;
        enum lap_status other = lap_reader_next(b, &y);
        if (other < 0)
            return other;
        if (status != other)
            return lap_fail(LAP_ERROR_FORMAT, "one of them ends earlier");
        if (status == LAP_END)
            return LAP_OK;
        if (!same_packet(&x, &y))
            return differ("packet", x.ticket);
        if (options->progress)
            options->progress(options->user, x.ticket, all);
    }
}

enum lap_status lap_rewrite_compare(const char *from, const char *to, const struct lap_rewrite_options *options)
{
    struct lap_reader *a = NULL, *b = NULL;
    enum lap_status status = lap_reader_open(from, NULL, &a);
    if (status == LAP_OK)
        status = lap_reader_open(to, NULL, &b);
    if (status == LAP_OK)
        status = compare_wholes(a, b);
    for (uint64_t id = 1; status == LAP_OK && id <= lap_reader_summary(a)->blobs; id++) {
        status = compare_blob(a, b, id);
        if (status == LAP_OK) /* the data read so far may be freed */
            status = lap_reader_rewind(a);
        if (status == LAP_OK)
            status = lap_reader_rewind(b);
    }
    if (status == LAP_OK)
        status = compare_packets(a, b, options);
    lap_reader_close(&a);
    lap_reader_close(&b);
    return status;
}
