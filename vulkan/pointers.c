/* SPDX-License-Identifier: MIT */
#include "vulkan/pointers.h"

#include <inttypes.h>
#include <string.h>

#include "gen_ids.h"
#include "gen_reflect.h"
#include "vulkan/walk.h"

#define ELEMENT_LIMIT (UINT64_C(1) << 22) /* structures, rows and strings of one command */

struct walk {
    const struct lap_pointers_visitor *visitor;
    unsigned depth;
    uint64_t elements;
};

static enum lap_status walk_struct(struct walk *walk, uint32_t number, const void *data, uint64_t selector);

static const void *load_pointer(const void *at)
{
    const void *pointer;
    memcpy(&pointer, at, sizeof pointer);
    return pointer;
}

static enum lap_status too_much(void)
{
    return lap_fail(LAP_ERROR_LIMIT, "its parameters are too many, or too deep in each other");
}

static enum lap_status count_in(struct walk *walk, uint64_t elements)
{
    walk->elements += elements < ELEMENT_LIMIT ? elements : ELEMENT_LIMIT;
    return walk->elements < ELEMENT_LIMIT ? LAP_OK : too_much();
}

static size_t alignment_of(const struct gen_member *member)
{
    if (member->element == GEN_ELEMENT_STRUCT)
        return member->element_bytes % 8 == 0 ? 8 : member->element_bytes % 4 == 0 ? 4 : 1;
    return member->element_bytes > 8 || !member->element_bytes ? 1 : member->element_bytes;
}

static enum lap_status point(struct walk *walk, const void *location, uint64_t count, uint64_t bytes, size_t alignment)
{
    if (bytes && count > SIZE_MAX / 2 / bytes)
        return too_much();
    return walk->visitor->pointer(walk->visitor->user, location, load_pointer(location), (size_t)(count * bytes),
                                  alignment);
}

/* ---- elements in memory that may be read ---- */

static enum lap_status visit_handle(struct walk *walk, const struct gen_member *member, const void *at,
                                    uint64_t selector)
{
    uint32_t type = member->element == GEN_ELEMENT_OBJECT ? gen_handle_type_of((VkObjectType)selector) : member->type;
    uint64_t value = 0;

    memcpy(&value, at, member->element_bytes);
    return value && type != GEN_HANDLE_NONE && walk->visitor->handle
               ? walk->visitor->handle(walk->visitor->user, type, value)
               : LAP_OK;
}

static enum lap_status visit_elements(struct walk *walk, const struct gen_member *member, const void *first,
                                      uint64_t count, uint64_t selector)
{
    enum lap_status status = LAP_OK;
    bool is_struct = member->element == GEN_ELEMENT_STRUCT;

    if (!is_struct && member->element != GEN_ELEMENT_HANDLE && member->element != GEN_ELEMENT_OBJECT)
        return LAP_OK;
    status = count_in(walk, count);
    for (uint64_t i = 0; status == LAP_OK && i < count; i++) {
        const char *at = (const char *)first + i * member->element_bytes;

        status = is_struct ? walk_struct(walk, member->type, at, selector) : visit_handle(walk, member, at, selector);
    }
    return status;
}

static enum lap_status visit_chain(struct walk *walk, const void *location)
{
    enum lap_status status = LAP_OK;
    VkBaseInStructure head;

    while (status == LAP_OK && load_pointer(location)) {
        const void *at = load_pointer(location);
        uint32_t number;

        status = count_in(walk, 1);
        if (status == LAP_OK)
            status = point(walk, location, 1, sizeof head, 8);
        if (status != LAP_OK)
            return status;
        memcpy(&head, at, sizeof head);
        number = gen_struct_of_type(head.sType);
        if (number == GEN_STRUCT_NONE || !gen_struct_infos[number].bytes)
            return lap_fail(LAP_ERROR_FORMAT, "no structure of a chain has the type %d", (int)head.sType);
        status = point(walk, location, 1, gen_struct_infos[number].bytes, 8);
        if (status == LAP_OK)
            status = walk_struct(walk, number, at, UINT64_MAX);
        location = (const char *)at + offsetof(VkBaseInStructure, pNext);
    }
    return status;
}

static enum lap_status visit_rows(struct walk *walk, const struct gen_member *member, const void *owner,
                                  const void *location, uint64_t count)
{
    enum lap_status status = count_in(walk, count);

    if (status == LAP_OK)
        status = point(walk, location, count, sizeof(void *), sizeof(void *));
    for (uint64_t i = 0; status == LAP_OK && i < count; i++) {
        const void *row = (const char *)load_pointer(location) + i * sizeof(void *);
        size_t bytes;

        if (!load_pointer(row))
            continue;
        if (member->shape == GEN_SHAPE_STRINGS) {
            status = walk->visitor->string(walk->visitor->user, row, load_pointer(row), &bytes);
        } else {
            uint64_t elements = member->compute(owner, i);

            status = point(walk, row, elements, member->element_bytes, alignment_of(member));
            if (status == LAP_OK)
                status = visit_elements(walk, member, load_pointer(row), elements, 0);
        }
    }
    return status;
}

static enum lap_status visit_member(struct walk *walk, const struct gen_member *members,
                                    const struct gen_member *member, const void *owner, bool in_chain)
{
    const void *at = (const char *)owner + member->offset;
    uint64_t selector = member->selector == GEN_MEMBER_NONE ? 0 : lap_walk_number(members, member->selector, owner);
    enum lap_status status;
    uint64_t count;
    size_t bytes;

    switch ((enum gen_shape)member->shape) {
    case GEN_SHAPE_SKIP:
    case GEN_SHAPE_BITS:
    case GEN_SHAPE_STYPE:
        return LAP_OK;
    case GEN_SHAPE_VALUE:
        return visit_elements(walk, member, at, 1, selector);
    case GEN_SHAPE_ARRAY:
        return visit_elements(walk, member, at, member->count, selector);
    case GEN_SHAPE_PNEXT:
        return in_chain ? LAP_OK : visit_chain(walk, at); /* the chain visits its own elements */
    default:
        break;
    }
    if (!load_pointer(at))
        return LAP_OK;
    if (member->shape == GEN_SHAPE_STRING)
        return walk->visitor->string(walk->visitor->user, at, load_pointer(at), &bytes);
    count = lap_walk_count(members, member, owner);
    if (member->shape == GEN_SHAPE_POINTERS || member->shape == GEN_SHAPE_STRINGS)
        return visit_rows(walk, member, owner, at, count);
    if (member->shape == GEN_SHAPE_BYTES && walk->visitor->bytes && count <= SIZE_MAX / 2)
        return walk->visitor->bytes(walk->visitor->user, at, load_pointer(at), (size_t)count);
    if (member->shape == GEN_SHAPE_BYTES)
        return point(walk, at, count, 1, 1);
    status = point(walk, at, count, member->element_bytes, alignment_of(member));
    return status == LAP_OK ? visit_elements(walk, member, load_pointer(at), count, 0) : status;
}

/* selector: UINT64_MAX: an element of a chain. */
static enum lap_status walk_struct(struct walk *walk, uint32_t number, const void *data, uint64_t selector)
{
    const struct gen_struct_info *info = &gen_struct_infos[number];
    enum lap_status status = LAP_OK;

    if (info->bytes == 0)
        return LAP_OK;
    if (walk->depth >= LAP_WALK_MAX_DEPTH)
        return too_much();
    walk->depth++;
    if (info->is_union && !info->raw) {
        for (uint32_t i = 0; i < info->selection_count; i++)
            if (info->selections[i].value == (int64_t)selector) {
                status = visit_member(walk, info->members, &info->members[info->selections[i].member], data, false);
                break;
            }
    } else {
        for (uint32_t i = 0; status == LAP_OK && i < info->member_count; i++)
            status = visit_member(walk, info->members, &info->members[i], data, selector == UINT64_MAX);
    }
    walk->depth--;
    return status;
}

enum lap_status lap_pointers_walk(uint32_t command, const void *args, const struct lap_pointers_visitor *visitor)
{
    const struct gen_command_info *info = &gen_command_infos[command];
    struct walk walk = {.visitor = visitor};
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; status == LAP_OK && i < info->member_count; i++)
        status = visit_member(&walk, info->members, &info->members[i], args, false);
    return status;
}
