/* SPDX-License-Identifier: MIT */
/*
 * trim_replay: runs a replay that stops in front of a part and reads the contents of objects there
 * (inspector/state/contents.h). It is lapilli-replay, beside this program, as a process with a sandbox of its own. The
 * contents are in files without names in TMPDIR (/var/tmp). For a program with one thread.
 */
#ifndef LAP_TOOLS_TRIM_REPLAY_H
#define LAP_TOOLS_TRIM_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

struct trim_replay {
    int list, contents; /* open files; -1: not */
    char reason[256];   /* why there is nothing: a sentence without a period */
};

/* Makes both files, empty. False: `reason` has the cause. */
bool trim_replay_begin(struct trim_replay *replay);
void trim_replay_end(struct trim_replay *replay);

/* Plays `trace` up to a packet, and has the contents in `list` read into `contents`. gpu: as in lapilli replay; NULL:
 * it chooses. sandbox: as there, too. False: `reason` has the cause. */
bool trim_replay_run(struct trim_replay *replay, const char *trace, uint64_t packet, const char *gpu,
                     const char *sandbox);

#endif
