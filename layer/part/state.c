/* SPDX-License-Identifier: MIT */
#include "layer/part/state.h"

#include <stdlib.h>

#include "gen_encode_block.h"
#include "layer/core/keeper.h"
#include "layer/core/records.h"
#include "layer/part/descriptor_contents.h"
#include "layer/part/live_objects.h"
#include "layer/submit/host_update.h"

/* ---- whether a part can begin ---- */

/* ---- each answers NULL, or why no part can begin ---- */

static const char *has(struct layer_device *dev, enum gen_handle_type type, const char *why)
{
    struct layer_live_objects records;
    bool any;

    if (layer_live_objects_of(dev, type, &records) != LAP_OK)
        return LAYER_STATE_NO_MEMORY;
    any = records.count != 0;
    layer_live_objects_finish(&records);
    return any ? why : NULL;
}

#ifdef VK_EXT_descriptor_heap
/* A replay recognises descriptors by the results of the calls that wrote them. */
static const char *has_heaps(struct layer_device *dev)
{
    struct layer_live_objects records;
    bool any = false;

    if (layer_live_objects_of(dev, GEN_HANDLE_VkBuffer, &records) != LAP_OK)
        return LAYER_STATE_NO_MEMORY;
    for (size_t i = 0; i < records.count; i++)
        any = any || ((const struct layer_buffer *)records.items[i])->usage & VK_BUFFER_USAGE_DESCRIPTOR_HEAP_BIT_EXT;
    layer_live_objects_finish(&records);
    return any ? "there are heaps of descriptors, of which only the driver knows what they name" : NULL;
}
#else
static const char *has_heaps(struct layer_device *dev)
{
    (void)dev;
    return NULL;
}
#endif

static const char *device_fault(struct layer_device *dev)
{
    static const char commands[] = "there are layouts or sets of commands that devices generate";
    static const struct {
        enum gen_handle_type type;
        const char *why;
    } objects[] = {
        {GEN_HANDLE_VkAccelerationStructureNV,
         "there are acceleration structures of VK_NV_ray_tracing, whose contents can't be read"},
#ifdef VK_EXT_opacity_micromap
        {GEN_HANDLE_VkMicromapEXT, "there are micromaps, whose contents can't be read"},
#endif
        {GEN_HANDLE_VkVideoSessionKHR, "there are video sessions, whose state can't be read"},
#ifdef VK_EXT_device_generated_commands
        {GEN_HANDLE_VkIndirectExecutionSetEXT, commands},
        {GEN_HANDLE_VkIndirectCommandsLayoutEXT, commands},
#endif
        {GEN_HANDLE_VkIndirectCommandsLayoutNV, commands},
    };
    const char *fault = dev->is_group ? "a device is a group of several" : layer_state_structures_fault(dev);

    if (!fault)
        fault = has_heaps(dev);
    for (size_t i = 0; i < sizeof objects / sizeof *objects && !fault; i++)
        fault = has(dev, objects[i].type, objects[i].why);
    return fault;
}

const char *layer_state_fault(struct layer_device *devices)
{
    const char *fault = layer_keeper_fault();

    for (struct layer_device *dev = devices; dev && !fault; dev = dev->next)
        if (!dev->tables.inherited && !(fault = device_fault(dev)))
            fault = layer_state_sync_fault(dev, devices);
    return fault;
}

/* ---- commands of the layer's own ---- */

static enum lap_status find_queue(struct layer_device *dev, VkQueueFlags able, const struct layer_queue **out)
{
    struct layer_live_objects queues;
    const struct layer_queue *best = NULL;
    const VkQueueFlags wanted[] = {VK_QUEUE_GRAPHICS_BIT, VK_QUEUE_COMPUTE_BIT, VK_QUEUE_TRANSFER_BIT};
    const enum lap_status status = layer_live_objects_of(dev, GEN_HANDLE_VkQueue, &queues);

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && !best; i++)
        for (size_t j = 0; j < queues.count && !best; j++) {
            const struct layer_queue *queue = (const struct layer_queue *)queues.items[j];
            if (queue->device == dev && queue->flags & wanted[i] && (queue->flags & able) == able)
                best = queue;
        }
    layer_live_objects_finish(&queues);
    *out = best;
    return status;
}

static enum lap_status failed(VkResult result, const char *call)
{
    const bool memory = result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY;
    return lap_fail(memory ? LAP_ERROR_MEMORY : LAP_ERROR_UNSUPPORTED, "%s returned %d", call, (int)result);
}

/* Creates real objects, so that their handles are unique, but never records commands into them. */
static enum lap_status create_commands(struct layer_state_commands *c)
{
    const VkCommandPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                            .queueFamilyIndex = c->family};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};
    struct layer_device *dev = c->dev;
    struct lap_enc *enc;
    VkResult result = dev->vk.CreateCommandPool(dev->handle, &create, NULL, &c->pool);

    if (result != VK_SUCCESS)
        return failed(result, "vkCreateCommandPool");
    allocate.commandPool = c->pool;
    result = dev->vk.AllocateCommandBuffers(dev->handle, &allocate, &c->commands);
    if (result != VK_SUCCESS) {
        dev->vk.DestroyCommandPool(dev->handle, c->pool, NULL);
        return failed(result, "vkAllocateCommandBuffers");
    }
    LAYER_ADD(dev, VkCommandPool, c->pool);
    layer_object_add(NULL, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(c->commands));
    if ((enc = layer_packet_begin(&dev->tables, GEN_vkCreateCommandPool, 0))) {
        gen_encode_vkCreateCommandPool(enc, dev->handle, &create, NULL, &c->pool, VK_SUCCESS);
        layer_packet_end();
    }
    if ((enc = layer_packet_begin(&dev->tables, GEN_vkAllocateCommandBuffers, 0))) {
        gen_encode_vkAllocateCommandBuffers(enc, dev->handle, &allocate, &c->commands, VK_SUCCESS);
        layer_packet_end();
    }
    return LAP_OK;
}

enum lap_status layer_state_commands_begin(struct layer_device *dev, VkQueueFlags wanted,
                                           struct layer_state_commands *out)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    const struct layer_queue *queue;
    enum lap_status status = find_queue(dev, wanted, &queue);

    *out = (struct layer_state_commands){.dev = dev};
    if (status != LAP_OK || !queue)
        return status;
    out->queue = queue->handle;
    out->family = queue->family;
    out->flags = queue->flags;
    status = create_commands(out);
    if (status != LAP_OK)
        return status;
    lap_enc_init(&out->enc, &dev->tables);
    if (layer_state_command(out, GEN_vkBeginCommandBuffer))
        gen_encode_vkBeginCommandBuffer(&out->enc, &begin);
    return LAP_OK;
}

struct lap_enc *layer_state_command(struct layer_state_commands *commands, enum gen_command command)
{
    if (!lap_enc_reserve(&commands->enc, LAP_WIRE_MAX_VARINT))
        return NULL;
    lap_put_u64(&commands->enc, command);
    commands->count++;
    return &commands->enc;
}

static enum lap_status submit_commands(struct layer_state_commands *c)
{
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &c->commands};
    struct lap_enc *enc;

    if (layer_state_command(c, GEN_vkEndCommandBuffer))
        gen_encode_vkEndCommandBuffer(&c->enc);
    if (c->enc.failed)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    layer_recording_write_block(&c->dev->tables, gen_u64_VkCommandBuffer(c->commands), c->enc.base,
                                (size_t)(c->enc.p - c->enc.base), c->count);
    if ((enc = layer_packet_begin(&c->dev->tables, GEN_vkQueueSubmit, 0))) {
        gen_encode_vkQueueSubmit(enc, c->queue, 1, &submit, VK_NULL_HANDLE);
        layer_packet_end();
    }
    if ((enc = layer_packet_begin(&c->dev->tables, GEN_vkQueueWaitIdle, 0))) {
        gen_encode_vkQueueWaitIdle(enc, c->queue, VK_SUCCESS);
        layer_packet_end();
    }
    return LAP_OK;
}

enum lap_status layer_state_commands_end(struct layer_state_commands *c)
{
    struct layer_device *dev = c->dev;
    const enum lap_status status = c->count > 1 || c->enc.failed ? submit_commands(c) : LAP_OK;
    struct lap_enc *enc;

    lap_enc_finish(&c->enc);
    if ((enc = layer_packet_begin(&dev->tables, GEN_vkDestroyCommandPool, 0))) {
        gen_encode_vkDestroyCommandPool(enc, dev->handle, c->pool, NULL);
        layer_packet_end();
    }
    layer_object_remove(NULL, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(c->commands));
    layer_object_remove(dev, GEN_HANDLE_VkCommandPool, gen_u64_VkCommandPool(c->pool));
    dev->vk.DestroyCommandPool(dev->handle, c->pool, NULL);
    return status;
}

/* ---- all of it ---- */

static void mark(bool begins)
{
    struct lap_enc *enc = layer_packet_begin(&layer.tables, GEN_lapilliState, 0);
    if (enc) {
        gen_encode_lapilliState(enc, begins);
        layer_packet_end();
    }
}

static enum lap_status write_commands(struct layer_device *dev, VkQueue *out_queue)
{
    struct layer_state_commands commands;
    enum lap_status status = layer_state_commands_begin(dev, 0, &commands), ended;

    *out_queue = commands.queue;
    if (status != LAP_OK || !commands.queue)
        return status;
    status = layer_state_layouts(&commands);
    if (status == LAP_OK)
        status = layer_state_events_and_queries(&commands);
    ended = layer_state_commands_end(&commands);
    return status == LAP_OK ? ended : status;
}

static enum lap_status write_device(struct layer_device *dev)
{
    VkQueue queue = NULL;
    enum lap_status status = layer_state_sparse(dev);

    if (status == LAP_OK)
        status = write_commands(dev, &queue);
    if (status != LAP_OK || !queue) /* nothing was ever submitted */
        return status;
    layer_emit_image_updates(dev);
    status = layer_state_contents(dev);
    if (status == LAP_OK)
        status = layer_state_fences_and_semaphores(dev, queue);
    return status == LAP_OK ? layer_state_swapchains(dev, queue) : status;
}

static enum lap_status write_kept(bool second)
{
    return layer_recording_write_kept(second) ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory");
}

enum lap_status layer_state_write(struct layer_device *devices)
{
    enum lap_status status;

    mark(true);
    status = write_kept(false);
    for (struct layer_device *dev = devices; dev && status == LAP_OK; dev = dev->next)
        if (!dev->tables.inherited)
            status = layer_descriptor_contents_emit(dev);
    for (struct layer_device *dev = devices; dev && status == LAP_OK; dev = dev->next)
        if (!dev->tables.inherited) /* commands that copy them are recorded after that */
            status = layer_state_structures(dev);
    if (status == LAP_OK)
        status = write_kept(true); /* updates of descriptors would make them invalid */
    for (struct layer_device *dev = devices; dev && status == LAP_OK; dev = dev->next)
        if (!dev->tables.inherited)
            status = write_device(dev);
    mark(false);
    return status;
}
