/* SPDX-License-Identifier: MIT */
#include "tools/show/text.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "gen_ids.h"
#include "gen_reflect.h"

const char *lap_text_enum(uint32_t type, int64_t value)
{
    const struct gen_enum_info *info = &gen_enums[type];
    uint32_t low = 0, high = info->value_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (info->values[middle].value < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < info->value_count && info->values[low].value == value ? gen_enum_value_name(&info->values[low]) : NULL;
}

static size_t append(char *out, size_t at, const char *text)
{
    int written = snprintf(out + at, LAP_TEXT_FLAGS_MAX - at, "%s%s", at ? " | " : "", text);
    return written > 0 && (size_t)written < LAP_TEXT_FLAGS_MAX - at ? at + (size_t)written : at;
}

void lap_text_flags(uint32_t type, uint64_t value, char out[LAP_TEXT_FLAGS_MAX])
{
    const char *whole = value ? lap_text_enum(type, (int64_t)value) : NULL;
    uint64_t unnamed = 0;
    size_t at = 0;

    out[0] = 0;
    if (whole) {
        append(out, 0, whole);
        return;
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t mask = UINT64_C(1) << bit;
        const char *name = value & mask ? lap_text_enum(type, (int64_t)mask) : NULL;
        if (name)
            at = append(out, at, name);
        else
            unnamed |= value & mask;
    }
    if (unnamed || at == 0) {
        char number[24];
        snprintf(number, sizeof number, unnamed ? "0x%" PRIx64 : "0", unnamed);
        append(out, at, number);
    }
}

void lap_text_float(double value, uint32_t width, char out[LAP_TEXT_NUMBER_MAX])
{
    int most = width == 4 ? 9 : 17;

    if (isnan(value)) {
        strcpy(out, "NaN");
        return;
    }
    if (isinf(value)) {
        strcpy(out, value > 0 ? "Infinity" : "-Infinity");
        return;
    }
    for (int digits = most - 3; digits <= most; digits++) {
        snprintf(out, LAP_TEXT_NUMBER_MAX, "%.*g", digits, value);
        if (width == 4 ? strtof(out, NULL) == (float)value : strtod(out, NULL) == value)
            return;
    }
}

char *lap_text_number(uint64_t value, char *out)
{
    char digits[20];
    size_t count = 0;

    do
        digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    while (count)
        *out++ = digits[--count];
    *out = 0;
    return out;
}

void lap_text_handle(uint32_t type, uint64_t index, char out[LAP_TEXT_HANDLE_MAX])
{
    const char *name = type < GEN_HANDLE_COUNT ? gen_handle_names[type] : "";
    size_t bytes = strnlen(name, LAP_TEXT_HANDLE_MAX - 22); /* a colon, 20 digits, a zero */

    memcpy(out, name, bytes);
    out[bytes] = ':';
    lap_text_number(index, out + bytes + 1);
}

void lap_text_quoted(FILE *out, const char *text, size_t bytes)
{
    fputc('"', out);
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", out);
        else if (c < 0x20 || c == 0x7f || c >= 0x80)
            fprintf(out, "\\x%02x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static uint32_t enum_by_name(const char *name)
{
    for (uint32_t i = 0; i < GEN_ENUM_COUNT; i++)
        if (strcmp(gen_enums[i].name, name) == 0)
            return i;
    return GEN_ENUM_COUNT;
}

const char *lap_text_named(const char *enum_name, int64_t value)
{
    uint32_t type = enum_by_name(enum_name);
    return type < GEN_ENUM_COUNT ? lap_text_enum(type, value) : NULL;
}

void lap_text_named_flags(const char *enum_name, uint64_t value, char out[LAP_TEXT_FLAGS_MAX])
{
    uint32_t type = enum_by_name(enum_name);

    if (type < GEN_ENUM_COUNT)
        lap_text_flags(type, value, out);
    else
        snprintf(out, LAP_TEXT_FLAGS_MAX, "%" PRIu64, value);
}

void lap_text_put_json(FILE *out, const char *text)
{
    char *utf8 = text ? lap_utf8(text, strlen(text)) : NULL;
    cJSON *string = utf8 ? cJSON_CreateString(utf8) : NULL;
    char *json = string ? cJSON_PrintUnformatted(string) : NULL;

    fputs(json ? json : "null", out);
    cJSON_free(json);
    cJSON_Delete(string);
    free(utf8);
}
