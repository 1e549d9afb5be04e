/* SPDX-License-Identifier: MIT */
/*
 * process: the number of this process without a system call. It is kept in a page that the kernel clears in the child
 * of every fork, also of those that libc does not know of, so that older notes are known to be a parent's. A child that
 * shares the memory of its parent (vfork) has the parent's number.
 *
 * Any thread, also in a signal handler.
 */
#ifndef LAP_BASE_PROCESS_PROCESS_H
#define LAP_BASE_PROCESS_PROCESS_H

#include <stdatomic.h>

extern _Atomic(atomic_int *) lap_process_page; /* NULL: there is none (yet). Release by the thread that makes it,
                                                  acquire by lap_process: the page. Its number publishes nothing */
int lap_process_ask(void);

static inline int lap_process(void)
{
    atomic_int *page = atomic_load_explicit(&lap_process_page, memory_order_acquire);
    int number = page ? atomic_load_explicit(page, memory_order_relaxed) : 0;
    return __builtin_expect(number != 0, 1) ? number : lap_process_ask();
}

#endif
