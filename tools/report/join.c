/* SPDX-License-Identifier: MIT */
/* Joins a report with the output of other programs, which is as untrusted as the trace. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_ids.h"
#include "gen_reflect.h"
#include "inspector/position/find.h"
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

/* As frame, submit, buffer and command where it is in a submit. */
static void place(const struct lap_reader *trace, double packet, double command, struct report_finding *f)
{
    struct position_found found;

    f->position = (struct position){.of_packet = true, .count = 1, .numbers = {(uint64_t)packet - 1}};
    if (command >= 0) {
        f->position.count = 2;
        f->position.numbers[1] = (uint64_t)command;
    }
    if (position_find(trace, &f->position, &found) == LAP_OK && found.position.count)
        f->position = found.position;
    else
        f->position.count = 1;
}

static enum lap_status add_message(struct report *report, const struct lap_reader *trace, const cJSON *line)
{
    const cJSON *first = cJSON_GetArrayItem(member(line, "objects"), 0);
    double frame = number_of(line, "frame"), packet = number_of(line, "packet"), index = number_of(first, "index");
    const char *type = text_of(first, "type"), *name = text_of(line, "name");
    struct report_finding f = {.frame = frame > 0 ? (uint64_t)frame : 0,
                               .command = name ? gen_command_by_name(name) : GEN_COMMAND_NONE,
                               .name = text_of(first, "name"),
                               .vuid = text_of(line, "vuid"),
                               .text = text_of(line, "text")};

    if (f.frame && (f.frame < report->first_frame || f.frame > report->last_frame))
        return LAP_OK;
    if (type && index > 0) {
        f.type = gen_handle_by_name(type);
        f.index = f.type ? (uint64_t)index : 0;
    }
    if (packet >= 1 && report->rules[REPORT_MESSAGE].kept < REPORT_MOST_FINDINGS)
        place(trace, packet, number_of(line, "command"), &f);
    return report_add(report, REPORT_MESSAGE, &f) ? LAP_OK : lap_no_memory("the report");
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
        if (member(line, "summary"))
            has_summary = true;
        else if (text_of(line, "vuid"))
            status = add_message(report, trace, line);
        cJSON_Delete(line);
    }
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
