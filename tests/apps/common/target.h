/* SPDX-License-Identifier: MIT */
/*
 * target: where frames are drawn to: the images of a window's swapchain or two plain images, read back and checked
 * alike. Two frames are in flight. The program records into the command buffer of app_target_begin, leaves the color
 * image in TRANSFER_SRC_OPTIMAL (or PRESENT_SRC where the target can't be read), and calls app_target_end.
 */
#ifndef APPS_TARGET_H
#define APPS_TARGET_H

#include "app.h"

#define APP_MAX_IMAGES 16
#define APP_IN_FLIGHT  2

struct app_native; /* native.c: what a window system knows of a window */

struct app_window {
    struct app_native *native;
    VkSurfaceKHR surface;
    uint32_t width, height; /* asked for last */
};

struct app_swapchain {
    VkSwapchainKHR swapchain;
    VkFormat format;
    VkExtent2D extent;
    uint32_t count;
    bool readable, writable; /* its images can be copied from, and to */
    bool bound;              /* `images` are the program's own */
    VkImage images[APP_MAX_IMAGES];
    VkImageView views[APP_MAX_IMAGES];
    VkSemaphore drawn[APP_MAX_IMAGES]; /* per image: a present may use it until the image is acquired again */
};

struct app_pixels {
    const uint8_t *bytes; /* four a pixel, rows without gaps */
    uint32_t width, height, frame;
    bool blue_first;
    bool srgb; /* what was drawn was encoded */
};

struct app_frame {
    VkCommandBuffer commands;
    uint32_t slot, number, image;
    VkFence done;
    VkSemaphore acquired;
    struct app_buffer pixels;
    bool pending;
};

struct app_target {
    struct app *app;
    struct app_window window;
    struct app_swapchain swapchain; /* offscreen: its arrays name the plain images */
    struct app_image plain[APP_IN_FLIGHT];
    struct app_frame frames[APP_IN_FLIGHT];
    uint32_t next;
    VkImageLayout final_layout; /* that the program must leave the color image in */
    void (*check)(const struct app *app, const struct app_pixels *pixels); /* called once for each frame, in order */
    VkCommandPool pool;
};

void app_window_open(const struct app *app, struct app_window *window, uint32_t width, uint32_t height);
/* Asks for another size, hides (minimises) or shows; returns when the server has done it. Some window systems leave
 * these to the program or to nobody: then nothing happens. */
void app_window_resize(struct app_window *window, uint32_t width, uint32_t height);
void app_window_show(struct app_window *window, bool show);
/* Takes what the window system says, as programs do now and then; drivers may not, while they are only asked. */
void app_window_listen(struct app_window *window);
void app_window_close(const struct app *app, struct app_window *window);

/* Replaces swapchain->swapchain where there is one. width and height are for windows that have no size before they have
 * an image. Returns false if the window has no area now: nothing is changed. */
/* What lies first in memory, of the formats that a window is given. */
bool app_format_is_blue_first(VkFormat format);
bool app_swapchain_create(const struct app *app, struct app_swapchain *swapchain, VkSurfaceKHR surface,
                          VkPresentModeKHR mode, uint32_t width, uint32_t height);
/* The same with what a program may want beside. There are no views of images that get their memory when they are
 * acquired. */
struct app_swapchain_request {
    VkSwapchainCreateFlagsKHR flags;
    const void *next;               /* chain for VkSwapchainCreateInfoKHR */
    bool exact;                     /* width and height, whatever the window has */
    bool bound;                     /* its images are never asked for: the program binds images of its own to them */
    struct app_swapchain *replaced; /* gets the old swapchain, which the caller destroys later; NULL: it is destroyed */
};
bool app_swapchain_create_with(const struct app *app, struct app_swapchain *swapchain, VkSurfaceKHR surface,
                               VkPresentModeKHR mode, uint32_t width, uint32_t height,
                               const struct app_swapchain_request *request);
/* The device must be idle. */
void app_swapchain_destroy(const struct app *app, struct app_swapchain *swapchain);

/* native.c. What the machine lacks ends the program with APP_SKIP. */
struct app_native *app_native_open(const struct app *app, uint32_t width, uint32_t height, VkSurfaceKHR *out_surface);
void app_native_resize(struct app_native *native, uint32_t width, uint32_t height);
void app_native_show(struct app_native *native, bool show);
void app_native_listen(struct app_native *native);
void app_native_close(struct app_native *native);

void app_target_create(struct app *app, struct app_target *target,
                       void (*check)(const struct app *app, const struct app_pixels *pixels));
/* Waits until the slot of this frame is free, checks what it drew last, acquires an image, begins the commands. */
struct app_frame *app_target_begin(struct app_target *target);
/* Reads back, ends and submits the commands, presents. */
void app_target_end(struct app_target *target, struct app_frame *frame);
/* Waits for all frames and checks them. */
void app_target_drain(struct app_target *target);
void app_target_destroy(struct app_target *target);

/* The pixel at (x, y) in 0..1 as 0xRRGGBBAA. */
uint32_t app_pixel(const struct app_pixels *pixels, double x, double y);
/* Checks the pixel's channels to within 2. */
#define EXPECT_PIXEL(app, pixels, x, y, rgba) app_expect_pixel(app, __FILE__, __LINE__, pixels, x, y, rgba)
void app_expect_pixel(const struct app *app, const char *file, int line, const struct app_pixels *pixels, double x,
                      double y, uint32_t rgba);

#endif
