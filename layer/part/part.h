/* SPDX-License-Identifier: MIT */
/*
 * part: which parts of the run are recorded, each into a file of its own (layer/core/options.h, struct layer_parts).
 *
 * A part begins and ends where a frame or a submit has ended, or where the program says so. It begins when the devices
 * are idle: they are waited for, once. Until work that waits for the host can go on, a part that was asked for waits.
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

/* Before a device is destroyed: what was made to wait for its queues goes. */
struct layer_device;
void layer_part_device_ends(struct layer_device *dev);

/* From now on, or up to now. False: no parts are recorded, or one is or is not already, or it was said why not. */
bool layer_part_begin(void);
bool layer_part_end(void);

#endif
