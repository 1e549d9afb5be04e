/* SPDX-License-Identifier: MIT */
/*
 * Owners.
 *
 *   owners  what is EXCLUSIVE belongs to the queue family that wrote it or acquired it last, and means nothing to
 *           another one: who reads it there is told of on stderr, and so is a transfer of which one half is missing
 *
 * Looked at are buffers and images in copies, fills, clears, blits and barriers of primary command buffers, in the
 * order of submits. An image that comes from UNDEFINED layout has no owner. A write makes its family the owner of all.
 */
#include "tests/layers/shape/shape.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX
#define HEADS  1024u

enum use { READ, WRITE, RELEASE, ACQUIRE };

struct resource {
    struct resource *link;
    uint64_t handle;
    bool image, shared;
    uint32_t owner, from, to; /* between a release and an acquire: owner is NOBODY, and it goes `from` one `to` one */
};

struct step {
    struct step *link;
    enum use use;
    struct resource *resource;
    uint32_t from, to;
    const char *command;
};

/* A command pool, or a command buffer and what it does. */
struct commands {
    struct commands *link;
    uint64_t handle;
    uint32_t family;
    struct step *first, **last;
};

static bool owners;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* all of these; resources and commands stay for ever */
static struct resource *resources[HEADS];
static struct commands *buffers[HEADS], *pools[HEADS];

static bool read_word(const char *name, const char *value)
{
    if (strcmp(name, "owners") || *value)
        return false;
    owners = true;
    return true;
}

static void *make(size_t bytes)
{
    void *made = calloc(1, bytes);
    if (!made)
        abort();
    return made;
}

static size_t head_of(uint64_t handle)
{
    return (handle >> 4 ^ handle >> 14) % HEADS;
}

/* ---- under the mutex ---- */

static struct resource *resource_of(uint64_t handle, bool image)
{
    struct resource *r = resources[head_of(handle)];
    while (r && (r->handle != handle || r->image != image))
        r = r->link;
    return r;
}

static struct commands *commands_of(struct commands **heads, uint64_t handle)
{
    struct commands *c = heads[head_of(handle)];
    while (c && c->handle != handle)
        c = c->link;
    return c;
}

/* A handle may come back. */
static struct commands *note_commands(struct commands **heads, uint64_t handle, uint32_t family)
{
    struct commands *c = commands_of(heads, handle);
    if (!c) {
        c = make(sizeof *c);
        c->handle = handle;
        c->link = heads[head_of(handle)];
        heads[head_of(handle)] = c;
    }
    c->family = family;
    while (c->first) {
        struct step *step = c->first;
        c->first = step->link;
        free(step);
    }
    c->last = &c->first;
    return c;
}

static void note_resource(uint64_t handle, bool image, bool shared)
{
    struct resource *r = resource_of(handle, image);
    if (!r) {
        r = make(sizeof *r);
        r->link = resources[head_of(handle)];
        resources[head_of(handle)] = r;
    }
    *r = (struct resource){r->link, handle, image, shared, NOBODY, NOBODY, NOBODY};
}

static void complain(const struct step *step, uint32_t family)
{
    const struct resource *r = step->resource;
    fprintf(stderr, "shape: owners: %s of family %" PRIu32 " with %s %#" PRIx64, step->command, family,
            r->image ? "an image" : "a buffer", r->handle);
    if (r->owner != NOBODY)
        fprintf(stderr, " of family %" PRIu32 "\n", r->owner);
    else
        fprintf(stderr, " that went from family %d to family %d\n", (int)r->from, (int)r->to);
}

static void run_step(const struct step *step, uint32_t family)
{
    struct resource *r = step->resource;
    bool nobody = r->owner == NOBODY && r->from == NOBODY;
    switch (step->use) {
    case READ:
        if (r->owner != family && !nobody)
            complain(step, family);
        r->owner = family;
        r->from = r->to = NOBODY;
        break;
    case WRITE:
        r->owner = family;
        r->from = r->to = NOBODY;
        break;
    case RELEASE:
        if (r->owner != family && !nobody)
            complain(step, family);
        r->owner = NOBODY;
        r->from = step->from;
        r->to = step->to;
        break;
    case ACQUIRE:
        if (r->from != step->from || r->to != step->to)
            complain(step, family);
        r->owner = family;
        r->from = r->to = NOBODY;
        break;
    }
}

/* ---- what commands do ---- */

static void add(VkCommandBuffer commands, uint64_t handle, bool image, enum use use, uint32_t from, uint32_t to,
                const char *command)
{
    struct commands *c;
    struct resource *r;
    pthread_mutex_lock(&mutex);
    c = commands_of(buffers, (uint64_t)(uintptr_t)commands);
    r = resource_of(handle, image);
    if (c && r && !r->shared) {
        struct step *step = make(sizeof *step);
        *step = (struct step){NULL, use, r, from, to, command};
        *c->last = step;
        c->last = &step->link;
    }
    pthread_mutex_unlock(&mutex);
}

static void use_buffer(VkCommandBuffer commands, VkBuffer buffer, enum use use, const char *command)
{
    add(commands, (uint64_t)buffer, false, use, 0, 0, command);
}

static void use_image(VkCommandBuffer commands, VkImage image, enum use use, const char *command)
{
    add(commands, (uint64_t)image, true, use, 0, 0, command);
}

static void transfer(VkCommandBuffer commands, uint64_t handle, bool image, uint32_t from, uint32_t to, bool discards)
{
    const struct commands *c;
    uint32_t family;
    pthread_mutex_lock(&mutex);
    c = commands_of(buffers, (uint64_t)(uintptr_t)commands);
    family = c ? c->family : NOBODY;
    pthread_mutex_unlock(&mutex);
    if (discards)
        add(commands, handle, image, WRITE, from, to, "a discard");
    else if (from != to && from == family)
        add(commands, handle, image, RELEASE, from, to, "a release");
    else if (from != to && to == family)
        add(commands, handle, image, ACQUIRE, from, to, "an acquire");
    else if (image) /* whose contents it may change */
        add(commands, handle, image, READ, from, to, "a barrier");
}

static VKAPI_ATTR void VKAPI_CALL CmdPipelineBarrier(VkCommandBuffer commands, VkPipelineStageFlags before,
                                                     VkPipelineStageFlags after, VkDependencyFlags flags,
                                                     uint32_t memory_count, const VkMemoryBarrier *memory,
                                                     uint32_t buffer_count, const VkBufferMemoryBarrier *buffer,
                                                     uint32_t image_count, const VkImageMemoryBarrier *image)
{
    for (uint32_t i = 0; i < buffer_count; i++)
        transfer(commands, (uint64_t)buffer[i].buffer, false, buffer[i].srcQueueFamilyIndex,
                 buffer[i].dstQueueFamilyIndex, false);
    for (uint32_t i = 0; i < image_count; i++)
        transfer(commands, (uint64_t)image[i].image, true, image[i].srcQueueFamilyIndex, image[i].dstQueueFamilyIndex,
                 image[i].oldLayout == VK_IMAGE_LAYOUT_UNDEFINED);
    shape_device_of(commands)->chain.next.CmdPipelineBarrier(commands, before, after, flags, memory_count, memory,
                                                             buffer_count, buffer, image_count, image);
}

static VKAPI_ATTR void VKAPI_CALL CmdPipelineBarrier2(VkCommandBuffer commands, const VkDependencyInfo *info)
{
    for (uint32_t i = 0; i < info->bufferMemoryBarrierCount; i++) {
        const VkBufferMemoryBarrier2 *b = &info->pBufferMemoryBarriers[i];
        transfer(commands, (uint64_t)b->buffer, false, b->srcQueueFamilyIndex, b->dstQueueFamilyIndex, false);
    }
    for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++) {
        const VkImageMemoryBarrier2 *b = &info->pImageMemoryBarriers[i];
        transfer(commands, (uint64_t)b->image, true, b->srcQueueFamilyIndex, b->dstQueueFamilyIndex,
                 b->oldLayout == VK_IMAGE_LAYOUT_UNDEFINED);
    }
    shape_device_of(commands)->chain.next.CmdPipelineBarrier2(commands, info);
}

static VKAPI_ATTR void VKAPI_CALL CmdCopyBuffer(VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint32_t count,
                                                const VkBufferCopy *regions)
{
    use_buffer(commands, from, READ, "a copy");
    use_buffer(commands, to, WRITE, "a copy");
    shape_device_of(commands)->chain.next.CmdCopyBuffer(commands, from, to, count, regions);
}

static VKAPI_ATTR void VKAPI_CALL CmdFillBuffer(VkCommandBuffer commands, VkBuffer to, VkDeviceSize offset,
                                                VkDeviceSize size, uint32_t data)
{
    use_buffer(commands, to, WRITE, "a fill");
    shape_device_of(commands)->chain.next.CmdFillBuffer(commands, to, offset, size, data);
}

static VKAPI_ATTR void VKAPI_CALL CmdCopyBufferToImage(VkCommandBuffer commands, VkBuffer from, VkImage to,
                                                       VkImageLayout layout, uint32_t count,
                                                       const VkBufferImageCopy *regions)
{
    use_buffer(commands, from, READ, "a copy");
    use_image(commands, to, WRITE, "a copy");
    shape_device_of(commands)->chain.next.CmdCopyBufferToImage(commands, from, to, layout, count, regions);
}

static VKAPI_ATTR void VKAPI_CALL CmdCopyImageToBuffer(VkCommandBuffer commands, VkImage from, VkImageLayout layout,
                                                       VkBuffer to, uint32_t count, const VkBufferImageCopy *regions)
{
    use_image(commands, from, READ, "a copy");
    use_buffer(commands, to, WRITE, "a copy");
    shape_device_of(commands)->chain.next.CmdCopyImageToBuffer(commands, from, layout, to, count, regions);
}

static VKAPI_ATTR void VKAPI_CALL CmdBlitImage(VkCommandBuffer commands, VkImage from, VkImageLayout from_layout,
                                               VkImage to, VkImageLayout to_layout, uint32_t count,
                                               const VkImageBlit *regions, VkFilter filter)
{
    use_image(commands, from, READ, "a blit");
    use_image(commands, to, WRITE, "a blit");
    shape_device_of(commands)->chain.next.CmdBlitImage(commands, from, from_layout, to, to_layout, count, regions,
                                                       filter);
}

static VKAPI_ATTR void VKAPI_CALL CmdClearColorImage(VkCommandBuffer commands, VkImage image, VkImageLayout layout,
                                                     const VkClearColorValue *color, uint32_t count,
                                                     const VkImageSubresourceRange *ranges)
{
    use_image(commands, image, WRITE, "a clear");
    shape_device_of(commands)->chain.next.CmdClearColorImage(commands, image, layout, color, count, ranges);
}

/* ---- objects ---- */

static VKAPI_ATTR VkResult VKAPI_CALL AllocateCommandBuffers(VkDevice handle, const VkCommandBufferAllocateInfo *info,
                                                             VkCommandBuffer *out)
{
    VkResult result = shape_device_of(handle)->chain.next.AllocateCommandBuffers(handle, info, out);
    const struct commands *pool;
    if (!owners)
        return result;
    pthread_mutex_lock(&mutex);
    pool = commands_of(pools, (uint64_t)info->commandPool);
    for (uint32_t i = 0; i < info->commandBufferCount && result >= 0; i++)
        note_commands(buffers, (uint64_t)(uintptr_t)out[i], pool ? pool->family : 0);
    pthread_mutex_unlock(&mutex);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL BeginCommandBuffer(VkCommandBuffer commands, const VkCommandBufferBeginInfo *info)
{
    struct commands *c;
    pthread_mutex_lock(&mutex);
    c = commands_of(buffers, (uint64_t)(uintptr_t)commands);
    if (c)
        note_commands(buffers, c->handle, c->family);
    pthread_mutex_unlock(&mutex);
    return shape_device_of(commands)->chain.next.BeginCommandBuffer(commands, info);
}

/* ---- what other topics tell ---- */

void shape_note_pool(VkCommandPool pool, uint32_t family)
{
    if (!owners)
        return;
    pthread_mutex_lock(&mutex);
    note_commands(pools, (uint64_t)pool, family);
    pthread_mutex_unlock(&mutex);
}

void shape_note_image(VkImage image, const VkImageCreateInfo *info)
{
    if (!owners)
        return;
    pthread_mutex_lock(&mutex);
    note_resource((uint64_t)image, true, info->sharingMode == VK_SHARING_MODE_CONCURRENT);
    pthread_mutex_unlock(&mutex);
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateBuffer(VkDevice handle, const VkBufferCreateInfo *info,
                                                   const VkAllocationCallbacks *allocator, VkBuffer *out)
{
    VkResult result = shape_device_of(handle)->chain.next.CreateBuffer(handle, info, allocator, out);
    if (result < 0 || !owners)
        return result;
    pthread_mutex_lock(&mutex);
    note_resource((uint64_t)*out, false, info->sharingMode == VK_SHARING_MODE_CONCURRENT);
    pthread_mutex_unlock(&mutex);
    return result;
}

/* ---- submits ---- */

static void run_commands(VkCommandBuffer commands)
{
    const struct commands *c = commands_of(buffers, (uint64_t)(uintptr_t)commands);
    for (const struct step *step = c ? c->first : NULL; step; step = step->link)
        run_step(step, c->family);
}

static VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                                  VkFence fence)
{
    pthread_mutex_lock(&mutex);
    for (uint32_t i = 0; i < count && owners; i++)
        for (uint32_t j = 0; j < infos[i].commandBufferCount; j++)
            run_commands(infos[i].pCommandBuffers[j]);
    pthread_mutex_unlock(&mutex);
    return shape_device_of(queue)->chain.next.QueueSubmit(queue, count, infos, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *infos,
                                                   VkFence fence)
{
    pthread_mutex_lock(&mutex);
    for (uint32_t i = 0; i < count && owners; i++)
        for (uint32_t j = 0; j < infos[i].commandBufferInfoCount; j++)
            run_commands(infos[i].pCommandBufferInfos[j].commandBuffer);
    pthread_mutex_unlock(&mutex);
    return shape_device_of(queue)->chain.next.QueueSubmit2(queue, count, infos, fence);
}

static const struct chain_function functions[] = {
    CHAIN_OWN(CmdPipelineBarrier),   CHAIN_OWN_2(CmdPipelineBarrier2),
    CHAIN_OWN(CmdCopyBuffer),        CHAIN_OWN(CmdFillBuffer),
    CHAIN_OWN(CmdCopyBufferToImage), CHAIN_OWN(CmdCopyImageToBuffer),
    CHAIN_OWN(CmdBlitImage),         CHAIN_OWN(CmdClearColorImage),
    CHAIN_OWN(CreateBuffer),         CHAIN_OWN(AllocateCommandBuffers),
    CHAIN_OWN(BeginCommandBuffer),   CHAIN_OWN(QueueSubmit),
    CHAIN_OWN_2(QueueSubmit2),       CHAIN_END,
};
const struct shape_topic shape_owners = {.read_word = read_word, .functions = functions};
