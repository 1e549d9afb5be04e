/* SPDX-License-Identifier: MIT */
/*
 * assert: invariants that test builds check (`make ASSERTS=1`; instrumented builds always do). A build that is
 * installed has none of them: a recorded program must not end because of a mistake of ours.
 */
#ifndef LAP_BASE_ASSERT_H
#define LAP_BASE_ASSERT_H

#ifdef LAP_ASSERTS
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((noreturn, cold, unused)) void lap_assert_failed(const char *file, int line,
                                                                             const char *sentence)
{
    fprintf(stderr, "lapilli: %s:%d: broken invariant: %s\n", file, line, sentence);
    abort();
}

/* Aborts with file, line and the sentence, which states what holds, unless the condition does. */
#define LAP_ASSERT(condition, sentence) ((condition) ? (void)0 : lap_assert_failed(__FILE__, __LINE__, sentence))
#else
/* The condition is compiled, so that it stays correct, and not evaluated. */
#define LAP_ASSERT(condition, sentence) ((void)sizeof((condition) ? sizeof(sentence) : 0))
#endif

#endif
