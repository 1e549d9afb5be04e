/* SPDX-License-Identifier: MIT */
/*
 * in_flight: which of the program's calls have not returned, so that the one in which the process ends can be read
 * (docs/format.md, "Calls in flight"). crash.c calls it from signal handlers.
 *
 * A call is noted where it is made: command and arguments lie on the caller's stack, and the thread's record points
 * there. For crashes and hangs nothing is encoded before somebody wants to know. Commands that are recorded are in
 * their command buffer's block already; the command buffer says which thread is in the driver with it.
 *
 * Who reads what another thread noted says so in its record first, and a thread whose call returns meanwhile waits. The
 * thread itself needs no barrier for that: who reads has the kernel make one on all threads (membarrier). All that
 * is written, and who writes, is under one lock, which a signal handler tries for a while only. What is read may be
 * anything, as the program is at fault, or its driver: a fault while reading is caught.
 *
 * A process that is killed has no time for that. Where the notes of the tail file can be had (trace/notes.h) each
 * thread encodes its call into its place there before it is made: notes.c. The helper thread then looks for those calls
 * only that could not be noted so.
 */
#ifndef LAP_LAYER_IN_FLIGHT_H
#define LAP_LAYER_IN_FLIGHT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gen_ids.h"
#include "trace/wire.h"

struct lap_note_command;
struct lap_note_thread;
struct lap_stream;
struct lap_writer;

struct layer_call;
struct layer_cmdbuf;

#define LAYER_NOTE_BODY_BYTES 4096u

/* Where a call stands in the tail file. */
struct layer_noted {
    struct layer_thread *thread; /* whose call it is */
    uint8_t *entry;              /* NULL: nowhere */
    unsigned large;              /* the number of a large place, plus 1; 0: it is the thread's own */
};

/* What the layer knows of a thread of the program. Never freed: signal handlers may be looking at it. Once its thread
 * has ended another one takes it over. */
struct layer_thread {
    struct layer_thread *next;
    atomic_bool used;
    struct lap_writer *writer; /* of the stream; a parent's in a child that has not recorded yet */
    struct lap_stream *stream;
    uint64_t ticket;            /* of the last packet */
    bool refused;               /* no stream could be had: this thread records nothing */
    uint32_t packet_begun;      /* the command of the last packet */
    atomic_uint packet_command; /* the same, once it is written, in the call that is under way; 0: there was none */
    uint64_t kernel_id;
    atomic_uintptr_t self; /* layer_thread_self */
    atomic_uintptr_t call; /* struct layer_call, the innermost; 0: none */
    atomic_uintptr_t
        reading; /* the call that somebody else is reading: when it has returned, the thread waits; 0: none */
    atomic_uint_fast64_t made;    /* how many calls began */
    atomic_bool attention;        /* something was written of this thread: it has to look when a call begins or ends */
    uint32_t written;             /* where in the list its entry is, plus 1; 0: it has none. Under the lock */
    uint64_t seen;                /* `made` at the last look; the helper thread's */
    struct lap_note_thread *note; /* the place in the tail file; NULL: none was asked for */
    bool note_refused;            /* it is not to be used, or there is none */
    unsigned large;               /* a bit for each large place that it has */
    _Atomic(uint8_t *) noted;     /* where its call stands in the tail file; NULL: nowhere */
    const struct layer_call *body_of; /* whose body, which may be the packet's, is in `body`; NULL: nobody's */
    struct lap_enc enc;               /* writes into: */
    uint8_t body[LAYER_NOTE_BODY_BYTES];
};

/* A call that is under way, on the stack of the thread that makes it. */
struct layer_call {
    struct layer_thread *thread; /* NULL: it is not noted */
    struct layer_call *outer;    /* the driver has called the program back */
    const void *args;            /* struct gen_args_X */
    uint32_t command;
    uint32_t mark; /* LAYER_CALL_MARK until it has returned */
    struct layer_noted noted;
};

/* Tells threads apart without calling anybody, also in a signal handler; never 0. */
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

/* Around each call of the program that is no command of a command buffer. An encoder that is returned wants the call's
 * body, for its note: layer_note_end, layer_note_encode. */
struct lap_enc *layer_call_begin(struct layer_call *call, enum gen_command command, const void *args);
void layer_call_end(struct layer_call *call);

/* Once; false: out of memory. Before the next. */
bool layer_threads_init(void);
/* The calling thread's record; NULL: out of memory. */
extern __thread struct layer_thread *layer_thread_known __attribute__((visibility("hidden")));
struct layer_thread *layer_thread_take(void);
static inline struct layer_thread *layer_thread_here(void)
{
    struct layer_thread *thread = layer_thread_known;
    return __builtin_expect(thread != NULL, 1) ? thread : layer_thread_take();
}

/* A file was opened: from now on calls are noted, if that is wanted and there is a tail file to tell it. */
void layer_in_flight_start(struct lap_writer *writer);
/* In the child of a fork: the other threads are not here. */
void layer_in_flight_forked(void);
/* For lap_writer_options.watch: writes calls that do not return. On the writer's helper thread. */
bool layer_in_flight_watch(void);
/* True when a signal that ends programs came in the middle of a call which has not gone on since. */
bool layer_in_flight_crashed(void);

/* ---- notes.c ---- */

/* Calls are written into the tail file's notes. */
extern atomic_bool layer_notes_on __attribute__((visibility("hidden")));
/* Where the tail file can have them. */
void layer_notes_start(struct lap_writer *writer);
/* In the child of a fork, or when nobody would hear that the file was cut. */
void layer_notes_stop(void);
/* A SIGBUS at `address` is a store to notes that somebody has cut off. True: it can be done again. */
bool layer_notes_fault(uintptr_t address);

/* A record has another thread; it has none any more. */
void layer_notes_thread(struct layer_thread *thread);
void layer_notes_thread_ended(struct layer_thread *thread);

/* The call that is about to be made: an encoder for its body, or NULL when it can't be noted. */
struct lap_enc *layer_note_begin(struct layer_thread *thread, struct layer_call *call);
/* The body is there. */
void layer_note_end(struct layer_call *call);
/* In place of these: the body is made of the arguments. */
void layer_note_encode(struct layer_call *call);
/* When it has returned, if it has an entry. */
void layer_note_returned(struct layer_noted *noted);
/* The packet's body, if it is what was noted. */
bool layer_note_copy(const struct layer_call *call, struct lap_enc *enc);

/* A command buffer begins to be recorded, and is through with it. */
void layer_notes_begin(struct layer_cmdbuf *cb);
void layer_notes_end(struct layer_cmdbuf *cb);
/* A command that is too long for its command buffer's place, or the first of another thread. */
void layer_note_command(struct layer_cmdbuf *cb, const uint8_t *command, size_t bytes);
void layer_note_command_returned(struct layer_cmdbuf *cb);
/* The calling thread has left whatever command it was in with this command buffer. */
void layer_note_command_left(struct layer_cmdbuf *cb);
/* Whether there are notes at an address. */
bool layer_notes_have(const void *at);

/* ---- for crash.c ---- */

/* A signal that ends programs. fatal: nobody stands behind us who would save it. Writes what is in flight, if this
 * thread is in a call, or is known to be the end. */
void layer_in_flight_signal(int number, bool fatal);
/* Does not return if the calling thread is reading what can't be read. */
void layer_in_flight_fault(void);

/* ---- gen_in_flight.c ---- */

/* Encodes the body of a packet for a call that has not returned, from its struct gen_args_X; of a call that has a place
 * in blocks, as it stands there, and the index of the command buffer. False: the object that it is made on is not known
 * (any more). */
bool gen_in_flight_encode(struct lap_enc *enc, enum gen_command command, const void *args,
                          uint64_t *out_command_buffer);

/* ---- crash.c ---- */

/* Sees to it that our handlers are asked first, also where the program has set its own since. */
void layer_crash_watch(void);
/* True when a fault on the calling thread comes to us. Undoes what it did with false. */
bool layer_crash_catch(bool on);
/* True when SIGBUS comes to us, as long as no thread has it blocked. */
bool layer_crash_hears_bus(void);

#endif
