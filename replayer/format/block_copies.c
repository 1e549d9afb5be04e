/* SPDX-License-Identifier: MIT */
#include "replayer/format/block_copies.h"

#include <inttypes.h>

#include "replayer/core/device.h"
#include "replayer/format/block_format.h"
#include "replayer/format/format.h"
#include "replayer/format/gpu_convert.h"
#include "vulkan/texel/pixels.h"
#include "vulkan/texel/texels.h"

#define MOST (1u << 16) /* texels in a direction: products of these fit into 64 bits */

/* Slices or rows of blocks that are decoded together: of one region of a copy. */
struct piece {
    VkDeviceSize from; /* in the program's buffer, or of the region of an image */
    VkDeviceSize from_bytes, to_bytes;
    struct replay_decoder_region region; /* its offsets: from the begin of blocks and of texels */
    VkBufferImageCopy in, out;           /* in: only for a source that is an image */
};

struct decoding {
    struct replay *r;
    struct replay_device *dev;
    VkCommandBuffer commands;
    const struct replay_block_format *format;
    const struct replay_block_substitute *substitute;
    const struct replay_image *record;
    VkBuffer buffer; /* the source, or an image: */
    VkImage from, to;
    VkImageLayout from_layout, to_layout;
    uint32_t count;
    struct piece pieces[REPLAY_DECODER_REGIONS];
    VkDeviceSize from_bytes, to_bytes;
};

bool replay_blocks_are_decoded(const struct replay_image *record)
{
    return record && record->info.format != record->recorded_format && replay_block_format(record->recorded_format);
}

bool replay_blocks_decode_alike(VkFormat a, VkFormat b)
{
    return lap_pixels_family(a, NULL) && lap_pixels_family(a, NULL) == lap_pixels_family(b, NULL);
}

enum lap_status replay_blocks_refuse(struct replay *r, VkFormat recorded)
{
    return replay_refuse(r, "the blocks of an image of %s are copied, which this GPU lacks: only its texels are there",
                         replay_format_name(recorded));
}

static VkDeviceSize padded(VkDeviceSize bytes)
{
    return (bytes + 15) / 16 * 16;
}

static uint32_t blocks_of(uint32_t texels, uint32_t width)
{
    return texels / width + (texels % width != 0);
}

/* ---- pieces ---- */

static enum lap_status flush(struct decoding *d)
{
    const struct replay_device *dev = d->dev;
    struct replay_decoder_region regions[REPLAY_DECODER_REGIONS];
    VkBufferImageCopy out[REPLAY_DECODER_REGIONS];
    struct replay_format_texels room;
    enum lap_status status;

    if (!d->count)
        return LAP_OK;
    status = replay_format_decoder_begin(d->r, d->dev, d->commands, d->from_bytes, d->to_bytes, &room);
    if (status != LAP_OK)
        return status;
    for (uint32_t i = 0; i < d->count; i++) {
        const struct piece *piece = &d->pieces[i];
        VkBufferCopy copy = {piece->from, room.from + piece->region.from, piece->from_bytes};
        VkBufferImageCopy in = piece->in;
        regions[i] = piece->region;
        regions[i].from += room.from;
        regions[i].to += room.to;
        out[i] = piece->out;
        out[i].bufferOffset = regions[i].to;
        in.bufferOffset = regions[i].from;
        if (d->buffer)
            dev->vk.CmdCopyBuffer(d->commands, d->buffer, room.buffer, 1, &copy);
        else
            dev->vk.CmdCopyImageToBuffer(d->commands, d->from, d->from_layout, room.buffer, 1, &in);
    }
    status = replay_format_decoder_run(d->r, d->dev, d->commands, d->format, d->substitute, &room, regions, d->count);
    if (status == LAP_OK)
        dev->vk.CmdCopyBufferToImage(d->commands, room.buffer, d->to, d->to_layout, d->count, out);
    d->count = 0;
    d->from_bytes = d->to_bytes = 0;
    return status;
}

static void measure(const struct decoding *d, struct piece *piece)
{
    const struct replay_decoder_region *region = &piece->region;
    uint64_t span = (uint64_t)(region->slices - 1) * region->slice_pitch +
                    (uint64_t)(region->rows - 1) * region->row_pitch + region->columns;

    piece->from_bytes = span * d->format->bytes;
    piece->to_bytes = (uint64_t)region->columns * d->format->width * region->rows * d->format->height * region->slices *
                      d->substitute->bytes;
}

static bool fits(const struct decoding *d, const struct piece *piece)
{
    return padded(piece->from_bytes) + padded(piece->to_bytes) <= replay_format_decoder_limit(d->dev);
}

static enum lap_status add(struct decoding *d, struct piece piece)
{
    VkDeviceSize from = padded(piece.from_bytes), to = padded(piece.to_bytes);
    enum lap_status status = LAP_OK;

    if (d->count == REPLAY_DECODER_REGIONS ||
        d->from_bytes + d->to_bytes + from + to > replay_format_decoder_limit(d->dev))
        status = flush(d);
    piece.region.from = d->from_bytes;
    piece.region.to = d->to_bytes;
    piece.out.bufferRowLength = piece.region.columns * d->format->width;
    piece.out.bufferImageHeight = piece.region.rows * d->format->height;
    d->pieces[d->count++] = piece;
    d->from_bytes += from;
    d->to_bytes += to;
    return status;
}

/* One slice, by itself. */
static struct piece slice_of(const struct decoding *d, const struct piece *all, uint32_t slice)
{
    struct piece piece = *all;

    piece.from += (VkDeviceSize)slice * all->region.slice_pitch * d->format->bytes;
    piece.region.slices = 1;
    if (all->out.imageExtent.depth > 1) {
        piece.out.imageOffset.z += (int32_t)slice;
        piece.out.imageExtent.depth = 1;
    } else {
        piece.out.imageSubresource.baseArrayLayer += slice;
        piece.out.imageSubresource.layerCount = 1;
    }
    return piece;
}

/* Cuts copies that no room could hold: first into slices, then into bands of rows of blocks. */
static enum lap_status add_buffer_piece(struct decoding *d, struct piece *all)
{
    enum lap_status status = LAP_OK;

    measure(d, all);
    if (fits(d, all))
        return add(d, *all);
    for (uint32_t slice = 0; slice < all->region.slices && status == LAP_OK; slice++) {
        struct piece piece = slice_of(d, all, slice);
        uint32_t rows = piece.region.rows, height = piece.out.imageExtent.height;
        for (uint32_t row = 0, count = 0; row < rows && status == LAP_OK; row += count) {
            struct piece band = piece;
            count = rows - row;
            for (;; count = (count + 1) / 2) {
                band.region.rows = count;
                measure(d, &band);
                if (fits(d, &band) || count == 1)
                    break;
            }
            if (!fits(d, &band))
                return replay_refuse(d->r, "a row of %u blocks is too large to be decoded on this device",
                                     band.region.columns);
            band.from += (VkDeviceSize)row * piece.region.row_pitch * d->format->bytes;
            band.out.imageOffset.y += (int32_t)(row * d->format->height);
            band.out.imageExtent.height = height - row * d->format->height;
            if (row + count < rows)
                band.out.imageExtent.height = count * d->format->height;
            status = add(d, band);
        }
    }
    return status;
}

/* ---- copies ---- */

static bool is_sane(const VkImageSubresourceLayers *layers, uint32_t count, const VkExtent3D *extent)
{
    return extent->width && extent->height && extent->depth && count && extent->width <= MOST &&
           extent->height <= MOST && extent->depth <= MOST && count <= MOST && (extent->depth == 1 || count == 1) &&
           layers->aspectMask == VK_IMAGE_ASPECT_COLOR_BIT;
}

static enum lap_status begin(struct decoding *d)
{
    d->record = replay_image_of(d->r, d->to, NULL);
    if (!replay_blocks_are_decoded(d->record))
        return replay_fail(d->r, "a copy into an image that is not alive");
    d->format = replay_block_format(d->record->recorded_format);
    for (int i = 0; i < REPLAY_BLOCK_SUBSTITUTES; i++)
        if (d->format->substitutes[i].format == d->record->info.format)
            d->substitute = &d->format->substitutes[i];
    return d->substitute ? LAP_OK : replay_blocks_refuse(d->r, d->record->recorded_format);
}

enum lap_status replay_blocks_from_buffer(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                          VkBuffer buffer, VkImage image, VkImageLayout layout, uint32_t count,
                                          const VkBufferImageCopy *regions)
{
    struct decoding d = {.r = r, .dev = dev, .commands = commands, .buffer = buffer, .to = image, .to_layout = layout};
    enum lap_status status = begin(&d);

    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        const VkBufferImageCopy *region = &regions[i];
        const VkExtent3D *extent = &region->imageExtent;
        uint32_t layers = replay_image_layers(d.record, &region->imageSubresource);
        struct piece piece = {.from = region->bufferOffset, .out = *region};
        if (!is_sane(&region->imageSubresource, layers, extent) || region->bufferRowLength > MOST ||
            region->bufferImageHeight > MOST)
            return replay_refuse(r, "a copy of %u x %u x %u texels in %u layers can't be decoded", extent->width,
                                 extent->height, extent->depth, layers);
        piece.out.imageSubresource.layerCount = layers;
        piece.region.columns = blocks_of(extent->width, d.format->width);
        piece.region.rows = blocks_of(extent->height, d.format->height);
        piece.region.slices = extent->depth * layers;
        piece.region.row_pitch =
            blocks_of(region->bufferRowLength ? region->bufferRowLength : extent->width, d.format->width);
        piece.region.slice_pitch =
            piece.region.row_pitch *
            blocks_of(region->bufferImageHeight ? region->bufferImageHeight : extent->height, d.format->height);
        if (piece.region.row_pitch < piece.region.columns ||
            piece.region.slice_pitch / piece.region.row_pitch < piece.region.rows)
            return replay_fail(r, "a copy whose rows are shorter than its region");
        status = add_buffer_piece(&d, &piece);
    }
    return status == LAP_OK ? flush(&d) : status;
}

enum lap_status replay_blocks_from_image(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                         VkImage from, VkImageLayout from_layout, VkImage to, VkImageLayout to_layout,
                                         uint32_t count, const VkImageCopy *regions)
{
    struct decoding d = {.r = r,
                         .dev = dev,
                         .commands = commands,
                         .from = from,
                         .from_layout = from_layout,
                         .to = to,
                         .to_layout = to_layout};
    const struct replay_image *source = replay_image_of(r, from, NULL);
    struct lap_texel_block block = {0};
    enum lap_status status = begin(&d);

    if (status == LAP_OK && (!source || !lap_texels_block(source->info.format, VK_IMAGE_ASPECT_COLOR_BIT, &block) ||
                             block.bytes != d.format->bytes || source->info.samples != VK_SAMPLE_COUNT_1_BIT))
        return replay_refuse(r, "a copy between images of other texels can't be decoded");
    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        const VkImageCopy *region = &regions[i];
        uint32_t layers = replay_image_layers(source, &region->srcSubresource);
        uint32_t depth = source->info.imageType == VK_IMAGE_TYPE_3D ? region->extent.depth : 1;
        uint32_t slices = depth * layers, most = d.record->info.extent.width >> region->dstSubresource.mipLevel;
        uint32_t lines = d.record->info.extent.height >> region->dstSubresource.mipLevel;
        struct piece piece = {.in = {.imageSubresource = region->srcSubresource,
                                     .imageOffset = region->srcOffset,
                                     .imageExtent = {region->extent.width, region->extent.height, depth}},
                              .out = {.imageSubresource = region->dstSubresource, .imageOffset = region->dstOffset}};
        if (!is_sane(&region->srcSubresource, layers, &piece.in.imageExtent) ||
            region->dstSubresource.mipLevel >= d.record->info.mipLevels || region->dstOffset.x < 0 ||
            region->dstOffset.y < 0)
            return replay_refuse(r, "a copy of %u x %u x %u texels in %u layers can't be decoded", region->extent.width,
                                 region->extent.height, region->extent.depth, layers);
        piece.region.columns = piece.region.row_pitch = blocks_of(region->extent.width, block.width);
        piece.region.rows = blocks_of(region->extent.height, block.height);
        piece.region.slice_pitch = piece.region.columns * piece.region.rows;
        piece.region.slices = slices;
        /* Blocks at the edge of a level have texels beyond it. */
        most = most ? most : 1;
        lines = lines ? lines : 1;
        piece.out.imageExtent =
            (VkExtent3D){piece.region.columns * d.format->width, piece.region.rows * d.format->height, 1};
        if ((uint32_t)region->dstOffset.x >= most || (uint32_t)region->dstOffset.y >= lines)
            return replay_fail(r, "a copy outside of an image");
        if (piece.out.imageExtent.width > most - (uint32_t)region->dstOffset.x)
            piece.out.imageExtent.width = most - (uint32_t)region->dstOffset.x;
        if (piece.out.imageExtent.height > lines - (uint32_t)region->dstOffset.y)
            piece.out.imageExtent.height = lines - (uint32_t)region->dstOffset.y;
        if (d.record->info.imageType == VK_IMAGE_TYPE_3D)
            piece.out.imageExtent.depth = slices;
        else
            piece.out.imageSubresource.layerCount = slices;
        measure(&d, &piece);
        if (!fits(&d, &piece))
            return replay_refuse(r, "a copy of %u x %u texels is too large to be decoded on this device",
                                 region->extent.width, region->extent.height);
        status = add(&d, piece);
    }
    return status == LAP_OK ? flush(&d) : status;
}
