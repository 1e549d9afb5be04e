/* SPDX-License-Identifier: MIT */
#include "layer/core/thread.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct layer_thread *layer_thread_known;

static _Atomic(struct layer_thread *) records; /* release by the thread that adds one, acquire by those that walk */
static pthread_key_t key;
static void (*on_end)(struct layer_thread *thread);

static void give_up(struct layer_thread *thread)
{
    atomic_store(&thread->self, 0);
    atomic_store(&thread->used, false);
}

static void thread_ended(void *value)
{
    on_end(value);
    layer_thread_known = NULL;
    give_up(value);
}

bool layer_threads_init(void (*ended)(struct layer_thread *thread))
{
    on_end = ended;
    return pthread_key_create(&key, thread_ended) == 0;
}

static struct layer_thread *take_record(void)
{
    struct layer_thread *thread = atomic_load(&records);
    for (; thread; thread = thread->next) {
        bool used = false;
        if (atomic_compare_exchange_strong(&thread->used, &used, true))
            return thread;
    }
    thread = calloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    thread->used = true;
    thread->next = atomic_load(&records);
    while (!atomic_compare_exchange_weak(&records, &thread->next, thread))
        ;
    return thread;
}

struct layer_thread *layer_thread_take(void)
{
    struct layer_thread *thread = take_record();
    if (!thread)
        return NULL;
    if (pthread_setspecific(key, thread) != 0) {
        atomic_store(&thread->used, false);
        return NULL;
    }
    thread->kernel_id = (uint64_t)syscall(SYS_gettid);
    thread->refused = false;
    thread->note_refused = false;
    atomic_store(&thread->self, layer_thread_self());
    return layer_thread_known = thread;
}

struct layer_thread *layer_thread_find(void)
{
    uintptr_t self = layer_thread_self();
    struct layer_thread *thread = layer_threads();
    while (thread && atomic_load(&thread->self) != self)
        thread = thread->next;
    return thread;
}

struct layer_thread *layer_threads(void)
{
    return atomic_load(&records);
}

void layer_threads_forked(void)
{
    for (struct layer_thread *thread = layer_threads(); thread; thread = thread->next) {
        if (thread == layer_thread_known) {
            thread->kernel_id = (uint64_t)syscall(SYS_gettid);
        } else {
            thread->stream = NULL;
            thread->writer = NULL;
            give_up(thread);
        }
    }
}

void layer_mutex_init(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}
