/* SPDX-License-Identifier: MIT */
#include "tools/program/run_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/folder.h"
#include "base/file/new_file.h"
#include "base/utf8.h"
#include "tools/common/progress.h"
#include "tools/common/tool.h"
#include "trace/format/bytes.h"
#include "trace/format/chunk.h"
#include "trace/format/file.h"
#include "trace/format/hash.h"
#include "vm/blocks.h"
#include "vm/frame.h"
#include "vm/program_file.h"
#include "vm/resources.h"

#define MOST_FRAME   (UINT64_C(4) << 30)
#define MOST_REQUEST 65536u

struct run {
    const struct run_owner *owner;
    int fd, program_file;
    struct lap_vm_program program;
    struct lap_vm_folder *folder;
    int files[RUN_WORDS_MOST]; /* of words that name one, until it has come; -1: none */
    uint8_t *stripped;         /* the program's file without resources, as it travels; or the list of blocks */
    size_t stripped_bytes;
    struct lap_vm_blocks blocks; /* of a trace */
    bool is_trace;
    uint8_t *body; /* of the frame that has come */
    size_t room;
    char progress_line[512];
    size_t progress_bytes;
    char *held; /* lines that name files which have not come yet */
    size_t held_bytes;
    struct lap_progress progress;
    uint64_t sent, resources; /* bytes, also those of the program; and how many */
    bool sent_program, lost_file;
    bool left; /* a replay that waited is not told to go on */
};

/* ---- the program ---- */

static enum lap_status map_stripped(struct run *run)
{
    int fd = memfd_create("program", MFD_CLOEXEC);
    enum lap_status status = fd >= 0 ? lap_vm_program_strip(&run->program, run->program_file, fd)
                                     : lap_fail(LAP_ERROR_MEMORY, "out of memory");
    struct stat info;

    if (status == LAP_OK && fstat(fd, &info) == 0) {
        run->stripped_bytes = (size_t)info.st_size;
        run->stripped = mmap(NULL, run->stripped_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (run->stripped == MAP_FAILED) {
            run->stripped = NULL;
            status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
        }
    }
    if (fd >= 0)
        close(fd);
    return status;
}

static bool is_trace(int fd)
{
    uint8_t head[LAP_FILE_HEADER_BYTES];
    struct lap_file_header header;

    return lap_file_read_fd(fd, 0, head, sizeof head) == 0 && lap_file_header_load(head, &header) == LAP_OK;
}

static enum lap_status open_trace(struct run *run)
{
    enum lap_status status = lap_vm_blocks_make(run->program_file, &run->blocks);

    run->is_trace = true;
    if (status == LAP_OK)
        status = lap_vm_blocks_store(&run->blocks, &run->stripped, &run->stripped_bytes);
    run->program.resources = run->blocks.resources;
    run->program.resource_count = run->blocks.count;
    return status;
}

static enum lap_status open_program(struct run *run)
{
    enum lap_status status;

    run->program_file = open(run->owner->program, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (run->program_file < 0)
        return lap_fail(LAP_ERROR_FORMAT, "%s", strerror(errno));
    if (is_trace(run->program_file))
        return open_trace(run);
    status = lap_vm_program_read(run->program_file, &run->program);
    if (status == LAP_OK && run->owner->resources)
        status = lap_vm_folder_open(run->owner->resources, UINT64_MAX, &run->folder);
    return status == LAP_OK ? map_stripped(run) : status;
}

/* ---- what is sent ---- */

static enum lap_status send_frame(struct run *run, enum lap_vm_frame_kind kind, uint32_t number, const void *data,
                                  size_t bytes)
{
    run->sent += LAP_VM_FRAME_BYTES + bytes;
    return lap_vm_frame_send(run->fd, &(struct lap_vm_frame){kind, number, bytes}, data);
}

/* The frame of the first call behind the initial part, from 1. */
static uint64_t frame_of_request(const struct lap_vm_program *program)
{
    for (size_t i = program->initial; i < program->count; i++)
        if (lap_vm_code_of(program->code[i]) == LAP_VM_LABEL && lap_vm_data_of(program->code[i]) < program->label_count)
            return program->labels[lap_vm_data_of(program->code[i])].frame + UINT64_C(1);
    return program->label_count ? program->labels[program->label_count - 1].frame + UINT64_C(2) : 1;
}

static enum lap_status send_options(struct run *run)
{
    const struct run_words *words = run->owner->words;
    char *all = malloc(RUN_WORDS_MOST_BYTES + 32); /* and the frame to wait in front of */
    size_t bytes = 0;
    enum lap_status status = all ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory");

    for (size_t i = 0; status == LAP_OK && i < words->count; i++) {
        /* Files have these names here, and there in what the replay prints. */
        const char *word = words->words[i];
        size_t count = strlen(word) + 1;

        if (bytes + count > RUN_WORDS_MOST_BYTES)
            status = lap_fail(LAP_ERROR_ARGUMENT, "the options are longer than %u bytes", RUN_WORDS_MOST_BYTES);
        else
            memcpy(all + bytes, word, count);
        bytes += count;
    }
    if (status == LAP_OK && run->owner->waits)
        bytes += (size_t)sprintf(all + bytes, "--wait=%" PRIu64, frame_of_request(&run->program)) + 1;
    if (status == LAP_OK)
        status = send_frame(run, LAP_VM_FRAME_OPTIONS, 0, all, bytes);
    free(all);
    return status;
}

static enum lap_status begin(struct run *run)
{
    uint8_t head[24];
    uint64_t hash[2];
    enum lap_status status = send_options(run);

    if (status != LAP_OK)
        return status;
    lap_hash128(run->stripped, run->stripped_bytes, hash);
    lap_store_u64(head, hash[0]);
    lap_store_u64(head + 8, hash[1]);
    lap_store_u64(head + 16, run->stripped_bytes);
    return send_frame(run, LAP_VM_FRAME_PROGRAM, 0, head, sizeof head);
}

/* Of a trace, which is packed as it is. */
static enum lap_status get_block(struct run *run, uint32_t number, uint8_t **out, size_t *out_bytes)
{
    const struct lap_vm_resource *block = &run->blocks.resources[number];

    *out_bytes = (size_t)block->bytes;
    *out = malloc(*out_bytes);
    if (!*out)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for a block of the trace");
    return lap_file_read_fd(run->program_file, (uint64_t)number * LAP_VM_BLOCK_BYTES, *out, *out_bytes) == 0
               ? LAP_OK
               : lap_fail(LAP_ERROR_IO, "the trace can't be read any more");
}

static enum lap_status send_resource(struct run *run, uint32_t number)
{
    uint8_t *packed = NULL;
    size_t bytes = 0;
    enum lap_status status = LAP_END;

    if (number == LAP_VM_FRAME_FILE_NUMBER) {
        run->sent_program = true;
        return send_frame(run, LAP_VM_FRAME_RESOURCE, number, run->stripped, run->stripped_bytes);
    }
    if (number >= run->program.resource_count)
        return lap_fail(LAP_ERROR_FORMAT, "the other side wants a resource that there is not");
    if (run->is_trace)
        status = get_block(run, number, &packed, &bytes);
    else if (lap_vm_program_has(&run->program, number))
        status = lap_vm_program_get_packed(&run->program, run->program_file, number, &packed, &bytes);
    else if (run->folder)
        status = lap_vm_folder_get(run->folder, &run->program.resources[number], &packed, &bytes);
    run->resources += status == LAP_OK;
    if (status == LAP_OK)
        status = send_frame(run, LAP_VM_FRAME_RESOURCE, number, packed, bytes);
    else if (status == LAP_END)
        status = send_frame(run, LAP_VM_FRAME_LACK, number, NULL, 0);
    free(packed);
    return status;
}

/* ---- what comes ---- */

static void print(struct run *run, FILE *to, size_t bytes)
{
    lap_progress_clear(&run->progress);
    lap_utf8_print(to, (const char *)run->body, bytes, '?', "\n\t");
    (void)fflush(to);
}

/* The replay has played the initial part. Returns when it shall go on: then, or when the other side is gone. */
static enum lap_status wait_for_line(struct run *run, uint64_t frame)
{
    struct pollfd wait[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = run->fd, .events = POLLIN}};
    char c = 0;

    lap_progress_clear(&run->progress);
    if (!run->owner->quiet)
        fprintf(stderr, "%s: waits in front of frame %" PRIu64 " for a line on standard input\n", run->owner->name,
                frame);
    while (c != '\n') {
        if (poll(wait, 2, -1) < 0)
            continue;
        if (wait[1].revents)
            return LAP_OK; /* it has ended, or says something: the rest shows it */
        if (read(STDIN_FILENO, &c, 1) <= 0)
            break;
    }
    return send_frame(run, LAP_VM_FRAME_GO, 0, NULL, 0);
}

/* What a program that runs us told the replay, or the end of that: a zero byte alone, or words up to an empty one. */
static enum lap_status pass_request(struct run *run)
{
    struct pollfd wait[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = run->fd, .events = POLLIN}};
    static char request[MOST_REQUEST];
    size_t bytes = 0;
    ssize_t got = 1;

    while (got > 0 && bytes < sizeof request &&
           !(bytes && !request[bytes - 1] && (bytes == 1 || !request[bytes - 2]))) {
        if (poll(wait, 2, -1) < 0)
            continue;
        if (wait[1].revents)
            return LAP_OK; /* it has ended, or says something: the rest shows it */
        got = read(STDIN_FILENO, request + bytes, sizeof request - bytes);
        bytes += got > 0 ? (size_t)got : 0;
    }
    if (!bytes) {
        run->left = true;
        return LAP_END;
    }
    return send_frame(run, LAP_VM_FRAME_GO, 0, request, bytes);
}

static void tell(const struct run *run, const char *text, size_t bytes)
{
    while (bytes && run->owner->progress_fd) {
        ssize_t wrote = write(run->owner->progress_fd, text, bytes);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return;
        text += wrote;
        bytes -= (size_t)wrote;
    }
}

/* A line that names a file, until that has come. */
static enum lap_status hold(struct run *run, const char *line, size_t bytes)
{
    char *grown = run->owner->progress_fd ? realloc(run->held, run->held_bytes + bytes + 1) : NULL;

    if (!run->owner->progress_fd)
        return LAP_OK;
    if (!grown)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    memcpy(grown + run->held_bytes, line, bytes + 1);
    run->held = grown;
    run->held_bytes += bytes;
    return LAP_OK;
}

/* name: plain (open_sent). */
static void tell_file(const struct run *run, const char *name)
{
    char member[300];
    char *found, *end;

    snprintf(member, sizeof member, "\"file\":\"%s\"", name);
    found = run->held ? strstr(run->held, member) : NULL;
    if (!found)
        return;
    while (found > run->held && found[-1] != '\n')
        found--;
    end = strchr(found, '\n');
    if (end)
        tell(run, found, (size_t)(end + 1 - found));
}

/* A line of the replay's --progress. Files come later than the line that names them, and are told then. */
static enum lap_status take_progress(struct run *run, const char *line, size_t bytes)
{
    uint64_t done, all;

    if (strstr(line, "\"file\":\""))
        return hold(run, line, bytes);
    tell(run, line, bytes);
    if (sscanf(line, "{\"done\":%" SCNu64 ",\"all\":%" SCNu64, &done, &all) == 2)
        lap_progress_show(&run->progress, done, all);
    else if (sscanf(line, "{\"waits\":%" SCNu64, &done) == 1)
        return run->owner->waits ? wait_for_line(run, done) : pass_request(run);
    return LAP_OK;
}

static enum lap_status show_progress(struct run *run, size_t bytes)
{
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < bytes && status == LAP_OK; i++) {
        if (run->progress_bytes < sizeof run->progress_line - 1)
            run->progress_line[run->progress_bytes++] = (char)run->body[i];
        if (run->body[i] != '\n')
            continue;
        run->progress_line[run->progress_bytes] = 0;
        status = take_progress(run, run->progress_line, run->progress_bytes);
        run->progress_bytes = 0;
    }
    return status;
}

static void write_post(struct run *run, uint32_t label, size_t bytes)
{
    const struct lap_vm_label *at = label < run->program.label_count ? &run->program.labels[label] : NULL;
    FILE *to = run->owner->posts;

    if (!to)
        return;
    if (at) {
        fprintf(to, "{\"packet\": %" PRIu64 ", \"frame\": %" PRIu64 ", ", at->packet, at->frame + UINT64_C(1));
        if (at->command == UINT32_MAX)
            fprintf(to, "\"command\": null, ");
        else
            fprintf(to, "\"command\": %" PRIu32 ", ", at->command);
    } else {
        fprintf(to, "{\"packet\": null, \"frame\": null, \"command\": null, ");
    }
    fprintf(to, "\"bytes\": %zu, \"data\": \"", bytes);
    for (size_t i = 0; i < bytes; i++)
        fprintf(to, "%02x", run->body[i]);
    fprintf(to, "\"}\n");
}

/* A new file for what the other side sends, -1 with errno, or -2: no option asks for it. *out_name: for messages. */
static int open_sent(struct run *run, uint32_t word, const char *name, char path[PATH_MAX], const char **out_name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *option = word < run->owner->words->count ? run->owner->words->words[word] : NULL;
    int fd;

    if (option && run_word_file(option) && strcmp(name, RUN_WORDS_FILE) == 0 && run->files[word] >= 0) {
        *out_name = run_word_file(option);
        fd = run->files[word];
        run->files[word] = -1; /* once */
        return fd;
    }
    if (!option || !run_word_folder(option) || !name[0] || strlen(name) > 255 || strchr(".-", name[0]) ||
        name[strspn(name, plain)])
        return -2;
    snprintf(path, PATH_MAX, "%s/%s", run_word_folder(option), name);
    *out_name = path;
    return lap_new_file(path);
}

static enum lap_status write_file(struct run *run, uint32_t word, size_t bytes)
{
    const char *name = (const char *)run->body, *shown = "";
    size_t length = strnlen(name, bytes), done = length + 1;
    char path[PATH_MAX];
    ssize_t wrote = 0;
    int fd = length == bytes ? -2 : open_sent(run, word, name, path, &shown), error = fd == -1 ? errno : 0;

    if (fd == -2)
        return lap_fail(LAP_ERROR_FORMAT, "the other side sends a file that no option asks for");
    while (!error && done < bytes) {
        wrote = write(fd, run->body + done, bytes - done);
        if (wrote < 0 && errno != EINTR)
            error = errno;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    if (fd >= 0 && close(fd) != 0 && !error)
        error = errno;
    if (error) {
        lap_progress_clear(&run->progress);
        fprintf(stderr, "%s: %s can't be written: %s\n", run->owner->name, shown,
                error == ELOOP ? "it is a symbolic link" : strerror(error));
        run->lost_file = true;
    } else if (run_word_folder(run->owner->words->words[word])) {
        tell_file(run, name);
    }
    return LAP_OK;
}

/* Reads a frame's bytes. */
static enum lap_status take_bytes(struct run *run, uint64_t bytes)
{
    if (bytes > MOST_FRAME)
        return lap_fail(LAP_ERROR_FORMAT, "the other side speaks another protocol");
    if (bytes >= run->room) {
        uint8_t *grown = realloc(run->body, bytes + 1);

        if (!grown)
            return lap_fail(LAP_ERROR_MEMORY, "no memory for %" PRIu64 " bytes", bytes);
        run->body = grown;
        run->room = bytes + 1;
    }
    return lap_vm_frame_receive_bytes(run->fd, run->body, bytes);
}

/* LAP_END: it was the last one; *out_code is the exit status. */
static enum lap_status take(struct run *run, const struct lap_vm_frame *frame, int *out_code)
{
    enum lap_status status = take_bytes(run, frame->bytes);

    if (status != LAP_OK)
        return status;
    switch (frame->kind) {
    case LAP_VM_FRAME_WANT:
        for (uint64_t i = 0; status == LAP_OK && i + 4 <= frame->bytes; i += 4)
            status = send_resource(run, lap_load_u32(run->body + i));
        return status;
    case LAP_VM_FRAME_POST:
        write_post(run, frame->number, frame->bytes);
        return LAP_OK;
    case LAP_VM_FRAME_TEXT:
        print(run, frame->number == 1 ? stdout : stderr, frame->bytes);
        return LAP_OK;
    case LAP_VM_FRAME_PROGRESS:
        return show_progress(run, frame->bytes);
    case LAP_VM_FRAME_FILE:
        return write_file(run, frame->number, frame->bytes);
    case LAP_VM_FRAME_END:
        *out_code = (int)(frame->number & 0xffff);
        return LAP_END;
    default:
        return lap_fail(LAP_ERROR_FORMAT, "the other side speaks another protocol");
    }
}

/* ---- all of it ---- */

static enum lap_status enter_sandbox(const struct run_owner *owner)
{
    const char *folders[RUN_WORDS_MOST];
    struct lap_sandbox_options wanted = {.folders = folders};
    struct lap_sandbox sandbox;

    if (owner->sandbox == LAP_SANDBOX_WISH_OFF)
        return LAP_OK;
    for (size_t i = 0; i < owner->words->count; i++)
        if (run_word_folder(owner->words->words[i]))
            folders[wanted.folder_count++] = run_word_folder(owner->words->words[i]);
    lap_sandbox_enter(&wanted, &sandbox);
    if (owner->sandbox == LAP_SANDBOX_WISH_ON && sandbox.state != LAP_SANDBOX_ON)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "--sandbox=on can't be had: %s", sandbox.lack);
    return LAP_OK;
}

enum lap_status run_owner_prepare(const struct run_owner *owner)
{
    enum lap_status status = LAP_OK;

    for (size_t i = 0; status == LAP_OK && i < owner->words->count; i++)
        if (run_word_folder(owner->words->words[i]))
            status = lap_folder_make(run_word_folder(owner->words->words[i]));
    return status;
}

/* Before the sandbox, which hides other folders. */
static enum lap_status open_files(struct run *run)
{
    const struct run_words *words = run->owner->words;

    for (size_t i = 0; i < words->count; i++) {
        const char *file = run_word_file(words->words[i]);
        if (file && (run->files[i] = lap_new_file(file)) < 0)
            return lap_fail(LAP_ERROR_IO, "%s can't be written: %s", file,
                            errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    }
    return LAP_OK;
}

static int talk(struct run *run)
{
    struct lap_vm_frame frame;
    enum lap_status status = begin(run);
    int code = LAP_TOOL_FAILED;

    lap_progress_begin(&run->progress, "playing", run->owner->quiet);
    while (status == LAP_OK) {
        status = lap_vm_frame_receive(run->fd, &frame);
        if (status == LAP_END)
            status = lap_fail(LAP_ERROR_IO, "the other side has closed the connection before the end");
        if (status == LAP_OK)
            status = take(run, &frame, &code);
    }
    lap_progress_clear(&run->progress);
    if (run->left)
        return LAP_TOOL_OK;
    if (status != LAP_END) {
        fprintf(stderr, "%s: %s\n", run->owner->name, lap_error_message());
        return LAP_TOOL_FAILED;
    }
    if (code >= 256) {
        fprintf(stderr, "%s: the replay was ended: %s\n", run->owner->name, strsignal(code - 256));
        code = LAP_TOOL_FAILED;
    }
    if (!run->owner->quiet)
        fprintf(stderr, "%s: sent %" PRIu64 " bytes: %s%s, %" PRIu64 " of %zu %s\n", run->owner->name, run->sent,
                run->sent_program ? "" : "not ", run->is_trace ? "the list of blocks" : "the program", run->resources,
                run->program.resource_count, run->is_trace ? "blocks" : "resources");
    return code == LAP_TOOL_OK && run->lost_file ? LAP_TOOL_FAILED : code;
}

int run_owner_run(const struct run_owner *owner, int fd)
{
    struct run run = {.owner = owner, .fd = fd, .program_file = -1};
    enum lap_status status;
    int code;

    memset(run.files, -1, sizeof run.files);
    status = open_files(&run);
    if (status == LAP_OK)
        status = enter_sandbox(owner);
    if (status != LAP_OK) {
        fprintf(stderr, "%s: %s\n", owner->name, lap_error_message());
        return LAP_TOOL_FAILED;
    }
    status = open_program(&run);
    if (status == LAP_OK) {
        code = talk(&run);
    } else {
        fprintf(stderr, "%s: %s: %s\n", owner->name, owner->program, lap_error_message());
        code = status == LAP_ERROR_FORMAT ? LAP_TOOL_NO_TRACE : LAP_TOOL_FAILED;
    }
    lap_vm_folder_close(&run.folder);
    if (run.is_trace)
        free(run.stripped);
    else
        lap_vm_program_release(&run.program);
    lap_vm_blocks_release(&run.blocks);
    if (run.stripped && !run.is_trace)
        (void)munmap(run.stripped, run.stripped_bytes);
    if (run.program_file >= 0)
        close(run.program_file);
    free(run.body);
    free(run.held);
    return code;
}
