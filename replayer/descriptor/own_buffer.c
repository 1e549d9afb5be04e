/* SPDX-License-Identifier: MIT */
#include "replayer/descriptor/own_buffer.h"

#include <string.h>

#include "replayer/core/handles.h"
#include "replayer/sync/deferred_destroy.h"
#include "replayer/sync/ownership_transfer.h"

static enum lap_status fill(struct replay *r, struct replay_device *dev, bool host, struct replay_own_buffer *out)
{
    VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = out->buffer};
    struct replay_memory_needs needs;
    enum lap_status status;

    replay_memory_buffer_needs(dev, out->buffer, &needs);
    needs.wanted = host ? VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
                        : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    status = replay_memory_place_alloc(r, dev, &needs, &out->place);
    if (status == LAP_OK)
        status =
            replay_result(r, dev->vk.BindBufferMemory(dev->live, out->buffer, out->place.memory, out->place.offset));
    if (status != LAP_OK)
        return status;
    out->address = dev->vk.GetBufferDeviceAddress(dev->live, &info);
    return out->address ? LAP_OK : replay_refuse(r, "the driver gives no address of a buffer for descriptors");
}

enum lap_status replay_own_buffer_create(struct replay *r, struct replay_device *dev, VkDeviceSize bytes,
                                         VkBufferUsageFlags usage, bool host, struct replay_own_buffer *out)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = bytes,
                               .usage = usage | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
    enum lap_status status = replay_objects_reserve(r, 1);

    *out = (struct replay_own_buffer){0};
    if (status != LAP_OK)
        return status;
    replay_share_buffer(dev, &info);
    status = replay_result(r, dev->vk.CreateBuffer(dev->live, &info, NULL, &out->buffer));
    out->bytes = bytes;
    if (status == LAP_OK)
        status = fill(r, dev, host, out);
    else
        replay_objects_release(r, 1);
    if (status != LAP_OK)
        replay_own_buffer_free(r, dev, out);
    return status;
}

enum lap_status replay_own_buffer_write(struct replay *r, struct replay_device *dev, struct replay_own_buffer *buffer,
                                        VkDeviceSize offset, const void *data, size_t bytes)
{
    return buffer->place.host ? replay_memory_place_write(r, dev, &buffer->place, offset, data, bytes)
                              : replay_staging_write(r, dev, &buffer->staged, buffer->buffer, offset, data, bytes);
}

enum lap_status replay_own_buffer_read(struct replay *r, struct replay_device *dev,
                                       const struct replay_own_buffer *buffer, VkDeviceSize offset, void *out,
                                       size_t bytes)
{
    const void *data = buffer->place.host ? buffer->place.host + offset : NULL;
    enum lap_status status = data ? replay_memory_place_invalidate(r, dev, &buffer->place, offset, bytes)
                                  : replay_memory_read_back(r, dev, buffer->buffer, offset, bytes, &data);

    if (status == LAP_OK)
        memcpy(out, data, bytes);
    return status;
}

void replay_own_buffer_free(struct replay *r, struct replay_device *dev, struct replay_own_buffer *buffer)
{
    if (buffer->buffer && buffer->staged.batch)
        replay_staging_settle(r, dev, &buffer->staged, buffer->buffer);
    if (buffer->buffer) {
        replay_destroy(dev, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(buffer->buffer));
        replay_objects_release(r, 1);
    }
    replay_memory_place_free(dev, &buffer->place);
    *buffer = (struct replay_own_buffer){0};
}
