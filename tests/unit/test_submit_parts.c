/* SPDX-License-Identifier: MIT */
/* How a submit is cut where its command buffers wait for the host. The driver gives out numbers and does nothing. */
#include "replayer/submit_parts.h"

#include <stdlib.h>

#include "gen_replay.h"
#include "replayer/command_pool.h"
#include "replayer/events.h"
#include "replayer/named.h"
#include "replayer/player.h"
#include "replayer/resource.h"
#include "replayer/submit.h"
#include "tests/unit/unit.h"

enum { ANSWER, QUESTION, OTHER, EVENTS };

struct scene {
    struct replay r;
    struct replay_device dev;
    VkEvent events[EVENTS];
    VkCommandBuffer plain, waits, parts; /* the last one tells, waits, tells and waits: three parts */
    uint64_t looks;
    struct replay_parts out;
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
    VkCommandBuffer part;

    s->r.command = use == REPLAY_EVENT_SET ? GEN_vkCmdSetEvent : GEN_vkCmdResetEvent;
    if (use == REPLAY_EVENT_WAIT) {
        s->r.command = GEN_vkCmdWaitEvents;
        args.wait =
            (struct gen_args_vkCmdWaitEvents){.commandBuffer = commands, .eventCount = 1, .pEvents = &s->events[which]};
        if (replay_events_divide(&s->r, &s->dev, commands, &args))
            CHECK_EQ_INT(replay_events_add_part(&s->r, &s->dev, commands, &part), LAP_OK);
    }
    CHECK_EQ_INT(replay_events_note(&s->r, &s->dev, commands, &args), LAP_OK);
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
    replay_tables_show(&s->r);
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
    live[2] = &s->parts;
    for (uint64_t i = 0; i < 3; i++)
        *live[i] = gen_VkCommandBuffer(replay_object_get(&s->r, GEN_HANDLE_VkCommandBuffer, i + 1)->live);
    for (uint64_t i = 0; i < EVENTS; i++) {
        VkEvent event = gen_VkEvent(i + 1);
        struct gen_args_vkCreateEvent args = {.pCreateInfo = &event_info, .pEvent = &event};
        CHECK_EQ_INT(replay_CreateEvent(&s->r, &s->dev, &args), LAP_OK);
        s->events[i] = gen_VkEvent(replay_object_get(&s->r, GEN_HANDLE_VkEvent, i + 1)->live);
    }
    add_step(s, s->waits, ANSWER, REPLAY_EVENT_WAIT);
    add_step(s, s->parts, QUESTION, REPLAY_EVENT_SET);
    add_step(s, s->parts, ANSWER, REPLAY_EVENT_WAIT);
    add_step(s, s->parts, ANSWER, REPLAY_EVENT_RESET);
    add_step(s, s->parts, QUESTION, REPLAY_EVENT_SET);
    add_step(s, s->parts, ANSWER, REPLAY_EVENT_WAIT);
}

static void finish(struct scene *s)
{
    replay_destroy_left(&s->r, &s->dev);
    replay_events_finish(&s->dev);
    replay_submits_end(&s->dev);
    replay_tables_finish(&s->r);
    replay_named_finish(&s->r);
    lap_arena_finish(&s->r.arena);
}

static VkCommandBuffer part(struct scene *s, uint32_t number)
{
    return replay_events_part(&s->r, &s->dev, s->parts, number);
}

static struct gen_args_vkQueueSubmit cut_one(struct scene *s, uint32_t count, const VkSubmitInfo *infos)
{
    struct gen_args_vkQueueSubmit args = {.submitCount = count, .pSubmits = infos, .fence = gen_VkFence(77)};

    CHECK_EQ_INT(replay_submit_cut(&s->r, &s->dev, GEN_vkQueueSubmit, &args, ++s->looks, &s->out), LAP_OK);
    CHECK_EQ_U64(args.submitCount, s->out.batch_count);
    CHECK_EQ_U64(gen_u64_VkFence(args.fence), 77); /* it is given with the last batch (submit.c) */
    return args;
}

static struct gen_args_vkQueueSubmit2 cut_two(struct scene *s, uint32_t count, const VkSubmitInfo2 *infos)
{
    struct gen_args_vkQueueSubmit2 args = {.submitCount = count, .pSubmits = infos, .fence = gen_VkFence(77)};

    CHECK_EQ_INT(replay_submit_cut(&s->r, &s->dev, GEN_vkQueueSubmit2, &args, ++s->looks, &s->out), LAP_OK);
    CHECK_EQ_U64(args.submitCount, s->out.batch_count);
    CHECK_EQ_U64(gen_u64_VkFence(args.fence), 77);
    return args;
}

static const VkSemaphore semaphores[3];
static const VkPipelineStageFlags stages[3];

UNIT_TEST(waits_come_first_and_signals_last)
{
    struct scene s;
    begin(&s);
    const VkCommandBuffer commands[] = {s.plain, s.waits, s.plain};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .waitSemaphoreCount = 2,
                               .pWaitSemaphores = semaphores,
                               .pWaitDstStageMask = stages,
                               .commandBufferCount = 3,
                               .pCommandBuffers = commands,
                               .signalSemaphoreCount = 3,
                               .pSignalSemaphores = semaphores};
    struct gen_args_vkQueueSubmit args = cut_one(&s, 1, &info);
    CHECK_EQ_U64(args.submitCount, 2);
    CHECK_EQ_U64(args.pSubmits[0].waitSemaphoreCount, 2);
    CHECK_EQ_U64(args.pSubmits[0].signalSemaphoreCount, 0);
    CHECK_EQ_U64(args.pSubmits[0].commandBufferCount, 1);
    CHECK(args.pSubmits[0].pCommandBuffers[0] == s.plain);
    CHECK(args.pSubmits[0].pWaitDstStageMask == stages);
    CHECK_EQ_U64(args.pSubmits[1].waitSemaphoreCount, 0);
    CHECK_EQ_U64(args.pSubmits[1].signalSemaphoreCount, 3);
    CHECK_EQ_U64(args.pSubmits[1].commandBufferCount, 2);
    CHECK(args.pSubmits[1].pCommandBuffers[0] == s.waits && args.pSubmits[1].pCommandBuffers[1] == s.plain);
    CHECK_EQ_U64(s.out.step_counts[0], 0);
    CHECK_EQ_U64(s.out.step_counts[1], 1);
    CHECK(s.out.steps[0].use == REPLAY_EVENT_WAIT);
    finish(&s);
}

UNIT_TEST(nothing_is_cut_where_nothing_waits)
{
    struct scene s;
    begin(&s);
    const VkCommandBuffer plain[] = {s.plain, s.plain}, first[] = {s.waits, s.plain}, later[] = {s.plain, s.waits};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 2, .pCommandBuffers = plain};
    struct gen_args_vkQueueSubmit args = cut_one(&s, 1, &info);
    CHECK(args.pSubmits == &info && !s.out.recorded && !s.out.step_counts);
    info.pCommandBuffers = first; /* it begins with the wait already */
    args = cut_one(&s, 1, &info);
    CHECK(args.pSubmits == &info && !s.out.recorded);
    CHECK_EQ_U64(s.out.step_counts[0], 1);
    replay_event_of(&s.r, s.events[ANSWER])->set = true;
    info.pCommandBuffers = later;
    args = cut_one(&s, 1, &info);
    CHECK(args.pSubmits == &info && !s.out.recorded);
    finish(&s);
}

/* A command buffer of three parts between two others; what a part waits for is set by nobody. */
UNIT_TEST(parts_of_a_command_buffer_are_batches)
{
    struct scene s;
    begin(&s);
    CHECK_EQ_U64(replay_events_parts(&s.r, &s.dev, s.parts), 3);
    const VkCommandBuffer commands[] = {s.plain, s.parts, s.plain};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .waitSemaphoreCount = 1,
                               .pWaitSemaphores = semaphores,
                               .pWaitDstStageMask = stages,
                               .commandBufferCount = 3,
                               .pCommandBuffers = commands,
                               .signalSemaphoreCount = 1,
                               .pSignalSemaphores = semaphores};
    struct gen_args_vkQueueSubmit args = cut_one(&s, 1, &info);
    static const uint32_t counts[] = {2, 1, 2}, steps[] = {1, 3, 1};
    const VkCommandBuffer given[] = {s.plain, s.parts, part(&s, 1), part(&s, 2), s.plain};
    const VkCommandBuffer recorded[] = {s.plain, s.parts, s.parts, s.parts, s.plain};
    CHECK_EQ_U64(args.submitCount, 3);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQ_U64(args.pSubmits[i].commandBufferCount, counts[i]);
        CHECK_EQ_U64(args.pSubmits[i].waitSemaphoreCount, i == 0);
        CHECK_EQ_U64(args.pSubmits[i].signalSemaphoreCount, i == 2);
        CHECK_EQ_U64(s.out.step_counts[i], steps[i]);
    }
    for (uint32_t i = 0; i < 5; i++) {
        CHECK(args.pSubmits[0].pCommandBuffers[i] == given[i]); /* all of them lie in a row */
        CHECK(s.out.recorded[i] == recorded[i]);
    }
    CHECK(args.pSubmits[2].pCommandBuffers == args.pSubmits[0].pCommandBuffers + 3);
    finish(&s);
}

UNIT_TEST(batches_stay_in_order_and_empty_ones_stay)
{
    struct scene s;
    begin(&s);
    const VkCommandBuffer commands[] = {s.plain, s.waits};
    const VkSubmitInfo infos[] = {
        {.waitSemaphoreCount = 1, .pWaitSemaphores = semaphores, .pWaitDstStageMask = stages},
        {.commandBufferCount = 2, .pCommandBuffers = commands},
        {.signalSemaphoreCount = 1, .pSignalSemaphores = semaphores},
        {.commandBufferCount = 1, .pCommandBuffers = &s.parts},
        {.waitSemaphoreCount = 2, .pWaitSemaphores = semaphores, .pWaitDstStageMask = stages},
    };
    struct gen_args_vkQueueSubmit args = cut_one(&s, 5, infos);
    /* The first part of the command buffer begins the batch; what waits in it was waited for by the one before, but is
     * reset in between. */
    static const uint32_t counts[] = {0, 1, 1, 0, 1, 1, 1, 0};
    CHECK_EQ_U64(args.submitCount, 8);
    for (uint32_t i = 0; i < 8; i++)
        CHECK_EQ_U64(args.pSubmits[i].commandBufferCount, counts[i]);
    CHECK_EQ_U64(args.pSubmits[0].waitSemaphoreCount, 1);
    CHECK(args.pSubmits[1].pCommandBuffers[0] == s.plain && args.pSubmits[2].pCommandBuffers[0] == s.waits);
    CHECK_EQ_U64(args.pSubmits[3].signalSemaphoreCount, 1);
    CHECK(args.pSubmits[6].pCommandBuffers[0] == part(&s, 2));
    CHECK_EQ_U64(args.pSubmits[7].waitSemaphoreCount, 2);
    finish(&s);
}

/* Counts of values go with the semaphores that they are for, and masks with the command buffers. */
UNIT_TEST(values_and_masks_follow)
{
    static const uint64_t values[] = {5, 6};
    static const uint32_t masks[] = {1, 2}, devices[] = {0, 1};
    struct scene s;
    begin(&s);
    const VkCommandBuffer commands[] = {s.plain, s.parts};
    VkTimelineSemaphoreSubmitInfo timeline = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                              .waitSemaphoreValueCount = 2,
                                              .pWaitSemaphoreValues = values,
                                              .signalSemaphoreValueCount = 1,
                                              .pSignalSemaphoreValues = values};
    VkDeviceGroupSubmitInfo group = {.sType = VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO,
                                     .pNext = &timeline,
                                     .waitSemaphoreCount = 2,
                                     .pWaitSemaphoreDeviceIndices = devices,
                                     .commandBufferCount = 2,
                                     .pCommandBufferDeviceMasks = masks,
                                     .signalSemaphoreCount = 1,
                                     .pSignalSemaphoreDeviceIndices = devices};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = &group,
                               .waitSemaphoreCount = 2,
                               .pWaitSemaphores = semaphores,
                               .pWaitDstStageMask = stages,
                               .commandBufferCount = 2,
                               .pCommandBuffers = commands,
                               .signalSemaphoreCount = 1,
                               .pSignalSemaphores = semaphores};
    struct gen_args_vkQueueSubmit args = cut_one(&s, 1, &info);
    CHECK_EQ_U64(args.submitCount, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const VkTimelineSemaphoreSubmitInfo *t =
            replay_chain_find(args.pSubmits[i].pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
        const VkDeviceGroupSubmitInfo *g =
            replay_chain_find(args.pSubmits[i].pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO);
        CHECK(t && g);
        CHECK_EQ_U64(t->waitSemaphoreValueCount, i == 0 ? 2 : 0);
        CHECK_EQ_U64(t->signalSemaphoreValueCount, i == 2 ? 1 : 0);
        CHECK(t->pWaitSemaphoreValues == values && t->pSignalSemaphoreValues == values);
        CHECK_EQ_U64(g->waitSemaphoreCount, i == 0 ? 2 : 0);
        CHECK_EQ_U64(g->signalSemaphoreCount, i == 2 ? 1 : 0);
        CHECK_EQ_U64(g->commandBufferCount, args.pSubmits[i].commandBufferCount);
        CHECK_EQ_U64(g->pCommandBufferDeviceMasks[0], i == 0 ? 1 : 2);
        if (i == 0)
            CHECK_EQ_U64(g->pCommandBufferDeviceMasks[1], 2);
    }
    finish(&s);
}

#define UNKNOWN ((VkStructureType)0x7ffffff0)

/* What counts for all of the work is chained to each batch, what this build does not know to the last one. */
UNIT_TEST(what_is_chained_goes_along)
{
    static const VkBaseInStructure unknown = {.sType = UNKNOWN};
    VkProtectedSubmitInfo guarded = {
        .sType = VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO, .pNext = &unknown, .protectedSubmit = VK_TRUE};
    VkPerformanceQuerySubmitInfoKHR counters = {
        .sType = VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR, .pNext = &guarded, .counterPassIndex = 3};
    struct scene s;
    begin(&s);
    const VkCommandBufferSubmitInfo infos2[] = {{.commandBuffer = s.plain, .deviceMask = 1},
                                                {.commandBuffer = s.parts, .deviceMask = 2}};
    const VkCommandBuffer commands[] = {s.plain, s.parts};
    const VkSemaphoreSubmitInfo points[] = {{.value = 1}, {.value = 2}};
    const VkSubmitInfo one = {.pNext = &counters, .commandBufferCount = 2, .pCommandBuffers = commands};
    const VkSubmitInfo2 two = {.pNext = &counters,
                               .flags = VK_SUBMIT_PROTECTED_BIT,
                               .waitSemaphoreInfoCount = 2,
                               .pWaitSemaphoreInfos = points,
                               .commandBufferInfoCount = 2,
                               .pCommandBufferInfos = infos2,
                               .signalSemaphoreInfoCount = 1,
                               .pSignalSemaphoreInfos = points};
    struct gen_args_vkQueueSubmit a = cut_one(&s, 1, &one);
    struct gen_args_vkQueueSubmit2 b = cut_two(&s, 1, &two);
    CHECK_EQ_U64(a.submitCount, 3);
    CHECK_EQ_U64(b.submitCount, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const void *chains[] = {a.pSubmits[i].pNext, b.pSubmits[i].pNext};
        for (uint32_t j = 0; j < 2; j++) {
            const VkPerformanceQuerySubmitInfoKHR *c =
                replay_chain_find(chains[j], VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR);
            const VkProtectedSubmitInfo *p = replay_chain_find(chains[j], VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO);
            CHECK(c && c->counterPassIndex == 3);
            CHECK(p && p->protectedSubmit);
            CHECK((replay_chain_find(chains[j], UNKNOWN) != NULL) == (i == 2));
        }
        CHECK_EQ_U64(b.pSubmits[i].flags, VK_SUBMIT_PROTECTED_BIT);
        CHECK_EQ_U64(b.pSubmits[i].waitSemaphoreInfoCount, i == 0 ? 2 : 0);
        CHECK_EQ_U64(b.pSubmits[i].signalSemaphoreInfoCount, i == 2 ? 1 : 0);
        CHECK_EQ_U64(b.pSubmits[i].pCommandBufferInfos[b.pSubmits[i].commandBufferInfoCount - 1].deviceMask, 2);
    }
    CHECK(b.pSubmits[0].pCommandBufferInfos[1].commandBuffer == s.parts);
    CHECK(b.pSubmits[2].pCommandBufferInfos[0].commandBuffer == part(&s, 2));
    finish(&s);
}

/* Tens of thousands of waits in one submit: what has come before is not looked through for each. */
UNIT_TEST(many_steps_are_followed_once)
{
    enum { COUNT = 40000 };
    struct scene s;
    begin(&s);
    VkCommandBuffer *commands = calloc(COUNT, sizeof *commands);
    CHECK(commands != NULL);
    for (uint32_t i = 0; i < COUNT; i++)
        add_step(&s, s.plain, i % 2 ? OTHER : QUESTION, REPLAY_EVENT_SET);
    for (uint32_t i = 0; i < COUNT; i++)
        commands[i] = i ? s.waits : s.plain;
    const VkSubmitInfo info = {.commandBufferCount = COUNT, .pCommandBuffers = commands};
    struct gen_args_vkQueueSubmit args = cut_one(&s, 1, &info);
    CHECK_EQ_U64(args.submitCount, 2); /* once it was waited for it is set */
    CHECK_EQ_U64(s.out.step_counts[0], COUNT);
    CHECK_EQ_U64(s.out.step_counts[1], COUNT - 1);
    /* Named so often it is more than anybody needs. */
    struct gen_args_vkQueueSubmit many = {.submitCount = 1, .pSubmits = &info};
    for (uint32_t i = 0; i < COUNT; i++)
        commands[i] = s.plain;
    CHECK_EQ_INT(replay_submit_cut(&s.r, &s.dev, GEN_vkQueueSubmit, &many, ++s.looks, &s.out), LAP_ERROR_LIMIT);
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

/* What is known of events takes more than the steps themselves. */
UNIT_TEST(what_is_known_of_events_is_limited)
{
    enum { COUNT = 40000, COMMANDS = 64 };
    VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    enum lap_status status = LAP_OK;
    uint64_t commands_count = 0;
    struct scene s;

    begin(&s);
    for (uint64_t i = 0; i < COUNT; i++) {
        VkEvent event = gen_VkEvent(EVENTS + 1 + i);
        struct gen_args_vkCreateEvent args = {.pCreateInfo = &info, .pEvent = &event};
        CHECK_EQ_INT(replay_CreateEvent(&s.r, &s.dev, &args), LAP_OK);
    }
    s.r.command = GEN_vkCmdSetEvent;
    for (; commands_count < COMMANDS && status == LAP_OK; commands_count++) {
        VkCommandBuffer commands = more_commands(&s, 4 + commands_count);
        for (uint64_t i = 0; i < COUNT && status == LAP_OK; i++) {
            const struct replay_object *event = replay_object_get(&s.r, GEN_HANDLE_VkEvent, EVENTS + 1 + i);
            struct gen_args_vkCmdSetEvent args = {.commandBuffer = commands, .event = gen_VkEvent(event->live)};
            status = replay_events_note(&s.r, &s.dev, commands, &args);
        }
    }
    CHECK_EQ_INT(status, LAP_ERROR_LIMIT);
    CHECK_STR(lap_error_message(), "what command buffers do with events takes more than 8 million steps");
    CHECK(commands_count > COMMANDS / 2);
    /* What is gone takes no room. */
    for (uint64_t i = 0; i < commands_count; i++)
        replay_events_forget(&s.r, &s.dev, VK_NULL_HANDLE,
                             gen_VkCommandBuffer(replay_object_get(&s.r, GEN_HANDLE_VkCommandBuffer, 4 + i)->live));
    add_step(&s, s.plain, OTHER, REPLAY_EVENT_SET);
    finish(&s);
}

UNIT_TEST(parts_are_limited)
{
    enum lap_status status = LAP_OK;
    uint64_t count = 0;
    VkCommandBuffer part;
    struct scene s;

    begin(&s);
    for (; count < 2000000 && status == LAP_OK; count++)
        status = replay_events_add_part(&s.r, &s.dev, s.plain, &part);
    CHECK_EQ_INT(status, LAP_ERROR_LIMIT);
    CHECK_STR(lap_error_message(), "command buffers have more than 1 million parts");
    CHECK(count >= 1000000);
    finish(&s);
}

UNIT_MAIN();
