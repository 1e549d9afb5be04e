/* SPDX-License-Identifier: MIT */
#include "inspector/state/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "gen_decode.h"
#include "gen_effects.h"
#include "gen_reflect.h"
#include "gen_renamed.h"
#include "vulkan/walk.h"

#define ARENA_BYTES ((size_t)1 << 30) /* of bindings */
#define STEP_BYTES  ((uint64_t)1 << 20)

struct state_objects {
    struct state_wish wish;
    void *part;       /* of object_lives.h */
    uint64_t reached; /* the last packet that was seen, up to wish.last */
    struct lap_arena bindings;
    struct state_notes *notes;
    size_t note_count, note_capacity;
    uint32_t *numbers; /* [number of the life]: 1 + the index in notes; 0: none */
    size_t number_count, number_capacity;
    size_t *users;
    size_t user_count, user_capacity;
    uint16_t commands[GEN_COMMAND_COUNT + 1];
    bool makes[GEN_COMMAND_COUNT]; /* it has a member with created handles */
};

/* ---- notes ---- */

/* Of a living object; NULL: there is none, or no memory, which *status has then. */
static struct state_notes *notes_of(struct state_objects *objects, uint32_t type, uint64_t index,
                                    enum lap_status *status)
{
    const struct object_lives *lives = object_lives_found(objects->part);
    const struct object_life *life = object_lives_of(objects->part, type, index);
    size_t number = life ? (size_t)(life - lives->lives) : 0;

    if (!life || life->end)
        return NULL;
    if (number < objects->number_count && objects->numbers[number])
        return &objects->notes[objects->numbers[number] - 1];
    if (!lap_array_grow(&objects->numbers, sizeof *objects->numbers, &objects->number_capacity, number + 1) ||
        !lap_array_grow(&objects->notes, sizeof *objects->notes, &objects->note_capacity, objects->note_count + 1)) {
        *status = lap_fail(LAP_ERROR_MEMORY, "out of memory for the state of objects");
        return NULL;
    }
    if (number >= objects->number_count) {
        memset(objects->numbers + objects->number_count, 0,
               (number + 1 - objects->number_count) * sizeof *objects->numbers);
        objects->number_count = number + 1;
    }
    objects->notes[objects->note_count] = (struct state_notes){.binding = NULL};
    objects->numbers[number] = (uint32_t)++objects->note_count;
    return &objects->notes[objects->note_count - 1];
}

static void count(const struct state_objects *objects, struct state_notes *notes, const struct trace_call *call,
                  enum state_change change)
{
    notes->changes[change].count += call->packet->ticket > objects->wish.first;
    notes->changes[change].last = call->packet->ticket;
}

/* ---- the first object that a call names ---- */

struct named {
    const struct trace_call *call;
    uint32_t type;
    uint64_t index;
};

static void take_first(void *user, const struct lap_place *place, const struct lap_value *value)
{
    struct named *named = user;
    bool is_device = place->owner == named->call->args && value->type == GEN_HANDLE_VkDevice &&
                     place->member == gen_command_infos[named->call->command].members;

    if (value->kind != LAP_VALUE_HANDLE || !value->u || is_device || named->index)
        return;
    named->type = value->type;
    named->index = value->u;
}

/* But for the device that a call goes to. index 0: none. */
static struct named named_by(const struct trace_call *call)
{
    const struct gen_member *first = gen_command_infos[call->command].members;
    struct named named = {.call = call, .type = first->type};
    const struct lap_visitor visitor = {.value = take_first, .user = &named};

    if (first->element == GEN_ELEMENT_HANDLE && first->shape == GEN_SHAPE_VALUE && first->type != GEN_HANDLE_VkDevice)
        memcpy(&named.index, (const char *)call->args + first->offset,
               first->element_bytes); /* of dispatchable handles 4 on machines with 32 bits */
    else
        lap_walk_command(call->command, call->args, false, &visitor);
    return named;
}

/* ---- calls ---- */

static enum lap_status note_name(struct state_objects *objects, const struct trace_call *call, const char *text)
{
    struct named named = named_by(call);
    enum lap_status status = LAP_OK;
    struct state_notes *notes = notes_of(objects, named.type, named.index, &status);

    for (unsigned i = call->packet->ticket > objects->wish.first; notes && i < 2; i++) {
        char *copy = text && text[0] ? strdup(text) : NULL;
        if (text && text[0] && !copy)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for names of objects");
        free((char *)(uintptr_t)notes->at[i].name);
        notes->at[i].name = copy;
    }
    return status;
}

static enum lap_status note_mapping(struct state_objects *objects, const struct trace_call *call, bool mapped)
{
    struct named named = named_by(call);
    enum lap_status status = LAP_OK;
    struct state_notes *notes = notes_of(objects, named.type, named.index, &status);

    for (unsigned i = call->packet->ticket > objects->wish.first; notes && i < 2; i++)
        notes->at[i].mapped = mapped;
    return status;
}

static enum lap_status note_binding(struct state_objects *objects, uint32_t type, uint64_t index,
                                    const struct state_binding *found)
{
    struct state_binding *binding;
    enum lap_status status = LAP_OK;
    struct state_notes *notes = notes_of(objects, type, index, &status), *memory;

    if (!notes)
        return status;
    binding = lap_arena_alloc(&objects->bindings, sizeof *binding, _Alignof(struct state_binding));
    if (!binding)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for what is bound to memory");
    *binding = *found;
    binding->before = notes->binding;
    notes->binding = binding;
    memory = notes_of(objects, GEN_HANDLE_VkDeviceMemory, found->memory, &status);
    if (memory) {
        memory->has_properties = true;
        memory->properties = found->properties;
    }
    return status;
}

static enum lap_status note_buffer(struct state_objects *objects, const struct trace_call *call)
{
    const struct gen_args_lapilliBindBuffer *args = call->args;
    const struct state_binding binding = {.ticket = call->packet->ticket,
                                          .memory = gen_u64_VkDeviceMemory(args->memory),
                                          .offset = args->memoryOffset,
                                          .size = args->size,
                                          .properties = args->propertyFlags};

    return note_binding(objects, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(args->buffer), &binding);
}

static enum lap_status note_image(struct state_objects *objects, const struct trace_call *call)
{
    const struct gen_args_lapilliBindImage *args = call->args;
    const struct state_binding binding = {.ticket = call->packet->ticket,
                                          .memory = gen_u64_VkDeviceMemory(args->memory),
                                          .offset = args->memoryOffset,
                                          .size = args->size,
                                          .properties = args->propertyFlags,
                                          .plane = args->planeAspect,
                                          .swapchain = gen_u64_VkSwapchainKHR(args->swapchain),
                                          .swapchain_image = args->swapchainImageIndex};

    return note_binding(objects, GEN_HANDLE_VkImage, gen_u64_VkImage(args->image), &binding);
}

/* The bytes of a write that its packet has. */
static uint64_t bytes_of(const struct trace_call *call)
{
    const struct gen_command_info *info = &gen_command_infos[call->command];

    for (uint8_t i = 0; i < info->member_count; i++)
        if (strcmp(gen_member_name(&info->members[i]), "dataSize") == 0)
            return lap_walk_number(info->members, i, call->args);
    return 0;
}

static enum lap_status note_first(struct state_objects *objects, const struct trace_call *call,
                                  enum state_change change)
{
    struct named named = named_by(call);
    enum lap_status status = LAP_OK;
    struct state_notes *notes = notes_of(objects, named.type, named.index, &status);

    if (!notes)
        return status;
    count(objects, notes, call, change);
    if (change == STATE_WRITTEN && call->packet->ticket > objects->wish.first)
        notes->written_bytes += bytes_of(call);
    if (change == STATE_CHANGED)
        notes->changed_by = (uint16_t)call->command;
    return status;
}

struct several {
    struct state_objects *objects;
    const struct trace_call *call;
    enum state_change change;
    enum lap_status status;
};

/* Sets whose descriptors are written; and objects whose contents the host writes. */
static void take_each(void *user, const struct lap_place *place, const struct lap_value *value)
{
    struct several *several = user;
    bool is_written = value->kind == LAP_VALUE_HANDLE && !(place->member->flags & GEN_MEMBER_READ);
    struct state_notes *notes;

    if (several->change == STATE_DESCRIBED)
        is_written = is_written && strcmp(gen_member_name(place->member), "dstSet") == 0;
    else
        is_written = is_written && gen_handle_contents[value->type] == GEN_CONTENTS_HELD;
    if (!is_written || several->status != LAP_OK)
        return;
    notes = notes_of(several->objects, value->type, value->u, &several->status);
    if (notes)
        count(several->objects, notes, several->call, several->change);
}

static enum lap_status note_each(struct state_objects *objects, const struct trace_call *call, enum state_change change)
{
    struct several several = {.objects = objects, .call = call, .change = change};
    const struct lap_visitor visitor = {.value = take_each, .user = &several};

    lap_walk_command(call->command, call->args, false, &visitor);
    return several.status;
}

/* ---- creation ---- */

struct use {
    const struct state_objects *objects;
    const struct trace_call *call;
    bool found;
};

/* Neither what the call goes to, nor what it makes. */
static void look_for(void *user, const struct lap_place *place, const struct lap_value *value)
{
    struct use *use = user;
    bool is_first = place->owner == use->call->args && place->member == gen_command_infos[use->call->command].members;

    use->found |= value->kind == LAP_VALUE_HANDLE && value->type == use->objects->wish.used_type &&
                  value->u == use->objects->wish.used_index && !is_first &&
                  !(place->member->flags & (GEN_MEMBER_OUTPUT | GEN_MEMBER_CREATED));
}

/* The lives that this call began are the last ones. */
static enum lap_status note_users(struct state_objects *objects, const struct trace_call *call)
{
    const struct object_lives *lives = object_lives_found(objects->part);
    struct use use = {.objects = objects, .call = call};
    const struct lap_visitor visitor = {.value = look_for, .user = &use};

    if (!objects->makes[call->command] || !lives->count || lives->lives[lives->count - 1].begin != call->packet->ticket)
        return LAP_OK;
    lap_walk_command(call->command, call->args, false, &visitor);
    for (size_t i = lives->count; use.found && i-- > 0 && lives->lives[i].begin == call->packet->ticket;) {
        if (!lap_array_grow(&objects->users, sizeof *objects->users, &objects->user_capacity, objects->user_count + 1))
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for the users of an object");
        objects->users[objects->user_count++] = i;
    }
    return LAP_OK;
}

/* ---- the pass ---- */

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct state_objects *objects = state;

    switch (call->command) {
    case GEN_vkSetDebugUtilsObjectNameEXT: {
        const VkDebugUtilsObjectNameInfoEXT *info =
            ((const struct gen_args_vkSetDebugUtilsObjectNameEXT *)call->args)->pNameInfo;
        return info ? note_name(objects, call, info->pObjectName) : LAP_OK;
    }
    case GEN_vkDebugMarkerSetObjectNameEXT: {
        const VkDebugMarkerObjectNameInfoEXT *info =
            ((const struct gen_args_vkDebugMarkerSetObjectNameEXT *)call->args)->pNameInfo;
        return info ? note_name(objects, call, info->pObjectName) : LAP_OK;
    }
    case GEN_lapilliBindBuffer:
        return note_buffer(objects, call);
    case GEN_lapilliBindImage:
        return note_image(objects, call);
    case GEN_vkMapMemory:
#ifdef VK_KHR_map_memory2
    case GEN_vkMapMemory2KHR:
#endif
        return note_mapping(objects, call, true);
    case GEN_vkUnmapMemory:
#ifdef VK_KHR_map_memory2
    case GEN_vkUnmapMemory2KHR:
#endif
        return note_mapping(objects, call, false);
    default:
        break;
    }
    switch (gen_effects[call->command].does) {
    case GEN_EFFECT_STATE:
        return note_first(objects, call, STATE_CHANGED);
    case GEN_EFFECT_WRITES:
        return note_first(objects, call, STATE_WRITTEN);
    case GEN_EFFECT_RECORDS:
        return note_first(objects, call, STATE_RECORDED);
    case GEN_EFFECT_DESCRIBES:
        return note_each(objects, call, STATE_DESCRIBED);
    case GEN_EFFECT_ACCESSES:
        return note_each(objects, call, STATE_WRITTEN);
    default:
        return note_users(objects, call);
    }
}

/* A call that only asks leaves an object as it was, though effects.toml keeps it with those that change one. */
static bool only_asks(uint32_t command)
{
    return strncmp(gen_command_names[command], "vkGet", 5) == 0;
}

static bool maps_or_unmaps(uint32_t command)
{
#ifdef VK_KHR_map_memory2
    if (command == GEN_vkMapMemory2KHR || command == GEN_vkUnmapMemory2KHR)
        return true;
#endif
    return command == GEN_vkMapMemory || command == GEN_vkUnmapMemory;
}

static bool is_noted(uint32_t command)
{
    switch (gen_effects[command].does) {
    case GEN_EFFECT_STATE:
        return !only_asks(command);
    case GEN_EFFECT_WRITES:
    case GEN_EFFECT_RECORDS:
    case GEN_EFFECT_DESCRIBES:
    case GEN_EFFECT_ACCESSES:
        return true;
    default:
        return command == GEN_vkDebugMarkerSetObjectNameEXT || maps_or_unmaps(command);
    }
}

static bool makes(uint32_t command)
{
    const struct gen_command_info *info = &gen_command_infos[command];

    for (uint32_t i = 0; i < info->member_count; i++)
        if (info->members[i].flags & GEN_MEMBER_CREATED)
            return true;
    return false;
}

static void choose_commands(struct state_objects *objects)
{
    size_t chosen = 0;

    for (uint16_t i = 1; i < GEN_COMMAND_COUNT; i++) {
        objects->makes[i] = objects->wish.used_type != GEN_HANDLE_NONE && makes(i);
        if (objects->makes[i] || is_noted(i))
            objects->commands[chosen++] = i;
    }
}

static void see_packet(void *state, const struct lap_packet *packet)
{
    ((struct state_objects *)state)->reached = packet->ticket;
}

/* *out_whole: all up to the last ticket was read, whatever is behind it. */
static enum lap_status read_all(const struct lap_reader *trace, const struct state_objects *objects,
                                const struct trace_visitor *visitors, unsigned visitor_count, bool *out_whole)
{
    const struct state_wish *wish = &objects->wish;
    uint64_t all = wish->to_end ? lap_reader_summary(trace)->packets : wish->last, bytes = 0;
    struct trace_pass *pass;
    enum lap_status status = trace_pass_open(trace, 0, visitors, visitor_count, &pass);

    while (status == LAP_OK && (status = trace_pass_advance(pass, bytes += STEP_BYTES)) == LAP_OK)
        if (wish->progress)
            wish->progress(wish->user, trace_pass_packet(pass)->ticket, all);
    /* Without a ticket: the reader failed, behind the packet that was seen last. */
    *out_whole =
        status >= 0 || (pass && objects->reached >= wish->last && trace_pass_packet(pass)->ticket != wish->last);
    trace_pass_close(&pass);
    return status == LAP_END || (*out_whole && !wish->to_end) ? LAP_OK : status;
}

enum lap_status state_objects_find(const struct lap_reader *trace, const struct state_wish *wish,
                                   struct state_objects **out)
{
    struct state_objects *objects = *out = calloc(1, sizeof *objects);
    struct trace_visitor visitors[2] = {{.state = NULL}};
    enum lap_status status;
    bool whole;

    if (objects)
        objects->part = object_lives_create();
    if (!objects || !objects->part) {
        state_objects_free(out);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    objects->wish = *wish;
    lap_arena_init(&objects->bindings, ARENA_BYTES);
    choose_commands(objects);
    object_lives_visitor(objects->part, &visitors[0]);
    visitors[0].last_ticket = wish->to_end ? 0 : wish->last;
    visitors[1] = (struct trace_visitor){.commands = objects->commands,
                                         .information = true,
                                         .visit = wish->lives_alone ? NULL : visit,
                                         .see_packet = see_packet,
                                         .state = objects,
                                         .last_ticket = wish->last};
    status = read_all(trace, objects, visitors, 2, &whole);
    if (!whole && !wish->up_to_damage)
        state_objects_free(out);
    return status;
}

void state_objects_free(struct state_objects **objects_at)
{
    struct state_objects *objects = *objects_at;

    if (!objects)
        return;
    for (size_t i = 0; i < objects->note_count; i++)
        for (unsigned j = 0; j < 2; j++)
            free((char *)(uintptr_t)objects->notes[i].at[j].name);
    lap_arena_finish(&objects->bindings);
    object_lives_destroy(objects->part);
    free(objects->notes);
    free(objects->numbers);
    free(objects->users);
    free(objects);
    *objects_at = NULL;
}

/* ---- results ---- */

const struct object_lives *state_objects_lives(const struct state_objects *objects)
{
    return object_lives_found(objects->part);
}

const struct object_life *state_objects_get(const struct state_objects *objects, uint32_t type, uint64_t index)
{
    return object_lives_of(objects->part, type, index);
}

const struct state_notes *state_objects_notes(const struct state_objects *objects, size_t number)
{
    return number < objects->number_count && objects->numbers[number] ? &objects->notes[objects->numbers[number] - 1]
                                                                      : NULL;
}

const size_t *state_objects_users(const struct state_objects *objects, size_t *out_count)
{
    *out_count = objects->user_count;
    return objects->users;
}
