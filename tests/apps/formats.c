/* SPDX-License-Identifier: MIT */
/*
 * formats: images of many formats and shapes: mip levels, array layers, cubes, 3D, block compression, depth and
 * stencil. Bytes go from a buffer with padded rows into an image, from there into another image, and back in rows
 * without padding. Then blits, a multisample resolve, and shader reads through views of each kind.
 */
#include "common/app.h"
#include "shaders/formats_sample_comp.h"
#include "shaders/headless_frag.h"
#include "shaders/headless_vert.h"

struct kind {
    VkFormat format;
    uint32_t block_bytes, block_size; /* texels a side */
    VkImageAspectFlags aspect;
};

struct shape {
    const char *name;
    VkImageType type;
    VkImageCreateFlags flags;
    VkExtent3D extent;
    uint32_t levels, layers;
    bool color_only;
};

static const struct kind kinds[] = {
    {VK_FORMAT_R8_UNORM, 1, 1, VK_IMAGE_ASPECT_COLOR_BIT},
    {VK_FORMAT_R8G8_SNORM, 2, 1, VK_IMAGE_ASPECT_COLOR_BIT},
    {VK_FORMAT_R5G6B5_UNORM_PACK16, 2, 1, VK_IMAGE_ASPECT_COLOR_BIT},
    {VK_FORMAT_R8G8B8A8_UNORM, 4, 1, VK_IMAGE_ASPECT_COLOR_BIT},
    {VK_FORMAT_R8G8B8A8_SRGB, 4, 1, VK_IMAGE_ASPECT_COLOR_BIT},
    {VK_FORMAT_B8G8R8A8_UNORM, 4, 1, VK_IMAGE_ASPECT_COLOR_BIT},
    {VK_FORMAT_A2B10G10R10_UNORM_PACK32, 4, 1, VK_IMAGE_ASPECT_COLOR_BIT},
    {VK_FORMAT_R16G16B16A16_UINT, 8, 1, VK_IMAGE_ASPECT_COLOR_BIT},
    {VK_FORMAT_R32_SINT, 4, 1, VK_IMAGE_ASPECT_COLOR_BIT},
    {VK_FORMAT_R32G32B32A32_UINT, 16, 1, VK_IMAGE_ASPECT_COLOR_BIT},
    {VK_FORMAT_D16_UNORM, 2, 1, VK_IMAGE_ASPECT_DEPTH_BIT},
    {VK_FORMAT_X8_D24_UNORM_PACK32, 4, 1, VK_IMAGE_ASPECT_DEPTH_BIT},
    {VK_FORMAT_D32_SFLOAT, 4, 1, VK_IMAGE_ASPECT_DEPTH_BIT},
    {VK_FORMAT_S8_UINT, 1, 1, VK_IMAGE_ASPECT_STENCIL_BIT},
    {VK_FORMAT_BC1_RGBA_UNORM_BLOCK, 8, 4, VK_IMAGE_ASPECT_COLOR_BIT},
    {VK_FORMAT_BC3_SRGB_BLOCK, 16, 4, VK_IMAGE_ASPECT_COLOR_BIT},
    {VK_FORMAT_BC7_UNORM_BLOCK, 16, 4, VK_IMAGE_ASPECT_COLOR_BIT},
};

static const struct shape shapes[] = {
    {"2D", VK_IMAGE_TYPE_2D, 0, {37, 21, 1}, 1, 1, false},
    {"2D, 6 levels, 3 layers", VK_IMAGE_TYPE_2D, 0, {52, 33, 1}, 6, 3, false},
    {"cube, 4 levels", VK_IMAGE_TYPE_2D, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT, {16, 16, 1}, 4, 6, true},
    {"3D, 3 levels", VK_IMAGE_TYPE_3D, 0, {20, 12, 7}, 3, 1, true},
    {"1D", VK_IMAGE_TYPE_1D, 0, {61, 1, 1}, 3, 2, true},
};

static uint32_t blocks(uint32_t texels, uint32_t block_size)
{
    return (texels + block_size - 1) / block_size;
}

static uint32_t level_size(uint32_t size, uint32_t level)
{
    return size >> level ? size >> level : 1;
}

/* One region a level, padded or not. Returns the bytes that they take. */
static VkDeviceSize plan(const struct kind *kind, const struct shape *shape, bool padded, VkBufferImageCopy *regions)
{
    VkDeviceSize offset = 0;
    for (uint32_t level = 0; level < shape->levels; level++) {
        VkBufferImageCopy *region = &regions[level];
        *region = (VkBufferImageCopy){.bufferOffset = offset};
        region->imageSubresource = (VkImageSubresourceLayers){kind->aspect, level, 0, shape->layers};
        region->imageExtent =
            (VkExtent3D){level_size(shape->extent.width, level), level_size(shape->extent.height, level),
                         level_size(shape->extent.depth, level)};
        uint32_t columns = blocks(region->imageExtent.width, kind->block_size) + (padded ? 3 : 0);
        uint32_t rows = blocks(region->imageExtent.height, kind->block_size) + (padded && shape->type ? 2 : 0);
        if (padded) {
            region->bufferRowLength = columns * kind->block_size;
            region->bufferImageHeight = rows * kind->block_size;
        }
        offset += (VkDeviceSize)columns * rows * region->imageExtent.depth * shape->layers * kind->block_bytes;
        offset = (offset + 15) / 16 * 16;
    }
    return offset;
}

/* The bits above 24-bit depth: undefined when read back. */
static bool is_unused(const struct kind *kind, uint32_t byte)
{
    return kind->format == VK_FORMAT_X8_D24_UNORM_PACK32 && byte % 4 == 3;
}

/* Bytes that are no NaN, no number outside 0..1 for depth, and the same in each run. */
static uint8_t content(const struct kind *kind, uint32_t level, uint32_t plane, uint32_t row, uint32_t byte)
{
    if (kind->format == VK_FORMAT_D32_SFLOAT) {
        const float value = (float)((byte / 4 + row * 7 + plane * 3 + level) % 256) / 256.0f;
        uint8_t bytes[4];
        memcpy(bytes, &value, 4);
        return bytes[byte % 4];
    }
    if (is_unused(kind, byte))
        return 0;
    uint32_t value = byte * 13 + row * 101 + plane * 37 + level * 211;
    /* The lowest SNORM value has two codes; a driver may turn one into the other. */
    return (uint8_t)(kind->format == VK_FORMAT_R8G8_SNORM ? value % 120 : value % 251);
}

/* Writes the expected bytes into memory laid out as regions say, or compares them. */
static void walk(const struct app *app, const struct kind *kind, const struct shape *shape,
                 const VkBufferImageCopy *regions, uint8_t *memory, bool compare)
{
    for (uint32_t level = 0; level < shape->levels; level++) {
        const VkBufferImageCopy *region = &regions[level];
        uint32_t columns = blocks(region->imageExtent.width, kind->block_size);
        uint32_t rows = blocks(region->imageExtent.height, kind->block_size);
        uint32_t pitch_columns = region->bufferRowLength ? region->bufferRowLength / kind->block_size : columns;
        uint32_t pitch_rows = region->bufferImageHeight ? region->bufferImageHeight / kind->block_size : rows;
        uint32_t planes = region->imageExtent.depth * shape->layers;
        for (uint32_t plane = 0; plane < planes; plane++) {
            for (uint32_t row = 0; row < rows; row++) {
                uint8_t *bytes = memory + region->bufferOffset +
                                 (size_t)(plane * pitch_rows + row) * pitch_columns * kind->block_bytes;
                for (uint32_t byte = 0; byte < columns * kind->block_bytes; byte++) {
                    if (compare && is_unused(kind, byte))
                        continue;
                    if (compare)
                        EXPECT_EQ(app, bytes[byte], content(kind, level, plane, row, byte));
                    else
                        bytes[byte] = content(kind, level, plane, row, byte);
                }
            }
        }
    }
}

static void round_trip(const struct app *app, const struct kind *kind, const struct shape *shape)
{
    const VkFormatFeatureFlags transfer = VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
    const VkImageUsageFlags usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    VkImageFormatProperties limits;
    VkResult result = vkGetPhysicalDeviceImageFormatProperties(app->physical, kind->format, shape->type,
                                                               VK_IMAGE_TILING_OPTIMAL, usage, shape->flags, &limits);
    if (result == VK_ERROR_FORMAT_NOT_SUPPORTED || limits.maxMipLevels < shape->levels ||
        !app_format_has(app, kind->format, VK_IMAGE_TILING_OPTIMAL, transfer)) {
        printf("left out: format %d, %s\n", (int)kind->format, shape->name);
        return;
    }
    CHECK_VK(result);
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
    info.flags = shape->flags;
    info.imageType = shape->type;
    info.format = kind->format;
    info.extent = shape->extent;
    info.mipLevels = shape->levels;
    info.arrayLayers = shape->layers;
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.tiling = VK_IMAGE_TILING_OPTIMAL;
    info.usage = usage;
    struct app_image images[2];
    struct app_buffer upload, download;
    VkBufferImageCopy padded[8], tight[8];
    app_image_create(app, &images[0], &info, kind->aspect, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    app_image_create(app, &images[1], &info, kind->aspect, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    app_buffer_create(app, &upload, plan(kind, shape, true, padded), VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &download, plan(kind, shape, false, tight), VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    memset(upload.mapped, 0xaa, upload.size);
    walk(app, kind, shape, padded, upload.mapped, false);
    app_buffer_flush(app, &upload, 0, upload.size);

    VkCommandBuffer commands = app_begin(app);
    app_image_barrier(commands, &images[0], VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    app_image_barrier(commands, &images[1], VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdCopyBufferToImage(commands, upload.buffer, images[0].image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                           shape->levels, padded);
    app_image_barrier(commands, &images[0], VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    VkImageCopy copies[8];
    for (uint32_t level = 0; level < shape->levels; level++) {
        copies[level] = (VkImageCopy){.extent = padded[level].imageExtent};
        copies[level].srcSubresource = copies[level].dstSubresource = padded[level].imageSubresource;
    }
    vkCmdCopyImage(commands, images[0].image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, images[1].image,
                   VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, shape->levels, copies);
    app_image_barrier(commands, &images[1], VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    vkCmdCopyImageToBuffer(commands, images[1].image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, download.buffer,
                           shape->levels, tight);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &download, 0, download.size);
    walk(app, kind, shape, tight, download.mapped, true);
    app_image_destroy(app, &images[0]);
    app_image_destroy(app, &images[1]);
    app_buffer_destroy(app, &upload);
    app_buffer_destroy(app, &download);
}

static void read_image(const struct app *app, VkCommandBuffer commands, VkImage image, uint32_t width, uint32_t height,
                       const struct app_buffer *target)
{
    VkBufferImageCopy region = {0};
    region.imageSubresource = (VkImageSubresourceLayers){VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = (VkExtent3D){width, height, 1};
    vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, target->buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

/* 16 x 16 RGBA to 32 x 32 BGRA, turned upside down. */
static void blit(const struct app *app)
{
    struct app_image source, target;
    struct app_buffer upload, download;
    const VkImageUsageFlags usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    if (!app_format_has(app, VK_FORMAT_B8G8R8A8_UNORM, VK_IMAGE_TILING_OPTIMAL, VK_FORMAT_FEATURE_BLIT_DST_BIT)) {
        printf("left out: blit to BGRA\n");
        return;
    }
    app_image_create_2d(app, &source, VK_FORMAT_R8G8B8A8_UNORM, 16, 16, usage);
    app_image_create_2d(app, &target, VK_FORMAT_B8G8R8A8_UNORM, 32, 32, usage);
    app_buffer_create(app, &upload, 16 * 16 * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &download, 32 * 32 * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t i = 0; i < 16 * 16; i++)
        ((uint32_t *)upload.mapped)[i] = (i % 16) * 16 | (i / 16) * 16 << 8 | 77u << 16 | 0xff000000u;
    app_buffer_flush(app, &upload, 0, upload.size);
    VkCommandBuffer commands = app_begin(app);
    app_image_barrier(commands, &source, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    app_image_barrier(commands, &target, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    const VkImageSubresourceLayers color = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    VkBufferImageCopy region = {.imageSubresource = color, .imageExtent = {16, 16, 1}};
    vkCmdCopyBufferToImage(commands, upload.buffer, source.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    app_image_barrier(commands, &source, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    VkImageBlit scale = {color, {{0, 0, 0}, {16, 16, 1}}, color, {{0, 32, 0}, {32, 0, 1}}};
    vkCmdBlitImage(commands, source.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, target.image,
                   VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &scale, VK_FILTER_NEAREST);
    app_image_barrier(commands, &target, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    read_image(app, commands, target.image, 32, 32, &download);
    app_run(app, commands);
    app_buffer_invalidate(app, &download, 0, download.size);
    for (uint32_t i = 0; i < 32 * 32; i++)
        EXPECT_EQ(app, ((uint32_t *)download.mapped)[i],
                  77u | ((31 - i / 32) / 2 * 16) << 8 | (i % 32 / 2 * 16) << 16 | 0xff000000u);
    app_image_destroy(app, &source);
    app_image_destroy(app, &target);
    app_buffer_destroy(app, &upload);
    app_buffer_destroy(app, &download);
}

/* Bytes go through images of two formats with texels of one size: copies between images change no bits. The layers of
 * the first become slices of the second, a texel further to the right and down. */
static void copy_between(const struct app *app, VkFormat from, VkFormat to, uint32_t texel_bytes)
{
    const VkFormatFeatureFlags transfer = VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
    const VkImageSubresourceLayers layers = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 3},
                                   slices = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    const VkClearColorValue nothing = {0};
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = from,
                              .extent = {15, 9, 1},
                              .mipLevels = 1,
                              .arrayLayers = 3,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .tiling = VK_IMAGE_TILING_OPTIMAL,
                              .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    const uint32_t row = 15 * texel_bytes, bytes = row * 9 * 3, wide = 16 * texel_bytes;
    struct app_image first, second;
    struct app_buffer upload, download;

    if (app->api_version < VK_API_VERSION_1_1 || !app_format_has(app, from, VK_IMAGE_TILING_OPTIMAL, transfer) ||
        !app_format_has(app, to, VK_IMAGE_TILING_OPTIMAL, transfer)) {
        printf("left out: copies from format %d to format %d\n", (int)from, (int)to);
        return;
    }
    app_image_create(app, &first, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    info.imageType = VK_IMAGE_TYPE_3D;
    info.format = to;
    info.extent = (VkExtent3D){16, 10, 3};
    info.arrayLayers = 1;
    app_image_create(app, &second, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    app_buffer_create(app, &upload, bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &download, wide * 10 * 3, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t i = 0; i < bytes; i++)
        upload.mapped[i] = (uint8_t)(i * 7 % 253);
    app_buffer_flush(app, &upload, 0, upload.size);
    VkCommandBuffer commands = app_begin(app);
    app_image_barrier(commands, &first, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    app_image_barrier(commands, &second, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    const VkBufferImageCopy in = {.imageSubresource = layers, .imageExtent = {15, 9, 1}};
    const VkBufferImageCopy out = {.imageSubresource = slices, .imageExtent = {16, 10, 3}};
    const VkImageCopy copy = {layers, {0, 0, 0}, slices, {1, 1, 0}, {15, 9, 3}};
    vkCmdCopyBufferToImage(commands, upload.buffer, first.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &in);
    vkCmdClearColorImage(commands, second.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &nothing, 1, &all);
    app_image_barrier(commands, &first, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    app_image_barrier(commands, &second, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdCopyImage(commands, first.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, second.image,
                   VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &copy);
    app_image_barrier(commands, &second, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    vkCmdCopyImageToBuffer(commands, second.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, download.buffer, 1, &out);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &download, 0, download.size);
    for (uint32_t slice = 0; slice < 3; slice++)
        for (uint32_t y = 0; y < 10; y++)
            for (uint32_t x = 0; x < wide; x++) {
                const bool copied = y > 0 && x >= texel_bytes;
                EXPECT_EQ(app, download.mapped[(slice * 10 + y) * wide + x],
                          copied ? upload.mapped[(slice * 9 + y - 1) * row + x - texel_bytes] : 0);
            }
    app_image_destroy(app, &first);
    app_image_destroy(app, &second);
    app_buffer_destroy(app, &upload);
    app_buffer_destroy(app, &download);
}

static VkRenderPass multisample_pass(const struct app *app)
{
    VkAttachmentDescription attachments[2] = {{0}};
    for (uint32_t i = 0; i < 2; i++) {
        attachments[i].format = VK_FORMAT_R8G8B8A8_UNORM;
        attachments[i].samples = i ? VK_SAMPLE_COUNT_1_BIT : VK_SAMPLE_COUNT_4_BIT;
        attachments[i].loadOp = i ? VK_ATTACHMENT_LOAD_OP_DONT_CARE : VK_ATTACHMENT_LOAD_OP_CLEAR;
        attachments[i].storeOp = VK_ATTACHMENT_STORE_OP_STORE;
        attachments[i].stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
        attachments[i].stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
        attachments[i].finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    }
    const VkAttachmentReference references[2] = {{0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL},
                                                 {1, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL}};
    VkSubpassDescription subpass = {0};
    subpass.colorAttachmentCount = 1;
    subpass.pColorAttachments = &references[0];
    subpass.pResolveAttachments = &references[1];
    VkSubpassDependency dependency = {0};
    dependency.dstSubpass = VK_SUBPASS_EXTERNAL;
    dependency.srcStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
    dependency.srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
    dependency.dstStageMask = VK_PIPELINE_STAGE_TRANSFER_BIT;
    dependency.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
    VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO};
    info.attachmentCount = 2;
    info.pAttachments = attachments;
    info.subpassCount = 1;
    info.pSubpasses = &subpass;
    info.dependencyCount = 1;
    info.pDependencies = &dependency;
    VkRenderPass pass;
    CHECK_VK(vkCreateRenderPass(app->device, &info, NULL, &pass));
    return pass;
}

/* Draws cells with four samples; resolved once by the render pass and once by a command: both must be the same. */
static void resolve(const struct app *app)
{
    const uint32_t size = 64;
    struct app_image samples, by_pass, by_command;
    struct app_buffer downloads[2];
    const VkImageUsageFlags usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
    info.imageType = VK_IMAGE_TYPE_2D;
    info.format = VK_FORMAT_R8G8B8A8_UNORM;
    info.extent = (VkExtent3D){size, size, 1};
    info.mipLevels = info.arrayLayers = 1;
    info.samples = VK_SAMPLE_COUNT_4_BIT; /* every device has it */
    info.usage = usage;
    app_image_create(app, &samples, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_2D);
    app_image_create_2d(app, &by_pass, info.format, size, size, usage);
    app_image_create_2d(app, &by_command, info.format, size, size, usage | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    for (uint32_t i = 0; i < 2; i++)
        app_buffer_create(app, &downloads[i], size * size * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    VkRenderPass pass = multisample_pass(app);
    const VkImageView views[] = {samples.view, by_pass.view};
    VkFramebuffer framebuffer = app_framebuffer(app, pass, 2, views, size, size);
    VkPipelineLayout layout = app_pipeline_layout(app, 0, NULL, VK_SHADER_STAGE_FRAGMENT_BIT, 4);
    struct app_pipeline pipeline_info = {
        .vertex = app_shader(app, headless_vert, sizeof(headless_vert)),
        .fragment = app_shader(app, headless_frag, sizeof(headless_frag)),
        .layout = layout,
        .render_pass = pass,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
        .samples = VK_SAMPLE_COUNT_4_BIT,
        .color_count = 1,
    };
    VkPipeline pipeline = app_graphics_pipeline(app, &pipeline_info);

    VkCommandBuffer commands = app_begin(app);
    const VkClearValue clear = {.color.float32 = {0, 0, 0, 1}};
    const uint32_t frame = 3;
    VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO};
    begin.renderPass = pass;
    begin.framebuffer = framebuffer;
    begin.renderArea.extent = (VkExtent2D){size, size};
    begin.clearValueCount = 1;
    begin.pClearValues = &clear;
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    app_set_viewport(commands, size, size / 2);
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_FRAGMENT_BIT, 0, 4, &frame);
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdEndRenderPass(commands);
    app_image_barrier(commands, &by_command, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    const VkImageSubresourceLayers color = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    const VkImageResolve region = {color, {0, 0, 0}, color, {0, 0, 0}, {size, size, 1}};
    vkCmdResolveImage(commands, samples.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, by_command.image,
                      VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    app_image_barrier(commands, &by_command, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                      VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    read_image(app, commands, by_pass.image, size, size, &downloads[0]);
    read_image(app, commands, by_command.image, size, size, &downloads[1]);
    app_run(app, commands);
    for (uint32_t i = 0; i < 2; i++) {
        app_buffer_invalidate(app, &downloads[i], 0, downloads[i].size);
        for (uint32_t p = 0; p < size * size; p++) {
            uint32_t column = p % size / 16, row = p / size / 16;
            uint32_t drawn = column * 32 | row * 32 << 8 | frame * 16 << 16 | 0xff000000u;
            EXPECT_EQ(app, ((uint32_t *)downloads[i].mapped)[p], row < 2 ? drawn : 0xff000000u);
        }
        app_buffer_destroy(app, &downloads[i]);
    }
    vkDestroyShaderModule(app->device, pipeline_info.vertex, NULL);
    vkDestroyShaderModule(app->device, pipeline_info.fragment, NULL);
    vkDestroyPipeline(app->device, pipeline, NULL);
    vkDestroyPipelineLayout(app->device, layout, NULL);
    vkDestroyFramebuffer(app->device, framebuffer, NULL);
    vkDestroyRenderPass(app->device, pass, NULL);
    app_image_destroy(app, &samples);
    app_image_destroy(app, &by_pass);
    app_image_destroy(app, &by_command);
}

/* Each layer (or slice) of each level is cleared to a colour of its own; the shader reads them through views. */
static void sample_views(const struct app *app)
{
    static const struct {
        VkImageType type;
        VkImageViewType view;
        uint32_t flags, depth, levels, layers;
    } textures[3] = {
        {VK_IMAGE_TYPE_2D, VK_IMAGE_VIEW_TYPE_2D_ARRAY, 0, 1, 3, 2},
        {VK_IMAGE_TYPE_2D, VK_IMAGE_VIEW_TYPE_CUBE, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT, 1, 1, 6},
        {VK_IMAGE_TYPE_3D, VK_IMAGE_VIEW_TYPE_3D, 0, 4, 2, 1},
    };
    struct app_image images[3];
    struct app_buffer result;
    app_buffer_create(app, &result, 14 * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    VkSamplerCreateInfo sampler_info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    sampler_info.maxLod = VK_LOD_CLAMP_NONE;
    VkSampler sampler;
    CHECK_VK(vkCreateSampler(app->device, &sampler_info, NULL, &sampler));
    VkCommandBuffer commands = app_begin(app);
    for (uint32_t t = 0; t < 3; t++) {
        VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
        info.flags = textures[t].flags;
        info.imageType = textures[t].type;
        info.format = VK_FORMAT_R8G8B8A8_UNORM;
        info.extent = (VkExtent3D){8, 8, textures[t].depth};
        info.mipLevels = textures[t].levels;
        info.arrayLayers = textures[t].layers;
        info.samples = VK_SAMPLE_COUNT_1_BIT;
        info.usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
        app_image_create(app, &images[t], &info, VK_IMAGE_ASPECT_COLOR_BIT, textures[t].view);
        app_image_barrier(commands, &images[t], VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
        for (uint32_t level = 0; level < info.mipLevels; level++) {
            for (uint32_t layer = 0; layer < info.arrayLayers; layer++) {
                const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, level, 1, layer, 1};
                const float value = (float)(t * 64 + level * 16 + layer) / 255.0f;
                const VkClearColorValue color = {.float32 = {value, 0, 0, 1}};
                vkCmdClearColorImage(commands, images[t].image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &color, 1,
                                     &range);
            }
        }
        app_image_barrier(commands, &images[t], VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                          VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    }
    app_run(app, commands);

    VkDescriptorSetLayoutBinding bindings[4];
    for (uint32_t i = 0; i < 4; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1,
                                                     VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    bindings[3].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    VkDescriptorSetLayout set_layout = app_set_layout(app, 4, bindings);
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 3},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1}};
    VkDescriptorPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool_info.maxSets = 1;
    pool_info.poolSizeCount = 2;
    pool_info.pPoolSizes = sizes;
    VkDescriptorPool pool;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool_info, NULL, &pool));
    VkDescriptorSet set;
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &set));
    VkDescriptorImageInfo infos[3];
    for (uint32_t i = 0; i < 3; i++)
        infos[i] = (VkDescriptorImageInfo){sampler, images[i].view, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
    const VkDescriptorBufferInfo buffer = {result.buffer, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet writes[2] = {{0}};
    writes[0].sType = writes[1].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[0].dstSet = writes[1].dstSet = set;
    writes[0].descriptorCount = 3;
    writes[0].descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    writes[0].pImageInfo = infos;
    writes[1].dstBinding = 3;
    writes[1].descriptorCount = 1;
    writes[1].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[1].pBufferInfo = &buffer;
    vkUpdateDescriptorSets(app->device, 2, writes, 0, NULL);
    VkPipelineLayout layout = app_pipeline_layout(app, 1, &set_layout, 0, 0);
    VkPipeline pipeline = app_compute_pipeline(app, formats_sample_comp, sizeof(formats_sample_comp), layout);
    commands = app_begin(app);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
    vkCmdDispatch(commands, 1, 1, 1);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &result, 0, result.size);
    /* Array: levels 0..2 of layers 0 and 1. Cube: the six faces. 3D: two levels. */
    const uint32_t expected[14] = {0, 1, 16, 17, 32, 33, 64, 65, 66, 67, 68, 69, 128, 144};
    for (uint32_t i = 0; i < COUNT_OF(expected); i++)
        EXPECT_EQ(app, ((uint32_t *)result.mapped)[i], expected[i]);

    vkDestroyPipeline(app->device, pipeline, NULL);
    vkDestroyPipelineLayout(app->device, layout, NULL);
    vkDestroyDescriptorPool(app->device, pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, set_layout, NULL);
    vkDestroySampler(app->device, sampler, NULL);
    for (uint32_t i = 0; i < 3; i++)
        app_image_destroy(app, &images[i]);
    app_buffer_destroy(app, &result);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "formats",
        .what = "Images of many formats and shapes: copies, blits, resolves, views.",
        .frames = 1,
    };
    struct app app;
    app_init(&app, argc, argv, &program);
    VkPhysicalDeviceFeatures features = {.textureCompressionBC = app.features.textureCompressionBC};
    struct app_device_request request = {.features = &features};
    app_device_create(&app, &request);
    for (uint32_t round = 0; round < app.frames; round++) {
        for (uint32_t k = 0; k < COUNT_OF(kinds); k++)
            for (uint32_t s = 0; s < COUNT_OF(shapes); s++)
                if (!shapes[s].color_only || (kinds[k].aspect == VK_IMAGE_ASPECT_COLOR_BIT && kinds[k].block_size == 1))
                    round_trip(&app, &kinds[k], &shapes[s]);
        blit(&app);
        copy_between(&app, VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_R8G8B8A8_UNORM, 4);
        copy_between(&app, VK_FORMAT_R32_UINT, VK_FORMAT_B8G8R8A8_UNORM, 4);
        copy_between(&app, VK_FORMAT_A2B10G10R10_UNORM_PACK32, VK_FORMAT_B8G8R8A8_UNORM, 4);
        copy_between(&app, VK_FORMAT_R5G6B5_UNORM_PACK16, VK_FORMAT_R16_UINT, 2);
        resolve(&app);
        sample_views(&app);
    }
    return app_finish(&app);
}
