/* SPDX-License-Identifier: MIT */
/* descriptor_pool: descriptor pools, and the sets that end with them or with their reset. A reset frees sets that
 * executing work may still use (sync/deferred_destroy.h). So the replay *retires* the driver's pool: it puts the pool
 * aside, and the trace's pool continues with another one of the driver's. That one is a spare, or a new one from the
 * same create info. A retired pool becomes a spare once the work is finished and the driver has reset it. So a program
 * that resets a pool with each frame has two or three of the driver's and never waits. A pool with many retired ones
 * waits for the oldest work.
 *
 * Drivers differ in the room of a pool: some give more sets than were asked for, and fragmentation is their own. So
 * sets that don't fit into the driver's pool come from an *overflow pool*, a larger one from the same create info. It
 * ends with the next reset. One thread. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_replay.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/sync/deferred_destroy.h"
#include "replayer/sync/shown.h"
#include "replayer/sync/submission.h"

#define MOST_RETIRED 8u   /* per pool; with more, the replay waits for the oldest work */
#define MOST_KEPT    512u /* largest create info to store; each type of descriptor takes a few bytes */

#define MOST_LARGER  65536u /* of a type: an overflow pool is doubled up to that */
#define CORE_TYPES   ((uint32_t)VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT + 1) /* numbered from 0 */

struct overflow_pool {
    VkDescriptorPool live;
    size_t count, capacity;
    VkDescriptorSet *sets; /* from it, that were not freed */
};

struct replay_descriptor_pool {
    struct replay_children sets;
    bool used;        /* sets were allocated since creation or the last reset */
    bool gone;        /* destroyed in the trace */
    uint32_t retired; /* number of retired pools */
    uint32_t spare_count;
    VkDescriptorPool spares[MOST_RETIRED];
    struct overflow_pool *overflows;
    size_t overflow_count, overflow_capacity;
    uint32_t creation_bytes; /* 0: too large to store, so no second pool can be created */
    uint8_t creation[];      /* the body of the create packet */
};

/* Finds the record and its index. NULL: the error message is set. */
static struct replay_descriptor_pool *pool_of(struct replay *r, VkDescriptorPool live, uint64_t *out_index)
{
    const struct replay_object *object =
        replay_object_of(r, GEN_HANDLE_VkDescriptorPool, gen_u64_VkDescriptorPool(live), out_index);

    if (object && object->record)
        return object->record;
    (void)replay_absent(r, "descriptorPool");
    return NULL;
}

/* ---- pools ---- */

/* Creates a record with the current packet's body. NULL without memory. */
static struct replay_descriptor_pool *new_pool(const struct replay *r)
{
    uint32_t bytes = r->at.packet.bytes <= MOST_KEPT ? (uint32_t)r->at.packet.bytes : 0;
    struct replay_descriptor_pool *pool = calloc(1, sizeof *pool + bytes);

    if (!pool)
        return NULL;
    pool->creation_bytes = bytes;
    if (bytes)
        memcpy(pool->creation, r->at.packet.body, bytes);
    return pool;
}

enum lap_status replay_CreateDescriptorPool(struct replay *r, struct replay_device *dev,
                                            struct gen_args_vkCreateDescriptorPool *args)
{
    uint64_t index = gen_u64_VkDescriptorPool(*args->pDescriptorPool);
    struct replay_descriptor_pool *pool = new_pool(r);
    VkDescriptorPool live = VK_NULL_HANDLE;
    enum lap_status status;

    if (!pool)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a descriptor pool");
    status = replay_result(r, dev->vk.CreateDescriptorPool(dev->live, args->pCreateInfo, NULL, &live));
    if (status == LAP_OK)
        status = gen_keep_VkDescriptorPool(r, dev, args->pDescriptorPool, &live, 1);
    if (status == LAP_OK && index)
        replay_object_get(r, GEN_HANDLE_VkDescriptorPool, index)->record = pool;
    else
        free(pool);
    return status;
}

static void destroy_spares(struct replay *r, struct replay_device *dev, struct replay_descriptor_pool *pool)
{
    replay_objects_release(r, pool->spare_count);
    while (pool->spare_count)
        gen_destroy_live(dev, GEN_HANDLE_VkDescriptorPool, gen_u64_VkDescriptorPool(pool->spares[--pool->spare_count]));
}

/* Sets from them are gone for the trace; work may still use them. */
static void end_overflows(struct replay *r, struct replay_device *dev, struct replay_descriptor_pool *pool)
{
    replay_objects_release(r, pool->overflow_count);
    for (size_t i = 0; i < pool->overflow_count; i++) {
        replay_destroy(dev, GEN_HANDLE_VkDescriptorPool, gen_u64_VkDescriptorPool(pool->overflows[i].live));
        free(pool->overflows[i].sets);
    }
    free(pool->overflows);
    pool->overflows = NULL;
    pool->overflow_count = pool->overflow_capacity = 0;
}

static void end_sets(struct replay *r, struct replay_device *dev, struct replay_descriptor_pool *pool)
{
    for (uint64_t i = 0; dev->shown && i < pool->sets.count; i++)
        replay_shown_set_end(
            dev, gen_VkDescriptorSet(replay_object_get(r, GEN_HANDLE_VkDescriptorSet, pool->sets.indices[i])->live));
    replay_children_clear(r, &pool->sets, GEN_HANDLE_VkDescriptorSet);
}

static void free_if_over(struct replay_descriptor_pool *pool)
{
    if (pool->gone && !pool->retired)
        free(pool);
}

enum lap_status replay_DestroyDescriptorPool(struct replay *r, struct replay_device *dev,
                                             struct gen_args_vkDestroyDescriptorPool *args)
{
    uint64_t live = gen_u64_VkDescriptorPool(args->descriptorPool), index;
    struct replay_object *object = replay_object_of(r, GEN_HANDLE_VkDescriptorPool, live, &index);
    struct replay_descriptor_pool *pool = object ? object->record : NULL;

    replay_destroy(dev, GEN_HANDLE_VkDescriptorPool, live);
    if (pool) {
        destroy_spares(r, dev, pool);
        end_overflows(r, dev, pool);
        end_sets(r, dev, pool);
        replay_children_finish(&pool->sets);
        pool->gone = true;
        free_if_over(pool);
    }
    replay_object_remove(r, GEN_HANDLE_VkDescriptorPool, index);
    return LAP_OK;
}

/* ---- resets ---- */

/* Runs when no work uses the sets of a retired pool any more. */
static void finish_retired(struct replay *r, struct replay_device *dev, const struct replay_deferred *object)
{
    struct replay_descriptor_pool *pool = (struct replay_descriptor_pool *)(uintptr_t)object->data;
    VkDescriptorPool live = gen_VkDescriptorPool(object->live);

    pool->retired--;
    if (!pool->gone && pool->spare_count < MOST_RETIRED && replay_objects_reserve(r, 1) == LAP_OK) {
        pool->spares[pool->spare_count++] = live;
        if (dev->vk.ResetDescriptorPool(dev->live, live, 0) == VK_SUCCESS)
            return;
        pool->spare_count--;
        replay_objects_release(r, 1);
    }
    gen_destroy_live(dev, GEN_HANDLE_VkDescriptorPool, gen_u64_VkDescriptorPool(live));
    free_if_over(pool);
}

/* The arguments with which the trace created the pool. */
static enum lap_status creation_of(struct replay *r, const struct replay_descriptor_pool *pool,
                                   struct gen_args_vkCreateDescriptorPool *out)
{
    struct lap_dec dec;

    lap_dec_init(&dec, pool->creation, pool->creation_bytes, &r->arena, &r->source);
    gen_decode_table[GEN_vkCreateDescriptorPool](&dec, out);
    return dec.status;
}

/* Creates another pool from the same create info. */
static enum lap_status make_another(struct replay *r, struct replay_device *dev,
                                    const struct replay_descriptor_pool *pool, VkDescriptorPool *out)
{
    struct gen_args_vkCreateDescriptorPool args;
    enum lap_status status;

    if (!pool->creation_bytes)
        return replay_fail(r, "the device is at work, and the descriptor pool can't be made once more");
    status = creation_of(r, pool, &args);
    return status == LAP_OK ? replay_result(r, dev->vk.CreateDescriptorPool(dev->live, args.pCreateInfo, NULL, out))
                            : status;
}

static enum lap_status take_another(struct replay *r, struct replay_device *dev, struct replay_descriptor_pool *pool,
                                    VkDescriptorPool *out)
{
    if (!pool->spare_count)
        return make_another(r, dev, pool, out);
    replay_objects_release(r, 1);
    *out = pool->spares[--pool->spare_count];
    return LAP_OK;
}

/* Retires the driver's pool, since work may use its sets. If that fails, it waits for the work and resets the pool. */
static enum lap_status retire(struct replay *r, struct replay_device *dev, struct replay_descriptor_pool *pool,
                              uint64_t index, VkDescriptorPool live)
{
    VkDescriptorPool other = VK_NULL_HANDLE;
    enum lap_status status = take_another(r, dev, pool, &other);

    if (status == LAP_OK &&
        replay_deferred_destroy_try(dev, (struct replay_deferred){.destroy = finish_retired,
                                                                  .type = GEN_HANDLE_VkDescriptorPool,
                                                                  .live = gen_u64_VkDescriptorPool(live),
                                                                  .data = (uintptr_t)pool})) {
        pool->retired++;
        replay_object_move(r, GEN_HANDLE_VkDescriptorPool, index, gen_u64_VkDescriptorPool(other));
        return LAP_OK;
    }
    if (status == LAP_OK) {
        gen_destroy_live(dev, GEN_HANDLE_VkDescriptorPool, gen_u64_VkDescriptorPool(other));
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory for a descriptor pool that work may use");
    }
    return replay_submission_await_all(dev) ? replay_result(r, dev->vk.ResetDescriptorPool(dev->live, live, 0))
                                            : status;
}

enum lap_status replay_ResetDescriptorPool(struct replay *r, struct replay_device *dev,
                                           struct gen_args_vkResetDescriptorPool *args)
{
    uint64_t index;
    struct replay_descriptor_pool *pool = pool_of(r, args->descriptorPool, &index);
    bool under_way = pool && pool->used && replay_submission_poll(dev);
    enum lap_status status;

    if (!pool)
        return LAP_ERROR_REPLAY;
    while (under_way && pool->retired >= MOST_RETIRED && !pool->spare_count && replay_submission_await_oldest(dev))
        under_way = dev->busy;
    if (under_way)
        status = retire(r, dev, pool, index, args->descriptorPool);
    else
        status = replay_result(r, dev->vk.ResetDescriptorPool(dev->live, args->descriptorPool, args->flags));
    if (status != LAP_OK)
        return status;
    pool->used = false;
    end_overflows(r, dev, pool);
    end_sets(r, dev, pool);
    return LAP_OK;
}

/* ---- overflow pools ---- */

/* Older drivers report a full pool as out of memory. */
static bool has_no_room(VkResult result)
{
    return result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL ||
           result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY;
}

/* The trace's pool with room for some times as much, and for all core types: drivers may ignore the sizes of types. */
static enum lap_status enlarge(struct replay *r, const VkDescriptorPoolCreateInfo *info, uint32_t sets, uint32_t times,
                               VkDescriptorPoolCreateInfo *out)
{
    VkDescriptorPoolSize *sizes = replay_scratch(r, (size_t)info->poolSizeCount + CORE_TYPES, sizeof *sizes);
    const uint64_t most = UINT32_MAX / 2;
    uint64_t all = sets > info->maxSets ? sets : info->maxSets;

    if (!sizes)
        return replay_no_scratch(r);
    all = all ? all : 1; /* a trace may say 0 */
    *out = *info;
    out->maxSets = (uint32_t)(all * times < most ? all * times : most);
    for (uint32_t i = 0; i < info->poolSizeCount; i++) {
        uint64_t count = (uint64_t)info->pPoolSizes[i].descriptorCount * times;
        all = info->pPoolSizes[i].descriptorCount > all ? info->pPoolSizes[i].descriptorCount : all;
        sizes[i] = info->pPoolSizes[i];
        sizes[i].descriptorCount = (uint32_t)(count < most ? count : most);
    }
    for (uint32_t type = 0; type < CORE_TYPES; type++)
        sizes[out->poolSizeCount++] =
            (VkDescriptorPoolSize){(VkDescriptorType)type, (uint32_t)(all * times < most ? all * times : most)};
    out->pPoolSizes = sizes;
    return LAP_OK;
}

/* Notes sets of an overflow pool. Without memory they are freed with the pool alone. */
static enum lap_status note_sets(struct overflow_pool *overflow, const VkDescriptorSet *sets, uint32_t count)
{
    if (!lap_array_grow(&overflow->sets, sizeof *overflow->sets, &overflow->capacity, overflow->count + count))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for descriptor sets");
    memcpy(overflow->sets + overflow->count, sets, count * sizeof *sets);
    overflow->count += count;
    return LAP_OK;
}

/* Allocates the sets from a new overflow pool, and makes that larger until they fit. *result stays where no pool of the
 * driver has room. */
static enum lap_status allocate_from_new(struct replay *r, struct replay_device *dev,
                                         struct replay_descriptor_pool *pool, VkDescriptorSetAllocateInfo *info,
                                         VkDescriptorSet *live, VkResult *result)
{
    struct gen_args_vkCreateDescriptorPool args;
    struct overflow_pool *overflow;
    enum lap_status status = pool->creation_bytes ? creation_of(r, pool, &args) : LAP_OK;

    if (!pool->creation_bytes || status != LAP_OK)
        return status;
    if (!lap_array_grow(&pool->overflows, sizeof *pool->overflows, &pool->overflow_capacity, pool->overflow_count + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a descriptor pool");
    for (uint32_t times = 1; status == LAP_OK; times *= 2) {
        VkDescriptorPoolCreateInfo larger;
        VkDescriptorPool other;
        VkResult now;
        status = enlarge(r, args.pCreateInfo, info->descriptorSetCount, times, &larger);
        if (status == LAP_OK && times > 1 && larger.pPoolSizes[larger.poolSizeCount - 1].descriptorCount > MOST_LARGER)
            return LAP_OK;
        if (status == LAP_OK)
            status = replay_objects_reserve(r, 1);
        if (status != LAP_OK)
            return status;
        if (dev->vk.CreateDescriptorPool(dev->live, &larger, NULL, &other) < 0) {
            replay_objects_release(r, 1);
            return LAP_OK;
        }
        info->descriptorPool = other;
        now = dev->vk.AllocateDescriptorSets(dev->live, info, live);
        if (now >= 0) {
            *result = now;
            overflow = &pool->overflows[pool->overflow_count++];
            *overflow = (struct overflow_pool){.live = other};
            lap_log(r->log, LAP_LOG_DEBUG,
                    "packet %" PRIu64 ": the driver's descriptor pool has no room: another one takes the sets",
                    r->at.packet.ticket);
            return note_sets(overflow, live, info->descriptorSetCount);
        }
        gen_destroy_live(dev, GEN_HANDLE_VkDescriptorPool, gen_u64_VkDescriptorPool(other));
        replay_objects_release(r, 1);
        if (!has_no_room(now))
            return LAP_OK;
    }
    return status;
}

/* The driver's pool has no room. */
static enum lap_status allocate_elsewhere(struct replay *r, struct replay_device *dev,
                                          struct replay_descriptor_pool *pool, const VkDescriptorSetAllocateInfo *info,
                                          VkDescriptorSet *live, VkResult *result)
{
    VkDescriptorSetAllocateInfo other = *info;

    for (size_t i = pool->overflow_count; i-- > 0;) {
        other.descriptorPool = pool->overflows[i].live;
        *result = dev->vk.AllocateDescriptorSets(dev->live, &other, live);
        if (*result >= 0)
            return note_sets(&pool->overflows[i], live, info->descriptorSetCount);
        if (!has_no_room(*result))
            return LAP_OK;
    }
    return allocate_from_new(r, dev, pool, &other, live, result);
}

/* The driver's pool that a set is from; forgets the set. */
static VkDescriptorPool take_owner(struct replay_descriptor_pool *pool, VkDescriptorPool live, VkDescriptorSet set)
{
    for (size_t i = 0; i < pool->overflow_count; i++) {
        struct overflow_pool *overflow = &pool->overflows[i];
        for (size_t j = 0; j < overflow->count; j++)
            if (overflow->sets[j] == set) {
                overflow->sets[j] = overflow->sets[--overflow->count];
                return overflow->live;
            }
    }
    return live;
}

/* ---- sets ---- */

enum lap_status replay_AllocateDescriptorSets(struct replay *r, struct replay_device *dev,
                                              struct gen_args_vkAllocateDescriptorSets *args)
{
    const VkDescriptorSetAllocateInfo *info = args->pAllocateInfo;
    uint64_t index;
    struct replay_descriptor_pool *pool = pool_of(r, info->descriptorPool, &index);
    VkDescriptorSet *live = replay_scratch(r, info->descriptorSetCount, sizeof *live);
    enum lap_status status;
    VkResult result;

    if (!pool)
        return LAP_ERROR_REPLAY;
    if (!live)
        return replay_no_scratch(r);
    if (!info->pSetLayouts)
        return replay_absent(r, "pSetLayouts");
    result = dev->vk.AllocateDescriptorSets(dev->live, info, live);
    if (result < 0 && replay_deferred_destroy_count(dev) &&
        replay_submission_await_all(dev)) /* the deferred frees may still hold sets of the pool */
        result = dev->vk.AllocateDescriptorSets(dev->live, info, live);
    status = has_no_room(result) ? allocate_elsewhere(r, dev, pool, info, live, &result) : LAP_OK;
    if (status != LAP_OK || result < 0)
        return status == LAP_OK ? replay_result(r, result) : status;
    pool->used = true;
    status = gen_keep_VkDescriptorSet(r, dev, args->pDescriptorSets, live, info->descriptorSetCount);
    for (uint32_t i = 0; i < info->descriptorSetCount && status == LAP_OK; i++)
        status = replay_children_add(r, &pool->sets, GEN_HANDLE_VkDescriptorSet,
                                     gen_u64_VkDescriptorSet(args->pDescriptorSets[i]), index);
    return status;
}

static void free_set(struct replay *r, struct replay_device *dev, const struct replay_deferred *object)
{
    VkDescriptorSet set = gen_VkDescriptorSet(object->live);

    (void)r;
    (void)dev->vk.FreeDescriptorSets(dev->live, gen_VkDescriptorPool(object->data), 1, &set);
}

static enum lap_status free_sets(struct replay *r, struct replay_device *dev, struct replay_descriptor_pool *pool,
                                 const struct gen_args_vkFreeDescriptorSets *args)
{
    if (!dev->busy && !pool->overflow_count)
        return replay_result(r, dev->vk.FreeDescriptorSets(dev->live, args->descriptorPool, args->descriptorSetCount,
                                                           args->pDescriptorSets));
    for (uint32_t i = 0; i < args->descriptorSetCount; i++) {
        const VkDescriptorSet set = args->pDescriptorSets[i];
        const VkDescriptorPool owner = take_owner(pool, args->descriptorPool, set);
        const struct replay_deferred freed = {.destroy = free_set,
                                              .type = GEN_HANDLE_VkDescriptorSet,
                                              .live = gen_u64_VkDescriptorSet(set),
                                              .data = gen_u64_VkDescriptorPool(owner)};
        if (set && dev->busy)
            replay_deferred_destroy_add(dev, freed);
        else if (set)
            free_set(r, dev, &freed);
    }
    return LAP_OK;
}

enum lap_status replay_FreeDescriptorSets(struct replay *r, struct replay_device *dev,
                                          struct gen_args_vkFreeDescriptorSets *args)
{
    uint64_t index, checked = 0;
    struct replay_descriptor_pool *pool = pool_of(r, args->descriptorPool, &index);
    enum lap_status status = pool ? LAP_OK : LAP_ERROR_REPLAY;

    for (uint32_t i = 0; i < args->descriptorSetCount && status == LAP_OK; i++)
        status = replay_children_check(
            r, &pool->sets, GEN_HANDLE_VkDescriptorSet,
            replay_object_index(r, GEN_HANDLE_VkDescriptorSet, gen_u64_VkDescriptorSet(args->pDescriptorSets[i])),
            &checked);
    if (status != LAP_OK)
        return status;
    status = free_sets(r, dev, pool, args);
    if (status != LAP_OK)
        return status;
    for (uint32_t i = 0; dev->shown && i < args->descriptorSetCount; i++)
        replay_shown_set_end(dev, args->pDescriptorSets[i]);
    for (uint32_t i = 0; i < args->descriptorSetCount; i++)
        replay_children_remove(
            r, &pool->sets, GEN_HANDLE_VkDescriptorSet,
            replay_object_index(r, GEN_HANDLE_VkDescriptorSet, gen_u64_VkDescriptorSet(args->pDescriptorSets[i])));
    return LAP_OK;
}
