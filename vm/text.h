/* SPDX-License-Identifier: MIT */
/*
 * text: replay programs as text and back (lapilli disasm, lapilli asm); docs/vm.md has the form. What was written is
 * read as the same program, bit by bit. One thread.
 */
#ifndef LAP_VM_TEXT_H
#define LAP_VM_TEXT_H

#include <stdio.h>

#include "base/status.h"
#include "vm/program.h"

/* LAP_ERROR_MEMORY. Failures of `out` stay in it. */
enum lap_status lap_vm_text_write(const struct lap_vm_program *program, FILE *out) LAP_MUST_CHECK;

/* LAP_ERROR_FORMAT, with the number of the line; LAP_ERROR_IO, LAP_ERROR_MEMORY. *out is released by
 * lap_vm_text_release, also after an error. */
enum lap_status lap_vm_text_read(FILE *in, struct lap_vm_program *out) LAP_MUST_CHECK;
void lap_vm_text_release(struct lap_vm_program *program);

#endif
