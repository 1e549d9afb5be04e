/* SPDX-License-Identifier: MIT */
#include "inspector/state/submit_steps.h"

#include <stdlib.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/position/held.h"

#define MOST_DEPTH    32u        /* of nested command buffers */
#define MOST_EXECUTED (1u << 16) /* command buffers, by one that is submitted */

struct step {
    const void *what;        /* NULL: the execution of a secondary command buffer */
    uint64_t command_buffer; /* that one */
    uint32_t executed;       /* which one of the command, from 0 */
    uint32_t command;
};

struct submit_step_list { /* of a block */
    struct step *at;
    size_t count, capacity;
};

struct giving {
    struct submit_steps *steps;
    submit_step_fn give;
    void *user;
    bool over, lost;
};

void submit_steps_init(struct submit_steps *steps, struct lap_arena *arena)
{
    *steps = (struct submit_steps){.arena = arena};
    lap_map_init(&steps->blocks);
    lap_map_init(&steps->commands);
}

static void free_list(void *user, uint64_t number, void *list)
{
    (void)user, (void)number;
    free(((struct submit_step_list *)list)->at);
}

void submit_steps_finish(struct submit_steps *steps)
{
    lap_map_each(&steps->blocks, free_list, NULL);
    lap_map_finish(&steps->blocks);
    lap_map_finish(&steps->commands);
}

/* ---- noting ---- */

static enum lap_status add(struct submit_steps *steps, const struct trace_call *call, const struct step *step)
{
    struct submit_step_list *list = steps->block;
    enum lap_status status;

    if (!list || steps->block_number != call->block) {
        list = lap_arena_zalloc(steps->arena, 1, sizeof *list, 8);
        status = list ? lap_map_put(&steps->blocks, call->block, list, NULL)
                      : lap_fail(LAP_ERROR_MEMORY, "out of memory for the steps of command buffers");
        if (status != LAP_OK)
            return status;
        steps->block = list;
        steps->block_number = call->block;
    }
    if (!lap_array_grow(&list->at, sizeof *list->at, &list->capacity, list->count + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for the steps of command buffers");
    list->at[list->count] = *step;
    list->at[list->count++].command = call->index;
    return LAP_OK;
}

enum lap_status submit_steps_add(struct submit_steps *steps, const struct trace_call *call, const void *what)
{
    return add(steps, call, &(struct step){.what = what});
}

enum lap_status submit_steps_execute(struct submit_steps *steps, const struct trace_call *call)
{
    const struct gen_args_vkCmdExecuteCommands *a = call->args;
    enum lap_status status = LAP_OK;

    if (call->command != GEN_vkCmdExecuteCommands)
        return LAP_OK;
    for (uint32_t i = 0; a->pCommandBuffers && i < a->commandBufferCount && status == LAP_OK; i++)
        status = add(steps, call,
                     &(struct step){.command_buffer = gen_u64_VkCommandBuffer(a->pCommandBuffers[i]), .executed = i});
    return status;
}

enum lap_status submit_steps_record(struct submit_steps *steps, const struct trace_call *call)
{
    static struct submit_step_list none;
    const struct gen_args_lapilliBlock *a = call->args;
    struct submit_step_list *list = lap_map_get(&steps->blocks, a->block);

    return lap_map_put(&steps->commands, gen_u64_VkCommandBuffer(a->commandBuffer), list ? list : &none, NULL);
}

/* ---- submits ---- */

/* end: where to end in this command buffer, and `places` further ones in it; NULL: nowhere. */
static void give_buffer(struct giving *giving, uint64_t command_buffer, struct submit_where *where,
                        const struct position_place *end, unsigned places, unsigned depth)
{
    const struct submit_step_list *list = lap_map_get(&giving->steps->commands, command_buffer);

    if (depth == MOST_DEPTH || giving->steps->executed++ == MOST_EXECUTED) {
        giving->over = giving->lost = true;
        return;
    }
    for (size_t i = 0; list && i < list->count && !giving->over; i++) {
        const struct step *step = &list->at[i];
        bool is_end = end && places && !step->what && step->command == end->command && step->executed == end->executed;
        struct submit_where inside = {.outer = where, .buffer = step->executed + 1};
        if (end && step->command > end->command)
            break;
        where->command = step->command;
        if (step->what)
            giving->over = !giving->give(giving->user, step->what, where);
        else
            give_buffer(giving, step->command_buffer, &inside, is_end ? end + 1 : NULL, is_end ? places - 1 : 0,
                        depth + 1);
    }
    giving->over = giving->over || end;
}

bool submit_steps_give(struct submit_steps *steps, const struct trace_call *call, submit_step_fn give, void *user)
{
    const struct position_found *end =
        steps->end && steps->end->ticket == call->packet->ticket && steps->end->place_count ? steps->end : NULL;
    struct giving giving = {.steps = steps, .give = give, .user = user};
    uint32_t number = 0;

    for (uint32_t i = 0; i < position_submit_batches(call); i++)
        for (uint32_t k = 0; k < position_submit_buffers(call, i) && !giving.over; k++) {
            const bool is_end = end && end->batch == i && end->buffer == k;
            struct submit_where where = {.buffer = ++number};
            steps->executed = 0;
            give_buffer(&giving, position_submit_buffer(call, i, k), &where, is_end ? end->places : NULL,
                        is_end ? end->place_count - 1 : 0, 0);
        }
    return !giving.lost;
}
