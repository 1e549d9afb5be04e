/* SPDX-License-Identifier: MIT */
/*
 * course: the lives of one device's objects, and the plans that are made of them: each device has blocks of its own,
 * and a limit of allocations. lifetime.c has one for each device, and nobody else includes this.
 */
#ifndef LAP_REPLAYER_COURSE_H
#define LAP_REPLAYER_COURSE_H

#include "replayer/lifetime.h"

#define REPLAY_MAX_LIFE_BYTES ((uint64_t)1 << 55)

/* What a trace has of each kind, by index, whatever device it is on. */
enum replay_life_state { REPLAY_LIFE_NONE, REPLAY_LIFE_ALIVE, REPLAY_LIFE_ENDED };

struct replay_life_object {
    uint64_t state : 2;
    uint64_t course : 6; /* its number */
    uint64_t item : 56;  /* its number in the course + 1; 0: it is over, and forgotten */
};

struct replay_life_objects {
    struct replay_life_object *at;
    uint64_t capacity;
};

/* Lives that are expected and have not begun: by kind and index. */
struct replay_expected_lives {
    struct replay_plan_item *at; /* end 0: it has begun */
    size_t count, capacity;
    uint64_t bytes;
    bool sorted;
    bool divided; /* it is decided which of them lie alone */
};

struct replay_course {
    uint64_t device;
    unsigned number;
    struct replay_expected_lives expected;
    uint64_t bytes;             /* alive */
    uint64_t alone, made_alone; /* of those, which lie alone; and of all */
    uint32_t limit;
    struct replay_plan_item *items; /* what is alive, and what had not ended when the replay was last heard of */
    size_t item_count, item_capacity;
    uint64_t run_bytes; /* that the current run has ended */
    struct replay_plan_step *steps;
    uint32_t step_count;
    size_t step_capacity;
    uint32_t coarse;  /* steps are so many times twice as long */
    uint64_t changed; /* bytes that have come and gone in the last step */
    struct replay_cells cells;
    uint64_t settled; /* cells */
};

/* A course of nothing, whose cells have numbers behind `made`; of what was there before, memory and settled cells stay.
 */
void replay_course_begin(struct replay_course *course, uint64_t device, uint32_t limit, uint32_t made);
void replay_course_finish(struct replay_course *course);
/* Nothing is there any more, as far as the replay knows, and nothing is expected. */
bool replay_course_is_over(const struct replay_course *course);

enum lap_status replay_course_expect(struct replay_course *course,
                                     const struct replay_expected_life *life) LAP_MUST_CHECK;
/* As replay_lifetimes_bind. */
enum lap_status replay_course_bind(struct replay_course *course, struct replay_life_object *object, unsigned kind,
                                   uint64_t index, uint64_t bytes, uint32_t property_flags,
                                   uint64_t ticket) LAP_MUST_CHECK;
/* The item is gone as soon as the run ends; how much it took. */
uint64_t replay_course_end(struct replay_course *course, uint64_t item);
/* The run ends that began at the ticket: this at least once, and then the other for each item. */
enum lap_status replay_course_end_run(struct replay_course *course, uint64_t ticket) LAP_MUST_CHECK;
void replay_course_ended(struct replay_course *course, uint64_t item, uint64_t ticket);
/* As replay_lifetimes_seal. objects: [kind], whose items get other numbers. ticket: at which something happened last.
 */
enum lap_status replay_course_seal(struct replay_course *course, struct replay_life_objects *objects, bool all,
                                   uint64_t ticket, uint64_t now) LAP_MUST_CHECK;

#endif
