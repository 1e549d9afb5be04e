/* SPDX-License-Identifier: MIT */
/*
 * blocks: a trace that is played where it does not lie (docs/vm.md, "Traces on another machine"): a list of the hashes
 * of its blocks travels in place of a program, and the blocks as resources, when somebody reads them.
 */
#ifndef LAP_VM_BLOCKS_H
#define LAP_VM_BLOCKS_H

#include <stdbool.h>

#include "base/status.h"
#include "vm/program.h"

#define LAP_VM_BLOCK_BYTES (UINT32_C(1) << 18)

struct lap_vm_blocks {
    uint64_t bytes;                    /* of the trace */
    struct lap_vm_resource *resources; /* of LAP_VM_BLOCK_BYTES each, the last one of the rest */
    size_t count;
};

/* Whether a file begins as a list of blocks does. */
bool lap_vm_blocks_are_in(const char *path);

/* Of an open trace: reads all of it. LAP_ERROR_IO, LAP_ERROR_MEMORY. */
enum lap_status lap_vm_blocks_make(int fd, struct lap_vm_blocks *out) LAP_MUST_CHECK;
/* The list as a file; *out is the caller's to free. LAP_ERROR_MEMORY. */
enum lap_status lap_vm_blocks_store(const struct lap_vm_blocks *blocks, uint8_t **out,
                                    size_t *out_bytes) LAP_MUST_CHECK;
/* LAP_ERROR_FORMAT: it is no list. */
enum lap_status lap_vm_blocks_load(const char *path, struct lap_vm_blocks *out) LAP_MUST_CHECK;
void lap_vm_blocks_release(struct lap_vm_blocks *blocks);

#endif
