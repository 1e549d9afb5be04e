/* SPDX-License-Identifier: MIT */
/*
 * texels: the device writes parts of linear images that the host reads, and the host writes other parts of the same
 * images while the device is at work: rectangles from a buffer and from another image, blits, clears of single levels
 * and layers. A model without padding says what every texel must be.
 */
#include "common/app.h"

#define SIZE   40u
#define HEIGHT 32u
#define MARGIN 8u /* rows at the top that only the host writes */

struct picture {
    VkImage image;
    VkDeviceMemory memory;
    VkDeviceSize allocated;
    VkSubresourceLayout layout;
    uint8_t *mapped;
    uint32_t model[HEIGHT][SIZE];
};

struct scene {
    const struct app *app;
    struct picture target, source;
    struct app_buffer upload;
    VkFence fence;
    bool fresh, blits;
    uint32_t seed;
};

static const VkImageSubresourceLayers color = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};

static uint32_t *texel(const struct picture *picture, uint32_t x, uint32_t y)
{
    return (uint32_t *)(void *)(picture->mapped + picture->layout.offset + y * picture->layout.rowPitch) + x;
}

static void create_picture(const struct app *app, struct picture *picture, enum app_memory kind)
{
    VkImageCreateInfo create = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                .imageType = VK_IMAGE_TYPE_2D,
                                .format = VK_FORMAT_R8G8B8A8_UNORM,
                                .extent = {SIZE, HEIGHT, 1},
                                .mipLevels = 1,
                                .arrayLayers = 1,
                                .samples = VK_SAMPLE_COUNT_1_BIT,
                                .tiling = VK_IMAGE_TILING_LINEAR,
                                .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                                .initialLayout = VK_IMAGE_LAYOUT_PREINITIALIZED};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    const VkImageSubresource which = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
    VkMemoryRequirements requirements;
    void *mapped = NULL;

    CHECK_VK(vkCreateImage(app->device, &create, NULL, &picture->image));
    vkGetImageMemoryRequirements(app->device, picture->image, &requirements);
    picture->allocated = allocate.allocationSize = requirements.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, requirements.memoryTypeBits, kind);
    if (!app_memory_coherent(app, allocate.memoryTypeIndex))
        app_skip(app, "linear images have no coherent memory");
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &picture->memory));
    CHECK_VK(vkBindImageMemory(app->device, picture->image, picture->memory, 0));
    CHECK_VK(vkMapMemory(app->device, picture->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    picture->mapped = mapped;
    vkGetImageSubresourceLayout(app->device, picture->image, &which, &picture->layout);
}

static void host_fills(struct scene *scene, struct picture *picture, uint32_t first, uint32_t end)
{
    for (uint32_t y = first; y < end; y++)
        for (uint32_t x = 0; x < SIZE; x++)
            *texel(picture, x, y) = picture->model[y][x] = app_random(&scene->seed);
}

/* A rectangle out of the buffer, whose rows are wider. */
static void upload_rectangle(struct scene *scene, VkCommandBuffer commands, uint32_t frame)
{
    const uint32_t x = 3 + frame % 5, y = MARGIN + 1, width = 17, height = 6, pitch = 24;
    VkBufferImageCopy region = {.bufferRowLength = pitch,
                                .imageSubresource = color,
                                .imageOffset = {(int32_t)x, (int32_t)y, 0},
                                .imageExtent = {width, height, 1}};
    uint32_t *words = (uint32_t *)(void *)scene->upload.mapped;
    for (uint32_t i = 0; i < pitch * height; i++)
        words[i] = app_random(&scene->seed);
    for (uint32_t row = 0; row < height; row++)
        memcpy(&scene->target.model[y + row][x], words + row * pitch, width * sizeof *words);
    app_buffer_flush(scene->app, &scene->upload, 0, scene->upload.size);
    vkCmdCopyBufferToImage(commands, scene->upload.buffer, scene->target.image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
}

/* Whole rows of the other image. */
static void copy_rows(struct scene *scene, VkCommandBuffer commands)
{
    const uint32_t from = 2, to = 18, rows = 5;
    VkImageCopy region = {.srcSubresource = color,
                          .srcOffset = {0, (int32_t)from, 0},
                          .dstSubresource = color,
                          .dstOffset = {0, (int32_t)to, 0},
                          .extent = {SIZE, rows, 1}};
    memcpy(scene->target.model[to], scene->source.model[from], rows * sizeof scene->target.model[0]);
    vkCmdCopyImage(commands, scene->source.image, VK_IMAGE_LAYOUT_GENERAL, scene->target.image, VK_IMAGE_LAYOUT_GENERAL,
                   1, &region);
}

/* Mirrored, from texels to texels. */
static void blit_mirrored(struct scene *scene, VkCommandBuffer commands)
{
    const uint32_t width = 11, height = 4, y = 25;
    VkImageBlit region = {.srcSubresource = color,
                          .srcOffsets = {{0, 10, 0}, {(int32_t)width, 10 + (int32_t)height, 1}},
                          .dstSubresource = color,
                          .dstOffsets = {{20 + (int32_t)width, (int32_t)y, 0}, {20, (int32_t)(y + height), 1}}};
    for (uint32_t row = 0; row < height; row++)
        for (uint32_t x = 0; x < width; x++)
            scene->target.model[y + row][20 + x] = scene->source.model[10 + row][width - 1 - x];
    vkCmdBlitImage(commands, scene->source.image, VK_IMAGE_LAYOUT_GENERAL, scene->target.image, VK_IMAGE_LAYOUT_GENERAL,
                   1, &region, VK_FILTER_NEAREST);
}

static void run_frame(struct scene *scene, uint32_t frame)
{
    const struct app *app = scene->app;
    struct app_image target = {.image = scene->target.image, .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    struct app_image source = {.image = scene->source.image, .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    VkImageLayout before = scene->fresh ? VK_IMAGE_LAYOUT_PREINITIALIZED : VK_IMAGE_LAYOUT_GENERAL;
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1};
    VkCommandBuffer commands;

    host_fills(scene, &scene->source, frame % HEIGHT, HEIGHT);
    if (scene->fresh)
        host_fills(scene, &scene->target, 0, HEIGHT);
    commands = app_begin(app);
    app_image_barrier(commands, &target, before, VK_IMAGE_LAYOUT_GENERAL);
    app_image_barrier(commands, &source, before, VK_IMAGE_LAYOUT_GENERAL);
    upload_rectangle(scene, commands, frame);
    copy_rows(scene, commands);
    if (scene->blits)
        blit_mirrored(scene, commands);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    scene->fresh = false;
    CHECK_VK(vkEndCommandBuffer(commands));
    submit.pCommandBuffers = &commands;
    CHECK_VK(vkResetFences(app->device, 1, &scene->fence));
    CHECK_VK(vkQueueSubmit(app->queue, 1, &submit, scene->fence));
    /* The device has nothing to do with these rows, nor with this end of the last one. */
    host_fills(scene, &scene->target, 0, MARGIN);
    *texel(&scene->target, SIZE - 1, HEIGHT - 1) = scene->target.model[HEIGHT - 1][SIZE - 1] = frame;
    *texel(&scene->target, 0, MARGIN + 1) = scene->target.model[MARGIN + 1][0] = ~frame;
    CHECK_VK(vkWaitForFences(app->device, 1, &scene->fence, VK_TRUE, UINT64_MAX));
    vkFreeCommandBuffers(app->device, app->pool, 1, &commands);
    for (uint32_t y = 0; y < HEIGHT; y++)
        EXPECT_EQ(app, memcmp(texel(&scene->target, 0, y), scene->target.model[y], sizeof scene->target.model[y]), 0);
}

/* What the host wrote beside the device's rectangles reaches the device. */
static void read_all(struct scene *scene)
{
    const struct app *app = scene->app;
    VkBufferImageCopy region = {.imageSubresource = color, .imageExtent = {SIZE, HEIGHT, 1}};
    struct app_buffer all;
    VkCommandBuffer commands;

    app_buffer_create(app, &all, sizeof scene->target.model, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    commands = app_begin(app);
    vkCmdCopyImageToBuffer(commands, scene->target.image, VK_IMAGE_LAYOUT_GENERAL, all.buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &all, 0, all.size);
    EXPECT_EQ(app, memcmp(all.mapped, scene->target.model, sizeof scene->target.model), 0);
    app_buffer_destroy(app, &all);
}

static void destroy_picture(const struct app *app, struct picture *picture)
{
    vkDestroyImage(app->device, picture->image, NULL);
    vkFreeMemory(app->device, picture->memory, NULL);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "texels",
        .what = "The device and the host write into the same linear images.",
        .frames = 12,
    };
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    struct scene scene = {.fresh = true, .seed = 5};
    struct app app;
    app_init(&app, argc, argv, &program);
    if (!app_format_has(&app, VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_TILING_LINEAR,
                        VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT))
        app_skip(&app, "no images of linear tiling");
    app_device_create(&app, NULL);
    scene.app = &app;
    scene.blits = app_format_has(&app, VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_TILING_LINEAR,
                                 VK_FORMAT_FEATURE_BLIT_SRC_BIT | VK_FORMAT_FEATURE_BLIT_DST_BIT);
    if (!scene.blits)
        printf("left out: blits of linear images\n");
    create_picture(&app, &scene.target, APP_READBACK);
    create_picture(&app, &scene.source, APP_UPLOAD);
    app_buffer_create(&app, &scene.upload, 4096, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    CHECK_VK(vkCreateFence(app.device, &fence, NULL, &scene.fence));
    for (uint32_t frame = 0; frame < app.frames; frame++)
        run_frame(&scene, frame);
    read_all(&scene);
    vkDestroyFence(app.device, scene.fence, NULL);
    app_buffer_destroy(&app, &scene.upload);
    destroy_picture(&app, &scene.source);
    destroy_picture(&app, &scene.target);
    return app_finish(&app);
}
