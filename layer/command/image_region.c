/* SPDX-License-Identifier: MIT */
#include "layer/command/image_region.h"
#include "layer/image/image_rows.h"

#include "layer/command/image_state.h"
#include "layer/image/format_utils.h"

#define MOST_ROWS 512u /* noted one by one in a region that is narrower than its image */

struct region {
    struct layer_device *dev;
    struct layer_touched *touched;
    const struct layer_image *image;
    enum layer_touch how;
    bool merged; /* of too many rows: from the first byte to the last, unchecked; otherwise nothing, and the log says so
                  */
    bool failed; /* out of memory */
};

static void touch(struct region *region, uint64_t offset, uint64_t bytes, enum layer_touch how)
{
    if (!layer_touched_add(region->touched, region->image->memobj, offset, bytes, how))
        region->failed = true;
}

struct box {
    uint64_t x, y, z, x_end, y_end, z_end; /* bytes of a row, rows, slices */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static struct box box_of(const struct layer_rows *rows, VkOffset3D offset, VkExtent3D extent)
{
    uint64_t x = (uint32_t)offset.x, y = (uint32_t)offset.y, z = (uint32_t)offset.z;
    uint64_t x_blocks = (x + extent.width + rows->block_width - 1) / rows->block_width;
    uint64_t y_blocks = (y + extent.height + rows->block_height - 1) / rows->block_height;
    return (struct box){.x = x / rows->block_width * rows->element_bytes,
                        .y = y / rows->block_height,
                        .z = z,
                        .x_end = least(x_blocks * rows->element_bytes, rows->row_bytes),
                        .y_end = least(y_blocks, rows->rows),
                        .z_end = least(z + extent.depth, rows->slices)};
}

/* Whole rows are one range, with the padding between them, which no texel uses. False when there are too many
 * ranges. */
static bool touch_box(struct region *region, const struct layer_rows *rows, const struct box *box)
{
    bool whole = box->x == 0 && box->x_end == rows->row_bytes, merged = false;
    if (box->x >= box->x_end || box->y >= box->y_end || box->z >= box->z_end)
        return true;
    if (!whole && (box->y_end - box->y) * (box->z_end - box->z) > MOST_ROWS) {
        if (!region->merged)
            return false;
        merged = true;
    }
    for (uint64_t z = box->z; z < box->z_end; z++) {
        uint64_t slice = rows->offset + (rows->slices > 1 ? z * rows->slice_pitch : 0);
        if (whole || merged)
            touch(region, slice + box->y * rows->row_pitch + box->x,
                  (box->y_end - box->y - 1) * rows->row_pitch + box->x_end - box->x,
                  merged ? LAYER_WRITES_VARYING : region->how);
        for (uint64_t y = box->y; y < box->y_end && !whole && !merged; y++)
            touch(region, slice + y * rows->row_pitch + box->x, box->x_end - box->x, region->how);
    }
    return true;
}

static bool touch_layers(struct region *region, const VkImageSubresourceLayers *where, VkOffset3D offset,
                         VkExtent3D extent)
{
    uint32_t layers = region->image->info.arrayLayers, end;
    if (where->baseArrayLayer >= layers)
        return true;
    end = where->layerCount > layers - where->baseArrayLayer ? layers : where->baseArrayLayer + where->layerCount;
    for (uint32_t number = where->baseArrayLayer; number < end; number++) {
        struct layer_rows rows;
        struct box box;
        if (!layer_image_rows_of(region->dev, region->image, where->aspectMask, where->mipLevel, number, &rows) ||
            !rows.element_bytes)
            return false;
        box = box_of(&rows, offset, extent);
        if (!touch_box(region, &rows, &box))
            return false;
    }
    return true;
}

void layer_touch_region(struct layer_cmdbuf *cb, VkImage handle, const VkImageSubresourceLayers *where,
                        VkOffset3D offset, VkExtent3D extent, enum layer_touch how)
{
    struct region region = {cb->device, &cb->touched, LAYER_GET(cb->device, VkImage, handle), how, false, false};
    if (how == LAYER_WRITES)
        layer_image_step_region(cb, handle, where, offset, extent);
    if (!region.image || region.image->info.tiling != VK_IMAGE_TILING_LINEAR || how == LAYER_READS) {
        layer_touch_image(cb, handle, how);
        return;
    }
    if (cb->state != LAYER_CMDBUF_RECORDING || !layer_image_matters(region.image, true))
        return;
    /* If the texels are not known: device writes may be recorded as host writes, but no host write is lost. */
    if (!touch_layers(&region, where, offset, extent))
        layer_touch_image(cb, handle, LAYER_READS);
    if (region.failed)
        layer_touch_failed(cb);
}

void layer_touch_subresources(struct layer_cmdbuf *cb, VkImage handle, const VkImageSubresourceRange *range)
{
    const struct layer_image *image = LAYER_GET(cb->device, VkImage, handle);
    VkImageSubresourceLayers where = {range->aspectMask, range->baseMipLevel, range->baseArrayLayer, range->layerCount};
    const VkExtent3D all = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    uint32_t levels = image ? image->info.mipLevels : 0;

    for (uint32_t i = 0; where.mipLevel < levels && i < range->levelCount; i++, where.mipLevel++)
        layer_touch_region(cb, handle, &where, (VkOffset3D){0, 0, 0}, all, LAYER_WRITES);
}

/* ---- views ---- */

static bool add_all(struct layer_touched *touched, const struct layer_image *image, enum layer_touch how)
{
    return layer_touched_add(touched, image->memobj, 0, UINT64_MAX, how);
}

static bool add_layers(struct region *region, const VkImageSubresourceLayers *where, VkOffset3D offset,
                       VkExtent3D extent)
{
    if (!touch_layers(region, where, offset, extent))
        return add_all(region->touched, region->image, LAYER_WRITES_VARYING);
    return !region->failed;
}

bool layer_region_add_view(struct layer_device *dev, struct layer_touched *touched, const struct layer_image *image,
                           const struct layer_view_range *view, enum layer_touch how)
{
    struct region region = {dev, touched, image, how, true, false};
    VkImageSubresourceLayers where = {view->aspect, view->first_level, view->first_layer, view->layer_count};

    if (image->info.tiling != VK_IMAGE_TILING_LINEAR)
        return add_all(touched, image, LAYER_WRITES);
    if (!view->level_count)
        return add_all(touched, image, LAYER_WRITES_VARYING);
    for (uint32_t i = 0; i < view->level_count; i++, where.mipLevel++)
        if (!add_layers(&region, &where, (VkOffset3D){0, 0, 0}, (VkExtent3D){UINT32_MAX, UINT32_MAX, UINT32_MAX}))
            return false;
    return true;
}

/* For views with texels that are blocks of the image, the rectangle is in blocks. */
static bool has_blocks(VkFormat format)
{
    VkExtent3D block = FormatTexelBlockExtent(format);
    return FormatPlaneCount(format) <= 1 && (block.width > 1 || block.height > 1);
}

bool layer_region_add_area(struct layer_device *dev, struct layer_touched *touched, const struct layer_image *image,
                           const struct layer_view_range *view, uint32_t first_layer, uint32_t layer_count,
                           const VkRect2D *area, enum layer_touch how)
{
    struct region region = {dev, touched, image, how, true, false};
    VkImageSubresourceLayers where = {view->aspect, view->first_level, view->first_layer + first_layer, layer_count};

    if (image->info.tiling != VK_IMAGE_TILING_LINEAR)
        return add_all(touched, image, LAYER_WRITES);
    if (!view->level_count || has_blocks(image->info.format))
        return add_all(touched, image, LAYER_WRITES_VARYING);
    if (first_layer >= view->layer_count)
        return true;
    if (layer_count > view->layer_count - first_layer)
        where.layerCount = view->layer_count - first_layer;
    return add_layers(&region, &where, (VkOffset3D){area->offset.x, area->offset.y, 0},
                      (VkExtent3D){area->extent.width, area->extent.height, UINT32_MAX});
}
