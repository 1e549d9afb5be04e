/* SPDX-License-Identifier: MIT */
#include "replayer/plan.h"

#include <stdlib.h>
#include <string.h>

#define SORTS       256u
#define GROUP       64u /* steps of which the worst one is kept */
#define SHARE_PARTS 11u /* of 64 of what is alive: that may be empty */
#define TRIES       8u  /* parts that are looked at when there are too many cells to cut one in two */

/* A cell in the making: a row of `order`. */
struct part {
    uint32_t first, count; /* items */
    uint32_t begin, end;   /* the first and the last step in which there is a block for it */
    uint64_t bytes;
    float *waste; /* [step - begin]: what of the block is empty */
    float most;   /* of these */
};

/* The parts that there are in a group of steps, and some that are there no more. */
struct listed {
    uint32_t part;
    float most; /* it wastes no more than this in any step */
};

struct group {
    struct listed *parts;
    uint32_t count, capacity;
    double worst; /* of its steps: waste in proportion to what may be */
};

struct plan {
    const struct replay_plan_step *steps;
    uint32_t step_count;
    struct replay_plan_item *items;
    uint32_t *begins, *ends; /* steps of items: the first and the last one in which it is there */
    uint32_t *order;         /* wanted items */
    uint32_t *spare;         /* as many */
    struct part *parts;
    uint32_t part_count, part_capacity;
    int64_t *waste;       /* [step]: of all cells */
    uint32_t *alive;      /* [step]: cells, and items that share none */
    bool *stuck;          /* [step]: nothing more can be done about it */
    struct group *groups; /* [step / GROUP] */
    int64_t *change;      /* scratch, [step + 1] */
    uint32_t most;
};

static uint64_t low_of(const struct plan *plan, uint32_t step)
{
    uint64_t low = plan->steps[step].low;
    return low > REPLAY_FLOOR_BYTES ? low : REPLAY_FLOOR_BYTES;
}

static double ratio_of(const struct plan *plan, uint32_t step)
{
    if (plan->stuck[step] || plan->waste[step] <= 0)
        return 0;
    return (double)plan->waste[step] / ((double)low_of(plan, step) / 64 * SHARE_PARTS);
}

static void rate(struct plan *plan, uint32_t begin, uint32_t end)
{
    for (uint32_t group = begin / GROUP; group <= end / GROUP; group++) {
        uint32_t last = (group + 1) * GROUP < plan->step_count ? (group + 1) * GROUP : plan->step_count;
        plan->groups[group].worst = 0;
        for (uint32_t step = group * GROUP; step < last; step++) {
            double ratio = ratio_of(plan, step);
            if (ratio > plan->groups[group].worst)
                plan->groups[group].worst = ratio;
        }
    }
}

/* The step in which most is wasted; false: nowhere too much. */
static bool find_worst(const struct plan *plan, uint32_t *out_step)
{
    uint32_t groups = (plan->step_count + GROUP - 1) / GROUP, worst = 0;

    for (uint32_t group = 1; group < groups; group++)
        worst = plan->groups[group].worst > plan->groups[worst].worst ? group : worst;
    if (plan->groups[worst].worst <= 1)
        return false;
    *out_step = worst * GROUP;
    for (uint32_t step = worst * GROUP; step < plan->step_count && step < (worst + 1) * GROUP; step++)
        *out_step = ratio_of(plan, step) > ratio_of(plan, *out_step) ? step : *out_step;
    return true;
}

/* The last step that begins at the time or before. */
static uint32_t step_at(const struct plan *plan, uint64_t time)
{
    uint32_t low = 0, high = plan->step_count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (plan->steps[middle].time <= time)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void place(struct plan *plan, uint32_t item)
{
    const struct replay_plan_item *at = &plan->items[item];

    plan->begins[item] = step_at(plan, at->begin);
    plan->ends[item] = step_at(plan, at->end - 1);
}

/* ---- parts ---- */

/* What is there of the part's items, as changes between steps: change[0] for the first step. */
static void changes_of(struct plan *plan, const struct part *part)
{
    memset(plan->change, 0, ((size_t)part->end - part->begin + 2) * sizeof *plan->change);
    for (uint32_t i = part->first; i < part->first + part->count; i++) {
        uint32_t item = plan->order[i];
        plan->change[plan->begins[item] - part->begin] += (int64_t)plan->items[item].bytes;
        plan->change[plan->ends[item] + 1 - part->begin] -= (int64_t)plan->items[item].bytes;
    }
}

static void count(struct plan *plan, struct part *part, int sign)
{
    int64_t live = 0;

    part->most = 0;
    changes_of(plan, part);
    for (uint32_t step = part->begin; step <= part->end; step++) {
        int64_t waste;
        live += plan->change[step - part->begin];
        waste = (int64_t)part->bytes - live;
        plan->waste[step] += sign * waste;
        plan->alive[step] += (uint32_t)sign;
        part->waste[step - part->begin] = (float)waste;
        part->most = (float)waste > part->most ? (float)waste : part->most;
    }
}

static enum lap_status add_to_groups(struct plan *plan, const struct part *part)
{
    for (uint32_t i = part->begin / GROUP; i <= part->end / GROUP; i++) {
        struct group *group = &plan->groups[i];
        if (group->count == group->capacity) {
            uint32_t capacity = group->capacity ? group->capacity * 2 : 32;
            struct listed *more = realloc(group->parts, capacity * sizeof *more);
            if (!more)
                return lap_fail(LAP_ERROR_MEMORY, "out of memory");
            group->parts = more;
            group->capacity = capacity;
        }
        group->parts[group->count++] = (struct listed){(uint32_t)(part - plan->parts), part->most};
    }
    return LAP_OK;
}

static float waste_in(const struct part *part, uint32_t step)
{
    return step >= part->begin && step <= part->end ? part->waste[step - part->begin] : 0;
}

struct wasteful {
    uint32_t part;
    float waste;
};

/* The parts of which most is empty in the step, the worst one first; how many. */
static unsigned find_parts(struct plan *plan, uint32_t step, struct wasteful out[TRIES])
{
    struct group *group = &plan->groups[step / GROUP];
    uint32_t first = step / GROUP * GROUP, kept = 0;
    unsigned count = 0, at;

    for (uint32_t i = 0; i < group->count; i++) {
        struct listed listed = group->parts[i];
        const struct part *part = &plan->parts[listed.part];
        float waste;
        if (count < TRIES || listed.most > out[count - 1].waste) {
            if (part->end < first || part->begin >= first + GROUP)
                continue;
            listed.most = part->most; /* it may have been cut */
            waste = waste_in(part, step);
            at = count;
            count += waste > 0 && count < TRIES;
            for (; at > 0 && waste > out[at - 1].waste; at--)
                if (at < TRIES)
                    out[at] = out[at - 1];
            if (waste > 0 && at < TRIES)
                out[at] = (struct wasteful){listed.part, waste};
        }
        group->parts[kept++] = listed;
    }
    group->count = kept;
    return count;
}

/* The steps in which there is the part. */
static enum lap_status measure(struct plan *plan, struct part *part)
{
    part->begin = UINT32_MAX;
    part->end = 0;
    part->bytes = 0;
    for (uint32_t i = part->first; i < part->first + part->count; i++) {
        uint32_t item = plan->order[i];
        part->begin = plan->begins[item] < part->begin ? plan->begins[item] : part->begin;
        part->end = plan->ends[item] > part->end ? plan->ends[item] : part->end;
        part->bytes += plan->items[item].bytes;
    }
    part->waste = malloc(((size_t)part->end - part->begin + 1) * sizeof *part->waste);
    return part->waste ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory");
}

static struct part *add_part(struct plan *plan)
{
    if (plan->part_count == plan->part_capacity) {
        uint32_t capacity = plan->part_capacity ? plan->part_capacity * 2 : 256;
        struct part *more = realloc(plan->parts, capacity * sizeof *more);
        if (!more)
            return NULL;
        plan->parts = more;
        plan->part_capacity = capacity;
    }
    plan->parts[plan->part_count] = (struct part){0};
    return &plan->parts[plan->part_count++];
}

/* ---- cuts ---- */

/* Where to cut a part of which much has yet to come at the step: the items that begin at the result or later become a
 * part of their own. What then is to come at the step is in the same proportion to what is alive as all of the later
 * ones when the first of them comes. */
static uint32_t cut_of_beginnings(struct plan *plan, const struct part *part, uint32_t step)
{
    uint64_t later = 0, sooner = 0;
    uint32_t cut = step + 1, last = step + 1;

    memset(plan->change, 0, ((size_t)part->end - part->begin + 2) * sizeof *plan->change);
    for (uint32_t i = part->first; i < part->first + part->count; i++) {
        uint32_t begin = plan->begins[plan->order[i]];
        plan->change[begin - part->begin] += (int64_t)plan->items[plan->order[i]].bytes;
        if (begin > step) {
            later += plan->items[plan->order[i]].bytes;
            last = begin > last ? begin : last;
        }
    }
    while (cut < last && (double)sooner * (double)low_of(plan, cut) < (double)later * (double)low_of(plan, step)) {
        sooner += (uint64_t)plan->change[cut - part->begin];
        later -= (uint64_t)plan->change[cut - part->begin];
        cut++;
    }
    return cut;
}

/* The same where much has ended by the step: the items that are there at the result or later become a part. */
static uint32_t cut_of_ends(struct plan *plan, const struct part *part, uint32_t step)
{
    uint64_t later = 0, sooner = 0;
    uint32_t cut = step, first = step;

    memset(plan->change, 0, ((size_t)part->end - part->begin + 2) * sizeof *plan->change);
    for (uint32_t i = part->first; i < part->first + part->count; i++) {
        uint32_t end = plan->ends[plan->order[i]];
        plan->change[end - part->begin] += (int64_t)plan->items[plan->order[i]].bytes;
        if (end < step) {
            sooner += plan->items[plan->order[i]].bytes;
            first = end < first ? end : first;
        }
    }
    while (cut > first + 1 &&
           (double)later * (double)low_of(plan, cut - 1) < (double)sooner * (double)low_of(plan, step)) {
        later += (uint64_t)plan->change[cut - 1 - part->begin];
        sooner -= (uint64_t)plan->change[cut - 1 - part->begin];
        cut--;
    }
    return cut;
}

/* Items that begin (or end) before the cut come first; how many these are. */
static uint32_t divide(struct plan *plan, const struct part *part, const uint32_t *steps, uint32_t cut)
{
    uint32_t before = part->first, after = 0;

    for (uint32_t i = part->first; i < part->first + part->count; i++) {
        uint32_t item = plan->order[i];
        if (steps[item] < cut)
            plan->order[before++] = item;
        else
            plan->spare[after++] = item;
    }
    memcpy(&plan->order[before], plan->spare, after * sizeof *plan->order);
    return before - part->first;
}

/* Whether both halves would be there in a step that has all the cells that there may be. */
static bool is_full(const struct plan *plan, const struct part *part, const uint32_t *steps, uint32_t cut)
{
    uint32_t begins[2] = {UINT32_MAX, UINT32_MAX}, ends[2] = {0, 0}, step, end;

    for (uint32_t i = part->first; i < part->first + part->count; i++) {
        uint32_t item = plan->order[i];
        bool later = steps[item] >= cut;
        begins[later] = plan->begins[item] < begins[later] ? plan->begins[item] : begins[later];
        ends[later] = plan->ends[item] > ends[later] ? plan->ends[item] : ends[later];
    }
    step = begins[0] > begins[1] ? begins[0] : begins[1];
    end = ends[0] < ends[1] ? ends[0] : ends[1];
    for (; step <= end; step++)
        if (plan->alive[step] >= plan->most)
            return true;
    return false;
}

/* Cuts a part in two, unless there are too many cells for that. */
static enum lap_status try_cut(struct plan *plan, uint32_t number, uint32_t step, bool by_end, bool *out_done)
{
    const uint32_t *steps = by_end ? plan->ends : plan->begins;
    struct part *part = &plan->parts[number], *other;
    uint32_t cut = by_end ? cut_of_ends(plan, part, step) : cut_of_beginnings(plan, part, step);
    uint32_t begin = part->begin, end = part->end, all = part->count;
    enum lap_status status;

    *out_done = !is_full(plan, part, steps, cut);
    if (!*out_done)
        return LAP_OK;
    other = add_part(plan);
    if (!other)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    part = &plan->parts[number];
    count(plan, part, -1);
    part->count = divide(plan, part, steps, cut);
    other->first = part->first + part->count;
    other->count = all - part->count;
    free(part->waste);
    part->waste = NULL;
    status = measure(plan, part);
    if (status == LAP_OK)
        status = measure(plan, other);
    if (status != LAP_OK)
        return status;
    count(plan, part, 1);
    count(plan, other, 1);
    rate(plan, begin, end);
    return add_to_groups(plan, other);
}

/* Cuts the parts that waste most in the step, until other steps are worse: so all have the same share of the cells. */
static enum lap_status cut_at(struct plan *plan, uint32_t step)
{
    struct wasteful worst[TRIES];
    unsigned count = find_parts(plan, step, worst);
    double enough = ratio_of(plan, step) * 31 / 32;
    bool any = false;

    for (unsigned i = 0; i < count && ratio_of(plan, step) > (enough > 1 ? enough : 1); i++) {
        const struct part *part = &plan->parts[worst[i].part];
        uint64_t to_come = 0, gone = 0;
        enum lap_status status;
        bool done;
        if (any && worst[i].waste < worst[0].waste / 2)
            break; /* others are worse now */
        for (uint32_t j = part->first; j < part->first + part->count; j++) {
            uint32_t item = plan->order[j];
            to_come += plan->begins[item] > step ? plan->items[item].bytes : 0;
            gone += plan->ends[item] < step ? plan->items[item].bytes : 0;
        }
        status = try_cut(plan, worst[i].part, step, gone > to_come, &done);
        if (status == LAP_OK && !done && gone && to_come)
            status = try_cut(plan, worst[i].part, step, gone <= to_come, &done);
        if (status != LAP_OK)
            return status;
        any |= done;
    }
    if (any)
        return LAP_OK;
    plan->stuck[step] = true;
    rate(plan, step, step);
    return LAP_OK;
}

/* ---- cells ---- */

struct replay_cell *replay_cells_find(const struct replay_cells *cells, uint32_t number)
{
    uint32_t low = 0, high = cells->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (cells->at[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < cells->count && cells->at[low].number == number ? &cells->at[low] : NULL;
}

void replay_cells_drop(struct replay_cells *cells, uint64_t time)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < cells->count; i++)
        if (cells->at[i].end > time || cells->at[i].expected)
            cells->at[kept++] = cells->at[i];
    cells->count = kept;
}

/* ---- the whole ---- */

/* What lies alone, and what earlier plans waste. */
static void count_cells(struct plan *plan, size_t item_count, const struct replay_cells *cells)
{
    uint64_t from = plan->steps[0].time;
    int64_t waste = 0;
    int64_t *change = plan->change;

    memset(change, 0, ((size_t)plan->step_count + 1) * sizeof *change);
    for (uint32_t i = 0; i < cells->count; i++) {
        const struct replay_cell *cell = &cells->at[i];
        uint32_t first, last;
        if (cell->end <= from)
            continue;
        first = step_at(plan, cell->begin);
        change[first] += (int64_t)cell->bytes;
        plan->alive[first]++;
        last = step_at(plan, cell->end - 1);
        change[last + 1] -= (int64_t)cell->bytes;
        plan->alive[last + 1]--;
    }
    for (size_t i = 0; i < item_count; i++) {
        const struct replay_plan_item *item = &plan->items[i];
        if (item->cell == REPLAY_CELL_UNKNOWN || item->end <= from)
            continue;
        if (item->cell == REPLAY_CELL_ALONE) {
            plan->alive[step_at(plan, item->begin)]++;
            plan->alive[step_at(plan, item->end - 1) + 1]--;
            continue;
        }
        change[step_at(plan, item->begin)] -= (int64_t)item->bytes;
        change[step_at(plan, item->end - 1) + 1] += (int64_t)item->bytes;
    }
    for (uint32_t step = 0; step < plan->step_count; step++) {
        waste += change[step];
        plan->waste[step] = waste;
        if (step > 0)
            plan->alive[step] += plan->alive[step - 1];
    }
}

/* One part for each sort. */
static enum lap_status begin_parts(struct plan *plan, size_t item_count)
{
    uint32_t counts[SORTS] = {0}, first = 0;
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < item_count; i++)
        counts[plan->items[i].sort] += plan->items[i].wanted && plan->items[i].cell == REPLAY_CELL_UNKNOWN;
    for (unsigned sort = 0; sort < SORTS; sort++) {
        struct part *part = counts[sort] ? add_part(plan) : NULL;
        if (counts[sort] && !part)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
        if (part)
            *part = (struct part){.first = first, .count = counts[sort]};
        first += counts[sort];
        counts[sort] = first - counts[sort];
    }
    for (size_t i = 0; i < item_count; i++) {
        if (!plan->items[i].wanted || plan->items[i].cell != REPLAY_CELL_UNKNOWN)
            continue;
        place(plan, (uint32_t)i);
        plan->order[counts[plan->items[i].sort]++] = (uint32_t)i;
    }
    for (uint32_t i = 0; i < plan->part_count && status == LAP_OK; i++) {
        status = measure(plan, &plan->parts[i]);
        if (status == LAP_OK)
            count(plan, &plan->parts[i], 1);
        if (status == LAP_OK)
            status = add_to_groups(plan, &plan->parts[i]);
    }
    return status;
}

static enum lap_status make_cells(struct plan *plan, struct replay_cells *cells)
{
    if (plan->part_count > cells->capacity - cells->count) {
        uint32_t capacity = (cells->count + plan->part_count) * 2;
        struct replay_cell *more = realloc(cells->at, capacity * sizeof *more);
        if (!more)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
        cells->at = more;
        cells->capacity = capacity;
    }
    for (uint32_t i = 0; i < plan->part_count; i++) {
        const struct part *part = &plan->parts[i];
        struct replay_cell *cell = &cells->at[cells->count++];
        *cell = (struct replay_cell){
            .begin = UINT64_MAX, .bytes = part->bytes, .items = part->count, .number = ++cells->made};
        for (uint32_t j = part->first; j < part->first + part->count; j++) {
            struct replay_plan_item *item = &plan->items[plan->order[j]];
            item->cell = cell->number;
            cell->sort = item->sort;
            cell->begin = item->begin < cell->begin ? item->begin : cell->begin;
            cell->end = item->end > cell->end ? item->end : cell->end;
            cell->expected += item->expected;
            if (!item->expected && item->end > cell->known_end)
                cell->known_end = item->end;
        }
    }
    return LAP_OK;
}

enum lap_status replay_plan(const struct replay_plan_step *steps, uint32_t step_count, struct replay_plan_item *items,
                            size_t item_count, uint32_t most, struct replay_cells *cells)
{
    struct plan plan = {.steps = steps, .step_count = step_count, .items = items, .most = most};
    size_t groups = step_count / GROUP + 1, steps_and_one = (size_t)step_count + 1;
    enum lap_status status = LAP_ERROR_MEMORY;
    uint32_t step;

    if (item_count == 0)
        return LAP_OK;
    plan.begins = malloc(item_count * sizeof *plan.begins);
    plan.ends = malloc(item_count * sizeof *plan.ends);
    plan.order = malloc(item_count * sizeof *plan.order);
    plan.spare = malloc(item_count * sizeof *plan.spare);
    plan.waste = calloc(steps_and_one, sizeof *plan.waste);
    plan.alive = calloc(steps_and_one, sizeof *plan.alive);
    plan.stuck = calloc(steps_and_one, sizeof *plan.stuck);
    plan.groups = calloc(groups, sizeof *plan.groups);
    plan.change = calloc(steps_and_one + 1, sizeof *plan.change);
    if (item_count > UINT32_MAX / 2 || !plan.begins || !plan.ends || !plan.order || !plan.spare || !plan.waste ||
        !plan.alive || !plan.stuck || !plan.groups || !plan.change) {
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
        goto out;
    }
    count_cells(&plan, item_count, cells);
    status = begin_parts(&plan, item_count);
    rate(&plan, 0, step_count - 1);
    while (status == LAP_OK && find_worst(&plan, &step))
        status = cut_at(&plan, step);
    if (status == LAP_OK)
        status = make_cells(&plan, cells);
out:
    for (uint32_t i = 0; i < plan.part_count; i++)
        free(plan.parts[i].waste);
    free(plan.parts);
    free(plan.begins);
    free(plan.ends);
    free(plan.order);
    free(plan.spare);
    free(plan.waste);
    free(plan.alive);
    free(plan.stuck);
    for (size_t i = 0; plan.groups && i < groups; i++)
        free(plan.groups[i].parts);
    free(plan.groups);
    free(plan.change);
    return status;
}
