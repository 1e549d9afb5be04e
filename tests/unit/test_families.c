/* SPDX-License-Identifier: MIT */
/* Which families and queues here stand for recorded ones. */
#include "replayer/device/queue_families.h"

#include "tests/unit/unit.h"

#define G   VK_QUEUE_GRAPHICS_BIT
#define C   VK_QUEUE_COMPUTE_BIT
#define T   VK_QUEUE_TRANSFER_BIT
#define S   VK_QUEUE_SPARSE_BINDING_BIT
#define ANY (G | C | T)

struct machine {
    VkQueueFamilyProperties families[4];
    uint32_t count;
};

static void add_family(struct machine *machine, VkQueueFlags flags, uint32_t queues)
{
    machine->families[machine->count++] = (VkQueueFamilyProperties){
        .queueFlags = flags, .queueCount = queues, .timestampValidBits = 64, .minImageTransferGranularity = {1, 1, 1}};
}

/* One queue that takes everything. */
static struct machine one_queue(void)
{
    struct machine machine = {.count = 0};
    add_family(&machine, ANY, 1);
    return machine;
}

/* As GPUs with queues for compute and for copies have it. */
static struct machine many_queues(void)
{
    struct machine machine = {.count = 0};
    add_family(&machine, ANY | S, 16);
    add_family(&machine, T | S, 2);
    add_family(&machine, C | T | S, 8);
    return machine;
}

struct recorded {
    struct replay_recorded_family families[REPLAY_MAX_FAMILIES];
    struct replay_queue_plan plan;
};

static void record(struct recorded *r, uint32_t number, VkQueueFlags flags, uint32_t queues, VkQueueFlags needs)
{
    r->families[number] = (struct replay_recorded_family){flags, {1, 1, 1}, queues, {0}};
    for (VkQueueFlags kind = 1; kind <= S; kind <<= 1)
        if (needs & kind)
            replay_family_needs_kinds(&r->families[number].needs, kind);
}

static bool same(struct recorded *r, const struct machine *here)
{
    return replay_queue_plan_identity(r->families, here->families, here->count, &r->plan);
}

static enum lap_status plan(struct recorded *r, const struct machine *here)
{
    return replay_queue_plan_choose(r->families, here->families, here->count, false, &r->plan);
}

UNIT_TEST(families_that_are_there_stay)
{
    struct machine here = many_queues();
    struct recorded r = {0};

    record(&r, 0, ANY | S, 1, 0);
    record(&r, 2, C | T | S, 2, 0);
    CHECK(same(&r, &here));
    CHECK(!r.plan.differs);
    CHECK(!r.plan.shared);
    CHECK_EQ_U64(r.plan.families[2], 2);
    CHECK_EQ_U64(r.plan.queue_counts[0], 1);
    CHECK_EQ_U64(r.plan.queue_counts[1], 0);
    CHECK_EQ_U64(r.plan.queue_counts[2], 2);
    record(&r, 2, C | T | S, 9, 0); /* more queues than there are */
    CHECK(!same(&r, &here));
    record(&r, 2, 0, 1, 0); /* nobody knows what it was */
    CHECK(!same(&r, &here));
    record(&r, 2, 0, 0, 0);
    record(&r, 7, T, 0, 0); /* no queue was made, but lists may name it */
    CHECK(same(&r, &here));
    CHECK(r.plan.differs);
    CHECK_EQ_U64(r.plan.families[7], 0);
}

UNIT_TEST(three_families_meet_in_one_queue)
{
    struct machine here = one_queue();
    struct recorded r = {0};

    record(&r, 0, ANY | S, 2, G);
    record(&r, 1, T | S, 1, T);
    record(&r, 2, C | T | S, 3, C);
    CHECK(!same(&r, &here));
    CHECK_EQ_INT(plan(&r, &here), LAP_OK);
    CHECK(r.plan.differs);
    CHECK(r.plan.shared);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQ_U64(r.plan.families[i], 0);
        CHECK_EQ_U64(replay_queue_plan_number(&r.plan, i, 2), 0);
    }
    CHECK_EQ_U64(r.plan.queue_counts[0], 1);
}

UNIT_TEST(queues_of_several_families_are_spread)
{
    struct machine here = {.count = 0};
    struct recorded r = {0};

    add_family(&here, ANY, 4);
    record(&r, 0, ANY, 1, G);
    record(&r, 1, C | T, 2, C);
    record(&r, 2, T, 1, T);
    CHECK_EQ_INT(plan(&r, &here), LAP_OK);
    CHECK(!r.plan.shared);
    CHECK_EQ_U64(r.plan.queue_counts[0], 4);
    uint32_t seen = 1u << replay_queue_plan_number(&r.plan, 0, 0) | 1u << replay_queue_plan_number(&r.plan, 1, 0) |
                    1u << replay_queue_plan_number(&r.plan, 1, 1) | 1u << replay_queue_plan_number(&r.plan, 2, 0);
    CHECK_EQ_U64(seen, 15);
}

UNIT_TEST(the_same_kinds_are_found_elsewhere)
{
    struct machine here = many_queues();
    struct recorded r = {0};

    record(&r, 0, C | T | S, 1, T); /* it only copied, and was one that computes */
    record(&r, 1, ANY | S, 1, G | C);
    record(&r, 2, T | S, 1, T);
    CHECK(!same(&r, &here));
    CHECK_EQ_INT(plan(&r, &here), LAP_OK);
    CHECK_EQ_U64(r.plan.families[0], 2);
    CHECK_EQ_U64(r.plan.families[1], 0);
    CHECK_EQ_U64(r.plan.families[2], 1);
    CHECK(!r.plan.shared);
}

UNIT_TEST(the_least_that_suffices_is_taken)
{
    struct machine here = {.count = 0};
    struct recorded r = {0};

    add_family(&here, G | T, 4);
    add_family(&here, ANY | S, 4);
    add_family(&here, C | T, 4);
    record(&r, 0, ANY, 1, C);
    CHECK_EQ_INT(plan(&r, &here), LAP_OK);
    CHECK_EQ_U64(r.plan.families[0], 1); /* of the same kinds, but for one that nobody uses */
}

UNIT_TEST(a_family_of_unknown_kinds_stays_or_becomes_the_most_capable)
{
    struct machine here = {.count = 0};
    struct recorded r = {0};

    add_family(&here, C | T, 4);
    add_family(&here, G | T, 4);
    add_family(&here, ANY | S, 4);
    record(&r, 0, 0, 1, C);
    CHECK_EQ_INT(plan(&r, &here), LAP_OK);
    CHECK_EQ_U64(r.plan.families[0], 0);
    record(&r, 0, 0, 1, G);
    CHECK_EQ_INT(plan(&r, &here), LAP_OK);
    CHECK_EQ_U64(r.plan.families[0], 2);
}

UNIT_TEST(unused_kinds_are_not_needed)
{
    struct machine here = {.count = 0};
    struct recorded r = {0};

    add_family(&here, G | T, 1);
    record(&r, 0, ANY | S, 1, G);
    CHECK_EQ_INT(plan(&r, &here), LAP_OK);
    CHECK_EQ_U64(r.plan.families[0], 0);
    record(&r, 1, C | T, 1, C);
    CHECK_EQ_INT(plan(&r, &here), LAP_ERROR_UNSUPPORTED);
    CHECK_EQ_U64(r.plan.failed, 1);
    CHECK_EQ_U64(r.plan.families[1], 0);
    CHECK_EQ_INT(replay_queue_plan_choose(r.families, here.families, here.count, true, &r.plan), LAP_OK);
}

UNIT_TEST(queues_with_fewer_choices_are_assigned_first)
{
    struct machine here = {.count = 0};
    struct recorded r = {0};

    add_family(&here, ANY, 1);
    add_family(&here, T, 1);
    record(&r, 0, ANY, 1, T);
    record(&r, 1, ANY, 1, G);
    CHECK_EQ_INT(plan(&r, &here), LAP_OK);
    CHECK_EQ_U64(r.plan.families[0], 1);
    CHECK_EQ_U64(r.plan.families[1], 0);
    CHECK(!r.plan.shared);
}

UNIT_TEST(copies_of_parts_want_families_that_take_them)
{
    struct machine here = {.count = 0};
    struct recorded r = {0};

    add_family(&here, ANY, 1);
    add_family(&here, T, 1);
    here.families[1].minImageTransferGranularity = (VkExtent3D){16, 16, 8};
    record(&r, 0, ANY, 1, G);
    record(&r, 1, T, 1, T);
    r.families[1].needs.image_copies = true;
    CHECK(!same(&r, &here));
    CHECK_EQ_INT(plan(&r, &here), LAP_OK);
    CHECK_EQ_U64(r.plan.families[1], 0);
    r.families[1].granularity = (VkExtent3D){32, 16, 8}; /* the program kept to this */
    CHECK(same(&r, &here));
    CHECK_EQ_INT(plan(&r, &here), LAP_OK);
    CHECK_EQ_U64(r.plan.families[1], 1);
    r.families[1].granularity = (VkExtent3D){0, 0, 0};
    CHECK_EQ_INT(plan(&r, &here), LAP_OK);
    CHECK_EQ_U64(r.plan.families[1], 0);
    CHECK_EQ_U64(r.plan.unfit, 0);
    here.families[0].queueFlags = S;
    r.families[0].queue_count = 0;
    CHECK_EQ_INT(plan(&r, &here), LAP_OK);
    CHECK_EQ_U64(r.plan.families[1], 1); /* nothing else is left */
    CHECK_EQ_U64(r.plan.unfit, 1u << 1);
}

UNIT_TEST(timestamps_want_families_that_have_them)
{
    struct machine here = {.count = 0};
    struct recorded r = {0};

    add_family(&here, T, 1);
    add_family(&here, ANY, 1);
    here.families[0].timestampValidBits = 0;
    record(&r, 0, T, 1, T);
    r.families[0].needs.timestamps = true;
    CHECK_EQ_INT(plan(&r, &here), LAP_OK);
    CHECK_EQ_U64(r.plan.families[0], 1);
}

UNIT_TEST(video_goes_where_its_kind_is)
{
    const VkQueueFlags D = LAP_QUEUE_VIDEO_DECODE, E = LAP_QUEUE_VIDEO_ENCODE;
    struct machine here = {.count = 0};
    struct recorded r = {0};
    char text[REPLAY_KINDS_BYTES];

    add_family(&here, ANY, 1);
    add_family(&here, E | T, 1);
    add_family(&here, D, 1);
    record(&r, 0, ANY, 1, G);
    record(&r, 1, D | T, 1, D);
    replay_family_needs_kinds(&r.families[1].needs, D);
    replay_family_needs_kinds(&r.families[1].needs, D | E);             /* coding begins */
    replay_family_needs_kinds(&r.families[1].needs, G | C | T | D | E); /* a barrier */
    CHECK(!same(&r, &here));
    CHECK_EQ_INT(plan(&r, &here), LAP_OK);
    CHECK_EQ_U64(r.plan.families[1], 2);
    replay_family_needs_write(&r.families[1].needs, text);
    CHECK_STR(text, "video decoding");
    here.families[2].queueFlags = E;
    CHECK_EQ_INT(plan(&r, &here), LAP_ERROR_UNSUPPORTED);
    CHECK_EQ_U64(r.plan.failed, 1);
}

UNIT_TEST(what_families_are_needed_for_is_reported)
{
    struct replay_family_needs needs = {0}, stages = {0};
    char text[REPLAY_KINDS_BYTES];

    replay_family_needs_kinds(&needs, 0); /* what goes anywhere */
    replay_family_needs_write(&needs, text);
    CHECK_STR(text, "nothing that is known");
    replay_family_needs_kinds(&needs, G | C | T);
    replay_family_needs_kinds(&needs, G | C);
    replay_family_needs_write(&needs, text);
    CHECK_STR(text, "graphics or compute");
    replay_family_needs_kinds(&needs, C);
    replay_family_needs_kinds(&needs, S);
    replay_family_needs_write(&needs, text);
    CHECK_STR(text, "compute, sparse binding");
    replay_family_needs_stages(&stages, VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT | VK_PIPELINE_STAGE_2_COPY_BIT, C | T);
    replay_family_needs_write(&stages, text); /* the other half of a transfer of ownership has the first one */
    CHECK_STR(text, "graphics or compute or transfer");
}

UNIT_TEST(any_count_of_queues_is_taken)
{
    struct machine here = one_queue();
    struct recorded r = {0};

    record(&r, 0, ANY, UINT32_MAX, G);
    record(&r, 1, ANY, UINT32_MAX, G);
    CHECK_EQ_INT(plan(&r, &here), LAP_OK);
    CHECK_EQ_U64(r.plan.queue_counts[0], 1);
    CHECK_EQ_U64(replay_queue_plan_number(&r.plan, 1, UINT32_MAX), 0);
}

UNIT_MAIN();
