/* SPDX-License-Identifier: MIT */
/*
 * shader_validation: checks that the code of a trace's shaders is valid SPIR-V, before a driver compiles it
 * (--validate-shaders). SPIRV-Tools does the validation (spirv_tools.c), in builds that have it. This file finds the
 * code in calls, and sets up the target environment of the device.
 *
 * One thread.
 */
#ifndef LAP_REPLAYER_DEVICE_SHADER_VALIDATION_H
#define LAP_REPLAYER_DEVICE_SHADER_VALIDATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vulkan/vulkan.h>

#include "replayer/core/device.h"

/* The target environment of the validation. */
struct replay_spirv_target {
    uint32_t api_version;                                           /* of the device, as available to the program */
    bool spirv_1_4;                                                 /* by VK_KHR_spirv_1_4 */
    bool relaxed_blocks;                                            /* by VK_KHR_relaxed_block_layout, or Vulkan 1.1 */
    bool standard_uniforms, scalar_blocks, scalar_workgroup_blocks; /* layouts of blocks */
    bool local_size_id;
};

/* spirv_tools.c: NULL in builds without SPIRV-Tools. */
extern const replay_spirv_judge replay_spirv_tools;
/* NULL: the same. */
extern const replay_spirv_text replay_spirv_tools_text;

/* For a device of this version; info: as it was recorded. */
void replay_spirv_target_init(struct replay_spirv_target *target, uint32_t api_version, const VkDeviceCreateInfo *info);

/* Checks all code in the call r->at.command (a creation, with decoded arguments) with options.judge. */
enum lap_status replay_spirv_check(struct replay *r, const struct replay_device *dev, const void *args) LAP_MUST_CHECK;

#endif
