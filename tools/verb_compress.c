/* SPDX-License-Identifier: MIT */
/*
 * lapilli-compress: rewrites a trace to make it smaller.
 *
 * A child process does the work in a sandbox, with the new file open and no other rights
 * (tools/common/sandboxed_work.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process/sandbox.h"
#include "tools/common/arguments.h"
#include "tools/common/calls.h"
#include "tools/common/progress.h"
#include "tools/common/sandboxed_work.h"
#include "tools/common/tool.h"
#include "tools/common/whole_file.h"
#include "trace/crash/tail.h"
#include "trace/read/reader.h"
#include "trace/rewrite.h"

#define PROGRAM "lapilli-compress"

static const char help[] =
    "usage: lapilli compress [options] (-o NEW | --in-place) FILE\n"
    "Writes a trace again, with better compression than a recording has time for. Then reads both\n"
    "and compares them: the new one has the same calls, frames and contents, or it is removed.\n"
    "\n"
    "  -o, --output NEW   the new file; it must not exist\n"
    "  --in-place         put the new one in the place of FILE\n"
    "  --codec CODEC      zstd (the default), lz4hc, lz4 or none\n"
    "  --level N          1 to 19 for zstd (12 by default), 3 to 12 for lz4hc (9)\n"
    "  --sandbox HOW      on: end if the kernel has no full sandbox; off: use none; auto (default): use what the\n"
    "                     kernel has (SECURITY.md)\n"
    "  --json             report the result as one JSON object\n"
    "  --quiet            print only errors\n"
    "  --help             this text\n"
    "\n"
    "Exit status: 0; 1 the new file can't be written, or the sandbox not be had (FILE is as it was); 2 wrong usage; 3 "
    "no readable trace;\n"
    "4 FILE is incomplete: the new file has its readable part, and the reason of its end.\n";

struct job {
    const char *from, *to;
    char *own_to; /* of --in-place */
    struct whole_file new;
    struct lap_codec packer;
    enum lap_sandbox_wish sandbox;
    bool packs, in_place, json, quiet;
};

struct said {
    struct lap_progress progress;
    const char *file;
};

static void show_progress(void *user, uint64_t done, uint64_t all)
{
    struct said *said = user;
    lap_progress_show(&said->progress, done, all);
}

static void say_repaired(void *user, const char *what)
{
    struct said *said = user;
    lap_progress_clear(&said->progress);
    fprintf(stderr, PROGRAM ": %s: %s\n", said->file, what);
}

static enum lap_status take_codec(const struct lap_argument *row, const char *value)
{
    struct job *job = row->out;
    static const struct {
        const char *name;
        const struct lap_codec *packer;
    } codecs[] = {{"zstd", &lap_codec_zstd}, {"lz4hc", &lap_codec_lz4hc}, {"lz4", &lap_codec_lz4}, {"none", NULL}};
    for (unsigned i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (strcmp(value, codecs[i].name) == 0) {
            job->packs = codecs[i].packer != NULL;
            if (job->packs)
                job->packer = *codecs[i].packer;
            return LAP_OK;
        }
    return lap_argument_wants(row, "zstd, lz4hc, lz4 or none");
}

static const struct lap_verb verb = {PROGRAM, help};

/* An exit status, or -1. */
static int set_level(struct job *job, uint64_t level)
{
    bool hc = job->packs && job->packer.state_bytes == lap_codec_lz4hc.state_bytes;
    bool zstd = job->packs && job->packer.codec == LAP_CODEC_ZSTD;

    if (!hc && !zstd)
        return lap_usage(&verb, "this codec has no levels");
    if (hc && (level < 3 || level > 12))
        return lap_usage(&verb, "--level is 3 to 12 for lz4hc");
    job->packer.level = (int)level;
    return -1;
}

static uint64_t bytes_of(const char *path)
{
    struct stat stat_of;
    return stat(path, &stat_of) == 0 ? (uint64_t)stat_of.st_size : 0;
}

/* Replaces the old trace once the new one is on the disk. */
static bool replace(struct job *job)
{
    char *tail = NULL;
    struct stat old;
    bool good = fsync(job->new.fd) == 0 && (stat(job->from, &old) != 0 || fchmod(job->new.fd, old.st_mode & 0777) == 0);

    if (!good) {
        fprintf(stderr, PROGRAM ": %s can't be replaced: %s\n", job->from, strerror(errno));
        whole_file_drop(&job->new);
        return false;
    }
    if (whole_file_keep(&job->new) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        return false;
    }
    if (rename(job->to, job->from) != 0) {
        fprintf(stderr, PROGRAM ": %s can't be replaced: %s\n", job->from, strerror(errno));
        (void)unlink(job->to);
        return false;
    }
    /* The new trace contains the data of the tail file. */
    if (asprintf(&tail, "%s" LAP_TAIL_SUFFIX, job->from) >= 0) {
        (void)unlink(tail);
        free(tail);
    }
    return true;
}

static bool keep(struct job *job)
{
    if (whole_file_keep(&job->new) == LAP_OK)
        return true;
    fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
    return false;
}

static void say(const struct job *job, uint64_t before, uint64_t after)
{
    if (job->json)
        printf("{\"bytes_before\": %" PRIu64 ", \"bytes_after\": %" PRIu64 "}\n", before, after);
    else if (!job->quiet)
        printf("%s: %" PRIu64 " bytes, now %" PRIu64 " (%.0f %%)\n", job->in_place ? job->from : job->to, before, after,
               before ? 100.0 * (double)after / (double)before : 100.0);
}

static int rewrite(const struct job *job, bool complete)
{
    struct said said = {.file = job->from};
    struct lap_rewrite_options options = {
        .packer = job->packs ? &job->packer : NULL, .progress = show_progress, .repaired = say_repaired, .user = &said};
    enum lap_status status;
    int fd = fcntl(job->new.fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        fprintf(stderr, PROGRAM ": can't write %s: %s\n", job->to, strerror(errno));
        return LAP_TOOL_FAILED;
    }
    lap_progress_begin(&said.progress, "compressing", job->quiet);
    status = lap_rewrite_into(job->from, fd, job->to, &options);
    lap_progress_clear(&said.progress);
    if (status == LAP_OK) {
        lap_progress_begin(&said.progress, "comparing", job->quiet);
        status = lap_rewrite_compare(job->from, whole_file_path(&job->new), &options);
        lap_progress_clear(&said.progress);
    }
    if (status != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        return status == LAP_ERROR_FORMAT ? LAP_TOOL_NO_TRACE : LAP_TOOL_FAILED;
    }
    return complete ? LAP_TOOL_OK : LAP_TOOL_INCOMPLETE;
}

/* Reports errors in the source before the first write. */
static int look_and_rewrite(void *argument)
{
    const struct job *job = argument;
    struct lap_reader *reader;
    enum lap_status status = lap_reader_open(job->from, NULL, &reader);
    bool complete, has_calls, has_rest;
    if (status != LAP_OK)
        return lap_calls_report_open(PROGRAM, job->from, status);
    has_calls = lap_reader_summary(reader)->in_flight_count != 0 && !lap_reader_summary(reader)->end_note;
    has_rest = lap_reader_summary(reader)->has_rest;
    complete = lap_reader_summary(reader)->complete;
    if (!complete)
        fprintf(stderr, PROGRAM ": %s is incomplete: %s\n", job->from, lap_reader_summary(reader)->stopped);
    lap_reader_close(&reader);
    if (has_calls)
        fprintf(stderr, PROGRAM ": which calls had not returned is in its tail file only%s\n",
                job->in_place ? ", which would be deleted: use -o, or lapilli repair first" : "");
    if (has_rest && job->in_place)
        fprintf(stderr, PROGRAM ": it has more than can be read, which would be lost: use -o\n");
    if ((has_calls || has_rest) && job->in_place)
        return LAP_TOOL_FAILED;
    return rewrite(job, complete);
}

static int run(struct job *job)
{
    uint64_t before = bytes_of(job->from);
    int code;

    if (whole_file_open(&job->new, job->to) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        return LAP_TOOL_FAILED;
    }
    code = lap_sandboxed_work(PROGRAM, job->sandbox, look_and_rewrite, job);
    if (code != LAP_TOOL_OK && code != LAP_TOOL_INCOMPLETE) {
        whole_file_drop(&job->new);
        return code;
    }
    if (job->in_place ? !replace(job) : !keep(job))
        return LAP_TOOL_FAILED;
    say(job, before, bytes_of(job->in_place ? job->from : job->to));
    return lap_tool_end_output(PROGRAM, code);
}

/* An exit status, or -1. */
static int parse(int argc, char **argv, struct job *job)
{
    uint64_t level = 0;
    const struct lap_argument rows[] = {LAP_OUTPUT(&job->to),
                                        LAP_FLAG("in-place", &job->in_place),
                                        LAP_VALUE("codec", job, take_codec),
                                        LAP_NUMBER("level", &level, 1, 19),
                                        LAP_VALUE("sandbox", &job->sandbox, lap_take_sandbox),
                                        LAP_FLAG("json", &job->json),
                                        LAP_FLAG("quiet", &job->quiet),
                                        LAP_FILE(&job->from)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code >= 0)
        return code;
    if (!job->to == !job->in_place)
        return lap_usage(&verb, "either -o NEW or --in-place");
    return level ? set_level(job, level) : -1;
}

int main(int argc, char **argv)
{
    struct job job = {.packer = lap_codec_zstd, .packs = true};
    int code = parse(argc, argv, &job);

    if (code >= 0)
        return code;
    if (job.in_place) {
        if (asprintf(&job.own_to, "%s.new", job.from) < 0)
            return LAP_TOOL_FAILED;
        job.to = job.own_to;
    }
    code = run(&job);
    free(job.own_to);
    return code;
}
