/* SPDX-License-Identifier: MIT */
#include "tools/common/replay_child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/common/tool.h"

/* In the child. */
static void become_replay(const char *path, const char *const *words, int output, pid_t parent)
{
    int none = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (lap_tool_end_with(parent) && none >= 0 && dup2(none, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0)
        execv(path, (char *const *)(uintptr_t)words);
    _exit(LAP_TOOL_NOT_STARTED);
}

int lap_replay_child(const char *program, const char *const *words, int *out)
{
    char path[PATH_MAX];
    pid_t parent = getpid(), child;
    int status = 0;

    *out = -1;
    if (!lap_tool_find_beside("lapilli-replay", path)) {
        fprintf(stderr, "%s: lapilli-replay is not beside this program\n", program);
        return LAP_TOOL_NOT_STARTED;
    }
    *out = memfd_create("replay", MFD_CLOEXEC);
    fflush(NULL);
    (void)signal(SIGCHLD, SIG_DFL); /* with SIG_IGN, waitpid would find no child */
    child = *out >= 0 ? fork() : -1;
    if (child == 0)
        become_replay(path, words, *out, parent);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child < 0)
        fprintf(stderr, "%s: no replay can be started: %s\n", program, strerror(errno));
    else if (!WIFEXITED(status))
        fprintf(stderr, "%s: the replay was ended: %s\n", program, strsignal(WTERMSIG(status)));
    return child < 0 ? LAP_TOOL_NOT_STARTED : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
