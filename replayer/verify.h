/* SPDX-License-Identifier: MIT */
/*
 * verify: compares what a replay computes with the hashes that `lapilli capture --verify` put into the trace.
 * lapilliCheckPresent stands in front of the vkQueuePresentKHR that it belongs to, so it is kept until then.
 */
#ifndef LAP_REPLAYER_VERIFY_H
#define LAP_REPLAYER_VERIFY_H

#include "replayer/context.h"
#include "replayer/resource.h"

/* Sets r->check when r->options.verify asks for it, and begins r->options.dump_dir. */
enum lap_status replay_check_create(struct replay *r) LAP_MUST_CHECK;
/* Nothing more will be checked: LAP_ERROR_IO when not all could be written that was to be (dump.h). */
enum lap_status replay_check_finish(struct replay *r) LAP_MUST_CHECK;
void replay_check_destroy(struct replay *r);

struct replay_check_summary {
    uint64_t checks, different;
    uint64_t within;      /* that are not the same, but so within r->options.tolerance */
    uint64_t ignored;     /* checks that r->options.ignored has; they are in no other number */
    uint64_t skipped;     /* checks that could not be made: the image's format or size can't be read back, or it was not
                             presented (yet) */
    uint64_t first_frame; /* of the first difference, counted from 1; 0: none */
};
struct replay_check_summary replay_check_summary(const struct replay *r);

/* Whether this check of an object is to be left out (ignored.h): once for each, in the order of the trace. */
bool replay_check_is_ignored(struct replay *r, enum gen_handle_type type, uint64_t index);

/* ---- verify_bytes.c: what was recorded beside the hashes ---- */

struct replay_check_bytes;
/* Where r's are; NULL: nobody asks for them. */
struct replay_check_bytes **replay_check_kept(const struct replay *r);
void replay_check_bytes_destroy(struct replay_check_bytes *bytes); /* takes NULL */
/* Whether data is within so many steps of the bytes with this hash, which are then forgotten. False also where they are
 * not known. format VK_FORMAT_UNDEFINED: of a buffer. bytes may be NULL. */
bool replay_check_bytes_within(struct replay_check_bytes *bytes, uint64_t low, uint64_t high, VkFormat format,
                               VkImageAspectFlags aspect, const void *data, size_t size, uint32_t steps);
void replay_check_bytes_forget(struct replay_check_bytes *bytes, uint64_t low, uint64_t high);

/* Whether the trace was recorded with capture --verify=all, and its checks are made. */
bool replay_check_reads_all(const struct replay *r);
/* verify_texels.c. Then images are created so that they can be copied from, where the driver has such. */
void replay_check_need_usage(const struct replay *r, const struct replay_device *dev, VkImageCreateInfo *info);

/* Texels of an image that are to have this hash. */
struct replay_checked_image {
    uint64_t index; /* in the trace */
    VkFormat format;
    struct replay_rows_wanted rows;
    uint64_t low, high;
};
/* Compares; data has the rows without padding. */
enum lap_status replay_check_image(struct replay *r, const struct replay_checked_image *image,
                                   const void *data) LAP_MUST_CHECK;
/* It can't be compared; says why, once. */
enum lap_status replay_check_skip_image(struct replay *r, uint64_t index, const char *why) LAP_MUST_CHECK;

/* Whether the next present of this swapchain has a check. */
bool replay_check_wants_present(const struct replay *r, uint64_t swapchain_index, uint32_t image_index);

/* The pixels of the image that is presented as `frame`. Ends the check that waited for it. pixels NULL: they can't be
 * had. */
enum lap_status replay_check_present(struct replay *r, uint64_t swapchain_index, uint32_t image_index, uint64_t frame,
                                     VkFormat format, VkExtent2D extent, const void *pixels,
                                     size_t bytes) LAP_MUST_CHECK;
/* After a present: forgets the checks that waited for it. Those of other presents go on waiting. */
void replay_check_end_present(struct replay *r);

#endif
