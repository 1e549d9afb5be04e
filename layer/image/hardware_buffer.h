/* SPDX-License-Identifier: MIT */
/*
 * hardware_buffer: an AHardwareBuffer of Android, which is the memory of a payload (payload.h). Anything may fill it: a
 * camera, another process, the CPU. Its bytes have the driver's own order, so nobody can map them; but the system gives
 * the CPU rows of texels where the buffer's usage allows reading (AHardwareBuffer_lock). The layer copies these into
 * pages of its own, row behind row, and compares them as mapped memory. Not for systems without
 * layer_hardware_exists(). Any thread.
 */
#ifndef LAP_LAYER_IMAGE_HARDWARE_BUFFER_H
#define LAP_LAYER_IMAGE_HARDWARE_BUFFER_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

struct AHardwareBuffer;
struct layer_hardware_buffer;

/* Bytes from row to row, without padding, of an image that is created for such a buffer. 0: it is for something else,
 * or has more than rows of texels. Which buffer it will be is not known yet. */
uint64_t layer_hardware_image_pitch(const VkImageCreateInfo *info);

/* Keeps a reference to the buffer. NULL: out of memory. */
struct layer_hardware_buffer *layer_hardware_buffer_hold(struct AHardwareBuffer *buffer);
void layer_hardware_buffer_drop(struct layer_hardware_buffer **held); /* NULL is fine */
/* Gives back a reference that a call of the driver returned. */
void layer_hardware_buffer_release(struct AHardwareBuffer *buffer);
bool layer_hardware_buffer_is(const struct layer_hardware_buffer *held, const struct AHardwareBuffer *buffer);

/* Pages that have the buffer's rows, without padding between them, after each fetch; `bytes` of them, the rest zeroes.
 * They live as long as `held`. NULL: the CPU can't read it. */
void *layer_hardware_buffer_pages(struct layer_hardware_buffer *held, uint64_t bytes);
/* Bytes of all rows; 0: nobody knows. */
uint64_t layer_hardware_buffer_bytes(const struct layer_hardware_buffer *held);
/* Whether the pages have the rows of an image with this pitch (layer_hardware_image_pitch): it is the whole buffer. */
bool layer_hardware_buffer_has_rows(const struct layer_hardware_buffer *held, const VkImageCreateInfo *info,
                                    uint64_t pitch);

/* The buffer may have changed. False: its last fetch failed, and the pages have what was there before. */
bool layer_hardware_buffer_look(struct layer_hardware_buffer *held);
/* Copies the buffer to the pages if it may have changed (lap_mem_fetch_fn). */
void layer_hardware_buffer_fetch(void *held);

#endif
