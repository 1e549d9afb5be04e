/* SPDX-License-Identifier: MIT */
/*
 * notes: a place where each thread of a program notes its next call (docs/format.md, "Notes of calls"). It is a mapped
 * part of the tail file, so notes survive in the page cache when the process is killed, and noting a call costs no
 * system call. Knows no Vulkan.
 *
 * A thread has a place for one call. A command buffer in the recording state has one for the command that its thread is
 * executing in the driver: all of it twice, which is cheaper than a hash and shows damage as well. A call that fits
 * neither takes one of a few large places for its duration.
 *
 * Readers come when the process is dead. Then the stores of each thread are there up to some point of its program, in
 * whatever order a processor made them: between stores of one thread only the compiler must be held (signal fences).
 *
 * Another process may truncate the file. A store to the mapping then raises SIGBUS, and lap_tail_drop_notes maps
 * private memory in its place.
 */
#ifndef LAP_TRACE_CRASH_NOTES_H
#define LAP_TRACE_CRASH_NOTES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"
#include "trace/crash/in_flight.h"
#include "trace/crash/journal.h"

#define LAP_NOTES_THREADS  128u
#define LAP_NOTES_COMMANDS 1024u
#define LAP_NOTES_LONG     4u

struct lap_note_thread {
    uint64_t kernel_id;             /* as the kernel names the thread */
    uint64_t hash;                  /* of the two, with lap_tail_seed as its seed */
    atomic_uintptr_t self;          /* the thread's number in notes of commands; 0: no thread has the place */
    _Alignas(8) atomic_uint signal; /* with which the thread crashed in its call, or the process ended; 0: none */
    uint8_t unused[36];
    uint8_t call[4096 - 64]; /* as in the list of calls in flight */
};

#define LAP_NOTE_COMMAND_MOST 224u

struct lap_note_command {
    atomic_uintptr_t thread; /* `self` of the one that is in the driver with it; 0: none */
    uint8_t unused[32 - sizeof(atomic_uintptr_t)];
    struct lap_noted_command {
        uint64_t command_buffer; /* its index */
        uint32_t bytes, zero;
        uint8_t body[LAP_NOTE_COMMAND_MOST]; /* as in the block, its number included */
    } noted[2];                              /* both the same */
};

struct lap_note_long {
    uint8_t call[(size_t)1 << 20]; /* as in the list of calls in flight */
};

struct lap_notes {
    struct lap_note_thread threads[LAP_NOTES_THREADS];
    struct lap_note_command commands[LAP_NOTES_COMMANDS];
    struct lap_note_long large[LAP_NOTES_LONG]; /* a hole until they are needed */
    struct lap_journal journal;                 /* the same */
};

_Static_assert(ATOMIC_POINTER_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE != 0,
               "handlers of signals use them, and other processes read them");
_Static_assert(sizeof(struct lap_note_thread) == 4096 && offsetof(struct lap_note_thread, signal) == 24 &&
                   offsetof(struct lap_note_thread, call) == 64,
               "as it is in the file");
_Static_assert(sizeof(struct lap_note_command) == 512 && sizeof(struct lap_noted_command) == 240,
               "as it is in the file");

#define LAP_NOTES_BYTES sizeof(struct lap_notes)
#define LAP_NOTES_PAGE  ((size_t)64 << 10) /* no machine has larger ones */
#define LAP_NOTES_MAP_BYTES                                                                                            \
    ((LAP_NOTES_BYTES + LAP_NOTES_PAGE - 1) & ~(LAP_NOTES_PAGE - 1)) /* whole pages everywhere */
#define LAP_NOTES_SMALL_BYTES offsetof(struct lap_notes, large)
#define LAP_NOTES_CALLS_BYTES offsetof(struct lap_notes, journal) /* all that tail files of version 3 have */

/* ---- the program's side; each place has one thread that uses it ---- */

void lap_note_thread_begin(struct lap_note_thread *note, uintptr_t self, uint64_t kernel_id, uint64_t seed);
void lap_note_thread_end(struct lap_note_thread *note);
/* The thread got a signal that ends programs; 0: it has continued after it. Safe in a signal handler. */
static inline void lap_note_thread_stamp(struct lap_note_thread *note, uint32_t signal)
{
    atomic_store_explicit(&note->signal, signal, memory_order_relaxed);
}

/* The command is `bytes` bytes, at most LAP_NOTE_COMMAND_MOST; up to 15 more behind them are read. Everything that a
 * reader needs is stored each time: another file may have been mapped meanwhile. */
static inline __attribute__((always_inline)) void lap_note_command(struct lap_note_command *note, uintptr_t thread,
                                                                   uint64_t command_buffer, const uint8_t *body,
                                                                   size_t bytes)
{
    /* It is not there yet, if the last one was left by a jump. */
    atomic_store_explicit(&note->thread, 0, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    note->noted[0].command_buffer = note->noted[1].command_buffer = command_buffer;
    note->noted[0].bytes = note->noted[1].bytes = (uint32_t)bytes;
    for (size_t i = 0; i < bytes; i += 16) {
        uint64_t part[2];
        memcpy(part, body + i, sizeof(part));
        memcpy(note->noted[0].body + i, part, sizeof(part));
        memcpy(note->noted[1].body + i, part, sizeof(part));
    }
    atomic_store_explicit(&note->thread, thread, memory_order_release);
}

static inline __attribute__((always_inline)) void lap_note_command_returned(struct lap_note_command *note)
{
    atomic_store_explicit(&note->thread, 0, memory_order_relaxed);
}

/* ---- a reader's side ---- */

/* The calls in the notes, as a list of calls in flight. Each call gets the signal, and those of the thread that got it
 * count as guilty. */
struct lap_notes_reader {
    uint64_t seed; /* lap_tail_seed of the trace */
    uint8_t *list; /* has room for all of it */
    size_t used;   /* bytes in the list; may begin behind others */
    uint32_t signal;
    uint64_t signal_thread; /* as the kernel names it */
    unsigned damaged;       /* notes, and so left out */
};

/* Takes all but the large notes from the LAP_NOTES_SMALL_BYTES at `notes`; before the next. */
void lap_notes_take(struct lap_notes_reader *reader, const uint8_t *notes);
/* Takes the call in a place of `bytes` bytes. */
void lap_notes_take_call(struct lap_notes_reader *reader, const uint8_t *place, size_t bytes);

#endif
