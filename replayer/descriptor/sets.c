/* SPDX-License-Identifier: MIT */
/*
 * sets: regions of the sets that command buffers bind (commands.h). One chunk is bound at a time. When it is full, a
 * larger one takes its place, and the sets that are bound then move into it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_replay.h"
#include "replayer/address/address.h"
#include "replayer/core/handles.h"
#include "replayer/descriptor/commands.h"
#include "replayer/descriptor/descriptor_buffers.h"
#include "replayer/descriptor/heaps.h"
#include "replayer/device/queues.h"
#include "vulkan/chain.h"

#define FIRST_CHUNK ((VkDeviceSize)64 << 10)

enum lap_status replay_descriptors_no_memory(struct replay *r)
{
    return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for descriptors"));
}

/* ---- command buffers ---- */

static void clear(struct replay_descriptor_commands *c)
{
    for (size_t i = 0; i < c->region_count; i++)
        replay_descriptor_layout_release(c->regions[i].layout);
    c->region_count = c->copy_count = c->written_count = c->data_bytes = c->job_count = 0;
    c->heap_count = c->heap_copy_count = 0;
    if (c->index)
        memset(c->index, 0, c->index_size * sizeof *c->index);
    memset(c->bound, 0, sizeof c->bound);
    memset(c->sets, 0, sizeof c->sets);
    c->used = 0;
    c->chunk_bound = c->translates = c->dispatched = false;
    c->work = 0;
}

static void finish(struct replay *r, struct replay_device *dev, struct replay_descriptor_commands *c)
{
    clear(c);
    for (size_t i = 0; i < c->chunk_count; i++)
        replay_own_buffer_free(r, dev, &c->chunks[i]);
    replay_translation_free(r, dev, &c->translation);
    free(c->chunks);
    free(c->regions);
    free(c->index);
    free(c->copies);
    free(c->written);
    free(c->data);
    free(c->jobs);
    free(c->heaps);
    free(c->heap_copies);
    free(c);
}

struct finishing {
    struct replay *r;
    struct replay_device *dev;
};

static void finish_one(void *user, uint64_t commands, void *data)
{
    struct finishing *finishing = user;

    (void)commands;
    finish(finishing->r, finishing->dev, data);
}

void replay_descriptor_commands_finish(struct replay *r, struct replay_device *dev)
{
    struct finishing finishing = {r, dev};

    lap_map_each(&dev->descriptors.buffers->commands, finish_one, &finishing);
}

struct replay_descriptor_commands *replay_descriptor_commands_of(const struct replay_device *dev,
                                                                 VkCommandBuffer commands)
{
    return lap_map_get(&dev->descriptors.buffers->commands, gen_u64_VkCommandBuffer(commands));
}

void replay_descriptor_buffers_forget(struct replay *r, struct replay_device *dev, VkCommandBuffer commands)
{
    struct replay_descriptor_commands *c =
        dev->descriptors.buffers && commands
            ? lap_map_remove(&dev->descriptors.buffers->commands, gen_u64_VkCommandBuffer(commands))
            : NULL;

    if (c)
        finish(r, dev, c);
}

enum lap_status replay_descriptor_buffers_begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands)
{
    struct replay_descriptor_commands *c;

    if (!dev->descriptors.buffers)
        return LAP_OK;
    c = replay_descriptor_commands_of(dev, commands);
    if (!c) {
        c = calloc(1, sizeof *c);
        if (!c ||
            lap_map_put(&dev->descriptors.buffers->commands, gen_u64_VkCommandBuffer(commands), c, NULL) != LAP_OK) {
            free(c);
            return replay_descriptors_no_memory(r);
        }
    }
    clear(c);
    for (; c->chunk_count > 1; c->chunk_count--) { /* the largest one is enough */
        replay_own_buffer_free(r, dev, &c->chunks[c->chunk_count - 2]);
        c->chunks[c->chunk_count - 2] = c->chunks[c->chunk_count - 1];
    }
    dev->descriptors.buffers->playing = c;
    return LAP_OK;
}

/* ---- regions ---- */

static size_t place_of(const struct replay_descriptor_commands *c, VkDeviceAddress from,
                       const struct replay_descriptor_layout *layout)
{
    uint64_t hash = (from ^ (uint64_t)(uintptr_t)layout << 20) * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash >> 20) & (c->index_size - 1);

    for (; c->index[at]; at = (at + 1) & (c->index_size - 1)) {
        const struct replay_region *region = &c->regions[c->index[at] - 1];
        if (region->from == from && region->layout == layout && !region->frozen && region->chunk + 1 == c->chunk_count)
            break;
    }
    return at;
}

static bool grow_index(struct replay_descriptor_commands *c)
{
    size_t size = c->index_size ? c->index_size * 2 : 64;
    uint32_t *grown;

    if (c->region_count * 2 < c->index_size)
        return true;
    grown = calloc(size, sizeof *grown);
    if (!grown)
        return false;
    free(c->index);
    c->index = grown;
    c->index_size = size;
    for (size_t i = 0; i < c->region_count; i++) {
        size_t at = place_of(c, c->regions[i].from, c->regions[i].layout);
        while (c->index[at])
            at = (at + 1) & (c->index_size - 1);
        c->index[at] = (uint32_t)i + 1;
    }
    return true;
}

uint32_t replay_region_elements(const struct replay_region *region, const struct replay_descriptor_binding *binding)
{
    VkDeviceAddress begin = region->from + binding->from;
    uint64_t element = (uint64_t)binding->from_stride + binding->from_samplers, room;

    if (begin < region->from || begin >= region->end || !element)
        return 0;
    room = (region->end - begin) / element;
    if (binding->from_samplers) /* the samplers lie behind all images */
        return room < binding->count ? 0 : binding->count;
    return room < binding->count ? (uint32_t)room : binding->count;
}

/* The bytes of a set in a chunk: its last binding may be shorter than its layout. */
static VkDeviceSize room_of(const struct replay_region *region)
{
    const struct replay_descriptor_layout *layout = region->layout;
    VkDeviceSize bytes = 4;

    for (uint32_t i = 0; i < layout->count; i++) {
        const struct replay_descriptor_binding *binding = &layout->bindings[i];
        uint32_t count = binding->to_samplers ? binding->count : replay_region_elements(region, binding);
        VkDeviceSize end = binding->to + (VkDeviceSize)count * (binding->to_stride + binding->to_samplers);
        bytes = end > bytes ? end : bytes;
    }
    return bytes < layout->to_bytes && layout->count == 0 ? layout->to_bytes : bytes;
}

static enum lap_status bind_chunk(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                  struct replay_descriptor_commands *c)
{
    const struct replay_own_buffer *chunk = &c->chunks[c->chunk_count - 1];
    const bool pushes = dev->descriptors.buffers->sizes.pushes_need_buffer;
    const VkDescriptorBufferBindingPushDescriptorBufferHandleEXT pushed = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_BUFFER_BINDING_PUSH_DESCRIPTOR_BUFFER_HANDLE_EXT,
        .buffer = chunk->buffer};
    const VkDescriptorBufferBindingInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_BUFFER_BINDING_INFO_EXT,
        .pNext = pushes ? (void *)(uintptr_t)&pushed : NULL, /* older headers: not const */
        .address = chunk->address,
        .usage = VK_BUFFER_USAGE_RESOURCE_DESCRIPTOR_BUFFER_BIT_EXT |
                 VK_BUFFER_USAGE_SAMPLER_DESCRIPTOR_BUFFER_BIT_EXT |
                 (pushes ? VK_BUFFER_USAGE_PUSH_DESCRIPTORS_DESCRIPTOR_BUFFER_BIT_EXT : 0)};

    if (!dev->vk.CmdBindDescriptorBuffersEXT)
        return replay_missing(r, GEN_vkCmdBindDescriptorBuffersEXT);
    dev->vk.CmdBindDescriptorBuffersEXT(commands, 1, &info);
    c->chunk_bound = true;
    return LAP_OK;
}

static VkDeviceSize aligned(const struct replay_device *dev, VkDeviceSize bytes)
{
    VkDeviceSize alignment = dev->descriptors.buffers->sizes.offset_alignment;
    alignment = alignment < 16 ? 16 : alignment;
    return (bytes + alignment - 1) / alignment * alignment;
}

static enum lap_status new_chunk(struct replay *r, struct replay_device *dev, struct replay_descriptor_commands *c,
                                 VkDeviceSize least)
{
    VkDeviceSize bytes = c->chunk_count ? c->chunks[c->chunk_count - 1].bytes * 2 : FIRST_CHUNK;
    VkBufferUsageFlags usage =
        VK_BUFFER_USAGE_RESOURCE_DESCRIPTOR_BUFFER_BIT_EXT | VK_BUFFER_USAGE_SAMPLER_DESCRIPTOR_BUFFER_BIT_EXT |
        (dev->descriptors.buffers->sizes.pushes_need_buffer ? VK_BUFFER_USAGE_PUSH_DESCRIPTORS_DESCRIPTOR_BUFFER_BIT_EXT
                                                            : 0);
    enum lap_status status;

    while (bytes < least)
        bytes *= 2;
    if (!lap_array_grow(&c->chunks, sizeof *c->chunks, &c->chunk_capacity, c->chunk_count + 1))
        return replay_descriptors_no_memory(r);
    status = replay_own_buffer_create(r, dev, bytes, usage, false, &c->chunks[c->chunk_count]);
    if (status != LAP_OK)
        return status;
    c->chunk_count++;
    c->used = 0;
    c->chunk_bound = false;
    return LAP_OK;
}

/* Finds or makes the region in the current chunk. LAP_END: there is no room for it. */
static enum lap_status find_region(struct replay *r, struct replay_device *dev, struct replay_descriptor_commands *c,
                                   const struct replay_bound_set *set, uint32_t *out)
{
    struct replay_region region = {
        .from = set->from, .end = set->end, .layout = set->layout, .work = c->work, .offset = c->used};
    VkDeviceSize bytes = aligned(dev, room_of(&region));
    size_t at;

    if (!grow_index(c) || !lap_array_grow(&c->regions, sizeof *c->regions, &c->region_capacity, c->region_count + 1))
        return replay_descriptors_no_memory(r);
    at = place_of(c, set->from, set->layout);
    if (c->chunk_count && c->index[at]) {
        *out = c->index[at] - 1;
        return LAP_OK;
    }
    if (!c->chunk_count || bytes > c->chunks[c->chunk_count - 1].bytes - c->used)
        return LAP_END;
    region.chunk = (uint32_t)c->chunk_count - 1;
    region.to = c->chunks[region.chunk].address + region.offset;
    c->used += bytes;
    (void)replay_descriptor_layout_keep(region.layout);
    c->regions[c->region_count] = region;
    *out = (uint32_t)c->region_count++;
    c->index[at] = *out + 1;
    return LAP_OK;
}

/* ---- binding ---- */

static const VkPipelineBindPoint points[REPLAY_POINTS] = {
    VK_PIPELINE_BIND_POINT_GRAPHICS, VK_PIPELINE_BIND_POINT_COMPUTE, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR};

/* The parameters of vkCmdSetDescriptorBufferOffsets*. */
struct offsets {
    VkCommandBuffer commands;
    VkPipelineLayout layout; /* may be null: then `sets` has the layouts */
    const VkPipelineLayoutCreateInfo *sets;
    uint32_t first, count;
    const uint32_t *buffers;
    const VkDeviceSize *offsets;
    uint32_t points; /* bit N: points[N] */
};

/* Gives the driver one set again, at its region's place. */
static void set_again(const struct replay_device *dev, VkCommandBuffer commands,
                      const struct replay_descriptor_commands *c, uint32_t point, uint32_t number)
{
    const struct replay_bound_set *set = &c->sets[point][number];
    const uint32_t first = 0;

    dev->vk.CmdSetDescriptorBufferOffsetsEXT(commands, points[point], set->pipeline_layout, number, 1, &first,
                                             &c->regions[set->region].offset);
}

/* Gives a set a region in the current chunk, which has room for it. */
static enum lap_status place_again(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                   struct replay_descriptor_commands *c, uint32_t point, uint32_t number)
{
    struct replay_bound_set *set = &c->sets[point][number];
    enum lap_status status = find_region(r, dev, c, set, &set->region);

    if (status == LAP_OK && !set->pipeline_layout)
        return replay_refuse(r, "a set that was bound without a pipeline layout has to move");
    if (status == LAP_OK)
        set_again(dev, commands, c, point, number);
    return status;
}

static bool is_set_now(const struct offsets *o, uint32_t point, uint32_t number)
{
    return o && o->points >> point & 1 && number >= o->first && number - o->first < o->count;
}

/* Makes regions of all bound sets in a new chunk, which has room for them and for `more` bytes. The sets of `now`, if
 * any, are about to be set. */
static enum lap_status move_to_new_chunk(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                         struct replay_descriptor_commands *c, VkDeviceSize more,
                                         const struct offsets *now)
{
    VkDeviceSize least = more;
    enum lap_status status;

    for (uint32_t i = 0; i < REPLAY_POINTS * REPLAY_MOST_SETS; i++) {
        const struct replay_bound_set *set = &c->sets[i / REPLAY_MOST_SETS][i % REPLAY_MOST_SETS];
        const struct replay_region region = {.from = set->from, .end = set->end, .layout = set->layout};
        if (set->layout)
            least += aligned(dev, room_of(&region));
    }
    status = new_chunk(r, dev, c, least);
    if (status == LAP_OK)
        status = bind_chunk(r, dev, commands, c);
    for (uint32_t i = 0; i < REPLAY_POINTS * REPLAY_MOST_SETS && status == LAP_OK; i++)
        if (c->sets[i / REPLAY_MOST_SETS][i % REPLAY_MOST_SETS].layout &&
            !is_set_now(now, i / REPLAY_MOST_SETS, i % REPLAY_MOST_SETS))
            status = place_again(r, dev, commands, c, i / REPLAY_MOST_SETS, i % REPLAY_MOST_SETS);
    return status;
}

enum lap_status replay_CmdBindDescriptorBuffersEXT(struct replay *r, struct replay_device *dev,
                                                   struct gen_args_vkCmdBindDescriptorBuffersEXT *args)
{
    struct replay_descriptor_commands *c = dev->descriptors.buffers ? dev->descriptors.buffers->playing : NULL;
    enum lap_status status = LAP_OK;

    if (!c)
        return replay_missing(r, GEN_vkCmdBindDescriptorBuffersEXT);
    if (args->bufferCount > REPLAY_MOST_BOUND)
        return replay_refuse(r, "%" PRIu32 " descriptor buffers are bound at once: at most %u are", args->bufferCount,
                             REPLAY_MOST_BOUND);
    for (uint32_t i = 0; i < args->bufferCount; i++) {
        c->bound[i] = args->pBindingInfos[i].address;
        c->bound_ends[i] = replay_address_end_of(dev, c->bound[i]);
        if (!c->bound_ends[i])
            return replay_fail(r, "a descriptor buffer is bound at %#" PRIx64 ", where no buffer lies", c->bound[i]);
    }
    memset(c->sets, 0, sizeof c->sets);
    if (!c->chunk_count)
        status = new_chunk(r, dev, c, 0);
    return status == LAP_OK && !c->chunk_bound ? bind_chunk(r, dev, args->commandBuffer, c) : status;
}

static struct replay_descriptor_layout *layout_of(struct replay *r, const struct replay_device *dev,
                                                  const struct offsets *o, uint32_t number)
{
    const struct replay_descriptor_pipeline_layout *layout;

    if (!o->layout)
        return number < o->sets->setLayoutCount && o->sets->pSetLayouts
                   ? lap_map_get(&dev->descriptors.buffers->layouts,
                                 replay_object_index(r, GEN_HANDLE_VkDescriptorSetLayout,
                                                     gen_u64_VkDescriptorSetLayout(o->sets->pSetLayouts[number])))
                   : NULL;
    layout = lap_map_get(&dev->descriptors.buffers->pipeline_layouts,
                         replay_object_index(r, GEN_HANDLE_VkPipelineLayout, gen_u64_VkPipelineLayout(o->layout)));
    return layout && number < layout->count ? layout->sets[number] : NULL;
}

/* Notes the sets at all bind points. *out_bytes: the most that they need in a chunk. */
static enum lap_status note_sets(struct replay *r, struct replay_device *dev, struct replay_descriptor_commands *c,
                                 const struct offsets *o, VkDeviceSize *out_bytes)
{
    *out_bytes = 0;
    if (o->first > REPLAY_MOST_SETS || o->count > REPLAY_MOST_SETS - o->first)
        return replay_refuse(r, "more than %u sets are bound", REPLAY_MOST_SETS);
    for (uint32_t i = 0; i < o->count; i++) {
        uint32_t number = o->first + i;
        struct replay_bound_set set = {.layout = layout_of(r, dev, o, number), .pipeline_layout = o->layout};
        struct replay_region region;
        if (!set.layout || !set.layout->recorded)
            return replay_fail(r, "set %" PRIu32 " is bound from a buffer, and its layout has no place there", number);
        if (o->buffers[i] >= REPLAY_MOST_BOUND || !c->bound[o->buffers[i]])
            return replay_fail(r,
                               "set %" PRIu32 " is bound from descriptor buffer %" PRIu32 ", and none is bound there",
                               number, o->buffers[i]);
        set.end = c->bound_ends[o->buffers[i]];
        if (o->offsets[i] >= set.end - c->bound[o->buffers[i]] || o->offsets[i] % 4)
            return replay_fail(r, "set %" PRIu32 " is bound at %" PRIu64 ", behind its descriptor buffer", number,
                               o->offsets[i]);
        set.from = c->bound[o->buffers[i]] + o->offsets[i];
        region = (struct replay_region){.from = set.from, .end = set.end, .layout = set.layout};
        *out_bytes += aligned(dev, room_of(&region));
        for (uint32_t point = 0; point < REPLAY_POINTS; point++)
            if (o->points >> point & 1)
                c->sets[point][number] = set;
    }
    return LAP_OK;
}

static void warn_of_stores(struct replay *r, struct replay_descriptor_buffers *d)
{
    if (!d->may_be_stored || d->warned_stored)
        return;
    d->warned_stored = true;
    (void)lap_fail(LAP_ERROR_REPLAY,
                   "sets are bound behind a dispatch, and shaders may store to buffers of descriptors: "
                   "descriptors that this command buffer stores itself are not followed");
    (void)replay_place(r, LAP_ERROR_REPLAY);
    lap_log(r->log, LAP_LOG_INFO, "%s", lap_error_message());
}

/* Finds regions for the sets, in one chunk. out: their offsets. */
static enum lap_status place_sets(struct replay *r, struct replay_device *dev, struct replay_descriptor_commands *c,
                                  const struct offsets *o, VkDeviceSize *out)
{
    VkDeviceSize bytes;
    enum lap_status status = note_sets(r, dev, c, o, &bytes);

    if (c->dispatched)
        warn_of_stores(r, dev->descriptors.buffers);
    if (status == LAP_OK && (!c->chunk_count || bytes > c->chunks[c->chunk_count - 1].bytes - c->used))
        status = move_to_new_chunk(r, dev, o->commands, c, bytes, o);
    for (uint32_t i = 0; i < o->count && status == LAP_OK; i++)
        for (uint32_t point = 0; point < REPLAY_POINTS && status == LAP_OK; point++) {
            struct replay_bound_set *set = &c->sets[point][o->first + i];
            if (!(o->points >> point & 1))
                continue;
            status = find_region(r, dev, c, set, &set->region);
            out[i] = c->regions[set->region].offset;
        }
    return status;
}

enum lap_status replay_CmdSetDescriptorBufferOffsetsEXT(struct replay *r, struct replay_device *dev,
                                                        struct gen_args_vkCmdSetDescriptorBufferOffsetsEXT *args)
{
    struct replay_descriptor_commands *c = dev->descriptors.buffers ? dev->descriptors.buffers->playing : NULL;
    struct offsets o = {.commands = args->commandBuffer,
                        .layout = args->layout,
                        .first = args->firstSet,
                        .count = args->setCount,
                        .buffers = args->pBufferIndices,
                        .offsets = args->pOffsets};
    static const uint32_t first[REPLAY_MOST_SETS];
    VkDeviceSize offsets[REPLAY_MOST_SETS];
    enum lap_status status;

    if (!c || !dev->vk.CmdSetDescriptorBufferOffsetsEXT)
        return replay_missing(r, GEN_vkCmdSetDescriptorBufferOffsetsEXT);
    for (uint32_t point = 0; point < REPLAY_POINTS; point++)
        o.points |= (uint32_t)(points[point] == args->pipelineBindPoint) << point;
    if (!o.points)
        return replay_refuse(r, "descriptors in buffers are bound for pipelines of kind %d",
                             (int)args->pipelineBindPoint);
    status = place_sets(r, dev, c, &o, offsets);
    if (status == LAP_OK)
        dev->vk.CmdSetDescriptorBufferOffsetsEXT(args->commandBuffer, args->pipelineBindPoint, args->layout,
                                                 args->firstSet, args->setCount, first, offsets);
    return status;
}

#ifdef VK_KHR_maintenance6
#define GRAPHICS_STAGES                                                                                                \
    ((VkShaderStageFlags)(VK_SHADER_STAGE_ALL_GRAPHICS | VK_SHADER_STAGE_TASK_BIT_EXT | VK_SHADER_STAGE_MESH_BIT_EXT))

enum lap_status replay_CmdSetDescriptorBufferOffsets2EXT(struct replay *r, struct replay_device *dev,
                                                         struct gen_args_vkCmdSetDescriptorBufferOffsets2EXT *args)
{
    struct replay_descriptor_commands *c = dev->descriptors.buffers ? dev->descriptors.buffers->playing : NULL;
    VkSetDescriptorBufferOffsetsInfoEXT info = *args->pSetDescriptorBufferOffsetsInfo;
    struct offsets o = {.commands = args->commandBuffer,
                        .layout = info.layout,
                        .sets = lap_chain_find(info.pNext, VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO),
                        .first = info.firstSet,
                        .count = info.setCount,
                        .buffers = info.pBufferIndices,
                        .offsets = info.pOffsets};
    static const uint32_t first[REPLAY_MOST_SETS];
    VkDeviceSize offsets[REPLAY_MOST_SETS];
    enum lap_status status;

    if (!c || !dev->vk.CmdSetDescriptorBufferOffsets2EXT)
        return replay_missing(r, GEN_vkCmdSetDescriptorBufferOffsets2EXT);
    if (!info.layout && !o.sets)
        return replay_absent(r, "layout");
    o.points = (info.stageFlags & GRAPHICS_STAGES ? 1u : 0) | (info.stageFlags & VK_SHADER_STAGE_COMPUTE_BIT ? 2u : 0) |
               (info.stageFlags & ~(GRAPHICS_STAGES | VK_SHADER_STAGE_COMPUTE_BIT) ? 4u : 0);
    status = place_sets(r, dev, c, &o, offsets);
    info.pBufferIndices = first;
    info.pOffsets = offsets;
    if (status == LAP_OK)
        dev->vk.CmdSetDescriptorBufferOffsets2EXT(args->commandBuffer, &info);
    return status;
}
#endif

enum lap_status replay_regions_thaw(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                    struct replay_descriptor_commands *c)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < REPLAY_POINTS * REPLAY_MOST_SETS && status == LAP_OK; i++) {
        const struct replay_bound_set *set = &c->sets[i / REPLAY_MOST_SETS][i % REPLAY_MOST_SETS];
        if (!set->layout || !c->regions[set->region].frozen)
            continue;
        status = place_again(r, dev, commands, c, i / REPLAY_MOST_SETS, i % REPLAY_MOST_SETS);
        if (status == LAP_END) /* it places all sets, frozen ones too */
            return move_to_new_chunk(r, dev, commands, c, 0, NULL);
    }
    return status;
}

/* ---- playing and submitting ---- */

enum lap_status replay_descriptor_buffers_end(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                              bool secondary, uint32_t family)
{
    struct replay_descriptor_commands *c =
        dev->descriptors.buffers ? replay_descriptor_commands_of(dev, commands) : NULL;
    struct replay_translation_work work = {
        .root = dev->descriptors.buffers ? dev->descriptors.buffers->table.root.address : 0};
    enum lap_status status;

    if (!c)
        return LAP_OK;
    dev->descriptors.buffers->playing = NULL;
    if (secondary || (!c->region_count && !c->heap_count))
        return LAP_OK;
    status = replay_regions_make_jobs(r, c);
    work.jobs = c->jobs;
    work.count = (uint32_t)c->job_count;
    work.data = c->data;
    work.data_bytes = c->data_bytes;
    if (status == LAP_OK && c->heap_count) {
        work.heap_translator = &dev->descriptors.buffers->heaps->translator;
        work.heap_root = dev->descriptors.buffers->heaps->table.root.address;
        status = replay_heaps_make_jobs(r, dev, c, &work.heap_jobs, &work.heap_count);
    }
    c->translates = status == LAP_OK && (work.count || work.heap_count);
    if (c->translates)
        status = replay_translation_record(r, dev, &dev->descriptors.buffers->translator, &c->translation,
                                           replay_queue_map_family(r, dev, family), &work);
    c->translates &= status == LAP_OK;
    return status;
}

enum lap_status replay_descriptor_buffers_submit(struct replay *r, struct replay_device *dev, uint32_t *count,
                                                 const VkCommandBuffer **list)
{
    VkCommandBuffer *all;
    uint32_t found = 0;

    for (uint32_t i = 0; i < *count; i++) {
        const struct replay_descriptor_commands *c = replay_descriptor_commands_of(dev, (*list)[i]);
        found += c && c->translates;
    }
    if (!found)
        return LAP_OK;
    all = replay_scratch(r, (uint64_t)*count + found, sizeof *all);
    if (!all)
        return replay_no_scratch(r);
    found = 0;
    for (uint32_t i = 0; i < *count; i++) {
        const struct replay_descriptor_commands *c = replay_descriptor_commands_of(dev, (*list)[i]);
        if (c && c->translates)
            all[found++] = c->translation.commands;
        all[found++] = (*list)[i];
    }
    *count = found;
    *list = all;
    return replay_descriptor_buffers_renew(r, dev);
}
