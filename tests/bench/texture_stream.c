/* SPDX-License-Identifier: MIT */
/*
 * texture_stream: a walk through a world of more textures than there are images for. Each frame some that have come
 * near are written, with their mip levels, into a part of a mapped buffer and copied from there into images; some of
 * them were there before and come back.
 */
#include "common/bench.h"

#define IN_FLIGHT 3u /* parts of the buffer that are used in turn */
#define RESIDENT  24u
#define NEAR      16u /* textures around the place where the walk is */
#define LEVELS    16u /* at most */

static uint32_t textures = 96, edge = 256, uploads = 4;

struct scene {
    struct app_buffer upload;
    struct app_image images[RESIDENT];
    uint8_t *world; /* all textures with their levels, as they would lie in a file */
    uint32_t levels;
    VkDeviceSize texture_bytes;
    VkBufferImageCopy regions[LEVELS];
    VkCommandPool pools[IN_FLIGHT];
    VkCommandBuffer commands[IN_FLIGHT];
    VkFence fences[IN_FLIGHT];
    uint64_t seed;
};

static void describe_levels(struct scene *scene)
{
    for (uint32_t size = edge; size && scene->levels < LEVELS; size /= 2, scene->levels++) {
        VkBufferImageCopy *region = &scene->regions[scene->levels];
        *region = (VkBufferImageCopy){.bufferOffset = scene->texture_bytes, .imageExtent = {size, size, 1}};
        region->imageSubresource = (VkImageSubresourceLayers){VK_IMAGE_ASPECT_COLOR_BIT, scene->levels, 0, 1};
        scene->texture_bytes += (VkDeviceSize)size * size * 4;
    }
    scene->texture_bytes = (scene->texture_bytes + 255) & ~(VkDeviceSize)255;
}

/* Half of what a texture is made of can't be compressed. */
static void paint_world(struct scene *scene)
{
    scene->world = malloc(scene->texture_bytes * textures);
    CHECK(scene->world);
    bench_fill_random(scene->world, scene->texture_bytes * textures, &scene->seed);
    uint32_t *texels = (uint32_t *)(void *)scene->world;
    for (VkDeviceSize i = 0; i < scene->texture_bytes * textures / 4; i++)
        texels[i] = (texels[i] & 0xf0f0f0f) | (uint32_t)(i / 64 % 13) << 4;
}

static void create(const struct app *app, struct scene *scene)
{
    describe_levels(scene);
    paint_world(scene);
    app_buffer_create(app, &scene->upload, scene->texture_bytes * uploads * IN_FLIGHT, VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                      APP_UPLOAD);
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
    info.imageType = VK_IMAGE_TYPE_2D;
    info.format = VK_FORMAT_R8G8B8A8_UNORM;
    info.extent = (VkExtent3D){edge, edge, 1};
    info.mipLevels = scene->levels;
    info.arrayLayers = 1;
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    for (uint32_t i = 0; i < RESIDENT; i++)
        app_image_create(app, &scene->images[i], &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_2D);
    for (uint32_t i = 0; i < IN_FLIGHT; i++) {
        VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
        pool.queueFamilyIndex = app->queue_family;
        CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &scene->pools[i]));
        VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
        allocate.commandPool = scene->pools[i];
        allocate.commandBufferCount = 1;
        CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &scene->commands[i]));
        scene->fences[i] = bench_fence_create(app);
    }
}

static void destroy(const struct app *app, struct scene *scene)
{
    for (uint32_t i = 0; i < IN_FLIGHT; i++) {
        vkDestroyFence(app->device, scene->fences[i], NULL);
        vkDestroyCommandPool(app->device, scene->pools[i], NULL);
    }
    for (uint32_t i = 0; i < RESIDENT; i++)
        app_image_destroy(app, &scene->images[i]);
    app_buffer_destroy(app, &scene->upload);
    free(scene->world);
}

static void copy_texture(const struct scene *scene, VkCommandBuffer commands, VkDeviceSize at,
                         const struct app_image *image)
{
    VkBufferImageCopy regions[LEVELS];
    for (uint32_t i = 0; i < scene->levels; i++) {
        regions[i] = scene->regions[i];
        regions[i].bufferOffset += at;
    }
    app_image_barrier(commands, image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdCopyBufferToImage(commands, scene->upload.buffer, image->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                           scene->levels, regions);
    app_image_barrier(commands, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
}

/* There and back: the second half of the walk sees what the first has seen. */
static uint32_t place_at(uint32_t frame, uint32_t frames)
{
    uint32_t step = frame < frames / 2 ? frame : frames - frame;
    return step * 2;
}

static void stream(struct bench *bench, struct scene *scene)
{
    const struct app *app = bench->app;
    uint32_t part = bench->frame % IN_FLIGHT, place = place_at(bench->frame, bench_frames(bench));
    VkDeviceSize part_bytes = scene->texture_bytes * uploads;
    VkCommandBuffer commands = scene->commands[part];
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    CHECK_VK(vkResetCommandPool(app->device, scene->pools[part], 0));
    CHECK_VK(vkBeginCommandBuffer(commands, &begin));
    uint64_t start = bench_now();
    for (uint32_t i = 0; i < uploads; i++) {
        uint32_t texture = (uint32_t)(place + bench_random_below(&scene->seed, NEAR)) % textures;
        VkDeviceSize at = part * part_bytes + i * scene->texture_bytes;
        memcpy(scene->upload.mapped + at, scene->world + texture * scene->texture_bytes, scene->texture_bytes);
        copy_texture(scene, commands, at, &scene->images[bench_random_below(&scene->seed, RESIDENT)]);
    }
    app_buffer_flush(app, &scene->upload, part * part_bytes, part_bytes);
    bench_sample(bench, "write", bench_now() - start);
    bench_add(bench, "written_bytes", part_bytes);
    CHECK_VK(vkEndCommandBuffer(commands));
    bench_submit_wait(bench, commands, scene->fences[part]);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {{"--textures", "in the world", NULL, &textures},
                                                {"--edge", "of a texture, in texels", NULL, &edge},
                                                {"--uploads", "textures that are uploaded in a frame", NULL, &uploads},
                                                {0}};
    static const struct app_program program = {
        .name = "texture_stream", .what = "Textures come and go.", .frames = 120, .options = options};
    struct app app;
    struct scene scene = {.seed = 88172645463325252u};
    struct bench bench = {.app = &app};

    app_init(&app, argc, argv, &program);
    CHECK(textures && edge && edge < 1u << LEVELS && uploads);
    app_device_create(&app, NULL);
    create(&app, &scene);
    while (bench.frame < bench_frames(&bench)) {
        bench_frame_begin(&bench);
        stream(&bench, &scene);
        bench_frame_end(&bench);
    }
    bench_print(&bench);
    destroy(&app, &scene);
    return app_finish(&app);
}
