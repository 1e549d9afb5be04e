/* SPDX-License-Identifier: MIT */
/* Included in front of each source that runs in a model: these calls go to model.c. */
#ifndef LAP_TESTS_MODEL_RENAME_H
#define LAP_TESTS_MODEL_RENAME_H

#define pthread_mutex_lock       model_mutex_lock
#define pthread_mutex_trylock    model_mutex_trylock
#define pthread_mutex_timedlock  model_mutex_timedlock
#define pthread_mutex_unlock     model_mutex_unlock
#define pthread_cond_wait        model_cond_wait
#define pthread_cond_signal      model_cond_signal
#define pthread_cond_broadcast   model_cond_broadcast
#define pthread_rwlock_rdlock    model_rwlock_rdlock
#define pthread_rwlock_wrlock    model_rwlock_wrlock
#define pthread_rwlock_unlock    model_rwlock_unlock
#define sched_yield              model_yield
#define malloc                   model_malloc
#define calloc                   model_calloc
#define free                     model_free
#define memcpy                   model_memcpy
#define memset                   model_memset
#define memcmp                   model_memcmp

#endif
