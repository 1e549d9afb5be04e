/* SPDX-License-Identifier: MIT */
#include "tools/program/run_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    FLAG,
    VALUE,
    MAY, /* --NAME or --NAME=VALUE */
    FOLDER,
    FILES_NAME
};

static const struct {
    const char *name;
    enum kind kind;
} allowed[] = {
    {"--verify", FLAG},
    {"--mismatch-dir", FOLDER},
    {"--tolerance", VALUE},
    {"--dump-checks", FOLDER},
    {"--hashes", FILES_NAME},
    {"--report", FILES_NAME},
    {"--screenshot", VALUE},
    {"--screenshot-dir", FOLDER},
    {"--present", VALUE},
    {"--window-system", VALUE},
    {"--gpu", VALUE},
    {"--json", FLAG},
    {"--last-frame", VALUE},
    {"--stop-at", VALUE},
    {"--pictures", FOLDER},
    {"--after", VALUE},
    {"--targets", VALUE},
    {"--range", VALUE},
    {"--channels", VALUE},
    {"--raw", MAY},
    {"--wait", VALUE},
    {"--list-objects", FLAG},
    {"--skip", VALUE},
    {"--only", VALUE},
    {"--at-most-draws", VALUE},
    {"--wireframe", FLAG},
    {"--null-fragment", FLAG},
    {"--tiny-viewport", FLAG},
    {"--threads", VALUE},
    {"--measure", FLAG},
    {"--addresses", VALUE},
    {"--new-memory", VALUE},
    {"--frames", VALUE},
    {"--warm-up", VALUE},
    {"--preload", FLAG},
    {"--ahead", VALUE},
    {"--wait-limit", VALUE},
    {"--blackhole", FLAG},
    {"--validate", MAY},
    {"--validate-shaders", FLAG},
    {"--strict", FLAG},
    {"--force", FLAG},
    {"--quiet", FLAG},
    /* of traces */
    {"--image", VALUE},
    {"--image-aspect", VALUE},
    {"--buffer", VALUE},
    {"--each", VALUE},
    {"--thumbs", VALUE},
    {"--picture-memory", VALUE},
    {"--pixel", VALUE},
    {"--pixel-at", VALUE},
    {"--target", VALUE},
    {"--aspect", VALUE},
    {"--all", FLAG},
    {"--fragments", FLAG},
    {"--profile", VALUE},
    {"--profile-draws", FLAG},
    {"--profile-statistics", FLAG},
    {"--overdraw", VALUE},
    {"--rasterized", FLAG},
    {"--debug", VALUE},
    {"--texel", VALUE},
    {"--vertex", VALUE},
    {"--instance", VALUE},
    {"--invocation", VALUE},
    {"--name", VALUE},
    {"--all-fragments", FLAG},
    {"--mesh", VALUE},
    {"--mesh-side", VALUE},
    {"--mesh-draw", VALUE},
    {"--mesh-instance", VALUE},
    {"--mesh-rows", VALUE},
    {"--mesh-as", VALUE},
    {"--mesh-clip", FLAG},
    {"--mesh-position", VALUE},
    {"--messages", VALUE},
};

/* Its number, or -1. */
static int find(const char *word)
{
    size_t length = strcspn(word, "=");

    for (int i = 0; i < (int)(sizeof allowed / sizeof *allowed); i++)
        if (strlen(allowed[i].name) == length && strncmp(allowed[i].name, word, length) == 0)
            return i;
    return -1;
}

static bool wants_value(int i)
{
    return allowed[i].kind != FLAG && allowed[i].kind != MAY;
}

static enum lap_status add(struct run_words *out, char *word)
{
    if (!word)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    if (out->count == RUN_WORDS_MOST) {
        free(word);
        return lap_fail(LAP_ERROR_ARGUMENT, "more than %u options", RUN_WORDS_MOST);
    }
    out->words[out->count++] = word;
    return LAP_OK;
}

static enum lap_status check(const char *word)
{
    int i = find(word);
    const char *value = strchr(word, '=');

    if (i < 0)
        return lap_fail(LAP_ERROR_ARGUMENT, "there is no option %.*s for a replay that may run elsewhere",
                        (int)strcspn(word, "="), word);
    if (allowed[i].kind == FLAG && value)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s takes no value", allowed[i].name);
    if (wants_value(i) && (!value || !value[1]))
        return lap_fail(LAP_ERROR_ARGUMENT, "%s wants a value", allowed[i].name);
    return LAP_OK;
}

enum lap_status run_words_parse(char *const *arguments, struct run_words *out)
{
    bool pictures = false, folder = false;
    enum lap_status status = LAP_OK;

    out->count = 0;
    for (size_t i = 0; status == LAP_OK && arguments[i]; i++) {
        int which = find(arguments[i]);
        char *word = NULL;

        if (which >= 0 && wants_value(which) && !strchr(arguments[i], '=') && arguments[i + 1]) {
            i++;
            if (asprintf(&word, "%s=%s", arguments[i - 1], arguments[i]) < 0)
                word = NULL;
        } else {
            word = strdup(arguments[i]);
        }
        status = add(out, word);
        if (status == LAP_OK)
            status = check(word);
        if (status == LAP_OK) {
            pictures |= strncmp(word, "--screenshot=", 13) == 0;
            folder |= strncmp(word, "--screenshot-dir=", 17) == 0;
        }
    }
    if (status == LAP_OK && pictures && !folder)
        status = add(out, strdup("--screenshot-dir=."));
    return status;
}

enum lap_status run_words_add(struct run_words *words, const char *word)
{
    return add(words, strdup(word));
}

enum lap_status run_words_load(const char *bytes, size_t count, struct run_words *out)
{
    enum lap_status status = LAP_OK;

    out->count = 0;
    for (size_t at = 0; status == LAP_OK && at < count;) {
        size_t length = strnlen(bytes + at, count - at);

        if (length == count - at)
            return lap_fail(LAP_ERROR_FORMAT, "the options end too early");
        status = check(bytes + at);
        if (status == LAP_OK)
            status = add(out, strdup(bytes + at));
        at += length + 1;
    }
    return status;
}

void run_words_finish(struct run_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->words[i]);
    words->count = 0;
}

const char *run_word_folder(const char *word)
{
    int i = find(word);
    return i >= 0 && allowed[i].kind == FOLDER ? strchr(word, '=') + 1 : NULL;
}

const char *run_word_file(const char *word)
{
    int i = find(word);
    return i >= 0 && allowed[i].kind == FILES_NAME ? strchr(word, '=') + 1 : NULL;
}

char *run_word_with_folder(const char *word, const char *folder)
{
    char *new;
    return asprintf(&new, "%.*s=%s%s", (int)strcspn(word, "="), word, folder,
                    run_word_file(word) ? "/" RUN_WORDS_FILE : "") < 0
               ? NULL
               : new;
}
