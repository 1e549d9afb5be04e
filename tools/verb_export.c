/* SPDX-License-Identifier: MIT */
/*
 * lapilli-export: makes a folder with a replay program and all that plays it (docs/vm.md).
 *
 * A child process reads the trace in a sandbox, with a file open and no other rights (tools/common/sandboxed_work.h).
 * Only then the folder is made. Of what the trace says, its program's name alone comes into the README, with escapes.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/process/sandbox.h"
#include "base/version.h"
#include "tools/common/arguments.h"
#include "tools/common/sandboxed_work.h"
#include "tools/common/tool.h"
#include "tools/common/whole_folder.h"
#include "tools/program/compile_trace.h"
#include "tools/program/shared_libraries.h"
#include "tools/show/text.h"
#include "vm/program_file.h"
#include "vm/verify.h"

#define PROGRAM "lapilli-export"

static const char help[] =
    "usage: lapilli export [options] FILE -o DIR\n"
    "Makes a folder with the replay program of a trace, the replayer, and the libraries that it needs. On another "
    "machine\n"
    "of this architecture with a Vulkan driver, DIR/run plays it, and takes the options of lapilli replay. FILE may be "
    "a\n"
    "replay program.\n"
    "\n"
    "  -o, --output DIR   the folder; it must not exist\n" COMPILE_HELP
    "  --sandbox HOW      on: end if the kernel has no full sandbox; off: use none; auto (default): use what the\n"
    "                     kernel has (SECURITY.md)\n"
    "  --json             report the result as one JSON object\n"
    "  --quiet            print only errors\n"
    "  --help             this text\n"
    "\n"
    "Exit status: 0; 1 the folder can't be written, or the sandbox not be had; 2 wrong usage, or the trace has no "
    "such\n"
    "part; 3 no readable trace, or one that this build can't compile; 4 FILE is incomplete: its readable part was\n"
    "exported.\n";

/* The system's own loader knows where its drivers are; so ours is for machines without one. Finding it is the dynamic
 * linker's work, which is asked as ldd asks it. */
static const char script[] =
    "#!/bin/sh\n"
    "# Plays the replay program of this folder: ./run [options], which are those of lapilli replay (./run --help).\n"
    "case $0 in\n"
    "/*) here=${0%/*} ;;\n"
    "*/*) here=./${0%/*} ;;\n"
    "*) here=. ;;\n"
    "esac\n"
    "\n"
    "# $ORIGIN is the folder of the replayer, for the dynamic linker. A Vulkan loader of the machine goes before "
    "ours.\n"
    "LD_LIBRARY_PATH='$ORIGIN/lib'${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\n"
    "export LD_LIBRARY_PATH\n"
    "case $(LD_TRACE_LOADED_OBJECTS=1 LD_PRELOAD=libvulkan.so.1 \"$here/lapilli-replay\" 2>&1) in\n"
    "*'libvulkan.so.1 => /'*) ;;\n"
    "*) LD_LIBRARY_PATH=$LD_LIBRARY_PATH:'$ORIGIN/lib/vulkan' ;;\n"
    "esac\n"
    "exec \"$here/lapilli-replay\" \"$@\" \"$here/program.lapvm\"\n";

/* What the child has found out; the parent has no other word of the trace. */
struct found {
    char program[512]; /* that was recorded */
    uint64_t instructions, resources;
};

struct job {
    const char *from, *to;
    struct compile_options options;
    enum lap_sandbox_wish sandbox;
    bool json, quiet;
    struct whole_folder folder;
    int program; /* the file */
    char replayer[PATH_MAX];
    struct shared_libraries libraries;
    struct found *found; /* shared with the child */
};

/* ---- in the sandbox ---- */

static void look(void *user, const struct lap_vm_program *made)
{
    struct found *found = user;
    cJSON *info = cJSON_Parse(made->info);
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(info, "trace"), "program"));

    snprintf(found->program, sizeof found->program, "%s", name ? name : "");
    found->instructions = made->count;
    found->resources = made->resource_count;
    cJSON_Delete(info);
}

static bool is_program(int fd)
{
    char head[sizeof LAP_VM_FILE_MAGIC - 1];

    return pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head && memcmp(head, LAP_VM_FILE_MAGIC, sizeof head) == 0;
}

static enum lap_status take_program(const struct job *job, int fd)
{
    struct lap_vm_program program;
    enum lap_status status = lap_vm_program_read(fd, &program);

    if (status != LAP_OK)
        return status == LAP_ERROR_IO ? LAP_ERROR_FORMAT : status;
    status = lap_vm_verify(&program, UINT64_MAX);
    for (size_t i = 0; status == LAP_OK && i < program.resource_count; i++)
        if (!lap_vm_program_has(&program, i))
            status = lap_fail(LAP_ERROR_FORMAT, "resource %zu is not in the program", i);
    if (status == LAP_OK)
        look(job->found, &program);
    lap_vm_program_release(&program);
    if (status != LAP_OK)
        return status;
    status = whole_folder_copy(fd, job->program);
    return status == LAP_OK ? LAP_OK : lap_fail_context(status, "can't copy it");
}

static int make_program(void *argument)
{
    const struct job *job = argument;
    struct compiled made;
    enum lap_status status = LAP_OK;
    int fd = open(job->from, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || !is_program(fd)) {
        if (fd >= 0)
            close(fd);
        return compile_trace(&(struct compile_work){.program = PROGRAM,
                                                    .from = job->from,
                                                    .to = job->to,
                                                    .fd = job->program,
                                                    .options = &job->options,
                                                    .quiet = job->quiet,
                                                    .look = look,
                                                    .user = job->found},
                             &made);
    }
    if (compile_options_are_given(&job->options))
        status = lap_fail(LAP_ERROR_ARGUMENT, "it is a replay program, whose frames and draws stay as they are");
    else
        status = take_program(job, fd);
    close(fd);
    if (status == LAP_OK)
        return LAP_TOOL_OK;
    fprintf(stderr, PROGRAM ": %s: %s\n", job->from, lap_error_message());
    return status == LAP_ERROR_ARGUMENT                           ? LAP_TOOL_USAGE
           : status == LAP_ERROR_MEMORY || status == LAP_ERROR_IO ? LAP_TOOL_FAILED
                                                                  : LAP_TOOL_NO_TRACE;
}

/* ---- the folder ---- */

static enum lap_status add_copy(const struct job *job, const char *path, mode_t mode, const char *from)
{
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    enum lap_status status = fd < 0 ? lap_fail(LAP_ERROR_IO, "can't open %s: %s", from, strerror(errno))
                                    : whole_folder_add(&job->folder, path, mode, fd);

    if (fd >= 0)
        close(fd);
    return status;
}

static enum lap_status add_libraries(const struct job *job)
{
    enum lap_status status = LAP_OK;
    char path[PATH_MAX];

    if (mkdirat(job->folder.fd, "lib", 0700) != 0 || mkdirat(job->folder.fd, "lib/vulkan", 0700) != 0)
        return lap_fail(LAP_ERROR_IO, "can't create %s/lib: %s", job->to, strerror(errno));
    for (size_t i = 0; status == LAP_OK && i < job->libraries.count; i++) {
        snprintf(path, sizeof path, "lib/%s", job->libraries.all[i].name);
        status = add_copy(job, path, 0600, job->libraries.all[i].path);
    }
    if (status == LAP_OK && job->libraries.loader)
        status = add_copy(job, "lib/vulkan/libvulkan.so.1", 0600, job->libraries.loader);
    return status;
}

static enum lap_status put_text(const struct job *job, const char *path, mode_t mode,
                                void (*put)(const struct job *job, FILE *out))
{
    int fd;
    enum lap_status status = whole_folder_new_file(&job->folder, path, mode, &fd);
    FILE *out = status == LAP_OK ? fdopen(fd, "w") : NULL;
    bool failed;

    if (status != LAP_OK)
        return status;
    if (!out) {
        close(fd);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    put(job, out);
    failed = ferror(out);
    if (fclose(out) != 0 || failed)
        return lap_fail(LAP_ERROR_IO, "can't write %s/%s: %s", job->to, path, strerror(errno));
    return LAP_OK;
}

static void put_script(const struct job *job, FILE *out)
{
    (void)job;
    fputs(script, out);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Of the C library; "" if it does not say so. */
static const char *c_library(void)
{
#ifdef _CS_GNU_LIBC_VERSION
    static char name[64];

    return confstr(_CS_GNU_LIBC_VERSION, name, sizeof name) > 0 ? name : "";
#else
    return "";
#endif
}

static void put_readme(const struct job *job, FILE *out)
{
    struct utsname machine = {0};

    (void)uname(&machine);
    fputs("A replay program of Lapilli, and all that plays it.\n\n  made of    ", out);
    lap_text_quoted(out, base_name(job->from), strlen(base_name(job->from)));
    fputs("\n  records    ", out);
    lap_text_quoted(out, job->found->program, strnlen(job->found->program, sizeof job->found->program));
    fprintf(out,
            "\n"
            "  needs      a Vulkan driver, %s, %s or newer (an older one may do)\n"
            "  made by    lapilli " LAPILLI_VERSION "\n"
            "\n"
            "  ./run            plays it\n"
            "  ./run --verify   and compares what it draws with the recording, if that has checks\n"
            "  ./run --help     the other options\n"
            "\n"
            "The libraries in lib are copies; their own licences apply. They go before those of the machine. Remove "
            "one that\n"
            "is too old for the machine's driver. lib/vulkan is for machines that have no Vulkan loader.\n",
            machine.machine, c_library());
}

static enum lap_status fill(const struct job *job)
{
    enum lap_status status = whole_folder_add(&job->folder, "program.lapvm", 0600, job->program);

    if (status == LAP_OK)
        status = add_copy(job, "lapilli-replay", 0700, job->replayer);
    if (status == LAP_OK)
        status = add_libraries(job);
    if (status == LAP_OK)
        status = put_text(job, "run", 0700, put_script);
    return status == LAP_OK ? put_text(job, "README", 0600, put_readme) : status;
}

static void say(const struct job *job)
{
    struct stat file = {0};

    (void)fstat(job->program, &file);
    if (job->json) {
        printf("{\"program\": ");
        lap_text_put_json(stdout, job->found->program);
        printf(", \"instructions\": %" PRIu64 ", \"resources\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"libraries\": [",
               job->found->instructions, job->found->resources, (uint64_t)file.st_size);
        for (size_t i = 0; i < job->libraries.count; i++) {
            fputs(i ? ", " : "", stdout);
            lap_text_put_json(stdout, job->libraries.all[i].name);
        }
        printf("], \"loader\": %s, \"c_library\": ", job->libraries.loader ? "true" : "false");
        lap_text_put_json(stdout, c_library());
        printf("}\n");
    } else if (!job->quiet) {
        printf("%s: %" PRIu64 " instructions, %" PRIu64 " resources, %" PRIu64 " bytes; %zu libraries, for %s\n",
               job->to, job->found->instructions, job->found->resources, (uint64_t)file.st_size, job->libraries.count,
               c_library());
    }
    if (!job->libraries.loader && !job->quiet)
        fprintf(stderr, PROGRAM ": there is no libvulkan.so.1 here: machines have to have their own\n");
}

static int failed(void)
{
    fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
    return LAP_TOOL_FAILED;
}

/* code: of the program. */
static int make_folder(struct job *job, int code)
{
    if (whole_folder_open(&job->folder) != LAP_OK)
        return failed();
    if (fill(job) != LAP_OK) {
        whole_folder_drop(&job->folder);
        return failed();
    }
    say(job);
    code = lap_tool_end_output(PROGRAM, code);
    if (code != LAP_TOOL_OK && code != LAP_TOOL_INCOMPLETE) {
        whole_folder_drop(&job->folder);
        return code;
    }
    return whole_folder_keep(&job->folder) == LAP_OK ? code : failed();
}

static int run(struct job *job)
{
    int code;

    if (!lap_tool_find_beside("lapilli-replay", job->replayer)) {
        fprintf(stderr, PROGRAM ": lapilli-replay is not beside this program\n");
        return LAP_TOOL_FAILED;
    }
    job->found = mmap(NULL, sizeof *job->found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (job->found == MAP_FAILED) {
        fprintf(stderr, PROGRAM ": out of memory\n");
        return LAP_TOOL_FAILED;
    }
    if (whole_folder_plan(&job->folder, job->to) != LAP_OK ||
        shared_libraries_find(job->replayer, &job->libraries) != LAP_OK)
        return failed();
    job->program = whole_folder_nameless(&job->folder);
    if (job->program < 0)
        return failed();
    code = lap_sandboxed_work(PROGRAM, job->sandbox, make_program, job);
    job->found->program[sizeof job->found->program - 1] = 0;
    if (code == LAP_TOOL_OK || code == LAP_TOOL_INCOMPLETE)
        code = make_folder(job, code);
    close(job->program);
    return code;
}

static const struct lap_verb verb = {PROGRAM, help};

/* An exit status, or -1. */
static int parse(int argc, char **argv, struct job *job)
{
    const struct lap_argument rows[] = {LAP_OUTPUT(&job->to),
                                        LAP_VALUE("sandbox", &job->sandbox, lap_take_sandbox),
                                        LAP_FLAG("json", &job->json),
                                        LAP_FLAG("quiet", &job->quiet),
                                        COMPILE_ARGUMENTS(&job->options),
                                        LAP_FILE(&job->from)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code >= 0)
        return code;
    return job->to ? -1 : lap_usage(&verb, "-o DIR is missing");
}

int main(int argc, char **argv)
{
    struct job job = {.options.frames = {0, UINT64_MAX}, .program = -1};
    int code = parse(argc, argv, &job);

#ifdef __ANDROID__ /* its linker knows no LD_TRACE_LOADED_OBJECTS */
    if (code < 0) {
        fprintf(stderr, PROGRAM ": Android does not say which libraries a program needs: export on another machine\n");
        code = LAP_TOOL_USAGE;
    }
#endif
    if (code < 0)
        code = run(&job);
    shared_libraries_release(&job.libraries);
    compile_options_finish(&job.options);
    return code;
}
