/* SPDX-License-Identifier: MIT */
/*
 * Features and extensions.
 *
 *   features=NAME+NAME    these features are not there, in whichever structure they are asked for
 *   extensions=NAME+NAME  these device extensions are not there
 *   no-device             no device can be made
 *
 * A device that is to have one of them can't be made.
 */
#include "tests/layers/shape/named.h"
#include "tests/layers/shape/shape.h"
#include <stdlib.h>
#include <string.h>

static struct shape_names features, extensions;
static bool no_device;

static bool is_feature(const char *name)
{
    return shape_is_name("VkPhysicalDevice", "Features", name);
}

static bool is_extension(const char *name)
{
    for (uint32_t i = 0; i < GEN_EXTENSION_COUNT; i++)
        if (gen_extensions[i].device && !strcmp(gen_extensions[i].name, name))
            return true;
    return false;
}

static bool read_word(const char *name, const char *value)
{
    if (!strcmp(name, "no-device"))
        return no_device = true;
    if (!strcmp(name, "features"))
        return shape_read_names(value, &features, is_feature);
    return !strcmp(name, "extensions") && shape_read_names(value, &extensions, is_extension);
}

static VkBool32 *find_feature(const struct gen_struct_info *info, void *data, uint32_t i)
{
    const struct gen_member *member = shape_member(info, features.names[i]);
    return member && member->element == GEN_ELEMENT_BOOL ? (VkBool32 *)((char *)data + member->offset) : NULL;
}

static void take_away(const struct gen_struct_info *info, void *data, void *context)
{
    for (uint32_t i = 0; i < features.count; i++) {
        VkBool32 *feature = find_feature(info, data, i);
        if (feature)
            *feature = VK_FALSE;
    }
}

static void look_for(const struct gen_struct_info *info, void *data, void *asked)
{
    for (uint32_t i = 0; i < features.count; i++) {
        const VkBool32 *feature = find_feature(info, data, i);
        if (feature && *feature)
            *(bool *)asked = true;
    }
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceFeatures(VkPhysicalDevice gpu, VkPhysicalDeviceFeatures *out)
{
    chain_instance_of(gpu)->next.GetPhysicalDeviceFeatures(gpu, out);
    take_away(&gen_struct_infos[GEN_STRUCT_VkPhysicalDeviceFeatures], out, NULL);
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceFeatures2(VkPhysicalDevice gpu, VkPhysicalDeviceFeatures2 *out)
{
    chain_instance_of(gpu)->next.GetPhysicalDeviceFeatures2(gpu, out);
    take_away(&gen_struct_infos[GEN_STRUCT_VkPhysicalDeviceFeatures], &out->features, NULL);
    shape_each_struct(out->pNext, take_away, NULL);
}

/* In order, without those that are gone; the count of all that are left goes to *out_count. */
static VkResult list_extensions(VkPhysicalDevice gpu, uint32_t room, VkExtensionProperties *out, uint32_t *out_count)
{
    const struct chain_instance *instance = chain_instance_of(gpu);
    VkExtensionProperties *all;
    uint32_t count = 0;
    VkResult result = instance->next.EnumerateDeviceExtensionProperties(gpu, NULL, &count, NULL);

    *out_count = 0;
    if (result < 0)
        return result;
    all = calloc(count ? count : 1, sizeof *all);
    if (!all)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    result = instance->next.EnumerateDeviceExtensionProperties(gpu, NULL, &count, all);
    for (uint32_t i = 0; i < count && result >= 0; i++) {
        if (shape_has_name(&extensions, all[i].extensionName))
            continue;
        if (*out_count < room)
            out[*out_count] = all[i];
        ++*out_count;
    }
    free(all);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL EnumerateDeviceExtensionProperties(VkPhysicalDevice gpu, const char *layer,
                                                                         uint32_t *count, VkExtensionProperties *out)
{
    uint32_t room = out ? *count : 0;
    VkResult result;

    if (layer || !extensions.count)
        return chain_instance_of(gpu)->next.EnumerateDeviceExtensionProperties(gpu, layer, count, out);
    result = list_extensions(gpu, room, out, count);
    if (result < 0 || !out || *count <= room)
        return result;
    *count = room;
    return VK_INCOMPLETE;
}

static VkResult change_device(struct shape_device *device, VkDeviceCreateInfo *info)
{
    bool asked = false;

    if (no_device)
        return VK_ERROR_INITIALIZATION_FAILED;
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        if (shape_has_name(&extensions, info->ppEnabledExtensionNames[i]))
            return VK_ERROR_EXTENSION_NOT_PRESENT;
    if (info->pEnabledFeatures)
        look_for(&gen_struct_infos[GEN_STRUCT_VkPhysicalDeviceFeatures], (void *)(uintptr_t)info->pEnabledFeatures,
                 &asked);
    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2)
            look_for(&gen_struct_infos[GEN_STRUCT_VkPhysicalDeviceFeatures],
                     &((VkPhysicalDeviceFeatures2 *)(uintptr_t)s)->features, &asked);
    shape_each_struct(info->pNext, look_for, &asked);
    return asked ? VK_ERROR_FEATURE_NOT_PRESENT : VK_SUCCESS;
}

static const struct chain_function functions[] = {
    CHAIN_OWN(GetPhysicalDeviceFeatures),
    CHAIN_OWN_2(GetPhysicalDeviceFeatures2),
    CHAIN_OWN(EnumerateDeviceExtensionProperties),
    CHAIN_END,
};
const struct shape_topic shape_features = {
    .read_word = read_word, .change_device = change_device, .functions = functions};
