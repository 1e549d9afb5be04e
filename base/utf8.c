/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the UTF-8 sequence at p; 0: none. */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = p[0] < 0x80                   ? 1
                    : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
                    : (p[0] & 0xf0) == 0xe0       ? 3
                    : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                                  : 0;
    uint32_t code;

    if (length <= 1 || length > left)
        return length <= left ? length : 0;
    code = p[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3fu);
    }
    return code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : length;
}

char *lap_utf8(const char *text, size_t bytes)
{
    char *out = malloc(bytes * 3 + 1);
    size_t at = 0;

    if (!out)
        return NULL;
    for (size_t i = 0; i < bytes;) {
        size_t length = utf8_sequence((const unsigned char *)text + i, bytes - i);
        memcpy(out + at, length ? text + i : "\xef\xbf\xbd", length ? length : 3);
        at += length ? length : 3;
        i += length ? length : 1;
    }
    out[at] = 0;
    return out;
}
