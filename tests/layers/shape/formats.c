/* SPDX-License-Identifier: MIT */
/*
 * Formats.
 *
 *   formats=F+F    these numbers of VkFormat are supported for nothing
 */
#include "tests/layers/shape/shape.h"
#include <stdlib.h>
#include <string.h>

#define MAX_FORMATS 64u

static uint32_t format_count, formats[MAX_FORMATS];

static bool read_word(const char *name, const char *value)
{
    if (strcmp(name, "formats"))
        return false;
    for (char *end = NULL; format_count < MAX_FORMATS; value = end + 1) {
        formats[format_count++] = (uint32_t)strtoul(value, &end, 10);
        if (end == value || *end != '+')
            return end != value && !*end;
    }
    return false;
}

bool shape_format_is_gone(VkFormat format)
{
    for (uint32_t i = 0; i < format_count; i++)
        if (formats[i] == (uint32_t)format)
            return true;
    return false;
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceFormatProperties(VkPhysicalDevice gpu, VkFormat format,
                                                                    VkFormatProperties *out)
{
    chain_instance_of(gpu)->next.GetPhysicalDeviceFormatProperties(gpu, format, out);
    if (shape_format_is_gone(format))
        *out = (VkFormatProperties){0};
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceFormatProperties2(VkPhysicalDevice gpu, VkFormat format,
                                                                     VkFormatProperties2 *out)
{
    VkFormatProperties3 *more = chain_find(out->pNext, VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_3);
    chain_instance_of(gpu)->next.GetPhysicalDeviceFormatProperties2(gpu, format, out);
    if (!shape_format_is_gone(format))
        return;
    out->formatProperties = (VkFormatProperties){0};
    if (more)
        more->linearTilingFeatures = more->optimalTilingFeatures = more->bufferFeatures = 0;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceImageFormatProperties(VkPhysicalDevice gpu, VkFormat format,
                                                                             VkImageType type, VkImageTiling tiling,
                                                                             VkImageUsageFlags usage,
                                                                             VkImageCreateFlags flags,
                                                                             VkImageFormatProperties *out)
{
    if (shape_format_is_gone(format))
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    return chain_instance_of(gpu)->next.GetPhysicalDeviceImageFormatProperties(gpu, format, type, tiling, usage, flags,
                                                                               out);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceImageFormatProperties2(
    VkPhysicalDevice gpu, const VkPhysicalDeviceImageFormatInfo2 *info, VkImageFormatProperties2 *out)
{
    if (shape_format_is_gone(info->format))
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    return chain_instance_of(gpu)->next.GetPhysicalDeviceImageFormatProperties2(gpu, info, out);
}

static const struct chain_function functions[] = {
    CHAIN_OWN(GetPhysicalDeviceFormatProperties),
    CHAIN_OWN_2(GetPhysicalDeviceFormatProperties2),
    CHAIN_OWN(GetPhysicalDeviceImageFormatProperties),
    CHAIN_OWN_2(GetPhysicalDeviceImageFormatProperties2),
    CHAIN_END,
};
const struct shape_topic shape_formats = {.read_word = read_word, .functions = functions};
