/* SPDX-License-Identifier: MIT */
/*
 * read_image: reads texels of a replay's images when all submitted work is done, as they would be in the format that
 * was recorded. One thread.
 */
#ifndef LAP_REPLAYER_VERIFY_READ_IMAGE_H
#define LAP_REPLAYER_VERIFY_READ_IMAGE_H

#include "inspector/state/contents.h"
#include "replayer/core/replay.h"
#include "replayer/format/texel_convert.h"
#include "vulkan/texel/texels.h"

struct replay_image;
struct replay_queue;

/* Waits until everything that was submitted is done, on all devices. LAP_ERROR_REPLAY: some of it waits for later
 * packets of the trace. */
enum lap_status replay_settle(struct replay *r) LAP_MUST_CHECK;

struct replay_image_reading {
    struct replay_device *dev;
    VkImage image;
    const struct replay_image *record;
    const struct replay_queue *queue;
    struct lap_texels texels; /* of the recorded format; of a volume all slices of the level */
    uint32_t slice;           /* of a volume: the layer that was asked for */
    VkImageLayout layout;
    enum replay_format_conversion conversion; /* from the format here to the recorded one */
};

/* LAP_ERROR_UNSUPPORTED: it can't be read; the message is a clause that says why of "it". */
enum lap_status replay_image_reading_plan(struct replay *r, const struct content *what,
                                          struct replay_image_reading *out) LAP_MUST_CHECK;

/* Reads texels.rows rows without padding. *out_data is valid until the next reading, and until the replay's arena is
 * reset. LAP_ERROR_UNSUPPORTED, LAP_ERROR_MEMORY: the same kind of clause. */
enum lap_status replay_image_reading_take(struct replay *r, const struct replay_image_reading *reading,
                                          const void **out_data) LAP_MUST_CHECK;

#endif
