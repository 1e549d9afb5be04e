/* SPDX-License-Identifier: MIT */
/*
 * bench: what the workloads share: clocks, samples, the JSON line that tests/bench/run.py reads, and commands that make
 * a recorder look at a whole buffer. A workload measures itself, around the calls that it is about and around whole
 * frames, so that starting a process, loading a driver and compiling shaders do not count.
 *
 * The first frames (BENCH_WARM_UP) are not measured: they pay for page faults and for what was uploaded before.
 * One struct bench belongs to one thread.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <time.h>

#include "tests/apps/common/app.h"

#define BENCH_WARM_UP 3u
#define BENCH_PAGE    4096u
#define MIB           ((VkDeviceSize)1 << 20)

/* Named series of samples, one a frame (or as many as the workload says). */
struct bench_series {
    const char *name;
    uint64_t *ns;
    uint32_t count, capacity;
};

struct bench_count {
    const char *name;
    uint64_t value;
};

struct bench {
    struct app *app;
    struct bench_series series[12];
    struct bench_count counts[12];
    uint32_t series_count, counts_count;
    uint32_t frame;                              /* number of the current one, warm-up included */
    uint64_t frame_start, thread_cpu, other_cpu; /* of the current frame */
};

static inline uint64_t bench_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t bench_now(void)
{
    return bench_clock(CLOCK_MONOTONIC);
}

/* A frame: begin, calls of bench_sample, end. End adds the samples "frame" (wall clock), "frame_thread_cpu" and
 * "frame_process_cpu". Frames of the warm-up leave no samples. */
bool bench_warming_up(const struct bench *bench);
uint32_t bench_frames(const struct bench *bench); /* how many to run, warm-up included */
void bench_frame_begin(struct bench *bench);
void bench_sample(struct bench *bench, const char *name, uint64_t ns);
void bench_frame_end(struct bench *bench);
/* A sample that belongs to no frame, warm-up or not. */
void bench_sample_once(struct bench *bench, const char *name, uint64_t ns);
/* Adds to the number called name, which begins as zero. Frames of the warm-up count as well. */
void bench_add(struct bench *bench, const char *name, uint64_t value);
/* Prints everything as one JSON line, with what the process's memory is at this moment, and frees the samples. */
void bench_print(struct bench *bench);

/* A sequence that follows from its seed alone; the state is never 0. */
static inline uint64_t bench_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return x * 0x2545f4914f6cdd1du;
}

/* The upper half of the product, which machines of 32 bits have no type for. */
static inline uint64_t bench_random_below(uint64_t *state, uint64_t limit)
{
    const uint64_t x = bench_random(state), mask = UINT32_MAX;
    uint64_t upper = (x >> 32) * (limit & mask) + ((x & mask) * (limit & mask) >> 32);
    uint64_t lower = (x & mask) * (limit >> 32) + (upper & mask);
    return (x >> 32) * (limit >> 32) + (upper >> 32) + (lower >> 32);
}

/* Gives every page content of its own that compresses well, in place of zeroes or pages that were never touched. */
void bench_fill_pages(void *memory, VkDeviceSize bytes);
/* bytes is a multiple of 8. */
void bench_fill_random(void *memory, size_t bytes, uint64_t *state);

/*
 * Compute work that could read all of a buffer and reads one word of it. The buffer is bound whole, as storage buffers
 * of at most maxStorageBufferRange, and which word is read is data: no recorder can know that the rest doesn't matter.
 * The device has next to nothing to do, so a recorder's own work is not hidden behind it.
 */
struct bench_reader {
    struct app_buffer result;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptor_pool;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkCommandBuffer commands; /* can be submitted again and again, done or not */
    VkFence fence;
};

/* Of bytes of the buffer from its begin. The buffer has VK_BUFFER_USAGE_STORAGE_BUFFER_BIT. */
void bench_reader_create(const struct app *app, struct bench_reader *reader, VkBuffer buffer, VkDeviceSize bytes);
void bench_reader_destroy(const struct app *app, struct bench_reader *reader);

/* A command buffer in the recording state that can be submitted again and again, done or not. */
VkCommandBuffer bench_commands_begin(const struct app *app);
VkFence bench_fence_create(const struct app *app);
/* Submits, and waits for the fence and resets it; adds the samples "submit" and "wait". */
void bench_submit_wait(struct bench *bench, VkCommandBuffer commands, VkFence fence);

#endif
