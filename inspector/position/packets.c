/* SPDX-License-Identifier: MIT */
#include "inspector/position/packets.h"

#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/position/held.h"

/* A vkCmdExecuteCommands. */
struct executes {
    uint32_t command, count;
    uint64_t *buffers;
    uint64_t block;
    struct executes *next; /* in its block */
};

struct search {
    struct position_packet *packets;
    size_t count;
    struct position_held held;
    struct lap_map executes; /* struct executes, the first one by block */
    struct executes *last;   /* that was seen */
    struct lap_map seen;     /* recordings, by ticket */
    uint64_t frame, submits; /* of the current frame */
};

static struct position_packet *packet_of(const struct search *search, uint64_t ticket)
{
    size_t low = 0, high = search->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (search->packets[middle].ticket < ticket)
            low = middle + 1;
        else
            high = middle;
    }
    return low < search->count && search->packets[low].ticket == ticket ? &search->packets[low] : NULL;
}

static void take(struct position_packet *packet, const struct position *position)
{
    if (packet && !packet->position.count)
        packet->position = *position;
}

/* position: of the command buffer. Where its recording was seen before, that place was the first one, also of the
 * command buffers that it executes. */
static enum lap_status see_buffer(struct search *search, uint64_t command_buffer, struct position *position)
{
    const struct position_recording *recording = position_held_of(&search->held, command_buffer);
    enum lap_status status;

    if (!recording || lap_map_get(&search->seen, recording->ticket))
        return LAP_OK;
    status = lap_map_put(&search->seen, recording->ticket, search, NULL);
    take(packet_of(search, recording->ticket), position);
    if (position->count + 2 > POSITION_MOST_NUMBERS)
        return status;
    position->count += 2;
    for (const struct executes *e = lap_map_get(&search->executes, recording->block); e; e = e->next)
        for (uint32_t i = 0; i < e->count && status == LAP_OK; i++) {
            position->numbers[position->count - 2] = e->command;
            position->numbers[position->count - 1] = i + 1;
            status = see_buffer(search, e->buffers[i], position);
        }
    position->count -= 2;
    return status;
}

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct search *search = state;
    struct position position = {.count = POSITION_SUBMIT, .numbers = {call->packet->frame + 1}};
    enum lap_status status = LAP_OK;

    if (call->command == GEN_lapilliBlock)
        return position_held_record(&search->held, call);
    if (call->packet->frame != search->frame)
        search->submits = 0;
    search->frame = call->packet->frame;
    position.numbers[1] = ++search->submits;
    take(packet_of(search, call->packet->ticket), &position);
    position.count = POSITION_BUFFER;
    for (uint32_t batch = 0; batch < position_submit_batches(call); batch++)
        for (uint32_t i = 0; i < position_submit_buffers(call, batch) && status == LAP_OK; i++) {
            position.numbers[2]++;
            status = see_buffer(search, position_submit_buffer(call, batch, i), &position);
        }
    return status;
}

static enum lap_status visit_in_block(void *state, const struct trace_call *call)
{
    const struct gen_args_vkCmdExecuteCommands *args = call->args;
    struct search *search = state;
    struct executes *executes, *last;

    if (call->command != GEN_vkCmdExecuteCommands || !args->pCommandBuffers)
        return LAP_OK;
    executes = lap_arena_alloc(&search->held.arena, sizeof *executes, _Alignof(struct executes));
    if (!executes)
        return lap_no_memory("positions");
    *executes = (struct executes){.command = call->index, .count = args->commandBufferCount, .block = call->block};
    executes->buffers = lap_arena_alloc(&search->held.arena, executes->count * sizeof *executes->buffers + 1, 8);
    if (!executes->buffers)
        return lap_no_memory("positions");
    for (uint32_t i = 0; i < executes->count; i++)
        executes->buffers[i] = gen_u64_VkCommandBuffer(args->pCommandBuffers[i]);
    last = search->last;
    search->last = executes;
    if (!last || last->block != call->block)
        return lap_map_put(&search->executes, call->block, executes, NULL);
    last->next = executes;
    return LAP_OK;
}

enum lap_status position_of_packets(const struct lap_reader *trace, struct position_packet *packets, size_t count)
{
    static const uint16_t commands[] = {GEN_lapilliBlock, GEN_vkQueueSubmit, GEN_vkQueueSubmit2, GEN_COMMAND_NONE};
    struct search search = {.packets = packets, .count = count};
    const struct trace_visitor visitor = {
        .commands = commands, .visit = visit, .visit_in_block = visit_in_block, .state = &search};
    enum lap_status status;

    position_held_init(&search.held);
    lap_map_init(&search.executes);
    lap_map_init(&search.seen);
    status = count ? trace_pass_run(trace, 0, &visitor, 1) : LAP_OK;
    lap_map_finish(&search.executes);
    lap_map_finish(&search.seen);
    position_held_finish(&search.held);
    return status;
}
