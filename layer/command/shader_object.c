/* SPDX-License-Identifier: MIT */
/* shader_object: the memory that bound shader objects access. Like pipelines, but each stage is bound separately. */
#include <stdlib.h>
#include <string.h>

#include "gen_layer.h"
#include "layer/command/shader_access.h"
#include "layer/command/touched.h"
#include "layer/core/records.h"
#include "layer/shader/code.h"

#define COMPUTE_STAGE 5u /* the number of VK_SHADER_STAGE_COMPUTE_BIT */

void layer_shader_finish(struct lap_object *object)
{
    struct layer_shader *shader = (struct layer_shader *)object;
    free(shader->access);
    layer_origin_release(shader->origin);
}

static uint32_t point_of_stage(uint32_t stage)
{
    return stage == COMPUTE_STAGE ? LAYER_BIND_COMPUTE : LAYER_BIND_GRAPHICS;
}

void layer_bound_shaders_end(struct layer_cmdbuf *cb, const struct layer_bound *bound)
{
    uint32_t point = (uint32_t)(bound - cb->bound);
    for (uint32_t i = 0; i < LAYER_SHADER_STAGES; i++)
        if (point_of_stage(i) == point)
            cb->shaders->stages[i] = NULL;
}

#ifdef VK_EXT_shader_object

/* Draws and dispatches use bound[].access, of pipelines and of shader objects. */
static void join(struct layer_cmdbuf *cb, uint32_t point)
{
    struct lap_spirv_access *all = &cb->shaders->all[point];
    struct layer_bound *bound = &cb->bound[point];

    memset(all, 0, sizeof *all);
    for (uint32_t i = 0; i < LAYER_SHADER_STAGES; i++)
        if (point_of_stage(i) == point && cb->shaders->stages[i])
            lap_spirv_access_add(all, cb->shaders->stages[i]);
    bound->access = lap_spirv_access_any(all) ? all : NULL;
    bound->stale = bound->access;
    if (all->addresses)
        layer_touch_unknown(cb);
}

void hook_after_CmdBindShadersEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t stageCount,
                                  const VkShaderStageFlagBits *pStages, const VkShaderEXT *pShaders)
{
    bool changed[LAYER_BIND_POINTS] = {false};

    if (cb->state != LAYER_CMDBUF_RECORDING || !atomic_load_explicit(&cb->device->code.accesses, memory_order_relaxed))
        return;
    if (!cb->shaders)
        cb->shaders = calloc(1, sizeof *cb->shaders);
    if (!cb->shaders) {
        layer_touch_failed(cb);
        return;
    }
    for (uint32_t i = 0; i < stageCount; i++) {
        uint32_t stage = pStages[i] ? (uint32_t)__builtin_ctz(pStages[i]) : LAYER_SHADER_STAGES;
        const struct layer_shader *shader = pShaders ? LAYER_GET(cb->device, VkShaderEXT, pShaders[i]) : NULL;
        if (stage >= LAYER_SHADER_STAGES) { /* the memory that it accesses is not known */
            layer_touch_unknown(cb);
            continue;
        }
        cb->shaders->stages[stage] = shader ? shader->access : NULL;
        changed[point_of_stage(stage)] = true;
    }
    for (uint32_t point = 0; point < LAYER_BIND_POINTS; point++)
        if (changed[point])
            join(cb, point);
}

#endif
