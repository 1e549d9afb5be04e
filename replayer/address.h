/* SPDX-License-Identifier: MIT */
/*
 * address: device addresses in a replay (docs/memory.md, "Device addresses").
 *
 * Where the driver is the recorded one, buffers are asked to lie where they lay (address_memory.h). Elsewhere, and
 * where the driver refuses, they have other addresses. When the program asked for one, so does the replay; from the
 * first one on that is not as recorded, addresses are translated wherever the program's bytes reach the device: in what
 * the host wrote into buffers, and in commands. Before that nothing is looked at. One thread.
 */
#ifndef LAP_REPLAYER_ADDRESS_H
#define LAP_REPLAYER_ADDRESS_H

#include "replayer/resource.h"

/* Before the device is made from `info`, whose chain is the decoder's own memory: switches on what keeps addresses. */
void replay_address_prepare(struct replay *r, struct replay_device *dev, const VkDeviceCreateInfo *info);
/* Before the device's first object: takes notice of its features. And when it has no objects any more: says what was
 * translated. */
void replay_address_begin(struct replay_device *dev, const VkDeviceCreateInfo *info);
void replay_address_finish(struct replay *r, struct replay_device *dev);

/* Words that were translated, by where they stood; those that stay what they are don't count. */
struct replay_address_counts {
    uint64_t buffers, kept;      /* whose address the program asked for; of these, which have it here, too */
    uint64_t updated, renewed;   /* in what the host wrote; and again, when their address belonged to something new */
    uint64_t pushed, inlined;    /* in push constants; in vkCmdUpdateBuffer */
    uint64_t uniform, constants; /* in inline uniform blocks; in specialization constants */
    uint64_t arguments;          /* parameters and members that are addresses */
    uint64_t checked;            /* back to recorded ones, in memory that --verify compares */
};
struct replay_address_counts replay_address_counts(const struct replay_device *dev);
/* All of them, but for those of --verify. */
static inline uint64_t replay_address_words(const struct replay_address_counts *counts)
{
    return counts->updated + counts->renewed + counts->pushed + counts->inlined + counts->uniform + counts->constants +
           counts->arguments;
}

/* With dev->translates_addresses: the same as replay_buffer_write, with addresses translated. */
enum lap_status replay_address_update(struct replay *r, struct replay_device *dev, VkBuffer buffer,
                                      struct replay_buffer *record, VkDeviceSize offset, const void *data,
                                      size_t bytes) LAP_MUST_CHECK;
/* With dev->translates_addresses: replaces addresses in the constants of a decoded structure, those of 8 bytes and two
 * of 4 bytes side by side; NULL is fine. */
enum lap_status replay_address_constants(struct replay *r, struct replay_device *dev,
                                         const VkSpecializationInfo *info) LAP_MUST_CHECK;
/* With dev->translates_addresses: replaces addresses of this device in memory's contents by the recorded ones. `data`
 * is what lies at a multiple of 4 in the buffer. */
void replay_address_restore(struct replay_device *dev, void *data, size_t bytes);
/* A buffer is about to be destroyed. */
void replay_address_forget(struct replay_device *dev, struct replay_buffer *record);

#endif
