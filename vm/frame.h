/* SPDX-License-Identifier: MIT */
/*
 * frame: what the two ends of a connection over which a program runs send each other (docs/vm.md, "The protocol"): a
 * head of LAP_VM_FRAME_BYTES, and bytes. Any thread.
 */
#ifndef LAP_VM_FRAME_H
#define LAP_VM_FRAME_H

#include "base/status.h"
#include "vm/program.h"

/* The environment says where replays are played (lapilli replay --on), and which file has the token. */
#define LAP_VM_ON          "LAPILLI_REPLAY_ON"
#define LAP_VM_ON_TOKEN    "LAPILLI_REPLAY_TOKEN_FILE"

#define LAP_VM_FRAME_BYTES 16u
#define LAP_VM_NEED_BYTES  28u /* of one resource in a NEED */

enum lap_vm_frame_kind {
    /* from the owner of the program */
    LAP_VM_FRAME_OPTIONS = 1, /* words of a command line, each with a zero behind it */
    LAP_VM_FRAME_PROGRAM,  /* hash (8, 8) and bytes (8) of the file, which is LAP_VM_FRAME_FILE_NUMBER: it shall run */
    LAP_VM_FRAME_RESOURCE, /* number: of the resource; its bytes, packed (vm/resources.h). Also to the replay */
    LAP_VM_FRAME_LACK,     /* number: of a resource that can't be had. Also to the replay */
    LAP_VM_FRAME_GO = 13,  /* a replay that waits shall go on: with this request, or none */
    /* to the owner */
    LAP_VM_FRAME_WANT = 5, /* numbers of resources, 4 bytes each */
    LAP_VM_FRAME_POST,     /* number: the label; the bytes of a POST. Also from the replay */
    LAP_VM_FRAME_TEXT,     /* number: 1 standard output, 2 standard error */
    LAP_VM_FRAME_PROGRESS, /* a part of the text that `lapilli replay --progress` writes */
    LAP_VM_FRAME_FILE,     /* number: of the word that named its folder, from 0; the name, a zero, the content */
    LAP_VM_FRAME_END,      /* number: the exit status, or 256 + the signal; the last one */
    /* from the replay to the process that has started it */
    LAP_VM_FRAME_NEED,     /* resources that the program lacks: number (4), hash (8, 8), bytes (8) of each; in order */
    LAP_VM_FRAME_GET,      /* number: it waits for this one */
    LAP_VM_FRAME_BAD = 14, /* number: other bytes came for it, and it waits for the right ones */
};

#define LAP_VM_FRAME_FILE_NUMBER UINT32_MAX /* the program's own file, as a resource */

struct lap_vm_frame {
    uint32_t kind, number;
    uint64_t bytes;
};

void lap_vm_frame_store(const struct lap_vm_frame *frame, uint8_t out[LAP_VM_FRAME_BYTES]);
void lap_vm_frame_load(const uint8_t head[LAP_VM_FRAME_BYTES], struct lap_vm_frame *out);

/* Sends one on a socket that blocks. A peer that takes nothing for a minute is lost. LAP_ERROR_IO. */
enum lap_status lap_vm_frame_send(int fd, const struct lap_vm_frame *frame, const void *data) LAP_MUST_CHECK;
/* Waits as long as it takes for a head, and then a minute at most for each megabyte. LAP_END: the peer has closed the
 * connection; LAP_ERROR_IO. */
enum lap_status lap_vm_frame_receive(int fd, struct lap_vm_frame *out) LAP_MUST_CHECK;
enum lap_status lap_vm_frame_receive_bytes(int fd, void *to, size_t bytes) LAP_MUST_CHECK;

#endif
