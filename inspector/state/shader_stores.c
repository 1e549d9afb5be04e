/* SPDX-License-Identifier: MIT */
#include "inspector/state/shader_stores.h"

#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_reflect.h"
#include "vulkan/chain.h"
#include "vulkan/walk.h"

const uint16_t shader_stores_commands[] = {GEN_vkCreateShaderModule,
                                           GEN_vkCreateGraphicsPipelines,
                                           GEN_vkCreateComputePipelines,
                                           GEN_vkCreateRayTracingPipelinesKHR,
                                           GEN_vkCreateRayTracingPipelinesNV,
#ifdef VK_EXT_shader_object
                                           GEN_vkCreateShadersEXT,
#endif
                                           GEN_COMMAND_NONE};

static enum lap_status keep(struct shader_stores *s, struct lap_map *map, uint64_t index,
                            const struct lap_spirv_access *access)
{
    struct lap_spirv_access *copy;

    if (!index) /* it was not made */
        return LAP_OK;
    copy = lap_arena_alloc(&s->arena, sizeof *copy, _Alignof(struct lap_spirv_access));
    if (!copy || lap_map_put(map, index, copy, NULL) != LAP_OK)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for the stores of shaders");
    *copy = *access;
    return LAP_OK;
}

static enum lap_status see_module(struct shader_stores *s, const struct gen_args_vkCreateShaderModule *args)
{
    struct lap_spirv_access access;

    if (!args->pCreateInfo || !args->pShaderModule)
        return LAP_OK;
    lap_spirv_find_access(args->pCreateInfo->pCode, args->pCreateInfo->codeSize / 4, &access);
    return keep(s, &s->modules, gen_u64_VkShaderModule(*args->pShaderModule), &access);
}

/* What the stages and libraries of one pipeline together store to. */
struct gathered {
    struct shader_stores *stores;
    struct lap_spirv_access access;
};

static void add(struct gathered *g, const struct lap_spirv_access *access)
{
    struct lap_spirv_access everything;

    lap_spirv_access_all(&everything);
    lap_spirv_access_add(&g->access, access ? access : &everything);
}

static void add_stage(struct gathered *g, const VkPipelineShaderStageCreateInfo *stage)
{
    const VkShaderModuleCreateInfo *own = lap_chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    struct lap_spirv_access found;

    if (stage->module || !own) {
        add(g, lap_map_get(&g->stores->modules, gen_u64_VkShaderModule(stage->module)));
        return;
    }
    lap_spirv_find_access(own->pCode, own->codeSize / 4, &found);
    add(g, &found);
}

static bool gather(void *user, const struct lap_place *place, uint32_t number)
{
    struct gathered *g = user;

    if (number == GEN_STRUCT_VkPipelineShaderStageCreateInfo) {
        add_stage(g, place->at);
        return false;
    }
    if (number == GEN_STRUCT_VkPipelineLibraryCreateInfoKHR) {
        const VkPipelineLibraryCreateInfoKHR *info = place->at;
        for (uint32_t i = 0; info->pLibraries && i < info->libraryCount; i++)
            add(g, lap_map_get(&g->stores->pipelines, gen_u64_VkPipeline(info->pLibraries[i])));
        return false;
    }
    return true;
}

static enum lap_status see_pipelines(struct shader_stores *s, uint32_t number, const void *infos, size_t info_bytes,
                                     const VkPipeline *pipelines, uint32_t count)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; infos && pipelines && i < count && status == LAP_OK; i++) {
        struct gathered g = {.stores = s};
        const struct lap_visitor visitor = {.begin_struct = gather, .user = &g};
        lap_walk_struct(number, (const char *)infos + i * info_bytes, &visitor);
        status = keep(s, &s->pipelines, gen_u64_VkPipeline(pipelines[i]), &g.access);
    }
    return status;
}

#ifdef VK_EXT_shader_object
static enum lap_status see_objects(struct shader_stores *s, const struct gen_args_vkCreateShadersEXT *args)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; args->pCreateInfos && args->pShaders && i < args->createInfoCount && status == LAP_OK; i++) {
        const VkShaderCreateInfoEXT *info = &args->pCreateInfos[i];
        struct lap_spirv_access access;
        lap_spirv_access_all(&access);
        if (info->codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT)
            lap_spirv_find_access(info->pCode, info->codeSize / 4, &access);
        status = keep(s, &s->objects, gen_u64_VkShaderEXT(args->pShaders[i]), &access);
    }
    return status;
}
#endif

#define PIPELINES(type, info)                                                                                          \
    {                                                                                                                  \
        const struct gen_args_vkCreate##type *a = call->args;                                                          \
        return see_pipelines(s, GEN_STRUCT_##info, a->pCreateInfos, sizeof(info), a->pPipelines, a->createInfoCount);  \
    }

enum lap_status shader_stores_see(struct shader_stores *s, const struct trace_call *call)
{
    switch (call->command) {
    case GEN_vkCreateShaderModule:
        return see_module(s, call->args);
    case GEN_vkCreateGraphicsPipelines:
        PIPELINES(GraphicsPipelines, VkGraphicsPipelineCreateInfo)
    case GEN_vkCreateComputePipelines:
        PIPELINES(ComputePipelines, VkComputePipelineCreateInfo)
    case GEN_vkCreateRayTracingPipelinesKHR:
        PIPELINES(RayTracingPipelinesKHR, VkRayTracingPipelineCreateInfoKHR)
    case GEN_vkCreateRayTracingPipelinesNV:
        PIPELINES(RayTracingPipelinesNV, VkRayTracingPipelineCreateInfoNV)
#ifdef VK_EXT_shader_object
    case GEN_vkCreateShadersEXT:
        return see_objects(s, call->args);
#endif
    default:
        return LAP_OK;
    }
}

void shader_stores_init(struct shader_stores *s)
{
    lap_map_init(&s->modules);
    lap_map_init(&s->pipelines);
    lap_map_init(&s->objects);
    lap_arena_init(&s->arena, 0);
}

void shader_stores_finish(struct shader_stores *s)
{
    lap_map_finish(&s->modules);
    lap_map_finish(&s->pipelines);
    lap_map_finish(&s->objects);
    lap_arena_finish(&s->arena);
}

/* NULL: it is not known, or was not made. */
static const struct lap_spirv_access *of_pipeline(const struct shader_stores *s, uint64_t pipeline)
{
    return lap_map_get(&s->pipelines, pipeline);
}

static bool is_at_point(unsigned bit, enum bound_point point)
{
    bool is_compute = (1u << bit) == VK_SHADER_STAGE_COMPUTE_BIT;
    return point == BOUND_COMPUTE ? is_compute : point == BOUND_GRAPHICS && !is_compute;
}

void shader_stores_of_bound(const struct shader_stores *s, const struct bound *bound, enum bound_point point,
                            struct lap_spirv_access *out)
{
    uint64_t pipeline = bound->points[point].pipeline;
    const struct lap_spirv_access *access = of_pipeline(s, pipeline);
    struct gathered g = {.access = {.addresses = false}};
    bool any = false;

    if (pipeline && access) {
        *out = *access;
        return;
    }
    for (unsigned bit = 0; bit < BOUND_STAGES && !pipeline; bit++)
        if (bound->shaders[bit].shader && is_at_point(bit, point)) {
            add(&g, lap_map_get(&s->objects, bound->shaders[bit].shader));
            any = true;
        }
    if (!any)
        lap_spirv_access_all(&g.access);
    *out = g.access;
}
