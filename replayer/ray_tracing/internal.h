/* SPDX-License-Identifier: MIT */
/* Shared by group_handles.c and binding_table.c. */
#ifndef LAP_REPLAYER_RAY_TRACING_INTERNAL_H
#define LAP_REPLAYER_RAY_TRACING_INTERNAL_H

#include "base/map.h"
#include "replayer/memory/memory.h"
#include "replayer/memory/staging.h"
#include "replayer/ray_tracing/ray_tracing.h"

/* A buffer of the replay's own with a device address. */
struct replay_ray_tracing_buffer {
    VkBuffer buffer;
    struct replay_memory_place place;
    struct replay_staged staged;
    VkDeviceSize bytes;
    VkDeviceAddress address;
};

/* usage: beside that for addresses. On failure *out is zeroed. */
enum lap_status replay_ray_tracing_buffer_make(struct replay *r, struct replay_device *dev, VkDeviceSize bytes,
                                               VkBufferUsageFlags usage, VkMemoryPropertyFlags wanted,
                                               struct replay_ray_tracing_buffer *out) LAP_MUST_CHECK;
/* For work that is submitted later; while no work uses the buffer. */
enum lap_status replay_ray_tracing_buffer_write(struct replay *r, struct replay_device *dev,
                                                struct replay_ray_tracing_buffer *buffer, const void *data,
                                                size_t bytes) LAP_MUST_CHECK;
void replay_ray_tracing_buffer_free(struct replay_device *dev, struct replay_ray_tracing_buffer *buffer);

/* The groups of one pipeline. */
struct replay_ray_tracing_groups {
    unsigned char *pairs;           /* recorded and live handles, sorted by the recorded ones; NULL: not known */
    uint8_t *shaders;               /* vulkan/shader/ray_groups.h; of each group */
    uint32_t made;                  /* with those of its libraries */
    uint32_t count, recorded_bytes; /* of the pairs; the size of a recorded handle */
    bool library;
    bool differ;                             /* some handle has other bytes on the replay device */
    bool stricter;                           /* this device wants alignments that recorded tables need not have */
    struct replay_ray_tracing_buffer buffer; /* the pairs, once a table was copied */
};

/* Makes the buffer. */
enum lap_status replay_ray_tracing_need_pairs(struct replay *r, struct replay_device *dev,
                                              struct replay_ray_tracing_groups *groups) LAP_MUST_CHECK;

struct replay_ray_tracing {
    struct replay *r;
    struct lap_map groups; /* struct replay_ray_tracing_groups by live pipeline */
    VkPhysicalDeviceRayTracingPipelinePropertiesKHR properties;
    struct lap_map copies; /* binding_table.c: by command buffer */
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    uint64_t stack_factor; /* 65536 times the largest ratio of stack bytes here to recorded ones */
    uint64_t stack_more;   /* bytes for shaders whose recorded stack is 0 */
    uint64_t pipelines, pipelines_that_differ, copied; /* commands whose tables are copied */
    bool warned;
};

/* The stack size on this device for a size of `recorded` bytes that the program set. */
uint32_t replay_ray_tracing_stack_size(const struct replay_device *dev, uint32_t recorded);

/* binding_table.c: after all copies' command buffers. */
void replay_ray_tracing_copies_finish(struct replay_device *dev);

#endif
