/* SPDX-License-Identifier: MIT */
#define HASH_NAME(name) lap_hash_plain_##name
#include "trace/format/hash_code.h"

#if defined(__x86_64__)
uint64_t lap_hash_avx2_64(const void *data, size_t bytes);
uint64_t lap_hash_avx2_64_parts(const struct iovec *parts, unsigned count);
void lap_hash_avx2_128(const void *data, size_t bytes, uint64_t out[2]);
#define CHOOSE(name) (__builtin_cpu_supports("avx2") ? lap_hash_avx2_##name : lap_hash_plain_##name)
#else
#define CHOOSE(name) lap_hash_plain_##name
#endif

uint64_t lap_hash64(const void *data, size_t bytes)
{
    return CHOOSE(64)(data, bytes);
}

uint64_t lap_hash64_seeded(const void *data, size_t bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, bytes, seed);
}

uint64_t lap_hash64_parts(const struct iovec *parts, unsigned count)
{
    return CHOOSE(64_parts)(parts, count);
}

void lap_hash128(const void *data, size_t bytes, uint64_t out[2])
{
    CHOOSE(128)(data, bytes, out);
}
