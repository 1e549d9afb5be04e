/* SPDX-License-Identifier: MIT */
/*
 * queue_use: what a trace does on each queue family of a device, found by reading it once before it is played. Only a
 * device whose families are not as they were needs it.
 */
#ifndef LAP_REPLAYER_QUEUE_USE_H
#define LAP_REPLAYER_QUEUE_USE_H

#include "replayer/families.h"
#include "trace/reader.h"

/* Sets the needs of the families of VkDevice:device, whose flags are known already: what is recorded into command
 * buffers of their pools, and what is done on their queues. On a reader of its own. An error means that the trace
 * could not be read to its end; then nothing is set. */
enum lap_status replay_find_queue_use(const struct lap_reader *trace, uint64_t device,
                                      struct replay_recorded_family families[REPLAY_MAX_FAMILIES]) LAP_MUST_CHECK;

#endif
