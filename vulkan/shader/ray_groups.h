/* SPDX-License-Identifier: MIT */
/*
 * ray_groups: the shaders of a shader group of ray tracing, for the layer and the replayer, which go through them in
 * the same order: VkShaderGroupShaderKHR within a group. Any thread.
 */
#ifndef LAP_VULKAN_SHADER_RAY_GROUPS_H
#define LAP_VULKAN_SHADER_RAY_GROUPS_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#define LAP_RAY_GROUP_SHADERS 4u /* values of VkShaderGroupShaderKHR */

/* A bit for each value of VkShaderGroupShaderKHR. */
static inline uint8_t lap_ray_group_shaders(const VkRayTracingShaderGroupCreateInfoKHR *group)
{
    if (group->type == VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR)
        return group->generalShader != VK_SHADER_UNUSED_KHR ? 1u << VK_SHADER_GROUP_SHADER_GENERAL_KHR : 0;
    return (uint8_t)((group->closestHitShader != VK_SHADER_UNUSED_KHR) << VK_SHADER_GROUP_SHADER_CLOSEST_HIT_KHR |
                     (group->anyHitShader != VK_SHADER_UNUSED_KHR) << VK_SHADER_GROUP_SHADER_ANY_HIT_KHR |
                     (group->type == VK_RAY_TRACING_SHADER_GROUP_TYPE_PROCEDURAL_HIT_GROUP_KHR &&
                      group->intersectionShader != VK_SHADER_UNUSED_KHR)
                         << VK_SHADER_GROUP_SHADER_INTERSECTION_KHR);
}

/* The number of shaders of groups, each of which has the bits above. */
static inline uint64_t lap_ray_shader_count(const uint8_t *shaders, uint64_t group_count)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < group_count; i++)
        count += (uint32_t)__builtin_popcount(shaders[i]);
    return count;
}

/* Whether vkCmdSetRayTracingPipelineStackSizeKHR sets the stack size of the pipeline. */
static inline bool lap_ray_stack_is_dynamic(const VkRayTracingPipelineCreateInfoKHR *info)
{
    const VkPipelineDynamicStateCreateInfo *dynamic = info->pDynamicState;
    for (uint32_t i = 0; dynamic && dynamic->pDynamicStates && i < dynamic->dynamicStateCount; i++)
        if (dynamic->pDynamicStates[i] == VK_DYNAMIC_STATE_RAY_TRACING_PIPELINE_STACK_SIZE_KHR)
            return true;
    return false;
}

#endif
