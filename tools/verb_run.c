/* SPDX-License-Identifier: MIT */
/*
 * lapilli-run: plays replay programs (docs/vm.md), here or on another machine, and plays those of others.
 *
 * Here, too, a process plays the device (tools/program/run_device.h), so that both ways are one. The owner's side
 * (tools/program/run_owner.h) is in a sandbox.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file/folder.h"
#include "base/file/new_file.h"
#include "tools/common/arguments.h"
#include "tools/common/tool.h"
#include "tools/program/run_device.h"
#include "tools/program/run_guests.h"
#include "tools/program/run_owner.h"
#include "trace/receive/listener.h"
#include "trace/send/send.h"

#define PROGRAM          "lapilli-run"
#define BATCH_BYTES      ((size_t)16 << 20)
#define CACHE_MIB        4096u
#define PROGRAM_MIB      256u
#define MOST_PROGRAM_MIB 4096u

static const char help[] =
    "usage: lapilli run [options] PROG|TRACE [options of lapilli replay]\n"
    "       lapilli run --listen ADDRESS [options]\n"
    "Plays a replay program (lapilli compile), here or on another machine; or plays those of others. The messages and\n"
    "the files of the replay come here.\n"
    "\n"
    "  --on ADDRESS       play where lapilli run --listen waits: unix:PATH, tcp://HOST:PORT\n"
    "  --wait             play the initial part (lapilli compile --frames), then wait for a line on standard input\n"
    "  --resources DIR    take the resources that PROG lacks from this folder (lapilli compile --resources)\n"
    "  --posts FILE       write what the program posts, as lines of JSON\n"
    "  --listen ADDRESS   wait for programs, and play them on this machine\n"
    "  --cache DIR        with --listen: keep resources and programs in this folder, so that they are sent once\n"
    "  --cache-size MIB   so much of them (default: 4096); the least recently used ones go\n"
    "  --program-size MIB\n"
    "                     with --listen: take programs of at most so much, without their resources (default: 256)\n"
    "  --once             with --listen: end after one program\n"
    "  --token-file FILE  the same secret on both sides; needed for addresses of other machines\n"
    "  --sandbox HOW      on: end if the kernel has no full sandbox; off: use none; auto (default): use what the\n"
    "                     kernel has (SECURITY.md)\n"
    "  --progress FD      write lines of JSON to this open descriptor: how far the replay is\n"
    "  --quiet            print only errors, and what the replay says\n"
    "  --help             this text\n"
    "\n"
    "Exit status: as lapilli replay; 1 also if the connection or a file is lost. With --listen: 0; 1 it can't listen;\n"
    "2 wrong usage.\n";

struct options {
    const char *program, *on, *resources, *posts, *listen, *cache, *token_file;
    enum lap_sandbox_wish sandbox;
    uint64_t cache_mib, program_mib;
    uint64_t progress_fd;
    bool once, waits, quiet;
    struct lap_address address;
    struct lap_token token;
    struct run_words words;
    char replayer[PATH_MAX];
};

static const struct lap_verb verb = {PROGRAM, help};

/* ---- the command line ---- */

/* An exit status, or -1. */
static int check(struct options *options, char **words)
{
    if (options->listen) {
        if (*words || options->on || options->resources || options->posts || options->waits)
            return lap_usage(&verb, "--listen is for the programs of others, with --cache, --cache-size, "
                                    "--program-size, --once and --token-file");
        if (lap_address_parse(options->listen, &options->address) != LAP_OK)
            return lap_usage(&verb, lap_error_message());
        if (options->token_file && lap_token_read(options->token_file, &options->token) != LAP_OK)
            return lap_usage(&verb, lap_error_message());
        if (!options->program_mib)
            options->program_mib = PROGRAM_MIB;
        return options->address.local || options->token.count ? -1
                                                              : lap_usage(&verb, "other machines need --token-file");
    }
    if (!*words)
        return lap_usage(&verb, "PROG is missing");
    if (options->cache || options->once || options->program_mib)
        return lap_usage(&verb, "--cache, --program-size and --once are for --listen");
    options->program_mib = MOST_PROGRAM_MIB; /* one's own */
    if (options->token_file && !options->on)
        return lap_usage(&verb, "--token-file is for --on and --listen");
    options->program = words[0];
    if (run_words_parse(words + 1, &options->words) != LAP_OK)
        return lap_usage(&verb, lap_error_message());
    if (options->quiet && run_words_add(&options->words, "--quiet") != LAP_OK)
        return lap_usage(&verb, lap_error_message());
    return -1;
}

/* An exit status, or -1. */
static int parse(int argc, char **argv, struct options *options)
{
    char **words;
    const struct lap_argument rows[] = {LAP_TEXT("on", &options->on),
                                        LAP_FLAG("wait", &options->waits),
                                        LAP_TEXT("resources", &options->resources),
                                        LAP_TEXT("posts", &options->posts),
                                        LAP_TEXT("listen", &options->listen),
                                        LAP_TEXT("cache", &options->cache),
                                        LAP_NUMBER("cache-size", &options->cache_mib, 0, UINT32_MAX),
                                        LAP_NUMBER("program-size", &options->program_mib, 1, MOST_PROGRAM_MIB),
                                        LAP_FLAG("once", &options->once),
                                        LAP_TEXT("token-file", &options->token_file),
                                        LAP_VALUE("sandbox", &options->sandbox, lap_take_sandbox),
                                        LAP_NUMBER("progress", &options->progress_fd, 3, INT32_MAX),
                                        LAP_FLAG("quiet", &options->quiet),
                                        LAP_COMMAND(&words)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    return code >= 0 ? code : check(options, words);
}

/* ---- the device's side ---- */

/* The process of one connection. Returns the exit status. */
static int play(void *user, int fd, int stop)
{
    const struct options *options = user;
    struct run_device device = {.name = PROGRAM,
                                .replayer = options->replayer,
                                .sandbox = lap_sandbox_wish_name(options->sandbox),
                                .batch_bytes = BATCH_BYTES,
                                .most_program = options->program_mib << 20,
                                .stop = stop,
                                .quiet = options->quiet};
    const uint64_t cache_bytes = options->cache_mib << 20;
    bool good;

    /* It ends with its connection: then there is nothing left of it. */
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL);
    if (options->cache && lap_vm_folder_open(options->cache, cache_bytes, &device.cache) != LAP_OK)
        fprintf(stderr, PROGRAM ": there is no cache: %s\n", lap_error_message());
    if (device.cache && cache_bytes / 2 < device.batch_bytes)
        device.batch_bytes = (size_t)(cache_bytes / 2);
    good = run_device_serve(&device, fd);
    lap_vm_folder_close(&device.cache);
    return good ? LAP_TOOL_OK : LAP_TOOL_FAILED;
}

static int listen_and_serve(struct options *options)
{
    char text[LAP_ADDRESS_TEXT_BYTES];
    sigset_t all, before;
    int listener, signals, code;

    if (options->cache && lap_folder_make(options->cache) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        return LAP_TOOL_FAILED;
    }
    sigemptyset(&all);
    sigaddset(&all, SIGINT);
    sigaddset(&all, SIGTERM);
    sigaddset(&all, SIGHUP);
    sigaddset(&all, SIGCHLD);
    (void)signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_BLOCK, &all, &before);
    signals = signalfd(-1, &all, SFD_CLOEXEC);
    if (signals < 0 || lap_listener_open(&options->address, &listener) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", signals < 0 ? strerror(errno) : lap_error_message());
        return LAP_TOOL_FAILED;
    }
    lap_address_text(&options->address, text);
    if (!options->quiet)
        fprintf(stderr, PROGRAM ": waits for programs at %s%s\n", text, options->token.count ? ", with a token" : "");
    code = run_guests_serve(&(struct run_guests_job){.name = PROGRAM,
                                                     .token = &options->token,
                                                     .listener = listener,
                                                     .signals = signals,
                                                     .before = &before,
                                                     .once = options->once,
                                                     .play = play,
                                                     .user = options});
    close(listener);
    close(signals);
    lap_listener_remove(&options->address);
    return code;
}

/* ---- the owner's side ---- */

/* A process of ours that plays. */
static int make_device(struct options *options, pid_t *out_process)
{
    int both[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0)
        return -1;
    *out_process = fork();
    if (*out_process == 0) {
        close(both[0]);
        _exit(play(options, both[1], -1));
    }
    close(both[1]);
    if (*out_process > 0)
        return both[0];
    close(both[0]);
    return -1;
}

static int find_device(struct options *options, pid_t *out_process)
{
    const struct lap_send_options to = {
        .address = options->on, .token_file = options->token_file, .program = PROGRAM, .role = LAP_ROLE_RUN};
    uint64_t waited_ms;
    int fd = -1;

    if (!options->on) {
        fd = make_device(options, out_process);
        if (fd < 0)
            fprintf(stderr, PROGRAM ": no process can be made for the replay: %s\n", strerror(errno));
    } else if (lap_send_connect(&to, &fd, &waited_ms) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        fd = -1;
    }
    return fd;
}

static int run(struct options *options)
{
    struct run_owner owner = {.name = PROGRAM,
                              .program = options->program,
                              .resources = options->resources,
                              .words = &options->words,
                              .sandbox = options->sandbox,
                              .progress_fd = (int)options->progress_fd,
                              .waits = options->waits,
                              .quiet = options->quiet};
    pid_t process = -1;
    int fd, posts = -1, code = LAP_TOOL_FAILED;

    (void)signal(SIGPIPE, SIG_IGN);
    if (run_owner_prepare(&owner) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        return LAP_TOOL_USAGE;
    }
    if (options->posts && ((posts = lap_new_file(options->posts)) < 0 || !(owner.posts = fdopen(posts, "w")))) {
        fprintf(stderr, PROGRAM ": %s can't be written: %s\n", options->posts, strerror(errno));
        return LAP_TOOL_FAILED;
    }
    fd = find_device(options, &process);
    if (fd >= 0) {
        code = run_owner_run(&owner, fd);
        close(fd);
    }
    if (process > 0)
        (void)waitpid(process, NULL, 0);
    if (owner.posts && (ferror(owner.posts) | fclose(owner.posts)) != 0) {
        fprintf(stderr, PROGRAM ": %s can't be written\n", options->posts);
        code = code == LAP_TOOL_OK ? LAP_TOOL_FAILED : code;
    }
    return lap_tool_end_output(PROGRAM, code);
}

int main(int argc, char **argv)
{
    static struct options options = {.cache_mib = CACHE_MIB};
    int code = parse(argc, argv, &options);

    if (code < 0) {
        if (!lap_tool_find_beside("lapilli-replay", options.replayer))
            snprintf(options.replayer, sizeof options.replayer, "lapilli-replay");
        code = options.listen ? listen_and_serve(&options) : run(&options);
    }
    run_words_finish(&options.words);
    return code;
}
