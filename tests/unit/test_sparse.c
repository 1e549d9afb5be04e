/* SPDX-License-Identifier: MIT */
/* Sparse objects of a replay: pages that are shared, come back, or are memory of its own where blocks differ. */
#include "replayer/sparse/sparse.h"

#include "replayer/verify/verify.h"
#include "tests/unit/replay_device.h"
#include "vulkan/texel/pixels.h"

#define HOST  (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)
#define LOCAL VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT

struct scene {
    struct unit_replay u;
    VkDeviceSize block; /* of a buffer */
};

static bool begin(struct scene *s, const struct replay_options *options)
{
    memset(s, 0, sizeof *s);
    if (!unit_replay_init(&s->u, options))
        return false;
    if (!s->u.gpu.features.sparseResidencyBuffer || !s->u.gpu.features.sparseResidencyAliased ||
        !s->u.gpu.features.sparseResidencyImage2D || !(s->u.gpu.queue_flags & VK_QUEUE_SPARSE_BINDING_BIT)) {
        unit_replay_finish(&s->u);
        return false;
    }
    CHECK_EQ_INT(replay_check_create(&s->u.r), LAP_OK);
    s->u.log.level = LAP_LOG_ERROR;
    return true;
}

static void end(struct scene *s)
{
    s->u.dev.vk.DeviceWaitIdle(s->u.dev.live);
    replay_objects_destroy_left(&s->u.r, &s->u.dev);
    replay_sparse_finish(&s->u.r, &s->u.dev);
    replay_check_destroy(&s->u.r);
    unit_replay_finish(&s->u);
}

/* alignment 0: blocks are what they are here. */
static VkBuffer create_buffer(struct scene *s, uint64_t index, VkDeviceSize blocks, VkDeviceSize alignment)
{
    struct unit_replay *u = &s->u;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT | VK_BUFFER_CREATE_SPARSE_RESIDENCY_BIT |
                                        VK_BUFFER_CREATE_SPARSE_ALIASED_BIT,
                               .size = s->block ? blocks * s->block : 1,
                               .usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT};
    VkBuffer buffer = gen_VkBuffer(index);
    struct gen_args_vkCreateBuffer create = {.device = u->dev.live, .pCreateInfo = &info, .pBuffer = &buffer};
    struct gen_args_lapilliSparseBuffer sparse = {.size = info.size, .alignment = alignment};
    VkMemoryRequirements needs;

    CHECK_EQ_INT(replay_CreateBuffer(&u->r, &u->dev, &create), LAP_OK);
    sparse.buffer = gen_VkBuffer(replay_object_get(&u->r, GEN_HANDLE_VkBuffer, index)->live);
    u->dev.vk.GetBufferMemoryRequirements(u->dev.live, sparse.buffer, &needs);
    s->block = needs.alignment;
    if (!alignment)
        sparse.alignment = needs.alignment;
    CHECK_EQ_INT(replay_lapilliSparseBuffer(&u->r, &u->dev, &sparse), LAP_OK);
    return sparse.buffer;
}

static void measure_blocks(struct scene *s)
{
    VkBuffer buffer = create_buffer(s, 1, 1, 0);
    CHECK_EQ_INT(gen_destroy_object(&s->u.r, &s->u.dev, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(buffer)), LAP_OK);
}

static enum lap_status tell_memory(struct scene *s, uint64_t index, VkDeviceSize blocks, VkMemoryPropertyFlags flags)
{
    struct gen_args_lapilliSparseMemory args = {s->u.dev.live, gen_VkDeviceMemory(index), blocks * s->block, flags};
    return replay_lapilliSparseMemory(&s->u.r, &s->u.dev, &args);
}

static enum lap_status free_memory(struct scene *s, uint64_t index)
{
    struct gen_args_lapilliFreeSparseMemory args = {s->u.dev.live, gen_VkDeviceMemory(index)};
    return replay_lapilliFreeSparseMemory(&s->u.r, &s->u.dev, &args);
}

static enum lap_status bind_info(struct scene *s, VkBindSparseInfo info)
{
    struct gen_args_vkQueueBindSparse args = {.queue = s->u.queue.live, .bindInfoCount = 1, .pBindInfo = &info};
    enum lap_status status;

    info.sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO;
    status = replay_QueueBindSparse(&s->u.r, &s->u.dev, &args);
    lap_arena_reset(&s->u.r.arena);
    s->u.dev.vk.QueueWaitIdle(s->u.queue.live);
    return status;
}

/* memory 0: none. */
static enum lap_status bind(struct scene *s, VkBuffer buffer, VkDeviceSize block, VkDeviceSize count, uint64_t memory,
                            VkDeviceSize memory_block)
{
    VkSparseMemoryBind range = {block * s->block, count * s->block, gen_VkDeviceMemory(memory), memory_block * s->block,
                                0};
    VkSparseBufferMemoryBindInfo binds = {buffer, 1, &range};
    return bind_info(s, (VkBindSparseInfo){.bufferBindCount = 1, .pBufferBinds = &binds});
}

static enum lap_status update(struct scene *s, VkBuffer buffer, VkDeviceSize offset, size_t bytes, const void *data)
{
    struct gen_args_lapilliUpdateBuffer args = {.buffer = buffer, .offset = offset, .dataSize = bytes, .pData = data};
    return replay_lapilliUpdateBuffer(&s->u.r, &s->u.dev, &args);
}

/* Whether the buffer holds `value` in all of these bytes, as far as a check can tell, and as far as the device can. */
static bool holds(struct scene *s, VkBuffer buffer, VkDeviceSize offset, size_t bytes, uint8_t value)
{
    struct gen_args_lapilliCheckBuffer args = {.buffer = buffer, .offset = offset, .size = bytes};
    struct lap_readback_queue at = {.queue = s->u.queue.live, .family = s->u.queue.family};
    uint64_t before = replay_check_summary(&s->u.r).different;
    uint8_t *expected = malloc(bytes);
    const void *data = NULL;
    bool same;

    CHECK(expected != NULL);
    memset(expected, value, bytes);
    lap_pixels_hash(expected, bytes, &args.hashLow, &args.hashHigh);
    CHECK_EQ_INT(replay_lapilliCheckBuffer(&s->u.r, &s->u.dev, &args), LAP_OK);
    lap_arena_reset(&s->u.r.arena);
    CHECK_EQ_INT(lap_readback_buffer(replay_memory_readback(&s->u.dev), &at, buffer, offset, bytes, &data), LAP_OK);
    same = data && memcmp(data, expected, bytes) == 0;
    free(expected);
    return same && replay_check_summary(&s->u.r).different == before;
}

UNIT_TEST(buffers_share_pages_and_pages_keep_what_they_hold)
{
    struct replay_options options = {.verify = true};
    struct scene s;
    VkBuffer a, b;
    uint8_t *data;

    if (!begin(&s, &options))
        SKIP("no driver that binds pages");
    measure_blocks(&s);
    a = create_buffer(&s, 2, 4, 0);
    b = create_buffer(&s, 3, 4, 0);
    data = malloc(2 * s.block);
    CHECK(data != NULL);
    memset(data, 0x5a, 2 * s.block);
    CHECK_EQ_INT(tell_memory(&s, 1, 3, HOST), LAP_OK);
    CHECK_EQ_INT(tell_memory(&s, 2, 1, HOST), LAP_OK);
    CHECK_EQ_INT(update(&s, a, 0, 1, data), LAP_ERROR_REPLAY); /* nothing lies there yet */
    CHECK_EQ_INT(bind(&s, a, 0, 1, 1, 2), LAP_OK);
    CHECK_EQ_INT(bind(&s, a, 1, 1, 2, 0), LAP_OK);
    CHECK_EQ_INT(bind(&s, b, 3, 1, 1, 2), LAP_OK);
    CHECK(holds(&s, a, 0, 2 * s.block, 0));
    /* Across the border of two memories; the other buffer sees its page of it. */
    CHECK_EQ_INT(update(&s, a, s.block / 2, s.block, data), LAP_OK);
    CHECK(holds(&s, a, s.block / 2, s.block, 0x5a));
    CHECK(holds(&s, b, 3 * s.block + s.block / 2, s.block / 2, 0x5a));
    CHECK(holds(&s, b, 3 * s.block, s.block / 2, 0));
    /* A page that comes back. */
    CHECK_EQ_INT(bind(&s, a, 0, 1, 0, 0), LAP_OK);
    CHECK_EQ_INT(update(&s, a, 0, 1, data), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(bind(&s, a, 0, 1, 1, 0), LAP_OK);
    CHECK(holds(&s, a, 0, s.block, 0));
    CHECK_EQ_INT(bind(&s, a, 0, 2, 1, 1), LAP_OK);
    CHECK(holds(&s, a, s.block + s.block / 2, s.block / 2, 0x5a));
    /* What is freed lies nowhere any more. */
    CHECK_EQ_INT(free_memory(&s, 1), LAP_OK);
    CHECK_EQ_INT(update(&s, a, 0, 1, data), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(free_memory(&s, 1), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(bind(&s, a, 0, 1, 1, 0), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(tell_memory(&s, 2, 1, HOST), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(tell_memory(&s, 3, 0, HOST), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(bind(&s, b, 0, 2, 2, 0), LAP_ERROR_REPLAY); /* it has one block */
    free(data);
    end(&s);
}

/* As on a device where buffers can't lie in memory that the host sees. */
UNIT_TEST(pages_that_the_host_does_not_see_are_written_through_a_window)
{
    struct replay_options options = {.verify = true};
    VkPhysicalDeviceMemoryProperties *memory;
    VkPhysicalDeviceMemoryProperties real;
    struct scene s;
    uint8_t data[256];
    VkBuffer a;

    if (!begin(&s, &options))
        SKIP("no driver that binds pages");
    measure_blocks(&s);
    memory = &s.u.instance.memory;
    real = *memory;
    memset(data, 0x77, sizeof data);
    a = create_buffer(&s, 2, 2, 0);
    CHECK_EQ_INT(tell_memory(&s, 1, 4, LOCAL), LAP_OK);
    for (uint32_t i = 0; i < memory->memoryTypeCount; i++)
        memory->memoryTypes[i].propertyFlags = LOCAL;
    CHECK_EQ_INT(bind(&s, a, 0, 2, 1, 1), LAP_OK);
    *memory = real;
    CHECK_EQ_INT(update(&s, a, s.block - 100, sizeof data, data), LAP_OK);
    CHECK(holds(&s, a, s.block - 100, sizeof data, 0x77));
    end(&s);
}

UNIT_TEST(a_buffer_whose_blocks_are_larger_here_has_memory_of_its_own)
{
    struct replay_options options = {.verify = true};
    struct scene s;
    uint8_t data[1000];
    VkBuffer a, b;

    if (!begin(&s, &options))
        SKIP("no driver that binds pages");
    measure_blocks(&s);
    memset(data, 0x33, sizeof data);
    a = create_buffer(&s, 2, 3, s.block / 2);
    b = create_buffer(&s, 3, 3, 2 * s.block);
    CHECK(!replay_sparse_has_pages(replay_buffer_of(&s.u.r, a, NULL)));
    CHECK(replay_sparse_has_pages(replay_buffer_of(&s.u.r, b, NULL)));
    CHECK_EQ_INT(tell_memory(&s, 1, 3, LOCAL), LAP_OK);
    CHECK_EQ_INT(bind(&s, a, 1, 1, 0, 0), LAP_OK); /* nothing */
    CHECK_EQ_INT(bind(&s, a, 1, 1, 1, 0), LAP_OK);
    CHECK_EQ_INT(bind(&s, b, 0, 2, 1, 0), LAP_OK);
    CHECK(holds(&s, a, 0, 3 * s.block, 0));
    CHECK_EQ_INT(update(&s, a, 2 * s.block + 5, sizeof data, data), LAP_OK);
    CHECK_EQ_INT(bind(&s, a, 0, 3, 0, 0), LAP_OK);
    CHECK(holds(&s, a, 2 * s.block + 5, sizeof data, 0x33));
    CHECK(holds(&s, b, 0, 2 * s.block, 0));
    end(&s);
}

/* same: the trace tells the tiles of this driver. */
static VkImage create_image(struct scene *s, uint64_t index, VkImageCreateFlags flags, bool same)
{
    struct unit_replay *u = &s->u;
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT | flags,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = VK_FORMAT_R8G8B8A8_UNORM,
                              .extent = {300, 200, 1},
                              .mipLevels = 9,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    VkImage image = gen_VkImage(index);
    struct gen_args_vkCreateImage create = {.device = u->dev.live, .pCreateInfo = &info, .pImage = &image};
    VkSparseImageMemoryRequirements aspects[4];
    struct gen_args_lapilliSparseImage sparse = {.requirementCount = 4, .pRequirements = aspects};
    VkMemoryRequirements needs;

    CHECK_EQ_INT(replay_CreateImage(&u->r, &u->dev, &create), LAP_OK);
    sparse.image = gen_VkImage(replay_object_get(&u->r, GEN_HANDLE_VkImage, index)->live);
    u->dev.vk.GetImageMemoryRequirements(u->dev.live, sparse.image, &needs);
    u->dev.vk.GetImageSparseMemoryRequirements(u->dev.live, sparse.image, &sparse.requirementCount, aspects);
    sparse.size = same ? needs.size : needs.size + needs.alignment;
    sparse.alignment = needs.alignment;
    if (!(flags & VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT))
        sparse.requirementCount = 0;
    s->block = needs.alignment;
    CHECK_EQ_INT(replay_lapilliSparseImage(&u->r, &u->dev, &sparse), LAP_OK);
    CHECK_EQ_INT(replay_lapilliSparseImage(&u->r, &u->dev, &sparse), LAP_ERROR_REPLAY);
    return sparse.image;
}

static enum lap_status bind_tile(struct scene *s, VkImage image, uint64_t memory)
{
    VkSparseImageMemoryBind tile = {{VK_IMAGE_ASPECT_COLOR_BIT, 0, 0}, {0, 0, 0}, {0, 0, 1},
                                    gen_VkDeviceMemory(memory),        0,         0};
    VkSparseImageMemoryBindInfo binds = {image, 1, &tile};
    VkSparseImageMemoryRequirements aspects[4];
    uint32_t count = 4;

    if (!image)
        return bind_info(s, (VkBindSparseInfo){.imageBindCount = 1, .pImageBinds = &binds});
    s->u.dev.vk.GetImageSparseMemoryRequirements(s->u.dev.live, image, &count, aspects);
    tile.extent = aspects[0].formatProperties.imageGranularity;
    return bind_info(s, (VkBindSparseInfo){.imageBindCount = 1, .pImageBinds = &binds});
}

UNIT_TEST(an_image_whose_tiles_differ_is_bound_in_full)
{
    struct replay_options options = {0};
    struct scene s;
    VkImage same, other, whole;
    VkSparseMemoryBind range = {0};
    VkSparseImageOpaqueMemoryBindInfo binds = {.bindCount = 1, .pBinds = &range};

    if (!begin(&s, &options))
        SKIP("no driver that binds pages");
    same = create_image(&s, 1, VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT, true);
    other = create_image(&s, 2, VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT, false);
    CHECK_EQ_INT(tell_memory(&s, 1, 2, LOCAL), LAP_OK);
    CHECK_EQ_INT(bind_tile(&s, same, 1), LAP_OK);
    CHECK(replay_image_of(&s.u.r, same, NULL)->places[0].memory == VK_NULL_HANDLE);
    CHECK_EQ_INT(bind_tile(&s, other, 0), LAP_OK);
    CHECK(replay_image_of(&s.u.r, other, NULL)->places[0].memory == VK_NULL_HANDLE);
    CHECK_EQ_INT(bind_tile(&s, other, 1), LAP_OK);
    CHECK(replay_image_of(&s.u.r, other, NULL)->places[0].memory != VK_NULL_HANDLE);
    CHECK_EQ_INT(bind_tile(&s, other, 1), LAP_OK);
    CHECK_EQ_INT(bind_tile(&s, other, 7), LAP_ERROR_REPLAY); /* no such memory */
    /* Without tiles, in its opaque bytes. */
    whole = create_image(&s, 3, 0, false);
    binds.image = whole;
    range = (VkSparseMemoryBind){0, s.block, gen_VkDeviceMemory(1), 0, 0};
    CHECK_EQ_INT(bind_info(&s, (VkBindSparseInfo){.imageOpaqueBindCount = 1, .pImageOpaqueBinds = &binds}), LAP_OK);
    CHECK(replay_image_of(&s.u.r, whole, NULL)->places[0].memory != VK_NULL_HANDLE);
    whole = binds.image = create_image(&s, 4, 0, true);
    CHECK_EQ_INT(bind_info(&s, (VkBindSparseInfo){.imageOpaqueBindCount = 1, .pImageOpaqueBinds = &binds}), LAP_OK);
    CHECK(replay_image_of(&s.u.r, whole, NULL)->places[0].memory == VK_NULL_HANDLE);
    range = (VkSparseMemoryBind){s.block, UINT64_MAX - s.block, gen_VkDeviceMemory(1), 0, 0};
    CHECK_EQ_INT(bind_info(&s, (VkBindSparseInfo){.imageOpaqueBindCount = 1, .pImageOpaqueBinds = &binds}),
                 LAP_ERROR_REPLAY);
    end(&s);
}

UNIT_TEST(pages_for_what_is_not_sparse_are_an_error)
{
    struct replay_options options = {0};
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 100, .usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT};
    VkBuffer buffer = gen_VkBuffer(2);
    struct gen_args_vkCreateBuffer create = {.pCreateInfo = &info, .pBuffer = &buffer};
    struct gen_args_lapilliBindBuffer plain = {.size = 100};
    struct scene s;

    if (!begin(&s, &options))
        SKIP("no driver that binds pages");
    measure_blocks(&s);
    CHECK_EQ_INT(replay_CreateBuffer(&s.u.r, &s.u.dev, &create), LAP_OK);
    buffer = gen_VkBuffer(replay_object_get(&s.u.r, GEN_HANDLE_VkBuffer, 2)->live);
    CHECK_EQ_INT(tell_memory(&s, 1, 2, LOCAL), LAP_OK);
    CHECK_EQ_INT(bind(&s, buffer, 0, 1, 1, 0), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(bind(&s, VK_NULL_HANDLE, 0, 1, 1, 0), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(bind_tile(&s, VK_NULL_HANDLE, 1), LAP_ERROR_REPLAY);
    plain.buffer = create_buffer(&s, 3, 1, 0);
    CHECK_EQ_INT(replay_lapilliBindBuffer(&s.u.r, &s.u.dev, &plain), LAP_ERROR_REPLAY);
    end(&s);
}

UNIT_MAIN();
