/* SPDX-License-Identifier: MIT */
/*
 * instrument: SPIR-V with one entry point that also writes to a storage buffer: every value that it computes, or only
 * its outputs, or how many fragments each texel has. Nothing else that the code does changes, and no control flow is
 * added: invocations that are not wanted write where nobody reads. Trusts no word. Any thread.
 *
 * The buffer is a region of 32-bit words:
 *   [0]     how many invocations matched: it may be more than most_invocations
 *   [4..]   waste, up to `first`
 *   then of each invocation `stride` words: a header (enum instrument_word), and the log: for each segment its number
 *   + 1 and the words of its results, in the order of execution. 0 ends it. The caller fills the region with zeros.
 * With INSTRUMENT_COUNT word [y * width + x] counts the fragments of a texel.
 *
 * A segment is a part of a basic block without calls: it is there as a whole, or not at all. Behind a segment that did
 * not fit there is none, so that the log has no holes. Values of more than 16 words are left out, and so are pointers,
 * images and the like. Outputs that the code does not write are left out, too: to read one may be to write it.
 */
#ifndef LAP_INSPECTOR_SPIRV_INSTRUMENT_H
#define LAP_INSPECTOR_SPIRV_INSTRUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

enum instrument_kind {
    INSTRUMENT_LOG,     /* all results and the outputs */
    INSTRUMENT_OUTPUTS, /* the outputs alone */
    INSTRUMENT_COUNT    /* of fragment shaders */
};

struct instrument_wish {
    enum instrument_kind kind;
    uint32_t model; /* SpvExecutionModel: 0 vertex, 4 fragment, 5 GLCompute */
    const char *entry;
    uint32_t set;           /* the buffer is its binding 0 */
    uint32_t invocation[3]; /* a texel, a vertex and its instance, or a global invocation */
    uint32_t any;           /* so many of these numbers, the first ones, may be anything */
    bool primitive; /* the code may use PrimitiveId: the device has Geometry, and no other shader would write it */
    bool early;     /* INSTRUMENT_COUNT: with early tests, where that changes no result */
    uint32_t most_invocations, most_words; /* most_words: of the log of one */
    uint32_t width, height;                /* INSTRUMENT_COUNT */
};

enum instrument_word {
    INSTRUMENT_WORDS,   /* of the log that it wanted: more than most_words: it was cut */
    INSTRUMENT_STATE,   /* bits below */
    INSTRUMENT_FIRST,   /* bits of FragCoord.z; VertexIndex; GlobalInvocationId x */
    INSTRUMENT_SECOND,  /* PrimitiveId, UINT32_MAX: not known; InstanceIndex; y */
    INSTRUMENT_THIRD,   /* FrontFacing; 0; z */
    INSTRUMENT_SAMPLES, /* the first word of SampleMask, of a fragment */
    INSTRUMENT_HEADER = 8
};
#define INSTRUMENT_WASTE    4u /* word of the region */
#define INSTRUMENT_BEGAN    1u
#define INSTRUMENT_RETURNED 2u /* from the entry point. Else it was discarded, or it never ended */

enum instrument_type { INSTRUMENT_BOOL, INSTRUMENT_INT, INSTRUMENT_UINT, INSTRUMENT_FLOAT };

/* In the log: a bool as 0 or 1; of 8 or 16 bits converted to 32; of 64 bits two words, the low one first. A value with
 * scalars of several types is several results with the same id. */
struct instrument_result {
    uint32_t instruction; /* its number in the module: the first one behind the header is 0 */
    uint32_t id;
    enum instrument_type type; /* of a scalar of it */
    uint32_t bits, count;      /* of a scalar in the code; count: scalars, in order */
    uint32_t part;             /* how many scalars of the value are in front of it, in other results */
    uint32_t words;            /* in the log */
    const char *name;          /* of OpName, of an output in a block of OpMemberName; NULL: none */
    /* Of an output variable, whose id it has. `instruction` is that of the variable. */
    bool is_output, has_location;
    uint32_t location, component, index;
    uint32_t built_in; /* UINT32_MAX: none */
};

struct instrument_segment {
    uint32_t first, count; /* results */
    uint32_t words;        /* without its number */
};

struct instrument_code {
    const uint32_t *words; /* the new module */
    size_t bytes;
    struct instrument_result *results;
    uint32_t result_count;
    struct instrument_segment *segments;
    uint32_t segment_count;
    uint32_t outputs;       /* the segment with the outputs; UINT32_MAX: there are none */
    uint32_t first, stride; /* words of the region */
    uint64_t region_bytes;
    bool primitive; /* the header has PrimitiveId */
    bool early;     /* tests come before the code */
};

/* The pointers of *out lead into the arena. LAP_ERROR_FORMAT: it is no module, or one that is not well made.
 * LAP_ERROR_UNSUPPORTED, with a sentence: this code can't be changed so. */
enum lap_status instrument(const uint32_t *words, size_t bytes, const struct instrument_wish *wish,
                           struct lap_arena *arena, struct instrument_code *out) LAP_MUST_CHECK;

#endif
