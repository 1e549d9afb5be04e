/* SPDX-License-Identifier: MIT */
/*
 * gpu: which GPU of this machine the trace is played on. One thread.
 */
#ifndef LAP_REPLAYER_GPU_H
#define LAP_REPLAYER_GPU_H

#include "replayer/context.h"

/* What GPUs are told apart by: one of this machine, or the recorded one. UUIDs are zeroes where they are not known. */
struct replay_gpu {
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    VkPhysicalDeviceType type;
    uint32_t api_version;
    uint8_t device_uuid[VK_UUID_SIZE], driver_uuid[VK_UUID_SIZE];
};

/* The one of `count` (at least 1) that `option` means: a number, a UUID (32 hexadecimal digits, with dashes or
 * without), a name, or a part of one. Without option (NULL) the one most like the recorded one (which may be NULL): the
 * same UUID, rather with the same driver; else the same name; else the best type. LAP_ERROR_UNSUPPORTED: none, or
 * several. */
enum lap_status replay_gpu_pick(const struct replay_gpu *gpus, uint32_t count, const char *option,
                                const struct replay_gpu *recorded, uint32_t *out) LAP_MUST_CHECK;

/* The recorded one, as the JSON of a trace's information has it; of another GPU of that machine only the name is known.
 * name: which is meant; NULL: the one that was recorded on. LAP_ERROR_MEMORY; all that the text lacks is empty. */
enum lap_status replay_gpu_recorded(const char *text, const char *name, struct replay_gpu *out) LAP_MUST_CHECK;

/* Sets the instance's gpu: by --gpu, else by what the trace says of the recorded machine, of whose GPUs the one called
 * recorded_name is meant (NULL: the one that was recorded on). */
enum lap_status replay_choose_gpu(struct replay *r, struct replay_instance *instance,
                                  const char *recorded_name) LAP_MUST_CHECK;

/* Writes the GPUs of this machine to stdout, one a line: index, name, type and version, UUID. */
enum lap_status replay_list_gpus(void) LAP_MUST_CHECK;

#endif
