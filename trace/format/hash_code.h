/* SPDX-License-Identifier: MIT */
/*
 * hash_code: the functions of trace/format/hash.h, once for each set of instructions. The including file chooses the
 * instructions, and the function names with HASH_NAME(name).
 */
#ifndef LAP_TRACE_FORMAT_HASH_CODE_H
#define LAP_TRACE_FORMAT_HASH_CODE_H

#define XXH_INLINE_ALL /* the library has one set only, and hides the layout of a stream's state */
#include <xxhash.h>

#include "trace/format/hash.h"

uint64_t HASH_NAME(64)(const void *data, size_t bytes);
uint64_t HASH_NAME(64)(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

uint64_t HASH_NAME(64_parts)(const struct iovec *parts, unsigned count);
uint64_t HASH_NAME(64_parts)(const struct iovec *parts, unsigned count)
{
    XXH3_state_t state;
    if (count == 1)
        return XXH3_64bits(parts[0].iov_base, parts[0].iov_len);
    (void)XXH3_64bits_reset(&state);
    for (unsigned i = 0; i < count; i++)
        (void)XXH3_64bits_update(&state, parts[i].iov_base, parts[i].iov_len);
    return XXH3_64bits_digest(&state);
}

void HASH_NAME(128)(const void *data, size_t bytes, uint64_t out[2]);
void HASH_NAME(128)(const void *data, size_t bytes, uint64_t out[2])
{
    XXH128_hash_t hash = XXH3_128bits(data, bytes);
    out[0] = hash.low64;
    out[1] = hash.high64;
}

#endif
