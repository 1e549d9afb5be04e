/* SPDX-License-Identifier: MIT */
#include "inspector/mesh/vertex_input.h"

#include <string.h>

#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"
#include "vulkan/chain.h"

/* Of a pipeline, or a library. */
struct fact {
    struct vertex_input input;
    bool has_dynamic_strides;
};

static enum lap_status no_memory(void)
{
    return lap_no_memory("the vertex input of pipelines");
}

/* ---- static state ---- */

static uint32_t divisor_of(const VkPipelineVertexInputStateCreateInfo *info, uint32_t binding)
{
    const VkPipelineVertexInputDivisorStateCreateInfoEXT *divisors =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_EXT);

    for (uint32_t i = 0; divisors && divisors->pVertexBindingDivisors && i < divisors->vertexBindingDivisorCount; i++)
        if (divisors->pVertexBindingDivisors[i].binding == binding)
            return divisors->pVertexBindingDivisors[i].divisor;
    return 1;
}

static enum lap_status see_buffers(struct lap_arena *arena, const VkPipelineVertexInputStateCreateInfo *info,
                                   struct vertex_input *out)
{
    const uint32_t attributes = info->pVertexAttributeDescriptions ? info->vertexAttributeDescriptionCount : 0;
    const uint32_t bindings = info->pVertexBindingDescriptions ? info->vertexBindingDescriptionCount : 0;
    VkVertexInputAttributeDescription *a = lap_arena_zalloc(arena, attributes + 1, sizeof *a, 8);
    struct vertex_binding *b = lap_arena_zalloc(arena, bindings + 1, sizeof *b, 8);

    if (!a || !b)
        return no_memory();
    if (attributes)
        memcpy(a, info->pVertexAttributeDescriptions, attributes * sizeof *a);
    for (uint32_t i = 0; i < bindings; i++) {
        const VkVertexInputBindingDescription *from = &info->pVertexBindingDescriptions[i];
        b[i] = (struct vertex_binding){from->binding, from->stride, from->inputRate == VK_VERTEX_INPUT_RATE_INSTANCE,
                                       divisor_of(info, from->binding)};
    }
    out->attributes = a;
    out->bindings = b;
    out->attribute_count = attributes;
    out->binding_count = bindings;
    return LAP_OK;
}

/* Vertex input, input assembly and tessellation, each where it is there. */
static enum lap_status see_own(struct lap_arena *arena, const VkGraphicsPipelineCreateInfo *info,
                               struct vertex_input *out)
{
    if (info->pInputAssemblyState) {
        out->topology = info->pInputAssemblyState->topology;
        out->restarts = info->pInputAssemblyState->primitiveRestartEnable;
    }
    if (info->pTessellationState)
        out->patch_points = info->pTessellationState->patchControlPoints;
    return info->pVertexInputState ? see_buffers(arena, info->pVertexInputState, out) : LAP_OK;
}

static bool has_dynamic_strides(const VkPipelineDynamicStateCreateInfo *info)
{
    for (uint32_t i = 0; info && info->pDynamicStates && i < info->dynamicStateCount; i++)
        if (info->pDynamicStates[i] == VK_DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE)
            return true;
    return false;
}

static void add_library(const struct fact *library, struct fact *to)
{
    const uint32_t points = library->input.patch_points ? library->input.patch_points : to->input.patch_points;

    if (library->input.attributes)
        to->input = library->input;
    to->input.patch_points = points;
    to->has_dynamic_strides |= library->has_dynamic_strides;
}

static enum lap_status see_pipeline(struct vertex_inputs *inputs, const VkGraphicsPipelineCreateInfo *info,
                                    uint64_t pipeline)
{
    const VkPipelineLibraryCreateInfoKHR *libraries =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
    struct fact *fact = lap_arena_zalloc(&inputs->arena, 1, sizeof *fact, _Alignof(struct fact));
    enum lap_status status;

    if (!pipeline) /* it was not made */
        return LAP_OK;
    if (!fact)
        return no_memory();
    fact->has_dynamic_strides = has_dynamic_strides(info->pDynamicState);
    status = see_own(&inputs->arena, info, &fact->input);
    for (uint32_t i = 0; libraries && libraries->pLibraries && i < libraries->libraryCount; i++) {
        const struct fact *library = lap_map_get(&inputs->pipelines, gen_u64_VkPipeline(libraries->pLibraries[i]));
        if (library)
            add_library(library, fact);
    }
    if (status == LAP_OK && lap_map_put(&inputs->pipelines, pipeline, fact, NULL) != LAP_OK)
        status = no_memory();
    return status;
}

enum lap_status vertex_inputs_see(struct vertex_inputs *inputs, const struct trace_call *call)
{
    const struct gen_args_vkCreateGraphicsPipelines *args = call->args;
    enum lap_status status = LAP_OK;

    if (call->command != GEN_vkCreateGraphicsPipelines || !args->pCreateInfos || !args->pPipelines)
        return LAP_OK;
    for (uint32_t i = 0; i < args->createInfoCount && status == LAP_OK; i++)
        status = see_pipeline(inputs, &args->pCreateInfos[i], gen_u64_VkPipeline(args->pPipelines[i]));
    return status;
}

void vertex_inputs_init(struct vertex_inputs *inputs)
{
    lap_map_init(&inputs->pipelines);
    lap_arena_init(&inputs->arena, 0);
}

void vertex_inputs_finish(struct vertex_inputs *inputs)
{
    lap_map_finish(&inputs->pipelines);
    lap_arena_finish(&inputs->arena);
}

/* ---- dynamic state ---- */

static enum lap_status set_buffers(const struct gen_args_vkCmdSetVertexInputEXT *args, struct lap_arena *arena,
                                   struct vertex_input *out)
{
    const uint32_t attributes = args->pVertexAttributeDescriptions ? args->vertexAttributeDescriptionCount : 0;
    const uint32_t bindings = args->pVertexBindingDescriptions ? args->vertexBindingDescriptionCount : 0;
    VkVertexInputAttributeDescription *a = lap_arena_zalloc(arena, attributes + 1, sizeof *a, 8);
    struct vertex_binding *b = lap_arena_zalloc(arena, bindings + 1, sizeof *b, 8);

    if (!a || !b)
        return no_memory();
    for (uint32_t i = 0; i < attributes; i++) {
        const VkVertexInputAttributeDescription2EXT *from = &args->pVertexAttributeDescriptions[i];
        a[i] = (VkVertexInputAttributeDescription){from->location, from->binding, from->format, from->offset};
    }
    for (uint32_t i = 0; i < bindings; i++) {
        const VkVertexInputBindingDescription2EXT *from = &args->pVertexBindingDescriptions[i];
        b[i] = (struct vertex_binding){from->binding, from->stride, from->inputRate == VK_VERTEX_INPUT_RATE_INSTANCE,
                                       from->divisor};
    }
    out->attributes = a;
    out->bindings = b;
    out->attribute_count = attributes;
    out->binding_count = bindings;
    return LAP_OK;
}

static enum lap_status set(uint32_t command, const void *args, struct lap_arena *arena, struct vertex_input *out)
{
    switch (command) {
    case GEN_vkCmdSetPrimitiveTopology:
        out->topology = ((const struct gen_args_vkCmdSetPrimitiveTopology *)args)->primitiveTopology;
        return LAP_OK;
    case GEN_vkCmdSetPrimitiveRestartEnable:
        out->restarts = ((const struct gen_args_vkCmdSetPrimitiveRestartEnable *)args)->primitiveRestartEnable;
        return LAP_OK;
    case GEN_vkCmdSetPatchControlPointsEXT:
        out->patch_points = ((const struct gen_args_vkCmdSetPatchControlPointsEXT *)args)->patchControlPoints;
        return LAP_OK;
    case GEN_vkCmdSetVertexInputEXT:
        return set_buffers(args, arena, out);
    default:
        return LAP_OK;
    }
}

/* vkCmdBindVertexBuffers2 sets strides, too, where they are dynamic; the last command holds. input: its command. */
static enum lap_status set_strides(const struct bound *bound, bool is_dynamic, uint32_t input, struct lap_arena *arena,
                                   struct vertex_input *out)
{
    struct vertex_binding *bindings = lap_arena_zalloc(arena, out->binding_count + 1, sizeof *bindings, 8);

    if (!bindings)
        return no_memory();
    for (uint32_t i = 0; i < out->binding_count; i++) {
        const uint32_t number = out->bindings[i].binding;
        const struct bound_buffer *b = number < bound->vertex_count ? &bound->vertex[number] : NULL;
        bindings[i] = out->bindings[i];
        if (is_dynamic && b && b->command != BOUND_NO_COMMAND && b->stride != UINT64_MAX &&
            (input == BOUND_NO_COMMAND || b->command > input))
            bindings[i].stride = (uint32_t)b->stride;
    }
    out->bindings = bindings;
    return LAP_OK;
}

enum lap_status vertex_input_of(const struct vertex_inputs *inputs, const struct bound *bound, struct lap_arena *arena,
                                struct vertex_input *out)
{
    const uint64_t pipeline = bound->points[BOUND_GRAPHICS].pipeline;
    const struct fact_pipeline *known = fact_of_pipeline(bound->facts, pipeline);
    const struct fact *fact = lap_map_get(&inputs->pipelines, pipeline);
    bool is_dynamic = !pipeline || (fact && fact->has_dynamic_strides);
    uint32_t command, input = BOUND_NO_COMMAND;
    struct lap_args args;
    enum lap_status status = LAP_OK;

    *out = fact ? fact->input : (struct vertex_input){.topology = VK_PRIMITIVE_TOPOLOGY_POINT_LIST};
    out->is_known = pipeline ? fact && known : bound->shaders[0].shader != 0;
    for (size_t i = 0; out->is_known && i < bound->setting_count && status == LAP_OK; i++) {
        const struct bound_setting *setting = &bound->settings[i];
        if (pipeline && !dynamic_mask_has(&known->dynamic, setting->number))
            continue;
        status = bound_decode(setting, arena, &command, &args);
        if (status == LAP_OK)
            status = set(command, args.bytes, arena, out);
        if (setting->command == GEN_vkCmdSetVertexInputEXT) {
            input = setting->index;
            is_dynamic = true;
        }
    }
    return status == LAP_OK ? set_strides(bound, is_dynamic, input, arena, out) : status;
}

const struct vertex_binding *vertex_binding_of(const struct vertex_input *input, uint32_t binding)
{
    for (uint32_t i = 0; i < input->binding_count; i++)
        if (input->bindings[i].binding == binding)
            return &input->bindings[i];
    return NULL;
}
