/* SPDX-License-Identifier: MIT */
/* What is looked up in a trace before it is played, in passes of their own: the replay has not begun to read then. */
#include <stdlib.h>
#include <string.h>

#include "codegen/support/block.h"
#include "codegen/support/dictionary.h"
#include "gen_replay.h"
#include "replayer/limits.h"
#include "replayer/match.h"
#include "replayer/resource.h"
#include "replayer/witness.h"

struct scan {
    struct lap_reader *reader;
    struct lap_dictionary dictionary;
    struct lap_arena arena;
    struct lap_dec_source source;
    struct replay_used *used;
    struct replay_aliases *aliases;
    struct replay_limits *limits; /* with the instance that they are of */
    const struct replay_instance *instance;
    uint64_t frame, ticket; /* of the packet */
    bool *blocks;           /* [blob]: read already; blobs are shared by command buffers that are the same */
    uint64_t block_count;
};

static enum lap_status scan_blob(void *user, uint64_t id, const uint8_t **out_data, size_t *out_bytes)
{
    struct scan *scan = user;
    return lap_reader_blob(scan->reader, LAP_BLOB_DATA, id, out_data, out_bytes);
}

/* Called for every chained structure that a decoder meets. */
static uint32_t scan_struct(void *user, uint64_t number)
{
    struct scan *scan = user;
    uint32_t id = lap_dictionary_struct(&scan->dictionary, number);

    if (scan->used)
        scan->used->structs[id] = true;
    return id;
}

static enum lap_status scan_command(struct scan *scan, uint32_t command, const void *args)
{
    struct replay_limits_place place = {command, scan->frame, scan->ticket};

    if (scan->used) {
        scan->used->commands[command] = true;
        replay_witness_look(&scan->used->witnesses, command, args, scan->frame, scan->ticket);
    }
    return scan->limits ? replay_limits_look(scan->limits, scan->instance, NULL, &place, args) : LAP_OK;
}

static enum lap_status scan_block(struct scan *scan, uint64_t id)
{
    struct lap_block block;
    struct lap_args args;
    const uint8_t *data;
    size_t bytes;
    uint32_t command;
    enum lap_status status;

    if (id < scan->block_count && scan->blocks[id])
        return LAP_OK;
    status = lap_reader_blob(scan->reader, LAP_BLOB_BLOCK, id, &data, &bytes);
    if (status != LAP_OK)
        return status;
    if (id < scan->block_count)
        scan->blocks[id] = true;
    lap_block_init(&block, data, bytes, 0, &scan->dictionary, &scan->arena, &scan->source);
    do {
        lap_arena_reset(&scan->arena);
        status = lap_block_next(&block, &command, &args);
        if (status == LAP_OK)
            status = scan_command(scan, command, args.bytes);
    } while (status == LAP_OK);
    return status == LAP_END ? LAP_OK : status;
}

static enum lap_status scan_packet(struct scan *scan, const struct lap_packet *packet)
{
    uint32_t command = lap_dictionary_command(&scan->dictionary, packet->command);
    enum lap_status status;
    struct lap_args args;
    struct lap_dec dec;

    if (packet->flags & (LAP_PACKET_INFO | LAP_PACKET_FAILED) || !gen_replay_table[command].call ||
        !gen_decode_table[command] || lap_block_has(command) || command == GEN_vkCreateInstance ||
        command == GEN_vkCreateDevice)
        return LAP_OK;
    scan->frame = packet->frame;
    scan->ticket = packet->ticket;
    lap_arena_reset(&scan->arena);
    lap_dec_init(&dec, packet->body, packet->bytes, &scan->arena, &scan->source);
    gen_decode_table[command](&dec, args.bytes);
    if (dec.status != LAP_OK)
        return dec.status;
    status = scan_command(scan, command, args.bytes);
    if (status != LAP_OK)
        return status;
    return command == GEN_lapilliBlock ? scan_block(scan, ((struct gen_args_lapilliBlock *)(void *)args.bytes)->block)
                                       : LAP_OK;
}

static enum lap_status scan_begin(struct scan *scan, const struct lap_reader *trace)
{
    enum lap_status status = lap_reader_open_again(trace, NULL, &scan->reader);

    if (status != LAP_OK)
        return status;
    lap_arena_init(&scan->arena, (size_t)1 << 30);
    return lap_dictionary_init(&scan->dictionary, scan->reader);
}

static void scan_end(struct scan *scan)
{
    lap_dictionary_release(&scan->dictionary);
    lap_arena_finish(&scan->arena);
    free(scan->blocks);
    lap_reader_close(&scan->reader);
}

/* All packets and blocks up to last_frame. */
static enum lap_status scan_all(struct scan *scan, const struct lap_reader *trace, uint64_t last_frame)
{
    struct lap_packet packet;
    enum lap_status status = scan_begin(scan, trace);

    if (status == LAP_OK) {
        scan->source = (struct lap_dec_source){.blob = scan_blob, .struct_id = scan_struct, .user = scan};
        scan->block_count = lap_reader_summary(scan->reader)->blobs + 1;
        scan->blocks = calloc(scan->block_count, sizeof *scan->blocks);
        if (!scan->blocks)
            status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    while (status == LAP_OK && (status = lap_reader_next(scan->reader, &packet)) == LAP_OK &&
           !(last_frame && packet.frame >= last_frame))
        status = scan_packet(scan, &packet);
    scan_end(scan);
    return status == LAP_END ? LAP_OK : status;
}

enum lap_status replay_find_used(const struct lap_reader *trace, uint64_t last_frame, struct replay_used *out)
{
    struct scan scan = {.used = out};

    memset(out, 0, sizeof *out);
    return scan_all(&scan, trace, last_frame);
}

enum lap_status replay_find_misaligned(const struct lap_reader *trace, uint64_t last_frame,
                                       const struct replay_instance *instance, struct replay_misaligned *out)
{
    struct scan scan = {.limits = replay_limits_create(), .instance = instance};
    enum lap_status status = LAP_ERROR_MEMORY;

    if (scan.limits)
        status = scan_all(&scan, trace, last_frame);
    else
        lap_fail(status, "out of memory");
    if (status == LAP_OK)
        *out = *replay_limits_misaligned(scan.limits);
    replay_limits_destroy(scan.limits);
    return status;
}

/* ---- what shares memory ---- */

/* Memory that several names stand for is also what lets images of optimal tiling that were made alike share contents.
 */
static bool is_made_to_alias(const VkImageCreateInfo *info)
{
    const VkExternalMemoryImageCreateInfo *external =
        replay_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    return info->flags & VK_IMAGE_CREATE_ALIAS_BIT || (external && external->handleTypes);
}

/* Where an encoded create info is, so that it can be decoded again without its call. */
static enum lap_status scan_creation(struct scan *scan, enum gen_handle_type type, struct lap_dec *dec)
{
    VkBufferCreateInfo buffer = {0};
    VkImageCreateInfo image = {0};
    bool opaque = false;
    const uint8_t *begin;
    size_t bytes;

    lap_get_handle(dec, GEN_HANDLE_VkDevice);
    if (!lap_get_u8(dec))
        return LAP_OK;
    begin = dec->p;
    if (type == GEN_HANDLE_VkBuffer) {
        gen_decode_VkBufferCreateInfo(dec, &buffer);
    } else {
        gen_decode_VkImageCreateInfo(dec, &image);
        opaque = image.tiling == VK_IMAGE_TILING_OPTIMAL;
        if (image.tiling != VK_IMAGE_TILING_LINEAR && !(opaque && is_made_to_alias(&image)))
            return LAP_OK; /* nobody sees its contents through another object */
    }
    bytes = (size_t)(dec->p - begin);
    if (dec->status != LAP_OK || !lap_get_u8(dec))
        return LAP_OK;
    return replay_aliases_add(scan->aliases, type, lap_get_u64(dec), opaque, begin, bytes);
}

static enum lap_status scan_buffer_bind(struct scan *scan, const struct gen_args_lapilliBindBuffer *args)
{
    struct replay_alias_bind bind = {.type = GEN_HANDLE_VkBuffer,
                                     .index = gen_u64_VkBuffer(args->buffer),
                                     .memory = gen_u64_VkDeviceMemory(args->memory),
                                     .offset = args->memoryOffset,
                                     .bytes = args->size};
    return replay_aliases_bind(scan->aliases, &bind);
}

static enum lap_status scan_image_bind(struct scan *scan, const struct gen_args_lapilliBindImage *args)
{
    struct replay_alias_bind bind = {.type = GEN_HANDLE_VkImage,
                                     .index = gen_u64_VkImage(args->image),
                                     .plane = args->planeAspect,
                                     .memory = gen_u64_VkDeviceMemory(args->memory),
                                     .offset = args->memoryOffset,
                                     .bytes = args->size,
                                     .layout = args->layoutHash};
    return args->swapchain ? LAP_OK : replay_aliases_bind(scan->aliases, &bind);
}

static enum lap_status scan_sharing(struct scan *scan, const struct gen_args_lapilliSharedMemory *args)
{
    return replay_aliases_share(scan->aliases, gen_u64_VkDeviceMemory(args->memory), args->space, args->offset);
}

static enum lap_status scan_for_aliases(struct scan *scan, const struct lap_packet *packet)
{
    uint32_t command = lap_dictionary_command(&scan->dictionary, packet->command);
    struct lap_args args;
    struct lap_dec dec;

    switch (command) {
    case GEN_vkCreateBuffer:
    case GEN_vkCreateImage:
    case GEN_vkDestroyBuffer:
    case GEN_vkDestroyImage:
    case GEN_lapilliBindBuffer:
    case GEN_lapilliBindImage:
    case GEN_lapilliSharedMemory:
    case GEN_vkFreeMemory:
        break;
    default:
        return LAP_OK;
    }
    if (packet->flags & LAP_PACKET_FAILED)
        return LAP_OK;
    lap_arena_reset(&scan->arena);
    lap_dec_init(&dec, packet->body, packet->bytes, &scan->arena, &scan->source);
    if (command == GEN_vkCreateBuffer || command == GEN_vkCreateImage)
        return scan_creation(scan, command == GEN_vkCreateBuffer ? GEN_HANDLE_VkBuffer : GEN_HANDLE_VkImage, &dec);
    gen_decode_table[command](&dec, args.bytes);
    if (dec.status != LAP_OK)
        return LAP_OK;
    if (command == GEN_lapilliBindBuffer)
        return scan_buffer_bind(scan, (void *)args.bytes);
    if (command == GEN_lapilliBindImage)
        return scan_image_bind(scan, (void *)args.bytes);
    if (command == GEN_lapilliSharedMemory)
        return scan_sharing(scan, (void *)args.bytes);
    if (command == GEN_vkFreeMemory)
        replay_aliases_unshare(scan->aliases,
                               gen_u64_VkDeviceMemory(((struct gen_args_vkFreeMemory *)(void *)args.bytes)->memory));
    else if (command == GEN_vkDestroyBuffer)
        replay_aliases_remove(scan->aliases, GEN_HANDLE_VkBuffer,
                              gen_u64_VkBuffer(((struct gen_args_vkDestroyBuffer *)(void *)args.bytes)->buffer));
    else
        replay_aliases_remove(scan->aliases, GEN_HANDLE_VkImage,
                              gen_u64_VkImage(((struct gen_args_vkDestroyImage *)(void *)args.bytes)->image));
    return LAP_OK;
}

/* The ticket behind which there are no more objects that share memory, as the layer has noted; 0: there are none. A
 * trace that ended early, or was written by something else, tells nothing. */
static uint64_t last_alias(const struct lap_reader_summary *summary)
{
    const uint64_t *counters = summary->counters;

    if (!summary->complete || !counters[LAP_COUNTER_BINDS])
        return UINT64_MAX;
    if (!counters[LAP_COUNTER_ALIASED_BINDS])
        return 0;
    return counters[LAP_COUNTER_LAST_ALIASED] ? counters[LAP_COUNTER_LAST_ALIASED] : UINT64_MAX;
}

enum lap_status replay_find_aliases(const struct lap_reader *trace, uint64_t last_frame, struct replay_aliases **out)
{
    struct scan scan = {0};
    struct lap_packet packet = {0};
    enum lap_status status;
    uint64_t last;

    *out = NULL;
    status = scan_begin(&scan, trace);
    if (status == LAP_OK)
        status = replay_aliases_create(&scan.aliases);
    if (status == LAP_OK) {
        scan.source = lap_dictionary_source(&scan.dictionary);
        last = last_alias(lap_reader_summary(scan.reader));
        while (status == LAP_OK && packet.ticket < last && lap_reader_next(scan.reader, &packet) == LAP_OK &&
               !(last_frame && packet.frame >= last_frame))
            status = scan_for_aliases(&scan, &packet);
    }
    if (status == LAP_OK)
        status = replay_aliases_seal(scan.aliases);
    if (status != LAP_OK)
        replay_aliases_destroy(&scan.aliases);
    *out = scan.aliases;
    scan_end(&scan);
    return status;
}
