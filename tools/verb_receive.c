/* SPDX-License-Identifier: MIT */
/*
 * lapilli-receive: writes the traces that recorded processes stream. A child process does the work in a sandbox, with
 * the socket open and the folder for the traces; one thread for each connection (tools/record/serve.h,
 * tools/record/receive_trace.h).
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file/folder.h"
#include "base/pattern.h"
#include "tools/common/arguments.h"
#include "tools/common/output_name.h"
#include "tools/common/tool.h"
#include "tools/record/receive_trace.h"
#include "tools/record/serve.h"
#include "trace/receive/listener.h"

#define PROGRAM "lapilli-receive"

static const char help[] =
    "usage: lapilli receive [options] --listen ADDRESS [-o DIR]\n"
    "Writes the traces that programs stream, which run with lapilli capture -o ADDRESS or LAPILLI_FILE=ADDRESS: one\n"
    "file for each process. When a connection ends before its trace, the file is finished, as by lapilli repair.\n"
    "\n"
    "  --listen ADDRESS   unix:PATH, unix:@NAME, or tcp://HOST:PORT (HOST: a number or localhost; PORT 0: any that is\n"
    "                     free)\n"
    "  -o, --output DIR   the folder for the traces, created if missing (default: the current one)\n"
    "  --name PATTERN     the name of a trace (default: %e.lapilli); " LAP_PATTERN_HELP ".\n"
    "                     Nothing is overwritten: a number is added instead.\n"
    "  --token-file FILE  only from programs with the same token (LAPILLI_TOKEN_FILE). Needed for addresses of other\n"
    "                     machines, and for other users at unix:@NAME\n"
    "  --once             end after one trace\n"
    "  --exit-when-done   end when a trace has come and no program is connected any more: behind the last of several\n"
    "  --sandbox HOW      on: end if the kernel has no full sandbox; off: use none; auto (default): use what the\n"
    "                     kernel has (SECURITY.md)\n"
    "  --json             one JSON object in a line for the address, and for each trace\n"
    "  --quiet            print only errors, and traces without an end\n"
    "  --help             this text\n"
    "\n"
    "SIGINT, SIGTERM and SIGHUP end it: traces that are under way are finished before.\n"
    "\n"
    "Exit status: 0; 1 the address can't be used, or a trace not be written; 2 wrong usage; 4 the end of a trace is\n"
    "missing.\n";

struct options {
    const char *listen, *folder, *token_file;
    enum lap_sandbox_wish sandbox;
    bool once, when_done;
    struct lap_receive_job job;
};

static const struct lap_verb verb = {PROGRAM, help};

/* ---- the options ---- */

static int check(struct options *options, struct lap_address *address)
{
    const char *fault = lap_pattern_fault(options->job.pattern);

    if (!options->listen)
        return lap_usage(&verb, "--listen is missing");
    if (lap_address_parse(options->listen, address) != LAP_OK)
        return lap_usage(&verb, lap_error_message());
    if (fault || !*options->job.pattern || strchr(options->job.pattern, '/'))
        return lap_usage(&verb, "--name is a name without a folder; " LAP_PATTERN_HELP);
    if (options->token_file && lap_token_read(options->token_file, &options->job.token) != LAP_OK)
        return lap_usage(&verb, lap_error_message());
    if (!address->local && !options->job.token.count)
        return lap_usage(&verb, "other machines need --token-file");
    if (options->once && options->when_done)
        return lap_usage(&verb, "--once and --exit-when-done exclude each other");
    return -1;
}

static int parse(int argc, char **argv, struct options *options, struct lap_address *address)
{
    const struct lap_argument rows[] = {LAP_TEXT("listen", &options->listen),
                                        LAP_OUTPUT(&options->folder),
                                        LAP_TEXT("name", &options->job.pattern),
                                        LAP_TEXT("token-file", &options->token_file),
                                        LAP_FLAG("once", &options->once),
                                        LAP_FLAG("exit-when-done", &options->when_done),
                                        LAP_VALUE("sandbox", &options->sandbox, lap_take_sandbox),
                                        LAP_FLAG("json", &options->job.json),
                                        LAP_FLAG("quiet", &options->job.quiet)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    return code >= 0 ? code : check(options, address);
}

static void say_address(const struct options *options, const struct lap_address *address)
{
    char text[LAP_ADDRESS_TEXT_BYTES];
    lap_address_text(address, text);
    if (options->job.json)
        lap_receive_say_listening(text);
    else if (!options->job.quiet)
        fprintf(stderr, PROGRAM ": waits for traces at %s%s\n", text, options->job.token.count ? ", with a token" : "");
}

/* ---- the child: serving ---- */

static struct {
    pthread_mutex_t mutex;
    bool failed, incomplete;
} seen = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool take_trace(void *user, int fd, const struct lap_greeted *from, const atomic_bool *told_to_end)
{
    enum lap_receive_outcome outcome = lap_receive_trace(user, fd, from, told_to_end);

    pthread_mutex_lock(&seen.mutex);
    seen.failed |= outcome == LAP_RECEIVE_FAILED;
    seen.incomplete |= outcome == LAP_RECEIVE_INCOMPLETE;
    pthread_mutex_unlock(&seen.mutex);
    return outcome != LAP_RECEIVE_NOTHING;
}

static int child(struct options *options, int listener, const sigset_t *ends, pid_t parent)
{
    const struct lap_serve_job job = {.program = PROGRAM,
                                      .token = &options->job.token,
                                      .listener = listener,
                                      .ends = ends,
                                      .parent = parent,
                                      .sandbox = options->sandbox,
                                      .folder = options->job.folder,
                                      .take_trace = take_trace,
                                      .user = &options->job,
                                      .once = options->once,
                                      .until_they_leave = options->when_done,
                                      .line = &options->job.line,
                                      .show = options->job.line.wanted ? lap_receive_show : NULL};

    if (!lap_serve(&job) || seen.failed)
        return LAP_TOOL_FAILED;
    return lap_tool_end_output(PROGRAM, seen.incomplete ? LAP_TOOL_INCOMPLETE : LAP_TOOL_OK);
}

/* ---- the parent ---- */

/* Passes signals on; returns the child's exit status. */
static int wait_for(pid_t process, const sigset_t *signals, struct lap_status_line *line)
{
    int number, status;
    for (;;) {
        if (sigwait(signals, &number) == 0 && number != SIGCHLD)
            (void)kill(process, SIGTERM);
        if (waitpid(process, &status, WNOHANG) == process)
            break;
    }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    line->shown = line->wanted; /* by that process, perhaps */
    lap_status_line_print(line, PROGRAM ": the process that does the work was ended: %s\n",
                          strsignal(WTERMSIG(status)));
    return LAP_TOOL_FAILED;
}

static int run(struct options *options, struct lap_address *address)
{
    sigset_t ends, all;
    int listener, code;
    pid_t process, parent = getpid();

    if (lap_listener_open(address, &listener) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        return LAP_TOOL_FAILED;
    }
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    all = ends;
    sigaddset(&all, SIGCHLD);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGPIPE, SIG_IGN); /* of stdout */
    sigprocmask(SIG_BLOCK, &all, NULL);
    say_address(options, address);
    lap_receive_job_init(&options->job);
    fflush(NULL);
    process = fork();
    if (process == 0)
        exit(child(options, listener, &ends, parent));
    if (process < 0)
        fprintf(stderr, PROGRAM ": no process can be made: %s\n", strerror(errno));
    code = process < 0 ? LAP_TOOL_FAILED : wait_for(process, &all, &options->job.line);
    lap_listener_remove(address);
    close(listener);
    return code;
}

int main(int argc, char **argv)
{
    static struct options options = {.folder = ".", .job = {.program = PROGRAM, .pattern = "%e.lapilli"}};
    struct lap_address address;
    char folder[PATH_MAX];
    int code = parse(argc, argv, &options, &address);

    if (code >= 0)
        return code;
    if (lap_folder_make(options.folder) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        return LAP_TOOL_USAGE;
    }
    if (!realpath(options.folder, folder)) {
        fprintf(stderr, PROGRAM ": %s: %s\n", options.folder, strerror(errno));
        return LAP_TOOL_USAGE;
    }
    if (!lap_output_folder_check(PROGRAM, folder, "traces"))
        return LAP_TOOL_USAGE;
    options.job.folder = folder;
    return run(&options, &address);
}
