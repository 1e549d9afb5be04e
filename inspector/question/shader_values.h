/* SPDX-License-Identifier: MIT */
/*
 * shader_values: edits with which a replay keeps all values that a shader computes: a fragment shader for one texel of
 * one draw, a vertex shader for one vertex, a compute shader for one invocation. The trace ends with that command's
 * submit. One thread.
 */
#ifndef LAP_INSPECTOR_QUESTION_SHADER_VALUES_H
#define LAP_INSPECTOR_QUESTION_SHADER_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/arena.h"
#include "base/status.h"
#include "inspector/position/position.h"
#include "inspector/question/pipeline_code.h"
#include "inspector/spirv/instrument.h"
#include "trace/read/edits.h"
#include "trace/read/reader.h"

struct values_wish {
    struct position at;          /* the command; count 0: there is no wish */
    VkShaderStageFlagBits stage; /* fragment, vertex or compute */
    uint32_t invocation[3];      /* a texel; a vertex, by VertexIndex, and its instance; by GlobalInvocationId */
    bool has_instance;           /* else it is the draw's first one */
};

struct shader_values {
    struct values_wish wish; /* with the exact position, and the instance */
    uint16_t command;        /* enum gen_command */
    struct pipeline_code of;
    struct instrument_code code;
    uint32_t most_invocations, most_words; /* of the wish for `code` */
    uint64_t buffer;                       /* its number: its first code.region_bytes are the results */
    struct lap_arena arena;
};

/* An edit of its own in front of it enables features (probe_plan.h). Fills a zeroed `out`, which is finished after any
 * outcome. LAP_ERROR_ARGUMENT: there is no such command, or it is none with such a stage. LAP_ERROR_UNSUPPORTED: a
 * sentence has the obstacle. */
enum lap_status edit_shader_values(const struct lap_reader *trace, const struct values_wish *wish,
                                   struct lap_edits *edits, struct shader_values *out) LAP_MUST_CHECK;
void shader_values_finish(struct shader_values *values); /* also of a zeroed one */

/* ---- the results: code.region_bytes of the buffer, which are not trusted ---- */

/* How many invocations were kept, and the words of one (enum instrument_word). */
uint32_t shader_values_kept(const struct shader_values *values, const uint32_t *results);
const uint32_t *shader_values_of(const struct shader_values *values, const uint32_t *results, uint32_t number);

/* The results of an invocation, in the order of execution. */
struct shader_log {
    const struct shader_values *values;
    const uint32_t *words, *next; /* next: of the next result */
    uint32_t at, result, end;     /* at: the next segment; results of the current one */
};
void shader_log_begin(struct shader_log *log, const struct shader_values *values, const uint32_t *invocation);
/* The next one; its words are instrument_result.words. NULL: there are no more. */
const struct instrument_result *shader_log_next(struct shader_log *log, const uint32_t **out_words);

#endif
