/* SPDX-License-Identifier: MIT */
/* peak: the most memory that this process has had so far. */
#ifndef LAP_TESTS_PEAK_H
#define LAP_TESTS_PEAK_H

#include <stddef.h>
#include <sys/resource.h>

#include "base/process/sanitizers.h"
#include "tests/unit/machine.h"

/* AddressSanitizer keeps 256 MiB of what was freed, and something around each piece. */
#if LAP_ADDRESS_SANITIZER
#define PEAK_MORE_BYTES ((size_t)512 << 20)
#else
#define PEAK_MORE_BYTES (unit_is_emulated() ? (size_t)32 << 20 : (size_t)0) /* an emulator's translations */
#endif

static inline size_t peak_bytes(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss << 10;
}

#endif
