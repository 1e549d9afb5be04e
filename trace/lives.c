/* SPDX-License-Identifier: MIT */
#include "trace/lives.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES     ((size_t)4096)
#define FIRST_COUNT     256u
#define NUMBERS         6u /* of each life */
#define STEP            2u /* of these, that from the end of the one before */
#define MOST_ITEM_BYTES (NUMBERS * (size_t)LAP_WIRE_MAX_VARINT)
#define SHARE           8u /* of all, that is left out at once */

void lap_lives_init(struct lap_lives *lives)
{
    memset(lives, 0, sizeof(*lives));
    pthread_mutex_init(&lives->mutex, NULL);
}

void lap_lives_finish(struct lap_lives *lives)
{
    free(lives->data);
    free(lives->ranks);
    lives->data = lives->ranks = NULL;
    lives->bytes = lives->capacity = 0;
    lives->count = lives->rank_capacity = 0;
}

/* ---- which of them count ---- */

static unsigned rank_of(const struct lap_long_life *life)
{
    return life->passed <= LAP_LIVES_NEAR_BYTES || !life->bytes ? 0 : 64 - (unsigned)__builtin_clzll(life->bytes);
}

/* There is none below. */
static unsigned lowest_rank(const struct lap_lives *lives)
{
    unsigned rank = 0;

    while (rank < LAP_LIVES_RANKS - 1 && !lives->counts[rank])
        rank++;
    return rank;
}

/* How many of each rank stay. */
static void choose(const struct lap_lives *lives, uint32_t kept[LAP_LIVES_RANKS])
{
    uint32_t left = lives->count / SHARE;

    for (unsigned rank = 0; rank < LAP_LIVES_RANKS; rank++) {
        uint32_t gone = lives->counts[rank] < left ? lives->counts[rank] : left;
        kept[rank] = lives->counts[rank] - gone;
        left -= gone;
    }
}

static uint8_t *skip(uint8_t *p, unsigned numbers)
{
    while (numbers)
        numbers -= *p++ < 0x80;
    return p;
}

static uint64_t step_of(uint8_t *life)
{
    uint8_t *from = skip(life, STEP), *to = skip(from, 1);
    struct lap_dec dec;

    lap_dec_init(&dec, from, (size_t)(to - from), NULL, NULL);
    return lap_get_u64(&dec);
}

/* With another step, at a place in front of it that is far enough. */
static uint8_t *move_life(uint8_t *at, uint8_t *life, uint8_t *end, uint64_t step)
{
    uint8_t *from = skip(life, STEP), *rest = skip(from, 1);

    memmove(at, life, (size_t)(from - life));
    at = lap_at_u64(at + (from - life), step);
    memmove(at, rest, (size_t)(end - rest));
    return at + (end - rest);
}

/* What stays is written over what was there: a step grows by no more than those took that are gone in front of it. */
static void thin_out(struct lap_lives *lives)
{
    uint32_t kept[LAP_LIVES_RANKS], count = 0;
    uint8_t *at = lives->data, *life = lives->data, *end;
    uint64_t gone = 0;

    choose(lives, kept);
    memset(lives->counts, 0, sizeof(lives->counts));
    for (uint32_t i = 0; i < lives->count; i++, life = end) {
        unsigned rank = lives->ranks[i];
        end = skip(life, NUMBERS);
        if (lives->counts[rank] == kept[rank]) {
            gone += step_of(life);
            continue;
        }
        at = move_life(at, life, end, gone + step_of(life));
        gone = 0;
        lives->counts[rank]++;
        lives->ranks[count++] = (uint8_t)rank;
    }
    lives->count = count;
    lives->bytes = (size_t)(at - lives->data);
    lives->ticket -= gone;
}

/* ---- adding ---- */

static void *grow(void *array, size_t wanted, size_t *capacity, size_t first)
{
    size_t more = *capacity ? *capacity : first;

    while (more < wanted)
        more *= 2;
    if (more == *capacity)
        return array;
    array = realloc(array, more);
    if (array)
        *capacity = more;
    return array;
}

static bool need_room(struct lap_lives *lives, unsigned rank)
{
    if (lives->count == LAP_LIVES_MAX_COUNT || lives->bytes > LAP_LIVES_MAX_BYTES - MOST_ITEM_BYTES) {
        if (rank <= lowest_rank(lives))
            return false;
        thin_out(lives);
    }
    uint8_t *data = grow(lives->data, lives->bytes + MOST_ITEM_BYTES, &lives->capacity, FIRST_BYTES);
    if (!data)
        return false;
    lives->data = data;
    uint8_t *ranks = grow(lives->ranks, (size_t)lives->count + 1, &lives->rank_capacity, FIRST_COUNT);
    if (!ranks)
        return false;
    lives->ranks = ranks;
    return true;
}

void lap_lives_add(struct lap_lives *lives, const struct lap_long_life *life, const _Atomic uint64_t *clock,
                   uint64_t mask)
{
    uint32_t device = (uint32_t)life->device << LAP_LIFE_DEVICE_SHIFT;
    unsigned rank = rank_of(life);

    pthread_mutex_lock(&lives->mutex);
    if (life->device <= LAP_LIFE_MAX_DEVICE && need_room(lives, rank)) {
        uint64_t end = (atomic_load_explicit(clock, memory_order_relaxed) & mask) + 1;
        uint8_t *at = lives->data + lives->bytes;
        at = lap_at_u64(lap_at_u64(at, life->handle_type), life->index);
        at = lap_at_u64(lap_at_u64(at, end - lives->ticket), end - life->begin);
        at = lap_at_u64(lap_at_u64(at, life->bytes), (life->memory_flags & ~LAP_LIFE_DEVICE_MASK) | device);
        lives->bytes = (size_t)(at - lives->data);
        lives->ticket = end;
        lives->ranks[lives->count++] = (uint8_t)rank;
        lives->counts[rank]++;
    }
    pthread_mutex_unlock(&lives->mutex);
}
