/* SPDX-License-Identifier: MIT */
#include "tools/assistant.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "tools/show/json_page.h"

#define PICTURE_MOST (6u << 20)
#define NUMBER_BYTES 32u

bool lap_assistant_has(const struct lap_route *route)
{
    return route->type != LAP_TYPE_BYTES;
}

/* ---- results ---- */

static cJSON *new_result(bool is_error)
{
    cJSON *result = cJSON_CreateObject();

    (void)cJSON_AddArrayToObject(result, "content");
    (void)cJSON_AddBoolToObject(result, "isError", is_error);
    return result;
}

static void add_text(cJSON *result, const char *text)
{
    cJSON *one = cJSON_CreateObject();
    char *clean = lap_utf8(text, strlen(text));

    (void)cJSON_AddStringToObject(one, "type", "text");
    (void)cJSON_AddStringToObject(one, "text", clean ? clean : "");
    (void)cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(result, "content"), one);
    free(clean);
}

LAP_PRINTF(2, 3) static void add_sentence(cJSON *result, const char *format, ...)
{
    char sentence[2 * LAP_ANSWER_SENTENCE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    add_text(result, sentence);
}

cJSON *lap_assistant_text(const char *text, bool is_error)
{
    cJSON *result = new_result(is_error);

    add_text(result, text);
    return result;
}

static char *base64(const uint8_t *data, size_t bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc(bytes / 3 * 4 + 5), *out = text;

    for (size_t i = 0; text && i < bytes; i += 3) {
        size_t left = bytes - i;
        uint32_t word =
            (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) | (left > 2 ? data[i + 2] : 0);
        *out++ = digits[word >> 18];
        *out++ = digits[word >> 12 & 63];
        *out++ = left > 1 ? digits[word >> 6 & 63] : '=';
        *out++ = left > 2 ? digits[word & 63] : '=';
    }
    if (text)
        *out = 0;
    return text;
}

/* ---- a call ---- */

struct call {
    struct lap_service *service;
    struct lap_question question;
    struct lap_capture capture;
    uint64_t number, cursor; /* number: of the trace */
    size_t page;
    char texts[LAP_ROUTE_VALUES][NUMBER_BYTES];
    char file[300];
};

/* NULL: it has no such parameter. */
static const char **value_named(struct lap_question *question, const char *name)
{
    const struct lap_parameter *parameter;

    for (size_t i = 0; (parameter = lap_route_parameter(question->route, i)); i++)
        if (strcmp(parameter->name, name) == 0)
            return &question->values[i];
    return NULL;
}

static enum lap_status take_number(const char *name, const char *value, uint64_t *out)
{
    char *end;

    *out = strtoull(value, &end, 10);
    return *value >= '0' && *value <= '9' && !*end ? LAP_OK : lap_fail(LAP_ERROR_ARGUMENT, "'%s' wants a number", name);
}

static enum lap_status take_argument(struct call *call, const char *name, const char *value)
{
    if (strcmp(name, "capture") == 0)
        return take_number(name, value, &call->number);
    if (strcmp(name, "cursor") == 0)
        return take_number(name, value, &call->cursor);
    return lap_question_set(&call->question, name, value);
}

/* The values of a call as text; numbers and booleans, too. */
static enum lap_status take_arguments(struct call *call, const cJSON *arguments)
{
    enum lap_status status = LAP_OK;
    size_t count = 0;

    for (const cJSON *item = arguments ? arguments->child : NULL; item && status == LAP_OK; item = item->next) {
        const char *value = cJSON_IsString(item) ? item->valuestring : NULL;
        if (cJSON_IsNull(item) || cJSON_IsFalse(item))
            continue;
        if (count == LAP_ROUTE_VALUES)
            return lap_fail(LAP_ERROR_ARGUMENT, "there are too many arguments");
        if (cJSON_IsTrue(item))
            value = "1";
        else if (cJSON_IsNumber(item))
            snprintf(call->texts[count], NUMBER_BYTES, "%.15g", item->valuedouble), value = call->texts[count++];
        if (cJSON_IsNumber(item) && strpbrk(value, ".e")) /* 3.10 would become 3.1 */
            return lap_fail(LAP_ERROR_ARGUMENT, "'%.40s' has a number with a point: write it as text, in quotes",
                            item->string);
        if (!value)
            return lap_fail(LAP_ERROR_ARGUMENT, "'%.40s' is no text, number or boolean", item->string);
        status = take_argument(call, item->string, value);
    }
    return status;
}

/* Whether the assistant has gone. */
static bool is_gone(void *user)
{
    struct pollfd look = {.fd = STDOUT_FILENO};

    (void)user;
    return poll(&look, 1, 0) > 0 && look.revents;
}

static struct lap_answer *ask(const struct call *call, const struct lap_question *question)
{
    return lap_works_ask(call->service->works, &call->capture, question, is_gone, NULL);
}

/* ---- sentences ---- */

/* Options of the command line become parameters, and verbs become tools. */
static void add_said(cJSON *result, const struct lap_route *route, const char *sentence)
{
    static const char *const others[][2] = {{"lapilli image --after ", "framebuffer_picture, at "},
                                            {"lapilli image --after", "framebuffer_picture"},
                                            {"lapilli image FILE --at POSITION VkImage:N", "image_picture"},
                                            {"; --raw writes its bytes", ""},
                                            {"; -o writes it", ""}};
    char text[2 * LAP_ANSWER_SENTENCE];
    const struct lap_parameter *parameter;
    size_t length = 0;

    while (*sentence && length < sizeof text - 80) {
        const char *instead = NULL;
        size_t bytes = 0;
        for (size_t i = 0; i < sizeof others / sizeof *others && !bytes; i++)
            if (strncmp(sentence, others[i][0], strlen(others[i][0])) == 0)
                instead = others[i][1], bytes = strlen(others[i][0]);
        for (size_t i = 0; (parameter = lap_route_parameter(route, i)) && !bytes; i++) {
            const char *name = parameter->name;
            if (strncmp(sentence, "--", 2) == 0 && strncmp(sentence + 2, name, strlen(name)) == 0)
                instead = name, bytes = 2 + strlen(name);
        }
        if (bytes)
            length += (size_t)snprintf(text + length, sizeof text - length, bytes && *sentence == '-' ? "'%s'" : "%s",
                                       instead);
        else
            text[length++] = *sentence, bytes = 1;
        sentence += bytes;
    }
    text[length] = 0;
    add_text(result, text);
}

/* Drops the answer. */
static cJSON *failure(const struct call *call, struct lap_answer *answer)
{
    const struct lap_route *route = call->question.route;
    cJSON *result = new_result(true);

    if (answer->status == 410)
        add_sentence(result, "the file was replaced meanwhile; ask again");
    else if (answer->status == 404 && answer->exit < 0)
        add_sentence(result, "there is no such picture, or it is too large. Only frames that present something have "
                             "one; 'info' says how many frames there are");
    else
        add_said(result, route, answer->sentence);
    lap_answer_drop(answer);
    return result;
}

/* ---- text ---- */

static size_t lines_of(const char *text, size_t bytes)
{
    size_t lines = bytes > 0;

    for (const char *at = text; (at = memchr(at, '\n', bytes - (size_t)(at - text))); at++)
        lines++;
    return lines;
}

static void add_page(cJSON *result, const struct call *call, const char *text)
{
    size_t bytes = strlen(text), next = 0;
    char *page = lap_json_page(text, (size_t)call->cursor, call->page, &next);

    add_text(result, page ? page : "");
    free(page);
    if (next && call->question.route->type == LAP_TYPE_LINES)
        add_sentence(
            result,
            "%zu of %zu rows are told up to here. For the next ones call again with the same arguments and cursor=%zu",
            lines_of(text, next - 1), lines_of(text, bytes), next);
    else if (next)
        add_sentence(result,
                     "%zu %% of the answer are told up to here. For the next part call again with the same arguments "
                     "and cursor=%zu",
                     next * 100 / bytes, next);
}

/* The answer's text without what says nothing. NULL: out of memory, or it is no JSON. */
static char *compact(const struct lap_answer *answer, const char *const *without)
{
    char *text = lap_utf8((const char *)answer->body, answer->bytes);

    if (text && lap_json_compact(text, without))
        return text;
    free(text);
    return NULL;
}

static cJSON *text_result(const struct call *call, const struct lap_answer *answer)
{
    static const char *const files[] = {"file", "raw", NULL}; /* are not here */
    const struct lap_route *route = call->question.route;
    char *text = compact(answer, route->files ? files : NULL);
    bool none = text && (!*text || strcmp(text, "{}") == 0);
    cJSON *result = new_result(!text || call->cursor > strlen(text));

    if (!text)
        add_sentence(result, "the answer can't be read, or memory is out");
    else if (call->cursor > strlen(text))
        add_sentence(result, "'cursor' is behind the end of the answer, which has %zu bytes", strlen(text));
    else if (!none)
        add_page(result, call, text);
    else if (!*answer->sentence)
        add_sentence(result, "there is none");
    if (*answer->sentence && (answer->exit || route->kind == LAP_ROUTE_READS))
        add_said(result, route, answer->sentence);
    free(text);
    return result;
}

/* ---- pictures ---- */

static void cut_ending(char *file)
{
    size_t length = strlen(file);

    if (length > 4 && strcmp(file + length - 4, ".png") == 0)
        file[length - 4] = 0;
}

/* How a question asks for the picture of a row: by the name of the attachment, or of the file where a row is one of
 * many commands. */
static const char *name_of(const struct lap_route *route, const cJSON *line, char file[300])
{
    bool is_file = strcmp(route->file, "{file}") == 0;
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(line, is_file ? "file" : "name");
    const char *text = cJSON_IsString(name) ? name->valuestring : "", *slash = strrchr(text, '/');

    if (!is_file)
        return text;
    snprintf(file, 300, "%s", slash ? slash + 1 : text);
    cut_ending(file);
    return file;
}

/* The facts of a picture, of those that its program says. name: NULL: the first one, which is a color attachment where
 * there is one. all: gets the names. */
static cJSON *facts_of(const struct lap_route *route, const struct lap_answer *answer, const char *name, cJSON *all)
{
    const char *at = (const char *)answer->body, *end = NULL;
    cJSON *found = NULL, *line;
    char file[300];

    for (;
         (line = cJSON_ParseWithLengthOpts(at, answer->bytes - (size_t)(at - (const char *)answer->body), &end, false));
         at = end) {
        const char *text = name_of(route, line, file);
        if (*text)
            (void)cJSON_AddItemToArray(all, cJSON_CreateString(text));
        if (!found && (!name || strcmp(text, name) == 0))
            found = line;
        else
            cJSON_Delete(line);
    }
    return found;
}

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* What it shows, and how its values became brightness. facts: NULL: what the PNG itself says. */
static void add_facts(cJSON *result, const struct lap_answer *picture, const cJSON *facts, const cJSON *names)
{
    static const char *const shown[] = {"position",   "command", "name",  "image",  "aspect",  "level",
                                        "layer",      "slice",   "width", "height", "shown",   "changed",
                                        "computedAs", "range",   "nan",   "format", "infinite"};
    cJSON *object = cJSON_CreateObject();
    char *text;

    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const cJSON *fact = cJSON_GetObjectItemCaseSensitive(facts, shown[i]);
        if (fact)
            (void)cJSON_AddItemToObject(object, shown[i], cJSON_Duplicate(fact, true));
    }
    if (!facts && picture->bytes >= 24) {
        (void)cJSON_AddNumberToObject(object, "width", big_endian(picture->body + 16));
        (void)cJSON_AddNumberToObject(object, "height", big_endian(picture->body + 20));
    }
    if (cJSON_GetArraySize(names))
        (void)cJSON_AddItemToObject(object, "files", cJSON_Duplicate(names, true));
    text = cJSON_PrintUnformatted(object);
    if (text && lap_json_compact(text, NULL))
        add_text(result, text);
    cJSON_free(text);
    cJSON_Delete(object);
}

static cJSON *picture_result(const struct lap_answer *answer, const cJSON *facts, const cJSON *names)
{
    char *data = answer->bytes > PICTURE_MOST ? NULL : base64(answer->body, answer->bytes);
    cJSON *result = new_result(!data), *one;

    if (data) {
        one = cJSON_CreateObject();
        (void)cJSON_AddStringToObject(one, "type", "image");
        (void)cJSON_AddStringToObject(one, "data", data);
        (void)cJSON_AddStringToObject(one, "mimeType", "image/png");
        (void)cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(result, "content"), one);
    } else {
        add_sentence(result, "the picture is too large: more than 6 MiB as PNG");
    }
    add_facts(result, answer, facts, names);
    free(data);
    return result;
}

/* What is wanted, without ".png"; NULL: any. */
static const char *wanted_file(struct call *call, const char **file)
{
    if (!file || !*file)
        return NULL;
    snprintf(call->file, sizeof call->file, "%s", *file);
    cut_ending(call->file);
    return call->file;
}

static cJSON *no_such_file(const cJSON *names, const char *wanted)
{
    char *list = cJSON_PrintUnformatted(names);
    cJSON *result = new_result(true);

    add_sentence(result, "there is no picture '%.80s'; 'file' is one of %s", wanted ? wanted : "", list ? list : "");
    cJSON_free(list);
    return result;
}

/* The row of its program has the facts, and whether there is such a picture. */
static cJSON *answer_picture(struct call *call)
{
    struct lap_question maker = lap_question_maker(&call->question);
    const char **file = value_named(&call->question, "file"), *wanted = wanted_file(call, file);
    cJSON *names = cJSON_CreateArray(), *facts = NULL, *result = NULL;
    struct lap_answer *answer = NULL;
    char name[300];

    if (maker.route->kind != LAP_ROUTE_FILM && !(answer = ask(call, &maker)))
        goto out;
    if (answer && answer->status == 200) {
        facts = facts_of(call->question.route, answer, wanted, names);
        if (file && !facts) {
            result = no_such_file(names, wanted);
            goto out;
        }
        lap_answer_drop(answer);
        answer = NULL;
    }
    if (facts && file) {
        snprintf(call->file, sizeof call->file, "%.200s.png", name_of(call->question.route, facts, name));
        *file = call->file;
    }
    if (!answer)
        answer = ask(call, &call->question);
    if (answer && answer->status == 200)
        result = picture_result(answer, facts, names);
    else if (answer) {
        result = failure(call, answer);
        answer = NULL;
    }
out:
    lap_answer_drop(answer);
    cJSON_Delete(facts);
    cJSON_Delete(names);
    return result;
}

/* ---- calls ---- */

/* A position of a command has four numbers, or more. */
static bool is_command(const char *at)
{
    unsigned points = 0;

    for (; *at && *at != '#'; at++)
        points += *at == '.';
    return points >= 3;
}

/* What lives there, as numbers: what is bound is asked of a command. */
static cJSON *answer_counts(struct call *call, const char *at)
{
    struct lap_question counts = {.route = lap_route_named("objects")};
    struct lap_answer *answer;
    cJSON *result;

    *value_named(&counts, "at") = at;
    *value_named(&counts, "count") = "1";
    answer = ask(call, &counts);
    if (!answer || answer->status != 200)
        return answer ? failure(call, answer) : NULL;
    result = text_result(call, answer);
    add_sentence(result,
                 "%s is no command: so many objects live there ('objects' lists them). What is bound is asked of a "
                 "command, like 3.1.1.42; 'tree' and 'draws' have their positions",
                 at);
    lap_answer_drop(answer);
    return result;
}

static enum lap_status find_capture(struct call *call)
{
    if (call->number < 1 || call->number > lap_captures_count(call->service->captures))
        return lap_fail(LAP_ERROR_ARGUMENT, "there is no such trace; 'captures' lists them");
    return lap_capture_look(call->service->captures, (size_t)call->number - 1, &call->capture);
}

cJSON *lap_assistant_call(struct lap_service *service, const struct lap_route *route, const cJSON *arguments,
                          size_t page)
{
    struct call call = {.service = service, .question = {.route = route}, .number = 1, .page = page};
    enum lap_status status = take_arguments(&call, arguments);
    struct lap_question maker;
    const char **at = value_named(&call.question, "at");
    struct lap_answer *answer;
    cJSON *result;

    if (status == LAP_OK) {
        maker = lap_question_maker(&call.question); /* which wants no file */
        status = lap_question_check(route->type == LAP_TYPE_PNG && route->made_by ? &maker : &call.question);
    }
    if (status == LAP_OK)
        status = find_capture(&call);
    if (status != LAP_OK)
        return lap_assistant_text(lap_error_message(), true);
    if (route->type == LAP_TYPE_PNG)
        return answer_picture(&call);
    if (strcmp(route->name, "bound") == 0 && !is_command(*at))
        return answer_counts(&call, *at);
    answer = ask(&call, &call.question);
    if (!answer || answer->status != 200)
        return answer ? failure(&call, answer) : NULL;
    result = text_result(&call, answer);
    lap_answer_drop(answer);
    return result;
}
