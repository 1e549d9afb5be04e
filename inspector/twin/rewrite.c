/* SPDX-License-Identifier: MIT */
#include "inspector/twin/rewrite.h"

#include <inttypes.h>
#include <stdlib.h>

#include "gen_decode.h"
#include "inspector/twin/recode.h"
#include "vulkan/block.h"
#include "vulkan/chain.h"

#define ARENA_BYTES ((size_t)1 << 30)

struct rewrite {
    const struct rewrite_visitor *visitor;
    struct lap_edits *edits;
    struct lap_reader *reader;
    struct lap_dictionary dictionary;
    struct recode recode;
    struct lap_arena arena;
    struct lap_packet packet;
    uint64_t *blocks; /* [blob]: what stands for it, itself too; 0: not known yet */
    uint64_t block_count;
};

static enum lap_status add_edit(struct rewrite *w)
{
    const struct lap_enc *enc = &w->recode.enc;
    const struct lap_edit edit = {.ticket = w->packet.ticket,
                                  .kind = LAP_EDIT_INSTEAD,
                                  .command = w->packet.command,
                                  .body = enc->base,
                                  .bytes = (size_t)(enc->p - enc->base)};
    return lap_edits_add(w->edits, &edit);
}

static enum lap_status not_known(uint32_t command)
{
    return lap_fail(LAP_ERROR_UNSUPPORTED, "%s has a structure that this build does not know, so it can't change",
                    gen_command_names[command]);
}

/* ---- blocks ---- */

/* Appends the next command to what is encoded, changed or not. */
static enum lap_status rewrite_command(struct rewrite *w, struct lap_block *block, bool *changed)
{
    const struct rewrite_visitor *visitor = w->visitor;
    const uint8_t *from = block->dec.p;
    struct rewrite_call call = {.arena = &w->arena, .in_block = true};
    struct lap_args args;
    bool changes = false;
    enum lap_status status;

    lap_arena_reset(&w->arena);
    block->dec.unknown_structs = 0;
    status = lap_block_next(block, &call.command, &args);
    call.args = args.bytes;
    if (status == LAP_OK && visitor->wants(visitor->user, call.command))
        status = visitor->visit(visitor->user, &call, &changes);
    if (status != LAP_OK)
        return status;
    *changed |= changes;
    if (!changes) {
        lap_enc_raw(&w->recode.enc, from, (size_t)(block->dec.p - from));
        return LAP_OK;
    }
    return block->dec.unknown_structs ? not_known(call.command) : recode_command(&w->recode, call.command, args.bytes);
}

/* *out: the blob that stands for this one. */
static enum lap_status rewrite_block(struct rewrite *w, uint64_t id, uint64_t *out)
{
    const struct lap_enc *enc = &w->recode.enc;
    struct lap_block block;
    const uint8_t *data;
    size_t bytes;
    bool changed = false;
    enum lap_status status;

    *out = id < w->block_count ? w->blocks[id] : 0;
    if (*out)
        return LAP_OK;
    status = lap_reader_blob(w->reader, LAP_BLOB_BLOCK, id, &data, &bytes);
    if (status != LAP_OK)
        return status;
    lap_enc_reset(&w->recode.enc);
    lap_block_init(&block, data, bytes, 0, &w->dictionary, &w->arena, &w->recode.source);
    while (status == LAP_OK)
        status = rewrite_command(w, &block, &changed);
    *out = id;
    if (status == LAP_END && enc->failed)
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
    if (status == LAP_END && changed)
        status = lap_edits_blob(w->edits, LAP_BLOB_BLOCK, enc->base, (size_t)(enc->p - enc->base), out);
    if (id < w->block_count)
        w->blocks[id] = *out;
    return status == LAP_END ? LAP_OK : status;
}

static enum lap_status rewrite_recording(struct rewrite *w, const struct gen_args_lapilliBlock *recording)
{
    struct gen_args_lapilliBlock args = *recording;
    enum lap_status status = rewrite_block(w, recording->block, &args.block);

    if (status != LAP_OK || args.block == recording->block)
        return status;
    status = recode_packet(&w->recode, GEN_lapilliBlock, &args);
    return status == LAP_OK ? add_edit(w) : status;
}

/* ---- packets ---- */

static enum lap_status rewrite_packet(struct rewrite *w, uint32_t command)
{
    const struct rewrite_visitor *visitor = w->visitor;
    struct rewrite_call call = {.command = command, .arena = &w->arena};
    struct lap_args args;
    bool changed = false, whole = true;
    enum lap_status status;

    lap_arena_reset(&w->arena);
    status = recode_decode(&w->recode, &w->packet, &w->arena, command, args.bytes);
    if (status == LAP_ERROR_UNSUPPORTED) { /* it may be read, and may not change */
        whole = false;
        status = LAP_OK;
    }
    if (status == LAP_OK && command == GEN_lapilliBlock)
        return rewrite_recording(w, (const void *)args.bytes);
    call.args = args.bytes;
    if (status == LAP_OK)
        status = visitor->visit(visitor->user, &call, &changed);
    if (status != LAP_OK || !changed)
        return status;
    status = whole ? recode_packet(&w->recode, command, args.bytes) : not_known(command);
    return status == LAP_OK ? add_edit(w) : status;
}

static enum lap_status next_packet(struct rewrite *w)
{
    const struct rewrite_visitor *visitor = w->visitor;
    enum lap_status status = lap_reader_next(w->reader, &w->packet);
    uint32_t command;

    if (status != LAP_OK || w->packet.is_new || w->packet.flags & (LAP_PACKET_FAILED | LAP_PACKET_INFO))
        return status;
    command = lap_dictionary_command(&w->dictionary, w->packet.command);
    if (!gen_decode_table[command] ||
        !(command == GEN_lapilliBlock ? visitor->blocks : visitor->wants(visitor->user, command)))
        return LAP_OK;
    status = rewrite_packet(w, command);
    return status < 0
               ? lap_fail_context(status, "packet %" PRIu64 " (%s)", w->packet.ticket - 1, gen_command_names[command])
               : status;
}

enum lap_status rewrite_trace(const struct lap_reader *trace, const struct rewrite_visitor *visitor,
                              struct lap_edits *edits)
{
    struct rewrite *w = calloc(1, sizeof *w);
    enum lap_status status;

    if (!w)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    w->visitor = visitor;
    w->edits = edits;
    lap_arena_init(&w->arena, ARENA_BYTES);
    status = lap_reader_open_again(trace, NULL, &w->reader);
    if (status == LAP_OK)
        status = lap_dictionary_init(&w->dictionary, w->reader);
    if (status == LAP_OK) {
        recode_init(&w->recode, &w->dictionary);
        w->recode.edits = edits;
        w->block_count = lap_reader_summary(w->reader)->blobs + 1;
        w->blocks = calloc(w->block_count, sizeof *w->blocks);
        if (!w->blocks)
            status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    while (status == LAP_OK)
        status = next_packet(w);
    recode_finish(&w->recode);
    lap_dictionary_release(&w->dictionary);
    lap_arena_finish(&w->arena);
    if (w->reader)
        lap_reader_close(&w->reader);
    free(w->blocks);
    free(w);
    /* A replay plays what is in front of damage, and reports it. */
    return status == LAP_END || status == LAP_ERROR_FORMAT ? LAP_OK : status;
}

enum lap_status rewrite_enable_feature(const struct rewrite_call *call, size_t feature, bool *out_changed)
{
    const struct gen_args_vkCreateDevice *args = call->args;
    VkDeviceCreateInfo *info = (VkDeviceCreateInfo *)(uintptr_t)args->pCreateInfo;
    const VkPhysicalDeviceFeatures2 *chained;
    VkPhysicalDeviceFeatures *features;
    VkBool32 *enabled;

    if (!info)
        return LAP_OK;
    chained = lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    features = (VkPhysicalDeviceFeatures *)(uintptr_t)(chained ? &chained->features : info->pEnabledFeatures);
    if (!features) {
        features = lap_arena_zalloc(call->arena, 1, sizeof *features, _Alignof(VkPhysicalDeviceFeatures));
        if (!features)
            return lap_no_memory("features of a device");
        info->pEnabledFeatures = features;
    }
    enabled = (VkBool32 *)(void *)((char *)features + feature);
    *out_changed = !*enabled;
    *enabled = VK_TRUE;
    return LAP_OK;
}
