/* SPDX-License-Identifier: MIT */
#include "tools/show/bound_print.h"

#include "gen_ids.h"

/* ---- what is relevant ---- */

/* The bind point of a draw, a dispatch or a ray trace; BOUND_POINTS: all are shown. */
static enum bound_point point_of(const struct bound_visit *visit)
{
    switch (visit->work) {
    case POSITION_DRAW:
        return BOUND_GRAPHICS;
    case POSITION_DISPATCH:
        return BOUND_COMPUTE;
    case POSITION_TRACE:
        return BOUND_RAYS;
    default:
        return BOUND_POINTS;
    }
}

bool lap_bound_shows_point(const struct bound_visit *visit, unsigned point)
{
    const struct bound_pipeline *p = &visit->bound->points[point];
    enum bound_point only = point_of(visit);

    if (only != BOUND_POINTS && only != point)
        return false;
    for (size_t i = 0; i < p->set_count; i++)
        if (p->sets[i].kind)
            return true;
    return p->pipeline != 0;
}

bool lap_bound_shows_graphics(const struct bound_visit *visit)
{
    enum bound_point only = point_of(visit);
    return only == BOUND_POINTS || only == BOUND_GRAPHICS;
}

bool lap_bound_shows_shader(const struct bound_visit *visit, unsigned bit)
{
    bool is_compute = (1u << bit) == VK_SHADER_STAGE_COMPUTE_BIT;
    enum bound_point only = point_of(visit);

    return visit->bound->shaders[bit].shader &&
           (only == BOUND_POINTS || (only == BOUND_COMPUTE ? is_compute : only == BOUND_GRAPHICS && !is_compute));
}

/* Whether the layout of the bound pipeline, if that is known, has another set there. */
bool lap_bound_is_incompatible(const struct bound *bound, const struct bound_pipeline *point, uint32_t number)
{
    const struct fact_pipeline *pipeline = fact_of_pipeline(bound->facts, point->pipeline);
    const struct fact_pipeline_layout *layout =
        pipeline ? fact_of_pipeline_layout(bound->facts, pipeline->layout) : NULL;

    return layout && number < layout->set_count &&
           !facts_are_compatible(bound->facts, pipeline->layout, point->sets[number].layout, number);
}

const char *lap_bound_pass_position(const struct bound_visit *visit, char out[POSITION_TEXT_BYTES])
{
    struct position position = visit->position;

    for (const struct bound *b = visit->bound; b->pass.inherited && b->outer && position.count > POSITION_COMMAND;
         b = b->outer)
        position.count -= 2;
    position.numbers[position.count - 1] = visit->bound->pass.command;
    return position_text(&position, out);
}

const char *lap_bound_handle(uint32_t type, uint64_t index, char out[LAP_TEXT_HANDLE_MAX])
{
    if (!index)
        return "VK_NULL_HANDLE";
    lap_text_handle(type, index, out);
    return out;
}

/* Older registries lack it. */
uint32_t lap_bound_shader_type(void)
{
    return gen_handle_by_name("VkShaderEXT");
}
