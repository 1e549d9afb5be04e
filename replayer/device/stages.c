/* SPDX-License-Identifier: MIT */
#include "replayer/device/stages.h"

#include <string.h>

#include "gen_reflect.h"

#define MAX_NAMES 3

/* Older headers have them only among provisional extensions. */
#define VIDEO_ENCODE_STAGE    ((VkPipelineStageFlags2)1 << 27)
#define VIDEO_ENCODE_ACCESSES ((VkAccessFlags2)3 << 37)

/* Stages and accesses that any of the features, or an extension without features, adds. */
static const struct {
    VkPipelineStageFlags2 stages;
    VkAccessFlags2 accesses;
    const char *names[MAX_NAMES];
} known[] = {
    {VK_PIPELINE_STAGE_2_GEOMETRY_SHADER_BIT, 0, {"geometryShader"}},
    {VK_PIPELINE_STAGE_2_TESSELLATION_CONTROL_SHADER_BIT | VK_PIPELINE_STAGE_2_TESSELLATION_EVALUATION_SHADER_BIT,
     0,
     {"tessellationShader"}},
    {VK_PIPELINE_STAGE_2_CONDITIONAL_RENDERING_BIT_EXT,
     VK_ACCESS_2_CONDITIONAL_RENDERING_READ_BIT_EXT,
     {"conditionalRendering"}},
    {VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT,
     VK_ACCESS_2_TRANSFORM_FEEDBACK_WRITE_BIT_EXT | VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_READ_BIT_EXT |
         VK_ACCESS_2_TRANSFORM_FEEDBACK_COUNTER_WRITE_BIT_EXT,
     {"transformFeedback"}},
    {VK_PIPELINE_STAGE_2_TASK_SHADER_BIT_NV, 0, {"taskShader"}},
    {VK_PIPELINE_STAGE_2_MESH_SHADER_BIT_NV, 0, {"meshShader"}},
    {VK_PIPELINE_STAGE_2_FRAGMENT_DENSITY_PROCESS_BIT_EXT,
     VK_ACCESS_2_FRAGMENT_DENSITY_MAP_READ_BIT_EXT,
     {"fragmentDensityMap"}},
    {VK_PIPELINE_STAGE_2_FRAGMENT_SHADING_RATE_ATTACHMENT_BIT_KHR,
     VK_ACCESS_2_FRAGMENT_SHADING_RATE_ATTACHMENT_READ_BIT_KHR,
     {"attachmentFragmentShadingRate", "shadingRateImage"}},
    {VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR, 0, {"rayTracingPipeline", "VK_NV_ray_tracing"}},
    {VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_BUILD_BIT_KHR, 0, {"accelerationStructure", "VK_NV_ray_tracing"}},
    {0,
     VK_ACCESS_2_ACCELERATION_STRUCTURE_READ_BIT_KHR | VK_ACCESS_2_ACCELERATION_STRUCTURE_WRITE_BIT_KHR,
     {"accelerationStructure", "rayQuery", "VK_NV_ray_tracing"}},
    {VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_COPY_BIT_KHR,
     VK_ACCESS_2_SHADER_BINDING_TABLE_READ_BIT_KHR,
     {"rayTracingMaintenance1"}},
    {VK_PIPELINE_STAGE_2_MICROMAP_BUILD_BIT_EXT,
     VK_ACCESS_2_MICROMAP_READ_BIT_EXT | VK_ACCESS_2_MICROMAP_WRITE_BIT_EXT,
     {"micromap"}},
    {VK_PIPELINE_STAGE_2_COMMAND_PREPROCESS_BIT_NV,
     VK_ACCESS_2_COMMAND_PREPROCESS_READ_BIT_NV | VK_ACCESS_2_COMMAND_PREPROCESS_WRITE_BIT_NV,
     {"deviceGeneratedCommands"}},
    {VK_PIPELINE_STAGE_2_VIDEO_DECODE_BIT_KHR,
     VK_ACCESS_2_VIDEO_DECODE_READ_BIT_KHR | VK_ACCESS_2_VIDEO_DECODE_WRITE_BIT_KHR,
     {"VK_KHR_video_decode_queue"}},
    {VIDEO_ENCODE_STAGE, VIDEO_ENCODE_ACCESSES, {"VK_KHR_video_encode_queue"}},
};

/* Stages of graphics queues only. */
#define GRAPHICS                                                                                                       \
    (VK_PIPELINE_STAGE_2_GEOMETRY_SHADER_BIT | VK_PIPELINE_STAGE_2_TESSELLATION_CONTROL_SHADER_BIT |                   \
     VK_PIPELINE_STAGE_2_TESSELLATION_EVALUATION_SHADER_BIT | VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT |         \
     VK_PIPELINE_STAGE_2_TASK_SHADER_BIT_NV | VK_PIPELINE_STAGE_2_MESH_SHADER_BIT_NV |                                 \
     VK_PIPELINE_STAGE_2_FRAGMENT_DENSITY_PROCESS_BIT_EXT |                                                            \
     VK_PIPELINE_STAGE_2_FRAGMENT_SHADING_RATE_ATTACHMENT_BIT_KHR)

static bool is_on(enum gen_struct id, const void *structure, const char *feature)
{
    const struct gen_struct_info *info = &gen_struct_infos[id];

    for (uint16_t i = 0; i < info->member_count && structure; i++)
        if (info->members[i].element == GEN_ELEMENT_BOOL && strcmp(gen_member_name(&info->members[i]), feature) == 0)
            return *(const VkBool32 *)(const void *)((const char *)structure + info->members[i].offset);
    return false;
}

static bool has(const VkDeviceCreateInfo *info, const char *name)
{
    bool found = is_on(GEN_STRUCT_VkPhysicalDeviceFeatures, info->pEnabledFeatures, name);

    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        found = found || strcmp(info->ppEnabledExtensionNames[i], name) == 0;
    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext) {
        enum gen_struct id = gen_struct_of_type(s->sType);
        if (id == GEN_STRUCT_VkPhysicalDeviceFeatures2)
            found = found || is_on(GEN_STRUCT_VkPhysicalDeviceFeatures,
                                   &((const VkPhysicalDeviceFeatures2 *)(const void *)s)->features, name);
        else if (gen_struct_infos[id].features)
            found = found || is_on(id, s, name);
    }
    return found;
}

void replay_stages_choose(struct replay *r, const VkDeviceCreateInfo *info)
{
    bool first = !r->source.left;
    uint64_t stages = 0, accesses = 0;

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        bool any = false;
        for (int j = 0; j < MAX_NAMES && known[i].names[j]; j++)
            any = any || has(info, known[i].names[j]);
        if (!any) {
            stages |= known[i].stages;
            accesses |= known[i].accesses;
        }
    }
    r->source.stages = first ? stages : r->source.stages & stages;
    r->source.accesses = first ? accesses : r->source.accesses & accesses;
    r->source.graphics = GRAPHICS;
    /* This waits for more than necessary, but a mask must not be empty, and these stages fit all accesses. */
    r->source.graphics_left = VK_PIPELINE_STAGE_2_ALL_GRAPHICS_BIT;
    r->source.left = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
}
