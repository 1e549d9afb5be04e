/* SPDX-License-Identifier: MIT */
/*
 * hostcopy: the host copies between its memory and images (VK_EXT_host_image_copy): formats with blocks, depth, stencil
 * and planes, levels, layers and volumes, rows with gaps, parts of images, from image to image, in the driver's own
 * order of bytes, among copies of the device; linear images that are mapped as well; images that end before anybody has
 * looked at them. The host gives all images their first layouts.
 */
#include "common/app.h"

#define HOST_COPY "VK_EXT_host_image_copy"

static bool planes_too;

#ifdef VK_EXT_host_image_copy

#define GAP  0xa5
#define MOST 8u /* levels */

struct kind {
    VkFormat format;
    uint32_t block_bytes, block_size; /* texels a side */
    VkImageAspectFlags aspect, all_aspects;
};

struct shape {
    VkImageType type;
    VkExtent3D extent;
    uint32_t levels, layers;
    bool color_only;
};

struct functions {
    PFN_vkCopyMemoryToImageEXT to_image;
    PFN_vkCopyImageToMemoryEXT to_memory;
    PFN_vkCopyImageToImageEXT copy;
    PFN_vkTransitionImageLayoutEXT transition;
    PFN_vkGetImageSubresourceLayout2EXT layout2;
    bool can_read_source; /* TRANSFER_SRC_OPTIMAL is a layout for host copies both ways */
};

#define COLOR   VK_IMAGE_ASPECT_COLOR_BIT
#define DEPTH   VK_IMAGE_ASPECT_DEPTH_BIT
#define STENCIL VK_IMAGE_ASPECT_STENCIL_BIT

static const struct kind kinds[] = {
    {VK_FORMAT_R8_UNORM, 1, 1, COLOR, COLOR},
    {VK_FORMAT_R5G6B5_UNORM_PACK16, 2, 1, COLOR, COLOR},
    {VK_FORMAT_R8G8B8A8_UNORM, 4, 1, COLOR, COLOR},
    {VK_FORMAT_B8G8R8A8_UNORM, 4, 1, COLOR, COLOR},
    {VK_FORMAT_A2B10G10R10_UNORM_PACK32, 4, 1, COLOR, COLOR},
    {VK_FORMAT_R16G16B16A16_UINT, 8, 1, COLOR, COLOR},
    {VK_FORMAT_R32G32B32A32_UINT, 16, 1, COLOR, COLOR},
    {VK_FORMAT_D16_UNORM, 2, 1, DEPTH, DEPTH},
    {VK_FORMAT_X8_D24_UNORM_PACK32, 4, 1, DEPTH, DEPTH},
    {VK_FORMAT_D32_SFLOAT, 4, 1, DEPTH, DEPTH},
    {VK_FORMAT_S8_UINT, 1, 1, STENCIL, STENCIL},
    {VK_FORMAT_D24_UNORM_S8_UINT, 4, 1, DEPTH, DEPTH | STENCIL},
    {VK_FORMAT_D24_UNORM_S8_UINT, 1, 1, STENCIL, DEPTH | STENCIL},
    {VK_FORMAT_D32_SFLOAT_S8_UINT, 4, 1, DEPTH, DEPTH | STENCIL},
    {VK_FORMAT_D32_SFLOAT_S8_UINT, 1, 1, STENCIL, DEPTH | STENCIL},
    {VK_FORMAT_BC1_RGBA_UNORM_BLOCK, 8, 4, COLOR, COLOR},
    {VK_FORMAT_BC7_UNORM_BLOCK, 16, 4, COLOR, COLOR},
};

static const struct shape shapes[] = {
    {VK_IMAGE_TYPE_2D, {37, 21, 1}, 1, 1, false},
    {VK_IMAGE_TYPE_2D, {52, 33, 1}, 6, 3, false},
    {VK_IMAGE_TYPE_3D, {20, 12, 7}, 3, 1, true},
    {VK_IMAGE_TYPE_1D, {61, 1, 1}, 3, 2, true},
};

/* Bytes of all levels and layers of an image, in order, with or without gaps. */
struct texels {
    uint32_t levels;
    struct {
        size_t offset, row, slice; /* bytes */
        uint32_t columns, rows, slices, row_length, image_height;
        VkExtent3D extent;
    } at[MOST];
    size_t bytes;
    uint8_t *data;
};

static uint32_t blocks(uint32_t texels, uint32_t size)
{
    return (texels + size - 1) / size;
}

static uint32_t level_size(uint32_t size, uint32_t level)
{
    return size >> level ? size >> level : 1;
}

static void plan(struct texels *texels, const struct kind *kind, const struct shape *shape, bool gaps)
{
    *texels = (struct texels){.levels = shape->levels};
    for (uint32_t i = 0; i < shape->levels; i++) {
        VkExtent3D extent = {level_size(shape->extent.width, i), level_size(shape->extent.height, i),
                             level_size(shape->extent.depth, i)};
        bool flat = shape->type == VK_IMAGE_TYPE_1D;
        texels->at[i].extent = extent;
        texels->at[i].offset = texels->bytes;
        texels->at[i].columns = blocks(extent.width, kind->block_size);
        texels->at[i].rows = blocks(extent.height, kind->block_size);
        texels->at[i].slices = extent.depth * shape->layers;
        texels->at[i].row = (size_t)(texels->at[i].columns + (gaps ? 3 : 0)) * kind->block_bytes;
        texels->at[i].slice = texels->at[i].row * (texels->at[i].rows + (gaps && !flat ? 2 : 0));
        if (gaps) {
            texels->at[i].row_length = (texels->at[i].columns + 3) * kind->block_size;
            texels->at[i].image_height = (texels->at[i].rows + (flat ? 0 : 2)) * kind->block_size;
        }
        texels->bytes += texels->at[i].slice * texels->at[i].slices;
        texels->bytes = (texels->bytes + 15) / 16 * 16;
    }
    texels->data = malloc(texels->bytes);
    CHECK(texels->data);
    memset(texels->data, GAP, texels->bytes);
}

static uint8_t *block_at(const struct texels *texels, const struct kind *kind, uint32_t level, uint32_t slice,
                         uint32_t row, uint32_t column)
{
    return texels->data + texels->at[level].offset + slice * texels->at[level].slice + row * texels->at[level].row +
           (size_t)column * kind->block_bytes;
}

/* What every device keeps as it is. */
static void put_block(const struct kind *kind, uint32_t seed, uint8_t *to)
{
    uint32_t state = seed * 2654435761u + 12345u, word;
    float depth = (float)(app_random(&state) % 257) / 256.0f;

    for (uint32_t i = 0; i < kind->block_bytes; i++)
        to[i] = (uint8_t)app_random(&state);
    if (kind->aspect != DEPTH || kind->block_bytes != 4)
        return;
    word = app_random(&state) & 0xffffff;
    if (kind->format == VK_FORMAT_D32_SFLOAT || kind->format == VK_FORMAT_D32_SFLOAT_S8_UINT)
        memcpy(&word, &depth, sizeof word);
    memcpy(to, &word, sizeof word);
}

static void fill(struct texels *texels, const struct kind *kind, uint32_t seed)
{
    for (uint32_t level = 0; level < texels->levels; level++)
        for (uint32_t slice = 0; slice < texels->at[level].slices; slice++)
            for (uint32_t row = 0; row < texels->at[level].rows; row++)
                for (uint32_t column = 0; column < texels->at[level].columns; column++)
                    put_block(kind, seed + level * 7919 + slice * 104729 + row * 997 + column,
                              block_at(texels, kind, level, slice, row, column));
}

static void expect_same(const struct app *app, const struct kind *kind, const struct texels *got,
                        const struct texels *want)
{
    const bool is_24 = kind->aspect == DEPTH &&
                       (kind->format == VK_FORMAT_X8_D24_UNORM_PACK32 || kind->format == VK_FORMAT_D24_UNORM_S8_UINT);
    uint32_t different = 0;

    for (uint32_t level = 0; level < want->levels; level++)
        for (uint32_t slice = 0; slice < want->at[level].slices; slice++)
            for (uint32_t row = 0; row < want->at[level].rows; row++)
                for (uint32_t column = 0; column < want->at[level].columns; column++)
                    different +=
                        memcmp(block_at(got, kind, level, slice, row, column),
                               block_at(want, kind, level, slice, row, column), is_24 ? 3 : kind->block_bytes) != 0;
    EXPECT_EQ(app, different, 0);
}

/* ---- calls ---- */

static void give_layout(const struct app *app, const struct functions *f, const struct app_image *image,
                        VkImageLayout from, VkImageLayout to)
{
    const VkHostImageLayoutTransitionInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_HOST_IMAGE_LAYOUT_TRANSITION_INFO_EXT,
        .image = image->image,
        .oldLayout = from,
        .newLayout = to,
        .subresourceRange = {image->aspect, 0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS}};
    CHECK_VK(f->transition(app->device, 1, &info));
}

static void write_image(const struct app *app, const struct functions *f, const struct kind *kind,
                        const struct shape *shape, const struct app_image *image, VkImageLayout layout,
                        const struct texels *texels)
{
    VkMemoryToImageCopyEXT regions[MOST];
    const VkCopyMemoryToImageInfoEXT info = {.sType = VK_STRUCTURE_TYPE_COPY_MEMORY_TO_IMAGE_INFO_EXT,
                                             .dstImage = image->image,
                                             .dstImageLayout = layout,
                                             .regionCount = shape->levels,
                                             .pRegions = regions};
    for (uint32_t i = 0; i < shape->levels; i++)
        regions[i] = (VkMemoryToImageCopyEXT){.sType = VK_STRUCTURE_TYPE_MEMORY_TO_IMAGE_COPY_EXT,
                                              .pHostPointer = texels->data + texels->at[i].offset,
                                              .memoryRowLength = texels->at[i].row_length,
                                              .memoryImageHeight = texels->at[i].image_height,
                                              .imageSubresource = {kind->aspect, i, 0, shape->layers},
                                              .imageExtent = texels->at[i].extent};
    CHECK_VK(f->to_image(app->device, &info));
}

static void read_image(const struct app *app, const struct functions *f, const struct kind *kind,
                       const struct shape *shape, const struct app_image *image, VkImageLayout layout,
                       const struct texels *texels)
{
    VkImageToMemoryCopyEXT regions[MOST];
    const VkCopyImageToMemoryInfoEXT info = {.sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_MEMORY_INFO_EXT,
                                             .srcImage = image->image,
                                             .srcImageLayout = layout,
                                             .regionCount = shape->levels,
                                             .pRegions = regions};
    for (uint32_t i = 0; i < shape->levels; i++)
        regions[i] = (VkImageToMemoryCopyEXT){.sType = VK_STRUCTURE_TYPE_IMAGE_TO_MEMORY_COPY_EXT,
                                              .pHostPointer = texels->data + texels->at[i].offset,
                                              .memoryRowLength = texels->at[i].row_length,
                                              .memoryImageHeight = texels->at[i].image_height,
                                              .imageSubresource = {kind->aspect, i, 0, shape->layers},
                                              .imageExtent = texels->at[i].extent};
    CHECK_VK(f->to_memory(app->device, &info));
}

static void copy_image(const struct app *app, const struct functions *f, const struct kind *kind,
                       const struct shape *shape, const struct app_image *from, VkImageLayout from_layout,
                       const struct app_image *to, VkImageLayout to_layout)
{
    VkImageCopy2 regions[MOST];
    const VkCopyImageToImageInfoEXT info = {.sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_IMAGE_INFO_EXT,
                                            .srcImage = from->image,
                                            .srcImageLayout = from_layout,
                                            .dstImage = to->image,
                                            .dstImageLayout = to_layout,
                                            .regionCount = shape->levels,
                                            .pRegions = regions};
    for (uint32_t i = 0; i < shape->levels; i++)
        regions[i] = (VkImageCopy2){.sType = VK_STRUCTURE_TYPE_IMAGE_COPY_2,
                                    .srcSubresource = {kind->aspect, i, 0, shape->layers},
                                    .dstSubresource = {kind->aspect, i, 0, shape->layers},
                                    .extent = {level_size(shape->extent.width, i), level_size(shape->extent.height, i),
                                               level_size(shape->extent.depth, i)}};
    CHECK_VK(f->copy(app->device, &info));
}

static void device_regions(const struct kind *kind, const struct shape *shape, const struct texels *texels,
                           VkBufferImageCopy *regions)
{
    for (uint32_t i = 0; i < shape->levels; i++)
        regions[i] = (VkBufferImageCopy){.bufferOffset = texels->at[i].offset,
                                         .bufferRowLength = texels->at[i].row_length,
                                         .bufferImageHeight = texels->at[i].image_height,
                                         .imageSubresource = {kind->aspect, i, 0, shape->layers},
                                         .imageExtent = texels->at[i].extent};
}

/* By the device, from GENERAL. */
static void device_read(const struct app *app, const struct kind *kind, const struct shape *shape,
                        const struct app_image *image, VkImageLayout layout, const struct texels *texels)
{
    VkBufferImageCopy regions[MOST];
    struct app_buffer buffer;
    VkCommandBuffer commands;

    app_buffer_create(app, &buffer, texels->bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    device_regions(kind, shape, texels, regions);
    commands = app_begin(app);
    vkCmdCopyImageToBuffer(commands, image->image, layout, buffer.buffer, shape->levels, regions);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &buffer, 0, VK_WHOLE_SIZE);
    memcpy(texels->data, buffer.mapped, texels->bytes);
    app_buffer_destroy(app, &buffer);
}

static void device_write(const struct app *app, const struct kind *kind, const struct shape *shape,
                         const struct app_image *image, const struct texels *texels)
{
    VkBufferImageCopy regions[MOST];
    struct app_buffer buffer;
    VkCommandBuffer commands;

    app_buffer_create(app, &buffer, texels->bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    memcpy(buffer.mapped, texels->data, texels->bytes);
    app_buffer_flush(app, &buffer, 0, VK_WHOLE_SIZE);
    device_regions(kind, shape, texels, regions);
    commands = app_begin(app);
    vkCmdCopyBufferToImage(commands, buffer.buffer, image->image, VK_IMAGE_LAYOUT_GENERAL, shape->levels, regions);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_destroy(app, &buffer);
}

/* ---- parts ---- */

static bool is_possible(const struct app *app, const VkImageCreateInfo *info)
{
    VkFormatProperties3 formats = {.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_3};
    VkFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2, .pNext = &formats};
    VkImageFormatProperties most;

    vkGetPhysicalDeviceFormatProperties2(app->physical, info->format, &properties);
    if (!((info->tiling == VK_IMAGE_TILING_LINEAR ? formats.linearTilingFeatures : formats.optimalTilingFeatures) &
          VK_FORMAT_FEATURE_2_HOST_IMAGE_TRANSFER_BIT_EXT))
        return false;
    return vkGetPhysicalDeviceImageFormatProperties(app->physical, info->format, info->imageType, info->tiling,
                                                    info->usage, info->flags, &most) == VK_SUCCESS &&
           most.maxMipLevels >= info->mipLevels && most.maxArrayLayers >= info->arrayLayers;
}

static VkImageCreateInfo image_info(const struct kind *kind, const struct shape *shape)
{
    return (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .imageType = shape->type,
                               .format = kind->format,
                               .extent = shape->extent,
                               .mipLevels = shape->levels,
                               .arrayLayers = shape->layers,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .usage = VK_IMAGE_USAGE_HOST_TRANSFER_BIT_EXT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                        VK_IMAGE_USAGE_TRANSFER_DST_BIT};
}

/* A rectangle of blocks in the first level and layer; `texels` is what the image holds then. */
static void write_part(const struct app *app, const struct functions *f, const struct kind *kind,
                       const struct app_image *image, struct texels *texels)
{
    const uint32_t column = texels->at[0].columns / 3, row = texels->at[0].rows / 3, columns = 2,
                   rows = texels->at[0].rows > 1 ? 2 : 1;
    uint8_t bytes[4 * 16] = {0};
    const VkMemoryToImageCopyEXT region = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_TO_IMAGE_COPY_EXT,
        .pHostPointer = bytes,
        .imageSubresource = {kind->aspect, 0, 0, 1},
        .imageOffset = {(int32_t)(column * kind->block_size), (int32_t)(row * kind->block_size), 0},
        .imageExtent = {columns * kind->block_size, texels->at[0].rows > 1 ? rows * kind->block_size : 1, 1}};
    const VkCopyMemoryToImageInfoEXT info = {.sType = VK_STRUCTURE_TYPE_COPY_MEMORY_TO_IMAGE_INFO_EXT,
                                             .dstImage = image->image,
                                             .dstImageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                             .regionCount = 1,
                                             .pRegions = &region};
    for (uint32_t i = 0; i < rows * columns; i++) {
        uint8_t *to = bytes + (size_t)i * kind->block_bytes;
        put_block(kind, 424242 + i, to);
        memcpy(block_at(texels, kind, 0, 0, row + i / columns, column + i % columns), to, kind->block_bytes);
    }
    CHECK_VK(f->to_image(app->device, &info));
}

/* Layer 0 to the last one, within the image. */
static void copy_layers(const struct app *app, const struct functions *f, const struct kind *kind,
                        const struct shape *shape, const struct app_image *image, struct texels *texels)
{
    const VkImageCopy2 region = {.sType = VK_STRUCTURE_TYPE_IMAGE_COPY_2,
                                 .srcSubresource = {kind->aspect, 0, 0, 1},
                                 .dstSubresource = {kind->aspect, 0, shape->layers - 1, 1},
                                 .extent = shape->extent};
    const VkCopyImageToImageInfoEXT info = {.sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_IMAGE_INFO_EXT,
                                            .srcImage = image->image,
                                            .srcImageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                            .dstImage = image->image,
                                            .dstImageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                            .regionCount = 1,
                                            .pRegions = &region};
    if (shape->layers < 2)
        return;
    CHECK_VK(f->copy(app->device, &info));
    for (uint32_t row = 0; row < texels->at[0].rows; row++)
        memcpy(block_at(texels, kind, 0, shape->layers - 1, row, 0), block_at(texels, kind, 0, 0, row, 0),
               (size_t)texels->at[0].columns * kind->block_bytes);
}

/* Level 0 through memory in the driver's own order of bytes. */
static void copy_raw(const struct app *app, const struct functions *f, const struct kind *kind,
                     const struct shape *shape, const struct app_image *from, const struct app_image *to)
{
    const VkImageSubresource2EXT which = {.sType = VK_STRUCTURE_TYPE_IMAGE_SUBRESOURCE_2_EXT,
                                          .imageSubresource = {kind->aspect, 0, 0}};
    VkSubresourceHostMemcpySizeEXT size = {.sType = VK_STRUCTURE_TYPE_SUBRESOURCE_HOST_MEMCPY_SIZE_EXT};
    VkSubresourceLayout2EXT layout = {.sType = VK_STRUCTURE_TYPE_SUBRESOURCE_LAYOUT_2_EXT, .pNext = &size};
    VkImageToMemoryCopyEXT out = {.sType = VK_STRUCTURE_TYPE_IMAGE_TO_MEMORY_COPY_EXT,
                                  .imageSubresource = {kind->aspect, 0, 0, 1},
                                  .imageExtent = shape->extent};
    VkMemoryToImageCopyEXT in = {.sType = VK_STRUCTURE_TYPE_MEMORY_TO_IMAGE_COPY_EXT,
                                 .imageSubresource = {kind->aspect, 0, 0, 1},
                                 .imageExtent = shape->extent};
    const VkCopyImageToMemoryInfoEXT to_memory = {.sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_MEMORY_INFO_EXT,
                                                  .flags = VK_HOST_IMAGE_COPY_MEMCPY_EXT,
                                                  .srcImage = from->image,
                                                  .srcImageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                                  .regionCount = 1,
                                                  .pRegions = &out};
    const VkCopyMemoryToImageInfoEXT to_image = {.sType = VK_STRUCTURE_TYPE_COPY_MEMORY_TO_IMAGE_INFO_EXT,
                                                 .flags = VK_HOST_IMAGE_COPY_MEMCPY_EXT,
                                                 .dstImage = to->image,
                                                 .dstImageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                                 .regionCount = 1,
                                                 .pRegions = &in};
    void *bytes;

    f->layout2(app->device, from->image, &which, &layout);
    CHECK(size.size);
    bytes = malloc((size_t)size.size);
    CHECK(bytes);
    out.pHostPointer = bytes;
    in.pHostPointer = bytes;
    CHECK_VK(f->to_memory(app->device, &to_memory));
    CHECK_VK(f->to_image(app->device, &to_image));
    free(bytes);
}

static void check_kind(const struct app *app, const struct functions *f, const struct kind *kind,
                       const struct shape *shape, uint32_t seed)
{
    const VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL,
                        other = f->can_read_source ? VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL : general;
    const VkImageCreateInfo info = image_info(kind, shape);
    struct app_image a, b;
    struct texels gaps, packed, got;

    if ((shape->color_only && kind->aspect != COLOR) || (shape->type == VK_IMAGE_TYPE_1D && kind->block_size > 1) ||
        !is_possible(app, &info))
        return;
    app_image_create(app, &a, &info, kind->all_aspects, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    app_image_create(app, &b, &info, kind->all_aspects, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    plan(&gaps, kind, shape, true);
    plan(&packed, kind, shape, false);
    plan(&got, kind, shape, false);
    give_layout(app, f, &a, VK_IMAGE_LAYOUT_UNDEFINED, general);
    give_layout(app, f, &b, VK_IMAGE_LAYOUT_UNDEFINED, other);
    /* Memory with gaps, to an image, to another one, to a buffer by the device. */
    fill(&gaps, kind, seed);
    write_image(app, f, kind, shape, &a, general, &gaps);
    copy_image(app, f, kind, shape, &a, general, &b, other);
    device_read(app, kind, shape, &b, other, &got);
    expect_same(app, kind, &got, &gaps);
    /* By the device, then parts of it by the host, to memory with gaps. */
    fill(&packed, kind, seed + 1);
    device_write(app, kind, shape, &a, &packed);
    write_part(app, f, kind, &a, &packed);
    copy_layers(app, f, kind, shape, &a, &packed);
    memset(gaps.data, GAP, gaps.bytes);
    read_image(app, f, kind, shape, &a, general, &gaps);
    expect_same(app, kind, &gaps, &packed);
    EXPECT_EQ(app, gaps.data[gaps.at[0].row - 1], GAP);
    /* And through bytes that only the driver understands. */
    if (other != general)
        give_layout(app, f, &b, other, general);
    copy_image(app, f, kind, shape, &a, general, &b, general);
    fill(&packed, kind, seed + 2);
    write_image(app, f, kind, shape, &a, general, &packed);
    if (shape->layers == 1) /* validation layers take layers for slices there */
        copy_raw(app, f, kind, shape, &a, &b);
    else
        write_image(app, f, kind, shape, &b, general, &packed);
    copy_image(app, f, kind, shape, &b, general, &a, general);
    device_read(app, kind, shape, &a, general, &got);
    for (uint32_t row = 0; row < got.at[0].rows && !app->no_check; row++)
        if (memcmp(block_at(&got, kind, 0, 0, row, 0), block_at(&packed, kind, 0, 0, row, 0),
                   kind->aspect == DEPTH && kind->block_bytes == 4 ? 3 : kind->block_bytes) != 0) {
            fprintf(stderr, "hostcopy: format %d, type %d, row %u: other texels behind a copy of the driver's bytes\n",
                    kind->format, shape->type, row);
            exit(1);
        }
    free(gaps.data);
    free(packed.data);
    free(got.data);
    app_image_destroy(app, &a);
    app_image_destroy(app, &b);
}

/* More than fits into anybody's buffer, then images that end at once. */
static void check_much(const struct app *app, const struct functions *f)
{
    static const struct kind kind = {VK_FORMAT_R8G8B8A8_UNORM, 4, 1, COLOR, COLOR};
    static const struct shape big = {VK_IMAGE_TYPE_2D, {2048, 1500, 1}, 1, 1, false},
                              small = {VK_IMAGE_TYPE_2D, {64, 64, 1}, 1, 1, false};
    const VkImageCreateInfo big_info = image_info(&kind, &big), small_info = image_info(&kind, &small);
    struct app_image image, target;
    struct texels texels, got;

    app_image_create(app, &image, &big_info, COLOR, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    plan(&texels, &kind, &big, false);
    plan(&got, &kind, &big, false);
    fill(&texels, &kind, 77);
    give_layout(app, f, &image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    write_image(app, f, &kind, &big, &image, VK_IMAGE_LAYOUT_GENERAL, &texels);
    device_read(app, &kind, &big, &image, VK_IMAGE_LAYOUT_GENERAL, &got);
    expect_same(app, &kind, &got, &texels);
    free(texels.data);
    free(got.data);
    app_image_destroy(app, &image);

    plan(&texels, &kind, &small, false);
    plan(&got, &kind, &small, false);
    app_image_create(app, &target, &small_info, COLOR, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    give_layout(app, f, &target, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    for (uint32_t i = 0; i < 20; i++) {
        fill(&texels, &kind, 1000 + i);
        app_image_create(app, &image, &small_info, COLOR, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
        give_layout(app, f, &image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
        write_image(app, f, &kind, &small, &image, VK_IMAGE_LAYOUT_GENERAL, &texels);
        if (i % 2)
            copy_image(app, f, &kind, &small, &image, VK_IMAGE_LAYOUT_GENERAL, &target, VK_IMAGE_LAYOUT_GENERAL);
        app_image_destroy(app, &image);
    }
    device_read(app, &kind, &small, &target, VK_IMAGE_LAYOUT_GENERAL, &got);
    expect_same(app, &kind, &got, &texels);
    free(texels.data);
    free(got.data);
    app_image_destroy(app, &target);
}

/* A linear image, to which the host also stores where it is mapped. */
static void check_linear(const struct app *app, const struct functions *f)
{
    static const struct kind kind = {VK_FORMAT_R8G8B8A8_UNORM, 4, 1, COLOR, COLOR};
    static const struct shape shape = {VK_IMAGE_TYPE_2D, {48, 32, 1}, 1, 1, false};
    const VkImageSubresource which = {COLOR, 0, 0};
    VkImageCreateInfo info = image_info(&kind, &shape);
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    struct app_image image = {.aspect = COLOR};
    VkMemoryRequirements needs;
    VkSubresourceLayout layout;
    struct texels texels, got;
    bool coherent;
    uint8_t *mapped;

    info.tiling = VK_IMAGE_TILING_LINEAR;
    info.initialLayout = VK_IMAGE_LAYOUT_PREINITIALIZED;
    if (!is_possible(app, &info)) {
        printf("no host copies of linear images\n");
        return;
    }
    CHECK_VK(vkCreateImage(app->device, &info, NULL, &image.image));
    vkGetImageMemoryRequirements(app->device, image.image, &needs);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = app_memory_type(app, needs.memoryTypeBits, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                                               VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0);
    coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &image.memory));
    CHECK_VK(vkBindImageMemory(app->device, image.image, image.memory, 0));
    CHECK_VK(vkMapMemory(app->device, image.memory, 0, VK_WHOLE_SIZE, 0, (void **)&mapped));
    vkGetImageSubresourceLayout(app->device, image.image, &which, &layout);
    plan(&texels, &kind, &shape, false);
    plan(&got, &kind, &shape, false);
    fill(&texels, &kind, 5);
    for (uint32_t row = 0; row < 32; row++)
        memcpy(mapped + layout.offset + row * layout.rowPitch, block_at(&texels, &kind, 0, 0, row, 0), 48 * 4);
    if (!coherent)
        app_memory_sync(app, image.memory, needs.size, 0, needs.size, false);
    give_layout(app, f, &image, VK_IMAGE_LAYOUT_PREINITIALIZED, VK_IMAGE_LAYOUT_GENERAL);
    write_part(app, f, &kind, &image, &texels);
    if (!coherent)
        app_memory_sync(app, image.memory, needs.size, 0, needs.size, true);
    /* A store beside what the copy wrote, and one over it. */
    for (uint32_t column = 15; column < 17; column++) {
        put_block(&kind, 99 + column, block_at(&texels, &kind, 0, 0, 10, column));
        memcpy(mapped + layout.offset + 10 * layout.rowPitch + (size_t)column * 4,
               block_at(&texels, &kind, 0, 0, 10, column), 4);
    }
    if (!coherent)
        app_memory_sync(app, image.memory, needs.size, 0, needs.size, false);
    read_image(app, f, &kind, &shape, &image, VK_IMAGE_LAYOUT_GENERAL, &got);
    expect_same(app, &kind, &got, &texels);
    device_read(app, &kind, &shape, &image, VK_IMAGE_LAYOUT_GENERAL, &got);
    expect_same(app, &kind, &got, &texels);
    vkUnmapMemory(app->device, image.memory);
    write_part(app, f, &kind, &image, &texels);
    device_read(app, &kind, &shape, &image, VK_IMAGE_LAYOUT_GENERAL, &got);
    expect_same(app, &kind, &got, &texels);
    free(texels.data);
    free(got.data);
    vkDestroyImage(app->device, image.image, NULL);
    vkFreeMemory(app->device, image.memory, NULL);
}

/* The planes of an image, one after the other. */
static void check_planes(const struct app *app, const struct functions *f)
{
    static const struct kind planes[] = {
        {VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, 1, 1, VK_IMAGE_ASPECT_PLANE_0_BIT, COLOR},
        {VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, 2, 1, VK_IMAGE_ASPECT_PLANE_1_BIT, COLOR}};
    static const struct shape whole = {VK_IMAGE_TYPE_2D, {32, 24, 1}, 1, 1, false},
                              half = {VK_IMAGE_TYPE_2D, {16, 12, 1}, 1, 1, false};
    const VkImageCreateInfo info = image_info(&planes[0], &whole);
    struct app_image image;

    if (!is_possible(app, &info)) {
        printf("no host copies of planes\n");
        return;
    }
    app_image_create(app, &image, &info, COLOR, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    give_layout(app, f, &image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    for (uint32_t i = 0; i < 2; i++) {
        const struct shape *shape = i ? &half : &whole;
        struct texels texels, got;
        plan(&texels, &planes[i], shape, true);
        plan(&got, &planes[i], shape, false);
        fill(&texels, &planes[i], 31 + i);
        write_image(app, f, &planes[i], shape, &image, VK_IMAGE_LAYOUT_GENERAL, &texels);
        device_read(app, &planes[i], shape, &image, VK_IMAGE_LAYOUT_GENERAL, &got);
        expect_same(app, &planes[i], &got, &texels);
        free(texels.data);
        free(got.data);
    }
    app_image_destroy(app, &image);
}

static bool lists(uint32_t count, const VkImageLayout *layouts, VkImageLayout layout)
{
    for (uint32_t i = 0; i < count; i++)
        if (layouts[i] == layout)
            return true;
    return false;
}

static void load(const struct app *app, struct functions *f)
{
    VkImageLayout sources[64], targets[64];
    VkPhysicalDeviceHostImageCopyPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_PROPERTIES_EXT,
        .copySrcLayoutCount = COUNT_OF(sources),
        .pCopySrcLayouts = sources,
        .copyDstLayoutCount = COUNT_OF(targets),
        .pCopyDstLayouts = targets};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &host};

    f->layout2 =
        (PFN_vkGetImageSubresourceLayout2EXT)vkGetDeviceProcAddr(app->device, "vkGetImageSubresourceLayout2EXT");
    if (!f->layout2) /* older validation layers know the extension in parts */
        app_skip(app, "a layer has no vkGetImageSubresourceLayout2EXT");
    vkGetPhysicalDeviceProperties2(app->physical, &properties);
    CHECK(lists(host.copySrcLayoutCount, sources, VK_IMAGE_LAYOUT_GENERAL));
    CHECK(lists(host.copyDstLayoutCount, targets, VK_IMAGE_LAYOUT_GENERAL));
    f->can_read_source = lists(host.copySrcLayoutCount, sources, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL) &&
                         lists(host.copyDstLayoutCount, targets, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    f->to_image = (PFN_vkCopyMemoryToImageEXT)app_device_function(app, "vkCopyMemoryToImageEXT");
    f->to_memory = (PFN_vkCopyImageToMemoryEXT)app_device_function(app, "vkCopyImageToMemoryEXT");
    f->copy = (PFN_vkCopyImageToImageEXT)app_device_function(app, "vkCopyImageToImageEXT");
    f->transition = (PFN_vkTransitionImageLayoutEXT)app_device_function(app, "vkTransitionImageLayoutEXT");
}

static void run(struct app *app)
{
    static const char *const extensions[] = {HOST_COPY};
    const VkPhysicalDeviceHostImageCopyFeaturesEXT feature = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_FEATURES_EXT, .hostImageCopy = VK_TRUE};
    const VkPhysicalDeviceFeatures features = {.textureCompressionBC = app->features.textureCompressionBC};
    const struct app_device_request request = {
        .extensions = extensions, .extension_count = 1, .next = &feature, .features = &features};
    struct functions f;

    if (app->api_version < VK_API_VERSION_1_3 || !app_has_extension(app, HOST_COPY))
        app_skip(app, "no " HOST_COPY);
    app_device_create(app, &request);
    load(app, &f);
    for (uint32_t k = 0; k < COUNT_OF(kinds); k++)
        for (uint32_t s = 0; s < COUNT_OF(shapes); s++)
            check_kind(app, &f, &kinds[k], &shapes[s], k * 1000 + s * 100);
    check_much(app, &f);
    check_linear(app, &f);
    if (planes_too)
        check_planes(app, &f);
}

#else

static void run(struct app *app)
{
    app_skip(app, "these headers have no " HOST_COPY);
}

#endif

int main(int argc, char **argv)
{
    static const struct app_option options[] = {{"--planes", "a format with planes, too", &planes_too, NULL}, {0}};
    static const struct app_program program = {
        .name = "hostcopy", .what = "the host copies between images and its memory", .options = options};
    struct app app;

    app_init(&app, argc, argv, &program);
    run(&app);
    return app_finish(&app);
}
