/* SPDX-License-Identifier: MIT */
/*
 * host_update: what the host wrote, as packets. Each long run of bytes is one (lapilliUpdateBuffer, and
 * lapilliUpdateImage by row for linear images, whose padding between rows is left out); all short ones of an object at
 * a submit are one together (lapilliUpdateBufferSpans, lapilliUpdateImageSpans).
 */
#ifndef LAP_LAYER_HOST_UPDATE_H
#define LAP_LAYER_HOST_UPDATE_H

#include "layer/core/layer.h"

/* Before the packet of a submission: writes packets for all that its work may read and the host has written since the
 * last time. touched is sealed; NULL: everything. Any thread, with no packet open. Nothing happens when nothing is
 * recorded. */
void layer_emit_updates(struct layer_device *dev, const struct lap_touched *touched);

/* The contents of buffers are written otherwise: sends what is pending for images alone. */
void layer_emit_image_updates(struct layer_device *dev);

/* The same for what is touched: nothing that is pending there is sent. */
void layer_drop_updates(struct layer_device *dev, const struct lap_touched *touched);

#endif
