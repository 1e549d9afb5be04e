/* SPDX-License-Identifier: MIT */
#include "inspector/analysis/shader_places.h"

#include "gen_decode.h"
#include "gen_reflect.h"
#include "vulkan/chain.h"
#include "vulkan/walk.h"

const uint16_t shader_places_commands[] = {GEN_vkCreateShaderModule,
                                           GEN_vkCreateGraphicsPipelines,
                                           GEN_vkCreateComputePipelines,
                                           GEN_vkCreateRayTracingPipelinesKHR,
                                           GEN_vkCreateRayTracingPipelinesNV,
#ifdef VK_EXT_shader_object
                                           GEN_vkCreateShadersEXT,
#endif
                                           0};

struct places {
    const struct shader_places_visitor *visitor;
    const void *args;
    const VkPipeline *pipelines; /* that the call made; NULL: none */
    uint64_t pipeline;           /* the current one */
#ifdef VK_EXT_shader_object
    const VkShaderEXT *objects;
#endif
};

static void visit_module(const struct places *p, struct shader_place *place, VkShaderModuleCreateInfo *info)
{
    const uint32_t *words = place->words = info ? info->pCode : NULL;

    place->bytes = info ? info->codeSize : 0;
    p->visitor->place(p->visitor->user, place);
    if (place->words == words)
        return;
    info->pCode = place->words;
    info->codeSize = place->bytes;
}

static void see_pipeline(struct places *p, uint64_t index, const VkPipelineLibraryCreateInfoKHR *libraries)
{
    p->pipeline = p->pipelines ? gen_u64_VkPipeline(p->pipelines[index]) : 0;
    if (p->visitor->pipeline)
        p->visitor->pipeline(p->visitor->user, p->pipeline, libraries);
}

static void see_stage(const struct places *p, const VkPipelineShaderStageCreateInfo *stage)
{
    const void *own = lap_chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    struct shader_place place = {.type = GEN_HANDLE_VkPipeline,
                                 .object = p->pipeline,
                                 .module = gen_u64_VkShaderModule(stage->module),
                                 .stage = stage->stage,
                                 .entry = stage->pName,
                                 .specialization = stage->pSpecializationInfo};

    visit_module(p, &place, place.module ? NULL : (VkShaderModuleCreateInfo *)(uintptr_t)own);
}

#ifdef VK_EXT_shader_object
static void see_object(const struct places *p, VkShaderCreateInfoEXT *info, uint64_t index)
{
    const bool is_spirv = info->codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT;
    struct shader_place place = {.type = GEN_HANDLE_VkShaderEXT,
                                 .object = p->objects ? gen_u64_VkShaderEXT(p->objects[index]) : 0,
                                 .words = is_spirv ? info->pCode : NULL,
                                 .bytes = info->codeSize,
                                 .binary = is_spirv ? NULL : info->pCode,
                                 .stage = info->stage,
                                 .entry = info->pName,
                                 .specialization = info->pSpecializationInfo};

    p->visitor->place(p->visitor->user, &place);
    if (!is_spirv || place.words == info->pCode)
        return;
    info->pCode = place.words;
    info->codeSize = place.bytes;
}
#endif

static const VkPipelineLibraryCreateInfoKHR *chained_libraries(const void *chain)
{
    return lap_chain_find(chain, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
}

static bool begin_made(struct places *p, const struct lap_place *place, uint32_t number)
{
    void *at = (void *)(uintptr_t)place->at;

    switch (number) {
    case GEN_STRUCT_VkGraphicsPipelineCreateInfo:
        see_pipeline(p, place->index, chained_libraries(((const VkGraphicsPipelineCreateInfo *)at)->pNext));
        return true;
    case GEN_STRUCT_VkRayTracingPipelineCreateInfoKHR:
        see_pipeline(p, place->index, ((const VkRayTracingPipelineCreateInfoKHR *)at)->pLibraryInfo);
        return true;
    case GEN_STRUCT_VkComputePipelineCreateInfo:
    case GEN_STRUCT_VkRayTracingPipelineCreateInfoNV:
        see_pipeline(p, place->index, NULL);
        return true;
#ifdef VK_EXT_shader_object
    case GEN_STRUCT_VkShaderCreateInfoEXT:
        see_object(p, at, place->index);
        return false;
#endif
    default:
        return true;
    }
}

/* A forged chain may have any structure. Only those in the call's own array stand for what it makes. */
static bool begin_struct(void *user, const struct lap_place *place, uint32_t number)
{
    struct places *p = user;

    if (place->owner == p->args)
        return begin_made(p, place, number);
    if (number != GEN_STRUCT_VkPipelineShaderStageCreateInfo)
        return true;
    see_stage(p, place->at);
    return false;
}

static void see_module(const struct places *p, const struct gen_args_vkCreateShaderModule *args)
{
    struct shader_place place = {.type = GEN_HANDLE_VkShaderModule,
                                 .object = args->pShaderModule ? gen_u64_VkShaderModule(*args->pShaderModule) : 0};

    visit_module(p, &place, (VkShaderModuleCreateInfo *)(uintptr_t)args->pCreateInfo);
}

void shader_places_visit(uint32_t command, const void *args, const struct shader_places_visitor *visitor)
{
    struct places p = {.visitor = visitor, .args = args};
    const struct lap_visitor walk = {.begin_struct = begin_struct, .user = &p};

    switch (command) {
    case GEN_vkCreateShaderModule:
        see_module(&p, args);
        return;
    case GEN_vkCreateGraphicsPipelines:
        p.pipelines = ((const struct gen_args_vkCreateGraphicsPipelines *)args)->pPipelines;
        break;
    case GEN_vkCreateComputePipelines:
        p.pipelines = ((const struct gen_args_vkCreateComputePipelines *)args)->pPipelines;
        break;
    case GEN_vkCreateRayTracingPipelinesKHR:
        p.pipelines = ((const struct gen_args_vkCreateRayTracingPipelinesKHR *)args)->pPipelines;
        break;
    case GEN_vkCreateRayTracingPipelinesNV:
        p.pipelines = ((const struct gen_args_vkCreateRayTracingPipelinesNV *)args)->pPipelines;
        break;
#ifdef VK_EXT_shader_object
    case GEN_vkCreateShadersEXT:
        p.objects = ((const struct gen_args_vkCreateShadersEXT *)args)->pShaders;
        break;
#endif
    default:
        return;
    }
    lap_walk_command(command, args, false, &walk);
}
