/* SPDX-License-Identifier: MIT */
#include "replayer/play/player.h"
#include "replayer/core/handles.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gen_replay.h"
#include "replayer/analysis/analysis.h"
#include "replayer/analysis/recorded_machine.h"
#include "replayer/command/parallel.h"
#include "replayer/command/reference_check.h"
#include "replayer/core/call_times.h"
#include "replayer/core/invalid_calls.h"
#include "replayer/core/progress.h"
#include "replayer/device/shader_validation.h"
#include "replayer/device/validation.h"
#include "replayer/format/format.h"
#include "replayer/memory/new_memory.h"
#include "replayer/memory/staging.h"
#include "replayer/play/measure.h"
#include "replayer/sync/wait.h"
#include "replayer/sync/watchdog.h"
#include "replayer/verify/contents.h"
#include "replayer/verify/verify.h"
#include "replayer/vm/program.h"
#include "trace/format/info.h"
#include "vulkan/block.h"
#include "vulkan/dictionary.h"
#include "vulkan/loader.h"

#define ARENA_LIMIT_BYTES ((size_t)1 << 30) /* the decoded arguments of one packet */
#define PROGRESS_MS       250u
#define PROGRESS_PACKETS  64u

/* ---- callbacks of the decoders ---- */

static enum lap_status source_blob(void *user, uint64_t id, const uint8_t **out_data, size_t *out_bytes)
{
    struct replay *r = user;
    return replay_read_blob(r, LAP_BLOB_DATA, id, out_data, out_bytes);
}

/* Whether a command of the caller may refer to an object of this owner. Drivers get no surfaces. */
static bool is_own(const struct replay *r, uint32_t type, const void *owner)
{
    if (owner == r->objects.caller || !r->objects.caller || type == GEN_HANDLE_VkSurfaceKHR)
        return true;
    for (const struct replay_device *dev = r->devices; dev; dev = dev->next)
        if (dev == r->objects.caller)
            return dev->instance == owner;
    return false;
}

static enum lap_status source_handle(void *user, uint32_t type, uint64_t index, uint64_t *out)
{
    struct replay *r = user;
    struct replay_table *table = &r->objects.tables[type];
    const struct replay_object *object = replay_table_get(table, index);

    if (object && r->objects.several && !is_own(r, type, object->owner)) {
        *out = 0;
        return r->source.lenient ? LAP_OK
                                 : lap_fail(LAP_ERROR_INVALID, "%s:%" PRIu64 " is of another device or instance",
                                            gen_handle_names[type], index);
    }
    if (object) {
        table->live.last = index;
        *out = object->live;
        return LAP_OK;
    }
    *out = 0;
    if (type == GEN_HANDLE_VkDeviceMemory &&
        (!gen_command_providers[r->at.command] || r->at.command == GEN_vkQueueBindSparse)) {
        *out = index; /* the program's memory is not replayed: its index finds the replay's memory */
        return LAP_OK;
    }
    if (r->source.lenient)
        return LAP_OK;
    return lap_fail(LAP_ERROR_INVALID, "%s:%" PRIu64 " is not alive", gen_handle_names[type], index);
}

static uint32_t source_struct_id(void *user, uint64_t number)
{
    const struct replay *r = user;
    return lap_dictionary_struct(r->dictionary, number);
}

/* ---- table of commands ---- */

struct replay_command {
    uint16_t command; /* enum gen_command */
    uint16_t owner_type;
    bool played; /* false: `decode` and `call` are not called */
    bool lenient;
    bool called; /* programs call it; false: a packet of the layer */
    /* Only few commands have: */
    bool is_prepared;     /* one of the next three, or there are threads: one test for all */
    bool settles_updates; /* staging.h */
    bool has_code;        /* it may have code: shader_validation.h */
    bool is_noted;        /* reference_check.h */
    uint16_t ended;       /* enum gen_handle_type of the object that `end` destroys */
    gen_decode_fn decode;
    enum lap_status (*call)(struct replay *r, void *owner, void *args);
    enum lap_status (*end)(struct replay *r, void *owner, uint64_t index, struct replay_object *object);
};

/* Instead of a command's function. */
static enum lap_status call_timed(struct replay *r, void *owner, void *args)
{
    const uint32_t command = r->at.command;
    const uint64_t began = replay_call_times_now();
    const enum lap_status status = gen_replay_table[command].call(r, owner, args);

    replay_call_times_add(r->call_times, r->at.packet.frame + 1, command, began);
    return status;
}

/* By number in the file, so that a packet needs one lookup. */
static enum lap_status find_commands(struct replay *r)
{
    const struct lap_dictionary *dictionary = r->dictionary;

    r->commands = calloc((size_t)dictionary->command_count + 1, sizeof *r->commands);
    if (!r->commands)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for the dictionary");
    for (uint32_t i = 0; i < dictionary->command_count; i++) {
        uint32_t command = dictionary->commands[i];
        const struct gen_replay_entry *entry = &gen_replay_table[command];
        bool settles = replay_staging_is_settled_by(command);
        bool has_code = r->options.judge && !(entry->flags & GEN_REPLAY_INSTANCE) &&
                        strncmp(gen_command_names[command], "vkCreate", 8) == 0;
        r->commands[i] = (struct replay_command){
            .command = (uint16_t)command,
            .owner_type = entry->owner_type,
            .played = entry->call && gen_decode_table[command] && !dictionary->block_commands[i],
            .lenient = entry->flags & GEN_REPLAY_LENIENT,
            .called = gen_command_providers[command],
            .is_prepared = settles || has_code || r->parallel,
            .settles_updates = settles,
            .has_code = has_code,
            .is_noted = replay_reference_check_is_noted(command),
            .ended = entry->ended,
            .decode = gen_decode_table[command],
            .call = r->call_times && entry->call ? call_timed : entry->call,
            .end = settles || r->call_times || has_code || r->parallel || entry->flags & GEN_REPLAY_LENIENT
                       ? NULL
                       : entry->end,
        };
    }
    return LAP_OK;
}

/* ---- opening ---- */

static enum lap_status open_loader(struct replay *r)
{
    r->loader.library = dlopen(LAP_VULKAN_LOADER, RTLD_NOW | RTLD_LOCAL);
    if (!r->loader.library)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "this machine has no Vulkan loader: %s", dlerror());
    r->loader.get_instance_proc_addr = (PFN_vkGetInstanceProcAddr)dlsym(r->loader.library, "vkGetInstanceProcAddr");
    if (!r->loader.get_instance_proc_addr)
        return lap_fail(LAP_ERROR_UNSUPPORTED, LAP_VULKAN_LOADER " has no vkGetInstanceProcAddr");
    return LAP_OK;
}

/* A replay that waits for questions. */
static bool will_debug(const struct replay_options *options)
{
    return options->wait && options->pictures.folder;
}

static enum lap_status edit(struct replay *r, const struct lap_reader_options *options)
{
    struct edit_work work = {.wanted = &r->options.experiments,
                             .log = r->log,
                             .last_frame = r->options.last_frame,
                             .after = &r->options.pictures.after,
                             .wish = &r->options.pictures.wish,
                             .each = &r->options.pictures.each,
                             .pictures = r->options.pictures.list,
                             .texel = r->options.texel.wanted ? &r->options.texel.wish : NULL,
                             .history = r->options.texel.history,
                             .timed = &r->options.profile.wish,
                             .stamps = r->options.profile.stamps,
                             .counted = &r->options.overdraw.wish,
                             .counts = r->options.overdraw.counts,
                             .meshed = &r->options.mesh.wish,
                             .vertices = r->options.mesh.values,
                             .debugged = &r->options.debug.wish,
                             .values = r->options.debug.values,
                             .will_debug = will_debug(&r->options),
                             .reader = r->reader};
    enum lap_status status;

    r->options.pictures.each.names = r->options.pictures.names;
    status = edit_experiments_apply(&work, options);
    r->reader = work.reader;
    r->edits = work.edits;
    if (status == LAP_OK && work.timed->first_frame && work.timed->last_frame != UINT64_MAX)
        r->options.last_frame = work.timed->last_frame;
    return status;
}

bool replay_has_nothing_to_play(const struct replay *r)
{
    return r->options.mesh.wish.at.count && !r->options.mesh.values->replays && !r->options.wait;
}

enum lap_status replay_open(struct replay *r, const struct replay_options *options, const struct lap_log *log)
{
    const struct lap_reader_options reader_options = {
        .ahead_bytes = options->ahead_bytes, .trusts_blobs = !options->verify, .from = options->from};
    const struct lap_reader_options plain_options = {.from = options->from};
    bool is_program, edits = edit_experiments_are_wanted(&options->experiments) || options->pictures.after.count ||
                             options->pictures.each.at.count || options->texel.wanted ||
                             options->profile.wish.first_frame || options->debug.wish.at.count ||
                             options->overdraw.wish.at.count || options->mesh.wish.at.count;
    enum lap_status status;

    memset(r, 0, sizeof *r);
    r->options = *options;
    r->log = log;
    r->at.block_family = UINT32_MAX;
    lap_arena_init(&r->arena, ARENA_LIMIT_BYTES);
    r->source =
        (struct lap_dec_source){.blob = source_blob, .handle = source_handle, .struct_id = source_struct_id, .user = r};
    replay_tables_attach(r);
    is_program = replay_is_program(options->file);
    edits |= will_debug(options) && !is_program;
    if (options->resources && !is_program && !options->from)
        return lap_fail(LAP_ERROR_ARGUMENT, "--resources is for replay programs, and %s is none", options->file);
    status = is_program ? replay_program_open(r, options->file, options->resources, &r->program, &r->reader)
                        : lap_reader_open(options->file, edits ? &plain_options : &reader_options, &r->reader);
    if (status == LAP_OK && edits)
        status = edit(r, &reader_options);
    if (status != LAP_OK)
        return status;
    if (replay_has_nothing_to_play(r))
        return LAP_OK;
    if (lap_info_has(lap_reader_summary(r->reader)->info, "contents_lost"))
        lap_log(log, LAP_LOG_WARNING,
                "the trace lacks contents that buffers or images had before it begins (lapilli info says why): work "
                "that uses them may give something else");
    r->options.writes_all_images = lap_info_flag(lap_reader_summary(r->reader)->info, "trimmed_contents");
    r->options.reads_all_images = options->reading != NULL || options->pictures.folder != NULL ||
                                  options->texel.wanted || options->debug.wish.at.count;
    r->dictionary = calloc(1, sizeof *r->dictionary);
    if (!r->dictionary)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for the dictionary");
    status = lap_dictionary_init(r->dictionary, r->reader);
    if (status != LAP_OK)
        return status;
    status = replay_aliases_await(r);
    if (status == LAP_OK)
        status = open_loader(r);
    if (status == LAP_OK && options->validation)
        status = replay_validation_begin(options->validation, r);
    if (status == LAP_OK && options->measure)
        status = replay_measure_create(r);
    if (status == LAP_OK)
        status = replay_parallel_create(r, options->validation || options->profile.wish.first_frame
                                               ? 1
                                               : replay_parallel_threads(r, options->threads));
    if (status == LAP_OK && options->profile.wish.first_frame) {
        const struct stamps_wish *wish = &r->options.profile.stamps->wish;
        r->call_times = replay_call_times_create(wish->first_frame, wish->last_frame);
        status = r->call_times ? LAP_OK : lap_no_memory("the time of calls");
    }
    if (status == LAP_OK)
        status = find_commands(r);
    return status == LAP_OK ? replay_check_create(r) : status;
}

bool replay_close(struct replay *r)
{
    bool finishes = true;

    replay_parallel_destroy(r);
    replay_watch_enter(&r->watch, 0, REPLAY_WATCH_NO_PACKET);
    for (struct replay_device *dev = r->devices; dev && finishes; dev = dev->next) {
        finishes = replay_device_finishes(dev, REPLAY_FINISH_LIMIT_NS);
        replay_watch_step(&r->watch);
    }
    while (r->instances && finishes) {
        replay_instance_destroy(r, r->instances);
        replay_watch_step(&r->watch);
    }
    replay_watchdog_end(r);
    replay_check_destroy(r);
    replay_tables_finish(r);
    replay_analysis_finish(r);
    replay_measure_destroy(r);
    replay_call_times_destroy(&r->call_times);
    replay_format_destroy(r);
    free(r->summary.invalid);
    free(r->summary.gpu_json);
    lap_arena_finish(&r->arena);
    if (r->dictionary)
        lap_dictionary_release(r->dictionary);
    free(r->dictionary);
    free(r->commands);
    lap_slab_finish(&r->objects.buffers);
    lap_slab_finish(&r->objects.images);
    replay_reference_check_finish(r);
    lap_reader_close(&r->reader);
    lap_reader_close(&r->reader_before);
    lap_edits_destroy(&r->edits_before);
    lap_edits_destroy(&r->edits);
    replay_program_close(&r->program);
    /* The loader stays loaded: drivers leave thread-local data that outlives their instances. */
    memset(r, 0, sizeof *r);
    return finishes;
}

/* ---- playing ---- */

/* The owner (struct replay_instance * or struct replay_device *) of a live object; fails with a message. */
static enum lap_status owner_of(struct replay *r, enum gen_handle_type type, uint64_t index, void **out_owner)
{
    const struct replay_object *object = replay_object_get(r, type, index);

    *out_owner = object ? object->owner : NULL;
    /* Traces without information packets lack the origin of their physical devices. */
    if (!*out_owner && type == GEN_HANDLE_VkPhysicalDevice && r->instances && index != 0) {
        enum lap_status status =
            replay_object_add(r, type, index, (uint64_t)(uintptr_t)r->instances->gpu, r->instances, NULL);
        if (status != LAP_OK)
            return status;
        *out_owner = r->instances;
    }
    if (!*out_owner)
        return replay_invalid(r, "%s:%" PRIu64 " is not alive", gen_handle_names[type], index);
    return LAP_OK;
}

enum lap_status replay_unknown_command(struct replay *r)
{
    const char *name = lap_reader_command_name(r->reader, r->at.packet.command);

    if (lap_block_has(r->at.command))
        return replay_place(r, lap_fail(LAP_ERROR_FORMAT, "%s stands outside of a block", name));
    if (gen_replay_refusals[r->at.command])
        return replay_refuse_command(r);
    return replay_refuse(r, "this build does not know %s", name);
}

/* A packet that is not played. */
static __attribute__((noinline)) enum lap_status pass_packet(struct replay *r)
{
    if (r->at.packet.flags & LAP_PACKET_FAILED)
        return LAP_OK;
    if (r->at.packet.flags & LAP_PACKET_INFO || (r->at.command && !gen_replay_table[r->at.command].call &&
                                                 gen_command_flags[r->at.command] & LAP_PACKET_INFO)) {
        replay_recorded_machine_observe(r);
        replay_new_memory_observe(r);
        return LAP_OK;
    }
    return replay_unknown_command(r);
}

/* Decodes the command's first handle and finds its owner. LAP_END: the handle is null and the call does nothing, as
 * vkDestroyDevice(NULL). */
static __attribute__((noinline)) enum lap_status find_owner(struct replay *r, enum gen_handle_type type,
                                                            struct lap_dec *dec, void **out_owner)
{
    uint64_t index = lap_get_u64(dec);
    const struct replay_object *object;
    enum lap_status status;

    if (dec->status != LAP_OK)
        return replay_place(r, dec->status);
    if (index == 0)
        return LAP_END;
    status = owner_of(r, type, index, out_owner);
    if (status != LAP_OK)
        return status;
    object = replay_object_get(r, type, index);
    dec->owner = object->live;
    r->objects.tables[type].live.last = index;
    if (index < 0x80) /* one byte */
        r->objects.caller_seen = (struct replay_caller){(uint16_t)type, (uint8_t)index, object->live, *out_owner};
    return LAP_OK;
}

/* SPIRV-Tools are no driver: they have no time limit. */
static enum lap_status check_code(struct replay *r, void *owner, void *args)
{
    const uint64_t packet = replay_watch_pause(&r->watch);
    const enum lap_status status = replay_spirv_check(r, owner, args);

    replay_watch_go_on(&r->watch, packet);
    return status;
}

/* Prepares the call to the driver. */
static enum lap_status prepare(struct replay *r, const struct replay_command *command, void *owner, void *args)
{
    enum lap_status status = r->parallel ? replay_parallel_before(r, r->at.command, args) : LAP_OK;

    if (status == LAP_OK && command->settles_updates)
        status = replay_staging_before(r, owner, r->at.command, args);
    if (status == LAP_OK && command->has_code)
        status = check_code(r, owner, args);
    return status;
}

/* Records the completed call. */
static __attribute__((noinline)) enum lap_status note(struct replay *r, const void *args)
{
    return replay_reference_check_note(r, args);
}

/* A command that only ends one object. Where the last command had the same owner, and the object is alive and
 * belongs to that owner, a lookup in its table replaces decoding. LAP_AGAIN: these conditions do not hold, and nothing
 * was done. */
static inline __attribute__((always_inline)) enum lap_status play_end(struct replay *r,
                                                                      const struct replay_command *command)
{
    const struct replay_caller *seen = &r->objects.caller_seen;
    enum gen_handle_type type = (enum gen_handle_type)command->ended;
    struct replay_table *table = &r->objects.tables[type];
    const uint8_t *body = r->at.packet.body;
    size_t bytes = r->at.packet.bytes;
    struct replay_object *object;
    enum lap_status status;
    uint64_t index;

    if (command->owner_type != seen->type || bytes == 0 || *body != seen->index)
        return LAP_AGAIN;
    index = lap_number_of(body + 1, bytes - 1);
    object = replay_table_get(table, index);
    if (!object || object->owner != seen->owner)
        return LAP_AGAIN;
    table->live.last = index;
    r->objects.caller = seen->owner;
    r->at.call = command->command;
    r->at.call_ticket = r->at.packet.ticket;
    status = command->end(r, seen->owner, index, object);
    return __builtin_expect(status < 0, 0) ? replay_place(r, status) : status;
}

/* Rare results of decoding. */
static __attribute__((noinline)) enum lap_status look_at_decoded(struct replay *r, struct lap_dec *dec)
{
    r->summary.skipped_structs += dec->unknown_structs;
    dec->unknown_structs = 0;
    if (dec->status == LAP_OK && dec->p != dec->end)
        lap_dec_fail(dec, "more bytes than the command has members for");
    return dec->status == LAP_OK ? LAP_OK : replay_place(r, dec->status);
}

/* The work for every packet, in one function. dec: empty, as at the start, or as the last packet left it. */
static inline __attribute__((always_inline)) enum lap_status play(struct replay *r, struct lap_dec *dec)
{
    const struct replay_command *command = &r->commands[r->at.packet.command];
    enum lap_status status = LAP_OK;
    struct lap_args args;
    void *owner = NULL;

    r->at.block_command = NULL;
    r->at.command = command->command;
    replay_watch_enter(&r->watch, r->at.packet.ticket, command->command);
    if (!command->played || r->at.packet.flags & (LAP_PACKET_FAILED | LAP_PACKET_INFO))
        return pass_packet(r);
    if (command->end && (status = play_end(r, command)) != LAP_AGAIN)
        return status;

    lap_arena_reset(&r->arena);
    dec->base = dec->p = r->at.packet.body;
    dec->end = dec->p + r->at.packet.bytes;
    dec->owner = 0;
    if (command->owner_type != GEN_HANDLE_NONE) {
        const struct replay_caller *seen = &r->objects.caller_seen;
        if (command->owner_type == seen->type && dec->p < dec->end && *dec->p == seen->index) {
            dec->p++;
            dec->owner = seen->live;
            owner = seen->owner;
            r->objects.tables[seen->type].live.last = seen->index;
        } else {
            status = find_owner(r, command->owner_type, dec, &owner);
            if (status != LAP_OK)
                return status == LAP_END ? LAP_OK : status;
        }
    }
    r->objects.caller = owner;
    if (command->lenient) {
        r->source.lenient = true;
        command->decode(dec, args.bytes);
        r->source.lenient = false;
    } else {
        command->decode(dec, args.bytes);
    }
    if (__builtin_expect(dec->status != LAP_OK || dec->p != dec->end || dec->unknown_structs, 0)) {
        status = look_at_decoded(r, dec);
        if (status != LAP_OK)
            return status;
    }
    if (command->called) {
        r->at.call = r->at.command;
        r->at.call_ticket = r->at.packet.ticket;
    }
    status = command->is_prepared ? prepare(r, command, owner, args.bytes) : LAP_OK;
    if (status == LAP_OK)
        status = command->call(r, owner, args.bytes);
    if (status == LAP_OK && command->is_noted)
        status = note(r, args.bytes);
    return __builtin_expect(status < 0, 0) ? replay_place(r, status) : status;
}

/* A call was refused as invalid. It is left out where that does no harm; *dec is as at the start. It is decoded
 * again with nulls allowed, which checks the rest of it: a broken file is not played further. */
static __attribute__((noinline)) enum lap_status play_invalid(struct replay *r, struct lap_dec *dec)
{
    const struct replay_command *command = &r->commands[r->at.packet.command];
    char sentence[768];
    enum lap_status status = LAP_OK;
    struct lap_args args;

    snprintf(sentence, sizeof sentence, "%s", lap_error_message());
    if (r->options.strict || !replay_invalid_calls_may_leave_out(r))
        return LAP_ERROR_REPLAY;
    lap_arena_reset(&r->arena);
    lap_dec_init(dec, r->at.packet.body, r->at.packet.bytes, &r->arena, &r->source);
    r->source.lenient = true;
    command->decode(dec, args.bytes);
    r->source.lenient = false;
    status = look_at_decoded(r, dec);
    /* The call still waits for the remaining fences on its device, if that is alive. */
    if (status == LAP_OK && replay_invalid_calls_is_thinned(r->at.command) &&
        ((struct gen_args_vkWaitForFences *)(void *)args.bytes)->device) {
        status = command->is_prepared ? prepare(r, command, (void *)(uintptr_t)r->objects.caller, args.bytes) : LAP_OK;
        if (status == LAP_OK)
            status = command->call(r, (void *)(uintptr_t)r->objects.caller, args.bytes);
    }
    lap_dec_init(dec, NULL, 0, &r->arena, &r->source);
    if (status == LAP_OK || status == LAP_ERROR_INVALID) /* nothing of it remained */
        replay_invalid_calls_note(r, sentence);
    return status == LAP_ERROR_INVALID ? LAP_OK : status < 0 ? replay_place(r, status) : status;
}

/* Plays the next packets in the reader's run, all of one frame. LAP_OK: the run has ended. */
static enum lap_status play_run(struct replay *r)
{
    enum lap_status status = LAP_OK;
    struct lap_dec dec;

    lap_dec_init(&dec, NULL, 0, &r->arena, &r->source);
    while (status == LAP_OK && lap_reader_run(r->reader, &r->at.packet)) {
        status = play(r, &dec);
        if (__builtin_expect(status == LAP_ERROR_INVALID, 0))
            status = play_invalid(r, &dec);
    }
    replay_watch_leave(&r->watch);
    return status;
}

enum lap_status replay_packet(struct replay *r)
{
    enum lap_status status;
    struct lap_dec dec;

    if (r->at.packet.bytes == 0)
        r->at.packet.body = lap_dec_nothing;
    lap_dec_init(&dec, NULL, 0, &r->arena, &r->source);
    status = play(r, &dec);
    if (status == LAP_ERROR_INVALID)
        status = play_invalid(r, &dec);
    replay_watch_leave(&r->watch);
    return status;
}

#define BAR_WIDTH 24

/* Redraws a line of its own. */
static void show_progress(struct replay *r, uint64_t *last_ms)
{
    uint64_t now = replay_now_ms(), frames = lap_reader_summary(r->reader)->frames, frame = r->at.packet.frame + 1;
    char bar[BAR_WIDTH + 1];

    if (now - *last_ms < PROGRESS_MS)
        return;
    *last_ms = now;
    if (r->options.last_frame && r->options.last_frame < frames)
        frames = r->options.last_frame;
    if (frame > frames)
        frames = frame;
    for (uint64_t i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < (double)frame / (double)frames * BAR_WIDTH ? '#' : '.';
    bar[BAR_WIDTH] = 0;
    fprintf(stderr, "\r[%s] %3.0f %%, frame %" PRIu64 " of %" PRIu64 " ", bar, 100 * (double)frame / (double)frames,
            frame, frames);
    fflush(stderr);
}

/* The next packet, which may be held. */
static enum lap_status next_packet(struct replay *r)
{
    if (!r->holds)
        return lap_reader_next(r->reader, &r->at.packet);
    r->holds = false;
    r->at.packet = r->held;
    return LAP_OK;
}

/* Up to the first packet of a frame, from 0. holds: that one is the next. */
static enum lap_status run_to(struct replay *r, uint64_t end_frame, bool holds)
{
    bool progress = !r->options.quiet && isatty(STDERR_FILENO);
    uint64_t last_ms = replay_now_ms(), reported = 0;
    enum lap_status status;

    replay_progress_begin(r);
    replay_program_begin(r->program);
    while ((status = next_packet(r)) == LAP_OK) {
        if (holds && r->at.packet.frame >= end_frame) {
            r->held = r->at.packet;
            r->holds = true;
            break;
        }
        if (r->measure)
            replay_measure_packet(r);
        if (r->at.packet.frame >= end_frame || (r->options.stop_at && r->at.packet.ticket > r->options.stop_at))
            break;
        status = replay_packet(r);
        if (status == LAP_OK && !r->measure && !r->options.stop_at)
            status = play_run(r);
        if (status != LAP_OK)
            break;
        replay_progress_show(r);
        if (progress && r->at.packet.ticket - reported >= PROGRESS_PACKETS) {
            reported = r->at.packet.ticket;
            show_progress(r, &last_ms);
        }
    }
    if (status == LAP_END && r->measure)
        replay_measure_end(r);
    if (progress)
        fprintf(stderr, "\r%*s\r", BAR_WIDTH + 60, "");
    r->at.packet = (struct lap_packet){0};
    return status;
}

static void preload(struct replay *r)
{
    if (r->options.preload && !lap_reader_preload(r->reader))
        lap_log(r->log, LAP_LOG_WARNING,
                "memory has no room for all of the trace: the rest is read while it is played");
}

/* Plays what threads have gathered. */
static enum lap_status end_run(struct replay *r)
{
    enum lap_status status;

    replay_watch_enter(&r->watch, 0, REPLAY_WATCH_NO_PACKET);
    status = replay_parallel_finish(r);
    replay_watch_leave(&r->watch);
    return status;
}

enum lap_status replay_run_before(struct replay *r, uint64_t frame)
{
    enum lap_status status;

    preload(r);
    status = run_to(r, frame - 1, true);
    return status == LAP_OK || status == LAP_END ? end_run(r) : status;
}

enum lap_status replay_run(struct replay *r)
{
    enum lap_status status;

    if (!r->waited)
        preload(r);
    status = run_to(r, r->options.last_frame ? r->options.last_frame : UINT64_MAX, false);
    if (r->options.reading && (status == LAP_OK || status == LAP_END))
        return replay_read_contents(r);
    return status == LAP_END ? end_run(r) : status;
}
