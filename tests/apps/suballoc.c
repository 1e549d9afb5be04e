/* SPDX-License-Identifier: MIT */
/*
 * suballoc: one large mapped allocation with many buffers in it, as engines have. Small writes at random places,
 * writes into memory before a buffer is bound there, memory that a new buffer takes over with its contents, GPU writes
 * into buffers beside those that the host writes, unmapping and mapping again, mapping a part at an offset. A model in
 * ordinary memory says what every byte must be; the GPU copies the buffers out for comparison in each frame.
 */
#include "common/app.h"

#define HEAP_BYTES (16u << 20)
#define BUFFERS    64u
#define MAX_BUFFER 20000u
#define WRITES     48u

struct piece {
    VkBuffer buffer; /* NULL: none now */
    uint32_t offset, size;
    bool busy; /* used by commands that are in flight */
};

struct heap {
    const struct app *app;
    VkDeviceMemory memory;
    VkDeviceSize alignment;
    bool coherent;
    uint8_t *base; /* where offset 0 would be mapped; NULL while unmapped */
    uint32_t mapped_first, mapped_end;
    uint8_t *model;
    struct piece pieces[BUFFERS];
    struct app_buffer check;
    uint32_t seed;
};

static void unmap(struct heap *heap)
{
    vkUnmapMemory(heap->app->device, heap->memory);
    heap->base = NULL;
    heap->mapped_first = heap->mapped_end = 0;
}

static void map(struct heap *heap, uint32_t first, uint32_t size)
{
    const struct app *app = heap->app;
    uint32_t atom = (uint32_t)app->properties.limits.nonCoherentAtomSize;
    void *mapped = NULL;
    if (heap->base)
        unmap(heap);
    if (!heap->coherent) /* what is flushed must be mapped, and whole atoms are flushed */
        size = (size + atom - 1) / atom * atom;
    VkDeviceSize range = size == HEAP_BYTES ? VK_WHOLE_SIZE : size;
    CHECK_VK(vkMapMemory(app->device, heap->memory, first, range, 0, &mapped));
    heap->base = (uint8_t *)mapped - first;
    heap->mapped_first = first;
    heap->mapped_end = first + size;
}

static void write_bytes(struct heap *heap, uint32_t offset, uint32_t size)
{
    CHECK(offset >= heap->mapped_first && offset + size <= heap->mapped_end);
    for (uint32_t i = 0; i < size; i++)
        heap->base[offset + i] = heap->model[offset + i] = (uint8_t)app_random(&heap->seed);
    if (!heap->coherent)
        app_memory_sync(heap->app, heap->memory, HEAP_BYTES, offset, size, false);
}

static VkBuffer create_buffer(const struct app *app, uint32_t size)
{
    VkBuffer buffer;
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    create.size = size;
    create.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    create.usage |= VK_BUFFER_USAGE_VERTEX_BUFFER_BIT;
    CHECK_VK(vkCreateBuffer(app->device, &create, NULL, &buffer));
    return buffer;
}

/* A place that no other buffer's atoms touch, so that host and GPU writes stay apart on non-coherent memory too. */
static uint32_t find_place(struct heap *heap, uint32_t size)
{
    for (;;) {
        uint32_t unit = (uint32_t)heap->alignment;
        uint32_t offset = app_random(&heap->seed) % ((HEAP_BYTES - MAX_BUFFER * 2) / unit) * unit;
        bool taken = false;
        for (uint32_t i = 0; i < BUFFERS; i++) {
            const struct piece *other = &heap->pieces[i];
            bool apart = offset >= other->offset + other->size + unit || other->offset >= offset + size + unit;
            taken |= other->buffer && !apart;
        }
        if (!taken)
            return offset;
    }
}

static void place(struct heap *heap, struct piece *piece, uint32_t offset, uint32_t size, bool write_first)
{
    VkMemoryRequirements requirements;
    piece->offset = offset;
    piece->size = size;
    if (write_first)
        write_bytes(heap, offset, size);
    piece->buffer = create_buffer(heap->app, size);
    vkGetBufferMemoryRequirements(heap->app->device, piece->buffer, &requirements);
    CHECK(requirements.alignment <= heap->alignment && offset + requirements.size <= HEAP_BYTES);
    CHECK_VK(vkBindBufferMemory(heap->app->device, piece->buffer, heap->memory, offset));
    if (!write_first)
        write_bytes(heap, offset, size / 2);
}

/* A buffer gives its memory to a new one that begins where it began; the host writes nothing: the bytes stay. */
static void take_over(struct heap *heap, struct piece *piece)
{
    vkDestroyBuffer(heap->app->device, piece->buffer, NULL);
    piece->buffer = VK_NULL_HANDLE;
    uint32_t size = piece->size - piece->size / 4;
    piece->buffer = create_buffer(heap->app, size);
    piece->size = size;
    CHECK_VK(vkBindBufferMemory(heap->app->device, piece->buffer, heap->memory, piece->offset));
}

static void copy_within(struct heap *heap, VkCommandBuffer commands, struct piece *from, struct piece *to)
{
    uint32_t size = from->size < to->size ? from->size : to->size;
    size -= size / 3;
    uint32_t target = (to->size - size) / 2;
    vkCmdCopyBuffer(commands, from->buffer, to->buffer, 1, &(VkBufferCopy){0, target, size});
    memcpy(heap->model + to->offset + target, heap->model + from->offset, size);
    from->busy = to->busy = true;
}

static void fill(struct heap *heap, VkCommandBuffer commands, struct piece *piece, uint32_t value)
{
    uint32_t offset = piece->size / 2 / 4 * 4, size = piece->size / 4 / 4 * 4;
    vkCmdFillBuffer(commands, piece->buffer, offset, size, value);
    for (uint32_t i = 0; i < size; i += 4)
        memcpy(heap->model + piece->offset + offset + i, &value, 4);
    piece->busy = true;
}

static void write_random_places(struct heap *heap, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct piece *piece = &heap->pieces[app_random(&heap->seed) % BUFFERS];
        uint32_t size = 1 + app_random(&heap->seed) % 40;
        if (!piece->buffer || piece->busy)
            continue;
        write_bytes(heap, piece->offset + app_random(&heap->seed) % (piece->size - size), size);
    }
}

static void transfer_barrier(VkCommandBuffer commands)
{
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                       VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT);
}

/* The GPU works on the even buffers while the host writes into the odd ones; then all are compared. */
static void run_frame(struct heap *heap, uint32_t frame)
{
    const struct app *app = heap->app;
    write_random_places(heap, WRITES);
    VkCommandBuffer commands = app_begin(app);
    for (uint32_t i = 0; i < 4; i++) {
        copy_within(heap, commands, &heap->pieces[(frame * 6 + i * 2) % BUFFERS],
                    &heap->pieces[(frame * 6 + i * 2 + 16) % BUFFERS]);
        transfer_barrier(commands);
    }
    fill(heap, commands, &heap->pieces[frame * 10 % BUFFERS], 0x01010101u * (frame % 251));
    transfer_barrier(commands);
    CHECK_VK(vkEndCommandBuffer(commands));
    VkFence fence;
    VkFenceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    CHECK_VK(vkCreateFence(app->device, &create, NULL, &fence));
    bool unmapped = frame % 5 == 2;
    if (unmapped) /* what was written must reach the GPU all the same */
        unmap(heap);
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    CHECK_VK(vkQueueSubmit(app->queue, 1, &submit, fence));
    if (!unmapped)
        write_random_places(heap, WRITES / 2);
    CHECK_VK(vkWaitForFences(app->device, 1, &fence, VK_TRUE, UINT64_MAX));
    if (unmapped)
        map(heap, 0, HEAP_BYTES);
    if (!heap->coherent) /* what is written next shares atoms with what the GPU wrote */
        app_memory_sync(app, heap->memory, HEAP_BYTES, 0, HEAP_BYTES, true);
    vkDestroyFence(app->device, fence, NULL);
    vkFreeCommandBuffers(app->device, app->pool, 1, &commands);
    for (uint32_t i = 0; i < BUFFERS; i++)
        heap->pieces[i].busy = false;
    write_random_places(heap, WRITES / 4);
}

static void compare(struct heap *heap)
{
    const struct app *app = heap->app;
    VkCommandBuffer commands = app_begin(app);
    for (uint32_t i = 0; i < BUFFERS; i++)
        vkCmdCopyBuffer(commands, heap->pieces[i].buffer, heap->check.buffer, 1,
                        &(VkBufferCopy){0, i * MAX_BUFFER, heap->pieces[i].size});
    transfer_barrier(commands);
    app_run(app, commands);
    app_buffer_invalidate(app, &heap->check, 0, heap->check.size);
    if (!heap->coherent)
        app_memory_sync(app, heap->memory, HEAP_BYTES, 0, HEAP_BYTES, true);
    for (uint32_t i = 0; i < BUFFERS; i++) {
        const struct piece *piece = &heap->pieces[i];
        EXPECT_EQ(app, memcmp(heap->check.mapped + i * MAX_BUFFER, heap->model + piece->offset, piece->size), 0);
        EXPECT_EQ(app, memcmp(heap->base + piece->offset, heap->model + piece->offset, piece->size), 0);
    }
}

static void create(struct heap *heap)
{
    const struct app *app = heap->app;
    VkBuffer probe = create_buffer(app, MAX_BUFFER);
    VkMemoryRequirements requirements;
    vkGetBufferMemoryRequirements(app->device, probe, &requirements);
    vkDestroyBuffer(app->device, probe, NULL);
    VkDeviceSize atom = app->properties.limits.nonCoherentAtomSize;
    heap->alignment = requirements.alignment > atom ? requirements.alignment : atom; /* both are powers of two */
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    allocate.allocationSize = HEAP_BYTES;
    allocate.memoryTypeIndex = app_memory_type_for(app, requirements.memoryTypeBits, APP_READBACK);
    heap->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &heap->memory));
    heap->model = calloc(1, HEAP_BYTES);
    CHECK(heap->model);
    app_buffer_create(app, &heap->check, BUFFERS * MAX_BUFFER, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    map(heap, 0, HEAP_BYTES);
    for (uint32_t i = 0; i < BUFFERS; i++) {
        uint32_t size = 100 + app_random(&heap->seed) % (MAX_BUFFER - 100);
        place(heap, &heap->pieces[i], find_place(heap, size), size, true);
    }
}

/* Changes what is mapped and what is bound where. */
static void change(struct heap *heap, uint32_t frame)
{
    const struct app *app = heap->app;
    struct piece *piece = &heap->pieces[frame * 7 % BUFFERS];
    if (frame % 4 == 1 && piece->size > 400)
        take_over(heap, piece);
    if (frame % 4 == 3) { /* elsewhere; half of the time written before it is bound, else only its first half is */
        uint32_t size = 100 + app_random(&heap->seed) % (MAX_BUFFER - 100);
        vkDestroyBuffer(app->device, piece->buffer, NULL);
        piece->buffer = VK_NULL_HANDLE;
        uint32_t offset = find_place(heap, size);
        if (frame % 8 == 3) { /* no byte of a buffer may be unknown to the model */
            place(heap, piece, offset, size, true);
        } else {
            memset(heap->base + offset, 0x5a, size);
            memset(heap->model + offset, 0x5a, size);
            if (!heap->coherent)
                app_memory_sync(app, heap->memory, HEAP_BYTES, offset, size, false);
            place(heap, piece, offset, size, false);
        }
    }
    if (frame % 6 == 5)
        map(heap, 0, HEAP_BYTES);
    if (frame % 9 == 4) { /* only this buffer is mapped, at an offset in the middle of a page */
        map(heap, piece->offset, piece->size);
        write_bytes(heap, piece->offset + piece->size / 3, piece->size / 5);
        map(heap, 0, HEAP_BYTES);
    }
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "suballoc",
        .what = "Many buffers in one mapped allocation, written at random places and checked.",
        .frames = 60,
    };
    struct app app;
    struct heap heap = {.app = &app, .seed = 12345};
    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    create(&heap);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        change(&heap, frame);
        run_frame(&heap, frame);
        compare(&heap);
    }
    for (uint32_t i = 0; i < BUFFERS; i++)
        vkDestroyBuffer(app.device, heap.pieces[i].buffer, NULL);
    unmap(&heap);
    vkFreeMemory(app.device, heap.memory, NULL);
    app_buffer_destroy(&app, &heap.check);
    free(heap.model);
    return app_finish(&app);
}
