/* SPDX-License-Identifier: MIT */
#include "server/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/codes.h"
#include "server/page.h"

#ifdef LAP_MICROHTTPD

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <microhttpd.h>

#include "base/exit_code.h"
#include "base/utf8.h"
#include "trace/format/hash.h"
#include "trace/receive/strangers.h"

#define STRANGERS    LAP_STRANGERS_MOST
#define OTHERS       320u  /* connections of those that have shown the token; and those that are being closed */
#define HEAD_MS      10000 /* after which a connection is closed that has not shown the token */
#define IDLE_SECONDS 20u   /* after which a connection is closed that takes nothing of an answer */
#define HEAD_BYTES   16384u
#define ALIVE_MS     2000u
#define LOOK_MS      200u /* how often it is looked whether the one who waits is still there */
#define ETAG_BYTES   24u
#define CODES        "/v1/code/" /* and their kind */
#define EVENT_BYTES  (LAP_ROUTE_URL_BYTES + 256u)

struct lap_http {
    struct lap_http_options options;
    struct MHD_Daemon *daemon;
    struct lap_strangers strangers; /* connections that have not shown the token since their last answer */
    pthread_t timer;
    int stop; /* eventfd, of the timer */
};

/* A request while it is answered. */
struct request {
    const struct lap_http *http;
    struct MHD_Connection *connection;
    bool events; /* the client wants server-sent events */
};

/* ---- responses ---- */

static const char *header(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

static void secure(struct MHD_Response *response)
{
    static const char *const headers[][2] = {
        {"Content-Security-Policy",
         "default-src 'self'; img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Vary", "Accept"}, /* events of an answer have its path */
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"}};

    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        (void)MHD_add_response_header(response, headers[i][0], headers[i][1]);
}

/* Takes the response. */
static enum MHD_Result respond(const struct request *request, unsigned status, struct MHD_Response *response)
{
    enum MHD_Result result;

    if (!response)
        return MHD_NO;
    secure(response);
    result = MHD_queue_response(request->connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* text: from malloc, or NULL. */
static enum MHD_Result respond_json(const struct request *request, unsigned status, char *text)
{
    struct MHD_Response *response =
        text ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE) : NULL;

    if (!response) {
        free(text);
        return MHD_NO;
    }
    (void)MHD_add_response_header(response, "Content-Type", "application/json");
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    if (status == MHD_HTTP_UNAUTHORIZED)
        (void)MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, "Allow", "GET, HEAD, DELETE, POST");
    return respond(request, status, response);
}

static bool add_utf8(cJSON *object, const char *name, const char *text, size_t bytes)
{
    char *clean = lap_utf8(text, bytes);
    bool added = clean && cJSON_AddStringToObject(object, name, clean);

    free(clean);
    return added;
}

/* As JSON; from malloc. log: more than the sentence, or NULL. */
static char *error_text(int status, int exit, const char *sentence, const void *log, size_t bytes)
{
    cJSON *object = cJSON_CreateObject();
    char *text = NULL;

    if (add_utf8(object, "error", sentence, strlen(sentence)) && cJSON_AddNumberToObject(object, "status", status) &&
        (exit < 0 ? cJSON_AddNullToObject(object, "exit") : cJSON_AddNumberToObject(object, "exit", exit)) &&
        (!log || add_utf8(object, "log", log, bytes)))
        text = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    return text;
}

static char *failure_text(const struct lap_answer *answer)
{
    return error_text(answer->status, answer->exit, answer->sentence, answer->body, answer->bytes);
}

static enum MHD_Result respond_error(const struct request *request, unsigned status, const char *format, ...)
    LAP_PRINTF(3, 4);
static enum MHD_Result respond_error(const struct request *request, unsigned status, const char *format, ...)
{
    char sentence[LAP_ANSWER_SENTENCE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return respond_json(request, status, error_text((int)status, -1, sentence, NULL, 0));
}

static void drop_answer(void *answer)
{
    lap_answer_drop(answer);
}

/* A header has printable ASCII only. */
static void clean_header(char *text)
{
    for (; *text; text++)
        if (*text < 0x20 || *text > 0x7e)
            *text = '?';
}

/* How long a client may keep an answer. */
enum keeping {
    KEEP_NOT,
    KEEP_ASKING, /* a replay made it: on another GPU or driver it is another one, so an ETag holds for one run */
    KEEP         /* the trace alone decides it */
};

/* Takes the answer. */
static enum MHD_Result respond_answer(const struct request *request, struct lap_answer *answer, enum keeping keeping,
                                      const char *etag)
{
    struct MHD_Response *response;
    char sentence[LAP_ANSWER_SENTENCE];

    if (answer->status != 200) {
        enum MHD_Result result = respond_json(request, (unsigned)answer->status, failure_text(answer));
        lap_answer_drop(answer);
        return result;
    }
    response = MHD_create_response_from_buffer_with_free_callback_cls(answer->bytes, answer->body, drop_answer, answer);
    if (!response) {
        lap_answer_drop(answer);
        return MHD_NO;
    }
    (void)MHD_add_response_header(response, "Content-Type", lap_route_type_name(answer->type));
    (void)MHD_add_response_header(response, "Cache-Control",
                                  keeping == KEEP          ? "private, max-age=31536000, immutable"
                                  : keeping == KEEP_ASKING ? "private, no-cache"
                                                           : "no-store");
    if (keeping != KEEP_NOT)
        (void)MHD_add_response_header(response, "ETag", etag);
    memcpy(sentence, answer->sentence, sizeof sentence);
    clean_header(sentence);
    if (answer->exit == LAP_TOOL_INCOMPLETE && *sentence)
        (void)MHD_add_response_header(response, "Lapilli-Incomplete", sentence);
    return respond(request, MHD_HTTP_OK, response);
}

static int socket_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    return info ? info->connect_fd : -1;
}

static bool is_gone(void *user)
{
    const struct request *request = user;
    struct pollfd look = {.fd = socket_of(request->connection), .events = POLLRDHUP};

    return poll(&look, 1, 0) > 0 && look.revents;
}

/* ---- server-sent events ---- */

struct events {
    struct request request;
    struct lap_work *work; /* NULL: the answer is there */
    char url[LAP_ROUTE_URL_BYTES];
    bool told_end;
    struct lap_work_view view; /* that the client has */
    size_t files;              /* that it has been told of */
    uint64_t told;             /* of its progress */
    char *text;                /* to be sent */
    size_t bytes, sent;
};

static void set_text(struct events *events, const char *name, char *data)
{
    events->text = NULL;
    events->sent = events->bytes = 0;
    if (data && asprintf(&events->text, "event: %s\ndata: %s\n\n", name, data) > 0)
        events->bytes = strlen(events->text);
    free(data);
}

static char *print(const char *format, ...) LAP_PRINTF(1, 2);
static char *print(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return text;
}

static void end_with(struct events *events, struct lap_answer *of_work)
{
    struct lap_answer *answer = lap_work_result(events->work, of_work, events->url);

    events->told_end = true;
    if (answer && answer->status == 200)
        set_text(events, "done", print("{\"status\": 200}"));
    else if (answer)
        set_text(events, "failed", failure_text(answer));
    lap_answer_drop(answer);
}

/* False: the client is gone. */
static bool wait_for_news(struct events *events, struct lap_work_view *out)
{
    const uint64_t known = events->view.version;

    for (unsigned ms = 0; ms < ALIVE_MS; ms += LOOK_MS) {
        lap_work_wait(events->work, known, LOOK_MS, out);
        if (out->answer || out->version != known)
            return true;
        if (is_gone(&events->request))
            return false;
    }
    return true;
}

/* Fills what is to be sent next. Nothing: the client is gone, or memory is out. */
static void next_event(struct events *events)
{
    struct lap_work_view now;

    free(events->text);
    events->text = NULL;
    if (!events->work) {
        events->told_end = true;
        set_text(events, "done", print("{\"status\": 200}"));
        return;
    }
    now = events->view;
    if (events->files == now.files && !wait_for_news(events, &now))
        return;
    if (now.all && now.done != events->told) { /* also of work that is done meanwhile */
        events->view = now;
        events->told = now.done;
        set_text(events, "progress", print("{\"done\": %" PRIu64 ", \"all\": %" PRIu64 "}", now.done, now.all));
        return;
    }
    if (events->files < now.files) {
        events->view = now;
        set_text(events, "picture", print("{\"path\": \"%s\"}", lap_work_file(events->work, events->files++)));
        return;
    }
    if (now.answer)
        end_with(events, now.answer);
    else
        set_text(events, "waiting", print("{}"));
    events->view = now;
}

static ssize_t read_events(void *user, uint64_t position, char *out, size_t most)
{
    struct events *events = user;
    size_t bytes;

    (void)position;
    if (events->sent == events->bytes) {
        if (events->told_end)
            return MHD_CONTENT_READER_END_OF_STREAM;
        next_event(events);
        if (!events->text)
            return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    bytes = events->bytes - events->sent < most ? events->bytes - events->sent : most;
    memcpy(out, events->text + events->sent, bytes);
    events->sent += bytes;
    return (ssize_t)bytes;
}

static void free_events(void *user)
{
    struct events *events = user;

    if (events->work)
        lap_work_leave(events->work);
    free(events->text);
    free(events);
}

static enum MHD_Result respond_events(const struct request *request, const struct lap_capture *capture,
                                      const struct lap_question *question, const char *url, bool is_there)
{
    const struct lap_question maker = lap_question_maker(question);
    struct events *events = calloc(1, sizeof *events);
    struct MHD_Response *response;

    if (!events)
        return MHD_NO;
    events->request = *request;
    events->work = is_there ? NULL : lap_work_join(request->http->options.works, capture, &maker);
    if (!is_there && !events->work) {
        free_events(events);
        return respond_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "there is too much work already; ask again later");
    }
    memcpy(events->url, url, strlen(url) + 1);
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, EVENT_BYTES, read_events, events, free_events);
    if (!response) {
        free_events(events);
        return MHD_NO;
    }
    (void)MHD_add_response_header(response, "Content-Type", "text/event-stream");
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    return respond(request, MHD_HTTP_OK, response);
}

/* ---- questions ---- */

/* Values of the query go into the question. */
struct query {
    struct lap_question *question;
    enum lap_status status;
};

static enum MHD_Result take_query(void *user, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct query *query = user;
    char decoded[64];

    (void)kind;
    if (strcmp(name, "token") == 0)
        return MHD_YES;
    snprintf(decoded, sizeof decoded, "%s", name);
    if (!value || !lap_route_decode(decoded) ||
        !lap_route_decode((char *)(uintptr_t)value)) /* which is in the request's own memory */
        query->status = lap_fail(LAP_ERROR_ARGUMENT, "the query is no valid one");
    else
        query->status = lap_question_set(query->question, decoded, value);
    return query->status == LAP_OK ? MHD_YES : MHD_NO;
}

/* The hash of a token says nothing of it that helps to find it. */
static void make_etag(const struct lap_http_options *options, enum keeping keeping, const char *url,
                      char out[ETAG_BYTES])
{
    uint64_t run = keeping == KEEP_ASKING ? lap_hash64(options->token, LAP_HTTP_TOKEN_BYTES - 1) : 0;

    snprintf(out, ETAG_BYTES, "\"%016" PRIx64 "\"", lap_hash64_seeded(url, strlen(url), run));
}

static enum MHD_Result answer_question(struct request *request, const struct lap_capture *capture,
                                       struct lap_question *question)
{
    struct query query = {.question = question, .status = LAP_OK};
    const struct lap_http_options *options = &request->http->options;
    char url[LAP_ROUTE_URL_BYTES], etag[ETAG_BYTES];
    enum keeping keeping;
    const char *known = header(request, "If-None-Match");
    struct lap_answer *answer;

    (void)MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, take_query, &query);
    if (query.status == LAP_OK)
        query.status = lap_question_check(question);
    if (query.status == LAP_OK)
        query.status = lap_work_url(capture, question, url);
    if (query.status != LAP_OK)
        return respond_error(request, MHD_HTTP_BAD_REQUEST, "%s", lap_error_message());
    keeping = !capture ? KEEP_NOT : question->route->kind == LAP_ROUTE_READS ? KEEP : KEEP_ASKING;
    make_etag(options, keeping, url, etag);
    if (keeping != KEEP_NOT && known && strcmp(known, etag) == 0)
        return respond(request, MHD_HTTP_NOT_MODIFIED,
                       MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT));
    if (request->events) {
        answer = capture ? lap_answers_get(options->answers, url) : NULL;
        lap_answer_drop(answer);
        return respond_events(request, capture, question, url, answer != NULL);
    }
    /* MHD would take a long wait for a client that sends nothing. */
    (void)MHD_set_connection_option(request->connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
    answer = lap_works_ask(options->works, capture, question, is_gone, request);
    (void)MHD_set_connection_option(request->connection, MHD_CONNECTION_OPTION_TIMEOUT, IDLE_SECONDS);
    return answer ? respond_answer(request, answer, keeping, etag) : MHD_NO;
}

/* ---- what the server itself knows ---- */

/* "/v1/captures/ID/objects/{object}{?at}": a template of RFC 6570. */
static void put_template(const struct lap_route *route, const char *id, char *out, size_t bytes)
{
    size_t length = (size_t)snprintf(out, bytes, "/v1/captures/%s/%s", id, route->pattern);
    const struct lap_parameter *parameter;
    const char *between = "{?";

    for (size_t i = 0; (parameter = lap_route_parameter(route, i)); i++) {
        char braced[64];
        snprintf(braced, sizeof braced, "{%s}", parameter->name);
        if (strstr(route->pattern, braced) || length >= bytes)
            continue;
        length += (size_t)snprintf(out + length, bytes - length, "%s%s", between, parameter->name);
        between = ",";
    }
    if (*between == ',' && length < bytes)
        snprintf(out + length, bytes - length, "}");
}

static cJSON *capture_json(const struct lap_capture *capture, bool links)
{
    cJSON *object = cJSON_CreateObject();
    const char *slash = strrchr(capture->path, '/');
    char *name = lap_utf8(slash + 1, strlen(slash + 1)), *path = lap_utf8(capture->path, strlen(capture->path));
    char text[1024];

    (void)cJSON_AddStringToObject(object, "id", capture->id);
    (void)cJSON_AddStringToObject(object, "file", name ? name : "");
    (void)cJSON_AddStringToObject(object, "path", path ? path : "");
    (void)cJSON_AddNumberToObject(object, "bytes", (double)capture->bytes);
    snprintf(text, sizeof text, "/v1/captures/%s", capture->id);
    (void)cJSON_AddStringToObject(object, "href", text);
    free(name);
    free(path);
    if (links) {
        cJSON *list = cJSON_AddObjectToObject(object, "links");
        for (size_t i = 0; i < lap_route_count; i++) {
            put_template(&lap_routes[i], capture->id, text, sizeof text);
            (void)cJSON_AddStringToObject(list, lap_routes[i].name, text);
        }
    }
    return object;
}

static enum MHD_Result respond_object(const struct request *request, cJSON *object)
{
    char *text = cJSON_PrintUnformatted(object);

    cJSON_Delete(object);
    return respond_json(request, MHD_HTTP_OK, text);
}

static enum MHD_Result answer_captures(const struct request *request)
{
    struct lap_captures *captures = request->http->options.captures;
    cJSON *object = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(object, "captures");
    struct lap_capture capture;

    for (size_t i = 0, count = lap_captures_count(captures); i < count; i++)
        if (lap_capture_look(captures, i, &capture) == LAP_OK)
            (void)cJSON_AddItemToArray(list, capture_json(&capture, false));
    return respond_object(request, object);
}

/* path: behind /v1/captures/. */
static enum MHD_Result answer_capture(struct request *request, char *path)
{
    struct lap_question question;
    struct lap_capture capture;
    char *slash = strchr(path, '/');
    bool gone;

    if (slash)
        *slash = 0;
    if (lap_capture_find(request->http->options.captures, path, &capture, &gone) != LAP_OK)
        return respond_error(request, gone ? MHD_HTTP_GONE : MHD_HTTP_NOT_FOUND, "%s", lap_error_message());
    if (!slash)
        return respond_object(request, capture_json(&capture, true));
    if (!lap_route_match(slash + 1, &question))
        return respond_error(request, MHD_HTTP_NOT_FOUND, "there is no such path; /v1/captures/%s lists them",
                             capture.id);
    return answer_question(request, &capture, &question);
}

static enum MHD_Result answer_work(const struct request *request, const char *path, bool end)
{
    uint64_t number;
    char *rest;

    if (!*path && !end)
        return respond_json(request, MHD_HTTP_OK, lap_works_json(request->http->options.works));
    number = *path == '/' && path[1] >= '0' && path[1] <= '9' ? strtoull(path + 1, &rest, 10) : 0;
    if (!end || !number || *rest || !lap_works_end(request->http->options.works, number))
        return respond_error(request, MHD_HTTP_NOT_FOUND, "there is no such work; /v1/work lists it");
    return respond_json(request, MHD_HTTP_OK, print("{\"ended\": %" PRIu64 "}\n", number));
}

static enum MHD_Result answer_page(const struct request *request, const char *name)
{
    const char *known = header(request, "If-None-Match");
    struct MHD_Response *response;

    for (size_t i = 0; i < lap_page_file_count; i++) {
        const struct lap_page_file *file = &lap_page_files[i];
        if (strcmp(file->name, *name ? name : "index.html") != 0)
            continue;
        bool has = known && strcmp(known, file->etag) == 0;
        response = MHD_create_response_from_buffer(has ? 0 : file->bytes, (void *)(uintptr_t)file->data,
                                                   MHD_RESPMEM_PERSISTENT);
        if (!response)
            return MHD_NO;
        (void)MHD_add_response_header(response, "Content-Type", file->type);
        (void)MHD_add_response_header(response, "Cache-Control", "no-cache");
        (void)MHD_add_response_header(response, "ETag", file->etag);
        return respond(request, has ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, response);
    }
    return respond_error(request, MHD_HTTP_NOT_FOUND, "there is no such page");
}

/* ---- who may ask ---- */

static bool is_own_host(const struct lap_http *http, const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    char full[64];

    for (size_t i = 0; i < 3; i++) {
        snprintf(full, sizeof full, http->options.port ? "%s:%d" : "%s", names[i], http->options.port);
        if (strcmp(host, full) == 0)
            return true;
    }
    return false;
}

/* In a time that does not say how much of it is right. */
static bool is_token(const struct lap_http *http, const char *token)
{
    unsigned different = !token || strlen(token) != LAP_HTTP_TOKEN_BYTES - 1;

    for (size_t i = 0; !different && i < LAP_HTTP_TOKEN_BYTES - 1; i++)
        different |= (unsigned)(token[i] ^ http->options.token[i]) << 1;
    return !different;
}

/* A page of another origin must not ask, whatever name it gives this server (DNS rebinding). NULL: it may. */
static const char *foreign(const struct request *request, bool answers)
{
    const char *host = header(request, "Host"), *origin = header(request, "Origin"),
               *site = header(request, "Sec-Fetch-Site");

    if (!host || !is_own_host(request->http, host))
        return "the Host is not this server";
    if (origin && (strncmp(origin, "http://", 7) != 0 || !is_own_host(request->http, origin + 7)))
        return "the Origin is not this server";
    /* A link from elsewhere may lead to the page, which is no secret. */
    if (answers && site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return "another site asks";
    return NULL;
}

static bool has_token(const struct request *request)
{
    const char *authorization = header(request, "Authorization");
    const char *query = MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, "token");

    return is_token(request->http, query) ||
           (authorization && strncmp(authorization, "Bearer ", 7) == 0 && is_token(request->http, authorization + 7));
}

static enum MHD_Result refuse_token(const struct request *request)
{
    return respond_error(request, MHD_HTTP_UNAUTHORIZED,
                         "the token is missing or wrong; lapilli serve prints the address with it");
}

static bool has_body(const struct request *request)
{
    const char *length = header(request, "Content-Length");

    return header(request, "Transfer-Encoding") || (length && strcmp(length, "0") != 0);
}

static enum MHD_Result answer(struct request *request, const char *method, const char *url)
{
    bool end = strcmp(method, "DELETE") == 0;
    const char *refusal = foreign(request, strncmp(url, "/v1/", 4) == 0);
    char path[LAP_ROUTE_URL_BYTES];

    if (refusal)
        return respond_error(request, MHD_HTTP_FORBIDDEN, "%s", refusal);
    if (!end && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return respond_error(request, MHD_HTTP_METHOD_NOT_ALLOWED,
                             "GET, HEAD, DELETE of work, and POST of code, alone");
    if (has_body(request))
        return respond_error(request, MHD_HTTP_BAD_REQUEST, "requests have no body here");
    if (strlen(url) >= sizeof path)
        return respond_error(request, MHD_HTTP_URI_TOO_LONG, "the path is too long");
    memcpy(path, url, strlen(url) + 1);
    if (!lap_route_decode(path))
        return respond_error(request, MHD_HTTP_BAD_REQUEST, "the path is no valid one");
    if (strncmp(path, "/v1/", 4) != 0)
        return end ? respond_error(request, MHD_HTTP_METHOD_NOT_ALLOWED, "only work can be ended")
                   : answer_page(request, path + 1);
    if (!has_token(request))
        return refuse_token(request);
    if (strncmp(path, "/v1/work", 8) == 0)
        return answer_work(request, path + 8, end);
    if (end)
        return respond_error(request, MHD_HTTP_METHOD_NOT_ALLOWED, "only work can be ended");
    if (strcmp(path, "/v1/captures") == 0)
        return answer_captures(request);
    if (strncmp(path, "/v1/captures/", 13) == 0)
        return answer_capture(request, path + 13);
    if (strcmp(path, "/v1/devices") == 0)
        return answer_question(request, NULL, &(struct lap_question){.route = &lap_route_devices});
    return respond_error(request, MHD_HTTP_NOT_FOUND, "there is no such path; begin at /v1/captures");
}

/* ---- code that clients send ---- */

struct body {
    size_t bytes, all;
    char data[];
};

/* Before the body is sent. */
static enum MHD_Result begin_code(const struct request *request, void **state)
{
    const char *length = header(request, "Content-Length"), *refusal = foreign(request, true);
    size_t all = length && strlen(length) <= 8 ? strtoul(length, NULL, 10) : SIZE_MAX;
    struct body *body;

    if (refusal)
        return respond_error(request, MHD_HTTP_FORBIDDEN, "%s", refusal);
    if (!has_token(request))
        return refuse_token(request);
    if (!length || header(request, "Transfer-Encoding"))
        return respond_error(request, MHD_HTTP_LENGTH_REQUIRED, "code is sent with its Content-Length");
    if (all > LAP_CODE_BYTES)
        return respond_error(request, MHD_HTTP_CONTENT_TOO_LARGE, "code has %zu KiB at most", LAP_CODE_BYTES >> 10);
    body = *state = malloc(sizeof *body + all);
    if (!body)
        return MHD_NO;
    *body = (struct body){.all = all};
    return MHD_YES;
}

/* A piece of it has come; without bytes: all has. */
static enum MHD_Result take_code(const struct request *request, const char *kind, struct body *body, const char *data,
                                 size_t *bytes)
{
    char name[LAP_CODE_NAME_BYTES];
    enum lap_status status;

    if (*bytes > body->all - body->bytes)
        return MHD_NO;
    memcpy(body->data + body->bytes, data, *bytes);
    body->bytes += *bytes;
    if (*bytes) {
        *bytes = 0;
        return MHD_YES;
    }
    status = lap_codes_put(request->http->options.codes, kind, body->data, body->bytes, name);
    if (status != LAP_OK)
        return respond_error(request,
                             status == LAP_ERROR_ARGUMENT ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_INTERNAL_SERVER_ERROR, "%s",
                             lap_error_message());
    return respond_json(request, MHD_HTTP_OK, print("{\"code\": \"%s\"}\n", name));
}

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *data, size_t *data_bytes, void **state)
{
    struct lap_http *http = user;
    struct request request = {.http = http, .connection = connection};
    const char *accepted = header(&request, "Accept");

    (void)version;
    if (!*state && has_token(&request))
        (void)lap_strangers_leave(&http->strangers, socket_of(connection));
    if (strcmp(method, "POST") == 0 && strncmp(url, CODES, strlen(CODES)) == 0 && !*state)
        return begin_code(&request, state);
    if (*state && *state != user)
        return take_code(&request, url + strlen(CODES), *state, data, data_bytes);
    if (*data_bytes) { /* of a body that is refused */
        *data_bytes = 0;
        return MHD_YES;
    }
    /* The first call comes before a body would be sent: all that has one is answered there. */
    if (!*state && !has_body(&request)) {
        *state = user;
        return MHD_YES;
    }
    request.events = accepted && strstr(accepted, "text/event-stream");
    return answer(&request, method, url);
}

/* Paths are decoded when they have been cut at their slashes. */
static size_t keep_encoded(void *user, struct MHD_Connection *connection, char *text)
{
    (void)user;
    (void)connection;
    return strlen(text);
}

/* ---- connections ---- */

/* On the thread that accepts. */
static void see_connection(void *user, struct MHD_Connection *connection, void **state,
                           enum MHD_ConnectionNotificationCode what)
{
    struct lap_http *http = user;

    (void)state;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED)
        (void)lap_strangers_leave(&http->strangers, socket_of(connection));
    else
        lap_strangers_enter(&http->strangers, socket_of(connection));
}

/* A connection that stays open has to show the token again. */
static void see_answered(void *user, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode how)
{
    struct lap_http *http = user;

    if (*state != user)
        free(*state);
    *state = NULL;
    if (how == MHD_REQUEST_TERMINATED_COMPLETED_OK)
        lap_strangers_enter(&http->strangers, socket_of(connection));
}

/* libmicrohttpd's own limit begins anew with each byte. */
static void *time_heads(void *user)
{
    struct lap_http *http = user;
    struct pollfd wait = {.fd = http->stop, .events = POLLIN};

    while (poll(&wait, 1, lap_strangers_end_old(&http->strangers, HEAD_MS)) <= 0)
        ;
    return NULL;
}

static void end_timer(struct lap_http *http)
{
    (void)eventfd_write(http->stop, 1);
    (void)pthread_join(http->timer, NULL);
}

/* ---- the server ---- */

static bool start(struct lap_http *http)
{
    http->daemon =
        MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC,
                         0, NULL, NULL, handle, http, MHD_OPTION_LISTEN_SOCKET, http->options.listener,
                         MHD_OPTION_NOTIFY_CONNECTION, see_connection, http, MHD_OPTION_NOTIFY_COMPLETED, see_answered,
                         http, MHD_OPTION_CONNECTION_LIMIT, STRANGERS + OTHERS, MHD_OPTION_CONNECTION_TIMEOUT,
                         IDLE_SECONDS,
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_BYTES, MHD_OPTION_THREAD_STACK_SIZE,
                         (size_t)512 << 10, MHD_OPTION_UNESCAPE_CALLBACK, keep_encoded, NULL, MHD_OPTION_END);
    return http->daemon != NULL;
}

enum lap_status lap_http_start(const struct lap_http_options *options, struct lap_http **out)
{
    struct lap_http *http = *out = calloc(1, sizeof *http);

    if (!http)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    http->options = *options;
    lap_strangers_init(&http->strangers, STRANGERS);
    http->stop = eventfd(0, EFD_CLOEXEC);
    if (http->stop >= 0 && pthread_create(&http->timer, NULL, time_heads, http) == 0) {
        if (start(http))
            return LAP_OK;
        end_timer(http);
    }
    if (http->stop >= 0)
        close(http->stop);
    free(http);
    *out = NULL;
    return lap_fail(LAP_ERROR_IO, "libmicrohttpd can't start");
}

void lap_http_stop(struct lap_http **http)
{
    if (!*http)
        return;
    MHD_stop_daemon((*http)->daemon);
    end_timer(*http);
    close((*http)->stop);
    free(*http);
    *http = NULL;
}

#else

enum lap_status lap_http_start(const struct lap_http_options *options, struct lap_http **out)
{
    (void)options;
    *out = NULL;
    return lap_fail(LAP_ERROR_UNSUPPORTED, "this build has no server: libmicrohttpd was not there");
}

void lap_http_stop(struct lap_http **http)
{
    *http = NULL;
}

#endif

void lap_http_print_routes(void)
{
    printf("| path below `/v1/captures/ID/` | answer | as |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < lap_route_count; i++) {
        const struct lap_route *route = &lap_routes[i];
        const struct lap_parameter *parameter;
        const char *between = "?";
        printf("| `%s", route->pattern);
        for (size_t j = 0; (parameter = lap_route_parameter(route, j)); j++) {
            char braced[64];
            snprintf(braced, sizeof braced, "{%s}", parameter->name);
            if (strstr(route->pattern, braced))
                continue;
            printf("%s%s", between, parameter->name);
            between = "&";
        }
        printf("` | %s | ", route->about);
        if (route->made_by)
            printf("a file of `%s`", route->made_by);
        else
            printf("`lapilli %s`", route->words[0]);
        printf(" |\n");
    }
}
