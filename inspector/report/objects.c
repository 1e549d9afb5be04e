/* SPDX-License-Identifier: MIT */
/* Objects that nothing uses, and those that the program leaves; the names of all objects that are in the report; and
 * extensions that the program enables, and no call shows a use of. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen_needs.h"
#include "gen_reflect.h"
#include "inspector/analysis/trace_analysis.h"
#include "inspector/report/inside.h"
#include "inspector/state/objects.h"
#include "inspector/state/unused.h"

static const char *name_of(const struct state_objects *objects, size_t number)
{
    const struct state_notes *notes = state_objects_notes(objects, number);
    return notes ? notes->at[1].name : NULL;
}

/* 0: none are known. */
static uint64_t bytes_of(const struct state_objects *objects, size_t number)
{
    const struct state_notes *notes = state_objects_notes(objects, number);
    uint64_t bytes = 0;

    for (const struct state_binding *b = notes ? notes->binding : NULL; b; b = b->before)
        bytes += b->plane || b == notes->binding ? b->size : 0;
    return bytes;
}

static struct report_finding finding_of(const struct state_objects *objects, const struct object_life *life,
                                        size_t number)
{
    return (struct report_finding){.position = {.of_packet = true, .count = 1, .numbers = {life->begin - 1}},
                                   .type = life->type,
                                   .index = life->index,
                                   .name = name_of(objects, number),
                                   .bytes = bytes_of(objects, number)};
}

/* ---- unused ---- */

static enum lap_status add_unused(struct report_inside *r, const struct state_objects *objects,
                                  const struct unused *unused)
{
    const struct object_lives *lives = state_objects_lives(objects);
    const struct object_life *life = &lives->lives[unused->number];
    const struct object_life *other = unused->other == SIZE_MAX ? NULL : &lives->lives[unused->other];
    const struct report_finding finding = finding_of(objects, life, unused->number);
    enum report_rule_number rule = life->type == GEN_HANDLE_VkImage    ? REPORT_IMAGE_UNUSED
                                   : life->type == GEN_HANDLE_VkBuffer ? REPORT_BUFFER_UNUSED
                                                                       : REPORT_OBJECT_UNUSED;

    if (other && life->type == GEN_HANDLE_VkDeviceMemory)
        return LAP_OK; /* those that are bound in it are in the report */
    if (other)
        return report_find(r, rule, &finding, "only for %s:%" PRIu64 ", which nothing uses",
                           gen_handle_names[other->type], other->index);
    return unused->described ? report_find(r, rule, &finding, "only in descriptors that nothing finds bound")
                             : report_find(r, rule, &finding, NULL);
}

static enum lap_status find_unused(struct report_inside *r, const struct state_objects *objects)
{
    const struct object_lives *lives = state_objects_lives(objects);
    struct unused *unused;
    size_t count;
    enum lap_status status;

    r->pass++;
    status = unused_find(r->trace, objects, report_progress, r, &unused, &count);
    for (size_t i = 0; i < lives->count; i++) {
        bool is_image = lives->lives[i].type == GEN_HANDLE_VkImage,
             is_buffer = lives->lives[i].type == GEN_HANDLE_VkBuffer;
        r->report->rules[is_image ? REPORT_IMAGE_UNUSED : is_buffer ? REPORT_BUFFER_UNUSED : REPORT_OBJECT_UNUSED].of++;
    }
    for (size_t i = 0; i < count; i++) {
        enum lap_status added = add_unused(r, objects, &unused[i]);
        status = status == LAP_OK ? added : status;
    }
    free(unused);
    return status;
}

/* ---- left ---- */

static bool is_always_there(uint32_t type)
{
    return type == GEN_HANDLE_VkInstance || type == GEN_HANDLE_VkPhysicalDevice || type == GEN_HANDLE_VkQueue ||
           type == GEN_HANDLE_VkDisplayKHR || type == GEN_HANDLE_VkDisplayModeKHR;
}

/* It ends by the end of its device, or of its instance, alone. */
static bool is_left(const struct object_lives *lives, const struct object_life *life)
{
    const struct object_life *parent = life->parent == SIZE_MAX ? NULL : &lives->lives[life->parent];

    return parent && life->end && life->end == parent->end &&
           (parent->type == GEN_HANDLE_VkDevice || parent->type == GEN_HANDLE_VkInstance) &&
           !is_always_there(life->type);
}

/* A trace that was cut, or that was recorded from some place to another. */
static bool is_part(const struct lap_reader_summary *summary)
{
    cJSON *info = cJSON_Parse(summary->info);
    const cJSON *part = cJSON_GetObjectItemCaseSensitive(info, "part");
    const cJSON *trimmed = cJSON_GetObjectItemCaseSensitive(info, "trimmed");
    bool is = (part && !cJSON_IsNull(part)) || (trimmed && !cJSON_IsNull(trimmed));

    cJSON_Delete(info);
    return is;
}

static enum lap_status find_left(struct report_inside *r, const struct state_objects *objects)
{
    const struct object_lives *lives = state_objects_lives(objects);
    const struct lap_reader_summary *summary = lap_reader_summary(r->trace);
    struct report_rule *rule = &r->report->rules[REPORT_OBJECT_LEFT];
    uint64_t others = 0;
    enum lap_status status = LAP_OK;

    if (!summary->complete || summary->ended) {
        rule->ran = false;
        rule->why = "the program, or its recording, ended before it could end its objects";
        return LAP_OK;
    }
    if (is_part(summary)) {
        rule->ran = false;
        rule->why = "the trace is a part of a run";
        return LAP_OK;
    }
    for (size_t i = 0; i < lives->count; i++) {
        const struct object_life *life = &lives->lives[i];
        others += !life->end && !is_always_there(life->type) && life->type != GEN_HANDLE_VkDevice;
    }
    for (size_t i = 0; i < lives->count && status == LAP_OK; i++) {
        const struct object_life *life = &lives->lives[i];
        const struct report_finding finding = finding_of(objects, life, i);
        rule->of += !is_always_there(life->type) || life->type == GEN_HANDLE_VkInstance;
        if (!life->end && (life->type == GEN_HANDLE_VkDevice || life->type == GEN_HANDLE_VkInstance))
            status = report_find(r, REPORT_OBJECT_LEFT, &finding,
                                 "it is never destroyed; at the end %" PRIu64 " objects live in all", others);
        else if (is_left(lives, life))
            status = report_find(r, REPORT_OBJECT_LEFT, &finding, "it lives when %s:%" PRIu64 " ends",
                                 gen_handle_names[lives->lives[life->parent].type], lives->lives[life->parent].index);
    }
    return status;
}

/* ---- names ---- */

static void name_findings(struct report_inside *r, const struct state_objects *objects)
{
    const struct object_lives *lives = state_objects_lives(objects);

    for (unsigned i = 0; i < REPORT_RULES; i++)
        for (size_t k = 0; k < r->report->rules[i].kept; k++) {
            struct report_finding *f = &r->report->rules[i].findings[k];
            const struct object_life *life = f->type && !f->name ? state_objects_get(objects, f->type, f->index) : NULL;
            const char *name = life ? name_of(objects, (size_t)(life - lives->lives)) : NULL;
            size_t bytes = name ? strlen(name) + 1 : 0;
            char *copy = bytes ? lap_arena_alloc(&r->arena, bytes, 1) : NULL;
            if (copy)
                f->name = memcpy(copy, name, bytes);
        }
}

enum lap_status report_find_objects(struct report_inside *r)
{
    uint64_t packets = lap_reader_summary(r->trace)->packets;
    const struct state_wish wish = {.last = packets ? packets : 1, .up_to_damage = true};
    struct state_objects *objects;
    enum lap_status status = state_objects_find(r->trace, &wish, &objects), found = LAP_OK;

    if (!objects)
        return status;
    if (r->report->whole && r->is_blind) {
        static const char why[] = "descriptors are in buffers or heaps, and uses through these are not seen";
        for (unsigned i = REPORT_IMAGE_UNUSED; i <= REPORT_OBJECT_UNUSED; i++) {
            r->report->rules[i].ran = false;
            r->report->rules[i].why = why;
        }
    } else if (r->report->whole && status != LAP_ERROR_MEMORY) {
        found = find_unused(r, objects);
    }
    if (r->report->whole && found == LAP_OK)
        found = find_left(r, objects);
    name_findings(r, objects);
    state_objects_free(&objects);
    return status == LAP_OK ? found : status;
}

/* ---- extensions ---- */

enum lap_status report_find_extensions(struct report_inside *r)
{
    struct trace_analysis *analysis;
    enum lap_status status = trace_analysis_create(r->trace, 0, &analysis), found = LAP_OK;
    const struct feature_use *uses;

    if (status != LAP_OK)
        return status;
    r->pass++;
    status = trace_analysis_get(analysis, TRACE_ANALYSIS_FEATURES);
    uses = trace_analysis_features(analysis);
    for (unsigned i = 0; uses && i < GEN_EXTENSION_COUNT && found == LAP_OK; i++) {
        const struct report_finding finding = {.command = GEN_COMMAND_NONE};
        bool is_asked = false;
        if (!uses->enabled_extensions[i])
            continue;
        r->report->rules[REPORT_EXTENSION_UNUSED].of++;
        for (const uint16_t *c = gen_extensions[i].commands; *c; c++)
            is_asked |= r->seen[*c];
        if (!is_asked && !feature_use_has(uses, i))
            found = report_find(r, REPORT_EXTENSION_UNUSED, &finding, "%s", gen_extensions[i].name);
    }
    trace_analysis_destroy(&analysis);
    return status == LAP_OK ? found : status;
}
