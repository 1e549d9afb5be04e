/* SPDX-License-Identifier: MIT */
/*
 * run_owner: the side of a connection that has a replay program, or a trace, and wants it played (docs/vm.md, "The
 * protocol"). The other side is not trusted: what it says is printed without control characters, and files have plain
 * names in folders that the options name.
 */
#ifndef LAP_TOOLS_PROGRAM_RUN_OWNER_H
#define LAP_TOOLS_PROGRAM_RUN_OWNER_H

#include <stdio.h>

#include "base/process/sandbox.h"
#include "tools/program/run_words.h"

struct run_owner {
    const char *name;      /* in front of messages */
    const char *program;   /* the file; or a trace (vm/blocks.h) */
    const char *resources; /* the folder with those that the file lacks, or NULL */
    const struct run_words *words;
    FILE *posts; /* gets a JSON line for each post, or NULL */
    enum lap_sandbox_wish sandbox;
    int progress_fd; /* gets what the replay says with --progress, and the files that came; 0: none */
    bool waits;      /* behind the initial part, until there is a line on standard input */
    bool quiet;
};

/* Makes the folders for files. LAP_ERROR_IO. */
enum lap_status run_owner_prepare(const struct run_owner *owner) LAP_MUST_CHECK;

/* Enters the sandbox, and has the program played. Returns the exit status; messages are printed. fd stays open. */
int run_owner_run(const struct run_owner *owner, int fd);

#endif
