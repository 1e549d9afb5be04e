/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/gpu.h"
#include "replayer/match.h"
#include "replayer/memory.h"
#include "replayer/player.h"
#include "replayer/report.h"
#include "replayer/resource.h"
#include "replayer/submit.h"

#define KINDS (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT)

struct families {
    VkQueueFamilyProperties here[REPLAY_MAX_FAMILIES];
    uint32_t count;
};

/* What work a family takes; graphics and compute include transfer, whether a driver says so or not. */
static VkQueueFlags kinds_of(VkQueueFlags flags)
{
    if (flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT))
        flags |= VK_QUEUE_TRANSFER_BIT;
    return flags & KINDS;
}

/* ---- queue families ---- */

uint32_t replay_map_family(struct replay_device *dev, uint32_t family)
{
    if (family >= REPLAY_MAX_FAMILIES)
        return family;
    dev->last_family = family;
    return dev->family_map[family];
}

uint32_t replay_map_families(struct replay_device *dev, uint32_t *families, uint32_t count)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t family = replay_map_family(dev, families[i]);
        bool seen = false;
        for (uint32_t j = 0; j < kept; j++)
            seen = seen || families[j] == family;
        if (!seen)
            families[kept++] = family;
    }
    return kept;
}

bool replay_is_acquire(const struct replay_device *dev, uint32_t source, uint32_t destination)
{
    return source != destination && source < REPLAY_MAX_FAMILIES && destination < REPLAY_MAX_FAMILIES &&
           dev->family_map[source] == dev->family_map[destination] && dev->block_family == destination;
}

#define KINDS_BYTES 64

/* " graphics compute", and so on. */
static void write_kinds(VkQueueFlags kinds, char out[KINDS_BYTES])
{
    snprintf(out, KINDS_BYTES, "%s%s%s%s", kinds & VK_QUEUE_GRAPHICS_BIT ? " graphics" : "",
             kinds & VK_QUEUE_COMPUTE_BIT ? " compute" : "", kinds & VK_QUEUE_TRANSFER_BIT ? " transfer" : "",
             kinds & VK_QUEUE_SPARSE_BINDING_BIT ? " sparse binding" : "");
}

static void report_family(struct replay *r, uint32_t recorded, VkQueueFlags need, uint32_t here)
{
    char name[32], kinds[KINDS_BYTES];

    write_kinds(need, kinds);
    snprintf(name, sizeof name, "%" PRIu32, recorded);
    replay_report_add(r->report, REPLAY_AREA_QUEUES, REPLAY_MAPPED, name,
                      "it is family %" PRIu32 " here (needed for:%s)", here, need ? kinds : " nothing that is known");
}

static enum lap_status map_family(struct replay *r, struct replay_device *dev, const struct families *families,
                                  uint32_t recorded, VkQueueFlags recorded_flags)
{
    VkQueueFlags need = kinds_of(recorded_flags);
    char kinds[KINDS_BYTES];

    if (recorded < families->count && (kinds_of(families->here[recorded].queueFlags) & need) == need) {
        dev->family_map[recorded] = recorded;
        report_family(r, recorded, need, recorded);
        return LAP_OK;
    }
    for (uint32_t i = 0; i < families->count; i++)
        if ((kinds_of(families->here[i].queueFlags) & need) == need) {
            dev->family_map[recorded] = i;
            dev->families_differ = true;
            report_family(r, recorded, need, i);
            return LAP_OK;
        }
    write_kinds(need, kinds);
    return lap_fail(LAP_ERROR_UNSUPPORTED,
                    "%s has no queue family for%s, as family %" PRIu32 " of the recorded machine",
                    dev->instance->properties.deviceName, kinds, recorded);
}

/* The refusal that a replay ends with. The report goes on as if the family were the first one here. */
static void report_no_family(struct replay *r, uint32_t recorded, enum lap_status status)
{
    char name[32];

    snprintf(name, sizeof name, "%" PRIu32, recorded);
    replay_report_add(r->report, REPLAY_AREA_QUEUES, REPLAY_REFUSED, name, "%s", lap_error_message());
    replay_report_refusal(r, status);
}

/* Only a device that was made for it binds pages. */
static bool binds_pages(const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceFeatures2 *features =
        replay_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    return features ? features->features.sparseBinding
                    : info->pEnabledFeatures && info->pEnabledFeatures->sparseBinding;
}

static enum lap_status map_all_families(struct replay *r, struct replay_device *dev,
                                        const struct replay_recorded_gpu *recorded, const VkDeviceCreateInfo *info,
                                        struct families *families)
{
    VkQueueFlags flags[REPLAY_MAX_FAMILIES] = {0};
    bool named[REPLAY_MAX_FAMILIES] = {false};

    families->count = REPLAY_MAX_FAMILIES;
    dev->instance->vk.GetPhysicalDeviceQueueFamilyProperties(dev->gpu, &families->count, families->here);
    for (uint32_t i = 0; recorded && i < recorded->family_count; i++) {
        flags[i] = recorded->families[i];
        if (!binds_pages(info))
            flags[i] &= ~(VkQueueFlags)VK_QUEUE_SPARSE_BINDING_BIT;
        named[i] = true;
    }
    for (uint32_t i = 0; i < info->queueCreateInfoCount && info->pQueueCreateInfos; i++) {
        if (info->pQueueCreateInfos[i].queueFamilyIndex >= REPLAY_MAX_FAMILIES)
            return replay_fail(r, "queue family %" PRIu32 " can't be right",
                               info->pQueueCreateInfos[i].queueFamilyIndex);
        named[info->pQueueCreateInfos[i].queueFamilyIndex] = true;
    }
    for (uint32_t i = 0; i < REPLAY_MAX_FAMILIES; i++) {
        enum lap_status status = named[i] ? map_family(r, dev, families, i, flags[i]) : LAP_OK;
        bool created = false;
        if (status != LAP_OK && r->options.force) /* it does without what is missing */
            status = map_family(r, dev, families, i, flags[i] & ~(VkQueueFlags)VK_QUEUE_SPARSE_BINDING_BIT);
        for (uint32_t j = 0; j < info->queueCreateInfoCount && info->pQueueCreateInfos; j++)
            created = created || info->pQueueCreateInfos[j].queueFamilyIndex == i;
        /* A family that the device has no queue of need not exist here. */
        if (status == LAP_OK || !created)
            continue;
        if (!r->report || !families->count)
            return status;
        report_no_family(r, i, status);
        dev->family_map[i] = 0;
    }
    return LAP_OK;
}

/* ---- queues ---- */

static const float *priorities_of(struct replay *r, uint32_t count)
{
    float *priorities = replay_scratch(r, count, sizeof *priorities);

    for (uint32_t i = 0; priorities && i < count; i++)
        priorities[i] = 1.0f;
    return priorities;
}

/* One VkDeviceQueueCreateInfo for each family here that recorded queues map to, with as many queues as there can be. */
static enum lap_status plan_queues(struct replay *r, struct replay_device *dev, const struct families *families,
                                   const VkDeviceCreateInfo *recorded, VkDeviceCreateInfo *out)
{
    uint32_t wanted[REPLAY_MAX_FAMILIES] = {0};
    VkDeviceQueueCreateInfo *infos = replay_scratch(r, REPLAY_MAX_FAMILIES, sizeof *infos);
    uint32_t count = 0;

    if (!infos)
        return replay_no_scratch(r);
    for (uint32_t i = 0; i < recorded->queueCreateInfoCount && recorded->pQueueCreateInfos; i++) {
        const VkDeviceQueueCreateInfo *info = &recorded->pQueueCreateInfos[i];
        uint32_t family = dev->family_map[info->queueFamilyIndex], most = families->here[family].queueCount;
        if (info->queueCount > most - wanted[family])
            replay_report_add(r->report, REPLAY_AREA_QUEUES, REPLAY_MAPPED, "queues",
                              "family %" PRIu32 " here has %" PRIu32 " queues, which stand for more of the trace",
                              family, most);
        wanted[family] = info->queueCount < most - wanted[family] ? wanted[family] + info->queueCount : most;
    }
    for (uint32_t family = 0; family < families->count; family++) {
        if (!wanted[family])
            continue;
        infos[count] = (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                                 .queueFamilyIndex = family,
                                                 .queueCount = wanted[family],
                                                 .pQueuePriorities = priorities_of(r, wanted[family])};
        if (!infos[count++].pQueuePriorities)
            return replay_no_scratch(r);
        dev->queue_count += wanted[family];
    }
    if (count == 0)
        return replay_fail(r, "a device without queues");
    /* Recorded priorities are kept where nothing was merged. */
    for (uint32_t i = 0; i < recorded->queueCreateInfoCount; i++)
        for (uint32_t j = 0; j < count; j++)
            if (infos[j].queueFamilyIndex == dev->family_map[recorded->pQueueCreateInfos[i].queueFamilyIndex] &&
                infos[j].queueCount == recorded->pQueueCreateInfos[i].queueCount &&
                recorded->pQueueCreateInfos[i].pQueuePriorities)
                infos[j].pQueuePriorities = recorded->pQueueCreateInfos[i].pQueuePriorities;
    out->queueCreateInfoCount = count;
    out->pQueueCreateInfos = infos;
    return LAP_OK;
}

/* How well a queue serves the replay's own copies. */
static unsigned rank(VkQueueFlags flags)
{
    return flags & VK_QUEUE_GRAPHICS_BIT ? 3 : flags & VK_QUEUE_COMPUTE_BIT ? 2 : flags & VK_QUEUE_TRANSFER_BIT ? 1 : 0;
}

static enum lap_status take_queues(struct replay *r, struct replay_device *dev, const struct families *families,
                                   const VkDeviceCreateInfo *info)
{
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
    uint32_t taken = 0;

    dev->queues = calloc(dev->queue_count, sizeof *dev->queues);
    if (!dev->queues)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for queues");
    for (uint32_t i = 0; i < info->queueCreateInfoCount; i++)
        for (uint32_t j = 0; j < info->pQueueCreateInfos[i].queueCount; j++) {
            struct replay_queue *queue = &dev->queues[taken++];
            queue->family = info->pQueueCreateInfos[i].queueFamilyIndex;
            queue->number = j;
            queue->flags = families->here[queue->family].queueFlags;
            dev->vk.GetDeviceQueue(dev->live, queue->family, j, &queue->live);
            if (!dev->main_queue || rank(queue->flags) > rank(dev->main_queue->flags))
                dev->main_queue = queue;
        }
    pool.queueFamilyIndex = dev->main_queue->family;
    return replay_result(r, dev->vk.CreateCommandPool(dev->live, &pool, NULL, &dev->pool));
}

/* ---- devices ---- */

/* The recorded physical device: the first parameter of the current packet. */
static const struct replay_recorded_gpu *recorded_gpu(struct replay *r)
{
    struct lap_dec dec;
    struct replay_object *object;

    lap_dec_init(&dec, r->packet.body, r->packet.bytes, &r->arena, &r->source);
    object = replay_object_get(r, GEN_HANDLE_VkPhysicalDevice, lap_get_u64(&dec));
    return object ? object->record : NULL;
}

static bool names_swapchain(const VkDeviceCreateInfo *info)
{
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        if (strcmp(info->ppEnabledExtensionNames[i], VK_KHR_SWAPCHAIN_EXTENSION_NAME) == 0)
            return true;
    return false;
}

static enum lap_status create(struct replay *r, struct replay_device *dev, const VkDeviceCreateInfo *recorded)
{
    struct replay_instance *instance = dev->instance;
    PFN_vkGetDeviceProcAddr get =
        (PFN_vkGetDeviceProcAddr)r->get_instance_proc_addr(instance->live, "vkGetDeviceProcAddr");
    struct families families;
    VkDeviceCreateInfo info;
    enum lap_status status;
    VkResult result;

    status = map_all_families(r, dev, recorded_gpu(r), recorded, &families);
    if (status == LAP_OK)
        status = replay_match_device(r, instance, recorded, &info);
    if (status == LAP_OK)
        status = plan_queues(r, dev, &families, recorded, &info);
    if (status != LAP_OK)
        return status;
    result = instance->vk.CreateDevice(dev->gpu, &info, NULL, &dev->live);
    if (result == VK_ERROR_FEATURE_NOT_PRESENT || result == VK_ERROR_EXTENSION_NOT_PRESENT)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "vkCreateDevice gives %s", replay_result_name(result));
    if (result < 0)
        return replay_result(r, result);
    dev->has_swapchain = names_swapchain(&info);
    gen_load_device_dispatch(&dev->vk, get, dev->live,
                             instance->properties.apiVersion < instance->api_version ? instance->properties.apiVersion
                                                                                     : instance->api_version);
    status = take_queues(r, dev, &families, &info);
    return status == LAP_OK ? replay_planner_create(r, dev) : status;
}

enum lap_status replay_CreateDevice(struct replay *r, struct replay_instance *instance,
                                    struct gen_args_vkCreateDevice *args)
{
    const struct replay_recorded_gpu *recorded = recorded_gpu(r);
    struct replay_device *dev;
    enum lap_status status;

    if (!r->devices && !r->options.gpu && recorded && recorded->name[0] &&
        strcmp(recorded->name, instance->properties.deviceName) != 0) {
        status = replay_choose_gpu(r, instance, recorded->name);
        if (status != LAP_OK)
            return status;
    }
    dev = calloc(1, sizeof *dev);
    if (!dev)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a device");
    dev->instance = instance;
    dev->gpu = instance->gpu;
    dev->index = gen_u64_VkDevice(*args->pDevice);
    dev->block_family = UINT32_MAX;
    for (uint32_t i = 0; i < REPLAY_MAX_FAMILIES; i++)
        dev->family_map[i] = i;
    if (r->report)
        replay_report_gpu(r->report, instance);
    if (!r->devices)
        lap_log(r->log, LAP_LOG_INFO, "playing on %s", instance->properties.deviceName);
    dev->next = r->devices;
    r->devices = dev;
    status = create(r, dev, args->pCreateInfo);
    if (status == LAP_OK)
        status = replay_object_add(r, GEN_HANDLE_VkDevice, dev->index, gen_u64_VkDevice(dev->live), dev, NULL);
    if (status != LAP_OK)
        replay_device_destroy(r, dev);
    return status;
}

/* Waits until the fence that was submitted last is signalled, and resets it. */
static bool take_idle_fence(struct replay_device *dev, uint64_t limit_ns)
{
    if (dev->vk.WaitForFences(dev->live, 1, &dev->idle_fence, VK_TRUE, limit_ns) != VK_SUCCESS)
        return false;
    dev->idle_pending = false;
    return dev->vk.ResetFences(dev->live, 1, &dev->idle_fence) == VK_SUCCESS;
}

bool replay_device_finishes(struct replay_device *dev, uint64_t limit_ns)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};

    if (!dev->live || !dev->vk.CreateFence || !dev->queues)
        return true;
    if (!dev->idle_fence && dev->vk.CreateFence(dev->live, &info, NULL, &dev->idle_fence) < 0)
        return false;
    if (dev->idle_pending && !take_idle_fence(dev, limit_ns))
        return false;
    for (uint32_t i = 0; i < dev->queue_count; i++) {
        if (dev->vk.QueueSubmit(dev->queues[i].live, 0, NULL, dev->idle_fence) != VK_SUCCESS)
            return false;
        dev->idle_pending = true;
        if (!take_idle_fence(dev, limit_ns))
            return false;
    }
    return true;
}

void replay_device_destroy(struct replay *r, struct replay_device *dev)
{
    struct replay_device **at = &r->devices;

    if (dev->live && dev->vk.DeviceWaitIdle)
        (void)dev->vk.DeviceWaitIdle(dev->live);
    replay_submits_end(dev);
    replay_destroy_left(r, dev);
    replay_planner_destroy(r, dev);
    if (dev->idle_fence)
        dev->vk.DestroyFence(dev->live, dev->idle_fence, NULL);
    if (dev->pool)
        dev->vk.DestroyCommandPool(dev->live, dev->pool, NULL);
    if (dev->live && dev->vk.DestroyDevice)
        dev->vk.DestroyDevice(dev->live, NULL);
    while (*at != dev)
        at = &(*at)->next;
    *at = dev->next;
    free(dev->queues);
    free(dev);
}

enum lap_status replay_DestroyDevice(struct replay *r, struct replay_device *dev, struct gen_args_vkDestroyDevice *args)
{
    replay_device_destroy(r, dev);
    return LAP_OK;
}
