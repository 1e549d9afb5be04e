/* SPDX-License-Identifier: MIT */
/*
 * full_checks: capture --verify=all. When a submit has returned, the layer waits for it, reads back everything that it
 * wrote and writes hashes into the trace. Work that waits for the host is checked when the program learns that it has
 * finished. The trace names objects that can't be read back, with the reason.
 *
 * The device's verify.mutex is held around each submit with all its checks, around presents, and while the program is
 * notified that work has finished: meanwhile no object that is being read is destroyed, and queues have one user.
 */
#ifndef LAP_LAYER_FULL_CHECKS_H
#define LAP_LAYER_FULL_CHECKS_H

#include <stdalign.h>

#include "layer/submit/submission.h"
#include "vulkan/unchecked.h"

/* Take and give back verify.mutex, where there is --verify=all; *cancel: for base/cancel.h. Before any other lock. */
void layer_queues_lock(struct layer_device *dev, int *cancel);
void layer_queues_unlock(struct layer_device *dev, int cancel);

/* The driver has taken a submit to the queue. Under verify.mutex only, no packet open. */
void layer_verify_all_submitted(struct layer_device *dev, VkQueue queue);

/* The layer has waited for the queue, but the program has not: checks follow, and a replay must wait before them, too.
 * Under verify.mutex only, no packet open. */
void layer_verify_all_waited(struct layer_device *dev, VkQueue queue);

struct layer_readable_buffer {
    VkBufferCreateInfo info;
    alignas(8) unsigned char chain[512]; /* copies, up to the usage in it */
};

/* The create info for a buffer or an image that can be read back: `info`, or *changed with one more usage.
 * *out_readable: whether it can be read back. */
const VkBufferCreateInfo *layer_verify_all_buffer(const VkBufferCreateInfo *info, struct layer_readable_buffer *changed,
                                                  bool *out_readable);
const VkImageCreateInfo *layer_verify_all_image(struct layer_device *dev, const VkImageCreateInfo *info,
                                                VkImageCreateInfo *changed, bool *out_readable);

/* Fills new memory that can't be mapped with zeroes, if a buffer can be bound to all of it. type: the driver's. Before
 * the program gets the memory. False: not filled. */
bool layer_verify_all_clear(struct layer_device *dev, VkDeviceMemory memory, VkDeviceSize bytes, uint32_t type);

/* The usage of such images with the added bits, as far as flags and usage decide it. */
VkImageUsageFlags layer_verify_all_usage(VkImageCreateFlags flags, VkImageUsageFlags usage);

/* A range of a buffer, or an image, that a finished submit wrote, and whose memory is not mapped: reads it back on the
 * submit's queue. Under verify.mutex and submit.mutex, no packet open. */
void layer_verify_all_written(struct layer_device *dev, struct lap_memobj *object,
                              const struct layer_submission *submission, uint64_t offset, uint64_t bytes);

/* Whether a buffer is for preprocessed commands, whose bytes are specific to the driver. */
bool layer_is_preprocess(VkFlags64 usage);

/* A finished submit may have stored through unknown addresses: reads back all buffers that have an address and whose
 * memory is not mapped, as above. */
void layer_verify_all_anywhere(struct layer_device *dev, const struct layer_submission *submission);

/* The object was written, and is not checked. Any thread that may use the object, no packet open. */
void layer_check_left_out(struct layer_device *dev, struct lap_object *record, enum lap_unchecked reason);

#endif
