/* SPDX-License-Identifier: MIT */
/*
 * slice_solve: which packets stay, and which contents are taken from a replay. The last floor: it reads the facts of a
 * slice, and changes of them only the place at which the descriptor sets are.
 */
#ifndef LAP_INSPECTOR_SLICE_SLICE_SOLVE_H
#define LAP_INSPECTOR_SLICE_SLICE_SOLVE_H

#include "inspector/slice/slice_facts.h"
#include "inspector/state/image_layouts.h"

struct slice_stay { /* of a packet */
    bool kept, whole;
    bool early, late; /* of a block: work before the part needs it whole, the part does */
    bool postponed;   /* slice_is_postponed */
};

struct slice_spans { /* in order, without overlap */
    struct slice_span {
        uint64_t from, to;
    } * at;
    size_t count, capacity;
};

struct slice_want {           /* of an object */
    struct slice_spans spans; /* of a root: bytes that later host writes replace */
    bool wanted;              /* of a root: its contents are, at the place of the walk */
    bool laid;                /* of a root: its layout is wanted */
    bool needed;
};

/* Contents that exist where the part begins. */
struct slice_taking {
    const struct contents_file *file; /* the contents; NULL: only the list is made */
    struct image_layouts *layouts;
    struct contents list;
    struct contents laid;   /* images of which only the layouts matter: nothing is read for them, and all are taken */
    bool *is_taken;         /* [line of the list] */
    uint64_t wanted, taken; /* contents that work before the part made; of them, taken */
    bool records_again;     /* blocks that the part needs are recorded again in front of it: slice_records_again */
};

struct slice_solution {
    const struct slice_facts *facts;
    struct slice_sets *sets; /* theirs */
    struct slice_expansion *expansion;
    struct slice_taking *taking; /* NULL: nothing is taken from a replay */
    struct slice_stay *packets;  /* [ticket] */
    /* While solving. */
    struct slice_want *objects;
    struct slice_ids pending; /* packets (odd numbers) and objects (even ones) whose own needs are not followed yet */
    bool addressed;           /* all objects that device addresses reach are needed */
    bool everything;          /* so are all objects, and their contents are wanted */
    bool changed;
    bool before; /* the walk is before the part */
};

/* Owns s->packets, but not what the others point to. Failures are latched in the facts, and returned. */
enum lap_status slice_solve(struct slice_solution *s) LAP_MUST_CHECK;

/* The rest is for it, in order: each file needs only those before it. */

/* slice_keep.c */
void slice_follow(struct slice_solution *s, uint32_t packet); /* it is kept, and pending */
void slice_need_object(struct slice_solution *s, uint32_t object);
void slice_keep_packet(struct slice_solution *s, uint32_t packet);
void slice_keep_block(struct slice_solution *s, uint32_t packet);
/* Whether a block recorded before the part, which only the part needs, has no commands where it is submitted before. */
bool slice_splits(const struct slice_solution *s);
/* Whether a command buffer of a submit before the part is played there. */
bool slice_is_played(const struct slice_solution *s, uint32_t block);

/* slice_taken.c */
struct slice_taking *slice_taking_create(const struct contents_file *file); /* NULL: out of memory */
void slice_taking_destroy(struct slice_taking *taking);                     /* also for NULL */
/* At the place where the part begins: taken contents are wanted no more. */
void slice_take(struct slice_solution *s);
void slice_find_again(struct slice_solution *s); /* at the end */

/* slice_asked.c */
/* At the end of each round: work that the host asks for stays completely, or not at all. */
void slice_settle_asked(struct slice_solution *s);
/* At the end: calls that ask for work that is left out do not stay. */
void slice_keep_asked(struct slice_solution *s);

#endif
