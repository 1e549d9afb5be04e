/* SPDX-License-Identifier: MIT */
#include "tools/record/file_position.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a descriptor: "pos:\t1234". */
static bool position_of(pid_t process, const char *descriptor, uint64_t *out)
{
    char path[320], line[128];
    bool found = false;

    snprintf(path, sizeof path, "/proc/%d/fdinfo/%.200s", (int)process, descriptor);
    FILE *info = fopen(path, "re");
    while (info && !found && fgets(line, sizeof line, info))
        if ((found = strncmp(line, "pos:", 4) == 0))
            *out = strtoull(line + 4, NULL, 10);
    if (info)
        (void)fclose(info);
    return found;
}

bool lap_file_position(pid_t process, const struct stat *file, uint64_t *out)
{
    char path[64];
    struct dirent *entry;
    struct stat its;
    bool found = false;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)process);
    DIR *all = opendir(path);
    while (all && !found && (entry = readdir(all)))
        found = fstatat(dirfd(all), entry->d_name, &its, 0) == 0 && its.st_dev == file->st_dev &&
                its.st_ino == file->st_ino && position_of(process, entry->d_name, out);
    if (all)
        (void)closedir(all);
    return found;
}
