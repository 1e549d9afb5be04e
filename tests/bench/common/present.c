/* SPDX-License-Identifier: MIT */
#include "present.h"

static void look_at_nothing(const struct app *app, const struct app_pixels *pixels)
{
    (void)app;
    (void)pixels;
}

void bench_target_create(struct app *app, struct app_target *target)
{
    app_target_create(app, target, look_at_nothing);
}

void bench_present(struct app_target *target)
{
    struct app_frame *frame = app_target_begin(target);
    const struct app_image image = {.image = target->swapchain.images[frame->image],
                                    .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    app_image_barrier(frame->commands, &image, VK_IMAGE_LAYOUT_UNDEFINED, target->final_layout);
    app_target_end(target, frame);
}
