/* SPDX-License-Identifier: MIT */
#include "replayer/address/untranslated.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "gen_renamed.h"
#include "gen_replay.h"
#include "replayer/address/address_range.h"
#include "replayer/address/halves.h"
#include "replayer/core/replay.h"
#include "vulkan/chain.h"
#include "vulkan/untranslated.h"

struct buffer {
    uint64_t bytes;
    struct replay_address_range *range; /* NULL: the program has not queried its address */
};

struct replay_untranslated {
    struct lap_map buffers; /* by index: struct buffer */
    struct replay_address_space space;
    struct lap_upper_halves halves;
    struct replay_halves *split;
};

struct replay_untranslated *replay_untranslated_create(void)
{
    struct replay_untranslated *look = calloc(1, sizeof *look);

    if (look)
        lap_map_init(&look->buffers);
    if (look && !(look->split = replay_halves_create())) {
        free(look);
        look = NULL;
    }
    return look;
}

static void free_buffer(void *user, uint64_t key, void *value)
{
    (void)user, (void)key;
    free(value);
}

void replay_untranslated_destroy(struct replay_untranslated *look)
{
    if (!look)
        return;
    lap_map_each(&look->buffers, free_buffer, NULL);
    lap_map_finish(&look->buffers);
    replay_address_space_finish(&look->space);
    replay_halves_destroy(look->split);
    free(look);
}

void replay_untranslated_block(struct replay_untranslated *look)
{
    replay_halves_clear(look->split);
}

/* ---- known addresses ---- */

static void forget(struct replay_untranslated *look, uint64_t index)
{
    struct buffer *buffer = lap_map_get(&look->buffers, index);

    if (buffer && buffer->range)
        replay_address_end(&look->space, buffer->range);
    if (buffer)
        buffer->range = NULL;
}

static enum lap_status add_buffer(struct replay_untranslated *look, const struct gen_args_vkCreateBuffer *args)
{
    uint64_t index = args->pBuffer ? gen_u64_VkBuffer(*args->pBuffer) : 0;
    struct buffer *buffer;
    void *old = NULL;

    if (!index || !args->pCreateInfo)
        return LAP_OK;
    forget(look, index);
    buffer = calloc(1, sizeof *buffer);
    if (!buffer || lap_map_put(&look->buffers, index, buffer, &old) != LAP_OK) {
        free(buffer);
        return lap_no_memory("the report");
    }
    free(old);
    buffer->bytes = args->pCreateInfo->size;
    return LAP_OK;
}

static enum lap_status add_address(struct replay_untranslated *look,
                                   const struct gen_args_vkGetBufferDeviceAddress *args)
{
    uint64_t index = args->pInfo ? gen_u64_VkBuffer(args->pInfo->buffer) : 0;
    struct buffer *buffer = lap_map_get(&look->buffers, index);
    enum lap_status status;

    if (!buffer || !args->result || (buffer->range && buffer->range->recorded.begin == args->result))
        return LAP_OK;
    forget(look, index);
    lap_upper_halves_add(&look->halves, args->result);
    status = replay_address_add(&look->space, REPLAY_ADDRESS_BUFFER, index, args->result, args->result, buffer->bytes,
                                &buffer->range);
    return status == LAP_ERROR_FORMAT ? LAP_OK : status; /* a replay refuses it */
}

/* ---- places of addresses ---- */

static enum lap_constant_fit fit(void *user, uint64_t word)
{
    const struct replay_untranslated *look = user;
    uint64_t begin;

    if (!replay_address_begin_of(&look->space, word, &begin))
        return LAP_CONSTANT_NONE;
    return begin == word ? LAP_CONSTANT_BEGIN : LAP_CONSTANT_WITHIN;
}

static struct lap_address_view view_of(struct replay_untranslated *look)
{
    return (struct lap_address_view){fit, look, &look->halves};
}

static void report(struct replay *r, const char *where, const char *text, uint64_t offset, uint64_t address)
{
    replay_report_add(r->report, REPLAY_AREA_COMMAND, REPLAY_MAY_FAIL, gen_command_names[r->at.command],
                      "frame %" PRIu64 ", packet %" PRIu64 ": in %s %s (byte %" PRIu64 ", %#" PRIx64
                      "); a shader gets the recorded one",
                      r->at.packet.frame + 1, r->at.packet.ticket, where, text, offset, address);
}

static void look_at_words(struct replay_untranslated *look, struct replay *r, const char *where, const void *data,
                          uint64_t bytes)
{
    struct lap_address_view view = view_of(look);
    struct lap_untranslated lost;

    if (lap_untranslated_in_words(&view, data, (size_t)bytes, &lost))
        report(r, where, lap_untranslated_text(lost.kind), lost.offset, lost.address);
}

static void look_at_stage(struct replay_untranslated *look, struct replay *r,
                          const VkPipelineShaderStageCreateInfo *stage)
{
    struct lap_address_view view = view_of(look);
    struct lap_untranslated lost;

    if (lap_untranslated_in_constants(&view, stage->pSpecializationInfo, &lost))
        report(r, "specialization constants", lap_untranslated_text(lost.kind), lost.offset, lost.address);
}

/* What two commands give: push constants, as work finds them, and updates. */
static void look_at_halves(struct replay_untranslated *look, struct replay *r, const void *args)
{
    struct lap_address_view view = view_of(look);
    struct lap_untranslated lost;
    const char *where;

    if (replay_halves_note(look->split, &view, r->at.command, args, &lost, &where))
        report(r, where, lap_untranslated_text(lost.kind), lost.offset, lost.address);
}

static void look_at_writes(struct replay_untranslated *look, struct replay *r,
                           const struct gen_args_vkUpdateDescriptorSets *args)
{
    for (uint32_t i = 0; i < args->descriptorWriteCount && args->pDescriptorWrites; i++) {
        const VkWriteDescriptorSetInlineUniformBlock *block = lap_chain_find(
            args->pDescriptorWrites[i].pNext, VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK);
        if (block)
            look_at_words(look, r, "an inline uniform block", block->pData, block->dataSize);
    }
}

static void look_at_call(struct replay_untranslated *look, struct replay *r, const void *raw)
{
    switch (r->at.command) {
    case GEN_vkCreateComputePipelines: {
        const struct gen_args_vkCreateComputePipelines *args = raw;
        for (uint32_t i = 0; i < args->createInfoCount && args->pCreateInfos; i++)
            look_at_stage(look, r, &args->pCreateInfos[i].stage);
        break;
    }
    case GEN_vkCreateGraphicsPipelines: {
        const struct gen_args_vkCreateGraphicsPipelines *args = raw;
        for (uint32_t i = 0; i < args->createInfoCount && args->pCreateInfos; i++)
            for (uint32_t j = 0; j < args->pCreateInfos[i].stageCount && args->pCreateInfos[i].pStages; j++)
                look_at_stage(look, r, &args->pCreateInfos[i].pStages[j]);
        break;
    }
#ifdef VK_KHR_device_address_commands
    case GEN_vkCmdUpdateMemoryKHR: {
        const struct gen_args_vkCmdUpdateMemoryKHR *args = raw;
        look_at_words(look, r, "vkCmdUpdateMemoryKHR", args->pData, args->dataSize);
        break;
    }
#endif
    case GEN_vkCmdUpdateBuffer: {
        const struct gen_args_vkCmdUpdateBuffer *args = raw;
        look_at_words(look, r, "vkCmdUpdateBuffer", args->pData, args->dataSize);
        break;
    }
    case GEN_vkUpdateDescriptorSets:
        look_at_writes(look, r, raw);
        break;
    default:
        break;
    }
}

enum lap_status replay_untranslated_call(struct replay_untranslated *look, struct replay *r, const void *args,
                                         bool moved)
{
    switch (r->at.command) {
    case GEN_vkCreateBuffer:
        return add_buffer(look, args);
    case GEN_vkDestroyBuffer:
        forget(look, gen_u64_VkBuffer(((const struct gen_args_vkDestroyBuffer *)args)->buffer));
        return LAP_OK;
    case GEN_vkGetBufferDeviceAddress:
        return add_address(look, args);
    default:
        break;
    }
    if (moved && look->halves.count) {
        look_at_call(look, r, args);
        look_at_halves(look, r, args);
    }
    return LAP_OK;
}
