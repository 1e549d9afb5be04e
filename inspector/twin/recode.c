/* SPDX-License-Identifier: MIT */
#include "inspector/twin/recode.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_recode.h"
#include "gen_reflect.h"
#include "vulkan/conditions.h"
#include "vulkan/walk.h"

static void latch(struct recode *recode, enum lap_status status)
{
    recode->status = recode->status == LAP_OK ? status : recode->status;
}

/* ---- blobs ---- */

static enum lap_status read_blob(void *user, uint64_t id, const uint8_t **out_data, size_t *out_bytes)
{
    struct recode *recode = user;
    enum lap_status status = lap_reader_blob(recode->dictionary->reader, LAP_BLOB_DATA, id, out_data, out_bytes);

    if (status != LAP_OK)
        return status;
    if (!lap_array_grow(&recode->blobs, sizeof *recode->blobs, &recode->blob_capacity, recode->blob_count + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    recode->blobs[recode->blob_count++] = (struct recode_blob){*out_data, *out_bytes, id, false};
    return LAP_OK;
}

static uint64_t blob_of(void *user, const void *data, size_t bytes)
{
    struct recode *recode = user;
    uint64_t number = 0;

    for (size_t i = 0; i < recode->blob_count; i++)
        if (recode->blobs[i].data == data && recode->blobs[i].bytes == bytes)
            return recode->blobs[i].used = true, recode->blobs[i].number;
    if (recode->edits && bytes >= LAP_BLOB_MIN_BYTES)
        latch(recode, lap_edits_blob(recode->edits, LAP_BLOB_DATA, data, bytes, &number));
    return number;
}

void recode_forget(struct recode *recode)
{
    recode->blob_count = 0;
}

static uint32_t struct_id(void *user, uint64_t number)
{
    const struct recode *recode = user;
    return lap_dictionary_struct(recode->dictionary, number);
}

/* ---- encoding ---- */

void recode_init(struct recode *recode, const struct lap_dictionary *dictionary)
{
    *recode = (struct recode){.dictionary = dictionary};
    for (uint32_t i = 0; i < GEN_HANDLE_COUNT; i++) {
        lap_map_init(&recode->maps[i]);
        recode->list[i] = &recode->maps[i];
    }
    for (uint32_t i = dictionary->struct_count; i-- > 0;)
        recode->struct_numbers[dictionary->structs[i]] = i;
    recode->struct_numbers[GEN_STRUCT_NONE] = 0;
    for (uint32_t i = dictionary->command_count; i-- > 1;)
        recode->command_numbers[dictionary->commands[i]] = i;
    recode->tables.maps = recode->list;
    recode->source =
        (struct lap_dec_source){.blob = read_blob, .struct_id = struct_id, .keeps_empty = true, .user = recode};
    lap_arena_init(&recode->arena, 0);
    lap_enc_init(&recode->enc, &recode->tables);
    recode->enc.takes_hidden = recode->enc.decoded = true; /* the same as the source */
    recode->enc.scratch[COND_SCRATCH_SECONDARY] = true;
    recode->enc.struct_numbers = recode->struct_numbers;
    recode->enc.blob_of = blob_of;
    recode->enc.user = recode;
}

void recode_finish(struct recode *recode)
{
    if (!recode->dictionary)
        return;
    for (uint32_t i = 0; i < GEN_HANDLE_COUNT; i++)
        lap_map_finish(&recode->maps[i]);
    lap_arena_finish(&recode->arena);
    lap_enc_finish(&recode->enc);
    free(recode->blobs);
}

void recode_know(struct recode *recode, uint32_t type, uint64_t index)
{
    struct lap_object *object;

    if (!index || lap_map_get(&recode->maps[type], index))
        return;
    object = lap_arena_zalloc(&recode->arena, 1, sizeof *object, _Alignof(struct lap_object));
    if (object)
        *object = (struct lap_object){.index = index, .handle = index, .type = type};
    if (index >= UINT64_MAX - 1)
        latch(recode, lap_fail(LAP_ERROR_FORMAT, "no %s has the number %" PRIu64, gen_handle_names[type], index));
    else
        latch(recode, object ? lap_map_put(&recode->maps[type], index, object, NULL)
                             : lap_fail(LAP_ERROR_MEMORY, "out of memory"));
}

static void see_value(void *user, const struct lap_place *place, const struct lap_value *value)
{
    if (value->kind == LAP_VALUE_HANDLE)
        recode_know(user, value->type, value->u);
}

enum lap_status recode_number(const struct recode *recode, uint32_t command, uint32_t *out)
{
    *out = recode->command_numbers[command];
    return *out ? LAP_OK : lap_fail(LAP_ERROR_UNSUPPORTED, "its dictionary has no %s", gen_command_names[command]);
}

void recode_know_all(struct recode *recode, uint32_t command, const void *args)
{
    const struct lap_visitor visitor = {.value = see_value, .user = recode};
    lap_walk_command(command, args, false, &visitor);
}

enum lap_status recode_status(const struct recode *recode)
{
    if (recode->status != LAP_OK)
        return recode->status;
    if (recode->enc.failed)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    return recode->enc.unknown_structs
               ? lap_fail(LAP_ERROR_UNSUPPORTED, "a build with another registry recorded it, and has no number for a "
                                                 "chained structure")
               : LAP_OK;
}

static enum lap_status encode(struct recode *recode, uint32_t command, const void *args)
{
    if (!recode->knows_all)
        recode_know_all(recode, command, args);
    if (!gen_recode(&recode->enc, command, args))
        return lap_fail(LAP_ERROR_UNSUPPORTED, "this build does not know %s", gen_command_names[command]);
    return recode_status(recode);
}

enum lap_status recode_decode(struct recode *recode, const struct lap_packet *packet, struct lap_arena *arena,
                              uint32_t command, void *out_args)
{
    struct lap_dec dec;

    recode_forget(recode);
    lap_dec_init(&dec, packet->body, packet->bytes, arena, &recode->source);
    gen_decode_table[command](&dec, out_args);
    if (dec.status != LAP_OK)
        return dec.status;
    if (dec.p != dec.end)
        return lap_fail(LAP_ERROR_FORMAT, "%zu bytes are left over", (size_t)(dec.end - dec.p));
    return dec.unknown_structs
               ? lap_fail(LAP_ERROR_UNSUPPORTED, "%s has a structure that this build does not know, so it can't change",
                          gen_command_names[command])
               : LAP_OK;
}

enum lap_status recode_packet(struct recode *recode, uint32_t command, const void *args)
{
    lap_enc_reset(&recode->enc);
    return encode(recode, command, args);
}

enum lap_status recode_command(struct recode *recode, uint32_t command, const void *args)
{
    uint32_t number;
    enum lap_status status = recode_number(recode, command, &number);

    if (status != LAP_OK)
        return status;
    if (lap_enc_reserve(&recode->enc, LAP_WIRE_MAX_VARINT))
        lap_put_u64(&recode->enc, number);
    return encode(recode, command, args);
}
