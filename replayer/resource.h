/* SPDX-License-Identifier: MIT */
/*
 * resource: what a replay knows about its buffers and images (replay_object.record). buffer.c and image.c make the
 * records, group.c, update.c, swapchain.c and verify.c use them.
 */
#ifndef LAP_REPLAYER_RESOURCE_H
#define LAP_REPLAYER_RESOURCE_H

#include "replayer/byte_buffer.h"

struct replay_sparse;           /* sparse.c */
struct replay_buffer_addresses; /* address.c */

#define REPLAY_MAX_ROUNDED 8

struct replay_buffer {
    VkDeviceSize bytes; /* as created */
    struct replay_place place;
    struct replay_staged staged;
    bool at_address;                           /* created for the address that it had: wants memory that was, too */
    struct replay_sparse *sparse;              /* NULL unless vkQueueBindSparse gives it memory */
    struct replay_buffer_addresses *addresses; /* its address, and those in it; NULL: neither is known */
    /* Where depths were copied to that were computed with another precision (follow.h). */
    uint32_t rounded_count;
    struct {
        VkDeviceSize begin, end;
    } rounded[REPLAY_MAX_ROUNDED];
};

#define REPLAY_MAX_PLANES 3

struct replay_image {
    VkImageCreateInfo info;                             /* as given to the driver; pointers cleared */
    VkFormat recorded_format;                           /* info.format stands for it (format.h) */
    struct replay_place places[REPLAY_MAX_PLANES];      /* [0] unless disjoint */
    struct replay_byte_buffer bytes[REPLAY_MAX_PLANES]; /* over the place, where the host can't see it */
    bool bound;
    struct replay_sparse *sparse; /* as in replay_buffer */
    bool of_swapchain; /* the image belongs to a virtual swapchain: neither image nor memory are this record's */
};

/* The record of a live buffer or image; NULL when there is none. *out_index (may be NULL): its index in the trace. */
struct replay_buffer *replay_buffer_of(struct replay *r, VkBuffer buffer, uint64_t *out_index);
struct replay_image *replay_image_of(struct replay *r, VkImage image, uint64_t *out_index);

/* Such bytes are not compared with what was recorded. Where there are more runs than can be kept, those between them
 * count too. */
void replay_buffer_rounded(struct replay_buffer *buffer, VkDeviceSize offset, VkDeviceSize bytes);
bool replay_buffer_is_rounded(const struct replay_buffer *buffer, VkDeviceSize offset, VkDeviceSize bytes);

/* Makes the object known with a record that is zeroed (of a buffer: but for what rounded_count says is not there). On
 * failure nothing is; the driver's object is the caller's. */
enum lap_status replay_buffer_add(struct replay *r, struct replay_device *dev, uint64_t index, VkBuffer buffer,
                                  struct replay_buffer **out_record) LAP_MUST_CHECK;
enum lap_status replay_image_add(struct replay *r, struct replay_device *dev, uint64_t index, VkImage image,
                                 struct replay_image **out_record) LAP_MUST_CHECK;
/* The record of an object that is removed from its table, or NULL. */
void replay_buffer_free(struct replay *r, struct replay_buffer *record);
void replay_image_free(struct replay *r, struct replay_image *record);

/* The driver's object for a decoded create info, which becomes what this host is given: without what only the recorded
 * machine had, with the usage that the replay's own copies need. */
VkResult replay_buffer_create(struct replay_device *dev, VkBufferCreateInfo *info, VkBuffer *out_buffer);
VkResult replay_image_create(struct replay_device *dev, VkImageCreateInfo *info, VkImage *out_image);
/* What became of it: replay_result, with a sentence that names the (recorded) format. */
enum lap_status replay_image_result(struct replay *r, const struct gen_args_vkCreateImage *args,
                                    VkResult result) LAP_MUST_CHECK;
/* image_support.c: what the driver says of such images (`info` is adapted), in a sentence with its place;
 * LAP_ERROR_UNSUPPORTED where it promises none. Drivers make more than they promise, so this is for a report and keeps
 * no replay from trying. LAP_OK also where it can't be asked. */
enum lap_status replay_image_supported(struct replay *r, const struct replay_device *dev,
                                       const VkImageCreateInfo *info) LAP_MUST_CHECK;
/* Whether the driver has images like this one for all of its usage, as far as one can ask without its chain. */
bool replay_image_has_usage(const struct replay_device *dev, const VkImageCreateInfo *info);
/* image_support.c: the same in a replay, which goes on: once for each kind of image a warning that names the first. */
void replay_image_warn(struct replay *r, struct replay_device *dev, uint64_t index, const VkImageCreateInfo *info);
/* Whether memory may be bound to this plane (VkImageAspectFlagBits of a disjoint image), or for 0 to all of it. */
bool replay_plane_is_valid(const struct replay_device *dev, const VkImageCreateInfo *info, VkImageAspectFlags plane);

/* Writes what the host wrote, wherever the buffer lies (update.c). */
enum lap_status replay_buffer_write(struct replay *r, struct replay_device *dev, VkBuffer buffer,
                                    struct replay_buffer *record, VkDeviceSize offset, const void *data,
                                    size_t bytes) LAP_MUST_CHECK;

/* Bytes that lie at the same place of consecutive rows of a linear image. */
struct replay_rows_wanted {
    VkImageAspectFlags aspect;
    uint32_t mip_level, array_layer, slice, row, row_count; /* row_count: at least 1 */
    uint64_t offset_in_row, bytes_in_row;
};
struct replay_rows {
    uint64_t index; /* of the image in the trace */
    const struct replay_place *place;
    struct replay_byte_buffer *bytes; /* NULL: the host sees the place. Else it is there, and stands for it */
    VkDeviceSize offset, pitch;       /* of the first row's bytes in the place; from row to row */
};
/* Where they lie on this host (update.c); an error when the image does not have them. */
enum lap_status replay_image_rows(struct replay *r, struct replay_device *dev, VkImage image,
                                  const struct replay_rows_wanted *wanted, struct replay_rows *out) LAP_MUST_CHECK;
/* `bytes` from the first of the rows on, as the device left them, in memory of the host: until the next such call. */
enum lap_status replay_rows_read(struct replay *r, struct replay_device *dev, const struct replay_rows *rows,
                                 VkDeviceSize bytes, const void **out_data) LAP_MUST_CHECK;

/* Takes the structures of these types out of a pNext chain; head is where the chain hangs (the decoder's own memory).
 */
void replay_chain_drop(const void **head, const VkStructureType *types, size_t count);
/* The structure of a type in a chain; NULL when there is none. */
const void *replay_chain_find(const void *chain, VkStructureType type);

#endif
