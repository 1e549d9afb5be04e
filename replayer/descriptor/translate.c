/* SPDX-License-Identifier: MIT */
#include "replayer/descriptor/translate.h"

#include "replayer/core/handles.h"
#include "replayer/sync/deferred_destroy.h"
#include "translate_comp.h"

#define MOST_GROUPS 65535u /* the minimum that every device supports */

struct parameters {
    uint64_t root, jobs;
    uint32_t first, count;
};

enum lap_status replay_translator_create(struct replay *r, struct replay_device *dev, struct replay_translator *out)
{
    const VkPushConstantRange constants = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                           .size = sizeof(struct parameters)};
    const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &constants};
    const VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = sizeof translate_comp,
                                           .pCode = translate_comp};
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

void replay_translator_destroy(struct replay_device *dev, struct replay_translator *translator)
{
    if (translator->pipeline)
        dev->vk.DestroyPipeline(dev->live, translator->pipeline, NULL);
    if (translator->layout)
        dev->vk.DestroyPipelineLayout(dev->live, translator->layout, NULL);
    *translator = (struct replay_translator){0};
}

static enum lap_status need_commands(struct replay *r, struct replay_device *dev, uint32_t family,
                                     struct replay_translation *translation)
{
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = family};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};
    enum lap_status status;

    if (translation->commands)
        return replay_result(r, dev->vk.ResetCommandPool(dev->live, translation->pool, 0));
    status = replay_objects_reserve(r, 2);
    if (status != LAP_OK)
        return status;
    status = replay_result(r, dev->vk.CreateCommandPool(dev->live, &pool, NULL, &translation->pool));
    if (status != LAP_OK) {
        replay_objects_release(r, 2);
        return status;
    }
    allocate.commandPool = translation->pool;
    return replay_result(r, dev->vk.AllocateCommandBuffers(dev->live, &allocate, &translation->commands));
}

static void barrier(const struct replay_device *dev, VkCommandBuffer commands, VkPipelineStageFlags from,
                    VkAccessFlags written, VkPipelineStageFlags to, VkAccessFlags access)
{
    const VkMemoryBarrier memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = written, .dstAccessMask = access};
    dev->vk.CmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

/* Room for jobs and data, and the addresses of jobs that begin in the data. */
static enum lap_status place_jobs(struct replay *r, struct replay_device *dev, struct replay_translation *translation,
                                  const struct replay_translation_work *work)
{
    size_t job_bytes = work->count * sizeof *work->jobs, bytes = job_bytes + work->data_bytes;
    enum lap_status status = LAP_OK;

    if (bytes && translation->jobs.bytes < bytes) {
        replay_own_buffer_free(r, dev, &translation->jobs);
        status = replay_own_buffer_create(r, dev, bytes * 2, 0, true, &translation->jobs);
    }
    for (uint32_t i = 0; i < work->count && status == LAP_OK; i++)
        if (work->jobs[i].from < work->data_bytes)
            work->jobs[i].from += translation->jobs.address + job_bytes;
    for (size_t i = 0; i < work->heap_count && status == LAP_OK; i++)
        if (work->heap_jobs[i].from < work->data_bytes)
            work->heap_jobs[i].from += translation->jobs.address + job_bytes;
    if (status == LAP_OK && work->count)
        status = replay_own_buffer_write(r, dev, &translation->jobs, 0, work->jobs, job_bytes);
    if (status == LAP_OK && work->data_bytes)
        status = replay_own_buffer_write(r, dev, &translation->jobs, job_bytes, work->data, work->data_bytes);
    return status;
}

enum lap_status replay_translation_record(struct replay *r, struct replay_device *dev,
                                          const struct replay_translator *translator,
                                          struct replay_translation *translation, uint32_t family,
                                          const struct replay_translation_work *work)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
    enum lap_status status = need_commands(r, dev, family, translation);
    VkCommandBuffer commands = translation->commands;

    if (status == LAP_OK)
        status = place_jobs(r, dev, translation, work);
    if (status == LAP_OK)
        status = replay_result(r, dev->vk.BeginCommandBuffer(commands, &begin));
    if (status != LAP_OK)
        return status;
    /* Earlier work may have written recorded descriptors, and may still read this command buffer's. */
    barrier(dev, commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    if (work->count)
        dev->vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, translator->pipeline);
    for (uint32_t first = 0; first < work->count; first += MOST_GROUPS) {
        uint32_t groups = work->count - first < MOST_GROUPS ? work->count - first : MOST_GROUPS;
        const struct parameters parameters = {work->root, translation->jobs.address, first, groups};
        dev->vk.CmdPushConstants(commands, translator->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof parameters,
                                 &parameters);
        dev->vk.CmdDispatch(commands, groups, 1, 1);
    }
    if (work->heap_count)
        replay_heap_translate(dev, work->heap_translator, commands, work->heap_root, work->heap_jobs, work->heap_count);
    /* Descriptors are read with VK_ACCESS_2_DESCRIPTOR_BUFFER_READ_BIT_EXT, and from heaps with
     * VK_ACCESS_2_*_HEAP_READ_BIT_EXT, which MEMORY_READ includes. */
    barrier(dev, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
            VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
    return replay_result(r, dev->vk.EndCommandBuffer(commands));
}

void replay_translation_free(struct replay *r, struct replay_device *dev, struct replay_translation *translation)
{
    if (translation->pool) {
        replay_destroy(dev, GEN_HANDLE_VkCommandPool, gen_u64_VkCommandPool(translation->pool));
        replay_objects_release(r, 2);
    }
    replay_own_buffer_free(r, dev, &translation->jobs);
    *translation = (struct replay_translation){0};
}
