/* SPDX-License-Identifier: MIT */
/*
 * resources: where a replay gets those resources of a program from that the program's file does not have: a folder, or
 * a connection to the process that has started the replay (docs/vm.md). That also gets what the program posts. One
 * thread at a time.
 */
#ifndef LAP_REPLAYER_VM_RESOURCES_H
#define LAP_REPLAYER_VM_RESOURCES_H

#include "base/status.h"
#include "vm/program.h"

struct replay_resources {
    struct lap_vm_folder *folder; /* or NULL */
    int connection;               /* or -1; the caller's descriptor */
};

/* from: a folder, "fd:N" (an open socket), or NULL: none. LAP_ERROR_ARGUMENT, LAP_ERROR_IO, LAP_ERROR_MEMORY. */
enum lap_status replay_resources_open(const char *from, struct replay_resources *out) LAP_MUST_CHECK;
void replay_resources_close(struct replay_resources *resources);

/* Says which resources the program lacks. */
enum lap_status replay_resources_announce(struct replay_resources *resources,
                                          const struct lap_vm_program *program) LAP_MUST_CHECK;

/* to: room for its bytes. LAP_ERROR_IO: it can't be had. LAP_ERROR_FORMAT: other bytes came. */
enum lap_status replay_resources_get(struct replay_resources *resources, const struct lap_vm_program *program,
                                     uint32_t number, uint8_t *to) LAP_MUST_CHECK;

/* Without a connection nobody gets it. */
enum lap_status replay_resources_post(struct replay_resources *resources, uint32_t label, const void *data,
                                      size_t bytes) LAP_MUST_CHECK;

#endif
