/* SPDX-License-Identifier: MIT */
/*
 * overwritten: with capture --verify=all, which contents are lost because another object that lies in the same bytes
 * was written ("Memory Aliasing" in the specification). Buffers and linear images show one another's writes. An image
 * of another tiling shows those of images alone that were created alike to be its aliases. All of it under
 * submit.mutex.
 */
#ifndef LAP_LAYER_OVERWRITTEN_H
#define LAP_LAYER_OVERWRITTEN_H

#include "layer/command/touched.h"

/* A command of the submit that is being gathered writes a range of the object, in the order of commands. bytes may be
 * UINT64_MAX. all: the range has no gaps. */
void layer_overwritten_by(struct lap_memobj *object, uint64_t offset, uint64_t bytes, bool all);

/* Shaders of this submit store to the object; at which of its commands is not known. */
void layer_overwritten_stores(struct lap_memobj *object, uint64_t serial);

/* Whether shaders of the submit stored to other objects, so that this range of the object may be lost. */
bool layer_overwritten_perhaps(struct lap_memobj *object, uint64_t offset, uint64_t bytes, uint64_t serial);

#endif
