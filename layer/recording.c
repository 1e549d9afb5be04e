/* SPDX-License-Identifier: MIT */
/*
 * recording: the file of this process and the streams of its threads. One file for all instances and devices, opened at
 * the first vkCreateInstance that finds the layer armed, before the driver gets it, and closed when the process ends,
 * behind what other libraries do then (this one is never unloaded).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/version.h"
#include "layer/describe.h"
#include "layer/layer.h"

struct layer_state layer = {.log = {.fd = 2, .level = LAP_LOG_WARNING, .prefix = "lapilli: "}};

/* The file's name while there has been no instance that it could be about; NULL: there has, or there is no file. When a
 * program ends that never got one, the file goes. */
static _Atomic(char *) unused_path;

void layer_recording_is_used(void)
{
    free(atomic_exchange(&unused_path, NULL));
}

static struct layer_thread *thread_of(struct lap_writer *writer)
{
    struct layer_thread *thread = layer_thread_here();
    if (!thread)
        return NULL;
    if (thread->writer != writer) {
        thread->writer = writer;
        thread->stream = lap_writer_stream(writer, thread->kernel_id);
        thread->refused = !thread->stream;
    }
    return thread->refused ? NULL : thread;
}

static atomic_uintptr_t ended_by; /* the thread that has ended the recording, since the process ends; 0: none */

/* What other threads still do while the process ends would be cut off anywhere. */
static __attribute__((noinline)) void note_late_call(struct lap_writer *writer)
{
    uintptr_t self = layer_thread_self();
    if (atomic_compare_exchange_strong(&ended_by, &self, 0))
        lap_writer_went_on(writer);
}

struct lap_enc *layer_packet_begin(const struct lap_object_tables *tables, enum gen_command command, uint32_t flags)
{
    struct lap_writer *writer = atomic_load_explicit(&layer.writer, memory_order_acquire);
    struct layer_thread *thread;

    if (!writer || tables->inherited)
        return NULL;
    if (lap_writer_stopped(writer)) {
        note_late_call(writer);
        return NULL;
    }
    if (!(thread = thread_of(writer)))
        return NULL;
    if (gen_command_providers[command])
        lap_writer_count(writer, LAP_COUNTER_CALLS, 1);
    thread->packet_begun = command;
    atomic_store_explicit(&thread->packet_command, 0, memory_order_relaxed);
    return lap_packet_begin(thread->stream, command, gen_command_flags[command] | flags, tables, &thread->ticket);
}

void layer_packet_end(void)
{
    struct layer_thread *thread = layer_thread_here();
    lap_packet_end(thread->stream);
    /* From here on the body may be read by another thread: layer/in_flight.c. */
    atomic_store_explicit(&thread->packet_command, thread->packet_begun, memory_order_release);
}

uint64_t layer_packet_ticket(void)
{
    return layer_thread_here()->ticket;
}

void layer_packet_result(const struct lap_object_tables *tables, uint64_t ticket, VkResult result)
{
    struct lap_enc *enc = layer_packet_begin(tables, GEN_lapilliResult, 0);
    if (enc) {
        gen_encode_lapilliResult(enc, ticket, result);
        layer_packet_end();
    }
}

void layer_frame_end(void)
{
    struct lap_writer *writer = atomic_load_explicit(&layer.writer, memory_order_acquire);
    if (writer && !lap_writer_stopped(writer))
        lap_writer_frame(writer);
}

bool layer_is_recording(void)
{
    struct lap_writer *writer = atomic_load_explicit(&layer.writer, memory_order_acquire);
    return writer && !lap_writer_stopped(writer);
}

void layer_stop(const char *reason)
{
    struct lap_writer *writer = atomic_load_explicit(&layer.writer, memory_order_acquire);
    if (writer)
        lap_writer_stop(writer, reason);
}

void layer_recording_info(const char *json)
{
    struct lap_writer *writer = atomic_load_explicit(&layer.writer, memory_order_acquire);
    if (writer && !lap_writer_stopped(writer))
        lap_writer_info(writer, json);
}

void layer_recording_forked(void)
{
    struct lap_writer *writer = atomic_exchange(&layer.writer, NULL);
    if (writer)
        lap_writer_abandon(writer);   /* and its memory stays: this thread may be in the middle of a packet */
    atomic_store(&unused_path, NULL); /* the parent's */
    layer_in_flight_forked();
    layer.forked = layer.resolved;
    atomic_store(&layer.frames, 0);
    atomic_store(&layer.has_surface, false);
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++)
        atomic_store(&layer.next_index[type], 0);
}

static void describe_process(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    struct layer_description description = layer_describe_begin();

    path[length > 0 ? length : 0] = '\0';
    layer_describe_text(&description, NULL, "program", path);
    layer_describe_number(&description, NULL, "pid", getpid());
    layer_describe_text(&description, NULL, "layer_version", LAPILLI_VERSION);
    layer_describe_text(&description, NULL, "registry", GEN_REGISTRY_VERSION);
    layer_describe_flag(&description, NULL, "verify", layer.options.verify);
    layer_describe_number(&description, NULL, "mappings_compared", 0); /* until layer/device.c knows of one */
    layer_describe_flag(&description, NULL, "verify_all", layer.options.verify_all);
    layer_describe_flag(&description, NULL, "verify_bytes", layer.options.verify_bytes);
    layer_describe_end(&description, "the process");
}

/* how: "", or what says that there is nothing to be found. */
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

/* What nobody means to have a number added to: a device, a pipe, a folder. */
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

/* By anything, also by a link that leads nowhere: links are not followed. */
static bool is_taken(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

#define MOST_NAMES 10000u /* that are tried, from 1 on */

static void open_file(void)
{
    struct lap_writer_options options = {
        .commands = {gen_command_names, GEN_COMMAND_COUNT},
        .structs = {gen_struct_names, GEN_STRUCT_COUNT},
        .handle_types = {gen_handle_names, GEN_HANDLE_COUNT},
        .packer = layer.options.packer,
        .queue_bytes = layer.options.queue_bytes,
        .log = &layer.log,
        .watch = layer_in_flight_watch,
    };
    struct lap_writer *writer = NULL;

    for (unsigned attempt = 1; attempt < MOST_NAMES && !writer; attempt++) {
        char *path = layer_options_path(&layer.options, attempt);
        if (!path)
            break;
        /* Nothing is overwritten: a name that is taken gets a number. */
        bool taken = is_taken(path);
        enum lap_status status = taken ? LAP_AGAIN : lap_writer_create(path, &options, &writer);
        if (attempt == 1 && taken && is_no_file(path))
            status = lap_fail(LAP_ERROR_IO, "%s is no regular file", path);
        if (status < 0 && (taken || !is_taken(path))) {
            record_nothing(path, lap_error_message());
            free(path);
            return;
        }
        if (writer) {
            lap_log(&layer.log, LAP_LOG_INFO, "recording to %s", path);
            report("", path);
            free(atomic_exchange(&unused_path, path));
            break;
        }
        free(path);
    }
    if (!writer) {
        (void)lap_fail(LAP_ERROR_IO, "there is no name left for %s", layer.options.file);
        record_nothing(layer.options.file, lap_error_message());
        return;
    }
    atomic_store(&layer.writer, writer);
    describe_process();
    layer_in_flight_start(writer);
}

__attribute__((constructor)) static void layer_loaded(void)
{
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++) {
        lap_map_init(&layer.maps[type]);
        layer.map_pointers[type] = &layer.maps[type];
        layer_mutex_init(&layer.object_mutex[type]);
    }
    layer_mutex_init(&layer.recording_mutex);
    layer_mutex_init(&layer.devices_mutex);
    lap_map_init(&layer.instances_by_table);
    layer.tables.maps = layer.map_pointers;
}

void layer_resolve(bool named)
{
    pthread_mutex_lock(&layer.recording_mutex);
    if (!layer.resolved) {
        layer.resolved = true;
        layer_options_resolve(&layer.options, named, &layer.log);
        layer.log.level = layer.options.log_level;
        layer.pass_through = !layer.options.armed;
    }
    pthread_mutex_unlock(&layer.recording_mutex);
}

void layer_recording_start(void)
{
    int cancel = lap_cancel_off();
    pthread_mutex_lock(&layer.recording_mutex);
    if (!layer.started) {
        layer.started = true;
        /* An unarmed layer has locks that a child could find taken, too. */
        bool watched = layer_fork_watch();
        if (layer.options.armed) {
            if (watched && layer_threads_init())
                open_file();
            else
                record_nothing(layer.options.file, "out of memory");
        }
    } else if (layer.forked) {
        layer.forked = false;
        if (layer.options.armed)
            open_file();
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

/* At process exit other threads may still be calling Vulkan: the file is finished, its memory stays. */
static void end_recording(void *unused)
{
    struct lap_writer *writer = atomic_load(&layer.writer);
    const char *path;
    /* What a crash has left is in the tail file, which goes with an orderly end. */
    if (!writer || layer_in_flight_crashed())
        return;
    layer_hidden_exit();
    lap_writer_finish(writer);
    path = atomic_exchange(&unused_path, NULL);
    if (path)
        unlink(path);
    atomic_store(&ended_by, layer_thread_self());
}

/* Destructors of libraries that were loaded later may come behind this one, and call Vulkan. glibc calls what is
 * registered while it runs destructors when it is through with all of them. Nothing is allocated for that: the place
 * of the handler that runs them is free by then. */
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
    if (atomic_load(&layer.writer) && !end_behind_destructors())
        end_recording(NULL);
}
