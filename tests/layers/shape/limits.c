/* SPDX-License-Identifier: MIT */
/*
 * Limits and other properties.
 *
 *   granularity=BYTES   the least bufferImageGranularity
 *   version=N           the device has Vulkan 1.N at most; functions stay, and who asks for them by version does not
 * see it offsets=BYTES       the least of the limits that offsets into buffers are multiples of
 *   limits=NAME:VALUE+NAME:VALUE  members of VkPhysicalDeviceLimits, or of any structure of properties, are these whole
 *                       numbers; all elements of those that are arrays
 */
#include "tests/layers/shape/named.h"
#include "tests/layers/shape/shape.h"
#include <stdlib.h>
#include <string.h>

#define MAX_SET 32u

static VkDeviceSize granularity, offsets;
static uint64_t minor_version;
static struct {
    char *name;
    uint64_t value;
} set[MAX_SET];
static uint32_t set_count;

static bool read_limit(char *text)
{
    char *colon = strchr(text, ':'), *end;

    if (!colon || set_count == MAX_SET)
        return false;
    *colon = 0;
    if (!shape_member(&gen_struct_infos[GEN_STRUCT_VkPhysicalDeviceLimits], text) &&
        !shape_is_name("VkPhysicalDevice", "Properties", text))
        return false;
    set[set_count].value = strtoull(colon + 1, &end, 10);
    set[set_count].name = strdup(text);
    return end != colon + 1 && !*end && set[set_count++].name;
}

static bool read_word(const char *name, const char *value)
{
    char *copy, *rest = NULL;
    bool good;

    if (!strcmp(name, "granularity"))
        return shape_read_number(value, &granularity);
    if (!strcmp(name, "version"))
        return shape_read_number(value, &minor_version);
    if (!strcmp(name, "offsets"))
        return shape_read_number(value, &offsets);
    if (strcmp(name, "limits") != 0)
        return false;
    copy = strdup(value);
    good = copy && *value;
    for (char *limit = good ? strtok_r(copy, "+", &rest) : NULL; limit && good; limit = strtok_r(NULL, "+", &rest))
        good = read_limit(limit);
    free(copy);
    return good;
}

static void set_number(const struct gen_member *member, void *at, uint64_t value)
{
    if (member->element == GEN_ELEMENT_FLOAT && member->element_bytes == sizeof(float))
        *(float *)at = (float)value;
    else if (member->element_bytes == sizeof(uint64_t))
        *(uint64_t *)at = value;
    else if (member->element_bytes == sizeof(uint32_t))
        *(uint32_t *)at = (uint32_t)value;
}

static void set_numbers(const struct gen_struct_info *info, void *data, void *context)
{
    for (uint32_t i = 0; i < set_count; i++) {
        const struct gen_member *member = shape_member(info, set[i].name);
        uint32_t elements = member && member->shape == GEN_SHAPE_ARRAY ? member->count : 1;
        if (!member || (member->shape != GEN_SHAPE_ARRAY && member->shape != GEN_SHAPE_VALUE))
            continue;
        for (uint32_t k = 0; k < elements; k++)
            set_number(member, (char *)data + member->offset + k * member->element_bytes, set[i].value);
    }
}

static void show_limits(VkPhysicalDeviceLimits *limits)
{
    shape_raise(&limits->bufferImageGranularity, granularity);
    shape_raise(&limits->minUniformBufferOffsetAlignment, offsets);
    shape_raise(&limits->minStorageBufferOffsetAlignment, offsets);
    shape_raise(&limits->minTexelBufferOffsetAlignment, offsets);
    shape_raise(&limits->optimalBufferCopyOffsetAlignment, offsets);
    shape_raise(&limits->optimalBufferCopyRowPitchAlignment, offsets);
    set_numbers(&gen_struct_infos[GEN_STRUCT_VkPhysicalDeviceLimits], limits, NULL);
}

static void show_all(VkPhysicalDeviceLimits *limits)
{
    for (size_t i = 0; shape_topic(i); i++)
        if (shape_topic(i)->show_limits)
            shape_topic(i)->show_limits(limits);
}

static void show_version(uint32_t *version)
{
    uint32_t most = VK_MAKE_API_VERSION(0, 1, (uint32_t)minor_version, 0);

    if (minor_version && *version > most)
        *version = most;
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties(VkPhysicalDevice gpu, VkPhysicalDeviceProperties *out)
{
    chain_instance_of(gpu)->next.GetPhysicalDeviceProperties(gpu, out);
    show_version(&out->apiVersion);
    show_all(&out->limits);
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties2(VkPhysicalDevice gpu, VkPhysicalDeviceProperties2 *out)
{
    chain_instance_of(gpu)->next.GetPhysicalDeviceProperties2(gpu, out);
    show_version(&out->properties.apiVersion);
    show_all(&out->properties.limits);
    shape_each_struct(out->pNext, set_numbers, NULL);
}

static const struct chain_function functions[] = {
    CHAIN_OWN(GetPhysicalDeviceProperties),
    CHAIN_OWN_2(GetPhysicalDeviceProperties2),
    CHAIN_END,
};
const struct shape_topic shape_limits = {.read_word = read_word, .show_limits = show_limits, .functions = functions};
