/* SPDX-License-Identifier: MIT */
/* lapilli-disasm: prints a replay program as text (docs/vm.md). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/arguments.h"
#include "tools/common/calls.h"
#include "tools/common/tool.h"
#include "vm/program_file.h"
#include "vm/text.h"
#include "vm/verify.h"

#define PROGRAM "lapilli-disasm"

static const char help[] =
    "usage: lapilli disasm [options] PROG\n"
    "Prints a replay program as text, which lapilli asm makes the same program of, and verifies it.\n"
    "\n"
    "  --help   this text\n"
    "\n"
    "Exit status: 0; 1 output failed; 2 wrong usage; 3 no replay program; 4 lapilli replay would refuse it: all of it "
    "is\n"
    "printed.\n";

static const struct lap_verb verb = {PROGRAM, help};

static int print(const char *path)
{
    struct lap_vm_program program = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum lap_status status = fd >= 0 ? LAP_OK : lap_fail(LAP_ERROR_IO, "can't open it: %s", strerror(errno));
    int code = LAP_TOOL_OK;

    if (status == LAP_OK)
        status = lap_vm_program_read(fd, &program);
    if (status == LAP_OK)
        status = lap_vm_text_write(&program, stdout);
    if (status == LAP_OK && lap_vm_verify(&program, UINT64_MAX) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s would be refused: %s\n", path, lap_error_message());
        code = LAP_TOOL_INCOMPLETE;
    }
    if (status != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s: %s\n", path, lap_error_message());
        code = status == LAP_ERROR_MEMORY ? LAP_TOOL_FAILED : LAP_TOOL_NO_TRACE;
    }
    lap_vm_program_release(&program);
    return lap_tool_end_output(PROGRAM, code);
}

int main(int argc, char **argv)
{
    const char *path;
    const struct lap_argument rows[] = {LAP_WORD("PROG", &path, lap_take_text)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code >= 0)
        return code;
    lap_calls_enter_sandbox();
    return print(path);
}
