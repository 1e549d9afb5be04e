/* SPDX-License-Identifier: MIT */
/* The hashes are those of the library, whatever instructions compute them. */
#include <stdlib.h>
#include <xxhash.h>

#include "tests/unit/unit.h"
#include "trace/format/hash.h"

uint64_t lap_hash_plain_64(const void *data, size_t bytes);
uint64_t lap_hash_plain_64_parts(const struct iovec *parts, unsigned count);
void lap_hash_plain_128(const void *data, size_t bytes, uint64_t out[2]);

enum { MOST = 70000 };

static uint8_t bytes[MOST];

static size_t size_of_step(unsigned step)
{
    return step < 1100 ? step : (size_t)rand() % MOST;
}

UNIT_TEST(hashes_are_those_of_the_library)
{
    for (size_t i = 0; i < MOST; i++)
        bytes[i] = (uint8_t)(rand() >> 7);
    for (unsigned step = 0; step < 2000 && !unit_failed; step++) {
        size_t size = size_of_step(step), shift = MOST - size < 16 ? 0 : step % 16;
        XXH128_hash_t wanted = XXH3_128bits(bytes + shift, size);
        uint64_t got[2], plain[2], wanted64 = XXH3_64bits(bytes + shift, size);
        lap_hash128(bytes + shift, size, got);
        lap_hash_plain_128(bytes + shift, size, plain);
        CHECK(got[0] == wanted.low64 && got[1] == wanted.high64);
        CHECK(plain[0] == wanted.low64 && plain[1] == wanted.high64);
        CHECK_EQ_U64(lap_hash64(bytes + shift, size), wanted64);
        CHECK_EQ_U64(lap_hash_plain_64(bytes + shift, size), wanted64);
    }
}

UNIT_TEST(hashes_of_parts_are_those_of_the_whole)
{
    for (unsigned step = 0; step < 2000 && !unit_failed; step++) {
        size_t size = size_of_step(step), first = size ? (size_t)rand() % size : 0;
        size_t second = size - first ? (size_t)rand() % (size - first) : 0;
        struct iovec parts[3] = {
            {bytes, first}, {bytes + first, second}, {bytes + first + second, size - first - second}};
        struct iovec one = {bytes, size};
        CHECK_EQ_U64(lap_hash64_parts(parts, 3), XXH3_64bits(bytes, size));
        CHECK_EQ_U64(lap_hash_plain_64_parts(parts, 3), XXH3_64bits(bytes, size));
        CHECK_EQ_U64(lap_hash64_parts(&one, 1), XXH3_64bits(bytes, size));
    }
}

UNIT_MAIN();
