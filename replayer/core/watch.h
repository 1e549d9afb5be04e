/* SPDX-License-Identifier: MIT */
/*
 * watch: the steps of a replay, for a thread that ends it when it stands still in a call of the driver
 * (replayer/sync/watchdog.h). The thread that plays says which packet it plays. It says that it plays none while it
 * reads the trace, writes files, or waits for a program or a user: none of that has a limit.
 *
 * enter, leave, pause and go_on: the thread that plays. step: any thread.
 */
#ifndef LAP_REPLAYER_CORE_WATCH_H
#define LAP_REPLAYER_CORE_WATCH_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define REPLAY_WATCH_COMMAND_BITS 16u
#define REPLAY_WATCH_NO_PACKET    UINT64_C(1) /* calls of the driver that belong to no packet */

struct replay_watchdog; /* replayer/sync/watchdog.h */

struct replay_watch {
    _Atomic uint64_t packet;      /* its ticket and its command; 0: none is played */
    struct replay_watchdog *dog;  /* NULL: nobody watches */
    _Atomic uint64_t *step_count; /* the dog's; NULL: nobody watches */
};

/* A packet is played from now on. command: enum gen_command. */
static inline void replay_watch_enter(struct replay_watch *watch, uint64_t ticket, uint32_t command)
{
    atomic_store_explicit(&watch->packet, ticket << REPLAY_WATCH_COMMAND_BITS | command, memory_order_release);
}

static inline void replay_watch_leave(struct replay_watch *watch)
{
    atomic_store_explicit(&watch->packet, 0, memory_order_release);
}

/* The packet does something without a limit; go_on ends that. */
static inline uint64_t replay_watch_pause(struct replay_watch *watch)
{
    uint64_t packet = atomic_load_explicit(&watch->packet, memory_order_relaxed);

    replay_watch_leave(watch);
    return packet;
}

static inline void replay_watch_go_on(struct replay_watch *watch, uint64_t packet)
{
    atomic_store_explicit(&watch->packet, packet, memory_order_release);
}

/* A call of the driver has returned, in a packet that makes many or long ones: the limit begins anew. */
static inline void replay_watch_step(const struct replay_watch *watch)
{
    if (watch->step_count)
        atomic_fetch_add_explicit(watch->step_count, 1, memory_order_relaxed);
}

#endif
