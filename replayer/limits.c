/* SPDX-License-Identifier: MIT */
#include "replayer/limits_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/player.h"

#define IN_SHADERS "it is in the code of shaders, of which only capabilities and sizes of workgroups are looked at"
#define OF_RESULTS "it says how exact results are; no call depends on it"
#define OF_IMAGES  "images are looked at one by one, with what the driver says of each"

const struct replay_limit_reason replay_limit_reasons[] = {
    {"maxMemoryAllocationCount", "a replay makes its own allocations"},
    {"bufferImageGranularity", "a replay places its objects itself"},
    {"minMemoryMapAlignment", "a replay maps its own memory"},
    {"nonCoherentAtomSize", "a replay flushes its own memory"},
    {"maxVertexOutputComponents", IN_SHADERS},
    {"maxTessellationGenerationLevel", IN_SHADERS},
    {"maxTessellationControlPerVertexInputComponents", IN_SHADERS},
    {"maxTessellationControlPerVertexOutputComponents", IN_SHADERS},
    {"maxTessellationControlPerPatchOutputComponents", IN_SHADERS},
    {"maxTessellationControlTotalOutputComponents", IN_SHADERS},
    {"maxTessellationEvaluationInputComponents", IN_SHADERS},
    {"maxTessellationEvaluationOutputComponents", IN_SHADERS},
    {"maxGeometryShaderInvocations", IN_SHADERS},
    {"maxGeometryInputComponents", IN_SHADERS},
    {"maxGeometryOutputComponents", IN_SHADERS},
    {"maxGeometryOutputVertices", IN_SHADERS},
    {"maxGeometryTotalOutputComponents", IN_SHADERS},
    {"maxFragmentInputComponents", IN_SHADERS},
    {"maxFragmentCombinedOutputResources", "what fragment shaders use of a layout is not looked at"},
    {"maxComputeSharedMemorySize", IN_SHADERS},
    {"maxClipDistances", IN_SHADERS},
    {"maxCullDistances", IN_SHADERS},
    {"maxCombinedClipAndCullDistances", IN_SHADERS},
    {"minTexelOffset", IN_SHADERS},
    {"maxTexelOffset", IN_SHADERS},
    {"minTexelGatherOffset", IN_SHADERS},
    {"maxTexelGatherOffset", IN_SHADERS},
    {"minInterpolationOffset", IN_SHADERS},
    {"maxInterpolationOffset", IN_SHADERS},
    {"pointSizeRange", IN_SHADERS},
    {"subPixelPrecisionBits", OF_RESULTS},
    {"subTexelPrecisionBits", OF_RESULTS},
    {"mipmapPrecisionBits", OF_RESULTS},
    {"viewportSubPixelBits", OF_RESULTS},
    {"subPixelInterpolationOffsetBits", OF_RESULTS},
    {"pointSizeGranularity", OF_RESULTS},
    {"lineWidthGranularity", OF_RESULTS},
    {"strictLines", OF_RESULTS},
    {"standardSampleLocations", OF_RESULTS},
    {"maxDrawIndexedIndexValue", "the numbers are in buffers"},
    {"timestampComputeAndGraphics", "what queries gave is not compared"},
    {"timestampPeriod", "what queries gave is not compared"},
    {"discreteQueuePriorities", "priorities are hints"},
    {"optimalBufferCopyOffsetAlignment", "it is about speed"},
    {"optimalBufferCopyRowPitchAlignment", "it is about speed"},
    {"framebufferColorSampleCounts", OF_IMAGES},
    {"framebufferDepthSampleCounts", OF_IMAGES},
    {"framebufferStencilSampleCounts", OF_IMAGES},
    {"framebufferNoAttachmentsSampleCounts", "passes without attachments have none that could be looked at"},
    {"sampledImageColorSampleCounts", OF_IMAGES},
    {"sampledImageIntegerSampleCounts", OF_IMAGES},
    {"sampledImageDepthSampleCounts", OF_IMAGES},
    {"sampledImageStencilSampleCounts", OF_IMAGES},
    {"storageImageSampleCounts", OF_IMAGES},
    {NULL, NULL},
};

#define CLAMPED     "drivers take what is nearest to it, and it is about how things look"
#define IS_MADE     "images are made, so the driver's answer is known"
#define IS_ALIGNED  "drivers mostly take such offsets"
#define IS_PROMISED "it is what always works: drivers make more where they can, and where not the call fails"

const struct replay_limit_reason replay_limit_advice[] = {
    {"maxSamplerAnisotropy", CLAMPED},
    {"maxSamplerLodBias", CLAMPED},
    {"lineWidthRange", CLAMPED},
    {"maxViewportDimensions", CLAMPED},
    {"viewportBoundsRange", CLAMPED},
    {"maxImageDimension1D", IS_MADE},
    {"maxImageDimension2D", IS_MADE},
    {"maxImageDimension3D", IS_MADE},
    {"maxImageDimensionCube", IS_MADE},
    {"maxImageArrayLayers", IS_MADE},
    {"minStorageBufferOffsetAlignment", IS_ALIGNED},
    {"minUniformBufferOffsetAlignment", IS_ALIGNED},
    {"minTexelBufferOffsetAlignment", IS_ALIGNED},
    {"maxMemoryAllocationSize", IS_PROMISED},
    {"maxPerSetDescriptors", IS_PROMISED},
    {NULL, NULL},
};

static enum replay_outcome outcome_past(const char *limit)
{
    for (const struct replay_limit_reason *advice = replay_limit_advice; advice->name; advice++)
        if (strcmp(advice->name, limit) == 0)
            return REPLAY_IGNORED;
    return REPLAY_MAY_FAIL;
}

struct replay_limits *replay_limits_create(void)
{
    struct replay_limits *limits = calloc(1, sizeof *limits);

    if (limits) {
        struct lap_map *maps[] = {&limits->sets,   &limits->pipelines, &limits->modules,
                                  &limits->images, &limits->views,     &limits->samplers};
        for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
            lap_map_init(maps[i]);
    }
    return limits;
}

static void visit_layout(void *user, uint64_t key, void *value)
{
    (void)user, (void)key;
    limits_layout_destroy(value);
}

static void visit_kept(void *user, uint64_t key, void *value)
{
    (void)user, (void)key;
    free(value);
}

void replay_limits_destroy(struct replay_limits *limits)
{
    if (!limits)
        return;
    lap_map_each(&limits->sets, visit_layout, NULL);
    lap_map_each(&limits->pipelines, visit_layout, NULL);
    lap_map_each(&limits->modules, visit_kept, NULL);
    lap_map_each(&limits->images, visit_kept, NULL);
    lap_map_each(&limits->views, visit_kept, NULL);
    lap_map_each(&limits->samplers, visit_kept, NULL);
    lap_map_finish(&limits->sets);
    lap_map_finish(&limits->pipelines);
    lap_map_finish(&limits->modules);
    lap_map_finish(&limits->images);
    lap_map_finish(&limits->views);
    lap_map_finish(&limits->samplers);
    free(limits);
}

const struct replay_misaligned *replay_limits_misaligned(const struct replay_limits *limits)
{
    return &limits->misaligned;
}

enum lap_status limits_no_memory(void)
{
    return lap_fail(LAP_ERROR_MEMORY, "out of memory for the report");
}

void *limits_keep(struct lap_map *map, uint64_t index, size_t bytes)
{
    void *kept = calloc(1, bytes), *old = NULL;

    if (kept && lap_map_put(map, index, kept, &old) != LAP_OK) {
        free(kept);
        return NULL;
    }
    free(old);
    return kept;
}

/* ---- comparing ---- */

#define PLACE "frame %" PRIu64 ", packet %" PRIu64 ": "

void limits_exceeds(const struct limits_look *look, const char *limit, const char *what, uint64_t recorded,
                    uint64_t most)
{
    if (look->report && recorded > most)
        replay_report_add(look->report, REPLAY_AREA_LIMIT, outcome_past(limit), limit,
                          PLACE "%s is %" PRIu64 ", the GPU allows %" PRIu64, look->frame + 1, look->ticket, what,
                          recorded, most);
}

/* Numbers with a fraction. NAN is outside of everything. */
static void outside(const struct limits_look *look, const char *limit, const char *what, double recorded, double least,
                    double most)
{
    if (look->report && !(recorded >= least && recorded <= most))
        replay_report_add(look->report, REPLAY_AREA_LIMIT, outcome_past(limit), limit,
                          PLACE "%s is %g, the GPU allows %g to %g", look->frame + 1, look->ticket, what, recorded,
                          least, most);
}

void limits_aligned(const struct limits_look *look, const char *limit, const char *what, VkDeviceSize offset,
                    VkDeviceSize alignment)
{
    struct replay_misaligned *misaligned = &look->limits->misaligned;

    if (!alignment || offset % alignment == 0)
        return;
    if (!misaligned->count++)
        snprintf(misaligned->first, sizeof misaligned->first, "in " PLACE "%s is %" PRIu64 " and %s here is %" PRIu64,
                 look->frame + 1, look->ticket, what, (uint64_t)offset, limit, (uint64_t)alignment);
    replay_report_add(look->report, REPLAY_AREA_LIMIT, outcome_past(limit), limit,
                      PLACE "%s is %" PRIu64 ", which is no multiple of %" PRIu64 ", as the GPU wants it",
                      look->frame + 1, look->ticket, what, (uint64_t)offset, (uint64_t)alignment);
}

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
    replay_report_add(look->report, area, outcome, name, PLACE "%s", look->frame + 1, look->ticket, text);
}

/* ---- the rest of the calls ---- */

static void look_at_framebuffer(const struct limits_look *look, const VkFramebufferCreateInfo *info)
{
    LIMITS_EXCEEDS(look, maxFramebufferWidth, "the width of a framebuffer", info->width);
    LIMITS_EXCEEDS(look, maxFramebufferHeight, "the height of a framebuffer", info->height);
    LIMITS_EXCEEDS(look, maxFramebufferLayers, "the layers of a framebuffer", info->layers);
}

static void look_at_groups(const struct limits_look *look, uint32_t x, uint32_t y, uint32_t z)
{
    const uint32_t counts[] = {x, y, z};

    for (int i = 0; i < 3; i++)
        limits_exceeds(look, "maxComputeWorkGroupCount", "a number of workgroups", counts[i],
                       look->gpu->maxComputeWorkGroupCount[i]);
}

static void look_at_image(const struct limits_look *look, const VkImageCreateInfo *info)
{
    uint32_t larger = info->extent.width > info->extent.height ? info->extent.width : info->extent.height;

    if (info->imageType == VK_IMAGE_TYPE_1D)
        LIMITS_EXCEEDS(look, maxImageDimension1D, "the width of an image", info->extent.width);
    else if (info->imageType == VK_IMAGE_TYPE_2D && info->flags & VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT)
        LIMITS_EXCEEDS(look, maxImageDimensionCube, "the width of a cube", larger);
    else if (info->imageType == VK_IMAGE_TYPE_2D)
        LIMITS_EXCEEDS(look, maxImageDimension2D, "the width or height of an image", larger);
    else
        LIMITS_EXCEEDS(look, maxImageDimension3D, "an extent of a volume",
                       info->extent.depth > larger ? info->extent.depth : larger);
    LIMITS_EXCEEDS(look, maxImageArrayLayers, "the number of layers of an image", info->arrayLayers);
}

static void look_at_buffer(const struct limits_look *look, const VkBufferCreateInfo *info)
{
    if (info->flags & VK_BUFFER_CREATE_SPARSE_BINDING_BIT)
        LIMITS_EXCEEDS(look, sparseAddressSpaceSize, "the size of a sparse buffer", info->size);
    else if (look->limits->maintenance3.maxMemoryAllocationSize)
        limits_exceeds(look, "maxMemoryAllocationSize", "the size of a buffer", info->size,
                       look->limits->maintenance3.maxMemoryAllocationSize);
    if (look->limits->maintenance4.maxBufferSize)
        limits_exceeds(look, "maxBufferSize", "the size of a buffer", info->size,
                       look->limits->maintenance4.maxBufferSize);
}

static void look_at_sampler(const struct limits_look *look, const VkSamplerCreateInfo *info)
{
    if (info->anisotropyEnable)
        outside(look, "maxSamplerAnisotropy", "the anisotropy of a sampler", (double)info->maxAnisotropy, 1,
                (double)look->gpu->maxSamplerAnisotropy);
    outside(look, "maxSamplerLodBias", "the bias of a sampler", fabs((double)info->mipLodBias), 0,
            (double)look->gpu->maxSamplerLodBias);
    LIMITS_EXCEEDS(look, maxSamplerAllocationCount, "the number of samplers at one time",
                   ++look->limits->samplers_alive);
}

static void look_at_viewports(const struct limits_look *look, uint32_t first, uint32_t count,
                              const VkViewport *viewports)
{
    const float *bounds = look->gpu->viewportBoundsRange;

    LIMITS_EXCEEDS(look, maxViewports, "the number of viewports", (uint64_t)first + count);
    for (uint32_t i = 0; i < count && viewports; i++) {
        const VkViewport *v = &viewports[i];
        double bottom = (double)v->y + (double)v->height; /* which may lie above */
        outside(look, "maxViewportDimensions", "the width of a viewport", (double)v->width, 0,
                look->gpu->maxViewportDimensions[0]);
        outside(look, "maxViewportDimensions", "the height of a viewport", fabs((double)v->height), 0,
                look->gpu->maxViewportDimensions[1]);
        outside(look, "viewportBoundsRange", "the left of a viewport", (double)v->x, (double)bounds[0],
                (double)bounds[1]);
        outside(look, "viewportBoundsRange", "the right of a viewport", (double)v->x + (double)v->width,
                (double)bounds[0], (double)bounds[1]);
        outside(look, "viewportBoundsRange", "the top of a viewport", (double)v->y, (double)bounds[0],
                (double)bounds[1]);
        outside(look, "viewportBoundsRange", "the bottom of a viewport", bottom, (double)bounds[0], (double)bounds[1]);
    }
}

/* Lines of width 1 are everywhere; wider ones are where the feature is. */
static void look_at_line_width(const struct limits_look *look, float width)
{
    if (width > 1.0f)
        outside(look, "lineWidthRange", "the width of lines", (double)width, (double)look->gpu->lineWidthRange[0],
                (double)look->gpu->lineWidthRange[1]);
}

static void look_at_draws(const struct limits_look *look, uint32_t count)
{
    LIMITS_EXCEEDS(look, maxDrawIndirectCount, "the number of draws of a call", count);
}

static void look_at_pipeline_state(const struct limits_look *look, const VkGraphicsPipelineCreateInfo *info)
{
    if (info->pViewportState)
        look_at_viewports(look, 0, info->pViewportState->viewportCount, info->pViewportState->pViewports);
    if (info->pRasterizationState)
        look_at_line_width(look, info->pRasterizationState->lineWidth);
}

/* Of a call that stands for itself. */
static void look_at_call(const struct limits_look *look, const void *raw)
{
    switch (look->command) {
    case GEN_vkCreateFramebuffer: {
        const struct gen_args_vkCreateFramebuffer *args = raw;
        if (args->pCreateInfo)
            look_at_framebuffer(look, args->pCreateInfo);
        break;
    }
    case GEN_vkCreateImage: {
        const struct gen_args_vkCreateImage *args = raw;
        if (args->pCreateInfo)
            look_at_image(look, args->pCreateInfo);
        break;
    }
    case GEN_vkCreateBuffer: {
        const struct gen_args_vkCreateBuffer *args = raw;
        if (args->pCreateInfo)
            look_at_buffer(look, args->pCreateInfo);
        break;
    }
    case GEN_vkCreateSampler: {
        const struct gen_args_vkCreateSampler *args = raw;
        if (args->pCreateInfo)
            look_at_sampler(look, args->pCreateInfo);
        break;
    }
    case GEN_vkDestroySampler:
        look->limits->samplers_alive -= look->limits->samplers_alive > 0;
        break;
    case GEN_vkCreateGraphicsPipelines: {
        const struct gen_args_vkCreateGraphicsPipelines *args = raw;
        for (uint32_t i = 0; i < args->createInfoCount && args->pCreateInfos; i++)
            look_at_pipeline_state(look, &args->pCreateInfos[i]);
        break;
    }
    case GEN_vkCmdSetViewport: {
        const struct gen_args_vkCmdSetViewport *args = raw;
        look_at_viewports(look, args->firstViewport, args->viewportCount, args->pViewports);
        break;
    }
    case GEN_vkCmdSetViewportWithCount: {
        const struct gen_args_vkCmdSetViewportWithCount *args = raw;
        look_at_viewports(look, 0, args->viewportCount, args->pViewports);
        break;
    }
    case GEN_vkCmdSetLineWidth:
        look_at_line_width(look, ((const struct gen_args_vkCmdSetLineWidth *)raw)->lineWidth);
        break;
    case GEN_vkCmdDispatch: {
        const struct gen_args_vkCmdDispatch *args = raw;
        look_at_groups(look, args->groupCountX, args->groupCountY, args->groupCountZ);
        break;
    }
    case GEN_vkCmdDispatchBase: {
        const struct gen_args_vkCmdDispatchBase *args = raw;
        look_at_groups(look, args->baseGroupX + args->groupCountX, args->baseGroupY + args->groupCountY,
                       args->baseGroupZ + args->groupCountZ);
        break;
    }
    case GEN_vkCmdDrawIndirect:
        look_at_draws(look, ((const struct gen_args_vkCmdDrawIndirect *)raw)->drawCount);
        break;
    case GEN_vkCmdDrawIndexedIndirect:
        look_at_draws(look, ((const struct gen_args_vkCmdDrawIndexedIndirect *)raw)->drawCount);
        break;
    case GEN_vkCmdDrawIndirectCount:
        look_at_draws(look, ((const struct gen_args_vkCmdDrawIndirectCount *)raw)->maxDrawCount);
        break;
    case GEN_vkCmdDrawIndexedIndirectCount:
        look_at_draws(look, ((const struct gen_args_vkCmdDrawIndexedIndirectCount *)raw)->maxDrawCount);
        break;
    default:
        break;
    }
}

/* What the GPU says beside its limits; zeroes where it is too old. */
static void ask(struct replay_limits *limits, const struct replay_instance *instance, uint32_t api_version)
{
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};

    limits->instance = instance;
    limits->maintenance3.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
    limits->maintenance4.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES;
    limits->indexing.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_INDEXING_PROPERTIES;
    limits->subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    limits->maintenance3.pNext = &limits->subgroup;
    limits->subgroup.pNext = &limits->indexing; /* passed over by who does not know it */
    limits->subgroup_sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
    limits->indexing.pNext = api_version >= VK_API_VERSION_1_3 ? &limits->maintenance4 : NULL;
    limits->maintenance4.pNext = &limits->subgroup_sizes;
    limits->subgroup_sizes.pNext = NULL;
    properties.pNext = &limits->maintenance3;
    if (api_version >= VK_API_VERSION_1_1 && instance->vk.GetPhysicalDeviceProperties2)
        instance->vk.GetPhysicalDeviceProperties2(instance->gpu, &properties);
}

enum lap_status replay_limits_look(struct replay_limits *limits, const struct replay_instance *instance,
                                   struct replay_report *report, const struct replay_limits_place *place,
                                   const void *args)
{
    struct limits_look look = {.limits = limits,
                               .report = report,
                               .gpu = &instance->properties.limits,
                               .api_version = instance->properties.apiVersion < instance->api_version
                                                  ? instance->properties.apiVersion
                                                  : instance->api_version,
                               .command = place->command,
                               .frame = place->frame,
                               .ticket = place->ticket};
    enum lap_status status;

    if (limits->instance != instance)
        ask(limits, instance, look.api_version);
    status = limits_look_at_layouts(&look, args);
    if (!report || status != LAP_OK)
        return status;
    look_at_call(&look, args);
    status = limits_look_at_pipelines(&look, args);
    return status == LAP_OK ? limits_look_at_formats(&look, args) : status;
}
