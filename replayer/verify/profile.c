/* SPDX-License-Identifier: MIT */
#include "replayer/verify/profile.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "gen_ids.h"
#include "inspector/position/position.h"
#include "replayer/core/call_times.h"
#include "replayer/core/handles.h"
#include "replayer/device/queues.h"
#include "replayer/format/format.h"
#include "replayer/submit/gpu_time.h"
#include "replayer/verify/json_line.h"
#include "replayer/verify/read_image.h"

#define COUNTERS STAMP_STATISTICS

/* The clock of a queue. */
struct clock {
    uint64_t mask;
    double tick_ns;
    uint64_t first; /* the smallest tick */
};

struct print {
    struct replay *r;
    const struct stamps *stamps;
    uint64_t *ticks;    /* [timestamp][2]: the value, and whether it is there */
    uint64_t *counters; /* [query][COUNTERS + 1]: the last one says whether they are there; NULL: none */
    struct lap_map clocks;
    struct lap_arena arena;
    uint64_t backwards, missing;
};

/* ---- queries ---- */

/* values: of each query, and whether they are there. */
static enum lap_status read_pool(struct replay *r, uint64_t pool, uint32_t count, uint32_t values, uint64_t **out)
{
    const struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkQueryPool, pool);
    const struct replay_device *dev = object ? (const struct replay_device *)object->owner : NULL;
    const size_t stride = ((size_t)values + 1) * sizeof **out;
    VkResult result;

    if (!dev)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "the queries are gone: nothing was submitted in these frames");
    *out = calloc((size_t)count + 1, stride);
    if (!*out)
        return lap_no_memory("timestamps");
    result = dev->vk.GetQueryPoolResults(dev->live, gen_VkQueryPool(object->live), 0, count, count * stride, *out,
                                         stride, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
    return result == VK_SUCCESS || result == VK_NOT_READY
               ? LAP_OK
               : lap_fail(LAP_ERROR_UNSUPPORTED, "the timestamps can't be read: %s", replay_result_name(result));
}

static struct clock *clock_of(struct print *p, uint64_t queue)
{
    const struct replay_object *object = replay_object_get(p->r, GEN_HANDLE_VkQueue, queue);
    const struct replay_device *dev = object ? (const struct replay_device *)object->owner : NULL;
    const struct replay_queue *live = dev ? replay_queue_find(dev, gen_VkQueue(object->live)) : NULL;
    const uint32_t bits = live ? replay_timestamp_bits(dev, live->family) : 64;
    struct clock *clock = lap_map_get(&p->clocks, queue);

    if (clock)
        return clock;
    clock = lap_arena_zalloc(&p->arena, 1, sizeof *clock, _Alignof(struct clock));
    if (!clock || lap_map_put(&p->clocks, queue, clock, NULL) != LAP_OK)
        return NULL;
    *clock = (struct clock){.mask = bits && bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX,
                            .tick_ns = dev ? (double)dev->instance->properties.limits.timestampPeriod : 1,
                            .first = UINT64_MAX};
    return clock;
}

static bool is_there(const struct print *p, const struct stamp_span *span)
{
    return p->ticks[2 * (size_t)span->from + 1] && p->ticks[2 * (size_t)span->to + 1];
}

static enum lap_status find_clocks(struct print *p)
{
    for (size_t i = 0; i < p->stamps->count; i++) {
        const struct stamp_span *span = &p->stamps->spans[i];
        struct clock *clock = clock_of(p, span->queue);
        uint64_t tick;
        if (!clock)
            return lap_no_memory("timestamps");
        tick = p->ticks[2 * (size_t)span->from] & clock->mask;
        if (is_there(p, span) && tick < clock->first)
            clock->first = tick;
    }
    return LAP_OK;
}

static double time_of(const struct print *p, const struct clock *clock, uint32_t stamp)
{
    const uint64_t tick = p->ticks[2 * (size_t)stamp] & clock->mask;

    return tick > clock->first ? (double)(tick - clock->first) * clock->tick_ns : 0;
}

/* ---- lines ---- */

static bool is_tiler(const VkPhysicalDeviceProperties *properties)
{
    static const uint32_t vendors[] = {0x1010 /* Imagination */, 0x106B /* Apple */, 0x13B5 /* Arm */,
                                       0x14E4 /* Broadcom */, 0x5143 /* Qualcomm */};

    for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++)
        if (properties->vendorID == vendors[i])
            return true;
    return false;
}

static void add_of_gpu(cJSON *object, const char *name, const cJSON *gpu, const char *member)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(gpu, member);

    replay_json_text(object, name, cJSON_GetStringValue(item));
}

static enum lap_status print_head(const struct print *p)
{
    const struct stamps_wish *wish = &p->stamps->wish;
    const struct replay *r = p->r;
    cJSON *gpu = r->summary.gpu_json ? cJSON_Parse(r->summary.gpu_json) : NULL;
    cJSON *line = cJSON_CreateObject(), *head = cJSON_AddObjectToObject(line, "profile");

    add_of_gpu(head, "gpu", gpu, "name");
    add_of_gpu(head, "driver", gpu, "driver");
    add_of_gpu(head, "device_type", gpu, "kind");
    cJSON_Delete(gpu);
    (void)cJSON_AddBoolToObject(head, "tiler", r->devices && is_tiler(&r->devices->instance->properties));
    (void)cJSON_AddNumberToObject(head, "first_frame", (double)wish->first_frame);
    (void)cJSON_AddNumberToObject(head, "last_frame", (double)wish->last_frame);
    (void)cJSON_AddBoolToObject(head, "draws", wish->draws);
    (void)cJSON_AddBoolToObject(head, "statistics", wish->statistics);
    return replay_json_line(line);
}

static void add_targets(cJSON *object, const struct stamp_span *span)
{
    cJSON *list = cJSON_AddArrayToObject(object, "targets");

    for (size_t i = 0; i < span->target_count; i++) {
        const struct stamp_target *target = &span->targets[i];
        cJSON *item = cJSON_CreateObject();
        (void)cJSON_AddStringToObject(item, "name", target->name);
        replay_json_handle(item, "image", GEN_HANDLE_VkImage, target->image);
        replay_json_text(item, "format", replay_format_name(target->format));
        (void)cJSON_AddNumberToObject(item, "width", target->width);
        (void)cJSON_AddNumberToObject(item, "height", target->height);
        (void)cJSON_AddItemToArray(list, item);
    }
}

/* Of several views, their sum. */
static void add_statistics(const struct print *p, cJSON *object, const struct stamp_span *span)
{
    cJSON *list = span->statistics == STAMP_NONE || !p->counters ? NULL : cJSON_AddObjectToObject(object, "statistics");

    for (uint32_t i = 0; list && i < COUNTERS; i++) {
        uint64_t sum = 0;
        for (uint32_t k = 0; k < span->counters; k++)
            sum += p->counters[((size_t)span->statistics + k) * (COUNTERS + 1) + i];
        (void)cJSON_AddNumberToObject(list, stamp_statistics[i], (double)sum);
    }
}

static enum lap_status print_span(struct print *p, const struct stamp_span *span)
{
    static const char *const kinds[] = {
        [STAMP_COMMANDS] = "commands", [STAMP_PASS] = "pass", [STAMP_LABEL] = "label", [STAMP_WORK] = "work"};
    const struct clock *clock = clock_of(p, span->queue);
    const double begin = clock ? time_of(p, clock, span->from) : 0, end = clock ? time_of(p, clock, span->to) : 0;
    cJSON *object = cJSON_CreateObject();
    char text[POSITION_TEXT_BYTES];

    p->backwards += end < begin;
    (void)cJSON_AddStringToObject(object, "kind", kinds[span->kind]);
    (void)cJSON_AddStringToObject(object, "position", position_text(&span->position, text));
    replay_json_text(object, "end", span->end.count ? position_text(&span->end, text) : NULL);
    replay_json_text(object, "command", span->command ? gen_command_names[span->command] : NULL);
    replay_json_text(object, "name", span->name);
    replay_json_handle(object, "queue", GEN_HANDLE_VkQueue, span->queue);
    (void)cJSON_AddNumberToObject(object, "depth", span->depth);
    (void)cJSON_AddNumberToObject(object, "begin_ns", begin);
    (void)cJSON_AddNumberToObject(object, "end_ns", end > begin ? end : begin);
    if (span->kind == STAMP_PASS)
        add_targets(object, span);
    replay_json_handle(object, "pipeline", GEN_HANDLE_VkPipeline, span->pipeline);
    (void)cJSON_AddNumberToObject(object, "draws", (double)span->draws);
    (void)cJSON_AddNumberToObject(object, "dispatches", (double)span->dispatches);
    add_statistics(p, object, span);
    return replay_json_line(object);
}

static enum lap_status print_calls(const struct print *p)
{
    const struct stamps_wish *wish = &p->stamps->wish;
    const struct replay_call_time *times;
    size_t count, at = 0;
    enum lap_status status = replay_call_times_list(p->r->call_times, &times, &count);

    for (uint64_t frame = wish->first_frame; frame <= wish->last_frame && status == LAP_OK; frame++) {
        cJSON *line = cJSON_CreateObject(), *calls;
        uint64_t sum = 0;
        (void)cJSON_AddNumberToObject(line, "frame", (double)frame);
        for (size_t i = at; i < count && times[i].frame == frame; i++)
            sum += times[i].ns;
        (void)cJSON_AddNumberToObject(line, "cpu_ns", (double)sum);
        calls = cJSON_AddArrayToObject(line, "calls");
        for (; at < count && times[at].frame == frame; at++) {
            cJSON *call = cJSON_CreateObject();
            (void)cJSON_AddStringToObject(call, "command", gen_command_names[times[at].command]);
            (void)cJSON_AddNumberToObject(call, "calls", (double)times[at].calls);
            (void)cJSON_AddNumberToObject(call, "ns", (double)times[at].ns);
            (void)cJSON_AddItemToArray(calls, call);
        }
        status = replay_json_line(line);
    }
    return status;
}

static enum lap_status print_end(const struct print *p)
{
    const struct stamps *s = p->stamps;
    cJSON *line = cJSON_CreateObject(), *end = cJSON_AddObjectToObject(line, "end"), *left_out;

    (void)cJSON_AddNumberToObject(end, "stamps", s->timestamp_count);
    (void)cJSON_AddNumberToObject(end, "backwards", (double)p->backwards);
    (void)cJSON_AddNumberToObject(end, "missing", (double)p->missing);
    left_out = cJSON_AddArrayToObject(end, "left_out");
    for (size_t i = 0; i < s->left_out_count; i++)
        (void)cJSON_AddItemToArray(left_out, cJSON_CreateString(s->left_out[i]));
    return replay_json_line(line);
}

static enum lap_status print_all(struct print *p)
{
    const struct stamps *s = p->stamps;
    enum lap_status status = find_clocks(p);

    if (status == LAP_OK)
        status = print_head(p);
    for (size_t i = 0; i < s->count && status == LAP_OK; i++) {
        const bool is_whole = is_there(p, &s->spans[i]);
        p->missing += !is_whole;
        if (is_whole)
            status = print_span(p, &s->spans[i]);
    }
    if (status == LAP_OK)
        status = print_calls(p);
    return status == LAP_OK ? print_end(p) : status;
}

enum lap_status replay_print_profile(struct replay *r)
{
    struct print p = {.r = r, .stamps = r->options.profile.stamps};
    enum lap_status status = replay_settle(r);

    lap_map_init(&p.clocks);
    lap_arena_init(&p.arena, 0);
    if (status == LAP_OK)
        status = read_pool(r, p.stamps->timestamps, p.stamps->timestamp_count, 1, &p.ticks);
    if (status == LAP_OK && p.stamps->statistics)
        status = read_pool(r, p.stamps->statistics, p.stamps->query_count, COUNTERS, &p.counters);
    if (status == LAP_OK)
        status = print_all(&p);
    free(p.ticks);
    free(p.counters);
    lap_map_finish(&p.clocks);
    lap_arena_finish(&p.arena);
    return status;
}
