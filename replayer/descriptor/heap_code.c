/* SPDX-License-Identifier: MIT */
#include "replayer/descriptor/heap_code.h"

#include <string.h>

#include "gen_replay.h"
#include "replayer/descriptor/heaps.h"
#include "vulkan/chain.h"
#include "vulkan/shader/spirv.h"

#ifdef VK_EXT_descriptor_heap

/* ---- mappings ---- */

static bool scale_by(uint32_t *number, uint32_t scale)
{
    uint64_t scaled = (uint64_t)*number * scale;

    *number = (uint32_t)scaled;
    return scaled <= UINT32_MAX;
}

/* False: a number is too large afterwards. */
static bool scale_mapping(VkDescriptorSetAndBindingMappingEXT *mapping, uint32_t scale)
{
    VkDescriptorMappingSourceDataEXT *data = &mapping->sourceData;

    switch (mapping->source) {
    case VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_CONSTANT_OFFSET_EXT:
        return scale_by(&data->constantOffset.heapOffset, scale) &&
               scale_by(&data->constantOffset.heapArrayStride, scale) &&
               scale_by(&data->constantOffset.samplerHeapOffset, scale) &&
               scale_by(&data->constantOffset.samplerHeapArrayStride, scale);
    case VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_PUSH_INDEX_EXT:
        return scale_by(&data->pushIndex.heapOffset, scale) && scale_by(&data->pushIndex.heapIndexStride, scale) &&
               scale_by(&data->pushIndex.heapArrayStride, scale) &&
               scale_by(&data->pushIndex.samplerHeapOffset, scale) &&
               scale_by(&data->pushIndex.samplerHeapIndexStride, scale) &&
               scale_by(&data->pushIndex.samplerHeapArrayStride, scale);
    case VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_INDIRECT_INDEX_EXT:
        return scale_by(&data->indirectIndex.heapOffset, scale) &&
               scale_by(&data->indirectIndex.heapIndexStride, scale) &&
               scale_by(&data->indirectIndex.heapArrayStride, scale) &&
               scale_by(&data->indirectIndex.samplerHeapOffset, scale) &&
               scale_by(&data->indirectIndex.samplerHeapIndexStride, scale) &&
               scale_by(&data->indirectIndex.samplerHeapArrayStride, scale);
    case VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_INDIRECT_INDEX_ARRAY_EXT:
        return scale_by(&data->indirectIndexArray.heapOffset, scale) &&
               scale_by(&data->indirectIndexArray.heapIndexStride, scale) &&
               scale_by(&data->indirectIndexArray.samplerHeapOffset, scale) &&
               scale_by(&data->indirectIndexArray.samplerHeapIndexStride, scale);
    case VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_SHADER_RECORD_INDEX_EXT:
        return scale_by(&data->shaderRecordIndex.heapOffset, scale) &&
               scale_by(&data->shaderRecordIndex.heapIndexStride, scale) &&
               scale_by(&data->shaderRecordIndex.heapArrayStride, scale) &&
               scale_by(&data->shaderRecordIndex.samplerHeapOffset, scale) &&
               scale_by(&data->shaderRecordIndex.samplerHeapIndexStride, scale) &&
               scale_by(&data->shaderRecordIndex.samplerHeapArrayStride, scale);
    default:
        return true; /* no descriptor in a heap */
    }
}

static enum lap_status adapt_mappings(struct replay *r, const struct replay_heaps *heaps,
                                      const VkShaderDescriptorSetAndBindingMappingInfoEXT *info)
{
    uint32_t scale = heaps->room[REPLAY_HEAP_RESOURCES].scale;

    for (uint32_t i = 0; i < info->mappingCount && scale > 1; i++) {
        VkDescriptorSetAndBindingMappingEXT *mapping = (void *)(uintptr_t)&info->pMappings[i];
        if (mapping->source == VK_DESCRIPTOR_MAPPING_SOURCE_RESOURCE_HEAP_DATA_EXT)
            return replay_refuse(r,
                                 "shaders read numbers in a descriptor heap, whose descriptors take %u times the "
                                 "room on this GPU",
                                 scale);
        if (!scale_mapping(mapping, scale))
            return replay_refuse(r,
                                 "an offset in a descriptor heap is too large where descriptors take %u times the "
                                 "room",
                                 scale);
    }
    return LAP_OK;
}

/* ---- code ---- */

/* SPIR-V 1.6 and SPV_EXT_descriptor_heap, "Physical Layout of a SPIR-V Module and Instruction". */
enum {
    OP_CAPABILITY = 17,
    OP_TYPE_INT = 21,
    OP_TYPE_IMAGE = 25,
    OP_TYPE_SAMPLER = 26,
    OP_CONSTANT = 43,
    OP_TYPE_BUFFER_EXT = 5115,
    OP_CONSTANT_SIZE_OF_EXT = 5129,
    OP_TYPE_ACCELERATION_STRUCTURE = 5341,
    CAPABILITY_DESCRIPTOR_HEAP_EXT = 5128,
    DIM_BUFFER = 5,
    DIM_SUBPASS_DATA = 6,
    STORAGE_UNIFORM = 2,
};

#define NO_TYPE UINT32_MAX

/* The descriptor type of the SPIR-V type that an instruction declares. */
static uint32_t declared(const uint32_t *words, uint32_t count)
{
    switch (words[0] & 0xffff) {
    case OP_TYPE_SAMPLER:
        return VK_DESCRIPTOR_TYPE_SAMPLER;
    case OP_TYPE_BUFFER_EXT:
        return count > 2 && words[2] == STORAGE_UNIFORM ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                                                        : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    case OP_TYPE_ACCELERATION_STRUCTURE:
        return VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR;
    case OP_TYPE_IMAGE:
        if (count < 9)
            return NO_TYPE;
        if (words[3] == DIM_SUBPASS_DATA)
            return VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT;
        if (words[3] == DIM_BUFFER)
            return words[7] == 2 ? VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
        return words[7] == 2 ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE : VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
    default:
        return NO_TYPE;
    }
}

/* The instruction at a word; its count of words, 0: the code ends early. */
static uint32_t instruction(const uint32_t *code, size_t count, size_t at)
{
    uint32_t words = code[at] >> 16;
    return words <= count - at ? words : 0;
}

/* The descriptor type of the SPIR-V type with this id. */
static uint32_t type_of_id(const uint32_t *code, size_t count, uint32_t id, bool *out_wide)
{
    *out_wide = false;
    for (size_t at = LAP_SPIRV_HEADER_WORDS; at < count;) {
        uint32_t words = instruction(code, count, at);
        if (!words)
            return NO_TYPE;
        if (words > 2 && (code[at] & 0xffff) == OP_TYPE_INT && code[at + 1] == id)
            *out_wide = code[at + 2] != 32;
        if (words > 1 && code[at + 1] == id && declared(code + at, words) != NO_TYPE)
            return declared(code + at, words);
        at += words;
    }
    return NO_TYPE;
}

static bool uses_heaps(const uint32_t *code, size_t count)
{
    for (size_t at = LAP_SPIRV_HEADER_WORDS; at < count;) {
        uint32_t words = instruction(code, count, at);
        if (words < 2 || (code[at] & 0xffff) != OP_CAPABILITY)
            return false; /* capabilities come first */
        if (code[at + 1] == CAPABILITY_DESCRIPTOR_HEAP_EXT)
            return true;
        at += words;
    }
    return false;
}

static enum lap_status adapt_size(struct replay *r, const struct replay_heaps *heaps, uint32_t *code, size_t count,
                                  size_t at)
{
    bool wide, unused;
    uint32_t type = type_of_id(code, count, code[at + 3], &unused);

    (void)type_of_id(code, count, code[at + 1], &wide);
    for (uint32_t i = 0; i < heaps->type_count && !wide; i++)
        if (heaps->types[i].type == type) {
            code[at] = 4u << 16 | OP_CONSTANT;
            code[at + 3] = heaps->types[i].stride;
            return LAP_OK;
        }
    return replay_refuse(r, "a shader takes the size of a descriptor from the driver, in a form that is not known");
}

/* *code becomes the replay's scratch memory if it changes. */
static enum lap_status adapt_code(struct replay *r, const struct replay_heaps *heaps, const uint32_t **code,
                                  size_t bytes)
{
    size_t count = bytes / 4;
    uint32_t *copy;

    if (!*code || count < LAP_SPIRV_HEADER_WORDS || !uses_heaps(*code, count))
        return LAP_OK;
    if (heaps->room[REPLAY_HEAP_RESOURCES].scale > 1)
        return replay_refuse(r,
                             "a shader has strides of descriptors in heaps, and descriptors take %u times the room "
                             "on this GPU",
                             heaps->room[REPLAY_HEAP_RESOURCES].scale);
    copy = replay_scratch(r, count, sizeof *copy);
    if (!copy)
        return replay_no_scratch(r);
    memcpy(copy, *code, count * sizeof *copy);
    for (size_t at = LAP_SPIRV_HEADER_WORDS; at < count;) {
        uint32_t words = instruction(copy, count, at);
        enum lap_status status = LAP_OK;
        if (!words)
            break; /* the driver gets it unchanged */
        if (words == 4 && (copy[at] & 0xffff) == OP_CONSTANT_SIZE_OF_EXT)
            status = adapt_size(r, heaps, copy, count, at);
        if (status != LAP_OK)
            return status;
        at += words;
    }
    *code = copy;
    return LAP_OK;
}

/* The chain of a stage or a shader. */
static enum lap_status adapt_chain(struct replay *r, const struct replay_heaps *heaps, const void *chain)
{
    const VkShaderDescriptorSetAndBindingMappingInfoEXT *mappings =
        lap_chain_find(chain, VK_STRUCTURE_TYPE_SHADER_DESCRIPTOR_SET_AND_BINDING_MAPPING_INFO_EXT);
    VkShaderModuleCreateInfo *module =
        (void *)(uintptr_t)lap_chain_find(chain, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    enum lap_status status = mappings ? adapt_mappings(r, heaps, mappings) : LAP_OK;

    return status == LAP_OK && module ? adapt_code(r, heaps, &module->pCode, module->codeSize) : status;
}

static enum lap_status adapt_stages(struct replay *r, const struct replay_heaps *heaps,
                                    const VkPipelineShaderStageCreateInfo *stages, uint32_t count)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; stages && i < count && status == LAP_OK; i++)
        status = adapt_chain(r, heaps, stages[i].pNext);
    return status;
}

static enum lap_status adapt_shaders(struct replay *r, const struct replay_heaps *heaps,
                                     const struct gen_args_vkCreateShadersEXT *args)
{
    VkShaderCreateInfoEXT *infos = (void *)(uintptr_t)args->pCreateInfos;
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; infos && i < args->createInfoCount && status == LAP_OK; i++) {
        const uint32_t *code = infos[i].pCode;
        status = adapt_chain(r, heaps, infos[i].pNext);
        if (status == LAP_OK && infos[i].codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT)
            status = adapt_code(r, heaps, &code, infos[i].codeSize);
        infos[i].pCode = code;
    }
    return status;
}

enum lap_status replay_heaps_adapt_call(struct replay *r, struct replay_device *dev, uint32_t command, void *data)
{
    const struct replay_heaps *heaps = dev->descriptors.buffers->heaps;
    enum lap_status status = LAP_OK;

    if (!heaps || (heaps->same_strides && heaps->room[REPLAY_HEAP_RESOURCES].scale == 1))
        return LAP_OK;
    if (command == GEN_vkCreateShaderModule) {
        const struct gen_args_vkCreateShaderModule *args = data;
        VkShaderModuleCreateInfo *info = (void *)(uintptr_t)args->pCreateInfo;
        status = info ? adapt_code(r, heaps, &info->pCode, info->codeSize) : LAP_OK;
    } else if (command == GEN_vkCreateShadersEXT) {
        status = adapt_shaders(r, heaps, data);
    } else if (command == GEN_vkCreateGraphicsPipelines) {
        const struct gen_args_vkCreateGraphicsPipelines *args = data;
        for (uint32_t i = 0; args->pCreateInfos && i < args->createInfoCount && status == LAP_OK; i++)
            status = adapt_stages(r, heaps, args->pCreateInfos[i].pStages, args->pCreateInfos[i].stageCount);
    } else if (command == GEN_vkCreateComputePipelines) {
        const struct gen_args_vkCreateComputePipelines *args = data;
        for (uint32_t i = 0; args->pCreateInfos && i < args->createInfoCount && status == LAP_OK; i++)
            status = adapt_stages(r, heaps, &args->pCreateInfos[i].stage, 1);
    } else if (command == GEN_vkCreateRayTracingPipelinesKHR) {
        const struct gen_args_vkCreateRayTracingPipelinesKHR *args = data;
        for (uint32_t i = 0; args->pCreateInfos && i < args->createInfoCount && status == LAP_OK; i++)
            status = adapt_stages(r, heaps, args->pCreateInfos[i].pStages, args->pCreateInfos[i].stageCount);
    }
    return status;
}

#else

enum lap_status replay_heaps_adapt_call(struct replay *r, struct replay_device *dev, uint32_t command, void *data)
{
    (void)r;
    (void)dev;
    (void)command;
    (void)data;
    return LAP_OK;
}

#endif
