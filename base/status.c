/* SPDX-License-Identifier: MIT */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_BYTES 1536

static _Thread_local char message[MESSAGE_BYTES];

/* In parentheses: the analyzer has a macro of that name (scripts/analyze.h). */
enum lap_status(lap_fail)(enum lap_status status, const char *format, ...)
{
    /* The arguments may point into the message itself, so it is built beside it. */
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof(text), format, arguments) < 0)
        text[0] = 0;
    va_end(arguments);
    memcpy(message, text, strlen(text) + 1);
    return status;
}

enum lap_status lap_fail_context(enum lap_status status, const char *format, ...)
{
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof(text), format, arguments) < 0)
        text[0] = 0;
    va_end(arguments);

    size_t length = strlen(text);
    const char *separator = message[0] ? ": " : "";
    if (snprintf(text + length, sizeof(text) - length, "%s%s", separator, message) < 0)
        text[length] = 0;
    memcpy(message, text, strlen(text) + 1);
    return status;
}

enum lap_status lap_no_memory(const char *what)
{
    return what ? lap_fail(LAP_ERROR_MEMORY, "out of memory for %s", what)
                : lap_fail(LAP_ERROR_MEMORY, "out of memory");
}

const char *lap_error_message(void)
{
    return message;
}

const char *lap_status_text(enum lap_status status)
{
    switch (status) {
#define LAP_STATUS_TEXT(name, value, text)                                                                             \
    case name:                                                                                                         \
        return text;
        LAP_STATUS_LIST(LAP_STATUS_TEXT)
#undef LAP_STATUS_TEXT
    }
    return "unknown status";
}
