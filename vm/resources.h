/* SPDX-License-Identifier: MIT */
/*
 * resources: the bytes of resources outside of programs: packed as they travel, and in a folder with a file for each
 * (docs/vm.md). Nothing here trusts the bytes: those that are unpacked have the resource's hash. A folder is used by
 * one thread at a time, and by any number of processes.
 */
#ifndef LAP_VM_RESOURCES_H
#define LAP_VM_RESOURCES_H

#include "base/status.h"
#include "vm/program.h"

/* Packs with Zstandard, or leaves them as they are where that makes no fewer bytes. *out is the caller's to free, and
 * NULL behind LAP_ERROR_MEMORY. */
enum lap_status lap_vm_resource_pack(const uint8_t *data, uint64_t bytes, uint8_t **out,
                                     size_t *out_bytes) LAP_MUST_CHECK;

/* to: room for resource->bytes. LAP_ERROR_FORMAT: these are not its bytes. */
enum lap_status lap_vm_resource_unpack(const struct lap_vm_resource *resource, const uint8_t *packed,
                                       size_t packed_bytes, uint8_t *to) LAP_MUST_CHECK;

struct lap_vm_folder;

/* An existing folder. most: bytes of the files in it, behind each put; those that were used least recently go.
 * UINT64_MAX: nothing goes. LAP_ERROR_IO, LAP_ERROR_MEMORY leave *out NULL. */
enum lap_status lap_vm_folder_open(const char *path, uint64_t most, struct lap_vm_folder **out) LAP_MUST_CHECK;
void lap_vm_folder_close(struct lap_vm_folder **folder); /* also for NULL */

/* The packed bytes, the caller's to free; they may be others than the resource's. LAP_END: it is not there. */
enum lap_status lap_vm_folder_get(struct lap_vm_folder *folder, const struct lap_vm_resource *resource, uint8_t **out,
                                  size_t *out_bytes) LAP_MUST_CHECK;
bool lap_vm_folder_has(const struct lap_vm_folder *folder, const struct lap_vm_resource *resource);

/* Puts a file there when it is whole; one that is there stays. More than `most` bytes are not kept. */
enum lap_status lap_vm_folder_put(struct lap_vm_folder *folder, const struct lap_vm_resource *resource,
                                  const uint8_t *packed, size_t bytes) LAP_MUST_CHECK;
void lap_vm_folder_remove(struct lap_vm_folder *folder, const struct lap_vm_resource *resource);

#endif
