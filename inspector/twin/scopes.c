/* SPDX-License-Identifier: MIT */
#include "inspector/twin/scopes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "vulkan/block.h"
#include "vulkan/pass.h"

void scopes_finish(struct scopes *scopes)
{
    for (size_t i = 0; i < scopes->count; i++)
        free(scopes->open[i].resume);
    free(scopes->open);
    *scopes = (struct scopes){.open = NULL};
}

/* Takes scope.resume in any case. */
static enum lap_status push(struct scopes *scopes, struct scope scope)
{
    if (!lap_array_grow(&scopes->open, sizeof *scopes->open, &scopes->capacity, scopes->count + 1)) {
        free(scope.resume);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    scopes->open[scopes->count++] = scope;
    return LAP_OK;
}

/* The one of its kind that was begun last; of a query the one with these numbers. NULL: it was begun elsewhere. */
static struct scope *last_of(struct scopes *scopes, struct scope like)
{
    bool is_query = like.kind == SCOPE_QUERY || like.kind == SCOPE_INDEXED_QUERY;

    for (size_t i = scopes->count; i-- > 0;) {
        struct scope *scope = &scopes->open[i];
        if (scope->kind == like.kind &&
            (!is_query || (scope->object == like.object && scope->query == like.query && scope->index == like.index)) &&
            (like.kind != SCOPE_OTHER || scope->command == like.command))
            return scope;
    }
    return NULL;
}

static enum lap_status pop(struct scopes *scopes, struct scope like)
{
    struct scope *scope = last_of(scopes, like);

    if (!scope)
        return LAP_OK;
    if (scope->suspends && scope->kind == SCOPE_RENDERING) {
        scope->kind = SCOPE_SUSPENDED;
        return LAP_OK;
    }
    free(scope->resume);
    memmove(scope, scope + 1, (size_t)(scopes->open + scopes->count - scope - 1) * sizeof *scope);
    scopes->count--;
    return LAP_OK;
}

/* ---- commands ---- */

static enum lap_status begin_render_pass(struct scopes *scopes, uint32_t command, const VkRenderPassBeginInfo *info)
{
    return push(scopes, (struct scope){.kind = SCOPE_RENDER_PASS,
                                       .command = (uint16_t)command,
                                       .object = info ? gen_u64_VkRenderPass(info->renderPass) : 0});
}

/* Encodes a command, with its number, that resumes the rendering only to end it. */
static enum lap_status encode_resume(struct recode *recode, const VkRenderingInfo *info, struct scope *out)
{
    VkRenderingInfo again = *info;
    struct gen_args_vkCmdBeginRendering args = {.pRenderingInfo = &again};
    enum lap_status status;

    again.flags &=
        ~(VkRenderingFlags)(VK_RENDERING_SUSPENDING_BIT | VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
    again.flags |= VK_RENDERING_RESUMING_BIT;
    lap_enc_reset(&recode->enc);
    status = recode_command(recode, GEN_vkCmdBeginRendering, &args);
    if (status == LAP_OK) {
        out->resume_bytes = (size_t)(recode->enc.p - recode->enc.base);
        out->resume = malloc(out->resume_bytes ? out->resume_bytes : 1);
        if (!out->resume)
            status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
        else
            memcpy(out->resume, recode->enc.base, out->resume_bytes);
    }
    lap_enc_reset(&recode->enc);
    return status == LAP_ERROR_UNSUPPORTED ? LAP_OK
                                           : status; /* the error comes only if the rendering has to end there */
}

static enum lap_status begin_rendering(struct scopes *scopes, struct recode *recode, const VkRenderingInfo *info)
{
    struct scope scope = {.kind = SCOPE_RENDERING,
                          .command = GEN_vkCmdBeginRendering,
#ifdef VK_EXT_custom_resolve
                          .unresolved = info && info->flags & VK_RENDERING_CUSTOM_RESOLVE_BIT_EXT,
#endif
                          .suspends = info && info->flags & VK_RENDERING_SUSPENDING_BIT};
    enum lap_status status = scope.suspends ? encode_resume(recode, info, &scope) : LAP_OK;

    scopes_resume(scopes);
    return status == LAP_OK ? push(scopes, scope) : status;
}

void scopes_resume(struct scopes *scopes)
{
    (void)pop(scopes, (struct scope){.kind = SCOPE_SUSPENDED});
}

static void next_subpass(struct scopes *scopes)
{
    struct scope *pass = last_of(scopes, (struct scope){.kind = SCOPE_RENDER_PASS});
    if (pass)
        pass->query++;
}

/* The command that begins the scope that this one ends; 0: none. */
static uint16_t beginning_of(const char *end)
{
    for (uint32_t i = 1; i < GEN_COMMAND_COUNT; i++)
        if (strncmp(gen_command_names[i], "vkCmdBegin", 10) == 0 && strcmp(gen_command_names[i] + 10, end) == 0)
            return (uint16_t)i;
    return 0;
}

static enum lap_status see_other(struct scopes *scopes, uint32_t command)
{
    const char *name = gen_command_names[command];
    uint16_t begin = strncmp(name, "vkCmdEnd", 8) == 0 ? beginning_of(name + 8) : 0;
    struct scope other = {.kind = SCOPE_OTHER, .command = (uint16_t)command};

    /* Newer commands have the same end commands as the older ones. */
    if (strcmp(name, "vkCmdBeginConditionalRendering2EXT") == 0)
        other.kind = SCOPE_CONDITION;
    else if (strcmp(name, "vkCmdBeginTransformFeedback2EXT") == 0)
        other.kind = SCOPE_FEEDBACK;
    if (strncmp(name, "vkCmdBegin", 10) == 0)
        return push(scopes, other);
    if (strcmp(name, "vkCmdEndTransformFeedback2EXT") == 0)
        return pop(scopes, (struct scope){.kind = SCOPE_FEEDBACK});
    return begin ? pop(scopes, (struct scope){.kind = SCOPE_OTHER, .command = begin}) : LAP_OK;
}

static struct scope query(uint64_t pool, uint32_t number)
{
    return (struct scope){.kind = SCOPE_QUERY, .command = GEN_vkCmdBeginQuery, .object = pool, .query = number};
}

static struct scope indexed_query(uint64_t pool, uint32_t number, uint32_t index)
{
    return (struct scope){.kind = SCOPE_INDEXED_QUERY,
                          .command = GEN_vkCmdBeginQueryIndexedEXT,
                          .object = pool,
                          .query = number,
                          .index = index};
}

static enum lap_status see_query(struct scopes *scopes, uint32_t command, const void *args)
{
    switch (command) {
    case GEN_vkCmdBeginQuery: {
        const struct gen_args_vkCmdBeginQuery *a = args;
        return push(scopes, query(gen_u64_VkQueryPool(a->queryPool), a->query));
    }
    case GEN_vkCmdEndQuery: {
        const struct gen_args_vkCmdEndQuery *a = args;
        return pop(scopes, query(gen_u64_VkQueryPool(a->queryPool), a->query));
    }
    case GEN_vkCmdBeginQueryIndexedEXT: {
        const struct gen_args_vkCmdBeginQueryIndexedEXT *a = args;
        return push(scopes, indexed_query(gen_u64_VkQueryPool(a->queryPool), a->query, a->index));
    }
    default: {
        const struct gen_args_vkCmdEndQueryIndexedEXT *a = args;
        return pop(scopes, indexed_query(gen_u64_VkQueryPool(a->queryPool), a->query, a->index));
    }
    }
}

enum lap_status scopes_see(struct scopes *scopes, struct recode *recode, uint32_t command, const void *args)
{
    switch (lap_pass_step_of(command)) {
    case LAP_PASS_BEGIN:
        return begin_render_pass(scopes, command, lap_pass_begin_info(command, args));
    case LAP_PASS_BEGIN_RENDERING:
        return begin_rendering(scopes, recode, lap_pass_rendering_info(command, args));
    case LAP_PASS_NEXT:
        next_subpass(scopes);
        return LAP_OK;
    case LAP_PASS_END:
        return pop(scopes, (struct scope){.kind = SCOPE_RENDER_PASS});
    case LAP_PASS_END_RENDERING:
        return pop(scopes, (struct scope){.kind = SCOPE_RENDERING});
    case LAP_PASS_NONE:
        break;
    }
    switch (command) {
#ifdef VK_EXT_custom_resolve
    case GEN_vkCmdBeginCustomResolveEXT: {
        struct scope *rendering = last_of(scopes, (struct scope){.kind = SCOPE_RENDERING});
        if (rendering)
            rendering->unresolved = false;
        return LAP_OK;
    }
#endif
    case GEN_vkCmdBeginQuery:
    case GEN_vkCmdEndQuery:
    case GEN_vkCmdBeginQueryIndexedEXT:
    case GEN_vkCmdEndQueryIndexedEXT:
        return see_query(scopes, command, args);
    case GEN_vkCmdBeginConditionalRenderingEXT:
        return push(scopes, (struct scope){.kind = SCOPE_CONDITION, .command = (uint16_t)command});
    case GEN_vkCmdEndConditionalRenderingEXT:
        return pop(scopes, (struct scope){.kind = SCOPE_CONDITION});
    case GEN_vkCmdBeginTransformFeedbackEXT:
        return push(scopes, (struct scope){.kind = SCOPE_FEEDBACK, .command = (uint16_t)command});
    case GEN_vkCmdEndTransformFeedbackEXT:
        return pop(scopes, (struct scope){.kind = SCOPE_FEEDBACK});
    case GEN_vkCmdBeginDebugUtilsLabelEXT:
        return push(scopes, (struct scope){.kind = SCOPE_LABEL, .command = (uint16_t)command});
    case GEN_vkCmdEndDebugUtilsLabelEXT:
        return pop(scopes, (struct scope){.kind = SCOPE_LABEL});
    case GEN_vkCmdDebugMarkerBeginEXT:
        return push(scopes, (struct scope){.kind = SCOPE_MARKER, .command = (uint16_t)command});
    case GEN_vkCmdDebugMarkerEndEXT:
        return pop(scopes, (struct scope){.kind = SCOPE_MARKER});
    case GEN_vkCmdBeginVideoCodingKHR:
        return push(scopes, (struct scope){.kind = SCOPE_VIDEO, .command = (uint16_t)command});
    case GEN_vkCmdEndVideoCodingKHR:
        return pop(scopes, (struct scope){.kind = SCOPE_VIDEO});
    default:
        return see_other(scopes, command);
    }
}

/* ---- ends ---- */

struct ending {
    struct recode *recode;
    uint32_t *commands;
    enum lap_status status; /* latched */
};

static void put(struct ending *e, uint32_t command, const void *args)
{
    static const struct lap_args none;

    if (e->status == LAP_OK)
        e->status = recode_command(e->recode, command, args ? args : &none);
    ++*e->commands;
}

static void end_render_pass(struct ending *e, const struct scope *pass, uint32_t subpasses)
{
    static const VkSubpassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_SUBPASS_BEGIN_INFO};
    static const VkSubpassEndInfo end = {.sType = VK_STRUCTURE_TYPE_SUBPASS_END_INFO};
    static const struct gen_args_vkCmdNextSubpass2 next = {.pSubpassBeginInfo = &begin, .pSubpassEndInfo = &end};
    bool is_first_version = pass->command == GEN_vkCmdBeginRenderPass;

    if (e->status == LAP_OK && !subpasses)
        e->status = lap_fail(LAP_ERROR_UNSUPPORTED, "nothing creates its render pass");
    for (uint32_t i = pass->query + 1; i < subpasses && e->status == LAP_OK; i++)
        put(e, is_first_version ? GEN_vkCmdNextSubpass : GEN_vkCmdNextSubpass2, is_first_version ? NULL : &next);
    if (is_first_version)
        put(e, GEN_vkCmdEndRenderPass, NULL);
    else
        put(e, GEN_vkCmdEndRenderPass2, &(struct gen_args_vkCmdEndRenderPass2){.pSubpassEndInfo = &end});
}

static void resume_and_end(struct ending *e, const struct scope *scope)
{
    if (e->status == LAP_OK && !scope->resume)
        e->status = lap_fail(LAP_ERROR_UNSUPPORTED, "a build with another registry recorded it, and a render pass that "
                                                    "is suspended there has a chained structure");
    lap_enc_raw(&e->recode->enc, scope->resume, scope->resume_bytes);
    ++*e->commands;
    put(e, GEN_vkCmdEndRendering, NULL);
}

static void end_scope(struct ending *e, const struct scope *scope)
{
    static const VkVideoEndCodingInfoKHR coding = {.sType = VK_STRUCTURE_TYPE_VIDEO_END_CODING_INFO_KHR};

    switch (scope->kind) {
    case SCOPE_RENDERING:
    case SCOPE_SUSPENDED:
        if (scope->unresolved)
            e->status = lap_fail(LAP_ERROR_UNSUPPORTED, "it is in a render pass that ends with a resolve by shaders");
        if (scope->kind == SCOPE_RENDERING)
            put(e, GEN_vkCmdEndRendering, NULL);
        if (scope->suspends)
            resume_and_end(e, scope);
        break;
    case SCOPE_QUERY:
        put(e, GEN_vkCmdEndQuery,
            &(struct gen_args_vkCmdEndQuery){.queryPool = gen_VkQueryPool(scope->object), .query = scope->query});
        break;
    case SCOPE_INDEXED_QUERY:
        put(e, GEN_vkCmdEndQueryIndexedEXT,
            &(struct gen_args_vkCmdEndQueryIndexedEXT){
                .queryPool = gen_VkQueryPool(scope->object), .query = scope->query, .index = scope->index});
        break;
    case SCOPE_CONDITION:
        put(e, GEN_vkCmdEndConditionalRenderingEXT, NULL);
        break;
    case SCOPE_FEEDBACK:
        put(e, GEN_vkCmdEndTransformFeedbackEXT, NULL);
        break;
    case SCOPE_LABEL:
        put(e, GEN_vkCmdEndDebugUtilsLabelEXT, NULL);
        break;
    case SCOPE_MARKER:
        put(e, GEN_vkCmdDebugMarkerEndEXT, NULL);
        break;
    case SCOPE_VIDEO:
        put(e, GEN_vkCmdEndVideoCodingKHR, &(struct gen_args_vkCmdEndVideoCodingKHR){.pEndCodingInfo = &coding});
        break;
    default:
        e->status =
            lap_fail(LAP_ERROR_UNSUPPORTED, "what %s begins can't be ended there", gen_command_names[scope->command]);
        break;
    }
}

enum lap_status scopes_end(const struct scopes *scopes, uint32_t (*subpasses)(void *user, uint64_t render_pass),
                           void *user, struct recode *recode, uint32_t *out_commands)
{
    struct ending e = {recode, out_commands, LAP_OK};

    for (size_t i = scopes->count; i-- > 0 && e.status == LAP_OK;)
        if (scopes->open[i].kind == SCOPE_RENDER_PASS)
            end_render_pass(&e, &scopes->open[i], subpasses(user, scopes->open[i].object));
        else
            end_scope(&e, &scopes->open[i]);
    return e.status;
}

enum lap_status scopes_end_suspended(const struct scopes *scopes, struct recode *recode, uint32_t *out_commands)
{
    struct ending e = {recode, out_commands, LAP_OK};

    for (size_t i = scopes->count; i-- > 0 && e.status == LAP_OK;)
        if (scopes->open[i].kind == SCOPE_SUSPENDED)
            end_scope(&e, &scopes->open[i]);
    return e.status;
}
