/* SPDX-License-Identifier: MIT */
#include "vulkan/walk.h"

#include <string.h>

#include "gen_ids.h"
#include "gen_reflect.h"

struct walk {
    const struct lap_visitor *visitor;
    unsigned depth;
};

static void walk_struct(struct walk *walk, const struct lap_place *place, uint32_t number, const void *data,
                        uint64_t selector);

static uint64_t load_unsigned(const void *at, uint32_t bytes)
{
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    switch (bytes) {
    case 1:
        memcpy(&one, at, 1);
        return one;
    case 2:
        memcpy(&two, at, 2);
        return two;
    case 4:
        memcpy(&four, at, 4);
        return four;
    case 8:
        memcpy(&eight, at, 8);
        return eight;
    default:
        return 0;
    }
}

static int64_t sign_extend(uint64_t value, uint32_t bytes)
{
    unsigned shift = bytes < 8 ? 64 - 8 * bytes : 0;
    return (int64_t)(value << shift) >> shift;
}

static const void *load_pointer(const void *at)
{
    const void *pointer;
    memcpy(&pointer, at, sizeof pointer);
    return pointer;
}

static const struct gen_member *sibling(const struct gen_member *members, uint8_t index)
{
    return &members[index];
}

uint64_t lap_walk_number(const struct gen_member *members, uint8_t index, const void *owner)
{
    const struct gen_member *member = sibling(members, index);
    if (member->shape == GEN_SHAPE_BITS)
        return member->compute(owner, 0);
    return load_unsigned((const char *)owner + member->offset, member->element_bytes);
}

uint64_t lap_walk_count(const struct gen_member *members, const struct gen_member *member, const void *owner)
{
    const void *pointee;

    switch ((enum gen_count)member->count_kind) {
    case GEN_COUNT_CONSTANT:
        return member->count;
    case GEN_COUNT_MEMBER:
        return lap_walk_number(members, member->count_member, owner);
    case GEN_COUNT_POINTEE:
        pointee = load_pointer((const char *)owner + sibling(members, member->count_member)->offset);
        return pointee ? load_unsigned(pointee, sibling(members, member->count_member)->element_bytes) : 0;
    case GEN_COUNT_COMPUTE:
        return member->compute(owner, 0);
    }
    return 0;
}

static void visit_value(struct walk *walk, const struct lap_place *place, const struct lap_value *value)
{
    if (walk->visitor->value)
        walk->visitor->value(walk->visitor->user, place, value);
}

static void visit_null(struct walk *walk, const struct lap_place *place)
{
    if (walk->visitor->null)
        walk->visitor->null(walk->visitor->user, place);
}

static bool begin_array(struct walk *walk, const struct lap_place *place, uint64_t count)
{
    if (walk->depth >= LAP_WALK_MAX_DEPTH ||
        (walk->visitor->begin_array && !walk->visitor->begin_array(walk->visitor->user, place, count)))
        return false;
    walk->depth++;
    return true;
}

static void end_array(struct walk *walk, const struct lap_place *place)
{
    walk->depth--;
    if (walk->visitor->end_array)
        walk->visitor->end_array(walk->visitor->user, place);
}

static void visit_string(struct walk *walk, const struct lap_place *place, const char *text, size_t bytes)
{
    struct lap_value value = {.kind = LAP_VALUE_STRING, .data = text, .bytes = bytes};
    visit_value(walk, place, &value);
}

/* Visits a number, handle or address with the bits `raw`. */
static void visit_number(struct walk *walk, const struct lap_place *place, uint64_t raw, uint64_t selector)
{
    const struct gen_member *member = place->member;
    struct lap_value value = {.type = member->type, .width = member->element_bytes, .u = raw, .i = (int64_t)raw};
    float narrow;
    uint32_t bits;

    switch ((enum gen_element)member->element) {
    case GEN_ELEMENT_SIGNED:
        value.kind = LAP_VALUE_SIGNED;
        value.i = sign_extend(raw, value.width);
        break;
    case GEN_ELEMENT_FLOAT:
        value.kind = LAP_VALUE_FLOAT;
        if (value.width == 4) {
            bits = (uint32_t)raw;
            memcpy(&narrow, &bits, 4);
            value.f = (double)narrow;
        } else {
            memcpy(&value.f, &raw, 8);
        }
        break;
    case GEN_ELEMENT_BOOL:
        value.kind = LAP_VALUE_BOOL;
        break;
    case GEN_ELEMENT_ENUM:
        value.kind = LAP_VALUE_ENUM;
        value.i = sign_extend(raw, value.width);
        break;
    case GEN_ELEMENT_FLAGS:
        value.kind = LAP_VALUE_FLAGS;
        break;
    case GEN_ELEMENT_HANDLE:
        value.kind = LAP_VALUE_HANDLE;
        break;
    case GEN_ELEMENT_OBJECT:
        value.type = gen_handle_type_of((VkObjectType)selector);
        value.kind = value.type == GEN_HANDLE_NONE ? LAP_VALUE_UNSIGNED : LAP_VALUE_HANDLE;
        break;
    case GEN_ELEMENT_OPAQUE:
        value.kind = LAP_VALUE_ADDRESS;
        break;
    default:
        value.kind = LAP_VALUE_UNSIGNED;
        break;
    }
    visit_value(walk, place, &value);
}

static void visit_element(struct walk *walk, const struct lap_place *place, uint64_t selector)
{
    const struct gen_member *member = place->member;
    if (member->element == GEN_ELEMENT_STRUCT)
        walk_struct(walk, place, member->type, place->at, selector);
    else
        visit_number(walk, place, load_unsigned(place->at, member->element_bytes), selector);
}

static void visit_elements(struct walk *walk, struct lap_place place, const void *first, uint64_t count,
                           uint64_t selector)
{
    struct lap_place element = place;

    if (!begin_array(walk, &place, count))
        return;
    element.in_array = true;
    for (uint64_t i = 0; i < count; i++) {
        element.index = i;
        element.at = (const char *)first + i * place.member->element_bytes;
        visit_element(walk, &element, selector);
    }
    end_array(walk, &place);
}

static void visit_chain(struct walk *walk, const struct lap_place *place, const void *chain)
{
    struct lap_place element = *place;
    uint64_t count = 0;

    for (const VkBaseInStructure *s = chain; s; s = s->pNext)
        count++;
    if (!begin_array(walk, place, count))
        return;
    element.in_array = true;
    element.index = 0;
    for (const VkBaseInStructure *s = chain; s; s = s->pNext, element.index++) {
        uint32_t number = gen_struct_of_type(s->sType);
        element.at = s;
        if (number != GEN_STRUCT_NONE)
            walk_struct(walk, &element, number, s, 0);
    }
    end_array(walk, place);
}

static void visit_rows(struct walk *walk, const struct lap_place *place, const void *const *rows, uint64_t count)
{
    struct lap_place row = *place;

    if (!begin_array(walk, place, count))
        return;
    row.in_array = true;
    for (uint64_t i = 0; i < count; i++) {
        row.index = i;
        row.at = &rows[i];
        if (rows[i])
            visit_elements(walk, row, rows[i], place->member->compute(place->owner, i), 0);
        else
            visit_null(walk, &row);
    }
    end_array(walk, place);
}

static void visit_strings(struct walk *walk, const struct lap_place *place, const char *const *strings, uint64_t count)
{
    struct lap_place element = *place;

    if (!begin_array(walk, place, count))
        return;
    element.in_array = true;
    for (uint64_t i = 0; i < count; i++) {
        element.index = i;
        element.at = &strings[i];
        if (strings[i])
            visit_string(walk, &element, strings[i], strlen(strings[i]));
        else
            visit_null(walk, &element);
    }
    end_array(walk, place);
}

static void visit_pointed(struct walk *walk, struct lap_place place, const struct gen_member *members,
                          const void *pointee)
{
    const struct gen_member *member = place.member;
    struct lap_value bytes = {.kind = LAP_VALUE_BYTES, .data = pointee};

    if (!pointee) {
        visit_null(walk, &place);
        return;
    }
    switch ((enum gen_shape)member->shape) {
    case GEN_SHAPE_STRING:
        visit_string(walk, &place, pointee, strlen(pointee));
        break;
    case GEN_SHAPE_STRINGS:
        visit_strings(walk, &place, pointee, lap_walk_count(members, member, place.owner));
        break;
    case GEN_SHAPE_BYTES:
        bytes.bytes = (size_t)lap_walk_count(members, member, place.owner);
        visit_value(walk, &place, &bytes);
        break;
    case GEN_SHAPE_PNEXT:
        visit_chain(walk, &place, pointee);
        break;
    case GEN_SHAPE_POINTERS:
        visit_rows(walk, &place, pointee, lap_walk_count(members, member, place.owner));
        break;
    default:
        if (member->count_kind == GEN_COUNT_CONSTANT && member->count == 1) {
            place.at = pointee;
            visit_element(walk, &place, 0);
        } else {
            visit_elements(walk, place, pointee, lap_walk_count(members, member, place.owner), 0);
        }
        break;
    }
}

static void visit_member(struct walk *walk, const struct gen_member *members, const struct gen_member *member,
                         const void *owner)
{
    struct lap_place place = {.member = member, .owner = owner, .at = (const char *)owner + member->offset};
    uint64_t selector = member->selector == GEN_MEMBER_NONE ? 0 : lap_walk_number(members, member->selector, owner);

    switch ((enum gen_shape)member->shape) {
    case GEN_SHAPE_SKIP:
        break;
    case GEN_SHAPE_VALUE:
    case GEN_SHAPE_STYPE:
        visit_element(walk, &place, selector);
        break;
    case GEN_SHAPE_BITS:
        place.at = NULL;
        visit_number(walk, &place, member->compute(owner, 0), selector);
        break;
    case GEN_SHAPE_ARRAY:
        if (member->element == GEN_ELEMENT_CHAR)
            visit_string(walk, &place, place.at, strnlen(place.at, member->count));
        else if (member->element == GEN_ELEMENT_UNSIGNED && member->element_bytes == 1)
            visit_value(walk, &place,
                        &(struct lap_value){.kind = LAP_VALUE_BYTES, .data = place.at, .bytes = member->count});
        else
            visit_elements(walk, place, place.at, member->count, selector);
        break;
    default:
        visit_pointed(walk, place, members, load_pointer(place.at));
        break;
    }
}

static void visit_selected(struct walk *walk, const struct gen_struct_info *info, const void *data, uint64_t selector)
{
    for (uint32_t i = 0; i < info->selection_count; i++)
        if (info->selections[i].value == (int64_t)selector) {
            visit_member(walk, info->members, &info->members[info->selections[i].member], data);
            return;
        }
}

static void walk_struct(struct walk *walk, const struct lap_place *place, uint32_t number, const void *data,
                        uint64_t selector)
{
    const struct gen_struct_info *info = &gen_struct_infos[number];
    const struct lap_visitor *visitor = walk->visitor;

    if (info->bytes == 0 || walk->depth >= LAP_WALK_MAX_DEPTH)
        return;
    if (visitor->begin_struct && !visitor->begin_struct(visitor->user, place, number))
        return;
    walk->depth++;
    if (info->is_union && !info->raw) {
        visit_selected(walk, info, data, selector);
    } else {
        for (uint32_t i = 0; i < info->member_count; i++) {
            /* The chain lists its own elements. */
            if (place->in_array && place->member && place->member->shape == GEN_SHAPE_PNEXT &&
                info->members[i].shape == GEN_SHAPE_PNEXT)
                continue;
            visit_member(walk, info->members, &info->members[i], data);
        }
    }
    walk->depth--;
    if (visitor->end_struct)
        visitor->end_struct(visitor->user, place, number);
}

void lap_walk_struct(uint32_t struct_number, const void *data, const struct lap_visitor *visitor)
{
    struct walk walk = {.visitor = visitor};
    struct lap_place place = {.at = data};
    walk_struct(&walk, &place, struct_number, data, 0);
}

void lap_walk_command(uint32_t command, const void *args, bool with_result, const struct lap_visitor *visitor)
{
    const struct gen_command_info *info = &gen_command_infos[command];
    struct walk walk = {.visitor = visitor};

    for (uint32_t i = 0; i < info->member_count; i++)
        visit_member(&walk, info->members, &info->members[i], args);
    if (with_result && info->has_result)
        visit_member(&walk, info->members, &info->members[info->member_count], args);
}

const struct gen_member *lap_walk_result_member(uint32_t command)
{
    const struct gen_command_info *info = &gen_command_infos[command];
    return info->has_result ? &info->members[info->member_count] : NULL;
}
