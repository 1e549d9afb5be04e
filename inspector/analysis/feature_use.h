/* SPDX-License-Identifier: MIT */
/*
 * feature_use: finds which commands, chained structures, features and extensions a trace uses, by its commands,
 * structures, values and shaders (codegen/needs.toml has the rules), and which it enables. A part of trace_analysis.h.
 */
#ifndef LAP_INSPECTOR_ANALYSIS_FEATURE_USE_H
#define LAP_INSPECTOR_ANALYSIS_FEATURE_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "gen_needs.h"
#include "gen_reflect.h"
#include "inspector/analysis/trace_pass.h"

/* The first use of a feature or an extension. */
struct feature_evidence {
    uint16_t use; /* 1 + index into gen_uses; 0: no use */
    uint64_t frame, ticket;
};

/* Of the successful calls that a replay makes. */
struct feature_use {
    /* The creation of instances and devices only enables. */
    bool commands[GEN_COMMAND_COUNT];
    struct feature_evidence evidence[GEN_SUBJECT_COUNT];
    /* In pNext chains, of all calls; structures of features only with an enabled feature. */
    bool structs[GEN_STRUCT_COUNT];
    bool enabled_extensions[GEN_EXTENSION_COUNT], enabled_features[GEN_FEATURE_COUNT];
};

/* The part: NULL without memory; its visitor; its results so far. */
void *feature_use_create(void);
void feature_use_destroy(void *part);
void feature_use_visitor(void *part, struct trace_visitor *out);
const struct feature_use *feature_use_found(const void *part);

/* Visits one decoded command. */
void feature_use_look(void *part, uint32_t command, const void *args, uint64_t frame, uint64_t ticket);

/* Whether an extension is enabled, and a replayed call is one of its commands or has one of its structures. One without
 * commands and chained structures leaves no record of its use, so it counts as used once enabled. */
bool feature_use_has(const struct feature_use *use, unsigned extension);

/* The index into gen_features; GEN_FEATURE_COUNT: no feature. */
uint16_t feature_number(const char *name);
/* The index into gen_extensions; GEN_EXTENSION_COUNT: unknown to this build. */
uint16_t extension_number(const char *name);
/* "VkSamplerCreateInfo.anisotropyEnable, frame 1, packet 33". */
void feature_evidence_text(const struct feature_evidence *evidence, char *out, size_t bytes);

#endif
