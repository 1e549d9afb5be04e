/* SPDX-License-Identifier: MIT */
#include "inspector/question/probe_plan.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "gen_ids.h"
#include "inspector/state/attachments.h"
#include "inspector/twin/rewrite.h"
#include "vulkan/pass.h"

/* ---- features ---- */

static bool wants_device(const void *user, uint32_t command)
{
    (void)user;
    return command == GEN_vkCreateDevice;
}

static enum lap_status enable(void *user, const struct rewrite_call *call, bool *out_changed)
{
    const VkShaderStageFlags stages = *(const VkShaderStageFlags *)user;
    bool changed[2] = {false, false};
    enum lap_status status = LAP_OK;

    if (stages & VK_SHADER_STAGE_FRAGMENT_BIT)
        status =
            rewrite_enable_feature(call, offsetof(VkPhysicalDeviceFeatures, fragmentStoresAndAtomics), &changed[0]);
    if (status == LAP_OK && stages & VK_SHADER_STAGE_VERTEX_BIT)
        status = rewrite_enable_feature(call, offsetof(VkPhysicalDeviceFeatures, vertexPipelineStoresAndAtomics),
                                        &changed[1]);
    *out_changed = changed[0] || changed[1];
    return status;
}

enum lap_status edit_enable_stores(const struct lap_reader *trace, VkShaderStageFlags stages, struct lap_edits *edits)
{
    const struct rewrite_visitor visitor = {.wants = wants_device, .visit = enable, .user = &stages};

    return rewrite_trace(trace, &visitor, edits);
}

/* ---- a command ---- */

static int by_command(const void *one, const void *other)
{
    const struct bound_set *const *a = one, *const *b = other;

    return (*a)->command < (*b)->command ? -1 : (*a)->command > (*b)->command;
}

/* What binding a set with a twin of the layout disturbs. */
static bool is_disturbed(const struct bound *bound, const struct bound_set *set, uint32_t number,
                         const struct probe *probe)
{
    return set->kind != BOUND_SET_NONE &&
           (number >= probe->set || !facts_are_compatible(bound->facts, set->layout, probe->layout, number));
}

static enum lap_status list_rebinds(const struct bound_visit *visit, const struct bound_pipeline *point,
                                    const struct probe *probe, struct lap_arena *arena, struct probe_use *use,
                                    const char **out_why)
{
    const struct bound_set **sets = lap_arena_zalloc(arena, point->set_count + 1, sizeof *sets, 8);
    struct probe_rebind *rebinds = lap_arena_zalloc(arena, point->set_count + 1, sizeof *rebinds, 8);

    if (!sets || !rebinds)
        return lap_no_memory("the values of a shader");
    for (uint32_t i = 0; i < point->set_count; i++)
        if (is_disturbed(visit->bound, &point->sets[i], i, probe))
            sets[use->rebind_count++] = &point->sets[i];
    qsort(sets, use->rebind_count, sizeof *sets, by_command);
    for (size_t i = 0; i < use->rebind_count; i++) {
        uint32_t *offsets = lap_arena_alloc(arena, (sets[i]->offset_count + 1u) * sizeof *offsets, 8);
        if (!offsets)
            return lap_no_memory("the values of a shader");
        if (sets[i]->offset_count)
            memcpy(offsets, sets[i]->offsets, sets[i]->offset_count * sizeof *offsets);
        rebinds[i] = (struct probe_rebind){.layout = sets[i]->layout,
                                           .descriptor_set = sets[i]->set,
                                           .set = (uint32_t)(sets[i] - point->sets),
                                           .offsets = offsets,
                                           .offset_count = sets[i]->offset_count};
        if (sets[i]->kind != BOUND_SET)
            *out_why = "descriptors that it does not use are pushed or in buffers, and could not be bound again";
    }
    use->rebinds = rebinds;
    return LAP_OK;
}

/* Between rendering that suspends and rendering that resumes it there may be no other command, and the results are
 * filled with zeros when the command buffer begins. */
static enum lap_status resumes(const struct bound_visit *visit, struct lap_arena *arena, bool *out)
{
    struct attachment *attachments;
    const struct lap_args *begin = NULL;
    const VkRenderingInfo *info;
    uint32_t command = GEN_COMMAND_NONE;
    size_t count;
    enum lap_status status = attachments_of(visit->bound, arena, &attachments, &count, &begin, &command);

    info = status == LAP_OK && begin ? lap_pass_rendering_info(command, begin->bytes) : NULL;
    *out = info && info->flags & VK_RENDERING_RESUMING_BIT;
    return status;
}

enum lap_status probe_plan_command(const struct bound_visit *visit, struct lap_arena *arena, struct probe *probe,
                                   struct probe_use *use, const char **out_why)
{
    const struct bound *bound = visit->bound;
    const struct bound_pipeline *point =
        &bound->points[visit->work == POSITION_DISPATCH ? BOUND_COMPUTE : BOUND_GRAPHICS];
    const struct fact_pipeline *pipeline = point->pipeline ? fact_of_pipeline(bound->facts, point->pipeline) : NULL;
    const struct fact_pipeline_layout *layout =
        pipeline && pipeline->layout ? fact_of_pipeline_layout(bound->facts, pipeline->layout) : NULL;

    *out_why = NULL;
    if (visit->work != POSITION_DRAW && visit->work != POSITION_DISPATCH)
        *out_why = "it is no draw and no dispatch";
    else if (!point->pipeline)
        *out_why = "it runs with shader objects, which have no pipeline";
    else if (!layout)
        *out_why = "nothing creates the layout of its pipeline";
    else if (visit->work == POSITION_DRAW && bound->feedback_command != BOUND_NO_COMMAND)
        *out_why = "transform feedback is on, where no other pipeline can be bound";
    if (!*out_why && visit->work == POSITION_DRAW) {
        bool resumed;
        enum lap_status status = resumes(visit, arena, &resumed);
        if (status != LAP_OK)
            return status;
        if (resumed)
            *out_why = "its rendering resumes that of another command buffer, and no command may stand between them";
    }
    if (*out_why)
        return LAP_OK;
    probe->pipeline = point->pipeline;
    probe->layout = pipeline->layout;
    probe->set = layout->set_count;
    return list_rebinds(visit, point, probe, arena, use, out_why);
}
