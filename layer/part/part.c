/* SPDX-License-Identifier: MIT */
#include "layer/part/part.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "layer/core/keeper.h"
#include "layer/core/records.h"
#include "layer/part/key.h"
#include "layer/part/lost.h"
#include "layer/part/state.h"
#include "layer/part/turns.h"
#include "layer/submit/full_checks.h"
#include "layer/submit/submit.h"

#define MOST_POSTPONED 1000u                /* frames, until work that waits for the host goes on */
#define WAIT_NS        UINT64_C(5000000000) /* for a queue, the first time */

static struct {
    pthread_mutex_t mutex;    /* the members below, and beginning or ending a part */
    uint64_t frames, submits; /* that have ended */
    uint64_t triggered_left;  /* frames of the part that a trigger began; 0: none did */
    uint64_t commanded;       /* the same of one that is to begin; 0: none is */
    bool followed;            /* a trigger came while a part was recorded, or was to begin: another one follows it */
    uint64_t postponed;
    uint64_t first_frame; /* of the part that is recorded */
    struct timespec begin;
    uint64_t recorded; /* parts that have ended */
    struct layer_last_part last;
    struct lap_length kept; /* of the run's end, from the next frame on, if it is to change */
    bool kept_changes;
    bool refused; /* the last try to begin a part; the reason was logged */
    bool broken;  /* a recording could not go on; the reason was logged */
    bool stopped; /* the part that the options ask for, until they ask for another */
    bool told_to; /* the part began, or is to end, by a call of the program */
} parts = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static atomic_bool signalled; /* by a handler on any thread; nothing else is published */

/* ---- triggers ---- */

static void on_signal(int number)
{
    atomic_store_explicit(&signalled, true, memory_order_relaxed);
}

static uint64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)((now.tv_sec - parts.begin.tv_sec) * 1000 + (now.tv_nsec - parts.begin.tv_nsec) / 1000000);
}

/* Whether a list has the number, of which the next one is recorded. */
static bool has_time(const struct lap_frames *list, uint64_t now)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (now >= list->ranges[i].first && now < list->ranges[i].last)
            return true;
    return false;
}

static bool is_last(const struct lap_frames *list, uint64_t done)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->ranges[i].last > done)
            return false;
    return true;
}

/* The frame, the submit or the moment that comes next. */
static bool is_wanted(void)
{
    const struct layer_parts *options = &layer.options.parts;
    return layer_turns_on() || lap_frames_have(&options->frames, parts.frames + 1) ||
           lap_frames_have(&options->submits, parts.submits + 1) ||
           (options->milliseconds.count && has_time(&options->milliseconds, milliseconds()));
}

/* Ranges that meet are parts of their own. */
static bool begins_anew(void)
{
    const struct layer_parts *options = &layer.options.parts;
    for (uint32_t i = 0; i < options->frames.count; i++)
        if (options->frames.ranges[i].first == parts.frames + 1 && parts.first_frame != parts.frames + 1)
            return true;
    return false;
}

static bool is_triggered(void)
{
    const struct layer_parts *options = &layer.options.parts;

    if (atomic_exchange_explicit(&signalled, false, memory_order_relaxed))
        return true;
    if (options->key && layer_key_was_pressed())
        return true;
    return options->trigger_file && access(options->trigger_file, F_OK) == 0 && unlink(options->trigger_file) == 0;
}

static bool is_over(void)
{
    const struct layer_parts *options = &layer.options.parts;
    const bool waits = options->signal || options->trigger_file || options->key || options->calls || options->control;
    return (!waits || parts.recorded) && is_last(&options->frames, parts.frames) &&
           is_last(&options->submits, parts.submits) && is_last(&options->milliseconds, milliseconds());
}

bool layer_part_begins_at_once(void)
{
    memset(&parts, 0, sizeof parts); /* of the parent, in the child of a fork */
    pthread_mutex_init(&parts.mutex, NULL);
    clock_gettime(CLOCK_MONOTONIC, &parts.begin);
    if (layer.options.parts.signal) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        sigaction(SIGUSR2, &action, NULL);
    }
    parts.first_frame = 1;
    layer_turns_init();
    return is_wanted();
}

/* ---- beginning ---- */

static bool is_gated(struct layer_device *dev)
{
    bool gated;
    pthread_mutex_lock(&dev->submit.mutex);
    gated = dev->submit.gated_count != 0;
    pthread_mutex_unlock(&dev->submit.mutex);
    return gated;
}

/* Waits for a fence after all work submitted to a queue. Work may wait for an unknown signal that this thread gives
 * later: after some seconds the fence is left pending, and checked at the next call. */
static bool wait_for_queue(struct layer_device *dev, struct layer_queue *queue)
{
    const VkFenceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    const bool pending = queue->part_fence != VK_NULL_HANDLE;
    VkResult result = VK_SUCCESS;

    if (!pending)
        result = dev->vk.CreateFence(dev->handle, &create, NULL, &queue->part_fence);
    if (!pending && result == VK_SUCCESS)
        result = dev->vk.QueueSubmit(queue->handle, 0, NULL, queue->part_fence);
    if (result == VK_SUCCESS)
        result = dev->vk.WaitForFences(dev->handle, 1, &queue->part_fence, VK_TRUE, pending ? 0 : WAIT_NS);
    if (result == VK_TIMEOUT)
        return false;
    dev->vk.DestroyFence(dev->handle, queue->part_fence, NULL);
    queue->part_fence = VK_NULL_HANDLE;
    if (result != VK_SUCCESS)
        lap_log(&layer.log, LAP_LOG_WARNING, "a queue can't be waited for (VkResult %d)", (int)result);
    /* Work submitted after a pending fence needs another wait. */
    return result == VK_SUCCESS && (!pending || wait_for_queue(dev, queue));
}

/* The queues that a program has are there until their device ends. */
struct queues {
    const struct layer_device *dev;
    struct layer_queue *items[64];
    size_t count;
};

static void add_queue(void *user, uint64_t handle, void *record)
{
    struct queues *queues = user;
    struct layer_queue *queue = record;
    if (queue->device == queues->dev && queues->count < sizeof queues->items / sizeof *queues->items)
        queues->items[queues->count++] = queue;
}

static bool wait_for(struct layer_device *dev)
{
    struct queues queues = {.dev = dev};
    bool idle = true;

    if (dev->tables.inherited)
        return true;
    if (is_gated(dev))
        return false;
    lap_map_each(dev->maps[GEN_HANDLE_VkQueue], add_queue, &queues);
    for (size_t i = 0; i < queues.count && idle; i++)
        idle = wait_for_queue(dev, queues.items[i]);
    if (!idle || !layer.options.verify || !layer_is_writing())
        return idle;
    for (size_t i = 0; i < queues.count; i++) /* the current recording gets the checks of finished work */
        layer_verify_all_waited(dev, queues.items[i]->handle);
    return true;
}

void layer_part_device_ends(struct layer_device *dev)
{
    struct queues queues = {.dev = dev};

    lap_map_each(dev->maps[GEN_HANDLE_VkQueue], add_queue, &queues);
    for (size_t i = 0; i < queues.count; i++)
        if (queues.items[i]->part_fence)
            dev->vk.DestroyFence(dev->handle, queues.items[i]->part_fence, NULL);
}

static void describe(char *json, size_t bytes)
{
    snprintf(json, bytes,
             "{\"part\":{\"first_frame\":%" PRIu64 ",\"first_submit\":%" PRIu64 ",\"milliseconds\":%" PRIu64 "}}",
             parts.frames + 1, parts.submits + 1, milliseconds());
}

static enum lap_status write_state(void)
{
    enum lap_status status = layer_state_write(layer.devices);

    if (status == LAP_OK && !layer_is_writing())
        status = lap_fail(LAP_ERROR_STOPPED, "the recording has stopped");
    return status;
}

static bool write_part(void)
{
    const char *fault = layer_state_fault(layer.devices);
    char json[160];

    parts.last.refusal = fault;
    if (fault) {
        lap_log(&layer.log, LAP_LOG_ERROR, "nothing is recorded from frame %" PRIu64 " on: %s", parts.frames + 1,
                fault);
        return false;
    }
    if (!layer_recording_connect()) {
        parts.last.refusal = "no receiver takes another trace (the program's log says why)";
        return false;
    }
    if (layer_turns_on() && atomic_load(&layer.writer))
        layer_turn_end(&parts.last.frames, &parts.last.bytes);
    if (!layer_recording_open()) {
        parts.last.refusal = "the trace can't be made (the program's log says why)";
        return false;
    }
    layer_lost_begin();
    describe(json, sizeof json);
    /* Info waits until all before it is in the file: written after the state, the state is not counted. */
    const bool counted = layer_turns_length()->unit == LAP_LENGTH_BYTES;
    if (!counted)
        lap_writer_info(atomic_load(&layer.writer), json);
    if (write_state() != LAP_OK) {
        parts.last.refusal = "what there is can't be written (the program's log says why)";
        lap_log(&layer.log, LAP_LOG_ERROR,
                "nothing is recorded from frame %" PRIu64 " on: the living objects can't be written: %s",
                parts.frames + 1, lap_error_message());
        layer_recording_discard();
        return false;
    }
    layer_recording_is_used();
    if (counted)
        lap_writer_info(atomic_load(&layer.writer), json);
    layer_recording_note_calls();
    return true;
}

enum begun { BEGUN, REFUSED, POSTPONED };

/* Locks in their order: devices, queues, submits, parts (docs/architecture.md, "Locks"). */
static enum begun begin(void)
{
    enum begun begun = BEGUN;
    struct layer_device *dev, *end = NULL;

    pthread_mutex_lock(&layer.devices_mutex);
    for (dev = layer.devices; dev && begun == BEGUN; dev = dev->next) {
        pthread_mutex_lock(&dev->verify.mutex);
        end = dev->next;
        if (!wait_for(dev))
            begun = POSTPONED;
    }
    for (dev = layer.devices; dev && begun == BEGUN; dev = dev->next)
        layer_submission_idle(dev);
    for (dev = layer.devices; dev && begun == BEGUN; dev = dev->next)
        pthread_mutex_lock(&dev->submit.mutex);
    if (begun == BEGUN) {
        if (layer_parts_lock()) {
            begun = write_part() ? BEGUN : REFUSED;
            layer_parts_unlock();
        } else {
            begun = REFUSED;
        }
        for (dev = layer.devices; dev; dev = dev->next)
            pthread_mutex_unlock(&dev->submit.mutex);
    }
    for (dev = layer.devices; dev != end; dev = dev->next)
        pthread_mutex_unlock(&dev->verify.mutex);
    pthread_mutex_unlock(&layer.devices_mutex);
    return begun;
}

/* Of the part that is to begin with the next frame. */
static uint64_t frames_asked_for(void)
{
    const struct lap_frames *list = &layer.options.parts.frames;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->ranges[i].first <= parts.frames + 1 && list->ranges[i].last > parts.frames)
            return list->ranges[i].last - parts.frames;
    return 1;
}

static bool try_to_begin(void)
{
    const uint64_t since = milliseconds();
    int cancel = lap_cancel_off();
    enum begun begun = begin();

    lap_cancel_restore(cancel);
    if (begun == BEGUN) {
        lap_log(&layer.log, LAP_LOG_INFO,
                "a part begins with frame %" PRIu64 "; the living objects were written in %" PRIu64 " ms",
                parts.frames + 1, milliseconds() - since);
        parts.first_frame = parts.frames + 1;
        parts.postponed = 0;
    }
    atomic_store(&layer.part_pending, begun == POSTPONED);
    if (begun == POSTPONED && !parts.triggered_left && !layer_turns_on()) /* it has as many frames when it can begin */
        parts.triggered_left = frames_asked_for();
    if (begun == POSTPONED && ++parts.postponed == MOST_POSTPONED)
        lap_log(&layer.log, LAP_LOG_ERROR,
                "nothing is recorded: submitted work has waited for the program for %u frames", MOST_POSTPONED);
    parts.refused = begun == REFUSED || parts.postponed >= MOST_POSTPONED;
    if (begun != BEGUN && (begun == REFUSED || parts.postponed == MOST_POSTPONED) && !atomic_load(&layer.writer))
        layer_recording_failed();
    return begun == BEGUN;
}

static void end(void)
{
    int cancel = lap_cancel_off();

    if (layer_parts_lock()) {
        layer_recording_close(&parts.last.frames, &parts.last.bytes, NULL);
        layer_parts_unlock();
    }
    lap_cancel_restore(cancel);
    layer_turns_end();
    parts.triggered_left = 0;
    parts.told_to = false;
    parts.recorded++;
}

/* ---- where parts may begin and end ---- */

/* The current time in the run; taken after writing the state, which may take long. */
static struct layer_turn_time turn_time(void)
{
    return (struct layer_turn_time){parts.frames, milliseconds()};
}

/* The newer recording continues if the next one can't begin. */
static void take_turn(bool keep)
{
    struct layer_turn_time now = turn_time();

    if (keep)
        layer_turn_keep();
    if (!layer_turn_is_due(&now) || (!try_to_begin() && !parts.refused))
        return;
    now = turn_time();
    layer_turn_taken(&now);
    if (parts.refused && layer_is_writing()) {
        lap_log(&layer.log, LAP_LOG_WARNING,
                "the recording goes on in the same file, which is longer than was asked for");
        parts.refused = false;
        parts.postponed = 0;
        atomic_store(&layer.part_pending, false);
    }
}

/* A command has set how much of the run's end is kept. The current part ends, and is kept; so are the last two
 * recordings if keeping has ended. */
static void change_kept(void)
{
    const bool was = layer_turns_on();

    layer_turns_set(&parts.kept);
    if (atomic_load(&layer.writer) && layer_turns_on() != was)
        end();
    parts.kept_changes = parts.refused = parts.broken = parts.followed = parts.stopped = false;
    parts.postponed = parts.triggered_left = 0;
    atomic_store(&layer.part_pending, false);
}

/* One part follows, however many triggers come meanwhile. */
static void trigger_again(void)
{
    if (!parts.followed)
        lap_log(&layer.log, LAP_LOG_INFO, "a trigger came while a part is recorded: another part follows");
    parts.followed = true;
}

/* The recordings in turn could not go on, and the reason was logged: tries again when the next turn is due. */
static void take_turn_again(bool keep)
{
    struct layer_turn_time now = {parts.frames, milliseconds()};

    if (keep)
        layer_turn_keep();
    if (!layer_turn_is_due(&now))
        return;
    parts.refused = false;
    (void)try_to_begin();
    now.milliseconds = milliseconds();
    layer_turn_taken(&now);
}

static void look(bool frame)
{
    const bool trigger = frame && is_triggered();
    bool writing, wanted;

    if (frame && parts.kept_changes)
        change_kept();
    writing = layer_is_writing();
    wanted = is_wanted();
    parts.stopped = parts.stopped && wanted && !(frame && begins_anew());
    wanted = wanted && !parts.stopped;
    if (!writing && atomic_load(&layer.writer)) { /* it could not go on: the reason was logged */
        end();
        parts.refused = parts.broken = true;
        parts.last.refusal = "the last one could not go on (the program's log says why)";
    }
    if (writing && atomic_load(&layer.writer) && parts.triggered_left && frame && --parts.triggered_left == 0 &&
        !wanted) {
        end();
        writing = false;
    }
    if (writing && !parts.triggered_left && !parts.told_to &&
        (!wanted || (frame && !layer_turns_on() && begins_anew()))) {
        end();
        writing = false;
    }
    if (frame && writing && layer_turns_on()) {
        take_turn(trigger);
        writing = layer_is_writing();
    } else if (frame && parts.refused && !parts.broken && layer_turns_on()) {
        take_turn_again(trigger);
        writing = layer_is_writing();
    } else if (trigger && (writing || parts.triggered_left)) {
        trigger_again();
    } else if (frame && (trigger || parts.followed) && !writing && !parts.triggered_left) {
        parts.refused = parts.followed = false;
        parts.triggered_left = layer.options.parts.trigger_frames;
    }
    if (frame && parts.commanded && !writing) {
        parts.refused = false;
        parts.triggered_left = parts.commanded;
        parts.commanded = 0;
    }
    if (!writing && !wanted && !parts.triggered_left) {
        parts.refused = false;
        atomic_store(&layer.part_pending, false);
    }
    if (!writing && !parts.refused && (wanted || parts.triggered_left)) {
        if (try_to_begin() && layer_turns_on()) {
            const struct layer_turn_time now = turn_time();
            layer_turn_taken(&now);
        }
        if (parts.refused)
            parts.triggered_left = 0;
    }
    if (layer.options.parts.exit_after && !layer_is_writing() && is_over()) {
        layer.options.parts.exit_after = false;
        kill(getpid(), SIGTERM);
    }
}

void layer_part_frame_ended(void)
{
    pthread_mutex_lock(&parts.mutex);
    parts.frames++;
    look(true);
    pthread_mutex_unlock(&parts.mutex);
}

void layer_part_submitted(void)
{
    pthread_mutex_lock(&parts.mutex);
    parts.submits++;
    if (layer.options.parts.submits.count)
        look(false);
    pthread_mutex_unlock(&parts.mutex);
}

/* Work that waited for the host may have been released. */
void layer_part_waited(void)
{
    pthread_mutex_lock(&parts.mutex);
    if (atomic_load(&layer.part_pending))
        look(false);
    pthread_mutex_unlock(&parts.mutex);
}

void layer_part_process_ends(void)
{
    struct layer_keeper_size size;

    if (layer.log.level < LAP_LOG_DEBUG)
        return;
    size = layer_keeper_size();
    lap_log(&layer.log, LAP_LOG_DEBUG, "%zu objects are kept, by %zu packets of %zu bytes", size.objects, size.packets,
            size.bytes);
}

bool layer_part_begin(void)
{
    bool begun = false;

    if (!layer.options.parts.on || !atomic_load(&layer.waiting))
        return false;
    pthread_mutex_lock(&parts.mutex);
    if (!layer_is_writing() && try_to_begin())
        begun = parts.told_to = true;
    pthread_mutex_unlock(&parts.mutex);
    return begun;
}

bool layer_part_end(void)
{
    bool ended = false;

    if (!layer.options.parts.on)
        return false;
    pthread_mutex_lock(&parts.mutex);
    if (layer_is_writing() && parts.told_to) {
        layer_parts_enter();
        lap_writer_frame(atomic_load(&layer.writer));
        layer_parts_leave();
        end();
        ended = true;
    }
    pthread_mutex_unlock(&parts.mutex);
    return ended;
}

/* ---- commands ---- */

const char *layer_part_start(uint64_t frames)
{
    const char *why = NULL;

    pthread_mutex_lock(&parts.mutex);
    if (parts.kept_changes ? parts.kept.unit != LAP_LENGTH_NONE : layer_turns_on())
        why = "the end of the run is being kept (keep-last off ends that)";
    else if (layer_is_writing() && !parts.kept_changes)
        why = "it is being recorded already";
    else if (parts.commanded || parts.triggered_left)
        why = "a part is to begin already";
    else
        parts.commanded = frames;
    pthread_mutex_unlock(&parts.mutex);
    return why;
}

/* Like the end of the process: the trace keeps the unfinished frame. */
const char *layer_part_stop(void)
{
    static const struct lap_length nothing = {.unit = LAP_LENGTH_NONE};
    const char *why = NULL;

    pthread_mutex_lock(&parts.mutex);
    if (!layer_is_writing() && !parts.commanded && !parts.triggered_left && !layer_turns_on() && !parts.kept_changes)
        why = "nothing is being recorded";
    if (layer_is_writing())
        end();
    if (!why) {
        layer_turns_set(&nothing);
        parts.commanded = parts.triggered_left = 0;
        parts.kept_changes = false;
        parts.followed = false;
        parts.stopped = true;
        atomic_store(&layer.part_pending, false);
    }
    pthread_mutex_unlock(&parts.mutex);
    return why;
}

const char *layer_part_keep_last(const struct lap_length *length)
{
    const char *why = NULL;

    pthread_mutex_lock(&parts.mutex);
    if (!length->unit && !layer_turns_on() && !parts.kept_changes) {
        why = "the end of the run is not being kept";
    } else {
        parts.kept = *length;
        parts.kept_changes = true;
        parts.commanded = 0;
    }
    pthread_mutex_unlock(&parts.mutex);
    return why;
}

const char *layer_part_keep(void)
{
    const char *why = NULL;

    pthread_mutex_lock(&parts.mutex);
    if (layer_turns_on() && !layer_is_writing())
        why = "nothing is being recorded";
    else if (!layer_turns_on())
        why = "the end of the run is not being kept (keep-last)";
    else
        layer_turn_keep();
    pthread_mutex_unlock(&parts.mutex);
    return why;
}

void layer_part_forked(void)
{
    layer_turns_forked();
    layer_key_forked();
}

void layer_part_last(struct layer_last_part *out)
{
    pthread_mutex_lock(&parts.mutex);
    *out = parts.last;
    out->kept = *layer_turns_length();
    pthread_mutex_unlock(&parts.mutex);
}
