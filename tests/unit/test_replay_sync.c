/* SPDX-License-Identifier: MIT */
/* Waits for queries on a device that takes a while. */
#include "tests/unit/replay_device.h"

static uint32_t asked, unavailable;
static VkQueryResultFlags seen;

/* The query is not available the first few times; a part of its result always is. */
static VKAPI_ATTR VkResult VKAPI_CALL slow_results(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count,
                                                   size_t bytes, void *data, VkDeviceSize stride,
                                                   VkQueryResultFlags flags)
{
    seen |= flags;
    return asked++ < unavailable && !(flags & VK_QUERY_RESULT_PARTIAL_BIT) ? VK_NOT_READY : VK_SUCCESS;
}

static uint32_t times_asked(struct unit_replay *u, VkQueryResultFlags flags)
{
    struct gen_args_vkGetQueryPoolResults args = {
        .queryCount = 1, .dataSize = 8, .stride = 8, .flags = flags, .result = VK_SUCCESS};
    asked = 0;
    seen = 0;
    unavailable = 3;
    CHECK_EQ_INT(replay_GetQueryPoolResults(&u->r, &u->dev, &args), LAP_OK);
    CHECK(!(seen & VK_QUERY_RESULT_WAIT_BIT)); /* it has no limit */
    return asked;
}

UNIT_TEST(available_queries_are_waited_for)
{
    struct unit_replay u;
    if (!unit_replay_init(&u, NULL))
        SKIP("no Vulkan driver");
    u.dev.vk.GetQueryPoolResults = slow_results;
    CHECK_EQ_INT(times_asked(&u, 0), 4);
    CHECK_EQ_INT(times_asked(&u, VK_QUERY_RESULT_WAIT_BIT), 4);
    CHECK_EQ_INT(times_asked(&u, VK_QUERY_RESULT_WAIT_BIT | VK_QUERY_RESULT_PARTIAL_BIT), 4);
    /* The program learnt nothing. */
    CHECK_EQ_INT(times_asked(&u, VK_QUERY_RESULT_PARTIAL_BIT), 1);
    unit_replay_finish(&u);
}

UNIT_MAIN();
