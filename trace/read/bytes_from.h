/* SPDX-License-Identifier: MIT */
/* bytes_from: the bytes of a trace that is in no file here. */
#ifndef LAP_TRACE_READ_BYTES_FROM_H
#define LAP_TRACE_READ_BYTES_FROM_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct lap_bytes_from {
    /* [offset, offset + bytes) lies in it. Any thread. LAP_ERROR_IO, LAP_ERROR_FORMAT, LAP_ERROR_MEMORY. */
    enum lap_status (*read)(void *user, uint64_t offset, void *out, size_t bytes);
    void *user;
    uint64_t bytes; /* all of them */
};

#endif
