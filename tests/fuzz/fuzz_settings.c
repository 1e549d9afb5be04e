/* SPDX-License-Identifier: MIT */
/* Options: of the layer, from the environment and vk_layer_settings.txt, and of lapilli-replay, from its arguments. A
 * line is NAME=VALUE of the environment, key=value of the file, or an argument. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer/core/options.h"
#include "layer/core/settings.h"
#include "replayer/options.h"
#include "tests/fuzz/fuzz.h"

#define MAX_LINES 32u

static char *lines[MAX_LINES];
static unsigned line_count;

/* These stand for layer/core/settings.c, whose libraries read the file once in a process. */
struct layer_settings *layer_settings_open(const struct lap_log *log)
{
    return NULL;
}

const char *layer_settings_value(struct layer_settings *settings, const char *key, bool is_list)
{
    static const char prefix[] = "lapilli_capture.";
    size_t length = strlen(key);

    for (unsigned i = 0; i < line_count; i++) {
        const char *name = lines[i] + sizeof prefix - 1;
        if (strncmp(lines[i], prefix, sizeof prefix - 1) == 0 && strncmp(name, key, length) == 0 && name[length] == '=')
            return name[length + 1] ? name + length + 1 : NULL;
    }
    return NULL;
}

void layer_settings_close(struct layer_settings *settings) {}

static void split(const uint8_t *data, size_t bytes)
{
    const uint8_t *at = data, *end = data + bytes;

    for (line_count = 0; at < end && line_count < MAX_LINES; line_count++) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        lines[line_count] = strndup((const char *)at, length);
        if (!lines[line_count])
            abort();
        at += length + 1;
    }
}

/* Sets, or takes back, what lines say of the environment: only names of ours. */
static void environment(bool set)
{
    for (unsigned i = 0; i < line_count; i++) {
        char *equals = strchr(lines[i], '=');
        if (!equals || strncmp(lines[i], "LAPILLI_", 8) != 0)
            continue;
        *equals = 0;
        if (set)
            setenv(lines[i], equals + 1, 1);
        else
            unsetenv(lines[i]);
        *equals = '=';
    }
}

static void layer(void)
{
    struct layer_options options;
    const struct lap_log log = {.fd = -1, .level = LAP_LOG_ERROR};

    environment(true);
    layer_options_resolve(&options, NULL, true, &log);
    for (unsigned attempt = 1; options.file && !options.streamed && attempt < 3; attempt++) {
        char *path = layer_options_path(&options, attempt);
        FUZZ_CHECK(path && strlen(path) > 0);
        free(path);
    }
    layer_options_finish(&options);
    environment(false);
}

static void replayer(void)
{
    struct replay_options options;
    enum replay_action action;
    char *argv[MAX_LINES + 2] = {(char *)"lapilli-replay"};

    for (unsigned i = 0; i < line_count; i++)
        argv[i + 1] = lines[i];
    if (replay_options_parse((int)line_count + 1, argv, &options, &action) != LAP_OK)
        FUZZ_CHECK(lap_error_message()[0]);
    replay_options_finish(&options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    split(data, bytes);
    layer();
    replayer();
    for (unsigned i = 0; i < line_count; i++)
        free(lines[i]);
    return 0;
}
