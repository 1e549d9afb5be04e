/* SPDX-License-Identifier: MIT */
/* Joins a report with the output of other programs, which is as untrusted as the trace. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_ids.h"
#include "gen_reflect.h"
#include "inspector/position/packets.h"
#include "tools/report/show.h"
#include "tools/show/moment.h"

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(member(object, name));
}

/* Negative: it is no number. */
static double number_of(const cJSON *object, const char *name)
{
    const cJSON *item = member(object, name);
    return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 9e15 ? item->valuedouble : -1;
}

/* ---- messages of the validation layer ---- */

#define MOST_OBJECTS 32u /* of a message */

static size_t read_objects(const cJSON *line, struct report_object out[MOST_OBJECTS])
{
    const cJSON *item;
    size_t count = 0;

    cJSON_ArrayForEach(item, member(line, "objects"))
    {
        const char *type = text_of(item, "type");
        double index = number_of(item, "index");
        struct report_object object = {.type = type ? gen_handle_by_name(type) : 0, .name = text_of(item, "name")};
        if (!object.type || index <= 0 || count == MOST_OBJECTS)
            continue;
        object.index = (uint64_t)index;
        out[count++] = object;
    }
    return count;
}

/* With the number of its packet, and perhaps of its command in that. */
static enum lap_status add_message(struct report *report, const cJSON *line)
{
    double frame = number_of(line, "frame"), packet = number_of(line, "packet"), command = number_of(line, "command");
    const char *name = text_of(line, "name"), *severity = text_of(line, "severity");
    struct report_object objects[MOST_OBJECTS];
    struct report_finding f = {.frame = frame > 0 ? (uint64_t)frame : 0,
                               .command = name ? gen_command_by_name(name) : GEN_COMMAND_NONE,
                               .vuid = text_of(line, "vuid"),
                               .is_warning = severity && strcmp(severity, "warning") == 0,
                               .objects = objects,
                               .object_count = read_objects(line, objects),
                               .text = text_of(line, "text")};

    if (f.frame && (f.frame < report->first_frame || f.frame > report->last_frame))
        return LAP_OK;
    if (f.object_count) {
        f.type = objects[0].type;
        f.index = objects[0].index;
        f.name = objects[0].name;
    }
    if (packet >= 1)
        f.position = (struct position){.of_packet = true,
                                       .count = command >= 0 ? 2 : 1,
                                       .numbers = {(uint64_t)packet - 1, command >= 0 ? (uint64_t)command : 0}};
    return report_add(report, REPORT_MESSAGE, &f) ? LAP_OK : lap_no_memory("the report");
}

/* How many messages there were: the lines have only the first ones of each VUID. */
static enum lap_status add_counts(struct report *report, const cJSON *summary)
{
    struct report_rule *rule = &report->rules[REPORT_MESSAGE];
    const cJSON *item;
    uint64_t all = 0;

    cJSON_ArrayForEach(item, member(summary, "vuids"))
    {
        const char *severity = text_of(item, "severity");
        double count = number_of(item, "count");
        struct report_vuid vuid = {.vuid = text_of(item, "vuid"),
                                   .is_warning = severity && strcmp(severity, "warning") == 0,
                                   .count = count > 0 ? (uint64_t)count : 0};
        all += vuid.count;
        if (vuid.vuid && !report_add_vuid(report, &vuid))
            return lap_no_memory("the report");
    }
    if (report->whole && all > rule->count)
        rule->count = all;
    return LAP_OK;
}

static int by_ticket(const void *a, const void *b)
{
    const struct position_packet *one = a, *other = b;
    return (one->ticket > other->ticket) - (one->ticket < other->ticket);
}

/* As frame, submit, buffer and command where it is in a submit. */
static void place(struct report_finding *f, const struct position_packet *packets, size_t count)
{
    const struct position_packet key = {.ticket = f->position.numbers[0] + 1};
    const struct position_packet *at = bsearch(&key, packets, count, sizeof key, by_ticket);
    const bool is_command = f->position.count == 2;
    struct position position = at ? at->position : (struct position){.count = 0};

    if (!position.count || position.count + is_command > POSITION_MOST_NUMBERS)
        return;
    if (is_command)
        position.numbers[position.count++] = f->position.numbers[1];
    f->position = position;
}

static enum lap_status place_all(struct report_rule *rule, const struct lap_reader *trace)
{
    struct position_packet *packets = calloc(rule->kept + 1, sizeof *packets);
    enum lap_status status;
    size_t count = 0, apart = 0;

    if (!packets)
        return lap_no_memory("the report");
    for (size_t i = 0; i < rule->kept; i++)
        if (rule->findings[i].position.count)
            packets[count++].ticket = rule->findings[i].position.numbers[0] + 1;
    qsort(packets, count, sizeof *packets, by_ticket);
    for (size_t i = 0; i < count; i++)
        if (!apart || packets[apart - 1].ticket != packets[i].ticket)
            packets[apart++] = packets[i];
    status = position_of_packets(trace, packets, apart);
    for (size_t i = 0; i < rule->kept; i++)
        if (rule->findings[i].position.count)
            place(&rule->findings[i], packets, apart);
    free(packets);
    return status == LAP_ERROR_MEMORY ? status : LAP_OK; /* a damaged trace is said elsewhere */
}

enum lap_status report_join_messages(struct report *report, const struct lap_reader *trace, const char *lines,
                                     size_t bytes)
{
    struct report_rule *rule = &report->rules[REPORT_MESSAGE];
    enum lap_status status = LAP_OK;
    bool has_summary = false;

    rule->ran = true;
    rule->why = NULL;
    for (size_t at = 0, length; at < bytes && status == LAP_OK; at += length + 1) {
        const char *end = memchr(lines + at, '\n', bytes - at);
        cJSON *line;
        length = end ? (size_t)(end - (lines + at)) : bytes - at;
        line = cJSON_ParseWithLength(lines + at, length);
        if (member(line, "summary")) {
            has_summary = true;
            status = add_counts(report, member(line, "summary"));
        } else if (text_of(line, "vuid")) {
            status = add_message(report, line);
        }
        cJSON_Delete(line);
    }
    if (status == LAP_OK)
        status = place_all(rule, trace);
    return status == LAP_OK && !has_summary
               ? lap_fail(LAP_ERROR_FORMAT, "the replay under the validation layer ended early")
               : status;
}

/* ---- times ---- */

struct timed { /* a part of a frame */
    uint64_t frame;
    struct position begin, end; /* end.count 0: as begin */
    double gpu_ms;
};

struct timed_list {
    struct timed *items;
    size_t count, capacity;
};

static enum lap_status foreign(void)
{
    return lap_fail(LAP_ERROR_ARGUMENT, "this is no file of lapilli profile -o");
}

static bool position_of(const cJSON *item, const char *name, struct position *out)
{
    const char *text = text_of(item, name);
    return text && position_parse(text, out) == LAP_OK && !out->of_packet;
}

static enum lap_status read_frames(const cJSON *document, struct timed_list *list)
{
    const cJSON *frames = member(document, "each_frame"), *frame, *part;

    cJSON_ArrayForEach(frame, frames)
    {
        double number = number_of(frame, "frame");
        cJSON_ArrayForEach(part, member(frame, "parts"))
        {
            struct timed timed = {.frame = number > 0 ? (uint64_t)number : 0, .gpu_ms = number_of(part, "gpu_ms")};
            if (timed.gpu_ms < 0 || !position_of(part, "position", &timed.begin))
                continue;
            if (!position_of(part, "end", &timed.end))
                timed.end.count = 0;
            if (!lap_array_grow(&list->items, sizeof *list->items, &list->capacity, list->count + 1))
                return lap_no_memory("the profile");
            list->items[list->count++] = timed;
        }
    }
    return LAP_OK;
}

/* < 0: a is in front of b. One that contains the other is equal to it. */
static int compare(const struct position *a, const struct position *b)
{
    for (unsigned i = 0; i < a->count && i < b->count; i++)
        if (a->numbers[i] != b->numbers[i])
            return a->numbers[i] < b->numbers[i] ? -1 : 1;
    return 0;
}

static bool is_in(const struct position *at, const struct timed *timed)
{
    const struct position *end = timed->end.count ? &timed->end : &timed->begin;

    return at->count >= timed->begin.count && compare(at, &timed->begin) >= 0 && compare(at, end) <= 0;
}

static void give_times(struct report *report, const struct timed_list *list)
{
    for (unsigned i = 0; i < REPORT_RULES; i++)
        for (size_t k = 0; k < report->rules[i].kept; k++) {
            struct report_finding *f = &report->rules[i].findings[k];
            if (f->position.of_packet || f->position.count < POSITION_COMMAND)
                continue;
            for (size_t t = 0; t < list->count; t++) /* the smallest thing that has a time */
                if (is_in(&f->position, &list->items[t]) && (f->gpu_ms < 0 || list->items[t].gpu_ms <= f->gpu_ms))
                    f->gpu_ms = list->items[t].gpu_ms;
        }
}

static void free_timed(struct report_timed *timed)
{
    free(timed->name);
    free(timed->position);
    free(timed->kind);
}

static enum lap_status add_pass(struct report_times *times, const cJSON *part)
{
    const char *name = text_of(part, "name"), *position = text_of(part, "position"), *kind = text_of(part, "kind");
    struct report_timed new = {.gpu_ms = number_of(member(part, "gpu_ms"), "median"),
                               .share = number_of(part, "share")};
    size_t at = times->count;

    if (new.gpu_ms < 0 || !kind || strcmp(kind, "commands") == 0 || strcmp(kind, "label") == 0)
        return LAP_OK; /* they contain the others */
    new.share = new.share < 0 ? 0 : new.share;
    name = name ? name : text_of(part, "command");
    while (at && times->passes[at - 1].gpu_ms < new.gpu_ms)
        at--;
    if (at == REPORT_MOST_PASSES)
        return LAP_OK;
    new.name = name ? strdup(name) : NULL;
    new.position = position ? strdup(position) : NULL;
    new.kind = strdup(kind);
    if (times->count == REPORT_MOST_PASSES)
        free_timed(&times->passes[--times->count]);
    memmove(&times->passes[at + 1], &times->passes[at], (times->count - at) * sizeof new);
    times->passes[at] = new;
    times->count++;
    return (new.name || !name) && (new.position || !position) && new.kind ? LAP_OK : lap_no_memory("the profile");
}

enum lap_status report_join_profile(struct report *report, const char *text, size_t bytes, struct report_times *out)
{
    cJSON *document = cJSON_ParseWithLength(text, bytes);
    const cJSON *parts = member(document, "parts"), *part;
    struct timed_list list = {.items = NULL};
    enum lap_status status = LAP_OK;

    *out = (struct report_times){.frame_ms = number_of(member(member(document, "frame"), "gpu_ms"), "median")};
    if (number_of(document, "profile") != 1 || !cJSON_IsArray(parts) ||
        !cJSON_IsArray(member(document, "each_frame")) || out->frame_ms < 0)
        status = foreign();
    if (status == LAP_OK)
        status = read_frames(document, &list);
    if (status == LAP_OK) {
        const char *gpu = text_of(document, "gpu");
        give_times(report, &list);
        out->gpu = gpu ? strdup(gpu) : NULL;
    }
    cJSON_ArrayForEach(part, parts) if (status == LAP_OK) status = add_pass(out, part);
    free(list.items);
    cJSON_Delete(document);
    return status;
}

void report_times_finish(struct report_times *times)
{
    for (size_t i = 0; i < times->count; i++)
        free_timed(&times->passes[i]);
    free(times->gpu);
}
