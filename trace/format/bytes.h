/* SPDX-License-Identifier: MIT */
/*
 * bytes: little-endian numbers of fixed size at any address, for headers and tables of the file.
 */
#ifndef LAP_TRACE_FORMAT_BYTES_H
#define LAP_TRACE_FORMAT_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void lap_store_u32(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)value, p[1] = (uint8_t)(value >> 8), p[2] = (uint8_t)(value >> 16), p[3] = (uint8_t)(value >> 24);
}

static inline void lap_store_u64(uint8_t *p, uint64_t value)
{
    lap_store_u32(p, (uint32_t)value);
    lap_store_u32(p + 4, (uint32_t)(value >> 32));
}

static inline uint32_t lap_load_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t lap_load_u64(const uint8_t *p)
{
    return (uint64_t)lap_load_u32(p) | (uint64_t)lap_load_u32(p + 4) << 32;
}

/* Copies some bytes where a call of memcpy would cost more than the rest, which it does where that is made of the
 * widest vectors. Up to 15 bytes behind the last are copied, too. */
static inline __attribute__((always_inline)) void lap_copy_words(uint8_t *to, const uint8_t *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 16) {
        uint64_t part[2];
        memcpy(part, from + i, sizeof(part));
        memcpy(to + i, part, sizeof(part));
    }
}

#endif
