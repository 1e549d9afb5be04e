/* SPDX-License-Identifier: MIT */
/* decode: reads the values of a packet body (wire.h), which may hold anything. One thread at a time. */
#ifndef LAP_TRACE_FORMAT_DECODE_H
#define LAP_TRACE_FORMAT_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "trace/format/bytes.h"
#include "trace/format/wire.h"

struct lap_dec;

/* Live handles by index, in pages, looked up before a source is asked. Pages are small: one live object keeps the page
 * of its neighbours. */
#define LAP_LIVE_PAGE 64u

struct lap_live_page {
    uint64_t live[LAP_LIVE_PAGE]; /* 0: none */
};

struct lap_live_table {
    struct lap_live_page **pages; /* [index / LAP_LIVE_PAGE]; NULL: nothing there is alive */
    uint64_t count;               /* no index from here on has a page */
    uint64_t last;                /* the index that was decoded last */
};

/* 0 when there is none. */
static inline uint64_t lap_live_get(const struct lap_live_table *table, uint64_t index)
{
    const struct lap_live_page *page = index < table->count ? table->pages[index / LAP_LIVE_PAGE] : NULL;
    return page ? page->live[index % LAP_LIVE_PAGE] : 0;
}

/* Bytes of a command that may hold device addresses, by what they are for. */
enum lap_words { LAP_WORDS_UPDATED, LAP_WORDS_UNIFORM, LAP_WORDS_COUNT };

/* Callbacks of a decoder's owner. */
#define LAP_DEC_LAYOUTS 2u

struct lap_dec_source {
    /* The bytes of a blob; valid until the owner moves on to the next packet. */
    enum lap_status (*blob)(void *user, uint64_t id, const uint8_t **out_data, size_t *out_bytes);
    /* The live handle for a trace index; NULL keeps indices. index is not 0. On failure sets *out to 0. */
    enum lap_status (*handle)(void *user, uint32_t type, uint64_t index, uint64_t *out);
    bool lenient;     /* nulls, also from `handle`, are accepted everywhere */
    bool keeps_empty; /* an array without elements is NULL only if it was NULL in the recorded call */
    /* [type]: `handle` is called only for indices that are not in these; NULL: for all. */
    struct lap_live_table *const *live;
    /* From the file's struct numbers to enum gen_struct; GEN_STRUCT_NONE (0) for one this build lacks. */
    uint32_t (*struct_id)(void *user, uint64_t number);
    void *user;
    /* Both NULL: device addresses stay as they were recorded. A recorded address, translated; and bytes with the
     * addresses in them replaced: `data` itself when there are none, else a copy in the arena (NULL: out of memory). */
    uint64_t (*address)(void *user, uint64_t recorded);
    const void *(*words)(void *user, enum lap_words what, struct lap_arena *arena, const void *data, size_t bytes);
    /* LAP_DEC_FORMATS values: the replacement of each VkFormat, by its number. NULL: none is replaced. */
    const uint16_t *formats;
    /* Image layouts that are replaced by another one; from 0: none is. */
    struct lap_dec_layout {
        uint32_t from, to;
    } layouts[LAP_DEC_LAYOUTS];
    /* Bits of stage and access masks that are removed. A stage mask that becomes empty is replaced by `graphics_left`,
     * if all its bits were in `graphics`, else by `left`. */
    uint64_t stages, accesses;
    uint64_t graphics, graphics_left, left;
};

#define LAP_DEC_FORMATS 185u /* those of Vulkan 1.0; no other one is ever replaced */

struct lap_dec {
    const uint8_t *base, *p, *end;
    enum lap_status status; /* latched; the sentence is in lap_error_message() */
    struct lap_arena *arena;
    const struct lap_dec_source *source;
    uint32_t depth;           /* of pNext chains within each other, at most LAP_WIRE_MAX_DEPTH */
    uint32_t unknown_structs; /* pNext structures that were skipped */
    /* The live handle of the command's first parameter, if that was looked up already: `p` is behind its index. 0: it
     * was not. */
    uint64_t owner;
};

#define LAP_WIRE_MAX_DEPTH          16u    /* of pNext chains within each other; only these nest without a limit */
#define LAP_WIRE_MAX_CHAIN          1024u  /* structures in one pNext chain */
#define LAP_WIRE_MAX_EMPTY_ELEMENTS 65536u /* of an array whose elements take no bytes in the body */

/* These functions are inlined into the decoders of commands and structures (LAP_WIRE_HOT: the Makefile); elsewhere the
 * compiler decides. */
#ifdef LAP_WIRE_HOT
#define LAP_WIRE_INLINE static inline __attribute__((always_inline))
#else
#define LAP_WIRE_INLINE static inline
#endif

extern const uint8_t lap_dec_nothing[16];

static inline void lap_dec_init(struct lap_dec *dec, const void *data, size_t bytes, struct lap_arena *arena,
                                const struct lap_dec_source *source)
{
    dec->base = dec->p = bytes ? (const uint8_t *)data : lap_dec_nothing;
    dec->end = dec->base + bytes;
    dec->status = LAP_OK;
    dec->arena = arena;
    dec->source = source;
    dec->depth = dec->unknown_structs = 0;
    dec->owner = 0;
}

/* Latches an error with the offset in the body; keeps the first one. */
void lap_dec_fail(struct lap_dec *dec, const char *what);

uint64_t lap_get_u64_slow(struct lap_dec *dec);
uint32_t lap_get_u32_slow(struct lap_dec *dec, uint64_t value);
/* Latches that the body ends in the middle of a value, unless something was latched before. */
void lap_dec_short(struct lap_dec *dec);

/* The inline readers look at p and end alone: after a latched error no bytes are left. */
LAP_WIRE_INLINE uint64_t lap_get_u64(struct lap_dec *dec)
{
    if (__builtin_expect(dec->p < dec->end && *dec->p < 0x80, 1))
        return *dec->p++;
    return lap_get_u64_slow(dec);
}

/* A number of two or three bytes, as most values of more than one byte are. False: it has another size, and nothing is
 * read. */
LAP_WIRE_INLINE bool lap_get_two_or_three(struct lap_dec *dec, uint64_t *out)
{
    const uint8_t *p = dec->p;
    ptrdiff_t left = dec->end - p;
    if (left < 2 || !(p[0] & 0x80))
        return false;
    if (p[1] - 1u < 0x7f) {
        dec->p = p + 2;
        *out = (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
        return true;
    }
    if (left < 3 || !(p[1] & 0x80) || p[2] - 1u >= 0x7f)
        return false;
    dec->p = p + 3;
    *out = (uint64_t)(p[0] & 0x7f) | (uint64_t)(p[1] & 0x7f) << 7 | (uint64_t)p[2] << 14;
    return true;
}

/* The same as lap_get_u64 for values that are seldom of one byte: sizes, and the indices of new objects. */
LAP_WIRE_INLINE uint64_t lap_get_long(struct lap_dec *dec)
{
    uint64_t value;
    return lap_get_two_or_three(dec, &value) ? value : lap_get_u64(dec);
}

/* The number in these bytes, all of them; 0 where they are no number, or one of more than three bytes. */
static inline uint64_t lap_number_of(const uint8_t *p, size_t bytes)
{
    if (bytes == 2)
        return p[0] & 0x80 && p[1] - 1u < 0x7f ? (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7 : 0;
    if (bytes == 3)
        return p[0] & p[1] & 0x80 && p[2] - 1u < 0x7f
                   ? (uint64_t)(p[0] & 0x7f) | (uint64_t)(p[1] & 0x7f) << 7 | (uint64_t)p[2] << 14
                   : 0;
    return bytes == 1 && p[0] < 0x80 ? p[0] : 0;
}

/* The end of a body as it is after nearly every creation: a byte that marks an object, its index in two or three bytes,
 * and 0 for VK_SUCCESS. 0: it is another one, and nothing is read. */
LAP_WIRE_INLINE uint64_t lap_get_made(struct lap_dec *dec)
{
    const uint8_t *p = dec->p;
    uint64_t index;
    if (dec->end - p == 4) {
        uint32_t word = lap_load_u32(p);
        if ((word & 0xff8080ff) != 0x8001)
            return 0;
        index = (word >> 8 & 0x7f) | (word >> 9 & 0x3f80);
        if (index < 0x80)
            return 0;
    } else if (dec->end - p == 5 && p[0] == 1 && p[4] == 0) {
        uint32_t word = lap_load_u32(p);
        if ((word & 0x80808000) != 0x808000)
            return 0;
        index = (word >> 8 & 0x7f) | (word >> 9 & 0x3f80) | (word >> 10 & 0x1fc000);
        if (index < 0x4000)
            return 0;
    } else {
        return 0;
    }
    dec->p = dec->end;
    return index;
}

/* Fails when the value does not fit. */
LAP_WIRE_INLINE uint32_t lap_get_u32(struct lap_dec *dec)
{
    uint64_t value = lap_get_u64(dec);
    return __builtin_expect(value <= UINT32_MAX, 1) ? (uint32_t)value : lap_get_u32_slow(dec, value);
}

/* A VkFormat, or its replacement. */
static inline uint32_t lap_dec_format(const struct lap_dec *dec, uint32_t format)
{
    const uint16_t *formats = dec->source->formats;
    return __builtin_expect(formats != NULL, 0) && format < LAP_DEC_FORMATS ? formats[format] : format;
}

static inline uint32_t lap_get_format(struct lap_dec *dec)
{
    return lap_dec_format(dec, lap_get_u32(dec));
}

static inline int64_t lap_unzigzag(uint64_t raw)
{
    return (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
}

static inline int64_t lap_get_i64(struct lap_dec *dec)
{
    return lap_unzigzag(lap_get_u64(dec));
}

LAP_WIRE_INLINE uint8_t lap_get_u8(struct lap_dec *dec)
{
    if (__builtin_expect(dec->p < dec->end, 1))
        return *dec->p++;
    lap_dec_short(dec);
    return 0;
}

static inline uint32_t lap_get_fixed32(struct lap_dec *dec)
{
    const uint8_t *p = dec->p;
    if (__builtin_expect(dec->end - p < 4, 0)) {
        lap_dec_short(dec);
        return 0;
    }
    dec->p = p + 4;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint64_t lap_get_fixed64(struct lap_dec *dec);

static inline float lap_load_float(const uint8_t *p)
{
    uint32_t bits = lap_load_u32(p);
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static inline double lap_load_double(const uint8_t *p)
{
    uint64_t bits = lap_load_u64(p);
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

static inline float lap_get_float(struct lap_dec *dec)
{
    uint32_t bits = lap_get_fixed32(dec);
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

double lap_get_double(struct lap_dec *dec);

/* Asks the source for an index that is not 0. */
uint64_t lap_get_handle_slow(struct lap_dec *dec, uint32_t type, uint64_t index);

/* A handle's live value (or its index when the source maps nothing). */
LAP_WIRE_INLINE uint64_t lap_get_handle(struct lap_dec *dec, uint32_t type)
{
    uint64_t index = lap_get_u64(dec);
    if (index == 0)
        return 0;
    if (dec->source && dec->source->live) {
        struct lap_live_table *table = dec->source->live[type];
        uint64_t live = lap_live_get(table, index);
        if (__builtin_expect(live != 0, 1)) {
            table->last = index;
            return live;
        }
    }
    return lap_get_handle_slow(dec, type, index);
}

/* A command's first parameter. */
LAP_WIRE_INLINE uint64_t lap_get_owner(struct lap_dec *dec, uint32_t type)
{
    return dec->owner ? dec->owner : lap_get_handle(dec, type);
}

/* A pointer or handle that a driver needs is null. An error, latched, where handles are mapped (the output goes to a
 * driver); tools show it as it is. `what` names it. */
void lap_dec_absent(struct lap_dec *dec, const char *what);

/* A value that no driver may get; `what` names it. An error, latched. */
void lap_dec_refuse(struct lap_dec *dec, const char *what);

/* The same as lap_dec_absent of a handle that must not be null. */
LAP_WIRE_INLINE uint64_t lap_get_needed_handle(struct lap_dec *dec, uint32_t type, const char *what)
{
    uint64_t handle = lap_get_handle(dec, type);
    if (__builtin_expect(handle == 0, 0))
        lap_dec_absent(dec, what);
    return handle;
}

/* A device address as the source translates it. */
uint64_t lap_get_address(struct lap_dec *dec);

/* An image layout, replaced as in the source. */
uint32_t lap_get_layout(struct lap_dec *dec);

/* Recorded masks, replaced as in the source. */
uint64_t lap_dec_stages(const struct lap_dec *dec, uint64_t recorded);
uint64_t lap_dec_accesses(const struct lap_dec *dec, uint64_t recorded);

/* Memory for count elements that take at least min_wire_bytes each in the body: fails when the body is too short for
 * them, so a hostile count never allocates (min_wire_bytes 0: at most LAP_WIRE_MAX_EMPTY_ELEMENTS). NULL on failure and
 * for count 0. */
void *lap_dec_array_slow(struct lap_dec *dec, uint64_t count, size_t element_bytes, size_t min_wire_bytes,
                         size_t align);

/* Not zeroed: the caller fills it even after a failure, or looks at dec->status before it uses anything. */
LAP_WIRE_INLINE void *lap_dec_items(struct lap_dec *dec, uint64_t count, size_t element_bytes, size_t min_wire_bytes,
                                    size_t align)
{
    /* So few and so small elements can't overflow; no bytes are left after a latched error. */
    if (__builtin_expect(min_wire_bytes - 1 < 4096 && element_bytes <= 4096 && count - 1 < 64 &&
                             count * min_wire_bytes <= (size_t)(dec->end - dec->p),
                         1)) {
        void *memory = lap_arena_alloc(dec->arena, (size_t)count * element_bytes, align);
        if (__builtin_expect(memory != NULL, 1))
            return memory;
    }
    return lap_dec_array_slow(dec, count, element_bytes, min_wire_bytes, align);
}

/* The same, zeroed. */
LAP_WIRE_INLINE void *lap_dec_array(struct lap_dec *dec, uint64_t count, size_t element_bytes, size_t min_wire_bytes,
                                    size_t align)
{
    void *memory = lap_dec_items(dec, count, element_bytes, min_wire_bytes, align);
    size_t bytes;
    return memory && !__builtin_mul_overflow((size_t)count, element_bytes, &bytes) ? memset(memory, 0, bytes) : memory;
}

void lap_dec_raw(struct lap_dec *dec, void *out, size_t bytes);
/* The bytes of lap_enc_bytes: memory in the arena or the blob itself, *out_bytes its size. */
const void *lap_dec_bytes(struct lap_dec *dec, size_t *out_bytes);
/* The same where the size is known from another member: fails unless sizes agree. */
const void *lap_dec_bytes_exact(struct lap_dec *dec, uint64_t bytes);
/* Bytes decoded that way, with the device addresses in them as the source translates them; NULL stays NULL. */
const void *lap_dec_words(struct lap_dec *dec, enum lap_words what, const void *data, uint64_t bytes);
const char *lap_dec_string(struct lap_dec *dec);                           /* NULL, or NUL-terminated in the arena */
void lap_dec_string_into(struct lap_dec *dec, char *out, size_t capacity); /* fixed char arrays */
const uint32_t *lap_dec_u32_array(struct lap_dec *dec, uint64_t count);
const uint64_t *lap_dec_u64_array(struct lap_dec *dec, uint64_t count);

bool lap_dec_enter_slow(struct lap_dec *dec);

/* depth + 1, always; false, and latched, past the limit. */
static inline bool lap_dec_enter(struct lap_dec *dec)
{
    if (__builtin_expect(dec->status == LAP_OK && dec->depth < LAP_WIRE_MAX_DEPTH, 1)) {
        dec->depth++;
        return true;
    }
    return lap_dec_enter_slow(dec);
}

static inline void lap_dec_leave(struct lap_dec *dec)
{
    dec->depth--;
}

#endif
