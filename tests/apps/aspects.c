/* SPDX-License-Identifier: MIT */
/*
 * aspects: copies between depth or stencil and color (VK_KHR_maintenance8): a buffer fills a depth image, which is
 * copied to a color image, from there to another depth image, and back to the host, in two levels and two layers, with
 * regions of both kinds in one command; by both forms of the command.
 */
#include "common/app.h"

#define MAINTENANCE "VK_KHR_maintenance8"

#ifdef VK_KHR_maintenance8

#define SIZE   24u
#define LAYERS 2u
#define LEVELS 2u
#define TEXELS ((SIZE * SIZE + SIZE * SIZE / 4) * LAYERS)

struct pair {
    VkFormat depth, color;
    VkImageAspectFlags aspect;
    uint32_t bytes;
};

static const struct pair pairs[] = {
    {VK_FORMAT_D16_UNORM, VK_FORMAT_R16_UINT, VK_IMAGE_ASPECT_DEPTH_BIT, 2},
    {VK_FORMAT_D32_SFLOAT, VK_FORMAT_R32_UINT, VK_IMAGE_ASPECT_DEPTH_BIT, 4},
    {VK_FORMAT_S8_UINT, VK_FORMAT_R8_UINT, VK_IMAGE_ASPECT_STENCIL_BIT, 1},
    {VK_FORMAT_D32_SFLOAT_S8_UINT, VK_FORMAT_R32_UINT, VK_IMAGE_ASPECT_DEPTH_BIT, 4},
    {VK_FORMAT_D32_SFLOAT_S8_UINT, VK_FORMAT_R8_UINT, VK_IMAGE_ASPECT_STENCIL_BIT, 1},
};

static void create(const struct app *app, struct app_image *image, VkFormat format, VkImageAspectFlags aspects)
{
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = format,
                                    .extent = {SIZE, SIZE, 1},
                                    .mipLevels = LEVELS,
                                    .arrayLayers = LAYERS,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    app_image_create(app, image, &info, aspects, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
}

static void buffer_regions(const struct pair *pair, VkImageAspectFlags aspect, VkBufferImageCopy regions[LEVELS])
{
    for (uint32_t i = 0; i < LEVELS; i++)
        regions[i] = (VkBufferImageCopy){.bufferOffset = i ? SIZE * SIZE * LAYERS * pair->bytes : 0,
                                         .imageSubresource = {aspect, i, 0, LAYERS},
                                         .imageExtent = {SIZE >> i, SIZE >> i, 1}};
}

/* All levels, with the first form of the command or the second. */
static void copy(VkCommandBuffer commands, bool second, const struct app_image *from, VkImageAspectFlags from_aspect,
                 const struct app_image *to, VkImageAspectFlags to_aspect)
{
    const VkImageLayout source = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, target = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    VkImageCopy old[LEVELS];
    VkImageCopy2 regions[LEVELS];

    for (uint32_t i = 0; i < LEVELS; i++) {
        old[i] = (VkImageCopy){.srcSubresource = {from_aspect, i, 0, LAYERS},
                               .dstSubresource = {to_aspect, i, 0, LAYERS},
                               .extent = {SIZE >> i, SIZE >> i, 1}};
        regions[i] = (VkImageCopy2){.sType = VK_STRUCTURE_TYPE_IMAGE_COPY_2,
                                    .srcSubresource = old[i].srcSubresource,
                                    .dstSubresource = old[i].dstSubresource,
                                    .extent = old[i].extent};
    }
    if (second) {
        const VkCopyImageInfo2 info = {.sType = VK_STRUCTURE_TYPE_COPY_IMAGE_INFO_2,
                                       .srcImage = from->image,
                                       .srcImageLayout = source,
                                       .dstImage = to->image,
                                       .dstImageLayout = target,
                                       .regionCount = LEVELS,
                                       .pRegions = regions};
        vkCmdCopyImage2(commands, &info);
    } else {
        vkCmdCopyImage(commands, from->image, source, to->image, target, LEVELS, old);
    }
}

static void check_pair(const struct app *app, const struct pair *pair, bool second)
{
    const VkImageAspectFlags all = pair->depth == VK_FORMAT_D32_SFLOAT_S8_UINT
                                       ? VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT
                                       : pair->aspect;
    const VkImageLayout none = VK_IMAGE_LAYOUT_UNDEFINED, source = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                        target = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    VkBufferImageCopy regions[LEVELS];
    struct app_image first, color, last;
    struct app_buffer in, out;
    uint32_t state = second ? 7 : 3;
    VkCommandBuffer commands;

    if (!app_format_has(app, pair->depth, VK_IMAGE_TILING_OPTIMAL,
                        VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT))
        return;
    create(app, &first, pair->depth, all);
    create(app, &last, pair->depth, all);
    create(app, &color, pair->color, VK_IMAGE_ASPECT_COLOR_BIT);
    app_buffer_create(app, &in, (VkDeviceSize)TEXELS * pair->bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &out, (VkDeviceSize)TEXELS * pair->bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t i = 0; i < TEXELS; i++) {
        float depth = (float)(app_random(&state) % 1025) / 1024.0f;
        if (pair->bytes == 4)
            memcpy(in.mapped + i * 4, &depth, 4);
        for (uint32_t b = 0; b < pair->bytes && pair->bytes < 4; b++)
            in.mapped[i * pair->bytes + b] = (uint8_t)app_random(&state);
    }
    app_buffer_flush(app, &in, 0, VK_WHOLE_SIZE);
    commands = app_begin(app);
    app_image_barrier(commands, &first, none, target);
    app_image_barrier(commands, &color, none, target);
    app_image_barrier(commands, &last, none, target);
    buffer_regions(pair, pair->aspect, regions);
    vkCmdCopyBufferToImage(commands, in.buffer, first.image, target, LEVELS, regions);
    app_image_barrier(commands, &first, target, source);
    copy(commands, second, &first, pair->aspect, &color, VK_IMAGE_ASPECT_COLOR_BIT);
    app_image_barrier(commands, &color, target, source);
    copy(commands, second, &color, VK_IMAGE_ASPECT_COLOR_BIT, &last, pair->aspect);
    app_image_barrier(commands, &last, target, source);
    vkCmdCopyImageToBuffer(commands, last.image, source, out.buffer, LEVELS, regions);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &out, 0, VK_WHOLE_SIZE);
    for (uint32_t i = 0; i < TEXELS * pair->bytes; i++)
        EXPECT_EQ(app, out.mapped[i], in.mapped[i]);
    app_buffer_destroy(app, &in);
    app_buffer_destroy(app, &out);
    app_image_destroy(app, &first);
    app_image_destroy(app, &color);
    app_image_destroy(app, &last);
}

static void run(struct app *app)
{
    static const char *const extensions[] = {MAINTENANCE};
    const VkPhysicalDeviceMaintenance8FeaturesKHR feature = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_8_FEATURES_KHR, .maintenance8 = VK_TRUE};
    const struct app_device_request request = {.extensions = extensions, .extension_count = 1, .next = &feature};

    if (app->api_version < VK_API_VERSION_1_3 || !app_has_extension(app, MAINTENANCE))
        app_skip(app, "no " MAINTENANCE);
    app_device_create(app, &request);
    for (uint32_t i = 0; i < COUNT_OF(pairs); i++) {
        check_pair(app, &pairs[i], false);
        check_pair(app, &pairs[i], true);
    }
}

#else

static void run(struct app *app)
{
    app_skip(app, "these headers have no " MAINTENANCE);
}

#endif

int main(int argc, char **argv)
{
    static const struct app_program program = {.name = "aspects", .what = "copies between depth, stencil and color"};
    struct app app;

    app_init(&app, argc, argv, &program);
    run(&app);
    return app_finish(&app);
}
