/* SPDX-License-Identifier: MIT */
/*
 * shader_places: where the calls that make shader modules, pipelines and shader objects pass code: to a module, in a
 * stage of a pipeline, to a shader object. Any thread.
 */
#ifndef LAP_INSPECTOR_ANALYSIS_SHADER_PLACES_H
#define LAP_INSPECTOR_ANALYSIS_SHADER_PLACES_H

#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

struct shader_place {
    uint32_t type;         /* of what the call makes: GEN_HANDLE_VkShaderModule, VkPipeline or VkShaderEXT */
    uint64_t object;       /* its number; 0: it was not made */
    const uint32_t *words; /* SPIR-V that is passed here; NULL: none. A visitor may put other code there */
    size_t bytes;
    const void *binary; /* of a shader object: code of a driver, of so many bytes. NULL: none */
    /* But of modules: */
    uint64_t module; /* of a stage: VkShaderModule; 0: none */
    VkShaderStageFlags stage;
    const char *entry;                          /* may be NULL */
    const VkSpecializationInfo *specialization; /* may be NULL */
};

struct shader_places_visitor {
    /* A pipeline, before its stages. libraries: that it is linked from, or NULL. May be NULL. */
    void (*pipeline)(void *user, uint64_t pipeline, const VkPipelineLibraryCreateInfoKHR *libraries);
    void (*place)(void *user, struct shader_place *place);
    void *user;
};

/* The commands that have such places: a list that ends with 0. */
extern const uint16_t shader_places_commands[];

/* args: of one of these commands, with indices for handles. Arguments change only where a visitor has put other code.
 */
void shader_places_visit(uint32_t command, const void *args, const struct shader_places_visitor *visitor);

#endif
