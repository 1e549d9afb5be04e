/* SPDX-License-Identifier: MIT */
/*
 * bound: the state that the commands of a command buffer find: pipelines, descriptor sets, buffers, push constants,
 * dynamic state, the render pass, open labels and queries. The module sees the commands of one command buffer in their
 * order. One thread.
 *
 * State that a command makes undefined is gone: dynamic state that a pipeline has as static state, sets that another
 * layout disturbs, and after vkCmdExecuteCommands everything but the render pass, the labels and the queries.
 */
#ifndef LAP_INSPECTOR_STATE_BOUND_H
#define LAP_INSPECTOR_STATE_BOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "inspector/position/open_labels.h"
#include "inspector/state/creation_facts.h"
#include "vulkan/block.h"

#define BOUND_MOST_SLOTS 65536u /* numbers of sets and bindings, bytes of push constants */
#define BOUND_MOST_HELD  4096u  /* settings, pushes, queries: their lists are searched by each command */
#define BOUND_STAGES     32u
#define BOUND_NO_COMMAND UINT32_MAX

enum bound_point { BOUND_GRAPHICS, BOUND_COMPUTE, BOUND_RAYS, BOUND_OTHER, BOUND_POINTS };

enum bound_set_kind {
    BOUND_SET_NONE,
    BOUND_SET,         /* a VkDescriptorSet */
    BOUND_SET_PUSHED,  /* by bound.pushes with this number */
    BOUND_SET_OFFSET,  /* in a descriptor buffer */
    BOUND_SET_EMBEDDED /* samplers of its layout */
};

struct bound_set {
    enum bound_set_kind kind;
    uint64_t set, layout;    /* VkDescriptorSet, and the VkPipelineLayout that it was bound with */
    const uint32_t *offsets; /* dynamic ones */
    uint32_t offset_count;
    uint32_t buffer;  /* which descriptor buffer */
    uint64_t offset;  /* in that */
    uint32_t command; /* that bound it: its number in the command buffer */
};

struct bound_pipeline {
    uint64_t pipeline; /* 0: none */
    uint32_t command;
    struct bound_set *sets; /* [number] */
    size_t set_count, set_capacity;
};

struct bound_buffer {
    uint64_t buffer, offset;
    uint64_t size, stride; /* UINT64_MAX: the command does not say */
    uint32_t command;      /* BOUND_NO_COMMAND: nothing is bound */
};

/* Descriptors that a push writes. */
struct bound_write {
    uint32_t binding;
    uint64_t first, end; /* elements, or bytes of an inline uniform block */
};

/* A command whose effects hold. */
struct bound_setting {
    uint16_t command;    /* enum gen_command */
    uint8_t number;      /* of dynamic_states.h; of a push 0 */
    uint32_t index;      /* in the command buffer */
    uint64_t first, end; /* the elements that no later command sets; of a push the set */
    uint8_t point;       /* of a push */
    uint32_t write_count;
    const struct bound_write *writes; /* of a push */
    struct lap_block at;              /* lap_block_next of a copy decodes it, as long as its command buffer is read */
};

enum bound_pass_kind { BOUND_NO_PASS, BOUND_RENDER_PASS, BOUND_RENDERING };

struct bound_pass {
    enum bound_pass_kind kind;
    uint64_t render_pass, framebuffer;
    uint32_t subpass;
    uint32_t command;    /* that begins it */
    bool inherited;      /* it was begun in the command buffer that executes this one */
    struct lap_block at; /* of that command */
};

struct bound_query {
    uint64_t pool;
    uint32_t query, index, command;
};

struct bound_label {
    const char *text;
    uint32_t command;
};

struct bound {
    const struct creation_facts *facts;
    const struct bound *outer; /* of the command buffer that executes this one; NULL: it is a primary one */
    struct bound_pipeline points[BOUND_POINTS];
    struct {
        uint64_t shader;
        uint32_t command;
    } shaders[BOUND_STAGES];     /* [bit of the stage] */
    struct bound_buffer *vertex; /* [binding] */
    size_t vertex_count, vertex_capacity;
    struct bound_buffer index, feedback[4];
    VkIndexType index_type;
    struct bound_buffer condition; /* of conditional rendering */
    uint32_t feedback_command;     /* that began transform feedback */
    uint8_t *push, *push_known;    /* [byte]; known: 1: it was set */
    size_t push_bytes, push_capacity, push_known_capacity;
    VkShaderStageFlags push_stages; /* of all that are set */
    struct bound_setting *settings; /* in the order of the commands: later ones go before earlier ones */
    size_t setting_count, setting_capacity;
    struct bound_setting *pushes; /* of descriptors, of sets with BOUND_SET_PUSHED, but those that a later one covers */
    size_t pushes_count, pushes_capacity;
    struct bound_pass pass;
    struct bound_query *queries;
    size_t query_count, query_capacity;
    struct bound_label *labels; /* that began in this command buffer */
    size_t label_count, label_capacity;
    const struct position_queue_labels *around; /* of a primary one; NULL: none */
    size_t around_ended;                        /* of those that were left open, the innermost ones */
    struct lap_arena arena;
};

void bound_init(struct bound *bound, const struct creation_facts *facts);
void bound_finish(struct bound *bound); /* also of a zeroed one */

/* At the start of a command buffer. outer: of the vkCmdExecuteCommands that executes it; NULL: none. around: the labels
 * that are open in front of a primary one; NULL: none. Both stay as they are while this one is used. */
void bound_begin(struct bound *bound, const struct bound *outer, const struct position_queue_labels *around);

/* The next command. at: the block as it was in front of the command. LAP_ERROR_MEMORY; LAP_ERROR_LIMIT: a number is too
 * large, or too many commands have effects that hold. */
enum lap_status bound_see(struct bound *bound, const struct lap_block *at, uint32_t command,
                          const void *args) LAP_MUST_CHECK;

/* The command of a setting, while its command buffer is read. Arguments lead into the arena. An error of the decoder.
 */
enum lap_status bound_decode(const struct bound_setting *setting, struct lap_arena *arena, uint32_t *out_command,
                             struct lap_args *out_args) LAP_MUST_CHECK;

#endif
