/* SPDX-License-Identifier: MIT */
/* lapilli compress: a trace anew, which must then say the same as the old one, if that can be read. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/fuzz/forge.h"
#include "tests/fuzz/fuzz.h"
#include "trace/rewrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static char to[64];
    struct lap_rewrite_options options = {.packer = bytes % 2 ? &lap_codec_lz4 : NULL};
    const char *from = forge_place(data, bytes);
    enum lap_status status;
    int fd;

    if (!to[0])
        snprintf(to, sizeof to, "/dev/shm/lapilli-fuzz-%ld", (long)getpid());
    fd = open(to, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FUZZ_CHECK(fd >= 0);
    status = lap_rewrite_into(from, fd, to, &options);
    if (status == LAP_OK)
        FUZZ_CHECK(lap_rewrite_compare(from, to, &options) == LAP_OK || lap_rewrite_compare(from, from, &options) < 0);
    else
        FUZZ_CHECK(status < 0 && lap_error_message()[0]);
    unlink(to);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t capacity, unsigned seed)
{
    return forge_mutator(data, bytes, capacity, seed);
}
