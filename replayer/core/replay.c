/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "gen_ids.h"
#include "gen_reflect.h"
#include "gen_replay.h"
#include "replayer/core/replay.h"

#define PLACE_BYTES 640

/* "frame 3, packet 4711 (vkCreateImage), chunk at offset 5432, byte 118: ", or "" outside playback. */
static void write_place(const struct replay *r, char out[PLACE_BYTES])
{
    const char *name =
        r->reader && r->at.packet.ticket ? lap_reader_command_name(r->reader, r->at.packet.command) : NULL;

    out[0] = 0;
    if (name)
        snprintf(out, PLACE_BYTES,
                 "frame %" PRIu64 ", packet %" PRIu64 " (%s%s%s), chunk at offset %" PRIu64 ", byte %" PRIu32,
                 r->at.packet.frame + 1, r->at.packet.ticket, name, r->at.block_command ? ", " : "",
                 r->at.block_command ? r->at.block_command : "", r->at.packet.file_offset, r->at.packet.chunk_byte);
}

/* A failure may belong to an earlier packet; its message then has that packet's position. */
static bool has_place(const char *message)
{
    uint64_t frame, packet;
    int end = 0;

    return sscanf(message, "frame %" SCNu64 ", packet %" SCNu64 " (%n", &frame, &packet, &end) == 2 && end > 0;
}

enum lap_status replay_place(struct replay *r, enum lap_status status)
{
    char place[PLACE_BYTES];

    write_place(r, place);
    if (place[0] && !has_place(lap_error_message()))
        return lap_fail_context(status, "%s", place);
    return status;
}

static enum lap_status fail(struct replay *r, enum lap_status status, const char *format, va_list arguments)
{
    char text[512];

    vsnprintf(text, sizeof text, format, arguments);
    (void)lap_fail(status, "%s", text);
    return replay_place(r, status);
}

enum lap_status replay_fail(struct replay *r, const char *format, ...)
{
    va_list arguments;
    enum lap_status status;

    va_start(arguments, format);
    status = fail(r, LAP_ERROR_REPLAY, format, arguments);
    va_end(arguments);
    return status;
}

enum lap_status replay_invalid(struct replay *r, const char *format, ...)
{
    va_list arguments;
    enum lap_status status;

    va_start(arguments, format);
    status = fail(r, LAP_ERROR_INVALID, format, arguments);
    va_end(arguments);
    return status;
}

enum lap_status replay_refuse(struct replay *r, const char *format, ...)
{
    va_list arguments;
    enum lap_status status;

    va_start(arguments, format);
    status = fail(r, LAP_ERROR_UNSUPPORTED, format, arguments);
    va_end(arguments);
    return status;
}

const char *replay_enum_name(const char *type, int64_t value)
{
    for (uint32_t i = 0; i < GEN_ENUM_COUNT; i++) {
        if (strcmp(gen_enums[i].name, type) != 0)
            continue;
        for (uint32_t j = 0; j < gen_enums[i].value_count; j++)
            if (gen_enums[i].values[j].value == value)
                return gen_enum_value_name(&gen_enums[i].values[j]);
    }
    return NULL;
}

const char *replay_result_name(VkResult result)
{
    const char *name = replay_enum_name("VkResult", result);
    return name ? name : "an unknown VkResult";
}

enum lap_status replay_result(struct replay *r, VkResult result)
{
    if (result >= 0)
        return LAP_OK;
    if (result == VK_ERROR_FORMAT_NOT_SUPPORTED || result == VK_ERROR_FEATURE_NOT_PRESENT ||
        result == VK_ERROR_EXTENSION_NOT_PRESENT)
        return replay_refuse(r, "%s gives %s", gen_command_names[r->at.command], replay_result_name(result));
    return replay_fail(r, "%s gives %s (%d)", gen_command_names[r->at.command], replay_result_name(result),
                       (int)result);
}

enum lap_status replay_missing(struct replay *r, uint32_t command)
{
    const char *provider = gen_command_providers[command];

    /* Object names and debug labels have no visible effect. */
    if (provider && (strcmp(provider, "VK_EXT_debug_utils") == 0 || strcmp(provider, "VK_EXT_debug_marker") == 0))
        return LAP_OK;
    return replay_refuse(r, "the device has no %s", gen_command_names[command]);
}

enum lap_status replay_refuse_command(struct replay *r)
{
    return replay_refuse(r, "%s is never replayed: %s", gen_command_names[r->at.command],
                         gen_replay_refusals[r->at.command]);
}

enum lap_status replay_absent(struct replay *r, const char *parameter)
{
    return replay_invalid(r, "%s has no %s", gen_command_names[r->at.command], parameter);
}

bool replay_is_work(uint32_t command)
{
    static const char *const prefixes[] = {"vkCmdDraw", "vkCmdDispatch", "vkCmdTraceRays", "vkCmdExecuteGenerated",
                                           "vkCmdSubpassShading"};

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(gen_command_names[command], prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

void *replay_scratch(struct replay *r, uint64_t count, size_t element_bytes)
{
    if (count == 0 || count > SIZE_MAX)
        return NULL;
    return lap_arena_zalloc(&r->arena, (size_t)count, element_bytes, 16);
}

enum lap_status replay_no_scratch(struct replay *r)
{
    (void)lap_fail(LAP_ERROR_MEMORY, "no memory for the results of %s", gen_command_names[r->at.command]);
    return replay_place(r, LAP_ERROR_MEMORY);
}

enum lap_status replay_read_blob(struct replay *r, enum lap_blob_kind kind, uint64_t id, const uint8_t **out_data,
                                 size_t *out_bytes)
{
    const uint64_t packet = replay_watch_pause(&r->watch);
    const enum lap_status status = lap_reader_blob(r->reader, kind, id, out_data, out_bytes);

    replay_watch_go_on(&r->watch, packet);
    return status;
}

uint64_t replay_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}
