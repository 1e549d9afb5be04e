/* SPDX-License-Identifier: MIT */
#include "replayer/fresh.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/slab.h"
#include "codegen/support/block.h"
#include "codegen/support/dictionary.h"
#include "gen_replay.h"
#include "replayer/planner.h"
#include "replayer/player.h"
#include "replayer/resource.h"

/* Of memories, and of runs in all of them. Of more nothing is known: what is bound there counts as new. */
#define MOST_RECORDS (1u << 20)

/* Bytes that objects have had. Runs of one memory neither overlap nor touch. */
struct run {
    struct lap_tree_node node;
};

struct memory {
    struct lap_tree_node *runs;
    bool zeroed;
};

struct replay_fresh {
    struct lap_map memories; /* by their index in the trace */
    struct lap_slab memory_slab, run_slab;
    uint32_t memory_count, run_count;
    bool said_left;
};

/* ---- what the program's memory is used for ---- */

static struct replay_fresh *need(struct replay *r)
{
    struct replay_fresh *fresh = r->fresh;

    if (fresh)
        return fresh;
    fresh = r->fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return NULL;
    lap_map_init(&fresh->memories);
    lap_slab_init(&fresh->memory_slab, (sizeof(struct memory) + 15) & ~(size_t)15);
    lap_slab_init(&fresh->run_slab, (sizeof(struct run) + 15) & ~(size_t)15);
    return fresh;
}

static struct memory *add_memory(struct replay *r, uint64_t index)
{
    struct replay_fresh *fresh = need(r);
    struct memory *memory;

    if (!fresh || !index || fresh->memory_count == MOST_RECORDS)
        return NULL;
    memory = lap_slab_take(&fresh->memory_slab);
    if (!memory)
        return NULL;
    *memory = (struct memory){.runs = NULL};
    if (lap_map_put(&fresh->memories, index, memory, NULL) != LAP_OK) {
        lap_slab_give(&fresh->memory_slab, memory);
        return NULL;
    }
    fresh->memory_count++;
    return memory;
}

static void end_run(struct replay_fresh *fresh, struct memory *memory, struct lap_tree_node *node)
{
    lap_tree_remove(&memory->runs, node);
    lap_slab_give(&fresh->run_slab, (char *)node - offsetof(struct run, node));
    fresh->run_count--;
}

static void end_memory(struct replay_fresh *fresh, uint64_t index)
{
    struct memory *memory = lap_map_remove(&fresh->memories, index);

    if (!memory)
        return;
    while (memory->runs)
        end_run(fresh, memory, memory->runs);
    lap_slab_give(&fresh->memory_slab, memory);
    fresh->memory_count--;
}

void replay_fresh_finish(struct replay *r)
{
    if (!r->fresh)
        return;
    lap_map_finish(&r->fresh->memories);
    lap_slab_finish(&r->fresh->memory_slab);
    lap_slab_finish(&r->fresh->run_slab);
    free(r->fresh);
    r->fresh = NULL;
}

static void observe_allocation(struct replay *r, const struct gen_args_vkAllocateMemory *args)
{
    const VkMemoryAllocateFlagsInfo *flags =
        args->pAllocateInfo
            ? replay_chain_find(args->pAllocateInfo->pNext, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO)
            : NULL;
    struct memory *memory;

    if (!flags || !(flags->flags & REPLAY_ALLOCATE_ZERO_INITIALIZE) || !args->pMemory)
        return; /* its record is made when it is used */
    end_memory(need(r) ? r->fresh : NULL, gen_u64_VkDeviceMemory(*args->pMemory));
    memory = add_memory(r, gen_u64_VkDeviceMemory(*args->pMemory));
    if (memory)
        memory->zeroed = true;
}

void replay_fresh_observe(struct replay *r)
{
    struct lap_dec_source indices;
    struct lap_args args;
    struct lap_dec dec;

    if (r->command != GEN_vkAllocateMemory && (r->command != GEN_vkFreeMemory || !r->fresh))
        return;
    indices = lap_dictionary_source(r->dictionary);
    lap_arena_reset(&r->arena);
    lap_dec_init(&dec, r->packet.body, r->packet.bytes, &r->arena, &indices);
    gen_decode_table[r->command](&dec, args.bytes);
    if (dec.status != LAP_OK)
        return;
    if (r->command == GEN_vkAllocateMemory)
        observe_allocation(r, (const void *)args.bytes);
    else
        end_memory(r->fresh,
                   gen_u64_VkDeviceMemory(((const struct gen_args_vkFreeMemory *)(void *)args.bytes)->memory));
}

/* False: the bytes were used. */
static bool use(struct replay_fresh *fresh, struct memory *memory, uint64_t begin, uint64_t end)
{
    struct lap_tree_node *node = lap_tree_first(memory->runs, begin, begin + 1);
    struct run *run;

    if (node && node->end >= end)
        return false;
    while ((node = lap_tree_first(memory->runs, begin ? begin - 1 : 0, end + 1))) {
        begin = node->begin < begin ? node->begin : begin;
        end = node->end > end ? node->end : end;
        end_run(fresh, memory, node);
    }
    run = fresh->run_count < MOST_RECORDS ? lap_slab_take(&fresh->run_slab) : NULL;
    if (!run)
        return true;
    run->node = (struct lap_tree_node){.begin = begin, .end = end};
    lap_tree_insert(&memory->runs, &run->node);
    fresh->run_count++;
    return true;
}

enum replay_contents replay_fresh_bind(struct replay *r, uint64_t index, uint64_t offset, uint64_t bytes)
{
    struct memory *memory = need(r) ? lap_map_get(&r->fresh->memories, index) : NULL;

    if (!memory)
        memory = add_memory(r, index);
    if (!memory || !bytes || offset > UINT64_MAX / 2 || bytes > UINT64_MAX / 2)
        return REPLAY_CONTENTS_NEW;
    return !use(r->fresh, memory, offset, offset + bytes) ? REPLAY_CONTENTS_USED
           : memory->zeroed                               ? REPLAY_CONTENTS_ZERO
                                                          : REPLAY_CONTENTS_NEW;
}

bool replay_fresh_is_zeroed(const struct replay *r, uint64_t index)
{
    const struct memory *memory = r->fresh ? lap_map_get(&r->fresh->memories, index) : NULL;

    return memory && memory->zeroed;
}

/* ---- where a replay puts objects ---- */

bool replay_fresh_is_stale(const struct replay *r, const struct replay_device *dev, enum replay_contents contents)
{
    if (contents == REPLAY_CONTENTS_USED || dev->zeroes_memory)
        return false;
    /* Where memory is the process's own, what was freed comes back as it was. */
    return contents == REPLAY_CONTENTS_ZERO ||
           (!r->options.leave_new_memory && dev->instance->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU);
}

VkDeviceSize replay_fresh_bytes(const struct replay *r, const struct replay_device *dev,
                                const struct replay_place *place, enum replay_contents contents)
{
    const VkMemoryPropertyFlags nobodys = VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT;

    if (contents == REPLAY_CONTENTS_USED || place->shared || replay_type_flags(dev, place->type) & nobodys ||
        (!place->host && !dev->main_queue))
        return 0;
    /* Memory that was asked for with its address was not asked to be zeroed. */
    if (replay_fresh_is_stale(r, dev, contents) || (contents == REPLAY_CONTENTS_ZERO && place->address_memory))
        return place->bytes;
    return contents == REPLAY_CONTENTS_ZERO || !r->options.leave_new_memory ? place->stale_bytes : 0;
}

static void say_left(struct replay *r)
{
    if (r->fresh && !r->fresh->said_left)
        lap_log(r->log, LAP_LOG_WARNING, "new objects begin as their memory comes, not as zeroes: %s",
                lap_error_message());
    if (r->fresh)
        r->fresh->said_left = true;
}

/* The buffer over a block; NULL: there can be none. */
static struct replay_byte_buffer *block_buffer(struct replay *r, struct replay_device *dev, struct replay_block *block)
{
    const struct replay_place all = {
        .memory = block->memory, .bytes = block->bytes, .type = block->type, .memory_bytes = block->bytes};

    if (!block->has_no_buffer && !block->whole.buffer)
        block->has_no_buffer = replay_byte_buffer_need(r, dev, &all, &block->whole) != LAP_OK;
    return block->has_no_buffer ? NULL : &block->whole;
}

enum lap_status replay_fresh_begin(struct replay *r, struct replay_device *dev, const struct replay_place *place,
                                   enum replay_contents contents, bool is_written, VkDeviceSize bytes,
                                   struct replay_byte_buffer *own)
{
    VkDeviceSize stale = is_written ? bytes : replay_fresh_bytes(r, dev, place, contents);
    struct replay_byte_buffer *whole;
    enum lap_status status;

    stale = stale < bytes ? stale : bytes;
    if (!stale)
        return LAP_OK;
    if (place->host)
        return replay_place_write(r, dev, place, 0, NULL, (size_t)stale);
    whole = place->pool ? block_buffer(r, dev, place->range.block) : NULL;
    if (whole) /* ranges of blocks consist of whole granules, which are multiples of 4 */
        return replay_stage_fresh(r, dev, &whole->staged, whole->buffer, place->offset, (stale + 3) & ~(VkDeviceSize)3);
    status = own ? replay_byte_buffer_need(r, dev, place, own)
                 : replay_fail(r, "no buffer can lie over the memory of a sparse one");
    if (status == LAP_OK)
        return replay_stage(r, dev, &own->staged, own->buffer, own->skip, NULL, (size_t)stale);
    if (is_written)
        return status;
    say_left(r);
    return LAP_OK;
}
