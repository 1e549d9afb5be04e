/* SPDX-License-Identifier: MIT */
/*
 * stages: the code of a pipeline's stages that the program created without code, from an identifier
 * (VK_EXT_shader_module_identifier) or binaries (VK_KHR_pipeline_binary). A trace has the code that these came from.
 * Only for devices that keep code (layer_device.code.kept). Any thread.
 */
#ifndef LAP_LAYER_STAGES_H
#define LAP_LAYER_STAGES_H

#include "base/arena.h"
#include "layer/shader/code.h"

enum layer_stages {
    LAYER_STAGES_AS_GIVEN,  /* nothing is to be substituted */
    LAYER_STAGES_COPIED,    /* *out_stages, in the arena */
    LAYER_STAGES_UNKNOWN,   /* the code of some stage is not known */
    LAYER_STAGES_NO_MEMORY, /* the recording stops */
};

/* chain: of the pipeline's create info. *out_stages: the stages to record. */
enum layer_stages layer_stages_find_code(struct layer_device *dev, struct lap_arena *arena, const void *chain,
                                         uint32_t count, const VkPipelineShaderStageCreateInfo *stages,
                                         const VkPipelineShaderStageCreateInfo **out_stages);

/* The origin of a pipeline's binaries; all stages have their code, as recorded. NULL: out of memory. */
struct layer_origin *layer_stages_origin(struct layer_device *dev, uint32_t count,
                                         const VkPipelineShaderStageCreateInfo *stages);

/* Whether the program may ask for the pipeline's binaries. */
bool layer_stages_are_captured(VkPipelineCreateFlags flags, const void *chain);

#endif
