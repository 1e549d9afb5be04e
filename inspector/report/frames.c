/* SPDX-License-Identifier: MIT */
/* Counts of each frame: work, calls, bytes of the host, and memory. */
#include <string.h>

#include "base/array.h"
#include "inspector/report/inside.h"
#include "vulkan/pass.h"

struct memory { /* VkDeviceMemory */
    uint64_t bytes;
    uint32_t type;
    bool is_alive;
};

struct machine { /* VkPhysicalDevice */
    VkPhysicalDeviceMemoryProperties properties;
};

struct bound_bytes { /* of a buffer or an image */
    uint64_t bytes;
};

struct frames {
    struct lap_map memories, machines, devices; /* devices: the struct machine of each */
    struct lap_map bound[2];                    /* struct bound_bytes: of buffers, and of images */
    uint64_t bytes[2], types[VK_MAX_MEMORY_TYPES], heaps[VK_MAX_MEMORY_HEAPS], all;
};

static enum lap_status begin(struct report_inside *r, void *state)
{
    struct frames *f = state;
    struct lap_map *const maps[] = {&f->memories, &f->machines, &f->devices, &f->bound[0], &f->bound[1]};

    (void)r;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        lap_map_init(maps[i]);
    return LAP_OK;
}

static void finish(void *state)
{
    struct frames *f = state;
    struct lap_map *const maps[] = {&f->memories, &f->machines, &f->devices, &f->bound[0], &f->bound[1]};

    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        lap_map_finish(maps[i]);
}

/* NULL: the frame was not asked for, or there is no memory. */
static struct report_frame *frame_of(struct report_inside *r)
{
    struct report *report = r->report;
    struct report_frame *last = report->frame_count ? &report->frames[report->frame_count - 1] : NULL;

    if (!r->counts || !r->frame)
        return NULL;
    if (last && last->number == r->frame)
        return last;
    if (!lap_array_grow(&report->frames, sizeof *report->frames, &report->frame_capacity, report->frame_count + 1))
        return NULL;
    last = &report->frames[report->frame_count++];
    *last = (struct report_frame){.number = r->frame};
    return last;
}

/* ---- memory ---- */

static enum lap_status put(struct report_inside *r, struct lap_map *map, uint64_t key, size_t bytes, void **out)
{
    *out = lap_map_get(map, key);
    if (*out)
        return LAP_OK;
    *out = lap_arena_zalloc(&r->arena, 1, bytes, 8);
    return *out && lap_map_put(map, key, *out, NULL) == LAP_OK ? LAP_OK : lap_no_memory("the report");
}

static enum lap_status see_machine(struct report_inside *r, struct frames *f, VkPhysicalDevice machine,
                                   const VkPhysicalDeviceMemoryProperties *properties)
{
    enum lap_status status;
    void *value;

    if (!properties || !machine)
        return LAP_OK;
    status = put(r, &f->machines, gen_u64_VkPhysicalDevice(machine), sizeof(struct machine), &value);
    if (status == LAP_OK)
        ((struct machine *)value)->properties = *properties;
    return status;
}

static enum lap_status see_device(struct report_inside *r, struct frames *f, const struct gen_args_vkCreateDevice *a)
{
    enum lap_status status;
    void *machine;

    if (!a->pDevice || !*a->pDevice)
        return LAP_OK;
    status = put(r, &f->machines, gen_u64_VkPhysicalDevice(a->physicalDevice), sizeof(struct machine), &machine);
    if (status == LAP_OK && lap_map_put(&f->devices, gen_u64_VkDevice(*a->pDevice), machine, NULL) != LAP_OK)
        status = lap_no_memory("the report");
    return status;
}

static void note_peak(struct report_type *type, uint64_t bytes, const struct trace_call *call, uint64_t frame)
{
    if (bytes <= type->peak)
        return;
    type->peak = bytes;
    type->peak_ticket = call->packet->ticket;
    type->peak_frame = frame;
}

/* The memory types of the machine of a device. */
static void know_types(struct report *report, const struct machine *machine)
{
    const VkPhysicalDeviceMemoryProperties *p = machine ? &machine->properties : NULL;

    for (uint32_t i = 0; p && i < p->memoryTypeCount && i < VK_MAX_MEMORY_TYPES; i++) {
        report->memory.types[i].is_known = p->memoryTypes[i].heapIndex < VK_MAX_MEMORY_HEAPS;
        report->memory.types[i].properties = p->memoryTypes[i].propertyFlags;
        report->memory.types[i].heap = p->memoryTypes[i].heapIndex % VK_MAX_MEMORY_HEAPS;
    }
    for (uint32_t i = 0; p && i < p->memoryHeapCount && i < VK_MAX_MEMORY_HEAPS; i++)
        report->memory.heap_bytes[i] = p->memoryHeaps[i].size;
    if (p && p->memoryHeapCount <= VK_MAX_MEMORY_HEAPS && p->memoryHeapCount > report->memory.heap_count)
        report->memory.heap_count = p->memoryHeapCount;
}

static enum lap_status see_allocation(struct report_inside *r, struct frames *f, const struct trace_call *call)
{
    const struct gen_args_vkAllocateMemory *a = call->args;
    struct report_memory *m = &r->report->memory;
    struct memory *memory;
    enum lap_status status;
    uint32_t type;
    void *value;

    if (!a->pAllocateInfo || !a->pMemory || !*a->pMemory || a->pAllocateInfo->memoryTypeIndex >= VK_MAX_MEMORY_TYPES)
        return LAP_OK;
    status = put(r, &f->memories, gen_u64_VkDeviceMemory(*a->pMemory), sizeof *memory, &value);
    if (status != LAP_OK)
        return status;
    know_types(r->report, lap_map_get(&f->devices, gen_u64_VkDevice(a->device)));
    type = a->pAllocateInfo->memoryTypeIndex;
    memory = value;
    *memory = (struct memory){a->pAllocateInfo->allocationSize, type, true};
    m->type_count = type >= m->type_count ? type + 1 : m->type_count;
    f->types[type] += memory->bytes;
    f->all += memory->bytes;
    note_peak(&m->types[type], f->types[type], call, r->frame);
    note_peak(&m->all, f->all, call, r->frame);
    if (m->types[type].is_known) {
        uint64_t *heap = &f->heaps[m->types[type].heap];
        *heap += memory->bytes;
        note_peak(&m->heaps[m->types[type].heap], *heap, call, r->frame);
    }
    return LAP_OK;
}

static void see_free(struct report_inside *r, struct frames *f, uint64_t index)
{
    struct memory *memory = index ? lap_map_get(&f->memories, index) : NULL;
    const struct report_type *type = memory ? &r->report->memory.types[memory->type] : NULL;

    if (!memory || !memory->is_alive)
        return;
    memory->is_alive = false;
    f->types[memory->type] -= memory->bytes;
    f->all -= memory->bytes;
    if (type->is_known)
        f->heaps[type->heap] -= memory->bytes;
}

static enum lap_status see_bound(struct report_inside *r, struct frames *f, unsigned kind, uint64_t index,
                                 uint64_t bytes)
{
    enum lap_status status;
    void *value;

    status = put(r, &f->bound[kind], index, sizeof(struct bound_bytes), &value);
    if (status != LAP_OK)
        return status;
    ((struct bound_bytes *)value)->bytes += bytes;
    f->bytes[kind] += bytes;
    return LAP_OK;
}

static void see_end(struct frames *f, unsigned kind, uint64_t index)
{
    struct bound_bytes *bound = index ? lap_map_get(&f->bound[kind], index) : NULL;

    if (!bound)
        return;
    f->bytes[kind] -= bound->bytes;
    bound->bytes = 0;
}

static enum lap_status see_memory(struct report_inside *r, struct frames *f, const struct trace_call *call)
{
    switch (call->command) {
    case GEN_vkGetPhysicalDeviceMemoryProperties: {
        const struct gen_args_vkGetPhysicalDeviceMemoryProperties *a = call->args;
        return see_machine(r, f, a->physicalDevice, a->pMemoryProperties);
    }
    case GEN_vkGetPhysicalDeviceMemoryProperties2: {
        const struct gen_args_vkGetPhysicalDeviceMemoryProperties2 *a = call->args;
        return see_machine(r, f, a->physicalDevice,
                           a->pMemoryProperties ? &a->pMemoryProperties->memoryProperties : NULL);
    }
    case GEN_vkCreateDevice:
        return see_device(r, f, call->args);
    case GEN_vkAllocateMemory:
        return see_allocation(r, f, call);
    case GEN_vkFreeMemory:
        see_free(r, f, gen_u64_VkDeviceMemory(((const struct gen_args_vkFreeMemory *)call->args)->memory));
        return LAP_OK;
    case GEN_lapilliBindBuffer: {
        const struct gen_args_lapilliBindBuffer *a = call->args;
        return see_bound(r, f, 0, gen_u64_VkBuffer(a->buffer), a->size);
    }
    case GEN_lapilliBindImage: {
        const struct gen_args_lapilliBindImage *a = call->args;
        return see_bound(r, f, 1, gen_u64_VkImage(a->image), a->size);
    }
    case GEN_vkDestroyBuffer:
        see_end(f, 0, gen_u64_VkBuffer(((const struct gen_args_vkDestroyBuffer *)call->args)->buffer));
        return LAP_OK;
    case GEN_vkDestroyImage:
        see_end(f, 1, gen_u64_VkImage(((const struct gen_args_vkDestroyImage *)call->args)->image));
        return LAP_OK;
    default:
        return LAP_OK;
    }
}

/* ---- work ---- */

static void count_update(struct report_frame *frame, uint64_t bytes)
{
    frame->updates++;
    frame->updated_bytes += bytes;
}

static void count_call(struct report_frame *frame, const struct trace_call *call)
{
    switch (call->command) {
    case GEN_vkQueueSubmit:
    case GEN_vkQueueSubmit2:
        frame->submits++;
        break;
    case GEN_vkCreateGraphicsPipelines:
        frame->pipelines += ((const struct gen_args_vkCreateGraphicsPipelines *)call->args)->createInfoCount;
        break;
    case GEN_vkCreateComputePipelines:
        frame->pipelines += ((const struct gen_args_vkCreateComputePipelines *)call->args)->createInfoCount;
        break;
    case GEN_vkCreateRayTracingPipelinesKHR:
        frame->pipelines += ((const struct gen_args_vkCreateRayTracingPipelinesKHR *)call->args)->createInfoCount;
        break;
    case GEN_lapilliUpdateBuffer:
        count_update(frame, ((const struct gen_args_lapilliUpdateBuffer *)call->args)->dataSize);
        break;
    case GEN_lapilliUpdateBufferSpans:
        count_update(frame, ((const struct gen_args_lapilliUpdateBufferSpans *)call->args)->dataSize);
        break;
    case GEN_lapilliUpdateImage:
        count_update(frame, ((const struct gen_args_lapilliUpdateImage *)call->args)->dataSize);
        break;
    case GEN_lapilliUpdateImageSpans:
        count_update(frame, ((const struct gen_args_lapilliUpdateImageSpans *)call->args)->dataSize);
        break;
    case GEN_lapilliWriteTexels:
        count_update(frame, ((const struct gen_args_lapilliWriteTexels *)call->args)->dataSize);
        break;
    default:
        break;
    }
}

static enum lap_status call(struct report_inside *r, void *state, const struct trace_call *call)
{
    struct frames *f = state;
    enum lap_status status = see_memory(r, f, call);
    struct report_frame *frame = frame_of(r);

    if (!frame)
        return status == LAP_OK && r->counts ? lap_no_memory("the report") : status;
    count_call(frame, call);
    frame->buffer_bytes = f->bytes[0];
    frame->image_bytes = f->bytes[1];
    memcpy(frame->type_bytes, f->types, sizeof f->types);
    return status;
}

static enum lap_status behind(struct report_inside *r, void *state, const struct bound_visit *visit)
{
    struct report_frame *frame = frame_of(r);

    (void)state;
    if (!frame)
        return r->counts ? lap_no_memory("the report") : LAP_OK;
    frame->counts.commands++;
    position_count(&frame->counts, visit->work);
    frame->barriers += visit->command == GEN_vkCmdPipelineBarrier || visit->command == GEN_vkCmdPipelineBarrier2;
    return LAP_OK;
}

const struct report_part report_frames = {
    .bytes = sizeof(struct frames), .begin = begin, .finish = finish, .call = call, .behind = behind};
