/* SPDX-License-Identifier: MIT */
#include "inspector/question/pipeline_code.h"

#include <string.h>

#include "base/map.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/analysis/trace_pass.h"
#include "inspector/position/packet.h"
#include "trace/format/hash.h"
#include "vulkan/chain.h"

struct made { /* a module or a layout */
    uint64_t ticket;
    uint32_t sets; /* of a layout */
};

struct search {
    struct pipeline_code *codes;
    size_t count;
    uint64_t *modules; /* [count]: the ticket of the module; 0: none */
    struct lap_map by_module, by_layout, wanted;
    bool has_geometry;
    struct lap_arena *arena, made;
};

static enum lap_status no_memory(void)
{
    return lap_no_memory("the code of pipelines");
}

static enum lap_status note(struct search *s, struct lap_map *map, uint64_t number, uint64_t ticket, uint32_t sets)
{
    struct made *made = lap_arena_zalloc(&s->made, 1, sizeof *made, 8);

    if (!made)
        return no_memory();
    *made = (struct made){ticket, sets};
    return number ? lap_map_put(map, number, made, NULL) : LAP_OK;
}

static enum lap_status keep_code(struct search *s, struct pipeline_code *code, const uint32_t *words, size_t bytes)
{
    uint32_t *copy = lap_arena_alloc(s->arena, bytes + 1, 8);

    if (!copy)
        return no_memory();
    memcpy(copy, words, bytes);
    code->words = copy;
    code->bytes = bytes;
    code->hash = lap_hash64(words, bytes);
    return LAP_OK;
}

/* ---- pipelines ---- */

/* Why the creation of a pipeline can't be repeated with other code. */
static const char *obstacle(VkPipelineCreateFlags flags, const void *chain)
{
    VkFlags64 all = flags;
    const VkPipelineLibraryCreateInfoKHR *libraries =
        lap_chain_find(chain, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);

#ifdef VK_KHR_maintenance5
    const VkPipelineCreateFlags2CreateInfoKHR *more =
        lap_chain_find(chain, VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR);
    all |= more ? more->flags : 0;
#endif
#ifdef VK_KHR_pipeline_binary
    const VkPipelineBinaryInfoKHR *binary = lap_chain_find(chain, VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR);
    if (binary && binary->binaryCount)
        return "it is a driver's binary";
#endif
#ifdef VK_EXT_descriptor_heap
    if (all & VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT)
        return "it takes descriptors from heaps, where no set is bound";
#endif
    if (all & VK_PIPELINE_CREATE_DESCRIPTOR_BUFFER_BIT_EXT)
        return "it takes descriptors from buffers, where no set is bound";
    return libraries && libraries->libraryCount ? "it is linked from libraries" : NULL;
}

static enum lap_status see_stage(struct search *s, struct pipeline_code *code,
                                 const VkPipelineShaderStageCreateInfo *stage)
{
    const VkShaderModuleCreateInfo *inside = lap_chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    const struct made *module =
        stage->module ? lap_map_get(&s->by_module, gen_u64_VkShaderModule(stage->module)) : NULL;
    const char *entry = stage->pName ? stage->pName : "";
    char *name = lap_arena_alloc(s->arena, strlen(entry) + 1, 1);

    if (!name)
        return no_memory();
    code->entry = strcpy(name, entry);
    s->modules[code - s->codes] = module ? module->ticket : 0;
    return inside && inside->pCode ? keep_code(s, code, inside->pCode, inside->codeSize) : LAP_OK;
}

static enum lap_status see_pipeline(struct search *s, const VkPipeline *handle, VkPipelineLayout layout,
                                    const VkPipelineShaderStageCreateInfo *stages, uint32_t count, const char *why)
{
    struct pipeline_code *code = handle ? lap_map_get(&s->wanted, gen_u64_VkPipeline(*handle)) : NULL;
    const struct made *made;
    enum lap_status status = LAP_OK;

    if (!code)
        return LAP_OK;
    code->layout = gen_u64_VkPipelineLayout(layout);
    made = code->layout ? lap_map_get(&s->by_layout, code->layout) : NULL;
    code->sets = made ? made->sets : 0;
    code->why = why ? why : made ? NULL : "nothing creates its layout";
    code->has_primitive = s->has_geometry;
    for (uint32_t i = 0; stages && i < count && status == LAP_OK; i++) {
        if (stages[i].stage & (VK_SHADER_STAGE_GEOMETRY_BIT | VK_SHADER_STAGE_MESH_BIT_EXT))
            code->has_primitive = false;
        if (stages[i].stage == code->stage)
            status = see_stage(s, code, &stages[i]);
    }
    return status;
}

static enum lap_status see_graphics(struct search *s, const struct gen_args_vkCreateGraphicsPipelines *a)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; a->pCreateInfos && a->pPipelines && i < a->createInfoCount && status == LAP_OK; i++) {
        const VkGraphicsPipelineCreateInfo *info = &a->pCreateInfos[i];
        status = see_pipeline(s, &a->pPipelines[i], info->layout, info->pStages, info->stageCount,
                              obstacle(info->flags, info->pNext));
    }
    return status;
}

static enum lap_status see_compute(struct search *s, const struct gen_args_vkCreateComputePipelines *a)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; a->pCreateInfos && a->pPipelines && i < a->createInfoCount && status == LAP_OK; i++) {
        const VkComputePipelineCreateInfo *info = &a->pCreateInfos[i];
        status = see_pipeline(s, &a->pPipelines[i], info->layout, &info->stage, 1, obstacle(info->flags, info->pNext));
    }
    return status;
}

/* ---- the trace ---- */

static void see_device(struct search *s, const struct gen_args_vkCreateDevice *a)
{
    const VkPhysicalDeviceFeatures2 *chained =
        a->pCreateInfo ? lap_chain_find(a->pCreateInfo->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2) : NULL;
    const VkPhysicalDeviceFeatures *features = chained          ? &chained->features
                                               : a->pCreateInfo ? a->pCreateInfo->pEnabledFeatures
                                                                : NULL;

    s->has_geometry = features && features->geometryShader;
}

static enum lap_status see(void *state, const struct trace_call *call)
{
    struct search *s = state;

    switch (call->command) {
    case GEN_vkCreateDevice:
        see_device(s, call->args);
        return LAP_OK;
    case GEN_vkCreateShaderModule: {
        const struct gen_args_vkCreateShaderModule *a = call->args;
        return a->pShaderModule
                   ? note(s, &s->by_module, gen_u64_VkShaderModule(*a->pShaderModule), call->packet->ticket, 0)
                   : LAP_OK;
    }
    case GEN_vkCreatePipelineLayout: {
        const struct gen_args_vkCreatePipelineLayout *a = call->args;
        return a->pPipelineLayout && a->pCreateInfo
                   ? note(s, &s->by_layout, gen_u64_VkPipelineLayout(*a->pPipelineLayout), call->packet->ticket,
                          a->pCreateInfo->setLayoutCount)
                   : LAP_OK;
    }
    case GEN_vkCreateGraphicsPipelines:
        return see_graphics(s, call->args);
    default:
        return see_compute(s, call->args);
    }
}

static enum lap_status read_module(struct search *s, struct position_packet *packet, size_t number)
{
    const struct gen_args_vkCreateShaderModule *a = (const void *)packet->args.bytes;
    enum lap_status status = position_packet_read(packet, s->modules[number]);

    if (status != LAP_OK || !a->pCreateInfo || !a->pCreateInfo->pCode)
        return status;
    return keep_code(s, &s->codes[number], a->pCreateInfo->pCode, a->pCreateInfo->codeSize);
}

static enum lap_status read_modules(struct search *s, const struct lap_reader *trace)
{
    struct position_packet packet = {.reader = NULL};
    enum lap_status status = position_packet_open(&packet, trace);

    for (size_t i = 0; i < s->count && status == LAP_OK; i++) {
        if (s->modules[i] && !s->codes[i].words)
            status = read_module(s, &packet, i);
        if (!s->codes[i].why && !s->codes[i].entry)
            s->codes[i].why = "it has no such stage";
        else if (!s->codes[i].why && !s->codes[i].words)
            s->codes[i].why = "the trace lacks its code";
    }
    position_packet_close(&packet);
    return status;
}

enum lap_status pipeline_codes_find(const struct lap_reader *trace, struct pipeline_code *codes, size_t count,
                                    struct lap_arena *arena)
{
    static const uint16_t commands[] = {GEN_vkCreateDevice,           GEN_vkCreateShaderModule,
                                        GEN_vkCreatePipelineLayout,   GEN_vkCreateGraphicsPipelines,
                                        GEN_vkCreateComputePipelines, GEN_COMMAND_NONE};
    struct search s = {.codes = codes, .count = count, .arena = arena};
    const struct trace_visitor visitor = {.commands = commands, .visit = see, .state = &s};
    enum lap_status status = LAP_OK;

    lap_arena_init(&s.made, 0);
    lap_map_init(&s.by_module);
    lap_map_init(&s.by_layout);
    lap_map_init(&s.wanted);
    s.modules = lap_arena_zalloc(&s.made, count + 1, sizeof *s.modules, 8);
    if (!s.modules)
        status = no_memory();
    for (size_t i = 0; i < count && status == LAP_OK; i++) {
        codes[i].why = "nothing creates it";
        status = codes[i].pipeline ? lap_map_put(&s.wanted, codes[i].pipeline, &codes[i], NULL) : LAP_OK;
    }
    if (status == LAP_OK)
        status = trace_pass_run(trace, 0, &visitor, 1);
    if (status == LAP_OK)
        status = read_modules(&s, trace);
    lap_map_finish(&s.by_module);
    lap_map_finish(&s.by_layout);
    lap_map_finish(&s.wanted);
    lap_arena_finish(&s.made);
    return status;
}
