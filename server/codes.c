/* SPDX-License-Identifier: MIT */
#include "server/codes.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/format/hash.h"

#define DIGITS 16u

static const char *const kinds[] = {"vert", "tesc", "tese",  "geom",  "frag",  "comp",  "mesh",   "task",
                                    "rgen", "rint", "rahit", "rchit", "rmiss", "rcall", "spvasm", "spv"};

struct code {
    char name[LAP_CODE_NAME_BYTES]; /* "": none */
    uint64_t used;
    void *data;
    size_t bytes;
};

struct lap_codes {
    pthread_mutex_t mutex;
    uint64_t clock;
    struct code all[LAP_CODES_MOST];
};

struct lap_codes *lap_codes_new(void)
{
    struct lap_codes *codes = calloc(1, sizeof *codes);

    if (codes)
        pthread_mutex_init(&codes->mutex, NULL);
    return codes;
}

void lap_codes_free(struct lap_codes **codes)
{
    if (!*codes)
        return;
    for (size_t i = 0; i < LAP_CODES_MOST; i++)
        free((*codes)->all[i].data);
    pthread_mutex_destroy(&(*codes)->mutex);
    free(*codes);
    *codes = NULL;
}

static bool is_kind(const char *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    return false;
}

bool lap_code_is_name(const char *name)
{
    return strspn(name, "0123456789abcdef") == DIGITS && name[DIGITS] == '.' && is_kind(name + DIGITS + 1);
}

/* Behind a backslash at the end of a line the line goes on. *at: behind what it returns; 0: the end. */
static char next_character(const char *text, size_t bytes, size_t *at)
{
    while (*at < bytes && text[*at] == '\\') {
        size_t next = *at + 1;
        next += next < bytes && text[next] == '\r';
        next += next < bytes && text[next] == '\n';
        if (next == *at + 1)
            break;
        *at = next;
    }
    return *at < bytes ? text[(*at)++] : 0;
}

/* Whether GLSL has the word that a directive which reads other files needs. */
static bool includes_files(const char *text, size_t bytes)
{
    static const char word[] = "include";
    size_t matched = 0, at = 0;
    bool inside = false; /* a longer word */

    while (at < bytes) {
        char c = next_character(text, bytes, &at);
        bool part = isalnum((unsigned char)c) || c == '_';
        if (!part && matched == strlen(word))
            return true;
        if (!part)
            inside = false, matched = 0;
        else if (!inside && matched < strlen(word) && c == word[matched])
            matched++;
        else
            inside = true, matched = 0;
    }
    return matched == strlen(word);
}

/* Under the lock. NULL: it is not there. */
static struct code *find(struct lap_codes *codes, const char *name)
{
    for (size_t i = 0; i < LAP_CODES_MOST; i++)
        if (strcmp(codes->all[i].name, name) == 0) {
            codes->all[i].used = ++codes->clock;
            return &codes->all[i];
        }
    return NULL;
}

/* Under the lock. Takes the data. */
static void keep(struct lap_codes *codes, const char *name, void *data, size_t bytes)
{
    struct code *oldest = &codes->all[0];

    for (size_t i = 1; i < LAP_CODES_MOST; i++)
        if (codes->all[i].used < oldest->used)
            oldest = &codes->all[i];
    free(oldest->data);
    *oldest = (struct code){.used = ++codes->clock, .data = data, .bytes = bytes};
    memcpy(oldest->name, name, LAP_CODE_NAME_BYTES);
}

enum lap_status lap_codes_put(struct lap_codes *codes, const char *kind, const void *data, size_t bytes,
                              char out[LAP_CODE_NAME_BYTES])
{
    void *copy;

    if (!is_kind(kind))
        return lap_fail(LAP_ERROR_ARGUMENT,
                        "there is no kind of code '%.40s': it is a stage like frag for GLSL, spvasm "
                        "for SPIR-V as text, or spv",
                        kind);
    if (!bytes || bytes > LAP_CODE_BYTES)
        return lap_fail(LAP_ERROR_ARGUMENT, "code has 1 byte to %zu KiB", LAP_CODE_BYTES >> 10);
    if (strncmp(kind, "spv", 3) != 0 && includes_files(data, bytes))
        return lap_fail(LAP_ERROR_ARGUMENT,
                        "code for the server can't include files: it may not have the word include");
    copy = malloc(bytes);
    if (!copy)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for code");
    memcpy(copy, data, bytes);
    memset(out, 0, LAP_CODE_NAME_BYTES);
    snprintf(out, LAP_CODE_NAME_BYTES, "%016" PRIx64 ".%s", lap_hash64(data, bytes), kind);
    pthread_mutex_lock(&codes->mutex);
    if (find(codes, out))
        free(copy);
    else
        keep(codes, out, copy, bytes);
    pthread_mutex_unlock(&codes->mutex);
    return LAP_OK;
}

static bool write_all(int fd, const char *data, size_t bytes)
{
    while (bytes) {
        ssize_t wrote = write(fd, data, bytes);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        data += wrote;
        bytes -= (size_t)wrote;
    }
    return true;
}

enum lap_status lap_codes_write(struct lap_codes *codes, const char *name, const char *folder)
{
    char path[PATH_MAX];
    const struct code *code;
    bool there, written = false;
    int fd;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    pthread_mutex_lock(&codes->mutex);
    code = find(codes, name);
    there = code != NULL;
    fd = there ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd >= 0)
        written = write_all(fd, code->data, code->bytes);
    pthread_mutex_unlock(&codes->mutex);
    if (fd >= 0)
        close(fd);
    if (!there)
        return lap_fail(LAP_ERROR_ARGUMENT, "the server does not have the code %s (any more): send it first", name);
    return written ? LAP_OK : lap_fail(LAP_ERROR_IO, "code can't be written into %s: %s", folder, strerror(errno));
}
