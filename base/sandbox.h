/* SPDX-License-Identifier: MIT */
/*
 * sandbox: gives up what a process that reads a stranger's file does not need: Landlock for files and sockets, seccomp
 * for system calls. SECURITY.md says what that protects from and what not.
 *
 * Afterwards every file can still be read, libraries be loaded, threads be started, and all descriptors that were open
 * be used; devices can't be opened. Nothing can be executed; no process be made, traced or signalled; no socket be made
 * (but see accepts and waiting_sockets) or connected; no file be written, made or removed but in the folders and
 * devices named; nor can modes and owners of files change, or anything of the system; and root has next to no rights of
 * root. What is refused fails with EPERM (or EACCES, ENOSYS), so that drivers can do without; a few calls for which
 * there is no innocent reason end the process.
 *
 * It can't be undone, and is for the whole process: to be entered while there is one thread. Kernel: Linux 5.13 or
 * newer for Landlock; what is newer in it is used where it is there.
 */
#ifndef LAP_BASE_SANDBOX_H
#define LAP_BASE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct lap_sandbox_options {
    /* Folders, which are there, in which files and folders can be made, written and removed. */
    const char *const *folders;
    size_t folder_count;
    bool gpus;            /* device files of GPUs can be opened for writing, and asked for everything */
    bool shared_memory;   /* System V's, of whomever: X clients share images with the server in it */
    bool accepts;         /* connections, to sockets that listen already */
    bool waiting_sockets; /* Unix sockets of packets can be made and named, but neither connect nor accept */
};

enum lap_sandbox_state {
    LAP_SANDBOX_OFF,
    LAP_SANDBOX_PARTIAL, /* one of the two, or not for all threads */
    LAP_SANDBOX_ON
};

struct lap_sandbox {
    enum lap_sandbox_state state;
    char lack[384]; /* what is not protected, and why; "" when all is */
};

/* What the user asks for with --sandbox: as much as the kernel has; all of it; nothing. */
enum lap_sandbox_wish { LAP_SANDBOX_WISH_AUTO, LAP_SANDBOX_WISH_ON, LAP_SANDBOX_WISH_OFF };

/* "auto", "on", "off"; else LAP_ERROR_ARGUMENT. */
enum lap_status lap_sandbox_wish_parse(const char *text, enum lap_sandbox_wish *out) LAP_MUST_CHECK;

/* The calling thread is the only one. Never fails: *out says what came of it. */
void lap_sandbox_enter(const struct lap_sandbox_options *options, struct lap_sandbox *out);

/* "off", "partial", "on". */
const char *lap_sandbox_state_name(enum lap_sandbox_state state);

#endif
