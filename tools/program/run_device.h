/* SPDX-License-Identifier: MIT */
/*
 * run_device: the side of a connection that plays a replay program (docs/vm.md, "The protocol"). It knows neither
 * programs nor Vulkan: it starts lapilli-replay, gives it resources as it asks for them, and passes on what it says.
 */
#ifndef LAP_TOOLS_PROGRAM_RUN_DEVICE_H
#define LAP_TOOLS_PROGRAM_RUN_DEVICE_H

#include "vm/resources.h"

struct run_device {
    const char *name;            /* in front of messages */
    const char *replayer;        /* the path of lapilli-replay */
    const char *sandbox;         /* the value of its --sandbox */
    struct lap_vm_folder *cache; /* of resources and programs, or NULL */
    size_t batch_bytes;          /* that are asked for at once; of one resource there may be more */
    uint64_t most_program;       /* bytes of a program that are taken, without its resources */
    int stop;                    /* when it can be read, or its other end is closed, the replay is ended; -1: never */
    bool quiet;
};

/* Serves one connection until it is closed; then the replay has ended. fd stays open. In a process of one thread that
 * ignores SIGPIPE. False, after a message unless the owner has just left: it did not come to its end. */
bool run_device_serve(const struct run_device *device, int fd);

#endif
