/* SPDX-License-Identifier: MIT */
#include "inspector/analysis/object_lives.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_effects.h"
#include "gen_reflect.h"
#include "vulkan/walk.h"

#define MOST_HOLES  (1u << 20) /* the bound of a replay */
#define MOST_MADE   16u        /* average number of objects of a type per packet */
#define MOST_NESTED 4u         /* structures that are filled with handles, one in another */

struct part {
    struct object_lives found;
    struct object_life *lives;
    size_t capacity;
    struct {
        uint32_t *at; /* [index]: 1 + the index in lives */
        size_t capacity;
    } numbers[GEN_HANDLE_COUNT];
    uint16_t commands[GEN_COMMAND_COUNT + 1]; /* those that create or destroy objects, or write into them */
    bool fills[GEN_COMMAND_COUNT];            /* they give out handles in structures */
};

static struct object_life *life_of(const struct part *part, uint32_t type, uint64_t index)
{
    uint32_t number = index < part->numbers[type].capacity ? part->numbers[type].at[index] : 0;
    return number ? &part->lives[number - 1] : NULL;
}

/* Makes room for an index. Indices are dense, so the tables are arrays; a replay refuses other indices. */
static bool has_place(struct part *part, uint32_t type, uint64_t index, uint64_t ticket)
{
    size_t before = part->numbers[type].capacity;

    if (index > MOST_HOLES + MOST_MADE * ticket || part->found.count >= UINT32_MAX)
        return false;
    if (!lap_array_grow(&part->numbers[type].at, sizeof *part->numbers[type].at, &part->numbers[type].capacity,
                        (size_t)index + 1))
        return false;
    memset(part->numbers[type].at + before, 0, (part->numbers[type].capacity - before) * sizeof(uint32_t));
    return true;
}

static enum lap_status begin_life(struct part *part, uint32_t type, uint64_t index, const struct object_life *parent,
                                  uint32_t element, uint64_t ticket)
{
    size_t count = part->found.count, parent_at = parent ? (size_t)(parent - part->lives) : SIZE_MAX;

    if (!index || life_of(part, type, index))
        return LAP_OK; /* indices are unique: this queries a queue or a swapchain image again */
    if (!has_place(part, type, index, ticket) ||
        !lap_array_grow(&part->lives, sizeof *part->lives, &part->capacity, count + 1))
        return lap_fail(LAP_ERROR_LIMIT, "there is no room for %s %" PRIu64, gen_handle_names[type], index);
    part->found.lives = part->lives;
    part->lives[count] = (struct object_life){.type = (uint16_t)type,
                                              .element = element,
                                              .index = index,
                                              .begin = ticket,
                                              .parent = parent_at,
                                              .last_child = SIZE_MAX,
                                              .before = SIZE_MAX};
    if (parent_at != SIZE_MAX) {
        part->lives[count].before = part->lives[parent_at].last_child;
        part->lives[parent_at].last_child = count;
    }
    part->found.count++;
    if (++part->found.alive > part->found.most_alive)
        part->found.most_alive = part->found.alive;
    part->numbers[type].at[index] = (uint32_t)count + 1;
    return LAP_OK;
}

static void end_life(struct part *part, struct object_life *life, uint64_t ticket);

/* Visits each child once. Parents precede their children, and an object's type is never its parent's. So the recursion
 * goes no deeper than instance, physical device, device, pool, set. */
static void end_children(struct part *part, struct object_life *life, uint64_t ticket)
{
    size_t child = life->last_child;

    life->last_child = SIZE_MAX;
    for (; child != SIZE_MAX; child = part->lives[child].before)
        end_life(part, &part->lives[child], ticket);
}

static void end_life(struct part *part, struct object_life *life, uint64_t ticket)
{
    if (life->end)
        return;
    life->end = ticket;
    part->found.alive--;
    end_children(part, life, ticket);
}

/* ---- effects of calls ---- */

static uint64_t load(const struct gen_member *member, const void *at)
{
    uint64_t value = 0;
    memcpy(&value, at, member->element_bytes < sizeof value ? member->element_bytes : sizeof value);
    return value;
}

/* The parent of a command's new objects: the pool or swapchain among its arguments, or its first handle. */
static struct object_life *parent_of(const struct part *part, const struct trace_call *call)
{
    switch (call->command) {
    case GEN_vkAllocateCommandBuffers: {
        const VkCommandBufferAllocateInfo *info =
            ((const struct gen_args_vkAllocateCommandBuffers *)call->args)->pAllocateInfo;
        return info ? life_of(part, GEN_HANDLE_VkCommandPool, gen_u64_VkCommandPool(info->commandPool)) : NULL;
    }
    case GEN_vkAllocateDescriptorSets: {
        const VkDescriptorSetAllocateInfo *info =
            ((const struct gen_args_vkAllocateDescriptorSets *)call->args)->pAllocateInfo;
        return info ? life_of(part, GEN_HANDLE_VkDescriptorPool, gen_u64_VkDescriptorPool(info->descriptorPool)) : NULL;
    }
    case GEN_vkGetSwapchainImagesKHR:
        return life_of(
            part, GEN_HANDLE_VkSwapchainKHR,
            gen_u64_VkSwapchainKHR(((const struct gen_args_vkGetSwapchainImagesKHR *)call->args)->swapchain));
    default:
        break;
    }
    if (gen_command_dispatch[call->command] == GEN_HANDLE_NONE)
        return NULL;
    return life_of(part, gen_command_dispatch[call->command],
                   load(gen_command_infos[call->command].members, call->args));
}

static enum lap_status visit_member(struct part *part, const struct trace_call *call, const struct gen_member *member)
{
    const char *at = (const char *)call->args + member->offset;
    uint64_t count = 1;
    enum lap_status status = LAP_OK;

    if (member->shape == GEN_SHAPE_POINTER) {
        memcpy(&at, at, sizeof at);
        count = at ? lap_walk_count(gen_command_infos[call->command].members, member, call->args) : 0;
    }
    for (uint64_t i = 0; i < count && status == LAP_OK; i++) {
        uint64_t index = load(member, at + i * member->element_bytes);
        struct object_life *life = life_of(part, member->type, index);
        if (member->flags & GEN_MEMBER_CREATED)
            status = begin_life(part, member->type, index, parent_of(part, call), (uint32_t)i, call->packet->ticket);
        else if (life)
            end_life(part, life, call->packet->ticket);
    }
    return status;
}

struct outputs {
    struct part *part;
    const struct trace_call *call;
    uint32_t count;
    enum lap_status status;
};

static void visit_output(void *user, const struct lap_place *place, const struct lap_value *value)
{
    struct outputs *outputs = user;

    if (value->kind == LAP_VALUE_HANDLE && outputs->status == LAP_OK)
        outputs->status = begin_life(outputs->part, value->type, value->u, parent_of(outputs->part, outputs->call),
                                     outputs->count++, outputs->call->packet->ticket);
}

/* Structures that the call fills: displays, modes, groups of physical devices, pipeline binaries. */
static enum lap_status visit_structs(struct part *part, const struct trace_call *call, const struct gen_member *member)
{
    struct outputs outputs = {.part = part, .call = call};
    const struct lap_visitor visitor = {.value = visit_output, .user = &outputs};
    const char *at;
    uint64_t count;

    memcpy(&at, (const char *)call->args + member->offset, sizeof at);
    count = at ? lap_walk_count(gen_command_infos[call->command].members, member, call->args) : 0;
    for (uint64_t i = 0; i < count && outputs.status == LAP_OK; i++)
        lap_walk_struct(member->type, at + i * member->element_bytes, &visitor);
    return outputs.status;
}

static bool is_of_interest(const struct gen_member *member)
{
    return member->element == GEN_ELEMENT_HANDLE && member->flags & (GEN_MEMBER_CREATED | GEN_MEMBER_DESTROYED) &&
           (member->shape == GEN_SHAPE_VALUE || member->shape == GEN_SHAPE_POINTER);
}

static bool has_handles(uint32_t struct_number, unsigned depth)
{
    const struct gen_struct_info *info = &gen_struct_infos[struct_number];

    for (uint32_t i = 0; i < info->member_count; i++) {
        const struct gen_member *member = &info->members[i];
        if (member->element == GEN_ELEMENT_HANDLE && member->shape != GEN_SHAPE_PNEXT)
            return true;
        if (member->element == GEN_ELEMENT_STRUCT && member->shape != GEN_SHAPE_PNEXT && depth &&
            has_handles(member->type, depth - 1))
            return true;
    }
    return false;
}

static bool is_filled_with_handles(const struct gen_member *member)
{
    return member->element == GEN_ELEMENT_STRUCT && member->shape == GEN_SHAPE_POINTER &&
           member->flags & GEN_MEMBER_OUTPUT && has_handles(member->type, MOST_NESTED);
}

/* A packet of our own with what the host wrote into the object that it names. */
static bool writes(uint32_t command)
{
    return gen_effects[command].does == GEN_EFFECT_WRITES && !gen_command_providers[command];
}

static enum lap_status visit(void *state, const struct trace_call *call)
{
    const struct gen_command_info *info = &gen_command_infos[call->command];
    struct part *part = state;
    struct object_life *life;
    enum lap_status status = LAP_OK;

    if (writes(call->command)) {
        life = life_of(part, info->members->type, load(info->members, call->args));
        if (life) {
            life->host_writes++;
            life->last_host_write = call->packet->ticket;
        }
        return LAP_OK;
    }
    if (call->command == GEN_vkResetDescriptorPool) {
        life = life_of(
            part, GEN_HANDLE_VkDescriptorPool,
            gen_u64_VkDescriptorPool(((const struct gen_args_vkResetDescriptorPool *)call->args)->descriptorPool));
        if (life)
            end_children(part, life, call->packet->ticket);
        return LAP_OK;
    }
    for (uint32_t i = 0; i < info->member_count && status == LAP_OK; i++)
        if (is_of_interest(&info->members[i]))
            status = visit_member(part, call, &info->members[i]);
        else if (part->fills[call->command] && is_filled_with_handles(&info->members[i]))
            status = visit_structs(part, call, &info->members[i]);
    return status;
}

/* ---- the part ---- */

static bool fills(uint32_t command)
{
    const struct gen_command_info *info = &gen_command_infos[command];

    for (uint32_t i = 0; i < info->member_count; i++)
        if (is_filled_with_handles(&info->members[i]))
            return true;
    return false;
}

static bool is_wanted(uint32_t command)
{
    const struct gen_command_info *info = &gen_command_infos[command];

    if (writes(command) || command == GEN_vkResetDescriptorPool)
        return true;
    for (uint32_t i = 0; i < info->member_count; i++)
        if (is_of_interest(&info->members[i]))
            return true;
    return false;
}

void *object_lives_create(void)
{
    struct part *part = calloc(1, sizeof *part);
    size_t count = 0;

    if (!part)
        return NULL;
    for (uint16_t i = 1; i < GEN_COMMAND_COUNT; i++)
        if ((part->fills[i] = fills(i)) || is_wanted(i))
            part->commands[count++] = i;
    return part;
}

void object_lives_destroy(void *state)
{
    struct part *part = state;

    if (!part)
        return;
    for (uint32_t i = 0; i < GEN_HANDLE_COUNT; i++)
        free(part->numbers[i].at);
    free(part->lives);
    free(part);
}

void object_lives_visitor(void *state, struct trace_visitor *out)
{
    struct part *part = state;
    /* Memory use is in information packets. */
    *out = (struct trace_visitor){.commands = part->commands, .information = true, .visit = visit, .state = part};
}

const struct object_lives *object_lives_found(const void *part)
{
    return &((const struct part *)part)->found;
}

const struct object_life *object_lives_of(const void *part, uint32_t type, uint64_t index)
{
    return life_of(part, type, index);
}
