/* SPDX-License-Identifier: MIT */
/*
 * player: reads a trace's packets by ticket, decodes them with live handles and calls the replay function of each. One
 * thread.
 */
#ifndef LAP_REPLAYER_PLAY_PLAYER_H
#define LAP_REPLAYER_PLAY_PLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replayer/core/device.h"

/* ---- player.c ---- */

/* Opens the trace and the Vulkan loader. LAP_ERROR_IO or LAP_ERROR_FORMAT: no readable trace; LAP_ERROR_UNSUPPORTED: no
 * Vulkan. *r may be closed after any outcome. log outlives *r. */
enum lap_status replay_open(struct replay *r, const struct replay_options *options,
                            const struct lap_log *log) LAP_MUST_CHECK;
/* Behind that: the trace alone has all that is wanted, and no device is needed. */
bool replay_has_nothing_to_play(const struct replay *r);

/* Plays all packets, or those up to options.last_frame. Error sentences name frame, packet and command. */
enum lap_status replay_run(struct replay *r) LAP_MUST_CHECK;

/* Plays what is in front of a frame, from 1. */
enum lap_status replay_run_before(struct replay *r, uint64_t frame) LAP_MUST_CHECK;

/* Destroys all live objects and frees everything. Also for a zeroed *r. False: a device does not finish its work
 * (the trace may end before a signal), so its objects live until the end of the process. */
bool replay_close(struct replay *r);

/* Plays the current packet. LAP_END: the user closed the window. For replay_run and tests. */
enum lap_status replay_packet(struct replay *r) LAP_MUST_CHECK;

/* The failure for a packet without a replay function. */
enum lap_status replay_unknown_command(struct replay *r);

/* ---- device.c ---- */

void replay_device_destroy(struct replay *r, struct replay_device *dev);
void replay_instance_destroy(struct replay *r, struct replay_instance *instance);

#endif
