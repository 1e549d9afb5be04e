/* SPDX-License-Identifier: MIT */
#include "replayer/present/screenshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "replayer/core/progress.h"
#include "vulkan/texel/pixels.h"

enum lap_status replay_screenshot_write(struct replay *r, uint64_t frame, uint32_t number, VkFormat format,
                                        VkExtent2D extent, const void *pixels)
{
    const char *folder = r->options.screenshot_dir ? r->options.screenshot_dir : ".";
    char path[4096], suffix[16] = "";
    enum lap_status status;
    uint64_t packet;
    int length;

    if (number > 0)
        snprintf(suffix, sizeof suffix, "_%u", number + 1);
    length = snprintf(path, sizeof path, "%s/frame_%" PRIu64 "%s.png", folder, frame, suffix);
    if (length < 0 || (size_t)length >= sizeof path)
        return lap_fail(LAP_ERROR_ARGUMENT, "the name of the folder for screenshots is too long");
    packet = replay_watch_pause(&r->watch); /* disks and the program that runs the replay have no time limit */
    status = lap_png_write(path, lap_pixels_layout(format), pixels, extent.width, extent.height);
    if (status == LAP_OK)
        replay_progress_screenshot(r, frame, path + strlen(folder) + 1);
    replay_watch_go_on(&r->watch, packet);
    return status;
}
