/* SPDX-License-Identifier: MIT */
/* The virtual swapchain: images, acquiring, presenting, checks and screenshots; and a window where a display answers.
 */
#include "replayer/present/swapchain.h"

#include <png.h>
#include <stdlib.h>
#include <unistd.h>

#include "replayer/present/window.h"
#include "replayer/present/window_internal.h"
#include "replayer/present/window_system.h"
#include "replayer/submit/acquired_images.h"
#include "replayer/verify/verify.h"
#include "tests/unit/replay_device.h"
#include "vulkan/texel/pixels.h"

#define WIDTH   32u
#define HEIGHT  16u
#define SURFACE 1

struct scene {
    struct unit_replay u;
    VkSwapchainKHR swapchain; /* live */
    VkImage images[3];
    VkSemaphore acquired, drawn;
    VkCommandPool pool;
    VkCommandBuffer commands;
};

static enum lap_status create_swapchain(struct scene *s, uint64_t index, VkExtent2D extent, VkFormat format)
{
    VkSwapchainCreateInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
        .surface = gen_VkSurfaceKHR(SURFACE),
        .minImageCount = 2,
        .imageFormat = format,
        .imageExtent = extent,
        .imageArrayLayers = 1,
        .imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
    };
    VkSwapchainKHR swapchain = gen_VkSwapchainKHR(index);
    struct gen_args_vkCreateSwapchainKHR args = {
        .device = s->u.dev.live, .pCreateInfo = &info, .pSwapchain = &swapchain};
    enum lap_status status = replay_CreateSwapchainKHR(&s->u.r, &s->u.dev, &args);
    if (status == LAP_OK)
        s->swapchain = gen_VkSwapchainKHR(replay_object_get(&s->u.r, GEN_HANDLE_VkSwapchainKHR, index)->live);
    return status;
}

static enum lap_status get_images(struct scene *s, uint32_t count, uint64_t first_index)
{
    VkImage images[3] = {gen_VkImage(first_index), gen_VkImage(first_index + 1), gen_VkImage(first_index + 2)};
    struct gen_args_vkGetSwapchainImagesKHR args = {
        .swapchain = s->swapchain, .pSwapchainImageCount = &count, .pSwapchainImages = images};
    enum lap_status status = replay_GetSwapchainImagesKHR(&s->u.r, &s->u.dev, &args);
    for (uint32_t i = 0; status == LAP_OK && i < count; i++)
        s->images[i] = gen_VkImage(replay_object_get(&s->u.r, GEN_HANDLE_VkImage, first_index + i)->live);
    return status;
}

/* False where there is nothing to test with. */
static bool scene_init(struct scene *s, const struct replay_options *options)
{
    VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};

    memset(s, 0, sizeof *s);
    if (!unit_replay_init(&s->u, options))
        return false;
    if (!s->u.dev.present.enabled) {
        unit_replay_finish(&s->u);
        return false;
    }
    CHECK_EQ_INT(replay_check_create(&s->u.r), LAP_OK);
    CHECK_EQ_INT(replay_create_surface(&s->u.r, &s->u.instance, SURFACE), LAP_OK);
    if (create_swapchain(s, 1, (VkExtent2D){WIDTH, HEIGHT}, VK_FORMAT_B8G8R8A8_UNORM) != LAP_OK) {
        UNIT_FAIL("%s", lap_error_message()); /* without images, waits on them would never end */
        unit_replay_finish(&s->u);
        return false;
    }
    CHECK_EQ_INT(get_images(s, 3, 10), LAP_OK);
    CHECK_EQ_INT(s->u.dev.vk.CreateSemaphore(s->u.dev.live, &semaphore, NULL, &s->acquired), VK_SUCCESS);
    CHECK_EQ_INT(s->u.dev.vk.CreateSemaphore(s->u.dev.live, &semaphore, NULL, &s->drawn), VK_SUCCESS);
    pool.queueFamilyIndex = s->u.gpu.family;
    CHECK_EQ_INT(s->u.dev.vk.CreateCommandPool(s->u.dev.live, &pool, NULL, &s->pool), VK_SUCCESS);
    allocate.commandPool = s->pool;
    CHECK_EQ_INT(s->u.dev.vk.AllocateCommandBuffers(s->u.dev.live, &allocate, &s->commands), VK_SUCCESS);
    return true;
}

static void scene_finish(struct scene *s)
{
    s->u.dev.vk.DeviceWaitIdle(s->u.dev.live);
    s->u.dev.vk.DestroyCommandPool(s->u.dev.live, s->pool, NULL);
    s->u.dev.vk.DestroySemaphore(s->u.dev.live, s->acquired, NULL);
    s->u.dev.vk.DestroySemaphore(s->u.dev.live, s->drawn, NULL);
    replay_objects_destroy_left(&s->u.r, &s->u.dev);
    CHECK_EQ_INT(replay_destroy_surface(&s->u.r, &s->u.instance, SURFACE), LAP_OK);
    replay_check_destroy(&s->u.r);
    replay_acquired_images_finish(&s->u.dev);
    unit_replay_finish(&s->u);
}

/* Acquires, clears to a grey of `level` / 255 and gives what vkQueuePresentKHR gets. */
static void draw(struct scene *s, uint32_t image, uint8_t level)
{
    struct gen_args_vkAcquireNextImageKHR acquire = {
        .swapchain = s->swapchain, .semaphore = s->acquired, .pImageIndex = &image};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkClearColorValue color = {.float32 = {level / 255.0f, level / 255.0f, level / 255.0f, 1}};
    VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .waitSemaphoreCount = 1,
                           .pWaitSemaphores = &s->acquired,
                           .pWaitDstStageMask = &stage,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &s->commands,
                           .signalSemaphoreCount = 1,
                           .pSignalSemaphores = &s->drawn};
    struct gen_args_vkQueueSubmit args = {.queue = s->u.gpu.queue, .submitCount = 1, .pSubmits = &submit};

    CHECK_EQ_INT(replay_AcquireNextImageKHR(&s->u.r, &s->u.dev, &acquire), LAP_OK);
    s->u.dev.vk.QueueWaitIdle(s->u.gpu.queue); /* for the one command buffer */
    CHECK_EQ_INT(s->u.dev.vk.BeginCommandBuffer(s->commands, &begin), VK_SUCCESS);
    unit_change_layout(s->u.dev.vk.CmdPipelineBarrier, s->commands, s->images[image], VK_IMAGE_LAYOUT_UNDEFINED,
                       VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    s->u.dev.vk.CmdClearColorImage(s->commands, s->images[image], VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &color, 1,
                                   &range);
    unit_change_layout(s->u.dev.vk.CmdPipelineBarrier, s->commands, s->images[image],
                       VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
    CHECK_EQ_INT(s->u.dev.vk.EndCommandBuffer(s->commands), VK_SUCCESS);
    CHECK_EQ_INT(replay_acquired_images_before(&s->u.r, &s->u.dev, GEN_vkQueueSubmit, &args, 0, 1), LAP_OK);
    CHECK_EQ_INT(s->u.dev.vk.QueueSubmit(s->u.gpu.queue, 1, &submit, VK_NULL_HANDLE), VK_SUCCESS);
}

static enum lap_status present(struct scene *s, uint32_t image)
{
    VkPresentInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                             .waitSemaphoreCount = 1,
                             .pWaitSemaphores = &s->drawn,
                             .swapchainCount = 1,
                             .pSwapchains = &s->swapchain,
                             .pImageIndices = &image};
    struct gen_args_vkQueuePresentKHR args = {.queue = s->u.gpu.queue, .pPresentInfo = &info};
    enum lap_status status = replay_QueuePresentKHR(&s->u.r, &s->u.dev, &args);

    s->u.r.at.packet.frame++; /* as in a trace */
    return status;
}

/* What capture --verify would have recorded for an image that draw() made. */
static void expect(struct scene *s, uint32_t image, uint8_t level, uint32_t width)
{
    uint8_t pixels[WIDTH * HEIGHT * 4];
    struct gen_args_lapilliCheckPresent args = {.swapchain = s->swapchain,
                                                .imageIndex = image,
                                                .format = VK_FORMAT_B8G8R8A8_UNORM,
                                                .width = width,
                                                .height = HEIGHT};
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = i % 4 == 3 ? 255 : level;
    lap_pixels_hash(pixels, sizeof pixels, &args.hashLow, &args.hashHigh);
    CHECK_EQ_INT(replay_lapilliCheckPresent(&s->u.r, &s->u.dev, &args), LAP_OK);
}

static bool grey_picture(const char *folder, const char *name, uint8_t level)
{
    uint8_t read[WIDTH * HEIGHT * 3];
    png_image image = {.version = PNG_IMAGE_VERSION};
    bool good = true;
    char path[512];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!png_image_begin_read_from_file(&image, path) || image.width != WIDTH || image.height != HEIGHT)
        return false;
    image.format = PNG_FORMAT_RGB;
    good = png_image_finish_read(&image, NULL, read, 0, NULL);
    for (size_t i = 0; good && i < sizeof read; i++)
        good = read[i] == level;
    unlink(path);
    return good;
}

UNIT_TEST(presents_are_checked_and_pictured)
{
    char folder[] = "/tmp/test_swapchain.XXXXXX";
    struct lap_frame_range ranges[] = {{2, 2}, {5, 9}};
    struct replay_options options = {.verify = true,
                                     .present = REPLAY_PRESENT_HEADLESS,
                                     .screenshots = {ranges, 2},
                                     .screenshot_dir = folder,
                                     .mismatch_dir = folder};
    struct replay_check_summary summary;
    struct scene s;
    char path[512];

    CHECK(mkdtemp(folder) != NULL);
    if (!scene_init(&s, &options)) {
        rmdir(folder);
        SKIP("no Vulkan driver with swapchains");
    }
    for (uint32_t frame = 1; frame <= 6; frame++) {
        draw(&s, frame % 3, (uint8_t)(frame * 10));
        if (frame != 3)
            expect(&s, frame % 3, (uint8_t)(frame == 4 ? 99 : frame * 10), frame == 6 ? WIDTH + 1 : WIDTH);
        if (frame == 4)
            s.u.log.fd = -1;
        CHECK_EQ_INT(present(&s, frame % 3), LAP_OK);
    }
    summary = replay_check_summary(&s.u.r);
    CHECK_EQ_U64(s.u.r.summary.frames, 6);
    CHECK_EQ_U64(summary.checks, 4);
    CHECK_EQ_U64(summary.different, 1);
    CHECK_EQ_U64(summary.first_frame, 4);
    CHECK_EQ_U64(summary.skipped, 1); /* the last check speaks of another size */
    CHECK(grey_picture(folder, "frame_2.png", 20));
    CHECK(grey_picture(folder, "frame_5.png", 50));
    CHECK(grey_picture(folder, "frame_6.png", 60));
    CHECK(grey_picture(folder, "mismatch_frame_4.png", 40));
    snprintf(path, sizeof path, "%s/frame_1.png", folder);
    CHECK(access(path, F_OK) != 0);
    CHECK(rmdir(folder) == 0); /* nothing else was written */
    scene_finish(&s);
}

/* Each thread of a program may present to a window of its own; the checks of both may come before either present. */
UNIT_TEST(a_check_waits_for_its_own_present)
{
    struct replay_options options = {.verify = true, .present = REPLAY_PRESENT_OFF};
    struct replay_check_summary summary;
    struct scene s;

    if (!scene_init(&s, &options))
        SKIP("no Vulkan driver with swapchains");
    draw(&s, 0, 10);
    expect(&s, 0, 10, WIDTH);
    expect(&s, 1, 99, WIDTH); /* it will show something else */
    expect(&s, 2, 30, WIDTH); /* it will not be presented */
    CHECK_EQ_INT(present(&s, 0), LAP_OK);
    draw(&s, 1, 20);
    s.u.log.fd = -1;
    CHECK_EQ_INT(present(&s, 1), LAP_OK);
    summary = replay_check_summary(&s.u.r);
    CHECK_EQ_U64(summary.checks, 2);
    CHECK_EQ_U64(summary.different, 1);
    CHECK_EQ_U64(summary.first_frame, 2);
    CHECK_EQ_U64(summary.skipped, 1);
    scene_finish(&s);
}

UNIT_TEST(images_belong_to_their_swapchain)
{
    struct replay_options options = {.present = REPLAY_PRESENT_OFF};
    struct gen_args_vkDestroySwapchainKHR destroy;
    struct scene s;
    VkImage first;

    if (!scene_init(&s, &options))
        SKIP("no Vulkan driver with swapchains");
    first = s.images[0];
    CHECK_EQ_INT(get_images(&s, 2, 10), LAP_OK); /* asked again */
    CHECK(s.images[0] == first);
    CHECK_EQ_INT(get_images(&s, 2, 20), LAP_OK); /* the driver's answer got other indices: the same images */
    CHECK(s.images[0] == first);
    CHECK(replay_object_get(&s.u.r, GEN_HANDLE_VkImage, 10)->parent == 1);
    for (int i = 0; i < 4; i++) { /* without verify and screenshots nothing is read back */
        draw(&s, 1, 1);
        CHECK_EQ_INT(present(&s, 1), LAP_OK);
    }
    destroy = (struct gen_args_vkDestroySwapchainKHR){.swapchain = s.swapchain};
    CHECK_EQ_INT(replay_DestroySwapchainKHR(&s.u.r, &s.u.dev, &destroy), LAP_OK);
    CHECK(replay_object_get(&s.u.r, GEN_HANDLE_VkImage, 10) == NULL);
    CHECK(replay_object_get(&s.u.r, GEN_HANDLE_VkImage, 21) == NULL);
    CHECK(replay_object_get(&s.u.r, GEN_HANDLE_VkSwapchainKHR, 1) == NULL);
    CHECK_EQ_INT(replay_DestroySwapchainKHR(&s.u.r, &s.u.dev, &destroy), LAP_OK);
    CHECK_EQ_U64(replay_memory_stats(&s.u.dev).used_bytes, 0);
    scene_finish(&s);
}

UNIT_TEST(an_image_can_be_bound_to_a_swapchain)
{
    struct replay_options options = {.present = REPLAY_PRESENT_OFF};
    VkImageSwapchainCreateInfoKHR chain = {.sType = VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR};
    VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .pNext = &chain,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = VK_FORMAT_B8G8R8A8_UNORM,
        .extent = {WIDTH, HEIGHT, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
    };
    VkImage image = gen_VkImage(30);
    struct gen_args_vkCreateImage create = {.pCreateInfo = &info, .pImage = &image};
    struct gen_args_lapilliBindImage bind = {.swapchainImageIndex = 2};
    struct scene s;

    if (!scene_init(&s, &options))
        SKIP("no Vulkan driver with swapchains");
    bind.swapchain = chain.swapchain = s.swapchain;
    CHECK_EQ_INT(replay_CreateImage(&s.u.r, &s.u.dev, &create), LAP_OK);
    bind.image = gen_VkImage(replay_object_get(&s.u.r, GEN_HANDLE_VkImage, 30)->live);
    CHECK(bind.image != s.images[2]);
    CHECK_EQ_INT(replay_lapilliBindImage(&s.u.r, &s.u.dev, &bind), LAP_OK);
    CHECK_EQ_U64(replay_object_get(&s.u.r, GEN_HANDLE_VkImage, 30)->live, gen_u64_VkImage(s.images[2]));
    draw(&s, 2, 7);
    CHECK_EQ_INT(present(&s, 2), LAP_OK);
    s.u.r.objects.tables[GEN_HANDLE_VkImage].live.last = 30; /* as decoding does: two objects have this handle */
    CHECK_EQ_INT(gen_destroy_object(&s.u.r, &s.u.dev, GEN_HANDLE_VkImage, gen_u64_VkImage(s.images[2])), LAP_OK);
    CHECK(replay_object_get(&s.u.r, GEN_HANDLE_VkImage, 30) == NULL);
    CHECK(replay_object_get(&s.u.r, GEN_HANDLE_VkImage, 12) != NULL);
    draw(&s, 2, 8);
    CHECK_EQ_INT(present(&s, 2), LAP_OK);
    scene_finish(&s);
}

UNIT_TEST(wrong_packets_about_swapchains_are_errors)
{
    struct replay_options options = {.present = REPLAY_PRESENT_HEADLESS};
    uint32_t image = REPLAY_MAX_SWAPCHAIN_IMAGES;
    struct gen_args_vkAcquireNextImageKHR acquire = {.pImageIndex = &image};
    struct gen_args_vkQueuePresentKHR args = {0};
    VkPresentInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR, .swapchainCount = 1};
    struct scene s;

    if (!scene_init(&s, &options))
        SKIP("no Vulkan driver with swapchains");
    CHECK_EQ_INT(create_swapchain(&s, 2, (VkExtent2D){0, 4}, VK_FORMAT_B8G8R8A8_UNORM), LAP_ERROR_UNSUPPORTED);
    CHECK_EQ_INT(create_swapchain(&s, 2, (VkExtent2D){1 << 30, 4}, VK_FORMAT_B8G8R8A8_UNORM), LAP_ERROR_UNSUPPORTED);
    CHECK_EQ_INT(create_swapchain(&s, 2, (VkExtent2D){4, 4}, VK_FORMAT_D32_SFLOAT), LAP_ERROR_UNSUPPORTED);
    CHECK_EQ_INT(create_swapchain(&s, 1, (VkExtent2D){4, 4}, VK_FORMAT_B8G8R8A8_UNORM), LAP_ERROR_REPLAY); /* alive */
    acquire.swapchain = s.swapchain;
    CHECK_EQ_INT(replay_AcquireNextImageKHR(&s.u.r, &s.u.dev, &acquire), LAP_ERROR_REPLAY);
    acquire.result = VK_ERROR_OUT_OF_DATE_KHR; /* the program got nothing */
    CHECK_EQ_INT(replay_AcquireNextImageKHR(&s.u.r, &s.u.dev, &acquire), LAP_OK);
    acquire.result = VK_SUCCESS;
    acquire.pImageIndex = NULL;
    CHECK_EQ_INT(replay_AcquireNextImageKHR(&s.u.r, &s.u.dev, &acquire), LAP_ERROR_INVALID);
    acquire.swapchain = VK_NULL_HANDLE;
    CHECK_EQ_INT(replay_AcquireNextImageKHR(&s.u.r, &s.u.dev, &acquire), LAP_ERROR_REPLAY);
    args.pPresentInfo = &info;
    CHECK_EQ_INT(replay_QueuePresentKHR(&s.u.r, &s.u.dev, &args), LAP_ERROR_REPLAY); /* no such queue */
    args.queue = s.u.gpu.queue;
    CHECK_EQ_INT(replay_QueuePresentKHR(&s.u.r, &s.u.dev, &args), LAP_ERROR_INVALID); /* no arrays */
    info.pSwapchains = &s.swapchain;
    info.pImageIndices = &image;
    CHECK_EQ_INT(replay_QueuePresentKHR(&s.u.r, &s.u.dev, &args), LAP_ERROR_REPLAY);
    image = 63; /* not made */
    CHECK_EQ_INT(replay_QueuePresentKHR(&s.u.r, &s.u.dev, &args), LAP_ERROR_REPLAY);
    scene_finish(&s);
}

/* VK_EXT_swapchain_maintenance1, whatever the driver has. */
UNIT_TEST(presents_signal_their_fences_and_change_modes)
{
    struct replay_options options = {.present = REPLAY_PRESENT_OFF};
    VkFenceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkPresentModeKHR mode = VK_PRESENT_MODE_MAILBOX_KHR;
    VkSwapchainPresentModeInfoEXT modes = {
        .sType = VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_MODE_INFO_EXT, .swapchainCount = 1, .pPresentModes = &mode};
    VkSwapchainPresentFenceInfoEXT fences = {
        .sType = VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_FENCE_INFO_EXT, .pNext = &modes, .swapchainCount = 1};
    struct scene s;
    VkFence fence;

    if (!scene_init(&s, &options))
        SKIP("no Vulkan driver with swapchains");
    CHECK_EQ_INT(s.u.dev.vk.CreateFence(s.u.dev.live, &create, NULL, &fence), VK_SUCCESS);
    fences.pFences = &fence;
    {
        uint32_t image = 0;
        VkPresentInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                                 .pNext = &fences,
                                 .waitSemaphoreCount = 1,
                                 .pWaitSemaphores = &s.drawn,
                                 .swapchainCount = 1,
                                 .pSwapchains = &s.swapchain,
                                 .pImageIndices = &image};
        struct gen_args_vkQueuePresentKHR args = {.queue = s.u.gpu.queue, .pPresentInfo = &info};
        draw(&s, 0, 10);
        CHECK_EQ_INT(s.u.dev.vk.GetFenceStatus(s.u.dev.live, fence), VK_NOT_READY);
        CHECK_EQ_INT(replay_QueuePresentKHR(&s.u.r, &s.u.dev, &args), LAP_OK);
    }
    CHECK_EQ_INT(s.u.dev.vk.WaitForFences(s.u.dev.live, 1, &fence, VK_TRUE, 5000000000u), VK_SUCCESS);
    CHECK_EQ_INT(replay_swapchain_of(&s.u.r, s.swapchain)->mode, mode);
    s.u.dev.vk.DestroyFence(s.u.dev.live, fence, NULL);
    scene_finish(&s);
}

static bool display_answers(void)
{
    struct replay_display *display = replay_window_xcb.connect();
    bool answers = display != NULL;

    replay_window_xcb.disconnect(&display);
    return answers;
}

UNIT_TEST(images_are_shown_in_a_window)
{
    struct replay_options options = {.present = REPLAY_PRESENT_WINDOW, .file = "some/trace.lapilli", .verify = true};
    struct gen_args_vkDestroySwapchainKHR destroy;
    struct scene s;

    if (!display_answers())
        SKIP("no display");
    if (!scene_init(&s, &options))
        SKIP("no Vulkan driver with swapchains");
    CHECK(replay_window_possible(&s.u.r, &s.u.dev));
    for (uint32_t frame = 1; frame <= 8; frame++) {
        draw(&s, frame % 3, (uint8_t)(frame * 10));
        if (frame % 2)
            expect(&s, frame % 3, (uint8_t)(frame * 10), WIDTH);
        CHECK_EQ_INT(present(&s, frame % 3), LAP_OK);
    }
    /* The program resizes: another swapchain of the same surface, then the old one ends. */
    destroy = (struct gen_args_vkDestroySwapchainKHR){.swapchain = s.swapchain};
    CHECK_EQ_INT(create_swapchain(&s, 2, (VkExtent2D){WIDTH * 3, HEIGHT * 5}, VK_FORMAT_R8G8B8A8_UNORM), LAP_OK);
    CHECK_EQ_INT(get_images(&s, 3, 40), LAP_OK);
    CHECK_EQ_INT(replay_DestroySwapchainKHR(&s.u.r, &s.u.dev, &destroy), LAP_OK);
    for (uint32_t frame = 1; frame <= 8; frame++) {
        draw(&s, frame % 3, (uint8_t)(frame * 10));
        CHECK_EQ_INT(present(&s, frame % 3), LAP_OK);
    }
    /* All swapchains go, and a new one comes: the window stays. */
    destroy.swapchain = s.swapchain;
    CHECK_EQ_INT(replay_DestroySwapchainKHR(&s.u.r, &s.u.dev, &destroy), LAP_OK);
    CHECK_EQ_INT(create_swapchain(&s, 3, (VkExtent2D){WIDTH, HEIGHT}, VK_FORMAT_B8G8R8A8_UNORM), LAP_OK);
    CHECK_EQ_INT(get_images(&s, 3, 50), LAP_OK);
    draw(&s, 0, 10);
    CHECK_EQ_INT(present(&s, 0), LAP_OK);
    /* Its successor's images are of an sRGB format, and so are the window's then. */
    destroy.swapchain = s.swapchain;
    CHECK_EQ_INT(create_swapchain(&s, 4, (VkExtent2D){WIDTH, HEIGHT}, VK_FORMAT_B8G8R8A8_SRGB), LAP_OK);
    CHECK_EQ_INT(get_images(&s, 3, 60), LAP_OK);
    CHECK_EQ_INT(replay_DestroySwapchainKHR(&s.u.r, &s.u.dev, &destroy), LAP_OK);
    draw(&s, 0, 10);
    CHECK_EQ_INT(present(&s, 0), LAP_OK);
    CHECK(replay_swapchain_of(&s.u.r, s.swapchain)->window->linear);
    CHECK_EQ_U64(replay_check_summary(&s.u.r).checks, 4);
    CHECK_EQ_U64(replay_check_summary(&s.u.r).different, 0);
    scene_finish(&s);
}

UNIT_TEST(a_window_has_the_encoding_of_what_it_shows)
{
    const VkSurfaceFormatKHR formats[] = {
        {VK_FORMAT_R16G16B16A16_SFLOAT, 0}, {VK_FORMAT_R8G8B8A8_SRGB, 0}, {VK_FORMAT_B8G8R8A8_UNORM, 0}};

    CHECK_EQ_INT(replay_window_choose_format(formats, 3, true).format, VK_FORMAT_R8G8B8A8_SRGB);
    CHECK_EQ_INT(replay_window_choose_format(formats, 3, false).format, VK_FORMAT_B8G8R8A8_UNORM);
    CHECK_EQ_INT(replay_window_choose_format(formats, 2, false).format, VK_FORMAT_R8G8B8A8_SRGB);
    CHECK_EQ_INT(replay_window_choose_format(formats, 1, true).format, VK_FORMAT_R16G16B16A16_SFLOAT);
    CHECK(lap_pixels_are_linear(VK_FORMAT_B8G8R8A8_SRGB) && lap_pixels_are_linear(VK_FORMAT_R16G16B16A16_SFLOAT));
    CHECK(!lap_pixels_are_linear(VK_FORMAT_B8G8R8A8_UNORM) &&
          !lap_pixels_are_linear(VK_FORMAT_A2B10G10R10_UNORM_PACK32));
}

/* What a driver may answer about a window, one after the other. */
static PFN_vkAcquireNextImageKHR real_acquire;
static PFN_vkQueuePresentKHR real_present;
static PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR real_caps;
static VkResult acquire_result, present_result;
static bool no_area;
static uint32_t acquired, presented;

static VKAPI_ATTR VkResult VKAPI_CALL odd_acquire(VkDevice device, VkSwapchainKHR swapchain, uint64_t timeout,
                                                  VkSemaphore semaphore, VkFence fence, uint32_t *image)
{
    if (acquire_result != VK_SUCCESS && acquire_result != VK_SUBOPTIMAL_KHR)
        return acquire_result;
    acquired++;
    return real_acquire(device, swapchain, timeout, semaphore, fence, image) < 0 ? VK_ERROR_UNKNOWN : acquire_result;
}

static VKAPI_ATTR VkResult VKAPI_CALL odd_present(VkQueue queue, const VkPresentInfoKHR *info)
{
    VkResult result = real_present(queue, info);
    presented++;
    return result < 0 ? result : present_result;
}

static VKAPI_ATTR VkResult VKAPI_CALL odd_caps(VkPhysicalDevice gpu, VkSurfaceKHR surface,
                                               VkSurfaceCapabilitiesKHR *caps)
{
    VkResult result = real_caps(gpu, surface, caps);
    if (no_area)
        caps->currentExtent = caps->maxImageExtent = (VkExtent2D){0, 0};
    return result;
}

UNIT_TEST(what_a_window_answers_never_stops_the_replay)
{
    static const struct {
        VkResult acquire, present;
        bool no_area, shown;
    } answers[] = {
        {VK_SUCCESS, VK_SUCCESS, false, true},
        {VK_SUBOPTIMAL_KHR, VK_SUBOPTIMAL_KHR, false, true},
        {VK_SUCCESS, VK_ERROR_OUT_OF_DATE_KHR, false, true},
        {VK_TIMEOUT, VK_SUCCESS, false, false},
        {VK_NOT_READY, VK_SUCCESS, false, false},
        {VK_ERROR_OUT_OF_DATE_KHR, VK_SUCCESS, false, false},
        {VK_SUCCESS, VK_SUCCESS, true, false},
        {VK_SUCCESS, VK_SUCCESS, false, true},
    };
    struct replay_options options = {.present = REPLAY_PRESENT_WINDOW, .file = "odd", .verify = true};
    struct scene s;

    if (!display_answers())
        SKIP("no display");
    if (!scene_init(&s, &options))
        SKIP("no Vulkan driver with swapchains");
    real_acquire = s.u.dev.vk.AcquireNextImageKHR;
    real_present = s.u.dev.vk.QueuePresentKHR;
    real_caps = s.u.instance.vk.GetPhysicalDeviceSurfaceCapabilitiesKHR;
    s.u.dev.vk.AcquireNextImageKHR = odd_acquire;
    s.u.dev.vk.QueuePresentKHR = odd_present;
    s.u.instance.vk.GetPhysicalDeviceSurfaceCapabilitiesKHR = odd_caps;
    for (uint32_t i = 0; i < 2 * sizeof answers / sizeof answers[0]; i++) {
        uint32_t at = i / 2;
        acquire_result = answers[at].acquire;
        present_result = answers[at].present;
        no_area = answers[at].no_area;
        acquired = presented = 0;
        draw(&s, i % 3, (uint8_t)(i * 10));
        expect(&s, i % 3, (uint8_t)(i * 10), WIDTH);
        CHECK_EQ_INT(present(&s, i % 3), LAP_OK);
        CHECK_EQ_INT(acquired, answers[at].shown);
        CHECK_EQ_INT(presented, answers[at].shown);
    }
    no_area = false;
    present_result = VK_SUCCESS;
    acquire_result = VK_ERROR_SURFACE_LOST_KHR;
    draw(&s, 0, 10);
    CHECK_EQ_INT(present(&s, 0), LAP_ERROR_REPLAY);
    CHECK(strstr(lap_error_message(), "VK_ERROR_SURFACE_LOST_KHR") != NULL);
    CHECK_EQ_U64(replay_check_summary(&s.u.r).different, 0);
    scene_finish(&s);
}

/* The window with this title, or 0. */
static xcb_window_t find_window(xcb_connection_t *connection, const char *title)
{
    xcb_window_t root = xcb_setup_roots_iterator(xcb_get_setup(connection)).data->root, found = 0;
    xcb_query_tree_reply_t *tree = xcb_query_tree_reply(connection, xcb_query_tree(connection, root), NULL);

    for (int i = 0; tree && i < xcb_query_tree_children_length(tree) && !found; i++) {
        xcb_window_t window = xcb_query_tree_children(tree)[i];
        xcb_get_property_reply_t *name = xcb_get_property_reply(
            connection, xcb_get_property(connection, 0, window, XCB_ATOM_WM_NAME, XCB_ATOM_STRING, 0, 64), NULL);
        if (name && (size_t)xcb_get_property_value_length(name) == strlen(title) &&
            memcmp(xcb_get_property_value(name), title, strlen(title)) == 0)
            found = window;
        free(name);
    }
    free(tree);
    return found;
}

static void settle(xcb_connection_t *connection)
{
    free(xcb_get_input_focus_reply(connection, xcb_get_input_focus(connection), NULL));
}

/* The user of the replay resizes and hides the window, and then somebody destroys it. */
UNIT_TEST(a_window_may_change_under_the_replay)
{
    static const uint32_t sizes[][2] = {{300, 200}, {1, 1}, {33, 17}, {640, 480}};
    struct replay_options options = {.present = REPLAY_PRESENT_WINDOW, .file = "changes-test_replay_swapchain"};
    xcb_connection_t *connection;
    xcb_window_t window;
    struct scene s;

    if (!display_answers())
        SKIP("no display");
    if (!scene_init(&s, &options))
        SKIP("no Vulkan driver with swapchains");
    draw(&s, 0, 10);
    CHECK_EQ_INT(present(&s, 0), LAP_OK);
    connection = xcb_connect(NULL, NULL);
    window = find_window(connection, "Lapilli: changes-test_replay_swapchain, frame 1");
    for (uint32_t i = 0; i < 16 && window; i++) {
        if (i % 4 == 0)
            xcb_configure_window(connection, window, XCB_CONFIG_WINDOW_WIDTH | XCB_CONFIG_WINDOW_HEIGHT, sizes[i / 4]);
        else if (i % 4 == 1)
            xcb_unmap_window(connection, window);
        else if (i % 4 == 3)
            xcb_map_window(connection, window);
        settle(connection);
        draw(&s, i % 3, (uint8_t)(i * 10));
        CHECK_EQ_INT(present(&s, i % 3), LAP_OK);
    }
    if (window) {
        xcb_destroy_window(connection, window);
        settle(connection);
        draw(&s, 1, 10);
        CHECK_EQ_INT(present(&s, 1), LAP_END);
    }
    xcb_disconnect(connection);
    scene_finish(&s);
    if (!window)
        SKIP("a window manager keeps the window in one of its own");
}

/* A device with two queues, of which the second is the real one by another name. */
static VkQueue real_queue, second_queue, submitted_to;
static PFN_vkQueueSubmit real_submit;

static VKAPI_ATTR VkResult VKAPI_CALL submit_to_either(VkQueue queue, uint32_t count, const VkSubmitInfo *submits,
                                                       VkFence fence)
{
    submitted_to = queue;
    return real_submit(queue == second_queue ? real_queue : queue, count, submits, fence);
}

/* An image that was shown is free when the copy for the window is made, wherever the program presented it. */
static void acquire_after_present(enum replay_present how, bool shown)
{
    struct replay_options options = {.present = how};
    struct replay_queue queues[2];
    struct scene s;

    if (!scene_init(&s, &options))
        SKIP("no Vulkan driver with swapchains");
    queues[0] = queues[1] = s.u.queue;
    queues[1].live = second_queue = (VkQueue)&second_queue;
    real_queue = queues[0].live;
    real_submit = s.u.dev.vk.QueueSubmit;
    s.u.dev.vk.QueueSubmit = submit_to_either;
    s.u.dev.queues.all = queues;
    s.u.dev.queues.main = &queues[0];
    s.u.dev.queues.count = 2;
    draw(&s, 0, 10);
    s.u.gpu.queue = second_queue; /* present() is for this one */
    CHECK_EQ_INT(present(&s, 0), LAP_OK);
    s.u.gpu.queue = real_queue;
    {
        uint32_t image = 0;
        struct gen_args_vkAcquireNextImageKHR acquire = {
            .swapchain = s.swapchain, .semaphore = s.acquired, .pImageIndex = &image};
        submitted_to = VK_NULL_HANDLE;
        CHECK_EQ_INT(replay_AcquireNextImageKHR(&s.u.r, &s.u.dev, &acquire), LAP_OK);
        CHECK(submitted_to == VK_NULL_HANDLE);
        CHECK_EQ_INT(replay_acquired_images_signal(&s.u.r, &s.u.dev, 1, &s.acquired), LAP_OK);
        CHECK(submitted_to == (shown ? real_queue : second_queue));
    }
    s.u.dev.queues.count = 1;
    scene_finish(&s);
}

UNIT_TEST(a_shown_image_is_free_after_the_copy)
{
    if (!display_answers())
        SKIP("no display");
    acquire_after_present(REPLAY_PRESENT_AUTO, true);
}

UNIT_TEST(an_image_that_is_not_shown_is_free_after_its_present)
{
    acquire_after_present(REPLAY_PRESENT_OFF, false);
}

/* Programs must not, but some do. */
UNIT_TEST(a_surface_may_end_before_its_swapchains)
{
    struct replay_options options = {.present = REPLAY_PRESENT_AUTO};
    struct scene s;

    if (!display_answers())
        SKIP("no display");
    if (!scene_init(&s, &options))
        SKIP("no Vulkan driver with swapchains");
    CHECK_EQ_INT(create_swapchain(&s, 2, (VkExtent2D){WIDTH, HEIGHT}, VK_FORMAT_B8G8R8A8_UNORM), LAP_OK);
    CHECK_EQ_INT(get_images(&s, 3, 20), LAP_OK);
    draw(&s, 0, 10);
    CHECK_EQ_INT(present(&s, 0), LAP_OK);
    CHECK(replay_swapchain_of(&s.u.r, s.swapchain)->window != NULL);
    CHECK_EQ_INT(replay_destroy_surface(&s.u.r, &s.u.instance, SURFACE), LAP_OK);
    CHECK(replay_swapchain_of(&s.u.r, s.swapchain)->window == NULL);
    if (replay_swapchain_of(&s.u.r, s.swapchain)->window)
        abort(); /* it is gone */
    draw(&s, 1, 10);
    CHECK_EQ_INT(present(&s, 1), LAP_OK);
    scene_finish(&s);
}

/* Asks the window with this title to close, as a window manager does. */
static bool ask_to_close(const char *title)
{
    xcb_connection_t *connection = xcb_connect(NULL, NULL);
    xcb_client_message_event_t event = {
        .response_type = XCB_CLIENT_MESSAGE, .format = 32, .window = find_window(connection, title)};
    xcb_atom_t atoms[2] = {0};

    for (int i = 0; i < 2; i++) {
        static const char *const names[] = {"WM_PROTOCOLS", "WM_DELETE_WINDOW"};
        xcb_intern_atom_reply_t *reply = xcb_intern_atom_reply(
            connection, xcb_intern_atom(connection, 0, (uint16_t)strlen(names[i]), names[i]), NULL);
        if (reply)
            atoms[i] = reply->atom;
        free(reply);
    }
    event.type = atoms[0];
    event.data.data32[0] = atoms[1];
    if (event.window)
        xcb_send_event(connection, 0, event.window, XCB_EVENT_MASK_NO_EVENT, (const char *)&event);
    settle(connection); /* it has arrived */
    xcb_disconnect(connection);
    return event.window;
}

UNIT_TEST(closing_the_window_ends_the_replay)
{
    struct replay_options options = {.present = REPLAY_PRESENT_AUTO, .file = "close-me-test_replay_swapchain"};
    struct scene s;
    bool found;

    if (!display_answers())
        SKIP("no display");
    if (!scene_init(&s, &options))
        SKIP("no Vulkan driver with swapchains");
    draw(&s, 0, 10);
    CHECK_EQ_INT(present(&s, 0), LAP_OK);
    found = ask_to_close("Lapilli: close-me-test_replay_swapchain, frame 1");
    draw(&s, 1, 10);
    CHECK_EQ_INT(present(&s, 1), found ? LAP_END : LAP_OK);
    scene_finish(&s);
    if (!found)
        SKIP("a window manager keeps the window in one of its own");
}

UNIT_MAIN();
