/* SPDX-License-Identifier: MIT */
/* Files that were cut or damaged. */
#include <sys/mman.h>
#include <xxhash.h>

#include "tests/unit/trace_file.h"
#include "trace/format/bytes.h"
#include "trace/format/chunk.h"

#define PACKETS 60u
#define BLOBS   4u

/* A small trace with everything in it: two streams, blobs of which one is in parts, information, frames or none. */
static struct file_bytes sample(bool frames, enum lap_chunk_codec codec, const char *stop_reason)
{
    struct lap_writer *writer = create_trace(codec, NULL);
    struct lap_stream *streams[2] = {lap_writer_stream(writer, 100), lap_writer_stream(writer, 101)};
    uint8_t bytes[200] = {0};
    lap_writer_info(writer, "{\"program\":\"sample\"}");
    for (uint64_t ticket = 1; ticket <= PACKETS; ticket++) {
        (void)write_packet(streams[ticket / 7 % 2], ticket);
        lap_writer_count(writer, LAP_COUNTER_CALLS, 1);
        if (ticket % 15 == 1) {
            bytes[0] = (uint8_t)ticket;
            (void)lap_writer_blob(writer, LAP_BLOB_DATA, bytes, sizeof(bytes), NULL);
        }
        if (ticket % 20 == 0 && frames)
            lap_writer_frame(writer);
    }
    if (stop_reason)
        lap_writer_stop(writer, stop_reason);
    lap_writer_destroy(&writer);
    return load_file(trace_path);
}

struct outcome {
    enum lap_status opened, ended;
    uint64_t packets, frames, blobs;
    bool complete, indexed, right;
};

/* A file in memory where the kernel has such: thousands of files on a disk take their time. */
static const char *place_file(const void *data, size_t bytes)
{
    static char path[64];
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("lapilli-test", MFD_CLOEXEC);
    if (fd < 0) {
        store_file(trace_path, data, bytes);
        return trace_path;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, bytes, 0) != (ssize_t)bytes)
        abort();
    return path;
}

static struct outcome read_opened(struct lap_reader *reader)
{
    struct outcome out = {.right = true};
    struct lap_packet packet;
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    out.complete = summary->complete;
    out.indexed = summary->indexed;
    out.frames = summary->frames;
    out.right &= summary->complete == !summary->stopped;
    out.right &=
        strcmp(summary->info, "{\"program\":\"sample\"}") == 0 || (!out.complete && strcmp(summary->info, "{}") == 0);
    out.right &=
        lap_reader_command_count(reader) == 4 && strcmp(lap_reader_command_name(reader, 2), "vkDestroyThing") == 0;
    while ((out.ended = lap_reader_next(reader, &packet)) == LAP_OK) {
        out.packets++;
        out.right &= packet_is_good(&packet, out.packets) && packet.thread_id == 100 + out.packets / 7 % 2;
    }
    out.right &= out.ended != LAP_END || out.packets == summary->packets;
    for (uint64_t id = 1; id <= BLOBS; id++) {
        const uint8_t *blob;
        size_t blob_bytes;
        if (lap_reader_blob(reader, LAP_BLOB_DATA, id, &blob, &blob_bytes) == LAP_OK) {
            out.blobs++;
            out.right &= blob_bytes == 200 && blob[0] == (id - 1) * 15 + 1 && blob[1] == 0 && blob[199] == 0;
        }
    }
    return out;
}

/* Reads a file as far as it goes. right: nothing was given out that the sample does not have, and one more reader gives
 * the same: one that finds damage by the hashes of chunks alone. */
static struct outcome read_sample(const void *data, size_t bytes)
{
    const struct lap_reader_options trusting = {.trusts_blobs = true};
    struct lap_reader *reader = NULL, *another = NULL;
    enum lap_status opened = lap_reader_open(place_file(data, bytes), NULL, &reader);
    struct outcome out = {.right = reader == NULL && opened < 0 && lap_error_message()[0]}, again;
    if (opened == LAP_OK) {
        out = read_opened(reader);
        CHECK_EQ_INT(lap_reader_open_again(reader, &trusting, &another), LAP_OK);
        lap_reader_close(&reader);
        again = read_opened(another);
        lap_reader_close(&another);
        out.right &= again.ended == out.ended && again.packets == out.packets && again.frames == out.frames &&
                     again.blobs == out.blobs && again.complete == out.complete && again.indexed == out.indexed &&
                     again.right;
    }
    out.opened = opened;
    return out;
}

static void cut_everywhere(bool frames, enum lap_chunk_codec codec)
{
    struct file_bytes file = sample(frames, codec, NULL);
    struct outcome out = read_sample(file.data, file.bytes);
    uint64_t before = 0;
    CHECK(out.right && out.complete && out.indexed && out.packets == PACKETS && out.blobs == BLOBS);
    for (size_t cut = 0; cut < file.bytes; cut++) {
        /* An exact copy, so that address sanitizers see a step too far. */
        out = read_sample(file.data, cut);
        bool good = out.right && !out.complete && out.packets >= before && out.packets <= PACKETS &&
                    (out.opened == LAP_OK ? out.ended == LAP_END : out.opened == LAP_ERROR_FORMAT);
        if (out.frames)
            good = good && out.packets == out.frames * 20;
        if (!good) {
            printf("cut at %zu of %zu\n", cut, file.bytes);
            CHECK(good);
            break;
        }
        before = out.packets;
    }
    CHECK_EQ_U64(before, PACKETS); /* only the end chunk was missing */
    free(file.data);
}

UNIT_TEST(a_trace_with_frames_cut_anywhere_keeps_its_whole_frames)
{
    cut_everywhere(true, LAP_CODEC_LZ4);
}
UNIT_TEST(a_trace_without_frames_cut_anywhere_keeps_its_whole_chunks)
{
    cut_everywhere(false, LAP_CODEC_LZ4);
}
UNIT_TEST(an_uncompressed_trace_cut_anywhere_keeps_its_whole_frames)
{
    cut_everywhere(true, LAP_CODEC_NONE);
}

static void damage_everywhere(bool frames, enum lap_chunk_codec codec)
{
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    struct file_bytes file = sample(frames, codec, NULL);
    for (size_t at = 0; at < file.bytes; at++) {
        for (size_t i = 0; i < sizeof(changes); i++) {
            file.data[at] ^= changes[i];
            struct outcome out = read_sample(file.data, file.bytes);
            file.data[at] ^= changes[i];
            /* Everything, or an error, or less than everything and says so. */
            bool said = out.opened < 0 || out.ended < 0 || !out.complete;
            if (!out.right || !(said || (out.packets == PACKETS && out.ended == LAP_END && out.frames == 3 * frames))) {
                printf("byte %zu changed by %x\n", at, changes[i]);
                CHECK(!"damage that goes unnoticed");
                free(file.data);
                return;
            }
        }
    }
    free(file.data);
}

UNIT_TEST(damage_at_any_byte_is_found)
{
    damage_everywhere(true, LAP_CODEC_LZ4);
}
UNIT_TEST(damage_at_any_byte_is_found_without_frames)
{
    damage_everywhere(false, LAP_CODEC_NONE);
}

UNIT_TEST(a_damaged_index_is_made_up_for)
{
    struct file_bytes file = sample(true, LAP_CODEC_LZ4, NULL);
    file.data[file.bytes - LAP_END_BYTES - LAP_CHUNK_HEADER_BYTES - 1] ^= 1; /* the last byte of the index */
    struct outcome out = read_sample(file.data, file.bytes);
    CHECK(out.right && out.complete && !out.indexed && out.packets == PACKETS && out.blobs == BLOBS && out.frames == 3);
    file.data[file.bytes - LAP_END_BYTES - LAP_CHUNK_HEADER_BYTES - 1] ^= 1;
    free(file.data);
}

/* The first chunk of a kind. */
static size_t chunk_of(const struct file_bytes *file, enum lap_chunk_kind kind)
{
    struct lap_chunk_header header = {.kind = 0};
    size_t at = LAP_FILE_HEADER_BYTES;
    while (at + LAP_CHUNK_HEADER_BYTES <= file->bytes &&
           lap_chunk_header_load(file->data + at, seed_of(file), &header) == LAP_OK && header.kind != kind)
        at += LAP_CHUNK_HEADER_BYTES + header.stored_bytes;
    CHECK_EQ_INT(header.kind, kind);
    return at;
}

/* Reads all of a file and keeps what it says of what it made up for. */
static bool reads_as_repaired(const struct file_bytes *file, const char *says)
{
    struct lap_reader *reader;
    struct lap_packet packet;
    CHECK_EQ_INT(lap_reader_open(place_file(file->data, file->bytes), NULL, &reader), LAP_OK);
    while (lap_reader_next(reader, &packet) == LAP_OK)
        ;
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    bool is = summary->complete && summary->frames == 3 &&
              (says ? summary->repaired && strstr(summary->repaired, says) : !summary->repaired);
    lap_reader_close(&reader);
    return is;
}

UNIT_TEST(what_is_made_up_for_is_told)
{
    struct file_bytes file = sample(true, LAP_CODEC_LZ4, NULL);
    char mark[64];
    size_t at = chunk_of(&file, LAP_CHUNK_FRAME);
    snprintf(mark, sizeof(mark), "chunk at offset %zu: the mark of frame 1", at);
    CHECK(reads_as_repaired(&file, NULL));
    for (size_t i = 0; i <= LAP_CHUNK_HEADER_BYTES; i++) {
        file.data[at + i] ^= 0x10;
        CHECK(reads_as_repaired(&file, mark));
        file.data[at + i] ^= 0x10;
    }
    at = chunk_of(&file, LAP_CHUNK_INDEX);
    snprintf(mark, sizeof(mark), "the index at offset %zu is damaged", at);
    file.data[at + LAP_CHUNK_HEADER_BYTES] ^= 0x10;
    CHECK(reads_as_repaired(&file, mark));
    free(file.data);
}

/* What a program tells late is damaged, and all frames stand in front of it. */
UNIT_TEST(damaged_information_ends_a_trace)
{
    struct file_bytes file = sample(true, LAP_CODEC_LZ4, NULL);
    size_t at = chunk_of(&file, LAP_CHUNK_INFO), frames = 0;
    struct lap_chunk_header header;
    for (size_t i = LAP_FILE_HEADER_BYTES; i < at; i += LAP_CHUNK_HEADER_BYTES + header.stored_bytes) {
        CHECK_EQ_INT(lap_chunk_header_load(file.data + i, seed_of(&file), &header), LAP_OK);
        frames += header.kind == LAP_CHUNK_FRAME;
    }
    file.data[at] ^= 0x10;
    struct lap_reader *reader;
    CHECK_EQ_INT(lap_reader_open(place_file(file.data, file.bytes), NULL, &reader), LAP_OK);
    CHECK(!lap_reader_summary(reader)->complete && strstr(lap_reader_summary(reader)->stopped, "offset "));
    CHECK_EQ_U64(lap_reader_summary(reader)->frames, frames);
    lap_reader_close(&reader);
    free(file.data);
}

UNIT_TEST(bytes_behind_the_end_do_not_matter)
{
    struct file_bytes file = sample(true, LAP_CODEC_LZ4, NULL);
    uint8_t *longer = calloc(1, file.bytes + 1000);
    memcpy(longer, file.data, file.bytes);
    struct outcome out = read_sample(longer, file.bytes + 1000);
    CHECK(out.right && out.complete && !out.indexed && out.packets == PACKETS && out.blobs == BLOBS);
    free(longer);
    free(file.data);
}

/* Offsets of all chunks, and of the file's end. */
static size_t find_chunks(const struct file_bytes *file, size_t *out, size_t most)
{
    size_t count = 0;
    for (size_t at = LAP_FILE_HEADER_BYTES; at < file->bytes && count + 1 < most; count++) {
        out[count] = at;
        at += LAP_CHUNK_HEADER_BYTES + lap_load_u32(file->data + at + 16);
    }
    out[count] = file->bytes;
    return count;
}

UNIT_TEST(an_end_in_the_wrong_place_is_none)
{
    struct file_bytes file = sample(true, LAP_CODEC_LZ4, NULL);
    size_t at[64], count = find_chunks(&file, at, 64), end_bytes = file.bytes - at[count - 1];
    uint8_t *other = malloc(file.bytes);
    CHECK(count > 8 && file.data[at[count - 1] + 4] == LAP_CHUNK_END &&
          file.data[at[count - 2] + 4] == LAP_CHUNK_INDEX);
    for (size_t i = 1; i + 1 < count; i++) {
        size_t bytes = at[i + 1] - at[i];
        /* Without one chunk that stands before it, or without all of them. What was left used to look whole. */
        memcpy(other, file.data, at[i]);
        memcpy(other + at[i], file.data + at[i + 1], file.bytes - at[i + 1]);
        struct outcome out = read_sample(other, file.bytes - bytes);
        bool is_index = file.data[at[i] + 4] == LAP_CHUNK_INDEX; /* what it is good for the scan does */
        CHECK(out.opened < 0 || out.ended < 0 || out.complete == is_index);
        memcpy(other + at[i], file.data + at[count - 1], end_bytes);
        out = read_sample(other, at[i] + end_bytes);
        CHECK(out.opened < 0 || out.ended < 0 || out.complete == is_index);
    }
    free(other);
    free(file.data);
}

/* Its chunk has a number that its next part would have, too, and frames in front of it read it. */
UNIT_TEST(a_blob_that_stands_twice_is_damage_behind_its_frame)
{
    struct file_bytes file = sample(true, LAP_CODEC_LZ4, NULL);
    size_t at[64], count = find_chunks(&file, at, 64), blob = 0, mark = 0, bytes;
    uint8_t *other = malloc(2 * file.bytes);
    for (size_t i = 0, marks = 0; i + 1 < count && !mark; i++) {
        marks += file.data[at[i] + 4] == LAP_CHUNK_FRAME;
        if (file.data[at[i] + 4] == LAP_CHUNK_BLOBS && lap_load_u64(file.data + at[i] + 24) == 3)
            blob = i;
        else if (marks == 2)
            mark = i + 1;
    }
    CHECK(blob && mark > blob && lap_load_u64(file.data + at[blob] + 32) == 3);
    bytes = at[blob + 1] - at[blob];
    memcpy(other, file.data, at[mark]);
    memcpy(other + at[mark], file.data + at[blob], bytes);
    memcpy(other + at[mark] + bytes, file.data + at[mark], file.bytes - at[mark]);
    struct outcome out = read_sample(other, file.bytes + bytes);
    CHECK(out.right && !out.complete && !out.indexed);
    CHECK_EQ_INT(out.ended, LAP_END);
    CHECK_EQ_U64(out.frames, 2);
    CHECK_EQ_U64(out.blobs, 3);
    free(other);
    free(file.data);
}

/* Something that is as long as the last chunk stands in front: that one then begins where the index was. */
UNIT_TEST(a_chunk_in_the_place_of_the_index_is_none)
{
    struct file_bytes file = sample(true, LAP_CODEC_LZ4, NULL);
    size_t at[64], count = find_chunks(&file, at, 64), bytes = at[count - 2] - at[count - 3];
    uint8_t *other = malloc(2 * file.bytes);
    struct lap_chunk_header header = {.kind = LAP_CHUNK_INFO};
    char payload[256] = "{}";
    memset(payload + 2, ' ', sizeof(payload) - 2);
    header.raw_bytes = header.stored_bytes = (uint32_t)(bytes - LAP_CHUNK_HEADER_BYTES);
    header.payload_hash = XXH3_64bits(payload, header.raw_bytes);
    CHECK(header.raw_bytes > 2 && header.raw_bytes < sizeof(payload));
    memcpy(other, file.data, at[1]);
    lap_chunk_header_store(&header, seed_of(&file), other + at[1]);
    memcpy(other + at[1] + LAP_CHUNK_HEADER_BYTES, payload, header.raw_bytes);
    memcpy(other + at[1] + bytes, file.data + at[1], file.bytes - at[1]);
    struct outcome out = read_sample(other, file.bytes + bytes);
    CHECK(out.opened == LAP_OK && !out.complete);
    free(other);
    free(file.data);
}

UNIT_TEST(a_stopped_recording_ends_with_its_last_frame)
{
    struct file_bytes file = sample(true, LAP_CODEC_LZ4, "enough");
    struct outcome out = read_sample(file.data, file.bytes);
    CHECK(out.right && !out.complete && out.indexed && out.packets == PACKETS && out.frames == 3);
    free(file.data);
}

UNIT_TEST(a_file_that_shrinks_while_it_is_read_is_an_error)
{
    struct file_bytes file = sample(true, LAP_CODEC_NONE, NULL);
    struct lap_reader *reader = open_trace(NULL);
    struct lap_packet packet;
    enum lap_status status;
    CHECK_EQ_INT(truncate(trace_path, 200), 0);
    while ((status = lap_reader_next(reader, &packet)) == LAP_OK)
        continue;
    CHECK_EQ_INT(status, LAP_ERROR_FORMAT);
    lap_reader_close(&reader);
    free(file.data);
}

/* Each of the two copies of the dictionary, with and without an index: nothing is missing, and it is said. */
static void flip_dictionary(bool indexed)
{
    struct file_bytes file = sample(true, LAP_CODEC_LZ4, NULL);
    struct lap_chunk_header header;
    CHECK_EQ_INT(lap_chunk_header_load(file.data + LAP_FILE_HEADER_BYTES, seed_of(&file), &header), LAP_OK);
    size_t both = 2 * (LAP_CHUNK_HEADER_BYTES + header.stored_bytes);
    size_t bytes = indexed ? file.bytes : file.bytes - LAP_CHUNK_HEADER_BYTES - LAP_END_BYTES;
    for (size_t at = LAP_FILE_HEADER_BYTES; at < LAP_FILE_HEADER_BYTES + both && !unit_failed; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            struct lap_reader *reader = NULL;
            struct lap_packet packet;
            uint64_t packets = 0;
            file.data[at] ^= (uint8_t)(1u << bit);
            CHECK_EQ_INT(lap_reader_open(place_file(file.data, bytes), NULL, &reader), LAP_OK);
            while (reader && lap_reader_next(reader, &packet) == LAP_OK)
                packets++;
            CHECK_EQ_U64(packets, PACKETS);
            if (reader) {
                const char *repaired = lap_reader_summary(reader)->repaired;
                CHECK(repaired && strstr(repaired, "dictionary"));
                CHECK(strcmp(lap_reader_command_name(reader, 3), trace_commands[3]) == 0);
            }
            lap_reader_close(&reader);
            file.data[at] ^= (uint8_t)(1u << bit);
        }
    free(file.data);
}

UNIT_TEST(one_of_two_dictionaries_may_be_damaged_at_any_bit)
{
    flip_dictionary(true);
    flip_dictionary(false);
}

UNIT_MAIN();
