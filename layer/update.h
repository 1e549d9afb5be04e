/* SPDX-License-Identifier: MIT */
/*
 * update: what the host wrote, as packets. Each long run of bytes is one (lapilliUpdateBuffer, and lapilliUpdateImage
 * by row for linear images, whose padding between rows is left out); all short ones of an object at a submit are one
 * together (lapilliUpdateBufferSpans, lapilliUpdateImageSpans).
 */
#ifndef LAP_LAYER_UPDATE_H
#define LAP_LAYER_UPDATE_H

#include "layer/layer.h"

/* Before the packet of a submission: writes packets for all that its work may read and the host has written since the
 * last time. touched is sealed; NULL: everything. Any thread, with no packet open. Nothing happens when nothing is
 * recorded. */
void layer_emit_updates(struct layer_device *dev, const struct lap_touched *touched);

#endif
