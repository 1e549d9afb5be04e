/* SPDX-License-Identifier: MIT */
/*
 * witness: which features and extensions a trace uses, as far as its commands, structures, values and shaders show it
 * (codegen/needs.toml has the rules). One thread.
 */
#ifndef LAP_REPLAYER_WITNESS_H
#define LAP_REPLAYER_WITNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "gen_needs.h"

/* The first use of a feature or an extension. */
struct replay_evidence {
    uint16_t witness; /* 1 + index into gen_witnesses; 0: no use was seen */
    uint64_t frame, ticket;
};

struct replay_witnesses {
    struct replay_evidence evidence[GEN_SUBJECT_COUNT];
};

/* Looks at a decoded command. */
void replay_witness_look(struct replay_witnesses *witnesses, uint32_t command, const void *args, uint64_t frame,
                         uint64_t ticket);
/* The place in gen_features; GEN_FEATURE_COUNT for what is no feature. */
uint16_t replay_feature_number(const char *name);
/* The place in gen_extensions; GEN_EXTENSION_COUNT for what this build does not know. */
uint16_t replay_extension_number(const char *name);
/* "VkSamplerCreateInfo.anisotropyEnable, frame 1, packet 33". */
void replay_evidence_text(const struct replay_evidence *evidence, char *out, size_t bytes);

#endif
