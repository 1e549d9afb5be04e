/* SPDX-License-Identifier: MIT */
/* lapilli import: a file of gfxreconstruct. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tools/record/gfxr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static int fd = -1;
    struct lap_gfxr found;
    enum lap_status status;

    if (fd < 0)
        fd = memfd_create("gfxr", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, bytes, 0) != (ssize_t)bytes || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    status = lap_gfxr_walk(fd, NULL, NULL, &found);
    if (status != LAP_OK) {
        FUZZ_CHECK(status == LAP_ERROR_FORMAT && lap_error_message()[0]);
        return 0;
    }
    FUZZ_CHECK(found.bytes == bytes && found.blocks <= bytes / 12 && found.unknown <= found.blocks);
    FUZZ_CHECK(found.calls <= found.blocks && found.cut_at <= bytes && (!found.whole || found.cut_at == bytes));
    FUZZ_CHECK(found.counts.presents + found.counts.submits + found.counts.draws + found.counts.dispatches <=
               found.calls);
    FUZZ_CHECK(strlen(found.device) < sizeof found.device && strlen(found.recorder) < sizeof found.recorder);
    FUZZ_CHECK(strlen(found.hash) == sizeof found.hash - 1);
    return 0;
}
