/* SPDX-License-Identifier: MIT */
/*
 * verify: checks a replay program before its first instruction runs: codes, types, the depth of the stack, the types of
 * each function's arguments, resources, labels, and all addresses that are known without running. As there are no
 * jumps, one walk knows the type of every entry of the stack at every instruction. Any thread.
 */
#ifndef LAP_VM_VERIFY_H
#define LAP_VM_VERIFY_H

#include "base/status.h"
#include "vm/program.h"

/* LAP_ERROR_FORMAT, with a sentence that names the first bad instruction; LAP_ERROR_LIMIT for more memory than
 * `volatile_limit` bytes. */
enum lap_status lap_vm_verify(const struct lap_vm_program *program, uint64_t volatile_limit) LAP_MUST_CHECK;

#endif
