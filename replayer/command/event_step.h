/* SPDX-License-Identifier: MIT */
/* event_step: one use of an event by a command buffer. */
#ifndef LAP_REPLAYER_COMMAND_EVENT_STEP_H
#define LAP_REPLAYER_COMMAND_EVENT_STEP_H

struct replay_event; /* submit/schedule.h */

enum replay_event_use { REPLAY_EVENT_SET, REPLAY_EVENT_RESET, REPLAY_EVENT_WAIT };

struct replay_event_step {
    struct replay_event *event;
    enum replay_event_use use;
};

#endif
