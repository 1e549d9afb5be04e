/* SPDX-License-Identifier: MIT */
/* address_space: what the kernel says about this process's memory. Any thread. */
#ifndef LAP_BASE_ADDRESS_SPACE_H
#define LAP_BASE_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* True if all of [begin, begin + bytes) is private memory of no file, to read and write: nobody else has a mapping of
 * these pages, and one that has no storage reads as zeroes. False also where that can't be found out (no /proc). */
bool lap_memory_is_plain(const void *begin, size_t bytes);

/* The same for addresses [begin, end), from a text like that of /proc/self/maps (proc_pid_maps(5)): the way for kernels
 * before Linux 6.11, which can't be asked about one address. */
bool lap_maps_say_plain(FILE *maps, uint64_t begin, uint64_t end);

#endif
