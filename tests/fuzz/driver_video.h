/* SPDX-License-Identifier: MIT */
/* driver_video: a part of driver.h. */
#ifndef LAP_TESTS_FUZZ_DRIVER_VIDEO_H
#define LAP_TESTS_FUZZ_DRIVER_VIDEO_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

/* Fills the chain of a queue family whose flags are set. */
void driver_fill_video_family(VkQueueFamilyProperties2 *out);
/* False: the command is not about that. */
bool driver_answer_video(uint32_t command, void *args, uint64_t *out);

#endif
