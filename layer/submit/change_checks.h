/* SPDX-License-Identifier: MIT */
/*
 * change_checks: checks of what shaders stored through addresses into memory that the program maps (capture --verify).
 * No command names these bytes. Memory tracking finds them changed when the program learns that the work is finished,
 * or when it maps the memory. The host may have stored some of them while the memory was mapped, and others may be left
 * of a buffer that lay there before. So a check (lapilliCheckStores) has both forms of each word, and a replay's word
 * must be one of them.
 */
#ifndef LAP_LAYER_CHANGE_CHECKS_H
#define LAP_LAYER_CHANGE_CHECKS_H

#include "layer/core/records.h"

/* Between the two, comparisons leave checks. running: work that may store anywhere is under way, so that nothing can be
 * compared. Under dev->submit.mutex, no packet open. */
struct layer_changes *layer_changes_begin(struct layer_device *dev, bool running);
void layer_changes_end(struct layer_changes *changes); /* NULL: nothing */

#endif
