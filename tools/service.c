/* SPDX-License-Identifier: MIT */
#include "tools/service.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/folder.h"
#include "server/codes.h"
#include "tools/common/tool.h"

#define ANSWER_PART  4u
#define MOST_READERS 16
#define MOST_FILES   64
#define SCRATCH      "lapilli-serve-"
#define TRIES        8u

/* ---- the folder for files: it is locked as long as its service lives ---- */

/* -1: another one has the lock, or it is no folder of ours any more. */
static int lock_folder(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        fstat(fd, &info) == 0 && info.st_nlink)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Of services that were killed. */
static void remove_left_folders(const char *where)
{
    DIR *all = opendir(where);

    for (struct dirent *one; all && (one = readdir(all));) {
        char path[PATH_MAX];
        int lock;
        if (strncmp(one->d_name, SCRATCH, strlen(SCRATCH)) != 0 ||
            (size_t)snprintf(path, sizeof path, "%s/%s", where, one->d_name) >= sizeof path ||
            (lock = lock_folder(path)) < 0)
            continue;
        lap_folder_remove(path);
        close(lock);
    }
    if (all)
        closedir(all);
}

static bool make_scratch(const char *program, struct lap_service *service)
{
    const char *temporary = getenv("TMPDIR"), *where = temporary && *temporary == '/' ? temporary : "/tmp";

    remove_left_folders(where);
    for (unsigned tries = 0; tries < TRIES; tries++) {
        snprintf(service->scratch, sizeof service->scratch, "%s/" SCRATCH "XXXXXX", where);
        if (!mkdtemp(service->scratch))
            break;
        service->lock = lock_folder(service->scratch);
        if (service->lock >= 0)
            return true; /* else another one took it for one that was left */
    }
    fprintf(stderr, "%s: %s: %s\n", program, service->scratch, strerror(errno));
    *service->scratch = 0;
    return false;
}

/* The folder of the verbs, and one for files. */
static bool find_folders(const char *program, struct lap_service *service)
{
    char *slash;

    if (!lap_tool_find_beside("lapilli-info", service->programs) || !(slash = strrchr(service->programs, '/'))) {
        fprintf(stderr, "%s: the other programs of the lapilli command are not beside this one\n", program);
        return false;
    }
    *slash = 0;
    return make_scratch(program, service);
}

int lap_service_open(const struct lap_verb *verb, char **files, const struct lap_playing *playing, size_t cache,
                     unsigned waiting, struct lap_service *out)
{
    const char *program = verb->program;
    size_t count = 0;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct lap_works_options options = {
        .programs = out->programs, .scratch = out->scratch, .playing = *playing, .waiting = waiting};
    enum lap_status status;

    while (files[count])
        count++;
    if (!count || count > MOST_FILES)
        return lap_usage(verb, count ? "64 FILEs at most" : "FILE is missing");
    *out = (struct lap_service){.lock = -1};
    if (!find_folders(program, out))
        return LAP_TOOL_FAILED;
    status = lap_captures_new((const char *const *)(uintptr_t)files, count, out->programs, &out->captures);
    if (status != LAP_OK) {
        fprintf(stderr, "%s: %s\n", program, lap_error_message());
        lap_service_close(out);
        return status == LAP_ERROR_IO ? LAP_TOOL_NO_TRACE : LAP_TOOL_FAILED;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL); /* with SIG_IGN, no end of a child would be known */
    options.captures = out->captures;
    options.answers = out->answers = lap_answers_new(cache);
    options.most_bytes = cache / ANSWER_PART;
    options.at_once = processors < 2 ? 2 : processors > MOST_READERS ? MOST_READERS : (unsigned)processors;
    options.codes = out->codes = lap_codes_new();
    out->works = out->answers && out->codes ? lap_works_new(&options) : NULL;
    if (out->works)
        return LAP_TOOL_OK;
    fprintf(stderr, "%s: out of memory\n", program);
    lap_service_close(out);
    return LAP_TOOL_FAILED;
}

void lap_service_close(struct lap_service *service)
{
    lap_works_free(&service->works);
    lap_answers_free(&service->answers);
    lap_codes_free(&service->codes);
    lap_captures_free(&service->captures);
    if (*service->scratch)
        (void)rmdir(service->scratch);
    if (service->lock >= 0)
        close(service->lock);
}
