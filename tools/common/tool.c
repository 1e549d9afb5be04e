/* SPDX-License-Identifier: MIT */
#include "tools/common/tool.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/output.h"
#include "base/version.h"

int lap_tool_end_output(const char *program, int code)
{
    if (lap_output_flush() == LAP_OK)
        return code;
    fprintf(stderr, "%s: %s\n", program, lap_error_message());
    return code == LAP_TOOL_OK ? LAP_TOOL_FAILED : code;
}

int lap_tool_help(const char *program, const char *help)
{
    fputs(help, stdout);
    return lap_tool_end_output(program, LAP_TOOL_OK);
}

int lap_tool_version(const char *program)
{
    printf("%s %s\n", program, LAPILLI_VERSION);
    return lap_tool_end_output(program, LAP_TOOL_OK);
}

bool lap_tool_find_beside(const char *name, char *out)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;

    if (length <= 0)
        return false;
    self[length] = 0;
    slash = strrchr(self, '/');
    if (!slash)
        return false;
    length = snprintf(out, PATH_MAX, "%.*s/%s", (int)(slash - self), self, name);
    return length < PATH_MAX && access(out, X_OK) == 0;
}

int lap_tool_become(const char *program, const char *name, const char *const *words)
{
    char path[PATH_MAX];

    if (lap_tool_find_beside(name, path)) {
        execv(path, (char *const *)(uintptr_t)words);
        fprintf(stderr, "%s: %s can't be started: %s\n", program, path, strerror(errno));
    } else {
        fprintf(stderr, "%s: %s is not beside this program\n", program, name);
    }
    return LAP_TOOL_NOT_STARTED;
}

bool lap_tool_end_with(pid_t parent)
{
    return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == parent;
}

void lap_tool_remove_output(int fd, const char *path)
{
    struct stat info;

    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        (void)unlink(path);
}

bool lap_tool_has_colour(int colour)
{
    return colour >= 0 ? colour : isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
}
