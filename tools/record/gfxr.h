/* SPDX-License-Identifier: MIT */
/*
 * gfxr: what a file of gfxreconstruct holds, by one walk over its blocks: whether it is whole, how many calls of some
 * kinds it has, and where it was recorded. It looks into no call but vkCreateDevice. The file is a stranger's, so the
 * walk is for a process in a sandbox. One thread.
 *
 * The file is little-endian: "GFXR", major, minor and a count as u32, so many pairs of u32 (1: the compression), and
 * blocks: u64 size, u32 kind, bytes. In a compressed block the bytes behind its head are.
 */
#ifndef LAP_TOOLS_RECORD_GFXR_H
#define LAP_TOOLS_RECORD_GFXR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define LAP_GFXR_NAME_BYTES 257u /* of a device, with the zero */
#define LAP_GFXR_HASH_BYTES 33u  /* of a hash, as text */

enum lap_gfxr_compression { LAP_GFXR_NONE, LAP_GFXR_LZ4, LAP_GFXR_ZLIB, LAP_GFXR_ZSTD, LAP_GFXR_COMPRESSIONS };

/* How often the program made calls; each draw counts where it is recorded, however often it is submitted. */
struct lap_gfxr_counts {
    uint64_t presents, submits, draws, dispatches; /* dispatches: ray traces, too */
};

struct lap_gfxr {
    uint32_t major, minor;
    uint32_t compression; /* enum lap_gfxr_compression, or a number from later on */
    bool whole;           /* no block is cut. That blocks are missing behind the last one can't be seen */
    uint64_t bytes;       /* of the file */
    uint64_t cut_at;      /* where the block begins that is cut */
    uint64_t blocks;      /* that are whole */
    uint64_t unknown;     /* of these, the ones of unknown kinds */
    uint64_t calls;       /* of Vulkan */
    struct lap_gfxr_counts counts;
    /* Of the first device that was created; "" where the file does not say it. Other characters than printable ASCII
     * are '?'. */
    char device[LAP_GFXR_NAME_BYTES];
    bool blind;                     /* which GPU that was could not be looked up: compression of another kind */
    char recorder[64];              /* the version of gfxreconstruct; "" as above */
    char hash[LAP_GFXR_HASH_BYTES]; /* XXH3 of 128 bits, as xxh128sum prints it */
};

/* Reads an open file from where it stands to its end, which may be cut anywhere. progress (may be NULL) is told now and
 * then how many bytes it has read. LAP_ERROR_FORMAT: it is no such file; LAP_ERROR_IO, LAP_ERROR_MEMORY. */
enum lap_status lap_gfxr_walk(int fd, void (*progress)(void *user, uint64_t done), void *user,
                              struct lap_gfxr *out) LAP_MUST_CHECK;

/* "none", "LZ4", "zlib", "zstd", "unknown". */
const char *lap_gfxr_compression_name(uint32_t compression);

#endif
