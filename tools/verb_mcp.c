/* SPDX-License-Identifier: MIT */
/* lapilli-mcp: the questions of lapilli serve as tools of the Model Context Protocol, over stdin and stdout: a JSON-RPC
 * message a line (modelcontextprotocol.io, "Transports"). One question at a time. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/utf8.h"
#include "base/version.h"
#include "tools/assistant.h"
#include "tools/common/arguments.h"
#include "tools/common/tool.h"
#include "tools/service.h"

#define PROGRAM     "lapilli-mcp"
#define CACHE_BYTES ((size_t)128 << 20)
#define USUAL_PAGE  40000u /* an assistant reads all of it */

/* JSON-RPC 2.0, "Error object". */
enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, NO_METHOD = -32601, INVALID_PARAMS = -32602 };

/* Versions of the protocol in which what is used here is the same. */
static const char *const versions[] = {"2024-11-05", "2025-03-26", "2025-06-18"};

static const char help[] =
    "usage: lapilli mcp [options] FILE…\n"
    "Serves an assistant: the Model Context Protocol over stdin and stdout, with a tool for each question about the\n"
    "traces: find a draw, read its state, look at its picture. A FILE may be a folder: then all files NAME.lapilli in\n"
    "it. Ends with its input. In an assistant's configuration:\n"
    "{\"mcpServers\": {\"lapilli\": {\"command\": \"lapilli\", \"args\": [\"mcp\", \"/path/run.lapilli\"]}}}\n"
    "\n"
    "  --gpu GPU     play on this GPU: its number, a part of its name, or its UUID (lapilli replay --list-gpus)\n"
    "  --wait-limit SECONDS\n"
    "                give a replay up that waits for the device, or stands in a call of the driver, this long;\n"
    "                default: 60\n"
    "  --page BYTES  about so many bytes of text in an answer; the assistant asks for the next part. Default: 40000\n"
    "  --help        this text\n"
    "\n"
    "Exit status: 0; 1 out of memory or output failed; 2 wrong usage; 3 a FILE is not there.\n";

static const char instructions[] =
    "Each tool asks about a recorded Vulkan program (a trace). Positions are FRAME.SUBMIT.BUFFER.COMMAND, like "
    "3.1.1.42: frames, submits and command buffers count from 1, commands from 0; shorter ones are all that is in "
    "there. "
    "A call outside of command buffers is #PACKET, like #17. Objects are written TYPE:NUMBER, like VkImage:7. Begin "
    "with "
    "'info' and 'tree' (without 'at': the frames), then go into one frame, then use 'bound' and 'framebuffer_picture' "
    "at "
    "a draw; 'uses' says which draws wrote an image, 'pixel' which painted a texel, 'each' what each draw of a pass "
    "changes. Members that are absent in an answer are zero, null or empty. A "
    "long "
    "answer comes in parts, and says with which 'cursor' the next one comes; ask for less with 'at', 'depth', "
    "'children', "
    "'rows', 'frames' or 'type'.";

struct options {
    struct lap_playing playing;
    uint64_t page; /* bytes of text in an answer, about */
    char **files;
};

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

static void add_number(cJSON *properties, const char *name, const char *about)
{
    cJSON *property = cJSON_AddObjectToObject(properties, name);

    (void)cJSON_AddStringToObject(property, "type", "integer");
    (void)cJSON_AddStringToObject(property, "description", about);
}

static cJSON *schema_of(const struct lap_route *route)
{
    cJSON *schema = cJSON_CreateObject(), *properties, *required;
    const struct lap_parameter *parameter;

    (void)cJSON_AddStringToObject(schema, "type", "object");
    properties = cJSON_AddObjectToObject(schema, "properties");
    required = cJSON_AddArrayToObject(schema, "required");
    for (size_t i = 0; (parameter = lap_route_parameter(route, i)); i++) {
        if (parameter->form == LAP_FORM_CODE) /* an assistant sends none */
            continue;
        cJSON *property = cJSON_AddObjectToObject(properties, parameter->name);
        (void)cJSON_AddStringToObject(property, "type",
                                      parameter->form == LAP_FORM_FLAG     ? "boolean"
                                      : parameter->form == LAP_FORM_NUMBER ? "integer"
                                                                           : "string");
        (void)cJSON_AddStringToObject(property, "description", parameter->about);
        if (parameter->needed && parameter->form != LAP_FORM_FILE) /* a file: there is a natural one */
            (void)cJSON_AddItemToArray(required, cJSON_CreateString(parameter->name));
    }
    add_number(properties, "capture", "which trace, as 'captures' counts them; the first without it");
    if (route->type != LAP_TYPE_PNG)
        add_number(properties, "cursor", "the next part of a long answer, which says this number");
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
    char about[1024];

    (void)cJSON_AddStringToObject(none, "type", "object");
    (void)cJSON_AddItemToArray(list, tool("captures", "the traces that can be asked about", none));
    for (size_t i = 0; i < lap_route_count; i++) {
        const struct lap_route *route = &lap_routes[i];
        if (!lap_assistant_has(route))
            continue;
        if (route->type == LAP_TYPE_PNG)
            snprintf(about, sizeof about, "%s", route->use);
        else
            snprintf(about, sizeof about, "%c%s. %s Absent members are zero, null or empty.",
                     toupper((unsigned char)*route->about), route->about + 1, route->use);
        (void)cJSON_AddItemToArray(list, tool(route->name, about, schema_of(route)));
    }
    send_result(id, result);
}

/* ---- calls ---- */

static void send_captures(const cJSON *id, struct lap_captures *captures)
{
    cJSON *list = cJSON_CreateArray();
    struct lap_capture capture;
    char *text;

    for (size_t i = 0, count = lap_captures_count(captures); i < count; i++) {
        cJSON *one;
        char *path;
        if (lap_capture_look(captures, i, &capture) != LAP_OK)
            continue;
        one = cJSON_CreateObject();
        path = lap_utf8(capture.path, strlen(capture.path));
        (void)cJSON_AddNumberToObject(one, "capture", (double)i + 1);
        (void)cJSON_AddStringToObject(one, "path", path ? path : "");
        (void)cJSON_AddNumberToObject(one, "bytes", (double)capture.bytes);
        (void)cJSON_AddItemToArray(list, one);
        free(path);
    }
    text = cJSON_PrintUnformatted(list);
    send_result(id, lap_assistant_text(text ? text : "", !text));
    cJSON_free(text);
    cJSON_Delete(list);
}

static void call_tool(const cJSON *id, const cJSON *parameters, const struct options *options,
                      struct lap_service *service)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(parameters, "name");
    const struct lap_route *route = cJSON_IsString(name) ? lap_route_named(name->valuestring) : NULL;
    cJSON *result;

    if (cJSON_IsString(name) && strcmp(name->valuestring, "captures") == 0) {
        send_captures(id, service->captures);
        return;
    }
    if (!route || !lap_assistant_has(route)) {
        send_error(id, INVALID_PARAMS, "there is no such tool");
        return;
    }
    result = lap_assistant_call(service, route, cJSON_GetObjectItemCaseSensitive(parameters, "arguments"),
                                (size_t)options->page);
    if (result)
        send_result(id, result);
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

static void take_message(const cJSON *message, const struct options *options, struct lap_service *service)
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
        call_tool(id, parameters, options, service);
    else
        send_error(id, NO_METHOD, "there is no such method");
}

static int serve(const struct options *options, struct lap_service *service)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;

    while (!ferror(stdout) && (length = getline(&line, &capacity, stdin)) >= 0) {
        cJSON *message = cJSON_ParseWithLength(line, (size_t)length);
        if (message)
            take_message(message, options, service);
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
    struct options options = {.page = USUAL_PAGE};
    const struct lap_argument rows[] = {LAP_TEXT("gpu", &options.playing.gpu),
                                        LAP_TEXT("wait-limit", &options.playing.wait_limit),
                                        LAP_NUMBER("page", &options.page, 1000, 1u << 20), LAP_WORDS(&options.files)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code >= 0)
        return code;
    code = lap_service_open(&verb, options.files, &options.playing, CACHE_BYTES, 0, &service);
    if (code != LAP_TOOL_OK)
        return code;
    code = serve(&options, &service);
    lap_service_close(&service);
    return code;
}
