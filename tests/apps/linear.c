/* SPDX-License-Identifier: MIT */
/*
 * linear: images of linear tiling in every shape that the device has: lines, layers, mip levels, volumes. The host
 * writes texels and the padding between rows, all subresources at first and then a few runs of bytes in each frame. The
 * GPU copies all of it out; a model without padding says what every texel must be. Images and buffers share one
 * allocation and are bound by vkBindImageMemory2 and vkBindBufferMemory2, several in one call.
 */
#include "common/app.h"

#define MAX_LEVELS 4u
#define MAX_SHAPES 8u
#define RUNS       12u

struct shape {
    const char *name;
    VkImageType type;
    VkFormat format;
    uint32_t texel_bytes;
    VkExtent3D extent;
    uint32_t levels, layers; /* wanted */
};

static const struct shape shapes[] = {
    {"line", VK_IMAGE_TYPE_1D, VK_FORMAT_R8_UNORM, 1, {131, 1, 1}, 1, 1},
    {"plane of bytes", VK_IMAGE_TYPE_2D, VK_FORMAT_R8_UNORM, 1, {77, 31, 1}, 1, 1},
    {"plane of vectors", VK_IMAGE_TYPE_2D, VK_FORMAT_R32G32B32A32_SFLOAT, 16, {35, 20, 1}, 1, 1},
    {"levels", VK_IMAGE_TYPE_2D, VK_FORMAT_R8G8B8A8_UNORM, 4, {45, 27, 1}, MAX_LEVELS, 1},
    {"layers", VK_IMAGE_TYPE_2D, VK_FORMAT_R16G16_UNORM, 4, {29, 13, 1}, 1, 3},
    {"levels of layers", VK_IMAGE_TYPE_2D, VK_FORMAT_R8G8_UNORM, 2, {33, 17, 1}, MAX_LEVELS, 2},
    {"volume", VK_IMAGE_TYPE_3D, VK_FORMAT_R8G8B8A8_UNORM, 4, {19, 11, 7}, 1, 1},
};

struct linear {
    const struct shape *shape;
    VkImage image;
    VkMemoryRequirements requirements;
    VkDeviceSize offset; /* in the allocation */
    uint32_t levels, layers;
    bool fresh;     /* in PREINITIALIZED layout */
    uint8_t *model; /* all subresources without padding */
    VkDeviceSize model_bytes;
    struct app_buffer check;
};

struct scene {
    const struct app *app;
    struct linear images[MAX_SHAPES];
    uint32_t count;
    VkBuffer buffers[2]; /* in the same allocation */
    VkDeviceMemory memory;
    VkDeviceSize allocated;
    uint8_t *mapped;
    bool coherent;
    uint32_t seed;
};

static uint32_t level_of(uint32_t extent, uint32_t level)
{
    return extent >> level ? extent >> level : 1;
}

static VkExtent3D level_extent(const struct linear *linear, uint32_t level)
{
    const VkExtent3D *extent = &linear->shape->extent;
    return (VkExtent3D){level_of(extent->width, level), level_of(extent->height, level),
                        level_of(extent->depth, level)};
}

static VkDeviceSize level_bytes(const struct linear *linear, uint32_t level)
{
    VkExtent3D extent = level_extent(linear, level);
    return (VkDeviceSize)extent.width * extent.height * extent.depth * linear->shape->texel_bytes;
}

/* False when the device has no such images. Fewer levels and layers than wanted will do. */
static bool create_image(const struct app *app, const struct shape *shape, struct linear *linear)
{
    VkImageCreateInfo create = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
    VkImageFormatProperties limits;
    create.imageType = shape->type;
    create.format = shape->format;
    create.extent = shape->extent;
    create.samples = VK_SAMPLE_COUNT_1_BIT;
    create.tiling = VK_IMAGE_TILING_LINEAR;
    create.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    create.initialLayout = VK_IMAGE_LAYOUT_PREINITIALIZED;
    if (!app_format_has(app, shape->format, create.tiling, VK_FORMAT_FEATURE_TRANSFER_SRC_BIT) ||
        vkGetPhysicalDeviceImageFormatProperties(app->physical, shape->format, shape->type, create.tiling, create.usage,
                                                 0, &limits) != VK_SUCCESS ||
        limits.maxExtent.width < shape->extent.width || limits.maxExtent.height < shape->extent.height ||
        limits.maxExtent.depth < shape->extent.depth)
        return false;
    create.mipLevels = shape->levels < limits.maxMipLevels ? shape->levels : limits.maxMipLevels;
    create.arrayLayers = shape->layers < limits.maxArrayLayers ? shape->layers : limits.maxArrayLayers;
    *linear = (struct linear){.shape = shape, .levels = create.mipLevels, .layers = create.arrayLayers, .fresh = true};
    if (linear->levels < shape->levels || linear->layers < shape->layers)
        printf("%s: %u levels and %u layers of %u and %u\n", shape->name, linear->levels, linear->layers, shape->levels,
               shape->layers);
    CHECK_VK(vkCreateImage(app->device, &create, NULL, &linear->image));
    vkGetImageMemoryRequirements(app->device, linear->image, &linear->requirements);
    VkSubresourceLayout layout;
    const VkImageSubresource color = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
    vkGetImageSubresourceLayout(app->device, linear->image, &color, &layout);
    if (layout.rowPitch < shape->extent.width * shape->texel_bytes && app->no_check) { /* a driver that only pretends */
        vkDestroyImage(app->device, linear->image, NULL);
        return false;
    }
    for (uint32_t level = 0; level < linear->levels; level++)
        linear->model_bytes += level_bytes(linear, level) * linear->layers;
    linear->model = calloc(1, linear->model_bytes);
    CHECK(linear->model);
    app_buffer_create(app, &linear->check, linear->model_bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    return true;
}

static VkDeviceSize place(const struct app *app, const VkMemoryRequirements *requirements, VkDeviceSize *end)
{
    VkDeviceSize alignment = app->properties.limits.bufferImageGranularity;
    VkDeviceSize atom = app->properties.limits.nonCoherentAtomSize;
    alignment = alignment > requirements->alignment ? alignment : requirements->alignment;
    alignment = alignment > atom ? alignment : atom;
    VkDeviceSize offset = (*end + alignment - 1) / alignment * alignment;
    *end = offset + requirements->size;
    return offset;
}

/* The allocation holds buffer, images, buffer. */
static void create_scene(const struct app *app, struct scene *scene)
{
    const VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                       .size = 1000,
                                       .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkBindImageMemoryInfo image_binds[MAX_SHAPES];
    VkBindBufferMemoryInfo buffer_binds[2];
    VkMemoryRequirements requirements;
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    uint32_t types = UINT32_MAX;

    *scene = (struct scene){.app = app, .seed = 11};
    for (uint32_t i = 0; i < COUNT_OF(shapes); i++) {
        if (!create_image(app, &shapes[i], &scene->images[scene->count]))
            printf("left out: linear images as %s\n", shapes[i].name);
        else
            types &= scene->images[scene->count++].requirements.memoryTypeBits;
    }
    if (!scene->count)
        app_skip(app, "no images of linear tiling");
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_VK(vkCreateBuffer(app->device, &create, NULL, &scene->buffers[i]));
        vkGetBufferMemoryRequirements(app->device, scene->buffers[i], &requirements);
        types &= requirements.memoryTypeBits;
        if (i == 1)
            for (uint32_t k = 0; k < scene->count; k++)
                scene->images[k].offset = place(app, &scene->images[k].requirements, &scene->allocated);
        buffer_binds[i] = (VkBindBufferMemoryInfo){.sType = VK_STRUCTURE_TYPE_BIND_BUFFER_MEMORY_INFO,
                                                   .buffer = scene->buffers[i],
                                                   .memoryOffset = place(app, &requirements, &scene->allocated)};
    }
    CHECK(types);
    allocate.allocationSize = scene->allocated;
    allocate.memoryTypeIndex = app_memory_type_for(app, types, APP_UPLOAD);
    scene->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &scene->memory));
    buffer_binds[0].memory = buffer_binds[1].memory = scene->memory;
    for (uint32_t i = 0; i < scene->count; i++)
        image_binds[i] = (VkBindImageMemoryInfo){.sType = VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO,
                                                 .image = scene->images[i].image,
                                                 .memory = scene->memory,
                                                 .memoryOffset = scene->images[i].offset};
    CHECK_VK(vkBindImageMemory2(app->device, scene->count, image_binds));
    CHECK_VK(vkBindBufferMemory2(app->device, 2, buffer_binds));
    void *mapped = NULL;
    CHECK_VK(vkMapMemory(app->device, scene->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    scene->mapped = mapped;
}

/* Where the bytes of a row lie; all rows of the image have a number, in the order of the model. */
static uint8_t *find_row(const struct scene *scene, const struct linear *linear, uint32_t number, VkDeviceSize *model,
                         uint32_t *bytes, uint32_t *padding)
{
    *model = 0;
    for (uint32_t level = 0; level < linear->levels; level++) {
        VkExtent3D extent = level_extent(linear, level);
        uint32_t rows = extent.height * extent.depth;
        for (uint32_t layer = 0; layer < linear->layers; layer++) {
            VkImageSubresource which = {VK_IMAGE_ASPECT_COLOR_BIT, level, layer};
            VkSubresourceLayout layout;
            *bytes = extent.width * linear->shape->texel_bytes;
            if (number >= rows) {
                number -= rows;
                *model += (VkDeviceSize)rows * *bytes;
                continue;
            }
            vkGetImageSubresourceLayout(scene->app->device, linear->image, &which, &layout);
            *model += (VkDeviceSize)number * *bytes;
            *padding = extent.height > 1 && (number + 1) % extent.height ? (uint32_t)layout.rowPitch - *bytes : 0;
            return scene->mapped + linear->offset + layout.offset + number / extent.height * layout.depthPitch +
                   number % extent.height * layout.rowPitch;
        }
    }
    return NULL;
}

static void write_run(struct scene *scene, struct linear *linear, uint32_t row, uint32_t first, uint32_t count)
{
    VkDeviceSize model;
    uint32_t bytes, padding;
    uint8_t *to = find_row(scene, linear, row, &model, &bytes, &padding);
    CHECK(to);
    first %= bytes;
    count = count < bytes - first ? count : bytes - first;
    for (uint32_t i = 0; i < count; i++)
        to[first + i] = linear->model[model + first + i] = (uint8_t)app_random(&scene->seed);
    if (first + count == bytes) /* nobody may care about this */
        memset(to + bytes, (int)app_random(&scene->seed) & 0xff, padding);
}

static uint32_t row_count(const struct linear *linear)
{
    uint32_t rows = 0;
    for (uint32_t level = 0; level < linear->levels; level++) {
        VkExtent3D extent = level_extent(linear, level);
        rows += extent.height * extent.depth * linear->layers;
    }
    return rows;
}

static void write_image(struct scene *scene, struct linear *linear, uint32_t frame)
{
    uint32_t rows = row_count(linear);
    if (frame == 0)
        for (uint32_t row = 0; row < rows; row++)
            write_run(scene, linear, row, 0, UINT32_MAX);
    for (uint32_t i = 0; frame && i < RUNS; i++) {
        uint32_t row = app_random(&scene->seed) % rows, first = app_random(&scene->seed);
        write_run(scene, linear, row, i % 3 ? first : 0, i % 3 ? 1 + app_random(&scene->seed) % 40 : UINT32_MAX);
    }
}

static void copy_out(VkCommandBuffer commands, struct linear *linear)
{
    struct app_image image = {.image = linear->image, .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    VkBufferImageCopy regions[MAX_LEVELS] = {{0}};
    VkDeviceSize at = 0;
    for (uint32_t level = 0; level < linear->levels; level++) {
        regions[level].bufferOffset = at;
        regions[level].imageSubresource =
            (VkImageSubresourceLayers){VK_IMAGE_ASPECT_COLOR_BIT, level, 0, linear->layers};
        regions[level].imageExtent = level_extent(linear, level);
        at += level_bytes(linear, level) * linear->layers;
    }
    app_image_barrier(commands, &image, linear->fresh ? VK_IMAGE_LAYOUT_PREINITIALIZED : VK_IMAGE_LAYOUT_GENERAL,
                      VK_IMAGE_LAYOUT_GENERAL);
    linear->fresh = false;
    vkCmdCopyImageToBuffer(commands, linear->image, VK_IMAGE_LAYOUT_GENERAL, linear->check.buffer, linear->levels,
                           regions);
}

static void run_frame(struct scene *scene, uint32_t frame)
{
    const struct app *app = scene->app;
    /* Not every image in every frame: what was written meanwhile is needed later. */
    for (uint32_t i = 0; i < scene->count; i++)
        write_image(scene, &scene->images[i], frame);
    if (!scene->coherent)
        app_memory_sync(app, scene->memory, scene->allocated, 0, scene->allocated, false);
    VkCommandBuffer commands = app_begin(app);
    for (uint32_t i = 0; i < scene->count; i++)
        if (frame == 0 || (frame + i) % 2)
            copy_out(commands, &scene->images[i]);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    for (uint32_t i = 0; i < scene->count; i++) {
        struct linear *linear = &scene->images[i];
        if (frame && !((frame + i) % 2))
            continue;
        app_buffer_invalidate(app, &linear->check, 0, linear->check.size);
        EXPECT_EQ(app, memcmp(linear->check.mapped, linear->model, linear->model_bytes), 0);
    }
}

static void destroy_scene(struct scene *scene)
{
    const struct app *app = scene->app;
    for (uint32_t i = 0; i < scene->count; i++) {
        vkDestroyImage(app->device, scene->images[i].image, NULL);
        app_buffer_destroy(app, &scene->images[i].check);
        free(scene->images[i].model);
    }
    for (uint32_t i = 0; i < 2; i++)
        vkDestroyBuffer(app->device, scene->buffers[i], NULL);
    vkFreeMemory(app->device, scene->memory, NULL); /* still mapped */
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "linear",
        .what = "The host writes linear images of all shapes, with the padding of their rows.",
        .frames = 12,
    };
    struct app app;
    struct scene scene;
    app_init(&app, argc, argv, &program);
    if (app.api_version < VK_API_VERSION_1_1)
        app_skip(&app, "Vulkan 1.1 is missing");
    app_device_create(&app, NULL);
    create_scene(&app, &scene);
    for (uint32_t frame = 0; frame < app.frames; frame++)
        run_frame(&scene, frame);
    destroy_scene(&scene);
    return app_finish(&app);
}
