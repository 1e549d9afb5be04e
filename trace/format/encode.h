/* SPDX-License-Identifier: MIT */
/* encode: writes the values of a packet body (wire.h) into a buffer that grows. One thread at a time. */
#ifndef LAP_TRACE_FORMAT_ENCODE_H
#define LAP_TRACE_FORMAT_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/object.h"
#include "trace/format/wire.h"

#define LAP_ENC_SPARE_BYTES 16u
#define LAP_BLOB_FAILED     UINT64_MAX /* a blob was wanted, and can't be stored: nothing more is written */

struct lap_enc {
    uint8_t *base, *p, *end;  /* a heap buffer that grows; base..p is written. lap_enc_grow adds LAP_ENC_SPARE_BYTES
                                 behind it, for readers of whole words */
    bool failed;              /* out of memory, or the writer stopped: nothing more is written */
    uint32_t unknown_structs; /* pNext structures that were left out: the registry lacks the type, or it is hidden */
    bool takes_hidden;        /* keeps hidden ones: for traces made by hand, which a replay is to refuse */
    bool fixed;               /* the buffer is the caller's and does not grow: too much is a failure */
    const struct lap_object_tables *objects;
    /* The number of the blob with a run of bytes; 0: the run stands inline; or LAP_BLOB_FAILED. NULL: all stand inline.
     * lap_enc_use_writer has a writer do it. */
    uint64_t (*blob_of)(void *user, const void *data, size_t bytes);
    void *user;
    /* For bytes that were decoded and are encoded again. NULL and false else. */
    const uint32_t *struct_numbers; /* [enum gen_struct]: in the file; 0: it has none. NULL: those of this build */
    bool decoded;                   /* whatever is there was recorded: no condition leaves it out */
    uint32_t scratch[5]; /* for conditions that reach from a struct into its members; see codegen/overrides.toml */
};

void lap_enc_init(struct lap_enc *enc, const struct lap_object_tables *objects);
void lap_enc_finish(struct lap_enc *enc);

/* Empties the buffer, keeps its memory, clears failed. */
void lap_enc_reset(struct lap_enc *enc);

/* Whether a structure of a hidden extension is left out; counts it then. */
static inline bool lap_enc_leaves_out(struct lap_enc *enc)
{
    enc->unknown_structs += !enc->takes_hidden;
    return !enc->takes_hidden;
}

bool lap_enc_grow(struct lap_enc *enc, size_t bytes);

/* Makes room for `bytes`; false (and latched) when that fails. */
static inline __attribute__((always_inline)) bool lap_enc_reserve(struct lap_enc *enc, size_t bytes)
{
    if (__builtin_expect(!enc->failed && (size_t)(enc->end - enc->p) >= bytes, 1))
        return true;
    return lap_enc_grow(enc, bytes);
}

/* The at functions write where `p` is, return where they end, and need room reserved by the caller. */
static inline uint8_t *lap_at_u64(uint8_t *p, uint64_t value)
{
    while (value >= 0x80) {
        *p++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *p++ = (uint8_t)value;
    return p;
}

static inline uint8_t *lap_at_i64(uint8_t *p, int64_t value)
{
    return lap_at_u64(p, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

static inline uint8_t *lap_at_fixed32(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)value, p[1] = (uint8_t)(value >> 8), p[2] = (uint8_t)(value >> 16), p[3] = (uint8_t)(value >> 24);
    return p + 4;
}

static inline uint8_t *lap_at_float(uint8_t *p, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return lap_at_fixed32(p, bits);
}

static inline uint8_t *lap_at_double(uint8_t *p, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return lap_at_fixed32(lap_at_fixed32(p, (uint32_t)bits), (uint32_t)(bits >> 32));
}

static inline __attribute__((always_inline)) uint8_t *lap_at_handle(uint8_t *p, const struct lap_enc *enc,
                                                                    uint32_t type, uint64_t handle)
{
    return lap_at_u64(p, lap_object_index(enc->objects, type, handle));
}

/* For the handle that a call has just created, or that it destroys. */
static inline uint8_t *lap_at_newest_handle(uint8_t *p, const struct lap_enc *enc, uint32_t type, uint64_t handle)
{
    return lap_at_u64(p, lap_object_newest_index(enc->objects, type, handle));
}

/* The same at the encoder's end. */
static inline void lap_put_u64(struct lap_enc *enc, uint64_t value)
{
    enc->p = lap_at_u64(enc->p, value);
}

static inline void lap_put_i64(struct lap_enc *enc, int64_t value)
{
    enc->p = lap_at_i64(enc->p, value);
}

static inline void lap_put_u8(struct lap_enc *enc, uint8_t value)
{
    *enc->p++ = value;
}

static inline void lap_put_fixed32(struct lap_enc *enc, uint32_t value)
{
    enc->p = lap_at_fixed32(enc->p, value);
}

static inline void lap_put_fixed64(struct lap_enc *enc, uint64_t value)
{
    lap_put_fixed32(enc, (uint32_t)value);
    lap_put_fixed32(enc, (uint32_t)(value >> 32));
}

static inline void lap_put_float(struct lap_enc *enc, float value)
{
    enc->p = lap_at_float(enc->p, value);
}

static inline void lap_put_double(struct lap_enc *enc, double value)
{
    enc->p = lap_at_double(enc->p, value);
}

/* These reserve for themselves. */
void lap_enc_raw(struct lap_enc *enc, const void *data, size_t bytes); /* bytes as they are */
/* size << 1, bytes; or size << 1 | 1, blob */
void lap_enc_many_bytes(struct lap_enc *enc, const void *data, size_t bytes);
static inline void lap_enc_bytes(struct lap_enc *enc, const void *data, size_t bytes)
{
    if (bytes && bytes < 0x40 && lap_enc_reserve(enc, 0x40)) {
        *enc->p = (uint8_t)(bytes << 1);
        memcpy(enc->p + 1, data, bytes);
        enc->p += 1 + bytes;
    } else {
        lap_enc_many_bytes(enc, data, bytes);
    }
}
void lap_enc_string(struct lap_enc *enc, const char *text); /* 0 for NULL, else length + 1 and the bytes */

#endif
