/* SPDX-License-Identifier: MIT */
#include "inspector/fragments/raster_state.h"

#include <string.h>

#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"
#include "vulkan/chain.h"

#define ALL_PARTS                                                                                                      \
    (VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT |                                                     \
     VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT |                                                  \
     VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT |                                                            \
     VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT)

/* A pipeline, or a library. */
struct fact {
    VkGraphicsPipelineLibraryFlagsEXT parts;
    struct raster_state state;
};

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* ---- static state ---- */

#ifdef VK_EXT_depth_clamp_control
static void see_clamp_range(struct raster_shape *s, VkDepthClampModeEXT mode, const VkDepthClampRangeEXT *range)
{
    s->has_clamp_range = mode == VK_DEPTH_CLAMP_MODE_USER_DEFINED_RANGE_EXT && range;
    if (s->has_clamp_range) {
        s->clamp_range[0] = range->minDepthClamp;
        s->clamp_range[1] = range->maxDepthClamp;
    }
}
#endif

static void see_viewports(struct raster_shape *s, const VkPipelineViewportStateCreateInfo *info)
{
    s->viewport_count = least(info->viewportCount, RASTER_MOST_VIEWPORTS);
    s->scissor_count = least(info->scissorCount, RASTER_MOST_VIEWPORTS);
    if (info->pViewports)
        memcpy(s->viewports, info->pViewports, s->viewport_count * sizeof *s->viewports);
    if (info->pScissors)
        memcpy(s->scissors, info->pScissors, s->scissor_count * sizeof *s->scissors);
#ifdef VK_EXT_depth_clamp_control
    const VkPipelineViewportDepthClampControlCreateInfoEXT *control =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_DEPTH_CLAMP_CONTROL_CREATE_INFO_EXT);
    if (control)
        see_clamp_range(s, control->depthClampMode, control->pDepthClampRange);
#endif
}

static void see_shape(struct raster_shape *s, const VkGraphicsPipelineCreateInfo *info)
{
    const VkPipelineRasterizationStateCreateInfo *raster = info->pRasterizationState;

    if (info->pViewportState)
        see_viewports(s, info->pViewportState);
    if (!raster)
        return;
    s->discards = raster->rasterizerDiscardEnable;
    s->clamps_depth = raster->depthClampEnable;
    s->biases_depth = raster->depthBiasEnable;
    s->cull = raster->cullMode;
    s->front = raster->frontFace;
    s->polygon = raster->polygonMode;
}

static void see_tests(struct raster_tests *t, const VkPipelineDepthStencilStateCreateInfo *info)
{
    *t = (struct raster_tests){.depth = info->depthTestEnable,
                               .writes_depth = info->depthWriteEnable,
                               .bounds = info->depthBoundsTestEnable,
                               .stencil = info->stencilTestEnable,
                               .compare = info->depthCompareOp,
                               .least = info->minDepthBounds,
                               .most = info->maxDepthBounds,
                               .faces = {info->front, info->back}};
}

static void see_samples(struct raster_output *o, const VkPipelineMultisampleStateCreateInfo *info)
{
    o->samples = info->rasterizationSamples;
    o->sample_mask = info->pSampleMask && info->rasterizationSamples ? *info->pSampleMask : UINT32_MAX;
    o->shades_samples = info->sampleShadingEnable;
    o->alpha_to_coverage = info->alphaToCoverageEnable;
    o->alpha_to_one = info->alphaToOneEnable;
}

static void see_targets(struct raster_output *o, const VkPipelineColorBlendStateCreateInfo *info)
{
    const VkPipelineColorWriteCreateInfoEXT *write =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_COLOR_WRITE_CREATE_INFO_EXT);

    o->has_logic_op = info->logicOpEnable;
    o->logic_op = info->logicOp;
    o->target_count = least(info->attachmentCount, RASTER_MOST_TARGETS);
    for (uint32_t i = 0; i < o->target_count; i++) {
        if (info->pAttachments)
            o->targets[i].blend = info->pAttachments[i];
        o->targets[i].is_off =
            write && write->pColorWriteEnables && i < write->attachmentCount && !write->pColorWriteEnables[i];
    }
}

static void add_parts(struct fact *to, const struct fact *from, VkGraphicsPipelineLibraryFlagsEXT parts)
{
    if (parts & VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT)
        to->state.topology = from->state.topology;
    if (parts & VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT)
        to->state.shape = from->state.shape;
    if (parts & VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT) {
        to->state.tests = from->state.tests;
        to->state.shades = from->state.shades;
    }
    if (parts & VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT)
        to->state.output = from->state.output;
    to->parts |= parts;
}

static void init_state(struct raster_state *state)
{
    *state = (struct raster_state){.is_known = true,
                                   .output = {.samples = VK_SAMPLE_COUNT_1_BIT, .sample_mask = UINT32_MAX}};
}

/* The parts that the create info itself has. */
static void see_own(struct fact *fact, const VkGraphicsPipelineCreateInfo *info)
{
    struct fact own = {.parts = 0};

    init_state(&own.state);
    if (info->pInputAssemblyState)
        own.state.topology = info->pInputAssemblyState->topology;
    for (uint32_t i = 0; info->pStages && i < info->stageCount; i++)
        own.state.shades |= info->pStages[i].stage == VK_SHADER_STAGE_FRAGMENT_BIT;
    see_shape(&own.state.shape, info);
    if (info->pDepthStencilState)
        see_tests(&own.state.tests, info->pDepthStencilState);
    if (info->pMultisampleState)
        see_samples(&own.state.output, info->pMultisampleState);
    if (info->pColorBlendState)
        see_targets(&own.state.output, info->pColorBlendState);
    add_parts(fact, &own, fact->parts);
}

static VkGraphicsPipelineLibraryFlagsEXT own_parts(const VkGraphicsPipelineCreateInfo *info,
                                                   const VkPipelineLibraryCreateInfoKHR *libraries)
{
    const VkGraphicsPipelineLibraryCreateInfoEXT *library =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT);

    if (library)
        return library->flags;
    return libraries && libraries->libraryCount ? 0 : ALL_PARTS;
}

static enum lap_status see_pipeline(struct raster_facts *facts, const VkGraphicsPipelineCreateInfo *info,
                                    uint64_t pipeline)
{
    const VkPipelineLibraryCreateInfoKHR *libraries =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
    struct fact *fact = lap_arena_zalloc(&facts->arena, 1, sizeof *fact, _Alignof(struct fact));

    if (!pipeline) /* it was not made */
        return LAP_OK;
    if (!fact)
        return lap_no_memory("the state of pipelines");
    init_state(&fact->state);
    fact->parts = own_parts(info, libraries);
    see_own(fact, info);
    for (uint32_t i = 0; libraries && libraries->pLibraries && i < libraries->libraryCount; i++) {
        const struct fact *library = lap_map_get(&facts->pipelines, gen_u64_VkPipeline(libraries->pLibraries[i]));
        if (library)
            add_parts(fact, library, library->parts);
    }
    return lap_map_put(&facts->pipelines, pipeline, fact, NULL) == LAP_OK ? LAP_OK
                                                                          : lap_no_memory("the state of pipelines");
}

enum lap_status raster_facts_see(struct raster_facts *facts, const struct trace_call *call)
{
    const struct gen_args_vkCreateGraphicsPipelines *args = call->args;
    enum lap_status status = LAP_OK;

    if (call->command != GEN_vkCreateGraphicsPipelines || !args->pCreateInfos || !args->pPipelines)
        return LAP_OK;
    for (uint32_t i = 0; i < args->createInfoCount && status == LAP_OK; i++)
        status = see_pipeline(facts, &args->pCreateInfos[i], gen_u64_VkPipeline(args->pPipelines[i]));
    return status;
}

void raster_facts_init(struct raster_facts *facts)
{
    lap_map_init(&facts->pipelines);
    lap_arena_init(&facts->arena, 0);
}

void raster_facts_finish(struct raster_facts *facts)
{
    lap_map_finish(&facts->pipelines);
    lap_arena_finish(&facts->arena);
}

/* ---- dynamic state ---- */

/* Copies elements of a command to their places, as far as there is room. */
#define SET_EACH(array, from, first_index, from_count)                                                                 \
    for (uint64_t i = 0; (from) && i < (from_count) && (first_index) + i < sizeof(array) / sizeof *(array); i++)       \
    (array)[(first_index) + i] = (from)[i]

#define DO(type, ...)                                                                                                  \
    {                                                                                                                  \
        const struct gen_args_##type *a = args;                                                                        \
        __VA_ARGS__;                                                                                                   \
        return;                                                                                                        \
    }

static void set_shape(struct raster_state *state, uint32_t command, const void *args)
{
    struct raster_shape *s = &state->shape;

    switch (command) {
    case GEN_vkCmdSetViewport:
        DO(vkCmdSetViewport, SET_EACH(s->viewports, a->pViewports, a->firstViewport, a->viewportCount))
    case GEN_vkCmdSetScissor:
        DO(vkCmdSetScissor, SET_EACH(s->scissors, a->pScissors, a->firstScissor, a->scissorCount))
    case GEN_vkCmdSetViewportWithCount:
        DO(vkCmdSetViewportWithCount, SET_EACH(s->viewports, a->pViewports, 0, a->viewportCount);
           s->viewport_count = least(a->viewportCount, RASTER_MOST_VIEWPORTS))
    case GEN_vkCmdSetScissorWithCount:
        DO(vkCmdSetScissorWithCount, SET_EACH(s->scissors, a->pScissors, 0, a->scissorCount);
           s->scissor_count = least(a->scissorCount, RASTER_MOST_VIEWPORTS))
    case GEN_vkCmdSetCullMode:
        DO(vkCmdSetCullMode, s->cull = a->cullMode)
    case GEN_vkCmdSetFrontFace:
        DO(vkCmdSetFrontFace, s->front = a->frontFace)
    case GEN_vkCmdSetPolygonModeEXT:
        DO(vkCmdSetPolygonModeEXT, s->polygon = a->polygonMode)
    case GEN_vkCmdSetPrimitiveTopology:
        DO(vkCmdSetPrimitiveTopology, state->topology = a->primitiveTopology)
    case GEN_vkCmdSetRasterizerDiscardEnable:
        DO(vkCmdSetRasterizerDiscardEnable, s->discards = a->rasterizerDiscardEnable)
    case GEN_vkCmdSetDepthBiasEnable:
        DO(vkCmdSetDepthBiasEnable, s->biases_depth = a->depthBiasEnable)
    case GEN_vkCmdSetDepthClampEnableEXT:
        DO(vkCmdSetDepthClampEnableEXT, s->clamps_depth = a->depthClampEnable)
#ifdef VK_EXT_depth_clamp_control
    case GEN_vkCmdSetDepthClampRangeEXT:
        DO(vkCmdSetDepthClampRangeEXT, see_clamp_range(s, a->depthClampMode, a->pDepthClampRange))
#endif
    default:
        return;
    }
}

/* For the faces that a command names. */
#define SET_FACES(member, value)                                                                                       \
    for (unsigned i = 0; i < 2; i++)                                                                                   \
        if (a->faceMask & (i ? VK_STENCIL_FACE_BACK_BIT : VK_STENCIL_FACE_FRONT_BIT))                                  \
    t->faces[i].member = value

static void set_tests(struct raster_tests *t, uint32_t command, const void *args)
{
    switch (command) {
    case GEN_vkCmdSetDepthTestEnable:
        DO(vkCmdSetDepthTestEnable, t->depth = a->depthTestEnable)
    case GEN_vkCmdSetDepthWriteEnable:
        DO(vkCmdSetDepthWriteEnable, t->writes_depth = a->depthWriteEnable)
    case GEN_vkCmdSetDepthCompareOp:
        DO(vkCmdSetDepthCompareOp, t->compare = a->depthCompareOp)
    case GEN_vkCmdSetDepthBoundsTestEnable:
        DO(vkCmdSetDepthBoundsTestEnable, t->bounds = a->depthBoundsTestEnable)
    case GEN_vkCmdSetDepthBounds:
        DO(vkCmdSetDepthBounds, t->least = a->minDepthBounds; t->most = a->maxDepthBounds)
    case GEN_vkCmdSetStencilTestEnable:
        DO(vkCmdSetStencilTestEnable, t->stencil = a->stencilTestEnable)
    case GEN_vkCmdSetStencilOp:
        DO(vkCmdSetStencilOp, SET_FACES(failOp, a->failOp); SET_FACES(passOp, a->passOp);
           SET_FACES(depthFailOp, a->depthFailOp); SET_FACES(compareOp, a->compareOp))
    case GEN_vkCmdSetStencilCompareMask:
        DO(vkCmdSetStencilCompareMask, SET_FACES(compareMask, a->compareMask))
    case GEN_vkCmdSetStencilWriteMask:
        DO(vkCmdSetStencilWriteMask, SET_FACES(writeMask, a->writeMask))
    case GEN_vkCmdSetStencilReference:
        DO(vkCmdSetStencilReference, SET_FACES(reference, a->reference))
    default:
        return;
    }
}

static void set_equation(VkPipelineColorBlendAttachmentState *blend, const VkColorBlendEquationEXT *from)
{
    blend->srcColorBlendFactor = from->srcColorBlendFactor;
    blend->dstColorBlendFactor = from->dstColorBlendFactor;
    blend->colorBlendOp = from->colorBlendOp;
    blend->srcAlphaBlendFactor = from->srcAlphaBlendFactor;
    blend->dstAlphaBlendFactor = from->dstAlphaBlendFactor;
    blend->alphaBlendOp = from->alphaBlendOp;
}

/* Shader objects have as many targets as their commands name. */
static struct raster_target *target_at(struct raster_output *o, uint64_t number)
{
    if (number >= o->target_count)
        o->target_count = (uint32_t)number + 1;
    return &o->targets[number];
}

/* i counts the elements of a command. */
#define SET_TARGETS(array, first_index, count, set)                                                                    \
    for (uint64_t i = 0; (array) && i < (count) && (first_index) + i < RASTER_MOST_TARGETS; i++)                       \
    set(target_at(o, (first_index) + i), (array)[i])
#define SET_BLENDS(target, value)   (target)->blend.blendEnable = value
#define SET_EQUATION(target, value) set_equation(&(target)->blend, &(value))
#define SET_ADVANCED(target, value)                                                                                    \
    (target)->blend.colorBlendOp = (target)->blend.alphaBlendOp = (value).advancedBlendOp
#define SET_MASK(target, value) (target)->blend.colorWriteMask = value
#define SET_OFF(target, value)  (target)->is_off = !(value)

static void set_output(struct raster_output *o, uint32_t command, const void *args)
{
    switch (command) {
    case GEN_vkCmdSetRasterizationSamplesEXT:
        DO(vkCmdSetRasterizationSamplesEXT, o->samples = a->rasterizationSamples)
    case GEN_vkCmdSetSampleMaskEXT:
        DO(vkCmdSetSampleMaskEXT, o->sample_mask = a->pSampleMask && a->samples ? *a->pSampleMask : UINT32_MAX)
    case GEN_vkCmdSetAlphaToCoverageEnableEXT:
        DO(vkCmdSetAlphaToCoverageEnableEXT, o->alpha_to_coverage = a->alphaToCoverageEnable)
    case GEN_vkCmdSetAlphaToOneEnableEXT:
        DO(vkCmdSetAlphaToOneEnableEXT, o->alpha_to_one = a->alphaToOneEnable)
    case GEN_vkCmdSetLogicOpEnableEXT:
        DO(vkCmdSetLogicOpEnableEXT, o->has_logic_op = a->logicOpEnable)
    case GEN_vkCmdSetLogicOpEXT:
        DO(vkCmdSetLogicOpEXT, o->logic_op = a->logicOp)
    case GEN_vkCmdSetColorBlendEnableEXT:
        DO(vkCmdSetColorBlendEnableEXT,
           SET_TARGETS(a->pColorBlendEnables, a->firstAttachment, a->attachmentCount, SET_BLENDS))
    case GEN_vkCmdSetColorBlendEquationEXT:
        DO(vkCmdSetColorBlendEquationEXT,
           SET_TARGETS(a->pColorBlendEquations, a->firstAttachment, a->attachmentCount, SET_EQUATION))
    case GEN_vkCmdSetColorBlendAdvancedEXT:
        DO(vkCmdSetColorBlendAdvancedEXT,
           SET_TARGETS(a->pColorBlendAdvanced, a->firstAttachment, a->attachmentCount, SET_ADVANCED))
    case GEN_vkCmdSetColorWriteMaskEXT:
        DO(vkCmdSetColorWriteMaskEXT,
           SET_TARGETS(a->pColorWriteMasks, a->firstAttachment, a->attachmentCount, SET_MASK))
    case GEN_vkCmdSetColorWriteEnableEXT:
        DO(vkCmdSetColorWriteEnableEXT, SET_TARGETS(a->pColorWriteEnables, UINT64_C(0), a->attachmentCount, SET_OFF))
    default:
        return;
    }
}

static bool has_shader(const struct bound *bound, VkShaderStageFlags stages)
{
    for (unsigned bit = 0; bit < BOUND_STAGES; bit++)
        if (bound->shaders[bit].shader && stages >> bit & 1)
            return true;
    return false;
}

enum lap_status raster_state_of(const struct raster_facts *facts, const struct bound *bound, struct lap_arena *arena,
                                struct raster_state *out)
{
    const uint64_t pipeline = bound->points[BOUND_GRAPHICS].pipeline;
    const struct fact_pipeline *known = fact_of_pipeline(bound->facts, pipeline);
    const struct fact *fact = lap_map_get(&facts->pipelines, pipeline);
    struct lap_args args;
    uint32_t command;
    enum lap_status status = LAP_OK;

    init_state(out);
    if (fact)
        *out = fact->state;
    out->is_known = pipeline ? fact && known : has_shader(bound, ~(VkShaderStageFlags)VK_SHADER_STAGE_COMPUTE_BIT);
    if (!pipeline)
        out->shades = has_shader(bound, VK_SHADER_STAGE_FRAGMENT_BIT);
    for (size_t i = 0; out->is_known && i < bound->setting_count && status == LAP_OK; i++) {
        const struct bound_setting *setting = &bound->settings[i];
        if (pipeline && !dynamic_mask_has(&known->dynamic, setting->number))
            continue;
        status = bound_decode(setting, arena, &command, &args);
        if (status != LAP_OK)
            break;
        set_shape(out, command, args.bytes);
        set_tests(&out->tests, command, args.bytes);
        set_output(&out->output, command, args.bytes);
    }
    return status;
}
