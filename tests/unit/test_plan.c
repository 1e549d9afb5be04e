/* SPDX-License-Identifier: MIT */
/* Which objects share a block: what a plan wastes is added up again here, event by event. */
#include "replayer/plan.h"

#include <stdlib.h>

#include "tests/unit/unit.h"

#define KIB  ((uint64_t)1 << 10)
#define MIB  ((uint64_t)1 << 20)
#define SPAN 100000u

struct event {
    uint64_t time;
    int64_t bytes;
};

static uint64_t random_state;

static uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static int by_time(const void *one, const void *other)
{
    const struct event *a = one, *b = other;
    return a->time < b->time ? -1 : a->time > b->time;
}

struct scene {
    struct replay_plan_item *items;
    size_t count;
    struct event *events;
    struct replay_plan_step *steps;
    uint32_t step_count;
    struct replay_cells cells;
};

static void add(struct scene *scene, uint64_t begin, uint64_t end, uint64_t bytes, uint8_t sort)
{
    scene->items[scene->count++] =
        (struct replay_plan_item){.begin = begin, .end = end, .bytes = bytes, .sort = sort, .wanted = true};
}

/* One step for each hundredth of what is alive. */
static void make_steps(struct scene *scene)
{
    uint64_t alive = 0, changed = 0;

    for (size_t i = 0; i < scene->count; i++) {
        scene->events[2 * i] = (struct event){scene->items[i].begin, (int64_t)scene->items[i].bytes};
        scene->events[2 * i + 1] = (struct event){scene->items[i].end, -(int64_t)scene->items[i].bytes};
    }
    qsort(scene->events, 2 * scene->count, sizeof *scene->events, by_time);
    scene->step_count = 1;
    scene->steps[0] = (struct replay_plan_step){0, 0};
    for (size_t i = 0; i < 2 * scene->count; i++) {
        const struct event *event = &scene->events[i];
        alive += (uint64_t)event->bytes;
        changed += (uint64_t)llabs(event->bytes);
        if (changed > (alive > REPLAY_FLOOR_BYTES ? alive : REPLAY_FLOOR_BYTES) / 100) {
            scene->steps[scene->step_count++] = (struct replay_plan_step){event->time, alive};
            changed = 0;
        } else if (alive < scene->steps[scene->step_count - 1].low) {
            scene->steps[scene->step_count - 1].low = alive;
        }
    }
}

static struct scene begin(size_t count)
{
    struct scene scene = {.items = calloc(count, sizeof *scene.items),
                          .events = calloc(count, 2 * sizeof *scene.events),
                          .steps = calloc(2 * count + 1, sizeof *scene.steps)};
    CHECK(scene.items && scene.events && scene.steps);
    return scene;
}

static void finish(struct scene *scene)
{
    free(scene->items);
    free(scene->events);
    free(scene->steps);
    free(scene->cells.at);
}

static void make_plan(struct scene *scene, uint32_t most)
{
    make_steps(scene);
    CHECK_EQ_INT(replay_plan(scene->steps, scene->step_count, scene->items, scene->count, most, &scene->cells), LAP_OK);
}

/* Cells are what their items say; the ratio of all blocks to what is alive or the floor, and how many cells there are,
 * at the worst moments. */
static double check(const struct scene *scene, uint32_t *out_most)
{
    struct replay_cell *sums = calloc(scene->cells.count + 1, sizeof *sums);
    struct event *blocks = calloc(scene->cells.count + 1, 2 * sizeof *blocks);
    uint64_t alive = 0, allocated = 0;
    uint32_t cells = 0, most = 0, next = 0;
    double worst = 0;

    for (size_t i = 0; i < scene->count; i++) {
        const struct replay_plan_item *item = &scene->items[i];
        struct replay_cell *sum = &sums[item->cell];
        CHECK(item->cell >= 1 && item->cell <= scene->cells.count);
        CHECK(sum->items == 0 || sum->sort == item->sort);
        sum->sort = item->sort;
        sum->begin = sum->items == 0 || item->begin < sum->begin ? item->begin : sum->begin;
        sum->end = item->end > sum->end ? item->end : sum->end;
        sum->bytes += item->bytes;
        sum->items++;
    }
    for (uint32_t i = 0; i < scene->cells.count; i++) {
        const struct replay_cell *is = &scene->cells.at[i], *sum = &sums[i + 1];
        CHECK(is->begin == sum->begin && is->end == sum->end && is->bytes == sum->bytes && is->items == sum->items &&
              is->sort == sum->sort);
        blocks[2 * i] = (struct event){sums[i + 1].begin, (int64_t)sums[i + 1].bytes};
        blocks[2 * i + 1] = (struct event){sums[i + 1].end, -(int64_t)sums[i + 1].bytes};
    }
    qsort(blocks, 2 * (size_t)scene->cells.count, sizeof *blocks, by_time);
    for (size_t i = 0; i < 2 * scene->count;) {
        uint64_t time = scene->events[i].time;
        double ratio;
        for (; i < 2 * scene->count && scene->events[i].time == time; i++)
            alive += (uint64_t)scene->events[i].bytes;
        for (; next < 2 * scene->cells.count && blocks[next].time <= time; next++) {
            allocated += (uint64_t)blocks[next].bytes;
            cells += blocks[next].bytes > 0 ? 1 : UINT32_MAX;
        }
        most = cells > most ? cells : most;
        ratio = (double)allocated / (double)(alive > REPLAY_FLOOR_BYTES ? alive : REPLAY_FLOOR_BYTES);
        worst = ratio > worst ? ratio : worst;
    }
    free(sums);
    free(blocks);
    *out_most = most;
    return worst;
}

static void draw(struct scene *scene, size_t count, bool apart)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t from = 1 + random_u64() % SPAN, to = 1 + random_u64() % SPAN;
        uint64_t begins = apart || from < to ? from : to, ends = apart ? SPAN + to : from < to ? to : from;
        add(scene, begins, ends + 1, 256 + random_u64() % (32 * KIB), (uint8_t)(random_u64() % 3));
    }
}

UNIT_TEST(little_is_empty_at_any_moment)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct scene scene = begin(10000);
        uint32_t most;
        double worst;
        random_state = seed * 0x9e3779b97f4a7c15;
        draw(&scene, 10000, seed & 1);
        make_plan(&scene, 3000);
        worst = check(&scene, &most);
        printf("seed %u: %.3f with %u cells, %u at once\n", (unsigned)seed, worst, scene.cells.count, most);
        CHECK(worst < 1.19);
        CHECK(most < 2000);
        finish(&scene);
    }
}

UNIT_TEST(few_cells_waste_more)
{
    double before = 1;

    for (uint32_t limit = 2048; limit >= 16; limit /= 4) {
        struct scene scene = begin(10000);
        uint32_t most;
        double worst;
        random_state = 4711;
        draw(&scene, 10000, false);
        make_plan(&scene, limit);
        worst = check(&scene, &most);
        printf("%u cells: %.3f\n", limit, worst);
        CHECK(most <= limit);
        CHECK(worst >= before);
        before = worst;
        finish(&scene);
    }
    CHECK(before > 1.5);
}

UNIT_TEST(what_ends_together_needs_one_block)
{
    struct scene scene = begin(3000);
    uint32_t most;

    /* All of it comes with what is there already, and goes at once. */
    for (uint32_t i = 0; i < 1000; i++)
        add(&scene, 1, 50, 64 * KIB, 0);
    for (uint32_t i = 0; i < 1000; i++)
        add(&scene, 10, 20, 32 * KIB, 1);
    for (uint32_t i = 0; i < 1000; i++)
        add(&scene, 30, 50, 32 * KIB, 1);
    make_plan(&scene, 100);
    CHECK(check(&scene, &most) < 1.01);
    CHECK_EQ_U64(scene.cells.count, 3);
    finish(&scene);
}

UNIT_TEST(earlier_plans_count)
{
    struct scene scene = begin(20000);
    uint32_t most, before;
    double worst;

    random_state = 42;
    draw(&scene, 20000, true);
    for (size_t i = 10000; i < scene.count; i++)
        scene.items[i].wanted = false;
    make_plan(&scene, 3000);
    before = scene.cells.count;
    CHECK(before > 0);
    for (size_t i = 0; i < scene.count; i++) {
        CHECK((scene.items[i].cell != REPLAY_CELL_UNKNOWN) == (i < 10000));
        scene.items[i].wanted = true;
    }
    make_plan(&scene, 3000);
    for (size_t i = 0; i < scene.count; i++)
        CHECK((scene.items[i].cell <= before) == (i < 10000));
    worst = check(&scene, &most);
    printf("in two halves: %.3f with %u and %u cells\n", worst, before, scene.cells.count - before);
    CHECK(worst < 1.19);
    CHECK(most <= 3000);
    finish(&scene);
}

UNIT_TEST(nothing_to_plan_is_no_failure)
{
    struct scene scene = begin(1);
    const struct replay_plan_step step = {0, 0};

    CHECK_EQ_INT(replay_plan(&step, 1, scene.items, 0, 10, &scene.cells), LAP_OK);
    CHECK_EQ_U64(scene.cells.count, 0);
    add(&scene, 5, UINT64_MAX, KIB, 0);
    scene.items[0].wanted = false;
    CHECK_EQ_INT(replay_plan(&step, 1, scene.items, 1, 10, &scene.cells), LAP_OK);
    CHECK_EQ_U64(scene.cells.count, 0);
    scene.items[0].wanted = true;
    CHECK_EQ_INT(replay_plan(&step, 1, scene.items, 1, 0, &scene.cells), LAP_OK);
    CHECK_EQ_U64(scene.cells.count, 1);
    CHECK_EQ_U64(scene.items[0].cell, 1);
    finish(&scene);
}

UNIT_MAIN();
