/* SPDX-License-Identifier: MIT */
/*
 * check_dump: --dump-checks DIR: writes the bytes that --verify checks, so that two replays of one trace can be
 * compared in detail. DIR/checks.bin has the bytes of one check after the other, in rows without padding, and
 * DIR/checks.ndjson a JSON object a line for each:
 *
 *   check        its number, from 1
 *   kind         "present", "buffer" or "image"
 *   frame        from 1, as messages count them
 *   packet       the ticket of the packet of the check
 *   object       "VkBuffer:12": type and index in the trace; of a present the swapchain
 *   offset, bytes   where in checks.bin
 *   same         whether it is as recorded present: image (number in the swapchain), format, width, height
 *   buffer:  at (the first byte's offset in the buffer)
 *   image:   format, aspect (VkImageAspectFlags), level, layer, slice, row, rows, offset_in_row, bytes_in_row
 */
#ifndef LAP_REPLAYER_VERIFY_CHECK_DUMP_H
#define LAP_REPLAYER_VERIFY_CHECK_DUMP_H

#include "replayer/core/replay.h"
#include "replayer/resource/host_update.h"

struct replay_check_dump;

/* Makes the folder, too. LAP_ERROR_IO with a sentence. *out_dump is NULL after a failure. */
enum lap_status replay_check_dump_create(const char *folder, struct replay_check_dump **out_dump) LAP_MUST_CHECK;
/* Fails if any write failed. Sets *dump to NULL; takes NULL. */
enum lap_status replay_check_dump_finish(struct replay_check_dump **dump) LAP_MUST_CHECK;

/* Each writes one check; does nothing where dump is NULL. The first error is final: LAP_ERROR_IO or LAP_ERROR_MEMORY.
 */
enum lap_status replay_check_dump_present(struct replay *r, struct replay_check_dump *dump, uint64_t swapchain_index,
                                          uint32_t image_index, VkFormat format, VkExtent2D extent, const void *pixels,
                                          size_t bytes, bool same) LAP_MUST_CHECK;
enum lap_status replay_check_dump_buffer(struct replay *r, struct replay_check_dump *dump, uint64_t index, uint64_t at,
                                         const void *data, size_t bytes, bool same) LAP_MUST_CHECK;
enum lap_status replay_check_dump_image(struct replay *r, struct replay_check_dump *dump, uint64_t index,
                                        VkFormat format, const struct replay_rows_wanted *rows, const void *texels,
                                        bool same) LAP_MUST_CHECK;

#endif
