/* SPDX-License-Identifier: MIT */
/* touched_record: lists of touched memory and of steps of commands, for command buffers, submits and devices. */
#ifndef LAP_LAYER_TOUCHED_RECORD_H
#define LAP_LAYER_TOUCHED_RECORD_H

#include <stdint.h>

#include "memtrack/memtrack.h"

/* Memory that commands touch. The second and third list name subsets of the written ranges (enum layer_touch). */
struct layer_touched {
    struct lap_touched ranges;
    struct lap_touched unchecked; /* contents differ between runs: query results, attachments without a defined load */
    struct lap_touched partly;    /* of linear images: some bytes keep their values */
};

/* Events that are set and queries that are ended: they show the host how far the device is (progress_query.h). */
struct layer_progress_queries {
    struct layer_progress_query *items;
    uint32_t count, capacity;
};

/* Event commands (cmdbuf_parts.h). */
struct layer_event_steps {
    struct layer_event_step *items;
    uint32_t count, capacity;
};

/* With capture --verify=all, or where parts of the run are recorded (image_state.h). */
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
