/* SPDX-License-Identifier: MIT */
/* Features of Vulkan 1.2 in place of extensions. */
#include "replayer/device/optional_extensions.h"

#include "tests/unit/unit.h"

static uint32_t bit_of(const char *extension)
{
    uint32_t number = replay_optional_extension_number(extension);
    CHECK(number < 32);
    return 1u << number;
}

static const VkPhysicalDeviceVulkan12Features *find(const VkBaseOutStructure *chain, uint32_t *out_length)
{
    const VkPhysicalDeviceVulkan12Features *found = NULL;

    for (*out_length = 0; chain; chain = chain->pNext, ++*out_length)
        if (chain->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
            found = (const void *)chain;
    return found;
}

UNIT_TEST(others_are_no_such_extensions)
{
    CHECK_EQ_U64(replay_optional_extension_number("VK_KHR_swapchain"), REPLAY_OPTIONAL_NONE);
}

UNIT_TEST(a_structure_that_is_there_is_used)
{
    struct replay r = {.summary.frames = 0};
    VkPhysicalDeviceVulkan12Features vulkan12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                 .timelineSemaphore = VK_TRUE};
    VkBaseOutStructure *chain = (void *)&vulkan12;

    CHECK_EQ_INT(replay_optional_extension_enable(&r, 0, &chain), LAP_OK);
    CHECK(!vulkan12.drawIndirectCount);
    CHECK_EQ_INT(replay_optional_extension_enable(
                     &r, bit_of("VK_KHR_draw_indirect_count") | bit_of("VK_EXT_shader_viewport_index_layer"), &chain),
                 LAP_OK);
    CHECK(chain == (void *)&vulkan12 && vulkan12.pNext == NULL);
    CHECK(vulkan12.drawIndirectCount && vulkan12.shaderOutputLayer && vulkan12.shaderOutputViewportIndex);
    CHECK(vulkan12.timelineSemaphore && !vulkan12.samplerFilterMinmax);
}

/* What stands for others must not stand beside them. */
UNIT_TEST(parts_are_merged)
{
    struct replay r = {.summary.frames = 0};
    VkPhysicalDeviceHostQueryResetFeatures reset = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES, .hostQueryReset = VK_TRUE};
    VkPhysicalDeviceMultiviewFeatures multiview = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTIVIEW_FEATURES, .pNext = &reset, .multiview = VK_TRUE};
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .pNext = &multiview,
        .timelineSemaphore = VK_TRUE};
    VkBaseOutStructure *chain = (void *)&timeline;
    const VkPhysicalDeviceVulkan12Features *vulkan12;
    uint32_t length;

    lap_arena_init(&r.arena, 0);
    CHECK_EQ_INT(replay_optional_extension_enable(&r, bit_of("VK_EXT_sampler_filter_minmax"), &chain), LAP_OK);
    vulkan12 = find(chain, &length);
    CHECK_EQ_U64(length, 2); /* and multiview, which is Vulkan 1.1's */
    CHECK(vulkan12 && vulkan12->samplerFilterMinmax && vulkan12->timelineSemaphore && vulkan12->hostQueryReset);
    CHECK(vulkan12 && !vulkan12->drawIndirectCount && !vulkan12->imagelessFramebuffer);
    CHECK(multiview.multiview && multiview.pNext == NULL);
    lap_arena_finish(&r.arena);
}

UNIT_MAIN();
