/* SPDX-License-Identifier: MIT */
/*
 * descriptor_buffer: records descriptors that lie in buffers for a replay: the result of each vkGetDescriptorEXT, and
 * the driver's offsets of the descriptors of a set (docs/memory.md, "Descriptor buffers").
 */
#include "layer/entry/descriptor_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "gen_decode.h"
#include "gen_layer.h"
#include "layer/core/notes.h"
#include "layer/core/records.h"

void layer_descriptor_buffers_init(struct layer_device *dev, const VkDeviceCreateInfo *info)
{
    dev->descriptors.buffers = lap_descriptor_buffers_enabled(info) && dev->vk.GetDescriptorSetLayoutSizeEXT &&
                               dev->instance->vk.GetPhysicalDeviceProperties2;
    if (dev->descriptors.buffers)
        lap_descriptor_sizes_get(dev->instance->vk.GetPhysicalDeviceProperties2,
                                 gen_VkPhysicalDevice(dev->physical_device->object.handle), info,
                                 &dev->descriptors.sizes);
}

static void write_layout(struct layer_device *dev, VkDescriptorSetLayout layout,
                         const struct lap_descriptor_places *places)
{
    uint32_t count = places->count;
    uint64_t *offsets = malloc((count + 1) * sizeof *offsets);
    uint32_t *numbers = malloc((count + 1) * 3 * sizeof *numbers);
    uint32_t *strides, *sampler_strides;
    VkDeviceSize bytes = 0;
    struct lap_enc *enc;

    if (!offsets || !numbers) {
        layer_stop("out of memory");
        goto out;
    }
    strides = numbers + count;
    sampler_strides = strides + count;
    dev->vk.GetDescriptorSetLayoutSizeEXT(dev->handle, layout, &bytes);
    for (uint32_t i = 0; i < count; i++) {
        VkDeviceSize offset = 0;
        dev->vk.GetDescriptorSetLayoutBindingOffsetEXT(dev->handle, layout, places->items[i].binding, &offset);
        numbers[i] = places->items[i].binding;
        offsets[i] = offset;
        strides[i] = places->items[i].stride;
        sampler_strides[i] = places->items[i].sampler_stride;
    }
    enc = layer_packet_begin(&dev->tables, GEN_lapilliDescriptorLayout, 0);
    if (enc) {
        gen_encode_lapilliDescriptorLayout(enc, layout, bytes, count, numbers, offsets, strides, sampler_strides);
        layer_packet_end();
    }
out:
    free(offsets);
    free(numbers);
}

void layer_descriptor_buffers_layout(struct layer_device *dev, VkDescriptorSetLayout layout,
                                     const VkDescriptorSetLayoutCreateInfo *info)
{
    struct lap_descriptor_places *places;

    if (!dev->descriptors.buffers || !lap_descriptor_layout_has_places(info) || !layer_is_recording())
        return;
    places = lap_descriptor_places_new(&dev->descriptors.sizes, info);
    if (places)
        write_layout(dev, layout, places);
    else
        layer_stop("out of memory");
    free(places);
}

/* Descriptors of today's drivers have at most 128 bytes. */
#define MOST_BYTES 256u

VKAPI_ATTR void VKAPI_CALL capture_GetDescriptorEXT(VkDevice device, const VkDescriptorGetInfoEXT *pDescriptorInfo,
                                                    size_t dataSize, void *pDescriptor)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    struct gen_args_vkGetDescriptorEXT args = {device, pDescriptorInfo, dataSize, NULL};
    struct layer_call call;
    unsigned char bytes[MOST_BYTES];
    /* Drivers do not write unused bytes: these become zeroes, so that equal descriptors have equal bytes. Also,
     * programs may pass mapped device memory, which may take a microsecond to read. */
    void *written = dataSize <= sizeof bytes ? bytes : pDescriptor;
    struct lap_enc *enc = layer_call_begin(&call, GEN_vkGetDescriptorEXT, &args);

    if (enc) {
        enc->objects = &dev->tables;
        gen_encode_vkGetDescriptorEXT(enc, device, pDescriptorInfo, dataSize, NULL);
        layer_note_end(&call);
    }
    memset(written, 0, dataSize);
    dev->vk.GetDescriptorEXT(device, pDescriptorInfo, dataSize, written);
    if (written != pDescriptor)
        memcpy(pDescriptor, written, dataSize);
    enc = layer_packet_begin(&dev->tables, GEN_vkGetDescriptorEXT, 0);
    if (enc) {
        gen_encode_vkGetDescriptorEXT(enc, device, pDescriptorInfo, dataSize, written);
        layer_packet_end();
    }
    layer_call_end(&call);
}
