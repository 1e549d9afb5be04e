/* SPDX-License-Identifier: MIT */
/* lapilli-mcp: the questions of lapilli serve as tools of the Model Context Protocol, over stdin and stdout: a JSON-RPC
 * message a line (modelcontextprotocol.io, "Transports"). One question at a time. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/utf8.h"
#include "base/version.h"
#include "tools/common/arguments.h"
#include "tools/common/tool.h"
#include "tools/service.h"

#define PROGRAM      "lapilli-mcp"
#define CACHE_BYTES  ((size_t)128 << 20)
#define TEXT_MOST    60000u /* bytes of an answer: an assistant reads all of it */
#define PICTURE_MOST (6u << 20)

/* JSON-RPC 2.0, "Error object". */
enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, NO_METHOD = -32601, INVALID_PARAMS = -32602 };

/* Versions of the protocol in which what is used here is the same. */
static const char *const versions[] = {"2024-11-05", "2025-03-26", "2025-06-18"};

static const char help[] =
    "usage: lapilli mcp [options] FILE…\n"
    "Serves an assistant: the Model Context Protocol over stdin and stdout, with a tool for each question about the\n"
    "traces: find a draw, read its state, look at its picture. Ends with its input. In an assistant's configuration:\n"
    "{\"mcpServers\": {\"lapilli\": {\"command\": \"lapilli\", \"args\": [\"mcp\", \"/path/run.lapilli\"]}}}\n"
    "\n"
    "  --gpu GPU    play on this GPU: its number, a part of its name, or its UUID (lapilli replay --list-gpus)\n"
    "  --help       this text\n"
    "\n"
    "Exit status: 0; 1 out of memory or output failed; 2 wrong usage; 3 a FILE is not there.\n";

static const char instructions[] =
    "Each tool asks about a recorded Vulkan program (a trace). Positions are FRAME.SUBMIT.BUFFER.COMMAND, like "
    "3.1.1.42: "
    "frames, submits and command buffers count from 1, commands from 0; shorter ones are all that is in there. Objects "
    "are written TYPE:NUMBER, like VkImage:7. Begin with 'info' and 'tree' (without 'at': the frames), then go into "
    "one frame, then use 'bound' and 'framebuffer_picture' at a draw. Answers are cut at 60000 bytes: ask for less "
    "with "
    "'at', 'depth', 'children' or 'rows'.";

static const struct lap_verb verb = {PROGRAM, help};

/* ---- messages ---- */

/* Takes the object. id: NULL: null. */
static void send_message(cJSON *message, const cJSON *id)
{
    char *text;

    (void)cJSON_AddStringToObject(message, "jsonrpc", "2.0");
    (void)cJSON_AddItemToObject(message, "id", id ? cJSON_Duplicate(id, true) : cJSON_CreateNull());
    text = cJSON_PrintUnformatted(message);
    if (text)
        puts(text);
    (void)fflush(stdout);
    cJSON_free(text);
    cJSON_Delete(message);
}

static void send_error(const cJSON *id, int code, const char *sentence)
{
    cJSON *message = cJSON_CreateObject(), *error = cJSON_AddObjectToObject(message, "error");

    (void)cJSON_AddNumberToObject(error, "code", code);
    (void)cJSON_AddStringToObject(error, "message", sentence);
    send_message(message, id);
}

/* Takes the result. */
static void send_result(const cJSON *id, cJSON *result)
{
    cJSON *message = cJSON_CreateObject();

    (void)cJSON_AddItemToObject(message, "result", result);
    send_message(message, id);
}

/* ---- tools ---- */

/* Answers that are bytes are of no use to an assistant. */
static bool is_tool(const struct lap_route *route)
{
    return route->type != LAP_TYPE_BYTES;
}

static cJSON *schema_of(const struct lap_route *route)
{
    cJSON *schema = cJSON_CreateObject(), *properties, *required;

    (void)cJSON_AddStringToObject(schema, "type", "object");
    properties = cJSON_AddObjectToObject(schema, "properties");
    required = cJSON_AddArrayToObject(schema, "required");
    for (size_t i = 0; i < LAP_ROUTE_VALUES && route->parameters[i].name; i++) {
        const struct lap_parameter *parameter = &route->parameters[i];
        cJSON *property = cJSON_AddObjectToObject(properties, parameter->name);
        (void)cJSON_AddStringToObject(property, "type",
                                      parameter->form == LAP_FORM_FLAG     ? "boolean"
                                      : parameter->form == LAP_FORM_NUMBER ? "integer"
                                                                           : "string");
        (void)cJSON_AddStringToObject(property, "description", parameter->about);
        if (parameter->needed)
            (void)cJSON_AddItemToArray(required, cJSON_CreateString(parameter->name));
    }
    properties = cJSON_AddObjectToObject(properties, "capture");
    (void)cJSON_AddStringToObject(properties, "type", "integer");
    (void)cJSON_AddStringToObject(properties, "description",
                                  "which trace, as 'captures' counts them; the first without it");
    (void)cJSON_AddBoolToObject(schema, "additionalProperties", false);
    return schema;
}

static cJSON *tool(const char *name, const char *about, cJSON *schema)
{
    cJSON *object = cJSON_CreateObject(), *annotations;

    (void)cJSON_AddStringToObject(object, "name", name);
    (void)cJSON_AddStringToObject(object, "description", about);
    (void)cJSON_AddItemToObject(object, "inputSchema", schema);
    annotations = cJSON_AddObjectToObject(object, "annotations");
    (void)cJSON_AddBoolToObject(annotations, "readOnlyHint", true);
    return object;
}

static void list_tools(const cJSON *id)
{
    cJSON *result = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(result, "tools"), *none = cJSON_CreateObject();

    (void)cJSON_AddStringToObject(none, "type", "object");
    (void)cJSON_AddItemToArray(list, tool("captures", "the traces that can be asked about", none));
    for (size_t i = 0; i < lap_route_count; i++)
        if (is_tool(&lap_routes[i]))
            (void)cJSON_AddItemToArray(list, tool(lap_routes[i].name, lap_routes[i].about, schema_of(&lap_routes[i])));
    send_result(id, result);
}

/* ---- content ---- */

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

static void send_text(const cJSON *id, const char *text, size_t bytes, bool is_error)
{
    cJSON *result = cJSON_CreateObject(), *content = cJSON_AddArrayToObject(result, "content"),
          *one = cJSON_CreateObject();
    char *clean = lap_utf8(text, bytes < TEXT_MOST ? bytes : TEXT_MOST), *whole = clean;

    if (bytes > TEXT_MOST && clean &&
        asprintf(&whole, "%s\n… %zu more bytes: ask for less", clean, bytes - TEXT_MOST) < 0)
        whole = clean;
    (void)cJSON_AddStringToObject(one, "type", "text");
    (void)cJSON_AddStringToObject(one, "text", whole ? whole : "");
    (void)cJSON_AddItemToArray(content, one);
    (void)cJSON_AddBoolToObject(result, "isError", is_error);
    if (whole != clean)
        free(whole);
    free(clean);
    send_result(id, result);
}

static void send_failure(const cJSON *id, const char *sentence)
{
    send_text(id, sentence, strlen(sentence), true);
}

static void send_picture(const cJSON *id, const struct lap_answer *answer)
{
    char *data = answer->bytes > PICTURE_MOST ? NULL : base64(answer->body, answer->bytes);
    cJSON *result, *one;

    if (!data) {
        send_failure(id, "the picture is too large: more than 6 MiB as PNG");
        return;
    }
    result = cJSON_CreateObject();
    one = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(one, "type", "image");
    (void)cJSON_AddStringToObject(one, "data", data);
    (void)cJSON_AddStringToObject(one, "mimeType", "image/png");
    (void)cJSON_AddItemToArray(cJSON_AddArrayToObject(result, "content"), one);
    (void)cJSON_AddBoolToObject(result, "isError", false);
    free(data);
    send_result(id, result);
}

static void send_captures(const cJSON *id, struct lap_captures *captures)
{
    cJSON *list = cJSON_CreateArray();
    struct lap_capture capture;
    char *text;

    for (size_t i = 0; i < lap_captures_count(captures); i++) {
        cJSON *one = cJSON_CreateObject();
        if (lap_capture_look(captures, i, &capture) != LAP_OK)
            continue;
        char *path = lap_utf8(capture.path, strlen(capture.path));
        (void)cJSON_AddNumberToObject(one, "capture", (double)i + 1);
        (void)cJSON_AddStringToObject(one, "path", path ? path : "");
        (void)cJSON_AddNumberToObject(one, "bytes", (double)capture.bytes);
        (void)cJSON_AddItemToArray(list, one);
        free(path);
    }
    text = cJSON_PrintUnformatted(list);
    send_text(id, text ? text : "", text ? strlen(text) : 0, !text);
    cJSON_free(text);
    cJSON_Delete(list);
}

/* ---- calls ---- */

/* The values of a call as text; numbers and booleans, too. False after a failure: lap_error_message. */
static bool take_arguments(const cJSON *arguments, struct lap_question *question, char (*texts)[32], uint64_t *capture)
{
    size_t count = 0;

    for (const cJSON *item = arguments ? arguments->child : NULL; item; item = item->next) {
        const char *value = cJSON_IsString(item) ? item->valuestring : NULL;
        if (cJSON_IsNull(item) || cJSON_IsFalse(item))
            continue;
        if (count == LAP_ROUTE_VALUES)
            return lap_fail(LAP_ERROR_ARGUMENT, "there are too many arguments") == LAP_OK;
        if (cJSON_IsTrue(item))
            value = "1";
        else if (cJSON_IsNumber(item))
            snprintf(texts[count], sizeof *texts, "%.15g", item->valuedouble), value = texts[count++];
        if (!value)
            return lap_fail(LAP_ERROR_ARGUMENT, "'%.40s' is no text, number or boolean", item->string) == LAP_OK;
        if (strcmp(item->string, "capture") == 0)
            *capture = strtoull(value, NULL, 10);
        else if (lap_question_set(question, item->string, value) != LAP_OK)
            return false;
    }
    return lap_question_check(question) == LAP_OK;
}

/* Whether the assistant has gone. */
static bool is_gone(void *user)
{
    struct pollfd look = {.fd = STDOUT_FILENO};

    (void)user;
    return poll(&look, 1, 0) > 0 && look.revents;
}

static void call_tool(const cJSON *id, const cJSON *parameters, struct lap_service *service)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(parameters, "name");
    struct lap_question question = {.route = cJSON_IsString(name) ? lap_route_named(name->valuestring) : NULL};
    char texts[LAP_ROUTE_VALUES][32];
    struct lap_capture capture;
    struct lap_answer *answer;
    uint64_t number = 1;

    if (cJSON_IsString(name) && strcmp(name->valuestring, "captures") == 0) {
        send_captures(id, service->captures);
        return;
    }
    if (!question.route || !is_tool(question.route)) {
        send_error(id, INVALID_PARAMS, "there is no such tool");
        return;
    }
    if (!take_arguments(cJSON_GetObjectItemCaseSensitive(parameters, "arguments"), &question, texts, &number)) {
        send_failure(id, lap_error_message());
        return;
    }
    if (number < 1 || number > lap_captures_count(service->captures)) {
        send_failure(id, "there is no such trace; 'captures' lists them");
        return;
    }
    if (lap_capture_look(service->captures, (size_t)number - 1, &capture) != LAP_OK) {
        send_failure(id, lap_error_message());
        return;
    }
    answer = lap_works_ask(service->works, &capture, &question, is_gone, NULL);
    if (!answer)
        return;
    if (answer->status != 200)
        send_failure(id, answer->sentence);
    else if (answer->type == LAP_TYPE_PNG)
        send_picture(id, answer);
    else if (answer->type == LAP_TYPE_BYTES)
        send_failure(id, "these are bytes; ask for a picture (.png)");
    else
        send_text(id, (const char *)answer->body, answer->bytes, false);
    lap_answer_drop(answer);
}

static void initialize(const cJSON *id, const cJSON *parameters)
{
    const cJSON *wanted = cJSON_GetObjectItemCaseSensitive(parameters, "protocolVersion");
    cJSON *result = cJSON_CreateObject(), *server;
    const char *version = versions[sizeof versions / sizeof *versions - 1];

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (cJSON_IsString(wanted) && strcmp(wanted->valuestring, versions[i]) == 0)
            version = versions[i];
    (void)cJSON_AddStringToObject(result, "protocolVersion", version);
    (void)cJSON_AddObjectToObject(cJSON_AddObjectToObject(result, "capabilities"), "tools");
    server = cJSON_AddObjectToObject(result, "serverInfo");
    (void)cJSON_AddStringToObject(server, "name", "lapilli");
    (void)cJSON_AddStringToObject(server, "version", LAPILLI_VERSION);
    (void)cJSON_AddStringToObject(result, "instructions", instructions);
    send_result(id, result);
}

static void take_message(const cJSON *message, struct lap_service *service)
{
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(message, "id"),
                *method = cJSON_GetObjectItemCaseSensitive(message, "method"),
                *parameters = cJSON_GetObjectItemCaseSensitive(message, "params");

    if (!cJSON_IsObject(message) || !cJSON_IsString(method)) {
        send_error(id, INVALID_REQUEST, "this is no request");
        return;
    }
    if (!id) /* a notification */
        return;
    if (strcmp(method->valuestring, "initialize") == 0)
        initialize(id, parameters);
    else if (strcmp(method->valuestring, "ping") == 0)
        send_result(id, cJSON_CreateObject());
    else if (strcmp(method->valuestring, "tools/list") == 0)
        list_tools(id);
    else if (strcmp(method->valuestring, "tools/call") == 0)
        call_tool(id, parameters, service);
    else
        send_error(id, NO_METHOD, "there is no such method");
}

static int serve(struct lap_service *service)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;

    while (!ferror(stdout) && (length = getline(&line, &capacity, stdin)) >= 0) {
        cJSON *message = cJSON_ParseWithLength(line, (size_t)length);
        if (message)
            take_message(message, service);
        else if (strspn(line, " \t\r\n") != (size_t)length)
            send_error(NULL, PARSE_ERROR, "this is no JSON");
        cJSON_Delete(message);
    }
    free(line);
    return lap_tool_end_output(PROGRAM, LAP_TOOL_OK);
}

int main(int argc, char **argv)
{
    static struct lap_service service;
    struct lap_playing playing = {.gpu = NULL};
    char **files;
    const struct lap_argument rows[] = {LAP_TEXT("gpu", &playing.gpu), LAP_WORDS(&files)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code >= 0)
        return code;
    code = lap_service_open(&verb, files, &playing, CACHE_BYTES, 0, &service);
    if (code != LAP_TOOL_OK)
        return code;
    code = serve(&service);
    lap_service_close(&service);
    return code;
}
