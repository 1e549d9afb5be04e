/* SPDX-License-Identifier: MIT */
#include "replayer/core/result.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/version.h"

#define ERROR_BYTES 2048u

/* A failure in a packet begins with its position: replay_place. */
static bool find_place(const char *error, uint64_t *out_frame, uint64_t *out_packet)
{
    return sscanf(error, "frame %" SCNu64 ", packet %" SCNu64 " (", out_frame, out_packet) == 2;
}

static bool add_number(cJSON *object, const char *key, uint64_t value)
{
    return cJSON_AddNumberToObject(object, key, (double)value) != NULL;
}

static bool add_place(cJSON *object, bool known, uint64_t frame, uint64_t packet)
{
    if (!known)
        return cJSON_AddNullToObject(object, "packet") && cJSON_AddNullToObject(object, "frame");
    return add_number(object, "packet", packet) && add_number(object, "frame", frame);
}

static bool add_error(cJSON *object, const struct replay_result *result)
{
    const char *text = result->error;
    uint64_t frame = result->verify.frame, packet = result->verify.packet;
    cJSON *error;
    bool known;

    if (!text || !text[0])
        return cJSON_AddNullToObject(object, "error") != NULL;
    error = cJSON_AddObjectToObject(object, "error");
    known = find_place(text, &frame, &packet) || result->verify.kind;
    return error && cJSON_AddStringToObject(error, "text", text) && add_place(error, known, frame, packet);
}

static bool add_uuid(cJSON *object, const uint8_t *uuid)
{
    char text[33];

    if (!uuid)
        return cJSON_AddNullToObject(object, "trace_uuid") != NULL;
    for (unsigned i = 0; i < 16; i++)
        snprintf(text + (size_t)2 * i, 3, "%02x", uuid[i]);
    return cJSON_AddStringToObject(object, "trace_uuid", text) != NULL;
}

static bool add_verify(cJSON *object, const struct replay_result *result)
{
    const struct replay_result_verify *found = &result->verify;
    cJSON *verify, *first;

    if (!result->has_verify)
        return cJSON_AddNullToObject(object, "verify") != NULL;
    verify = cJSON_AddObjectToObject(object, "verify");
    if (!verify || !add_number(verify, "checks", found->checks) || !add_number(verify, "within", found->within) ||
        !add_number(verify, "different", found->different) || !add_number(verify, "left_out", found->left_out))
        return false;
    if (!found->kind)
        return cJSON_AddNullToObject(verify, "first") != NULL;
    first = cJSON_AddObjectToObject(verify, "first");
    return first && cJSON_AddStringToObject(first, "kind", found->kind) && add_number(first, "frame", found->frame) &&
           add_number(first, "packet", found->packet) && cJSON_AddStringToObject(first, "object", found->object);
}

/* NULL: no memory. */
static char *text_of(const struct replay_result *result)
{
    cJSON *object = cJSON_CreateObject();
    const bool whole = cJSON_AddStringToObject(object, "version", LAPILLI_VERSION) &&
                       cJSON_AddStringToObject(object, "outcome", result->outcome) &&
                       cJSON_AddNumberToObject(object, "exit", result->code) && add_error(object, result) &&
                       cJSON_AddRawToObject(object, "gpu", result->gpu ? result->gpu : "null") &&
                       add_uuid(object, result->uuid) && add_number(object, "frames", result->frames) &&
                       add_verify(object, result) && add_number(object, "peak_bytes", result->peak_bytes) &&
                       add_number(object, "host_peak_bytes", result->host_peak_bytes) &&
                       cJSON_AddNumberToObject(object, "wall_ms", result->wall_ms) &&
                       cJSON_AddTrueToObject(object, "end");
    char *text = whole ? cJSON_PrintUnformatted(object) : NULL;

    cJSON_Delete(object);
    return text;
}

static bool put(int fd, const char *text, size_t bytes)
{
    while (bytes) {
        ssize_t written = write(fd, text, bytes);
        if (written < 0 && errno != EINTR)
            return false;
        text += written > 0 ? written : 0;
        bytes -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

enum lap_status replay_result_write(int fd, const char *file, const struct replay_result *result)
{
    char *text = text_of(result);
    bool written;
    int error;

    if (!text)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for --report");
    written = put(fd, text, strlen(text)) && put(fd, "\n", 1);
    error = errno;
    cJSON_free(text);
    return written ? LAP_OK : lap_fail(LAP_ERROR_IO, "%s can't be written: %s", file, strerror(error));
}

void replay_result_write_failed(int fd, int code, const char *error)
{
    char line[2 * ERROR_BYTES + 512], place[64] = "\"packet\":null,\"frame\":null", text[2 * ERROR_BYTES];
    uint64_t frame = 0, packet = 0;
    size_t used = 0;
    int length;

    for (const char *at = error; *at && used + 3 < sizeof text; at++) {
        if (*at == '"' || *at == '\\')
            text[used++] = '\\';
        text[used++] = (unsigned char)*at < ' ' ? '?' : *at;
    }
    text[used] = 0;
    if (find_place(error, &frame, &packet))
        snprintf(place, sizeof place, "\"packet\":%" PRIu64 ",\"frame\":%" PRIu64, packet, frame);
    length =
        snprintf(line, sizeof line,
                 "{\"version\":\"" LAPILLI_VERSION "\",\"outcome\":\"failed\",\"exit\":%d,\"error\":{\"text\":\"%s\","
                 "%s},\"gpu\":null,\"trace_uuid\":null,\"frames\":0,\"verify\":null,\"peak_bytes\":0,"
                 "\"host_peak_bytes\":0,\"wall_ms\":0,\"end\":true}\n",
                 code, text, place);
    if (length > 0 && (size_t)length < sizeof line)
        (void)put(fd, line, (size_t)length);
}
