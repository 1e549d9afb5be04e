/* SPDX-License-Identifier: MIT */
/* Recorded command buffers: from vkBeginCommandBuffer to vkEndCommandBuffer in one packet. */
#include "replayer/command/command_playback.h"

#include <inttypes.h>

#include "gen_replay.h"
#include "replayer/acceleration/build_scratch.h"
#include "replayer/address/address.h"
#include "replayer/command/command_events.h"
#include "replayer/command/command_pool.h"
#include "replayer/command/parallel.h"
#include "replayer/command/reference_check.h"
#include "replayer/core/device.h"
#include "replayer/descriptor/descriptor_buffers.h"
#include "replayer/device/shading_rate.h"
#include "replayer/format/format.h"
#include "replayer/format/format_copies.h"
#include "replayer/format/gpu_convert.h"
#include "replayer/ray_tracing/ray_tracing.h"
#include "replayer/resource/push_descriptors.h"
#include "vulkan/block.h"

#define STEP_COMMANDS 1024u

static enum lap_status play(struct replay *r, struct replay_device *dev, struct lap_args *args)
{
    if (__builtin_expect(gen_replay_table[r->at.command].call != NULL, 1))
        return gen_replay_table[r->at.command].call(r, dev, args->bytes);
    return gen_replay_refusals[r->at.command] ? replay_refuse_command(r) : LAP_OK;
}

/* As play, where images have substituted formats. */
static enum lap_status play_with_conversion(struct replay *r, struct replay_device *dev,
                                            struct replay_format_copies *copies, const struct lap_block *before,
                                            struct lap_args *args)
{
    enum lap_status status = replay_format_copies_record(r, dev, copies, args->bytes);

    if (status != LAP_END)
        return status;
    status = play(r, dev, args);
    if (status == LAP_OK && dev->formats.stencils_differ)
        replay_format_stencil_note(r, dev, copies->commands, &copies->tests, args->bytes);
    return status == LAP_OK ? replay_format_bound_note(r, &copies->bound, before, r->at.command, args->bytes) : status;
}

/* As play, where binding tables may have to be copied. */
static enum lap_status play_with_rays(struct replay *r, struct replay_device *dev,
                                      struct replay_ray_tracing_state *rays, struct replay_format_copies *copies,
                                      const struct lap_block *before, struct lap_args *args)
{
    enum lap_status status = replay_ray_tracing_record(r, dev, rays, &copies->bound, args->bytes);

    if (status != LAP_END)
        return status;
    if (dev->formats.substitutes && dev->formats.substitutes->converts_copies)
        return play_with_conversion(r, dev, copies, before, args);
    status = play(r, dev, args);
    return status == LAP_OK ? replay_format_bound_note(r, &copies->bound, before, r->at.command, args->bytes) : status;
}

/* A command buffer during playback. */
struct playing {
    const struct replay_command_playback *recorded;
    struct lap_block block;                     /* at the next command */
    struct replay_format_copies state, *copies; /* NULL: nothing of the replay's own comes between the commands */
    struct replay_ray_tracing_state rays;
};

static enum lap_status play_one(struct replay *r, struct playing *p, const struct lap_block *before,
                                struct lap_args *args)
{
    struct replay_device *dev = p->recorded->dev;
    enum lap_status status = !p->copies          ? play(r, dev, args)
                             : dev->rays.tracing ? play_with_rays(r, dev, &p->rays, p->copies, before, args)
                                                 : play_with_conversion(r, dev, p->copies, before, args);

    if (status == LAP_OK && __builtin_expect(dev->descriptors.buffers != NULL, 0))
        status = replay_descriptor_buffers_note(r, dev, p->recorded->commands, r->at.command, args->bytes);
    return status == LAP_OK && dev->sync.events ? replay_command_events_note(r, dev, p->recorded->commands, args->bytes)
                                                : status;
}

/* LAP_END: the whole block was played. On failure r->at.block_command is the command that failed. */
static enum lap_status play_all(struct replay *r, struct playing *p)
{
    struct lap_args args;
    struct lap_block before;
    enum lap_status status;

    for (;;) {
        lap_arena_reset(&r->arena);
        if (p->copies)
            before = p->block;
        status = lap_block_next(&p->block, &r->at.command, &args);
        if (status != LAP_OK)
            return status;
        r->at.block_command = gen_command_names[r->at.command];
        if (p->block.index % STEP_COMMANDS == 0)
            replay_watch_step(&r->watch);
        if (replay_reference_check_matters(r->at.command))
            status = replay_reference_check_look(r, r->at.command, args.bytes);
        if (r->at.command == GEN_vkCmdBeginRendering && __builtin_expect(p->recorded->dev->enabled.rate_attachments, 0))
            replay_shading_rate_rendering(r, p->recorded->dev,
                                          ((const struct gen_args_vkCmdBeginRendering *)args.bytes)->pRenderingInfo);
        if (r->at.command == GEN_vkCmdExecuteCommands) {
            replay_reference_check_executes(r, p->recorded->commands);
            replay_push_descriptors_clear(p->recorded->dev);
        }
        if (status == LAP_OK && __builtin_expect(p->recorded->dev->addresses.translated, 0))
            status = replay_address_command(r, p->recorded->dev, p->recorded->commands, args.bytes);
        if (status == LAP_OK)
            status = play_one(r, p, &before, &args);
        if (status != LAP_OK)
            return status;
        r->at.block_command = NULL;
    }
}

static enum lap_status begin(struct replay *r, struct playing *p)
{
    struct replay_device *dev = p->recorded->dev;

    if (dev->formats.substitutes && dev->formats.substitutes->converts_copies) {
        p->copies = &p->state;
        replay_format_converter_reuse(dev, p->recorded->commands);
    }
    if (dev->rays.build_scratch)
        replay_build_scratch_reuse(dev, p->recorded->commands);
    if (dev->rays.tracing) {
        p->copies = &p->state;
        p->rays.commands = p->recorded->commands;
        replay_ray_tracing_reuse(dev, p->recorded->commands);
    }
    if (dev->addresses.translated)
        replay_address_commands_begin(dev);
    replay_command_events_begin(r, dev, p->recorded->commands);
    lap_block_init(&p->block, p->recorded->data, p->recorded->bytes, gen_u64_VkCommandBuffer(p->recorded->commands),
                   r->dictionary, &r->arena, &r->source);
    if (dev->descriptors.buffers) {
        enum lap_status status = replay_descriptor_buffers_begin(r, dev, p->recorded->commands);
        if (status != LAP_OK)
            return status;
    }
    return replay_push_descriptors_begin(r, dev, p->recorded->commands);
}

static enum lap_status end_descriptors(struct replay *r, const struct replay_command_playback *recorded)
{
    bool secondary = false;

    (void)replay_command_buffer_pool(r, recorded->commands, &secondary);
    return replay_descriptor_buffers_end(r, recorded->dev, recorded->commands, secondary,
                                         replay_command_buffer_family(r, recorded->commands));
}

enum lap_status replay_command_playback_run(struct replay *r, const struct replay_command_playback *recorded)
{
    struct playing p = {.recorded = recorded, .state = {.commands = recorded->commands}};
    enum lap_status status;

    r->objects.caller = recorded->dev;
    r->at.block = &p.block;
    r->at.block_family = replay_command_buffer_family(r, recorded->commands);
    status = begin(r, &p);
    if (status == LAP_OK)
        status = play_all(r, &p);
    if (status == LAP_ERROR_INVALID) /* the content that the missing command would draw is unknown */
        status = LAP_ERROR_REPLAY;
    replay_format_bound_finish(&p.state.bound);
    r->at.block = NULL;
    r->at.block_family = UINT32_MAX;
    if (r->at.block_command)
        return status;
    r->summary.skipped_structs += p.block.dec.unknown_structs;
    if (status != LAP_END)
        return status;
    if (p.block.index != recorded->command_count)
        return lap_fail(LAP_ERROR_FORMAT, "block %" PRIu64 " has %" PRIu32 " commands, its packet says %" PRIu32,
                        recorded->number, p.block.index, recorded->command_count);
    return recorded->dev->descriptors.buffers ? end_descriptors(r, recorded) : LAP_OK;
}

enum lap_status replay_lapilliBlock(struct replay *r, struct replay_device *dev, struct gen_args_lapilliBlock *args)
{
    struct replay_command_playback block = {
        .dev = dev, .commands = args->commandBuffer, .number = args->block, .command_count = args->commandCount};
    enum lap_status status = replay_read_blob(r, LAP_BLOB_BLOCK, args->block, &block.data, &block.bytes);

    if (status == LAP_OK)
        status = replay_reference_check_begin(r, dev, args->commandBuffer);
    if (status == LAP_OK)
        status = replay_parallel_add(r, &block);
    return status == LAP_OK ? replay_reference_check_record(r, args->commandBuffer, args->block) : status;
}
