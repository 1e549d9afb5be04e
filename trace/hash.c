/* SPDX-License-Identifier: MIT */
#include "trace/hash.h"

#define XXH_INLINE_ALL /* what a stream's state looks like is no part of the library's interface */
#include <xxhash.h>

uint64_t lap_hash64_parts(const struct iovec *parts, unsigned count)
{
    XXH3_state_t state;
    if (count == 1)
        return XXH3_64bits(parts[0].iov_base, parts[0].iov_len);
    (void)XXH3_64bits_reset(&state);
    for (unsigned i = 0; i < count; i++)
        (void)XXH3_64bits_update(&state, parts[i].iov_base, parts[i].iov_len);
    return XXH3_64bits_digest(&state);
}
