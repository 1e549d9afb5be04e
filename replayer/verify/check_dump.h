/* SPDX-License-Identifier: MIT */
/*
 * check_dump: what a replay found at the checks of the trace, so that two replays can be compared: --dump-checks DIR
 * writes all bytes, --hashes FILE their hashes.
 *
 * DIR/checks.bin has the bytes of one check after the other, in rows without padding, and DIR/checks.ndjson a JSON
 * object a line for each:
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
 *
 * FILE has the same lines without offset and bytes, with hash and recorded: the XXH3 128 of the bytes that the replay
 * has, and of those that the recording had, as 32 hexadecimal digits. recorded and same are null where the recording
 * has no check: of a trace without any, each presented image has such a line.
 */
#ifndef LAP_REPLAYER_VERIFY_CHECK_DUMP_H
#define LAP_REPLAYER_VERIFY_CHECK_DUMP_H

#include "replayer/core/replay.h"
#include "replayer/resource/host_update.h"

struct replay_check_dump;

/* Makes the folder, too; NULL: no bytes. hashes: of the open file, which the dump closes; -1: none. LAP_ERROR_IO with a
 * sentence. *out_dump is NULL after a failure. */
enum lap_status replay_check_dump_create(const char *folder, int hashes,
                                         struct replay_check_dump **out_dump) LAP_MUST_CHECK;
/* Fails if any write failed. Sets *dump to NULL; takes NULL. */
enum lap_status replay_check_dump_finish(struct replay_check_dump **dump) LAP_MUST_CHECK;

/* The halves of the hashes of a check. */
struct replay_check_hashes {
    uint64_t found[2], recorded[2]; /* low, high */
    bool is_recorded;
};
bool replay_check_hashes_same(const struct replay_check_hashes *hashes);

/* Each writes one check; does nothing where dump is NULL. The first error is final: LAP_ERROR_IO or LAP_ERROR_MEMORY.
 */
enum lap_status replay_check_dump_present(struct replay *r, struct replay_check_dump *dump, uint64_t swapchain_index,
                                          uint32_t image_index, VkFormat format, VkExtent2D extent, const void *pixels,
                                          size_t bytes, const struct replay_check_hashes *hashes) LAP_MUST_CHECK;
enum lap_status replay_check_dump_buffer(struct replay *r, struct replay_check_dump *dump, uint64_t index, uint64_t at,
                                         const void *data, size_t bytes,
                                         const struct replay_check_hashes *hashes) LAP_MUST_CHECK;
enum lap_status replay_check_dump_image(struct replay *r, struct replay_check_dump *dump, uint64_t index,
                                        VkFormat format, const struct replay_rows_wanted *rows, const void *texels,
                                        const struct replay_check_hashes *hashes) LAP_MUST_CHECK;

#endif
