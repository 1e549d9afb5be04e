/* SPDX-License-Identifier: MIT */
/* Commands that bind what is bound, and set what is set: each is compared with what it finds. */
#include <inttypes.h>
#include <string.h>

#include "inspector/report/inside.h"

#define MOST_CONSTANTS 4096u /* bytes */

struct binds {
    uint64_t push_hash; /* of the layout that these were pushed with */
    uint32_t pushed;    /* how far bytes may be known; 0: none are */
    uint8_t constants[MOST_CONSTANTS], known[MOST_CONSTANTS];
};

static void forget_constants(struct binds *b)
{
    memset(b->known, 0, b->pushed);
    b->pushed = 0;
}

static enum bound_point point_of(VkPipelineBindPoint point)
{
    return point == VK_PIPELINE_BIND_POINT_GRAPHICS          ? BOUND_GRAPHICS
           : point == VK_PIPELINE_BIND_POINT_COMPUTE         ? BOUND_COMPUTE
           : point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR ? BOUND_RAYS
                                                             : BOUND_OTHER;
}

/* ---- pipelines ---- */

/* Whether binding it again would take back state that was set since. */
static bool has_effects(const struct bound *bound, enum bound_point point, uint64_t pipeline)
{
    const struct fact_pipeline *fact = fact_of_pipeline(bound->facts, pipeline);

    if (!fact || point == BOUND_OTHER)
        return true;
    for (size_t i = 0; i < bound->setting_count; i++)
        if (bound->facts->states.values[bound->settings[i].number] != DYNAMIC_STATE_NONE && point != BOUND_COMPUTE &&
            !dynamic_mask_has(&fact->dynamic, bound->settings[i].number))
            return true;
    return false;
}

static enum lap_status see_pipeline(struct report_inside *r, struct binds *b, const struct bound_visit *visit)
{
    const struct gen_args_vkCmdBindPipeline *a = visit->args;
    enum bound_point point = point_of(a->pipelineBindPoint);
    uint64_t pipeline = gen_u64_VkPipeline(a->pipeline);
    const struct fact_pipeline *fact = fact_of_pipeline(visit->bound->facts, pipeline);
    const struct fact_pipeline_layout *layout =
        fact ? fact_of_pipeline_layout(visit->bound->facts, fact->layout) : NULL;
    struct report_finding finding = report_at(visit);

    if (!layout || layout->push_hash != b->push_hash)
        forget_constants(b); /* another layout disturbs them */
    report_count(r, REPORT_PIPELINE_BOUND);
    if (!pipeline || visit->bound->points[point].pipeline != pipeline || has_effects(visit->bound, point, pipeline))
        return LAP_OK;
    finding.type = GEN_HANDLE_VkPipeline;
    finding.index = pipeline;
    return report_find(r, REPORT_PIPELINE_BOUND, &finding, "bound by command %" PRIu32,
                       visit->bound->points[point].command);
}

/* ---- descriptor sets ---- */

static bool is_set_bound(const struct bound *bound, const struct bound_set *found, uint64_t layout, uint32_t number,
                         uint64_t set, const uint32_t *offsets, uint32_t offset_count)
{
    return found->kind == BOUND_SET && found->set == set && found->offset_count == offset_count &&
           facts_are_compatible(bound->facts, found->layout, layout, number) &&
           (!offset_count || memcmp(found->offsets, offsets, offset_count * sizeof *offsets) == 0);
}

static enum lap_status see_sets(struct report_inside *r, const struct bound_visit *visit)
{
    const struct gen_args_vkCmdBindDescriptorSets *a = visit->args;
    const struct bound *bound = visit->bound;
    const struct bound_pipeline *p = &bound->points[point_of(a->pipelineBindPoint)];
    uint64_t layout = gen_u64_VkPipelineLayout(a->layout);
    const struct fact_pipeline_layout *fact = fact_of_pipeline_layout(bound->facts, layout);
    const uint32_t *offsets = a->pDynamicOffsets;
    uint32_t left = offsets ? a->dynamicOffsetCount : 0, by = 0;
    struct report_finding finding = report_at(visit);

    report_count(r, REPORT_SETS_BOUND);
    if (!fact || !a->pDescriptorSets || !a->descriptorSetCount || point_of(a->pipelineBindPoint) == BOUND_OTHER)
        return LAP_OK;
    for (uint32_t i = 0; i < a->descriptorSetCount; i++) {
        uint32_t number = a->firstSet + i;
        uint64_t taken = number < fact->set_count ? fact->sets[number].dynamic_count : 0;
        if (number >= p->set_count || taken > left ||
            !is_set_bound(bound, &p->sets[number], layout, number, gen_u64_VkDescriptorSet(a->pDescriptorSets[i]),
                          offsets, (uint32_t)taken))
            return LAP_OK;
        offsets = taken ? offsets + taken : offsets;
        left -= (uint32_t)taken;
        by = p->sets[number].command;
    }
    finding.type = GEN_HANDLE_VkDescriptorSet;
    finding.index = gen_u64_VkDescriptorSet(a->pDescriptorSets[0]);
    return report_find(r, REPORT_SETS_BOUND, &finding, "set %" PRIu32 ", bound by command %" PRIu32, a->firstSet, by);
}

/* ---- buffers ---- */

struct buffers {
    uint32_t first, count;
    const VkBuffer *buffers;
    const VkDeviceSize *offsets, *sizes, *strides;
};

static enum lap_status see_vertex(struct report_inside *r, const struct bound_visit *visit, const struct buffers *new)
{
    const struct bound *bound = visit->bound;
    struct report_finding finding = report_at(visit);
    uint32_t by = 0;

    report_count(r, REPORT_VERTEX_BOUND);
    if (!new->buffers || !new->offsets || !new->count)
        return LAP_OK;
    for (uint32_t i = 0; i < new->count; i++) {
        uint64_t number = (uint64_t) new->first + i;
        const struct bound_buffer *b = number < bound->vertex_count ? &bound->vertex[number] : NULL;
        if (!b || b->command == BOUND_NO_COMMAND || b->buffer != gen_u64_VkBuffer(new->buffers[i]) ||
            b->offset != new->offsets[i] || b->size != (new->sizes ? new->sizes[i] : UINT64_MAX) ||
            b->stride != (new->strides ? new->strides[i] : UINT64_MAX))
            return LAP_OK;
        /* A pipeline with strides of its own takes them back. */
        if (new->strides && bound->points[BOUND_GRAPHICS].pipeline &&
            bound->points[BOUND_GRAPHICS].command > b->command)
            return LAP_OK;
        by = b->command;
    }
    finding.type = GEN_HANDLE_VkBuffer;
    finding.index = gen_u64_VkBuffer(new->buffers[0]);
    return report_find(r, REPORT_VERTEX_BOUND, &finding, "binding %" PRIu32 ", bound by command %" PRIu32, new->first,
                       by);
}

static enum lap_status see_index(struct report_inside *r, const struct bound_visit *visit, VkBuffer buffer,
                                 uint64_t offset, uint64_t size, VkIndexType type)
{
    const struct bound_buffer *b = &visit->bound->index;
    struct report_finding finding = report_at(visit);

    report_count(r, REPORT_INDEX_BOUND);
    if (b->command == BOUND_NO_COMMAND || !buffer || b->buffer != gen_u64_VkBuffer(buffer) || b->offset != offset ||
        b->size != size || visit->bound->index_type != type)
        return LAP_OK;
    finding.type = GEN_HANDLE_VkBuffer;
    finding.index = gen_u64_VkBuffer(buffer);
    return report_find(r, REPORT_INDEX_BOUND, &finding, "bound by command %" PRIu32, b->command);
}

/* ---- state ---- */

/* The same command with the same bytes, all of whose elements still hold. */
static bool is_set_so(const struct bound_setting *old, const struct bound_visit *visit, uint64_t first, uint64_t end)
{
    const struct lap_dec *dec = &old->at.dec;

    return old->command == visit->command && old->first == first && old->end == end &&
           (size_t)(dec->end - dec->p) >= visit->encoded_bytes &&
           memcmp(dec->p, visit->encoded, visit->encoded_bytes) == 0;
}

static enum lap_status see_state(struct report_inside *r, const struct bound_visit *visit)
{
    const struct bound *bound = visit->bound;
    const struct dynamic_states *states = &bound->facts->states;
    struct report_finding finding = report_at(visit);
    uint64_t first, end;

    report_count(r, REPORT_STATE_SET);
    dynamic_states_range(states, visit->command, visit->args, &first, &end);
    for (size_t i = 0; i < bound->setting_count; i++)
        if (is_set_so(&bound->settings[i], visit, first, end))
            return report_find(r, REPORT_STATE_SET, &finding, "set by command %" PRIu32, bound->settings[i].index);
    return LAP_OK;
}

static enum lap_status see_constants(struct report_inside *r, struct binds *b, const struct bound_visit *visit)
{
    const struct gen_args_vkCmdPushConstants *a = visit->args;
    const struct fact_pipeline_layout *fact =
        fact_of_pipeline_layout(visit->bound->facts, gen_u64_VkPipelineLayout(a->layout));
    uint64_t end = (uint64_t)a->offset + a->size;
    struct report_finding finding = report_at(visit);
    bool is_same = a->size > 0;

    report_count(r, REPORT_CONSTANTS_PUSHED);
    if (!fact || fact->push_hash != b->push_hash || !a->pValues || end > MOST_CONSTANTS)
        forget_constants(b);
    if (!fact || !a->pValues || end > MOST_CONSTANTS)
        return LAP_OK;
    for (uint64_t i = a->offset; is_same && i < end; i++)
        is_same = b->known[i] && b->constants[i] == ((const uint8_t *)a->pValues)[i - a->offset];
    b->push_hash = fact->push_hash;
    memcpy(b->constants + a->offset, a->pValues, a->size);
    memset(b->known + a->offset, 1, a->size);
    b->pushed = end > b->pushed ? (uint32_t)end : b->pushed;
    return is_same
               ? report_find(r, REPORT_CONSTANTS_PUSHED, &finding, "bytes %" PRIu32 " to %" PRIu64, a->offset, end - 1)
               : LAP_OK;
}

/* ---- the whole ---- */

static enum lap_status before(struct report_inside *r, void *state, const struct bound_visit *visit)
{
    struct binds *b = state;
    const struct dynamic_states *states = &visit->bound->facts->states;

    switch (visit->command) {
    case GEN_vkBeginCommandBuffer:
    case GEN_vkEndCommandBuffer:
    case GEN_vkCmdExecuteCommands:
        forget_constants(b);
        return LAP_OK;
    case GEN_vkCmdBindPipeline:
        return see_pipeline(r, b, visit);
    case GEN_vkCmdBindDescriptorSets:
        return see_sets(r, visit);
    case GEN_vkCmdBindVertexBuffers: {
        const struct gen_args_vkCmdBindVertexBuffers *a = visit->args;
        return see_vertex(r, visit,
                          &(struct buffers){a->firstBinding, a->bindingCount, a->pBuffers, a->pOffsets, NULL, NULL});
    }
    case GEN_vkCmdBindVertexBuffers2: {
        const struct gen_args_vkCmdBindVertexBuffers2 *a = visit->args;
        return see_vertex(
            r, visit,
            &(struct buffers){a->firstBinding, a->bindingCount, a->pBuffers, a->pOffsets, a->pSizes, a->pStrides});
    }
    case GEN_vkCmdBindIndexBuffer: {
        const struct gen_args_vkCmdBindIndexBuffer *a = visit->args;
        return see_index(r, visit, a->buffer, a->offset, UINT64_MAX, a->indexType);
    }
#ifdef VK_KHR_maintenance5
    case GEN_vkCmdBindIndexBuffer2KHR: {
        const struct gen_args_vkCmdBindIndexBuffer2KHR *a = visit->args;
        return see_index(r, visit, a->buffer, a->offset, a->size, a->indexType);
    }
#endif
    case GEN_vkCmdPushConstants:
        return see_constants(r, b, visit);
    default:
        if (strncmp(gen_command_names[visit->command], "vkCmdPush", 9) == 0)
            forget_constants(b); /* in another form */
        break;
    }
    return states->numbers[visit->command] && states->values[states->numbers[visit->command]] != DYNAMIC_STATE_NONE
               ? see_state(r, visit)
               : LAP_OK;
}

const struct report_part report_binds = {.bytes = sizeof(struct binds), .before = before};
