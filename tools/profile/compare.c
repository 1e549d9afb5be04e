/* SPDX-License-Identifier: MIT */
#include "tools/profile/compare.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "tools/profile/name_table.h"

#define FEWEST_LOOPS  3u
#define GRAIN_MS      0.001 /* added to times, so that those near 0 are equal */
#define LEAST_CHANGE  1.05  /* as a ratio */
#define MANY_LOOPS    8u
#define LEAST_SEEN    1.1 /* a difference that would be seen, with the noise, for "same" */
#define LEAST_SEEN_MS 0.002
#define COMMON_NOISE  0.75 /* so many parts of all have less noise */
#define MOST_ITEMS    10000000

static const char *const verdicts[] = {"changed", "same", "noisy", "only_a", "only_b"}; /* [enum profile_verdict] */

const char *profile_verdict_name(enum profile_verdict verdict)
{
    return verdicts[verdict];
}

/* ---- what is compared ---- */

enum lap_status profile_items_of(struct profile_items *items, struct lap_arena *arena, const struct profile *profile)
{
    items->items = lap_arena_zalloc(arena, profile->part_count + 1, sizeof *items->items, 8);
    if (!items->items)
        return lap_no_memory(NULL);
    items->frame = profile->gpu;
    items->count = profile->part_count;
    items->on_cpu = profile_is_on_cpu(profile->raws[0].device_type);
    for (size_t i = 0; i < items->count; i++) {
        const struct profile_part *part = &profile->parts[i];
        bool between = part->kind == PROFILE_BETWEEN;
        items->items[i] = (struct profile_item){part->key,
                                                between             ? NULL
                                                : part->first->name ? part->first->name
                                                                    : part->first->command,
                                                part->first->position, part->kind, part->gpu};
    }
    return LAP_OK;
}

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static bool get_number(const cJSON *object, const char *name, double *out)
{
    *out = cJSON_GetNumberValue(member(object, name));
    return *out >= 0 && *out < 1e15;
}

static bool get_time(const cJSON *object, struct profile_time *out)
{
    const cJSON *of_loops = member(object, "loops");
    double loops = 0;
    bool good = get_number(object, "median", &out->median) && get_number(object, "p10", &out->p10) &&
                get_number(object, "p90", &out->p90) && get_number(object, "min", &out->least) &&
                get_number(object, "max", &out->most) && get_number(object, "spread", &out->spread) &&
                get_number(of_loops, "fastest", &out->fastest) && get_number(of_loops, "slowest", &out->slowest) &&
                get_number(of_loops, "usual", &out->typical) && get_number(of_loops, "count", &loops);

    out->loops = good ? (size_t)loops : 0;
    return good;
}

static enum lap_status no_profile(void)
{
    return lap_fail(LAP_ERROR_FORMAT, "it is neither a trace nor what lapilli profile -o writes");
}

static enum lap_status get_item(struct lap_arena *arena, const cJSON *object, struct profile_item *out)
{
    const char *key = cJSON_GetStringValue(member(object, "key")), *kind = cJSON_GetStringValue(member(object, "kind"));
    const char *name = cJSON_GetStringValue(member(object, "name"));
    const char *position = cJSON_GetStringValue(member(object, "position"));

    if (!name)
        name = cJSON_GetStringValue(member(object, "command"));
    if (!key || !kind || !position || !get_time(member(object, "gpu_ms"), &out->gpu))
        return no_profile();
    out->kind = PROFILE_COMMANDS;
    while (out->kind < PROFILE_BETWEEN && strcmp(kind, profile_kind_name(out->kind)) != 0)
        out->kind++;
    out->key = profile_text(arena, key);
    out->name = profile_text(arena, name);
    out->position = profile_text(arena, position);
    return out->key && out->position && (out->name || !name) ? LAP_OK : lap_no_memory(NULL);
}

enum lap_status profile_items_parse(struct profile_items *items, struct lap_arena *arena, const char *json)
{
    cJSON *all = cJSON_Parse(json);
    const cJSON *parts = member(all, "parts"), *part;
    int count = cJSON_GetArraySize(parts);
    enum lap_status status = LAP_OK;

    items->count = 0;
    items->on_cpu = profile_is_on_cpu(cJSON_GetStringValue(member(all, "device_type")));
    if (!cJSON_IsNumber(member(all, "profile")) || !cJSON_IsArray(parts) || count > MOST_ITEMS ||
        !get_time(member(member(all, "frame"), "gpu_ms"), &items->frame))
        status = no_profile();
    else if (!(items->items = lap_arena_zalloc(arena, (size_t)count + 1, sizeof *items->items, 8)))
        status = lap_no_memory(NULL);
    if (status == LAP_OK)
        cJSON_ArrayForEach(part, parts)
        {
            if ((status = get_item(arena, part, &items->items[items->count])) != LAP_OK)
                break;
            items->count++;
        }
    cJSON_Delete(all);
    return status;
}

/* ---- the rule ---- */

static double ratio(double slower, double faster)
{
    return (slower + GRAIN_MS) / (faster + GRAIN_MS);
}

/* How far loops of one side are from each other, as a ratio; the larger one of both sides. */
static double noise_of(const struct profile_change *change)
{
    double a = ratio(change->a->gpu.typical, change->a->gpu.fastest);
    double b = ratio(change->b->gpu.typical, change->b->gpu.fastest);

    return a > b ? a : b;
}

/* The smallest ratio of a change. On a CPU all of a replay may have the speed of a half or a third, if it shares a core
 * with others; with few loops that may happen to all of one side. */
static double least_change(size_t loops, bool on_cpu)
{
    return !on_cpu || loops >= MANY_LOOPS ? LEAST_CHANGE : loops < PROFILE_MANY_LOOPS ? 3 : 1.5;
}

static enum profile_verdict judge(const struct profile_change *change, double common_noise, bool on_cpu)
{
    bool rises = change->b->gpu.median > change->a->gpu.median;
    const struct profile_time *slow = rises ? &change->b->gpu : &change->a->gpu;
    const struct profile_time *fast = rises ? &change->a->gpu : &change->b->gpu;
    double noise = noise_of(change), difference = ratio(slow->median, fast->median);
    size_t loops = slow->loops < fast->loops ? slow->loops : fast->loops;

    if (noise < common_noise)
        noise = common_noise;
    if (loops >= FEWEST_LOOPS && slow->fastest > fast->slowest && slow->p10 > fast->p90 && difference > noise * noise &&
        difference > least_change(loops, on_cpu))
        return PROFILE_CHANGED;
    return difference * noise <= LEAST_SEEN ||
                   slow->median - fast->median + slow->spread + fast->spread <= LEAST_SEEN_MS
               ? PROFILE_SAME
               : PROFILE_NOISY;
}

static int compare_numbers(const void *a, const void *b)
{
    const double *one = a, *other = b;

    return (*one > *other) - (*one < *other);
}

/* The noise that most parts do not have: with few loops a part may look quieter than it is. */
static enum lap_status find_common_noise(const struct profile_comparison *comparison, double *out)
{
    double *all = calloc(comparison->count + 1, sizeof *all);
    size_t count = 0;

    if (!all)
        return lap_no_memory(NULL);
    all[count++] = noise_of(&comparison->frame);
    for (size_t i = 0; i < comparison->count; i++)
        if (comparison->changes[i].a && comparison->changes[i].b)
            all[count++] = noise_of(&comparison->changes[i]);
    qsort(all, count, sizeof *all, compare_numbers);
    *out = profile_quantile(all, count, COMMON_NOISE);
    free(all);
    return LAP_OK;
}

/* ---- all ---- */

double profile_difference(const struct profile_change *change)
{
    return (change->b ? change->b->gpu.median : 0) - (change->a ? change->a->gpu.median : 0);
}

static int largest_first(const void *a, const void *b)
{
    const struct profile_change *one = a, *other = b;
    double x = profile_difference(one), y = profile_difference(other);

    x = x < 0 ? -x : x;
    y = y < 0 ? -y : y;
    return x != y ? (x < y) - (x > y) : strcmp((one->a ? one->a : one->b)->key, (other->a ? other->a : other->b)->key);
}

static enum lap_status match(struct profile_comparison *comparison, struct profile_names *names, bool *matched)
{
    const struct profile_items *a = &comparison->sides[0], *b = &comparison->sides[1];

    for (size_t i = 0; i < b->count; i++)
        if (!profile_names_find(names, b->items[i].key) && !profile_names_add(names, b->items[i].key, i))
            return lap_no_memory(NULL);
    for (size_t i = 0; i < a->count; i++) {
        const struct profile_name *found = profile_names_find(names, a->items[i].key);
        if (found)
            matched[found->number] = true;
        comparison->changes[comparison->count++] =
            (struct profile_change){&a->items[i], found ? &b->items[found->number] : NULL, PROFILE_ONLY_A};
    }
    for (size_t i = 0; i < b->count; i++)
        if (!matched[i])
            comparison->changes[comparison->count++] = (struct profile_change){NULL, &b->items[i], PROFILE_ONLY_B};
    return LAP_OK;
}

enum lap_status profile_compare(struct profile_comparison *comparison, struct lap_arena *arena)
{
    struct profile_items *sides = comparison->sides;
    struct profile_names names = {.slots = NULL};
    bool *matched = lap_arena_zalloc(arena, sides[1].count + 1, sizeof *matched, 8);
    double noise = 1;
    bool on_cpu = sides[0].on_cpu || sides[1].on_cpu;
    enum lap_status status;

    comparison->count = 0;
    comparison->changes = lap_arena_zalloc(arena, sides[0].count + sides[1].count + 1, sizeof *comparison->changes, 8);
    if (!matched || !comparison->changes)
        return lap_no_memory(NULL);
    for (size_t i = 0; i < 2; i++)
        comparison->frames[i].gpu = sides[i].frame;
    comparison->frame = (struct profile_change){&comparison->frames[0], &comparison->frames[1], PROFILE_SAME};
    status = match(comparison, &names, matched);
    profile_names_finish(&names);
    if (status == LAP_OK)
        status = find_common_noise(comparison, &noise);
    if (status != LAP_OK)
        return status;
    comparison->frame.verdict = judge(&comparison->frame, noise, on_cpu);
    for (size_t i = 0; i < comparison->count; i++)
        if (comparison->changes[i].a && comparison->changes[i].b)
            comparison->changes[i].verdict = judge(&comparison->changes[i], noise, on_cpu);
    qsort(comparison->changes, comparison->count, sizeof *comparison->changes, largest_first);
    return LAP_OK;
}
