/* SPDX-License-Identifier: MIT */
#include "replayer/address/halves.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "gen_renamed.h"
#include "gen_replay.h"
#include "replayer/core/replay.h"

#define WORDS   1024u /* of a block: far more than any device supports */
#define UPDATES 16u   /* of vkCmdUpdateBuffer: the last ones */

/* Stages that have push constants of their own on some devices, so that layouts for one don't disturb another's. */
enum { OF_COMPUTE = 1, OF_RAYS = 2, OF_GRAPHICS = 4, KINDS = 8 }; /* 0: push data, which has no stages */
#define RAY_STAGES                                                                                                     \
    (VK_SHADER_STAGE_RAYGEN_BIT_KHR | VK_SHADER_STAGE_ANY_HIT_BIT_KHR | VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR |          \
     VK_SHADER_STAGE_MISS_BIT_KHR | VK_SHADER_STAGE_INTERSECTION_BIT_KHR | VK_SHADER_STAGE_CALLABLE_BIT_KHR)

struct block {
    uint32_t recorded[WORDS], live[WORDS];
    uint32_t push[WORDS]; /* the number of the command that pushed the word; 0: none */
    VkShaderStageFlags stages[WORDS];
    VkPipelineLayout layouts[WORDS];
    uint32_t count; /* words in use */
    bool fresh;     /* no shader has read it since the last push */
};

struct update {
    uint64_t buffer, begin, end;
    uint32_t first, last; /* words */
};

struct replay_halves {
    struct block blocks[KINDS];
    uint32_t pushes;
    bool fresh; /* some block is */
    struct update updates[UPDATES];
    uint64_t update_count;
};

/* A command that pushes. */
struct push {
    VkPipelineLayout layout;
    VkShaderStageFlags stages;
    uint32_t offset, bytes;
    const void **values; /* in the command's arguments */
};

struct replay_halves *replay_halves_create(void)
{
    return calloc(1, sizeof(struct replay_halves));
}

void replay_halves_destroy(struct replay_halves *halves)
{
    free(halves);
}

void replay_halves_clear(struct replay_halves *halves)
{
    for (uint32_t i = 0; i < KINDS; i++) {
        memset(halves->blocks[i].push, 0, halves->blocks[i].count * sizeof halves->blocks[i].push[0]);
        memset(halves->blocks[i].recorded, 0, halves->blocks[i].count * sizeof halves->blocks[i].recorded[0]);
        halves->blocks[i].count = 0;
        halves->blocks[i].fresh = false;
    }
    halves->pushes = 0;
    halves->fresh = false;
    halves->update_count = 0;
}

static uint64_t join(uint32_t low, uint32_t high)
{
    return low | (uint64_t)high << 32;
}

/* ---- push constants ---- */

static bool read_push(uint32_t command, const void *args, struct push *out)
{
    if (command == GEN_vkCmdPushConstants) {
        struct gen_args_vkCmdPushConstants *a = (void *)(uintptr_t)args;
        *out = (struct push){a->layout, a->stageFlags, a->offset, a->size, &a->pValues};
#ifdef VK_KHR_maintenance6
    } else if (command == GEN_vkCmdPushConstants2KHR) {
        VkPushConstantsInfoKHR *info =
            (void *)(uintptr_t)((const struct gen_args_vkCmdPushConstants2KHR *)args)->pPushConstantsInfo;
        if (!info)
            return false;
        *out = (struct push){info->layout, info->stageFlags, info->offset, info->size, &info->pValues};
#endif
#ifdef VK_EXT_descriptor_heap
    } else if (command == GEN_vkCmdPushDataEXT) {
        VkPushDataInfoEXT *info = (void *)(uintptr_t)((const struct gen_args_vkCmdPushDataEXT *)args)->pPushDataInfo;
        if (!info || info->data.size > UINT32_MAX)
            return false;
        *out = (struct push){VK_NULL_HANDLE, 0, info->offset, (uint32_t)info->data.size, &info->data.address};
#endif
    } else {
        return false;
    }
    return *out->values && out->bytes && out->offset % 4 == 0 && out->bytes % 4 == 0 && out->offset / 4 < WORDS &&
           out->bytes / 4 <= WORDS - out->offset / 4;
}

static struct block *block_of(struct replay_halves *halves, VkShaderStageFlags stages)
{
    const VkShaderStageFlags graphics = stages & ~(VK_SHADER_STAGE_COMPUTE_BIT | RAY_STAGES);

    return &halves->blocks[(stages & VK_SHADER_STAGE_COMPUTE_BIT ? OF_COMPUTE : 0) |
                           (stages & RAY_STAGES ? OF_RAYS : 0) | (graphics ? OF_GRAPHICS : 0)];
}

static void note_push(struct replay_halves *halves, const struct push *push)
{
    struct block *block = block_of(halves, push->stages);
    uint32_t first = push->offset / 4, end = first + push->bytes / 4;

    memcpy(&block->recorded[first], *push->values, push->bytes);
    halves->pushes++;
    for (uint32_t i = first; i < end; i++) {
        block->push[i] = halves->pushes;
        block->stages[i] = push->stages;
        block->layouts[i] = push->layout;
    }
    block->count = block->count < end ? end : block->count;
    block->fresh = halves->fresh = true;
}

static bool is_lost_push(struct replay_halves *halves, const struct lap_address_view *view,
                         struct lap_untranslated *out)
{
    bool lost = false;

    for (uint32_t i = 0; i < KINDS && !lost; i++) {
        struct block *block = &halves->blocks[i];
        lost = block->fresh && lap_untranslated_in_words(view, block->recorded, 4 * (size_t)block->count, out);
        block->fresh = false;
    }
    halves->fresh = lost; /* blocks behind it are looked at next time */
    return lost;
}

/* ---- translation ---- */

/* Whether words i and i + 1 may be read as one number: some shader sees both. */
static bool belong_together(const struct block *block, uint32_t i, bool same_push)
{
    if (!block->push[i] || !block->push[i + 1] || (block->push[i] == block->push[i + 1]) != same_push)
        return false;
    return same_push || block->stages[i] == block->stages[i + 1] || (block->stages[i] & block->stages[i + 1]);
}

/* Puts live addresses into `words`, a copy of the recorded ones. Returns how many of [first, end) have changed. */
static uint64_t replace(const struct replay_address_space *space, const struct block *block, uint32_t *words,
                        uint32_t first, uint32_t end)
{
    bool taken[WORDS] = {false};
    uint64_t count = 0;

    for (int whole = 1; whole >= 0; whole--)
        for (uint32_t i = 0; i + 1 < block->count; i++) {
            uint64_t word = join(words[i], words[i + 1]), live;
            if (taken[i] || taken[i + 1] || !belong_together(block, i, whole) ||
                !replay_address_to_live(space, word, &live))
                continue;
            taken[i] = taken[i + 1] = true;
            words[i] = (uint32_t)live;
            words[i + 1] = (uint32_t)(live >> 32);
            count += live != word && i + 1 >= first && i < end;
        }
    return count;
}

/* Pushes word i of the block as the program did, but with its live value. `args`: of the current command, which has the
 * layout if the word was pushed without one. */
static void push_again(const struct gen_device_dispatch *vk, VkCommandBuffer commands, const struct block *block,
                       uint32_t i, uint32_t command, const void *args, VkPipelineLayout layout)
{
    layout = block->layouts[i] ? block->layouts[i] : layout;
#ifdef VK_EXT_descriptor_heap
    if (command == GEN_vkCmdPushDataEXT) {
        VkPushDataInfoEXT info = *((const struct gen_args_vkCmdPushDataEXT *)args)->pPushDataInfo;
        info.offset = 4 * i;
        info.data = (VkHostAddressRangeConstEXT){&block->live[i], 4};
        vk->CmdPushDataEXT(commands, &info);
        return;
    }
#endif
#ifdef VK_KHR_maintenance6
    if (!layout && command == GEN_vkCmdPushConstants2KHR) {
        VkPushConstantsInfoKHR info = *((const struct gen_args_vkCmdPushConstants2KHR *)args)->pPushConstantsInfo;
        info.stageFlags = block->stages[i];
        info.offset = 4 * i;
        info.size = 4;
        info.pValues = &block->live[i];
        vk->CmdPushConstants2KHR(commands, &info);
        return;
    }
#endif
    (void)command, (void)args;
    if (layout)
        vk->CmdPushConstants(commands, layout, block->stages[i], 4 * i, 4, &block->live[i]);
}

enum lap_status replay_halves_translate(struct replay_halves *halves, const struct replay_address_space *space,
                                        const struct gen_device_dispatch *vk, struct lap_arena *arena,
                                        VkCommandBuffer commands, uint32_t command, void *args, uint64_t *out_count)
{
    uint32_t words[WORDS], first, end;
    struct block *block;
    struct push push;

    *out_count = 0;
    if (!read_push(command, args, &push))
        return LAP_OK;
    block = block_of(halves, push.stages);
    first = push.offset / 4;
    end = first + push.bytes / 4;
    memcpy(words, block->recorded, 4 * (size_t)block->count);
    *out_count = replace(space, block, words, first, end);
    for (uint32_t i = 0; i < block->count; i++) {
        bool outside = i < first || i >= end;
        if (!block->push[i] || (outside && block->live[i] == words[i]))
            continue;
        block->live[i] = words[i];
        if (outside)
            push_again(vk, commands, block, i, command, args, push.layout);
    }
    if (memcmp(&words[first], *push.values, push.bytes) != 0) {
        void *copy = lap_arena_alloc(arena, push.bytes, 16); /* the bytes may belong to a shared blob */
        if (!copy)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory or past the limit for one packet");
        *push.values = memcpy(copy, &words[first], push.bytes);
    }
    return LAP_OK;
}

/* ---- vkCmdUpdateBuffer ---- */

static bool is_split(const struct lap_address_view *view, const struct update *low, const struct update *high,
                     struct lap_untranslated *out)
{
    uint64_t word = join(low->last, high->first);

    if (low->buffer != high->buffer || low->end != high->begin || !lap_untranslated_is_telling(view, word))
        return false;
    *out = (struct lap_untranslated){LAP_UNTRANSLATED_SPLIT, word, low->end - 4};
    return true;
}

static bool note_update(struct replay_halves *halves, const struct lap_address_view *view, uint64_t buffer,
                        uint64_t offset, uint64_t bytes, const void *data, struct lap_untranslated *out)
{
    struct update *update = &halves->updates[halves->update_count % UPDATES];
    bool lost = false;

    if (!data || bytes < 4 || bytes % 4)
        return false;
    *update = (struct update){buffer, offset, offset + bytes, 0, 0};
    memcpy(&update->first, data, 4);
    memcpy(&update->last, (const char *)data + bytes - 4, 4);
    for (uint32_t i = 0; i < UPDATES && i < halves->update_count && !lost; i++)
        lost = is_split(view, update, &halves->updates[i], out) || is_split(view, &halves->updates[i], update, out);
    halves->update_count++;
    return lost;
}

/* ---- all commands ---- */

bool replay_halves_note(struct replay_halves *halves, const struct lap_address_view *view, uint32_t command,
                        const void *args, struct lap_untranslated *out, const char **out_where)
{
    struct push push;

    *out_where = gen_command_names[command];
    if (command == GEN_vkCmdExecuteCommands) /* it leaves the state undefined */
        replay_halves_clear(halves);
    if (command == GEN_vkCmdUpdateBuffer) {
        const struct gen_args_vkCmdUpdateBuffer *a = args;
        return note_update(halves, view, gen_u64_VkBuffer(a->dstBuffer), a->dstOffset, a->dataSize, a->pData, out);
    }
#ifdef VK_KHR_device_address_commands
    if (command == GEN_vkCmdUpdateMemoryKHR) {
        const struct gen_args_vkCmdUpdateMemoryKHR *a = args;
        return a->pDstRange && note_update(halves, view, 0, a->pDstRange->address, a->dataSize, a->pData, out);
    }
#endif
    if (read_push(command, args, &push)) {
        note_push(halves, &push);
        return false;
    }
    *out_where = "push constants";
    return halves->fresh && replay_is_work(command) && is_lost_push(halves, view, out);
}
