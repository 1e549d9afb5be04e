/* SPDX-License-Identifier: MIT */
/*
 * thread: the records of the program's threads: the stream into which a thread records (recording.c) and the place of
 * its notes in the tail file (notes.h). A record is never freed, as a signal handler may be looking at it; once its
 * thread has ended another thread takes it over. Only its own thread changes a record.
 */
#ifndef LAP_LAYER_THREAD_H
#define LAP_LAYER_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/crash/in_flight.h"
#include "trace/format/encode.h"

struct lap_note_thread;
struct lap_stream;
struct lap_writer;
struct layer_call;

#define LAYER_NOTE_BODY_BYTES 4096u

struct layer_thread {
    struct layer_thread *next; /* published by the list's head, thread.c */
    atomic_bool used;          /* release by the thread that ends, acquire by the next one: the record */
    atomic_uintptr_t self;     /* layer_thread_self; 0: no thread has the record. Release by its thread: kernel_id */
    uint64_t kernel_id;        /* the kernel's number of the thread */
    struct lap_writer *writer; /* of the stream; the parent's in a child that has not recorded yet */
    struct lap_stream *stream;
    bool refused;    /* creating a stream failed: this thread records nothing */
    uint64_t ticket; /* of the last packet */
    enum layer_packet_way {
        LAYER_PACKET_STREAMED,
        LAYER_PACKET_PART, /* the same, under the lock of parts */
        LAYER_PACKET_KEPT  /* by keeper.h, and perhaps in the stream, too */
    } packet_way;          /* of the packet that is under way */
    bool changes_parts;    /* this thread holds the lock of parts for writing */

    /* notes.c */
    struct lap_note_thread *note;     /* its place in the tail file; NULL: it has none */
    atomic_bool note_refused;         /* it gets no place */
    unsigned large;                   /* a bit for each large place that it has */
    atomic_uint crashed;              /* in a call, by this signal, and has made none since; 0: it has not */
    struct lap_in_flight call;        /* the call in its place, with its body in `body` */
    atomic_bool is_in_call;           /* `call` has not returned; notes.c, note_again */
    const struct layer_call *body_of; /* the call whose body is in `body`, and is the packet's, too; NULL: none */
    struct lap_enc enc;               /* writes into: */
    uint8_t body[LAYER_NOTE_BODY_BYTES];
};

/* Identifies the calling thread, also in a signal handler; never 0. No function call on x86 and 64-bit ARM. */
static inline __attribute__((always_inline)) uintptr_t layer_thread_self(void)
{
#if defined(__x86_64__) && !defined(__ILP32__)
    uintptr_t self;
    __asm__("mov %%fs:0, %0" : "=r"(self));
    return self;
#elif defined(__i386__)
    uintptr_t self;
    __asm__("mov %%gs:0, %0" : "=r"(self));
    return self;
#elif defined(__aarch64__)
    uintptr_t self;
    __asm__("mrs %0, tpidr_el0" : "=r"(self));
    return self;
#else
    return (uintptr_t)pthread_self();
#endif
}

/* Once, before all others here. ended: called on a thread that ends, while it still has its record, which it leaves
 * without a stream. False: out of memory. */
bool layer_threads_init(void (*ended)(struct layer_thread *thread));

/* The calling thread's record; NULL: out of memory. */
extern __thread struct layer_thread *layer_thread_known __attribute__((visibility("hidden")));
struct layer_thread *layer_thread_take(void);
static inline struct layer_thread *layer_thread_current(void)
{
    struct layer_thread *thread = layer_thread_known;
    return __builtin_expect(thread != NULL, 1) ? thread : layer_thread_take();
}

/* The calling thread's record, in a signal handler, too; NULL: it has none. */
struct layer_thread *layer_thread_find(void);

/* All records, in no order: the first one; the rest by their `next`. */
struct layer_thread *layer_threads(void);

/* In the child of a fork, which has only the calling thread. */
void layer_threads_forked(void);

/* Initialises an error-checking mutex (PTHREAD_MUTEX_ERRORCHECK), as all mutexes of the layer are. */
void layer_mutex_init(pthread_mutex_t *mutex);

#endif
