/* SPDX-License-Identifier: MIT */
#include "replayer/match.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/support/block.h"
#include "codegen/support/dictionary.h"
#include "replayer/player.h"

#define MAX_GPUS 64u

/* ---- what the trace says about the recorded machine ---- */

/* The record of a recorded physical device; made, under `instance`, when it is not there. */
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

    if (gpu && properties)
        snprintf(gpu->name, sizeof gpu->name, "%s", properties->deviceName);
}

static void observe_families(struct replay *r, VkPhysicalDevice index, const uint32_t *count, const void *first,
                             size_t stride)
{
    struct replay_recorded_gpu *gpu = recorded_gpu(r, gen_u64_VkPhysicalDevice(index), r->instances);

    if (!gpu || !count || !first)
        return;
    gpu->family_count = *count < REPLAY_MAX_FAMILIES ? *count : REPLAY_MAX_FAMILIES;
    for (uint32_t i = 0; i < gpu->family_count; i++)
        gpu->families[i] = ((const VkQueueFamilyProperties *)((const char *)first + i * stride))->queueFlags;
}

static void observe_args(struct replay *r, void *raw)
{
    switch (r->command) {
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
    default:
        break;
    }
}

void replay_observe(struct replay *r)
{
    struct lap_dec_source indices = lap_dictionary_source(r->dictionary);
    struct lap_args args;
    struct lap_dec dec;

    switch (r->command) {
    case GEN_vkEnumeratePhysicalDevices:
    case GEN_vkEnumeratePhysicalDeviceGroups:
    case GEN_vkGetPhysicalDeviceProperties:
    case GEN_vkGetPhysicalDeviceProperties2:
    case GEN_vkGetPhysicalDeviceQueueFamilyProperties:
    case GEN_vkGetPhysicalDeviceQueueFamilyProperties2:
        break;
    default:
        return;
    }
    lap_arena_reset(&r->arena);
    lap_dec_init(&dec, r->packet.body, r->packet.bytes, &r->arena, &indices);
    gen_decode_table[r->command](&dec, args.bytes);
    if (dec.status == LAP_OK)
        observe_args(r, args.bytes);
}

void replay_recorded_name(struct replay *r, char out[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE])
{
    cJSON *info = cJSON_Parse(lap_reader_summary(r->reader)->info);
    cJSON *device = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(info, "recorded_on"), "device");
    const char *name = cJSON_GetStringValue(device);

    if (!name)
        name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(device, "name"));
    snprintf(out, VK_MAX_PHYSICAL_DEVICE_NAME_SIZE, "%s", name ? name : "");
    cJSON_Delete(info);
}

/* ---- the GPUs of this machine ---- */

static unsigned type_rank(VkPhysicalDeviceType type)
{
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return 1;
    default:
        return 0;
    }
}

static bool contains_ignoring_case(const char *text, const char *part)
{
    size_t length = strlen(part);

    for (; strlen(text) >= length; text++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
            i++;
        if (i == length)
            return true;
    }
    return false;
}

static enum lap_status enumerate(const struct gen_instance_dispatch *vk, VkInstance instance,
                                 VkPhysicalDevice gpus[MAX_GPUS], uint32_t *out_count)
{
    VkResult result;

    *out_count = MAX_GPUS;
    result = vk->EnumeratePhysicalDevices(instance, out_count, gpus);
    if (result < 0 || *out_count == 0)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "there is no Vulkan device on this machine (%s)",
                        result < 0 ? replay_result_name(result) : "none is installed");
    return LAP_OK;
}

/* The number of the GPU that --gpu names; UINT32_MAX for none. */
static uint32_t by_option(const char *option, const VkPhysicalDeviceProperties *properties, uint32_t count)
{
    char *end;
    unsigned long number = strtoul(option, &end, 10);

    if (*option && !*end)
        return number < count ? (uint32_t)number : UINT32_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (contains_ignoring_case(properties[i].deviceName, option))
            return i;
    return UINT32_MAX;
}

enum lap_status replay_choose_gpu(struct replay *r, struct replay_instance *instance, const char *recorded_name)
{
    VkPhysicalDeviceProperties properties[MAX_GPUS];
    VkPhysicalDevice gpus[MAX_GPUS];
    uint32_t count, chosen = UINT32_MAX;
    enum lap_status status = enumerate(&instance->vk, instance->live, gpus, &count);

    if (status != LAP_OK)
        return status;
    for (uint32_t i = 0; i < count; i++)
        instance->vk.GetPhysicalDeviceProperties(gpus[i], &properties[i]);
    if (r->options.gpu) {
        chosen = by_option(r->options.gpu, properties, count);
        if (chosen == UINT32_MAX)
            return lap_fail(LAP_ERROR_UNSUPPORTED, "no GPU here is called \"%s\"; --list-gpus shows what there is",
                            r->options.gpu);
    }
    for (uint32_t i = 0; i < count && chosen == UINT32_MAX && recorded_name && recorded_name[0]; i++)
        if (strcmp(properties[i].deviceName, recorded_name) == 0)
            chosen = i;
    for (uint32_t i = 0, best = 0; i < count && chosen == UINT32_MAX; i++) {
        if (type_rank(properties[i].deviceType) > type_rank(properties[best].deviceType))
            best = i;
        if (i + 1 == count)
            chosen = best;
    }
    instance->gpu = gpus[chosen];
    instance->properties = properties[chosen];
    instance->vk.GetPhysicalDeviceMemoryProperties(instance->gpu, &instance->memory);
    /* All physical devices of the trace's instance are this one. */
    for (uint64_t i = 1; i < r->tables[GEN_HANDLE_VkPhysicalDevice].count; i++) {
        struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkPhysicalDevice, i);
        void *record = object && object->owner == instance ? object->record : NULL;
        if (!object || object->owner != instance)
            continue;
        replay_object_remove(r, GEN_HANDLE_VkPhysicalDevice, i);
        status =
            replay_object_add(r, GEN_HANDLE_VkPhysicalDevice, i, (uint64_t)(uintptr_t)instance->gpu, instance, &object);
        if (status != LAP_OK) {
            free(record);
            return status;
        }
        object->record = record;
    }
    return LAP_OK;
}

static const char *type_name(VkPhysicalDeviceType type)
{
    static const char *const names[] = {"other", "cpu", "virtual", "integrated", "discrete"};
    return names[type_rank(type)];
}

enum lap_status replay_list_gpus(void)
{
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    void *loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    PFN_vkGetInstanceProcAddr get = loader ? (PFN_vkGetInstanceProcAddr)dlsym(loader, "vkGetInstanceProcAddr") : NULL;
    PFN_vkCreateInstance create = get ? (PFN_vkCreateInstance)get(NULL, "vkCreateInstance") : NULL;
    VkPhysicalDevice gpus[MAX_GPUS];
    struct gen_instance_dispatch vk;
    enum lap_status status;
    VkInstance instance;
    uint32_t count = 0;

    if (!create || create(&info, NULL, &instance) < 0)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "there is no working Vulkan loader here");
    gen_load_instance_dispatch(&vk, get, instance, application.apiVersion);
    status = enumerate(&vk, instance, gpus, &count);
    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        VkPhysicalDeviceProperties properties;
        vk.GetPhysicalDeviceProperties(gpus[i], &properties);
        printf("%" PRIu32 "\t%s\t%s, Vulkan %u.%u.%u\n", i, properties.deviceName, type_name(properties.deviceType),
               VK_API_VERSION_MAJOR(properties.apiVersion), VK_API_VERSION_MINOR(properties.apiVersion),
               VK_API_VERSION_PATCH(properties.apiVersion));
    }
    vk.DestroyInstance(instance, NULL);
    return status;
}
