/* SPDX-License-Identifier: MIT */
/*
 * report: what is wrong or wasteful in a trace, found from the trace alone, and what each frame has. Each rule counts
 * its findings and keeps the first ones. Commands count as often as submits run them. Work that uses objects by device
 * addresses, descriptor buffers or heaps is not seen; each rule says what else it can't know. One thread.
 */
#ifndef LAP_INSPECTOR_REPORT_REPORT_H
#define LAP_INSPECTOR_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/status.h"
#include "inspector/position/contents.h"
#include "inspector/position/position.h"
#include "trace/read/reader.h"

#define REPORT_MOST_FINDINGS 100u   /* of a rule that are kept */
#define REPORT_MOST_MESSAGES 10000u /* of the validation layer */

enum report_kind { REPORT_WRONG, REPORT_VALIDATION, REPORT_WASTE, REPORT_LEFT, REPORT_HIDDEN, REPORT_KINDS };
extern const char *const report_kind_names[REPORT_KINDS];

enum report_rule_number {
    REPORT_LAYOUT,
    REPORT_MESSAGE, /* of the validation layer; the caller adds them */
    REPORT_PIPELINE_BOUND,
    REPORT_SETS_BOUND,
    REPORT_VERTEX_BOUND,
    REPORT_INDEX_BOUND,
    REPORT_STATE_SET,
    REPORT_CONSTANTS_PUSHED,
    REPORT_DRAW_NOTHING,
    REPORT_DISPATCH_NOTHING,
    REPORT_CLEARED_AGAIN,
    REPORT_BARRIER_IDLE,
    REPORT_IMAGE_UNUSED,
    REPORT_BUFFER_UNUSED,
    REPORT_OBJECT_UNUSED,
    REPORT_UPDATE_UNREAD,
    REPORT_PIPELINE_LATE,
    REPORT_SUBMIT_EMPTY,
    REPORT_WAIT_IDLE,
    REPORT_OBJECT_LEFT,
    REPORT_EXTENSION_UNUSED,
    REPORT_RULES
};

struct report_words {
    const char *name; /* "pipeline-bound" */
    enum report_kind kind;
    const char *one, *many; /* what is counted: "image", "images" */
    const char *rest;       /* and what is the matter with it: "that nothing uses" */
    const char *unknown;    /* what the rule can't know: a sentence */
};
extern const struct report_words report_words[REPORT_RULES];

struct report_object {
    uint32_t type; /* enum gen_handle_type */
    uint64_t index;
    const char *name; /* NULL: none is known */
};

struct report_finding {
    struct position position; /* count 0: none */
    uint64_t frame;           /* from 1; 0: none */
    uint32_t command;         /* enum gen_command; GEN_COMMAND_NONE: none */
    uint32_t type;            /* of the object: enum gen_handle_type; GEN_HANDLE_NONE: none */
    uint64_t index;
    const char *name; /* of the object; NULL: none is known */
    uint64_t bytes;   /* 0: none */
    /* of a message; else NULL and 0 */
    const char *vuid;
    bool is_warning;
    const struct report_object *objects;
    size_t object_count;
    const char *text; /* NULL: the rule says all */
    double gpu_ms;    /* negative: not known */
};

struct report_rule {
    bool ran; /* false: `why` says why not */
    const char *why;
    bool has_of;
    uint64_t count, of; /* findings, of so many */
    uint64_t bytes;     /* of all findings */
    size_t kept, capacity;
    struct report_finding *findings;
};

struct report_vuid {
    const char *vuid;
    bool is_warning;
    uint64_t count; /* of all its messages, in all frames */
};

struct report_frame {
    uint64_t number; /* from 1 */
    struct position_counts counts;
    uint64_t submits, barriers, pipelines, updates, updated_bytes;
    uint64_t buffer_bytes, image_bytes;       /* bound at its end */
    uint64_t type_bytes[VK_MAX_MEMORY_TYPES]; /* allocated at its end */
};

struct report_type {
    VkMemoryPropertyFlags properties;
    uint32_t heap;
    bool is_known; /* of what the trace's machine says */
    uint64_t peak, peak_ticket, peak_frame;
};

struct report_memory {
    uint32_t type_count; /* up to the last one that is used */
    struct report_type types[VK_MAX_MEMORY_TYPES];
    uint32_t heap_count;
    struct report_type heaps[VK_MAX_MEMORY_HEAPS]; /* properties, heap: not used */
    uint64_t heap_bytes[VK_MAX_MEMORY_HEAPS];      /* their sizes */
    struct report_type all;                        /* of all types together */
};

struct report {
    uint64_t first_frame, last_frame; /* that were looked at; of a trimmed trace from its own first frame on */
    bool whole;                       /* these are all */
    struct report_rule rules[REPORT_RULES];
    struct report_vuid *vuids; /* that there are messages of */
    size_t vuid_count, vuid_capacity;
    struct report_frame *frames;
    size_t frame_count, frame_capacity;
    struct report_memory memory;
    struct report_inside *inside;
};

struct report_wish {
    uint64_t first_frame, last_frame; /* findings in these alone, from 1; 0 and UINT64_MAX: all */
    void (*progress)(void *user, uint64_t done, uint64_t all); /* may be NULL */
    void *user;
};

/* If frames were read before an error, *out has what they show, and the error is returned. On other failures *out is
 * NULL. */
enum lap_status report_make(const struct lap_reader *trace, const struct report_wish *wish,
                            struct report **out) LAP_MUST_CHECK;
void report_free(struct report **report); /* also for NULL */

/* One more finding; its texts are copied. False: no memory. */
bool report_add(struct report *report, enum report_rule_number rule, const struct report_finding *finding);
bool report_add_vuid(struct report *report, const struct report_vuid *vuid);

#endif
