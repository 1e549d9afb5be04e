/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/acceleration/acceleration.h"
#include "replayer/address/address.h"
#include "replayer/analysis/analysis.h"
#include "replayer/analysis/recorded_machine.h"
#include "replayer/command/command_events.h"
#include "replayer/core/handles.h"
#include "replayer/core/report.h"
#include "replayer/descriptor/descriptor_buffers.h"
#include "replayer/device/gpu_choice.h"
#include "replayer/device/limits.h"
#include "replayer/device/queue_families.h"
#include "replayer/device/queues.h"
#include "replayer/device/requirements.h"
#include "replayer/device/shader_validation.h"
#include "replayer/device/shading_rate.h"
#include "replayer/device/stages.h"
#include "replayer/format/format.h"
#include "replayer/format/gpu_convert.h"
#include "replayer/memory/memory.h"
#include "replayer/play/measure.h"
#include "replayer/play/player.h"
#include "replayer/ray_tracing/ray_tracing.h"
#include "replayer/resource/create.h"
#include "replayer/resource/generated_commands.h"
#include "replayer/resource/host_copy.h"
#include "replayer/resource/push_descriptors.h"
#include "replayer/sparse/sparse.h"
#include "replayer/submit/external_sync.h"
#include "replayer/submit/submit.h"
#include "replayer/sync/shown.h"
#include "replayer/sync/submission.h"
#include "replayer/sync/wait.h"
#include "vulkan/chain.h"

/* ---- devices ---- */

/* The recorded physical device: the first parameter of the current packet. */
static const struct replay_recorded_gpu *recorded_gpu(struct replay *r)
{
    struct lap_dec dec;
    struct replay_object *object;

    lap_dec_init(&dec, r->at.packet.body, r->at.packet.bytes, &r->arena, &r->source);
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

/* VUID-VkPipelineShaderStageCreateInfo-stage-08771: VkShaderModuleCreateInfo in the chain of a stage. */
static bool takes_chained_code(const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT *libraries =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT);
    bool takes = libraries && libraries->graphicsPipelineLibrary;
#ifdef VK_KHR_maintenance5
    const VkPhysicalDeviceMaintenance5FeaturesKHR *maintenance =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR);
    takes |= maintenance && maintenance->maintenance5;
#endif
#ifdef VK_VERSION_1_4
    const VkPhysicalDeviceVulkan14Features *core =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_4_FEATURES);
    takes |= core && core->maintenance5;
#endif
    return takes;
}

static bool zeroes_memory(const VkDeviceCreateInfo *info)
{
#ifdef VK_EXT_zero_initialize_device_memory
    const VkPhysicalDeviceZeroInitializeDeviceMemoryFeaturesEXT *features =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ZERO_INITIALIZE_DEVICE_MEMORY_FEATURES_EXT);

    return features && features->zeroInitializeDeviceMemory;
#else
    (void)info;
    return false;
#endif
}

static bool has_acceleration(const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceAccelerationStructureFeaturesKHR *features =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR);

    return features && features->accelerationStructure;
}

static bool separates_depth_and_stencil(const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceSeparateDepthStencilLayoutsFeatures *features =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SEPARATE_DEPTH_STENCIL_LAYOUTS_FEATURES);
    const VkPhysicalDeviceVulkan12Features *version =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);

    return (features && features->separateDepthStencilLayouts) || (version && version->separateDepthStencilLayouts);
}

/* Checks queue families, extensions and features. One message lists everything that is missing. */
static enum lap_status match(struct replay *r, struct replay_device *dev, const VkDeviceCreateInfo *recorded,
                             VkDeviceCreateInfo *out)
{
    enum lap_status queues = replay_queues_plan(r, dev, recorded_gpu(r), recorded), status;
    char lacking[512];

    if (queues != LAP_OK && queues != LAP_ERROR_UNSUPPORTED)
        return queues;
    snprintf(lacking, sizeof lacking, "%s", queues == LAP_OK ? "" : lap_error_message());
    status = replay_requirements_match(r, dev->instance, recorded, replay_format_provides, out);
    if (queues == LAP_OK || (status != LAP_OK && status != LAP_ERROR_UNSUPPORTED))
        return status;
    return status == LAP_OK ? lap_fail(queues, "%s", lacking)
                            : lap_fail(queues, "%s; %s", lacking, lap_error_message());
}

static enum lap_status create(struct replay *r, struct replay_device *dev, const VkDeviceCreateInfo *recorded)
{
    struct replay_instance *instance = dev->instance;
    PFN_vkGetDeviceProcAddr get =
        (PFN_vkGetDeviceProcAddr)r->loader.get_instance_proc_addr(instance->live, "vkGetDeviceProcAddr");
    bool pushes = replay_push_descriptors_are_enabled(recorded);
    VkDeviceCreateInfo info;
    enum lap_status status;
    VkResult result;

    status = replay_format_choose(r, dev);
    if (status == LAP_OK)
        status = match(r, dev, recorded, &info);
    if (status == LAP_OK)
        status = replay_queues_request(r, dev, recorded, &info);
    if (status != LAP_OK)
        return status;
    replay_address_prepare(r, dev, &info);
    result = instance->vk.CreateDevice(dev->gpu, &info, NULL, &dev->live);
    if (result == VK_ERROR_FEATURE_NOT_PRESENT || result == VK_ERROR_EXTENSION_NOT_PRESENT)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "vkCreateDevice gives %s", replay_result_name(result));
    if (result < 0)
        return replay_result(r, result);
    dev->enabled.allowances = gen_allowances_of(&info);
    dev->present.enabled = names(&info, VK_KHR_SWAPCHAIN_EXTENSION_NAME);
    dev->enabled.separate_depth_stencil = separates_depth_and_stencil(&info);
    dev->enabled.chained_code = takes_chained_code(&info);
    dev->enabled.nested_command_buffers = names(&info, "VK_EXT_nested_command_buffer");
    /* Presented images are plain images in a replay. Their layouts are valid on every device. */
    if (!dev->present.enabled && names(recorded, VK_KHR_SWAPCHAIN_EXTENSION_NAME))
        r->source.layouts[0] = (struct lap_dec_layout){VK_IMAGE_LAYOUT_PRESENT_SRC_KHR, VK_IMAGE_LAYOUT_GENERAL};
    if (names(recorded, VK_KHR_SHARED_PRESENTABLE_IMAGE_EXTENSION_NAME))
        r->source.layouts[1] = (struct lap_dec_layout){VK_IMAGE_LAYOUT_SHARED_PRESENT_KHR, VK_IMAGE_LAYOUT_GENERAL};
    replay_stages_choose(r, &info);
    replay_address_begin(dev, &info);
    dev->memory.zeroed = zeroes_memory(&info);
    replay_shading_rate_begin(dev, &info);
    dev->enabled.acceleration = has_acceleration(&info);
    gen_load_device_dispatch(&dev->vk, get, dev->live,
                             instance->properties.apiVersion < instance->api_version ? instance->properties.apiVersion
                                                                                     : instance->api_version);
    status = replay_push_descriptors_create(r, dev, pushes);
    if (status == LAP_OK)
        status = replay_host_copies_create(r, dev, &info);
    if (status == LAP_OK)
        status = replay_requirements_commands(r, dev);
    if (status == LAP_OK)
        status = replay_queues_get(r, dev, &info);
    if (status == LAP_OK)
        status = replay_memory_planner_create(r, dev);
    return status == LAP_OK ? replay_descriptor_buffers_create(r, dev, &info) : status;
}

/* A device and the state with the same lifetime. */
struct device_allocation {
    struct replay_device dev; /* first: this pointer is freed */
    struct replay_queue_plan queue_plan;
    struct replay_spirv_target spirv;
};

enum lap_status replay_CreateDevice(struct replay *r, struct replay_instance *instance,
                                    struct gen_args_vkCreateDevice *args)
{
    const struct replay_recorded_gpu *recorded = recorded_gpu(r);
    struct replay_limits_offsets *offsets = NULL;
    struct device_allocation *allocation;
    struct replay_device *dev;
    enum lap_status status;

    if (!r->devices && !r->options.gpu && recorded && recorded->name[0] &&
        strcmp(recorded->name, instance->properties.deviceName) != 0) {
        status = replay_gpu_choose(r, instance, recorded->name);
        if (status != LAP_OK)
            return status;
    }
    allocation = calloc(1, sizeof *allocation);
    if (!allocation)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a device");
    dev = &allocation->dev;
    dev->queues.plan = &allocation->queue_plan;
    dev->spirv = &allocation->spirv;
    dev->instance = instance;
    dev->gpu = instance->gpu;
    dev->index = gen_u64_VkDevice(*args->pDevice);
    dev->recorded.other_gpu =
        recorded && recorded->name[0] && strcmp(recorded->name, instance->properties.deviceName) != 0;
    if (r->report)
        replay_report_gpu(r->report, instance);
    if (strcmp(r->summary.gpu, instance->properties.deviceName) != 0)
        lap_log(r->log, LAP_LOG_INFO, "playing on %s", instance->properties.deviceName);
    (void)snprintf(r->summary.gpu, sizeof r->summary.gpu, "%s", instance->properties.deviceName);
    dev->next = r->devices;
    r->devices = dev;
    replay_tables_attach(r);
    replay_spirv_target_init(dev->spirv,
                             instance->api_version < instance->properties.apiVersion ? instance->api_version
                                                                                     : instance->properties.apiVersion,
                             args->pCreateInfo);
    status = r->report || dev->next ? LAP_OK : replay_limits_offsets_await(r, instance, recorded, &offsets);
    if (status == LAP_OK)
        status = create(r, dev, args->pCreateInfo);
    if (status == LAP_OK)
        status = replay_analysis_settle(r);
    if (status == LAP_OK)
        status = replay_object_add(r, GEN_HANDLE_VkDevice, dev->index, gen_u64_VkDevice(dev->live), dev, NULL);
    if (status == LAP_OK)
        replay_shown_create(dev);
    if (status != LAP_OK)
        replay_device_destroy(r, dev);
    else
        replay_limits_offsets_warn(r, offsets);
    replay_limits_offsets_destroy(r, &offsets);
    return status;
}

void replay_device_destroy(struct replay *r, struct replay_device *dev)
{
    struct replay_device **at = &r->devices;

    if (dev->live && dev->vk.DeviceWaitIdle) /* the device is idle, or replay_wait_device has waited for it */
        (void)dev->vk.DeviceWaitIdle(dev->live);
    replay_submission_all_over(dev);
    replay_submits_end(dev);
    replay_external_sync_finish(r, dev);
    replay_objects_destroy_left(r, dev);
    replay_shown_destroy(dev);
    free(dev->sync.handed);
    replay_measure_device(r, dev);
    if (replay_memory_peak_bytes(dev) > r->summary.peak_bytes)
        r->summary.peak_bytes = replay_memory_peak_bytes(dev);
    replay_address_finish(r, dev);
    replay_format_converter_destroy(dev);
    replay_acceleration_finish(dev);
    replay_ray_tracing_finish(r, dev);
    replay_push_descriptors_destroy(dev);
    replay_host_copies_destroy(dev);
    replay_descriptor_buffers_destroy(r, dev);
    replay_generated_commands_destroy(dev);
    replay_command_events_destroy(dev);
    replay_sparse_finish(r, dev);
    replay_memory_planner_destroy(r, dev);
    replay_submission_finish(dev);
    replay_query_pools_finish(dev);
    if (dev->queues.pool)
        dev->vk.DestroyCommandPool(dev->live, dev->queues.pool, NULL);
    if (dev->live && dev->vk.DestroyDevice)
        dev->vk.DestroyDevice(dev->live, NULL);
    while (*at != dev)
        at = &(*at)->next;
    *at = dev->next;
    replay_tables_attach(r);
    free(dev->queues.all);
    free(dev);
}

enum lap_status replay_DestroyDevice(struct replay *r, struct replay_device *dev, struct gen_args_vkDestroyDevice *args)
{
    enum lap_status status = replay_wait_device(r, dev, "all that was submitted");

    if (status == LAP_OK)
        replay_device_destroy(r, dev);
    return status;
}
