/* SPDX-License-Identifier: MIT */
/*
 * pool: what was allocated from a command pool or a descriptor pool, and ends with it. The specification has the caller
 * see to it that one thread at a time uses a pool; nothing here is locked, so ThreadSanitizer says when he does not.
 */
#ifndef LAP_TESTS_NULL_POOL_H
#define LAP_TESTS_NULL_POOL_H

#include "tests/null/null.h"

void null_pool_add(struct null_thing *pool, enum null_type type, uint64_t child);
void null_pool_remove(struct null_thing *pool, uint64_t child);
/* All of them end. */
void null_pool_end(enum null_command which, struct null_thing *pool);

#endif
