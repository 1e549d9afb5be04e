/* SPDX-License-Identifier: MIT */
/*
 * touched: the memory that the commands of a command buffer can read and write.
 *
 * Memory that commands name directly goes into cb->touched while they are recorded. Descriptor sets are remembered and
 * looked up at submit, because their contents may change until then. Memory that the program can't map is left out: the
 * host never writes it. If the touched memory can't be known, cb->touched.ranges.everything is set; primary command
 * buffers that execute this one inherit it, and it applies to submits of the command buffer (docs/memory.md, "What is
 * touched").
 */
#ifndef LAP_LAYER_TOUCHED_H
#define LAP_LAYER_TOUCHED_H

#include "layer/core/layer.h"

/* Names a buffer or an image for as long as the process lives: numbers are never used twice, so unlike a record or a
 * handle it can be kept longer than the resource. 0: none. */
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

/* When a buffer or an image got its memobj, and before that is destroyed. Remove takes dev->submit.mutex: memobjs that
 * are looked up under it can't be destroyed by another thread meanwhile. False when out of memory. */
bool layer_resource_add(struct layer_device *dev, layer_resource resource, struct lap_memobj *object);
void layer_resource_remove(struct layer_device *dev, layer_resource resource);
/* NULL when it was destroyed. Under dev->submit.mutex. */
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
            uint32_t previous; /* place of the previous push into the same set, plus 1 */
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

/* Bindings where work may use only some elements. */
#define LAYER_TABLE                                                                                                    \
    (LAYER_UPDATED_IN_USE | VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT |                                                \
     VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT)

/* The resource of a descriptor, perhaps LAYER_RESOURCE_UNKNOWN. False: it has no memory that the program can map. */
bool layer_slot_of_image(struct layer_device *dev, VkDescriptorType type, VkImageView view,
                         struct layer_descriptor_slot *out);
/* The descriptor number `element` of a write. */
bool layer_slot_of_write(struct layer_device *dev, const VkWriteDescriptorSet *write, uint32_t element,
                         struct layer_descriptor_slot *out);

/* How a range is touched; a later value leaves the contents less defined. */
enum layer_touch {
    LAYER_READS,
    LAYER_WRITES,
    LAYER_WRITES_PARTLY, /* unwritten bytes keep their values: the same in every run if they were before */
    LAYER_WRITES_VARYING /* the written bytes differ between runs, or have gaps: capture --verify leaves them out */
};

void layer_touched_init(struct layer_touched *touched);
void layer_touched_finish(struct layer_touched *touched);
void layer_touched_reset(struct layer_touched *touched);
void layer_touched_seal(struct layer_touched *touched);
/* bytes UINT64_MAX: to the object's end. False when out of memory. */
bool layer_touched_add(struct layer_touched *touched, struct lap_memobj *object, uint64_t offset, uint64_t bytes,
                       enum layer_touch how);

/* The host never writes optimal images, but device writes to them also change buffers in the same memory. Memory that
 * the program can't map does not matter. */
static inline bool layer_image_matters(const struct layer_image *image, bool written)
{
    return image && image->memobj && !image->device_only && (written || image->info.tiling != VK_IMAGE_TILING_OPTIMAL);
}

/* Add the memory that a command names to a command buffer in the recording state. */
/* bytes UINT64_MAX: to the buffer's end. */
void layer_touch_buffer(struct layer_cmdbuf *cb, VkBuffer handle, VkDeviceSize offset, VkDeviceSize bytes,
                        enum layer_touch how);
/* Draws use the same few buffers again and again. True: the read of this buffer from `offset` to its end is noted
 * already, or needs no note. False: not known. */
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
/* Out of memory: the recording stops. */
void layer_touch_failed(struct layer_cmdbuf *cb);
/* The command may reach any memory: submits of this command buffer touch everything. */
void layer_touch_unknown(struct layer_cmdbuf *cb);
void layer_touch_push(struct layer_cmdbuf *cb, VkPipelineBindPoint point, uint32_t set,
                      const VkWriteDescriptorSet *write);
void layer_touch_sets(struct layer_cmdbuf *cb, VkPipelineBindPoint point, uint32_t first_set, uint32_t set_count,
                      const VkDescriptorSet *sets, uint32_t offset_count, const uint32_t *offsets);
/* Place in cb->sets of a bound set with at most one dynamic offset (0 without); UINT32_MAX: it needs a full search. The
 * hash is of a set's index and its dynamic offsets. */
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
/* Notes a set that was not found, if cb->sets has room; returns its place. */
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
/* A new part begins (cmdbuf_parts.h): notes the bound sets again, for stores from now on. False when out of memory. */
bool layer_touch_carry(struct layer_cmdbuf *cb);
void layer_touch_secondary(struct layer_cmdbuf *cb, const struct layer_cmdbuf *secondary);

/* When a command buffer goes back to the initial state, and when it is freed. */
void layer_touch_reset(struct layer_cmdbuf *cb);
void layer_touch_finish(struct layer_cmdbuf *cb);

/* At a draw or dispatch: notes the descriptors of the bound sets that the bound pipeline stores to. */
void layer_touch_stores(struct layer_cmdbuf *cb, struct layer_bound *bound);
static inline void layer_touch_work(struct layer_cmdbuf *cb, uint32_t bind_point)
{
    if (__builtin_expect(cb->bound[bind_point].stale, 0))
        layer_touch_stores(cb, &cb->bound[bind_point]);
}
/* NULL for bind points that are not tracked. */
struct layer_bound *layer_bound_at(struct layer_cmdbuf *cb, VkPipelineBindPoint point);

/* Adds the memory that a part of a command buffer (cmdbuf_parts.h) touches when it is submitted now. Under
 * dev->submit.mutex; `serial` is new for every submit. False when out of memory. */
bool layer_touch_resolve(struct layer_device *dev, const struct layer_cmdbuf *cb, uint32_t number, uint64_t serial,
                         struct layer_touched *touched);

#endif
