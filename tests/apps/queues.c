/* SPDX-License-Identifier: MIT */
/*
 * queues: graphics, compute and transfers, each on a family and a queue of its own where the device has them. A frame
 * is uploaded by the transfer queue, worked on by the compute queue, and drawn and read back by the graphics queue;
 * buffers and an image change owners on the way. The compute queue also reads a buffer that all families share.
 *
 * With --backwards the frame's work is submitted from its end: what waits comes before what it waits for, across all
 * queues, and at last the host writes the input and signals. On a device with fewer than three queues that can't be
 * done, and the submits stand in order.
 */
#include "common/app.h"
#include "shaders/compute_scale_comp.h"

#define COUNT  256u /* words that are computed */
#define SIDE   16u  /* of the image that is uploaded */
#define PIXELS (SIDE * SIDE)
#define SLOTS  2u /* frames in flight */

enum role { GRAPHICS, COMPUTE, TRANSFER, ROLES };

struct queue {
    uint32_t family, number;
    VkQueue queue;
    VkCommandPool pool;
};

/* What a frame uses. */
struct slot {
    struct app_buffer upload, input, result, read_back;
    struct app_image picture, target;
    VkDescriptorSet set;
    VkCommandBuffer commands[ROLES];
    VkSemaphore chain;    /* a timeline: four steps for each frame */
    VkSemaphore uploaded; /* binary */
    VkFence drawn;
};

struct scene {
    struct app *app;
    bool backwards, two;
    uint32_t distinct; /* queues */
    struct queue queues[ROLES];
    struct app_buffer constant;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptor_pool;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    struct slot slots[SLOTS];
};

static PFN_vkCmdPipelineBarrier2 pipeline_barrier2;
static PFN_vkQueueSubmit2 queue_submit2;

/* ---- queues ---- */

/* A family with these kinds and none of the others; UINT32_MAX: there is none. */
static uint32_t find_family(const VkQueueFamilyProperties *families, uint32_t count, VkQueueFlags with,
                            VkQueueFlags without)
{
    for (uint32_t i = 0; i < count; i++)
        if ((families[i].queueFlags & with) == with && !(families[i].queueFlags & without))
            return i;
    return UINT32_MAX;
}

static void choose_queues(struct scene *scene, VkQueueFamilyProperties families[16], uint32_t used[16])
{
    uint32_t count = 16, wanted[ROLES];
    vkGetPhysicalDeviceQueueFamilyProperties(scene->app->physical, &count, families);
    wanted[GRAPHICS] = scene->app->queue_family;
    wanted[COMPUTE] = find_family(families, count, VK_QUEUE_COMPUTE_BIT, VK_QUEUE_GRAPHICS_BIT);
    wanted[TRANSFER] =
        find_family(families, count, VK_QUEUE_TRANSFER_BIT, VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT);
    for (uint32_t i = 0; i < ROLES; i++) {
        uint32_t family = wanted[i] == UINT32_MAX ? wanted[GRAPHICS] : wanted[i];
        bool more = used[family] < families[family].queueCount;
        scene->queues[i].family = family;
        scene->queues[i].number = more ? used[family]++ : used[family] - 1;
        scene->distinct += more;
    }
}

static VkSemaphore create_semaphore(const struct app *app, VkSemaphoreType type)
{
    VkSemaphoreTypeCreateInfo what = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, .semaphoreType = type};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &what};
    VkSemaphore semaphore;
    CHECK_VK(vkCreateSemaphore(app->device, &info, NULL, &semaphore));
    return semaphore;
}

static void create_device(struct scene *scene)
{
    struct app *app = scene->app;
    static const float priorities[4] = {1, 1, 1, 1};
    VkQueueFamilyProperties families[16];
    VkDeviceQueueCreateInfo queues[16];
    uint32_t used[16] = {0};
    VkPhysicalDeviceSynchronization2Features two = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES, .synchronization2 = VK_TRUE};
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .pNext = scene->two ? &two : NULL,
        .timelineSemaphore = VK_TRUE};
    struct app_device_request request = {.next = &timeline, .queues = queues};
    choose_queues(scene, families, used);
    for (uint32_t i = 0; i < 16; i++)
        if (used[i])
            queues[request.queue_count++] =
                (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                          .queueFamilyIndex = i,
                                          .queueCount = used[i],
                                          .pQueuePriorities = priorities};
    app_device_create(app, &request);
    for (uint32_t i = 0; i < ROLES; i++) {
        struct queue *queue = &scene->queues[i];
        VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                        .queueFamilyIndex = queue->family};
        vkGetDeviceQueue(app->device, queue->family, queue->number, &queue->queue);
        CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &queue->pool));
    }
    if (scene->two) {
        pipeline_barrier2 = (PFN_vkCmdPipelineBarrier2)app_device_function(app, "vkCmdPipelineBarrier2");
        queue_submit2 = (PFN_vkQueueSubmit2)app_device_function(app, "vkQueueSubmit2");
    }
}

/* ---- objects ---- */

/* Shared by all families that there are. */
static void create_constant(struct scene *scene)
{
    const struct app *app = scene->app;
    uint32_t families[ROLES], count = 0, words[COUNT];
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = sizeof words,
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements needs;
    for (uint32_t i = 0; i < ROLES; i++) {
        bool seen = false;
        for (uint32_t j = 0; j < count; j++)
            seen = seen || families[j] == scene->queues[i].family;
        if (!seen)
            families[count++] = scene->queues[i].family;
    }
    if (count > 1) {
        info.sharingMode = VK_SHARING_MODE_CONCURRENT;
        info.queueFamilyIndexCount = count;
        info.pQueueFamilyIndices = families;
    }
    CHECK_VK(vkCreateBuffer(app->device, &info, NULL, &scene->constant.buffer));
    vkGetBufferMemoryRequirements(app->device, scene->constant.buffer, &needs);
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                     .allocationSize = needs.size,
                                     .memoryTypeIndex = app_memory_type_for(app, needs.memoryTypeBits, APP_DEVICE)};
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &scene->constant.memory));
    CHECK_VK(vkBindBufferMemory(app->device, scene->constant.buffer, scene->constant.memory, 0));
    for (uint32_t i = 0; i < COUNT; i++)
        words[i] = i ^ 0x55;
    VkCommandBuffer commands = app_begin(app);
    vkCmdUpdateBuffer(commands, scene->constant.buffer, 0, sizeof words, words);
    app_run(app, commands);
}

static void create_slot(struct scene *scene, struct slot *slot)
{
    const struct app *app = scene->app;
    const VkBufferUsageFlags from = VK_BUFFER_USAGE_TRANSFER_SRC_BIT, to = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                             storage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    app_buffer_create(app, &slot->upload, (COUNT + PIXELS) * 4, from, APP_UPLOAD);
    app_buffer_create(app, &slot->input, COUNT * 4, to | storage, APP_DEVICE);
    app_buffer_create(app, &slot->result, COUNT * 4, from | to | storage, APP_DEVICE);
    app_buffer_create(app, &slot->read_back, (COUNT + 4 * PIXELS) * 4, to, APP_READBACK);
    app_image_create_2d(app, &slot->picture, VK_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE,
                        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    app_image_create_2d(app, &slot->target, VK_FORMAT_R8G8B8A8_UNORM, 2 * SIDE, 2 * SIDE,
                        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = scene->descriptor_pool,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &scene->set_layout};
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &slot->set));
    const VkDescriptorBufferInfo infos[3] = {{slot->input.buffer, 0, VK_WHOLE_SIZE},
                                             {scene->constant.buffer, 0, VK_WHOLE_SIZE},
                                             {slot->result.buffer, 0, VK_WHOLE_SIZE}};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = slot->set,
                                  .descriptorCount = 3,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = infos};
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    for (uint32_t i = 0; i < ROLES; i++) {
        VkCommandBufferAllocateInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                               .commandPool = scene->queues[i].pool,
                                               .commandBufferCount = 1};
        CHECK_VK(vkAllocateCommandBuffers(app->device, &buffers, &slot->commands[i]));
    }
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    CHECK_VK(vkCreateFence(app->device, &fence, NULL, &slot->drawn));
    slot->chain = create_semaphore(app, VK_SEMAPHORE_TYPE_TIMELINE);
    slot->uploaded = create_semaphore(app, VK_SEMAPHORE_TYPE_BINARY);
}

static void create(struct scene *scene)
{
    const struct app *app = scene->app;
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3 * SLOTS};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = SLOTS,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    VkDescriptorSetLayoutBinding bindings[3];
    for (uint32_t i = 0; i < 3; i++)
        bindings[i] =
            (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    create_device(scene);
    create_constant(scene);
    scene->set_layout = app_set_layout(app, 3, bindings);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &scene->descriptor_pool));
    scene->layout = app_pipeline_layout(app, 1, &scene->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, 12);
    scene->pipeline = app_compute_pipeline(app, compute_scale_comp, sizeof(compute_scale_comp), scene->layout);
    for (uint32_t i = 0; i < SLOTS; i++)
        create_slot(scene, &scene->slots[i]);
}

static void destroy(struct scene *scene)
{
    const struct app *app = scene->app;
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &scene->slots[i];
        app_buffer_destroy(app, &slot->upload);
        app_buffer_destroy(app, &slot->input);
        app_buffer_destroy(app, &slot->result);
        app_buffer_destroy(app, &slot->read_back);
        app_image_destroy(app, &slot->picture);
        app_image_destroy(app, &slot->target);
        vkDestroySemaphore(app->device, slot->chain, NULL);
        vkDestroySemaphore(app->device, slot->uploaded, NULL);
        vkDestroyFence(app->device, slot->drawn, NULL);
    }
    for (uint32_t i = 0; i < ROLES; i++)
        vkDestroyCommandPool(app->device, scene->queues[i].pool, NULL);
    vkDestroyPipeline(app->device, scene->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, scene->layout, NULL);
    vkDestroyDescriptorPool(app->device, scene->descriptor_pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, scene->set_layout, NULL);
    app_buffer_destroy(app, &scene->constant);
}

/* ---- owners ---- */

struct change {
    enum role from, to;
    VkPipelineStageFlags source, target;
    VkAccessFlags written, used;
    VkBuffer buffer; /* or an image */
    const struct app_image *image;
    VkImageLayout before, after;
};

static void barrier(const struct scene *scene, VkCommandBuffer commands, const struct change *change)
{
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    uint32_t from = scene->queues[change->from].family, to = scene->queues[change->to].family;
    if (from == to)
        from = to = VK_QUEUE_FAMILY_IGNORED;
    if (!scene->two) {
        VkBufferMemoryBarrier buffer = {VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
                                        NULL,
                                        change->written,
                                        change->used,
                                        from,
                                        to,
                                        change->buffer,
                                        0,
                                        VK_WHOLE_SIZE};
        VkImageMemoryBarrier image = {VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                      NULL,
                                      change->written,
                                      change->used,
                                      change->before,
                                      change->after,
                                      from,
                                      to,
                                      change->image ? change->image->image : VK_NULL_HANDLE,
                                      all};
        vkCmdPipelineBarrier(commands, change->source, change->target, 0, 0, NULL, change->buffer ? 1 : 0, &buffer,
                             change->image ? 1 : 0, &image);
        return;
    }
    VkBufferMemoryBarrier2 buffer = {VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
                                     NULL,
                                     change->source,
                                     change->written,
                                     change->target,
                                     change->used,
                                     from,
                                     to,
                                     change->buffer,
                                     0,
                                     VK_WHOLE_SIZE};
    VkImageMemoryBarrier2 image = {VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
                                   NULL,
                                   change->source,
                                   change->written,
                                   change->target,
                                   change->used,
                                   change->before,
                                   change->after,
                                   from,
                                   to,
                                   change->image ? change->image->image : VK_NULL_HANDLE,
                                   all};
    VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                             .bufferMemoryBarrierCount = change->buffer ? 1 : 0,
                             .pBufferMemoryBarriers = &buffer,
                             .imageMemoryBarrierCount = change->image ? 1 : 0,
                             .pImageMemoryBarriers = &image};
    pipeline_barrier2(commands, &info);
}

/* The first half of a change of owners, or within one family all of it. */
static void release(const struct scene *scene, VkCommandBuffer commands, struct change change)
{
    if (scene->queues[change.from].family != scene->queues[change.to].family)
        change.used = 0, change.target = VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT;
    else
        change.target = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT; /* of the one family */
    barrier(scene, commands, &change);
}

static void acquire(const struct scene *scene, VkCommandBuffer commands, struct change change)
{
    if (scene->queues[change.from].family == scene->queues[change.to].family)
        return;
    change.written = 0, change.source = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT; /* where the semaphore is waited for */
    barrier(scene, commands, &change);
}

static struct change change_input(const struct slot *slot)
{
    return (struct change){TRANSFER,
                           COMPUTE,
                           VK_PIPELINE_STAGE_TRANSFER_BIT,
                           VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                           VK_ACCESS_TRANSFER_WRITE_BIT,
                           VK_ACCESS_SHADER_READ_BIT,
                           slot->input.buffer,
                           NULL,
                           0,
                           0};
}

static struct change change_result(const struct slot *slot, enum role to)
{
    const VkPipelineStageFlags compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, copy = VK_PIPELINE_STAGE_TRANSFER_BIT;
    if (to == COMPUTE)
        return (struct change){TRANSFER,
                               COMPUTE,
                               copy,
                               compute,
                               VK_ACCESS_TRANSFER_WRITE_BIT,
                               VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
                               slot->result.buffer,
                               NULL,
                               0,
                               0};
    return (struct change){
        COMPUTE, GRAPHICS, compute, copy, VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_TRANSFER_READ_BIT, slot->result.buffer,
        NULL,    0,        0};
}

static struct change change_picture(const struct slot *slot)
{
    return (struct change){TRANSFER,
                           GRAPHICS,
                           VK_PIPELINE_STAGE_TRANSFER_BIT,
                           VK_PIPELINE_STAGE_TRANSFER_BIT,
                           VK_ACCESS_TRANSFER_WRITE_BIT,
                           VK_ACCESS_TRANSFER_READ_BIT,
                           VK_NULL_HANDLE,
                           &slot->picture,
                           VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                           VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL};
}

/* ---- a frame's work ---- */

static void begin(VkCommandBuffer commands)
{
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                     .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    CHECK_VK(vkBeginCommandBuffer(commands, &info));
}

static void record_transfer(const struct scene *scene, struct slot *slot, uint32_t frame)
{
    VkCommandBuffer commands = slot->commands[TRANSFER];
    const VkBufferImageCopy whole = {COUNT * 4, 0, 0, {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, {0, 0, 0}, {SIDE, SIDE, 1}};
    begin(commands);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_TRANSFER_READ_BIT);
    barrier(scene, commands,
            &(struct change){TRANSFER, TRANSFER, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                             VK_ACCESS_TRANSFER_WRITE_BIT, VK_NULL_HANDLE, &slot->picture, VK_IMAGE_LAYOUT_UNDEFINED,
                             VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL});
    vkCmdCopyBuffer(commands, slot->upload.buffer, slot->input.buffer, 1, &(VkBufferCopy){0, 0, COUNT * 4});
    vkCmdFillBuffer(commands, slot->result.buffer, 0, COUNT * 4, frame);
    vkCmdCopyBufferToImage(commands, slot->upload.buffer, slot->picture.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
                           &whole);
    release(scene, commands, change_input(slot));
    release(scene, commands, change_result(slot, COMPUTE));
    release(scene, commands, change_picture(slot));
    CHECK_VK(vkEndCommandBuffer(commands));
}

static void record_compute(const struct scene *scene, struct slot *slot, uint32_t frame)
{
    VkCommandBuffer commands = slot->commands[COMPUTE];
    const uint32_t push[3] = {frame + 1, 0, COUNT};
    begin(commands);
    acquire(scene, commands, change_input(slot));
    acquire(scene, commands, change_result(slot, COMPUTE));
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->layout, 0, 1, &slot->set, 0, NULL);
    vkCmdPushConstants(commands, scene->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, push);
    vkCmdDispatch(commands, COUNT / 64, 1, 1);
    release(scene, commands, change_result(slot, GRAPHICS));
    CHECK_VK(vkEndCommandBuffer(commands));
}

static void record_graphics(const struct scene *scene, struct slot *slot)
{
    VkCommandBuffer commands = slot->commands[GRAPHICS];
    const VkImageSubresourceLayers layer = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    const VkImageBlit twice = {layer, {{0, 0, 0}, {SIDE, SIDE, 1}}, layer, {{0, 0, 0}, {2 * SIDE, 2 * SIDE, 1}}};
    const VkBufferImageCopy whole = {COUNT * 4, 0, 0, layer, {0, 0, 0}, {2 * SIDE, 2 * SIDE, 1}};
    begin(commands);
    acquire(scene, commands, change_picture(slot));
    acquire(scene, commands, change_result(slot, GRAPHICS));
    app_image_barrier(commands, &slot->target, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdBlitImage(commands, slot->picture.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, slot->target.image,
                   VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &twice, VK_FILTER_NEAREST);
    app_image_barrier(commands, &slot->target, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                      VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    vkCmdCopyImageToBuffer(commands, slot->target.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, slot->read_back.buffer,
                           1, &whole);
    vkCmdCopyBuffer(commands, slot->result.buffer, slot->read_back.buffer, 1, &(VkBufferCopy){0, 0, COUNT * 4});
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    CHECK_VK(vkEndCommandBuffer(commands));
}

/* ---- submits ---- */

struct point {
    VkSemaphore semaphore;
    uint64_t value; /* 0: binary */
};

static void submit(const struct scene *scene, enum role role, VkCommandBuffer commands, const struct point *waits,
                   uint32_t wait_count, const struct point *signals, uint32_t signal_count)
{
    VkSemaphoreSubmitInfo points[2][2];
    VkSemaphore semaphores[2][2];
    uint64_t values[2][2];
    const VkPipelineStageFlags stages[2] = {VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT};
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t j = 0; j < (i ? signal_count : wait_count); j++) {
            struct point point = i ? signals[j] : waits[j];
            semaphores[i][j] = point.semaphore;
            values[i][j] = point.value;
            points[i][j] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                                   .semaphore = point.semaphore,
                                                   .value = point.value,
                                                   .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
        }
    if (scene->two) {
        VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                            .commandBuffer = commands};
        VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                              .waitSemaphoreInfoCount = wait_count,
                              .pWaitSemaphoreInfos = points[0],
                              .commandBufferInfoCount = 1,
                              .pCommandBufferInfos = &buffer,
                              .signalSemaphoreInfoCount = signal_count,
                              .pSignalSemaphoreInfos = points[1]};
        CHECK_VK(queue_submit2(scene->queues[role].queue, 1, &info, VK_NULL_HANDLE));
        return;
    }
    VkTimelineSemaphoreSubmitInfo chain = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                           .waitSemaphoreValueCount = wait_count,
                                           .pWaitSemaphoreValues = values[0],
                                           .signalSemaphoreValueCount = signal_count,
                                           .pSignalSemaphoreValues = values[1]};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = &chain,
                         .waitSemaphoreCount = wait_count,
                         .pWaitSemaphores = semaphores[0],
                         .pWaitDstStageMask = stages,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &commands,
                         .signalSemaphoreCount = signal_count,
                         .pSignalSemaphores = semaphores[1]};
    CHECK_VK(vkQueueSubmit(scene->queues[role].queue, 1, &info, VK_NULL_HANDLE));
}

/* What a timeline says of a frame; frames count from 1. */
enum step { WRITTEN, TRANSFERRED, COMPUTED, DRAWN, STEPS };

static struct point step_of(const struct slot *slot, uint32_t frame, enum step step)
{
    return (struct point){slot->chain, (uint64_t)frame * STEPS + step};
}

/* The host's input for a frame, and the signal for it. */
static void let_go(const struct scene *scene, struct slot *slot, uint32_t frame)
{
    uint32_t *words = (uint32_t *)(void *)slot->upload.mapped;
    VkSemaphoreSignalInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                    .semaphore = slot->chain,
                                    .value = step_of(slot, frame, WRITTEN).value};
    for (uint32_t i = 0; i < COUNT; i++)
        words[i] = frame * 31 + i;
    for (uint32_t i = 0; i < PIXELS; i++)
        words[COUNT + i] = 0xff000000u | (i * 7 + frame) << 8 | (i ^ frame);
    app_buffer_flush(scene->app, &slot->upload, 0, slot->upload.size);
    CHECK_VK(vkSignalSemaphore(scene->app->device, &signal));
}

static void submit_frame(const struct scene *scene, struct slot *slot, uint32_t frame)
{
    const struct point written = step_of(slot, frame, WRITTEN), transferred = step_of(slot, frame, TRANSFERRED),
                       computed = step_of(slot, frame, COMPUTED), drawn = step_of(slot, frame, DRAWN),
                       uploaded = {slot->uploaded, 0};
    bool reverse = scene->backwards && scene->distinct == ROLES;
    record_transfer(scene, slot, frame);
    record_compute(scene, slot, frame);
    record_graphics(scene, slot);
    if (!scene->backwards)
        let_go(scene, slot, frame);
    for (uint32_t i = 0; i < ROLES; i++) {
        enum role role = (enum role)(reverse ? i : ROLES - 1 - i);
        if (role == TRANSFER)
            submit(scene, role, slot->commands[role], &written, 1, (struct point[]){transferred, uploaded},
                   scene->backwards ? 1 : 2);
        else if (role == COMPUTE)
            submit(scene, role, slot->commands[role], &transferred, 1, &computed, 1);
        else
            submit(scene, role, slot->commands[role], (struct point[]){computed, uploaded}, scene->backwards ? 1 : 2,
                   &drawn, 1);
    }
    /* On its own: Debian 12's lavapipe mixes up a fence and a timeline semaphore that one submit signals. */
    CHECK_VK(vkQueueSubmit(scene->queues[GRAPHICS].queue, 0, NULL, slot->drawn));
}

static void check_frame(const struct scene *scene, struct slot *slot, uint32_t frame)
{
    const struct app *app = scene->app;
    const uint32_t *words = (const uint32_t *)(void *)slot->read_back.mapped;
    const struct point drawn = step_of(slot, frame, DRAWN);
    VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &drawn.semaphore,
                                .pValues = &drawn.value};
    if (frame % 2)
        CHECK_VK(vkWaitSemaphores(app->device, &wait, UINT64_MAX));
    CHECK_VK(vkWaitForFences(app->device, 1, &slot->drawn, VK_TRUE, UINT64_MAX));
    CHECK_VK(vkResetFences(app->device, 1, &slot->drawn));
    app_buffer_invalidate(app, &slot->read_back, 0, slot->read_back.size);
    for (uint32_t i = 0; i < COUNT; i++)
        EXPECT_EQ(app, words[i], frame + (frame * 31 + i) * (frame + 1) + (i ^ 0x55));
    for (uint32_t i = 0; i < 4 * PIXELS; i++) {
        uint32_t from = i / (2 * SIDE) / 2 * SIDE + i % (2 * SIDE) / 2;
        EXPECT_EQ(app, words[COUNT + i], 0xff000000u | (from * 7 + frame) << 8 | (from ^ frame));
    }
}

/* Both frames in flight are submitted before the host lets the first one go. */
static void run(struct scene *scene)
{
    for (uint32_t frame = 1; frame + SLOTS - 1 <= scene->app->frames; frame += SLOTS) {
        for (uint32_t i = 0; i < SLOTS; i++)
            submit_frame(scene, &scene->slots[i], frame + i);
        for (uint32_t i = 0; i < SLOTS && scene->backwards; i++)
            let_go(scene, &scene->slots[i], frame + i);
        for (uint32_t i = 0; i < SLOTS; i++)
            check_frame(scene, &scene->slots[i], frame + i);
    }
}

int main(int argc, char **argv)
{
    static struct scene scene;
    static const struct app_option options[] = {
        {"--backwards", "submit what waits before what it waits for", &scene.backwards, NULL},
        {"--two", "use synchronization2", &scene.two, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "queues",
        .what = "Graphics, compute and transfers on as many queues and families as there are.",
        .frames = 12,
        .options = options,
    };
    struct app app;
    app_init(&app, argc, argv, &program);
    if (app.api_version < (scene.two ? VK_API_VERSION_1_3 : VK_API_VERSION_1_2))
        app_skip(&app, "timeline semaphores need Vulkan 1.2, synchronization2 1.3");
    scene.app = &app;
    create(&scene);
    printf("%u queues\n", scene.distinct);
    if (scene.backwards && scene.distinct < ROLES)
        printf("left out: submits in the other order, for which this device has too few queues\n");
    run(&scene);
    destroy(&scene);
    return app_finish(&app);
}
