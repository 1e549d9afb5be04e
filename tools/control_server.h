/* SPDX-License-Identifier: MIT */
/*
 * control_server: takes the commands of lapilli control for a program that is recorded into files, as long as it runs.
 * A child process does it (tools/serve.h). For a program with one thread.
 */
#ifndef LAP_TOOLS_CONTROL_SERVER_H
#define LAP_TOOLS_CONTROL_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "trace/address.h"

struct lap_control_server {
    pid_t process;              /* 0: there is none */
    struct lap_address address; /* where it listens, with the port that it has */
};

/* token_file: NULL, none; then the one of LAPILLI_TOKEN_FILE, if there is. Says where it listens, unless quiet. False,
 * and it was said why: it can't be done. */
bool lap_control_server_begin(struct lap_control_server *commanded, const char *program, const char *address,
                              const char *token_file, bool quiet);

/* Who has given a command gets the answer before. */
void lap_control_server_end(struct lap_control_server *commanded);

#endif
