/* SPDX-License-Identifier: MIT */
/*
 * gated: work that is submitted, and can't begin before the host signals, reads what the host stores after the submit
 * and then writes the same bytes: a copy of the buffer is taken, then a part of it gets other bytes of the copy, or a
 * shader adds to it. What holds it up is a value of a timeline that the host signals, work on another queue that
 * does, other work on the same queue, or a chain of both. The host stores before and after another gate opens, while
 * others submit and finish, into some of the bytes, and through a new mapping.
 *
 * --event: it waits on the device for events that the host sets, in front of which other commands stand; two of them
 * in one command buffer; a binary semaphore leads to the other queue. --secondary: in a secondary command buffer.
 * --random: many buffers, submits, chains and signals in an order that means nothing. --two: by the commands of
 * synchronization2.
 */
#include "common/app.h"
#include "shaders/compute_scale_comp.h"

#define BYTES  10240u
#define WORDS  (BYTES / 4)
#define FIRST  1000u /* of what the work writes */
#define PART   4800u
#define FACTOR 2u
#define PAIRS  2u
#define MANY   6u /* pairs of --random */

struct point {
    VkSemaphore semaphore;
    uint64_t value; /* of a binary one: ignored */
};

struct pair {
    struct app_buffer data, copy;
    bool shader;              /* that is what writes data */
    VkCommandBuffer commands; /* the work alone */
    VkDescriptorSet set;
    uint8_t stored[BYTES], copied[BYTES]; /* what data and copy are to hold */
};

/* A pair of --random, and what it was submitted with. */
struct one_of_many {
    struct pair pair;
    struct point done;
    bool submitted;
    uint32_t order; /* of the submit */
    VkQueue queue;
    const struct point *gate;         /* NULL: none; it waits for the value that comes next */
    uint64_t value;                   /* of the gate */
    const struct one_of_many *behind; /* it waits for this one; NULL: for none */
    uint32_t behind_order;
};

struct scene {
    const struct app *app;
    bool event, secondary, two, random;
    VkQueue other; /* the same one, where there is only one */
    struct pair pairs[PAIRS];
    struct one_of_many many[MANY];
    uint32_t submits; /* of these */
    struct app_buffer constant, head_from, head_to;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptors;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    struct point gates[2], chain, done;
    VkSemaphore binary;
    VkEvent events[2];
    VkCommandBuffer waits[PAIRS], both; /* --event */
    PFN_vkCmdWaitEvents2 wait_events;
    PFN_vkCmdResetEvent2 reset_event;
    PFN_vkQueueSubmit2 submit;
    PFN_vkSignalSemaphore signal_semaphore;
    PFN_vkWaitSemaphores wait_semaphores;
};

/* ---- the work ---- */

static void record_work(const struct scene *scene, VkCommandBuffer commands, const struct pair *pair)
{
    const uint32_t push[] = {FACTOR, FIRST / 4, PART / 4};
    const VkPipelineStageFlags work = VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    const VkAccessFlags all = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    app_memory_barrier(commands, work | VK_PIPELINE_STAGE_HOST_BIT, all, work, all);
    vkCmdCopyBuffer(commands, pair->data.buffer, pair->copy.buffer, 1, &(VkBufferCopy){.size = BYTES});
    app_memory_barrier(commands, work, all, work, all);
    if (pair->shader) {
        vkCmdPushConstants(commands, scene->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, push);
        vkCmdDispatch(commands, (PART / 4 + 63) / 64, 1, 1);
    } else {
        vkCmdCopyBuffer(commands, pair->copy.buffer, pair->data.buffer, 1,
                        &(VkBufferCopy){.dstOffset = FIRST, .size = PART});
    }
    app_memory_barrier(commands, work, all, work | VK_PIPELINE_STAGE_HOST_BIT, all);
}

/* In front of a wait for an event, too. */
static void bind(const struct scene *scene, VkCommandBuffer commands, const struct pair *pair)
{
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->layout, 0, 1, &pair->set, 0, NULL);
}

/* What the work makes of what the host stored. */
static void expect_work(struct pair *pair)
{
    uint32_t word;
    memcpy(pair->copied, pair->stored, BYTES);
    for (uint32_t i = 0; i < PART; i += 4) {
        memcpy(&word, pair->shader ? &pair->stored[FIRST + i] : &pair->copied[i], 4);
        if (pair->shader)
            word += ((FIRST + i) / 4 ^ 0x55) * (FACTOR + 1);
        memcpy(&pair->stored[FIRST + i], &word, 4);
    }
}

static void check(const struct scene *scene, struct pair *pair)
{
    app_buffer_invalidate(scene->app, &pair->data, 0, BYTES);
    app_buffer_invalidate(scene->app, &pair->copy, 0, BYTES);
    EXPECT_EQ(scene->app, memcmp(pair->copy.mapped, pair->copied, BYTES), 0);
    EXPECT_EQ(scene->app, memcmp(pair->data.mapped, pair->stored, BYTES), 0);
}

/* ---- the host ---- */

static void store(const struct scene *scene, struct pair *pair, uint32_t offset, uint32_t bytes, uint32_t seed)
{
    for (uint32_t i = offset; i < offset + bytes; i++)
        pair->stored[i] = pair->data.mapped[i] = (uint8_t)app_random(&seed);
    app_buffer_flush(scene->app, &pair->data, offset, bytes);
}

static void store_all(const struct scene *scene, struct pair *pair, uint32_t seed)
{
    store(scene, pair, 0, BYTES, seed);
}

static void open_gate(const struct scene *scene, uint32_t number)
{
    const VkSemaphoreSignalInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                        .semaphore = scene->gates[number].semaphore,
                                        .value = scene->gates[number].value};
    if (scene->event)
        CHECK_VK(vkSetEvent(scene->app->device, scene->events[number]));
    else
        CHECK_VK(scene->signal_semaphore(scene->app->device, &info));
}

/* What was submitted last with `done`. */
static void finish(const struct scene *scene)
{
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &scene->done.semaphore,
                                      .pValues = &scene->done.value};
    CHECK_VK(scene->wait_semaphores(scene->app->device, &info, UINT64_MAX));
}

/* ---- submits ---- */

struct batch {
    VkQueue queue;
    uint32_t count;
    const VkCommandBuffer *commands;
    const struct point *wait, *signal; /* NULL: none */
};

static void submit_one(const struct batch *batch)
{
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                  .waitSemaphoreValueCount = batch->wait != NULL,
                                                  .pWaitSemaphoreValues = batch->wait ? &batch->wait->value : NULL,
                                                  .signalSemaphoreValueCount = batch->signal != NULL,
                                                  .pSignalSemaphoreValues =
                                                      batch->signal ? &batch->signal->value : NULL};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = &values,
                               .waitSemaphoreCount = batch->wait != NULL,
                               .pWaitSemaphores = batch->wait ? &batch->wait->semaphore : NULL,
                               .pWaitDstStageMask = &stages,
                               .commandBufferCount = batch->count,
                               .pCommandBuffers = batch->commands,
                               .signalSemaphoreCount = batch->signal != NULL,
                               .pSignalSemaphores = batch->signal ? &batch->signal->semaphore : NULL};
    CHECK_VK(vkQueueSubmit(batch->queue, 1, &info, VK_NULL_HANDLE));
}

static VkSemaphoreSubmitInfo point_info(const struct point *point)
{
    return (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                   .semaphore = point ? point->semaphore : VK_NULL_HANDLE,
                                   .value = point ? point->value : 0,
                                   .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
}

static void submit_two(const struct scene *scene, const struct batch *batch)
{
    const VkSemaphoreSubmitInfo wait = point_info(batch->wait), signal = point_info(batch->signal);
    VkCommandBufferSubmitInfo commands[4];
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .waitSemaphoreInfoCount = batch->wait != NULL,
                                .pWaitSemaphoreInfos = &wait,
                                .commandBufferInfoCount = batch->count,
                                .pCommandBufferInfos = commands,
                                .signalSemaphoreInfoCount = batch->signal != NULL,
                                .pSignalSemaphoreInfos = &signal};
    for (uint32_t i = 0; i < batch->count; i++)
        commands[i] = (VkCommandBufferSubmitInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                                  .commandBuffer = batch->commands[i]};
    CHECK_VK(scene->submit(batch->queue, 1, &info, VK_NULL_HANDLE));
}

static void submit(const struct scene *scene, VkQueue queue, VkCommandBuffer commands, const struct point *wait,
                   const struct point *signal)
{
    const struct batch batch = {queue, 1, &commands, wait, signal};
    if (scene->two)
        submit_two(scene, &batch);
    else
        submit_one(&batch);
}

static const struct point *next(struct point *point)
{
    point->value++;
    return point;
}

/* With its gate shut, and what comes of it when it opens. With events the gate is in the command buffer. */
static void submit_gated(struct scene *scene, uint32_t number, VkQueue queue, const struct point *signal)
{
    if (scene->event)
        submit(scene, queue, scene->waits[number], NULL, signal);
    else
        submit(scene, queue, scene->pairs[number].commands, next(&scene->gates[number]), signal);
}

/* ---- what happens ---- */

static void run_alone(struct scene *scene, uint32_t seed)
{
    struct pair *pair = &scene->pairs[0];
    store_all(scene, pair, seed);
    submit_gated(scene, 0, scene->app->queue, next(&scene->done));
    store_all(scene, pair, seed + 1);
    store(scene, pair, FIRST + 10, 1, seed + 2);
    open_gate(scene, 0);
    expect_work(pair);
    finish(scene);
    check(scene, pair);
}

/* Only what lies across the borders of what the work writes is stored after the submit. */
static void run_partly(struct scene *scene, uint32_t seed)
{
    struct pair *pair = &scene->pairs[1];
    store_all(scene, pair, seed);
    submit_gated(scene, 1, scene->app->queue, next(&scene->done));
    store(scene, pair, FIRST - 50, 100, seed + 1);
    store(scene, pair, FIRST + PART - 7, 300, seed + 2);
    store(scene, pair, FIRST + 2000, 3, seed + 3);
    open_gate(scene, 1);
    expect_work(pair);
    finish(scene);
    check(scene, pair);
}

/* Other work comes behind it on the queue. */
static void run_behind(struct scene *scene, uint32_t seed)
{
    submit_gated(scene, 0, scene->app->queue, NULL);
    submit(scene, scene->app->queue, scene->pairs[1].commands, NULL, next(&scene->done));
    for (uint32_t i = 0; i < PAIRS; i++)
        store_all(scene, &scene->pairs[i], seed + i);
    open_gate(scene, 0);
    for (uint32_t i = 0; i < PAIRS; i++)
        expect_work(&scene->pairs[i]);
    finish(scene);
    for (uint32_t i = 0; i < PAIRS; i++)
        check(scene, &scene->pairs[i]);
}

/* Work on another queue waits for it. A binary semaphore may be waited for only when all that leads to it was
 * submitted, and a signal of the host is not. With one queue some drivers wait for it before they return. */
static void run_chain(struct scene *scene, uint32_t seed)
{
    const struct point binary = {scene->binary, 0};
    const struct point *chain = scene->event && scene->other != scene->app->queue ? &binary : next(&scene->chain);
    submit_gated(scene, 0, scene->app->queue, chain);
    submit(scene, scene->other, scene->pairs[1].commands, chain, next(&scene->done));
    for (uint32_t i = 0; i < PAIRS; i++)
        store_all(scene, &scene->pairs[i], seed + i);
    store(scene, &scene->pairs[1], FIRST + 77, 5, seed + 2);
    open_gate(scene, 0);
    for (uint32_t i = 0; i < PAIRS; i++)
        expect_work(&scene->pairs[i]);
    finish(scene);
    for (uint32_t i = 0; i < PAIRS; i++)
        check(scene, &scene->pairs[i]);
}

/* Two gates, which open one after the other. */
static void run_two_gates(struct scene *scene, uint32_t seed)
{
    struct pair *first = &scene->pairs[0], *second = &scene->pairs[1];
    submit_gated(scene, 0, scene->app->queue, next(&scene->chain));
    submit_gated(scene, 1, scene->other, next(&scene->done));
    store_all(scene, first, seed);
    store_all(scene, second, seed + 1);
    open_gate(scene, 0);
    store(scene, second, FIRST + 100, 2000, seed + 2);
    expect_work(first);
    CHECK_VK(scene->wait_semaphores(scene->app->device,
                                    &(VkSemaphoreWaitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                                           .semaphoreCount = 1,
                                                           .pSemaphores = &scene->chain.semaphore,
                                                           .pValues = &scene->chain.value},
                                    UINT64_MAX));
    check(scene, first);
    store(scene, first, FIRST - 4, 2000, seed + 3);
    store(scene, second, FIRST + 1000, PART, seed + 4);
    open_gate(scene, 1);
    expect_work(second);
    finish(scene);
    check(scene, second);
    submit(scene, scene->app->queue, first->commands, NULL, next(&scene->done));
    expect_work(first);
    finish(scene);
    check(scene, first);
}

static void map(const struct scene *scene, struct pair *pair)
{
    void *mapped;
    CHECK_VK(vkMapMemory(scene->app->device, pair->data.memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    pair->data.mapped = mapped;
}

/* While it waits the memory is mapped anew, twice; when it goes on, and until it has ended, it may be unmapped. */
static void run_remapped(struct scene *scene, uint32_t seed, bool unmapped)
{
    struct pair *pair = &scene->pairs[0];
    submit_gated(scene, 0, scene->app->queue, next(&scene->done));
    store(scene, pair, 0, BYTES / 2, seed);
    for (uint32_t i = 0; i < 2; i++) {
        vkUnmapMemory(scene->app->device, pair->data.memory);
        map(scene, pair);
        store(scene, pair, BYTES / 2 - 100 * i, 3000, seed + 1 + i);
    }
    if (unmapped)
        vkUnmapMemory(scene->app->device, pair->data.memory);
    open_gate(scene, 0);
    expect_work(pair);
    finish(scene);
    if (unmapped)
        map(scene, pair);
    check(scene, pair);
}

/* Meanwhile other work comes and goes on the other queue. */
static void run_meanwhile(struct scene *scene, uint32_t seed)
{
    struct pair *pair = &scene->pairs[0], *free = &scene->pairs[1];
    submit_gated(scene, 0, scene->app->queue, next(&scene->chain));
    store(scene, pair, FIRST - 9, PART / 2, seed);
    for (uint32_t i = 0; i < 2; i++) {
        store_all(scene, free, seed + 1 + i);
        submit(scene, scene->other, free->commands, NULL, next(&scene->done));
        expect_work(free);
        finish(scene);
        check(scene, free);
        store(scene, pair, FIRST + 3000 + 50 * i, PART / 2, seed + 3 + i);
    }
    open_gate(scene, 0);
    submit(scene, scene->other, free->commands, &scene->chain, next(&scene->done));
    expect_work(pair);
    expect_work(free);
    finish(scene);
    check(scene, pair);
    check(scene, free);
}

/* Work on the other queue opens the gate. */
static void run_other_opens(struct scene *scene, uint32_t seed)
{
    const struct point *gate = next(&scene->chain);
    submit(scene, scene->app->queue, scene->pairs[0].commands, gate, next(&scene->done));
    for (uint32_t i = 0; i < PAIRS; i++)
        store_all(scene, &scene->pairs[i], seed + i);
    submit(scene, scene->other, scene->pairs[1].commands, NULL, gate);
    for (uint32_t i = 0; i < PAIRS; i++)
        expect_work(&scene->pairs[i]);
    finish(scene);
    for (uint32_t i = 0; i < PAIRS; i++)
        check(scene, &scene->pairs[i]);
}

/* Two waits in one command buffer. */
static void run_both_events(struct scene *scene, uint32_t seed)
{
    submit(scene, scene->app->queue, scene->both, NULL, next(&scene->done));
    store_all(scene, &scene->pairs[0], seed);
    store_all(scene, &scene->pairs[1], seed + 1);
    open_gate(scene, 0);
    store(scene, &scene->pairs[1], FIRST + 500, 1000, seed + 2);
    open_gate(scene, 1);
    for (uint32_t i = 0; i < PAIRS; i++)
        expect_work(&scene->pairs[i]);
    finish(scene);
    for (uint32_t i = 0; i < PAIRS; i++)
        check(scene, &scene->pairs[i]);
}

/* ---- anything, in any order ---- */

/* It can't have begun. */
static bool is_held(const struct scene *scene, const struct one_of_many *one)
{
    if (!one->submitted)
        return false;
    if (one->gate && one->value > one->gate->value)
        return true;
    if (one->behind && one->behind->submitted && one->behind->order == one->behind_order && is_held(scene, one->behind))
        return true;
    for (uint32_t i = 0; i < MANY; i++)
        if (scene->many[i].submitted && scene->many[i].queue == one->queue && scene->many[i].order < one->order &&
            is_held(scene, &scene->many[i]))
            return true;
    return false;
}

static void submit_any(struct scene *scene, struct one_of_many *one, uint32_t *seed)
{
    const struct one_of_many *behind = &scene->many[app_random(seed) % MANY];
    uint32_t gate = app_random(seed) % 2;
    struct point wait;
    one->gate = NULL;
    one->behind = NULL;
    one->queue = app_random(seed) % 2 ? scene->other : scene->app->queue;
    switch (app_random(seed) % 4) {
    case 0:
        break;
    case 1:
        one->behind = behind->submitted ? behind : NULL;
        one->behind_order = behind->order;
        wait = behind->done;
        break;
    default:
        one->gate = &scene->gates[gate];
        one->value = one->gate->value + 1;
        wait = (struct point){one->gate->semaphore, one->value};
    }
    submit(scene, one->queue, one->pair.commands, one->gate || one->behind ? &wait : NULL, next(&one->done));
    one->submitted = true;
    one->order = ++scene->submits;
}

static void finish_one(const struct scene *scene, struct one_of_many *one)
{
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &one->done.semaphore,
                                      .pValues = &one->done.value};
    expect_work(&one->pair);
    CHECK_VK(scene->wait_semaphores(scene->app->device, &info, UINT64_MAX));
    check(scene, &one->pair);
    one->submitted = false;
}

static void open_next(struct scene *scene, uint32_t number)
{
    scene->gates[number].value++;
    open_gate(scene, number);
}

static void run_random(struct scene *scene, uint32_t seed)
{
    for (uint32_t i = 0; i < 200; i++) {
        struct one_of_many *one = &scene->many[app_random(&seed) % MANY];
        uint32_t what = app_random(&seed) % 16, begin = app_random(&seed) % BYTES, bytes = app_random(&seed) % 3000;
        if (what == 0)
            open_next(scene, app_random(&seed) % 2);
        else if (one->submitted && !is_held(scene, one))
            finish_one(scene, one);
        else if (!one->submitted && what < 5)
            submit_any(scene, one, &seed);
        else
            store(scene, &one->pair, begin, bytes < BYTES - begin ? bytes : BYTES - begin, seed);
    }
    for (uint32_t i = 0; i < 2; i++)
        open_next(scene, i);
    for (uint32_t i = 0; i < MANY; i++)
        if (scene->many[i].submitted)
            finish_one(scene, &scene->many[i]);
}

static void run_frame(struct scene *scene, uint32_t frame)
{
    uint32_t seed = 1000 * (frame + 1);
    if (scene->random) {
        run_random(scene, seed);
        return;
    }
    run_alone(scene, seed);
    run_partly(scene, seed + 100);
    run_behind(scene, seed + 200);
    run_chain(scene, seed + 300);
    run_two_gates(scene, seed + 400);
    run_remapped(scene, seed + 500, false);
    run_remapped(scene, seed + 550, true);
    if (scene->event)
        run_both_events(scene, seed + 600);
    if (scene->other == scene->app->queue)
        return;
    run_meanwhile(scene, seed + 700);
    if (!scene->event)
        run_other_opens(scene, seed + 800);
}

/* ---- objects ---- */

static VkCommandBuffer begin(const struct scene *scene, VkCommandBufferLevel level)
{
    const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = scene->app->pool,
                                                  .level = level,
                                                  .commandBufferCount = 1};
    const VkCommandBufferInheritanceInfo inheritance = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .pInheritanceInfo = &inheritance};
    VkCommandBuffer commands;
    CHECK_VK(vkAllocateCommandBuffers(scene->app->device, &allocate, &commands));
    CHECK_VK(vkBeginCommandBuffer(commands, &info));
    return commands;
}

static void record_wait(const struct scene *scene, VkCommandBuffer commands, uint32_t number)
{
    const VkMemoryBarrier old = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                 .srcAccessMask = VK_ACCESS_HOST_WRITE_BIT,
                                 .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT |
                                                  VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    const VkMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                      .srcStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                      .srcAccessMask = VK_ACCESS_2_HOST_WRITE_BIT,
                                      .dstStageMask =
                                          VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                                      .dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT |
                                                       VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_WRITE_BIT};
    const VkDependencyInfo two = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
    if (scene->two)
        scene->wait_events(commands, 1, &scene->events[number], &two);
    else
        vkCmdWaitEvents(commands, 1, &scene->events[number], VK_PIPELINE_STAGE_HOST_BIT,
                        VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 1, &old, 0, NULL, 0,
                        NULL);
}

static void record_reset(const struct scene *scene, VkCommandBuffer commands, uint32_t number)
{
    if (scene->two)
        scene->reset_event(commands, scene->events[number], VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    else
        vkCmdResetEvent(commands, scene->events[number], VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
}

/* Some work in front of the wait, and what is bound there. */
static void record_waiting(const struct scene *scene, VkCommandBuffer commands, uint32_t number)
{
    vkCmdCopyBuffer(commands, scene->head_from.buffer, scene->head_to.buffer, 1, &(VkBufferCopy){.size = 256});
    bind(scene, commands, &scene->pairs[number]);
    record_wait(scene, commands, number);
    record_work(scene, commands, &scene->pairs[number]);
    record_reset(scene, commands, number);
}

static VkCommandBuffer record_gated(const struct scene *scene, uint32_t number)
{
    VkCommandBuffer commands = begin(scene, VK_COMMAND_BUFFER_LEVEL_PRIMARY), secondary;
    if (!scene->secondary) {
        record_waiting(scene, commands, number);
    } else {
        secondary = begin(scene, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
        record_waiting(scene, secondary, number);
        CHECK_VK(vkEndCommandBuffer(secondary));
        vkCmdExecuteCommands(commands, 1, &secondary);
    }
    CHECK_VK(vkEndCommandBuffer(commands));
    return commands;
}

static VkSemaphore create_semaphore(const struct app *app, VkSemaphoreType type)
{
    VkSemaphoreTypeCreateInfo what = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, .semaphoreType = type};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &what};
    VkSemaphore semaphore;
    CHECK_VK(vkCreateSemaphore(app->device, &info, NULL, &semaphore));
    return semaphore;
}

static void create_device(struct scene *scene, struct app *app)
{
    static const float priorities[] = {1, 1};
    VkPhysicalDeviceSynchronization2Features two = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES, .synchronization2 = VK_TRUE};
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .pNext = scene->two ? &two : NULL,
        .timelineSemaphore = VK_TRUE};
    /* tests/layers/queues.c does not look into secondary command buffers for what they wait for. */
    bool several = app->queue_properties.queueCount > 1 && !scene->secondary;
    const VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                            .queueFamilyIndex = app->queue_family,
                                            .queueCount = several ? 2 : 1,
                                            .pQueuePriorities = priorities};
    const struct app_device_request request = {.next = &timeline, .queues = &queues, .queue_count = 1};
    app_device_create(app, &request);
    vkGetDeviceQueue(app->device, app->queue_family, queues.queueCount - 1, &scene->other);
    scene->signal_semaphore = (PFN_vkSignalSemaphore)app_device_function(app, "vkSignalSemaphore");
    scene->wait_semaphores = (PFN_vkWaitSemaphores)app_device_function(app, "vkWaitSemaphores");
    if (scene->two) {
        scene->wait_events = (PFN_vkCmdWaitEvents2)app_device_function(app, "vkCmdWaitEvents2");
        scene->reset_event = (PFN_vkCmdResetEvent2)app_device_function(app, "vkCmdResetEvent2");
        scene->submit = (PFN_vkQueueSubmit2)app_device_function(app, "vkQueueSubmit2");
    }
}

static void create_pair(struct scene *scene, struct pair *pair, uint32_t number)
{
    const struct app *app = scene->app;
    const VkBufferUsageFlags both = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = scene->descriptors,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &scene->set_layout};
    VkDescriptorBufferInfo infos[3];
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 3,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = infos};
    pair->shader = number % 2;
    app_buffer_create(app, &pair->data, BYTES, both | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    app_buffer_create(app, &pair->copy, BYTES, both, APP_READBACK);
    store_all(scene, pair, 7 + number);
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &pair->set));
    for (uint32_t i = 0; i < 3; i++)
        infos[i] = (VkDescriptorBufferInfo){i < 2 ? scene->constant.buffer : pair->data.buffer, 0, VK_WHOLE_SIZE};
    write.dstSet = pair->set;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    pair->commands = begin(scene, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    bind(scene, pair->commands, pair);
    record_work(scene, pair->commands, pair);
    CHECK_VK(vkEndCommandBuffer(pair->commands));
}

static void create_constant(struct scene *scene)
{
    uint32_t words[WORDS];
    VkCommandBuffer commands;
    app_buffer_create(scene->app, &scene->constant, BYTES,
                      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_DEVICE);
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = i ^ 0x55;
    commands = app_begin(scene->app);
    vkCmdUpdateBuffer(commands, scene->constant.buffer, 0, sizeof words, words);
    app_run(scene->app, commands);
}

static void create_events(struct scene *scene)
{
    const VkEventCreateInfo event = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    for (uint32_t i = 0; i < 2; i++)
        CHECK_VK(vkCreateEvent(scene->app->device, &event, NULL, &scene->events[i]));
    for (uint32_t i = 0; i < PAIRS; i++)
        scene->waits[i] = record_gated(scene, i);
    scene->both = begin(scene, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    for (uint32_t i = 0; i < PAIRS; i++)
        record_waiting(scene, scene->both, i);
    CHECK_VK(vkEndCommandBuffer(scene->both));
}

static void create(struct scene *scene, struct app *app)
{
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3 * (PAIRS + MANY)};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = PAIRS + MANY,
                                             .poolSizeCount = 1,
                                             .pPoolSizes = &size};
    VkDescriptorSetLayoutBinding bindings[3];
    for (uint32_t i = 0; i < 3; i++)
        bindings[i] =
            (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    create_device(scene, app);
    create_constant(scene);
    app_buffer_create(app, &scene->head_from, 256, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    memset(scene->head_from.mapped, 5, 256);
    app_buffer_flush(app, &scene->head_from, 0, 256);
    app_buffer_create(app, &scene->head_to, 256, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    scene->set_layout = app_set_layout(app, 3, bindings);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &scene->descriptors));
    scene->layout = app_pipeline_layout(app, 1, &scene->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, 12);
    scene->pipeline = app_compute_pipeline(app, compute_scale_comp, sizeof(compute_scale_comp), scene->layout);
    for (uint32_t i = 0; i < PAIRS; i++)
        create_pair(scene, &scene->pairs[i], i);
    for (uint32_t i = 0; i < MANY && scene->random; i++) {
        create_pair(scene, &scene->many[i].pair, i);
        scene->many[i].done.semaphore = create_semaphore(app, VK_SEMAPHORE_TYPE_TIMELINE);
    }
    for (uint32_t i = 0; i < 2; i++)
        scene->gates[i].semaphore = create_semaphore(app, VK_SEMAPHORE_TYPE_TIMELINE);
    scene->chain.semaphore = create_semaphore(app, VK_SEMAPHORE_TYPE_TIMELINE);
    scene->done.semaphore = create_semaphore(app, VK_SEMAPHORE_TYPE_TIMELINE);
    scene->binary = create_semaphore(app, VK_SEMAPHORE_TYPE_BINARY);
    if (scene->event)
        create_events(scene);
}

static void destroy(struct scene *scene)
{
    const struct app *app = scene->app;
    CHECK_VK(vkDeviceWaitIdle(app->device));
    for (uint32_t i = 0; i < PAIRS; i++) {
        app_buffer_destroy(app, &scene->pairs[i].data);
        app_buffer_destroy(app, &scene->pairs[i].copy);
    }
    for (uint32_t i = 0; i < MANY && scene->random; i++) {
        app_buffer_destroy(app, &scene->many[i].pair.data);
        app_buffer_destroy(app, &scene->many[i].pair.copy);
        vkDestroySemaphore(app->device, scene->many[i].done.semaphore, NULL);
    }
    for (uint32_t i = 0; i < 2; i++) {
        vkDestroySemaphore(app->device, scene->gates[i].semaphore, NULL);
        vkDestroyEvent(app->device, scene->events[i], NULL);
    }
    vkDestroySemaphore(app->device, scene->chain.semaphore, NULL);
    vkDestroySemaphore(app->device, scene->done.semaphore, NULL);
    vkDestroySemaphore(app->device, scene->binary, NULL);
    vkDestroyPipeline(app->device, scene->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, scene->layout, NULL);
    vkDestroyDescriptorPool(app->device, scene->descriptors, NULL);
    vkDestroyDescriptorSetLayout(app->device, scene->set_layout, NULL);
    app_buffer_destroy(app, &scene->constant);
    app_buffer_destroy(app, &scene->head_from);
    app_buffer_destroy(app, &scene->head_to);
}

int main(int argc, char **argv)
{
    static struct scene scene;
    static const struct app_option options[] = {
        {.name = "--event", .help = "it waits for events that the host sets", .flag = &scene.event},
        {.name = "--secondary", .help = "the same in a secondary command buffer", .flag = &scene.secondary},
        {.name = "--random",
         .help = "many pairs, queues and gates in an order that means nothing",
         .flag = &scene.random},
        {.name = "--two", .help = "by the commands of synchronization2", .flag = &scene.two},
        {.name = NULL},
    };
    static const struct app_program program = {
        .name = "gated",
        .what = "Work that the host holds back reads and writes what the host stores after the submit.",
        .frames = 3,
        .options = options,
    };
    struct app app;
    app_init(&app, argc, argv, &program);
    scene.app = &app;
    if (scene.secondary && !scene.event)
        app_skip(&app, "--secondary needs --event");
    if (scene.random && scene.event)
        app_skip(&app, "--random has no events");
    if (app.api_version < (scene.two ? VK_API_VERSION_1_3 : VK_API_VERSION_1_2))
        app_skip(&app, "it needs a newer Vulkan");
    create(&scene, &app);
    for (uint32_t frame = 0; frame < app.frames; frame++)
        run_frame(&scene, frame);
    destroy(&scene);
    return app_finish(&app);
}
