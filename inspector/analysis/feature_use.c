/* SPDX-License-Identifier: MIT */
#include "inspector/analysis/feature_use.h"

#include <stdlib.h>
#include <string.h>

#include "gen_decode.h"
#include "vulkan/shader/spirv.h"
#include "vulkan/walk.h"

struct feature_use_part {
    struct feature_use found;
    /* The first row of gen_uses for each owner, and the end of the last one's rows. The owners are commands, structures
     * and enums, depending on the kind. */
    uint16_t command_rows[GEN_COMMAND_COUNT + 1], parameter_rows[GEN_COMMAND_COUNT + 1];
    uint16_t struct_rows[GEN_STRUCT_COUNT + 1], member_rows[GEN_STRUCT_COUNT + 1];
    uint16_t value_rows[GEN_ENUM_COUNT + 1];
    /* The members that can be evidence of a use, themselves or below them (lap_visitor). */
    uint64_t command_members[GEN_COMMAND_COUNT], struct_members[GEN_STRUCT_COUNT];
    bool found_members[GEN_STRUCT_COUNT];
    struct {
        int64_t value;
        bool any;
    } last_values[GEN_ENUM_COUNT]; /* cache of the last value: most values repeat */
    bool secondary, in_pass;       /* of the command buffer whose block is visited */
};

/* One walk through a command. It does not use vulkan/walk.h, which visits every member: most members of most
 * commands are no evidence of a use, so this walk skips them. */
struct look {
    struct feature_use_part *part;
    struct feature_use *use;
    uint64_t frame, ticket;
    uint32_t command;
    bool creates; /* creates an instance or a device: that is no use */
    bool any;     /* found a VK_TRUE in a feature structure, or below it */
    uint32_t depth;
};

/* The structure or command parameters that a member belongs to. */
struct owner {
    const struct gen_member *members;
    const uint16_t *rows; /* by owner number */
    uint32_t number;
    const void *data;
};

/* ---- the table ---- */

static void find_rows(unsigned kind, uint32_t owners, uint16_t *rows)
{
    size_t row = 0;

    for (uint32_t owner = 0; owner <= owners; owner++) {
        while (row < GEN_USE_COUNT &&
               (gen_uses[row].kind < kind || (gen_uses[row].kind == kind && gen_uses[row].owner < owner)))
            row++;
        rows[owner] = (uint16_t)row;
    }
}

static void note_use(struct look *look, size_t row)
{
    struct feature_evidence *evidence = &look->use->evidence[gen_uses[row].subject];

    if (!evidence->use && !look->creates)
        *evidence = (struct feature_evidence){(uint16_t)(row + 1), look->frame, look->ticket};
}

static void note_uses(struct look *look, const uint16_t *rows, uint32_t owner)
{
    for (size_t row = rows[owner]; row < rows[owner + 1]; row++)
        note_use(look, row);
}

/* Shaders are rare, so a linear search suffices. */
static void note_shader(struct look *look, unsigned kind, uint32_t owner)
{
    for (size_t row = 0; row < GEN_USE_COUNT; row++)
        if (gen_uses[row].kind == kind && gen_uses[row].owner == owner)
            note_use(look, row);
}

/* ---- members that can be evidence of a use ---- */

/* The last bit covers member 63 and all later ones. */
static uint64_t member_bit(uint32_t index)
{
    return UINT64_C(1) << (index < 63 ? index : 63);
}

/* Whether the structure's VkBool32 members are features. */
static bool is_of_features(uint32_t number)
{
    return gen_struct_infos[number].features || number == GEN_STRUCT_VkPhysicalDeviceFeatures;
}

static uint64_t members_of_struct(struct feature_use_part *part, uint32_t number);

static bool can_show_use(struct feature_use_part *part, const struct gen_member *member, bool of_features)
{
    switch ((enum gen_shape)member->shape) {
    case GEN_SHAPE_PNEXT:
        return true;
    case GEN_SHAPE_SKIP:
    case GEN_SHAPE_STYPE:
    case GEN_SHAPE_STRING:
    case GEN_SHAPE_STRINGS:
    case GEN_SHAPE_BYTES:
        return false;
    default:
        break;
    }
    if (member->element == GEN_ELEMENT_STRUCT) /* a union's selector chooses its members: visit all */
        return gen_struct_infos[member->type].is_union || members_of_struct(part, member->type);
    if (member->element == GEN_ELEMENT_BOOL)
        return of_features;
    return (member->element == GEN_ELEMENT_ENUM || member->element == GEN_ELEMENT_FLAGS) &&
           part->value_rows[member->type] != part->value_rows[member->type + 1];
}

static uint64_t members_with_use(struct feature_use_part *part, const struct gen_member *members, uint32_t count,
                                 const uint16_t *rows, uint32_t owner, bool of_features)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; i < count; i++)
        if (can_show_use(part, &members[i], of_features))
            bits |= member_bit(i);
    for (size_t row = rows[owner]; row < rows[owner + 1]; row++)
        bits |= member_bit(gen_uses[row].member);
    return bits;
}

static uint64_t members_of_struct(struct feature_use_part *part, uint32_t number)
{
    const struct gen_struct_info *info = &gen_struct_infos[number];

    if (part->found_members[number])
        return part->struct_members[number];
    part->found_members[number] = true;
    part->struct_members[number] = UINT64_MAX; /* for a recursive structure */
    part->struct_members[number] = members_with_use(part, info->members, info->member_count, part->member_rows, number,
                                                    info->features || number == GEN_STRUCT_VkPhysicalDeviceFeatures);
    /* The presence of the structure itself is evidence of a use. */
    if (part->struct_rows[number] != part->struct_rows[number + 1] || number == GEN_STRUCT_VkShaderModuleCreateInfo)
        part->struct_members[number] |= UINT64_C(1) << 63;
    return part->struct_members[number];
}

static void find_members(struct feature_use_part *part)
{
    find_rows(GEN_USE_COMMAND, GEN_COMMAND_COUNT, part->command_rows);
    find_rows(GEN_USE_PARAMETER, GEN_COMMAND_COUNT, part->parameter_rows);
    find_rows(GEN_USE_STRUCT, GEN_STRUCT_COUNT, part->struct_rows);
    find_rows(GEN_USE_MEMBER, GEN_STRUCT_COUNT, part->member_rows);
    find_rows(GEN_USE_VALUE, GEN_ENUM_COUNT, part->value_rows);
    for (uint32_t i = 1; i < GEN_STRUCT_COUNT; i++)
        members_of_struct(part, i);
    for (uint32_t i = 1; i < GEN_COMMAND_COUNT; i++)
        part->command_members[i] = members_with_use(part, gen_command_infos[i].members,
                                                    gen_command_infos[i].member_count, part->parameter_rows, i, false);
}

/* ---- values ---- */

struct number {
    uint8_t element; /* enum gen_element */
    uint64_t bits;
    int64_t value;
    double real;
};

static struct number load(const struct gen_member *member, const void *at)
{
    struct number number = {.element = member->element};
    uint32_t four;
    float real;

    if (member->element_bytes == 4) {
        memcpy(&four, at, 4);
        number.bits = four;
        number.value = member->element == GEN_ELEMENT_SIGNED || member->element == GEN_ELEMENT_ENUM ? (int32_t)four
                                                                                                    : (int64_t)four;
        memcpy(&real, at, 4);
        number.real = (double)real;
    } else {
        memcpy(&number.bits, at, member->element_bytes < 8 ? member->element_bytes : 8);
        number.value = (int64_t)number.bits;
        memcpy(&number.real, &number.bits, sizeof number.real);
    }
    return number;
}

static bool holds(const struct gen_use *use, const struct number *number)
{
    bool is_float = number->element == GEN_ELEMENT_FLOAT;

    switch ((enum gen_operator)use->op) {
    case GEN_OPERATOR_SET:
        return is_float ? number->real != 0 : number->bits != 0;
    case GEN_OPERATOR_EQUAL:
        return is_float ? number->real == (double)use->value : number->value == use->value;
    case GEN_OPERATOR_ABOVE:
        return is_float ? number->real > (double)use->value : number->value > use->value;
    case GEN_OPERATOR_BITS:
        return !is_float && (number->bits & (uint64_t)use->value) != 0;
    case GEN_OPERATOR_DIFFER:
        return false;
    }
    return false;
}

static bool is_last(struct look *look, uint32_t type, int64_t value)
{
    bool is = look->part->last_values[type].any && look->part->last_values[type].value == value;

    if (!look->creates) {
        look->part->last_values[type].value = value;
        look->part->last_values[type].any = true;
    }
    return is;
}

static void note_feature(struct look *look, const char *name)
{
    uint16_t number = feature_number(name);

    look->any = true;
    if (look->command == GEN_vkCreateDevice && number < GEN_FEATURE_COUNT)
        look->use->enabled_features[number] = true;
}

static void look_at_number(struct look *look, const struct owner *owner, const struct gen_member *member,
                           const struct number *number)
{
    unsigned index = (unsigned)(member - owner->members);

    for (size_t row = owner->rows[owner->number]; row < owner->rows[owner->number + 1]; row++)
        if (gen_uses[row].member == index && holds(&gen_uses[row], number))
            note_use(look, row);
    if ((member->element == GEN_ELEMENT_ENUM || member->element == GEN_ELEMENT_FLAGS) &&
        !is_last(look, member->type, number->value))
        for (size_t row = look->part->value_rows[member->type]; row < look->part->value_rows[member->type + 1]; row++)
            if (holds(&gen_uses[row], number))
                note_use(look, row);
    if (member->element == GEN_ELEMENT_BOOL && number->bits && owner->rows == look->part->member_rows &&
        is_of_features(owner->number))
        note_feature(look, gen_member_name(member));
}

static void look_at_order(struct look *look, const struct owner *owner, const struct gen_member *member,
                          const char *first, uint64_t count)
{
    unsigned index = (unsigned)(member - owner->members);
    size_t row = owner->rows[owner->number], end = owner->rows[owner->number + 1];

    while (row < end && !(gen_uses[row].member == index && gen_uses[row].op == GEN_OPERATOR_DIFFER))
        row++;
    for (uint64_t i = 1; i < count && row < end; i++)
        if (memcmp(first, first + i * member->element_bytes, member->element_bytes) != 0) {
            note_use(look, row);
            return;
        }
}

/* ---- shaders ---- */

static void see_code(struct look *look, const void *code, size_t bytes)
{
    struct lap_spirv_module shader;

    if (!lap_spirv_read(code, bytes / 4, &shader))
        return;
    for (uint32_t i = 0; i < shader.capability_count; i++)
        if (shader.capabilities[i] <= UINT16_MAX)
            note_shader(look, GEN_USE_CAPABILITY, shader.capabilities[i]);
    for (uint32_t i = 0; i < shader.extension_count; i++)
        for (uint32_t j = 0; j < GEN_SPIRV_EXTENSION_COUNT; j++)
            if (strcmp(shader.extensions[i], gen_spirv_extensions[j]) == 0)
                note_shader(look, GEN_USE_SPIRV, j);
    if (shader.stores_in_vertex)
        note_shader(look, GEN_USE_STORES, GEN_STORES_VERTEX);
    if (shader.stores_in_fragment)
        note_shader(look, GEN_USE_STORES, GEN_STORES_FRAGMENT);
}

/* ---- walking ---- */

static void look_at_struct(struct look *look, uint32_t number, const void *data, uint64_t selector, bool chained);

static void look_at_element(struct look *look, const struct owner *owner, const struct gen_member *member,
                            const void *at, uint64_t selector)
{
    struct number number;

    if (member->element == GEN_ELEMENT_STRUCT) {
        look_at_struct(look, member->type, at, selector, false);
        return;
    }
    number = load(member, at);
    look_at_number(look, owner, member, &number);
}

static void look_at_elements(struct look *look, const struct owner *owner, const struct gen_member *member,
                             const char *first, uint64_t count, uint64_t selector)
{
    if (member->shape == GEN_SHAPE_POINTER)
        look_at_order(look, owner, member, first, count);
    for (uint64_t i = 0; i < count; i++)
        look_at_element(look, owner, member, first + i * member->element_bytes, selector);
}

static void look_at_rows(struct look *look, const struct owner *owner, const struct gen_member *member,
                         const char *const *rows)
{
    uint64_t count = lap_walk_count(owner->members, member, owner->data);

    for (uint64_t i = 0; i < count; i++)
        if (rows[i])
            look_at_elements(look, owner, member, rows[i], member->compute(owner->data, i), 0);
}

static void look_at_chain(struct look *look, const VkBaseInStructure *chain)
{
    for (; chain; chain = chain->pNext) {
        uint32_t number = gen_struct_of_type(chain->sType);
        if (number != GEN_STRUCT_NONE)
            look_at_struct(look, number, chain, 0, true);
    }
}

static void look_at_member(struct look *look, const struct owner *owner, const struct gen_member *member, bool chained)
{
    const char *at = (const char *)owner->data + member->offset;
    uint64_t selector =
        member->selector == GEN_MEMBER_NONE ? 0 : lap_walk_number(owner->members, member->selector, owner->data);
    struct number bits;
    const void *pointee;

    switch ((enum gen_shape)member->shape) {
    case GEN_SHAPE_VALUE:
        look_at_element(look, owner, member, at, selector);
        return;
    case GEN_SHAPE_BITS:
        bits = (struct number){.element = member->element, .bits = member->compute(owner->data, 0)};
        bits.value = (int64_t)bits.bits;
        look_at_number(look, owner, member, &bits);
        return;
    case GEN_SHAPE_ARRAY:
        if (member->element != GEN_ELEMENT_CHAR)
            look_at_elements(look, owner, member, at, member->count, selector);
        return;
    default:
        break;
    }
    memcpy(&pointee, at, sizeof pointee);
    if (!pointee)
        return;
    switch ((enum gen_shape)member->shape) {
    case GEN_SHAPE_PNEXT:
        if (!chained) /* the walk along the chain visits its elements */
            look_at_chain(look, pointee);
        return;
    case GEN_SHAPE_POINTERS:
        look_at_rows(look, owner, member, pointee);
        return;
    case GEN_SHAPE_POINTER:
        if (member->count_kind == GEN_COUNT_CONSTANT && member->count == 1)
            look_at_element(look, owner, member, pointee, 0);
        else
            look_at_elements(look, owner, member, pointee, lap_walk_count(owner->members, member, owner->data), 0);
        return;
    default:
        return;
    }
}

/* wanted: a bit for each member (member_bit). */
static void look_at_members(struct look *look, const struct owner *owner, uint32_t count, uint64_t wanted, bool chained)
{
    for (uint64_t left = wanted & (UINT64_MAX >> 1); left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        if (i >= count)
            return;
        look_at_member(look, owner, &owner->members[i], chained);
    }
    for (uint32_t i = 63; i < count && wanted >> 63; i++)
        look_at_member(look, owner, &owner->members[i], chained);
}

static void look_at_shader(struct look *look, uint32_t number, const void *data)
{
    if (number == GEN_STRUCT_VkShaderModuleCreateInfo) {
        const VkShaderModuleCreateInfo *info = data;
        see_code(look, info->pCode, info->codeSize);
    }
#ifdef VK_EXT_shader_object
    if (number == GEN_STRUCT_VkShaderCreateInfoEXT) {
        const VkShaderCreateInfoEXT *info = data;
        if (info->codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT)
            see_code(look, info->pCode, info->codeSize);
    }
#endif
}

static void look_at_struct(struct look *look, uint32_t number, const void *data, uint64_t selector, bool chained)
{
    const struct gen_struct_info *info = &gen_struct_infos[number];
    struct owner owner = {info->members, look->part->member_rows, number, data};
    bool any = look->any;

    if (info->bytes == 0 || look->depth >= LAP_WALK_MAX_DEPTH)
        return;
    look->depth++;
    look->any = false;
    note_uses(look, look->part->struct_rows, number);
    look_at_shader(look, number, data);
    if (!info->is_union || info->raw)
        look_at_members(look, &owner, info->member_count, look->part->struct_members[number], chained);
    for (uint32_t i = 0; info->is_union && !info->raw && i < info->selection_count; i++)
        if (info->selections[i].value == (int64_t)selector) {
            look_at_member(look, &owner, &info->members[info->selections[i].member], false);
            break;
        }
    if (chained && (look->any || !info->features))
        look->use->structs[number] = true;
    look->any = look->any || any;
    look->depth--;
}

/* ---- commands ---- */

static bool crosses(const VkImageSubresourceLayers *from, const VkImageSubresourceLayers *to)
{
    const VkImageAspectFlags both = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    return from->aspectMask != to->aspectMask && (from->aspectMask | to->aspectMask) & both;
}

static bool copies_across(uint32_t command, const void *args)
{
    bool found = false;

    if (command == GEN_vkCmdCopyImage) {
        const struct gen_args_vkCmdCopyImage *a = args;
        for (uint32_t i = 0; a->pRegions && i < a->regionCount; i++)
            found |= crosses(&a->pRegions[i].srcSubresource, &a->pRegions[i].dstSubresource);
    } else {
        const VkCopyImageInfo2 *info = ((const struct gen_args_vkCmdCopyImage2 *)args)->pCopyImageInfo;
        for (uint32_t i = 0; info && info->pRegions && i < info->regionCount; i++)
            found |= crosses(&info->pRegions[i].srcSubresource, &info->pRegions[i].dstSubresource);
    }
    return found;
}

/* Uses that no single member shows. */
static void look_at_deed(struct look *look, const void *args)
{
    struct feature_use_part *part = look->part;
    const VkCommandBufferBeginInfo *begin;

    switch (look->command) {
    case GEN_vkBeginCommandBuffer: /* the inheritance of a primary command buffer is not recorded */
        begin = ((const struct gen_args_vkBeginCommandBuffer *)args)->pBeginInfo;
        part->secondary = begin && begin->pInheritanceInfo;
        part->in_pass = begin && begin->flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT;
        if (part->secondary && begin->flags & VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT)
            note_shader(look, GEN_USE_DOES, GEN_DOES_REUSE);
        break;
    case GEN_vkCmdExecuteCommands:
        if (part->secondary)
            note_shader(look, GEN_USE_DOES, GEN_DOES_NEST);
        if (part->secondary && part->in_pass)
            note_shader(look, GEN_USE_DOES, GEN_DOES_NEST_IN_PASS);
        break;
    case GEN_vkCmdCopyImage:
    case GEN_vkCmdCopyImage2:
        if (copies_across(look->command, args))
            note_shader(look, GEN_USE_DOES, GEN_DOES_CROSS_ASPECTS);
        break;
    default:
        break;
    }
}

void feature_use_look(void *state, uint32_t command, const void *args, uint64_t frame, uint64_t ticket)
{
    struct feature_use_part *part = state;
    struct owner owner = {gen_command_infos[command].members, part->parameter_rows, command, args};
    struct look look = {.part = part,
                        .use = &part->found,
                        .frame = frame,
                        .ticket = ticket,
                        .command = command,
                        .creates = command == GEN_vkCreateInstance || command == GEN_vkCreateDevice};

    if (!look.creates && !part->found.commands[command]) {
        part->found.commands[command] = true;
        note_uses(&look, part->command_rows, command);
    }
    look_at_deed(&look, args);
    if (part->command_members[command])
        look_at_members(&look, &owner, gen_command_infos[command].member_count, part->command_members[command], false);
}

static void enable(struct feature_use *use, const char *const *names, uint32_t count)
{
    for (uint32_t i = 0; names && i < count; i++) {
        uint16_t number = names[i] ? extension_number(names[i]) : GEN_EXTENSION_COUNT;
        if (number < GEN_EXTENSION_COUNT)
            use->enabled_extensions[number] = true;
    }
}

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct feature_use_part *part = state;

    if (call->command == GEN_vkCreateInstance) {
        const VkInstanceCreateInfo *info = ((const struct gen_args_vkCreateInstance *)call->args)->pCreateInfo;
        enable(&part->found, info ? info->ppEnabledExtensionNames : NULL, info ? info->enabledExtensionCount : 0);
    } else if (call->command == GEN_vkCreateDevice) {
        const VkDeviceCreateInfo *info = ((const struct gen_args_vkCreateDevice *)call->args)->pCreateInfo;
        enable(&part->found, info ? info->ppEnabledExtensionNames : NULL, info ? info->enabledExtensionCount : 0);
    }
    feature_use_look(part, call->command, call->args, call->packet->frame, call->packet->ticket);
    return LAP_OK;
}

void *feature_use_create(void)
{
    struct feature_use_part *part = calloc(1, sizeof *part);

    if (part)
        find_members(part);
    return part;
}

void feature_use_destroy(void *part)
{
    free(part);
}

void feature_use_visitor(void *part, struct trace_visitor *out)
{
    *out = (struct trace_visitor){.all_commands = true, .visit = visit, .visit_in_block = visit, .state = part};
}

const struct feature_use *feature_use_found(const void *part)
{
    return &((const struct feature_use_part *)part)->found;
}

static bool any_of(const uint16_t *numbers, const bool *seen)
{
    for (; *numbers; numbers++)
        if (seen[*numbers])
            return true;
    return false;
}

bool feature_use_has(const struct feature_use *use, unsigned number)
{
    const struct gen_extension_info *extension = &gen_extensions[number];
    bool unmarked = !extension->commands[0] && !extension->structs[0];

    return use->enabled_extensions[number] &&
           (unmarked || any_of(extension->commands, use->commands) || any_of(extension->structs, use->structs));
}
