/* SPDX-License-Identifier: MIT */
/* translate: the command buffer of the replay's own that turns recorded descriptors into this driver's
 * (shaders/translate.comp). One thread. */
#ifndef LAP_REPLAYER_DESCRIPTOR_TRANSLATE_H
#define LAP_REPLAYER_DESCRIPTOR_TRANSLATE_H

#include "replayer/descriptor/heap_translate.h"
#include "replayer/descriptor/own_buffer.h"

#define REPLAY_DESCRIPTOR_WHOLE UINT32_MAX

/* Elements of one binding, as the shader has it. Addresses and strides in bytes, multiples of 4. */
struct replay_descriptor_job {
    uint64_t from, to;
    uint32_t count, from_stride, to_stride;
    uint32_t kinds;                  /* bit N: enum lap_descriptor_kind N; 0: plain words */
    uint32_t from_second, to_second; /* from the first element's first part to its second */
    uint32_t from_second_stride, to_second_stride;
    uint32_t from_first_words, to_first_words; /* REPLAY_DESCRIPTOR_WHOLE: no second part */
    uint32_t single;                           /* no array: its bytes should be known */
    uint32_t from_words;                       /* the most that an element has */
};

struct replay_translator {
    VkPipelineLayout layout;
    VkPipeline pipeline;
};

/* One command buffer; zeroed: none yet. */
struct replay_translation {
    VkCommandPool pool;
    VkCommandBuffer commands;
    struct replay_own_buffer jobs;
};

enum lap_status replay_translator_create(struct replay *r, struct replay_device *dev,
                                         struct replay_translator *out) LAP_MUST_CHECK;
void replay_translator_destroy(struct replay_device *dev, struct replay_translator *translator);

struct replay_translation_work {
    VkDeviceAddress root; /* of the table */
    struct replay_descriptor_job *jobs;
    uint32_t count;
    const struct replay_heap_translator *heap_translator;
    VkDeviceAddress heap_root; /* of the table of heaps */
    struct replay_heap_job *heap_jobs;
    size_t heap_count;
    const void *data; /* behind the jobs in their buffer: jobs whose `from` is below data_bytes begin there, and get
                         their addresses */
    size_t data_bytes;
};

/* Records it; nothing of its last recording is in use. family: of this device. */
enum lap_status replay_translation_record(struct replay *r, struct replay_device *dev,
                                          const struct replay_translator *translator,
                                          struct replay_translation *translation, uint32_t family,
                                          const struct replay_translation_work *work) LAP_MUST_CHECK;
void replay_translation_free(struct replay *r, struct replay_device *dev, struct replay_translation *translation);

#endif
