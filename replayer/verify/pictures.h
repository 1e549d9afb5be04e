/* SPDX-License-Identifier: MIT */
/*
 * pictures: --pictures DIR: writes images as they are where the replay ends, when all submitted work is done: as PNG
 * (vulkan/texel/texel_picture.h), as the bytes of their texels, or as both. One thread.
 */
#ifndef LAP_REPLAYER_VERIFY_PICTURES_H
#define LAP_REPLAYER_VERIFY_PICTURES_H

#include "inspector/state/picture_list.h"
#include "replayer/core/replay.h"

/* Reads the list of list_file into pictures->list. LAP_ERROR_ARGUMENT or LAP_ERROR_IO with a sentence. */
enum lap_status replay_pictures_read_list(struct replay_pictures *pictures) LAP_MUST_CHECK;

/* Writes the pictures of r->options.pictures, and a line on stdout for each. A target that can't be read is left out,
 * with a warning. LAP_ERROR_UNSUPPORTED: none can be read. LAP_ERROR_ARGUMENT: a wanted name is not in the list.
 * LAP_ERROR_IO, LAP_ERROR_MEMORY, LAP_ERROR_REPLAY (replay_settle). */
enum lap_status replay_write_pictures(struct replay *r) LAP_MUST_CHECK;

#endif
