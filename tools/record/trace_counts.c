/* SPDX-License-Identifier: MIT */
#include "tools/record/trace_counts.h"

#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/analysis/trace_pass.h"

#define PROGRESS_PACKETS 1024u

/* What the commands of a block are, which is the contents of command buffers. */
struct block {
    uint64_t draws, dispatches;
};

struct counting {
    struct lap_map blocks; /* struct block, by number */
    struct lap_arena arena;
    struct lap_gfxr_counts *out;
    uint64_t *checks;
    void (*progress)(void *user, uint64_t done, uint64_t all);
    void *user;
    uint64_t packets, all_packets;
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static enum lap_status visit_in_block(void *state, const struct trace_call *call)
{
    struct counting *c = state;
    const char *name = gen_command_names[call->command];
    const bool draws = begins(name, "vkCmdDraw");
    struct block *block;

    if (!draws && !begins(name, "vkCmdDispatch") && !begins(name, "vkCmdTraceRays"))
        return LAP_OK;
    block = lap_map_get(&c->blocks, call->block);
    if (!block) {
        block = lap_arena_zalloc(&c->arena, 1, sizeof *block, _Alignof(struct block));
        if (!block || lap_map_put(&c->blocks, call->block, block, NULL) != LAP_OK)
            return lap_no_memory("the counts of commands");
    }
    *(draws ? &block->draws : &block->dispatches) += 1;
    return LAP_OK;
}

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct counting *c = state;
    const struct gen_args_lapilliBlock *args = call->args;

    if (call->command == GEN_lapilliBlock) {
        const struct block *block = lap_map_get(&c->blocks, args->block);
        c->out->draws += block ? block->draws : 0;
        c->out->dispatches += block ? block->dispatches : 0;
    }
    *c->checks += gen_command_checks[call->command] != GEN_CHECK_NONE;
    c->out->presents += call->command == GEN_vkQueuePresentKHR;
    c->out->submits += call->command == GEN_vkQueueSubmit || call->command == GEN_vkQueueSubmit2;
    return LAP_OK;
}

/* Those that visit() counts; a zero behind them. */
static void list_commands(uint16_t out[GEN_COMMAND_COUNT + 1])
{
    size_t count = 0;

    for (uint32_t i = 1; i < GEN_COMMAND_COUNT; i++)
        if (gen_command_checks[i] != GEN_CHECK_NONE || i == GEN_lapilliBlock || i == GEN_vkQueuePresentKHR ||
            i == GEN_vkQueueSubmit || i == GEN_vkQueueSubmit2)
            out[count++] = (uint16_t)i;
    out[count] = GEN_COMMAND_NONE;
}

static void see_packet(void *state, const struct lap_packet *packet)
{
    struct counting *c = state;

    (void)packet;
    if (c->progress && c->packets++ % PROGRESS_PACKETS == 0)
        c->progress(c->user, c->packets - 1, c->all_packets);
}

enum lap_status lap_trace_counts(const struct lap_reader *trace,
                                 void (*progress)(void *user, uint64_t done, uint64_t all), void *user,
                                 struct lap_gfxr_counts *out, uint64_t *out_checks)
{
    struct counting c = {.out = out,
                         .checks = out_checks,
                         .progress = progress,
                         .user = user,
                         .all_packets = lap_reader_summary(trace)->packets};
    uint16_t commands[GEN_COMMAND_COUNT + 1];
    const struct trace_visitor visitor = {.commands = commands,
                                          .information = true,
                                          .failed = true,
                                          .visit = visit,
                                          .visit_in_block = visit_in_block,
                                          .see_packet = see_packet,
                                          .state = &c};
    enum lap_status status;

    *out = (struct lap_gfxr_counts){0};
    *out_checks = 0;
    list_commands(commands);
    lap_map_init(&c.blocks);
    lap_arena_init(&c.arena, 0);
    status = trace_pass_run(trace, 0, &visitor, 1);
    lap_map_finish(&c.blocks);
    lap_arena_finish(&c.arena);
    return status;
}
