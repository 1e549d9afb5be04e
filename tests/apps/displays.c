/* SPDX-License-Identifier: MIT */
/*
 * displays: presents to a display without a window system (VK_KHR_display). Pictures are plain colors, and each is read
 * back before it is presented. The program asks for events of the display and its device (VK_EXT_display_control) and
 * waits for them, counts vertical blanks, and turns the display on.
 *
 * With --together two swapchains are made by one call and presented by another (VK_KHR_display_swapchain). With
 * --shared the program has one image, which is on the display while it is drawn (VK_KHR_shared_presentable_image): it
 * is acquired once, and presented when it is to be shown, or, with --continuous, once.
 */
#include "common/app.h"

#define MOST_IMAGES 8u
#define MOST        4u
#define FORMAT      VK_FORMAT_B8G8R8A8_UNORM
#define SECOND      UINT64_C(1000000000)

/* Of extensions that an instance or a device may lack. */
#define FUNCTION(name) PFN_vk##name name

struct scene {
    const struct app *app;
    VkDisplayKHR display;
    VkDisplayModeKHR mode;
    VkExtent2D extent;
    uint32_t plane;
    struct app_buffer pixels;
    bool control;
    FUNCTION(CreateSwapchainKHR);
    FUNCTION(CreateSharedSwapchainsKHR);
    FUNCTION(DestroySwapchainKHR);
    FUNCTION(GetSwapchainImagesKHR);
    FUNCTION(AcquireNextImageKHR);
    FUNCTION(QueuePresentKHR);
    FUNCTION(GetSwapchainStatusKHR);
    FUNCTION(DisplayPowerControlEXT);
    FUNCTION(RegisterDeviceEventEXT);
    FUNCTION(RegisterDisplayEventEXT);
    FUNCTION(GetSwapchainCounterEXT);
};

struct shown {
    VkSurfaceKHR surface;
    VkSwapchainKHR swapchain;
    VkImage images[MOST_IMAGES];
    uint32_t count, index;
};

#define INSTANCE_FUNCTION(app, name) ((PFN_vk##name)vkGetInstanceProcAddr((app)->instance, "vk" #name))
#define DEVICE_FUNCTION(scene, name) ((scene)->name = (PFN_vk##name)app_device_function((scene)->app, "vk" #name))

/* ---- the display ---- */

static void find_display(struct scene *scene)
{
    const struct app *app = scene->app;
    PFN_vkGetPhysicalDeviceDisplayPropertiesKHR displays =
        INSTANCE_FUNCTION(app, GetPhysicalDeviceDisplayPropertiesKHR);
    PFN_vkGetDisplayModePropertiesKHR modes = INSTANCE_FUNCTION(app, GetDisplayModePropertiesKHR);
    PFN_vkGetPhysicalDeviceDisplayPlanePropertiesKHR planes =
        INSTANCE_FUNCTION(app, GetPhysicalDeviceDisplayPlanePropertiesKHR);
    PFN_vkGetDisplayPlaneSupportedDisplaysKHR supported = INSTANCE_FUNCTION(app, GetDisplayPlaneSupportedDisplaysKHR);
    PFN_vkGetDisplayPlaneCapabilitiesKHR capabilities = INSTANCE_FUNCTION(app, GetDisplayPlaneCapabilitiesKHR);
    VkDisplayPlaneCapabilitiesKHR can;
    VkDisplayPropertiesKHR display;
    VkDisplayModePropertiesKHR mode;
    VkDisplayPlanePropertiesKHR plane[MOST];
    VkDisplayKHR shows[MOST];
    uint32_t one = 1, count = MOST;

    if (!displays || !modes || !planes || !supported || !capabilities)
        app_skip(app, "there is no VK_KHR_display");
    CHECK(displays(app->physical, &one, &display) >= 0);
    if (!one)
        app_skip(app, "there is no display");
    CHECK(planes(app->physical, &count, plane) >= 0 && count);
    for (scene->plane = 0; scene->plane < count; scene->plane++) {
        uint32_t found = MOST, i = 0;
        CHECK(supported(app->physical, scene->plane, &found, shows) >= 0);
        while (i < found && shows[i] != display.display)
            i++;
        if (i < found)
            break;
    }
    if (scene->plane == count)
        app_skip(app, "no plane shows the display");
    one = 1;
    CHECK(modes(app->physical, display.display, &one, &mode) >= 0 && one);
    CHECK_VK(capabilities(app->physical, mode.displayMode, scene->plane, &can));
    scene->display = display.display;
    scene->mode = mode.displayMode;
    scene->extent = mode.parameters.visibleRegion;
}

static VkSurfaceKHR create_surface(const struct scene *scene)
{
    PFN_vkCreateDisplayPlaneSurfaceKHR create = INSTANCE_FUNCTION(scene->app, CreateDisplayPlaneSurfaceKHR);
    VkDisplaySurfaceCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_DISPLAY_SURFACE_CREATE_INFO_KHR,
                                          .displayMode = scene->mode,
                                          .planeIndex = scene->plane,
                                          .transform = VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR,
                                          .globalAlpha = 1,
                                          .alphaMode = VK_DISPLAY_PLANE_ALPHA_OPAQUE_BIT_KHR,
                                          .imageExtent = scene->extent};
    VkSurfaceKHR surface;
    CHECK_VK(create(scene->app->instance, &info, NULL, &surface));
    return surface;
}

static bool can_present(const struct scene *scene, VkSurfaceKHR surface, VkPresentModeKHR wanted)
{
    const struct app *app = scene->app;
    PFN_vkGetPhysicalDeviceSurfaceSupportKHR support = INSTANCE_FUNCTION(app, GetPhysicalDeviceSurfaceSupportKHR);
    PFN_vkGetPhysicalDeviceSurfacePresentModesKHR modes =
        INSTANCE_FUNCTION(app, GetPhysicalDeviceSurfacePresentModesKHR);
    PFN_vkGetPhysicalDeviceSurfaceFormatsKHR formats = INSTANCE_FUNCTION(app, GetPhysicalDeviceSurfaceFormatsKHR);
    VkPresentModeKHR list[16];
    VkSurfaceFormatKHR known[64];
    uint32_t count = COUNT_OF(list), format_count = COUNT_OF(known);
    VkBool32 yes = VK_FALSE;
    bool mode = false, format = false;

    CHECK_VK(support(app->physical, app->queue_family, surface, &yes));
    CHECK(modes(app->physical, surface, &count, list) >= 0);
    CHECK(formats(app->physical, surface, &format_count, known) >= 0);
    for (uint32_t i = 0; i < count; i++)
        mode = mode || list[i] == wanted;
    for (uint32_t i = 0; i < format_count; i++)
        format = format || known[i].format == FORMAT;
    return yes && mode && format;
}

/* ---- swapchains ---- */

static VkSwapchainCreateInfoKHR describe(const struct scene *scene, VkSurfaceKHR surface, VkPresentModeKHR mode)
{
    PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR ask =
        INSTANCE_FUNCTION(scene->app, GetPhysicalDeviceSurfaceCapabilitiesKHR);
    VkSurfaceCapabilitiesKHR can;
    bool shared = mode != VK_PRESENT_MODE_FIFO_KHR;

    CHECK_VK(ask(scene->app->physical, surface, &can));
    return (VkSwapchainCreateInfoKHR){.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
                                      .surface = surface,
                                      .minImageCount = shared ? 1 : can.minImageCount,
                                      .imageFormat = FORMAT,
                                      .imageExtent = scene->extent,
                                      .imageArrayLayers = 1,
                                      .imageUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
                                      .preTransform = VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR,
                                      .compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
                                      .presentMode = mode,
                                      .clipped = VK_TRUE};
}

static void get_images(const struct scene *scene, struct shown *shown)
{
    shown->count = MOST_IMAGES;
    CHECK_VK(scene->GetSwapchainImagesKHR(scene->app->device, shown->swapchain, &shown->count, shown->images));
}

static void acquire(const struct scene *scene, struct shown *shown)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence;

    CHECK_VK(vkCreateFence(scene->app->device, &info, NULL, &fence));
    CHECK(scene->AcquireNextImageKHR(scene->app->device, shown->swapchain, SECOND, VK_NULL_HANDLE, fence,
                                     &shown->index) >= 0);
    CHECK_VK(vkWaitForFences(scene->app->device, 1, &fence, VK_TRUE, UINT64_MAX));
    vkDestroyFence(scene->app->device, fence, NULL);
}

/* What is on the display stays in its layout. */
static void transition(VkCommandBuffer commands, VkImage image, VkImageLayout from, VkImageLayout to)
{
    struct app_image shown = {.image = image, .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    if (from != to)
        app_image_barrier(commands, &shown, from, to);
    else
        app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                           VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
}

/* One color, whose bytes are known: it is read back. layout: how the image is now and will be; UNDEFINED: it begins. */
static void draw(const struct scene *scene, const struct shown *shown, uint32_t frame, VkImageLayout from,
                 VkImageLayout to)
{
    static const float levels[] = {0, 1};
    const VkImage image = shown->images[shown->index];
    const VkClearColorValue color = {.float32 = {levels[frame & 1], levels[frame >> 1 & 1], levels[frame >> 2 & 1], 1}};
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {scene->extent.width, scene->extent.height, 1}};
    const bool shared = to == VK_IMAGE_LAYOUT_SHARED_PRESENT_KHR;
    const VkImageLayout target = shared ? to : VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                        source = shared ? to : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    const uint32_t texels = scene->extent.width * scene->extent.height;
    const uint8_t want[] = {frame >> 2 & 1 ? 255 : 0, frame >> 1 & 1 ? 255 : 0, frame & 1 ? 255 : 0, 255};
    VkCommandBuffer commands = app_begin(scene->app);

    transition(commands, image, from, target);
    vkCmdClearColorImage(commands, image, target, &color, 1, &all);
    transition(commands, image, target, source);
    vkCmdCopyImageToBuffer(commands, image, source, scene->pixels.buffer, 1, &region);
    if (source != to)
        transition(commands, image, source, to);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(scene->app, commands);
    app_buffer_invalidate(scene->app, &scene->pixels, 0, 4 * texels);
    EXPECT_EQ(scene->app, memcmp(scene->pixels.mapped, want, 4), 0);
    EXPECT_EQ(scene->app, memcmp(scene->pixels.mapped + 4 * (texels - 1), want, 4), 0);
}

static void present(const struct scene *scene, uint32_t count, const struct shown *shown)
{
    VkSwapchainKHR swapchains[MOST];
    uint32_t indices[MOST];
    VkPresentInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                             .swapchainCount = count,
                             .pSwapchains = swapchains,
                             .pImageIndices = indices};
    for (uint32_t i = 0; i < count; i++) {
        swapchains[i] = shown[i].swapchain;
        indices[i] = shown[i].index;
    }
    CHECK(scene->QueuePresentKHR(scene->app->queue, &info) >= 0);
}

static void destroy_shown(const struct scene *scene, struct shown *shown)
{
    PFN_vkDestroySurfaceKHR destroy = INSTANCE_FUNCTION(scene->app, DestroySurfaceKHR);
    scene->DestroySwapchainKHR(scene->app->device, shown->swapchain, NULL);
    destroy(scene->app->instance, shown->surface, NULL);
}

/* ---- events ---- */

static void await(const struct scene *scene, VkFence event)
{
    CHECK_VK(vkWaitForFences(scene->app->device, 1, &event, VK_TRUE, UINT64_MAX));
    CHECK_VK(vkGetFenceStatus(scene->app->device, event));
    vkDestroyFence(scene->app->device, event, NULL);
}

static void turn_on(const struct scene *scene)
{
    VkDisplayPowerInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DISPLAY_POWER_INFO_EXT,
                                  .powerState = VK_DISPLAY_POWER_STATE_ON_EXT};
    if (scene->control)
        CHECK_VK(scene->DisplayPowerControlEXT(scene->app->device, scene->display, &info));
}

static VkFence register_first_pixel(const struct scene *scene)
{
    VkDisplayEventInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DISPLAY_EVENT_INFO_EXT,
                                  .displayEvent = VK_DISPLAY_EVENT_TYPE_FIRST_PIXEL_OUT_EXT};
    VkFence event = VK_NULL_HANDLE;
    if (scene->control)
        CHECK_VK(scene->RegisterDisplayEventEXT(scene->app->device, scene->display, &info, NULL, &event));
    return event;
}

/* Of somebody who plugs in a display; nobody waits for that. */
static VkFence register_hotplug(const struct scene *scene)
{
    VkDeviceEventInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DEVICE_EVENT_INFO_EXT,
                                 .deviceEvent = VK_DEVICE_EVENT_TYPE_DISPLAY_HOTPLUG_EXT};
    VkFence event = VK_NULL_HANDLE;
    if (scene->control)
        CHECK_VK(scene->RegisterDeviceEventEXT(scene->app->device, &info, NULL, &event));
    return event;
}

/* ---- what is shown ---- */

static void run_alone(const struct scene *scene)
{
    VkSwapchainCounterCreateInfoEXT counters = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_COUNTER_CREATE_INFO_EXT,
                                                .surfaceCounters = VK_SURFACE_COUNTER_VBLANK_BIT_EXT};
    struct shown shown = {.surface = create_surface(scene)};
    VkSwapchainCreateInfoKHR info;
    uint64_t before = 0, after = 0;
    VkFence plugged;

    if (!can_present(scene, shown.surface, VK_PRESENT_MODE_FIFO_KHR))
        app_skip(scene->app, "the display shows no such images");
    info = describe(scene, shown.surface, VK_PRESENT_MODE_FIFO_KHR);
    if (scene->control)
        info.pNext = &counters;
    CHECK_VK(scene->CreateSwapchainKHR(scene->app->device, &info, NULL, &shown.swapchain));
    get_images(scene, &shown);
    turn_on(scene);
    plugged = register_hotplug(scene);
    for (uint32_t frame = 0; frame < scene->app->frames; frame++) {
        VkFence event;
        acquire(scene, &shown);
        draw(scene, &shown, frame, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
        event = register_first_pixel(scene);
        present(scene, 1, &shown);
        if (!event)
            continue;
        await(scene, event);
        CHECK_VK(scene->GetSwapchainCounterEXT(scene->app->device, shown.swapchain, VK_SURFACE_COUNTER_VBLANK_BIT_EXT,
                                               &after));
        CHECK(after >= before);
        before = after;
    }
    CHECK_VK(vkDeviceWaitIdle(scene->app->device));
    vkDestroyFence(scene->app->device, plugged, NULL);
    destroy_shown(scene, &shown);
}

static void run_together(const struct scene *scene)
{
    struct shown shown[2] = {{.surface = create_surface(scene)}, {.surface = create_surface(scene)}};
    VkSwapchainCreateInfoKHR infos[2];
    VkSwapchainKHR made[2];

    for (uint32_t i = 0; i < 2; i++) {
        if (!can_present(scene, shown[i].surface, VK_PRESENT_MODE_FIFO_KHR))
            app_skip(scene->app, "the display shows no such images");
        infos[i] = describe(scene, shown[i].surface, VK_PRESENT_MODE_FIFO_KHR);
    }
    CHECK_VK(scene->CreateSharedSwapchainsKHR(scene->app->device, 2, infos, NULL, made));
    for (uint32_t i = 0; i < 2; i++) {
        shown[i].swapchain = made[i];
        get_images(scene, &shown[i]);
    }
    for (uint32_t frame = 0; frame < scene->app->frames; frame++) {
        for (uint32_t i = 0; i < 2; i++) {
            acquire(scene, &shown[i]);
            draw(scene, &shown[i], frame + 3 * i, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
        }
        present(scene, 2, shown);
    }
    CHECK_VK(vkDeviceWaitIdle(scene->app->device));
    for (uint32_t i = 0; i < 2; i++)
        destroy_shown(scene, &shown[i]);
}

static void run_shared(const struct scene *scene, bool continuous)
{
    const VkPresentModeKHR mode =
        continuous ? VK_PRESENT_MODE_SHARED_CONTINUOUS_REFRESH_KHR : VK_PRESENT_MODE_SHARED_DEMAND_REFRESH_KHR;
    struct shown shown = {.surface = create_surface(scene)};
    VkSwapchainCreateInfoKHR info;

    if (!can_present(scene, shown.surface, mode))
        app_skip(scene->app, "the display shares no images");
    info = describe(scene, shown.surface, mode);
    CHECK_VK(scene->CreateSwapchainKHR(scene->app->device, &info, NULL, &shown.swapchain));
    get_images(scene, &shown);
    acquire(scene, &shown);
    for (uint32_t frame = 0; frame < scene->app->frames; frame++) {
        draw(scene, &shown, frame, frame ? VK_IMAGE_LAYOUT_SHARED_PRESENT_KHR : VK_IMAGE_LAYOUT_UNDEFINED,
             VK_IMAGE_LAYOUT_SHARED_PRESENT_KHR);
        if (!continuous || !frame)
            present(scene, 1, &shown);
        CHECK(scene->GetSwapchainStatusKHR(scene->app->device, shown.swapchain) >= 0);
    }
    CHECK_VK(vkDeviceWaitIdle(scene->app->device));
    destroy_shown(scene, &shown);
}

/* ---- the program ---- */

static void load(struct scene *scene, bool together, bool shared)
{
    DEVICE_FUNCTION(scene, CreateSwapchainKHR);
    DEVICE_FUNCTION(scene, DestroySwapchainKHR);
    DEVICE_FUNCTION(scene, GetSwapchainImagesKHR);
    DEVICE_FUNCTION(scene, AcquireNextImageKHR);
    DEVICE_FUNCTION(scene, QueuePresentKHR);
    if (together)
        DEVICE_FUNCTION(scene, CreateSharedSwapchainsKHR);
    if (shared)
        DEVICE_FUNCTION(scene, GetSwapchainStatusKHR);
    if (scene->control) {
        DEVICE_FUNCTION(scene, DisplayPowerControlEXT);
        DEVICE_FUNCTION(scene, RegisterDeviceEventEXT);
        DEVICE_FUNCTION(scene, RegisterDisplayEventEXT);
        DEVICE_FUNCTION(scene, GetSwapchainCounterEXT);
    }
}

int main(int argc, char **argv)
{
    static bool together, shared, continuous;
    static const struct app_option options[] = {
        {.name = "--together", .help = "two swapchains, made and presented together", .flag = &together},
        {.name = "--shared", .help = "one image, on the display while it is drawn", .flag = &shared},
        {.name = "--continuous", .help = "the same, presented once", .flag = &continuous},
        {0},
    };
    static const char *const of_instance[] = {"VK_KHR_surface",
                                              "VK_KHR_display",
                                              "VK_EXT_display_surface_counter",
                                              "VK_EXT_direct_mode_display",
                                              "VK_KHR_get_surface_capabilities2",
                                              NULL};
    static const struct app_program program = {.name = "displays",
                                               .what = "Presents to a display without a window system.",
                                               .frames = 8,
                                               .instance_extensions = of_instance,
                                               .options = options};
    const char *extensions[3] = {"VK_KHR_swapchain"};
    struct app_device_request request = {.extensions = extensions, .extension_count = 1};
    struct scene scene = {0};
    struct app app;

    app_init(&app, argc, argv, &program);
    scene.app = &app;
    find_display(&scene);
    shared = shared || continuous;
    if (together)
        extensions[request.extension_count++] = "VK_KHR_display_swapchain";
    else if (shared)
        extensions[request.extension_count++] = "VK_KHR_shared_presentable_image";
    for (uint32_t i = 0; i < request.extension_count; i++)
        if (!app_has_extension(&app, extensions[i]))
            app_skip(&app, "an extension for displays is missing");
    scene.control = !together && !shared && app_has_extension(&app, "VK_EXT_display_control");
    if (scene.control)
        extensions[request.extension_count++] = "VK_EXT_display_control";
    app_device_create(&app, &request);
    load(&scene, together, shared);
    app_buffer_create(&app, &scene.pixels, 4 * (VkDeviceSize)scene.extent.width * scene.extent.height,
                      VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    if (together)
        run_together(&scene);
    else if (shared)
        run_shared(&scene, continuous);
    else
        run_alone(&scene);
    app_buffer_destroy(&app, &scene.pixels);
    return app_finish(&app);
}
