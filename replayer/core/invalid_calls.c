/* SPDX-License-Identifier: MIT */
#include "replayer/core/invalid_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_ids.h"
#include "replayer/core/replay.h"

#define MOST_NAMES 8u /* in the summary */

static bool begins_with_any(const char *name, const char *const *prefixes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

bool replay_invalid_calls_may_leave_out(const struct replay *r)
{
    static const char *const own[] = {"lapilliBindBuffer", "lapilliBindImage", "lapilliUpdate", "lapilliCheck"};
    static const char *const never[] = {"vkQueue", "vkAcquire", "vkUpdateDescriptorSet", "vkCreateInstance",
                                        "vkCreateDevice"};
    const char *name = gen_command_names[r->at.command];

    if (!gen_command_providers[r->at.command])
        return begins_with_any(name, own, sizeof own / sizeof own[0]);
    return !begins_with_any(name, never, sizeof never / sizeof never[0]);
}

bool replay_invalid_calls_is_thinned(uint32_t command)
{
    return command == GEN_vkWaitForFences || command == GEN_vkResetFences || command == GEN_vkWaitSemaphores;
}

void replay_invalid_calls_note(struct replay *r, const char *sentence)
{
    bool thinned = replay_invalid_calls_is_thinned(r->at.command);

    r->summary.invalid_count++;
    if (!r->summary.invalid)
        r->summary.invalid = calloc(GEN_COMMAND_COUNT, sizeof *r->summary.invalid);
    if (r->summary.invalid && r->summary.invalid[r->at.command]++)
        return;
    lap_log(r->log, LAP_LOG_WARNING, "%s: %s (--strict ends the replay there)", sentence,
            thinned ? "the call is made without it" : "the call is left out");
}

void replay_invalid_calls_summary(const struct replay *r)
{
    char names[1024] = "";
    uint32_t count = 0;
    size_t used = 0;

    if (!r->summary.invalid_count)
        return;
    for (uint32_t i = 0; r->summary.invalid && i < GEN_COMMAND_COUNT; i++) {
        int more;
        if (!r->summary.invalid[i] || count++ >= MOST_NAMES)
            continue;
        more = snprintf(names + used, sizeof names - used, "%s%s %" PRIu64, used ? ", " : ": ", gen_command_names[i],
                        r->summary.invalid[i]);
        used += more > 0 && (size_t)more < sizeof names - used ? (size_t)more : 0;
        names[used] = 0;
    }
    lap_log(r->log, LAP_LOG_WARNING, "%" PRIu64 " calls that are not valid were left out, or made in part%s%s",
            r->summary.invalid_count, names, count > MOST_NAMES ? " and others" : "");
}
