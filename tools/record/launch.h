/* SPDX-License-Identifier: MIT */
/*
 * launch: runs a program as a shell does, and sets the environment in which a Vulkan loader loads the layer.
 */
#ifndef LAP_TOOLS_RECORD_LAUNCH_H
#define LAP_TOOLS_RECORD_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Adds `item` to the front (or, if `last`, to the end) of the list in an environment variable, with ':' as
 * separator, unless the list contains it. False: out of memory. */
bool lap_launch_add(const char *variable, const char *item, bool last);

/* Makes the loader find the layer in `folder` (of explicit manifests) and load it as the layer nearest to the
 * program. The user's layers and folders stay. False: out of memory. */
bool lap_launch_layer(const char *folder);

/* The folder of the layer's explicit manifest, PREFIX/share/vulkan/explicit_layer.d, where PREFIX/bin holds this
 * program. False, after a message with `program` in front: it is not there. */
bool lap_launch_find_layer(const char *program, char out[PATH_MAX]);

struct lap_layer_option {
    const char *variable, *value; /* NULL: the variable stays as it is */
};

/* Sets the environment in which a program is recorded, by the layer in `folder`, to `file` (LAPILLI_FILE); the layer
 * names its traces in `report` (NULL: nowhere). False, after a message with `program` in front. */
bool lap_launch_environment(const char *program, const char *folder, const char *file, const char *report,
                            const struct lap_layer_option *options, size_t count);

struct lap_launched {
    pid_t process; /* of the program; 0: it did not start */
    int error;     /* the errno of a failed start, else 0 */
    int signal;    /* that ended the program; 0: it exited */
    int status;    /* as in a shell: the exit status, 128 + n after signal n, 127 when the program did not start */
};

/* Runs argv (argv[0] is searched in PATH) and waits for its end. Passes SIGINT, SIGTERM, SIGHUP and SIGQUIT to the
 * program if another process sent them; the terminal sends them to both. Afterwards, too, these signals do not end this
 * process, since the caller still has work to do. */
struct lap_launched lap_launch_run(char *const argv[]);
/* The same, and calls `watch` (NULL: nothing) now and then while the program runs. */
struct lap_launched lap_launch_watch(char *const argv[], void (*watch)(void *user, pid_t process), void *user);

#endif
