/* SPDX-License-Identifier: MIT */
/*
 * notes: calls of the program, written into the mapped part of the tail file before they are made (trace/notes.h), so
 * that they can be read when the process is killed. A call is encoded into its thread's place, a command of a command
 * buffer is copied from its block into the command buffer's.
 *
 * A store is SIGBUS when somebody has cut the file. Our handler (crash.c) then puts private memory there and the store
 * is done again. So there are notes only while that handler is the one that is called, and none of threads that have
 * SIGBUS blocked, for which the kernel would not call it.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "layer/layer.h"
#include "trace/bytes.h"
#include "trace/notes.h"

_Static_assert(LAYER_NOTE_BODY_BYTES >= sizeof(((struct lap_note_thread *)0)->call), "what fits a note");

#define WORD_BITS   32u
#define MOST_FAULTS 100000u

atomic_bool layer_notes_on;

static struct {
    struct lap_notes *place; /* mapped once, private while there are no notes */
    struct lap_writer *writer;
    uint64_t seed;
    uint32_t generation;                                  /* of what follows */
    atomic_uint threads;                                  /* places that records have */
    atomic_uint commands[LAP_NOTES_COMMANDS / WORD_BITS]; /* a bit for each that is taken */
    atomic_uint large, large_there, large_refused;        /* the same; what room was reserved for; what has none */
} notes;

/* ---- places ---- */

/* Takes the first bit that is free; its number plus 1, 0: there is none. */
static unsigned take_bit(atomic_uint *words, unsigned bits)
{
    for (unsigned word = 0; word < (bits + WORD_BITS - 1) / WORD_BITS; word++) {
        unsigned taken = atomic_load_explicit(&words[word], memory_order_relaxed);
        unsigned there = bits - word * WORD_BITS >= WORD_BITS ? UINT32_MAX : (1u << (bits - word * WORD_BITS)) - 1;
        while ((taken & there) != there) {
            unsigned bit = (unsigned)__builtin_ctz(~taken);
            if (atomic_compare_exchange_weak(&words[word], &taken, taken | 1u << bit))
                return word * WORD_BITS + bit + 1;
        }
    }
    return 0;
}

static void give_bit(atomic_uint *words, unsigned bit)
{
    atomic_fetch_and(&words[bit / WORD_BITS], ~(1u << bit % WORD_BITS));
}

static bool hears_bus(void)
{
    sigset_t blocked;
    return pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 && sigismember(&blocked, SIGBUS) == 0;
}

static void give_large(struct layer_thread *thread, unsigned number)
{
    unsigned bit = 1u << (number - 1);
    if (!(thread->large & bit)) /* it was given back already */
        return;
    lap_in_flight_strike(notes.place->large[number - 1].call);
    thread->large &= ~bit;
    give_bit(&notes.large, number - 1);
}

/* Of calls that were left by a jump, too. */
static void give_all_large(struct layer_thread *thread)
{
    while (__builtin_expect(thread->large, 0))
        give_large(thread, (unsigned)__builtin_ctz(thread->large) + 1);
}

void layer_notes_thread(struct layer_thread *thread)
{
    thread->note_refused = false;
    thread->body_of = NULL;
    atomic_store(&thread->noted, NULL);
    if (!thread->note || !atomic_load(&layer_notes_on))
        return;
    thread->note_refused = !hears_bus();
    if (!thread->note_refused)
        lap_note_thread_begin(thread->note, atomic_load(&thread->self), thread->kernel_id, notes.seed);
}

void layer_notes_thread_ended(struct layer_thread *thread)
{
    give_all_large(thread);
    if (thread->note && !thread->note_refused)
        lap_note_thread_end(thread->note);
}

/* A record's first call. Places are as many as there ever were threads at once. */
static bool take_place(struct layer_thread *thread)
{
    unsigned number;
    if (!hears_bus() || (number = atomic_fetch_add(&notes.threads, 1)) >= LAP_NOTES_THREADS) {
        thread->note_refused = true;
        return false;
    }
    thread->note = &notes.place->threads[number];
    thread->enc = (struct lap_enc){.base = thread->body,
                                   .end = thread->body + sizeof thread->note->call - LAP_IN_FLIGHT_HEAD_BYTES,
                                   .fixed = true};
    lap_note_thread_begin(thread->note, atomic_load(&thread->self), thread->kernel_id, notes.seed);
    return true;
}

static uint8_t *take_large(struct layer_thread *thread, unsigned *out_number)
{
    unsigned number = take_bit(&notes.large, LAP_NOTES_LONG), bit;
    if (!number)
        return NULL;
    bit = 1u << (number - 1);
    if (!(atomic_load(&notes.large_there) & bit)) { /* whoever has it is alone with it */
        if (atomic_load(&notes.large_refused) & bit || !lap_writer_reserve_note(notes.writer, number - 1)) {
            atomic_fetch_or(&notes.large_refused, bit);
            give_bit(&notes.large, number - 1);
            return NULL;
        }
        atomic_fetch_or(&notes.large_there, bit);
    }
    thread->large |= bit;
    *out_number = number;
    return notes.place->large[number - 1].call;
}

/* ---- what stands there ---- */

/* The body is there. */
static void note(struct layer_thread *thread, struct lap_in_flight *what, struct layer_noted *noted, uint8_t *large)
{
    uint8_t *entry = large ? large : thread->note->call;
    what->thread_id = thread->kernel_id;
    what->ticket = lap_writer_tickets(notes.writer);
    lap_in_flight_store(entry, what, notes.seed);
    noted->thread = thread;
    noted->entry = entry;
}

/* An encoder at a large place, whose failure is that there is not enough room; or NULL. */
static uint8_t *begin_large(struct layer_thread *thread, struct lap_enc *enc, unsigned *out_number)
{
    uint8_t *entry = take_large(thread, out_number);
    if (entry)
        *enc = (struct lap_enc){.base = entry + LAP_IN_FLIGHT_HEAD_BYTES,
                                .p = entry + LAP_IN_FLIGHT_HEAD_BYTES,
                                .end = entry + sizeof(struct lap_note_long),
                                .fixed = true};
    return entry;
}

/* What did not fit the thread's place. `written`: into *enc, but for its size. */
static void note_large(struct layer_thread *thread, struct lap_in_flight *what, struct layer_noted *noted,
                       const struct lap_enc *enc, uint8_t *large, bool written)
{
    if (written && !enc->failed) {
        what->bytes = (size_t)(enc->p - enc->base);
    } else {
        if (large)
            give_large(thread, noted->large);
        large = NULL;
        noted->large = 0;
        what->bytes = 0;
        what->flags |= LAP_IN_FLIGHT_BARE;
    }
    note(thread, what, noted, large);
}

struct lap_enc *layer_note_begin(struct layer_thread *thread, struct layer_call *call)
{
    struct lap_enc *enc = &thread->enc;
    if (__builtin_expect(thread->note_refused, 0) || (!thread->note && !take_place(thread)))
        return NULL;
    if (!call->outer)
        give_all_large(thread);
    lap_in_flight_strike(thread->note->call);
    thread->body_of = NULL;
    enc->p = enc->base;
    enc->failed = false;
    enc->unknown_structs = 0;
    return enc;
}

static void end_call(struct layer_call *call, bool told, uint64_t command_buffer)
{
    struct layer_thread *thread = call->thread;
    const struct lap_enc *enc = &thread->enc;
    struct lap_in_flight what = {.command = call->command,
                                 .command_buffer = command_buffer,
                                 .flags = command_buffer ? LAP_IN_FLIGHT_COMMAND : 0};
    call->noted.large = 0;
    if (__builtin_expect(told && !enc->failed, 1)) {
        what.bytes = (size_t)(enc->p - enc->base);
        thread->body_of = enc->unknown_structs ? NULL : call;
        /* It was encoded where nobody else can write, since the packet may be made of it. */
        lap_copy_words(thread->note->call + LAP_IN_FLIGHT_HEAD_BYTES, thread->body, what.bytes);
        note(thread, &what, &call->noted, NULL);
    } else {
        struct lap_enc other;
        uint8_t *large = told ? begin_large(thread, &other, &call->noted.large) : NULL;
        bool written =
            large && gen_in_flight_encode(&other, (enum gen_command)call->command, call->args, &what.command_buffer);
        note_large(thread, &what, &call->noted, &other, large, written);
    }
    atomic_store_explicit(&thread->noted, call->noted.entry, memory_order_relaxed);
}

void layer_note_end(struct layer_call *call)
{
    end_call(call, true, 0);
}

void layer_note_encode(struct layer_call *call)
{
    uint64_t command_buffer = 0;
    bool told = gen_in_flight_encode(&call->thread->enc, (enum gen_command)call->command, call->args, &command_buffer);
    end_call(call, told, command_buffer);
}

bool layer_note_copy(const struct layer_call *call, struct lap_enc *enc)
{
    const struct layer_thread *thread = call->thread;
    size_t bytes;
    if (!thread || thread->body_of != call)
        return false;
    bytes = (size_t)(thread->enc.p - thread->enc.base);
    if (lap_enc_reserve(enc, bytes + 16)) {
        lap_copy_words(enc->p, thread->body, bytes);
        enc->p += bytes;
    }
    return true;
}

void layer_note_returned(struct layer_noted *noted)
{
    lap_in_flight_strike(noted->entry);
    if (noted->large)
        give_large(noted->thread, noted->large);
    noted->entry = NULL;
    atomic_store_explicit(&noted->thread->noted, NULL, memory_order_relaxed);
}

/* In the thread's place, or a large one. */
static void note_long_command(struct layer_thread *thread, struct layer_cmdbuf *cb, const uint8_t *command,
                              const uint8_t *end)
{
    struct lap_in_flight what = {.flags = LAP_IN_FLIGHT_COMMAND, .command_buffer = cb->object.index};
    uint8_t *entry = thread->note->call, *large;
    struct lap_enc other;
    what.command = (uint32_t)lap_in_flight_number(&command, end);
    what.bytes = (size_t)(end - command);
    cb->noted.large = 0;
    give_all_large(thread);
    lap_in_flight_strike(entry);
    if (what.bytes <= sizeof thread->note->call - LAP_IN_FLIGHT_HEAD_BYTES) {
        memcpy(entry + LAP_IN_FLIGHT_HEAD_BYTES, command, what.bytes);
        note(thread, &what, &cb->noted, NULL);
        return;
    }
    large = begin_large(thread, &other, &cb->noted.large);
    if (large)
        lap_enc_raw(&other, command, what.bytes);
    note_large(thread, &what, &cb->noted, &other, large, large != NULL);
}

void layer_note_command(struct layer_cmdbuf *cb, const uint8_t *command, size_t bytes)
{
    struct layer_thread *thread = layer_thread_here();
    if (!thread || !atomic_load_explicit(&layer_notes_on, memory_order_relaxed) || thread->note_refused ||
        (!thread->note && !take_place(thread)))
        return;
    cb->note_self = atomic_load_explicit(&thread->self, memory_order_relaxed);
    if (bytes <= LAP_NOTE_COMMAND_MOST)
        lap_note_command(cb->note, cb->note_self, command, bytes);
    else
        note_long_command(thread, cb, command, command + bytes);
}

void layer_note_command_returned(struct layer_cmdbuf *cb)
{
    struct layer_thread *thread = layer_thread_known;
    if (cb->noted.thread == thread && thread)
        layer_note_returned(&cb->noted);
    cb->noted.entry = NULL;
}

void layer_note_command_left(struct layer_cmdbuf *cb)
{
    if (cb->note)
        lap_note_command_returned(cb->note);
    if (cb->noted.entry)
        layer_note_command_returned(cb);
}

/* ---- command buffers ---- */

void layer_notes_begin(struct layer_cmdbuf *cb)
{
    struct layer_thread *thread = layer_thread_known;
    unsigned number;
    if (!atomic_load_explicit(&layer_notes_on, memory_order_relaxed) || !thread || thread->note_refused ||
        !(number = take_bit(notes.commands, LAP_NOTES_COMMANDS)))
        return;
    cb->note = &notes.place->commands[number - 1];
    cb->note_generation = notes.generation;
    cb->note_self = atomic_load_explicit(&thread->self, memory_order_relaxed);
    lap_note_command_begin(cb->note, cb->object.index);
}

void layer_notes_end(struct layer_cmdbuf *cb)
{
    cb->noted.entry = NULL; /* its thread gives back what it left by a jump */
    if (!cb->note)
        return;
    if (cb->note_generation == notes.generation) {
        lap_note_command_returned(cb->note);
        give_bit(notes.commands, (unsigned)(cb->note - notes.place->commands));
    }
    cb->note = NULL;
}

/* ---- beginning and end ---- */

void layer_notes_start(struct lap_writer *writer)
{
    if (!layer_crash_hears_bus())
        return;
    if (!notes.place) {
        void *place =
            mmap(NULL, LAP_NOTES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (place == MAP_FAILED)
            return;
        notes.place = place;
    }
    notes.writer = writer;
    notes.seed = lap_writer_calls_seed(writer);
    notes.generation++;
    atomic_store(&notes.threads, 0);
    for (size_t i = 0; i < LAP_NOTES_COMMANDS / WORD_BITS; i++)
        atomic_store(&notes.commands[i], 0);
    atomic_store(&notes.large, 0);
    atomic_store(&notes.large_there, 0);
    atomic_store(&notes.large_refused, 0);
    atomic_store(&layer_notes_on, lap_writer_map_notes(writer, notes.place));
}

void layer_notes_stop(void)
{
    if (atomic_exchange(&layer_notes_on, false))
        lap_writer_give_notes_up(notes.writer);
}

bool layer_notes_have(const void *at)
{
    return notes.place && (uintptr_t)at - (uintptr_t)notes.place < LAP_NOTES_BYTES;
}

/* Several threads may come at once; but private memory that faults, too, is not for us to mend. */
bool layer_notes_fault(uintptr_t address)
{
    static atomic_uint faults;
    if (!layer_notes_have((const void *)address) || atomic_fetch_add(&faults, 1) >= MOST_FAULTS)
        return false;
    atomic_store(&layer_notes_on, false);
    return lap_writer_drop_notes(notes.writer);
}
