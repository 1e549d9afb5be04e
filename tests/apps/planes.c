/* SPDX-License-Identifier: MIT */
/*
 * planes: images of two and three planes, bound at once and plane by plane, that keep what was written into them: the
 * planes are filled once, in each frame a rectangle of one is written anew, and all are copied to the host.
 * --samples: instead, an image of several samples, which nobody can copy to a buffer, keeps what a first frame left.
 */
#include "common/app.h"

#define WIDTH      36u
#define HEIGHT     20u
#define MOST       3u                   /* planes */
#define BYTES      (WIDTH * HEIGHT * 4) /* of all planes of an image, at most */
#define SIDE       4u                   /* of the rectangle */
#define MOST_KINDS 6u

static bool only_samples;

struct kind {
    VkFormat format;
    uint32_t planes, bytes[MOST]; /* of a texel of the plane */
    uint32_t divide_x, divide_y;  /* of all planes but the first */
};

static const struct kind kinds[] = {
    {VK_FORMAT_G8_B8_R8_3PLANE_420_UNORM, 3, {1, 1, 1}, 2, 2},
    {VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, 2, {1, 2}, 2, 2},
    {VK_FORMAT_G8_B8R8_2PLANE_422_UNORM, 2, {1, 2}, 2, 1},
};

struct picture {
    const struct kind *kind;
    VkImage image;
    VkDeviceMemory memory;
    VkBufferImageCopy regions[MOST];
    uint8_t wanted[BYTES];
};

static VkExtent3D extent_of(const struct kind *kind, uint32_t plane)
{
    return (VkExtent3D){plane ? WIDTH / kind->divide_x : WIDTH, plane ? HEIGHT / kind->divide_y : HEIGHT, 1};
}

/* ---- creation ---- */

/* All planes in one allocation, one behind the other. */
static void bind_planes(const struct app *app, struct picture *picture)
{
    VkBindImagePlaneMemoryInfo planes[MOST];
    VkBindImageMemoryInfo binds[MOST];
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    uint32_t types = UINT32_MAX;

    for (uint32_t i = 0; i < picture->kind->planes; i++) {
        const VkImagePlaneMemoryRequirementsInfo which = {.sType =
                                                              VK_STRUCTURE_TYPE_IMAGE_PLANE_MEMORY_REQUIREMENTS_INFO,
                                                          .planeAspect = VK_IMAGE_ASPECT_PLANE_0_BIT << i};
        const VkImageMemoryRequirementsInfo2 info = {
            .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2, .pNext = &which, .image = picture->image};
        VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
        vkGetImageMemoryRequirements2(app->device, &info, &needs);
        const VkDeviceSize align = needs.memoryRequirements.alignment;
        planes[i] = (VkBindImagePlaneMemoryInfo){.sType = VK_STRUCTURE_TYPE_BIND_IMAGE_PLANE_MEMORY_INFO,
                                                 .planeAspect = VK_IMAGE_ASPECT_PLANE_0_BIT << i};
        binds[i] = (VkBindImageMemoryInfo){.sType = VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO,
                                           .pNext = &planes[i],
                                           .image = picture->image,
                                           .memoryOffset = (allocate.allocationSize + align - 1) / align * align};
        allocate.allocationSize = binds[i].memoryOffset + needs.memoryRequirements.size;
        types &= needs.memoryRequirements.memoryTypeBits;
    }
    allocate.memoryTypeIndex = app_memory_type_for(app, types, APP_DEVICE);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &picture->memory));
    for (uint32_t i = 0; i < picture->kind->planes; i++)
        binds[i].memory = picture->memory;
    CHECK_VK(vkBindImageMemory2(app->device, picture->kind->planes, binds));
}

static void bind_at_once(const struct app *app, struct picture *picture)
{
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;

    vkGetImageMemoryRequirements(app->device, picture->image, &needs);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, needs.memoryTypeBits, APP_DEVICE);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &picture->memory));
    CHECK_VK(vkBindImageMemory(app->device, picture->image, picture->memory, 0));
}

/* False: there are no such images. */
static bool create(const struct app *app, const struct kind *kind, bool disjoint, struct picture *picture)
{
    const VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .flags = disjoint ? VK_IMAGE_CREATE_DISJOINT_BIT : 0,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = kind->format,
        .extent = {WIDTH, HEIGHT, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
    };
    VkDeviceSize bytes = 0;

    if (!app_format_has(app, kind->format, info.tiling,
                        VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT |
                            (disjoint ? VK_FORMAT_FEATURE_DISJOINT_BIT : 0)))
        return false;
    *picture = (struct picture){.kind = kind};
    CHECK_VK(vkCreateImage(app->device, &info, NULL, &picture->image));
    (disjoint ? bind_planes : bind_at_once)(app, picture);
    for (uint32_t i = 0; i < kind->planes; i++) {
        const VkExtent3D extent = extent_of(kind, i);
        picture->regions[i] = (VkBufferImageCopy){.bufferOffset = bytes,
                                                  .imageSubresource = {VK_IMAGE_ASPECT_PLANE_0_BIT << i, 0, 0, 1},
                                                  .imageExtent = extent};
        bytes += (VkDeviceSize)extent.width * extent.height * kind->bytes[i];
    }
    return true;
}

/* ---- frames ---- */

static void to_layout(VkCommandBuffer commands, const struct picture *picture, VkImageLayout from, VkImageLayout to)
{
    const struct app_image image = {.image = picture->image, .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    app_image_barrier(commands, &image, from, to);
}

/* The first frame fills all planes. Later ones write SIDE x SIDE texels of one plane. */
static void write(const struct app *app, struct picture *picture, uint32_t frame, struct app_buffer *source,
                  VkCommandBuffer commands)
{
    const uint32_t plane = frame % picture->kind->planes, bytes = picture->kind->bytes[plane];
    const uint32_t width = extent_of(picture->kind, plane).width;
    VkBufferImageCopy part = picture->regions[plane];
    uint32_t seed = frame + 1;

    to_layout(commands, picture, frame ? VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL : VK_IMAGE_LAYOUT_UNDEFINED,
              VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    for (uint32_t i = 0; i < source->size; i++)
        source->mapped[i] = (uint8_t)app_random(&seed);
    app_buffer_flush(app, source, 0, VK_WHOLE_SIZE);
    if (!frame) {
        memcpy(picture->wanted, source->mapped, BYTES);
        vkCmdCopyBufferToImage(commands, source->buffer, picture->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                               picture->kind->planes, picture->regions);
    } else {
        part.imageExtent = (VkExtent3D){SIDE, SIDE, 1};
        part.imageOffset = (VkOffset3D){2, 2, 0};
        part.bufferOffset = 0;
        for (uint32_t y = 0; y < SIDE; y++)
            memcpy(picture->wanted + picture->regions[plane].bufferOffset + ((2 + y) * width + 2) * bytes,
                   source->mapped + y * SIDE * bytes, SIDE * bytes);
        vkCmdCopyBufferToImage(commands, source->buffer, picture->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
                               &part);
    }
    to_layout(commands, picture, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
}

static void run_frame(const struct app *app, struct picture *picture, uint32_t frame, struct app_buffer *source,
                      struct app_buffer *check)
{
    const VkBufferImageCopy *last = &picture->regions[picture->kind->planes - 1];
    const size_t bytes = last->bufferOffset + (size_t)last->imageExtent.width * last->imageExtent.height *
                                                  picture->kind->bytes[picture->kind->planes - 1];
    VkCommandBuffer commands = app_begin(app);

    write(app, picture, frame, source, commands);
    vkCmdCopyImageToBuffer(commands, picture->image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, check->buffer,
                           picture->kind->planes, picture->regions);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, check, 0, VK_WHOLE_SIZE);
    EXPECT_EQ(app, memcmp(check->mapped, picture->wanted, bytes), 0);
}

/* ---- several samples ---- */

/* The first frame clears it, later ones resolve it. */
static void resolve(const struct app *app, uint32_t frame, const struct app_image *several, const struct app_image *one)
{
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    const VkClearColorValue color = {.float32 = {1.0f, 0.5f, 0.25f, 1.0f}};
    const VkImageResolve region = {.srcSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                   .dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                   .extent = {WIDTH, HEIGHT, 1}};
    const VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL;
    VkCommandBuffer commands = app_begin(app);

    app_image_barrier(commands, one, VK_IMAGE_LAYOUT_UNDEFINED, general);
    app_image_barrier(commands, several, frame ? general : VK_IMAGE_LAYOUT_UNDEFINED, general);
    if (!frame)
        vkCmdClearColorImage(commands, several->image, general, &color, 1, &all);
    else
        vkCmdResolveImage(commands, several->image, general, one->image, general, 1, &region);
    app_run(app, commands);
}

static void run_samples(const struct app *app)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = VK_FORMAT_R8G8B8A8_UNORM,
                              .extent = {WIDTH, HEIGHT, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_4_BIT,
                              .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                                       VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT};
    struct app_image several, one;

    app_image_create(app, &several, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    app_image_create(app, &one, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    for (uint32_t frame = 0; frame < app->frames; frame++)
        resolve(app, frame, &several, &one);
    app_image_destroy(app, &several);
    app_image_destroy(app, &one);
}

/* ---- the whole ---- */

static void run_planes(const struct app *app)
{
    struct picture *pictures = calloc(MOST_KINDS, sizeof *pictures);
    struct app_buffer source, check;
    uint32_t count = 0;

    CHECK(pictures);
    for (uint32_t i = 0; i < COUNT_OF(kinds) * 2; i++)
        count += create(app, &kinds[i / 2], i % 2, &pictures[count]);
    if (!count)
        app_skip(app, "no images of several planes");
    printf("%u of %u kinds\n", count, COUNT_OF(kinds) * 2);
    app_buffer_create(app, &source, BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &check, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t frame = 0; frame < app->frames; frame++)
        for (uint32_t i = 0; i < count; i++)
            run_frame(app, &pictures[i], frame, &source, &check);
    for (uint32_t i = 0; i < count; i++) {
        vkDestroyImage(app->device, pictures[i].image, NULL);
        vkFreeMemory(app->device, pictures[i].memory, NULL);
    }
    app_buffer_destroy(app, &source);
    app_buffer_destroy(app, &check);
    free(pictures);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--samples", "instead, an image of several samples", &only_samples, NULL}, {0}};
    static const struct app_program program = {
        .name = "planes", .what = "images of several planes keep their contents", .frames = 6, .options = options};
    struct app app;

    app_init(&app, argc, argv, &program);
    if (app.api_version < VK_API_VERSION_1_1)
        app_skip(&app, "no Vulkan 1.1");
    app_device_create(&app, NULL);
    (only_samples ? run_samples : run_planes)(&app);
    return app_finish(&app);
}
