/* SPDX-License-Identifier: MIT */
/* Events, queries, fences, semaphores and presentable images, as idle devices have them. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_encode_block.h"
#include "layer/command/progress_query.h"
#include "layer/core/records.h"
#include "layer/part/live_objects.h"
#include "layer/part/state.h"
#include "layer/submit/external_sync.h"

/* ---- events ---- */

static enum lap_status set_events(struct layer_state_commands *commands)
{
    struct layer_live_objects events;
    enum lap_status status;

    if (!(commands->flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)))
        return LAP_OK;
    status = layer_live_objects_of(commands->dev, GEN_HANDLE_VkEvent, &events);
    for (size_t i = 0; i < events.count; i++) {
        const struct layer_event *event = (const struct layer_event *)events.items[i];
        struct lap_enc *enc = event->set ? layer_state_command(commands, GEN_vkCmdSetEvent) : NULL;
        if (enc)
            gen_encode_vkCmdSetEvent(enc, gen_VkEvent(event->object.handle), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    }
    layer_live_objects_finish(&events);
    return status;
}

/* ---- queries ---- */

/* *out_zero: all that it has counted. */
static bool is_available(struct layer_device *dev, VkQueryPool pool, uint32_t query, bool *out_zero)
{
    static const uint64_t zeroes[16];
    uint64_t results[16] = {0}; /* more than any type has */
    bool available = dev->vk.GetQueryPoolResults(dev->handle, pool, query, 1, sizeof results, results, sizeof results,
                                                 VK_QUERY_RESULT_64_BIT) == VK_SUCCESS;
    *out_zero = memcmp(results, zeroes, sizeof results) == 0;
    return available;
}

static VkQueueFlags queues_of(VkQueryType type)
{
    if (layer_state_asks_structures(type))
        return VK_QUEUE_COMPUTE_BIT;
    switch ((int)type) {
    case VK_QUERY_TYPE_OCCLUSION:
    case VK_QUERY_TYPE_PIPELINE_STATISTICS:
    case VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT:
#ifdef VK_EXT_primitives_generated_query
    case VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT:
#endif
        return VK_QUEUE_GRAPHICS_BIT;
    case VK_QUERY_TYPE_TIMESTAMP:
        return VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    default:
        return 0;
    }
}

/* Whether a replay of the whole run would find this result: a time differs anyway, and structures are asked again. */
static bool counts(VkQueryType type)
{
    return type != VK_QUERY_TYPE_TIMESTAMP && !layer_state_asks_structures(type);
}

/* The results differ, but they are available, and programs wait for that. */
static void end_query(struct layer_state_commands *commands, VkQueryPool pool, VkQueryType type, uint32_t query)
{
    struct lap_enc *enc;

    if (layer_state_asks_structures(type)) {
        layer_state_structure_query(commands, pool, type, query);
        return;
    }
    if (type == VK_QUERY_TYPE_TIMESTAMP) {
        if ((enc = layer_state_command(commands, GEN_vkCmdWriteTimestamp)))
            gen_encode_vkCmdWriteTimestamp(enc, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool, query);
        return;
    }
    if ((enc = layer_state_command(commands, GEN_vkCmdBeginQuery)))
        gen_encode_vkCmdBeginQuery(enc, pool, query, 0);
    if ((enc = layer_state_command(commands, GEN_vkCmdEndQuery)))
        gen_encode_vkCmdEndQuery(enc, pool, query);
}

static enum lap_status set_queries(struct layer_state_commands *commands)
{
    struct layer_device *dev = commands->dev;
    struct layer_live_objects pools;
    enum lap_status status = layer_live_objects_of(dev, GEN_HANDLE_VkQueryPool, &pools);
    bool zero;

    dev->submit.lost_queries.count = 0;
    dev->submit.said_lost = false;
    for (size_t i = 0; i < pools.count; i++) {
        const struct layer_query_pool *pool = (const struct layer_query_pool *)pools.items[i];
        const VkQueryPool handle = gen_VkQueryPool(pool->object.handle);
        struct lap_enc *enc;
        if (!(commands->flags & queues_of(pool->type)))
            continue;
        if ((enc = layer_state_command(commands, GEN_vkCmdResetQueryPool)))
            gen_encode_vkCmdResetQueryPool(enc, handle, 0, pool->count);
        for (uint32_t query = 0; query < pool->count; query++) {
            if (!is_available(dev, handle, query, &zero))
                continue;
            end_query(commands, handle, pool->type, query);
            if (!zero && counts(pool->type) &&
                !layer_progress_queries_add(&dev->submit.lost_queries,
                                            layer_progress_query_of_queries(dev, handle, query, 1)))
                status = lap_no_memory("lost queries");
        }
    }
    layer_live_objects_finish(&pools);
    return status;
}

enum lap_status layer_state_events_and_queries(struct layer_state_commands *commands)
{
    const enum lap_status status = set_events(commands);
    return status == LAP_OK ? set_queries(commands) : status;
}

/* ---- fences and semaphores ---- */

static void submit(struct layer_device *dev, VkQueue queue, const VkSubmitInfo *info, VkFence fence)
{
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkQueueSubmit, 0);
    if (enc) {
        gen_encode_vkQueueSubmit(enc, queue, info ? 1 : 0, info, fence);
        layer_packet_end();
    }
}

/* The permanent payload of a semaphore or a fence, or the temporary one until its next wait or reset; 0: not shared. */
static uint64_t payload_of(const struct layer_live_objects *records, size_t i, bool borrowed)
{
    const struct layer_semaphore *semaphore = (const struct layer_semaphore *)records->items[i];
    const struct layer_fence *fence = (const struct layer_fence *)records->items[i];

    if (records->type == GEN_HANDLE_VkSemaphore)
        return atomic_load_explicit(borrowed ? &semaphore->borrowed : &semaphore->payload, memory_order_relaxed);
    return atomic_load_explicit(borrowed ? &fence->borrowed : &fence->payload, memory_order_relaxed);
}

/* The first object before `count` with this permanent payload; `count`: none. */
static size_t owner_of(const struct layer_live_objects *records, size_t count, uint64_t payload)
{
    size_t i = 0;

    while (i < count && payload_of(records, i, false) != payload)
        i++;
    return i;
}

static void share(struct layer_device *dev, const struct layer_live_objects *records, size_t i, bool imports,
                  bool borrowed)
{
    const bool is_fence = records->type == GEN_HANDLE_VkFence;
    const VkSemaphore semaphore = is_fence ? VK_NULL_HANDLE : gen_VkSemaphore(records->items[i]->handle);
    const VkFence fence = is_fence ? gen_VkFence(records->items[i]->handle) : VK_NULL_HANDLE;
    const uint64_t payload = payload_of(records, i, borrowed);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, imports ? GEN_lapilliImportSync : GEN_lapilliExportSync, 0);

    if (enc && imports)
        gen_encode_lapilliImportSync(enc, dev->handle, semaphore, fence, VK_FALSE, borrowed, 0, payload);
    else if (enc)
        gen_encode_lapilliExportSync(enc, dev->handle, semaphore, fence, VK_FALSE, payload);
    if (enc)
        layer_packet_end();
}

/* Payloads shared by descriptors: the first semaphore or fence of each exports it, and the others import it. */
static void share_payloads(struct layer_device *dev, const struct layer_live_objects *records)
{
    for (size_t i = 0; i < records->count; i++)
        if (payload_of(records, i, false))
            share(dev, records, i, owner_of(records, i, payload_of(records, i, false)) < i, false);
    for (size_t i = 0; i < records->count; i++) {
        const uint64_t borrowed = payload_of(records, i, true);
        if (borrowed && owner_of(records, records->count, borrowed) < records->count)
            share(dev, records, i, true, true);
    }
}

static bool share_any(const struct layer_live_objects *records, const struct layer_live_objects *others)
{
    for (size_t i = 0; i < records->count; i++)
        for (unsigned borrowed = 0; borrowed < 2; borrowed++) {
            const uint64_t payload = payload_of(records, i, borrowed);
            if (payload && owner_of(others, others->count, payload) < others->count)
                return true;
        }
    return false;
}

const char *layer_state_sync_fault(struct layer_device *dev, struct layer_device *devices)
{
    static const enum gen_handle_type types[] = {GEN_HANDLE_VkSemaphore, GEN_HANDLE_VkFence};
    const char *fault = NULL;

    for (size_t i = 0; i < 2 && !fault; i++) {
        struct layer_live_objects records, others;
        if (layer_live_objects_of(dev, types[i], &records) != LAP_OK)
            return LAYER_STATE_NO_MEMORY;
        for (struct layer_device *other = devices; other && !fault; other = other->next) {
            if (other == dev)
                continue;
            if (layer_live_objects_of(other, types[i], &others) != LAP_OK)
                fault = LAYER_STATE_NO_MEMORY;
            else if (share_any(&records, &others))
                fault = "two devices share a semaphore or a fence";
            layer_live_objects_finish(&others);
        }
        layer_live_objects_finish(&records);
    }
    return fault;
}

/* Whether another object with the same payload sets its state. */
static bool is_shared(const struct layer_live_objects *records, size_t i)
{
    const uint64_t own = payload_of(records, i, false), borrowed = payload_of(records, i, true);

    if (borrowed)
        return owner_of(records, records->count, borrowed) < records->count;
    return own && owner_of(records, i, own) < i;
}

/* Resets all of them, since some were created signalled; then signals those that must be. */
static enum lap_status set_fences(struct layer_device *dev, VkQueue queue)
{
    struct layer_live_objects fences;
    const enum lap_status status = layer_live_objects_of(dev, GEN_HANDLE_VkFence, &fences);

    for (size_t i = 0; i < fences.count; i++) {
        const VkFence fence = gen_VkFence(fences.items[i]->handle);
        struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkResetFences, 0);
        if (enc) {
            gen_encode_vkResetFences(enc, dev->handle, 1, &fence);
            layer_packet_end();
        }
    }
    share_payloads(dev, &fences);
    for (size_t i = 0; i < fences.count; i++) {
        const VkFence fence = gen_VkFence(fences.items[i]->handle);
        if (!is_shared(&fences, i) && dev->vk.GetFenceStatus(dev->handle, fence) == VK_SUCCESS)
            submit(dev, queue, NULL, fence);
    }
    layer_live_objects_finish(&fences);
    return status;
}

static void set_value(struct layer_device *dev, const struct layer_semaphore *semaphore)
{
    VkSemaphoreSignalInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                    .semaphore = gen_VkSemaphore(semaphore->object.handle)};
    struct lap_enc *enc;

    if (!dev->vk.GetSemaphoreCounterValue ||
        dev->vk.GetSemaphoreCounterValue(dev->handle, signal.semaphore, &signal.value) != VK_SUCCESS ||
        signal.value <= semaphore->initial)
        return;
    enc = layer_packet_begin(&dev->tables, GEN_vkSignalSemaphore, 0);
    if (enc) {
        gen_encode_vkSignalSemaphore(enc, dev->handle, &signal);
        layer_packet_end();
    }
}

/* Whether an acquire signals the semaphore again. */
static bool is_of_acquire(const struct layer_live_objects *swapchains, uint64_t semaphore)
{
    bool found = false;

    for (size_t i = 0; i < swapchains->count; i++) {
        const struct layer_swapchain *swapchain = (const struct layer_swapchain *)swapchains->items[i];
        for (uint32_t j = 0; j < LAYER_HELD_IMAGES; j++)
            found = found || (swapchain->held[j].acquired && swapchain->held[j].semaphore == semaphore);
    }
    return found;
}

static void set_semaphore(struct layer_device *dev, VkQueue queue, const struct layer_semaphore *semaphore,
                          const struct layer_live_objects *swapchains)
{
    const VkSemaphore handle = gen_VkSemaphore(semaphore->object.handle);
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .signalSemaphoreCount = 1, .pSignalSemaphores = &handle};

    if (semaphore->timeline)
        set_value(dev, semaphore);
    else if (semaphore->signalled && !is_of_acquire(swapchains, semaphore->object.handle))
        submit(dev, queue, &info, VK_NULL_HANDLE);
}

enum lap_status layer_state_fences_and_semaphores(struct layer_device *dev, VkQueue queue)
{
    struct layer_live_objects semaphores, swapchains;
    enum lap_status status = layer_live_objects_of(dev, GEN_HANDLE_VkSemaphore, &semaphores);

    if (status != LAP_OK)
        return status;
    status = layer_live_objects_of(dev, GEN_HANDLE_VkSwapchainKHR, &swapchains);
    share_payloads(dev, &semaphores);
    for (size_t i = 0; i < semaphores.count && status == LAP_OK; i++)
        if (!is_shared(&semaphores, i))
            set_semaphore(dev, queue, (const struct layer_semaphore *)semaphores.items[i], &swapchains);
    layer_live_objects_finish(&semaphores);
    layer_live_objects_finish(&swapchains);
    return status == LAP_OK ? set_fences(dev, queue) : status;
}

/* ---- presentable images ---- */

/* A semaphore that the program has waited for since must be unsignalled: the acquire signals it, and a submit waits for
 * it. */
static enum lap_status acquire(struct layer_device *dev, VkQueue queue, VkSwapchainKHR swapchain, uint32_t image,
                               uint64_t held_by)
{
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const struct layer_semaphore *record = lap_map_get(dev->maps[GEN_HANDLE_VkSemaphore], held_by);
    VkSemaphoreCreateInfo create = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkSemaphore semaphore = gen_VkSemaphore(held_by), own = VK_NULL_HANDLE;
    const VkSubmitInfo wait = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .waitSemaphoreCount = 1,
                               .pWaitSemaphores = &own,
                               .pWaitDstStageMask = &stages};
    struct lap_enc *enc;

    if (!record || !record->signalled) {
        const VkResult result = dev->vk.CreateSemaphore(dev->handle, &create, NULL, &own);
        if (result != VK_SUCCESS)
            return lap_fail(LAP_ERROR_MEMORY, "vkCreateSemaphore returned %d", (int)result);
        LAYER_ADD(dev, VkSemaphore, own);
        semaphore = own;
        if ((enc = layer_packet_begin(&dev->tables, GEN_vkCreateSemaphore, 0))) {
            gen_encode_vkCreateSemaphore(enc, dev->handle, &create, NULL, &own, VK_SUCCESS);
            layer_packet_end();
        }
    }
    if ((enc = layer_packet_begin(&dev->tables, GEN_vkAcquireNextImageKHR, 0))) {
        gen_encode_vkAcquireNextImageKHR(enc, dev->handle, swapchain, UINT64_MAX, semaphore, VK_NULL_HANDLE, &image,
                                         VK_SUCCESS);
        layer_packet_end();
    }
    if (!own)
        return LAP_OK;
    submit(dev, queue, &wait, VK_NULL_HANDLE);
    if ((enc = layer_packet_begin(&dev->tables, GEN_vkDestroySemaphore, 0))) {
        gen_encode_vkDestroySemaphore(enc, dev->handle, own, NULL);
        layer_packet_end();
    }
    layer_object_remove(dev, GEN_HANDLE_VkSemaphore, gen_u64_VkSemaphore(own));
    dev->vk.DestroySemaphore(dev->handle, own, NULL);
    return LAP_OK;
}

enum lap_status layer_state_swapchains(struct layer_device *dev, VkQueue queue)
{
    struct layer_live_objects swapchains;
    enum lap_status status = layer_live_objects_of(dev, GEN_HANDLE_VkSwapchainKHR, &swapchains);

    for (size_t i = 0; i < swapchains.count; i++) {
        const struct layer_swapchain *swapchain = (const struct layer_swapchain *)swapchains.items[i];
        for (uint32_t j = 0; j < LAYER_HELD_IMAGES && status == LAP_OK; j++)
            if (swapchain->held[j].acquired)
                status =
                    acquire(dev, queue, gen_VkSwapchainKHR(swapchain->object.handle), j, swapchain->held[j].semaphore);
    }
    layer_live_objects_finish(&swapchains);
    return status;
}
