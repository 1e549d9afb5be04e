/* SPDX-License-Identifier: MIT */
/*
 * block_format: the compressed formats (BC1 to BC7, ETC2, EAC, and the LDR profile of ASTC) that a replay can decode
 * where the device lacks them, and the uncompressed formats that substitute them. It makes no Vulkan calls.
 */
#ifndef LAP_REPLAYER_FORMAT_BLOCK_FORMAT_H
#define LAP_REPLAYER_FORMAT_BLOCK_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

enum replay_block_shader {
    REPLAY_BLOCKS_BC,
    REPLAY_BLOCKS_BC6H,
    REPLAY_BLOCKS_ETC,
    REPLAY_BLOCKS_ASTC,
    REPLAY_BLOCK_SHADERS
};

#define REPLAY_BLOCK_SUBSTITUTES 2

struct replay_block_format {
    VkFormat format;
    uint8_t width, height, bytes; /* of a block; texels, texels, bytes */
    uint8_t shader;               /* enum replay_block_shader */
    struct replay_block_substitute {
        VkFormat format;                     /* VK_FORMAT_UNDEFINED: no further one */
        uint8_t bytes;                       /* of a texel */
        uint8_t kind;                        /* the constant KIND of the shader */
    } substitutes[REPLAY_BLOCK_SUBSTITUTES]; /* best first */
};

/* All of them, in the order of the formats' numbers. */
const struct replay_block_format *replay_block_formats(size_t *out_count);
/* NULL: the format is none of them. */
const struct replay_block_format *replay_block_format(VkFormat format);

#endif
