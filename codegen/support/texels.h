/* SPDX-License-Identifier: MIT */
/*
 * texels: how large the texels of one aspect of a subresource are in a buffer, as vkCmdCopyImageToBuffer writes them
 * ("Copying Data Between Buffers and Images"). Any thread.
 */
#ifndef LAP_CODEGEN_TEXELS_H
#define LAP_CODEGEN_TEXELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

/* A subresource: one aspect (color, depth or stencil) of one level of one layer, with all its slices. */
struct lap_texels {
    VkImageAspectFlags aspect;
    uint32_t level, layer;
    VkExtent3D extent;  /* of the level, in texels */
    uint64_t row_bytes; /* without padding */
    uint64_t rows;      /* of texel blocks, in all slices */
};

/* All aspects that a format has: color, or depth and stencil. 0 for formats that are not known here, multi-planar ones
 * among them. */
VkImageAspectFlags lap_texels_aspects(VkFormat format);

/* Fills in *out. False: the image has no such subresource, or the format is not known. */
bool lap_texels_describe(const VkImageCreateInfo *info, VkImageAspectFlags aspect, uint32_t level, uint32_t layer,
                         struct lap_texels *out);

/* Clears the bits of copied texels that mean nothing: 24 bits of depth lie in 32. */
void lap_texels_clean(VkFormat format, VkImageAspectFlags aspect, void *data, uint64_t bytes);

#endif
