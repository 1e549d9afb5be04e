/* SPDX-License-Identifier: MIT */
/*
 * match: what the trace says of the recorded machine (match.c), what the recorded device needs of this one
 * (requirements.c), and what can only be known by looking through the trace before it is played (used.c). Which GPU it
 * is played on: gpu.h.
 */
#ifndef LAP_REPLAYER_MATCH_H
#define LAP_REPLAYER_MATCH_H

#include "replayer/alias.h"
#include "replayer/context.h"
#include "replayer/limits.h"
#include "replayer/witness.h"

/* What information packets say about a physical device of the recorded machine; the record of a VkPhysicalDevice
 * object. */
struct replay_recorded_gpu {
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE]; /* "" when not known */
    uint32_t family_count;                       /* 0 when not known */
    VkQueueFamilyProperties families[REPLAY_MAX_FAMILIES];
    VkDeviceSize uniform_alignment, storage_alignment; /* of offsets into buffers; 0 when not known */
};

/* Looks at the current information packet; what it can't use or read is passed over. */
void replay_observe(struct replay *r);

/* Makes *out, in the arena, what this GPU can give of the recorded create info: extensions, features and chain; queues
 * are not touched. LAP_ERROR_UNSUPPORTED with one sentence that names all that the trace needs and the GPU lacks (with
 * --force, and for a report, these are left out; the log or the report says so). */
enum lap_status replay_match_device(struct replay *r, struct replay_instance *instance,
                                    const VkDeviceCreateInfo *recorded, VkDeviceCreateInfo *out) LAP_MUST_CHECK;

/* Which commands and chained structures the trace's replayed packets name, but for what creates instances and devices;
 * and which features and extensions are used in them. */
struct replay_used {
    bool commands[GEN_COMMAND_COUNT], structs[GEN_STRUCT_COUNT];
    struct replay_witnesses witnesses;
};
/* Reads the trace once, up to last_frame (0: all), on a reader of its own. */
enum lap_status replay_find_used(const struct lap_reader *trace, uint64_t last_frame,
                                 struct replay_used *out) LAP_MUST_CHECK;

/* For a device of an older Vulkan than the program asked for: LAP_ERROR_UNSUPPORTED with a sentence that names all
 * commands of the trace that it has not; reads the trace once. With --force, and for a report, nothing is looked at. */
enum lap_status replay_require_commands(struct replay *r, const struct replay_device *dev) LAP_MUST_CHECK;

/* Says once, in a warning, that offsets of the trace are no multiples of what this GPU wants; reads the trace once
 * where the recorded machine did not want the same. What can't be read again is no error here: playing will tell. */
void replay_warn_of_offsets(struct replay *r, const struct replay_instance *instance,
                            const struct replay_recorded_gpu *recorded);
/* The pass for it (limits.h), as replay_find_used. */
enum lap_status replay_find_misaligned(const struct lap_reader *trace, uint64_t last_frame,
                                       const struct replay_instance *instance,
                                       struct replay_misaligned *out) LAP_MUST_CHECK;

/* Which objects share memory (alias.h), up to last_frame (0: all): one pass over the packets on a reader of its own,
 * which leaves command buffers and large data unread, ends behind the last bind that shares (as the layer has noted),
 * and is left out where the layer counted none. What is damaged ends the pass and is no error: playing will tell. */
enum lap_status replay_find_aliases(const struct lap_reader *trace, uint64_t last_frame,
                                    struct replay_aliases **out) LAP_MUST_CHECK;

#endif
