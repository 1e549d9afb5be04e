/* SPDX-License-Identifier: MIT */
#include "replayer/memory/new_memory.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/slab.h"
#include "gen_replay.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/memory/allocation.h"
#include "replayer/memory/memory_internal.h"
#include "vulkan/block.h"
#include "vulkan/chain.h"
#include "vulkan/dictionary.h"

/* Bound on memories, and on runs in all of them. Memory beyond it is untracked: every object bound there counts as
 * new. */
#define MOST_RECORDS (1u << 20)

/* Bytes that objects have occupied. Runs of one memory neither overlap nor touch. */
struct run {
    struct lap_tree_node node;
};

struct memory {
    struct lap_tree_node *runs;
    bool zeroed;
};

struct replay_new_memory {
    struct lap_map memories; /* by their index in the trace */
    struct lap_slab memory_slab, run_slab;
    uint32_t memory_count, run_count;
    bool warned_left;
};

/* ---- the use of the program's memory ---- */

static struct replay_new_memory *need(struct replay_device *dev)
{
    struct replay_new_memory *records = dev->memory.planner->new_memory;

    if (records)
        return records;
    records = dev->memory.planner->new_memory = calloc(1, sizeof *records);
    if (!records)
        return NULL;
    lap_map_init(&records->memories);
    lap_slab_init(&records->memory_slab, (sizeof(struct memory) + 15) & ~(size_t)15);
    lap_slab_init(&records->run_slab, (sizeof(struct run) + 15) & ~(size_t)15);
    return records;
}

static struct memory *add_memory(struct replay_device *dev, uint64_t index)
{
    struct replay_new_memory *records = need(dev);
    struct memory *memory;

    if (!records || !index || records->memory_count == MOST_RECORDS)
        return NULL;
    memory = lap_slab_alloc(&records->memory_slab);
    if (!memory)
        return NULL;
    *memory = (struct memory){.runs = NULL};
    if (lap_map_put(&records->memories, index, memory, NULL) != LAP_OK) {
        lap_slab_free(&records->memory_slab, memory);
        return NULL;
    }
    records->memory_count++;
    return memory;
}

static void end_run(struct replay_new_memory *records, struct memory *memory, struct lap_tree_node *node)
{
    lap_tree_remove(&memory->runs, node);
    lap_slab_free(&records->run_slab, (char *)node - offsetof(struct run, node));
    records->run_count--;
}

static void end_memory(struct replay_new_memory *records, uint64_t index)
{
    struct memory *memory = lap_map_remove(&records->memories, index);

    if (!memory)
        return;
    while (memory->runs)
        end_run(records, memory, memory->runs);
    lap_slab_free(&records->memory_slab, memory);
    records->memory_count--;
}

void replay_new_memory_finish(struct replay_device *dev)
{
    struct replay_new_memory *records = dev->memory.planner->new_memory;

    if (!records)
        return;
    lap_map_finish(&records->memories);
    lap_slab_finish(&records->memory_slab);
    lap_slab_finish(&records->run_slab);
    free(records);
    dev->memory.planner->new_memory = NULL;
}

static void observe_allocation(struct replay_device *dev, const struct gen_args_vkAllocateMemory *args)
{
    const VkMemoryAllocateFlagsInfo *flags =
        args->pAllocateInfo ? lap_chain_find(args->pAllocateInfo->pNext, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO)
                            : NULL;
    struct replay_new_memory *records;
    struct memory *memory;

    if (!flags || !(flags->flags & REPLAY_ALLOCATE_ZERO_INITIALIZE) || !args->pMemory)
        return; /* the first bind creates its record */
    records = need(dev);
    if (!records)
        return;
    end_memory(records, gen_u64_VkDeviceMemory(*args->pMemory));
    memory = add_memory(dev, gen_u64_VkDeviceMemory(*args->pMemory));
    if (memory)
        memory->zeroed = true;
}

void replay_new_memory_observe(struct replay *r)
{
    const struct replay_object *object;
    struct lap_dec_source indices;
    struct replay_device *dev;
    struct lap_args args;
    struct lap_dec dec;

    if (r->at.command != GEN_vkAllocateMemory && r->at.command != GEN_vkFreeMemory)
        return;
    indices = lap_dictionary_source(r->dictionary);
    lap_arena_reset(&r->arena);
    lap_dec_init(&dec, r->at.packet.body, r->at.packet.bytes, &r->arena, &indices);
    gen_decode_table[r->at.command](&dec, args.bytes);
    if (dec.status != LAP_OK)
        return;
    /* Both commands have the device as their first parameter. */
    object = replay_object_get(r, GEN_HANDLE_VkDevice,
                               gen_u64_VkDevice(((const struct gen_args_vkFreeMemory *)(void *)args.bytes)->device));
    dev = object ? object->owner : NULL;
    if (!dev || !dev->memory.planner)
        return;
    if (r->at.command == GEN_vkAllocateMemory)
        observe_allocation(dev, (const void *)args.bytes);
    else if (dev->memory.planner->new_memory)
        end_memory(dev->memory.planner->new_memory,
                   gen_u64_VkDeviceMemory(((const struct gen_args_vkFreeMemory *)(void *)args.bytes)->memory));
}

/* Marks bytes as used. Returns false if all of them were used before. */
static bool use(struct replay_new_memory *records, struct memory *memory, uint64_t begin, uint64_t end)
{
    struct lap_tree_node *node = lap_tree_first(memory->runs, begin, begin + 1);
    struct run *run;

    if (node && node->end >= end)
        return false;
    while ((node = lap_tree_first(memory->runs, begin ? begin - 1 : 0, end + 1))) {
        begin = node->begin < begin ? node->begin : begin;
        end = node->end > end ? node->end : end;
        end_run(records, memory, node);
    }
    run = records->run_count < MOST_RECORDS ? lap_slab_alloc(&records->run_slab) : NULL;
    if (!run)
        return true;
    run->node = (struct lap_tree_node){.begin = begin, .end = end};
    lap_tree_insert(&memory->runs, &run->node);
    records->run_count++;
    return true;
}

enum replay_memory_contents replay_new_memory_bind(struct replay_device *dev, uint64_t index, uint64_t offset,
                                                   uint64_t bytes)
{
    struct memory *memory = need(dev) ? lap_map_get(&dev->memory.planner->new_memory->memories, index) : NULL;

    if (!memory)
        memory = add_memory(dev, index);
    if (!memory || !bytes || offset > UINT64_MAX / 2 || bytes > UINT64_MAX / 2)
        return REPLAY_CONTENTS_NEW;
    return !use(dev->memory.planner->new_memory, memory, offset, offset + bytes) ? REPLAY_CONTENTS_USED
           : memory->zeroed                                                      ? REPLAY_CONTENTS_ZERO
                                                                                 : REPLAY_CONTENTS_NEW;
}

bool replay_new_memory_is_zeroed(const struct replay_device *dev, uint64_t index)
{
    const struct replay_new_memory *records = dev->memory.planner->new_memory;
    const struct memory *memory = records ? lap_map_get(&records->memories, index) : NULL;

    return memory && memory->zeroed;
}

/* ---- initial contents in the replay ---- */

bool replay_new_memory_is_stale(const struct replay *r, const struct replay_device *dev,
                                enum replay_memory_contents contents)
{
    if (contents == REPLAY_CONTENTS_USED || dev->memory.zeroed)
        return false;
    /* A CPU device takes memory from this process: freed memory comes back with its old contents. */
    return contents == REPLAY_CONTENTS_ZERO ||
           (!r->options.leave_new_memory && dev->instance->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU);
}

VkDeviceSize replay_new_memory_bytes(const struct replay *r, const struct replay_device *dev,
                                     const struct replay_memory_place *place, enum replay_memory_contents contents)
{
    const VkMemoryPropertyFlags nobodys = VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT;

    if (contents == REPLAY_CONTENTS_USED || place->is_prepared ||
        replay_memory_type_flags(dev, place->type) & nobodys || (!place->host && !dev->queues.main))
        return 0;
    if (replay_new_memory_is_stale(r, dev, contents) || (contents == REPLAY_CONTENTS_ZERO && place->not_zeroed))
        return place->bytes;
    return contents == REPLAY_CONTENTS_ZERO || !r->options.leave_new_memory ? place->stale_bytes : 0;
}

static void say_left(struct replay *r, struct replay_device *dev)
{
    struct replay_new_memory *records = need(dev);

    if (records && !records->warned_left)
        lap_log(r->log, LAP_LOG_WARNING, "new objects begin as their memory comes, not as zeroes: %s",
                lap_error_message());
    if (records)
        records->warned_left = true;
}

/* The buffer over a block; NULL: none can be created. */
static struct replay_overlay_buffer *block_buffer(struct replay *r, struct replay_device *dev,
                                                  struct replay_memory_block *block)
{
    const struct replay_memory_place all = {
        .memory = block->memory, .bytes = block->bytes, .type = block->type, .memory_bytes = block->bytes};

    if (!block->has_no_buffer && !block->whole.buffer)
        block->has_no_buffer = replay_overlay_buffer_need(r, dev, &all, &block->whole) != LAP_OK;
    return block->has_no_buffer ? NULL : &block->whole;
}

enum lap_status replay_new_memory_begin(struct replay *r, struct replay_device *dev,
                                        const struct replay_memory_place *place, enum replay_memory_contents contents,
                                        bool is_written, VkDeviceSize bytes, struct replay_overlay_buffer *own)
{
    VkDeviceSize stale = is_written ? bytes : replay_new_memory_bytes(r, dev, place, contents);
    struct replay_overlay_buffer *whole;
    enum lap_status status;

    stale = stale < bytes ? stale : bytes;
    if (!stale)
        return LAP_OK;
    if (place->host)
        return replay_memory_place_write(r, dev, place, 0, NULL, (size_t)stale);
    whole = place->block_list ? block_buffer(r, dev, place->range.block) : NULL;
    if (whole) /* ranges of blocks consist of whole granules, which are multiples of 4 */
        return replay_staging_zero_new(r, dev, &whole->staged, whole->buffer, place->offset,
                                       (stale + 3) & ~(VkDeviceSize)3);
    status = own ? replay_overlay_buffer_need(r, dev, place, own)
                 : replay_fail(r, "no buffer can lie over the memory of a sparse one");
    if (status == LAP_OK)
        return replay_staging_write(r, dev, &own->staged, own->buffer, own->skip, NULL, (size_t)stale);
    if (is_written)
        return status;
    say_left(r, dev);
    return LAP_OK;
}
