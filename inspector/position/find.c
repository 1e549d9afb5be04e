/* SPDX-License-Identifier: MIT */
#include "inspector/position/find.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/position/blocks.h"
#include "inspector/position/held.h"

struct search {
    const struct position *want;
    struct position_found *out;
    struct position_held held;
    uint64_t packets, frames; /* so far */
    uint64_t submits;         /* of the wanted frame; of a packet: of the current one */
    uint64_t current;         /* frame */
    uint64_t buffers;         /* of the wanted submit */
    uint64_t command_buffer;  /* that is found */
    uint64_t number;          /* of it in the submit, from 1; 0: no command buffer is requested */
    uint64_t recorded;        /* ticket of the wanted packet, a lapilliBlock */
    bool found, found_buffer;
};

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- the packet ---- */

static void see_packet(void *state, const struct lap_packet *packet)
{
    struct search *search = state;
    const struct position *want = search->want;
    bool here = want->of_packet ? search->packets == want->numbers[0]
                                : want->numbers[0] == packet->frame + 1 && search->frames <= packet->frame;

    search->packets++;
    if (packet->frame >= search->frames)
        search->frames = packet->frame + 1;
    if (!here)
        return;
    search->found = want->of_packet || want->count == POSITION_FRAME;
    search->out->ticket = packet->ticket;
    search->out->frame = packet->frame;
    search->out->position = (struct position){.count = POSITION_FRAME, .numbers = {packet->frame + 1}};
}

static void take_submit(struct search *search, const struct trace_call *call)
{
    search->found = true;
    search->out->is_submit = true;
    search->out->ticket = call->packet->ticket;
    search->out->frame = call->packet->frame;
    search->out->position =
        (struct position){.count = POSITION_SUBMIT, .numbers = {call->packet->frame + 1, search->submits}};
}

static void take_buffer(struct search *search, const struct trace_call *call)
{
    uint64_t number = search->number;

    for (uint32_t batch = 0; batch < position_submit_batches(call); batch++) {
        uint32_t count = position_submit_buffers(call, batch);
        if (number - search->buffers <= count && !search->found_buffer) {
            search->found_buffer = true;
            search->out->batch = batch;
            search->out->buffer = (uint32_t)(number - search->buffers - 1);
            search->command_buffer = position_submit_buffer(call, batch, search->out->buffer);
        }
        search->buffers += count;
    }
}

/* The number of the command buffer that holds the wanted recording; 0: none does. */
static uint64_t buffer_with(const struct search *search, const struct trace_call *call)
{
    uint64_t number = 0;

    for (uint32_t batch = 0; batch < position_submit_batches(call); batch++)
        for (uint32_t i = 0; i < position_submit_buffers(call, batch); i++) {
            const struct position_recording *recording =
                position_held_of(&search->held, position_submit_buffer(call, batch, i));
            number++;
            if (recording && recording->ticket == search->recorded)
                return number;
        }
    return 0;
}

static enum lap_status see_submit(struct search *search, const struct trace_call *call)
{
    const struct position *want = search->want;

    if (call->packet->frame != search->current)
        search->submits = 0;
    search->current = call->packet->frame;
    if (!want->of_packet && call->packet->frame + 1 != want->numbers[0])
        return LAP_OK;
    search->submits++;
    if (!want->of_packet) {
        if (want->count < POSITION_SUBMIT || search->submits != want->numbers[1])
            return LAP_OK;
        search->number = want->count >= POSITION_BUFFER ? want->numbers[2] : 0;
    } else if (search->recorded) {
        search->number = buffer_with(search, call);
        if (!search->number)
            return LAP_OK;
    } else if (!search->found) {
        return LAP_OK;
    } else if (call->packet->ticket != search->out->ticket) {
        return LAP_END; /* the packet was in front of this one, and is no submit */
    }
    take_submit(search, call);
    if (search->number)
        take_buffer(search, call);
    return LAP_END;
}

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct search *search = state;

    if (call->command != GEN_lapilliBlock)
        return see_submit(search, call);
    if (search->want->of_packet && search->found && call->packet->ticket == search->out->ticket)
        search->recorded = call->packet->ticket;
    return position_held_record(&search->held, call);
}

/* ---- command buffers ---- */

/* command: UINT64_MAX: the last one. `secondary` is one that the command executes, from 1; 0: none. *out_buffer is that
 * command buffer. text: of the position up to the command buffer. */
static enum lap_status find_command(struct position_blocks *blocks, struct position_place *place, uint64_t command,
                                    uint64_t secondary, const char *text, uint64_t *out_buffer)
{
    const struct gen_args_vkCmdExecuteCommands *executes = NULL;
    struct lap_args args;
    uint32_t id = 0;
    enum lap_status status = position_blocks_begin(blocks, place->block, 0);

    if (status != LAP_OK)
        return status;
    place->commands = 0;
    while (status == LAP_OK && place->commands <= command) {
        status = position_blocks_next(blocks, &id, &args);
        if (status == LAP_OK) {
            place->command = place->commands++;
            place->id = (uint16_t)id;
        }
    }
    if (status != LAP_OK && status != LAP_END)
        return status;
    if (status == LAP_END && command != UINT64_MAX)
        return lap_fail(LAP_ERROR_ARGUMENT, "command buffer %s has the commands 0 to %" PRIu32, text, place->command);
    if (!secondary)
        return LAP_OK;
    if (id == GEN_vkCmdExecuteCommands)
        executes = (const void *)args.bytes;
    if (!executes || !executes->pCommandBuffers)
        return lap_fail(LAP_ERROR_ARGUMENT, "command %s.%" PRIu32 " is %s, which executes no command buffers", text,
                        place->command, gen_command_names[id]);
    if (secondary > executes->commandBufferCount)
        return lap_fail(LAP_ERROR_ARGUMENT, "command %s.%" PRIu32 " executes %" PRIu32 " command buffer%s", text,
                        place->command, executes->commandBufferCount, plural(executes->commandBufferCount));
    place->executed = (uint32_t)(secondary - 1);
    *out_buffer = gen_u64_VkCommandBuffer(executes->pCommandBuffers[secondary - 1]);
    return LAP_OK;
}

static enum lap_status follow(struct search *search, struct position_blocks *blocks)
{
    const struct position *at = &search->out->position;
    uint64_t command_buffer = search->command_buffer;
    char text[POSITION_TEXT_BYTES];
    enum lap_status status = LAP_OK;

    for (unsigned i = POSITION_SUBMIT; i < at->count && status == LAP_OK; i += 2) {
        const struct position up_to = position_up_to(at, i + 1);
        const struct position_recording *recording = position_held_of(&search->held, command_buffer);
        struct position_place *place = &search->out->places[search->out->place_count++];
        position_text(&up_to, text);
        if (!recording)
            return lap_fail(LAP_ERROR_ARGUMENT, "command buffer %s, VkCommandBuffer:%" PRIu64 ", was not recorded",
                            text, command_buffer);
        *place = (struct position_place){
            .command_buffer = command_buffer, .recorded = recording->ticket, .block = recording->block};
        status = find_command(blocks, place, i + 1 < at->count ? at->numbers[i + 1] : UINT64_MAX,
                              i + 2 < at->count ? at->numbers[i + 2] : 0, text, &command_buffer);
    }
    return status;
}

/* ---- the whole ---- */

static enum lap_status say_what_is_there(const struct search *search, uint64_t marked_frames)
{
    const struct position *want = search->want;
    uint64_t frames = search->frames > marked_frames ? search->frames : marked_frames;

    if (want->of_packet && want->numbers[0] >= search->packets)
        return lap_fail(LAP_ERROR_ARGUMENT, "the trace has the packets #0 to #%" PRIu64,
                        search->packets ? search->packets - 1 : 0);
    if (want->of_packet)
        return lap_fail(LAP_ERROR_ARGUMENT, "no submit has the command buffer of packet #%" PRIu64 " itself",
                        want->numbers[0]);
    if (want->numbers[0] > frames)
        return lap_fail(LAP_ERROR_ARGUMENT, "the trace has %" PRIu64 " frame%s", frames, plural(frames));
    return lap_fail(LAP_ERROR_ARGUMENT, "frame %" PRIu64 " has %" PRIu64 " submit%s", want->numbers[0], search->submits,
                    plural(search->submits));
}

/* Finds the numbers of the position behind those that the packet gave. */
static enum lap_status complete(struct search *search)
{
    const struct position *want = search->want;
    struct position_found *out = search->out;

    if (want->of_packet && search->recorded)
        out->position.numbers[out->position.count++] = search->number;
    if (!want->of_packet)
        out->position = *want;
    else if (want->count > 1 && !search->recorded)
        return lap_fail(LAP_ERROR_ARGUMENT, "packet #%" PRIu64 " is no command buffer", want->numbers[0]);
    else if (want->count > 1)
        out->position.numbers[out->position.count++] = want->numbers[1];
    return LAP_OK;
}

enum lap_status position_find(const struct lap_reader *trace, const struct position *position,
                              struct position_found *out)
{
    static const uint16_t commands[] = {GEN_lapilliBlock, GEN_vkQueueSubmit, GEN_vkQueueSubmit2, GEN_COMMAND_NONE};
    struct search search = {.want = position, .out = out};
    struct position_blocks blocks = {.reader = NULL};
    const struct trace_visitor visitor = {
        .commands = commands, .visit = visit, .see_packet = see_packet, .state = &search};
    enum lap_status status;

    *out = (struct position_found){.ticket = 0};
    position_held_init(&search.held);
    status = trace_pass_run(trace, position->of_packet ? 0 : position->numbers[0], &visitor, 1);
    /* A frame that begins is there, though the trace may be damaged in it, or at the packet behind it. */
    if (search.found && !position->of_packet && position->count == POSITION_FRAME && status != LAP_ERROR_MEMORY)
        status = LAP_OK;
    if (status == LAP_OK && (!search.found || (search.recorded && !out->is_submit)))
        status = say_what_is_there(&search, lap_reader_summary(trace)->frames);
    if (status == LAP_OK && !position->of_packet && position->count >= POSITION_BUFFER && !search.found_buffer) {
        char text[POSITION_TEXT_BYTES];
        const struct position submit = position_up_to(position, POSITION_SUBMIT);
        status = lap_fail(LAP_ERROR_ARGUMENT, "submit %s has %" PRIu64 " command buffer%s",
                          position_text(&submit, text), search.buffers, plural(search.buffers));
    }
    if (status == LAP_OK)
        status = complete(&search);
    if (status == LAP_OK && out->position.count >= POSITION_BUFFER) {
        status = position_blocks_open(&blocks, trace);
        if (status == LAP_OK)
            status = follow(&search, &blocks);
        position_blocks_close(&blocks);
    }
    position_held_finish(&search.held);
    return status;
}

enum lap_status position_end(const struct lap_reader *trace, const struct position *at, uint64_t *out_ticket,
                             struct position_found *out)
{
    uint64_t packets = lap_reader_summary(trace)->packets, end;
    enum lap_status status;

    *out = (struct position_found){.place_count = 0};
    if (at->of_packet && at->count == 1 && at->numbers[0] < packets) {
        *out_ticket = at->numbers[0] + 1;
        return LAP_OK;
    }
    status = position_find(trace, at, out);
    if (status != LAP_OK)
        return status;
    end = lap_reader_frame_end(trace, out->frame);
    *out_ticket = out->position.count > POSITION_FRAME ? out->ticket : end < packets ? end : packets;
    return LAP_OK;
}
