/* SPDX-License-Identifier: MIT */
#include "replayer/sandbox.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/folder.h"
#include "replayer/present/window_android.h"
#include "replayer/present/window_system.h"

/* The folder belongs to this user, others can't write to it, and it is no symbolic link. */
static bool is_own_folder(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           !(info.st_mode & (S_IWGRP | S_IWOTH));
}

/* Redirects the caches of drivers and of the user's layers to a folder for sandboxed replays. Without such a folder,
 * Mesa's cache is disabled; other drivers find that they cannot write theirs. */
static bool move_caches(char path[PATH_MAX])
{
    const char *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;

    if (caches && *caches == '/')
        length = snprintf(path, PATH_MAX, "%s", caches);
    else if (home && *home == '/')
        length = snprintf(path, PATH_MAX, "%s/.cache", home);
    if (length > 0 && length < PATH_MAX - 32 && lap_folder_make(path) == LAP_OK) {
        strcat(path, "/lapilli-replay");
        (void)mkdir(path, 0700);
        if (is_own_folder(path) && setenv("XDG_CACHE_HOME", path, 1) == 0 &&
            setenv("__GL_SHADER_DISK_CACHE_PATH", path, 1) == 0 && unsetenv("MESA_SHADER_CACHE_DIR") == 0 &&
            unsetenv("MESA_GLSL_CACHE_DIR") == 0)
            return true;
    }
    (void)setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
    (void)setenv("MESA_GLSL_CACHE_DISABLE", "true", 1);
    return false;
}

static bool has_x_display(const struct replay_displays *displays)
{
    for (uint32_t i = 0; displays && i < REPLAY_WINDOW_SYSTEM_COUNT; i++)
        if (replay_window_systems[i] == &replay_window_xcb && displays->of[i])
            return true;
    return false;
}

enum lap_status replay_sandbox_enter(struct replay_options *options, struct lap_sandbox *sandbox)
{
    const char *folders[6];
    struct lap_sandbox_options wanted = {.folders = folders,
                                         .gpus = true,
                                         .shared_memory = has_x_display(options->displays),
                                         /* NVIDIA's driver creates no device with ray tracing without such a socket. */
                                         .waiting_sockets = access("/dev/nvidiactl", F_OK) == 0};
    char caches[PATH_MAX];

    memset(sandbox, 0, sizeof *sandbox);
    options->sandboxed = sandbox;
    if (options->sandbox == LAP_SANDBOX_WISH_OFF || replay_android_is_app())
        return LAP_OK;
    if (options->screenshots.count || options->screenshot_of_last)
        folders[wanted.folder_count++] = options->screenshot_dir;
    if (options->mismatch_dir)
        folders[wanted.folder_count++] = options->mismatch_dir;
    if (options->pictures.folder)
        folders[wanted.folder_count++] = options->pictures.folder;
    if (options->dump_dir)
        folders[wanted.folder_count++] = options->dump_dir;
    if (move_caches(caches))
        folders[wanted.folder_count++] = caches;
#ifdef LAP_COVERAGE_FOLDER /* a coverage build writes its counts at exit */
    folders[wanted.folder_count++] = LAP_COVERAGE_FOLDER;
#endif
    lap_sandbox_enter(&wanted, sandbox);
    if (options->sandbox == LAP_SANDBOX_WISH_ON && sandbox->state != LAP_SANDBOX_ON)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "--sandbox=on can't be had: %s", sandbox->lack);
    return LAP_OK;
}
