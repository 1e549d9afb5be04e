/* SPDX-License-Identifier: MIT */
/*
 * What is gathered and played together, against what the specification lets a program depend on: every sequence of up
 * to six packets about two pools is made into steps, and whatever one packet may have to find as another one left it is
 * finished before it begins.
 */
#include "replayer/command/playback_order.h"

#include <stdlib.h>

#include "tests/unit/unit.h"

enum { POOLS = 2, LENGTH = 6 };

enum kind {
    RECORD_SECONDARY,
    RECORD_PRIMARY, /* may execute every secondary command buffer */
    RESET_MIXED,    /* of a pool that has secondary command buffers */
    RESET_PRIMARY,  /* of a primary command buffer */
    FREE,           /* what needs nothing that is recorded: creation, descriptor updates */
    BARRIER,        /* submits, waits, destruction: may need all that came before, and all after it may need it */
    KINDS
};

struct packet {
    enum kind kind;
    uint64_t pool;
    uint32_t step, group, place; /* when it was played: steps one after the other, groups of a step at once */
};

struct player {
    struct replay_order gather;
    struct packet *gathered[LENGTH];
    uint32_t steps, together; /* the most groups that a step had */
};

static bool is_record(const struct packet *packet)
{
    return packet->kind == RECORD_SECONDARY || packet->kind == RECORD_PRIMARY;
}

/* Whether the later one has to stand behind the earlier one. */
static bool depends(const struct packet *earlier, const struct packet *later)
{
    bool touches_secondary;

    if (earlier->kind == BARRIER || later->kind == BARRIER)
        return true;
    if (earlier->kind == FREE) /* the later one may name what it made */
        return true;
    if (later->kind == FREE)
        return false;
    if (earlier->pool == later->pool)
        return true;
    touches_secondary = earlier->kind == RECORD_SECONDARY || earlier->kind == RESET_MIXED ||
                        later->kind == RECORD_SECONDARY || later->kind == RESET_MIXED;
    return touches_secondary && (earlier->kind == RECORD_PRIMARY || later->kind == RECORD_PRIMARY);
}

static void play_gathered(struct player *player)
{
    static struct replay_order_step step;
    uint32_t played = 0;

    for (unsigned number = 0; number < 2; number++) {
        replay_order_step(&player->gather, number, &step);
        player->steps++;
        for (uint32_t group = 0; group < step.group_count; group++) {
            CHECK(step.groups[group].count > 0);
            CHECK(group == 0 || step.groups[group].bytes <= step.groups[group - 1].bytes);
            for (uint32_t i = 0; i < step.groups[group].count; i++) {
                struct packet *packet = player->gathered[step.order[step.groups[group].first + i]];
                CHECK(packet && packet->step == 0); /* once */
                packet->step = player->steps;
                packet->group = group;
                packet->place = i;
                played++;
            }
        }
        if (step.group_count > player->together)
            player->together = step.group_count;
    }
    CHECK_EQ_U64(played, player->gather.count);
    player->gather.count = player->gather.secondaries = 0;
    player->gather.bytes = 0;
}

/* As parallel.c does. */
static void play(struct player *player, struct packet *packet)
{
    struct replay_ordered_block block = {packet->pool, 100, packet->kind == RECORD_SECONDARY};

    if (is_record(packet)) {
        if (!replay_order_may_add(&player->gather, &block))
            play_gathered(player);
        player->gathered[player->gather.count] = packet;
        replay_order_add(&player->gather, &block);
        return;
    }
    if (packet->kind == BARRIER ||
        ((packet->kind == RESET_MIXED || packet->kind == RESET_PRIMARY) &&
         !replay_order_may_reset(&player->gather, packet->pool, packet->kind == RESET_MIXED)))
        play_gathered(player);
    packet->step = ++player->steps;
}

static uint32_t play_all(struct packet *packets, uint32_t count)
{
    struct player player = {.steps = 0};

    for (uint32_t i = 0; i < count; i++)
        play(&player, &packets[i]);
    play_gathered(&player);
    return player.together;
}

static bool is_finished_before(const struct packet *earlier, const struct packet *later)
{
    if (earlier->step != later->step)
        return earlier->step < later->step;
    return earlier->group == later->group && earlier->place < later->place;
}

static void print(const struct packet *packets, uint32_t count)
{
    static const char *const names[KINDS] = {"secondary", "primary", "reset-mixed", "reset-primary", "free", "barrier"};

    for (uint32_t i = 0; i < count; i++)
        printf("  %s of pool %u: step %u, group %u, place %u\n", names[packets[i].kind], (unsigned)packets[i].pool,
               packets[i].step, packets[i].group, packets[i].place);
}

UNIT_TEST(what_depends_on_another_stands_behind_it)
{
    uint32_t together = 0;
    uint64_t sequences = 0;

    for (uint32_t count = 1; count <= LENGTH; count++) {
        uint64_t all = 1;
        for (uint32_t i = 0; i < count; i++)
            all *= KINDS * POOLS;
        for (uint64_t number = 0; number < all && !unit_failed; number++, sequences++) {
            struct packet packets[LENGTH] = {0};
            uint64_t rest = number;
            uint32_t groups;
            for (uint32_t i = 0; i < count; i++, rest /= KINDS * POOLS)
                packets[i] = (struct packet){.kind = (enum kind)(rest % KINDS), .pool = 1 + rest / KINDS % POOLS};
            groups = play_all(packets, count);
            together = groups > together ? groups : together;
            for (uint32_t later = 1; later < count; later++)
                for (uint32_t earlier = 0; earlier < later; earlier++)
                    if (depends(&packets[earlier], &packets[later]) &&
                        !is_finished_before(&packets[earlier], &packets[later])) {
                        print(packets, count);
                        UNIT_FAIL("packet %u does not stand behind packet %u", later, earlier);
                    }
        }
    }
    CHECK_EQ_U64(together, POOLS);
    CHECK(sequences > 3000000);
}

/* Threads that reset their pools and record in turn, as they do when there are fewer processors than threads. */
UNIT_TEST(a_frame_of_several_threads_is_one_step)
{
    static const enum kind kinds[] = {RESET_MIXED, RECORD_SECONDARY, RESET_MIXED,    RECORD_SECONDARY, FREE,
                                      RESET_MIXED, RECORD_SECONDARY, RECORD_PRIMARY, BARRIER};
    struct packet packets[9] = {0};
    struct player player = {.steps = 0};

    for (uint32_t i = 0; i < 9; i++) {
        packets[i] = (struct packet){.kind = kinds[i], .pool = i < 2 ? 1 : i < 4 ? 2 : i < 7 ? 3 : 4};
        play(&player, &packets[i]);
    }
    CHECK_EQ_U64(packets[1].step, packets[3].step);
    CHECK_EQ_U64(packets[3].step, packets[6].step);
    CHECK(packets[6].step < packets[7].step && packets[7].step < packets[8].step);
    CHECK_EQ_U64(player.together, 3);
}

UNIT_TEST(it_is_bounded)
{
    static struct replay_order gather;
    static struct replay_order_step step;
    struct replay_ordered_block block = {1, 10, false}, large = {2, REPLAY_ORDER_BYTES, false};

    CHECK(replay_order_may_add(&gather, &large));
    replay_order_add(&gather, &block);
    CHECK(!replay_order_may_add(&gather, &large));
    replay_order_add(&gather, &large);
    CHECK_EQ_U64(gather.count, 1);
    for (uint32_t i = 1; i < REPLAY_ORDER_BLOCKS; i++) {
        block.pool = i + 1;
        CHECK(replay_order_may_add(&gather, &block));
        replay_order_add(&gather, &block);
    }
    CHECK(!replay_order_may_add(&gather, &block));
    replay_order_step(&gather, 1, &step);
    CHECK_EQ_U64(step.group_count, REPLAY_ORDER_BLOCKS);
}

UNIT_MAIN();
