/* SPDX-License-Identifier: MIT */
/*
 * texels: the size of the texels of one aspect of a subresource in a buffer, as vkCmdCopyImageToBuffer writes them
 * ("Copying Data Between Buffers and Images"). Any thread.
 */
#ifndef LAP_VULKAN_TEXEL_TEXELS_H
#define LAP_VULKAN_TEXEL_TEXELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "base/status.h"

/* A subresource: one aspect (color, depth or stencil) or plane of one level of one layer, with all its slices. */
struct lap_texels {
    VkImageAspectFlags aspect;
    uint32_t level, layer;
    VkExtent3D extent;  /* of the level, in texels; of a plane: in its own */
    uint64_t row_bytes; /* without padding */
    uint64_t rows;      /* of texel blocks, in all slices */
};

/* The texel block of one aspect of a format, or of a plane of it. */
struct lap_texel_block {
    uint32_t width, height, bytes;
    uint32_t divide_x, divide_y; /* texels of the image that share one of the plane, in each direction */
};

/* The number of planes of a format; 1 for all formats that are not multi-planar. */
uint32_t lap_format_planes(VkFormat format);

/* False: the format is unknown, or has no such aspect. aspect: one bit. */
bool lap_texels_block(VkFormat format, VkImageAspectFlags aspect, struct lap_texel_block *out);

/* The format of one plane alone ("Plane Format and Size Compatibility" in the specification): for
 * VK_IMAGE_ASPECT_PLANE_… of a format with several planes. VK_FORMAT_UNDEFINED: there is no such plane. */
VkFormat lap_texels_plane_format(VkFormat format, VkImageAspectFlags plane);

/* A part of an image as copies name it: one aspect or plane of a level of some layers. */
struct lap_texel_region {
    VkImageAspectFlags aspect;
    uint32_t level, layer, layer_count;
    VkOffset3D offset;
    VkExtent3D extent;
};

/* Bytes of a region without padding; UINT64_MAX: more than that. */
uint64_t lap_texels_region_bytes(const struct lap_texel_block *block, const struct lap_texel_region *region);

/* Whether the image has the region, at whole blocks. block: of the region's aspect. Any values are allowed. */
bool lap_texels_region_is_inside(const VkImageCreateInfo *info, const struct lap_texel_block *block,
                                 const struct lap_texel_region *region);

typedef enum lap_status (*lap_texels_piece_fn)(void *context, const struct lap_texel_region *piece, size_t bytes);
/* Cuts a region into pieces of at most `most` bytes (of one block, if that is more), in the order of their bytes, so
 * that the packed bytes of the region are those of its pieces in turn. Ends early with the status of visit unless
 * LAP_OK. */
enum lap_status lap_texels_cut(const struct lap_texel_block *block, const struct lap_texel_region *region,
                               uint64_t most, lap_texels_piece_fn visit, void *context) LAP_MUST_CHECK;

/* All aspects of a format: color, or depth and stencil. 0 for unknown formats, including multi-planar ones. */
VkImageAspectFlags lap_texels_aspects(VkFormat format);

/* The parts of a format that are copied one by one: its aspects, or its planes. 0 for unknown formats. */
VkImageAspectFlags lap_texels_parts(VkFormat format);

/* Those parts that a range with these aspects has: color includes all planes. */
VkImageAspectFlags lap_texels_parts_in(VkImageAspectFlags parts, VkImageAspectFlags aspects);

/* All parts, as the range of a barrier names them: planes are color together. */
VkImageAspectFlags lap_texels_range_of(VkImageAspectFlags parts);

/* Fills in *out. False: the image has no such subresource, or the format is unknown. */
bool lap_texels_describe(const VkImageCreateInfo *info, VkImageAspectFlags aspect, uint32_t level, uint32_t layer,
                         struct lap_texels *out);

/* Clears the undefined bits of copied texels: 24 bits of depth take 32. */
void lap_texels_clean(VkFormat format, VkImageAspectFlags aspect, void *data, uint64_t bytes);

#endif
