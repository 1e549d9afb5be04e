/* SPDX-License-Identifier: MIT */
/*
 * break-check IN OUT [PACKET]: copies a trace and changes one byte of every small update (lapilliUpdate*), so that the
 * replay computes something else than was recorded, or of every packet of that name. A --verify that does not notice is
 * broken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/read/reader.h"
#include "trace/write/writer.h"

static const char **names(const struct lap_reader *reader, const char *(*name)(const struct lap_reader *, uint64_t),
                          uint32_t count)
{
    const char **list = calloc(count + 1, sizeof *list);
    for (uint32_t i = 0; list && i < count; i++)
        list[i] = name(reader, i);
    return list;
}

static uint64_t number(const uint8_t **at)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

/* Whether a packet ends with bytes of an update, and not with the number of a blob that has them. The trace is good. */
static bool has_bytes(const char *name, const struct lap_packet *packet)
{
    const uint8_t *at = packet->body;
    bool image = strcmp(name, "lapilliUpdateImageSpans") == 0;

    if (!image && strcmp(name, "lapilliUpdateBufferSpans") != 0)
        return packet->bytes > 16 && packet->bytes < LAP_BLOB_MIN_BYTES;
    for (unsigned i = 0; i < (image ? 4 : 1); i++) /* the object, and which part of it */
        number(&at);
    uint64_t spans = number(&at);
    for (uint64_t i = 0; i < (image ? 4 : 2) * (spans + 1);
         i++) /* arrays, each behind a byte that says that it is there */
        number(&at);
    return number(&at) < LAP_BLOB_MIN_BYTES;
}

int main(int argc, char **argv)
{
    struct lap_reader_options no_options = {0};
    struct lap_reader *reader = NULL;
    struct lap_writer *writer = NULL;
    struct lap_packet packet;
    unsigned changed = 0;

    if (argc != 3 && argc != 4)
        return 2;
    if (lap_reader_open(argv[1], &no_options, &reader) != LAP_OK)
        return fprintf(stderr, "%s\n", lap_error_message()), 1;
    struct lap_writer_options options = {
        .names.commands = {names(reader, lap_reader_command_name, lap_reader_command_count(reader)),
                           lap_reader_command_count(reader)},
        .names.structs = {names(reader, lap_reader_struct_name, lap_reader_struct_count(reader)),
                          lap_reader_struct_count(reader)},
        .names.handle_types = {names(reader, lap_reader_handle_type_name, lap_reader_handle_type_count(reader)),
                               lap_reader_handle_type_count(reader)},
        .packer = &lap_codec_lz4,
    };
    if (lap_writer_create(argv[2], &options, &writer) != LAP_OK)
        return fprintf(stderr, "%s\n", lap_error_message()), 1;
    /* Blobs are numbered in the order in which they are added. */
    for (uint64_t id = 1; id <= lap_reader_summary(reader)->blobs; id++)
        for (int kind = LAP_BLOB_DATA; kind <= LAP_BLOB_PACKET; kind++) {
            const uint8_t *data;
            size_t bytes;
            if (lap_reader_blob(reader, (enum lap_blob_kind)kind, id, &data, &bytes) == LAP_OK &&
                lap_writer_blob(writer, (enum lap_blob_kind)kind, data, bytes, NULL) != id)
                return fprintf(stderr, "blob %d has another number\n", (int)id), 1;
        }
    lap_writer_info(writer, lap_reader_summary(reader)->info);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    for (uint64_t frame = 0; lap_reader_next(reader, &packet) == LAP_OK; frame = packet.frame) {
        if (packet.frame != frame)
            lap_writer_frame(writer);
        struct lap_enc *enc = lap_packet_begin(stream, packet.command, packet.flags, NULL, NULL);
        if (!enc)
            return fprintf(stderr, "%s\n", lap_error_message()), 1;
        const char *name = lap_reader_command_name(reader, packet.command);
        lap_enc_raw(enc, packet.body, packet.bytes);
        bool is_named = argc == 4 && name && strcmp(name, argv[3]) == 0;
        bool is_update = argc == 3 && name && strncmp(name, "lapilliUpdate", 13) == 0 && has_bytes(name, &packet);
        if (is_named || is_update) {
            enc->p[is_named ? -2 : -1] ^= is_named ? 1 : 0x55; /* the last byte of a number may not become 0 */
            changed++;
        }
        lap_packet_end(stream);
    }
    lap_writer_destroy(&writer);
    free((void *)(uintptr_t)options.names.commands.names);
    free((void *)(uintptr_t)options.names.structs.names);
    free((void *)(uintptr_t)options.names.handle_types.names);
    lap_reader_close(&reader);
    printf("%u packets changed\n", changed);
    return changed ? 0 : 1;
}
