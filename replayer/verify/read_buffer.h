/* SPDX-License-Identifier: MIT */
/*
 * read_buffer: reads bytes of a replay's buffers when all submitted work is done. One thread.
 */
#ifndef LAP_REPLAYER_VERIFY_READ_BUFFER_H
#define LAP_REPLAYER_VERIFY_READ_BUFFER_H

#include "replayer/core/replay.h"

struct replay_buffer;
struct replay_device;

/* *out_data is valid until the next reading. The bytes are inside of the buffer. LAP_ERROR_UNSUPPORTED,
 * LAP_ERROR_MEMORY, LAP_ERROR_REPLAY. */
enum lap_status replay_read_buffer_of(struct replay *r, struct replay_device *dev, VkBuffer buffer,
                                      const struct replay_buffer *record, uint64_t offset, uint64_t bytes,
                                      const void **out_data) LAP_MUST_CHECK;

/* The same by the buffer's number. LAP_ERROR_UNSUPPORTED, with a clause that says why of "it": it is not alive, or has
 * no such bytes. */
enum lap_status replay_read_buffer(struct replay *r, uint64_t index, uint64_t offset, uint64_t bytes,
                                   const void **out_data) LAP_MUST_CHECK;

/* Gives bytes of a buffer as they were recorded, with its device addresses, in pieces. offset: a multiple of 4; the
 * bytes are inside. LAP_ERROR_UNSUPPORTED with such a clause; others are `put`'s. */
enum lap_status replay_read_recorded(struct replay *r, uint64_t index, uint64_t offset, uint64_t bytes,
                                     enum lap_status (*put)(void *user, const void *data, uint64_t bytes),
                                     void *user) LAP_MUST_CHECK;

/* Writes the bytes of --buffer to stdout. */
enum lap_status replay_write_buffer(struct replay *r) LAP_MUST_CHECK;

#endif
