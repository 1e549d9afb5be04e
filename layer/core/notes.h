/* SPDX-License-Identifier: MIT */
/*
 * notes: writes the program's calls into the mapped part of the tail file before they are made (trace/crash/notes.h),
 * so that a reader finds the calls in flight however the process ends. A call is encoded into its thread's place. A
 * command of a command buffer is copied from its block into the command buffer's place.
 *
 * A store to a mapping raises SIGBUS once the file was truncated. The handler (crash.h) then maps private memory there,
 * and the store is repeated. So notes are written only while that handler is installed, and a thread that blocks SIGBUS
 * notes nothing: the kernel would not call the handler.
 *
 * Where parts of the run are recorded, one file's notes follow another's at the same addresses. Threads and command
 * buffers keep their places, so that a late store never lands in another's place. A thread that begins or ends a part
 * holds the lock of parts for writing, so no call is encoded meanwhile. Calls in flight at that time are noted again in
 * the new file, if they were in one before. Returns of calls, and commands, are noted without the lock.
 */
#ifndef LAP_LAYER_NOTES_H
#define LAP_LAYER_NOTES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gen_ids.h"
#include "layer/core/thread.h"
#include "trace/crash/notes.h"
#include "trace/format/encode.h"

struct lap_writer;

/* Where a call stands in the tail file. */
struct layer_noted {
    struct layer_thread *thread; /* the thread that makes the call */
    uint8_t *entry;              /* NULL: nowhere */
    unsigned large;              /* the number of a large place, plus 1; 0: the thread's own place */
};

/* A call in flight, on the stack of its thread. A call that the program makes from a callback of the driver replaces
 * the outer one. */
struct layer_call {
    struct layer_thread *thread; /* NULL: it is not noted */
    const void *args;            /* struct gen_args_X */
    uint32_t command;
    struct layer_noted noted;
};

/* A command buffer's part. Zeroed: nothing is noted. */
struct layer_cmdbuf_note {
    struct lap_note_command *place; /* while it is recorded, from its first note on; else NULL */
    uint32_t generation;
    uintptr_t self; /* layer_thread_self of the thread that may store there; 0: there is no place */
    bool refused;   /* it gets none */
    struct layer_noted long_command;
};

/* ---- beginning and end ---- */

/* Encodes the body of a packet for a call that has not returned, from its struct gen_args_X; for a command of a block,
 * the body as in the block, and the index of the command buffer. False: the object of the call is not known (any
 * more). */
typedef bool (*layer_encode_call)(struct lap_enc *enc, enum gen_command command, const void *args,
                                  uint64_t *out_command_buffer);

extern atomic_bool layer_notes_on __attribute__((visibility("hidden")));

/* A file was opened, and a SIGBUS reaches layer_notes_fault: from now on calls are noted, where there is a tail file.
 * parts_lock: as in struct layer_state, held by the caller for writing; NULL: there is only one file. Always the
 * same. */
void layer_notes_start(struct lap_writer *writer, layer_encode_call encode, pthread_rwlock_t *parts_lock);
/* Nothing is noted any more, and the notes in the tail file are cleared. False: nothing was noted. */
bool layer_notes_stop(void);
/* The writer has ended its file and is about to be destroyed: nothing is noted until the next start. Under the lock of
 * parts. */
void layer_notes_leave(struct lap_writer *writer);
/* In the child of a fork: the file is the parent's. */
void layer_notes_forked(void);
/* The calling thread ends. Where parts are recorded, between layer_parts_enter and layer_parts_leave. */
void layer_notes_thread_ended(struct layer_thread *thread);

/* ---- calls: around each call of the program that does not record a command ---- */

/* An encoder is returned when the call's body is wanted for its note: layer_note_end or layer_note_encode follows. */
struct lap_enc *layer_call_begin(struct layer_call *call, enum gen_command command, const void *args);
void layer_call_end(struct layer_call *call);

/* The body is encoded. */
void layer_note_end(struct layer_call *call);
/* Instead of layer_note_end: encodes the body from the arguments. */
void layer_note_encode(struct layer_call *call);
/* Appends the note's body to a packet. False: it is not the packet's. */
bool layer_note_copy(const struct layer_call *call, struct lap_enc *enc);

/* ---- commands ---- */

/* Recording of a command buffer begins, and ends. */
void layer_notes_begin(struct layer_cmdbuf_note *note);
void layer_notes_end(struct layer_cmdbuf_note *note);

/* For layer_note_command: a command that is too long for its command buffer's place, the first command of another
 * thread, or a command buffer without a place, as its recording began before the part. */
void layer_note_long_command(struct layer_cmdbuf_note *note, uint64_t command_buffer, const uint8_t *command,
                             size_t bytes);
void layer_note_long_returned(struct layer_cmdbuf_note *note);

/* Around the driver's function for a command that was encoded as these bytes; up to 15 more behind them are read. */
static inline __attribute__((always_inline)) void
layer_note_command(struct layer_cmdbuf_note *note, uint64_t command_buffer, const uint8_t *command, size_t bytes)
{
    if (atomic_load_explicit(&layer_notes_on, memory_order_relaxed)) {
        if (__builtin_expect(note->self == layer_thread_self() && bytes <= LAP_NOTE_COMMAND_MOST, 1))
            lap_note_command(note->place, note->self, command_buffer, command, bytes);
        else
            layer_note_long_command(note, command_buffer, command, bytes);
    }
}
static inline __attribute__((always_inline)) void layer_note_command_returned(struct layer_cmdbuf_note *note)
{
    if (__builtin_expect(note->place != NULL, 1))
        lap_note_command_returned(note->place);
    if (__builtin_expect(note->long_command.entry != NULL, 0))
        layer_note_long_returned(note);
}

/* ---- for crash.c, in signal handlers ---- */

/* A SIGBUS at `address`. True: it was a store to notes in a truncated file, and can be repeated. */
bool layer_notes_fault(uintptr_t address);
/* The calling thread got a signal that ends programs: stamps its place if it is in a call, or if `fatal`: no other
 * handler gets the signal. */
void layer_notes_signal(int number, bool fatal);
/* True when such a signal came in the middle of a call, and its thread has made no call since. */
bool layer_notes_crashed(void);

#endif
