/* SPDX-License-Identifier: MIT */
#include "inspector/report/report.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inspector/report/inside.h"

#define PASSES     4u /* over the trace */
#define TEXT_BYTES 512u

const char *const report_kind_names[REPORT_KINDS] = {"wrong", "validation", "waste", "left", "hidden"};

#define SEEN_SUBMITS "Commands count as often as submits run them, and are compared within one command buffer."

const struct report_words report_words[REPORT_RULES] = {
    [REPORT_LAYOUT] = {"layout", REPORT_WRONG, "image", "images", "in another layout than the trace says",
                       "Images with external memory, aliases, moves between queue families and attachments of dynamic "
                       "rendering are left out, and descriptors that shaders select while they run; the validation "
                       "layer says more."},
    [REPORT_MESSAGE] = {"message", REPORT_VALIDATION, "message", "messages", "of the validation layer",
                        "The layer checks the calls of a replay on this machine."},
    [REPORT_PIPELINE_BOUND] = {"pipeline-bound", REPORT_WASTE, "pipeline bind", "pipeline binds", "of what is bound",
                               SEEN_SUBMITS},
    [REPORT_SETS_BOUND] = {"sets-bound", REPORT_WASTE, "descriptor set bind", "descriptor set binds",
                           "of what is bound", SEEN_SUBMITS},
    [REPORT_VERTEX_BOUND] = {"vertex-bound", REPORT_WASTE, "vertex buffer bind", "vertex buffer binds",
                             "of what is bound", SEEN_SUBMITS},
    [REPORT_INDEX_BOUND] = {"index-bound", REPORT_WASTE, "index buffer bind", "index buffer binds", "of what is bound",
                            SEEN_SUBMITS},
    [REPORT_STATE_SET] = {"state-set", REPORT_WASTE, "dynamic state command", "dynamic state commands",
                          "that set what is set", SEEN_SUBMITS},
    [REPORT_CONSTANTS_PUSHED] = {"constants-pushed", REPORT_WASTE, "push of constants", "pushes of constants",
                                 "that are there already", SEEN_SUBMITS},
    [REPORT_DRAW_NOTHING] = {"draw-nothing", REPORT_WASTE, "draw", "draws", "of no vertices or instances",
                             "Counts that indirect draws read from buffers are not seen."},
    [REPORT_DISPATCH_NOTHING] = {"dispatch-nothing", REPORT_WASTE, "dispatch", "dispatches", "of no groups",
                                 "Counts that indirect dispatches read from buffers are not seen."},
    [REPORT_CLEARED_AGAIN] = {"cleared-again", REPORT_WASTE, "render pass", "render passes",
                              "without work whose clears nothing reads",
                              "Work counts in the order of submission; work that was submitted earlier and waits for "
                              "the render pass is not seen."},
    [REPORT_BARRIER_IDLE] = {"barrier-idle", REPORT_WASTE, "barrier", "barriers", "with nothing to do",
                             "Only barriers that wait for nothing, or repeat the one in front of them, count; those in "
                             "render passes are not looked at."},
    [REPORT_IMAGE_UNUSED] = {"image-unused", REPORT_WASTE, "image", "images", "that nothing uses",
                             "Work behind device addresses is not seen."},
    [REPORT_BUFFER_UNUSED] = {"buffer-unused", REPORT_WASTE, "buffer", "buffers", "that nothing uses",
                              "Work behind device addresses is not seen; a buffer whose address was asked for counts "
                              "as used."},
    [REPORT_OBJECT_UNUSED] = {"object-unused", REPORT_WASTE, "other object", "other objects", "that nothing uses",
                              "Work behind device addresses is not seen."},
    [REPORT_UPDATE_UNREAD] =
        {"update-unread", REPORT_WASTE, "host update", "host updates",
         "that nothing reads before they are written over",
         "An update comes with a submit that may use the buffer, and has what changed: a program that "
         "is in the middle of its writes then makes two. Buffers with device addresses and images "
         "are left out."},
    [REPORT_PIPELINE_LATE] = {"pipeline-late", REPORT_WASTE, "pipeline", "pipelines",
                              "made behind the first frame with work", "The time that it took is not in the trace."},
    [REPORT_SUBMIT_EMPTY] = {"submit-empty", REPORT_WASTE, "submit", "submits",
                             "without command buffers, semaphores and fence", "Nothing: the trace has all submits."},
    [REPORT_WAIT_IDLE] = {"wait-idle", REPORT_WASTE, "wait", "waits", "for all work of a queue or device, in frames",
                          "A new swapchain may need it."},
    [REPORT_OBJECT_LEFT] = {"object-left", REPORT_LEFT, "object", "objects", "that the program never ended",
                            "Objects of pools end with these; only the pools count."},
    [REPORT_EXTENSION_UNUSED] = {"extension-unused", REPORT_HIDDEN, "extension", "extensions",
                                 "enabled, and no call is one of its commands or has one of its structures",
                                 "An extension that only allows something, or that another one needs, leaves no record "
                                 "of its use. Extensions that the recorder hides from programs are not in a trace."},
};

static const struct report_part *const parts[REPORT_PARTS] = {
    &report_frames, &report_binds, &report_empty, &report_barriers, &report_layouts, &report_contents, &report_updates};

/* ---- findings ---- */

static const char *copy(struct report_inside *r, const char *text)
{
    size_t bytes = text ? strlen(text) + 1 : 0;
    char *to = bytes ? lap_arena_alloc(&r->arena, bytes, 1) : NULL;
    return to ? memcpy(to, text, bytes) : NULL;
}

static const struct report_object *copy_objects(struct report_inside *r, const struct report_object *objects,
                                                size_t count)
{
    struct report_object *to = count ? lap_arena_alloc(&r->arena, count * sizeof *to, 8) : NULL;

    for (size_t i = 0; to && i < count; i++) {
        to[i] = objects[i];
        to[i].name = copy(r, objects[i].name);
        if (!to[i].name && objects[i].name)
            return NULL;
    }
    return to;
}

bool report_add(struct report *report, enum report_rule_number number, const struct report_finding *finding)
{
    const size_t most = number == REPORT_MESSAGE ? REPORT_MOST_MESSAGES : REPORT_MOST_FINDINGS;
    struct report_rule *rule = &report->rules[number];
    struct report_finding *to;

    rule->count++;
    rule->bytes += finding->bytes;
    if (rule->kept == most)
        return true;
    if (!lap_array_grow(&rule->findings, sizeof *rule->findings, &rule->capacity, rule->kept + 1))
        return false;
    to = &rule->findings[rule->kept++];
    *to = *finding;
    to->gpu_ms = -1;
    to->name = copy(report->inside, finding->name);
    to->text = copy(report->inside, finding->text);
    to->vuid = copy(report->inside, finding->vuid);
    to->objects = copy_objects(report->inside, finding->objects, finding->object_count);
    return (to->name || !finding->name) && (to->text || !finding->text) && (to->vuid || !finding->vuid) &&
           (to->objects || !finding->object_count);
}

bool report_add_vuid(struct report *report, const struct report_vuid *vuid)
{
    struct report_vuid *to;

    if (!lap_array_grow(&report->vuids, sizeof *to, &report->vuid_capacity, report->vuid_count + 1))
        return false;
    to = &report->vuids[report->vuid_count++];
    *to = *vuid;
    to->vuid = copy(report->inside, vuid->vuid);
    return to->vuid != NULL;
}

void report_count(struct report_inside *r, enum report_rule_number rule)
{
    if (r->counts)
        r->report->rules[rule].of++;
}

enum lap_status report_find(struct report_inside *r, enum report_rule_number rule, const struct report_finding *finding,
                            const char *format, ...)
{
    struct report_finding found = *finding;
    char text[TEXT_BYTES];
    va_list list;

    if (found.frame && (found.frame < r->report->first_frame || found.frame > r->report->last_frame))
        return LAP_OK;
    if (format && r->report->rules[rule].kept < REPORT_MOST_FINDINGS) {
        va_start(list, format);
        vsnprintf(text, sizeof text, format, list);
        va_end(list);
        found.text = text;
    }
    return report_add(r->report, rule, &found) ? LAP_OK : lap_no_memory("the report");
}

struct report_finding report_at(const struct bound_visit *visit)
{
    return (struct report_finding){
        .position = visit->position, .frame = visit->position.numbers[0], .command = visit->command};
}

struct report_finding report_at_call(const struct trace_call *call)
{
    return (struct report_finding){.position = {.of_packet = true, .count = 1, .numbers = {call->packet->ticket - 1}},
                                   .frame = call->packet->frame + 1,
                                   .command = call->command};
}

bool report_is_quiet(uint32_t command)
{
    static const char *const begins[] = {"vkCmdBind",     "vkCmdSet",         "vkCmdPush",       "vkCmdBeginDebug",
                                         "vkCmdEndDebug", "vkCmdInsertDebug", "vkCmdDebugMarker"};
    const char *name = gen_command_names[command];

    if (strncmp(name, "vkCmdSetEvent", strlen("vkCmdSetEvent")) == 0)
        return false;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* ---- the walk ---- */

static void see_frame(struct report_inside *r, uint64_t frame)
{
    r->frame = frame;
    r->counts = frame >= r->report->first_frame && frame <= r->report->last_frame;
}

static enum lap_status see_call(void *user, const struct trace_call *call)
{
    struct report_inside *r = user;
    enum lap_status status;

    see_frame(r, call->packet->frame + 1);
    r->seen[call->command] = true;
    r->is_blind |= strncmp(gen_command_names[call->command], "vkGetDescriptor", 15) == 0 &&
                   strstr(gen_command_names[call->command], "Set") == NULL;
    r->is_blind |= strncmp(gen_command_names[call->command], "vkWriteResourceDescriptors", 26) == 0;
    if (call->command == GEN_vkQueueSubmit || call->command == GEN_vkQueueSubmit2)
        r->queue = position_submit_queue(call);
    status = report_see_made(r, call);
    for (unsigned i = 0; i < REPORT_PARTS && status == LAP_OK; i++)
        if (parts[i]->call)
            status = parts[i]->call(r, r->states[i], call);
    return status;
}

static enum lap_status see_before(void *user, const struct bound_visit *visit)
{
    struct report_inside *r = user;
    enum lap_status status = LAP_OK;

    for (unsigned i = 0; i < REPORT_PARTS && status == LAP_OK; i++)
        if (parts[i]->before)
            status = parts[i]->before(r, r->states[i], visit);
    return status;
}

static enum lap_status see_behind(void *user, const struct bound_visit *visit)
{
    struct report_inside *r = user;
    enum lap_status status = LAP_OK;

    for (unsigned i = 0; i < REPORT_PARTS && status == LAP_OK; i++)
        if (parts[i]->behind)
            status = parts[i]->behind(r, r->states[i], visit);
    return status;
}

static enum lap_status see_use(void *user, const struct use *use)
{
    struct report_inside *r = user;
    enum lap_status status = LAP_OK;

    for (unsigned i = 0; i < REPORT_PARTS && status == LAP_OK; i++)
        if (parts[i]->use)
            status = parts[i]->use(r, r->states[i], use);
    return status;
}

static bool wants(void *user, struct use_object object)
{
    (void)user;
    return object.type == GEN_HANDLE_VkImage || object.type == GEN_HANDLE_VkImageView ||
           object.type == GEN_HANDLE_VkBuffer || object.type == GEN_HANDLE_VkBufferView;
}

static enum lap_status see_made(void *user, struct use_object made, struct use_object of)
{
    (void)user, (void)made, (void)of;
    return LAP_OK;
}

void report_progress(void *user, const struct lap_packet *packet)
{
    const struct report_inside *r = user;
    uint64_t packets = lap_reader_summary(r->trace)->packets;

    if (r->wish->progress && packets)
        r->wish->progress(r->wish->user, r->pass * packets + packet->ticket, PASSES * packets);
}

static enum lap_status walk(struct report_inside *r)
{
    const struct use_walk_options options = {
        .last_frame = UINT64_MAX, .call = see_call, .before = see_before, .behind = see_behind};
    const struct use_visitor visitor = {
        .wants = wants, .use = see_use, .made = see_made, .progress = report_progress, .user = r};
    enum lap_status status = LAP_OK;

    for (unsigned i = 0; i < REPORT_PARTS && status == LAP_OK; i++) {
        r->states[i] = calloc(1, parts[i]->bytes);
        status = !r->states[i]     ? lap_no_memory("the report")
                 : parts[i]->begin ? parts[i]->begin(r, r->states[i])
                                   : LAP_OK;
    }
    if (status == LAP_OK)
        status = use_walk(r->trace, &options, &visitor);
    for (unsigned i = 0; i < REPORT_PARTS; i++) {
        if (r->states[i] && parts[i]->finish)
            parts[i]->finish(r->states[i]);
        free(r->states[i]);
        r->states[i] = NULL;
    }
    return status;
}

/* ---- the whole ---- */

static void begin_rules(struct report *report)
{
    static const char why[] = "it is of the whole trace";
    static const bool has_of[REPORT_RULES] = {
        [REPORT_PIPELINE_BOUND] = true, [REPORT_SETS_BOUND] = true,       [REPORT_VERTEX_BOUND] = true,
        [REPORT_INDEX_BOUND] = true,    [REPORT_STATE_SET] = true,        [REPORT_CONSTANTS_PUSHED] = true,
        [REPORT_DRAW_NOTHING] = true,   [REPORT_DISPATCH_NOTHING] = true, [REPORT_CLEARED_AGAIN] = true,
        [REPORT_BARRIER_IDLE] = true,   [REPORT_IMAGE_UNUSED] = true,     [REPORT_BUFFER_UNUSED] = true,
        [REPORT_OBJECT_UNUSED] = true,  [REPORT_UPDATE_UNREAD] = true,    [REPORT_PIPELINE_LATE] = true,
        [REPORT_SUBMIT_EMPTY] = true,   [REPORT_OBJECT_LEFT] = true,      [REPORT_EXTENSION_UNUSED] = true};

    for (unsigned i = 0; i < REPORT_RULES; i++) {
        bool is_of_whole = (i >= REPORT_IMAGE_UNUSED && i <= REPORT_OBJECT_UNUSED) || i == REPORT_OBJECT_LEFT ||
                           i == REPORT_EXTENSION_UNUSED;
        report->rules[i].ran = i != REPORT_MESSAGE && (report->whole || !is_of_whole);
        report->rules[i].why = i == REPORT_MESSAGE ? "it was not asked for" : report->rules[i].ran ? NULL : why;
        report->rules[i].has_of = has_of[i];
    }
}

/* The first frame of its own that a part of a run has: what is in front of it only makes the state for that. */
static uint64_t first_frame_of(const struct lap_reader *trace)
{
    cJSON *info = cJSON_Parse(lap_reader_summary(trace)->info);
    const double number = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(info, "trimmed_first_frame"));

    cJSON_Delete(info);
    return number >= 1 && number < 1e15 ? (uint64_t)number : 1;
}

static struct report *create(const struct lap_reader *trace, const struct report_wish *wish)
{
    struct report *report = calloc(1, sizeof *report);
    struct report_inside *r = calloc(1, sizeof *r);

    if (!report || !r) {
        free(report);
        free(r);
        return NULL;
    }
    report->inside = r;
    report->first_frame = wish->first_frame ? wish->first_frame : 1;
    report->last_frame = wish->last_frame;
    report->whole = report->first_frame == 1 && report->last_frame == UINT64_MAX;
    if (report->first_frame < first_frame_of(trace))
        report->first_frame = first_frame_of(trace);
    *r = (struct report_inside){.report = report, .trace = trace, .wish = wish};
    lap_arena_init(&r->arena, 0);
    lap_map_init(&r->views);
    lap_map_init(&r->passes);
    begin_rules(report);
    return report;
}

enum lap_status report_make(const struct lap_reader *trace, const struct report_wish *wish, struct report **out)
{
    struct report *report = create(trace, wish);
    enum lap_status status, more;

    *out = report;
    if (!report)
        return lap_no_memory("the report");
    status = walk(report->inside);
    if (status == LAP_ERROR_MEMORY) {
        report_free(out);
        return status;
    }
    report->inside->pass++;
    more = report_find_objects(report->inside);
    if (status == LAP_OK)
        status = more;
    if (status == LAP_OK && report->whole)
        status = report_find_extensions(report->inside);
    return status;
}

void report_free(struct report **report)
{
    if (!*report)
        return;
    lap_map_finish(&(*report)->inside->views);
    lap_map_finish(&(*report)->inside->passes);
    lap_arena_finish(&(*report)->inside->arena);
    free((*report)->inside->targets.items);
    free((*report)->inside);
    free((*report)->frames);
    free((*report)->vuids);
    for (unsigned i = 0; i < REPORT_RULES; i++)
        free((*report)->rules[i].findings);
    free(*report);
    *report = NULL;
}
