/* SPDX-License-Identifier: MIT */
#include "inspector/state/bound.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"
#include "vulkan/label.h"
#include "vulkan/pass.h"

#define GRAPHICS_STAGES (VK_SHADER_STAGE_ALL_GRAPHICS | VK_SHADER_STAGE_TASK_BIT_EXT | VK_SHADER_STAGE_MESH_BIT_EXT)
#define RAY_STAGES                                                                                                     \
    (VK_SHADER_STAGE_RAYGEN_BIT_KHR | VK_SHADER_STAGE_ANY_HIT_BIT_KHR | VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR |          \
     VK_SHADER_STAGE_MISS_BIT_KHR | VK_SHADER_STAGE_INTERSECTION_BIT_KHR | VK_SHADER_STAGE_CALLABLE_BIT_KHR)

/* Makes room for one more of the commands whose effects hold. */
static enum lap_status grow_one(void *items, size_t item_bytes, size_t count, size_t *capacity)
{
    if (count >= BOUND_MOST_HELD)
        return lap_fail(LAP_ERROR_LIMIT, "the effects of more than %u commands of a kind hold", BOUND_MOST_HELD);
    return lap_array_grow(items, item_bytes, capacity, count + 1) ? LAP_OK
                                                                  : lap_no_memory("the state of a command buffer");
}

/* Makes room for [0, end) of an array whose items are zero at first. */
static enum lap_status grow(void *items, size_t item_bytes, size_t *count, size_t *capacity, uint64_t end,
                            const char *what)
{
    if (end > BOUND_MOST_SLOTS)
        return lap_fail(LAP_ERROR_LIMIT, "%s have the number %" PRIu64, what, end - 1);
    if (end <= *count)
        return LAP_OK;
    if (!lap_array_grow(items, item_bytes, capacity, (size_t)end))
        return lap_no_memory("the state of a command buffer");
    memset(*(char **)items + *count * item_bytes, 0, ((size_t)end - *count) * item_bytes);
    *count = (size_t)end;
    return LAP_OK;
}

static enum bound_point point_of(VkPipelineBindPoint point)
{
    return point == VK_PIPELINE_BIND_POINT_GRAPHICS          ? BOUND_GRAPHICS
           : point == VK_PIPELINE_BIND_POINT_COMPUTE         ? BOUND_COMPUTE
           : point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR ? BOUND_RAYS
                                                             : BOUND_OTHER;
}

/* ---- pipelines and shaders ---- */

static void clear_shaders(struct bound *b, VkShaderStageFlags stages)
{
    for (unsigned i = 0; i < BOUND_STAGES; i++)
        if (stages >> i & 1)
            b->shaders[i].shader = 0;
}

/* What is static in a pipeline goes before what was set, and stays undefined behind it. */
static void forget_static(struct bound *b, enum bound_point point, const struct fact_pipeline *pipeline)
{
    size_t kept = 0;

    for (size_t i = 0; i < b->setting_count; i++) {
        int32_t value = b->facts->states.values[b->settings[i].number];
        bool is_of_rays = value == VK_DYNAMIC_STATE_RAY_TRACING_PIPELINE_STACK_SIZE_KHR;
        bool is_of_point =
            value != DYNAMIC_STATE_NONE && (point == BOUND_GRAPHICS ? !is_of_rays : point == BOUND_RAYS && is_of_rays);
        if (!is_of_point || dynamic_mask_has(&pipeline->dynamic, b->settings[i].number))
            b->settings[kept++] = b->settings[i];
    }
    b->setting_count = kept;
}

static void bind_pipeline(struct bound *b, uint32_t index, const struct gen_args_vkCmdBindPipeline *args)
{
    enum bound_point point = point_of(args->pipelineBindPoint);
    const struct fact_pipeline *fact = fact_of_pipeline(b->facts, gen_u64_VkPipeline(args->pipeline));

    b->points[point].pipeline = gen_u64_VkPipeline(args->pipeline);
    b->points[point].command = index;
    if (point == BOUND_GRAPHICS)
        clear_shaders(b, GRAPHICS_STAGES);
    else if (point == BOUND_COMPUTE)
        clear_shaders(b, VK_SHADER_STAGE_COMPUTE_BIT);
    if (fact)
        forget_static(b, point, fact);
}

#ifdef VK_EXT_shader_object
static void bind_shaders(struct bound *b, uint32_t index, const struct gen_args_vkCmdBindShadersEXT *args)
{
    for (uint32_t i = 0; args->pStages && i < args->stageCount; i++) {
        VkShaderStageFlags stage = (VkShaderStageFlags)args->pStages[i];
        for (unsigned bit = 0; bit < BOUND_STAGES; bit++)
            if (stage >> bit & 1) {
                b->shaders[bit].shader = args->pShaders ? gen_u64_VkShaderEXT(args->pShaders[i]) : 0;
                b->shaders[bit].command = index;
            }
        if (stage & GRAPHICS_STAGES)
            b->points[BOUND_GRAPHICS].pipeline = 0;
        if (stage & VK_SHADER_STAGE_COMPUTE_BIT)
            b->points[BOUND_COMPUTE].pipeline = 0;
    }
}
#endif

/* ---- descriptor sets ---- */

static void clear_set(struct bound *b, enum bound_point point, uint32_t number)
{
    struct bound_set *set = &b->points[point].sets[number];
    size_t kept = 0;

    if (set->kind == BOUND_SET_PUSHED) {
        for (size_t i = 0; i < b->pushes_count; i++)
            if (b->pushes[i].point != point || b->pushes[i].first != number)
                b->pushes[kept++] = b->pushes[i];
        b->pushes_count = kept;
    }
    *set = (struct bound_set){.kind = BOUND_SET_NONE};
}

/* Makes room for the sets [first, first + count), and clears what binding them with this layout disturbs. */
static enum lap_status disturb(struct bound *b, enum bound_point point, uint64_t layout, uint32_t first, uint32_t count)
{
    struct bound_pipeline *p = &b->points[point];
    uint64_t end = (uint64_t)first + count;
    enum lap_status status = grow(&p->sets, sizeof *p->sets, &p->set_count, &p->set_capacity, end, "descriptor sets");
    bool disturbs_later = false;

    if (status != LAP_OK || !fact_of_pipeline_layout(b->facts, layout))
        return status;
    for (uint32_t i = 0; i < end; i++) {
        bool is_disturbed = p->sets[i].kind && !facts_are_compatible(b->facts, p->sets[i].layout, layout, i);
        if (is_disturbed && i < first)
            clear_set(b, point, i);
        disturbs_later |= is_disturbed && i >= first;
    }
    for (uint32_t i = (uint32_t)end; disturbs_later && i < p->set_count; i++)
        clear_set(b, point, i);
    return LAP_OK;
}

struct sets {
    VkPipelineLayout layout;
    uint32_t first, count, offset_count;
    const VkDescriptorSet *sets;
    const uint32_t *offsets;
};

static enum lap_status bind_sets(struct bound *b, uint32_t index, enum bound_point point, const struct sets *sets)
{
    uint64_t layout = gen_u64_VkPipelineLayout(sets->layout);
    const struct fact_pipeline_layout *fact = fact_of_pipeline_layout(b->facts, layout);
    uint32_t count = sets->sets ? sets->count : 0;
    uint32_t left = sets->offsets ? sets->offset_count : 0;
    uint32_t *offsets = lap_arena_alloc(&b->arena, (left + !left) * sizeof *offsets, sizeof *offsets);
    enum lap_status status =
        offsets ? disturb(b, point, layout, sets->first, count) : lap_no_memory("the state of a command buffer");

    if (status != LAP_OK)
        return status;
    if (left)
        memcpy(offsets, sets->offsets, left * sizeof *offsets);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = sets->first + i;
        uint64_t dynamic = fact && number < fact->set_count ? fact->sets[number].dynamic_count : fact ? 0 : left;
        uint32_t taken = dynamic < left ? (uint32_t)dynamic : left;
        clear_set(b, point, number);
        b->points[point].sets[number] = (struct bound_set){.kind = BOUND_SET,
                                                           .set = gen_u64_VkDescriptorSet(sets->sets[i]),
                                                           .layout = layout,
                                                           .offsets = offsets,
                                                           .offset_count = taken,
                                                           .command = index};
        offsets += taken;
        left -= taken;
    }
    return LAP_OK;
}

struct push {
    VkPipelineLayout layout;
    uint32_t set, count;
    const VkWriteDescriptorSet *writes;
};

/* Whether the new push writes all that the old one writes. It may be missed where the two have another order. */
static bool is_covered(const struct bound_setting *old, const struct bound_setting *new)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < old->write_count; i++) {
        const struct bound_write *w = &old->writes[i];
        while (at < new->write_count && (new->writes[at].binding != w->binding || new->writes[at].first > w->first ||
                                         new->writes[at].end < w->end))
            at++;
        if (at == new->write_count)
            return false;
    }
    return true;
}

static enum lap_status add_push(struct bound *b, const struct bound_setting *push)
{
    enum lap_status status;
    size_t kept = 0;

    for (size_t i = 0; i < b->pushes_count; i++) {
        const struct bound_setting *old = &b->pushes[i];
        if (old->point != push->point || old->first != push->first || !is_covered(old, push))
            b->pushes[kept++] = *old;
    }
    b->pushes_count = kept;
    status = grow_one(&b->pushes, sizeof *b->pushes, kept, &b->pushes_capacity);
    if (status == LAP_OK)
        b->pushes[b->pushes_count++] = *push;
    return status;
}

static enum lap_status push_set(struct bound *b, const struct lap_block *at, uint32_t command, enum bound_point point,
                                const struct push *push)
{
    uint64_t layout = gen_u64_VkPipelineLayout(push->layout);
    uint32_t count = push->writes ? push->count : 0;
    struct bound_write *writes = lap_arena_alloc(&b->arena, (count + !count) * sizeof *writes, _Alignof(uint64_t));
    enum lap_status status =
        writes ? disturb(b, point, layout, push->set, 1) : lap_no_memory("the state of a command buffer");
    struct bound_set *set;

    if (status != LAP_OK)
        return status;
    for (uint32_t i = 0; i < count; i++) {
        const VkWriteDescriptorSet *w = &push->writes[i];
        writes[i] =
            (struct bound_write){w->dstBinding, w->dstArrayElement, (uint64_t)w->dstArrayElement + w->descriptorCount};
    }
    set = &b->points[point].sets[push->set];
    if (set->kind != BOUND_SET_PUSHED || !facts_are_compatible(b->facts, set->layout, layout, push->set))
        clear_set(b, point, push->set);
    *set = (struct bound_set){.kind = BOUND_SET_PUSHED, .layout = layout, .command = at->index};
    return add_push(b, &(struct bound_setting){.command = (uint16_t)command,
                                               .index = at->index,
                                               .first = push->set,
                                               .end = push->set + UINT64_C(1),
                                               .point = (uint8_t)point,
                                               .write_count = count,
                                               .writes = writes,
                                               .at = *at});
}

static enum lap_status set_offsets(struct bound *b, uint32_t index, enum bound_point point, VkPipelineLayout of,
                                   uint32_t first, uint32_t count, const uint32_t *buffers, const VkDeviceSize *offsets)
{
    uint64_t layout = gen_u64_VkPipelineLayout(of);
    enum lap_status status;

    if (!buffers || !offsets)
        return LAP_OK;
    status = disturb(b, point, layout, first, count);
    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        clear_set(b, point, first + i);
        b->points[point].sets[first + i] = (struct bound_set){
            .kind = BOUND_SET_OFFSET, .layout = layout, .buffer = buffers[i], .offset = offsets[i], .command = index};
    }
    return status;
}

static enum lap_status embed_samplers(struct bound *b, uint32_t index, enum bound_point point, VkPipelineLayout of,
                                      uint32_t number)
{
    uint64_t layout = gen_u64_VkPipelineLayout(of);
    enum lap_status status = disturb(b, point, layout, number, 1);

    if (status == LAP_OK) {
        clear_set(b, point, number);
        b->points[point].sets[number] =
            (struct bound_set){.kind = BOUND_SET_EMBEDDED, .layout = layout, .command = index};
    }
    return status;
}

/* ---- buffers ---- */

/* Leaves the old command the elements that the new one does not set. In the middle of them it leaves all. */
static void take_elements(struct bound_setting *old, const struct bound_setting *new)
{
    if (old->first >= new->first && old->first < new->end)
        old->first = new->end;
    else if (old->end <= new->end && old->end > new->first)
        old->end = new->first;
}

/* What is bound by device address is bound no more. */
static void forget_addresses(struct bound *b, enum dynamic_binding binding, uint64_t first, uint64_t end)
{
    const struct bound_setting new = {.first = first, .end = end};
    size_t kept = 0;

    for (size_t i = 0; i < b->setting_count; i++) {
        if (b->facts->states.replaces[b->settings[i].command] == binding)
            take_elements(&b->settings[i], &new);
        if (b->settings[i].first < b->settings[i].end)
            b->settings[kept++] = b->settings[i];
    }
    b->setting_count = kept;
}

/* And the reverse. */
static void forget_buffers(struct bound *b, const struct bound_setting *setting)
{
    switch (b->facts->states.replaces[setting->command]) {
    case DYNAMIC_BINDS_VERTEX:
        for (uint64_t i = setting->first; i < setting->end && i < b->vertex_count; i++)
            b->vertex[i].command = BOUND_NO_COMMAND;
        break;
    case DYNAMIC_BINDS_INDEX:
        b->index.command = BOUND_NO_COMMAND;
        break;
    case DYNAMIC_BINDS_FEEDBACK:
        for (uint64_t i = setting->first; i < setting->end && i < sizeof b->feedback / sizeof *b->feedback; i++)
            b->feedback[i].command = BOUND_NO_COMMAND;
        break;
    default:
        break;
    }
}

struct buffers {
    uint32_t first, count;
    const VkBuffer *buffers;
    const VkDeviceSize *offsets, *sizes, *strides; /* NULL: the command does not say */
};

static struct bound_buffer buffer_at(const struct buffers *from, uint32_t i, uint32_t index)
{
    return (struct bound_buffer){.buffer = from->buffers ? gen_u64_VkBuffer(from->buffers[i]) : 0,
                                 .offset = from->offsets ? from->offsets[i] : 0,
                                 .size = from->sizes ? from->sizes[i] : UINT64_MAX,
                                 .stride = from->strides ? from->strides[i] : UINT64_MAX,
                                 .command = index};
}

static enum lap_status bind_vertex(struct bound *b, uint32_t index, const struct buffers *buffers)
{
    size_t before = b->vertex_count;
    enum lap_status status = grow(&b->vertex, sizeof *b->vertex, &b->vertex_count, &b->vertex_capacity,
                                  (uint64_t)buffers->first + buffers->count, "vertex bindings");

    for (size_t i = before; i < b->vertex_count; i++)
        b->vertex[i].command = BOUND_NO_COMMAND;
    forget_addresses(b, DYNAMIC_BINDS_VERTEX, buffers->first, (uint64_t)buffers->first + buffers->count);
    for (uint32_t i = 0; i < buffers->count && status == LAP_OK; i++)
        b->vertex[buffers->first + i] = buffer_at(buffers, i, index);
    return status;
}

static void bind_feedback(struct bound *b, uint32_t index, const struct buffers *buffers)
{
    forget_addresses(b, DYNAMIC_BINDS_FEEDBACK, buffers->first, (uint64_t)buffers->first + buffers->count);
    for (uint32_t i = 0; i < buffers->count; i++)
        if ((uint64_t)buffers->first + i < sizeof b->feedback / sizeof *b->feedback)
            b->feedback[buffers->first + i] = buffer_at(buffers, i, index);
}

static enum lap_status push_constants(struct bound *b, VkShaderStageFlags stages, uint32_t offset, uint32_t size,
                                      const void *values)
{
    size_t known = b->push_bytes;
    enum lap_status status;

    if (!values)
        return LAP_OK;
    status = grow(&b->push, 1, &b->push_bytes, &b->push_capacity, (uint64_t)offset + size, "push constants");
    if (status == LAP_OK)
        status = grow(&b->push_known, 1, &known, &b->push_known_capacity, (uint64_t)offset + size, "push constants");
    if (status != LAP_OK)
        return status;
    memcpy(b->push + offset, values, size);
    memset(b->push_known + offset, 1, size);
    b->push_stages |= stages;
    return LAP_OK;
}

/* ---- settings ---- */

static enum lap_status set(struct bound *b, const struct lap_block *at, uint32_t command, const void *args)
{
    struct bound_setting setting = {
        .command = (uint16_t)command, .number = b->facts->states.numbers[command], .index = at->index, .at = *at};
    enum lap_status status;
    size_t kept = 0;

    dynamic_states_range(&b->facts->states, command, args, &setting.first, &setting.end);
    for (size_t i = 0; i < b->setting_count; i++) {
        struct bound_setting *old = &b->settings[i];
        if (old->number == setting.number)
            take_elements(old, &setting);
        if (old->first >= old->end)
            continue;
        if (kept != i)
            b->settings[kept] = *old;
        kept++;
    }
    b->setting_count = kept;
    forget_buffers(b, &setting);
    status = grow_one(&b->settings, sizeof *b->settings, kept, &b->setting_capacity);
    if (status == LAP_OK)
        b->settings[b->setting_count++] = setting;
    return status;
}

/* What vkCmdSetRendering… sets holds until the rendering ends. */
static void forget_rendering(struct bound *b)
{
    static const char name[] = "vkCmdSetRendering";
    size_t kept = 0;

    for (size_t i = 0; i < b->setting_count; i++)
        if (strncmp(gen_command_names[b->settings[i].command], name, sizeof name - 1) != 0)
            b->settings[kept++] = b->settings[i];
    b->setting_count = kept;
}

/* ---- scopes ---- */

static void begin_pass(struct bound *b, const struct lap_block *at, const VkRenderPassBeginInfo *info)
{
    b->pass = (struct bound_pass){.kind = info ? BOUND_RENDER_PASS : BOUND_RENDERING,
                                  .render_pass = info ? gen_u64_VkRenderPass(info->renderPass) : 0,
                                  .framebuffer = info ? gen_u64_VkFramebuffer(info->framebuffer) : 0,
                                  .command = at->index,
                                  .at = *at};
}

static enum lap_status begin_query(struct bound *b, uint64_t pool, uint32_t query, uint32_t element, uint32_t index)
{
    enum lap_status status = grow_one(&b->queries, sizeof *b->queries, b->query_count, &b->query_capacity);

    if (status == LAP_OK)
        b->queries[b->query_count++] = (struct bound_query){pool, query, element, index};
    return status;
}

static void end_query(struct bound *b, uint64_t pool, uint32_t query, uint32_t element)
{
    size_t kept = 0;

    for (size_t i = 0; i < b->query_count; i++)
        if (b->queries[i].pool != pool || b->queries[i].query != query || b->queries[i].index != element)
            b->queries[kept++] = b->queries[i];
    b->query_count = kept;
}

static enum lap_status begin_label(struct bound *b, uint32_t index, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = lap_arena_alloc(&b->arena, bytes, 1);

    if (!copy || !lap_array_grow(&b->labels, sizeof *b->labels, &b->label_capacity, b->label_count + 1))
        return lap_no_memory("the state of a command buffer");
    memcpy(copy, text, bytes);
    b->labels[b->label_count++] = (struct bound_label){copy, index};
    return LAP_OK;
}

/* ---- command buffers ---- */

static void clear_bindings(struct bound *b)
{
    size_t kept = 0;

    for (size_t i = 0; i < b->setting_count; i++) /* conditional rendering goes on */
        if (b->facts->states.replaces[b->settings[i].command] == DYNAMIC_BINDS_CONDITION)
            b->settings[kept++] = b->settings[i];
    b->setting_count = kept;
    for (unsigned i = 0; i < BOUND_POINTS; i++) {
        b->points[i].pipeline = 0;
        b->points[i].set_count = 0;
    }
    memset(b->shaders, 0, sizeof b->shaders);
    for (unsigned i = 0; i < sizeof b->feedback / sizeof *b->feedback; i++)
        b->feedback[i].command = BOUND_NO_COMMAND;
    b->index.command = BOUND_NO_COMMAND;
    b->vertex_count = b->push_bytes = b->pushes_count = 0;
    b->push_stages = 0;
}

void bound_init(struct bound *b, const struct creation_facts *facts)
{
    *b = (struct bound){.facts = facts};
    lap_arena_init(&b->arena, 0);
    bound_begin(b, NULL, NULL);
}

void bound_finish(struct bound *b)
{
    for (unsigned i = 0; i < BOUND_POINTS; i++)
        free(b->points[i].sets);
    free(b->vertex);
    free(b->push);
    free(b->push_known);
    free(b->settings);
    free(b->pushes);
    free(b->queries);
    free(b->labels);
    lap_arena_finish(&b->arena);
    *b = (struct bound){.facts = NULL};
}

void bound_begin(struct bound *b, const struct bound *outer, const struct position_queue_labels *around)
{
    lap_arena_reset(&b->arena);
    b->setting_count = 0;
    clear_bindings(b);
    b->outer = outer;
    b->pass = (struct bound_pass){.kind = BOUND_NO_PASS};
    if (outer) {
        b->pass = outer->pass;
        b->pass.inherited = outer->pass.kind != BOUND_NO_PASS;
    }
    b->condition.command = b->feedback_command = BOUND_NO_COMMAND;
    b->query_count = b->label_count = b->around_ended = 0;
    b->around = around;
}

/* VK_NV_inherited_viewport_scissor. */
static enum lap_status begin_buffer(struct bound *b, const VkCommandBufferBeginInfo *info)
{
    const void *chain = info && info->pInheritanceInfo ? info->pInheritanceInfo->pNext : NULL;
    bool inherits = false;

    for (const VkBaseInStructure *c = chain; c; c = c->pNext)
        if (c->sType == VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_VIEWPORT_SCISSOR_INFO_NV)
            inherits = ((const VkCommandBufferInheritanceViewportScissorInfoNV *)c)->viewportScissor2D;
    for (size_t i = 0; inherits && b->outer && i < b->outer->setting_count; i++) {
        const struct bound_setting *setting = &b->outer->settings[i];
        switch (b->facts->states.values[setting->number]) {
        case VK_DYNAMIC_STATE_VIEWPORT:
        case VK_DYNAMIC_STATE_SCISSOR:
        case VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT:
        case VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT:
            if (!lap_array_grow(&b->settings, sizeof *b->settings, &b->setting_capacity, b->setting_count + 1))
                return lap_no_memory("the state of a command buffer");
            b->settings[b->setting_count++] = *setting;
            break;
        default:
            break;
        }
    }
    return LAP_OK;
}

struct step {
    struct bound *bound;
    const struct lap_block *at;
    uint32_t command;
    const void *args;
};

#ifdef VK_KHR_maintenance6
/* The bind points of stages, for the commands that have stages in their place. */
static enum lap_status for_stages(VkShaderStageFlags stages, enum lap_status (*act)(void *user, enum bound_point point),
                                  void *user)
{
    enum lap_status status = LAP_OK;

    if (stages & GRAPHICS_STAGES)
        status = act(user, BOUND_GRAPHICS);
    if (status == LAP_OK && stages & VK_SHADER_STAGE_COMPUTE_BIT)
        status = act(user, BOUND_COMPUTE);
    if (status == LAP_OK && stages & RAY_STAGES)
        status = act(user, BOUND_RAYS);
    return status;
}

static enum lap_status bind_at_point(void *user, enum bound_point point)
{
    struct step *step = user;
    uint32_t index = step->at->index;

    switch (step->command) {
    case GEN_vkCmdBindDescriptorSets2KHR: {
        const VkBindDescriptorSetsInfoKHR *info =
            ((const struct gen_args_vkCmdBindDescriptorSets2KHR *)step->args)->pBindDescriptorSetsInfo;
        const struct sets sets = {
            info->layout,          info->firstSet,       info->descriptorSetCount, info->dynamicOffsetCount,
            info->pDescriptorSets, info->pDynamicOffsets};
        return bind_sets(step->bound, index, point, &sets);
    }
    case GEN_vkCmdPushDescriptorSet2KHR: {
        const VkPushDescriptorSetInfoKHR *info =
            ((const struct gen_args_vkCmdPushDescriptorSet2KHR *)step->args)->pPushDescriptorSetInfo;
        const struct push push = {info->layout, info->set, info->descriptorWriteCount, info->pDescriptorWrites};
        return push_set(step->bound, step->at, step->command, point, &push);
    }
    case GEN_vkCmdSetDescriptorBufferOffsets2EXT: {
        const VkSetDescriptorBufferOffsetsInfoEXT *info =
            ((const struct gen_args_vkCmdSetDescriptorBufferOffsets2EXT *)step->args)->pSetDescriptorBufferOffsetsInfo;
        return set_offsets(step->bound, index, point, info->layout, info->firstSet, info->setCount,
                           info->pBufferIndices, info->pOffsets);
    }
    default: {
        const VkBindDescriptorBufferEmbeddedSamplersInfoEXT *info =
            ((const struct gen_args_vkCmdBindDescriptorBufferEmbeddedSamplers2EXT *)step->args)
                ->pBindDescriptorBufferEmbeddedSamplersInfo;
        return embed_samplers(step->bound, index, point, info->layout, info->set);
    }
    }
}

static enum lap_status see_second_form(struct step *step)
{
    switch (step->command) {
    case GEN_vkCmdBindDescriptorSets2KHR: {
        const struct gen_args_vkCmdBindDescriptorSets2KHR *args = step->args;
        return args->pBindDescriptorSetsInfo
                   ? for_stages(args->pBindDescriptorSetsInfo->stageFlags, bind_at_point, step)
                   : LAP_OK;
    }
    case GEN_vkCmdPushDescriptorSet2KHR: {
        const struct gen_args_vkCmdPushDescriptorSet2KHR *args = step->args;
        return args->pPushDescriptorSetInfo ? for_stages(args->pPushDescriptorSetInfo->stageFlags, bind_at_point, step)
                                            : LAP_OK;
    }
    case GEN_vkCmdSetDescriptorBufferOffsets2EXT: {
        const struct gen_args_vkCmdSetDescriptorBufferOffsets2EXT *args = step->args;
        return args->pSetDescriptorBufferOffsetsInfo
                   ? for_stages(args->pSetDescriptorBufferOffsetsInfo->stageFlags, bind_at_point, step)
                   : LAP_OK;
    }
    case GEN_vkCmdBindDescriptorBufferEmbeddedSamplers2EXT: {
        const struct gen_args_vkCmdBindDescriptorBufferEmbeddedSamplers2EXT *args = step->args;
        return args->pBindDescriptorBufferEmbeddedSamplersInfo
                   ? for_stages(args->pBindDescriptorBufferEmbeddedSamplersInfo->stageFlags, bind_at_point, step)
                   : LAP_OK;
    }
    case GEN_vkCmdPushConstants2KHR: {
        const VkPushConstantsInfoKHR *info =
            ((const struct gen_args_vkCmdPushConstants2KHR *)step->args)->pPushConstantsInfo;
        return info ? push_constants(step->bound, info->stageFlags, info->offset, info->size, info->pValues) : LAP_OK;
    }
    default:
        return LAP_OK;
    }
}
#else
static enum lap_status see_second_form(struct step *step)
{
    return LAP_OK;
}
#endif

static enum lap_status see_binding(struct bound *b, const struct lap_block *at, uint32_t command, const void *args)
{
    uint32_t index = at->index;

    switch (command) {
    case GEN_vkCmdBindPipeline:
        bind_pipeline(b, index, args);
        return LAP_OK;
    case GEN_vkCmdBindDescriptorSets: {
        const struct gen_args_vkCmdBindDescriptorSets *a = args;
        const struct sets sets = {a->layout,          a->firstSet,       a->descriptorSetCount, a->dynamicOffsetCount,
                                  a->pDescriptorSets, a->pDynamicOffsets};
        return bind_sets(b, index, point_of(a->pipelineBindPoint), &sets);
    }
    case GEN_vkCmdPushDescriptorSetKHR: {
        const struct gen_args_vkCmdPushDescriptorSetKHR *a = args;
        const struct push push = {a->layout, a->set, a->descriptorWriteCount, a->pDescriptorWrites};
        return push_set(b, at, command, point_of(a->pipelineBindPoint), &push);
    }
    case GEN_vkCmdSetDescriptorBufferOffsetsEXT: {
        const struct gen_args_vkCmdSetDescriptorBufferOffsetsEXT *a = args;
        return set_offsets(b, index, point_of(a->pipelineBindPoint), a->layout, a->firstSet, a->setCount,
                           a->pBufferIndices, a->pOffsets);
    }
    case GEN_vkCmdBindDescriptorBufferEmbeddedSamplersEXT: {
        const struct gen_args_vkCmdBindDescriptorBufferEmbeddedSamplersEXT *a = args;
        return embed_samplers(b, index, point_of(a->pipelineBindPoint), a->layout, a->set);
    }
    case GEN_vkCmdBindVertexBuffers: {
        const struct gen_args_vkCmdBindVertexBuffers *a = args;
        return bind_vertex(b, index,
                           &(struct buffers){a->firstBinding, a->bindingCount, a->pBuffers, a->pOffsets, NULL, NULL});
    }
    case GEN_vkCmdBindVertexBuffers2: {
        const struct gen_args_vkCmdBindVertexBuffers2 *a = args;
        return bind_vertex(
            b, index,
            &(struct buffers){a->firstBinding, a->bindingCount, a->pBuffers, a->pOffsets, a->pSizes, a->pStrides});
    }
    case GEN_vkCmdBindTransformFeedbackBuffersEXT: {
        const struct gen_args_vkCmdBindTransformFeedbackBuffersEXT *a = args;
        bind_feedback(b, index,
                      &(struct buffers){a->firstBinding, a->bindingCount, a->pBuffers, a->pOffsets, a->pSizes, NULL});
        return LAP_OK;
    }
    case GEN_vkCmdBindIndexBuffer: {
        const struct gen_args_vkCmdBindIndexBuffer *a = args;
        b->index = (struct bound_buffer){gen_u64_VkBuffer(a->buffer), a->offset, UINT64_MAX, UINT64_MAX, index};
        b->index_type = a->indexType;
        forget_addresses(b, DYNAMIC_BINDS_INDEX, 0, 1);
        return LAP_OK;
    }
#ifdef VK_KHR_maintenance5
    case GEN_vkCmdBindIndexBuffer2KHR: {
        const struct gen_args_vkCmdBindIndexBuffer2KHR *a = args;
        b->index = (struct bound_buffer){gen_u64_VkBuffer(a->buffer), a->offset, a->size, UINT64_MAX, index};
        b->index_type = a->indexType;
        forget_addresses(b, DYNAMIC_BINDS_INDEX, 0, 1);
        return LAP_OK;
    }
#endif
#ifdef VK_EXT_shader_object
    case GEN_vkCmdBindShadersEXT:
        bind_shaders(b, index, args);
        return LAP_OK;
#endif
    case GEN_vkCmdPushConstants: {
        const struct gen_args_vkCmdPushConstants *a = args;
        return push_constants(b, a->stageFlags, a->offset, a->size, a->pValues);
    }
#ifdef VK_EXT_descriptor_heap
    case GEN_vkCmdPushDataEXT: { /* shaders read it as they read push constants */
        const VkPushDataInfoEXT *info = ((const struct gen_args_vkCmdPushDataEXT *)args)->pPushDataInfo;
        if (!info || info->data.size > UINT32_MAX)
            return LAP_OK;
        return push_constants(b, 0, info->offset, (uint32_t)info->data.size, info->data.address);
    }
#endif
    default:
        return see_second_form(&(struct step){b, at, command, args});
    }
}

static enum lap_status see_query(struct bound *b, uint32_t index, uint32_t command, const void *args)
{
    switch (command) {
    case GEN_vkCmdBeginQuery: {
        const struct gen_args_vkCmdBeginQuery *a = args;
        return begin_query(b, gen_u64_VkQueryPool(a->queryPool), a->query, 0, index);
    }
    case GEN_vkCmdBeginQueryIndexedEXT: {
        const struct gen_args_vkCmdBeginQueryIndexedEXT *a = args;
        return begin_query(b, gen_u64_VkQueryPool(a->queryPool), a->query, a->index, index);
    }
    case GEN_vkCmdEndQuery: {
        const struct gen_args_vkCmdEndQuery *a = args;
        end_query(b, gen_u64_VkQueryPool(a->queryPool), a->query, 0);
        return LAP_OK;
    }
    default: {
        const struct gen_args_vkCmdEndQueryIndexedEXT *a = args;
        end_query(b, gen_u64_VkQueryPool(a->queryPool), a->query, a->index);
        return LAP_OK;
    }
    }
}

static void end_label(struct bound *b)
{
    if (b->label_count)
        b->label_count--;
    else if (b->around && b->around_ended < b->around->left_open.count)
        b->around_ended++;
}

static void see_condition(struct bound *b, uint32_t index, const VkConditionalRenderingBeginInfoEXT *info)
{
    b->condition = (struct bound_buffer){.command = BOUND_NO_COMMAND};
    if (info)
        b->condition =
            (struct bound_buffer){gen_u64_VkBuffer(info->buffer), info->offset, UINT64_MAX, UINT64_MAX, index};
}

enum lap_status bound_see(struct bound *b, const struct lap_block *at, uint32_t command, const void *args)
{
    uint32_t index = at->index;
    const char *text;

    if (b->facts->states.numbers[command])
        return set(b, at, command, args);
    switch (lap_pass_step_of(command)) {
    case LAP_PASS_BEGIN:
        begin_pass(b, at, lap_pass_begin_info(command, args));
        return LAP_OK;
    case LAP_PASS_BEGIN_RENDERING:
        begin_pass(b, at, NULL);
        forget_rendering(b);
        return LAP_OK;
    case LAP_PASS_NEXT:
        b->pass.subpass++;
        return LAP_OK;
    case LAP_PASS_END:
    case LAP_PASS_END_RENDERING:
        b->pass = (struct bound_pass){.kind = BOUND_NO_PASS};
        return LAP_OK;
    case LAP_PASS_NONE:
        break;
    }
    switch (lap_label_step_of(command, args, &text)) {
    case LAP_LABEL_BEGIN:
        return begin_label(b, index, text);
    case LAP_LABEL_END:
        end_label(b);
        return LAP_OK;
    default:
        break;
    }
    switch (command) {
    case GEN_vkBeginCommandBuffer:
        return begin_buffer(b, ((const struct gen_args_vkBeginCommandBuffer *)args)->pBeginInfo);
    case GEN_vkCmdExecuteCommands:
        clear_bindings(b);
        return LAP_OK;
    case GEN_vkCmdBeginQuery:
    case GEN_vkCmdBeginQueryIndexedEXT:
    case GEN_vkCmdEndQuery:
    case GEN_vkCmdEndQueryIndexedEXT:
        return see_query(b, index, command, args);
    case GEN_vkCmdBeginConditionalRenderingEXT:
        see_condition(b, index,
                      ((const struct gen_args_vkCmdBeginConditionalRenderingEXT *)args)->pConditionalRenderingBegin);
        return LAP_OK;
    case GEN_vkCmdEndConditionalRenderingEXT:
        see_condition(b, index, NULL);
        forget_addresses(b, DYNAMIC_BINDS_CONDITION, 0, 1);
        return LAP_OK;
    case GEN_vkCmdBeginTransformFeedbackEXT:
#ifdef VK_KHR_device_address_commands
    case GEN_vkCmdBeginTransformFeedback2EXT:
#endif
        b->feedback_command = index;
        return LAP_OK;
    case GEN_vkCmdEndTransformFeedbackEXT:
#ifdef VK_KHR_device_address_commands
    case GEN_vkCmdEndTransformFeedback2EXT:
#endif
        b->feedback_command = BOUND_NO_COMMAND;
        return LAP_OK;
    default:
        return see_binding(b, at, command, args);
    }
}

enum lap_status bound_decode(const struct bound_setting *setting, struct lap_arena *arena, uint32_t *out_command,
                             struct lap_args *out_args)
{
    struct lap_block at = setting->at;

    at.dec.arena = arena;
    return lap_block_next(&at, out_command, out_args);
}
