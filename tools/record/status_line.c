/* SPDX-License-Identifier: MIT */
#include "tools/record/status_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* Between the last two the terminal does not wrap. */
#define ERASE   "\r\033[K"
#define NO_WRAP "\033[?7l"
#define WRAP    "\033[?7h"

void lap_status_line_init(struct lap_status_line *line, bool quiet)
{
    *line = (struct lap_status_line){.wanted = !quiet && isatty(STDERR_FILENO)};
    pthread_mutex_init(&line->mutex, NULL);
}

static void erase(struct lap_status_line *line)
{
    if (line->shown)
        fputs(ERASE, stderr);
    line->shown = false;
}

void lap_status_line_show(struct lap_status_line *line, const char *text)
{
    if (!line->wanted)
        return;
    pthread_mutex_lock(&line->mutex);
    if (text)
        fprintf(stderr, ERASE NO_WRAP "%s" WRAP, text);
    else
        erase(line);
    line->shown = text != NULL;
    pthread_mutex_unlock(&line->mutex);
}

void lap_status_line_print(struct lap_status_line *line, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (line) {
        pthread_mutex_lock(&line->mutex);
        erase(line);
    }
    vfprintf(stderr, format, arguments);
    if (line)
        pthread_mutex_unlock(&line->mutex);
    va_end(arguments);
}
