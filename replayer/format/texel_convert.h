/* SPDX-License-Identifier: MIT */
/*
 * texel_convert: converts texels of a recorded format to its substitute (format.h), and back.
 *
 * Every conversion is a function of one texel, on the host (this file) or on the device (gpu_convert.h, with
 * shaders/convert.comp, which uses the same numbers).
 * block_format.h has the compressed formats.
 */
#ifndef LAP_REPLAYER_FORMAT_TEXEL_CONVERT_H
#define LAP_REPLAYER_FORMAT_TEXEL_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

enum replay_format_conversion {
    REPLAY_CONVERT_NONE,       /* the bytes are the same */
    REPLAY_CONVERT_8888,       /* the first and the third byte change places */
    REPLAY_CONVERT_2101010,    /* the first and the third 10 bits of a word */
    REPLAY_CONVERT_565,        /* the first and the last 5 bits of 16 */
    REPLAY_CONVERT_D24_TO_D32, /* as a buffer has them: 24 bits in a word; a float */
    REPLAY_CONVERT_D32_TO_D24, /* values outside of 0 to 1 are clamped */
    REPLAY_CONVERT_D16_TO_D24,
    REPLAY_CONVERT_D24_TO_D16,
    REPLAY_CONVERT_D16_TO_D32,
    REPLAY_CONVERT_D32_TO_D16,
    REPLAY_CONVERT_COUNT
};

/* The conversion of texels of one format into those of another, in the form in which copies between buffers and an
 * aspect of an image have them. Both formats are the same, or one may substitute the other. */
enum replay_format_conversion replay_format_conversion(VkFormat from, VkFormat to, VkImageAspectFlags aspect);

/* Bytes of a texel before and after. 0 for REPLAY_CONVERT_NONE. */
struct replay_texel_bytes {
    uint32_t from, to;
};
struct replay_texel_bytes replay_format_conversion_bytes(enum replay_format_conversion conversion);

/* Whether a conversion there and back gives other bits on a device that computes with the substitute: true for
 * depths. */
bool replay_format_conversion_rounds(enum replay_format_conversion conversion);

/* Converts texels that lie side by side. Where the sizes agree, `from` may be `to`; otherwise they don't overlap. */
void replay_format_convert(enum replay_format_conversion conversion, const void *from, void *to, size_t texels);

#endif
