/* SPDX-License-Identifier: MIT */
/* replay_buffer: buffers of a replay without a trace (replay_device.h): as its packets make, fill and end them. */
#ifndef LAP_TESTS_UNIT_REPLAY_BUFFER_H
#define LAP_TESTS_UNIT_REPLAY_BUFFER_H

#include "tests/unit/replay_device.h"

#define HOST (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)

static inline VkBuffer create_buffer(struct unit_replay *u, uint64_t index, VkDeviceSize bytes,
                                     VkMemoryPropertyFlags wanted)
{
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT};
    VkBuffer buffer = gen_VkBuffer(index);
    struct gen_args_vkCreateBuffer create = {.device = u->dev.live, .pCreateInfo = &info, .pBuffer = &buffer};
    struct gen_args_lapilliBindBuffer bind = {.size = bytes, .propertyFlags = wanted};

    CHECK_EQ_INT(replay_CreateBuffer(&u->r, &u->dev, &create), LAP_OK);
    bind.buffer = buffer = gen_VkBuffer(replay_object_get(&u->r, GEN_HANDLE_VkBuffer, index)->live);
    CHECK_EQ_INT(replay_lapilliBindBuffer(&u->r, &u->dev, &bind), LAP_OK);
    return buffer;
}

static inline void destroy_buffer(struct unit_replay *u, VkBuffer buffer)
{
    CHECK_EQ_INT(gen_destroy_object(&u->r, &u->dev, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(buffer)), LAP_OK);
}

static inline enum lap_status update_buffer(struct unit_replay *u, VkBuffer buffer, VkDeviceSize offset, size_t bytes,
                                            const void *data)
{
    struct gen_args_lapilliUpdateBuffer args = {.buffer = buffer, .offset = offset, .dataSize = bytes, .pData = data};
    return replay_lapilliUpdateBuffer(&u->r, &u->dev, &args);
}

#endif
