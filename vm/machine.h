/* SPDX-License-Identifier: MIT */
/*
 * machine: runs a verified replay program (vm/verify.h), one instruction after the other; there are no jumps. It stops
 * where a function of the host wants that, and goes on later.
 *
 * Types and depths of the stack are the verifier's work; addresses are checked here, since programs compute them. An
 * error names the instruction and leaves the machine unusable. One thread.
 */
#ifndef LAP_VM_MACHINE_H
#define LAP_VM_MACHINE_H

#include "base/status.h"
#include "vm/program.h"

struct lap_vm_machine;

struct lap_vm_host {
    /* Calls a function of the program. arguments: as on the stack, pointers as addresses of this process;
     * *out_result is 0 before. LAP_AGAIN: done, and lap_vm_run returns here. Errors get the instruction in front. */
    enum lap_status (*call)(void *user, unsigned api, unsigned function, const uint64_t *arguments,
                            uint64_t *out_result);
    /* The bytes of a resource; they stay until the next request. */
    enum lap_status (*resource)(void *user, uint32_t number, const uint8_t **out_data);
    /* The host's memory at this address, for AbsolutePointers: whether so many bytes may be read, or written. NULL:
     * none. */
    bool (*reaches)(void *user, uintptr_t address, size_t bytes, bool writes);
    /* Not of 0 bytes. NULL: posts are an error. */
    enum lap_status (*post)(void *user, uint32_t label, const void *data, size_t bytes);
    void *user;
};

/* program, host: stay the caller's, and outlive the machine. LAP_ERROR_MEMORY leaves *out NULL. */
enum lap_status lap_vm_create(const struct lap_vm_program *program, const struct lap_vm_host *host,
                              struct lap_vm_machine **out) LAP_MUST_CHECK;
void lap_vm_destroy(struct lap_vm_machine **machine); /* also for NULL */

/* Runs up to the instruction `end`. LAP_OK: all is done; LAP_AGAIN: a function wants to stop. Errors are the host's, or
 * LAP_ERROR_FORMAT. */
enum lap_status lap_vm_run(struct lap_vm_machine *machine, size_t end) LAP_MUST_CHECK;

uint32_t lap_vm_label_now(const struct lap_vm_machine *machine); /* UINT32_MAX: none yet */
size_t lap_vm_instruction_now(const struct lap_vm_machine *machine);
const uint8_t *lap_vm_volatile_memory(const struct lap_vm_machine *machine); /* NULL: the program has none */

/* For functions of the host that follow pointers: whether so many bytes at an address lie in one memory of the program
 * (or of the host, as above). The bytes of resources that are still outside come in. */
enum lap_status lap_vm_reach(struct lap_vm_machine *machine, uintptr_t address, size_t bytes,
                             bool writes) LAP_MUST_CHECK;
/* Whether volatile memory has nothing but this resource's bytes there, all of them, and none has come in: then *out is
 * its number. */
bool lap_vm_is_resource(const struct lap_vm_machine *machine, uintptr_t address, size_t bytes, uint32_t *out);

#endif
