/* SPDX-License-Identifier: MIT */
#include "trace/format/decode.h"
#include "trace/format/encode.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "tests/unit/unit.h"

static struct lap_enc enc;
static struct lap_dec dec;
static struct lap_arena arena;
static struct lap_dec_source source;

static void start(void)
{
    lap_enc_finish(&enc);
    lap_enc_init(&enc, NULL);
    lap_arena_finish(&arena);
    lap_arena_init(&arena, 0);
    memset(&source, 0, sizeof(source));
}

static void turn(void)
{
    CHECK(!enc.failed);
    lap_dec_init(&dec, enc.base, (size_t)(enc.p - enc.base), &arena, &source);
}

static void decode(const void *data, size_t bytes)
{
    start();
    lap_dec_init(&dec, data, bytes, &arena, &source);
}

static void check_all_read(void)
{
    CHECK_EQ_INT(dec.status, LAP_OK);
    CHECK(dec.p == dec.end);
}

/* Both readers give the same, and fail alike, whatever the bytes and wherever they end. */
UNIT_TEST(long_numbers_are_read_as_others_are)
{
    static const uint8_t interesting[] = {0, 1, 0x7f, 0x80, 0x81, 0xff};
    enum { KINDS = sizeof(interesting), BYTES = 4 };
    unsigned count = KINDS * KINDS * KINDS * KINDS;

    for (unsigned i = 0; i < count; i++)
        for (size_t bytes = 0; bytes <= BYTES; bytes++) {
            uint8_t data[BYTES];
            for (unsigned j = 0, rest = i; j < BYTES; j++, rest /= KINDS)
                data[j] = interesting[rest % KINDS];
            struct lap_dec usual, other;
            lap_dec_init(&usual, data, bytes, NULL, NULL);
            lap_dec_init(&other, data, bytes, NULL, NULL);
            uint64_t expected = lap_get_u64(&usual), got = lap_get_long(&other);
            CHECK_EQ_U64(got, expected);
            CHECK(other.p == usual.p && other.status == usual.status);
        }
}

UNIT_TEST(unsigned_numbers_round_trip)
{
    static const uint64_t values[] = {0,
                                      1,
                                      0x7f,
                                      0x80,
                                      0x3fff,
                                      0x4000,
                                      UINT32_MAX,
                                      (uint64_t)UINT32_MAX + 1,
                                      INT64_MAX,
                                      (uint64_t)INT64_MAX + 1,
                                      UINT64_MAX - 1,
                                      UINT64_MAX};
    start();
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (lap_enc_reserve(&enc, LAP_WIRE_MAX_VARINT))
            lap_put_u64(&enc, values[i]);
    for (unsigned shift = 0; shift < 64; shift++)
        if (lap_enc_reserve(&enc, LAP_WIRE_MAX_VARINT))
            lap_put_u64(&enc, UINT64_C(1) << shift);
    turn();
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        CHECK_EQ_U64(lap_get_u64(&dec), values[i]);
    for (unsigned shift = 0; shift < 64; shift++)
        CHECK_EQ_U64(lap_get_u64(&dec), UINT64_C(1) << shift);
    check_all_read();
}

UNIT_TEST(signed_numbers_round_trip)
{
    static const int64_t values[] = {0, -1, 1, 63, -64, 64, -65, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
    start();
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (lap_enc_reserve(&enc, LAP_WIRE_MAX_VARINT))
            lap_put_i64(&enc, values[i]);
    turn();
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        CHECK_EQ_INT(lap_get_i64(&dec), values[i]);
    check_all_read();
}

UNIT_TEST(fixed_numbers_and_floats_round_trip)
{
    start();
    CHECK(lap_enc_reserve(&enc, 100));
    lap_put_u8(&enc, 0xfe);
    lap_put_fixed32(&enc, 0x04030201);
    lap_put_fixed64(&enc, UINT64_C(0x0807060504030201));
    lap_put_float(&enc, -0.0f);
    lap_put_float(&enc, FLT_MAX);
    lap_put_float(&enc, NAN);
    lap_put_double(&enc, DBL_MIN);
    lap_put_double(&enc, -INFINITY);
    CHECK(enc.base[1] == 1 && enc.base[4] == 4 && enc.base[5] == 1 && enc.base[12] == 8); /* little-endian */
    turn();
    CHECK_EQ_U64(lap_get_u8(&dec), 0xfe);
    CHECK_EQ_U64(lap_get_fixed32(&dec), 0x04030201);
    CHECK_EQ_U64(lap_get_fixed64(&dec), UINT64_C(0x0807060504030201));
    CHECK(signbit(lap_get_float(&dec)) != 0);
    CHECK(lap_get_float(&dec) == FLT_MAX);
    CHECK(isnan(lap_get_float(&dec)));
    CHECK(lap_get_double(&dec) == DBL_MIN);
    CHECK(lap_get_double(&dec) == -INFINITY);
    check_all_read();
}

UNIT_TEST(strings_round_trip)
{
    char buffer[8];
    start();
    lap_enc_string(&enc, NULL);
    lap_enc_string(&enc, "");
    lap_enc_string(&enc, "main");
    lap_enc_string(&enc, "1234567");
    lap_enc_string(&enc, NULL);
    turn();
    CHECK(lap_dec_string(&dec) == NULL);
    CHECK_STR(lap_dec_string(&dec), "");
    CHECK_STR(lap_dec_string(&dec), "main");
    lap_dec_string_into(&dec, buffer, sizeof(buffer));
    CHECK_STR(buffer, "1234567");
    lap_dec_string_into(&dec, buffer, sizeof(buffer));
    CHECK_STR(buffer, "");
    check_all_read();

    decode("\x05"
           "a\0bc",
           5);
    CHECK(lap_dec_string(&dec) == NULL && dec.status == LAP_ERROR_FORMAT);
    decode("\x06"
           "abcd",
           5);
    CHECK(lap_dec_string(&dec) == NULL && dec.status == LAP_ERROR_FORMAT);
    decode("\x09"
           "12345678",
           9);
    memset(buffer, 'x', sizeof(buffer));
    lap_dec_string_into(&dec, buffer, sizeof(buffer));
    CHECK_EQ_INT(dec.status, LAP_ERROR_FORMAT);
    CHECK_STR(buffer, "");
    decode("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
    CHECK(lap_dec_string(&dec) == NULL && dec.status == LAP_ERROR_FORMAT);
}

UNIT_TEST(bytes_inline_round_trip)
{
    static unsigned char data[10000];
    size_t bytes = 99;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 7);
    start();
    lap_enc_bytes(&enc, data, sizeof(data)); /* no writer: never a blob */
    lap_enc_bytes(&enc, NULL, 0);
    lap_enc_bytes(&enc, data, 3);
    lap_enc_raw(&enc, data, 5);
    turn();
    const void *got = lap_dec_bytes(&dec, &bytes);
    CHECK_EQ_U64(bytes, sizeof(data));
    CHECK(got && memcmp(got, data, bytes) == 0 && ((uintptr_t)got & 15) == 0);
    CHECK(lap_dec_bytes(&dec, &bytes) == NULL && bytes == 0);
    got = lap_dec_bytes_exact(&dec, 3);
    CHECK(got && memcmp(got, data, 3) == 0);
    unsigned char raw[5];
    lap_dec_raw(&dec, raw, 5);
    CHECK(memcmp(raw, data, 5) == 0);
    check_all_read();
    turn();
    CHECK(lap_dec_bytes_exact(&dec, sizeof(data) - 1) == NULL);
    CHECK_EQ_INT(dec.status, LAP_ERROR_FORMAT);
}

static const uint8_t blob_data[5000];

static enum lap_status give_blob(void *user, uint64_t id, const uint8_t **out_data, size_t *out_bytes)
{
    if (id != 7)
        return lap_fail(LAP_ERROR_FORMAT, "no such blob");
    *out_data = blob_data;
    *out_bytes = sizeof(blob_data);
    return LAP_OK;
}

UNIT_TEST(bytes_in_blobs_round_trip)
{
    static const uint64_t cases[][2] = {{5000, 7}, {4999, 7}, {5000, 8}};
    size_t bytes;
    for (int i = 0; i < 3; i++) {
        start();
        CHECK(lap_enc_reserve(&enc, 20));
        lap_put_u64(&enc, cases[i][0] << 1 | 1);
        lap_put_u64(&enc, cases[i][1]);
        source.blob = give_blob;
        turn();
        const void *data = lap_dec_bytes(&dec, &bytes);
        if (i == 0) {
            CHECK(data == blob_data && bytes == 5000);
            check_all_read();
        } else {
            CHECK(data == NULL && bytes == 0);
            CHECK_EQ_INT(dec.status, LAP_ERROR_FORMAT);
        }
    }
    source.blob = NULL;
    turn();
    CHECK(lap_dec_bytes(&dec, &bytes) == NULL);
    CHECK_EQ_INT(dec.status, LAP_ERROR_FORMAT);
}

static void put_number(uint64_t value)
{
    CHECK(lap_enc_reserve(&enc, LAP_WIRE_MAX_VARINT));
    lap_put_u64(&enc, value);
}

UNIT_TEST(bytes_of_every_small_size_round_trip)
{
    uint8_t data[0x90];
    start();
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 3 + 1);
    for (size_t i = 0; i <= sizeof(data); i++)
        lap_enc_bytes(&enc, data, i);
    turn();
    for (size_t i = 0; i <= sizeof(data); i++) {
        size_t bytes;
        const void *got = lap_dec_bytes(&dec, &bytes);
        CHECK(bytes == i && (i == 0 || memcmp(got, data, i) == 0));
    }
    check_all_read();
}

UNIT_TEST(number_arrays_round_trip)
{
    static const uint32_t small[] = {0, 1, 127, 128, UINT32_MAX};
    static const uint64_t large[] = {0, UINT64_MAX, 5};
    start();
    for (int i = 0; i < 5; i++)
        put_number(small[i]);
    for (int i = 0; i < 3; i++)
        put_number(large[i]);
    turn();
    const uint32_t *got_small = lap_dec_u32_array(&dec, 5);
    const uint64_t *got_large = lap_dec_u64_array(&dec, 3);
    CHECK(got_small && memcmp(got_small, small, sizeof(small)) == 0);
    CHECK(got_large && memcmp(got_large, large, sizeof(large)) == 0);
    CHECK(lap_dec_u32_array(&dec, 0) == NULL);
    check_all_read();
    /* The same bytes as 32-bit numbers: the largest does not fit. */
    start();
    for (int i = 0; i < 3; i++)
        put_number(large[i]);
    turn();
    (void)lap_dec_u32_array(&dec, 3);
    CHECK_EQ_INT(dec.status, LAP_ERROR_FORMAT);
}

UNIT_TEST(long_forms_of_numbers_are_refused)
{
    decode("\x80\x00", 2);
    CHECK_EQ_U64(lap_get_u64(&dec), 0);
    CHECK_EQ_INT(dec.status, LAP_ERROR_FORMAT);
    decode("\xff\x80\x00", 3);
    CHECK_EQ_U64(lap_get_u64(&dec), 0);
    CHECK_EQ_INT(dec.status, LAP_ERROR_FORMAT);
    decode("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10); /* 65 bits */
    CHECK_EQ_U64(lap_get_u64(&dec), 0);
    CHECK_EQ_INT(dec.status, LAP_ERROR_FORMAT);
    decode("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11);
    CHECK_EQ_U64(lap_get_u64(&dec), 0);
    CHECK_EQ_INT(dec.status, LAP_ERROR_FORMAT);
    decode("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
    CHECK_EQ_U64(lap_get_u64(&dec), UINT64_MAX);
    check_all_read();
    decode("\x80\x80\x80\x80\x10", 5);
    CHECK_EQ_U64(lap_get_u32(&dec), 0);
    CHECK_EQ_INT(dec.status, LAP_ERROR_FORMAT);
}

/* Every primitive on every proper prefix of its bytes: it fails, it does not read behind the end. */
UNIT_TEST(cut_bodies_are_refused)
{
    static const char *const bodies[] = {"\xff\xff\xff\x01", "abcd", "abcdefgh",
                                         "\x06"
                                         "abcde",
                                         "\x08"
                                         "abcd"};
    static const size_t sizes[] = {4, 4, 8, 6, 5};
    for (unsigned kind = 0; kind < 5; kind++) {
        for (size_t cut = 0; cut < sizes[kind]; cut++) {
            size_t bytes;
            uint8_t *copy = malloc(cut + 1); /* of exact size for address sanitizers, but never of none */
            memcpy(copy, bodies[kind], cut);
            decode(copy, cut);
            switch (kind) {
            case 0:
                CHECK_EQ_U64(lap_get_u64(&dec), 0);
                break;
            case 1:
                CHECK_EQ_U64(lap_get_fixed32(&dec), 0);
                break;
            case 2:
                CHECK_EQ_U64(lap_get_fixed64(&dec), 0);
                break;
            case 3:
                CHECK(lap_dec_string(&dec) == NULL);
                break;
            default:
                CHECK(lap_dec_bytes(&dec, &bytes) == NULL);
                break;
            }
            CHECK_EQ_INT(dec.status, LAP_ERROR_FORMAT);
            /* Latched: nothing can be read any more, and the first sentence stays. */
            char first[200];
            snprintf(first, sizeof(first), "%s", lap_error_message());
            CHECK_EQ_U64(lap_get_u64(&dec), 0);
            CHECK_EQ_U64(lap_get_u8(&dec), 0);
            CHECK(lap_dec_string(&dec) == NULL && lap_dec_array(&dec, 1, 1, 0, 1) == NULL);
            CHECK_STR(lap_error_message(), first);
            free(copy);
        }
    }
}

UNIT_TEST(hostile_counts_allocate_nothing)
{
    decode("0123456789", 10);
    CHECK(lap_dec_array(&dec, 11, 8, 1, 8) == NULL && dec.status == LAP_ERROR_FORMAT);
    decode("0123456789", 10);
    CHECK(lap_dec_array(&dec, UINT64_MAX, 8, 1, 8) == NULL && dec.status == LAP_ERROR_FORMAT);
    decode("0123456789", 10);
    CHECK(lap_dec_array(&dec, 4, 8, 3, 8) == NULL && dec.status == LAP_ERROR_FORMAT);
    decode("0123456789", 10);
    CHECK(lap_dec_array(&dec, LAP_WIRE_MAX_EMPTY_ELEMENTS + 1, 8, 0, 8) == NULL && dec.status == LAP_ERROR_FORMAT);
    decode("0123456789", 10);
    CHECK(lap_dec_array(&dec, 3, SIZE_MAX / 2, 1, 8) == NULL && dec.status == LAP_ERROR_FORMAT);
    CHECK_EQ_U64(lap_arena_used_bytes(&arena), 0);
    decode("0123456789", 10);
    const uint64_t *zeroed = lap_dec_array(&dec, 10, 8, 1, 8);
    CHECK(zeroed && zeroed[0] == 0 && zeroed[9] == 0 && dec.status == LAP_OK);
    CHECK(lap_dec_array(&dec, 0, 8, 1, 8) == NULL && dec.status == LAP_OK);
    lap_arena_finish(&arena);
    lap_arena_init(&arena, 100);
    CHECK(lap_dec_array(&dec, 10, 100, 1, 8) == NULL && dec.status == LAP_ERROR_LIMIT);
}

/* How a creation's body ends: what is read at once is what is read byte by byte, and all else is left. */
UNIT_TEST(what_was_made_is_read_at_once_or_not_at_all)
{
    static const uint8_t seldom[] = {0, 1, 2, 0x7f, 0x80, 0x81, 0xff};
    const uint64_t kinds = sizeof seldom, all = kinds * kinds * kinds * kinds * kinds;
    uint64_t at_once = 0;
    for (uint64_t i = 0; i < all; i++)
        for (size_t bytes = 3; bytes <= 6; bytes++) {
            uint8_t body[6] = {0};
            for (uint64_t j = 0, rest = i; j < 5; j++, rest /= kinds)
                body[j] = seldom[rest % kinds];
            decode(body, bytes);
            uint64_t index = lap_get_made(&dec);
            at_once += index != 0;
            CHECK(dec.p == (index ? dec.end : dec.base));
            dec.p = dec.base;
            bool made = lap_get_u8(&dec) == 1;
            uint64_t expected = lap_get_u64(&dec);
            made = made && lap_get_i64(&dec) == 0 && dec.status == LAP_OK && dec.p == dec.end;
            CHECK_EQ_U64(index, made && expected >= 0x80 && expected < 0x200000 ? expected : 0);
        }
    CHECK(at_once > 20);
}

UNIT_TEST(bytes_that_are_one_number)
{
    static const uint8_t seldom[] = {0, 1, 2, 0x7f, 0x80, 0x81, 0xff};
    const size_t kinds = sizeof seldom;
    for (size_t i = 0; i < kinds * kinds * kinds * kinds; i++)
        for (size_t bytes = 0; bytes <= 4; bytes++) {
            const uint8_t body[4] = {seldom[i % kinds], seldom[i / kinds % kinds], seldom[i / kinds / kinds % kinds],
                                     seldom[i / kinds / kinds / kinds]};
            decode(body, bytes);
            uint64_t number = lap_get_u64(&dec);
            bool is_it = bytes < 4 && dec.status == LAP_OK && dec.p == dec.end;
            CHECK_EQ_U64(lap_number_of(body, bytes), is_it ? number : 0);
        }
}

UNIT_TEST(nesting_has_a_limit)
{
    decode("", 0);
    for (unsigned i = 0; i < LAP_WIRE_MAX_DEPTH; i++)
        CHECK(lap_dec_enter(&dec));
    CHECK(!lap_dec_enter(&dec));
    CHECK_EQ_INT(dec.status, LAP_ERROR_FORMAT);
    decode("", 0);
    for (unsigned i = 0; i < 10 * LAP_WIRE_MAX_DEPTH; i++) {
        CHECK(lap_dec_enter(&dec));
        lap_dec_leave(&dec);
    }
    CHECK_EQ_U64(dec.depth, 0);
}

static enum lap_status give_handle(void *user, uint32_t type, uint64_t index, uint64_t *out)
{
    if (index > 100)
        return lap_fail(LAP_ERROR_REPLAY, "no object %d", (int)index);
    *out = type * 1000 + index;
    return LAP_OK;
}

UNIT_TEST(handles_round_trip)
{
    struct lap_map map, none;
    struct lap_map *maps[] = {&none, &map};
    struct lap_object_tables tables = {.maps = maps};
    struct lap_object object = {.index = 42, .handle = 0x1234};
    lap_map_init(&map);
    lap_map_init(&none);
    CHECK_EQ_INT(lap_map_put(&map, 0x1234, &object, NULL), LAP_OK);
    start();
    enc.objects = &tables;
    CHECK(lap_enc_reserve(&enc, 40));
    enc.p = lap_at_handle(enc.p, &enc, 1, 0x1234);
    enc.p = lap_at_handle(enc.p, &enc, 1, 0);
    enc.p = lap_at_handle(enc.p, &enc, 1, 0x999); /* unknown: 0 */
    lap_put_u64(&enc, 101);
    turn();
    CHECK_EQ_U64(lap_get_handle(&dec, 1), 42); /* the source maps nothing */
    source.handle = give_handle;
    turn();
    CHECK_EQ_U64(lap_get_handle(&dec, 1), 1042);
    CHECK_EQ_U64(lap_get_handle(&dec, 1), 0);
    CHECK_EQ_U64(lap_get_handle(&dec, 1), 0);
    CHECK_EQ_INT(dec.status, LAP_OK);
    CHECK_EQ_U64(lap_get_handle(&dec, 1), 0);
    CHECK_EQ_INT(dec.status, LAP_ERROR_REPLAY);
    CHECK_STR(lap_error_message(), "no object 101");
    lap_map_finish(&map);
    lap_map_finish(&none);
}

UNIT_TEST(an_encoder_that_failed_stays_failed_until_reset)
{
    start();
    lap_enc_raw(&enc, "abc", 3);
    CHECK(!lap_enc_reserve(&enc, SIZE_MAX / 2 + 10));
    CHECK(enc.failed);
    lap_enc_raw(&enc, "def", 3);
    lap_enc_string(&enc, "x");
    lap_enc_bytes(&enc, "x", 1);
    CHECK(!lap_enc_reserve(&enc, 1));
    CHECK_EQ_U64((size_t)(enc.p - enc.base), 3);
    lap_enc_reset(&enc);
    CHECK(!enc.failed && lap_enc_reserve(&enc, 1) && enc.p == enc.base);
    lap_enc_finish(&enc);
    lap_enc_finish(&enc);
}

UNIT_MAIN();
