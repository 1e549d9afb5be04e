/* SPDX-License-Identifier: MIT */
/*
 * lapilli-asm: makes a replay program of text (docs/vm.md).
 *
 * A child process does the work in a sandbox, with the new file open and no other rights
 * (tools/common/sandboxed_work.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process/sandbox.h"
#include "tools/common/arguments.h"
#include "tools/common/sandboxed_work.h"
#include "tools/common/tool.h"
#include "tools/common/whole_file.h"
#include "vm/program_file.h"
#include "vm/text.h"
#include "vm/verify.h"

#define PROGRAM "lapilli-asm"

static const char help[] =
    "usage: lapilli asm [options] TEXT -o PROG\n"
    "Makes a replay program of text, as lapilli disasm prints it, and verifies it. TEXT may be - for standard input.\n"
    "\n"
    "  -o, --output PROG  the program; it must not exist\n"
    "  --resources FROM   take the bytes of resources from this program\n"
    "  --sandbox HOW      on: end if the kernel has no full sandbox; off: use none; auto (default): use what the\n"
    "                     kernel has (SECURITY.md)\n"
    "  --help             this text\n"
    "\n"
    "Exit status: 0; 1 the program can't be written, or the sandbox not be had; 2 wrong usage; 3 no such text, with "
    "the\n"
    "number of the line, or a program that lapilli replay would refuse, with its place.\n";

struct job {
    const char *from, *to, *resources;
    struct whole_file new;
    enum lap_sandbox_wish sandbox;
};

/* Another program, whose resources are taken. */
struct other {
    struct lap_vm_program program;
    const struct lap_vm_program *made;
    int fd;
    uint8_t *bytes;
};

static enum lap_status take(void *user, size_t number, const uint8_t **out_data)
{
    struct other *other = user;
    const struct lap_vm_resource *wanted = &other->made->resources[number];
    uint8_t *grown;

    for (size_t i = 0; i < other->program.resource_count; i++) {
        const struct lap_vm_resource *one = &other->program.resources[i];

        if (one->hash[0] != wanted->hash[0] || one->hash[1] != wanted->hash[1] || one->bytes != wanted->bytes ||
            !lap_vm_program_has(&other->program, i))
            continue;
        grown = realloc(other->bytes, one->bytes + 1);
        if (!grown)
            return lap_fail(LAP_ERROR_MEMORY, "no memory for a resource");
        *out_data = other->bytes = grown;
        return lap_vm_program_get(&other->program, other->fd, i, other->bytes);
    }
    return LAP_END;
}

static enum lap_status make(const struct job *job)
{
    struct lap_vm_program program = {0};
    struct other other = {.made = &program, .fd = -1};
    const struct lap_vm_resource_bytes bytes = {take, &other};
    FILE *in = strcmp(job->from, "-") == 0 ? stdin : fopen(job->from, "re");
    enum lap_status status =
        in ? lap_vm_text_read(in, &program) : lap_fail(LAP_ERROR_FORMAT, "can't open it: %s", strerror(errno));

    if (status == LAP_ERROR_IO)
        status = LAP_ERROR_FORMAT; /* a folder, for one: there is no text */
    if (status == LAP_OK)
        status = lap_vm_verify(&program, UINT64_MAX);
    if (status == LAP_OK && job->resources) {
        other.fd = open(job->resources, O_RDONLY | O_CLOEXEC);
        status = other.fd >= 0 ? lap_vm_program_read(other.fd, &other.program)
                               : lap_fail(LAP_ERROR_FORMAT, "can't open it: %s", strerror(errno));
        if (status != LAP_OK)
            status = lap_fail_context(status == LAP_ERROR_IO ? LAP_ERROR_FORMAT : status, "%s", job->resources);
    }
    if (status == LAP_OK)
        status = lap_vm_program_write(&program, job->resources ? &bytes : NULL, job->new.fd);
    lap_vm_text_release(&program);
    lap_vm_program_release(&other.program);
    free(other.bytes);
    if (other.fd >= 0)
        close(other.fd);
    if (in && in != stdin)
        (void)fclose(in);
    return status;
}

static int assemble(void *argument)
{
    const struct job *job = argument;
    enum lap_status status = make(job);

    if (status == LAP_OK)
        return LAP_TOOL_OK;
    fprintf(stderr, PROGRAM ": %s: %s\n", job->from, lap_error_message());
    return status == LAP_ERROR_MEMORY || status == LAP_ERROR_IO ? LAP_TOOL_FAILED : LAP_TOOL_NO_TRACE;
}

static const struct lap_verb verb = {PROGRAM, help};

int main(int argc, char **argv)
{
    struct job job = {0};
    const struct lap_argument rows[] = {LAP_OUTPUT(&job.to), LAP_TEXT("resources", &job.resources),
                                        LAP_VALUE("sandbox", &job.sandbox, lap_take_sandbox),
                                        LAP_WORD("TEXT", &job.from, lap_take_text)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code >= 0)
        return code;
    if (!job.to)
        return lap_usage(&verb, "-o PROG is missing");
    if (whole_file_open(&job.new, job.to) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        return LAP_TOOL_FAILED;
    }
    return whole_file_end(&job.new, PROGRAM, lap_sandboxed_work(PROGRAM, job.sandbox, assemble, &job));
}
