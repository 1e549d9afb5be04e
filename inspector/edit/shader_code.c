/* SPDX-License-Identifier: MIT */
#include "inspector/edit/shader_code.h"

#include "base/map.h"
#include "gen_ids.h"
#include "inspector/analysis/shader_places.h"
#include "inspector/twin/rewrite.h"

struct changes {
    shader_code_fn change;
    void *user;
    struct shader_code_result *result;
    struct lap_map modules;  /* that got other code, by their numbers */
    struct lap_arena *arena; /* of the call */
    bool changed;            /* in it */
    bool counted;            /* the pipeline is, in result->pipelines */
    enum lap_status status;  /* latched */
};

static void see_pipeline(void *user, uint64_t pipeline, const VkPipelineLibraryCreateInfoKHR *libraries)
{
    ((struct changes *)user)->counted = false;
}

/* Whether it got other code. */
static bool give(struct changes *c, struct shader_place *place)
{
    const uint32_t *before = place->words;

    if (c->status == LAP_OK && before)
        c->status = c->change(c->user, c->arena, &place->words, &place->bytes);
    c->changed |= place->words != before;
    return place->words != before;
}

static void see_place(void *user, struct shader_place *place)
{
    struct changes *c = user;
    bool changed = give(c, place);

    switch (place->type) {
    case GEN_HANDLE_VkShaderModule:
        c->result->modules += changed;
        if (changed && place->object && c->status == LAP_OK)
            c->status = lap_map_put(&c->modules, place->object, c, NULL);
        return;
    case GEN_HANDLE_VkPipeline:
        c->result->modules += changed;
        c->result->opaque += !place->module && !place->words;
        changed |= place->module && lap_map_get(&c->modules, place->module);
        c->result->pipelines += changed && !c->counted;
        c->counted |= changed;
        return;
    default:
        c->result->objects += changed;
        c->result->opaque += place->words == NULL;
        return;
    }
}

static bool wants_code(const void *user, uint32_t command)
{
    const uint16_t *wanted = shader_places_commands;

    while (*wanted && *wanted != command)
        wanted++;
    return *wanted != 0;
}

static enum lap_status see_call(void *user, const struct rewrite_call *call, bool *out_changed)
{
    struct changes *c = user;
    const struct shader_places_visitor visitor = {.pipeline = see_pipeline, .place = see_place, .user = c};

    c->arena = call->arena;
    c->changed = false;
    shader_places_visit(call->command, call->args, &visitor);
    *out_changed = c->changed;
    return c->status;
}

enum lap_status edit_shader_code(const struct lap_reader *trace, shader_code_fn change, void *user,
                                 struct lap_edits *edits, struct shader_code_result *out)
{
    struct changes c = {.change = change, .user = user, .result = out};
    const struct rewrite_visitor visitor = {.wants = wants_code, .visit = see_call, .user = &c};
    enum lap_status status;

    *out = (struct shader_code_result){.modules = 0};
    lap_map_init(&c.modules);
    status = rewrite_trace(trace, &visitor, edits);
    lap_map_finish(&c.modules);
    return status;
}
