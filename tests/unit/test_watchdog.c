/* SPDX-License-Identifier: MIT */
/* A packet is over the limit when nothing has happened in it for that long, and not when something else takes long. */
#include "replayer/sync/watchdog.h"

#include "gen_ids.h"
#include "tests/unit/unit.h"

#define LIMIT_MS 2000u

static struct replay_watch watch;
static _Atomic uint64_t steps;

/* How many looks it takes, 20 at most. Each is half a second, with so much CPU time. */
static unsigned looks(struct replay_watched *watched, struct replay_look look, uint64_t cpu_ms)
{
    unsigned count = 1;

    look.packet = watch.packet;
    look.steps = steps;
    look.passed_ms = look.passed_ms ? look.passed_ms : REPLAY_WATCHDOG_SLEEP_MS;
    while (!replay_watched_is_over(watched, &look, LIMIT_MS) && count < 20) {
        count++;
        look.cpu_ms += cpu_ms;
    }
    return count;
}

#define LONG_ENOUGH 6u /* the first look only sees the packet; then five half seconds are more than two */

UNIT_TEST(a_packet_without_a_step_is_over)
{
    const struct replay_look look = {.has_room = true};
    struct replay_watched watched = {0};

    replay_watch_enter(&watch, 7, GEN_vkQueueSubmit);
    CHECK_EQ_U64(looks(&watched, look, 0), LONG_ENOUGH);
    replay_watch_enter(&watch, 8, GEN_vkQueueSubmit);
    CHECK_EQ_U64(looks(&watched, look, 0), LONG_ENOUGH);
    watch.step_count = &steps;
    replay_watch_step(&watch);
    CHECK_EQ_U64(looks(&watched, look, 0), LONG_ENOUGH);
    replay_watch_enter(&watch, 0, REPLAY_WATCH_NO_PACKET);
    CHECK_EQ_U64(looks(&watched, look, 0), LONG_ENOUGH);
}

UNIT_TEST(what_is_no_call_of_the_driver_has_no_limit)
{
    const struct replay_look look = {.has_room = true};
    struct replay_watched watched = {0};
    uint64_t packet;

    replay_watch_enter(&watch, 7, GEN_vkQueuePresentKHR);
    packet = replay_watch_pause(&watch);
    CHECK_EQ_U64(looks(&watched, look, 0), 20);
    replay_watch_go_on(&watch, packet);
    CHECK_EQ_U64(looks(&watched, look, 0), LONG_ENOUGH);
    CHECK_EQ_U64(looks(&watched, (struct replay_look){.has_room = false}, 0), 20);
    replay_watch_leave(&watch);
    CHECK_EQ_U64(looks(&watched, look, 0), 20);
}

UNIT_TEST(time_in_which_the_process_is_stopped_does_not_count)
{
    struct replay_watched watched = {0};

    replay_watch_enter(&watch, 7, GEN_vkQueueSubmit);
    CHECK_EQ_U64(looks(&watched, (struct replay_look){.has_room = true, .passed_ms = 3600000}, 0), LONG_ENOUGH);
}

UNIT_TEST(a_driver_may_compute_for_the_device_but_not_for_a_pipeline)
{
    const struct replay_look look = {.has_room = true};
    struct replay_watched watched = {0};

    replay_watch_enter(&watch, 7, GEN_vkQueueSubmit);
    CHECK_EQ_U64(looks(&watched, look, 400), 20);
    replay_watch_enter(&watch, 8, GEN_vkCreateGraphicsPipelines);
    CHECK_EQ_U64(looks(&watched, look, 400), LONG_ENOUGH);
}

UNIT_MAIN();
