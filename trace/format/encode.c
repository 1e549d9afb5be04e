/* SPDX-License-Identifier: MIT */
#include "trace/format/encode.h"

#include <stdlib.h>

#define FIRST_BUFFER_BYTES ((size_t)4096)

void lap_enc_init(struct lap_enc *enc, const struct lap_object_tables *objects)
{
    memset(enc, 0, sizeof(*enc));
    enc->objects = objects;
}

void lap_enc_finish(struct lap_enc *enc)
{
    free(enc->base);
    enc->base = enc->p = enc->end = NULL;
}

void lap_enc_reset(struct lap_enc *enc)
{
    enc->p = enc->base;
    enc->failed = false;
    enc->unknown_structs = 0;
}

bool lap_enc_grow(struct lap_enc *enc, size_t bytes)
{
    if (enc->failed)
        return false;
    size_t used = enc->base ? (size_t)(enc->p - enc->base) : 0;
    size_t capacity = enc->base ? (size_t)(enc->end - enc->base) : 0;
    if (capacity - used >= bytes && enc->base)
        return true;
    if (enc->fixed || bytes > PTRDIFF_MAX - used || capacity > PTRDIFF_MAX / 2) {
        enc->failed = true;
        return false;
    }
    size_t want = capacity ? capacity * 2 : FIRST_BUFFER_BYTES;
    if (want < used + bytes)
        want = used + bytes;
    uint8_t *base = realloc(enc->base, want + LAP_ENC_SPARE_BYTES);
    if (!base) {
        enc->failed = true;
        return false;
    }
    enc->base = base;
    enc->p = base + used;
    enc->end = base + want;
    return true;
}

void lap_enc_raw(struct lap_enc *enc, const void *data, size_t bytes)
{
    if (bytes == 0 || !lap_enc_reserve(enc, bytes))
        return;
    memcpy(enc->p, data, bytes);
    enc->p += bytes;
}

void lap_enc_many_bytes(struct lap_enc *enc, const void *data, size_t bytes)
{
    if (!lap_enc_reserve(enc, 2 * LAP_WIRE_MAX_VARINT))
        return;
    uint64_t blob = enc->blob_of ? enc->blob_of(enc->user, data, bytes) : 0;
    if (blob == LAP_BLOB_FAILED) {
        enc->failed = true;
        return;
    }
    if (blob) {
        lap_put_u64(enc, (uint64_t)bytes << 1 | 1);
        lap_put_u64(enc, blob);
        return;
    }
    lap_put_u64(enc, (uint64_t)bytes << 1);
    lap_enc_raw(enc, data, bytes);
}

void lap_enc_string(struct lap_enc *enc, const char *text)
{
    if (!lap_enc_reserve(enc, LAP_WIRE_MAX_VARINT))
        return;
    if (!text) {
        lap_put_u64(enc, 0);
        return;
    }
    size_t length = strlen(text);
    lap_put_u64(enc, (uint64_t)length + 1);
    lap_enc_raw(enc, text, length);
}
