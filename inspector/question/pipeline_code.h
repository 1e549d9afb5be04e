/* SPDX-License-Identifier: MIT */
/*
 * pipeline_code: the code of a stage of pipelines, and whether the pipelines can run with other code there and one more
 * descriptor set (inspector/twin/probes.h). One thread.
 */
#ifndef LAP_INSPECTOR_QUESTION_PIPELINE_CODE_H
#define LAP_INSPECTOR_QUESTION_PIPELINE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/arena.h"
#include "base/status.h"
#include "trace/read/reader.h"

struct pipeline_code {
    uint64_t pipeline; /* from the caller */
    VkShaderStageFlagBits stage;
    const char *why; /* it can't; NULL: it can */
    uint64_t layout; /* VkPipelineLayout */
    uint32_t sets;   /* that it has */
    const char *entry;
    const uint32_t *words; /* NULL: the trace lacks them */
    size_t bytes;
    uint64_t hash;      /* as lapilli print shows it */
    bool has_primitive; /* a fragment shader may use PrimitiveId: the device has geometry shaders enabled, and the
                           pipeline has no shader that would have to write it */
};

/* Fills `codes`, of different pipelines; their pointers lead into the arena. The trace's and the reader's errors. */
enum lap_status pipeline_codes_find(const struct lap_reader *trace, struct pipeline_code *codes, size_t count,
                                    struct lap_arena *arena) LAP_MUST_CHECK;

#endif
