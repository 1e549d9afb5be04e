/* SPDX-License-Identifier: MIT */
/* Descriptor pools and the sets that end with them, or with their reset. */
#include <stdlib.h>

#include "gen_replay.h"
#include "replayer/pending.h"
#include "replayer/player.h"

/* The list of a pool's sets, made when it is first needed; NULL (and a sentence) without the pool or memory. */
static struct replay_children *sets_of(struct replay *r, uint64_t index)
{
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkDescriptorPool, index);

    if (!object) {
        (void)replay_absent(r, "descriptorPool");
        return NULL;
    }
    if (!object->record)
        object->record = calloc(1, sizeof(struct replay_children));
    if (!object->record)
        (void)lap_fail(LAP_ERROR_MEMORY, "out of memory for the sets of a descriptor pool");
    return object->record;
}

static uint64_t pool_index(struct replay *r, VkDescriptorPool pool)
{
    return replay_object_index(r, GEN_HANDLE_VkDescriptorPool, gen_u64_VkDescriptorPool(pool));
}

enum lap_status replay_AllocateDescriptorSets(struct replay *r, struct replay_device *dev,
                                              struct gen_args_vkAllocateDescriptorSets *args)
{
    const VkDescriptorSetAllocateInfo *info = args->pAllocateInfo;
    uint64_t pool = pool_index(r, info->descriptorPool);
    struct replay_children *sets = sets_of(r, pool);
    VkDescriptorSet *live = replay_scratch(r, info->descriptorSetCount, sizeof *live);
    enum lap_status status;
    VkResult result;

    if (!sets)
        return LAP_ERROR_REPLAY;
    if (!live)
        return replay_no_scratch(r);
    if (!info->pSetLayouts)
        return replay_absent(r, "pSetLayouts");
    result = dev->vk.AllocateDescriptorSets(dev->live, info, live);
    if (result < 0 && dev->pending.count && replay_pending_settle(dev)) /* what was freed is in the pool still */
        result = dev->vk.AllocateDescriptorSets(dev->live, info, live);
    if (result < 0)
        return replay_result(r, result);
    status = gen_keep_VkDescriptorSet(r, dev, args->pDescriptorSets, live, info->descriptorSetCount);
    for (uint32_t i = 0; i < info->descriptorSetCount && status == LAP_OK; i++)
        status = replay_children_add(r, sets, GEN_HANDLE_VkDescriptorSet,
                                     gen_u64_VkDescriptorSet(args->pDescriptorSets[i]), pool);
    return status;
}

static enum lap_status free_sets(struct replay *r, struct replay_device *dev,
                                 const struct gen_args_vkFreeDescriptorSets *args)
{
    if (!dev->pending.busy)
        return replay_result(r, dev->vk.FreeDescriptorSets(dev->live, args->descriptorPool, args->descriptorSetCount,
                                                           args->pDescriptorSets));
    for (uint32_t i = 0; i < args->descriptorSetCount; i++)
        replay_pending_end(dev, GEN_HANDLE_VkDescriptorSet, gen_u64_VkDescriptorSet(args->pDescriptorSets[i]),
                           gen_u64_VkDescriptorPool(args->descriptorPool));
    return LAP_OK;
}

enum lap_status replay_FreeDescriptorSets(struct replay *r, struct replay_device *dev,
                                          struct gen_args_vkFreeDescriptorSets *args)
{
    struct replay_children *sets = sets_of(r, pool_index(r, args->descriptorPool));
    enum lap_status status = sets ? LAP_OK : LAP_ERROR_REPLAY;

    for (uint32_t i = 0; i < args->descriptorSetCount && status == LAP_OK; i++)
        status = replay_children_check(
            r, sets, GEN_HANDLE_VkDescriptorSet,
            replay_object_index(r, GEN_HANDLE_VkDescriptorSet, gen_u64_VkDescriptorSet(args->pDescriptorSets[i])));
    if (status != LAP_OK)
        return status;
    status = free_sets(r, dev, args);
    if (status != LAP_OK)
        return status;
    for (uint32_t i = 0; i < args->descriptorSetCount; i++)
        replay_children_remove(
            r, sets, GEN_HANDLE_VkDescriptorSet,
            replay_object_index(r, GEN_HANDLE_VkDescriptorSet, gen_u64_VkDescriptorSet(args->pDescriptorSets[i])));
    return LAP_OK;
}

enum lap_status replay_ResetDescriptorPool(struct replay *r, struct replay_device *dev,
                                           struct gen_args_vkResetDescriptorPool *args)
{
    struct replay_children *sets = sets_of(r, pool_index(r, args->descriptorPool));
    VkResult result;

    if (!sets)
        return LAP_ERROR_REPLAY;
    result = dev->vk.ResetDescriptorPool(dev->live, args->descriptorPool, args->flags);
    if (result < 0)
        return replay_result(r, result);
    replay_pending_reset_pool(dev, args->descriptorPool);
    replay_children_clear(r, sets, GEN_HANDLE_VkDescriptorSet);
    return LAP_OK;
}

enum lap_status replay_DestroyDescriptorPool(struct replay *r, struct replay_device *dev,
                                             struct gen_args_vkDestroyDescriptorPool *args)
{
    uint64_t index = pool_index(r, args->descriptorPool);
    struct replay_children *sets = index ? sets_of(r, index) : NULL;

    replay_pending_destroy(dev, GEN_HANDLE_VkDescriptorPool, gen_u64_VkDescriptorPool(args->descriptorPool));
    if (sets) {
        replay_children_clear(r, sets, GEN_HANDLE_VkDescriptorSet);
        replay_children_finish(sets);
        free(sets);
    }
    replay_object_remove(r, GEN_HANDLE_VkDescriptorPool, index);
    return LAP_OK;
}
