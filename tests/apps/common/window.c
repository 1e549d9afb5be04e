/* SPDX-License-Identifier: MIT */
#include "target.h"

void app_window_open(const struct app *app, struct app_window *window, uint32_t width, uint32_t height)
{
    *window = (struct app_window){.width = width, .height = height};
    window->native = app_native_open(app, width, height, &window->surface);
    VkBool32 supported = VK_FALSE;
    CHECK_VK(vkGetPhysicalDeviceSurfaceSupportKHR(app->physical, app->queue_family, window->surface, &supported));
    if (!supported)
        app_skip(app, "the queue can't present to this window");
}

void app_window_resize(struct app_window *window, uint32_t width, uint32_t height)
{
    window->width = width;
    window->height = height;
    app_native_resize(window->native, width, height);
}

void app_window_show(struct app_window *window, bool show)
{
    app_native_show(window->native, show);
}

void app_window_listen(struct app_window *window)
{
    app_native_listen(window->native);
}

void app_window_close(const struct app *app, struct app_window *window)
{
    vkDestroySurfaceKHR(app->instance, window->surface, NULL);
    app_native_close(window->native);
    *window = (struct app_window){0};
}

bool app_format_is_blue_first(VkFormat format)
{
    return format == VK_FORMAT_B8G8R8A8_UNORM || format == VK_FORMAT_B8G8R8A8_SRGB;
}

static VkSurfaceFormatKHR choose_format(const struct app *app, VkSurfaceKHR surface)
{
    uint32_t count = 0;
    CHECK_VK(vkGetPhysicalDeviceSurfaceFormatsKHR(app->physical, surface, &count, NULL));
    VkSurfaceFormatKHR *formats = calloc(count + 1, sizeof(*formats));
    CHECK(formats && count);
    CHECK_VK(vkGetPhysicalDeviceSurfaceFormatsKHR(app->physical, surface, &count, formats));
    for (uint32_t i = 0; i < count; i++) {
        VkFormat format = formats[i].format;
        if (app->srgb ? format == VK_FORMAT_B8G8R8A8_SRGB || format == VK_FORMAT_R8G8B8A8_SRGB
                      : format == VK_FORMAT_B8G8R8A8_UNORM || format == VK_FORMAT_R8G8B8A8_UNORM) {
            VkSurfaceFormatKHR found = formats[i];
            free(formats);
            return found;
        }
    }
    app_skip(app, app->srgb ? "the window has no 8-bit sRGB format" : "the window has no 8-bit UNORM format");
}

static uint32_t clamp(uint32_t value, uint32_t low, uint32_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void drop_images(const struct app *app, struct app_swapchain *swapchain)
{
    for (uint32_t i = 0; i < swapchain->count; i++) {
        vkDestroyImageView(app->device, swapchain->views[i], NULL);
        vkDestroySemaphore(app->device, swapchain->drawn[i], NULL);
        if (swapchain->bound)
            vkDestroyImage(app->device, swapchain->images[i], NULL);
    }
}

/* An image with the memory of an image of the swapchain, as VK_KHR_device_group has it. */
static VkImage bind_image(const struct app *app, const VkSwapchainCreateInfoKHR *create, VkSwapchainKHR swapchain,
                          uint32_t number)
{
    const VkImageSwapchainCreateInfoKHR of = {.sType = VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR,
                                              .swapchain = swapchain};
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .pNext = &of,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = create->imageFormat,
                                    .extent = {create->imageExtent.width, create->imageExtent.height, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = create->imageUsage,
                                    .sharingMode = create->imageSharingMode};
    const VkBindImageMemorySwapchainInfoKHR memory = {
        .sType = VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_SWAPCHAIN_INFO_KHR, .swapchain = swapchain, .imageIndex = number};
    VkBindImageMemoryInfo bind = {.sType = VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO, .pNext = &memory};

    CHECK_VK(vkCreateImage(app->device, &info, NULL, &bind.image));
    CHECK_VK(vkBindImageMemory2(app->device, 1, &bind));
    return bind.image;
}

bool app_swapchain_create(const struct app *app, struct app_swapchain *swapchain, VkSurfaceKHR surface,
                          VkPresentModeKHR mode, uint32_t width, uint32_t height)
{
    const struct app_swapchain_request request = {0};
    return app_swapchain_create_with(app, swapchain, surface, mode, width, height, &request);
}

bool app_swapchain_create_with(const struct app *app, struct app_swapchain *swapchain, VkSurfaceKHR surface,
                               VkPresentModeKHR mode, uint32_t width, uint32_t height,
                               const struct app_swapchain_request *request)
{
    VkSurfaceCapabilitiesKHR caps;
    CHECK_VK(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(app->physical, surface, &caps));
    VkExtent2D extent = caps.currentExtent;
    if (request->exact) {
        extent = (VkExtent2D){width, height};
    } else if (extent.width == UINT32_MAX) {
        extent.width = clamp(width, caps.minImageExtent.width, caps.maxImageExtent.width);
        extent.height = clamp(height, caps.minImageExtent.height, caps.maxImageExtent.height);
    }
    if (!extent.width || !extent.height)
        return false;
    VkSurfaceFormatKHR format = choose_format(app, surface);
    struct app_swapchain old = *swapchain;

    VkSwapchainCreateInfoKHR create = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR};
    create.pNext = request->next;
    create.flags = request->flags;
    create.surface = surface;
    create.minImageCount = caps.minImageCount + 1;
    if (caps.maxImageCount && create.minImageCount > caps.maxImageCount)
        create.minImageCount = caps.maxImageCount;
    create.imageFormat = format.format;
    create.imageColorSpace = format.colorSpace;
    create.imageExtent = extent;
    create.imageArrayLayers = 1;
    const VkImageUsageFlags transfer = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    create.imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | (caps.supportedUsageFlags & transfer);
    create.imageSharingMode = VK_SHARING_MODE_EXCLUSIVE;
    create.preTransform = caps.currentTransform;
    create.compositeAlpha = (VkCompositeAlphaFlagBitsKHR)(caps.supportedCompositeAlpha & -caps.supportedCompositeAlpha);
    if (caps.supportedCompositeAlpha & VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR)
        create.compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR;
    create.presentMode = mode;
    create.clipped = VK_FALSE; /* read-back wants every pixel */
    create.oldSwapchain = old.swapchain;
    *swapchain = (struct app_swapchain){.format = format.format, .extent = extent};
    swapchain->readable = create.imageUsage & VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    swapchain->writable = create.imageUsage & VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    CHECK_VK(vkCreateSwapchainKHR(app->device, &create, NULL, &swapchain->swapchain));
    if (request->replaced)
        *request->replaced = old;
    else
        app_swapchain_destroy(app, &old);

    CHECK_VK(vkGetSwapchainImagesKHR(app->device, swapchain->swapchain, &swapchain->count, NULL));
    EXPECT_EQ(app, swapchain->count >= create.minImageCount, true);
    CHECK(swapchain->count && swapchain->count <= APP_MAX_IMAGES);
    swapchain->bound = request->bound;
    if (!request->bound)
        CHECK_VK(vkGetSwapchainImagesKHR(app->device, swapchain->swapchain, &swapchain->count, swapchain->images));
    for (uint32_t i = 0; i < swapchain->count; i++) {
        if (request->bound)
            swapchain->images[i] = bind_image(app, &create, swapchain->swapchain, i);
        VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
        view.image = swapchain->images[i];
        view.viewType = VK_IMAGE_VIEW_TYPE_2D;
        view.format = format.format;
        view.subresourceRange = (VkImageSubresourceRange){VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
        if (!(request->flags & VK_SWAPCHAIN_CREATE_DEFERRED_MEMORY_ALLOCATION_BIT_EXT))
            CHECK_VK(vkCreateImageView(app->device, &view, NULL, &swapchain->views[i]));
        VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
        CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &swapchain->drawn[i]));
    }
    return true;
}

void app_swapchain_destroy(const struct app *app, struct app_swapchain *swapchain)
{
    if (!swapchain->swapchain)
        return;
    drop_images(app, swapchain);
    vkDestroySwapchainKHR(app->device, swapchain->swapchain, NULL);
    *swapchain = (struct app_swapchain){0};
}
