/* SPDX-License-Identifier: MIT */
#include "inspector/analysis/queue_flags.h"

#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"

#define MOST_FAMILIES 32u

struct families {
    uint32_t count;
    VkQueueFlags flags[MOST_FAMILIES];
};

void queue_flags_init(struct queue_flags *f)
{
    *f = (struct queue_flags){.arena = {0}};
    lap_map_init(&f->gpus);
    lap_map_init(&f->devices);
    lap_map_init(&f->queues);
    lap_arena_init(&f->arena, 0);
}

void queue_flags_finish(struct queue_flags *f)
{
    lap_map_finish(&f->gpus);
    lap_map_finish(&f->devices);
    lap_map_finish(&f->queues);
    lap_arena_finish(&f->arena);
}

/* properties: the first one; stride: bytes from one to the next. */
static enum lap_status see_families(struct queue_flags *f, VkPhysicalDevice gpu, const uint32_t *count,
                                    const void *properties, size_t stride)
{
    struct families *families;

    if (!count || !*count || !properties)
        return LAP_OK;
    families = lap_arena_zalloc(&f->arena, 1, sizeof *families, _Alignof(struct families));
    if (!families)
        return lap_no_memory("the kinds of queues");
    families->count = *count < MOST_FAMILIES ? *count : MOST_FAMILIES;
    for (uint32_t i = 0; i < families->count; i++)
        families->flags[i] =
            ((const VkQueueFamilyProperties *)(const void *)((const char *)properties + i * stride))->queueFlags;
    return lap_map_put(&f->gpus, gen_u64_VkPhysicalDevice(gpu), families, NULL);
}

static enum lap_status see_device(struct queue_flags *f, VkPhysicalDevice gpu, const VkDevice *device)
{
    struct families *families = lap_map_get(&f->gpus, gen_u64_VkPhysicalDevice(gpu));

    return families && device ? lap_map_put(&f->devices, gen_u64_VkDevice(*device), families, NULL) : LAP_OK;
}

static enum lap_status see_queue(struct queue_flags *f, VkDevice device, uint32_t family, const VkQueue *queue)
{
    const struct families *families = lap_map_get(&f->devices, gen_u64_VkDevice(device));
    struct queue_flags_queue *known;

    if (!queue)
        return LAP_OK;
    known = lap_arena_zalloc(&f->arena, 1, sizeof *known, _Alignof(struct queue_flags_queue));
    if (!known)
        return lap_no_memory("the kinds of queues");
    known->device = gen_u64_VkDevice(device);
    if (families && family < families->count)
        known->flags = families->flags[family];
    return lap_map_put(&f->queues, gen_u64_VkQueue(*queue), known, NULL);
}

enum lap_status queue_flags_see(struct queue_flags *f, const struct trace_call *call)
{
    switch (call->command) {
    case GEN_lapilliPhysicalDevice: {
        const struct gen_args_lapilliPhysicalDevice *a = call->args;
        return see_families(f, a->physicalDevice, &a->familyCount, a->pFamilies, sizeof *a->pFamilies);
    }
    case GEN_vkGetPhysicalDeviceQueueFamilyProperties: {
        const struct gen_args_vkGetPhysicalDeviceQueueFamilyProperties *a = call->args;
        return see_families(f, a->physicalDevice, a->pQueueFamilyPropertyCount, a->pQueueFamilyProperties,
                            sizeof *a->pQueueFamilyProperties);
    }
    case GEN_vkGetPhysicalDeviceQueueFamilyProperties2: {
        const struct gen_args_vkGetPhysicalDeviceQueueFamilyProperties2 *a = call->args;
        return see_families(f, a->physicalDevice, a->pQueueFamilyPropertyCount,
                            a->pQueueFamilyProperties ? &a->pQueueFamilyProperties->queueFamilyProperties : NULL,
                            sizeof *a->pQueueFamilyProperties);
    }
    case GEN_vkCreateDevice: {
        const struct gen_args_vkCreateDevice *a = call->args;
        return see_device(f, a->physicalDevice, a->pDevice);
    }
    case GEN_vkGetDeviceQueue: {
        const struct gen_args_vkGetDeviceQueue *a = call->args;
        return see_queue(f, a->device, a->queueFamilyIndex, a->pQueue);
    }
    case GEN_vkGetDeviceQueue2: {
        const struct gen_args_vkGetDeviceQueue2 *a = call->args;
        return a->pQueueInfo ? see_queue(f, a->device, a->pQueueInfo->queueFamilyIndex, a->pQueue) : LAP_OK;
    }
    default:
        return LAP_OK;
    }
}

struct queue_flags_queue queue_flags_of(const struct queue_flags *f, uint64_t queue)
{
    const struct queue_flags_queue *known = lap_map_get(&f->queues, queue);

    return known ? *known : (struct queue_flags_queue){.flags = 0};
}
