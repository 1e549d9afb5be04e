/* SPDX-License-Identifier: MIT */
#include "layer/image/row_layout.h"

#include "layer/image/format_utils.h"

static uint32_t at_level(uint32_t extent, uint32_t mip_level)
{
    uint32_t size = mip_level < 32 ? extent >> mip_level : 0;
    return size ? size : 1;
}

static uint32_t blocks(uint32_t texels, uint32_t block)
{
    return block > 1 ? (texels + block - 1) / block : texels;
}

static bool is_plane(VkImageAspectFlags aspect)
{
    return aspect & (VK_IMAGE_ASPECT_PLANE_0_BIT | VK_IMAGE_ASPECT_PLANE_1_BIT | VK_IMAGE_ASPECT_PLANE_2_BIT);
}

void layer_rows_describe(const VkImageCreateInfo *info, VkImageAspectFlags aspect, uint32_t mip_level,
                         uint32_t array_layer, const VkSubresourceLayout *layout, uint64_t base, bool whole_texels,
                         struct layer_rows *out)
{
    uint32_t width = at_level(info->extent.width, mip_level), height = at_level(info->extent.height, mip_level);
    VkFormat format = info->format;
    VkImageAspectFlags texel = VK_IMAGE_ASPECT_COLOR_BIT;
    VkExtent3D block;
    uint32_t element_bytes;
    uint64_t row_bytes;

    if (is_plane(aspect)) {
        VkExtent2D divisors = FindMultiplaneExtentDivisors(format, aspect);
        width = blocks(width, divisors.width);
        height = blocks(height, divisors.height);
        format = FindMultiplaneCompatibleFormat(format, aspect);
    } else if (FormatIsDepthAndStencil(format) && !whole_texels) {
        texel = aspect;
    }
    block = FormatTexelBlockExtent(format);
    element_bytes = layer_element_bytes(format, texel);
    row_bytes = (uint64_t)blocks(width, block.width) * element_bytes;
    *out = (struct layer_rows){
        .aspect = aspect,
        .mip_level = mip_level,
        .array_layer = array_layer,
        .offset = base + layout->offset,
        .row_pitch = layout->rowPitch,
        .slice_pitch = layout->depthPitch, /* undefined unless the image is 3D */
        .row_bytes = row_bytes,
        .rows = blocks(height, block.height),
        .slices =
            info->imageType == VK_IMAGE_TYPE_3D ? blocks(at_level(info->extent.depth, mip_level), block.depth) : 1,
        .block_width = block.width ? block.width : 1,
        .block_height = block.height ? block.height : 1,
        .element_bytes = element_bytes,
    };
    /* A format that is newer than the tables: the padding is sent too. */
    if (row_bytes == 0 || (out->rows > 1 && row_bytes > out->row_pitch)) {
        out->row_bytes = out->row_pitch;
        out->element_bytes = 0;
    }
}

/* The part of [begin, end) in one slice that begins at `start`; all in bytes of the subresource. */
static bool split_slice(const struct layer_rows *rows, uint32_t slice, uint64_t start, uint64_t begin, uint64_t end,
                        const unsigned char *data, layer_row_fn visit, void *context)
{
    uint64_t first = begin > start && rows->row_pitch ? (begin - start) / rows->row_pitch : 0;
    for (uint64_t row = first; row < rows->rows; row++) {
        uint64_t at = start + row * rows->row_pitch;
        uint64_t from = at > begin ? at : begin, to = at + rows->row_bytes < end ? at + rows->row_bytes : end;
        if (at >= end)
            break;
        if (from < to && !visit(context, rows, slice, (uint32_t)row, from - at, data + (from - begin), to - from))
            return false;
    }
    return true;
}

bool layer_rows_split(const struct layer_rows *rows, uint64_t offset, const void *data, uint64_t bytes,
                      layer_row_fn visit, void *context)
{
    uint64_t skipped = offset < rows->offset ? rows->offset - offset : 0, begin, end;
    const unsigned char *from;
    uint32_t slice = 0;

    if (skipped >= bytes)
        return true;
    begin = offset + skipped - rows->offset;
    end = offset + bytes - rows->offset;
    from = (const unsigned char *)data + skipped;
    if (rows->slices > 1 && rows->slice_pitch && begin / rows->slice_pitch >= rows->slices)
        return true;
    if (rows->slices > 1 && rows->slice_pitch)
        slice = (uint32_t)(begin / rows->slice_pitch);
    for (; slice < rows->slices; slice++) {
        uint64_t start = slice * rows->slice_pitch;
        if (slice && start >= end)
            break;
        if (!split_slice(rows, slice, start, begin, end, from, visit, context))
            return false;
    }
    return true;
}
