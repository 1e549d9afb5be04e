/* SPDX-License-Identifier: MIT */
/*
 * lapilli: the main command. `lapilli X ...` runs the program lapilli-X from its own folder, or else from PATH.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/version.h"
#include "gen_ids.h"
#include "tools/common/tool.h"
#include "trace/format/format.h"
#include "trace/send/greeting.h"
#include "vm/program_file.h"

static const char help[] =
    "usage: lapilli VERB [options]\n"
    "Records the Vulkan calls of a program and replays them.\n"
    "\n"
    "  lapilli capture -- PROGRAM ...    run a program and record it\n"
    "  lapilli replay FILE               play a trace\n"
    "  lapilli check FILE                whether this machine can play a trace, and how\n"
    "  lapilli info FILE                 show the contents and the requirements of a trace\n"
    "  lapilli print FILE                the calls of a trace\n"
    "  lapilli compare-checks A B        compare two recordings of a program\n"
    "  lapilli compress FILE -o NEW      the same trace in a smaller file\n"
    "  lapilli import FILE.gfxr -o NEW   a trace of a recording of gfxreconstruct\n"
    "  lapilli receive --listen ADDRESS  write the traces that programs stream\n"
    "  lapilli control ADDRESS status    ask programs that stream, or stop their recording\n"
    "  lapilli tree FILE                 frames, submits, render passes, draws of a trace\n"
    "  lapilli draws FILE                draws, dispatches and ray traces, one a line\n"
    "  lapilli find FILE TEXT            where a text occurs: names, labels, commands, code of shaders\n"
    "  lapilli shaders FILE [HASH]       code of shaders: a list, one as text, or a search\n"
    "  lapilli state FILE --at POSITION  the objects there, or the state of a command\n"
    "  lapilli memory FILE VkBuffer:N    the bytes of a buffer, and who wrote them\n"
    "  lapilli uses FILE OBJECT          the uses of an object; the objects without a use\n"
    "  lapilli image FILE -o DIR         pictures of the attachments behind a command, or of a texture\n"
    "  lapilli pixel FILE --at P X,Y     which commands changed a pixel, and from what to what\n"
    "  lapilli debug FILE --at P --texel X,Y  the values that a shader computes, beside its code\n"
    "  lapilli mesh FILE --at P          the vertices of a draw: attributes and outputs\n"
    "  lapilli profile FILE              GPU time of frames, passes, labels and draws\n"
    "  lapilli report FILE               what is wrong or wasteful in a trace\n"
    "  lapilli assert FILE CONDITION…    conditions on a trace and a replay of it, for tests\n"
    "  lapilli serve FILE                show traces in a browser, answer questions over HTTP\n"
    "  lapilli mcp FILE                  answer an assistant's questions (Model Context Protocol)\n"
    "  lapilli trim FILE -o NEW          some frames of a trace, with what they need\n"
    "  lapilli compile FILE -o PROG      a replay program of a trace\n"
    "  lapilli run PROG                  play a replay program, here or on another machine\n"
    "  lapilli disasm PROG               a replay program as text\n"
    "  lapilli asm TEXT -o PROG          a replay program of such text\n"
    "  lapilli export FILE -o DIR        a folder that plays a trace on other machines\n"
    "  lapilli farm run --results DIR    play many traces on many devices, and say what changed\n"
    "  lapilli android capture PACKAGE   record an app on a device, by adb; play there\n"
    "  lapilli repair FILE               end a trace that its program could not end\n"
    "  lapilli help VERB                 the options of a verb\n"
    "  lapilli --version [--json]        the version, formats of files, the registry, and optional parts\n"
    "\n"
    "A verb X is the program lapilli-X; others can be added to the same folder or to PATH.\n";

/* Runs a verb; returns only on failure. */
static int run(const char *verb, char **arguments)
{
    char path[PATH_MAX], *name = NULL;

    if (verb[0] == 0 || strchr(verb, '/') || asprintf(&name, "lapilli-%s", verb) < 0) {
        fprintf(stderr, "lapilli: there is no verb '%s'. Try 'lapilli help'.\n", verb);
        return LAP_TOOL_USAGE;
    }
    arguments[0] = name;
    if (lap_tool_find_beside(name, path))
        execv(path, arguments);
    else
        execvp(name, arguments);
    if (errno == ENOENT) {
        fprintf(stderr, "lapilli: there is no verb '%s'. Try 'lapilli help'.\n", verb);
        free(name);
        return LAP_TOOL_USAGE;
    }
    fprintf(stderr, "lapilli: %s can't be started: %s\n", name, strerror(errno));
    free(name);
    return LAP_TOOL_NOT_STARTED;
}

/* Runs the replayer's check: `lapilli check X` is `lapilli-replay --check X`. arguments[0] is a place for the
 * program's name, `count` more follow it. */
static int run_check(int count, char **arguments)
{
    char **all = calloc((size_t)count + 3, sizeof *all);
    int code;

    if (!all) {
        fprintf(stderr, "lapilli: out of memory\n");
        return LAP_TOOL_FAILED;
    }
    all[1] = (char[]){"--check"};
    memcpy(all + 2, arguments + 1, (size_t)count * sizeof *all);
    code = run("replay", all);
    free(all);
    return code;
}

/* Libraries that a build can do without, or with which it does more. */
static const struct {
    const char *name, *purpose;
    bool is_in;
} parts[] = {
#ifdef LAP_NETTLE
    {"nettle", "tokens of streamed traces", true},
#else
    {"nettle", "tokens of streamed traces", false},
#endif
#ifdef LAP_MICROHTTPD
    {"libmicrohttpd", "serve", true},
#else
    {"libmicrohttpd", "serve", false},
#endif
#ifdef LAP_SPIRV_TOOLS
    {"spirv-tools", "code of shaders as text, replay --validate-shaders", true},
#else
    {"spirv-tools", "code of shaders as text, replay --validate-shaders", false},
#endif
#ifdef LAP_SPIRV_CROSS
    {"spirv-cross", "shaders --glsl", true},
#else
    {"spirv-cross", "shaders --glsl", false},
#endif
#ifdef LAP_HAS_WAYLAND
    {"wayland", "windows", true},
#else
    {"wayland", "windows", false},
#endif
#ifdef LAP_HAS_X
    {"xcb", "windows", true},
#else
    {"xcb", "windows", false},
#endif
};
#define PARTS (sizeof parts / sizeof *parts)

static int show_version(void)
{
    printf("lapilli %s\n"
           "trace format %u, reads %u to %u; replay programs %u; streams %u\n"
           "Vulkan registry %s\n",
           LAPILLI_VERSION, LAP_FORMAT_VERSION, LAP_FORMAT_OLDEST, LAP_FORMAT_VERSION, LAP_VM_FILE_VERSION,
           LAP_GREETING_VERSION, GEN_REGISTRY_VERSION);
    for (size_t i = 0; i < PARTS; i++)
        printf("%s %s (%s)\n", parts[i].is_in ? "with   " : "without", parts[i].name, parts[i].purpose);
    return lap_tool_end_output("lapilli", LAP_TOOL_OK);
}

static int show_version_json(void)
{
    cJSON *all = cJSON_CreateObject(), *with = NULL;
    char *text = NULL;

    if (cJSON_AddStringToObject(all, "version", LAPILLI_VERSION) &&
        cJSON_AddNumberToObject(all, "trace_format", LAP_FORMAT_VERSION) &&
        cJSON_AddNumberToObject(all, "oldest_trace_format", LAP_FORMAT_OLDEST) &&
        cJSON_AddNumberToObject(all, "program_format", LAP_VM_FILE_VERSION) &&
        cJSON_AddNumberToObject(all, "stream_version", LAP_GREETING_VERSION) &&
        cJSON_AddStringToObject(all, "registry", GEN_REGISTRY_VERSION))
        with = cJSON_AddObjectToObject(all, "parts");
    for (size_t i = 0; with && i < PARTS; i++)
        if (!cJSON_AddBoolToObject(with, parts[i].name, parts[i].is_in))
            with = NULL;
    if (with)
        text = cJSON_PrintUnformatted(all);
    cJSON_Delete(all);
    if (!text) {
        fprintf(stderr, "lapilli: out of memory\n");
        return LAP_TOOL_FAILED;
    }
    puts(text);
    cJSON_free(text);
    return lap_tool_end_output("lapilli", LAP_TOOL_OK);
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : NULL;

    if (!verb) {
        fputs(help, stderr);
        return LAP_TOOL_USAGE;
    }
    if (strcmp(verb, "--version") == 0 || strcmp(verb, "version") == 0) {
        if (argc > 3 || (argc == 3 && strcmp(argv[2], "--json") != 0)) {
            fprintf(stderr, "lapilli: --version takes --json, and nothing else\n");
            return LAP_TOOL_USAGE;
        }
        return argc == 3 ? show_version_json() : show_version();
    }
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0 || (strcmp(verb, "help") == 0 && argc == 2))
        return lap_tool_help("lapilli", help);
    if (strcmp(verb, "help") == 0) {
        char *arguments[] = {NULL, (char[]){"--help"}, NULL};
        return strcmp(argv[2], "check") == 0 ? run_check(1, arguments) : run(argv[2], arguments);
    }
    if (verb[0] == '-') {
        fprintf(stderr, "lapilli: there is no option '%s'. Try 'lapilli help'.\n", verb);
        return LAP_TOOL_USAGE;
    }
    return strcmp(verb, "check") == 0 ? run_check(argc - 2, argv + 1) : run(verb, argv + 1);
}
