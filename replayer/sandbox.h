/* SPDX-License-Identifier: MIT */
/*
 * sandbox: the rights of a replay while it reads and plays a trace, in addition to those of base/process/sandbox.h:
 * device files of GPUs; the folders of pictures and checks; and a driver cache of its own, which programs outside of
 * sandboxes do not read, since drivers execute code from their caches. One thread: enter it before there are others.
 */
#ifndef LAP_REPLAYER_SANDBOX_H
#define LAP_REPLAYER_SANDBOX_H

#include "base/process/sandbox.h"
#include "replayer/core/replay.h"

/* Enters the sandbox. The caller has created folders for output, and opened all other files in options, and
 * displays. Sets options->sandboxed to *sandbox, which must live as long. LAP_ERROR_UNSUPPORTED: options require a
 * sandbox, and part of it is not available. */
enum lap_status replay_sandbox_enter(struct replay_options *options, struct lap_sandbox *sandbox) LAP_MUST_CHECK;

#endif
