/* SPDX-License-Identifier: MIT */
/*
 * memory: objects come and go over bytes that stay, and the host writes at every time and through every kind of mapping
 * at which it may: before there is an object, through windows that take turns, before an unmap that nothing follows.
 * Dedicated allocations, allocations that get the address of one that was freed, two devices at once. With --many tens
 * of thousands of buffers in one allocation, of which a few are written in each frame. What buffers and images hold is
 * copied out by the GPU and compared with what the host knows of it.
 */
#include "common/app.h"

#define HEAP_BYTES  (256u << 10)
#define CHECK_BYTES (64u << 10)
#define MANY        20000u
#define MANY_BYTES  40u
#define MANY_WRITES 30u

/* One mappable allocation, and the bytes that the host has put into it. */
struct heap {
    const struct app *app;
    VkDeviceMemory memory;
    uint32_t type;
    VkDeviceSize bytes, unit; /* unit: what two buffers are apart at least */
    bool coherent;
    uint8_t *base; /* where byte 0 would be mapped; NULL while nothing is */
    VkDeviceSize first, end;
    uint8_t *model;
};

struct scene {
    const struct app *app;
    struct app_buffer check;
};

static bool use_map_2, only_many;

/* ---- a heap ---- */

static VkBuffer create_buffer(const struct app *app, VkDeviceSize size)
{
    VkBuffer buffer;
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    create.size = size;
    create.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    CHECK_VK(vkCreateBuffer(app->device, &create, NULL, &buffer));
    return buffer;
}

static VkMemoryRequirements buffer_needs(const struct app *app, VkBuffer buffer)
{
    VkMemoryRequirements requirements;
    vkGetBufferMemoryRequirements(app->device, buffer, &requirements);
    return requirements;
}

static VkDeviceSize larger(VkDeviceSize a, VkDeviceSize b)
{
    return a > b ? a : b;
}

/* next: a chain for the allocation. needs: those of whatever will lie there. */
static void heap_allocate(struct heap *heap, const struct app *app, const VkMemoryRequirements *needs,
                          VkDeviceSize bytes, const void *next)
{
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = next};
    *heap = (struct heap){.app = app, .bytes = larger(bytes, needs->size)};
    heap->unit = larger(needs->alignment, app->properties.limits.nonCoherentAtomSize);
    heap->type = app_memory_type_for(app, needs->memoryTypeBits, APP_UPLOAD);
    heap->coherent = app_memory_coherent(app, heap->type);
    heap->model = calloc(1, heap->bytes);
    CHECK(heap->model);
    allocate.allocationSize = heap->bytes;
    allocate.memoryTypeIndex = heap->type;
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &heap->memory));
}

static void heap_create(struct heap *heap, const struct app *app, VkDeviceSize bytes)
{
    VkBuffer probe = create_buffer(app, bytes);
    VkMemoryRequirements needs = buffer_needs(app, probe);
    vkDestroyBuffer(app->device, probe, NULL);
    heap_allocate(heap, app, &needs, bytes, NULL);
}

static void heap_destroy(struct heap *heap)
{
    vkFreeMemory(heap->app->device, heap->memory, NULL); /* unmaps */
    free(heap->model);
    *heap = (struct heap){0};
}

/* What Vulkan 1.4 and VK_KHR_map_memory2 declare, for headers that are older. */
struct map_info {
    VkStructureType sType; /* 1000271000 */
    const void *pNext;
    VkFlags flags;
    VkDeviceMemory memory;
    VkDeviceSize offset, size;
};

struct unmap_info {
    VkStructureType sType; /* 1000271001 */
    const void *pNext;
    VkFlags flags;
    VkDeviceMemory memory;
};

static void *map_memory(const struct app *app, VkDeviceMemory memory, VkDeviceSize first, VkDeviceSize size)
{
    void *mapped = NULL;
    if (use_map_2) {
        const struct map_info info = {(VkStructureType)1000271000, NULL, 0, memory, first, size};
        VkResult (*map)(VkDevice, const struct map_info *, void **) =
            (VkResult(*)(VkDevice, const struct map_info *, void **))app_device_function(app, "vkMapMemory2KHR");
        CHECK_VK(map(app->device, &info, &mapped));
    } else {
        CHECK_VK(vkMapMemory(app->device, memory, first, size, 0, &mapped));
    }
    return mapped;
}

static void heap_unmap(struct heap *heap)
{
    const struct app *app = heap->app;
    if (use_map_2) {
        const struct unmap_info info = {(VkStructureType)1000271001, NULL, 0, heap->memory};
        VkResult (*unmap)(VkDevice, const struct unmap_info *) =
            (VkResult(*)(VkDevice, const struct unmap_info *))app_device_function(app, "vkUnmapMemory2KHR");
        CHECK_VK(unmap(app->device, &info));
    } else {
        vkUnmapMemory(app->device, heap->memory);
    }
    heap->base = NULL;
    heap->first = heap->end = 0;
}

/* Coherent memory exactly so; otherwise the whole atoms, because they are flushed. */
static void heap_map(struct heap *heap, VkDeviceSize first, VkDeviceSize size)
{
    VkDeviceSize atom = heap->coherent ? 1 : heap->app->properties.limits.nonCoherentAtomSize;
    VkDeviceSize end = (first + size + atom - 1) / atom * atom;
    first = first / atom * atom;
    end = end < heap->bytes ? end : heap->bytes;
    heap->base = (uint8_t *)map_memory(heap->app, heap->memory, first, end - first) - first;
    heap->first = first;
    heap->end = end;
}

static void heap_map_all(struct heap *heap)
{
    heap->base = map_memory(heap->app, heap->memory, 0, VK_WHOLE_SIZE);
    heap->first = 0;
    heap->end = heap->bytes;
}

/* Writes what follows from salt; never zeroes, which memory may hold anyway. */
static void heap_store(struct heap *heap, VkDeviceSize at, VkDeviceSize size, uint32_t salt)
{
    CHECK(heap->base && at >= heap->first && at + size <= heap->end);
    for (VkDeviceSize i = 0; i < size; i++) {
        uint8_t value = (uint8_t)(1 + (salt * 37 + i * 7 + i / 251) % 255);
        heap->base[at + i] = heap->model[at + i] = value;
    }
    if (!heap->coherent)
        app_memory_sync(heap->app, heap->memory, heap->bytes, at, size, false);
}

static VkBuffer heap_buffer(const struct heap *heap, VkDeviceSize at, VkDeviceSize size)
{
    VkBuffer buffer = create_buffer(heap->app, size);
    VkMemoryRequirements needs = buffer_needs(heap->app, buffer);
    CHECK(at % needs.alignment == 0 && at + needs.size <= heap->bytes && needs.memoryTypeBits >> heap->type & 1);
    CHECK_VK(vkBindBufferMemory(heap->app->device, buffer, heap->memory, at));
    return buffer;
}

/* The smallest multiple of the heap's unit from at on. */
static VkDeviceSize heap_place(const struct heap *heap, VkDeviceSize at)
{
    return (at + heap->unit - 1) / heap->unit * heap->unit;
}

/* ---- looking at what the GPU finds ---- */

static void before_host(VkCommandBuffer commands)
{
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

static void expect_buffer(struct scene *scene, VkBuffer buffer, VkDeviceSize size, const uint8_t *model)
{
    CHECK(size <= scene->check.size);
    VkCommandBuffer commands = app_begin(scene->app);
    vkCmdCopyBuffer(commands, buffer, scene->check.buffer, 1, &(VkBufferCopy){0, 0, size});
    before_host(commands);
    app_run(scene->app, commands);
    app_buffer_invalidate(scene->app, &scene->check, 0, scene->check.size);
    EXPECT_EQ(scene->app, memcmp(scene->check.mapped, model, size), 0);
}

/* A buffer for as long as it takes to look at it. */
static void expect_heap(struct scene *scene, const struct heap *heap, VkDeviceSize at, VkDeviceSize size)
{
    VkBuffer buffer = heap_buffer(heap, at, size);
    expect_buffer(scene, buffer, size, heap->model + at);
    vkDestroyBuffer(heap->app->device, buffer, NULL);
}

/* ---- images of linear tiling ---- */

struct picture {
    struct app_image image;
    VkMemoryRequirements needs;
    VkSubresourceLayout layout;
    VkImageLayout now;
    VkExtent3D extent;
};

static bool picture_create(const struct app *app, struct picture *picture, VkImageTiling tiling)
{
    const bool linear = tiling == VK_IMAGE_TILING_LINEAR;
    VkImageCreateInfo create = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
    *picture = (struct picture){.extent = {61, 23, 1}, .image = {.aspect = VK_IMAGE_ASPECT_COLOR_BIT}};
    create.imageType = VK_IMAGE_TYPE_2D;
    create.format = VK_FORMAT_R8G8B8A8_UNORM;
    create.extent = picture->extent;
    create.mipLevels = create.arrayLayers = 1;
    create.samples = VK_SAMPLE_COUNT_1_BIT;
    create.tiling = tiling;
    create.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | (linear ? 0 : VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    create.initialLayout = picture->now = linear ? VK_IMAGE_LAYOUT_PREINITIALIZED : VK_IMAGE_LAYOUT_UNDEFINED;
    if (!app_format_has(app, create.format, tiling, VK_FORMAT_FEATURE_TRANSFER_SRC_BIT))
        return false;
    CHECK_VK(vkCreateImage(app->device, &create, NULL, &picture->image.image));
    vkGetImageMemoryRequirements(app->device, picture->image.image, &picture->needs);
    if (linear)
        vkGetImageSubresourceLayout(app->device, picture->image.image,
                                    &(VkImageSubresource){VK_IMAGE_ASPECT_COLOR_BIT, 0, 0}, &picture->layout);
    return true;
}

static VkBufferImageCopy picture_copy(const struct picture *picture)
{
    return (VkBufferImageCopy){.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                               .imageExtent = picture->extent};
}

/* model: what the host has put into the memory, from where the image begins. Padding is nobody's. */
static void expect_picture(struct scene *scene, struct picture *picture, const uint8_t *model)
{
    const VkDeviceSize row = picture->extent.width * 4;
    VkBufferImageCopy region = picture_copy(picture);
    VkCommandBuffer commands = app_begin(scene->app);
    app_image_barrier(commands, &picture->image, picture->now, VK_IMAGE_LAYOUT_GENERAL);
    picture->now = VK_IMAGE_LAYOUT_GENERAL;
    vkCmdCopyImageToBuffer(commands, picture->image.image, VK_IMAGE_LAYOUT_GENERAL, scene->check.buffer, 1, &region);
    before_host(commands);
    app_run(scene->app, commands);
    app_buffer_invalidate(scene->app, &scene->check, 0, scene->check.size);
    for (uint32_t y = 0; y < picture->extent.height; y++)
        EXPECT_EQ(
            scene->app,
            memcmp(scene->check.mapped + y * row, model + picture->layout.offset + y * picture->layout.rowPitch, row),
            0);
}

/* An image for as long as it takes to look at it. */
static void expect_heap_picture(struct scene *scene, const struct heap *heap, VkDeviceSize at)
{
    struct picture picture;
    if (!picture_create(scene->app, &picture, VK_IMAGE_TILING_LINEAR)) {
        printf("left out: linear images\n");
        return;
    }
    at = (at + picture.needs.alignment - 1) / picture.needs.alignment * picture.needs.alignment;
    if (picture.needs.memoryTypeBits >> heap->type & 1 && at + picture.needs.size <= heap->bytes) {
        CHECK_VK(vkBindImageMemory(scene->app->device, picture.image.image, heap->memory, at));
        expect_picture(scene, &picture, heap->model + at);
    } else {
        printf("left out: linear images where buffers are\n");
    }
    vkDestroyImage(scene->app->device, picture.image.image, NULL);
}

/* ---- the sections ---- */

/* New objects over old contents: mapped and unmapped, of another kind, elsewhere, and over what was the GPU's. */
static void rebind(struct scene *scene)
{
    const struct app *app = scene->app;
    struct heap heap;
    heap_create(&heap, app, HEAP_BYTES);
    heap_map_all(&heap);
    heap_store(&heap, 0, HEAP_BYTES, 1);
    VkDeviceSize at = heap_place(&heap, 10000);
    for (uint32_t round = 0; round < 2; round++) {
        expect_heap(scene, &heap, at, 5000);
        expect_heap(scene, &heap, at, 5000); /* the same place, the same bytes, another buffer */
        expect_heap(scene, &heap, at + heap.unit, 7000);
        expect_heap_picture(scene, &heap, at);
        expect_heap_picture(scene, &heap, at);
        expect_heap_picture(scene, &heap, at + 3 * heap.unit);
        expect_heap(scene, &heap, at, 5000);
        if (round == 0) {
            heap_store(&heap, at + 100, 50, 2);
            heap_unmap(&heap);
        }
    }
    /* Where the GPU has written last, the host's bytes are gone. */
    VkBuffer buffer = heap_buffer(&heap, at, 4096);
    VkCommandBuffer commands = app_begin(app);
    vkCmdFillBuffer(commands, buffer, 1024, 1024, 0x7b7b7b7b);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                       VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    memset(heap.model + at + 1024, 0x7b, 1024);
    expect_buffer(scene, buffer, 4096, heap.model + at);
    heap_map_all(&heap);
    if (!heap.coherent)
        app_memory_sync(app, heap.memory, heap.bytes, 0, heap.bytes, true);
    heap_store(&heap, at + 1500, 3, 4);
    expect_buffer(scene, buffer, 4096, heap.model + at);
    vkDestroyBuffer(app->device, buffer, NULL);
    heap_destroy(&heap);
}

/* The host writes at all times: before there is an object, in windows that take turns, and just before an unmap. */
static void times(struct scene *scene)
{
    const struct app *app = scene->app;
    struct heap heap, other;
    heap_create(&heap, app, HEAP_BYTES);
    heap_create(&other, app, HEAP_BYTES);

    heap_map(&heap, 0, 8192); /* before a bind, and before another range is mapped */
    heap_store(&heap, 0, 8192, 10);
    heap_unmap(&heap);
    heap_map(&heap, 12345, 20000);
    heap_store(&heap, 12345, 20000, 11);
    VkBuffer early = heap_buffer(&heap, 0, 8192);
    expect_buffer(scene, early, 8192, heap.model);
    heap_unmap(&heap);
    VkDeviceSize at = heap_place(&heap, 12345);
    expect_heap(scene, &heap, at, 20000 - (at - 12345));
    expect_buffer(scene, early, 8192, heap.model);

    VkBuffer late = heap_buffer(&heap, heap_place(&heap, 100000), 30000); /* windows, some of them over another's end */
    VkDeviceSize begin = heap_place(&heap, 100000);
    heap_map(&heap, begin, 30000);
    heap_store(&heap, begin, 30000, 12);
    heap_unmap(&heap);
    for (uint32_t i = 0; i < 12; i++) {
        VkDeviceSize first = begin + i * 2311;
        heap_map(&heap, first, 3000);
        heap_store(&heap, first + i, 2900, i % 3 ? 20 + i : 19 + i);
        if (i % 4 == 1)
            expect_buffer(scene, late, 30000, heap.model + begin);
        heap_unmap(&heap);
        if (i % 4 == 3) /* what was written stays, though nothing is mapped */
            expect_buffer(scene, late, 30000, heap.model + begin);
    }
    heap_map_all(&heap); /* the same bytes again, and a few others */
    heap_store(&heap, begin, 2311, 19);
    heap_store(&heap, begin + 20000, 10, 99);

    heap_map_all(&other); /* two mappings at once, written in turns */
    heap_store(&other, 0, 30000, 40);
    for (uint32_t i = 0; i < 6; i++) {
        struct heap *one = i % 2 ? &other : &heap;
        heap_store(one, (i % 2 ? 0 : begin) + i * 100, 60, 50 + i);
        if (i == 3)
            heap_unmap(&other);
        if (i == 4)
            heap_map_all(&other);
    }
    expect_buffer(scene, late, 30000, heap.model + begin);
    expect_heap(scene, &other, 0, 30000);
    vkDestroyBuffer(app->device, early, NULL);
    vkDestroyBuffer(app->device, late, NULL);
    heap_destroy(&other);
    heap_destroy(&heap);
}

static void dedicated_buffer(struct scene *scene)
{
    const struct app *app = scene->app;
    VkMemoryDedicatedAllocateInfo dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO};
    struct heap heap;
    VkBuffer buffer = dedicated.buffer = create_buffer(app, 30001); /* the rest of the allocation is padding */
    VkMemoryRequirements needs = buffer_needs(app, buffer);
    heap_allocate(&heap, app, &needs, needs.size, &dedicated);
    heap_map_all(&heap);
    heap_store(&heap, 0, heap.bytes, 60);
    CHECK_VK(vkBindBufferMemory(app->device, buffer, heap.memory, 0));
    expect_buffer(scene, buffer, 30001, heap.model);
    heap_store(&heap, 7000, 3, 61);
    heap_unmap(&heap);
    expect_buffer(scene, buffer, 30001, heap.model);
    vkDestroyBuffer(app->device, buffer, NULL);
    heap_destroy(&heap);
}

static void dedicated_picture(struct scene *scene, VkImageTiling tiling)
{
    const struct app *app = scene->app;
    VkMemoryDedicatedAllocateInfo dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &dedicated};
    struct picture picture;
    if (!picture_create(app, &picture, tiling)) {
        printf("left out: a dedicated linear image\n");
        return;
    }
    dedicated.image = picture.image.image;
    if (tiling == VK_IMAGE_TILING_LINEAR) {
        struct heap heap;
        heap_allocate(&heap, app, &picture.needs, picture.needs.size, &dedicated);
        CHECK_VK(vkBindImageMemory(app->device, picture.image.image, heap.memory, 0));
        heap_map_all(&heap);
        heap_store(&heap, 0, heap.bytes, 70);
        expect_picture(scene, &picture, heap.model);
        heap_store(&heap, picture.layout.offset + 2 * picture.layout.rowPitch + 12, 8, 71);
        expect_picture(scene, &picture, heap.model);
        vkDestroyImage(app->device, picture.image.image, NULL);
        heap_destroy(&heap);
        return;
    }
    struct heap source; /* an image of device memory gets its texels from a buffer */
    VkBufferImageCopy region = picture_copy(&picture);
    picture.layout.rowPitch = picture.extent.width * 4;
    allocate.allocationSize = picture.needs.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, picture.needs.memoryTypeBits, APP_DEVICE);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &picture.image.memory));
    CHECK_VK(vkBindImageMemory(app->device, picture.image.image, picture.image.memory, 0));
    heap_create(&source, app, HEAP_BYTES);
    heap_map_all(&source);
    heap_store(&source, 0, 10000, 80);
    VkBuffer buffer = heap_buffer(&source, 0, 10000);
    VkCommandBuffer commands = app_begin(app);
    app_image_barrier(commands, &picture.image, picture.now, VK_IMAGE_LAYOUT_GENERAL);
    picture.now = VK_IMAGE_LAYOUT_GENERAL;
    vkCmdCopyBufferToImage(commands, buffer, picture.image.image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    app_run(app, commands);
    expect_picture(scene, &picture, source.model);
    vkDestroyBuffer(app->device, buffer, NULL);
    heap_destroy(&source);
    app_image_destroy(app, &picture.image);
}

/*
 * Allocations that follow one another, of which a driver may give the next one the address of the last, and its bytes.
 * All but a few bytes are those that the one before held: they are written all the same, and a new buffer needs them.
 */
static void allocate_again(struct scene *scene)
{
    static const VkDeviceSize sizes[] = {1u << 20, 3000};
    for (uint32_t size = 0; size < COUNT_OF(sizes); size++) {
        const void *before = NULL;
        uint32_t same = 0;
        for (uint32_t round = 0; round < 12; round++) {
            struct heap heap;
            heap_create(&heap, scene->app, sizes[size]);
            VkBuffer buffer = heap_buffer(&heap, 0, sizes[size] - 100);
            heap_map_all(&heap);
            same += heap.base == before;
            before = heap.base;
            heap_store(&heap, 0, 2500, 90);
            heap_store(&heap, 100 * (round % 4), 50, 91 + round);
            if (round % 3 == 1)
                heap_unmap(&heap);
            expect_buffer(scene, buffer, 2500, heap.model);
            if (round % 2)
                vkDestroyBuffer(scene->app->device, buffer, NULL);
            heap_destroy(&heap);
            if (round % 2 == 0)
                vkDestroyBuffer(scene->app->device, buffer, NULL);
        }
        printf("allocations of %u bytes at the address of the last one: %u\n", (uint32_t)sizes[size], same);
    }
}

/* Both devices have work in flight while the host writes into memory of both. */
static void two_devices(const struct app *first, const struct app_device_request *request)
{
    struct app apps[2] = {*first, *first};
    struct heap heaps[2];
    struct app_buffer results[2];
    VkBuffer buffers[2];
    app_device_create(&apps[0], request);
    app_device_create(&apps[1], request);
    for (uint32_t i = 0; i < 2; i++) {
        heap_create(&heaps[i], &apps[i], HEAP_BYTES);
        heap_map_all(&heaps[i]);
        heap_store(&heaps[i], 0, 8192, 100 + i);
        buffers[i] = heap_buffer(&heaps[i], 0, 8192);
        app_buffer_create(&apps[i], &results[i], 8192, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    }
    for (uint32_t round = 0; round < 8; round++) {
        const VkFenceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
        const uint32_t half = round % 2 * 4096; /* the GPUs have one, the host the other */
        VkCommandBuffer commands[2];
        VkFence fences[2];
        for (uint32_t i = 0; i < 2; i++) {
            commands[i] = app_begin(&apps[i]);
            vkCmdCopyBuffer(commands[i], buffers[i], results[i].buffer, 1, &(VkBufferCopy){half, half, 4096});
            before_host(commands[i]);
            CHECK_VK(vkEndCommandBuffer(commands[i]));
            CHECK_VK(vkCreateFence(apps[i].device, &create, NULL, &fences[i]));
            VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
            submit.commandBufferCount = 1;
            submit.pCommandBuffers = &commands[i];
            CHECK_VK(vkQueueSubmit(apps[i].queue, 1, &submit, fences[i]));
        }
        for (uint32_t i = 0; i < 2; i++)
            heap_store(&heaps[i], (4096 - half) + 64 * ((round * 5 + i) % 60), 40, 110 + round * 2 + i);
        for (uint32_t i = 0; i < 2; i++) {
            CHECK_VK(vkWaitForFences(apps[i].device, 1, &fences[i], VK_TRUE, UINT64_MAX));
            app_buffer_invalidate(&apps[i], &results[i], 0, results[i].size);
            EXPECT_EQ(first, memcmp(results[i].mapped + half, heaps[i].model + half, 4096), 0);
            vkDestroyFence(apps[i].device, fences[i], NULL);
            vkFreeCommandBuffers(apps[i].device, apps[i].pool, 1, &commands[i]);
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        vkDestroyBuffer(apps[i].device, buffers[i], NULL);
        app_buffer_destroy(&apps[i], &results[i]);
        heap_destroy(&heaps[i]);
        app_device_destroy(&apps[i]);
    }
}

/* Of all the buffers a few are written and a few are read in each frame, not the same ones; in the end all are read. */
static void many(struct scene *scene)
{
    const struct app *app = scene->app;
    VkBuffer *buffers = calloc(MANY, sizeof(VkBuffer)), probe = create_buffer(app, MANY_BYTES);
    const VkDeviceSize needed = buffer_needs(app, probe).size;
    struct app_buffer all;
    struct heap heap;
    uint32_t seed = 7;
    CHECK(buffers);
    vkDestroyBuffer(app->device, probe, NULL);
    heap_create(&heap, app, 1);
    const VkDeviceSize stride = heap_place(&heap, needed);
    heap_destroy(&heap);
    heap_create(&heap, app, stride * MANY);
    heap_map_all(&heap);
    for (uint32_t i = 0; i < MANY; i++) {
        buffers[i] = heap_buffer(&heap, stride * i, MANY_BYTES);
        heap_store(&heap, stride * i, MANY_BYTES, 200 + i);
    }
    app_buffer_create(app, &all, MANY * MANY_BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t frame = 0; frame <= app->frames; frame++) {
        const bool last = frame == app->frames;
        const uint32_t reads = last ? MANY : MANY_WRITES, from = last ? 0 : app_random(&seed) % (MANY - MANY_WRITES);
        for (uint32_t i = 0; i < MANY_WRITES; i++) {
            uint32_t target = i % 3 ? app_random(&seed) % MANY : from + i % reads;
            heap_store(&heap, stride * target + i % (MANY_BYTES - 3), 3, app_random(&seed));
        }
        VkCommandBuffer commands = app_begin(app);
        for (uint32_t i = 0; i < reads; i++)
            vkCmdCopyBuffer(commands, buffers[from + i], all.buffer, 1,
                            &(VkBufferCopy){0, (VkDeviceSize)MANY_BYTES * i, MANY_BYTES});
        before_host(commands);
        app_run(app, commands);
        app_buffer_invalidate(app, &all, 0, all.size);
        for (uint32_t i = 0; i < reads; i++)
            EXPECT_EQ(app, memcmp(all.mapped + MANY_BYTES * i, heap.model + stride * (from + i), MANY_BYTES), 0);
    }
    for (uint32_t i = 0; i < MANY; i++)
        vkDestroyBuffer(app->device, buffers[i], NULL);
    app_buffer_destroy(app, &all);
    heap_destroy(&heap);
    free(buffers);
}

int main(int argc, char **argv)
{
    static const char *const map_2[] = {"VK_KHR_map_memory2"};
    static bool tell;
    static const struct app_option options[] = {
        {"--many", "tens of thousands of buffers, and nothing else", &only_many, NULL},
        {"--map2", "map with vkMapMemory2KHR, unmap with vkUnmapMemory2KHR", &use_map_2, NULL},
        {"--tell", "print a line when a submit is done", &tell, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "memory",
        .what = "Objects come and go over bytes that stay; the host writes at every time at which it may.",
        .frames = 10,
        .options = options,
    };
    struct app app;
    struct scene scene = {.app = &app};
    app_init(&app, argc, argv, &program);
    app.tell = tell;
    if (app.api_version < VK_API_VERSION_1_1)
        app_skip(&app, "Vulkan 1.1 is missing");
    const struct app_device_request request = {.extensions = map_2, .extension_count = use_map_2};
    app_device_create(&app, &request);
    app_buffer_create(&app, &scene.check, CHECK_BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    if (only_many) {
        many(&scene);
    } else {
        rebind(&scene);
        times(&scene);
        dedicated_buffer(&scene);
        dedicated_picture(&scene, VK_IMAGE_TILING_LINEAR);
        dedicated_picture(&scene, VK_IMAGE_TILING_OPTIMAL);
        allocate_again(&scene);
        two_devices(&app, &request);
    }
    app_buffer_destroy(&app, &scene.check);
    return app_finish(&app);
}
