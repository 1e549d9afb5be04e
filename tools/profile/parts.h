/* SPDX-License-Identifier: MIT */
/*
 * parts: a profile: timed things of all loops and frames, put together. Equal things of frames are one part: those with
 * the same key. The key is that of the parent and "pass", "label" or the command, with the name, else with the formats
 * of targets, of work with its pipeline; and which one it is of those that are equal so far. Memory is an arena's. One
 * thread.
 */
#ifndef LAP_TOOLS_PROFILE_PARTS_H
#define LAP_TOOLS_PROFILE_PARTS_H

#include "tools/profile/raw_lines.h"
#include "tools/profile/spread.h"

struct profile_part {
    const char *key;
    enum profile_kind kind;
    uint32_t depth;
    size_t parent;                              /* of the parts, less than its own; PROFILE_NONE: the frame */
    size_t first_child, last_child, next;       /* PROFILE_NONE: none */
    const struct profile_thing *first;          /* of BETWEEN: its parent's */
    size_t frames;                              /* that have it */
    struct profile_time gpu;                    /* of a frame that has it */
    double share;                               /* of the frame's median, from 0 to 1 */
    const struct profile_statistic *statistics; /* means of frames; NULL: none */
    size_t statistic_count;
    /* While they are gathered: */
    uint64_t last_frame;
    size_t in_frame;
};

struct profile_queue {
    const char *name;
    struct profile_time gpu;
};

struct profile_command {
    const char *name;
    double calls; /* mean of frames */
    struct profile_time cpu;
};

struct profile {
    struct profile_raw *raws; /* [loops]; the first has what does not change */
    size_t loops;
    struct profile_part *parts; /* in order of execution, a parent in front of its children */
    size_t part_count;
    size_t *thing_parts;  /* of the things of raws[0] */
    size_t *thing_firsts; /* the first thing of the same frame on the same queue */
    double *own_ms;       /* [loops][things]: time of a thing that no child has */
    bool *has_children;   /* of the things */
    struct profile_time gpu, cpu;
    double *frame_ms;             /* [loops][frames] */
    struct profile_queue *queues; /* that have work */
    size_t *thing_queues;         /* number of its queue */
    size_t queue_count;
    struct profile_command *commands; /* most expensive first */
    size_t command_count;
    double backwards; /* of all loops */
};

/* loops: parsed; counts: of one more replay, whose statistics are taken, or NULL. They live as long as the profile.
 * LAP_ERROR_FORMAT with a sentence: they are of different work. LAP_ERROR_MEMORY. profile_finish in each case. */
enum lap_status profile_gather(struct profile *profile, struct lap_arena *arena, struct profile_raw *raws, size_t loops,
                               const struct profile_raw *counts) LAP_MUST_CHECK;

/* The median over loops of a thing's time, and of its begin behind that of thing_firsts. */
double profile_thing_ms(const struct profile *profile, size_t thing);
double profile_thing_begin_ms(const struct profile *profile, size_t thing);
/* Of a frame by its number in the array. */
double profile_frame_ms(const struct profile *profile, size_t frame);
double profile_frame_cpu_ms(const struct profile *profile, size_t frame);

void profile_finish(struct profile *profile);

#endif
