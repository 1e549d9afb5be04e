/* SPDX-License-Identifier: MIT */
#include "replayer/command/playback_order.h"

#include <stdlib.h>

bool replay_order_may_add(const struct replay_order *gather, const struct replay_ordered_block *block)
{
    return gather->count < REPLAY_ORDER_BLOCKS && block->bytes <= REPLAY_ORDER_BYTES &&
           gather->bytes <= REPLAY_ORDER_BYTES - block->bytes &&
           !(block->secondary && gather->secondaries < gather->count);
}

void replay_order_add(struct replay_order *gather, const struct replay_ordered_block *block)
{
    if (!replay_order_may_add(gather, block))
        return;
    gather->blocks[gather->count++] = *block;
    gather->secondaries += block->secondary;
    gather->bytes += block->bytes;
}

bool replay_order_may_reset(const struct replay_order *gather, uint64_t pool, bool secondary)
{
    if (secondary && gather->secondaries < gather->count)
        return false;
    for (uint32_t i = 0; i < gather->count; i++)
        if (gather->blocks[i].pool == pool)
            return false;
    return true;
}

static int larger_first(const void *a, const void *b)
{
    const struct replay_order_group *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->first < y->first ? -1 : x->first > y->first;
}

struct place {
    uint64_t pool;
    uint32_t number;
};

static int by_pool(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->pool != y->pool)
        return x->pool < y->pool ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

void replay_order_step(const struct replay_order *gather, unsigned number, struct replay_order_step *out)
{
    uint32_t begin = number == 0 ? 0 : gather->secondaries, count = 0;
    uint32_t end = number == 0 ? gather->secondaries : gather->count;
    struct place places[REPLAY_ORDER_BLOCKS];

    out->group_count = 0;
    for (uint32_t i = begin; i < end; i++)
        places[count++] = (struct place){gather->blocks[i].pool, i};
    qsort(places, count, sizeof *places, by_pool);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || places[i].pool != places[i - 1].pool)
            out->groups[out->group_count++] = (struct replay_order_group){.first = i};
        out->order[i] = places[i].number;
        out->groups[out->group_count - 1].count++;
        out->groups[out->group_count - 1].bytes += gather->blocks[places[i].number].bytes;
    }
    qsort(out->groups, out->group_count, sizeof *out->groups, larger_first);
}
