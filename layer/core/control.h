/* SPDX-License-Identifier: MIT */
/*
 * control: commands of whoever receives a streamed trace, or listens for that (options.h, control): trace/command.h. A
 * thread of the layer's own takes them from a connection of its own: a trace's may be full for as long as its receiver
 * is slow, and it ends with the file. No thread of the program waits for it.
 */
#ifndef LAP_LAYER_CORE_CONTROL_H
#define LAP_LAYER_CORE_CONTROL_H

struct layer_recording_hooks;

/* Starts the thread, which connects, if there is an address for that; without it nobody commands. Where parts of the
 * run are recorded it waits until somebody listens, and connects again. hooks: static. Once in a process;
 * recording_mutex is held. */
void layer_control_start(const struct layer_recording_hooks *hooks);

/* The process ends: a command that is under way comes to its end before, no other is begun. */
void layer_control_end(void);

/* In the child after fork(), which has no such thread. */
void layer_control_forked(void);

#endif
