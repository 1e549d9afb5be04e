/* SPDX-License-Identifier: MIT */
#include "base/pattern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *lap_pattern_fault(const char *pattern)
{
    for (const char *p = strchr(pattern, '%'); p; p = strchr(p + 2, '%'))
        if (!p[1] || !strchr("petn%", p[1]))
            return p;
    return NULL;
}

/* "out.lapilli" -> "out-2.lapilli" */
static char *add_number(char *text, unsigned number)
{
    char *dot = strrchr(text, '.'), *slash = strrchr(text, '/'), *result = NULL;
    if (!dot || (slash && dot < slash))
        dot = text + strlen(text);
    if (asprintf(&result, "%.*s-%u%s", (int)(dot - text), text, number, dot) < 0)
        result = NULL;
    free(text);
    return result;
}

char *lap_pattern_expand(const char *pattern, const struct lap_pattern_values *values, unsigned attempt)
{
    char stamp[32], *text = NULL;
    size_t bytes = 0;
    bool numbered = false;
    time_t now = time(NULL);
    struct tm local;
    FILE *out = open_memstream(&text, &bytes);

    if (!out)
        return NULL;
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%S", localtime_r(&now, &local));
    for (const char *p = pattern; *p; p++) {
        if (*p != '%' || !p[1]) {
            fputc(*p, out);
            continue;
        }
        switch (*++p) {
        case 'p':
            fprintf(out, "%ld", values->process);
            break;
        case 'e':
            fputs(values->program, out);
            break;
        case 't':
            fputs(stamp, out);
            break;
        case 'n':
            fprintf(out, "%u", attempt), numbered = true;
            break;
        case '%':
            fputc('%', out);
            break;
        }
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return attempt > 1 && !numbered ? add_number(text, attempt) : text;
}
