/* SPDX-License-Identifier: MIT */
/*
 * sparse: pages that are bound to buffers and images, taken away and bound again while the program runs. Two buffers
 * share the pages of two allocations, which the host writes through their mappings and the device through the buffers;
 * a page that a submit writes is replaced before the program has waited for it. Images are partially resident: tiles
 * come and go, keep what they hold as long as they keep their page, and the small levels lie in a mip tail. All is
 * copied into buffers of their own and compared with a model on the host.
 */
#include "common/app.h"

#define PAGES      8u /* of two allocations */
#define SLOTS      6u /* of each buffer */
#define MAX_TILES  64u
#define MAX_LEVELS 12u

static void fill_random(uint8_t *bytes, VkDeviceSize count, uint32_t *seed)
{
    for (VkDeviceSize i = 0; i < count; i++)
        bytes[i] = (uint8_t)app_random(seed);
}

static VkDeviceSize smaller(VkDeviceSize a, VkDeviceSize b)
{
    return a < b ? a : b;
}

/* ---- the queue ---- */

/* Binds and the work that uses what they bound wait for one another with semaphores. */
struct order {
    const struct app *app;
    VkSemaphore bound, done;
    VkFence fence;
};

static void create_order(const struct app *app, struct order *order)
{
    const VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};

    order->app = app;
    CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &order->bound));
    CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &order->done));
    CHECK_VK(vkCreateFence(app->device, &fence, NULL, &order->fence));
}

static void destroy_order(const struct order *order)
{
    vkDestroySemaphore(order->app->device, order->bound, NULL);
    vkDestroySemaphore(order->app->device, order->done, NULL);
    vkDestroyFence(order->app->device, order->fence, NULL);
}

/* Binds after `done`, if after is set, and signals `bound`. */
static void bind(const struct order *order, VkBindSparseInfo info, bool after)
{
    info.sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO;
    info.waitSemaphoreCount = after;
    info.pWaitSemaphores = &order->done;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &order->bound;
    CHECK_VK(vkQueueBindSparse(order->app->queue, 1, &info, VK_NULL_HANDLE));
}

static void submit(const struct order *order, VkCommandBuffer commands, bool bound, bool signal, VkFence fence)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .waitSemaphoreCount = bound,
                               .pWaitSemaphores = &order->bound,
                               .pWaitDstStageMask = &stage,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands,
                               .signalSemaphoreCount = signal,
                               .pSignalSemaphores = &order->done};
    CHECK_VK(vkEndCommandBuffer(commands));
    CHECK_VK(vkQueueSubmit(order->app->queue, 1, &info, fence));
}

static void wait_for(const struct order *order)
{
    CHECK_VK(vkWaitForFences(order->app->device, 1, &order->fence, VK_TRUE, UINT64_MAX));
    CHECK_VK(vkResetFences(order->app->device, 1, &order->fence));
}

/* After a bind: runs and waits. */
static void run_bound(const struct order *order, VkCommandBuffer commands)
{
    submit(order, commands, true, false, order->fence);
    wait_for(order);
    vkFreeCommandBuffers(order->app->device, order->app->pool, 1, &commands);
}

static void everything(VkCommandBuffer commands)
{
    app_memory_barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                       VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                       VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
}

/* ---- pages of buffers ---- */

struct sparse_buffer {
    VkBuffer buffer;
    int slots[SLOTS]; /* pages, or -1 */
    struct app_buffer check;
};

struct pages {
    const struct app *app;
    struct order order;
    struct sparse_buffer buffers[2];
    VkDeviceMemory memories[2];
    uint8_t *mapped[2]; /* NULL: the host does not see them */
    bool coherent;
    bool aliased; /* a page may lie in several places */
    VkDeviceSize page;
    uint8_t *model;    /* all pages */
    bool known[PAGES]; /* what is in it */
    VkSparseMemoryBind binds[2][SLOTS];
    uint32_t bind_counts[2];
};

static VkDeviceMemory memory_of(const struct pages *scene, int page)
{
    return page < 0 ? VK_NULL_HANDLE : scene->memories[(uint32_t)page / (PAGES / 2)];
}

static VkDeviceSize offset_of(const struct pages *scene, int page)
{
    return page < 0 ? 0 : (uint32_t)page % (PAGES / 2) * scene->page;
}

static bool create_pages(const struct app *app, bool visible, struct pages *scene)
{
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT | VK_BUFFER_CREATE_SPARSE_RESIDENCY_BIT,
                                 .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements requirements;
    uint32_t types, seen = 0;

    *scene = (struct pages){.app = app, .aliased = app->features.sparseResidencyAliased};
    if (scene->aliased)
        create.flags |= VK_BUFFER_CREATE_SPARSE_ALIASED_BIT;
    create.size = 4096;
    CHECK_VK(vkCreateBuffer(app->device, &create, NULL, &scene->buffers[0].buffer));
    vkGetBufferMemoryRequirements(app->device, scene->buffers[0].buffer, &requirements);
    vkDestroyBuffer(app->device, scene->buffers[0].buffer, NULL);
    for (uint32_t i = 0; i < app->memory.memoryTypeCount; i++)
        if (app->memory.memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
            seen |= 1u << i;
    types = visible ? requirements.memoryTypeBits & seen : requirements.memoryTypeBits;
    if (!types)
        return false;
    scene->page = requirements.alignment;
    allocate.allocationSize = scene->page * (PAGES / 2);
    allocate.memoryTypeIndex = app_memory_type_for(app, types, visible ? APP_UPLOAD : APP_DEVICE);
    scene->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    scene->model = calloc(PAGES, scene->page);
    CHECK(scene->model);
    for (uint32_t i = 0; i < 2; i++) {
        void *mapped = NULL;
        CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &scene->memories[i]));
        if (visible)
            CHECK_VK(vkMapMemory(app->device, scene->memories[i], 0, VK_WHOLE_SIZE, 0, &mapped));
        scene->mapped[i] = mapped;
    }
    create.size = SLOTS * scene->page - 512; /* the last page is not used up */
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_VK(vkCreateBuffer(app->device, &create, NULL, &scene->buffers[i].buffer));
        vkGetBufferMemoryRequirements(app->device, scene->buffers[i].buffer, &requirements);
        CHECK(requirements.size == SLOTS * scene->page);
        app_buffer_create(app, &scene->buffers[i].check, create.size, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            scene->buffers[i].slots[slot] = -1;
    }
    create_order(app, &scene->order);
    return true;
}

static void put(struct pages *scene, uint32_t number, uint32_t slot, int page);

static void destroy_pages(struct pages *scene)
{
    const struct app *app = scene->app;
    const VkSparseBufferMemoryBindInfo infos[2] = {{scene->buffers[0].buffer, SLOTS, scene->binds[0]},
                                                   {scene->buffers[1].buffer, SLOTS, scene->binds[1]}};
    const VkBindSparseInfo info = {
        .sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO, .bufferBindCount = 2, .pBufferBinds = infos};

    for (uint32_t i = 0; i < 2 * SLOTS; i++)
        put(scene, i / SLOTS, i % SLOTS, -1);
    CHECK_VK(vkQueueBindSparse(app->queue, 1, &info, scene->order.fence));
    wait_for(&scene->order);

    for (uint32_t i = 0; i < 2; i++) {
        vkDestroyBuffer(app->device, scene->buffers[i].buffer, NULL);
        app_buffer_destroy(app, &scene->buffers[i].check);
        vkFreeMemory(app->device, scene->memories[i], NULL);
    }
    destroy_order(&scene->order);
    free(scene->model);
}

static bool is_free(const struct pages *scene, int page)
{
    for (uint32_t i = 0; i < 2 * SLOTS; i++)
        if (scene->buffers[i / SLOTS].slots[i % SLOTS] == page)
            return scene->aliased;
    return true;
}

/* To be bound by the next flush of binds. */
static void put(struct pages *scene, uint32_t number, uint32_t slot, int page)
{
    uint32_t i = 0;
    /* Of two binds of one range in one batch either may be the last. */
    while (i < scene->bind_counts[number] && scene->binds[number][i].resourceOffset != slot * scene->page)
        i++;
    CHECK(i < COUNT_OF(scene->binds[number]));
    scene->bind_counts[number] += i == scene->bind_counts[number];
    scene->buffers[number].slots[slot] = page;
    scene->binds[number][i] =
        (VkSparseMemoryBind){slot * scene->page, scene->page, memory_of(scene, page), offset_of(scene, page), 0};
}

static void bind_pages(struct pages *scene, bool after)
{
    VkSparseBufferMemoryBindInfo infos[2];
    uint32_t count = 0;

    for (uint32_t i = 0; i < 2; i++)
        if (scene->bind_counts[i])
            infos[count++] =
                (VkSparseBufferMemoryBindInfo){scene->buffers[i].buffer, scene->bind_counts[i], scene->binds[i]};
    bind(&scene->order, (VkBindSparseInfo){.bufferBindCount = count, .pBufferBinds = count ? infos : NULL}, after);
    scene->bind_counts[0] = scene->bind_counts[1] = 0;
}

static void host_writes(struct pages *scene, uint32_t page, VkDeviceSize at, VkDeviceSize bytes, uint32_t *seed)
{
    uint8_t *model = scene->model + page * scene->page + at;
    VkDeviceSize offset = offset_of(scene, (int)page) + at;

    fill_random(model, bytes, seed);
    memcpy(scene->mapped[page / (PAGES / 2)] + offset, model, bytes);
    if (!scene->coherent)
        app_memory_sync(scene->app, memory_of(scene, (int)page), scene->page * (PAGES / 2), offset, bytes, false);
}

/* The device fills a part of a buffer, and the model what lies there. */
static void fill(struct pages *scene, VkCommandBuffer commands, uint32_t number, VkDeviceSize at, VkDeviceSize bytes,
                 uint32_t word)
{
    const VkDeviceSize end = SLOTS * scene->page - 512;

    bytes = smaller(bytes, end - at);
    vkCmdFillBuffer(commands, scene->buffers[number].buffer, at, bytes, word);
    for (VkDeviceSize i = at; i < at + bytes; i += 4) {
        int page = scene->buffers[number].slots[i / scene->page];
        memcpy(scene->model + (uint32_t)page * scene->page + i % scene->page, &word, 4);
    }
    everything(commands);
}

/* Copies each run of bound slots at once. */
static void copy_runs(const struct pages *scene, VkCommandBuffer commands, uint32_t number)
{
    const struct sparse_buffer *buffer = &scene->buffers[number];

    for (uint32_t slot = 0, end; slot < SLOTS; slot = end + 1) {
        VkBufferCopy region = {slot * scene->page, slot * scene->page, 0};
        for (end = slot; end < SLOTS && buffer->slots[end] >= 0; end++)
            ;
        region.size = smaller(end * scene->page, buffer->check.size) - region.srcOffset;
        if (end > slot)
            vkCmdCopyBuffer(commands, buffer->buffer, buffer->check.buffer, 1, &region);
    }
    everything(commands);
}

static void compare_buffer(const struct pages *scene, uint32_t number)
{
    const struct sparse_buffer *buffer = &scene->buffers[number];

    app_buffer_invalidate(scene->app, &buffer->check, 0, buffer->check.size);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        VkDeviceSize at = slot * scene->page, bytes = smaller(scene->page, buffer->check.size - at);
        if (buffer->slots[slot] >= 0)
            EXPECT_EQ(
                scene->app,
                memcmp(buffer->check.mapped + at, scene->model + (uint32_t)buffer->slots[slot] * scene->page, bytes),
                0);
    }
}

static void compare_pages(const struct pages *scene)
{
    for (uint32_t page = 0; page < PAGES && scene->mapped[0]; page++) {
        VkDeviceSize offset = offset_of(scene, (int)page);
        if (!scene->known[page])
            continue;
        if (!scene->coherent)
            app_memory_sync(scene->app, memory_of(scene, (int)page), scene->page * (PAGES / 2), offset, scene->page,
                            true);
        EXPECT_EQ(
            scene->app,
            memcmp(scene->mapped[page / (PAGES / 2)] + offset, scene->model + page * scene->page, scene->page - 512),
            0);
    }
}

/* Gives some slots other pages, or none. */
static void change_slots(struct pages *scene, uint32_t frame, uint32_t *seed)
{
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t number = app_random(seed) % 2, slot = app_random(seed) % SLOTS;
        int page = (int)(app_random(seed) % PAGES);
        if (frame && app_random(seed) % 4 == 0)
            put(scene, number, slot, -1);
        else if (is_free(scene, page))
            put(scene, number, slot, page);
    }
}

static void run_pages(struct pages *scene, uint32_t frame, uint32_t *seed)
{
    VkCommandBuffer commands;

    change_slots(scene, frame, seed);
    for (uint32_t i = 0; i < 4 && scene->mapped[0]; i++) {
        VkDeviceSize at = app_random(seed) % (scene->page - 1000), bytes = 1 + app_random(seed) % 999;
        uint32_t page = app_random(seed) % PAGES;
        if (scene->known[page])
            host_writes(scene, page, at, bytes, seed);
    }
    bind_pages(scene, false);
    commands = app_begin(scene->app);
    for (uint32_t i = 0; i < 2 * SLOTS; i++) {
        int page = scene->buffers[i / SLOTS].slots[i % SLOTS];
        if (page < 0 || scene->known[page])
            continue;
        /* A new page may hold anything. */
        fill(scene, commands, i / SLOTS, i % SLOTS * scene->page, scene->page, 0x01010101u * (uint32_t)page);
        scene->known[page] = i % SLOTS != SLOTS - 1 || !scene->mapped[0];
    }
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t number = app_random(seed) % 2, slot = app_random(seed) % SLOTS;
        const int *slots = scene->buffers[number].slots;
        VkDeviceSize at = slot * scene->page + app_random(seed) % scene->page / 4 * 4, bytes = scene->page / 4;
        if (slots[slot] < 0)
            continue;
        if (slot == SLOTS - 1 || slots[slot + 1] < 0)
            bytes = smaller(bytes, (slot + 1) * scene->page - at);
        if (at < scene->buffers[number].check.size)
            fill(scene, commands, number, at, bytes, app_random(seed) * 0x101u);
    }
    copy_runs(scene, commands, 0);
    copy_runs(scene, commands, 1);
    run_bound(&scene->order, commands);
    compare_buffer(scene, 0);
    compare_buffer(scene, 1);
    compare_pages(scene);
}

/* The device writes a page; before the program knows that it has, the buffer gets another one, which the host writes.
 */
static void run_replaced(struct pages *scene, uint32_t frame, uint32_t *seed)
{
    const uint32_t slot = frame % (SLOTS - 1);
    int first = -1, second = -1;
    VkCommandBuffer writes, reads;

    for (uint32_t i = 0; i < 2 * SLOTS; i++)
        put(scene, i / SLOTS, i % SLOTS, -1);
    for (uint32_t page = 0; page < PAGES; page++)
        if (scene->known[page]) {
            first = first < 0 ? (int)page : first;
            second = (int)page;
        }
    if (first == second || !scene->mapped[0]) {
        bind_pages(scene, false);
        writes = app_begin(scene->app);
        run_bound(&scene->order, writes);
        return;
    }
    bind_pages(scene, false);
    writes = app_begin(scene->app);
    run_bound(&scene->order, writes);

    put(scene, 0, slot, first);
    bind_pages(scene, false);
    writes = app_begin(scene->app);
    fill(scene, writes, 0, slot * scene->page + 256, scene->page / 2, 0x55aa0000u + frame);
    submit(&scene->order, writes, true, true, scene->order.fence);
    put(scene, 0, slot, second);
    put(scene, 1, slot + 1, first);
    bind_pages(scene, true);
    host_writes(scene, (uint32_t)second, 300, scene->page / 3, seed);
    wait_for(&scene->order); /* it tells of the first page, not of the second one */
    reads = app_begin(scene->app);
    copy_runs(scene, reads, 0);
    copy_runs(scene, reads, 1);
    run_bound(&scene->order, reads);
    vkFreeCommandBuffers(scene->app->device, scene->app->pool, 1, &writes);
    compare_buffer(scene, 0);
    compare_buffer(scene, 1);
    compare_pages(scene);

    host_writes(scene, (uint32_t)first, scene->page / 2, 600, seed);
    host_writes(scene, (uint32_t)second, 0, 301, seed);
    reads = app_begin(scene->app);
    copy_runs(scene, reads, 0);
    copy_runs(scene, reads, 1);
    app_run(scene->app, reads);
    compare_buffer(scene, 0);
    compare_buffer(scene, 1);
}

static void test_pages(const struct app *app, bool visible)
{
    struct pages *scene = malloc(sizeof *scene);
    uint32_t seed = visible ? 11 : 12;

    CHECK(scene);
    if (!app->features.sparseResidencyBuffer || !create_pages(app, visible, scene)) {
        printf("left out: pages of buffers in %s memory\n", visible ? "host-visible" : "device");
        free(scene);
        return;
    }
    for (uint32_t frame = 0; frame < app->frames; frame++) {
        run_pages(scene, frame, &seed);
        if (frame % 4 == 3)
            run_replaced(scene, frame, &seed);
    }
    destroy_pages(scene);
    free(scene);
}

/* ---- tiles of images ---- */

struct tile {
    VkImageSubresource where;
    VkOffset3D offset;
    VkExtent3D extent;
    int page;             /* bound now, or -1 */
    uint8_t *contents[2]; /* of its two pages; NULL: not known */
};

struct tiles {
    const struct app *app;
    struct order order;
    VkImageCreateInfo info;
    VkImage image;
    VkMemoryRequirements memory;
    VkSparseImageMemoryRequirements color;
    VkDeviceMemory pages; /* two of each tile, then the mip tail */
    struct tile tiles[MAX_TILES];
    uint32_t count;
    VkDeviceSize tile_bytes; /* of texels without gaps */
    struct app_buffer upload, check;
    uint8_t *tail[MAX_LEVELS]; /* what the levels of the tail hold, all layers */
};

static uint32_t along(uint32_t texels, uint32_t level)
{
    return texels >> level ? texels >> level : 1;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void list_tiles(struct tiles *scene)
{
    const VkExtent3D step = scene->color.formatProperties.imageGranularity, whole = scene->info.extent;

    scene->tile_bytes = (VkDeviceSize)step.width * step.height * step.depth * 4;
    for (uint32_t layer = 0; layer < scene->info.arrayLayers; layer++)
        for (uint32_t level = 0; level < least(scene->color.imageMipTailFirstLod, scene->info.mipLevels); level++)
            for (uint32_t z = 0; z < along(whole.depth, level); z += step.depth)
                for (uint32_t y = 0; y < along(whole.height, level); y += step.height)
                    for (uint32_t x = 0; x < along(whole.width, level); x += step.width) {
                        CHECK(scene->count < MAX_TILES);
                        scene->tiles[scene->count++] =
                            (struct tile){{VK_IMAGE_ASPECT_COLOR_BIT, level, layer},
                                          {(int32_t)x, (int32_t)y, (int32_t)z},
                                          {least(step.width, along(whole.width, level) - x),
                                           least(step.height, along(whole.height, level) - y),
                                           least(step.depth, along(whole.depth, level) - z)},
                                          -1,
                                          {NULL, NULL}};
                    }
}

/* The aspect of the colors; its tail and, where there are any, the driver's metadata are bound for good. */
static void bind_tail(struct tiles *scene, const VkSparseImageMemoryRequirements *aspects, uint32_t count)
{
    VkSparseMemoryBind binds[16];
    VkSparseImageOpaqueMemoryBindInfo info = {scene->image, 0, binds};
    VkDeviceSize at = 2 * scene->count * scene->memory.alignment;

    for (uint32_t i = 0; i < count; i++) {
        bool metadata = aspects[i].formatProperties.aspectMask & VK_IMAGE_ASPECT_METADATA_BIT;
        bool one = aspects[i].formatProperties.flags & VK_SPARSE_IMAGE_FORMAT_SINGLE_MIPTAIL_BIT;
        if (!aspects[i].imageMipTailSize || (!metadata && aspects[i].imageMipTailFirstLod >= scene->info.mipLevels))
            continue;
        for (uint32_t layer = 0; layer < (one ? 1 : scene->info.arrayLayers); layer++) {
            CHECK(info.bindCount < COUNT_OF(binds));
            binds[info.bindCount++] = (VkSparseMemoryBind){
                aspects[i].imageMipTailOffset + layer * aspects[i].imageMipTailStride, aspects[i].imageMipTailSize,
                scene->pages, at, metadata ? VK_SPARSE_MEMORY_BIND_METADATA_BIT : 0};
            at += aspects[i].imageMipTailSize;
        }
    }
    if (!info.bindCount)
        info.pBinds = NULL;
    bind(&scene->order,
         (VkBindSparseInfo){.imageOpaqueBindCount = info.bindCount ? 1 : 0,
                            .pImageOpaqueBinds = info.bindCount ? &info : NULL},
         false);
}

static bool create_tiles(const struct app *app, VkImageType type, VkExtent3D extent, uint32_t layers,
                         struct tiles *scene)
{
    VkSparseImageMemoryRequirements aspects[4];
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkSparseImageFormatProperties formats[4];
    uint32_t count = COUNT_OF(formats);
    struct app_image all;
    VkCommandBuffer commands;

    *scene = (struct tiles){.app = app};
    scene->info = (VkImageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT | VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT,
        .imageType = type,
        .format = VK_FORMAT_R8G8B8A8_UNORM,
        .extent = extent,
        .mipLevels = 1,
        .arrayLayers = layers,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
    };
    for (uint32_t side = extent.width > extent.height ? extent.width : extent.height; side > 1; side /= 2)
        scene->info.mipLevels++;
    vkGetPhysicalDeviceSparseImageFormatProperties(app->physical, scene->info.format, type, VK_SAMPLE_COUNT_1_BIT,
                                                   scene->info.usage, VK_IMAGE_TILING_OPTIMAL, &count, formats);
    if (!count)
        return false;
    CHECK_VK(vkCreateImage(app->device, &scene->info, NULL, &scene->image));
    vkGetImageMemoryRequirements(app->device, scene->image, &scene->memory);
    count = COUNT_OF(aspects);
    vkGetImageSparseMemoryRequirements(app->device, scene->image, &count, aspects);
    for (uint32_t i = 0; i < count; i++)
        if (aspects[i].formatProperties.aspectMask & VK_IMAGE_ASPECT_COLOR_BIT)
            scene->color = aspects[i];
    CHECK(scene->color.formatProperties.imageGranularity.width);
    list_tiles(scene);
    allocate.allocationSize = 2 * scene->count * scene->memory.alignment;
    for (uint32_t i = 0; i < count; i++)
        allocate.allocationSize += aspects[i].imageMipTailSize * layers;
    allocate.memoryTypeIndex = app_memory_type_for(app, scene->memory.memoryTypeBits, APP_DEVICE);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &scene->pages));
    app_buffer_create(app, &scene->upload, scene->count * scene->tile_bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                      APP_UPLOAD);
    app_buffer_create(app, &scene->check, scene->count * scene->tile_bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                      APP_READBACK);
    create_order(app, &scene->order);
    bind_tail(scene, aspects, count);
    commands = app_begin(app);
    all = (struct app_image){.image = scene->image, .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    app_image_barrier(commands, &all, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    run_bound(&scene->order, commands);
    return true;
}

static void destroy_tiles(struct tiles *scene)
{
    const struct app *app = scene->app;

    vkDestroyImage(app->device, scene->image, NULL);
    vkFreeMemory(app->device, scene->pages, NULL);
    app_buffer_destroy(app, &scene->upload);
    app_buffer_destroy(app, &scene->check);
    destroy_order(&scene->order);
    for (uint32_t i = 0; i < scene->count; i++)
        for (uint32_t j = 0; j < 2; j++)
            free(scene->tiles[i].contents[j]);
    for (uint32_t i = 0; i < MAX_LEVELS; i++)
        free(scene->tail[i]);
}

static VkBufferImageCopy region_of(const struct tiles *scene, uint32_t number)
{
    const struct tile *tile = &scene->tiles[number];
    return (VkBufferImageCopy){
        .bufferOffset = number * scene->tile_bytes,
        .imageSubresource = {tile->where.aspectMask, tile->where.mipLevel, tile->where.arrayLayer, 1},
        .imageOffset = tile->offset,
        .imageExtent = tile->extent};
}

static VkDeviceSize texel_bytes(VkExtent3D extent)
{
    return (VkDeviceSize)extent.width * extent.height * extent.depth * 4;
}

/* Some tiles get their first or their second page, some none. */
static void change_tiles(struct tiles *scene, uint32_t *seed)
{
    VkSparseImageMemoryBind binds[8];
    VkSparseImageMemoryBindInfo info = {scene->image, 0, binds};

    for (uint32_t i = 0; i < COUNT_OF(binds); i++) {
        uint32_t number = app_random(seed) % scene->count;
        struct tile *tile = &scene->tiles[number];
        bool taken = false;
        for (uint32_t j = 0; j < info.bindCount; j++) /* binds of one batch that overlap have no order */
            taken = taken || memcmp(&binds[j].offset, &tile->offset, sizeof tile->offset) == 0;
        if (taken)
            continue;
        tile->page = app_random(seed) % 3 ? (int)(app_random(seed) % 2) : -1;
        binds[info.bindCount++] = (VkSparseImageMemoryBind){
            tile->where,
            tile->offset,
            tile->extent,
            tile->page < 0 ? VK_NULL_HANDLE : scene->pages,
            tile->page < 0 ? 0 : (2 * number + (uint32_t)tile->page) * scene->memory.alignment,
            0};
    }
    bind(&scene->order, (VkBindSparseInfo){.imageBindCount = 1, .pImageBinds = &info}, false);
}

static void run_tiles(struct tiles *scene, uint32_t *seed)
{
    const struct app *app = scene->app;
    VkCommandBuffer commands;

    change_tiles(scene, seed);
    commands = app_begin(app);
    everything(commands);
    for (uint32_t i = 0; i < scene->count; i++) {
        struct tile *tile = &scene->tiles[i];
        VkDeviceSize bytes = texel_bytes(tile->extent);
        VkBufferImageCopy region = region_of(scene, i);
        uint8_t *texels;
        if (tile->page < 0 || (tile->contents[tile->page] && app_random(seed) % 4))
            continue;
        texels = tile->contents[tile->page] ? tile->contents[tile->page] : malloc(bytes);
        CHECK(texels);
        fill_random(texels, bytes, seed);
        memcpy(scene->upload.mapped + region.bufferOffset, texels, bytes);
        app_buffer_flush(app, &scene->upload, region.bufferOffset, bytes);
        tile->contents[tile->page] = texels;
        vkCmdCopyBufferToImage(commands, scene->upload.buffer, scene->image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    }
    everything(commands);
    for (uint32_t i = 0; i < scene->count; i++) {
        VkBufferImageCopy region = region_of(scene, i);
        if (scene->tiles[i].page >= 0)
            vkCmdCopyImageToBuffer(commands, scene->image, VK_IMAGE_LAYOUT_GENERAL, scene->check.buffer, 1, &region);
    }
    everything(commands);
    run_bound(&scene->order, commands);
    app_buffer_invalidate(app, &scene->check, 0, scene->check.size);
    for (uint32_t i = 0; i < scene->count; i++) {
        const struct tile *tile = &scene->tiles[i];
        if (tile->page >= 0)
            EXPECT_EQ(app,
                      memcmp(scene->check.mapped + i * scene->tile_bytes, tile->contents[tile->page],
                             texel_bytes(tile->extent)),
                      0);
    }
}

/* A level of the mip tail is written once, and read each time. */
static void run_tail(struct tiles *scene, uint32_t level, uint32_t *seed)
{
    const struct app *app = scene->app;
    const VkExtent3D whole = scene->info.extent;
    const VkBufferImageCopy region = {
        .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, level, 0, scene->info.arrayLayers},
        .imageExtent = {along(whole.width, level), along(whole.height, level), along(whole.depth, level)}};
    VkDeviceSize bytes = texel_bytes(region.imageExtent) * scene->info.arrayLayers;
    VkCommandBuffer commands = app_begin(app);

    CHECK(level < MAX_LEVELS && bytes <= scene->check.size);
    everything(commands);
    if (!scene->tail[level]) {
        scene->tail[level] = malloc(bytes);
        CHECK(scene->tail[level]);
        fill_random(scene->tail[level], bytes, seed);
        memcpy(scene->upload.mapped, scene->tail[level], bytes);
        app_buffer_flush(app, &scene->upload, 0, bytes);
        vkCmdCopyBufferToImage(commands, scene->upload.buffer, scene->image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
        everything(commands);
    }
    vkCmdCopyImageToBuffer(commands, scene->image, VK_IMAGE_LAYOUT_GENERAL, scene->check.buffer, 1, &region);
    everything(commands);
    app_run(app, commands);
    app_buffer_invalidate(app, &scene->check, 0, bytes);
    EXPECT_EQ(app, memcmp(scene->check.mapped, scene->tail[level], bytes), 0);
}

static void test_tiles(const struct app *app, VkImageType type, VkExtent3D extent, uint32_t layers, bool has)
{
    struct tiles *scene = malloc(sizeof *scene);
    uint32_t seed = 21 + (uint32_t)type;

    CHECK(scene);
    if (!has || !create_tiles(app, type, extent, layers, scene)) {
        printf("left out: tiles of images of %u dimensions\n", (uint32_t)type + 1);
        free(scene);
        return;
    }
    for (uint32_t frame = 0; frame < app->frames; frame++) {
        uint32_t first = scene->color.imageMipTailFirstLod, levels = scene->info.mipLevels;
        run_tiles(scene, &seed);
        if (first < levels)
            run_tail(scene, first + frame % (levels - first), &seed);
    }
    destroy_tiles(scene);
    free(scene);
}

/* ---- an image that is bound in full, from two memories ---- */

static void test_whole_image(const struct app *app)
{
    enum { SIDE = 200 };
    const VkImageCreateInfo create = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                      .flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT,
                                      .imageType = VK_IMAGE_TYPE_2D,
                                      .format = VK_FORMAT_R8G8B8A8_UNORM,
                                      .extent = {SIDE, SIDE, 1},
                                      .mipLevels = 1,
                                      .arrayLayers = 1,
                                      .samples = VK_SAMPLE_COUNT_1_BIT,
                                      .tiling = VK_IMAGE_TILING_OPTIMAL,
                                      .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {SIDE, SIDE, 1}};
    const VkDeviceSize bytes = (VkDeviceSize)SIDE * SIDE * 4;
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    struct app_image all = {.aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    VkSparseMemoryBind binds[2];
    VkSparseImageOpaqueMemoryBindInfo info = {.bindCount = 2, .pBinds = binds};
    VkMemoryRequirements memory;
    VkDeviceMemory pages[2];
    struct app_buffer upload, check;
    struct order order;
    VkCommandBuffer commands;
    VkDeviceSize half;
    uint32_t seed = 31;

    CHECK_VK(vkCreateImage(app->device, &create, NULL, &all.image));
    vkGetImageMemoryRequirements(app->device, all.image, &memory);
    half = memory.size / memory.alignment / 2 * memory.alignment;
    allocate.memoryTypeIndex = app_memory_type_for(app, memory.memoryTypeBits, APP_DEVICE);
    for (uint32_t i = 0; i < 2; i++) {
        VkDeviceSize from = i ? half : 0, size = i ? memory.size - half : half;
        allocate.allocationSize = size + memory.alignment;
        CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &pages[i]));
        binds[i] = (VkSparseMemoryBind){from, size, pages[i], memory.alignment, 0};
    }
    if (!half)
        info = (VkSparseImageOpaqueMemoryBindInfo){.bindCount = 1, .pBinds = binds + 1};
    info.image = all.image;
    create_order(app, &order);
    app_buffer_create(app, &upload, bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &check, bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    fill_random(upload.mapped, bytes, &seed);
    app_buffer_flush(app, &upload, 0, bytes);
    bind(&order, (VkBindSparseInfo){.imageOpaqueBindCount = 1, .pImageOpaqueBinds = &info}, false);
    commands = app_begin(app);
    app_image_barrier(commands, &all, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdCopyBufferToImage(commands, upload.buffer, all.image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    everything(commands);
    vkCmdCopyImageToBuffer(commands, all.image, VK_IMAGE_LAYOUT_GENERAL, check.buffer, 1, &region);
    everything(commands);
    run_bound(&order, commands);
    app_buffer_invalidate(app, &check, 0, bytes);
    EXPECT_EQ(app, memcmp(check.mapped, upload.mapped, bytes), 0);
    destroy_order(&order);
    vkDestroyImage(app->device, all.image, NULL);
    app_buffer_destroy(app, &upload);
    app_buffer_destroy(app, &check);
    for (uint32_t i = 0; i < 2; i++)
        vkFreeMemory(app->device, pages[i], NULL);
}

int main(int argc, char **argv)
{
    static bool unseen;
    static const struct app_option options[] = {
        {"--unseen", "nothing but buffers whose pages the host does not map", &unseen, NULL}, {0}};
    static const struct app_program program = {
        .name = "sparse",
        .what = "Pages and tiles are bound to buffers and images, taken away and bound again.",
        .frames = 12,
        .options = options,
    };
    VkPhysicalDeviceFeatures features = {.sparseBinding = VK_TRUE};
    const struct app_device_request request = {.features = &features};
    struct app app;

    app_init(&app, argc, argv, &program);
    if (!app.features.sparseBinding || !(app.queue_properties.queueFlags & VK_QUEUE_SPARSE_BINDING_BIT))
        app_skip(&app, "the device binds no pages (sparseBinding)");
    features.sparseResidencyBuffer = app.features.sparseResidencyBuffer;
    features.sparseResidencyImage2D = app.features.sparseResidencyImage2D;
    features.sparseResidencyImage3D = app.features.sparseResidencyImage3D;
    features.sparseResidencyAliased = app.features.sparseResidencyAliased;
    app_device_create(&app, &request);
    test_pages(&app, false);
    if (unseen)
        return app_finish(&app);
    test_pages(&app, true);
    test_tiles(&app, VK_IMAGE_TYPE_2D, (VkExtent3D){320, 200, 1}, 2, app.features.sparseResidencyImage2D);
    test_tiles(&app, VK_IMAGE_TYPE_3D, (VkExtent3D){80, 48, 40}, 1, app.features.sparseResidencyImage3D);
    test_whole_image(&app);
    return app_finish(&app);
}
