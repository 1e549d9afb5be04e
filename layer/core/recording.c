/* SPDX-License-Identifier: MIT */
/*
 * recording: the file of this process and the streams of its threads. One file for all instances and devices, opened at
 * the first vkCreateInstance while the layer is armed, before the driver's call, and closed when the process ends,
 * after the destructors of other libraries (this one is never unloaded).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "layer/core/control.h"
#include "layer/core/crash.h"
#include "layer/core/extensions.h"
#include "layer/core/keeper.h"
#include "layer/core/layer.h"
#include "trace/send/send.h"
#include "vulkan/texel/pixels.h"

/* The file's name until an instance is created; NULL: one was created, or there is no file. If the program ends without
 * an instance, the file is deleted. */
static _Atomic(char *) unused_path;

void layer_recording_is_used(void)
{
    free(atomic_exchange(&unused_path, NULL));
}

static struct layer_thread *thread_of(struct lap_writer *writer)
{
    struct layer_thread *thread = layer_thread_current();
    if (!thread) {
        layer_stop("out of memory");
        return NULL;
    }
    if (thread->writer != writer) {
        thread->writer = writer;
        thread->stream = lap_writer_stream(writer, thread->kernel_id);
        thread->refused = !thread->stream;
    }
    return thread->refused ? NULL : thread;
}

static void thread_ended(struct layer_thread *thread)
{
    layer_parts_enter();
    if (thread->stream && atomic_load(&layer.writer) == thread->writer)
        lap_stream_release(thread->stream);
    thread->stream = NULL; /* here: the end of a part looks at these in all records */
    thread->writer = NULL;
    layer_notes_thread_ended(thread);
    layer_parts_leave();
}

static const struct layer_recording_hooks *recording_hooks;

/* Threads that may be looking at the writer without the lock of parts. seq_cst, as the writer: a thread counts itself
 * before it loads the writer, and layer_recording_close clears the writer before it waits for the count. */
static atomic_uint lookers;

/* Until `look_away` the writer is not destroyed. NULL: there is none. Only parts destroy writers. */
static struct lap_writer *look_at_writer(void)
{
    if (__builtin_expect(!layer.options.parts.on, 1))
        return atomic_load_explicit(&layer.writer, memory_order_acquire);
    atomic_fetch_add(&lookers, 1);
    return atomic_load(&layer.writer);
}

static void look_away(void)
{
    if (__builtin_expect(layer.options.parts.on, 0))
        atomic_fetch_sub(&lookers, 1);
}

/* The connection for the next trace, until it is opened. */
static struct {
    struct lap_own_file connection;
    uint64_t waited_ms;
} next = {.connection = {.fd = -1}};

static atomic_bool stream_begun; /* and its end was not reported */

static atomic_uintptr_t ended_by; /* the thread that has ended the recording, since the process ends; 0: none */

/* Reports a call of the exiting thread after the end. The exit may cut off those of others anywhere. */
static __attribute__((noinline)) void note_late_call(struct lap_writer *writer)
{
    uintptr_t self = layer_thread_self();
    if (atomic_compare_exchange_strong(&ended_by, &self, 0))
        lap_writer_went_on(writer);
}

/* ---- where parts of the run are recorded ---- */

static void enter_part(const struct layer_thread *thread)
{
    if (!thread->changes_parts)
        pthread_rwlock_rdlock(&layer.parts_lock);
}

static void leave_part(const struct layer_thread *thread)
{
    if (!thread->changes_parts)
        pthread_rwlock_unlock(&layer.parts_lock);
}

/* A kept packet is also written to the file, if there is one. */
static void write_kept(enum gen_command command, uint32_t flags, const void *body, size_t bytes)
{
    struct lap_writer *writer = atomic_load_explicit(&layer.writer, memory_order_acquire);
    struct layer_thread *thread = writer ? thread_of(writer) : NULL;
    struct lap_enc *enc =
        thread ? lap_packet_begin(thread->stream, command, flags, &layer.tables, &thread->ticket) : NULL;

    if (!enc)
        return;
    lap_enc_raw(enc, body, bytes);
    lap_packet_end(thread->stream);
    if (gen_command_providers[command])
        lap_writer_count(writer, LAP_COUNTER_CALLS, 1);
}

void layer_parts_enter(void)
{
    struct layer_thread *thread = layer.options.parts.on ? layer_thread_current() : NULL;
    if (thread)
        enter_part(thread);
}

void layer_parts_leave(void)
{
    struct layer_thread *thread = layer.options.parts.on ? layer_thread_current() : NULL;
    if (thread)
        leave_part(thread);
}

bool layer_parts_lock(void)
{
    struct layer_thread *thread = layer_thread_current();
    if (!thread)
        return false;
    pthread_rwlock_wrlock(&layer.parts_lock);
    thread->changes_parts = true;
    return true;
}

void layer_parts_unlock(void)
{
    layer_thread_current()->changes_parts = false;
    pthread_rwlock_unlock(&layer.parts_lock);
}

static __attribute__((noinline)) struct lap_enc *part_packet_begin(const struct lap_object_tables *tables,
                                                                   enum gen_command command, uint32_t flags)
{
    struct layer_thread *thread = layer_thread_current();
    struct lap_writer *writer;
    struct lap_enc *enc = NULL;

    if (!thread)
        return NULL;
    enter_part(thread);
    /* Packets that the layer writes while a part begins are not kept. */
    if (layer_keeper_wants(command, flags) && !thread->changes_parts) {
        thread->packet_way = LAYER_PACKET_KEPT;
        thread->ticket = 0; /* unless it is written, too */
        return layer_keeper_begin(tables, command, gen_command_flags[command] | flags);
    }
    writer = atomic_load_explicit(&layer.writer, memory_order_acquire);
    if (writer && !lap_writer_stopped(writer) && thread_of(writer)) {
        thread->packet_way = LAYER_PACKET_PART;
        if (gen_command_providers[command])
            lap_writer_count(writer, LAP_COUNTER_CALLS, 1);
        enc = lap_packet_begin(thread->stream, command, gen_command_flags[command] | flags, tables, &thread->ticket);
    }
    if (!enc)
        leave_part(thread);
    return enc;
}

static __attribute__((noinline)) void part_packet_end(struct layer_thread *thread)
{
    if (thread->packet_way == LAYER_PACKET_KEPT)
        layer_keeper_end(write_kept);
    else
        lap_packet_end(thread->stream);
    thread->packet_way = LAYER_PACKET_STREAMED;
    leave_part(thread);
}

struct lap_enc *layer_packet_begin(const struct lap_object_tables *tables, enum gen_command command, uint32_t flags)
{
    struct lap_writer *writer = atomic_load_explicit(&layer.writer, memory_order_acquire);
    struct layer_thread *thread;

    if (tables->inherited)
        return NULL;
    if (__builtin_expect(layer.options.parts.on, 0))
        return part_packet_begin(tables, command, flags);
    if (!writer)
        return NULL;
    if (lap_writer_stopped(writer)) {
        note_late_call(writer);
        return NULL;
    }
    if (!(thread = thread_of(writer)))
        return NULL;
    if (gen_command_providers[command])
        lap_writer_count(writer, LAP_COUNTER_CALLS, 1);
    return lap_packet_begin(thread->stream, command, gen_command_flags[command] | flags, tables, &thread->ticket);
}

void layer_packet_end(void)
{
    struct layer_thread *thread = layer_thread_current();
    if (__builtin_expect(thread->packet_way != LAYER_PACKET_STREAMED, 0))
        part_packet_end(thread);
    else
        lap_packet_end(thread->stream);
}

uint64_t layer_packet_ticket(void)
{
    return layer_thread_current()->ticket;
}

void layer_packet_result(const struct lap_object_tables *tables, uint64_t ticket, VkResult result)
{
    struct lap_enc *enc = ticket ? layer_packet_begin(tables, GEN_lapilliResult, 0) : NULL;
    if (enc) {
        gen_encode_lapilliResult(enc, ticket, result);
        layer_packet_end();
    }
}

/* Once for all parts. */
static void warn_that_nothing_is_noted(void)
{
    static atomic_bool warned;
    if (atomic_exchange(&warned, true) && layer.options.parts.on)
        return;
    lap_log(&layer.log, LAP_LOG_WARNING,
            "the program ignores SIGBUS or has set a handler of its own: if it is killed, the trace ends with its last "
            "frame and names no calls in flight");
}

void layer_frame_end(void)
{
    struct lap_writer *writer;

    atomic_fetch_add_explicit(&layer.frames, 1, memory_order_relaxed);
    layer_parts_enter();
    writer = atomic_load_explicit(&layer.writer, memory_order_acquire);
    if (writer && !lap_writer_stopped(writer)) {
        lap_writer_frame(writer);
        if (atomic_load_explicit(&layer_notes_on, memory_order_relaxed) && !layer_crash_hears_bus() &&
            layer_notes_stop())
            warn_that_nothing_is_noted();
    }
    layer_parts_leave();
    if (layer.options.parts.on && layer_is_recording())
        recording_hooks->frame_ended();
}

void layer_waited(void)
{
    if (__builtin_expect(atomic_load_explicit(&layer.part_pending, memory_order_relaxed), 0) && layer_is_recording())
        recording_hooks->waited();
}

void layer_submit_ended(void)
{
    if (layer.options.parts.on && layer_is_recording())
        recording_hooks->submitted();
}

bool layer_is_writing(void)
{
    const struct lap_writer *writer = look_at_writer();
    bool writes = writer && !lap_writer_stopped(writer);
    look_away();
    return writes;
}

bool layer_is_recording(void)
{
    return atomic_load_explicit(&layer.waiting, memory_order_relaxed) || layer_is_writing();
}

void layer_stop(const char *reason)
{
    const struct layer_thread *thread = layer.options.parts.on ? layer_thread_current() : NULL;
    struct lap_writer *writer;
    /* A failure while a part begins affects that part only: the keeper still knows the program. */
    if (layer.options.parts.on && !(thread && thread->changes_parts))
        layer_keeper_lost(reason);
    writer = look_at_writer();
    if (writer)
        lap_writer_stop(writer, reason);
    look_away();
}

void layer_count(enum lap_counter counter, uint64_t add)
{
    struct lap_writer *writer;

    layer_parts_enter();
    writer = atomic_load_explicit(&layer.writer, memory_order_acquire);
    if (writer)
        lap_writer_count(writer, counter, add);
    layer_parts_leave();
}

void layer_note_ticket(enum lap_counter counter)
{
    struct lap_writer *writer;

    layer_parts_enter();
    writer = atomic_load_explicit(&layer.writer, memory_order_acquire);
    if (writer)
        lap_writer_note_ticket(writer, counter);
    layer_parts_leave();
}

void layer_tracking_result(enum lap_status status)
{
    if (status == LAP_ERROR_MEMORY)
        layer_stop(lap_error_message());
    else if (status < 0)
        lap_log(&layer.log, LAP_LOG_DEBUG, "%s", lap_error_message());
}

void layer_recording_info(const char *json)
{
    if (layer.options.parts.on)
        layer_keeper_info(json);
    layer_recording_info_once(json);
}

void layer_recording_info_once(const char *json)
{
    struct lap_writer *writer;

    layer_parts_enter();
    writer = atomic_load_explicit(&layer.writer, memory_order_acquire);
    if (writer && !lap_writer_stopped(writer))
        lap_writer_info(writer, json);
    layer_parts_leave();
}

/* The bit is set after the note: a thread that sees it may write a packet with the format. Concurrent threads may note
 * a format twice; the writer drops duplicates. */
void layer_note_image_format(VkFormat format)
{
    uint32_t number = lap_pixels_substitutable(format), word = number / 64;
    uint64_t bit = UINT64_C(1) << number % 64;
    char json[64];

    if (!number || word >= LAYER_FORMAT_WORDS ||
        atomic_load_explicit(&layer.image_formats[word], memory_order_acquire) & bit)
        return;
    snprintf(json, sizeof json, "{\"image_format_%u\":true}", number);
    layer_recording_info(json);
    atomic_fetch_or(&layer.image_formats[word], bit);
}

void layer_recording_forked(void)
{
    struct lap_writer *writer = atomic_exchange(&layer.writer, NULL);
    if (writer)
        lap_writer_abandon(writer);   /* and its memory stays: this thread may be in the middle of a packet */
    atomic_store(&unused_path, NULL); /* the parent's */
    atomic_store(&lookers, 0);        /* the child has one thread */
    layer_threads_forked();
    layer_notes_forked();
    lap_own_file_disown(&next.connection);
    if (layer.options.parts.on) {
        if (recording_hooks)
            recording_hooks->forked();
        atomic_store(&layer.waiting, false);
        pthread_rwlock_init(&layer.parts_lock, NULL);
        layer_keeper_forked();
    }
    layer_control_forked();
    layer.forked = layer.resolved;
    atomic_store(&layer.frames, 0);
    atomic_store(&layer.has_surface, false);
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++)
        atomic_store(&layer.next_index[type], 0);
}

/* how: "", "!" for a trace that can't be made, or of a streamed trace "@" once a process, ">" when it begins, and "<"
 * when it has come to its end. */
static void report(const char *how, const char *path)
{
    char line[4400];
    int fd, length;

    if (!layer.options.report)
        return;
    length = snprintf(line, sizeof line, "%s%s\n", how, path);
    fd = open(layer.options.report, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (length > 0 && (size_t)length < sizeof line && write(fd, line, (size_t)length) != length)
        lap_log(&layer.log, LAP_LOG_WARNING, "%s: %s", layer.options.report, strerror(errno));
    close(fd);
}

/* A path that must not get a number added: a device, a pipe, a folder. */
static bool is_no_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

static void record_nothing(const char *path, const char *why)
{
    lap_log(&layer.log, LAP_LOG_ERROR, "nothing is recorded: %s", why);
    report("!", path);
}

/* Whether the path exists, also as a dangling link: links are not followed. */
static bool is_taken(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

#define MOST_NAMES 10000u /* that are tried, from 1 on */

/* The file is deleted at the end unless it is used. NULL: there is none, and the reason was logged. */
static struct lap_writer *create_file(const struct lap_writer_options *options)
{
    struct lap_writer *writer = NULL;

    for (unsigned attempt = 1; attempt < MOST_NAMES && !writer; attempt++) {
        char *path = layer_options_path(&layer.options, attempt);
        if (!path)
            break;
        /* Nothing is overwritten: a name that is taken gets a number. */
        bool taken = is_taken(path);
        if (!taken)
            report("", path); /* before: the process may be killed before the next step */
        enum lap_status status = taken ? LAP_AGAIN : lap_writer_create(path, options, &writer);
        if (attempt == 1 && taken && is_no_file(path))
            status = lap_fail(LAP_ERROR_IO, "%s is no regular file", path);
        if (status < 0 && (taken || !is_taken(path))) {
            record_nothing(path, lap_error_message());
            free(path);
            return NULL;
        }
        if (writer) {
            lap_log(&layer.log, LAP_LOG_INFO, "recording to %s", path);
            free(atomic_exchange(&unused_path, path));
            break;
        }
        free(path);
    }
    if (!writer) {
        (void)lap_fail(LAP_ERROR_IO, "there is no name left for %s", layer.options.file);
        record_nothing(layer.options.file, lap_error_message());
    }
    return writer;
}

static enum lap_status connect_next(bool wait)
{
    char program[256];
    const struct lap_send_options to = {.address = layer.options.file,
                                        .token_file = layer.options.token_file,
                                        .program = program,
                                        .wait = wait && layer.options.stream_wait,
                                        .log = &layer.log};
    int fd;

    layer_options_program(&layer.options, program, sizeof program);
    enum lap_status status = lap_send_connect(&to, &fd, &next.waited_ms);
    if (status == LAP_OK)
        lap_own_file_init(&next.connection, fd, NULL);
    return status;
}

bool layer_recording_connect(void)
{
    const bool wait = !atomic_load(&layer.writer);

    if (!layer.options.streamed || connect_next(wait) == LAP_OK)
        return true;
    if (wait)
        record_nothing(layer.options.file, lap_error_message());
    else
        lap_log(&layer.log, LAP_LOG_WARNING, "the next trace can't be streamed: %s", lap_error_message());
    return false;
}

/* The same for a streamed trace. May wait for the receiver. */
static struct lap_writer *create_stream(struct lap_writer_options *options)
{
    static pid_t reported; /* each process once */
    struct lap_writer *writer = NULL;
    char *address = strdup(layer.options.file);
    enum lap_status status = address ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory");

    if (status == LAP_OK && !lap_own_file_is_open(&next.connection))
        status = connect_next(true);
    options->streamed = true;
    if (status == LAP_OK && (options->socket = lap_own_file_give(&next.connection)) < 0)
        status = lap_fail(LAP_ERROR_IO, "the program has closed the connection to %s", address);
    if (status == LAP_OK)
        status = lap_writer_create(address, options, &writer);
    if (status != LAP_OK) {
        record_nothing(layer.options.file, lap_error_message());
        (void)lap_own_file_close(&next.connection);
        free(address);
        return NULL;
    }
    lap_log(&layer.log, LAP_LOG_INFO, "streaming to %s", address);
    if (reported != getpid())
        report("@", address);
    reported = getpid();
    report(">", address);
    atomic_store(&stream_begun, true);
    free(atomic_exchange(&unused_path, address));
    return writer;
}

static void note_stream(uint64_t waited_ms)
{
    char json[64];
    snprintf(json, sizeof json, "{\"streamed\":true,\"receiver_waited_ms\":%" PRIu64 "}", waited_ms);
    layer_recording_info(json);
}

/* False: there is none, and the reason was logged. */
static bool open_file(const struct layer_recording_hooks *hooks)
{
    struct lap_writer_options options = {
        .names.commands = {gen_command_names, GEN_COMMAND_COUNT},
        .names.structs = {gen_struct_names, GEN_STRUCT_COUNT},
        .names.handle_types = {gen_handle_names, GEN_HANDLE_COUNT},
        .packer = layer.options.packer,
        .queue_bytes = layer.options.queue_bytes,
        .log = &layer.log,
    };
    struct lap_writer *writer = layer.options.streamed ? create_stream(&options) : create_file(&options);

    if (!writer)
        return false;
    atomic_store(&layer.writer, writer);
    hooks->opened();
    if (layer.options.streamed)
        note_stream(next.waited_ms);
    if (!layer.options.parts.on)
        layer_control_start(hooks);
    return true;
}

/* In the tail file; a streamed trace has none. */
static void note_calls(const struct layer_recording_hooks *hooks)
{
    struct lap_writer *writer = atomic_load_explicit(&layer.writer, memory_order_acquire);

    if (layer.options.streamed || !layer.options.in_flight || lap_writer_stopped(writer))
        return;
    layer_crash_install();
    if (layer_crash_hears_bus())
        layer_notes_start(writer, hooks->encode_call, layer.options.parts.on ? &layer.parts_lock : NULL);
    else
        warn_that_nothing_is_noted();
}

static void begin(const struct layer_recording_hooks *hooks)
{
    bool at_once = true;

    if (layer.options.parts.on) {
        atomic_store(&layer.waiting, true);
        at_once = hooks->part_begins_at_once();
        layer_control_start(hooks);
    }
    if (at_once && open_file(hooks))
        note_calls(hooks);
}

bool layer_recording_open(void)
{
    return open_file(recording_hooks);
}

void layer_recording_note_calls(void)
{
    lap_writer_save(atomic_load_explicit(&layer.writer, memory_order_acquire));
    note_calls(recording_hooks);
}

void layer_recording_write_block(const struct lap_object_tables *tables, uint64_t command_buffer, const void *block,
                                 size_t bytes, uint64_t command_count)
{
    struct lap_writer *writer = atomic_load_explicit(&layer.writer, memory_order_acquire);
    struct layer_thread *thread = thread_of(writer);
    bool is_new = false;
    uint64_t number = lap_writer_blob(writer, LAP_BLOB_BLOCK, block, bytes, &is_new);
    struct lap_enc *enc = thread && number
                              ? lap_packet_begin(thread->stream, GEN_lapilliBlock, gen_command_flags[GEN_lapilliBlock],
                                                 tables, &thread->ticket)
                              : NULL;
    if (!enc)
        return;
    gen_encode_lapilliBlock(enc, gen_VkCommandBuffer(command_buffer), number, (uint32_t)command_count);
    lap_packet_end(thread->stream);
    lap_writer_count(writer, LAP_COUNTER_COMMANDS, command_count);
    lap_writer_count(writer, LAP_COUNTER_BLOCKS_RECORDED, 1);
    lap_writer_count(writer, LAP_COUNTER_BLOCKS_STORED, is_new);
}

static void write_info(const char *json)
{
    lap_writer_info(atomic_load_explicit(&layer.writer, memory_order_acquire), json);
}

/* The places of earlier binds are not known any more, so a replay must detect aliasing itself. */
static void write_packet(enum gen_command command, uint32_t flags, const void *body, size_t bytes)
{
    write_kept(command, flags, body, bytes);
    if (command == GEN_lapilliBindBuffer || command == GEN_lapilliBindImage) {
        layer_count(LAP_COUNTER_BINDS, 1);
        layer_count(LAP_COUNTER_ALIASED_BINDS, 1);
        layer_note_ticket(LAP_COUNTER_LAST_ALIASED);
    }
}

bool layer_recording_write_kept(bool second)
{
    static const struct layer_keeper_sink sink = {write_packet, layer_recording_write_block, write_info};
    return layer_keeper_write(&sink, second);
}

static void report_end(struct lap_writer *writer)
{
    if (lap_writer_is_whole(writer) && atomic_exchange(&stream_begun, false))
        report("<", layer.options.file);
}

void layer_recording_failed(void)
{
    report("!", layer.options.file);
}

/* Deletes a file that was never used. */
static void delete_unused(struct lap_writer *writer)
{
    char *path = atomic_exchange(&unused_path, NULL);

    if (path && layer.options.streamed)
        lap_writer_forget(writer);
    else if (path)
        (void)unlink(path);
    free(path);
}

void layer_recording_discard(void)
{
    struct lap_writer *writer = atomic_load(&layer.writer);
    uint64_t frames, bytes;

    if (writer) {
        lap_writer_end(writer);
        delete_unused(writer);
    }
    layer_recording_close(&frames, &bytes, NULL);
}

void layer_recording_close(uint64_t *out_frames, uint64_t *out_bytes, struct lap_own_file *connection)
{
    struct lap_writer *writer = atomic_exchange(&layer.writer, NULL);

    *out_frames = *out_bytes = 0;
    if (!writer)
        return;
    lap_writer_end(writer); /* until the file has its end, calls are noted */
    report_end(writer);
    layer_notes_leave(writer);
    *out_frames = lap_writer_frames(writer);
    *out_bytes = lap_writer_bytes(writer);
    if (connection && !lap_writer_take_connection(writer, connection))
        lap_own_file_release(connection);
    for (struct layer_thread *thread = layer_threads(); thread; thread = thread->next)
        if (thread->writer == writer) { /* no thread is in a packet */
            thread->writer = NULL;
            thread->stream = NULL;
        }
    while (atomic_load(&lookers))
        sched_yield();
    lap_writer_destroy(&writer);
}

void layer_recording_start(const struct layer_recording_hooks *hooks)
{
    int cancel = lap_cancel_off();
    pthread_mutex_lock(&layer.recording_mutex);
    if (!layer.started) {
        recording_hooks = hooks; /* before the first writer: others read it without the mutex */
        layer.started = true;
        if (layer.options.parts.on) {
            pthread_rwlock_init(&layer.parts_lock, NULL);
            layer_keeper_init();
        }
        /* An unarmed layer has locks that a child could find taken, too. */
        bool watched = hooks->watch_forks();
        if (layer.options.armed) {
            if (watched && layer_threads_init(thread_ended))
                begin(hooks);
            else
                record_nothing(layer.options.file, "out of memory");
        }
    } else if (layer.forked) {
        layer.forked = false;
        if (layer.options.armed)
            begin(hooks);
    }
    pthread_mutex_unlock(&layer.recording_mutex);
    lap_cancel_restore(cancel);
}

/* The C++ runtime that comes with the layer utilities has static objects. Their destructors would run at exit, in
 * whatever thread calls it, and allocate: in a signal handler that interrupted malloc() that never returns. They have
 * nothing to clean up in a library that is never unloaded, so none is registered (the linker's --wrap). */
int __real___cxa_atexit(void (*function)(void *), void *argument, void *library);
int __wrap___cxa_atexit(void (*function)(void *), void *argument, void *library);
int __wrap___cxa_atexit(void (*function)(void *), void *argument, void *library)
{
    return 0;
}

bool layer_recording_end(const char *why)
{
    struct lap_writer *writer = atomic_load(&layer.writer);

    if (!writer || lap_writer_stopped(writer))
        return false;
    lap_writer_end(writer);
    report_end(writer);
    delete_unused(writer);
    lap_writer_settle(writer);
    lap_log(&layer.log, LAP_LOG_INFO, "%s", why);
    return true;
}

/* At process exit other threads may still be calling Vulkan: the file is finished, its memory stays. */
static void end_recording(void *unused)
{
    struct lap_writer *writer;
    const char *path;

    if (layer.options.parts.on && recording_hooks) {
        layer_control_end(); /* a part that is ending destroys its writer */
        recording_hooks->ends();
    }
    writer = atomic_load(&layer.writer);
    /* After a crash the tail file has the notes, and an orderly end would delete it. */
    if (!writer || layer_notes_crashed())
        return;
    layer_hidden_exit();
    if (!layer.options.parts.on)
        layer_control_end();
    lap_writer_finish(writer);
    report_end(writer);
    path = atomic_exchange(&unused_path, NULL);
    if (path && layer.options.streamed)
        lap_writer_forget(writer);
    else if (path)
        unlink(path);
    atomic_store(&ended_by, layer_thread_self());
}

/* Destructors of libraries that were loaded later may run after this one, and call Vulkan. glibc runs a handler that is
 * registered during the destructors after all of them. It allocates nothing for that: the place of the handler that
 * runs them is free by then. */
static bool end_behind_destructors(void)
{
#ifdef __GLIBC__
    return __real___cxa_atexit(end_recording, NULL, NULL) == 0;
#else
    return false;
#endif
}

__attribute__((destructor)) static void layer_unloaded(void)
{
    if ((atomic_load(&layer.writer) || atomic_load(&layer.waiting)) && !end_behind_destructors())
        end_recording(NULL);
}
