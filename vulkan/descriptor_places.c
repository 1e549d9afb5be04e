/* SPDX-License-Identifier: MIT */
#include "vulkan/descriptor_places.h"

#include <stdlib.h>

#include "vulkan/chain.h"

enum lap_descriptor_kind lap_descriptor_kind_of(VkDescriptorType type)
{
    switch ((uint32_t)type) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
        return LAP_DESCRIPTOR_SAMPLER;
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
        return LAP_DESCRIPTOR_COMBINED;
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
        return LAP_DESCRIPTOR_SAMPLED_IMAGE;
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
        return LAP_DESCRIPTOR_STORAGE_IMAGE;
    case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
        return LAP_DESCRIPTOR_UNIFORM_TEXELS;
    case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
        return LAP_DESCRIPTOR_STORAGE_TEXELS;
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
        return LAP_DESCRIPTOR_UNIFORM_BUFFER;
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
        return LAP_DESCRIPTOR_STORAGE_BUFFER;
    case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
        return LAP_DESCRIPTOR_INPUT_ATTACHMENT;
    case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR:
        return LAP_DESCRIPTOR_ACCELERATION_STRUCTURE;
    case VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK:
        return LAP_DESCRIPTOR_INLINE;
    case VK_DESCRIPTOR_TYPE_MUTABLE_EXT:
        return LAP_DESCRIPTOR_MUTABLE;
    default:
        return LAP_DESCRIPTOR_NONE;
    }
}

bool lap_descriptor_buffers_enabled(const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceDescriptorBufferFeaturesEXT *features =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_BUFFER_FEATURES_EXT);
    return features && features->descriptorBuffer;
}

static bool is_robust(const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceFeatures2 *features =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    return features ? features->features.robustBufferAccess
                    : info->pEnabledFeatures && info->pEnabledFeatures->robustBufferAccess;
}

void lap_descriptor_sizes_get(PFN_vkGetPhysicalDeviceProperties2 get, VkPhysicalDevice gpu,
                              const VkDeviceCreateInfo *info, struct lap_descriptor_sizes *out)
{
    VkPhysicalDeviceDescriptorBufferPropertiesEXT p = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_BUFFER_PROPERTIES_EXT,
        .combinedImageSamplerDescriptorSingleArray = VK_TRUE,
        .bufferlessPushDescriptors = VK_TRUE};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &p};
    bool robust = is_robust(info);

    get(gpu, &properties);
    *out = (struct lap_descriptor_sizes){
        .splits_combined = !p.combinedImageSamplerDescriptorSingleArray,
        .pushes_need_buffer = !p.bufferlessPushDescriptors,
        .offset_alignment = p.descriptorBufferOffsetAlignment ? p.descriptorBufferOffsetAlignment : 1,
        .bytes = {
            [LAP_DESCRIPTOR_SAMPLER] = (uint32_t)p.samplerDescriptorSize,
            [LAP_DESCRIPTOR_COMBINED] = (uint32_t)p.combinedImageSamplerDescriptorSize,
            [LAP_DESCRIPTOR_SAMPLED_IMAGE] = (uint32_t)p.sampledImageDescriptorSize,
            [LAP_DESCRIPTOR_STORAGE_IMAGE] = (uint32_t)p.storageImageDescriptorSize,
            [LAP_DESCRIPTOR_UNIFORM_TEXELS] =
                (uint32_t)(robust ? p.robustUniformTexelBufferDescriptorSize : p.uniformTexelBufferDescriptorSize),
            [LAP_DESCRIPTOR_STORAGE_TEXELS] =
                (uint32_t)(robust ? p.robustStorageTexelBufferDescriptorSize : p.storageTexelBufferDescriptorSize),
            [LAP_DESCRIPTOR_UNIFORM_BUFFER] =
                (uint32_t)(robust ? p.robustUniformBufferDescriptorSize : p.uniformBufferDescriptorSize),
            [LAP_DESCRIPTOR_STORAGE_BUFFER] =
                (uint32_t)(robust ? p.robustStorageBufferDescriptorSize : p.storageBufferDescriptorSize),
            [LAP_DESCRIPTOR_INPUT_ATTACHMENT] = (uint32_t)p.inputAttachmentDescriptorSize,
            [LAP_DESCRIPTOR_ACCELERATION_STRUCTURE] = (uint32_t)p.accelerationStructureDescriptorSize,
        }};
}

bool lap_descriptor_layout_has_places(const VkDescriptorSetLayoutCreateInfo *info)
{
    return info->flags & VK_DESCRIPTOR_SET_LAYOUT_CREATE_DESCRIPTOR_BUFFER_BIT_EXT &&
           !(info->flags & (VK_DESCRIPTOR_SET_LAYOUT_CREATE_EMBEDDED_IMMUTABLE_SAMPLERS_BIT_EXT |
                            VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR));
}

/* The kinds that a mutable descriptor may have. */
static uint32_t mutable_kinds(const VkDescriptorSetLayoutCreateInfo *info, uint32_t number)
{
    const VkMutableDescriptorTypeCreateInfoEXT *lists =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_MUTABLE_DESCRIPTOR_TYPE_CREATE_INFO_EXT);
    uint32_t kinds = 0;

    if (!lists || number >= lists->mutableDescriptorTypeListCount || !lists->pMutableDescriptorTypeLists)
        return 0;
    for (uint32_t i = 0; i < lists->pMutableDescriptorTypeLists[number].descriptorTypeCount; i++) {
        enum lap_descriptor_kind kind =
            lap_descriptor_kind_of(lists->pMutableDescriptorTypeLists[number].pDescriptorTypes[i]);
        if (kind < LAP_DESCRIPTOR_KINDS)
            kinds |= 1u << kind;
    }
    return kinds;
}

struct lap_descriptor_places *lap_descriptor_places_new(const struct lap_descriptor_sizes *sizes,
                                                        const VkDescriptorSetLayoutCreateInfo *info)
{
    uint32_t count = info->pBindings ? info->bindingCount : 0;
    struct lap_descriptor_places *places = calloc(1, sizeof *places + count * sizeof places->items[0]);

    if (!places)
        return NULL;
    places->count = count;
    for (uint32_t i = 0; i < count; i++) {
        const VkDescriptorSetLayoutBinding *from = &info->pBindings[i];
        struct lap_descriptor_place *place = &places->items[i];
        *place = (struct lap_descriptor_place){.binding = from->binding,
                                               .count = from->descriptorCount,
                                               .kind = lap_descriptor_kind_of(from->descriptorType)};
        if (place->kind == LAP_DESCRIPTOR_MUTABLE)
            place->kinds = mutable_kinds(info, i);
        else if (place->kind < LAP_DESCRIPTOR_KINDS)
            place->kinds = 1u << place->kind;
        place->stride = place->kind == LAP_DESCRIPTOR_INLINE ? 1 : 0;
        for (uint32_t kind = 0; kind < LAP_DESCRIPTOR_KINDS; kind++)
            if (place->kinds >> kind & 1 && sizes->bytes[kind] > place->stride)
                place->stride = sizes->bytes[kind];
        if (place->kind == LAP_DESCRIPTOR_COMBINED && sizes->splits_combined) {
            place->stride = sizes->bytes[LAP_DESCRIPTOR_SAMPLED_IMAGE];
            place->sampler_stride = sizes->bytes[LAP_DESCRIPTOR_SAMPLER];
        }
    }
    return places;
}
