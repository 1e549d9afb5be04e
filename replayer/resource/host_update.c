/* SPDX-License-Identifier: MIT */
/* host_update: host writes into memory, which the trace holds as bytes of an object. Buffer contents keep their layout.
 * The rows of a linear image go where the replay device's vkGetImageSubresourceLayout places them. The program wrote
 * while the device did not use these bytes. The replay repeats the waits that ensured this, so it adds none. Memory
 * that is not host-visible is written by copies before the next submission (staging.h). */
#include <inttypes.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/address/address.h"
#include "replayer/core/device.h"
#include "replayer/format/texel_convert.h"
#include "replayer/memory/resource.h"
#include "replayer/resource/host_update.h"
#include "replayer/sparse/sparse.h"

static bool inside(VkDeviceSize whole, VkDeviceSize offset, VkDeviceSize bytes)
{
    return offset <= whole && bytes <= whole - offset;
}

static enum lap_status find_updated(struct replay *r, VkBuffer buffer, uint64_t bytes, struct replay_buffer **out,
                                    uint64_t *out_index)
{
    struct replay_buffer *record = *out = replay_buffer_of(r, buffer, out_index);

    if (!record)
        return replay_invalid(r, "an update of a buffer that is not alive");
    if (bytes && !replay_sparse_has_pages(record) && !record->place.memory)
        return replay_fail(r, "VkBuffer:%" PRIu64 " is updated but has no memory", *out_index);
    return LAP_OK;
}

static enum lap_status does_not_fit(struct replay *r, const struct replay_buffer *record, uint64_t index,
                                    VkDeviceSize offset, VkDeviceSize bytes)
{
    return replay_fail(r, "%" PRIu64 " bytes at %" PRIu64 " don't fit into VkBuffer:%" PRIu64 " of %" PRIu64 " bytes",
                       (uint64_t)bytes, (uint64_t)offset, index, (uint64_t)record->bytes);
}

static enum lap_status write_range(struct replay *r, struct replay_device *dev, VkBuffer buffer,
                                   struct replay_buffer *record, VkDeviceSize offset, const void *data, size_t bytes)
{
    if (dev->addresses.translated)
        return replay_address_update(r, dev, buffer, record, offset, data, bytes);
    return replay_buffer_write(r, dev, buffer, record, offset, data, bytes);
}

enum lap_status replay_lapilliUpdateBuffer(struct replay *r, struct replay_device *dev,
                                           struct gen_args_lapilliUpdateBuffer *args)
{
    uint64_t index;
    struct replay_buffer *record;
    enum lap_status status = find_updated(r, args->buffer, args->dataSize, &record, &index);

    if (status != LAP_OK || args->dataSize == 0)
        return status;
    if (!args->pData || !inside(record->bytes, args->offset, args->dataSize))
        return does_not_fit(r, record, index, args->offset, args->dataSize);
    return write_range(r, dev, args->buffer, record, args->offset, args->pData, args->dataSize);
}

/* Checks that all spans lie in the buffer and match the size of the data, and converts them to offsets. */
static enum lap_status place_spans(struct replay *r, const struct replay_buffer *record, uint64_t index,
                                   const struct gen_args_lapilliUpdateBufferSpans *args,
                                   struct replay_memory_span **out_spans)
{
    struct replay_memory_span *spans = replay_scratch(r, args->spanCount, sizeof *spans);
    VkDeviceSize end = 0, data = 0;

    if (!args->pGaps || !args->pSizes || !args->pData)
        return replay_fail(r, "an update of VkBuffer:%" PRIu64 " without spans or without bytes", index);
    if (args->spanCount && !spans)
        return replay_no_scratch(r);
    for (uint32_t i = 0; i < args->spanCount; i++) {
        VkDeviceSize gap = args->pGaps[i], bytes = args->pSizes[i];
        if (gap > record->bytes - end || bytes > record->bytes - end - gap)
            return does_not_fit(r, record, index, gap > UINT64_MAX - end ? UINT64_MAX : end + gap, bytes);
        spans[i] = (struct replay_memory_span){end + gap, (const uint8_t *)args->pData + data, (size_t)bytes};
        if (bytes > args->dataSize - data)
            break;
        end += gap + bytes;
        data += bytes;
        if (i + 1 == args->spanCount && data == args->dataSize) {
            *out_spans = spans;
            return LAP_OK;
        }
    }
    return replay_fail(r, "the spans of an update of VkBuffer:%" PRIu64 " are not the %zu bytes that it has", index,
                       args->dataSize);
}

enum lap_status replay_lapilliUpdateBufferSpans(struct replay *r, struct replay_device *dev,
                                                struct gen_args_lapilliUpdateBufferSpans *args)
{
    uint64_t index;
    struct replay_buffer *record;
    struct replay_memory_span *spans = NULL;
    enum lap_status status = find_updated(r, args->buffer, args->dataSize, &record, &index);

    if (status != LAP_OK || (args->spanCount == 0 && args->dataSize == 0))
        return status;
    status = place_spans(r, record, index, args, &spans);
    if (status == LAP_OK && !dev->addresses.translated && !replay_sparse_has_pages(record) && record->place.host)
        return replay_memory_place_write_spans(r, dev, &record->place, args->spanCount, spans);
    for (uint32_t i = 0; status == LAP_OK && i < args->spanCount; i++)
        if (spans[i].bytes)
            status = write_range(r, dev, args->buffer, record, spans[i].offset, spans[i].data, spans[i].bytes);
    return status;
}

/* Aspects that vkGetImageSubresourceLayout accepts one at a time. */
static bool is_one_aspect(VkImageAspectFlags aspect)
{
    const VkImageAspectFlags known = VK_IMAGE_ASPECT_COLOR_BIT | VK_IMAGE_ASPECT_DEPTH_BIT |
                                     VK_IMAGE_ASPECT_STENCIL_BIT | VK_IMAGE_ASPECT_PLANE_0_BIT |
                                     VK_IMAGE_ASPECT_PLANE_1_BIT | VK_IMAGE_ASPECT_PLANE_2_BIT;
    return aspect && !(aspect & (aspect - 1)) && (aspect & known);
}

static unsigned plane_of(const struct replay_image *record, VkImageAspectFlags aspect)
{
    if (!(record->info.flags & VK_IMAGE_CREATE_DISJOINT_BIT))
        return 0;
    return aspect == VK_IMAGE_ASPECT_PLANE_1_BIT ? 1 : aspect == VK_IMAGE_ASPECT_PLANE_2_BIT ? 2 : 0;
}

/* For interleaved depth and stencil the trace has whole rows under the depth aspect. */
static VkSubresourceLayout ask_layout(const struct replay_device *dev, VkImage image, VkFormat format,
                                      VkImageSubresource subresource)
{
    VkSubresourceLayout layout, stencil;

    dev->vk.GetImageSubresourceLayout(dev->live, image, &subresource, &layout);
    if (subresource.aspectMask != VK_IMAGE_ASPECT_DEPTH_BIT || format < VK_FORMAT_D16_UNORM_S8_UINT ||
        format > VK_FORMAT_D32_SFLOAT_S8_UINT)
        return layout;
    subresource.aspectMask = VK_IMAGE_ASPECT_STENCIL_BIT;
    dev->vk.GetImageSubresourceLayout(dev->live, image, &subresource, &stencil);
    if (stencil.offset < layout.offset && layout.offset < stencil.offset + stencil.rowPitch)
        layout.offset = stencil.offset;
    return layout;
}

enum lap_status replay_image_rows(struct replay *r, struct replay_device *dev, VkImage image,
                                  const struct replay_rows_wanted *wanted, struct replay_rows *out)
{
    VkImageSubresource subresource = {wanted->aspect, wanted->mip_level, wanted->array_layer};
    struct replay_image *record = replay_image_of(r, image, &out->index);
    VkSubresourceLayout layout;
    uint32_t rows, slices;
    unsigned plane;

    if (!record)
        return replay_invalid(r, "an update or a check of an image that is not alive");
    if (record->of_swapchain || record->info.tiling != VK_IMAGE_TILING_LINEAR)
        return replay_fail(r, "VkImage:%" PRIu64 " has no layout that the host could know", out->index);
    if (!is_one_aspect(wanted->aspect) || wanted->mip_level >= record->info.mipLevels ||
        wanted->array_layer >= record->info.arrayLayers)
        return replay_fail(r, "an update or a check names no part of VkImage:%" PRIu64, out->index);
    /* For block formats this bound is larger than necessary. */
    rows = record->info.extent.height >> wanted->mip_level;
    slices = record->info.extent.depth >> wanted->mip_level;
    rows = rows ? rows : 1;
    if (wanted->row >= rows || wanted->row_count > rows - wanted->row || wanted->slice >= (slices ? slices : 1))
        return replay_fail(r, "VkImage:%" PRIu64 " has no row %u to %" PRIu64 " of slice %u", out->index, wanted->row,
                           (uint64_t)wanted->row + wanted->row_count, wanted->slice);
    plane = plane_of(record, wanted->aspect);
    out->place = &record->places[plane];
    out->bytes = out->place->host ? NULL : &record->bytes[plane];
    if (!record->bound || !out->place->memory)
        return replay_fail(r, "VkImage:%" PRIu64 " is updated or checked but has no memory", out->index);
    layout = ask_layout(dev, image, record->info.format, subresource);
    if (!inside(layout.rowPitch, wanted->offset_in_row, wanted->bytes_in_row))
        return replay_fail(
            r, "%" PRIu64 " bytes at %" PRIu64 " don't fit into a row of VkImage:%" PRIu64 " (%" PRIu64 " bytes)",
            wanted->bytes_in_row, wanted->offset_in_row, out->index, (uint64_t)layout.rowPitch);
    out->pitch = layout.rowPitch;
    out->offset =
        layout.offset + wanted->slice * layout.depthPitch + wanted->row * layout.rowPitch + wanted->offset_in_row;
    if (!inside(out->place->bytes, out->offset, (wanted->row_count - 1) * out->pitch + wanted->bytes_in_row))
        return replay_fail(r, "row %u lies outside of the memory of VkImage:%" PRIu64, wanted->row, out->index);
    return out->bytes ? replay_overlay_buffer_need(r, dev, out->place, out->bytes) : LAP_OK;
}

enum lap_status replay_rows_read(struct replay *r, struct replay_device *dev, const struct replay_rows *rows,
                                 VkDeviceSize bytes, const void **out_data)
{
    if (rows->bytes)
        return replay_memory_read_back(r, dev, rows->bytes->buffer, rows->bytes->skip + rows->offset, bytes, out_data);
    *out_data = rows->place->host + rows->offset;
    return replay_memory_place_invalidate(r, dev, rows->place, rows->offset, bytes);
}

/* Updates an image with a substituted format. An update may cover a texel in part: the other bytes come from the image,
 * and both conversions leave them unchanged. */
static enum lap_status update_converted(struct replay *r, struct replay_device *dev, const struct replay_image *record,
                                        const struct gen_args_lapilliUpdateImage *args)
{
    enum replay_format_conversion in = replay_format_conversion(record->recorded_format, record->info.format,
                                                                args->aspect),
                                  out = replay_format_conversion(record->info.format, record->recorded_format,
                                                                 args->aspect);
    struct replay_texel_bytes texel = replay_format_conversion_bytes(in);
    uint64_t first = args->offsetInRow / texel.from, begin = args->offsetInRow - first * texel.from;
    uint64_t count = (begin + args->dataSize + texel.from - 1) / texel.from;
    struct replay_rows_wanted wanted = {args->aspect,     args->mipLevel,  args->arrayLayer, args->slice, args->row, 1,
                                        first * texel.to, count * texel.to};
    uint8_t *recorded = replay_scratch(r, count, texel.from), *converted = replay_scratch(r, count, texel.to);
    struct replay_rows rows;
    enum lap_status status = replay_image_rows(r, dev, args->image, &wanted, &rows);
    size_t bytes = (size_t)count * texel.to;
    const void *before;

    if (status == LAP_OK && (!recorded || !converted))
        return replay_no_scratch(r);
    if (status == LAP_OK && (begin || args->dataSize % texel.from)) {
        status = replay_rows_read(r, dev, &rows, bytes, &before);
        if (status == LAP_OK)
            replay_format_convert(out, before, recorded, (size_t)count);
    }
    if (status != LAP_OK)
        return status;
    memcpy(recorded + begin, args->pData, args->dataSize);
    replay_format_convert(in, recorded, converted, (size_t)count);
    if (rows.bytes)
        return replay_staging_write(r, dev, &rows.bytes->staged, rows.bytes->buffer, rows.bytes->skip + rows.offset,
                                    converted, bytes);
    return replay_memory_place_write(r, dev, rows.place, rows.offset, converted, bytes);
}

enum lap_status replay_lapilliUpdateImage(struct replay *r, struct replay_device *dev,
                                          struct gen_args_lapilliUpdateImage *args)
{
    struct replay_rows_wanted wanted = {args->aspect,      args->mipLevel, args->arrayLayer, args->slice, args->row, 1,
                                        args->offsetInRow, args->dataSize};
    const struct replay_image *record = replay_image_of(r, args->image, NULL);
    struct replay_rows rows;
    enum lap_status status;

    if (record && args->dataSize && args->pData &&
        replay_format_conversion(record->recorded_format, record->info.format, args->aspect) != REPLAY_CONVERT_NONE)
        return update_converted(r, dev, record, args);
    status = replay_image_rows(r, dev, args->image, &wanted, &rows);
    if (status != LAP_OK || args->dataSize == 0)
        return status;
    if (!args->pData)
        return replay_fail(r, "an update of VkImage:%" PRIu64 " without bytes", rows.index);
    if (rows.bytes)
        return replay_staging_write(r, dev, &rows.bytes->staged, rows.bytes->buffer, rows.bytes->skip + rows.offset,
                                    args->pData, args->dataSize);
    return replay_memory_place_write(r, dev, rows.place, rows.offset, args->pData, args->dataSize);
}

enum lap_status replay_lapilliUpdateImageSpans(struct replay *r, struct replay_device *dev,
                                               struct gen_args_lapilliUpdateImageSpans *args)
{
    struct gen_args_lapilliUpdateImage row = {
        .image = args->image, .aspect = args->aspect, .mipLevel = args->mipLevel, .arrayLayer = args->arrayLayer};
    const uint8_t *data = args->pData;
    size_t left = args->dataSize;
    enum lap_status status = LAP_OK;

    if (args->spanCount && (!args->pSlices || !args->pRows || !args->pOffsets || !args->pSizes || !args->pData))
        return replay_fail(r, "an update of an image without spans or without bytes");
    for (uint32_t i = 0; status == LAP_OK && i < args->spanCount; i++) {
        if (args->pSizes[i] > left)
            return replay_fail(r, "the spans of an update of an image are more than its bytes");
        row.slice = args->pSlices[i];
        row.row = args->pRows[i];
        row.offsetInRow = args->pOffsets[i];
        row.dataSize = (size_t)args->pSizes[i];
        row.pData = data;
        status = replay_lapilliUpdateImage(r, dev, &row);
        data += row.dataSize;
        left -= row.dataSize;
    }
    if (status == LAP_OK && left)
        return replay_fail(r, "the spans of an update of an image are not all of its bytes");
    return status;
}
