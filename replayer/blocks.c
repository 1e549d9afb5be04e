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
#define MIN_BLOCK_BYTES   (64 * KIB) /* where it is not known when objects end, and the bound leaves room */
#define MIN_GRANULE_BYTES 16u
#define LEAST_ALLOCATIONS 512u /* with fewer, objects share whatever block there is */
#define PADDING_SHARE     32u  /* of a block, that alignment may cost */
#define HOST_VISIBLE      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT

/* Linear and optimal resources lie in different blocks where the device has a bufferImageGranularity. */
struct replay_memory_pool {
    struct replay_device *dev;
    struct replay_memory_class *of;
    uint32_t type;
    bool optimal;
    uint64_t required_bytes; /* by the object that is placed */
    struct replay_pool *pool;
    struct replay_memory_pool *next;
};

/* The objects of a cell, or all those of which it is not known when they end. */
struct replay_memory_class {
    uint32_t cell;
    bool expecting;                /* the cell's end is not certain yet: `end` is UINT64_MAX */
    bool over;                     /* all that is left in it ends in this row of packets */
    bool abandoned;                /* and its memory is free already */
    uint64_t end;                  /* ticket; UINT64_MAX: never */
    uint64_t placed_bytes, placed; /* so far, of objects: here, or where else they had to lie */
    struct replay_memory_pool *pools;
};

/* ---- figures ---- */

struct free_bytes {
    uint64_t all, largest;
};

static void add_free(void *user, uint64_t cell, void *opaque)
{
    const struct replay_memory_class *of = opaque;
    struct free_bytes *sums = user;

    for (const struct replay_memory_pool *pool = of->pools; pool && !of->abandoned; pool = pool->next) {
        struct replay_pool_stats stats = replay_pool_stats(pool->pool);
        uint64_t bytes = replay_pool_largest_free(pool->pool);
        sums->all += stats.block_bytes - stats.used_bytes;
        sums->largest = bytes > sums->largest ? bytes : sums->largest;
    }
}

double replay_memory_fragmentation(const struct replay_device *dev)
{
    struct free_bytes sums = {0};

    lap_map_each(&dev->planner->classes, add_free, &sums);
    return sums.all ? 1 - (double)sums.largest / (double)sums.all : 0;
}

/* ---- how much is allocated ---- */

struct replay_allocations replay_unplanned(const struct replay_device *dev)
{
    const struct replay_planner *planner = dev->planner;
    uint64_t all = replay_memory_alive(dev).allocations, limit = replay_count_limit(dev);

    if (!planner->r->lifetimes || limit < LEAST_ALLOCATIONS || all > limit / 16 * 15)
        return (struct replay_allocations){all, limit};
    return (struct replay_allocations){all - planner->cell_blocks, limit / 2};
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
    return bytes > REPLAY_MAX_BLOCK_BYTES ? REPLAY_MAX_BLOCK_BYTES : bytes < MIB ? MIB : bytes;
}

/* A block for objects of which it is not known when they end. When few allocations are left, blocks are larger than the
 * bound says, rather than many. */
static uint64_t choose_block(void *user, uint64_t need_bytes, uint64_t pool_bytes)
{
    const struct replay_memory_pool *pool = user;
    struct replay_memory_use alive = replay_memory_alive(pool->dev);
    struct replay_allocations made = replay_unplanned(pool->dev);
    uint64_t limit = replay_memory_bound(alive.used_bytes + need_bytes), all = alive.allocated_bytes + need_bytes;
    uint64_t room = limit > all ? (limit - all) / 2 : 0;
    uint64_t most = pool_bytes > MIN_BLOCK_BYTES ? pool_bytes : MIN_BLOCK_BYTES;
    uint64_t least = made.count >= made.limit / 4 ? replay_small_bytes(made.count, made.limit) : 0;

    room = room < most ? room : most;
    return need_bytes + (room < least ? least : room);
}

/* One for a cell: for all that is still to come of it. How much that is here is known by what objects took so far in
 * proportion to what they took when they were recorded. Objects of several alignments need more: it is not known in
 * which order they come. */
static uint64_t choose_cell(void *user, uint64_t need_bytes, uint64_t pool_bytes)
{
    const struct replay_memory_pool *pool = user;
    const struct replay_planner *planner = pool->dev->planner;
    const struct replay_memory_class *of = pool->of;
    const struct replay_cell *cell = replay_lifetimes_get(planner->r->lifetimes, pool->dev->index, of->cell);
    const struct replay_sort_figures *sort = &planner->sorts[cell->sort];
    double scale = sort->recorded_bytes ? (double)sort->bytes / (double)sort->recorded_bytes : 1;
    double left = (double)cell->bytes * scale - (double)of->placed_bytes;
    uint64_t bytes = left > (double)need_bytes ? (uint64_t)left : need_bytes, padding = 0;

    /* Who lies elsewhere than others of its sort: what is to come will hardly follow it. */
    if (of->pools->next && bytes - need_bytes > pool_bytes)
        return need_bytes + pool_bytes;
    if (cell->items > of->placed + 1)
        padding = sort->objects && sort->most_alignment > sort->least_alignment
                      ? (cell->items - of->placed) * (sort->alignments / sort->objects - sort->least_alignment) / 2 +
                            sort->most_alignment
                      : 0;
    return bytes + (padding < bytes / PADDING_SHARE ? padding : bytes / PADDING_SHARE) + MIN_GRANULE_BYTES - 1;
}

static enum lap_status create_block(void *user, uint64_t bytes, void **out_block)
{
    struct replay_memory_pool *pool = user;
    struct replay_block *block = calloc(1, sizeof *block);
    enum lap_status status;

    if (!block)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    block->bytes = bytes;
    block->type = pool->type;
    replay_memory_make_way(pool->dev, bytes, pool->required_bytes);
    status = replay_memory_take(pool->dev, pool->type, bytes, NULL, replay_usual_flags(pool->dev), &block->memory,
                                &block->host);
    if (status != LAP_OK) {
        free(block);
        return status;
    }
    pool->dev->planner->cell_blocks += pool->of->cell != REPLAY_CELL_UNKNOWN;
    *out_block = block;
    return LAP_OK;
}

static void destroy_block(void *user, void *opaque)
{
    struct replay_memory_pool *pool = user;
    struct replay_block *block = opaque;

    replay_byte_buffer_destroy(pool->dev->planner->r, pool->dev, &block->whole);
    replay_memory_give(pool->dev, pool->type, block->memory, block->bytes);
    pool->dev->planner->cell_blocks -= pool->of->cell != REPLAY_CELL_UNKNOWN;
    free(block);
}

/* ---- classes ---- */

/* *out_index 0: of nothing that the trace has. */
static unsigned life_of(const struct replay_needs *needs, uint64_t *out_index)
{
    *out_index = needs->group ? needs->group->number : needs->type == GEN_HANDLE_NONE ? 0 : needs->index;
    return needs->group                        ? REPLAY_LIFE_GROUP
           : needs->type == GEN_HANDLE_VkImage ? REPLAY_LIFE_IMAGE
                                               : REPLAY_LIFE_BUFFER;
}

uint32_t replay_cell_of(const struct replay_device *dev, const struct replay_needs *needs)
{
    uint64_t made = replay_memory_alive(dev).allocations, limit = replay_count_limit(dev), index;
    const struct replay_lifetimes *lifetimes = dev->planner->r->lifetimes;
    unsigned kind = life_of(needs, &index);

    if (!lifetimes || limit < LEAST_ALLOCATIONS || made > limit / 16 * 15)
        return REPLAY_CELL_UNKNOWN;
    return index ? replay_lifetimes_cell(lifetimes, dev->index, kind, index) : REPLAY_CELL_UNKNOWN;
}

/* ---- those that end: a heap with the first one on top ---- */

static enum lap_status add_ending(struct replay_planner *planner, struct replay_memory_class *of)
{
    size_t at = planner->ending_count;

    if (of->end == UINT64_MAX)
        return LAP_OK;
    if (planner->ending_count == planner->ending_capacity) {
        size_t capacity = planner->ending_capacity ? planner->ending_capacity * 2 : 64;
        struct replay_memory_class **more = realloc(planner->ending, capacity * sizeof *more);
        if (!more)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
        planner->ending = more;
        planner->ending_capacity = capacity;
    }
    planner->ending_count++;
    for (; at > 0 && planner->ending[(at - 1) / 2]->end > of->end; at = (at - 1) / 2)
        planner->ending[at] = planner->ending[(at - 1) / 2];
    planner->ending[at] = of;
    return LAP_OK;
}

/* NULL: none is over at the ticket. */
static struct replay_memory_class *take_ending(struct replay_planner *planner, uint64_t ticket)
{
    struct replay_memory_class *first = planner->ending_count ? planner->ending[0] : NULL, *last;
    size_t at = 0, next;

    if (!first || first->end > ticket)
        return NULL;
    last = planner->ending[--planner->ending_count];
    while ((next = 2 * at + 1) < planner->ending_count) {
        if (next + 1 < planner->ending_count && planner->ending[next + 1]->end < planner->ending[next]->end)
            next++;
        if (planner->ending[next]->end >= last->end)
            break;
        planner->ending[at] = planner->ending[next];
        at = next;
    }
    planner->ending[at] = last;
    return first;
}

/* From when on a cell is over; UINT64_MAX: it may be used by objects of which only somebody says when they end. */
static uint64_t end_of(const struct replay_device *dev, uint32_t number, bool *out_expecting)
{
    const struct replay_cell *cell = replay_lifetimes_get(dev->planner->r->lifetimes, dev->index, number);

    *out_expecting = cell && cell->expected;
    return !cell ? 0 : cell->expected ? UINT64_MAX : cell->end;
}

static void settle(void *user, uint64_t number, void *opaque)
{
    const struct replay_device *dev = user;
    struct replay_planner *planner = dev->planner;
    struct replay_memory_class *of = opaque;
    bool expecting;

    if (!of->expecting)
        return;
    of->end = end_of(dev, of->cell, &expecting);
    if (expecting || add_ending(planner, of) != LAP_OK)
        return;
    of->expecting = false;
    planner->expecting--;
}

void replay_blocks_look(struct replay_device *dev)
{
    struct replay_planner *planner = dev->planner;
    uint64_t settled;

    if (!planner->expecting)
        return;
    settled = replay_lifetimes_settled(replay_lifetimes_find(planner->r));
    if (settled != planner->settled)
        lap_map_each(&planner->classes, settle, dev);
    planner->settled = settled;
}

/* NULL: no memory. */
static struct replay_memory_class *need_class(const struct replay_device *dev, uint32_t cell)
{
    struct replay_planner *planner = dev->planner;
    struct replay_memory_class *of = lap_map_get(&planner->classes, cell);

    if (of)
        return of;
    of = calloc(1, sizeof *of);
    if (!of)
        return NULL;
    of->cell = cell;
    of->end = cell == REPLAY_CELL_UNKNOWN ? UINT64_MAX : end_of(dev, cell, &of->expecting);
    if (lap_map_put(&planner->classes, cell, of, NULL) != LAP_OK) {
        free(of);
        return NULL;
    }
    if (add_ending(planner, of) != LAP_OK) {
        lap_map_remove(&planner->classes, cell);
        free(of);
        return NULL;
    }
    planner->expecting += of->expecting;
    return of;
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
        .choose_block = of->cell == REPLAY_CELL_UNKNOWN ? choose_block : choose_cell,
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
    *out_pool = pool;
    return LAP_OK;
}

static void destroy_pool(struct replay_memory_pool **at)
{
    struct replay_memory_pool *pool = *at;

    *at = pool->next;
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

static void finish_class(struct replay_memory_class *of)
{
    while (of->pools)
        destroy_pool(&of->pools);
    free(of);
}

/* A class to which nothing comes any more. */
static void end_class(struct replay_planner *planner, struct replay_memory_class *of)
{
    if (of->abandoned)
        planner->r->abandoned -= ranges_of(of);
    lap_map_remove(&planner->classes, of->cell);
    finish_class(of);
}

/* ---- ranges ---- */

void replay_blocks_miss(struct replay_device *dev, const struct replay_needs *needs)
{
    const struct replay_lifetimes *lifetimes = dev->planner->r->lifetimes;
    struct replay_memory_class *of;
    uint32_t cell;
    uint64_t index;
    unsigned kind = life_of(needs, &index);

    cell = lifetimes && index ? replay_lifetimes_cell(lifetimes, dev->index, kind, index) : REPLAY_CELL_UNKNOWN;
    if (cell == REPLAY_CELL_UNKNOWN || cell == REPLAY_CELL_ALONE)
        return;
    of = need_class(dev, cell);
    if (of) {
        of->placed++;
        of->placed_bytes += replay_lifetimes_bytes(lifetimes, kind, index);
    }
}

static void count(struct replay_device *dev, struct replay_memory_class *of, const struct replay_needs *needs,
                  uint64_t bytes)
{
    struct replay_sort_figures *sort =
        &dev->planner->sorts[replay_sort(needs->type == GEN_HANDLE_VkImage, needs->asked)];
    uint64_t alignment = needs->requirements.alignment;
    uint64_t aligned = (needs->requirements.size + alignment - 1) & ~(alignment - 1);

    bytes = bytes > aligned ? bytes : aligned;
    of->placed++;
    of->placed_bytes += bytes;
    if (!sort->objects || alignment < sort->least_alignment)
        sort->least_alignment = alignment;
    if (alignment > sort->most_alignment)
        sort->most_alignment = alignment;
    sort->alignments += alignment < MIB ? alignment : MIB;
    sort->objects++;
    if (needs->recorded_bytes && needs->recorded_bytes < UINT64_MAX / 2 - sort->recorded_bytes) {
        sort->bytes += bytes;
        sort->recorded_bytes += replay_planned_bytes(needs->recorded_bytes);
    }
}

enum lap_status replay_blocks_alloc(struct replay_device *dev, const struct replay_needs *needs, uint32_t type,
                                    struct replay_place *out_place, struct replay_block *out_block)
{
    struct replay_memory_class *of;
    bool optimal = !needs->linear && dev->planner->granularity > 1;
    struct replay_memory_pool *pool = NULL;
    enum lap_status status;
    uint32_t cell;

    if (replay_count_limit(dev) >= LEAST_ALLOCATIONS)
        replay_lifetimes_find(dev->planner->r);
    cell = replay_cell_of(dev, needs);
    of = need_class(dev, cell == REPLAY_CELL_ALONE ? REPLAY_CELL_UNKNOWN : cell);
    if (!of)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    status = need_pool(dev, of, type, optimal, &pool);
    if (status != LAP_OK)
        return status;
    pool->required_bytes = needs->requirements.size;
    status = replay_pool_alloc(pool->pool, needs->requirements.size, needs->requirements.alignment, &out_place->range);
    if (status != LAP_OK)
        return status;
    count(dev, of, needs, out_place->range.bytes);
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

static void wind_up(struct replay_device *dev, struct replay_memory_class *of)
{
    of->over = true;
    if (ranges_of(of) == 0)
        end_class(dev->planner, of);
    else if (!of->abandoned && replay_staging_is_idle(dev))
        abandon(dev->planner, of);
}

void replay_blocks_free(struct replay_device *dev, struct replay_place *place)
{
    struct replay_planner *planner = dev->planner;
    struct replay_memory_class *of = place->pool->of;

    planner->r->abandoned -= of->abandoned;
    replay_pool_free(place->pool->pool, &place->range);
    if (of->over)
        wind_up(dev, of);
    replay_blocks_look(dev);
    while ((of = take_ending(planner, planner->r->packet.ticket)))
        wind_up(dev, of);
}

static bool is_past_bound(const struct replay_device *dev)
{
    struct replay_memory_use alive = replay_memory_alive(dev);
    return alive.allocated_bytes > replay_memory_bound(alive.used_bytes);
}

void replay_blocks_trim(struct replay_device *dev)
{
    struct replay_planner *planner = dev->planner;
    struct replay_memory_class *of;

    if (!is_past_bound(dev))
        return;
    of = lap_map_get(&planner->classes, REPLAY_CELL_UNKNOWN);
    for (struct replay_memory_pool *pool = of ? of->pools : NULL; pool; pool = pool->next)
        if (is_past_bound(dev))
            replay_pool_trim(pool->pool);
}

static void finish_one(void *user, uint64_t cell, void *of)
{
    finish_class(of);
}

void replay_blocks_finish(struct replay_device *dev)
{
    lap_map_each(&dev->planner->classes, finish_one, NULL);
    lap_map_finish(&dev->planner->classes);
    free(dev->planner->ending);
}
