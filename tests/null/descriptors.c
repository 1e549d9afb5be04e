/* SPDX-License-Identifier: MIT */
/* Descriptors in buffers, unlike those of the software drivers: small numbers, images and samplers of combined ones in
 * arrays of their own, bindings in reverse order, and addresses that stay. */
#include <stdlib.h>
#include <string.h>

#include "tests/null/machine.h"

#define SMALL     4u /* samplers and images */
#define LARGE     16u
#define ALIGNMENT 64u

struct binding {
    uint32_t number, type;
    uint64_t offset;
};

struct layout {
    struct null_thing thing; /* bytes: of a set */
    uint32_t count;
    struct binding bindings[];
};

void null_fill_descriptor_properties(VkPhysicalDeviceDescriptorBufferPropertiesEXT *p)
{
    const VkDeviceSize most = (VkDeviceSize)1 << 32;

    p->combinedImageSamplerDescriptorSingleArray = VK_FALSE;
    p->bufferlessPushDescriptors = VK_TRUE;
    p->allowSamplerImageViewPostSubmitCreation = VK_TRUE;
    p->descriptorBufferOffsetAlignment = ALIGNMENT;
    p->maxDescriptorBufferBindings = p->maxResourceDescriptorBufferBindings = 32;
    p->maxSamplerDescriptorBufferBindings = p->maxEmbeddedImmutableSamplerBindings = 32;
    p->maxEmbeddedImmutableSamplers = 2048;
    p->samplerDescriptorSize = p->sampledImageDescriptorSize = p->storageImageDescriptorSize = SMALL;
    p->inputAttachmentDescriptorSize = SMALL;
    p->combinedImageSamplerDescriptorSize = (size_t)2 * SMALL;
    p->uniformTexelBufferDescriptorSize = p->robustUniformTexelBufferDescriptorSize = LARGE;
    p->storageTexelBufferDescriptorSize = p->robustStorageTexelBufferDescriptorSize = LARGE;
    p->uniformBufferDescriptorSize = p->robustUniformBufferDescriptorSize = LARGE;
    p->storageBufferDescriptorSize = p->robustStorageBufferDescriptorSize = LARGE;
    p->accelerationStructureDescriptorSize = (size_t)2 * SMALL;
    p->maxSamplerDescriptorBufferRange = p->maxResourceDescriptorBufferRange = most;
    p->samplerDescriptorBufferAddressSpaceSize = p->resourceDescriptorBufferAddressSpaceSize = most;
    p->descriptorBufferAddressSpaceSize = most;
}

static uint32_t size_of(uint32_t type)
{
    switch (type) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
    case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
        return SMALL;
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR:
        return 2 * SMALL;
    case VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK:
        return 1;
    default:
        return LARGE;
    }
}

/* A binding of a variable count lies behind all others. */
static bool is_variable(const VkDescriptorSetLayoutCreateInfo *info, uint32_t number)
{
    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext) {
        const VkDescriptorSetLayoutBindingFlagsCreateInfo *flags = (const void *)s;
        if (s->sType == VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO)
            return number < flags->bindingCount &&
                   flags->pBindingFlags[number] & VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT;
    }
    return false;
}

static void add_bindings(struct layout *layout, const VkDescriptorSetLayoutCreateInfo *info, bool variable)
{
    for (uint32_t i = info->bindingCount; i > 0; i--) {
        const VkDescriptorSetLayoutBinding *binding = &info->pBindings[i - 1];
        uint64_t bytes = (uint64_t)size_of(binding->descriptorType) * binding->descriptorCount;
        if (is_variable(info, i - 1) != variable)
            continue;
        layout->bindings[layout->count++] =
            (struct binding){binding->binding, binding->descriptorType, layout->thing.bytes};
        layout->thing.bytes += (bytes + LARGE - 1) / LARGE * LARGE;
    }
}

VKAPI_ATTR VkResult VKAPI_CALL hand_CreateDescriptorSetLayout(VkDevice device,
                                                              const VkDescriptorSetLayoutCreateInfo *pCreateInfo,
                                                              const VkAllocationCallbacks *pAllocator,
                                                              VkDescriptorSetLayout *pSetLayout)
{
    struct layout *layout = calloc(1, sizeof *layout + pCreateInfo->bindingCount * sizeof layout->bindings[0]);
    if (!layout)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    add_bindings(layout, pCreateInfo, false);
    add_bindings(layout, pCreateInfo, true);
    *pSetLayout = (VkDescriptorSetLayout)null_make(NULL_TYPE_VkDescriptorSetLayout, &layout->thing);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hand_GetDescriptorSetLayoutSizeEXT(VkDevice device, VkDescriptorSetLayout layout,
                                                              VkDeviceSize *pLayoutSizeInBytes)
{
    const struct null_thing *thing = null_thing_of((uint64_t)layout);
    *pLayoutSizeInBytes = thing ? thing->bytes : 0;
}

VKAPI_ATTR void VKAPI_CALL hand_GetDescriptorSetLayoutBindingOffsetEXT(VkDevice device, VkDescriptorSetLayout layout,
                                                                       uint32_t binding, VkDeviceSize *pOffset)
{
    const struct layout *known = (const struct layout *)null_thing_of((uint64_t)layout);
    *pOffset = 0;
    for (uint32_t i = 0; known && i < known->count; i++)
        if (known->bindings[i].number == binding)
            *pOffset = known->bindings[i].offset;
}

static void write_words(void *to, size_t bytes, uint64_t first, uint64_t second)
{
    const uint64_t words[2] = {first, second};
    memset(to, 0, bytes);
    memcpy(to, words, bytes < sizeof words ? bytes : sizeof words);
}

static void write_buffer(void *to, size_t bytes, const VkDescriptorAddressInfoEXT *info)
{
    write_words(to, bytes, info ? info->address >> 4 : 0,
                info ? (info->range & UINT32_MAX) << 32 | ((uint32_t)info->address & 15) << 16 | (uint32_t)info->format
                     : 0);
}

VKAPI_ATTR void VKAPI_CALL hand_GetDescriptorEXT(VkDevice device, const VkDescriptorGetInfoEXT *pDescriptorInfo,
                                                 size_t dataSize, void *pDescriptor)
{
    const VkDescriptorDataEXT *data = &pDescriptorInfo->data;
    const VkDescriptorImageInfo *image = data->pSampledImage; /* all images are at the same place of the union */

    switch ((uint32_t)pDescriptorInfo->type) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
        write_words(pDescriptor, dataSize, (uint64_t)*data->pSampler >> 8, 0);
        break;
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
        write_words(pDescriptor, dataSize, (uint64_t)image->imageView >> 8 | (uint64_t)image->sampler >> 8 << 32, 0);
        break;
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
    case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
        write_words(pDescriptor, dataSize, image ? (uint64_t)image->imageView >> 8 : 0, 0);
        break;
    case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR:
        write_words(pDescriptor, dataSize, data->accelerationStructure, 0);
        break;
    default:
        write_buffer(pDescriptor, dataSize, data->pUniformBuffer);
        break;
    }
}

VKAPI_ATTR VkDeviceAddress VKAPI_CALL hand_GetBufferDeviceAddress(VkDevice device,
                                                                  const VkBufferDeviceAddressInfo *pInfo)
{
    const struct null_thing *thing = null_thing_of((uint64_t)pInfo->buffer);
    return thing ? thing->address : 0;
}

/* ---- heaps ---- */

#ifdef VK_EXT_descriptor_heap

/* Small ones here, too; with NULL_DESCRIPTORS=large larger ones than other drivers have. */
static bool is_large(void)
{
    const char *size = getenv("NULL_DESCRIPTORS");
    return size && strcmp(size, "large") == 0;
}

void null_fill_heap_properties(VkPhysicalDeviceDescriptorHeapPropertiesEXT *p)
{
    p->samplerHeapAlignment = p->resourceHeapAlignment = ALIGNMENT;
    p->maxSamplerHeapSize = p->maxResourceHeapSize = (VkDeviceSize)1 << 30;
    p->minSamplerHeapReservedRange = p->minSamplerHeapReservedRangeWithEmbedded = (VkDeviceSize)8 * SMALL;
    p->minResourceHeapReservedRange = (VkDeviceSize)4 * LARGE;
    p->samplerDescriptorSize = p->samplerDescriptorAlignment = SMALL;
    p->imageDescriptorSize = LARGE; /* texel buffers, too */
    p->imageDescriptorAlignment = SMALL;
    p->bufferDescriptorSize = p->bufferDescriptorAlignment = LARGE;
    if (is_large()) {
        p->samplerDescriptorSize = p->samplerDescriptorAlignment = 64;
        p->imageDescriptorSize = p->imageDescriptorAlignment = 128;
        p->bufferDescriptorSize = p->bufferDescriptorAlignment = 32;
    }
    p->maxPushDataSize = 256;
    p->maxDescriptorHeapEmbeddedSamplers = 2048;
    p->samplerYcbcrConversionCount = 1;
}

VKAPI_ATTR VkDeviceSize VKAPI_CALL hand_GetPhysicalDeviceDescriptorSizeEXT(VkPhysicalDevice physicalDevice,
                                                                           VkDescriptorType descriptorType)
{
    if (!is_large())
        return size_of(descriptorType);
    switch ((uint32_t)descriptorType) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
        return 64;
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
    case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR:
        return 32;
    default:
        return 128;
    }
}

VKAPI_ATTR VkResult VKAPI_CALL hand_WriteResourceDescriptorsEXT(VkDevice device, uint32_t resourceCount,
                                                                const VkResourceDescriptorInfoEXT *pResources,
                                                                const VkHostAddressRangeEXT *pDescriptors)
{
    for (uint32_t i = 0; i < resourceCount; i++) {
        const VkResourceDescriptorDataEXT *data = &pResources[i].data;
        VkDescriptorAddressInfoEXT info = {0};
        void *to = pDescriptors[i].address;

        switch ((uint32_t)pResources[i].type) {
        case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
        case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
        case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
            write_words(to, SMALL, data->pImage ? (uint64_t)data->pImage->pView->image >> 8 : 0, 0);
            break;
        case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR:
            write_words(to, (size_t)2 * SMALL, data->pAddressRange ? data->pAddressRange->address : 0, 0);
            break;
        case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
        case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
            if (data->pTexelBuffer)
                info = (VkDescriptorAddressInfoEXT){.address = data->pTexelBuffer->addressRange.address,
                                                    .range = data->pTexelBuffer->addressRange.size,
                                                    .format = data->pTexelBuffer->format};
            write_buffer(to, LARGE, &info);
            break;
        default:
            if (data->pAddressRange)
                info = (VkDescriptorAddressInfoEXT){.address = data->pAddressRange->address,
                                                    .range = data->pAddressRange->size};
            write_buffer(to, LARGE, &info);
            break;
        }
    }
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_WriteSamplerDescriptorsEXT(VkDevice device, uint32_t samplerCount,
                                                               const VkSamplerCreateInfo *pSamplers,
                                                               const VkHostAddressRangeEXT *pDescriptors)
{
    for (uint32_t i = 0; i < samplerCount; i++)
        write_words(pDescriptors[i].address, SMALL,
                    1 + (uint64_t)pSamplers[i].addressModeU + (uint64_t)pSamplers[i].magFilter * 16, 0);
    return VK_SUCCESS;
}

#endif
