/* SPDX-License-Identifier: MIT */
#include "layer/core/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/pattern.h"
#include "base/version.h"
#include "layer/core/android.h"
#include "layer/core/settings.h"
#include "trace/send/address.h"
#include "trace/write/writer.h"

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
    struct lap_address address;
    bool good = lap_address_is(text) ? lap_address_parse(text, &address) == LAP_OK : *text && !lap_pattern_fault(text);
    if (good)
        options->streamed = lap_address_is(text);
    return good && replace(&options->file, text);
}
static bool set_control(struct layer_options *options, const char *text)
{
    struct lap_address address;
    return (!*text || lap_address_parse(text, &address) == LAP_OK) && replace(&options->control, text);
}
static bool set_stream_wait(struct layer_options *options, const char *text)
{
    return parse_bool(text, &options->stream_wait);
}
static bool set_token_file(struct layer_options *options, const char *text)
{
    return replace(&options->token_file, text);
}
static bool set_report(struct layer_options *options, const char *text)
{
    return replace(&options->report, text);
}
static bool set_imported_from(struct layer_options *options, const char *text)
{
    return (!*text || *text == '{') && replace(&options->imported_from, text);
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
        const struct lap_codec *packer;
    } ways[] = {{"lz4", &lap_codec_lz4}, {"lz4hc", &lap_codec_lz4hc}, {"none", NULL}};
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

static bool set_part(struct lap_frames *part, const char *text)
{
    if (*text)
        return lap_frames_parse(text, part) == LAP_OK;
    lap_frames_finish(part);
    return true;
}

static bool set_frames(struct layer_options *options, const char *text)
{
    return set_part(&options->parts.frames, text);
}
static bool set_submits(struct layer_options *options, const char *text)
{
    return set_part(&options->parts.submits, text);
}
static bool set_seconds(struct layer_options *options, const char *text)
{
    if (*text)
        return lap_seconds_parse(text, &options->parts.milliseconds) == LAP_OK;
    lap_frames_finish(&options->parts.milliseconds);
    return true;
}
static bool set_trigger(struct layer_options *options, const char *text)
{
    struct layer_parts *parts = &options->parts;

    if (!*text)
        return true;
    if (strncmp(text, "file:", 5) == 0)
        return text[5] && replace(&parts->trigger_file, text + 5);
    if (strcmp(text, "signal") == 0)
        return parts->signal = true;
    if (strcmp(text, "control") == 0)
        return parts->control = true;
    if (strncmp(text, "key", 3) == 0)
        return (parts->key = lap_key_trigger(text)) != NULL;
    return strcmp(text, "call") == 0 && (parts->calls = true);
}
static bool set_trigger_frames(struct layer_options *options, const char *text)
{
    return lap_frame_parse(&text, &options->parts.trigger_frames) && !*text;
}
static bool set_keep_last(struct layer_options *options, const char *text)
{
    options->parts.keep_last.unit = LAP_LENGTH_NONE;
    return !*text || lap_length_parse(text, &options->parts.keep_last) == LAP_OK;
}
static bool set_exit_after(struct layer_options *options, const char *text)
{
    return parse_bool(text, &options->parts.exit_after);
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
    {"LAPILLI_FILE", "file", "%e.lapilli",
     "a path for the trace (" LAP_PATTERN_HELP "), unix:PATH, unix:@NAME or tcp://HOST:PORT", set_file},
    {"LAPILLI_STREAM_WAIT", "stream_wait", "1", "0 or 1: wait for the receiver of a streamed trace", set_stream_wait},
    {"LAPILLI_CONTROL", "control", "", "where commands come from: unix:PATH, unix:@NAME or tcp://HOST:PORT",
     set_control},
    {"LAPILLI_TOKEN_FILE", "token_file", "",
     "a file with the token of the receiver of streamed traces, or of the sender of commands", set_token_file},
    {"LAPILLI_VERIFY", "verify", "0", "0, 1 or all: store hashes of presented images and of device writes", set_verify},
    {"LAPILLI_VERIFY_BYTES", "verify_bytes", "0", "with LAPILLI_VERIFY: store the checked bytes, too",
     set_verify_bytes},
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
    {"LAPILLI_FRAMES", "frames", "", "frames to record, of each range a trace: 1,50-60", set_frames},
    {"LAPILLI_SUBMITS", "submits", "", "the same of submits: 1,50-60", set_submits},
    {"LAPILLI_SECONDS", "seconds", "", "the same of seconds of the run: 1-2.5,60-62", set_seconds},
    {"LAPILLI_TRIGGER", "trigger", "", "what begins a part: signal, call, control, key, key:NAME or file:PATH",
     set_trigger},
    {"LAPILLI_TRIGGER_FRAMES", "trigger_frames", "1", "frames of such a part, from 1 on", set_trigger_frames},
    {"LAPILLI_KEEP_LAST", "keep_last", "", "how much of the run's end to keep: 10s, 300f or 64MiB", set_keep_last},
    {"LAPILLI_EXIT_AFTER", "exit_after", "0", "0 or 1: end the program behind the last part", set_exit_after},
    {"LAPILLI_IMPORTED_FROM", NULL, "", "a JSON object: what the trace is made of", set_imported_from},
    {"LAPILLI_REPORT", NULL, "", "an existing file that gets the path of every trace", set_report},
};

/* Where a value was found. */
struct found {
    const char *value; /* NULL: it is not set */
    const char *name;
    char property_name[LAYER_PROPERTY_NAME_BYTES], property[LAYER_PROPERTY_BYTES];
};

/* The environment, or a property. */
static bool find_variable(const char *environment, const struct layer_android *android, struct found *out)
{
    out->name = environment;
    out->value = secure_getenv(environment);
    if (!out->value && android && layer_android_option(android, environment, out->property_name, out->property)) {
        out->name = out->property_name;
        out->value = out->property;
    }
    return out->value;
}

static void lookup(const struct option *option, const struct layer_android *android, struct layer_settings *settings,
                   struct found *out)
{
    const bool is_list = option->set == set_screenshots || option->set == set_frames || option->set == set_submits;

    if (!find_variable(option->environment, android, out) && option->key)
        out->value = layer_settings_value(settings, option->key, is_list);
}

static bool names_us(const char *variable)
{
    const char *layers = secure_getenv(variable);
    return layers && strstr(layers, LAPILLI_LAYER_NAME);
}

/* Naming the layer, in a variable of the loader or in the program's list, is a request to record. For an implicit layer
 * the loader has checked the manifest's switches already, but an override layer or a settings file of the loader can
 * force implicit layers on, so they are checked again. */
static bool asked_for(bool named, const struct layer_android *android)
{
    struct found armed;
    if (secure_getenv("DISABLE_LAPILLI_CAPTURE"))
        return false;
    if (find_variable("LAPILLI_CAPTURE", android, &armed))
        return strcmp(armed.value, "1") == 0;
    return named || names_us("VK_INSTANCE_LAYERS") || names_us("VK_LOADER_LAYERS_ENABLE");
}

static bool has_parts(const struct layer_parts *parts)
{
    return parts->frames.count || parts->submits.count || parts->milliseconds.count || parts->signal || parts->calls ||
           parts->control || parts->key || parts->trigger_file || parts->keep_last.unit;
}

/* Puts a folder in front of a path, or of a pattern. */
static bool put_into(const char *folder, char **path, bool is_pattern)
{
    char *whole = malloc(2 * strlen(folder) + strlen(*path) + 2), *to = whole;

    if (!whole)
        return false;
    for (const char *from = folder; *from; from++) {
        if (*from == '%' && is_pattern)
            *to++ = '%';
        *to++ = *from;
    }
    *to++ = '/';
    memcpy(to, *path, strlen(*path) + 1);
    free(*path);
    *path = whole;
    return true;
}

/* Files are deleted and made again while the program runs, which may change its folder. */
static bool make_absolute(char **pattern)
{
    char *here = **pattern == '/' ? NULL : getcwd(NULL, 0);
    bool good = **pattern == '/' || (here && put_into(here, pattern, true));

    free(here);
    return good;
}

/* Files without a folder go to the app's own. */
static enum lap_status put_into_app(struct layer_options *options)
{
    char **const paths[] = {options->streamed ? NULL : &options->file,
                            options->screenshots.count ? &options->screenshot_dir : NULL, &options->token_file,
                            &options->report, &options->parts.trigger_file};
    enum lap_status status = LAP_OK;
    char *folder = NULL;

    for (size_t i = 0; i < sizeof paths / sizeof *paths && status == LAP_OK; i++) {
        if (!paths[i] || !*paths[i] || **paths[i] == '/')
            continue;
        if (!folder)
            status = layer_android_folder(options->android, &folder);
        if (status == LAP_OK && !put_into(folder, paths[i], paths[i] == &options->file))
            status = lap_no_memory(NULL);
    }
    free(folder);
    return status;
}

/* Connections are made later, too. If this fails, the address is right as long as the program's current folder stays
 * the same. */
static void make_address_absolute(char **address)
{
    struct lap_address ignored;
    char *whole = lap_address_absolute(*address);

    if (whole && lap_address_parse(whole, &ignored) == LAP_OK) {
        free(*address);
        *address = whole;
    } else {
        free(whole);
    }
}

/* Ignores triggers that can never come, and contradictory options. */
static void check_parts(struct layer_options *options, const struct lap_log *log)
{
    struct layer_parts *parts = &options->parts;
    const bool commanded = options->streamed || options->control;

    if (parts->control && !commanded)
        lap_log(log, LAP_LOG_WARNING,
                "LAPILLI_TRIGGER=control is ignored: it is for streamed traces, or needs LAPILLI_CONTROL");
    parts->control &= commanded;
    if (options->streamed)
        make_address_absolute(&options->file);
    if (options->control)
        make_address_absolute(&options->control);
    if (parts->keep_last.unit && (parts->frames.count || parts->submits.count || parts->milliseconds.count ||
                                  parts->calls || parts->exit_after)) {
        lap_log(log, LAP_LOG_WARNING, "LAPILLI_KEEP_LAST is ignored: it is not for parts that are asked for");
        parts->keep_last.unit = LAP_LENGTH_NONE;
    }
    /* Commands, too, keep the last part. */
    if (!options->streamed && (parts->keep_last.unit || options->control) && !make_absolute(&options->file) &&
        parts->keep_last.unit) {
        lap_log(log, LAP_LOG_WARNING, "LAPILLI_KEEP_LAST is ignored: the current folder has no name");
        parts->keep_last.unit = LAP_LENGTH_NONE;
    }
}

void layer_options_resolve(struct layer_options *options, const struct layer_android *android, bool named,
                           const struct lap_log *log)
{
    memset(options, 0, sizeof *options);
    options->android = android;
    options->log_level = LAP_LOG_WARNING;
    options->packer = &lap_codec_lz4;
    /* A setuid program: its caller must not make it write files. On Android each app seems to be one, since the process
     * that it is forked from has changed its SELinux domain; callers don't set properties there. */
    if (!android && getauxval(AT_SECURE))
        return;
    options->armed = asked_for(named, android);
    struct layer_settings *settings = layer_settings_open(log);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct option *option = &table[i];
        struct found found;
        lookup(option, android, settings, &found);
        if (!option->set(options, option->fallback))
            options->armed = false; /* out of memory */
        if (found.value && !option->set(options, found.value))
            lap_log(log, LAP_LOG_WARNING, "%s=%s: this is not %s; the default is used", found.name, found.value,
                    option->help);
    }
    layer_settings_close(settings);
    if (!options->file)
        options->armed = false;
    if (options->armed && android && put_into_app(options) != LAP_OK) {
        lap_log(log, LAP_LOG_ERROR, "nothing is recorded: %s", lap_error_message());
        options->armed = false;
    }
    if (options->armed)
        check_parts(options, log);
    options->parts.on = options->armed && has_parts(&options->parts);
    options->reads_back = options->verify_all || options->parts.on;
}

void layer_options_finish(struct layer_options *options)
{
    free(options->file);
    free(options->imported_from);
    free(options->report);
    free(options->token_file);
    free(options->control);
    free(options->screenshot_dir);
    lap_frames_finish(&options->screenshots);
    lap_frames_finish(&options->parts.frames);
    lap_frames_finish(&options->parts.submits);
    lap_frames_finish(&options->parts.milliseconds);
    free(options->parts.trigger_file);
    memset(options, 0, sizeof *options);
}

void layer_options_program_path(const struct layer_options *options, char out[LAYER_PROGRAM_BYTES])
{
    _Static_assert(LAYER_PROGRAM_BYTES >= LAYER_PACKAGE_BYTES, "a package fits");
    if (options->android && layer_android_package(options->android, out))
        return;
    ssize_t length = readlink("/proc/self/exe", out, LAYER_PROGRAM_BYTES - 1);
    out[length > 0 ? length : 0] = '\0';
}

void layer_options_program(const struct layer_options *options, char *out, size_t capacity)
{
    char path[LAYER_PROGRAM_BYTES];

    layer_options_program_path(options, path);
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    snprintf(out, capacity, "%.*s", (int)capacity - 1, *path ? name : "program");
}

char *layer_options_path(const struct layer_options *options, unsigned attempt)
{
    char program[256];
    layer_options_program(options, program, sizeof program);
    return lap_pattern_expand(options->file, &(struct lap_pattern_values){(long)getpid(), program}, attempt);
}
