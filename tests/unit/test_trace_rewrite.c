/* SPDX-License-Identifier: MIT */
/* A trace that is written anew is the same trace: with every codec, whole, cut, killed, or of one frame. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/unit/trace_file.h"
#include "trace/format/chunk.h"
#include "trace/rewrite.h"

#define STREAMS 3u
#define LARGE   ((size_t)9 << 20) /* of a blob in several chunks */

static char new_path[640];

static const struct lap_codec *const packers[] = {NULL, &lap_codec_lz4, &lap_codec_lz4hc, &lap_codec_zstd};
#define PACKERS (sizeof(packers) / sizeof(packers[0]))

struct shape {
    uint64_t packets, frame_packets; /* 0: no frames */
    bool blobs, stopped;
};

static void add_blob(struct lap_writer *writer, uint64_t ticket, uint8_t *data)
{
    size_t bytes = ticket % 500 == 0 ? LARGE : 4096 + ticket * 37 % 20000;
    memset(data, (int)(ticket % 251), 4096);
    data[ticket % 4096] ^= 0x55;
    (void)lap_writer_blob(writer, ticket % 2 ? LAP_BLOB_DATA : LAP_BLOB_BLOCK, data, bytes, NULL);
}

/* Threads take turns with streams, so that a stream has packets of several. */
static void record(struct lap_writer *writer, const struct shape *shape)
{
    struct lap_stream *streams[STREAMS];
    uint8_t *data = calloc(1, LARGE);
    CHECK(data);
    for (unsigned i = 0; i < STREAMS; i++)
        streams[i] = lap_writer_stream(writer, 100 + i);
    lap_writer_info(writer, "{\"program\":\"rewritten\"}");
    for (uint64_t ticket = 1; ticket <= shape->packets && data; ticket++) {
        unsigned i = (unsigned)(ticket / 5 % STREAMS);
        (void)write_packet(streams[i], ticket);
        lap_writer_count(writer, LAP_COUNTER_CALLS, 1);
        if (shape->blobs && ticket % 9 == 0)
            add_blob(writer, ticket, data);
        if (shape->frame_packets && ticket % shape->frame_packets == 0)
            lap_writer_frame(writer);
        if (ticket % 1000 == 0) {
            lap_stream_release(streams[i]);
            streams[i] = lap_writer_stream(writer, 200 + ticket / 1000);
        }
    }
    free(data);
}

static void make(const struct shape *shape)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    record(writer, shape);
    if (shape->stopped)
        lap_writer_stop(writer, "enough");
    lap_writer_destroy(&writer);
}

static void fresh_new_path(void)
{
    snprintf(new_path, sizeof(new_path), "%s.new", trace_path);
    unlink(new_path);
}

static size_t rewrite_and_compare(const struct lap_codec *packer)
{
    struct lap_rewrite_options options = {.packer = packer};
    struct stat file = {.st_size = 0};
    fresh_new_path();
    CHECK_EQ_INT(rewrite_to(new_path, &options), LAP_OK);
    enum lap_status status = lap_rewrite_compare(trace_path, new_path, &options);
    if (status != LAP_OK)
        printf("%s\n", lap_error_message());
    CHECK_EQ_INT(status, LAP_OK);
    CHECK_EQ_INT(stat(new_path, &file), 0);
    return (size_t)file.st_size;
}

/* Not what compares them, but what tests/unit/trace_file.h knows of the packets. */
static void check_new(const struct shape *shape)
{
    struct lap_reader *reader = NULL;
    struct lap_packet packet;
    uint64_t count = 0;
    CHECK_EQ_INT(lap_reader_open(new_path, NULL, &reader), LAP_OK);
    if (!reader)
        return;
    CHECK_EQ_INT(lap_reader_summary(reader)->complete, !shape->stopped);
    CHECK_EQ_U64(lap_reader_summary(reader)->frames, shape->frame_packets ? shape->packets / shape->frame_packets : 0);
    while (lap_reader_next(reader, &packet) == LAP_OK) {
        count++;
        CHECK(packet_is_good(&packet, count));
        CHECK_EQ_U64(packet.frame, shape->frame_packets ? (count - 1) / shape->frame_packets : 0);
    }
    CHECK_EQ_U64(count, shape->packets);
    lap_reader_close(&reader);
}

UNIT_TEST(every_codec_gives_the_same_trace)
{
    static const struct shape shapes[] = {
        {.packets = 3000, .frame_packets = 10, .blobs = true},
        {.packets = 3000, .frame_packets = 1},
        {.packets = 3000},
        {.packets = 200, .frame_packets = 20, .stopped = true},
        {.packets = 0},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        make(&shapes[i]);
        for (size_t j = 0; j < PACKERS; j++) {
            (void)rewrite_and_compare(packers[j]);
            check_new(&shapes[i]);
        }
    }
}

UNIT_TEST(small_chunks_become_large_ones)
{
    const struct shape shape = {.packets = 3000, .frame_packets = 3};
    struct stat file = {.st_size = 0};
    make(&shape);
    CHECK_EQ_INT(stat(trace_path, &file), 0);
    size_t lz4 = rewrite_and_compare(&lap_codec_lz4), hc = rewrite_and_compare(&lap_codec_lz4hc);
    size_t zstd = rewrite_and_compare(&lap_codec_zstd);
    CHECK(lz4 * 2 < (size_t)file.st_size);
    CHECK(hc <= lz4 && zstd < hc);
    CHECK_EQ_INT(rename(new_path, trace_path), 0);
    /* Headers have other hashes in each file, so the index is not equally small. */
    CHECK(rewrite_and_compare(&lap_codec_zstd) <= zstd + 64);
}

/* What can be read of it, and no more, with the same frames. */
UNIT_TEST(cut_traces_end_where_they_did)
{
    for (int frames = 0; frames < 2; frames++) {
        const struct shape shape = {.packets = 400, .frame_packets = frames ? 20 : 0, .blobs = true};
        make(&shape);
        struct file_bytes file = load_file(trace_path);
        for (size_t i = 1; i < 40; i++) {
            store_file(trace_path, file.data, file.bytes - file.bytes * i / 60);
            for (size_t j = 0; j < PACKERS; j += PACKERS - 1)
                (void)rewrite_and_compare(packers[j]);
        }
        free(file.data);
    }
}

/* The frames that are only in the tail file are in the new trace. */
UNIT_TEST(killed_traces_get_their_tail)
{
    const struct shape shape = {.packets = 300, .frame_packets = 10, .blobs = true};
    struct lap_reader *reader = NULL;
    int ended = 0;
    fresh_trace_path();
    pid_t child = fork();
    if (child == 0) {
        struct lap_writer_options options = TRACE_OPTIONS;
        struct lap_writer *writer = NULL;
        if (lap_writer_create(trace_path, &options, &writer) == LAP_OK)
            record(writer, &shape);
        raise(SIGKILL);
    }
    CHECK(child > 0 && waitpid(child, &ended, 0) == child && WIFSIGNALED(ended));
    (void)rewrite_and_compare(&lap_codec_zstd);
    CHECK_EQ_INT(lap_reader_open(new_path, NULL, &reader), LAP_OK);
    if (reader) {
        CHECK_EQ_U64(lap_reader_summary(reader)->frames, 30);
        CHECK(!lap_reader_summary(reader)->complete && lap_reader_summary(reader)->stopped[0]);
        CHECK_EQ_U64(lap_reader_summary(reader)->recovered_frames, 0);
    }
    lap_reader_close(&reader);
}

UNIT_TEST(damage_does_not_pass)
{
    const struct shape shape = {.packets = 300, .frame_packets = 10, .blobs = true};
    struct lap_rewrite_options options = {.packer = &lap_codec_zstd};
    unsigned refused = 0;
    make(&shape);
    struct file_bytes file = load_file(trace_path);
    for (size_t at = 40; at < file.bytes; at += 1 + file.bytes / 200) {
        struct lap_reader *reader = NULL;
        struct lap_packet packet;
        file.data[at] ^= 0x10;
        store_file(trace_path, file.data, file.bytes);
        fresh_new_path();
        enum lap_status status = rewrite_to(new_path, &options);
        refused += status == LAP_ERROR_FORMAT;
        CHECK_EQ_INT(access(new_path, F_OK) == 0, status == LAP_OK);
        /* What was damaged in the index alone is whole again; else it ends where reading the old one does. */
        if (status == LAP_OK && lap_rewrite_compare(trace_path, new_path, &options) != LAP_OK) {
            CHECK_EQ_INT(lap_reader_open(new_path, NULL, &reader), LAP_OK);
            CHECK(reader && !lap_reader_summary(reader)->complete);
            for (uint64_t count = 1; reader && lap_reader_next(reader, &packet) == LAP_OK; count++)
                CHECK(packet_is_good(&packet, count));
            lap_reader_close(&reader);
        }
        file.data[at] ^= 0x10;
    }
    CHECK(refused > 50);
    free(file.data);
}

static void note_repaired(void *user, const char *what)
{
    snprintf(user, 200, "%s", what);
}

/* It is not lost with the file that had the damage. */
UNIT_TEST(what_is_made_up_for_is_told)
{
    const struct shape shape = {.packets = 300, .frame_packets = 10, .blobs = true};
    char said[200] = "";
    struct lap_rewrite_options options = {.packer = NULL, .repaired = note_repaired, .user = said};
    struct file_bytes file;
    size_t at = LAP_FILE_HEADER_BYTES, marks = 0;
    make(&shape);
    fresh_new_path();
    CHECK_EQ_INT(rewrite_to(new_path, &options), LAP_OK);
    CHECK_STR(said, "");
    file = load_file(trace_path);
    while ((marks += file.data[at + 4] == LAP_CHUNK_FRAME) < 2)
        at += LAP_CHUNK_HEADER_BYTES + lap_load_u32(file.data + at + 16);
    file.data[at + LAP_CHUNK_HEADER_BYTES] ^= 1;
    store_file(trace_path, file.data, file.bytes);
    fresh_new_path();
    CHECK_EQ_INT(rewrite_to(new_path, &options), LAP_OK);
    CHECK(strstr(said, "the mark of frame 2 is damaged") != NULL);
    free(file.data);
    fresh_new_path();
}

UNIT_TEST(damage_is_told_with_its_frame)
{
    const struct shape shape = {.packets = 300, .frame_packets = 10, .blobs = true};
    struct lap_rewrite_options options = {.packer = NULL};
    struct file_bytes file;
    size_t at = LAP_FILE_HEADER_BYTES, marks = 0;
    make(&shape);
    fresh_new_path();
    file = load_file(trace_path);
    while ((marks += file.data[at + 4] == LAP_CHUNK_FRAME) < 7 || file.data[at + 4] != LAP_CHUNK_PACKETS)
        at += LAP_CHUNK_HEADER_BYTES + lap_load_u32(file.data + at + 16);
    file.data[at + LAP_CHUNK_HEADER_BYTES] ^= 1;
    store_file(trace_path, file.data, file.bytes);
    CHECK_EQ_INT(rewrite_to(new_path, &options), LAP_ERROR_FORMAT);
    CHECK(strncmp(lap_error_message(), "frame 8: chunk at offset ", 25) == 0);
    CHECK(access(new_path, F_OK) != 0);
    free(file.data);
}

UNIT_TEST(no_room_leaves_nothing)
{
    const struct shape shape = {.packets = 3000, .frame_packets = 10, .blobs = true};
    struct lap_rewrite_options options = {.packer = NULL};
    struct rlimit before, small;
    make(&shape);
    fresh_new_path();
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 100000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    CHECK_EQ_INT(rewrite_to(new_path, &options), LAP_ERROR_IO);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(access(new_path, F_OK) != 0);

    /* Nothing is overwritten. */
    store_file(new_path, "mine", 4);
    CHECK_EQ_INT(rewrite_to(new_path, &options), LAP_ERROR_IO);
    struct file_bytes file = load_file(new_path);
    CHECK(file.bytes == 4 && memcmp(file.data, "mine", 4) == 0);
    free(file.data);
    fresh_new_path();
}

UNIT_TEST(differences_are_found)
{
    const struct shape shape = {.packets = 100, .frame_packets = 10}, longer = {.packets = 110, .frame_packets = 10},
                       other = {.packets = 100, .frame_packets = 5};
    struct lap_rewrite_options options = {.packer = NULL};
    make(&shape);
    (void)rewrite_and_compare(NULL);
    make(&longer);
    CHECK_EQ_INT(lap_rewrite_compare(trace_path, new_path, &options), LAP_ERROR_FORMAT);
    make(&other);
    CHECK_EQ_INT(lap_rewrite_compare(trace_path, new_path, &options), LAP_ERROR_FORMAT);
    make(&shape);
    CHECK_EQ_INT(lap_rewrite_compare(trace_path, new_path, &options), LAP_OK);
}

UNIT_MAIN();
