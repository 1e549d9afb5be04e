/* SPDX-License-Identifier: MIT */
/*
 * address: device addresses in a replay (docs/memory.md, "Device addresses").
 *
 * On the recorded driver the replay requests the recorded addresses of buffers (captured_memory.h). On other drivers,
 * and where the driver refuses, buffers have other addresses. The replay queries an address where the program did. From
 * the first address on that differs from the recorded one, the replay translates addresses in host writes to buffers
 * and in commands. Before that it searches nothing. One thread.
 */
#ifndef LAP_REPLAYER_ADDRESS_ADDRESS_H
#define LAP_REPLAYER_ADDRESS_ADDRESS_H

#include "replayer/memory/resource.h"

struct replay_address_range; /* address_range.h */

/* Call it before the device is created from `info`, whose chain is in the decoder's memory: enables the features that
 * preserve addresses. */
void replay_address_prepare(struct replay *r, struct replay_device *dev, const VkDeviceCreateInfo *info);
/* Begin: before the device's first object; notes its features. Finish: after its last object; logs the counts of
 * translations. */
void replay_address_begin(struct replay_device *dev, const VkDeviceCreateInfo *info);
void replay_address_finish(struct replay *r, struct replay_device *dev);

/* Translated words by location, without those whose value stays the same. */
struct replay_address_counts {
    uint64_t buffers, preserved; /* buffers whose address the program queried; of these, those with the same address */
    uint64_t structures;         /* acceleration structures whose address it queried */
    uint64_t updated, renewed;   /* in host writes; and again, when a new object got their address */
    uint64_t pushed, inlined;    /* in push constants and push data; in vkCmdUpdateBuffer */
    uint64_t uniform, constants; /* in inline uniform blocks; in specialization constants */
    uint64_t arguments;          /* parameters and members of address type */
    uint64_t checked;            /* back to recorded addresses, in memory that --verify compares */
};
struct replay_address_counts replay_address_counts(const struct replay_device *dev);
/* The sum, without those of --verify. */
static inline uint64_t replay_address_counts_total(const struct replay_address_counts *counts)
{
    return counts->updated + counts->renewed + counts->pushed + counts->inlined + counts->uniform + counts->constants +
           counts->arguments;
}

/* The address of an acceleration structure, by its index in the trace: recorded, and on this device. *range: NULL, or
 * that of an earlier query. */
enum lap_status replay_address_structure(struct replay *r, struct replay_device *dev, uint64_t index, uint64_t recorded,
                                         uint64_t live, struct replay_address_range **range) LAP_MUST_CHECK;
/* Call it before a structure with a range is destroyed. */
void replay_address_structure_end(struct replay_device *dev, struct replay_address_range *range);

/* With dev->addresses.translated: the same as replay_buffer_write, with addresses translated. */
enum lap_status replay_address_update(struct replay *r, struct replay_device *dev, VkBuffer buffer,
                                      struct replay_buffer *record, VkDeviceSize offset, const void *data,
                                      size_t bytes) LAP_MUST_CHECK;
/* With dev->addresses.translated: replaces addresses in specialization constants of a decoded structure: constants
 * of 8 bytes, and two adjacent ones of 4 bytes. info may be NULL. */
enum lap_status replay_address_constants(struct replay *r, struct replay_device *dev,
                                         const VkSpecializationInfo *info) LAP_MUST_CHECK;
/* With dev->addresses.translated: translates push constants (halves.h). Call them before a command buffer's first
 * command, and before each command. */
void replay_address_commands_begin(struct replay_device *dev);
enum lap_status replay_address_command(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                       void *args) LAP_MUST_CHECK;
/* With dev->addresses.translated: replaces this device's addresses in a copy of memory by the recorded ones. `data`
 * comes from a multiple of 4 in the buffer. */
void replay_address_restore(struct replay_device *dev, void *data, size_t bytes);
/* For data of other forms than words in memory. All of them also for devices without addresses. renewed: whether there
 * are new ranges since the last call, and the recorded addresses around them. end_of: the end of the live buffer with a
 * live address; 0: none has it. recorded_of, live_of: the same address there, or the argument where no buffer has it.
 * words: replaces the recorded addresses in a run of bytes. */
bool replay_address_renewed(const struct replay_device *dev, VkDeviceAddress *out_begin, VkDeviceAddress *out_end);
VkDeviceAddress replay_address_end_of(const struct replay_device *dev, VkDeviceAddress live);
VkDeviceAddress replay_address_recorded_of(const struct replay_device *dev, VkDeviceAddress live);
VkDeviceAddress replay_address_live_of(const struct replay_device *dev, VkDeviceAddress recorded);
void replay_address_words(const struct replay_device *dev, void *data, size_t bytes);

/* Call it before a buffer is destroyed. */
void replay_address_forget(struct replay_device *dev, struct replay_buffer *record);

#endif
