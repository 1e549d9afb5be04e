/* SPDX-License-Identifier: MIT */
/*
 * host_region: regions of images whose texels the host copies (host_copy.h), into the images and out of them, as
 * recorded: by host copies of the device, or by copies of the replay's own. One thread.
 */
#ifndef LAP_REPLAYER_RESOURCE_HOST_REGION_H
#define LAP_REPLAYER_RESOURCE_HOST_REGION_H

#include "replayer/core/device.h"
#include "replayer/format/texel_convert.h"
#include "replayer/memory/resource.h"
#include "replayer/memory/staging_image.h"
#include "vulkan/texel/texels.h"

#define REPLAY_HOST_TRANSFER 0x00400000u /* VK_IMAGE_USAGE_HOST_TRANSFER_BIT, which older headers lack */
#define REPLAY_HOST_BYTES    (1u << 20)  /* of texels, that are read at once */

/* The layouts in which the device's host copies take images. */
struct replay_host_copies {
    uint32_t source_count, target_count;
    VkImageLayout *sources, *targets;
};

/* A region of an image of the trace. */
struct replay_host_region {
    struct replay *r;
    struct replay_device *dev;
    VkImage image;
    VkImageLayout layout;
    struct lap_texel_region all;
    /* replay_host_region_examine fills these in. */
    struct replay_image *record;
    uint64_t index;
    struct lap_texel_block block;             /* as recorded */
    enum replay_format_conversion conversion; /* to or from the format on the replay device */
};

/* Fills in the rest. Fails where the image does not have the region, or can't be copied. */
enum lap_status replay_host_region_examine(struct replay_host_region *region, bool writes) LAP_MUST_CHECK;

/* Whether the device has host copies for the image at all, and out of it and into it while it is in a layout. */
bool replay_host_can_copy(const struct replay_device *dev, const struct replay_image *record);
bool replay_host_can_read(const struct replay_device *dev, const struct replay_image *record, VkImageLayout layout);
bool replay_host_can_write(const struct replay_device *dev, const struct replay_image *record, VkImageLayout layout);
bool replay_host_is_copy_layout(VkImageLayout layout);

/* For barriers: the aspects that change their layout together, and a piece of a region. */
VkImageAspectFlags replay_host_barrier_aspects(const struct replay_device *dev, const struct replay_image *record,
                                               VkImageAspectFlags aspects);
struct replay_image_part replay_host_region_part(const struct replay_host_region *region,
                                                 const struct lap_texel_region *piece);
VkImageSubresourceLayers replay_host_layers(const struct lap_texel_region *region);

/* After steps were gathered for an image: prepares linear images for access by the host. */
enum lap_status replay_host_settle(struct replay *r, struct replay_device *dev,
                                   const struct replay_image *record) LAP_MUST_CHECK;

/* Writes texels, as recorded and without gaps, before later submissions. */
enum lap_status replay_host_region_write(struct replay_host_region *to, const void *texels) LAP_MUST_CHECK;

/* Gets the texels of a piece as they would be recorded; they may be changed. */
typedef enum lap_status (*replay_host_texels_fn)(void *context, const struct replay_host_region *from,
                                                 const struct lap_texel_region *piece, void *texels, size_t bytes);
/* Reads pieces of at most REPLAY_HOST_BYTES, after all gathered work is done. */
enum lap_status replay_host_region_read(const struct replay_host_region *from, replay_host_texels_fn visit,
                                        void *context) LAP_MUST_CHECK;

#endif
