/* SPDX-License-Identifier: MIT */
/* A render pass with a copy inside ends there, and begins again. */
#include <stdlib.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"
#include "inspector/twin/weave_internal.h"
#include "vulkan/pass.h"

static enum lap_status keep(struct weave_packed *bytes, const uint8_t *data, size_t count)
{
    if (!lap_array_grow(&bytes->data, 1, &bytes->capacity, bytes->count + count + 1))
        return lap_no_memory("command buffers with more in them");
    memcpy(bytes->data + bytes->count, data, count);
    bytes->count += count;
    bytes->commands++;
    return LAP_OK;
}

static enum lap_status add(struct weave *w, const struct weave_packed *bytes)
{
    return twins_add(&w->twins, bytes->data, bytes->count, bytes->commands);
}

static enum lap_status encode_kept(struct weave *w, struct weave_packed *out, uint32_t command, const void *args)
{
    enum lap_status status;

    lap_enc_reset(&w->twins.recode.enc);
    status = recode_command(&w->twins.recode, command, args);
    out->count = out->commands = 0;
    return status == LAP_OK
               ? keep(out, w->twins.recode.enc.base, (size_t)(w->twins.recode.enc.p - w->twins.recode.enc.base))
               : status;
}

/* ---- what is open in a render pass ---- */

static bool begins_with(uint32_t command, const char *name)
{
    return strncmp(gen_command_names[command], name, strlen(name)) == 0;
}

static bool is_query(uint32_t command)
{
    return command == GEN_vkCmdBeginQuery || command == GEN_vkCmdBeginQueryIndexedEXT;
}

static bool is_condition(uint32_t command)
{
    return begins_with(command, "vkCmdBeginConditionalRendering");
}

static void end_begun(struct weave *w, bool (*is_it)(uint32_t command), uint64_t pool, uint32_t query, uint32_t index)
{
    for (size_t i = w->begun_count; i-- > 0;) {
        const struct weave_begun *begun = &w->begun[i];
        if (!is_it(begun->command) || begun->pool != pool || begun->query != query || begun->index != index)
            continue;
        free(begun->bytes.data);
        memmove(&w->begun[i], &w->begun[i + 1], (--w->begun_count - i) * sizeof *w->begun);
        return;
    }
}

static enum lap_status see_begin(struct weave *w, uint32_t command, const void *args, const uint8_t *from, size_t bytes)
{
    struct weave_begun begun = {.command = command, .at = w->twins.byte_count};

    if (command == GEN_vkCmdBeginQuery) {
        const struct gen_args_vkCmdBeginQuery *a = args;
        begun.pool = gen_u64_VkQueryPool(a->queryPool);
        begun.query = a->query;
    } else if (command == GEN_vkCmdBeginQueryIndexedEXT) {
        const struct gen_args_vkCmdBeginQueryIndexedEXT *a = args;
        begun.pool = gen_u64_VkQueryPool(a->queryPool);
        begun.query = a->query;
        begun.index = a->index;
    } else if (!is_condition(command)) {
        w->other = command;
        return LAP_OK;
    }
    if (!lap_array_grow(&w->begun, sizeof *w->begun, &w->begun_capacity, w->begun_count + 1))
        return lap_no_memory("command buffers with more in them");
    w->begun[w->begun_count++] = begun;
    return keep(&w->begun[w->begun_count - 1].bytes, from, bytes);
}

static void see_end(struct weave *w, uint32_t command, const void *args)
{
    if (command == GEN_vkCmdEndQuery) {
        const struct gen_args_vkCmdEndQuery *a = args;
        end_begun(w, is_query, gen_u64_VkQueryPool(a->queryPool), a->query, 0);
    } else if (command == GEN_vkCmdEndQueryIndexedEXT) {
        const struct gen_args_vkCmdEndQueryIndexedEXT *a = args;
        end_begun(w, is_query, gen_u64_VkQueryPool(a->queryPool), a->query, a->index);
    } else if (begins_with(command, "vkCmdEndConditionalRendering")) {
        end_begun(w, is_condition, 0, 0, 0);
    } else if (w->other && strcmp(gen_command_names[command] + 8, gen_command_names[w->other] + 10) == 0) {
        w->other = 0; /* vkCmdEndX of vkCmdBeginX */
    }
}

enum lap_status weave_see_command(struct weave *w, uint32_t command, const void *args, const uint8_t *from,
                                  size_t bytes)
{
    if (!w->pass || command == GEN_vkCmdBeginDebugUtilsLabelEXT || command == GEN_vkCmdEndDebugUtilsLabelEXT)
        return LAP_OK;
#ifdef VK_KHR_dynamic_rendering_local_read
    if (command == GEN_vkCmdSetRenderingAttachmentLocationsKHR ||
        command == GEN_vkCmdSetRenderingInputAttachmentIndicesKHR)
        return keep(&w->again, from, bytes);
#endif
    if (begins_with(command, "vkCmdBegin"))
        return see_begin(w, command, args, from, bytes);
    if (begins_with(command, "vkCmdEnd"))
        see_end(w, command, args);
    return LAP_OK;
}

/* Takes the command that begins a query out of the twin: a query must end in the piece where it begins. */
static void take_out(struct weave *w, struct weave_begun *query)
{
    struct twins *t = &w->twins;
    const size_t behind = query->at + query->bytes.count;

    memmove(t->bytes + query->at, t->bytes + behind, t->byte_count - behind);
    t->byte_count -= query->bytes.count;
    t->commands--;
    for (size_t i = 0; i < w->begun_count; i++)
        if (w->begun[i].at > query->at)
            w->begun[i].at -= query->bytes.count;
}

/* Ends what is open in the render pass, the last one first. */
static enum lap_status end_open(struct weave *w)
{
    static const struct lap_args none;
    enum lap_status status = LAP_OK;

    if (w->other)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "its render pass can't be split between %s and its end",
                        gen_command_names[w->other]);
    for (size_t i = w->begun_count; i-- > 0 && status == LAP_OK;) {
        struct weave_begun *begun = &w->begun[i];
        if (is_condition(begun->command))
            status = weave_put(w, GEN_vkCmdEndConditionalRenderingEXT, &none);
        else
            take_out(w, begun);
    }
    return status;
}

static enum lap_status begin_open(struct weave *w)
{
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < w->begun_count && status == LAP_OK; i++) {
        struct weave_begun *begun = &w->begun[i];
        w->result->queries += is_query(begun->command);
        begun->at = w->twins.byte_count;
        status = add(w, &begun->bytes);
    }
    return status;
}

/* ---- render passes ---- */

void weave_forget_pass(struct weave *w)
{
    for (size_t i = 0; i < w->begun_count; i++)
        free(w->begun[i].bytes.data);
    w->begun_count = 0;
    w->again.count = w->again.commands = 0;
    w->other = 0;
    w->pass = NULL;
}

/* A command that begins a render pass in which command buffers are not executed any more. */
static enum lap_status change_begin(struct weave *w, uint32_t command, void *args, enum piece piece)
{
    struct gen_args_vkCmdBeginRenderPass *one = args;
    struct gen_args_vkCmdBeginRenderPass2 *two = args;
    VkRenderPassBeginInfo *info =
        (VkRenderPassBeginInfo *)(uintptr_t)(command == GEN_vkCmdBeginRenderPass ? one->pRenderPassBegin
                                                                                 : two->pRenderPassBegin);
    const struct weave_pass *pass = w->pass ? weave_pass_of(w, w->pass->render_pass) : NULL;

    if (command == GEN_vkCmdBeginRenderPass)
        one->contents = VK_SUBPASS_CONTENTS_INLINE;
    else
        ((VkSubpassBeginInfo *)(uintptr_t)two->pSubpassBeginInfo)->contents = VK_SUBPASS_CONTENTS_INLINE;
    if (w->pass && !pass)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "its render pass is another one than was found before");
    if (pass)
        info->renderPass = gen_VkRenderPass(pass->twins[piece]);
    return LAP_OK;
}

static enum lap_status begin_pass(struct weave *w, uint32_t command, void *args)
{
    enum lap_status status = change_begin(w, command, args, PIECE_FIRST);

    if (status == LAP_OK)
        status = weave_put(w, command, args);
    if (status != LAP_OK || !w->pass)
        return status;
    status = change_begin(w, command, args, PIECE_MIDDLE);
    if (status == LAP_OK)
        status = encode_kept(w, &w->resume, command, args);
    if (status == LAP_OK)
        status = change_begin(w, command, args, PIECE_LAST);
    return status == LAP_OK ? encode_kept(w, &w->resume_last, command, args) : status;
}

/* Rendering that resumes does so in its first piece, and suspends in its last one. */
static enum lap_status begin_rendering(struct weave *w, uint32_t command, void *args)
{
    const VkRenderingFlags flags = lap_pass_rendering_info(command, args)->flags &
                                   ~(VkRenderingFlags)VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT;
    VkRenderingInfo *info = (VkRenderingInfo *)(uintptr_t)lap_pass_rendering_info(command, args);
    enum lap_status status;

    info->flags = flags;
    w->suspends = flags & VK_RENDERING_SUSPENDING_BIT;
    if (!w->pass)
        return weave_put(w, command, args);
#ifdef VK_EXT_custom_resolve
    if (flags & VK_RENDERING_CUSTOM_RESOLVE_BIT_EXT)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "its render pass ends with a resolve by shaders, so it can't be split");
#endif
    info->flags = flags & ~(VkRenderingFlags)VK_RENDERING_SUSPENDING_BIT;
    rendering_piece(info, false);
    status = weave_put(w, command, args);
    rendering_piece(info, true);
    info->flags &= ~(VkRenderingFlags)VK_RENDERING_RESUMING_BIT;
    if (status == LAP_OK)
        status = encode_kept(w, &w->resume, command, args);
    info->flags |= flags & VK_RENDERING_SUSPENDING_BIT;
    return status == LAP_OK ? encode_kept(w, &w->resume_last, command, args) : status;
}

enum lap_status weave_begin_pass(struct weave *w, uint32_t command, struct lap_args *args)
{
    weave_forget_pass(w);
    w->pass = weave_is_in_pass(w, w->next, &w->now) ? &w->plan->stops[w->next] : NULL;
    w->pass_command = command;
    return lap_pass_step_of(command) == LAP_PASS_BEGIN ? begin_pass(w, command, args->bytes)
                                                       : begin_rendering(w, command, args->bytes);
}

static enum lap_status put_end(struct weave *w)
{
    static const VkSubpassEndInfo end = {.sType = VK_STRUCTURE_TYPE_SUBPASS_END_INFO};
    static const struct gen_args_vkCmdEndRenderPass2 second = {.pSubpassEndInfo = &end};
    static const struct lap_args none;

    return w->pass_command == GEN_vkCmdBeginRenderPass    ? weave_put(w, GEN_vkCmdEndRenderPass, &none)
           : w->pass_command == GEN_vkCmdBeginRenderPass2 ? weave_put(w, GEN_vkCmdEndRenderPass2, &second)
                                                          : weave_put(w, GEN_vkCmdEndRendering, &none);
}

enum lap_status weave_end_piece(struct weave *w)
{
    enum lap_status status = end_open(w);

    return status == LAP_OK ? put_end(w) : status;
}

enum lap_status weave_begin_piece(struct weave *w, bool is_last)
{
    enum lap_status status = add(w, is_last ? &w->resume_last : &w->resume);

    if (status == LAP_OK)
        status = add(w, &w->again);
    return status == LAP_OK ? begin_open(w) : status;
}
