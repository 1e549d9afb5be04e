/* SPDX-License-Identifier: MIT */
/* sandbox_internal: the two halves of a sandbox. Both return 0 or an errno; privileges have been given up. */
#ifndef LAP_BASE_PROCESS_SANDBOX_INTERNAL_H
#define LAP_BASE_PROCESS_SANDBOX_INTERNAL_H

#include "base/process/sandbox.h"

/* Landlock: the calling thread and those that it starts. Folders that can't be opened are left out. */
int lap_sandbox_restrict_files(const struct lap_sandbox_options *options);

/* seccomp: all threads. Not in builds for Android. */
int lap_sandbox_restrict_calls(const struct lap_sandbox_options *options);

#endif
