/* SPDX-License-Identifier: MIT */
#include "inspector/twin/weave.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"
#include "inspector/position/held.h"
#include "inspector/twin/pass_pieces.h"
#include "inspector/twin/recordings.h"
#include "inspector/twin/twins.h"
#include "vulkan/pass.h"

#define WEAVE_COMMANDS                                                                                                 \
    RECORDINGS_COMMANDS, GEN_vkCreateRenderPass, GEN_vkCreateRenderPass2, GEN_vkCreateBuffer, GEN_lapilliBindBuffer,   \
        GEN_lapilliBindImage, GEN_vkCreateQueryPool, GEN_vkCreateDevice, GEN_vkQueueSubmit, GEN_vkQueueSubmit2
#define PRIMARY_NUMBERS 3u /* frame, submit, command buffer */

struct bytes {
    uint8_t *data;
    size_t count, capacity;
    uint32_t commands;
};

/* A render pass that is split. */
struct pass {
    uint64_t number, ticket; /* where it is made */
    uint64_t twins[PIECES];  /* for each piece */
};

/* A primary command buffer with stops. */
struct primary {
    struct position position;
    size_t first, end; /* of its stops */
    uint64_t ticket;   /* of the submit */
    uint32_t batch, buffer;
    const struct recording *recording; /* NULL: not found */
    bool in_place;
    bool suspends; /* rendering that another command buffer of the submit resumes */
    uint64_t twin;
};

struct device {
    uint64_t number, ticket; /* where it is made */
};

/* A command that begins something in a render pass that is split. */
struct begun {
    uint32_t command;
    uint64_t pool; /* of a query */
    uint32_t query, index;
    size_t at; /* in the twin */
    struct bytes bytes;
};

struct weave {
    const struct lap_reader *trace;
    const struct weave_plan *plan;
    struct weave_result *result;
    struct lap_arena arena;
    struct pass *passes;
    size_t pass_count, pass_capacity;
    struct primary *primaries;
    size_t primary_count, primary_capacity;
    struct recordings recordings;
    uint64_t frame, submits; /* of the submit that was read last */
    size_t next_primary;     /* that no submit has had yet */
    struct device *devices;
    size_t device_count, device_capacity;
    uint64_t last_pass, last_buffer, last_memory, last_pool;
    struct lap_edits *edits;
    struct twins twins;
    struct probes probes;
    const struct probe_use *use; /* of the command that comes next, or NULL */
    /* The command buffer that is woven. */
    struct position_blocks inner[POSITION_MOST_NUMBERS]; /* [depth] */
    struct position now;
    size_t next, end; /* of the stops */
    bool suspends;    /* its last rendering does */
    /* The render pass that is open in it, if it is split. */
    const struct weave_stop *pass; /* one of its stops; NULL: none is open */
    uint32_t pass_command;
    struct bytes resume, resume_last; /* the command that begins it again; in front of its last piece */
    struct bytes again;               /* commands that hold for one piece */
    struct begun *begun;
    size_t begun_count, begun_capacity;
    uint32_t other; /* a command that has begun what can't be split; 0: none */
};

/* ---- what is woven ---- */

static bool is_same(const struct position *a, const struct position *b)
{
    return a->count == b->count && memcmp(a->numbers, b->numbers, a->count * sizeof *a->numbers) == 0;
}

static struct pass *pass_of(struct weave *w, uint64_t number)
{
    for (size_t i = 0; i < w->pass_count; i++)
        if (w->passes[i].number == number)
            return &w->passes[i];
    return NULL;
}

static enum lap_status list_stop(struct weave *w, size_t number)
{
    const struct weave_stop *stop = &w->plan->stops[number];
    const struct position in = position_up_to(&stop->position, PRIMARY_NUMBERS);
    struct primary *last = w->primary_count ? &w->primaries[w->primary_count - 1] : NULL;

    if (stop->begin.count && stop->render_pass && !pass_of(w, stop->render_pass)) {
        if (!lap_array_grow(&w->passes, sizeof *w->passes, &w->pass_capacity, w->pass_count + 1))
            return lap_no_memory("command buffers with more in them");
        w->passes[w->pass_count++] = (struct pass){.number = stop->render_pass};
    }
    if (last && is_same(&last->position, &in)) {
        last->end = number + 1;
        return LAP_OK;
    }
    if (!lap_array_grow(&w->primaries, sizeof *w->primaries, &w->primary_capacity, w->primary_count + 1))
        return lap_no_memory("command buffers with more in them");
    w->primaries[w->primary_count++] = (struct primary){.position = in, .first = number, .end = number + 1};
    return LAP_OK;
}

/* ---- the trace ---- */

static void take_largest(uint64_t *of, uint64_t number)
{
    *of = number > *of ? number : *of;
}

static void see_pass(struct weave *w, const struct trace_call *call, const VkRenderPass *handle)
{
    struct pass *pass = handle ? pass_of(w, gen_u64_VkRenderPass(*handle)) : NULL;

    if (handle)
        take_largest(&w->last_pass, gen_u64_VkRenderPass(*handle));
    if (pass)
        pass->ticket = call->packet->ticket;
}

static void see_buffer(struct weave *w, const VkBuffer *handle)
{
    if (handle)
        take_largest(&w->last_buffer, gen_u64_VkBuffer(*handle));
}

static void see_pool(struct weave *w, const VkQueryPool *handle)
{
    if (handle)
        take_largest(&w->last_pool, gen_u64_VkQueryPool(*handle));
}

static enum lap_status see_device(struct weave *w, const struct trace_call *call, const VkDevice *handle)
{
    if (!handle)
        return LAP_OK;
    if (!lap_array_grow(&w->devices, sizeof *w->devices, &w->device_capacity, w->device_count + 1))
        return lap_no_memory("command buffers with more in them");
    w->devices[w->device_count++] = (struct device){gen_u64_VkDevice(*handle), call->packet->ticket};
    return LAP_OK;
}

/* Submits and primaries are in the same order. */
static void see_submit(struct weave *w, const struct trace_call *call)
{
    struct position at = {.count = PRIMARY_NUMBERS};

    w->submits = call->packet->frame + 1 == w->frame ? w->submits + 1 : 1;
    w->frame = call->packet->frame + 1;
    at.numbers[0] = w->frame;
    at.numbers[1] = w->submits;
    for (uint32_t batch = 0; batch < position_submit_batches(call); batch++)
        for (uint32_t i = 0; i < position_submit_buffers(call, batch); i++) {
            struct recording *recording = recordings_held(&w->recordings, position_submit_buffer(call, batch, i));
            struct primary *p = &w->primaries[w->next_primary];
            at.numbers[2]++;
            if (recording)
                recording->submits++;
            if (w->next_primary >= w->primary_count || !is_same(&p->position, &at))
                continue;
            p->ticket = call->packet->ticket;
            p->batch = batch;
            p->buffer = i;
            p->recording = recording;
            w->next_primary++;
        }
}

static enum lap_status see(void *state, const struct trace_call *call)
{
    struct weave *w = state;

    if (w->plan->probe_count && probes_see(&w->probes, call) != LAP_OK)
        return LAP_ERROR_MEMORY;
    switch (call->command) {
    case GEN_vkCreateRenderPass:
        see_pass(w, call, ((const struct gen_args_vkCreateRenderPass *)call->args)->pRenderPass);
        return LAP_OK;
    case GEN_vkCreateRenderPass2:
        see_pass(w, call, ((const struct gen_args_vkCreateRenderPass2 *)call->args)->pRenderPass);
        return LAP_OK;
    case GEN_vkCreateBuffer:
        see_buffer(w, ((const struct gen_args_vkCreateBuffer *)call->args)->pBuffer);
        return LAP_OK;
    case GEN_vkCreateQueryPool:
        see_pool(w, ((const struct gen_args_vkCreateQueryPool *)call->args)->pQueryPool);
        return LAP_OK;
    case GEN_vkCreateDevice:
        return see_device(w, call, ((const struct gen_args_vkCreateDevice *)call->args)->pDevice);
    case GEN_lapilliBindBuffer:
        take_largest(&w->last_memory,
                     gen_u64_VkDeviceMemory(((const struct gen_args_lapilliBindBuffer *)call->args)->memory));
        return LAP_OK;
    case GEN_lapilliBindImage:
        take_largest(&w->last_memory,
                     gen_u64_VkDeviceMemory(((const struct gen_args_lapilliBindImage *)call->args)->memory));
        return LAP_OK;
    case GEN_vkQueueSubmit:
    case GEN_vkQueueSubmit2:
        see_submit(w, call);
        return LAP_OK;
    default:
        return recordings_visit(&w->recordings, call);
    }
}

static enum lap_status see_in_block(void *state, const struct trace_call *call)
{
    return recordings_visit_in_block(&((struct weave *)state)->recordings, call);
}

static enum lap_status read_trace(struct weave *w)
{
    static const uint16_t commands[] = {WEAVE_COMMANDS, GEN_COMMAND_NONE},
                          more[] = {WEAVE_COMMANDS, PROBES_COMMANDS, GEN_COMMAND_NONE};
    const struct trace_visitor visitor = {
        .commands = w->plan->probe_count ? more : commands, .visit = see, .visit_in_block = see_in_block, .state = w};
    const struct position *last = &w->plan->stops[w->plan->stop_count - 1].position;
    char text[POSITION_TEXT_BYTES];
    enum lap_status status = recordings_init(&w->recordings, w->trace);

    if (status == LAP_OK)
        status = trace_pass_run(w->trace, w->plan->ends ? last->numbers[0] : w->plan->last_frame, &visitor, 1);
    for (size_t i = 0; i < w->primary_count && status == LAP_OK; i++)
        if (!w->primaries[i].ticket)
            status = lap_fail(LAP_ERROR_ARGUMENT, "there is no command buffer %s",
                              position_text(&w->primaries[i].position, text));
        else if (!w->primaries[i].recording)
            status = lap_fail(LAP_ERROR_UNSUPPORTED, "the command buffer %s can't be recorded differently",
                              position_text(&w->primaries[i].position, text));
    for (size_t i = 0; i < w->pass_count && status == LAP_OK; i++)
        if (!w->passes[i].ticket)
            status = lap_fail(LAP_ERROR_UNSUPPORTED, "nothing creates VkRenderPass:%" PRIu64, w->passes[i].number);
    return status;
}

/* ---- new objects ---- */

static enum lap_status put_pass(struct weave *w, struct pass *pass, enum piece piece)
{
    VkRenderPass handle = gen_VkRenderPass(++w->last_pass);
    void *args = w->twins.packet.args.bytes;
    enum lap_status status = position_packet_read(&w->twins.packet, pass->ticket);

    if (status != LAP_OK)
        return status;
    pass->twins[piece] = w->last_pass;
    if (w->twins.packet.command == GEN_vkCreateRenderPass) {
        struct gen_args_vkCreateRenderPass *create = args;
        pass_piece(create->pCreateInfo, piece);
        create->pRenderPass = &handle;
    } else {
        struct gen_args_vkCreateRenderPass2 *create = args;
        pass_piece2(create->pCreateInfo, piece);
        create->pRenderPass = &handle;
    }
    return twins_put_packet(&w->twins, pass->ticket, w->twins.packet.command, args);
}

/* The device of all command buffers, where it is made, and the packet with the first recording of them. */
static enum lap_status find_device(const struct weave *w, uint64_t *out_device, uint64_t *out_ticket,
                                   uint64_t *out_first)
{
    *out_device = 0;
    *out_first = UINT64_MAX;
    for (size_t i = 0; i < w->primary_count; i++) {
        const struct recording *recording = w->primaries[i].recording;
        const struct recorded_allocation *allocation = recordings_allocation(&w->recordings, recording->command_buffer);
        if (!allocation)
            return lap_fail(LAP_ERROR_UNSUPPORTED, "nothing allocates VkCommandBuffer:%" PRIu64,
                            recording->command_buffer);
        if (*out_device && allocation->device != *out_device)
            return lap_fail(LAP_ERROR_UNSUPPORTED, "its command buffers are of several devices");
        *out_device = allocation->device;
        *out_first = recording->ticket < *out_first ? recording->ticket : *out_first;
    }
    for (size_t i = w->device_count; i-- > 0;)
        if (w->devices[i].number == *out_device) {
            *out_ticket = w->devices[i].ticket;
            return LAP_OK;
        }
    return lap_fail(LAP_ERROR_UNSUPPORTED, "nothing creates VkDevice:%" PRIu64, *out_device);
}

/* The buffer stands in front of all twins. */
static enum lap_status put_buffer(struct weave *w, uint64_t device, uint64_t ticket)
{
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = w->plan->bytes,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              (w->plan->probe_count ? VK_BUFFER_USAGE_STORAGE_BUFFER_BIT : 0)};
    VkBuffer buffer = gen_VkBuffer(w->result->buffer = w->last_buffer + 1);
    const struct gen_args_vkCreateBuffer create = {
        .device = gen_VkDevice(device), .pCreateInfo = &info, .pBuffer = &buffer};
    const struct gen_args_lapilliBindBuffer bind = {.buffer = buffer,
                                                    .memory = gen_VkDeviceMemory(w->last_memory + 1),
                                                    .size = info.size,
                                                    .propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT};
    enum lap_status status = twins_put_packet(&w->twins, ticket, GEN_vkCreateBuffer, &create);

    return status == LAP_OK ? twins_put_packet(&w->twins, ticket, GEN_lapilliBindBuffer, &bind) : status;
}

/* A pool lives as long as its device. */
static enum lap_status put_pool(struct weave *w, uint64_t device, uint64_t device_ticket, VkQueryType type,
                                uint32_t count, uint64_t *out)
{
    const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                        .queryType = type,
                                        .queryCount = count,
                                        .pipelineStatistics =
                                            type == VK_QUERY_TYPE_PIPELINE_STATISTICS ? w->plan->statistics : 0};
    VkQueryPool pool = gen_VkQueryPool(*out = ++w->last_pool);
    const struct gen_args_vkCreateQueryPool create = {
        .device = gen_VkDevice(device), .pCreateInfo = &info, .pQueryPool = &pool};

    return twins_put_packet(&w->twins, device_ticket, GEN_vkCreateQueryPool, &create);
}

static enum lap_status put_objects(struct weave *w)
{
    uint64_t device, device_ticket = 0, first;
    enum lap_status status = find_device(w, &device, &device_ticket, &first);

    if (status == LAP_OK && w->plan->bytes)
        status = put_buffer(w, device, first);
    if (status == LAP_OK && w->plan->probe_count) {
        const struct probes_place place = {device, device_ticket, first, w->result->buffer, w->plan->probe_range};
        status = probes_put(&w->probes, &w->twins, &place);
    }
    if (status == LAP_OK && w->plan->timestamps)
        status =
            put_pool(w, device, device_ticket, VK_QUERY_TYPE_TIMESTAMP, w->plan->timestamps, &w->result->timestamps);
    if (status == LAP_OK && w->plan->queries)
        status = put_pool(w, device, device_ticket, VK_QUERY_TYPE_PIPELINE_STATISTICS, w->plan->queries,
                          &w->result->statistics);
    for (size_t i = 0; i < w->pass_count; i++)
        for (enum piece piece = PIECE_FIRST; piece < PIECES && status == LAP_OK; piece++)
            status = put_pass(w, &w->passes[i], piece);
    return status;
}

/* ---- commands ---- */

static enum lap_status keep(struct bytes *bytes, const uint8_t *data, size_t count)
{
    if (!lap_array_grow(&bytes->data, 1, &bytes->capacity, bytes->count + count + 1))
        return lap_no_memory("command buffers with more in them");
    memcpy(bytes->data + bytes->count, data, count);
    bytes->count += count;
    bytes->commands++;
    return LAP_OK;
}

static enum lap_status add(struct weave *w, const struct bytes *bytes)
{
    return twins_add(&w->twins, bytes->data, bytes->count, bytes->commands);
}

static enum lap_status put(struct weave *w, uint32_t command, const void *args)
{
    return twins_add_command(&w->twins, command, args);
}

static enum lap_status encode_kept(struct weave *w, struct bytes *out, uint32_t command, const void *args)
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
        const struct begun *begun = &w->begun[i];
        if (!is_it(begun->command) || begun->pool != pool || begun->query != query || begun->index != index)
            continue;
        free(begun->bytes.data);
        memmove(&w->begun[i], &w->begun[i + 1], (--w->begun_count - i) * sizeof *w->begun);
        return;
    }
}

static enum lap_status see_begin(struct weave *w, uint32_t command, const void *args, const uint8_t *from, size_t bytes)
{
    struct begun begun = {.command = command, .at = w->twins.byte_count};

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

/* A command that is added next, and belongs to no list of passes. */
static enum lap_status see_command(struct weave *w, uint32_t command, const void *args, const uint8_t *from,
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
static void take_out(struct weave *w, struct begun *query)
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
        struct begun *begun = &w->begun[i];
        if (is_condition(begun->command))
            status = put(w, GEN_vkCmdEndConditionalRenderingEXT, &none);
        else
            take_out(w, begun);
    }
    return status;
}

static enum lap_status begin_open(struct weave *w)
{
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < w->begun_count && status == LAP_OK; i++) {
        struct begun *begun = &w->begun[i];
        w->result->queries += is_query(begun->command);
        begun->at = w->twins.byte_count;
        status = add(w, &begun->bytes);
    }
    return status;
}

/* ---- render passes ---- */

static void forget_pass(struct weave *w)
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
    const struct pass *pass = w->pass ? pass_of(w, w->pass->render_pass) : NULL;

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
        status = put(w, command, args);
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
        return put(w, command, args);
#ifdef VK_EXT_custom_resolve
    if (flags & VK_RENDERING_CUSTOM_RESOLVE_BIT_EXT)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "its render pass ends with a resolve by shaders, so it can't be split");
#endif
    info->flags = flags & ~(VkRenderingFlags)VK_RENDERING_SUSPENDING_BIT;
    rendering_piece(info, false);
    status = put(w, command, args);
    rendering_piece(info, true);
    info->flags &= ~(VkRenderingFlags)VK_RENDERING_RESUMING_BIT;
    if (status == LAP_OK)
        status = encode_kept(w, &w->resume, command, args);
    info->flags |= flags & VK_RENDERING_SUSPENDING_BIT;
    return status == LAP_OK ? encode_kept(w, &w->resume_last, command, args) : status;
}

static bool is_in_pass(const struct weave *w, size_t stop, const struct position *begin)
{
    return stop < w->end && w->plan->stops[stop].begin.count && is_same(&w->plan->stops[stop].begin, begin);
}

static enum lap_status begin(struct weave *w, uint32_t command, struct lap_args *args)
{
    forget_pass(w);
    w->pass = is_in_pass(w, w->next, &w->now) ? &w->plan->stops[w->next] : NULL;
    w->pass_command = command;
    return lap_pass_step_of(command) == LAP_PASS_BEGIN ? begin_pass(w, command, args->bytes)
                                                       : begin_rendering(w, command, args->bytes);
}

static enum lap_status put_end(struct weave *w)
{
    static const VkSubpassEndInfo end = {.sType = VK_STRUCTURE_TYPE_SUBPASS_END_INFO};
    static const struct gen_args_vkCmdEndRenderPass2 second = {.pSubpassEndInfo = &end};
    static const struct lap_args none;

    return w->pass_command == GEN_vkCmdBeginRenderPass    ? put(w, GEN_vkCmdEndRenderPass, &none)
           : w->pass_command == GEN_vkCmdBeginRenderPass2 ? put(w, GEN_vkCmdEndRenderPass2, &second)
                                                          : put(w, GEN_vkCmdEndRendering, &none);
}

/* ---- stops ---- */

/* What a copy finds is what copies may read as it is. */
static VkImageLayout layout_of_copies(VkImageLayout layout)
{
    return layout == VK_IMAGE_LAYOUT_GENERAL || layout == VK_IMAGE_LAYOUT_SHARED_PRESENT_KHR
               ? layout
               : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
}

static bool is_first_of_its_image(const struct weave_copy *copies, size_t number)
{
    for (size_t i = 0; i < number; i++)
        if (copies[i].image == copies[number].image && copies[i].level == copies[number].level &&
            (copies[i].is_volume || copies[i].layer == copies[number].layer))
            return false;
    return true;
}

static enum lap_status put_barrier(struct weave *w, const struct weave_stop *stop, bool back)
{
    const struct weave_copy *copies = &w->plan->copies[stop->first];
    const VkAccessFlags all = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT;
    const VkMemoryBarrier memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = all, .dstAccessMask = all};
    VkImageMemoryBarrier *images;
    struct gen_args_vkCmdPipelineBarrier args = {.srcStageMask = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                                 .dstStageMask = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                                 .memoryBarrierCount = 1,
                                                 .pMemoryBarriers = &memory};

    lap_arena_reset(&w->arena);
    args.pImageMemoryBarriers = images = lap_arena_zalloc(&w->arena, stop->count, sizeof *images, 8);
    if (!images)
        return lap_no_memory("command buffers with more in them");
    for (size_t i = 0; i < stop->count; i++) {
        const struct weave_copy *c = &copies[i];
        const VkImageLayout other = layout_of_copies(c->layout);
        if (is_first_of_its_image(copies, i))
            images[args.imageMemoryBarrierCount++] =
                (VkImageMemoryBarrier){.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                       .srcAccessMask = all,
                                       .dstAccessMask = all,
                                       .oldLayout = back ? other : c->layout,
                                       .newLayout = back ? c->layout : other,
                                       .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                       .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                       .image = gen_VkImage(c->image),
                                       .subresourceRange = {c->aspects, c->level, 1, c->is_volume ? 0 : c->layer, 1}};
    }
    return put(w, GEN_vkCmdPipelineBarrier, &args);
}

static enum lap_status put_copies(struct weave *w, const struct weave_stop *stop)
{
    enum lap_status status = put_barrier(w, stop, false);

    for (size_t i = 0; i < stop->count && status == LAP_OK; i++) {
        const struct weave_copy *c = &w->plan->copies[stop->first + i];
        const VkBufferImageCopy region = {
            .bufferOffset = c->at,
            .imageSubresource = {(VkImageAspectFlags)c->aspect, c->level, c->is_volume ? 0 : c->layer, 1},
            .imageOffset = {c->x, c->y, c->is_volume ? (int32_t)c->layer : 0},
            .imageExtent = {c->width, c->height, 1}};
        const struct gen_args_vkCmdCopyImageToBuffer args = {.srcImage = gen_VkImage(c->image),
                                                             .srcImageLayout = layout_of_copies(c->layout),
                                                             .dstBuffer = gen_VkBuffer(w->result->buffer),
                                                             .regionCount = 1,
                                                             .pRegions = &region};
        status = put(w, GEN_vkCmdCopyImageToBuffer, &args);
    }
    return status == LAP_OK ? put_barrier(w, stop, true) : status;
}

static enum lap_status put_query(struct weave *w, const struct weave_stop *stop)
{
    const struct gen_args_vkCmdWriteTimestamp stamp = {.pipelineStage = VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                                       .queryPool = gen_VkQueryPool(w->result->timestamps),
                                                       .query = (uint32_t)stop->first};
    const struct gen_args_vkCmdBeginQuery begin = {.queryPool = gen_VkQueryPool(w->result->statistics),
                                                   .query = (uint32_t)stop->first};
    const struct gen_args_vkCmdEndQuery end = {.queryPool = gen_VkQueryPool(w->result->statistics),
                                               .query = (uint32_t)stop->first};

    return stop->kind == WEAVE_TIMESTAMP     ? put(w, GEN_vkCmdWriteTimestamp, &stamp)
           : stop->kind == WEAVE_BEGIN_QUERY ? put(w, GEN_vkCmdBeginQuery, &begin)
                                             : put(w, GEN_vkCmdEndQuery, &end);
}

/* All queries of the command buffer, of a pool. */
static enum lap_status put_reset(struct weave *w, enum weave_kind kind, uint64_t pool)
{
    size_t first = SIZE_MAX, end = 0;

    for (size_t i = w->next; i < w->end; i++) {
        const struct weave_stop *stop = &w->plan->stops[i];
        if (stop->kind != kind)
            continue;
        first = stop->first < first ? stop->first : first;
        end = stop->first + stop->count > end ? stop->first + stop->count : end;
    }
    if (first < end) {
        const struct gen_args_vkCmdResetQueryPool args = {
            .queryPool = gen_VkQueryPool(pool), .firstQuery = (uint32_t)first, .queryCount = (uint32_t)(end - first)};
        return put(w, GEN_vkCmdResetQueryPool, &args);
    }
    return LAP_OK;
}

/* Probes find zeros in their regions. */
static enum lap_status put_fill(struct weave *w)
{
    enum lap_status status = LAP_OK;
    bool any = false;

    for (size_t i = w->next; i < w->end && status == LAP_OK; i++) {
        const struct weave_stop *stop = &w->plan->stops[i];
        if (stop->kind == WEAVE_PROBE && w->plan->uses[stop->first].bytes) {
            status = probes_fill(&w->twins, &w->plan->uses[stop->first], w->result->buffer);
            any = true;
        }
    }
    return status == LAP_OK && any ? probes_wait(&w->twins) : status;
}

static enum lap_status put_stop(struct weave *w, const struct weave_stop *stop)
{
    char text[POSITION_TEXT_BYTES];
    enum lap_status status;

    if (stop->kind == WEAVE_PROBE) {
        w->use = &w->plan->uses[stop->first];
        return probes_bind(&w->probes, &w->twins, w->use);
    }
    if (stop->kind != WEAVE_COPIES)
        return put_query(w, stop);
    if (!stop->begin.count)
        return put_copies(w, stop);
    if (!w->pass || !is_same(&w->pass->begin, &stop->begin))
        return lap_fail(LAP_ERROR_UNSUPPORTED, "%s is in no render pass that can be split",
                        position_text(&stop->position, text));
    status = end_open(w);
    if (status == LAP_OK)
        status = put_end(w);
    if (status == LAP_OK)
        status = put_copies(w, stop);
    if (status == LAP_OK)
        status = add(w, is_in_pass(w, w->next, &stop->begin) ? &w->resume : &w->resume_last);
    if (status == LAP_OK)
        status = add(w, &w->again);
    return status == LAP_OK ? begin_open(w) : status;
}

/* Those at the current command. */
static enum lap_status put_stops(struct weave *w, bool before)
{
    enum lap_status status = LAP_OK;

    while (status == LAP_OK && w->next < w->end && w->plan->stops[w->next].before == before &&
           is_same(&w->plan->stops[w->next].position, &w->now))
        status = put_stop(w, &w->plan->stops[w->next++]);
    return status;
}

/* ---- command buffers ---- */

static enum lap_status add_block(struct weave *w, const struct recording *recording, unsigned depth);

static enum lap_status add_executed(struct weave *w, const struct recording *recording, size_t *at,
                                    const struct gen_args_vkCmdExecuteCommands *args, unsigned depth)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; args->pCommandBuffers && i < args->commandBufferCount && status == LAP_OK; i++, ++*at) {
        if (*at >= recording->block->executed_count || !recording->executed[*at] ||
            w->now.count + 2 > POSITION_MOST_NUMBERS)
            return lap_fail(LAP_ERROR_UNSUPPORTED, "VkCommandBuffer:%" PRIu64 ", which it executes, is not known",
                            gen_u64_VkCommandBuffer(args->pCommandBuffers[i]));
        w->now.numbers[w->now.count++] = i + 1;
        status = add_block(w, recording->executed[*at], depth + 1);
        w->now.count--;
    }
    return status;
}

/* A subpass where command buffers are not executed any more. */
static enum lap_status add_subpass(struct weave *w, uint32_t command, struct lap_args *args)
{
    if (command == GEN_vkCmdNextSubpass)
        ((struct gen_args_vkCmdNextSubpass *)(void *)args->bytes)->contents = VK_SUBPASS_CONTENTS_INLINE;
    else
        ((VkSubpassBeginInfo *)(uintptr_t)((struct gen_args_vkCmdNextSubpass2 *)(void *)args->bytes)->pSubpassBeginInfo)
            ->contents = VK_SUBPASS_CONTENTS_INLINE;
    return put(w, command, args->bytes);
}

static enum lap_status add_command(struct weave *w, const struct recording *recording, unsigned depth, uint32_t command,
                                   struct lap_args *args, const uint8_t *from, size_t bytes, size_t *executed)
{
    enum lap_status status = LAP_OK;

    switch (lap_pass_step_of(command)) {
    case LAP_PASS_BEGIN:
    case LAP_PASS_BEGIN_RENDERING:
        return begin(w, command, args);
    case LAP_PASS_NEXT:
        return add_subpass(w, command, args);
    case LAP_PASS_END:
    case LAP_PASS_END_RENDERING:
        forget_pass(w);
        break;
    case LAP_PASS_NONE:
        if (command == GEN_vkCmdExecuteCommands)
            return add_executed(w, recording, executed, (const void *)args->bytes, depth);
        if (depth && (command == GEN_vkBeginCommandBuffer || command == GEN_vkEndCommandBuffer))
            return LAP_OK;
        status = see_command(w, command, args->bytes, from, bytes);
        break;
    }
    return status == LAP_OK ? twins_add(&w->twins, from, bytes, 1) : status;
}

/* Secondary command buffers begin without state and leave none, so they may stand in the primary one themselves. */
static enum lap_status add_block(struct weave *w, const struct recording *recording, unsigned depth)
{
    struct position_blocks *blocks = &w->inner[depth];
    struct lap_args args;
    size_t executed = 0;
    enum lap_status status = blocks->reader ? LAP_OK : position_blocks_open(blocks, w->trace);

    if (status == LAP_OK)
        status = position_blocks_begin(blocks, recording->block->blob, 0);
    w->now.count++;
    for (uint32_t number = 0; status == LAP_OK; number++) {
        const uint8_t *from = blocks->block.dec.p;
        uint32_t command;
        status = position_blocks_next(blocks, &command, &args);
        w->now.numbers[w->now.count - 1] = number;
        if (status == LAP_OK)
            status = put_stops(w, true);
        if (status == LAP_OK)
            status =
                add_command(w, recording, depth, command, &args, from, (size_t)(blocks->block.dec.p - from), &executed);
        if (status == LAP_OK && !depth && command == GEN_vkBeginCommandBuffer) {
            status = put_reset(w, WEAVE_TIMESTAMP, w->result->timestamps);
            if (status == LAP_OK)
                status = put_reset(w, WEAVE_BEGIN_QUERY, w->result->statistics);
            if (status == LAP_OK)
                status = put_fill(w);
        }
        if (status == LAP_OK && w->use) {
            status = probes_restore(&w->probes, &w->twins, w->use);
            w->use = NULL;
        }
        if (status == LAP_OK)
            status = put_stops(w, false);
    }
    w->now.count--;
    return status == LAP_END ? LAP_OK : status;
}

static enum lap_status put_twin(struct weave *w, struct primary *primary)
{
    char text[POSITION_TEXT_BYTES];
    enum lap_status status;

    w->now = primary->position;
    w->next = primary->first;
    w->end = primary->end;
    w->suspends = false;
    twins_begin(&w->twins);
    status = add_block(w, primary->recording, 0);
    forget_pass(w);
    if (status == LAP_OK && w->next < w->end)
        status = lap_fail(LAP_ERROR_ARGUMENT, "%s is no command that is run there",
                          position_text(&w->plan->stops[w->next].position, text));
    if (status != LAP_OK)
        return status;
    primary->suspends = w->suspends;
    primary->in_place = w->plan->in_place && primary->recording->submits == 1 && !primary->recording->is_new;
    return primary->in_place ? twins_replace(&w->twins, primary->recording)
                             : twins_put(&w->twins, primary->recording, &primary->twin);
}

/* Gives submits their twins: primaries of one follow each other. */
static enum lap_status put_submits(struct weave *w)
{
    struct twins_use *uses = calloc(w->primary_count, sizeof *uses);
    enum lap_status status = uses ? LAP_OK : lap_no_memory("command buffers with more in them");

    for (size_t first = 0, end; first < w->primary_count && status == LAP_OK; first = end) {
        size_t count = 0;
        for (end = first; end < w->primary_count && w->primaries[end].ticket == w->primaries[first].ticket; end++)
            if (!w->primaries[end].in_place)
                uses[count++] = (struct twins_use){.ticket = w->primaries[end].ticket,
                                                   .batch = w->primaries[end].batch,
                                                   .buffer = w->primaries[end].buffer,
                                                   .number = w->primaries[end].twin};
        if (count)
            status = twins_submit(&w->twins, uses, count,
                                  w->plan->ends && end == w->primary_count && !w->primaries[end - 1].suspends);
    }
    free(uses);
    return status;
}

static enum lap_status add_edits(struct weave *w)
{
    enum lap_status status = twins_init(&w->twins, w->trace, &w->recordings, w->edits);

    if (status == LAP_OK)
        status = put_objects(w);
    for (size_t i = 0; i < w->primary_count && status == LAP_OK; i++)
        status = put_twin(w, &w->primaries[i]);
    if (status == LAP_OK)
        status = put_submits(w);
    w->result->ticket = w->primaries[w->primary_count - 1].ticket;
    if (status == LAP_OK && w->plan->ends)
        lap_edits_end_at(w->edits, w->result->ticket);
    return status;
}

static void finish(struct weave *w)
{
    twins_finish(&w->twins);
    probes_finish(&w->probes);
    recordings_finish(&w->recordings);
    for (unsigned i = 0; i < POSITION_MOST_NUMBERS; i++)
        if (w->inner[i].reader)
            position_blocks_close(&w->inner[i]);
    lap_arena_finish(&w->arena);
    free(w->passes);
    free(w->primaries);
    free(w->devices);
    free(w->begun);
    free(w->resume.data);
    free(w->resume_last.data);
    free(w->again.data);
    free(w);
}

enum lap_status edit_weave(const struct lap_reader *trace, const struct weave_plan *plan, struct lap_edits *edits,
                           struct weave_result *result)
{
    struct weave *w = calloc(1, sizeof *w);
    enum lap_status status = w ? LAP_OK : lap_no_memory("command buffers with more in them");

    *result = (struct weave_result){.buffer = 0};
    if (!w)
        return status;
    w->trace = trace;
    w->plan = plan;
    w->edits = edits;
    w->result = result;
    lap_arena_init(&w->arena, 0);
    status = probes_init(&w->probes, plan->probes, plan->probe_count);
    for (size_t i = 0; i < plan->stop_count && status == LAP_OK; i++)
        status = list_stop(w, i);
    if (status == LAP_OK)
        status = read_trace(w);
    if (status == LAP_OK)
        status = add_edits(w);
    finish(w);
    return status;
}
