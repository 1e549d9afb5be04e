/* SPDX-License-Identifier: MIT */
#include "trace/lives.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES     ((size_t)4096)
#define MOST_ITEM_BYTES (6 * (size_t)LAP_WIRE_MAX_VARINT)

void lap_lives_init(struct lap_lives *lives)
{
    memset(lives, 0, sizeof(*lives));
    pthread_mutex_init(&lives->mutex, NULL);
}

void lap_lives_finish(struct lap_lives *lives)
{
    free(lives->data);
    lives->data = NULL;
    lives->bytes = lives->capacity = 0;
}

static bool need_room(struct lap_lives *lives)
{
    if (lives->count == LAP_LIVES_MAX_COUNT || lives->bytes > LAP_LIVES_MAX_BYTES - MOST_ITEM_BYTES)
        return false;
    if (lives->capacity - lives->bytes >= MOST_ITEM_BYTES)
        return true;
    size_t capacity = lives->capacity ? 2 * lives->capacity : FIRST_BYTES;
    uint8_t *data = realloc(lives->data, capacity);
    if (!data)
        return false;
    lives->data = data;
    lives->capacity = capacity;
    return true;
}

void lap_lives_add(struct lap_lives *lives, const struct lap_long_life *life, const _Atomic uint64_t *clock,
                   uint64_t mask)
{
    uint32_t device = (uint32_t)life->device << LAP_LIFE_DEVICE_SHIFT;

    pthread_mutex_lock(&lives->mutex);
    if (life->device <= LAP_LIFE_MAX_DEVICE && need_room(lives)) {
        uint64_t end = (atomic_load_explicit(clock, memory_order_relaxed) & mask) + 1;
        uint8_t *at = lives->data + lives->bytes;
        at = lap_at_u64(lap_at_u64(at, life->handle_type), life->index);
        at = lap_at_u64(lap_at_u64(at, end - lives->ticket), end - life->begin);
        at = lap_at_u64(lap_at_u64(at, life->bytes), (life->memory_flags & ~LAP_LIFE_DEVICE_MASK) | device);
        lives->bytes = (size_t)(at - lives->data);
        lives->ticket = end;
        lives->count++;
    }
    pthread_mutex_unlock(&lives->mutex);
}
