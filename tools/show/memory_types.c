/* SPDX-License-Identifier: MIT */
#include "tools/show/memory_types.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/show/text.h"

/* Names of shading languages and of C. */
static const struct {
    const char *name;
    struct lap_memory_field field;
} names[] = {{"float", {'f', 4, 1}}, {"double", {'f', 8, 1}}, {"half", {'f', 2, 1}},  {"int", {'i', 4, 1}},
             {"uint", {'u', 4, 1}},  {"hex", {'x', 4, 1}},    {"vec2", {'f', 4, 2}},  {"vec3", {'f', 4, 3}},
             {"vec4", {'f', 4, 4}},  {"ivec2", {'i', 4, 2}},  {"ivec3", {'i', 4, 3}}, {"ivec4", {'i', 4, 4}},
             {"uvec2", {'u', 4, 2}}, {"uvec3", {'u', 4, 3}},  {"uvec4", {'u', 4, 4}}, {"mat2", {'f', 4, 4}},
             {"mat3", {'f', 4, 12}}, {"mat4", {'f', 4, 16}}};

/* "u32", "f32x4", "x8". */
static bool parse_plain(const char *text, size_t bytes, struct lap_memory_field *out)
{
    char copy[16], *end;
    unsigned long bits, count = 1;

    if (bytes < 2 || bytes >= sizeof copy || !strchr("uifx", text[0]) || text[1] < '1' || text[1] > '9')
        return false;
    memcpy(copy, text, bytes);
    copy[bytes] = 0;
    bits = strtoul(copy + 1, &end, 10);
    if (*end == 'x' && end[1] >= '1' && end[1] <= '9')
        count = strtoul(end + 1, &end, 10);
    if (*end || count > 64 || (bits != 8 && bits != 16 && bits != 32 && bits != 64) || (bits == 8 && copy[0] == 'f'))
        return false;
    *out = (struct lap_memory_field){copy[0], (unsigned)bits / 8, (unsigned)count};
    return true;
}

static bool parse_field(const char *text, size_t bytes, struct lap_memory_field *out)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == bytes && memcmp(names[i].name, text, bytes) == 0) {
            *out = names[i].field;
            return true;
        }
    return parse_plain(text, bytes, out);
}

bool lap_memory_type_parse(const char *text, struct lap_memory_type *out)
{
    *out = (struct lap_memory_type){.count = 0};
    for (const char *end; out->count < LAP_MEMORY_FIELDS; text = end + 1) {
        struct lap_memory_field *field = &out->fields[out->count++];
        end = strchr(text, ',');
        if (!parse_field(text, end ? (size_t)(end - text) : strlen(text), field))
            return false;
        out->bytes += (size_t)field->width * field->count;
        if (!end)
            return true;
    }
    return false;
}

static double half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double value = exponent == 31 ? (mantissa ? (double)NAN : (double)INFINITY)
                   : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                                  : ldexp(mantissa, -24);
    return bits & 0x8000 ? -value : value;
}

static void put_float(FILE *out, uint64_t bits, unsigned width, bool json)
{
    char text[LAP_TEXT_NUMBER_MAX];
    uint32_t low = (uint32_t)bits;
    float single;
    double value;

    memcpy(&single, &low, sizeof single);
    memcpy(&value, &bits, sizeof value);
    value = width == 2 ? half((uint16_t)bits) : width == 4 ? (double)single : value;
    lap_text_float(value, width == 8 ? 8 : 4, text);
    fprintf(out, json && !isfinite(value) ? "\"%s\"" : "%s", text);
}

static void put_number(FILE *out, const struct lap_memory_field *field, uint64_t bits, bool json)
{
    unsigned unused = 64 - 8 * field->width;
    int64_t number = (int64_t)(bits << unused) >> unused;
    const uint64_t exact = UINT64_C(1) << 53;

    switch (field->kind) {
    case 'f':
        put_float(out, bits, field->width, json);
        break;
    case 'i':
        fprintf(out, json && (number > (int64_t)exact || number < -(int64_t)exact) ? "\"%" PRId64 "\"" : "%" PRId64,
                number);
        break;
    case 'x':
        fprintf(out, json ? "\"%0*" PRIx64 "\"" : "%0*" PRIx64, (int)field->width * 2, bits);
        break;
    default:
        fprintf(out, json && bits > exact ? "\"%" PRIu64 "\"" : "%" PRIu64, bits);
        break;
    }
}

void lap_memory_type_put(FILE *out, const struct lap_memory_type *type, const uint8_t *bytes, const char *separator,
                         bool json)
{
    const char *before = "";

    for (unsigned i = 0; i < type->count; i++)
        for (unsigned k = 0; k < type->fields[i].count; k++) {
            uint64_t bits = 0;
            for (unsigned b = 0; b < type->fields[i].width; b++)
                bits |= (uint64_t)*bytes++ << 8 * b;
            fputs(before, out);
            put_number(out, &type->fields[i], bits, json);
            before = separator;
        }
}
