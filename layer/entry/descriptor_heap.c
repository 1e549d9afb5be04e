/* SPDX-License-Identifier: MIT */
/*
 * descriptor_heap: records descriptors that lie in heaps for a replay: the result of each vkWriteResourceDescriptorsEXT
 * and vkWriteSamplerDescriptorsEXT, and the driver's sizes (docs/memory.md, "Descriptor heaps").
 */
#include "layer/entry/descriptor_heap.h"

#include <stdlib.h>
#include <string.h>

#include "gen_decode.h"
#include "gen_layer.h"
#include "layer/command/touched.h"
#include "layer/core/notes.h"
#include "layer/core/records.h"
#include "vulkan/chain.h"
#include "vulkan/heap_sizes.h"

#ifdef VK_EXT_descriptor_heap

/* ---- sizes ---- */

static void get_sizes(struct layer_instance *instance, VkPhysicalDevice gpu,
                      VkPhysicalDeviceDescriptorHeapPropertiesEXT *properties, struct lap_heap_sizes *out)
{
    lap_heap_sizes_get(instance->vk.GetPhysicalDeviceDescriptorSizeEXT, gpu, properties, out);
    lap_heap_sizes_widen(out, properties);
}

void layer_descriptor_heaps_properties(struct layer_instance *instance, VkPhysicalDevice gpu,
                                       VkPhysicalDeviceProperties2 *properties)
{
    VkPhysicalDeviceDescriptorHeapPropertiesEXT *heaps = (void *)(uintptr_t)lap_chain_find(
        properties->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_PROPERTIES_EXT);
    struct lap_heap_sizes sizes;

    if (heaps && heaps->bufferDescriptorSize && layer_is_recording() && instance->vk.GetPhysicalDeviceDescriptorSizeEXT)
        get_sizes(instance, gpu, heaps, &sizes);
}

void layer_descriptor_heaps_describe(const struct layer_device *dev, const VkDeviceCreateInfo *info)
{
    struct layer_instance *instance = dev->instance;
    VkPhysicalDevice gpu = gen_VkPhysicalDevice(dev->physical_device->object.handle);
    VkPhysicalDeviceDescriptorHeapPropertiesEXT heaps = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &heaps};
    struct lap_heap_sizes sizes;
    struct lap_enc *enc;

    if (!lap_heaps_enabled(info) || !instance->vk.GetPhysicalDeviceDescriptorSizeEXT ||
        !instance->vk.GetPhysicalDeviceProperties2)
        return;
    instance->vk.GetPhysicalDeviceProperties2(gpu, &properties);
    get_sizes(instance, gpu, &heaps, &sizes);
    enc = layer_packet_begin(&dev->tables, GEN_lapilliDescriptorHeaps, 0);
    if (enc) {
        gen_encode_lapilliDescriptorHeaps(enc, dev->handle, sizes.count, sizes.types, sizes.sizes, sizes.alignments,
                                          sizes.strides);
        layer_packet_end();
    }
}

/* ---- descriptors ---- */

/* Memory of the layer that the driver writes into. Drivers do not write unused bytes: these become zeroes, so that
 * equal descriptors have equal bytes. Also, programs may pass mapped device memory, which may take a microsecond to
 * read. */
struct written {
    VkHostAddressRangeEXT few[16], *ranges;
    unsigned char some[16 * 64], *bytes;
};

static bool written_begin(struct written *w, uint32_t count, const VkHostAddressRangeEXT *program)
{
    size_t bytes = 0, used = 0;

    for (uint32_t i = 0; i < count; i++)
        bytes += program[i].size;
    w->ranges = count <= sizeof w->few / sizeof *w->few ? w->few : malloc(count * sizeof *w->ranges);
    w->bytes = bytes <= sizeof w->some ? w->some : malloc(bytes);
    if (!w->ranges || !w->bytes)
        return false;
    memset(w->bytes, 0, bytes);
    for (uint32_t i = 0; i < count; i++) {
        w->ranges[i] = (VkHostAddressRangeEXT){w->bytes + used, program[i].size};
        used += program[i].size;
    }
    return true;
}

/* Gives the program its bytes. */
static void written_give(const struct written *w, uint32_t count, const VkHostAddressRangeEXT *program)
{
    for (uint32_t i = 0; i < count; i++)
        if (program[i].address && program[i].size)
            memcpy(program[i].address, w->ranges[i].address, program[i].size);
}

static void written_finish(struct written *w)
{
    if (w->ranges != w->few)
        free(w->ranges);
    if (w->bytes != w->some)
        free(w->bytes);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_WriteResourceDescriptorsEXT(VkDevice device, uint32_t resourceCount,
                                                                   const VkResourceDescriptorInfoEXT *pResources,
                                                                   const VkHostAddressRangeEXT *pDescriptors)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    struct written w;
    struct layer_call call;
    struct lap_enc *enc;
    VkResult result;

    if (!written_begin(&w, resourceCount, pDescriptors)) {
        written_finish(&w);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    enc = layer_call_begin(
        &call, GEN_vkWriteResourceDescriptorsEXT,
        &(struct gen_args_vkWriteResourceDescriptorsEXT){device, resourceCount, pResources, w.ranges, VK_SUCCESS});
    if (enc) {
        enc->objects = &dev->tables;
        gen_encode_vkWriteResourceDescriptorsEXT(enc, device, resourceCount, pResources, w.ranges, VK_SUCCESS);
        layer_note_end(&call);
    }
    result = dev->vk.WriteResourceDescriptorsEXT(device, resourceCount, pResources, w.ranges);
    written_give(&w, resourceCount, pDescriptors);
    enc = layer_packet_begin(&dev->tables, GEN_vkWriteResourceDescriptorsEXT, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkWriteResourceDescriptorsEXT(enc, device, resourceCount, pResources, w.ranges, result);
        layer_packet_end();
    }
    layer_call_end(&call);
    written_finish(&w);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_WriteSamplerDescriptorsEXT(VkDevice device, uint32_t samplerCount,
                                                                  const VkSamplerCreateInfo *pSamplers,
                                                                  const VkHostAddressRangeEXT *pDescriptors)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    struct written w;
    struct layer_call call;
    struct lap_enc *enc;
    VkResult result;

    if (!written_begin(&w, samplerCount, pDescriptors)) {
        written_finish(&w);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    enc = layer_call_begin(
        &call, GEN_vkWriteSamplerDescriptorsEXT,
        &(struct gen_args_vkWriteSamplerDescriptorsEXT){device, samplerCount, pSamplers, w.ranges, VK_SUCCESS});
    if (enc) {
        enc->objects = &dev->tables;
        gen_encode_vkWriteSamplerDescriptorsEXT(enc, device, samplerCount, pSamplers, w.ranges, VK_SUCCESS);
        layer_note_end(&call);
    }
    result = dev->vk.WriteSamplerDescriptorsEXT(device, samplerCount, pSamplers, w.ranges);
    written_give(&w, samplerCount, pDescriptors);
    enc = layer_packet_begin(&dev->tables, GEN_vkWriteSamplerDescriptorsEXT, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkWriteSamplerDescriptorsEXT(enc, device, samplerCount, pSamplers, w.ranges, result);
        layer_packet_end();
    }
    layer_call_end(&call);
    written_finish(&w);
    return result;
}

/* ---- commands ---- */

void hook_after_CmdPushDataEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                               const VkPushDataInfoEXT *pPushDataInfo)
{
    layer_touch_unknown(cb); /* mappings of pipelines may take it for addresses */
}

#else

void layer_descriptor_heaps_describe(const struct layer_device *dev, const VkDeviceCreateInfo *info)
{
    (void)dev;
    (void)info;
}

void layer_descriptor_heaps_properties(struct layer_instance *instance, VkPhysicalDevice gpu,
                                       VkPhysicalDeviceProperties2 *properties)
{
    (void)instance;
    (void)gpu;
    (void)properties;
}

#endif
