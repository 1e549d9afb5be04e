/* SPDX-License-Identifier: MIT */
/*
 * verify: compares the results of a replay with the hashes that `lapilli capture --verify` put into the trace. A
 * lapilliCheckPresent packet precedes its vkQueuePresentKHR, and waits for it.
 */
#ifndef LAP_REPLAYER_VERIFY_VERIFY_H
#define LAP_REPLAYER_VERIFY_VERIFY_H

#include "replayer/core/replay.h"
#include "replayer/resource/host_update.h"

/* Sets r->check when r->options.verify or hashes_file asks for it, and begins r->options.dump_dir. */
enum lap_status replay_check_create(struct replay *r) LAP_MUST_CHECK;
/* Ends the checks: LAP_ERROR_IO when a write to the dump failed (check_dump.h). */
enum lap_status replay_check_finish(struct replay *r) LAP_MUST_CHECK;
void replay_check_destroy(struct replay *r);

struct replay_check_summary {
    uint64_t checks, different;
    uint64_t within;  /* not the same, but within r->options.tolerance */
    uint64_t unclear; /* bytes as before, which the host may have changed (lapilliCheckStores); in no other count */
    uint64_t ignored; /* checks in r->options.ignored; they are in no other count */
    uint64_t
        skipped; /* impossible checks: the image's format or size can't be read back, or it was not presented (yet) */
    uint64_t first_frame;   /* of the first difference, counted from 1; 0: none */
    uint64_t first_packet;  /* of the program's last call then, as lapilli print has it */
    const char *first_kind; /* "present", "buffer", "image"; NULL: none */
    char first_object[40];  /* "VkBuffer:12" */
};
struct replay_check_summary replay_check_summary(const struct replay *r);

/* The results of checks since the last request, in the order in which they came: REPLAY_CHECK_RESULT_BYTES each
 * (docs/vm.md, "Checks"). They stay until the next request. NULL: there are none. */
#define REPLAY_CHECK_RESULT_BYTES 48u
const uint8_t *replay_check_results(struct replay *r, size_t *out_count);

/* Whether to leave out this check of an object (ignore_list.h). Call it once for each, in the order of the trace. */
bool replay_check_is_ignored(struct replay *r, enum gen_handle_type type, uint64_t index);

/* ---- verify_bytes.c: bytes that were recorded with the hashes ---- */

struct replay_check_bytes;
/* The location of r's; NULL: not requested. */
struct replay_check_bytes **replay_check_bytes_of(const struct replay *r);
void replay_check_bytes_destroy(struct replay_check_bytes *bytes); /* takes NULL */
/* Whether data is within so many steps of the recorded bytes with this hash, which it then frees. False also where
 * they are unknown. format VK_FORMAT_UNDEFINED: of a buffer. bytes may be NULL. */
bool replay_check_bytes_within(struct replay_check_bytes *bytes, uint64_t low, uint64_t high, VkFormat format,
                               VkImageAspectFlags aspect, const void *data, size_t size, uint32_t steps);
void replay_check_bytes_forget(struct replay_check_bytes *bytes, uint64_t low, uint64_t high);

/* Texels of an image with the recorded hash. */
struct replay_checked_image {
    uint64_t index; /* in the trace */
    VkFormat format;
    struct replay_rows_wanted rows;
    uint64_t low, high;
};
/* Compares; data has the rows without padding. */
enum lap_status replay_check_image(struct replay *r, const struct replay_checked_image *image,
                                   const void *data) LAP_MUST_CHECK;
/* Counts a check that is impossible; warns once, with the reason. */
enum lap_status replay_check_skip_image(struct replay *r, uint64_t index, const char *why) LAP_MUST_CHECK;

/* Whether the pixels of the next present of this swapchain are wanted. */
bool replay_check_wants_present(const struct replay *r, uint64_t swapchain_index, uint32_t image_index);

/* Checks the pixels of the image that is presented as `frame`. Ends the check that waited for it. pixels NULL: not
 * available. */
enum lap_status replay_check_present(struct replay *r, uint64_t swapchain_index, uint32_t image_index, uint64_t frame,
                                     VkFormat format, VkExtent2D extent, const void *pixels,
                                     size_t bytes) LAP_MUST_CHECK;
/* Call it after a present: drops the checks that waited for it, but not those of other presents. */
void replay_check_end_present(struct replay *r);

#endif
