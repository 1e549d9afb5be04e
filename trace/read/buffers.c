/* SPDX-License-Identifier: MIT */
#include "trace/read/buffers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGN      16u
#define HUGE_BYTES ((size_t)2 << 20) /* memory from this size on is allocated in pages of this size */

void lap_buffers_init(struct lap_buffers *buffers)
{
    memset(buffers, 0, sizeof(*buffers));
    pthread_mutex_init(&buffers->mutex, NULL);
}

void lap_buffers_finish(struct lap_buffers *buffers)
{
    while (lap_buffers_free_one(buffers))
        ;
    pthread_mutex_destroy(&buffers->mutex);
}

/* Under the mutex. */
static struct lap_buffer take_spare(struct lap_buffers *buffers, unsigned i)
{
    struct lap_buffer buffer = buffers->spare[i];
    buffers->spare[i] = (struct lap_buffer){NULL, 0};
    buffers->spare_bytes -= buffer.capacity;
    return buffer;
}

/* The smallest one that is large enough and would not be mostly empty. */
static struct lap_buffer find_spare(struct lap_buffers *buffers, size_t bytes)
{
    const struct lap_buffer *spare = buffers->spare;
    unsigned best = LAP_BUFFERS_SPARE;
    for (unsigned i = 0; i < LAP_BUFFERS_SPARE; i++)
        if (spare[i].data && spare[i].capacity >= bytes && spare[i].capacity / 2 <= bytes &&
            (best == LAP_BUFFERS_SPARE || spare[i].capacity < spare[best].capacity))
            best = i;
    return best < LAP_BUFFERS_SPARE ? take_spare(buffers, best) : (struct lap_buffer){NULL, 0};
}

struct lap_buffer lap_buffers_take(struct lap_buffers *buffers, size_t bytes)
{
    pthread_mutex_lock(&buffers->mutex);
    struct lap_buffer buffer = find_spare(buffers, bytes);
    pthread_mutex_unlock(&buffers->mutex);
    if (buffer.data || bytes > PTRDIFF_MAX - ALIGN)
        return buffer;
    void *data = NULL;
    buffer.capacity = (bytes + ALIGN) & ~(size_t)(ALIGN - 1);
    if (posix_memalign(&data, bytes >= HUGE_BYTES ? HUGE_BYTES : ALIGN, buffer.capacity) != 0)
        return (struct lap_buffer){NULL, 0};
    if (bytes >= HUGE_BYTES)
        (void)madvise(data, buffer.capacity, MADV_HUGEPAGE); /* fewer faults, where the kernel has such pages */
    buffer.data = data;
    return buffer;
}

void lap_buffers_put(struct lap_buffers *buffers, struct lap_buffer buffer)
{
    unsigned at = 0;
    if (!buffer.data)
        return;
    pthread_mutex_lock(&buffers->mutex);
    for (unsigned i = 1; i < LAP_BUFFERS_SPARE; i++)
        if (buffers->spare[i].capacity < buffers->spare[at].capacity)
            at = i; /* the smallest one, or none */
    if (buffers->spare[at].capacity < buffer.capacity) {
        struct lap_buffer smallest = take_spare(buffers, at);
        buffers->spare[at] = buffer;
        buffers->spare_bytes += buffer.capacity;
        buffer = smallest;
    }
    pthread_mutex_unlock(&buffers->mutex);
    free(buffer.data);
}

uint64_t lap_buffers_spare(struct lap_buffers *buffers)
{
    pthread_mutex_lock(&buffers->mutex);
    uint64_t bytes = buffers->spare_bytes;
    pthread_mutex_unlock(&buffers->mutex);
    return bytes;
}

bool lap_buffers_free_one(struct lap_buffers *buffers)
{
    struct lap_buffer buffer = {NULL, 0};
    pthread_mutex_lock(&buffers->mutex);
    for (unsigned i = 0; i < LAP_BUFFERS_SPARE && !buffer.data; i++)
        if (buffers->spare[i].data)
            buffer = take_spare(buffers, i);
    pthread_mutex_unlock(&buffers->mutex);
    free(buffer.data);
    return buffer.data != NULL;
}
