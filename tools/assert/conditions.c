/* SPDX-License-Identifier: MIT */
#include "tools/assert/conditions.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inspector/position/position.h"
#include "tools/common/arguments.h"

#define MOST_ARGUMENTS 4u

struct cursor {
    const char *line, *at;
    struct lap_arena *arena;
};

struct argument {
    const char *from; /* in the line */
    const char *text;
};

/* WHAT: name(arguments).path */
struct subject {
    const char *from, *name, *path; /* path: NULL, or without the point */
    struct argument arguments[MOST_ARGUMENTS];
    unsigned count;
};

static const struct {
    const char *name, *info, *frames; /* members of `lapilli info` and `lapilli tree`; NULL: not there */
} counts[] = {
    {"frames", "frames", NULL},        {"draws", "draws", "draws"},          {"dispatches", "dispatches", "dispatches"},
    {"submits", "submits", "submits"}, {"commands", "commands", "commands"}, {"passes", NULL, "passes"},
    {"traces", NULL, "traces"},        {"transfers", NULL, "transfers"},     {"calls", "calls", NULL},
    {"packets", "packets", NULL},      {"objects", "objects.made", NULL},    {"bytes", "bytes.file", NULL},
    {"threads", "threads", NULL}};
static const char *const times[] = {"gpu_ms", "wall_ms", "cpu_ms", "process_cpu_ms"};
static const char *const statistics[] = {"mean", "p50", "p90", "p99", "max"};
static const char *const of_replays[] = {"messages", "errors", "warnings", "different"};
static const char *const comparisons[] = {"==", "!=", "<", "<=", ">", ">="}; /* [enum condition_comparison] */

#define COUNT(a) (sizeof(a) / sizeof *(a))

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static enum lap_status fail_at(const struct cursor *cursor, const char *at, const char *what)
{
    return lap_fail(LAP_ERROR_ARGUMENT, "column %zu: %s", (size_t)(at - cursor->line) + 1, what);
}

static void skip_spaces(struct cursor *cursor)
{
    while (isspace((unsigned char)*cursor->at))
        cursor->at++;
}

/* NULL: out of memory. Without spaces at its end. */
static const char *copy(struct lap_arena *arena, const char *from, const char *end)
{
    char *text;

    while (end > from && isspace((unsigned char)end[-1]))
        end--;
    text = lap_arena_alloc(arena, (size_t)(end - from) + 1, 1);
    if (text) {
        memcpy(text, from, (size_t)(end - from));
        text[end - from] = 0;
    }
    return text;
}

static enum lap_status take(struct cursor *cursor, const char *end, const char **out)
{
    *out = copy(cursor->arena, cursor->at, end);
    cursor->at = end;
    return *out ? LAP_OK : lap_no_memory("conditions");
}

/* ---- what ---- */

/* Behind the parenthesis. */
static enum lap_status take_arguments(struct cursor *cursor, struct subject *subject)
{
    enum lap_status status = LAP_OK;

    do {
        if (subject->count == MOST_ARGUMENTS)
            return fail_at(cursor, cursor->at, "these are too many arguments");
        skip_spaces(cursor);
        subject->arguments[subject->count].from = cursor->at;
        status = take(cursor, cursor->at + strcspn(cursor->at, ",)"), &subject->arguments[subject->count++].text);
        if (status == LAP_OK && !*cursor->at)
            return fail_at(cursor, cursor->at, "')' is missing");
    } while (status == LAP_OK && *cursor->at++ == ',');
    return status;
}

static enum lap_status take_subject(struct cursor *cursor, struct subject *subject)
{
    enum lap_status status;

    subject->from = cursor->at;
    status = take(cursor, cursor->at + strspn(cursor->at, "abcdefghijklmnopqrstuvwxyz_"), &subject->name);
    if (status == LAP_OK && *cursor->at == '(') {
        cursor->at++;
        status = take_arguments(cursor, subject);
    }
    if (status == LAP_OK && *cursor->at == '.') {
        cursor->at++;
        status = take(cursor, cursor->at + strcspn(cursor->at, " \t\r\n=!<>"), &subject->path);
        if (status == LAP_OK && !*subject->path)
            return fail_at(cursor, cursor->at, "the name of a member is missing");
    }
    return status;
}

static enum lap_status take_frames(const struct cursor *cursor, const struct subject *subject,
                                   struct condition *condition)
{
    const struct lap_argument row = {.name = "frames", .out = condition->frames};

    condition->frames[1] = UINT64_MAX;
    if (!subject->count)
        return LAP_OK;
    if (subject->count > 1 || lap_take_range(&row, subject->arguments[0].text) != LAP_OK)
        return fail_at(cursor, subject->arguments[0].from, "one frame or one range of frames is wanted, like 50-59");
    return LAP_OK;
}

static bool take_u32(const char *text, uint32_t *out)
{
    uint64_t number = 0;
    const struct lap_argument row = {.name = "", .out = &number, .most = UINT32_MAX};

    if (lap_take_number(&row, text) != LAP_OK)
        return false;
    *out = (uint32_t)number;
    return true;
}

/* A frame; or a command and a target. coordinates: X and Y are behind it. */
static enum lap_status take_picture(const struct cursor *cursor, const struct subject *subject, bool of_position,
                                    bool coordinates, struct condition *condition)
{
    const struct argument *arguments = subject->arguments, *end = arguments + subject->count;
    struct position position;

    if (subject->count != 1u + of_position + 2 * coordinates)
        return fail_at(cursor, subject->from,
                       !coordinates  ? "it is image(FRAME) or image(POSITION, TARGET)"
                       : of_position ? "it is texel(POSITION, TARGET, X,Y)"
                                     : "it is pixel(FRAME, X,Y)");
    if (coordinates && (!take_u32(end[-2].text, &condition->x) || !take_u32(end[-1].text, &condition->y)))
        return fail_at(cursor, end[-2].from, "X and Y are numbers");
    if (!of_position) {
        uint32_t frame = 0;
        if (!take_u32(arguments->text, &frame) || !frame)
            return fail_at(cursor, arguments->from, "a frame is a number, from 1");
        condition->frames[0] = condition->frames[1] = frame;
        return LAP_OK;
    }
    if (position_parse(arguments->text, &position) != LAP_OK || !position_is_command(&position))
        return fail_at(cursor, arguments->from, "the position of a command is wanted, like 3.1.1.6");
    if (!arguments[1].text[0] ||
        strspn(arguments[1].text, "abcdefghijklmnopqrstuvwxyz0123456789") != strlen(arguments[1].text))
        return fail_at(cursor, arguments[1].from, "a target is wanted, like color0 or depth");
    condition->position = arguments[0].text;
    condition->target = arguments[1].text;
    return LAP_OK;
}

static enum lap_status take_state(const struct cursor *cursor, const struct subject *subject,
                                  struct condition *condition)
{
    struct position position;
    char reason[256];

    condition->kind = CONDITION_STATE;
    condition->may_be_text = true;
    if (subject->count < 1 || subject->count > 2 || !subject->path)
        return fail_at(cursor, subject->from, "it is state(POSITION).MEMBER or state(POSITION, OBJECT).MEMBER");
    if (position_parse(subject->arguments[0].text, &position) != LAP_OK) {
        snprintf(reason, sizeof reason, "%s", lap_error_message());
        return fail_at(cursor, subject->arguments[0].from, reason);
    }
    condition->position = subject->arguments[0].text;
    if (subject->count == 2) {
        condition->object = subject->arguments[1].text;
        if (strncmp(condition->object, "Vk", 2) != 0)
            return fail_at(cursor, subject->arguments[1].from, "an object is wanted, like VkImage:2");
    }
    condition->member = subject->path;
    return LAP_OK;
}

static enum lap_status take_time(const struct cursor *cursor, const struct subject *subject,
                                 struct condition *condition)
{
    const char *statistic = subject->path ? subject->path : "p50";
    size_t bytes = strlen(subject->name) + strlen(statistic) + 2;
    char *member = lap_arena_alloc(cursor->arena, bytes, 1);

    condition->kind = CONDITION_TIME;
    condition->member = member;
    if (!member)
        return lap_no_memory("conditions");
    snprintf(member, bytes, "%s.%s", subject->name, statistic);
    if (!is_one_of(statistic, statistics, COUNT(statistics)))
        return fail_at(cursor, subject->from, "of times there are .mean, .p50, .p90, .p99 and .max");
    return take_frames(cursor, subject, condition);
}

static enum lap_status take_count(const struct cursor *cursor, const struct subject *subject,
                                  struct condition *condition)
{
    for (size_t i = 0; i < COUNT(counts); i++) {
        if (strcmp(counts[i].name, subject->name) != 0)
            continue;
        if (subject->path)
            return fail_at(cursor, subject->from, "a count has no members");
        if (subject->count && !counts[i].frames)
            return fail_at(cursor, subject->from, "this is counted in the whole trace alone");
        condition->kind = counts[i].info && !subject->count ? CONDITION_INFO : CONDITION_FRAMES;
        condition->member = condition->kind == CONDITION_INFO ? counts[i].info : counts[i].frames;
        return take_frames(cursor, subject, condition);
    }
    return fail_at(cursor, subject->from,
                   *subject->name ? "this is nothing that can be compared" : "the name of something is wanted");
}

static enum lap_status take_what(struct cursor *cursor, struct condition *condition)
{
    struct subject subject = {.path = NULL};
    enum lap_status status = take_subject(cursor, &subject);
    const char *name = subject.name;

    if (status != LAP_OK)
        return status;
    if (strcmp(name, "state") == 0)
        return take_state(cursor, &subject, condition);
    if (is_one_of(name, times, COUNT(times)))
        return take_time(cursor, &subject, condition);
    if (strcmp(name, "info") == 0 && subject.path && !subject.count) {
        condition->kind = CONDITION_INFO;
        condition->may_be_text = true;
        condition->member = subject.path;
        return LAP_OK;
    }
    if (strcmp(name, "pixel") == 0 || strcmp(name, "texel") == 0 || strcmp(name, "image") == 0) {
        condition->kind = *name == 'i' ? CONDITION_IMAGE : CONDITION_PIXEL;
        if (subject.path)
            return fail_at(cursor, subject.from, "a picture has no members");
        return take_picture(cursor, &subject, *name == 't' || (*name == 'i' && subject.count > 1), *name != 'i',
                            condition);
    }
    if (is_one_of(name, of_replays, COUNT(of_replays)) && !subject.path && !subject.count) {
        condition->kind = CONDITION_REPLAY;
        condition->member = name;
        return LAP_OK;
    }
    return take_count(cursor, &subject, condition);
}

/* ---- comparison, value, tolerance ---- */

static enum lap_status take_comparison(struct cursor *cursor, struct condition *condition)
{
    size_t length = strspn(cursor->at, "=!<>");

    for (size_t i = 0; length && i < COUNT(comparisons); i++)
        if (strlen(comparisons[i]) == length && strncmp(comparisons[i], cursor->at, length) == 0) {
            condition->comparison = (enum condition_comparison)i;
            cursor->at += length;
            skip_spaces(cursor);
            return LAP_OK;
        }
    return fail_at(cursor, cursor->at, "one of == != < <= > >= is wanted");
}

/* A finite number, in decimal. */
static bool take_double(struct cursor *cursor, double *out)
{
    char *end;

    if (!isdigit((unsigned char)*cursor->at) && *cursor->at != '-' && *cursor->at != '.')
        return false;
    errno = 0;
    *out = strtod(cursor->at, &end);
    if (end == cursor->at || errno || !(*out - *out == 0))
        return false;
    cursor->at = end;
    return true;
}

static bool is_end(const char *at)
{
    return !*at || isspace((unsigned char)*at);
}

static enum lap_status take_colour(struct cursor *cursor, struct condition *condition)
{
    for (unsigned i = 0; i < 3; i++) {
        const char *from;
        double *number = &condition->numbers[i];
        skip_spaces(cursor);
        from = cursor->at;
        if (!take_double(cursor, number) || *number < 0 || *number > 255)
            return fail_at(cursor, from, "a colour is three numbers from 0 to 255: R,G,B");
        skip_spaces(cursor);
        if (i < 2 && *cursor->at++ != ',')
            return fail_at(cursor, cursor->at - 1, "a colour is three numbers from 0 to 255: R,G,B");
    }
    return LAP_OK;
}

/* To a space, or in quotes. */
static enum lap_status take_word(struct cursor *cursor, struct condition *condition)
{
    const char *from = cursor->at;
    enum lap_status status;

    if (*from != '"') {
        while (!is_end(cursor->at))
            cursor->at++;
        condition->word = copy(cursor->arena, from, cursor->at);
        return !condition->word                   ? lap_no_memory("conditions")
               : *condition->word && *from != '#' ? LAP_OK
                                                  : fail_at(cursor, from, "a value is missing");
    }
    cursor->at++;
    status = take(cursor, cursor->at + strcspn(cursor->at, "\""), &condition->word);
    return status != LAP_OK ? status : *cursor->at++ == '"' ? LAP_OK : fail_at(cursor, from, "a quote is not closed");
}

static enum lap_status take_value(struct cursor *cursor, struct condition *condition)
{
    const char *from = cursor->at;
    bool plain = condition->comparison == CONDITION_EQUAL || condition->comparison == CONDITION_NOT_EQUAL;

    if (condition->kind == CONDITION_PIXEL || condition->kind == CONDITION_IMAGE) {
        if (!plain)
            return fail_at(cursor, from, "pictures are compared by == and != alone");
        return condition->kind == CONDITION_PIXEL ? take_colour(cursor, condition) : take_word(cursor, condition);
    }
    condition->is_number = take_double(cursor, &condition->numbers[0]) && is_end(cursor->at);
    if (condition->is_number)
        return LAP_OK;
    cursor->at = from;
    if (!condition->may_be_text || !plain)
        return fail_at(cursor, from, "a number is wanted");
    return take_word(cursor, condition);
}

static enum lap_status take_tolerance(struct cursor *cursor, struct condition *condition)
{
    const char *from = cursor->at;
    double number = 0;

    if (strncmp(from, "+-", 2) != 0)
        return LAP_OK;
    if (condition->kind != CONDITION_PIXEL && condition->kind != CONDITION_IMAGE && !condition->is_number)
        return fail_at(cursor, from, "a tolerance is for numbers and pictures");
    for (bool more = true, first = true; more; first = false) {
        cursor->at += first ? 2 : 1;
        skip_spaces(cursor);
        from = cursor->at;
        if (!take_double(cursor, &number) || number < 0)
            return fail_at(cursor, from, "a tolerance is a number, from 0");
        if (*cursor->at == '%' && condition->kind == CONDITION_IMAGE) {
            cursor->at++;
            condition->most_beyond = number;
            break;
        }
        if (!first)
            return fail_at(cursor, cursor->at, "'%' is wanted: how many texels may be further away");
        condition->tolerance = number;
        more = *cursor->at == ',' && condition->kind == CONDITION_IMAGE;
    }
    return LAP_OK;
}

static enum lap_status parse(struct cursor *cursor, struct condition *condition)
{
    const char *from = cursor->at;
    enum lap_status status = take_what(cursor, condition);

    skip_spaces(cursor);
    if (status == LAP_OK)
        status = take_comparison(cursor, condition);
    if (status == LAP_OK)
        status = take_value(cursor, condition);
    skip_spaces(cursor);
    if (status == LAP_OK)
        status = take_tolerance(cursor, condition);
    if (status != LAP_OK)
        return status;
    condition->text = copy(cursor->arena, from, cursor->at);
    skip_spaces(cursor);
    if (*cursor->at && *cursor->at != '#')
        return fail_at(cursor, cursor->at, "the condition ends before this");
    return condition->text ? LAP_OK : lap_no_memory("conditions");
}

enum lap_status conditions_add(struct conditions *conditions, const char *line, unsigned number)
{
    struct cursor cursor = {.line = line, .at = line, .arena = &conditions->arena};
    struct condition condition = {.line = number};
    enum lap_status status;

    skip_spaces(&cursor);
    if (!*cursor.at || *cursor.at == '#')
        return LAP_OK;
    status = parse(&cursor, &condition);
    if (status != LAP_OK)
        return status;
    if (!lap_array_grow(&conditions->items, sizeof condition, &conditions->capacity, conditions->count + 1))
        return lap_no_memory("conditions");
    conditions->items[conditions->count++] = condition;
    return LAP_OK;
}

void conditions_finish(struct conditions *conditions)
{
    free(conditions->items);
    lap_arena_finish(&conditions->arena);
    *conditions = (struct conditions){.count = 0};
}
