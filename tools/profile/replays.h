/* SPDX-License-Identifier: MIT */
/*
 * replays: the replays of `lapilli profile`. Each is lapilli-replay --profile, beside this program, as a process with a
 * sandbox of its own, one after the other. Their outputs are kept and not looked at. For a program with one thread.
 */
#ifndef LAP_TOOLS_PROFILE_REPLAYS_H
#define LAP_TOOLS_PROFILE_REPLAYS_H

#include <stdbool.h>
#include <stddef.h>

#define PROFILE_SIDES      2u
#define PROFILE_MOST_LOOPS 100u
#define PROFILE_SHADERS    16u
#define PROFILE_OUTPUTS    (PROFILE_MOST_LOOPS + 1) /* of a side */

struct profile_replays {
    const char *program;               /* in front of messages */
    const char *traces[PROFILE_SIDES]; /* the second is compared with; NULL: none */
    const char *frames;                /* of --profile */
    size_t loops;
    bool draws, statistics, quiet;
    /* Experiments with the first trace, as in lapilli replay. */
    bool wireframe, null_fragment, tiny_viewport;
    const char *shaders[PROFILE_SHADERS]; /* HASH=FILE */
    size_t shader_count;
    const char *gpu, *wait_limit, *sandbox; /* as in lapilli replay; NULL: not given */
    int progress_fd;                        /* lines of JSON about all of them; 0: none */
    int ended_by;                           /* a signal that came meanwhile; 0: none */
};

/* The output of a replay: some bytes, and a zero behind them. */
struct profile_output {
    char *text;
    size_t bytes;
};

/* Plays, and fills outputs[side][loop], which the caller frees. Both sides take turns: A B, B A, A B.
 * With statistics one more replay of the first side counts them, outputs[0][loops]: they make work slower. Returns -1,
 * or an exit status (enum lap_tool_exit) after a message; LAP_TOOL_INCOMPLETE: a trace is, and all else is well. A
 * signal that ends programs ends the replay. */
int profile_replays_run(struct profile_replays *replays, struct profile_output outputs[PROFILE_SIDES][PROFILE_OUTPUTS]);
/* That signal, if there was one, ends this program. */
void profile_replays_end(const struct profile_replays *replays);

#endif
