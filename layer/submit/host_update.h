/* SPDX-License-Identifier: MIT */
/*
 * host_update: packets of host writes. Each long run of bytes is one packet (lapilliUpdateBuffer, and
 * lapilliUpdateImage by row for linear images, without the padding between rows). All short runs of an object at a
 * submit share one packet (lapilliUpdateBufferSpans, lapilliUpdateImageSpans).
 */
#ifndef LAP_LAYER_HOST_UPDATE_H
#define LAP_LAYER_HOST_UPDATE_H

#include "layer/core/layer.h"

/* Before the packet of a submission: writes packets for all memory that its work may read and the host has written
 * since the last time. touched is sealed; NULL: everything. Any thread, with no packet open. Nothing happens when
 * nothing is recorded. */
void layer_emit_updates(struct layer_device *dev, const struct lap_touched *touched);

/* Buffer contents are written elsewhere: writes packets of pending host writes for images only. */
void layer_emit_image_updates(struct layer_device *dev);

/* The same for touched memory: drops its pending host writes. */
void layer_drop_updates(struct layer_device *dev, const struct lap_touched *touched);

#endif
