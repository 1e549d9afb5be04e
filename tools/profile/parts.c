/* SPDX-License-Identifier: MIT */
#include "tools/profile/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tools/common/arena_text.h"
#include "tools/profile/name_table.h"
#include "tools/profile/replays.h"

#define MOST_QUEUES 64u

struct gather {
    struct profile *profile;
    const struct profile_raw *counts; /* has the statistics; NULL: none */
    struct lap_arena *arena;
    struct profile_names keys, queues, commands;
    struct profile_part *parts; /* in order of their first thing */
    size_t part_count, part_capacity;
    size_t *thing_numbers; /* by parts: those of part i begin at part_begins[i] */
    size_t *part_begins;
    double *queue_ms; /* [queues][loops][frames] */
    double *values;   /* for the times of one part: [loops][things of it] */
};

static void *array_of(const struct gather *gather, size_t count, size_t size)
{
    return lap_arena_zalloc(gather->arena, count ? count : 1, size, 8);
}

/* ---- loops ---- */

/* A replay does the same each time, so its things have the same numbers. */
static enum lap_status compare_loops(const struct profile *profile, const struct profile_raw *counts)
{
    const struct profile_raw *first = &profile->raws[0];

    for (size_t i = 1; i < profile->loops + (counts != NULL); i++) {
        const struct profile_raw *other = i < profile->loops ? &profile->raws[i] : counts;
        bool same = other->thing_count == first->thing_count && other->frame_count == first->frame_count;
        for (size_t k = 0; same && k < first->frame_count; k++)
            same = other->frames[k].number == first->frames[k].number;
        for (size_t k = 0; same && k < first->thing_count; k++)
            same = other->things[k].kind == first->things[k].kind && other->things[k].depth == first->things[k].depth &&
                   strcmp(other->things[k].position, first->things[k].position) == 0 &&
                   strcmp(other->things[k].queue, first->things[k].queue) == 0;
        if (!same)
            return lap_fail(LAP_ERROR_FORMAT, "replay %zu timed other work than the first one", i + 1);
    }
    return LAP_OK;
}

/* ---- keys ---- */

static const char *formats_of(const struct gather *gather, const struct profile_thing *thing)
{
    const char *text = "";

    for (size_t i = 0; text && i < thing->target_count; i++)
        text = lap_arena_print(gather->arena, "%s %s", text, thing->targets[i].format);
    return text;
}

/* NULL: out of memory. */
static const char *own_key(const struct gather *gather, size_t number)
{
    const struct profile_raw *raw = &gather->profile->raws[0];
    const struct profile_thing *thing = &raw->things[number], *inner = NULL;
    const char *formats;

    switch (thing->kind) {
    case PROFILE_COMMANDS: /* by its first pass or label, since those of uploads come and go */
        for (size_t i = number + 1; i < raw->thing_count && raw->things[i].depth; i++) {
            bool is_work = raw->things[i].kind == PROFILE_WORK;
            if (raw->things[i].depth == 1 && (!inner || !is_work))
                inner = &raw->things[i];
            if (inner && !is_work)
                break;
        }
        return lap_arena_print(gather->arena, "%s %s", thing->queue,
                               !inner           ? "-"
                               : inner->name    ? inner->name
                               : inner->command ? inner->command
                                                : profile_kind_name(inner->kind));
    case PROFILE_WORK:
        return lap_arena_print(gather->arena, "%s%s%s", thing->command ? thing->command : "work",
                               thing->pipeline ? " " : "", thing->pipeline ? thing->pipeline : "");
    default:
        if (thing->name)
            return lap_arena_print(gather->arena, "%s \"%s\"", profile_kind_name(thing->kind), thing->name);
        formats = formats_of(gather, thing);
        return formats ? lap_arena_print(gather->arena, "%s%s", profile_kind_name(thing->kind), formats) : NULL;
    }
}

static enum lap_status add_part(struct gather *gather, const char *key, size_t number)
{
    const struct profile_thing *thing = &gather->profile->raws[0].things[number];

    if (!lap_array_grow(&gather->parts, sizeof *gather->parts, &gather->part_capacity, gather->part_count + 1) ||
        !profile_names_add(&gather->keys, key, gather->part_count))
        return lap_no_memory(NULL);
    gather->parts[gather->part_count] =
        (struct profile_part){.key = key,
                              .kind = thing->kind,
                              .depth = thing->depth,
                              .parent = thing->depth ? gather->profile->thing_parts[thing->parent] : PROFILE_NONE,
                              .first_child = PROFILE_NONE,
                              .last_child = PROFILE_NONE,
                              .next = PROFILE_NONE,
                              .first = thing};
    gather->profile->thing_parts[number] = gather->part_count++;
    return LAP_OK;
}

/* The part of a thing: the first of this key; or, in a frame that has that already, the second, and so on. */
static enum lap_status find_part(struct gather *gather, size_t number)
{
    struct profile *profile = gather->profile;
    const struct profile_thing *thing = &profile->raws[0].things[number];
    const char *key = own_key(gather, number);
    const struct profile_name *found;
    struct profile_part *part;
    enum lap_status status = LAP_OK;

    if (key && thing->depth)
        key = lap_arena_print(gather->arena, "%s / %s", gather->parts[profile->thing_parts[thing->parent]].key, key);
    if (!key)
        return lap_no_memory(NULL);
    found = profile_names_find(&gather->keys, key);
    if (!found) {
        status = add_part(gather, key, number);
        part = status == LAP_OK ? &gather->parts[gather->part_count - 1] : NULL;
    } else {
        part = &gather->parts[found->number];
        profile->thing_parts[number] = found->number;
    }
    if (!part)
        return status;
    if (part->last_frame != thing->frame)
        part->in_frame = 0;
    part->last_frame = thing->frame;
    if (++part->in_frame == 1)
        return LAP_OK;
    key = lap_arena_print(gather->arena, "%s #%zu", key, part->in_frame);
    if (!key)
        return lap_no_memory(NULL);
    found = profile_names_find(&gather->keys, key);
    if (found)
        profile->thing_parts[number] = found->number;
    return found ? LAP_OK : add_part(gather, key, number);
}

/* ---- times ---- */

/* Adds what of the time is behind `*until`; times of one queue or parent come in the order of their begins. */
static double add_time(const struct profile_thing *thing, double *until)
{
    double begin = thing->begin_ms > *until ? thing->begin_ms : *until, end = thing->begin_ms + thing->ms;

    if (end <= begin)
        return 0;
    *until = end;
    return end - begin;
}

static enum lap_status number_queues(struct gather *gather)
{
    struct profile *profile = gather->profile;
    const struct profile_raw *raw = &profile->raws[0];
    size_t firsts[MOST_QUEUES] = {0};

    for (size_t i = 0; i < raw->thing_count; i++) {
        const struct profile_name *found = profile_names_find(&gather->queues, raw->things[i].queue);
        size_t queue = found ? found->number : profile->queue_count;
        if (!found && gather->queues.count == MOST_QUEUES)
            return lap_fail(LAP_ERROR_FORMAT, "there are more than %u queues", MOST_QUEUES);
        if (!found) {
            profile->queues[profile->queue_count++].name = raw->things[i].queue;
            if (!profile_names_add(&gather->queues, raw->things[i].queue, queue))
                return lap_no_memory(NULL);
        }
        profile->thing_queues[i] = queue;
        if (!found || raw->things[firsts[queue]].frame != raw->things[i].frame)
            firsts[queue] = i;
        profile->thing_firsts[i] = firsts[queue];
    }
    return LAP_OK;
}

/* Of one loop: frames and queues are busy while a command buffer is; and things without their children. */
static void time_loop(struct gather *gather, size_t loop, double *until)
{
    struct profile *profile = gather->profile;
    const struct profile_raw *raw = &profile->raws[loop];
    double *own = profile->own_ms + loop * raw->thing_count;
    double queue_until[MOST_QUEUES] = {0};
    size_t frame = 0;

    for (size_t i = 0; i < raw->thing_count; i++) {
        const struct profile_thing *thing = &raw->things[i];
        size_t queue = profile->thing_queues[i];
        own[i] = thing->ms;
        until[i] = thing->begin_ms;
        for (; raw->frames[frame].number != thing->frame; frame++)
            memset(queue_until, 0, sizeof queue_until);
        if (thing->depth == 0) {
            double more = add_time(thing, &queue_until[queue]);
            profile->frame_ms[loop * raw->frame_count + frame] += more;
            gather->queue_ms[(queue * profile->loops + loop) * raw->frame_count + frame] += more;
        } else {
            own[thing->parent] -= add_time(thing, &until[thing->parent]);
            profile->has_children[thing->parent] = true;
        }
    }
    for (size_t i = 0; i < raw->thing_count; i++)
        own[i] = own[i] > 0 ? own[i] : 0;
}

/* ---- order ---- */

static void link_part(struct gather *gather, size_t number, size_t *first, size_t *last)
{
    struct profile_part *part = &gather->parts[number];
    size_t *head = part->parent == PROFILE_NONE ? first : &gather->parts[part->parent].first_child;
    size_t *tail = part->parent == PROFILE_NONE ? last : &gather->parts[part->parent].last_child;

    if (*tail == PROFILE_NONE)
        *head = number;
    else
        gather->parts[*tail].next = number;
    *tail = number;
}

/* The next one, and BETWEEN behind the last child of a parent. */
static size_t add_betweens(struct gather *gather, size_t number, const char *const *keys)
{
    struct profile *profile = gather->profile;

    while (number != PROFILE_NONE && gather->parts[number].next == PROFILE_NONE) {
        size_t parent = gather->parts[number].parent;
        if (parent == PROFILE_NONE)
            return PROFILE_NONE;
        profile->parts[profile->part_count++] = (struct profile_part){.key = keys[parent],
                                                                      .kind = PROFILE_BETWEEN,
                                                                      .depth = gather->parts[parent].depth + 1,
                                                                      .parent = parent,
                                                                      .first = gather->parts[parent].first};
        number = parent;
    }
    return number == PROFILE_NONE ? number : gather->parts[number].next;
}

/* Puts parents in front of their children: profile->parts. */
static enum lap_status order_parts(struct gather *gather)
{
    struct profile *profile = gather->profile;
    size_t first = PROFILE_NONE, last = PROFILE_NONE, number;
    size_t *moved = array_of(gather, gather->part_count, sizeof *moved);
    const char **keys = array_of(gather, gather->part_count, sizeof *keys); /* of BETWEEN */

    profile->parts = array_of(gather, 2 * gather->part_count, sizeof *profile->parts);
    if (!moved || !keys || !profile->parts)
        return lap_no_memory(NULL);
    for (size_t i = 0; i < gather->part_count; i++) {
        link_part(gather, i, &first, &last);
        if (!(keys[i] = lap_arena_print(gather->arena, "%s / between", gather->parts[i].key)))
            return lap_no_memory(NULL);
    }
    number = first;
    while (number != PROFILE_NONE) {
        moved[number] = profile->part_count;
        profile->parts[profile->part_count++] = gather->parts[number];
        number = gather->parts[number].first_child != PROFILE_NONE ? gather->parts[number].first_child
                                                                   : add_betweens(gather, number, keys);
    }
    for (size_t i = 0; i < profile->raws[0].thing_count; i++)
        profile->thing_parts[i] = moved[profile->thing_parts[i]];
    for (size_t i = 0; i < profile->part_count; i++)
        if (profile->parts[i].parent != PROFILE_NONE)
            profile->parts[i].parent = moved[profile->parts[i].parent];
    first = last = PROFILE_NONE;
    for (size_t i = 0; i < profile->part_count; i++)
        profile->parts[i].first_child = profile->parts[i].last_child = profile->parts[i].next = PROFILE_NONE;
    free(gather->parts);
    gather->parts = profile->parts;
    for (size_t i = 0; i < profile->part_count; i++)
        link_part(gather, i, &first, &last);
    gather->parts = NULL;
    return LAP_OK;
}

/* ---- parts ---- */

static enum lap_status sort_things(struct gather *gather)
{
    const struct profile *profile = gather->profile;
    size_t things = profile->raws[0].thing_count, most = 0, *next;

    gather->thing_numbers = array_of(gather, things, sizeof *gather->thing_numbers);
    gather->part_begins = array_of(gather, profile->part_count + 1, sizeof *gather->part_begins);
    next = array_of(gather, profile->part_count, sizeof *next);
    if (!gather->thing_numbers || !gather->part_begins || !next)
        return lap_no_memory(NULL);
    for (size_t i = 0; i < things; i++)
        gather->part_begins[profile->thing_parts[i] + 1]++;
    for (size_t i = 0; i < profile->part_count; i++) {
        gather->part_begins[i + 1] += gather->part_begins[i];
        next[i] = gather->part_begins[i];
    }
    for (size_t i = 0; i < things; i++)
        gather->thing_numbers[next[profile->thing_parts[i]]++] = i;
    for (size_t i = 0; i < profile->part_count; i++)
        most = gather->part_begins[i + 1] - gather->part_begins[i] > most
                   ? gather->part_begins[i + 1] - gather->part_begins[i]
                   : most;
    gather->values = array_of(gather, profile->loops * most, sizeof *gather->values);
    return gather->values ? LAP_OK : lap_no_memory(NULL);
}

static void time_part(struct gather *gather, struct profile_part *part)
{
    const struct profile *profile = gather->profile;
    bool between = part->kind == PROFILE_BETWEEN;
    size_t owner = between ? part->parent : (size_t)(part - profile->parts), things = profile->raws[0].thing_count;
    size_t count = 0;

    for (size_t loop = 0; loop < profile->loops; loop++)
        for (size_t i = gather->part_begins[owner]; i < gather->part_begins[owner + 1]; i++) {
            size_t thing = gather->thing_numbers[i];
            if (between && !profile->has_children[thing])
                continue;
            gather->values[count++] =
                between ? profile->own_ms[loop * things + thing] : profile->raws[loop].things[thing].ms;
        }
    part->frames = count / profile->loops;
    profile_spread(gather->values, profile->loops, part->frames, &part->gpu);
    part->share = profile->gpu.median > 0 ? part->gpu.median / profile->gpu.median : 0;
}

static enum lap_status count_part(struct gather *gather, struct profile_part *part)
{
    const size_t *begins = &gather->part_begins[part - gather->profile->parts];
    const struct profile_thing *first, *thing;
    struct profile_statistic *statistics;

    if (part->kind == PROFILE_BETWEEN || !gather->counts)
        return LAP_OK;
    first = &gather->counts->things[gather->thing_numbers[begins[0]]];
    statistics = array_of(gather, first->statistic_count, sizeof *statistics);
    if (!statistics)
        return lap_no_memory(NULL);
    for (size_t k = 0; k < first->statistic_count; k++) {
        statistics[k].name = first->statistics[k].name;
        for (size_t i = begins[0]; i < begins[1]; i++) {
            thing = &gather->counts->things[gather->thing_numbers[i]];
            for (size_t n = 0; n < thing->statistic_count; n++)
                if (strcmp(thing->statistics[n].name, statistics[k].name) == 0)
                    statistics[k].value += thing->statistics[n].value / (double)part->frames;
        }
    }
    part->statistics = statistics;
    part->statistic_count = first->statistic_count;
    return LAP_OK;
}

/* ---- CPU ---- */

static int most_expensive(const void *a, const void *b)
{
    const struct profile_command *one = a, *other = b;
    double x = one->cpu.median, y = other->cpu.median;

    return x != y ? (x < y) - (x > y) : strcmp(one->name, other->name);
}

static enum lap_status find_commands(struct gather *gather, size_t *capacity)
{
    struct profile *profile = gather->profile;

    for (size_t loop = 0; loop < profile->loops; loop++)
        for (size_t i = 0; i < profile->raws[loop].frame_count; i++)
            for (size_t k = 0; k < profile->raws[loop].frames[i].call_count; k++) {
                const char *name = profile->raws[loop].frames[i].calls[k].command;
                if (profile_names_find(&gather->commands, name))
                    continue;
                if (!lap_array_grow(&profile->commands, sizeof *profile->commands, capacity,
                                    profile->command_count + 1) ||
                    !profile_names_add(&gather->commands, name, profile->command_count))
                    return lap_no_memory(NULL);
                profile->commands[profile->command_count++] = (struct profile_command){.name = name};
            }
    return LAP_OK;
}

/* Each frame's time of each command; 0 where it is not called. */
static enum lap_status time_commands(struct gather *gather)
{
    struct profile *profile = gather->profile;
    size_t frames = profile->raws[0].frame_count, all = profile->loops * frames, capacity = 0;
    enum lap_status status = find_commands(gather, &capacity);
    double *ms = NULL;

    if (status == LAP_OK && profile->command_count && !(ms = calloc(profile->command_count * all, sizeof *ms)))
        status = lap_no_memory(NULL);
    for (size_t i = 0; status == LAP_OK && i < all; i++) {
        const struct profile_frame *frame = &profile->raws[i / frames].frames[i % frames];
        for (size_t k = 0; k < frame->call_count; k++) {
            const struct profile_name *found = profile_names_find(&gather->commands, frame->calls[k].command);
            ms[found->number * all + i] += frame->calls[k].ms;
            profile->commands[found->number].calls += frame->calls[k].calls / (double)all;
        }
    }
    for (size_t i = 0; status == LAP_OK && i < profile->command_count; i++)
        profile_spread(ms + i * all, profile->loops, frames, &profile->commands[i].cpu);
    if (status == LAP_OK && profile->command_count)
        qsort(profile->commands, profile->command_count, sizeof *profile->commands, most_expensive);
    free(ms);
    return status;
}

/* ---- all ---- */

static enum lap_status make_arrays(struct gather *gather)
{
    struct profile *profile = gather->profile;
    size_t things = profile->raws[0].thing_count, frames = profile->raws[0].frame_count;

    profile->thing_parts = array_of(gather, things, sizeof *profile->thing_parts);
    profile->thing_firsts = array_of(gather, things, sizeof *profile->thing_firsts);
    profile->own_ms = array_of(gather, profile->loops * things, sizeof *profile->own_ms);
    profile->has_children = array_of(gather, things, sizeof *profile->has_children);
    profile->frame_ms = array_of(gather, profile->loops * frames, sizeof *profile->frame_ms);
    profile->queues = array_of(gather, MOST_QUEUES, sizeof *profile->queues);
    profile->thing_queues = array_of(gather, things, sizeof *profile->thing_queues);
    gather->values = array_of(gather, profile->loops * frames, sizeof *gather->values);
    return profile->thing_parts && profile->thing_firsts && profile->own_ms && profile->has_children &&
                   profile->frame_ms && profile->queues && profile->thing_queues && gather->values
               ? LAP_OK
               : lap_no_memory(NULL);
}

static enum lap_status time_all(struct gather *gather)
{
    struct profile *profile = gather->profile;
    size_t things = profile->raws[0].thing_count, frames = profile->raws[0].frame_count, all = profile->loops * frames;
    double *until = array_of(gather, things, sizeof *until);

    gather->queue_ms = array_of(gather, profile->queue_count * all, sizeof *gather->queue_ms);
    if (!until || !gather->queue_ms)
        return lap_no_memory(NULL);
    for (size_t loop = 0; loop < profile->loops; loop++) {
        time_loop(gather, loop, until);
        profile->backwards += profile->raws[loop].backwards;
        for (size_t i = 0; i < frames; i++)
            gather->values[loop * frames + i] = profile->raws[loop].frames[i].cpu_ms;
    }
    profile_spread(gather->values, profile->loops, frames, &profile->cpu);
    memcpy(gather->values, profile->frame_ms, all * sizeof *gather->values);
    profile_spread(gather->values, profile->loops, frames, &profile->gpu);
    for (size_t i = 0; i < profile->queue_count; i++)
        profile_spread(gather->queue_ms + i * all, profile->loops, frames, &profile->queues[i].gpu);
    return LAP_OK;
}

static enum lap_status gather_all(struct gather *gather)
{
    struct profile *profile = gather->profile;
    enum lap_status status = compare_loops(profile, gather->counts);

    if (status == LAP_OK && (status = make_arrays(gather)) == LAP_OK && (status = number_queues(gather)) == LAP_OK)
        status = time_all(gather);
    for (size_t i = 0; status == LAP_OK && i < profile->raws[0].thing_count; i++)
        status = find_part(gather, i);
    if (status == LAP_OK && (status = order_parts(gather)) == LAP_OK)
        status = sort_things(gather);
    for (size_t i = 0; status == LAP_OK && i < profile->part_count; i++) {
        time_part(gather, &profile->parts[i]);
        status = count_part(gather, &profile->parts[i]);
    }
    return status == LAP_OK ? time_commands(gather) : status;
}

enum lap_status profile_gather(struct profile *profile, struct lap_arena *arena, struct profile_raw *raws, size_t loops,
                               const struct profile_raw *counts)
{
    struct gather gather = {.profile = profile, .counts = counts, .arena = arena};
    enum lap_status status;

    *profile = (struct profile){.raws = raws, .loops = loops};
    status = gather_all(&gather);
    profile_names_finish(&gather.keys);
    profile_names_finish(&gather.queues);
    profile_names_finish(&gather.commands);
    free(gather.parts);
    return status;
}

/* ---- single things ---- */

static double median_of(double *values, size_t count)
{
    struct profile_time time;

    profile_spread(values, 1, count, &time);
    return time.median;
}

double profile_thing_ms(const struct profile *profile, size_t thing)
{
    double values[PROFILE_MOST_LOOPS];

    for (size_t i = 0; i < profile->loops; i++)
        values[i] = profile->raws[i].things[thing].ms;
    return median_of(values, profile->loops);
}

double profile_thing_begin_ms(const struct profile *profile, size_t thing)
{
    double values[PROFILE_MOST_LOOPS];

    for (size_t i = 0; i < profile->loops; i++)
        values[i] =
            profile->raws[i].things[thing].begin_ms - profile->raws[i].things[profile->thing_firsts[thing]].begin_ms;
    return median_of(values, profile->loops);
}

double profile_frame_ms(const struct profile *profile, size_t frame)
{
    double values[PROFILE_MOST_LOOPS];

    for (size_t i = 0; i < profile->loops; i++)
        values[i] = profile->frame_ms[i * profile->raws[0].frame_count + frame];
    return median_of(values, profile->loops);
}

double profile_frame_cpu_ms(const struct profile *profile, size_t frame)
{
    double values[PROFILE_MOST_LOOPS];

    for (size_t i = 0; i < profile->loops; i++)
        values[i] = profile->raws[i].frames[frame].cpu_ms;
    return median_of(values, profile->loops);
}

void profile_finish(struct profile *profile)
{
    free(profile->commands);
    profile->commands = NULL;
}
