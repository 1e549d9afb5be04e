/* SPDX-License-Identifier: MIT */
/* live_objects: lists of the live objects of a device while a part of the run begins. Under the lock of parts, so that
 * none of them is destroyed: a destroying call writes a packet first. */
#ifndef LAP_LAYER_LIVE_OBJECTS_H
#define LAP_LAYER_LIVE_OBJECTS_H

#include "layer/core/layer.h"

struct layer_live_objects {
    struct lap_object **items; /* by index */
    size_t count, capacity;
    bool failed;
    const struct layer_device *dev;
    enum gen_handle_type type;
};

/* LAP_ERROR_MEMORY; then the list is empty. */
enum lap_status layer_live_objects_of(struct layer_device *dev, enum gen_handle_type type,
                                      struct layer_live_objects *out) LAP_MUST_CHECK;
void layer_live_objects_finish(struct layer_live_objects *records);

#endif
