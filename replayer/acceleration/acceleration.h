/* SPDX-License-Identifier: MIT */
/*
 * acceleration: acceleration structures in a replay (docs/memory.md, "Acceleration structures"). Only the driver that
 * builds a structure can read it, and each driver has its own sizes. So a replay builds structures again from their
 * inputs, into storage of its own, of the size that its device requires; builds and copies of the trace must fit there.
 * Scratch memory is the replay's own as well (build_scratch.h). One thread.
 */
#ifndef LAP_REPLAYER_ACCELERATION_ACCELERATION_H
#define LAP_REPLAYER_ACCELERATION_ACCELERATION_H

#include "gen_replay.h"
#include "replayer/memory/memory.h"

struct replay_address_range;

/* replay_object.record of a VkAccelerationStructureKHR, or of a VkMicromapEXT, which has no address. */
struct replay_structure {
    VkBuffer buffer;
    struct replay_memory_place place;
    VkDeviceSize bytes;                 /* of the structure on this device */
    struct replay_address_range *range; /* its address; NULL: the program has not queried it */
};

/* A buffer of the replay's own, with an address, in memory of the device. On failure both outputs are zeroed. */
enum lap_status replay_acceleration_buffer(struct replay *r, struct replay_device *dev, VkBufferUsageFlags usage,
                                           VkDeviceSize bytes, VkBuffer *out_buffer,
                                           struct replay_memory_place *out_place) LAP_MUST_CHECK;
/* The size of a structure (its handle type and index in the trace): that of the largest one that is built into it or
 * copied from. This also holds where the copy is compact, since only the replay device knows the compact size, and only
 * later. A structure without builds has the recorded size: it comes from serialized bytes, which only the recorded
 * driver reads. */
enum lap_status replay_acceleration_find_size(struct replay *r, const struct replay_device *dev,
                                              enum gen_handle_type type, uint64_t index, VkDeviceSize recorded,
                                              VkDeviceSize *out_bytes) LAP_MUST_CHECK;
/* Destroys it, after the work that uses it; also zeroed outputs. */
void replay_acceleration_buffer_destroy(struct replay_device *dev, VkBuffer buffer, struct replay_memory_place *place);

/* Refuses null in an array that a driver follows. */
enum lap_status replay_acceleration_check_usages(struct replay *r, uint32_t count, const VkMicromapUsageEXT *usages,
                                                 const VkMicromapUsageEXT *const *pointers) LAP_MUST_CHECK;
/* Refuses serialized structures where the device's driver is not known to be the recorded one. */
enum lap_status replay_acceleration_reads_serialized(struct replay *r, const struct replay_device *dev) LAP_MUST_CHECK;
/* The end of the device, after its last object. */
void replay_acceleration_finish(struct replay_device *dev);

#endif
