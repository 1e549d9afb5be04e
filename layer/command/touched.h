/* SPDX-License-Identifier: MIT */
/*
 * touched: which memory the commands of a command buffer can read and write.
 *
 * What commands name directly goes into cb->touched while they are recorded. Descriptor sets are remembered and looked
 * up at submit, because what they contain may change until then. Memory that the program can't map is left out: the
 * host never writes it. Where what is reached can't be known, cb->touched.everything says so; it is inherited by what
 * executes the command buffer, and holds for the submits that it is part of (docs/memory.md, "What is touched").
 */
#ifndef LAP_LAYER_TOUCHED_H
#define LAP_LAYER_TOUCHED_H

#include "layer/core/layer.h"

/* Names a buffer or an image for as long as the process lives: numbers are never used twice, so unlike a record or a
 * handle it can be kept longer than what it names. 0: none. */
typedef uint64_t layer_resource;

static inline layer_resource layer_resource_of_buffer(const struct layer_buffer *buffer)
{
    return buffer->object.index << 1;
}
static inline layer_resource layer_resource_of_image(const struct layer_image *image)
{
    return image->object.index << 1 | 1;
}
static inline bool layer_resource_is_image(layer_resource resource)
{
    return resource & 1;
}

/* In a descriptor: it may lead to any memory, as acceleration structures do. */
#define LAYER_RESOURCE_UNKNOWN UINT64_MAX

/* When a buffer or an image got its memobj, and before that is destroyed. Remove takes dev->submit_mutex: what is done
 * with memobjs that were looked up under it is safe from a destruction by another thread. False when out of memory. */
bool layer_resource_add(struct layer_device *dev, layer_resource resource, struct lap_memobj *object);
void layer_resource_remove(struct layer_device *dev, layer_resource resource);
/* NULL when it is gone. Under dev->submit_mutex. */
struct lap_memobj *layer_resource_get(struct layer_device *dev, layer_resource resource);

/* One descriptor set that was bound, with its dynamic offsets, or one pushed descriptor that may be stored to. */
#define LAYER_ENTRY_OFFSETS 3u
#define LAYER_ENTRY_PUSHED  UINT64_MAX
struct layer_cmdbuf_sets {
    uint64_t set, index;   /* handle and index of the record; both 0: more offsets of the entry before; index
                            * LAYER_ENTRY_PUSHED: set is the layer_resource that was pushed */
    uint64_t written;      /* bindings that pipelines store to: lap_spirv_bit */
    uint32_t offset_count; /* of the whole set, also in the entries behind; pushed: 0 */
    union {
        uint32_t offsets[LAYER_ENTRY_OFFSETS];
        struct {
            uint32_t previous; /* place of the one that was pushed before into the same set + 1 */
            uint32_t binding, element;
        };
    };
    union { /* pushed: which part of the resource */
        struct {
            VkDeviceSize offset, bytes;
        };
        struct layer_view_range view;
    };
};

/* Bindings that may be updated while command buffers use the set, by several threads. */
#define LAYER_UPDATED_IN_USE                                                                                           \
    (VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT | VK_DESCRIPTOR_BINDING_UPDATE_UNUSED_WHILE_PENDING_BIT)
static inline bool layer_set_is_updated_in_use(const struct layer_descriptor_set *set)
{
    return set->layout->flags & LAYER_UPDATED_IN_USE;
}

/* Bindings of which work may use some elements only. */
#define LAYER_TABLE                                                                                                    \
    (LAYER_UPDATED_IN_USE | VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT |                                                \
     VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT)

/* What a descriptor names: false for what has no memory that the program could have mapped. It may be
 * LAYER_RESOURCE_UNKNOWN. */
bool layer_slot_of_image(struct layer_device *dev, VkDescriptorType type, VkImageView view,
                         struct layer_descriptor_slot *out);
/* The descriptor number `element` of a write. */
bool layer_slot_of_write(struct layer_device *dev, const VkWriteDescriptorSet *write, uint32_t element,
                         struct layer_descriptor_slot *out);

/* How a range is touched; of two ways the later one says less about what is there afterwards. */
enum layer_touch {
    LAYER_READS,
    LAYER_WRITES,
    LAYER_WRITES_PARTLY, /* what isn't written stays: the same in every run where it was before */
    LAYER_WRITES_VARYING /* what is written differs from run to run, or has gaps: capture --verify leaves it out */
};

void layer_touched_init(struct layer_touched *touched);
void layer_touched_finish(struct layer_touched *touched);
void layer_touched_reset(struct layer_touched *touched);
void layer_touched_seal(struct layer_touched *touched);
/* bytes UINT64_MAX: to the object's end. False when out of memory. */
bool layer_touched_add(struct layer_touched *touched, struct lap_memobj *object, uint64_t offset, uint64_t bytes,
                       enum layer_touch how);

/* Optimal images are never written by the host; but what the device writes into them it writes into buffers as well
 * that lie in the same memory. Memory that the program can't map is no matter. */
static inline bool layer_image_matters(const struct layer_image *image, bool written)
{
    return image && image->memobj && !image->device_only && (written || image->info.tiling != VK_IMAGE_TILING_OPTIMAL);
}

/* Add to a command buffer that is being recorded what a command names. */
/* bytes UINT64_MAX: to the buffer's end. */
void layer_touch_buffer(struct layer_cmdbuf *cb, VkBuffer handle, VkDeviceSize offset, VkDeviceSize bytes,
                        enum layer_touch how);
/* Draws name the same few buffers again and again: whether it is noted, or needs no note, that this one is read from
 * `offset` to its end. False says nothing. */
static inline uint32_t layer_recent_read(uint64_t buffer)
{
    return (uint32_t)((buffer ^ buffer >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (LAYER_RECENT_READS - 1);
}
static inline bool layer_touch_has_read(const struct layer_cmdbuf *cb, VkBuffer buffer, VkDeviceSize offset)
{
    uint64_t handle = gen_u64_VkBuffer(buffer);
    const struct layer_read *read = &cb->recent_reads[layer_recent_read(handle)];
    return read->buffer == handle && offset >= read->from && handle;
}
void layer_touch_image(struct layer_cmdbuf *cb, VkImage handle, enum layer_touch how);
/* Memory is short: the recording stops. */
void layer_touch_failed(struct layer_cmdbuf *cb);
/* The command may reach any memory: submits of this command buffer touch everything. */
void layer_touch_unknown(struct layer_cmdbuf *cb);
void layer_touch_push(struct layer_cmdbuf *cb, VkPipelineBindPoint point, uint32_t set,
                      const VkWriteDescriptorSet *write);
void layer_touch_sets(struct layer_cmdbuf *cb, VkPipelineBindPoint point, uint32_t first_set, uint32_t set_count,
                      const VkDescriptorSet *sets, uint32_t offset_count, const uint32_t *offsets);
/* Place in cb->sets of a set with at most one dynamic offset (0 without) that was bound; UINT32_MAX: it must be looked
 * for otherwise. The hash is of a set's index and its dynamic offsets. */
static inline uint32_t *layer_recent_sets(const struct layer_cmdbuf *cb, uint64_t hash) /* two */
{
    const uint32_t *recent = __builtin_expect(cb->many_sets != NULL, 0)
                                 ? &cb->many_sets[(uint32_t)(hash >> 32) & cb->many_sets_mask]
                                 : &cb->recent_sets[(uint32_t)(hash >> 32) & (LAYER_RECENT_SETS - 2)];
    return (uint32_t *)recent;
}
static inline uint64_t layer_hash_set(uint64_t hash, uint64_t more)
{
    return (hash ^ more) * UINT64_C(0x9e3779b97f4a7c15);
}
static inline bool layer_set_is_at(const struct layer_cmdbuf *cb, uint32_t place, uint64_t index, uint32_t dynamic,
                                   uint32_t offset)
{
    const struct layer_cmdbuf_sets *entry = &cb->sets[place];
    return place < cb->sets_count && entry->index == index && entry->offset_count == dynamic &&
           entry->offsets[0] == offset;
}
static inline uint32_t layer_touch_find_set(const struct layer_cmdbuf *cb, uint64_t index, uint32_t dynamic,
                                            uint32_t offset)
{
    uint64_t hash = layer_hash_set(0, index);
    const uint32_t *recent = layer_recent_sets(cb, dynamic ? layer_hash_set(hash, offset) : hash);
    uint32_t place = recent[0], older = recent[1];
    if (__builtin_expect(layer_set_is_at(cb, place, index, dynamic, offset), 1))
        return place;
    return layer_set_is_at(cb, older, index, dynamic, offset) ? older : UINT32_MAX;
}
/* Notes one that was not found, where cb->sets has room; returns its place. */
static inline uint32_t layer_touch_append_set(struct layer_cmdbuf *cb, uint64_t handle, uint64_t index,
                                              uint32_t dynamic, uint32_t offset)
{
    uint64_t hash = layer_hash_set(0, index);
    uint32_t *recent = layer_recent_sets(cb, dynamic ? layer_hash_set(hash, offset) : hash);
    recent[1] = recent[0];
    recent[0] = cb->sets_count;
    cb->sets[cb->sets_count] = (struct layer_cmdbuf_sets){
        .set = handle, .index = index, .offset_count = dynamic, .offsets = {dynamic ? offset : 0}};
    return cb->sets_count++;
}
/* A new part begins (cmdbuf_parts.h): what is bound is noted anew, for what is stored from now on. False when out of
 * memory.
 */
bool layer_touch_carry(struct layer_cmdbuf *cb);
void layer_touch_secondary(struct layer_cmdbuf *cb, const struct layer_cmdbuf *secondary);

/* When a command buffer goes back to the initial state, and when it is freed. */
void layer_touch_reset(struct layer_cmdbuf *cb);
void layer_touch_finish(struct layer_cmdbuf *cb);

/* At a draw or dispatch: notes which descriptors of the bound sets the bound pipeline stores to. */
void layer_touch_stores(struct layer_cmdbuf *cb, struct layer_bound *bound);
static inline void layer_touch_work(struct layer_cmdbuf *cb, uint32_t bind_point)
{
    if (__builtin_expect(cb->bound[bind_point].stale, 0))
        layer_touch_stores(cb, &cb->bound[bind_point]);
}
/* NULL for bind points that are not tracked. */
struct layer_bound *layer_bound_at(struct layer_cmdbuf *cb, VkPipelineBindPoint point);

/* Adds what a part of a command buffer (cmdbuf_parts.h) touches when it is submitted now. Under dev->submit_mutex;
 * `serial` is new for every submit. False when out of memory. */
bool layer_touch_resolve(struct layer_device *dev, const struct layer_cmdbuf *cb, uint32_t number, uint64_t serial,
                         struct layer_touched *touched);

#endif
