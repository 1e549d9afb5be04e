/* SPDX-License-Identifier: MIT */
#include "layer/region.h"

#include "layer/image_rows.h"

#define MOST_ROWS 512u /* that are told apart in a region which is narrower than its image */

struct region {
    struct layer_cmdbuf *cb;
    const struct layer_image *image;
    enum layer_touch how;
};

static void touch(const struct region *region, uint64_t offset, uint64_t bytes)
{
    layer_touch_image_bytes(region->cb, region->image, offset, bytes, region->how);
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

/* Whole rows are one range, with the padding between them, which is nobody's. False when there are too many ranges. */
static bool touch_box(const struct region *region, const struct layer_rows *rows, const struct box *box)
{
    bool whole = box->x == 0 && box->x_end == rows->row_bytes;
    if (box->x >= box->x_end || box->y >= box->y_end || box->z >= box->z_end)
        return true;
    if (!whole && (box->y_end - box->y) * (box->z_end - box->z) > MOST_ROWS)
        return false;
    for (uint64_t z = box->z; z < box->z_end; z++) {
        uint64_t slice = rows->offset + (rows->slices > 1 ? z * rows->slice_pitch : 0);
        if (whole)
            touch(region, slice + box->y * rows->row_pitch, (box->y_end - box->y - 1) * rows->row_pitch + box->x_end);
        for (uint64_t y = box->y; y < box->y_end && !whole; y++)
            touch(region, slice + y * rows->row_pitch + box->x, box->x_end - box->x);
    }
    return true;
}

static bool touch_layers(const struct region *region, const VkImageSubresourceLayers *where, VkOffset3D offset,
                         VkExtent3D extent)
{
    uint32_t layers = region->image->info.arrayLayers, end;
    if (where->baseArrayLayer >= layers)
        return true;
    end = where->layerCount > layers - where->baseArrayLayer ? layers : where->baseArrayLayer + where->layerCount;
    for (uint32_t number = where->baseArrayLayer; number < end; number++) {
        struct layer_rows rows;
        struct box box;
        if (!layer_image_rows_of(region->cb->device, region->image, where->aspectMask, where->mipLevel, number,
                                 &rows) ||
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
    struct region region = {cb, LAYER_GET(cb->device, VkImage, handle), how};
    if (!region.image || region.image->info.tiling != VK_IMAGE_TILING_LINEAR || how == LAYER_READS) {
        layer_touch_image(cb, handle, how);
        return;
    }
    /* Nothing is promised where the texels can't be told: the device's bytes may then be sent as if they were the
     * host's, but no store of the host is lost. */
    if (!touch_layers(&region, where, offset, extent))
        layer_touch_image(cb, handle, LAYER_READS);
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
