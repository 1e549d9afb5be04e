/* SPDX-License-Identifier: MIT */
/*
 * ignore_list: --ignore-checks FILE: lists checks that a replay leaves out, since they differ between recordings of
 * one program. The file has one a line: the object, and the number of its check, from 1 in the order of the trace, or *
 * for all: "VkImage:12 7", "VkBuffer:3 *", "VkSwapchainKHR:1 2". A # begins a comment; empty lines are ignored.
 * `lapilli compare-checks` writes such a file.
 */
#ifndef LAP_REPLAYER_VERIFY_IGNORE_LIST_H
#define LAP_REPLAYER_VERIFY_IGNORE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/status.h"
#include "gen_ids.h"

struct replay_ignore_list_check {
    uint64_t object; /* type and index in one */
    uint64_t number; /* 0: all */
};

struct replay_ignore_list {
    struct replay_ignore_list_check *checks; /* sorted */
    size_t count, capacity;
    struct lap_map seen; /* by object: the number of its checks so far */
};

/* Reads a file; LAP_ERROR_IO, LAP_ERROR_ARGUMENT with the invalid line, LAP_ERROR_MEMORY. */
enum lap_status replay_ignore_list_load(const char *path, struct replay_ignore_list *out) LAP_MUST_CHECK;
void replay_ignore_list_finish(struct replay_ignore_list *ignored); /* also for a zeroed one */

/* Whether to leave out the object's next check. Call it once for each check, in the order of the trace. */
bool replay_ignore_list_has(struct replay_ignore_list *ignored, enum gen_handle_type type, uint64_t index);

#endif
