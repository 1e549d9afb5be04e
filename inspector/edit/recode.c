/* SPDX-License-Identifier: MIT */
#include "inspector/edit/recode.h"

#include "codegen/support/walk.h"
#include "gen_reflect.h"

void recode_init(struct recode *recode, const struct lap_dictionary *dictionary)
{
    *recode = (struct recode){.dictionary = dictionary};
    for (uint32_t i = 0; i < GEN_HANDLE_COUNT; i++) {
        lap_map_init(&recode->maps[i]);
        recode->list[i] = &recode->maps[i];
    }
    for (uint32_t i = 0; i < dictionary->struct_count; i++)
        recode->other_structs |= dictionary->structs[i] && dictionary->structs[i] != i;
    recode->tables.maps = recode->list;
    lap_arena_init(&recode->arena, 0);
    lap_enc_init(&recode->enc, &recode->tables, NULL);
    recode->enc.takes_hidden = true; /* the same as the source */
}

void recode_finish(struct recode *recode)
{
    if (!recode->dictionary)
        return;
    for (uint32_t i = 0; i < GEN_HANDLE_COUNT; i++)
        lap_map_finish(&recode->maps[i]);
    lap_arena_finish(&recode->arena);
    lap_enc_finish(&recode->enc);
}

void recode_know(struct recode *recode, uint32_t type, uint64_t index)
{
    struct lap_object *object;

    if (!index || lap_map_get(&recode->maps[type], index))
        return;
    object = lap_arena_zalloc(&recode->arena, 1, sizeof *object, _Alignof(struct lap_object));
    if (object)
        *object = (struct lap_object){.index = index, .handle = index, .type = type};
    recode->failed |= !object || lap_map_put(&recode->maps[type], index, object, NULL) != LAP_OK;
}

static void see_value(void *user, const struct lap_place *place, const struct lap_value *value)
{
    if (value->kind == LAP_VALUE_HANDLE)
        recode_know(user, value->type, value->u);
}

static bool begin_struct(void *user, const struct lap_place *place, uint32_t number)
{
    struct recode *recode = user;

    if (recode->other_structs && place->in_array && place->member && place->member->shape == GEN_SHAPE_PNEXT)
        recode->enc.unknown_structs++;
    return true;
}

void recode_know_all(struct recode *recode, uint32_t command, const void *args)
{
    const struct lap_visitor visitor = {.begin_struct = begin_struct, .value = see_value, .user = recode};
    lap_walk_command(command, args, false, &visitor);
}

enum lap_status recode_number(const struct recode *recode, uint32_t command, uint32_t *out)
{
    for (uint32_t i = 1; i < recode->dictionary->command_count; i++)
        if (lap_dictionary_command(recode->dictionary, i) == command) {
            *out = i;
            return LAP_OK;
        }
    return lap_fail(LAP_ERROR_UNSUPPORTED, "its dictionary has no %s", gen_command_names[command]);
}

enum lap_status recode_status(const struct recode *recode)
{
    if (recode->failed || recode->enc.failed)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    if (recode->enc.unknown_structs)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "a build with another registry recorded it, and what is cut has a "
                                               "chained structure");
    return LAP_OK;
}
