/* SPDX-License-Identifier: MIT */
#include "trace/format/decode.h"

#include <stdlib.h>

#include "trace/format/bytes.h"

const uint8_t lap_dec_nothing[16] __attribute__((aligned(16)));

/* After this nothing can be read: the inline readers look only at p and end. */
static void latch(struct lap_dec *dec, enum lap_status status)
{
    dec->status = status;
    dec->p = dec->end;
}

void lap_dec_fail(struct lap_dec *dec, const char *what)
{
    if (dec->status == LAP_OK)
        latch(dec, lap_fail(LAP_ERROR_FORMAT, "%s at offset %zu of %zu", what, (size_t)(dec->p - dec->base),
                            (size_t)(dec->end - dec->base)));
}

static size_t bytes_left(const struct lap_dec *dec)
{
    return (size_t)(dec->end - dec->p);
}

/* False, and latched, unless `bytes` more can be read. */
static bool need(struct lap_dec *dec, size_t bytes)
{
    if (dec->status != LAP_OK)
        return false;
    if (bytes_left(dec) < bytes) {
        lap_dec_short(dec);
        return false;
    }
    return true;
}

void lap_dec_short(struct lap_dec *dec)
{
    lap_dec_fail(dec, "the body ends in the middle of a value");
}

static void *allocate(struct lap_dec *dec, size_t bytes, size_t align)
{
    void *memory = lap_arena_alloc(dec->arena, bytes, align);
    if (!memory && dec->status == LAP_OK) {
        if (lap_arena_is_full(dec->arena, bytes))
            latch(dec,
                  lap_fail(LAP_ERROR_LIMIT, "a packet needs more than %zu bytes of memory", dec->arena->limit_bytes));
        else
            latch(dec, lap_fail(LAP_ERROR_MEMORY, "out of memory while decoding (%zu bytes)", bytes));
    }
    return memory;
}

/* Of any length; `p` is where the number begins. */
static __attribute__((noinline)) uint64_t get_long(struct lap_dec *dec, const uint8_t *p)
{
    uint64_t value = 0;
    if (__builtin_expect(dec->end - p >= 8, 1)) {
        uint64_t word = lap_load_u64(p), ends = ~word & UINT64_C(0x8080808080808080);
        if (__builtin_expect(ends != 0, 1)) {
            unsigned last = (unsigned)__builtin_ctzll(ends) & ~7u; /* the first bit of the last byte */
            word &= ~UINT64_C(0) >> (56 - last);
            if (__builtin_expect(last == 0 || word >> last != 0, 1)) {
                dec->p = p + last / 8 + 1;
                word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
                word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
                return (word & UINT64_C(0x0fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
            }
        }
    }
    if (dec->status != LAP_OK)
        return 0;
    for (unsigned shift = 0;; shift += 7) {
        if (p == dec->end) {
            lap_dec_fail(dec, "the body ends in the middle of a number");
            return 0;
        }
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1) {
            lap_dec_fail(dec, "a number of more than 64 bits");
            return 0;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            if (byte == 0 && shift) {
                lap_dec_fail(dec, "a number with needless bytes");
                return 0;
            }
            dec->p = p;
            return value;
        }
    }
}

uint64_t lap_get_u64_slow(struct lap_dec *dec)
{
    uint64_t value;
    return lap_get_two_or_three(dec, &value) ? value : get_long(dec, dec->p);
}

uint32_t lap_get_u32_slow(struct lap_dec *dec, uint64_t value)
{
    if (value <= UINT32_MAX)
        return (uint32_t)value;
    lap_dec_fail(dec, "a number that should have 32 bits is larger");
    return 0;
}

uint64_t lap_get_fixed64(struct lap_dec *dec)
{
    if (!need(dec, 8))
        return 0;
    uint64_t low = lap_get_fixed32(dec);
    return low | (uint64_t)lap_get_fixed32(dec) << 32;
}

double lap_get_double(struct lap_dec *dec)
{
    uint64_t bits = lap_get_fixed64(dec);
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

uint64_t lap_get_handle_slow(struct lap_dec *dec, uint32_t type, uint64_t index)
{
    if (!dec->source || !dec->source->handle)
        return index;
    uint64_t handle = 0;
    enum lap_status status = dec->source->handle(dec->source->user, type, index, &handle);
    if (status < 0) {
        latch(dec, status);
        return 0;
    }
    return handle;
}

/* Nobody writes through it: it has no elements. */
static void *no_elements(const struct lap_dec *dec)
{
    return dec->source && dec->source->keeps_empty ? (void *)(uintptr_t)lap_dec_nothing : NULL;
}

void *lap_dec_array_slow(struct lap_dec *dec, uint64_t count, size_t element_bytes, size_t min_wire_bytes, size_t align)
{
    size_t bytes;
    if (dec->status != LAP_OK || count == 0)
        return dec->status == LAP_OK ? no_elements(dec) : NULL;
    if (min_wire_bytes ? count > bytes_left(dec) / min_wire_bytes : count > LAP_WIRE_MAX_EMPTY_ELEMENTS) {
        lap_dec_fail(dec, "an array with more elements than the body has room for");
        return NULL;
    }
    if (__builtin_mul_overflow((size_t)count, element_bytes, &bytes)) {
        lap_dec_fail(dec, "an array too large for memory");
        return NULL;
    }
    return allocate(dec, bytes, align);
}

void lap_dec_raw(struct lap_dec *dec, void *out, size_t bytes)
{
    if (bytes == 0)
        return;
    if (!need(dec, bytes)) {
        memset(out, 0, bytes);
        return;
    }
    memcpy(out, dec->p, bytes);
    dec->p += bytes;
}

const void *lap_dec_bytes(struct lap_dec *dec, size_t *out_bytes)
{
    *out_bytes = 0;
    uint64_t head = lap_get_u64(dec);
    uint64_t bytes = head >> 1;
    if (dec->status != LAP_OK)
        return NULL;

    if (head & 1) {
        const uint8_t *data = NULL;
        size_t blob_bytes = 0;
        uint64_t blob = lap_get_u64(dec);
        if (dec->status != LAP_OK)
            return NULL;
        if (!dec->source || !dec->source->blob) {
            lap_dec_fail(dec, "a blob where none can be had");
            return NULL;
        }
        enum lap_status status = dec->source->blob(dec->source->user, blob, &data, &blob_bytes);
        if (status < 0) {
            latch(dec, status);
            return NULL;
        }
        if (blob_bytes != bytes) {
            lap_dec_fail(dec, "a blob of another size than the packet says");
            return NULL;
        }
        *out_bytes = blob_bytes;
        return data;
    }

    if (bytes > bytes_left(dec)) {
        lap_dec_fail(dec, "more bytes than the body has");
        return NULL;
    }
    if (bytes == 0)
        return no_elements(dec);
    /* A copy: callers may take the bytes for an array of words, and a body has no alignment. */
    void *copy = allocate(dec, (size_t)bytes, 16);
    if (!copy)
        return NULL;
    lap_dec_raw(dec, copy, (size_t)bytes);
    *out_bytes = (size_t)bytes;
    return copy;
}

const void *lap_dec_bytes_exact(struct lap_dec *dec, uint64_t bytes)
{
    size_t found;
    const void *data = lap_dec_bytes(dec, &found);
    if (dec->status == LAP_OK && found != bytes)
        lap_dec_fail(dec, "bytes that don't have the size that another member says");
    return dec->status == LAP_OK ? data : NULL;
}

uint64_t lap_get_address(struct lap_dec *dec)
{
    uint64_t recorded = lap_get_u64(dec);
    if (recorded == 0 || dec->status != LAP_OK || !dec->source || !dec->source->address)
        return recorded;
    return dec->source->address(dec->source->user, recorded);
}

uint32_t lap_get_layout(struct lap_dec *dec)
{
    uint32_t recorded = lap_get_u32(dec);
    for (uint32_t i = 0; dec->source && recorded && i < LAP_DEC_LAYOUTS; i++)
        if (recorded == dec->source->layouts[i].from)
            return dec->source->layouts[i].to;
    return recorded;
}

uint64_t lap_dec_stages(const struct lap_dec *dec, uint64_t recorded)
{
    const struct lap_dec_source *source = dec->source;

    if (!source || !(recorded & source->stages))
        return recorded;
    if (recorded & ~source->stages)
        return recorded & ~source->stages;
    return recorded & ~source->graphics ? source->left : source->graphics_left;
}

uint64_t lap_dec_accesses(const struct lap_dec *dec, uint64_t recorded)
{
    return dec->source ? recorded & ~dec->source->accesses : recorded;
}

const void *lap_dec_words(struct lap_dec *dec, enum lap_words what, const void *data, uint64_t bytes)
{
    const void *words;
    if (!data || dec->status != LAP_OK || !dec->source || !dec->source->words)
        return data;
    words = dec->source->words(dec->source->user, what, dec->arena, data, (size_t)bytes);
    if (!words)
        lap_dec_fail(dec, "out of memory or past the limit for one packet");
    return words;
}

void lap_dec_absent(struct lap_dec *dec, const char *what)
{
    if (dec->status == LAP_OK && dec->source && dec->source->handle && !dec->source->lenient)
        latch(dec, lap_fail(LAP_ERROR_INVALID, "%s is null", what));
}

void lap_dec_refuse(struct lap_dec *dec, const char *what)
{
    if (dec->status == LAP_OK)
        latch(dec, lap_fail(LAP_ERROR_UNSUPPORTED, "%s is hidden from programs and never replayed", what));
}

/* The text of a string that the body has, not terminated; NULL (*out_length 0) for a NULL pointer and on failure. */
static const char *get_text(struct lap_dec *dec, size_t *out_length)
{
    *out_length = 0;
    uint64_t head = lap_get_u64(dec);
    if (head == 0)
        return NULL;
    if (head - 1 > bytes_left(dec)) {
        lap_dec_fail(dec, "a string longer than the body");
        return NULL;
    }
    const char *text = (const char *)dec->p;
    if (memchr(text, 0, (size_t)(head - 1))) {
        lap_dec_fail(dec, "a string with a NUL in it");
        return NULL;
    }
    *out_length = (size_t)(head - 1);
    dec->p += *out_length;
    return text;
}

const char *lap_dec_string(struct lap_dec *dec)
{
    size_t length;
    const char *text = get_text(dec, &length);
    char *copy = text ? allocate(dec, length + 1, 1) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

void lap_dec_string_into(struct lap_dec *dec, char *out, size_t capacity)
{
    size_t length;
    const char *text = get_text(dec, &length);
    memset(out, 0, capacity);
    if (!text)
        return;
    if (length >= capacity) {
        lap_dec_fail(dec, "a string that is too long for its array");
        return;
    }
    memcpy(out, text, length);
}

const uint32_t *lap_dec_u32_array(struct lap_dec *dec, uint64_t count)
{
    uint32_t *values = lap_dec_items(dec, count, sizeof(*values), 1, sizeof(*values));
    for (uint64_t i = 0; values && i < count; i++)
        values[i] = lap_get_u32(dec);
    return values;
}

const uint64_t *lap_dec_u64_array(struct lap_dec *dec, uint64_t count)
{
    uint64_t *values = lap_dec_items(dec, count, sizeof(*values), 1, sizeof(*values));
    for (uint64_t i = 0; values && i < count; i++)
        values[i] = lap_get_u64(dec);
    return values;
}

bool lap_dec_enter_slow(struct lap_dec *dec)
{
    if (dec->status == LAP_OK && dec->depth >= LAP_WIRE_MAX_DEPTH)
        lap_dec_fail(dec, "structures nested too deep");
    /* Counted even on failure, so that every leave has its enter. */
    dec->depth++;
    return dec->status == LAP_OK;
}
