/* SPDX-License-Identifier: MIT */
#include "vulkan/readback.h"

#include "tests/unit/device.h"
#include "tests/unit/unit.h"
#include "vulkan/texel/pixels.h"

struct image {
    VkImage image;
    VkDeviceMemory memory;
};

static void create_image(const struct unit_device *gpu, struct image *image, VkFormat format, VkExtent2D extent)
{
    VkImageCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = format,
        .extent = {extent.width, extent.height, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_SAMPLED_BIT,
    };
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;

    CHECK_EQ_INT(gpu->vk.CreateImage(gpu->device, &create, NULL, &image->image), VK_SUCCESS);
    gpu->vk.GetImageMemoryRequirements(gpu->device, image->image, &needs);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = (uint32_t)__builtin_ctz(needs.memoryTypeBits);
    CHECK_EQ_INT(gpu->vk.AllocateMemory(gpu->device, &allocate, NULL, &image->memory), VK_SUCCESS);
    CHECK_EQ_INT(gpu->vk.BindImageMemory(gpu->device, image->image, image->memory, 0), VK_SUCCESS);
}

static void destroy_image(const struct unit_device *gpu, struct image *image)
{
    gpu->vk.DestroyImage(gpu->device, image->image, NULL);
    gpu->vk.FreeMemory(gpu->device, image->memory, NULL);
}

/* Submits a clear (or, where `from` is no undefined layout, only a transition) that signals a semaphore. */
static void prepare(const struct unit_device *gpu, VkCommandPool pool, VkImage image, const float color[4],
                    VkImageLayout from, VkImageLayout to, VkSemaphore signal)
{
    VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkClearColorValue value;
    VkCommandBuffer commands;
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &commands,
                           .signalSemaphoreCount = signal ? 1 : 0,
                           .pSignalSemaphores = &signal};

    memcpy(value.float32, color, sizeof value.float32);
    CHECK_EQ_INT(gpu->vk.AllocateCommandBuffers(gpu->device, &allocate, &commands), VK_SUCCESS);
    CHECK_EQ_INT(gpu->vk.BeginCommandBuffer(commands, &begin), VK_SUCCESS);
    if (from == VK_IMAGE_LAYOUT_UNDEFINED) {
        unit_change_layout(gpu->vk.CmdPipelineBarrier, commands, image, from, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
        gpu->vk.CmdClearColorImage(commands, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &value, 1, &range);
        from = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    }
    if (from != to)
        unit_change_layout(gpu->vk.CmdPipelineBarrier, commands, image, from, to);
    CHECK_EQ_INT(gpu->vk.EndCommandBuffer(commands), VK_SUCCESS);
    CHECK_EQ_INT(gpu->vk.QueueSubmit(gpu->queue, 1, &submit, VK_NULL_HANDLE), VK_SUCCESS);
}

static bool all_pixels_are(const uint8_t *pixels, size_t bytes, const uint8_t *pixel, size_t pixel_bytes)
{
    for (size_t i = 0; i < bytes; i += pixel_bytes)
        if (memcmp(pixels + i, pixel, pixel_bytes) != 0)
            return false;
    return true;
}

static void read_images(struct unit_device *gpu, struct lap_readback *rb, VkCommandPool pool)
{
    static const float color[4] = {1, 0, 0.2f, 1}; /* 0.2 is 51 / 255 and rounds nowhere */
    static const struct {
        VkFormat format;
        VkExtent2D extent;
        VkImageLayout layout;
        uint8_t pixel[4];
        size_t pixel_bytes;
    } cases[] = {
        {VK_FORMAT_R8G8B8A8_UNORM, {33, 7}, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, {255, 0, 51, 255}, 4},
        {VK_FORMAT_B8G8R8A8_UNORM, {33, 7}, VK_IMAGE_LAYOUT_GENERAL, {51, 0, 255, 255}, 4},
        {VK_FORMAT_R5G6B5_UNORM_PACK16, {3, 3}, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL, {6, 0xf8}, 2},
        {VK_FORMAT_R8G8B8A8_UNORM, {1000, 600}, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, {255, 0, 51, 255}, 4},
    };
    VkSemaphoreCreateInfo semaphore_create = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkSemaphore semaphore;

    CHECK_EQ_INT(gpu->vk.CreateSemaphore(gpu->device, &semaphore_create, NULL, &semaphore), VK_SUCCESS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lap_readback_queue at = {.queue = gpu->queue,
                                        .family = gpu->family,
                                        .wait_count = 1,
                                        .waits = &semaphore,
                                        .signal_count = 1,
                                        .signals = &semaphore};
        struct image image;
        const void *pixels;
        size_t bytes = 0;
        bool submitted = false;

        create_image(gpu, &image, cases[i].format, cases[i].extent);
        prepare(gpu, pool, image.image, color, VK_IMAGE_LAYOUT_UNDEFINED, cases[i].layout, semaphore);
        CHECK_EQ_INT(lap_readback_image(rb, &at, image.image, cases[i].format, cases[i].extent, cases[i].layout,
                                        &pixels, &bytes, &submitted),
                     LAP_OK);
        CHECK(submitted);
        CHECK_EQ_U64(bytes, cases[i].extent.width * cases[i].extent.height * cases[i].pixel_bytes);
        if (pixels)
            CHECK(all_pixels_are(pixels, bytes, cases[i].pixel, cases[i].pixel_bytes));
        /* Waits for what the first one signalled, finds the layout as it was, and waits for nothing of its own. */
        at.signal_count = 0;
        CHECK_EQ_INT(lap_readback_image(rb, &at, image.image, cases[i].format, cases[i].extent, cases[i].layout,
                                        &pixels, &bytes, NULL),
                     LAP_OK);
        prepare(gpu, pool, image.image, color, cases[i].layout, VK_IMAGE_LAYOUT_GENERAL, VK_NULL_HANDLE);
        CHECK_EQ_INT(gpu->vk.QueueWaitIdle(gpu->queue), VK_SUCCESS);
        destroy_image(gpu, &image);
    }
    gpu->vk.DestroySemaphore(gpu->device, semaphore, NULL);
}

static void refuse_unknown_formats(struct unit_device *gpu, struct lap_readback *rb)
{
    struct lap_readback_queue at = {.queue = gpu->queue, .family = gpu->family};
    const void *pixels;
    size_t bytes;
    bool submitted = true;

    CHECK_EQ_INT(lap_readback_image(rb, &at, VK_NULL_HANDLE, VK_FORMAT_D32_SFLOAT, (VkExtent2D){1, 1},
                                    VK_IMAGE_LAYOUT_GENERAL, &pixels, &bytes, &submitted),
                 LAP_ERROR_UNSUPPORTED);
    CHECK(!submitted && !pixels);
    CHECK_EQ_INT(lap_readback_image(rb, &at, VK_NULL_HANDLE, VK_FORMAT_R8G8B8A8_UNORM, (VkExtent2D){0, 1},
                                    VK_IMAGE_LAYOUT_GENERAL, &pixels, &bytes, &submitted),
                 LAP_ERROR_UNSUPPORTED);
}

static void read_a_buffer(struct unit_device *gpu, struct lap_readback *rb, VkCommandPool pool)
{
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .size = 4096,
                                 .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkCommandBufferAllocateInfo allocate_commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    struct lap_readback_queue at = {.queue = gpu->queue, .family = gpu->family};
    const uint8_t four[4] = {0x78, 0x56, 0x34, 0x12};
    uint64_t low, high, again_low, again_high;
    uint8_t expected[12];
    VkMemoryRequirements needs;
    VkDeviceMemory memory;
    VkCommandBuffer commands;
    VkBuffer buffer;
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    const void *data = NULL;

    CHECK_EQ_INT(gpu->vk.CreateBuffer(gpu->device, &create, NULL, &buffer), VK_SUCCESS);
    gpu->vk.GetBufferMemoryRequirements(gpu->device, buffer, &needs);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = (uint32_t)__builtin_ctz(needs.memoryTypeBits);
    CHECK_EQ_INT(gpu->vk.AllocateMemory(gpu->device, &allocate, NULL, &memory), VK_SUCCESS);
    CHECK_EQ_INT(gpu->vk.BindBufferMemory(gpu->device, buffer, memory, 0), VK_SUCCESS);
    CHECK_EQ_INT(gpu->vk.AllocateCommandBuffers(gpu->device, &allocate_commands, &commands), VK_SUCCESS);
    CHECK_EQ_INT(gpu->vk.BeginCommandBuffer(commands, &begin), VK_SUCCESS);
    gpu->vk.CmdFillBuffer(commands, buffer, 0, 4096, 0x12345678);
    CHECK_EQ_INT(gpu->vk.EndCommandBuffer(commands), VK_SUCCESS);
    CHECK_EQ_INT(gpu->vk.QueueSubmit(gpu->queue, 1, &submit, VK_NULL_HANDLE), VK_SUCCESS);

    CHECK_EQ_INT(lap_readback_buffer(rb, &at, buffer, 1025, 12, &data), LAP_OK);
    for (size_t i = 0; i < sizeof expected; i++)
        expected[i] = four[(i + 1) % 4];
    if (data) {
        CHECK(memcmp(data, expected, sizeof expected) == 0);
        lap_pixels_hash(data, sizeof expected, &low, &high);
        lap_pixels_hash(expected, sizeof expected, &again_low, &again_high);
        CHECK_EQ_U64(low, again_low);
        CHECK_EQ_U64(high, again_high);
    }
    gpu->vk.DestroyBuffer(gpu->device, buffer, NULL);
    gpu->vk.FreeMemory(gpu->device, memory, NULL);
}

static void with_device(void (*run)(struct unit_device *gpu, struct lap_readback *rb, VkCommandPool pool),
                        const char **out_skip)
{
    VkCommandPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    struct unit_device gpu;
    struct lap_readback rb;
    VkCommandPool pool;

    if (!unit_device_init(&gpu)) {
        *out_skip = "no Vulkan driver";
        return;
    }
    create.queueFamilyIndex = gpu.family;
    CHECK_EQ_INT(gpu.vk.CreateCommandPool(gpu.device, &create, NULL, &pool), VK_SUCCESS);
    lap_readback_init(&rb, gpu.device, &gpu.vk, &gpu.memory, NULL);
    run(&gpu, &rb, pool);
    lap_readback_finish(&rb);
    gpu.vk.DestroyCommandPool(gpu.device, pool, NULL);
    unit_device_finish(&gpu);
    CHECK_EQ_INT(gpu.messages, 0);
}

static void images(struct unit_device *gpu, struct lap_readback *rb, VkCommandPool pool)
{
    refuse_unknown_formats(gpu, rb);
    read_images(gpu, rb, pool);
}

UNIT_TEST(images_come_back_tightly)
{
    const char *skip = NULL;
    with_device(images, &skip);
    if (skip)
        SKIP(skip);
}

UNIT_TEST(buffers_come_back)
{
    const char *skip = NULL;
    with_device(read_a_buffer, &skip);
    if (skip)
        SKIP(skip);
}

UNIT_TEST(what_was_never_used_is_finished)
{
    struct lap_readback rb = {0};
    lap_readback_finish(&rb);
    CHECK(rb.vk == NULL);
}

UNIT_MAIN();
