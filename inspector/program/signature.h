/* SPDX-License-Identifier: MIT */
/*
 * signature: commands as functions of a replay program (vm/program.h): a function has a command's name, and the types
 * of its parameters as this build's registry has them. Parameters that no trace records (allocators) are left out; a
 * recorded result is the last one. Structures, arrays and unions are pointers. Any thread.
 */
#ifndef LAP_INSPECTOR_SIGNATURE_H
#define LAP_INSPECTOR_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/program.h"
#include "vulkan/reflect.h"

/* The APIs of a CALL (docs/vm.md). */
enum program_api {
    PROGRAM_VULKAN,  /* Vulkan's commands */
    PROGRAM_RUNTIME, /* the packets of the layer: updates, checks, frames */
    PROGRAM_RECORD   /* Vulkan's commands that the program called and a replay only looks at */
};

/* A function of PROGRAM_RUNTIME that is no command. It stores at its pointer the place of the results of checks since
 * the last call (an AbsolutePointer), and their size in bytes (a Uint32). */
#define PROGRAM_CHECKS "lapilliChecks"
bool program_is_checks(unsigned api, const struct lap_vm_function *function); /* with its types */
struct lap_vm_function program_checks_function(void);

/* False: it has no parameters here, or too many. */
bool program_signature(uint32_t command, struct lap_vm_function *out);

/* The parameters in order: the first member of the command from *next on that is an argument; NULL: no more. */
const struct gen_member *program_parameter(uint32_t command, uint32_t *next);

/* The type of an argument: enum lap_vm_type, or LAP_VM_POINTER; LAP_VM_NOTHING: none has it. */
unsigned program_type_of(const struct gen_member *member);

#endif
