/* SPDX-License-Identifier: MIT */
/* lapilli-serve: answers questions about traces over HTTP, and has a page that asks them. It reads no trace: other
 * programs of the lapilli command do, each in its sandbox (server/worker.h). */
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file/folder.h"
#include "base/file/new_file.h"
#include "server/http.h"
#include "server/waiting.h"
#include "tools/common/arguments.h"
#include "tools/common/tool.h"
#include "tools/service.h"
#include "trace/receive/listener.h"
#include "vm/frame.h"

#define PROGRAM       "lapilli-serve"
#define USUAL_PORT    "4711"
#define CACHE_MIB     256u
#define ANSWER_PART   4u /* an answer has at most this part of the cache */
#define USUAL_WAITING 2u

static const char help[] =
    "usage: lapilli serve [options] FILE…\n"
    "Shows traces in a browser: frames, commands, pictures, state, objects, shaders, memory. Answers the same "
    "questions\n"
    "to programs, as JSON over HTTP (docs/server.md). Prints the address, with a token that every question needs, and\n"
    "runs until SIGINT or SIGTERM. A FILE may be a folder: then of all files NAME.lapilli in it, also of later ones.\n"
    "\n"
    "  --listen ADDRESS  127.0.0.1:PORT (port 0: a free one) or unix:PATH. Default: port 4711, or a free one if that "
    "is\n"
    "                    taken. Other machines can't connect: forward a port with ssh -L\n"
    "  --open            open the page in the browser (xdg-open)\n"
    "  --gpu GPU         play on this GPU: its number, a part of its name, or its UUID (lapilli replay --list-gpus)\n"
    "  --wait-limit SECONDS\n"
    "                    give a replay up that waits for the device, or stands in a call of the driver, this long;\n"
    "                    default: 60\n"
    "  --on ADDRESS      replays are played where lapilli run --listen waits; --gpu is one of that machine\n"
    "  --on-token-file FILE\n"
    "                    the token of that machine\n"
    "  --device SERIAL   replays are played on this Android device, by adb (lapilli android serve)\n"
    "  --cache MIB       memory for answers; default: 256. No answer is larger than a quarter of it\n"
    "  --waiting N       so many replays wait in front of the frame of the last picture, for the next one; default: "
    "2;\n"
    "                    0: none\n"
    "  --routes          print the paths of all questions as a table, and end\n"
    "  --quiet           print only the address\n"
    "  --help            this text\n"
    "\n"
    "Exit status: 0 ended by a signal; 1 it can't listen, or out of memory; 2 wrong usage; 3 a FILE is not there.\n";

struct options {
    const char *listen, *on, *on_token_file, *device;
    struct lap_playing playing;
    bool open, routes, quiet;
    uint64_t cache, waiting;
    char **files;
};

static const struct lap_verb verb = {PROGRAM, help};

/* Fills *options, or returns an exit status, which is not negative. */
static int parse(int argc, char **argv, struct options *options)
{
    const struct lap_argument rows[] = {LAP_TEXT("listen", &options->listen),
                                        LAP_FLAG("open", &options->open),
                                        LAP_TEXT("gpu", &options->playing.gpu),
                                        LAP_TEXT("wait-limit", &options->playing.wait_limit),
                                        LAP_TEXT("on", &options->on),
                                        LAP_TEXT("on-token-file", &options->on_token_file),
                                        LAP_TEXT("device", &options->device),
                                        LAP_NUMBER("cache", &options->cache, 4, 1u << 20),
                                        LAP_NUMBER("waiting", &options->waiting, 0, LAP_WAITING_MOST),
                                        LAP_FLAG("routes", &options->routes),
                                        LAP_FLAG("quiet", &options->quiet),
                                        LAP_WORDS(&options->files)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code < 0 && options->on_token_file && !options->on)
        return lap_usage(&verb, "--on-token-file is for --on");
    if (code < 0 && options->device && options->on)
        return lap_usage(&verb, "--on and --device are two ways to say where replays are played");
    if (code >= 0 || !options->routes)
        return code;
    lap_http_print_routes();
    return lap_tool_end_output(PROGRAM, LAP_TOOL_OK);
}

/* ---- replays on another machine ---- */

/* Becomes the program that prepares the device, and then starts this one with --on. */
static int become_device(char **arguments, const char *serial)
{
    const char **words;
    size_t count = 0;

    while (arguments[count])
        count++;
    words = calloc(count + 6, sizeof *words);
    if (!words)
        return LAP_TOOL_FAILED;
    count = 0;
    words[count++] = "lapilli-android";
    words[count++] = "serve";
    words[count++] = "--serial";
    words[count++] = serial;
    words[count++] = "--";
    for (char **at = arguments + 1; *at; at++)
        if (strcmp(*at, "--device") == 0)
            at++;
        else if (strncmp(*at, "--device=", strlen("--device=")) != 0)
            words[count++] = *at;
    return lap_tool_become(PROGRAM, words[0], words);
}

/* For all programs that we start, which have other current folders. */
static int set_elsewhere(const struct options *options)
{
    char path[PATH_MAX], address[PATH_MAX + 8];
    struct lap_address to;

    if (!options->on)
        return LAP_TOOL_OK;
    if (lap_address_parse(options->on, &to) != LAP_OK)
        return lap_usage(&verb, lap_error_message());
    snprintf(address, sizeof address, "%s", options->on);
    if (strncmp(options->on, "unix:", 5) == 0 && options->on[5] != '@' && realpath(options->on + 5, path))
        snprintf(address, sizeof address, "unix:%s", path);
    if (setenv(LAP_VM_ON, address, 1) != 0)
        return LAP_TOOL_FAILED;
    if (!options->on_token_file)
        return LAP_TOOL_OK;
    if (!realpath(options->on_token_file, path)) {
        fprintf(stderr, PROGRAM ": %s: %s\n", options->on_token_file, strerror(errno));
        return LAP_TOOL_USAGE;
    }
    return setenv(LAP_VM_ON_TOKEN, path, 1) == 0 ? LAP_TOOL_OK : LAP_TOOL_FAILED;
}

/* ---- where it is ---- */

struct place {
    struct lap_address address;
    int listener, port;
    char token[LAP_HTTP_TOKEN_BYTES];
    char url[LAP_ADDRESS_TEXT_BYTES + 64];
    char folder[PATH_MAX], file[PATH_MAX + 64]; /* of the address; "": none */
};

static bool make_token(char out[LAP_HTTP_TOKEN_BYTES])
{
    unsigned char bytes[(LAP_HTTP_TOKEN_BYTES - 1) / 2];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static enum lap_status listen_at(const char *where, struct place *place)
{
    char text[LAP_ADDRESS_TEXT_BYTES];
    enum lap_status status;

    snprintf(text, sizeof text, "%s%s", strstr(where, "://") || strncmp(where, "unix:", 5) == 0 ? "" : "tcp://", where);
    status = lap_address_parse(text, &place->address);
    if (status == LAP_OK && !place->address.local)
        status = lap_fail(LAP_ERROR_ARGUMENT, "other machines can't connect: listen at 127.0.0.1 or a Unix socket, and "
                                              "forward a port with ssh -L");
    return status == LAP_OK ? lap_listener_open(&place->address, &place->listener) : status;
}

static enum lap_status listen_somewhere(const char *where, struct place *place)
{
    const struct sockaddr_storage *storage = &place->address.storage;
    enum lap_status status = listen_at(where ? where : "127.0.0.1:" USUAL_PORT, place);
    char text[LAP_ADDRESS_TEXT_BYTES];

    if (status == LAP_ERROR_IO && !where)
        status = listen_at("127.0.0.1:0", place);
    if (status != LAP_OK)
        return status;
    if (!make_token(place->token))
        return lap_fail(LAP_ERROR_IO, "there are no random numbers: %s", strerror(errno));
    lap_address_text(&place->address, text);
    if (storage->ss_family == AF_INET)
        place->port = ntohs(((const struct sockaddr_in *)storage)->sin_port);
    else if (storage->ss_family == AF_INET6)
        place->port = ntohs(((const struct sockaddr_in6 *)storage)->sin6_port);
    if (place->port)
        snprintf(place->url, sizeof place->url, "http://%s/?token=%s", text + strlen("tcp://"), place->token);
    else
        snprintf(place->url, sizeof place->url, "http://localhost/?token=%s", place->token);
    return LAP_OK;
}

/* The folder for files of one user's running programs. */
static bool find_folder(char out[PATH_MAX])
{
    const char *run = getenv("XDG_RUNTIME_DIR"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = run && *run == '/'       ? snprintf(out, PATH_MAX, "%s/lapilli", run)
                 : cache && *cache == '/' ? snprintf(out, PATH_MAX, "%s/lapilli", cache)
                 : home && *home == '/'   ? snprintf(out, PATH_MAX, "%s/.cache/lapilli", home)
                                          : PATH_MAX;

    return length < PATH_MAX && lap_folder_make(out) == LAP_OK;
}

/* Programs find the address in a file, and a browser a page that leads to it: what a command line has, others can
 * read. */
static void write_file(struct place *place, const char *ending, const char *format)
{
    int fd;

    if (!*place->folder)
        return;
    if (place->port)
        snprintf(place->file, sizeof place->file, "%s/serve-%d%s", place->folder, place->port, ending);
    else
        snprintf(place->file, sizeof place->file, "%s/serve-%ld%s", place->folder, (long)getpid(), ending);
    fd = lap_new_file(place->file);
    if (fd < 0) {
        fprintf(stderr, PROGRAM ": %s can't be written: %s\n", place->file, strerror(errno));
        *place->file = 0;
        return;
    }
    (void)dprintf(fd, format, place->url);
    close(fd);
}

static void open_page(struct place *place)
{
    char file[sizeof place->file];
    pid_t child;

    memcpy(file, place->file, sizeof file);
    write_file(place, ".html", "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=%s\">\n");
    child = *place->file ? fork() : -1;
    if (child == 0) {
        sigset_t none;
        sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)signal(SIGPIPE, SIG_DFL);
        if (fork() != 0)
            _exit(0); /* the browser is not this program's to wait for */
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        execlp("xdg-open", "xdg-open", place->file, (char *)NULL);
        dprintf(STDERR_FILENO, PROGRAM ": xdg-open can't be started: %s\n", strerror(errno));
        _exit(127);
    }
    if (child > 0)
        (void)waitpid(child, NULL, 0);
    memcpy(place->file, file, sizeof file);
}

static void remove_files(struct place *place)
{
    char page[sizeof place->file + 8];

    lap_listener_remove(&place->address);
    if (!*place->file)
        return;
    snprintf(page, sizeof page, "%s.html", place->file);
    (void)unlink(place->file);
    (void)unlink(page);
}

/* ---- serving ---- */

static void wait_for_end(const sigset_t *signals)
{
    int number;

    while (sigwait(signals, &number) != 0)
        ;
}

static int serve(const struct options *options, const struct lap_service *service, struct place *place)
{
    const struct lap_http_options http = {.listener = place->listener,
                                          .port = place->port,
                                          .token = place->token,
                                          .captures = service->captures,
                                          .answers = service->answers,
                                          .codes = service->codes,
                                          .works = service->works};
    struct lap_http *server = NULL;
    sigset_t signals;
    enum lap_status status;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    status = lap_http_start(&http, &server);
    if (status != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        return LAP_TOOL_FAILED;
    }
    write_file(place, "", "%s\n");
    printf("%s\n", place->url);
    if (!options->quiet && *place->file)
        fprintf(stderr, PROGRAM ": the address is also in %s\n", place->file);
    if (!options->quiet && !place->port)
        fprintf(stderr, PROGRAM ": at a Unix socket: curl --unix-socket PATH 'http://localhost/v1/captures?token=…'\n");
    (void)fflush(stdout);
    if (options->open && place->port)
        open_page(place);
    wait_for_end(&signals);
    lap_works_stop(service->works);
    lap_http_stop(&server);
    return lap_tool_end_output(PROGRAM, LAP_TOOL_OK);
}

int main(int argc, char **argv)
{
    static struct place place = {.listener = -1};
    struct lap_service service;
    struct options options = {.cache = CACHE_MIB, .waiting = USUAL_WAITING};
    int code = parse(argc, argv, &options);
    enum lap_status status;

    if (code >= 0)
        return code;
    if (options.device)
        return become_device(argv, options.device);
    code = set_elsewhere(&options);
    if (code != LAP_TOOL_OK)
        return code;
    code = lap_service_open(&verb, options.files, &options.playing, (size_t)options.cache << 20,
                            (unsigned)options.waiting, &service);
    if (code != LAP_TOOL_OK)
        return code;
    status = listen_somewhere(options.listen, &place);
    if (status != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        code = status == LAP_ERROR_ARGUMENT ? LAP_TOOL_USAGE : LAP_TOOL_FAILED;
    } else {
        if (!find_folder(place.folder))
            *place.folder = 0;
        code = serve(&options, &service, &place);
        remove_files(&place);
    }
    lap_service_close(&service);
    return code;
}
