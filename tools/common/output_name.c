/* SPDX-License-Identifier: MIT */
#include "tools/common/output_name.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/crash/tail.h"

/* `text` with every % doubled, so that the layer takes it literally. */
static char *escape(const char *text)
{
    char *out = malloc(2 * strlen(text) + 1), *p = out;

    if (!out)
        return NULL;
    for (; *text; text++) {
        if (*text == '%')
            *p++ = '%';
        *p++ = *text;
    }
    *p = 0;
    return out;
}

char *lap_output_name(const char *output, const char *program)
{
    const char *slash = strrchr(program, '/');
    char *here = getcwd(NULL, 0), *folder = here ? escape(here) : NULL;
    char *name = output ? strdup(output) : escape(slash ? slash + 1 : program);
    size_t bytes = folder && name ? strlen(folder) + strlen(name) + sizeof "/.lapilli" : 0;
    char *pattern = bytes ? malloc(bytes) : NULL;

    if (pattern)
        snprintf(pattern, bytes, "%s%s%s%s", name[0] == '/' ? "" : folder, name[0] == '/' ? "" : "/", name,
                 output ? "" : ".lapilli");
    free(here);
    free(folder);
    free(name);
    return pattern;
}

char *lap_output_path(const char *path)
{
    char *name = escape(path), *pattern = name ? lap_output_name(name, "") : NULL;

    free(name);
    return pattern;
}

bool lap_output_folder_check(const char *program, const char *path, const char *what)
{
    struct stat info;

    if (stat(path, &info) != 0) {
        fprintf(stderr, "%s: the folder %s for the %s can't be used: %s\n", program, path, what, strerror(errno));
        return false;
    }
    if (!S_ISDIR(info.st_mode)) {
        fprintf(stderr, "%s: %s, where the %s should go, is no folder\n", program, path, what);
        return false;
    }
    if (access(path, W_OK | X_OK) != 0) {
        fprintf(stderr, "%s: the %s can't be written to %s: %s\n", program, what, path, strerror(errno));
        return false;
    }
    return true;
}

/* Expands a pattern as the layer does, without the places that are unknown until the trace is created. *out_places
 * counts them, and the text is as short as it can be. Returns its length in bytes; `out` has the part that fits. */
static size_t expand(const char *pattern, const char *end, char *out, size_t room, unsigned *out_places)
{
    size_t at = 0;

    *out_places = 0;
    for (const char *p = pattern; p < end; p++) {
        if (*p == '%' && p[1] != '%')
            ++*out_places;
        p += *p == '%';
        if (at + 1 < room)
            out[at] = *p;
        at++;
    }
    out[at < room ? at : room - 1] = 0;
    return at;
}

static bool check_lengths(const char *program, const char *folder, size_t path_bytes, size_t name_bytes)
{
    const size_t suffix = strlen(LAP_TAIL_SUFFIX);
    long most = folder ? pathconf(folder, _PC_NAME_MAX) : NAME_MAX;

    if (most < 0)
        most = NAME_MAX;
    if (name_bytes + suffix > (size_t)most) {
        fprintf(stderr,
                "%s: the name of the trace has %zu bytes, more than the %zu that the file system allows (beside it, "
                "while it is recorded, is a file whose name has %zu more)\n",
                program, name_bytes, (size_t)most - suffix, suffix);
        return false;
    }
    if (path_bytes + suffix >= PATH_MAX) {
        fprintf(stderr, "%s: the path of the trace has %zu bytes, more than the %zu that there may be\n", program,
                path_bytes, PATH_MAX - 1 - suffix);
        return false;
    }
    return true;
}

bool lap_output_name_check(const char *program, const char *pattern)
{
    const char *slash = strrchr(pattern, '/'), *end = pattern + strlen(pattern);
    char path[PATH_MAX], folder[PATH_MAX], name[NAME_MAX + 1];
    unsigned places, places_in_folder, places_in_name;
    size_t path_bytes = expand(pattern, end, path, sizeof path, &places);
    size_t folder_bytes = expand(pattern, slash, folder, sizeof folder, &places_in_folder);
    size_t name_bytes = expand(slash + 1, end, name, sizeof name, &places_in_name);
    bool known = places_in_folder == 0 && folder_bytes < sizeof folder;
    struct stat info;

    if (!slash[1]) {
        fprintf(stderr, "%s: %s is a folder, not a file\n", program, pattern);
        return false;
    }
    if (known && !folder_bytes)
        strcpy(folder, "/");
    if (!check_lengths(program, known ? folder : NULL, path_bytes, name_bytes) ||
        (known && !lap_output_folder_check(program, folder, "trace")))
        return false;
    /* The layer does not overwrite a regular file, but creates another one. */
    if (places || stat(path, &info) != 0 || S_ISREG(info.st_mode))
        return true;
    fprintf(stderr,
            S_ISDIR(info.st_mode) ? "%s: %s is a folder, not a file\n"
                                  : "%s: %s is no regular file, and a trace can't be written to anything else\n",
            program, path);
    return false;
}
