/* SPDX-License-Identifier: MIT */
#include "layer/in_flight.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "layer/layer.h"
#include "trace/in_flight.h"

#define MARK        0x4c4c4143u /* "CALL" */
#define LIST_BYTES  LAP_IN_FLIGHT_AREA_BYTES
#define HEAD_BYTES  ((size_t)LAP_IN_FLIGHT_HEAD_BYTES)
#define LOCK_TRIES  20000u /* of 0.1 ms */
#define LEAST_BYTES (4 * HEAD_BYTES)

__thread struct layer_thread *layer_thread_known;

static struct {
    _Atomic(struct layer_thread *) threads;
    atomic_bool on;
    atomic_bool asleep; /* nobody looks for calls that don't return: none was made lately */
    atomic_int process;
    atomic_uintptr_t owner; /* of all below: layer_thread_self; 0: nobody */
    struct lap_writer *writer;
    uint8_t *list;
    bool reads_others;            /* there is membarrier (Linux 4.14, and no sandbox forbids it) */
    size_t at;                    /* of what is in it */
    struct layer_thread *crashed; /* in the middle of a call */
    struct layer_cmdbuf *command; /* the command buffer of which one is in the list */
    atomic_uintptr_t reader;      /* the thread that is reading what may not be there, with a way out */
    sigjmp_buf way_out;
} flight;

/* ---- threads ---- */

static void thread_ended(void *value)
{
    struct layer_thread *thread = value;
    if (thread->stream && atomic_load(&layer.writer) == thread->writer)
        lap_stream_release(thread->stream);
    thread->stream = NULL;
    thread->writer = NULL;
    layer_notes_thread_ended(thread);
    atomic_store(&thread->self, 0);
    atomic_store(&thread->call, 0);
    layer_thread_known = NULL;
    atomic_store(&thread->used, false);
}

bool layer_threads_init(void)
{
    return pthread_key_create(&layer.thread_key, thread_ended) == 0;
}

static struct layer_thread *take_record(void)
{
    struct layer_thread *thread = atomic_load(&flight.threads);
    for (; thread; thread = thread->next) {
        bool used = false;
        if (atomic_compare_exchange_strong(&thread->used, &used, true))
            return thread;
    }
    thread = calloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    thread->used = true;
    thread->next = atomic_load(&flight.threads);
    while (!atomic_compare_exchange_weak(&flight.threads, &thread->next, thread))
        ;
    return thread;
}

struct layer_thread *layer_thread_take(void)
{
    struct layer_thread *thread;
    thread = take_record();
    if (!thread || pthread_setspecific(layer.thread_key, thread) != 0) {
        if (thread)
            atomic_store(&thread->used, false);
        layer_stop("out of memory");
        return NULL;
    }
    thread->kernel_id = (uint64_t)syscall(SYS_gettid);
    thread->refused = false;
    atomic_store(&thread->self, layer_thread_self());
    layer_notes_thread(thread);
    return layer_thread_known = thread;
}

/* ---- the lock ---- */

/* False: another thread has it for long, or this one has it (a signal handler has interrupted what follows). */
static bool lock(void)
{
    static const struct timespec pause = {.tv_nsec = 100000};
    uintptr_t self = layer_thread_self();
    for (unsigned i = 0; i < LOCK_TRIES; i++) {
        uintptr_t owner = 0;
        if (atomic_compare_exchange_strong(&flight.owner, &owner, self))
            return true;
        if (owner == self)
            return false;
        int cancel = lap_cancel_off(); /* the driver has made what the program is about to get */
        nanosleep(&pause, NULL);
        lap_cancel_restore(cancel);
    }
    return false;
}

static void unlock(void)
{
    atomic_store(&flight.owner, 0);
}

/* ---- the list; all of it under the lock ---- */

/* What is between this and close_way_out may fault. Not zero: it has. A macro, as the frame must stay. */
#define OPEN_WAY_OUT() (sigsetjmp(flight.way_out, 0) || (atomic_store(&flight.reader, layer_thread_self()), 0))

static void close_way_out(void)
{
    atomic_store(&flight.reader, 0);
}

void layer_in_flight_fault(void)
{
    if (atomic_load(&flight.reader) != layer_thread_self())
        return;
    close_way_out();
    siglongjmp(flight.way_out, 1);
}

/* An encoder for a body at the list's end; its failure is that there is no room. */
static void begin_body(struct lap_enc *enc)
{
    memset(enc, 0, sizeof *enc);
    enc->base = enc->p = flight.list + flight.at + HEAD_BYTES;
    enc->end = flight.list + LIST_BYTES - HEAD_BYTES;
    enc->fixed = true;
}

/* There is room for the head. */
static void end_entry(struct lap_in_flight *what, const struct lap_enc *enc)
{
    if (what->flags & LAP_IN_FLIGHT_BARE || enc->failed)
        what->flags |= LAP_IN_FLIGHT_BARE;
    else
        what->bytes = (size_t)(enc->p - enc->base);
    what->ticket = lap_writer_tickets(flight.writer);
    lap_in_flight_store(flight.list + flight.at, what, lap_writer_calls_seed(flight.writer));
    flight.at += lap_in_flight_stride(what->bytes);
}

static bool is_full(void)
{
    return LIST_BYTES - flight.at < LEAST_BYTES;
}

static void encode_call(struct lap_enc *enc, const struct layer_thread *thread, const struct layer_call *call,
                        uint64_t *out_command_buffer)
{
    const uint8_t *body;
    size_t bytes;
    /* What a call ends has no record any more when the driver has it; the packet in front of it says what it was. */
    if (atomic_load_explicit(&thread->packet_command, memory_order_acquire) == call->command && thread->stream &&
        gen_command_flags[call->command] & LAP_PACKET_ENTRY && lap_stream_last_body(thread->stream, &body, &bytes))
        lap_enc_raw(enc, body, bytes);
    else if (!gen_in_flight_encode(enc, call->command, call->args, out_command_buffer))
        enc->failed = true;
}

/* Adds a thread's innermost call. False: what the record points to is none. */
static bool add_call(const struct layer_thread *thread, const struct layer_call *call, struct lap_in_flight *what)
{
    static struct lap_enc enc; /* for who has the lock: what is changed behind a sigsetjmp must not be in a register */
    volatile bool is_call = false;
    begin_body(&enc);
    if (OPEN_WAY_OUT() == 0) {
        what->command = call->command;
        is_call = call->mark == MARK && what->command < GEN_COMMAND_COUNT;
    }
    close_way_out();
    if (!is_call)
        return false;
    what->thread_id = thread->kernel_id;
    if (OPEN_WAY_OUT() == 0)
        encode_call(&enc, thread, call, &what->command_buffer);
    else
        enc.failed = true;
    close_way_out();
    what->flags |= what->command_buffer ? LAP_IN_FLIGHT_COMMAND : 0;
    end_entry(what, &enc);
    return true;
}

/* All threads have done what they did before, and see what this one did before. */
static void meet_threads(void)
{
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/* Adds the call of another thread, which may return meanwhile: it then waits for the lock, and the call is left out. */
static void add_other(struct layer_thread *thread, int number)
{
    struct lap_in_flight what = {.signal = (uint32_t)number};
    uintptr_t call = atomic_load(&thread->call);
    size_t at = flight.at;
    if (!call || is_full() || !flight.reads_others)
        return;
    atomic_store(&thread->reading, call);
    meet_threads();
    if (atomic_load(&thread->call) == call && add_call(thread, (const struct layer_call *)call, &what)) {
        thread->written = (uint32_t)at + 1;
        atomic_store(&thread->attention, true);
        meet_threads();
        if (atomic_load(&thread->call) != call) {
            thread->written = 0;
            flight.at = at;
        }
    }
    atomic_store(&thread->reading, 0);
}

/* The one that a thread is in the driver with, among command buffers. */
struct search {
    uintptr_t thread;
    struct layer_cmdbuf *found;
};

static bool is_in_command(void *user, void *value)
{
    struct search *search = user;
    struct layer_cmdbuf *cb = value;
    if (atomic_load_explicit(&cb->in_call, memory_order_relaxed) == search->thread)
        search->found = cb;
    return !search->found;
}

/* The last command of a block, as it stands there: number and body. */
static void copy_command(struct lap_enc *enc, struct lap_in_flight *what, const struct layer_cmdbuf *cb)
{
    const uint8_t *p = cb->enc.base + cb->in_call_at, *end = cb->enc.p;
    what->command_buffer = cb->object.index;
    what->command = (uint32_t)lap_in_flight_number(&p, end);
    lap_enc_raw(enc, p, (size_t)(end - p));
}

/* The calling thread's, at which a signal has come. */
static bool add_command(const struct layer_thread *thread, struct lap_in_flight *what)
{
    static struct search search;
    static struct lap_enc enc;
    search = (struct search){.thread = layer_thread_self()};
    if (OPEN_WAY_OUT() == 0)
        lap_map_glimpse(&layer.maps[GEN_HANDLE_VkCommandBuffer], is_in_command, &search);
    close_way_out();
    if (!search.found)
        return false;
    begin_body(&enc);
    if (OPEN_WAY_OUT() == 0)
        copy_command(&enc, what, search.found);
    close_way_out();
    if (what->command == 0 || what->command >= GEN_COMMAND_COUNT)
        return false;
    flight.command = search.found;
    what->flags |= LAP_IN_FLIGHT_COMMAND;
    what->thread_id = thread ? thread->kernel_id : (uint64_t)syscall(SYS_gettid);
    end_entry(what, &enc);
    return true;
}

static void begin_list(void)
{
    flight.at = 0;
    flight.command = NULL;
    for (struct layer_thread *thread = atomic_load(&flight.threads); thread; thread = thread->next)
        thread->written = 0;
}

static bool write_list(void)
{
    memset(flight.list + flight.at, 0, HEAD_BYTES);
    return lap_writer_calls(flight.writer, 0, flight.list, flight.at + HEAD_BYTES);
}

/* Of a call that is in the list, if its note is where notes are: what points there may be damaged. */
static void strike(uint8_t *entry)
{
    if (layer_notes_have(entry))
        lap_in_flight_strike(entry);
}

/* What the list tells better is not told twice. */
static void strike_notes(void)
{
    if (OPEN_WAY_OUT() == 0) {
        for (struct layer_thread *thread = atomic_load(&flight.threads); thread; thread = thread->next)
            if (thread->written)
                strike(atomic_load(&thread->noted));
        if (flight.command) {
            if (layer_notes_have(flight.command->note))
                lap_note_command_returned(flight.command->note);
            strike(flight.command->noted.entry);
        }
    }
    close_way_out();
}

/* ---- signals ---- */

static struct layer_thread *find_thread(uintptr_t self)
{
    struct layer_thread *thread = atomic_load(&flight.threads);
    while (thread && atomic_load(&thread->self) != self)
        thread = thread->next;
    return thread;
}

/* The calling thread's own call. */
static bool add_guilty(struct layer_thread *thread, int number)
{
    struct lap_in_flight what = {.signal = (uint32_t)number, .flags = LAP_IN_FLIGHT_GUILTY};
    uintptr_t call = thread ? atomic_load(&thread->call) : 0;
    size_t at = flight.at;
    bool added = (call && add_call(thread, (const struct layer_call *)call, &what)) || add_command(thread, &what);
    if (added && thread) {
        thread->written = (uint32_t)at + 1;
        atomic_store(&thread->attention, true);
        flight.crashed = thread;
    }
    return added;
}

void layer_in_flight_signal(int number, bool fatal)
{
    struct layer_thread *guilty;
    if (!atomic_load(&flight.on) || atomic_load(&flight.process) != getpid() || !lock())
        return;
    guilty = find_thread(layer_thread_self());
    /* Where nothing tells later that the program has gone on, only what is the end is written. */
    if (guilty || fatal) {
        begin_list();
        if (add_guilty(guilty, number) || fatal) {
            for (struct layer_thread *thread = atomic_load(&flight.threads); thread; thread = thread->next)
                if (thread != guilty)
                    add_other(thread, number);
            if (flight.at && write_list())
                strike_notes();
        }
    }
    unlock();
}

bool layer_in_flight_crashed(void)
{
    return flight.crashed != NULL && atomic_load(&flight.process) == getpid();
}

/* ---- calls ---- */

static bool leave_command(void *user, void *value)
{
    struct layer_cmdbuf *cb = value;
    uintptr_t self = layer_thread_self();
    if (atomic_compare_exchange_strong(&cb->in_call, &self, 0))
        layer_note_command_left(cb);
    return true;
}

/* Something was written of this thread, and it is not true any more. */
static __attribute__((noinline)) void give_attention(struct layer_thread *thread)
{
    static const uint8_t returned = LAP_IN_FLIGHT_RETURNED;
    if (!lock())
        return;
    if (thread->written)
        (void)lap_writer_calls(flight.writer, thread->written - 1 + LAP_IN_FLIGHT_STATE_AT, &returned, 1);
    thread->written = 0;
    if (flight.crashed == thread) {
        lap_map_glimpse(&layer.maps[GEN_HANDLE_VkCommandBuffer], leave_command, NULL);
        flight.crashed = NULL;
    }
    atomic_store(&thread->attention, false);
    unlock();
}

static __attribute__((noinline)) void wake_watch(void)
{
    atomic_store(&flight.asleep, false);
    lap_writer_watch(flight.writer);
}

struct lap_enc *layer_call_begin(struct layer_call *call, enum gen_command command, const void *args)
{
    struct layer_thread *thread;
    uintptr_t outer;
    call->thread = NULL;
    call->noted.entry = NULL;
    if (!atomic_load_explicit(&flight.on, memory_order_relaxed) || !(thread = layer_thread_here()))
        return NULL;
    outer = atomic_load_explicit(&thread->call, memory_order_relaxed);
    if (__builtin_expect(atomic_load_explicit(&thread->attention, memory_order_relaxed), 0)) {
        /* It has left what it was in by a jump, if that was a crash. */
        if (flight.crashed == thread)
            outer = 0;
        give_attention(thread);
    }
    /* Inside another call, if that is further up the stack: else it was left by a jump. */
    call->outer = outer > (uintptr_t)call ? (struct layer_call *)outer : NULL;
    call->thread = thread;
    call->command = command;
    call->args = args;
    call->mark = MARK;
    atomic_store_explicit(&thread->packet_command, 0, memory_order_relaxed);
    atomic_store_explicit(&thread->made, atomic_load_explicit(&thread->made, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    atomic_store_explicit(&thread->call, (uintptr_t)call, memory_order_release);
    if (__builtin_expect(atomic_load_explicit(&flight.asleep, memory_order_relaxed), 0))
        wake_watch();
    return atomic_load_explicit(&layer_notes_on, memory_order_relaxed) ? layer_note_begin(thread, call) : NULL;
}

void layer_call_end(struct layer_call *call)
{
    struct layer_thread *thread = call->thread;
    if (!thread)
        return;
    atomic_store_explicit(&thread->call, (uintptr_t)call->outer, memory_order_release);
    if (call->noted.entry)
        layer_note_returned(&call->noted);
    atomic_signal_fence(memory_order_seq_cst); /* the rest of a barrier: meet_threads */
    if (__builtin_expect(atomic_load_explicit(&thread->reading, memory_order_relaxed) ||
                             atomic_load_explicit(&thread->attention, memory_order_relaxed),
                         0))
        give_attention(thread);
    call->mark = 0;
}

/* ---- calls that do not return ---- */

/* Whether some thread has made calls since the last look. Without the lock, too. */
static bool have_moved(void)
{
    for (struct layer_thread *thread = atomic_load(&flight.threads); thread; thread = thread->next)
        if (atomic_load_explicit(&thread->made, memory_order_relaxed) != thread->seen)
            return true;
    return false;
}

static bool is_noted(struct layer_thread *thread)
{
    return atomic_load(&layer_notes_on) && atomic_load(&thread->noted);
}

/* Whether some thread is in the call in which it was at the last look. */
static bool is_stuck(void)
{
    for (struct layer_thread *thread = atomic_load(&flight.threads); thread; thread = thread->next)
        if (atomic_load_explicit(&thread->made, memory_order_relaxed) == thread->seen && atomic_load(&thread->call) &&
            !thread->written && !is_noted(thread))
            return true;
    return false;
}

static void note_stuck(void)
{
    begin_list();
    for (struct layer_thread *thread = atomic_load(&flight.threads); thread; thread = thread->next)
        if (atomic_load_explicit(&thread->made, memory_order_relaxed) == thread->seen && !is_noted(thread))
            add_other(thread, 0);
    (void)write_list();
}

bool layer_in_flight_watch(void)
{
    bool moved;
    if (!atomic_load(&flight.on))
        return false;
    layer_crash_watch();
    if (!layer_crash_hears_bus())
        layer_notes_stop();
    if (!lock())
        return true;
    /* What a crash has left is not replaced: it tells more. */
    moved = have_moved();
    if (!flight.crashed && is_stuck()) {
        if (layer_crash_catch(true))
            note_stuck();
        layer_crash_catch(false);
    }
    for (struct layer_thread *thread = atomic_load(&flight.threads); thread; thread = thread->next)
        thread->seen = atomic_load_explicit(&thread->made, memory_order_relaxed);
    unlock();
    if (moved)
        return true;
    atomic_store(&flight.asleep, true);
    if (!have_moved())
        return false;
    atomic_store(&flight.asleep, false); /* who made a call before it could see that */
    return true;
}

/* ---- beginning ---- */

void layer_in_flight_start(struct lap_writer *writer)
{
    static const uint8_t nothing[LAP_IN_FLIGHT_HEAD_BYTES];
    if (!layer.options.in_flight || !lap_writer_calls(writer, 0, nothing, sizeof nothing))
        return;
    if (!flight.list) {
        void *list = mmap(NULL, LIST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        flight.list = list == MAP_FAILED ? NULL : list;
    }
    if (!flight.list)
        return;
    flight.writer = writer;
    flight.reads_others = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    atomic_store(&flight.process, getpid());
    atomic_store(&flight.asleep, true);
    for (struct layer_thread *thread = atomic_load(&flight.threads); thread; thread = thread->next) {
        thread->note = NULL;
        thread->note_refused = false;
        thread->large = 0;
        atomic_store(&thread->noted, NULL);
    }
    layer_crash_watch();
    layer_notes_start(writer);
    atomic_store(&flight.on, true);
}

void layer_in_flight_forked(void)
{
    atomic_store(&flight.on, false);
    atomic_store(&flight.owner, 0);
    layer_notes_stop();
    flight.crashed = NULL;
    for (struct layer_thread *thread = atomic_load(&flight.threads); thread; thread = thread->next) {
        atomic_store(&thread->reading, 0);
        atomic_store(&thread->attention, false);
        thread->written = 0;
        if (thread == layer_thread_known) {
            thread->kernel_id = (uint64_t)syscall(SYS_gettid);
            continue;
        }
        atomic_store(&thread->self, 0);
        atomic_store(&thread->call, 0);
        thread->stream = NULL;
        thread->writer = NULL;
        atomic_store(&thread->used, false);
    }
}
