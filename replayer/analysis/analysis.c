/* SPDX-License-Identifier: MIT */
#include "replayer/analysis/analysis.h"

#include <stdlib.h>

#include "base/assert.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "vulkan/chain.h"
#include "vulkan/modifier.h"

#define WAITING_MOST 4u

struct sharing {
    struct replay_aliases *aliases;
    enum lap_status status; /* of storing the result; damage of the trace does not count */
};

struct replay_analysis_waiting {
    struct trace_visitor visitors[WAITING_MOST];
    unsigned count;
    struct sharing sharing;
};

static enum lap_status need_waiting(struct replay *r)
{
    if (!r->analysis.waiting)
        r->analysis.waiting = calloc(1, sizeof *r->analysis.waiting);
    return r->analysis.waiting ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory for an analysis");
}

enum lap_status replay_analysis_await(struct replay *r, const struct trace_visitor *visitor)
{
    enum lap_status status = need_waiting(r);

    if (status != LAP_OK)
        return status;
    LAP_ASSERT(r->analysis.waiting->count < WAITING_MOST, "there is room for all that waits");
    r->analysis.waiting->visitors[r->analysis.waiting->count++] = *visitor;
    return LAP_OK;
}

void replay_analysis_cancel(struct replay *r, const void *state)
{
    struct replay_analysis_waiting *waiting = r->analysis.waiting;
    unsigned kept = 0;

    for (unsigned i = 0; waiting && i < waiting->count; i++)
        if (waiting->visitors[i].state != state)
            waiting->visitors[kept++] = waiting->visitors[i];
    if (waiting)
        waiting->count = kept;
}

enum lap_status replay_analyze(struct replay *r, unsigned parts)
{
    struct replay_analysis_waiting *waiting = r->analysis.waiting;
    enum lap_status status =
        r->analysis.trace ? LAP_OK : trace_analysis_create(r->reader, r->options.last_frame, &r->analysis.trace);
    unsigned count = 0;
    uint64_t packet;

    if (status != LAP_OK)
        return status;
    if (waiting && !trace_analysis_has(r->analysis.trace, parts)) {
        count = waiting->count;
        waiting->count = 0;
    }
    packet = replay_watch_pause(&r->watch);
    status = trace_analysis_get_with(r->analysis.trace, parts, waiting ? waiting->visitors : NULL, count);
    replay_watch_go_on(&r->watch, packet);
    if (count && status == LAP_ERROR_MEMORY)
        waiting->sharing.status = status; /* perhaps not visited: replay_analysis_settle fails */
    return status;
}

/* ---- objects that share memory ---- */

/* An image with external memory handle types may alias too: identical images of optimal tiling on one external memory
 * share their contents. */
static bool is_made_to_alias(const VkImageCreateInfo *info)
{
    const VkExternalMemoryImageCreateInfo *external =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    return info->flags & VK_IMAGE_CREATE_ALIAS_BIT || (external && external->handleTypes);
}

/* Stores the position of an encoded create info, so that it can be decoded later without its call. */
static enum lap_status add_creation(struct replay_aliases *aliases, enum gen_handle_type type,
                                    const struct trace_call *call)
{
    VkBufferCreateInfo buffer = {0};
    VkImageCreateInfo image = {0};
    bool opaque = false;
    const uint8_t *begin;
    struct lap_dec dec;
    size_t bytes;

    trace_call_decoder(call, &dec);
    lap_get_handle(&dec, GEN_HANDLE_VkDevice);
    if (!lap_get_u8(&dec))
        return LAP_OK;
    begin = dec.p;
    if (type == GEN_HANDLE_VkBuffer) {
        gen_decode_VkBufferCreateInfo(&dec, &buffer);
    } else {
        gen_decode_VkImageCreateInfo(&dec, &image);
        if (dec.status == LAP_OK)
            lap_modifier_remove(&image);
        opaque = image.tiling == VK_IMAGE_TILING_OPTIMAL;
        if (image.tiling != VK_IMAGE_TILING_LINEAR && !(opaque && is_made_to_alias(&image)))
            return LAP_OK; /* no other object sees its contents */
    }
    bytes = (size_t)(dec.p - begin);
    if (dec.status != LAP_OK || !lap_get_u8(&dec))
        return LAP_OK;
    return replay_aliases_add(aliases, type, lap_get_u64(&dec), opaque, begin, bytes);
}

static enum lap_status add_buffer_bind(struct replay_aliases *aliases, const struct gen_args_lapilliBindBuffer *args)
{
    struct replay_alias_bind bind = {.type = GEN_HANDLE_VkBuffer,
                                     .index = gen_u64_VkBuffer(args->buffer),
                                     .memory = gen_u64_VkDeviceMemory(args->memory),
                                     .offset = args->memoryOffset,
                                     .bytes = args->size};
    return replay_aliases_bind(aliases, &bind);
}

static enum lap_status add_image_bind(struct replay_aliases *aliases, const struct gen_args_lapilliBindImage *args)
{
    struct replay_alias_bind bind = {.type = GEN_HANDLE_VkImage,
                                     .index = gen_u64_VkImage(args->image),
                                     .plane = args->planeAspect,
                                     .memory = gen_u64_VkDeviceMemory(args->memory),
                                     .offset = args->memoryOffset,
                                     .bytes = args->size,
                                     .layout = args->layoutHash};
    return args->swapchain ? LAP_OK : replay_aliases_bind(aliases, &bind);
}

static enum lap_status add_sharing(struct replay_aliases *aliases, const struct gen_args_lapilliSharedMemory *args)
{
    return replay_aliases_share(aliases, gen_u64_VkDeviceMemory(args->memory), args->space, args->offset);
}

static const uint16_t commands[] = {GEN_vkCreateBuffer,      GEN_vkCreateImage,     GEN_vkDestroyBuffer,
                                    GEN_vkDestroyImage,      GEN_lapilliBindBuffer, GEN_lapilliBindImage,
                                    GEN_lapilliSharedMemory, GEN_vkFreeMemory,      GEN_COMMAND_NONE};

static enum lap_status add_call(struct replay_aliases *aliases, const struct trace_call *call)
{
    switch (call->command) {
    case GEN_vkCreateBuffer:
        return add_creation(aliases, GEN_HANDLE_VkBuffer, call);
    case GEN_vkCreateImage:
        return add_creation(aliases, GEN_HANDLE_VkImage, call);
    case GEN_lapilliBindBuffer:
        return add_buffer_bind(aliases, call->args);
    case GEN_lapilliBindImage:
        return add_image_bind(aliases, call->args);
    case GEN_lapilliSharedMemory:
        return add_sharing(aliases, call->args);
    case GEN_vkFreeMemory:
        replay_aliases_unshare(aliases,
                               gen_u64_VkDeviceMemory(((const struct gen_args_vkFreeMemory *)call->args)->memory));
        return LAP_OK;
    case GEN_vkDestroyBuffer:
        replay_aliases_remove(aliases, GEN_HANDLE_VkBuffer,
                              gen_u64_VkBuffer(((const struct gen_args_vkDestroyBuffer *)call->args)->buffer));
        return LAP_OK;
    default:
        replay_aliases_remove(aliases, GEN_HANDLE_VkImage,
                              gen_u64_VkImage(((const struct gen_args_vkDestroyImage *)call->args)->image));
        return LAP_OK;
    }
}

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct sharing *sharing = state;

    sharing->status = add_call(sharing->aliases, call);
    return sharing->status == LAP_OK ? LAP_OK : LAP_END;
}

/* The ticket of the last object that shares memory, from the layer's summary; 0: no object does. UINT64_MAX: unknown,
 * since the trace ended early or another writer made it. */
static uint64_t last_alias(const struct lap_reader_summary *summary)
{
    const uint64_t *counters = summary->counters;

    if (!summary->complete || !counters[LAP_COUNTER_BINDS])
        return UINT64_MAX;
    if (!counters[LAP_COUNTER_ALIASED_BINDS])
        return 0;
    return counters[LAP_COUNTER_LAST_ALIASED] ? counters[LAP_COUNTER_LAST_ALIASED] : UINT64_MAX;
}

enum lap_status replay_aliases_await(struct replay *r)
{
    struct trace_visitor visitor = {.commands = commands, .information = true, .visit = visit};
    uint64_t last = last_alias(lap_reader_summary(r->reader));
    enum lap_status status = need_waiting(r);

    if (status == LAP_OK)
        status = replay_aliases_create(&r->analysis.waiting->sharing.aliases);
    if (status != LAP_OK || !last)
        return status;
    visitor.last_ticket = last == UINT64_MAX ? 0 : last;
    visitor.state = &r->analysis.waiting->sharing;
    return replay_analysis_await(r, &visitor);
}

enum lap_status replay_analysis_settle(struct replay *r)
{
    struct replay_analysis_waiting *waiting = r->analysis.waiting;
    enum lap_status status;
    uint64_t packet;

    if (!waiting)
        return LAP_OK;
    packet = replay_watch_pause(&r->watch);
    /* Damage ends the pass; playback reports it. */
    if (waiting->count &&
        trace_pass_run(r->reader, r->options.last_frame, waiting->visitors, waiting->count) == LAP_ERROR_MEMORY)
        waiting->sharing.status = LAP_ERROR_MEMORY;
    replay_watch_go_on(&r->watch, packet);
    waiting->count = 0;
    if (!waiting->sharing.aliases)
        return LAP_OK;
    if (waiting->sharing.status == LAP_ERROR_MEMORY)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for an analysis of the trace");
    status =
        waiting->sharing.status == LAP_OK ? replay_aliases_seal(waiting->sharing.aliases) : waiting->sharing.status;
    if (status == LAP_OK) {
        r->analysis.aliases = waiting->sharing.aliases;
        waiting->sharing.aliases = NULL;
    }
    return status;
}

void replay_analysis_finish(struct replay *r)
{
    if (r->analysis.waiting)
        replay_aliases_destroy(&r->analysis.waiting->sharing.aliases);
    free(r->analysis.waiting);
    r->analysis.waiting = NULL;
    replay_aliases_destroy(&r->analysis.aliases);
    trace_analysis_destroy(&r->analysis.trace);
}
