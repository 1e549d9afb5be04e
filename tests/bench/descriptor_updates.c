/* SPDX-License-Identifier: MIT */
/*
 * descriptor_updates: many calls of vkUpdateDescriptorSets a frame, one uniform buffer each, in sets that no work uses;
 * then a submit that does nothing.
 */
#include "common/bench.h"

#define SETS        1000u
#define RANGE_BYTES 256u /* every minUniformBufferOffsetAlignment divides it */

static uint32_t updates = 10000;

int main(int argc, char **argv)
{
    static const struct app_option options[] = {{"--updates", "updates a frame", NULL, &updates}, {0}};
    static const struct app_program program = {
        .name = "descriptor_updates", .what = "Many descriptor updates.", .frames = 60, .options = options};
    static VkDescriptorSet sets[SETS];
    static VkDescriptorSetLayout layouts[SETS];
    struct app app;
    struct app_buffer buffer;
    struct bench bench = {.app = &app};

    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    app_buffer_create(&app, &buffer, SETS * RANGE_BYTES, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT, APP_UPLOAD);
    const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT,
                                                  NULL};
    VkDescriptorSetLayout layout = app_set_layout(&app, 1, &binding);
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, SETS};
    VkDescriptorPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    create.maxSets = SETS;
    create.poolSizeCount = 1;
    create.pPoolSizes = &size;
    VkDescriptorPool pool;
    CHECK_VK(vkCreateDescriptorPool(app.device, &create, NULL, &pool));
    for (uint32_t i = 0; i < SETS; i++)
        layouts[i] = layout;
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = pool;
    allocate.descriptorSetCount = SETS;
    allocate.pSetLayouts = layouts;
    CHECK_VK(vkAllocateDescriptorSets(app.device, &allocate, sets));
    VkCommandBuffer nothing = bench_commands_begin(&app);
    CHECK_VK(vkEndCommandBuffer(nothing));
    VkFence fence = bench_fence_create(&app);

    while (bench.frame < bench_frames(&bench)) {
        bench_frame_begin(&bench);
        uint64_t cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID), start = bench_now();
        for (uint32_t i = 0; i < updates; i++) {
            const VkDescriptorBufferInfo info = {buffer.buffer, (i * 7 + bench.frame) % SETS * RANGE_BYTES,
                                                 RANGE_BYTES};
            VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
            write.dstSet = sets[i % SETS];
            write.descriptorCount = 1;
            write.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
            write.pBufferInfo = &info;
            vkUpdateDescriptorSets(app.device, 1, &write, 0, NULL);
        }
        bench_sample(&bench, "record", bench_now() - start);
        bench_sample(&bench, "record_cpu", bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu);
        bench_add(&bench, "calls", updates);
        bench_submit_wait(&bench, nothing, fence);
        bench_frame_end(&bench);
    }
    bench_print(&bench);
    vkDestroyFence(app.device, fence, NULL);
    vkFreeCommandBuffers(app.device, app.pool, 1, &nothing);
    vkDestroyDescriptorPool(app.device, pool, NULL);
    vkDestroyDescriptorSetLayout(app.device, layout, NULL);
    app_buffer_destroy(&app, &buffer);
    return app_finish(&app);
}
