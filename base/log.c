/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/utf8.h"

/* Whole lines of up to this size go out in one write(2), so that lines of several threads never mix. */
#define LINE_BYTES 2048

static const char *const level_names[] = {"error", "warning", "info", "debug"};

static void write_line(int fd, const char *line, size_t bytes)
{
    while (bytes) {
        ssize_t written = write(fd, line, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            break; /* the message is lost */
        line += written;
        bytes -= (size_t)written;
    }
}

void lap_log(const struct lap_log *log, enum lap_log_level level, const char *format, ...)
{
    if (!log || (log->fd < 0 && !log->write) || level > log->level)
        return;

    int saved_errno = errno;
    char line[LINE_BYTES];
    const char *name = level == LAP_LOG_INFO ? "" : level_names[level];
    if (log->write ||
        snprintf(line, sizeof(line) - 1, "%s%s%s", log->prefix ? log->prefix : "", name, name[0] ? ": " : "") < 0)
        line[0] = '\0';
    size_t used = strnlen(line, sizeof(line) - 1);

    va_list arguments;
    va_start(arguments, format);
    errno = saved_errno; /* for %m */
    if (vsnprintf(line + used, sizeof(line) - 1 - used, format, arguments) < 0)
        line[used] = 0;
    va_end(arguments);

    /* Names come from programs and from untrusted files: one line, with nothing that changes the terminal. */
    used += lap_utf8_clean(line + used, '?');
    int cancel = lap_cancel_off();
    if (log->write) {
        log->write(level, line);
    } else {
        line[used++] = '\n';
        write_line(log->fd, line, used);
    }
    lap_cancel_restore(cancel);
    errno = saved_errno;
}

int lap_log_parse_level(const char *text, enum lap_log_level *out)
{
    for (int i = 0; i < (int)(sizeof(level_names) / sizeof(level_names[0])); i++) {
        if (text && strcmp(text, level_names[i]) == 0) {
            *out = (enum lap_log_level)i;
            return 1;
        }
    }
    return 0;
}
