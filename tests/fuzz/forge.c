/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/forge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/format/chunk.h"
#include "trace/format/dictionary.h"
#include "trace/format/encode.h"
#include "trace/format/hash.h"
#include "trace/read/reader.h"

#define MAX_PACKETS 4096u

static int first_stderr = 2;

__attribute__((constructor)) static void keep_stderr(void)
{
    first_stderr = dup(2);
}

void forge_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vdprintf(first_stderr, format, arguments);
    (void)dprintf(first_stderr, "\n");
    va_end(arguments);
}

const char *forge_place(const void *data, size_t bytes)
{
    static char path[64];
    static int fd = -1;

    if (fd < 0)
        fd = memfd_create("lapilli-fuzz", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, bytes, 0) != (ssize_t)bytes)
        abort();
    return path;
}

/* ---- loading ---- */

static struct forge_bytes copy(const void *data, size_t bytes)
{
    struct forge_bytes out = {malloc(bytes + 1), bytes};
    if (!out.data)
        abort();
    if (bytes)
        memcpy(out.data, data, bytes);
    return out;
}

static void *more(void *list, size_t count, size_t element_bytes)
{
    void *longer = realloc(list, (count + 1) * element_bytes);
    if (!longer)
        abort();
    return longer;
}

static struct forge_packet *add_packet(struct forge *forge)
{
    forge->packets = more(forge->packets, forge->packet_count, sizeof *forge->packets);
    return &forge->packets[forge->packet_count++];
}

uint64_t forge_seed(const uint8_t *trace, size_t bytes)
{
    struct lap_file_header header;

    return bytes >= LAP_FILE_HEADER_BYTES && lap_file_header_load(trace, &header) == LAP_OK ? lap_file_seed(&header)
                                                                                            : 0;
}

static void load_dictionary(struct forge *forge, const uint8_t *data, size_t bytes)
{
    struct lap_chunk_header header;
    uint8_t *raw;

    if (bytes < LAP_FILE_HEADER_BYTES + LAP_CHUNK_HEADER_BYTES ||
        lap_chunk_header_load(data + LAP_FILE_HEADER_BYTES, forge_seed(data, bytes), &header) != LAP_OK ||
        header.stored_bytes > bytes - LAP_FILE_HEADER_BYTES - LAP_CHUNK_HEADER_BYTES)
        return;
    raw = malloc(header.raw_bytes + 1u);
    if (!raw)
        abort();
    if (lap_chunk_unpack(&header, data + LAP_FILE_HEADER_BYTES + LAP_CHUNK_HEADER_BYTES, raw) == LAP_OK)
        forge->dictionary = copy(raw, header.raw_bytes);
    free(raw);
}

static void load_blobs(struct forge *forge, struct lap_reader *reader)
{
    uint64_t count = lap_reader_summary(reader)->blobs;

    for (uint64_t id = 1; id <= count; id++) {
        struct forge_blob *blob;
        forge->blobs = more(forge->blobs, forge->blob_count, sizeof *forge->blobs);
        blob = &forge->blobs[forge->blob_count++];
        *blob = (struct forge_blob){.kind = LAP_BLOB_DATA};
        for (unsigned kind = LAP_BLOB_DATA; kind <= LAP_BLOB_PACKET && !blob->data.data; kind++) {
            const uint8_t *data;
            size_t bytes;
            if (lap_reader_blob(reader, (enum lap_blob_kind)kind, id, &data, &bytes) == LAP_OK)
                *blob = (struct forge_blob){(uint8_t)kind, copy(data, bytes)};
        }
        if (!blob->data.data)
            blob->data = copy("", 0);
    }
}

bool forge_load(struct forge *forge, const void *data, size_t bytes)
{
    struct lap_reader *reader = NULL;
    struct lap_packet packet;
    uint64_t frame = 0;

    memset(forge, 0, sizeof *forge);
    if (lap_reader_open(forge_place(data, bytes), NULL, &reader) != LAP_OK)
        return false;
    load_dictionary(forge, data, bytes);
    forge->command_count = lap_reader_command_count(reader);
    forge->info = copy(lap_reader_summary(reader)->info, strlen(lap_reader_summary(reader)->info));
    while (forge->packet_count < MAX_PACKETS && lap_reader_next(reader, &packet) == LAP_OK) {
        if (packet.frame != frame && forge->packet_count)
            forge->packets[forge->packet_count - 1].ends_frame = true;
        frame = packet.frame;
        *add_packet(forge) = (struct forge_packet){.command = packet.command,
                                                   .flags = packet.flags,
                                                   .thread = packet.thread_id,
                                                   .body = copy(packet.body, packet.bytes)};
    }
    if (forge->packet_count && lap_reader_summary(reader)->frames > frame)
        forge->packets[forge->packet_count - 1].ends_frame = true;
    load_blobs(forge, reader);
    lap_reader_close(&reader);
    return forge->dictionary.data != NULL;
}

void forge_finish(struct forge *forge)
{
    free(forge->dictionary.data);
    free(forge->info.data);
    for (size_t i = 0; i < forge->packet_count; i++)
        free(forge->packets[i].body.data);
    for (size_t i = 0; i < forge->blob_count; i++)
        free(forge->blobs[i].data.data);
    free(forge->packets);
    free(forge->blobs);
    memset(forge, 0, sizeof *forge);
}

/* ---- storing ---- */

struct out {
    uint8_t *base, *p, *end;
    uint64_t seed; /* forge_seed */
    bool full;
};

static void put(struct out *out, const void *data, size_t bytes)
{
    if (bytes > (size_t)(out->end - out->p)) {
        out->full = true;
        return;
    }
    if (bytes)
        memcpy(out->p, data, bytes);
    out->p += bytes;
}

static void put_number(struct out *out, uint64_t value)
{
    uint8_t bytes[LAP_WIRE_MAX_VARINT];
    put(out, bytes, (size_t)(lap_at_u64(bytes, value) - bytes));
}

static void put_u32(struct out *out, uint32_t value)
{
    uint8_t bytes[4];
    put(out, bytes, (size_t)(lap_at_fixed32(bytes, value) - bytes));
}

/* Where a chunk's header will stand. */
static uint8_t *begin_chunk(struct out *out)
{
    static const uint8_t zeros[LAP_CHUNK_HEADER_BYTES];
    uint8_t *at = out->p;
    put(out, zeros, sizeof zeros);
    return at;
}

static void end_chunk(struct out *out, uint8_t *at, struct lap_chunk_header header)
{
    uint8_t *payload = at + LAP_CHUNK_HEADER_BYTES;

    if (out->full)
        return;
    header.raw_bytes = header.stored_bytes = (uint32_t)(out->p - payload);
    if (header.raw_bytes > LAP_CHUNK_MAX_RAW)
        out->full = true;
    header.payload_hash = lap_hash64(payload, header.stored_bytes);
    lap_chunk_header_store(&header, out->seed, at);
}

static void put_dictionary(struct out *out, const struct forge *forge)
{
    struct lap_chunk_header header = {.kind = LAP_CHUNK_DICTIONARY};
    uint8_t *scratch = malloc(lap_chunk_scratch_bytes(&lap_codec_lz4, forge->dictionary.bytes) + 1), *at;
    const uint8_t *stored;

    if (!scratch)
        abort();
    stored = lap_chunk_pack(&header, &lap_codec_lz4, forge->dictionary.data, forge->dictionary.bytes, scratch);
    at = begin_chunk(out);
    put(out, stored, header.stored_bytes);
    if (!out->full)
        lap_chunk_header_store(&header, out->seed, at);
    free(scratch);
}

static void put_blobs(struct out *out, const struct forge *forge)
{
    static const uint8_t zeros[LAP_BLOB_ALIGN];
    uint8_t *at = forge->blob_count ? begin_chunk(out) : NULL;

    for (size_t i = 0; i < forge->blob_count; i++) {
        const struct forge_blob *blob = &forge->blobs[i];
        struct lap_blob_entry entry = {.kind = blob->kind,
                                       .total_bytes = blob->data.bytes,
                                       .part_bytes = (uint32_t)blob->data.bytes,
                                       .hash = lap_blob_hash_of(blob->data.data, blob->data.bytes)};
        uint8_t head[LAP_BLOB_ENTRY_BYTES];
        lap_blob_entry_store(&entry, head);
        put(out, head, sizeof head);
        put(out, blob->data.data, blob->data.bytes);
        put(out, zeros, lap_blob_entry_stride(blob->data.bytes) - LAP_BLOB_ENTRY_BYTES - blob->data.bytes);
    }
    if (at)
        end_chunk(
            out, at,
            (struct lap_chunk_header){
                .kind = LAP_CHUNK_BLOBS, .count = (uint32_t)forge->blob_count, .first = 1, .last = forge->blob_count});
}

/* The packets from `first` on that one chunk takes: those of one thread, up to a frame's end. */
static size_t put_packets(struct out *out, const struct forge *forge, size_t first, uint64_t *epoch, uint64_t frame)
{
    uint64_t thread = forge->packets[first].thread, before = *epoch;
    struct lap_chunk_header header = {.kind = LAP_CHUNK_PACKETS,
                                      .stream = (uint32_t)(thread % 1000),
                                      .first = first + 1,
                                      .epoch = *epoch,
                                      .frame = frame};
    uint8_t *at = begin_chunk(out);
    size_t i = first;

    put_number(out, thread);
    for (; i < forge->packet_count; i++) {
        const struct forge_packet *packet = &forge->packets[i];
        if (packet->thread != thread || (i > first && forge->packets[i - 1].ends_frame))
            break;
        put_u32(out, (uint32_t)packet->body.bytes);
        put_number(out, packet->command);
        put_number(out, i > first);
        put_number(out, *epoch - before);
        put_number(out, packet->flags & (LAP_PACKET_ALL_FLAGS & ~LAP_PACKET_BLOB_BODY));
        put(out, packet->body.data, packet->body.bytes);
        before = *epoch;
        *epoch += (packet->flags & LAP_PACKET_BARRIER) != 0;
    }
    header.count = (uint32_t)(i - first);
    header.last = i;
    end_chunk(out, at, header);
    return i;
}

/* The index over what stands in the file so far, and the end. */
static void put_end(struct out *out)
{
    struct lap_end end = {.index_offset = (uint64_t)(out->p - out->base), .index_chunks = 1};
    const uint8_t *last = out->p, *at = out->base + LAP_FILE_HEADER_BYTES;
    uint8_t *chunk = begin_chunk(out), bytes[LAP_END_BYTES];
    uint32_t count = 0;

    for (struct lap_chunk_header header; !out->full && at < last; count++) {
        if (lap_chunk_header_load(at, out->seed, &header) != LAP_OK)
            abort();
        put(out, at, LAP_CHUNK_HEADER_BYTES);
        at += LAP_CHUNK_HEADER_BYTES + header.stored_bytes;
    }
    end_chunk(out, chunk, (struct lap_chunk_header){.kind = LAP_CHUNK_INDEX, .count = count, .last = count - 1u});
    chunk = begin_chunk(out);
    lap_end_store(&end, bytes);
    put(out, bytes, sizeof bytes);
    end_chunk(out, chunk, (struct lap_chunk_header){.kind = LAP_CHUNK_END});
}

size_t forge_store(const struct forge *forge, uint8_t *data, size_t capacity)
{
    struct lap_file_header header = {.version = LAP_FORMAT_VERSION};
    struct out out = {.base = data, .p = data, .end = data + capacity};
    uint64_t epoch = 0, frame = 0;
    uint8_t *at;

    if (capacity < LAP_FILE_HEADER_BYTES)
        return 0;
    lap_file_header_store(&header, data);
    out.seed = lap_file_seed(&header);
    out.p += LAP_FILE_HEADER_BYTES;
    put_dictionary(&out, forge);
    at = begin_chunk(&out);
    put(&out, forge->info.data, forge->info.bytes);
    end_chunk(&out, at, (struct lap_chunk_header){.kind = LAP_CHUNK_INFO});
    put_blobs(&out, forge);
    for (size_t i = 0; i < forge->packet_count && !out.full;) {
        i = put_packets(&out, forge, i, &epoch, frame);
        if (!forge->packets[i - 1].ends_frame)
            continue;
        at = begin_chunk(&out);
        put_number(&out, 0);
        end_chunk(&out, at,
                  (struct lap_chunk_header){.kind = LAP_CHUNK_FRAME, .last = i, .epoch = epoch, .frame = frame++});
    }
    put_end(&out);
    return out.full ? 0 : (size_t)(out.p - data);
}

void forge_blank(struct forge *forge, const bool *used, size_t count)
{
    struct lap_name_table dictionary;
    struct lap_names names = {0};
    struct forge_bytes blanked;

    if (lap_dictionary_decode(forge->dictionary.data, forge->dictionary.bytes, &dictionary) != LAP_OK)
        abort();
    for (uint32_t i = 1; i < dictionary.lists[LAP_DICTIONARY_STRUCTS].count; i++)
        if (i >= count || !used[i])
            dictionary.lists[LAP_DICTIONARY_STRUCTS].names[i] = "-";
    names.commands = (struct lap_name_list){dictionary.lists[LAP_DICTIONARY_COMMANDS].names,
                                            dictionary.lists[LAP_DICTIONARY_COMMANDS].count};
    names.structs = (struct lap_name_list){dictionary.lists[LAP_DICTIONARY_STRUCTS].names,
                                           dictionary.lists[LAP_DICTIONARY_STRUCTS].count};
    names.handle_types = (struct lap_name_list){dictionary.lists[LAP_DICTIONARY_HANDLE_TYPES].names,
                                                dictionary.lists[LAP_DICTIONARY_HANDLE_TYPES].count};
    if (lap_dictionary_encode(&names, &blanked.data, &blanked.bytes) != LAP_OK)
        abort();
    free(forge->dictionary.data);
    forge->dictionary = blanked;
    lap_dictionary_finish(&dictionary);
}

void forge_keep_frames(struct forge *forge, unsigned frames)
{
    size_t count = 0, all = forge->packet_count;

    while (count < all && frames)
        frames -= forge->packets[count++].ends_frame;
    for (size_t i = count; i < all; i++)
        free(forge->packets[i].body.data);
    forge->packet_count = count;
}
