/* SPDX-License-Identifier: MIT */
/*
 * rewrite: goes through a trace with a function that may change the parameters of packets and of commands in blocks, in
 * place. A changed packet or block becomes an edit in the place of the old one, so every position stays. Failed calls
 * and information packets are left alone. One thread.
 *
 * Packets that other edits put behind a packet are not seen, so callers rewrite before they make such edits.
 */
#ifndef LAP_INSPECTOR_TWIN_REWRITE_H
#define LAP_INSPECTOR_TWIN_REWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "trace/read/edits.h"
#include "trace/read/reader.h"

struct rewrite_call {
    uint32_t command; /* enum gen_command */
    void *args;       /* its struct gen_args_X, with indices for handles; all that it points to may change, too */
    struct lap_arena *arena; /* for new memory, which lives as long as the arguments */
    bool in_block;
};

struct rewrite_visitor {
    /* Which packets, and which commands of blocks, are visited. */
    bool (*wants)(const void *user, uint32_t command);
    enum lap_status (*visit)(void *user, const struct rewrite_call *call, bool *out_changed);
    bool blocks; /* there may be such commands in blocks */
    void *user;
};

/* edits: those of `trace` (lap_edits_create), not sealed; NULL: nothing may change. LAP_ERROR_UNSUPPORTED: a packet
 * that would change has structures that this build does not know. Others are the reader's, the decoders' and the
 * visitor's. */
enum lap_status rewrite_trace(const struct lap_reader *trace, const struct rewrite_visitor *visitor,
                              struct lap_edits *edits) LAP_MUST_CHECK;

/* A visited vkCreateDevice: the device gets this feature. feature: an offset in VkPhysicalDeviceFeatures. */
enum lap_status rewrite_enable_feature(const struct rewrite_call *call, size_t feature,
                                       bool *out_changed) LAP_MUST_CHECK;

#endif
