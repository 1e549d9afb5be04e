/* SPDX-License-Identifier: MIT */
/* What becomes of recorded images with DRM format modifiers. */
#include "vulkan/modifier.h"

#include "tests/unit/unit.h"
#include "vulkan/chain.h"

#define MODIFIER_TILING VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT

static VkImageTiling without(VkFormat format, uint64_t modifier, uint32_t planes, VkImageCreateFlags *flags)
{
    VkExternalMemoryImageCreateInfo external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO};
    VkImageDrmFormatModifierListCreateInfoEXT list = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT, .pNext = &external};
    VkImageDrmFormatModifierExplicitCreateInfoEXT is = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT,
        .pNext = &list,
        .drmFormatModifier = modifier,
        .drmFormatModifierPlaneCount = planes};
    VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .pNext = &is, .format = format, .tiling = MODIFIER_TILING};

    info.flags = VK_IMAGE_CREATE_DISJOINT_BIT | VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT;
    CHECK(lap_modifier_remove(&info));
    CHECK(info.pNext == &external && !external.pNext);
    CHECK(!lap_modifier_remove(&info)); /* it has none any more */
    *flags = info.flags;
    return info.tiling;
}

UNIT_TEST(linear_modifiers_become_linear_tiling)
{
    VkImageCreateFlags flags;
    CHECK_EQ_INT(without(VK_FORMAT_R8G8B8A8_UNORM, LAP_MODIFIER_LINEAR, 1, &flags), VK_IMAGE_TILING_LINEAR);
    CHECK_EQ_INT(without(VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, LAP_MODIFIER_LINEAR, 2, &flags), VK_IMAGE_TILING_LINEAR);
    CHECK(flags & VK_IMAGE_CREATE_DISJOINT_BIT);
}

UNIT_TEST(other_modifiers_become_optimal_tiling)
{
    VkImageCreateFlags flags;
    CHECK_EQ_INT(without(VK_FORMAT_R8G8B8A8_UNORM, 1, 1, &flags), VK_IMAGE_TILING_OPTIMAL);
    CHECK_EQ_INT(flags, VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT); /* planes are the format's, of which it has none */
    CHECK_EQ_INT(without(VK_FORMAT_R8G8B8A8_UNORM, LAP_MODIFIER_LINEAR, 2, &flags), VK_IMAGE_TILING_OPTIMAL);
    CHECK_EQ_INT(without(VK_FORMAT_R8G8B8A8_UNORM, LAP_MODIFIER_INVALID, 0, &flags), VK_IMAGE_TILING_OPTIMAL);
}

UNIT_TEST(an_image_without_its_modifier_is_not_linear)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .tiling = MODIFIER_TILING};
    CHECK(lap_modifier_remove(&info));
    CHECK_EQ_INT(info.tiling, VK_IMAGE_TILING_OPTIMAL);
    info.tiling = VK_IMAGE_TILING_LINEAR;
    CHECK(!lap_modifier_remove(&info));
    CHECK_EQ_INT(info.tiling, VK_IMAGE_TILING_LINEAR);
}

UNIT_TEST(memory_planes_are_planes_of_the_format)
{
    const VkFormat one = VK_FORMAT_R8G8B8A8_UNORM, two = VK_FORMAT_G8_B8R8_2PLANE_420_UNORM;
    CHECK_EQ_INT(lap_modifier_aspect(VK_IMAGE_ASPECT_COLOR_BIT), VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT);
    CHECK_EQ_INT(lap_modifier_aspect(VK_IMAGE_ASPECT_PLANE_2_BIT), VK_IMAGE_ASPECT_MEMORY_PLANE_2_BIT_EXT);
    CHECK_EQ_INT(lap_modifier_format_aspect(one, VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT), VK_IMAGE_ASPECT_COLOR_BIT);
    CHECK_EQ_INT(lap_modifier_format_aspect(two, VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT), VK_IMAGE_ASPECT_PLANE_0_BIT);
    CHECK_EQ_INT(lap_modifier_format_aspect(two, VK_IMAGE_ASPECT_MEMORY_PLANE_1_BIT_EXT), VK_IMAGE_ASPECT_PLANE_1_BIT);
    CHECK_EQ_INT(lap_modifier_format_aspect(two, VK_IMAGE_ASPECT_STENCIL_BIT), VK_IMAGE_ASPECT_STENCIL_BIT);
}

UNIT_MAIN();
