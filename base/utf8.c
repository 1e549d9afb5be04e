/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Control characters, and format characters of Unicode (general categories Cc, Cf, Zl and Zp). */
static const struct {
    uint32_t first, last;
} hidden[] = {{0x0, 0x1f},        {0x7f, 0x9f},       {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},
              {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x180e, 0x180e},
              {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},
              {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
              {0xe0000, 0xe007f}};

/* Bytes of the UTF-8 sequence at p; 0: none. */
static size_t utf8_sequence(const unsigned char *p, size_t left, uint32_t *out_code)
{
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = p[0] < 0x80                   ? 1
                    : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
                    : (p[0] & 0xf0) == 0xe0       ? 3
                    : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                                  : 0;
    uint32_t code;

    *out_code = p[0];
    if (length <= 1 || length > left)
        return length <= left ? length : 0;
    code = p[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3fu);
    }
    *out_code = code;
    return code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : length;
}

char *lap_utf8(const char *text, size_t bytes)
{
    char *out = malloc(bytes * 3 + 1);
    size_t at = 0;
    uint32_t code;

    if (!out)
        return NULL;
    for (size_t i = 0; i < bytes;) {
        size_t length = utf8_sequence((const unsigned char *)text + i, bytes - i, &code);
        memcpy(out + at, length ? text + i : "\xef\xbf\xbd", length ? length : 3);
        at += length ? length : 3;
        i += length ? length : 1;
    }
    out[at] = 0;
    return out;
}

size_t lap_utf8_step(const char *text, size_t bytes, bool *out_shown)
{
    uint32_t code;
    size_t length = utf8_sequence((const unsigned char *)text, bytes, &code);

    *out_shown = length != 0;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden && *out_shown; i++)
        *out_shown = code < hidden[i].first || code > hidden[i].last;
    return length ? length : 1;
}

size_t lap_utf8_clean(char *text, char instead)
{
    size_t bytes = strlen(text), to = 0, step;
    bool shown;

    for (size_t i = 0; i < bytes; i += step) {
        step = lap_utf8_step(text + i, bytes - i, &shown);
        if (shown)
            memmove(text + to, text + i, step);
        else
            text[to] = instead;
        to += shown ? step : 1;
    }
    text[to] = 0;
    return to;
}

void lap_utf8_print(FILE *out, const char *text, size_t bytes, char instead, const char *kept)
{
    size_t step;
    bool shown;

    for (size_t i = 0; i < bytes; i += step) {
        step = lap_utf8_step(text + i, bytes - i, &shown);
        if (shown || (text[i] && strchr(kept, text[i])))
            (void)fwrite(text + i, 1, step, out);
        else
            (void)fputc(instead, out);
    }
}
