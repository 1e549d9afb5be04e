/* SPDX-License-Identifier: MIT */
/*
 * floor: what Linux alone takes to find stores with a write watch of the best kind it has (userfaultfd in WP_ASYNC mode
 * and PAGEMAP_SCAN), in a process where nobody else watches that memory and nobody looks at what was found. A recorder
 * that watches so can't be faster.
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include "bench.h"

/* Stores what a frame stores; how long the stores took, in nanoseconds. */
typedef uint64_t (*bench_store_fn)(void *context, uint8_t *memory, size_t bytes);

/* In memory of its own, of which all pages have contents: adds the samples "floor_plain" (the stores without a watch),
 * and where the kernel can do it "floor_watched" (the same with one) and "floor_scan" (finding and protecting them). */
void bench_kernel_floor(struct bench *bench, size_t bytes, uint32_t rounds, bench_store_fn store, void *context);

#endif
