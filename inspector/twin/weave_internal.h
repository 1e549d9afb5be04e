/* SPDX-License-Identifier: MIT */
/* Shared by weave.c (the trace, new objects, command buffers), weave_pass.c (render passes that are split) and
 * weave_stops.c (what is done at a stop). */
#ifndef LAP_INSPECTOR_TWIN_WEAVE_INTERNAL_H
#define LAP_INSPECTOR_TWIN_WEAVE_INTERNAL_H

#include <string.h>

#include "base/arena.h"
#include "inspector/position/held.h"
#include "inspector/twin/pass_pieces.h"
#include "inspector/twin/recordings.h"
#include "inspector/twin/twins.h"
#include "inspector/twin/weave.h"

struct weave_packed {
    uint8_t *data;
    size_t count, capacity;
    uint32_t commands;
};

/* A render pass that is split. */
struct weave_pass {
    uint64_t number, ticket; /* where it is made */
    uint64_t twins[PIECES];  /* for each piece */
};

/* A primary command buffer with stops. */
struct weave_primary {
    struct position position;
    size_t first, end; /* of its stops */
    uint64_t ticket;   /* of the submit */
    uint32_t batch, buffer;
    const struct recording *recording; /* NULL: not found */
    bool in_place;
    bool suspends; /* rendering that another command buffer of the submit resumes */
    uint64_t twin;
};

struct weave_device {
    uint64_t number, ticket; /* where it is made */
};

/* A command that begins something in a render pass that is split. */
struct weave_begun {
    uint32_t command;
    uint64_t pool; /* of a query */
    uint32_t query, index;
    size_t at; /* in the twin */
    struct weave_packed bytes;
};

struct weave {
    const struct lap_reader *trace;
    const struct weave_plan *plan;
    struct weave_result *result;
    struct lap_arena arena;
    struct weave_pass *passes;
    size_t pass_count, pass_capacity;
    struct weave_primary *primaries;
    size_t primary_count, primary_capacity;
    struct recordings recordings;
    uint64_t frame, submits; /* of the submit that was read last */
    size_t next_primary;     /* that no submit has had yet */
    struct weave_device *devices;
    size_t device_count, device_capacity;
    uint64_t last_pass, last_buffer, last_memory, last_pool;
    struct lap_edits *edits;
    struct twins twins;
    struct probes probes;
    const struct probe_use *use; /* of the command that comes next, or NULL */
    /* The command buffer that is woven. */
    struct position_blocks inner[POSITION_MOST_NUMBERS]; /* [depth] */
    struct position now;
    size_t next, end; /* of the stops */
    bool suspends;    /* its last rendering does */
    /* The render pass that is open in it, if it is split. */
    const struct weave_stop *pass; /* one of its stops; NULL: none is open */
    uint32_t pass_command;
    struct weave_packed resume, resume_last; /* the command that begins it again; in front of its last piece */
    struct weave_packed again;               /* commands that hold for one piece */
    struct weave_begun *begun;
    size_t begun_count, begun_capacity;
    uint32_t other; /* a command that has begun what can't be split; 0: none */
};

static inline bool weave_is_same(const struct position *a, const struct position *b)
{
    return a->count == b->count && memcmp(a->numbers, b->numbers, a->count * sizeof *a->numbers) == 0;
}

static inline enum lap_status weave_put(struct weave *w, uint32_t command, const void *args)
{
    return twins_add_command(&w->twins, command, args);
}

/* NULL: it is not split. */
struct weave_pass *weave_pass_of(struct weave *w, uint64_t number);

/* ---- weave_pass.c ---- */

/* A command that is added next, and belongs to no list of passes. */
enum lap_status weave_see_command(struct weave *w, uint32_t command, const void *args, const uint8_t *from,
                                  size_t bytes) LAP_MUST_CHECK;
/* A command that begins a render pass: it is added, as the first piece needs it. */
enum lap_status weave_begin_pass(struct weave *w, uint32_t command, struct lap_args *args) LAP_MUST_CHECK;
void weave_forget_pass(struct weave *w);
/* Between two pieces of the render pass. */
enum lap_status weave_end_piece(struct weave *w) LAP_MUST_CHECK;
enum lap_status weave_begin_piece(struct weave *w, bool is_last) LAP_MUST_CHECK;

/* ---- weave_stops.c ---- */

/* When a command buffer has begun: for its stops, from w->next on. */
enum lap_status weave_begin_stops(struct weave *w) LAP_MUST_CHECK;
/* Those at the current command. */
enum lap_status weave_put_stops(struct weave *w, bool before) LAP_MUST_CHECK;
/* Whether a stop of the command buffer is in the render pass that begins there. */
bool weave_is_in_pass(const struct weave *w, size_t stop, const struct position *begin);

#endif
