/* SPDX-License-Identifier: MIT */
/* State of pipelines and of their libraries. The state that commands set is compared in tests/e2e/pixel.py. */
#include "inspector/fragments/raster_state.h"

#include "gen_decode.h"
#include "gen_renamed.h"
#include "tests/unit/unit.h"

struct scene {
    struct creation_facts creations;
    struct raster_facts facts;
    struct bound bound;
    struct lap_arena arena;
};

static void init(struct scene *s)
{
    creation_facts_init(&s->creations);
    raster_facts_init(&s->facts);
    bound_init(&s->bound, &s->creations);
    lap_arena_init(&s->arena, 0);
}

static void finish(struct scene *s)
{
    bound_finish(&s->bound);
    raster_facts_finish(&s->facts);
    creation_facts_finish(&s->creations);
    lap_arena_finish(&s->arena);
}

/* A pipeline with all state; or the parts of it that the chain names. */
static void make(struct scene *s, uint64_t number, const void *chain, uint32_t width)
{
    const VkPipelineInputAssemblyStateCreateInfo input = {.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN};
    const VkViewport viewport = {0, 0, (float)width, 1, 0, 1};
    const VkRect2D scissors[2] = {{{1, 2}, {width, 4}}, {{5, 6}, {7, 8}}};
    const VkPipelineViewportStateCreateInfo view = {
        .viewportCount = 1, .pViewports = &viewport, .scissorCount = 2, .pScissors = scissors};
    const VkPipelineRasterizationStateCreateInfo raster = {
        .depthClampEnable = VK_TRUE, .cullMode = VK_CULL_MODE_BACK_BIT, .frontFace = VK_FRONT_FACE_CLOCKWISE};
    const VkPipelineDepthStencilStateCreateInfo tests = {.depthTestEnable = VK_TRUE,
                                                         .depthCompareOp = VK_COMPARE_OP_GREATER,
                                                         .back = {.reference = 77},
                                                         .maxDepthBounds = 0.5f};
    const VkSampleMask mask = 0xfe;
    const VkPipelineMultisampleStateCreateInfo samples = {.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
                                                          .pSampleMask = &mask};
    const VkPipelineColorBlendAttachmentState targets[2] = {{.colorWriteMask = 5}, {.blendEnable = VK_TRUE}};
    const VkBool32 writes[2] = {VK_TRUE, VK_FALSE};
    const VkPipelineColorWriteCreateInfoEXT write = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_WRITE_CREATE_INFO_EXT,
                                                     .attachmentCount = 2,
                                                     .pColorWriteEnables = writes};
    const VkPipelineColorBlendStateCreateInfo blend = {
        .pNext = &write, .attachmentCount = 2, .pAttachments = targets, .logicOp = VK_LOGIC_OP_XOR};
    const VkGraphicsPipelineCreateInfo info = {.pNext = chain,
                                               .pInputAssemblyState = &input,
                                               .pViewportState = &view,
                                               .pRasterizationState = &raster,
                                               .pDepthStencilState = &tests,
                                               .pMultisampleState = &samples,
                                               .pColorBlendState = &blend};
    VkPipeline pipeline = gen_VkPipeline(number);
    const struct gen_args_vkCreateGraphicsPipelines args = {
        .createInfoCount = 1, .pCreateInfos = &info, .pPipelines = &pipeline};
    const struct trace_call call = {.command = GEN_vkCreateGraphicsPipelines, .args = &args};

    CHECK_EQ_INT(raster_facts_see(&s->facts, &call), LAP_OK);
    CHECK_EQ_INT(creation_facts_see(&s->creations, &call), LAP_OK);
}

static struct raster_state state_of(struct scene *s, uint64_t pipeline)
{
    struct raster_state state;

    s->bound.points[BOUND_GRAPHICS].pipeline = pipeline;
    CHECK_EQ_INT(raster_state_of(&s->facts, &s->bound, &s->arena, &state), LAP_OK);
    return state;
}

static void check_whole(const struct raster_state *state, uint32_t width)
{
    CHECK(state->is_known && state->topology == VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN);
    CHECK(state->shape.viewports[0].width == (float)width && state->shape.scissors[1].extent.height == 8);
    CHECK(state->shape.scissor_count == 2 && state->shape.clamps_depth && state->shape.cull == VK_CULL_MODE_BACK_BIT);
    CHECK(state->tests.depth && state->tests.compare == VK_COMPARE_OP_GREATER && state->tests.faces[1].reference == 77);
    CHECK(state->output.sample_mask == 0xfe && state->output.target_count == 2);
    CHECK(state->output.targets[0].blend.colorWriteMask == 5 && !state->output.targets[0].is_off);
    CHECK(state->output.targets[1].blend.blendEnable && state->output.targets[1].is_off);
}

UNIT_TEST(a_pipeline_has_the_state_of_its_creation)
{
    struct scene s;
    struct raster_state state;

    init(&s);
    make(&s, 7, NULL, 30);
    state = state_of(&s, 7);
    check_whole(&state, 30);
    state = state_of(&s, 8);
    CHECK(!state.is_known);
    state = state_of(&s, 0);
    CHECK(!state.is_known);
    s.bound.shaders[0].shader = 3; /* a shader object: no command has set anything */
    state = state_of(&s, 0);
    CHECK(state.is_known && state.output.sample_mask == UINT32_MAX && !state.tests.depth);
    finish(&s);
}

UNIT_TEST(a_pipeline_has_the_state_of_its_libraries)
{
    const VkPipeline handles[2] = {gen_VkPipeline(1), gen_VkPipeline(2)};
    VkGraphicsPipelineLibraryCreateInfoEXT parts = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT,
        .flags = VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT};
    VkPipelineLibraryCreateInfoKHR libraries = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR, .libraryCount = 2, .pLibraries = handles};
    struct scene s;
    struct raster_state state;

    init(&s);
    make(&s, 1, &parts, 31);
    parts.flags = VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT |
                  VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT;
    make(&s, 2, &parts, 32);
    state = state_of(&s, 2);
    CHECK(!state.shape.scissor_count && state.tests.depth && !state.output.target_count);
    parts.flags = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT;
    parts.pNext = &libraries;
    make(&s, 3, &parts, 33);
    state = state_of(&s, 3);
    check_whole(&state, 31);
    make(&s, 4, &libraries, 34); /* it has no parts of its own */
    state = state_of(&s, 4);
    CHECK(state.shape.viewports[0].width == 31 && !state.output.target_count);
    finish(&s);
}

UNIT_MAIN();
