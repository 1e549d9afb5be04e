/* SPDX-License-Identifier: MIT */
#include "tools/record/control_server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/common/tool.h"
#include "tools/record/serve.h"
#include "trace/receive/listener.h"

/* Ignores signals that the terminal sends to the whole process group: they are for the program, which may go on. */
static void ignore_the_terminal(void)
{
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGQUIT, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
}

/* Returns the process, or -1. */
static pid_t start(const char *program, const struct lap_token *token, int listener)
{
    pid_t parent = getpid(), process;
    sigset_t ends, before;

    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, &before);
    fflush(NULL);
    process = fork();
    if (process == 0) {
        const struct lap_serve_job job = {
            .program = program, .token = token, .listener = listener, .ends = &ends, .parent = parent};
        ignore_the_terminal();
        _exit(lap_serve(&job) ? LAP_TOOL_OK : LAP_TOOL_FAILED);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return process;
}

bool lap_control_server_begin(struct lap_control_server *commanded, const char *program, const char *address,
                              const char *token_file, bool quiet)
{
    const char *file = token_file ? token_file : getenv("LAPILLI_TOKEN_FILE");
    struct lap_token token = {.count = 0};
    char text[LAP_ADDRESS_TEXT_BYTES];
    int listener = -1;
    enum lap_status status = lap_address_parse(address, &commanded->address);

    commanded->process = 0;
    if (status == LAP_OK && file && *file)
        status = lap_token_read(file, &token);
    if (status == LAP_OK)
        status = lap_listener_open(&commanded->address, &listener);
    if (status == LAP_OK && (commanded->process = start(program, &token, listener)) < 0) {
        status = lap_fail(LAP_ERROR_IO, "no process can be made: %s", strerror(errno));
        commanded->process = 0;
        lap_listener_remove(&commanded->address);
    }
    if (listener >= 0)
        close(listener);
    lap_address_text(&commanded->address, text);
    if (status != LAP_OK)
        fprintf(stderr, "%s: --control: %s\n", program, lap_error_message());
    else if (!quiet)
        fprintf(stderr, "%s: takes commands at %s%s\n", program, text, token.count ? ", with a token" : "");
    explicit_bzero(&token, sizeof token);
    return status == LAP_OK;
}

void lap_control_server_end(struct lap_control_server *commanded)
{
    if (!commanded->process)
        return;
    (void)kill(commanded->process, SIGTERM);
    while (waitpid(commanded->process, NULL, 0) < 0 && errno == EINTR)
        ;
    lap_listener_remove(&commanded->address);
    commanded->process = 0;
}
