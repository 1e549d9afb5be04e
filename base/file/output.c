/* SPDX-License-Identifier: MIT */
#include "base/file/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum lap_status lap_output_flush(void)
{
    bool failed = ferror(stdout) != 0;
    struct stat file;
    int error;

    errno = 0;
    failed |= fflush(stdout) != 0;
    error = errno; /* 0: an earlier write failed, and its reason is not known any more */
    if (!failed || (fstat(fileno(stdout), &file) == 0 && (S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode))))
        return LAP_OK;
    return error ? lap_fail(LAP_ERROR_IO, "the output can't be written: %s", strerror(error))
                 : lap_fail(LAP_ERROR_IO, "the output can't be written");
}
