/* SPDX-License-Identifier: MIT */
#include "memtrack/diff.h"

#include <stdint.h>
#include <string.h>

#define BLOCK  64u
#define STRIDE 1024u

/* The word whose lowest byte is the one at the lowest address. */
static inline uint64_t load(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Loads and ORs without branches: compilers turn this into vector code. */
static inline uint64_t block_differs(const unsigned char *a, const unsigned char *b)
{
    uint64_t differs = 0;
    for (unsigned i = 0; i < BLOCK; i += 8)
        differs |= load(a + i) ^ load(b + i);
    return differs;
}

static inline size_t skip_equal_blocks(const unsigned char *a, const unsigned char *b, size_t end, size_t at)
{
    while (at + BLOCK <= end && !block_differs(a + at, b + at))
        at += BLOCK;
    return at;
}

static size_t first_difference(const unsigned char *a, const unsigned char *b, size_t bytes, size_t at)
{
    size_t near = at && at + STRIDE <= bytes ? at + STRIDE : at; /* behind a difference the next one is often near */
    at = skip_equal_blocks(a, b, near, at);
    if (at == near) {
        while (at + STRIDE <= bytes && memcmp(a + at, b + at, STRIDE) == 0) /* the processor's vector instructions */
            at += STRIDE;
        at = skip_equal_blocks(a, b, bytes, at);
    }
    for (; at + 8 <= bytes; at += 8) {
        uint64_t differs = load(a + at) ^ load(b + at);
        if (differs)
            return at + (unsigned)__builtin_ctzll(differs) / 8;
    }
    while (at < bytes && a[at] == b[at])
        at++;
    return at;
}

static inline bool has_zero_byte(uint64_t word)
{
    return ((word - 0x0101010101010101ull) & ~word & 0x8080808080808080ull) != 0;
}

/* Whether there is a difference in each word of a block: then no run of equal bytes in it has more than 14. */
static inline bool every_word_differs(const unsigned char *a, const unsigned char *b)
{
    unsigned equal = 0;
    for (unsigned i = 0; i < BLOCK; i += 8)
        equal |= load(a + i) == load(b + i);
    return !equal;
}

static inline unsigned last_differing_byte(uint64_t differs)
{
    return 7 - (unsigned)__builtin_clzll(differs) / 8;
}

/* The end of the span that begins with a difference at `at`: one past the last difference that is followed by at least
 * `gap` equal bytes, or by the end. */
static size_t span_end(const unsigned char *a, const unsigned char *b, size_t bytes, size_t at, size_t gap)
{
    size_t end = at + 1;
    unsigned words = 0; /* one behind the other with a difference in each */
    at = end;
    while (at < bytes && at - end < gap) {
        if (at + 8 <= bytes) {
            uint64_t differs = load(a + at) ^ load(b + at);
            if (differs == 0) {
                at += 8;
                words = 0;
                continue;
            }
            /* Between two differing bytes of one word there are at most six equal ones. */
            if (!has_zero_byte(differs) || (gap > 6 && at - end + (unsigned)__builtin_ctzll(differs) / 8 < gap)) {
                end = at + 1 + last_differing_byte(differs);
                at += 8;
                if (++words < 2 || gap <= 14)
                    continue;
                /* All of it was rewritten. */
                while (at + BLOCK <= bytes && every_word_differs(a + at, b + at))
                    at += BLOCK;
                end = at - 7 + last_differing_byte(load(a + at - 8) ^ load(b + at - 8));
                words = 0;
                continue;
            }
        }
        if (a[at] != b[at])
            end = at + 1;
        at++;
    }
    return end;
}

bool lap_diff_next(const void *a, const void *b, size_t bytes, size_t from, size_t gap, size_t *out_begin,
                   size_t *out_end)
{
    size_t begin = first_difference(a, b, bytes, from);
    if (begin >= bytes)
        return false;
    *out_begin = begin;
    *out_end = span_end(a, b, bytes, begin, gap ? gap : 1);
    return true;
}

bool lap_diff_next_blocks(const void *a, const void *b, size_t bytes, size_t from, size_t *out_begin, size_t *out_end)
{
    const unsigned char *left = a, *right = b;
    size_t end = first_difference(left, right, bytes, from);
    if (end >= bytes)
        return false;
    end -= end % BLOCK;
    *out_begin = end;
    do
        end += BLOCK;
    while (end + BLOCK <= bytes && block_differs(left + end, right + end));
    *out_end = end + BLOCK > bytes ? bytes : end;
    return true;
}

bool lap_diff_is_zero(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (; bytes >= BLOCK; at += BLOCK, bytes -= BLOCK) {
        uint64_t bits = 0;
        for (unsigned i = 0; i < BLOCK; i += 8)
            bits |= load(at + i);
        if (bits)
            return false;
    }
    for (; bytes; at++, bytes--)
        if (*at)
            return false;
    return true;
}
