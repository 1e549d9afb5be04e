/* SPDX-License-Identifier: MIT */
#include "replayer/device/optional_extensions.h"

#include <string.h>

#include "gen_reflect.h"
#include "replayer/core/device.h"

static const struct {
    const char *extension, *features[2];
} optional[] = {
    {"VK_KHR_draw_indirect_count", {"drawIndirectCount", NULL}},
    {"VK_KHR_sampler_mirror_clamp_to_edge", {"samplerMirrorClampToEdge", NULL}},
    {"VK_EXT_sampler_filter_minmax", {"samplerFilterMinmax", NULL}},
    {"VK_EXT_shader_viewport_index_layer", {"shaderOutputViewportIndex", "shaderOutputLayer"}},
};
#define COUNT (sizeof optional / sizeof optional[0])

uint32_t replay_optional_extension_number(const char *extension)
{
    for (uint32_t i = 0; i < COUNT; i++)
        if (strcmp(optional[i].extension, extension) == 0)
            return i;
    return REPLAY_OPTIONAL_NONE;
}

const char *replay_optional_extension_of_feature(const char *feature)
{
    for (uint32_t i = 0; i < COUNT; i++)
        for (int j = 0; j < 2; j++)
            if (optional[i].features[j] && strcmp(optional[i].features[j], feature) == 0)
                return optional[i].extension;
    return NULL;
}

/* The member of a feature structure; NULL if it has none of that name. */
static VkBool32 *member_of(enum gen_struct id, const void *structure, const char *name)
{
    const struct gen_struct_info *info = &gen_struct_infos[id];

    for (uint16_t i = 0; i < info->member_count; i++)
        if (info->members[i].element == GEN_ELEMENT_BOOL && strcmp(gen_member_name(&info->members[i]), name) == 0)
            return (VkBool32 *)(void *)((char *)(uintptr_t)structure + info->members[i].offset);
    return NULL;
}

bool replay_optional_extension_is_supported(const struct replay_instance *instance, uint32_t number)
{
    VkPhysicalDeviceVulkan12Features vulkan12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &vulkan12};

    if (!instance->vk.GetPhysicalDeviceFeatures2)
        return false;
    instance->vk.GetPhysicalDeviceFeatures2(instance->gpu, &features);
    for (int i = 0; i < 2 && optional[number].features[i]; i++) {
        const VkBool32 *on =
            member_of(GEN_STRUCT_VkPhysicalDeviceVulkan12Features, &vulkan12, optional[number].features[i]);
        if (!on || !*on)
            return false;
    }
    return true;
}

/* Whether VkPhysicalDeviceVulkan12Features includes the structure: a chain must not have both
 * (VUID-VkDeviceCreateInfo-pNext-02830). */
static bool is_part(const VkBaseOutStructure *s)
{
    enum gen_struct id = gen_struct_of_type(s->sType);

    return gen_struct_infos[id].features && id != GEN_STRUCT_VkPhysicalDeviceVulkan11Features &&
           gen_struct_providers[id] && strcmp(gen_struct_providers[id], "VK_VERSION_1_2") == 0;
}

/* Replaces the structures of single Vulkan 1.2 features in the chain with VkPhysicalDeviceVulkan12Features. */
static VkPhysicalDeviceVulkan12Features *merge(struct replay *r, VkBaseOutStructure **chain)
{
    VkPhysicalDeviceVulkan12Features *vulkan12 = replay_scratch(r, 1, sizeof *vulkan12);

    if (!vulkan12)
        return NULL;
    for (VkBaseOutStructure **at = chain; *at;) {
        enum gen_struct id = gen_struct_of_type((*at)->sType);
        const struct gen_struct_info *info = &gen_struct_infos[id];
        if (!is_part(*at)) {
            at = &(*at)->pNext;
            continue;
        }
        for (uint16_t i = 0; i < info->member_count; i++) {
            const VkBool32 *on = member_of(id, *at, gen_member_name(&info->members[i]));
            VkBool32 *to =
                member_of(GEN_STRUCT_VkPhysicalDeviceVulkan12Features, vulkan12, gen_member_name(&info->members[i]));
            if (on && to)
                *to = *on;
        }
        *at = (*at)->pNext;
    }
    vulkan12->sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    vulkan12->pNext = *chain;
    *chain = (VkBaseOutStructure *)(void *)vulkan12;
    return vulkan12;
}

enum lap_status replay_optional_extension_enable(struct replay *r, uint32_t set, VkBaseOutStructure **chain)
{
    VkBaseOutStructure *s = *chain;

    if (!set)
        return LAP_OK;
    while (s && s->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
        s = s->pNext;
    if (!s)
        s = (VkBaseOutStructure *)(void *)merge(r, chain);
    if (!s)
        return replay_no_scratch(r);
    for (uint32_t i = 0; i < COUNT; i++)
        for (int j = 0; j < 2 && set >> i & 1 && optional[i].features[j]; j++) {
            VkBool32 *on = member_of(GEN_STRUCT_VkPhysicalDeviceVulkan12Features, s, optional[i].features[j]);
            if (on)
                *on = VK_TRUE;
        }
    return LAP_OK;
}
