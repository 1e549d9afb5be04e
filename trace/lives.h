/* SPDX-License-Identifier: MIT */
/*
 * lives: the objects that were there for much of a trace, and from when to when; for a reader that plans ahead and does
 * not look so far. Gathered while the trace is written, and in it as a blob when it ends as it should (docs/format.md,
 * "Long lives"). Knows no Vulkan. What a file says of them may be wrong: whoever relies on it looks for the packets.
 */
#ifndef LAP_TRACE_LIVES_H
#define LAP_TRACE_LIVES_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/wire.h"

struct lap_reader;

/* Who has seen more than this pass has lived for long: payloads of PACKETS chunks and the bodies of their packets, and
 * for each packet LAP_LIVES_PACKET_BYTES more. */
#define LAP_LIVES_LONG_BYTES   ((uint64_t)32 << 20)
#define LAP_LIVES_PACKET_BYTES 64u
/* Of a trace: memory of the recorded process, and a reader plans with all of them at once. Where there are more, those
 * are left out that have seen no more than LAP_LIVES_NEAR_BYTES, which readers look ahead; then the smallest objects.
 */
#define LAP_LIVES_MAX_COUNT  (1u << 20)
#define LAP_LIVES_MAX_BYTES  ((size_t)32 << 20)
#define LAP_LIVES_NEAR_BYTES ((uint64_t)192 << 20)

/* In memory_flags beside what Vulkan has there: buffers whose address a replay may ask for again; and in the file the
 * device, by its index. What is on later ones is left out. */
#define LAP_LIFE_HAS_ADDRESS  0x80000000u
#define LAP_LIFE_DEVICE_SHIFT 16
#define LAP_LIFE_MAX_DEVICE   0x7fffu
#define LAP_LIFE_DEVICE_MASK  (LAP_LIFE_MAX_DEVICE << LAP_LIFE_DEVICE_SHIFT)

struct lap_long_life {
    uint32_t handle_type;  /* number in the file's dictionary */
    uint32_t memory_flags; /* properties that were asked for, as the packet that gave it memory says */
    uint64_t device;       /* index; 0: not known */
    uint64_t index, bytes; /* of memory, in all its parts */
    uint64_t passed;       /* how much it has seen, which is not in the file */
    uint64_t begin, end;   /* tickets: of the packet that gave it memory, and about that of the one that destroyed it */
};

/* ---- writing: any thread ---- */

#define LAP_LIVES_RANKS 65u

struct lap_lives {
    pthread_mutex_t mutex;
    uint8_t *data; /* as it will be in the file */
    size_t bytes, capacity;
    uint8_t *ranks; /* [life]: 0: near; else by its bytes */
    size_t rank_capacity;
    uint32_t count;
    uint32_t counts[LAP_LIVES_RANKS]; /* of each rank */
    uint64_t ticket;                  /* at which the last one ended */
};

void lap_lives_init(struct lap_lives *lives);
void lap_lives_finish(struct lap_lives *lives);
/* One that ends now: at the ticket behind the one in the low bits (`mask`) of the clock, which is looked at under the
 * lock, so that they are in the order of their ends. What there is no memory for is left out. Where there are too many
 * an eighth of them goes: the lowest ranks, of which the last ones. */
void lap_lives_add(struct lap_lives *lives, const struct lap_long_life *life, const _Atomic uint64_t *clock,
                   uint64_t mask);

/* ---- reading ---- */

struct lap_lives_reader {
    struct lap_dec dec;
    uint64_t ticket;
    uint32_t left;
};

/* LAP_END: the trace has none, or ended early. Errors: as lap_reader_blob. */
enum lap_status lap_reader_lives(struct lap_reader *reader, struct lap_lives_reader *out) LAP_MUST_CHECK;
/* The next one, which begins before it ends; LAP_END behind the last. With no other call on the reader since.
 * LAP_ERROR_FORMAT: damaged; those before it are good, others don't follow. */
enum lap_status lap_lives_next(struct lap_lives_reader *lives, struct lap_long_life *out) LAP_MUST_CHECK;

#endif
