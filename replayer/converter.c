/* SPDX-License-Identifier: MIT */
#include "replayer/converter.h"

#include <stdlib.h>

#include "convert_comp.h"
#include "replayer/memory.h"
#include "replayer/pending.h"
#include "replayer/player.h"

#define HEADER_BYTES 64u    /* the shader's parameters, and room to align what follows */
#define GROUP        64u    /* invocations of a workgroup */
#define MAX_GROUPS   65535u /* in a row: every device has so many */
#define HEADS        256u

struct temporary {
    VkBuffer buffer;
    struct replay_place place;
    VkDeviceSize bytes;
    VkDescriptorPool pool;
    VkDescriptorSet set;
};

/* What one command buffer has. */
struct temporaries {
    VkCommandBuffer commands;
    struct temporary *items;
    size_t count, capacity, used;
    struct temporaries *next;
};

struct replay_converter {
    struct replay *r;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkShaderModule module;
    VkPipeline pipelines[REPLAY_CONVERT_COUNT];
    struct temporaries *heads[HEADS];
};

/* ---- what all conversions have in common ---- */

static enum lap_status make_layouts(struct replay *r, struct replay_device *dev, struct replay_converter *converter)
{
    VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                            .descriptorCount = 1,
                                            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
    /* The shader uses none, but drivers that hand over pushed constants at a dispatch should hand over all that the
     * program pushed, since what it dispatches next may need them. */
    VkPushConstantRange constants = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                     .size = dev->instance->properties.limits.maxPushConstantsSize / 4 * 4};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &constants};
    VkShaderModuleCreateInfo module = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof convert_comp, .pCode = convert_comp};
    VkResult result = dev->vk.CreateDescriptorSetLayout(dev->live, &set, NULL, &converter->set_layout);

    layout.pSetLayouts = &converter->set_layout;
    if (result >= 0)
        result = dev->vk.CreatePipelineLayout(dev->live, &layout, NULL, &converter->layout);
    if (result >= 0)
        result = dev->vk.CreateShaderModule(dev->live, &module, NULL, &converter->module);
    return replay_result(r, result);
}

static enum lap_status need_pipeline(struct replay *r, struct replay_device *dev, enum replay_conversion conversion)
{
    struct replay_converter *converter = dev->converter;
    const uint32_t value = conversion;
    const VkSpecializationMapEntry entry = {.size = sizeof value};
    const VkSpecializationInfo constants = {1, &entry, sizeof value, &value};
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                  .pName = "main",
                                                  .pSpecializationInfo = &constants}};

    if (converter->pipelines[conversion])
        return LAP_OK;
    info.stage.module = converter->module;
    info.layout = converter->layout;
    return replay_result(r, dev->vk.CreateComputePipelines(dev->live, VK_NULL_HANDLE, 1, &info, NULL,
                                                           &converter->pipelines[conversion]));
}

static enum lap_status need_converter(struct replay *r, struct replay_device *dev)
{
    enum lap_status status;

    if (dev->converter)
        return LAP_OK;
    dev->converter = calloc(1, sizeof *dev->converter);
    if (!dev->converter)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for conversions");
    dev->converter->r = r;
    status = make_layouts(r, dev, dev->converter);
    if (status != LAP_OK)
        replay_converter_destroy(dev);
    return status;
}

/* ---- temporaries ---- */

static void free_temporary(struct replay_device *dev, struct temporary *item)
{
    if (item->pool)
        replay_pending_destroy(dev, GEN_HANDLE_VkDescriptorPool, gen_u64_VkDescriptorPool(item->pool));
    if (item->buffer)
        replay_pending_destroy(dev, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(item->buffer));
    replay_place_free(dev, &item->place);
    *item = (struct temporary){0};
}

static void free_temporaries(struct replay_device *dev, struct temporaries *list)
{
    for (size_t i = 0; i < list->count; i++)
        free_temporary(dev, &list->items[i]);
    replay_objects_give(dev->converter->r, list->count);
    free(list->items);
    free(list);
}

static struct temporaries **find_list(struct replay_converter *converter, VkCommandBuffer commands)
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
                                            .pSetLayouts = &dev->converter->set_layout};
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
    struct replay_needs needs;
    enum lap_status status = replay_result(r, dev->vk.CreateBuffer(dev->live, &create, NULL, &item->buffer));

    if (status != LAP_OK)
        return status;
    replay_buffer_needs(dev, item->buffer, &needs);
    needs.wanted = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    status = replay_place_alloc(r, dev, &needs, &item->place);
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

/* The next temporary of a command buffer, with at least so many bytes. */
static enum lap_status take_temporary(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                      VkDeviceSize bytes, const struct temporary **out)
{
    struct temporaries **at = find_list(dev->converter, commands), *list = *at;
    struct temporary *item;

    if (!list) {
        list = *at = calloc(1, sizeof *list);
        if (!list)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for conversions");
        list->commands = commands;
    }
    if (list->used == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 4;
        struct temporary *more = realloc(list->items, capacity * sizeof *more);
        if (!more)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for conversions");
        list->items = more;
        list->capacity = capacity;
    }
    if (list->used == list->count) {
        enum lap_status status = replay_objects_take(r, 1);
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

void replay_converter_reuse(struct replay_device *dev, VkCommandBuffer commands)
{
    struct temporaries *list = dev->converter ? *find_list(dev->converter, commands) : NULL;
    if (list)
        list->used = 0;
}

void replay_converter_forget(struct replay_device *dev, VkCommandBuffer commands)
{
    struct temporaries **at = dev->converter ? find_list(dev->converter, commands) : NULL, *list = at ? *at : NULL;

    if (!list)
        return;
    *at = list->next;
    free_temporaries(dev, list);
}

void replay_converter_destroy(struct replay_device *dev)
{
    struct replay_converter *converter = dev->converter;

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
    if (converter->module)
        dev->vk.DestroyShaderModule(dev->live, converter->module, NULL);
    if (converter->layout)
        dev->vk.DestroyPipelineLayout(dev->live, converter->layout, NULL);
    if (converter->set_layout)
        dev->vk.DestroyDescriptorSetLayout(dev->live, converter->set_layout, NULL);
    free(converter);
    dev->converter = NULL;
}

/* ---- conversions ---- */

static VkDeviceSize padded(VkDeviceSize bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* Where texels keep their size they are converted where they lie. */
static VkDeviceSize bytes_for(enum replay_conversion conversion, uint64_t texels)
{
    struct replay_texel_bytes bytes = replay_conversion_bytes(conversion);
    return padded(texels * bytes.from) + (bytes.from == bytes.to ? 0 : padded(texels * bytes.to));
}

uint64_t replay_converter_limit(const struct replay_device *dev, enum replay_conversion conversion)
{
    struct replay_texel_bytes bytes = replay_conversion_bytes(conversion);
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

enum lap_status replay_converter_begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                       enum replay_conversion conversion, uint64_t texels, struct replay_texels *out)
{
    const struct temporary *temporary = NULL;
    enum lap_status status = need_converter(r, dev);

    if (status == LAP_OK)
        status = need_pipeline(r, dev, conversion);
    if (status == LAP_OK)
        status = take_temporary(r, dev, commands, HEADER_BYTES + bytes_for(conversion, texels), &temporary);
    if (status != LAP_OK)
        return status;
    *out = (struct replay_texels){
        .buffer = temporary->buffer, .from = HEADER_BYTES, .to = HEADER_BYTES, .count = texels, .set = temporary->set};
    if (bytes_for(conversion, texels) != padded(texels * replay_conversion_bytes(conversion).from))
        out->to += padded(texels * replay_conversion_bytes(conversion).from);
    /* The command buffer may have been submitted before, and still be under way. */
    barrier(dev, commands, VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
            VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_ACCESS_TRANSFER_WRITE_BIT);
    return LAP_OK;
}

enum lap_status replay_converter_run(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                     enum replay_conversion conversion, const struct replay_texels *texels)
{
    const struct replay_converter *converter = dev->converter;
    struct replay_texel_bytes bytes = replay_conversion_bytes(conversion);
    bool pairs = bytes.from == 2 || bytes.to == 2;
    uint32_t count = (uint32_t)(pairs ? (texels->count + 1) / 2 : texels->count), groups = (count + GROUP - 1) / GROUP;
    uint32_t columns = groups < MAX_GROUPS ? groups : MAX_GROUPS;
    const uint32_t header[4] = {count, (uint32_t)(texels->from - 16) / 4, (uint32_t)(texels->to - 16) / 4,
                                columns * GROUP};

    if (!count)
        return LAP_OK;
    dev->vk.CmdUpdateBuffer(commands, texels->buffer, 0, sizeof header, header);
    barrier(dev, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    dev->vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, converter->pipelines[conversion]);
    dev->vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, converter->layout, 0, 1, &texels->set, 0,
                                  NULL);
    dev->vk.CmdDispatch(commands, columns, (groups + columns - 1) / columns, 1);
    barrier(dev, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
            VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    return LAP_OK;
}
