/* SPDX-License-Identifier: MIT */
/* The blocks that small objects share: how large they are, and who lies beside whom. docs/memory.md, "Blocks and
 * lifetimes". */
#include <stdlib.h>
#include <string.h>

#include "replayer/alias.h"
#include "replayer/facts.h"
#include "replayer/lifetime.h"
#include "replayer/planner.h"

#define KIB               ((VkDeviceSize)1 << 10)
#define MIB               ((VkDeviceSize)1 << 20)
#define MAX_BLOCK_BYTES   (64 * MIB)
#define MIN_BLOCK_BYTES   (64 * KIB) /* where it is not known when objects end, and the bound leaves room */
#define MIN_GRANULE_BYTES 16u
#define MOST_ALLOCATIONS  4096u /* are made use of, though a device allows more */
#define LEAST_ALLOCATIONS 512u  /* with fewer, objects share whatever block there is */
#define HOST_VISIBLE      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT

/* Linear and optimal resources lie in different blocks where the device has a bufferImageGranularity. */
struct replay_memory_pool {
    struct replay_device *dev;
    struct replay_memory_class *of;
    uint32_t type;
    bool optimal;
    uint64_t most_bytes;   /* in use at once */
    uint64_t placed_bytes; /* so far, of the class's own objects */
    uint32_t sorts;        /* bits: of objects that were placed in it */
    struct replay_pool *pool;
    struct replay_memory_pool *next;
};

/* Objects that end in one period, or in some that follow one another. */
struct replay_memory_class {
    uint32_t period; /* the last one */
    bool abandoned;  /* all that is left in it ends in this row of packets: the memory is free already */
    uint64_t bytes;  /* of small objects that end in it */
    uint64_t sort_bytes[REPLAY_SORTS];
    uint64_t placed_bytes; /* so far */
    uint64_t low_bytes;    /* what will be alive at least before it ends, when a block was last made for it */
    struct replay_memory_pool *pools;
    struct replay_memory_class *next; /* that ends later; REPLAY_PERIOD_UNKNOWN comes first */
};

/* ---- figures ---- */

double replay_memory_fragmentation(const struct replay_device *dev)
{
    uint64_t all = 0, largest = 0;

    for (const struct replay_memory_class *of = dev->planner->classes; of; of = of->next)
        for (const struct replay_memory_pool *pool = of->pools; pool && !of->abandoned; pool = pool->next) {
            struct replay_pool_stats stats = replay_pool_stats(pool->pool);
            uint64_t bytes = replay_pool_largest_free(pool->pool);
            all += stats.block_bytes - stats.used_bytes;
            largest = bytes > largest ? bytes : largest;
        }
    return all ? 1 - (double)largest / (double)all : 0;
}

/* ---- how much is allocated ---- */

/* What may be allocated for objects that require so much: a quarter more. */
static uint64_t bound(uint64_t used_bytes)
{
    return used_bytes + used_bytes / 4;
}

uint64_t replay_count_limit(const struct replay_device *dev)
{
    uint32_t most = dev->planner->max_allocations;
    return most == 0 ? 1 : most < MOST_ALLOCATIONS ? most : MOST_ALLOCATIONS;
}

static VkDeviceSize heap_bytes(const struct replay_device *dev, uint32_t type)
{
    const VkPhysicalDeviceMemoryProperties *memory = &dev->instance->memory;
    return memory->memoryHeaps[memory->memoryTypes[type].heapIndex].size;
}

/* Blocks are at most an eighth of their heap, so that a small one (a window into device memory) is shared fairly. */
VkDeviceSize replay_max_block_bytes(const struct replay_device *dev, uint32_t type)
{
    VkDeviceSize bytes = heap_bytes(dev, type) / 8;
    return bytes > MAX_BLOCK_BYTES ? MAX_BLOCK_BYTES : bytes < MIB ? MIB : bytes;
}

static uint64_t unfilled_bytes(const struct replay_memory_class *of)
{
    uint64_t bytes = 0;

    for (const struct replay_memory_pool *pool = of->pools; pool; pool = pool->next) {
        uint64_t blocks = replay_pool_stats(pool->pool).block_bytes;
        bytes += blocks > pool->most_bytes ? blocks - pool->most_bytes : 0;
    }
    return bytes;
}

/* What a class with known ends may take for objects that come later. At no moment to come may more than an eighth of
 * what is alive be empty in this way: the other one is for objects that go before the others in their blocks. As long
 * as a class is there, so are those that end later, and what is alive is at least its low_bytes. */
static uint64_t room_until(const struct replay_device *dev, struct replay_memory_class *of, uint64_t used_bytes)
{
    const struct replay_planner *planner = dev->planner;
    uint64_t parts = planner->stats.allocations >= replay_count_limit(dev) / 4 ? 12 : 6; /* of 64 */
    uint64_t low, unfilled = 0, room = UINT64_MAX, share;
    double pools = 0;

    if (used_bytes < REPLAY_FLOOR_BYTES / 2)
        used_bytes = REPLAY_FLOOR_BYTES / 2;
    low = replay_lifetimes_low(planner->r->lifetimes, planner->r->packet.ticket, of->period);
    of->low_bytes = low > REPLAY_FLOOR_BYTES / 2 ? low : REPLAY_FLOOR_BYTES / 2;
    for (const struct replay_memory_class *other = planner->classes; other; other = other->next)
        if (other->period != REPLAY_PERIOD_UNKNOWN)
            unfilled += unfilled_bytes(other);
    for (const struct replay_memory_class *other = planner->classes; other; other = other->next) {
        if (other->period == REPLAY_PERIOD_UNKNOWN)
            continue;
        low = (other->low_bytes < used_bytes ? other->low_bytes : used_bytes) / 64 * parts;
        if (other->period <= of->period)
            room = low < unfilled ? 0 : low - unfilled < room ? low - unfilled : room;
        unfilled -= unfilled_bytes(other);
        for (const struct replay_memory_pool *pool = other->pools; pool && other->period >= of->period;
             pool = pool->next)
            pools += other->low_bytes < of->low_bytes ? (double)other->low_bytes / (double)of->low_bytes : 1;
    }
    low = (of->low_bytes < used_bytes ? of->low_bytes : used_bytes) / 64 * parts;
    share = (uint64_t)((double)low / pools);
    return room / 2 > share ? share : room / 2 > share / 8 ? room / 2 : share / 8;
}

/* What is to come of the class into the pool, as far as it is known. Objects of other sorts may come, too; then it is
 * more. */
static uint64_t to_come(const struct replay_memory_pool *pool)
{
    const struct replay_memory_class *of = pool->of;
    uint64_t left = of->bytes > of->placed_bytes ? of->bytes - of->placed_bytes : 0, bytes = 0;

    for (unsigned i = 0; i < REPLAY_SORTS; i++)
        bytes += pool->sorts >> i & 1 ? of->sort_bytes[i] : 0;
    bytes = bytes > pool->placed_bytes ? bytes - pool->placed_bytes : 0;
    return bytes < left ? bytes : left;
}

/* How much of a block may be for objects that come later. */
static uint64_t room_for_others(const struct replay_memory_pool *pool, uint64_t need_bytes, uint64_t pool_bytes)
{
    const struct replay_planner *planner = pool->dev->planner;
    const struct replay_memory_stats *stats = &planner->stats;
    uint64_t used = stats->used_bytes + need_bytes, all = stats->allocated_bytes + need_bytes;
    uint64_t limit = pool->of->period == REPLAY_PERIOD_UNKNOWN ? bound(used) : used + used / 16 * 3;
    uint64_t room = limit > all ? (limit - all) / 2 : 0, most;

    if (pool->of->period == REPLAY_PERIOD_UNKNOWN) {
        most = pool_bytes > MIN_BLOCK_BYTES ? pool_bytes : MIN_BLOCK_BYTES;
    } else {
        uint64_t left = to_come(pool);
        most = room_until(pool->dev, pool->of, used);
        if (left < need_bytes)
            most = 0;
        else if (left - need_bytes < most)
            most = left - need_bytes;
    }
    return room < most ? room : most;
}

/* A block for an object that fits into no other. When few allocations are left, blocks are larger than the bound says,
 * rather than many. */
static uint64_t choose_block(void *user, uint64_t need_bytes, uint64_t pool_bytes)
{
    const struct replay_memory_pool *pool = user;
    uint64_t made = pool->dev->planner->stats.allocations, limit = replay_count_limit(pool->dev);
    uint64_t spared = pool->of->period == REPLAY_PERIOD_UNKNOWN ? 0 : limit / 2;
    uint64_t least = made >= limit / 4 + spared ? replay_small_bytes(made - spared, limit) : 0;
    uint64_t room = room_for_others(pool, need_bytes, pool_bytes);

    return need_bytes + (room < least ? least : room);
}

static enum lap_status create_block(void *user, uint64_t bytes, void **out_block)
{
    struct replay_memory_pool *pool = user;
    struct replay_block *block = calloc(1, sizeof *block);
    enum lap_status status;

    if (!block)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    block->bytes = bytes;
    status = replay_memory_take(pool->dev, pool->type, bytes, NULL, replay_usual_flags(pool->dev), &block->memory,
                                &block->host);
    if (status != LAP_OK) {
        free(block);
        return status;
    }
    *out_block = block;
    return LAP_OK;
}

static void destroy_block(void *user, void *opaque)
{
    struct replay_memory_pool *pool = user;
    struct replay_block *block = opaque;

    replay_memory_give(pool->dev, pool->type, block->memory, block->bytes);
    free(block);
}

/* ---- classes ---- */

/* In which an object ends; REPLAY_PERIOD_UNKNOWN where that is not known, or where there are too few allocations to
 * tell objects apart. */
static uint32_t period_of(const struct replay_device *dev, const struct replay_needs *needs)
{
    uint64_t made = dev->planner->stats.allocations, limit = replay_count_limit(dev);
    const struct replay_lifetimes *lifetimes;
    uint32_t period = REPLAY_PERIOD_UNKNOWN;

    if (limit < LEAST_ALLOCATIONS || made > limit / 8 * 7)
        return REPLAY_PERIOD_UNKNOWN;
    lifetimes = replay_lifetimes_find(dev->planner->r);
    if (!lifetimes)
        return REPLAY_PERIOD_UNKNOWN;
    if (needs->type != GEN_HANDLE_NONE)
        return replay_lifetimes_period(lifetimes, needs->type == GEN_HANDLE_VkImage, needs->index);
    for (const struct replay_alias_member *member = needs->group ? needs->group->first : NULL; member;
         member = member->next) {
        uint32_t other = replay_lifetimes_period(lifetimes, member->type == GEN_HANDLE_VkImage, member->index);
        if (other == REPLAY_PERIOD_UNKNOWN) /* perhaps it is never bound, perhaps it is no good trace */
            return REPLAY_PERIOD_UNKNOWN;
        period = other > period ? other : period;
    }
    return period;
}

static void add_bytes(const struct replay_period *period, uint64_t *bytes, uint64_t sort_bytes[REPLAY_SORTS])
{
    *bytes += period->bytes;
    for (unsigned i = 0; i < REPLAY_SORTS; i++)
        sort_bytes[i] += period->sort_bytes[i];
}

/* When few allocations are left, periods have classes in common, twice as many with each sixteenth of them. */
static uint32_t merge_periods(const struct replay_device *dev, uint32_t period, uint64_t *out_bytes,
                              uint64_t out_sort_bytes[REPLAY_SORTS])
{
    const struct replay_lifetimes *lifetimes = dev->planner->r->lifetimes;
    uint64_t made = dev->planner->stats.allocations, limit = replay_count_limit(dev);
    uint32_t last = period, first = period;

    if (period == REPLAY_PERIOD_UNKNOWN)
        return period;
    if (period != REPLAY_PERIOD_NEVER && made > limit / 8 * 5) {
        uint32_t mask = (1u << 16 * (made - limit / 8 * 5) / limit) - 1, count = replay_lifetimes_count(lifetimes);
        last = (period | mask) < count ? period | mask : count;
        first = (period & ~mask) ? period & ~mask : 1;
    }
    for (; first < last; first++)
        add_bytes(replay_lifetimes_get(lifetimes, first), out_bytes, out_sort_bytes);
    add_bytes(replay_lifetimes_get(lifetimes, last), out_bytes, out_sort_bytes);
    return last;
}

static struct replay_memory_class *need_class(const struct replay_device *dev, uint32_t period)
{
    struct replay_memory_class **at = &dev->planner->classes, *of;
    uint64_t sort_bytes[REPLAY_SORTS] = {0}, bytes = 0;

    period = merge_periods(dev, period, &bytes, sort_bytes);
    while (*at && (*at)->period < period)
        at = &(*at)->next;
    of = *at;
    if (!of || of->period != period) {
        of = calloc(1, sizeof *of);
        if (!of)
            return NULL;
        of->period = period;
        of->next = *at;
        *at = of;
    }
    if (bytes > of->bytes) {
        of->bytes = bytes;
        memcpy(of->sort_bytes, sort_bytes, sizeof sort_bytes);
    }
    return of;
}

/* A pool of a class that does not end before this one, and has room. */
static struct replay_memory_pool *find_room(const struct replay_memory_class *of, const struct replay_needs *needs,
                                            uint32_t type, bool optimal)
{
    for (; of; of = of->next)
        for (struct replay_memory_pool *pool = of->pools; pool; pool = pool->next)
            if (pool->type == type && pool->optimal == optimal &&
                replay_pool_has_room(pool->pool, needs->requirements.size, needs->requirements.alignment))
                return pool;
    return NULL;
}

/* Of what is flushed and invalidated, no two objects lie in one atom. */
static bool shares_atoms(const struct replay_device *dev, uint32_t type)
{
    return (replay_type_flags(dev, type) & HOST_VISIBLE) &&
           !(replay_type_flags(dev, type) & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) &&
           dev->planner->atom > MIN_GRANULE_BYTES;
}

static enum lap_status need_pool(struct replay_device *dev, struct replay_memory_class *of, uint32_t type, bool optimal,
                                 struct replay_memory_pool **out_pool)
{
    struct replay_pool_options options = {
        .granule_bytes = shares_atoms(dev, type) ? dev->planner->atom : MIN_GRANULE_BYTES,
        .first_block_bytes = MIN_BLOCK_BYTES,
        .max_block_bytes = replay_max_block_bytes(dev, type),
        .create_block = create_block,
        .destroy_block = destroy_block,
        .choose_block = choose_block,
    };
    struct replay_memory_pool *pool = of->pools;
    enum lap_status status;

    while (pool && (pool->type != type || pool->optimal != optimal))
        pool = pool->next;
    *out_pool = pool;
    if (pool)
        return LAP_OK;
    pool = calloc(1, sizeof *pool);
    if (!pool)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    *pool = (struct replay_memory_pool){.dev = dev, .of = of, .type = type, .optimal = optimal, .next = of->pools};
    options.user = pool;
    status = replay_pool_create(&options, &pool->pool);
    if (status != LAP_OK) {
        free(pool);
        return status;
    }
    of->pools = pool;
    dev->planner->pool_count++;
    *out_pool = pool;
    return LAP_OK;
}

static void destroy_pool(struct replay_memory_pool **at)
{
    struct replay_memory_pool *pool = *at;

    *at = pool->next;
    pool->dev->planner->pool_count--;
    replay_pool_destroy(&pool->pool);
    free(pool);
}

static uint64_t ranges_of(const struct replay_memory_class *of)
{
    uint64_t ranges = 0;

    for (const struct replay_memory_pool *pool = of->pools; pool; pool = pool->next)
        ranges += replay_pool_stats(pool->pool).ranges;
    return ranges;
}

/* A class to which nothing comes any more. */
static void end_class(struct replay_planner *planner, struct replay_memory_class **at)
{
    struct replay_memory_class *of = *at;

    if (of->abandoned)
        planner->r->abandoned -= ranges_of(of);
    *at = of->next;
    while (of->pools)
        destroy_pool(&of->pools);
    free(of);
}

static bool is_over(const struct replay_planner *planner, const struct replay_memory_class *of)
{
    return of->period != REPLAY_PERIOD_UNKNOWN &&
           replay_lifetimes_get(planner->r->lifetimes, of->period)->last_ticket <= planner->r->packet.ticket;
}

/* ---- ranges ---- */

enum lap_status replay_blocks_alloc(struct replay_device *dev, const struct replay_needs *needs, uint32_t type,
                                    struct replay_place *out_place, struct replay_block *out_block)
{
    struct replay_planner *planner = dev->planner;
    struct replay_memory_class *of = need_class(dev, period_of(dev, needs));
    bool optimal = !needs->linear && planner->granularity > 1;
    struct replay_memory_pool *pool = NULL;
    enum lap_status status = LAP_OK;

    if (!of)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    if (of->period != REPLAY_PERIOD_UNKNOWN && planner->stats.allocations > replay_count_limit(dev) / 8 * 5)
        pool = find_room(of, needs, type, optimal);
    if (!pool)
        status = need_pool(dev, of, type, optimal, &pool);
    if (status == LAP_OK)
        pool->sorts |= (uint32_t)1 << replay_sort(needs->type == GEN_HANDLE_VkImage, needs->asked);
    if (status == LAP_OK)
        status =
            replay_pool_alloc(pool->pool, needs->requirements.size, needs->requirements.alignment, &out_place->range);
    if (status != LAP_OK)
        return status;
    of->placed_bytes += out_place->range.bytes;
    if (pool->of == of)
        pool->placed_bytes += out_place->range.bytes;
    if (replay_pool_stats(pool->pool).used_bytes > pool->most_bytes)
        pool->most_bytes = replay_pool_stats(pool->pool).used_bytes;
    out_place->pool = pool;
    *out_block = *(const struct replay_block *)out_place->range.block;
    return LAP_OK;
}

/* Where all that is left of a class ends before anything is used again, its blocks need not wait for the last object.
 * Specification, vkFreeMemory: "The memory can remain bound to images or buffers at the time the memory object is
 * freed", as long as they are only destroyed from then on. */
static void abandon(struct replay_planner *planner, struct replay_memory_class *of)
{
    planner->r->abandoned += ranges_of(of);
    for (struct replay_memory_pool *pool = of->pools; pool; pool = pool->next)
        replay_pool_abandon(pool->pool);
    of->abandoned = true;
}

void replay_blocks_free(struct replay_device *dev, struct replay_place *place)
{
    struct replay_planner *planner = dev->planner;
    struct replay_memory_class **at = &planner->classes;

    planner->r->abandoned -= place->pool->of->abandoned;
    replay_pool_free(place->pool->pool, &place->range);
    if (*at && (*at)->period == REPLAY_PERIOD_UNKNOWN)
        at = &(*at)->next;
    while (*at && is_over(planner, *at)) {
        struct replay_memory_class *of = *at;
        if (ranges_of(of) == 0) {
            end_class(planner, at);
            continue;
        }
        if (!of->abandoned && replay_staging_is_idle(dev))
            abandon(planner, of);
        at = &of->next;
    }
}

void replay_blocks_trim(struct replay_device *dev)
{
    struct replay_planner *planner = dev->planner;

    for (struct replay_memory_class *of = planner->classes; of; of = of->next)
        for (struct replay_memory_pool *pool = of->pools; pool; pool = pool->next) {
            if (planner->stats.allocated_bytes <= bound(planner->stats.used_bytes))
                return;
            replay_pool_trim(pool->pool);
        }
}

void replay_blocks_finish(struct replay_device *dev)
{
    while (dev->planner->classes)
        end_class(dev->planner, &dev->planner->classes);
}
