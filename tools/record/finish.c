/* SPDX-License-Identifier: MIT */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include "tools/record/finish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common/progress.h"
#include "tools/common/sandboxed_work.h"
#include "tools/common/tool.h"
#include "trace/crash/tail.h"
#include "trace/read/reader.h"

struct work {
    const struct lap_finish_job *job;
    struct lap_finish_report *report; /* in memory shared by parent and child */
    int fd;
};

static int fail(const struct lap_finish_job *job, const char *what, int error)
{
    fprintf(stderr, "%s: %s: %s%s%s\n", job->program, job->path, what, error ? ": " : "", error ? strerror(error) : "");
    return LAP_TOOL_FAILED;
}

static int fail_with_message(const struct lap_finish_job *job, enum lap_status status)
{
    const char *text = lap_error_message();
    if (strstr(text, job->path))
        fprintf(stderr, "%s: %s\n", job->program, text);
    else
        fprintf(stderr, "%s: %s: %s\n", job->program, job->path, text);
    return status == LAP_ERROR_FORMAT ? LAP_TOOL_NO_TRACE : LAP_TOOL_FAILED;
}

static void copy(char *out, size_t room, const char *text)
{
    snprintf(out, room, "%s", text ? text : "");
}

/* ---- child ---- */

/* Reads the state of the trace. */
static enum lap_status look(struct work *work)
{
    struct lap_finish_report *report = work->report;
    struct lap_reader *reader;
    enum lap_status status = lap_reader_open(work->job->path, NULL, &reader);
    if (status != LAP_OK)
        return status;
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    report->complete = summary->complete;
    report->frames = summary->frames;
    report->packets = summary->packets;
    copy(report->stopped, sizeof(report->stopped), summary->stopped);
    copy(report->ended, sizeof(report->ended), summary->ended);
    copy(report->repaired, sizeof(report->repaired), summary->repaired);
    if (report->result.outcome == LAP_FINISH_DONE && !summary->end_note)
        status = lap_fail(LAP_ERROR_FORMAT, "the trace that was finished has no end");
    lap_reader_close(&reader);
    return status;
}

static int do_work(void *argument)
{
    struct work *work = argument;
    const struct lap_finish_job *job = work->job;
    struct lap_finish_report *report = work->report;
    struct lap_finish_options options = job->options;
    struct lap_progress progress;
    enum lap_status status;
    int fd = fcntl(work->fd, F_DUPFD_CLOEXEC, 3);

    if (fd < 0)
        return fail(job, "the trace can't be opened", errno);
    lap_progress_begin(&progress, "finishing", job->quiet);
    options.progress = lap_progress_show;
    options.user = &progress;
    status = lap_finish(job->path, fd, &options, &report->result);
    lap_progress_clear(&progress);
    if (status != LAP_OK && job->drops && report->result.outcome == LAP_FINISH_NOTHING)
        return LAP_TOOL_NO_TRACE;
    if (status != LAP_OK)
        return fail_with_message(job, status);
    if (report->result.outcome == LAP_FINISH_RECORDING)
        return LAP_TOOL_FAILED;
    if (report->result.outcome == LAP_FINISH_REFUSED) {
        (void)fail_with_message(job, LAP_OK);
        return LAP_TOOL_FAILED;
    }
    status = look(work);
    if (status == LAP_OK)
        return report->complete ? LAP_TOOL_OK : LAP_TOOL_INCOMPLETE;
    /* Failed: removes the appended bytes again and leaves the tail file. */
    if (report->result.outcome == LAP_FINISH_DONE && ftruncate(work->fd, (off_t)report->result.good_bytes) != 0)
        return fail(job, "it can't be cut", errno);
    return fail_with_message(job, status);
}

/* ---- parent ---- */

/* Opens the tail file, to identify it later; -1: there is none. */
static int open_tail(const char *tail)
{
    return open(tail, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Unless another file has replaced it. */
static void remove_file(const char *path, int fd)
{
    struct stat ours, there;
    if (fd >= 0 && fstat(fd, &ours) == 0 && lstat(path, &there) == 0 && ours.st_dev == there.st_dev &&
        ours.st_ino == there.st_ino)
        (void)unlink(path);
}

static int open_trace(const struct lap_finish_job *job, int *out_code)
{
    struct stat info;
    int fd = open(job->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    *out_code = LAP_TOOL_NO_TRACE;
    if (fd < 0) {
        int error = errno;
        (void)fail(job, "it can't be opened for writing", error);
        if (error == EACCES || error == EPERM || error == EROFS || error == ETXTBSY)
            *out_code = LAP_TOOL_FAILED;
        return -1;
    }
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        return fd;
    (void)fail(job, "it is no regular file", 0);
    close(fd);
    return -1;
}

static int run(const struct lap_finish_job *job, struct lap_finish_report *report, int fd)
{
    struct work work = {job, report, fd};
    char *tail;
    int tail_fd, code;

    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        report->result.outcome = LAP_FINISH_RECORDING;
        return LAP_TOOL_FAILED;
    }
    if (asprintf(&tail, "%s" LAP_TAIL_SUFFIX, job->path) < 0)
        return fail(job, "out of memory", 0);
    tail_fd = open_tail(tail);
    code = lap_sandboxed_work(job->program, job->sandbox, do_work, &work);
    if ((code == LAP_TOOL_OK || code == LAP_TOOL_INCOMPLETE) && report->result.outcome == LAP_FINISH_DONE) {
        /* The tail file is the only safe copy until the trace is on the disk. */
        if (job->sync && fsync(fd) != 0 && errno != EINVAL)
            code = fail(job, "it can't be written to the disk, so its tail file stays", errno);
        else if (report->result.used_tail)
            remove_file(tail, tail_fd);
    }
    if (code == LAP_TOOL_NO_TRACE && job->drops && report->result.outcome == LAP_FINISH_NOTHING)
        remove_file(job->path, fd);
    if (tail_fd >= 0)
        close(tail_fd);
    free(tail);
    return code;
}

int lap_finish_file(const struct lap_finish_job *job, struct lap_finish_report *out)
{
    int code, fd;
    struct lap_finish_report *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    *out = (struct lap_finish_report){.complete = false};
    if (shared == MAP_FAILED)
        return fail(job, "out of memory", 0);
    fd = open_trace(job, &code);
    if (fd >= 0) {
        code = run(job, shared, fd);
        close(fd);
    }
    /* The child has read an untrusted file. */
    shared->stopped[sizeof(shared->stopped) - 1] = shared->ended[sizeof(shared->ended) - 1] = 0;
    shared->repaired[sizeof(shared->repaired) - 1] = shared->result.reason[sizeof(shared->result.reason) - 1] = 0;
    *out = *shared;
    munmap(shared, sizeof(*shared));
    return code;
}
