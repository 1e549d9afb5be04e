/* SPDX-License-Identifier: MIT */
/* inside: shared by the files of this folder. One walk over the trace (use_walk.h) leads all parts, each with a state
 * of its own. */
#ifndef LAP_INSPECTOR_REPORT_INSIDE_H
#define LAP_INSPECTOR_REPORT_INSIDE_H

#include "base/arena.h"
#include "base/map.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"
#include "inspector/report/report.h"
#include "inspector/state/bound_walk.h"
#include "inspector/state/use_walk.h"

struct report_part {
    size_t bytes; /* of its state, which is zero at first */
    enum lap_status (*begin)(struct report_inside *inside, void *state);
    void (*finish)(void *state);
    enum lap_status (*call)(struct report_inside *inside, void *state, const struct trace_call *call);
    /* In front of the effects on what is bound, and behind them, and after the uses. */
    enum lap_status (*before)(struct report_inside *inside, void *state, const struct bound_visit *visit);
    enum lap_status (*behind)(struct report_inside *inside, void *state, const struct bound_visit *visit);
    enum lap_status (*use)(struct report_inside *inside, void *state, const struct use *use);
};

extern const struct report_part report_binds, report_empty, report_barriers, report_layouts, report_contents,
    report_updates, report_frames;
#define REPORT_PARTS 7u

struct report_image_view {
    uint64_t image;
    VkImageSubresourceRange range;
};

/* An attachment of a render pass, or of dynamic rendering, where that begins. */
struct report_target {
    uint64_t image; /* 0: not known */
    VkImageSubresourceRange range;
    VkImageLayout layout, stencil_layout; /* that the image is said to be in; dynamic rendering says none: UNDEFINED */
    VkAttachmentLoadOp load, stencil_load;
    VkAttachmentStoreOp store, stencil_store;
};

struct report_targets {
    struct report_target *items; /* valid until the next ones are asked for */
    size_t count, capacity;
    VkRect2D area;
    bool is_simple; /* one subpass, which resolves and reads nothing, and is neither suspended nor goes on */
};

struct report_attachment { /* of a render pass */
    VkImageLayout layout, stencil_layout;
    VkAttachmentLoadOp load, stencil_load;
    VkAttachmentStoreOp store, stencil_store;
};

struct report_pass {
    uint32_t count;
    bool is_simple;
    struct report_attachment *attachments;
};

struct report_inside {
    struct report *report;
    const struct lap_reader *trace;
    const struct report_wish *wish;
    struct lap_arena arena; /* of texts, views, images */
    uint64_t frame, queue;  /* of the walk; queue: of the last submit */
    bool counts;            /* the frame is one that was asked for */
    bool is_blind;          /* descriptors are in buffers or heaps, where nobody sees them */
    unsigned pass;          /* over the trace */
    void *states[REPORT_PARTS];
    struct lap_map views;  /* struct report_image_view */
    struct lap_map passes; /* struct report_pass */
    struct report_targets targets;
    bool seen[GEN_COMMAND_COUNT]; /* calls of any kind */
};

/* Counts one more thing that a rule looks at. */
void report_count(struct report_inside *inside, enum report_rule_number rule);
/* Text: a format, or NULL. The frame and the command of *finding are those of the visit, or of the call. */
enum lap_status report_find(struct report_inside *inside, enum report_rule_number rule,
                            const struct report_finding *finding, const char *format, ...)
    LAP_PRINTF(4, 5) LAP_MUST_CHECK;
struct report_finding report_at(const struct bound_visit *visit);
struct report_finding report_at_call(const struct trace_call *call);

/* Views and render passes, from the calls that make them. */
enum lap_status report_see_made(struct report_inside *inside, const struct trace_call *call) LAP_MUST_CHECK;
/* Of a visit whose command begins a render pass. In inside->targets. */
enum lap_status report_find_targets(struct report_inside *inside, const struct bound_visit *visit) LAP_MUST_CHECK;

/* Whether a command only binds or sets something, or is a label. */
bool report_is_quiet(uint32_t command);

/* Parts that are no walk: the objects that nothing uses and those that are left, and extensions. */
enum lap_status report_find_objects(struct report_inside *inside) LAP_MUST_CHECK;
enum lap_status report_find_extensions(struct report_inside *inside) LAP_MUST_CHECK;

/* For the progress of a pass; user: the struct report_inside. */
void report_progress(void *user, const struct lap_packet *packet);

#endif
