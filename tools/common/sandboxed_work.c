/* SPDX-License-Identifier: MIT */
#include "tools/common/sandboxed_work.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/common/tool.h"

/* The child's work. */
static int do_work(const char *program, enum lap_sandbox_wish wish, const char *folder, int (*work)(void *argument),
                   void *argument, pid_t parent)
{
    const struct lap_sandbox_options wanted = {.folders = &folder, .folder_count = folder ? 1 : 0};
    struct lap_sandbox sandbox;

    if (!lap_tool_end_with(parent))
        return LAP_TOOL_FAILED;
    if (wish != LAP_SANDBOX_WISH_OFF) {
        lap_sandbox_enter(&wanted, &sandbox);
        if (wish == LAP_SANDBOX_WISH_ON && sandbox.state != LAP_SANDBOX_ON) {
            fprintf(stderr, "%s: --sandbox=on can't be had: %s\n", program, sandbox.lack);
            return LAP_TOOL_FAILED;
        }
    }
    return work(argument);
}

/* The child's exit status. */
static int wait_for(const char *program, pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) {
            fprintf(stderr, "%s: the result of the work is not known: %s\n", program, strerror(errno));
            return LAP_TOOL_FAILED;
        }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    fprintf(stderr, "%s: the process that does the work was ended: %s\n", program, strsignal(WTERMSIG(status)));
    return LAP_TOOL_FAILED;
}

int lap_sandboxed_work(const char *program, enum lap_sandbox_wish wish, int (*work)(void *argument), void *argument)
{
    return lap_sandboxed_work_in(program, wish, NULL, work, argument);
}

int lap_sandboxed_work_in(const char *program, enum lap_sandbox_wish wish, const char *folder,
                          int (*work)(void *argument), void *argument)
{
    pid_t child, parent = getpid();

    (void)signal(SIGCHLD, SIG_DFL); /* with SIG_IGN, waitpid would find no child */
    fflush(NULL);                   /* otherwise both processes write the buffered output */
    child = fork();
    if (child == 0)
        exit(do_work(program, wish, folder, work, argument, parent));
    if (child > 0)
        return wait_for(program, child);
    fprintf(stderr, "%s: no process can be made: %s\n", program, strerror(errno));
    return LAP_TOOL_FAILED;
}
