/* SPDX-License-Identifier: MIT */
#include "inspector/slice/cut_draw.h"

#include "gen_decode.h"
#include "inspector/twin/twins.h"

void cut_draw_init(struct cut_draw *draw, const struct position_found *at, const struct lap_dictionary *dictionary,
                   uint64_t first_number)
{
    *draw = (struct cut_draw){.at = at};
    recode_init(&draw->recode, dictionary);
    lap_map_init(&draw->subpasses);
    for (unsigned i = 0; i < at->place_count; i++)
        draw->buffers[i].number = first_number + i;
}

void cut_draw_finish(struct cut_draw *draw)
{
    if (!draw->at)
        return;
    recode_finish(&draw->recode);
    scopes_finish(&draw->scopes);
    lap_map_finish(&draw->subpasses);
}

/* ---- earlier packets ---- */

static void see_allocation(struct cut_draw *draw, const struct gen_args_vkAllocateCommandBuffers *args)
{
    const VkCommandBufferAllocateInfo *info = args->pAllocateInfo;

    for (uint32_t i = 0; info && args->pCommandBuffers && i < info->commandBufferCount; i++)
        for (unsigned k = 0; k < draw->at->place_count; k++)
            if (gen_u64_VkCommandBuffer(args->pCommandBuffers[i]) == draw->at->places[k].command_buffer) {
                draw->buffers[k].device = gen_u64_VkDevice(args->device);
                draw->buffers[k].pool = gen_u64_VkCommandPool(info->commandPool);
                draw->buffers[k].level = info->level;
            }
}

static enum lap_status see_render_pass(struct cut_draw *draw, const VkRenderPass *pass, uint32_t subpasses)
{
    return pass && *pass ? lap_map_put(&draw->subpasses, gen_u64_VkRenderPass(*pass),
                                       (void *)(uintptr_t)(subpasses ? subpasses : 1), NULL)
                         : LAP_OK;
}

enum lap_status cut_draw_see(struct cut_draw *draw, uint32_t command, const void *args)
{
    switch (command) {
    case GEN_vkAllocateCommandBuffers:
        see_allocation(draw, args);
        return LAP_OK;
    case GEN_vkCreateRenderPass: {
        const struct gen_args_vkCreateRenderPass *a = args;
        return see_render_pass(draw, a->pRenderPass, a->pCreateInfo ? a->pCreateInfo->subpassCount : 0);
    }
    case GEN_vkCreateRenderPass2: {
        const struct gen_args_vkCreateRenderPass2 *a = args;
        return see_render_pass(draw, a->pRenderPass, a->pCreateInfo ? a->pCreateInfo->subpassCount : 0);
    }
    default:
        return LAP_OK;
    }
}

static uint32_t subpasses_of(void *user, uint64_t render_pass)
{
    const struct cut_draw *draw = user;
    return (uint32_t)(uintptr_t)lap_map_get(&draw->subpasses, render_pass);
}

/* ---- new packets ---- */

enum lap_status cut_draw_allocate(struct cut_draw *draw, unsigned place)
{
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = gen_VkCommandPool(draw->buffers[place].pool),
                                        .level = draw->buffers[place].level,
                                        .commandBufferCount = 1};
    VkCommandBuffer commands = gen_VkCommandBuffer(draw->buffers[place].number);

    if (!draw->buffers[place].pool)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "nothing allocates its command buffer");
    return recode_packet(
        &draw->recode, GEN_vkAllocateCommandBuffers,
        &(struct gen_args_vkAllocateCommandBuffers){.device = gen_VkDevice(draw->buffers[place].device),
                                                    .pAllocateInfo = &info,
                                                    .pCommandBuffers = &commands,
                                                    .result = VK_SUCCESS});
}

/* The execution of the secondary command buffers before the one that is cut, and of that one. */
static enum lap_status put_execution(struct cut_draw *draw, unsigned place,
                                     const struct gen_args_vkCmdExecuteCommands *args)
{
    struct gen_args_vkCmdExecuteCommands fewer = {.commandBufferCount = draw->at->places[place].executed + 1,
                                                  .pCommandBuffers = args->pCommandBuffers};
    VkCommandBuffer *buffers =
        (VkCommandBuffer *)(uintptr_t)args->pCommandBuffers; /* the decoder's memory, so we may change it */

    buffers[fewer.commandBufferCount - 1] = gen_VkCommandBuffer(draw->buffers[place + 1].number);
    return recode_command(&draw->recode, GEN_vkCmdExecuteCommands, &fewer);
}

bool cut_draw_replaces(const struct cut_draw *draw, unsigned place)
{
    return place + 1 < draw->at->place_count || draw->at->places[place].id == GEN_vkEndCommandBuffer;
}

enum lap_status cut_draw_end(struct cut_draw *draw, unsigned place, const void *args, uint32_t *out_commands)
{
    enum lap_status status = LAP_OK;

    *out_commands = 0;
    lap_enc_reset(&draw->recode.enc);
    if (place + 1 < draw->at->place_count) {
        status = put_execution(draw, place, args);
        ++*out_commands;
        scopes_resume(&draw->scopes); /* the next place has resumed it */
    }
    if (status == LAP_OK && draw->at->places[place].id == GEN_vkEndCommandBuffer)
        status = scopes_end_suspended(&draw->scopes, &draw->recode, out_commands);
    else if (status == LAP_OK)
        status = scopes_end(&draw->scopes, subpasses_of, draw, &draw->recode, out_commands);
    ++*out_commands;
    return status == LAP_OK ? recode_command(&draw->recode, GEN_vkEndCommandBuffer,
                                             &(struct gen_args_vkEndCommandBuffer){.result = VK_SUCCESS})
                            : status;
}

/* ---- the submit ---- */

enum lap_status cut_draw_submit(struct cut_draw *draw, uint32_t command, void *args)
{
    VkCommandBuffer commands = gen_VkCommandBuffer(draw->buffers[0].number);

    twins_shorten(command, args, draw->at->batch, draw->at->buffer);
    if (command == GEN_vkQueueSubmit) {
        const struct gen_args_vkQueueSubmit *a = args;
        const VkSubmitInfo *info = &a->pSubmits[draw->at->batch];
        ((VkCommandBuffer *)(uintptr_t)info->pCommandBuffers)[draw->at->buffer] = commands;
    } else {
        const struct gen_args_vkQueueSubmit2 *a = args;
        const VkSubmitInfo2 *info = &a->pSubmits[draw->at->batch];
        ((VkCommandBufferSubmitInfo *)(uintptr_t)info->pCommandBufferInfos)[draw->at->buffer].commandBuffer = commands;
    }
    return recode_packet(&draw->recode, command, args);
}
