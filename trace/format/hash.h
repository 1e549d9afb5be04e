/* SPDX-License-Identifier: MIT */
/*
 * hash: XXH3, as in docs/format.md, with the instructions that the processor has. Recording threads hash
 * every byte that they send, so it is worth while. Pure functions, any thread.
 */
#ifndef LAP_TRACE_FORMAT_HASH_H
#define LAP_TRACE_FORMAT_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

uint64_t lap_hash64(const void *data, size_t bytes);
/* The same with another seed. */
uint64_t lap_hash64_seeded(const void *data, size_t bytes, uint64_t seed);

/* Of the parts, one behind the other. */
uint64_t lap_hash64_parts(const struct iovec *parts, unsigned count);

/* out: the low half and the high half. */
void lap_hash128(const void *data, size_t bytes, uint64_t out[2]);

#endif
