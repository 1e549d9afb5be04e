/* SPDX-License-Identifier: MIT */
/*
 * player: takes a trace's packets by ticket, decodes them with live handles and calls the replay function of each.
 * Also what generated replay functions need from the context (context.c, handles.c, device.c). One thread.
 */
#ifndef LAP_REPLAYER_PLAYER_H
#define LAP_REPLAYER_PLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replayer/context.h"

/* ---- player.c ---- */

/* Opens the trace and the Vulkan loader. LAP_ERROR_IO or LAP_ERROR_FORMAT: no readable trace; LAP_ERROR_UNSUPPORTED: no
 * Vulkan. *r may be closed after any outcome. log outlives *r. */
enum lap_status replay_open(struct replay *r, const struct replay_options *options,
                            const struct lap_log *log) LAP_MUST_CHECK;

/* Plays all packets, or those up to options.last_frame. Error sentences name frame, packet and command. */
enum lap_status replay_run(struct replay *r) LAP_MUST_CHECK;

/* Destroys what is still alive and frees everything. Also for a zeroed *r. False: a device does not finish what it was
 * given (the trace may end before what it waits for), so its objects are left to the end of the process. */
bool replay_close(struct replay *r);

/* Plays the current packet. LAP_END: the user wants no more. For replay_run and tests. */
enum lap_status replay_packet(struct replay *r) LAP_MUST_CHECK;

/* The failure for a packet that no replay function is for. */
enum lap_status replay_unknown_command(struct replay *r);

/* The owner (struct replay_instance * or struct replay_device *) of a live object; fails with a sentence. */
enum lap_status replay_owner(struct replay *r, enum gen_handle_type type, uint64_t index,
                             void **out_owner) LAP_MUST_CHECK;

/* ---- context.c ---- */

/* Puts the place in front of the current error sentence, unless it is there already. Returns `status`. */
enum lap_status replay_place(struct replay *r, enum lap_status status);
/* The driver has no such command: LAP_ERROR_UNSUPPORTED, or LAP_OK for commands that only serve debuggers. */
enum lap_status replay_missing(struct replay *r, uint32_t command);
/* The current command is one that no replay gives to a driver (gen_replay_refusals). */
enum lap_status replay_refuse_command(struct replay *r);
/* A parameter that a driver follows is NULL in the trace. */
enum lap_status replay_absent(struct replay *r, const char *parameter);
/* Zeroed memory until the next packet; NULL for 0 bytes and when there is no memory. */
void *replay_scratch(struct replay *r, uint64_t count, size_t element_bytes);
enum lap_status replay_no_scratch(struct replay *r);
/* Milliseconds of a clock that never goes back. */
uint64_t replay_now_ms(void);

/* ---- handles.c ---- */

/* See gen_keep_VkX in gen_replay.h. */
enum lap_status replay_keep(struct replay *r, enum gen_handle_type type, void *owner, uint64_t index,
                            uint64_t live) LAP_MUST_CHECK;
/* Removes a destroyed object from its table; 0 and handles that are not there are fine. */
void replay_forget(struct replay *r, enum gen_handle_type type, uint64_t live);
/* Destroys what is alive and belongs to `owner`, newest first, each by its own command; objects that end with another
 * are left to that. */
void replay_destroy_left(struct replay *r, void *owner);
void replay_tables_finish(struct replay *r);

/* Indices of objects that end with their pool. A child's record holds its place in the list, so it is the list's. */
struct replay_children {
    uint64_t *indices;
    uint64_t count, capacity;
};
/* The object's parent is set too. */
enum lap_status replay_children_add(struct replay *r, struct replay_children *children, enum gen_handle_type type,
                                    uint64_t index, uint64_t parent) LAP_MUST_CHECK;
/* Before some are freed, one by one: fails for an object that is alive and not in the list, or is freed twice, for a
 * trace may say anything. *checked: how many were so far, 0 before the first. The list's order changes. */
enum lap_status replay_children_check(struct replay *r, struct replay_children *children, enum gen_handle_type type,
                                      uint64_t index, uint64_t *checked) LAP_MUST_CHECK;
/* Removes one child, if it is alive, from the list and from its table. */
void replay_children_remove(struct replay *r, struct replay_children *children, enum gen_handle_type type,
                            uint64_t index);
/* All of them; keeps the list's memory. */
void replay_children_clear(struct replay *r, struct replay_children *children, enum gen_handle_type type);
void replay_children_finish(struct replay_children *children);

/* ---- device.c ---- */

/* Whether each of the device's queues gets done within so much time. */
bool replay_device_finishes(struct replay_device *dev, uint64_t limit_ns);
#define REPLAY_FINISH_LIMIT_NS 5000000000u /* for what is under way at the end */
void replay_device_destroy(struct replay *r, struct replay_device *dev);
void replay_instance_destroy(struct replay *r, struct replay_instance *instance);

#endif
