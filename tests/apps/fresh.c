/* SPDX-License-Identifier: MIT */
/*
 * fresh: reads what it never wrote. Images and buffers come and go in one allocation, each over bytes of it that nobody
 * had before, so what they hold when they are new is what the driver's new memory holds: zeroes, or the program is
 * skipped. All are overwritten before they go. Some lie over bytes that others had, and are written before they are
 * read. With --zeroed the allocation was asked to hold zeroes (VK_EXT_zero_initialize_device_memory), and images begin
 * in a layout that says so.
 */
#include "common/app.h"

#define SIDE         48u /* texels of an image */
#define BUFFER_BYTES 6000u
#define PER_ROUND    48u /* images, and as many buffers */
#define AGAIN        8u  /* of these over bytes that others had */

struct thing {
    VkImage image; /* or */
    VkBuffer buffer;
    VkDeviceSize bytes; /* that are read */
    bool old;           /* lies where others lay */
};

struct scene {
    const struct app *app;
    VkDeviceMemory memory;
    VkDeviceSize end, bytes; /* of what is used so far, of all */
    struct app_buffer check;
    uint32_t seed;
};

static bool zeroed;

/* ---- objects ---- */

static VkBuffer create_buffer(const struct app *app)
{
    const VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                       .size = BUFFER_BYTES,
                                       .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkBuffer buffer;

    CHECK_VK(vkCreateBuffer(app->device, &create, NULL, &buffer));
    return buffer;
}

static VkImageLayout first_layout(void)
{
#ifdef VK_EXT_zero_initialize_device_memory
    if (zeroed)
        return VK_IMAGE_LAYOUT_ZERO_INITIALIZED_EXT;
#endif
    return VK_IMAGE_LAYOUT_UNDEFINED;
}

static VkImage create_image(const struct app *app, bool old)
{
    const VkImageCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = VK_FORMAT_R8G8B8A8_UNORM,
        .extent = {SIDE, SIDE, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
        .initialLayout = old ? VK_IMAGE_LAYOUT_UNDEFINED : first_layout(),
    };
    VkImage image;

    CHECK_VK(vkCreateImage(app->device, &create, NULL, &image));
    return image;
}

/* Where the next object lies: behind all others, or in the first part, where many have been. */
static VkDeviceSize take(struct scene *scene, const VkMemoryRequirements *needs, bool old, VkDeviceSize *old_end)
{
    VkDeviceSize *end = old ? old_end : &scene->end, offset;

    offset = (*end + needs->alignment - 1) / needs->alignment * needs->alignment;
    *end = offset + needs->size;
    CHECK(*end <= scene->bytes);
    return offset;
}

static void create(struct scene *scene, struct thing *thing, bool image, bool old, VkDeviceSize *old_end)
{
    const struct app *app = scene->app;
    VkMemoryRequirements needs;

    *thing = (struct thing){.bytes = image ? SIDE * SIDE * 4 : BUFFER_BYTES, .old = old};
    if (image) {
        thing->image = create_image(app, old);
        vkGetImageMemoryRequirements(app->device, thing->image, &needs);
        CHECK_VK(vkBindImageMemory(app->device, thing->image, scene->memory, take(scene, &needs, old, old_end)));
    } else {
        thing->buffer = create_buffer(app);
        vkGetBufferMemoryRequirements(app->device, thing->buffer, &needs);
        CHECK_VK(vkBindBufferMemory(app->device, thing->buffer, scene->memory, take(scene, &needs, old, old_end)));
    }
}

static void destroy(const struct app *app, struct thing *thing)
{
    vkDestroyImage(app->device, thing->image, NULL);
    vkDestroyBuffer(app->device, thing->buffer, NULL);
    *thing = (struct thing){.bytes = 0};
}

/* ---- what the device does ---- */

static void transition(VkCommandBuffer commands, const struct thing *thing, VkImageLayout from, VkImageLayout to)
{
    const struct app_image image = {.image = thing->image, .aspect = VK_IMAGE_ASPECT_COLOR_BIT};

    app_image_barrier(commands, &image, from, to);
}

static void overwrite(VkCommandBuffer commands, const struct thing *thing, VkImageLayout layout, uint32_t word)
{
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    const float part = 0.25f + (float)(word & 0x7f) / 256.0f;
    const VkClearColorValue color = {.float32 = {part, part, part, part}};

    if (thing->image)
        vkCmdClearColorImage(commands, thing->image, layout, &color, 1, &all);
    else
        vkCmdFillBuffer(commands, thing->buffer, 0, BUFFER_BYTES, word | 0x01010101);
}

/* Copies what a new object holds to its place in the buffer that is checked, then overwrites it. */
static void read_and_overwrite(struct scene *scene, VkCommandBuffer commands, const struct thing *thing,
                               VkDeviceSize at)
{
    const VkBufferImageCopy texels = {
        .bufferOffset = at, .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {SIDE, SIDE, 1}};
    const VkBufferCopy bytes = {0, at, thing->bytes};

    if (thing->image)
        transition(commands, thing, thing->old ? VK_IMAGE_LAYOUT_UNDEFINED : first_layout(), VK_IMAGE_LAYOUT_GENERAL);
    if (thing->old)
        overwrite(commands, thing, VK_IMAGE_LAYOUT_GENERAL, 0xff);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    if (thing->image)
        vkCmdCopyImageToBuffer(commands, thing->image, VK_IMAGE_LAYOUT_GENERAL, scene->check.buffer, 1, &texels);
    else
        vkCmdCopyBuffer(commands, thing->buffer, scene->check.buffer, 1, &bytes);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
    overwrite(commands, thing, VK_IMAGE_LAYOUT_GENERAL, app_random(&scene->seed));
}

static bool is_zero(const uint8_t *bytes, VkDeviceSize count)
{
    for (VkDeviceSize i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

/* ---- the run ---- */

/* One round's objects take the places of those of the last round but one, so that blocks of a replay have holes. */
static void play_round(struct scene *scene, uint32_t round, struct thing *things)
{
    const struct app *app = scene->app;
    VkCommandBuffer commands = app_begin(app);
    VkDeviceSize at = 0, old_end = 0;

    for (uint32_t i = 0; i < 2 * PER_ROUND; i++) {
        if (round > 1)
            destroy(app, &things[i]);
        create(scene, &things[i], i % 2 == 0, round > 1 && i < AGAIN, &old_end);
        read_and_overwrite(scene, commands, &things[i], at);
        at += things[i].bytes;
    }
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &scene->check, 0, at);
    at = 0;
    for (uint32_t i = 0; i < 2 * PER_ROUND; i++) {
        bool zero = is_zero(scene->check.mapped + at, things[i].bytes);
        if (things[i].old || zeroed)
            EXPECT_EQ(app, zero, !things[i].old);
        else if (!zero && !app->no_check)
            app_skip(app, "new memory of this driver does not hold zeroes");
        at += things[i].bytes;
    }
}

static void allocate(struct scene *scene)
{
    const struct app *app = scene->app;
    struct thing image = {.image = create_image(app, false)}, buffer = {.buffer = create_buffer(app)};
    VkMemoryRequirements of_image, of_buffer;
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
    VkDeviceSize unit;

    vkGetImageMemoryRequirements(app->device, image.image, &of_image);
    vkGetBufferMemoryRequirements(app->device, buffer.buffer, &of_buffer);
    destroy(app, &image);
    destroy(app, &buffer);
    if (!(of_image.memoryTypeBits & of_buffer.memoryTypeBits))
        app_skip(app, "no memory type is for images and buffers");
    unit = of_image.size + of_image.alignment + of_buffer.size + of_buffer.alignment;
    scene->bytes = info.allocationSize = unit * PER_ROUND * app->frames;
    info.memoryTypeIndex = app_memory_type_for(app, of_image.memoryTypeBits & of_buffer.memoryTypeBits, APP_DEVICE);
#ifdef VK_EXT_zero_initialize_device_memory
    flags.flags = VK_MEMORY_ALLOCATE_ZERO_INITIALIZE_BIT_EXT;
    if (zeroed)
        info.pNext = &flags;
#else
    (void)flags;
#endif
    CHECK_VK(vkAllocateMemory(app->device, &info, NULL, &scene->memory));
}

static void create_device(struct app *app)
{
#ifdef VK_EXT_zero_initialize_device_memory
    static const char *const extension = VK_EXT_ZERO_INITIALIZE_DEVICE_MEMORY_EXTENSION_NAME;
    const VkPhysicalDeviceZeroInitializeDeviceMemoryFeaturesEXT feature = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ZERO_INITIALIZE_DEVICE_MEMORY_FEATURES_EXT,
        .zeroInitializeDeviceMemory = VK_TRUE};
    const struct app_device_request request = {.extensions = &extension, .extension_count = 1, .next = &feature};
#endif

    if (!zeroed) {
        app_device_create(app, NULL);
        return;
    }
#ifdef VK_EXT_zero_initialize_device_memory
    app_device_create(app, &request);
#else
    app_skip(app, "these headers have no VK_EXT_zero_initialize_device_memory");
#endif
}

static const struct app_option options[] = {{"--zeroed", "memory is asked to begin as zeroes", &zeroed, NULL},
                                            {.name = NULL}};

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "fresh", .what = "Reads new memory that nobody wrote.", .frames = 32, .options = options};
    struct thing things[2][2 * PER_ROUND] = {{{.bytes = 0}}};
    struct scene scene = {.seed = 1};
    struct app app;

    app_init(&app, argc, argv, &program);
    create_device(&app);
    scene.app = &app;
    allocate(&scene);
    app_buffer_create(&app, &scene.check, (VkDeviceSize)PER_ROUND * (SIDE * SIDE * 4 + BUFFER_BYTES),
                      VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t round = 0; round < app.frames; round++)
        play_round(&scene, round, things[round % 2]);
    for (uint32_t i = 0; i < 2 * PER_ROUND; i++) {
        destroy(&app, &things[0][i]);
        destroy(&app, &things[1][i]);
    }
    app_buffer_destroy(&app, &scene.check);
    vkFreeMemory(app.device, scene.memory, NULL);
    return app_finish(&app);
}
