/* SPDX-License-Identifier: MIT */
/* texel_value: texels of results as text and as JSON, with components in the order RGBA. Any thread. */
#ifndef LAP_REPLAYER_VERIFY_TEXEL_VALUE_H
#define LAP_REPLAYER_VERIFY_TEXEL_VALUE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "gen_formats.h"

#define TEXEL_VALUE_MOST_BYTES 32u

struct texel_value {
    const struct gen_format *format;
    unsigned char bytes[TEXEL_VALUE_MOST_BYTES];
    double values[4]; /* in the order RGBA */
    unsigned count;
};

/* Which component of a format is the number-th in the order RGBA. */
unsigned texel_component_of(const struct gen_format *format, unsigned number);

/* Of format->bytes, at most TEXEL_VALUE_MOST_BYTES. */
void texel_value_of(const struct gen_format *format, const void *texel, struct texel_value *out);

struct texel_results {
    const unsigned char *data;
    uint64_t bytes;
};

/* False: it is not known. */
bool texel_value_at(const struct texel_results *results, VkFormat format, VkImageAspectFlags aspect, uint64_t at,
                    struct texel_value *out);

/* Normalized values of 8 bits as these have them. */
void texel_value_text(const struct texel_value *value, char *out, size_t bytes);
/* NULL without memory. */
cJSON *texel_value_json(const struct texel_value *value);

#endif
