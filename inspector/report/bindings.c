/* SPDX-License-Identifier: MIT */
#include "inspector/report/bindings.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"
#include "inspector/analysis/shader_places.h"

#define SETS     8u
#define BINDINGS 64u
#define MOST_IDS (1u << 22)
#define MAGIC    0x07230203u

enum {
    OP_ENTRY_POINT = 15,
    OP_IMAGE_TEXEL_POINTER = 60,
    OP_LOAD = 61,
    OP_ACCESS_CHAIN = 65,
    OP_IN_BOUNDS_CHAIN = 66,
    OP_DECORATE = 71
};
enum { DECORATION_BINDING = 33, DECORATION_SET = 34 };

struct used {
    uint64_t sets[SETS]; /* a bit for each binding */
};

struct report_bindings {
    struct lap_map modules, pipelines; /* struct used */
    struct lap_arena arena;
    enum lap_status status; /* of the call that is seen */
};

struct report_bindings *report_bindings_create(void)
{
    struct report_bindings *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    lap_map_init(&b->modules);
    lap_map_init(&b->pipelines);
    lap_arena_init(&b->arena, 0);
    return b;
}

void report_bindings_destroy(struct report_bindings *b)
{
    if (!b)
        return;
    lap_map_finish(&b->modules);
    lap_map_finish(&b->pipelines);
    lap_arena_finish(&b->arena);
    free(b);
}

/* ---- code ---- */

struct numbers { /* of an id */
    uint32_t set, binding;
};

static void note(struct numbers *ids, uint32_t bound, const uint32_t *at, uint32_t count)
{
    if (count < 4 || at[1] >= bound)
        return;
    if (at[2] == DECORATION_BINDING)
        ids[at[1]].binding = at[3];
    else if (at[2] == DECORATION_SET)
        ids[at[1]].set = at[3];
}

static void use(const struct numbers *ids, uint32_t bound, const uint32_t *at, uint32_t count, struct used *out)
{
    const struct numbers *n = count >= 4 && at[3] < bound ? &ids[at[3]] : NULL;

    if (n && n->set < SETS && n->binding < BINDINGS)
        out->sets[n->set] |= UINT64_C(1) << n->binding;
}

/* Nothing, where the code is none or has not one entry point. */
static void find_used(const uint32_t *words, size_t count, struct used *out)
{
    uint32_t bound = count > 5 && words[0] == MAGIC ? words[3] : 0;
    struct numbers *ids = bound && bound <= MOST_IDS ? malloc(bound * sizeof *ids) : NULL;
    unsigned entries = 0;

    *out = (struct used){{0}};
    if (!ids)
        return;
    memset(ids, 0xff, bound * sizeof *ids); /* no number */
    for (size_t at = 5; at < count;) {
        uint32_t length = words[at] >> 16, op = words[at] & 0xffff;
        if (!length || length > count - at)
            break;
        entries += op == OP_ENTRY_POINT;
        if (op == OP_DECORATE)
            note(ids, bound, &words[at], length);
        else if (op == OP_LOAD || op == OP_ACCESS_CHAIN || op == OP_IN_BOUNDS_CHAIN || op == OP_IMAGE_TEXEL_POINTER)
            use(ids, bound, &words[at], length, out);
        at += length;
    }
    free(ids);
    if (entries != 1)
        *out = (struct used){{0}};
}

/* ---- calls ---- */

/* NULL: no memory. */
static struct used *used_of(struct report_bindings *b, struct lap_map *map, uint64_t index)
{
    struct used *used = lap_map_get(map, index);

    if (used)
        return used;
    used = lap_arena_zalloc(&b->arena, 1, sizeof *used, 8);
    if (!used || lap_map_put(map, index, used, NULL) != LAP_OK) {
        b->status = lap_no_memory("the report");
        return NULL;
    }
    return used;
}

static void see_place(void *user, struct shader_place *place)
{
    struct report_bindings *b = user;
    bool is_module = place->type == GEN_HANDLE_VkShaderModule;
    struct used found, *to;

    if (!place->object || (!is_module && place->type != GEN_HANDLE_VkPipeline))
        return;
    find_used(place->words, place->words ? place->bytes / 4 : 0, &found);
    if (!is_module && place->module) {
        const struct used *module = lap_map_get(&b->modules, place->module);
        if (module)
            found = *module;
    }
    to = used_of(b, is_module ? &b->modules : &b->pipelines, place->object);
    for (unsigned i = 0; to && i < SETS; i++)
        to->sets[i] |= found.sets[i];
}

enum lap_status report_bindings_see(struct report_bindings *b, const struct trace_call *call)
{
    const struct shader_places_visitor visitor = {.place = see_place, .user = b};

    b->status = LAP_OK;
    for (const uint16_t *c = shader_places_commands; *c; c++)
        if (*c == call->command)
            shader_places_visit(call->command, call->args, &visitor);
    return b->status;
}

bool report_binding_is_used(const struct report_bindings *b, uint64_t pipeline, uint32_t set, uint32_t binding)
{
    const struct used *used = lap_map_get(&b->pipelines, pipeline);
    return used && set < SETS && binding < BINDINGS && used->sets[set] >> binding & 1;
}
