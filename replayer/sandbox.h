/* SPDX-License-Identifier: MIT */
/*
 * sandbox: what a replay keeps of its rights while it reads and plays a trace, on top of base/sandbox.h: device files
 * of GPUs; the folders of pictures and checks; and a cache of drivers of its own, which programs outside of sandboxes
 * do not read: drivers execute what they find in their caches. One thread: entered before there are others.
 */
#ifndef LAP_REPLAYER_SANDBOX_H
#define LAP_REPLAYER_SANDBOX_H

#include <cjson/cJSON.h>

#include "base/sandbox.h"
#include "replayer/context.h"

/* Folders for output have been made, and everything else that options name is open, displays too. Sets
 * options->sandboxed to *sandbox, which must live as long. LAP_ERROR_UNSUPPORTED: options want one, and part of it
 * can't be had. */
enum lap_status replay_sandbox_enter(struct replay_options *options, struct lap_sandbox *sandbox) LAP_MUST_CHECK;

/* Adds "sandbox": {"state", "lack" (or null)} to an object; NULL: null. False: there is no memory. */
bool replay_sandbox_describe(const struct lap_sandbox *sandbox, cJSON *object);

#endif
