/* SPDX-License-Identifier: MIT */
/*
 * scopes: the scopes that a command buffer has begun and not ended yet: render passes, dynamic rendering (also while it
 * is suspended), queries, conditional rendering, transform feedback, labels, video coding. And the commands that end
 * these, so that the command buffer may end there. One thread.
 */
#ifndef LAP_INSPECTOR_TWIN_SCOPES_H
#define LAP_INSPECTOR_TWIN_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "inspector/twin/recode.h"

enum scope_kind {
    SCOPE_RENDER_PASS,
    SCOPE_RENDERING,
    SCOPE_SUSPENDED, /* dynamic rendering that later commands resume */
    SCOPE_QUERY,
    SCOPE_INDEXED_QUERY,
    SCOPE_CONDITION,
    SCOPE_FEEDBACK,
    SCOPE_LABEL,
    SCOPE_MARKER,
    SCOPE_VIDEO,
    SCOPE_OTHER /* this module can't end it */
};

struct scope {
    enum scope_kind kind;
    uint16_t command;          /* enum gen_command, that began it */
    uint64_t object;           /* render pass or query pool */
    uint32_t query, index;     /* of a query; query: of a render pass its subpass */
    bool suspends, unresolved; /* dynamic rendering */
    uint8_t *resume;           /* the command that resumes it, with its number; NULL: it can't be encoded */
    size_t resume_bytes;
};

struct scopes {
    struct scope *open; /* the last one was begun last */
    size_t count, capacity;
};

void scopes_finish(struct scopes *scopes); /* also of a zeroed one, which has nothing open. Zeroes it */

/* The next command of the command buffer, decoded. Empties recode->enc. LAP_ERROR_MEMORY. */
enum lap_status scopes_see(struct scopes *scopes, struct recode *recode, uint32_t command,
                           const void *args) LAP_MUST_CHECK;

/* Suspended rendering counts as resumed, by another command buffer. */
void scopes_resume(struct scopes *scopes);

/* Encodes the ends of all open scopes, the last first, each with its number in front, and adds their count to
 * *out_commands. subpasses: how many a render pass has; 0: it is not known. LAP_ERROR_UNSUPPORTED, with a sentence: a
 * scope can't be ended there. */
enum lap_status scopes_end(const struct scopes *scopes, uint32_t (*subpasses)(void *user, uint64_t render_pass),
                           void *user, struct recode *recode, uint32_t *out_commands) LAP_MUST_CHECK;

/* The same for suspended rendering alone, which is resumed, and ends. */
enum lap_status scopes_end_suspended(const struct scopes *scopes, struct recode *recode,
                                     uint32_t *out_commands) LAP_MUST_CHECK;

#endif
