/* SPDX-License-Identifier: MIT */
/*
 * shader_access: the memory that shaders access, kept in the records of modules, shader objects and pipelines, and for
 * the shader objects that a command buffer has bound.
 */
#ifndef LAP_LAYER_SHADER_ACCESS_H
#define LAP_LAYER_SHADER_ACCESS_H

#include <string.h>

#include "layer/core/layer.h"

/* A copy, for shaders that commands bind, if there is any access to remember; NULL otherwise, and when out of memory
 * (the recording stops). If the program did not enable device addresses, unreadable code counts as code without them.
 */
struct lap_spirv_access *layer_shader_access_keep_bound(struct layer_device *dev, struct lap_spirv_access access);

/* The stages that shader objects are bound to, in number order of VkShaderStageFlagBits up to mesh shaders. */
#define LAYER_SHADER_STAGES 8u
struct layer_bound_shaders {
    const struct lap_spirv_access *stages[LAYER_SHADER_STAGES]; /* NULL: none, or it only reads */
    struct lap_spirv_access all[LAYER_BIND_POINTS];             /* targets of bound[].access */
};

/* A pipeline was bound: its stages have no shader objects any more. */
void layer_bound_shaders_end(struct layer_cmdbuf *cb, const struct layer_bound *bound);
/* When the command buffer is recorded anew. */
static inline void layer_bound_shaders_reset(struct layer_cmdbuf *cb)
{
    if (__builtin_expect(cb->shaders != NULL, 0))
        memset(cb->shaders, 0, sizeof *cb->shaders);
}

/* The code of a graphics or compute stage of a pipeline, with the constants that it is specialized with. */
void layer_shader_access_add_stage(struct layer_device *dev, const VkPipelineShaderStageCreateInfo *stage,
                                   struct lap_spirv_access *access);
/* The same for libraries that a pipeline is linked from; NULL: none. */
void layer_shader_access_add_libraries(struct layer_device *dev, const VkPipelineLibraryCreateInfoKHR *libraries,
                                       struct lap_spirv_access *access);
/* Notes the accesses of a new pipeline; info as it is recorded, with the code of all its stages. */
void layer_shader_access_of_graphics(struct layer_device *dev, VkPipeline pipeline,
                                     const VkGraphicsPipelineCreateInfo *info);
void layer_shader_access_of_compute(struct layer_device *dev, VkPipeline pipeline,
                                    const VkComputePipelineCreateInfo *info);
void layer_shader_access_set_pipeline(struct layer_device *dev, VkPipeline pipeline,
                                      const struct lap_spirv_access *access);

#endif
