/* SPDX-License-Identifier: MIT */
/* heap_translate: the work on the device that turns recorded descriptors in a heap into this driver's
 * (shaders/heap.comp). One thread. */
#ifndef LAP_REPLAYER_DESCRIPTOR_HEAP_TRANSLATE_H
#define LAP_REPLAYER_DESCRIPTOR_HEAP_TRANSLATE_H

#include "replayer/core/device.h"

/* Recorded bytes from one address on, for a part of a heap of this driver's. Addresses and strides in bytes, multiples
 * of 4. */
struct replay_heap_job {
    uint64_t from, to;
    uint64_t seen;        /* their total bytes of last time, and 4 for each place; 0: all is looked up */
    uint32_t words;       /* of the recorded bytes */
    uint32_t place_words; /* descriptors begin at multiples of it */
    uint32_t scale;       /* the factor of offsets */
    uint32_t classes;     /* bit N: kind N of the table may lie there */
};

struct replay_heap_translator {
    VkPipelineLayout layout;
    VkPipeline pipeline;
};

enum lap_status replay_heap_translator_create(struct replay *r, struct replay_device *dev,
                                              struct replay_heap_translator *out) LAP_MUST_CHECK;
void replay_heap_translator_destroy(struct replay_device *dev, struct replay_heap_translator *translator);
/* Records the jobs, in order, with barriers between them. root: the table's. */
void replay_heap_translate(const struct replay_device *dev, const struct replay_heap_translator *translator,
                           VkCommandBuffer commands, VkDeviceAddress root, const struct replay_heap_job *jobs,
                           size_t count);

#endif
