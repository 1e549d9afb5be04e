/* SPDX-License-Identifier: MIT */
/* old-kernel PROGRAM ARGUMENTS...: runs a program as a kernel without Landlock would: its system calls are not there.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int error = filter ? 0 : -ENOMEM;

    for (int call = 444; call <= 446 && !error; call++)
        error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0);
    if (!error)
        error = seccomp_load(filter);
    if (!error && argc > 1)
        execv(argv[1], argv + 1);
    fprintf(stderr, "old-kernel: %s\n", strerror(error ? -error : errno));
    return 1;
}
