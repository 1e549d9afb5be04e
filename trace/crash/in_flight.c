/* SPDX-License-Identifier: MIT */
#include "trace/crash/in_flight.h"

#include <string.h>
#include <xxhash.h>

#include "trace/format/bytes.h"

#define MAGIC                                                                                                          \
    0x4350414cu /* "LAPC" little-endian; "LAPF" in tail files before version 3, which were hashed otherwise            \
                 */
#define HASH_AT   8u
#define HASHED_AT 16u

static uint64_t hash_of(const uint8_t *entry, size_t body_bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(entry + HASHED_AT, LAP_IN_FLIGHT_HEAD_BYTES - HASHED_AT + body_bytes, seed);
}

void lap_in_flight_store(uint8_t *out, const struct lap_in_flight *call, uint64_t seed)
{
    __atomic_store_n(out + LAP_IN_FLIGHT_STATE_AT, 0, __ATOMIC_RELAXED);
    atomic_signal_fence(memory_order_seq_cst); /* the rest is not before it: see lap_in_flight_strike */
    lap_store_u32(out, MAGIC);
    memset(out + LAP_IN_FLIGHT_STATE_AT + 1, 0, 3);
    lap_store_u32(out + 16, call->command);
    lap_store_u32(out + 20, call->flags);
    lap_store_u32(out + 24, call->signal);
    lap_store_u32(out + 28, (uint32_t)call->bytes);
    lap_store_u64(out + 32, call->thread_id);
    lap_store_u64(out + 40, call->ticket);
    lap_store_u64(out + 48, call->command_buffer);
    lap_store_u64(out + 56, 0);
    lap_store_u64(out + HASH_AT, hash_of(out, call->bytes, seed));
    __atomic_store_n(out + LAP_IN_FLIGHT_STATE_AT, LAP_IN_FLIGHT_STANDING, __ATOMIC_RELEASE);
}

uint64_t lap_in_flight_number(const uint8_t **p, const uint8_t *end)
{
    uint64_t number = 0;
    for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
        number |= (uint64_t)(**p & 0x7f) << shift;
        if (!(*(*p)++ & 0x80))
            break;
    }
    return number;
}

enum lap_status lap_in_flight_next(const uint8_t *list, size_t bytes, size_t *at, uint64_t seed,
                                   struct lap_in_flight *out_call)
{
    while (*at < bytes && bytes - *at >= LAP_IN_FLIGHT_HEAD_BYTES) {
        const uint8_t *entry = list + *at;
        size_t body_bytes = lap_load_u32(entry + 28);
        if (lap_load_u32(entry) != MAGIC || body_bytes > bytes - *at - LAP_IN_FLIGHT_HEAD_BYTES ||
            lap_load_u64(entry + HASH_AT) != hash_of(entry, body_bytes, seed))
            break;
        *at += lap_in_flight_stride(body_bytes);
        if (entry[LAP_IN_FLIGHT_STATE_AT] != LAP_IN_FLIGHT_STANDING)
            continue;
        *out_call = (struct lap_in_flight){.command = lap_load_u32(entry + 16),
                                           .flags = lap_load_u32(entry + 20),
                                           .signal = lap_load_u32(entry + 24),
                                           .thread_id = lap_load_u64(entry + 32),
                                           .ticket = lap_load_u64(entry + 40),
                                           .command_buffer = lap_load_u64(entry + 48),
                                           .body = entry + LAP_IN_FLIGHT_HEAD_BYTES,
                                           .bytes = body_bytes};
        if (out_call->flags & ~(uint32_t)LAP_IN_FLIGHT_ALL_FLAGS)
            break;
        return LAP_OK;
    }
    *at = bytes;
    return LAP_END;
}
