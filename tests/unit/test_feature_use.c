/* SPDX-License-Identifier: MIT */
/* What commands, structures, values and shaders show to be used. */
#include "inspector/analysis/feature_use.h"

#include "gen_decode.h"
#include "gen_reflect.h"
#include "tests/unit/unit.h"

static void *part;

static bool uses(const char *feature)
{
    uint16_t number = feature_number(feature);
    CHECK(number < GEN_FEATURE_COUNT);
    return feature_use_found(part)->evidence[number].use != 0;
}

static bool uses_extension(const char *name)
{
    uint16_t number = extension_number(name);
    CHECK(number < GEN_EXTENSION_COUNT);
    return feature_use_found(part)->evidence[GEN_SUBJECT_EXTENSION + number].use != 0;
}

static void look(uint32_t command, const void *args)
{
    feature_use_look(part, command, args, 2, 77);
}

static void forget(void)
{
    feature_use_destroy(part);
    part = feature_use_create();
    CHECK(part != NULL);
}

UNIT_TEST(members_are_compared)
{
    VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO, .maxAnisotropy = 16};
    struct gen_args_vkCreateSampler args = {.pCreateInfo = &info};
    struct gen_args_vkCmdDrawIndirect draw = {.drawCount = 1};
    struct gen_args_vkCmdSetLineWidth width = {.lineWidth = 1};
    char text[128];

    forget();
    look(GEN_vkCreateSampler, &args);
    look(GEN_vkCmdDrawIndirect, &draw);
    look(GEN_vkCmdSetLineWidth, &width);
    CHECK(!uses("samplerAnisotropy") && !uses("multiDrawIndirect") && !uses("wideLines"));
    info.anisotropyEnable = VK_TRUE;
    draw.drawCount = 2;
    width.lineWidth = 1.5f;
    look(GEN_vkCreateSampler, &args);
    look(GEN_vkCmdDrawIndirect, &draw);
    look(GEN_vkCmdSetLineWidth, &width);
    CHECK(uses("samplerAnisotropy") && uses("multiDrawIndirect") && uses("wideLines"));
    CHECK(!uses("depthClamp") && !uses("geometryShader"));
    feature_evidence_text(&feature_use_found(part)->evidence[feature_number("samplerAnisotropy")], text, sizeof text);
    CHECK_STR(text, "VkSamplerCreateInfo.anisotropyEnable, frame 3, packet 77");
}

UNIT_TEST(values_count_wherever_they_are)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .format = VK_FORMAT_R8G8B8A8_UNORM};
    struct gen_args_vkCreateImage args = {.pCreateInfo = &info};

    forget();
    look(GEN_vkCreateImage, &args);
    CHECK(!uses("textureCompressionBC") && !uses("sparseBinding"));
    info.format = VK_FORMAT_BC7_SRGB_BLOCK;
    info.flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_SPARSE_BINDING_BIT;
    look(GEN_vkCreateImage, &args);
    CHECK(uses("textureCompressionBC") && uses("sparseBinding"));
    CHECK(!uses("textureCompressionETC2") && !uses("sparseResidencyImage2D"));
    CHECK(!uses_extension("VK_IMG_format_pvrtc"));
    info.format = VK_FORMAT_PVRTC1_2BPP_UNORM_BLOCK_IMG; /* a value that an extension brought */
    look(GEN_vkCreateImage, &args);
    CHECK(uses_extension("VK_IMG_format_pvrtc"));
}

UNIT_TEST(elements_that_differ_are_seen)
{
    VkPipelineColorBlendAttachmentState states[2] = {{.colorWriteMask = 0xf}, {.colorWriteMask = 0xf}};
    VkPipelineColorBlendStateCreateInfo blend = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                 .attachmentCount = 2,
                                                 .pAttachments = states};
    VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                         .pColorBlendState = &blend};
    struct gen_args_vkCreateGraphicsPipelines args = {.createInfoCount = 1, .pCreateInfos = &info};

    forget();
    look(GEN_vkCreateGraphicsPipelines, &args);
    CHECK(!uses("independentBlend") && !uses("dualSrcBlend"));
    states[1].srcColorBlendFactor = VK_BLEND_FACTOR_ONE_MINUS_SRC1_COLOR;
    look(GEN_vkCreateGraphicsPipelines, &args);
    CHECK(uses("independentBlend") && uses("dualSrcBlend"));
}

UNIT_TEST(commands_and_chained_structures_count)
{
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_BINARY};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    struct gen_args_vkCreateSemaphore args = {.pCreateInfo = &info};
    struct gen_args_vkCmdEndRendering end = {0};
    struct gen_args_vkCmdBeginRendering begin = {0};

    forget();
    look(GEN_vkCreateSemaphore, &args);
    look(GEN_vkCmdEndRendering, &end);
    CHECK(!uses("timelineSemaphore") && !uses("dynamicRendering"));
    CHECK(uses_extension("VK_KHR_timeline_semaphore")); /* without it the structure means nothing */
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    look(GEN_vkCreateSemaphore, &args);
    look(GEN_vkCmdBeginRendering, &begin);
    CHECK(uses("timelineSemaphore") && uses("dynamicRendering"));
    CHECK(!uses("synchronization2"));
}

UNIT_TEST(shaders_declare_what_they_need)
{
    static const uint32_t code[] = {0x07230203, 0x00010000, 0, 8, 0, 2u << 16 | 17, 10 /* Float64 */};
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof code, .pCode = code};
    struct gen_args_vkCreateShaderModule args = {.pCreateInfo = &info};

    forget();
    look(GEN_vkCreateShaderModule, &args);
    CHECK(uses("shaderFloat64") && !uses("shaderInt64") && !uses("geometryShader"));
}

/* The tables are found by halving: their order must be what the search takes it for. */
UNIT_TEST(tables_are_in_order)
{
    for (uint32_t i = 1; i < GEN_FEATURE_COUNT; i++)
        CHECK(strcmp(gen_features[i - 1].name, gen_features[i].name) < 0);
    for (uint32_t i = 1; i < GEN_USE_COUNT; i++) {
        const struct gen_use *a = &gen_uses[i - 1], *b = &gen_uses[i];
        CHECK(a->kind < b->kind ||
              (a->kind == b->kind && (a->owner < b->owner || (a->owner == b->owner && a->member <= b->member))));
    }
    for (uint32_t i = 0; i < GEN_FEATURE_COUNT; i++)
        CHECK_EQ_U64(feature_number(gen_features[i].name), i);
    CHECK_EQ_U64(feature_number("no such feature"), GEN_FEATURE_COUNT);
    CHECK_EQ_U64(extension_number("no such extension"), GEN_EXTENSION_COUNT);
}

UNIT_MAIN();
