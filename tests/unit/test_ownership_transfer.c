/* SPDX-License-Identifier: MIT */
/* What becomes of ownership transfers where recorded families are one family of the replay device. */
#include "replayer/sync/ownership_transfer.h"

#include "replayer/device/queue_families.h"
#include "tests/unit/unit.h"

#define READ      VK_ACCESS_2_SHADER_READ_BIT
#define WRITE     VK_ACCESS_2_TRANSFER_WRITE_BIT
#define FROM      VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL
#define TO        VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL
#define UNDEFINED VK_IMAGE_LAYOUT_UNDEFINED

/* Recorded families 0 and 1 are family 3 of the replay device, 2 is its family 5. */
static struct replay_queue_plan plan = {.families = {3, 3, 5}};

static struct replay_ownership_transfer translate(uint32_t played, uint32_t source, uint32_t destination, bool shared,
                                                  VkImageLayout old_layout)
{
    struct replay r = {.at.block_family = played};
    struct replay_device dev = {.queues.plan = &plan, .queues.family_count = 2};
    struct replay_ownership_transfer barrier = {source, destination, WRITE, READ, old_layout, TO};

    replay_ownership_transfer_translate(&r, &dev, &barrier, shared);
    return barrier;
}

static void expect(struct replay_ownership_transfer barrier, uint32_t source, uint32_t destination,
                   VkAccessFlags2 source_access, VkAccessFlags2 destination_access, VkImageLayout old_layout)
{
    CHECK_EQ_U64(barrier.source, source);
    CHECK_EQ_U64(barrier.destination, destination);
    CHECK_EQ_U64(barrier.source_access, source_access);
    CHECK_EQ_U64(barrier.destination_access, destination_access);
    CHECK_EQ_INT((int)barrier.old_layout, (int)old_layout);
    CHECK_EQ_INT((int)barrier.new_layout, (int)TO);
}

UNIT_TEST(a_transfer_between_two_families_stays_one)
{
    expect(translate(0, 0, 2, false, FROM), 3, 5, WRITE, READ, FROM);
    expect(translate(2, 0, 2, false, FROM), 3, 5, WRITE, READ, FROM);
}

UNIT_TEST(where_families_merge_the_release_changes_the_layout_and_the_acquire_finds_it_changed)
{
    const uint32_t none = VK_QUEUE_FAMILY_IGNORED;
    expect(translate(0, 0, 1, false, FROM), none, none, WRITE, 0, FROM);
    expect(translate(1, 0, 1, false, FROM), none, none, 0, READ, TO);
    expect(translate(1, 0, 1, false, UNDEFINED), none, none, 0, READ, UNDEFINED);
}

UNIT_TEST(what_all_families_share_is_not_transferred)
{
    const uint32_t none = VK_QUEUE_FAMILY_IGNORED, external = VK_QUEUE_FAMILY_EXTERNAL;
    expect(translate(0, 0, 2, true, FROM), none, none, WRITE, 0, FROM);
    expect(translate(2, 0, 2, true, FROM), none, none, 0, READ, TO);
    expect(translate(0, 0, external, true, FROM), none, external, WRITE, READ, FROM);
    expect(translate(0, external, 0, true, FROM), external, none, WRITE, READ, FROM);
    expect(translate(2, 2, 2, true, FROM), none, none, WRITE, READ, FROM);
}

UNIT_TEST(what_goes_out_of_vulkan_and_comes_back_stays_a_transfer)
{
    const uint32_t external = VK_QUEUE_FAMILY_EXTERNAL;
    expect(translate(2, 2, external, false, FROM), 5, external, WRITE, READ, FROM);
    expect(translate(2, external, 2, false, FROM), external, 5, WRITE, READ, FROM);
    expect(translate(2, 2, 2, false, FROM), 5, 5, WRITE, READ, FROM);
}

UNIT_MAIN();
