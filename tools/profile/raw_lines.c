/* SPDX-License-Identifier: MIT */
#include "tools/profile/raw_lines.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "inspector/position/position.h"

#define MOST_NUMBER   9007199254740992.0 /* 2^53 */
#define MOST_CALLS    4096
#define MOST_LEFT_OUT 100000

static const char *const kinds[] = {"commands", "pass", "label", "work", "between"}; /* [enum profile_kind] */

struct parser {
    struct profile_raw *raw;
    struct lap_arena *arena;
    size_t open[PROFILE_MOST_DEPTH]; /* the last thing of each depth */
    size_t open_count;
    bool has_head, has_end;
};

const char *profile_kind_name(enum profile_kind kind)
{
    return kinds[kind];
}

bool profile_is_on_cpu(const char *device_type)
{
    return device_type && strcmp(device_type, "cpu") == 0;
}

const char *profile_text(struct lap_arena *arena, const char *text)
{
    char *clean = text ? lap_utf8(text, strlen(text)) : NULL, *kept = NULL;
    size_t bytes = clean ? strlen(clean) + 1 : 0;

    if (clean)
        kept = lap_arena_alloc(arena, bytes, 1);
    if (kept)
        memcpy(kept, clean, bytes);
    free(clean);
    return kept;
}

/* ---- members ---- */

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static enum lap_status bad(const char *what)
{
    return lap_fail(LAP_ERROR_FORMAT, "its %s is missing or wrong", what);
}

/* A text; null and none are NULL where `may_lack`. */
static enum lap_status get_text(const struct parser *parser, const cJSON *object, const char *name, bool may_lack,
                                const char **out)
{
    const cJSON *item = member(object, name);

    *out = NULL;
    if (may_lack && (!item || cJSON_IsNull(item)))
        return LAP_OK;
    if (!cJSON_IsString(item))
        return bad(name);
    *out = profile_text(parser->arena, item->valuestring);
    return *out ? LAP_OK : lap_no_memory(NULL);
}

static enum lap_status get_number(const cJSON *object, const char *name, double most, double *out)
{
    const cJSON *item = member(object, name);

    *out = 0;
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > most)
        return bad(name);
    *out = item->valuedouble;
    return LAP_OK;
}

static enum lap_status get_frame(const cJSON *object, const char *name, uint64_t *out)
{
    double value;
    enum lap_status status = get_number(object, name, MOST_NUMBER, &value);

    if (status == LAP_OK)
        *out = (uint64_t)value;
    return status;
}

static void *array_of(const struct parser *parser, size_t count, size_t size)
{
    return lap_arena_zalloc(parser->arena, count ? count : 1, size, 8);
}

/* ---- timed things ---- */

static enum lap_status get_targets(const struct parser *parser, const cJSON *object, struct profile_thing *thing)
{
    const cJSON *all = member(object, "targets"), *item;
    struct profile_target *targets;
    int count = cJSON_GetArraySize(all);
    enum lap_status status = LAP_OK;

    if (!all)
        return LAP_OK;
    if (!cJSON_IsArray(all) || count > (int)PROFILE_MOST_TARGETS)
        return bad("targets");
    if (!(targets = array_of(parser, (size_t)count, sizeof *targets)))
        return lap_no_memory(NULL);
    thing->targets = targets;
    cJSON_ArrayForEach(item, all)
    {
        struct profile_target *target = &targets[thing->target_count++];
        if ((status = get_text(parser, item, "name", false, &target->name)) != LAP_OK ||
            (status = get_text(parser, item, "image", true, &target->image)) != LAP_OK ||
            (status = get_text(parser, item, "format", true, &target->format)) != LAP_OK ||
            (status = get_number(item, "width", MOST_NUMBER, &target->width)) != LAP_OK ||
            (status = get_number(item, "height", MOST_NUMBER, &target->height)) != LAP_OK)
            return status;
        target->format = target->format ? target->format : "VK_FORMAT_UNDEFINED";
    }
    return LAP_OK;
}

static enum lap_status get_statistics(const struct parser *parser, const cJSON *object, struct profile_thing *thing)
{
    const cJSON *all = member(object, "statistics"), *item;
    struct profile_statistic *statistics;
    int count = cJSON_GetArraySize(all);

    if (!all || cJSON_IsNull(all))
        return LAP_OK;
    if (!cJSON_IsObject(all) || count > (int)PROFILE_MOST_STATISTICS)
        return bad("statistics");
    if (!(statistics = array_of(parser, (size_t)count, sizeof *statistics)))
        return lap_no_memory(NULL);
    thing->statistics = statistics;
    cJSON_ArrayForEach(item, all)
    {
        struct profile_statistic *statistic = &statistics[thing->statistic_count++];
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > 1e300)
            return bad("statistics");
        if (!(statistic->name = profile_text(parser->arena, item->string)))
            return lap_no_memory(NULL);
        statistic->value = item->valuedouble;
    }
    return LAP_OK;
}

static enum lap_status get_place(const struct parser *parser, const cJSON *object, struct profile_thing *thing)
{
    struct position position;
    enum lap_status status = get_text(parser, object, "position", false, &thing->position);

    if (status == LAP_OK)
        status = get_text(parser, object, "end", true, &thing->end);
    if (status != LAP_OK)
        return status;
    if (position_parse(thing->position, &position) != LAP_OK || position.of_packet ||
        position.count < (thing->kind == PROFILE_COMMANDS ? POSITION_BUFFER : POSITION_COMMAND))
        return bad("position");
    thing->frame = position.numbers[0];
    if (thing->end && (position_parse(thing->end, &position) != LAP_OK || position.of_packet))
        return bad("end");
    return LAP_OK;
}

static enum lap_status get_times(const cJSON *object, struct profile_thing *thing)
{
    double begin, end;
    enum lap_status status = get_number(object, "begin_ns", MOST_NUMBER, &begin);

    if (status == LAP_OK)
        status = get_number(object, "end_ns", MOST_NUMBER, &end);
    if (status != LAP_OK)
        return status;
    if (end < begin)
        return bad("end_ns");
    thing->begin_ms = begin / 1e6;
    thing->ms = (end - begin) / 1e6;
    return LAP_OK;
}

/* Its parent, which has it: also in time. */
static enum lap_status nest(struct parser *parser, struct profile_thing *thing)
{
    const struct profile_raw *raw = parser->raw;
    const struct profile_thing *last = raw->thing_count ? &raw->things[raw->thing_count - 1] : NULL, *parent;
    double begin, end;

    if (last && thing->frame < last->frame)
        return bad("frame");
    if (thing->depth > parser->open_count || (thing->depth == 0) != (thing->kind == PROFILE_COMMANDS))
        return bad("depth");
    parser->open[thing->depth] = raw->thing_count;
    parser->open_count = thing->depth + 1;
    thing->parent = thing->depth ? parser->open[thing->depth - 1] : PROFILE_NONE;
    if (!thing->depth)
        return LAP_OK;
    parent = &raw->things[thing->parent];
    if (thing->frame != parent->frame)
        return bad("frame");
    begin = thing->begin_ms < parent->begin_ms ? parent->begin_ms : thing->begin_ms;
    end = thing->begin_ms + thing->ms;
    if (end > parent->begin_ms + parent->ms)
        end = parent->begin_ms + parent->ms;
    thing->begin_ms = begin < end ? begin : end;
    thing->ms = end - thing->begin_ms;
    return LAP_OK;
}

static enum lap_status get_kind(const cJSON *object, enum profile_kind *out)
{
    const char *name = cJSON_GetStringValue(member(object, "kind"));

    for (size_t i = 0; name && i < PROFILE_BETWEEN; i++)
        if (strcmp(name, kinds[i]) == 0) {
            *out = (enum profile_kind)i;
            return LAP_OK;
        }
    return bad("kind");
}

static enum lap_status take_thing(struct parser *parser, const cJSON *object)
{
    struct profile_raw *raw = parser->raw;
    struct profile_thing thing = {.kind = PROFILE_WORK};
    double depth = 0;
    enum lap_status status = get_kind(object, &thing.kind);

    if (status == LAP_OK && (status = get_place(parser, object, &thing)) == LAP_OK &&
        (status = get_text(parser, object, "command", true, &thing.command)) == LAP_OK &&
        (status = get_text(parser, object, "name", true, &thing.name)) == LAP_OK &&
        (status = get_text(parser, object, "queue", false, &thing.queue)) == LAP_OK &&
        (status = get_text(parser, object, "pipeline", true, &thing.pipeline)) == LAP_OK &&
        (status = get_number(object, "depth", PROFILE_MOST_DEPTH - 1, &depth)) == LAP_OK &&
        (status = get_number(object, "draws", MOST_NUMBER, &thing.draws)) == LAP_OK &&
        (status = get_number(object, "dispatches", MOST_NUMBER, &thing.dispatches)) == LAP_OK &&
        (status = get_times(object, &thing)) == LAP_OK && (status = get_targets(parser, object, &thing)) == LAP_OK)
        status = get_statistics(parser, object, &thing);
    thing.depth = (uint32_t)depth;
    if (status == LAP_OK)
        status = nest(parser, &thing);
    if (status != LAP_OK)
        return status;
    if (!lap_array_grow(&raw->things, sizeof *raw->things, &raw->thing_capacity, raw->thing_count + 1))
        return lap_no_memory(NULL);
    raw->things[raw->thing_count++] = thing;
    return LAP_OK;
}

/* ---- the other lines ---- */

static enum lap_status take_head(struct parser *parser, const cJSON *head)
{
    struct profile_raw *raw = parser->raw;
    enum lap_status status;

    if (parser->has_head)
        return lap_fail(LAP_ERROR_FORMAT, "there is one before");
    parser->has_head = true;
    raw->tiler = cJSON_IsTrue(member(head, "tiler"));
    if ((status = get_text(parser, head, "gpu", true, &raw->gpu)) == LAP_OK &&
        (status = get_text(parser, head, "driver", true, &raw->driver)) == LAP_OK &&
        (status = get_text(parser, head, "device_type", true, &raw->device_type)) == LAP_OK &&
        (status = get_frame(head, "first_frame", &raw->first_frame)) == LAP_OK &&
        (status = get_frame(head, "last_frame", &raw->last_frame)) == LAP_OK && raw->last_frame < raw->first_frame)
        status = bad("last_frame");
    raw->gpu = raw->gpu ? raw->gpu : "a GPU";
    raw->device_type = raw->device_type ? raw->device_type : "other";
    return status;
}

static enum lap_status get_calls(const struct parser *parser, const cJSON *object, struct profile_frame *frame)
{
    const cJSON *all = member(object, "calls"), *item;
    int count = cJSON_GetArraySize(all);
    enum lap_status status;

    if (!cJSON_IsArray(all) || count > MOST_CALLS)
        return bad("calls");
    if (!(frame->calls = array_of(parser, (size_t)count, sizeof *frame->calls)))
        return lap_no_memory(NULL);
    cJSON_ArrayForEach(item, all)
    {
        struct profile_calls *calls = &frame->calls[frame->call_count++];
        if ((status = get_text(parser, item, "command", false, &calls->command)) != LAP_OK ||
            (status = get_number(item, "calls", MOST_NUMBER, &calls->calls)) != LAP_OK ||
            (status = get_number(item, "ns", MOST_NUMBER, &calls->ms)) != LAP_OK)
            return status;
        calls->ms /= 1e6;
    }
    return LAP_OK;
}

static enum lap_status take_frame(struct parser *parser, const cJSON *object)
{
    struct profile_raw *raw = parser->raw;
    struct profile_frame frame = {.number = 0};
    enum lap_status status = get_frame(object, "frame", &frame.number);

    if (status == LAP_OK && raw->frame_count && frame.number <= raw->frames[raw->frame_count - 1].number)
        status = bad("frame");
    if (status == LAP_OK && (status = get_number(object, "cpu_ns", MOST_NUMBER, &frame.cpu_ms)) == LAP_OK)
        status = get_calls(parser, object, &frame);
    if (status != LAP_OK)
        return status;
    frame.cpu_ms /= 1e6;
    if (!lap_array_grow(&raw->frames, sizeof *raw->frames, &raw->frame_capacity, raw->frame_count + 1))
        return lap_no_memory(NULL);
    raw->frames[raw->frame_count++] = frame;
    return LAP_OK;
}

static enum lap_status take_end(struct parser *parser, const cJSON *end)
{
    struct profile_raw *raw = parser->raw;
    const cJSON *all = member(end, "left_out"), *item;
    int count = cJSON_GetArraySize(all);
    enum lap_status status = get_number(end, "backwards", MOST_NUMBER, &raw->backwards);

    parser->has_end = true;
    if (status == LAP_OK && member(end, "missing"))
        status = get_number(end, "missing", MOST_NUMBER, &raw->missing);
    if (status != LAP_OK)
        return status;
    if (!cJSON_IsArray(all) || count > MOST_LEFT_OUT)
        return bad("left_out");
    if (!(raw->left_out = array_of(parser, (size_t)count, sizeof *raw->left_out)))
        return lap_no_memory(NULL);
    cJSON_ArrayForEach(item, all)
    {
        if (!cJSON_IsString(item))
            return bad("left_out");
        if (!(raw->left_out[raw->left_out_count++] = profile_text(parser->arena, item->valuestring)))
            return lap_no_memory(NULL);
    }
    return LAP_OK;
}

static enum lap_status take_line(struct parser *parser, const char *line)
{
    cJSON *object = cJSON_Parse(line);
    const cJSON *head = member(object, "profile"), *end = member(object, "end");
    enum lap_status status;

    if (!cJSON_IsObject(object))
        status = lap_fail(LAP_ERROR_FORMAT, "it is no JSON object");
    else if (cJSON_IsObject(head))
        status = take_head(parser, head);
    else if (!parser->has_head || parser->has_end)
        status = lap_fail(LAP_ERROR_FORMAT, "it is in the wrong place");
    else if (member(object, "kind"))
        status = take_thing(parser, object);
    else if (member(object, "frame"))
        status = take_frame(parser, object);
    else
        status = cJSON_IsObject(end) ? take_end(parser, end) : lap_fail(LAP_ERROR_FORMAT, "it is not known");
    cJSON_Delete(object);
    return status;
}

/* Things are of frames that have a line. */
static enum lap_status check(const struct parser *parser)
{
    const struct profile_raw *raw = parser->raw;
    size_t frame = 0;

    if (!parser->has_end)
        return lap_fail(LAP_ERROR_FORMAT, "it has no last line");
    if (!raw->frame_count)
        return lap_fail(LAP_ERROR_FORMAT, "it has no frame");
    for (size_t i = 0; i < raw->thing_count; i++) {
        while (frame < raw->frame_count && raw->frames[frame].number < raw->things[i].frame)
            frame++;
        if (frame == raw->frame_count || raw->frames[frame].number != raw->things[i].frame)
            return lap_fail(LAP_ERROR_FORMAT, "%s is in no frame of it", raw->things[i].position);
    }
    return LAP_OK;
}

enum lap_status profile_raw_parse(struct profile_raw *raw, struct lap_arena *arena, char *text, size_t bytes)
{
    struct parser *parser = calloc(1, sizeof *parser);
    enum lap_status status = parser ? LAP_OK : lap_no_memory(NULL);
    size_t number = 0, begin = 0;

    *raw = (struct profile_raw){.gpu = NULL};
    if (parser) {
        parser->raw = raw;
        parser->arena = arena;
    }
    for (size_t i = 0; status == LAP_OK && i < bytes; i++) {
        if (text[i] != '\n')
            continue;
        text[i] = 0;
        number++;
        status = memchr(text + begin, 0, i - begin) ? lap_fail(LAP_ERROR_FORMAT, "it has a zero byte")
                                                    : take_line(parser, text + begin);
        begin = i + 1;
    }
    if (status == LAP_ERROR_FORMAT)
        status = lap_fail_context(status, "line %zu", number);
    if (status == LAP_OK && begin != bytes)
        status = lap_fail(LAP_ERROR_FORMAT, "its last line has no end");
    if (status == LAP_OK)
        status = check(parser);
    free(parser);
    return status;
}

void profile_raw_finish(struct profile_raw *raw)
{
    free(raw->things);
    free(raw->frames);
    raw->things = NULL;
    raw->frames = NULL;
}
