/* SPDX-License-Identifier: MIT */
/* Pointers that the specification calls ignored are not followed: here they lead nowhere. */
#include "gen_encode.h"
#include "tests/unit/unit.h"
#include "vulkan/conditions.h"

#define LOST ((void *)(uintptr_t)0xdead000)

static struct lap_map empty;
static struct lap_map *maps[GEN_HANDLE_COUNT];
static struct lap_object_tables tables = {.maps = maps};
static struct lap_enc enc;

static void begin(void)
{
    for (uint32_t i = 0; i < GEN_HANDLE_COUNT; i++)
        maps[i] = &empty;
    lap_enc_init(&enc, &tables);
}

static size_t end(void)
{
    size_t bytes = enc.failed ? 0 : (size_t)(enc.p - enc.base);
    lap_enc_finish(&enc);
    return bytes;
}

/* A pipeline with everything; the caller changes what it wants. */
struct pipeline {
    VkPipelineRasterizationStateCreateInfo raster;
    VkPipelineMultisampleStateCreateInfo multisample;
    VkPipelineColorBlendStateCreateInfo blend;
    VkPipelineRenderingCreateInfo rendering;
    VkDynamicState states[8];
    VkPipelineDynamicStateCreateInfo dynamic;
    VkGraphicsPipelineCreateInfo info;
};

static const VkFormat formats[2] = {VK_FORMAT_R8_UNORM, VK_FORMAT_R8_UNORM};
static const VkPipelineColorBlendAttachmentState attachments[2];
static const VkSampleMask mask = 1;

static void init(struct pipeline *p)
{
    *p = (struct pipeline){
        .raster = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO},
        .multisample = {.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
                        .pSampleMask = &mask},
        .blend = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                  .attachmentCount = 2,
                  .pAttachments = attachments},
        .rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                      .colorAttachmentCount = 2,
                      .pColorAttachmentFormats = formats},
        .dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO},
        .info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO},
    };
    p->dynamic.pDynamicStates = p->states;
    p->info.pNext = &p->rendering;
    p->info.pRasterizationState = &p->raster;
    p->info.pMultisampleState = &p->multisample;
    p->info.pColorBlendState = &p->blend;
    p->info.pDynamicState = &p->dynamic;
}

static void make_dynamic(struct pipeline *p, VkDynamicState state)
{
    p->states[p->dynamic.dynamicStateCount++] = state;
}

static size_t encoded(const struct pipeline *p)
{
    begin();
    gen_encode_VkGraphicsPipelineCreateInfo(&enc, &p->info);
    return end();
}

UNIT_TEST(formats_are_read_without_a_render_pass_only)
{
    struct pipeline p;
    init(&p);
    size_t all = encoded(&p);
    p.rendering.colorAttachmentCount = 1;
    CHECK(encoded(&p) == all - 1); /* the formats are there: each takes a byte */
    p.info.renderPass = (VkRenderPass)(uintptr_t)0xbad0;
    p.rendering.colorAttachmentCount = 77;
    p.rendering.pColorAttachmentFormats = LOST;
    CHECK(encoded(&p) == all - 2);
    /* What an earlier pipeline had says nothing about the next one. */
    begin();
    init(&p);
    gen_encode_VkGraphicsPipelineCreateInfo(&enc, &p.info);
    p.info.renderPass = (VkRenderPass)(uintptr_t)0xbad0;
    p.rendering.pColorAttachmentFormats = LOST;
    gen_encode_VkGraphicsPipelineCreateInfo(&enc, &p.info);
    CHECK(end() == 2 * all - 2);
}

UNIT_TEST(libraries_without_fragment_output_have_no_formats)
{
    VkGraphicsPipelineLibraryCreateInfoEXT library = {.sType =
                                                          VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT};
    struct pipeline p;
    init(&p);
    library.flags = VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
    library.pNext = &p.rendering;
    p.info.pNext = &library;
    p.info.pMultisampleState = LOST;
    p.info.pColorBlendState = LOST;
    p.rendering.pColorAttachmentFormats = LOST;
    CHECK(encoded(&p) > 0);
    /* Nor has what ends up there any number. */
    VkAttachmentSampleCountInfoAMD samples = {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_SAMPLE_COUNT_INFO_AMD};
    p.rendering.pNext = &samples;
    p.rendering.colorAttachmentCount = 0;
    size_t before = encoded(&p);
    p.rendering.colorAttachmentCount = samples.colorAttachmentCount = 5921370;
    p.rendering.depthAttachmentFormat = (VkFormat)5921370;
    samples.pColorAttachmentSamples = LOST;
    CHECK(encoded(&p) == before);
    p.rendering.viewMask = 5921370; /* but this it reads */
    CHECK(encoded(&p) > before);
    library.flags = VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT;
    p.info.pRasterizationState = LOST;
    before = encoded(&p);
    p.rendering.viewMask = 0;
    CHECK(encoded(&p) == before);
}

UNIT_TEST(state_that_is_dynamic_is_not_followed)
{
    struct pipeline p;
    init(&p);
    size_t before = encoded(&p), states = 1;
    make_dynamic(&p, VK_DYNAMIC_STATE_SAMPLE_MASK_EXT);
    begin();
    lap_enc_reserve(&enc, 10);
    lap_put_u64(&enc, VK_DYNAMIC_STATE_SAMPLE_MASK_EXT);
    states += end();
    p.multisample.pSampleMask = LOST;
    CHECK(encoded(&p) == before + states - 1 - 1); /* the state instead of the mask's one word */

    init(&p);
    make_dynamic(&p, VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT);
    make_dynamic(&p, VK_DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT);
    make_dynamic(&p, VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT);
    tables.blends_coherently = true;
    size_t some = encoded(&p);
    make_dynamic(&p, VK_DYNAMIC_STATE_COLOR_BLEND_ADVANCED_EXT);
    p.blend.pAttachments = LOST;
    CHECK(encoded(&p) < some); /* advanced blending was the last thing that they were read for */
    p.dynamic.dynamicStateCount--;
    tables.blends_coherently = false;
    CHECK(encoded(&p) > 0);
}

UNIT_TEST(inherited_formats_are_read_inside_of_dynamic_rendering_only)
{
    VkCommandBufferInheritanceRenderingInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
        .colorAttachmentCount = 2,
        .pColorAttachmentFormats = formats};
    VkCommandBufferInheritanceInfo inheritance = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
                                                  .pNext = &rendering};
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                     .flags = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT,
                                     .pInheritanceInfo = &inheritance};
    size_t bytes[4];

    for (int i = 0; i < 4; i++) {
        if (i == 1)
            inheritance.renderPass = (VkRenderPass)(uintptr_t)0xbad0;
        if (i == 2)
            inheritance.renderPass = VK_NULL_HANDLE, info.flags = 0;
        if (i > 0)
            rendering.pColorAttachmentFormats = LOST;
        if (i == 3)
            info.pInheritanceInfo = LOST;
        begin();
        enc.scratch[COND_SCRATCH_SECONDARY] = i < 3;
        gen_encode_VkCommandBufferBeginInfo(&enc, &info);
        bytes[i] = end();
    }
    CHECK(bytes[1] == bytes[0] - 2 && bytes[2] == bytes[1] && bytes[3] && bytes[3] < bytes[2]);
}

UNIT_MAIN();
