/* SPDX-License-Identifier: MIT */
/*
 * placed: memory is mapped at addresses that the program chose (VK_EXT_map_memory_placed): several allocations side by
 * side in one reserved range, in another order each time, parts of them where the driver maps parts; unmapped with and
 * without a reservation that stays. The device copies what the host stored, and stores what the host reads.
 */
#include <sys/mman.h>

#include "common/app.h"

#define PLACED "VK_EXT_map_memory_placed"

#if defined VK_EXT_map_memory_placed && defined VK_KHR_map_memory2

#define HEAPS  3u
#define ROUNDS 6u
#define BYTES  ((size_t)256 << 10) /* of a heap */

struct heap {
    VkDeviceMemory memory;
    VkBuffer buffer;
    uint8_t *mapped;
    bool coherent;
    uint8_t model[BYTES];
};

struct state {
    struct app app;
    PFN_vkMapMemory2KHR map;
    PFN_vkUnmapMemory2KHR unmap;
    VkDeviceSize alignment;
    bool parts, keeps;
    unsigned char *reserved; /* HEAPS heaps side by side, aligned */
    struct heap heaps[HEAPS];
};

static void create_heap(struct state *state, struct heap *heap)
{
    const struct app *app = &state->app;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = BYTES,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;

    CHECK_VK(vkCreateBuffer(app->device, &info, NULL, &heap->buffer));
    vkGetBufferMemoryRequirements(app->device, heap->buffer, &needs);
    allocate.allocationSize = (needs.size + state->alignment - 1) / state->alignment * state->alignment;
    if (allocate.allocationSize != BYTES)
        app_skip(app, "a buffer takes more than its size");
    allocate.memoryTypeIndex = app_memory_type(app, needs.memoryTypeBits, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                                               VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 0);
    heap->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &heap->memory));
    CHECK_VK(vkBindBufferMemory(app->device, heap->buffer, heap->memory, 0));
}

static void sync(const struct state *state, const struct heap *heap, VkDeviceSize begin, VkDeviceSize bytes,
                 bool invalidate)
{
    const VkMappedMemoryRange range = {.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
                                       .memory = heap->memory,
                                       .offset = begin,
                                       .size = begin + bytes == BYTES ? VK_WHOLE_SIZE : bytes};
    if (heap->coherent)
        return;
    if (invalidate)
        CHECK_VK(vkInvalidateMappedMemoryRanges(state->app.device, 1, &range));
    else
        CHECK_VK(vkFlushMappedMemoryRanges(state->app.device, 1, &range));
}

/* Puts [begin, begin + bytes) of the heap at an address. */
static void map_at(struct state *state, struct heap *heap, VkDeviceSize begin, VkDeviceSize bytes, void *address)
{
    const VkMemoryMapPlacedInfoEXT placed = {.sType = VK_STRUCTURE_TYPE_MEMORY_MAP_PLACED_INFO_EXT,
                                             .pPlacedAddress = address};
    const VkMemoryMapInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_MAP_INFO_KHR,
                                     .pNext = &placed,
                                     .flags = VK_MEMORY_MAP_PLACED_BIT_EXT,
                                     .memory = heap->memory,
                                     .offset = begin,
                                     .size = begin || bytes != BYTES ? bytes : VK_WHOLE_SIZE};
    void *mapped = NULL;

    CHECK_VK(state->map(state->app.device, &info, &mapped));
    CHECK(mapped == address);
    heap->mapped = mapped;
    sync(state, heap, begin, bytes, true);
    for (size_t i = 0; i < bytes && !state->app.no_check; i++)
        CHECK(heap->mapped[i] == heap->model[begin + i]);
}

/* Where nothing is mapped the range is the program's again, which must not be anybody else's in between. */
static void unmap(struct state *state, struct heap *heap, size_t bytes, bool reserve)
{
    const VkMemoryUnmapInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_UNMAP_INFO_KHR,
                                       .flags = reserve ? VK_MEMORY_UNMAP_RESERVE_BIT_EXT : 0,
                                       .memory = heap->memory};
    void *address = heap->mapped;

    CHECK_VK(state->unmap(state->app.device, &info));
    heap->mapped = NULL;
    if (reserve)
        CHECK(mmap(address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED);
    else
        CHECK(mmap(address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == address);
}

static void store(struct state *state, struct heap *heap, size_t begin, size_t bytes, uint32_t seed)
{
    for (size_t i = 0; i < bytes; i += 1 + seed % 500) {
        heap->mapped[i] = heap->model[begin + i] = (uint8_t)(seed * 31 + i * 7);
        if (seed % 3 == 0 && i % 4096 == 0)
            i += 9000; /* pages that nobody touches */
    }
    sync(state, heap, begin, bytes, false);
}

/* The device moves bytes of each heap to the next one, while all are mapped or none. */
static void move(struct state *state, uint32_t round)
{
    const VkBufferCopy region = {.srcOffset = 4096 * (round + 1), .dstOffset = 1024 * round, .size = 30000};
    VkCommandBuffer commands = app_begin(&state->app);

    for (uint32_t i = 0; i + 1 < HEAPS; i++) {
        vkCmdCopyBuffer(commands, state->heaps[i].buffer, state->heaps[i + 1].buffer, 1, &region);
        app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                           VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                           VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_HOST_READ_BIT);
        memmove(state->heaps[i + 1].model + region.dstOffset, state->heaps[i].model + region.srcOffset, region.size);
    }
    app_run(&state->app, commands);
}

static void play(struct state *state, uint32_t round)
{
    for (uint32_t i = 0; i < HEAPS; i++)
        map_at(state, &state->heaps[i], 0, BYTES, state->reserved + (i + round) % HEAPS * BYTES);
    for (uint32_t i = 0; i < HEAPS; i++)
        store(state, &state->heaps[i], 0, BYTES, round * 10 + i + 1);
    move(state, round);
    for (uint32_t i = 0; i < HEAPS; i++) {
        struct heap *heap = &state->heaps[i];
        sync(state, heap, 0, BYTES, true);
        for (size_t b = 0; b < BYTES && !state->app.no_check; b++)
            CHECK(heap->mapped[b] == heap->model[b]);
        store(state, heap, 0, BYTES, round * 10 + i + 5);
        unmap(state, heap, BYTES, state->keeps && (round + i) % 2);
    }
    move(state, round + 1);
    if (!state->parts)
        return;
    for (uint32_t i = 0; i < HEAPS; i++) {
        struct heap *heap = &state->heaps[i];
        VkDeviceSize begin = state->alignment * (round + i), bytes = state->alignment * 2;
        map_at(state, heap, begin, bytes, state->reserved + i * BYTES + state->alignment);
        store(state, heap, begin, bytes, round * 10 + i + 8);
        unmap(state, heap, bytes, state->keeps);
    }
    move(state, round + 2);
}

static void run(struct state *state)
{
    static const char *const extensions[] = {PLACED, "VK_KHR_map_memory2"};
    struct app *app = &state->app;
    VkPhysicalDeviceMapMemoryPlacedFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAP_MEMORY_PLACED_FEATURES_EXT};
    VkPhysicalDeviceFeatures2 asked = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &features};
    VkPhysicalDeviceMapMemoryPlacedPropertiesEXT placed = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAP_MEMORY_PLACED_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &placed};
    const struct app_device_request request = {.extensions = extensions, .extension_count = 2, .next = &features};
    unsigned char *space;

    if (app->api_version < VK_API_VERSION_1_1 || !app_has_extension(app, PLACED))
        app_skip(app, "no " PLACED);
    vkGetPhysicalDeviceFeatures2(app->physical, &asked);
    vkGetPhysicalDeviceProperties2(app->physical, &properties);
    if (!features.memoryMapPlaced)
        app_skip(app, "no memoryMapPlaced");
    app_device_create(app, &request);
    state->map = (PFN_vkMapMemory2KHR)app_device_function(app, "vkMapMemory2KHR");
    state->unmap = (PFN_vkUnmapMemory2KHR)app_device_function(app, "vkUnmapMemory2KHR");
    state->alignment = placed.minPlacedMemoryMapAlignment;
    state->parts = features.memoryMapRangePlaced && state->alignment * (ROUNDS + HEAPS + 2) <= BYTES;
    state->keeps = features.memoryUnmapReserve;
    CHECK(state->alignment && !(state->alignment & (state->alignment - 1)));
    if (BYTES % state->alignment)
        app_skip(app, "placed maps want more alignment than this needs");
    space = mmap(NULL, HEAPS * BYTES + state->alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(space != MAP_FAILED);
    state->reserved = space + (-(uintptr_t)space & (state->alignment - 1));
    for (uint32_t i = 0; i < HEAPS; i++)
        create_heap(state, &state->heaps[i]);
    for (uint32_t i = 0; i < HEAPS; i++) { /* what was there before is nobody's */
        void *mapped;
        CHECK_VK(vkMapMemory(app->device, state->heaps[i].memory, 0, VK_WHOLE_SIZE, 0, &mapped));
        memset(mapped, 0, BYTES);
        state->heaps[i].mapped = mapped;
        sync(state, &state->heaps[i], 0, BYTES, false);
        vkUnmapMemory(app->device, state->heaps[i].memory);
    }
    for (uint32_t round = 0; round < ROUNDS; round++)
        play(state, round);
    for (uint32_t i = 0; i < HEAPS; i++) { /* the last one is mapped when it is freed */
        if (i + 1 == HEAPS)
            map_at(state, &state->heaps[i], 0, BYTES, state->reserved);
        vkDestroyBuffer(app->device, state->heaps[i].buffer, NULL);
        vkFreeMemory(app->device, state->heaps[i].memory, NULL);
    }
    munmap(space, HEAPS * BYTES + state->alignment);
}

#else

struct state {
    struct app app;
};

static void run(struct state *state)
{
    app_skip(&state->app, "these headers have no " PLACED);
}

#endif

int main(int argc, char **argv)
{
    static const struct app_program program = {.name = "placed", .what = "memory mapped at chosen addresses"};
    static struct state state;

    app_init(&state.app, argc, argv, &program);
    run(&state);
    return app_finish(&state.app);
}
