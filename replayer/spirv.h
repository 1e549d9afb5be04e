/* SPDX-License-Identifier: MIT */
/*
 * spirv: whether the code of a trace's shaders is valid SPIR-V, looked at before a driver compiles it
 * (--validate-shaders). What is valid is SPIRV-Tools' word (spirv_tools.c), which only some builds have; here is which
 * calls bring code, and what the device lets code be.
 *
 * One thread.
 */
#ifndef LAP_REPLAYER_SPIRV_H
#define LAP_REPLAYER_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vulkan/vulkan.h>

#include "base/status.h"

struct replay;
struct replay_device;

/* What decides which code is valid, beside the code. */
struct replay_spirv_target {
    uint32_t api_version;                                           /* of the device, as the program may use it */
    bool spirv_1_4;                                                 /* by VK_KHR_spirv_1_4 */
    bool relaxed_blocks;                                            /* by VK_KHR_relaxed_block_layout, or Vulkan 1.1 */
    bool standard_uniforms, scalar_blocks, scalar_workgroup_blocks; /* layouts of blocks */
    bool local_size_id;
};

/* LAP_OK: valid. LAP_ERROR_REPLAY: not, with a sentence that begins with the offset in bytes: "byte 20: ...".
 * LAP_ERROR_MEMORY. */
typedef enum lap_status (*replay_spirv_judge)(const struct replay_spirv_target *target, const uint32_t *words,
                                              size_t word_count);

/* spirv_tools.c: NULL in builds without SPIRV-Tools. */
extern const replay_spirv_judge replay_spirv_tools;

/* For a device of this version; info: as it was recorded. */
void replay_spirv_target_init(struct replay_spirv_target *target, uint32_t api_version, const VkDeviceCreateInfo *info);

/* Whether all code that the call r->command (a creation, with decoded arguments) hands over is valid, by options.judge.
 */
enum lap_status replay_spirv_look(struct replay *r, const struct replay_device *dev, const void *args) LAP_MUST_CHECK;

#endif
