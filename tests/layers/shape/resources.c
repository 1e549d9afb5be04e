/* SPDX-License-Identifier: MIT */
/*
 * Buffers and images.
 *
 *   pad=BYTES      they want so much more memory
 *   align=BYTES    and lie at multiples of this
 *   dedicated      and had rather have an allocation of their own
 *   pitch=TEXELS   rows of images of linear tiling are so much longer: the image below is wider. That is done where
 * nothing but the rows can show it: images that are copied, cleared or drawn to, of uncompressed color formats. Others
 * (sampled, storage, depth, planes, aliases, exported ones) keep their rows
 */
#include "tests/layers/shape/shape.h"
#include <string.h>

/* What a wider image does without anybody noticing. */
#define WIDE_USAGE                                                                                                     \
    ((VkImageUsageFlags)(VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |                           \
                         VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT))

static VkDeviceSize pad, align, pitch;
static bool alone;
static struct shape_noted *linear_images;

static bool read_word(const char *name, const char *value)
{
    if (!strcmp(name, "pad"))
        return shape_read_number(value, &pad);
    if (!strcmp(name, "align"))
        return shape_read_number(value, &align);
    if (!strcmp(name, "pitch"))
        return shape_read_number(value, &pitch);
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

/* The image as it is made below. */
static VkImageCreateInfo real_image(const VkImageCreateInfo *info)
{
    VkImageCreateInfo real = *info;
    if (info->tiling == VK_IMAGE_TILING_LINEAR && !(info->usage & ~WIDE_USAGE) && !info->flags &&
        info->format > VK_FORMAT_UNDEFINED && info->format < VK_FORMAT_D16_UNORM &&
        !chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO))
        real.extent.width += (uint32_t)pitch;
    return real;
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

static VKAPI_ATTR void VKAPI_CALL GetDeviceImageMemoryRequirements(VkDevice handle,
                                                                   const VkDeviceImageMemoryRequirements *info,
                                                                   VkMemoryRequirements2 *out)
{
    struct shape_device *device = shape_device_of(handle);
    VkImageCreateInfo image = real_image(info->pCreateInfo);
    VkDeviceImageMemoryRequirements real = *info;
    real.pCreateInfo = &image;
    device->chain.next.GetDeviceImageMemoryRequirements(handle, &real, out);
    show_requirements_2(device, image.tiling == VK_IMAGE_TILING_OPTIMAL, out);
}

#ifdef VK_KHR_maintenance5
static VKAPI_ATTR void VKAPI_CALL GetDeviceImageSubresourceLayout(VkDevice handle,
                                                                  const VkDeviceImageSubresourceInfoKHR *info,
                                                                  VkSubresourceLayout2KHR *out)
{
    VkImageCreateInfo image = real_image(info->pCreateInfo);
    VkDeviceImageSubresourceInfoKHR real = *info;
    real.pCreateInfo = &image;
    chain_device_of(handle)->next.CHAIN_GetDeviceImageSubresourceLayout(handle, &real, out);
}
#endif

static VKAPI_ATTR VkResult VKAPI_CALL CreateImage(VkDevice handle, const VkImageCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator, VkImage *out)
{
    struct shape_device *device = shape_device_of(handle);
    VkImageCreateInfo real = real_image(info);
    VkResult result;
    if (shape_format_is_gone(info->format))
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    result = device->chain.next.CreateImage(handle, &real, allocator, out);
    if (result >= 0)
        shape_note_image(*out, &real);
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
#ifdef VK_KHR_maintenance5
    CHAIN_OWN_2(GetDeviceImageSubresourceLayout),
#endif
    CHAIN_OWN(CreateImage),
    CHAIN_OWN(DestroyImage),
    CHAIN_END,
};
const struct shape_topic shape_resources = {.read_word = read_word, .functions = functions};
