/* SPDX-License-Identifier: MIT */
#include "layer/part/descriptor_contents.h"

#include <stdlib.h>
#include <string.h>

#include "layer/core/keeper.h"
#include "layer/core/records.h"
#include "layer/part/live_objects.h"
#include "vulkan/chain.h"
#include "vulkan/conditions.h"

struct content {
    bool is_set;
    VkDescriptorType type;
    uint64_t index, sampler; /* of the view or buffer; of the sampler; 0: none, or one that is not known */
    union {
        VkDescriptorImageInfo image;
        VkDescriptorBufferInfo buffer;
        VkBufferView view;
        VkAccelerationStructureKHR structure;
    };
};

/* The bytes of an inline uniform block. */
struct inline_block {
    struct inline_block *next;
    uint32_t binding, bytes;
    unsigned char data[];
};

struct layer_descriptor_contents {
    struct inline_block *blocks;
    struct content slots[];
};

void layer_descriptor_contents_finish(struct layer_descriptor_contents *contents)
{
    if (!contents)
        return;
    for (struct inline_block *block = contents->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(contents);
}

static struct layer_descriptor_contents *contents_of(struct layer_descriptor_set *set)
{
    if (!set->contents)
        set->contents = calloc(1, sizeof *set->contents + set->slot_count * sizeof *set->contents->slots);
    if (!set->contents)
        layer_stop("out of memory");
    return set->contents;
}

static uint64_t index_of(const struct layer_device *dev, enum gen_handle_type type, uint64_t handle)
{
    return lap_object_index(&dev->tables, type, handle);
}

static struct content content_of(const struct layer_device *dev, const VkWriteDescriptorSet *write, uint32_t i)
{
    struct content content = {.is_set = true, .type = write->descriptorType};

    if (cond_descriptor_is_image(write->descriptorType)) {
        content.image = write->pImageInfo[i];
        if (write->descriptorType != VK_DESCRIPTOR_TYPE_SAMPLER)
            content.index = index_of(dev, GEN_HANDLE_VkImageView, gen_u64_VkImageView(content.image.imageView));
        else
            content.image.imageView = VK_NULL_HANDLE;
        if (cond_descriptor_has_sampler(write->descriptorType))
            content.sampler = index_of(dev, GEN_HANDLE_VkSampler, gen_u64_VkSampler(content.image.sampler));
        if (!content.sampler)
            content.image.sampler = VK_NULL_HANDLE;
    } else if (cond_descriptor_is_buffer(write->descriptorType)) {
        content.buffer = write->pBufferInfo[i];
        content.index = index_of(dev, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(content.buffer.buffer));
    } else if (cond_descriptor_is_texel_buffer(write->descriptorType)) {
        content.view = write->pTexelBufferView[i];
        content.index = index_of(dev, GEN_HANDLE_VkBufferView, gen_u64_VkBufferView(content.view));
    } else if (write->descriptorType == VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR) {
        const VkWriteDescriptorSetAccelerationStructureKHR *structures =
            lap_chain_find(write->pNext, VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_KHR);
        content.is_set = structures && i < structures->accelerationStructureCount;
        if (content.is_set)
            content.structure = structures->pAccelerationStructures[i];
        content.index =
            index_of(dev, GEN_HANDLE_VkAccelerationStructureKHR, gen_u64_VkAccelerationStructureKHR(content.structure));
    } else {
        content.is_set = false; /* of VK_NV_ray_tracing: no part begins while there are such structures */
    }
    return content;
}

static const struct lap_set_binding *binding_of(const struct lap_set_layout *layout, uint32_t number)
{
    for (uint32_t i = 0; i < layout->binding_count; i++)
        if (layout->bindings[i].binding == number)
            return &layout->bindings[i];
    return NULL;
}

/* The block of a binding, of at least so many bytes. */
static struct inline_block *block_of(struct layer_descriptor_set *set, uint32_t number, uint32_t bytes)
{
    struct layer_descriptor_contents *contents = contents_of(set);
    struct inline_block **at = contents ? &contents->blocks : NULL, *block;

    while (at && *at && (*at)->binding != number)
        at = &(*at)->next;
    if (!at || (*at && (*at)->bytes >= bytes))
        return at ? *at : NULL;
    block = realloc(*at, sizeof *block + bytes);
    if (!block) {
        layer_stop("out of memory");
        return NULL;
    }
    if (!*at)
        *block = (struct inline_block){.binding = number};
    memset(block->data + block->bytes, 0, bytes - block->bytes);
    block->bytes = bytes;
    return *at = block;
}

#define MOST_INLINE (1u << 20) /* bytes of a block; drivers have some hundreds */

static void write_block(struct layer_descriptor_set *set, const VkWriteDescriptorSet *write)
{
    const VkWriteDescriptorSetInlineUniformBlock *data =
        lap_chain_find(write->pNext, VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK);
    uint32_t binding = write->dstBinding, offset = write->dstArrayElement, bytes, done = 0;

    while (data && done < data->dataSize && (bytes = lap_set_layout_bytes(set->layout, &binding, &offset))) {
        bytes = bytes < data->dataSize - done ? bytes : data->dataSize - done;
        struct inline_block *block =
            offset < MOST_INLINE && bytes < MOST_INLINE ? block_of(set, binding, offset + bytes) : NULL;
        if (!block)
            return;
        memcpy(block->data + offset, (const uint8_t *)data->pData + done, bytes);
        offset += bytes;
        done += bytes;
    }
}

void layer_descriptor_contents_write(struct layer_device *dev, const VkWriteDescriptorSet *write)
{
    struct layer_descriptor_set *set = LAYER_GET(dev, VkDescriptorSet, write->dstSet);
    struct layer_descriptor_contents *contents;
    uint32_t first;

    if (!set || !set->layout)
        return;
    pthread_mutex_lock(&dev->descriptors.mutex);
    contents = contents_of(set);
    if (contents && write->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
        write_block(set, write);
    } else if (contents) {
        first = lap_set_layout_slot(set->layout, write->dstBinding, write->dstArrayElement);
        for (uint32_t i = 0; i < write->descriptorCount && first < set->slot_count && i < set->slot_count - first; i++)
            contents->slots[first + i] = content_of(dev, write, i);
    }
    pthread_mutex_unlock(&dev->descriptors.mutex);
}

/* Within one block of each set. */
static void copy_block(struct layer_descriptor_set *to, struct layer_descriptor_set *from,
                       const VkCopyDescriptorSet *copy)
{
    struct inline_block *source, *target;

    if (copy->srcArrayElement >= MOST_INLINE || copy->dstArrayElement >= MOST_INLINE ||
        copy->descriptorCount >= MOST_INLINE)
        return;
    target = block_of(to, copy->dstBinding, copy->dstArrayElement + copy->descriptorCount);
    source = block_of(from, copy->srcBinding, copy->srcArrayElement + copy->descriptorCount);
    if (to == from) /* the second may have moved the first */
        target = block_of(to, copy->dstBinding, 0);
    if (source && target)
        memmove(target->data + copy->dstArrayElement, source->data + copy->srcArrayElement, copy->descriptorCount);
}

static void copy_blocks(struct layer_descriptor_set *to, struct layer_descriptor_set *from,
                        const VkCopyDescriptorSet *copy)
{
    VkCopyDescriptorSet piece = *copy;
    uint32_t source, target;

    for (uint32_t left = copy->descriptorCount; left; left -= piece.descriptorCount) {
        source = lap_set_layout_bytes(from->layout, &piece.srcBinding, &piece.srcArrayElement);
        target = lap_set_layout_bytes(to->layout, &piece.dstBinding, &piece.dstArrayElement);
        if (!source || !target)
            return;
        piece.descriptorCount = source < target ? source : target;
        piece.descriptorCount = piece.descriptorCount < left ? piece.descriptorCount : left;
        copy_block(to, from, &piece);
        piece.srcArrayElement += piece.descriptorCount;
        piece.dstArrayElement += piece.descriptorCount;
    }
}

void layer_descriptor_contents_copy(struct layer_device *dev, const VkCopyDescriptorSet *copy)
{
    struct layer_descriptor_set *to = LAYER_GET(dev, VkDescriptorSet, copy->dstSet);
    struct layer_descriptor_set *from = LAYER_GET(dev, VkDescriptorSet, copy->srcSet);
    const struct lap_set_binding *binding;

    if (!to || !to->layout || !from || !from->layout)
        return;
    binding = binding_of(from->layout, copy->srcBinding);
    pthread_mutex_lock(&dev->descriptors.mutex);
    if (binding && binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
        copy_blocks(to, from, copy);
    } else if (contents_of(to) && contents_of(from)) {
        uint32_t source = lap_set_layout_slot(from->layout, copy->srcBinding, copy->srcArrayElement);
        uint32_t target = lap_set_layout_slot(to->layout, copy->dstBinding, copy->dstArrayElement);
        for (uint32_t i = 0; i < copy->descriptorCount && source < from->slot_count && i < from->slot_count - source &&
                             target < to->slot_count && i < to->slot_count - target;
             i++)
            to->contents->slots[target + i] = from->contents->slots[source + i];
    }
    pthread_mutex_unlock(&dev->descriptors.mutex);
}

/* ---- writing ---- */

struct emission {
    struct layer_device *dev;
    VkWriteDescriptorSet *writes;
    VkWriteDescriptorSetInlineUniformBlock *blocks;
    VkDescriptorImageInfo *images;
    VkDescriptorBufferInfo *buffers;
    VkBufferView *views;
    VkAccelerationStructureKHR *structures;
    VkWriteDescriptorSetAccelerationStructureKHR *structure_writes; /* of each write */
    size_t slot_capacity, block_capacity;
    uint32_t write_count;
};

static bool is_there(const struct layer_device *dev, enum gen_handle_type type, uint64_t handle, uint64_t index)
{
    return index ? index_of(dev, type, handle) == index && layer_keeper_lives(type, index) : handle == 0;
}

/* An unknown sampler is unused: the layout has immutable samplers. */
static bool is_valid(const struct layer_device *dev, const struct content *content)
{
    if (!content->is_set)
        return false;
    if (cond_descriptor_is_image(content->type))
        return is_there(dev, GEN_HANDLE_VkImageView, gen_u64_VkImageView(content->image.imageView), content->index) &&
               is_there(dev, GEN_HANDLE_VkSampler, gen_u64_VkSampler(content->image.sampler), content->sampler);
    if (cond_descriptor_is_buffer(content->type))
        return is_there(dev, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(content->buffer.buffer), content->index);
    if (content->type == VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR)
        return is_there(dev, GEN_HANDLE_VkAccelerationStructureKHR,
                        gen_u64_VkAccelerationStructureKHR(content->structure), content->index);
    return is_there(dev, GEN_HANDLE_VkBufferView, gen_u64_VkBufferView(content->view), content->index);
}

static void free_room(struct emission *e)
{
    free(e->writes), free(e->blocks), free(e->images), free(e->buffers), free(e->views);
    free(e->structures), free(e->structure_writes);
}

static bool make_room(struct emission *e, size_t slots, size_t blocks)
{
    if (slots > e->slot_capacity || blocks > e->block_capacity) {
        free_room(e);
        e->slot_capacity = slots > e->slot_capacity ? slots : e->slot_capacity;
        e->block_capacity = blocks > e->block_capacity ? blocks : e->block_capacity;
        e->writes = calloc(e->slot_capacity + e->block_capacity + 1, sizeof *e->writes);
        e->blocks = calloc(e->block_capacity + 1, sizeof *e->blocks);
        e->images = calloc(e->slot_capacity + 1, sizeof *e->images);
        e->buffers = calloc(e->slot_capacity + 1, sizeof *e->buffers);
        e->views = calloc(e->slot_capacity + 1, sizeof *e->views);
        e->structures = calloc(e->slot_capacity + 1, sizeof *e->structures);
        e->structure_writes = calloc(e->slot_capacity + e->block_capacity + 1, sizeof *e->structure_writes);
    }
    return e->writes && e->blocks && e->images && e->buffers && e->views && e->structures && e->structure_writes;
}

/* One write for each run of descriptors of one type. */
static void add_binding(struct emission *e, VkDescriptorSet handle, const struct lap_set_binding *binding,
                        const struct layer_descriptor_set *set)
{
    VkWriteDescriptorSet *write = NULL;
    uint32_t count = binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK ? 0 : binding->count;

    for (uint32_t i = 0; i < count && binding->first + i < set->slot_count; i++) {
        const uint32_t slot = binding->first + i;
        const struct content *content = &set->contents->slots[slot];
        if (!is_valid(e->dev, content)) {
            write = NULL;
            continue;
        }
        e->images[slot] = content->image;
        if (cond_descriptor_is_buffer(content->type))
            e->buffers[slot] = content->buffer;
        else if (content->type == VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR)
            e->structures[slot] = content->structure;
        else if (!cond_descriptor_is_image(content->type))
            e->views[slot] = content->view;
        if (write && write->descriptorType == content->type) {
            write->descriptorCount++;
            e->structure_writes[e->write_count - 1].accelerationStructureCount++;
            continue;
        }
        e->structure_writes[e->write_count] = (VkWriteDescriptorSetAccelerationStructureKHR){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_KHR,
            .accelerationStructureCount = 1,
            .pAccelerationStructures = &e->structures[slot]};
        write = &e->writes[e->write_count++];
        *write = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .pNext = content->type == VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR
                                                     ? &e->structure_writes[e->write_count - 1]
                                                     : NULL,
                                        .dstSet = handle,
                                        .dstBinding = binding->binding,
                                        .dstArrayElement = i,
                                        .descriptorCount = 1,
                                        .descriptorType = content->type,
                                        .pImageInfo = &e->images[slot],
                                        .pBufferInfo = &e->buffers[slot],
                                        .pTexelBufferView = &e->views[slot]};
    }
}

static void add_blocks(struct emission *e, VkDescriptorSet handle, const struct layer_descriptor_set *set)
{
    size_t number = 0;
    for (const struct inline_block *block = set->contents->blocks; block; block = block->next, number++) {
        e->blocks[number] = (VkWriteDescriptorSetInlineUniformBlock){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK,
            .dataSize = block->bytes,
            .pData = block->data};
        e->writes[e->write_count++] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                                             .pNext = &e->blocks[number],
                                                             .dstSet = handle,
                                                             .dstBinding = block->binding,
                                                             .descriptorCount = block->bytes,
                                                             .descriptorType = VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK};
    }
}

static bool emit_set(struct emission *e, const struct layer_descriptor_set *set)
{
    VkDescriptorSet handle = gen_VkDescriptorSet(set->object.handle);
    struct lap_enc *enc;
    size_t blocks = 0;

    if (!set->contents || !set->layout)
        return true;
    for (const struct inline_block *block = set->contents->blocks; block; block = block->next)
        blocks++;
    if (!make_room(e, set->slot_count, blocks))
        return false;
    e->write_count = 0;
    for (uint32_t i = 0; i < set->layout->binding_count; i++)
        add_binding(e, handle, &set->layout->bindings[i], set);
    add_blocks(e, handle, set);
    enc = e->write_count ? layer_packet_begin(&e->dev->tables, GEN_vkUpdateDescriptorSets, 0) : NULL;
    if (enc) {
        gen_encode_vkUpdateDescriptorSets(enc, e->dev->handle, e->write_count, e->writes, 0, NULL);
        layer_packet_end();
    }
    return true;
}

enum lap_status layer_descriptor_contents_emit(struct layer_device *dev)
{
    struct layer_live_objects sets;
    struct emission e = {.dev = dev};
    enum lap_status status = layer_live_objects_of(dev, GEN_HANDLE_VkDescriptorSet, &sets);

    pthread_mutex_lock(&dev->descriptors.mutex);
    for (size_t i = 0; i < sets.count && status == LAP_OK; i++)
        if (!emit_set(&e, (const struct layer_descriptor_set *)sets.items[i]))
            status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
    pthread_mutex_unlock(&dev->descriptors.mutex);
    free_room(&e);
    layer_live_objects_finish(&sets);
    return status;
}
