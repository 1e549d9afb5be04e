/* SPDX-License-Identifier: MIT */
/*
 * texel_fragments: the fragments of the draws in the history of a texel (texel_history.h). Each draw runs with a probe
 * (inspector/twin/probes.h) that keeps the outputs of its fragment shader at the texel. Its tests are computed from
 * these (inspector/fragments/fragment_tests.h). One thread.
 */
#ifndef LAP_INSPECTOR_QUESTION_TEXEL_FRAGMENTS_H
#define LAP_INSPECTOR_QUESTION_TEXEL_FRAGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "inspector/fragments/fragment_tests.h"
#include "inspector/fragments/raster_state.h"
#include "inspector/spirv/instrument.h"
#include "inspector/state/bound_walk.h"
#include "inspector/twin/weave.h"

#define TEXEL_MOST_FRAGMENTS 64u /* that are kept of a draw */

struct texel_draw {
    const char *why; /* its fragments can't be kept; NULL: they are */
    struct raster_state state;
    struct fragment_place place;
    struct fragment_draw draw;
    uint32_t location; /* of the output to the target; UINT32_MAX: it has none */
    uint64_t at;       /* of its region in the buffer */
    const struct instrument_code *code;
    struct probe probe;
    struct probe_use use;
};

/* ---- the edit ---- */

struct texel_probes {
    struct raster_facts facts;
    struct texel_draw **draws; /* those without `why`, in the order of their stops */
    size_t draw_count, draw_capacity;
    struct probe *probes;
    struct probe_use *uses;
};

void texel_probes_init(struct texel_probes *probes);
void texel_probes_finish(struct texel_probes *probes); /* behind edit_weave, whose plan names what it has */

/* A draw of the walk. `out` has the place and the render pass; the arena keeps what it points to. The number of its
 * use, if it has no `why`, is probes->draw_count - 1. decoding: an arena for that. */
enum lap_status texel_probes_add(struct texel_probes *probes, const struct bound_visit *visit, struct texel_draw *out,
                                 struct lap_arena *arena, struct lap_arena *decoding) LAP_MUST_CHECK;

/* Behind the walk: makes the code, and gives each use its place in the plan's buffer. Stops of draws that turn out to
 * have a `why` leave the plan. */
enum lap_status texel_probes_plan(struct texel_probes *probes, const struct lap_reader *trace, struct weave_plan *plan,
                                  struct lap_arena *arena) LAP_MUST_CHECK;

/* ---- the results ---- */

struct texel_fragments {
    uint64_t matched; /* how many fragments the draw has there */
    size_t count;     /* at most TEXEL_MOST_FRAGMENTS of them, in the order of drawing if that is known */
    bool ordered;
    struct fragment fragments[TEXEL_MOST_FRAGMENTS];
    struct fragment_result results[TEXEL_MOST_FRAGMENTS];
    VkImageAspectFlags computed, differs; /* aspects of the end that were computed, and those that were measured as
                                             something else */
    enum fragment_absence absence;        /* without fragments */
};

/* Of a draw. buffer: `bytes` of results; none is trusted. before, after: the texel as it was measured. */
void texel_fragments_of(const struct texel_draw *draw, const unsigned char *buffer, uint64_t bytes,
                        const struct fragment_texel *before, const struct fragment_texel *after,
                        struct texel_fragments *out);

/* Whether there are none, and why is sure from the state alone. */
bool texel_draw_is_absent(const struct texel_draw *draw, enum fragment_absence *out);

#endif
