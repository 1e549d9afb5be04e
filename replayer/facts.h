/* SPDX-License-Identifier: MIT */
/*
 * facts: what becomes of the objects of a trace, found before they are placed: which of them the host ever writes
 * (update packets) or reads (checks), when they end (lifetime.h), and how much memory they took when they were
 * recorded. The packets are looked through once, in a pass of its own, and only where it makes a difference: for hosts
 * that have memory which the host can't see, and for traces with so many objects that they have to share blocks. One
 * thread.
 */
#ifndef LAP_REPLAYER_FACTS_H
#define LAP_REPLAYER_FACTS_H

#include "replayer/context.h"

struct replay_facts;

/* Of one buffer or image. */
struct replay_object_facts {
    bool checked;     /* what it holds is compared with --verify */
    bool late;        /* written after a submit and before the host let it go on (vkSetEvent, vkSignalSemaphore) */
    uint64_t moments; /* submits that updates stand in front of */
    uint64_t last;    /* the last of them, counted from 1 */
};

struct replay_facts_options {
    uint64_t last_frame; /* 0, or only what is played up to it */
    /* Of packets that are looked at beyond the replay; what is behind them is looked at by and by, as the replay gets
     * there, on a reader of its own. */
    uint64_t most_bytes;
    /* Without it checks and ends of objects are left out where that ends the pass early: behind the last of the updates
     * that the layer has counted. */
    bool all;
    bool keeps;     /* buffers whose addresses can be asked for again lie where they lay: they share no blocks */
    uint64_t now;   /* the ticket at which the replay is, whose objects have no place yet */
    uint32_t limit; /* of allocations */
    const struct replay_aliases *aliases; /* which objects share memory; outlives the facts; may be NULL */
};

enum lap_status replay_facts_find(const struct lap_reader *trace, const struct replay_facts_options *options,
                                  struct replay_facts **out) LAP_MUST_CHECK;
/* They are wanted now. On failure what is known stays. */
enum lap_status replay_facts_want_all(struct replay_facts *facts, uint64_t now) LAP_MUST_CHECK;
void replay_facts_destroy(struct replay_facts **facts);
/* The replay is at this ticket, and does not go back: looks as far ahead of it as the first time. On failure what is
 * known stays. */
enum lap_status replay_facts_go_on(struct replay_facts *facts, uint64_t ticket) LAP_MUST_CHECK;

/* Whether all is known of the object: it has ended in what was looked at, or that was everything. */
bool replay_facts_have(const struct replay_facts *facts, enum gen_handle_type type, uint64_t index);
/* NULL: the host does nothing with it. */
const struct replay_object_facts *replay_facts_of(const struct replay_facts *facts, enum gen_handle_type type,
                                                  uint64_t index);
/* The most that buffers and images took at once, as bind packets say. */
uint64_t replay_facts_peak_bytes(const struct replay_facts *facts);

/* When objects end; NULL where it can't be known. The facts are looked up when this is first asked. */
const struct replay_lifetimes *replay_lifetimes_find(struct replay *r);

/* The properties that an object's memory had better have here, of those that the program asked for. The facts are
 * looked up when this is first asked. */
VkMemoryPropertyFlags replay_facts_wanted(struct replay *r, const struct replay_device *dev, enum gen_handle_type type,
                                          uint64_t index, VkMemoryPropertyFlags asked);
/* The same that replay_facts_peak_bytes says, for messages; 0: not known. */
uint64_t replay_peak_at_capture(struct replay *r);

#endif
