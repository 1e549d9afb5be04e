/* SPDX-License-Identifier: MIT */
/*
 * control_server: takes the commands of lapilli control for a program that is recorded into files, as long as it runs,
 * in a child process (tools/record/serve.h). For a program with one thread.
 */
#ifndef LAP_TOOLS_RECORD_CONTROL_SERVER_H
#define LAP_TOOLS_RECORD_CONTROL_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "trace/send/address.h"

struct lap_control_server {
    pid_t process;              /* 0: there is none */
    struct lap_address address; /* of the listener, with the actual port */
};

/* token_file: NULL: the one of LAPILLI_TOKEN_FILE, or none. Prints the address, unless quiet. False, after a message:
 * it can't listen. */
bool lap_control_server_begin(struct lap_control_server *commanded, const char *program, const char *address,
                              const char *token_file, bool quiet);

/* Clients get the answers to their commands before it ends. */
void lap_control_server_end(struct lap_control_server *commanded);

#endif
