/* SPDX-License-Identifier: MIT */
/*
 * follow: what copies in command buffers do about images whose format is another one here (format.h). Between buffers
 * and images, and between images that were replaced differently, texels are converted by the device, within the command
 * buffer (converter.h). What that changes of the compute bind point is put back: for this the commands of a block that
 * bind something there are remembered (bound.c).
 *
 * Only for devices whose formats->follows is set. One thread.
 */
#ifndef LAP_REPLAYER_FOLLOW_H
#define LAP_REPLAYER_FOLLOW_H

#include "codegen/support/block.h"
#include "replayer/context.h"
#include "replayer/stencil.h"

/* A command that binds something, and where it stands in its block. */
struct replay_bound_command {
    struct lap_block at;
    uint32_t first, count; /* descriptor sets that it binds; 0: a pipeline, or conditional rendering */
    bool pushes;           /* to a set, where what was pushed before stays */
};

/* What is bound for compute in the command buffer that is being recorded. */
struct replay_bound {
    struct lap_block pipeline, condition; /* the commands; dec.source NULL: none */
    struct replay_bound_command *sets;    /* in order */
    size_t count, capacity;
};

struct replay_follow {
    struct replay_bound bound;
    struct replay_depth_tests tests;
    VkCommandBuffer commands;
};

/* ---- bound.c ---- */

void replay_bound_clear(struct replay_bound *bound); /* nothing is bound; keeps its memory */
void replay_bound_finish(struct replay_bound *bound);
/* A command has been recorded; `before` is the block before it was decoded. */
enum lap_status replay_bound_note(struct replay *r, struct replay_bound *bound, const struct lap_block *before,
                                  uint32_t command, const void *args) LAP_MUST_CHECK;
/* Lifts conditional rendering, which would hold for conversions too; replay_bound_restore brings it back. */
void replay_bound_suspend(struct replay_device *dev, VkCommandBuffer commands, const struct replay_bound *bound);
/* Records the commands again that made the bind point what it was. */
enum lap_status replay_bound_restore(struct replay *r, struct replay_device *dev,
                                     const struct replay_bound *bound) LAP_MUST_CHECK;

/* ---- follow.c ---- */

/* Records a copy whose texels are converted. LAP_END: it is none, and to be recorded as it is. */
enum lap_status replay_follow(struct replay *r, struct replay_device *dev, struct replay_follow *follow,
                              const void *args) LAP_MUST_CHECK;

#endif
