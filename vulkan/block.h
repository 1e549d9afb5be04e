/* SPDX-License-Identifier: MIT */
/*
 * block: iterates over the commands of a recorded command buffer.
 *
 * A block is {number of the command in the file's dictionary as LEB128, body} for each command: first
 * vkBeginCommandBuffer, then vkCmd*, last vkEndCommandBuffer (docs/format.md). Trusts no byte. One thread at a time.
 */
#ifndef LAP_VULKAN_BLOCK_H
#define LAP_VULKAN_BLOCK_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "gen_decode.h"
#include "trace/format/decode.h"
#include "vulkan/dictionary.h"

/* Room for the parameters of any command. */
struct lap_args {
    alignas(16) unsigned char bytes[GEN_ARGS_MAX_BYTES];
};

struct lap_block {
    struct lap_dec dec;
    const struct lap_dictionary *dictionary;
    uint64_t command_buffer;
    uint32_t index; /* of the next command */
    bool ended;     /* vkEndCommandBuffer was read */
};

/* data and the results of the source stay valid while commands are read. command_buffer goes into every command's
 * parameters, in the form that the source returns for the handle (a live handle or an index). */
void lap_block_init(struct lap_block *block, const void *data, size_t bytes, uint64_t command_buffer,
                    const struct lap_dictionary *dictionary, struct lap_arena *arena,
                    const struct lap_dec_source *source);

/* Decodes the next command: *out_command is its enum gen_command, *out_args its struct gen_args_X, whose pointers
 * are into the arena (which the caller may reset before the call). LAP_END behind vkEndCommandBuffer. LAP_ERROR_FORMAT
 * for a damaged block. LAP_ERROR_UNSUPPORTED for a command that this build lacks, since its body can't be skipped. */
enum lap_status lap_block_next(struct lap_block *block, uint32_t *out_command,
                               struct lap_args *out_args) LAP_MUST_CHECK;

/* Whether blocks may contain a command. */
bool lap_block_has(uint32_t command);

#endif
