/* SPDX-License-Identifier: MIT */
#include "layer/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "base/pattern.h"
#include "base/version.h"
#include "layer/settings.h"
#include "trace/writer.h"

struct option {
    const char *environment, *key, *fallback, *help;
    /* False when the text is no value of this option. */
    bool (*set)(struct layer_options *options, const char *text);
};

static bool parse_bool(const char *text, bool *out)
{
    static const char *const yes[] = {"1", "true", "TRUE", "on", "yes"}, *const no[] = {"0",   "false", "FALSE",
                                                                                        "off", "no",    ""};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (strcmp(text, yes[i]) == 0)
            return *out = true, true;
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (strcmp(text, no[i]) == 0)
            return *out = false, true;
    return false;
}

static bool replace(char **place, const char *text)
{
    char *copy = *text ? strdup(text) : NULL;
    if (*text && !copy)
        return false;
    free(*place);
    *place = copy;
    return true;
}

static bool set_file(struct layer_options *options, const char *text)
{
    return *text && !lap_pattern_fault(text) && replace(&options->file, text);
}
static bool set_report(struct layer_options *options, const char *text)
{
    return replace(&options->report, text);
}
static bool set_verify(struct layer_options *options, const char *text)
{
    options->verify_all = strcmp(text, "all") == 0;
    return options->verify_all ? (options->verify = true) : parse_bool(text, &options->verify);
}
static bool set_verify_bytes(struct layer_options *options, const char *text)
{
    return parse_bool(text, &options->verify_bytes);
}
static bool set_screenshot_dir(struct layer_options *options, const char *text)
{
    return *text && replace(&options->screenshot_dir, text);
}
static bool set_log(struct layer_options *options, const char *text)
{
    return lap_log_parse_level(text, &options->log_level);
}

static bool set_memory_types(struct layer_options *options, const char *text)
{
    options->real_memory_types = strcmp(text, "real") == 0;
    return options->real_memory_types || strcmp(text, "virtual") == 0;
}

static bool set_write_watch(struct layer_options *options, const char *text)
{
    static const char *const names[] = {[LAP_WATCH_AUTO] = "auto",
                                        [LAP_WATCH_PAGEMAP] = "pagemap",
                                        [LAP_WATCH_MPROTECT] = "mprotect",
                                        [LAP_WATCH_COMPARE] = "compare"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0)
            return options->write_watch = (enum lap_watch_kind)i, true;
    return false;
}

static bool set_backing(struct layer_options *options, const char *text)
{
    static const char *const names[] = {
        [LAYER_BACKING_AUTO] = "auto", [LAYER_BACKING_HOST] = "host", [LAYER_BACKING_OFF] = "off"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0)
            return options->backing = (enum layer_backing_option)i, true;
    return false;
}

static bool set_compression(struct layer_options *options, const char *text)
{
    static const struct {
        const char *name;
        const struct lap_packer *packer;
    } ways[] = {{"lz4", &lap_packer_lz4}, {"lz4hc", &lap_packer_lz4hc}, {"none", NULL}};
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(text, ways[i].name) == 0)
            return options->packer = ways[i].packer, true;
    return false;
}

static bool set_addresses(struct layer_options *options, const char *text)
{
    options->no_addresses = strcmp(text, "off") == 0;
    return options->no_addresses || strcmp(text, "auto") == 0;
}

static bool set_in_flight(struct layer_options *options, const char *text)
{
    return parse_bool(text, &options->in_flight);
}

static bool set_queue(struct layer_options *options, const char *text)
{
    char *end;
    unsigned long megabytes = strtoul(text, &end, 10);
    bool good = *text >= '0' && *text <= '9' && *end == '\0' && megabytes <= 65536 &&
                (megabytes == 0 || megabytes >= 16) && megabytes <= SIZE_MAX >> 21;
    if (good)
        options->queue_bytes = megabytes ? (size_t)megabytes << 20 : LAP_WRITER_NO_QUEUE;
    return good;
}

static bool set_screenshots(struct layer_options *options, const char *text)
{
    if (*text)
        return lap_frames_parse(text, &options->screenshots) == LAP_OK;
    lap_frames_finish(&options->screenshots);
    return true;
}

/* manifests/ and docs describe the same keys. */
static const struct option table[] = {
    {"LAPILLI_FILE", "file", "%e.lapilli", "a path for the trace (" LAP_PATTERN_HELP ")", set_file},
    {"LAPILLI_VERIFY", "verify", "0", "0, 1 or all: store hashes of what is presented and of what the device wrote",
     set_verify},
    {"LAPILLI_VERIFY_BYTES", "verify_bytes", "0", "with LAPILLI_VERIFY: store what is checked, too", set_verify_bytes},
    {"LAPILLI_COMPRESSION", "compression", "lz4", "lz4, lz4hc or none", set_compression},
    {"LAPILLI_QUEUE", "queue", SIZE_MAX > UINT32_MAX ? "256" : "64", "0 or 16 to 65536 MiB", set_queue},
    {"LAPILLI_MEMORY_TYPES", "memory_types", "virtual", "virtual or real", set_memory_types},
    {"LAPILLI_WRITE_WATCH", "write_watch", "auto", "auto, pagemap, mprotect or compare", set_write_watch},
    {"LAPILLI_BACKING", "backing", "auto", "auto, host or off", set_backing},
    {"LAPILLI_ADDRESSES", "addresses", "auto", "auto or off", set_addresses},
    {"LAPILLI_IN_FLIGHT", "in_flight", "1", "write the calls in which the process ends", set_in_flight},
    {"LAPILLI_LOG", "log", "warning", "error, warning, info or debug", set_log},
    {"LAPILLI_SCREENSHOT", "screenshot", "", "frames to write as PNG: 1,50-60", set_screenshots},
    {"LAPILLI_SCREENSHOT_DIR", "screenshot_dir", ".", "folder for screenshots", set_screenshot_dir},
    {"LAPILLI_REPORT", NULL, "", "an existing file that gets the path of every trace", set_report},
};

static const char *lookup(const struct option *option, struct layer_settings *settings)
{
    const char *value = secure_getenv(option->environment);
    return value || !option->key ? value : layer_settings_value(settings, option->key, option->set == set_screenshots);
}

static bool names_us(const char *variable)
{
    const char *layers = secure_getenv(variable);
    return layers && strstr(layers, LAPILLI_LAYER_NAME);
}

/* Naming the layer is the request to record: in a variable of the loader or in the program's own list. Loaded as
 * implicit layer, the loader has looked at the manifest's switches already, but an override layer and a settings file
 * of the loader can force implicit layers on, so they are looked at again. */
static bool asked_for(bool named)
{
    const char *armed = secure_getenv("LAPILLI_CAPTURE");
    if (secure_getenv("DISABLE_LAPILLI_CAPTURE"))
        return false;
    if (armed)
        return strcmp(armed, "1") == 0;
    return named || names_us("VK_INSTANCE_LAYERS") || names_us("VK_LOADER_LAYERS_ENABLE");
}

void layer_options_resolve(struct layer_options *options, bool named, const struct lap_log *log)
{
    memset(options, 0, sizeof *options);
    options->log_level = LAP_LOG_WARNING;
    options->packer = &lap_packer_lz4;
    if (getauxval(AT_SECURE))
        return; /* a setuid program: its caller must not make it write files */
    options->armed = asked_for(named);
    struct layer_settings *settings = layer_settings_open(log);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct option *option = &table[i];
        const char *value = lookup(option, settings);
        if (!option->set(options, option->fallback))
            options->armed = false; /* out of memory */
        if (value && !option->set(options, value))
            lap_log(log, LAP_LOG_WARNING, "%s=%s: this is not %s; the default is used", option->environment, value,
                    option->help);
    }
    layer_settings_close(settings);
    if (!options->file)
        options->armed = false;
}

void layer_options_finish(struct layer_options *options)
{
    free(options->file);
    free(options->report);
    free(options->screenshot_dir);
    lap_frames_finish(&options->screenshots);
    memset(options, 0, sizeof *options);
}

static void program_name(char *out, size_t capacity)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    const char *name = "program";

    if (length > 0) {
        path[length] = '\0';
        name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    }
    snprintf(out, capacity, "%.*s", (int)capacity - 1, name);
}

char *layer_options_path(const struct layer_options *options, unsigned attempt)
{
    char program[256], number[32], stamp[32];
    char *text = NULL;
    size_t bytes = 0;
    bool numbered = false;
    time_t now = time(NULL);
    struct tm local;
    FILE *out = open_memstream(&text, &bytes);

    if (!out)
        return NULL;
    program_name(program, sizeof program);
    snprintf(number, sizeof number, "%u", attempt);
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%S", localtime_r(&now, &local));
    for (const char *p = options->file; *p; p++) {
        if (*p != '%') {
            fputc(*p, out);
            continue;
        }
        switch (*++p) {
        case 'p':
            fprintf(out, "%ld", (long)getpid());
            break;
        case 'e':
            fputs(program, out);
            break;
        case 't':
            fputs(stamp, out);
            break;
        case 'n':
            fputs(number, out), numbered = true;
            break;
        case '%':
            fputc('%', out);
            break;
        }
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    if (attempt > 1 && !numbered) {
        /* "out.lapilli" -> "out-2.lapilli" */
        char *dot = strrchr(text, '.'), *slash = strrchr(text, '/'), *result = NULL;
        if (!dot || (slash && dot < slash))
            dot = text + strlen(text);
        if (asprintf(&result, "%.*s-%u%s", (int)(dot - text), text, attempt, dot) < 0)
            result = NULL;
        free(text);
        return result;
    }
    return text;
}
