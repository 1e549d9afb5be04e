/* SPDX-License-Identifier: MIT */
/* Which objects share memory, and how they can lie together elsewhere. No GPU. */
#include "replayer/analysis/alias_groups.h"

#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#include "tests/unit/unit.h"

#define BUFFER GEN_HANDLE_VkBuffer
#define IMAGE  GEN_HANDLE_VkImage

static struct replay_aliases *begin(void)
{
    struct replay_aliases *aliases = NULL;
    CHECK_EQ_INT(replay_aliases_create(&aliases), LAP_OK);
    return aliases;
}

static void put(struct replay_aliases *aliases, enum gen_handle_type type, uint64_t index, bool opaque, uint64_t memory,
                uint64_t offset, uint64_t bytes)
{
    struct replay_alias_bind bind = {.type = type, .index = index, .memory = memory, .offset = offset, .bytes = bytes};
    CHECK_EQ_INT(replay_aliases_add(aliases, type, index, opaque, &bytes, sizeof bytes), LAP_OK);
    CHECK_EQ_INT(replay_aliases_bind(aliases, &bind), LAP_OK);
}

static void put_buffer(struct replay_aliases *aliases, uint64_t index, uint64_t memory, uint64_t offset, uint64_t bytes)
{
    put(aliases, BUFFER, index, false, memory, offset, bytes);
}

static const struct replay_alias_group *group_of(const struct replay_aliases *aliases, uint64_t index)
{
    struct replay_alias_member *member = replay_aliases_find(aliases, BUFFER, index, 0);
    return member ? member->group : NULL;
}

static const enum gen_handle_type types[] = {BUFFER, IMAGE};
enum { MOST = 64 }; /* indices */

/* How many groups there are: each is counted at its first member. */
static uint64_t group_count(const struct replay_aliases *aliases)
{
    uint64_t count = 0;

    for (unsigned type = 0; type < 2; type++)
        for (uint64_t index = 0; index <= MOST; index++)
            for (uint32_t plane = 0; plane < 3; plane++) {
                const struct replay_alias_member *member =
                    replay_aliases_find(aliases, types[type], index, VK_IMAGE_ASPECT_PLANE_0_BIT << plane);
                count += member && member->group && member->group->first == member;
            }
    return count;
}

UNIT_TEST(overlapping_objects_form_a_group)
{
    struct replay_aliases *aliases = begin();

    put_buffer(aliases, 1, 1, 0, 100);
    put_buffer(aliases, 2, 1, 100, 100); /* touches, and shares nothing */
    put_buffer(aliases, 3, 1, 199, 50);  /* one byte of 2 */
    put_buffer(aliases, 4, 2, 0, 1000);  /* another memory */
    put_buffer(aliases, 5, 1, 1000, 10);
    put_buffer(aliases, 6, 1, 1002, 3); /* inside of 5 */
    CHECK_EQ_INT(replay_aliases_seal(aliases), LAP_OK);
    CHECK_EQ_U64(group_count(aliases), 2);
    CHECK(group_of(aliases, 1) == NULL && group_of(aliases, 4) == NULL);
    CHECK(group_of(aliases, 2) != NULL && group_of(aliases, 2) == group_of(aliases, 3));
    CHECK(group_of(aliases, 5) != NULL && group_of(aliases, 5) == group_of(aliases, 6));
    CHECK_EQ_U64(group_of(aliases, 2)->count, 2);
    CHECK(replay_aliases_find(aliases, IMAGE, 2, 0) == NULL);
    CHECK(replay_aliases_find(NULL, BUFFER, 2, 0) == NULL);
    replay_aliases_destroy(&aliases);
    CHECK(aliases == NULL);
}

UNIT_TEST(a_later_object_joins_groups)
{
    struct replay_aliases *aliases = begin();

    for (uint64_t i = 0; i < 10; i++)
        put_buffer(aliases, 1 + i, 1, i * 100, 100);
    put_buffer(aliases, 20, 1, 350, 300); /* 4 to 7 */
    put_buffer(aliases, 21, 1, 800, 1);   /* 9 */
    put_buffer(aliases, 22, 1, 640, 170); /* 20 and 21 with theirs, and 8 */
    CHECK_EQ_INT(replay_aliases_seal(aliases), LAP_OK);
    CHECK_EQ_U64(group_count(aliases), 1);
    CHECK_EQ_U64(group_of(aliases, 22)->count, 9);
    for (uint64_t i = 1; i <= 10; i++)
        CHECK((group_of(aliases, i) != NULL) == (i >= 4 && i <= 9));
    replay_aliases_destroy(&aliases);
}

UNIT_TEST(objects_with_disjoint_lives_form_no_group)
{
    struct replay_aliases *aliases = begin();

    for (uint64_t i = 1; i <= 1000; i++) {
        put_buffer(aliases, i, 1, i % 7 * 10, 100);
        replay_aliases_remove(aliases, BUFFER, i);
    }
    CHECK_EQ_U64(group_count(aliases), 0); /* and nothing is kept of them */
    CHECK_EQ_INT(replay_aliases_seal(aliases), LAP_OK);
    CHECK_EQ_U64(group_count(aliases), 0);
    replay_aliases_destroy(&aliases);
}

UNIT_TEST(a_chain_of_overlaps_is_one_group)
{
    struct replay_aliases *aliases = begin();

    put_buffer(aliases, 1, 1, 0, 100);
    put_buffer(aliases, 2, 1, 50, 100);
    replay_aliases_remove(aliases, BUFFER, 1);
    put_buffer(aliases, 4, 1, 0, 50);    /* where only 1 was: 2 is not there */
    put_buffer(aliases, 3, 1, 140, 100); /* meets 2, never met 1 */
    replay_aliases_remove(aliases, BUFFER, 2);
    replay_aliases_remove(aliases, BUFFER, 3);
    put_buffer(aliases, 5, 1, 60, 100); /* nobody is left here */
    CHECK_EQ_INT(replay_aliases_seal(aliases), LAP_OK);
    CHECK_EQ_U64(group_count(aliases), 1);
    CHECK(group_of(aliases, 1) == group_of(aliases, 2) && group_of(aliases, 2) == group_of(aliases, 3));
    CHECK_EQ_U64(group_of(aliases, 1)->count, 3);
    CHECK(group_of(aliases, 4) == NULL && group_of(aliases, 5) == NULL);
    replay_aliases_destroy(&aliases);
}

UNIT_TEST(memory_that_is_allocated_anew_is_another_one)
{
    struct replay_aliases *aliases = begin();

    /* The objects live on, but nobody may use them: their memory is gone. */
    put_buffer(aliases, 1, 1, 0, 100);
    put_buffer(aliases, 2, 2, 0, 100);
    put_buffer(aliases, 3, 2, 0, 100);
    CHECK_EQ_INT(replay_aliases_seal(aliases), LAP_OK);
    CHECK_EQ_U64(group_count(aliases), 1);
    CHECK(group_of(aliases, 1) == NULL);
    CHECK(group_of(aliases, 2) == group_of(aliases, 3));
    replay_aliases_destroy(&aliases);
}

UNIT_TEST(contents_pass_within_one_kind_only)
{
    struct replay_aliases *aliases = begin();
    struct replay_alias_bind plane = {
        .type = IMAGE, .index = 6, .plane = VK_IMAGE_ASPECT_PLANE_1_BIT, .memory = 1, .offset = 500, .bytes = 10};

    put_buffer(aliases, 1, 1, 0, 100);
    put(aliases, IMAGE, 1, true, 1, 0, 100);
    put(aliases, IMAGE, 2, false, 1, 50, 100); /* linear: with the buffer */
    put(aliases, IMAGE, 3, true, 1, 0, 200);   /* with 1 */
    put(aliases, IMAGE, 4, true, 1, 64, 100);  /* overlaps 1 and 3, but texels of theirs are no texels of its */
    put(aliases, IMAGE, 5, true, 1, 500, 10);
    CHECK_EQ_INT(replay_aliases_add(aliases, IMAGE, 6, true, "6", 1), LAP_OK);
    CHECK_EQ_INT(replay_aliases_bind(aliases, &plane), LAP_OK);
    CHECK_EQ_INT(replay_aliases_seal(aliases), LAP_OK);
    CHECK_EQ_U64(group_count(aliases), 3);
    CHECK(replay_aliases_find(aliases, IMAGE, 2, 0)->group == group_of(aliases, 1));
    CHECK(replay_aliases_find(aliases, IMAGE, 1, 0)->group == replay_aliases_find(aliases, IMAGE, 3, 0)->group);
    CHECK(replay_aliases_find(aliases, IMAGE, 1, 0)->group->opaque);
    CHECK(replay_aliases_find(aliases, IMAGE, 4, 0) == NULL);
    CHECK(replay_aliases_find(aliases, IMAGE, 6, VK_IMAGE_ASPECT_PLANE_1_BIT)->group ==
          replay_aliases_find(aliases, IMAGE, 5, 0)->group);
    CHECK(replay_aliases_find(aliases, IMAGE, 6, VK_IMAGE_ASPECT_PLANE_2_BIT) == NULL);
    replay_aliases_destroy(&aliases);
}

UNIT_TEST(objects_that_nobody_made_form_no_group)
{
    struct replay_aliases *aliases = begin();
    struct replay_alias_bind bind = {.type = BUFFER, .index = 7, .memory = 1, .offset = 0, .bytes = 10};

    CHECK_EQ_INT(replay_aliases_bind(aliases, &bind), LAP_OK); /* nobody made 7 */
    replay_aliases_remove(aliases, BUFFER, 7);
    put_buffer(aliases, 1, 1, 0, 0);
    put_buffer(aliases, 2, 1, UINT64_MAX, 10);
    put_buffer(aliases, 3, 1, 10, UINT64_MAX);
    put_buffer(aliases, 4, 1, 0, 10);
    put_buffer(aliases, 4, 1, 0, 10); /* made twice, bound twice */
    put_buffer(aliases, UINT64_MAX, 1, 0, 10);
    put_buffer(aliases, 5, UINT64_MAX, 0, 10);
    put_buffer(aliases, 6, UINT64_MAX, 0, 10);
    CHECK_EQ_INT(replay_aliases_seal(aliases), LAP_OK);
    CHECK_EQ_U64(group_count(aliases), 0);
    replay_aliases_destroy(&aliases);
    replay_aliases_destroy(&aliases);
}

UNIT_TEST(objects_that_were_made_alike_are_known_as_such)
{
    struct replay_aliases *aliases = begin();

    put(aliases, IMAGE, 1, true, 1, 0, 100);
    put(aliases, IMAGE, 2, true, 1, 0, 100);
    put(aliases, IMAGE, 3, true, 1, 0, 101);
    CHECK_EQ_INT(replay_aliases_seal(aliases), LAP_OK);
    CHECK(replay_aliases_find(aliases, IMAGE, 1, 0)->creation == replay_aliases_find(aliases, IMAGE, 2, 0)->creation);
    CHECK(replay_aliases_find(aliases, IMAGE, 1, 0)->creation != replay_aliases_find(aliases, IMAGE, 3, 0)->creation);
    replay_aliases_destroy(&aliases);
}

/* ---- against a model that compares all with all ---- */

#define OBJECTS 4000u

struct range {
    uint64_t memory, begin, end;
    bool alive;
    unsigned group; /* in the model: the number of a member that stands for it */
};

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void model_join(struct range *ranges, unsigned count, unsigned a, unsigned b)
{
    unsigned from = ranges[a].group, to = ranges[b].group;
    for (unsigned i = 0; i < count && from != to; i++)
        if (ranges[i].group == from)
            ranges[i].group = to;
}

UNIT_TEST(nothing_that_overlaps_is_missed)
{
    static struct range ranges[OBJECTS];
    struct replay_aliases *aliases = begin();
    uint32_t seed = 7;

    for (unsigned i = 0; i < OBJECTS; i++) {
        unsigned dead = next_random(&seed) % OBJECTS;
        struct range range = {.memory = 1 + next_random(&seed) % 3, .begin = next_random(&seed) % 3000};
        range.end = range.begin + 1 + next_random(&seed) % 40;
        range.alive = true;
        range.group = i;
        ranges[i] = range;
        put_buffer(aliases, i + 1, range.memory, range.begin, range.end - range.begin);
        for (unsigned j = 0; j < i; j++)
            if (ranges[j].alive && ranges[j].memory == range.memory && ranges[j].begin < range.end &&
                range.begin < ranges[j].end)
                model_join(ranges, i + 1, j, i);
        for (unsigned n = 0; n < 3; n++, dead = next_random(&seed) % OBJECTS) {
            if (dead > i || !ranges[dead].alive)
                continue;
            ranges[dead].alive = false;
            replay_aliases_remove(aliases, BUFFER, dead + 1);
        }
    }
    CHECK_EQ_INT(replay_aliases_seal(aliases), LAP_OK);
    for (unsigned i = 0, grouped = 0; i < OBJECTS; i++) {
        const struct replay_alias_group *group = group_of(aliases, i + 1);
        unsigned representative = ranges[i].group;
        grouped += group != NULL;
        /* Whoever overlaps is together; who is together need not overlap (what is gone counts while two are left). */
        if (representative != i) {
            CHECK(group != NULL);
            CHECK(group == group_of(aliases, representative + 1));
        }
        if (i + 1 == OBJECTS)
            CHECK(grouped > OBJECTS / 8 && grouped < OBJECTS);
    }
    replay_aliases_destroy(&aliases);
}

/* ---- plans ---- */

#define ALL UINT32_MAX

UNIT_TEST(members_keep_their_distances)
{
    struct replay_alias_need needs[] = {{.offset = 1000, .bytes = 100, .alignment = 4, .type_bits = 7},
                                        {.offset = 1040, .bytes = 10, .alignment = 8, .type_bits = 6},
                                        {.offset = 900, .bytes = 150, .alignment = 4, .type_bits = 15}};
    struct replay_alias_plan plan;

    replay_alias_plan(needs, 3, ALL, &plan);
    CHECK_EQ_U64(plan.together, 3);
    CHECK_EQ_U64(plan.type_bits, 6);
    CHECK_EQ_U64(plan.alignment, 8);
    CHECK_EQ_U64(needs[0].place - needs[2].place, 100);
    CHECK_EQ_U64(needs[1].place - needs[2].place, 140);
    CHECK_EQ_U64(needs[1].place % 8, 0);
    CHECK(needs[2].place < 8);
    CHECK_EQ_U64(plan.bytes, needs[0].place + 100);
}

UNIT_TEST(members_get_an_alignment_larger_than_recorded)
{
    struct replay_alias_need needs[] = {{.offset = 0x100, .bytes = 100, .alignment = 16, .type_bits = 1},
                                        {.offset = 0x140, .bytes = 100, .alignment = 256, .type_bits = 1},
                                        {.offset = 0x148, .bytes = 100, .alignment = 16, .type_bits = 1},
                                        {.offset = 0x440, .bytes = 1000, .alignment = 256, .type_bits = 1}};
    struct replay_alias_plan plan;

    replay_alias_plan(needs, 4, ALL, &plan);
    CHECK_EQ_U64(plan.alignment, 256);
    CHECK_EQ_U64(plan.together, 3);
    CHECK_EQ_INT(needs[2].apart, REPLAY_APART_ALIGNMENT); /* 8 bytes from a multiple of 256 is none of 16 */
    CHECK_EQ_U64(needs[0].place, 0xc0);
    CHECK_EQ_U64(needs[1].place, 0x100);
    CHECK_EQ_U64(needs[3].place, 0x400);
    CHECK_EQ_U64(plan.bytes, 0x400 + 1000); /* a size larger than at capture makes it larger */
}

UNIT_TEST(members_without_a_common_memory_type_are_apart)
{
    struct replay_alias_need needs[] = {{.bytes = 10, .alignment = 1, .type_bits = 3},
                                        {.bytes = 10, .alignment = 1, .type_bits = 4},
                                        {.bytes = 10, .alignment = 1, .type_bits = 6}};
    struct replay_alias_plan plan;

    replay_alias_plan(needs, 3, ALL, &plan);
    CHECK_EQ_U64(plan.together, 2);
    CHECK_EQ_U64(plan.type_bits, 2);
    CHECK_EQ_INT(needs[0].apart, REPLAY_TOGETHER);
    CHECK_EQ_INT(needs[1].apart, REPLAY_APART_TYPE);
    CHECK_EQ_INT(needs[2].apart, REPLAY_TOGETHER);

    needs[1].apart = REPLAY_TOGETHER;
    replay_alias_plan(needs, 3, 8, &plan); /* none of them may be used */
    CHECK_EQ_U64(plan.together, 0);
    CHECK_EQ_U64(plan.bytes, 0);
    CHECK_EQ_INT(needs[2].apart, REPLAY_APART_TYPE);
}

UNIT_TEST(who_is_apart_already_counts_for_nothing)
{
    struct replay_alias_need needs[] = {
        {.offset = 3, .bytes = 10, .alignment = 65536, .type_bits = 8, .apart = REPLAY_APART_LAYOUT},
        {.offset = 8, .bytes = 10, .alignment = 4, .type_bits = 3},
        {.offset = 4, .bytes = 10, .alignment = 4, .type_bits = 3}};
    struct replay_alias_plan plan;

    replay_alias_plan(needs, 3, ALL, &plan);
    CHECK_EQ_U64(plan.together, 2);
    CHECK_EQ_U64(plan.alignment, 4);
    CHECK_EQ_U64(plan.bytes, 14);
    CHECK_EQ_U64(needs[1].place, 4);
    CHECK_EQ_INT(needs[0].apart, REPLAY_APART_LAYOUT);
}

UNIT_TEST(memories_of_one_space_share_what_overlaps)
{
    struct replay_aliases *aliases = begin();
    CHECK_EQ_INT(replay_aliases_share(aliases, 1, 5, 0x10000), LAP_OK);
    CHECK_EQ_INT(replay_aliases_share(aliases, 2, 5, 0x11000), LAP_OK);
    CHECK_EQ_INT(replay_aliases_share(aliases, 3, 6, 0x10000), LAP_OK); /* another space */
    put_buffer(aliases, 1, 1, 0x800, 0x1000);
    put_buffer(aliases, 2, 2, 0, 0x100);
    put_buffer(aliases, 3, 3, 0, 0x2000);
    put_buffer(aliases, 4, 5, 0x10000, 0x2000); /* a memory whose index is the space's number */
    put_buffer(aliases, 5, 2, 0x800, 0x100);
    replay_aliases_unshare(aliases, 2);
    put_buffer(aliases, 6, 2, 0, 0x100);
    CHECK_EQ_INT(replay_aliases_seal(aliases), LAP_OK);
    CHECK_EQ_U64(group_count(aliases), 1);
    CHECK(group_of(aliases, 1) && group_of(aliases, 1) == group_of(aliases, 2));
    CHECK_EQ_U64(replay_aliases_find(aliases, BUFFER, 1, 0)->offset, 0x10800);
    CHECK_EQ_U64(replay_aliases_find(aliases, BUFFER, 2, 0)->offset, 0x11000);
    for (uint64_t alone = 3; alone <= 6; alone++)
        CHECK(!group_of(aliases, alone));
    replay_aliases_destroy(&aliases);
}

UNIT_TEST(wrong_packets_about_spaces_share_nothing)
{
    struct replay_aliases *aliases = begin();
    CHECK_EQ_INT(replay_aliases_share(aliases, UINT64_MAX, 1, 0), LAP_OK);
    CHECK_EQ_INT(replay_aliases_share(aliases, 1, UINT64_MAX, 0), LAP_OK);
    CHECK_EQ_INT(replay_aliases_share(aliases, 1, 1, UINT64_MAX), LAP_OK);
    CHECK_EQ_INT(replay_aliases_share(aliases, 2, 1, 0), LAP_OK);
    CHECK_EQ_INT(replay_aliases_share(aliases, 2, 2, 0), LAP_OK); /* twice: the first one counts */
    CHECK_EQ_INT(replay_aliases_share(aliases, 3, 2, 0), LAP_OK);
    replay_aliases_unshare(aliases, 7);
    put_buffer(aliases, 1, 1, 0, 100);
    put_buffer(aliases, 2, 2, 0, 100);
    put_buffer(aliases, 3, 3, 0, 100);
    CHECK_EQ_INT(replay_aliases_seal(aliases), LAP_OK);
    CHECK_EQ_U64(group_count(aliases), 0);
    replay_aliases_destroy(&aliases);
}

/* Creations are kept as they are in the file, each once. */
UNIT_TEST(what_is_kept_of_objects_is_limited)
{
    enum { BYTES = 64 << 20 };
    struct replay_aliases *aliases = begin();
    unsigned char *creation = calloc(1, BYTES);
    enum lap_status status = LAP_OK;
    uint64_t count = 0;

    CHECK(creation != NULL);
    for (uint64_t i = 1; i <= 100 && creation; i++)
        CHECK_EQ_INT(replay_aliases_add(aliases, BUFFER, i, false, creation, BYTES), LAP_OK);
    for (; status == LAP_OK && count < 10 && creation; count++) {
        creation[0]++;
        status = replay_aliases_add(aliases, BUFFER, 101 + count, false, creation, BYTES);
    }
    CHECK_EQ_INT(status, LAP_ERROR_LIMIT);
    CHECK_STR(lap_error_message(), "which objects share memory takes more than 512 MiB");
    CHECK_EQ_U64(count, 7);
    replay_aliases_remove(aliases, BUFFER, 101);
    CHECK_EQ_INT(replay_aliases_add(aliases, BUFFER, 200, false, creation, BYTES), LAP_OK);
    free(creation);
    replay_aliases_destroy(&aliases);
}

UNIT_MAIN();
