/* SPDX-License-Identifier: MIT */
/*
 * format_copies: copies in command buffers of images with a substitute format (format.h). Between buffers and images,
 * and between images with different substitutes, the device converts texels within the command buffer (gpu_convert.h).
 * The conversion changes the compute bind point. To restore it, the replay notes the commands of a block that bind
 * something there (bound_state.c).
 *
 * Only for devices with formats->converts_copies. One thread.
 */
#ifndef LAP_REPLAYER_FORMAT_FORMAT_COPIES_H
#define LAP_REPLAYER_FORMAT_FORMAT_COPIES_H

#include "replayer/core/replay.h"
#include "replayer/format/stencil_only.h"
#include "vulkan/block.h"

/* A command that binds something, and its position in the block. */
struct replay_format_bound_command {
    struct lap_block at;
    uint32_t first, count; /* descriptor sets that it binds; 0: a pipeline, or conditional rendering */
    bool pushes;           /* to a set, where earlier pushed descriptors stay */
};

/* The compute bindings of the command buffer that is being recorded. */
struct replay_format_bound_state {
    struct lap_block pipeline, condition;     /* the commands; dec.source NULL: none */
    struct replay_format_bound_command *sets; /* in order */
    size_t count, capacity;
};

struct replay_format_copies {
    struct replay_format_bound_state bound;
    struct replay_format_depth_tests tests;
    VkCommandBuffer commands;
};

/* ---- bound_state.c ---- */

void replay_format_bound_finish(struct replay_format_bound_state *bound);
/* Notes a recorded command; `before` is the block before the command was decoded. */
enum lap_status replay_format_bound_note(struct replay *r, struct replay_format_bound_state *bound,
                                         const struct lap_block *before, uint32_t command,
                                         const void *args) LAP_MUST_CHECK;
/* Suspends conditional rendering, which would affect conversions too, until replay_format_bound_restore. */
void replay_format_bound_suspend(struct replay_device *dev, VkCommandBuffer commands,
                                 const struct replay_format_bound_state *bound);
/* Records the noted commands again, which restores the bind point. */
enum lap_status replay_format_bound_restore(struct replay *r, struct replay_device *dev,
                                            const struct replay_format_bound_state *bound) LAP_MUST_CHECK;

/* ---- format_copies.c ---- */

/* Records a copy with conversion of texels. LAP_END: no conversion is needed, and the caller records the copy
 * unchanged. */
enum lap_status replay_format_copies_record(struct replay *r, struct replay_device *dev,
                                            struct replay_format_copies *copies, const void *args) LAP_MUST_CHECK;

#endif
