/* SPDX-License-Identifier: MIT */
/*
 * address: device addresses in a replay (docs/memory.md, "Device addresses").
 *
 * Buffers have other addresses here than they had when they were recorded, on the same driver too. When the program
 * asked for one, so does the replay; from then on recorded addresses are translated wherever the program's bytes reach
 * the device: in what the host wrote into buffers, and in commands. Nothing is done before the first one is asked for.
 * One thread.
 */
#ifndef LAP_REPLAYER_ADDRESS_H
#define LAP_REPLAYER_ADDRESS_H

#include "replayer/resource.h"

/* Before the device's first object: takes notice of its features. And when it has no objects any more: says what was
 * translated. */
void replay_address_begin(struct replay_device *dev, const VkDeviceCreateInfo *info);
void replay_address_finish(struct replay *r, struct replay_device *dev);

/* Words that were translated, by where they stood. */
struct replay_address_counts {
    uint64_t buffers;            /* whose address the program asked for */
    uint64_t updated, renewed;   /* in what the host wrote; and again, when their address belonged to something new */
    uint64_t pushed, inlined;    /* in push constants; in vkCmdUpdateBuffer */
    uint64_t uniform, constants; /* in inline uniform blocks; in specialization constants */
    uint64_t arguments;          /* parameters and members that are addresses */
    uint64_t checked;            /* back to recorded ones, in memory that --verify compares */
};
struct replay_address_counts replay_address_counts(const struct replay_device *dev);

/* With dev->addresses: the same as replay_buffer_write, with addresses translated. */
enum lap_status replay_address_update(struct replay *r, struct replay_device *dev, VkBuffer buffer,
                                      struct replay_buffer *record, VkDeviceSize offset, const void *data,
                                      size_t bytes) LAP_MUST_CHECK;
/* With dev->addresses: replaces addresses in 8-byte constants of a decoded structure; NULL is fine. */
void replay_address_constants(struct replay *r, struct replay_device *dev, const VkSpecializationInfo *info);
/* With dev->addresses: replaces addresses of this device in memory's contents by the recorded ones. `data` is what lies
 * at a multiple of 4 in the buffer. */
void replay_address_restore(struct replay_device *dev, void *data, size_t bytes);
/* A buffer is about to be destroyed. */
void replay_address_forget(struct replay_device *dev, struct replay_buffer *record);

#endif
