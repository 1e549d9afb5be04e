/* SPDX-License-Identifier: MIT */
#include "inspector/edit/shader_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/sandbox.h"

#define MOST_BYTES   ((off_t)256 << 20)
#define MOST_MEMORY  ((rlim_t)2 << 30) /* of a compiler */
#define MOST_SECONDS 60u               /* of a processor's time */
#define MAGIC        0x07230203u
#define LINE_BYTES   4096u
#define NOT_THERE    127 /* exit status */
#define TO           "/proc/self/fd/9"
#define TO_FD        9

static bool ends_with(const char *path, size_t length, const char *ending)
{
    size_t bytes = strlen(ending);

    return length > bytes && strncmp(path + length - bytes, ending, bytes) == 0;
}

static bool is_glsl(const char *path)
{
    static const char *const stages[] = {".vert", ".tesc", ".tese", ".geom",  ".frag",  ".comp",  ".mesh",
                                         ".task", ".rgen", ".rint", ".rahit", ".rchit", ".rmiss", ".rcall"};
    size_t length = strlen(path);

    if (ends_with(path, length, ".glsl"))
        length -= 5;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (ends_with(path, length, stages[i]))
            return true;
    return false;
}

static enum lap_status read_all(const char *path, int fd, uint32_t **out_words, size_t *out_bytes)
{
    struct stat about;
    size_t done = 0;

    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > MOST_BYTES)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s is no file that shaders are in", path);
    *out_bytes = (size_t)about.st_size;
    *out_words = malloc(*out_bytes + 4);
    if (!*out_words)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for %s", path);
    while (done < *out_bytes) {
        ssize_t got = pread(fd, (char *)*out_words + done, *out_bytes - done, (off_t)done);
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    if (done == *out_bytes && done >= 4 && done % 4 == 0 && **out_words == MAGIC)
        return LAP_OK;
    free(*out_words);
    *out_words = NULL;
    return lap_fail(LAP_ERROR_ARGUMENT, "%s is no SPIR-V", path);
}

/* In the child. The text may be a stranger's: the compiler can read files, and write into fd alone. */
static void become(const char *const *words, int fd)
{
    const struct lap_sandbox_options options = {.executes = true};
    const struct rlimit memory = {MOST_MEMORY, MOST_MEMORY}, seconds = {MOST_SECONDS, MOST_SECONDS};
    struct lap_sandbox sandbox;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0 || dup2(fd, TO_FD) < 0 || fcntl(TO_FD, F_SETFD, 0) != 0)
        _exit(1);
    (void)setrlimit(RLIMIT_AS, &memory);
    (void)setrlimit(RLIMIT_CPU, &seconds);
    lap_sandbox_enter(&options, &sandbox);
    execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(NOT_THERE);
}

/* Runs a compiler, which writes into the file that is open as fd. */
static enum lap_status compile(const char *const *words, const char *path, const char *language, int fd)
{
    pid_t child = fork();
    int state = 0;

    if (child == 0)
        become(words, fd);
    if (child < 0)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s can't be run: %s", words[0], strerror(errno));
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(state) && WEXITSTATUS(state) == NOT_THERE)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s is %s, and %s is not installed: it compiles that", path, language,
                        words[0]);
    return WIFEXITED(state) && WEXITSTATUS(state) == 0
               ? LAP_OK
               : lap_fail(LAP_ERROR_ARGUMENT, "%s does not compile %s", words[0], path);
}

/* The version that a comment in front of the text names, as spirv-dis writes it; else the oldest. */
static void find_target(const char *path, char out[16])
{
    static const char says[] = "; Version: 1.";
    FILE *file = fopen(path, "re");
    char line[LINE_BYTES], minor = '0';

    while (file && fgets(line, sizeof line, file) && strchr(";\r\n", line[0]))
        if (strncmp(line, says, strlen(says)) == 0 && isdigit((unsigned char)line[strlen(says)]))
            minor = line[strlen(says)];
    if (file)
        (void)fclose(file);
    snprintf(out, 16, "spv1.%c", minor);
}

static enum lap_status assemble(const char *path, int fd)
{
    char target[16];
    const char *const words[] = {"spirv-as", "--target-env", target, "-o", TO, path, NULL};

    find_target(path, target);
    return compile(words, path, "SPIR-V as text", fd);
}

enum lap_status edit_shader_file_read(const char *path, uint32_t **out_words, size_t *out_bytes)
{
    const char *const glslang[] = {"glslangValidator", "-V", "--quiet", "-o", TO, path, NULL};
    bool glsl = is_glsl(path), text = ends_with(path, strlen(path), ".spvasm");
    int fd =
        glsl || text ? memfd_create("shader", MFD_CLOEXEC) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    enum lap_status status = LAP_OK;

    if (fd < 0)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s can't be read: %s", path, strerror(errno));
    if (glsl)
        status = compile(glslang, path, "GLSL", fd);
    else if (text)
        status = assemble(path, fd);
    if (status == LAP_OK)
        status = read_all(path, fd, out_words, out_bytes);
    close(fd);
    return status;
}
