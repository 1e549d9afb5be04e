/* SPDX-License-Identifier: MIT */
#include "inspector/question/each.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "inspector/question/place_range.h"
#include "inspector/state/bound_walk.h"
#include "inspector/twin/weave.h"
#include "vulkan/texel/texels.h"

#define MOST_STOPS 4096u /* in one replay */
#define ALIGNMENT  16u   /* of copies */

struct each {
    const struct each_request *request;
    struct picture_list *pictures;
    struct each_result *result;
    struct image_infos images;
    struct lap_arena arena;
    struct place_range range;
    uint64_t most_bytes;
    struct picture_list targets; /* of the current command */
    char names[256];             /* of all targets that were seen */
    bool has_wanted;
    struct weave_plan plan;
    size_t stop_capacity, copy_capacity;
};

static bool is_same(const struct position *a, const struct position *b)
{
    return a->count == b->count && memcmp(a->numbers, b->numbers, a->count * sizeof *a->numbers) == 0;
}

/* ---- stops ---- */

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static enum lap_status leave_out(struct each *e, const char *name, const char *why)
{
    if (!e->result->left_out[0])
        snprintf(e->result->left_out, sizeof e->result->left_out, "%s %s", name, why);
    return LAP_OK;
}

static void note_name(struct each *e, const char *name)
{
    const size_t length = strlen(e->names);

    if (!picture_names_have(e->names, name) && length + strlen(name) + 2 < sizeof e->names)
        snprintf(e->names + length, sizeof e->names - length, "%s%s", length ? "," : "", name);
}

/* The copy of a target, and the target as it is read from there. False: there is no way. */
static bool plan_copy(struct each *e, struct picture_target *target, struct weave_copy *copy)
{
    const VkImageCreateInfo *info = image_info_of(&e->images, target->image.index);
    const bool is_volume = info && info->imageType == VK_IMAGE_TYPE_3D;
    struct lap_texels texels;

    if (!info || info->flags & VK_IMAGE_CREATE_PROTECTED_BIT || lap_format_planes(info->format) > 1 ||
        !lap_texels_describe(info, target->image.aspect, target->image.level, is_volume ? 0 : target->image.layer,
                             &texels))
        return false;
    target->copied = (struct picture_copied){.format = info->format,
                                             .width = texels.extent.width,
                                             .height = texels.extent.height,
                                             .row_bytes = texels.row_bytes,
                                             .is_volume = is_volume};
    *copy = (struct weave_copy){.image = target->image.index,
                                .aspect = (VkImageAspectFlagBits)target->image.aspect,
                                .aspects = lap_texels_aspects(info->format),
                                .layout = target->image.layout,
                                .level = target->image.level,
                                .layer = target->image.layer,
                                .is_volume = is_volume,
                                .width = texels.extent.width,
                                .height = texels.extent.height};
    return true;
}

/* The number of the list's last picture of the same target, plus 1; 0: there is none in this render pass. */
static size_t last_of(const struct each *e, const struct picture_target *target, size_t first)
{
    for (size_t i = e->pictures->count; i-- > first;)
        if (strcmp(e->pictures->at[i].name, target->name) == 0 && e->pictures->at[i].image.index == target->image.index)
            return i + 1;
    return 0;
}

static enum lap_status add_copy(struct each *e, struct picture_target target, size_t first_of_pass)
{
    struct weave_copy copy;

    if (!plan_copy(e, &target, &copy))
        return leave_out(e, target.name, "is protected, or has a format that single copies do not take");
    target.copied.before = last_of(e, &target, first_of_pass);
    target.copied.at = copy.at = e->plan.bytes;
    if (!lap_array_grow(&e->plan.copies, sizeof copy, &e->copy_capacity, e->plan.copy_count + 1))
        return lap_no_memory("pictures");
    e->plan.copies[e->plan.copy_count++] = copy;
    e->plan.bytes += round_up(target.copied.row_bytes * copy.height);
    return picture_list_append(e->pictures, &target);
}

static bool is_wanted(const struct each *e, const char *name)
{
    return !e->request->names || picture_names_have(e->request->names, name);
}

/* hidden: the pictures are only compared with. */
static enum lap_status add_stop(struct each *e, const struct bound_visit *visit, const struct pass_targets *pass,
                                bool is_begin, bool hidden, size_t first_of_pass)
{
    const struct position begin = pass_targets_begin(pass, &visit->position);
    struct weave_stop *stop;
    enum lap_status status = LAP_OK;

    if (!lap_array_grow(&e->plan.stops, sizeof *e->plan.stops, &e->stop_capacity, e->plan.stop_count + 1))
        return lap_no_memory("pictures");
    stop = &e->plan.stops[e->plan.stop_count];
    *stop = (struct weave_stop){.position = is_begin ? begin : visit->position,
                                .begin = begin,
                                .render_pass = pass->kind == BOUND_RENDER_PASS ? pass->render_pass : 0,
                                .first = e->plan.copy_count};
    for (size_t i = 0; i < e->targets.count && status == LAP_OK; i++) {
        struct picture_target target = e->targets.at[i];
        if (!is_wanted(e, target.name) || (e->request->one && e->plan.copy_count > stop->first))
            continue;
        target.position = stop->position;
        target.command = is_begin ? GEN_COMMAND_NONE : visit->command;
        target.is_hidden = hidden;
        status = add_copy(e, target, first_of_pass);
    }
    stop->count = e->plan.copy_count - stop->first;
    e->plan.stop_count += stop->count > 0;
    return status;
}

/* The list's first picture of the render pass; its end: there is none yet. */
static size_t first_of(const struct each *e, const struct position *begin)
{
    size_t stop = e->plan.stop_count;

    while (stop > 0 && is_same(&e->plan.stops[stop - 1].begin, begin))
        stop--;
    return stop < e->plan.stop_count ? e->plan.stops[stop].first : e->pictures->count;
}

static uint64_t bytes_of_targets(struct each *e)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < e->targets.count; i++) {
        struct weave_copy copy;
        struct picture_target target = e->targets.at[i];
        if (is_wanted(e, target.name) && !(e->request->one && bytes) && plan_copy(e, &target, &copy))
            bytes += round_up(target.copied.row_bytes * copy.height);
    }
    return bytes;
}

static bool is_full(struct each *e, bool needs_begin)
{
    const uint64_t bytes = bytes_of_targets(e) * (needs_begin ? 2 : 1);

    return e->plan.stop_count > 1 && (e->plan.stop_count + 2 > MOST_STOPS || e->plan.bytes + bytes > e->most_bytes);
}

/* A command with pictures. */
static enum lap_status add_command(struct each *e, const struct bound_visit *visit, const struct pass_targets *pass)
{
    const struct position begin = pass_targets_begin(pass, &visit->position);
    const size_t first = first_of(e, &begin);
    const bool needs_begin = first == e->pictures->count;
    const uint64_t number = e->result->commands++;
    enum lap_status status = LAP_OK;

    if (e->pictures->next || number + 1 < e->pictures->first)
        return LAP_OK;
    if (number + 1 == e->pictures->first) /* the next one is compared with it */
        return add_stop(e, visit, pass, false, true, first);
    if (is_full(e, needs_begin)) {
        e->pictures->next = number;
        return LAP_OK;
    }
    if (needs_begin)
        status = add_stop(e, visit, pass, true, true, first);
    return status == LAP_OK ? add_stop(e, visit, pass, false, false, first) : status;
}

/* ---- commands ---- */

static enum lap_status refuse(struct each *e, const char *why)
{
    if (!e->result->without++)
        snprintf(e->result->why, sizeof e->result->why, "%s", why);
    return LAP_OK;
}

static enum lap_status visit(void *user, const struct bound_visit *visit)
{
    struct each *e = user;
    struct pass_targets pass;
    bool any = false;
    enum lap_status status;

    if (!place_range_has(&e->range, visit))
        return place_range_is_over(&e->range) ? LAP_END : LAP_OK;
    if (visit->work == POSITION_STATE || visit->work == POSITION_PASS)
        return LAP_OK;
    lap_arena_reset(&e->arena);
    status = pass_targets_find(visit, &e->arena, &pass);
    if (status != LAP_OK)
        return status;
    if (pass.kind == BOUND_NO_PASS)
        return visit->work == POSITION_DRAW ? refuse(e, "nothing begins its render pass") : LAP_OK;
    if (pass.kind == BOUND_RENDER_PASS && pass.subpasses != 1)
        return refuse(e, "its render pass has several subpasses, between which it can't be split yet");
    if (visit->bound->feedback_command != BOUND_NO_COMMAND)
        return refuse(e, "transform feedback is open, which can't be split yet");
    pass_targets_are_inside(&pass);
    e->targets.count = 0;
    status = pass_targets_list(&pass, &e->images, 0, &e->targets, e->result->left_out);
    for (size_t i = 0; i < e->targets.count && status == LAP_OK; i++) {
        note_name(e, e->targets.at[i].name);
        any |= is_wanted(e, e->targets.at[i].name);
    }
    e->has_wanted |= any;
    if (status != LAP_OK)
        return status;
    return any ? add_command(e, visit, &pass)
               : refuse(e, e->targets.count         ? "its render pass has no such target"
                           : e->result->left_out[0] ? e->result->left_out
                                                    : "its render pass has no attachments");
}

static enum lap_status visit_call(void *user, const struct trace_call *call)
{
    return image_infos_see(&((struct each *)user)->images, call);
}

static enum lap_status walk(struct each *e, const struct lap_reader *trace)
{
    static const uint16_t calls[] = {IMAGE_INFOS_COMMANDS, GEN_COMMAND_NONE};
    struct bound_walk_options options = {.visit_call = visit_call, .calls = calls};
    enum lap_status status = place_range_begin(&e->range, trace, &e->request->at, &options);

    return status == LAP_OK ? bound_walk(trace, &options, visit, e) : status;
}

static enum lap_status check(const struct each *e)
{
    char text[POSITION_TEXT_BYTES];

    position_text(&e->request->at, text);
    if (e->plan.stop_count)
        return LAP_OK;
    if (e->result->without && (e->has_wanted || !e->names[0]))
        return lap_fail(LAP_ERROR_UNSUPPORTED, "%s: %s", text, e->result->why);
    if (e->names[0] && !e->has_wanted)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s has no target %s: there is %s", text, e->request->names, e->names);
    return e->result->left_out[0] ? lap_fail(LAP_ERROR_UNSUPPORTED, "%s: %s", text, e->result->left_out)
                                  : lap_fail(LAP_ERROR_ARGUMENT, "%s has no draw", text);
}

enum lap_status edit_each(const struct lap_reader *trace, const struct each_request *request, struct lap_edits *edits,
                          struct picture_list *pictures, struct each_result *result)
{
    struct each e = {.request = request,
                     .pictures = pictures,
                     .result = result,
                     .most_bytes = request->most_bytes ? request->most_bytes : EACH_MOST_BYTES,
                     .plan.ends = true};
    struct weave_result woven;
    enum lap_status status;

    *result = (struct each_result){.commands = 0};
    pictures->next = 0;
    image_infos_init(&e.images);
    lap_arena_init(&e.arena, 0);
    status = walk(&e, trace);
    if (status == LAP_OK)
        status = check(&e);
    if (status == LAP_OK)
        status = edit_weave(trace, &e.plan, edits, &woven);
    if (status == LAP_OK) {
        pictures->buffer = woven.buffer;
        result->queries = woven.queries;
    }
    picture_list_finish(&e.targets);
    free(e.plan.stops);
    free(e.plan.copies);
    image_infos_finish(&e.images);
    lap_arena_finish(&e.arena);
    return status;
}
