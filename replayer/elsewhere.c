/* SPDX-License-Identifier: MIT */
#include "replayer/elsewhere.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vm/frame.h"

/* What this program is told, not the replay there. */
static const char *const own[] = {"--on", "--token-file", "--progress", "--sandbox"};

static const char *text_of(const char *option, const char *variable)
{
    const char *text = option ? option : getenv(variable);
    return text && *text ? text : NULL;
}

bool replay_is_elsewhere(const struct replay_options *options)
{
    return text_of(options->on, LAP_VM_ON) != NULL;
}

/* How many words the option takes, if it is one of ours; else 0. */
static int words_of(const char *word)
{
    size_t length = strcspn(word, "=");

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strlen(own[i]) == length && strncmp(word, own[i], length) == 0)
            return word[length] ? 1 : 2;
    return 0;
}

/* The replay's options behind the file. */
static void add_rest(char **arguments, const struct replay_options *options, const char **out, size_t *count)
{
    bool ended = false;

    for (char **at = arguments + 1; *at; at++) {
        int ours = ended ? 0 : words_of(*at);

        if (*at == options->file)
            continue;
        if (ours) {
            at += ours - 1;
        } else if (!ended && strcmp(*at, "--") == 0) {
            ended = true;
        } else {
            out[(*count)++] = *at;
        }
    }
    out[*count] = NULL;
}

static bool find_run(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - sizeof "lapilli-run");
    char *end;

    if (length <= 0)
        return false;
    path[length] = 0;
    end = strrchr(path, '/');
    if (!end)
        return false;
    strcpy(end + 1, "lapilli-run");
    return access(path, X_OK) == 0;
}

enum lap_status replay_become_elsewhere(char **arguments, const struct replay_options *options)
{
    const char *token = text_of(options->on ? options->token_file : NULL, LAP_VM_ON_TOKEN);
    char path[PATH_MAX], progress[16];
    size_t count = 0;
    const char **words;

    while (arguments[count])
        count++;
    words = calloc(count + 10, sizeof *words);
    if (!words)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    count = 0;
    words[count++] = "lapilli-run";
    words[count++] = "--quiet";
    words[count++] = "--on";
    words[count++] = text_of(options->on, LAP_VM_ON);
    if (token) {
        words[count++] = "--token-file";
        words[count++] = token;
    }
    if (options->progress_fd) {
        snprintf(progress, sizeof progress, "%d", options->progress_fd);
        words[count++] = "--progress";
        words[count++] = progress;
    }
    words[count++] = options->file;
    add_rest(arguments, options, words, &count);
    if (!find_run(path))
        return lap_fail(LAP_ERROR_IO, "lapilli-run is not beside this program");
    execv(path, (char *const *)(uintptr_t)words);
    return lap_fail(LAP_ERROR_IO, "%s can't be started: %s", path, strerror(errno));
}
