/* SPDX-License-Identifier: MIT */
/* machine: what the null driver promises, as far as the rest of it must keep that. */
#ifndef LAP_TESTS_NULL_MACHINE_H
#define LAP_TESTS_NULL_MACHINE_H

#include "tests/null/null.h"

#define NULL_FAMILIES 2u
#define NULL_QUEUES   4u /* of each family */

uint32_t null_memory_types(void); /* a mask of all */
bool null_memory_is_visible(uint32_t type);

/* A fence, or a semaphore that is binary; 0: none. */
void null_signal(uint64_t id);

#endif
