/* SPDX-License-Identifier: MIT */
/*
 * log: where messages go. A log is passed to its users; nothing here is global.
 *
 * Thread-safe: one message is one write(2), or one call. A NULL log swallows everything.
 */
#ifndef LAP_BASE_LOG_H
#define LAP_BASE_LOG_H

#include "base/status.h"

enum lap_log_level { LAP_LOG_ERROR, LAP_LOG_WARNING, LAP_LOG_INFO, LAP_LOG_DEBUG };

struct lap_log {
    int fd;                   /* where to write; -1: nowhere */
    enum lap_log_level level; /* messages above this level are dropped */
    const char *prefix;       /* put in front of each message, e.g. "lapilli: " */
    /* Gets each message instead, without prefix, level and end of line; NULL: fd does. */
    void (*write)(enum lap_log_level level, const char *message);
};

/* Writes "PREFIX[level: ]text\n", with '?' for control characters. Keeps errno. */
void lap_log(const struct lap_log *log, enum lap_log_level level, const char *format, ...) LAP_PRINTF(3, 4);

/* Parses "error", "warning", "info", "debug"; false (and *out unchanged) for anything else. */
int lap_log_parse_level(const char *text, enum lap_log_level *out);

#endif
