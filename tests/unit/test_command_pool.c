/* SPDX-License-Identifier: MIT */
/* Command buffers that are recorded anew, reset or freed while work may have them. The driver looks whether it does. */
#include "replayer/command/command_pool.h"

#include "replayer/command/reference_check.h"
#include "replayer/submit/submit.h"
#include "replayer/sync/deferred_destroy.h"
#include "replayer/sync/queue_progress.h"
#include "replayer/sync/submission.h"
#include "tests/unit/player_program.h"
#include "tests/unit/working_driver.h"

#define MOST_COMMANDS 16u
#define MOST_EXECUTED 4u

static struct {
    uint64_t pool, work[QUEUES]; /* the last work that has it */
    uint64_t executed[MOST_EXECUTED];
    uint32_t executed_count;
} buffers[MOST_COMMANDS + 1];
static uint64_t buffer_count, pool_count, freed;

/* ---- the driver ---- */

static void look_at(uint64_t number)
{
    for (uint32_t i = 0; i < QUEUES; i++)
        driver.early += buffers[number].work[i] > driver.over[i];
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice device, const VkCommandPoolCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator, VkCommandPool *out)
{
    *out = gen_VkCommandPool(++pool_count);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_pool(VkDevice device, VkCommandPool pool,
                                               const VkAllocationCallbacks *allocator)
{
    for (uint64_t i = 1; i <= buffer_count; i++)
        if (buffers[i].pool == gen_u64_VkCommandPool(pool))
            look_at(i);
}

static VKAPI_ATTR VkResult VKAPI_CALL reset_pool(VkDevice device, VkCommandPool pool, VkCommandPoolResetFlags flags)
{
    destroy_pool(device, pool, NULL);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkCommandBufferAllocateInfo *info,
                                               VkCommandBuffer *out)
{
    for (uint32_t i = 0; i < info->commandBufferCount; i++) {
        CHECK(buffer_count < MOST_COMMANDS);
        out[i] = gen_VkCommandBuffer(++buffer_count);
        buffers[buffer_count].pool = gen_u64_VkCommandPool(info->commandPool);
    }
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL free_buffers(VkDevice device, VkCommandPool pool, uint32_t count,
                                               const VkCommandBuffer *commands)
{
    for (uint32_t i = 0; i < count; i++) {
        look_at(gen_u64_VkCommandBuffer(commands[i]));
        freed++;
    }
}

static VKAPI_ATTR VkResult VKAPI_CALL begin(VkCommandBuffer commands, const VkCommandBufferBeginInfo *info)
{
    look_at(gen_u64_VkCommandBuffer(commands));
    buffers[gen_u64_VkCommandBuffer(commands)].executed_count = 0;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL reset_buffer(VkCommandBuffer commands, VkCommandBufferResetFlags flags)
{
    look_at(gen_u64_VkCommandBuffer(commands));
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL end(VkCommandBuffer commands)
{
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL execute(VkCommandBuffer commands, uint32_t count, const VkCommandBuffer *executed)
{
    uint64_t number = gen_u64_VkCommandBuffer(commands);

    for (uint32_t i = 0; i < count; i++)
        buffers[number].executed[buffers[number].executed_count++] = gen_u64_VkCommandBuffer(executed[i]);
}

static void run(uint64_t number, unsigned queue)
{
    buffers[number].work[queue] = driver.given[queue];
    for (uint32_t i = 0; i < buffers[number].executed_count; i++)
        run(buffers[number].executed[i], queue);
}

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence)
{
    VkResult result = queue_submit(queue, count, infos, fence);

    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < infos[i].commandBufferCount; j++)
            run(gen_u64_VkCommandBuffer(infos[i].pCommandBuffers[j]), number_of(queue));
    return result;
}

/* ---- the trace ---- */

enum { PLAIN, EXECUTES_1, EXECUTES_2, BLOCKS };

struct scene {
    struct program p;
    uint64_t blocks[BLOCKS];
    struct replay r;
    struct replay_instance instance;
    struct replay_device dev;
    struct replay_queue queues[QUEUES];
    struct lap_log log;
};

/* Executes a command buffer, or nothing (0). */
static uint64_t put_block(struct program *p, uint64_t executed)
{
    VkCommandBufferInheritanceInfo inheritance = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    VkCommandBufferBeginInfo begin_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .pInheritanceInfo = &inheritance};
    uint64_t id;

    lap_enc_init(&p->block, &p->s.tables);
    lap_enc_use_writer(&p->block, p->s.writer);
    p->block.scratch[COND_SCRATCH_SECONDARY] = true;
    COMMAND(p, vkBeginCommandBuffer, &begin_info);
    if (executed) {
        ((struct lap_object *)lap_map_get(&p->s.maps[GEN_HANDLE_VkCommandBuffer], gen_u64_VkCommandBuffer(p->commands)))
            ->index = executed;
        COMMAND(p, vkCmdExecuteCommands, 1, &p->commands);
    }
    COMMAND(p, vkEndCommandBuffer);
    id = lap_writer_blob(p->s.writer, LAP_BLOB_BLOCK, p->block.base, (size_t)(p->block.p - p->block.base), NULL);
    lap_enc_finish(&p->block);
    return id;
}

static void scene_init(struct scene *s)
{
    memset(s, 0, sizeof *s);
    memset(buffers, 0, sizeof buffers);
    buffer_count = pool_count = freed = 0;
    CHECK(program_begin(&s->p));
    for (uint64_t i = 0; i < BLOCKS; i++)
        s->blocks[i] = put_block(&s->p, i);
    lap_writer_frame(s->p.s.writer);
    sample_end(&s->p.s);
    open_on_working_driver(&s->r, s->p.s.path, &s->dev, s->queues, &s->log);
    s->dev.vk.QueueSubmit = submit;
    s->dev.vk.CreateCommandPool = create_pool;
    s->dev.vk.DestroyCommandPool = destroy_pool;
    s->dev.vk.ResetCommandPool = reset_pool;
    s->dev.vk.AllocateCommandBuffers = allocate;
    s->dev.vk.FreeCommandBuffers = free_buffers;
    s->dev.vk.ResetCommandBuffer = reset_buffer;
    s->dev.vk.BeginCommandBuffer = begin;
    s->dev.vk.EndCommandBuffer = end;
    s->dev.vk.CmdExecuteCommands = execute;
    s->dev.instance = &s->instance;
    for (uint64_t i = 1; i <= 2; i++) {
        VkCommandPool pool = gen_VkCommandPool(i);
        VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
        struct gen_args_vkCreateCommandPool args = {.pCreateInfo = &info, .pCommandPool = &pool};
        CHECK_EQ_INT(replay_CreateCommandPool(&s->r, &s->dev, &args), LAP_OK);
    }
}

/* Numbers are indices, and live handles at once. */
static void add(struct scene *s, uint64_t number, uint64_t pool, VkCommandBufferLevel level)
{
    VkCommandBuffer commands = gen_VkCommandBuffer(number);
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = gen_VkCommandPool(pool),
                                        .level = level,
                                        .commandBufferCount = 1};
    struct gen_args_vkAllocateCommandBuffers args = {.pAllocateInfo = &info, .pCommandBuffers = &commands};

    CHECK_EQ_INT(replay_AllocateCommandBuffers(&s->r, &s->dev, &args), LAP_OK);
}

static void record(struct scene *s, uint64_t number, unsigned block)
{
    struct gen_args_lapilliBlock args = {
        .commandBuffer = gen_VkCommandBuffer(number), .block = s->blocks[block], .commandCount = block ? 3 : 2};

    if (replay_lapilliBlock(&s->r, &s->dev, &args) != LAP_OK)
        UNIT_FAIL("%s", lap_error_message());
}

static void give(struct scene *s, unsigned queue, uint64_t number)
{
    VkCommandBuffer commands = gen_VkCommandBuffer(number);
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    struct gen_args_vkQueueSubmit args = {.queue = s->queues[queue].live, .submitCount = 1, .pSubmits = &info};

    CHECK_EQ_INT(replay_QueueSubmit(&s->r, &s->dev, &args), LAP_OK);
}

static void put_reset_pool(struct scene *s, uint64_t pool)
{
    struct gen_args_vkResetCommandPool args = {.commandPool = gen_VkCommandPool(pool)};

    CHECK_EQ_INT(replay_ResetCommandPool(&s->r, &s->dev, &args), LAP_OK);
}

static void put_reset(struct scene *s, uint64_t number)
{
    struct gen_args_vkResetCommandBuffer args = {.commandBuffer = gen_VkCommandBuffer(number)};

    CHECK_EQ_INT(replay_ResetCommandBuffer(&s->r, &s->dev, &args), LAP_OK);
}

static void put_free(struct scene *s, uint64_t number)
{
    VkCommandBuffer commands = gen_VkCommandBuffer(number);
    struct gen_args_vkFreeCommandBuffers args = {
        .commandPool = gen_VkCommandPool(buffers[number].pool), .commandBufferCount = 1, .pCommandBuffers = &commands};

    CHECK_EQ_INT(replay_FreeCommandBuffers(&s->r, &s->dev, &args), LAP_OK);
}

static void scene_finish(struct scene *s)
{
    CHECK_EQ_U64(driver.early, 0);
    wait_idle(s->dev.live);
    replay_submission_finish(&s->dev);
    for (uint64_t i = 1; i <= 2; i++) {
        struct gen_args_vkDestroyCommandPool args = {.commandPool = gen_VkCommandPool(i)};
        CHECK_EQ_INT(replay_DestroyCommandPool(&s->r, &s->dev, &args), LAP_OK);
    }
    CHECK_EQ_U64(driver.early, 0);
    CHECK(replay_close(&s->r));
    sample_finish(&s->p.s);
}

#define PRIMARY   VK_COMMAND_BUFFER_LEVEL_PRIMARY
#define SECONDARY VK_COMMAND_BUFFER_LEVEL_SECONDARY

UNIT_TEST(what_is_recorded_anew_is_waited_for)
{
    struct scene s;
    scene_init(&s);
    add(&s, 1, 1, PRIMARY);
    record(&s, 1, PLAIN);
    give(&s, 0, 1);
    record(&s, 1, PLAIN);
    CHECK_EQ_U64(driver.waits, 1);
    record(&s, 1, PLAIN);
    give(&s, 1, 1);
    put_reset(&s, 1);
    CHECK_EQ_U64(driver.waits, 2);
    scene_finish(&s);
}

/* A program knows by other means than fences that its work is over: then nobody waits, and never for what came later.
 */
UNIT_TEST(work_that_came_later_is_not_waited_for)
{
    struct scene s;
    scene_init(&s);
    for (uint64_t i = 1; i <= 3; i++)
        add(&s, i, 1 + i % 2, PRIMARY);
    for (uint64_t frame = 0; frame < 100; frame++) {
        uint64_t number = 1 + frame % 3;
        if (frame >= 3)
            let_be_over(0, driver.given[0] - 2);
        record(&s, number, PLAIN);
        CHECK(frame < 3 || driver.over[0] + 2 == driver.given[0]);
        give(&s, 0, number);
    }
    CHECK_EQ_U64(driver.waits, 0);
    put_reset(&s, 2);
    CHECK_EQ_U64(driver.waits, 1);
    CHECK_EQ_U64(driver.over[0] + 2, driver.given[0]);
    scene_finish(&s);
}

/* A driver would free it twice, now or when work is over. */
UNIT_TEST(what_is_freed_twice_is_refused)
{
    for (unsigned busy = 0; busy < 2; busy++) {
        VkCommandBuffer commands[3] = {gen_VkCommandBuffer(2), gen_VkCommandBuffer(1), gen_VkCommandBuffer(2)};
        struct gen_args_vkFreeCommandBuffers args = {
            .commandPool = gen_VkCommandPool(1), .commandBufferCount = 3, .pCommandBuffers = commands};
        struct scene s;
        scene_init(&s);
        add(&s, 1, 1, PRIMARY);
        add(&s, 2, 1, PRIMARY);
        record(&s, 1, PLAIN);
        if (busy)
            give(&s, 0, 1);
        CHECK_EQ_INT(replay_FreeCommandBuffers(&s.r, &s.dev, &args), LAP_ERROR_REPLAY);
        CHECK(strstr(lap_error_message(), "VkCommandBuffer:2 is freed twice"));
        args.commandBufferCount = 2;
        CHECK_EQ_INT(replay_FreeCommandBuffers(&s.r, &s.dev, &args), LAP_OK);
        wait_idle(s.dev.live);
        (void)replay_submission_poll(&s.dev);
        CHECK_EQ_U64(freed, 2);
        scene_finish(&s);
    }
}

UNIT_TEST(pools_that_are_reset_are_waited_for)
{
    struct scene s;
    scene_init(&s);
    add(&s, 1, 1, PRIMARY);
    add(&s, 2, 2, PRIMARY);
    add(&s, 3, 1, PRIMARY);
    for (uint64_t i = 1; i <= 3; i++)
        record(&s, i, PLAIN);
    give(&s, 0, 2);
    give(&s, 0, 3);
    give(&s, 1, 1);
    give(&s, 1, 2);
    put_free(&s, 3); /* it is put aside, and of the pool still */
    put_reset_pool(&s, 1);
    CHECK_EQ_U64(driver.waits, 2);
    CHECK_EQ_U64(driver.over[0], driver.given[0]);
    CHECK_EQ_U64(driver.over[1] + 1, driver.given[1]);
    put_reset_pool(&s, 1);
    CHECK_EQ_U64(driver.waits, 2);
    scene_finish(&s);
}

UNIT_TEST(what_work_executes_is_waited_for)
{
    struct scene s;
    scene_init(&s);
    add(&s, 1, 1, SECONDARY);
    add(&s, 2, 1, SECONDARY);
    add(&s, 3, 2, PRIMARY);
    record(&s, 1, PLAIN);
    record(&s, 2, EXECUTES_1);
    record(&s, 3, EXECUTES_2);
    give(&s, 0, 3);
    give(&s, 0, 3);
    record(&s, 1, PLAIN);
    CHECK_EQ_U64(driver.waits, 1);
    CHECK_EQ_U64(driver.over[0], driver.given[0]);
    record(&s, 2, EXECUTES_1);
    record(&s, 3, EXECUTES_2);
    give(&s, 1, 3);
    put_reset_pool(&s, 1);
    CHECK_EQ_U64(driver.waits, 2);
    scene_finish(&s);
}

UNIT_TEST(what_several_queues_have_is_waited_for)
{
    struct scene s;
    scene_init(&s);
    add(&s, 1, 1, PRIMARY);
    record(&s, 1, PLAIN);
    give(&s, 0, 1);
    give(&s, 1, 1);
    record(&s, 1, PLAIN);
    CHECK_EQ_U64(driver.over[0], driver.given[0]);
    CHECK_EQ_U64(driver.over[1], driver.given[1]);
    scene_finish(&s);
}

/* Fences of the replay's own are few, and taken again. */
UNIT_TEST(fences_are_used_again)
{
    struct scene s;
    scene_init(&s);
    add(&s, 1, 1, PRIMARY);
    add(&s, 2, 2, PRIMARY);
    record(&s, 1, PLAIN);
    record(&s, 2, PLAIN);
    for (unsigned i = 0; i < 200; i++) {
        give(&s, 0, 1);
        if (i >= 40)
            let_be_over(0, driver.given[0] - 40);
    }
    CHECK(driver.fence_count <= REPLAY_OWN_FENCES);
    give(&s, 0, 2);
    record(&s, 2, PLAIN); /* there is none for it, perhaps */
    CHECK_EQ_U64(driver.over[0], driver.given[0]);
    scene_finish(&s);
}

UNIT_MAIN();
