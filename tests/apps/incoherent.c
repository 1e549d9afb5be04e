/* SPDX-License-Identifier: MIT */
/*
 * incoherent: memory that the host sees through caches of its own. Uploads are flushed range by range, read-backs
 * invalidated in full and in part, while the host owns, and writes, the atoms in between; mapped in full, in part at an
 * offset, unmapped with the device at work and mapped again. A model says what each byte must be: the mapping is
 * compared where it must be up to date, and the device copies all of it out for comparison.
 */
#include "common/app.h"

#define ATOMS 128u /* of each of two buffers in one allocation */
#define RUNS  12u

struct state {
    const struct app *app;
    uint32_t unit; /* bytes of an atom, or of several */
    VkDeviceMemory memory;
    VkBuffer buffers[2];
    uint8_t *base;                     /* where offset 0 would be mapped; NULL while unmapped */
    uint32_t mapped_first, mapped_end; /* in atoms of the allocation */
    uint8_t *model;
    bool stale[2 * ATOMS];   /* written by the device, and not invalidated yet */
    bool at_work[2 * ATOMS]; /* the device may write them now */
    struct app_buffer check;
    VkMappedMemoryRange ranges[RUNS];
    uint32_t range_count, seed;
};

static uint32_t bytes_of(const struct state *s)
{
    return 2 * ATOMS * s->unit;
}

static VkBuffer create_buffer(const struct state *s)
{
    VkBuffer buffer;
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    create.size = ATOMS * s->unit;
    create.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    CHECK_VK(vkCreateBuffer(s->app->device, &create, NULL, &buffer));
    return buffer;
}

/* The type of memory that this program is about, or UINT32_MAX. */
static uint32_t find_type(const struct app *app, uint32_t type_bits)
{
    for (uint32_t i = 0; i < app->memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = app->memory.memoryTypes[i].propertyFlags;
        if (type_bits >> i & 1 && flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT &&
            !(flags & (VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT)))
            return i;
    }
    return UINT32_MAX;
}

static void map(struct state *s, uint32_t first, uint32_t end)
{
    void *mapped = NULL;
    VkDeviceSize size = end == 2 * ATOMS ? VK_WHOLE_SIZE : (end - first) * s->unit;
    CHECK_VK(vkMapMemory(s->app->device, s->memory, first * s->unit, size, 0, &mapped));
    s->base = (uint8_t *)mapped - first * s->unit;
    s->mapped_first = first;
    s->mapped_end = end;
}

static void unmap(struct state *s)
{
    vkUnmapMemory(s->app->device, s->memory);
    s->base = NULL;
    s->mapped_first = s->mapped_end = 0;
}

/* One range of the next flush or invalidate. */
static void add_range(struct state *s, uint32_t first, uint32_t count)
{
    VkMappedMemoryRange *range = &s->ranges[s->range_count++];
    *range = (VkMappedMemoryRange){.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = s->memory};
    range->offset = first * s->unit;
    range->size = first + count == 2 * ATOMS ? VK_WHOLE_SIZE : count * s->unit;
}

static void flush(struct state *s)
{
    if (s->range_count)
        CHECK_VK(vkFlushMappedMemoryRanges(s->app->device, s->range_count, s->ranges));
    s->range_count = 0;
}

static void invalidate(struct state *s)
{
    if (s->range_count)
        CHECK_VK(vkInvalidateMappedMemoryRanges(s->app->device, s->range_count, s->ranges));
    s->range_count = 0;
}

static bool host_may_write(const struct state *s, uint32_t atom)
{
    return atom >= s->mapped_first && atom < s->mapped_end && !s->stale[atom] && !s->at_work[atom];
}

/* Some bytes in a few runs of atoms that are the host's; exactly these atoms are flushed, in one call. */
static void write_runs(struct state *s, uint32_t runs)
{
    for (uint32_t i = 0; i < runs; i++) {
        uint32_t first = app_random(&s->seed) % (2 * ATOMS), count = 0, wanted = 1 + app_random(&s->seed) % 4;
        while (count < wanted && first + count < 2 * ATOMS && host_may_write(s, first + count))
            count++;
        if (!count)
            continue;
        uint32_t at = first * s->unit + app_random(&s->seed) % 16, end = (first + count) * s->unit;
        for (; at < end; at += 1 + app_random(&s->seed) % 8)
            s->base[at] = s->model[at] = (uint8_t)app_random(&s->seed);
        add_range(s, first, count);
    }
    flush(s);
}

/* The device fills runs of atoms between those of the host. */
static void record_device_writes(struct state *s, VkCommandBuffer commands)
{
    for (uint32_t i = 0; i < RUNS / 2; i++) {
        uint32_t which = i & 1, first = app_random(&s->seed) % (ATOMS - 4), count = 1 + app_random(&s->seed) % 4;
        uint32_t value = 0x01010101u * (app_random(&s->seed) & 0xff);
        vkCmdFillBuffer(commands, s->buffers[which], first * s->unit, count * s->unit, value);
        app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                           VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                           VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT);
        first += which * ATOMS;
        memset(s->model + first * s->unit, (int)(value & 0xff), count * s->unit);
        memset(s->at_work + first, true, count);
    }
}

static void finish_device_writes(struct state *s)
{
    for (uint32_t i = 0; i < 2 * ATOMS; i++) {
        s->stale[i] |= s->at_work[i];
        s->at_work[i] = false;
    }
}

/* Invalidates runs of stale atoms, all of them or every other run; host-owned neighbours are left alone. */
static void read_back(struct state *s, bool all)
{
    uint32_t run = 0;
    for (uint32_t first = s->mapped_first, end; first < s->mapped_end; first = end) {
        end = first + 1;
        if (!s->stale[first])
            continue;
        while (end < s->mapped_end && s->stale[end])
            end++;
        if (!all && run++ & 1)
            continue;
        add_range(s, first, end - first);
        memset(s->stale + first, false, end - first);
        if (s->range_count == RUNS)
            invalidate(s);
    }
    invalidate(s);
}

static void compare_mapping(const struct state *s)
{
    for (uint32_t i = s->mapped_first; i < s->mapped_end; i++)
        if (!s->stale[i])
            EXPECT_EQ(s->app, memcmp(s->base + i * s->unit, s->model + i * s->unit, s->unit), 0);
}

static void copy_out(struct state *s)
{
    VkCommandBuffer commands = app_begin(s->app);
    for (uint32_t i = 0; i < 2; i++)
        vkCmdCopyBuffer(commands, s->buffers[i], s->check.buffer, 1,
                        &(VkBufferCopy){0, i * ATOMS * s->unit, ATOMS * s->unit});
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(s->app, commands);
    app_buffer_invalidate(s->app, &s->check, 0, s->check.size);
}

static void compare_device(struct state *s)
{
    copy_out(s);
    EXPECT_EQ(s->app, memcmp(s->check.mapped, s->model, bytes_of(s)), 0);
}

/* The second buffer gives its memory to a new one. All that is in it was put there by the host, before it is bound. */
static void replace_buffer(struct state *s)
{
    VkMemoryRequirements requirements;
    vkDestroyBuffer(s->app->device, s->buffers[1], NULL);
    read_back(s, true);
    for (uint32_t i = ATOMS * s->unit; i < bytes_of(s); i++)
        s->base[i] = s->model[i] ^= (uint8_t)(1 + app_random(&s->seed) % 255); /* no byte stays what it was */
    for (uint32_t i = 0; i < 4; i++)
        add_range(s, ATOMS + i * ATOMS / 4, ATOMS / 4);
    flush(s);
    s->buffers[1] = create_buffer(s);
    vkGetBufferMemoryRequirements(s->app->device, s->buffers[1], &requirements);
    CHECK_VK(vkBindBufferMemory(s->app->device, s->buffers[1], s->memory, ATOMS * s->unit));
}

static void run_frame(struct state *s, uint32_t frame)
{
    const struct app *app = s->app;
    bool unmapped = frame % 4 == 2;
    if (frame % 5 == 3) { /* a part in the middle, flushed to the end of what is mapped */
        unmap(s);
        uint32_t first = 1 + app_random(&s->seed) % ATOMS;
        map(s, first, first + ATOMS / 2);
    }
    write_runs(s, RUNS);
    VkCommandBuffer commands = app_begin(app);
    record_device_writes(s, commands);
    CHECK_VK(vkEndCommandBuffer(commands));
    VkFence fence;
    VkFenceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    CHECK_VK(vkCreateFence(app->device, &create, NULL, &fence));
    if (unmapped)
        unmap(s);
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    CHECK_VK(vkQueueSubmit(app->queue, 1, &submit, fence));
    if (!unmapped)
        write_runs(s, RUNS / 2);
    CHECK_VK(vkWaitForFences(app->device, 1, &fence, VK_TRUE, UINT64_MAX));
    vkDestroyFence(app->device, fence, NULL);
    vkFreeCommandBuffers(app->device, app->pool, 1, &commands);
    finish_device_writes(s);
    if (unmapped)
        map(s, 0, 2 * ATOMS);
    read_back(s, frame % 3 == 0);
    compare_mapping(s);
    compare_device(s);
    if (s->mapped_end - s->mapped_first < 2 * ATOMS) {
        unmap(s);
        map(s, 0, 2 * ATOMS);
        compare_mapping(s);
    }
    if (frame % 7 == 4)
        replace_buffer(s);
}

static void create(struct state *s)
{
    const struct app *app = s->app;
    VkMemoryRequirements requirements;
    s->unit = (uint32_t)app->properties.limits.nonCoherentAtomSize;
    s->unit = s->unit < 64 ? 64 : s->unit; /* a power of two */
    for (uint32_t i = 0; i < 2; i++)
        s->buffers[i] = create_buffer(s);
    vkGetBufferMemoryRequirements(app->device, s->buffers[0], &requirements);
    uint32_t type = find_type(app, requirements.memoryTypeBits);
    if (type == UINT32_MAX)
        app_skip(app, "all memory that the host can see is coherent");
    CHECK(ATOMS * s->unit % requirements.alignment == 0 && requirements.size == ATOMS * s->unit);
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    allocate.allocationSize = bytes_of(s);
    allocate.memoryTypeIndex = type;
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &s->memory));
    for (uint32_t i = 0; i < 2; i++)
        CHECK_VK(vkBindBufferMemory(app->device, s->buffers[i], s->memory, i * ATOMS * s->unit));
    s->model = malloc(bytes_of(s));
    CHECK(s->model);
    app_buffer_create(app, &s->check, bytes_of(s), VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    map(s, 0, 2 * ATOMS);
    for (uint32_t i = 0; i < bytes_of(s); i++)
        s->base[i] = s->model[i] = (uint8_t)app_random(&s->seed);
    add_range(s, 0, 2 * ATOMS);
    flush(s);
}

/* Says what happens where the specification promises nothing: with the host's caches in the way, neither gets through.
 */
static void probe(struct state *s)
{
    uint32_t last = bytes_of(s) - 1;
    s->base[0] ^= 0xff;
    copy_out(s);
    printf("a store that was not flushed reached the device: %s\n", s->check.mapped[0] == s->model[0] ? "no" : "yes");
    VkCommandBuffer commands = app_begin(s->app);
    uint8_t other = s->model[last] ^ 0xff;
    vkCmdFillBuffer(commands, s->buffers[1], (ATOMS - 1) * s->unit, s->unit, 0x01010101u * other);
    app_run(s->app, commands);
    printf("a device write was seen without an invalidate: %s\n", s->base[last] == other ? "yes" : "no");
}

int main(int argc, char **argv)
{
    static bool wants_probe;
    static const struct app_option options[] = {
        {"--probe", "only say what gets through where nothing is promised", &wants_probe, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "incoherent",
        .what = "Flushes and invalidates exact ranges of memory that is not coherent, and checks every byte.",
        .frames = 40,
        .options = options,
    };
    struct app app;
    struct state state = {.app = &app, .seed = 4711};
    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    create(&state);
    compare_device(&state);
    if (wants_probe)
        probe(&state);
    for (uint32_t frame = 0; frame < app.frames && !wants_probe; frame++)
        run_frame(&state, frame);
    for (uint32_t i = 0; i < 2; i++)
        vkDestroyBuffer(app.device, state.buffers[i], NULL);
    unmap(&state);
    vkFreeMemory(app.device, state.memory, NULL);
    app_buffer_destroy(&app, &state.check);
    free(state.model);
    return app_finish(&app);
}
