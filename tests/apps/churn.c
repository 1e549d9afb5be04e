/* SPDX-License-Identifier: MIT */
/*
 * churn: thousands of objects of many kinds come and go, so that handles are reused; pools are reset and freed with
 * what they hold; some objects use an allocator of the program's. In between each frame draws with objects that were
 * made for it alone and are destroyed as soon as it is done.
 */
#include "common/target.h"
#include "shaders/churn_frag.h"
#include "shaders/headless_vert.h"

#define CHURN 24u

/* What one frame draws with. */
struct stage {
    bool made;
    struct app_image picture;
    VkSampler sampler;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptor_pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkRenderPass pass;
    VkFramebuffer framebuffer;
    VkPipeline pipeline;
    VkQueryPool queries; /* occlusion: the left half, then nothing */
    VkEvent event;
    uint32_t frame;
};

static uint32_t color_of(uint32_t frame)
{
    return (frame * 40 & 0xff) << 24 | (255 - (frame * 20 & 0xff)) << 16 | 0x4000 | 0xff;
}

static void check(const struct app *app, const struct app_pixels *pixels)
{
    EXPECT_PIXEL(app, pixels, 0.25, 0.5, color_of(pixels->frame));
    EXPECT_PIXEL(app, pixels, 0.49, 0.99, color_of(pixels->frame));
    EXPECT_PIXEL(app, pixels, 0.51, 0.5, 0x000000ff);
}

/* ---- An allocator that counts, so that a wrong pairing shows ---- */

static void *allocate_host(void *user, size_t size, size_t alignment, VkSystemAllocationScope scope)
{
    void *memory = NULL;
    if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, size ? size : 1))
        return NULL;
    __atomic_add_fetch((int64_t *)user, 1, __ATOMIC_RELAXED);
    return memory;
}

static void free_host(void *user, void *memory)
{
    if (memory)
        __atomic_sub_fetch((int64_t *)user, 1, __ATOMIC_RELAXED);
    free(memory);
}

/* Drivers hardly ever call this; the old size is not told, so glibc's own record of it is used. */
static void *reallocate_host(void *user, void *original, size_t size, size_t alignment, VkSystemAllocationScope scope)
{
    if (!original)
        return allocate_host(user, size, alignment, scope);
    if (!size) {
        free_host(user, original);
        return NULL;
    }
    if (alignment <= 16)
        return realloc(original, size);
    return NULL;
}

/* ---- Objects that nothing uses ---- */

static void churn_buffers(const struct app *app, uint32_t round)
{
    VkBuffer buffers[CHURN];
    for (uint32_t i = 0; i < CHURN; i++) {
        VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
        info.size = 16 + ((round * 7 + i * 13) % 200) * 16;
        info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT;
        CHECK_VK(vkCreateBuffer(app->device, &info, NULL, &buffers[i]));
    }
    for (uint32_t i = 0; i < CHURN; i++)
        vkDestroyBuffer(app->device, buffers[(i * 5 + round) % CHURN], NULL); /* 5 and 24 share no factor */
    for (uint32_t i = 0; i < 3; i++) {
        struct app_buffer buffer;
        app_buffer_create(app, &buffer, 1000 + i, VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT, APP_UPLOAD);
        memset(buffer.mapped, (int)(round + i), buffer.size);
        VkBufferViewCreateInfo view_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO};
        view_info.buffer = buffer.buffer;
        view_info.format = VK_FORMAT_R32_UINT;
        view_info.range = 256;
        VkBufferView view;
        CHECK_VK(vkCreateBufferView(app->device, &view_info, NULL, &view));
        vkDestroyBufferView(app->device, view, NULL);
        app_buffer_destroy(app, &buffer);
    }
    vkDestroyBuffer(app->device, VK_NULL_HANDLE, NULL);
    vkFreeMemory(app->device, VK_NULL_HANDLE, NULL);
}

static void churn_images(const struct app *app, uint32_t round)
{
    for (uint32_t i = 0; i < 4; i++) {
        struct app_image image;
        app_image_create_2d(app, &image, VK_FORMAT_R8G8B8A8_UNORM, 8 + round % 9, 4 + i, VK_IMAGE_USAGE_SAMPLED_BIT);
        VkImageView views[4];
        for (uint32_t v = 0; v < COUNT_OF(views); v++) {
            VkImageViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
            info.image = image.image;
            info.viewType = v % 2 ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_2D;
            info.format = VK_FORMAT_R8G8B8A8_UNORM;
            info.components.r = v < 2 ? VK_COMPONENT_SWIZZLE_IDENTITY : VK_COMPONENT_SWIZZLE_B;
            info.subresourceRange = (VkImageSubresourceRange){VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
            CHECK_VK(vkCreateImageView(app->device, &info, NULL, &views[v]));
        }
        for (uint32_t v = 0; v < COUNT_OF(views); v++)
            vkDestroyImageView(app->device, views[v], NULL);
        app_image_destroy(app, &image);
    }
}

static void churn_sync(const struct app *app)
{
    for (uint32_t i = 0; i < CHURN; i++) {
        VkSemaphoreCreateInfo semaphore_info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
        VkSemaphore semaphore;
        CHECK_VK(vkCreateSemaphore(app->device, &semaphore_info, NULL, &semaphore));
        VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
        fence_info.flags = i % 2 ? VK_FENCE_CREATE_SIGNALED_BIT : 0;
        VkFence fence;
        CHECK_VK(vkCreateFence(app->device, &fence_info, NULL, &fence));
        EXPECT_EQ(app, vkGetFenceStatus(app->device, fence), i % 2 ? VK_SUCCESS : VK_NOT_READY);
        CHECK_VK(vkResetFences(app->device, 1, &fence));
        EXPECT_EQ(app, vkWaitForFences(app->device, 1, &fence, VK_TRUE, 0), VK_TIMEOUT);
        VkEventCreateInfo event_info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
        VkEvent event;
        CHECK_VK(vkCreateEvent(app->device, &event_info, NULL, &event));
        CHECK_VK(vkSetEvent(app->device, event));
        EXPECT_EQ(app, vkGetEventStatus(app->device, event), VK_EVENT_SET);
        CHECK_VK(vkResetEvent(app->device, event));
        EXPECT_EQ(app, vkGetEventStatus(app->device, event), VK_EVENT_RESET);
        vkDestroyEvent(app->device, event, NULL);
        vkDestroySemaphore(app->device, semaphore, NULL);
        vkDestroyFence(app->device, fence, NULL);
        VkQueryPoolCreateInfo query_info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
        query_info.queryType = VK_QUERY_TYPE_OCCLUSION;
        query_info.queryCount = 1 + i;
        VkQueryPool queries;
        CHECK_VK(vkCreateQueryPool(app->device, &query_info, NULL, &queries));
        vkDestroyQueryPool(app->device, queries, NULL);
    }
}

static void churn_descriptors(const struct app *app, uint32_t round, const VkAllocationCallbacks *allocator)
{
    VkSamplerCreateInfo sampler_info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    sampler_info.magFilter = round % 2 ? VK_FILTER_LINEAR : VK_FILTER_NEAREST;
    sampler_info.maxLod = (float)round;
    VkSampler sampler;
    CHECK_VK(vkCreateSampler(app->device, &sampler_info, allocator, &sampler));
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_SAMPLER, 1, VK_SHADER_STAGE_FRAGMENT_BIT, &sampler},
        {3, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2, VK_SHADER_STAGE_ALL, NULL},
    };
    VkDescriptorSetLayout layouts[CHURN];
    layouts[0] = app_set_layout(app, COUNT_OF(bindings), bindings);
    for (uint32_t i = 1; i < CHURN; i++)
        layouts[i] = layouts[0];
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_SAMPLER, CHURN},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2 * CHURN}};
    VkDescriptorPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool_info.flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT;
    pool_info.maxSets = CHURN;
    pool_info.poolSizeCount = COUNT_OF(sizes);
    pool_info.pPoolSizes = sizes;
    VkDescriptorPool pool;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool_info, allocator, &pool));
    for (uint32_t pass = 0; pass < 3; pass++) {
        VkDescriptorSet sets[CHURN];
        VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
        allocate.descriptorPool = pool;
        allocate.descriptorSetCount = CHURN;
        allocate.pSetLayouts = layouts;
        CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, sets));
        if (pass == 0) { /* one by one and in a group with a hole */
            CHECK_VK(vkFreeDescriptorSets(app->device, pool, 1, &sets[3]));
            sets[3] = VK_NULL_HANDLE;
            CHECK_VK(vkFreeDescriptorSets(app->device, pool, CHURN, sets));
        } else if (pass == 1) {
            CHECK_VK(vkResetDescriptorPool(app->device, pool, 0));
        }
    } /* the last ones go with their pool */
    vkDestroyDescriptorPool(app->device, pool, allocator);
    vkDestroyDescriptorSetLayout(app->device, layouts[0], NULL);
    vkDestroySampler(app->device, sampler, allocator);
}

static void churn_commands(const struct app *app, uint32_t round)
{
    VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    info.queueFamilyIndex = app->queue_family;
    VkCommandPool pool;
    CHECK_VK(vkCreateCommandPool(app->device, &info, NULL, &pool));
    VkCommandBuffer commands[8];
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = pool;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = COUNT_OF(commands);
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, commands));
    for (uint32_t i = 0; i < COUNT_OF(commands); i++) {
        VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
        CHECK_VK(vkBeginCommandBuffer(commands[i], &begin));
        vkCmdSetLineWidth(commands[i], 1.0f);
        if (i % 3) /* some stay in recording */
            CHECK_VK(vkEndCommandBuffer(commands[i]));
        if (i % 4 == 1)
            CHECK_VK(vkResetCommandBuffer(commands[i], VK_COMMAND_BUFFER_RESET_RELEASE_RESOURCES_BIT));
    }
    CHECK_VK(vkResetCommandPool(app->device, pool, round % 2 ? VK_COMMAND_POOL_RESET_RELEASE_RESOURCES_BIT : 0));
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    CHECK_VK(vkBeginCommandBuffer(commands[1], &begin));
    CHECK_VK(vkEndCommandBuffer(commands[1]));
    app_submit_wait(app, 1, &commands[1]);
    vkFreeCommandBuffers(app->device, pool, 3, commands + 2);
    vkTrimCommandPool(app->device, pool, 0);
    vkDestroyCommandPool(app->device, pool, NULL); /* frees the other ones */
}

static void churn_cache(const struct app *app, VkPipelineCache *cache)
{
    size_t size = 0;
    CHECK_VK(vkGetPipelineCacheData(app->device, *cache, &size, NULL));
    void *data = malloc(size + 1);
    CHECK(data);
    VkResult result = vkGetPipelineCacheData(app->device, *cache, &size, data);
    CHECK(result == VK_SUCCESS || result == VK_INCOMPLETE);
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    info.initialDataSize = size;
    info.pInitialData = data;
    VkPipelineCache next;
    CHECK_VK(vkCreatePipelineCache(app->device, &info, NULL, &next));
    if (*cache) {
        CHECK_VK(vkMergePipelineCaches(app->device, next, 1, cache));
        vkDestroyPipelineCache(app->device, *cache, NULL);
    }
    *cache = next;
    free(data);
}

/* ---- What a frame draws with ---- */

static void make_stage(const struct app *app, struct stage *stage, const struct app_target *target,
                       const struct app_frame *frame)
{
    const struct app_swapchain *images = &target->swapchain;
    *stage = (struct stage){.made = true, .frame = frame->number};
    app_image_create_2d(app, &stage->picture, VK_FORMAT_R8G8B8A8_UNORM, 4, 4,
                        VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    CHECK_VK(vkCreateSampler(app->device, &sampler, NULL, &stage->sampler));
    const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1,
                                                  VK_SHADER_STAGE_FRAGMENT_BIT, NULL};
    stage->set_layout = app_set_layout(app, 1, &binding);
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = 1;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &stage->descriptor_pool));
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = stage->descriptor_pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &stage->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &stage->set));
    VkDescriptorImageInfo image = {stage->sampler, stage->picture.view, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = stage->set;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    write.pImageInfo = &image;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);

    stage->layout = app_pipeline_layout(app, 1, &stage->set_layout, 0, 0);
    stage->pass = app_render_pass(app, images->format, VK_FORMAT_UNDEFINED, target->final_layout);
    stage->framebuffer =
        app_framebuffer(app, stage->pass, 1, &images->views[frame->image], images->extent.width, images->extent.height);
    struct app_pipeline pipeline = {
        .vertex = app_shader(app, headless_vert, sizeof(headless_vert)),
        .fragment = app_shader(app, churn_frag, sizeof(churn_frag)),
        .layout = stage->layout,
        .render_pass = stage->pass,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
        .color_count = 1,
    };
    stage->pipeline = app_graphics_pipeline(app, &pipeline);
    vkDestroyShaderModule(app->device, pipeline.vertex, NULL);
    vkDestroyShaderModule(app->device, pipeline.fragment, NULL);

    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    queries.queryType = VK_QUERY_TYPE_OCCLUSION;
    queries.queryCount = 2;
    CHECK_VK(vkCreateQueryPool(app->device, &queries, NULL, &stage->queries));
    VkEventCreateInfo event = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    CHECK_VK(vkCreateEvent(app->device, &event, NULL, &stage->event));
}

/* The frame that used the stage has been waited for. */
static void drop_stage(const struct app *app, struct stage *stage)
{
    if (!stage->made)
        return;
    uint32_t samples[2] = {0, 1};
    CHECK_VK(vkGetQueryPoolResults(app->device, stage->queries, 0, 2, sizeof(samples), samples, 4,
                                   VK_QUERY_RESULT_WAIT_BIT));
    EXPECT_EQ(app, samples[0] > 0, true);
    EXPECT_EQ(app, samples[1], 0);
    EXPECT_EQ(app, vkGetEventStatus(app->device, stage->event), VK_EVENT_SET);
    vkDestroyEvent(app->device, stage->event, NULL);
    vkDestroyQueryPool(app->device, stage->queries, NULL);
    vkDestroyPipeline(app->device, stage->pipeline, NULL);
    vkDestroyFramebuffer(app->device, stage->framebuffer, NULL);
    vkDestroyRenderPass(app->device, stage->pass, NULL);
    vkDestroyPipelineLayout(app->device, stage->layout, NULL);
    vkDestroyDescriptorPool(app->device, stage->descriptor_pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, stage->set_layout, NULL);
    vkDestroySampler(app->device, stage->sampler, NULL);
    app_image_destroy(app, &stage->picture);
    stage->made = false;
}

static void draw(struct app_target *target, struct stage *stages)
{
    const struct app *app = target->app;
    struct app_frame *frame = app_target_begin(target);
    struct stage *stage = &stages[frame->slot];
    VkCommandBuffer commands = frame->commands;
    drop_stage(app, stage);
    make_stage(app, stage, target, frame);

    uint32_t rgba = color_of(frame->number);
    VkClearColorValue color;
    for (int c = 0; c < 4; c++)
        color.float32[c] = (float)(rgba >> (24 - 8 * c) & 0xff) / 255.0f;
    const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    app_image_barrier(commands, &stage->picture, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdClearColorImage(commands, stage->picture.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &color, 1, &range);
    app_image_barrier(commands, &stage->picture, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                      VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    vkCmdResetQueryPool(commands, stage->queries, 0, 2);
    const VkClearValue clear = {.color.float32 = {0, 0, 0, 1}};
    VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO};
    begin.renderPass = stage->pass;
    begin.framebuffer = stage->framebuffer;
    begin.renderArea.extent = target->swapchain.extent;
    begin.clearValueCount = 1;
    begin.pClearValues = &clear;
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, stage->pipeline);
    app_set_viewport(commands, target->swapchain.extent.width / 2, target->swapchain.extent.height);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, stage->layout, 0, 1, &stage->set, 0, NULL);
    vkCmdBeginQuery(commands, stage->queries, 0, 0);
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdEndQuery(commands, stage->queries, 0);
    vkCmdBeginQuery(commands, stage->queries, 1, 0);
    vkCmdEndQuery(commands, stage->queries, 1);
    vkCmdEndRenderPass(commands);
    vkCmdSetEvent(commands, stage->event, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    app_target_end(target, frame);
}

int main(int argc, char **argv)
{
    static bool hash;
    static const struct app_option options[] = {{"--hash", "print a hash of each frame's pixels", &hash, NULL}, {0}};
    static const struct app_program program = {
        .name = "churn",
        .options = options,
        .what = "Creates and destroys thousands of objects of many kinds and draws in between.",
        .frames = 40,
        .can_present = true,
    };
    struct app app;
    struct app_target target;
    struct stage stages[APP_IN_FLIGHT] = {{0}};
    int64_t host_allocations = 0;
    const VkAllocationCallbacks allocator = {.pUserData = &host_allocations,
                                             .pfnAllocation = allocate_host,
                                             .pfnReallocation = reallocate_host,
                                             .pfnFree = free_host};
    app_init(&app, argc, argv, &program);
    app.hash = hash;
    app_device_create(&app, NULL);
    app_target_create(&app, &target, check);
    VkPipelineCache cache;
    VkPipelineCacheCreateInfo cache_info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    CHECK_VK(vkCreatePipelineCache(app.device, &cache_info, NULL, &cache));
    for (uint32_t i = 0; i < app.frames; i++) {
        churn_buffers(&app, i);
        churn_images(&app, i);
        churn_sync(&app);
        churn_descriptors(&app, i, &allocator);
        churn_commands(&app, i);
        churn_cache(&app, &cache);
        draw(&target, stages);
    }
    app_target_drain(&target);
    for (uint32_t i = 0; i < APP_IN_FLIGHT; i++)
        drop_stage(&app, &stages[i]);
    vkDestroyPipelineCache(app.device, cache, NULL);
    CHECK(host_allocations == 0);
    app_target_destroy(&target);
    return app_finish(&app);
}
