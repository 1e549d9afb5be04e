/* SPDX-License-Identifier: MIT */
#include "vulkan/heap_sizes.h"

#include "vulkan/chain.h"

#ifdef VK_EXT_descriptor_heap

/* Types that share an alignment. Texel buffers count as images. */
enum group { SAMPLERS, IMAGES, BUFFERS, GROUPS };

static const struct {
    uint32_t type;
    enum group group;
} types[LAP_HEAP_TYPES] = {
    {VK_DESCRIPTOR_TYPE_SAMPLER, SAMPLERS},
    {VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, IMAGES},
    {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, IMAGES},
    {VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT, IMAGES},
    {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, IMAGES},
    {VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, IMAGES},
    {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, BUFFERS},
    {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, BUFFERS},
    {VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR, BUFFERS},
};

static enum group group_of(uint32_t type)
{
    for (uint32_t i = 0; i < LAP_HEAP_TYPES; i++)
        if (types[i].type == type)
            return types[i].group;
    return GROUPS;
}

bool lap_heaps_enabled(const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceDescriptorHeapFeaturesEXT *features =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_FEATURES_EXT);
    return features && features->descriptorHeap;
}

static VkDeviceSize align_up(VkDeviceSize value, VkDeviceSize alignment)
{
    return alignment > 1 ? (value + alignment - 1) / alignment * alignment : value;
}

void lap_heap_sizes_get(PFN_vkGetPhysicalDeviceDescriptorSizeEXT size_of, VkPhysicalDevice gpu,
                        const VkPhysicalDeviceDescriptorHeapPropertiesEXT *properties, struct lap_heap_sizes *out)
{
    const VkDeviceSize alignments[GROUPS] = {properties->samplerDescriptorAlignment,
                                             properties->imageDescriptorAlignment,
                                             properties->bufferDescriptorAlignment};
    const VkDeviceSize sizes[GROUPS] = {properties->samplerDescriptorSize, properties->imageDescriptorSize,
                                        properties->bufferDescriptorSize};

    *out = (struct lap_heap_sizes){0};
    for (uint32_t i = 0; i < LAP_HEAP_TYPES; i++) {
        VkDeviceSize bytes = size_of(gpu, (VkDescriptorType)types[i].type);
        if (!bytes || bytes > UINT32_MAX)
            continue;
        out->types[out->count] = types[i].type;
        out->sizes[out->count] = (uint32_t)bytes;
        out->strides[out->count] = (uint32_t)align_up(sizes[types[i].group], alignments[types[i].group]);
        out->alignments[out->count++] = (uint32_t)alignments[types[i].group];
    }
}

void lap_heap_sizes_widen(struct lap_heap_sizes *sizes, VkPhysicalDeviceDescriptorHeapPropertiesEXT *properties)
{
    VkDeviceSize *shown[GROUPS] = {&properties->samplerDescriptorAlignment, &properties->imageDescriptorAlignment,
                                   &properties->bufferDescriptorAlignment};
    uint32_t bits[GROUPS] = {(uint32_t)properties->samplerDescriptorSize, (uint32_t)properties->imageDescriptorSize,
                             (uint32_t)properties->bufferDescriptorSize};

    for (uint32_t i = 0; i < sizes->count; i++)
        bits[group_of(sizes->types[i])] |= sizes->sizes[i];
    for (uint32_t group = 0; group < GROUPS; group++) {
        uint32_t power = bits[group] & (~bits[group] + 1);
        if (power > *shown[group])
            *shown[group] = power;
    }
    for (uint32_t i = 0; i < sizes->count; i++)
        sizes->alignments[i] = (uint32_t)*shown[group_of(sizes->types[i])];
}

#else
typedef int lap_heap_sizes_unused; /* a file of C declares something */
#endif
