/* SPDX-License-Identifier: MIT */
#include "layer/command/overwritten.h"

#include "layer/command/image_state.h"
#include "layer/core/records.h"

static struct layer_buffer *buffer_of(const struct lap_memobj *object)
{
    struct lap_object *record = lap_memobj_user(object);
    return record->type == GEN_HANDLE_VkBuffer ? (struct layer_buffer *)record : NULL;
}

static struct layer_image *image_of(const struct lap_memobj *object)
{
    struct lap_object *record = lap_memobj_user(object);
    return record->type == GEN_HANDLE_VkImage ? (struct layer_image *)record : NULL;
}

/* Only the driver knows which bytes are which texels. */
static bool is_tiled(const struct lap_memobj *object)
{
    const struct layer_image *image = image_of(object);
    return image && image->info.tiling != VK_IMAGE_TILING_LINEAR;
}

/* Whether two images over all of the same bytes have the same texels. */
static bool are_one(const struct lap_memobj *a, const struct lap_memobj *b, uint64_t bytes)
{
    const struct layer_image *first = image_of(a), *second = image_of(b);
    const VkImageCreateInfo *x, *y;

    if (!first || !second || first->bytes != bytes || second->bytes != bytes)
        return false;
    x = &first->info;
    y = &second->info;
    return x->flags & VK_IMAGE_CREATE_ALIAS_BIT && x->flags == y->flags && x->imageType == y->imageType &&
           x->format == y->format && x->extent.width == y->extent.width && x->extent.height == y->extent.height &&
           x->extent.depth == y->extent.depth && x->mipLevels == y->mipLevels && x->arrayLayers == y->arrayLayers &&
           x->samples == y->samples && x->tiling == y->tiling && x->usage == y->usage;
}

/* Former places of sparse objects are objects without a record of their own. */
static bool is_own(const struct lap_memobj *object)
{
    const struct layer_buffer *buffer = buffer_of(object);
    return object == (buffer ? buffer->memobj : image_of(object)->memobj);
}

struct write {
    struct lap_memobj *object;
    bool all;
    uint64_t serial;
    bool found;
};

static void overwrite(void *context, struct lap_memobj *other, uint64_t offset, uint64_t bytes)
{
    const struct write *write = context;
    struct layer_buffer *buffer = buffer_of(other);
    bool tiled = is_tiled(write->object);

    if (!is_own(other))
        return;
    if (buffer && !(tiled        ? lap_interval_add(&buffer->overwritten, offset, offset + bytes)
                    : write->all ? lap_interval_remove(&buffer->overwritten, offset, offset + bytes)
                                 : true))
        layer_stop("out of memory");
    if (!buffer && (tiled || is_tiled(other)) && !are_one(write->object, other, bytes))
        layer_image_overwritten(image_of(other));
}

void layer_overwritten_by(struct lap_memobj *object, uint64_t offset, uint64_t bytes, bool all)
{
    uint64_t end = bytes > UINT64_MAX - offset ? UINT64_MAX : offset + bytes;
    struct layer_buffer *buffer = buffer_of(object);
    struct write write = {.object = object, .all = all};

    if (!lap_memobj_shares(object))
        return;
    if (buffer && all && !lap_interval_remove(&buffer->overwritten, offset, end))
        layer_stop("out of memory");
    lap_memobj_each_alias(object, offset, bytes, overwrite, &write);
}

void layer_overwritten_stores(struct lap_memobj *object, uint64_t serial)
{
    struct layer_buffer *buffer = buffer_of(object);

    if (buffer)
        buffer->stored = serial;
    else
        image_of(object)->stored = serial;
}

static void find_store(void *context, struct lap_memobj *other, uint64_t offset, uint64_t bytes)
{
    struct write *write = context;
    const struct layer_buffer *buffer = buffer_of(other);

    (void)offset;
    if ((buffer ? buffer->stored : image_of(other)->stored) == write->serial)
        write->found |= (is_tiled(other) || is_tiled(write->object)) && !are_one(write->object, other, bytes);
}

bool layer_overwritten_perhaps(struct lap_memobj *object, uint64_t offset, uint64_t bytes, uint64_t serial)
{
    struct write write = {.object = object, .serial = serial};

    if (lap_memobj_shares(object))
        lap_memobj_each_alias(object, offset, bytes, find_store, &write);
    return write.found;
}
