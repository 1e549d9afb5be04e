/* SPDX-License-Identifier: MIT */
#include "base/process/signal_name.h"

#include <inttypes.h>
#include <stdio.h>

const char *lap_signal_name(uint32_t number, char buffer[LAP_SIGNAL_NAME_MAX])
{
    /* As Linux numbers them nearly everywhere: those with which programs end. */
    static const char *const names[] = {
        [1] = "SIGHUP",   [2] = "SIGINT",   [3] = "SIGQUIT",  [4] = "SIGILL",   [5] = "SIGTRAP",  [6] = "SIGABRT",
        [7] = "SIGBUS",   [8] = "SIGFPE",   [9] = "SIGKILL",  [10] = "SIGUSR1", [11] = "SIGSEGV", [12] = "SIGUSR2",
        [13] = "SIGPIPE", [14] = "SIGALRM", [15] = "SIGTERM", [24] = "SIGXCPU", [25] = "SIGXFSZ", [31] = "SIGSYS"};
    if (number < sizeof names / sizeof *names && names[number])
        return names[number];
    snprintf(buffer, LAP_SIGNAL_NAME_MAX, "signal %" PRIu32, number);
    return buffer;
}
