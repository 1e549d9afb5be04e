/* SPDX-License-Identifier: MIT */
#include "replayer/memory/overlay_buffer.h"

#include "replayer/sync/ownership_transfer.h"

enum lap_status replay_overlay_buffer_need(struct replay *r, struct replay_device *dev,
                                           const struct replay_memory_place *place, struct replay_overlay_buffer *bytes)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = place->bytes,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    struct replay_memory_needs needs;
    enum lap_status status;

    if (bytes->buffer)
        return LAP_OK;
    replay_share_buffer(dev, &info);
    status = replay_result(r, dev->vk.CreateBuffer(dev->live, &info, NULL, &bytes->buffer));
    if (status != LAP_OK)
        return status;
    replay_memory_buffer_needs(dev, bytes->buffer, &needs);
    /* If the place is not aligned for a buffer, the buffer begins before it. */
    bytes->skip = place->offset & (needs.requirements.alignment - 1);
    if (bytes->skip) {
        dev->vk.DestroyBuffer(dev->live, bytes->buffer, NULL);
        info.size += bytes->skip;
        status = replay_result(r, dev->vk.CreateBuffer(dev->live, &info, NULL, &bytes->buffer));
        if (status != LAP_OK) {
            bytes->buffer = VK_NULL_HANDLE;
            return status;
        }
        replay_memory_buffer_needs(dev, bytes->buffer, &needs);
    }
    if (!(needs.requirements.memoryTypeBits >> place->type & 1) || needs.alone ||
        needs.requirements.size > place->memory_bytes - (place->offset - bytes->skip))
        status = replay_fail(r, "no buffer can lie over the memory of this write");
    else
        status = replay_result(
            r, dev->vk.BindBufferMemory(dev->live, bytes->buffer, place->memory, place->offset - bytes->skip));
    if (status != LAP_OK) {
        dev->vk.DestroyBuffer(dev->live, bytes->buffer, NULL);
        bytes->buffer = VK_NULL_HANDLE;
    }
    return status;
}

void replay_overlay_buffer_destroy(struct replay *r, struct replay_device *dev, struct replay_overlay_buffer *bytes)
{
    if (!bytes->buffer)
        return;
    replay_staging_settle(r, dev, &bytes->staged, bytes->buffer);
    dev->vk.DestroyBuffer(dev->live, bytes->buffer, NULL);
    *bytes = (struct replay_overlay_buffer){0};
}
