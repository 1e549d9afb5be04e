/* SPDX-License-Identifier: MIT */
/*
 * launch: runs a program as a shell would, and the environment that makes a Vulkan loader load the layer into it.
 */
#ifndef LAP_TOOLS_LAUNCH_H
#define LAP_TOOLS_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

/* Puts `item` in front of (or, if `last`, behind) the list in an environment variable, items separated by ':', unless
 * it is in it. False when out of memory. */
bool lap_launch_add(const char *variable, const char *item, bool last);

/* Lets the loader find the layer in `folder` (of explicit manifests) and load it as the one nearest to the program.
 * Layers and folders that the user named stay. False when out of memory. */
bool lap_launch_layer(const char *folder);

struct lap_launched {
    pid_t process; /* of the program; 0: it could not be started */
    int error;     /* an errno that says why it could not, else 0 */
    int signal;    /* that ended it; 0: it left with a status */
    int status;    /* as a shell has it: its exit status, 128 + n when signal n ended it, 127 when it was not started */
};

/* Runs argv (argv[0] is looked for in PATH) and waits for its end. SIGINT, SIGTERM, SIGHUP and SIGQUIT that are sent to
 * this process are passed on; those from the terminal have reached the program already. From then on, too, none of
 * these ends this process: who has waited for the program has something to do. */
struct lap_launched lap_launch_run(char *const argv[]);

#endif
