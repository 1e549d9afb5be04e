/* SPDX-License-Identifier: MIT */
#include "vulkan/block.h"

#include <inttypes.h>
#include <string.h>

#include "gen_ids.h"

bool lap_block_has(uint32_t command)
{
    return command < GEN_COMMAND_COUNT && gen_command_dispatch[command] == GEN_HANDLE_VkCommandBuffer &&
           command != GEN_lapilliBlock && command != GEN_vkResetCommandBuffer;
}

void lap_block_init(struct lap_block *block, const void *data, size_t bytes, uint64_t command_buffer,
                    const struct lap_dictionary *dictionary, struct lap_arena *arena,
                    const struct lap_dec_source *source)
{
    lap_dec_init(&block->dec, data, bytes, arena, source);
    block->dictionary = dictionary;
    block->command_buffer = command_buffer;
    block->index = 0;
    block->ended = false;
}

/* Why `command` is invalid at the current place in the block. */
static enum lap_status check_place(const struct lap_block *block, uint32_t command, uint64_t number)
{
    const char *name = lap_reader_command_name(block->dictionary->reader, number);

    if (!name || !name[0])
        return lap_fail(LAP_ERROR_FORMAT,
                        "command %" PRIu32 " of the block has number %" PRIu64 ", which the dictionary lacks",
                        block->index, number);
    if (command == GEN_COMMAND_NONE || !gen_decode_table[command])
        return lap_fail(LAP_ERROR_UNSUPPORTED, "this build does not know %s (command %" PRIu32 " of the block)", name,
                        block->index);
    if (!lap_block_has(command))
        return lap_fail(LAP_ERROR_FORMAT, "%s stands in a block (command %" PRIu32 ")", name, block->index);
    return lap_fail(LAP_ERROR_FORMAT, "%s is command %" PRIu32 " of a block", name, block->index);
}

enum lap_status lap_block_next(struct lap_block *block, uint32_t *out_command, struct lap_args *out_args)
{
    struct lap_dec *dec = &block->dec;
    VkCommandBuffer handle = gen_VkCommandBuffer(block->command_buffer);
    uint64_t number;
    uint32_t command;

    *out_command = GEN_COMMAND_NONE;
    if (dec->status != LAP_OK)
        return dec->status;
    if (dec->p == dec->end)
        return block->ended ? LAP_END : lap_fail(LAP_ERROR_FORMAT, "a block ends without vkEndCommandBuffer");
    if (block->ended)
        return lap_fail(LAP_ERROR_FORMAT, "a block goes on behind vkEndCommandBuffer");
    number = lap_get_u64(dec);
    if (dec->status != LAP_OK)
        return dec->status;
    command = number < block->dictionary->command_count ? block->dictionary->block_commands[number] : 0;
    if (__builtin_expect(!command || (command == GEN_vkBeginCommandBuffer) != (block->index == 0), 0))
        return check_place(block, lap_dictionary_command(block->dictionary, number), number);
    gen_decode_table[command](dec, out_args->bytes);
    if (dec->status != LAP_OK)
        return lap_fail_context(dec->status, "%s (command %" PRIu32 " of the block)", gen_command_names[command],
                                block->index);
    /* The command buffer is the first parameter of every command. */
    memcpy(out_args->bytes, &handle, sizeof handle);
    *out_command = command;
    block->ended = command == GEN_vkEndCommandBuffer;
    block->index++;
    return LAP_OK;
}
