/* SPDX-License-Identifier: MIT */
#include "replayer/resource/generated_commands.h"

#include <stdlib.h>

#include "gen_replay.h"
#include "replayer/core/handles.h"
#include "replayer/memory/allocation.h"
#include "replayer/memory/memory.h"

/* A buffer in place of the program's memory: at an address, or in a buffer at an offset. */
struct own_buffer {
    uint64_t place[2]; /* the program's, on this device */
    VkDeviceSize bytes, alignment;
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceAddress live; /* 0: it is used without one */
    bool made;
    struct own_buffer *next;
};

struct replay_generated_commands {
    struct own_buffer *buffers;
};

void replay_generated_commands_destroy(struct replay_device *dev)
{
    struct own_buffer *next;

    for (struct own_buffer *own = dev->generated_commands ? dev->generated_commands->buffers : NULL; own; own = next) {
        next = own->next;
        if (own->buffer)
            dev->vk.DestroyBuffer(dev->live, own->buffer, NULL);
        if (own->memory)
            dev->vk.FreeMemory(dev->live, own->memory, NULL);
        free(own);
    }
    free(dev->generated_commands);
    dev->generated_commands = NULL;
}

static enum lap_status begin(struct replay_device *dev)
{
    if (!dev->generated_commands)
        dev->generated_commands = calloc(1, sizeof *dev->generated_commands);
    return dev->generated_commands ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory for generated commands");
}

/* Makes the buffer and its memory, with room for an aligned begin. */
static enum lap_status make(struct replay *r, struct replay_device *dev, struct own_buffer *own,
                            const VkBufferCreateInfo *info, uint32_t type_bits)
{
    VkBufferDeviceAddressInfo ask = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    VkPhysicalDeviceMemoryProperties memory;
    VkMemoryRequirements requirements;
    enum lap_status status = replay_result(r, dev->vk.CreateBuffer(dev->live, info, NULL, &own->buffer));
    uint8_t *host = NULL;

    if (status != LAP_OK)
        return status;
    dev->vk.GetBufferMemoryRequirements(dev->live, own->buffer, &requirements);
    dev->instance->vk.GetPhysicalDeviceMemoryProperties(dev->gpu, &memory);
    type_bits &= requirements.memoryTypeBits;
    /* The driver's first types are the best ones for memory that only the device uses. */
    status = lap_fail(LAP_ERROR_MEMORY, "no memory type can have the data of generated commands");
    for (uint32_t i = 0; i < memory.memoryTypeCount && status == LAP_ERROR_MEMORY; i++)
        if (type_bits >> i & 1)
            status = replay_memory_allocate_own(dev, i, requirements.size, &own->memory, &host);
    if (status == LAP_OK)
        status = replay_result(r, dev->vk.BindBufferMemory(dev->live, own->buffer, own->memory, 0));
    if (status != LAP_OK || !(info->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT))
        return status;
    if (!dev->vk.GetBufferDeviceAddress)
        return replay_missing(r, GEN_vkGetBufferDeviceAddress);
    ask.buffer = own->buffer;
    own->live = dev->vk.GetBufferDeviceAddress(dev->live, &ask);
    own->live = (own->live + own->alignment - 1) / own->alignment * own->alignment;
    return LAP_OK;
}

/* Finds a buffer with room; larger ones replace smaller ones, which recorded commands may still use. info: of a new
 * one, without its size. */
static enum lap_status find_own(struct replay *r, struct replay_device *dev, uint64_t first, uint64_t second,
                                const VkMemoryRequirements *needs, VkBufferCreateInfo *info,
                                const struct own_buffer **out)
{
    VkDeviceSize alignment = needs->alignment ? needs->alignment : 1, most = 0;
    struct own_buffer *own;

    for (own = dev->generated_commands->buffers; own; own = own->next) {
        if (own->place[0] != first || own->place[1] != second || !own->made)
            continue;
        if (own->bytes >= needs->size && own->alignment % alignment == 0) {
            *out = own;
            return LAP_OK;
        }
        most = own->bytes > most ? own->bytes : most;
    }
    own = calloc(1, sizeof *own);
    if (!own)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for generated commands");
    own->next = dev->generated_commands->buffers;
    dev->generated_commands->buffers = own;
    own->place[0] = first;
    own->place[1] = second;
    own->bytes = needs->size > 2 * most ? needs->size : 2 * most;
    own->alignment = alignment;
    info->size = own->bytes + own->alignment;
    enum lap_status status = make(r, dev, own, info, needs->memoryTypeBits);
    own->made = status == LAP_OK;
    *out = own;
    return status;
}

/* Whether the program's memory for an execution is too small for the replay device. */
static bool is_too_small(const VkMemoryRequirements *needs, uint64_t begin, VkDeviceSize bytes)
{
    return needs->size && (bytes < needs->size || (needs->alignment && begin % needs->alignment));
}

/* ---- VK_NV_device_generated_commands ---- */

enum lap_status replay_CreateIndirectCommandsLayoutNV(struct replay *r, struct replay_device *dev,
                                                      struct gen_args_vkCreateIndirectCommandsLayoutNV *args)
{
    VkIndirectCommandsLayoutCreateInfoNV info = *args->pCreateInfo;
    VkIndirectCommandsLayoutNV live = VK_NULL_HANDLE;
    enum lap_status status = begin(dev);

    info.flags &= ~(VkIndirectCommandsLayoutUsageFlagsNV)VK_INDIRECT_COMMANDS_LAYOUT_USAGE_EXPLICIT_PREPROCESS_BIT_NV;
    if (status == LAP_OK)
        status = replay_result(r, dev->vk.CreateIndirectCommandsLayoutNV(dev->live, &info, NULL, &live));
    return status == LAP_OK ? gen_keep_VkIndirectCommandsLayoutNV(r, dev, args->pIndirectCommandsLayout, &live, 1)
                            : status;
}

enum lap_status replay_CmdExecuteGeneratedCommandsNV(struct replay *r, struct replay_device *dev,
                                                     struct gen_args_vkCmdExecuteGeneratedCommandsNV *args)
{
    VkGeneratedCommandsInfoNV info = *args->pGeneratedCommandsInfo;
    const VkGeneratedCommandsMemoryRequirementsInfoNV ask = {
        .sType = VK_STRUCTURE_TYPE_GENERATED_COMMANDS_MEMORY_REQUIREMENTS_INFO_NV,
        .pipelineBindPoint = info.pipelineBindPoint,
        .pipeline = info.pipeline,
        .indirectCommandsLayout = info.indirectCommandsLayout,
        .maxSequencesCount = info.sequencesCount};
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .usage = VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT};
    VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
    enum lap_status status = begin(dev);

    if (status != LAP_OK)
        return status;
    if (!dev->vk.GetGeneratedCommandsMemoryRequirementsNV)
        return replay_missing(r, GEN_vkGetGeneratedCommandsMemoryRequirementsNV);
    dev->vk.GetGeneratedCommandsMemoryRequirementsNV(dev->live, &ask, &needs);
    if (is_too_small(&needs.memoryRequirements, info.preprocessOffset, info.preprocessSize)) {
        const struct own_buffer *own = NULL;
        status = find_own(r, dev, gen_u64_VkBuffer(info.preprocessBuffer), info.preprocessOffset,
                          &needs.memoryRequirements, &buffer, &own);
        if (status != LAP_OK)
            return status;
        info.preprocessBuffer = own->buffer;
        info.preprocessOffset = 0;
        info.preprocessSize = own->bytes;
    }
    dev->vk.CmdExecuteGeneratedCommandsNV(args->commandBuffer, VK_FALSE, &info);
    return LAP_OK;
}

/* ---- VK_EXT_device_generated_commands ---- */

#ifdef VK_EXT_device_generated_commands

enum lap_status replay_CreateIndirectCommandsLayoutEXT(struct replay *r, struct replay_device *dev,
                                                       struct gen_args_vkCreateIndirectCommandsLayoutEXT *args)
{
    VkIndirectCommandsLayoutCreateInfoEXT info = *args->pCreateInfo;
    VkIndirectCommandsLayoutEXT live = VK_NULL_HANDLE;
    enum lap_status status = begin(dev);

    info.flags &= ~(VkIndirectCommandsLayoutUsageFlagsEXT)VK_INDIRECT_COMMANDS_LAYOUT_USAGE_EXPLICIT_PREPROCESS_BIT_EXT;
    if (status == LAP_OK)
        status = replay_result(r, dev->vk.CreateIndirectCommandsLayoutEXT(dev->live, &info, NULL, &live));
    return status == LAP_OK ? gen_keep_VkIndirectCommandsLayoutEXT(r, dev, args->pIndirectCommandsLayout, &live, 1)
                            : status;
}

enum lap_status replay_CmdExecuteGeneratedCommandsEXT(struct replay *r, struct replay_device *dev,
                                                      struct gen_args_vkCmdExecuteGeneratedCommandsEXT *args)
{
    VkGeneratedCommandsInfoEXT info = *args->pGeneratedCommandsInfo;
    const VkGeneratedCommandsMemoryRequirementsInfoEXT ask = {
        .sType = VK_STRUCTURE_TYPE_GENERATED_COMMANDS_MEMORY_REQUIREMENTS_INFO_EXT,
        .pNext = info.pNext,
        .indirectExecutionSet = info.indirectExecutionSet,
        .indirectCommandsLayout = info.indirectCommandsLayout,
        .maxSequenceCount = info.maxSequenceCount,
        .maxDrawCount = info.maxDrawCount};
    const VkBufferUsageFlags2CreateInfoKHR usage = {.sType = VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR,
                                                    .usage = VK_BUFFER_USAGE_2_PREPROCESS_BUFFER_BIT_EXT |
                                                             VK_BUFFER_USAGE_2_SHADER_DEVICE_ADDRESS_BIT_KHR};
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .pNext = &usage,
                                 .usage = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
    VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
    enum lap_status status = begin(dev);

    if (status != LAP_OK)
        return status;
    if (!dev->vk.GetGeneratedCommandsMemoryRequirementsEXT)
        return replay_missing(r, GEN_vkGetGeneratedCommandsMemoryRequirementsEXT);
    dev->vk.GetGeneratedCommandsMemoryRequirementsEXT(dev->live, &ask, &needs);
    if (is_too_small(&needs.memoryRequirements, info.preprocessAddress, info.preprocessSize)) {
        const struct own_buffer *own = NULL;
        status = find_own(r, dev, info.preprocessAddress, 0, &needs.memoryRequirements, &buffer, &own);
        if (status != LAP_OK)
            return status;
        info.preprocessAddress = own->live;
        info.preprocessSize = own->bytes;
    }
    dev->vk.CmdExecuteGeneratedCommandsEXT(args->commandBuffer, VK_FALSE, &info);
    return LAP_OK;
}
#endif
