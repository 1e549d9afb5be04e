/* SPDX-License-Identifier: MIT */
#include "base/keyed_hash.h"

#ifdef LAP_NETTLE
#include <nettle/hmac.h>
#include <nettle/memops.h>

enum lap_status lap_keyed_hash(const void *key, size_t key_bytes, const void *data, size_t bytes,
                               uint8_t out[LAP_KEYED_HASH_BYTES])
{
    struct hmac_sha256_ctx context;
    hmac_sha256_set_key(&context, key_bytes, key);
    hmac_sha256_update(&context, bytes, data);
    hmac_sha256_digest(&context, LAP_KEYED_HASH_BYTES, out);
    return LAP_OK;
}

bool lap_keyed_hash_equal(const uint8_t a[LAP_KEYED_HASH_BYTES], const uint8_t b[LAP_KEYED_HASH_BYTES])
{
    return memeql_sec(a, b, LAP_KEYED_HASH_BYTES) != 0;
}
#else
enum lap_status lap_keyed_hash(const void *key, size_t key_bytes, const void *data, size_t bytes,
                               uint8_t out[LAP_KEYED_HASH_BYTES])
{
    return lap_fail(LAP_ERROR_UNSUPPORTED, "this build of lapilli can't use tokens (it was made without Nettle)");
}

bool lap_keyed_hash_equal(const uint8_t a[LAP_KEYED_HASH_BYTES], const uint8_t b[LAP_KEYED_HASH_BYTES])
{
    return false;
}
#endif
