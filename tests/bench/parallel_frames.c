/* SPDX-License-Identifier: MIT */
/*
 * parallel_frames: what engines do that record on several threads. Each thread has pools, descriptor sets and many
 * small buffers of its own, each with memory of its own that stays mapped; in each frame it fills them, writes sets
 * anew, uploads through a buffer that lives for that frame only, and records secondary command buffers. The first
 * thread executes them. Two frames are under way at a time.
 */
#include "common/bench.h"
#include "shaders/bench_draw_frag.h"
#include "shaders/bench_draw_vert.h"

#include <pthread.h>

#define EXTENT       64u
#define AHEAD        2u /* frames under way */
#define MAX_THREADS  16u
#define MAX_BATCHES  16u
#define CALLS_A_DRAW 4u
#define PLACES       16u
#define VERTEX_BYTES 24u
#define PLACE_BYTES  256u /* every minUniformBufferOffsetAlignment divides it */

static uint32_t commands = 8000, threads = 4, batches = 4, transient = 1, map_kib;

/* A secondary command buffer with what its draws read. */
struct batch {
    struct app_buffer places, vertices;
    VkDescriptorSet set;
    VkCommandBuffer commands;
};

struct slot { /* of one of the frames under way */
    VkCommandPool pool;
    VkDescriptorPool descriptors;
    struct batch batches[MAX_BATCHES];
};

struct scene {
    struct app_image color;
    VkRenderPass pass;
    VkFramebuffer framebuffer;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    struct {
        VkCommandPool pool;
        VkCommandBuffer commands;
        VkFence fence;
        bool submitted;
    } slots[AHEAD];
};

struct team;
struct worker {
    struct team *team;
    pthread_t thread;
    uint32_t number;
    struct slot slots[AHEAD];
    uint64_t cpu;
};

struct team {
    const struct app *app;
    const struct scene *scene;
    struct worker workers[MAX_THREADS];
    pthread_barrier_t start, done;
    uint32_t frame;
    bool quit;
};

static void create_scene(const struct app *app, struct scene *scene)
{
    const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, 1,
                                                  VK_SHADER_STAGE_VERTEX_BIT, NULL};
    const VkVertexInputBindingDescription vertex = {0, 8, VK_VERTEX_INPUT_RATE_VERTEX};
    const VkVertexInputAttributeDescription position = {0, 0, VK_FORMAT_R32G32_SFLOAT, 0};
    VkPipelineVertexInputStateCreateInfo input = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    struct app_pipeline pipeline = {0};
    app_image_create_2d(app, &scene->color, format, EXTENT, EXTENT, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT);
    scene->pass = app_render_pass(app, format, VK_FORMAT_UNDEFINED, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    scene->framebuffer = app_framebuffer(app, scene->pass, 1, &scene->color.view, EXTENT, EXTENT);
    scene->set_layout = app_set_layout(app, 1, &binding);
    scene->layout = app_pipeline_layout(app, 1, &scene->set_layout, VK_SHADER_STAGE_VERTEX_BIT, 8);
    input.vertexBindingDescriptionCount = input.vertexAttributeDescriptionCount = 1;
    input.pVertexBindingDescriptions = &vertex;
    input.pVertexAttributeDescriptions = &position;
    pipeline.vertex = app_shader(app, bench_draw_vert, sizeof(bench_draw_vert));
    pipeline.fragment = app_shader(app, bench_draw_frag, sizeof(bench_draw_frag));
    pipeline.layout = scene->layout;
    pipeline.render_pass = scene->pass;
    pipeline.vertex_input = &input;
    pipeline.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
    pipeline.color_count = 1;
    scene->pipeline = app_graphics_pipeline(app, &pipeline);
    vkDestroyShaderModule(app->device, pipeline.vertex, NULL);
    vkDestroyShaderModule(app->device, pipeline.fragment, NULL);
}

static VkCommandPool create_pool(const struct app *app, VkCommandBufferLevel level, uint32_t count,
                                 VkCommandBuffer *buffers)
{
    VkCommandPool pool;
    VkCommandPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    create.queueFamilyIndex = app->queue_family;
    CHECK_VK(vkCreateCommandPool(app->device, &create, NULL, &pool));
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = pool;
    allocate.level = level;
    allocate.commandBufferCount = count;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, buffers));
    return pool;
}

static void create_slot(const struct app *app, struct slot *slot)
{
    VkCommandBuffer buffers[MAX_BATCHES];
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, batches};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    slot->pool = create_pool(app, VK_COMMAND_BUFFER_LEVEL_SECONDARY, batches, buffers);
    pool.maxSets = batches;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &slot->descriptors));
    for (uint32_t i = 0; i < batches; i++) {
        struct batch *batch = &slot->batches[i];
        batch->commands = buffers[i];
        const VkDeviceSize least = (VkDeviceSize)map_kib << 10, places = PLACES * PLACE_BYTES;
        app_buffer_create(app, &batch->places, places > least ? places : least, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT,
                          APP_UPLOAD);
        app_buffer_create(app, &batch->vertices, PLACES * VERTEX_BYTES > least ? PLACES * VERTEX_BYTES : least,
                          VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, APP_UPLOAD);
    }
}

static void destroy_slot(const struct app *app, struct slot *slot)
{
    for (uint32_t i = 0; i < batches; i++) {
        app_buffer_destroy(app, &slot->batches[i].places);
        app_buffer_destroy(app, &slot->batches[i].vertices);
    }
    vkDestroyDescriptorPool(app->device, slot->descriptors, NULL);
    vkDestroyCommandPool(app->device, slot->pool, NULL);
}

static void write_set(const struct team *team, const struct slot *slot, struct batch *batch)
{
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    const VkDescriptorBufferInfo info = {batch->places.buffer, 0, 16};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    allocate.descriptorPool = slot->descriptors;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &team->scene->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(team->app->device, &allocate, &batch->set));
    write.dstSet = batch->set;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
    write.pBufferInfo = &info;
    vkUpdateDescriptorSets(team->app->device, 1, &write, 0, NULL);
}

/* Memory that is mapped, filled and freed at once. */
static void upload(const struct worker *worker, uint32_t frame)
{
    struct app_buffer buffer;
    app_buffer_create(worker->team->app, &buffer, 4096, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    memset(buffer.mapped, (int)(frame + worker->number), 4096);
    app_buffer_flush(worker->team->app, &buffer, 0, 4096);
    app_buffer_destroy(worker->team->app, &buffer);
}

static void record_batch(const struct worker *worker, const struct slot *slot, struct batch *batch, uint32_t draws)
{
    const struct team *team = worker->team;
    const struct scene *scene = team->scene;
    VkCommandBufferInheritanceInfo inherit = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const float place[4] = {(float)(team->frame % 16) / 8 - 1, (float)worker->number / 16 - 1, 0.05f, 0.05f};
    const float size = (float)(team->frame % 8), triangle[6] = {0, 0, size, 0, 0, size};
    inherit.renderPass = scene->pass;
    inherit.framebuffer = scene->framebuffer;
    begin.flags = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT | VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    begin.pInheritanceInfo = &inherit;
    write_set(team, slot, batch);
    for (uint32_t i = 0; i < PLACES; i++) {
        for (uint32_t j = 0; j < PLACE_BYTES; j += (uint32_t)sizeof(place))
            memcpy(batch->places.mapped + (size_t)i * PLACE_BYTES + j, place, sizeof(place));
        memcpy(batch->vertices.mapped + (size_t)i * VERTEX_BYTES, triangle, sizeof(triangle));
    }
    app_buffer_flush(team->app, &batch->places, 0, batch->places.size);
    app_buffer_flush(team->app, &batch->vertices, 0, batch->vertices.size);
    CHECK_VK(vkBeginCommandBuffer(batch->commands, &begin));
    vkCmdBindPipeline(batch->commands, VK_PIPELINE_BIND_POINT_GRAPHICS, scene->pipeline);
    app_set_viewport(batch->commands, EXTENT, EXTENT);
    for (uint32_t i = 0; i < draws; i++) {
        const uint32_t push[2] = {team->frame, i}, offset = (i + team->frame) % PLACES * PLACE_BYTES;
        const VkDeviceSize vertices = i % PLACES * VERTEX_BYTES;
        vkCmdBindDescriptorSets(batch->commands, VK_PIPELINE_BIND_POINT_GRAPHICS, scene->layout, 0, 1, &batch->set, 1,
                                &offset);
        vkCmdPushConstants(batch->commands, scene->layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(push), push);
        vkCmdBindVertexBuffers(batch->commands, 0, 1, &batch->vertices.buffer, &vertices);
        vkCmdDraw(batch->commands, 3, 1, 0, 0);
    }
    CHECK_VK(vkEndCommandBuffer(batch->commands));
}

static void record(struct worker *worker)
{
    const struct team *team = worker->team;
    struct slot *slot = &worker->slots[team->frame % AHEAD];
    uint64_t cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID);
    CHECK_VK(vkResetCommandPool(team->app->device, slot->pool, 0));
    CHECK_VK(vkResetDescriptorPool(team->app->device, slot->descriptors, 0));
    for (uint32_t i = 0; i < transient; i++)
        upload(worker, team->frame);
    for (uint32_t i = 0; i < batches; i++)
        record_batch(worker, slot, &slot->batches[i], commands / CALLS_A_DRAW / threads / batches);
    worker->cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

static void *work(void *data)
{
    struct worker *worker = data;
    for (;;) {
        pthread_barrier_wait(&worker->team->start);
        if (worker->team->quit)
            return NULL;
        record(worker);
        pthread_barrier_wait(&worker->team->done);
    }
}

static void start_team(struct team *team, const struct app *app, const struct scene *scene)
{
    *team = (struct team){.app = app, .scene = scene};
    CHECK(!pthread_barrier_init(&team->start, NULL, threads + 1));
    CHECK(!pthread_barrier_init(&team->done, NULL, threads + 1));
    for (uint32_t i = 0; i < threads; i++) {
        struct worker *worker = &team->workers[i];
        worker->team = team;
        worker->number = i;
        for (uint32_t j = 0; j < AHEAD; j++)
            create_slot(app, &worker->slots[j]);
        CHECK(!pthread_create(&worker->thread, NULL, work, worker));
    }
}

static void end_team(struct team *team)
{
    team->quit = true;
    pthread_barrier_wait(&team->start);
    for (uint32_t i = 0; i < threads; i++) {
        CHECK(!pthread_join(team->workers[i].thread, NULL));
        for (uint32_t j = 0; j < AHEAD; j++)
            destroy_slot(team->app, &team->workers[i].slots[j]);
    }
    pthread_barrier_destroy(&team->start);
    pthread_barrier_destroy(&team->done);
}

static void wait_for(const struct app *app, struct scene *scene, uint32_t slot)
{
    if (!scene->slots[slot].submitted)
        return;
    CHECK_VK(vkWaitForFences(app->device, 1, &scene->slots[slot].fence, VK_TRUE, UINT64_MAX));
    CHECK_VK(vkResetFences(app->device, 1, &scene->slots[slot].fence));
    scene->slots[slot].submitted = false;
}

static void execute(const struct team *team, const struct scene *scene, VkCommandBuffer primary)
{
    VkCommandBuffer secondaries[MAX_THREADS * MAX_BATCHES];
    for (uint32_t i = 0; i < threads; i++)
        for (uint32_t j = 0; j < batches; j++)
            secondaries[i * batches + j] = team->workers[i].slots[team->frame % AHEAD].batches[j].commands;
    const VkClearValue clear = {0};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkRenderPassBeginInfo pass = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    pass.renderPass = scene->pass;
    pass.framebuffer = scene->framebuffer;
    pass.renderArea.extent = (VkExtent2D){EXTENT, EXTENT};
    pass.clearValueCount = 1;
    pass.pClearValues = &clear;
    CHECK_VK(vkBeginCommandBuffer(primary, &begin));
    vkCmdBeginRenderPass(primary, &pass, VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
    vkCmdExecuteCommands(primary, threads * batches, secondaries);
    vkCmdEndRenderPass(primary);
    CHECK_VK(vkEndCommandBuffer(primary));
}

static void frame(struct bench *bench, struct scene *scene, struct team *team)
{
    const struct app *app = bench->app;
    const uint32_t slot = bench->frame % AHEAD;
    uint64_t start = bench_now(), cpu = 0;
    wait_for(app, scene, slot);
    team->frame = bench->frame;
    pthread_barrier_wait(&team->start);
    pthread_barrier_wait(&team->done);
    for (uint32_t i = 0; i < threads; i++)
        cpu += team->workers[i].cpu;
    bench_sample(bench, "record", bench_now() - start);
    bench_sample(bench, "record_cpu", cpu);
    bench_add(bench, "calls", commands);
    bench_add(bench, "written_bytes", (uint64_t)threads * batches * PLACES * (PLACE_BYTES + VERTEX_BYTES));
    CHECK_VK(vkResetCommandPool(app->device, scene->slots[slot].pool, 0));
    execute(team, scene, scene->slots[slot].commands);
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &scene->slots[slot].commands;
    start = bench_now();
    CHECK_VK(vkQueueSubmit(app->queue, 1, &submit, scene->slots[slot].fence));
    bench_sample(bench, "submit", bench_now() - start);
    scene->slots[slot].submitted = true;
}

static void destroy_scene(const struct app *app, struct scene *scene)
{
    for (uint32_t i = 0; i < AHEAD; i++) {
        vkDestroyFence(app->device, scene->slots[i].fence, NULL);
        vkDestroyCommandPool(app->device, scene->slots[i].pool, NULL);
    }
    vkDestroyPipeline(app->device, scene->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, scene->layout, NULL);
    vkDestroyDescriptorSetLayout(app->device, scene->set_layout, NULL);
    vkDestroyFramebuffer(app->device, scene->framebuffer, NULL);
    vkDestroyRenderPass(app->device, scene->pass, NULL);
    app_image_destroy(app, &scene->color);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--commands", "commands a frame", NULL, &commands},
        {"--threads", "threads that record", NULL, &threads},
        {"--batches", "secondary command buffers of a thread, each with two buffers", NULL, &batches},
        {"--map-kib", "how large the buffers are at least", NULL, &map_kib},
        {"--transient", "buffers that a thread maps and frees in a frame", NULL, &transient},
        {0}};
    static const struct app_program program = {.name = "parallel_frames",
                                               .what = "Threads that record what reads memory of their own.",
                                               .frames = 100,
                                               .options = options};
    struct app app;
    struct scene scene = {0};
    struct team team;
    struct bench bench = {.app = &app};

    app_init(&app, argc, argv, &program);
    CHECK(threads && threads <= MAX_THREADS && batches && batches <= MAX_BATCHES);
    app_device_create(&app, NULL);
    create_scene(&app, &scene);
    for (uint32_t i = 0; i < AHEAD; i++) {
        scene.slots[i].pool = create_pool(&app, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1, &scene.slots[i].commands);
        scene.slots[i].fence = bench_fence_create(&app);
    }
    start_team(&team, &app, &scene);
    while (bench.frame < bench_frames(&bench)) {
        bench_frame_begin(&bench);
        frame(&bench, &scene, &team);
        bench_frame_end(&bench);
    }
    for (uint32_t i = 0; i < AHEAD; i++)
        wait_for(&app, &scene, i);
    bench_print(&bench);
    end_team(&team);
    destroy_scene(&app, &scene);
    return app_finish(&app);
}
