/* SPDX-License-Identifier: MIT */
/* own_buffer: buffers with an address that the replay has for itself. One thread. */
#ifndef LAP_REPLAYER_DESCRIPTOR_OWN_BUFFER_H
#define LAP_REPLAYER_DESCRIPTOR_OWN_BUFFER_H

#include "replayer/memory/memory.h"
#include "replayer/memory/staging.h"

/* Zeroed: none. */
struct replay_own_buffer {
    VkBuffer buffer;
    struct replay_memory_place place;
    VkDeviceAddress address;
    VkDeviceSize bytes;
    struct replay_staged staged; /* where the host can't see it */
};

/* usage: beside that of storage buffers with an address. host: the host should see it. On failure *out is zeroed. */
enum lap_status replay_own_buffer_create(struct replay *r, struct replay_device *dev, VkDeviceSize bytes,
                                         VkBufferUsageFlags usage, bool host,
                                         struct replay_own_buffer *out) LAP_MUST_CHECK;
/* Writes before later submissions (data NULL: zeroes); and reads when the device is idle. */
enum lap_status replay_own_buffer_write(struct replay *r, struct replay_device *dev, struct replay_own_buffer *buffer,
                                        VkDeviceSize offset, const void *data, size_t bytes) LAP_MUST_CHECK;
enum lap_status replay_own_buffer_read(struct replay *r, struct replay_device *dev,
                                       const struct replay_own_buffer *buffer, VkDeviceSize offset, void *out,
                                       size_t bytes) LAP_MUST_CHECK;
/* Deferred while the device is busy; zeroes it; also for a zeroed one. */
void replay_own_buffer_free(struct replay *r, struct replay_device *dev, struct replay_own_buffer *buffer);

#endif
