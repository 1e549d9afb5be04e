/* SPDX-License-Identifier: MIT */
/*
 * shot: one image of a swapchain on its way: cleared to a color of its number, stamped with bytes of the host, read
 * back in two places, and checked. Which image it is, and what is waited for and signalled, is the program's.
 */
#ifndef APPS_SHOT_H
#define APPS_SHOT_H

#include "target.h"

struct app_shot {
    VkCommandBuffer commands;
    VkFence acquired_fence, done;
    VkSemaphore acquired;
    struct app_buffer pixels, stamp;
    bool waits; /* for the semaphore */
    uint32_t image, number;
};

void app_shot_create(const struct app *app, struct app_shot *shot);
void app_shot_destroy(const struct app *app, struct app_shot *shot);
/* Draws picture `number` into the shot's image, signals the image's semaphore, and shot->done. Its commands and buffers
 * must be free. */
void app_shot_draw(const struct app *app, struct app_shot *shot, const struct app_swapchain *swapchain,
                   uint32_t number);
/* The drawing is known to be finished: is it what it should be? */
void app_shot_check(const struct app *app, struct app_shot *shot, const struct app_swapchain *swapchain);
/* Waits for shot->done, and checks. */
void app_shot_finish(const struct app *app, struct app_shot *shot, const struct app_swapchain *swapchain);

#endif
