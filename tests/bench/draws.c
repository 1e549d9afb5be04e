/* SPDX-License-Identifier: MIT */
/*
 * draws: many draws a frame, each with a descriptor set at a dynamic offset, push constants and a vertex buffer, which
 * differ from frame to frame. Recorded by one thread into a primary command buffer, or, with --threads, by several into
 * secondary ones. Measured is the recording alone; what the device draws is next to nothing. With --in-turn every other
 * frame is recorded by the first of the threads alone, so that both are measured in the same minute. With --sets a draw
 * is three calls with data that is nowhere else: one of many sets, 16 bytes of push constants, and the draw. With
 * --scattered each draw has a place of its own in the uniform buffer, and the host writes all of them in each frame.
 */
#include "common/bench.h"
#include "shaders/bench_draw_frag.h"
#include "shaders/bench_draw_vert.h"

#include <pthread.h>

#define EXTENT       64u
#define PLACES       256u /* in the uniform buffer, without --scattered */
#define PLACE_BYTES  256u /* every minUniformBufferOffsetAlignment divides it */
#define MAX_THREADS  16u
#define CALLS_A_DRAW 4u
#define PUSH_BYTES   16u

static uint32_t draws = 5000, threads, set_count;
static bool in_turn, scattered;

struct scene {
    struct app_image color;
    struct app_buffer places, vertices;
    VkRenderPass pass;
    VkFramebuffer framebuffer;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptor_pool;
    VkDescriptorSet set, *sets; /* of --sets */
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
};

struct team;
struct worker {
    struct team *team;
    pthread_t thread;
    VkCommandPool pool;
    VkCommandBuffer commands;
    uint32_t first, count;
    uint64_t cpu;
};

struct team {
    const struct app *app;
    const struct scene *scene;
    struct worker workers[MAX_THREADS];
    pthread_barrier_t start, done;
    uint32_t frame;
    bool alone; /* the first thread records everything */
    bool quit;
};

static uint32_t place_count(void)
{
    return scattered ? draws : PLACES;
}

static VkDescriptorType descriptor_type(void)
{
    return set_count ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
}

static void create_pipeline(const struct app *app, struct scene *scene)
{
    const VkDescriptorSetLayoutBinding binding = {0, descriptor_type(), 1, VK_SHADER_STAGE_VERTEX_BIT, NULL};
    scene->set_layout = app_set_layout(app, 1, &binding);
    scene->layout = app_pipeline_layout(app, 1, &scene->set_layout, VK_SHADER_STAGE_VERTEX_BIT, PUSH_BYTES);
    const VkVertexInputBindingDescription vertex = {0, 8, VK_VERTEX_INPUT_RATE_VERTEX};
    const VkVertexInputAttributeDescription position = {0, 0, VK_FORMAT_R32G32_SFLOAT, 0};
    VkPipelineVertexInputStateCreateInfo input = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    input.vertexBindingDescriptionCount = input.vertexAttributeDescriptionCount = 1;
    input.pVertexBindingDescriptions = &vertex;
    input.pVertexAttributeDescriptions = &position;
    struct app_pipeline pipeline = {0};
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

static void create_set(const struct app *app, const struct scene *scene, VkDeviceSize place, VkDescriptorSet *set)
{
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = scene->descriptor_pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &scene->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, set));
    const VkDescriptorBufferInfo info = {scene->places.buffer, place, 16};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = *set;
    write.descriptorCount = 1;
    write.descriptorType = descriptor_type();
    write.pBufferInfo = &info;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
}

static void create_sets(const struct app *app, struct scene *scene)
{
    const VkDescriptorPoolSize size = {descriptor_type(), 1 + set_count};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = 1 + set_count;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &scene->descriptor_pool));
    create_set(app, scene, 0, &scene->set);
    scene->sets = calloc(set_count + 1, sizeof(*scene->sets));
    CHECK(scene->sets);
    for (uint32_t i = 0; i < set_count; i++)
        create_set(app, scene, i % PLACES * PLACE_BYTES, &scene->sets[i]);
}

static VkCommandPool create_pool(const struct app *app, VkCommandBufferLevel level, VkCommandBuffer *commands)
{
    VkCommandPool pool;
    VkCommandPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    create.queueFamilyIndex = app->queue_family;
    CHECK_VK(vkCreateCommandPool(app->device, &create, NULL, &pool));
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = pool;
    allocate.level = level;
    allocate.commandBufferCount = 1;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, commands));
    return pool;
}

static void write_places(const struct app *app, const struct scene *scene, uint32_t frame)
{
    for (uint32_t i = 0; i < place_count(); i++) {
        const float place[4] = {(float)(i % 16) / 8 - 1, (float)(i % PLACES) / 128 - 1, 0.05f,
                                0.05f * (float)(frame + 1)};
        memcpy(scene->places.mapped + (size_t)i * PLACE_BYTES, place, sizeof(place));
    }
    app_buffer_flush(app, &scene->places, 0, scene->places.size);
}

static void create(const struct app *app, struct scene *scene)
{
    const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    app_image_create_2d(app, &scene->color, format, EXTENT, EXTENT, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT);
    scene->pass = app_render_pass(app, format, VK_FORMAT_UNDEFINED, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    scene->framebuffer = app_framebuffer(app, scene->pass, 1, &scene->color.view, EXTENT, EXTENT);
    app_buffer_create(app, &scene->places, (VkDeviceSize)place_count() * PLACE_BYTES,
                      VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT, APP_UPLOAD);
    app_buffer_create(app, &scene->vertices, PLACES * 24, VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, APP_UPLOAD);
    for (uint32_t i = 0; i < PLACES; i++) {
        const float triangle[6] = {0, 0, 1, 0, 0, 1};
        memcpy(scene->vertices.mapped + (size_t)i * 24, triangle, sizeof(triangle));
    }
    write_places(app, scene, 0);
    app_buffer_flush(app, &scene->vertices, 0, scene->vertices.size);
    create_pipeline(app, scene);
    create_sets(app, scene);
    scene->pool = create_pool(app, VK_COMMAND_BUFFER_LEVEL_PRIMARY, &scene->commands);
    scene->fence = bench_fence_create(app);
}

static void destroy(const struct app *app, struct scene *scene)
{
    vkDestroyFence(app->device, scene->fence, NULL);
    vkDestroyCommandPool(app->device, scene->pool, NULL);
    vkDestroyPipeline(app->device, scene->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, scene->layout, NULL);
    vkDestroyDescriptorPool(app->device, scene->descriptor_pool, NULL);
    free(scene->sets);
    vkDestroyDescriptorSetLayout(app->device, scene->set_layout, NULL);
    vkDestroyFramebuffer(app->device, scene->framebuffer, NULL);
    vkDestroyRenderPass(app->device, scene->pass, NULL);
    app_buffer_destroy(app, &scene->places);
    app_buffer_destroy(app, &scene->vertices);
    app_image_destroy(app, &scene->color);
}

static void record_new_data(const struct scene *scene, VkCommandBuffer commands, uint32_t first, uint32_t count,
                            uint32_t frame)
{
    uint64_t state = ((uint64_t)frame << 32 | first) + 1;
    vkCmdBindVertexBuffers(commands, 0, 1, &scene->vertices.buffer, &(VkDeviceSize){0});
    for (uint32_t i = first; i < first + count; i++) {
        const uint64_t push[PUSH_BYTES / 8] = {bench_random(&state), bench_random(&state)};
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, scene->layout, 0, 1,
                                &scene->sets[push[0] % set_count], 0, NULL);
        vkCmdPushConstants(commands, scene->layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(push), push);
        vkCmdDraw(commands, 3, 1, 0, 0);
    }
}

static void record_draws(const struct scene *scene, VkCommandBuffer commands, uint32_t first, uint32_t count,
                         uint32_t frame)
{
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, scene->pipeline);
    app_set_viewport(commands, EXTENT, EXTENT);
    if (set_count) {
        record_new_data(scene, commands, first, count, frame);
        return;
    }
    for (uint32_t i = first; i < first + count; i++) {
        const uint32_t push[2] = {frame, i}, offset = (i + frame) % place_count() * PLACE_BYTES;
        const VkDeviceSize vertices = i % PLACES * 24;
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, scene->layout, 0, 1, &scene->set, 1,
                                &offset);
        vkCmdPushConstants(commands, scene->layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(push), push);
        vkCmdBindVertexBuffers(commands, 0, 1, &scene->vertices.buffer, &vertices);
        vkCmdDraw(commands, 3, 1, 0, 0);
    }
}

static void record_secondary(struct worker *worker)
{
    const struct team *team = worker->team;
    uint64_t cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID);
    VkCommandBufferInheritanceInfo inherit = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    inherit.renderPass = team->scene->pass;
    inherit.framebuffer = team->scene->framebuffer;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT | VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    begin.pInheritanceInfo = &inherit;
    CHECK_VK(vkResetCommandPool(team->app->device, worker->pool, 0));
    CHECK_VK(vkBeginCommandBuffer(worker->commands, &begin));
    record_draws(team->scene, worker->commands, worker->first, team->alone ? draws : worker->count, team->frame);
    CHECK_VK(vkEndCommandBuffer(worker->commands));
    worker->cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

static void *work(void *data)
{
    struct worker *worker = data;
    for (;;) {
        pthread_barrier_wait(&worker->team->start);
        if (worker->team->quit)
            return NULL;
        if (!worker->team->alone || worker == worker->team->workers)
            record_secondary(worker);
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
        worker->first = (uint32_t)((uint64_t)draws * i / threads);
        worker->count = (uint32_t)((uint64_t)draws * (i + 1) / threads) - worker->first;
        worker->pool = create_pool(app, VK_COMMAND_BUFFER_LEVEL_SECONDARY, &worker->commands);
        CHECK(!pthread_create(&worker->thread, NULL, work, worker));
    }
}

static void end_team(struct team *team)
{
    team->quit = true;
    pthread_barrier_wait(&team->start);
    for (uint32_t i = 0; i < threads; i++) {
        CHECK(!pthread_join(team->workers[i].thread, NULL));
        vkDestroyCommandPool(team->app->device, team->workers[i].pool, NULL);
    }
    pthread_barrier_destroy(&team->start);
    pthread_barrier_destroy(&team->done);
}

static void record(struct bench *bench, const struct scene *scene, struct team *team)
{
    const struct app *app = bench->app;
    const VkClearValue clear = {0};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    VkRenderPassBeginInfo pass = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO};
    pass.renderPass = scene->pass;
    pass.framebuffer = scene->framebuffer;
    pass.renderArea.extent = (VkExtent2D){EXTENT, EXTENT};
    pass.clearValueCount = 1;
    pass.pClearValues = &clear;
    CHECK_VK(vkResetCommandPool(app->device, scene->pool, 0));
    CHECK_VK(vkBeginCommandBuffer(scene->commands, &begin));
    vkCmdBeginRenderPass(scene->commands, &pass,
                         threads ? VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS : VK_SUBPASS_CONTENTS_INLINE);
    uint64_t cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID), start = bench_now(), end;
    if (threads) {
        VkCommandBuffer secondaries[MAX_THREADS];
        team->frame = bench->frame;
        team->alone = in_turn && bench->frame % 2;
        pthread_barrier_wait(&team->start);
        pthread_barrier_wait(&team->done);
        end = bench_now();
        cpu = 0;
        const uint32_t recorded = team->alone ? 1 : threads;
        for (uint32_t i = 0; i < recorded; i++) {
            cpu += team->workers[i].cpu;
            secondaries[i] = team->workers[i].commands;
        }
        vkCmdExecuteCommands(scene->commands, recorded, secondaries);
    } else {
        record_draws(scene, scene->commands, 0, draws, bench->frame);
        end = bench_now();
        cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
    }
    bench_sample(bench, threads && team->alone ? "alone" : "record", end - start);
    bench_sample(bench, threads && team->alone ? "alone_cpu" : "record_cpu", cpu);
    bench_add(bench, "calls", (uint64_t)draws * (set_count ? CALLS_A_DRAW - 1 : CALLS_A_DRAW));
    vkCmdEndRenderPass(scene->commands);
    CHECK_VK(vkEndCommandBuffer(scene->commands));
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--draws", "draws a frame", NULL, &draws},
        {"--sets", "descriptor sets, one a draw in no order; 0: one with an offset", NULL, &set_count},
        {"--scattered", "each draw's uniforms are elsewhere, and written in each frame", &scattered, NULL},
        {"--threads", "threads that record; 0: the program's own", NULL, &threads},
        {"--in-turn", "with --threads: every other frame is recorded by the first one alone", &in_turn, NULL},
        {0}};
    static const struct app_program program = {
        .name = "draws", .what = "Many draws a frame.", .frames = 60, .options = options};
    struct app app;
    struct scene scene = {0};
    struct team team;
    struct bench bench = {.app = &app};

    app_init(&app, argc, argv, &program);
    CHECK(threads <= MAX_THREADS);
    app_device_create(&app, NULL);
    create(&app, &scene);
    if (threads)
        start_team(&team, &app, &scene);
    while (bench.frame < bench_frames(&bench)) {
        bench_frame_begin(&bench);
        if (scattered) {
            write_places(&app, &scene, bench.frame);
            bench_add(&bench, "written_bytes", (uint64_t)draws * 16);
        }
        record(&bench, &scene, &team);
        bench_submit_wait(&bench, scene.commands, scene.fence);
        bench_frame_end(&bench);
    }
    bench_print(&bench);
    if (threads)
        end_team(&team);
    destroy(&app, &scene);
    return app_finish(&app);
}
