/* SPDX-License-Identifier: MIT */
/*
 * replay_device: a replay with one live device and no trace, for tests of single replay functions.
 */
#ifndef LAP_TESTS_UNIT_REPLAY_DEVICE_H
#define LAP_TESTS_UNIT_REPLAY_DEVICE_H

#include "gen_replay.h"
#include "replayer/command/reference_check.h"
#include "replayer/core/handles.h"
#include "replayer/memory/memory.h"
#include "replayer/memory/new_memory.h"
#include "replayer/play/player.h"
#include "replayer/present/window_system.h"
#include "replayer/sparse/sparse.h"
#include "replayer/sync/submission.h"
#include "tests/unit/device.h"
#include "tests/unit/unit.h"

struct unit_replay {
    struct unit_device gpu;
    struct replay r;
    struct replay_instance instance;
    struct replay_device dev;
    struct replay_queue queue;
    struct replay_displays displays;
    struct lap_log log;
};

/* options may be NULL. False where there is no driver. */
static bool unit_replay_init(struct unit_replay *u, const struct replay_options *options)
{
    memset(u, 0, sizeof *u);
    if (!unit_device_init(&u->gpu))
        return false;
    u->log = (struct lap_log){.fd = 2, .level = LAP_LOG_ERROR, .prefix = "test: "};
    if (options)
        u->r.options = *options;
    replay_displays_connect(&u->displays, &u->r.options);
    u->r.options.displays = &u->displays;
    u->r.log = &u->log;
    lap_arena_init(&u->r.arena, 0);
    u->r.instances = &u->instance;
    u->r.devices = &u->dev;
    u->instance.live = u->gpu.instance;
    u->instance.index = 1;
    u->instance.vk = u->gpu.ivk;
    u->instance.gpu = u->gpu.gpu;
    u->instance.properties = u->gpu.properties;
    u->instance.memory = u->gpu.memory;
    for (uint32_t i = 0; i < REPLAY_WINDOW_SYSTEM_COUNT && u->gpu.has_xcb; i++)
        if (replay_window_systems[i] == &replay_window_xcb)
            u->instance.window_systems = 1u << i;
    u->instance.api_version = VK_API_VERSION_1_1;
    u->queue = (struct replay_queue){.live = u->gpu.queue, .family = u->gpu.family, .flags = u->gpu.queue_flags};
    u->dev.live = u->gpu.device;
    u->dev.index = 1;
    u->dev.instance = &u->instance;
    u->dev.gpu = u->gpu.gpu;
    u->dev.vk = u->gpu.vk;
    u->dev.queues.all = u->dev.queues.main = &u->queue;
    u->dev.queues.count = 1;
    u->dev.present.enabled = u->gpu.has_swapchain;
    CHECK_EQ_INT(replay_memory_planner_create(&u->r, &u->dev), LAP_OK);
    return true;
}

/* Destroys what is left. The driver's memory must be gone with it, and the validation layer must have said nothing. */
static void unit_replay_finish(struct unit_replay *u)
{
    u->dev.vk.DeviceWaitIdle(u->dev.live);
    for (uint32_t i = 0; i < u->dev.queues.count; i++)
        replay_submission_queue_idle(&u->dev, &u->dev.queues.all[i]);
    replay_objects_destroy_left(&u->r, &u->dev);
    CHECK_EQ_U64(replay_memory_stats(&u->dev).used_bytes, 0);
    replay_sparse_finish(&u->r, &u->dev);
    replay_memory_planner_destroy(&u->r, &u->dev);
    replay_submission_finish(&u->dev);
    replay_tables_finish(&u->r);
    lap_slab_finish(&u->r.objects.buffers);
    lap_slab_finish(&u->r.objects.images);
    replay_reference_check_finish(&u->r);
    lap_arena_finish(&u->r.arena);
    unit_device_finish(&u->gpu);
    replay_displays_disconnect(&u->displays);
    CHECK_EQ_INT(u->gpu.messages, 0);
}

#endif
