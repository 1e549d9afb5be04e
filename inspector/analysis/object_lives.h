/* SPDX-License-Identifier: MIT */
/*
 * object_lives: finds when the objects of a trace begin and end, and the host's writes to them. An object ends with its
 * own destruction, with its pool's reset or destruction, or with its swapchain, device or instance. A part of
 * trace_analysis.h.
 */
#ifndef LAP_INSPECTOR_ANALYSIS_OBJECT_LIVES_H
#define LAP_INSPECTOR_ANALYSIS_OBJECT_LIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gen_ids.h"
#include "inspector/analysis/trace_pass.h"

struct object_life {
    uint16_t type;    /* enum gen_handle_type */
    uint32_t element; /* of the objects that its packet made, from 0 */
    uint64_t index;
    uint64_t begin, end;       /* tickets; end 0: it is alive at the end of the trace */
    size_t parent;             /* in object_lives.lives; SIZE_MAX: none */
    uint64_t host_writes;      /* update packets; of buffers and images */
    uint64_t last_host_write;  /* ticket; 0: none */
    size_t last_child, before; /* for internal use: children, the last one first */
};

struct object_lives {
    const struct object_life *lives; /* in order of creation */
    size_t count;
    uint64_t alive, most_alive; /* at the end, and the most at once */
};

/* The part: NULL without memory; its visitor; its results so far. */
void *object_lives_create(void);
void object_lives_destroy(void *part);
void object_lives_visitor(void *part, struct trace_visitor *out);
const struct object_lives *object_lives_found(const void *part);
/* NULL: there is no such object so far. Valid until the pass goes on. */
const struct object_life *object_lives_of(const void *part, uint32_t type, uint64_t index);

static inline bool object_lives_at(const struct object_life *life, uint64_t ticket)
{
    return life->begin <= ticket && (!life->end || life->end > ticket);
}

#endif
