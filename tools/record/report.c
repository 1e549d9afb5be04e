/* SPDX-License-Identifier: MIT */
#include "tools/record/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "lapilli-report-"

/* A living launcher holds its own. */
static void delete_old(const char *folder)
{
    DIR *all = opendir(folder);
    struct dirent *entry;
    struct stat info;

    while (all && (entry = readdir(all))) {
        int fd = strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) != 0
                     ? -1
                     : openat(dirfd(all), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
            flock(fd, LOCK_EX | LOCK_NB) == 0)
            (void)unlinkat(dirfd(all), entry->d_name, 0);
        if (fd >= 0)
            close(fd);
    }
    if (all)
        (void)closedir(all);
}

/* False: there can't be one; errno says why. */
static bool make(struct lap_report *report, const char *folder)
{
    struct stat info;

    for (;;) {
        if (asprintf(&report->path, "%s/" PREFIX "XXXXXX", folder) < 0) {
            report->path = NULL;
            return errno = ENOMEM, false;
        }
        report->fd = mkostemp(report->path, O_CLOEXEC);
        /* Another launcher may have taken it for an old one before it was locked. */
        if (report->fd >= 0 && (flock(report->fd, LOCK_EX) != 0 || fstat(report->fd, &info) != 0 || info.st_nlink))
            return true;
        bool again = report->fd >= 0;
        int error = errno;
        if (again)
            close(report->fd);
        free(report->path);
        report->path = NULL;
        if (!again)
            return errno = error, false;
    }
}

bool lap_report_begin(struct lap_report *report, const char *const folders[], size_t count)
{
    char *folder = NULL;

    *report = (struct lap_report){.fd = -1};
    for (size_t i = 0; i < count && !report->path; i++)
        if (folders[i] && *folders[i] && (folder = realpath(folders[i], NULL))) {
            if (make(report, folder))
                delete_old(folder);
            free(folder);
        }
    return report->path != NULL;
}

void lap_report_for(const char *program, const char *pattern, struct lap_report *report)
{
    char *folder = pattern ? strndup(pattern, (size_t)(strrchr(pattern, '/') + 1 - pattern)) : NULL;
    const char *const folders[] = {getenv("TMPDIR"), P_tmpdir, folder};

    if (!lap_report_begin(report, folders, sizeof folders / sizeof *folders))
        fprintf(stderr,
                "%s: traces are neither named nor finished in the end: there is no room for a temporary file: %s\n",
                program, strerror(errno));
    free(folder);
}

void lap_report_end(struct lap_report *report)
{
    if (!report->path)
        return;
    (void)unlink(report->path);
    close(report->fd);
    free(report->path);
    *report = (struct lap_report){.fd = -1};
}
