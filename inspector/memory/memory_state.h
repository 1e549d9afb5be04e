/* SPDX-License-Identifier: MIT */
/*
 * memory_state: the contents of a trace's buffers and images at a place, from the trace alone: bytes that the host
 * wrote, fills by commands, and copies of both. Bytes that the device computed are not known, but the command that may
 * have written them last is. One pass notes the writer of each range, and copies no bytes; an answer reads them.
 *
 * Buffers in the same memory share its bytes. An image loses its contents when a write to something else reaches its
 * memory, and a write to an image makes the bytes of that memory unknown. Bytes that nobody wrote are zero, as in a
 * replay.
 *
 * One thread.
 */
#ifndef LAP_INSPECTOR_MEMORY_STATE_H
#define LAP_INSPECTOR_MEMORY_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/status.h"
#include "inspector/analysis/trace_pass.h"
#include "inspector/memory/store.h"
#include "inspector/position/position.h"
#include "trace/read/reader.h"
#include "vulkan/texel/texels.h"

struct memory_state;

struct memory_wish {
    const struct position *until;                                  /* not of a packet; NULL: last_ticket alone */
    uint64_t last_ticket;                                          /* 0: to the end of the trace */
    void (*progress)(void *user, const struct lap_packet *packet); /* may be NULL */
    /* Sees the state at these calls: a list that ends with 0, or NULL. */
    const uint16_t *calls;
    enum lap_status (*see)(void *user, struct memory_state *state, const struct trace_call *call);
    void *user;
};

/* If packets were read before an error, *out is usable, and the error is returned. On other failures *out is NULL. The
 * reader outlives the state. */
enum lap_status memory_state_find(const struct lap_reader *trace, const struct memory_wish *wish,
                                  struct memory_state **out) LAP_MUST_CHECK;
void memory_state_free(struct memory_state **state); /* also for NULL */

/* How many runs of bytes are followed. */
size_t memory_state_segments(const struct memory_state *state);

/* ---- answers ---- */

enum memory_known {
    MEMORY_KNOWN,       /* these are the bytes */
    MEMORY_NOBODY,      /* nobody wrote them: zeroes */
    MEMORY_BY_DEVICE,   /* a command may have written them */
    MEMORY_NOT_FOLLOWED /* the bytes are not known */
};

struct memory_part {
    uint64_t begin, end; /* of the range that was asked for */
    enum memory_known known;
    const struct memory_event *by, *copy; /* NULL: none. They live as long as the state */
};

struct memory_answer {
    struct memory_part *parts; /* in a row, without gaps */
    size_t count, capacity;
    const char *not_followed; /* the reason why the object is not followed; NULL: it is */
};
void memory_answer_finish(struct memory_answer *answer);

/* False: no buffer of this number lives. */
bool memory_buffer_size(const struct memory_state *state, uint64_t buffer, uint64_t *out);
/* Without pointers. NULL: no image of this number lives, or it is a swapchain's. */
const VkImageCreateInfo *memory_image_info(const struct memory_state *state, uint64_t image);

/* out: NULL, or where the bytes go; zeroes where they are not known. The range lies in the buffer. The answer is
 * empty before, or of an earlier call. */
enum lap_status memory_of_buffer(struct memory_state *state, uint64_t buffer, uint64_t offset, uint64_t bytes,
                                 uint8_t *out, struct memory_answer *answer) LAP_MUST_CHECK;

/* The bytes of one aspect or plane of a level of a layer, with all its slices, as copies pack them; 0: the image has no
 * such subresource, or its format is not known. */
uint64_t memory_image_bytes(const struct memory_state *state, uint64_t image, VkImageAspectFlags aspect, uint32_t level,
                            uint32_t layer);
/* The texels of that, those of a plane where it is one. False where it has no bytes. */
bool memory_image_texels(const struct memory_state *state, uint64_t image, VkImageAspectFlags aspect, uint32_t level,
                         uint32_t layer, struct lap_texels *out);
/* All of these. */
enum lap_status memory_of_image(struct memory_state *state, uint64_t image, VkImageAspectFlags aspect, uint32_t level,
                                uint32_t layer, uint8_t *out, struct memory_answer *answer) LAP_MUST_CHECK;

#endif
