/* SPDX-License-Identifier: MIT */
/*
 * descriptors: every type of descriptor that a compute shader can read, arrays, immutable samplers, dynamic offsets,
 * inline uniform blocks, copies from set to set, a write and a copy that go on in the next binding, and a set that is
 * written after it was bound where the device can do that. A command buffer outlives the layouts that it was recorded
 * with. With --garbage the members that the specification tells everybody to ignore hold pointers and handles that lead
 * nowhere. (Input attachments need a render pass: see ignored.c.)
 */
#include "common/app.h"
#include "shaders/descriptors_all_comp.h"
#include "shaders/descriptors_sum_comp.h"

#define STRIDE  256u /* enough for every offset alignment */
#define STEPS   4u   /* dynamic offsets */
#define RESULTS 20u
#define SUMS    16u

enum {
    SAMPLER,
    IMMUTABLE_SAMPLER,
    SAMPLED_IMAGES,
    COMBINED,
    STORAGE_IMAGE,
    UNIFORM_TEXELS,
    STORAGE_TEXELS,
    UNIFORM,
    STORAGE,
    DYNAMIC_UNIFORM,
    DYNAMIC_STORAGE,
    BINDINGS
};

struct state {
    const struct app *app;
    bool garbage, inline_block, late;
    struct app_image pictures[3], storage_image;
    struct app_buffer numbers, results; /* numbers: word n is n */
    VkBufferView uniform_view, storage_view;
    VkSampler sampler;
    VkDescriptorSetLayout layouts[3]; /* all types; the block; the set that is written late */
    VkDescriptorPool pool;
    VkDescriptorSet sets[5]; /* as layouts, then copies of the first two */
    VkPipelineLayout layout;
    VkPipeline pipeline, sum;
    struct app_buffer terms, sums, read; /* sums: of all frames so far; read: a copy */
    VkSemaphore added;
    VkCommandBuffer inner[2], adds[2]; /* recorded once, submitted in turn */
};

static void *lost(const struct state *state)
{
    return state->garbage ? (void *)(uintptr_t)0xdead000 : NULL;
}

static const VkDescriptorType types[BINDINGS] = {
    VK_DESCRIPTOR_TYPE_SAMPLER,
    VK_DESCRIPTOR_TYPE_SAMPLER,
    VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
    VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
    VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
    VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
    VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER,
    VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
    VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
};

static uint32_t count_of(uint32_t binding)
{
    return binding == SAMPLED_IMAGES ? 2 : 1;
}

static void create_device(struct app *app, struct state *state)
{
    VkPhysicalDeviceVulkan13Features features13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    VkPhysicalDeviceVulkan12Features features12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &features12};
    if (app->api_version >= VK_API_VERSION_1_2) {
        features12.pNext = app->api_version >= VK_API_VERSION_1_3 ? &features13 : NULL;
        vkGetPhysicalDeviceFeatures2(app->physical, &features);
    }
    state->inline_block = features13.inlineUniformBlock;
    state->late = features12.descriptorBindingStorageBufferUpdateAfterBind;
    if (!state->inline_block)
        printf("left out: inline uniform blocks\n");
    if (!state->late)
        printf("left out: storage buffers written after their set is bound\n");
    VkPhysicalDeviceVulkan13Features want13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    want13.inlineUniformBlock = state->inline_block;
    VkPhysicalDeviceVulkan12Features want12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    want12.descriptorIndexing = features12.descriptorIndexing && state->late;
    want12.descriptorBindingStorageBufferUpdateAfterBind = state->late;
    want12.pNext = app->api_version >= VK_API_VERSION_1_3 ? &want13 : NULL;
    struct app_device_request request = {.next = app->api_version >= VK_API_VERSION_1_2 ? &want12 : NULL};
    app_device_create(app, &request);
}

static void create_contents(struct state *state)
{
    const struct app *app = state->app;
    app_buffer_create(app, &state->numbers, STRIDE * STEPS * 2,
                      VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                          VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT,
                      APP_UPLOAD);
    for (uint32_t i = 0; i < state->numbers.size / 4; i++)
        ((uint32_t *)state->numbers.mapped)[i] = i;
    app_buffer_flush(app, &state->numbers, 0, state->numbers.size);
    app_buffer_create(app, &state->results, STRIDE * STEPS, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    app_buffer_create(app, &state->terms, STRIDE, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_UPLOAD);
    memcpy(state->terms.mapped, state->numbers.mapped, STRIDE);
    app_buffer_flush(app, &state->terms, 0, STRIDE);
    app_buffer_create(app, &state->sums, STRIDE,
                      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                          VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                      APP_DEVICE);
    app_buffer_create(app, &state->read, STRIDE, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);

    VkBufferViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO};
    view.buffer = state->numbers.buffer;
    view.format = VK_FORMAT_R32_UINT;
    view.offset = STRIDE;
    view.range = STRIDE;
    CHECK_VK(vkCreateBufferView(app->device, &view, NULL, &state->uniform_view));
    view.offset = 2 * STRIDE;
    CHECK_VK(vkCreateBufferView(app->device, &view, NULL, &state->storage_view));

    VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    CHECK_VK(vkCreateSampler(app->device, &sampler, NULL, &state->sampler));
    VkCommandBuffer commands = app_begin(app);
    const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    vkCmdFillBuffer(commands, state->sums.buffer, 0, STRIDE, 0);
    for (uint32_t i = 0; i < 4; i++) {
        struct app_image *image = i < 3 ? &state->pictures[i] : &state->storage_image;
        app_image_create_2d(app, image, i < 3 ? VK_FORMAT_R8G8B8A8_UNORM : VK_FORMAT_R32_UINT, 4, 4,
                            VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                                (i < 3 ? VK_IMAGE_USAGE_SAMPLED_BIT : VK_IMAGE_USAGE_STORAGE_BIT));
        VkClearColorValue color = {.float32 = {(float)(i * 10 + 10) / 255.0f, 0, 0, 1}};
        if (i == 3)
            color.uint32[0] = 1234567;
        app_image_barrier(commands, image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
        vkCmdClearColorImage(commands, image->image, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &range);
        app_image_barrier(commands, image, VK_IMAGE_LAYOUT_GENERAL,
                          i < 3 ? VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL : VK_IMAGE_LAYOUT_GENERAL);
    }
    app_run(app, commands);
}

static void create_layouts(struct state *state)
{
    const struct app *app = state->app;
    VkDescriptorSetLayoutBinding bindings[BINDINGS];
    for (uint32_t i = 0; i < BINDINGS; i++) {
        bindings[i] = (VkDescriptorSetLayoutBinding){i, types[i], count_of(i), VK_SHADER_STAGE_COMPUTE_BIT, NULL};
        if (i == IMMUTABLE_SAMPLER || i == COMBINED)
            bindings[i].pImmutableSamplers = &state->sampler;
        else if (types[i] != VK_DESCRIPTOR_TYPE_SAMPLER && types[i] != VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER)
            bindings[i].pImmutableSamplers = lost(state); /* ignored for all other types */
    }
    state->layouts[0] = app_set_layout(app, BINDINGS, bindings);
    VkDescriptorSetLayoutBinding block = {0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    if (state->inline_block) {
        block.descriptorType = VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
        block.descriptorCount = 32; /* bytes */
    }
    state->layouts[1] = app_set_layout(app, 1, &block);

    const VkDescriptorSetLayoutBinding late = {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT,
                                               NULL};
    const VkDescriptorBindingFlags late_flags = VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT;
    VkDescriptorSetLayoutBindingFlagsCreateInfo flags = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO};
    flags.bindingCount = 1;
    flags.pBindingFlags = &late_flags;
    VkDescriptorSetLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    info.pNext = state->late ? &flags : NULL;
    info.flags = state->late ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT : 0;
    info.bindingCount = 1;
    info.pBindings = &late;
    CHECK_VK(vkCreateDescriptorSetLayout(app->device, &info, NULL, &state->layouts[2]));

    state->layout = app_pipeline_layout(app, 3, state->layouts, 0, 0);
    state->pipeline = app_compute_pipeline(app, descriptors_all_comp, sizeof(descriptors_all_comp), state->layout);
}

static void create_sets(struct state *state)
{
    const struct app *app = state->app;
    VkDescriptorPoolSize sizes[BINDINGS + 1];
    for (uint32_t i = 0; i < BINDINGS; i++) /* types may stand in the list more than once */
        sizes[i] = (VkDescriptorPoolSize){types[i], 9 * count_of(i)};
    sizes[BINDINGS] = (VkDescriptorPoolSize){VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, 64};
    VkDescriptorPoolInlineUniformBlockCreateInfo blocks = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO};
    blocks.maxInlineUniformBlockBindings = 2;
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.pNext = state->inline_block ? &blocks : NULL;
    pool.flags = state->late ? VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT : 0;
    pool.maxSets = COUNT_OF(state->sets) + 3;
    pool.poolSizeCount = state->inline_block ? BINDINGS + 1 : BINDINGS;
    pool.pPoolSizes = sizes;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &state->pool));
    const VkDescriptorSetLayout layouts[] = {state->layouts[0], state->layouts[1], state->layouts[2], state->layouts[0],
                                             state->layouts[1]};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = state->pool;
    allocate.descriptorSetCount = COUNT_OF(layouts);
    allocate.pSetLayouts = layouts;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, state->sets));
}

static VkWriteDescriptorSet write_of(const struct state *state, VkDescriptorSet set, uint32_t binding,
                                     VkDescriptorType type, uint32_t count)
{
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = set;
    write.dstBinding = binding;
    write.descriptorCount = count;
    write.descriptorType = type;
    write.pImageInfo = lost(state); /* the caller sets the one that counts */
    write.pBufferInfo = lost(state);
    write.pTexelBufferView = lost(state);
    return write;
}

static void write_first_set(struct state *state)
{
    VkSampler no_sampler = (VkSampler)(uintptr_t)lost(state);
    VkImageView no_view = (VkImageView)(uintptr_t)lost(state);
    const VkImageLayout no_layout = state->garbage ? (VkImageLayout)0x7ead : VK_IMAGE_LAYOUT_UNDEFINED;
    const VkImageLayout read = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
    const VkDescriptorImageInfo sampler = {state->sampler, no_view, no_layout};
    const VkDescriptorImageInfo sampled[2] = {{no_sampler, state->pictures[0].view, read},
                                              {no_sampler, state->pictures[1].view, read}};
    const VkDescriptorImageInfo combined = {no_sampler, state->pictures[2].view, read}; /* its sampler is immutable */
    const VkDescriptorImageInfo storage = {no_sampler, state->storage_image.view, VK_IMAGE_LAYOUT_GENERAL};
    const VkDescriptorBufferInfo buffers[4] = {
        {state->numbers.buffer, 3 * STRIDE, 16},
        {state->results.buffer, 0, VK_WHOLE_SIZE},
        {state->numbers.buffer, 0, 16},
        {state->numbers.buffer, 4 * STRIDE, 16},
    };
    VkWriteDescriptorSet writes[BINDINGS];
    uint32_t count = 0;
    for (uint32_t binding = 0; binding < BINDINGS; binding++) {
        if (binding == IMMUTABLE_SAMPLER)
            continue;
        VkWriteDescriptorSet *write = &writes[count++];
        *write = write_of(state, state->sets[0], binding, types[binding], count_of(binding));
        if (binding >= UNIFORM)
            write->pBufferInfo = &buffers[binding - UNIFORM];
        else if (binding >= UNIFORM_TEXELS)
            write->pTexelBufferView = binding == UNIFORM_TEXELS ? &state->uniform_view : &state->storage_view;
    }
    writes[0].pImageInfo = &sampler; /* the binding after it has no write: SAMPLED_IMAGES comes next */
    writes[1].pImageInfo = sampled;
    writes[2].pImageInfo = &combined;
    writes[3].pImageInfo = &storage;
    vkUpdateDescriptorSets(state->app->device, count, writes, 0, NULL);
}

static void write_block(struct state *state)
{
    const uint32_t data[8] = {5000, 5001, 5002, 5003, 5004, 5005, 5006, 5007};
    const VkDescriptorBufferInfo buffer = {state->numbers.buffer, 7 * STRIDE, 32};
    VkWriteDescriptorSetInlineUniformBlock block = {.sType =
                                                        VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK};
    block.dataSize = sizeof(data);
    block.pData = data;
    VkWriteDescriptorSet write = write_of(state, state->sets[1], 0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1);
    if (state->inline_block) {
        write.descriptorType = VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
        write.descriptorCount = sizeof(data); /* bytes */
        write.pNext = &block;
    } else {
        write.pBufferInfo = &buffer;
    }
    vkUpdateDescriptorSets(state->app->device, 1, &write, 0, NULL);
}

static void write_late(struct state *state, uint32_t step)
{
    const VkDescriptorBufferInfo buffer = {state->numbers.buffer, (4 + step) * STRIDE, 16};
    VkWriteDescriptorSet write = write_of(state, state->sets[2], 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1);
    write.pBufferInfo = &buffer;
    vkUpdateDescriptorSets(state->app->device, 1, &write, 0, NULL);
}

static void copy_sets(struct state *state)
{
    const VkCopyDescriptorSet block = {.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                       .srcSet = state->sets[1],
                                       .dstSet = state->sets[4],
                                       .descriptorCount = state->inline_block ? 32 : 1};
    VkCopyDescriptorSet copies[BINDINGS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < BINDINGS; i++) {
        if (i == IMMUTABLE_SAMPLER)
            continue;
        VkCopyDescriptorSet *copy = &copies[count++];
        *copy = (VkCopyDescriptorSet){.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET};
        copy->srcSet = state->sets[0];
        copy->srcBinding = copy->dstBinding = i;
        copy->dstSet = state->sets[3];
        copy->descriptorCount = count_of(i);
    }
    vkUpdateDescriptorSets(state->app->device, 0, lost(state), count, copies);
    vkUpdateDescriptorSets(state->app->device, 0, NULL, 1, &block);
}

/* adds executes inner. */
static void record_sum(struct state *state, uint32_t i, VkPipelineLayout layout, VkDescriptorSet set)
{
    const struct app *app = state->app;
    VkCommandBuffer *inner = &state->inner[i], *adds = &state->adds[i];
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = app->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
                                            .commandBufferCount = 1};
    const VkCommandBufferInheritanceInfo inherited = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .pInheritanceInfo = &inherited};
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, inner));
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, adds));
    CHECK_VK(vkBeginCommandBuffer(*inner, &begin));
    vkCmdBindPipeline(*inner, VK_PIPELINE_BIND_POINT_COMPUTE, state->sum);
    vkCmdBindDescriptorSets(*inner, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
    vkCmdDispatch(*inner, 1, 1, 1);
    CHECK_VK(vkEndCommandBuffer(*inner));
    CHECK_VK(vkBeginCommandBuffer(*adds, &begin));
    vkCmdExecuteCommands(*adds, 1, inner);
    app_memory_barrier(*adds, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT);
    CHECK_VK(vkEndCommandBuffer(*adds));
}

/* Of two descriptors the second one is in the next binding that is not empty. */
static void create_sums(struct state *state)
{
    const struct app *app = state->app;
    const VkDescriptorType type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    const VkDescriptorSetLayoutBinding bindings[] = {{0, type, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
                                                     {1, type, 0, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
                                                     {2, type, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    const VkDescriptorSetLayout of_set = app_set_layout(app, COUNT_OF(bindings), bindings);
    const VkDescriptorSetLayout of_sets[] = {of_set, of_set, of_set};
    const VkPipelineLayout layout = app_pipeline_layout(app, 1, &of_set, 0, 0);
    const VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                                  .descriptorPool = state->pool,
                                                  .descriptorSetCount = 3,
                                                  .pSetLayouts = of_sets};
    VkDescriptorSet sets[3];
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, sets));
    const VkDescriptorBufferInfo buffers[] = {{state->terms.buffer, 0, STRIDE}, {state->sums.buffer, 0, STRIDE}};
    VkWriteDescriptorSet write = write_of(state, sets[0], 0, type, 2);
    write.pBufferInfo = buffers;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    const VkCopyDescriptorSet copies[] = {
        {VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET, NULL, sets[0], 0, 0, sets[1], 0, 0, 1},
        {VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET, NULL, sets[0], 2, 0, sets[1], 2, 0, 1},
        {VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET, NULL, sets[1], 0, 0, sets[2], 0, 0, 2},
    };
    vkUpdateDescriptorSets(app->device, 0, NULL, COUNT_OF(copies), copies);
    state->sum = app_compute_pipeline(app, descriptors_sum_comp, sizeof(descriptors_sum_comp), layout);
    CHECK_VK(vkCreateSemaphore(app->device, &(VkSemaphoreCreateInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO},
                               NULL, &state->added));
    for (uint32_t i = 0; i < 2; i++)
        record_sum(state, i, layout, sets[2]);
    vkDestroyPipelineLayout(app->device, layout, NULL);
    vkDestroyDescriptorSetLayout(app->device, of_set, NULL);
}

/* The semaphore leads from one frame to the next. */
static void add(struct state *state, uint32_t frame)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .waitSemaphoreCount = frame ? 1 : 0,
                                 .pWaitSemaphores = &state->added,
                                 .pWaitDstStageMask = &stage,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &state->adds[frame % 2],
                                 .signalSemaphoreCount = 1,
                                 .pSignalSemaphores = &state->added};
    CHECK_VK(vkQueueSubmit(state->app->queue, 1, &submit, VK_NULL_HANDLE));
    CHECK_VK(vkQueueWaitIdle(state->app->queue));
}

static void run(struct state *state, uint32_t frame)
{
    const struct app *app = state->app;
    const uint32_t words = STRIDE / 4, step = frame % STEPS;
    const bool copied = frame % 2;
    const VkDescriptorSet sets[3] = {state->sets[copied ? 3 : 0], state->sets[copied ? 4 : 1], state->sets[2]};
    const uint32_t offsets[2] = {step * STRIDE, (STEPS - 1 - step) * STRIDE};
    if (!state->late)
        write_late(state, step);
    VkCommandBuffer commands = app_begin(app);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, state->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, state->layout, 0, 3, sets, 2, offsets);
    vkCmdDispatch(commands, 1, 1, 1);
    vkCmdCopyBuffer(commands, state->sums.buffer, state->read.buffer, 1, &(VkBufferCopy){0, 0, STRIDE});
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                       VK_ACCESS_HOST_READ_BIT);
    if (state->late)
        write_late(state, step);
    memset(state->results.mapped, 0xff, state->results.size);
    app_buffer_flush(app, &state->results, 0, state->results.size);
    app_run(app, commands);
    app_buffer_invalidate(app, &state->results, 0, state->results.size);
    const uint32_t block = state->inline_block ? 5004 : 7 * words + 4;
    const uint32_t expected[RESULTS] = {
        10,
        20,
        30, /* sampled with the sampler, with the immutable one, combined */
        20,
        10, /* the array's other element with each sampler */
        1234567,
        words + 3,
        2 * words + 3,
        3 * words + 1,
        step * words + 1,
        (4 + STEPS - 1 - step) * words + 2,
        block,
        (4 + step) * words + 3,
    };
    for (uint32_t i = 0; i < RESULTS; i++)
        EXPECT_EQ(app, ((uint32_t *)state->results.mapped)[i], expected[i]);
    app_buffer_invalidate(app, &state->read, 0, STRIDE);
    for (uint32_t i = 0; i < SUMS; i++)
        EXPECT_EQ(app, ((uint32_t *)state->read.mapped)[i], i * frame);
}

static void destroy(struct state *state)
{
    VkDevice device = state->app->device;
    vkFreeCommandBuffers(device, state->app->pool, 2, state->adds);
    vkFreeCommandBuffers(device, state->app->pool, 2, state->inner);
    vkDestroySemaphore(device, state->added, NULL);
    vkDestroyPipeline(device, state->sum, NULL);
    vkDestroyPipeline(device, state->pipeline, NULL);
    vkDestroyPipelineLayout(device, state->layout, NULL);
    vkDestroyDescriptorPool(device, state->pool, NULL);
    for (uint32_t i = 0; i < 3; i++) {
        vkDestroyDescriptorSetLayout(device, state->layouts[i], NULL);
        app_image_destroy(state->app, &state->pictures[i]);
    }
    app_image_destroy(state->app, &state->storage_image);
    vkDestroySampler(device, state->sampler, NULL);
    vkDestroyBufferView(device, state->uniform_view, NULL);
    vkDestroyBufferView(device, state->storage_view, NULL);
    app_buffer_destroy(state->app, &state->numbers);
    app_buffer_destroy(state->app, &state->results);
    app_buffer_destroy(state->app, &state->terms);
    app_buffer_destroy(state->app, &state->sums);
    app_buffer_destroy(state->app, &state->read);
}

int main(int argc, char **argv)
{
    static bool garbage;
    static const struct app_option options[] = {
        {"--garbage", "fill what is ignored with pointers that lead nowhere", &garbage, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "descriptors",
        .what = "Descriptors of every type, written, copied, moved by dynamic offsets.",
        .frames = 8,
        .options = options,
    };
    struct app app;
    struct state state = {.app = &app};
    app_init(&app, argc, argv, &program);
    state.garbage = garbage;
    create_device(&app, &state);
    create_contents(&state);
    create_layouts(&state);
    create_sets(&state);
    write_first_set(&state);
    write_block(&state);
    copy_sets(&state);
    create_sums(&state);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        run(&state, frame);
        add(&state, frame);
    }
    destroy(&state);
    return app_finish(&app);
}
