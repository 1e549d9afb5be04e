/* SPDX-License-Identifier: MIT */
/* touched_record: lists of what commands touch and do, as command buffers, submits and devices hold them. */
#ifndef LAP_LAYER_TOUCHED_RECORD_H
#define LAP_LAYER_TOUCHED_RECORD_H

#include <stdint.h>

#include "memtrack/memtrack.h"

/* What commands touch. The lists behind the first name parts of what is written there (enum layer_touch). */
struct layer_touched {
    struct lap_touched ranges;
    struct lap_touched unchecked; /* not the same in every run: queries, what is loaded from nothing */
    struct lap_touched partly;    /* of linear images: some of it stays what it was */
};

/* Events that are set and queries that are ended: the host may learn from them how far the device is
 * (progress_query.h). */
struct layer_progress_queries {
    struct layer_progress_query *items;
    uint32_t count, capacity;
};

/* What commands do with events (cmdbuf_parts.h). */
struct layer_event_steps {
    struct layer_event_step *items;
    uint32_t count, capacity;
};

/* With capture --verify=all (image_state.h). */
struct layer_image_steps {
    struct layer_image_step *items;
    uint32_t count, capacity;
};

/* Where parts of the run are recorded (build_inputs.h). */
struct layer_structure_steps {
    struct layer_structure_step *items;
    uint32_t count, capacity;
};

#endif
