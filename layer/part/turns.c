/* SPDX-License-Identifier: MIT */
#include "layer/part/turns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layer/core/layer.h"
#include "trace/format/file.h"
#include "trace/send/send.h"

#define RETRY_FRAMES 100u /* where nothing is recorded, so that no bytes can be counted */

/* A recording that has ended, and may be dropped. */
struct ended {
    char *path; /* NULL: there is no file */
    dev_t device;
    ino_t inode;
    struct lap_own_file connection; /* or it is streamed */
};

static struct {
    struct lap_length length; /* that is kept */
    struct layer_turn_time since;
    uint64_t bytes; /* in the newer file, at that time */
    bool keep;      /* neither recording is dropped */
    bool asked;     /* for the next turn, which has not been tried yet */
    struct ended older;
    struct ended newer; /* while a turn is taken; here, since the process may fork meanwhile */
} turns = {.older.connection = {.fd = -1}, .newer.connection = {.fd = -1}};

static void keep_older(void)
{
    free(turns.older.path);
    turns.older.path = NULL;
    lap_own_file_release(&turns.older.connection);
}

void layer_turns_init(void)
{
    keep_older();
    memset(&turns, 0, sizeof turns);
    lap_own_file_init(&turns.older.connection, -1, NULL);
    lap_own_file_init(&turns.newer.connection, -1, NULL);
    turns.length = layer.options.parts.keep_last;
}

void layer_turns_forked(void)
{
    lap_own_file_disown(&turns.older.connection);
    lap_own_file_disown(&turns.newer.connection);
}

void layer_turns_set(const struct lap_length *length)
{
    turns.length = *length;
}

const struct lap_length *layer_turns_length(void)
{
    return &turns.length;
}

static uint64_t bytes_so_far(void)
{
    struct lap_writer *writer = atomic_load(&layer.writer);
    return writer ? lap_writer_bytes(writer) : 0;
}

void layer_turn_taken(const struct layer_turn_time *now)
{
    turns.since = *now;
    turns.bytes = bytes_so_far();
    turns.asked = false;
}

static uint64_t length_so_far(const struct layer_turn_time *now)
{
    if (!atomic_load(&layer.writer) && turns.length.unit == LAP_LENGTH_BYTES)
        return turns.asked || now->frames - turns.since.frames >= RETRY_FRAMES;
    switch (turns.length.unit) {
    case LAP_LENGTH_MILLISECONDS:
        return now->milliseconds - turns.since.milliseconds;
    case LAP_LENGTH_FRAMES:
        return now->frames - turns.since.frames;
    case LAP_LENGTH_BYTES:
        return bytes_so_far() - turns.bytes;
    case LAP_LENGTH_NONE:
        break;
    }
    return 0;
}

/* A thread that has crashed in a call may be reporting that, while others go on: the file with the call must stay the
 * newer one. But not for longer than this factor, as the thread may have left the call for good. */
#define LONGER_AFTER_CRASH 2

bool layer_turn_is_due(const struct layer_turn_time *now)
{
    const uint64_t amount = turns.length.amount, length = length_so_far(now);

    if (turns.length.unit == LAP_LENGTH_NONE)
        return false;
    return turns.asked || (length >= amount && (!layer_notes_crashed() || length / LONGER_AFTER_CRASH >= amount));
}

void layer_turn_keep(void)
{
    turns.keep = turns.asked = true;
}

static void say_that_it_stays(const char *name, int error)
{
    lap_log(&layer.log, LAP_LOG_WARNING, "%s stays, though it is no longer needed: %s", name,
            lap_file_error_text(error));
}

/* Deletes only the layer's own file: another file that has replaced it stays. */
static void drop_older(void)
{
    const struct ended *older = &turns.older;
    struct stat info;

    if (older->path && lstat(older->path, &info) == 0 && info.st_dev == older->device && info.st_ino == older->inode &&
        unlink(older->path) != 0)
        say_that_it_stays(older->path, errno);
    if (lap_own_file_is_open(&older->connection)) {
        int error = lap_send_forget(&turns.older.connection);
        if (error)
            say_that_it_stays("a streamed trace", error);
    }
    keep_older();
}

void layer_turn_end(uint64_t *out_frames, uint64_t *out_bytes)
{
    struct lap_writer *writer = atomic_load(&layer.writer);
    struct ended *newer = &turns.newer;
    struct stat info;
    const char *path = writer && !turns.keep ? lap_writer_file(writer, &info) : NULL;

    newer->path = path ? strdup(path) : NULL;
    if (newer->path) {
        newer->device = info.st_dev;
        newer->inode = info.st_ino;
    }
    layer_recording_close(out_frames, out_bytes, turns.keep ? NULL : &newer->connection);
    if (turns.keep)
        keep_older();
    else
        drop_older();
    turns.keep = false;
    turns.older.path = newer->path;
    turns.older.device = newer->device;
    turns.older.inode = newer->inode;
    lap_own_file_move(&newer->connection, &turns.older.connection);
    newer->path = NULL;
}

void layer_turns_end(void)
{
    turns.keep = turns.asked = false;
    keep_older();
}
