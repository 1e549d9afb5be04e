/* SPDX-License-Identifier: MIT */
/*
 * lapilli-info: prints the properties of a trace, as text or as one JSON object.
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/process/signal_name.h"
#include "base/utf8.h"
#include "gen_decode.h"
#include "gen_reflect.h"
#include "inspector/analysis/trace_analysis.h"
#include "tools/common/arguments.h"
#include "tools/common/calls.h"
#include "tools/common/progress.h"
#include "tools/common/tool.h"
#include "tools/show/text.h"
#include "trace/format/info.h"
#include "vulkan/unchecked.h"
#include "vulkan/unseen.h"

#define PROGRAM        "lapilli-info"
#define PROGRESS_CALLS 1024u

static const char help[] =
    "usage: lapilli info [--json] FILE\n"
    "Shows a trace: the recorded machine, the contents, and the requirements of a replay.\n"
    "\n"
    "  --json    one JSON object\n"
    "  --help    this text\n"
    "\n"
    "An extension counts as used if it was enabled and a replayed call is one of its commands or chains one of its\n"
    "structures (structures of features only with an enabled feature). Features are those that vkCreateDevice "
    "enabled.\n"
    "\n"
    "Exit status: 0, also for an incomplete trace (with a note); 1 out of memory; 2 usage; 3 no readable trace;\n"
    "4 a part of the trace is damaged (the list of uses ends there).\n";

/* The results of one pass over the packets. */
struct pass {
    struct trace_analysis *analysis;
    const struct feature_use *uses;
    const struct trace_positions *positions;
    const struct object_lives *lives;
    struct lap_progress progress;
    uint64_t packets, all_packets;
    struct lap_map threads;
    uint64_t addresses; /* how often the program queried the address of a buffer */
    uint64_t checks[GEN_CHECK_KINDS];
    uint64_t mappings; /* made by the program's calls */
    uint64_t unchecked[LAP_UNCHECKED_COUNT];
    enum lap_status status; /* LAP_OK, or the status that ended the pass */
};

static bool maps_memory(const char *name)
{
    return strcmp(name, "vkMapMemory") == 0 || strcmp(name, "vkMapMemory2") == 0 ||
           strcmp(name, "vkMapMemory2KHR") == 0;
}

static void note_check(struct pass *pass, const struct trace_call *call)
{
    const struct gen_args_lapilliUnchecked *args;

    pass->checks[gen_command_checks[call->command]]++;
    if (call->command == GEN_lapilliUnchecked) {
        args = call->args;
        if (args->reason < LAP_UNCHECKED_COUNT)
            pass->unchecked[args->reason]++;
    }
}

static void see_packet(void *state, const struct lap_packet *packet)
{
    struct pass *pass = state;

    if (!lap_map_get(&pass->threads, packet->thread_id) &&
        lap_map_put(&pass->threads, packet->thread_id, pass, NULL) == LAP_ERROR_MEMORY)
        pass->status = LAP_ERROR_MEMORY;
    if (pass->packets++ % PROGRESS_CALLS == 0)
        lap_progress_show(&pass->progress, pass->packets - 1, pass->all_packets);
}

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct pass *pass = state;

    if (pass->status != LAP_OK)
        return pass->status;
    note_check(pass, call);
    if (call->packet->flags & LAP_PACKET_FAILED)
        return LAP_OK;
    pass->mappings += maps_memory(gen_command_names[call->command]);
    if (!(call->packet->flags & LAP_PACKET_INFO))
        pass->addresses += call->command == GEN_vkGetBufferDeviceAddress;
    return LAP_OK;
}

static enum lap_status run_pass(struct pass *pass, struct lap_reader *reader)
{
    struct trace_visitor visitor = {.all_commands = true,
                                    .information = true,
                                    .failed = true,
                                    .visit = visit,
                                    .see_packet = see_packet,
                                    .state = pass};
    enum lap_status status = trace_analysis_create(reader, 0, &pass->analysis);

    if (status != LAP_OK)
        return status;
    pass->all_packets = lap_reader_summary(reader)->packets;
    lap_progress_begin(&pass->progress, "reading", false);
    pass->status = trace_analysis_get_with(
        pass->analysis, TRACE_ANALYSIS_FEATURES | TRACE_ANALYSIS_POSITIONS | TRACE_ANALYSIS_LIVES, &visitor, 1);
    lap_progress_clear(&pass->progress);
    pass->uses = trace_analysis_features(pass->analysis);
    pass->positions = trace_analysis_positions(pass->analysis);
    pass->lives = trace_analysis_lives(pass->analysis);
    return pass->uses && pass->positions && pass->lives ? LAP_OK : LAP_ERROR_MEMORY;
}

/* ---- JSON ---- */

/* False: out of memory. Takes `item`, which may be NULL, in any case. */
static bool put(cJSON *object, const char *key, cJSON *item)
{
    bool added = item && cJSON_AddItemToObjectCS(object, key, item);

    if (!added)
        cJSON_Delete(item);
    return added;
}

static bool append(cJSON *array, cJSON *item)
{
    bool added = item && cJSON_AddItemToArray(array, item);

    if (!added)
        cJSON_Delete(item);
    return added;
}

static bool put_number(cJSON *object, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    /* JSON readers store numbers as doubles. */
    return put(object, key, value > UINT64_C(1) << 53 ? cJSON_CreateString(text) : cJSON_CreateRaw(text));
}

static bool put_text(cJSON *object, const char *key, const char *text)
{
    char *clean = text ? lap_utf8(text, strlen(text)) : NULL;
    bool added = put(object, key, clean ? cJSON_CreateString(clean) : text ? NULL : cJSON_CreateNull());
    free(clean);
    return added;
}

static bool put_pair(cJSON *object, const char *key, const char *first, uint64_t a, const char *second, uint64_t b)
{
    cJSON *pair = cJSON_AddObjectToObject(object, key);
    return put_number(pair, first, a) && put_number(pair, second, b);
}

/* A string of the layer's info object; NULL: none. The object is as untrusted as the rest of the file. */
static const char *info_text(const cJSON *info, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(info, key));
}

static bool put_uses(cJSON *object, const struct pass *pass)
{
    cJSON *both = cJSON_AddObjectToObject(object, "uses");
    cJSON *extensions = cJSON_AddArrayToObject(both, "extensions");
    cJSON *features = cJSON_AddArrayToObject(both, "features");
    bool good = features != NULL;

    for (unsigned i = 0; i < GEN_EXTENSION_COUNT; i++)
        if (feature_use_has(pass->uses, i))
            good &= append(extensions, cJSON_CreateString(gen_extensions[i].name));
    for (unsigned i = 0; i < GEN_FEATURE_COUNT; i++)
        if (pass->uses->enabled_features[i])
            good &= append(features, cJSON_CreateString(gen_features[i].name));
    return good && put_number(both, "addresses", pass->addresses);
}

/* Calls that had not returned when the program ended. */
static bool put_in_flight(cJSON *object, const struct lap_calls *calls)
{
    const struct lap_reader_summary *summary = lap_reader_summary(calls->reader);
    cJSON *array = cJSON_AddArrayToObject(object, "in_flight");
    bool good = array != NULL;

    for (size_t i = 0; i < summary->in_flight_count; i++) {
        const struct lap_in_flight *call = &summary->in_flight[i];
        char name[LAP_SIGNAL_NAME_MAX];
        cJSON *item = cJSON_CreateObject();
        good &= put_text(item, "name", lap_reader_command_name(calls->reader, call->command)) &&
                put_number(item, "thread", call->thread_id) &&
                put(item, "guilty", cJSON_CreateBool(call->flags & LAP_IN_FLIGHT_GUILTY)) &&
                put_text(item, "signal", call->signal ? lap_signal_name(call->signal, name) : NULL);
        good = append(array, item) && good;
    }
    return good;
}

static bool put_flag(cJSON *object, const char *key, const cJSON *info)
{
    return put(object, key, cJSON_CreateBool(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(info, key))));
}

/* Why a part lacks contents from before it, and of how many objects. */
static bool put_lost(cJSON *object, const cJSON *info)
{
    const cJSON *lost = cJSON_GetObjectItemCaseSensitive(info, "contents_lost");
    cJSON *reasons = cJSON_AddObjectToObject(object, "contents_lost");
    bool good = reasons != NULL;

    for (size_t i = 0; i < LAP_UNCHECKED_COUNT; i++) {
        const cJSON *number = cJSON_GetObjectItemCaseSensitive(lost, lap_unchecked_names[i]);
        if (cJSON_IsNumber(number))
            good &= put(reasons, lap_unchecked_names[i], cJSON_Duplicate(number, false));
    }
    return good;
}

/* The number of checks, and the numbers of skipped buffers and images by reason. */
static bool put_checks(cJSON *object, const cJSON *info, const struct pass *pass)
{
    cJSON *checks = cJSON_AddObjectToObject(object, "checks");
    cJSON *unchecked = cJSON_AddObjectToObject(object, "unchecked");
    bool good = put_flag(object, "verify", info) && put_flag(object, "verify_all", info);

    for (size_t i = GEN_CHECK_NONE + 1; i < GEN_CHECK_KINDS; i++)
        good &= put_number(checks, gen_check_names[i], pass->checks[i]);
    for (size_t i = 0; i < LAP_UNCHECKED_COUNT; i++)
        if (pass->unchecked[i])
            good &= put_number(unchecked, lap_unchecked_names[i], pass->unchecked[i]);
    return good;
}

/* How the program ended, and which tool ended the trace; null where the program did. */
static bool put_ended(cJSON *object, const struct lap_reader_summary *summary)
{
    static const char *const by[] = {
        [LAP_ENDED_BY_CAPTURE] = "capture", [LAP_ENDED_BY_REPAIR] = "repair", [LAP_ENDED_BY_RECEIVE] = "receive"};
    const struct lap_end_note *note = summary->end_note;
    char name[LAP_SIGNAL_NAME_MAX];

    if (!summary->ended)
        return put(object, "ended", cJSON_CreateNull());
    cJSON *ended = cJSON_AddObjectToObject(object, "ended");
    return put_text(ended, "signal", note->how == LAP_ENDED_SIGNAL ? lap_signal_name(note->number, name) : NULL) &&
           (note->how == LAP_ENDED_STATUS ? put_number(ended, "status", note->number)
                                          : put(ended, "status", cJSON_CreateNull())) &&
           put_text(ended, "finished_by", by[note->by]) && put_text(ended, "text", summary->ended);
}

/* The layer also counts mappings without calls of the program, such as imported pages, but writes that count only
 * when the device is destroyed. It writes the numbers of unwatched mappings earlier, too. */
static bool put_mappings(cJSON *object, const cJSON *info, uint64_t counted)
{
    static const char *const parts[] = {"mappings_small", "mappings_compared"};
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(info, "mappings");
    bool more = cJSON_IsNumber(all) && all->valuedouble > (double)counted;
    bool good = put(object, "mappings", more ? cJSON_Duplicate(all, false) : cJSON_CreateNumber((double)counted));

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const cJSON *number = cJSON_GetObjectItemCaseSensitive(info, parts[i]);
        good &= put(object, parts[i], cJSON_IsNumber(number) ? cJSON_Duplicate(number, false) : cJSON_CreateNull());
    }
    return good;
}

/* Where in the run the trace begins: 1 is its first frame; null: with the program's first call. */
static bool put_part(cJSON *object, const cJSON *info)
{
    const cJSON *part = cJSON_GetObjectItemCaseSensitive(info, "part");
    return cJSON_IsObject(part) ? put(object, "part", cJSON_Duplicate(part, true))
                                : put(object, "part", cJSON_CreateNull());
}

/* The program's wait for a receiver; null: it was not streamed. The frame with which a part of another trace begins;
 * null: it is whole. */
static bool put_numbers(cJSON *object, const cJSON *info)
{
    static const char *const names[] = {"receiver_waited_ms", "trimmed_first_frame"};
    bool good = put_flag(object, "trimmed_contents", info);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const cJSON *number = cJSON_GetObjectItemCaseSensitive(info, names[i]);
        good &= put(object, names[i], cJSON_IsNumber(number) ? cJSON_Duplicate(number, false) : cJSON_CreateNull());
    }
    return good;
}

/* The file of another recorder that was recorded anew; null: the trace is a program's own. */
static bool put_source(cJSON *object, const cJSON *info)
{
    static const char *const texts[] = {"kind", "version", "recorder", "device", "hash"};
    const cJSON *source = cJSON_GetObjectItemCaseSensitive(info, "imported_from");

    if (!cJSON_IsObject(source))
        return put(object, "imported_from", cJSON_CreateNull());
    cJSON *from = cJSON_AddObjectToObject(object, "imported_from");
    bool good = from != NULL;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        good &= put_text(from, texts[i], info_text(source, texts[i]));
    return good;
}

/* NULL: out of memory. */
static cJSON *make_json(const struct lap_reader_summary *summary, const cJSON *info, struct pass *pass,
                        const struct lap_calls *calls)
{
    static const char *const texts[] = {"write_watch",
                                        "write_watch_reason",
                                        "backing",
                                        "backing_reason",
                                        "address_capture",
                                        "address_capture_reason",
                                        "mappings_compared_reason",
                                        "layer_version",
                                        "registry",
                                        "trimmed",
                                        "addresses_lost"};
    static const char *const machine[] = {"device", "driver", "api_version", "device_uuid", "driver_uuid"};
    const cJSON *recorded_on = cJSON_GetObjectItemCaseSensitive(info, "recorded_on");
    const cJSON *pid = cJSON_GetObjectItemCaseSensitive(info, "pid");
    cJSON *object = cJSON_CreateObject(), *where;
    char uuid[33];
    bool good = object != NULL;

    for (int i = 0; i < 16; i++)
        snprintf(uuid + 2 * i, 3, "%02x", summary->uuid[i]);
    good &= put_number(object, "format_version", summary->format_version);
    good &= put_text(object, "uuid", uuid);
    good &= put(object, "complete", cJSON_CreateBool(summary->complete));
    good &= put_text(object, "stopped", summary->complete ? NULL : summary->stopped);
    good &= put_ended(object, summary);
    good &= put_text(object, "repaired", summary->repaired);
    good &= put(object, "indexed", cJSON_CreateBool(summary->indexed));
    good &= put_number(object, "frames", summary->frames);
    good &= put_pair(object, "recovered", "frames", summary->recovered_frames, "bytes", summary->recovered_bytes);
    good &= put_number(cJSON_GetObjectItemCaseSensitive(object, "recovered"), "packets", summary->recovered_packets);
    good &= put_number(object, "threads", lap_map_count(&pass->threads));
    good &= put_number(object, "packets", summary->packets);
    good &= put_number(object, "calls", summary->counters[LAP_COUNTER_CALLS]);
    good &= put_number(object, "commands", summary->counters[LAP_COUNTER_COMMANDS]);
    good &= put_pair(object, "objects", "made", pass->lives->count, "most_alive", pass->lives->most_alive);
    good &= put_number(object, "submits", pass->positions->submit_count);
    good &= put_number(object, "draws", pass->positions->draws_executed);
    good &= put_number(object, "dispatches", pass->positions->dispatches_executed);
    good &= put_pair(object, "blocks", "recorded", summary->counters[LAP_COUNTER_BLOCKS_RECORDED], "stored",
                     summary->counters[LAP_COUNTER_BLOCKS_STORED]);
    good &= put_pair(object, "updates", "count", summary->counters[LAP_COUNTER_UPDATES], "bytes",
                     summary->counters[LAP_COUNTER_UPDATE_BYTES]);
    good &= put_pair(object, "blobs", "count", summary->blobs, "bytes", summary->blob_bytes);
    good &= put_pair(object, "bytes", "file", summary->file_bytes, "raw", summary->raw_bytes);
    good &= put_number(object, "unknown_structs", summary->counters[LAP_COUNTER_UNKNOWN_STRUCTS]);
    good &= put_number(object, "waited_us", summary->counters[LAP_COUNTER_WAITED_US]);
    good &= put_numbers(object, info);
    good &= put_part(object, info);
    good &= put_source(object, info);
    good &= put_lost(object, info);
    good &= put_text(object, "program", info_text(info, "program"));
    good &= put(object, "pid", cJSON_IsNumber(pid) ? cJSON_Duplicate(pid, false) : cJSON_CreateNull());
    where = cJSON_AddObjectToObject(object, "recorded_on");
    good &= where != NULL;
    for (size_t i = 0; i < sizeof machine / sizeof machine[0]; i++)
        good &= put_text(where, machine[i], info_text(recorded_on, machine[i]));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        good &= put_text(object, texts[i], info_text(info, texts[i]));
    for (size_t i = 0; i < LAP_UNSEEN_COUNT; i++)
        good &= put_text(object, lap_unseen_kinds[i].key, info_text(info, lap_unseen_kinds[i].key));
    good &= put_checks(object, info, pass);
    good &= put_mappings(object, info, pass->mappings);
    good &= put_uses(object, pass);
    good &= put_in_flight(object, calls);
    if (!good) {
        cJSON_Delete(object);
        return NULL;
    }
    return object;
}

/* ---- text ---- */

/* Prints text from a file without characters that a terminal would execute. */
static void show_text(const char *label, const char *text)
{
    const char *shown = text ? text : "unknown";

    printf("%-14s", label);
    lap_utf8_print(stdout, shown, strlen(shown), '?', "");
    putchar('\n');
}

static void show_bytes(uint64_t bytes)
{
    if (bytes < 10 * 1024)
        printf("%" PRIu64 " bytes", bytes);
    else if (bytes < 10 * 1024 * 1024)
        printf("%.1f KiB", (double)bytes / 1024);
    else
        printf("%.1f MiB", (double)bytes / (1024 * 1024));
}

static void show_names(const char *label, const cJSON *names)
{
    const cJSON *name;
    const char *separator = "";

    printf("%-14s", label);
    cJSON_ArrayForEach(name, names)
    {
        printf("%s%s", separator, cJSON_GetStringValue(name));
        separator = ", ";
    }
    printf("%s\n", *separator ? "" : "none");
}

/* Whether the trace has capture data for addresses. */
static bool is_captured(const cJSON *json)
{
    const char *how = info_text(json, "address_capture");
    return how && strcmp(how, "none") != 0;
}

static void show_in_flight(const cJSON *calls)
{
    const cJSON *call;

    cJSON_ArrayForEach(call, calls)
    {
        const char *signal = info_text(call, "signal");
        const cJSON *thread = cJSON_GetObjectItemCaseSensitive(call, "thread"); /* always text: put_number */
        printf("%-14s%s on thread %s", "in flight", info_text(call, "name"), thread ? thread->valuestring : "?");
        if (signal)
            printf(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(call, "guilty")) ? ": %s" : ", another thread got %s",
                   signal);
        putchar('\n');
    }
}

static void show_checks(const struct pass *pass, const cJSON *json)
{
    const char *separator = "";

    if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "verify"))) {
        printf("%-14snone: recorded without --verify\n", "checks");
        return;
    }
    printf("%-14s", "checks");
    for (size_t i = GEN_CHECK_NONE + 1; i < GEN_CHECK_KINDS; i++)
        if (pass->checks[i]) {
            printf("%s%" PRIu64 " of %s", separator, pass->checks[i], gen_check_names[i]);
            separator = ", ";
        }
    if (!*separator)
        fputs("none: recorded with --verify, but there was nothing that could be compared", stdout);
    if (!*separator && !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "verify_all")))
        fputs("; --verify=all compares what is not mapped, too", stdout);
    putchar('\n');
    for (size_t i = 0; i < LAP_UNCHECKED_COUNT; i++)
        if (pass->unchecked[i])
            printf("%-14s%" PRIu64 " buffers or images, at some time: %s\n", "not checked", pass->unchecked[i],
                   lap_unchecked_names[i]);
}

static bool is_streamed(const cJSON *json)
{
    return cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(json, "receiver_waited_ms"));
}

static void show(const struct lap_reader_summary *summary, struct pass *pass, const cJSON *json)
{
    const cJSON *where = cJSON_GetObjectItemCaseSensitive(json, "recorded_on");
    const cJSON *uses = cJSON_GetObjectItemCaseSensitive(json, "uses");
    const char *watch_reason = info_text(json, "write_watch_reason");
    const cJSON *compared = cJSON_GetObjectItemCaseSensitive(json, "mappings_compared");
    const cJSON *lost = cJSON_GetObjectItemCaseSensitive(json, "contents_lost");
    const cJSON *source = cJSON_GetObjectItemCaseSensitive(json, "imported_from");

    printf("%-14sversion %" PRIu32 ", %s\n", "format", summary->format_version,
           summary->complete ? "complete" : "incomplete");
    if (!summary->complete)
        show_text("stopped", summary->stopped);
    else if (summary->ended)
        show_text("ended", summary->ended);
    if (summary->repaired)
        show_text("repaired", summary->repaired);
    show_text("program", info_text(json, "program"));
    if (cJSON_IsObject(source)) {
        show_text("imported from", info_text(source, "kind"));
        show_text("  version", info_text(source, "version"));
        show_text("  recorder", info_text(source, "recorder"));
        show_text("  device", info_text(source, "device"));
        show_text("  hash", info_text(source, "hash"));
    }
    show_text("device", info_text(where, "device"));
    show_text("driver", info_text(where, "driver"));
    if (info_text(where, "device_uuid"))
        show_text("device uuid", info_text(where, "device_uuid"));
    show_text("api version", info_text(where, "api_version"));
    show_text("write watch", info_text(json, "write_watch"));
    if (watch_reason && *watch_reason)
        show_text("", watch_reason);
    if (cJSON_IsNumber(compared) && compared->valuedouble > 0) {
        printf("%-14s%.0f of %.0f mappings were compared instead\n", "", compared->valuedouble,
               cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(json, "mappings")));
        show_text("", info_text(json, "mappings_compared_reason"));
    }
    for (size_t i = 0; i < LAP_UNSEEN_COUNT; i++)
        if (info_text(json, lap_unseen_kinds[i].key))
            show_text("not seen", info_text(json, lap_unseen_kinds[i].key));
    if (info_text(json, "addresses_lost"))
        show_text("addresses", info_text(json, "addresses_lost"));
    for (lost = lost ? lost->child : NULL; lost; lost = lost->next)
        printf("%-14s%.0f buffers or images have lost what they held before the part: %s\n", "lost",
               cJSON_GetNumberValue(lost), lost->string);
    if (info_text(json, "backing")) {
        show_text("backing", info_text(json, "backing"));
        show_text("", info_text(json, "backing_reason"));
    }
    printf("%-14s%" PRIu64 "\n", "frames", summary->frames);
    if (summary->recovered_bytes) {
        printf("%-14s%" PRIu64 " of the frames, ", "recovered", summary->recovered_frames);
        show_bytes(summary->recovered_bytes);
        printf(", from the tail file beside the trace\n");
    }
    if (summary->recovered_packets)
        printf("%-14s%" PRIu64 " packets behind the last frame\n", "", summary->recovered_packets);
    show_in_flight(cJSON_GetObjectItemCaseSensitive(json, "in_flight"));
    printf("%-14s%zu\n", "threads", lap_map_count(&pass->threads));
    printf("%-14s%" PRIu64 "\n", "calls", summary->counters[LAP_COUNTER_CALLS]);
    printf("%-14s%" PRIu64 " in %" PRIu64 " command buffers, of which %" PRIu64 " are stored\n", "commands",
           summary->counters[LAP_COUNTER_COMMANDS], summary->counters[LAP_COUNTER_BLOCKS_RECORDED],
           summary->counters[LAP_COUNTER_BLOCKS_STORED]);
    printf("%-14s%zu, at most %" PRIu64 " at once\n", "objects", pass->lives->count, pass->lives->most_alive);
    printf("%-14s%zu, with %" PRIu64 " draws and %" PRIu64 " dispatches\n", "submits", pass->positions->submit_count,
           pass->positions->draws_executed, pass->positions->dispatches_executed);
    printf("%-14s%" PRIu64 ", ", "updates", summary->counters[LAP_COUNTER_UPDATES]);
    show_bytes(summary->counters[LAP_COUNTER_UPDATE_BYTES]);
    printf("\n%-14s%" PRIu64 ", ", "blobs", summary->blobs);
    show_bytes(summary->blob_bytes);
    printf("\n%-14s", "size");
    show_bytes(summary->file_bytes);
    printf(" (");
    show_bytes(summary->raw_bytes);
    /* Each frame has chunks of its own, which small ones don't fill. */
    if (summary->file_bytes > summary->raw_bytes)
        printf(" of packets; the rest marks %" PRIu64 " frame%s)\n", summary->frames, summary->frames == 1 ? "" : "s");
    else
        printf(" before compression)\n");
    if (summary->counters[LAP_COUNTER_WAITED_US])
        printf("%-14s%.1f ms for compression and the %s, in recording threads\n", "waited",
               (double)summary->counters[LAP_COUNTER_WAITED_US] / 1000, is_streamed(json) ? "receiver" : "disk");
    if (is_streamed(json))
        printf("%-14swhile it was made; the program waited %.1f s for a receiver before its first call\n", "streamed",
               cJSON_GetObjectItemCaseSensitive(json, "receiver_waited_ms")->valuedouble / 1000);
    if (cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(json, "part")))
        printf("%-14sof a run, from frame %.0f on\n", "part",
               cJSON_GetNumberValue(
                   cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, "part"), "first_frame")));
    if (summary->counters[LAP_COUNTER_UNKNOWN_STRUCTS])
        printf("%-14s%" PRIu64 " pNext structures that are unknown, or hidden from programs, were left out\n",
               "left out", summary->counters[LAP_COUNTER_UNKNOWN_STRUCTS]);
    show_checks(pass, json);
    if (pass->addresses)
        printf("%-14sasked for %" PRIu64 " times; a replay translates them%s\n", "addresses", pass->addresses,
               is_captured(json) ? " unless its driver is the recorded one" : "");
    if (pass->addresses && info_text(json, "address_capture_reason"))
        show_text("", info_text(json, "address_capture_reason"));
    show_names("extensions", cJSON_GetObjectItemCaseSensitive(uses, "extensions"));
    show_names("features", cJSON_GetObjectItemCaseSensitive(uses, "features"));
}

static int report(const char *path, struct lap_calls *calls, bool as_json)
{
    const struct lap_reader_summary *summary = lap_reader_summary(calls->reader);
    struct pass pass = {.status = LAP_OK};
    cJSON *info = NULL, *json = NULL;
    char *text = NULL;
    int code = LAP_TOOL_FAILED;

    lap_map_init(&pass.threads);
    /* The reader has parsed it successfully before. */
    if (lap_info_parse(summary->info, strlen(summary->info), &info) != LAP_OK)
        goto out;
    if (run_pass(&pass, calls->reader) != LAP_OK)
        goto out;
    json = make_json(summary, info, &pass, calls);
    text = as_json && json ? cJSON_Print(json) : NULL;
    if (!json || (as_json && !text))
        goto out;
    if (as_json)
        puts(text);
    else
        show(summary, &pass, json);
    code = LAP_TOOL_OK;
    if (pass.status < 0) {
        fprintf(stderr, PROGRAM ": %s: %s\n", path, lap_error_message());
        code = pass.status == LAP_ERROR_MEMORY ? LAP_TOOL_FAILED : LAP_TOOL_INCOMPLETE;
    }
    code = lap_tool_end_output(PROGRAM, code);
out:
    if (code == LAP_TOOL_FAILED && (!json || (as_json && !text)))
        fprintf(stderr, PROGRAM ": out of memory\n");
    cJSON_free(text);
    cJSON_Delete(json);
    cJSON_Delete(info);
    trace_analysis_destroy(&pass.analysis);
    lap_map_finish(&pass.threads);
    return code;
}

static const struct lap_verb verb = {PROGRAM, help};

int main(int argc, char **argv)
{
    struct lap_calls calls;
    enum lap_status status;
    const char *path;
    bool json = false;
    const struct lap_argument rows[] = {LAP_FLAG("json", &json), LAP_FILE(&path)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code >= 0)
        return code;
    lap_calls_enter_sandbox();
    status = lap_calls_open(&calls, path);
    if (status != LAP_OK)
        return lap_calls_report_open(PROGRAM, path, status);
    code = report(path, &calls, json);
    lap_calls_close(&calls);
    return code;
}
