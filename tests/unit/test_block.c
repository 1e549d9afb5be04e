/* SPDX-License-Identifier: MIT */
/* Command buffers that are recorded in parts: what is cut where, and how much work it is. The driver only counts. */
#include "replayer/block.h"

#include <stdlib.h>

#include "codegen/support/conditions.h"
#include "gen_replay.h"
#include "replayer/command_pool.h"
#include "replayer/events.h"
#include "replayer/named.h"
#include "replayer/submit.h"
#include "tests/unit/player_program.h"

enum { ANSWER = 1, QUESTION, EVENTS = 2 };

struct scene {
    struct program p;
    struct replay r;
    struct replay_device dev;
    VkEvent events[EVENTS + 1]; /* recorded */
    VkCommandBuffer secondary;  /* recorded; p.commands is the primary */
};

struct recorded {
    uint64_t id;
    uint32_t commands;
};

/* What the driver was told: each command by a letter, "|" where a command buffer begins. */
static char said[64];
static uint32_t said_count, made, begun, ended, bound, waited;
static uint64_t looked; /* handles that were decoded */
static VkCommandBuffer executions[16];
static uint32_t execution_count, made_secondary;
static uint64_t handles;

static void say(char letter)
{
    if (said_count + 1 < sizeof said)
        said[said_count++] = letter;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_event(VkDevice device, const VkEventCreateInfo *info,
                                                   const VkAllocationCallbacks *allocator, VkEvent *out)
{
    *out = gen_VkEvent(0x10000 + ++handles);
    return VK_SUCCESS;
}
static VKAPI_ATTR void VKAPI_CALL destroy_event(VkDevice device, VkEvent event, const VkAllocationCallbacks *allocator)
{
}
static VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice device, const VkCommandPoolCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator, VkCommandPool *out)
{
    *out = gen_VkCommandPool(0x10000 + ++handles);
    return VK_SUCCESS;
}
static VKAPI_ATTR void VKAPI_CALL destroy_pool(VkDevice device, VkCommandPool pool,
                                               const VkAllocationCallbacks *allocator)
{
}
static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkCommandBufferAllocateInfo *info,
                                               VkCommandBuffer *out)
{
    *out = gen_VkCommandBuffer(0x10000 + ++handles);
    made++;
    made_secondary += info->level == VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    return VK_SUCCESS;
}
static VKAPI_ATTR VkResult VKAPI_CALL begin_commands(VkCommandBuffer commands, const VkCommandBufferBeginInfo *info)
{
    begun++;
    say('|');
    return VK_SUCCESS;
}
static VKAPI_ATTR VkResult VKAPI_CALL end_commands(VkCommandBuffer commands)
{
    ended++;
    return VK_SUCCESS;
}
static VKAPI_ATTR void VKAPI_CALL set_event(VkCommandBuffer commands, VkEvent event, VkPipelineStageFlags stages)
{
    say('s');
}
static VKAPI_ATTR void VKAPI_CALL reset_event(VkCommandBuffer commands, VkEvent event, VkPipelineStageFlags stages)
{
    say('r');
}
static VKAPI_ATTR void VKAPI_CALL wait_events(VkCommandBuffer commands, uint32_t count, const VkEvent *events,
                                              VkPipelineStageFlags before, VkPipelineStageFlags after,
                                              uint32_t memory_count, const VkMemoryBarrier *memory,
                                              uint32_t buffer_count, const VkBufferMemoryBarrier *buffers,
                                              uint32_t image_count, const VkImageMemoryBarrier *images)
{
    waited++;
    say('w');
}
static VKAPI_ATTR void VKAPI_CALL set_width(VkCommandBuffer commands, float width)
{
    bound++;
    say('b');
}
static VKAPI_ATTR void VKAPI_CALL execute(VkCommandBuffer commands, uint32_t count, const VkCommandBuffer *executed)
{
    for (uint32_t i = 0; i < count; i++) {
        say('x');
        if (execution_count < sizeof executions / sizeof *executions)
            executions[execution_count++] = executed[i];
    }
}
static VKAPI_ATTR void VKAPI_CALL begin_query(VkCommandBuffer commands, VkQueryPool pool, uint32_t query,
                                              VkQueryControlFlags flags)
{
    say('q');
}
static VKAPI_ATTR void VKAPI_CALL end_query(VkCommandBuffer commands, VkQueryPool pool, uint32_t query)
{
    say('Q');
}

static enum lap_status (*source_handle)(void *user, uint32_t type, uint64_t index, uint64_t *out);
static enum lap_status count_handles(void *user, uint32_t type, uint64_t index, uint64_t *out)
{
    looked++;
    return source_handle(user, type, index, out);
}

/* ---- what is recorded ---- */

static void put_set(struct scene *s, uint32_t event)
{
    COMMAND(&s->p, vkCmdSetEvent, s->events[event], VK_PIPELINE_STAGE_TRANSFER_BIT);
}
static void put_reset(struct scene *s, uint32_t event)
{
    COMMAND(&s->p, vkCmdResetEvent, s->events[event], VK_PIPELINE_STAGE_TRANSFER_BIT);
}
static void put_wait(struct scene *s, uint32_t event)
{
    COMMAND(&s->p, vkCmdWaitEvents, 1, &s->events[event], VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
            NULL, 0, NULL, 0, NULL);
}
static void put_width(struct scene *s)
{
    COMMAND(&s->p, vkCmdSetLineWidth, 1.0f);
}
static void put_execute(struct scene *s, uint32_t count)
{
    const VkCommandBuffer commands[] = {s->secondary, s->secondary};
    COMMAND(&s->p, vkCmdExecuteCommands, count, commands);
}

static void scene_init(struct scene *s)
{
    memset(s, 0, sizeof *s);
    said_count = made = begun = ended = bound = waited = execution_count = made_secondary = 0;
    looked = handles = 0;
    CHECK(program_begin(&s->p));
    for (uint32_t i = 1; i <= EVENTS; i++)
        s->events[i] = gen_VkEvent(sample_handle(&s->p.s, GEN_HANDLE_VkEvent, i));
    s->secondary = gen_VkCommandBuffer(sample_handle(&s->p.s, GEN_HANDLE_VkCommandBuffer, 2));
}

static void begin_secondary(struct scene *s, VkCommandBufferUsageFlags flags)
{
    VkCommandBufferInheritanceInfo inheritance = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    VkCommandBufferBeginInfo begin = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .flags = flags, .pInheritanceInfo = &inheritance};

    lap_enc_init(&s->p.block, &s->p.s.tables, s->p.s.writer);
    s->p.block_commands = 0;
    s->p.block.scratch[COND_SCRATCH_SECONDARY] = true;
    COMMAND(&s->p, vkBeginCommandBuffer, &begin);
}

static struct recorded end_block(struct scene *s)
{
    uint64_t id;

    COMMAND(&s->p, vkEndCommandBuffer);
    CHECK(!s->p.block.failed);
    id =
        lap_writer_blob(s->p.s.writer, LAP_BLOB_BLOCK, s->p.block.base, (size_t)(s->p.block.p - s->p.block.base), NULL);
    lap_enc_finish(&s->p.block);
    return (struct recorded){id, s->p.block_commands};
}

static void allocate_commands(struct scene *s, uint64_t index, VkCommandBufferLevel level)
{
    VkCommandBuffer commands = gen_VkCommandBuffer(index);
    VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = gen_VkCommandPool(replay_object_get(&s->r, GEN_HANDLE_VkCommandPool, 1)->live),
        .level = level,
        .commandBufferCount = 1};
    struct gen_args_vkAllocateCommandBuffers args = {.pAllocateInfo = &info, .pCommandBuffers = &commands};

    CHECK_EQ_INT(replay_AllocateCommandBuffers(&s->r, &s->dev, &args), LAP_OK);
}

/* Ends the file and makes the replay's objects. */
static void ready(struct scene *s)
{
    struct replay_options options = {.file = s->p.s.path, .threads = 1};
    VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkEventCreateInfo event_info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    VkCommandPool pool = gen_VkCommandPool(1);
    struct gen_args_vkCreateCommandPool create = {.pCreateInfo = &pool_info, .pCommandPool = &pool};

    lap_writer_frame(s->p.s.writer);
    sample_end(&s->p.s);
    CHECK_EQ_INT(replay_open(&s->r, &options, NULL), LAP_OK);
    s->dev.vk = (struct gen_device_dispatch){.CreateEvent = create_event,
                                             .DestroyEvent = destroy_event,
                                             .CreateCommandPool = create_pool,
                                             .DestroyCommandPool = destroy_pool,
                                             .AllocateCommandBuffers = allocate,
                                             .BeginCommandBuffer = begin_commands,
                                             .EndCommandBuffer = end_commands,
                                             .CmdSetEvent = set_event,
                                             .CmdResetEvent = reset_event,
                                             .CmdWaitEvents = wait_events,
                                             .CmdSetLineWidth = set_width,
                                             .CmdExecuteCommands = execute,
                                             .CmdBeginQuery = begin_query,
                                             .CmdEndQuery = end_query};
    CHECK_EQ_INT(replay_CreateCommandPool(&s->r, &s->dev, &create), LAP_OK);
    allocate_commands(s, 1, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    allocate_commands(s, 2, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
    for (uint64_t i = 1; i <= EVENTS; i++) {
        VkEvent event = gen_VkEvent(i);
        struct gen_args_vkCreateEvent args = {.pCreateInfo = &event_info, .pEvent = &event};
        CHECK_EQ_INT(replay_CreateEvent(&s->r, &s->dev, &args), LAP_OK);
    }
    source_handle = s->r.source.handle;
    s->r.source.handle = count_handles;
    s->r.source.live = NULL;
    made = made_secondary = 0;
}

static VkCommandBuffer live(struct scene *s, uint64_t index)
{
    return gen_VkCommandBuffer(replay_object_get(&s->r, GEN_HANDLE_VkCommandBuffer, index)->live);
}

static void play_block(struct scene *s, uint64_t index, struct recorded recorded)
{
    struct replay_block block = {
        .dev = &s->dev, .commands = live(s, index), .number = recorded.id, .command_count = recorded.commands};

    CHECK_EQ_INT(lap_reader_blob(s->r.reader, LAP_BLOB_BLOCK, recorded.id, &block.data, &block.bytes), LAP_OK);
    said_count = 0;
    s->r.block_command = NULL;
    if (replay_block_play(&s->r, &block) != LAP_OK)
        UNIT_FAIL("%s", lap_error_message());
    CHECK(!s->r.block_command);
    CHECK_EQ_INT(replay_named_record(&s->r, block.commands, block.number), LAP_OK);
    CHECK_EQ_U64(begun, ended);
    said[said_count] = 0;
}

static void scene_finish(struct scene *s)
{
    replay_destroy_left(&s->r, &s->dev);
    replay_events_finish(&s->dev);
    replay_submits_end(&s->dev);
    replay_close(&s->r);
    sample_finish(&s->p.s);
}

static uint32_t parts(struct scene *s)
{
    return replay_events_parts(&s->r, &s->dev, live(s, 1));
}

/* ---- tests ---- */

UNIT_TEST(a_part_begins_with_what_was_set_before)
{
    struct scene s;
    struct recorded block;
    scene_init(&s);
    block_begin(&s.p);
    put_wait(&s, ANSWER); /* nobody was told anything yet */
    put_width(&s);
    put_set(&s, QUESTION);
    put_wait(&s, QUESTION); /* it is set here */
    put_wait(&s, ANSWER);   /* this was waited for */
    put_reset(&s, ANSWER);
    put_width(&s);
    put_wait(&s, ANSWER);
    put_width(&s);
    put_wait(&s, ANSWER);
    put_reset(&s, ANSWER);
    put_set(&s, QUESTION);
    put_wait(&s, ANSWER);
    block = end_block(&s);
    ready(&s);
    play_block(&s, 1, block);
    CHECK_STR(said, "|wbswwrb|bbwbwrs|bbbw");
    CHECK_EQ_U64(parts(&s), 3);
    CHECK_EQ_U64(made, 2);
    play_block(&s, 1, block); /* recorded again it takes the same ones */
    CHECK_EQ_U64(made, 2);
    CHECK_EQ_U64(parts(&s), 3);
    scene_finish(&s);
}

static VkQueryPool query_pool(struct scene *s)
{
    return gen_VkQueryPool(sample_handle(&s->p.s, GEN_HANDLE_VkQueryPool, 1));
}

/* ready, with a pool of queries. */
static void ready_with_queries(struct scene *s)
{
    ready(s);
    CHECK_EQ_INT(replay_object_add(&s->r, GEN_HANDLE_VkQueryPool, 1, 0x99, &s->dev, NULL), LAP_OK);
}

static void finish_with_queries(struct scene *s)
{
    replay_object_remove(&s->r, GEN_HANDLE_VkQueryPool, 1);
    scene_finish(s);
}

/* A query ends where it began. What was told before it comes apart from a wait within it, what is told within it does
 * not. */
UNIT_TEST(a_query_is_cut_in_front_and_not_within)
{
    struct scene s;
    VkQueryPool pool;
    struct recorded block;
    scene_init(&s);
    pool = query_pool(&s);
    block_begin(&s.p);
    put_width(&s);
    COMMAND(&s.p, vkCmdBeginQuery, pool, 0, 0); /* nobody was told anything yet */
    put_wait(&s, ANSWER);
    COMMAND(&s.p, vkCmdEndQuery, pool, 0);
    COMMAND(&s.p, vkCmdBeginQuery, pool, 1, 0); /* nobody waits */
    COMMAND(&s.p, vkCmdEndQuery, pool, 1);
    put_wait(&s, ANSWER); /* it was waited for */
    put_reset(&s, ANSWER);
    COMMAND(&s.p, vkCmdBeginQuery, pool, 2, 0);
    put_width(&s);
    put_wait(&s, ANSWER);
    put_set(&s, QUESTION);
    put_reset(&s, ANSWER);
    put_wait(&s, ANSWER);
    COMMAND(&s.p, vkCmdEndQuery, pool, 2);
    put_reset(&s, ANSWER);
    put_wait(&s, ANSWER);
    block = end_block(&s);
    ready_with_queries(&s);
    play_block(&s, 1, block);
    CHECK_STR(said, "|bqwQqQwr|bqbwsrwQr|bbw");
    finish_with_queries(&s);
}

/* A secondary one that asks and waits has parts, too, and its primary is cut between them. */
UNIT_TEST(it_is_cut_within_what_it_executes)
{
    struct scene s;
    struct recorded secondary, primary;
    scene_init(&s);
    begin_secondary(&s, 0);
    put_width(&s);
    put_set(&s, QUESTION);
    put_wait(&s, ANSWER);
    put_reset(&s, ANSWER);
    put_set(&s, QUESTION);
    put_wait(&s, ANSWER);
    secondary = end_block(&s);
    block_begin(&s.p);
    put_width(&s);
    put_execute(&s, 2); /* the second time it is over what the first time was waited for */
    put_wait(&s, ANSWER);
    primary = end_block(&s);
    ready(&s);
    play_block(&s, 2, secondary);
    CHECK_STR(said, "|bs|bwrs|bw");
    CHECK_EQ_U64(made, 2);
    CHECK_EQ_U64(made_secondary, 2);
    CHECK_EQ_U64(replay_events_parts(&s.r, &s.dev, live(&s, 2)), 3);
    play_block(&s, 1, primary);
    CHECK_STR(said, "|bx|bx|bxxx|bxw");
    CHECK_EQ_U64(parts(&s), 4);
    CHECK_EQ_U64(execution_count, 6);
    for (uint32_t i = 0; i < 6; i++)
        CHECK(executions[i] == replay_events_part(&s.r, &s.dev, live(&s, 2), i % 3));
    CHECK(executions[0] == live(&s, 2) && executions[1] != executions[0] && executions[2] != executions[1]);
    play_block(&s, 2, secondary); /* recorded again it takes the same ones */
    CHECK_EQ_U64(made_secondary, 2);
    scene_finish(&s);
}

/* Where its primary can't be cut its parts come one after the other. */
UNIT_TEST(what_is_executed_within_a_query_has_all_of_its_parts)
{
    struct scene s;
    struct recorded secondary, primary;
    VkQueryPool pool;
    scene_init(&s);
    pool = query_pool(&s);
    begin_secondary(&s, 0);
    put_set(&s, QUESTION);
    put_wait(&s, ANSWER);
    put_reset(&s, ANSWER);
    secondary = end_block(&s);
    block_begin(&s.p);
    COMMAND(&s.p, vkCmdBeginQuery, pool, 0, 0);
    put_execute(&s, 1);
    COMMAND(&s.p, vkCmdEndQuery, pool, 0);
    COMMAND(&s.p, vkCmdBeginQuery, pool, 1, 0);
    put_execute(&s, 1);
    COMMAND(&s.p, vkCmdEndQuery, pool, 1);
    primary = end_block(&s);
    ready_with_queries(&s);
    play_block(&s, 2, secondary);
    CHECK_STR(said, "|s|wr");
    play_block(&s, 1, primary);
    CHECK_STR(said, "|qxxQ|qxxQ");
    CHECK(executions[0] == live(&s, 2) && executions[1] != executions[0]);
    CHECK(executions[2] == executions[0] && executions[3] == executions[1]);
    finish_with_queries(&s);
}

UNIT_TEST(what_continues_a_render_pass_is_not_cut)
{
    struct scene s;
    struct recorded secondary;
    scene_init(&s);
    begin_secondary(&s, VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT);
    put_set(&s, QUESTION);
    put_wait(&s, ANSWER);
    secondary = end_block(&s);
    ready(&s);
    play_block(&s, 2, secondary);
    CHECK_STR(said, "|sw");
    scene_finish(&s);
}

/* A primary command buffer that told something is cut before a secondary one that waits. */
UNIT_TEST(it_is_cut_before_what_it_executes)
{
    struct scene s;
    struct recorded secondary, primary;
    scene_init(&s);
    begin_secondary(&s, 0);
    put_wait(&s, ANSWER);
    put_reset(&s, ANSWER);
    secondary = end_block(&s);
    block_begin(&s.p);
    put_width(&s);
    put_execute(&s, 1); /* nobody was told anything yet */
    put_set(&s, QUESTION);
    put_execute(&s, 2); /* it waits the second time, too, but there was nothing to ask for in between */
    primary = end_block(&s);
    ready(&s);
    play_block(&s, 2, secondary);
    CHECK_STR(said, "|wr");
    play_block(&s, 1, primary);
    CHECK_STR(said, "|bxs|bxx");
    CHECK_EQ_U64(parts(&s), 2);
    scene_finish(&s);
}

/* One that does something in front of its wait that the program can ask for is cut after the first. */
UNIT_TEST(it_is_cut_between_what_it_executes)
{
    struct scene s;
    struct recorded secondary, primary;
    scene_init(&s);
    begin_secondary(&s, 0);
    put_wait(&s, ANSWER);
    put_reset(&s, ANSWER);
    put_set(&s, QUESTION);
    secondary = end_block(&s);
    block_begin(&s.p);
    put_execute(&s, 2);
    primary = end_block(&s);
    ready(&s);
    play_block(&s, 2, secondary);
    play_block(&s, 1, primary);
    CHECK_STR(said, "|x|x");
    scene_finish(&s);
}

/* Thousands of parts are as much work as their commands are. */
UNIT_TEST(many_parts_are_little_work)
{
    enum { COUNT = 5000 };
    struct scene s;
    struct recorded block;
    scene_init(&s);
    block_begin(&s.p);
    put_width(&s);
    for (uint32_t i = 0; i < COUNT; i++) {
        put_set(&s, QUESTION);
        put_wait(&s, ANSWER);
        put_reset(&s, ANSWER);
    }
    block = end_block(&s);
    ready(&s);
    play_block(&s, 1, block);
    CHECK_EQ_U64(parts(&s), COUNT + 1);
    CHECK_EQ_U64(waited, COUNT);
    CHECK_EQ_U64(bound, COUNT + 1);
    CHECK(looked <= 4 * COUNT + 2); /* three commands each, of which the wait is decoded twice */
    scene_finish(&s);
}

/* Where each part has more to begin with than the one before, some of them are left together. */
UNIT_TEST(what_is_recorded_again_is_bounded)
{
    enum { COUNT = 5000 };
    struct scene s;
    struct recorded block;
    scene_init(&s);
    block_begin(&s.p);
    for (uint32_t i = 0; i < COUNT; i++) {
        put_width(&s);
        put_set(&s, QUESTION);
        put_wait(&s, ANSWER);
        put_reset(&s, ANSWER);
    }
    block = end_block(&s);
    ready(&s);
    play_block(&s, 1, block);
    CHECK(parts(&s) > 100 && parts(&s) < COUNT);
    CHECK_EQ_U64(waited, COUNT);
    CHECK(bound <= 400 * COUNT);
    scene_finish(&s);
}

UNIT_TEST(many_that_are_executed_at_once_are_bounded)
{
    enum { COUNT = 4000 };
    VkCommandBuffer *all = calloc(COUNT, sizeof *all);
    struct scene s;
    struct recorded secondary, primary;
    CHECK(all != NULL);
    scene_init(&s);
    begin_secondary(&s, 0);
    put_wait(&s, ANSWER);
    put_reset(&s, ANSWER);
    put_set(&s, QUESTION);
    secondary = end_block(&s);
    for (uint32_t i = 0; i < COUNT; i++)
        all[i] = s.secondary;
    block_begin(&s.p);
    COMMAND(&s.p, vkCmdExecuteCommands, COUNT, all);
    primary = end_block(&s);
    ready(&s);
    play_block(&s, 2, secondary);
    play_block(&s, 1, primary);
    CHECK(parts(&s) > 64 && parts(&s) < COUNT);
    CHECK(looked <= 128 * COUNT);
    free(all);
    scene_finish(&s);
}

UNIT_MAIN();
