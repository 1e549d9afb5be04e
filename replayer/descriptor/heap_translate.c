/* SPDX-License-Identifier: MIT */
#include "replayer/descriptor/heap_translate.h"

#include "heap_comp.h"

#define MOST_GROUPS 4096u
#define PLACES      64u /* of a group */

/* The same layout as in shaders/heap.comp. */
struct parameters {
    uint64_t root, from, to, seen;
    uint32_t words, place_words, scale, classes, remember, groups;
};

enum lap_status replay_heap_translator_create(struct replay *r, struct replay_device *dev,
                                              struct replay_heap_translator *out)
{
    const VkPushConstantRange constants = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                           .size = sizeof(struct parameters)};
    const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &constants};
    const VkShaderModuleCreateInfo code = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof heap_comp, .pCode = heap_comp};
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                  .pName = "main"}};
    VkShaderModule module = VK_NULL_HANDLE;
    VkResult result = dev->vk.CreatePipelineLayout(dev->live, &layout, NULL, &out->layout);

    if (result >= 0)
        result = dev->vk.CreateShaderModule(dev->live, &code, NULL, &module);
    info.stage.module = module;
    info.layout = out->layout;
    if (result >= 0)
        result = dev->vk.CreateComputePipelines(dev->live, VK_NULL_HANDLE, 1, &info, NULL, &out->pipeline);
    if (module)
        dev->vk.DestroyShaderModule(dev->live, module, NULL);
    return replay_result(r, result);
}

void replay_heap_translator_destroy(struct replay_device *dev, struct replay_heap_translator *translator)
{
    if (translator->pipeline)
        dev->vk.DestroyPipeline(dev->live, translator->pipeline, NULL);
    if (translator->layout)
        dev->vk.DestroyPipelineLayout(dev->live, translator->layout, NULL);
    *translator = (struct replay_heap_translator){0};
}

static void dispatch(const struct replay_device *dev, const struct replay_heap_translator *translator,
                     VkCommandBuffer commands, struct parameters *parameters)
{
    uint32_t items = parameters->remember ? parameters->words : parameters->words / parameters->place_words;
    uint32_t groups = (items + PLACES - 1) / PLACES;

    parameters->groups = groups < MOST_GROUPS ? groups : MOST_GROUPS;
    if (!groups)
        return;
    dev->vk.CmdPushConstants(commands, translator->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof *parameters,
                             parameters);
    dev->vk.CmdDispatch(commands, parameters->groups, 1, 1);
}

void replay_heap_translate(const struct replay_device *dev, const struct replay_heap_translator *translator,
                           VkCommandBuffer commands, VkDeviceAddress root, const struct replay_heap_job *jobs,
                           size_t count)
{
    const VkMemoryBarrier stored = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                    .srcAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
                                    .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};

    dev->vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, translator->pipeline);
    for (size_t i = 0; i < count; i++) {
        struct parameters parameters = {.root = root,
                                        .from = jobs[i].from,
                                        .to = jobs[i].to,
                                        .seen = jobs[i].seen,
                                        .words = jobs[i].words,
                                        .place_words = jobs[i].place_words,
                                        .scale = jobs[i].scale,
                                        .classes = jobs[i].classes};
        dispatch(dev, translator, commands, &parameters);
        dev->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                   0, 1, &stored, 0, NULL, 0, NULL);
        if (!jobs[i].seen)
            continue;
        parameters.remember = 1;
        dispatch(dev, translator, commands, &parameters);
        dev->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                   0, 1, &stored, 0, NULL, 0, NULL);
    }
}
