/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/core/device.h"
#include "replayer/device/limits_internal.h"
#include "replayer/device/shading_rate.h"
#include "vulkan/chain.h"

static void visit_module(void *user, uint64_t key, void *value)
{
    (void)user, (void)key;
    free(value);
}

struct replay_limits *replay_limits_create(void)
{
    struct replay_limits *limits = calloc(1, sizeof *limits);

    if (limits) {
        lap_map_init(&limits->sets);
        lap_map_init(&limits->pipelines);
        lap_map_init(&limits->modules);
    }
    return limits;
}

void replay_limits_destroy(struct replay_limits *limits)
{
    if (!limits)
        return;
    limits_offsets_finish(limits);
    lap_map_each(&limits->modules, visit_module, NULL);
    lap_map_finish(&limits->modules);
    free(limits);
}

/* ---- comparison ---- */

void limits_report(const struct limits_look *look, enum replay_area area, enum replay_outcome outcome, const char *name,
                   const char *format, ...)
{
    char text[320];
    va_list arguments;

    if (!look->report)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    replay_report_add(look->report, area, outcome, name, "frame %" PRIu64 ", packet %" PRIu64 ": %s",
                      look->place->frame + 1, look->place->ticket, text);
}

void limits_exceeds(const struct limits_look *look, const char *limit, const char *what, uint64_t recorded,
                    uint64_t most)
{
    if (recorded > most)
        limits_report(look, REPLAY_AREA_LIMIT, REPLAY_MAY_FAIL, limit, "%s is %" PRIu64 ", the GPU allows %" PRIu64,
                      what, recorded, most);
}

/* ---- other calls ---- */

/* Reports the features that the driver lacks for buffers in a format. */
static void look_at_buffer_format(const struct limits_look *look, VkFormat format, VkFormatFeatureFlags any,
                                  const char *what)
{
    const struct replay_instance *instance = look->limits->instance;
    const char *name = replay_enum_name("VkFormat", format);
    VkFormatProperties has = {.bufferFeatures = 0};

    instance->vk.GetPhysicalDeviceFormatProperties(instance->gpu, format, &has);
    if (!(has.bufferFeatures & any))
        limits_report(look, REPLAY_AREA_FORMAT, REPLAY_IGNORED, name ? name : "unknown",
                      "the driver does not promise it for %s", what);
}

static void look_at_texel_buffer(const struct limits_look *look, const VkBufferViewCreateInfo *info)
{
    uint32_t bytes = info ? gen_texel_bytes(info->format) : 0;

    if (!info)
        return;
    look_at_buffer_format(look, info->format,
                          VK_FORMAT_FEATURE_UNIFORM_TEXEL_BUFFER_BIT | VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT,
                          "texel buffers");
    if (bytes && info->range != VK_WHOLE_SIZE)
        LIMITS_EXCEEDS(look, maxTexelBufferElements, "the number of texels of a buffer", info->range / bytes);
}

static void look_at_pipeline_layout(const struct limits_look *look, const VkPipelineLayoutCreateInfo *info)
{
    LIMITS_EXCEEDS(look, maxBoundDescriptorSets, "the number of sets of a layout", info->setLayoutCount);
    for (uint32_t i = 0; i < info->pushConstantRangeCount && info->pPushConstantRanges; i++)
        LIMITS_EXCEEDS(look, maxPushConstantsSize, "the end of a range of push constants",
                       (uint64_t)info->pPushConstantRanges[i].offset + info->pPushConstantRanges[i].size);
}

static void look_at_vertices(const struct limits_look *look, const VkPipelineVertexInputStateCreateInfo *info)
{
    for (uint32_t i = 0; info && i < info->vertexBindingDescriptionCount && info->pVertexBindingDescriptions; i++)
        LIMITS_EXCEEDS(look, maxVertexInputBindings, "one more than a binding's number",
                       (uint64_t)info->pVertexBindingDescriptions[i].binding + 1);
    for (uint32_t i = 0; info && i < info->vertexAttributeDescriptionCount && info->pVertexAttributeDescriptions; i++) {
        const VkVertexInputAttributeDescription *attribute = &info->pVertexAttributeDescriptions[i];
        LIMITS_EXCEEDS(look, maxVertexInputAttributes, "one more than an attribute's location",
                       (uint64_t)attribute->location + 1);
        look_at_buffer_format(look, attribute->format, VK_FORMAT_FEATURE_VERTEX_BUFFER_BIT, "vertices");
    }
}

static void look_at_graphics(const struct limits_look *look, const VkGraphicsPipelineCreateInfo *info)
{
    look_at_vertices(look, info->pVertexInputState);
    if (info->pColorBlendState && info->pColorBlendState->pAttachments) /* else the number is ignored */
        LIMITS_EXCEEDS(look, maxColorAttachments, "the number of color attachments",
                       info->pColorBlendState->attachmentCount);
}

static void look_at_groups(const struct limits_look *look, uint64_t x, uint64_t y, uint64_t z)
{
    const uint64_t counts[] = {x, y, z};

    for (int i = 0; i < 3; i++)
        limits_exceeds(look, "maxComputeWorkGroupCount", "a number of workgroups", counts[i],
                       look->gpu->maxComputeWorkGroupCount[i]);
}

/* ---- ray tracing ---- */

/* Queried only for traces with ray tracing. */
static const VkPhysicalDeviceRayTracingPipelinePropertiesKHR *need_rays(const struct limits_look *look)
{
    const struct replay_instance *instance = look->limits->instance;
    VkPhysicalDeviceRayTracingPipelinePropertiesKHR *rays = &look->limits->rays;
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = rays};

    if (!rays->sType && look->api_version >= VK_API_VERSION_1_1 && instance->vk.GetPhysicalDeviceProperties2) {
        rays->sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_PROPERTIES_KHR;
        instance->vk.GetPhysicalDeviceProperties2(instance->gpu, &properties);
    }
    return rays;
}

static void look_at_shader_groups(const struct limits_look *look, const struct gen_args_lapilliShaderGroups *args)
{
    const VkPhysicalDeviceRayTracingPipelinePropertiesKHR *rays = need_rays(look);

    if (rays->shaderGroupHandleSize && rays->shaderGroupHandleSize != args->handleSize)
        limits_report(look, REPLAY_AREA_COMMAND, REPLAY_MAPPED, "vkGetRayTracingShaderGroupHandlesKHR",
                      "shader group handles have %u bytes, on this GPU %u: binding tables are copied with this GPU's",
                      args->handleSize, rays->shaderGroupHandleSize);
    else
        limits_report(look, REPLAY_AREA_COMMAND, REPLAY_MAPPED, "vkGetRayTracingShaderGroupHandlesKHR",
                      "where the GPU gives other handles, binding tables are copied with these");
}

/* ---- shading rates ---- */

/* Queried on each use: these are few, and drivers without shading rates report an error for the query. */
static void look_at_rate(const struct limits_look *look, VkExtent2D size)
{
    const struct replay_rate_texels rates = replay_rate_texels_of(look->limits->instance, look->limits->instance->gpu);
    const struct replay_rate_texels *texels = &rates;

    if (texels->least.width && !replay_rate_texels_have(texels, size))
        limits_report(
            look, REPLAY_AREA_LIMIT, REPLAY_DROPPED, "shadingRateAttachmentTexelSize",
            "a texel of an attachment with shading rates covers %ux%u pixels, the GPU has %ux%u to %ux%u: the "
            "attachment is left out",
            size.width, size.height, texels->least.width, texels->least.height, texels->most.width,
            texels->most.height);
}

static void look_at_rates(const struct limits_look *look, const VkRenderPassCreateInfo2 *info)
{
    for (uint32_t i = 0; info && info->pSubpasses && i < info->subpassCount; i++) {
        const VkFragmentShadingRateAttachmentInfoKHR *rate =
            lap_chain_find(info->pSubpasses[i].pNext, VK_STRUCTURE_TYPE_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR);
        if (rate && rate->pFragmentShadingRateAttachment)
            look_at_rate(look, rate->shadingRateAttachmentTexelSize);
    }
}

static void look_at_call(const struct limits_look *look, const void *raw)
{
    switch (look->place->command) {
    case GEN_vkCreatePipelineLayout: {
        const VkPipelineLayoutCreateInfo *info = ((const struct gen_args_vkCreatePipelineLayout *)raw)->pCreateInfo;
        if (info)
            look_at_pipeline_layout(look, info);
        break;
    }
    case GEN_vkCreateBufferView:
        look_at_texel_buffer(look, ((const struct gen_args_vkCreateBufferView *)raw)->pCreateInfo);
        break;
    case GEN_vkCreateBuffer: {
        const VkBufferCreateInfo *info = ((const struct gen_args_vkCreateBuffer *)raw)->pCreateInfo;
        if (info && look->limits->maintenance4.maxBufferSize)
            limits_exceeds(look, "maxBufferSize", "the size of a buffer", info->size,
                           look->limits->maintenance4.maxBufferSize);
        break;
    }
    case GEN_vkCreateGraphicsPipelines: {
        const struct gen_args_vkCreateGraphicsPipelines *args = raw;
        for (uint32_t i = 0; i < args->createInfoCount && args->pCreateInfos; i++)
            look_at_graphics(look, &args->pCreateInfos[i]);
        break;
    }
    case GEN_vkCreateRenderPass2:
        look_at_rates(look, ((const struct gen_args_vkCreateRenderPass2 *)raw)->pCreateInfo);
        break;
    case GEN_vkCmdBeginRendering: {
        const VkRenderingInfo *info = ((const struct gen_args_vkCmdBeginRendering *)raw)->pRenderingInfo;
        const VkRenderingFragmentShadingRateAttachmentInfoKHR *rate = lap_chain_find(
            info ? info->pNext : NULL, VK_STRUCTURE_TYPE_RENDERING_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR);
        if (rate)
            look_at_rate(look, rate->shadingRateAttachmentTexelSize);
        break;
    }
    case GEN_lapilliShaderGroups:
        look_at_shader_groups(look, raw);
        break;
    case GEN_vkCmdTraceRaysKHR: {
        const struct gen_args_vkCmdTraceRaysKHR *args = raw;
        uint64_t rays = (uint64_t)args->width * args->height;
        rays = rays && args->depth > UINT64_MAX / rays ? UINT64_MAX : rays * args->depth;
        if (need_rays(look)->maxRayDispatchInvocationCount)
            limits_exceeds(look, "maxRayDispatchInvocationCount", "the number of rays of a command", rays,
                           look->limits->rays.maxRayDispatchInvocationCount);
        break;
    }
    case GEN_vkCmdDispatch: {
        const struct gen_args_vkCmdDispatch *args = raw;
        look_at_groups(look, args->groupCountX, args->groupCountY, args->groupCountZ);
        break;
    }
    case GEN_vkCmdDispatchBase: {
        const struct gen_args_vkCmdDispatchBase *args = raw;
        look_at_groups(look, (uint64_t)args->baseGroupX + args->groupCountX,
                       (uint64_t)args->baseGroupY + args->groupCountY, (uint64_t)args->baseGroupZ + args->groupCountZ);
        break;
    }
    default:
        break;
    }
}

/* Reads the properties of the GPU that are not among its limits. */
static void ask(struct replay_limits *limits, const struct replay_instance *instance, uint32_t api_version)
{
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};

    limits->instance = instance;
    limits->subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    limits->maintenance4.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES;
    limits->subgroup_sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
    limits->subgroup.pNext = api_version >= VK_API_VERSION_1_3 ? &limits->maintenance4 : NULL;
    limits->maintenance4.pNext = &limits->subgroup_sizes;
    properties.pNext = &limits->subgroup;
    if (api_version >= VK_API_VERSION_1_1 && instance->vk.GetPhysicalDeviceProperties2)
        instance->vk.GetPhysicalDeviceProperties2(instance->gpu, &properties);
}

enum lap_status replay_limits_check(struct replay_limits *limits, const struct replay_instance *instance,
                                    struct replay_report *report, const struct replay_limits_place *place,
                                    const void *args)
{
    struct limits_look look = {.limits = limits,
                               .report = report,
                               .gpu = &instance->properties.limits,
                               .api_version = instance->properties.apiVersion < instance->api_version
                                                  ? instance->properties.apiVersion
                                                  : instance->api_version,
                               .place = place};
    enum lap_status status;

    if (limits->instance != instance)
        ask(limits, instance, look.api_version);
    status = limits_look_at_offsets(&look, args);
    if (status != LAP_OK || !report)
        return status;
    look_at_call(&look, args);
    return limits_look_at_code(&look, args);
}
