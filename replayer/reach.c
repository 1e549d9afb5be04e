/* SPDX-License-Identifier: MIT */
#include "replayer/reach.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "codegen/support/block.h"
#include "codegen/support/conditions.h"
#include "codegen/support/set_layout.h"
#include "codegen/support/spirv.h"
#include "gen_replay.h"
#include "replayer/named.h"
#include "replayer/player.h"
#include "replayer/renamed.h"
#include "replayer/resource.h"
#include "replayer/static_use.h"

#define ARENA_BYTES   ((size_t)1 << 30)   /* the arguments of one command */
#define MOST_SLOTS    (UINT64_C(1) << 23) /* of all sets: 256 MiB */
#define MOST_PUSHED   4096u               /* at once; devices take a few dozens */
#define SETS          32u                 /* that can be bound at once; more are not looked at */
#define SWEEP_ENTRIES 1024u

/* ---- what is known of objects ---- */

struct layout {
    struct lap_set_layout *layout;
    uint64_t *samplers; /* [slot]: immutable ones, 0: none; NULL: none at all */
};

/* What one descriptor names; 0: nothing. */
struct slot {
    uint64_t sampler, resource;
    uint64_t since; /* the context's next_order when it was written: objects that came later are others */
    uint32_t type;  /* enum gen_handle_type of the resource */
    bool immutable; /* its sampler */
};

struct set {
    struct replay_reach *reach;
    struct lap_set_layout *layout;
    uint32_t slot_count;
    struct slot *slots; /* NULL: nothing was written */
};

/* Of all objects of a type, by index; those that are gone stay until they are swept. */
struct table {
    struct lap_map map;
    enum gen_handle_type type;
    size_t sweep_at;
    void (*finish)(void *value);
};

enum { LAYOUTS, SET_RECORDS, MODULES, PIPELINES, SHADERS, TABLES };

struct replay_reach {
    struct table tables[TABLES];
    struct lap_arena arena;
    struct lap_dec_source source; /* gives the trace's numbers */
    uint64_t slots;               /* of all sets */
};

static enum lap_status no_memory(void)
{
    return lap_fail(LAP_ERROR_MEMORY, "out of memory for what descriptors name");
}

static void finish_layout(void *value)
{
    struct layout *layout = value;

    lap_set_layout_release(layout->layout);
    free(layout->samplers);
    free(layout);
}

static void finish_set(void *value)
{
    struct set *set = value;

    set->reach->slots -= set->slots ? set->slot_count : 0;
    lap_set_layout_release(set->layout);
    free(set->slots);
    free(set);
}

static void finish_module(void *value)
{
    replay_entry_points_finish(value);
    free(value);
}

static void finish_uses(void *value)
{
    replay_uses_finish(value);
    free(value);
}

struct sweep {
    struct replay *r;
    const struct table *table;
    uint64_t *gone;
    size_t count;
};

static void see_gone(void *user, uint64_t key, void *value)
{
    struct sweep *sweep = user;

    (void)value;
    if (!replay_object_get(sweep->r, sweep->table->type, key))
        sweep->gone[sweep->count++] = key;
}

/* Without memory they stay. */
static void sweep_gone(struct replay *r, struct table *table)
{
    size_t count = lap_map_count(&table->map);
    struct sweep sweep = {.r = r, .table = table, .gone = malloc((count + 1) * sizeof *sweep.gone)};

    if (sweep.gone)
        lap_map_each(&table->map, see_gone, &sweep);
    for (size_t i = 0; i < sweep.count; i++)
        table->finish(lap_map_remove(&table->map, sweep.gone[i]));
    free(sweep.gone);
    table->sweep_at = 2 * lap_map_count(&table->map) + SWEEP_ENTRIES;
}

/* Takes the value. */
static enum lap_status keep(struct replay *r, struct table *table, uint64_t index, void *value)
{
    void *old = NULL;

    if (lap_map_count(&table->map) >= table->sweep_at)
        sweep_gone(r, table);
    if (!index || lap_map_put(&table->map, index, value, &old) != LAP_OK) {
        table->finish(value);
        return index ? no_memory() : LAP_OK;
    }
    if (old)
        table->finish(old);
    return LAP_OK;
}

static void finish_value(void *user, uint64_t key, void *value)
{
    (void)key;
    ((struct table *)user)->finish(value);
}

enum lap_status replay_reach_create(struct replay *r)
{
    struct replay_reach *reach = calloc(1, sizeof *reach);

    if (!reach)
        return no_memory();
    reach->tables[LAYOUTS] = (struct table){.type = GEN_HANDLE_VkDescriptorSetLayout, .finish = finish_layout};
    reach->tables[SET_RECORDS] = (struct table){.type = GEN_HANDLE_VkDescriptorSet, .finish = finish_set};
    reach->tables[MODULES] = (struct table){.type = GEN_HANDLE_VkShaderModule, .finish = finish_module};
    reach->tables[PIPELINES] = (struct table){.type = GEN_HANDLE_VkPipeline, .finish = finish_uses};
#ifdef VK_EXT_shader_object
    reach->tables[SHADERS] = (struct table){.type = GEN_HANDLE_VkShaderEXT, .finish = finish_uses};
#endif
    for (int i = 0; i < TABLES; i++) {
        lap_map_init(&reach->tables[i].map);
        reach->tables[i].sweep_at = SWEEP_ENTRIES;
    }
    lap_arena_init(&reach->arena, ARENA_BYTES);
    reach->source =
        (struct lap_dec_source){.blob = r->source.blob, .struct_id = r->source.struct_id, .user = r->source.user};
    r->reach = reach;
    return LAP_OK;
}

void replay_reach_destroy(struct replay *r)
{
    struct replay_reach *reach = r->reach;

    for (int i = 0; reach && i < TABLES; i++) {
        lap_map_each(&reach->tables[i].map, finish_value, &reach->tables[i]);
        lap_map_finish(&reach->tables[i].map);
    }
    if (reach)
        lap_arena_finish(&reach->arena);
    free(reach);
    r->reach = NULL;
}

/* ---- layouts and sets ---- */

static bool keep_samplers(struct layout *layout, const VkDescriptorSetLayoutBinding *from)
{
    const struct lap_set_binding *binding = lap_set_layout_find(layout->layout, from->binding);
    bool has = from->pImmutableSamplers && (from->descriptorType == VK_DESCRIPTOR_TYPE_SAMPLER ||
                                            from->descriptorType == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER);

    if (has && !layout->samplers)
        layout->samplers = calloc((size_t)layout->layout->slot_count + 1, sizeof *layout->samplers);
    if (has && !layout->samplers)
        return false;
    for (uint32_t i = 0; has && binding && i < binding->count; i++)
        layout->samplers[binding->first + i] = gen_u64_VkSampler(from->pImmutableSamplers[i]);
    return true;
}

static enum lap_status note_layout(struct replay *r, const struct gen_args_vkCreateDescriptorSetLayout *args)
{
    const VkDescriptorSetLayoutCreateInfo *info = args->pCreateInfo;
    struct layout *layout = calloc(1, sizeof *layout);
    bool kept;

    if (!layout)
        return no_memory();
    layout->layout = lap_set_layout_new(info);
    kept = layout->layout != NULL;
    for (uint32_t i = 0; kept && info->pBindings && i < info->bindingCount; i++)
        kept = keep_samplers(layout, &info->pBindings[i]);
    if (kept)
        return keep(r, &r->reach->tables[LAYOUTS], gen_u64_VkDescriptorSetLayout(*args->pSetLayout), layout);
    finish_layout(layout);
    return no_memory();
}

static enum lap_status make_slots(struct set *set)
{
    if (set->slots || !set->slot_count)
        return LAP_OK;
    if (set->slot_count > MOST_SLOTS - set->reach->slots)
        return lap_fail(LAP_ERROR_UNSUPPORTED,
                        "more than %" PRIu64 " descriptors at once: --validate-descriptors has no room for them",
                        MOST_SLOTS);
    set->slots = calloc(set->slot_count, sizeof *set->slots);
    if (!set->slots)
        return no_memory();
    set->reach->slots += set->slot_count;
    return LAP_OK;
}

static enum lap_status note_set(struct replay *r, const VkDescriptorSetAllocateInfo *info, uint32_t number,
                                uint64_t index)
{
    const struct layout *layout =
        lap_map_get(&r->reach->tables[LAYOUTS].map, gen_u64_VkDescriptorSetLayout(info->pSetLayouts[number]));
    struct set *set = layout ? calloc(1, sizeof *set) : NULL;
    enum lap_status status = LAP_OK;

    if (!set)
        return layout ? no_memory() : LAP_OK;
    set->reach = r->reach;
    set->layout = lap_set_layout_keep(layout->layout);
    set->slot_count = lap_set_layout_slots(set->layout, info, number);
    if (layout->samplers)
        status = make_slots(set);
    for (uint32_t i = 0; set->slots && i < set->slot_count; i++)
        set->slots[i] = (struct slot){
            .sampler = layout->samplers[i], .immutable = layout->samplers[i] != 0, .since = r->next_order};
    if (status == LAP_OK)
        return keep(r, &r->reach->tables[SET_RECORDS], index, set);
    finish_set(set);
    return status;
}

static enum lap_status note_sets(struct replay *r, const struct gen_args_vkAllocateDescriptorSets *args)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < args->pAllocateInfo->descriptorSetCount && status == LAP_OK; i++)
        status = note_set(r, args->pAllocateInfo, i, gen_u64_VkDescriptorSet(args->pDescriptorSets[i]));
    return status;
}

/* Which members each type reads: specification, VkWriteDescriptorSet. */
static void fill_slot(const VkWriteDescriptorSet *write, uint32_t element, uint64_t since, struct slot *slot)
{
    uint64_t immutable = slot->immutable ? slot->sampler : 0;

    *slot = (struct slot){.sampler = immutable, .immutable = immutable != 0, .since = since};
    if (cond_descriptor_is_image(write->descriptorType) && write->pImageInfo) {
        const VkDescriptorImageInfo *info = &write->pImageInfo[element];
        if (!immutable && (write->descriptorType == VK_DESCRIPTOR_TYPE_SAMPLER ||
                           write->descriptorType == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER))
            slot->sampler = gen_u64_VkSampler(info->sampler);
        if (write->descriptorType != VK_DESCRIPTOR_TYPE_SAMPLER) {
            slot->resource = gen_u64_VkImageView(info->imageView);
            slot->type = GEN_HANDLE_VkImageView;
        }
    } else if (cond_descriptor_is_buffer(write->descriptorType) && write->pBufferInfo) {
        slot->resource = gen_u64_VkBuffer(write->pBufferInfo[element].buffer);
        slot->type = GEN_HANDLE_VkBuffer;
    } else if (cond_descriptor_is_texel_buffer(write->descriptorType) && write->pTexelBufferView) {
        slot->resource = gen_u64_VkBufferView(write->pTexelBufferView[element]);
        slot->type = GEN_HANDLE_VkBufferView;
    }
}

static enum lap_status note_write(struct replay *r, const VkWriteDescriptorSet *write)
{
    struct set *set = lap_map_get(&r->reach->tables[SET_RECORDS].map, gen_u64_VkDescriptorSet(write->dstSet));
    uint32_t first = set ? lap_set_layout_slot(set->layout, write->dstBinding, write->dstArrayElement) : LAP_NO_SLOT;
    enum lap_status status;

    if (first == LAP_NO_SLOT)
        return LAP_OK;
    status = make_slots(set);
    for (uint32_t i = 0;
         i < write->descriptorCount && first < set->slot_count && i < set->slot_count - first && status == LAP_OK; i++)
        fill_slot(write, i, r->next_order, &set->slots[first + i]);
    return status;
}

static enum lap_status note_copy(struct replay *r, const VkCopyDescriptorSet *copy)
{
    const struct lap_map *sets = &r->reach->tables[SET_RECORDS].map;
    const struct set *from = lap_map_get(sets, gen_u64_VkDescriptorSet(copy->srcSet));
    struct set *to = lap_map_get(sets, gen_u64_VkDescriptorSet(copy->dstSet));
    uint32_t source = from ? lap_set_layout_slot(from->layout, copy->srcBinding, copy->srcArrayElement) : LAP_NO_SLOT;
    uint32_t target = to ? lap_set_layout_slot(to->layout, copy->dstBinding, copy->dstArrayElement) : LAP_NO_SLOT;
    enum lap_status status;

    if (source == LAP_NO_SLOT || target == LAP_NO_SLOT || !from->slots)
        return LAP_OK;
    status = make_slots(to);
    for (uint32_t i = 0; i < copy->descriptorCount && source < from->slot_count && i < from->slot_count - source &&
                         target < to->slot_count && i < to->slot_count - target && status == LAP_OK;
         i++) {
        struct slot *slot = &to->slots[target + i], before = *slot;
        *slot = from->slots[source + i];
        slot->immutable = before.immutable;
        if (before.immutable)
            slot->sampler = before.sampler;
    }
    return status;
}

static enum lap_status note_updates(struct replay *r, const struct gen_args_vkUpdateDescriptorSets *args)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; args->pDescriptorWrites && i < args->descriptorWriteCount && status == LAP_OK; i++)
        status = note_write(r, &args->pDescriptorWrites[i]);
    for (uint32_t i = 0; args->pDescriptorCopies && i < args->descriptorCopyCount && status == LAP_OK; i++)
        status = note_copy(r, &args->pDescriptorCopies[i]);
    return status;
}

bool replay_reach_may_write(const struct replay *r, const struct replay_reach_part *part)
{
    const VkDescriptorBindingFlags may =
        VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT | VK_DESCRIPTOR_BINDING_UPDATE_UNUSED_WHILE_PENDING_BIT;
    const struct set *set = lap_map_get(&r->reach->tables[SET_RECORDS].map, part->set);
    const struct lap_set_binding *binding = set ? lap_set_layout_find(set->layout, part->binding) : NULL;
    uint64_t left = (uint64_t)part->element + part->count;

    for (; binding && binding < set->layout->bindings + set->layout->binding_count && binding->flags & may; binding++) {
        if (left <= binding->count)
            return true;
        left -= binding->count;
    }
    return false;
}

/* ---- shaders and pipelines ---- */

static enum lap_status note_module(struct replay *r, const struct gen_args_vkCreateShaderModule *args)
{
    struct replay_entry_points *points = calloc(1, sizeof *points);
    enum lap_status status;

    if (!points)
        return no_memory();
    status = replay_static_use(args->pCreateInfo->pCode, args->pCreateInfo->codeSize / 4, points);
    if (status == LAP_OK)
        return keep(r, &r->reach->tables[MODULES], gen_u64_VkShaderModule(*args->pShaderModule), points);
    finish_module(points);
    return status;
}

static const struct {
    VkShaderStageFlagBits stage;
    uint32_t models[2];
} models[] = {
    {VK_SHADER_STAGE_VERTEX_BIT, {MODEL_VERTEX, MODEL_VERTEX}},
    {VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT, {MODEL_TESSELLATION_CONTROL, MODEL_TESSELLATION_CONTROL}},
    {VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT, {MODEL_TESSELLATION_EVALUATION, MODEL_TESSELLATION_EVALUATION}},
    {VK_SHADER_STAGE_GEOMETRY_BIT, {MODEL_GEOMETRY, MODEL_GEOMETRY}},
    {VK_SHADER_STAGE_FRAGMENT_BIT, {MODEL_FRAGMENT, MODEL_FRAGMENT}},
    {VK_SHADER_STAGE_COMPUTE_BIT, {MODEL_COMPUTE, MODEL_COMPUTE}},
    {VK_SHADER_STAGE_TASK_BIT_NV, {MODEL_TASK_NV, MODEL_TASK_EXT}},
    {VK_SHADER_STAGE_MESH_BIT_NV, {MODEL_MESH_NV, MODEL_MESH_EXT}},
};
#define STAGES (sizeof models / sizeof models[0])

static size_t stage_number(VkShaderStageFlagBits stage)
{
    size_t i = 0;

    while (i < STAGES && models[i].stage != stage)
        i++;
    return i;
}

static enum lap_status add_entry(const struct replay_entry_points *points, VkShaderStageFlagBits stage,
                                 const char *name, struct replay_uses *to)
{
    const struct replay_uses *uses = NULL;
    size_t number = stage_number(stage);

    for (int i = 0; i < 2 && number < STAGES && name && !uses; i++)
        uses = replay_entry_point_uses(points, models[number].models[i], name);
    return uses ? replay_uses_add(to, uses) : LAP_OK;
}

static enum lap_status add_code(const uint32_t *code, size_t bytes, VkShaderStageFlagBits stage, const char *name,
                                struct replay_uses *to)
{
    struct replay_entry_points points;
    enum lap_status status = replay_static_use(code, bytes / 4, &points);

    if (status == LAP_OK)
        status = add_entry(&points, stage, name, to);
    replay_entry_points_finish(&points);
    return status;
}

static enum lap_status add_stage(struct replay *r, const VkPipelineShaderStageCreateInfo *stage, struct replay_uses *to)
{
    const VkShaderModuleCreateInfo *code = replay_chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    const struct replay_entry_points *points =
        lap_map_get(&r->reach->tables[MODULES].map, gen_u64_VkShaderModule(stage->module));

    if (points)
        return add_entry(points, stage->stage, stage->pName, to);
    return code ? add_code(code->pCode, code->codeSize, stage->stage, stage->pName, to) : LAP_OK;
}

static enum lap_status add_libraries(struct replay *r, const VkGraphicsPipelineCreateInfo *info, struct replay_uses *to)
{
    const VkPipelineLibraryCreateInfoKHR *libraries =
        replay_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; libraries && libraries->pLibraries && i < libraries->libraryCount && status == LAP_OK; i++) {
        const struct replay_uses *uses =
            lap_map_get(&r->reach->tables[PIPELINES].map, gen_u64_VkPipeline(libraries->pLibraries[i]));
        status = uses ? replay_uses_add(to, uses) : LAP_OK;
    }
    return status;
}

/* Takes *uses, which was added to until `status`. */
static enum lap_status keep_uses(struct replay *r, struct table *table, uint64_t index, enum lap_status status,
                                 struct replay_uses *uses)
{
    struct replay_uses *kept = status == LAP_OK ? malloc(sizeof *kept) : NULL;

    if (kept) {
        *kept = *uses;
        return keep(r, table, index, kept);
    }
    replay_uses_finish(uses);
    return status == LAP_OK ? no_memory() : status;
}

static enum lap_status note_graphics(struct replay *r, const struct gen_args_vkCreateGraphicsPipelines *args)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < args->createInfoCount && status == LAP_OK; i++) {
        const VkGraphicsPipelineCreateInfo *info = &args->pCreateInfos[i];
        struct replay_uses uses = {0};
        status = add_libraries(r, info, &uses);
        for (uint32_t j = 0; info->pStages && j < info->stageCount && status == LAP_OK; j++)
            status = add_stage(r, &info->pStages[j], &uses);
        status = keep_uses(r, &r->reach->tables[PIPELINES], gen_u64_VkPipeline(args->pPipelines[i]), status, &uses);
    }
    return status;
}

static enum lap_status note_compute(struct replay *r, const struct gen_args_vkCreateComputePipelines *args)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < args->createInfoCount && status == LAP_OK; i++) {
        struct replay_uses uses = {0};
        status = add_stage(r, &args->pCreateInfos[i].stage, &uses);
        status = keep_uses(r, &r->reach->tables[PIPELINES], gen_u64_VkPipeline(args->pPipelines[i]), status, &uses);
    }
    return status;
}

#ifdef VK_EXT_shader_object
static enum lap_status note_shaders(struct replay *r, const struct gen_args_vkCreateShadersEXT *args)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < args->createInfoCount && status == LAP_OK; i++) {
        const VkShaderCreateInfoEXT *info = &args->pCreateInfos[i];
        struct replay_uses uses = {0};
        if (info->codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT)
            status = add_code(info->pCode, info->codeSize, info->stage, info->pName, &uses);
        status = keep_uses(r, &r->reach->tables[SHADERS], gen_u64_VkShaderEXT(args->pShaders[i]), status, &uses);
    }
    return status;
}
#endif

/* ---- packets ---- */

bool replay_reach_is_noted(uint32_t command)
{
    switch (command) {
    case GEN_vkCreateDescriptorSetLayout:
    case GEN_vkAllocateDescriptorSets:
    case GEN_vkUpdateDescriptorSets:
    case GEN_vkCreateShaderModule:
    case GEN_vkCreateGraphicsPipelines:
    case GEN_vkCreateComputePipelines:
#ifdef VK_EXT_shader_object
    case GEN_vkCreateShadersEXT:
#endif
        return true;
    default:
        return false;
    }
}

static enum lap_status note(struct replay *r, const void *args)
{
    switch (r->command) {
    case GEN_vkCreateDescriptorSetLayout:
        return note_layout(r, args);
    case GEN_vkAllocateDescriptorSets:
        return note_sets(r, args);
    case GEN_vkUpdateDescriptorSets:
        return note_updates(r, args);
    case GEN_vkCreateShaderModule:
        return note_module(r, args);
    case GEN_vkCreateGraphicsPipelines:
        return note_graphics(r, args);
#ifdef VK_EXT_shader_object
    case GEN_vkCreateShadersEXT:
        return note_shaders(r, args);
#endif
    default:
        return note_compute(r, args);
    }
}

enum lap_status replay_reach_note(struct replay *r)
{
    struct lap_args args;
    struct lap_dec dec;

    if (!replay_reach_is_noted(r->command))
        return LAP_OK;
    lap_arena_reset(&r->reach->arena);
    lap_dec_init(&dec, r->packet.body, r->packet.bytes, &r->reach->arena, &r->reach->source);
    gen_decode_table[r->command](&dec, args.bytes);
    return dec.status == LAP_OK ? note(r, args.bytes) : dec.status;
}

/* ---- blocks ---- */

struct pushed {
    uint32_t set, binding, element;
    struct slot slot;
};

/* Of a bind point. */
struct bound {
    const struct replay_uses *pipeline, *shaders[STAGES];
    uint64_t sets[SETS];
    struct pushed *pushed;
    size_t pushed_count, pushed_capacity;
    bool checked; /* nothing was bound since */
};

enum { GRAPHICS, COMPUTE, BIND_POINTS };

struct walk {
    struct replay *r;
    uint64_t since;
    bool all;                         /* REPLAY_VALIDATE_BOUND */
    VkDescriptorBindingFlags unknown; /* bindings of which nothing can be said */
    struct bound bound[BIND_POINTS];
};

static struct bound *bound_at(struct walk *walk, VkPipelineBindPoint point)
{
    if (point != VK_PIPELINE_BIND_POINT_GRAPHICS && point != VK_PIPELINE_BIND_POINT_COMPUTE)
        return NULL;
    return &walk->bound[point == VK_PIPELINE_BIND_POINT_COMPUTE ? COMPUTE : GRAPHICS];
}

static void drop_pushed(struct bound *bound, uint32_t set)
{
    size_t left = 0;

    for (size_t i = 0; i < bound->pushed_count; i++)
        if (bound->pushed[i].set != set)
            bound->pushed[left++] = bound->pushed[i];
    bound->pushed_count = left;
}

static void bind_sets(struct bound *bound, uint32_t first, uint32_t count, const VkDescriptorSet *sets)
{
    for (uint32_t i = 0; bound && sets && i < count && first < SETS && i < SETS - first; i++) {
        drop_pushed(bound, first + i);
        bound->sets[first + i] = gen_u64_VkDescriptorSet(sets[i]);
        bound->checked = false;
    }
}

static enum lap_status push_one(struct bound *bound, const struct pushed *one)
{
    for (size_t i = 0; i < bound->pushed_count; i++) {
        struct pushed *old = &bound->pushed[i];
        if (old->set == one->set && old->binding == one->binding && old->element == one->element) {
            *old = *one;
            return LAP_OK;
        }
    }
    if (bound->pushed_count == MOST_PUSHED)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "more than %u descriptors are pushed at once", MOST_PUSHED);
    if (bound->pushed_count == bound->pushed_capacity) {
        size_t capacity = bound->pushed_capacity ? 2 * bound->pushed_capacity : 16;
        struct pushed *more = realloc(bound->pushed, capacity * sizeof *more);
        if (!more)
            return no_memory();
        bound->pushed = more;
        bound->pushed_capacity = capacity;
    }
    bound->pushed[bound->pushed_count++] = *one;
    return LAP_OK;
}

static enum lap_status check_slot(struct replay *r, const struct slot *slot, uint32_t set, uint32_t binding,
                                  uint32_t element)
{
    enum lap_status status = LAP_OK;

    if (slot->sampler)
        status = replay_named_check(r, GEN_HANDLE_VkSampler, slot->sampler, slot->since);
    if (status == LAP_OK && slot->resource)
        status = replay_named_check(r, (enum gen_handle_type)slot->type, slot->resource, slot->since);
    return status == LAP_OK ? LAP_OK
                            : lap_fail_context(status, "descriptor %" PRIu32 " of binding %" PRIu32 " of set %" PRIu32,
                                               element, binding, set);
}

static enum lap_status push_set(const struct walk *walk, struct bound *bound, uint32_t set, uint32_t count,
                                const VkWriteDescriptorSet *writes)
{
    enum lap_status status = LAP_OK;

    if (!bound || set >= SETS)
        return LAP_OK;
    bound->sets[set] = 0;
    bound->checked = false;
    for (uint32_t i = 0; writes && i < count; i++)
        for (uint32_t j = 0; j < writes[i].descriptorCount && status == LAP_OK; j++) {
            struct pushed one = {set, writes[i].dstBinding, writes[i].dstArrayElement + j, {0}};
            fill_slot(&writes[i], j, walk->since, &one.slot);
            if (walk->all)
                status = check_slot(walk->r, &one.slot, set, one.binding, one.element);
            if (status == LAP_OK)
                status = push_one(bound, &one);
        }
    return status;
}

static void bind_pipeline(struct walk *walk, const struct gen_args_vkCmdBindPipeline *args)
{
    struct bound *bound = bound_at(walk, args->pipelineBindPoint);

    if (!bound)
        return;
    bound->pipeline = lap_map_get(&walk->r->reach->tables[PIPELINES].map, gen_u64_VkPipeline(args->pipeline));
    memset(bound->shaders, 0, sizeof bound->shaders);
    bound->checked = false;
}

#ifdef VK_EXT_shader_object
static void bind_shaders(struct walk *walk, const struct gen_args_vkCmdBindShadersEXT *args)
{
    for (uint32_t i = 0; args->pStages && i < args->stageCount; i++) {
        size_t number = stage_number(args->pStages[i]);
        struct bound *bound = &walk->bound[args->pStages[i] == VK_SHADER_STAGE_COMPUTE_BIT ? COMPUTE : GRAPHICS];
        uint64_t shader = args->pShaders ? gen_u64_VkShaderEXT(args->pShaders[i]) : 0;
        if (number == STAGES)
            continue;
        bound->pipeline = NULL;
        bound->shaders[number] = lap_map_get(&walk->r->reach->tables[SHADERS].map, shader);
        bound->checked = false;
    }
}
#endif

#ifdef VK_KHR_maintenance6
/* Which bind points stages belong to. */
static struct bound *bound_of(struct walk *walk, VkShaderStageFlags stages, int point)
{
    const VkShaderStageFlags graphics =
        VK_SHADER_STAGE_ALL_GRAPHICS | VK_SHADER_STAGE_TASK_BIT_NV | VK_SHADER_STAGE_MESH_BIT_NV;

    return stages & (point == COMPUTE ? VK_SHADER_STAGE_COMPUTE_BIT : graphics) ? &walk->bound[point] : NULL;
}

static void bind_sets_2(struct walk *walk, const VkBindDescriptorSetsInfoKHR *info)
{
    for (int point = 0; point < BIND_POINTS; point++)
        bind_sets(bound_of(walk, info->stageFlags, point), info->firstSet, info->descriptorSetCount,
                  info->pDescriptorSets);
}

static enum lap_status push_set_2(struct walk *walk, const VkPushDescriptorSetInfoKHR *info)
{
    enum lap_status status = LAP_OK;

    for (int point = 0; point < BIND_POINTS && status == LAP_OK; point++)
        status = push_set(walk, bound_of(walk, info->stageFlags, point), info->set, info->descriptorWriteCount,
                          info->pDescriptorWrites);
    return status;
}
#endif

static enum lap_status check_binding(const struct walk *walk, uint64_t index, const struct set *set, uint32_t number,
                                     const struct lap_set_binding *binding)
{
    enum lap_status status = LAP_OK;

    if (!binding || !set->slots || binding->flags & walk->unknown)
        return LAP_OK;
    for (uint32_t i = 0; i < binding->count && binding->first + i < set->slot_count && status == LAP_OK; i++)
        status = check_slot(walk->r, &set->slots[binding->first + i], number, binding->binding, i);
    return status == LAP_OK ? LAP_OK : lap_fail_context(status, "VkDescriptorSet:%" PRIu64, index);
}

static enum lap_status check_use(const struct walk *walk, const struct bound *bound, const struct replay_use *use)
{
    uint64_t index = use->set < SETS ? bound->sets[use->set] : 0;
    const struct set *set = index ? lap_map_get(&walk->r->reach->tables[SET_RECORDS].map, index) : NULL;

    return set ? check_binding(walk, index, set, use->set, lap_set_layout_find(set->layout, use->binding)) : LAP_OK;
}

/* Whatever is in sets, used or not. */
static enum lap_status check_sets(const struct walk *walk, uint32_t first, uint32_t count, const VkDescriptorSet *sets)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; walk->all && sets && i < count; i++) {
        uint64_t index = gen_u64_VkDescriptorSet(sets[i]);
        const struct set *set = lap_map_get(&walk->r->reach->tables[SET_RECORDS].map, index);
        for (uint32_t j = 0; set && j < set->layout->binding_count && status == LAP_OK; j++)
            status = check_binding(walk, index, set, first + i, &set->layout->bindings[j]);
    }
    return status;
}

static enum lap_status check_uses(const struct walk *walk, const struct bound *bound, const struct replay_uses *uses)
{
    enum lap_status status = LAP_OK;

    for (size_t i = 0; uses && i < uses->count && status == LAP_OK; i++)
        status = check_use(walk, bound, &uses->uses[i]);
    for (size_t i = 0; uses && i < bound->pushed_count && status == LAP_OK; i++) {
        const struct pushed *one = &bound->pushed[i];
        if (replay_uses_have(uses, (struct replay_use){one->set, one->binding}))
            status = check_slot(walk->r, &one->slot, one->set, one->binding, one->element);
    }
    return status;
}

static enum lap_status check_work(struct walk *walk, struct bound *bound)
{
    enum lap_status status = bound->checked ? LAP_OK : check_uses(walk, bound, bound->pipeline);

    for (size_t i = 0; i < STAGES && !bound->checked && status == LAP_OK; i++)
        status = check_uses(walk, bound, bound->shaders[i]);
    bound->checked = true;
    return status;
}

static void forget_bound(struct walk *walk)
{
    for (int i = 0; i < BIND_POINTS; i++)
        free(walk->bound[i].pushed);
    memset(walk->bound, 0, sizeof walk->bound);
}

static enum lap_status walk_command(struct walk *walk, uint32_t command, const void *raw)
{
    const char *name = gen_command_names[command];

    switch (command) {
    case GEN_vkCmdBindPipeline:
        bind_pipeline(walk, raw);
        return LAP_OK;
    case GEN_vkCmdBindDescriptorSets: {
        const struct gen_args_vkCmdBindDescriptorSets *args = raw;
        bind_sets(bound_at(walk, args->pipelineBindPoint), args->firstSet, args->descriptorSetCount,
                  args->pDescriptorSets);
        return check_sets(walk, args->firstSet, args->descriptorSetCount, args->pDescriptorSets);
    }
    case GEN_vkCmdPushDescriptorSetKHR: {
        const struct gen_args_vkCmdPushDescriptorSetKHR *args = raw;
        return push_set(walk, bound_at(walk, args->pipelineBindPoint), args->set, args->descriptorWriteCount,
                        args->pDescriptorWrites);
    }
#ifdef VK_KHR_maintenance6
    case GEN_vkCmdBindDescriptorSets2KHR: {
        const VkBindDescriptorSetsInfoKHR *info =
            ((const struct gen_args_vkCmdBindDescriptorSets2KHR *)raw)->pBindDescriptorSetsInfo;
        bind_sets_2(walk, info);
        return check_sets(walk, info->firstSet, info->descriptorSetCount, info->pDescriptorSets);
    }
    case GEN_vkCmdPushDescriptorSet2KHR:
        return push_set_2(walk, ((const struct gen_args_vkCmdPushDescriptorSet2KHR *)raw)->pPushDescriptorSetInfo);
#endif
#ifdef VK_EXT_shader_object
    case GEN_vkCmdBindShadersEXT:
        bind_shaders(walk, raw);
        return LAP_OK;
#endif
    case GEN_vkCmdExecuteCommands:
        forget_bound(walk); /* what is bound is undefined from now on */
        return LAP_OK;
    default:
        if (!strncmp(name, "vkCmdDraw", 9))
            return check_work(walk, &walk->bound[GRAPHICS]);
        return !strncmp(name, "vkCmdDispatch", 13) ? check_work(walk, &walk->bound[COMPUTE]) : LAP_OK;
    }
}

enum lap_status replay_reach_check(struct replay *r, uint64_t block, uint64_t since, bool recording)
{
    struct walk walk = {.r = r, .since = since, .all = r->options.validate_descriptors == REPLAY_VALIDATE_BOUND};
    struct lap_block commands;
    struct lap_args args;
    const uint8_t *data;
    size_t bytes;
    uint32_t command;
    enum lap_status status = lap_reader_blob(r->reader, LAP_BLOB_BLOCK, block, &data, &bytes);

    if (status != LAP_OK)
        return status;
    if (!walk.all)
        walk.unknown = VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT;
    if (recording)
        walk.unknown |=
            VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT | VK_DESCRIPTOR_BINDING_UPDATE_UNUSED_WHILE_PENDING_BIT;
    lap_block_init(&commands, data, bytes, 1, r->dictionary, &r->reach->arena, &r->reach->source);
    do {
        lap_arena_reset(&r->reach->arena);
        status = lap_block_next(&commands, &command, &args);
        if (status != LAP_OK)
            break;
        status = walk_command(&walk, command, args.bytes);
        if (status != LAP_OK)
            status = lap_fail_context(status, "command %" PRIu32 " (%s)", commands.index, gen_command_names[command]);
    } while (status == LAP_OK);
    forget_bound(&walk);
    return status == LAP_END ? LAP_OK : status;
}
