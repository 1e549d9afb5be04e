/* SPDX-License-Identifier: MIT */
/*
 * trace_file: what the tests of trace/ share: a folder of their own, whole files as bytes, and packets whose bodies
 * follow from their tickets.
 */
#ifndef LAP_TESTS_TRACE_FILE_H
#define LAP_TESTS_TRACE_FILE_H

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "trace/format/chunk.h"
#include "trace/format/decode.h"
#include "trace/read/reader.h"
#include "trace/rewrite.h"
#include "trace/write/output.h"
#include "trace/write/writer.h"

static char trace_folder[512], trace_path[600], trace_tail_path[620];

static inline void remove_trace_folder(void)
{
    DIR *folder = opendir(trace_folder);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        char path[900];
        snprintf(path, sizeof(path), "%s/%s", trace_folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    if (folder)
        closedir(folder);
    rmdir(trace_folder);
}

/* trace_path names a file that is not there. */
static inline void fresh_trace_path(void)
{
    if (!trace_folder[0]) {
        const char *parent = getenv("TMPDIR");
        snprintf(trace_folder, sizeof(trace_folder), "%s/lapilli-test-XXXXXX", parent && parent[0] ? parent : P_tmpdir);
        if (!mkdtemp(trace_folder))
            abort();
        atexit(remove_trace_folder);
        snprintf(trace_path, sizeof(trace_path), "%s/test.lapilli", trace_folder);
        snprintf(trace_tail_path, sizeof(trace_tail_path), "%s.tail", trace_path);
    }
    unlink(trace_path);
    unlink(trace_tail_path);
}

/* Writes the trace anew into a file that must not be there, and takes that away on failure. */
static inline enum lap_status rewrite_to(const char *path, const struct lap_rewrite_options *options)
{
    int fd;
    enum lap_status status = lap_output_open(path, &fd);
    if (status != LAP_OK)
        return status;
    status = lap_rewrite_into(trace_path, fd, path, options);
    if (status != LAP_OK)
        unlink(path);
    return status;
}

/* Whether a descriptor is of the trace itself, not of its tail file. */
static inline bool is_trace(int fd)
{
    struct stat file, trace;
    return fstat(fd, &file) == 0 && stat(trace_path, &trace) == 0 && file.st_ino == trace.st_ino;
}

static const char *const trace_commands[] = {"", "vkCreateThing", "vkDestroyThing", "vkQueueThing"};
static const char *const trace_structs[] = {"", "VkThingInfo"};
static const char *const trace_handle_types[] = {"", "VkThing", "VkOther"};
#define TRACE_OPTIONS                                                                                                  \
    {                                                                                                                  \
        .names.commands = {trace_commands, 4}, .names.structs = {trace_structs, 2},                                    \
        .names.handle_types = {trace_handle_types, 3}, .packer = &lap_codec_lz4,                                       \
    }

/* Creates trace_path anew. queue_bytes: as in lap_writer_options. */
static inline struct lap_writer *create_queued_trace(enum lap_chunk_codec codec, const struct lap_log *log,
                                                     size_t queue_bytes)
{
    struct lap_writer_options options = TRACE_OPTIONS;
    options.queue_bytes = queue_bytes;
    struct lap_writer *writer = NULL;
    options.packer = codec == LAP_CODEC_LZ4 ? &lap_codec_lz4 : NULL;
    options.log = log;
    fresh_trace_path();
    CHECK_EQ_INT(lap_writer_create(trace_path, &options, &writer), LAP_OK);
    if (!writer) {
        printf("%s\n", lap_error_message());
        exit(1);
    }
    return writer;
}

static inline struct lap_writer *create_trace(enum lap_chunk_codec codec, const struct lap_log *log)
{
    return create_queued_trace(codec, log, 0);
}

static inline struct lap_reader *open_trace(const struct lap_reader_options *options)
{
    struct lap_reader *reader = NULL;
    CHECK_EQ_INT(lap_reader_open(trace_path, options, &reader), LAP_OK);
    if (!reader) {
        printf("%s\n", lap_error_message());
        exit(1);
    }
    return reader;
}

/* Packets whose ticket is a multiple of 3 are barriers; the body is the ticket and some bytes that follow from it. */
static inline uint32_t trace_flags(uint64_t ticket)
{
    return ticket % 3 == 0 ? LAP_PACKET_BARRIER : 0;
}

static inline size_t trace_filler(uint64_t ticket)
{
    return (size_t)(ticket * 7 % 23);
}

/* Which barriers there are depends on tickets that the packet does not know beforehand, so only one thread may use
 * this. */
static inline uint64_t write_packet(struct lap_stream *stream, uint64_t expected_ticket)
{
    uint64_t ticket = 0;
    struct lap_enc *enc =
        lap_packet_begin(stream, 1 + expected_ticket % 3, trace_flags(expected_ticket), NULL, &ticket);
    if (!enc)
        return 0;
    if (lap_enc_reserve(enc, 64)) {
        lap_put_u64(enc, ticket);
        for (size_t i = 0; i < trace_filler(ticket); i++)
            lap_put_u8(enc, (uint8_t)(ticket + i));
    }
    lap_packet_end(stream);
    return ticket;
}

/* Whether a packet is what write_packet wrote under this ticket. */
static inline bool packet_is_good(const struct lap_packet *packet, uint64_t ticket)
{
    struct lap_dec dec;
    lap_dec_init(&dec, packet->body, packet->bytes, NULL, NULL);
    bool good = packet->ticket == ticket && packet->epoch == (ticket - 1) / 3 && packet->command == 1 + ticket % 3 &&
                packet->flags == trace_flags(ticket) && lap_get_u64(&dec) == ticket &&
                (size_t)(dec.end - dec.p) == trace_filler(ticket);
    for (size_t i = 0; good && i < trace_filler(ticket); i++)
        good = lap_get_u8(&dec) == (uint8_t)(ticket + i);
    return good && dec.status == LAP_OK;
}

struct file_bytes {
    uint8_t *data;
    size_t bytes;
};

/* What the hashes of its chunks begin with. */
static inline uint64_t seed_of(const struct file_bytes *file)
{
    struct lap_file_header header = {.version = 0};
    CHECK_EQ_INT(lap_file_header_load(file->data, &header), LAP_OK);
    return lap_file_seed(&header);
}

static inline struct file_bytes load_file(const char *path)
{
    struct file_bytes file = {NULL, 0};
    struct stat stat_result;
    FILE *stream = fopen(path, "rb");
    if (!stream || fstat(fileno(stream), &stat_result) != 0)
        abort();
    file.bytes = (size_t)stat_result.st_size;
    file.data = malloc(file.bytes + 1);
    if (!file.data || fread(file.data, 1, file.bytes, stream) != file.bytes)
        abort();
    fclose(stream);
    return file;
}

static inline void store_file(const char *path, const void *data, size_t bytes)
{
    FILE *stream = fopen(path, "wb");
    if (!stream || fwrite(data, 1, bytes, stream) != bytes || fclose(stream) != 0)
        abort();
}

#endif
