/* SPDX-License-Identifier: MIT */
/*
 * fragment_tests: the fragments of a draw at one texel, by the rules of the specification ("Fragment Operations"):
 * which of them pass, which test the others fail, and the depth, the stencil and the color that each of them leaves.
 * And why a draw has no fragment there. Not modelled: several samples, discard rectangles, exclusive scissors,
 * representative fragments; blending and logic operations are not computed. Any thread.
 */
#ifndef LAP_INSPECTOR_FRAGMENTS_FRAGMENT_TESTS_H
#define LAP_INSPECTOR_FRAGMENTS_FRAGMENT_TESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gen_formats.h"
#include "inspector/fragments/draw_counts.h"
#include "inspector/fragments/raster_state.h"

#define FRAGMENT_TEXEL_BYTES 32u
#define FRAGMENT_NO_TARGET   UINT32_MAX
#define FRAGMENT_UNKNOWN     UINT32_MAX /* of a primitive */

/* A texel, as far as it is known. */
struct fragment_texel {
    bool has_depth, has_stencil, has_color; /* false: not known, or there is none */
    uint64_t depth;                         /* a code of texel_codes.h */
    uint8_t stencil;
    unsigned char color[FRAGMENT_TEXEL_BYTES];
    uint8_t unknown; /* a bit for each component of the color that isn't known */
};

/* Where the fragments go. */
struct fragment_place {
    int64_t x, y;
    const struct gen_format *depth; /* NULL: the render pass has none */
    bool stencil;                   /* it has one */
    const struct gen_format *color; /* of the target; NULL: none */
    uint32_t target;                /* its number in the subpass; FRAGMENT_NO_TARGET */
    bool early;                     /* the code has EarlyFragmentTests */
};

enum fragment_scalar { FRAGMENT_FLOAT, FRAGMENT_INT, FRAGMENT_UINT };

struct fragment {
    float depth; /* of FragCoord */
    uint32_t primitive;
    bool front, returned; /* not returned: the shader has discarded it */
    bool writes_depth, writes_stencil, writes_samples;
    float own_depth;
    uint32_t own_stencil, own_samples;
    uint32_t count; /* scalars of the output to the target, at most 4; 0: there is none */
    enum fragment_scalar scalar;
    uint32_t output[4]; /* their bits, as scalars of 32 bits */
};

enum fragment_fate {
    FRAGMENT_PASSED,
    FRAGMENT_DISCARDED,
    FRAGMENT_SCISSOR,
    FRAGMENT_SAMPLE_MASK,
    FRAGMENT_COVERAGE, /* by its alpha */
    FRAGMENT_BOUNDS,
    FRAGMENT_STENCIL,
    FRAGMENT_DEPTH,
    FRAGMENT_UNCERTAIN /* what decides is not known */
};

struct fragment_result {
    enum fragment_fate fate;
    VkCompareOp op; /* of FRAGMENT_STENCIL and FRAGMENT_DEPTH: `own` op `stored` does not hold */
    double own, stored;
    double depth; /* clamped, in the format of the attachment; without one that of the fragment */
    struct fragment_texel after;
    bool writes; /* to the target: it passed, and some component is written */
    bool blends; /* and the output alone does not decide on the color */
};

/* From `texel`, which then is as the fragment leaves it. */
void fragment_tests_run(const struct raster_state *state, const struct fragment_place *place,
                        const struct fragment *fragment, struct fragment_texel *texel, struct fragment_result *out);

/* In the order of their primitives, where that is the order of drawing: in one instance of one draw. False: the order
 * of several fragments is not known; they stay as they are. */
bool fragments_sort(const struct draw_counts *counts, struct fragment *fragments, size_t count);

/* How many components of the two colors are known and differ by more than the devices' rounding. */
unsigned fragment_colors_differ(const struct gen_format *color, const struct fragment_texel *computed,
                                const unsigned char *measured);

/* ---- draws without fragments ---- */

enum fragment_absence {
    FRAGMENTS_NOT_COVERED, /* by a primitive that is not culled */
    FRAGMENTS_NO_VERTICES,
    FRAGMENTS_RASTERIZER_DISCARD,
    FRAGMENTS_RENDER_AREA,
    FRAGMENTS_SCISSOR,
    FRAGMENTS_VIEWPORT,
    FRAGMENTS_CULLED, /* all faces are */
    FRAGMENTS_SAMPLE_MASK,
    FRAGMENTS_CONDITION, /* conditional rendering is on */
    FRAGMENTS_EARLY      /* not covered, or all failed tests in front of the code */
};

struct fragment_draw {
    struct draw_counts counts;
    bool has_condition;
    VkRect2D area; /* of the render pass; extent 0: not known */
};

/* The first reason that is sure, or else what may be. */
enum fragment_absence fragments_absence(const struct raster_state *state, const struct fragment_place *place,
                                        const struct fragment_draw *draw);

#endif
