/* SPDX-License-Identifier: MIT */
/* host_update: rows of linear images for host writes and reads (host_update.c). One thread. */
#ifndef LAP_REPLAYER_RESOURCE_HOST_UPDATE_H
#define LAP_REPLAYER_RESOURCE_HOST_UPDATE_H

#include "replayer/memory/resource.h"

/* Bytes at the same offset of consecutive rows of a linear image. */
struct replay_rows_wanted {
    VkImageAspectFlags aspect;
    uint32_t mip_level, array_layer, slice, row, row_count; /* row_count: at least 1 */
    uint64_t offset_in_row, bytes_in_row;
};
struct replay_rows {
    uint64_t index; /* of the image in the trace */
    const struct replay_memory_place *place;
    struct replay_overlay_buffer *bytes; /* NULL: the place is host-visible. Else a buffer over the place */
    VkDeviceSize offset, pitch;          /* of the first row's bytes in the place; distance of rows */
};
/* Finds the rows on the replay device. Fails where the image does not have them. */
enum lap_status replay_image_rows(struct replay *r, struct replay_device *dev, VkImage image,
                                  const struct replay_rows_wanted *wanted, struct replay_rows *out) LAP_MUST_CHECK;
/* Reads `bytes` from the first row on, as the device left them. *out_data is valid until the next call. */
enum lap_status replay_rows_read(struct replay *r, struct replay_device *dev, const struct replay_rows *rows,
                                 VkDeviceSize bytes, const void **out_data) LAP_MUST_CHECK;

#endif
