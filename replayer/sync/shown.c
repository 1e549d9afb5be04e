/* SPDX-License-Identifier: MIT */
#include "replayer/sync/shown.h"

#include <stdlib.h>

#include "base/map.h"
#include "replayer/sync/deferred_destroy.h"
#include "vulkan/conditions.h"

enum { BUFFERS, BUFFER_VIEWS, IMAGE_VIEWS, SAMPLERS, KINDS };

struct object {
    enum gen_handle_type type;
    uint64_t live;
    uint64_t places; /* that show it */
    uint64_t ended;  /* how often the trace has destroyed it: a driver may give one handle for several objects */
};

/* By place: the binding and the element. Samplers of combined descriptors are on their own. */
struct set {
    struct lap_map shown, samplers;
};

struct replay_shown {
    struct lap_map objects[KINDS]; /* by live handle, while a set shows it */
    struct lap_map sets;
};

static struct lap_map *objects_of(struct replay_shown *shown, enum gen_handle_type type)
{
    switch ((uint32_t)type) {
    case GEN_HANDLE_VkBuffer:
        return &shown->objects[BUFFERS];
    case GEN_HANDLE_VkBufferView:
        return &shown->objects[BUFFER_VIEWS];
    case GEN_HANDLE_VkImageView:
        return &shown->objects[IMAGE_VIEWS];
    case GEN_HANDLE_VkSampler:
        return &shown->objects[SAMPLERS];
    default:
        return NULL;
    }
}

void replay_shown_create(struct replay_device *dev)
{
    if (dev->instance->properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU ||
        !(dev->shown = calloc(1, sizeof *dev->shown)))
        return;
    for (uint32_t i = 0; i < KINDS; i++)
        lap_map_init(&dev->shown->objects[i]);
    lap_map_init(&dev->shown->sets);
}

static void release(struct replay_device *dev, struct object *object)
{
    if (--object->places)
        return;
    lap_map_remove(objects_of(dev->shown, object->type), object->live);
    for (; object->ended; object->ended--)
        replay_destroy(dev, object->type, object->live);
    free(object);
}

static void release_place(void *user, uint64_t place, void *value)
{
    (void)place;
    release(user, value);
}

static void end_set(struct replay_device *dev, struct set *set)
{
    lap_map_each(&set->shown, release_place, dev);
    lap_map_each(&set->samplers, release_place, dev);
    lap_map_finish(&set->shown);
    lap_map_finish(&set->samplers);
    free(set);
}

static void free_object(void *user, uint64_t live, void *value)
{
    (void)user, (void)live;
    free(value);
}

static void end_any_set(void *user, uint64_t live, void *value)
{
    (void)live;
    end_set(user, value);
}

void replay_shown_destroy(struct replay_device *dev)
{
    struct replay_shown *shown = dev->shown;

    if (!shown)
        return;
    lap_map_each(&shown->sets, end_any_set, dev);
    for (uint32_t i = 0; i < KINDS; i++) {
        lap_map_each(&shown->objects[i], free_object, NULL); /* those that no place has, for want of memory */
        lap_map_finish(&shown->objects[i]);
    }
    lap_map_finish(&shown->sets);
    free(shown);
    dev->shown = NULL;
}

void replay_shown_set_end(struct replay_device *dev, VkDescriptorSet live)
{
    struct set *set = live ? lap_map_remove(&dev->shown->sets, gen_u64_VkDescriptorSet(live)) : NULL;

    if (set)
        end_set(dev, set);
}

bool replay_shown_keep(struct replay_device *dev, enum gen_handle_type type, uint64_t live)
{
    const struct lap_map *objects = objects_of(dev->shown, type);
    struct object *object = objects && live ? lap_map_get(objects, live) : NULL;

    /* Another buffer is to get its address. */
    if (!object || (type == GEN_HANDLE_VkBuffer && dev->addresses.preserved.active))
        return false;
    object->ended++;
    return true;
}

/* ---- updates ---- */

static struct set *need_set(struct replay_shown *shown, VkDescriptorSet live)
{
    struct set *set = lap_map_get(&shown->sets, gen_u64_VkDescriptorSet(live));

    if (set || !(set = calloc(1, sizeof *set)))
        return set;
    lap_map_init(&set->shown);
    lap_map_init(&set->samplers);
    if (lap_map_put(&shown->sets, gen_u64_VkDescriptorSet(live), set, NULL) == LAP_OK)
        return set;
    free(set);
    return NULL;
}

static struct object *need_object(struct replay_shown *shown, enum gen_handle_type type, uint64_t live)
{
    struct lap_map *objects = objects_of(shown, type);
    struct object *object = lap_map_get(objects, live);

    if (object || !(object = calloc(1, sizeof *object)))
        return object;
    object->type = type;
    object->live = live;
    if (lap_map_put(objects, live, object, NULL) == LAP_OK)
        return object;
    free(object);
    return NULL;
}

/* object: NULL: the place is empty. */
static enum lap_status put(struct replay_device *dev, struct lap_map *places, uint64_t place, struct object *object)
{
    void *old = NULL;

    if (!object)
        old = lap_map_remove(places, place);
    else if (lap_map_put(places, place, object, &old) != LAP_OK)
        return lap_no_memory("what descriptor sets show");
    else
        object->places++;
    if (old)
        release(dev, old);
    return LAP_OK;
}

static enum lap_status show(struct replay_device *dev, struct lap_map *places, uint64_t place,
                            enum gen_handle_type type, uint64_t live)
{
    struct object *object = live ? need_object(dev->shown, type, live) : NULL;

    return live && !object ? lap_no_memory("what descriptor sets show") : put(dev, places, place, object);
}

static uint64_t place_of(uint32_t binding, uint32_t element)
{
    return (uint64_t)binding << 32 | element;
}

static enum lap_status note_write(struct replay_device *dev, const VkWriteDescriptorSet *write)
{
    struct set *set = need_set(dev->shown, write->dstSet);
    enum lap_status status = set ? LAP_OK : lap_no_memory("what descriptor sets show");

    for (uint32_t i = 0; i < write->descriptorCount && status == LAP_OK; i++) {
        uint64_t place = place_of(write->dstBinding, write->dstArrayElement + i);
        if (cond_descriptor_is_image(write->descriptorType) && write->pImageInfo) {
            const VkDescriptorImageInfo *info = &write->pImageInfo[i];
            if (write->descriptorType != VK_DESCRIPTOR_TYPE_SAMPLER)
                status = show(dev, &set->shown, place, GEN_HANDLE_VkImageView, gen_u64_VkImageView(info->imageView));
            if (cond_descriptor_has_sampler(write->descriptorType) && status == LAP_OK)
                status = show(dev, &set->samplers, place, GEN_HANDLE_VkSampler, gen_u64_VkSampler(info->sampler));
        } else if (cond_descriptor_is_buffer(write->descriptorType) && write->pBufferInfo) {
            status = show(dev, &set->shown, place, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(write->pBufferInfo[i].buffer));
        } else if (cond_descriptor_is_texel_buffer(write->descriptorType) && write->pTexelBufferView) {
            status = show(dev, &set->shown, place, GEN_HANDLE_VkBufferView,
                          gen_u64_VkBufferView(write->pTexelBufferView[i]));
        } else {
            return LAP_OK;
        }
    }
    return status;
}

static enum lap_status note_copy(struct replay_device *dev, const VkCopyDescriptorSet *copy)
{
    struct set *from = need_set(dev->shown, copy->srcSet), *to = need_set(dev->shown, copy->dstSet);
    enum lap_status status = from && to ? LAP_OK : lap_no_memory("what descriptor sets show");

    for (uint32_t i = 0; i < copy->descriptorCount && status == LAP_OK; i++) {
        uint64_t source = place_of(copy->srcBinding, copy->srcArrayElement + i),
                 place = place_of(copy->dstBinding, copy->dstArrayElement + i);
        status = put(dev, &to->shown, place, lap_map_get(&from->shown, source));
        if (status == LAP_OK)
            status = put(dev, &to->samplers, place, lap_map_get(&from->samplers, source));
    }
    return status;
}

/* With dev->shown. Sets are live handles. */
static enum lap_status update(struct replay_device *dev, const struct gen_args_vkUpdateDescriptorSets *args)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < args->descriptorWriteCount && status == LAP_OK; i++)
        status = note_write(dev, &args->pDescriptorWrites[i]);
    for (uint32_t i = 0; i < args->descriptorCopyCount && status == LAP_OK; i++)
        status = note_copy(dev, &args->pDescriptorCopies[i]);
    return status;
}

enum lap_status replay_UpdateDescriptorSets(struct replay *r, struct replay_device *dev,
                                            struct gen_args_vkUpdateDescriptorSets *args)
{
    (void)r;
    dev->vk.UpdateDescriptorSets(dev->live, args->descriptorWriteCount, args->pDescriptorWrites,
                                 args->descriptorCopyCount, args->pDescriptorCopies);
    return dev->shown ? update(dev, args) : LAP_OK;
}
