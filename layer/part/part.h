/* SPDX-License-Identifier: MIT */
/*
 * part: the recorded parts of the run, each in a file of its own (layer/core/options.h, struct layer_parts).
 *
 * A part begins and ends at the end of a frame or a submit, or where the program asks for it. It begins when the
 * devices are idle: the layer waits for them once. While submitted work waits for the host, a requested part stays
 * pending.
 */
#ifndef LAP_LAYER_PART_H
#define LAP_LAYER_PART_H

#include <stdbool.h>
#include <stdint.h>

struct layer_last_part;
struct lap_length;

/* For struct layer_recording_hooks. */
bool layer_part_begins_at_once(void);
void layer_part_frame_ended(void);
void layer_part_submitted(void);
void layer_part_waited(void);
void layer_part_process_ends(void);
const char *layer_part_start(uint64_t frames);
const char *layer_part_stop(void);
const char *layer_part_keep_last(const struct lap_length *length);
const char *layer_part_keep(void);
void layer_part_forked(void);
void layer_part_last(struct layer_last_part *out);

/* Before a device is destroyed: destroys the fences that wait for its queues. */
struct layer_device;
void layer_part_device_ends(struct layer_device *dev);

/* Begins a part now, or ends it. False: no parts are recorded, one is already (or not) being recorded, or it failed and
 * the reason was logged. */
bool layer_part_begin(void);
bool layer_part_end(void);

#endif
