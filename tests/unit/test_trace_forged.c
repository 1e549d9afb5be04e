/* SPDX-License-Identifier: MIT */
/* Files made by hand, by somebody who wants a reader to fail. */
#include <xxhash.h>

#include "tests/unit/trace_file.h"
#include "trace/format/bytes.h"
#include "trace/format/chunk.h"
#include "trace/format/dictionary.h"
#include "trace/rewrite.h"

static uint8_t forged[16u << 20];
static size_t forged_bytes;

static void add_bytes(const void *data, size_t bytes)
{
    memcpy(forged + forged_bytes, data, bytes);
    forged_bytes += bytes;
}

static uint32_t forged_version = LAP_FORMAT_VERSION;

static uint64_t forged_seed(void)
{
    struct lap_file_header header = {.version = 0};
    CHECK_EQ_INT(lap_file_header_load(forged, &header), LAP_OK);
    return lap_file_seed(&header);
}

/* A chunk whose header and payload have good hashes, whatever else is in it. */
static void add_chunk(struct lap_chunk_header header, const void *payload, size_t bytes)
{
    static uint8_t scratch[(5u << 20) + 65536];
    uint8_t head[LAP_CHUNK_HEADER_BYTES];
    const uint8_t *stored = lap_chunk_pack(&header, &lap_codec_lz4, payload, bytes, scratch);
    lap_chunk_header_store(&header, forged_seed(), head);
    add_bytes(head, sizeof(head));
    add_bytes(stored, header.stored_bytes);
}

static void begin_forging(void)
{
    struct lap_file_header header = {.version = forged_version, .uuid = {1, 2, 3}};
    forged_bytes = LAP_FILE_HEADER_BYTES;
    lap_file_header_store(&header, forged);
    add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_DICTIONARY}, "\x02\0\1A\0\0", 6);
}

static bool forges_index;

/* The headers of all chunks so far. */
static void add_index(void)
{
    static uint8_t heads[64 * LAP_CHUNK_HEADER_BYTES];
    struct lap_chunk_header header = {.kind = LAP_CHUNK_INDEX};
    for (size_t at = LAP_FILE_HEADER_BYTES; at < forged_bytes && header.count < 64; header.count++) {
        struct lap_chunk_header chunk;
        CHECK_EQ_INT(lap_chunk_header_load(forged + at, forged_seed(), &chunk), LAP_OK);
        memcpy(heads + (size_t)header.count * LAP_CHUNK_HEADER_BYTES, forged + at, LAP_CHUNK_HEADER_BYTES);
        at += LAP_CHUNK_HEADER_BYTES + chunk.stored_bytes;
    }
    header.last = header.count - 1;
    add_chunk(header, heads, (size_t)header.count * LAP_CHUNK_HEADER_BYTES);
}

static const char *end_reason = "";

/* An end where it belongs, with an index or without. */
static void add_end(void)
{
    struct lap_end end = {.index_offset = forged_bytes, .index_chunks = forges_index};
    (void)snprintf(end.reason, sizeof end.reason, "%s", end_reason);
    if (forges_index)
        add_index();
    uint8_t payload[LAP_END_BYTES], head[LAP_CHUNK_HEADER_BYTES];
    struct lap_chunk_header header = {.kind = LAP_CHUNK_END};
    lap_end_store(&end, payload);
    const uint8_t *stored = lap_chunk_pack(&header, NULL, payload, sizeof(payload), NULL);
    lap_chunk_header_store(&header, forged_seed(), head);
    add_bytes(head, sizeof(head));
    add_bytes(stored, sizeof(payload));
}

/* Opens what was forged and reads it to its end; the status of what failed first. */
static uint64_t forged_packets;
static bool forged_is_cut; /* it ends before what is wrong, and says so */
static enum lap_status read_forged(void)
{
    struct lap_reader *reader;
    struct lap_packet packet;
    struct lap_reader_options options = {.memory_limit_bytes = 1u << 20};
    forged_packets = 0;
    forged_is_cut = false;
    fresh_trace_path();
    store_file(trace_path, forged, forged_bytes);
    enum lap_status status = lap_reader_open(trace_path, &options, &reader);
    if (status != LAP_OK)
        return status;
    while ((status = lap_reader_next(reader, &packet)) == LAP_OK)
        forged_packets++;
    forged_is_cut =
        status == LAP_END && strstr(lap_reader_summary(reader)->stopped ? lap_reader_summary(reader)->stopped : "",
                                    "damaged or cut at offset ");
    CHECK(status == LAP_END || lap_reader_next(reader, &packet) == status); /* it stays failed */
    lap_reader_close(&reader);
    return status;
}

/* The same; a trace without index that ends in front of what is wrong, and says so, is as good as an error. */
static enum lap_status read_told(void)
{
    enum lap_status status = read_forged();
    return forged_is_cut && !forges_index ? LAP_ERROR_FORMAT : status;
}

/* Without an index the file is gone through, with one its chunks are believed to be where it says. */
static void with_and_without_index(void (*test)(void))
{
    test();
    forges_index = true;
    test();
    forges_index = false;
}

static struct lap_chunk_header packets_header(uint32_t stream, uint32_t count, uint64_t first, uint64_t last)
{
    return (struct lap_chunk_header){
        .kind = LAP_CHUNK_PACKETS, .stream = stream, .count = count, .first = first, .last = last};
}

/* thread 9; then packets of size, command, ticket step, epoch step, flags, body */
#define THREAD                     "\x09"
#define PACKET(step, epoch, flags) "\0\0\0\0\1" step epoch flags

static void all_forged_streams(void)
{
    static const struct {
        const char *what;
        uint32_t count;
        uint64_t first, last;
        const char *payload;
        size_t bytes;
        bool good;
    } cases[] = {
        {"as it should be", 2, 1, 2, THREAD PACKET("\0", "\0", "\1") PACKET("\1", "\1", "\0"), 17, true},
        {"no ticket 1", 1, 2, 2, THREAD PACKET("\0", "\0", "\0"), 9, false},
        {"ticket 0", 1, 0, 0, THREAD PACKET("\0", "\0", "\0"), 9, false},
        {"a hole", 2, 1, 3, THREAD PACKET("\0", "\0", "\0") PACKET("\2", "\0", "\0"), 17, false},
        {"a ticket twice", 2, 1, 2, THREAD PACKET("\0", "\0", "\0") PACKET("\0", "\0", "\0"), 17, false},
        {"behind the last ticket", 2, 1, 2, THREAD PACKET("\0", "\0", "\0") PACKET("\5", "\0", "\0"), 17, false},
        {"before the last ticket", 2, 1, 3, THREAD PACKET("\0", "\0", "\0") PACKET("\1", "\0", "\0"), 17, false},
        {"a step before the first packet", 1, 1, 1, THREAD PACKET("\1", "\0", "\0"), 9, false},
        {"epoch too large", 1, 1, 1, THREAD PACKET("\0", "\1", "\0"), 9, false},
        {"epoch too small", 2, 1, 2, THREAD PACKET("\0", "\0", "\1") PACKET("\1", "\0", "\0"), 17, false},
        {"unknown flags", 1, 1, 1, THREAD PACKET("\0", "\0", "\x20"), 9, false},
        {"unknown command", 1, 1, 1, THREAD "\0\0\0\0\2\0\0\0", 9, false},
        {"a command without a name", 1, 1, 1, THREAD "\0\0\0\0\0\0\0\0", 9, false},
        {"fewer packets than it says", 2, 1, 2, THREAD PACKET("\0", "\0", "\0"), 9, false},
        {"more packets than it says", 1, 1, 1, THREAD PACKET("\0", "\0", "\0") PACKET("\1", "\0", "\0"), 17, false},
        {"no packets", 0, 1, 1, THREAD, 1, false},
        {"nothing", 1, 1, 1, "", 0, false},
        {"a body longer than the chunk", 1, 1, 1, THREAD "\1\0\0\0\1\0\0\0", 9, false},
        {"a huge body", 1, 1, 1, THREAD "\xff\xff\xff\xff\1\0\0\0", 9, false},
        {"a blob that is not there", 1, 1, 1, THREAD "\1\0\0\0\1\0\0\x08\x01", 10, false},
        {"a blob without number", 1, 1, 1, THREAD PACKET("\0", "\0", "\x08"), 9, false},
        {"more packets than tickets", 2, 1, 1, THREAD PACKET("\0", "\0", "\0") PACKET("\0", "\0", "\0"), 17, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin_forging();
        add_chunk(packets_header(3, cases[i].count, cases[i].first, cases[i].last), cases[i].payload, cases[i].bytes);
        add_end();
        enum lap_status status = read_told();
        if (status != (cases[i].good ? LAP_END : LAP_ERROR_FORMAT))
            UNIT_FAIL("%s: %s", cases[i].what, lap_status_text(status));
    }
}

UNIT_TEST(forged_streams_are_refused)
{
    with_and_without_index(all_forged_streams);
}

#define RUN_PACKETS 12u

static enum lap_status read_run(const char *odd, size_t odd_bytes, unsigned odd_at)
{
    uint8_t payload[1 + 16 * RUN_PACKETS] = THREAD;
    size_t bytes = 1;
    for (unsigned i = 0; i < RUN_PACKETS; i++) {
        const char *packet = i ? PACKET("\1", "\0", "\0") : PACKET("\0", "\0", "\0");
        size_t packet_bytes = 8;
        if (i == odd_at) {
            packet = odd;
            packet_bytes = odd_bytes;
        }
        memcpy(payload + bytes, packet, packet_bytes);
        bytes += packet_bytes;
    }
    begin_forging();
    add_chunk(packets_header(3, RUN_PACKETS, 1, RUN_PACKETS), payload, bytes);
    add_end();
    return read_told();
}

/* Where many packets follow each other, few questions are asked of each (trace/read/reader_packet.c, "runs"). */
UNIT_TEST(one_forged_packet_among_good_ones_is_found)
{
    static const struct {
        const char *what, *packet;
        size_t bytes;
        bool good;
    } cases[] = {
        {"as it should be", PACKET("\1", "\0", "\0"), 8, true},
        {"with a body", "\3\0\0\0\1\1\0\2abc", 11, true},
        {"a hole", PACKET("\2", "\0", "\0"), 8, false},
        {"a ticket twice", PACKET("\0", "\0", "\0"), 8, false},
        {"far behind the last ticket", "\0\0\0\0\1\xff\x7f\0\0", 9, false},
        {"epoch too large", PACKET("\1", "\1", "\0"), 8, false},
        {"a barrier that the next epoch does not count", PACKET("\1", "\0", "\1"), 8, false},
        {"unknown flags", PACKET("\1", "\0", "\x20"), 8, false},
        {"unknown command", "\0\0\0\0\2\1\0\0", 8, false},
        {"unknown command of two bytes", "\0\0\0\0\x81\1\1\0\0", 9, false},
        {"a command with a needless byte", "\0\0\0\0\x81\0\1\0\0", 9, false},
        {"a command without a name", "\0\0\0\0\0\1\0\0", 8, false},
        {"a body longer than the chunk", "\x7f\0\0\0\1\1\0\0", 8, false},
        {"a huge body", "\xff\xff\xff\xff\1\1\0\0", 8, false},
        {"a blob that is not there", "\1\0\0\0\1\1\0\x08\x01", 9, false},
        {"a byte too many", PACKET("\1", "\0", "\0") "\0", 9, false},
        {"a byte too few", PACKET("\1", "\0", ""), 7, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (unsigned at = 1; at + 1 < RUN_PACKETS; at++) {
            enum lap_status status = read_run(cases[i].packet, cases[i].bytes, at);
            if (status != (cases[i].good ? LAP_END : LAP_ERROR_FORMAT))
                UNIT_FAIL("%s at %u: %s", cases[i].what, at, lap_status_text(status));
            CHECK(cases[i].good ? forged_packets == RUN_PACKETS : forged_packets >= at && forged_packets <= at + 1);
        }
}

static void all_damage_behind_the_last_frame(void)
{
    const char *packets[] = {PACKET("\0", "\0", "\0"), PACKET("\1", "\0", "\0"), PACKET("\1", "\0", "\0")};
    for (unsigned in_frames = 1; in_frames <= 3; in_frames++) {
        uint8_t payload[1 + 4 * 8] = THREAD;
        for (unsigned i = 0; i < 3; i++)
            memcpy(payload + 1 + 8 * i, packets[i], 8);
        memcpy(payload + 1 + 8 * 3, PACKET("\0", "\0", "\0"), 8); /* a ticket twice */
        begin_forging();
        add_chunk(packets_header(3, 4, 1, 4), payload, sizeof(payload));
        add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_FRAME, .last = in_frames}, "\0", 1);
        end_reason = "enough";
        add_end();
        end_reason = "";
        CHECK_EQ_INT(read_told(), LAP_END);
        CHECK_EQ_U64(forged_packets, in_frames);
    }
}

/* A trace that ends early ends with its last frame, whatever stands behind that. */
UNIT_TEST(damage_behind_the_last_frame_does_not_matter)
{
    with_and_without_index(all_damage_behind_the_last_frame);
}

/* A trace without end stops at the first packet that is missing. What is damaged behind that is not come to, in a trace
 * that was written anew neither, where several chunks became one. */
UNIT_TEST(damage_behind_a_missing_packet_stays_there)
{
    static const struct {
        const char *packet;
        size_t bytes;
        uint64_t last;
    } cases[] = {
        {PACKET("\0", "\0", "\0"), 8, 5},   {PACKET("\0", "\0", "\0"), 8, 6},
        {PACKET("\1", "\0", "\0"), 8, 5},   {PACKET("\0", "\1", "\0"), 8, 5},
        {PACKET("\0", "\0", "\x20"), 8, 5}, {"\0\0\0\0\2\0\0\0", 8, 5},
        {"\0\0\0\0\0\0\0\0", 8, 5},         {"\x7f\0\0\0\1\0\0\0", 8, 5},
        {PACKET("\0", "\0", ""), 7, 5},     {PACKET("\0", "\0", "\0") "\0", 9, 5},
    };
    const char *good = THREAD PACKET("\0", "\0", "\0") PACKET("\1", "\0", "\0") PACKET("\1", "\0", "\0");
    struct lap_rewrite_options options = {.packer = NULL};
    char new_path[700];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t payload[16] = THREAD;
        memcpy(payload + 1, cases[i].packet, cases[i].bytes);
        begin_forging();
        add_chunk(packets_header(3, 3, 1, 3), good, 25);
        add_chunk(packets_header(3, 1, 5, cases[i].last), payload, 1 + cases[i].bytes);
        add_chunk(packets_header(4, 1, 6, 6), payload, 0);
        CHECK_EQ_INT(read_forged(), LAP_END);
        CHECK_EQ_U64(forged_packets, 3);
        snprintf(new_path, sizeof(new_path), "%s.new", trace_path);
        unlink(new_path);
        CHECK_EQ_INT(rewrite_to(new_path, &options), LAP_OK);
        if (lap_rewrite_compare(trace_path, new_path, &options) != LAP_OK)
            UNIT_FAIL("damage %zu: %s", i, lap_error_message());
        unlink(new_path);
    }
}

static void all_forged_orders(void)
{
    const char *packet = THREAD PACKET("\0", "\0", "\0");
    /* two streams with the same ticket */
    begin_forging();
    add_chunk(packets_header(0, 1, 1, 1), packet, 9);
    add_chunk(packets_header(1, 1, 1, 1), packet, 9);
    add_end();
    CHECK_EQ_INT(read_told(), LAP_ERROR_FORMAT);
    /* one stream with the same ticket in two chunks */
    begin_forging();
    add_chunk(packets_header(0, 1, 1, 1), packet, 9);
    add_chunk(packets_header(0, 1, 1, 1), packet, 9);
    add_end();
    CHECK_EQ_INT(read_told(), LAP_ERROR_FORMAT);
    /* two streams out of the file's order are fine */
    begin_forging();
    add_chunk(packets_header(1, 1, 2, 2), packet, 9);
    add_chunk(packets_header(0, 1, 1, 1), packet, 9);
    add_end();
    CHECK_EQ_INT(read_told(), LAP_END);
    CHECK_EQ_U64(forged_packets, 2);
    /* without an end and a mark, a hole is where it ends */
    begin_forging();
    add_chunk(packets_header(1, 1, 3, 3), packet, 9);
    add_chunk(packets_header(0, 1, 1, 1), packet, 9);
    CHECK_EQ_INT(read_told(), LAP_END);
    CHECK_EQ_U64(forged_packets, 1);
    /* with a mark behind it, it is damage */
    uint8_t totals[LAP_MARK_MAX_BYTES + 1] = {0};
    add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_FRAME, .last = 3}, totals, 1);
    CHECK_EQ_INT(read_told(), LAP_ERROR_FORMAT);
    /* frame marks that go back, skip a number, or have another size */
    begin_forging();
    add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_FRAME, .last = 5}, totals, 1);
    add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_FRAME, .last = 4, .frame = 1}, totals, 1);
    if (forges_index)
        add_end();
    CHECK_EQ_INT(read_told(), LAP_ERROR_FORMAT);
    begin_forging();
    add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_FRAME, .frame = 1}, totals, 1);
    if (forges_index)
        add_end();
    CHECK_EQ_INT(read_told(), LAP_ERROR_FORMAT);
    begin_forging();
    add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_FRAME}, totals, sizeof(totals));
    if (forges_index)
        add_end();
    CHECK_EQ_INT(read_told(), LAP_ERROR_FORMAT);
    /* and marks with no number, too many of them, one that is not in its shortest form, one that is cut */
    static const struct {
        uint8_t bytes[20];
        size_t count;
    } bad[] = {{{0}, 0}, {{0}, 18}, {{0x80, 0}, 2}, {{1, 0x80}, 2}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        begin_forging();
        add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_FRAME}, bad[i].bytes, bad[i].count);
        CHECK_EQ_INT(read_told(), LAP_ERROR_FORMAT);
    }
    /* counters of a later writer are left out */
    begin_forging();
    add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_FRAME}, totals, 17);
    CHECK_EQ_INT(read_told(), LAP_END);
}

UNIT_TEST(forged_orders_are_refused)
{
    with_and_without_index(all_forged_orders);
}

static void all_forged_dictionaries(void)
{
    static const struct {
        const char *payload;
        size_t bytes;
        bool good;
    } cases[] = {
        {"\0\0\0", 3, true},
        {"\2\0\1A\0\0", 6, true},
        {"\2\1A\0\0\0", 6, false},              /* number 1 without a name */
        {"\1\1 \0\0", 5, false},                /* a space */
        {"\1\1\x1b\0\0", 5, false},             /* what a terminal obeys */
        {"\1\1\x80\0\0", 5, false},             /* no ASCII */
        {"\0\0\0\0", 4, false},                 /* needless bytes */
        {"\0\0", 2, false},                     /* a list is missing */
        {"\xff\xff\xff\xff\x0f\0\0", 7, false}, /* 4 billion names */
        {"\1\x7f"
         "A\0\0",
         5, false},
        {"", 0, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin_forging();
        forged_bytes = LAP_FILE_HEADER_BYTES;
        add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_DICTIONARY}, cases[i].payload, cases[i].bytes);
        add_end();
        CHECK_EQ_INT(read_told(), cases[i].good ? LAP_END : LAP_ERROR_FORMAT);
    }
    begin_forging();
    add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_DICTIONARY}, "\0\0\0", 3);
    if (forges_index)
        add_end();
    CHECK_EQ_INT(read_told(), LAP_ERROR_FORMAT);
    forged_bytes = LAP_FILE_HEADER_BYTES;
    CHECK_EQ_INT(read_told(), LAP_ERROR_FORMAT);
}

UNIT_TEST(forged_dictionaries_are_refused)
{
    with_and_without_index(all_forged_dictionaries);
}

/* A list of `count` names "v", the first of which has none, and two empty lists. */
static enum lap_status decode_names(uint32_t count)
{
    struct lap_name_table dictionary;
    uint8_t *payload = malloc(2 * (size_t)count + 16), *p = lap_at_u64(payload, count);
    enum lap_status status;
    *p++ = 0;
    for (uint32_t i = 1; i < count; i++, p += 2)
        memcpy(p, "\1v", 2);
    *p++ = 0;
    *p++ = 0;
    status = lap_dictionary_decode(payload, (size_t)(p - payload), &dictionary);
    if (status == LAP_OK)
        lap_dictionary_finish(&dictionary);
    free(payload);
    return status;
}

/* Each name is looked up when a trace is opened: a packed dictionary of two million would take seconds. */
UNIT_TEST(a_dictionary_has_a_limit)
{
    CHECK_EQ_INT(decode_names(LAP_DICTIONARY_MAX_NAMES), LAP_OK);
    CHECK_EQ_INT(decode_names(LAP_DICTIONARY_MAX_NAMES + 1), LAP_ERROR_FORMAT);
}

/* Version 2, whose headers have hashes without a seed; in version 3 such a chunk is another file's. */
UNIT_TEST(chunks_of_another_file_are_refused)
{
    forged_version = LAP_FORMAT_OLDEST;
    begin_forging();
    CHECK_EQ_U64(forged_seed(), 0);
    add_end();
    CHECK_EQ_INT(read_forged(), LAP_END);
    CHECK(!forged_is_cut);
    forged_version = LAP_FORMAT_VERSION;
    begin_forging();
    CHECK(forged_seed() != 0);
    size_t at = forged_bytes;
    struct lap_chunk_header header = {.kind = LAP_CHUNK_INFO};
    add_chunk(header, "{}", 2);
    add_end();
    CHECK_EQ_INT(read_forged(), LAP_END);
    CHECK(!forged_is_cut);
    CHECK_EQ_INT(lap_chunk_header_load(forged + at, forged_seed(), &header), LAP_OK);
    lap_chunk_header_store(&header, forged_seed() + 1, forged + at);
    CHECK_EQ_INT(read_told(), LAP_ERROR_FORMAT);
}

#define SEED 77u

UNIT_TEST(forged_headers_are_refused)
{
    uint8_t head[LAP_CHUNK_HEADER_BYTES];
    struct lap_chunk_header header, good = {.kind = LAP_CHUNK_INFO,
                                            .codec = LAP_CODEC_LZ4,
                                            .raw_bytes = 1000,
                                            .stored_bytes = 10,
                                            .first = 1,
                                            .last = 2};
    lap_chunk_header_store(&good, SEED, head);
    CHECK_EQ_INT(lap_chunk_header_load(head, SEED, &header), LAP_OK);
#define BAD(change)                                                                                                    \
    do {                                                                                                               \
        struct lap_chunk_header bad = good;                                                                            \
        change;                                                                                                        \
        lap_chunk_header_store(&bad, SEED, head);                                                                      \
        CHECK_EQ_INT(lap_chunk_header_load(head, SEED, &header), LAP_ERROR_FORMAT);                                    \
    } while (0)
    BAD(bad.kind = 0);
    BAD(bad.kind = LAP_CHUNK_END + 1);
    BAD(bad.codec = LAP_CODEC_ZSTD + 1);
    BAD(bad.codec = LAP_CODEC_NONE); /* then both sizes are the same */
    BAD(bad.raw_bytes = LAP_CHUNK_MAX_RAW + 1);
    BAD(bad.raw_bytes = 10);
    BAD(bad.raw_bytes = 10 * 255 + 65); /* more than LZ4 can make of 10 bytes */
    BAD(bad.stored_bytes = 0);
    BAD(bad.stored_bytes = UINT32_MAX);
    BAD(bad.first = 3);
    lap_chunk_header_store(&good, SEED, head);
    head[6] = 1; /* reserved, with a good hash */
    lap_store_u64(head + 64, XXH3_64bits_withSeed(head, 64, SEED));
    CHECK_EQ_INT(lap_chunk_header_load(head, SEED, &header), LAP_ERROR_FORMAT);

    struct lap_file_header file, loaded;
    uint8_t file_head[LAP_FILE_HEADER_BYTES];
    for (uint32_t version = LAP_FORMAT_OLDEST - 1; version <= LAP_FORMAT_VERSION + 1; version++) {
        bool reads = version >= LAP_FORMAT_OLDEST && version <= LAP_FORMAT_VERSION;
        file = (struct lap_file_header){.version = version};
        lap_file_header_store(&file, file_head);
        CHECK_EQ_INT(lap_file_header_load(file_head, &loaded), reads ? LAP_OK : LAP_ERROR_FORMAT);
        CHECK(reads || strstr(lap_error_message(), "versions 2 to 4"));
    }
    file = (struct lap_file_header){.version = LAP_FORMAT_VERSION, .flags = 1};
    lap_file_header_store(&file, file_head);
    CHECK_EQ_INT(lap_file_header_load(file_head, &loaded), LAP_ERROR_FORMAT);
}

/* One BLOBS chunk with one entry, as an attacker would have it, and what asking for blob 1 says. */
static enum lap_status read_blob(const struct lap_blob_entry *entry, uint32_t count, uint64_t last, size_t bytes)
{
    static uint8_t payload[10000];
    memset(payload, 0, sizeof(payload));
    lap_blob_entry_store(entry, payload);
    begin_forging();
    add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_BLOBS, .count = count, .first = 1, .last = last}, payload,
              bytes);
    add_end();
    fresh_trace_path();
    store_file(trace_path, forged, forged_bytes);
    struct lap_reader *reader;
    const uint8_t *data;
    size_t data_bytes;
    enum lap_status status = lap_reader_open(trace_path, NULL, &reader);
    if (status != LAP_OK)
        return status;
    status = lap_reader_blob(reader, LAP_BLOB_DATA, 1, &data, &data_bytes);
    lap_reader_close(&reader);
    return status;
}

static void all_forged_blobs(void)
{
    static const uint8_t zeros[100];
    struct lap_blob_entry good = {
        .kind = LAP_BLOB_DATA, .total_bytes = 100, .part_bytes = 100, .hash = lap_blob_hash_of(zeros, 100)};
    struct lap_blob_entry bad;
    CHECK_EQ_INT(read_blob(&good, 1, 1, 160), LAP_OK);
    CHECK_EQ_INT(read_blob(&good, 1, 1, 147), LAP_ERROR_FORMAT); /* the chunk is too short for it */
    CHECK_EQ_INT(read_blob(&good, 1, 1, 40), LAP_ERROR_FORMAT);
    CHECK_EQ_INT(read_blob(&good, 2, 2, 160), LAP_ERROR_FORMAT); /* a second one is missing */
    CHECK_EQ_INT(read_blob(&good, 1, 2, 160), LAP_ERROR_FORMAT); /* the count contradicts the numbers */
    CHECK_EQ_INT(read_blob(&good, 0, 1, 160), LAP_ERROR_FORMAT);
    CHECK_EQ_INT(read_blob(&good, UINT32_MAX, UINT32_MAX, 160), LAP_ERROR_FORMAT);
    bad = good, bad.total_bytes = UINT64_MAX;
    CHECK_EQ_INT(read_blob(&bad, 1, 1, 160), LAP_ERROR_FORMAT);
    bad = good, bad.part_bytes = UINT32_MAX, bad.total_bytes = UINT32_MAX;
    CHECK_EQ_INT(read_blob(&bad, 1, 1, 160), LAP_ERROR_FORMAT);
    bad = good, bad.part_offset = UINT64_MAX;
    CHECK_EQ_INT(read_blob(&bad, 1, 1, 160), LAP_ERROR_FORMAT);
    bad = good, bad.part_offset = 1, bad.total_bytes = 101;
    CHECK_EQ_INT(read_blob(&bad, 1, 1, 160), LAP_ERROR_FORMAT);
    bad = good, bad.kind = 3;
    CHECK_EQ_INT(read_blob(&bad, 1, 1, 160), LAP_ERROR_FORMAT);
    bad = good, bad.kind = LAP_BLOB_BLOCK;
    CHECK_EQ_INT(read_blob(&bad, 1, 1, 160), LAP_ERROR_FORMAT);
    bad = good, bad.hash.low ^= 1;
    CHECK_EQ_INT(read_blob(&bad, 1, 1, 160), LAP_ERROR_FORMAT);
}

UNIT_TEST(forged_blobs_are_refused)
{
    with_and_without_index(all_forged_blobs);
}

/* Nor does it come into a new file. */
UNIT_TEST(blobs_that_have_no_room_are_not_written_anew)
{
    static const uint8_t zeros[LAP_BLOB_ENTRY_BYTES];
    const struct lap_rewrite_options options = {.packer = &lap_codec_lz4};
    char path[sizeof(trace_path) + 8];
    for (uint32_t count = 1; count <= 2; count++) {
        struct lap_chunk_header header = {.kind = LAP_CHUNK_BLOBS, .count = count, .first = 1, .last = count};
        begin_forging();
        add_chunk(header, zeros, count > 1 ? sizeof(zeros) : 0);
        add_end();
        fresh_trace_path();
        store_file(trace_path, forged, forged_bytes);
        snprintf(path, sizeof(path), "%s.new", trace_path);
        CHECK_EQ_INT(rewrite_to(path, &options), LAP_ERROR_FORMAT);
        CHECK(access(path, F_OK) != 0);
    }
}

/* A blob in three parts; `change` says which part to spoil and how. */
static enum lap_status read_parts(int change)
{
    static uint8_t whole[3000], payload[1048];
    struct lap_blob_entry entry = {
        .kind = LAP_BLOB_DATA, .total_bytes = 3000, .part_bytes = 1000, .hash = lap_blob_hash_of(whole, 3000)};
    struct lap_chunk_header header = {.kind = LAP_CHUNK_BLOBS, .count = 1, .first = 1, .last = 1};
    begin_forging();
    for (int part = 0; part < 3; part++) {
        struct lap_blob_entry now = entry;
        now.part_offset = (uint64_t)part * 1000;
        if (change == 1 && part == 2)
            break; /* the last one is missing */
        if (change == 2 && part == 1)
            continue; /* one in the middle */
        if (change == 3 && part == 1)
            now.hash.high ^= 1;
        if (change == 4 && part == 2)
            now.kind = LAP_BLOB_BLOCK;
        if (change == 5 && part == 2)
            now.part_offset = 1000;
        if (change == 6 && part == 1)
            now.total_bytes = 4000;
        if (change == 7)
            now.total_bytes = UINT64_C(1) << 29; /* more than all its chunks have */
        if (change == 9)
            now.total_bytes = LAP_BLOB_MAX_BYTES + UINT64_C(1);
        if (change == 8 && part == 2)
            now.part_offset = 1 << 30;
        lap_blob_entry_store(&now, payload);
        memset(payload + LAP_BLOB_ENTRY_BYTES, 0, 1000);
        add_chunk(header, payload, sizeof(payload));
    }
    add_end();
    fresh_trace_path();
    store_file(trace_path, forged, forged_bytes);
    struct lap_reader *reader;
    const uint8_t *data;
    size_t bytes;
    enum lap_status status = lap_reader_open(trace_path, NULL, &reader);
    if (status != LAP_OK)
        return status;
    status = lap_reader_blob(reader, LAP_BLOB_DATA, 1, &data, &bytes);
    CHECK(status != LAP_OK || (bytes == 3000 && memcmp(data, whole, 3000) == 0));
    lap_reader_close(&reader);
    return status;
}

UNIT_TEST(forged_parts_of_blobs_are_refused)
{
    CHECK_EQ_INT(read_parts(0), LAP_OK);
    for (int change = 1; change <= 8; change++)
        CHECK_EQ_INT(read_parts(change), LAP_ERROR_FORMAT);
    CHECK_EQ_INT(read_parts(9), LAP_ERROR_LIMIT);
}

UNIT_TEST(forged_information_is_refused)
{
    static char text[LAP_INFO_MAX_BYTES + 100];
    static const char *const bad[] = {"[]", "{", "\"x\"", "null", ""};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        begin_forging();
        add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_INFO}, bad[i], strlen(bad[i]));
        CHECK_EQ_INT(read_told(), LAP_ERROR_FORMAT);
    }
    memset(text, ' ', sizeof(text));
    text[0] = '{', text[LAP_INFO_MAX_BYTES - 1] = '}';
    begin_forging();
    add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_INFO}, text, LAP_INFO_MAX_BYTES);
    CHECK_EQ_INT(read_told(), LAP_END);
    for (int i = 0; i < 4; i++)
        add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_INFO}, text, LAP_INFO_MAX_BYTES);
    CHECK_EQ_INT(read_told(), LAP_ERROR_FORMAT); /* more than all together may have */
    text[LAP_INFO_MAX_BYTES] = '}';
    begin_forging();
    add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_INFO}, text, LAP_INFO_MAX_BYTES + 1);
    CHECK_EQ_INT(read_told(), LAP_ERROR_FORMAT);
    /* many keys, and deep nesting */
    size_t at = 0;
    text[at++] = '{';
    for (int i = 0; i <= (int)LAP_INFO_MAX_KEYS; i++)
        at += (size_t)sprintf(text + at, "%s\"%d\":0", i ? "," : "", i);
    text[at++] = '}';
    begin_forging();
    add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_INFO}, text, at);
    CHECK_EQ_INT(read_told(), LAP_ERROR_FORMAT);
    memcpy(text, "{\"a\":", 5);
    memset(text + 5, '[', 500000);
    begin_forging();
    add_chunk((struct lap_chunk_header){.kind = LAP_CHUNK_INFO}, text, 500005);
    CHECK_EQ_INT(read_told(), LAP_ERROR_FORMAT);
}

UNIT_TEST(files_that_are_no_trace_are_refused)
{
    struct lap_reader *reader = (struct lap_reader *)forged;
    fresh_trace_path();
    CHECK_EQ_INT(lap_reader_open(trace_path, NULL, &reader), LAP_ERROR_IO);
    CHECK(reader == NULL && strstr(lap_error_message(), trace_path));
    CHECK_EQ_INT(lap_reader_open(trace_folder, NULL, &reader), LAP_ERROR_IO);
    CHECK_EQ_INT(mkfifo(trace_path, 0600), 0);
    CHECK_EQ_INT(lap_reader_open(trace_path, NULL, &reader), LAP_ERROR_IO);
    fresh_trace_path();
    store_file(trace_path, "", 0);
    CHECK_EQ_INT(lap_reader_open(trace_path, NULL, &reader), LAP_ERROR_FORMAT);
    memset(forged, 'x', 5000);
    store_file(trace_path, forged, 5000);
    CHECK_EQ_INT(lap_reader_open(trace_path, NULL, &reader), LAP_ERROR_FORMAT);
    CHECK(reader == NULL && strstr(lap_error_message(), "no trace"));
}

UNIT_MAIN();
