/* SPDX-License-Identifier: MIT */
/*
 * many_objects: very many buffers in one persistently mapped allocation. Each frame a few of them are written and
 * copied from; --all: a command buffer that reads every one of them is submitted as well.
 */
#include "common/bench.h"

#define BUFFER_BYTES 1024u
#define SLOTS        64u /* of the target: between barriers no two copies write the same bytes */

static uint32_t count = 50000, written = 64;
static bool all;

struct objects {
    VkBuffer *buffers;
    VkDeviceMemory memory;
    VkDeviceSize stride;
    uint8_t *mapped;
    struct app_buffer target;
};

static void create(struct bench *bench, struct objects *objects)
{
    const struct app *app = bench->app;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.size = BUFFER_BYTES;
    info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    objects->buffers = calloc(count, sizeof(*objects->buffers));
    CHECK(objects->buffers);
    uint64_t start = bench_now();
    for (uint32_t i = 0; i < count; i++)
        CHECK_VK(vkCreateBuffer(app->device, &info, NULL, &objects->buffers[i]));
    VkMemoryRequirements requirements;
    vkGetBufferMemoryRequirements(app->device, objects->buffers[0], &requirements);
    objects->stride =
        (requirements.size + requirements.alignment - 1) / requirements.alignment * requirements.alignment;
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    allocate.allocationSize = objects->stride * count;
    allocate.memoryTypeIndex = app_memory_type_for(app, requirements.memoryTypeBits, APP_UPLOAD);
    if (!app_memory_coherent(app, allocate.memoryTypeIndex))
        app_skip(app, "no coherent memory");
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &objects->memory));
    for (uint32_t i = 0; i < count; i++)
        CHECK_VK(vkBindBufferMemory(app->device, objects->buffers[i], objects->memory, i * objects->stride));
    CHECK_VK(vkMapMemory(app->device, objects->memory, 0, VK_WHOLE_SIZE, 0, (void **)&objects->mapped));
    bench_sample_once(bench, "create", (bench_now() - start) / count);
    bench_fill_pages(objects->mapped, allocate.allocationSize);
    app_buffer_create(app, &objects->target, SLOTS * BUFFER_BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_DEVICE);
}

static void transfer_barrier(VkCommandBuffer commands)
{
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
}

static VkCommandBuffer record_all(const struct app *app, const struct objects *objects)
{
    VkCommandBuffer commands = bench_commands_begin(app);
    for (uint32_t i = 0; i < count; i++) {
        const VkBufferCopy region = {0, i % SLOTS * BUFFER_BYTES, BUFFER_BYTES};
        vkCmdCopyBuffer(commands, objects->buffers[i], objects->target.buffer, 1, &region);
        if (i % SLOTS == SLOTS - 1 || i == count - 1)
            transfer_barrier(commands);
    }
    CHECK_VK(vkEndCommandBuffer(commands));
    return commands;
}

/* Writes to a few buffers and records copies of them. */
static VkCommandBuffer write_some(struct bench *bench, const struct objects *objects, uint64_t *seed)
{
    VkCommandBuffer commands = bench_commands_begin(bench->app);
    uint64_t spent = 0;
    for (uint32_t i = 0; i < written; i++) {
        uint64_t index = bench_random_below(seed, count), start = bench_now();
        bench_fill_random(objects->mapped + index * objects->stride, BUFFER_BYTES / 4, seed);
        spent += bench_now() - start;
        bench_add(bench, "written_bytes", BUFFER_BYTES / 4);
        const VkBufferCopy region = {0, i % SLOTS * BUFFER_BYTES, BUFFER_BYTES};
        vkCmdCopyBuffer(commands, objects->buffers[index], objects->target.buffer, 1, &region);
        if (i % SLOTS == SLOTS - 1 || i == written - 1)
            transfer_barrier(commands);
    }
    bench_sample(bench, "write", spent);
    CHECK_VK(vkEndCommandBuffer(commands));
    return commands;
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {{"--count", "buffers", NULL, &count},
                                                {"--written", "of them written a frame", NULL, &written},
                                                {"--all", "each frame reads all", &all, NULL},
                                                {0}};
    static const struct app_program program = {
        .name = "many_objects", .what = "Many buffers in one allocation.", .frames = 60, .options = options};
    struct app app;
    struct objects objects = {0};
    struct bench bench = {.app = &app};
    uint64_t seed = 88172645463325252u;

    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    create(&bench, &objects);
    VkFence fence = bench_fence_create(&app);
    /* The first time it is read a buffer's first content is recorded: that belongs to no frame. */
    VkCommandBuffer everything = record_all(&app, &objects);
    bench_submit_wait(&bench, everything, fence);
    while (bench.frame < bench_frames(&bench)) {
        bench_frame_begin(&bench);
        VkCommandBuffer commands = write_some(&bench, &objects, &seed);
        bench_submit_wait(&bench, commands, fence);
        vkFreeCommandBuffers(app.device, app.pool, 1, &commands);
        if (all)
            bench_submit_wait(&bench, everything, fence);
        bench_frame_end(&bench);
    }
    bench_print(&bench);
    vkDestroyFence(app.device, fence, NULL);
    for (uint32_t i = 0; i < count; i++)
        vkDestroyBuffer(app.device, objects.buffers[i], NULL);
    vkFreeMemory(app.device, objects.memory, NULL);
    free(objects.buffers);
    app_buffer_destroy(&app, &objects.target);
    return app_finish(&app);
}
