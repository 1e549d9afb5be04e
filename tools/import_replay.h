/* SPDX-License-Identifier: MIT */
/*
 * import_replay: what lapilli-replay, beside this program, says for `lapilli import`: which GPU there is, and whether a
 * trace plays. It is a process with a sandbox of its own. For a program with one thread.
 */
#ifndef LAP_TOOLS_IMPORT_REPLAY_H
#define LAP_TOOLS_IMPORT_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

struct import_replay {
    const char *program; /* in front of messages */
    char **environment;  /* of the replay; ends with NULL */
    const char *gpu;     /* as in lapilli replay; NULL: it chooses */
    const char *sandbox; /* as there, too */
    bool quiet;
};

struct import_gpu {
    unsigned number; /* in the order of the loader; only of --gpu */
    bool recorded;   /* the GPU, without --gpu one of this machine, has the wanted name */
};

struct import_verified {
    bool played; /* to its end, which may be early */
    uint64_t checks, different;
};

/* Both return an exit status (enum lap_tool_exit). Unless it is LAP_TOOL_OK a message has been printed. */
int import_replay_gpu(const struct import_replay *replay, const char *name, struct import_gpu *out);
/* Plays the trace, and compares if it has checks. LAP_TOOL_OK: *out has the result. */
int import_replay_verify(const struct import_replay *replay, const char *trace, bool has_checks,
                         struct import_verified *out);

#endif
