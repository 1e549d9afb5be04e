/* SPDX-License-Identifier: MIT */
/*
 * cancel: a thread of the program that is cancelled while it holds a lock of ours would stop all others. So
 * cancellation points of POSIX are called with cancellation off, wherever a lock may be held. Cheap: no system call.
 */
#ifndef LAP_BASE_CANCEL_H
#define LAP_BASE_CANCEL_H

#include <pthread.h>

/* Returns the argument for lap_cancel_restore. They nest. */
static inline int lap_cancel_off(void)
{
    int before = 0;
#ifdef PTHREAD_CANCEL_DISABLE
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
#endif
    return before;
}

static inline void lap_cancel_restore(int before)
{
#ifdef PTHREAD_CANCEL_DISABLE
    (void)pthread_setcancelstate(before, &before);
#else
    (void)before;
#endif
}

#endif
