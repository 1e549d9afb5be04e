/* SPDX-License-Identifier: MIT */
#include "tools/program/shared_libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/common/tool.h"
#include "vulkan/loader.h"

/* Parts of the C library, which fit its dynamic linker alone. */
static bool is_of_the_c_library(const char *name)
{
    static const char *const some[] = {"ld-",           "libc.so",   "libm.so",  "libmvec.so",
                                       "libpthread.so", "libdl.so",  "librt.so", "libutil.so",
                                       "libresolv.so",  "libanl.so", "libnsl.so"};

    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (strncmp(name, some[i], strlen(some[i])) == 0)
            return true;
    return false;
}

static void ask(const char *program, int answer_to, pid_t parent)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (!lap_tool_end_with(parent) || setenv("LD_TRACE_LOADED_OBJECTS", "1", 1) != 0 ||
        setenv("LD_PRELOAD", LAP_VULKAN_LOADER, 1) != 0) /* the program opens it while it runs */
        _exit(LAP_TOOL_NOT_STARTED);
    (void)dup2(answer_to, STDOUT_FILENO);
    if (nowhere >= 0)
        (void)dup2(nowhere, STDERR_FILENO); /* where it says that there is no loader */
    execl(program, program, "--version", (char *)NULL);
    _exit(LAP_TOOL_NOT_STARTED);
}

/* All that it says; NULL, with a sentence. */
static char *answer_of(const char *program)
{
    char *text = NULL;
    size_t length = 0;
    FILE *from;
    int ends[2], status = 0;
    pid_t child = -1, parent = getpid();

    fflush(NULL);
    (void)signal(SIGCHLD, SIG_DFL); /* with SIG_IGN, waitpid would find no child */
    if (pipe2(ends, O_CLOEXEC) == 0) {
        child = fork();
        if (child == 0)
            ask(program, ends[1], parent);
        close(ends[1]);
        from = fdopen(ends[0], "r");
        if (from && getdelim(&text, &length, 0, from) < 0) { /* up to a zero, which is not there: all */
            free(text);
            text = NULL;
        }
        if (from)
            (void)fclose(from);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0 || !text) {
        (void)lap_fail(LAP_ERROR_IO, "which libraries %s needs can't be found out", program);
        free(text);
        return NULL;
    }
    return text;
}

/* "\tNAME => PATH (0x7f0012340000)" */
static enum lap_status add(struct shared_libraries *out, char *line)
{
    char *arrow = strstr(line, " => "), *name = line + strspn(line, "\t "), *path, *end;

    if (!arrow)
        return LAP_OK; /* the kernel's, and the dynamic linker */
    *arrow = 0;
    path = arrow + strlen(" => ");
    end = strstr(path, " (0x");
    if (is_of_the_c_library(name))
        return LAP_OK;
    if (!end || *path != '/' || strchr(name, '/'))
        return lap_fail(LAP_ERROR_IO, "the library %s is not found", name);
    *end = 0;
    if (strcmp(name, LAP_VULKAN_LOADER) == 0)
        out->loader = path;
    else
        out->all[out->count++] = (struct shared_library){name, path};
    return LAP_OK;
}

enum lap_status shared_libraries_find(const char *program, struct shared_libraries *out)
{
    enum lap_status status = LAP_OK;
    size_t lines = 1;
    bool any = false;
    char *rest;

    *out = (struct shared_libraries){.text = answer_of(program)};
    if (!out->text)
        return LAP_ERROR_IO;
    for (const char *c = out->text; *c; c++)
        lines += *c == '\n';
    out->all = calloc(lines, sizeof *out->all);
    if (!out->all)
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (char *line = strtok_r(out->text, "\n", &rest); status == LAP_OK && line; line = strtok_r(NULL, "\n", &rest)) {
        any = any || strstr(line, " => ");
        status = add(out, line);
    }
    if (status == LAP_OK && !any)
        status = lap_fail(LAP_ERROR_IO, "the dynamic linker does not say which libraries %s needs", program);
    if (status != LAP_OK)
        shared_libraries_release(out);
    return status;
}

void shared_libraries_release(struct shared_libraries *libraries)
{
    free(libraries->all);
    free(libraries->text);
    *libraries = (struct shared_libraries){0};
}
