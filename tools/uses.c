/* SPDX-License-Identifier: MIT */
#include "tools/uses.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/support/walk.h"
#include "gen_ids.h"
#include "gen_reflect.h"

/* One walk through the parameters of a call. */
struct look {
    struct lap_uses *uses;
    bool creates_device;
    struct {
        uint32_t number;
        bool any; /* a VK_TRUE in it or below it */
    } stack[LAP_WALK_MAX_DEPTH];
    unsigned depth;
};

enum lap_status lap_uses_init(struct lap_uses *uses)
{
    memset(uses, 0, sizeof *uses);
    lap_map_init(&uses->blocks);
    uses->commands = calloc(GEN_COMMAND_COUNT, sizeof(bool));
    uses->structs = calloc(GEN_STRUCT_COUNT, sizeof(bool));
    uses->enabled = calloc(GEN_EXTENSION_COUNT, sizeof(bool));
    uses->used = calloc(GEN_EXTENSION_COUNT, sizeof(bool));
    if (uses->commands && uses->structs && uses->enabled && uses->used)
        return LAP_OK;
    lap_uses_finish(uses);
    return lap_fail(LAP_ERROR_MEMORY, "out of memory for the list of used extensions");
}

void lap_uses_finish(struct lap_uses *uses)
{
    if (uses->commands)
        lap_map_finish(&uses->blocks);
    free(uses->commands);
    free(uses->structs);
    free(uses->enabled);
    free(uses->used);
    free(uses->features);
    memset(uses, 0, sizeof *uses);
}

static bool in_chain(const struct lap_place *place)
{
    return place->in_array && place->member && place->member->shape == GEN_SHAPE_PNEXT;
}

static bool begin_struct(void *user, const struct lap_place *place, uint32_t number)
{
    struct look *look = user;
    if (look->depth >= LAP_WALK_MAX_DEPTH)
        return false;
    look->stack[look->depth].number = number;
    look->stack[look->depth++].any = false;
    return true;
}

static void end_struct(void *user, const struct lap_place *place, uint32_t number)
{
    struct look *look = user;
    bool any = look->stack[--look->depth].any;

    if (look->depth > 0 && any)
        look->stack[look->depth - 1].any = true;
    if (in_chain(place) && (any || !gen_struct_infos[number].features))
        look->uses->structs[number] = true;
}

static void add_feature(struct lap_uses *uses, const char *name)
{
    for (size_t i = 0; i < uses->feature_count; i++)
        if (strcmp(uses->features[i], name) == 0)
            return;
    if (uses->feature_count == uses->feature_capacity) {
        size_t capacity = uses->feature_capacity ? 2 * uses->feature_capacity : 64;
        const char **more = realloc(uses->features, capacity * sizeof *more);
        if (!more) {
            uses->failed = true;
            return;
        }
        uses->features = more;
        uses->feature_capacity = capacity;
    }
    uses->features[uses->feature_count++] = name;
}

static void visit(void *user, const struct lap_place *place, const struct lap_value *value)
{
    struct look *look = user;
    uint32_t owner;

    if (value->kind != LAP_VALUE_BOOL || value->u == 0 || look->depth == 0)
        return;
    owner = look->stack[look->depth - 1].number;
    look->stack[look->depth - 1].any = true;
    if (look->creates_device && (gen_struct_infos[owner].features || owner == GEN_STRUCT_VkPhysicalDeviceFeatures))
        add_feature(look->uses, place->member->name);
}

static void add_call(struct lap_uses *uses, uint32_t command, const void *args)
{
    struct look look = {.uses = uses, .creates_device = command == GEN_vkCreateDevice};
    struct lap_visitor visitor = {
        .begin_struct = begin_struct, .end_struct = end_struct, .value = visit, .user = &look};

    uses->commands[command] = true;
    uses->addresses += command == GEN_vkGetBufferDeviceAddress;
    lap_walk_command(command, args, false, &visitor);
}

static void enable(struct lap_uses *uses, const char *const *names, uint32_t count)
{
    for (uint32_t i = 0; names && i < count; i++)
        for (unsigned j = 0; names[i] && j < GEN_EXTENSION_COUNT; j++)
            if (strcmp(gen_extensions[j].name, names[i]) == 0)
                uses->enabled[j] = true;
}

static enum lap_status add_block(struct lap_uses *uses, struct lap_calls *calls)
{
    const struct gen_args_lapilliBlock *args = (const void *)calls->args.bytes;
    enum lap_status status;

    if (lap_map_get(&uses->blocks, args->block))
        return LAP_OK;
    status = lap_map_put(&uses->blocks, args->block, uses, NULL);
    if (status == LAP_OK)
        status = lap_calls_block_begin(calls);
    while (status == LAP_OK && (status = lap_calls_block_next(calls)) == LAP_OK)
        add_call(uses, calls->block_command, calls->block_args.bytes);
    return status == LAP_END ? LAP_OK : status;
}

enum lap_status lap_uses_add(struct lap_uses *uses, struct lap_calls *calls)
{
    enum lap_status status = LAP_OK;

    if (calls->command == GEN_COMMAND_NONE || calls->packet.flags & (LAP_PACKET_INFO | LAP_PACKET_FAILED))
        return LAP_OK;
    if (calls->command == GEN_vkCreateInstance) {
        const struct gen_args_vkCreateInstance *args = (const void *)calls->args.bytes;
        if (args->pCreateInfo)
            enable(uses, args->pCreateInfo->ppEnabledExtensionNames, args->pCreateInfo->enabledExtensionCount);
    } else if (calls->command == GEN_vkCreateDevice) {
        const struct gen_args_vkCreateDevice *args = (const void *)calls->args.bytes;
        if (args->pCreateInfo)
            enable(uses, args->pCreateInfo->ppEnabledExtensionNames, args->pCreateInfo->enabledExtensionCount);
    }
    add_call(uses, calls->command, calls->args.bytes);
    if (calls->command == GEN_lapilliBlock)
        status = add_block(uses, calls);
    return uses->failed ? lap_fail(LAP_ERROR_MEMORY, "out of memory for the list of used features") : status;
}

static bool any_of(const uint16_t *numbers, const bool *seen)
{
    for (; *numbers; numbers++)
        if (seen[*numbers])
            return true;
    return false;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void lap_uses_settle(struct lap_uses *uses)
{
    for (unsigned i = 0; i < GEN_EXTENSION_COUNT; i++) {
        const struct gen_extension_info *extension = &gen_extensions[i];
        bool unmarked = !extension->commands[0] && !extension->structs[0];
        uses->used[i] = uses->enabled[i] && (unmarked || any_of(extension->commands, uses->commands) ||
                                             any_of(extension->structs, uses->structs));
    }
    if (uses->feature_count)
        qsort(uses->features, uses->feature_count, sizeof *uses->features, compare_names);
}
