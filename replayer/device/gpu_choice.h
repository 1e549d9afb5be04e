/* SPDX-License-Identifier: MIT */
/*
 * gpu_choice: chooses the GPU of this machine that plays the trace. One thread.
 */
#ifndef LAP_REPLAYER_DEVICE_GPU_CHOICE_H
#define LAP_REPLAYER_DEVICE_GPU_CHOICE_H

#include "replayer/core/replay.h"

/* The identity of a GPU: one of this machine, or the recorded one. Unknown UUIDs are zero. */
struct replay_gpu {
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    VkPhysicalDeviceType type;
    uint32_t api_version;
    uint8_t device_uuid[VK_UUID_SIZE], driver_uuid[VK_UUID_SIZE];
};

/* Chooses the one of `count` (at least 1) that matches `option`: a number, a UUID (32 hexadecimal digits, with
 * dashes or without), a name, or a part of one. Without option (NULL) the one most like the recorded one (which may
 * be NULL): the same UUID, preferably with the same driver; else the same name; else the best type.
 * LAP_ERROR_UNSUPPORTED: none matches, or several do. */
enum lap_status replay_gpu_pick(const struct replay_gpu *gpus, uint32_t count, const char *option,
                                const struct replay_gpu *recorded, uint32_t *out) LAP_MUST_CHECK;

/* The recorded GPU, from the JSON of a trace's information. name: another GPU of that machine, of which only the
 * name is known; NULL: the one of the recording. Members that the text lacks stay empty. LAP_ERROR_MEMORY. */
enum lap_status replay_gpu_recorded(const char *text, const char *name, struct replay_gpu *out) LAP_MUST_CHECK;

/* Sets the instance's gpu: by --gpu, else by the recorded GPU. recorded_name: its name; NULL: the one of the
 * recording. */
enum lap_status replay_gpu_choose(struct replay *r, struct replay_instance *instance,
                                  const char *recorded_name) LAP_MUST_CHECK;

/* Whether the instance's GPU is the one that the trace was recorded on, with the same build of its driver. False where
 * the trace does not say. */
bool replay_gpu_is_recorded(struct replay *r, const struct replay_instance *instance);

/* Writes the GPUs of this machine to stdout, one a line: index, name, type and version, UUID; or as JSON. */
enum lap_status replay_gpu_list(const char *option, bool json) LAP_MUST_CHECK;

#endif
