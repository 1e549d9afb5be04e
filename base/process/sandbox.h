/* SPDX-License-Identifier: MIT */
/*
 * sandbox: gives up the rights that a process reading an untrusted file does not need, with Landlock for files and
 * sockets and seccomp for system calls. SECURITY.md describes the protection and its limits.
 *
 * Afterwards the process can still read every file, load libraries, start threads, and use all open descriptors; it
 * can't open devices. It can't execute programs (but see executes); create, trace or signal processes; create sockets
 * (but see accepts and waiting_sockets) or connect them; write, create or remove files except in the named folders and
 * devices; change modes and owners of files, or the system; and root has almost no rights of root. Refused calls fail
 * with EPERM (or EACCES, ENOSYS), so that drivers can do without them; a few calls without a harmless use end the
 * process.
 *
 * It can't be undone, and is for the whole process: enter it while there is one thread. Kernel: Linux 5.13 or newer for
 * Landlock; its later features are used where available.
 */
#ifndef LAP_BASE_PROCESS_SANDBOX_H
#define LAP_BASE_PROCESS_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct lap_sandbox_options {
    /* Existing folders in which files and folders can be created, written and removed. */
    const char *const *folders;
    size_t folder_count;
    bool gpus;            /* device files of GPUs can be opened for writing, with all ioctls */
    bool shared_memory;   /* System V's, of any process: X clients share images with the server in it */
    bool executes;        /* the process may become another program, which keeps the sandbox */
    bool accepts;         /* connections, to sockets that listen already */
    bool waiting_sockets; /* Unix sockets of packets can be made and named, but neither connect nor accept */
};

enum lap_sandbox_state {
    LAP_SANDBOX_OFF,
    LAP_SANDBOX_PARTIAL, /* one of the two, or not for all threads; builds for Android have no seccomp */
    LAP_SANDBOX_ON
};

struct lap_sandbox {
    enum lap_sandbox_state state;
    char lack[384]; /* the missing protection, and why; "" when nothing is missing */
};

/* The value of --sandbox: as much as the kernel has; all of it; nothing. */
enum lap_sandbox_wish { LAP_SANDBOX_WISH_AUTO, LAP_SANDBOX_WISH_ON, LAP_SANDBOX_WISH_OFF };

/* "auto", "on", "off"; else LAP_ERROR_ARGUMENT. */
enum lap_status lap_sandbox_wish_parse(const char *text, enum lap_sandbox_wish *out) LAP_MUST_CHECK;
const char *lap_sandbox_wish_name(enum lap_sandbox_wish wish);

/* The calling thread is the only one. Never fails: *out has the result. */
void lap_sandbox_enter(const struct lap_sandbox_options *options, struct lap_sandbox *out);

/* "off", "partial", "on". */
const char *lap_sandbox_state_name(enum lap_sandbox_state state);

#endif
