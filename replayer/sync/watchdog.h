/* SPDX-License-Identifier: MIT */
/*
 * watchdog: a thread that ends the process when the driver does not return from a call within --wait-limit. wait.h has
 * the limit of what the replay itself waits for; but a driver may wait in vkQueueSubmit, too, or compile a pipeline for
 * ever. Time counts as there. Pipelines and other objects are made by the processor everywhere, so CPU time counts in
 * full for vkCreate....
 *
 * Time is counted by the thread's own short sleeps, so time in which the process is stopped does not count. Nor does
 * time in which nobody reads its output.
 */
#ifndef LAP_REPLAYER_SYNC_WATCHDOG_H
#define LAP_REPLAYER_SYNC_WATCHDOG_H

#include "replayer/core/replay.h"
#include "replayer/sync/wait.h"

/* From now on, until replay_watchdog_end. Without memory or a thread for it: a warning, and nobody watches. */
void replay_watchdog_begin(struct replay *r);
void replay_watchdog_end(struct replay *r); /* also where it did not begin */

/* One look of the thread, apart from it for tests. */
struct replay_look {
    uint64_t packet, steps;     /* of replay_watch */
    uint64_t passed_ms, cpu_ms; /* since the last look; CPU time of the process until now */
    bool has_room;              /* the output */
};

/* The packet that looks have seen without a step since. Zeroed: none. */
struct replay_watched {
    uint64_t packet, steps;
    struct replay_wait wait;
};

/* Whether that is over the limit. */
bool replay_watched_is_over(struct replay_watched *watched, const struct replay_look *look, uint64_t limit_ms);
#define REPLAY_WATCHDOG_SLEEP_MS 500u /* between two looks */

#endif
