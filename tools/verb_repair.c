/* SPDX-License-Identifier: MIT */
/*
 * lapilli-repair: ends, in place, a trace that its process has not ended.
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/arguments.h"
#include "tools/common/tool.h"
#include "tools/record/finish.h"
#include "trace/format/codec.h"

#define PROGRAM "lapilli-repair"

static const char help[] =
    "usage: lapilli repair [options] FILE\n"
    "Finishes a trace that its process could not finish, since it was killed or crashed: appends the contents of its\n"
    "tail file (FILE.tail), removes that file, and writes index and end. An incomplete chunk at the end of FILE is "
    "cut\n"
    "off. After an interrupt FILE and FILE.tail together still hold everything. lapilli capture finishes the traces "
    "of\n"
    "the programs that it starts by itself.\n"
    "\n"
    "  --sandbox HOW   on: end if the kernel has no full sandbox; off: use none; auto (default): use what the kernel\n"
    "                  has (SECURITY.md)\n"
    "  --json          report the result as one JSON object\n"
    "  --quiet         print only errors\n"
    "  --help          this text\n"
    "\n"
    "Exit status: 0 the trace is complete, now or before; 1 the trace can't be written, is still being recorded, or\n"
    "would lose something (FILE is unchanged); 2 wrong usage; 3 no readable trace; 4 the trace has an end now, but "
    "lacks\n"
    "something: recording was stopped, or the end of FILE or its tail file is lost.\n";

struct options {
    struct lap_finish_job job;
    bool json;
};

static const struct lap_verb verb = {PROGRAM, help};

/* An exit status, or -1. */
static int parse(int argc, char **argv, struct options *options)
{
    const struct lap_argument rows[] = {LAP_VALUE("sandbox", &options->job.sandbox, lap_take_sandbox),
                                        LAP_FLAG("json", &options->json), LAP_FLAG("quiet", &options->job.quiet),
                                        LAP_FILE(&options->job.path)};

    return LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);
}

static bool print_json(const struct lap_finish_report *report, bool finished)
{
    cJSON *object = cJSON_CreateObject();
    bool good = cJSON_AddBoolToObject(object, "finished", finished) &&
                cJSON_AddBoolToObject(object, "complete", report->complete) &&
                cJSON_AddNumberToObject(object, "frames", (double)report->frames) &&
                cJSON_AddNumberToObject(object, "packets", (double)report->packets) &&
                cJSON_AddNumberToObject(object, "bytes_from_tail", (double)report->result.appended) &&
                cJSON_AddNumberToObject(object, "bytes_cut", (double)report->result.cut_bytes) &&
                (report->stopped[0] ? cJSON_AddStringToObject(object, "stopped", report->stopped)
                                    : cJSON_AddNullToObject(object, "stopped")) &&
                (report->ended[0] ? cJSON_AddStringToObject(object, "ended", report->ended)
                                  : cJSON_AddNullToObject(object, "ended"));
    char *text = good ? cJSON_Print(object) : NULL;
    if (text)
        puts(text);
    cJSON_free(text);
    cJSON_Delete(object);
    return text != NULL;
}

static void print_text(const struct options *options, const struct lap_finish_report *report, bool finished)
{
    const struct lap_finish_result *result = &report->result;

    if (!finished) {
        printf("%s: %s, nothing to repair\n", options->job.path,
               report->complete ? "the trace is complete" : "the trace has an end");
        if (report->repaired[0])
            printf("%s: %s; lapilli compress makes it anew\n", options->job.path, report->repaired);
    } else {
        printf("%s: %" PRIu64 " frame%s, %" PRIu64 " packets", options->job.path, report->frames,
               report->frames == 1 ? "" : "s", report->packets);
        if (result->appended)
            printf(", %" PRIu64 " bytes from its tail file", result->appended);
        if (result->cut_bytes)
            printf(", %" PRIu64 " bytes of an unfinished chunk cut off", result->cut_bytes);
        printf("; %s\n", report->complete ? "now complete" : "it has an end now");
    }
}

int main(int argc, char **argv)
{
    struct lap_finish_report report;
    struct options options = {
        .job = {.program = PROGRAM, .sync = true, .options = {.by = LAP_ENDED_BY_REPAIR, .packer = &lap_codec_lz4}}};
    int code = parse(argc, argv, &options);
    bool finished;

    if (code >= 0)
        return code;
    code = lap_finish_file(&options.job, &report);
    if (report.result.outcome == LAP_FINISH_RECORDING)
        fprintf(stderr,
                PROGRAM ": %s is still being recorded, or being repaired, by another process: nothing is done\n",
                options.job.path);
    if (code != LAP_TOOL_OK && code != LAP_TOOL_INCOMPLETE)
        return code;
    finished = report.result.outcome == LAP_FINISH_DONE;
    if (code == LAP_TOOL_INCOMPLETE)
        fprintf(stderr, PROGRAM ": %s is incomplete: %s\n", options.job.path, report.stopped);
    if (options.json && !print_json(&report, finished)) {
        fprintf(stderr, PROGRAM ": out of memory\n");
        return LAP_TOOL_FAILED;
    }
    if (!options.json && !options.job.quiet)
        print_text(&options, &report, finished);
    return lap_tool_end_output(PROGRAM, code);
}
