/* SPDX-License-Identifier: MIT */
#include "replayer/analysis/recorded_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "vulkan/block.h"
#include "vulkan/dictionary.h"

/* ---- the trace's records of the recorded machine ---- */

/* The record of a recorded physical device. Creates it under `instance` if it is absent. */
static struct replay_recorded_gpu *recorded_gpu(struct replay *r, uint64_t index, struct replay_instance *instance)
{
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkPhysicalDevice, index);

    if (!object && (!instance || replay_object_add(r, GEN_HANDLE_VkPhysicalDevice, index,
                                                   (uint64_t)(uintptr_t)instance->gpu, instance, &object) != LAP_OK))
        return NULL;
    if (!object->record)
        object->record = calloc(1, sizeof(struct replay_recorded_gpu));
    return object->record;
}

static struct replay_instance *instance_at(struct replay *r, VkInstance index)
{
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkInstance, gen_u64_VkInstance(index));
    return object ? object->owner : NULL;
}

static void observe_name(struct replay *r, VkPhysicalDevice index, const VkPhysicalDeviceProperties *properties)
{
    struct replay_recorded_gpu *gpu = recorded_gpu(r, gen_u64_VkPhysicalDevice(index), r->instances);

    if (!gpu || !properties)
        return;
    snprintf(gpu->name, sizeof gpu->name, "%s", properties->deviceName);
    gpu->uniform_alignment = properties->limits.minUniformBufferOffsetAlignment;
    gpu->storage_alignment = properties->limits.minStorageBufferOffsetAlignment;
}

static void observe_families(struct replay *r, VkPhysicalDevice index, const uint32_t *count, const void *first,
                             size_t stride)
{
    struct replay_recorded_gpu *gpu = recorded_gpu(r, gen_u64_VkPhysicalDevice(index), r->instances);

    if (!gpu || !count || !first)
        return;
    gpu->family_count = *count < REPLAY_MAX_FAMILIES ? *count : REPLAY_MAX_FAMILIES;
    for (uint32_t i = 0; i < gpu->family_count; i++)
        gpu->families[i] = *(const VkQueueFamilyProperties *)((const char *)first + i * stride);
}

static void observe_args(struct replay *r, void *raw)
{
    switch (r->at.command) {
    case GEN_vkEnumeratePhysicalDevices: {
        struct gen_args_vkEnumeratePhysicalDevices *args = raw;
        struct replay_instance *instance = instance_at(r, args->instance);
        for (uint32_t i = 0; args->pPhysicalDevices && i < *args->pPhysicalDeviceCount && instance; i++)
            (void)recorded_gpu(r, gen_u64_VkPhysicalDevice(args->pPhysicalDevices[i]), instance);
        break;
    }
    case GEN_vkEnumeratePhysicalDeviceGroups: {
        struct gen_args_vkEnumeratePhysicalDeviceGroups *args = raw;
        struct replay_instance *instance = instance_at(r, args->instance);
        for (uint32_t i = 0; args->pPhysicalDeviceGroupProperties && i < *args->pPhysicalDeviceGroupCount && instance;
             i++) {
            const VkPhysicalDeviceGroupProperties *group = &args->pPhysicalDeviceGroupProperties[i];
            for (uint32_t j = 0; j < group->physicalDeviceCount && j < VK_MAX_DEVICE_GROUP_SIZE; j++)
                (void)recorded_gpu(r, gen_u64_VkPhysicalDevice(group->physicalDevices[j]), instance);
        }
        break;
    }
    case GEN_vkGetPhysicalDeviceProperties: {
        struct gen_args_vkGetPhysicalDeviceProperties *args = raw;
        observe_name(r, args->physicalDevice, args->pProperties);
        break;
    }
    case GEN_vkGetPhysicalDeviceProperties2: {
        struct gen_args_vkGetPhysicalDeviceProperties2 *args = raw;
        observe_name(r, args->physicalDevice, args->pProperties ? &args->pProperties->properties : NULL);
        break;
    }
    case GEN_vkGetPhysicalDeviceQueueFamilyProperties: {
        struct gen_args_vkGetPhysicalDeviceQueueFamilyProperties *args = raw;
        observe_families(r, args->physicalDevice, args->pQueueFamilyPropertyCount, args->pQueueFamilyProperties,
                         sizeof *args->pQueueFamilyProperties);
        break;
    }
    case GEN_vkGetPhysicalDeviceQueueFamilyProperties2: {
        struct gen_args_vkGetPhysicalDeviceQueueFamilyProperties2 *args = raw;
        observe_families(r, args->physicalDevice, args->pQueueFamilyPropertyCount,
                         args->pQueueFamilyProperties ? &args->pQueueFamilyProperties->queueFamilyProperties : NULL,
                         sizeof *args->pQueueFamilyProperties);
        break;
    }
    case GEN_lapilliPhysicalDevice: {
        struct gen_args_lapilliPhysicalDevice *args = raw;
        observe_name(r, args->physicalDevice, args->pProperties);
        observe_families(r, args->physicalDevice, &args->familyCount, args->pFamilies, sizeof *args->pFamilies);
        break;
    }
    default:
        break;
    }
}

void replay_recorded_machine_observe(struct replay *r)
{
    struct lap_dec_source indices = lap_dictionary_source(r->dictionary);
    struct lap_args args;
    struct lap_dec dec;

    switch (r->at.command) {
    case GEN_vkEnumeratePhysicalDevices:
    case GEN_vkEnumeratePhysicalDeviceGroups:
    case GEN_vkGetPhysicalDeviceProperties:
    case GEN_vkGetPhysicalDeviceProperties2:
    case GEN_vkGetPhysicalDeviceQueueFamilyProperties:
    case GEN_vkGetPhysicalDeviceQueueFamilyProperties2:
    case GEN_lapilliPhysicalDevice:
        break;
    default:
        return;
    }
    lap_arena_reset(&r->arena);
    lap_dec_init(&dec, r->at.packet.body, r->at.packet.bytes, &r->arena, &indices);
    gen_decode_table[r->at.command](&dec, args.bytes);
    if (dec.status == LAP_OK)
        observe_args(r, args.bytes);
}
