/* SPDX-License-Identifier: MIT */
#include "replayer/core/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "replayer/core/replay.h"

#define STEP_MS 100u

/* waits: for room. A pipe with some has enough for a line. */
static void put(struct replay *r, const char *line, size_t bytes, bool waits)
{
    struct pollfd to = {.fd = r->progress.fd, .events = POLLOUT};

    while (bytes) {
        int ready = poll(&to, 1, waits ? -1 : 0);
        ssize_t written = ready > 0 ? write(to.fd, line, bytes) : -1;
        if (ready == 0 || (ready > 0 && written < 0 && errno == EAGAIN && !waits))
            return;
        if (written < 0 && errno != EINTR && errno != EAGAIN) {
            r->progress.fd = 0; /* nobody reads it any more */
            return;
        }
        if (written > 0) {
            line += written;
            bytes -= (size_t)written;
            waits = true; /* a line that has begun is ended */
        }
    }
}

static void show(struct replay *r, uint64_t done)
{
    char line[80];
    int length = snprintf(line, sizeof line, "{\"done\":%" PRIu64 ",\"all\":%" PRIu64 "}\n", done, r->progress.all);

    put(r, line, (size_t)length, false);
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void replay_progress_begin(struct replay *r)
{
    uint64_t all = lap_reader_summary(r->reader)->packets; /* with --after: up to there */

    r->progress = (struct replay_progress){.fd = r->options.progress_fd, .shown_ms = replay_now_ms()};
    if (r->options.last_frame)
        all = lesser(all, lap_reader_frame_end(r->reader, r->options.last_frame - 1));
    if (r->options.wait && !r->waited)
        all = r->options.wait > 1 ? lesser(all, lap_reader_frame_end(r->reader, r->options.wait - 2)) : 0;
    if (r->options.stop_at)
        all = lesser(all, r->options.stop_at);
    r->progress.all = all;
}

void replay_progress_show(struct replay *r)
{
    uint64_t now;

    if (!r->progress.fd || r->at.packet.ticket >= r->progress.all) /* the last line is that of the end */
        return;
    now = replay_now_ms();
    if (now - r->progress.shown_ms < STEP_MS)
        return;
    r->progress.shown_ms = now;
    show(r, r->at.packet.ticket);
}

void replay_progress_end(struct replay *r)
{
    if (r->progress.fd)
        show(r, r->progress.all);
}

void replay_progress_wait(struct replay *r)
{
    char line[80];
    int length = snprintf(line, sizeof line, "{\"waits\":%" PRIu64 "}\n", r->options.wait);

    if (r->progress.fd)
        put(r, line, (size_t)length, true);
}

void replay_progress_screenshot(struct replay *r, uint64_t frame, const char *file)
{
    char line[128];
    int length;

    if (!r->progress.fd)
        return;
    length = snprintf(line, sizeof line, "{\"screenshot\":%" PRIu64 ",\"file\":\"%s\"}\n", frame, file);
    put(r, line, (size_t)length, true);
}
