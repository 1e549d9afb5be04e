/* SPDX-License-Identifier: MIT */
#include "inspector/edit/after.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_decode.h"
#include "gen_encode.h"
#include "gen_encode_block.h"
#include "gen_renamed.h"
#include "inspector/position/find.h"
#include "inspector/position/held.h"
#include "inspector/question/pass_targets.h"
#include "inspector/state/bound_walk.h"
#include "inspector/state/image_layouts.h"
#include "inspector/twin/recordings.h"
#include "inspector/twin/scopes.h"
#include "inspector/twin/twins.h"
#include "vulkan/pass.h"
#include "vulkan/texel/texels.h"

struct after {
    const struct lap_reader *trace;
    const struct after_wish *wish;
    struct position_found found;
    struct lap_arena arena;
    /* What the walk found at the command. */
    struct position position; /* count 0: nothing */
    uint32_t command;
    bool is_place; /* the last draw or command of it is wanted */
    struct pass_targets targets;
    /* Of the trace up to the submit. */
    struct image_infos images;
    struct recordings recordings;
    struct recording *at[POSITION_MOST_PLACES]; /* [place] */
    uint64_t pass_ticket, last_pass;            /* where the render pass is made; the largest number of one */
    uint64_t queue;
    struct image_layouts *layouts; /* with an image */
    /* The edits. */
    struct lap_edits *edits;
    struct twins twins;
    struct scopes scopes;
    uint64_t twin_pass; /* 0: the render pass stores all */
};

/* ---- the command ---- */

static enum lap_status keep(struct after *a, const struct bound_visit *visit)
{
    lap_arena_reset(&a->arena);
    a->position = visit->position;
    a->command = visit->command;
    return pass_targets_find(visit, &a->arena, &a->targets);
}

static enum lap_status visit(void *user, const struct bound_visit *visit)
{
    struct after *a = user;

    return a->is_place && a->wish->kind == AFTER_ATTACHMENTS && visit->work != POSITION_DRAW ? LAP_OK : keep(a, visit);
}

/* at: not of a packet. */
static enum lap_status find_command(struct after *a, const struct position *at)
{
    const struct bound_walk_options options = {.at = at};
    char text[POSITION_TEXT_BYTES];
    enum lap_status status;

    a->is_place = !position_is_command(at);
    status = bound_walk(a->trace, &options, visit, a);
    if (status != LAP_OK)
        return status;
    if (!a->position.count)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s has no %s", position_text(at, text),
                        a->wish->kind ? "command" : "draw");
    status = position_find(a->trace, &a->position, &a->found);
    if (status != LAP_OK)
        return status;
    position_text(&a->position, text);
    if (a->targets.kind == BOUND_NO_PASS && a->wish->kind == AFTER_ATTACHMENTS)
        return lap_fail(LAP_ERROR_UNSUPPORTED,
                        "%s, %s, is in no render pass: an image is wanted, like --image VkImage:7", text,
                        gen_command_names[a->command]);
    return LAP_OK;
}

/* ---- the trace ---- */

static void see_pass(struct after *a, const struct trace_call *call, const VkRenderPass *pass)
{
    uint64_t number = pass ? gen_u64_VkRenderPass(*pass) : 0;

    a->last_pass = number > a->last_pass ? number : a->last_pass;
    if (number && number == a->targets.render_pass)
        a->pass_ticket = call->packet->ticket;
}

static enum lap_status see_submit(struct after *a, const struct trace_call *call)
{
    if (call->packet->ticket == a->found.ticket)
        a->queue = position_submit_queue(call);
    return LAP_OK;
}

static enum lap_status see(void *state, const struct trace_call *call)
{
    struct after *a = state;
    enum lap_status status;

    switch (call->command) {
    case GEN_vkCreateImage:
    case GEN_vkCreateSwapchainKHR:
    case GEN_vkGetSwapchainImagesKHR:
        return image_infos_see(&a->images, call);
    case GEN_vkCreateRenderPass:
        see_pass(a, call, ((const struct gen_args_vkCreateRenderPass *)call->args)->pRenderPass);
        return LAP_OK;
    case GEN_vkCreateRenderPass2:
        see_pass(a, call, ((const struct gen_args_vkCreateRenderPass2 *)call->args)->pRenderPass);
        return LAP_OK;
    case GEN_lapilliBlock:
        status = recordings_visit(&a->recordings, call);
        for (unsigned i = 0; status == LAP_OK && i < a->found.place_count; i++) {
            struct recording *held = recordings_held(&a->recordings, a->found.places[i].command_buffer);
            if (held && held->ticket == a->found.places[i].recorded)
                a->at[i] = held;
        }
        return status;
    case GEN_vkQueueSubmit:
    case GEN_vkQueueSubmit2:
        return see_submit(a, call);
    default:
        return recordings_visit(&a->recordings, call);
    }
}

static enum lap_status see_in_block(void *state, const struct trace_call *call)
{
    return recordings_visit_in_block(&((struct after *)state)->recordings, call);
}

static enum lap_status read_trace(struct after *a)
{
    static const uint16_t commands[] = {RECORDINGS_COMMANDS,     IMAGE_INFOS_COMMANDS, GEN_vkCreateRenderPass,
                                        GEN_vkCreateRenderPass2, GEN_vkQueueSubmit,    GEN_vkQueueSubmit2,
                                        GEN_COMMAND_NONE};
    struct trace_visitor visitors[2] = {{.commands = commands,
                                         .visit = see,
                                         .visit_in_block = see_in_block,
                                         .state = a,
                                         .last_ticket = a->found.ticket}};
    enum lap_status status = recordings_init(&a->recordings, a->trace);

    if (status == LAP_OK && a->wish->kind == AFTER_IMAGE && !(a->layouts = image_layouts_create()))
        status = lap_no_memory("layouts of images");
    if (status == LAP_OK && a->layouts) {
        image_layouts_visitor(a->layouts, a->found.ticket, &visitors[1]);
        image_layouts_end_in(a->layouts, &a->found);
    }
    if (status == LAP_OK)
        status = trace_pass_run(a->trace, 0, visitors, a->layouts ? 2 : 1);
    for (unsigned i = 0; status == LAP_OK && i < a->found.place_count; i++)
        if (!a->at[i])
            status = lap_fail(LAP_ERROR_UNSUPPORTED, "its command buffer can't be recorded differently");
    return status;
}

/* ---- attachments ---- */

static enum lap_status list_attachments(struct after *a, struct picture_list *targets, struct after_result *result)
{
    char text[POSITION_TEXT_BYTES];
    enum lap_status status = pass_targets_list(&a->targets, &a->images, a->queue, targets, result->left_out);

    if (status != LAP_OK || targets->count)
        return status;
    return lap_fail(LAP_ERROR_UNSUPPORTED, "%s: %s", position_text(&a->position, text),
                    result->left_out[0] ? result->left_out : "its render pass has no attachments");
}

/* ---- the image ---- */

static enum lap_status choose_aspect(const struct after *a, const VkImageCreateInfo *info, VkImageAspectFlags *out)
{
    static const VkImageAspectFlagBits all[] = {VK_IMAGE_ASPECT_COLOR_BIT,   VK_IMAGE_ASPECT_DEPTH_BIT,
                                                VK_IMAGE_ASPECT_STENCIL_BIT, VK_IMAGE_ASPECT_PLANE_0_BIT,
                                                VK_IMAGE_ASPECT_PLANE_1_BIT, VK_IMAGE_ASPECT_PLANE_2_BIT};
    struct lap_texel_block block;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *out = all[i];
        if ((!a->wish->aspect || a->wish->aspect == *out) && lap_texels_block(info->format, *out, &block))
            return LAP_OK;
    }
    return a->wish->aspect
               ? lap_fail(LAP_ERROR_ARGUMENT, "VkImage:%" PRIu64 " has no such aspect", a->wish->index)
               : lap_fail(LAP_ERROR_UNSUPPORTED, "VkImage:%" PRIu64 " has a format that is not known", a->wish->index);
}

static enum lap_status check_image(const struct after *a, const VkImageCreateInfo *info)
{
    const struct after_wish *image = a->wish;
    char text[POSITION_TEXT_BYTES];
    uint32_t layers;

    if (!info)
        return lap_fail(LAP_ERROR_ARGUMENT, "up to %s there is no VkImage:%" PRIu64, position_text(&a->position, text),
                        image->index);
    layers = info->imageType == VK_IMAGE_TYPE_3D && image->level < 32 ? info->extent.depth >> image->level
                                                                      : info->arrayLayers;
    if (image->level >= info->mipLevels || image->layer >= (layers ? layers : 1))
        return lap_fail(LAP_ERROR_ARGUMENT, "VkImage:%" PRIu64 " has %u levels and %u %s there", image->index,
                        info->mipLevels, layers ? layers : 1,
                        info->imageType == VK_IMAGE_TYPE_3D ? "slices" : "layers");
    return LAP_OK;
}

/* Where it is an attachment of the render pass, which ends behind the command. False: it is none. */
static bool layout_behind_pass(const struct after *a, VkImageAspectFlags aspect, VkImageLayout *out)
{
    const bool is_stencil = aspect == VK_IMAGE_ASPECT_STENCIL_BIT;

    for (size_t i = 0; i < a->targets.attachment_count && a->targets.kind != BOUND_NO_PASS; i++) {
        const struct attachment *one = &a->targets.attachments[i];
        const VkImageSubresourceRange *range = &one->range;
        if (one->image != a->wish->index || a->wish->level != range->baseMipLevel ||
            a->wish->layer < range->baseArrayLayer ||
            (range->layerCount != VK_REMAINING_ARRAY_LAYERS &&
             a->wish->layer - range->baseArrayLayer >= range->layerCount))
            continue;
        *out = is_stencil ? one->stencil_layout : one->layout;
        if (lap_texels_aspects(one->format) == (VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT) &&
            (one->layout != one->stencil_layout || lap_pass_layout_is_of_one_aspect(one->layout)))
            *out = VK_IMAGE_LAYOUT_UNDEFINED;
        return true;
    }
    return false;
}

static enum lap_status find_layout(struct after *a, VkImageAspectFlags aspect, struct content *content)
{
    const char *obstacle = "is not followed";
    const struct image_layout *layout = image_layouts_of(a->layouts, a->wish->index, &obstacle);
    const uint32_t layer = layout && a->wish->layer < layout->layers ? a->wish->layer : 0;
    struct image_subresource one;

    if (!layout)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "VkImage:%" PRIu64 ": %s", a->wish->index, obstacle);
    one = image_layout_of(layout, aspect, a->wish->level, layer);
    content->layout = image_layout_of_all(layout, a->wish->level, layer);
    content->queue = image_layouts_queue(a->layouts, layout);
    if (layout_behind_pass(a, aspect, &content->layout)) {
        one.layout = VK_IMAGE_LAYOUT_GENERAL;
        content->queue = a->queue;
    }
    if (one.between)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "VkImage:%" PRIu64 " is between two queue families there",
                        a->wish->index);
    if (content->layout == VK_IMAGE_LAYOUT_UNDEFINED && one.layout != VK_IMAGE_LAYOUT_UNDEFINED)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "VkImage:%" PRIu64 " has a layout for depth and another one for stencil",
                        a->wish->index);
    return LAP_OK;
}

static enum lap_status list_image(struct after *a, struct picture_list *targets)
{
    const VkImageCreateInfo *info = image_info_of(&a->images, a->wish->index);
    struct content content = {
        .kind = CONTENT_IMAGE, .index = a->wish->index, .level = a->wish->level, .layer = a->wish->layer};
    char name[64], level[20] = "", layer[20] = "";
    enum lap_status status = check_image(a, info);

    if (status == LAP_OK)
        status = choose_aspect(a, info, &content.aspect);
    if (status == LAP_OK)
        status = find_layout(a, content.aspect, &content);
    if (status != LAP_OK)
        return status;
    if (content.level)
        snprintf(level, sizeof level, "-mip%u", content.level);
    if (content.layer)
        snprintf(layer, sizeof layer, "-%s%u", info->imageType == VK_IMAGE_TYPE_3D ? "slice" : "layer", content.layer);
    snprintf(name, sizeof name, "image%" PRIu64 "%s%s", content.index, level, layer);
    return picture_list_add(targets, name, &content);
}

/* ---- the render pass ---- */

static bool store(VkAttachmentStoreOp *op)
{
    bool changes = *op != VK_ATTACHMENT_STORE_OP_STORE;

    *op = VK_ATTACHMENT_STORE_OP_STORE;
    return changes;
}

/* Encodes the render pass with other operations. False: it stores all. */
static bool encode_pass(struct after *a, const void *args)
{
    struct recode *recode = &a->twins.recode;
    VkRenderPass pass = gen_VkRenderPass(a->last_pass + 1);
    bool changes = false;

    lap_enc_reset(&recode->enc);
    recode_know_all(recode, a->twins.packet.command, args);
    recode_know(recode, GEN_HANDLE_VkRenderPass, a->last_pass + 1);
    if (a->twins.packet.command == GEN_vkCreateRenderPass) {
        const struct gen_args_vkCreateRenderPass *create = args;
        VkAttachmentDescription *attachments = (VkAttachmentDescription *)(uintptr_t)create->pCreateInfo->pAttachments;
        for (uint32_t i = 0; attachments && i < create->pCreateInfo->attachmentCount; i++) {
            changes |= store(&attachments[i].storeOp);
            changes |= store(&attachments[i].stencilStoreOp);
        }
        gen_encode_vkCreateRenderPass(&recode->enc, create->device, create->pCreateInfo, NULL, &pass, VK_SUCCESS);
    } else {
        const struct gen_args_vkCreateRenderPass2 *create = args;
        VkAttachmentDescription2 *attachments =
            (VkAttachmentDescription2 *)(uintptr_t)create->pCreateInfo->pAttachments;
        for (uint32_t i = 0; attachments && i < create->pCreateInfo->attachmentCount; i++) {
            changes |= store(&attachments[i].storeOp);
            changes |= store(&attachments[i].stencilStoreOp);
        }
        gen_encode_vkCreateRenderPass2(&recode->enc, create->device, create->pCreateInfo, NULL, &pass, VK_SUCCESS);
    }
    return changes;
}

/* The twin stands where the command buffer is that begins the render pass. */
static enum lap_status put_pass(struct after *a)
{
    enum lap_status status;

    if (a->targets.kind != BOUND_RENDER_PASS)
        return LAP_OK;
    if (!a->pass_ticket)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "nothing creates its render pass");
    status = position_packet_read(&a->twins.packet, a->pass_ticket);
    if (status != LAP_OK || !encode_pass(a, a->twins.packet.args.bytes))
        return status;
    a->twin_pass = a->last_pass + 1;
    return twins_add_packet(&a->twins, a->at[a->targets.begin_place]->ticket, LAP_EDIT_BEHIND, a->twins.packet.command);
}

static void store_rendering(const VkRenderingAttachmentInfo *attachment)
{
    if (attachment)
        ((VkRenderingAttachmentInfo *)(uintptr_t)attachment)->storeOp = VK_ATTACHMENT_STORE_OP_STORE;
}

/* Changes the decoded command that begins the render pass, and encodes it. The decoder's memory, so we may. */
static enum lap_status encode_begin(struct after *a, uint32_t command, const void *args)
{
    struct recode *recode = &a->twins.recode;
    VkRenderPass pass = gen_VkRenderPass(a->twin_pass ? a->twin_pass : a->targets.render_pass);
    uint32_t number = 0;
    enum lap_status status = recode_number(recode, command, &number);

    lap_enc_reset(&recode->enc);
    recode_know_all(recode, command, args);
    recode_know(recode, GEN_HANDLE_VkRenderPass, gen_u64_VkRenderPass(pass));
    if (status != LAP_OK || !lap_enc_reserve(&recode->enc, LAP_WIRE_MAX_VARINT))
        return status == LAP_OK ? lap_no_memory("the attachments behind a command") : status;
    lap_put_u64(&recode->enc, number);
    switch (command) {
    case GEN_vkCmdBeginRenderPass: {
        const struct gen_args_vkCmdBeginRenderPass *begin = args;
        ((VkRenderPassBeginInfo *)(uintptr_t)begin->pRenderPassBegin)->renderPass = pass;
        gen_encode_vkCmdBeginRenderPass(&recode->enc, begin->pRenderPassBegin, begin->contents);
        return LAP_OK;
    }
    case GEN_vkCmdBeginRenderPass2: {
        const struct gen_args_vkCmdBeginRenderPass2 *begin = args;
        ((VkRenderPassBeginInfo *)(uintptr_t)begin->pRenderPassBegin)->renderPass = pass;
        gen_encode_vkCmdBeginRenderPass2(&recode->enc, begin->pRenderPassBegin, begin->pSubpassBeginInfo);
        return LAP_OK;
    }
    case GEN_vkCmdBeginRendering: {
        const struct gen_args_vkCmdBeginRendering *begin = args;
        VkRenderingInfo *info = (VkRenderingInfo *)(uintptr_t)begin->pRenderingInfo;
        for (uint32_t i = 0; info->pColorAttachments && i < info->colorAttachmentCount; i++)
            store_rendering(&info->pColorAttachments[i]);
        store_rendering(info->pDepthAttachment);
        store_rendering(info->pStencilAttachment);
        gen_encode_vkCmdBeginRendering(&recode->enc, info);
        return LAP_OK;
    }
    default:
        return lap_fail(LAP_ERROR_UNSUPPORTED, "%s begins its render pass, which can't be changed yet",
                        gen_command_names[command]);
    }
}

/* ---- command buffers ---- */

static uint32_t subpasses_of(void *user, uint64_t render_pass)
{
    return ((const struct after *)user)->targets.subpasses;
}

/* Adds a command up to the last one of a place, or what stands for it. executed: what the place's recording executes,
 * of which *at were executed. inner: the twin that the last command executes last; 0: none. */
static enum lap_status add_command(struct after *a, unsigned place, uint32_t number, uint32_t command,
                                   const struct lap_args *args, const uint8_t *from, uint64_t *executed, size_t *at,
                                   uint64_t inner)
{
    const uint8_t *end = a->twins.blocks.block.dec.p;
    const struct gen_args_vkCmdExecuteCommands *execution = (const void *)args->bytes;
    enum lap_status status;

    if (a->targets.kind != BOUND_NO_PASS && place == a->targets.begin_place && number == a->targets.begin_command) {
        status = encode_begin(a, command, args->bytes);
        if (status == LAP_OK)
            status = twins_add_encoded(&a->twins, 1);
        return status == LAP_OK ? scopes_see(&a->scopes, &a->twins.recode, command, args->bytes) : status;
    }
    if (command == GEN_vkCmdExecuteCommands && execution->pCommandBuffers) {
        uint32_t count = execution->commandBufferCount;
        uint64_t *buffers = executed + *at;
        if (inner) {
            count = a->found.places[place].executed + 1;
            buffers[count - 1] = inner;
        }
        *at += count;
        return twins_add_execution(&a->twins, count, buffers);
    }
    status = scopes_see(&a->scopes, &a->twins.recode, command, args->bytes);
    return status == LAP_OK ? twins_add(&a->twins, from, (size_t)(end - from), 1) : status;
}

/* Ends all that is open. */
static enum lap_status add_end(struct after *a)
{
    struct lap_enc *enc = &a->twins.recode.enc;
    uint32_t commands = 0, number;
    enum lap_status status;

    lap_enc_reset(enc);
    status = scopes_end(&a->scopes, subpasses_of, a, &a->twins.recode, &commands);
    if (status == LAP_OK)
        status = recode_number(&a->twins.recode, GEN_vkEndCommandBuffer, &number);
    if (status != LAP_OK)
        return status;
    if (lap_enc_reserve(enc, LAP_WIRE_MAX_VARINT))
        lap_put_u64(enc, number);
    gen_encode_vkEndCommandBuffer(enc);
    return twins_add_encoded(&a->twins, commands + 1);
}

static enum lap_status add_commands(struct after *a, unsigned place, uint64_t *executed, uint64_t inner)
{
    struct position_blocks *blocks = &a->twins.blocks;
    const uint32_t last = a->found.places[place].command;
    struct lap_args args;
    uint32_t command = 0;
    size_t at = 0;
    enum lap_status status = position_blocks_begin(blocks, a->at[place]->block->blob, 0);

    twins_begin(&a->twins);
    scopes_finish(&a->scopes);
    for (uint32_t number = 0; number <= last && status == LAP_OK; number++) {
        const uint8_t *from = blocks->block.dec.p;
        status = position_blocks_next(blocks, &command, &args);
        if (status == LAP_OK && command != GEN_vkEndCommandBuffer)
            status = add_command(a, place, number, command, &args, from, executed, &at, number == last ? inner : 0);
    }
    return status == LAP_OK ? add_end(a) : status;
}

/* The twin of a place, which executes that of the next one. */
static enum lap_status put_twin(struct after *a, unsigned place, uint64_t inner, uint64_t *out)
{
    uint64_t *executed = NULL;
    enum lap_status status = twins_copy_executed(&a->twins, a->at[place], &executed);

    if (status == LAP_OK)
        status = add_commands(a, place, executed, inner);
    free(executed);
    return status == LAP_OK ? twins_put(&a->twins, a->at[place], out) : status;
}

static enum lap_status add_edits(struct after *a)
{
    struct twins_use use = {.ticket = a->found.ticket, .batch = a->found.batch, .buffer = a->found.buffer};
    enum lap_status status = twins_init(&a->twins, a->trace, &a->recordings, a->edits);

    if (status == LAP_OK)
        status = put_pass(a);
    for (unsigned i = a->found.place_count; i-- > 0 && status == LAP_OK;)
        status = put_twin(a, i, use.number, &use.number);
    if (status == LAP_OK)
        status = twins_submit(&a->twins, &use, 1, true);
    if (status == LAP_OK)
        lap_edits_end_at(a->edits, a->found.ticket);
    return status;
}

/* ---- the whole ---- */

enum lap_status edit_after(const struct lap_reader *trace, const struct position *at, const struct after_wish *wish,
                           struct lap_edits *edits, struct picture_list *targets, struct after_result *result)
{
    struct after a = {.trace = trace, .wish = wish, .edits = edits};
    enum lap_status status = position_find(trace, at, &a.found);

    result->left_out[0] = 0;
    lap_arena_init(&a.arena, 0);
    image_infos_init(&a.images);
    if (status == LAP_OK && !a.found.is_submit && at->of_packet)
        status = lap_fail(LAP_ERROR_ARGUMENT, "#%" PRIu64 " is no submit, and no command buffer that is submitted",
                          at->numbers[0]);
    if (status == LAP_OK) {
        const struct position there = a.found.position;
        status = find_command(&a, &there);
    }
    if (status == LAP_OK)
        status = read_trace(&a);
    if (status == LAP_OK)
        status = wish->kind == AFTER_IMAGE         ? list_image(&a, targets)
                 : wish->kind == AFTER_ATTACHMENTS ? list_attachments(&a, targets, result)
                                                   : LAP_OK;
    if (status == LAP_OK)
        status = add_edits(&a);
    result->position = a.position;
    result->in_early_subpass = a.targets.kind == BOUND_RENDER_PASS && a.targets.subpass + 1 < a.targets.subpasses;
    twins_finish(&a.twins);
    scopes_finish(&a.scopes);
    recordings_finish(&a.recordings);
    image_infos_finish(&a.images);
    image_layouts_destroy(a.layouts);
    lap_arena_finish(&a.arena);
    return status;
}
