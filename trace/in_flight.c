/* SPDX-License-Identifier: MIT */
#include "trace/in_flight.h"

#include <string.h>
#include <xxhash.h>

#include "trace/bytes.h"

#define MAGIC    0x4650414cu /* "LAPF" little-endian */
#define STANDING 1u
#define HASH_AT  56u

/* Of what stands still: all of the head but the state and the hash itself, and the body. */
static uint64_t hash_of(const uint8_t *entry, size_t body_bytes, uint64_t seed)
{
    uint64_t head =
        XXH3_64bits_withSeed(entry + LAP_IN_FLIGHT_STATE_AT + 4, HASH_AT - LAP_IN_FLIGHT_STATE_AT - 4, seed);
    return XXH3_64bits_withSeed(entry + LAP_IN_FLIGHT_HEAD_BYTES, body_bytes, head);
}

void lap_in_flight_store(uint8_t *out, const struct lap_in_flight *call, uint64_t seed)
{
    memset(out, 0, LAP_IN_FLIGHT_HEAD_BYTES);
    lap_store_u32(out, MAGIC);
    out[LAP_IN_FLIGHT_STATE_AT] = STANDING;
    lap_store_u32(out + 8, call->command);
    lap_store_u32(out + 12, call->flags);
    lap_store_u32(out + 16, call->signal);
    lap_store_u32(out + 20, (uint32_t)call->bytes);
    lap_store_u64(out + 24, call->thread_id);
    lap_store_u64(out + 32, call->ticket);
    lap_store_u64(out + 40, call->command_buffer);
    lap_store_u64(out + HASH_AT, hash_of(out, call->bytes, seed));
}

enum lap_status lap_in_flight_next(const uint8_t *list, size_t bytes, size_t *at, uint64_t seed,
                                   struct lap_in_flight *out_call)
{
    while (*at < bytes && bytes - *at >= LAP_IN_FLIGHT_HEAD_BYTES) {
        const uint8_t *entry = list + *at;
        size_t body_bytes = lap_load_u32(entry + 20);
        if (lap_load_u32(entry) != MAGIC || body_bytes > bytes - *at - LAP_IN_FLIGHT_HEAD_BYTES ||
            lap_load_u64(entry + HASH_AT) != hash_of(entry, body_bytes, seed))
            break;
        *at += lap_in_flight_stride(body_bytes);
        if (entry[LAP_IN_FLIGHT_STATE_AT] != STANDING)
            continue;
        *out_call = (struct lap_in_flight){.command = lap_load_u32(entry + 8),
                                           .flags = lap_load_u32(entry + 12),
                                           .signal = lap_load_u32(entry + 16),
                                           .thread_id = lap_load_u64(entry + 24),
                                           .ticket = lap_load_u64(entry + 32),
                                           .command_buffer = lap_load_u64(entry + 40),
                                           .body = entry + LAP_IN_FLIGHT_HEAD_BYTES,
                                           .bytes = body_bytes};
        if (out_call->flags & ~(uint32_t)LAP_IN_FLIGHT_ALL_FLAGS)
            break;
        return LAP_OK;
    }
    *at = bytes;
    return LAP_END;
}
