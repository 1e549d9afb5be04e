/* SPDX-License-Identifier: MIT */
/*
 * image_state: with capture --verify=all, or where parts of the run are recorded, the state of each subresource of an
 * image after all work submitted so far: its layout, and whether its contents are the same in every run. Command
 * buffers remember steps, which a submit applies. Otherwise nothing happens here.
 */
#ifndef LAP_LAYER_IMAGE_STATE_H
#define LAP_LAYER_IMAGE_STATE_H

#include "layer/command/touched.h"

struct layer_subresource {
    VkImageLayout layout;
    bool written;     /* by some submit so far, in part at least */
    bool varies;      /* the specification leaves its contents undefined */
    bool discarded;   /* the last write, of all of it, was a render pass that stores nothing */
    bool between;     /* one queue family has released it, and none has acquired it yet */
    uint64_t covered; /* the last submit that wrote all of it; 0: none */
};

struct layer_image_state {
    VkImageAspectFlags aspects;              /* or planes */
    uint64_t serial;                         /* of the last submit that has a step for it */
    struct layer_subresource subresources[]; /* by layer, level and aspect: layer_image_subresource */
};

enum layer_step_kind {
    LAYER_STEP_LAYOUT,   /* its layout changes, and perhaps its queue family */
    LAYER_STEP_WRITTEN,  /* some of it is written */
    LAYER_STEP_COVERED,  /* all of it is written */
    LAYER_STEP_VARIES,   /* its contents become undefined */
    LAYER_STEP_DISCARDED /* the same for all of it: none of it may be used */
};

struct layer_image_step {
    enum layer_step_kind kind;
    layer_resource object;         /* an image; with --verify=all also a buffer that is written or covered */
    VkDeviceSize offset, bytes;    /* of a buffer */
    VkImageSubresourceRange range; /* aspects of the image; color includes its planes */
    VkImageLayout layout;
    uint32_t from_family, to_family; /* VK_QUEUE_FAMILY_IGNORED: it stays */
};

/* While a command buffer is recorded. */
void layer_image_step(struct layer_cmdbuf *cb, VkImage image, enum layer_step_kind kind,
                      const VkImageSubresourceRange *range, VkImageLayout layout);
/* A region is written, perhaps all of its subresources. layerCount may be VK_REMAINING_ARRAY_LAYERS. */
void layer_image_step_region(struct layer_cmdbuf *cb, VkImage image, const VkImageSubresourceLayers *where,
                             VkOffset3D offset, VkExtent3D extent);
/* A range of a buffer is written, perhaps without gaps. With --verify=all only. */
void layer_image_step_buffer(struct layer_cmdbuf *cb, const struct layer_buffer *buffer, VkDeviceSize offset,
                             VkDeviceSize bytes, bool all);
/* The image barriers of vkCmdPipelineBarrier and vkCmdWaitEvents, in both forms. */
void layer_image_barriers(struct layer_cmdbuf *cb, uint32_t count, const VkImageMemoryBarrier *barriers);
void layer_image_dependency(struct layer_cmdbuf *cb, const VkDependencyInfo *info);
/* False when out of memory. */
bool layer_image_steps_append(struct layer_image_steps *steps, const struct layer_image_steps *more);

/* When it is submitted, under dev->submit.mutex. */
void layer_image_steps_apply(struct layer_device *dev, const struct layer_cmdbuf *cb, uint32_t family, uint64_t serial);

/* Shaders store through a view of the image in the current submit. Under dev->submit.mutex. */
void layer_image_stored(struct layer_image *image, const struct layer_view_range *view);

/* Another object over the same bytes was written: no submit before has covered the image. Under dev->submit.mutex. */
void layer_image_overwritten(struct layer_image *image);

/* The host changed the layout of the image, or wrote a region of it, without commands (layer/entry/host_copy.c). */
void layer_image_host_layout(struct layer_device *dev, VkImage image, const VkImageSubresourceRange *range,
                             VkImageLayout layout);
void layer_image_host_wrote(struct layer_device *dev, VkImage image, const VkImageSubresourceLayers *where,
                            VkOffset3D offset, VkExtent3D extent);
/* Whether the contents of the subresources are the same in every run. Without --verify=all: always true. */
bool layer_image_is_definite(struct layer_device *dev, VkImage image, const VkImageSubresourceLayers *where);

/* The state of an image, created by the first call; NULL: its format is not known, or out of memory. Under
 * dev->submit.mutex. */
struct layer_image_state *layer_image_state(struct layer_image *image);
/* aspect: one bit of state->aspects. */
struct layer_subresource *layer_image_subresource(const struct layer_image *image, struct layer_image_state *state,
                                                  VkImageAspectFlags aspect, uint32_t level, uint32_t array_layer);

#endif
