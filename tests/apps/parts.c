/* SPDX-License-Identifier: MIT */
/*
 * parts: frames of two submits that go on with what earlier frames left on the device: words of a buffer and of an
 * image. With --begin and --end the program asks the layer for a trace of these frames (include/lapilli.h); with
 * --boundary it says where frames end (VK_EXT_frame_boundary). With --early each command buffer is begun before the
 * last one is submitted, and pools are reset as a whole.
 */
#include "common/app.h"
#include "include/lapilli.h"

#define WORDS 64u

struct scene {
    struct app_buffer words, back;
    struct app_image image;
    VkCommandPool pools[2];
    VkCommandBuffer commands[2];
    VkFence fence;
    uint32_t expected[WORDS];
};

static bool boundary, early;
static uint32_t begin_at, end_behind;

static void create(const struct app *app, struct scene *scene)
{
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = app->queue_family};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};
    const VkClearColorValue black = {.uint32 = {0, 0, 0, 0}};
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkCommandBuffer commands;

    app_buffer_create(app, &scene->words, WORDS * 4,
                      VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_DEVICE);
    app_buffer_create(app, &scene->back, WORDS * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_image_create_2d(app, &scene->image, VK_FORMAT_R32_UINT, WORDS / 8, 8,
                        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    CHECK_VK(vkCreateFence(app->device, &fence, NULL, &scene->fence));
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &scene->pools[i]));
        allocate.commandPool = early ? scene->pools[i] : app->pool;
        CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &scene->commands[i]));
    }
    commands = app_begin(app);
    app_image_barrier(commands, &scene->image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdClearColorImage(commands, scene->image.image, VK_IMAGE_LAYOUT_GENERAL, &black, 1, &all);
    vkCmdFillBuffer(commands, scene->words.buffer, 0, VK_WHOLE_SIZE, 0);
    app_run(app, commands);
}

static void barrier(VkCommandBuffer commands)
{
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                       VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT);
}

static void begin(const struct app *app, struct scene *scene, bool second)
{
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};

    if (early)
        CHECK_VK(vkResetCommandPool(app->device, scene->pools[second], 0));
    CHECK_VK(vkBeginCommandBuffer(scene->commands[second], &info));
}

/* The first half changes a word of the image, the second one brings all of it back by the buffer. */
static void record(struct scene *scene, VkCommandBuffer commands, uint32_t frame, bool second)
{
    const VkImageSubresourceLayers layers = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    const uint32_t word = frame % WORDS;
    const VkBufferImageCopy one = {.bufferOffset = word * 4,
                                   .imageSubresource = layers,
                                   .imageOffset = {(int32_t)(word % 8), (int32_t)(word / 8), 0},
                                   .imageExtent = {1, 1, 1}};
    const VkBufferImageCopy all = {.imageSubresource = layers, .imageExtent = {WORDS / 8, 8, 1}};

    barrier(commands);
    if (second) {
        vkCmdCopyImageToBuffer(commands, scene->image.image, VK_IMAGE_LAYOUT_GENERAL, scene->back.buffer, 1, &all);
    } else {
        vkCmdFillBuffer(commands, scene->words.buffer, word * 4, 4, frame + 1);
        barrier(commands);
        vkCmdCopyBufferToImage(commands, scene->words.buffer, scene->image.image, VK_IMAGE_LAYOUT_GENERAL, 1, &one);
        scene->expected[word] = frame + 1;
    }
    barrier(commands);
    CHECK_VK(vkEndCommandBuffer(commands));
}

static void submit(const struct app *app, struct scene *scene, uint32_t frame, bool second)
{
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &scene->commands[second]};
#ifdef VK_EXT_frame_boundary
    const VkFrameBoundaryEXT end = {.sType = VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT,
                                    .flags = second ? VK_FRAME_BOUNDARY_FRAME_END_BIT_EXT : 0,
                                    .frameID = frame};
    if (boundary)
        info.pNext = &end;
#endif
    if (!early || (frame == 0 && !second))
        begin(app, scene, second);
    record(scene, scene->commands[second], frame, second);
    if (early) {
        CHECK_VK(vkQueueWaitIdle(app->queue));
        begin(app, scene, !second);
    }
    CHECK_VK(vkQueueSubmit(app->queue, 1, &info, second ? scene->fence : VK_NULL_HANDLE));
}

static void play_frame(const struct app *app, struct scene *scene, uint32_t frame)
{
    submit(app, scene, frame, false);
    submit(app, scene, frame, true);
    CHECK_VK(vkWaitForFences(app->device, 1, &scene->fence, VK_TRUE, UINT64_MAX));
    CHECK_VK(vkResetFences(app->device, 1, &scene->fence));
    app_buffer_invalidate(app, &scene->back, 0, scene->back.size);
    for (uint32_t i = 0; i < WORDS; i++)
        EXPECT_EQ(app, ((const uint32_t *)scene->back.mapped)[i], scene->expected[i]);
}

static void create_device(struct app *app)
{
    struct app_device_request request = {0};
#ifdef VK_EXT_frame_boundary
    static const char *const extensions[] = {VK_EXT_FRAME_BOUNDARY_EXTENSION_NAME};
    static const VkPhysicalDeviceFrameBoundaryFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT, .frameBoundary = VK_TRUE};
    if (boundary) {
        request = (struct app_device_request){.extensions = extensions, .extension_count = 1, .next = &features};
        if (!app_has_extension(app, extensions[0]))
            app_skip(app, "no VK_EXT_frame_boundary");
    }
#else
    if (boundary)
        app_skip(app, "these headers have no VK_EXT_frame_boundary");
#endif
    app_device_create(app, &request);
}

/* Whether there is a layer that gives the functions, and what they say. */
static void call(const struct app *app, const char *what, const char *name)
{
    const PFN_lapBeginCapture function = (PFN_lapBeginCapture)vkGetDeviceProcAddr(app->device, name);
    printf("%s: %s\n", what, !function ? "not there" : function(app->device) ? "yes" : "no");
}

static const struct app_option options[] = {
    {"--begin", "ask for a trace from this frame on, counted from 1", NULL, &begin_at},
    {"--end", "up to this one", NULL, &end_behind},
    {"--boundary", "say where frames end", &boundary, NULL},
    {"--early", "begin each command buffer before the last one is submitted, and reset pools as a whole", &early, NULL},
    {.name = NULL}};

int main(int argc, char **argv)
{
    static const struct app_program program = {.name = "parts",
                                               .what = "Goes on in each frame with what the last one left.",
                                               .frames = 12,
                                               .options = options};
    struct scene scene = {0};
    struct app app;

    app_init(&app, argc, argv, &program);
    create_device(&app);
    create(&app, &scene);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        if (begin_at == frame + 1)
            call(&app, "lapBeginCapture", LAP_BEGIN_CAPTURE);
        play_frame(&app, &scene, frame);
        if (end_behind == frame + 1)
            call(&app, "lapEndCapture", LAP_END_CAPTURE);
    }
    vkDestroyFence(app.device, scene.fence, NULL);
    for (uint32_t i = 0; i < 2; i++)
        vkDestroyCommandPool(app.device, scene.pools[i], NULL);
    app_buffer_destroy(&app, &scene.words);
    app_buffer_destroy(&app, &scene.back);
    app_image_destroy(&app, &scene.image);
    return app_finish(&app);
}
