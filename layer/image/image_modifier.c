/* SPDX-License-Identifier: MIT */
#include "layer/image/image_modifier.h"

#include <stdlib.h>

#include "gen_layer.h"
#include "layer/image/hardware_buffer.h"
#include "vulkan/chain.h"
#include "vulkan/layout.h"

/* How many memory planes images of a format with a modifier have; 0: the driver does not say. */
static uint32_t ask_plane_count(struct layer_device *dev, VkFormat format, uint64_t modifier)
{
    VkPhysicalDevice gpu = gen_VkPhysicalDevice(dev->physical_device->object.handle);
    VkDrmFormatModifierPropertiesListEXT list = {.sType = VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT};
    VkFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2, .pNext = &list};
    uint32_t count = 0;

    if (!dev->instance->vk.GetPhysicalDeviceFormatProperties2)
        return 0;
    dev->instance->vk.GetPhysicalDeviceFormatProperties2(gpu, format, &properties);
    list.pDrmFormatModifierProperties =
        calloc(list.drmFormatModifierCount + 1, sizeof *list.pDrmFormatModifierProperties);
    if (!list.pDrmFormatModifierProperties)
        return 0;
    dev->instance->vk.GetPhysicalDeviceFormatProperties2(gpu, format, &properties);
    for (uint32_t i = 0; i < list.drmFormatModifierCount; i++)
        if (list.pDrmFormatModifierProperties[i].drmFormatModifier == modifier)
            count = list.pDrmFormatModifierProperties[i].drmFormatModifierPlaneCount;
    free(list.pDrmFormatModifierProperties);
    return count <= LAP_MEMORY_PLANES ? count : 0;
}

/* The image as one whose rows lie where a replay's linear image has them, too: nobody knows the driver's own order. */
static const VkImageCreateInfo *record_rows(const VkImageCreateInfo *asked, uint64_t pitch,
                                            struct layer_image_modifier *out)
{
    out->info = *asked;
    out->info.pNext = &out->is;
    out->info.tiling = VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT;
    out->is = (VkImageDrmFormatModifierExplicitCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT,
        .pNext = asked->pNext,
        .drmFormatModifier = LAP_MODIFIER_LINEAR,
        .drmFormatModifierPlaneCount = 1,
        .pPlaneLayouts = out->planes,
    };
    out->planes[0] = (VkSubresourceLayout){.rowPitch = pitch};
    return &out->info;
}

const VkImageCreateInfo *layer_image_modifier_record(struct layer_device *dev, VkImage image,
                                                     const VkImageCreateInfo *asked, struct layer_image_modifier *out)
{
    VkImageDrmFormatModifierPropertiesEXT chosen = {.sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_PROPERTIES_EXT,
                                                    .drmFormatModifier = LAP_MODIFIER_INVALID};
    const uint64_t pitch = layer_hardware_image_pitch(asked);

    if (pitch)
        return record_rows(asked, pitch, out);
    if (asked->tiling != VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT ||
        lap_chain_find(asked->pNext, VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT) ||
        !dev->vk.GetImageDrmFormatModifierPropertiesEXT ||
        dev->vk.GetImageDrmFormatModifierPropertiesEXT(dev->handle, image, &chosen) < 0)
        return asked;
    out->info = *asked;
    out->info.pNext = &out->is;
    out->is = (VkImageDrmFormatModifierExplicitCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT,
        .pNext = asked->pNext,
        .drmFormatModifier = chosen.drmFormatModifier,
        .drmFormatModifierPlaneCount = ask_plane_count(dev, asked->format, chosen.drmFormatModifier),
        .pPlaneLayouts = out->planes,
    };
    for (uint32_t i = 0; i < out->is.drmFormatModifierPlaneCount; i++) {
        VkImageSubresource plane = {.aspectMask = VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT << i};
        out->planes[i] = (VkSubresourceLayout){0};
        dev->vk.GetImageSubresourceLayout(dev->handle, image, &plane, &out->planes[i]);
    }
    return &out->info;
}

static bool is_of_buffer(const VkImageCreateInfo *info)
{
    const VkExternalMemoryImageCreateInfo *external =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    return external && external->handleTypes & VK_EXTERNAL_MEMORY_HANDLE_TYPE_ANDROID_HARDWARE_BUFFER_BIT_ANDROID;
}

void layer_image_modifier_remember(struct layer_image *image, const VkImageCreateInfo *recorded)
{
    const VkImageDrmFormatModifierExplicitCreateInfoEXT *is =
        lap_chain_find(recorded->pNext, VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT);

    if (recorded->tiling != VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT)
        return;
    image->memory_planes = 1;
    if (!is || !is->drmFormatModifierPlaneCount || is->drmFormatModifierPlaneCount > LAP_MEMORY_PLANES)
        return;
    image->memory_planes = (uint8_t)is->drmFormatModifierPlaneCount;
    if (lap_modifier_is_linear(image->info.format, is->drmFormatModifier, is->drmFormatModifierPlaneCount))
        image->info.tiling = VK_IMAGE_TILING_LINEAR;
    if (is_of_buffer(recorded)) { /* that is how it is recorded; it has no modifier */
        image->pitch = is->pPlaneLayouts[0].rowPitch;
        image->memory_planes = 0;
    }
}
