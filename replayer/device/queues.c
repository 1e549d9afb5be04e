/* SPDX-License-Identifier: MIT */
#include "replayer/device/queues.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/analysis/analysis.h"
#include "replayer/analysis/recorded_machine.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/core/report.h"
#include "replayer/device/queue_families.h"
#include "vulkan/chain.h"

/* ---- family indices in decoded arguments ---- */

uint32_t replay_queue_map_family(struct replay *r, const struct replay_device *dev, uint32_t family)
{
    if (family == VK_QUEUE_FAMILY_FOREIGN_EXT && dev->queues.lacks_foreign)
        return VK_QUEUE_FAMILY_EXTERNAL;
    if (family >= REPLAY_MAX_FAMILIES)
        return family;
    r->at.mapped_family = family;
    return dev->queues.plan->families[family];
}

uint32_t replay_queue_map_families(struct replay *r, const struct replay_device *dev, uint32_t *families,
                                   uint32_t count)
{
    uint32_t unique = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t family = replay_queue_map_family(r, dev, families[i]);
        bool seen = false;
        for (uint32_t j = 0; j < unique; j++)
            seen = seen || families[j] == family;
        if (!seen)
            families[unique++] = family;
    }
    return unique;
}

/* ---- planning ---- */

static uint32_t families_of_gpu(const struct replay_device *dev, VkQueueFamilyProperties out[REPLAY_MAX_FAMILIES])
{
    uint32_t count = REPLAY_MAX_FAMILIES;

    dev->instance->vk.GetPhysicalDeviceQueueFamilyProperties(dev->gpu, &count, out);
    return count;
}

/* Whether the device enables sparse binding. */
static bool binds_pages(const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceFeatures2 *features =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    return features ? features->features.sparseBinding
                    : info->pEnabledFeatures && info->pEnabledFeatures->sparseBinding;
}

/* Collects the requirements that the create info holds, without a pass over the trace. */
static enum lap_status gather(struct replay *r, const struct replay_recorded_gpu *gpu, const VkDeviceCreateInfo *info,
                              struct replay_recorded_family recorded[REPLAY_MAX_FAMILIES])
{
    for (uint32_t i = 0; gpu && i < gpu->family_count; i++) {
        recorded[i].flags = gpu->families[i].queueFlags;
        recorded[i].granularity = gpu->families[i].minImageTransferGranularity;
        if (!binds_pages(info))
            recorded[i].flags &= ~(VkQueueFlags)VK_QUEUE_SPARSE_BINDING_BIT;
    }
    for (uint32_t i = 0; i < info->queueCreateInfoCount && info->pQueueCreateInfos; i++) {
        const VkDeviceQueueCreateInfo *queues = &info->pQueueCreateInfos[i];
        if (queues->queueFamilyIndex >= REPLAY_MAX_FAMILIES)
            return replay_fail(r, "queue family %" PRIu32 " can't be right", queues->queueFamilyIndex);
        if (queues->queueCount > UINT32_MAX - recorded[queues->queueFamilyIndex].queue_count)
            return replay_fail(r, "%" PRIu32 " queues can't be right", queues->queueCount);
        recorded[queues->queueFamilyIndex].queue_count += queues->queueCount;
    }
    return LAP_OK;
}

static void take_use(struct replay_recorded_family *family, const struct queue_family_use *use)
{
    family->needs.one_of |= use->one_of;
    family->needs.other |= use->other;
    replay_family_needs_sets(&family->needs, use->by_arguments, family->flags);
    replay_family_needs_stages(&family->needs, use->stages, family->flags);
    family->needs.image_copies = use->image_copies;
    family->needs.timestamps = use->timestamps;
}

/* Finds how the trace uses each family. If the pass fails, a family needs all that it supported. */
static void find_use(struct replay *r, const struct replay_device *dev,
                     struct replay_recorded_family recorded[REPLAY_MAX_FAMILIES])
{
    enum lap_status status = replay_analyze(r, REPLAY_ANALYSIS_OTHER_DEVICE);

    for (uint32_t i = 0; i < REPLAY_MAX_FAMILIES; i++) {
        const struct queue_family_use *use =
            status == LAP_OK ? queue_use_of(trace_analysis_queues(r->analysis.trace), dev->index, i) : NULL;
        if (use) {
            take_use(&recorded[i], use);
        } else if (status != LAP_OK) {
            replay_family_needs_flags(&recorded[i].needs, recorded[i].flags);
            recorded[i].needs.image_copies = recorded[i].needs.timestamps = true;
        }
    }
}

static void report_unfit(struct replay *r, uint32_t recorded)
{
    static const char text[] =
        "no family of this GPU that takes its work copies parts of images as small as it did, or writes "
        "timestamps if it did";
    char name[32];

    snprintf(name, sizeof name, "%" PRIu32 ", parts", recorded);
    replay_report_add(r->report, REPLAY_AREA_QUEUES, REPLAY_IGNORED, name, "%s", text);
    if (!r->report)
        lap_log(r->log, LAP_LOG_WARNING, "queue family %" PRIu32 ": %s", recorded, text);
}

static void report_plan(struct replay *r, const struct replay_device *dev,
                        const struct replay_recorded_family recorded[REPLAY_MAX_FAMILIES], bool same)
{
    const struct replay_queue_plan *plan = dev->queues.plan;

    for (uint32_t i = 0; i < REPLAY_MAX_FAMILIES; i++) {
        struct replay_family_needs needs = recorded[i].needs;
        char name[32], kinds[REPLAY_KINDS_BYTES];
        if (!recorded[i].queue_count || i == plan->failed)
            continue;
        if (same)
            replay_family_needs_flags(&needs, recorded[i].flags);
        replay_family_needs_write(&needs, kinds);
        snprintf(name, sizeof name, "%" PRIu32, i);
        replay_report_add(r->report, REPLAY_AREA_QUEUES, REPLAY_MAPPED, name,
                          "it is family %" PRIu32 " of this GPU (%s: %s)", plan->families[i],
                          same ? "it had" : "needed for", kinds);
    }
    for (uint32_t i = 0; i < REPLAY_MAX_FAMILIES; i++)
        if (plan->unfit >> i & 1)
            report_unfit(r, i);
    if (plan->shared)
        replay_report_add(r->report, REPLAY_AREA_QUEUES, REPLAY_MAPPED, "queues",
                          "this GPU has fewer queues, so some serve several of the trace");
}

/* Reports the refusal that ends the replay. The report continues as if the family mapped to family 0. */
static enum lap_status report_no_family(struct replay *r, uint32_t recorded, enum lap_status status)
{
    char name[32];

    if (!r->report)
        return status;
    snprintf(name, sizeof name, "%" PRIu32, recorded);
    replay_report_add(r->report, REPLAY_AREA_QUEUES, REPLAY_REFUSED, name, "%s", lap_error_message());
    return replay_report_refusal(r, status);
}

/* Transfers to and from devices of other makes: without the extension, to and from others of the same make. */
static bool lacks_foreign(const struct replay_device *dev, const VkDeviceCreateInfo *info)
{
    const char *name = VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME;
    VkExtensionProperties *have;
    bool wanted = false, lacks = true;
    uint32_t count = 0;

    for (uint32_t i = 0; i < info->enabledExtensionCount && info->ppEnabledExtensionNames; i++)
        wanted |= info->ppEnabledExtensionNames[i] && strcmp(info->ppEnabledExtensionNames[i], name) == 0;
    if (!wanted || dev->instance->vk.EnumerateDeviceExtensionProperties(dev->gpu, NULL, &count, NULL) < 0)
        return false;
    have = calloc(count + 1, sizeof *have);
    if (!have || dev->instance->vk.EnumerateDeviceExtensionProperties(dev->gpu, NULL, &count, have) < 0)
        count = 0;
    for (uint32_t i = 0; i < count; i++)
        lacks &= strcmp(have[i].extensionName, name) != 0;
    free(have);
    return lacks;
}

enum lap_status replay_queues_plan(struct replay *r, struct replay_device *dev,
                                   const struct replay_recorded_gpu *recorded_gpu, const VkDeviceCreateInfo *info)
{
    struct replay_recorded_family recorded[REPLAY_MAX_FAMILIES] = {{0}};
    struct replay_queue_plan *plan = dev->queues.plan;
    VkQueueFamilyProperties available[REPLAY_MAX_FAMILIES];
    uint32_t count = families_of_gpu(dev, available);
    char kinds[REPLAY_KINDS_BYTES];
    enum lap_status status = gather(r, recorded_gpu, info, recorded);
    bool same;

    if (status != LAP_OK)
        return status;
    if (!count)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "%s has no queues", dev->instance->properties.deviceName);
    same = replay_queue_plan_identity(recorded, available, count, plan);
    if (!same) {
        find_use(r, dev, recorded);
        status = replay_queue_plan_choose(recorded, available, count, r->options.force, plan);
    }
    if (status == LAP_ERROR_UNSUPPORTED) {
        replay_family_needs_write(&recorded[plan->failed].needs, kinds);
        status = report_no_family(r, plan->failed,
                                  lap_fail(status,
                                           "%s has no queue family for %s, which the trace does on family "
                                           "%" PRIu32 " of the recorded machine",
                                           dev->instance->properties.deviceName, kinds, plan->failed));
    }
    dev->queues.lacks_foreign = lacks_foreign(dev, info);
    dev->queues.families_differ = plan->differs || dev->queues.lacks_foreign;
    report_plan(r, dev, recorded, same);
    return status;
}

/* ---- the device's queues ---- */

/* A queue has the priority of the first recorded queue that maps to it. */
static void set_priorities(const struct replay_queue_plan *plan, const VkDeviceCreateInfo *recorded, uint32_t family,
                           float *priorities)
{
    uint32_t count = plan->queue_counts[family];

    for (uint32_t i = 0; i < count; i++)
        priorities[i] = -1;
    for (uint32_t i = 0; i < recorded->queueCreateInfoCount; i++) {
        const VkDeviceQueueCreateInfo *info = &recorded->pQueueCreateInfos[i];
        if (plan->families[info->queueFamilyIndex] != family || !info->pQueuePriorities)
            continue;
        for (uint32_t j = 0; j < info->queueCount && j < count; j++) {
            float *priority = &priorities[replay_queue_plan_number(plan, info->queueFamilyIndex, j)];
            if (*priority < 0)
                *priority = info->pQueuePriorities[j];
        }
    }
    for (uint32_t i = 0; i < count; i++)
        if (!(priorities[i] >= 0 && priorities[i] <= 1))
            priorities[i] = 1;
}

enum lap_status replay_queues_request(struct replay *r, struct replay_device *dev, const VkDeviceCreateInfo *recorded,
                                      VkDeviceCreateInfo *out)
{
    VkDeviceQueueCreateInfo *infos = replay_scratch(r, REPLAY_MAX_FAMILIES, sizeof *infos);
    uint32_t count = 0;

    if (!infos)
        return replay_no_scratch(r);
    for (uint32_t i = 0; i < REPLAY_MAX_FAMILIES; i++) {
        uint32_t queues = dev->queues.plan->queue_counts[i];
        float *priorities = queues ? replay_scratch(r, queues, sizeof *priorities) : NULL;
        if (!queues)
            continue;
        if (!priorities)
            return replay_no_scratch(r);
        set_priorities(dev->queues.plan, recorded, i, priorities);
        infos[count++] = (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                                   .queueFamilyIndex = i,
                                                   .queueCount = queues,
                                                   .pQueuePriorities = priorities};
    }
    if (count == 0)
        return replay_fail(r, "a device without queues");
    out->queueCreateInfoCount = count;
    out->pQueueCreateInfos = infos;
    return LAP_OK;
}

/* Ranks a queue family for the replay's own copies. */
static unsigned rank(VkQueueFlags flags)
{
    return flags & VK_QUEUE_GRAPHICS_BIT ? 3 : flags & VK_QUEUE_COMPUTE_BIT ? 2 : flags & VK_QUEUE_TRANSFER_BIT ? 1 : 0;
}

enum lap_status replay_queues_get(struct replay *r, struct replay_device *dev, const VkDeviceCreateInfo *info)
{
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
    VkQueueFamilyProperties available[REPLAY_MAX_FAMILIES];
    uint32_t count = 0;

    (void)families_of_gpu(dev, available);
    for (uint32_t i = 0; i < info->queueCreateInfoCount; i++)
        count += info->pQueueCreateInfos[i].queueCount;
    dev->queues.all = count ? calloc(count, sizeof *dev->queues.all) : NULL;
    if (!dev->queues.all)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for queues");
    for (uint32_t i = 0; i < info->queueCreateInfoCount; i++) {
        dev->queues.families[dev->queues.family_count++] = info->pQueueCreateInfos[i].queueFamilyIndex;
        for (uint32_t j = 0; j < info->pQueueCreateInfos[i].queueCount; j++) {
            struct replay_queue *queue = &dev->queues.all[dev->queues.count++];
            queue->family = info->pQueueCreateInfos[i].queueFamilyIndex;
            queue->number = j;
            queue->flags = available[queue->family].queueFlags;
            dev->vk.GetDeviceQueue(dev->live, queue->family, j, &queue->live);
            if (!dev->queues.main || rank(queue->flags) > rank(dev->queues.main->flags))
                dev->queues.main = queue;
        }
    }
    pool.queueFamilyIndex = dev->queues.main->family;
    return replay_result(r, dev->vk.CreateCommandPool(dev->live, &pool, NULL, &dev->queues.pool));
}

/* Several recorded queues may map to one queue of this device. A program may get the same queue many times. The decoder
 * has already mapped the family; r->at.mapped_family is the recorded one. */
struct replay_queue *replay_queue_find(const struct replay_device *dev, VkQueue live)
{
    for (uint32_t i = 0; i < dev->queues.count; i++)
        if (dev->queues.all[i].live == live)
            return &dev->queues.all[i];
    return NULL;
}

static enum lap_status give_queue(struct replay *r, struct replay_device *dev, uint32_t family, uint32_t number,
                                  uint64_t index)
{
    uint32_t recorded = dev->queues.families_differ ? r->at.mapped_family : family, live_number;

    if (replay_object_get(r, GEN_HANDLE_VkQueue, index))
        return LAP_OK;
    live_number = recorded < REPLAY_MAX_FAMILIES ? replay_queue_plan_number(dev->queues.plan, recorded, number) : 0;
    for (uint32_t i = 0; i < dev->queues.count; i++)
        if (dev->queues.all[i].family == family && dev->queues.all[i].number == live_number)
            return replay_object_add(r, GEN_HANDLE_VkQueue, index, gen_u64_VkQueue(dev->queues.all[i].live), dev, NULL);
    return replay_fail(r, "the device has no queue of family %" PRIu32, family);
}

enum lap_status replay_GetDeviceQueue(struct replay *r, struct replay_device *dev,
                                      struct gen_args_vkGetDeviceQueue *args)
{
    return give_queue(r, dev, args->queueFamilyIndex, args->queueIndex, gen_u64_VkQueue(*args->pQueue));
}

enum lap_status replay_GetDeviceQueue2(struct replay *r, struct replay_device *dev,
                                       struct gen_args_vkGetDeviceQueue2 *args)
{
    if (!*args->pQueue) /* no queue with these flags */
        return LAP_OK;
    return give_queue(r, dev, args->pQueueInfo->queueFamilyIndex, args->pQueueInfo->queueIndex,
                      gen_u64_VkQueue(*args->pQueue));
}
