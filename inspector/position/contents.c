/* SPDX-License-Identifier: MIT */
#include "inspector/position/contents.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "vulkan/label.h"

#define MOST_LEVELS 64u /* of command buffers, one in another */

struct block {
    struct position_counts counts;
    size_t first_executed;
    uint32_t executed_count;
    size_t first_label;
    uint32_t labels_begun, labels_ended;
};

struct position_contents {
    const struct lap_reader *trace;
    struct position_blocks blocks; /* opened for the first request: its reader takes memory */
    struct lap_map by_blob;        /* struct block */
    struct lap_map by_recording;   /* struct position_counts, by ticket: with what is executed */
    struct lap_arena arena;
    uint64_t *executed; /* command buffers, of the blocks one after the other */
    size_t executed_count, executed_capacity;
    char **labels; /* that stay open, of the blocks one after the other */
    size_t label_count, label_capacity;
    uint8_t works[GEN_COMMAND_COUNT];
};

/* ---- commands ---- */

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static enum position_work work_of(uint32_t command)
{
    static const struct {
        const char *begins;
        enum position_work work;
    } table[] = {{"vkCmdDraw", POSITION_DRAW},
                 {"vkCmdDispatch", POSITION_DISPATCH},
                 {"vkCmdTraceRays", POSITION_TRACE},
                 {"vkCmdCopyQueryPool", POSITION_TRANSFER},
                 {"vkCmdCopyAcceleration", POSITION_OTHER},
                 {"vkCmdCopyMicromap", POSITION_OTHER},
                 {"vkCmdCopy", POSITION_TRANSFER},
                 {"vkCmdBlit", POSITION_TRANSFER},
                 {"vkCmdResolve", POSITION_TRANSFER},
                 {"vkCmdFill", POSITION_TRANSFER},
                 {"vkCmdUpdateBuffer", POSITION_TRANSFER},
                 {"vkCmdUpdateMemory", POSITION_TRANSFER},
                 {"vkCmdClear", POSITION_TRANSFER},
                 {"vkCmdBuild", POSITION_OTHER},
                 {"vkCmdDecodeVideo", POSITION_OTHER},
                 {"vkCmdEncodeVideo", POSITION_OTHER},
                 {"vkCmdExecuteGenerated", POSITION_OTHER},
                 {"vkCmdPreprocessGenerated", POSITION_OTHER},
                 {"vkCmdConvert", POSITION_OTHER},
                 {"vkCmdDecompress", POSITION_OTHER},
                 {"vkCmdOpticalFlow", POSITION_OTHER},
                 {"vkCmdSubpassShading", POSITION_OTHER},
                 {"vkCmdCuLaunch", POSITION_OTHER},
                 {"vkCmdCudaLaunch", POSITION_OTHER},
                 {"vkCmdBeginRenderPass", POSITION_PASS},
                 {"vkCmdBeginRendering", POSITION_PASS}};
    const char *name = gen_command_names[command];

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (begins(name, table[i].begins))
            return table[i].work;
    return POSITION_STATE;
}

void position_count(struct position_counts *counts, enum position_work work)
{
    counts->commands++;
    counts->draws += work == POSITION_DRAW;
    counts->dispatches += work == POSITION_DISPATCH;
    counts->traces += work == POSITION_TRACE;
    counts->transfers += work == POSITION_TRANSFER;
    counts->others += work == POSITION_OTHER;
    counts->passes += work == POSITION_PASS;
}

void position_add(struct position_counts *to, const struct position_counts *counts)
{
    to->commands += counts->commands;
    to->draws += counts->draws;
    to->dispatches += counts->dispatches;
    to->traces += counts->traces;
    to->transfers += counts->transfers;
    to->others += counts->others;
    to->passes += counts->passes;
}

/* ---- blocks ---- */

static enum lap_status add_executed(struct position_contents *c, struct block *block,
                                    const struct gen_args_vkCmdExecuteCommands *args)
{
    uint32_t count = args->pCommandBuffers ? args->commandBufferCount : 0;

    if (!lap_array_grow(&c->executed, sizeof *c->executed, &c->executed_capacity, c->executed_count + count))
        return lap_no_memory("the contents of command buffers");
    for (uint32_t i = 0; i < count; i++)
        c->executed[c->executed_count++] = gen_u64_VkCommandBuffer(args->pCommandBuffers[i]);
    block->executed_count += count;
    return LAP_OK;
}

static enum lap_status note_label(struct position_contents *c, struct block *block, uint32_t command, const void *args)
{
    const char *text;

    switch (lap_label_step_of(command, args, &text)) {
    case LAP_LABEL_BEGIN:
        if (!lap_array_grow(&c->labels, sizeof *c->labels, &c->label_capacity, c->label_count + 1) ||
            !(c->labels[c->label_count] = strdup(text)))
            return lap_no_memory("the contents of command buffers");
        c->label_count++;
        block->labels_begun++;
        return LAP_OK;
    case LAP_LABEL_END:
        if (block->labels_begun) {
            block->labels_begun--;
            free(c->labels[--c->label_count]);
        } else {
            block->labels_ended++;
        }
        return LAP_OK;
    default:
        return LAP_OK;
    }
}

static enum lap_status look(struct position_contents *c, uint64_t blob, struct block **out)
{
    struct block *block = lap_map_get(&c->by_blob, blob);
    struct lap_args args;
    uint32_t command;
    enum lap_status status;

    *out = block;
    if (block)
        return LAP_OK;
    status = c->blocks.reader ? LAP_OK : position_blocks_open(&c->blocks, c->trace);
    if (status == LAP_OK)
        status = position_blocks_begin(&c->blocks, blob, 0);
    if (status != LAP_OK)
        return status;
    *out = block = lap_arena_zalloc(&c->arena, 1, sizeof *block, _Alignof(struct block));
    if (!block || lap_map_put(&c->by_blob, blob, block, NULL) != LAP_OK)
        return lap_no_memory("the contents of command buffers");
    block->first_executed = c->executed_count;
    block->first_label = c->label_count;
    while ((status = position_blocks_next(&c->blocks, &command, &args)) == LAP_OK) {
        position_count(&block->counts, c->works[command]);
        if (command == GEN_vkCmdExecuteCommands)
            status = add_executed(c, block, (const void *)args.bytes);
        else
            status = note_label(c, block, command, args.bytes);
        if (status != LAP_OK)
            return status;
    }
    return status == LAP_END ? LAP_OK : status;
}

/* ---- recordings ---- */

static enum lap_status total(struct position_contents *c, const struct position_held *held,
                             const struct position_recording *recording, unsigned level,
                             const struct position_counts **out)
{
    struct position_counts *counts = lap_map_get(&c->by_recording, recording->ticket);
    struct block *block;
    enum lap_status status;

    *out = counts;
    if (counts) /* or one that is being counted, which a damaged trace executes in itself */
        return LAP_OK;
    status = look(c, recording->block, &block);
    if (status != LAP_OK)
        return status;
    *out = counts = lap_arena_zalloc(&c->arena, 1, sizeof *counts, _Alignof(struct position_counts));
    if (!counts || lap_map_put(&c->by_recording, recording->ticket, counts, NULL) != LAP_OK)
        return lap_no_memory("the contents of command buffers");
    *counts = block->counts;
    for (uint32_t i = 0; i < block->executed_count && level < MOST_LEVELS && status == LAP_OK; i++) {
        const struct position_recording *inner = position_held_of(held, c->executed[block->first_executed + i]);
        const struct position_counts *more;
        if (!inner)
            continue;
        status = total(c, held, inner, level + 1, &more);
        if (status == LAP_OK)
            position_add(counts, more);
    }
    return status;
}

enum lap_status position_contents_of(struct position_contents *contents, const struct position_held *held,
                                     const struct position_recording *recording, struct position_counts *out)
{
    const struct position_counts *counts;
    enum lap_status status = total(contents, held, recording, 0, &counts);

    *out = status == LAP_OK ? *counts : (struct position_counts){.commands = 0};
    return status;
}

enum lap_status position_contents_labels_of(struct position_contents *contents,
                                            const struct position_recording *recording,
                                            struct position_contents_labels *out)
{
    struct block *block;
    enum lap_status status = look(contents, recording->block, &block);

    *out = (struct position_contents_labels){.ended = 0};
    if (status == LAP_OK)
        *out = (struct position_contents_labels){block->labels_ended, block->labels_begun,

                                                 block->labels_begun ? contents->labels + block->first_label : NULL};
    return status;
}

/* ---- the whole ---- */

enum lap_status position_contents_open(const struct lap_reader *trace, struct position_contents **out)
{
    struct position_contents *c = *out = calloc(1, sizeof *c);

    if (!c)
        return lap_no_memory("the contents of command buffers");
    lap_map_init(&c->by_blob);
    lap_map_init(&c->by_recording);
    lap_arena_init(&c->arena, 0);
    for (uint32_t i = 1; i < GEN_COMMAND_COUNT; i++)
        c->works[i] = (uint8_t)work_of(i);
    c->trace = trace;
    return LAP_OK;
}

void position_contents_close(struct position_contents **contents)
{
    struct position_contents *c = *contents;

    if (!c)
        return;
    position_blocks_close(&c->blocks);
    lap_map_finish(&c->by_blob);
    lap_map_finish(&c->by_recording);
    lap_arena_finish(&c->arena);
    free(c->executed);
    for (size_t i = 0; i < c->label_count; i++)
        free(c->labels[i]);
    free(c->labels);
    free(c);
    *contents = NULL;
}

enum position_work position_contents_work(const struct position_contents *contents, uint32_t command)
{
    return (enum position_work)contents->works[command];
}
