/* SPDX-License-Identifier: MIT */
/*
 * buffers: memory that chunks are unpacked into. Some returned buffers are kept for reuse: new memory comes from the
 * kernel page by page, and cleared. Any thread.
 */
#ifndef LAP_TRACE_READ_BUFFERS_H
#define LAP_TRACE_READ_BUFFERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAP_BUFFERS_SPARE 6u

struct lap_buffer {
    uint8_t *data; /* aligned for anything; NULL: none */
    size_t capacity;
};

struct lap_buffers {
    pthread_mutex_t mutex;
    struct lap_buffer spare[LAP_BUFFERS_SPARE];
    uint64_t spare_bytes;
};

void lap_buffers_init(struct lap_buffers *buffers);
void lap_buffers_finish(struct lap_buffers *buffers);

/* At least this size, uninitialised; data is NULL when there is no memory. */
struct lap_buffer lap_buffers_take(struct lap_buffers *buffers, size_t bytes);
/* Gives one back; also one without data. */
void lap_buffers_put(struct lap_buffers *buffers, struct lap_buffer buffer);
/* The bytes that are kept for reuse. Frees some of them: false when there are none. */
uint64_t lap_buffers_spare(struct lap_buffers *buffers);
bool lap_buffers_free_one(struct lap_buffers *buffers);

#endif
