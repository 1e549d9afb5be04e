/* SPDX-License-Identifier: MIT */
/*
 * remote_trace: a trace that lies on another machine: its blocks come over the connection to the process that has
 * started the replay, when they are read (vm/blocks.h). The last ones stay in memory. Any thread.
 */
#ifndef LAP_REPLAYER_VM_REMOTE_TRACE_H
#define LAP_REPLAYER_VM_REMOTE_TRACE_H

#include "base/status.h"
#include "trace/read/bytes_from.h"

struct replay_remote;

/* list: the file with the list; from: as replay_resources_open takes it. *out_bytes: for readers, which end before it.
 * LAP_ERROR_FORMAT, LAP_ERROR_IO, LAP_ERROR_ARGUMENT, LAP_ERROR_MEMORY leave *out NULL. */
enum lap_status replay_remote_open(const char *list, const char *from, struct replay_remote **out,
                                   const struct lap_bytes_from **out_bytes) LAP_MUST_CHECK;
void replay_remote_close(struct replay_remote **remote); /* also for NULL */

#endif
