/* SPDX-License-Identifier: MIT */
/*
 * hash: XXH3 of bytes that do not lie in one piece. Pure functions, any thread.
 */
#ifndef LAP_TRACE_HASH_H
#define LAP_TRACE_HASH_H

#include <stdint.h>
#include <sys/uio.h>

/* XXH3-64 of the parts, one behind the other. */
uint64_t lap_hash64_parts(const struct iovec *parts, unsigned count);

#endif
