/* SPDX-License-Identifier: MIT */
#include "replayer/witness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codegen/support/walk.h"
#include "gen_reflect.h"
#include "replayer/shader.h"

struct look {
    struct replay_witnesses *witnesses;
    uint64_t frame, ticket;
    uint32_t command;
    uint16_t structs[LAP_WALK_MAX_DEPTH + 1]; /* those that the walk is in */
    uint32_t depth;
};

/* ---- the table ---- */

/* Whether a stands before what is looked for. */
static bool is_before(const struct gen_witness *a, unsigned kind, uint32_t owner, unsigned member)
{
    if (a->kind != kind)
        return a->kind < kind;
    if (a->owner != owner)
        return a->owner < owner;
    return a->member < member;
}

static size_t first_of(unsigned kind, uint32_t owner, unsigned member)
{
    size_t low = 0, high = GEN_WITNESS_COUNT;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (is_before(&gen_witnesses[middle], kind, owner, member))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(size_t i, unsigned kind, uint32_t owner, unsigned member)
{
    return i < GEN_WITNESS_COUNT && gen_witnesses[i].kind == kind && gen_witnesses[i].owner == owner &&
           gen_witnesses[i].member == member;
}

static void testify(struct look *look, size_t i)
{
    struct replay_evidence *evidence = &look->witnesses->evidence[gen_witnesses[i].subject];

    if (!evidence->witness)
        *evidence = (struct replay_evidence){(uint16_t)(i + 1), look->frame, look->ticket};
}

/* All rows that need no value. */
static void testify_all(struct look *look, unsigned kind, uint32_t owner)
{
    for (size_t i = first_of(kind, owner, 0); is_at(i, kind, owner, 0); i++)
        testify(look, i);
}

/* ---- values ---- */

static bool holds(const struct gen_witness *witness, const struct lap_value *value)
{
    int64_t number = value->kind == LAP_VALUE_SIGNED || value->kind == LAP_VALUE_ENUM ? value->i : (int64_t)value->u;
    bool is_float = value->kind == LAP_VALUE_FLOAT;

    switch ((enum gen_operator)witness->op) {
    case GEN_OPERATOR_SET:
        return is_float ? value->f != 0 : value->u != 0;
    case GEN_OPERATOR_EQUAL:
        return is_float ? value->f == (double)witness->value : number == witness->value;
    case GEN_OPERATOR_ABOVE:
        return is_float ? value->f > (double)witness->value : number > witness->value;
    case GEN_OPERATOR_BITS:
        return !is_float && (value->u & (uint64_t)witness->value) != 0;
    case GEN_OPERATOR_DIFFER:
        return false;
    }
    return false;
}

/* Where the member is: the command's parameters, or the structure that the walk is in. */
static void owner_of(const struct look *look, const struct lap_place *place, unsigned *kind, uint32_t *owner,
                     unsigned *member)
{
    const struct gen_member *members;

    if (look->depth) {
        *kind = GEN_WITNESS_MEMBER;
        *owner = look->structs[look->depth - 1];
        members = gen_struct_infos[*owner].members;
    } else {
        *kind = GEN_WITNESS_PARAMETER;
        *owner = look->command;
        members = gen_command_infos[*owner].members;
    }
    *member = (unsigned)(place->member - members);
}

static void see_value(void *user, const struct lap_place *place, const struct lap_value *value)
{
    struct look *look = user;
    unsigned kind, member;
    uint32_t owner;

    if (value->kind == LAP_VALUE_STRING || value->kind == LAP_VALUE_BYTES)
        return;
    owner_of(look, place, &kind, &owner, &member);
    for (size_t i = first_of(kind, owner, member); is_at(i, kind, owner, member); i++)
        if (holds(&gen_witnesses[i], value))
            testify(look, i);
    if (value->kind == LAP_VALUE_ENUM || value->kind == LAP_VALUE_FLAGS)
        for (size_t i = first_of(GEN_WITNESS_VALUE, value->type, 0); is_at(i, GEN_WITNESS_VALUE, value->type, 0); i++)
            if (holds(&gen_witnesses[i], value))
                testify(look, i);
}

static bool all_same(const struct lap_place *place, uint64_t count)
{
    const char *first;

    if (place->member->shape != GEN_SHAPE_POINTER)
        return true;
    memcpy(&first, place->at, sizeof first);
    for (uint64_t i = 1; i < count; i++)
        if (memcmp(first, first + i * place->member->element_bytes, place->member->element_bytes) != 0)
            return false;
    return true;
}

static bool see_array(void *user, const struct lap_place *place, uint64_t count)
{
    struct look *look = user;
    unsigned kind, member;
    uint32_t owner;

    owner_of(look, place, &kind, &owner, &member);
    for (size_t i = first_of(kind, owner, member); is_at(i, kind, owner, member); i++)
        if (gen_witnesses[i].op == GEN_OPERATOR_DIFFER && !all_same(place, count))
            testify(look, i);
    return true;
}

/* ---- shaders ---- */

static void see_code(struct look *look, const void *code, size_t bytes)
{
    struct replay_shader shader;

    if (!replay_shader_read(code, bytes / 4, &shader))
        return;
    for (uint32_t i = 0; i < shader.capability_count; i++)
        if (shader.capabilities[i] <= UINT16_MAX)
            testify_all(look, GEN_WITNESS_CAPABILITY, shader.capabilities[i]);
    for (uint32_t i = 0; i < shader.extension_count; i++)
        for (uint32_t j = 0; j < GEN_SPIRV_EXTENSION_COUNT; j++)
            if (strcmp(shader.extensions[i], gen_spirv_extensions[j]) == 0)
                testify_all(look, GEN_WITNESS_SPIRV, j);
    for (uint32_t i = 0; i < GEN_STORES_COUNT; i++)
        if (shader.stores[i])
            testify_all(look, GEN_WITNESS_STORES, i);
}

static bool see_struct(void *user, const struct lap_place *place, uint32_t number)
{
    struct look *look = user;

    if (look->depth >= sizeof look->structs / sizeof look->structs[0])
        return false;
    look->structs[look->depth++] = (uint16_t)number;
    testify_all(look, GEN_WITNESS_STRUCT, number);
    if (number == GEN_STRUCT_VkShaderModuleCreateInfo) {
        const VkShaderModuleCreateInfo *info = place->at;
        see_code(look, info->pCode, info->codeSize);
    }
#ifdef VK_EXT_shader_object
    if (number == GEN_STRUCT_VkShaderCreateInfoEXT) {
        const VkShaderCreateInfoEXT *info = place->at;
        if (info->codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT)
            see_code(look, info->pCode, info->codeSize);
    }
#endif
    return true;
}

static void leave_struct(void *user, const struct lap_place *place, uint32_t number)
{
    struct look *look = user;
    (void)place, (void)number;
    look->depth--;
}

void replay_witness_look(struct replay_witnesses *witnesses, uint32_t command, const void *args, uint64_t frame,
                         uint64_t ticket)
{
    struct look look = {.witnesses = witnesses, .frame = frame, .ticket = ticket, .command = command};
    struct lap_visitor visitor = {.begin_struct = see_struct,
                                  .end_struct = leave_struct,
                                  .begin_array = see_array,
                                  .value = see_value,
                                  .user = &look};

    testify_all(&look, GEN_WITNESS_COMMAND, command);
    lap_walk_command(command, args, false, &visitor);
}

/* ---- names ---- */

uint16_t replay_feature_number(const char *name)
{
    uint16_t low = 0, high = GEN_FEATURE_COUNT;

    while (low < high) {
        uint16_t middle = (uint16_t)((low + high) / 2);
        int order = strcmp(gen_features[middle].name, name);
        if (order == 0)
            return middle;
        if (order < 0)
            low = (uint16_t)(middle + 1);
        else
            high = middle;
    }
    return GEN_FEATURE_COUNT;
}

uint16_t replay_extension_number(const char *name)
{
    for (uint16_t i = 0; i < GEN_EXTENSION_COUNT; i++)
        if (strcmp(gen_extensions[i].name, name) == 0)
            return i;
    return GEN_EXTENSION_COUNT;
}

static const char *value_name(const struct gen_enum_info *info, int64_t value)
{
    for (uint32_t i = 0; i < info->value_count; i++)
        if (info->values[i].value == value)
            return info->values[i].name;
    return info->name;
}

static const char *capability_name(uint32_t number)
{
    for (uint32_t i = 0; i < GEN_CAPABILITY_COUNT; i++)
        if (gen_capabilities[i].number == number)
            return gen_capabilities[i].name;
    return "?";
}

static void write_witness(const struct gen_witness *w, char *out, size_t bytes)
{
    switch ((enum gen_witness_kind)w->kind) {
    case GEN_WITNESS_COMMAND:
        snprintf(out, bytes, "%s", gen_command_names[w->owner]);
        break;
    case GEN_WITNESS_STRUCT:
        snprintf(out, bytes, "%s", gen_struct_names[w->owner]);
        break;
    case GEN_WITNESS_MEMBER:
        snprintf(out, bytes, "%s.%s", gen_struct_names[w->owner], gen_struct_infos[w->owner].members[w->member].name);
        break;
    case GEN_WITNESS_PARAMETER:
        snprintf(out, bytes, "%s.%s", gen_command_names[w->owner], gen_command_infos[w->owner].members[w->member].name);
        break;
    case GEN_WITNESS_VALUE:
        snprintf(out, bytes, "%s", value_name(&gen_enums[w->owner], w->value));
        break;
    case GEN_WITNESS_CAPABILITY:
        snprintf(out, bytes, "a shader declares %s", capability_name(w->owner));
        break;
    case GEN_WITNESS_SPIRV:
        snprintf(out, bytes, "a shader declares %s", gen_spirv_extensions[w->owner]);
        break;
    case GEN_WITNESS_STORES:
        snprintf(out, bytes, "a %s shader stores to memory", w->owner == GEN_STORES_FRAGMENT ? "fragment" : "vertex");
        break;
    }
}

void replay_evidence_text(const struct replay_evidence *evidence, char *out, size_t bytes)
{
    char witness[192];

    if (!evidence->witness) {
        snprintf(out, bytes, "it was enabled");
        return;
    }
    write_witness(&gen_witnesses[evidence->witness - 1], witness, sizeof witness);
    snprintf(out, bytes, "%s, frame %" PRIu64 ", packet %" PRIu64, witness, evidence->frame + 1, evidence->ticket);
}
