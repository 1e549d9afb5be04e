/* SPDX-License-Identifier: MIT */
/*
 * recorded_machine: the properties of the recorded machine, from the trace. For the requirements of its device see
 * device/requirements.h.
 */
#ifndef LAP_REPLAYER_ANALYSIS_RECORDED_MACHINE_H
#define LAP_REPLAYER_ANALYSIS_RECORDED_MACHINE_H

#include "replayer/core/device.h"

/* A physical device of the recorded machine, from information packets; the record of a VkPhysicalDevice object. */
struct replay_recorded_gpu {
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE]; /* "" when not known */
    uint32_t family_count;                       /* 0 when not known */
    VkQueueFamilyProperties families[REPLAY_MAX_FAMILIES];
    VkDeviceSize uniform_alignment, storage_alignment; /* of offsets into buffers; 0 when not known */
};

/* Reads the current information packet; ignores a packet that it can't use or read. */
void replay_recorded_machine_observe(struct replay *r);

#endif
