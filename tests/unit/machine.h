/* SPDX-License-Identifier: MIT */
/* machine: differences between kernels and processors that tests allow for. */
#ifndef LAP_TESTS_MACHINE_H
#define LAP_TESTS_MACHINE_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The kernel's pages: 4 KiB on x86, up to 64 KiB on ARM. */
#define HOST_PAGE ((size_t)sysconf(_SC_PAGESIZE))
/* qemu-user runs programs of another machine, and hands on less of what the kernel promises and tells. */
static inline bool unit_is_emulated(void)
{
    struct utsname told;
    char machine[sizeof(told.machine)] = "";
    FILE *file = fopen("/proc/sys/kernel/arch", "r");
    bool known = file && fscanf(file, "%64s", machine) == 1 && uname(&told) == 0;
    if (file)
        fclose(file);
    /* A kernel of 64 bits runs programs of 32 without one. */
    return known && strncmp(machine, "aarch64", 7) != 0 &&
           (strncmp(told.machine, "aarch64", 7) == 0 || strncmp(told.machine, "arm", 3) == 0);
}

#endif
