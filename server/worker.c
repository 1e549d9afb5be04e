/* SPDX-License-Identifier: MIT */
#include "server/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/array.h"
#include "base/exit_code.h"

#define ERRORS_MOST 16384u /* of stderr, its end */
#define LINE_MOST   4096u  /* of a line of progress */
#define PIECE       65536u
#define GAVE_UP     "(--wait-limit)" /* in the last words of a replay */

enum { OUTPUT, ERRORS, PROGRESS, PIPES };

struct buffer {
    char *data; /* ends with a zero that is not counted */
    size_t bytes, capacity;
};

struct lap_worker {
    const struct lap_worker_job *job;
    char folder[PATH_MAX];          /* "": it makes no files */
    char code[LAP_CODE_NAME_BYTES]; /* of a client, in the folder; "": none */
    pid_t pid;
    int pipes[PIPES]; /* -1: at their end */
    int request;      /* to its stdin; -1: that is empty */
    struct buffer buffers[PIPES];
    struct buffer film; /* frames that it has taken, as JSON */
    bool too_large, stopped, no_memory, waits;
};

/* ---- the process ---- */

/* Where memory is out, the kernel ends it before others. */
static void end_first(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)!write(fd, "1000", 4);
    close(fd);
}

/* In the child, where only async-signal-safe functions may be called. spare: nobody waits for it. */
static void become(const char *const *words, const char *folder, const int *ends, pid_t parent, bool spare)
{
    const struct rlimit none = {0, 0};
    sigset_t empty;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent)
        _exit(127);
    (void)setrlimit(RLIMIT_CORE, &none);
    for (int number = 1; number < NSIG; number++)
        if (number != SIGKILL && number != SIGSTOP)
            (void)signal(number, SIG_DFL);
    if (spare)
        end_first();
    sigemptyset(&empty);
    (void)sigprocmask(SIG_SETMASK, &empty, NULL);
    if ((*folder && chdir(folder) != 0) || dup2(ends[0], STDIN_FILENO) < 0 || dup2(ends[1 + OUTPUT], 1) < 0 ||
        dup2(ends[1 + ERRORS], 2) < 0 || (ends[1 + PROGRESS] >= 0 && dup2(ends[1 + PROGRESS], LAP_ROUTE_PROGRESS) < 0))
        _exit(127);
    execv(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

/* What it reads: nothing, or a pipe. */
static int make_stdin(struct lap_worker *worker, bool asked)
{
    int both[2] = {-1, -1}, end;

    if (asked && pipe2(both, O_CLOEXEC) != 0)
        return -1;
    if (!asked)
        both[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    worker->request = both[1];
    end = both[0] < 0 ? -1 : fcntl(both[0], F_DUPFD_CLOEXEC, 10);
    if (both[0] >= 0)
        close(both[0]);
    return end;
}

/* The ends of the child: stdin, and one of each pipe. All above the numbers that they get there. */
static bool make_pipes(struct lap_worker *worker, bool asked, bool progress, int ends[1 + PIPES])
{
    bool made = (ends[0] = make_stdin(worker, asked)) >= 0;

    for (unsigned i = 0; made && i < PIPES; i++) {
        int both[2];
        if (i == PROGRESS && !progress)
            continue;
        if (pipe2(both, O_CLOEXEC) != 0)
            return false;
        worker->pipes[i] = both[0];
        ends[1 + i] = fcntl(both[1], F_DUPFD_CLOEXEC, 10);
        close(both[1]);
        made = ends[1 + i] >= 0;
    }
    return made;
}

static bool start(struct lap_worker *worker, const char *const *words, bool asked, bool progress)
{
    int ends[1 + PIPES] = {-1, -1, -1, -1};
    pid_t self = getpid();
    bool made = make_pipes(worker, asked, progress, ends);

    worker->pid = made ? fork() : -1;
    if (worker->pid == 0)
        become(words, worker->folder, ends, self, asked);
    for (unsigned i = 0; i < 1 + PIPES; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    return worker->pid > 0;
}

/* ---- its output ---- */

static bool append(struct buffer *buffer, const char *data, size_t bytes)
{
    if (!lap_array_grow(&buffer->data, 1, &buffer->capacity, buffer->bytes + bytes + 1))
        return false;
    memcpy(buffer->data + buffer->bytes, data, bytes);
    buffer->bytes += bytes;
    buffer->data[buffer->bytes] = 0;
    return true;
}

/* What read returns. -1 with ENOMEM, too. */
static ssize_t append_from(struct buffer *buffer, int fd)
{
    ssize_t got;

    if (!lap_array_grow(&buffer->data, 1, &buffer->capacity, buffer->bytes + PIECE + 1)) {
        errno = ENOMEM;
        return -1;
    }
    got = read(fd, buffer->data + buffer->bytes, PIECE);
    buffer->bytes += got > 0 ? (size_t)got : 0;
    buffer->data[buffer->bytes] = 0;
    return got;
}

static void cut_front(struct buffer *buffer, size_t bytes)
{
    memmove(buffer->data, buffer->data + bytes, buffer->bytes - bytes + 1);
    buffer->bytes -= bytes;
}

/* The regular file `name` in the files of the worker, which is removed. NULL: it can't be had, or is too large. */
static struct lap_answer *take_file(struct lap_worker *worker, const char *name, enum lap_route_type type)
{
    char path[PATH_MAX + 300];
    struct lap_answer *answer = NULL;
    struct buffer buffer = {.data = NULL};
    struct stat is;
    ssize_t got = -1;
    int fd;

    snprintf(path, sizeof path, "%s/" LAP_ROUTE_FILES "/%s", worker->folder, name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &is) == 0 && S_ISREG(is.st_mode)) {
        while (buffer.bytes <= worker->job->most && (got = append_from(&buffer, fd)) > 0)
            ;
    }
    if (got == 0)
        answer = lap_answer_new(type, buffer.data, buffer.bytes);
    else
        free(buffer.data);
    if (fd >= 0)
        close(fd);
    (void)unlink(path);
    return answer;
}

/* NULL where the question itself has it: then *out_own. */
static void take(struct lap_worker *worker, const char *name, struct lap_answer **out_own)
{
    const struct lap_worker_job *job = worker->job;
    char values[256];
    struct lap_question question;
    struct lap_answer *answer;
    size_t length = strlen(name);

    if (length >= sizeof values || strchr(name, '/'))
        return;
    memcpy(values, name, length + 1);
    if (!lap_question_of_file(job->question, values, &question))
        return;
    answer = take_file(worker, name,
                       length > 4 && strcmp(name + length - 4, ".png") == 0 ? LAP_TYPE_PNG : LAP_TYPE_BYTES);
    if (!answer)
        return;
    if (question.route == job->question->route) {
        lap_answer_drop(*out_own);
        *out_own = answer;
        return;
    }
    if (job->question->route->kind == LAP_ROUTE_FILM)
        worker->no_memory |= !append(&worker->film, ", ", worker->film.bytes ? 2 : 0) ||
                             !append(&worker->film, question.values[0], strlen(question.values[0]));
    if (job->file_made)
        job->file_made(job->user, &question, answer);
    lap_answer_drop(answer);
}

static void take_line(struct lap_worker *worker, const char *line)
{
    const struct lap_worker_job *job = worker->job;
    cJSON *object = cJSON_Parse(line);
    const cJSON *done = cJSON_GetObjectItemCaseSensitive(object, "done"),
                *all = cJSON_GetObjectItemCaseSensitive(object, "all"),
                *file = cJSON_GetObjectItemCaseSensitive(object, "file");
    struct lap_answer *none = NULL;

    worker->waits |= cJSON_GetObjectItemCaseSensitive(object, "waits") != NULL;
    if (cJSON_IsString(file) && job->question)
        take(worker, file->valuestring, &none);
    else if (job->progress && cJSON_IsNumber(done) && cJSON_IsNumber(all) && done->valuedouble >= 0 &&
             all->valuedouble >= done->valuedouble && all->valuedouble < 1e18)
        job->progress(job->user, (uint64_t)done->valuedouble, (uint64_t)all->valuedouble);
    lap_answer_drop(none);
    cJSON_Delete(object);
}

static void take_lines(struct lap_worker *worker)
{
    struct buffer *buffer = &worker->buffers[PROGRESS];
    char *end;

    while (buffer->data && (end = strchr(buffer->data, '\n'))) {
        *end = 0;
        take_line(worker, buffer->data);
        cut_front(buffer, (size_t)(end + 1 - buffer->data));
    }
    if (buffer->bytes > LINE_MOST)
        cut_front(buffer, buffer->bytes);
}

/* Reads what is there. */
static void read_pipe(struct lap_worker *worker, unsigned which)
{
    struct buffer *buffer = &worker->buffers[which];
    ssize_t got = append_from(buffer, worker->pipes[which]);

    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        worker->no_memory |= got < 0 && errno == ENOMEM;
        close(worker->pipes[which]);
        worker->pipes[which] = -1;
        return;
    }
    if (which == OUTPUT && buffer->bytes > worker->job->most)
        worker->too_large = true;
    if (which == ERRORS && buffer->bytes > ERRORS_MOST)
        cut_front(buffer, buffer->bytes - ERRORS_MOST);
    if (which == PROGRESS)
        take_lines(worker);
}

/* Until all pipes are at their end, or the process has to be ended. */
static void follow(struct lap_worker *worker)
{
    while (!worker->too_large && !worker->no_memory && !worker->stopped) {
        struct pollfd wait[PIPES + 1];
        bool open = false;
        for (unsigned i = 0; i < PIPES; i++) {
            wait[i] = (struct pollfd){.fd = worker->pipes[i], .events = POLLIN};
            open |= worker->pipes[i] >= 0;
        }
        wait[PIPES] = (struct pollfd){.fd = worker->job->stop, .events = POLLIN};
        if (!open)
            return;
        if (poll(wait, PIPES + 1, -1) < 0)
            continue;
        for (unsigned i = 0; i < PIPES; i++)
            if (wait[i].revents)
                read_pipe(worker, i);
        worker->stopped = wait[PIPES].revents != 0;
    }
    (void)kill(worker->pid, SIGKILL);
}

/* It may have closed its pipes and go on, until it is told to end. Its status. */
static int end_of(struct lap_worker *worker)
{
    struct pollfd stop = {.fd = worker->job->stop, .events = POLLIN};
    bool killed = worker->too_large || worker->no_memory || worker->stopped;
    int status = 0;

    while (waitpid(worker->pid, &status, killed ? 0 : WNOHANG) != worker->pid) {
        if (killed || poll(&stop, 1, 5) <= 0)
            continue;
        killed = worker->stopped = true;
        (void)kill(worker->pid, SIGKILL);
    }
    return status;
}

/* ---- the answer ---- */

/* The last line that it wrote to stderr, without its name, the file's, and a hint at --help. "": none. */
static const char *last_words(struct lap_worker *worker)
{
    const char *file = worker->job->file;
    struct buffer *buffer = &worker->buffers[ERRORS];
    char *line, *hint, *name;

    if (!buffer->data)
        return "";
    while (buffer->bytes && strchr("\n\r ", buffer->data[buffer->bytes - 1]))
        buffer->data[--buffer->bytes] = 0;
    line = strrchr(buffer->data, '\n');
    line = line ? line + 1 : buffer->data;
    hint = strstr(line, ". Try 'lapilli");
    if (hint)
        *hint = 0;
    name = strncmp(line, "lapilli-", 8) == 0 ? strstr(line, ": ") : NULL;
    line = name ? name + 2 : line;
    if (strncmp(line, "error: ", 7) == 0)
        line += 7;
    if (file && strncmp(line, file, strlen(file)) == 0 && strncmp(line + strlen(file), ": ", 2) == 0)
        line += strlen(file) + 2;
    return line;
}

/* The sentence has the packet, its command and its frame. */
static struct lap_answer *gave_up(int code, const char *words)
{
    struct lap_answer *answer = lap_answer_failed(504, code, "%s", words);

    if (answer)
        answer->gave_up = true;
    return answer;
}

static struct lap_answer *failed(struct lap_worker *worker, int status)
{
    static const int statuses[] = {[LAP_TOOL_FAILED] = 500,   [LAP_TOOL_USAGE] = 404, [LAP_TOOL_NO_TRACE] = 422,
                                   [LAP_TOOL_INCOMPLETE] = 422, [LAP_TOOL_UNSUPPORTED] = 501};
    const char *words = last_words(worker);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

    if (worker->stopped)
        return lap_answer_failed(409, -1, "this was ended before it had an answer");
    if (worker->too_large)
        return lap_answer_failed(413, -1, "the answer has more than %zu MiB: ask for less", worker->job->most >> 20);
    if (worker->no_memory)
        return lap_answer_failed(500, -1, "out of memory");
    if (code == LAP_TOOL_FAILED && strstr(words, GAVE_UP))
        return gave_up(code, words);
    if (code < 0)
        return lap_answer_failed(502, -1, "%s%sthe process that answers was ended: %s", words, *words ? "; " : "",
                                 strsignal(WTERMSIG(status)));
    return lap_answer_failed(code > 0 && (size_t)code < sizeof statuses / sizeof *statuses ? statuses[code] : 500, code,
                             "%s", *words ? words : "the process that answers gave no reason");
}

static void film_body(struct lap_worker *worker)
{
    struct buffer body = {.data = NULL};

    if (append(&body, "{\"frames\": [", 12) && append(&body, worker->film.data ? worker->film.data : "", worker->film.bytes) &&
        append(&body, "]}\n", 3)) {
        free(worker->buffers[OUTPUT].data);
        worker->buffers[OUTPUT] = body;
        return;
    }
    free(body.data);
    worker->no_memory = true;
}

static bool is_answer(const struct lap_worker *worker, int status)
{
    return WIFEXITED(status) && lap_route_answers(worker->job->question->route, WEXITSTATUS(status));
}

static struct lap_answer *answer_of(struct lap_worker *worker, int status, struct lap_answer *own)
{
    const struct lap_question *question = worker->job->question;
    bool ended_well = is_answer(worker, status);
    struct buffer *output = &worker->buffers[OUTPUT];
    struct lap_answer *answer;

    if (ended_well && question->route->kind == LAP_ROUTE_FILM)
        film_body(worker);
    /* Where nothing could be read of an incomplete trace, there is no answer. */
    if (worker->stopped || worker->too_large || worker->no_memory || !ended_well || (!own && !output->bytes && WEXITSTATUS(status)) ||
        (!own && question->route->files == question->route->name)) {
        lap_answer_drop(own);
        return failed(worker, status);
    }
    answer = own ? own : lap_answer_new(question->route->type, output->data, output->bytes);
    if (!own)
        output->data = NULL;
    if (answer) {
        answer->exit = WEXITSTATUS(status);
        snprintf(answer->sentence, sizeof answer->sentence, "%s", last_words(worker));
    }
    return answer;
}

/* What it wrote to stderr in front of the last line; NULL: nothing. */
static char *first_words(const struct lap_worker *worker)
{
    const struct buffer *errors = &worker->buffers[ERRORS];
    const char *last = errors->data ? strrchr(errors->data, '\n') : NULL;

    return last ? strndup(errors->data, (size_t)(last - errors->data)) : NULL;
}

/* Where code of a client may be at fault, adds what a compiler said of it. */
static void add_log(const struct lap_worker *worker, struct lap_answer *answer)
{
    if (!answer || answer->status == 200 || answer->exit != LAP_TOOL_USAGE || !lap_question_code(worker->job->question))
        return;
    answer->body = (uint8_t *)first_words(worker);
    answer->bytes = answer->body ? strlen((const char *)answer->body) : 0;
}

/* Those that were not reported, and with them the folder. */
static void take_folder(struct lap_worker *worker, struct lap_answer **out_own, bool use)
{
    char path[PATH_MAX + 300];
    const struct dirent *entry;
    DIR *folder;

    if (!*worker->folder)
        return;
    snprintf(path, sizeof path, "%s/" LAP_ROUTE_FILES, worker->folder);
    folder = opendir(path);
    while (folder && (entry = readdir(folder))) {
        if (entry->d_name[0] == '.')
            continue;
        if (use)
            take(worker, entry->d_name, out_own);
        (void)unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder)
        closedir(folder);
    (void)rmdir(path);
    if (*worker->code) {
        snprintf(path, sizeof path, "%s/%s", worker->folder, worker->code);
        (void)unlink(path);
    }
    (void)rmdir(worker->folder);
}

static bool make_folder(struct lap_worker *worker)
{
    char path[PATH_MAX + 300];

    snprintf(worker->folder, sizeof worker->folder, "%s/XXXXXX", worker->job->scratch);
    if (!mkdtemp(worker->folder)) {
        *worker->folder = 0;
        return false;
    }
    snprintf(path, sizeof path, "%s/" LAP_ROUTE_FILES, worker->folder);
    return mkdir(path, 0700) == 0;
}

/* Puts the code of a client that it needs into the folder. NULL: it can start; else why not. */
static struct lap_answer *place_code(struct lap_worker *worker)
{
    const char *name = lap_question_code(worker->job->question);
    enum lap_status status;

    if (!name || !*worker->folder)
        return NULL;
    status = lap_codes_write(worker->job->codes, name, worker->folder);
    if (status == LAP_OK)
        snprintf(worker->code, sizeof worker->code, "%s", name);
    return status == LAP_OK
               ? NULL
               : lap_answer_failed(status == LAP_ERROR_ARGUMENT ? 404 : 500, -1, "%s", lap_error_message());
}

/* Frees what it has. use: its files are answers. */
static void finish(struct lap_worker *worker, bool use, struct lap_answer **out_own)
{
    for (unsigned i = 0; i < PIPES; i++)
        if (worker->pipes[i] >= 0)
            close(worker->pipes[i]);
    if (worker->request >= 0)
        close(worker->request);
    take_folder(worker, out_own, use);
}

static void free_buffers(struct lap_worker *worker)
{
    for (unsigned i = 0; i < PIPES; i++)
        free(worker->buffers[i].data);
    free(worker->film.data);
}

#define NO_WORKER                                                                                                      \
    {                                                                                                                  \
        .pid = -1, .pipes = {-1, -1, -1}, .request = -1                                                                \
    }

struct lap_answer *lap_worker_run(const struct lap_worker_job *job)
{
    const struct lap_route *route = job->question->route;
    struct lap_worker worker = NO_WORKER;
    struct lap_answer *own = NULL, *answer = NULL;
    const char *words[LAP_QUESTION_WORDS];
    char program[PATH_MAX];
    int status = 0, error;
    bool started;

    worker.job = job;
    snprintf(program, sizeof program, "%s/lapilli-%s", job->programs, route->words[0]);
    lap_question_words(job->question, program, job->file, &job->playing, words);
    started = (!route->files || make_folder(&worker)) && !(answer = place_code(&worker)) &&
              start(&worker, words, false, lap_route_has_progress(route));
    error = errno;
    if (started) {
        follow(&worker);
        status = end_of(&worker);
    }
    finish(&worker, started && WIFEXITED(status) && !worker.stopped, &own);
    if (started)
        answer = answer_of(&worker, status, own);
    else if (!answer)
        answer = lap_answer_failed(500, -1, "no process can be started: %s", strerror(error));
    add_log(&worker, answer);
    free_buffers(&worker);
    return answer;
}

/* ---- waiting ---- */

struct lap_worker *lap_worker_wait(const struct lap_worker_job *job, const char *frame)
{
    struct lap_worker *worker = malloc(sizeof *worker);
    const char *words[LAP_QUESTION_WORDS];
    struct lap_answer *none = NULL;
    char program[PATH_MAX];

    if (!worker)
        return NULL;
    *worker = (struct lap_worker)NO_WORKER;
    worker->job = job;
    snprintf(program, sizeof program, "%s/lapilli-replay", job->programs);
    lap_question_wait_words(frame, program, job->file, &job->playing, words);
    if (make_folder(worker) && start(worker, words, true, true))
        return worker;
    finish(worker, false, &none);
    free(worker);
    return NULL;
}

int lap_worker_fd(const struct lap_worker *worker)
{
    return worker->pipes[PROGRESS];
}

enum lap_worker_state lap_worker_look(struct lap_worker *worker)
{
    struct pollfd progress = {.fd = worker->pipes[PROGRESS], .events = POLLIN};

    while (worker->pipes[PROGRESS] >= 0 && poll(&progress, 1, 0) > 0)
        read_pipe(worker, PROGRESS);
    return worker->pipes[PROGRESS] < 0 ? LAP_WORKER_GONE : worker->waits ? LAP_WORKER_WAITS : LAP_WORKER_PLAYS;
}

void lap_worker_pause(const struct lap_worker *worker, bool stands)
{
    (void)kill(worker->pid, stands ? SIGSTOP : SIGCONT);
}

static void free_worker(struct lap_worker **worker)
{
    free_buffers(*worker);
    free(*worker);
    *worker = NULL;
}

void lap_worker_end(struct lap_worker **worker)
{
    struct lap_answer *none = NULL;

    (void)kill((*worker)->pid, SIGKILL);
    while (waitpid((*worker)->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    finish(*worker, false, &none);
    free_worker(worker);
}

/* It fits into the pipe, which is empty. */
static bool send_request(struct lap_worker *worker)
{
    const char *words[LAP_QUESTION_WORDS];
    struct buffer text = {.data = NULL};
    bool sent = true;

    lap_question_request(worker->job->question, words);
    for (size_t i = 0; words[i] && sent; i++)
        sent = append(&text, words[i], strlen(words[i]) + 1);
    sent = sent && append(&text, "", 1) && write(worker->request, text.data, text.bytes) == (ssize_t)text.bytes;
    free(text.data);
    return sent;
}

struct lap_answer *lap_worker_ask(struct lap_worker **worker_at, const struct lap_worker_job *job)
{
    struct lap_worker *worker = *worker_at;
    struct lap_answer *own = NULL, *answer = NULL;
    bool good;
    int status;

    worker->job = job;
    lap_worker_pause(worker, false);
    if (!send_request(worker)) {
        lap_worker_end(worker_at);
        return NULL;
    }
    follow(worker);
    status = end_of(worker);
    good = is_answer(worker, status);
    finish(worker, good && !worker->stopped, &own);
    answer = answer_of(worker, status, own);
    if (!good && !worker->stopped && !worker->too_large && answer && !answer->gave_up) {
        lap_answer_drop(answer);
        answer = NULL;
    }
    free_worker(worker_at);
    return answer;
}
