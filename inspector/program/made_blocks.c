/* SPDX-License-Identifier: MIT */
#include "inspector/program/made_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trace/format/hash.h"

#define BYTES_MAX (UINT64_C(4) << 30)

struct made_block {
    uint64_t hash[2], number;
    size_t users; /* command buffers */
    size_t bytes;
    uint8_t data[];
};

struct buffer {
    struct made_block *last[2]; /* the newer one first */
    uint64_t number;
    struct buffer *next, **at; /* of its pool; at NULL: not known */
};

struct pool {
    struct buffer *first;
};

void made_blocks_init(struct made_blocks *blocks)
{
    *blocks = (struct made_blocks){0};
    lap_map_init(&blocks->by_hash);
    lap_map_init(&blocks->buffers);
    lap_map_init(&blocks->pools);
}

static void drop(struct made_blocks *blocks, struct made_block *block)
{
    if (!block || --block->users)
        return;
    if (lap_map_get(&blocks->by_hash, block->hash[0] >> 2) == block)
        lap_map_remove(&blocks->by_hash, block->hash[0] >> 2);
    blocks->blocks[block->number - 1] = NULL;
    blocks->bytes -= block->bytes;
    free(block);
}

static enum lap_status find_buffer(struct made_blocks *blocks, uint64_t number, struct buffer **out)
{
    struct buffer *buffer = *out = lap_map_get(&blocks->buffers, number);
    enum lap_status status;

    if (buffer)
        return LAP_OK;
    buffer = calloc(1, sizeof *buffer);
    status = buffer ? lap_map_put(&blocks->buffers, number, buffer, NULL) : lap_no_memory(NULL);
    if (status != LAP_OK) {
        free(buffer);
        return status;
    }
    buffer->number = number;
    *out = buffer;
    return LAP_OK;
}

static enum lap_status find_block(struct made_blocks *blocks, const uint8_t *data, size_t bytes,
                                  struct made_block **out)
{
    uint64_t hash[2];
    struct made_block *block;
    enum lap_status status;

    lap_hash128(data, bytes, hash);
    block = *out = lap_map_get(&blocks->by_hash, hash[0] >> 2);
    if (block && block->hash[0] == hash[0] && block->hash[1] == hash[1] && block->bytes == bytes &&
        memcmp(block->data, data, bytes) == 0)
        return LAP_OK;
    *out = NULL;
    if (bytes > BYTES_MAX - blocks->bytes)
        return lap_fail(LAP_ERROR_LIMIT, "the command buffers of the program have more than %d GiB of commands",
                        (int)(BYTES_MAX >> 30));
    if (!lap_array_grow(&blocks->blocks, sizeof *blocks->blocks, &blocks->room, blocks->count + 1) ||
        !(block = malloc(sizeof *block + bytes)))
        return lap_no_memory(NULL);
    *block = (struct made_block){.hash = {hash[0], hash[1]}, .number = blocks->count + 1, .bytes = bytes};
    memcpy(block->data, data, bytes);
    status =
        lap_map_get(&blocks->by_hash, hash[0] >> 2) ? LAP_OK : lap_map_put(&blocks->by_hash, hash[0] >> 2, block, NULL);
    if (status != LAP_OK) {
        free(block);
        return status;
    }
    blocks->blocks[blocks->count++] = *out = block;
    blocks->bytes += bytes;
    return LAP_OK;
}

enum lap_status made_blocks_put(struct made_blocks *blocks, uint64_t command_buffer, const uint8_t *data, size_t bytes,
                                uint64_t *out_number)
{
    struct buffer *buffer;
    struct made_block *block = NULL;
    enum lap_status status = find_buffer(blocks, command_buffer, &buffer);

    if (status == LAP_OK)
        status = find_block(blocks, data, bytes, &block);
    if (status != LAP_OK)
        return status;
    block->users++;
    drop(blocks, buffer->last[1]);
    buffer->last[1] = buffer->last[0];
    buffer->last[0] = block;
    *out_number = block->number;
    return LAP_OK;
}

bool made_blocks_get(const struct made_blocks *blocks, uint64_t number, const uint8_t **out_data, size_t *out_bytes)
{
    if (number == 0 || number > blocks->count || !blocks->blocks[number - 1])
        return false;
    *out_data = blocks->blocks[number - 1]->data;
    *out_bytes = blocks->blocks[number - 1]->bytes;
    return true;
}

enum lap_status made_blocks_allocated(struct made_blocks *blocks, uint64_t pool_number, uint64_t command_buffer)
{
    struct pool *pool = lap_map_get(&blocks->pools, pool_number);
    struct buffer *buffer;
    enum lap_status status = find_buffer(blocks, command_buffer, &buffer);

    if (status == LAP_OK && !pool) {
        pool = calloc(1, sizeof *pool);
        status = pool ? lap_map_put(&blocks->pools, pool_number, pool, NULL) : lap_no_memory(NULL);
        if (status != LAP_OK)
            free(pool);
    }
    if (status != LAP_OK || buffer->at)
        return status;
    buffer->next = pool->first;
    buffer->at = &pool->first;
    if (pool->first)
        pool->first->at = &buffer->next;
    pool->first = buffer;
    return LAP_OK;
}

static void forget(struct made_blocks *blocks, struct buffer *buffer)
{
    if (buffer->at)
        *buffer->at = buffer->next;
    if (buffer->next)
        buffer->next->at = buffer->at;
    drop(blocks, buffer->last[0]);
    drop(blocks, buffer->last[1]);
    lap_map_remove(&blocks->buffers, buffer->number);
    free(buffer);
}

void made_blocks_freed(struct made_blocks *blocks, uint64_t command_buffer)
{
    struct buffer *buffer = lap_map_get(&blocks->buffers, command_buffer);

    if (buffer)
        forget(blocks, buffer);
}

void made_blocks_pool_destroyed(struct made_blocks *blocks, uint64_t pool_number)
{
    struct pool *pool = lap_map_get(&blocks->pools, pool_number);

    if (!pool)
        return;
    while (pool->first)
        forget(blocks, pool->first);
    lap_map_remove(&blocks->pools, pool_number);
    free(pool);
}

static void end_buffer(void *user, uint64_t key, void *value)
{
    (void)key;
    (void)user;
    free(value);
}

void made_blocks_finish(struct made_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++)
        free(blocks->blocks[i]);
    free(blocks->blocks);
    lap_map_each(&blocks->buffers, end_buffer, NULL);
    lap_map_each(&blocks->pools, end_buffer, NULL);
    lap_map_finish(&blocks->by_hash);
    lap_map_finish(&blocks->buffers);
    lap_map_finish(&blocks->pools);
    *blocks = (struct made_blocks){0};
}
