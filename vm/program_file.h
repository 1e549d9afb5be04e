/* SPDX-License-Identifier: MIT */
/*
 * program_file: replay programs as files (.lapvm); docs/vm.md has the format. A file may have the bytes of resources,
 * or some of them. Trusts no byte; what the code does is for vm/verify.h.
 */
#ifndef LAP_VM_PROGRAM_FILE_H
#define LAP_VM_PROGRAM_FILE_H

#include "base/status.h"
#include "vm/program.h"

#define LAP_VM_FILE_MAGIC         "LAPPROG\n" /* 8 bytes at offset 0 */
#define LAP_VM_FILE_VERSION       1u
#define LAP_VM_FILE_SECTION_LIMIT (UINT64_C(1) << 31) /* bytes of all sections in memory */

/* Where the bytes of resources come from, for a file that shall have them. */
struct lap_vm_resource_bytes {
    /* LAP_END: this one stays outside of the file. The bytes stay until the next request. */
    enum lap_status (*get)(void *user, size_t number, const uint8_t **out_data);
    void *user;
};

/* Writes to an open, empty file, which stays open. bytes: NULL: no resource's. LAP_ERROR_IO, LAP_ERROR_MEMORY,
 * LAP_ERROR_LIMIT; errors of `get`. */
enum lap_status lap_vm_program_write(const struct lap_vm_program *program, const struct lap_vm_resource_bytes *bytes,
                                     int fd) LAP_MUST_CHECK;

/* fd: open for reading; stays the caller's, and open as long as resources are read. LAP_ERROR_FORMAT, LAP_ERROR_IO,
 * LAP_ERROR_MEMORY leave *out as lap_vm_program_release leaves it. */
enum lap_status lap_vm_program_read(int fd, struct lap_vm_program *out) LAP_MUST_CHECK;
void lap_vm_program_release(struct lap_vm_program *program); /* one that was read, or a zeroed one */

/* Of a program that was read from fd: whether the file has this resource; its bytes, `to` with room for them
 * (LAP_ERROR_FORMAT: others than the hash says); and as they are in the file, packed (vm/resources.h), the caller's to
 * free. */
bool lap_vm_program_has(const struct lap_vm_program *program, size_t number);
enum lap_status lap_vm_program_get(const struct lap_vm_program *program, int fd, size_t number,
                                   uint8_t *to) LAP_MUST_CHECK;
enum lap_status lap_vm_program_get_packed(const struct lap_vm_program *program, int fd, size_t number, uint8_t **out,
                                          size_t *out_bytes) LAP_MUST_CHECK;

/* Copies a program that was read from `from`, without the bytes of resources, to an open, empty file. LAP_ERROR_IO,
 * LAP_ERROR_MEMORY, LAP_ERROR_FORMAT. */
enum lap_status lap_vm_program_strip(const struct lap_vm_program *program, int from, int to) LAP_MUST_CHECK;

#endif
