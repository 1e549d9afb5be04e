/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/damage_program.h"

#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process/sanitizers.h"
#include "replayer/device/shader_validation.h"
#include "tests/fuzz/driver.h"
#include "tests/fuzz/forge.h"
#include "tools/show/shader_text.h"
#include "trace/format/chunk.h"
#include "trace/read/reader.h"
#include "trace/rewrite.h"
#include "vm/program_file.h"
#include "vm/verify.h"

#define TEXT_BYTES     ((size_t)4 << 20)
#define SAID_BYTES     2048u
#define WARM_UP_RUNS   3u
#define MAX_FRAMES     64u
#define MOST_ARGUMENTS 7u

/* The programs' main functions, under other names, without what shuts them in (module.mk). */
int info_main(int argc, char **argv);
int print_main(int argc, char **argv);
int tree_main(int argc, char **argv);
int draws_main(int argc, char **argv);
int find_main(int argc, char **argv);
int shaders_main(int argc, char **argv);
int state_main(int argc, char **argv);
int uses_main(int argc, char **argv);
int compress_main(int argc, char **argv);
int compile_main(int argc, char **argv);
int replay_main(int argc, char **argv);
void stay_outside(void);
void stay_outside(void) {}

const replay_spirv_judge replay_spirv_tools = NULL;
const replay_spirv_text replay_spirv_tools_text = NULL;
const lap_shader_text_fn lap_shader_spirv = NULL, lap_shader_glsl = NULL;

static char new_file[40]; /* of compress and compile, in the folder where this runs */

enum program { INFO, INFO_JSON, PRINT, PRINT_JSON, TREE, DRAWS, FIND, SHADERS, STATE, USES, CHECK, COMPRESS, COMPILE };

static const struct {
    int (*main)(int argc, char **argv);
    const char *arguments[MOST_ARGUMENTS];
    const char *behind; /* the trace; NULL: nothing */
} programs[] = {
    [INFO] = {info_main, {"lapilli-info"}},
    [INFO_JSON] = {info_main, {"lapilli-info", "--json"}},
    [PRINT] = {print_main, {"lapilli-print", "--color=never"}},
    [PRINT_JSON] = {print_main, {"lapilli-print", "--json"}},
    [TREE] = {tree_main, {"lapilli-tree", "--color=never", "--depth=99"}},
    [DRAWS] = {draws_main, {"lapilli-draws", "--json", "--state"}},
    [FIND] = {find_main, {"lapilli-find", "--limit=99999"}, "e"},
    [SHADERS] = {shaders_main, {"lapilli-shaders", "--json"}},
    [STATE] = {state_main, {"lapilli-state", "--color=never", "--at=1"}},
    [USES] = {uses_main, {"lapilli-uses", "--unused"}},
    [CHECK] = {replay_main, {"lapilli-replay", "--check", "--sandbox=off"}},
    [COMPRESS] = {compress_main, {"lapilli-compress", "--sandbox=off", "--quiet", "--level", "1", "-o", new_file}},
    [COMPILE] = {compile_main, {"lapilli-compile", "--sandbox=off", "--quiet", "-o", new_file}},
};

const char *const damage_program_names[] = {"info",  "info --json", "print",   "print --json", "tree",
                                            "draws", "find",        "shaders", "state",        "uses",
                                            "check", "compress",    "compile"};

/* Exit statuses of all of them, and of lapilli check. */
enum { GOOD, FAILED, USAGE, NO_TRACE, INCOMPLETE };

struct said {
    int code;
    char *text; /* what came on stdout, or for compress the new file */
    size_t bytes, taken;
};

static struct {
    int out, err; /* files in memory that stand for stdout and stderr */
    char said[SAID_BYTES];
    struct said now, good[DAMAGE_PROGRAMS];
    size_t parts[DAMAGE_PROGRAMS][MAX_FRAMES + 1]; /* of what print says: up to so many frames */
} caught;

size_t damage_taken(void)
{
#if LAP_ADDRESS_SANITIZER || !defined(__GLIBC__)
    return 0;
#else
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#endif
}

/* ---- running one ---- */

static char *text_room(void)
{
    char *room = mmap(NULL, TEXT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return room == MAP_FAILED ? NULL : room;
}

const char *damage_programs_catch(void)
{
    snprintf(new_file, sizeof new_file, "damage-%ld.new", (long)getpid());
    caught.out = memfd_create("stdout", MFD_CLOEXEC);
    caught.err = memfd_create("stderr", MFD_CLOEXEC);
    caught.now.text = text_room();
    for (unsigned i = 0; i < DAMAGE_PROGRAMS; i++)
        caught.good[i].text = text_room();
    if (caught.out < 0 || caught.err < 0 || !caught.now.text || !caught.good[DAMAGE_PROGRAMS - 1].text)
        return "out of memory";
    if (dup2(caught.out, STDOUT_FILENO) < 0 || dup2(caught.err, STDERR_FILENO) < 0)
        return "what programs say can't be caught";
    return NULL;
}

static size_t read_all(int fd, char *out, size_t room)
{
    size_t bytes = 0;
    ssize_t got;

    while (bytes < room && (got = pread(fd, out + bytes, room - bytes, (off_t)bytes)) > 0)
        bytes += (size_t)got;
    return bytes;
}

const char *damage_program_said(void)
{
    caught.said[read_all(caught.err, caught.said, SAID_BYTES - 1)] = 0;
    return caught.said;
}

static bool start_anew(int fd)
{
    return ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0;
}

/* Into caught.now and caught.said. */
static const char *run(enum program program, const char *extra, const uint8_t *data, size_t bytes)
{
    const char *argv[MOST_ARGUMENTS + 4];
    int argc = 0, from = caught.out;

    while (argc < (int)MOST_ARGUMENTS && programs[program].arguments[argc]) {
        argv[argc] = programs[program].arguments[argc];
        argc++;
    }
    if (extra)
        argv[argc++] = extra;
    argv[argc++] = forge_place(data, bytes);
    if (programs[program].behind)
        argv[argc++] = programs[program].behind;
    argv[argc] = NULL;
    unlink(new_file);
    if (!start_anew(caught.out) || !start_anew(caught.err))
        return "what programs say can't be caught";
    optind = 0;
    caught.now.code = programs[program].main(argc, (char **)(uintptr_t)argv);
    fflush(stdout);
    driver_reset();
    caught.now.taken = damage_taken();
    if (program >= COMPRESS)
        from = open(new_file, O_RDONLY | O_CLOEXEC);
    caught.now.bytes = from >= 0 ? read_all(from, caught.now.text, TEXT_BYTES) : 0;
    if (program >= COMPRESS && from >= 0)
        close(from);
    (void)damage_program_said();
    return caught.now.bytes < TEXT_BYTES ? NULL : "a program says too much";
}

/* What print says of the first frames. */
static const char *learn_parts(enum program program, const uint8_t *data, size_t bytes, size_t frames)
{
    char option[40];
    const char *why = NULL;

    for (size_t i = 1; i <= frames && !why; i++) {
        snprintf(option, sizeof option, "--frames=-%zu", i);
        why = run(program, option, data, bytes);
        caught.parts[program][i] = caught.now.bytes;
    }
    return why;
}

const char *damage_programs_learn(const uint8_t *data, size_t bytes, size_t frames)
{
    const char *why = frames > MAX_FRAMES ? "the trace has too many frames" : NULL;

    for (enum program i = 0; i < DAMAGE_PROGRAMS && !why; i++) {
        struct said *good = &caught.good[i];
        if (i == PRINT || i == PRINT_JSON)
            why = learn_parts(i, data, bytes, frames);
        for (unsigned j = 0; j < WARM_UP_RUNS && !why; j++)
            why = run(i, NULL, data, bytes);
        good->code = caught.now.code;
        good->bytes = caught.now.bytes;
        good->taken = caught.now.taken;
        memcpy(good->text, caught.now.text, good->bytes);
        if (!why && good->code != GOOD && good->code != INCOMPLETE)
            why = caught.said;
    }
    return why;
}

/* ---- what must hold ---- */

static bool is_said_alike(enum program program)
{
    return caught.now.bytes == caught.good[program].bytes &&
           memcmp(caught.now.text, caught.good[program].text, caught.now.bytes) == 0;
}

static bool is_same(enum program program)
{
    return caught.now.code == caught.good[program].code && is_said_alike(program);
}

/* How many frames it says that there are. */
static uint64_t frames_of_info(enum program program)
{
    const char *label = program == INFO ? "\nframes " : "\"frames\":", *found;

    caught.now.text[caught.now.bytes] = 0;
    found = strstr(caught.now.text, label);
    return found ? strtoull(found + strlen(label), NULL, 10) : 0;
}

static const char *judge_new_file(size_t whole)
{
    struct lap_reader *reader;
    const struct lap_reader_summary *summary;
    bool enough, complete;

    if (caught.now.code == NO_TRACE)
        return access(new_file, F_OK) == 0 ? "a file is left" : NULL;
    if (lap_reader_open(new_file, NULL, &reader) != LAP_OK)
        return "the new file can't be read";
    summary = lap_reader_summary(reader);
    enough = summary->frames >= whole;
    complete = summary->complete;
    lap_reader_close(&reader);
    if (complete != (caught.now.code == GOOD))
        return complete ? "the new file passes for whole" : "the new file is not complete, and nobody was told";
    return enough ? NULL : "frames that end in front of the damage are missing";
}

static const char *judge_new_program(void)
{
    struct lap_vm_program new = {0};
    int fd = open(new_file, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && lap_vm_program_read(fd, &new) == LAP_OK && lap_vm_verify(&new, UINT64_MAX) == LAP_OK;

    lap_vm_program_release(&new);
    if (fd >= 0)
        close(fd);
    if (caught.now.code == NO_TRACE)
        return fd >= 0 ? "a file is left" : NULL;
    return good ? NULL : "the new program can't be read";
}

static const char *judge_content(enum program program, size_t whole)
{
    size_t part = whole ? caught.parts[program][whole] : 0;

    switch (program) {
    case INFO:
    case INFO_JSON:
        return frames_of_info(program) < whole ? "frames that end in front of the damage are missing" : NULL;
    case PRINT:
    case PRINT_JSON:
        return caught.now.bytes < part || memcmp(caught.now.text, caught.good[program].text, part) != 0
                   ? "calls in front of the damage are missing, or others"
                   : NULL;
    case DRAWS:
        return memcmp(caught.now.text, caught.good[program].text, caught.now.bytes) != 0 ? "it lists other draws"
                                                                                         : NULL;
    case STATE:
        return whole && !is_said_alike(program) ? "objects in front of the damage are missing, or others" : NULL;
    case COMPRESS:
        return judge_new_file(whole);
    case COMPILE:
        return judge_new_program();
    default:
        return NULL;
    }
}

/* Info and check tell of what is missing on stdout. */
static bool is_said(enum program program, const char *what)
{
    bool shows = program == INFO || program == INFO_JSON || program == CHECK;

    if (!shows)
        return strstr(caught.said, what);
    caught.now.text[caught.now.bytes] = 0;
    return strstr(caught.said, what) || strstr(caught.now.text, what);
}

static const char *judge(enum program program, size_t first, size_t whole)
{
    const struct said *now = &caught.now;
    bool is_check = program == CHECK, is_gone = program == STATE && !whole; /* the frame that it is to show */

    if (now->taken > caught.good[program].taken)
        return "memory is left";
    if (is_gone && now->code == USAGE)
        return NULL;
    if (now->code != GOOD && now->code != NO_TRACE && now->code != (is_check ? FAILED : INCOMPLETE))
        return "an exit status that damage does not have";
    if (now->code == NO_TRACE && !caught.said[0])
        return "nothing says why";
    if (is_same(program))
        return program == COMPRESS && now->code == GOOD && !caught.said[0] ? "nobody was told" : NULL;
    if (first >= LAP_FILE_HEADER_BYTES && !is_said(program, "offset "))
        return "nothing says where";
    if (now->code == NO_TRACE && whole && !is_said(program, "frame "))
        return "nothing says in which frame";
    return judge_content(program, whole);
}

static enum damage_result result_of(enum program program)
{
    if (caught.now.code == NO_TRACE)
        return DAMAGE_REFUSED;
    if (caught.now.code == INCOMPLETE || is_said(program, "incomplete") || is_said(program, "\"complete\":\tfalse"))
        return DAMAGE_SHORTER;
    return is_same(program) && !caught.said[0] ? DAMAGE_UNSEEN : DAMAGE_SAME;
}

const char *damage_program_try(unsigned number, const uint8_t *data, size_t bytes, size_t first, size_t whole,
                               enum damage_result *out_result)
{
    enum program program = (enum program)number;
    const char *why = run(program, NULL, data, bytes);

    if (!why)
        why = judge(program, first, whole);
    *out_result = result_of(program);
    unlink(new_file);
    return why;
}
