/* SPDX-License-Identifier: MIT */
/* lapilli-assert: whether conditions hold on a trace and on a replay of it, for tests. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file/folder.h"
#include "base/file/new_file.h"
#include "base/utf8.h"
#include "tools/assert/verdict.h"
#include "tools/common/arguments.h"
#include "tools/common/sandboxed_work.h"
#include "tools/common/tool.h"

#define PROGRAM "lapilli-assert"

static const char help[] =
    "usage: lapilli assert [options] FILE [CONDITION…]\n"
    "Checks conditions on a trace, and on a replay of it where they need one. Without conditions on the command line "
    "it\n"
    "reads them from standard input, one a line. # begins a comment.\n"
    "\n"
    "  frames >= 100                             also draws, dispatches, submits, calls, commands, objects, bytes and\n"
    "                                            so on\n"
    "  draws(50-59) < 2000                       of frames\n"
    "  info.recorded_on.device == llvmpipe       any member of lapilli info --json\n"
    "  state(3.1.1.6).pipeline == VkPipeline:1   a member of lapilli state --json; also state(POSITION, OBJECT)\n"
    "  pixel(100, 400,300) == 163,164,162 +- 2   of the presented image of a frame\n"
    "  texel(3.1.1.6, color0, 4,3) == 0,0,255    of an attachment behind a command\n"
    "  image(100) == golden.png +- 1, 0.1%       at most 0.1 % of the texels are further away than 1; also\n"
    "                                            image(POSITION, TARGET)\n"
    "  messages == 0                             of a replay under validation; also errors, warnings\n"
    "  different == 0                            of a replay with --verify\n"
    "  gpu_ms(50-59).p90 < 4.0 +- 0.2            times of frames: gpu_ms, wall_ms, cpu_ms; .p50 without a name\n"
    "\n"
    "  --file LIST         read conditions from this file\n"
    "  --junit FILE.xml    write the results for a CI system\n"
    "  --write-images DIR  keep the replayed pictures there, as frame_100.png or 3.1.1.6-color0.png\n"
    "  --gpu GPU           the GPU: its number, a part of its name, or its UUID (lapilli replay --list-gpus)\n"
    "  --wait-limit SECONDS\n"
    "                      as in lapilli replay\n"
    "  --sandbox HOW       as in lapilli replay\n"
    "  --json              one JSON object\n"
    "  --quiet             print only conditions that don't hold\n"
    "  --color WHEN        auto (default: on a terminal, unless NO_COLOR is set), always, never\n"
    "  --help              this text\n"
    "\n"
    "Exit status: 0 all hold; 1 one fails, or an output can't be written; 2 wrong usage, such as a condition that "
    "can't\n"
    "be parsed: nothing is played; 3 no readable trace; 5 none fails, but one can't be known here.\n";

static const struct lap_verb verb = {PROGRAM, help};

struct options {
    struct facts_options facts;
    const char *list, *junit, *write_images;
    char **words;
    bool json, quiet;
    int colour;
    enum lap_sandbox_wish sandbox;
};

struct work {
    const struct options *options;
    struct conditions conditions;
    struct facts facts;
    struct verdict *verdicts; /* of each condition */
    FILE *junit;              /* NULL: none */
    size_t counts[3];         /* [enum verdict_kind] */
};

static const char *const kinds[] = {"ok", "FAIL", "unknown"};                /* [enum verdict_kind], as text */
static const char *const json_kinds[] = {"ok", "failed", "unknown"};         /* in JSON */
static const char *const colours[] = {"\033[32m", "\033[1;31m", "\033[33m"}; /* of the kind */

static int parse(int argc, char **argv, struct options *options)
{
    const struct lap_argument rows[] = {LAP_VALUE("file", &options->list, lap_take_some_text),
                                        LAP_VALUE("junit", &options->junit, lap_take_some_text),
                                        LAP_VALUE("write-images", &options->write_images, lap_take_some_text),
                                        LAP_TEXT("gpu", &options->facts.gpu),
                                        LAP_TEXT("wait-limit", &options->facts.wait_limit),
                                        LAP_VALUE("sandbox", &options->sandbox, lap_take_sandbox),
                                        LAP_FLAG("json", &options->json),
                                        LAP_FLAG("quiet", &options->quiet),
                                        LAP_VALUE("color", &options->colour, lap_take_colour),
                                        LAP_FILE(&options->facts.trace),
                                        LAP_WORDS(&options->words)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    options->facts.program = PROGRAM;
    options->facts.sandbox = lap_sandbox_wish_name(options->sandbox);
    return code;
}

/* ---- conditions ---- */

/* Returns -1, or an exit status. */
static int add(struct conditions *conditions, const char *line, const char *from, unsigned number)
{
    enum lap_status status = conditions_add(conditions, line, number);

    if (status != LAP_OK)
        fprintf(stderr, PROGRAM ": %s %u, %s\n", from, number, lap_error_message());
    return status == LAP_OK ? -1 : status == LAP_ERROR_MEMORY ? LAP_TOOL_FAILED : LAP_TOOL_USAGE;
}

static int add_lines(struct conditions *conditions, FILE *file, const char *name)
{
    char *line = NULL, from[300];
    size_t room = 0;
    int code = -1;

    snprintf(from, sizeof from, "%.250s: line", name);
    for (unsigned number = 1; code < 0 && getline(&line, &room, file) >= 0; number++)
        code = add(conditions, line, from, number);
    if (code < 0 && ferror(file)) {
        fprintf(stderr, PROGRAM ": %s: %s\n", name, strerror(errno));
        code = LAP_TOOL_USAGE;
    }
    free(line);
    return code;
}

static int read_conditions(const struct options *options, struct conditions *conditions)
{
    int code = -1;

    if (options->list) {
        FILE *file = fopen(options->list, "re");
        if (!file) {
            fprintf(stderr, PROGRAM ": %s: %s\n", options->list, strerror(errno));
            return LAP_TOOL_USAGE;
        }
        code = add_lines(conditions, file, options->list);
        (void)fclose(file);
    }
    for (unsigned i = 0; code < 0 && options->words[i]; i++)
        code = add(conditions, options->words[i], "condition", i + 1);
    if (!options->list && !options->words[0])
        code = add_lines(conditions, stdin, "standard input");
    return code < 0 && !conditions->count ? lap_usage(&verb, "there is no condition") : code;
}

/* ---- results ---- */

/* "found 3; the first: …", or the reason. */
static void describe(const struct verdict *verdict, char *out, size_t bytes)
{
    bool has = verdict->kind != VERDICT_UNKNOWN;

    snprintf(out, bytes, "%s%s%s%s", has ? "found " : "", has ? verdict->found : "", has && *verdict->note ? "; " : "",
             verdict->note);
}

static void show_text(const struct work *work)
{
    bool colour = lap_tool_has_colour(work->options->colour);
    char text[800];

    for (size_t i = 0; i < work->conditions.count; i++) {
        const struct verdict *verdict = &work->verdicts[i];
        if (work->options->quiet && verdict->kind == VERDICT_HOLDS)
            continue;
        describe(verdict, text, sizeof text);
        printf("%s%-7s%s  ", colour ? colours[verdict->kind] : "", kinds[verdict->kind], colour ? "\033[0m" : "");
        lap_utf8_print(stdout, work->conditions.items[i].text, strlen(work->conditions.items[i].text), '?', "\t");
        printf("    %s\n", text);
    }
    printf("assert: %zu condition%s, %zu failed, %zu unknown\n", work->conditions.count,
           work->conditions.count == 1 ? "" : "s", work->counts[VERDICT_FAILS], work->counts[VERDICT_UNKNOWN]);
}

static bool put_text(cJSON *object, const char *key, const char *text)
{
    char *clean = lap_utf8(text, strlen(text));
    bool good =
        *text ? clean && cJSON_AddStringToObject(object, key, clean) : cJSON_AddNullToObject(object, key) != NULL;

    free(clean);
    return good;
}

static bool put_verdict(cJSON *array, const struct condition *condition, const struct verdict *verdict)
{
    cJSON *item = cJSON_CreateObject();
    bool good = item && cJSON_AddItemToArray(array, item);

    return good && cJSON_AddNumberToObject(item, "line", condition->line) &&
           put_text(item, "condition", condition->text) &&
           cJSON_AddStringToObject(item, "result", json_kinds[verdict->kind]) &&
           (verdict->is_number ? cJSON_AddNumberToObject(item, "found", verdict->number) != NULL
                               : put_text(item, "found", verdict->found)) &&
           put_text(item, "note", verdict->note);
}

static bool show_json(const struct work *work)
{
    cJSON *all = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(all, "conditions");
    bool good = array != NULL;
    char *text;

    for (size_t i = 0; good && i < work->conditions.count; i++)
        good = put_verdict(array, &work->conditions.items[i], &work->verdicts[i]);
    for (size_t i = 0; good && i < 3; i++)
        good = cJSON_AddNumberToObject(all, json_kinds[i], (double)work->counts[i]) != NULL;
    text = good ? cJSON_Print(all) : NULL;
    if (text)
        puts(text);
    else
        fprintf(stderr, PROGRAM ": out of memory\n");
    cJSON_free(text);
    cJSON_Delete(all);
    return text != NULL;
}

/* XML of any bytes. */
static void put_xml(FILE *out, const char *text)
{
    static const char specials[] = "&<>\"'";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

    for (size_t left = strlen(text), step; left; left -= step, text += step) {
        const char *special = strchr(specials, *text);
        bool shown;
        step = lap_utf8_step(text, left, &shown);
        if (special)
            fputs(names[special - specials], out);
        else if (shown)
            fwrite(text, 1, step, out);
        else
            putc(*text == '\t' ? ' ' : '?', out);
    }
}

static void write_junit(const struct work *work)
{
    FILE *out = work->junit;
    char text[800];

    fprintf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"lapilli assert\" tests=\"%zu\" "
        "failures=\"%zu\" errors=\"%zu\">\n",
        work->conditions.count, work->counts[VERDICT_FAILS], work->counts[VERDICT_UNKNOWN]);
    for (size_t i = 0; i < work->conditions.count; i++) {
        const struct verdict *verdict = &work->verdicts[i];
        fputs("<testcase classname=\"", out);
        put_xml(out, work->options->facts.trace);
        fputs("\" name=\"", out);
        put_xml(out, work->conditions.items[i].text);
        fputs(verdict->kind == VERDICT_HOLDS   ? "\"/>\n"
              : verdict->kind == VERDICT_FAILS ? "\"><failure message=\""
                                               : "\"><error message=\"",
              out);
        if (verdict->kind == VERDICT_HOLDS)
            continue;
        describe(verdict, text, sizeof text);
        put_xml(out, text);
        fputs("\"/></testcase>\n", out);
    }
    fputs("</testsuite>\n</testsuites>\n", out);
}

/* In a sandbox. */
static int judge_all(void *argument)
{
    struct work *work = argument;
    struct judge judge = {.facts = &work->facts};
    bool good = true;

    (void)signal(SIGPIPE, SIG_IGN); /* a reader of stdout that wants no more changes no result */
    work->verdicts = calloc(work->conditions.count, sizeof *work->verdicts);
    if (!work->verdicts) {
        fprintf(stderr, PROGRAM ": out of memory\n");
        return LAP_TOOL_FAILED;
    }
    for (size_t i = 0; i < work->conditions.count; i++) {
        verdict_find(&judge, &work->conditions.items[i], &work->verdicts[i]);
        work->counts[work->verdicts[i].kind]++;
    }
    if (work->options->write_images)
        good = judge_write(&judge, &work->conditions, work->options->write_images);
    judge_finish(&judge);
    if (work->options->json)
        good &= show_json(work);
    else
        show_text(work);
    if (work->junit) {
        write_junit(work);
        if (fflush(work->junit) != 0) {
            fprintf(stderr, PROGRAM ": %s: %s\n", work->options->junit, strerror(errno));
            good = false;
        }
    }
    return lap_tool_end_output(PROGRAM, !good || work->counts[VERDICT_FAILS] ? LAP_TOOL_FAILED
                                        : work->counts[VERDICT_UNKNOWN]      ? LAP_TOOL_UNSUPPORTED
                                                                             : LAP_TOOL_OK);
}

/* What is written, so that an error comes before the work. False: after a message. */
static bool open_outputs(struct work *work)
{
    const struct options *options = work->options;
    int fd;

    if (options->write_images && lap_folder_make(options->write_images) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        return false;
    }
    if (!options->junit)
        return true;
    fd = lap_new_file(options->junit);
    work->junit = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!work->junit)
        fprintf(stderr, PROGRAM ": %s: %s\n", options->junit,
                errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    return work->junit != NULL;
}

int main(int argc, char **argv)
{
    struct options options = {.colour = -1};
    struct work work = {.options = &options};
    int code = parse(argc, argv, &options);

    if (code < 0)
        code = read_conditions(&options, &work.conditions);
    if (code < 0 && !open_outputs(&work))
        code = LAP_TOOL_FAILED;
    if (code < 0) {
        code = facts_gather(&work.facts, &options.facts, &work.conditions);
        if (code < 0)
            code = lap_sandboxed_work_in(PROGRAM, options.sandbox, options.write_images, judge_all, &work);
        else if (work.junit)
            lap_tool_remove_output(fileno(work.junit), options.junit);
        facts_finish(&work.facts);
    }
    if (work.junit)
        (void)fclose(work.junit);
    conditions_finish(&work.conditions);
    return code;
}
