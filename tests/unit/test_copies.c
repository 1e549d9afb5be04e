/* SPDX-License-Identifier: MIT */
/* Ranges of the layer's own memory. The driver is a few functions here. */
#include "layer/memory/copies.h"

#include <stdlib.h>
#include <string.h>

#include "layer/core/layer.h"
#include "layer/core/thread.h"
#include "tests/unit/unit.h"

struct layer_state layer;

static struct layer_device dev;
static struct layer_physical_device gpu;
static struct lap_map queues;
static unsigned buffers, memories; /* that there are */
static VkDeviceSize last_bytes;
static uint32_t last_type;
static bool is_full;

static VKAPI_ATTR VkResult VKAPI_CALL create_buffer(VkDevice device, const VkBufferCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator, VkBuffer *out)
{
    last_bytes = info->size;
    *out = gen_VkBuffer(++buffers);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_buffer(VkDevice device, VkBuffer buffer,
                                                 const VkAllocationCallbacks *allocator)
{
    buffers -= buffer != VK_NULL_HANDLE;
}

static VKAPI_ATTR void VKAPI_CALL get_requirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements *out)
{
    *out = (VkMemoryRequirements){last_bytes, 256, 6};
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate_memory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                      const VkAllocationCallbacks *allocator, VkDeviceMemory *out)
{
    if (is_full)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    last_type = info->memoryTypeIndex;
    *out = gen_VkDeviceMemory(++memories);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory memory,
                                              const VkAllocationCallbacks *allocator)
{
    memories -= memory != VK_NULL_HANDLE;
}

static VKAPI_ATTR VkResult VKAPI_CALL bind_memory(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                                  VkDeviceSize offset)
{
    return VK_SUCCESS;
}

static VKAPI_ATTR VkDeviceAddress VKAPI_CALL get_address(VkDevice device, const VkBufferDeviceAddressInfo *info)
{
    return 0x10000;
}

static void begin(void)
{
    memset(&dev, 0, sizeof dev);
    memset(&gpu, 0, sizeof gpu);
    lap_map_init(&queues);
    dev.maps[GEN_HANDLE_VkQueue] = &queues;
    dev.physical_device = &gpu;
    gpu.memory.memoryTypeCount = 3;
    gpu.memory.memoryTypes[1].propertyFlags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    gpu.memory.memoryTypes[0].propertyFlags = gpu.memory.memoryTypes[2].propertyFlags =
        VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    dev.vk.CreateBuffer = create_buffer;
    dev.vk.DestroyBuffer = destroy_buffer;
    dev.vk.GetBufferMemoryRequirements = get_requirements;
    dev.vk.AllocateMemory = allocate_memory;
    dev.vk.FreeMemory = free_memory;
    dev.vk.BindBufferMemory = bind_memory;
    dev.vk.GetBufferDeviceAddress = get_address;
    is_full = false;
    layer_copies_init(&dev);
}

static void end(void)
{
    layer_copies_finish(&dev);
    CHECK(buffers == 0 && memories == 0);
    lap_map_finish(&queues);
}

UNIT_TEST(ranges_lie_apart_in_memory_of_the_device)
{
    struct layer_copy a, b, large;

    begin();
    CHECK(layer_copies_take(&dev, 1, &a) && layer_copies_take(&dev, 1000, &b));
    CHECK(last_type == 2); /* the first one of the device that the buffer may have */
    CHECK(a.chunk == b.chunk && a.bytes == 256 && b.bytes == 1024 && b.offset == 256);
    CHECK(layer_copies_take(&dev, (VkDeviceSize)64 << 20, &large) && large.chunk != a.chunk && buffers == 2);
    layer_copies_give(&dev, &large);
    CHECK(buffers == 1 && memories == 1);
    layer_copies_give(&dev, &a);
    layer_copies_give(&dev, &b);
    CHECK(!a.bytes && !b.bytes && buffers == 1); /* the last one stays */
    end();
}

UNIT_TEST(without_memory_nothing_is_taken)
{
    struct layer_copy copy;

    begin();
    is_full = true;
    CHECK(!layer_copies_take(&dev, 1, &copy) && !copy.bytes && !buffers);
    CHECK(!layer_copies_take(&dev, UINT64_MAX, &copy));
    layer_copies_give(&dev, &copy);
    end();
}

UNIT_TEST(what_is_given_back_is_taken_again)
{
    enum { COUNT = 200 };
    static struct layer_copy copies[COUNT];

    begin();
    srand(3);
    for (unsigned round = 0; round < 20000; round++) {
        struct layer_copy *copy = &copies[(unsigned)rand() % COUNT];
        if (copy->bytes) {
            layer_copies_give(&dev, copy);
            continue;
        }
        if (!layer_copies_take(&dev, 1 + (unsigned)rand() % 100000, copy))
            continue;
        CHECK(copy->offset + copy->bytes <= copy->chunk->bytes);
        for (unsigned i = 0; i < COUNT; i++)
            CHECK(&copies[i] == copy || !copies[i].bytes || copies[i].chunk != copy->chunk ||
                  copies[i].offset + copies[i].bytes <= copy->offset || copy->offset + copy->bytes <= copies[i].offset);
    }
    CHECK(buffers < 10);
    for (unsigned i = 0; i < COUNT; i++)
        layer_copies_give(&dev, &copies[i]);
    CHECK(buffers == 1);
    CHECK(dev.copies.chunks->free_count == 1 && dev.copies.chunks->free[0].bytes == dev.copies.chunks->bytes);
    end();
}

UNIT_MAIN();
