/* SPDX-License-Identifier: MIT */
/*
 * refused_copies: finds the copies of a trace that a replay would refuse, because they read blocks of images that are
 * decoded (block_copies.h). For lapilli check, which makes no objects: handles are the trace's indices. One thread.
 */
#ifndef LAP_REPLAYER_FORMAT_REFUSED_COPIES_H
#define LAP_REPLAYER_FORMAT_REFUSED_COPIES_H

#include "replayer/core/replay.h"

struct replay_refused_copies;

struct replay_refused_copies *replay_refused_copies_create(void); /* NULL: no memory */
void replay_refused_copies_destroy(struct replay_refused_copies *look);

/* Notes an image that the trace creates, with its recorded format. */
enum lap_status replay_refused_copies_image(struct replay_refused_copies *look, const struct replay_device *dev,
                                            uint64_t image, VkFormat recorded) LAP_MUST_CHECK;

/* Looks at a call or a recorded command, r->at.command. LAP_ERROR_UNSUPPORTED with the sentence of the refusal. */
enum lap_status replay_refused_copies_call(struct replay_refused_copies *look, struct replay *r,
                                           const void *args) LAP_MUST_CHECK;

#endif
