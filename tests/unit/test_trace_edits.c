/* SPDX-License-Identifier: MIT */
/* What an edited reader gives is the trace with a list of changes, from any packet on. */
#include "tests/unit/trace_file.h"
#include "trace/read/edits.h"

#define PACKETS 90u

struct expected {
    uint64_t ticket;
    const char *text; /* of a new packet; NULL: as it is in the file */
};

static void sample(void)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    struct lap_stream *streams[2] = {lap_writer_stream(writer, 100), lap_writer_stream(writer, 101)};
    for (uint64_t ticket = 1; ticket <= PACKETS; ticket++) {
        (void)write_packet(streams[ticket / 11 % 2], ticket);
        if (ticket % 20 == 0)
            lap_writer_frame(writer);
    }
    lap_writer_destroy(&writer);
}

static void add(struct lap_edits *edits, uint64_t ticket, enum lap_edit_kind kind, const char *text)
{
    const struct lap_edit edit = {
        .ticket = ticket, .kind = kind, .command = 1, .body = (const uint8_t *)text, .bytes = text ? strlen(text) : 0};
    CHECK_EQ_INT(lap_edits_add(edits, &edit), LAP_OK);
}

/* Every packet from a ticket on. */
static void compare(struct lap_reader *reader, const struct expected *expected, size_t count)
{
    struct lap_packet packet;
    for (size_t i = 0; i < count; i++) {
        CHECK_EQ_INT(lap_reader_next(reader, &packet), LAP_OK);
        CHECK_EQ_U64(packet.ticket, expected[i].ticket);
        CHECK(packet.is_new == (expected[i].text && expected[i].text[0] == 'b'));
        if (expected[i].text)
            CHECK(packet.bytes == strlen(expected[i].text) && !memcmp(packet.body, expected[i].text, packet.bytes));
        else
            CHECK(packet_is_good(&packet, packet.ticket));
    }
    CHECK_EQ_INT(lap_reader_next(reader, &packet), LAP_END);
}

/* Each packet has the changes that bits of its ticket say: 1 two packets behind it, 2 dropped, 4 replaced. */
static size_t expect(struct lap_edits *edits, uint64_t last, struct expected *out)
{
    static const char *const texts[] = {"instead", "behind", "behind it"};
    size_t count = 0;
    for (uint64_t ticket = last; ticket > 0; ticket--) { /* in no order */
        uint64_t kind = ticket % 13;
        if (kind < 8 && kind & 2)
            add(edits, ticket, LAP_EDIT_DROP, NULL);
        if (kind < 8 && kind & 4)
            add(edits, ticket, LAP_EDIT_INSTEAD, texts[0]);
        for (unsigned i = 1; i < 3 && kind < 8 && kind & 1; i++)
            add(edits, ticket, LAP_EDIT_BEHIND, texts[i]);
    }
    for (uint64_t ticket = 1; ticket <= last; ticket++) {
        uint64_t kind = ticket % 13;
        if (kind >= 8 || !(kind & 2) || kind & 4)
            out[count++] = (struct expected){ticket, kind < 8 && kind & 4 ? texts[0] : NULL};
        for (unsigned i = 1; i < 3 && kind < 8 && kind & 1; i++)
            out[count++] = (struct expected){ticket, texts[i]};
    }
    return count;
}

UNIT_TEST(edited_packets_are_given)
{
    static const uint64_t lasts[] = {PACKETS, 53, 54, 40};
    sample();
    for (unsigned i = 0; i < 4; i++) {
        struct expected expected[3 * PACKETS];
        struct lap_reader *base = open_trace(NULL), *reader = NULL, *again = NULL;
        struct lap_edits *edits = NULL;
        CHECK_EQ_INT(lap_edits_create(base, &edits), LAP_OK);
        size_t count = expect(edits, lasts[i], expected);
        if (lasts[i] < PACKETS) {
            add(edits, lasts[i] + 1, LAP_EDIT_BEHIND, "behind the end");
            lap_edits_end_at(edits, lasts[i]);
        }
        CHECK_EQ_INT(lap_edits_seal(edits), LAP_OK);
        CHECK_EQ_INT(lap_reader_open_edited(base, NULL, edits, &reader), LAP_OK);
        CHECK_EQ_U64(lap_reader_summary(reader)->packets, lasts[i]);
        compare(reader, expected, count);
        CHECK_EQ_INT(lap_reader_open_again(reader, NULL, &again), LAP_OK);
        for (size_t first = 0; first < count; first++) {
            if (first > 0 && expected[first - 1].ticket == expected[first].ticket)
                continue;
            CHECK_EQ_INT(lap_reader_seek(again, expected[first].ticket), LAP_OK);
            compare(again, expected + first, count - first);
        }
        lap_reader_close(&again);
        lap_reader_close(&reader);
        lap_reader_close(&base);
        lap_edits_destroy(&edits);
    }
}

UNIT_TEST(edits_follow_edits)
{
    static const uint8_t data[] = {1, 2, 3};
    const struct expected expected[] = {{1, "second"}, {1, "behind"}, {1, "behind it"}, {3, NULL}};
    struct lap_reader *base = NULL, *first = NULL, *second = NULL;
    struct lap_edits *edits[2] = {NULL};
    const uint8_t *found;
    uint64_t ids[4];
    size_t bytes;

    sample();
    base = open_trace(NULL);
    CHECK_EQ_INT(lap_edits_create(base, &edits[0]), LAP_OK);
    add(edits[0], 1, LAP_EDIT_INSTEAD, "first");
    add(edits[0], 1, LAP_EDIT_BEHIND, "behind");
    CHECK_EQ_INT(lap_edits_blob(edits[0], LAP_BLOB_BLOCK, data, 3, &ids[0]), LAP_OK);
    CHECK_EQ_INT(lap_edits_blob(edits[0], LAP_BLOB_DATA, data, 3, &ids[1]), LAP_OK);
    CHECK_EQ_INT(lap_edits_seal(edits[0]), LAP_OK);
    CHECK_EQ_INT(lap_reader_open_edited(base, NULL, edits[0], &first), LAP_OK);
    CHECK_EQ_INT(lap_edits_create(first, &edits[1]), LAP_OK);
    add(edits[1], 1, LAP_EDIT_BEHIND, "behind it");
    add(edits[1], 1, LAP_EDIT_INSTEAD, "second");
    add(edits[1], 2, LAP_EDIT_DROP, NULL);
    lap_edits_end_at(edits[1], 3);
    CHECK_EQ_INT(lap_edits_blob(edits[1], LAP_BLOB_BLOCK, data, 3, &ids[2]), LAP_OK);
    CHECK_EQ_INT(lap_edits_blob(edits[1], LAP_BLOB_BLOCK, data, 2, &ids[3]), LAP_OK);
    CHECK_EQ_INT(lap_edits_seal(edits[1]), LAP_OK);
    CHECK(ids[0] == ids[2] && ids[1] == ids[0] + 1 && ids[3] == ids[1] + 1);
    CHECK_EQ_INT(lap_reader_open_edited(base, NULL, edits[1], &second), LAP_OK);
    compare(second, expected, 4);
    CHECK_EQ_INT(lap_reader_blob(second, LAP_BLOB_BLOCK, ids[3], &found, &bytes), LAP_OK);
    CHECK(bytes == 2 && !memcmp(found, data, 2));
    CHECK_EQ_INT(lap_reader_blob(second, LAP_BLOB_DATA, ids[3], &found, &bytes), LAP_ERROR_FORMAT);
    CHECK_EQ_INT(lap_reader_blob(second, LAP_BLOB_BLOCK, ids[3] + 1, &found, &bytes), LAP_ERROR_FORMAT);
    lap_reader_close(&second);
    lap_reader_close(&first);
    lap_reader_close(&base);
    lap_edits_destroy(&edits[1]);
    lap_edits_destroy(&edits[0]);
}

UNIT_MAIN();
