/* SPDX-License-Identifier: MIT */
/* name_table: numbers of texts, which the caller keeps alive. One thread. */
#ifndef LAP_TOOLS_PROFILE_NAME_TABLE_H
#define LAP_TOOLS_PROFILE_NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct profile_name {
    const char *text; /* NULL: free */
    size_t number;
};

struct profile_names {
    struct profile_name *slots;
    size_t slot_count, count;
};

void profile_names_finish(struct profile_names *names); /* also for a zeroed one */

/* NULL: it is not there. Valid until the next profile_names_add. */
const struct profile_name *profile_names_find(const struct profile_names *names, const char *text);

/* It is not there yet. False: out of memory. */
bool profile_names_add(struct profile_names *names, const char *text, size_t number);

#endif
