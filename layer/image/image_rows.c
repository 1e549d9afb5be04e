/* SPDX-License-Identifier: MIT */
#include "layer/image/image_rows.h"

#include <stdlib.h>

#include "base/array.h"
#include "gen_layer.h"
#include "layer/image/format_utils.h"
#include "vulkan/modifier.h"

struct aspects {
    VkImageAspectFlags bits[LAYER_MAX_PLANES];
    uint32_t count;
};

static struct aspects aspects_of(VkFormat format)
{
    struct aspects aspects = {.bits = {VK_IMAGE_ASPECT_COLOR_BIT}, .count = 1};
    uint32_t planes = FormatPlaneCount(format);
    if (FormatIsDepthOrStencil(format)) {
        aspects.bits[0] = FormatIsStencilOnly(format) ? VK_IMAGE_ASPECT_STENCIL_BIT : VK_IMAGE_ASPECT_DEPTH_BIT;
        aspects.bits[1] = VK_IMAGE_ASPECT_STENCIL_BIT;
        aspects.count = FormatIsDepthAndStencil(format) ? 2 : 1;
    } else if (planes > 1 && planes <= LAYER_MAX_PLANES) {
        aspects.count = planes;
        for (uint32_t i = 0; i < planes; i++)
            aspects.bits[i] = (VkImageAspectFlags)VK_IMAGE_ASPECT_PLANE_0_BIT << i;
    }
    return aspects;
}

static VkSubresourceLayout ask_layout(struct layer_device *dev, const struct layer_image *image,
                                      VkImageAspectFlags aspect, uint32_t level, uint32_t array_layer)
{
    VkImageSubresource which = {.aspectMask = image->memory_planes ? lap_modifier_aspect(aspect) : aspect,
                                .mipLevel = level,
                                .arrayLayer = array_layer};
    VkSubresourceLayout layout = {.size = image->bytes, .rowPitch = image->pitch};
    if (image->pitch)
        return layout;
    dev->vk.GetImageSubresourceLayout(dev->handle, gen_VkImage(image->object.handle), &which, &layout);
    return layout;
}

/* All aspects of one level of one layer. */
static void describe_level(struct layer_image_rows *out, struct layer_device *dev, const struct aspects *aspects,
                           const struct layer_image_planes *planes, uint32_t level, uint32_t array_layer)
{
    uint64_t first = 0;
    for (uint32_t i = 0; i < aspects->count; i++) {
        VkSubresourceLayout layout = ask_layout(dev, out->image, aspects->bits[i], level, array_layer);
        uint64_t base = planes->count > 1 ? planes->offsets[i] : 0;
        bool depth_first = aspects->count > 1 && i == 0 && aspects->bits[0] == VK_IMAGE_ASPECT_DEPTH_BIT;
        bool interleaved = false;
        if (depth_first) {
            VkSubresourceLayout stencil = ask_layout(dev, out->image, VK_IMAGE_ASPECT_STENCIL_BIT, level, array_layer);
            interleaved =
                stencil.offset < layout.offset + layout.rowPitch && layout.offset < stencil.offset + stencil.rowPitch;
            first = stencil.offset < layout.offset ? stencil.offset : layout.offset;
        }
        if (interleaved)
            layout.offset = first;
        layer_rows_describe(&out->image->info, aspects->bits[i], level, array_layer, &layout, base, interleaved,
                            &out->rows[out->count++]);
        if (interleaved) /* the depth aspect's rows have the stencil values too */
            return;
    }
}

bool layer_image_rows_describe(struct layer_image_rows *out, struct layer_device *dev, const struct layer_image *image)
{
    struct aspects aspects = aspects_of(image->info.format);
    size_t count = (size_t)aspects.count * image->info.mipLevels * image->info.arrayLayers;
    struct layer_image_planes planes = {.count = 1};

    out->image = NULL;
    out->count = 0;
    if (!lap_array_grow(&out->rows, sizeof *out->rows, &out->capacity, count))
        return false;
    out->image = image;
    if (image->info.flags & VK_IMAGE_CREATE_DISJOINT_BIT)
        layer_image_planes(dev, image, &planes);
    for (uint32_t array_layer = 0; array_layer < image->info.arrayLayers; array_layer++)
        for (uint32_t level = 0; level < image->info.mipLevels; level++)
            describe_level(out, dev, &aspects, &planes, level, array_layer);
    return true;
}

bool layer_image_rows_of(struct layer_device *dev, const struct layer_image *image, VkImageAspectFlags aspect,
                         uint32_t level, uint32_t array_layer, struct layer_rows *out)
{
    struct aspects aspects = aspects_of(image->info.format);
    struct layer_image_planes planes = {.count = 1};
    uint32_t number = 0;
    VkSubresourceLayout layout;

    if (FormatIsDepthOrStencil(image->info.format))
        return false;
    while (number < aspects.count && aspects.bits[number] != aspect)
        number++;
    if (number == aspects.count || level >= image->info.mipLevels || array_layer >= image->info.arrayLayers)
        return false;
    if (image->info.flags & VK_IMAGE_CREATE_DISJOINT_BIT)
        layer_image_planes(dev, image, &planes);
    layout = ask_layout(dev, image, aspect, level, array_layer);
    layer_rows_describe(&image->info, aspect, level, array_layer, &layout,
                        planes.count > 1 ? planes.offsets[number] : 0, false, out);
    return true;
}

void layer_image_rows_finish(struct layer_image_rows *rows)
{
    free(rows->rows);
    *rows = (struct layer_image_rows){0};
}

/* ---- planes ---- */

static VkDeviceSize plane_bytes(struct layer_device *dev, const struct layer_image *image, uint32_t plane)
{
    VkImageAspectFlags first =
        image->memory_planes ? VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT : VK_IMAGE_ASPECT_PLANE_0_BIT;
    VkImagePlaneMemoryRequirementsInfo which = {.sType = VK_STRUCTURE_TYPE_IMAGE_PLANE_MEMORY_REQUIREMENTS_INFO};
    VkImageMemoryRequirementsInfo2 info = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2,
                                           .pNext = &which};
    VkMemoryRequirements2 requirements = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
    which.planeAspect = (VkImageAspectFlagBits)(first << plane);
    info.image = gen_VkImage(image->object.handle);
    dev->vk.GetImageMemoryRequirements2(dev->handle, &info, &requirements);
    return requirements.memoryRequirements.size;
}

void layer_image_planes(struct layer_device *dev, const struct layer_image *image, struct layer_image_planes *out)
{
    VkImage handle = gen_VkImage(image->object.handle);
    uint32_t planes = image->memory_planes ? image->memory_planes : FormatPlaneCount(image->info.format);
    uint32_t count = image->info.flags & VK_IMAGE_CREATE_DISJOINT_BIT ? planes : 1;
    VkMemoryRequirements requirements;

    *out = (struct layer_image_planes){.count = 1};
    if (image->pitch) {
        out->bytes[0] = image->pitch * image->info.extent.height;
        return;
    }
    if (count <= 1 || count > LAYER_MAX_PLANES || !dev->vk.GetImageMemoryRequirements2) {
        dev->vk.GetImageMemoryRequirements(dev->handle, handle, &requirements);
        out->bytes[0] = requirements.size;
        return;
    }
    out->count = count;
    for (uint32_t i = 0; i < count; i++) {
        out->offsets[i] = i ? out->offsets[i - 1] + out->bytes[i - 1] : 0;
        out->bytes[i] = plane_bytes(dev, image, i);
    }
}
