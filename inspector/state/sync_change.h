/* SPDX-License-Identifier: MIT */
/* sync_change: the effect of a command of a command buffer on an event or on queries. One thread. */
#ifndef LAP_INSPECTOR_STATE_SYNC_CHANGE_H
#define LAP_INSPECTOR_STATE_SYNC_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "inspector/state/creation_facts.h"

enum sync_change_kind { SYNC_SET_EVENT, SYNC_RESET_EVENT, SYNC_RESET_QUERIES, SYNC_BEGIN_QUERIES, SYNC_END_QUERIES };

struct sync_change {
    enum sync_change_kind kind;
    uint16_t command;      /* enum gen_command */
    uint64_t object;       /* VkEvent or VkQueryPool */
    uint32_t first, count; /* queries */
};

/* The views that a query counts in, since each of them has a query of its own. Zeroed at first. */
struct sync_views {
    uint64_t render_pass;
    uint32_t subpass;
    uint32_t mask;
};

/* At each command of a block in turn. False: it changes none. `facts` have the render passes. */
bool sync_change_of(struct sync_views *views, const struct creation_facts *facts, const struct trace_call *call,
                    struct sync_change *out);

#endif
