/* SPDX-License-Identifier: MIT */
#include "replayer/resource/push_descriptors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "gen_renamed.h"
#include "gen_replay.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/descriptor/descriptor_buffers.h"
#include "replayer/sync/deferred_destroy.h"
#include "vulkan/chain.h"
#include "vulkan/set_layout.h"

#define MOST_SLOTS  4096u /* descriptors in a push descriptor layout; drivers allow some dozens */
#define FIRST_SETS  4u    /* in the first pool of a command buffer; each further one doubles */
#define MOST_SETS   256u
#define MOST_KINDS  32u /* types of descriptors in a layout */
#define MOST_PUSHED 64u /* pushed sets per command buffer, by set number and bind point */

/* A push descriptor set layout. The driver's layout lives as long as sets may be allocated from it; the trace's may end
 * earlier. */
struct replay_push_layout {
    uint32_t references; /* from the trace's object, pipeline layouts, pools */
    VkDescriptorSetLayout live;
    struct lap_set_layout *slots;
    VkDescriptorPoolSize sizes[MOST_KINDS]; /* for one set */
    uint32_t size_count;
    uint8_t fixed[]; /* by slot: a sampler with an immutable value, which is never written */
};

/* The push descriptor sets of a pipeline layout: the record of a VkPipelineLayout; NULL: it has none. */
struct pipeline_sets {
    uint32_t count;
    struct replay_push_layout *sets[]; /* NULL: an ordinary set */
};

/* A pool of sets with one layout. */
struct set_pool {
    struct replay_push_layout *layout;
    VkDescriptorPool live;
    uint32_t count, used;
    struct set_pool *next;
    VkDescriptorSet sets[];
};

/* The pools of a command buffer. */
struct own_sets {
    struct set_pool *pools; /* newest first */
};

/* The last pushed contents for a bind point and set number. */
struct pushed {
    VkPipelineBindPoint point;
    uint32_t number;
    struct replay_push_layout *layout; /* the set's pool holds a reference */
    VkDescriptorSet set;
    uint8_t *written; /* by slot: has been pushed */
};

struct replay_push_descriptors {
    struct replay *r;
    struct lap_map owners;    /* struct own_sets by live command buffer */
    VkCommandBuffer commands; /* being recorded */
    struct own_sets *owner;   /* of commands; NULL: it has no pushes yet */
    struct pushed pushed[MOST_PUSHED];
    uint32_t pushed_count;
};

/* ---- layouts ---- */

static struct replay_push_layout *keep(struct replay_push_layout *layout)
{
    layout->references++;
    return layout;
}

static void release(struct replay_device *dev, struct replay_push_layout *layout)
{
    if (!layout || --layout->references)
        return;
    if (layout->live)
        replay_destroy(dev, GEN_HANDLE_VkDescriptorSetLayout, gen_u64_VkDescriptorSetLayout(layout->live));
    lap_set_layout_release(layout->slots);
    free(layout);
}

static bool count_kinds(struct replay_push_layout *layout)
{
    for (uint32_t i = 0; i < layout->slots->binding_count; i++) {
        const struct lap_set_binding *binding = &layout->slots->bindings[i];
        uint32_t at = 0;
        while (at < layout->size_count && layout->sizes[at].type != binding->type)
            at++;
        if (at == MOST_KINDS)
            return false;
        if (at == layout->size_count)
            layout->sizes[layout->size_count++] = (VkDescriptorPoolSize){.type = binding->type};
        layout->sizes[at].descriptorCount += binding->count;
    }
    /* A pool needs at least one descriptor, even if the set has none. */
    if (!layout->size_count)
        layout->sizes[layout->size_count++] = (VkDescriptorPoolSize){.type = VK_DESCRIPTOR_TYPE_SAMPLER};
    for (uint32_t i = 0; i < layout->size_count; i++)
        layout->sizes[i].descriptorCount += !layout->sizes[i].descriptorCount;
    return true;
}

static void note_fixed(struct replay_push_layout *layout, const VkDescriptorSetLayoutCreateInfo *info)
{
    for (uint32_t i = 0; i < info->bindingCount && info->pBindings; i++) {
        const VkDescriptorSetLayoutBinding *binding = &info->pBindings[i];
        uint32_t first = lap_set_layout_slot(layout->slots, binding->binding, 0);
        for (uint32_t j = 0; j < binding->descriptorCount && first + j < layout->slots->slot_count; j++)
            layout->fixed[first + j] =
                binding->descriptorType == VK_DESCRIPTOR_TYPE_SAMPLER && binding->pImmutableSamplers;
    }
}

/* info: without the push descriptor flag. */
static enum lap_status make_layout(struct replay *r, struct replay_device *dev,
                                   const VkDescriptorSetLayoutCreateInfo *info, struct replay_push_layout **out)
{
    struct lap_set_layout *slots = lap_set_layout_new(info);
    struct replay_push_layout *layout =
        slots && slots->slot_count <= MOST_SLOTS ? calloc(1, sizeof *layout + slots->slot_count) : NULL;
    enum lap_status status;

    if (!layout) {
        bool large = slots && slots->slot_count > MOST_SLOTS;
        lap_set_layout_release(slots);
        return large ? replay_refuse(r, "more than %u descriptors are pushed at once, on a device that can't push",
                                     MOST_SLOTS)
                     : replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for a layout"));
    }
    layout->references = 1;
    layout->slots = slots;
    note_fixed(layout, info);
    if (!count_kinds(layout))
        status = replay_refuse(r, "more kinds of descriptors are pushed than this build knows");
    else
        status = replay_result(r, dev->vk.CreateDescriptorSetLayout(dev->live, info, NULL, &layout->live));
    if (status == LAP_OK)
        *out = layout;
    else
        release(dev, layout);
    return status;
}

enum lap_status replay_CreateDescriptorSetLayout(struct replay *r, struct replay_device *dev,
                                                 struct gen_args_vkCreateDescriptorSetLayout *args)
{
    /* In the decoder's own memory. */
    VkDescriptorSetLayoutCreateInfo *info = (VkDescriptorSetLayoutCreateInfo *)(uintptr_t)args->pCreateInfo;
    uint64_t index = gen_u64_VkDescriptorSetLayout(*args->pSetLayout);
    struct replay_push_layout *layout = NULL;
    VkDescriptorSetLayout live = VK_NULL_HANDLE;
    enum lap_status status;

    if (dev->descriptors.push && info->flags & VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR) {
        info->flags &= ~(VkDescriptorSetLayoutCreateFlags)VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
        status = make_layout(r, dev, info, &layout);
        live = layout ? layout->live : VK_NULL_HANDLE;
    } else {
        status = replay_result(r, dev->vk.CreateDescriptorSetLayout(dev->live, info, NULL, &live));
    }
    if (status == LAP_OK)
        status =
            replay_object_keep(r, GEN_HANDLE_VkDescriptorSetLayout, dev, index, gen_u64_VkDescriptorSetLayout(live));
    if (status == LAP_OK)
        status = replay_descriptor_buffers_layout(r, dev, index, live, info);
    if (layout && (status != LAP_OK || !index)) {
        if (live)
            layout->live = VK_NULL_HANDLE; /* replay_object_keep has destroyed it */
        release(dev, layout);
    } else if (layout) {
        replay_object_get(r, GEN_HANDLE_VkDescriptorSetLayout, index)->record = layout;
    }
    return status;
}

enum lap_status replay_end_VkDescriptorSetLayout(struct replay *r, struct replay_device *dev, uint64_t index,
                                                 struct replay_object *object)
{
    struct replay_push_layout *layout = object->record;

    replay_descriptor_buffers_end_layout(dev, index);
    if (layout)
        release(dev, layout);
    else
        replay_destroy(dev, GEN_HANDLE_VkDescriptorSetLayout, object->live);
    replay_object_end(r, GEN_HANDLE_VkDescriptorSetLayout, index, object);
    return LAP_OK;
}

static struct replay_push_layout *layout_of(struct replay *r, VkDescriptorSetLayout live)
{
    uint64_t index;
    const struct replay_object *object =
        live ? replay_object_of(r, GEN_HANDLE_VkDescriptorSetLayout, gen_u64_VkDescriptorSetLayout(live), &index)
             : NULL;
    return object ? object->record : NULL;
}

/* NULL with LAP_OK: no set is a push descriptor set. */
static enum lap_status sets_of(struct replay *r, const VkPipelineLayoutCreateInfo *info, struct pipeline_sets **out)
{
    struct pipeline_sets *sets;
    bool any = false;

    *out = NULL;
    for (uint32_t i = 0; i < info->setLayoutCount && info->pSetLayouts; i++)
        any |= layout_of(r, info->pSetLayouts[i]) != NULL;
    if (!any)
        return LAP_OK;
    sets = calloc(1, sizeof *sets + info->setLayoutCount * sizeof *sets->sets);
    if (!sets)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for a layout"));
    sets->count = info->setLayoutCount;
    for (uint32_t i = 0; i < sets->count; i++) {
        sets->sets[i] = layout_of(r, info->pSetLayouts[i]);
        if (sets->sets[i])
            (void)keep(sets->sets[i]);
    }
    *out = sets;
    return LAP_OK;
}

static void free_sets(struct replay_device *dev, struct pipeline_sets *sets)
{
    for (uint32_t i = 0; sets && i < sets->count; i++)
        release(dev, sets->sets[i]);
    free(sets);
}

enum lap_status replay_CreatePipelineLayout(struct replay *r, struct replay_device *dev,
                                            struct gen_args_vkCreatePipelineLayout *args)
{
    uint64_t index = gen_u64_VkPipelineLayout(*args->pPipelineLayout);
    VkPipelineLayout live = VK_NULL_HANDLE;
    struct pipeline_sets *sets = NULL;
    enum lap_status status = dev->descriptors.push ? sets_of(r, args->pCreateInfo, &sets) : LAP_OK;

    if (status == LAP_OK)
        status = replay_result(r, dev->vk.CreatePipelineLayout(dev->live, args->pCreateInfo, NULL, &live));
    if (status == LAP_OK)
        status = replay_object_keep(r, GEN_HANDLE_VkPipelineLayout, dev, index, gen_u64_VkPipelineLayout(live));
    if (status == LAP_OK)
        status = replay_descriptor_buffers_pipeline_layout(r, dev, index, args->pCreateInfo);
    if (status == LAP_OK && index && sets)
        replay_object_get(r, GEN_HANDLE_VkPipelineLayout, index)->record = sets;
    else
        free_sets(dev, sets);
    return status;
}

enum lap_status replay_end_VkPipelineLayout(struct replay *r, struct replay_device *dev, uint64_t index,
                                            struct replay_object *object)
{
    struct pipeline_sets *sets = object->record;

    replay_descriptor_buffers_end_pipeline_layout(dev, index);
    replay_destroy(dev, GEN_HANDLE_VkPipelineLayout, object->live);
    free_sets(dev, sets);
    replay_object_end(r, GEN_HANDLE_VkPipelineLayout, index, object);
    return LAP_OK;
}

/* ---- sets of command buffers ---- */

bool replay_push_descriptors_are_enabled(const VkDeviceCreateInfo *recorded)
{
    for (uint32_t i = 0; i < recorded->enabledExtensionCount; i++)
        if (strcmp(recorded->ppEnabledExtensionNames[i], VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME) == 0)
            return true;
#ifdef VK_VERSION_1_4
    const VkPhysicalDeviceVulkan14Features *features =
        lap_chain_find(recorded->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_4_FEATURES);
    return features && features->pushDescriptor;
#else
    return false;
#endif
}

enum lap_status replay_push_descriptors_create(struct replay *r, struct replay_device *dev, bool enabled)
{
    if (!enabled || dev->vk.CmdPushDescriptorSetKHR)
        return LAP_OK;
    dev->descriptors.push = calloc(1, sizeof *dev->descriptors.push);
    if (!dev->descriptors.push)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a device");
    dev->descriptors.push->r = r;
    lap_map_init(&dev->descriptors.push->owners);
    return LAP_OK;
}

static void end_pool(struct replay_device *dev, struct set_pool *pool)
{
    replay_destroy(dev, GEN_HANDLE_VkDescriptorPool, gen_u64_VkDescriptorPool(pool->live));
    replay_objects_release(dev->descriptors.push->r, pool->count);
    release(dev, pool->layout);
    free(pool);
}

static void end_owner(struct replay_device *dev, struct own_sets *owner)
{
    while (owner->pools) {
        struct set_pool *pool = owner->pools;
        owner->pools = pool->next;
        end_pool(dev, pool);
    }
    free(owner);
}

static void end_one(void *user, uint64_t commands, void *owner)
{
    end_owner(user, owner);
}

void replay_push_descriptors_destroy(struct replay_device *dev)
{
    if (!dev->descriptors.push)
        return;
    replay_push_descriptors_clear(dev);
    lap_map_each(&dev->descriptors.push->owners, end_one, dev);
    lap_map_finish(&dev->descriptors.push->owners);
    free(dev->descriptors.push);
    dev->descriptors.push = NULL;
}

static enum lap_status allocate_sets(struct replay *r, struct replay_device *dev, struct set_pool *pool)
{
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = pool->live,
                                            .descriptorSetCount = pool->count};
    VkDescriptorSetLayout layouts[MOST_SETS];

    for (uint32_t i = 0; i < pool->count; i++)
        layouts[i] = pool->layout->live;
    allocate.pSetLayouts = layouts;
    pool->used = 0;
    return replay_result(r, dev->vk.AllocateDescriptorSets(dev->live, &allocate, pool->sets));
}

static enum lap_status make_pool(struct replay *r, struct replay_device *dev, struct replay_push_layout *layout,
                                 uint32_t count, struct set_pool **out)
{
    VkDescriptorPoolSize sizes[MOST_KINDS];
    VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = count,
                                       .poolSizeCount = layout->size_count,
                                       .pPoolSizes = sizes};
    struct set_pool *pool = calloc(1, sizeof *pool + count * sizeof *pool->sets);
    enum lap_status status = replay_objects_reserve(r, count);

    if (status == LAP_OK && !pool) {
        replay_objects_release(r, count);
        status = replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for descriptor sets"));
    }
    if (status != LAP_OK) {
        free(pool);
        return status;
    }
    pool->count = count;
    pool->layout = keep(layout);
    for (uint32_t i = 0; i < layout->size_count; i++)
        sizes[i] = (VkDescriptorPoolSize){layout->sizes[i].type, layout->sizes[i].descriptorCount * count};
    status = replay_result(r, dev->vk.CreateDescriptorPool(dev->live, &info, NULL, &pool->live));
    if (status == LAP_OK)
        status = allocate_sets(r, dev, pool);
    if (status == LAP_OK)
        *out = pool;
    else if (pool->live)
        end_pool(dev, pool);
    else {
        replay_objects_release(r, count);
        release(dev, layout);
        free(pool);
    }
    return status;
}

static enum lap_status need_owner(struct replay *r, struct replay_push_descriptors *push)
{
    if (push->owner)
        return LAP_OK;
    push->owner = calloc(1, sizeof *push->owner);
    if (push->owner && lap_map_put(&push->owners, gen_u64_VkCommandBuffer(push->commands), push->owner, NULL) == LAP_OK)
        return LAP_OK;
    free(push->owner);
    push->owner = NULL;
    return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for descriptor sets"));
}

/* Takes a set that has not been written since its allocation. */
static enum lap_status take_set(struct replay *r, struct replay_device *dev, struct replay_push_layout *layout,
                                VkDescriptorSet *out)
{
    struct replay_push_descriptors *push = dev->descriptors.push;
    enum lap_status status = need_owner(r, push);
    struct set_pool *pool = NULL;
    uint32_t count = FIRST_SETS;

    if (status != LAP_OK)
        return status;
    for (struct set_pool *at = push->owner->pools; at && !pool; at = at->next) {
        if (at->layout != layout)
            continue;
        if (at->used < at->count)
            pool = at;
        else if (count <= at->count)
            count = at->count * 2 < MOST_SETS ? at->count * 2 : MOST_SETS;
    }
    if (!pool) {
        status = make_pool(r, dev, layout, count, &pool);
        if (status != LAP_OK)
            return status;
        pool->next = push->owner->pools;
        push->owner->pools = pool;
    }
    *out = pool->sets[pool->used++];
    return LAP_OK;
}

enum lap_status replay_push_descriptors_begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands)
{
    struct replay_push_descriptors *push = dev->descriptors.push;
    enum lap_status status = LAP_OK;

    if (!push)
        return LAP_OK;
    replay_push_descriptors_clear(dev);
    push->commands = commands;
    push->owner = lap_map_get(&push->owners, gen_u64_VkCommandBuffer(commands));
    for (struct set_pool *pool = push->owner ? push->owner->pools : NULL; pool && status == LAP_OK; pool = pool->next) {
        if (!pool->used)
            continue;
        status = replay_result(r, dev->vk.ResetDescriptorPool(dev->live, pool->live, 0));
        if (status == LAP_OK)
            status = allocate_sets(r, dev, pool);
    }
    return status;
}

void replay_push_descriptors_clear(struct replay_device *dev)
{
    struct replay_push_descriptors *push = dev->descriptors.push;

    while (push && push->pushed_count)
        free(push->pushed[--push->pushed_count].written);
}

void replay_push_descriptors_forget(struct replay_device *dev, VkCommandBuffer commands)
{
    struct replay_push_descriptors *push = dev->descriptors.push;
    struct own_sets *owner = push ? lap_map_remove(&push->owners, gen_u64_VkCommandBuffer(commands)) : NULL;

    if (!owner)
        return;
    if (push->commands == commands) {
        replay_push_descriptors_clear(dev);
        push->commands = VK_NULL_HANDLE;
        push->owner = NULL;
    }
    end_owner(dev, owner);
}

/* ---- pushing ---- */

/* The descriptors to write on top of the earlier pushes. */
struct push {
    struct replay_push_layout *layout;
    VkWriteDescriptorSet *writes; /* in the decoder's own memory */
    uint32_t write_count;
};

static struct pushed *pushed_at(struct replay_push_descriptors *push, VkPipelineBindPoint point, uint32_t number)
{
    for (uint32_t i = 0; i < push->pushed_count; i++)
        if (push->pushed[i].point == point && push->pushed[i].number == number)
            return &push->pushed[i];
    return NULL;
}

static bool are_alike(const struct replay_push_layout *a, const struct replay_push_layout *b)
{
    if (a == b)
        return true;
    if (a->slots->binding_count != b->slots->binding_count || a->slots->slot_count != b->slots->slot_count)
        return false;
    for (uint32_t i = 0; i < a->slots->binding_count; i++) {
        const struct lap_set_binding *x = &a->slots->bindings[i], *y = &b->slots->bindings[i];
        if (x->binding != y->binding || x->count != y->count || x->type != y->type)
            return false;
    }
    return memcmp(a->fixed, b->fixed, a->slots->slot_count) == 0;
}

/* Marks the written slots. Drops writes to immutable samplers: the set already has them. */
static enum lap_status mark_written(struct replay *r, struct push *p, uint8_t *written)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < p->write_count; i++) {
        const VkWriteDescriptorSet *write = &p->writes[i];
        uint32_t first = lap_set_layout_slot(p->layout->slots, write->dstBinding, write->dstArrayElement);
        if (!write->descriptorCount)
            continue;
        if (first >= p->layout->slots->slot_count || write->descriptorCount > p->layout->slots->slot_count - first)
            return replay_fail(r,
                               "descriptors are pushed to binding %u, element %u, of which the layout has not so many",
                               write->dstBinding, write->dstArrayElement);
        memset(written + first, 1, write->descriptorCount);
        if (!p->layout->fixed[first])
            p->writes[left++] = *write;
    }
    p->write_count = left;
    return LAP_OK;
}

/* Copies earlier pushed descriptors that are not overwritten, as runs of slots within bindings. */
static enum lap_status copy_rest(struct replay *r, struct replay_device *dev, const struct push *p,
                                 const struct pushed *before, const uint8_t *written, VkDescriptorSet to)
{
    VkCopyDescriptorSet *copies = replay_scratch(r, p->layout->slots->slot_count, sizeof *copies);
    uint32_t count = 0;

    if (!copies)
        return replay_no_scratch(r);
    for (uint32_t i = 0; i < p->layout->slots->binding_count; i++) {
        const struct lap_set_binding *binding = &p->layout->slots->bindings[i];
        bool open = false;
        for (uint32_t j = 0; j < binding->count; j++) {
            uint32_t slot = binding->first + j;
            bool stays = before->written[slot] && !written[slot] && !p->layout->fixed[slot];
            if (stays && !open)
                copies[count++] = (VkCopyDescriptorSet){.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                                        .srcSet = before->set,
                                                        .srcBinding = binding->binding,
                                                        .srcArrayElement = j,
                                                        .dstSet = to,
                                                        .dstBinding = binding->binding,
                                                        .dstArrayElement = j};
            if (stays)
                copies[count - 1].descriptorCount++;
            open = stays;
        }
    }
    if (count)
        dev->vk.UpdateDescriptorSets(dev->live, 0, NULL, count, copies);
    return LAP_OK;
}

static enum lap_status make_set(struct replay *r, struct replay_device *dev, struct push *p,
                                const struct pushed *before, uint8_t *written, VkDescriptorSet *out)
{
    enum lap_status status = mark_written(r, p, written);

    if (status == LAP_OK)
        status = take_set(r, dev, p->layout, out);
    if (status == LAP_OK && before)
        status = copy_rest(r, dev, p, before, written, *out);
    if (status != LAP_OK)
        return status;
    for (uint32_t i = 0; i < p->write_count; i++)
        p->writes[i].dstSet = *out;
    if (p->write_count)
        dev->vk.UpdateDescriptorSets(dev->live, p->write_count, p->writes, 0, NULL);
    for (uint32_t i = 0; before && i < p->layout->slots->slot_count; i++)
        written[i] |= before->written[i];
    return LAP_OK;
}

static enum lap_status push_to(struct replay *r, struct replay_device *dev, const struct push *wanted,
                               VkPipelineBindPoint point, VkPipelineLayout layout, uint32_t number)
{
    struct replay_push_descriptors *push = dev->descriptors.push;
    struct pushed *at = pushed_at(push, point, number);
    bool stays = at && are_alike(at->layout, wanted->layout);
    struct push p = *wanted;
    enum lap_status status;
    VkDescriptorSet set;
    uint8_t *written;

    if (!at && push->pushed_count == MOST_PUSHED)
        return replay_refuse(r, "more than %u sets are pushed in a command buffer, on a device that can't push",
                             MOST_PUSHED);
    written = calloc(1, p.layout->slots->slot_count + 1);
    if (!written)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for descriptors"));
    status = make_set(r, dev, &p, stays ? at : NULL, written, &set);
    if (status != LAP_OK) {
        free(written);
        return status;
    }
    if (!at) {
        at = &push->pushed[push->pushed_count++];
        at->written = NULL;
    }
    free(at->written);
    *at = (struct pushed){point, number, p.layout, set, written};
    dev->vk.CmdBindDescriptorSets(push->commands, point, layout, number, 1, &set, 0, NULL);
    return LAP_OK;
}

/* Finds the layout of the set, and checks that the command buffer is being recorded. */
static enum lap_status prepare(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                               VkPipelineLayout layout, uint32_t number, struct push *p)
{
    uint64_t index;
    const struct replay_object *object =
        replay_object_of(r, GEN_HANDLE_VkPipelineLayout, gen_u64_VkPipelineLayout(layout), &index);
    const struct pipeline_sets *sets = object ? object->record : NULL;

    if (!sets || number >= sets->count || !sets->sets[number])
        return replay_fail(r,
                           "descriptors are pushed to set %u, which is none for pushing in VkPipelineLayout:%" PRIu64,
                           number, index);
    if (commands != dev->descriptors.push->commands)
        return replay_fail(r, "descriptors are pushed in a command buffer that is not being recorded");
    p->layout = sets->sets[number];
    return LAP_OK;
}

enum lap_status replay_CmdPushDescriptorSetKHR(struct replay *r, struct replay_device *dev,
                                               struct gen_args_vkCmdPushDescriptorSetKHR *args)
{
    struct push p = {.writes = (VkWriteDescriptorSet *)(uintptr_t)args->pDescriptorWrites,
                     .write_count = args->descriptorWriteCount};
    enum lap_status status;

    if (__builtin_expect(!dev->descriptors.push && dev->vk.CmdPushDescriptorSetKHR, 1)) {
        dev->vk.CmdPushDescriptorSetKHR(args->commandBuffer, args->pipelineBindPoint, args->layout, args->set,
                                        args->descriptorWriteCount, args->pDescriptorWrites);
        return LAP_OK;
    }
    if (!dev->descriptors.push)
        return replay_missing(r, GEN_vkCmdPushDescriptorSetKHR);
    status = prepare(r, dev, args->commandBuffer, args->layout, args->set, &p);
    return status == LAP_OK ? push_to(r, dev, &p, args->pipelineBindPoint, args->layout, args->set) : status;
}

#ifdef VK_KHR_maintenance6
#define GRAPHICS_STAGES                                                                                                \
    ((VkShaderStageFlags)(VK_SHADER_STAGE_ALL_GRAPHICS | VK_SHADER_STAGE_TASK_BIT_EXT | VK_SHADER_STAGE_MESH_BIT_EXT))
#define RAY_STAGES                                                                                                     \
    ((VkShaderStageFlags)(VK_SHADER_STAGE_RAYGEN_BIT_KHR | VK_SHADER_STAGE_ANY_HIT_BIT_KHR |                           \
                          VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR | VK_SHADER_STAGE_MISS_BIT_KHR |                         \
                          VK_SHADER_STAGE_INTERSECTION_BIT_KHR | VK_SHADER_STAGE_CALLABLE_BIT_KHR))

enum lap_status replay_CmdPushDescriptorSet2KHR(struct replay *r, struct replay_device *dev,
                                                struct gen_args_vkCmdPushDescriptorSet2KHR *args)
{
    const VkPushDescriptorSetInfoKHR *info = args->pPushDescriptorSetInfo;
    const struct {
        VkShaderStageFlags stages;
        VkPipelineBindPoint point;
        bool exists;
    } points[] = {{GRAPHICS_STAGES, VK_PIPELINE_BIND_POINT_GRAPHICS, true},
                  {VK_SHADER_STAGE_COMPUTE_BIT, VK_PIPELINE_BIND_POINT_COMPUTE, true},
                  {RAY_STAGES, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, dev->vk.CmdTraceRaysKHR != NULL}};
    enum lap_status status = LAP_OK;

    if (!dev->descriptors.push && dev->vk.CmdPushDescriptorSet2KHR) {
        dev->vk.CmdPushDescriptorSet2KHR(args->commandBuffer, info);
        return LAP_OK;
    }
    if (!dev->descriptors.push)
        return replay_missing(r, GEN_vkCmdPushDescriptorSet2KHR);
    if (!info->layout)
        return replay_refuse(r, "descriptors are pushed without a pipeline layout, on a device that can't push");
    for (size_t i = 0; i < sizeof points / sizeof *points && status == LAP_OK; i++) {
        struct push p = {.writes = (VkWriteDescriptorSet *)(uintptr_t)info->pDescriptorWrites,
                         .write_count = info->descriptorWriteCount};
        if (!(info->stageFlags & points[i].stages) || !points[i].exists)
            continue;
        status = prepare(r, dev, args->commandBuffer, info->layout, info->set, &p);
        if (status == LAP_OK)
            status = push_to(r, dev, &p, points[i].point, info->layout, info->set);
    }
    return status;
}
#endif
