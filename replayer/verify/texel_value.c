/* SPDX-License-Identifier: MIT */
#include "replayer/verify/texel_value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vulkan/texel/texel_values.h"
#include "vulkan/texel/texels.h"

unsigned texel_component_of(const struct gen_format *format, unsigned number)
{
    static const char order[] = "RGBADS";

    for (const char *channel = order; *channel; channel++)
        for (unsigned i = 0; i < format->count; i++)
            if (format->components[i].channel == *channel && !number--)
                return i;
    return 0;
}

void texel_value_of(const struct gen_format *format, const void *texel, struct texel_value *out)
{
    double values[4] = {0};

    *out = (struct texel_value){.format = format, .count = format->count};
    memcpy(out->bytes, texel, format->bytes);
    lap_texel_values(format, out->bytes, values);
    for (unsigned i = 0; i < out->count; i++)
        out->values[i] = values[texel_component_of(format, i)];
}

bool texel_value_at(const struct texel_results *results, VkFormat format, VkImageAspectFlags aspect, uint64_t at,
                    struct texel_value *out)
{
    const struct gen_format *known = lap_texel_format(format, aspect);
    unsigned char texel[TEXEL_VALUE_MOST_BYTES];

    *out = (struct texel_value){.format = known};
    if (!known || known->bytes > sizeof texel || at > results->bytes || results->bytes - at < known->bytes)
        return false;
    memcpy(texel, results->data + at, known->bytes);
    lap_texels_clean(format, aspect, texel, known->bytes);
    texel_value_of(known, texel, out);
    return true;
}

static bool is_normalized(const struct gen_format *format)
{
    return format->numeric == GEN_NUMERIC_UNORM || format->numeric == GEN_NUMERIC_SNORM ||
           format->numeric == GEN_NUMERIC_SRGB;
}

void texel_value_text(const struct texel_value *value, char *out, size_t bytes)
{
    size_t length = 0;

    for (unsigned i = 0; i < value->count && length < bytes; i++) {
        const struct gen_format_component *c = &value->format->components[texel_component_of(value->format, i)];
        const double most = value->format->numeric == GEN_NUMERIC_SNORM ? 127 : 255;
        bool is_byte = c->bits == 8 && is_normalized(value->format);
        length += (size_t)snprintf(out + length, bytes - length, "%s%.9g", i ? " " : "",
                                   is_byte ? round(value->values[i] * most) : value->values[i]);
    }
}

cJSON *texel_value_json(const struct texel_value *value)
{
    cJSON *object = cJSON_CreateObject(), *values = cJSON_AddArrayToObject(object, "values");
    char hex[2 * TEXEL_VALUE_MOST_BYTES + 1] = "";

    for (unsigned i = 0; i < value->count; i++)
        (void)cJSON_AddItemToArray(values, cJSON_CreateNumber(value->values[i]));
    for (unsigned i = 0; i < value->format->bytes; i++)
        snprintf(hex + (size_t)2 * i, 3, "%02x", value->bytes[i]);
    (void)cJSON_AddStringToObject(object, "bytes", hex);
    return object;
}
