/* SPDX-License-Identifier: MIT */
/*
 * descriptor_places: where the descriptors of a set lie in a descriptor buffer of one driver (specification,
 * "Descriptor Buffers"): sizes by type from VkPhysicalDeviceDescriptorBufferPropertiesEXT, offsets of bindings from the
 * driver. The layer and the replayer each ask their own driver.
 *
 * No state. Any thread.
 */
#ifndef LAP_VULKAN_DESCRIPTOR_PLACES_H
#define LAP_VULKAN_DESCRIPTOR_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vulkan/vulkan.h>

/* Kinds of descriptors: small numbers for values of VkDescriptorType. */
enum lap_descriptor_kind {
    LAP_DESCRIPTOR_SAMPLER,
    LAP_DESCRIPTOR_COMBINED,
    LAP_DESCRIPTOR_SAMPLED_IMAGE,
    LAP_DESCRIPTOR_STORAGE_IMAGE,
    LAP_DESCRIPTOR_UNIFORM_TEXELS,
    LAP_DESCRIPTOR_STORAGE_TEXELS,
    LAP_DESCRIPTOR_UNIFORM_BUFFER,
    LAP_DESCRIPTOR_STORAGE_BUFFER,
    LAP_DESCRIPTOR_INPUT_ATTACHMENT,
    LAP_DESCRIPTOR_ACCELERATION_STRUCTURE,
    LAP_DESCRIPTOR_KINDS,                         /* only the driver knows the bytes of the kinds above */
    LAP_DESCRIPTOR_INLINE = LAP_DESCRIPTOR_KINDS, /* bytes of an inline uniform block; count: bytes */
    LAP_DESCRIPTOR_MUTABLE,                       /* one of several kinds */
    LAP_DESCRIPTOR_NONE
};

struct lap_descriptor_sizes {
    uint32_t bytes[LAP_DESCRIPTOR_KINDS];
    bool splits_combined; /* an array of combined image samplers is one of images and then one of samplers */
    bool pushes_need_buffer;
    uint64_t offset_alignment;
};

/* One binding of a set. */
struct lap_descriptor_place {
    uint32_t binding, count; /* count: descriptors; with a variable count the most; of an inline block bytes */
    enum lap_descriptor_kind kind;
    uint32_t kinds;          /* bit N: kind N may lie there; 0 for an inline block */
    uint32_t stride;         /* of array elements; of split ones those of images */
    uint32_t sampler_stride; /* of split ones those of samplers, behind the images; else 0 */
    uint64_t offset;         /* in the set */
};

struct lap_descriptor_places {
    uint64_t bytes; /* of the set */
    uint32_t count;
    struct lap_descriptor_place items[];
};

enum lap_descriptor_kind lap_descriptor_kind_of(VkDescriptorType type); /* LAP_DESCRIPTOR_NONE: not in such buffers */

/* Whether a device is created with descriptor buffers. */
bool lap_descriptor_buffers_enabled(const VkDeviceCreateInfo *info);
/* The driver's answers for a device with this create info. */
void lap_descriptor_sizes_get(PFN_vkGetPhysicalDeviceProperties2 get, VkPhysicalDevice gpu,
                              const VkDeviceCreateInfo *info, struct lap_descriptor_sizes *out);

/* Whether sets of the layout lie in descriptor buffers. Pushed sets and embedded samplers do not. */
bool lap_descriptor_layout_has_places(const VkDescriptorSetLayoutCreateInfo *info);
/* The bindings of a layout, in the order of its create info; without offsets and bytes. NULL: out of memory; free() it.
 */
struct lap_descriptor_places *lap_descriptor_places_new(const struct lap_descriptor_sizes *sizes,
                                                        const VkDescriptorSetLayoutCreateInfo *info);

#endif
