/* SPDX-License-Identifier: MIT */
/*
 * packets: the calls of a replay program, as the packets of a trace (trace/read/packet_maker.h), so that the players
 * and readers of traces take programs, too. A call is checked like a packet of a file: its pointers are followed only
 * within the program's memory, and the decoders see its bytes.
 *
 * The commands between vkBeginCommandBuffer and vkEndCommandBuffer become one block.
 */
#ifndef LAP_INSPECTOR_PACKETS_H
#define LAP_INSPECTOR_PACKETS_H

#include "base/status.h"
#include "trace/read/packet_maker.h"
#include "vm/program.h"

/* Bytes of resources, by their numbers in the program. */
struct program_resources {
    /* The bytes stay until `advance`. Any thread, one at a time. */
    enum lap_status (*get)(void *user, uint32_t number, const uint8_t **out_data);
    void (*advance)(void *user); /* the bytes of earlier requests are not needed any more */
    /* The results of checks since the last request (docs/vm.md); they stay until the replay goes on. NULL: there are
     * none. */
    const void *(*checks)(void *user, uint32_t *out_bytes);
    /* The bytes that the program posts; not empty. */
    enum lap_status (*post)(void *user, uint32_t label, const void *data, size_t bytes);
    void *user;
};

struct program_packets; /* of a program, for any number of readers */

/* program: verified (vm/verify.h); it and resources outlive this. LAP_ERROR_FORMAT: it has functions that this build
 * does not know, or with other parameters. */
enum lap_status program_packets_create(const struct lap_vm_program *program, const struct program_resources *resources,
                                       struct program_packets **out) LAP_MUST_CHECK;
void program_packets_destroy(struct program_packets **packets); /* also for NULL; behind all readers */

const struct lap_packet_maker *program_packets_maker(const struct program_packets *packets);

#endif
