/* SPDX-License-Identifier: MIT */
/*
 * lost: contents that buffers and images had before a part, and that the part's trace lacks, by reason. The trace says
 * so ("contents_lost" of its info), since nothing else in it does.
 */
#ifndef LAP_LAYER_PART_LOST_H
#define LAP_LAYER_PART_LOST_H

#include <stdint.h>

#include "vulkan/unchecked.h"

/* A part begins: nothing is lost yet. */
void layer_lost_begin(void);

/* Objects that have lost contents. Into the open trace, unless there are none. */
void layer_lost_note(const uint32_t objects[LAP_UNCHECKED_COUNT]);

#endif
