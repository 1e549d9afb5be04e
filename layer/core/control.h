/* SPDX-License-Identifier: MIT */
/*
 * control: commands (trace/send/command.h) from the receiver of a streamed trace, or from the address in options.h,
 * control. A thread of the layer reads them from a separate connection: a trace's connection may be full while its
 * receiver is slow, and ends with the file. No thread of the program waits for the control thread.
 */
#ifndef LAP_LAYER_CORE_CONTROL_H
#define LAP_LAYER_CORE_CONTROL_H

struct layer_recording_hooks;

/* If there is a control address, starts the thread, which connects to it. Where parts of the run are recorded, it waits
 * for a listener, and reconnects. hooks: static. Once in a process; recording_mutex is held. */
void layer_control_start(const struct layer_recording_hooks *hooks);

/* The process ends: waits for the current command; no other command begins. */
void layer_control_end(void);

/* In the child after fork(), which has no such thread. */
void layer_control_forked(void);

#endif
