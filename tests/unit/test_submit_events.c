/* SPDX-License-Identifier: MIT */
/* What the command buffers of a submit do with events. The driver gives out numbers and does nothing. */
#include "replayer/submit/submit_events.h"

#include <stdlib.h>

#include "gen_replay.h"
#include "replayer/command/command_events.h"
#include "replayer/command/command_pool.h"
#include "replayer/command/reference_check.h"
#include "replayer/core/handles.h"
#include "replayer/memory/resource.h"
#include "replayer/play/player.h"
#include "replayer/submit/submit.h"
#include "tests/unit/unit.h"

enum { ANSWER, QUESTION, OTHER, EVENTS };

struct scene {
    struct replay r;
    struct replay_device dev;
    VkEvent events[EVENTS];
    VkCommandBuffer plain, waits, both; /* the last one sets an event, waits for another and resets that */
    struct replay_submit_events out;
};

static uint64_t handles;

static VKAPI_ATTR VkResult VKAPI_CALL create_event(VkDevice device, const VkEventCreateInfo *info,
                                                   const VkAllocationCallbacks *allocator, VkEvent *out)
{
    *out = gen_VkEvent(0x100 + ++handles);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice device, const VkCommandPoolCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator, VkCommandPool *out)
{
    *out = gen_VkCommandPool(0x100 + ++handles);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkCommandBufferAllocateInfo *info,
                                               VkCommandBuffer *out)
{
    for (uint32_t i = 0; i < info->commandBufferCount; i++)
        out[i] = gen_VkCommandBuffer(0x100 + ++handles);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_pool(VkDevice device, VkCommandPool pool,
                                               const VkAllocationCallbacks *allocator)
{
}

static VKAPI_ATTR void VKAPI_CALL destroy_event(VkDevice device, VkEvent event, const VkAllocationCallbacks *allocator)
{
}

static void add_step(struct scene *s, VkCommandBuffer commands, uint32_t which, enum replay_event_use use)
{
    union {
        struct gen_args_vkCmdSetEvent set;
        struct gen_args_vkCmdResetEvent reset;
        struct gen_args_vkCmdWaitEvents wait;
    } args = {.set = {.commandBuffer = commands, .event = s->events[which]}};

    s->r.at.command = use == REPLAY_EVENT_SET ? GEN_vkCmdSetEvent : GEN_vkCmdResetEvent;
    if (use == REPLAY_EVENT_WAIT) {
        s->r.at.command = GEN_vkCmdWaitEvents;
        args.wait =
            (struct gen_args_vkCmdWaitEvents){.commandBuffer = commands, .eventCount = 1, .pEvents = &s->events[which]};
    }
    CHECK_EQ_INT(replay_command_events_note(&s->r, &s->dev, commands, &args), LAP_OK);
}

static void execute(struct scene *s, VkCommandBuffer commands, VkCommandBuffer secondary)
{
    struct gen_args_vkCmdExecuteCommands args = {
        .commandBuffer = commands, .commandBufferCount = 1, .pCommandBuffers = &secondary};

    s->r.at.command = GEN_vkCmdExecuteCommands;
    CHECK_EQ_INT(replay_command_events_note(&s->r, &s->dev, commands, &args), LAP_OK);
}

static void begin(struct scene *s)
{
    VkCommandBuffer commands[3] = {gen_VkCommandBuffer(1), gen_VkCommandBuffer(2), gen_VkCommandBuffer(3)}, *live[3];
    VkCommandPool pool = gen_VkCommandPool(1);
    VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandBufferCount = 3};
    VkEventCreateInfo event_info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    struct gen_args_vkCreateCommandPool create = {.pCreateInfo = &pool_info, .pCommandPool = &pool};
    struct gen_args_vkAllocateCommandBuffers take = {.pAllocateInfo = &info, .pCommandBuffers = commands};

    memset(s, 0, sizeof *s);
    handles = 0;
    lap_arena_init(&s->r.arena, (size_t)1 << 26);
    replay_tables_attach(&s->r);
    s->dev.vk.CreateEvent = create_event;
    s->dev.vk.DestroyEvent = destroy_event;
    s->dev.vk.CreateCommandPool = create_pool;
    s->dev.vk.DestroyCommandPool = destroy_pool;
    s->dev.vk.AllocateCommandBuffers = allocate;
    CHECK_EQ_INT(replay_CreateCommandPool(&s->r, &s->dev, &create), LAP_OK);
    info.commandPool = gen_VkCommandPool(replay_object_get(&s->r, GEN_HANDLE_VkCommandPool, 1)->live);
    CHECK_EQ_INT(replay_AllocateCommandBuffers(&s->r, &s->dev, &take), LAP_OK);
    live[0] = &s->plain;
    live[1] = &s->waits;
    live[2] = &s->both;
    for (uint64_t i = 0; i < 3; i++)
        *live[i] = gen_VkCommandBuffer(replay_object_get(&s->r, GEN_HANDLE_VkCommandBuffer, i + 1)->live);
    for (uint64_t i = 0; i < EVENTS; i++) {
        VkEvent event = gen_VkEvent(i + 1);
        struct gen_args_vkCreateEvent args = {.pCreateInfo = &event_info, .pEvent = &event};
        CHECK_EQ_INT(replay_CreateEvent(&s->r, &s->dev, &args), LAP_OK);
        s->events[i] = gen_VkEvent(replay_object_get(&s->r, GEN_HANDLE_VkEvent, i + 1)->live);
    }
    add_step(s, s->waits, ANSWER, REPLAY_EVENT_WAIT);
    add_step(s, s->both, QUESTION, REPLAY_EVENT_SET);
    add_step(s, s->both, ANSWER, REPLAY_EVENT_WAIT);
    add_step(s, s->both, ANSWER, REPLAY_EVENT_RESET);
}

static void finish(struct scene *s)
{
    replay_objects_destroy_left(&s->r, &s->dev);
    replay_command_events_destroy(&s->dev);
    replay_submits_end(&s->dev);
    replay_tables_finish(&s->r);
    replay_reference_check_finish(&s->r);
    lap_arena_finish(&s->r.arena);
}

static void look_at_one(struct scene *s, uint32_t count, const VkSubmitInfo *infos)
{
    struct gen_args_vkQueueSubmit args = {.submitCount = count, .pSubmits = infos};

    CHECK_EQ_INT(replay_submit_events(&s->r, &s->dev, GEN_vkQueueSubmit, &args, &s->out), LAP_OK);
}

static void look_at_two(struct scene *s, uint32_t count, const VkSubmitInfo2 *infos)
{
    struct gen_args_vkQueueSubmit2 args = {.submitCount = count, .pSubmits = infos};

    CHECK_EQ_INT(replay_submit_events(&s->r, &s->dev, GEN_vkQueueSubmit2, &args, &s->out), LAP_OK);
}

static void check_step(const struct scene *s, uint32_t number, uint32_t which, enum replay_event_use use)
{
    CHECK(s->out.steps[number].event == replay_event_of((struct replay *)(uintptr_t)&s->r, s->events[which]));
    CHECK_EQ_INT(s->out.steps[number].use, use);
}

/* ---- tests ---- */

UNIT_TEST(a_submit_without_events_has_no_steps)
{
    struct scene s;
    begin(&s);
    const VkSubmitInfo infos[2] = {{.commandBufferCount = 1, .pCommandBuffers = &s.plain}, {0}};
    look_at_one(&s, 2, infos);
    CHECK(!s.out.step_counts && !s.out.steps);
    finish(&s);
}

UNIT_TEST(steps_follow_batches_and_command_buffers)
{
    struct scene s;
    begin(&s);
    const VkCommandBuffer first[] = {s.waits, s.plain, s.both};
    const VkSubmitInfo infos[3] = {
        {.commandBufferCount = 3, .pCommandBuffers = first}, {0}, {.commandBufferCount = 1, .pCommandBuffers = first}};
    const VkCommandBufferSubmitInfo commands[] = {{.commandBuffer = s.waits}, {.commandBuffer = s.both}};
    const VkSubmitInfo2 two[2] = {{.commandBufferInfoCount = 1, .pCommandBufferInfos = commands},
                                  {.commandBufferInfoCount = 1, .pCommandBufferInfos = commands + 1}};
    look_at_one(&s, 3, infos);
    CHECK_EQ_U64(s.out.step_counts[0], 4);
    CHECK_EQ_U64(s.out.step_counts[1], 0);
    CHECK_EQ_U64(s.out.step_counts[2], 1);
    check_step(&s, 0, ANSWER, REPLAY_EVENT_WAIT);
    check_step(&s, 1, QUESTION, REPLAY_EVENT_SET);
    check_step(&s, 2, ANSWER, REPLAY_EVENT_WAIT);
    check_step(&s, 3, ANSWER, REPLAY_EVENT_RESET);
    check_step(&s, 4, ANSWER, REPLAY_EVENT_WAIT);
    look_at_two(&s, 2, two);
    CHECK_EQ_U64(s.out.step_counts[0], 1);
    CHECK_EQ_U64(s.out.step_counts[1], 3);
    check_step(&s, 0, ANSWER, REPLAY_EVENT_WAIT);
    check_step(&s, 3, ANSWER, REPLAY_EVENT_RESET);
    finish(&s);
}

UNIT_TEST(what_is_executed_counts_each_time)
{
    struct scene s;
    begin(&s);
    add_step(&s, s.plain, OTHER, REPLAY_EVENT_SET);
    execute(&s, s.plain, s.both);
    execute(&s, s.plain, s.waits);
    execute(&s, s.plain, s.both);
    const VkSubmitInfo info = {.commandBufferCount = 1, .pCommandBuffers = &s.plain};
    look_at_one(&s, 1, &info);
    CHECK_EQ_U64(s.out.step_counts[0], 8);
    check_step(&s, 0, OTHER, REPLAY_EVENT_SET);
    check_step(&s, 3, ANSWER, REPLAY_EVENT_RESET);
    check_step(&s, 4, ANSWER, REPLAY_EVENT_WAIT);
    check_step(&s, 7, ANSWER, REPLAY_EVENT_RESET);
    replay_command_events_begin(&s.r, &s.dev, s.plain);
    look_at_one(&s, 1, &info);
    CHECK(!s.out.step_counts);
    finish(&s);
}

/* Command buffers that are named so often that it is more than anybody needs. */
UNIT_TEST(steps_of_a_submit_are_limited)
{
    enum { COUNT = 40000 };
    struct scene s;
    begin(&s);
    VkCommandBuffer *commands = calloc(COUNT, sizeof *commands);
    CHECK(commands != NULL);
    for (uint32_t i = 0; i < COUNT; i++)
        add_step(&s, s.plain, i % 2 ? OTHER : QUESTION, REPLAY_EVENT_SET);
    for (uint32_t i = 0; i < COUNT; i++)
        commands[i] = s.plain;
    const VkSubmitInfo info = {.commandBufferCount = COUNT, .pCommandBuffers = commands};
    struct gen_args_vkQueueSubmit many = {.submitCount = 1, .pSubmits = &info};
    CHECK_EQ_INT(replay_submit_events(&s.r, &s.dev, GEN_vkQueueSubmit, &many, &s.out), LAP_ERROR_LIMIT);
    free(commands);
    finish(&s);
}

/* ---- limits ---- */

static VkCommandBuffer more_commands(struct scene *s, uint64_t index)
{
    VkCommandBuffer commands = gen_VkCommandBuffer(index);
    VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = gen_VkCommandPool(replay_object_get(&s->r, GEN_HANDLE_VkCommandPool, 1)->live),
        .commandBufferCount = 1};
    struct gen_args_vkAllocateCommandBuffers args = {.pAllocateInfo = &info, .pCommandBuffers = &commands};

    CHECK_EQ_INT(replay_AllocateCommandBuffers(&s->r, &s->dev, &args), LAP_OK);
    return gen_VkCommandBuffer(replay_object_get(&s->r, GEN_HANDLE_VkCommandBuffer, index)->live);
}

UNIT_TEST(steps_of_all_command_buffers_are_limited)
{
    enum { EACH = 1 << 18, COMMANDS = 64 };
    enum lap_status status = LAP_OK;
    uint64_t count = 0;
    struct scene s;

    begin(&s);
    s.r.at.command = GEN_vkCmdSetEvent;
    for (; count < COMMANDS && status == LAP_OK; count++) {
        struct gen_args_vkCmdSetEvent args = {.commandBuffer = more_commands(&s, 4 + count), .event = s.events[OTHER]};
        for (uint64_t i = 0; i < EACH && status == LAP_OK; i++)
            status = replay_command_events_note(&s.r, &s.dev, args.commandBuffer, &args);
    }
    CHECK_EQ_INT(status, LAP_ERROR_LIMIT);
    CHECK_STR(lap_error_message(), "events in command buffers take more than 8 million steps");
    CHECK(count > 8);
    /* What is gone takes no room. */
    for (uint64_t i = 0; i < count; i++)
        replay_command_events_forget(
            &s.r, &s.dev, gen_VkCommandBuffer(replay_object_get(&s.r, GEN_HANDLE_VkCommandBuffer, 4 + i)->live));
    add_step(&s, s.plain, OTHER, REPLAY_EVENT_SET);
    finish(&s);
}

UNIT_MAIN();
