/* SPDX-License-Identifier: MIT */
#include "replayer/format/gpu_convert.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "convert_comp.h"
#include "decode_astc_comp.h"
#include "decode_bc6h_comp.h"
#include "decode_bc_comp.h"
#include "decode_etc_comp.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/memory/memory.h"
#include "replayer/sync/deferred_destroy.h"

#define HEADER_BYTES 64u    /* the shader's parameters, padded for alignment */
#define GROUP        64u    /* invocations of a workgroup */
#define MAX_GROUPS   65535u /* per dimension: the minimum that every device supports */
#define HEADS        256u
#define REGION_WORDS 8u /* shaders/blocks.glsl */
#define REGION_BYTES (16u + REPLAY_DECODER_REGIONS * REGION_WORDS * 4u)
#define BLOCKS_BYTES ((REGION_BYTES + 63u) / 64u * 64u) /* the parameters of a decoder, padded */

#define FORMATS      (VK_FORMAT_ASTC_12x12_SRGB_BLOCK - VK_FORMAT_BC1_RGB_UNORM_BLOCK + 1)

/* Shaders: one for all conversions, and those of enum replay_block_shader. */
#define CONVERT REPLAY_BLOCK_SHADERS
#define SHADERS (REPLAY_BLOCK_SHADERS + 1)

struct temporary {
    VkBuffer buffer;
    struct replay_memory_place place;
    VkDeviceSize bytes;
    VkDescriptorPool pool;
    VkDescriptorSet set;
};

/* The temporary buffers of one command buffer. */
struct temporaries {
    VkCommandBuffer commands;
    struct temporary *items;
    size_t count, capacity, used;
    struct temporaries *next;
};

struct replay_format_converter {
    struct replay *r;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkShaderModule modules[SHADERS];
    VkPipeline pipelines[REPLAY_CONVERT_COUNT];
    VkPipeline decoders[FORMATS][REPLAY_BLOCK_SUBSTITUTES];
    struct temporaries *heads[HEADS];
};

/* ---- objects that all conversions share ---- */

static enum lap_status make_layouts(struct replay *r, struct replay_device *dev,
                                    struct replay_format_converter *converter)
{
    VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                            .descriptorCount = 1,
                                            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
    /* The shader uses no push constants. But some drivers upload them at a dispatch, as far as the layout declares:
     * without this range the program's next dispatch could miss its own. */
    VkPushConstantRange constants = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                     .size = dev->instance->properties.limits.maxPushConstantsSize / 4 * 4};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &constants};
    VkResult result = dev->vk.CreateDescriptorSetLayout(dev->live, &set, NULL, &converter->set_layout);

    layout.pSetLayouts = &converter->set_layout;
    if (result >= 0)
        result = dev->vk.CreatePipelineLayout(dev->live, &layout, NULL, &converter->layout);
    return replay_result(r, result);
}

static enum lap_status need_module(struct replay *r, struct replay_device *dev, unsigned shader)
{
    static const struct {
        const uint32_t *code;
        size_t bytes;
    } codes[SHADERS] = {
        [REPLAY_BLOCKS_BC] = {decode_bc_comp, sizeof decode_bc_comp},
        [REPLAY_BLOCKS_BC6H] = {decode_bc6h_comp, sizeof decode_bc6h_comp},
        [REPLAY_BLOCKS_ETC] = {decode_etc_comp, sizeof decode_etc_comp},
        [REPLAY_BLOCKS_ASTC] = {decode_astc_comp, sizeof decode_astc_comp},
        [CONVERT] = {convert_comp, sizeof convert_comp},
    };
    VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                     .codeSize = codes[shader].bytes,
                                     .pCode = codes[shader].code};
    VkShaderModule *module = &dev->formats.converter->modules[shader];

    return *module ? LAP_OK : replay_result(r, dev->vk.CreateShaderModule(dev->live, &info, NULL, module));
}

/* Creates a pipeline with constants of 32 bits, from 0 on. */
static enum lap_status need_pipeline(struct replay *r, struct replay_device *dev, unsigned shader,
                                     const uint32_t *values, uint32_t count, VkPipeline *pipeline)
{
    VkSpecializationMapEntry entries[8];
    const VkSpecializationInfo constants = {count, entries, count * sizeof *values, values};
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                  .pName = "main",
                                                  .pSpecializationInfo = &constants}};
    enum lap_status status = *pipeline ? LAP_OK : need_module(r, dev, shader);

    if (*pipeline || status != LAP_OK)
        return status;
    for (uint32_t i = 0; i < count; i++)
        entries[i] = (VkSpecializationMapEntry){i, i * (uint32_t)sizeof *values, sizeof *values};
    info.stage.module = dev->formats.converter->modules[shader];
    info.layout = dev->formats.converter->layout;
    return replay_result(r, dev->vk.CreateComputePipelines(dev->live, VK_NULL_HANDLE, 1, &info, NULL, pipeline));
}

static enum lap_status need_converter(struct replay *r, struct replay_device *dev)
{
    enum lap_status status;

    if (dev->formats.converter)
        return LAP_OK;
    dev->formats.converter = calloc(1, sizeof *dev->formats.converter);
    if (!dev->formats.converter)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for conversions");
    dev->formats.converter->r = r;
    status = make_layouts(r, dev, dev->formats.converter);
    if (status != LAP_OK)
        replay_format_converter_destroy(dev);
    return status;
}

/* ---- temporaries ---- */

static void free_temporary(struct replay_device *dev, struct temporary *item)
{
    if (item->pool)
        replay_destroy(dev, GEN_HANDLE_VkDescriptorPool, gen_u64_VkDescriptorPool(item->pool));
    if (item->buffer)
        replay_destroy(dev, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(item->buffer));
    replay_memory_place_free(dev, &item->place);
    *item = (struct temporary){0};
}

static void free_temporaries(struct replay_device *dev, struct temporaries *list)
{
    for (size_t i = 0; i < list->count; i++)
        free_temporary(dev, &list->items[i]);
    replay_objects_release(dev->formats.converter->r, list->count);
    free(list->items);
    free(list);
}

static struct temporaries **find_list(struct replay_format_converter *converter, VkCommandBuffer commands)
{
    uint64_t key = gen_u64_VkCommandBuffer(commands);
    struct temporaries **at = &converter->heads[(key >> 4 ^ key >> 12) % HEADS];

    while (*at && (*at)->commands != commands)
        at = &(*at)->next;
    return at;
}

static enum lap_status make_set(struct replay *r, struct replay_device *dev, struct temporary *item)
{
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &dev->formats.converter->set_layout};
    VkDescriptorBufferInfo buffer = {.buffer = item->buffer, .range = VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &buffer};
    VkResult result = dev->vk.CreateDescriptorPool(dev->live, &pool, NULL, &item->pool);

    allocate.descriptorPool = item->pool;
    if (result >= 0)
        result = dev->vk.AllocateDescriptorSets(dev->live, &allocate, &item->set);
    if (result < 0)
        return replay_result(r, result);
    write.dstSet = item->set;
    dev->vk.UpdateDescriptorSets(dev->live, 1, &write, 0, NULL);
    return LAP_OK;
}

static enum lap_status make_temporary(struct replay *r, struct replay_device *dev, VkDeviceSize bytes,
                                      struct temporary *item)
{
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .size = bytes,
                                 .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                          VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    struct replay_memory_needs needs;
    enum lap_status status = replay_result(r, dev->vk.CreateBuffer(dev->live, &create, NULL, &item->buffer));

    if (status != LAP_OK)
        return status;
    replay_memory_buffer_needs(dev, item->buffer, &needs);
    needs.wanted = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    status = replay_memory_place_alloc(r, dev, &needs, &item->place);
    if (status == LAP_OK)
        status =
            replay_result(r, dev->vk.BindBufferMemory(dev->live, item->buffer, item->place.memory, item->place.offset));
    if (status == LAP_OK)
        status = make_set(r, dev, item);
    item->bytes = bytes;
    if (status != LAP_OK)
        free_temporary(dev, item);
    return status;
}

/* Takes the next temporary of a command buffer, with at least `bytes` bytes. */
static enum lap_status take_temporary(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                      VkDeviceSize bytes, const struct temporary **out)
{
    struct temporaries **at = find_list(dev->formats.converter, commands), *list = *at;
    struct temporary *item;

    if (!list) {
        list = *at = calloc(1, sizeof *list);
        if (!list)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for conversions");
        list->commands = commands;
    }
    if (!lap_array_grow(&list->items, sizeof *list->items, &list->capacity, list->used + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for conversions");
    if (list->used == list->count) {
        enum lap_status status = replay_objects_reserve(r, 1);
        if (status != LAP_OK)
            return status;
        list->items[list->count++] = (struct temporary){0};
    }
    item = &list->items[list->used++];
    *out = item;
    if (item->bytes >= bytes)
        return LAP_OK;
    free_temporary(dev, item);
    return make_temporary(r, dev, bytes, item);
}

void replay_format_converter_reuse(struct replay_device *dev, VkCommandBuffer commands)
{
    struct temporaries *list = dev->formats.converter ? *find_list(dev->formats.converter, commands) : NULL;
    if (list)
        list->used = 0;
}

void replay_format_converter_forget(struct replay_device *dev, VkCommandBuffer commands)
{
    struct temporaries **at = dev->formats.converter ? find_list(dev->formats.converter, commands) : NULL,
                       *list = at ? *at : NULL;

    if (!list)
        return;
    *at = list->next;
    free_temporaries(dev, list);
}

void replay_format_converter_destroy(struct replay_device *dev)
{
    struct replay_format_converter *converter = dev->formats.converter;

    if (!converter)
        return;
    for (size_t i = 0; i < HEADS; i++)
        while (converter->heads[i]) {
            struct temporaries *list = converter->heads[i];
            converter->heads[i] = list->next;
            free_temporaries(dev, list);
        }
    for (size_t i = 0; i < REPLAY_CONVERT_COUNT; i++)
        if (converter->pipelines[i])
            dev->vk.DestroyPipeline(dev->live, converter->pipelines[i], NULL);
    for (size_t i = 0; i < FORMATS * REPLAY_BLOCK_SUBSTITUTES; i++)
        if (converter->decoders[i / REPLAY_BLOCK_SUBSTITUTES][i % REPLAY_BLOCK_SUBSTITUTES])
            dev->vk.DestroyPipeline(
                dev->live, converter->decoders[i / REPLAY_BLOCK_SUBSTITUTES][i % REPLAY_BLOCK_SUBSTITUTES], NULL);
    for (size_t i = 0; i < SHADERS; i++)
        if (converter->modules[i])
            dev->vk.DestroyShaderModule(dev->live, converter->modules[i], NULL);
    if (converter->layout)
        dev->vk.DestroyPipelineLayout(dev->live, converter->layout, NULL);
    if (converter->set_layout)
        dev->vk.DestroyDescriptorSetLayout(dev->live, converter->set_layout, NULL);
    free(converter);
    dev->formats.converter = NULL;
}

/* ---- conversions ---- */

static VkDeviceSize padded(VkDeviceSize bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* If the texel size stays the same, the conversion is in place. */
static VkDeviceSize bytes_for(enum replay_format_conversion conversion, uint64_t texels)
{
    struct replay_texel_bytes bytes = replay_format_conversion_bytes(conversion);
    return padded(texels * bytes.from) + (bytes.from == bytes.to ? 0 : padded(texels * bytes.to));
}

uint64_t replay_format_converter_limit(const struct replay_device *dev, enum replay_format_conversion conversion)
{
    struct replay_texel_bytes bytes = replay_format_conversion_bytes(conversion);
    uint32_t per_texel = bytes.from == bytes.to ? bytes.from : bytes.from + bytes.to;
    return (dev->instance->properties.limits.maxStorageBufferRange - HEADER_BYTES - 64) / per_texel;
}

static void barrier(const struct replay_device *dev, VkCommandBuffer commands, VkPipelineStageFlags source,
                    VkAccessFlags written, VkPipelineStageFlags target, VkAccessFlags access)
{
    VkMemoryBarrier memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = written, .dstAccessMask = access};
    dev->vk.CmdPipelineBarrier(commands, source, target, 0, 1, &memory, 0, NULL, 0, NULL);
}

/* Room for `bytes` bytes, parameters included; the caller sets the offsets. */
static enum lap_status begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands, VkDeviceSize bytes,
                             struct replay_format_texels *out)
{
    const struct temporary *temporary = NULL;
    enum lap_status status = take_temporary(r, dev, commands, bytes, &temporary);

    if (status != LAP_OK)
        return status;
    *out = (struct replay_format_texels){.buffer = temporary->buffer, .set = temporary->set};
    /* An earlier submission of the same command buffer may still be executing. */
    barrier(dev, commands, VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
            VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_ACCESS_TRANSFER_WRITE_BIT);
    return LAP_OK;
}

/* One invocation each for `count` things; the parameters begin with `count` and the invocations of a row. */
static uint32_t columns_of(uint32_t count)
{
    uint32_t groups = (count + GROUP - 1) / GROUP;
    return groups < MAX_GROUPS ? groups : MAX_GROUPS;
}

static void dispatch(const struct replay_device *dev, VkCommandBuffer commands, VkPipeline pipeline,
                     VkDescriptorSet set, uint32_t count)
{
    uint32_t groups = (count + GROUP - 1) / GROUP, columns = columns_of(count);

    barrier(dev, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    dev->vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    dev->vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, dev->formats.converter->layout, 0, 1, &set,
                                  0, NULL);
    dev->vk.CmdDispatch(commands, columns, (groups + columns - 1) / columns, 1);
    barrier(dev, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
            VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
}

enum lap_status replay_format_converter_begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                              enum replay_format_conversion conversion, uint64_t texels,
                                              struct replay_format_texels *out)
{
    const uint32_t value = conversion;
    enum lap_status status = need_converter(r, dev);

    if (status == LAP_OK)
        status = need_pipeline(r, dev, CONVERT, &value, 1, &dev->formats.converter->pipelines[conversion]);
    if (status == LAP_OK)
        status = begin(r, dev, commands, HEADER_BYTES + bytes_for(conversion, texels), out);
    if (status != LAP_OK)
        return status;
    out->from = out->to = HEADER_BYTES;
    out->count = texels;
    if (bytes_for(conversion, texels) != padded(texels * replay_format_conversion_bytes(conversion).from))
        out->to += padded(texels * replay_format_conversion_bytes(conversion).from);
    return LAP_OK;
}

enum lap_status replay_format_converter_run(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                            enum replay_format_conversion conversion,
                                            const struct replay_format_texels *texels)
{
    struct replay_texel_bytes bytes = replay_format_conversion_bytes(conversion);
    bool pairs = bytes.from == 2 || bytes.to == 2;
    uint32_t count = (uint32_t)(pairs ? (texels->count + 1) / 2 : texels->count);
    const uint32_t header[4] = {count, (uint32_t)(texels->from - 16) / 4, (uint32_t)(texels->to - 16) / 4,
                                columns_of(count) * GROUP};

    (void)r;
    if (!count)
        return LAP_OK;
    dev->vk.CmdUpdateBuffer(commands, texels->buffer, 0, sizeof header, header);
    dispatch(dev, commands, dev->formats.converter->pipelines[conversion], texels->set, count);
    return LAP_OK;
}

/* ---- blocks of compressed texels ---- */

VkDeviceSize replay_format_decoder_limit(const struct replay_device *dev)
{
    uint32_t most = dev->instance->properties.limits.maxStorageBufferRange;
    return most > BLOCKS_BYTES + 64 ? most - BLOCKS_BYTES - 64 : 0;
}

enum lap_status replay_format_decoder_begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                            VkDeviceSize from_bytes, VkDeviceSize to_bytes,
                                            struct replay_format_texels *out)
{
    enum lap_status status = need_converter(r, dev);

    if (status == LAP_OK)
        status = begin(r, dev, commands, BLOCKS_BYTES + padded(from_bytes) + padded(to_bytes), out);
    if (status != LAP_OK)
        return status;
    out->from = BLOCKS_BYTES;
    out->to = BLOCKS_BYTES + padded(from_bytes);
    return LAP_OK;
}

static enum lap_status need_decoder(struct replay *r, struct replay_device *dev,
                                    const struct replay_block_format *format,
                                    const struct replay_block_substitute *substitute, VkPipeline *out)
{
    VkPipeline *pipeline =
        &dev->formats.converter
             ->decoders[format->format - VK_FORMAT_BC1_RGB_UNORM_BLOCK][substitute - format->substitutes];
    const uint32_t values[5] = {substitute->kind, format->width, format->height, format->bytes / 4u,
                                (uint32_t)format->width * substitute->bytes / 4u};
    enum lap_status status = need_pipeline(r, dev, format->shader, values, 5, pipeline);

    *out = *pipeline;
    return status;
}

enum lap_status replay_format_decoder_run(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                          const struct replay_block_format *format,
                                          const struct replay_block_substitute *substitute,
                                          const struct replay_format_texels *room,
                                          const struct replay_decoder_region *regions, uint32_t count)
{
    uint32_t words[REGION_BYTES / 4] = {0}, blocks = 0;
    VkPipeline pipeline;
    enum lap_status status = need_decoder(r, dev, format, substitute, &pipeline);

    if (status != LAP_OK)
        return status;
    for (uint32_t i = 0; i < count; i++) {
        const struct replay_decoder_region *region = &regions[i];
        const uint32_t of[REGION_WORDS] = {
            blocks,       (uint32_t)(region->from - 16) / 4, region->row_pitch, region->slice_pitch, region->columns,
            region->rows, (uint32_t)(region->to - 16) / 4};
        memcpy(words + 4 + i * REGION_WORDS, of, sizeof of);
        blocks += region->columns * region->rows * region->slices;
    }
    if (!blocks)
        return LAP_OK;
    words[0] = blocks;
    words[1] = columns_of(blocks) * GROUP;
    words[2] = count;
    dev->vk.CmdUpdateBuffer(commands, room->buffer, 0, 16 + count * REGION_WORDS * 4, words);
    dispatch(dev, commands, pipeline, room->set, blocks);
    return LAP_OK;
}
