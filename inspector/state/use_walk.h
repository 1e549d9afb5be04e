/* SPDX-License-Identifier: MIT */
/*
 * use_walk: visits the uses of objects by calls, and by the commands that submits run: objects that these name, and
 * objects that they find bound. One pass over the trace. Uses by device addresses, and through descriptor buffers and
 * heaps, are not seen. One thread.
 */
#ifndef LAP_INSPECTOR_STATE_USE_WALK_H
#define LAP_INSPECTOR_STATE_USE_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "inspector/position/position.h"
#include "inspector/state/attachments.h"
#include "inspector/state/bound_walk.h"
#include "inspector/state/reached.h"
#include "trace/read/reader.h"

enum use_access {
    USE_NAMED, /* it touches no contents, or the object has none */
    USE_READ,
    USE_WRITE,
    USE_READ_WRITE /* it may do both */
};

enum use_kind {
    USE_MEMBER, /* a parameter or a member names it */
    USE_COPY_SOURCE,
    USE_COPY_DESTINATION,
    USE_CLEAR,
    USE_BARRIER,
    USE_INDIRECT,     /* parameters of draws and dispatches */
    USE_BOUND_MEMORY, /* of a call that binds memory to a buffer or an image */
    USE_VIEW,         /* a view of it is made */
    USE_PRESENT,
    /* Bindings that a command finds. */
    USE_PIPELINE,
    USE_SHADER,
    USE_SET, /* `number` */
    USE_DESCRIPTOR,
    USE_VERTEX_BUFFER, /* `number` */
    USE_INDEX_BUFFER,
    USE_FEEDBACK,  /* `number` */
    USE_ATTACHMENT /* `role`, `number` */
};

struct use_object {
    uint32_t type; /* enum gen_handle_type */
    uint64_t index;
};

struct use { /* valid during the visit */
    struct use_object object;
    const struct position *position; /* of a command; NULL: of a call */
    uint64_t ticket;                 /* of the call, or the submit */
    uint32_t command;                /* enum gen_command */
    enum use_access access;
    enum use_kind kind;
    const char *member;           /* that names it; NULL: none does */
    const VkImageLayout *layouts; /* of a barrier of an image: the old one and the new one; NULL: of anything else */
    uint32_t number;
    enum attachment_role role;
    const struct reached *descriptor;
    uint64_t set;  /* with the descriptor; 0: it was pushed */
    uint32_t more; /* descriptors of the same binding, an array of more than 64, that have wanted objects, too */
};

/* The functions of a visitor. An error ends the walk. */
struct use_visitor {
    bool (*wants)(void *user, struct use_object object);
    enum lap_status (*use)(void *user, const struct use *use);
    /* A call made an object, and names another one for it, or bound memory to it; also outside of the requested range.
     * From then on wants() may be true for the made object. */
    enum lap_status (*made)(void *user, struct use_object made, struct use_object of);
    void (*progress)(void *user, const struct lap_packet *packet); /* NULL: none */
    void *user;
};

struct use_walk_options {
    const struct position *at; /* only uses in there, of calls only those of a frame; not of a packet. NULL: all */
    uint64_t first_frame, last_frame; /* from 1 */
    bool bindings;                    /* also the commands that bind what others find bound */
    bool once;                        /* a binding is visited only for the first of the commands that find it */
    /* With the visitor's user; NULL: not. Each call, each command in front of its effects on what is bound, and each
     * command behind them, after its uses. `descriptors` of the visits are there. */
    trace_visit_fn call;
    bound_visit_fn before, behind;
};

enum lap_status use_walk(const struct lap_reader *trace, const struct use_walk_options *options,
                         const struct use_visitor *visitor) LAP_MUST_CHECK;

#endif
