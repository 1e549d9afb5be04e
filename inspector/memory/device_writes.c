/* SPDX-License-Identifier: MIT */
/* What the commands that a submit runs do to contents. Fills, updates and copies are followed; anything else that a
 * command may write is the device's from there on. */
#include <string.h>

#include "gen_decode.h"
#include "gen_effects.h"
#include "gen_ids.h"
#include "gen_reflect.h"
#include "gen_renamed.h"
#include "inspector/memory/memory_internal.h"
#include "inspector/state/attachments.h"
#include "inspector/state/reached.h"
#include "vulkan/barrier.h"
#include "vulkan/chain.h"
#include "vulkan/pass.h"
#include "vulkan/walk.h"

#define MOST_ELEMENTS 4096u /* descriptors of a binding that shaders may store to; more: all memory may be written */

static struct memory_event *new_event(struct memory_state *m, enum memory_kind kind)
{
    return memory_command_event(m, kind);
}

struct memory_event *memory_command_event(struct memory_state *m, enum memory_kind kind)
{
    const struct position *at = &m->visit.position;
    struct memory_event *event = memory_event_new(memory_is_late(m) && kind < MEMORY_DEVICE ? MEMORY_DEVICE : kind);

    if (!event) {
        memory_fail(m, memory_no_memory());
        return NULL;
    }
    event->command = m->visit.command;
    event->ticket = m->visit.ticket;
    event->position = *at;
    event->block = m->visit.block;
    event->index = at->count ? (uint32_t)at->numbers[at->count - 1] : 0;
    return event;
}

/* ---- buffers ---- */

static void fill_buffer(struct memory_state *m, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size, uint32_t value)
{
    uint64_t index = gen_u64_VkBuffer(buffer), all;
    struct memory_event *event = new_event(m, MEMORY_FILL);

    if (event && size == VK_WHOLE_SIZE && memory_buffer_size(m, index, &all) && offset < all)
        size = (all - offset) & ~(VkDeviceSize)3; /* "rounded down to the nearest multiple of 4" */
    if (event)
        event->fill = value;
    memory_put_buffer(m, index, offset, size, event, 0);
    memory_event_release(event);
}

static void update_buffer(struct memory_state *m, const struct gen_args_vkCmdUpdateBuffer *a)
{
    struct memory_event *event = new_event(m, MEMORY_UPDATE);

    memory_put_buffer(m, gen_u64_VkBuffer(a->dstBuffer), a->dstOffset, a->dataSize, event, 0);
    memory_event_release(event);
}

static void device_writes_buffer(struct memory_state *m, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize bytes)
{
    struct memory_event *event = new_event(m, MEMORY_DEVICE);

    memory_put_buffer(m, gen_u64_VkBuffer(buffer), offset, bytes, event, 0);
    memory_event_release(event);
}

/* ---- copies ---- */

static struct memory_event *copy_event(struct memory_state *m, uint32_t type, uint64_t source)
{
    struct memory_event *event = new_event(m, MEMORY_DEVICE);

    if (event) {
        event->type = type;
        event->object = source;
    }
    return event;
}

static void copy_buffer(struct memory_state *m, VkBuffer from, VkBuffer to, VkDeviceSize from_offset,
                        VkDeviceSize to_offset, VkDeviceSize bytes)
{
    struct memory_event *event = copy_event(m, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(from));
    struct memory_side source = {.is_lost = true}, target;
    uint64_t size, source_size;

    (void)memory_side_of_buffer(m, gen_u64_VkBuffer(from), from_offset, &source);
    if (memory_side_of_buffer(m, gen_u64_VkBuffer(to), to_offset, &target) &&
        memory_buffer_size(m, gen_u64_VkBuffer(to), &size)) {
        bytes = bytes < size - to_offset ? bytes : size - to_offset;
        if (source.store && memory_buffer_size(m, gen_u64_VkBuffer(from), &source_size))
            bytes = bytes < source_size - from_offset ? bytes : source_size - from_offset;
        memory_copy(m, &source, &target, bytes, event);
    }
    memory_event_release(event);
}

/* A part of one layer, in blocks. */
struct box {
    uint64_t x, y, z, width, height, depth;
};

/* The bytes of a box in a row; a pitch of a row and of a slice. */
struct layout {
    uint64_t begin, row, slice, bytes; /* bytes: of a block */
};

/* Copies a box row by row, neighbours at once. */
static void copy_box(struct memory_state *m, const struct memory_side *from, const struct layout *from_layout,
                     const struct memory_side *to, const struct layout *to_layout, const struct box *box,
                     struct memory_event *event)
{
    uint64_t row = box->width * to_layout->bytes, pending = 0;
    struct memory_side source = *from, target = *to;

    for (uint64_t z = 0; z < box->depth; z++)
        for (uint64_t y = 0; y < box->height && m->status == LAP_OK; y++) {
            uint64_t from_at = from->at + from_layout->begin + z * from_layout->slice + y * from_layout->row;
            uint64_t to_at = to->at + to_layout->begin + z * to_layout->slice + y * to_layout->row;
            if (pending && from_at == source.at + pending && to_at == target.at + pending) {
                pending += row;
                continue;
            }
            if (pending)
                memory_copy(m, &source, &target, pending, event);
            source.at = from_at;
            target.at = to_at;
            pending = row;
        }
    if (pending)
        memory_copy(m, &source, &target, pending, event);
}

/* Where a box of an image begins. False: its bytes have no known places, or it does not lie in the level. */
static bool place_box(const struct memory_image *image, const struct memory_region *region, const struct box *box,
                      struct layout *out)
{
    struct lap_texel_block block;
    uint64_t row_blocks, rows, bytes = memory_level_bytes(image, region->aspect, region->level, &row_blocks, &rows);
    uint64_t x, y, z = (uint32_t)region->offset.z, slices;

    if (!bytes || !memory_region_block(image, region->aspect, &block) || region->offset.x < 0 || region->offset.y < 0 ||
        region->offset.z < 0)
        return false;
    x = (uint32_t)region->offset.x / block.width;
    y = (uint32_t)region->offset.y / block.height;
    slices = bytes / (row_blocks * block.bytes * rows);
    if (x > row_blocks || box->width > row_blocks - x || y > rows || box->height > rows - y || z > slices ||
        box->depth > slices - z)
        return false;
    *out = (struct layout){.row = row_blocks * block.bytes, .bytes = block.bytes};
    out->slice = out->row * rows;
    out->begin = z * out->slice + y * out->row + x * block.bytes;
    return true;
}

struct buffer_region {
    uint64_t offset;
    uint32_t row_length, image_height;
    VkImageSubresourceLayers layers;
    VkOffset3D image_offset;
    VkExtent3D extent;
    const void *next;
};

static uint32_t layers_of(const struct memory_image *image, const VkImageSubresourceLayers *layers)
{
    uint32_t all = image->info.arrayLayers, first = layers->baseArrayLayer;

    return first >= all ? 0 : layers->layerCount > all - first ? all - first : layers->layerCount;
}

/* 24 bits of depth lie in 32, of which 8 mean nothing. */
static bool has_gaps(VkFormat format, VkImageAspectFlags aspect)
{
    return aspect == VK_IMAGE_ASPECT_DEPTH_BIT &&
           (format == VK_FORMAT_X8_D24_UNORM_PACK32 || format == VK_FORMAT_D24_UNORM_S8_UINT);
}

/* VK_QCOM_rotated_copy_commands */
static bool is_turned(const void *next)
{
    return next && lap_chain_find(next, VK_STRUCTURE_TYPE_COPY_COMMAND_TRANSFORM_INFO_QCOM);
}

static void whole_range(struct memory_state *m, struct memory_image *image, const VkImageSubresourceLayers *layers)
{
    const VkImageSubresourceRange range = {layers->aspectMask, layers->mipLevel, 1, layers->baseArrayLayer,
                                           layers->layerCount};
    struct memory_event *event = new_event(m, MEMORY_DEVICE);

    memory_put_range(m, image, &range, event);
    memory_event_release(event);
}

/* The rows of a copy in the buffer. False: they are not known. */
static bool lay_out(const struct memory_image *image, const struct buffer_region *region, struct box *box,
                    struct layout *out)
{
    struct lap_texel_block block;
    VkImageAspectFlags aspect = region->layers.aspectMask;

    if (!aspect || aspect & (aspect - 1) || is_turned(region->next) || !memory_region_block(image, aspect, &block))
        return false;
    *box = (struct box){.width = memory_divide_up(region->extent.width, block.width),
                        .height = memory_divide_up(region->extent.height, block.height),
                        .depth = region->extent.depth};
    *out = (struct layout){.bytes = block.bytes};
    out->row = (region->row_length ? memory_divide_up(region->row_length, block.width) : box->width) * block.bytes;
    return box->height * box->depth <= MEMORY_MOST_ROWS &&
           !__builtin_mul_overflow(
               out->row, region->image_height ? memory_divide_up(region->image_height, block.height) : box->height,
               &out->slice) &&
           out->slice < UINT64_MAX >> 24;
}

static void upload(struct memory_state *m, VkBuffer from, VkImage to, const struct buffer_region *region)
{
    struct memory_image *image = memory_find_image(m, gen_u64_VkImage(to));
    struct memory_event *event;
    struct layout rows, texels;
    struct box box;

    if (!image)
        return;
    if (!lay_out(image, region, &box, &rows)) {
        whole_range(m, image, &region->layers);
        return;
    }
    event = copy_event(m, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(from));
    memory_begin_image_write(m, image);
    for (uint32_t i = 0; i < layers_of(image, &region->layers) && event && m->status == LAP_OK; i++) {
        const struct memory_region part = {region->layers.mipLevel, region->layers.baseArrayLayer + i,
                                           region->layers.aspectMask, region->image_offset, region->extent};
        struct memory_side source = {.is_lost = true}, target;
        uint64_t offset = region->offset + i * rows.slice * box.depth;
        (void)memory_side_of_buffer(m, gen_u64_VkBuffer(from), offset, &source);
        if (place_box(image, &part, &box, &texels) &&
            memory_side_of_image(m, image, part.aspect, part.level, part.layer, true, &target))
            copy_box(m, &source, &rows, &target, &texels, &box, event);
        else
            whole_range(m, image, &region->layers);
    }
    memory_event_release(event);
}

static void download(struct memory_state *m, VkImage from, VkBuffer to, const struct buffer_region *region)
{
    struct memory_image *image = memory_find_image(m, gen_u64_VkImage(from));
    struct memory_event *event;
    struct layout rows, texels;
    struct box box;
    uint64_t size, all;

    if (!image || !lay_out(image, region, &box, &rows) || has_gaps(image->info.format, region->layers.aspectMask)) {
        device_writes_buffer(m, to, region->offset, UINT64_MAX);
        return;
    }
    event = copy_event(m, GEN_HANDLE_VkImage, gen_u64_VkImage(from));
    for (uint32_t i = 0; i < layers_of(image, &region->layers) && event && m->status == LAP_OK; i++) {
        const struct memory_region part = {region->layers.mipLevel, region->layers.baseArrayLayer + i,
                                           region->layers.aspectMask, region->image_offset, region->extent};
        struct memory_side source, target;
        uint64_t offset = region->offset + i * rows.slice * box.depth;
        all = box.depth && box.height
                  ? (box.depth - 1) * rows.slice + (box.height - 1) * rows.row + box.width * rows.bytes
                  : 0;
        if (!memory_side_of_buffer(m, gen_u64_VkBuffer(to), offset, &target) ||
            !memory_buffer_size(m, gen_u64_VkBuffer(to), &size) || all > size - offset ||
            !place_box(image, &part, &box, &texels) ||
            !memory_side_of_image(m, image, part.aspect, part.level, part.layer, false, &source))
            device_writes_buffer(m, to, offset, UINT64_MAX);
        else
            copy_box(m, &source, &texels, &target, &rows, &box, event);
    }
    memory_event_release(event);
}

struct image_region {
    VkImageSubresourceLayers from, to;
    VkOffset3D from_offset, to_offset;
    VkExtent3D extent;
    const void *next;
};

/* Slices of a volume are layers of other images. */
static uint32_t slices_of(const struct memory_image *image, const VkImageSubresourceLayers *layers, VkExtent3D extent)
{
    return image->info.imageType == VK_IMAGE_TYPE_3D ? extent.depth : layers_of(image, layers);
}

static struct memory_region slice_of(const struct memory_image *image, const VkImageSubresourceLayers *layers,
                                     VkImageAspectFlags aspect, VkOffset3D offset, uint32_t slice)
{
    bool is_volume = image->info.imageType == VK_IMAGE_TYPE_3D;
    struct memory_region region = {
        layers->mipLevel, layers->baseArrayLayer + (is_volume ? 0 : slice), aspect, offset, {1, 1, 1}};

    region.offset.z = is_volume ? offset.z + (int32_t)slice : 0;
    return region;
}

static bool copy_slice(struct memory_state *m, struct memory_image *from, struct memory_image *to,
                       const struct memory_region *source, const struct memory_region *target, const struct box *box,
                       struct memory_event *event)
{
    struct memory_side from_side, to_side;
    struct layout from_layout, to_layout;

    if (!place_box(from, source, box, &from_layout) || !place_box(to, target, box, &to_layout) ||
        from_layout.bytes != to_layout.bytes ||
        !memory_side_of_image(m, to, target->aspect, target->level, target->layer, true, &to_side) ||
        !memory_side_of_image(m, from, source->aspect, source->level, source->layer, false, &from_side))
        return false;
    copy_box(m, &from_side, &from_layout, &to_side, &to_layout, box, event);
    return true;
}

static void copy_image(struct memory_state *m, VkImage from, VkImage to, const struct image_region *region)
{
    struct memory_image *source = memory_find_image(m, gen_u64_VkImage(from));
    struct memory_image *target = memory_find_image(m, gen_u64_VkImage(to));
    VkImageAspectFlags left = region->from.aspectMask, other = region->to.aspectMask;
    struct memory_event *event;
    bool known = source && !is_turned(region->next);

    if (!target)
        return;
    memory_begin_image_write(m, target);
    event = copy_event(m, GEN_HANDLE_VkImage, gen_u64_VkImage(from));
    for (; known && event && left && other; left &= left - 1, other &= other - 1) {
        uint32_t slices = slices_of(source, &region->from, region->extent);
        struct lap_texel_block block;
        struct box box;
        known = memory_region_block(source, left & -left, &block);
        if (slices > slices_of(target, &region->to, region->extent))
            slices = slices_of(target, &region->to, region->extent);
        box = (struct box){.width = memory_divide_up(region->extent.width, known ? block.width : 1),
                           .height = memory_divide_up(region->extent.height, known ? block.height : 1),
                           .depth = 1};
        for (uint32_t i = 0; i < slices && known && m->status == LAP_OK; i++) {
            const struct memory_region a = slice_of(source, &region->from, left & -left, region->from_offset, i);
            const struct memory_region b = slice_of(target, &region->to, other & -other, region->to_offset, i);
            known = copy_slice(m, source, target, &a, &b, &box, event);
        }
    }
    memory_event_release(event);
    if (!known)
        whole_range(m, target, &region->to);
}

/* ---- images that the device computes ---- */

static void write_image(struct memory_state *m, VkImage handle, const VkImageSubresourceLayers *layers,
                        const VkOffset3D *a, const VkOffset3D *b)
{
    struct memory_image *image = memory_find_image(m, gen_u64_VkImage(handle));
    const VkOffset3D low = {a->x < b->x ? a->x : b->x, a->y < b->y ? a->y : b->y, a->z < b->z ? a->z : b->z};
    const VkExtent3D extent = {(uint32_t)(a->x > b->x ? a->x : b->x) - (uint32_t)low.x,
                               (uint32_t)(a->y > b->y ? a->y : b->y) - (uint32_t)low.y,
                               (uint32_t)(a->z > b->z ? a->z : b->z) - (uint32_t)low.z};
    struct memory_event *event;

    if (!image)
        return;
    if (low.x < 0 || low.y < 0 || low.z < 0) {
        whole_range(m, image, layers);
        return;
    }
    event = new_event(m, MEMORY_DEVICE);
    memory_begin_image_write(m, image);
    for (VkImageAspectFlags left = layers->aspectMask; left && event; left &= left - 1)
        for (uint32_t i = 0; i < layers_of(image, layers) && m->status == LAP_OK; i++)
            memory_put_region(
                m, image,
                &(struct memory_region){layers->mipLevel, layers->baseArrayLayer + i, left & -left, low, extent},
                event);
    memory_event_release(event);
}

static void write_region(struct memory_state *m, VkImage image, const VkImageSubresourceLayers *layers,
                         const VkOffset3D *offset, const VkExtent3D *extent)
{
    const VkOffset3D end = {offset->x + (int32_t)(extent->width & INT32_MAX),
                            offset->y + (int32_t)(extent->height & INT32_MAX),
                            offset->z + (int32_t)(extent->depth & INT32_MAX)};
    write_image(m, image, layers, offset, &end);
}

static void write_range(struct memory_state *m, VkImage handle, const VkImageSubresourceRange *range,
                        enum memory_kind kind)
{
    struct memory_image *image = memory_find_image(m, gen_u64_VkImage(handle));
    struct memory_event *event = image ? new_event(m, kind) : NULL;

    if (image)
        memory_put_range(m, image, range, event);
    memory_event_release(event);
}

/* A transition from an undefined layout drops the contents. */
static void see_barriers(struct memory_state *m, uint32_t count, const VkImageMemoryBarrier *barriers)
{
    for (uint32_t i = 0; barriers && i < count; i++)
        if (lap_barrier_drops(barriers[i].oldLayout, barriers[i].srcQueueFamilyIndex) &&
            barriers[i].newLayout != barriers[i].oldLayout)
            write_range(m, barriers[i].image, &barriers[i].subresourceRange, MEMORY_UNDEFINED);
}

static void see_dependency(struct memory_state *m, const VkDependencyInfo *info)
{
    for (uint32_t i = 0; info && info->pImageMemoryBarriers && i < info->imageMemoryBarrierCount; i++) {
        const VkImageMemoryBarrier2 *barrier = &info->pImageMemoryBarriers[i];
        if (lap_barrier_drops(barrier->oldLayout, barrier->srcQueueFamilyIndex) &&
            barrier->newLayout != barrier->oldLayout)
            write_range(m, barrier->image, &barrier->subresourceRange, MEMORY_UNDEFINED);
    }
}

/* ---- render passes ---- */

/* All attachments of the subpass that begins; those of an input attachment, too, which may be cleared. */
static void write_attachments(struct memory_state *m)
{
    struct attachment *attachments;
    const struct lap_args *begin;
    uint32_t command;
    size_t count;
    enum lap_status status;

    memory_event_release(m->pass_event);
    m->pass_event = new_event(m, MEMORY_DEVICE);
    lap_arena_reset(&m->scratch);
    status = attachments_of(m->visit.bound, &m->scratch, &attachments, &count, &begin, &command);
    memory_fail(m, status);
    for (size_t i = 0; i < count && m->pass_event && m->status == LAP_OK; i++) {
        struct memory_image *image = memory_find_image(m, attachments[i].image);
        if (image && attachments[i].role != ATTACHMENT_SHADING_RATE && attachments[i].role != ATTACHMENT_DENSITY_MAP)
            memory_put_range(m, image, &attachments[i].range, m->pass_event);
    }
}

/* The event of what is drawn in a render pass is that of the last command that drew. */
static void draw_in_pass(struct memory_state *m)
{
    struct memory_event *event = m->pass_event;

    if (!event || m->visit.bound->pass.kind == BOUND_NO_PASS)
        return;
    event->more++;
    event->command = m->visit.command;
    event->position = m->visit.position;
    event->type = GEN_HANDLE_VkPipeline;
    event->object = m->visit.bound->points[BOUND_GRAPHICS].pipeline;
}

static void write_feedback(struct memory_state *m)
{
    const struct bound *bound = m->visit.bound;

    for (size_t i = 0; bound->feedback_command != BOUND_NO_COMMAND && i < 4; i++)
        if (bound->feedback[i].command != BOUND_NO_COMMAND) {
            struct memory_event *event = new_event(m, MEMORY_DEVICE);
            memory_put_buffer(m, bound->feedback[i].buffer, bound->feedback[i].offset, bound->feedback[i].size, event,
                              0);
            memory_event_release(event);
        }
}

/* ---- stores of shaders ---- */

struct stores {
    struct memory_state *m;
    const struct bound *bound;
    enum bound_point point;
    struct lap_spirv_access access;
    struct memory_event *event;
    uint32_t set, binding, elements; /* of the binding that is looked at */
    bool everywhere;
};

static bool stores_to(void *user, uint32_t set, uint32_t binding)
{
    const struct stores *s = user;
    return set < LAP_SPIRV_SETS && s->access.stores[set] & lap_spirv_bit(binding);
}

static enum lap_status store_descriptor(void *user, const struct reached *reached)
{
    struct stores *s = user;
    struct memory_state *m = s->m;
    const struct descriptor *d = &reached->descriptor;

    if (s->set != reached->set || s->binding != reached->binding)
        s->elements = 0;
    s->set = reached->set;
    s->binding = reached->binding;
    if (++s->elements > MOST_ELEMENTS) {
        s->everywhere = true;
        return LAP_END;
    }
    if (d->type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER || d->type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC) {
        memory_put_buffer(m, d->object, d->offset, d->range, s->event, 0);
    } else if (d->type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER) {
        const struct memory_view *view = lap_map_get(&m->views, d->object);
        if (view)
            memory_put_buffer(m, view->buffer, view->offset, view->bytes, s->event, 0);
    } else if (d->type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE) {
        const struct fact_view *view = fact_of_view(s->bound->facts, d->object);
        struct memory_image *image = view ? memory_find_image(m, view->image) : NULL;
        if (image)
            memory_put_range(m, image, &view->range, s->event);
    }
    return m->status;
}

static bool is_in_buffers(const struct stores *s)
{
    const struct bound_pipeline *p = &s->bound->points[s->point];

    for (size_t i = 0; i < p->set_count && i < LAP_SPIRV_SETS; i++)
        if (p->sets[i].kind == BOUND_SET_OFFSET && s->access.stores[i])
            return true;
    return false;
}

static uint32_t last_bind(const struct bound *bound, enum bound_point point)
{
    const struct bound_pipeline *p = &bound->points[point];
    uint32_t last = p->command;

    for (size_t i = 0; i < p->set_count; i++)
        last = p->sets[i].kind && p->sets[i].command > last ? p->sets[i].command : last;
    for (size_t i = 0; i < bound->pushes_count; i++)
        last = bound->pushes[i].index > last ? bound->pushes[i].index : last;
    for (unsigned i = 0; i < BOUND_STAGES; i++)
        last = bound->shaders[i].shader && bound->shaders[i].command > last ? bound->shaders[i].command : last;
    return last;
}

/* The same shaders with the same descriptors store to the same bytes as those of the command before. */
static bool is_as_before(struct memory_state *m, const struct stores *s, uint64_t pipeline)
{
    struct memory_event *event = m->last_work.event;

    if (!event || m->last_work.bound != s->bound || m->last_work.run != m->run || m->last_work.pipeline != pipeline ||
        m->last_work.serial != m->serial || m->last_work.last_bind != last_bind(s->bound, s->point))
        return false;
    event->more++;
    event->command = m->visit.command;
    event->position = m->visit.position;
    return true;
}

static void store(struct memory_state *m, enum bound_point point)
{
    struct stores s = {.m = m, .bound = m->visit.bound, .point = point, .set = UINT32_MAX};
    uint64_t pipeline = s.bound->points[point].pipeline;

    shader_stores_of_bound(&m->shaders, s.bound, point, &s.access);
    if (!lap_spirv_access_any(&s.access) || is_as_before(m, &s, pipeline))
        return;
    s.event = new_event(m, MEMORY_DEVICE);
    if (!s.event)
        return;
    s.event->type = GEN_HANDLE_VkPipeline;
    s.event->object = pipeline;
    lap_arena_reset(&m->scratch);
    memory_fail(m, reached_each(s.bound, m->visit.descriptors, point, &m->scratch, stores_to, store_descriptor, &s));
    if (s.everywhere || is_in_buffers(&s) || (m->has_heap && lap_spirv_access_any(&s.access)))
        memory_sweep(m, &m->everything, s.event);
    else if (s.access.address_stores)
        memory_sweep(m, &m->by_address, s.event);
    memory_event_release(m->last_work.event);
    m->last_work.event = s.event;
    m->last_work.bound = s.bound;
    m->last_work.run = m->run;
    m->last_work.pipeline = pipeline;
    m->last_work.last_bind = last_bind(s.bound, point);
    m->last_work.serial = m->serial;
}

/* ---- any other command ---- */

static void write_named(void *user, const struct lap_place *place, const struct lap_value *value)
{
    struct memory_state *m = user;
    struct memory_image *image;

    if (value->kind != LAP_VALUE_HANDLE || !value->u || place->member->flags & GEN_MEMBER_READ)
        return;
    if (value->type == GEN_HANDLE_VkBuffer) {
        struct memory_event *event = new_event(m, MEMORY_DEVICE);
        memory_put_buffer(m, value->u, 0, UINT64_MAX, event, 0);
        memory_event_release(event);
    } else if (value->type == GEN_HANDLE_VkImage || value->type == GEN_HANDLE_VkImageView) {
        const struct fact_view *view =
            value->type == GEN_HANDLE_VkImageView ? fact_of_view(m->visit.bound->facts, value->u) : NULL;
        image = memory_find_image(m, view ? view->image : value->type == GEN_HANDLE_VkImage ? value->u : 0);
        if (image) {
            struct memory_event *event = new_event(m, MEMORY_DEVICE);
            memory_put_whole(m, image, event);
            memory_event_release(event);
        }
    }
}

/* What it names, and what it reaches by addresses, or without a name. */
static void do_any(struct memory_state *m, const void *args)
{
    const struct gen_effect *effect = &gen_effects[m->visit.command];
    bool has_shaders = m->visit.command == GEN_vkCmdSubpassShadingHUAWEI;
    const struct lap_visitor visitor = {.value = write_named, .user = m};

    if (effect->objects != GEN_OBJECTS_CHANGES)
        return;
    lap_walk_command(m->visit.command, args, false, &visitor);
    if (!effect->addresses && !effect->everything && !has_shaders)
        return;
    struct memory_event *event = new_event(m, MEMORY_DEVICE);
    memory_sweep(m, effect->everything || has_shaders ? &m->everything : &m->by_address, event);
    memory_event_release(event);
}

/* ---- commands ---- */

static struct buffer_region plain_region(const VkBufferImageCopy *r)
{
    return (struct buffer_region){r->bufferOffset,
                                  r->bufferRowLength,
                                  r->bufferImageHeight,
                                  r->imageSubresource,
                                  r->imageOffset,
                                  r->imageExtent,
                                  NULL};
}

static struct buffer_region plain_region2(const VkBufferImageCopy2 *r)
{
    return (struct buffer_region){
        r->bufferOffset, r->bufferRowLength, r->bufferImageHeight, r->imageSubresource, r->imageOffset, r->imageExtent,
        r->pNext};
}

static bool see_copies(struct memory_state *m, const void *args)
{
    switch (m->visit.command) {
    case GEN_vkCmdCopyBuffer: {
        const struct gen_args_vkCmdCopyBuffer *a = args;
        for (uint32_t i = 0; a->pRegions && i < a->regionCount; i++)
            copy_buffer(m, a->srcBuffer, a->dstBuffer, a->pRegions[i].srcOffset, a->pRegions[i].dstOffset,
                        a->pRegions[i].size);
        return true;
    }
    case GEN_vkCmdCopyBuffer2: {
        const VkCopyBufferInfo2 *a = ((const struct gen_args_vkCmdCopyBuffer2 *)args)->pCopyBufferInfo;
        for (uint32_t i = 0; a && a->pRegions && i < a->regionCount; i++)
            copy_buffer(m, a->srcBuffer, a->dstBuffer, a->pRegions[i].srcOffset, a->pRegions[i].dstOffset,
                        a->pRegions[i].size);
        return true;
    }
    case GEN_vkCmdCopyBufferToImage: {
        const struct gen_args_vkCmdCopyBufferToImage *a = args;
        for (uint32_t i = 0; a->pRegions && i < a->regionCount; i++)
            upload(m, a->srcBuffer, a->dstImage, &(struct buffer_region[]){plain_region(&a->pRegions[i])}[0]);
        return true;
    }
    case GEN_vkCmdCopyBufferToImage2: {
        const VkCopyBufferToImageInfo2 *a =
            ((const struct gen_args_vkCmdCopyBufferToImage2 *)args)->pCopyBufferToImageInfo;
        for (uint32_t i = 0; a && a->pRegions && i < a->regionCount; i++)
            upload(m, a->srcBuffer, a->dstImage, &(struct buffer_region[]){plain_region2(&a->pRegions[i])}[0]);
        return true;
    }
    case GEN_vkCmdCopyImageToBuffer: {
        const struct gen_args_vkCmdCopyImageToBuffer *a = args;
        for (uint32_t i = 0; a->pRegions && i < a->regionCount; i++)
            download(m, a->srcImage, a->dstBuffer, &(struct buffer_region[]){plain_region(&a->pRegions[i])}[0]);
        return true;
    }
    case GEN_vkCmdCopyImageToBuffer2: {
        const VkCopyImageToBufferInfo2 *a =
            ((const struct gen_args_vkCmdCopyImageToBuffer2 *)args)->pCopyImageToBufferInfo;
        for (uint32_t i = 0; a && a->pRegions && i < a->regionCount; i++)
            download(m, a->srcImage, a->dstBuffer, &(struct buffer_region[]){plain_region2(&a->pRegions[i])}[0]);
        return true;
    }
    case GEN_vkCmdCopyImage: {
        const struct gen_args_vkCmdCopyImage *a = args;
        for (uint32_t i = 0; a->pRegions && i < a->regionCount; i++) {
            const VkImageCopy *r = &a->pRegions[i];
            copy_image(m, a->srcImage, a->dstImage,
                       &(struct image_region){r->srcSubresource, r->dstSubresource, r->srcOffset, r->dstOffset,
                                              r->extent, NULL});
        }
        return true;
    }
    case GEN_vkCmdCopyImage2: {
        const VkCopyImageInfo2 *a = ((const struct gen_args_vkCmdCopyImage2 *)args)->pCopyImageInfo;
        for (uint32_t i = 0; a && a->pRegions && i < a->regionCount; i++) {
            const VkImageCopy2 *r = &a->pRegions[i];
            copy_image(m, a->srcImage, a->dstImage,
                       &(struct image_region){r->srcSubresource, r->dstSubresource, r->srcOffset, r->dstOffset,
                                              r->extent, r->pNext});
        }
        return true;
    }
    default:
        return false;
    }
}

static bool see_image_writes(struct memory_state *m, const void *args)
{
    switch (m->visit.command) {
    case GEN_vkCmdBlitImage: {
        const struct gen_args_vkCmdBlitImage *a = args;
        for (uint32_t i = 0; a->pRegions && i < a->regionCount; i++)
            write_image(m, a->dstImage, &a->pRegions[i].dstSubresource, &a->pRegions[i].dstOffsets[0],
                        &a->pRegions[i].dstOffsets[1]);
        return true;
    }
    case GEN_vkCmdBlitImage2: {
        const VkBlitImageInfo2 *a = ((const struct gen_args_vkCmdBlitImage2 *)args)->pBlitImageInfo;
        for (uint32_t i = 0; a && a->pRegions && i < a->regionCount; i++) {
            struct memory_image *image = memory_find_image(m, gen_u64_VkImage(a->dstImage));
            if (image && is_turned(a->pRegions[i].pNext))
                whole_range(m, image, &a->pRegions[i].dstSubresource);
            else
                write_image(m, a->dstImage, &a->pRegions[i].dstSubresource, &a->pRegions[i].dstOffsets[0],
                            &a->pRegions[i].dstOffsets[1]);
        }
        return true;
    }
    case GEN_vkCmdResolveImage: {
        const struct gen_args_vkCmdResolveImage *a = args;
        for (uint32_t i = 0; a->pRegions && i < a->regionCount; i++)
            write_region(m, a->dstImage, &a->pRegions[i].dstSubresource, &a->pRegions[i].dstOffset,
                         &a->pRegions[i].extent);
        return true;
    }
    case GEN_vkCmdResolveImage2: {
        const VkResolveImageInfo2 *a = ((const struct gen_args_vkCmdResolveImage2 *)args)->pResolveImageInfo;
        for (uint32_t i = 0; a && a->pRegions && i < a->regionCount; i++)
            write_region(m, a->dstImage, &a->pRegions[i].dstSubresource, &a->pRegions[i].dstOffset,
                         &a->pRegions[i].extent);
        return true;
    }
    case GEN_vkCmdClearColorImage: {
        const struct gen_args_vkCmdClearColorImage *a = args;
        for (uint32_t i = 0; a->pRanges && i < a->rangeCount; i++)
            write_range(m, a->image, &a->pRanges[i], MEMORY_DEVICE);
        return true;
    }
    case GEN_vkCmdClearDepthStencilImage: {
        const struct gen_args_vkCmdClearDepthStencilImage *a = args;
        for (uint32_t i = 0; a->pRanges && i < a->rangeCount; i++)
            write_range(m, a->image, &a->pRanges[i], MEMORY_DEVICE);
        return true;
    }
    default:
        return false;
    }
}

static void see_query_results(struct memory_state *m, const struct gen_args_vkCmdCopyQueryPoolResults *a)
{
    /* How much a query writes depends on its kind: up to the buffer's end at most. */
    VkDeviceSize bytes =
        a->queryCount <= 1 || !a->stride || a->stride > UINT32_MAX ? UINT64_MAX : a->stride * a->queryCount + 256;
    device_writes_buffer(m, a->dstBuffer, a->dstOffset, bytes);
}

static bool see_buffer_writes(struct memory_state *m, const void *args)
{
    switch (m->visit.command) {
    case GEN_vkCmdFillBuffer: {
        const struct gen_args_vkCmdFillBuffer *a = args;
        fill_buffer(m, a->dstBuffer, a->dstOffset, a->size, a->data);
        return true;
    }
    case GEN_vkCmdUpdateBuffer:
        update_buffer(m, args);
        return true;
#ifdef VK_AMD_buffer_marker
    case GEN_vkCmdWriteBufferMarkerAMD: {
        const struct gen_args_vkCmdWriteBufferMarkerAMD *a = args;
        fill_buffer(m, a->dstBuffer, a->dstOffset, 4, a->marker);
        return true;
    }
    case GEN_vkCmdWriteBufferMarker2AMD: {
        const struct gen_args_vkCmdWriteBufferMarker2AMD *a = args;
        fill_buffer(m, a->dstBuffer, a->dstOffset, 4, a->marker);
        return true;
    }
#endif
    case GEN_vkCmdCopyQueryPoolResults:
        see_query_results(m, args);
        return true;
    default:
        return false;
    }
}

static void wait_events(struct memory_state *m, uint32_t count, const VkEvent *events)
{
    for (uint32_t i = 0; events && i < count; i++)
        memory_fail(m, gates_wait(&m->gates, gen_u64_VkEvent(events[i])));
}

static void set_event(struct memory_state *m, VkEvent event, bool set)
{
    memory_fail(m, gates_set(&m->gates, gen_u64_VkEvent(event), set));
    memory_write_late(m);
}

/* Commands that write no contents themselves, whatever they name. */
static bool see_order(struct memory_state *m, const void *args)
{
    switch (m->visit.command) {
    case GEN_vkBeginCommandBuffer:
        m->run++;
        return true;
    case GEN_vkCmdPipelineBarrier: {
        const struct gen_args_vkCmdPipelineBarrier *a = args;
        see_barriers(m, a->imageMemoryBarrierCount, a->pImageMemoryBarriers);
        return true;
    }
    case GEN_vkCmdWaitEvents: {
        const struct gen_args_vkCmdWaitEvents *a = args;
        wait_events(m, a->eventCount, a->pEvents);
        see_barriers(m, a->imageMemoryBarrierCount, a->pImageMemoryBarriers);
        return true;
    }
    case GEN_vkCmdPipelineBarrier2:
        see_dependency(m, ((const struct gen_args_vkCmdPipelineBarrier2 *)args)->pDependencyInfo);
        return true;
    case GEN_vkCmdWaitEvents2: {
        const struct gen_args_vkCmdWaitEvents2 *a = args;
        wait_events(m, a->eventCount, a->pEvents);
        for (uint32_t i = 0; a->pDependencyInfos && i < a->eventCount; i++)
            see_dependency(m, &a->pDependencyInfos[i]);
        return true;
    }
    case GEN_vkCmdSetEvent:
        set_event(m, ((const struct gen_args_vkCmdSetEvent *)args)->event, true);
        return true;
    case GEN_vkCmdSetEvent2:
        set_event(m, ((const struct gen_args_vkCmdSetEvent2 *)args)->event, true);
        return true;
    case GEN_vkCmdResetEvent:
        set_event(m, ((const struct gen_args_vkCmdResetEvent *)args)->event, false);
        return true;
    case GEN_vkCmdResetEvent2:
        set_event(m, ((const struct gen_args_vkCmdResetEvent2 *)args)->event, false);
        return true;
    case GEN_vkCmdPushDescriptorSetKHR: /* what is bound matters to the work that finds it */
    case GEN_vkCmdBindTransformFeedbackBuffersEXT:
    case GEN_vkCmdBindShadingRateImageNV:
    case GEN_vkCmdBindInvocationMaskHUAWEI:
    case GEN_vkCmdBindDescriptorBuffersEXT:
    case GEN_vkCmdSetDescriptorBufferOffsetsEXT:
    case GEN_vkCmdBindDescriptorBufferEmbeddedSamplersEXT:
#ifdef VK_KHR_maintenance6
    case GEN_vkCmdPushDescriptorSet2KHR:
    case GEN_vkCmdSetDescriptorBufferOffsets2EXT:
    case GEN_vkCmdBindDescriptorBufferEmbeddedSamplers2EXT:
#endif
        return true;
#ifdef VK_EXT_descriptor_heap
    case GEN_vkCmdBindResourceHeapEXT:
    case GEN_vkCmdBindSamplerHeapEXT:
        m->has_heap = true;
        return true;
#endif
    default:
        return false;
    }
}

static bool see_work(struct memory_state *m, const void *args)
{
    switch (m->visit.work) {
    case POSITION_DRAW:
        draw_in_pass(m);
        write_feedback(m);
        store(m, BOUND_GRAPHICS);
        return true;
    case POSITION_DISPATCH:
        store(m, BOUND_COMPUTE);
        return true;
    case POSITION_TRACE:
        store(m, BOUND_RAYS);
        return true;
    case POSITION_PASS:
        write_attachments(m);
        return true;
    default:
        break;
    }
    if (lap_pass_step_of(m->visit.command) == LAP_PASS_NEXT)
        write_attachments(m);
    else if (m->visit.command == GEN_vkCmdClearAttachments)
        draw_in_pass(m);
    else
        return false;
    return true;
}

enum lap_status memory_see_command(void *user, const struct bound_visit *visit)
{
    struct memory_state *m = user;
    const void *args = visit->args;

    if (gen_effects[visit->command].objects == GEN_OBJECTS_NAMES && visit->command != GEN_vkBeginCommandBuffer &&
        lap_pass_step_of(visit->command) != LAP_PASS_NEXT)
        return LAP_OK;
    m->visit = *visit;
    if (!see_work(m, args) && !see_order(m, args) && !see_copies(m, args) && !see_buffer_writes(m, args) &&
        !see_image_writes(m, args))
        do_any(m, args);
    return m->status;
}
