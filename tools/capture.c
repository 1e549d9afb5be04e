/* SPDX-License-Identifier: MIT */
/*
 * lapilli-capture: runs a program with the layer, finishes what it could not end, and says which traces came of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/frames.h"
#include "base/pattern.h"
#include "base/version.h"
#include "tools/launch.h"
#include "tools/output_name.h"
#include "tools/recorded.h"
#include "tools/tool.h"

#define PROGRAM "lapilli-capture"
#if UINTPTR_MAX == UINT32_MAX /* the manifests of both words lie in one folder */
#define MANIFEST "VkLayer_lapilli_32.json"
#else
#define MANIFEST "VkLayer_lapilli.json"
#endif

static const char help[] =
    "usage: lapilli capture [options] [--] PROGRAM [ARGUMENTS]\n"
    "Runs a program and records what it does with Vulkan, one trace for each process that uses it.\n"
    "\n"
    "  -o, --output FILE        the trace; " LAP_PATTERN_HELP ".\n"
    "                           Default: PROGRAM.lapilli. Nothing is overwritten: a number is added instead.\n"
    "      --verify             store hashes of what is presented and of what the device wrote into memory that\n"
    "                           the program can map, for lapilli replay --verify\n"
    "      --verify=all         and of all else that the device wrote, read back behind each submit: slow\n"
    "      --keep-bytes         with --verify: store checked texels, too, for lapilli replay --tolerance\n"
    "      --screenshot N,M-L   write these frames (counted from 1) as frame_N.png\n"
    "      --screenshot-dir DIR into this folder, made if it is not there (default: the current one)\n"
    "      --compression HOW    lz4 (default), lz4hc (smaller, slower) or none\n"
    "      --memory-types HOW   virtual (default) or real: show the program the device's own memory types\n"
    "      --write-watch HOW    auto (default), pagemap, mprotect or compare: how host writes are found\n"
    "      --backing HOW        auto (default), host or off: whose pages host-visible memory lies in\n"
    "      --log LEVEL          error, warning (default), info or debug\n"
    "  -q, --quiet              do not name the traces at the end\n"
    "      --help               this text\n"
    "\n"
    "What a program leaves that is killed, or crashes, is finished: its trace ends with what it has recorded, and "
    "says\n"
    "how the program ended. Traces of processes that go on behind PROGRAM are left alone (lapilli repair).\n"
    "\n"
    "The exit status is that of the program, 128 + n when signal n ended it, 127 when it could not be started;\n"
    "2 when the options are wrong or the trace could not be written where it should be.\n";

enum {
    OPTION_VERIFY = 256,
    OPTION_KEEP_BYTES,
    OPTION_SCREENSHOT,
    OPTION_SCREENSHOT_DIR,
    OPTION_COMPRESSION,
    OPTION_MEMORY,
    OPTION_WATCH,
    OPTION_BACKING,
    OPTION_LOG,
    OPTION_HELP
};

struct options {
    const char *output, *screenshots, *screenshot_dir, *compression, *memory_types, *write_watch, *backing, *log;
    const char *verify; /* NULL: no */
    bool keep_bytes, quiet;
    char **argv;
};

static bool one_of(const char *option, const char *value, const char *const *allowed)
{
    for (const char *const *p = allowed; *p; p++)
        if (strcmp(*p, value) == 0)
            return true;
    fprintf(stderr, PROGRAM ": --%s can't be '%s': it is ", option, value);
    for (const char *const *p = allowed; *p; p++)
        fprintf(stderr, "%s%s", *p, !p[1] ? "\n" : p[2] ? ", " : " or ");
    return false;
}

static bool check_pattern(const char *pattern)
{
    const char *fault = pattern ? lap_pattern_fault(pattern) : NULL;

    if (fault)
        fprintf(stderr,
                PROGRAM ": --output can't be '%s': there is no '%.2s'; "
                        "%s.\n",
                pattern, fault, LAP_PATTERN_HELP);
    return !fault;
}

static bool check_values(const struct options *options)
{
    static const char *const compressions[] = {"lz4", "lz4hc", "none", NULL}, *const types[] = {"virtual", "real",
                                                                                                NULL};
    static const char *const watches[] = {"auto", "pagemap", "mprotect", "compare", NULL};
    static const char *const verifies[] = {"all", "1", "0", NULL};
    static const char *const backings[] = {"auto", "host", "off", NULL};
    static const char *const levels[] = {"error", "warning", "info", "debug", NULL};

    struct lap_frames frames = {NULL, 0};

    /* The layer would say so, too, but only in a program that runs on. */
    if (options->screenshots && lap_frames_parse(options->screenshots, &frames) != LAP_OK) {
        fprintf(stderr, PROGRAM ": --screenshot: %s\n", lap_error_message());
        return false;
    }
    lap_frames_finish(&frames);
    return (!options->compression || one_of("compression", options->compression, compressions)) &&
           check_pattern(options->output) &&
           (!options->memory_types || one_of("memory-types", options->memory_types, types)) &&
           (!options->write_watch || one_of("write-watch", options->write_watch, watches)) &&
           (!options->backing || one_of("backing", options->backing, backings)) &&
           (!options->verify || one_of("verify", options->verify, verifies)) &&
           (!options->log || one_of("log", options->log, levels));
}

/* Fills *options or returns an exit status that is not negative. */
static int parse(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {
        {"output", required_argument, NULL, 'o'},
        {"verify", optional_argument, NULL, OPTION_VERIFY},
        {"keep-bytes", no_argument, NULL, OPTION_KEEP_BYTES},
        {"screenshot", required_argument, NULL, OPTION_SCREENSHOT},
        {"screenshot-dir", required_argument, NULL, OPTION_SCREENSHOT_DIR},
        {"compression", required_argument, NULL, OPTION_COMPRESSION},
        {"memory-types", required_argument, NULL, OPTION_MEMORY},
        {"write-watch", required_argument, NULL, OPTION_WATCH},
        {"backing", required_argument, NULL, OPTION_BACKING},
        {"log", required_argument, NULL, OPTION_LOG},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, OPTION_HELP},
        {NULL, 0, NULL, 0},
    };
    int option;

    memset(options, 0, sizeof *options);
    while ((option = getopt_long(argc, argv, "+o:qh", longs, NULL)) != -1) {
        switch (option) {
        case 'o':
            options->output = optarg;
            break;
        case 'q':
            options->quiet = true;
            break;
        case OPTION_VERIFY:
            options->verify = optarg ? optarg : "1";
            break;
        case OPTION_KEEP_BYTES:
            options->keep_bytes = true;
            break;
        case OPTION_SCREENSHOT:
            options->screenshots = optarg;
            break;
        case OPTION_SCREENSHOT_DIR:
            options->screenshot_dir = optarg;
            break;
        case OPTION_COMPRESSION:
            options->compression = optarg;
            break;
        case OPTION_MEMORY:
            options->memory_types = optarg;
            break;
        case OPTION_WATCH:
            options->write_watch = optarg;
            break;
        case OPTION_BACKING:
            options->backing = optarg;
            break;
        case OPTION_LOG:
            options->log = optarg;
            break;
        case 'h':
        case OPTION_HELP:
            fputs(help, stdout);
            return LAP_TOOL_OK;
        default:
            fprintf(stderr, "Try 'lapilli capture --help'.\n");
            return LAP_TOOL_USAGE;
        }
    }
    if (optind == argc) {
        fprintf(stderr, PROGRAM ": a PROGRAM is missing. Try 'lapilli capture --help'.\n");
        return LAP_TOOL_USAGE;
    }
    options->argv = argv + optind;
    return check_values(options) ? -1 : LAP_TOOL_USAGE;
}

/* ---- where things are ---- */

/* PREFIX/share/vulkan/explicit_layer.d, where PREFIX/bin holds this program: the same when installed and in a build
 * folder. */
static bool find_manifests(char out[PATH_MAX])
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    if (length > 0) {
        path[length] = 0;
        for (int up = 0; up < 2 && strrchr(path, '/'); up++)
            *strrchr(path, '/') = 0;
        length = snprintf(out, PATH_MAX, "%s/share/vulkan/explicit_layer.d/" MANIFEST, path);
        if (length < PATH_MAX && access(out, R_OK) == 0) {
            *strrchr(out, '/') = 0;
            return true;
        }
    }
    fprintf(stderr, PROGRAM ": the layer's manifest share/vulkan/explicit_layer.d/" MANIFEST
                            " is not where it should be, beside the "
                            "folder of this program\n");
    return false;
}

/* ---- the recording ---- */

/* An empty file to which the layer appends the path of every trace. */
static char *make_report(void)
{
    const char *folder = getenv("TMPDIR");
    char *path = NULL;
    int fd;

    if (asprintf(&path, "%s/lapilli-report-XXXXXX", folder && *folder ? folder : P_tmpdir) < 0)
        return NULL;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        fprintf(stderr, PROGRAM ": %s can't be made: %s\n", path, strerror(errno));
        free(path);
        return NULL;
    }
    close(fd);
    return path;
}

static bool set(const char *variable, const char *value)
{
    return !value || setenv(variable, value, 1) == 0;
}

/* What the layer is to do; see layer/options.c for the other side. */
static bool set_environment(const struct options *options, const char *pattern, const char *report,
                            const char *manifests)
{
    if (strchr(manifests, ':')) {
        fprintf(stderr, PROGRAM ": %s: the loader can't be given a folder with a colon in its name\n", manifests);
        return false;
    }
    if (lap_launch_layer(manifests) && set("LAPILLI_CAPTURE", "1") && set("LAPILLI_FILE", pattern) &&
        set("LAPILLI_REPORT", report) && set("LAPILLI_VERIFY", options->verify) &&
        set("LAPILLI_VERIFY_BYTES", options->keep_bytes ? "1" : NULL) &&
        set("LAPILLI_SCREENSHOT", options->screenshots) && set("LAPILLI_SCREENSHOT_DIR", options->screenshot_dir) &&
        set("LAPILLI_COMPRESSION", options->compression) && set("LAPILLI_MEMORY_TYPES", options->memory_types) &&
        set("LAPILLI_WRITE_WATCH", options->write_watch) && set("LAPILLI_BACKING", options->backing) &&
        set("LAPILLI_LOG", options->log))
        return unsetenv("DISABLE_LAPILLI_CAPTURE") == 0;
    fprintf(stderr, PROGRAM ": the environment can't be set: %s\n", strerror(errno));
    return false;
}

static int run(const struct options *options, const char *pattern, const char *report, const char *manifests)
{
    struct lap_launched launched;

    if (!set_environment(options, pattern, report, manifests))
        return LAP_TOOL_USAGE;
    launched = lap_launch_run(options->argv);
    if (launched.error)
        fprintf(stderr, PROGRAM ": %s can't be started: %s\n", options->argv[0], strerror(launched.error));
    else
        lap_recorded(PROGRAM, report, options->argv, &launched, options->quiet);
    return launched.status;
}

int main(int argc, char **argv)
{
    char manifests[PATH_MAX], screenshots[PATH_MAX];
    struct options options;
    char *pattern = NULL, *report = NULL;
    int code = parse(argc, argv, &options);

    if (code >= 0)
        return code;
    code = LAP_TOOL_USAGE;
    pattern = lap_output_name(options.output, options.argv[0]);
    if (!pattern) {
        fprintf(stderr, PROGRAM ": the current folder can't be used: %s\n", strerror(errno));
        return LAP_TOOL_USAGE;
    }
    if (!find_manifests(manifests) || !lap_output_name_check(PROGRAM, pattern))
        goto out;
    if (options.screenshot_dir) {
        if (lap_folder_make(options.screenshot_dir) != LAP_OK) {
            fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
            goto out;
        }
        if (!realpath(options.screenshot_dir, screenshots)) {
            fprintf(stderr, PROGRAM ": %s: %s\n", options.screenshot_dir, strerror(errno));
            goto out;
        }
        if (!lap_output_folder_check(PROGRAM, screenshots, "screenshots"))
            goto out;
        options.screenshot_dir = screenshots;
    } else if (options.screenshots) {
        options.screenshot_dir = getcwd(screenshots, sizeof screenshots);
    }
    report = make_report();
    if (report)
        code = run(&options, pattern, report, manifests);
out:
    if (report)
        unlink(report);
    free(report);
    free(pattern);
    return code;
}
