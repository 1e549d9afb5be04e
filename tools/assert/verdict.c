/* SPDX-License-Identifier: MIT */
#include "tools/assert/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file/png.h"
#include "base/utf8.h"

#define MOST_DEPTH 8u /* of a member that is named alone */

/* ---- what was found ---- */

static void say(char *out, size_t bytes, const char *format, ...) LAP_PRINTF(3, 4);
static void say(char *out, size_t bytes, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(out, bytes, format, list);
    va_end(list);
    (void)lap_utf8_clean(out, '?');
}
#define NOTE(verdict, ...)  say((verdict)->note, sizeof(verdict)->note, __VA_ARGS__)
#define FOUND(verdict, ...) say((verdict)->found, sizeof(verdict)->found, __VA_ARGS__)

static void decide(struct verdict *verdict, bool holds)
{
    verdict->kind = holds ? VERDICT_HOLDS : VERDICT_FAILS;
}

static bool compare(const struct condition *condition, double found)
{
    double away = found - condition->numbers[0], tolerance = condition->tolerance;

    switch (condition->comparison) {
    case CONDITION_EQUAL:
        return fabs(away) <= tolerance;
    case CONDITION_NOT_EQUAL:
        return fabs(away) > tolerance;
    case CONDITION_LESS:
        return away < tolerance;
    case CONDITION_AT_MOST:
        return away <= tolerance;
    case CONDITION_MORE:
        return away > -tolerance;
    case CONDITION_AT_LEAST:
        return away >= -tolerance;
    }
    return false;
}

static void judge_number(const struct condition *condition, double found, struct verdict *out)
{
    out->is_number = true;
    out->number = found;
    FOUND(out, "%.15g", found);
    decide(out, compare(condition, found));
}

static void note_reason(const struct judge *judge, const struct condition *condition, struct verdict *out)
{
    char reason[FACT_REASON_BYTES];

    (void)fact_is_whole(judge->facts, condition->fact, reason);
    NOTE(out, "%s", reason);
}

/* ---- members of JSON ---- */

/* How many members of this name are so deep in an object; *found is the first one. */
static unsigned count_members(const cJSON *object, const char *name, size_t length, unsigned depth, const cJSON **found)
{
    unsigned count = 0;
    const cJSON *item;

    cJSON_ArrayForEach(item, object)
    {
        if (depth > 1) {
            count += cJSON_IsObject(item) ? count_members(item, name, length, depth - 1, found) : 0;
        } else if (strlen(item->string) == length && strncmp(item->string, name, length) == 0) {
            *found = *found ? *found : item;
            count++;
        }
    }
    return count;
}

/* problem: in front of the names of all members. */
static void note_members(const cJSON *object, const char *problem, struct verdict *out)
{
    size_t at = (size_t)snprintf(out->note, sizeof out->note, "%s:", problem);
    const cJSON *item;

    cJSON_ArrayForEach(item, object) if (item->string && at < sizeof out->note) at +=
        (size_t)snprintf(out->note + at, sizeof out->note - at, " %s", item->string);
    (void)lap_utf8_clean(out->note, '?');
}

/* [N] behind a name, as often as it comes. NULL: there is no such item. */
static const cJSON *take_items(const cJSON *item, const char **path)
{
    while (item && **path == '[') {
        char *end;
        unsigned long number = strtoul(*path + 1, &end, 10);
        item = cJSON_IsArray(item) && *end == ']' && number <= INT_MAX ? cJSON_GetArrayItem(item, (int)number) : NULL;
        *path = end + (*end != 0);
    }
    return item;
}

/* A path like bound.graphics.sets[0].set. Its first name may be that of the nearest member further inside. NULL: there
 * is none; the note says so. */
static const cJSON *find_member(const cJSON *from, const char *path, struct verdict *out)
{
    const cJSON *at = from;

    for (unsigned most = MOST_DEPTH; *path; most = 1) {
        size_t length = strcspn(path, ".[");
        const cJSON *found = NULL, *in = at;
        unsigned count = 0;

        for (unsigned depth = 1; depth <= most && !count && cJSON_IsObject(in); depth++)
            count = count_members(in, path, length, depth, &found);
        if (count > 1) {
            NOTE(out, "there are %u members %.*s: name the path", count, (int)length, path);
            return NULL;
        }
        if (!found) {
            char problem[128];
            snprintf(problem, sizeof problem, "there is no member %.*s%s", length > 80 ? 80 : (int)length, path,
                     cJSON_IsObject(in) ? "; there are" : " in what is no object");
            note_members(in, problem, out);
            return NULL;
        }
        path += length;
        at = take_items(found, &path);
        if (!at || (*path && *path++ != '.')) {
            NOTE(out, "%s has no such item", found->string);
            return NULL;
        }
    }
    return at;
}

/* Integers beyond 2^53 are strings. */
static bool number_of(const cJSON *item, double *out)
{
    const char *text = cJSON_GetStringValue(item);
    char *end;

    *out = text ? strtod(text, &end) : cJSON_GetNumberValue(item);
    return text ? *text >= '0' && *text <= '9' && !*end : cJSON_IsNumber(item);
}

static void judge_member(const struct condition *condition, const cJSON *item, struct verdict *out)
{
    bool plain = condition->comparison <= CONDITION_NOT_EQUAL;
    double number;

    if (cJSON_IsObject(item) || cJSON_IsArray(item)) {
        if (cJSON_IsArray(item))
            NOTE(out, "this is an array of %d", cJSON_GetArraySize(item));
        else
            note_members(item, "this is an object with the members", out);
        return;
    }
    if (condition->is_number && number_of(item, &number)) {
        judge_number(condition, number, out);
        return;
    }
    if (cJSON_IsNumber(item))
        FOUND(out, "%.15g", item->valuedouble);
    else
        FOUND(out, "%s",
              cJSON_IsString(item)  ? item->valuestring
              : cJSON_IsTrue(item)  ? "true"
              : cJSON_IsFalse(item) ? "false"
                                    : "null");
    if (condition->is_number && !plain)
        NOTE(out, "this is no number");
    else
        decide(out, (!condition->is_number && strcmp(out->found, condition->word) == 0) ==
                        (condition->comparison == CONDITION_EQUAL));
}

static void judge_reading(struct judge *judge, const struct condition *condition, struct verdict *out)
{
    const cJSON *json = fact_json(judge->facts, condition->fact), *item;

    if (!json) {
        note_reason(judge, condition, out);
        return;
    }
    item = find_member(json, condition->member, out);
    if (item)
        judge_member(condition, item, out);
}

static void judge_frames(struct judge *judge, const struct condition *condition, struct verdict *out)
{
    const cJSON *json = fact_json(judge->facts, condition->fact), *node;
    double frames = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(json, "frames")), sum = 0;
    bool all = !condition->frames[0] && condition->frames[1] == UINT64_MAX;

    if (!json || !(frames >= 0)) {
        note_reason(judge, condition, out);
        return;
    }
    if (!all && ((double)condition->frames[0] > frames ||
                 (condition->frames[1] != UINT64_MAX && (double)condition->frames[1] > frames))) {
        NOTE(out, "the trace has %.15g frames", frames);
        return;
    }
    cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(json, "nodes"))
    {
        const char *position = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(node, "position"));
        const cJSON *count = cJSON_GetObjectItemCaseSensitive(node, condition->member);
        uint64_t frame = position ? strtoull(position, NULL, 10) : 0;
        if (cJSON_IsNumber(count) && frame >= condition->frames[0] && frame <= condition->frames[1] &&
            (all || (double)frame <= frames))
            sum += count->valuedouble;
    }
    judge_number(condition, sum, out);
}

/* ---- what a replay says ---- */

static void judge_replay(struct judge *judge, const struct condition *condition, struct verdict *out)
{
    static const char *const beginnings[] = {"lapilli-replay: error: frame ", "lapilli-replay: warning: frame "};
    bool verifies = strcmp(condition->member, "different") == 0;
    const char *line = fact_last_line(judge->facts, condition->fact, verifies ? "verify: " : "validate: "), *first;
    uint64_t checks, different, errors, warnings;

    if (line && verifies && sscanf(line, "%" SCNu64 " checks, %" SCNu64 " different", &checks, &different) == 2 &&
        checks) {
        judge_number(condition, (double)different, out);
        NOTE(out, "of %" PRIu64 " checks", checks);
        return;
    }
    if (!line || verifies || sscanf(line, "%" SCNu64 " errors, %" SCNu64 " warnings", &errors, &warnings) != 2) {
        note_reason(judge, condition, out);
        return;
    }
    judge_number(condition,
                 (double)((*condition->member != 'w' ? errors : 0) + (*condition->member != 'e' ? warnings : 0)), out);
    first = fact_first_error(judge->facts, condition->fact, beginnings[*condition->member == 'w' || !errors]);
    if (out->number > 0 && first)
        NOTE(out, "the first: frame %s", first);
}

static void judge_time(struct judge *judge, const struct condition *condition, struct verdict *out)
{
    const cJSON *frames = cJSON_GetObjectItemCaseSensitive(fact_json(judge->facts, condition->fact), "frames"), *item;
    double count = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(frames, "count"));
    uint64_t first = condition->frames[0] ? condition->frames[0] : 1;
    char reason[FACT_REASON_BYTES];

    if (!fact_is_whole(judge->facts, condition->fact, reason) || !(count >= 0))
        NOTE(out, "%s", reason);
    else if (count < 1 ||
             (condition->frames[1] != UINT64_MAX && count < (double)condition->frames[1] - (double)first + 1))
        NOTE(out, "%.15g of these frames were measured", count);
    else if (strncmp(condition->member, "gpu_ms", 6) == 0 && !cJSON_GetObjectItemCaseSensitive(frames, "gpu_ms"))
        NOTE(out, "the GPU has no timestamps");
    else if ((item = find_member(frames, condition->member, out)))
        judge_number(condition, item->valuedouble, out);
}

/* ---- pictures ---- */

/* False: there is none, and the note says why. */
static bool has_picture(struct judge *judge, const struct condition *condition, struct verdict *out)
{
    struct picture *picture = &judge->replayed;
    char path[PATH_MAX], reason[FACT_REASON_BYTES];
    enum lap_status status;

    fact_picture(judge->facts, condition, path);
    if (picture->rgba && strcmp(picture->path, path) == 0)
        return true;
    free(picture->rgba);
    status = lap_png_read(path, &picture->rgba, &picture->width, &picture->height);
    if (status != LAP_OK) {
        if (!fact_is_whole(judge->facts, condition->fact, reason))
            NOTE(out, "%s", reason);
        else if (status != LAP_ERROR_IO)
            NOTE(out, "%s", lap_error_message());
        else if (condition->position)
            NOTE(out, "there is no picture of a target %s behind this command", condition->target);
        else
            NOTE(out, "no image of frame %" PRIu64 " was presented", condition->frames[0]);
        return false;
    }
    memcpy(picture->path, path, sizeof path);
    return true;
}

static void judge_pixel(struct judge *judge, const struct condition *condition, struct verdict *out)
{
    const struct picture *picture = &judge->replayed;
    const uint8_t *texel;
    bool equal = true;

    if (!has_picture(judge, condition, out))
        return;
    if (condition->x >= picture->width || condition->y >= picture->height) {
        NOTE(out, "the picture has %u x %u texels", picture->width, picture->height);
        return;
    }
    texel = picture->rgba + 4 * ((size_t)condition->y * picture->width + condition->x);
    for (unsigned i = 0; i < 3; i++)
        equal &= fabs(texel[i] - condition->numbers[i]) <= condition->tolerance;
    FOUND(out, "%u,%u,%u", texel[0], texel[1], texel[2]);
    decide(out, equal == (condition->comparison == CONDITION_EQUAL));
}

static void compare_pictures(const struct condition *condition, const struct picture *a, const struct picture *b,
                             struct verdict *out)
{
    uint64_t beyond = 0, texels = (uint64_t)a->width * a->height, first = 0;
    int most = 0;

    if (a->width != b->width || a->height != b->height) {
        FOUND(out, "%u x %u texels instead of %u x %u", a->width, a->height, b->width, b->height);
        decide(out, condition->comparison == CONDITION_NOT_EQUAL);
        return;
    }
    for (uint64_t i = 0; i < texels; i++) {
        int away = 0;
        for (unsigned channel = 0; channel < 3; channel++) {
            int difference = abs(a->rgba[4 * i + channel] - b->rgba[4 * i + channel]);
            away = difference > away ? difference : away;
        }
        first = away > condition->tolerance && !beyond ? i : first;
        beyond += away > condition->tolerance;
        most = away > most ? away : most;
    }
    out->is_number = true;
    out->number = (double)beyond;
    FOUND(out, "%" PRIu64 " of %" PRIu64 " texels are further away", beyond, texels);
    if (beyond)
        NOTE(out, "by %d at most; the first is %" PRIu64 ",%" PRIu64, most, first % a->width, first / a->width);
    else if (most)
        NOTE(out, "%d is the largest difference", most);
    decide(out, ((double)beyond * 100 <= condition->most_beyond * (double)texels) ==
                    (condition->comparison == CONDITION_EQUAL));
}

static void judge_image(struct judge *judge, const struct condition *condition, struct verdict *out)
{
    struct picture golden = {.rgba = NULL};
    enum lap_status status;

    status = lap_png_read(condition->word, &golden.rgba, &golden.width, &golden.height);
    if (status != LAP_OK)
        NOTE(out, "%s", lap_error_message());
    else if (has_picture(judge, condition, out))
        compare_pictures(condition, &judge->replayed, &golden, out);
    free(golden.rgba);
}

bool judge_write(struct judge *judge, const struct conditions *conditions, const char *folder)
{
    const struct picture *picture = &judge->replayed;
    char path[PATH_MAX], name[NAME_MAX + 1];
    enum lap_status status = LAP_OK;
    struct verdict unused;
    int length;

    for (size_t i = 0; i < conditions->count && status == LAP_OK; i++) {
        const struct condition *condition = &conditions->items[i];
        if ((condition->kind != CONDITION_PIXEL && condition->kind != CONDITION_IMAGE) ||
            !has_picture(judge, condition, &unused))
            continue;
        fact_picture_name(condition, name, sizeof name);
        length = snprintf(path, sizeof path, "%s/%s", folder, name);
        status = length > 0 && (size_t)length < sizeof path
                     ? lap_png_write(path, LAP_PIXEL_RGBA8, picture->rgba, picture->width, picture->height)
                     : lap_fail(LAP_ERROR_IO, "%s: the name is too long", folder);
    }
    if (status != LAP_OK)
        fprintf(stderr, "%s: %s\n", judge->facts->options.program, lap_error_message());
    return status == LAP_OK;
}

void verdict_find(struct judge *judge, const struct condition *condition, struct verdict *out)
{
    static void (*const by_kind[])(struct judge *, const struct condition *, struct verdict *) = {
        [CONDITION_INFO] = judge_reading, [CONDITION_FRAMES] = judge_frames, [CONDITION_STATE] = judge_reading,
        [CONDITION_PIXEL] = judge_pixel,  [CONDITION_IMAGE] = judge_image,   [CONDITION_REPLAY] = judge_replay,
        [CONDITION_TIME] = judge_time,
    };

    *out = (struct verdict){.kind = VERDICT_UNKNOWN};
    by_kind[condition->kind](judge, condition, out);
}

void judge_finish(struct judge *judge)
{
    free(judge->replayed.rgba);
    *judge = (struct judge){.facts = NULL};
}
