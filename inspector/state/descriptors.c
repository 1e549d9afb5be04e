/* SPDX-License-Identifier: MIT */
#include "inspector/state/descriptors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"
#include "vulkan/chain.h"
#include "vulkan/conditions.h"

#define PAGE_SLOTS  64u
#define MOST_BYTES  ((uint64_t)4 << 30)  /* of all sets */
#define MOST_UNPAID (UINT64_C(1) << 24)  /* a few bytes of a trace may copy any number of descriptors */
#define UNPAID_MORE 64u                  /* and so many more for each one that is written */
#define MOST_BLOCK  (UINT32_C(64) << 10) /* bytes of an inline uniform block */
#define MOST_BLOCKS 1024u                /* of a set: they are searched in a row */

struct layout {
    struct lap_set_layout *layout;
    uint32_t immutable_count;
    struct immutable {
        uint32_t slot;
        uint64_t sampler;
    } immutable[]; /* sorted by slot */
};

struct block {
    uint32_t binding;
    struct descriptor_block shown;
    uint8_t *bytes, *known;
    size_t capacity, known_capacity;
};

struct descriptor_set {
    uint64_t index, layout_index, pool;
    struct layout *layout;                /* owned by one reference of layout->layout */
    struct descriptor_set *next, *before; /* of the pool */
    uint32_t slot_count;
    struct descriptor **pages; /* [slot / PAGE_SLOTS] NULL: no slot of it was written */
    struct block *blocks;
    size_t block_count, block_capacity;
};

/* ---- layouts ---- */

static void release_layout(struct layout *layout)
{
    /* The last reference frees it. */
    if (layout && atomic_load(&layout->layout->references) == 1) {
        lap_set_layout_release(layout->layout);
        free(layout);
    } else if (layout) {
        lap_set_layout_release(layout->layout);
    }
}

static struct layout *keep_layout(struct layout *layout)
{
    (void)lap_set_layout_keep(layout->layout);
    return layout;
}

static int compare_immutable(const void *a, const void *b)
{
    uint32_t x = ((const struct immutable *)a)->slot, y = ((const struct immutable *)b)->slot;
    return x < y ? -1 : x > y;
}

static bool has_samplers(const VkDescriptorSetLayoutBinding *binding)
{
    return binding->pImmutableSamplers && (binding->descriptorType == VK_DESCRIPTOR_TYPE_SAMPLER ||
                                           binding->descriptorType == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER);
}

static struct layout *new_layout(const VkDescriptorSetLayoutCreateInfo *info)
{
    struct lap_set_layout *layout = lap_set_layout_new(info);
    struct layout *result;
    size_t count = 0;

    for (uint32_t i = 0; info->pBindings && i < info->bindingCount; i++)
        count += has_samplers(&info->pBindings[i]) ? info->pBindings[i].descriptorCount : 0;
    result = layout ? calloc(1, sizeof *result + count * sizeof *result->immutable) : NULL;
    if (!result) {
        lap_set_layout_release(layout);
        return NULL;
    }
    result->layout = layout;
    for (uint32_t i = 0; info->pBindings && i < info->bindingCount; i++) {
        const VkDescriptorSetLayoutBinding *binding = &info->pBindings[i];
        for (uint32_t k = 0; has_samplers(binding) && k < binding->descriptorCount; k++) {
            uint32_t slot = lap_set_layout_slot(layout, binding->binding, k);
            if (slot < layout->slot_count)
                result->immutable[result->immutable_count++] =
                    (struct immutable){slot, gen_u64_VkSampler(binding->pImmutableSamplers[k])};
        }
    }
    if (result->immutable_count)
        qsort(result->immutable, result->immutable_count, sizeof *result->immutable, compare_immutable);
    return result;
}

/* The first immutable sampler at this slot or behind it; NULL: there is none. */
static const struct immutable *immutable_from(const struct layout *layout, uint32_t slot)
{
    uint32_t low = 0, high = layout->immutable_count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (layout->immutable[middle].slot < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low < layout->immutable_count ? &layout->immutable[low] : NULL;
}

static enum lap_status see_layout(struct descriptors *d, const struct gen_args_vkCreateDescriptorSetLayout *args)
{
    struct layout *layout;

    if (!args->pCreateInfo || !args->pSetLayout || !*args->pSetLayout)
        return LAP_OK;
    layout = new_layout(args->pCreateInfo);
    if (!layout)
        return lap_no_memory("descriptors");
    void *old;
    if (lap_map_put(&d->layouts, gen_u64_VkDescriptorSetLayout(*args->pSetLayout), layout, &old) != LAP_OK) {
        release_layout(layout);
        return lap_no_memory("descriptors");
    }
    release_layout(old);
    return LAP_OK;
}

/* ---- sets ---- */

static size_t page_count(const struct descriptor_set *set)
{
    return ((size_t)set->slot_count + PAGE_SLOTS - 1) / PAGE_SLOTS;
}

static void free_set(struct descriptors *d, struct descriptor_set *set)
{
    d->slots_bytes -= page_count(set) * sizeof *set->pages;
    for (size_t i = 0; i < page_count(set); i++) {
        d->slots_bytes -= set->pages[i] ? PAGE_SLOTS * sizeof **set->pages : 0;
        free(set->pages[i]);
    }
    for (size_t i = 0; i < set->block_count; i++) {
        free(set->blocks[i].bytes);
        free(set->blocks[i].known);
    }
    release_layout(set->layout);
    free(set->pages);
    free(set->blocks);
    free(set);
}

static void end_set(struct descriptors *d, uint64_t index)
{
    struct descriptor_set *set = lap_map_remove(&d->sets, index);

    if (!set)
        return;
    if (set->next)
        set->next->before = set->before;
    if (set->before)
        set->before->next = set->next;
    else if (set->next ? lap_map_put(&d->pools, set->pool, set->next, NULL) != LAP_OK : true)
        (void)lap_map_remove(&d->pools, set->pool);
    free_set(d, set);
}

static void end_pool(struct descriptors *d, uint64_t pool)
{
    struct descriptor_set *set = lap_map_remove(&d->pools, pool), *next;

    for (; set; set = next) {
        next = set->next;
        (void)lap_map_remove(&d->sets, set->index);
        free_set(d, set);
    }
}

static enum lap_status make_room(struct descriptors *d, uint64_t bytes)
{
    if (bytes > MOST_BYTES - d->slots_bytes)
        return lap_fail(LAP_ERROR_LIMIT, "more descriptors live than can be followed");
    d->slots_bytes += bytes;
    return LAP_OK;
}

static enum lap_status add_set(struct descriptors *d, const VkDescriptorSetAllocateInfo *info, uint32_t number,
                               uint64_t index)
{
    uint64_t pool = gen_u64_VkDescriptorPool(info->descriptorPool);
    uint64_t layout_index = gen_u64_VkDescriptorSetLayout(info->pSetLayouts[number]);
    struct layout *layout = lap_map_get(&d->layouts, layout_index);
    struct descriptor_set *set, *first;
    enum lap_status status;

    end_set(d, index); /* in a damaged trace it may live, as the first of its pool */
    first = lap_map_get(&d->pools, pool);
    if (!index || !layout)
        return LAP_OK;
    set = calloc(1, sizeof *set);
    if (!set)
        return lap_no_memory("descriptors");
    set->slot_count = lap_set_layout_slots(layout->layout, info, number);
    set->layout_index = layout_index;
    set->index = index;
    set->pool = pool;
    status = make_room(d, page_count(set) * sizeof *set->pages);
    set->pages = status == LAP_OK ? calloc(page_count(set) + 1, sizeof *set->pages) : NULL;
    if (!set->pages || lap_map_reserve(&d->pools) != LAP_OK || lap_map_put(&d->sets, index, set, NULL) != LAP_OK) {
        free(set->pages);
        free(set);
        return status != LAP_OK ? status : lap_no_memory("descriptors");
    }
    set->layout = keep_layout(layout);
    set->next = first;
    if (first)
        first->before = set;
    return lap_map_put(&d->pools, pool, set, NULL) == LAP_OK ? LAP_OK : lap_no_memory("descriptors");
}

static enum lap_status see_sets(struct descriptors *d, const struct gen_args_vkAllocateDescriptorSets *args)
{
    const VkDescriptorSetAllocateInfo *info = args->pAllocateInfo;
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0;
         info && info->pSetLayouts && args->pDescriptorSets && i < info->descriptorSetCount && status == LAP_OK; i++)
        status = add_set(d, info, i, gen_u64_VkDescriptorSet(args->pDescriptorSets[i]));
    return status;
}

/* ---- updates ---- */

static bool pay(struct descriptors *d, uint64_t count)
{
    d->unpaid += count;
    return d->unpaid <= MOST_UNPAID + UNPAID_MORE * d->written;
}

static enum lap_status too_many_copies(void)
{
    return lap_fail(LAP_ERROR_LIMIT, "more descriptors are copied than can be followed");
}

static enum lap_status write_slot(struct descriptors *d, struct descriptor_set *set, uint32_t slot,
                                  const struct descriptor *value)
{
    struct descriptor **page;

    if (slot >= set->slot_count)
        return LAP_OK;
    page = &set->pages[slot / PAGE_SLOTS];
    if (!*page) {
        enum lap_status status = make_room(d, PAGE_SLOTS * sizeof **page);
        if (status != LAP_OK)
            return status;
        *page = calloc(PAGE_SLOTS, sizeof **page);
        if (!*page)
            return lap_no_memory("descriptors");
    }
    (*page)[slot % PAGE_SLOTS] = *value;
    return LAP_OK;
}

static void set_object(struct descriptor *out, uint32_t type, uint64_t index)
{
    out->object_type = type;
    out->object = index;
}

static void take_structure(const void *chain, uint32_t element, struct descriptor *out)
{
    const VkWriteDescriptorSetAccelerationStructureKHR *khr =
        lap_chain_find(chain, VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_KHR);
    const VkWriteDescriptorSetAccelerationStructureNV *nv =
        lap_chain_find(chain, VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_NV);

    if (khr && khr->pAccelerationStructures && element < khr->accelerationStructureCount)
        set_object(out, GEN_HANDLE_VkAccelerationStructureKHR,
                   gen_u64_VkAccelerationStructureKHR(khr->pAccelerationStructures[element]));
    else if (nv && nv->pAccelerationStructures && element < nv->accelerationStructureCount)
        set_object(out, GEN_HANDLE_VkAccelerationStructureNV,
                   gen_u64_VkAccelerationStructureNV(nv->pAccelerationStructures[element]));
}

void descriptor_of_write(const VkWriteDescriptorSet *write, uint32_t element, struct descriptor *out)
{
    VkDescriptorType type = write->descriptorType;

    *out = (struct descriptor){.type = type};
    if (cond_descriptor_is_image(type) && write->pImageInfo) {
        const VkDescriptorImageInfo *info = &write->pImageInfo[element];
        if (type == VK_DESCRIPTOR_TYPE_SAMPLER || type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER)
            out->sampler = gen_u64_VkSampler(info->sampler);
        if (type == VK_DESCRIPTOR_TYPE_SAMPLER)
            return;
        set_object(out, GEN_HANDLE_VkImageView, gen_u64_VkImageView(info->imageView));
        out->layout = info->imageLayout;
    } else if (cond_descriptor_is_buffer(type) && write->pBufferInfo) {
        const VkDescriptorBufferInfo *info = &write->pBufferInfo[element];
        set_object(out, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(info->buffer));
        out->offset = info->offset;
        out->range = info->range;
    } else if (cond_descriptor_is_texel_buffer(type) && write->pTexelBufferView) {
        set_object(out, GEN_HANDLE_VkBufferView, gen_u64_VkBufferView(write->pTexelBufferView[element]));
    } else {
        take_structure(write->pNext, element, out);
    }
}

static struct block *block_at(struct descriptor_set *set, uint32_t binding)
{
    for (size_t i = 0; i < set->block_count; i++)
        if (set->blocks[i].binding == binding)
            return &set->blocks[i];
    if (set->block_count == MOST_BLOCKS ||
        !lap_array_grow(&set->blocks, sizeof *set->blocks, &set->block_capacity, set->block_count + 1))
        return NULL;
    set->blocks[set->block_count] = (struct block){.binding = binding};
    return &set->blocks[set->block_count++];
}

/* bytes NULL: they are not known. */
static enum lap_status write_bytes(struct descriptor_set *set, uint32_t binding, uint32_t offset, const void *bytes,
                                   const uint8_t *known, uint32_t count, uint64_t ticket)
{
    struct block *block = block_at(set, binding);
    size_t end = (size_t)offset + count;

    if (end > MOST_BLOCK)
        return lap_fail(LAP_ERROR_LIMIT, "an inline uniform block has %zu bytes", end);
    if (!block)
        return set->block_count == MOST_BLOCKS ? lap_fail(LAP_ERROR_LIMIT, "a descriptor set has too many blocks")
                                               : lap_no_memory("descriptors");
    if (!lap_array_grow(&block->bytes, 1, &block->capacity, end) ||
        !lap_array_grow(&block->known, 1, &block->known_capacity, end))
        return lap_no_memory("descriptors");
    for (; block->shown.size < end; block->shown.size++)
        block->bytes[block->shown.size] = block->known[block->shown.size] = 0;
    memmove(block->bytes + offset, bytes, count);
    if (known)
        memmove(block->known + offset, known, count);
    else
        memset(block->known + offset, 1, count);
    block->shown.bytes = block->bytes;
    block->shown.known = block->known;
    block->shown.ticket = ticket;
    return LAP_OK;
}

/* The same for bytes that may go on in the next bindings. */
static enum lap_status write_blocks(struct descriptor_set *set, uint32_t binding, uint32_t offset, const uint8_t *bytes,
                                    const uint8_t *known, uint32_t count, uint64_t ticket)
{
    enum lap_status status = LAP_OK;
    uint32_t left;

    while (count && status == LAP_OK && (left = lap_set_layout_bytes(set->layout->layout, &binding, &offset))) {
        left = left < count ? left : count;
        status = write_bytes(set, binding, offset, bytes, known, left, ticket);
        bytes += left;
        known = known ? known + left : NULL;
        offset += left;
        count -= left;
    }
    return status;
}

static enum lap_status write_inline(struct descriptor_set *set, const VkWriteDescriptorSet *write, uint64_t ticket)
{
    const VkWriteDescriptorSetInlineUniformBlock *block =
        lap_chain_find(write->pNext, VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK);

    if (!block || !block->pData || !block->dataSize)
        return LAP_OK;
    return write_blocks(set, write->dstBinding, write->dstArrayElement, block->pData, NULL, block->dataSize, ticket);
}

uint32_t descriptor_count_of_write(const VkWriteDescriptorSet *write)
{
    const VkWriteDescriptorSetAccelerationStructureKHR *khr =
        lap_chain_find(write->pNext, VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_KHR);
    const VkWriteDescriptorSetAccelerationStructureNV *nv =
        lap_chain_find(write->pNext, VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_NV);
    VkDescriptorType type = write->descriptorType;

    if (cond_descriptor_is_image(type))
        return write->pImageInfo ? write->descriptorCount : 0;
    if (cond_descriptor_is_buffer(type))
        return write->pBufferInfo ? write->descriptorCount : 0;
    if (cond_descriptor_is_texel_buffer(type))
        return write->pTexelBufferView ? write->descriptorCount : 0;
    return khr ? khr->accelerationStructureCount : nv ? nv->accelerationStructureCount : 0;
}

static enum lap_status see_write(struct descriptors *d, const VkWriteDescriptorSet *write, uint64_t ticket)
{
    struct descriptor_set *set = lap_map_get(&d->sets, gen_u64_VkDescriptorSet(write->dstSet));
    uint32_t first, count = descriptor_count_of_write(write);
    enum lap_status status = LAP_OK;

    if (!set)
        return LAP_OK;
    if (write->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK)
        return write_inline(set, write, ticket);
    first = lap_set_layout_slot(set->layout->layout, write->dstBinding, write->dstArrayElement);
    for (uint32_t i = 0; first != LAP_NO_SLOT && i < count && i < LAP_NO_SLOT - first && status == LAP_OK; i++) {
        struct descriptor value;
        descriptor_of_write(write, i, &value);
        value.ticket = ticket;
        status = write_slot(d, set, first + i, &value);
        d->written++;
    }
    return status;
}

/* The written block may be the same, and move. */
static enum lap_status copy_bytes(struct descriptor_set *to, uint32_t binding, uint32_t offset,
                                  const struct descriptor_block *block, uint32_t from, uint32_t count, uint64_t ticket)
{
    uint8_t *both = malloc((size_t)count * 2);
    enum lap_status status;

    if (!both)
        return lap_no_memory("descriptors");
    memcpy(both, block->bytes + from, count);
    memcpy(both + count, block->known + from, count);
    status = write_blocks(to, binding, offset, both, both + count, count, ticket);
    free(both);
    return status;
}

static enum lap_status copy_inline(struct descriptors *d, struct descriptor_set *to, const struct descriptor_set *from,
                                   const VkCopyDescriptorSet *copy, uint64_t ticket)
{
    uint32_t binding = copy->srcBinding, offset = copy->srcArrayElement, count = copy->descriptorCount, left,
             behind = 0;
    enum lap_status status = LAP_OK;

    for (; count && status == LAP_OK && (left = lap_set_layout_bytes(from->layout->layout, &binding, &offset));
         offset += left, count -= left, behind += left) {
        const struct descriptor_block *block = descriptor_block_of(from, binding);
        left = left < count ? left : count;
        if (!pay(d, 1))
            return too_many_copies();
        if (block && offset < block->size)
            status = copy_bytes(to, copy->dstBinding, copy->dstArrayElement + behind, block, offset,
                                left < block->size - offset ? left : block->size - offset, ticket);
    }
    return status;
}

static enum lap_status see_copy(struct descriptors *d, const VkCopyDescriptorSet *copy, uint64_t ticket)
{
    struct descriptor_set *from = lap_map_get(&d->sets, gen_u64_VkDescriptorSet(copy->srcSet));
    struct descriptor_set *to = lap_map_get(&d->sets, gen_u64_VkDescriptorSet(copy->dstSet));
    uint32_t source, first, count = copy->descriptorCount;
    enum lap_status status = LAP_OK;

    if (!from || !to)
        return LAP_OK;
    source = lap_set_layout_slot(from->layout->layout, copy->srcBinding, copy->srcArrayElement);
    first = lap_set_layout_slot(to->layout->layout, copy->dstBinding, copy->dstArrayElement);
    if (source == LAP_NO_SLOT && first == LAP_NO_SLOT)
        return copy_inline(d, to, from, copy, ticket);
    if (source == LAP_NO_SLOT || first == LAP_NO_SLOT || source >= from->slot_count || first >= to->slot_count)
        return LAP_OK;
    if (count > from->slot_count - source)
        count = from->slot_count - source;
    if (!pay(d, count))
        return too_many_copies();
    for (uint32_t i = 0; i < count && i < LAP_NO_SLOT - first && status == LAP_OK; i++) {
        const struct descriptor *page = from->pages[(source + i) / PAGE_SLOTS];
        struct descriptor value = {.ticket = 0};
        if (page)
            value = page[(source + i) % PAGE_SLOTS];
        value.ticket = value.ticket ? ticket : 0;
        if (value.ticket || (first + i < to->slot_count && to->pages[(first + i) / PAGE_SLOTS]))
            status = write_slot(d, to, first + i, &value);
    }
    return status;
}

static enum lap_status see_update(struct descriptors *d, const struct trace_call *call)
{
    const struct gen_args_vkUpdateDescriptorSets *args = call->args;
    uint64_t ticket = call->packet->ticket;
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; args->pDescriptorWrites && i < args->descriptorWriteCount && status == LAP_OK; i++)
        status = see_write(d, &args->pDescriptorWrites[i], ticket);
    for (uint32_t i = 0; args->pDescriptorCopies && i < args->descriptorCopyCount && status == LAP_OK; i++)
        status = see_copy(d, &args->pDescriptorCopies[i], ticket);
    return status;
}

/* ---- the whole ---- */

static void see_frees(struct descriptors *d, const struct gen_args_vkFreeDescriptorSets *args)
{
    for (uint32_t i = 0; args->pDescriptorSets && i < args->descriptorSetCount; i++)
        end_set(d, gen_u64_VkDescriptorSet(args->pDescriptorSets[i]));
}

enum lap_status descriptors_see(struct descriptors *d, const struct trace_call *call)
{
    switch (call->command) {
    case GEN_vkCreateDescriptorSetLayout:
        return see_layout(d, call->args);
    case GEN_vkDestroyDescriptorSetLayout: {
        const struct gen_args_vkDestroyDescriptorSetLayout *args = call->args;
        release_layout(lap_map_remove(&d->layouts, gen_u64_VkDescriptorSetLayout(args->descriptorSetLayout)));
        return LAP_OK;
    }
    case GEN_vkDestroyDescriptorPool: {
        const struct gen_args_vkDestroyDescriptorPool *args = call->args;
        end_pool(d, gen_u64_VkDescriptorPool(args->descriptorPool));
        return LAP_OK;
    }
    case GEN_vkResetDescriptorPool: {
        const struct gen_args_vkResetDescriptorPool *args = call->args;
        end_pool(d, gen_u64_VkDescriptorPool(args->descriptorPool));
        return LAP_OK;
    }
    case GEN_vkAllocateDescriptorSets:
        return see_sets(d, call->args);
    case GEN_vkFreeDescriptorSets:
        see_frees(d, call->args);
        return LAP_OK;
    case GEN_vkUpdateDescriptorSets:
        return see_update(d, call);
    default:
        return LAP_OK;
    }
}

void descriptors_init(struct descriptors *d)
{
    *d = (struct descriptors){.written = 0};
    lap_map_init(&d->layouts);
    lap_map_init(&d->sets);
    lap_map_init(&d->pools);
}

static void finish_set(void *user, uint64_t key, void *value)
{
    free_set(user, value);
}

static void finish_layout(void *user, uint64_t key, void *value)
{
    release_layout(value);
}

void descriptors_finish(struct descriptors *d)
{
    lap_map_each(&d->sets, finish_set, d);
    lap_map_each(&d->layouts, finish_layout, NULL);
    lap_map_finish(&d->sets);
    lap_map_finish(&d->layouts);
    lap_map_finish(&d->pools);
}

/* ---- queries ---- */

const struct descriptor_set *descriptors_of(const struct descriptors *d, uint64_t set)
{
    return lap_map_get(&d->sets, set);
}

const struct lap_set_layout *descriptor_set_layout(const struct descriptor_set *set)
{
    return set->layout->layout;
}

uint64_t descriptor_set_layout_index(const struct descriptor_set *set)
{
    return set->layout_index;
}

uint32_t descriptor_set_slots(const struct descriptor_set *set)
{
    return set->slot_count;
}

static VkDescriptorType type_of_slot(const struct lap_set_layout *layout, uint32_t slot)
{
    uint32_t low = 0, high = layout->binding_count;

    while (low + 1 < high) { /* the last binding that begins at the slot or in front of it, and is not empty */
        uint32_t middle = (low + high) / 2;
        if (layout->bindings[middle].first <= slot)
            low = middle;
        else
            high = middle;
    }
    return layout->bindings[low].type;
}

bool descriptor_get(const struct descriptor_set *set, uint32_t slot, struct descriptor *out)
{
    const struct descriptor *page = slot < set->slot_count ? set->pages[slot / PAGE_SLOTS] : NULL;
    const struct immutable *immutable = slot < set->slot_count ? immutable_from(set->layout, slot) : NULL;

    *out = page ? page[slot % PAGE_SLOTS] : (struct descriptor){.ticket = 0};
    if (immutable && immutable->slot != slot)
        immutable = NULL;
    if (immutable) {
        out->sampler = immutable->sampler;
        if (!out->ticket)
            out->type = type_of_slot(set->layout->layout, slot);
    }
    return out->ticket || immutable;
}

uint32_t descriptor_next(const struct descriptor_set *set, uint32_t slot, uint32_t end)
{
    const struct immutable *immutable = immutable_from(set->layout, slot);
    uint32_t most = immutable && immutable->slot < end ? immutable->slot : end;

    most = most < set->slot_count ? most : set->slot_count < end ? set->slot_count : end;
    while (slot < most) {
        const struct descriptor *page = set->pages[slot / PAGE_SLOTS];
        if (!page) {
            slot = (slot / PAGE_SLOTS + 1) * PAGE_SLOTS;
            continue;
        }
        if (page[slot % PAGE_SLOTS].ticket)
            return slot;
        slot++;
    }
    return immutable && most == immutable->slot && most < set->slot_count ? most : end;
}

const struct descriptor_block *descriptor_block_of(const struct descriptor_set *set, uint32_t binding)
{
    for (size_t i = 0; i < set->block_count; i++)
        if (set->blocks[i].binding == binding && set->blocks[i].shown.size)
            return &set->blocks[i].shown;
    return NULL;
}
