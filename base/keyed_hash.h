/* SPDX-License-Identifier: MIT */
/*
 * keyed_hash: HMAC-SHA256 (RFC 2104), with which two processes prove to each other that they have a secret, without
 * sending it. The library Nettle does it; a build without it has no keyed hash. Any thread; allocates nothing.
 */
#ifndef LAP_BASE_KEYED_HASH_H
#define LAP_BASE_KEYED_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define LAP_KEYED_HASH_BYTES 32u

/* LAP_ERROR_UNSUPPORTED: this build has none. */
enum lap_status lap_keyed_hash(const void *key, size_t key_bytes, const void *data, size_t bytes,
                               uint8_t out[LAP_KEYED_HASH_BYTES]) LAP_MUST_CHECK;

/* Whether two of them are the same, in a time that does not depend on where they differ. */
bool lap_keyed_hash_equal(const uint8_t a[LAP_KEYED_HASH_BYTES], const uint8_t b[LAP_KEYED_HASH_BYTES]);

#endif
