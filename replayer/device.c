/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/address.h"
#include "replayer/converter.h"
#include "replayer/events.h"
#include "replayer/format.h"
#include "replayer/gpu.h"
#include "replayer/match.h"
#include "replayer/measure.h"
#include "replayer/memory.h"
#include "replayer/pending.h"
#include "replayer/player.h"
#include "replayer/push.h"
#include "replayer/queues.h"
#include "replayer/report.h"
#include "replayer/resource.h"
#include "replayer/stages.h"
#include "replayer/submit.h"
#include "replayer/wait.h"

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

static bool names(const VkDeviceCreateInfo *info, const char *extension)
{
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        if (strcmp(info->ppEnabledExtensionNames[i], extension) == 0)
            return true;
    return false;
}

static bool zeroes_memory(const VkDeviceCreateInfo *info)
{
#ifdef VK_EXT_zero_initialize_device_memory
    const VkPhysicalDeviceZeroInitializeDeviceMemoryFeaturesEXT *features =
        replay_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ZERO_INITIALIZE_DEVICE_MEMORY_FEATURES_EXT);

    return features && features->zeroInitializeDeviceMemory;
#else
    (void)info;
    return false;
#endif
}

/* Queue families, extensions and features: all that is lacking is said in one sentence. */
static enum lap_status match(struct replay *r, struct replay_device *dev, const VkDeviceCreateInfo *recorded,
                             VkDeviceCreateInfo *out)
{
    enum lap_status queues = replay_queues_plan(r, dev, recorded_gpu(r), recorded), status;
    char lacking[512];

    if (queues != LAP_OK && queues != LAP_ERROR_UNSUPPORTED)
        return queues;
    snprintf(lacking, sizeof lacking, "%s", queues == LAP_OK ? "" : lap_error_message());
    status = replay_match_device(r, dev->instance, recorded, out);
    if (queues == LAP_OK || (status != LAP_OK && status != LAP_ERROR_UNSUPPORTED))
        return status;
    return status == LAP_OK ? lap_fail(queues, "%s", lacking)
                            : lap_fail(queues, "%s; %s", lacking, lap_error_message());
}

static enum lap_status create(struct replay *r, struct replay_device *dev, const VkDeviceCreateInfo *recorded)
{
    struct replay_instance *instance = dev->instance;
    PFN_vkGetDeviceProcAddr get =
        (PFN_vkGetDeviceProcAddr)r->get_instance_proc_addr(instance->live, "vkGetDeviceProcAddr");
    VkDeviceCreateInfo info;
    enum lap_status status;
    VkResult result;

    status = match(r, dev, recorded, &info);
    if (status == LAP_OK)
        status = replay_queues_ask(r, dev, recorded, &info);
    if (status != LAP_OK)
        return status;
    replay_address_prepare(r, dev, &info);
    result = instance->vk.CreateDevice(dev->gpu, &info, NULL, &dev->live);
    if (result == VK_ERROR_FEATURE_NOT_PRESENT || result == VK_ERROR_EXTENSION_NOT_PRESENT)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "vkCreateDevice gives %s", replay_result_name(result));
    if (result < 0)
        return replay_result(r, result);
    dev->allowances = gen_allowances_of(&info);
    dev->has_swapchain = names(&info, VK_KHR_SWAPCHAIN_EXTENSION_NAME);
    dev->nested_command_buffers = names(&info, "VK_EXT_nested_command_buffer");
    /* Presented images are plain ones here, which can have a layout that every device knows. */
    if (!dev->has_swapchain && names(recorded, VK_KHR_SWAPCHAIN_EXTENSION_NAME)) {
        r->source.layout_from = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR;
        r->source.layout_to = VK_IMAGE_LAYOUT_GENERAL;
    }
    replay_stages_choose(r, &info);
    replay_address_begin(dev, &info);
    dev->zeroes_memory = zeroes_memory(&info);
    gen_load_device_dispatch(&dev->vk, get, dev->live,
                             instance->properties.apiVersion < instance->api_version ? instance->properties.apiVersion
                                                                                     : instance->api_version);
    status = replay_push_create(r, dev, recorded);
    if (status == LAP_OK)
        status = replay_require_commands(r, dev);
    if (status == LAP_OK)
        status = replay_queues_take(r, dev, &info);
    if (status == LAP_OK)
        status = replay_formats_choose(r, dev);
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
    if (r->report)
        replay_report_gpu(r->report, instance);
    if (!r->devices)
        lap_log(r->log, LAP_LOG_INFO, "playing on %s", instance->properties.deviceName);
    dev->next = r->devices;
    r->devices = dev;
    replay_tables_show(r);
    replay_spirv_target_init(&dev->spirv,
                             instance->api_version < instance->properties.apiVersion ? instance->api_version
                                                                                     : instance->properties.apiVersion,
                             args->pCreateInfo);
    status = create(r, dev, args->pCreateInfo);
    if (status == LAP_OK)
        status = replay_object_add(r, GEN_HANDLE_VkDevice, dev->index, gen_u64_VkDevice(dev->live), dev, NULL);
    if (status != LAP_OK)
        replay_device_destroy(r, dev);
    else if (!r->report && !dev->next)
        replay_warn_of_offsets(r, instance, recorded);
    return status;
}

static bool queue_finishes(struct replay_device *dev, struct replay_queue *queue, uint64_t limit_ns)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};

    if (!queue->idle_fence && dev->vk.CreateFence(dev->live, &info, NULL, &queue->idle_fence) < 0)
        return false;
    /* One that is pending stands in front of what came since. */
    for (int left = 1 + queue->idle_pending; left; left--) {
        if (!queue->idle_pending && dev->vk.QueueSubmit(queue->live, 0, NULL, queue->idle_fence) != VK_SUCCESS)
            return false;
        queue->idle_pending = true;
        if (dev->vk.WaitForFences(dev->live, 1, &queue->idle_fence, VK_TRUE, limit_ns) != VK_SUCCESS)
            return false;
        queue->idle_pending = false;
        if (dev->vk.ResetFences(dev->live, 1, &queue->idle_fence) != VK_SUCCESS)
            return false;
    }
    return true;
}

bool replay_device_finishes(struct replay_device *dev, uint64_t limit_ns)
{
    if (!dev->live || !dev->vk.CreateFence || !dev->queues)
        return true;
    for (uint32_t i = 0; i < dev->queue_count; i++)
        if (!queue_finishes(dev, &dev->queues[i], limit_ns))
            return false;
    return true;
}

void replay_device_destroy(struct replay *r, struct replay_device *dev)
{
    struct replay_device **at = &r->devices;

    if (dev->live && dev->vk.DeviceWaitIdle) /* nothing is under way, or replay_wait_device has waited for it */
        (void)dev->vk.DeviceWaitIdle(dev->live);
    for (uint32_t i = 0; i < dev->queue_count; i++)
        replay_pending_over(dev, &dev->queues[i]);
    replay_submits_end(dev);
    replay_destroy_left(r, dev);
    replay_measure_device(r, dev);
    replay_address_finish(r, dev);
    replay_converter_destroy(dev);
    replay_push_destroy(dev);
    replay_events_finish(dev);
    replay_planner_destroy(r, dev);
    replay_pending_finish(dev);
    for (uint32_t i = 0; i < dev->queue_count; i++)
        if (dev->queues[i].idle_fence)
            dev->vk.DestroyFence(dev->live, dev->queues[i].idle_fence, NULL);
    if (dev->pool)
        dev->vk.DestroyCommandPool(dev->live, dev->pool, NULL);
    if (dev->live && dev->vk.DestroyDevice)
        dev->vk.DestroyDevice(dev->live, NULL);
    while (*at != dev)
        at = &(*at)->next;
    *at = dev->next;
    replay_tables_show(r);
    free(dev->queues);
    free(dev);
}

enum lap_status replay_DestroyDevice(struct replay *r, struct replay_device *dev, struct gen_args_vkDestroyDevice *args)
{
    enum lap_status status = replay_wait_device(r, dev, "all that was submitted");

    if (status == LAP_OK)
        replay_device_destroy(r, dev);
    return status;
}
