/* SPDX-License-Identifier: MIT */
/* What is kept of what command buffers name. There is no driver: handles are numbers. */
#include "replayer/command/reference_check.h"
#include "replayer/command/reference_check_internal.h"

#include "replayer/core/handles.h"
#include "replayer/play/player.h"
#include "tests/unit/peak.h"
#include "tests/unit/player_program.h"

#define MIB ((size_t)1 << 20)

struct scene {
    struct program p;
    struct replay r;
    int owner;
    uint64_t commands; /* command buffers so far */
};

static void scene_init(struct scene *s)
{
    memset(s, 0, sizeof *s);
    CHECK(program_begin(&s->p));
}

static uint64_t put_block(struct program *p)
{
    uint64_t id;

    COMMAND(p, vkEndCommandBuffer);
    CHECK(!p->block.failed);
    id = lap_writer_blob(p->s.writer, LAP_BLOB_BLOCK, p->block.base, (size_t)(p->block.p - p->block.base), NULL);
    lap_enc_finish(&p->block);
    return id;
}

/* Names so many buffers, the first ones twice; blocks with other first ones are others. */
static uint64_t put_fills(struct program *p, uint64_t first, uint64_t count)
{
    struct lap_object *object = lap_map_get(&p->s.maps[GEN_HANDLE_VkBuffer], gen_u64_VkBuffer(p->buffer));

    block_begin(p);
    for (uint64_t i = 0; i < count + 2; i++) {
        object->index = first + i % count;
        COMMAND(p, vkCmdFillBuffer, p->buffer, 0, VK_WHOLE_SIZE, PATTERN);
    }
    return put_block(p);
}

/* Executes one command buffer. */
static uint64_t put_execution(struct program *p, uint64_t index)
{
    struct lap_object *object =
        lap_map_get(&p->s.maps[GEN_HANDLE_VkCommandBuffer], gen_u64_VkCommandBuffer(p->commands));

    object->index = index;
    block_begin(p);
    COMMAND(p, vkCmdExecuteCommands, 1, &p->commands);
    return put_block(p);
}

static void ready(struct scene *s)
{
    struct replay_options options = {.file = s->p.s.path, .threads = 1};

    lap_writer_frame(s->p.s.writer);
    sample_end(&s->p.s);
    CHECK_EQ_INT(replay_open(&s->r, &options, NULL), LAP_OK);
}

static void add(struct scene *s, enum gen_handle_type type, uint64_t index)
{
    CHECK_EQ_INT(replay_object_add(&s->r, type, index, (index << 8) + 0x100, &s->owner, NULL), LAP_OK);
}

static VkCommandBuffer live(uint64_t index)
{
    return gen_VkCommandBuffer((index << 8) + 0x100);
}

/* A new command buffer that is recorded from the block. */
static uint64_t record(struct scene *s, uint64_t block, bool secondary)
{
    add(s, GEN_HANDLE_VkCommandBuffer, ++s->commands);
    replay_object_get(&s->r, GEN_HANDLE_VkCommandBuffer, s->commands)->secondary = secondary;
    CHECK_EQ_INT(replay_reference_check_record(&s->r, live(s->commands), block), LAP_OK);
    return s->commands;
}

/* From now on blocks have to be looked at. */
static void end_something(struct scene *s)
{
    uint64_t ends = s->r.objects.ends;

    add(s, GEN_HANDLE_VkSampler, 1);
    replay_object_remove(&s->r, GEN_HANDLE_VkSampler, 1);
    CHECK_EQ_U64(s->r.objects.ends, ends + 1);
}

static void scene_finish(struct scene *s)
{
    replay_tables_finish(&s->r);
    CHECK_EQ_U64(s->r.objects.reference_check->reference_count, 0);
    CHECK_EQ_U64(lap_map_count(&s->r.objects.reference_check->block_references), 0);
    replay_close(&s->r);
    sample_finish(&s->p.s);
}

UNIT_TEST(command_buffers_of_one_block_have_its_names_in_common)
{
    enum { BUFFERS = 3000, COMMANDS = 3000 };
    struct scene s;
    uint64_t block, other;
    size_t before;
    scene_init(&s);
    block = put_fills(&s.p, 1, BUFFERS);
    other = put_fills(&s.p, 2, 10);
    ready(&s);
    for (uint64_t i = 1; i <= BUFFERS; i++)
        add(&s, GEN_HANDLE_VkBuffer, i);
    before = peak_bytes();
    for (uint64_t i = 0; i < COMMANDS; i++)
        record(&s, block, false);
    end_something(&s);
    for (uint64_t i = 1; i <= COMMANDS; i++)
        CHECK_EQ_INT(replay_reference_check_submit(&s.r, live(i), UINT64_MAX), LAP_OK);
    CHECK_EQ_U64(s.r.objects.reference_check->reference_count, BUFFERS);
    if (peak_bytes() > before + 16 * MIB + PEAK_MORE_BYTES)
        UNIT_FAIL("%zu MiB", (peak_bytes() - before) >> 20);

    /* Those that are recorded anew from the same block keep them, those from another one leave. */
    CHECK_EQ_INT(replay_reference_check_record(&s.r, live(1), block), LAP_OK);
    CHECK_EQ_U64(s.r.objects.reference_check->reference_count, BUFFERS);
    for (uint64_t i = 2; i <= COMMANDS; i++)
        CHECK_EQ_INT(replay_reference_check_record(&s.r, live(i), other), LAP_OK);
    CHECK_EQ_U64(s.r.objects.reference_check->reference_count, BUFFERS);
    replay_object_remove(&s.r, GEN_HANDLE_VkCommandBuffer, 1);
    CHECK_EQ_U64(s.r.objects.reference_check->reference_count, 0);
    end_something(&s);
    CHECK_EQ_INT(replay_reference_check_submit(&s.r, live(2), UINT64_MAX), LAP_OK);
    CHECK_EQ_U64(s.r.objects.reference_check->reference_count, 10);
    replay_object_remove(&s.r, GEN_HANDLE_VkBuffer, 5);
    CHECK_EQ_INT(replay_reference_check_submit(&s.r, live(2), UINT64_MAX), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(replay_reference_check_submit(&s.r, live(COMMANDS), UINT64_MAX), LAP_ERROR_REPLAY);
    scene_finish(&s);
}

/* Where there is no room, blocks are looked at again, and what is gone is found all the same. */
UNIT_TEST(what_is_kept_of_many_blocks_is_limited)
{
    enum { BUFFERS = 100000, BLOCKS = 60, KEPT = 1 << 22 };
    struct scene s;
    uint64_t blocks[BLOCKS];
    const uint8_t *data;
    size_t before, bytes;
    scene_init(&s);
    for (uint64_t i = 0; i < BLOCKS; i++)
        blocks[i] = put_fills(&s.p, 1 + i, BUFFERS);
    ready(&s);
    for (uint64_t i = 1; i < BUFFERS + BLOCKS; i++)
        add(&s, GEN_HANDLE_VkBuffer, i);
    for (unsigned i = 0; i < BLOCKS; i++)
        record(&s, blocks[i], false);
    for (unsigned i = 0; i < BLOCKS; i++) /* the reader keeps what it has read */
        CHECK_EQ_INT(lap_reader_blob(s.r.reader, LAP_BLOB_BLOCK, blocks[i], &data, &bytes), LAP_OK);
    before = peak_bytes();
    end_something(&s);
    for (uint64_t i = 1; i <= BLOCKS; i++)
        CHECK_EQ_INT(replay_reference_check_submit(&s.r, live(i), UINT64_MAX), LAP_OK);
    CHECK(s.r.objects.reference_check->reference_count <= KEPT &&
          s.r.objects.reference_check->reference_count > KEPT - BUFFERS);
    if (peak_bytes() > before + 80 * MIB + PEAK_MORE_BYTES)
        UNIT_FAIL("%zu MiB", (peak_bytes() - before) >> 20);
    replay_object_remove(&s.r, GEN_HANDLE_VkBuffer, BUFFERS);
    for (uint64_t i = 1; i <= BLOCKS; i++)
        CHECK_EQ_INT(replay_reference_check_submit(&s.r, live(i), UINT64_MAX), LAP_ERROR_REPLAY);
    scene_finish(&s);
}

/* Each executes the one before it, so all of them are looked at within each other. */
UNIT_TEST(command_buffers_execute_others_to_some_depth)
{
    enum { DEPTH = 256 };
    struct scene s;
    uint64_t blocks[DEPTH + 1];
    scene_init(&s);
    for (uint64_t i = 0; i <= DEPTH; i++)
        blocks[i] = i ? put_execution(&s.p, i) : put_fills(&s.p, 1, 1);
    ready(&s);
    add(&s, GEN_HANDLE_VkBuffer, 1);
    for (unsigned i = 0; i <= DEPTH; i++)
        record(&s, blocks[i], true);
    end_something(&s);
    CHECK_EQ_INT(replay_reference_check_submit(&s.r, live(DEPTH + 1), UINT64_MAX), LAP_ERROR_LIMIT);
    CHECK(strstr(lap_error_message(), "secondary command buffers execute others 256 deep") != NULL);
    CHECK_EQ_INT(replay_reference_check_submit(&s.r, live(DEPTH), UINT64_MAX), LAP_OK);
    CHECK_EQ_INT(replay_reference_check_submit(&s.r, live(DEPTH + 1), UINT64_MAX), LAP_OK); /* it is known by now */
    replay_object_remove(&s.r, GEN_HANDLE_VkBuffer, 1);
    CHECK_EQ_INT(replay_reference_check_submit(&s.r, live(DEPTH), UINT64_MAX), LAP_ERROR_REPLAY);
    scene_finish(&s);
}

UNIT_MAIN();
