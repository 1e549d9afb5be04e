/* SPDX-License-Identifier: MIT */
/* address_space: answers from the kernel about this process's memory. Any thread. */
#ifndef LAP_BASE_PROCESS_ADDRESS_SPACE_H
#define LAP_BASE_PROCESS_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* True if all of [begin, begin + bytes) is private memory of no file, to read and write: no other process has a mapping
 * of these pages, and a page without storage reads as zeroes. False also where that is unknown (no /proc). */
bool lap_memory_is_plain(const void *begin, size_t bytes);

/* The same for addresses [begin, end), from a text like that of /proc/self/maps (proc_pid_maps(5)): for kernels before
 * Linux 6.11, which have no query for one address. */
bool lap_maps_say_plain(FILE *maps, uint64_t begin, uint64_t end);

#endif
