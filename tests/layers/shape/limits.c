/* SPDX-License-Identifier: MIT */
/*
 * Limits.
 *
 *   granularity=BYTES   the least bufferImageGranularity
 *   offsets=BYTES       the least of the limits that offsets into buffers are multiples of
 */
#include "tests/layers/shape/shape.h"
#include <string.h>

static VkDeviceSize granularity, offsets;

static bool read_word(const char *name, const char *value)
{
    if (!strcmp(name, "granularity"))
        return shape_read_number(value, &granularity);
    return !strcmp(name, "offsets") && shape_read_number(value, &offsets);
}

static void show_limits(VkPhysicalDeviceLimits *limits)
{
    shape_raise(&limits->bufferImageGranularity, granularity);
    shape_raise(&limits->minUniformBufferOffsetAlignment, offsets);
    shape_raise(&limits->minStorageBufferOffsetAlignment, offsets);
    shape_raise(&limits->minTexelBufferOffsetAlignment, offsets);
    shape_raise(&limits->optimalBufferCopyOffsetAlignment, offsets);
    shape_raise(&limits->optimalBufferCopyRowPitchAlignment, offsets);
}

static void show_all(VkPhysicalDeviceLimits *limits)
{
    for (size_t i = 0; shape_topic(i); i++)
        if (shape_topic(i)->show_limits)
            shape_topic(i)->show_limits(limits);
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties(VkPhysicalDevice gpu, VkPhysicalDeviceProperties *out)
{
    chain_instance_of(gpu)->next.GetPhysicalDeviceProperties(gpu, out);
    show_all(&out->limits);
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties2(VkPhysicalDevice gpu, VkPhysicalDeviceProperties2 *out)
{
    chain_instance_of(gpu)->next.GetPhysicalDeviceProperties2(gpu, out);
    show_all(&out->properties.limits);
}

static const struct chain_function functions[] = {
    CHAIN_OWN(GetPhysicalDeviceProperties),
    CHAIN_OWN_2(GetPhysicalDeviceProperties2),
    CHAIN_END,
};
const struct shape_topic shape_limits = {.read_word = read_word, .show_limits = show_limits, .functions = functions};
