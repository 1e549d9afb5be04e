/* SPDX-License-Identifier: MIT */
/*
 * model: runs real sources of ours under the memory model of C11. The compiler's -fsanitize=thread calls a function for
 * each atomic operation and each plain access; here these functions do not look for races of one run, but play the
 * model: a load may return any store that the model allows, and one thread at a time goes on, by chance.
 *
 * What it plays: relaxed, acquire, release and seq_cst operations and fences, release sequences, mutexes and condition
 * variables. Races of plain accesses are found by vector clocks, in whatever order they ran. What it does not play:
 * loads that return later stores (load buffering), and an order of stores to one object other than that of their
 * execution. So it finds faults, and proves nothing.
 *
 * All choices follow from a seed. One operation in the sources can be weakened to relaxed (--weaken ADDRESS): a model
 * that does not fail then says nothing about that operation. run.py does this for all of them.
 */
#ifndef LAP_TESTS_MODEL_H
#define LAP_TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One model: `begin` makes a state without the rules of the model; then `threads` functions run at the same time, each
 * with its number; then `end` looks at the state and frees it, again without the rules. */
struct model {
    unsigned threads;
    void (*begin)(void);
    void (*run)(unsigned number);
    void (*end)(void);
};
extern const struct model model;

/* Fails the execution unless the condition holds. */
#define MODEL_CHECK(condition) ((condition) ? (void)0 : model_fail("line %d: %s", __LINE__, #condition))
void model_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* A number below `count`, by chance. */
unsigned model_choose(unsigned count);

/* What the kernel does to all processors: no thread sees an older value of the object from now on. */
/* Another thread goes on, if one can. */
int model_yield(void);

void model_see_everywhere(const volatile void *object);

#endif
