/* SPDX-License-Identifier: MIT */
/*
 * label: which commands and calls begin, end and insert a debug label. The one list of them: whatever follows labels
 * asks here.
 *
 * A label that begins in a command buffer may end in a later one of the same queue ("Command Buffer Labels" in the
 * specification). Labels of a queue go around submits, and have a stack of their own.
 */
#ifndef LAP_VULKAN_LABEL_H
#define LAP_VULKAN_LABEL_H

#include <stdint.h>

#include "gen_decode.h"
#include "gen_ids.h"

enum lap_label_step { LAP_LABEL_NONE, LAP_LABEL_BEGIN, LAP_LABEL_END, LAP_LABEL_INSERT };

static inline const char *lap_label_text(const VkDebugUtilsLabelEXT *label)
{
    return label && label->pLabelName ? label->pLabelName : "";
}

static inline const char *lap_label_marker_text(const VkDebugMarkerMarkerInfoEXT *marker)
{
    return marker && marker->pMarkerName ? marker->pMarkerName : "";
}

/* Of a command in a command buffer. *out_text: of what begins or is inserted; never NULL. */
static inline enum lap_label_step lap_label_step_of(uint32_t command, const void *args, const char **out_text)
{
    *out_text = "";
    switch (command) {
    case GEN_vkCmdBeginDebugUtilsLabelEXT:
        *out_text = lap_label_text(((const struct gen_args_vkCmdBeginDebugUtilsLabelEXT *)args)->pLabelInfo);
        return LAP_LABEL_BEGIN;
    case GEN_vkCmdDebugMarkerBeginEXT:
        *out_text = lap_label_marker_text(((const struct gen_args_vkCmdDebugMarkerBeginEXT *)args)->pMarkerInfo);
        return LAP_LABEL_BEGIN;
    case GEN_vkCmdInsertDebugUtilsLabelEXT:
        *out_text = lap_label_text(((const struct gen_args_vkCmdInsertDebugUtilsLabelEXT *)args)->pLabelInfo);
        return LAP_LABEL_INSERT;
    case GEN_vkCmdDebugMarkerInsertEXT:
        *out_text = lap_label_marker_text(((const struct gen_args_vkCmdDebugMarkerInsertEXT *)args)->pMarkerInfo);
        return LAP_LABEL_INSERT;
    case GEN_vkCmdEndDebugUtilsLabelEXT:
    case GEN_vkCmdDebugMarkerEndEXT:
        return LAP_LABEL_END;
    default:
        return LAP_LABEL_NONE;
    }
}

/* The same of a call for a queue. *out_queue: its number in the trace. */
static inline enum lap_label_step lap_label_queue_step_of(uint32_t command, const void *args, uint64_t *out_queue,
                                                          const char **out_text)
{
    const struct gen_args_vkQueueBeginDebugUtilsLabelEXT *begin = args;
    const struct gen_args_vkQueueInsertDebugUtilsLabelEXT *insert = args;
    const struct gen_args_vkQueueEndDebugUtilsLabelEXT *end = args;

    *out_text = "";
    switch (command) {
    case GEN_vkQueueBeginDebugUtilsLabelEXT:
        *out_queue = gen_u64_VkQueue(begin->queue);
        *out_text = lap_label_text(begin->pLabelInfo);
        return LAP_LABEL_BEGIN;
    case GEN_vkQueueInsertDebugUtilsLabelEXT:
        *out_queue = gen_u64_VkQueue(insert->queue);
        *out_text = lap_label_text(insert->pLabelInfo);
        return LAP_LABEL_INSERT;
    case GEN_vkQueueEndDebugUtilsLabelEXT:
        *out_queue = gen_u64_VkQueue(end->queue);
        return LAP_LABEL_END;
    default:
        *out_queue = 0;
        return LAP_LABEL_NONE;
    }
}

#endif
