/* SPDX-License-Identifier: MIT */
/*
 * places: the order in which memory is allocated, mapped, written and bound, once for every memory type that can be
 * mapped. Buffers and a linear image are written through maps that begin before they are bound, at an offset, and after
 * memory for one object only was asked for; the device copies what it finds, and that is checked. With --unasked the
 * types need not be host-visible, as for programs that know types by number: not valid, but drivers map what they can.
 */
#include "common/app.h"

enum { BYTES = 4096, WIDTH = 24, HEIGHT = 10, MAP_OFFSET = 192 };

struct place {
    struct app *app;
    uint32_t type;
    bool coherent;
    struct app_buffer result;
};

static VkBuffer create_buffer(const struct place *place, VkDeviceSize bytes, VkMemoryRequirements *requirements)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = bytes,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkBuffer buffer;
    CHECK_VK(vkCreateBuffer(place->app->device, &info, NULL, &buffer));
    vkGetBufferMemoryRequirements(place->app->device, buffer, requirements);
    CHECK(requirements->size >= bytes);
    return buffer;
}

static VkDeviceMemory allocate(const struct place *place, VkDeviceSize bytes, const void *next)
{
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = next,
                                 .allocationSize = bytes,
                                 .memoryTypeIndex = place->type};
    VkDeviceMemory memory;
    CHECK_VK(vkAllocateMemory(place->app->device, &info, NULL, &memory));
    return memory;
}

static uint8_t *map(const struct place *place, VkDeviceMemory memory, VkDeviceSize offset)
{
    void *pointer = NULL;
    CHECK_VK(vkMapMemory(place->app->device, memory, offset, VK_WHOLE_SIZE, 0, &pointer));
    CHECK(((uintptr_t)pointer - offset) % place->app->properties.limits.minMemoryMapAlignment == 0);
    return pointer;
}

/* What is mapped from an offset on. */
static void flush(const struct place *place, VkDeviceMemory memory, VkDeviceSize mapped_from)
{
    VkMappedMemoryRange all = {.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = memory, .size = VK_WHOLE_SIZE};
    if (place->coherent)
        return;
    VkDeviceSize atom = place->app->properties.limits.nonCoherentAtomSize;
    all.offset = (mapped_from + atom - 1) / atom * atom;
    CHECK_VK(vkFlushMappedMemoryRanges(place->app->device, 1, &all));
}

static void fill(uint8_t *to, size_t bytes, uint32_t seed)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)app_random(&seed);
}

static void expect(const struct place *place, size_t bytes, uint32_t seed)
{
    app_buffer_invalidate(place->app, &place->result, 0, bytes);
    for (size_t i = 0; i < bytes; i++)
        EXPECT_EQ(place->app, place->result.mapped[i], (uint8_t)app_random(&seed));
}

static void finish_copy(const struct place *place, VkCommandBuffer commands)
{
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(place->app, commands);
}

static void copy_buffer(const struct place *place, VkBuffer buffer, VkDeviceSize bytes)
{
    VkBufferCopy region = {.size = bytes};
    VkCommandBuffer commands = app_begin(place->app);
    vkCmdCopyBuffer(commands, buffer, place->result.buffer, 1, &region);
    finish_copy(place, commands);
}

/* Two buffers in one memory that is mapped from the middle of the first one on, before any of them is bound. */
static void map_then_bind(const struct place *place)
{
    struct app *app = place->app;
    VkMemoryRequirements requirements;
    VkBuffer buffers[2] = {create_buffer(place, BYTES, &requirements), create_buffer(place, BYTES, &requirements)};
    VkDeviceSize second =
        (requirements.size + requirements.alignment - 1) / requirements.alignment * requirements.alignment;
    VkDeviceMemory memory = allocate(place, second + requirements.size, NULL);
    uint8_t *mapped = map(place, memory, MAP_OFFSET);

    fill(mapped + second - MAP_OFFSET, BYTES, 1);
    CHECK_VK(vkBindBufferMemory(app->device, buffers[0], memory, 0));
    CHECK_VK(vkBindBufferMemory(app->device, buffers[1], memory, second));
    for (uint32_t round = 1; round < 4; round++) {
        flush(place, memory, MAP_OFFSET);
        copy_buffer(place, buffers[1], BYTES);
        expect(place, BYTES, round);
        fill(mapped + second - MAP_OFFSET, BYTES, round + 1);
    }
    vkUnmapMemory(app->device, memory);
    for (int i = 0; i < 2; i++)
        vkDestroyBuffer(app->device, buffers[i], NULL);
    vkFreeMemory(app->device, memory, NULL);
}

static void memory_for_one_buffer(const struct place *place)
{
    VkMemoryDedicatedAllocateInfo dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO};
    VkBindBufferMemoryInfo bind = {.sType = VK_STRUCTURE_TYPE_BIND_BUFFER_MEMORY_INFO};
    VkMemoryRequirements requirements;

    if (place->app->api_version < VK_API_VERSION_1_1)
        return;
    bind.buffer = dedicated.buffer = create_buffer(place, BYTES - 8, &requirements);
    bind.memory = allocate(place, requirements.size, &dedicated);
    CHECK_VK(vkBindBufferMemory2(place->app->device, 1, &bind));
    for (uint32_t round = 9; round < 11; round++) {
        fill(map(place, bind.memory, 0), BYTES - 8, round);
        flush(place, bind.memory, 0);
        vkUnmapMemory(place->app->device, bind.memory);
        copy_buffer(place, bind.buffer, BYTES - 8);
        expect(place, BYTES - 8, round);
    }
    vkDestroyBuffer(place->app->device, bind.buffer, NULL);
    vkFreeMemory(place->app->device, bind.memory, NULL);
}

/* The command that reads the memory is recorded before any map of it. */
static void record_then_map(const struct place *place)
{
    struct app *app = place->app;
    VkBufferCopy region = {.size = BYTES};
    VkMemoryRequirements requirements;
    VkBuffer buffer = create_buffer(place, BYTES, &requirements);
    VkDeviceMemory memory = allocate(place, requirements.size, NULL);
    CHECK_VK(vkBindBufferMemory(app->device, buffer, memory, 0));
    VkCommandBuffer commands = app_begin(app);
    vkCmdCopyBuffer(commands, buffer, place->result.buffer, 1, &region);
    fill(map(place, memory, 0), BYTES, 55);
    flush(place, memory, 0);
    finish_copy(place, commands);
    expect(place, BYTES, 55);
    vkDestroyBuffer(app->device, buffer, NULL);
    vkFreeMemory(app->device, memory, NULL);
}

static const VkImageCreateInfo image_info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                             .imageType = VK_IMAGE_TYPE_2D,
                                             .format = VK_FORMAT_R8G8B8A8_UNORM,
                                             .extent = {WIDTH, HEIGHT, 1},
                                             .mipLevels = 1,
                                             .arrayLayers = 1,
                                             .samples = VK_SAMPLE_COUNT_1_BIT,
                                             .tiling = VK_IMAGE_TILING_LINEAR,
                                             .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
                                             .initialLayout = VK_IMAGE_LAYOUT_PREINITIALIZED};

static void copy_image(const struct place *place, VkImage image)
{
    const struct app_image whole = {.image = image, .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                .imageExtent = {WIDTH, HEIGHT, 1}};
    VkCommandBuffer commands = app_begin(place->app);
    app_image_barrier(commands, &whole, VK_IMAGE_LAYOUT_PREINITIALIZED, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_GENERAL, place->result.buffer, 1, &region);
    finish_copy(place, commands);
}

/* The image comes last: its memory was allocated, and written through a map that is over, before there was an image. */
static void write_then_create(const struct place *place, const VkMemoryRequirements *requirements,
                              const VkSubresourceLayout *layout)
{
    struct app *app = place->app;
    VkDeviceMemory memory = allocate(place, requirements->size, NULL);
    uint8_t *mapped = map(place, memory, 0), texels[WIDTH * HEIGHT * 4];
    VkImage image;

    fill(texels, sizeof texels, 77);
    for (uint32_t y = 0; y < HEIGHT; y++)
        memcpy(mapped + layout->offset + y * layout->rowPitch, texels + y * WIDTH * 4, WIDTH * 4);
    flush(place, memory, 0);
    vkUnmapMemory(app->device, memory);
    CHECK_VK(vkCreateImage(app->device, &image_info, NULL, &image));
    CHECK_VK(vkBindImageMemory(app->device, image, memory, 0));
    copy_image(place, image);
    expect(place, sizeof texels, 77);
    vkDestroyImage(app->device, image, NULL);
    vkFreeMemory(app->device, memory, NULL);
}

static bool unasked;

static bool maps(const struct place *place)
{
    VkDeviceMemory memory = allocate(place, BYTES, NULL);
    void *pointer = NULL;
    bool is_mapped = vkMapMemory(place->app->device, memory, 0, VK_WHOLE_SIZE, 0, &pointer) >= 0;
    vkFreeMemory(place->app->device, memory, NULL);
    return is_mapped;
}

static void visit(struct place *place, uint32_t buffer_types, const VkMemoryRequirements *image,
                  const VkSubresourceLayout *layout)
{
    VkMemoryPropertyFlags flags = place->app->memory.memoryTypes[place->type].propertyFlags;
    bool visible = flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    if (!visible && (!unasked || !maps(place)))
        return;
    place->coherent = !visible || flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    printf("type %u%s\n", place->type, visible ? "" : ", which is not host-visible");
    if (buffer_types >> place->type & 1) {
        map_then_bind(place);
        record_then_map(place);
        memory_for_one_buffer(place);
    }
    if (image->memoryTypeBits >> place->type & 1 && layout->rowPitch >= WIDTH * 4)
        write_then_create(place, image, layout);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--unasked", "map types that are not host-visible, too", &unasked, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "places",
        .what = "Memory that is allocated, mapped, written and bound in different orders.",
        .frames = 1,
        .options = options};
    const VkImageSubresource color = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
    VkMemoryRequirements buffer_requirements, image_requirements;
    VkSubresourceLayout layout;
    struct app app;
    struct place place = {.app = &app};
    VkBuffer buffer;
    VkImage image;

    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    /* Not enabled, so it is not there. */
    CHECK(!vkGetDeviceProcAddr(app.device, "vkGetMemoryHostPointerPropertiesEXT"));
    app_buffer_create(&app, &place.result, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    buffer = create_buffer(&place, BYTES, &buffer_requirements);
    vkDestroyBuffer(app.device, buffer, NULL);
    /* Images that are made alike have the same layout. */
    CHECK_VK(vkCreateImage(app.device, &image_info, NULL, &image));
    vkGetImageMemoryRequirements(app.device, image, &image_requirements);
    vkGetImageSubresourceLayout(app.device, image, &color, &layout);
    vkDestroyImage(app.device, image, NULL);
    for (place.type = 0; place.type < app.memory.memoryTypeCount; place.type++)
        visit(&place, buffer_requirements.memoryTypeBits, &image_requirements, &layout);
    app_buffer_destroy(&app, &place.result);
    return app_finish(&app);
}
