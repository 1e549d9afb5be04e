/* SPDX-License-Identifier: MIT */
/*
 * alias: objects that lie in the same bytes of one allocation. What the device writes through one buffer it reads
 * through others, of host-visible and of device memory; a linear image is a buffer's bytes; two optimal images that
 * were made to alias are one, and so are an image and a plane of a disjoint one; an optimal image and a staging buffer
 * take turns; two images lie side by side where a buffer was. Members come and go while others stay. All is copied into
 * buffers of their own and compared with a model on the host. With --turns it does nothing but this: two images and two
 * buffers of one memory take turns in one submit, and the buffers come last, or the images.
 */
#include "common/app.h"

#define SPAN  16384u /* bytes of a group of buffers */
#define SIDE  48u    /* texels */
#define PLAIN ((VkDeviceSize)SIDE * SIDE * 4)

/* One allocation that objects share. */
struct area {
    const struct app *app;
    VkDeviceMemory memory;
    VkDeviceSize bytes;
    uint8_t *mapped; /* NULL: the host does not see it */
    bool coherent;
};

static const VkBufferUsageFlags both_ways = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

static VkBuffer create_buffer(const struct app *app, VkDeviceSize bytes, VkMemoryRequirements *requirements)
{
    const VkBufferCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = both_ways};
    VkBuffer buffer;
    CHECK_VK(vkCreateBuffer(app->device, &create, NULL, &buffer));
    vkGetBufferMemoryRequirements(app->device, buffer, requirements);
    return buffer;
}

static VkImage create_image(const struct app *app, VkImageTiling tiling, VkImageCreateFlags flags,
                            VkMemoryRequirements *requirements)
{
    const VkImageCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .flags = flags,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = VK_FORMAT_R8G8B8A8_UNORM,
        .extent = {SIDE, SIDE, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = tiling,
        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
        .initialLayout = tiling == VK_IMAGE_TILING_LINEAR ? VK_IMAGE_LAYOUT_PREINITIALIZED : VK_IMAGE_LAYOUT_UNDEFINED,
    };
    VkImage image;
    CHECK_VK(vkCreateImage(app->device, &create, NULL, &image));
    vkGetImageMemoryRequirements(app->device, image, requirements);
    return image;
}

/* False when no type has what is asked for. */
static bool create_area(const struct app *app, VkDeviceSize bytes, uint32_t types, bool visible, struct area *area)
{
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = bytes};
    uint32_t seen = 0;
    void *mapped = NULL;

    for (uint32_t i = 0; i < app->memory.memoryTypeCount; i++)
        if (app->memory.memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
            seen |= 1u << i;
    types = visible ? types & seen : types;
    if (!types)
        return false;
    allocate.memoryTypeIndex = app_memory_type_for(app, types, visible ? APP_UPLOAD : APP_DEVICE);
    *area = (struct area){.app = app, .bytes = bytes};
    area->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &area->memory));
    if (visible)
        CHECK_VK(vkMapMemory(app->device, area->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    area->mapped = mapped;
    return true;
}

static void flush(const struct area *area)
{
    if (area->mapped && !area->coherent)
        app_memory_sync(area->app, area->memory, area->bytes, 0, area->bytes, false);
}

static VkDeviceSize round_up(VkDeviceSize value, VkDeviceSize alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

static VkDeviceSize larger(VkDeviceSize a, VkDeviceSize b)
{
    return a > b ? a : b;
}

/* Everything before is done, and seen by everything behind, through whichever object. */
static void everything(VkCommandBuffer commands)
{
    app_memory_barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                       VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                       VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
}

static void to_layout(VkCommandBuffer commands, VkImage handle, VkImageLayout from, VkImageLayout to)
{
    const struct app_image image = {.image = handle, .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    app_image_barrier(commands, &image, from, to);
}

static void copy(VkCommandBuffer commands, VkBuffer from, VkDeviceSize from_offset, VkBuffer to, VkDeviceSize to_offset,
                 VkDeviceSize bytes)
{
    const VkBufferCopy region = {from_offset, to_offset, bytes};
    vkCmdCopyBuffer(commands, from, to, 1, &region);
}

static const VkBufferImageCopy whole_image = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                              .imageExtent = {SIDE, SIDE, 1}};

static void fill_random(uint8_t *bytes, VkDeviceSize count, uint32_t *seed)
{
    for (VkDeviceSize i = 0; i < count; i++)
        bytes[i] = (uint8_t)app_random(seed);
}

/* ---- buffers in buffers ---- */

struct window {
    VkBuffer buffer;
    VkDeviceSize offset, bytes;
};

struct buffers {
    struct area area;
    struct window windows[3]; /* the first is all of it */
    struct app_buffer checks[3];
    VkDeviceSize alignment;
    uint8_t model[SPAN];
};

static void open_window(struct buffers *scene, uint32_t number, VkDeviceSize offset, VkDeviceSize bytes)
{
    const struct app *app = scene->area.app;
    struct window *window = &scene->windows[number];
    VkMemoryRequirements requirements;

    *window = (struct window){create_buffer(app, bytes, &requirements), round_up(offset, scene->alignment), bytes};
    CHECK(window->offset + requirements.size <= scene->area.bytes);
    CHECK_VK(vkBindBufferMemory(app->device, window->buffer, scene->area.memory, window->offset));
}

static bool create_buffers(const struct app *app, bool visible, struct buffers *scene)
{
    VkMemoryRequirements requirements;
    VkBuffer probe = create_buffer(app, SPAN, &requirements);

    vkDestroyBuffer(app->device, probe, NULL);
    memset(scene, 0, sizeof *scene);
    if (!create_area(app, requirements.size + 4096, requirements.memoryTypeBits, visible, &scene->area))
        return false;
    scene->alignment = larger(requirements.alignment, 256); /* so that machines can agree on the distances */
    open_window(scene, 1, 2048, 6000);                      /* before the one that holds all of them */
    open_window(scene, 0, 0, SPAN);
    open_window(scene, 2, 6144, 5000);
    for (uint32_t i = 0; i < 3; i++)
        app_buffer_create(app, &scene->checks[i], SPAN, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    return true;
}

/* The device writes through one of them, and the model knows what. */
static void write_window(struct buffers *scene, VkCommandBuffer commands, uint32_t number, uint32_t *seed)
{
    const struct window *window = &scene->windows[number];
    VkDeviceSize at = app_random(seed) % (window->bytes / 2) / 4 * 4, bytes = 4 + app_random(seed) % 1024 / 4 * 4;
    uint32_t words[257];

    if (app_random(seed) % 2) {
        uint32_t word = app_random(seed) * 0x101u;
        vkCmdFillBuffer(commands, window->buffer, at, bytes, word);
        for (VkDeviceSize i = 0; i < bytes; i += 4)
            memcpy(&scene->model[window->offset + at + i], &word, 4);
    } else {
        fill_random((uint8_t *)words, bytes, seed);
        vkCmdUpdateBuffer(commands, window->buffer, at, bytes, words);
        memcpy(&scene->model[window->offset + at], words, bytes);
    }
    everything(commands);
}

static void run_buffers(struct buffers *scene, uint32_t frame, uint32_t *seed)
{
    const struct app *app = scene->area.app;
    uint8_t expected[3][SPAN];
    VkCommandBuffer commands;

    if (scene->area.mapped) {
        VkDeviceSize at = app_random(seed) % (SPAN - 700), bytes = 1 + app_random(seed) % 700;
        fill_random(scene->model + at, bytes, seed);
        memcpy(scene->area.mapped + at, scene->model + at, bytes);
        flush(&scene->area);
    }
    commands = app_begin(app);
    if (frame == 0) {
        if (scene->area.mapped)
            copy(commands, scene->windows[0].buffer, 0, scene->checks[0].buffer, 0, 4); /* nothing but a read */
        everything(commands);
        vkCmdFillBuffer(commands, scene->windows[0].buffer, 0, SPAN, 0x01010101u);
        memset(scene->model, 1, SPAN);
        everything(commands);
    }
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t writer = (frame + i) % 3;
        const struct window *reader = &scene->windows[i];
        write_window(scene, commands, writer, seed);
        copy(commands, reader->buffer, 0, scene->checks[i].buffer, 0, reader->bytes);
        everything(commands);
        memcpy(expected[i], scene->model + reader->offset, reader->bytes);
    }
    app_run(app, commands);
    for (uint32_t i = 0; i < 3; i++) {
        app_buffer_invalidate(app, &scene->checks[i], 0, SPAN);
        EXPECT_EQ(app, memcmp(scene->checks[i].mapped, expected[i], scene->windows[i].bytes), 0);
    }
}

static void test_buffers(const struct app *app, bool visible)
{
    struct buffers *scene = malloc(sizeof *scene);
    uint32_t seed = visible ? 3 : 4;

    CHECK(scene);
    if (!create_buffers(app, visible, scene)) {
        free(scene);
        return;
    }
    for (uint32_t frame = 0; frame < app->frames; frame++) {
        run_buffers(scene, frame, &seed);
        if (frame % 3 == 2) { /* one goes and another one comes; the others stay */
            uint32_t number = 1 + frame / 3 % 2;
            vkDestroyBuffer(app->device, scene->windows[number].buffer, NULL);
            open_window(scene, number, app_random(&seed) % (SPAN / 2), 1000 + app_random(&seed) % (SPAN / 4));
        }
    }
    for (uint32_t i = 0; i < 3; i++) {
        vkDestroyBuffer(app->device, scene->windows[i].buffer, NULL);
        app_buffer_destroy(app, &scene->checks[i]);
    }
    vkFreeMemory(app->device, scene->area.memory, NULL);
    free(scene);
}

/* ---- a linear image in a buffer, and beside it an optimal image that takes turns with another buffer ---- */

struct mixed {
    struct area area;
    VkImage linear, optimal;
    VkBuffer bytes, staging; /* bytes: all of the area; staging: where the optimal image is */
    VkDeviceSize staging_offset, linear_offset;
    VkSubresourceLayout layout;
    struct app_buffer texels, rows, picture, source;
};

static bool create_mixed(const struct app *app, struct mixed *scene)
{
    const VkImageSubresource color = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
    VkMemoryRequirements linear, optimal, staging, bytes;
    VkDeviceSize alignment, end;

    memset(scene, 0, sizeof *scene);
    if (!app_format_has(app, VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_TILING_LINEAR,
                        VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT))
        return false;
    scene->linear = create_image(app, VK_IMAGE_TILING_LINEAR, 0, &linear);
    scene->optimal = create_image(app, VK_IMAGE_TILING_OPTIMAL, 0, &optimal);
    scene->staging = create_buffer(app, PLAIN, &staging);
    vkGetImageSubresourceLayout(app->device, scene->linear, &color, &scene->layout);
    alignment = larger(app->properties.limits.bufferImageGranularity, larger(optimal.alignment, staging.alignment));
    scene->linear_offset = linear.alignment; /* not where the buffer begins */
    scene->staging_offset = round_up(scene->linear_offset + linear.size, alignment);
    end = scene->staging_offset + larger(optimal.size, staging.size);
    scene->bytes = create_buffer(app, end, &bytes);
    if ((scene->layout.rowPitch < SIDE * 4 && app->no_check) ||
        !create_area(app, larger(end, bytes.size),
                     linear.memoryTypeBits & optimal.memoryTypeBits & staging.memoryTypeBits & bytes.memoryTypeBits,
                     true, &scene->area)) {
        vkDestroyImage(app->device, scene->linear, NULL);
        vkDestroyImage(app->device, scene->optimal, NULL);
        vkDestroyBuffer(app->device, scene->staging, NULL);
        vkDestroyBuffer(app->device, scene->bytes, NULL);
        return false;
    }
    CHECK_VK(vkBindImageMemory(app->device, scene->linear, scene->area.memory, scene->linear_offset));
    CHECK_VK(vkBindImageMemory(app->device, scene->optimal, scene->area.memory, scene->staging_offset));
    CHECK_VK(vkBindBufferMemory(app->device, scene->staging, scene->area.memory, scene->staging_offset));
    CHECK_VK(vkBindBufferMemory(app->device, scene->bytes, scene->area.memory, 0));
    app_buffer_create(app, &scene->texels, PLAIN, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_buffer_create(app, &scene->rows, scene->layout.rowPitch * SIDE, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_buffer_create(app, &scene->picture, PLAIN, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_buffer_create(app, &scene->source, PLAIN, both_ways, APP_DEVICE);
    return true;
}

/* The staging buffer is the host's; when it has been copied, its bytes are the image's, until the next frame. */
static void record_turns(const struct mixed *scene, VkCommandBuffer commands)
{
    copy(commands, scene->staging, 0, scene->source.buffer, 0, PLAIN);
    everything(commands);
    to_layout(commands, scene->optimal, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdCopyBufferToImage(commands, scene->source.buffer, scene->optimal, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
                           &whole_image);
    to_layout(commands, scene->optimal, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    vkCmdCopyImageToBuffer(commands, scene->optimal, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, scene->picture.buffer, 1,
                           &whole_image);
}

static void run_mixed(struct mixed *scene, uint32_t frame, uint8_t *texels, uint32_t *seed)
{
    const struct app *app = scene->area.app;
    VkDeviceSize first_row = scene->linear_offset + scene->layout.offset, pitch = scene->layout.rowPitch;
    uint32_t line = app_random(seed) % SIDE, row = frame % SIDE;
    uint8_t turns[PLAIN];
    VkCommandBuffer commands;

    /* The host writes a row of the image, the device another one through the buffer and a third through the image. */
    fill_random(turns, PLAIN, seed);
    memcpy(scene->area.mapped + scene->staging_offset, turns, PLAIN);
    fill_random(texels + row * SIDE * 4, SIDE * 4, seed);
    memcpy(scene->area.mapped + first_row + row * pitch, texels + row * SIDE * 4, SIDE * 4);
    flush(&scene->area);

    commands = app_begin(app);
    to_layout(commands, scene->linear, frame ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_PREINITIALIZED,
              VK_IMAGE_LAYOUT_GENERAL);
    record_turns(scene, commands);
    everything(commands);
    vkCmdFillBuffer(commands, scene->bytes, first_row + line * pitch, SIDE * 4, 0x04030201u * (frame + 1));
    for (uint32_t i = 0; i < SIDE; i++)
        memcpy(texels + (line * SIDE + i) * 4, &(uint32_t){0x04030201u * (frame + 1)}, 4);
    everything(commands);
    if (frame % 2) {
        const VkBufferImageCopy region = {.bufferOffset = 0,
                                          .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                          .imageOffset = {4, (int32_t)(frame % (SIDE - 4)), 0},
                                          .imageExtent = {16, 2, 1}};
        vkCmdCopyBufferToImage(commands, scene->source.buffer, scene->linear, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
        for (uint32_t i = 0; i < 2; i++)
            memcpy(texels + ((frame % (SIDE - 4) + i) * SIDE + 4) * 4, turns + i * 64, 64);
        everything(commands);
    }
    vkCmdCopyImageToBuffer(commands, scene->linear, VK_IMAGE_LAYOUT_GENERAL, scene->texels.buffer, 1, &whole_image);
    for (uint32_t i = 0; i < SIDE; i++)
        copy(commands, scene->bytes, first_row + i * pitch, scene->rows.buffer, i * pitch, SIDE * 4);
    everything(commands);
    app_run(app, commands);

    app_buffer_invalidate(app, &scene->texels, 0, PLAIN);
    app_buffer_invalidate(app, &scene->rows, 0, pitch * SIDE);
    app_buffer_invalidate(app, &scene->picture, 0, PLAIN);
    EXPECT_EQ(app, memcmp(scene->texels.mapped, texels, PLAIN), 0);
    EXPECT_EQ(app, memcmp(scene->picture.mapped, turns, PLAIN), 0);
    for (uint32_t i = 0; i < SIDE; i++)
        EXPECT_EQ(app, memcmp(scene->rows.mapped + i * pitch, texels + i * SIDE * 4, SIDE * 4), 0);
}

static void test_mixed(const struct app *app)
{
    struct mixed scene;
    uint8_t texels[PLAIN];
    uint32_t seed = 5;

    if (!create_mixed(app, &scene)) {
        printf("left out: a linear image in a buffer\n");
        return;
    }
    memset(texels, 0, sizeof texels);
    for (uint32_t i = 0; i < SIDE; i++) /* new memory may hold anything */
        memset(scene.area.mapped + scene.linear_offset + scene.layout.offset + i * scene.layout.rowPitch, 0, SIDE * 4);
    for (uint32_t frame = 0; frame < app->frames; frame++)
        run_mixed(&scene, frame, texels, &seed);
    vkDestroyImage(app->device, scene.linear, NULL);
    vkDestroyImage(app->device, scene.optimal, NULL);
    vkDestroyBuffer(app->device, scene.staging, NULL);
    vkDestroyBuffer(app->device, scene.bytes, NULL);
    app_buffer_destroy(app, &scene.texels);
    app_buffer_destroy(app, &scene.rows);
    app_buffer_destroy(app, &scene.picture);
    app_buffer_destroy(app, &scene.source);
    vkFreeMemory(app->device, scene.area.memory, NULL);
}

/* ---- two images that are one ---- */

static void test_images(const struct app *app)
{
    VkMemoryRequirements requirements[3];
    struct app_buffer source, check;
    VkImage images[3];
    struct area area;
    uint32_t seed = 6;

    app_buffer_create(app, &source, PLAIN, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &check, PLAIN, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t i = 0; i < 2; i++)
        images[i] = create_image(app, VK_IMAGE_TILING_OPTIMAL, VK_IMAGE_CREATE_ALIAS_BIT, &requirements[i]);
    CHECK(create_area(app, requirements[0].size, requirements[0].memoryTypeBits, false, &area));
    for (uint32_t i = 0; i < 2; i++)
        CHECK_VK(vkBindImageMemory(app->device, images[i], area.memory, 0));
    for (uint32_t frame = 0; frame < app->frames; frame++) {
        uint32_t writer = frame % 2;
        VkCommandBuffer commands;
        fill_random(source.mapped, PLAIN, &seed);
        app_buffer_flush(app, &source, 0, PLAIN);
        commands = app_begin(app);
        /* Both are brought into the layout before one of them is written: that may change what is there. */
        for (uint32_t i = 0; i < 2; i++)
            to_layout(commands, images[i], VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
        everything(commands);
        vkCmdCopyBufferToImage(commands, source.buffer, images[writer], VK_IMAGE_LAYOUT_GENERAL, 1, &whole_image);
        everything(commands);
        vkCmdCopyImageToBuffer(commands, images[!writer], VK_IMAGE_LAYOUT_GENERAL, check.buffer, 1, &whole_image);
        everything(commands);
        app_run(app, commands);
        app_buffer_invalidate(app, &check, 0, PLAIN);
        EXPECT_EQ(app, memcmp(check.mapped, source.mapped, PLAIN), 0);
        if (frame % 4 == 3) { /* one is made anew, in the same bytes */
            vkDestroyImage(app->device, images[writer], NULL);
            images[writer] = create_image(app, VK_IMAGE_TILING_OPTIMAL, VK_IMAGE_CREATE_ALIAS_BIT, &requirements[2]);
            CHECK_VK(vkBindImageMemory(app->device, images[writer], area.memory, 0));
        }
    }
    for (uint32_t i = 0; i < 2; i++)
        vkDestroyImage(app->device, images[i], NULL);
    app_buffer_destroy(app, &source);
    app_buffer_destroy(app, &check);
    vkFreeMemory(app->device, area.memory, NULL);
}

/* ---- a plane that is an image of its own ---- */

static VkMemoryRequirements plane_requirements(const struct app *app, VkImage image, VkImageAspectFlagBits plane)
{
    const VkImagePlaneMemoryRequirementsInfo which = {.sType = VK_STRUCTURE_TYPE_IMAGE_PLANE_MEMORY_REQUIREMENTS_INFO,
                                                      .planeAspect = plane};
    const VkImageMemoryRequirementsInfo2 info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2, .pNext = &which, .image = image};
    VkMemoryRequirements2 requirements = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
    vkGetImageMemoryRequirements2(app->device, &info, &requirements);
    return requirements.memoryRequirements;
}

static void bind_planes(const struct app *app, VkImage image, VkDeviceMemory memory, const VkDeviceSize offsets[2])
{
    VkBindImagePlaneMemoryInfo planes[2];
    VkBindImageMemoryInfo binds[2];

    for (uint32_t i = 0; i < 2; i++) {
        planes[i] = (VkBindImagePlaneMemoryInfo){.sType = VK_STRUCTURE_TYPE_BIND_IMAGE_PLANE_MEMORY_INFO,
                                                 .planeAspect = VK_IMAGE_ASPECT_PLANE_0_BIT << i};
        binds[i] = (VkBindImageMemoryInfo){.sType = VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO,
                                           .pNext = &planes[i],
                                           .image = image,
                                           .memory = memory,
                                           .memoryOffset = offsets[i]};
    }
    CHECK_VK(vkBindImageMemory2(app->device, 2, binds));
}

/* The first plane is bytes, as an image of bytes is. False when there are no such images. */
static bool create_plane_images(const struct app *app, VkImage *whole, VkImage *plane)
{
    VkImageCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .flags = VK_IMAGE_CREATE_ALIAS_BIT | VK_IMAGE_CREATE_DISJOINT_BIT,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = VK_FORMAT_G8_B8R8_2PLANE_420_UNORM,
        .extent = {SIDE, SIDE, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
    };
    if (app->api_version < VK_API_VERSION_1_1 ||
        !app_format_has(app, create.format, create.tiling,
                        VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT |
                            VK_FORMAT_FEATURE_DISJOINT_BIT))
        return false;
    CHECK_VK(vkCreateImage(app->device, &create, NULL, whole));
    create.flags = VK_IMAGE_CREATE_ALIAS_BIT;
    create.format = VK_FORMAT_R8_UNORM;
    CHECK_VK(vkCreateImage(app->device, &create, NULL, plane));
    return true;
}

/* Written through the image that is the plane, read through the image that has it, and the other way round. */
static void run_planes(const struct app *app, VkImage whole, VkImage plane, uint32_t frame,
                       const struct app_buffer *source, const struct app_buffer *check)
{
    VkBufferImageCopy region = whole_image;
    VkCommandBuffer commands = app_begin(app);

    to_layout(commands, whole, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    to_layout(commands, plane, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    everything(commands);
    region.imageSubresource.aspectMask = frame % 2 ? VK_IMAGE_ASPECT_PLANE_0_BIT : VK_IMAGE_ASPECT_COLOR_BIT;
    vkCmdCopyBufferToImage(commands, source->buffer, frame % 2 ? whole : plane, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    everything(commands);
    region.imageSubresource.aspectMask = frame % 2 ? VK_IMAGE_ASPECT_COLOR_BIT : VK_IMAGE_ASPECT_PLANE_0_BIT;
    vkCmdCopyImageToBuffer(commands, frame % 2 ? plane : whole, VK_IMAGE_LAYOUT_GENERAL, check->buffer, 1, &region);
    everything(commands);
    app_run(app, commands);
    app_buffer_invalidate(app, check, 0, SIDE * SIDE);
    EXPECT_EQ(app, memcmp(check->mapped, source->mapped, SIDE * SIDE), 0);
}

static void test_planes(const struct app *app)
{
    VkMemoryRequirements first, second, single;
    struct app_buffer source, check;
    VkDeviceSize offsets[2] = {0};
    VkImage whole, plane;
    struct area area;
    uint32_t seed = 8;

    if (!create_plane_images(app, &whole, &plane)) {
        printf("left out: planes of disjoint images\n");
        return;
    }
    first = plane_requirements(app, whole, VK_IMAGE_ASPECT_PLANE_0_BIT);
    second = plane_requirements(app, whole, VK_IMAGE_ASPECT_PLANE_1_BIT);
    vkGetImageMemoryRequirements(app->device, plane, &single);
    offsets[1] = round_up(larger(first.size, single.size), second.alignment);
    CHECK(create_area(app, offsets[1] + second.size,
                      first.memoryTypeBits & second.memoryTypeBits & single.memoryTypeBits, false, &area));
    bind_planes(app, whole, area.memory, offsets);
    CHECK_VK(vkBindImageMemory(app->device, plane, area.memory, 0));
    app_buffer_create(app, &source, SIDE * SIDE, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &check, SIDE * SIDE, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t frame = 0; frame < app->frames; frame++) {
        fill_random(source.mapped, SIDE * SIDE, &seed);
        app_buffer_flush(app, &source, 0, SIDE * SIDE);
        run_planes(app, whole, plane, frame, &source, &check);
    }
    vkDestroyImage(app->device, whole, NULL);
    vkDestroyImage(app->device, plane, NULL);
    app_buffer_destroy(app, &source);
    app_buffer_destroy(app, &check);
    vkFreeMemory(app->device, area.memory, NULL);
}

/* ---- images where a buffer was ---- */

static void read_neighbours(const struct app *app, const VkImage images[2], const struct app_buffer *source,
                            const struct app_buffer *check)
{
    VkCommandBuffer commands = app_begin(app);
    VkBufferImageCopy region = whole_image;

    everything(commands);
    for (uint32_t i = 0; i < 2; i++) {
        region.bufferOffset = i * PLAIN;
        vkCmdCopyImageToBuffer(commands, images[i], VK_IMAGE_LAYOUT_GENERAL, check->buffer, 1, &region);
    }
    everything(commands);
    app_run(app, commands);
    app_buffer_invalidate(app, check, 0, 2 * PLAIN);
    EXPECT_EQ(app, memcmp(check->mapped, source->mapped, 2 * PLAIN), 0);
}

/* The buffer is gone when the images are written, which are then only read. */
static void run_neighbours(const struct app *app, const struct area *area, VkBuffer buffer, const VkImage images[2],
                           VkDeviceSize distance)
{
    VkCommandBuffer commands = app_begin(app);
    VkBufferImageCopy region = whole_image;
    struct app_buffer source, check;
    uint32_t seed = 9;

    CHECK_VK(vkBindBufferMemory(app->device, buffer, area->memory, 0));
    vkCmdFillBuffer(commands, buffer, 0, VK_WHOLE_SIZE, 0x55555555);
    app_run(app, commands);
    vkDestroyBuffer(app->device, buffer, NULL);
    app_buffer_create(app, &source, 2 * PLAIN, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &check, 2 * PLAIN, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    fill_random(source.mapped, 2 * PLAIN, &seed);
    app_buffer_flush(app, &source, 0, 2 * PLAIN);
    commands = app_begin(app);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_VK(vkBindImageMemory(app->device, images[i], area->memory, i * distance));
        to_layout(commands, images[i], VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
        region.bufferOffset = i * PLAIN;
        vkCmdCopyBufferToImage(commands, source.buffer, images[i], VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    }
    app_run(app, commands);
    for (uint32_t frame = 0; frame < app->frames; frame++)
        read_neighbours(app, images, &source, &check);
    app_buffer_destroy(app, &source);
    app_buffer_destroy(app, &check);
}

static void test_neighbours(const struct app *app)
{
    VkMemoryRequirements image, whole;
    VkImage images[2];
    VkDeviceSize distance;
    VkBuffer buffer;
    struct area area;

    for (uint32_t i = 0; i < 2; i++)
        images[i] = create_image(app, VK_IMAGE_TILING_OPTIMAL, 0, &image);
    distance = round_up(image.size, image.alignment);
    buffer = create_buffer(app, 2 * distance, &whole);
    if (create_area(app, larger(2 * distance, whole.size), image.memoryTypeBits & whole.memoryTypeBits, false, &area)) {
        run_neighbours(app, &area, buffer, images, distance);
        vkFreeMemory(app->device, area.memory, NULL);
    } else {
        printf("left out: images where a buffer was\n");
        vkDestroyBuffer(app->device, buffer, NULL);
    }
    for (uint32_t i = 0; i < 2; i++)
        vkDestroyImage(app->device, images[i], NULL);
}

/* ---- turns in one submit ---- */

struct turns {
    const struct app *app;
    VkImage images[2];
    VkBuffer buffers[2]; /* the second is the first half of the first */
    VkDeviceSize bytes;
    struct app_buffer source, check; /* of the images and the buffers, one after the other */
};

static void turn_of_images(const struct turns *scene, VkCommandBuffer commands)
{
    VkBufferImageCopy region = whole_image;

    for (uint32_t i = 0; i < 2; i++) {
        region.bufferOffset = i * PLAIN;
        to_layout(commands, scene->images[i], VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
        vkCmdCopyBufferToImage(commands, scene->source.buffer, scene->images[i], VK_IMAGE_LAYOUT_GENERAL, 1, &region);
        everything(commands);
        vkCmdCopyImageToBuffer(commands, scene->images[i], VK_IMAGE_LAYOUT_GENERAL, scene->check.buffer, 1, &region);
        everything(commands);
    }
}

static void turn_of_buffers(const struct turns *scene, VkCommandBuffer commands, uint32_t frame)
{
    vkCmdFillBuffer(commands, scene->buffers[0], 0, scene->bytes, frame);
    everything(commands);
    copy(commands, scene->source.buffer, 2 * PLAIN, scene->buffers[1], 0, PLAIN / 2);
    everything(commands);
    copy(commands, scene->buffers[0], 0, scene->check.buffer, 2 * PLAIN, PLAIN / 2);
    everything(commands);
}

static void test_turns(const struct app *app)
{
    VkMemoryRequirements image, whole, half;
    struct turns scene = {.app = app};
    uint32_t types, seed = 10;
    struct area area;

    for (uint32_t i = 0; i < 2; i++)
        scene.images[i] = create_image(app, VK_IMAGE_TILING_OPTIMAL, 0, &image);
    scene.bytes = image.size;
    scene.buffers[0] = create_buffer(app, image.size, &whole);
    scene.buffers[1] = create_buffer(app, image.size / 2, &half);
    types = image.memoryTypeBits & whole.memoryTypeBits & half.memoryTypeBits;
    if (!create_area(app, larger(image.size, whole.size), types, false, &area))
        return;
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_VK(vkBindImageMemory(app->device, scene.images[i], area.memory, 0));
        CHECK_VK(vkBindBufferMemory(app->device, scene.buffers[i], area.memory, 0));
    }
    app_buffer_create(app, &scene.source, 3 * PLAIN, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &scene.check, 3 * PLAIN, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t frame = 0; frame < app->frames; frame++) {
        VkCommandBuffer commands = app_begin(app);
        fill_random(scene.source.mapped, 3 * PLAIN, &seed);
        app_buffer_flush(app, &scene.source, 0, 3 * PLAIN);
        if (frame % 2)
            turn_of_buffers(&scene, commands, frame);
        turn_of_images(&scene, commands);
        if (frame % 2 == 0)
            turn_of_buffers(&scene, commands, frame);
        app_run(app, commands);
        app_buffer_invalidate(app, &scene.check, 0, 3 * PLAIN);
        EXPECT_EQ(app, memcmp(scene.check.mapped, scene.source.mapped, 2 * PLAIN + PLAIN / 2), 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        vkDestroyImage(app->device, scene.images[i], NULL);
        vkDestroyBuffer(app->device, scene.buffers[i], NULL);
    }
    app_buffer_destroy(app, &scene.source);
    app_buffer_destroy(app, &scene.check);
    vkFreeMemory(app->device, area.memory, NULL);
}

int main(int argc, char **argv)
{
    static bool turns;
    static const struct app_option options[] = {
        {"--turns", "nothing but images and buffers that take turns in one submit", &turns, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "alias",
        .what = "Buffers and images share the bytes of one allocation.",
        .frames = 12,
        .options = options,
    };
    struct app app;

    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    if (turns) {
        test_turns(&app);
        return app_finish(&app);
    }
    test_buffers(&app, true);
    test_buffers(&app, false);
    test_mixed(&app);
    test_images(&app);
    test_planes(&app);
    test_neighbours(&app);
    return app_finish(&app);
}
