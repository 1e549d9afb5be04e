/* SPDX-License-Identifier: MIT */
#include "inspector/edit/shader_code.h"

#include "base/map.h"
#include "codegen/support/chain.h"
#include "codegen/support/walk.h"
#include "gen_decode.h"
#include "gen_reflect.h"
#include "inspector/edit/rewrite.h"

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

static bool give(struct changes *c, const uint32_t **words, size_t *bytes)
{
    const uint32_t *before = *words;

    if (c->status == LAP_OK && *words)
        c->status = c->change(c->user, c->arena, words, bytes);
    c->changed |= *words != before;
    return *words != before;
}

static bool give_module(struct changes *c, VkShaderModuleCreateInfo *info)
{
    bool changed = give(c, &info->pCode, &info->codeSize);
    c->result->modules += changed;
    return changed;
}

static void count_pipeline(struct changes *c)
{
    c->result->pipelines += !c->counted;
    c->counted = true;
}

static void see_stage(struct changes *c, const VkPipelineShaderStageCreateInfo *stage)
{
    const VkShaderModuleCreateInfo *own = lap_chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    uint64_t module = gen_u64_VkShaderModule(stage->module);

    if (module ? lap_map_get(&c->modules, module) != NULL
               : own && give_module(c, (VkShaderModuleCreateInfo *)(uintptr_t)own))
        count_pipeline(c);
    c->result->opaque += !module && !own;
}

#ifdef VK_EXT_shader_object
static void see_object(struct changes *c, VkShaderCreateInfoEXT *info)
{
    const uint32_t *words = info->pCode;

    if (info->codeType != VK_SHADER_CODE_TYPE_SPIRV_EXT)
        c->result->opaque++;
    else if (give(c, &words, &info->codeSize)) {
        info->pCode = words;
        c->result->objects++;
    }
}
#endif

static bool begin_struct(void *user, const struct lap_place *place, uint32_t number)
{
    struct changes *c = user;
    void *at = (void *)(uintptr_t)place->at;

    switch (number) {
    case GEN_STRUCT_VkGraphicsPipelineCreateInfo:
    case GEN_STRUCT_VkComputePipelineCreateInfo:
    case GEN_STRUCT_VkRayTracingPipelineCreateInfoKHR:
    case GEN_STRUCT_VkRayTracingPipelineCreateInfoNV:
        c->counted = false;
        return true;
    case GEN_STRUCT_VkPipelineShaderStageCreateInfo:
        see_stage(c, at);
        return false;
#ifdef VK_EXT_shader_object
    case GEN_STRUCT_VkShaderCreateInfoEXT:
        see_object(c, at);
        return false;
#endif
    default:
        return true;
    }
}

static bool wants_code(const void *user, uint32_t command)
{
#ifdef VK_EXT_shader_object
    if (command == GEN_vkCreateShadersEXT)
        return true;
#endif
    return command == GEN_vkCreateShaderModule || command == GEN_vkCreateGraphicsPipelines ||
           command == GEN_vkCreateComputePipelines || command == GEN_vkCreateRayTracingPipelinesKHR ||
           command == GEN_vkCreateRayTracingPipelinesNV;
}

static enum lap_status see_call(void *user, const struct rewrite_call *call, bool *out_changed)
{
    struct changes *c = user;
    const struct lap_visitor visitor = {.begin_struct = begin_struct, .user = c};

    c->arena = call->arena;
    c->changed = false;
    if (call->command == GEN_vkCreateShaderModule) {
        const struct gen_args_vkCreateShaderModule *args = call->args;
        if (args->pCreateInfo && give_module(c, (VkShaderModuleCreateInfo *)(uintptr_t)args->pCreateInfo) &&
            args->pShaderModule)
            c->status = lap_map_put(&c->modules, gen_u64_VkShaderModule(*args->pShaderModule), c, NULL);
    } else {
        lap_walk_command(call->command, call->args, false, &visitor);
    }
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
