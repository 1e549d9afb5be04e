/* SPDX-License-Identifier: MIT */
/*
 * teardown: thousands of small buffers and images in a few allocations of the program. Scenes follow one another: most
 * objects of one end in no order when the next one comes, others live for a few frames, some stay. Each frame copies
 * between objects that are alive, whatever lies beside them, and compares; in the end all go in no order. --one-by-one:
 * the device is used between any two of the last destructions.
 * --devices: scenes on three devices in turn, the third one of another instance.
 */
#include "common/app.h"

#define SCENES        3u
#define SCENE_FRAMES  6u
#define SCENE_BUFFERS 3000u
#define SCENE_IMAGES  60u
#define FRAME_BUFFERS 40u
#define MOST          12000u
#define LOOKS         32u /* buffers that a frame reads */
#define WORD_BYTES    4u
#define HEAP_BYTES    ((VkDeviceSize)4 << 20)
#define DEVICES       3u

/* An allocation that is filled from its beginning, and freed with the last object in it. */
struct heap {
    VkDeviceMemory memory;
    VkDeviceSize used;
    uint32_t users;
    uint32_t type;
};

struct thing {
    VkBuffer buffer; /* or */
    VkImage image;
    struct heap *heap;
    uint32_t value; /* what the buffer's first bytes hold; 0: nothing was written */
    uint32_t dies;  /* the frame; UINT32_MAX: with its scene, or at the end */
};

struct scene {
    struct app *app;
    struct thing *things;
    uint32_t count, next_value;
    uint32_t random;
    struct heap *open[2]; /* of buffers, of images */
    struct app_buffer results;
    uint32_t frame;
};

static bool one_by_one, on_devices;

/* ---- objects ---- */

static struct heap *place(struct scene *scene, unsigned kind, const VkMemoryRequirements *needs, VkDeviceSize *offset)
{
    const struct app *app = scene->app;
    uint32_t type = app_memory_type_for(app, needs->memoryTypeBits, APP_DEVICE);
    struct heap *heap = scene->open[kind];
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};

    *offset = heap ? (heap->used + needs->alignment - 1) / needs->alignment * needs->alignment : 0;
    if (!heap || heap->type != type || *offset + needs->size > HEAP_BYTES) {
        heap = calloc(1, sizeof *heap);
        CHECK(heap);
        heap->type = type;
        info.allocationSize = needs->size > HEAP_BYTES ? needs->size : HEAP_BYTES;
        info.memoryTypeIndex = type;
        CHECK_VK(vkAllocateMemory(app->device, &info, NULL, &heap->memory));
        scene->open[kind] = heap;
        *offset = 0;
    }
    heap->used = *offset + needs->size;
    heap->users++;
    return heap;
}

static struct thing *add(struct scene *scene, uint32_t dies)
{
    struct thing *thing = &scene->things[scene->count++];

    CHECK(scene->count <= MOST);
    *thing = (struct thing){.dies = dies};
    return thing;
}

static void add_buffer(struct scene *scene, uint32_t dies)
{
    const struct app *app = scene->app;
    struct thing *thing = add(scene, dies);
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    VkMemoryRequirements needs;
    VkDeviceSize offset;

    info.size = (VkDeviceSize)64 << app_random(&scene->random) % 7;
    info.size += app_random(&scene->random) % (uint32_t)info.size / WORD_BYTES * WORD_BYTES;
    info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    CHECK_VK(vkCreateBuffer(app->device, &info, NULL, &thing->buffer));
    vkGetBufferMemoryRequirements(app->device, thing->buffer, &needs);
    thing->heap = place(scene, 0, &needs, &offset);
    CHECK_VK(vkBindBufferMemory(app->device, thing->buffer, thing->heap->memory, offset));
}

static void add_image(struct scene *scene, uint32_t dies)
{
    const struct app *app = scene->app;
    struct thing *thing = add(scene, dies);
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
    VkMemoryRequirements needs;
    VkDeviceSize offset;

    info.imageType = VK_IMAGE_TYPE_2D;
    info.format = VK_FORMAT_R8G8B8A8_UNORM;
    info.extent = (VkExtent3D){4u << app_random(&scene->random) % 5, 16, 1};
    info.mipLevels = info.arrayLayers = 1;
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    CHECK_VK(vkCreateImage(app->device, &info, NULL, &thing->image));
    vkGetImageMemoryRequirements(app->device, thing->image, &needs);
    thing->heap = place(scene, 1, &needs, &offset);
    CHECK_VK(vkBindImageMemory(app->device, thing->image, thing->heap->memory, offset));
}

static void drop(struct scene *scene, uint32_t index)
{
    const struct app *app = scene->app;
    struct thing *thing = &scene->things[index];
    struct heap *heap = thing->heap;

    vkDestroyBuffer(app->device, thing->buffer, NULL);
    vkDestroyImage(app->device, thing->image, NULL);
    if (--heap->users == 0) {
        for (unsigned kind = 0; kind < COUNT_OF(scene->open); kind++)
            if (scene->open[kind] == heap)
                scene->open[kind] = NULL;
        vkFreeMemory(app->device, heap->memory, NULL);
        free(heap);
    }
    scene->things[index] = scene->things[--scene->count];
}

/* ---- what the device does with them ---- */

/* Writes to some buffers, old and new, and reads others that were written in some frame before. */
static void use(struct scene *scene)
{
    const struct app *app = scene->app;
    VkCommandBuffer commands = app_begin(app);
    uint32_t expected[LOOKS] = {0};

    for (uint32_t i = 0; i < LOOKS; i++) {
        struct thing *thing = &scene->things[app_random(&scene->random) % scene->count];
        if (!thing->buffer || thing->value)
            continue;
        thing->value = ++scene->next_value;
        vkCmdFillBuffer(commands, thing->buffer, 0, VK_WHOLE_SIZE, thing->value);
    }
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    vkCmdFillBuffer(commands, scene->results.buffer, 0, VK_WHOLE_SIZE, 0);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
    for (uint32_t i = 0; i < LOOKS; i++) {
        const VkBufferCopy region = {32, i * WORD_BYTES, WORD_BYTES};
        uint32_t at = app_random(&scene->random) % scene->count;
        for (uint32_t tries = 0; tries < scene->count && !scene->things[at].value; tries++)
            at = (at + 1) % scene->count;
        if (!scene->things[at].value)
            continue;
        expected[i] = scene->things[at].value;
        vkCmdCopyBuffer(commands, scene->things[at].buffer, scene->results.buffer, 1, &region);
    }
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &scene->results, 0, scene->results.size);
    for (uint32_t i = 0; i < LOOKS; i++)
        EXPECT_EQ(app, ((const uint32_t *)scene->results.mapped)[i], expected[i]);
}

static void load(struct scene *scene)
{
    for (uint32_t i = scene->count; i-- > 0;)
        if (scene->things[i].dies == UINT32_MAX && app_random(&scene->random) % 100 >= 10)
            drop(scene, i);
    for (uint32_t i = 0; i < SCENE_BUFFERS; i++)
        add_buffer(scene, UINT32_MAX);
    for (uint32_t i = 0; i < SCENE_IMAGES; i++)
        add_image(scene, UINT32_MAX);
}

/* False: there was nothing. */
static bool drop_any(struct scene *scene)
{
    if (!scene->count)
        return false;
    drop(scene, app_random(&scene->random) % scene->count);
    /* Something that is no destruction, and needs no time. */
    if (one_by_one)
        CHECK_VK(vkResetCommandPool(scene->app->device, scene->app->pool, 0));
    return true;
}

static void play(struct scene *scene)
{
    if (scene->frame % SCENE_FRAMES == 0)
        load(scene);
    for (uint32_t i = scene->count; i-- > 0;)
        if (scene->things[i].dies <= scene->frame)
            drop(scene, i);
    for (uint32_t i = 0; i < FRAME_BUFFERS; i++)
        add_buffer(scene, scene->frame + 1 + app_random(&scene->random) % 5);
    use(scene);
    scene->frame++;
}

static void begin(struct scene *scene, struct app *app, uint32_t random)
{
    *scene = (struct scene){.app = app, .random = random};
    app_device_create(app, NULL);
    scene->things = calloc(MOST, sizeof *scene->things);
    CHECK(scene->things);
    app_buffer_create(app, &scene->results, LOOKS * WORD_BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
}

static void finish(struct scene *scene)
{
    free(scene->things);
    app_buffer_destroy(scene->app, &scene->results);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--one-by-one", "use the device between any two of the last destructions", &one_by_one, NULL},
        {"--devices", "on three devices in turn, of two instances", &on_devices, NULL},
        {0}};
    static const struct app_program program = {.name = "teardown",
                                               .what = "Thousands of small objects end in no order.",
                                               .frames = SCENES * SCENE_FRAMES,
                                               .options = options};
    struct app apps[DEVICES];
    struct scene scenes[DEVICES];
    uint32_t count, left;

    app_init(&apps[0], argc, argv, &program);
    count = on_devices ? DEVICES : 1;
    apps[1] = apps[0]; /* two devices of one instance */
    if (on_devices)
        app_init(&apps[2], argc, argv, &program);
    for (uint32_t i = 0; i < count; i++)
        begin(&scenes[i], &apps[i], i + 1);
    for (uint32_t i = 0; i < apps[0].frames * count; i++)
        play(&scenes[i % count]);
    do {
        left = 0;
        for (uint32_t i = 0; i < count; i++)
            left += drop_any(&scenes[i]);
    } while (left);
    for (uint32_t i = 0; i < count; i++)
        finish(&scenes[i]);
    if (on_devices) {
        app_close(&apps[2]);
        app_device_destroy(&apps[1]);
    }
    return app_finish(&apps[0]);
}
