/* SPDX-License-Identifier: MIT */
#include "inspector/edit/shader_file.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_BYTES ((off_t)256 << 20)
#define MAGIC      0x07230203u

extern char **environ;

static bool ends_with_stage(const char *path, size_t length)
{
    static const char *const stages[] = {".vert", ".tesc", ".tese", ".geom",  ".frag",  ".comp",  ".mesh",
                                         ".task", ".rgen", ".rint", ".rahit", ".rchit", ".rmiss", ".rcall"};

    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        size_t bytes = strlen(stages[i]);
        if (length > bytes && strncmp(path + length - bytes, stages[i], bytes) == 0)
            return true;
    }
    return false;
}

static bool is_glsl(const char *path)
{
    size_t length = strlen(path);

    if (length > 5 && strcmp(path + length - 5, ".glsl") == 0)
        length -= 5;
    return ends_with_stage(path, length);
}

static enum lap_status read_all(const char *path, int fd, uint32_t **out_words, size_t *out_bytes)
{
    struct stat about;
    size_t done = 0;

    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > MOST_BYTES)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s is no file that shaders are in", path);
    *out_bytes = (size_t)about.st_size;
    *out_words = malloc(*out_bytes + 4);
    if (!*out_words)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for %s", path);
    while (done < *out_bytes) {
        ssize_t got = pread(fd, (char *)*out_words + done, *out_bytes - done, (off_t)done);
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    if (done == *out_bytes && done >= 4 && done % 4 == 0 && **out_words == MAGIC)
        return LAP_OK;
    free(*out_words);
    *out_words = NULL;
    return lap_fail(LAP_ERROR_ARGUMENT, "%s is no SPIR-V", path);
}

/* Runs glslangValidator, which writes into the file that is open as fd. */
static enum lap_status compile(const char *path, int fd)
{
    char to[40];
    char *arguments[] = {"glslangValidator", "-V", "--quiet", "-o", to, (char *)(uintptr_t)path, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int error, state = 0;

    snprintf(to, sizeof to, "/proc/%ld/fd/%d", (long)getpid(), fd);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for %s", path);
    error = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    error = error ? error : posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error == ENOENT)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s is GLSL, and glslangValidator is not installed: it compiles that",
                        path);
    if (error)
        return lap_fail(LAP_ERROR_ARGUMENT, "glslangValidator can't be run: %s", strerror(error));
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(state) && WEXITSTATUS(state) == 0
               ? LAP_OK
               : lap_fail(LAP_ERROR_ARGUMENT, "glslangValidator does not compile %s", path);
}

enum lap_status edit_shader_file_read(const char *path, uint32_t **out_words, size_t *out_bytes)
{
    bool glsl = is_glsl(path);
    int fd = glsl ? memfd_create("shader", MFD_CLOEXEC) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    enum lap_status status = LAP_OK;

    if (fd < 0)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s can't be read: %s", path, strerror(errno));
    if (glsl)
        status = compile(path, fd);
    if (status == LAP_OK)
        status = read_all(path, fd, out_words, out_bytes);
    close(fd);
    return status;
}
