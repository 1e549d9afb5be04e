/* SPDX-License-Identifier: MIT */
/*
 * update_template: descriptor updates whose data layout the program defines. They are recorded as equivalent plain
 * writes, so that a trace has one kind of update and no opaque data.
 */
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "gen_encode_block.h"
#include "gen_layer.h"
#include "gen_renamed.h"
#include "layer/command/touched.h"
#include "layer/core/layer.h"
#include "layer/core/records.h"
#include "vulkan/conditions.h"

void layer_template_finish(struct lap_object *object)
{
    free(((struct layer_template *)object)->entries);
}

void hook_after_CreateDescriptorUpdateTemplate(struct layer_device *dev, VkDevice device,
                                               const VkDescriptorUpdateTemplateCreateInfo *pCreateInfo,
                                               const VkAllocationCallbacks *pAllocator,
                                               VkDescriptorUpdateTemplate *pDescriptorUpdateTemplate, VkResult result)
{
    struct layer_template *record = LAYER_GET(dev, VkDescriptorUpdateTemplate, *pDescriptorUpdateTemplate);
    size_t bytes = pCreateInfo->descriptorUpdateEntryCount * sizeof record->entries[0];

    if (!record || record->entries)
        return;
    record->entries = malloc(bytes ? bytes : 1);
    if (!record->entries) {
        layer_stop("out of memory");
        return;
    }
    memcpy(record->entries, pCreateInfo->pDescriptorUpdateEntries, bytes);
    record->entry_count = pCreateInfo->descriptorUpdateEntryCount;
    record->kind = pCreateInfo->templateType;
    record->set = pCreateInfo->set;
    record->bind_point = pCreateInfo->pipelineBindPoint;
}

/* Memory for the writes of one update: small ones need no heap. */
struct scratch {
    unsigned char *next, *heap;
    alignas(16) unsigned char local[4096];
};

static size_t element_bytes(VkDescriptorType type)
{
    if (cond_descriptor_is_image(type))
        return sizeof(VkDescriptorImageInfo);
    if (cond_descriptor_is_buffer(type))
        return sizeof(VkDescriptorBufferInfo);
    return sizeof(uint64_t); /* a buffer view or an acceleration structure */
}

static size_t padded(size_t bytes)
{
    return (bytes + 15) & ~(size_t)15;
}

union write_chain {
    VkWriteDescriptorSetInlineUniformBlock block;
    VkWriteDescriptorSetAccelerationStructureKHR structures;
    VkWriteDescriptorSetAccelerationStructureNV structures_nv;
};

static bool scratch_init(struct scratch *scratch, const struct layer_template *from)
{
    size_t bytes = from->entry_count * sizeof(VkWriteDescriptorSet) + 16;
    for (uint32_t i = 0; i < from->entry_count; i++) {
        const VkDescriptorUpdateTemplateEntry *entry = &from->entries[i];
        bytes += padded(sizeof(union write_chain));
        if (entry->descriptorType != VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK)
            bytes += padded(entry->descriptorCount * element_bytes(entry->descriptorType));
    }
    scratch->heap = bytes > sizeof scratch->local ? malloc(bytes) : NULL;
    scratch->next = bytes > sizeof scratch->local ? scratch->heap : scratch->local;
    if (!scratch->next)
        layer_stop("out of memory");
    return scratch->next;
}

static void *scratch_take(struct scratch *scratch, size_t bytes)
{
    void *memory = scratch->next;
    scratch->next += padded(bytes);
    return memory;
}

/* The elements of an entry, next to each other. */
static const void *gather(struct scratch *scratch, const VkDescriptorUpdateTemplateEntry *entry,
                          const unsigned char *data)
{
    size_t bytes = element_bytes(entry->descriptorType);
    unsigned char *elements = scratch_take(scratch, entry->descriptorCount * bytes);
    for (uint32_t i = 0; i < entry->descriptorCount; i++)
        memcpy(elements + i * bytes, data + entry->offset + i * entry->stride, bytes);
    return elements;
}

static void fill_write(struct scratch *scratch, VkWriteDescriptorSet *write,
                       const VkDescriptorUpdateTemplateEntry *entry, const unsigned char *data)
{
    union write_chain *chain = scratch_take(scratch, sizeof *chain);
    if (entry->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
        chain->block = (VkWriteDescriptorSetInlineUniformBlock){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK,
            .dataSize = entry->descriptorCount,
            .pData = data + entry->offset};
        write->pNext = chain;
    } else if (entry->descriptorType == VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR) {
        chain->structures = (VkWriteDescriptorSetAccelerationStructureKHR){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_KHR,
            .accelerationStructureCount = entry->descriptorCount,
            .pAccelerationStructures = gather(scratch, entry, data)};
        write->pNext = chain;
    } else if (entry->descriptorType == VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_NV) {
        chain->structures_nv = (VkWriteDescriptorSetAccelerationStructureNV){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_NV,
            .accelerationStructureCount = entry->descriptorCount,
            .pAccelerationStructures = gather(scratch, entry, data)};
        write->pNext = chain;
    } else if (cond_descriptor_is_image(entry->descriptorType)) {
        write->pImageInfo = gather(scratch, entry, data);
    } else if (cond_descriptor_is_buffer(entry->descriptorType)) {
        write->pBufferInfo = gather(scratch, entry, data);
    } else if (cond_descriptor_is_texel_buffer(entry->descriptorType)) {
        write->pTexelBufferView = gather(scratch, entry, data);
    }
}

/* The plain writes of an update; NULL when out of memory. They live as long as the scratch memory. */
static const VkWriteDescriptorSet *make_writes(struct scratch *scratch, const struct layer_template *from,
                                               VkDescriptorSet set, const void *data)
{
    VkWriteDescriptorSet *writes;
    if (!scratch_init(scratch, from))
        return NULL;
    writes = scratch_take(scratch, from->entry_count * sizeof *writes);
    for (uint32_t i = 0; i < from->entry_count; i++) {
        const VkDescriptorUpdateTemplateEntry *entry = &from->entries[i];
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = set,
                                           .dstBinding = entry->dstBinding,
                                           .dstArrayElement = entry->dstArrayElement,
                                           .descriptorCount = entry->descriptorCount,
                                           .descriptorType = entry->descriptorType};
        fill_write(scratch, &writes[i], entry, data);
    }
    return writes;
}

VKAPI_ATTR void VKAPI_CALL capture_UpdateDescriptorSetWithTemplate(VkDevice device, VkDescriptorSet descriptorSet,
                                                                   VkDescriptorUpdateTemplate descriptorUpdateTemplate,
                                                                   const void *pData)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    const struct layer_template *from = LAYER_GET(dev, VkDescriptorUpdateTemplate, descriptorUpdateTemplate);
    struct scratch scratch;
    const VkWriteDescriptorSet *writes;

    dev->vk.UpdateDescriptorSetWithTemplate(device, descriptorSet, descriptorUpdateTemplate, pData);
    if (!from || !from->entries || !layer_is_recording() ||
        !(writes = make_writes(&scratch, from, descriptorSet, pData)))
        return;
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkUpdateDescriptorSets, 0);
    if (enc) {
        gen_encode_vkUpdateDescriptorSets(enc, device, from->entry_count, writes, 0, NULL);
        layer_packet_end();
    }
    hook_after_UpdateDescriptorSets(dev, device, from->entry_count, writes, 0, NULL);
    free(scratch.heap);
}

VKAPI_ATTR void VKAPI_CALL capture_CmdPushDescriptorSetWithTemplateKHR(
    VkCommandBuffer commandBuffer, VkDescriptorUpdateTemplate descriptorUpdateTemplate, VkPipelineLayout layout,
    uint32_t set, const void *pData)
{
    struct layer_cmdbuf *cb = layer_cmdbuf_of(commandBuffer);
    const struct layer_template *from = LAYER_GET(cb->device, VkDescriptorUpdateTemplate, descriptorUpdateTemplate);
    struct scratch scratch;
    const VkWriteDescriptorSet *writes;

    cb->device->vk.CmdPushDescriptorSetWithTemplateKHR(commandBuffer, descriptorUpdateTemplate, layout, set, pData);
    if (!from || !from->entries || cb->state != LAYER_CMDBUF_RECORDING ||
        !(writes = make_writes(&scratch, from, VK_NULL_HANDLE, pData)))
        return;
    struct lap_enc *enc = layer_block_command(cb, GEN_vkCmdPushDescriptorSetKHR);
    if (enc)
        gen_encode_vkCmdPushDescriptorSetKHR(enc, from->bind_point, layout, set, from->entry_count, writes);
    hook_after_CmdPushDescriptorSetKHR(cb, commandBuffer, from->bind_point, layout, set, from->entry_count, writes);
    free(scratch.heap);
}

#ifdef VK_KHR_maintenance6
VKAPI_ATTR void VKAPI_CALL capture_CmdPushDescriptorSetWithTemplate2KHR(
    VkCommandBuffer commandBuffer, const VkPushDescriptorSetWithTemplateInfoKHR *info)
{
    struct layer_cmdbuf *cb = layer_cmdbuf_of(commandBuffer);
    const struct layer_template *from =
        LAYER_GET(cb->device, VkDescriptorUpdateTemplate, info->descriptorUpdateTemplate);
    VkPushDescriptorSetInfoKHR push = {.sType = VK_STRUCTURE_TYPE_PUSH_DESCRIPTOR_SET_INFO_KHR, .pNext = info->pNext};
    VkPushDescriptorSetWithTemplateInfoKHR given = *info; /* validation layers have written to it */
    struct scratch scratch;

    cb->device->vk.CmdPushDescriptorSetWithTemplate2KHR(commandBuffer, &given);
    if (!from || !from->entries || cb->state != LAYER_CMDBUF_RECORDING ||
        !(push.pDescriptorWrites = make_writes(&scratch, from, VK_NULL_HANDLE, info->pData)))
        return;
    push.stageFlags =
        from->bind_point == VK_PIPELINE_BIND_POINT_COMPUTE ? VK_SHADER_STAGE_COMPUTE_BIT : VK_SHADER_STAGE_ALL_GRAPHICS;
    push.layout = info->layout;
    push.set = info->set;
    push.descriptorWriteCount = from->entry_count;
    struct lap_enc *enc = layer_block_command(cb, GEN_vkCmdPushDescriptorSet2KHR);
    if (enc)
        gen_encode_vkCmdPushDescriptorSet2KHR(enc, &push);
    hook_after_CmdPushDescriptorSet2KHR(cb, commandBuffer, &push);
    free(scratch.heap);
}
#endif
