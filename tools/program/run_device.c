/* SPDX-License-Identifier: MIT */
#include "tools/program/run_device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "tools/common/tool.h"
#include "tools/program/run_words.h"
#include "trace/format/bytes.h"
#include "trace/format/format.h"
#include "trace/format/hash.h"
#include "vm/frame.h"

#define PIECE         ((size_t)256 << 10)
#define QUEUE_BYTES   ((size_t)4 << 20) /* of a connection that takes nothing, before the replay has to wait */
#define BATCH_COUNT   1024u
#define MOST_RESOURCE LAP_BLOB_MAX_BYTES /* the replay takes no larger one */
#define MOST_POST     (UINT64_C(1) << 31)
#define PROGRAM_BYTES 24u /* of a PROGRAM */
#define MOST_REQUEST  65536u

enum pipe_number { OUTPUT, ERRORS, PROGRESS, PIPES };

struct need {
    struct lap_vm_resource resource;
    uint32_t number;
    enum { NOT_ASKED, ASKED, HELD, IN_CACHE, GIVEN, LACKED } state;
    uint8_t *packed; /* HELD: */
    size_t bytes;
};

struct buffer {
    uint8_t *data;
    size_t bytes, room;
};

struct run {
    const struct run_device *device;
    int fd; /* the connection */
    bool failed;
    struct buffer out;
    size_t sent; /* of it */
    uint8_t head[LAP_VM_FRAME_BYTES];
    size_t head_bytes;
    struct lap_vm_frame frame; /* that comes: */
    struct buffer body;

    struct run_words words;
    char folder[PATH_MAX]; /* of ours, with one for each word that names a folder; "": none */
    struct need program;
    pid_t process;
    struct buffer lines[PROGRESS];      /* of what the replay prints: a line that has not ended yet */
    int pipes[PIPES], resources, input; /* -1: closed; input: what the replay reads as standard input */
    bool begun, ended, cache_failed;

    struct need *needs;
    size_t need_count, asked, batch, outstanding; /* asked: all before were; batch: where the last one begins */
    struct need *waiting;                         /* the replay waits for it */
    size_t next_word;                             /* whose files are sent next, at the end */
    DIR *files;
};

static bool fail(struct run *run, const char *what)
{
    if (!run->failed && !run->device->quiet)
        fprintf(stderr, "%s: %s\n", run->device->name, what);
    run->failed = true;
    return false;
}

static bool grow(struct run *run, struct buffer *buffer, size_t bytes)
{
    return lap_array_grow(&buffer->data, 1, &buffer->room, buffer->bytes + bytes) || fail(run, "out of memory");
}

static bool append(struct run *run, struct buffer *buffer, const void *data, size_t bytes)
{
    if (!grow(run, buffer, bytes))
        return false;
    if (bytes)
        memcpy(buffer->data + buffer->bytes, data, bytes);
    buffer->bytes += bytes;
    return true;
}

static bool say(struct run *run, enum lap_vm_frame_kind kind, uint32_t number, const void *data, size_t bytes)
{
    uint8_t head[LAP_VM_FRAME_BYTES];

    lap_vm_frame_store(&(struct lap_vm_frame){kind, number, bytes}, head);
    return append(run, &run->out, head, sizeof head) && append(run, &run->out, data, bytes);
}

/* For the owner, as if the replay had said it. */
static bool say_error(struct run *run, const char *text)
{
    char line[1024];
    int length = snprintf(line, sizeof line, "%s: %s\n", run->device->name, text);

    return say(run, LAP_VM_FRAME_TEXT, 2, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}

static bool end(struct run *run, uint32_t code)
{
    run->ended = true;
    return say(run, LAP_VM_FRAME_END, code, NULL, 0);
}

/* ---- resources ---- */

static int by_number(const void *number, const void *need)
{
    uint32_t a = *(const uint32_t *)number, b = ((const struct need *)need)->number;
    return (a > b) - (a < b);
}

static struct need *find(struct run *run, uint32_t number)
{
    if (number == LAP_VM_FRAME_FILE_NUMBER)
        return run->program.number == number ? &run->program : NULL;
    return run->need_count ? bsearch(&number, run->needs, run->need_count, sizeof *run->needs, by_number) : NULL;
}

static void drop(struct need *need)
{
    free(need->packed);
    need->packed = NULL;
}

/* Takes the bytes out of the cache. False: they are not there. Whether they are the right ones the replay finds out. */
static bool take_from_cache(const struct run *run, struct need *need)
{
    return run->device->cache &&
           lap_vm_folder_get(run->device->cache, &need->resource, &need->packed, &need->bytes) == LAP_OK;
}

/* The program, which is never packed. */
static bool take_program_from_cache(const struct run *run, struct need *need)
{
    uint64_t hash[2];

    if (!take_from_cache(run, need))
        return false;
    lap_hash128(need->packed, need->bytes, hash);
    if (need->bytes == need->resource.bytes && hash[0] == need->resource.hash[0] && hash[1] == need->resource.hash[1])
        return true;
    lap_vm_folder_remove(run->device->cache, &need->resource);
    drop(need);
    return false;
}

/* Asks for this one and those behind it, as far as none of them is there. */
static bool ask(struct run *run, size_t first)
{
    uint8_t list[BATCH_COUNT * 4];
    size_t count = 0;
    uint64_t bytes = 0;
    size_t i = first;

    for (; i < run->need_count && count < BATCH_COUNT && (!count || bytes < run->device->batch_bytes); i++) {
        struct need *need = &run->needs[i];

        if (i != first && (need->state != NOT_ASKED || bytes + need->resource.bytes > run->device->batch_bytes))
            break;
        if (i != first && run->device->cache && lap_vm_folder_has(run->device->cache, &need->resource)) {
            need->state = IN_CACHE;
            continue;
        }
        need->state = ASKED;
        bytes += need->resource.bytes;
        lap_store_u32(list + 4 * count++, need->number);
    }
    run->batch = first;
    run->asked = i;
    run->outstanding += count;
    return say(run, LAP_VM_FRAME_WANT, 0, list, 4 * count);
}

/* The next batch, when the replay has begun with the last one. */
static bool ask_ahead(struct run *run, size_t used)
{
    size_t next = run->asked;

    while (next < run->need_count && run->needs[next].state != NOT_ASKED)
        next++;
    while (next < run->need_count && run->device->cache &&
           lap_vm_folder_has(run->device->cache, &run->needs[next].resource))
        run->needs[next++].state = IN_CACHE;
    run->asked = next;
    return used < run->batch || run->outstanding || next >= run->need_count || ask(run, next);
}

static bool give(struct run *run, struct need *need)
{
    struct lap_vm_frame frame = {LAP_VM_FRAME_RESOURCE, need->number, need->bytes};

    if (need->state == LACKED)
        frame = (struct lap_vm_frame){LAP_VM_FRAME_LACK, need->number, 0};
    else
        need->state = GIVEN;
    run->waiting = NULL;
    if (lap_vm_frame_send(run->resources, &frame, need->packed) != LAP_OK) {
        close(run->resources); /* it has ended, and the rest will show it */
        run->resources = -1;
    }
    drop(need);
    return ask_ahead(run, (size_t)(need - run->needs));
}

static bool start(struct run *run);

static bool take_resource(struct run *run)
{
    struct need *need = find(run, run->frame.number);

    if (!need || need->state != ASKED)
        return fail(run, "there came a resource that was not asked for");
    if (run->frame.kind == LAP_VM_FRAME_LACK) {
        need->state = LACKED;
    } else {
        need->state = HELD;
        need->packed = run->body.data;
        need->bytes = run->body.bytes;
        run->body = (struct buffer){0};
        if (run->device->cache && !run->cache_failed &&
            lap_vm_folder_put(run->device->cache, &need->resource, need->packed, need->bytes) != LAP_OK) {
            fprintf(stderr, "%s: nothing more is kept: %s\n", run->device->name, lap_error_message());
            run->cache_failed = true;
        }
    }
    if (need == &run->program)
        return start(run);
    run->outstanding--;
    return run->waiting != need || give(run, need);
}

static bool take_needs(struct run *run, const struct lap_vm_frame *frame)
{
    size_t count = frame->bytes / LAP_VM_NEED_BYTES;
    uint8_t *list;
    bool good;

    if (run->needs || frame->bytes % LAP_VM_NEED_BYTES || count > LAP_VM_DATA_MASK)
        return fail(run, "the replay speaks another protocol");
    list = malloc(frame->bytes + 1);
    run->needs = calloc(count + 1, sizeof *run->needs);
    good = list && run->needs ? lap_vm_frame_receive_bytes(run->resources, list, frame->bytes) == LAP_OK
                              : fail(run, "out of memory");
    for (size_t i = 0; good && i < count; i++) {
        const uint8_t *p = list + i * LAP_VM_NEED_BYTES;

        run->needs[i].number = lap_load_u32(p);
        run->needs[i].resource =
            (struct lap_vm_resource){{lap_load_u64(p + 4), lap_load_u64(p + 12)}, lap_load_u64(p + 20)};
        if (i && run->needs[i].number <= run->needs[i - 1].number)
            good = fail(run, "the replay speaks another protocol");
        else if (run->needs[i].resource.bytes > MOST_RESOURCE)
            good = fail(run, "the program has a resource that is too large");
        run->need_count = i + 1;
    }
    free(list);
    return good;
}

static bool take_post(struct run *run, const struct lap_vm_frame *frame)
{
    uint8_t head[LAP_VM_FRAME_BYTES];

    if (frame->bytes > MOST_POST)
        return fail(run, "the program posts too much at once");
    lap_vm_frame_store(frame, head);
    if (!append(run, &run->out, head, sizeof head) || !grow(run, &run->out, frame->bytes))
        return false;
    if (lap_vm_frame_receive_bytes(run->resources, run->out.data + run->out.bytes, frame->bytes) != LAP_OK)
        return fail(run, "the replay has ended in the middle of a post");
    run->out.bytes += frame->bytes;
    return true;
}

static bool take_get(struct run *run, uint32_t number)
{
    struct need *need = find(run, number);

    if (!need || need == &run->program)
        return fail(run, "the replay speaks another protocol");
    if (need->state == HELD || need->state == LACKED)
        return give(run, need);
    run->waiting = need;
    if (need->state == ASKED)
        return true;
    if (take_from_cache(run, need))
        return give(run, need);
    return ask(run, (size_t)(need - run->needs));
}

/* Other bytes have come for it: those of the cache may be damaged. */
static bool take_bad(struct run *run, uint32_t number)
{
    struct need *need = find(run, number);

    if (!need || need->state != GIVEN)
        return fail(run, "the replay speaks another protocol");
    if (run->device->cache)
        lap_vm_folder_remove(run->device->cache, &need->resource);
    run->waiting = need;
    return ask(run, (size_t)(need - run->needs));
}

/* What the replay says on its socket. */
static bool hear_replay(struct run *run)
{
    struct lap_vm_frame frame;

    if (lap_vm_frame_receive(run->resources, &frame) != LAP_OK) {
        close(run->resources);
        run->resources = -1;
        return true;
    }
    switch (frame.kind) {
    case LAP_VM_FRAME_NEED:
        return take_needs(run, &frame);
    case LAP_VM_FRAME_GET:
        return take_get(run, frame.number);
    case LAP_VM_FRAME_BAD:
        return take_bad(run, frame.number);
    case LAP_VM_FRAME_POST:
        return take_post(run, &frame);
    default:
        return fail(run, "the replay speaks another protocol");
    }
}

/* ---- the replay ---- */

static bool has_files(const char *word)
{
    return run_word_folder(word) || run_word_file(word);
}

/* The folders for its files, and the words that name them. */
static bool make_folders(struct run *run, char *words[RUN_WORDS_MOST])
{
    const char *where = getenv("TMPDIR");
    bool any = false, good = true;

    for (size_t i = 0; i < run->words.count; i++)
        any |= has_files(run->words.words[i]);
    if (any) {
        snprintf(run->folder, sizeof run->folder, "%s/lapilli-run-XXXXXX", where && *where == '/' ? where : "/tmp");
        if (!mkdtemp(run->folder)) {
            run->folder[0] = 0;
            return say_error(run, "no folder can be made for files") && end(run, LAP_TOOL_FAILED);
        }
    }
    for (size_t i = 0; good && i < run->words.count; i++) {
        char path[PATH_MAX + 32];

        if (!has_files(run->words.words[i])) {
            words[i] = strdup(run->words.words[i]);
        } else {
            snprintf(path, sizeof path, "%s/%zu", run->folder, i);
            words[i] = mkdir(path, 0700) == 0 ? run_word_with_folder(run->words.words[i], path) : NULL;
        }
        good = words[i] != NULL;
    }
    return good || (say_error(run, "no folder can be made for files") && end(run, LAP_TOOL_FAILED));
}

static int make_file(const struct need *program)
{
    int fd = memfd_create("program", MFD_CLOEXEC);

    for (size_t done = 0; fd >= 0 && done < program->bytes;) {
        ssize_t wrote = write(fd, program->packed + done, program->bytes - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            close(fd);
            return -1;
        }
        done += (size_t)wrote;
    }
    return fd;
}

static void become(const struct run *run, char *const *words, int program, int ends[PIPES + 2], pid_t parent)
{
    char resources[48], progress[32], file[48], sandbox[32];
    const char *all[RUN_WORDS_MOST + 8] = {run->device->replayer};
    size_t count = 1;
    sigset_t none;

    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    for (int i = 1; i < 32; i++) /* those that a shell has set to be ignored, too */
        (void)signal(i, SIG_DFL);
    snprintf(resources, sizeof resources, "--resources=fd:%d", ends[PIPES]);
    snprintf(progress, sizeof progress, "--progress=%d", ends[PROGRESS]);
    snprintf(sandbox, sizeof sandbox, "--sandbox=%s", run->device->sandbox);
    snprintf(file, sizeof file, "/proc/self/fd/%d", program);
    for (size_t i = 0; i < run->words.count; i++)
        all[count++] = words[i];
    all[count++] = resources;
    all[count++] = progress;
    all[count++] = sandbox;
    all[count++] = file;
    all[count] = NULL;
    if (!lap_tool_end_with(parent) || dup2(ends[PIPES + 1], STDIN_FILENO) < 0 ||
        dup2(ends[OUTPUT], STDOUT_FILENO) < 0 || dup2(ends[ERRORS], STDERR_FILENO) < 0 ||
        fcntl(ends[PROGRESS], F_SETFD, 0) != 0 || fcntl(ends[PIPES], F_SETFD, 0) != 0 ||
        fcntl(program, F_SETFD, 0) != 0)
        _exit(127);
    (void)unsetenv(LAP_VM_ON); /* it plays here */
    execvp(run->device->replayer, (char *const *)(uintptr_t)all);
    dprintf(STDERR_FILENO, "%s: %s can't be started: %s\n", run->device->name, run->device->replayer, strerror(errno));
    _exit(127);
}

static bool make_pipes(struct run *run, int ends[PIPES + 2])
{
    int both[2];

    for (unsigned i = 0; i < PIPES; i++) {
        if (pipe2(both, O_CLOEXEC) != 0)
            return false;
        run->pipes[i] = both[0];
        ends[i] = both[1];
    }
    if (pipe2(both, O_CLOEXEC) != 0)
        return false;
    ends[PIPES + 1] = both[0];
    run->input = both[1];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0)
        return false;
    run->resources = both[0];
    ends[PIPES] = both[1];
    return true;
}

/* The program is there. */
static bool start(struct run *run)
{
    char *words[RUN_WORDS_MOST] = {NULL};
    int ends[PIPES + 2] = {-1, -1, -1, -1, -1}, program = -1;
    pid_t self = getpid();

    if (run->program.state == LACKED)
        return fail(run, "the program did not come");
    if (make_folders(run, words) && !run->ended) {
        program = make_file(&run->program);
        run->process = program >= 0 && make_pipes(run, ends) ? fork() : -1;
        if (run->process == 0)
            become(run, words, program, ends, self);
        if (run->process < 0)
            (void)(say_error(run, "no process can be made for the replay") && end(run, LAP_TOOL_FAILED));
    }
    for (unsigned i = 0; i < PIPES + 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    if (program >= 0)
        close(program);
    for (size_t i = 0; i < run->words.count; i++)
        free(words[i]);
    drop(&run->program);
    return !run->failed;
}

/* The name that the owner knows for the path at `text`, of one of our folders or a file in it. NULL: it is none. */
static const char *owners_name(const struct run *run, const char *text, size_t bytes, size_t *out_length)
{
    for (size_t i = 0; i < run->words.count; i++) {
        char path[PATH_MAX + 32];
        const char *name = run_word_folder(run->words.words[i]);
        int length = snprintf(path, sizeof path, "%s/%zu", run->folder, i);

        if (!name && (name = run_word_file(run->words.words[i])))
            length = snprintf(path, sizeof path, "%s/%zu/" RUN_WORDS_FILE, run->folder, i);
        *out_length = (size_t)length;
        if (name && bytes >= *out_length && memcmp(text, path, *out_length) == 0 &&
            (bytes == *out_length || text[*out_length] < '0' || text[*out_length] > '9'))
            return name;
    }
    return NULL;
}

/* Whole lines, in which our folders have the owner's names. */
static bool say_text(struct run *run, enum pipe_number which, const char *text, size_t bytes)
{
    struct buffer out = {0};
    bool good = true;

    for (size_t at = 0, length; good && at < bytes;) {
        const char *name = run->folder[0] && text[at] == '/' ? owners_name(run, text + at, bytes - at, &length) : NULL;

        good = name ? append(run, &out, name, strlen(name)) : append(run, &out, text + at, 1);
        at += name ? length : 1;
    }
    good = good && say(run, LAP_VM_FRAME_TEXT, which == OUTPUT ? 1 : 2, out.data, out.bytes);
    free(out.data);
    return good;
}

/* Text goes on line by line. */
static bool take_text(struct run *run, enum pipe_number which, const char *text, size_t bytes)
{
    struct buffer *line = &run->lines[which];
    const char *end = memrchr(text, '\n', bytes);
    size_t whole = end ? (size_t)(end + 1 - text) : 0;
    bool good = true;

    if (whole || line->bytes > PIECE) {
        good = append(run, line, text, whole) && say_text(run, which, (const char *)line->data, line->bytes);
        line->bytes = 0;
    }
    return good && append(run, line, text + whole, bytes - whole);
}

/* Passes on what comes out of a pipe. */
static bool hear_pipe(struct run *run, enum pipe_number which)
{
    char data[65536];
    ssize_t got = read(run->pipes[which], data, sizeof data);
    struct buffer *line = which == PROGRESS ? NULL : &run->lines[which];
    bool good = true;

    if (got < 0 && errno == EINTR)
        return true;
    if (got > 0)
        return line ? take_text(run, which, data, (size_t)got) : say(run, LAP_VM_FRAME_PROGRESS, 0, data, (size_t)got);
    if (line && line->bytes)
        good = say_text(run, which, (const char *)line->data, line->bytes);
    if (line)
        line->bytes = 0;
    close(run->pipes[which]);
    run->pipes[which] = -1;
    return good;
}

/* ---- its end ---- */

static bool send_file(struct run *run, int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    struct buffer buffer = {0};
    ssize_t got = -1;
    bool good = true;

    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        good = append(run, &buffer, name, strlen(name) + 1);
        while (good && (good = grow(run, &buffer, PIECE)) && (got = read(fd, buffer.data + buffer.bytes, PIECE)) > 0)
            buffer.bytes += (size_t)got;
        good = good && (got != 0 || say(run, LAP_VM_FRAME_FILE, (uint32_t)run->next_word, buffer.data, buffer.bytes));
    }
    free(buffer.data);
    if (fd >= 0)
        close(fd);
    return good;
}

/* Sends the next file, or the end. */
static bool finish(struct run *run)
{
    char path[PATH_MAX + 32];
    const struct dirent *one;
    int status;

    for (; run->next_word < run->words.count; run->next_word++) {
        if (!has_files(run->words.words[run->next_word]))
            continue;
        snprintf(path, sizeof path, "%s/%zu", run->folder, run->next_word);
        if (!run->files)
            run->files = opendir(path);
        while (run->files && (one = readdir(run->files)) != NULL)
            if (one->d_name[0] != '.')
                return send_file(run, dirfd(run->files), one->d_name);
        if (run->files)
            (void)closedir(run->files);
        run->files = NULL;
    }
    while (waitpid(run->process, &status, 0) < 0)
        if (errno != EINTR)
            return fail(run, "the replay's end is not known");
    run->process = -1;
    return end(run, WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 256 + (uint32_t)WTERMSIG(status));
}

static void remove_folder(struct run *run)
{
    char path[PATH_MAX + 300];

    if (run->files)
        (void)closedir(run->files);
    for (size_t i = 0; run->folder[0] && i < run->words.count; i++) {
        const struct dirent *one;
        DIR *files;

        snprintf(path, sizeof path, "%s/%zu", run->folder, i);
        files = has_files(run->words.words[i]) ? opendir(path) : NULL;
        while (files && (one = readdir(files)) != NULL)
            if (strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0)
                (void)unlinkat(dirfd(files), one->d_name, 0);
        if (files) {
            (void)closedir(files);
            (void)rmdir(path);
        }
    }
    if (run->folder[0])
        (void)rmdir(run->folder);
}

/* ---- the connection ---- */

/* The bytes that a frame from the owner may have; UINT64_MAX: none of this kind may come now. */
static uint64_t most_bytes(struct run *run, const struct lap_vm_frame *frame)
{
    const struct need *need;

    switch (frame->kind) {
    case LAP_VM_FRAME_OPTIONS:
        return run->begun ? UINT64_MAX : RUN_WORDS_MOST_BYTES + 32;
    case LAP_VM_FRAME_PROGRAM:
        return run->begun ? UINT64_MAX : PROGRAM_BYTES;
    case LAP_VM_FRAME_RESOURCE:
        need = find(run, frame->number);
        return need && need->state == ASKED ? need->resource.bytes : UINT64_MAX;
    case LAP_VM_FRAME_LACK:
        return 0;
    case LAP_VM_FRAME_GO:
        return run->begun ? MOST_REQUEST : UINT64_MAX;
    default:
        return UINT64_MAX;
    }
}

/* The replay's sandbox comes later: until then the program lies in this process. */
static bool refuse_size(struct run *run, uint64_t bytes)
{
    char text[160];

    snprintf(text, sizeof text,
             "the program has %" PRIu64 " bytes without its resources; at most %" PRIu64 " MiB are taken "
             "(--program-size)",
             bytes, run->device->most_program >> 20);
    return say_error(run, text) && end(run, LAP_TOOL_FAILED);
}

static bool take_program(struct run *run)
{
    uint8_t number[4];

    if (run->body.bytes != PROGRAM_BYTES)
        return fail(run, "there came something else than a program");
    run->begun = true;
    run->program = (struct need){.number = LAP_VM_FRAME_FILE_NUMBER,
                                 .resource = {{lap_load_u64(run->body.data), lap_load_u64(run->body.data + 8)},
                                              lap_load_u64(run->body.data + 16)}};
    if (run->program.resource.bytes > run->device->most_program)
        return refuse_size(run, run->program.resource.bytes);
    if (take_program_from_cache(run, &run->program))
        return start(run);
    run->program.state = ASKED;
    lap_store_u32(number, LAP_VM_FRAME_FILE_NUMBER);
    return say(run, LAP_VM_FRAME_WANT, 0, number, sizeof number);
}

/* A replay that waits reads a request, or a zero byte. A pipe has room for it. */
static bool go_on(struct run *run)
{
    if (run->input >= 0) {
        (void)!write(run->input, run->body.bytes ? (const char *)run->body.data : "",
                     run->body.bytes ? run->body.bytes : 1);
        close(run->input);
    }
    run->input = -1;
    return true;
}

static bool take_frame(struct run *run)
{
    switch (run->frame.kind) {
    case LAP_VM_FRAME_OPTIONS:
        run_words_finish(&run->words);
        if (run_words_load((const char *)run->body.data, run->body.bytes, &run->words) == LAP_OK)
            return true;
        run->begun = true;
        return say_error(run, lap_error_message()) && end(run, LAP_TOOL_USAGE);
    case LAP_VM_FRAME_PROGRAM:
        return take_program(run);
    case LAP_VM_FRAME_GO:
        return go_on(run);
    default:
        return take_resource(run);
    }
}

/* Takes bytes of frames. What comes behind the end is of no use any more. */
static bool take(struct run *run, const uint8_t *data, size_t bytes)
{
    while (!run->ended && (bytes || (run->head_bytes == sizeof run->head && run->body.bytes == run->frame.bytes))) {
        size_t count;

        if (run->head_bytes < sizeof run->head) {
            count = sizeof run->head - run->head_bytes < bytes ? sizeof run->head - run->head_bytes : bytes;
            memcpy(run->head + run->head_bytes, data, count);
            run->head_bytes += count;
            if (run->head_bytes == sizeof run->head) {
                uint64_t most;

                lap_vm_frame_load(run->head, &run->frame);
                most = most_bytes(run, &run->frame);
                if (most == UINT64_MAX || run->frame.bytes > most)
                    return fail(run, "the other side speaks another protocol");
            }
        } else if (run->body.bytes < run->frame.bytes) {
            count = run->frame.bytes - run->body.bytes < bytes ? run->frame.bytes - run->body.bytes : bytes;
            if (!append(run, &run->body, data, count))
                return false;
        } else {
            bool good = take_frame(run);

            run->head_bytes = 0;
            run->body.bytes = 0;
            if (!good)
                return false;
            continue;
        }
        data += count;
        bytes -= count;
    }
    return true;
}

/* False: it is closed, or lost. */
static bool hear_owner(struct run *run)
{
    static uint8_t data[PIECE];
    ssize_t got = recv(run->fd, data, sizeof data, MSG_DONTWAIT);

    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    return got > 0 && take(run, data, (size_t)got);
}

static bool send_some(struct run *run)
{
    ssize_t sent = send(run->fd, run->out.data + run->sent, run->out.bytes - run->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (sent < 0)
        return errno == EAGAIN || errno == EINTR;
    run->sent += (size_t)sent;
    if (run->sent == run->out.bytes || run->sent > QUEUE_BYTES) {
        memmove(run->out.data, run->out.data + run->sent, run->out.bytes - run->sent);
        run->out.bytes -= run->sent;
        run->sent = 0;
    }
    return true;
}

static bool is_playing(const struct run *run)
{
    return run->resources >= 0 || run->pipes[OUTPUT] >= 0 || run->pipes[ERRORS] >= 0 || run->pipes[PROGRESS] >= 0;
}

/* One step. False: the connection has ended. */
static bool step(struct run *run)
{
    bool full = run->out.bytes - run->sent > QUEUE_BYTES;
    struct pollfd wait[3 + PIPES] = {
        {.fd = run->fd, .events = (short)(POLLIN | (run->out.bytes > run->sent ? POLLOUT : 0))},
        {.fd = full || run->waiting ? -1 : run->resources, .events = POLLIN}};

    for (unsigned i = 0; i < PIPES; i++)
        wait[2 + i] = (struct pollfd){.fd = full ? -1 : run->pipes[i], .events = POLLIN};
    wait[2 + PIPES] = (struct pollfd){.fd = run->device->stop, .events = POLLIN};
    if (run->process > 0 && !is_playing(run) && !run->ended && run->out.bytes == 0)
        return finish(run);
    if (poll(wait, 3 + PIPES, -1) < 0)
        return errno == EINTR;
    if (wait[2 + PIPES].revents)
        return false;
    if (wait[0].revents & POLLOUT && !send_some(run))
        return false;
    if (wait[0].revents & (POLLIN | POLLHUP | POLLERR) && !hear_owner(run))
        return false;
    if (wait[1].revents && run->resources >= 0 && !run->waiting && !hear_replay(run))
        return false;
    for (unsigned i = 0; i < PIPES; i++)
        if (wait[2 + i].revents && !hear_pipe(run, i))
            return false;
    return true;
}

bool run_device_serve(const struct run_device *device, int fd)
{
    struct run run = {.device = device, .fd = fd, .process = -1, .resources = -1, .input = -1, .pipes = {-1, -1, -1}};
    bool whole;

    while (step(&run))
        ;
    whole = run.ended && !run.failed;
    if (run.process > 0) {
        (void)kill(run.process, SIGKILL);
        (void)waitpid(run.process, NULL, 0);
    }
    for (unsigned i = 0; i < PIPES; i++)
        if (run.pipes[i] >= 0)
            close(run.pipes[i]);
    if (run.resources >= 0)
        close(run.resources);
    if (run.input >= 0)
        close(run.input);
    remove_folder(&run);
    run_words_finish(&run.words);
    for (size_t i = 0; i < run.need_count; i++)
        drop(&run.needs[i]);
    free(run.needs);
    drop(&run.program);
    for (unsigned i = 0; i < PROGRESS; i++)
        free(run.lines[i].data);
    free(run.out.data);
    free(run.body.data);
    return whole;
}
