/* SPDX-License-Identifier: MIT */
/*
 * ignored: --ignore-checks FILE: checks that differ between recordings of one program, so that a replay need not make
 * them. The file has one a line: the object, and which of its checks, counted from 1 in the order of the trace, or *
 * for all: "VkImage:12 7", "VkBuffer:3 *", "VkSwapchainKHR:1 2". Behind a # and in empty lines there is nothing.
 * `lapilli compare-checks` writes such a file.
 */
#ifndef LAP_REPLAYER_IGNORED_H
#define LAP_REPLAYER_IGNORED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/status.h"
#include "gen_ids.h"

struct replay_ignored_check {
    uint64_t object; /* type and index in one */
    uint64_t number; /* 0: all */
};

struct replay_ignored {
    struct replay_ignored_check *checks; /* sorted */
    size_t count, capacity;
    struct lap_map seen; /* by object: how many checks it had so far */
};

/* Reads a file; LAP_ERROR_IO, LAP_ERROR_ARGUMENT with the line that is none, LAP_ERROR_MEMORY. */
enum lap_status replay_ignored_load(const char *path, struct replay_ignored *out) LAP_MUST_CHECK;
void replay_ignored_finish(struct replay_ignored *ignored); /* also for a zeroed one */

/* Once for each check, in the order of the trace: whether the object's next check is to be left out. */
bool replay_ignored_has(struct replay_ignored *ignored, enum gen_handle_type type, uint64_t index);

#endif
