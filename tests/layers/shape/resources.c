/* SPDX-License-Identifier: MIT */
/*
 * Buffers and images.
 *
 *   pad=BYTES      they want so much more memory
 *   align=BYTES    and lie at multiples of this
 *   dedicated      and had rather have an allocation of their own
 */
#include "tests/layers/shape/shape.h"
#include <string.h>

static VkDeviceSize pad, align;
static bool alone;
static struct shape_noted *linear_images;

static bool read_word(const char *name, const char *value)
{
    if (!strcmp(name, "pad"))
        return shape_read_number(value, &pad);
    if (!strcmp(name, "align"))
        return shape_read_number(value, &align);
    return !strcmp(name, "dedicated") && (alone = true);
}

static void show_requirements(const struct shape_device *device, bool optimal, VkMemoryRequirements *requirements)
{
    VkDeviceSize alignment;
    shape_raise(&requirements->alignment, align);
    alignment = requirements->alignment;
    requirements->size = (requirements->size + pad + alignment - 1) / alignment * alignment;
    requirements->memoryTypeBits = shape_shown_mask(&device->types, requirements->memoryTypeBits, optimal);
}

static bool is_optimal(VkDevice device, VkImage image)
{
    return !shape_is_noted(&linear_images, device, (uint64_t)image);
}

static void show_requirements_2(const struct shape_device *device, bool optimal, VkMemoryRequirements2 *out)
{
    VkMemoryDedicatedRequirements *dedicated = chain_find(out->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS);
    show_requirements(device, optimal, &out->memoryRequirements);
    if (dedicated && alone)
        dedicated->prefersDedicatedAllocation = VK_TRUE;
}

static VKAPI_ATTR void VKAPI_CALL GetBufferMemoryRequirements(VkDevice handle, VkBuffer buffer,
                                                              VkMemoryRequirements *out)
{
    struct shape_device *device = shape_device_of(handle);
    device->chain.next.GetBufferMemoryRequirements(handle, buffer, out);
    show_requirements(device, false, out);
}

static VKAPI_ATTR void VKAPI_CALL GetImageMemoryRequirements(VkDevice handle, VkImage image, VkMemoryRequirements *out)
{
    struct shape_device *device = shape_device_of(handle);
    device->chain.next.GetImageMemoryRequirements(handle, image, out);
    show_requirements(device, is_optimal(handle, image), out);
}

#define REQUIREMENTS_2(name, info_type, optimal)                                                                       \
    static VKAPI_ATTR void VKAPI_CALL name(VkDevice handle, const info_type *info, VkMemoryRequirements2 *out)         \
    {                                                                                                                  \
        struct shape_device *device = shape_device_of(handle);                                                         \
        device->chain.next.name(handle, info, out);                                                                    \
        show_requirements_2(device, optimal, out);                                                                     \
    }
REQUIREMENTS_2(GetBufferMemoryRequirements2, VkBufferMemoryRequirementsInfo2, false)
REQUIREMENTS_2(GetImageMemoryRequirements2, VkImageMemoryRequirementsInfo2, is_optimal(handle, info->image))
REQUIREMENTS_2(GetDeviceBufferMemoryRequirements, VkDeviceBufferMemoryRequirements, false)
REQUIREMENTS_2(GetDeviceImageMemoryRequirements, VkDeviceImageMemoryRequirements,
               info->pCreateInfo->tiling == VK_IMAGE_TILING_OPTIMAL)

static VKAPI_ATTR VkResult VKAPI_CALL CreateImage(VkDevice handle, const VkImageCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator, VkImage *out)
{
    struct shape_device *device = shape_device_of(handle);
    VkResult result;
    if (shape_format_is_gone(info->format))
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    result = device->chain.next.CreateImage(handle, info, allocator, out);
    if (result < 0 || info->tiling == VK_IMAGE_TILING_OPTIMAL || shape_note(&linear_images, handle, (uint64_t)*out))
        return result;
    device->chain.next.DestroyImage(handle, *out, allocator);
    *out = VK_NULL_HANDLE;
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

static VKAPI_ATTR void VKAPI_CALL DestroyImage(VkDevice handle, VkImage image, const VkAllocationCallbacks *allocator)
{
    shape_forget(&linear_images, handle, (uint64_t)image);
    chain_device_of(handle)->next.DestroyImage(handle, image, allocator);
}

static const struct chain_function functions[] = {
    CHAIN_OWN(GetBufferMemoryRequirements),
    CHAIN_OWN(GetImageMemoryRequirements),
    CHAIN_OWN_2(GetBufferMemoryRequirements2),
    CHAIN_OWN_2(GetImageMemoryRequirements2),
    CHAIN_OWN_2(GetDeviceBufferMemoryRequirements),
    CHAIN_OWN_2(GetDeviceImageMemoryRequirements),
    CHAIN_OWN(CreateImage),
    CHAIN_OWN(DestroyImage),
    CHAIN_END,
};
const struct shape_topic shape_resources = {.read_word = read_word, .functions = functions};
