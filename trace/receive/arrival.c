/* SPDX-License-Identifier: MIT */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include "trace/receive/arrival.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "trace/format/chunk.h"
#include "trace/format/dictionary.h"
#include "trace/format/file.h"
#include "trace/read/source.h"
#include "trace/recover/finish.h"

#define BUFFER_BYTES ((size_t)256 << 10)
#define LEAST_ROOM   ((off_t)16 << 10)
#define MOST_ROOM    ((off_t)1 << 20)

/* ---- the file ---- */

static enum lap_status append(void *user, uint64_t at, const uint8_t *data, size_t bytes)
{
    struct lap_arrival *arrival = user;
    while (bytes) {
        ssize_t done = pwrite(arrival->file, data, bytes, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            arrival->write_failed = true;
            return lap_fail(LAP_ERROR_IO, "the receiver can't write: %s", strerror(done ? errno : ENOSPC));
        }
        data += done;
        at += (uint64_t)done;
        bytes -= (size_t)done;
        atomic_store(&arrival->bytes, at);
    }
    return LAP_OK;
}

static enum lap_status cut(void *user, uint64_t bytes)
{
    struct lap_arrival *arrival = user;
    if (ftruncate(arrival->file, (off_t)bytes) == 0) {
        atomic_store(&arrival->bytes, bytes);
        return LAP_OK;
    }
    arrival->write_failed = true;
    return lap_fail(LAP_ERROR_IO, "the receiver can't cut the file: %s", strerror(errno));
}

/* A sender that does not take these few bytes has gone. This does no harm: the trace is complete. */
static enum lap_status confirm(void *user, uint64_t bytes)
{
    struct lap_arrival *arrival = user;
    uint8_t record[LAP_RECORD_BYTES];
    lap_record_store(record, LAP_RECORD_DONE, bytes);
    (void)send(arrival->socket, record, sizeof(record), MSG_NOSIGNAL | MSG_DONTWAIT);
    return LAP_OK;
}

void lap_arrival_init(struct lap_arrival *arrival, int file)
{
    struct lap_receive_file to = {append, cut, confirm, arrival};
    memset(arrival, 0, sizeof(*arrival));
    arrival->file = file;
    strcpy(arrival->reason, "the connection ended before the trace did");
    lap_receive_init(&arrival->receive, &to);
}

/* ---- receiving ---- */

enum lap_status lap_arrival_take(struct lap_arrival *arrival, int socket)
{
    uint8_t *buffer = malloc(BUFFER_BYTES);
    enum lap_status status = buffer ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory");

    arrival->socket = socket;
    while (status == LAP_OK) {
        ssize_t got = recv(socket, buffer, BUFFER_BYTES, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            snprintf(arrival->reason, sizeof(arrival->reason), "the connection was lost: %s", strerror(errno));
        if (got <= 0)
            break;
        status = lap_receive_take(&arrival->receive, buffer, (size_t)got);
    }
    free(buffer);
    if (status != LAP_OK) {
        snprintf(arrival->reason, sizeof(arrival->reason), "%s", lap_error_message());
        (void)shutdown(socket, SHUT_RDWR);
    }
    return status;
}

/* Takes the descriptor. */
static enum lap_status end_file(const struct lap_arrival *arrival, const char *path, int fd)
{
    struct lap_finish_options options = {
        .by = LAP_ENDED_BY_RECEIVE, .fresh = true, .reason = arrival->reason, .packer = &lap_codec_lz4};
    struct lap_finish_result result;
    enum lap_status status = lap_finish(path, fd, &options, &result);
    return status == LAP_OK && result.outcome == LAP_FINISH_REFUSED ? LAP_ERROR_FORMAT : status;
}

/* The disk is full: the end chunk, which gives that reason, replaces the last bytes. */
static enum lap_status end_in_less(const struct lap_arrival *arrival, const char *path, int fd)
{
    enum lap_status status = LAP_ERROR_IO;
    for (off_t less = LEAST_ROOM; less <= MOST_ROOM && status == LAP_ERROR_IO; less *= 4) {
        off_t bytes = lseek(fd, 0, SEEK_END);
        int again = bytes > less && ftruncate(fd, bytes - less) == 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
        if (again < 0)
            break;
        status = end_file(arrival, path, again);
    }
    return status;
}

/* Whether it is whole, but for readers of another version. */
static bool is_of_another_version(const struct lap_arrival *arrival)
{
    uint8_t head[LAP_FILE_HEADER_BYTES], same[LAP_FILE_HEADER_BYTES];
    struct lap_file_header file = {.version = 0};

    if (atomic_load(&arrival->bytes) < sizeof head || lap_file_read_fd(arrival->file, 0, head, sizeof head) != 0 ||
        lap_file_header_load(head, &file) == LAP_OK)
        return false;
    lap_file_header_store(&file, same);
    return memcmp(head, same, sizeof head) == 0;
}

/* Whether the dictionary is there. Without it nothing can be read of a trace. */
static enum lap_status find_dictionary(const char *path)
{
    struct lap_name_table names;
    struct lap_source source;
    enum lap_status status = lap_source_open_fresh(&source, path);
    uint8_t *raw;

    if (status != LAP_OK)
        return status;
    raw = malloc(source.chunk_count ? (size_t)source.chunks[0].header.raw_bytes + 1 : 1);
    status = raw ? lap_source_load_dictionary(&source, raw) : lap_no_memory(NULL);
    if (status == LAP_OK)
        status = lap_dictionary_decode(raw, source.chunks[0].header.raw_bytes, &names);
    if (status == LAP_OK)
        lap_dictionary_finish(&names);
    free(raw);
    lap_source_close(&source);
    return status;
}

static bool is_no_trace(const struct lap_arrival *arrival, const char *path)
{
    return arrival->receive.forgotten || (!is_of_another_version(arrival) && find_dictionary(path) == LAP_ERROR_FORMAT);
}

enum lap_arrival_end lap_arrival_finish(struct lap_arrival *arrival, const char *path)
{
    bool nothing = is_no_trace(arrival, path);
    int fd = arrival->file, spare = -1;
    enum lap_status status;

    arrival->file = -1;
    if (nothing) {
        close(fd);
        return LAP_ARRIVAL_NOTHING;
    }
    if (arrival->write_failed)
        spare = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    status = end_file(arrival, path, fd);
    if (status == LAP_ERROR_IO && spare >= 0)
        status = end_in_less(arrival, path, spare);
    if (spare >= 0)
        close(spare);
    return status == LAP_OK ? LAP_ARRIVAL_KEPT : LAP_ARRIVAL_FAILED;
}
