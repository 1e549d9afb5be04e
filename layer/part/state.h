/* SPDX-License-Identifier: MIT */
/*
 * state: the state at the beginning of a part of the run. First the packets of the keeper that create the program's
 * objects (layer/core/keeper.h), then their state: descriptors, layouts, events and queries, contents of buffers and
 * images, then fences, semaphores and presentable images. All of it is packets of the ordinary kinds, between two
 * lapilliState.
 *
 * Under the lock of parts, and verify.mutex and submit.mutex of all devices, which are idle.
 */
#ifndef LAP_LAYER_STATE_H
#define LAP_LAYER_STATE_H

#include "layer/core/layer.h"

/* Why no part can begin now; NULL: one can. A static sentence. */
const char *layer_state_fault(struct layer_device *devices);

/* Into the open file. Other than LAP_OK: some of it is missing. Does not check whether the writer has stopped. */
enum lap_status layer_state_write(struct layer_device *devices) LAP_MUST_CHECK;

/* ---- its parts, for one device ---- */

/* A command buffer of the layer's own, which exists in the trace alone. */
struct layer_state_commands {
    struct layer_device *dev;
    VkQueue queue;
    uint32_t family;
    VkQueueFlags flags;
    VkCommandPool pool;
    VkCommandBuffer commands;
    struct lap_enc enc;
    uint32_t count; /* of commands in it; not submitted if there is only the first one */
};

/* wanted: required flags of the queue; 0: any queue. out->queue is NULL if the device has no such queue, so nothing was
 * ever submitted. In that case, and after an error, do not call the end function. */
enum lap_status layer_state_commands_begin(struct layer_device *dev, VkQueueFlags wanted,
                                           struct layer_state_commands *out) LAP_MUST_CHECK;
/* The encoder for a command of its block; NULL: out of memory, which layer_state_commands_end returns. */
struct lap_enc *layer_state_command(struct layer_state_commands *commands, enum gen_command command);
/* Submits it, waits for it, and destroys it, in the trace. */
enum lap_status layer_state_commands_end(struct layer_state_commands *commands) LAP_MUST_CHECK;

/* Why some acceleration structure can't be built again; NULL: all can. */
const char *layer_state_structures_fault(struct layer_device *dev);
/* Builds the acceleration structures again, from copies of their inputs (layer/command/build_inputs.h), which exist in
 * the trace only meanwhile. */
enum lap_status layer_state_structures(struct layer_device *dev) LAP_MUST_CHECK;
/* Whether queries of the type need a structure; and makes one available, if there is a structure for it. */
bool layer_state_asks_structures(VkQueryType type);
void layer_state_structure_query(struct layer_state_commands *commands, VkQueryPool pool, VkQueryType type,
                                 uint32_t query);

/* Binds the memory of sparse buffers and images. */
enum lap_status layer_state_sparse(struct layer_device *dev) LAP_MUST_CHECK;
/* Whether a sparse object has memory, all of which is still allocated. */
bool layer_state_has_pages(const struct layer_sparse_pages *pages);

/* Barriers that bring images from their first layouts to those that they have. */
enum lap_status layer_state_layouts(struct layer_state_commands *commands) LAP_MUST_CHECK;
enum lap_status layer_state_events_and_queries(struct layer_state_commands *commands) LAP_MUST_CHECK;
/* LAP_ERROR_MEMORY: some of it is missing. */
enum lap_status layer_state_contents(struct layer_device *dev) LAP_MUST_CHECK;
#define LAYER_STATE_NO_MEMORY "memory is short"
/* Why no part can begin with the device's semaphores and fences; NULL: it can. */
const char *layer_state_sync_fault(struct layer_device *dev, struct layer_device *devices);
enum lap_status layer_state_fences_and_semaphores(struct layer_device *dev, VkQueue queue) LAP_MUST_CHECK;
enum lap_status layer_state_swapchains(struct layer_device *dev, VkQueue queue) LAP_MUST_CHECK;

#endif
