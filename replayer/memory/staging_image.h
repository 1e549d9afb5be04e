/* SPDX-License-Identifier: MIT */
/*
 * staging_image: replays the host's operations on images, as commands in the batches of staging.h: copies of texels,
 * and layouts. It is for devices, images and layouts without host image copies (host_copy.h). One thread.
 */
#ifndef LAP_REPLAYER_MEMORY_STAGING_IMAGE_H
#define LAP_REPLAYER_MEMORY_STAGING_IMAGE_H

#include "replayer/memory/staging.h"

/* Subresources as barriers name them, all in one layout. */
struct replay_image_part {
    VkImage image;
    VkImageSubresourceRange range;
    VkImageLayout layout;
};

enum replay_image_step_kind { REPLAY_STEP_WRITE, REPLAY_STEP_COPY, REPLAY_STEP_LAYOUT };

struct replay_image_step {
    enum replay_image_step_kind kind;
    struct replay_image_part to, from; /* `from`: of copies. The image of `to` null: cancelled */
    VkImageLayout old_layout;          /* of REPLAY_STEP_LAYOUT; the new one is to.layout */
    VkBufferImageCopy region;          /* of REPLAY_STEP_WRITE */
    VkImageCopy copy;                  /* of REPLAY_STEP_COPY */
    size_t at;                         /* behind so many copies between buffers; for staging.c */
};

struct replay_image_steps {
    struct replay_image_step *list;
    size_t count, capacity;
};

/* Bytes that fit into one REPLAY_STEP_WRITE. */
enum lap_status replay_staging_image_limit(struct replay *r, struct replay_device *dev,
                                           uint64_t *out_bytes) LAP_MUST_CHECK;
/* Gathers a step behind all gathered ones. to, from: the staging states of the two images; from may be NULL. */
enum lap_status replay_staging_image_step(struct replay *r, struct replay_device *dev, struct replay_staged *to,
                                          struct replay_staged *from,
                                          const struct replay_image_step *step) LAP_MUST_CHECK;
/* The same for REPLAY_STEP_WRITE, with its texels (bufferOffset is set here). texel_bytes: of a block. */
enum lap_status replay_staging_image_write(struct replay *r, struct replay_device *dev, struct replay_staged *staged,
                                           const struct replay_image_step *step, const void *texels, size_t bytes,
                                           uint32_t texel_bytes) LAP_MUST_CHECK;
/* Submits all gathered steps, and waits for them: then the host may access images and memory. */
enum lap_status replay_staging_finish(struct replay *r, struct replay_device *dev) LAP_MUST_CHECK;
/* As replay_staging_settle, before an image is destroyed. */
void replay_staging_settle_image(struct replay *r, struct replay_device *dev, struct replay_staged *staged,
                                 VkImage image);

/* For staging.c: records the steps from *next on that stand in front of copy number `at`. True: there were some. */
bool replay_image_steps_record(const struct replay_device *dev, VkCommandBuffer commands, VkBuffer ring,
                               const struct replay_image_steps *steps, size_t at, size_t *next);

#endif
