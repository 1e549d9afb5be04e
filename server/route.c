/* SPDX-License-Identifier: MIT */
#include "server/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit_code.h"
#include "server/codes.h"

#define DIGITS     "0123456789"
#define LETTERS    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define VALUE_MOST 2048u
#define HASH_LEAST 8u /* digits of a shader */
#define HASH_MOST  16u

const struct lap_route *lap_route_named(const char *name)
{
    for (size_t i = 0; i < lap_route_count; i++)
        if (strcmp(lap_routes[i].name, name) == 0)
            return &lap_routes[i];
    return NULL;
}

const struct lap_parameter *lap_route_parameter(const struct lap_route *route, size_t at)
{
    static const struct lap_parameter gpu = {
        .name = "gpu",
        .form = LAP_FORM_GPU,
        .option = "--gpu",
        .about = "the GPU that plays: its number, a part of its name, or its UUID"};
    const struct lap_parameter *own = route->parameters;

    if (at < LAP_ROUTE_VALUES && own[at].name)
        return &own[at];
    return route->kind != LAP_ROUTE_READS && at < LAP_ROUTE_VALUES && (!at || own[at - 1].name) ? &gpu : NULL;
}

const char *lap_route_type_name(enum lap_route_type type)
{
    static const char *const names[] = {[LAP_TYPE_JSON] = "application/json",
                                        [LAP_TYPE_LINES] = "application/x-ndjson",
                                        [LAP_TYPE_PNG] = "image/png",
                                        [LAP_TYPE_BYTES] = "application/octet-stream"};
    return names[type];
}

bool lap_route_has_progress(const struct lap_route *route)
{
    return route->kind != LAP_ROUTE_READS && (route->files || route->request[0] || route->has_progress);
}

bool lap_route_answers(const struct lap_route *route, int code)
{
    return code == LAP_TOOL_OK || code == LAP_TOOL_INCOMPLETE || (code > 0 && code < 32 && route->answers >> code & 1u);
}

/* ---- values ---- */

static bool consists_of(const char *value, const char *characters)
{
    return *value && !value[strspn(value, characters)];
}

/* Without control characters, and in UTF-8 as far as the verbs care: they print it again as valid JSON. */
static bool is_text(const char *value)
{
    size_t length = strlen(value);

    for (size_t i = 0; i < length; i++)
        if ((unsigned char)value[i] < 0x20 || value[i] == 0x7f)
            return false;
    return length > 0 && length < LAP_ROUTE_TEXT_BYTES;
}

static bool is_object(const char *value)
{
    const char *colon = strchr(value, ':');

    return colon && colon > value && strspn(value, LETTERS DIGITS) == (size_t)(colon - value) &&
           consists_of(colon + 1, DIGITS) && strlen(value) < 80;
}

/* Whether it is so many numbers with commas between them, or fewer; `least` of them. */
static bool are_numbers(const char *value, unsigned least, unsigned most)
{
    for (unsigned count = 1;; count++) {
        size_t digits = strspn(value, DIGITS);
        if (!digits || digits > 20 || count > most)
            return false;
        if (!value[digits])
            return count >= least;
        if (value[digits] != ',')
            return false;
        value += digits + 1;
    }
}

static bool is_level(const char *value)
{
    char object[80];
    size_t length = strcspn(value, ",");

    if (length >= sizeof object)
        return false;
    memcpy(object, value, length);
    object[length] = 0;
    return is_object(object) && (!value[length] || are_numbers(value + length + 1, 1, 2));
}

static bool is_code(const char *value)
{
    size_t digits = strspn(value, DIGITS "abcdefABCDEF");

    return digits >= HASH_LEAST && digits <= HASH_MOST && value[digits] == '=' && lap_code_is_name(value + digits + 1);
}

static bool has_form(enum lap_form form, const char *value)
{
    if (strlen(value) > VALUE_MOST)
        return false;
    switch (form) {
    case LAP_FORM_POSITION:
        return consists_of(value + (*value == '#'), DIGITS ".") && strlen(value) < 400;
    case LAP_FORM_OBJECT:
        return is_object(value);
    case LAP_FORM_NUMBER:
        return consists_of(value, DIGITS) && strlen(value) <= 20;
    case LAP_FORM_NUMBERS:
        return consists_of(value, DIGITS ",-");
    case LAP_FORM_PLACES:
        return consists_of(value, DIGITS ".,#");
    case LAP_FORM_VALUES:
        return consists_of(value, DIGITS ".,+-e");
    case LAP_FORM_NAME:
        return *value != '-' && consists_of(value, LETTERS DIGITS "_,-");
    case LAP_FORM_FILE:
        return *value != '-' && *value != '.' && consists_of(value, LETTERS DIGITS "_.-");
    case LAP_FORM_TEXT:
        return is_text(value);
    case LAP_FORM_GPU:
        return *value != '-' && is_text(value);
    case LAP_FORM_TEXEL:
        return are_numbers(value, 2, 2);
    case LAP_FORM_LEVEL:
        return is_level(value);
    case LAP_FORM_CODE:
        return is_code(value);
    case LAP_FORM_FLAG:
        return strcmp(value, "1") == 0;
    }
    return false;
}

/* LAP_ROUTE_VALUES: it has none of this name, of `bytes`. */
static size_t parameter_named(const struct lap_route *route, const char *name, size_t bytes)
{
    const struct lap_parameter *parameter;

    for (size_t i = 0; (parameter = lap_route_parameter(route, i)); i++)
        if (strlen(parameter->name) == bytes && memcmp(parameter->name, name, bytes) == 0)
            return i;
    return LAP_ROUTE_VALUES;
}

/* ---- paths ---- */

/* Where a value ends that the rest of the pattern follows: at the suffix, or at the first place of what stands before
 * the next value. NULL: it has no such end. */
static char *end_of_value(const char *rest, char *path)
{
    size_t literal = strcspn(rest, "{"), length = strlen(path);
    char *end = path + length;

    if (rest[literal])
        return strchr(path, *rest);
    return literal <= length ? end - literal : NULL;
}

/* Whether `path` has the pattern. If so, ends the values in it and takes them into the question. any: values may have
 * another form than theirs. */
static bool match(const char *pattern, char *path, bool any, struct lap_question *question)
{
    while (*pattern && *pattern != '{')
        if (*pattern++ != *path++)
            return false;
    if (!*pattern)
        return !*path;

    const char *rest = strchr(pattern, '}') + 1;
    size_t at = parameter_named(question->route, pattern + 1, (size_t)(rest - pattern - 2));
    char *end = end_of_value(rest, path), ending;
    bool fits;

    if (!end)
        return false;
    ending = *end;
    *end = 0;
    fits = any ? *path && !strchr(path, '/') : has_form(lap_route_parameter(question->route, at)->form, path);
    *end = ending;
    if (!fits || !match(rest, end, any, question))
        return false;
    *end = 0;
    question->values[at] = path;
    return true;
}

bool lap_route_decode(char *text)
{
    char *out = text;

    for (; *text; text++) {
        unsigned value = (unsigned char)*text;
        if (*text == '%') {
            char digits[3] = {text[1], text[1] ? text[2] : 0, 0};
            char *end;
            value = (unsigned)strtoul(digits, &end, 16);
            if (end != digits + 2 || digits[0] == '+' || digits[0] == '-' || digits[0] == ' ')
                return false;
            text += 2;
        }
        if (value < 0x20 || value == 0x7f)
            return false;
        *out++ = (char)value;
    }
    *out = 0;
    return true;
}

bool lap_route_match(char *path, struct lap_question *out)
{
    for (size_t i = 0; i < 2 * lap_route_count; i++) {
        const struct lap_route *route = &lap_routes[i % lap_route_count];
        *out = (struct lap_question){.route = route};
        if (match(route->pattern, path, i >= lap_route_count, out))
            return true;
    }
    return false;
}

static bool is_in_path(const struct lap_route *route, const char *name)
{
    char braced[64];

    snprintf(braced, sizeof braced, "{%s}", name);
    return strstr(route->pattern, braced) != NULL;
}

static enum lap_status check_form(const struct lap_parameter *parameter, const char *value)
{
    static const char *const forms[] = {[LAP_FORM_POSITION] = "a position, like 3.1.1.42 or #17",
                                        [LAP_FORM_OBJECT] = "an object, like VkImage:7",
                                        [LAP_FORM_NUMBER] = "a number",
                                        [LAP_FORM_NUMBERS] = "numbers, like 1,5-9",
                                        [LAP_FORM_PLACES] = "positions, like 3.1.1.42,3.1.1.43",
                                        [LAP_FORM_VALUES] = "numbers, like 0,1.5",
                                        [LAP_FORM_NAME] = "a name",
                                        [LAP_FORM_FILE] = "the name of a file",
                                        [LAP_FORM_TEXT] = "a text of up to 256 bytes",
                                        [LAP_FORM_TEXEL] = "a texel, like 400,300",
                                        [LAP_FORM_LEVEL] = "an image, like VkImage:7, or VkImage:7,LEVEL,LAYER",
                                        [LAP_FORM_CODE] = "HASH=NAME: a shader, and a name from POST /v1/code",
                                        [LAP_FORM_GPU] = "a GPU: a number, a part of a name, or a UUID",
                                        [LAP_FORM_FLAG] = "1"};

    if (has_form(parameter->form, value))
        return LAP_OK;
    return lap_fail(LAP_ERROR_ARGUMENT, "'%s' wants %s", parameter->name, forms[parameter->form]);
}

static const char *names_of(const struct lap_route *route, char out[512])
{
    const struct lap_parameter *parameter;
    size_t length = 0;

    *out = 0;
    for (size_t i = 0; (parameter = lap_route_parameter(route, i)) && length < 400; i++)
        length += (size_t)snprintf(out + length, 512 - length, "%s'%s'", i ? ", " : "; there are ", parameter->name);
    return out;
}

enum lap_status lap_question_set(struct lap_question *question, const char *name, const char *value)
{
    const struct lap_route *route = question->route;
    size_t at = parameter_named(route, name, strlen(name));
    char names[512];

    if (at == LAP_ROUTE_VALUES)
        return lap_fail(LAP_ERROR_ARGUMENT, "there is no parameter '%.40s'%s", name, names_of(route, names));
    if (question->values[at])
        return lap_fail(LAP_ERROR_ARGUMENT, "'%s' is there twice", lap_route_parameter(route, at)->name);
    question->values[at] = value;
    return check_form(lap_route_parameter(route, at), value);
}

enum lap_status lap_question_check(const struct lap_question *question)
{
    const struct lap_parameter *parameter;

    for (size_t i = 0; (parameter = lap_route_parameter(question->route, i)); i++) {
        if (parameter->needed && !question->values[i])
            return lap_fail(LAP_ERROR_ARGUMENT, "the parameter '%s' is missing: %s", parameter->name, parameter->about);
        if (question->values[i] && check_form(parameter, question->values[i]) != LAP_OK)
            return LAP_ERROR_ARGUMENT;
    }
    return LAP_OK;
}

/* Appends while there is place; *length counts on. */
static void put(char *out, size_t *length, char character)
{
    if (*length < LAP_ROUTE_URL_BYTES)
        out[*length] = character;
    ++*length;
}

static void put_encoded(char *out, size_t *length, const char *value)
{
    static const char digits[] = "0123456789ABCDEF";

    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;
        if (strchr(LETTERS DIGITS "-._~:,+", c)) {
            put(out, length, *value);
            continue;
        }
        put(out, length, '%');
        put(out, length, digits[c >> 4]);
        put(out, length, digits[c & 15]);
    }
}

enum lap_status lap_question_url(const struct lap_question *question, char out[LAP_ROUTE_URL_BYTES])
{
    const struct lap_route *route = question->route;
    const struct lap_parameter *parameter;
    const char *between = "?";
    size_t length = 0;

    for (const char *c = route->pattern; *c; c++) {
        if (*c != '{') {
            put(out, &length, *c);
            continue;
        }
        const char *end = strchr(c, '}');
        size_t at = parameter_named(route, c + 1, (size_t)(end - c - 1));
        put_encoded(out, &length, question->values[at]);
        c = end;
    }
    for (size_t i = 0; (parameter = lap_route_parameter(route, i)); i++) {
        if (!question->values[i] || is_in_path(route, parameter->name))
            continue;
        put(out, &length, *between);
        between = "&";
        put_encoded(out, &length, parameter->name);
        put(out, &length, '=');
        put_encoded(out, &length, question->values[i]);
    }
    put(out, &length, 0);
    return length <= LAP_ROUTE_URL_BYTES ? LAP_OK : lap_fail(LAP_ERROR_ARGUMENT, "the path is too long");
}

/* ---- files ---- */

static void take_values(struct lap_question *to, const struct lap_question *from)
{
    const struct lap_parameter *parameter;

    for (size_t i = 0; (parameter = lap_route_parameter(from->route, i)); i++) {
        size_t at = parameter_named(to->route, parameter->name, strlen(parameter->name));
        if (at < LAP_ROUTE_VALUES && !to->values[at])
            to->values[at] = from->values[i];
    }
}

struct lap_question lap_question_maker(const struct lap_question *question)
{
    struct lap_question maker = {.route = question->route->made_by ? lap_route_named(question->route->made_by) : NULL};

    if (!maker.route)
        return *question;
    take_values(&maker, question);
    return maker;
}

bool lap_question_of_file(const struct lap_question *question, char *name, struct lap_question *out)
{
    const struct lap_parameter *parameter;

    if (!question->route->files)
        return false;
    *out = (struct lap_question){.route = lap_route_named(question->route->files)};
    if (!match(out->route->file, name, false, out))
        return false;
    /* The position in a file's name is as the program wrote it, not as it was asked for. */
    for (size_t i = 0; (parameter = lap_route_parameter(out->route, i)); i++)
        if (strcmp(parameter->name, "at") == 0)
            out->values[i] = NULL;
    take_values(out, question);
    return true;
}

/* The last number of a list like 1,5-9, where none in front of it is larger; else NULL. */
static const char *largest_at_end(const char *list)
{
    const char *last = list + strlen(list);

    while (last > list && last[-1] >= '0' && last[-1] <= '9')
        last--;
    for (const char *number = list; number < last; number += strcspn(number, ",-") + 1)
        if (strtoull(number, NULL, 10) > strtoull(last, NULL, 10))
            return NULL;
    return *last ? last : NULL;
}

/* All but the GPU. asked: as a replay that waits takes them. */
static size_t add_options(const struct lap_question *question, bool asked, const char *out[LAP_QUESTION_WORDS],
                          size_t count)
{
    const struct lap_parameter *parameter;

    for (size_t i = 0; (parameter = lap_route_parameter(question->route, i)); i++) {
        const char *option = asked && parameter->asked ? parameter->asked : parameter->option;
        if (!question->values[i] || !option || parameter->form == LAP_FORM_GPU)
            continue;
        if (*option)
            out[count++] = option;
        if (parameter->form != LAP_FORM_FLAG)
            out[count++] = question->values[i];
    }
    return count;
}

struct lap_playing lap_question_playing(const struct lap_question *question, const struct lap_playing *playing)
{
    size_t at = parameter_named(question->route, "gpu", strlen("gpu"));
    struct lap_playing own = *playing;

    if (at < LAP_ROUTE_VALUES && question->values[at])
        own.gpu = question->values[at];
    return own;
}

static size_t add_playing(const struct lap_playing *playing, const char *out[LAP_QUESTION_WORDS], size_t count)
{
    if (playing->gpu) {
        out[count++] = "--gpu";
        out[count++] = playing->gpu;
    }
    if (playing->wait_limit) {
        out[count++] = "--wait-limit";
        out[count++] = playing->wait_limit;
    }
    return count;
}

void lap_question_words(const struct lap_question *question, const char *program, const char *file,
                        const struct lap_playing *playing, const char *out[LAP_QUESTION_WORDS])
{
    const struct lap_playing own = lap_question_playing(question, playing);
    const struct lap_route *route = question->route;
    bool later = false;
    size_t count = 0;

    out[count++] = program;
    for (size_t i = 1; i < sizeof route->words / sizeof *route->words && route->words[i]; i++)
        out[count++] = route->words[i];
    if (route->kind != LAP_ROUTE_READS)
        count = add_playing(&own, out, count);
    if (lap_route_has_progress(route)) {
        out[count++] = "--progress";
        out[count++] = "3"; /* LAP_ROUTE_PROGRESS */
    }
    count = add_options(question, false, out, count);
    if (route->kind == LAP_ROUTE_FILM && largest_at_end(question->values[0])) {
        out[count++] = "--last-frame";
        out[count++] = largest_at_end(question->values[0]);
    }
    if (file) {
        out[count++] = "--";
        out[count++] = file;
    }
    for (size_t i = 0; i < LAP_ROUTE_VALUES && route->parameters[i].name; i++) {
        if (route->parameters[i].option)
            continue;
        later = false;
        for (size_t j = i; j < LAP_ROUTE_VALUES && route->parameters[j].name; j++)
            later |= question->values[j] && !route->parameters[j].option;
        if (later)
            out[count++] = question->values[i] ? question->values[i] : "0";
    }
    out[count] = NULL;
}

const char *lap_question_code(const struct lap_question *question)
{
    const struct lap_parameter *parameter;

    for (size_t i = 0; (parameter = lap_route_parameter(question->route, i)); i++)
        if (question->values[i] && parameter->form == LAP_FORM_CODE)
            return strchr(question->values[i], '=') + 1;
    return NULL;
}

/* ---- replays that wait ---- */

bool lap_question_frame(const struct lap_question *question, char out[LAP_QUESTION_FRAME_BYTES])
{
    const struct lap_route *route = question->route;
    const struct lap_parameter *parameter;
    const char *at = question->values[0];
    size_t length = at ? strspn(at, "0123456789") : 0;

    for (size_t i = 0; (parameter = lap_route_parameter(route, i)); i++)
        if (question->values[i] && parameter->whole)
            return false;
    if (!route->request[0] || !length || length >= LAP_QUESTION_FRAME_BYTES)
        return false;
    memcpy(out, at, length);
    out[length] = 0;
    return true;
}

void lap_question_wait_words(const char *frame, const char *program, const char *file,
                             const struct lap_playing *playing, const char *out[LAP_QUESTION_WORDS])
{
    const char *words[] = {program,      "--quiet", "--present", "headless", "--pictures", LAP_ROUTE_FILES,
                           "--progress", "3",       "--wait",    frame};
    size_t count = sizeof words / sizeof *words;

    memcpy(out, words, sizeof words);
    count = add_playing(playing, out, count);
    out[count++] = "--";
    out[count++] = file;
    out[count] = NULL;
}

void lap_question_request(const struct lap_question *question, const char *out[LAP_QUESTION_WORDS])
{
    const struct lap_route *route = question->route;
    size_t count = 0;

    for (size_t i = 0; i < sizeof route->request / sizeof *route->request && route->request[i]; i++)
        out[count++] = route->request[i];
    out[add_options(question, true, out, count)] = NULL;
}
