/* SPDX-License-Identifier: MIT */
/* Objects, and what calls do to their contents. */
#include "inspector/memory/memory_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_reflect.h"
#include "gen_renamed.h"
#include "inspector/memory/memory_internal.h"
#include "vulkan/chain.h"
#include "vulkan/walk.h"

#define MOST_LAYERS 4096u
#define MOST_TEXELS 65536u              /* of an image in each direction */
#define MOST_COPIED (UINT64_C(1) << 28) /* runs */
#define MOST_LATE   ((size_t)1 << 16)   /* writes that wait for the host; more: any memory may be written */

enum lap_status memory_no_memory(void)
{
    return lap_fail(LAP_ERROR_MEMORY, "out of memory for what wrote the memory");
}

void memory_fail(struct memory_state *m, enum lap_status status)
{
    if (m->status == LAP_OK)
        m->status = status;
}

static void *make(struct memory_state *m, struct lap_map *map, uint64_t key, size_t bytes)
{
    void *made = lap_arena_zalloc(&m->arena, 1, bytes, 8);

    if (!made || lap_map_put(map, key, made, NULL) != LAP_OK) {
        memory_fail(m, memory_no_memory());
        return NULL;
    }
    return made;
}

static struct memory_store new_store(struct memory_state *m, uint64_t end)
{
    return (struct memory_store){.count = &m->segments, .end = end, .serial = m->serial};
}

/* ---- memory ---- */

static struct memory_space *new_space(struct memory_state *m, struct lap_map *map, uint64_t key)
{
    struct memory_space *space = make(m, map, key, sizeof *space);

    if (space) {
        space->bytes = new_store(m, UINT64_MAX);
        space->addressable = new_store(m, UINT64_MAX);
    }
    return space;
}

/* Of a memory that was allocated, or of which nothing is known: that is foreign. */
static struct memory_place *place_of(struct memory_state *m, uint64_t memory)
{
    struct memory_place *place = lap_map_get(&m->memories, memory);

    if (place)
        return place;
    place = make(m, &m->memories, memory, sizeof *place);
    if (place && (place->space = lap_arena_zalloc(&m->arena, 1, sizeof *place->space, 8))) {
        place->space->bytes = new_store(m, UINT64_MAX);
        place->space->addressable = new_store(m, UINT64_MAX);
        return place;
    }
    memory_fail(m, memory_no_memory());
    return NULL;
}

static bool is_imported(const VkMemoryAllocateInfo *info)
{
    for (const VkBaseInStructure *c = info->pNext; c; c = c->pNext)
        switch ((int)c->sType) {
        case VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO:
        case VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO:
        case VK_STRUCTURE_TYPE_MEMORY_PRIORITY_ALLOCATE_INFO_EXT:
        case VK_STRUCTURE_TYPE_MEMORY_OPAQUE_CAPTURE_ADDRESS_ALLOCATE_INFO:
        case VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_MEMORY_ALLOCATE_INFO_NV:
            break;
        default: /* of any kind: also memory that is exported may be written by others */
            return true;
        }
    return false;
}

static void see_allocation(struct memory_state *m, const struct gen_args_vkAllocateMemory *args)
{
    struct memory_place *place =
        args->pMemory && *args->pMemory ? place_of(m, gen_u64_VkDeviceMemory(*args->pMemory)) : NULL;

    if (place && args->pAllocateInfo)
        place->space->is_foreign = is_imported(args->pAllocateInfo);
}

static void see_sharing(struct memory_state *m, const struct gen_args_lapilliSharedMemory *args)
{
    struct memory_place *place = place_of(m, gen_u64_VkDeviceMemory(args->memory));
    struct memory_space *space = lap_map_get(&m->spaces, args->space);

    if (!space)
        space = new_space(m, &m->spaces, args->space);
    if (!place || !space)
        return;
    space->is_foreign = true;
    place->is_shared = true;
    place->space = space;
    place->base = args->offset;
}

static void free_memory(struct memory_state *m, uint64_t memory)
{
    struct memory_place *place = lap_map_remove(&m->memories, memory);

    if (!place || place->is_shared)
        return;
    memory_store_finish(&place->space->bytes);
    memory_store_finish(&place->space->addressable);
}

/* Bytes that the binding of sparse objects may reach are not followed any more. */
static void lose_memory(void *user, const struct lap_place *place, const struct lap_value *value)
{
    struct memory_state *m = user;
    struct memory_place *lost;

    if (value->kind != LAP_VALUE_HANDLE || value->type != GEN_HANDLE_VkDeviceMemory || !value->u)
        return;
    lost = place_of(m, value->u);
    if (!lost)
        return;
    lost->space->is_lost = true;
    memory_store_finish(&lost->space->bytes);
}

static void lose_memories(struct memory_state *m, const struct trace_call *call)
{
    const struct lap_visitor visitor = {.value = lose_memory, .user = m};
    lap_walk_command(call->command, call->args, false, &visitor);
}

/* ---- work that waits for the host ---- */

/* Before a write. Those of the host happen where they stand. */
static void note_late(struct memory_state *m, const struct memory_late *late)
{
    if (!memory_is_late(m) || late->event->kind == MEMORY_HOST)
        return;
    if (m->late_count == MOST_LATE) {
        memory_sweep(m, &m->everything, late->event);
        return;
    }
    if (!lap_array_grow(&m->late, sizeof *m->late, &m->late_capacity, m->late_count + 1)) {
        memory_fail(m, memory_no_memory());
        return;
    }
    late->event->references++;
    m->late[m->late_count++] = *late;
}

static void write_again(struct memory_state *m, const struct memory_late *late)
{
    struct memory_image *image = late->space ? NULL : memory_find_image(m, late->image);

    if (late->space)
        memory_fail(m,
                    memory_store_put(&late->space->bytes, late->begin, late->end, late->event, NULL, 0, ++m->serial));
    else if (image)
        memory_put_whole(m, image, late->event);
}

void memory_write_late(struct memory_state *m)
{
    size_t count = m->late_count;

    if (m->opened == m->gates.opened)
        return;
    m->opened = m->gates.opened;
    m->late_again += memory_is_late(m) ? count : 0;
    if (m->late_again > MOST_COPIED >> 4) {
        memory_sweep(m, &m->everything, m->mark);
        m->late_again = 0;
    } else {
        for (size_t i = 0; i < count && m->status == LAP_OK; i++)
            write_again(m, &m->late[i]);
    }
    /* What other gates hold back is written once more. */
    for (size_t i = memory_is_late(m) ? count : 0; i < m->late_count; i++)
        memory_event_release(m->late[i].event);
    m->late_count = memory_is_late(m) ? count : 0;
}

/* ---- buffers ---- */

static bool has_address(const VkBufferCreateInfo *info)
{
    uint64_t usage = info->usage;
#ifdef VK_KHR_maintenance5
    const VkBufferUsageFlags2CreateInfoKHR *more =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR);
    usage = more ? more->usage : usage;
#endif
    return usage & (VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR |
                    VK_BUFFER_USAGE_RAY_TRACING_BIT_NV);
}

static void see_buffer(struct memory_state *m, const struct gen_args_vkCreateBuffer *args)
{
    struct memory_buffer *buffer;

    if (!args->pCreateInfo || !args->pBuffer || !*args->pBuffer)
        return;
    buffer = make(m, &m->buffers, gen_u64_VkBuffer(*args->pBuffer), sizeof *buffer);
    if (!buffer)
        return;
    buffer->size = args->pCreateInfo->size;
    buffer->is_sparse = args->pCreateInfo->flags & VK_BUFFER_CREATE_SPARSE_BINDING_BIT;
    buffer->has_address = has_address(args->pCreateInfo);
}

static void see_buffer_view(struct memory_state *m, const struct gen_args_vkCreateBufferView *args)
{
    struct memory_view *view;

    if (!args->pCreateInfo || !args->pView || !*args->pView)
        return;
    view = make(m, &m->views, gen_u64_VkBufferView(*args->pView), sizeof *view);
    if (view)
        *view = (struct memory_view){gen_u64_VkBuffer(args->pCreateInfo->buffer), args->pCreateInfo->offset,
                                     args->pCreateInfo->range};
}

static void bind_buffer(struct memory_state *m, const struct gen_args_lapilliBindBuffer *args)
{
    struct memory_buffer *buffer = lap_map_get(&m->buffers, gen_u64_VkBuffer(args->buffer));
    struct memory_place *place = args->memory ? place_of(m, gen_u64_VkDeviceMemory(args->memory)) : NULL;

    if (!buffer || !place || args->memoryOffset > UINT64_MAX / 4 || place->base > UINT64_MAX / 4 ||
        buffer->size > UINT64_MAX / 4)
        return;
    buffer->space = place->space;
    buffer->begin = place->base + args->memoryOffset;
    if (buffer->has_address)
        memory_fail(m, memory_store_put(&buffer->space->addressable, buffer->begin, buffer->begin + buffer->size,
                                        m->mark, NULL, 0, m->serial));
}

bool memory_buffer_size(const struct memory_state *m, uint64_t index, uint64_t *out)
{
    const struct memory_buffer *buffer = lap_map_get(&m->buffers, index);

    *out = buffer ? buffer->size : 0;
    return buffer != NULL;
}

void memory_put_buffer(struct memory_state *m, uint64_t index, uint64_t offset, uint64_t bytes,
                       struct memory_event *event, uint64_t skip)
{
    const struct memory_buffer *buffer = lap_map_get(&m->buffers, index);

    if (!buffer || !buffer->space || offset >= buffer->size || !event)
        return;
    if (bytes > buffer->size - offset)
        bytes = buffer->size - offset;
    note_late(m, &(struct memory_late){.space = buffer->space,
                                       .begin = buffer->begin + offset,
                                       .end = buffer->begin + offset + bytes,
                                       .event = event});
    memory_fail(m, memory_store_put(&buffer->space->bytes, buffer->begin + offset, buffer->begin + offset + bytes,
                                    event, NULL, skip, ++m->serial));
}

bool memory_side_of_buffer(struct memory_state *m, uint64_t index, uint64_t offset, struct memory_side *out)
{
    const struct memory_buffer *buffer = lap_map_get(&m->buffers, index);

    if (!buffer || !buffer->space || offset > buffer->size)
        return false;
    *out = (struct memory_side){.space = buffer->space,
                                .store = &buffer->space->bytes,
                                .is_lost = buffer->space->is_foreign,
                                .at = buffer->begin + offset};
    return true;
}

/* ---- images ---- */

static void see_image(struct memory_state *m, const struct gen_args_vkCreateImage *args)
{
    struct memory_image *image;

    if (!args->pCreateInfo || !args->pImage || !*args->pImage)
        return;
    image = make(m, &m->images, gen_u64_VkImage(*args->pImage), sizeof *image);
    if (!image)
        return;
    image->index = gen_u64_VkImage(*args->pImage);
    image->info = *args->pCreateInfo;
    image->info.pNext = NULL;
    image->info.pQueueFamilyIndices = NULL;
    lap_map_init(&image->stores);
}

static void bind_image(struct memory_state *m, const struct gen_args_lapilliBindImage *args)
{
    struct memory_image *image = lap_map_get(&m->images, gen_u64_VkImage(args->image));
    struct memory_place *place = args->memory ? place_of(m, gen_u64_VkDeviceMemory(args->memory)) : NULL;

    if (image && args->swapchain)
        image->is_presentable = true;
    if (!image || !place || image->plane_count == MEMORY_PLANES || args->memoryOffset > UINT64_MAX / 4 ||
        args->size > UINT64_MAX / 4 || place->base > UINT64_MAX / 4)
        return;
    image->planes[image->plane_count].space = place->space;
    image->planes[image->plane_count].begin = place->base + args->memoryOffset;
    image->planes[image->plane_count++].end = place->base + args->memoryOffset + args->size;
}

bool memory_image_is_large(const struct memory_image *image)
{
    const VkImageCreateInfo *info = &image->info;

    return info->mipLevels > 32 || info->arrayLayers > MOST_LAYERS || info->extent.width > MOST_TEXELS ||
           info->extent.height > MOST_TEXELS || info->extent.depth > MOST_TEXELS;
}

struct memory_image *memory_find_image(struct memory_state *m, uint64_t index)
{
    struct memory_image *image = lap_map_get(&m->images, index);

    return image && image->plane_count && !image->is_presentable && !memory_image_is_large(image) ? image : NULL;
}

const VkImageCreateInfo *memory_image_info(const struct memory_state *m, uint64_t index)
{
    const struct memory_image *image = lap_map_get(&m->images, index);

    return image ? &image->info : NULL;
}

static void finish_store(void *user, uint64_t key, void *value)
{
    memory_store_finish(value);
    free(value);
}

void memory_forget_image(struct memory_image *image)
{
    lap_map_each(&image->stores, finish_store, NULL);
    lap_map_finish(&image->stores);
    lap_map_init(&image->stores);
}

static void finish_image(void *user, uint64_t key, void *value)
{
    struct memory_image *image = value;

    lap_map_each(&image->stores, finish_store, NULL);
    lap_map_finish(&image->stores);
    memory_event_release(image->owner);
}

/* Whether a part of its memory was written by something else since it was written. */
static bool is_intact(const struct memory_image *image)
{
    for (uint32_t i = 0; i < image->plane_count; i++) {
        uint64_t end;
        if (image->planes[i].space->is_lost)
            return false;
        const struct memory_segment *segment =
            memory_store_at(&image->planes[i].space->bytes, image->planes[i].begin, image->planes[i].end, &end);
        if (end != image->planes[i].end || (segment && segment->origin != image->owner))
            return false;
    }
    return true;
}

static bool owns_all(const struct memory_image *image)
{
    uint64_t end;

    for (uint32_t i = 0; i < image->plane_count; i++)
        if (!memory_store_at(&image->planes[i].space->bytes, image->planes[i].begin, image->planes[i].end, &end))
            return false;
    return true;
}

void memory_begin_image_write(struct memory_state *m, struct memory_image *image)
{
    bool intact = is_intact(image);

    if (memory_is_late(m)) {
        struct memory_event *event = memory_command_event(m, MEMORY_DEVICE);
        if (event)
            note_late(m, &(struct memory_late){.image = image->index, .event = event});
        memory_event_release(event);
    }

    if (intact && image->owner && owns_all(image))
        return;
    if (!intact) {
        memory_forget_image(image);
        image->is_lost = true;
    }
    if (!image->owner) {
        image->owner = memory_event_new(MEMORY_IMAGE);
        if (!image->owner) {
            memory_fail(m, memory_no_memory());
            return;
        }
        image->owner->type = GEN_HANDLE_VkImage;
        image->owner->object = image->index;
    }
    for (uint32_t i = 0; i < image->plane_count; i++)
        memory_fail(m, memory_store_put(&image->planes[i].space->bytes, image->planes[i].begin, image->planes[i].end,
                                        image->owner, NULL, 0, ++m->serial));
}

bool memory_region_block(const struct memory_image *image, VkImageAspectFlags aspect, struct lap_texel_block *out)
{
    return lap_texels_block(image->info.format, aspect, out) && image->info.samples == VK_SAMPLE_COUNT_1_BIT;
}

uint64_t memory_level_bytes(const struct memory_image *image, VkImageAspectFlags aspect, uint32_t level,
                            uint64_t *out_row_blocks, uint64_t *out_rows)
{
    struct lap_texel_block block;
    uint64_t bytes;

    if (level >= image->info.mipLevels || !memory_region_block(image, aspect, &block))
        return 0;
    *out_row_blocks = memory_divide_up(
        memory_divide_up(memory_level_size(image->info.extent.width, level), block.divide_x), block.width);
    *out_rows = memory_divide_up(memory_divide_up(memory_level_size(image->info.extent.height, level), block.divide_y),
                                 block.height);
    if (__builtin_mul_overflow(*out_row_blocks * block.bytes, *out_rows, &bytes) ||
        __builtin_mul_overflow(bytes, (uint64_t)memory_level_size(image->info.extent.depth, level), &bytes) ||
        bytes > UINT64_MAX / 4)
        return 0;
    return bytes;
}

/* NULL: it was not written, or can't be kept. */
static struct memory_store *store_of(struct memory_state *m, struct memory_image *image, VkImageAspectFlags aspect,
                                     uint32_t level, uint32_t layer, bool writes)
{
    uint64_t key = (uint64_t)__builtin_ctz(aspect) << 40 | (uint64_t)level << 32 | layer, row_blocks, rows;
    struct memory_store *store = lap_map_get(&image->stores, key);
    uint64_t bytes;

    if (store || !writes || layer >= image->info.arrayLayers)
        return store;
    /* Where the bytes have no known places the store has one, of all. */
    bytes = memory_level_bytes(image, aspect, level, &row_blocks, &rows);
    store = malloc(sizeof *store);
    if (!store || lap_map_put(&image->stores, key, store, NULL) != LAP_OK) {
        free(store);
        memory_fail(m, memory_no_memory());
        return NULL;
    }
    *store = new_store(m, bytes ? bytes : 1);
    store->serial = 0;
    return store;
}

bool memory_side_of_image(struct memory_state *m, struct memory_image *image, VkImageAspectFlags aspect, uint32_t level,
                          uint32_t layer, bool writes, struct memory_side *out)
{
    bool is_lost = image->is_lost || (!writes && !is_intact(image));

    for (uint32_t i = 0; i < image->plane_count; i++)
        is_lost |= image->planes[i].space->is_foreign;
    *out = (struct memory_side){.is_lost = is_lost};
    if (!writes && !is_intact(image)) /* nothing of it is known */
        return true;
    out->store = store_of(m, image, aspect, level, layer, writes);
    return out->store || !writes;
}

/* Calls put for the rows of a region. */
static void put_rows(struct memory_state *m, struct memory_store *store, const struct memory_image *image,
                     const struct memory_region *region, struct memory_event *event)
{
    struct lap_texel_block block;
    uint64_t row_blocks, rows, bytes = memory_level_bytes(image, region->aspect, region->level, &row_blocks, &rows);
    uint64_t width, height, x, y, pitch;

    if (!bytes || !memory_region_block(image, region->aspect, &block) ||
        (uint64_t)region->extent.height * region->extent.depth > MEMORY_MOST_ROWS) {
        memory_fail(m, memory_store_put(store, 0, store->end, event, NULL, 0, ++m->serial));
        return;
    }
    x = (uint32_t)region->offset.x / block.width;
    y = (uint32_t)region->offset.y / block.height;
    width = memory_divide_up(region->extent.width, block.width);
    height = memory_divide_up(region->extent.height, block.height);
    height = y < rows && height > rows - y ? rows - y : height;
    pitch = row_blocks * block.bytes;
    m->serial++;
    for (uint64_t z = (uint32_t)region->offset.z; z < (uint64_t)(uint32_t)region->offset.z + region->extent.depth;
         z++) {
        uint64_t slice = z * rows * pitch;
        if (slice >= bytes || m->status != LAP_OK)
            return;
        if (x == 0 && width == row_blocks) {
            memory_fail(
                m, memory_store_put(store, slice + y * pitch, slice + (y + height) * pitch, event, NULL, 0, m->serial));
            continue;
        }
        for (uint64_t row = y; row < y + height && row < rows && m->status == LAP_OK; row++)
            memory_fail(m,
                        memory_store_put(store, slice + row * pitch + x * block.bytes,
                                         slice + row * pitch + (x + width) * block.bytes, event, NULL, 0, m->serial));
    }
}

void memory_put_region(struct memory_state *m, struct memory_image *image, const struct memory_region *region,
                       struct memory_event *event)
{
    struct memory_side side;

    if (!event || !memory_side_of_image(m, image, region->aspect, region->level, region->layer, true, &side))
        return;
    put_rows(m, side.store, image, region, event);
}

static VkImageAspectFlags planes_of(const struct memory_image *image, VkImageAspectFlags asked)
{
    VkImageAspectFlags all = lap_texels_aspects(image->info.format);
    struct lap_texel_block block;

    if (all)
        return all & asked;
    for (VkImageAspectFlags plane = VK_IMAGE_ASPECT_PLANE_0_BIT; plane <= VK_IMAGE_ASPECT_PLANE_2_BIT; plane <<= 1)
        if (lap_texels_block(image->info.format, plane, &block))
            all |= plane;
    return asked & VK_IMAGE_ASPECT_COLOR_BIT ? all : all & asked;
}

static uint32_t end_of(uint32_t first, uint32_t count, uint32_t most)
{
    return first < most && count > most - first ? most : first < most ? first + count : first;
}

void memory_put_range(struct memory_state *m, struct memory_image *image, const VkImageSubresourceRange *range,
                      struct memory_event *event)
{
    bool is_volume = image->info.imageType == VK_IMAGE_TYPE_3D; /* views have its slices as layers */
    uint32_t first = is_volume ? 0 : range->baseArrayLayer;
    uint32_t levels = end_of(range->baseMipLevel, range->levelCount, image->info.mipLevels);
    uint32_t layers = is_volume ? 1 : end_of(first, range->layerCount, image->info.arrayLayers);
    struct memory_side side;

    memory_begin_image_write(m, image);
    for (VkImageAspectFlags left = planes_of(image, range->aspectMask); left; left &= left - 1)
        for (uint32_t layer = first; layer < layers; layer++)
            for (uint32_t level = range->baseMipLevel; level < levels && m->status == LAP_OK; level++)
                if (event && memory_side_of_image(m, image, left & -left, level, layer, true, &side))
                    memory_fail(m, memory_store_put(side.store, 0, side.store->end, event, NULL, 0, ++m->serial));
}

void memory_put_whole(struct memory_state *m, struct memory_image *image, struct memory_event *event)
{
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT | VK_IMAGE_ASPECT_DEPTH_BIT |
                                             VK_IMAGE_ASPECT_STENCIL_BIT,
                                         0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS};
    memory_put_range(m, image, &all, event);
}

/* ---- looking and copying ---- */

void memory_sweep(struct memory_state *m, struct memory_sweep *sweep, struct memory_event *event)
{
    if (!event)
        return;
    event->references++;
    /* Runs that were copied out of what it swept over keep it. */
    memory_event_release(sweep->event);
    sweep->event = event;
    sweep->serial = ++m->serial;
}

void memory_look(const struct memory_state *m, const struct memory_side *side, uint64_t begin, uint64_t end,
                 struct memory_run *out)
{
    const struct memory_segment *segment;
    uint64_t serial, mark_end = end;

    *out = (struct memory_run){.end = end, .is_lost = side->is_lost};
    if (!side->store || (side->space && side->space->is_lost)) {
        out->origin = m->everything.event;
        out->is_lost |= side->space != NULL;
        return;
    }
    segment = memory_store_at(side->store, begin, end, &out->end);
    serial = segment ? segment->serial : side->store->serial;
    if (segment) {
        out->origin = segment->origin;
        out->copy = segment->copy;
        out->skip = segment->skip + (begin - segment->node.begin);
    }
    if (m->everything.event && m->everything.serial > serial) {
        out->origin = m->everything.event;
        out->copy = NULL;
    } else if (m->by_address.event && m->by_address.serial > serial && side->space) {
        if (memory_store_at(&side->space->addressable, begin, out->end, &mark_end)) {
            out->origin = m->by_address.event;
            out->copy = NULL;
        }
        out->end = mark_end;
    }
}

struct pieces {
    struct memory_run *at;
    size_t count, capacity;
};

static void put_pieces(struct memory_state *m, const struct memory_side *to, const struct pieces *pieces,
                       struct memory_event *copy, struct memory_event *unknown)
{
    uint64_t at = to->at, serial = ++m->serial, end;

    for (size_t i = 0; i < pieces->count && m->status == LAP_OK; i++, at = end) {
        const struct memory_run *run = &pieces->at[i];
        struct memory_event *origin = run->origin ? run->origin : run->is_lost ? unknown : NULL;
        end = to->at + run->end;
        if (origin)
            memory_fail(m, memory_store_put(to->store, at, end, origin, copy, run->skip, serial));
        else
            memory_fail(m, memory_store_clear(to->store, at, end));
    }
}

void memory_copy(struct memory_state *m, const struct memory_side *from, const struct memory_side *to, uint64_t bytes,
                 struct memory_event *copy)
{
    struct pieces pieces = {.at = NULL};
    struct memory_event *unknown;

    if (memory_is_late(m)) { /* the source may be written before it is read */
        if (to->space && copy)
            note_late(m,
                      &(struct memory_late){.space = to->space, .begin = to->at, .end = to->at + bytes, .event = copy});
        if (to->store && copy)
            memory_fail(m, memory_store_put(to->store, to->at, to->at + bytes, copy, NULL, 0, ++m->serial));
        return;
    }
    unknown = memory_command_event(m, MEMORY_UNDEFINED);

    for (uint64_t at = 0; at < bytes && m->status == LAP_OK && copy && to->store;) {
        struct memory_run run;
        if (!lap_array_grow(&pieces.at, sizeof *pieces.at, &pieces.capacity, pieces.count + 1)) {
            memory_fail(m, memory_no_memory());
            break;
        }
        if (++m->copied > MOST_COPIED)
            memory_fail(m, lap_fail(LAP_ERROR_LIMIT, "more parts of memory are copied than can be followed"));
        memory_look(m, from, from->at + at, from->at + bytes, &run);
        if (run.origin)
            run.origin->references++;
        at = run.end - from->at;
        run.end = at;
        pieces.at[pieces.count++] = run;
    }
    if (to->store && copy && m->status == LAP_OK)
        put_pieces(m, to, &pieces, copy, unknown);
    for (size_t i = 0; i < pieces.count; i++)
        memory_event_release(pieces.at[i].origin);
    memory_event_release(unknown);
    free(pieces.at);
}

/* ---- the pass ---- */

static const uint16_t own_calls[] = {GATES_CALLS,
                                     GEN_vkAllocateMemory,
                                     GEN_lapilliSharedMemory,
                                     GEN_vkFreeMemory,
                                     GEN_vkQueueBindSparse,
                                     GEN_vkCreateBuffer,
                                     GEN_vkDestroyBuffer,
                                     GEN_vkCreateBufferView,
                                     GEN_lapilliBindBuffer,
                                     GEN_vkCreateImage,
                                     GEN_vkDestroyImage,
                                     GEN_lapilliBindImage,
                                     GEN_lapilliUpdateBuffer,
                                     GEN_lapilliUpdateBufferSpans,
                                     GEN_lapilliUpdateImage,
                                     GEN_lapilliUpdateImageSpans,
                                     GEN_lapilliWriteTexels,
#ifdef VK_EXT_host_image_copy
                                     GEN_vkCopyImageToImageEXT,
                                     GEN_vkTransitionImageLayoutEXT,
#endif
                                     GEN_COMMAND_NONE};

static void see_own(struct memory_state *m, const struct trace_call *call)
{
    switch (call->command) {
    case GEN_vkAllocateMemory:
        see_allocation(m, call->args);
        return;
    case GEN_lapilliSharedMemory:
        see_sharing(m, call->args);
        return;
    case GEN_vkFreeMemory:
        free_memory(m, gen_u64_VkDeviceMemory(((const struct gen_args_vkFreeMemory *)call->args)->memory));
        return;
    case GEN_vkQueueBindSparse:
        lose_memories(m, call);
        return;
    case GEN_vkCreateBuffer:
        see_buffer(m, call->args);
        return;
    case GEN_vkDestroyBuffer:
        (void)lap_map_remove(&m->buffers,
                             gen_u64_VkBuffer(((const struct gen_args_vkDestroyBuffer *)call->args)->buffer));
        return;
    case GEN_vkCreateBufferView:
        see_buffer_view(m, call->args);
        return;
    case GEN_lapilliBindBuffer:
        bind_buffer(m, call->args);
        return;
    case GEN_vkCreateImage:
        see_image(m, call->args);
        return;
    case GEN_vkDestroyImage: {
        struct memory_image *image =
            lap_map_remove(&m->images, gen_u64_VkImage(((const struct gen_args_vkDestroyImage *)call->args)->image));
        if (image)
            finish_image(NULL, 0, image);
        return;
    }
    case GEN_lapilliBindImage:
        bind_image(m, call->args);
        return;
#ifdef VK_EXT_host_image_copy
    case GEN_vkCopyImageToImageEXT:
        memory_lose_images(m, call);
        return;
    case GEN_vkTransitionImageLayoutEXT:
        memory_see_transitions(m, call);
        return;
#endif
    default:
        memory_see_write(m, call);
        return;
    }
}

static enum lap_status see_call(void *user, const struct trace_call *call)
{
    struct memory_state *m = user;

    memory_fail(m, gates_settle(&m->gates));
    memory_write_late(m);
    for (const uint16_t *c = m->wish->calls; c && *c; c++)
        if (*c == call->command)
            return m->wish->see(m->wish->user, m, call);
    memory_fail(m, shader_stores_see(&m->shaders, call));
    memory_fail(m, gates_see(&m->gates, call));
    memory_write_late(m);
    see_own(m, call);
    return m->status;
}

static void show_progress(void *user, const struct lap_packet *packet)
{
    struct memory_state *m = user;

    if (m->wish->progress)
        m->wish->progress(m->wish->user, packet);
}

static size_t add_list(uint16_t *to, size_t count, const uint16_t *list)
{
    while (list && *list)
        to[count++] = *list++;
    return count;
}

static enum lap_status start(struct memory_state *m)
{
    lap_map_init(&m->memories);
    lap_map_init(&m->spaces);
    lap_map_init(&m->buffers);
    lap_map_init(&m->images);
    lap_map_init(&m->views);
    lap_arena_init(&m->arena, 0);
    lap_arena_init(&m->scratch, 0);
    shader_stores_init(&m->shaders);
    gates_init(&m->gates);
    m->mark = memory_event_new(MEMORY_UNDEFINED);
    return m->mark ? LAP_OK : memory_no_memory();
}

enum lap_status memory_state_find(const struct lap_reader *trace, const struct memory_wish *wish,
                                  struct memory_state **out)
{
    struct memory_state *m = *out = calloc(1, sizeof *m);
    uint16_t *calls = calloc(2 * (size_t)GEN_COMMAND_COUNT, sizeof *calls);
    struct bound_walk_options options = {.first_frame = 1,
                                         .last_frame = UINT64_MAX,
                                         .descriptors = true,
                                         .until = wish->until,
                                         .last_ticket = wish->last_ticket,
                                         .calls = calls,
                                         .visit_call = see_call,
                                         .progress = show_progress};
    enum lap_status status;

    if (!m || !calls) {
        free(m);
        free(calls);
        *out = NULL;
        return memory_no_memory();
    }
    m->trace = trace;
    m->wish = wish;
    status = start(m);
    calls[add_list(calls, add_list(calls, add_list(calls, 0, own_calls), shader_stores_commands), wish->calls)] = 0;
    if (status == LAP_OK)
        status = bound_walk(trace, &options, memory_see_command, m);
    memory_fail(m, gates_settle(&m->gates));
    memory_write_late(m);
    if (status == LAP_OK)
        status = m->status;
    free(calls);
    memory_event_release(m->last_work.event);
    memory_event_release(m->pass_event);
    m->last_work.event = m->pass_event = NULL;
    if (status == LAP_ERROR_MEMORY || status == LAP_ERROR_LIMIT)
        memory_state_free(out);
    return status;
}

static void finish_place(void *user, uint64_t key, void *value)
{
    struct memory_place *place = value;

    memory_store_finish(&place->space->bytes);
    memory_store_finish(&place->space->addressable);
}

static void finish_space(void *user, uint64_t key, void *value)
{
    struct memory_space *space = value;

    memory_store_finish(&space->bytes);
    memory_store_finish(&space->addressable);
}

void memory_state_free(struct memory_state **state)
{
    struct memory_state *m = *state;

    if (!m)
        return;
    memory_answers_end(m);
    lap_map_each(&m->images, finish_image, NULL);
    lap_map_each(&m->memories, finish_place, NULL);
    lap_map_each(&m->spaces, finish_space, NULL);
    lap_map_finish(&m->memories);
    lap_map_finish(&m->spaces);
    lap_map_finish(&m->buffers);
    lap_map_finish(&m->images);
    lap_map_finish(&m->views);
    shader_stores_finish(&m->shaders);
    gates_finish(&m->gates);
    for (size_t i = 0; i < m->late_count; i++)
        memory_event_release(m->late[i].event);
    free(m->late);
    memory_event_release(m->everything.event);
    memory_event_release(m->by_address.event);
    memory_event_release(m->mark);
    lap_arena_finish(&m->arena);
    lap_arena_finish(&m->scratch);
    free(m);
    *state = NULL;
}

size_t memory_state_segments(const struct memory_state *m)
{
    return m->segments;
}
