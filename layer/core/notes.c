/* SPDX-License-Identifier: MIT */
#include "layer/core/notes.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/format/bytes.h"
#include "trace/write/writer.h"

_Static_assert(LAYER_NOTE_BODY_BYTES >= sizeof(((struct lap_note_thread *)0)->call), "what fits a note");

#define WORD_BITS   32u
#define MOST_FAULTS 100000u

/* Written with release by layer_notes_start, read with acquire by `enter` and layer_notes_begin: publishes the members
 * below but the atomic ones. Relaxed reads before that only save the call. */
atomic_bool layer_notes_on;

static struct {
    _Atomic(struct lap_notes *) place; /* mapped once, private while there are no notes */
    /* Both seq_cst: a handler counts itself and then looks at the writer; whoever destroys that clears it first, and
     * then waits for the count. */
    _Atomic(struct lap_writer *) writer;
    atomic_uint faults_under_way; /* threads that may be looking at the writer in a signal handler */
    pthread_rwlock_t *parts_lock; /* NULL: there is only one file */
    layer_encode_call encode;
    _Atomic uint64_t seed; /* a handler may read it while another thread changes files */
    _Atomic pid_t process;
    uint32_t generation; /* of the bits, one for each place that is taken */
    /* Taken with acquire, given with release: the last owner's stores to the place come before the next one's. */
    atomic_uint threads[LAP_NOTES_THREADS / WORD_BITS];
    atomic_uint commands[LAP_NOTES_COMMANDS / WORD_BITS];
    atomic_uint large, large_there, large_refused; /* the second: room was reserved; the third: there is none */
} notes;

/* ---- the file that there is ---- */

static void leave(const struct layer_thread *thread)
{
    if (notes.parts_lock && !thread->changes_parts)
        pthread_rwlock_unlock(notes.parts_lock);
}

/* Until `leave` the file stays. False: nothing is noted. */
static bool enter(const struct layer_thread *thread)
{
    if (!atomic_load_explicit(&layer_notes_on, memory_order_acquire))
        return false;
    if (!notes.parts_lock)
        return true;
    if (!thread->changes_parts)
        pthread_rwlock_rdlock(notes.parts_lock);
    if (atomic_load_explicit(&layer_notes_on, memory_order_relaxed))
        return true;
    leave(thread);
    return false;
}

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

/* Also of calls that were left by a jump (longjmp). */
static void give_all_large(struct layer_thread *thread)
{
    while (__builtin_expect(thread->large, 0))
        give_large(thread, (unsigned)__builtin_ctz(thread->large) + 1);
}

/* Before a thread's first note. */
static bool take_place(struct layer_thread *thread)
{
    unsigned number;
    if (!hears_bus() || !(number = take_bit(notes.threads, LAP_NOTES_THREADS))) {
        thread->note_refused = true;
        return false;
    }
    thread->note = &notes.place->threads[number - 1];
    thread->body_of = NULL;
    thread->enc = (struct lap_enc){.base = thread->body,
                                   .end = thread->body + sizeof thread->note->call - LAP_IN_FLIGHT_HEAD_BYTES,
                                   .fixed = true};
    lap_note_thread_begin(thread->note, atomic_load(&thread->self), thread->kernel_id, notes.seed);
    return true;
}

static bool has_place(struct layer_thread *thread)
{
    return __builtin_expect(thread->note != NULL, 1) || (!thread->note_refused && take_place(thread));
}

static uint8_t *take_large(struct layer_thread *thread, unsigned *out_number)
{
    unsigned number = take_bit(&notes.large, LAP_NOTES_LONG), bit;
    if (!number)
        return NULL;
    bit = 1u << (number - 1);
    if (!(atomic_load(&notes.large_there) & bit)) { /* only the owner of the bit uses it */
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

/* ---- contents of places ---- */

/* The body is already in the place. The caller has entered. */
static void note(struct layer_thread *thread, struct lap_in_flight *what, struct layer_noted *noted, uint8_t *large)
{
    uint8_t *entry = large ? large : thread->note->call;
    what->thread_id = thread->kernel_id;
    what->ticket = lap_writer_tickets(notes.writer);
    lap_in_flight_store(entry, what, notes.seed);
    noted->thread = thread;
    noted->entry = entry;
}

/* An encoder at a large place, which fails only for lack of room; or NULL. */
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

/* Notes a call that did not fit the thread's place. `written`: into *enc, if it fits. */
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

/* The thread has left the interrupted call by a jump (longjmp). */
static __attribute__((noinline)) void forget_crash(struct layer_thread *thread)
{
    uintptr_t self = atomic_load_explicit(&thread->self, memory_order_relaxed);
    atomic_store(&thread->crashed, 0);
    if (thread->note)
        lap_note_thread_stamp(thread->note, 0);
    for (unsigned i = 0; i < LAP_NOTES_COMMANDS; i++)
        if (atomic_load_explicit(&notes.place->commands[i].thread, memory_order_relaxed) == self)
            lap_note_command_returned(&notes.place->commands[i]);
}

struct lap_enc *layer_call_begin(struct layer_call *call, enum gen_command command, const void *args)
{
    struct layer_thread *thread;
    struct lap_enc *enc;
    call->thread = NULL;
    if (!atomic_load_explicit(&layer_notes_on, memory_order_relaxed) || !(thread = layer_thread_current()) ||
        !enter(thread))
        return NULL;
    if (!has_place(thread)) {
        leave(thread);
        return NULL;
    }
    if (__builtin_expect(atomic_load_explicit(&thread->crashed, memory_order_relaxed), 0))
        forget_crash(thread);
    give_all_large(thread); /* of calls that were left by a jump */
    atomic_store_explicit(&thread->is_in_call, false, memory_order_relaxed);
    lap_in_flight_strike(thread->note->call);
    call->thread = thread;
    call->noted = (struct layer_noted){.thread = thread};
    call->command = command;
    call->args = args;
    thread->body_of = NULL;
    enc = &thread->enc;
    enc->p = enc->base;
    enc->failed = false;
    enc->unknown_structs = 0;
    return enc;
}

static void end_call(struct layer_call *call, bool encoded, uint64_t command_buffer)
{
    struct layer_thread *thread = call->thread;
    const struct lap_enc *enc = &thread->enc;
    struct lap_in_flight what = {.command = call->command,
                                 .command_buffer = command_buffer,
                                 .flags = command_buffer ? LAP_IN_FLIGHT_COMMAND : 0};
    if (__builtin_expect(encoded && !enc->failed, 1)) {
        what.bytes = (size_t)(enc->p - enc->base);
        thread->body_of = enc->unknown_structs ? NULL : call;
        /* It was encoded in private memory, since the packet may be copied from it. */
        lap_copy_words(thread->note->call + LAP_IN_FLIGHT_HEAD_BYTES, thread->body, what.bytes);
        note(thread, &what, &call->noted, NULL);
    } else {
        struct lap_enc other;
        uint8_t *large = encoded ? begin_large(thread, &other, &call->noted.large) : NULL;
        bool written = large && notes.encode(&other, (enum gen_command)call->command, call->args, &what.command_buffer);
        note_large(thread, &what, &call->noted, &other, large, written);
        what.flags |= LAP_IN_FLIGHT_BARE; /* in another file */
        what.bytes = 0;
    }
    thread->call = what;
    atomic_store_explicit(&thread->is_in_call, true, memory_order_relaxed);
    leave(thread);
}

void layer_note_end(struct layer_call *call)
{
    end_call(call, true, 0);
}

void layer_note_encode(struct layer_call *call)
{
    uint64_t command_buffer = 0;
    bool encoded = notes.encode(&call->thread->enc, (enum gen_command)call->command, call->args, &command_buffer);
    end_call(call, encoded, command_buffer);
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

/* In this order: see note_again, which has the other fence. It runs only where one file follows another. */
static void strike(struct layer_thread *thread, uint8_t *entry)
{
    atomic_store_explicit(&thread->is_in_call, false, memory_order_relaxed);
    if (notes.parts_lock)
        atomic_thread_fence(memory_order_seq_cst);
    lap_in_flight_strike(entry);
}

static void returned(struct layer_noted *noted)
{
    struct layer_thread *thread = noted->thread;
    if (!noted->large) {
        strike(thread, noted->entry);
    } else if (thread->note) {
        strike(thread, thread->note->call); /* where it is noted in another file */
        if (enter(thread)) {
            give_large(thread, noted->large);
            leave(thread);
        }
    }
    noted->entry = NULL;
}

void layer_call_end(struct layer_call *call)
{
    if (call->thread && call->noted.entry)
        returned(&call->noted);
}

static bool has_command_place(struct layer_cmdbuf_note *note)
{
    unsigned number;
    if (note->place && note->generation == notes.generation)
        return true;
    number = take_bit(notes.commands, LAP_NOTES_COMMANDS);
    note->refused = !number;
    note->place = number ? &notes.place->commands[number - 1] : NULL;
    note->generation = notes.generation;
    return number != 0;
}

/* In the thread's place, or a large one. */
static void note_own_command(struct layer_thread *thread, struct layer_noted *noted, uint64_t command_buffer,
                             const uint8_t *command, const uint8_t *end)
{
    struct lap_in_flight what = {.flags = LAP_IN_FLIGHT_COMMAND, .command_buffer = command_buffer};
    uint8_t *entry = thread->note->call, *large;
    struct lap_enc other;
    what.command = (uint32_t)lap_in_flight_number(&command, end);
    what.bytes = (size_t)(end - command);
    noted->large = 0;
    give_all_large(thread);
    strike(thread, entry);
    if (what.bytes <= sizeof thread->note->call - LAP_IN_FLIGHT_HEAD_BYTES) {
        memcpy(entry + LAP_IN_FLIGHT_HEAD_BYTES, command, what.bytes);
        note(thread, &what, noted, NULL);
        return;
    }
    large = begin_large(thread, &other, &noted->large);
    if (large)
        lap_enc_raw(&other, command, what.bytes);
    note_large(thread, &what, noted, &other, large, large != NULL);
}

void layer_note_long_command(struct layer_cmdbuf_note *note, uint64_t command_buffer, const uint8_t *command,
                             size_t bytes)
{
    struct layer_thread *thread = layer_thread_current();
    if (!thread || thread->note_refused || note->refused || !enter(thread))
        return;
    if (has_place(thread) && has_command_place(note)) {
        note->self = atomic_load_explicit(&thread->self, memory_order_relaxed);
        if (bytes <= LAP_NOTE_COMMAND_MOST)
            lap_note_command(note->place, note->self, command_buffer, command, bytes);
        else
            note_own_command(thread, &note->long_command, command_buffer, command, command + bytes);
    }
    leave(thread);
}

void layer_note_long_returned(struct layer_cmdbuf_note *note)
{
    if (note->long_command.thread == layer_thread_known && layer_thread_known)
        returned(&note->long_command);
    note->long_command.entry = NULL;
}

void layer_notes_thread_ended(struct layer_thread *thread)
{
    struct lap_note_thread *note = thread->note;
    give_all_large(thread);
    if (atomic_load(&thread->crashed))
        forget_crash(thread);
    thread->note = NULL;
    atomic_store(&thread->is_in_call, false);
    if (note) {
        lap_note_thread_end(note);
        give_bit(notes.threads, (unsigned)(note - notes.place->threads));
    }
}

/* ---- command buffers ---- */

void layer_notes_begin(struct layer_cmdbuf_note *note)
{
    struct layer_thread *thread = layer_thread_known;
    if (atomic_load_explicit(&layer_notes_on, memory_order_acquire) && thread && !thread->note_refused &&
        has_command_place(note))
        note->self = atomic_load_explicit(&thread->self, memory_order_relaxed);
}

void layer_notes_end(struct layer_cmdbuf_note *note)
{
    note->long_command.entry = NULL; /* a thread that left it by a jump gives its place back */
    if (note->place && note->generation == notes.generation) {
        lap_note_command_returned(note->place);
        give_bit(notes.commands, (unsigned)(note->place - notes.place->commands));
    }
    note->place = NULL;
    note->self = 0;
    note->refused = false;
}

/* ---- beginning and end ---- */

/* Large places belong to a file, as room for them is reserved there. */
static void forget_large(void)
{
    atomic_store(&notes.large, 0);
    atomic_store(&notes.large_there, 0);
    atomic_store(&notes.large_refused, 0);
    for (struct layer_thread *thread = layer_threads(); thread; thread = thread->next)
        thread->large = 0;
}

static void forget_places(void)
{
    notes.generation++;
    for (size_t i = 0; i < LAP_NOTES_THREADS / WORD_BITS; i++)
        atomic_store(&notes.threads[i], 0);
    for (size_t i = 0; i < LAP_NOTES_COMMANDS / WORD_BITS; i++)
        atomic_store(&notes.commands[i], 0);
    forget_large();
    for (struct layer_thread *thread = layer_threads(); thread; thread = thread->next) {
        thread->note = NULL;
        thread->note_refused = false;
        atomic_store(&thread->is_in_call, false);
        atomic_store(&thread->crashed, 0);
    }
}

/* In a new file: notes the thread's place, and its current call. The calling thread's own call has done its work. The
 * thread may return from the call meanwhile: it clears the flag before it strikes the note, with a fence between, so
 * that either its mark is the later one, or this thread sees the flag and strikes the note itself. */
static void note_again(struct layer_thread *thread)
{
    struct lap_in_flight what = thread->call;
    unsigned crash;
    lap_note_thread_begin(thread->note, atomic_load(&thread->self), thread->kernel_id, notes.seed);
    if (thread->changes_parts || !atomic_load(&thread->is_in_call)) {
        atomic_store(&thread->crashed, 0);
        return;
    }
    if ((crash = atomic_load(&thread->crashed)))
        lap_note_thread_stamp(thread->note, crash);
    memcpy(thread->note->call + LAP_IN_FLIGHT_HEAD_BYTES, thread->body, what.bytes);
    what.ticket = lap_writer_tickets(notes.writer);
    lap_in_flight_store(thread->note->call, &what, notes.seed);
    atomic_thread_fence(memory_order_seq_cst);
    if (!atomic_load(&thread->is_in_call))
        lap_in_flight_strike(thread->note->call);
}

static void note_all_again(void)
{
    bool is_masked = lap_journal_is_masked();
    if (is_masked)
        lap_journal_unmask();
    for (struct layer_thread *thread = layer_threads(); thread; thread = thread->next) {
        thread->note_refused = false;
        if (thread->note)
            note_again(thread);
    }
    if (is_masked)
        lap_journal_mask();
}

void layer_notes_start(struct lap_writer *writer, layer_encode_call encode, pthread_rwlock_t *parts_lock)
{
    bool is_mapped;
    if (!notes.place) { /* no other thread reads these before the first start */
        void *place =
            mmap(NULL, LAP_NOTES_MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (place == MAP_FAILED)
            return;
        notes.place = place;
        notes.parts_lock = parts_lock;
    }
    atomic_store(&notes.writer, writer);
    notes.encode = encode;
    notes.seed = lap_writer_calls_seed(writer);
    atomic_store(&notes.process, getpid());
    forget_large();
    is_mapped = lap_writer_map_notes(writer, notes.place);
    if (is_mapped)
        note_all_again();
    atomic_store(&layer_notes_on, is_mapped);
}

bool layer_notes_stop(void)
{
    bool noted = atomic_exchange(&layer_notes_on, false);
    if (noted)
        lap_writer_give_notes_up(notes.writer);
    return noted;
}

void layer_notes_leave(struct lap_writer *writer)
{
    atomic_store(&layer_notes_on, false);
    (void)lap_writer_drop_notes(writer); /* from here on no store faults */
    atomic_store(&notes.writer, NULL);
    while (atomic_load(&notes.faults_under_way))
        sched_yield();
}

void layer_notes_forked(void)
{
    (void)layer_notes_stop();
    atomic_store(&notes.faults_under_way, 0); /* of threads that the child lacks */
    forget_places();
}

/* ---- signals ---- */

/* Several threads may fault at once. If private memory faults, too, the layer can't repair it. Without a writer the
 * mapping that faulted was removed meanwhile. */
bool layer_notes_fault(uintptr_t address)
{
    static atomic_uint faults;
    struct lap_writer *writer;
    bool dropped = true;
    if (!notes.place || address - (uintptr_t)notes.place >= LAP_NOTES_BYTES ||
        atomic_fetch_add(&faults, 1) >= MOST_FAULTS)
        return false;
    atomic_fetch_add(&notes.faults_under_way, 1);
    if ((writer = atomic_load(&notes.writer))) {
        atomic_store(&layer_notes_on, false);
        dropped = lap_writer_drop_notes(writer);
    }
    atomic_fetch_sub(&notes.faults_under_way, 1);
    return dropped;
}

static bool is_standing(const uint8_t *entry)
{
    return __atomic_load_n(entry + LAP_IN_FLIGHT_STATE_AT, __ATOMIC_RELAXED) == LAP_IN_FLIGHT_STANDING;
}

static bool is_in_call(const struct layer_thread *thread)
{
    uintptr_t self = atomic_load(&thread->self);
    bool found = thread->large || is_standing(thread->note->call);
    for (unsigned i = 0; i < LAP_NOTES_COMMANDS && !found; i++)
        found = atomic_load_explicit(&notes.place->commands[i].thread, memory_order_relaxed) == self;
    return found;
}

/* A thread that has made no calls, such as a driver's, ends the process: its place is never released. */
static void stamp_new_place(int number)
{
    unsigned place = hears_bus() ? take_bit(notes.threads, LAP_NOTES_THREADS) : 0;
    struct lap_note_thread *note;
    if (!place)
        return;
    note = &notes.place->threads[place - 1];
    lap_note_thread_begin(note, layer_thread_self(), (uint64_t)syscall(SYS_gettid), notes.seed);
    lap_note_thread_stamp(note, (uint32_t)number);
}

void layer_notes_signal(int number, bool fatal)
{
    struct layer_thread *thread;
    bool in_call;
    if (!atomic_load(&layer_notes_on) || notes.process != getpid())
        return;
    thread = layer_thread_find();
    if (!thread || !thread->note) {
        if (fatal)
            stamp_new_place(number);
        return;
    }
    in_call = is_in_call(thread);
    if (in_call)
        atomic_store(&thread->crashed, (unsigned)number);
    if (in_call || fatal)
        lap_note_thread_stamp(thread->note, (uint32_t)number);
}

bool layer_notes_crashed(void)
{
    const struct layer_thread *thread = layer_threads();
    while (thread && !atomic_load(&thread->crashed))
        thread = thread->next;
    return thread && notes.process == getpid();
}
