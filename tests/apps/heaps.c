/* SPDX-License-Identifier: MIT */
/*
 * heaps: descriptors of all types in descriptor heaps (VK_EXT_descriptor_heap), at places that move from frame to
 * frame, and each kind of mapping that compute shaders can have. An image that they name is made anew in each frame, so
 * equal bytes come to mean another image. A recorder or a replay that takes bytes for what they meant earlier shows,
 * and so does one that leaves them where another driver looks for other bytes.
 */
#include <stddef.h>

#include "common/app.h"
#include "shaders/heaps_comp.h"

#ifdef VK_EXT_descriptor_heap

#define IMAGES  6u /* pictures, combined ones, and a stored one */
#define STORED  5u
#define PLACES  3u /* in the heap of resources */
#define WORDS   16u
#define NUMBERS 1024u /* bytes of each part of `numbers` */
#define PARTS   9u

/* Slots of a place. */
enum { TEXELS = IMAGES, STORAGE_TEXELS, RESULT, MANY, SLOTS = MANY + 4 };
enum { PLAIN_SAMPLER, SAMPLERS = 4 };

/* What shaders are pushed. */
struct pushed {
    uint32_t place, sampler;
    VkDeviceAddress indices, plain, pointers;
    uint32_t block[4]; /* at 32 */
    uint32_t numbers_at;
    uint32_t source, target; /* of the direct shader: descriptors of buffers, from the heap's beginning */
    uint32_t reserved;
};

static bool stage, stage_early, update, secondary, numbers_in_heap, embedded, direct;

static PFN_vkWriteResourceDescriptorsEXT write_resources;
static PFN_vkWriteSamplerDescriptorsEXT write_samplers;
static PFN_vkCmdBindResourceHeapEXT bind_resources;
static PFN_vkCmdBindSamplerHeapEXT bind_samplers;
static PFN_vkCmdPushDataEXT push_data;

struct heap {
    struct app_buffer buffer, staging; /* staging: only where descriptors are copied */
    VkDeviceAddress base;
    VkDeviceSize skipped, bytes, reserved; /* skipped: before the base; reserved: where that range begins */
};

struct scene {
    VkPhysicalDeviceDescriptorHeapPropertiesEXT properties;
    VkDeviceSize stride, sampler_stride, place_bytes;
    struct heap resources, samplers;
    VkPipeline pipeline, direct;
    struct app_image images[IMAGES];
    uint32_t values[IMAGES];
    struct app_buffer numbers, indices, result, copy;
    uint32_t runs;
};

static const VkSamplerCreateInfo sampler_info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO, .maxLod = 1.0f};

static VkDeviceSize align_up(VkDeviceSize value, VkDeviceSize alignment)
{
    return alignment > 1 ? (value + alignment - 1) / alignment * alignment : value;
}

static VkDeviceAddress address_of(const struct app *app, const struct app_buffer *buffer)
{
    const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                            .buffer = buffer->buffer};
    return vkGetBufferDeviceAddress(app->device, &info);
}

/* ---- what descriptors name ---- */

static void create_image(const struct app *app, struct scene *scene, uint32_t number, uint32_t value)
{
    struct app_image *image = &scene->images[number];
    bool stored = number == STORED;
    VkClearColorValue color = {.float32 = {(float)value / 255.0f}};
    const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkCommandBuffer commands = app_begin(app);

    app_image_create_2d(app, image, stored ? VK_FORMAT_R32_UINT : VK_FORMAT_R8G8B8A8_UNORM, 2, 2,
                        VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                            (stored ? VK_IMAGE_USAGE_STORAGE_BIT : VK_IMAGE_USAGE_SAMPLED_BIT));
    if (stored)
        color.uint32[0] = value;
    app_image_barrier(commands, image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdClearColorImage(commands, image->image, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &range);
    app_image_barrier(commands, image, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
    app_run(app, commands);
    scene->values[number] = value;
}

/* Numbers that descriptors of buffers show: part p begins with p * 100 + seed, p * 100 + seed + 1, ... */
static void fill_numbers(const struct app *app, struct scene *scene, uint32_t seed)
{
    for (uint32_t part = 0; part < PARTS; part++)
        for (uint32_t i = 0; i < 16; i++)
            ((uint32_t *)(scene->numbers.mapped + (size_t)part * NUMBERS))[i] = part * 100 + seed + i;
    app_buffer_flush(app, &scene->numbers, 0, scene->numbers.size);
}

/* Indices of descriptors, and behind them a pointer. */
static void fill_indices(const struct app *app, struct scene *scene, uint32_t place)
{
    uint32_t *words = (uint32_t *)scene->indices.mapped;
    VkDeviceAddress far = address_of(app, &scene->numbers) + (VkDeviceSize)8 * NUMBERS;

    words[0] = place;
    for (uint32_t i = 0; i < 4; i++)
        words[4 + i] = place * (uint32_t)(scene->place_bytes / scene->stride) + MANY + 3 - i;
    memcpy(words + 8, &far, sizeof far);
    app_buffer_flush(app, &scene->indices, 0, scene->indices.size);
}

/* ---- heaps and mappings ---- */

static void create_heap(const struct app *app, struct heap *heap, VkDeviceSize used, VkDeviceSize alignment,
                        VkDeviceSize reserved)
{
    const bool copied = stage || stage_early || update;

    heap->reserved = align_up(used, 256);
    heap->bytes = heap->reserved + reserved;
    app_buffer_create(app, &heap->buffer, heap->bytes + alignment,
                      VK_BUFFER_USAGE_DESCRIPTOR_HEAP_BIT_EXT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                          VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                      copied ? APP_DEVICE : APP_UPLOAD);
    heap->base = align_up(address_of(app, &heap->buffer), alignment);
    heap->skipped = heap->base - address_of(app, &heap->buffer);
    if (copied)
        app_buffer_create(app, &heap->staging, heap->reserved, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
}

static void create_heaps(const struct app *app, struct scene *scene)
{
    const VkPhysicalDeviceDescriptorHeapPropertiesEXT *p = &scene->properties;
    VkDeviceSize size = p->imageDescriptorSize, alignment = p->imageDescriptorAlignment;

    size = p->bufferDescriptorSize > size ? p->bufferDescriptorSize : size;
    alignment = p->bufferDescriptorAlignment > alignment ? p->bufferDescriptorAlignment : alignment;
    scene->stride = align_up(size, alignment);
    scene->sampler_stride = align_up(p->samplerDescriptorSize, p->samplerDescriptorAlignment);
    scene->place_bytes = SLOTS * scene->stride;
    if (numbers_in_heap)
        scene->place_bytes = align_up(scene->place_bytes + 256, scene->stride);
    create_heap(app, &scene->resources, PLACES * scene->place_bytes + 256, p->resourceHeapAlignment,
                p->minResourceHeapReservedRange);
    create_heap(app, &scene->samplers, SAMPLERS * scene->sampler_stride, p->samplerHeapAlignment,
                embedded ? p->minSamplerHeapReservedRangeWithEmbedded : p->minSamplerHeapReservedRange);
}

static VkDescriptorSetAndBindingMappingEXT mapping(uint32_t set, uint32_t binding, VkDescriptorMappingSourceEXT source)
{
    return (VkDescriptorSetAndBindingMappingEXT){.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_AND_BINDING_MAPPING_EXT,
                                                 .descriptorSet = set,
                                                 .firstBinding = binding,
                                                 .bindingCount = 1,
                                                 .resourceMask = VK_SPIRV_RESOURCE_TYPE_ALL_EXT,
                                                 .source = source};
}

/* Slots of the place whose number is pushed. */
static VkDescriptorSetAndBindingMappingEXT slots(const struct scene *scene, uint32_t binding, uint32_t first)
{
    VkDescriptorSetAndBindingMappingEXT m = mapping(0, binding, VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_PUSH_INDEX_EXT);

    m.sourceData.pushIndex = (VkDescriptorMappingSourcePushIndexEXT){
        .heapOffset = first * (uint32_t)scene->stride,
        .pushOffset = offsetof(struct pushed, place),
        .heapIndexStride = (uint32_t)scene->place_bytes,
        .heapArrayStride = (uint32_t)scene->stride,
        .samplerPushOffset = offsetof(struct pushed, sampler),
        .samplerHeapIndexStride = (uint32_t)scene->sampler_stride,
    };
    return m;
}

static void create_pipeline(const struct app *app, struct scene *scene)
{
    VkDescriptorSetAndBindingMappingEXT m[] = {
        mapping(0, 0, VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_CONSTANT_OFFSET_EXT),
        slots(scene, 1, 0),
        slots(scene, 2, 3),
        mapping(0, 3, VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_INDIRECT_INDEX_EXT),
        slots(scene, 4, TEXELS),
        slots(scene, 5, STORAGE_TEXELS),
        mapping(0, 6, VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_ADDRESS_EXT),
        slots(scene, 7, RESULT),
        mapping(1, 0,
                numbers_in_heap ? VK_DESCRIPTOR_MAPPING_SOURCE_RESOURCE_HEAP_DATA_EXT
                                : VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_DATA_EXT),
        mapping(1, 1, VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_INDIRECT_INDEX_ARRAY_EXT),
        mapping(1, 2, VK_DESCRIPTOR_MAPPING_SOURCE_INDIRECT_ADDRESS_EXT),
        mapping(2, 0, VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_CONSTANT_OFFSET_EXT),
    };
    const VkShaderDescriptorSetAndBindingMappingInfoEXT mappings = {
        .sType = VK_STRUCTURE_TYPE_SHADER_DESCRIPTOR_SET_AND_BINDING_MAPPING_INFO_EXT,
        .mappingCount = COUNT_OF(m),
        .pMappings = m};
    const VkPipelineCreateFlags2CreateInfoKHR flags = {.sType =
                                                           VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
                                                       .flags = VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT};
    const VkBool32 yes = VK_TRUE;
    const VkSpecializationMapEntry entry = {.size = sizeof yes};
    const VkSpecializationInfo constants = {1, &entry, sizeof yes, &yes};
    VkComputePipelineCreateInfo pipeline = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .pNext = &flags};

    m[3].sourceData.indirectIndex =
        (VkDescriptorMappingSourceIndirectIndexEXT){.heapOffset = STORED * (uint32_t)scene->stride,
                                                    .pushOffset = offsetof(struct pushed, indices),
                                                    .heapIndexStride = (uint32_t)scene->place_bytes};
    m[6].sourceData.pushAddressOffset = offsetof(struct pushed, plain);
    if (numbers_in_heap)
        m[8].sourceData.heapData.pushOffset = offsetof(struct pushed, numbers_at);
    else
        m[8].sourceData.pushDataOffset = offsetof(struct pushed, block);
    m[9].sourceData.indirectIndexArray =
        (VkDescriptorMappingSourceIndirectIndexArrayEXT){.pushOffset = offsetof(struct pushed, indices),
                                                         .addressOffset = 16,
                                                         .heapIndexStride = (uint32_t)scene->stride};
    m[10].sourceData.indirectAddress = (VkDescriptorMappingSourceIndirectAddressEXT){
        .pushOffset = offsetof(struct pushed, pointers), .addressOffset = 32};
    m[11].sourceData.constantOffset.heapOffset = 3 * (uint32_t)scene->sampler_stride;
    if (embedded)
        m[11].sourceData.constantOffset.pEmbeddedSampler = &sampler_info;
    pipeline.stage = (VkPipelineShaderStageCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                       .pNext = &mappings,
                                                       .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                       .module = app_shader(app, heaps_comp, sizeof heaps_comp),
                                                       .pName = "main",
                                                       .pSpecializationInfo = &constants};
    CHECK_VK(vkCreateComputePipelines(app->device, VK_NULL_HANDLE, 1, &pipeline, NULL, &scene->pipeline));
    vkDestroyShaderModule(app->device, pipeline.stage.module, NULL);
}

/* ---- a shader that indexes the heap itself ---- */

#define OP(code, words) ((uint32_t)(words) << 16 | (code))

/* heap[target].words[13] = heap[source].words[5]; the heap is an array of buffers, as far apart as OpConstantSizeOfEXT
 * says. */
static const uint32_t direct_code[] = {
    0x07230203,  0x00010400, 0,          34,          0,                /* header: SPIR-V 1.4, ids below 34 */
    OP(17, 2),   1,          OP(17, 2),  4473,        OP(17, 2),  5128, /* OpCapability */
    OP(10, 8),   0x5f565053, 0x5f52484b, 0x79746e75,  0x5f646570, 0x6e696f70, 0x73726574,  0, /* OpExtension */
    OP(10, 7),   0x5f565053, 0x5f545845, 0x63736564,  0x74706972, 0x685f726f, 0x00706165,     /* OpExtension */
    OP(14, 3),   0,          1,                                                   /* OpMemoryModel Logical GLSL450 */
    OP(15, 7),   5,          21,         0x6e69616d,  0,          5,          15, /* OpEntryPoint GLCompute "main" */
    OP(16, 6),   21,         17,         1,           1,          1,              /* OpExecutionMode LocalSize */
    OP(71, 4),   5,          11,         5123,                                    /* BuiltIn ResourceHeapEXT */
    OP(332, 4),  8,          5124,       7,                                       /* OpDecorateId ArrayStrideIdEXT */
    OP(71, 4),   12,         6,          4,           OP(71, 3),  10,         2,           OP(72, 5),
    10,          0,          35,         0, /* words: ArrayStride, Block, Offset */
    OP(71, 3),   13,         2,          OP(72, 5),   13,         0,          35,          52,
    OP(72, 5),   13,         1,          35,          56, /* what is pushed */
    OP(19, 2),   1,          OP(33, 3),  2,           1,          OP(21, 4),  3,           32,
    0,                                                                           /* void, its function, uint */
    OP(4417, 3), 4,          0,          OP(4418, 4), 4,          5,          0, /* the heap: an untyped variable */
    OP(5115, 3), 6,          12,         OP(5129, 4), 3,          7,          6,           OP(29, 3),
    8,           6,              /* OpTypeBufferEXT, its size, an array */
    OP(4417, 3), 9,          12, /* untyped pointers into buffers */
    OP(43, 4),   3,          11,         16,          OP(28, 4),  12,         3,           11,
    OP(30, 3),   10,         12, /* struct { uint words[16]; } */
    OP(30, 4),   13,         3,          3,           OP(32, 4),  14,         9,           13,
    OP(59, 4),   14,         15,         9,           OP(32, 4),  16,         9,           3, /* what is pushed */
    OP(43, 4),   3,          17,         0,           OP(43, 4),  3,          18,          1,
    OP(43, 4),   3,          19,         5,           OP(43, 4),  3,          20,          13,
    OP(54, 5),   1,          21,         0,           2,          OP(248, 2), 22, /* main */
    OP(65, 5),   16,         23,         15,          17,         OP(61, 4),  3,           24,
    23, /* source */
    OP(65, 5),   16,         25,         15,          18,         OP(61, 4),  3,           26,
    25, /* target */
    OP(4419, 6), 4,          27,         8,           5,          24,         OP(5119, 4), 9,
    28,          27, /* OpBufferPointerEXT &heap[source] */
    OP(4419, 7), 9,          29,         10,          28,         17,         19,          OP(61, 4),
    3,           30,         29, /* words[5] */
    OP(4419, 6), 4,          31,         8,           5,          26,         OP(5119, 4), 9,
    32,          31, /* OpBufferPointerEXT &heap[target] */
    OP(4419, 7), 9,          33,         10,          32,         17,         20,          OP(62, 3),
    33,          30, /* words[13] */
    OP(253, 1),  OP(56, 1),
};

static void create_direct(const struct app *app, struct scene *scene)
{
    const VkPipelineCreateFlags2CreateInfoKHR flags = {.sType =
                                                           VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
                                                       .flags = VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT};
    VkComputePipelineCreateInfo pipeline = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .pNext = &flags};

    pipeline.stage = (VkPipelineShaderStageCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                       .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                       .module = app_shader(app, direct_code, sizeof direct_code),
                                                       .pName = "main"};
    CHECK_VK(vkCreateComputePipelines(app->device, VK_NULL_HANDLE, 1, &pipeline, NULL, &scene->direct));
    vkDestroyShaderModule(app->device, pipeline.stage.module, NULL);
}

static void create(const struct app *app, struct scene *scene)
{
    VkCommandBuffer commands;

    for (uint32_t i = 0; i < IMAGES; i++)
        create_image(app, scene, i, 10 + i);
    app_buffer_create(app, &scene->numbers, (VkDeviceSize)PARTS * NUMBERS,
                      VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                          VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
                          VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT,
                      APP_UPLOAD);
    app_buffer_create(app, &scene->indices, 64,
                      VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_UPLOAD);
    app_buffer_create(app, &scene->result, sizeof(uint32_t) * WORDS,
                      VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                          VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                      APP_DEVICE);
    app_buffer_create(app, &scene->copy, scene->result.size, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    commands = app_begin(app);
    vkCmdFillBuffer(commands, scene->result.buffer, 0, VK_WHOLE_SIZE, 0);
    app_run(app, commands);
    create_heaps(app, scene);
    create_pipeline(app, scene);
    if (direct)
        create_direct(app, scene);
}

/* ---- descriptors ---- */

/* Where the program puts the heap's bytes from an offset on. */
static uint8_t *bytes_at(const struct heap *heap, VkDeviceSize offset)
{
    return heap->staging.buffer ? heap->staging.mapped + offset : heap->buffer.mapped + heap->skipped + offset;
}

static void flush_heap(const struct app *app, const struct heap *heap, VkDeviceSize offset, VkDeviceSize bytes)
{
    if (heap->staging.buffer)
        app_buffer_flush(app, &heap->staging, offset, bytes);
    else
        app_buffer_flush(app, &heap->buffer, heap->skipped + offset, bytes);
}

static void write_sampler_heap(const struct app *app, const struct scene *scene)
{
    VkSamplerCreateInfo infos[SAMPLERS];
    VkHostAddressRangeEXT ranges[SAMPLERS];

    for (uint32_t i = 0; i < SAMPLERS; i++) {
        infos[i] = sampler_info;
        infos[i].addressModeU = i % 2 ? VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE : VK_SAMPLER_ADDRESS_MODE_REPEAT;
        ranges[i] = (VkHostAddressRangeEXT){bytes_at(&scene->samplers, i * scene->sampler_stride),
                                            scene->properties.samplerDescriptorSize};
    }
    CHECK_VK(write_samplers(app->device, SAMPLERS, infos, ranges));
    flush_heap(app, &scene->samplers, 0, SAMPLERS * scene->sampler_stride);
}

static void write_place(const struct app *app, const struct scene *scene, uint32_t place, uint32_t seed)
{
    const VkPhysicalDeviceDescriptorHeapPropertiesEXT *p = &scene->properties;
    VkResourceDescriptorInfoEXT infos[SLOTS] = {0};
    VkHostAddressRangeEXT ranges[SLOTS];
    VkImageViewCreateInfo views[IMAGES];
    VkImageDescriptorInfoEXT images[IMAGES];
    VkTexelBufferDescriptorInfoEXT texels[2];
    VkDeviceAddressRangeEXT buffers[SLOTS];
    VkDeviceAddress numbers = address_of(app, &scene->numbers);
    VkDeviceSize first = place * scene->place_bytes;

    for (uint32_t i = 0; i < SLOTS; i++) {
        infos[i].sType = VK_STRUCTURE_TYPE_RESOURCE_DESCRIPTOR_INFO_EXT;
        ranges[i] = (VkHostAddressRangeEXT){bytes_at(&scene->resources, first + i * scene->stride),
                                            i < RESULT ? p->imageDescriptorSize : p->bufferDescriptorSize};
    }
    for (uint32_t i = 0; i < IMAGES; i++) {
        views[i] = (VkImageViewCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                           .image = scene->images[i].image,
                                           .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                           .format = i == STORED ? VK_FORMAT_R32_UINT : VK_FORMAT_R8G8B8A8_UNORM,
                                           .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
        images[i] = (VkImageDescriptorInfoEXT){.sType = VK_STRUCTURE_TYPE_IMAGE_DESCRIPTOR_INFO_EXT,
                                               .pView = &views[i],
                                               .layout = VK_IMAGE_LAYOUT_GENERAL};
        infos[i].type = i == STORED ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE : VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
        infos[i].data.pImage = &images[i];
    }
    for (uint32_t i = 0; i < 2; i++) {
        texels[i] = (VkTexelBufferDescriptorInfoEXT){.sType = VK_STRUCTURE_TYPE_TEXEL_BUFFER_DESCRIPTOR_INFO_EXT,
                                                     .format = VK_FORMAT_R32_UINT,
                                                     .addressRange = {numbers + (VkDeviceSize)(4 + i) * NUMBERS, 64}};
        infos[TEXELS + i].type = i ? VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
        infos[TEXELS + i].data.pTexelBuffer = &texels[i];
    }
    for (uint32_t i = RESULT; i < SLOTS; i++) {
        buffers[i] = i == RESULT ? (VkDeviceAddressRangeEXT){address_of(app, &scene->result), scene->result.size}
                                 : (VkDeviceAddressRangeEXT){numbers + (VkDeviceSize)(i - MANY) * NUMBERS, 64};
        infos[i].type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        infos[i].data.pAddressRange = &buffers[i];
    }
    CHECK_VK(write_resources(app->device, SLOTS, infos, ranges));
    if (numbers_in_heap) {
        uint32_t block[4] = {seed, seed + 1, seed + 2, seed + 3};
        memcpy(bytes_at(&scene->resources, align_up(first + SLOTS * scene->stride, 256)), block, sizeof block);
    }
    flush_heap(app, &scene->resources, first, scene->place_bytes);
}

/* ---- frames ---- */

static void copy_heap(VkCommandBuffer commands, const struct heap *heap)
{
    const VkBufferCopy region = {0, heap->skipped, heap->reserved};

    if (update)
        vkCmdUpdateBuffer(commands, heap->buffer.buffer, region.dstOffset, region.size, heap->staging.mapped);
    else
        vkCmdCopyBuffer(commands, heap->staging.buffer, heap->buffer.buffer, 1, &region);
}

static void copy_heaps(VkCommandBuffer commands, const struct scene *scene)
{
    copy_heap(commands, &scene->resources);
    copy_heap(commands, &scene->samplers);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_READ_BIT);
}

static VkBindHeapInfoEXT bound(const struct scene *scene, const struct heap *heap)
{
    const VkPhysicalDeviceDescriptorHeapPropertiesEXT *p = &scene->properties;
    const bool samplers = heap == &scene->samplers;

    return (VkBindHeapInfoEXT){.sType = VK_STRUCTURE_TYPE_BIND_HEAP_INFO_EXT,
                               .heapRange = {heap->base, heap->bytes},
                               .reservedRangeOffset = heap->reserved,
                               .reservedRangeSize = !samplers  ? p->minResourceHeapReservedRange
                                                    : embedded ? p->minSamplerHeapReservedRangeWithEmbedded
                                                               : p->minSamplerHeapReservedRange};
}

static void record_work(const struct app *app, const struct scene *scene, VkCommandBuffer commands, uint32_t place,
                        uint32_t seed)
{
    const VkDeviceAddress numbers = address_of(app, &scene->numbers), indices = address_of(app, &scene->indices);
    const VkDeviceSize apart =
        align_up(scene->properties.bufferDescriptorSize, scene->properties.bufferDescriptorAlignment);
    const struct pushed pushed = {
        .place = place,
        .source = (uint32_t)((place * scene->place_bytes + (MANY + 2) * scene->stride) / apart),
        .target = (uint32_t)((place * scene->place_bytes + RESULT * scene->stride) / apart),
        .sampler = place % SAMPLERS,
        .indices = indices,
        .plain = numbers + (VkDeviceSize)6 * NUMBERS,
        .pointers = indices,
        .block = {seed, seed + 1, seed + 2, seed + 3},
        .numbers_at = (uint32_t)align_up(place * scene->place_bytes + SLOTS * scene->stride, 256)};
    const VkPushDataInfoEXT info = {.sType = VK_STRUCTURE_TYPE_PUSH_DATA_INFO_EXT,
                                    .data = {.address = &pushed, .size = sizeof pushed}};

    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->pipeline);
    push_data(commands, &info);
    vkCmdDispatch(commands, 1, 1, 1);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT);
    if (!direct)
        return;
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->direct);
    vkCmdDispatch(commands, 1, 1, 1);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT);
}

static VkCommandBuffer record_secondary(const struct app *app, const struct scene *scene, uint32_t place, uint32_t seed)
{
    const VkBindHeapInfoEXT resources = bound(scene, &scene->resources), samplers = bound(scene, &scene->samplers);
    const VkCommandBufferInheritanceDescriptorHeapInfoEXT heaps = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_DESCRIPTOR_HEAP_INFO_EXT,
        .pSamplerHeapBindInfo = &samplers,
        .pResourceHeapBindInfo = &resources};
    const VkCommandBufferInheritanceInfo inherited = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
                                                      .pNext = &heaps};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .pInheritanceInfo = &inherited};
    const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = app->pool,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
                                                  .commandBufferCount = 1};
    VkCommandBuffer commands;

    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &commands));
    CHECK_VK(vkBeginCommandBuffer(commands, &begin));
    record_work(app, scene, commands, place, seed);
    CHECK_VK(vkEndCommandBuffer(commands));
    return commands;
}

static void check(const struct app *app, struct scene *scene, uint32_t seed)
{
    const uint32_t *results = (const uint32_t *)scene->copy.mapped;

    app_buffer_invalidate(app, &scene->copy, 0, scene->copy.size);
    for (uint32_t i = 0; i < IMAGES; i++)
        EXPECT_EQ(app, results[i], scene->values[i]);
    EXPECT_EQ(app, results[6], 400 + seed + 3);
    EXPECT_EQ(app, results[7], 500 + seed + 2);
    EXPECT_EQ(app, results[8], 600 + seed + 1);
    EXPECT_EQ(app, results[9], seed + 2);
    for (uint32_t i = 0; i < 4; i++)
        EXPECT_EQ(app, results[10 + i], i == 3 && direct ? 200 + seed + 5 : (3 - i) * 100 + seed);
    EXPECT_EQ(app, results[14], ++scene->runs);
    EXPECT_EQ(app, results[15], 800 + seed + 3);
}

static void frame(const struct app *app, struct scene *scene, uint32_t number)
{
    uint32_t place = number % PLACES, seed = number * 7 + 1, remade = number % IMAGES;
    const VkBindHeapInfoEXT resources = bound(scene, &scene->resources), samplers = bound(scene, &scene->samplers);
    const VkBufferCopy all = {0, 0, scene->result.size};
    VkCommandBuffer commands, executed = VK_NULL_HANDLE;

    app_image_destroy(app, &scene->images[remade]);
    create_image(app, scene, remade, 40 + number);
    fill_numbers(app, scene, seed);
    fill_indices(app, scene, place);
    write_place(app, scene, place, seed);
    if (!number || scene->samplers.staging.buffer)
        write_sampler_heap(app, scene);
    if (stage_early) {
        commands = app_begin(app);
        copy_heaps(commands, scene);
        app_run(app, commands);
    }
    commands = app_begin(app);
    if (scene->resources.staging.buffer && !stage_early)
        copy_heaps(commands, scene);
    bind_resources(commands, &resources);
    bind_samplers(commands, &samplers);
    if (secondary) {
        executed = record_secondary(app, scene, place, seed);
        vkCmdExecuteCommands(commands, 1, &executed);
    } else {
        record_work(app, scene, commands, place, seed);
    }
    vkCmdCopyBuffer(commands, scene->result.buffer, scene->copy.buffer, 1, &all);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    if (executed)
        vkFreeCommandBuffers(app->device, app->pool, 1, &executed);
    check(app, scene, seed);
}

static void destroy_heap(const struct app *app, struct heap *heap)
{
    app_buffer_destroy(app, &heap->buffer);
    if (heap->staging.buffer)
        app_buffer_destroy(app, &heap->staging);
}

static void destroy(const struct app *app, struct scene *scene)
{
    for (uint32_t i = 0; i < IMAGES; i++)
        app_image_destroy(app, &scene->images[i]);
    destroy_heap(app, &scene->resources);
    destroy_heap(app, &scene->samplers);
    app_buffer_destroy(app, &scene->numbers);
    app_buffer_destroy(app, &scene->indices);
    app_buffer_destroy(app, &scene->result);
    app_buffer_destroy(app, &scene->copy);
    vkDestroyPipeline(app->device, scene->pipeline, NULL);
    vkDestroyPipeline(app->device, scene->direct, NULL);
}

static void create_device(struct app *app, struct scene *scene)
{
    static const char *const extensions[] = {VK_EXT_DESCRIPTOR_HEAP_EXTENSION_NAME, VK_KHR_MAINTENANCE_5_EXTENSION_NAME,
                                             VK_KHR_SHADER_UNTYPED_POINTERS_EXTENSION_NAME};
    const uint32_t extension_count = direct ? 3 : 2;
    VkPhysicalDeviceDescriptorHeapFeaturesEXT has = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_FEATURES_EXT};
    VkPhysicalDeviceVulkan12Features has12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                              .pNext = &has};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &has12};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &scene->properties};
    VkPhysicalDeviceDescriptorHeapFeaturesEXT want = {.sType = has.sType, .descriptorHeap = VK_TRUE};
    VkPhysicalDeviceMaintenance5FeaturesKHR want5 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR, .pNext = &want, .maintenance5 = VK_TRUE};
    VkPhysicalDeviceShaderUntypedPointersFeaturesKHR untyped = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_UNTYPED_POINTERS_FEATURES_KHR,
        .shaderUntypedPointers = VK_TRUE};
    VkPhysicalDeviceVulkan12Features want12 = {.sType = has12.sType, .pNext = &want5, .bufferDeviceAddress = VK_TRUE};

    want.pNext = direct ? &untyped : NULL;
    for (uint32_t i = 0; i < extension_count; i++)
        if (app->api_version < VK_API_VERSION_1_3 || !app_has_extension(app, extensions[i]))
            app_skip(app, "no Vulkan 1.3 with VK_EXT_descriptor_heap");
    vkGetPhysicalDeviceFeatures2(app->physical, &features);
    if (!has.descriptorHeap || !has12.bufferDeviceAddress)
        app_skip(app, "no descriptor heaps or addresses");
    scene->properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_PROPERTIES_EXT;
    vkGetPhysicalDeviceProperties2(app->physical, &properties);
    if (direct && (scene->properties.imageDescriptorSize % scene->properties.bufferDescriptorSize ||
                   scene->properties.imageDescriptorAlignment % scene->properties.bufferDescriptorAlignment))
        app_skip(app, "descriptors of buffers do not fit between those of images");
    app_device_create(app, &(struct app_device_request){
                               .extensions = extensions, .extension_count = extension_count, .next = &want12});
    write_resources = (PFN_vkWriteResourceDescriptorsEXT)app_device_function(app, "vkWriteResourceDescriptorsEXT");
    write_samplers = (PFN_vkWriteSamplerDescriptorsEXT)app_device_function(app, "vkWriteSamplerDescriptorsEXT");
    bind_resources = (PFN_vkCmdBindResourceHeapEXT)app_device_function(app, "vkCmdBindResourceHeapEXT");
    bind_samplers = (PFN_vkCmdBindSamplerHeapEXT)app_device_function(app, "vkCmdBindSamplerHeapEXT");
    push_data = (PFN_vkCmdPushDataEXT)app_device_function(app, "vkCmdPushDataEXT");
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--stage", "copy descriptors in the command buffer that uses them", &stage, NULL},
        {"--early", "copy them in an earlier submit", &stage_early, NULL},
        {"--update", "copy them with vkCmdUpdateBuffer", &update, NULL},
        {"--secondary", "use them in a secondary command buffer", &secondary, NULL},
        {"--numbers", "have numbers in the heap, too", &numbers_in_heap, NULL},
        {"--direct", "have a shader that indexes the heap itself, too", &direct, NULL},
        {"--embedded", "use an embedded sampler", &embedded, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "heaps",
        .what = "Descriptors of all types in heaps.",
        .frames = 8,
        .options = options,
    };
    static struct scene scene;
    struct app app;

    app_init(&app, argc, argv, &program);
    create_device(&app, &scene);
    create(&app, &scene);
    for (uint32_t i = 0; i < app.frames; i++)
        frame(&app, &scene, i);
    destroy(&app, &scene);
    return app_finish(&app);
}

#else

int main(void)
{
    puts("heaps: built without VK_EXT_descriptor_heap");
    return APP_SKIP;
}

#endif
