/* SPDX-License-Identifier: MIT */
/*
 * trim_replay: a replay that stops in front of a part and reads what is in objects then (inspector/state/contents.h):
 * lapilli-replay, which lies beside this program, as a process with a sandbox of its own. What it reads lies in files
 * without names in TMPDIR (/var/tmp). For a program with one thread.
 */
#ifndef LAP_TOOLS_TRIM_REPLAY_H
#define LAP_TOOLS_TRIM_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

struct trim_replay {
    int list, contents; /* open files; -1: not */
    char reason[256];   /* why there is nothing: a sentence without a period */
};

/* Makes both files, empty. False: `reason` says why not. */
bool trim_replay_begin(struct trim_replay *replay);
void trim_replay_end(struct trim_replay *replay);

/* Plays `trace` up to a packet, and has what `list` names read into `contents`. gpu: as lapilli replay takes it; NULL:
 * it chooses. sandbox: as it takes it, too. False: `reason` says why not. */
bool trim_replay_run(struct trim_replay *replay, const char *trace, uint64_t packet, const char *gpu,
                     const char *sandbox);

#endif
