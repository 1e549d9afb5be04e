/* SPDX-License-Identifier: MIT */
/* Writes of the host to buffers that nothing reads before they are written over. Only of buffers that shaders can't
 * reach by addresses. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inspector/report/inside.h"
#include "vulkan/chain.h"

#define MOST_RUNS 1024u /* of a buffer; more are forgotten */

struct update { /* a packet */
    struct report_finding finding;
    uint64_t left; /* bytes that were not written over */
    unsigned runs; /* that hold it */
    bool is_read;
};

struct run { /* of bytes of a buffer */
    uint64_t begin, end;
    struct update *update;
};

struct buffer {
    bool is_followed;
    uint64_t memory, offset, size;
    struct run *runs;
    size_t count, capacity;
    struct buffer *next; /* in its memory, of those that have runs */
    bool is_listed;
};

struct bound_memory { /* of any buffer or image */
    uint64_t memory, offset, size;
};

struct updates {
    struct lap_map buffers, memories; /* struct buffer; memories: the first struct buffer that is listed */
    struct lap_map bound[2];          /* struct bound_memory: of buffers, and of images */
    struct lap_map buffer_views;      /* numbers of buffers, as pointers */
    bool is_lost;
};

static enum lap_status begin(struct report_inside *r, void *state)
{
    struct updates *u = state;

    (void)r;
    lap_map_init(&u->buffers);
    lap_map_init(&u->memories);
    lap_map_init(&u->bound[0]);
    lap_map_init(&u->bound[1]);
    lap_map_init(&u->buffer_views);
    return LAP_OK;
}

/* ---- runs ---- */

static void drop_run(struct run *run, bool is_read)
{
    struct update *update = run->update;

    update->is_read |= is_read;
    if (!--update->runs)
        free(update);
}

/* All runs of the buffer are read, or given up. */
static void read_buffer(struct buffer *b)
{
    for (size_t i = 0; i < b->count; i++)
        drop_run(&b->runs[i], true);
    b->count = 0;
}

static void free_buffer(void *user, uint64_t index, void *value)
{
    struct buffer *b = value;

    (void)user, (void)index;
    read_buffer(b);
    free(b->runs);
}

static void finish(void *state)
{
    struct updates *u = state;

    lap_map_each(&u->buffers, free_buffer, NULL);
    lap_map_finish(&u->buffers);
    lap_map_finish(&u->memories);
    lap_map_finish(&u->bound[0]);
    lap_map_finish(&u->bound[1]);
    lap_map_finish(&u->buffer_views);
}

static void read_all(void *user, uint64_t index, void *value)
{
    (void)user, (void)index;
    read_buffer(value);
}

/* Something may read these bytes of a memory. */
static enum lap_status read_memory(struct updates *u, uint64_t memory, uint64_t offset, uint64_t size)
{
    struct buffer *first = lap_map_get(&u->memories, memory), **at = &first;

    if (!first)
        return LAP_OK;
    while (*at) {
        struct buffer *b = *at;
        if (b->offset < offset + size && offset < b->offset + b->size)
            read_buffer(b);
        if (!b->count) {
            b->is_listed = false;
            *at = b->next;
        } else {
            at = &b->next;
        }
    }
    if (!first) {
        (void)lap_map_remove(&u->memories, memory);
        return LAP_OK;
    }
    return lap_map_put(&u->memories, memory, first, NULL) == LAP_OK ? LAP_OK : lap_no_memory("the report");
}

/* Takes [begin, end) from older runs, and tells of the updates that are gone as a whole. */
static enum lap_status write_over(struct report_inside *r, struct buffer *b, uint64_t begin, uint64_t end)
{
    enum lap_status status = LAP_OK;
    size_t kept = 0, count = b->count;

    for (size_t i = 0; i < count; i++) {
        struct run run = b->runs[i];
        uint64_t first = run.begin > begin ? run.begin : begin, last = run.end < end ? run.end : end;
        if (first >= last) {
            b->runs[kept++] = run;
            continue;
        }
        run.update->left -= last - first;
        if (!run.update->left && !run.update->is_read && status == LAP_OK)
            status = report_find(r, REPORT_UPDATE_UNREAD, &run.update->finding, NULL);
        if (run.begin < first && last < run.end) { /* in the middle: only the front stays known */
            run.update->is_read = true;
            run.end = first;
            b->runs[kept++] = run;
        } else if (run.begin < first) {
            run.end = first;
            b->runs[kept++] = run;
        } else if (last < run.end) {
            run.begin = last;
            b->runs[kept++] = run;
        } else {
            drop_run(&run, false);
        }
    }
    b->count = kept;
    return status;
}

static enum lap_status add_run(struct updates *u, struct buffer *b, uint64_t begin, uint64_t end, struct update *update)
{
    if (b->count >= MOST_RUNS)
        read_buffer(b);
    if (!lap_array_grow(&b->runs, sizeof *b->runs, &b->capacity, b->count + 1))
        return lap_no_memory("the report");
    b->runs[b->count++] = (struct run){begin, end, update};
    update->runs++;
    if (b->is_listed)
        return LAP_OK;
    b->next = lap_map_get(&u->memories, b->memory);
    b->is_listed = true;
    return lap_map_put(&u->memories, b->memory, b, NULL) == LAP_OK ? LAP_OK : lap_no_memory("the report");
}

/* ---- updates ---- */

struct spans {
    uint32_t count;
    const uint64_t *gaps, *sizes; /* gaps: to the end of the one before */
};

static enum lap_status see_update(struct report_inside *r, struct updates *u, const struct trace_call *call,
                                  VkBuffer handle, const struct spans *spans)
{
    struct buffer *b = lap_map_get(&u->buffers, gen_u64_VkBuffer(handle));
    struct update *update;
    enum lap_status status = LAP_OK;
    uint64_t at = 0;

    report_count(r, REPORT_UPDATE_UNREAD);
    if (!b || !b->is_followed || !b->memory || u->is_lost || r->is_blind || !spans->count)
        return LAP_OK;
    update = calloc(1, sizeof *update);
    if (!update)
        return lap_no_memory("the report");
    update->runs = 1; /* this function */
    update->finding = report_at_call(call);
    update->finding.type = GEN_HANDLE_VkBuffer;
    update->finding.index = gen_u64_VkBuffer(handle);
    for (uint32_t i = 0; i < spans->count && status == LAP_OK; i++) {
        uint64_t first, end;
        if (spans->gaps[i] > b->size || spans->sizes[i] > b->size || at > b->size)
            break; /* it is damaged */
        first = at + spans->gaps[i];
        at = end = first + spans->sizes[i];
        if (first >= end || end > b->size)
            continue;
        update->finding.bytes += end - first;
        update->left += end - first;
        status = write_over(r, b, first, end);
        if (status == LAP_OK)
            status = add_run(u, b, first, end, update);
    }
    drop_run(&(struct run){.update = update}, false);
    return status;
}

/* ---- calls ---- */

static bool is_followed(const VkBufferCreateInfo *info)
{
    const uint64_t addressed = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                               VK_BUFFER_USAGE_RESOURCE_DESCRIPTOR_BUFFER_BIT_EXT |
                               VK_BUFFER_USAGE_SAMPLER_DESCRIPTOR_BUFFER_BIT_EXT;

    return !info->flags && !(lap_chain_buffer_usage(info) & addressed) &&
           !lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
}

static enum lap_status see_buffer(struct report_inside *r, struct updates *u, const struct gen_args_vkCreateBuffer *a)
{
    struct buffer *b;

    if (!a->pCreateInfo || !a->pBuffer || !*a->pBuffer)
        return LAP_OK;
    b = lap_arena_zalloc(&r->arena, 1, sizeof *b, 8);
    if (!b || lap_map_put(&u->buffers, gen_u64_VkBuffer(*a->pBuffer), b, NULL) != LAP_OK)
        return lap_no_memory("the report");
    b->is_followed = is_followed(a->pCreateInfo);
    return LAP_OK;
}

static enum lap_status see_bound(struct report_inside *r, struct updates *u, unsigned kind, uint64_t index,
                                 const struct bound_memory *memory)
{
    struct bound_memory *copy = lap_arena_alloc(&r->arena, sizeof *copy, 8);

    if (!copy || lap_map_put(&u->bound[kind], index, copy, NULL) != LAP_OK)
        return lap_no_memory("the report");
    *copy = *memory;
    return LAP_OK;
}

static enum lap_status call(struct report_inside *r, void *state, const struct trace_call *call)
{
    struct updates *u = state;

    switch (call->command) {
    case GEN_vkCreateBuffer:
        return see_buffer(r, u, call->args);
    case GEN_vkCreateBufferView: {
        const struct gen_args_vkCreateBufferView *a = call->args;
        if (a->pCreateInfo && a->pView && *a->pView && a->pCreateInfo->buffer &&
            lap_map_put(&u->buffer_views, gen_u64_VkBufferView(*a->pView),
                        (void *)(uintptr_t)gen_u64_VkBuffer(a->pCreateInfo->buffer), NULL) != LAP_OK)
            return lap_no_memory("the report");
        return LAP_OK;
    }
    case GEN_lapilliBindBuffer: {
        const struct gen_args_lapilliBindBuffer *a = call->args;
        struct buffer *b = lap_map_get(&u->buffers, gen_u64_VkBuffer(a->buffer));
        const struct bound_memory memory = {gen_u64_VkDeviceMemory(a->memory), a->memoryOffset, a->size};
        if (b) {
            b->is_followed &= !b->memory; /* bound again, or in parts */
            b->memory = memory.memory;
            b->offset = memory.offset;
            b->size = memory.size;
        }
        return see_bound(r, u, 0, gen_u64_VkBuffer(a->buffer), &memory);
    }
    case GEN_lapilliBindImage: {
        const struct gen_args_lapilliBindImage *a = call->args;
        return see_bound(r, u, 1, gen_u64_VkImage(a->image),
                         &(struct bound_memory){gen_u64_VkDeviceMemory(a->memory), a->memoryOffset, a->size});
    }
    case GEN_vkDestroyBuffer: {
        const struct gen_args_vkDestroyBuffer *a = call->args;
        struct buffer *b = a->buffer ? lap_map_get(&u->buffers, gen_u64_VkBuffer(a->buffer)) : NULL;
        if (b) {
            read_buffer(b);
            b->is_followed = false;
        }
        return LAP_OK;
    }
    case GEN_vkSetEvent: /* work that waits for the host goes on */
    case GEN_vkSignalSemaphore:
        lap_map_each(&u->buffers, read_all, NULL);
        return LAP_OK;
    case GEN_lapilliUpdateBuffer: {
        const struct gen_args_lapilliUpdateBuffer *a = call->args;
        const uint64_t gap = a->offset, size = a->dataSize;
        return see_update(r, u, call, a->buffer, &(struct spans){1, &gap, &size});
    }
    case GEN_lapilliUpdateBufferSpans: {
        const struct gen_args_lapilliUpdateBufferSpans *a = call->args;
        uint32_t count = a->pGaps && a->pSizes ? a->spanCount : 0;
        return see_update(r, u, call, a->buffer, &(struct spans){count, a->pGaps, a->pSizes});
    }
    default:
        return LAP_OK;
    }
}

static enum lap_status use(struct report_inside *r, void *state, const struct use *use)
{
    struct updates *u = state;
    const struct bound_memory *memory = NULL;
    uint64_t index = use->object.index;

    (void)r;
    u->is_lost |= use->more;
    if ((!use->position && use->access == USE_NAMED) || use->kind == USE_BARRIER ||
        use->command == GEN_lapilliUpdateBuffer || use->command == GEN_lapilliUpdateBufferSpans)
        return LAP_OK;
    if (use->object.type == GEN_HANDLE_VkBufferView)
        index = (uintptr_t)lap_map_get(&u->buffer_views, index);
    else if (use->object.type == GEN_HANDLE_VkImageView) {
        const struct report_image_view *view = lap_map_get(&r->views, index);
        index = view ? view->image : 0;
    }
    switch (use->object.type) {
    case GEN_HANDLE_VkBuffer:
    case GEN_HANDLE_VkBufferView:
        memory = lap_map_get(&u->bound[0], index);
        break;
    case GEN_HANDLE_VkImage:
    case GEN_HANDLE_VkImageView:
        memory = lap_map_get(&u->bound[1], index);
        break;
    default:
        break;
    }
    return memory ? read_memory(u, memory->memory, memory->offset, memory->size) : LAP_OK;
}

const struct report_part report_updates = {
    .bytes = sizeof(struct updates), .begin = begin, .finish = finish, .call = call, .use = use};
