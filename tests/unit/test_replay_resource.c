/* SPDX-License-Identifier: MIT */
/* Buffers and images of a replay: where they lie, what is written into them, and what wrong packets do. */
#include "replayer/memory/resource.h"
#include "replayer/resource/create.h"
#include "vulkan/barrier.h"
#include "vulkan/chain.h"

#include <unistd.h>

#include "gen_encode.h"
#include "replayer/analysis/alias_groups.h"
#include "replayer/memory/memory_internal.h"
#include "replayer/verify/verify.h"
#include "tests/unit/replay_buffer.h"
#include "vulkan/dictionary.h"
#include "vulkan/layout.h"
#include "vulkan/texel/pixels.h"

/* A check of the buffer against `data`: how many differences there are then. */
static uint64_t differences(struct unit_replay *u, VkBuffer buffer, VkDeviceSize offset, const void *data, size_t bytes)
{
    struct gen_args_lapilliCheckBuffer args = {.buffer = buffer, .offset = offset, .size = bytes};
    lap_pixels_hash(data, bytes, &args.hashLow, &args.hashHigh);
    CHECK_EQ_INT(replay_lapilliCheckBuffer(&u->r, &u->dev, &args), LAP_OK);
    return replay_check_summary(&u->r).different;
}

UNIT_TEST(buffers_hold_what_updates_say)
{
    static uint8_t data[9 << 20]; /* more than one piece of staging */
    struct replay_options options = {.verify = true};
    struct unit_replay u;
    VkBuffer buffer, host_buffer;
    struct replay_buffer *record;

    if (!unit_replay_init(&u, &options))
        SKIP("no Vulkan driver");
    CHECK_EQ_INT(replay_check_create(&u.r), LAP_OK);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 ^ i >> 9);
    host_buffer = create_buffer(&u, 1, 4096, HOST);
    CHECK(replay_buffer_of(&u.r, host_buffer, NULL)->place.host != NULL);
    CHECK_EQ_INT(update_buffer(&u, host_buffer, 100, 200, data), LAP_OK);
    CHECK_EQ_INT(update_buffer(&u, host_buffer, 3996, 100, data), LAP_OK);
    CHECK_EQ_U64(differences(&u, host_buffer, 100, data, 200), 0);
    CHECK_EQ_U64(differences(&u, host_buffer, 3996, data, 100), 0);

    buffer = create_buffer(&u, 2, sizeof data + 64, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    record = replay_buffer_of(&u.r, buffer, NULL);
    record->place.host = NULL; /* as on a device whose memory the host can't see: everything is staged */
    CHECK_EQ_INT(update_buffer(&u, buffer, 60, sizeof data, data), LAP_OK);
    CHECK_EQ_INT(update_buffer(&u, buffer, 3, 5, data), LAP_OK);
    CHECK_EQ_U64(differences(&u, buffer, 60, data, sizeof data), 0);
    CHECK_EQ_U64(differences(&u, buffer, 3, data, 5), 0);
    CHECK_EQ_U64(replay_check_summary(&u.r).checks, 4);

    data[1]++;
    u.log.fd = -1;
    CHECK_EQ_U64(differences(&u, buffer, 60, data, 100), 1);
    CHECK_EQ_U64(differences(&u, host_buffer, 100, data, 200), 2);
    CHECK_EQ_U64(replay_check_summary(&u.r).first_frame, 1);
    destroy_buffer(&u, buffer);
    replay_check_destroy(&u.r);
    unit_replay_finish(&u); /* the other buffer is left to the end */
}

/* As on a device whose memory the host can't see: everything is staged. */
static VkBuffer create_hidden(struct unit_replay *u, uint64_t index, VkDeviceSize bytes)
{
    VkBuffer buffer = create_buffer(u, index, bytes, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    replay_buffer_of(&u->r, buffer, NULL)->place.host = NULL;
    return buffer;
}

UNIT_TEST(what_is_staged_arrives_in_order)
{
    enum { BYTES = 5000, ROUNDS = 400 };
    static uint8_t expected[3][BYTES];
    struct replay_options options = {.verify = true};
    struct unit_replay u;
    struct replay_staging_stats stats;
    VkBuffer buffers[3];
    uint64_t state = 88172645463325252;

    if (!unit_replay_init(&u, &options))
        SKIP("no Vulkan driver");
    CHECK_EQ_INT(replay_check_create(&u.r), LAP_OK);
    for (int i = 0; i < 3; i++) {
        buffers[i] = create_hidden(&u, 1 + i, BYTES);
        memset(expected[i], 0, BYTES);
        CHECK_EQ_INT(replay_staging_write(&u.r, &u.dev, &replay_buffer_of(&u.r, buffers[i], NULL)->staged, buffers[i],
                                          0, NULL, BYTES),
                     LAP_OK);
    }
    /* Many that overlap, before anything is handed over. */
    for (int round = 0; round < ROUNDS; round++) {
        uint8_t data[200];
        int i = (int)(state % 3);
        size_t bytes, offset;
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        bytes = 1 + state % sizeof data;
        offset = (state >> 20) % (BYTES - bytes);
        memset(data, round, bytes);
        memcpy(expected[i] + offset, data, bytes);
        CHECK_EQ_INT(update_buffer(&u, buffers[i], offset, bytes, data), LAP_OK);
    }
    stats = replay_staging_stats(&u.dev);
    CHECK_EQ_U64(stats.batches, 0);
    CHECK(stats.copies >= ROUNDS);
    for (int i = 0; i < 3; i++)
        CHECK_EQ_U64(differences(&u, buffers[i], 0, expected[i], BYTES), 0);
    stats = replay_staging_stats(&u.dev);
    CHECK_EQ_U64(stats.batches, 1);
    CHECK_EQ_U64(stats.waits, 0);
    replay_check_destroy(&u.r);
    unit_replay_finish(&u);
}

/* A buffer may go before its bytes were handed over, and while they are under way. */
UNIT_TEST(staged_buffers_may_be_destroyed)
{
    static const uint8_t data[300000];
    struct replay_options options = {.verify = true};
    struct unit_replay u;
    VkBuffer buffer, other;

    if (!unit_replay_init(&u, &options))
        SKIP("no Vulkan driver");
    CHECK_EQ_INT(replay_check_create(&u.r), LAP_OK);
    other = create_hidden(&u, 1, sizeof data);
    for (uint64_t i = 0; i < 100; i++) { /* more than the ring holds */
        buffer = create_hidden(&u, 2 + i, sizeof data);
        CHECK_EQ_INT(update_buffer(&u, buffer, 0, sizeof data, data), LAP_OK);
        if (i % 3 == 0)
            CHECK_EQ_INT(update_buffer(&u, other, 1, sizeof data - 1, data), LAP_OK);
        if (i % 2)
            CHECK_EQ_INT(replay_staging_flush(&u.r, &u.dev, u.dev.queues.main->live), LAP_OK);
        destroy_buffer(&u, buffer);
    }
    CHECK_EQ_U64(differences(&u, other, 1, data, sizeof data - 1), 0);
    replay_check_destroy(&u.r);
    unit_replay_finish(&u);
}

UNIT_TEST(what_the_host_sees_begins_as_zeroes)
{
    static const uint8_t zeroes[5000];
    struct replay_options options = {.verify = true};
    uint8_t data[5000];
    struct unit_replay u;
    VkBuffer buffer;

    if (!unit_replay_init(&u, &options))
        SKIP("no Vulkan driver");
    CHECK_EQ_INT(replay_check_create(&u.r), LAP_OK);
    memset(data, 0xa5, sizeof data);
    for (uint64_t i = 1; i <= 3; i++) {
        buffer = create_buffer(&u, i, sizeof data, HOST);
        CHECK_EQ_U64(differences(&u, buffer, 0, zeroes, sizeof zeroes), 0);
        CHECK_EQ_INT(update_buffer(&u, buffer, 0, sizeof data, data), LAP_OK);
        destroy_buffer(&u, buffer); /* the next one gets the same memory */
    }
    replay_check_destroy(&u.r);
    unit_replay_finish(&u);
}

UNIT_TEST(wrong_packets_about_buffers_are_errors)
{
    struct replay_options options = {.verify = true};
    struct gen_args_lapilliBindBuffer bind = {.size = 1};
    struct gen_args_lapilliCheckBuffer check = {.offset = 1, .size = 100};
    uint8_t data[101] = {0};
    struct unit_replay u;
    VkBuffer buffer;

    if (!unit_replay_init(&u, &options))
        SKIP("no Vulkan driver");
    CHECK_EQ_INT(replay_check_create(&u.r), LAP_OK);
    buffer = create_buffer(&u, 1, 100, HOST);
    CHECK_EQ_INT(update_buffer(&u, buffer, 0, 101, data), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(update_buffer(&u, buffer, UINT64_MAX, 2, data), LAP_ERROR_REPLAY);
    CHECK(strstr(lap_error_message(), "VkBuffer:1 ") != NULL);
    CHECK_EQ_INT(update_buffer(&u, buffer, 0, SIZE_MAX, data), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(update_buffer(&u, buffer, 0, 1, NULL), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(update_buffer(&u, VK_NULL_HANDLE, 0, 1, data), LAP_ERROR_INVALID);
    CHECK_EQ_INT(update_buffer(&u, buffer, 100, 0, NULL), LAP_OK);
    CHECK_EQ_INT(replay_lapilliBindBuffer(&u.r, &u.dev, &bind), LAP_ERROR_INVALID);
    bind.buffer = check.buffer = buffer;
    CHECK_EQ_INT(replay_lapilliBindBuffer(&u.r, &u.dev, &bind), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(replay_lapilliCheckBuffer(&u.r, &u.dev, &check), LAP_ERROR_REPLAY);
    check.buffer = VK_NULL_HANDLE;
    CHECK_EQ_INT(replay_lapilliCheckBuffer(&u.r, &u.dev, &check), LAP_ERROR_INVALID);
    replay_check_destroy(&u.r);
    unit_replay_finish(&u);
}

struct spans {
    uint64_t gaps[3], sizes[3];
};

static enum lap_status update_spans(struct unit_replay *u, VkBuffer buffer, uint32_t count, const struct spans *spans,
                                    size_t bytes, const void *data)
{
    struct gen_args_lapilliUpdateBufferSpans args = {
        .buffer = buffer, .spanCount = count, .dataSize = bytes, .pData = data};
    if (spans) {
        args.pGaps = spans->gaps;
        args.pSizes = spans->sizes;
    }
    return replay_lapilliUpdateBufferSpans(&u->r, &u->dev, &args);
}

UNIT_TEST(spans_of_a_buffer_are_put_where_they_lie)
{
    const struct spans good = {{10, 0, 84}, {2, 3, 1}};
    const struct spans behind = {{10, 0, 84}, {2, 3, 2}}, far = {{10, UINT64_MAX - 11, 1}, {2, 3, 1}};
    const struct spans huge = {{10, 0, 1}, {2, UINT64_MAX, 1}};
    const uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const uint8_t expected[8] = {0, 1, 2, 3, 4, 5, 0, 0};
    struct unit_replay u;
    const struct replay_memory_place *place;
    VkBuffer buffer;

    if (!unit_replay_init(&u, NULL))
        SKIP("no Vulkan driver");
    buffer = create_buffer(&u, 1, 100, HOST);
    place = &replay_buffer_of(&u.r, buffer, NULL)->place;
    CHECK_EQ_INT(update_spans(&u, buffer, 3, &behind, 7, data), LAP_ERROR_REPLAY);
    CHECK(strstr(lap_error_message(), "2 bytes at 99") != NULL);
    CHECK_EQ_INT(update_spans(&u, buffer, 3, &far, 6, data), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(update_spans(&u, buffer, 3, &huge, 6, data), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(update_spans(&u, buffer, 3, &good, 5, data), LAP_ERROR_REPLAY); /* more than there is */
    CHECK_EQ_INT(update_spans(&u, buffer, 3, &good, 7, data), LAP_ERROR_REPLAY); /* and less */
    CHECK_EQ_INT(update_spans(&u, buffer, 0, &good, 6, data), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(update_spans(&u, buffer, 3, NULL, 6, data), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(update_spans(&u, buffer, 3, &good, 6, NULL), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(update_spans(&u, VK_NULL_HANDLE, 3, &good, 6, data), LAP_ERROR_INVALID);
    CHECK_EQ_INT(update_spans(&u, buffer, 0, NULL, 0, NULL), LAP_OK);
    for (unsigned i = 0; i < 100; i++) /* nothing of a packet that is wrong was written */
        CHECK_EQ_INT(place->host[i], 0);
    CHECK_EQ_INT(update_spans(&u, buffer, 3, &good, 6, data), LAP_OK);
    CHECK(memcmp(place->host + 9, expected, sizeof expected) == 0);
    CHECK_EQ_INT(place->host[99], 6);
    unit_replay_finish(&u);
}

static uint32_t flushed_ranges;
static VkMappedMemoryRange flushed[4];

static VKAPI_ATTR VkResult VKAPI_CALL note_flush(VkDevice device, uint32_t count, const VkMappedMemoryRange *ranges)
{
    (void)device;
    flushed_ranges = count;
    for (uint32_t i = 0; i < count && i < 4; i++)
        flushed[i] = ranges[i];
    return VK_SUCCESS;
}

UNIT_TEST(spans_are_flushed_once_by_atoms)
{
    const struct spans near = {{0, 10, 200}, {4, 4, 4}};
    const uint8_t data[12] = {0};
    struct unit_replay u;
    struct replay_memory_place *place;
    VkBuffer buffer;

    if (!unit_replay_init(&u, NULL))
        SKIP("no Vulkan driver");
    buffer = create_buffer(&u, 1, 1000, HOST);
    place = &replay_buffer_of(&u.r, buffer, NULL)->place;
    place->coherent = false;
    u.dev.memory.planner->atom = 64;
    u.dev.vk.FlushMappedMemoryRanges = note_flush;
    u.dev.vk.InvalidateMappedMemoryRanges = note_flush;
    CHECK_EQ_INT(update_spans(&u, buffer, 3, &near, 12, data), LAP_OK);
    CHECK_EQ_U64(flushed_ranges, 2);
    CHECK_EQ_U64(flushed[0].offset, place->offset / 64 * 64);
    CHECK_EQ_U64(flushed[0].size, 64);
    CHECK_EQ_U64(flushed[1].offset, (place->offset + 218) / 64 * 64);
    unit_replay_finish(&u);
}

UNIT_TEST(memory_follows_the_objects)
{
    VkBuffer buffers[200];
    struct replay_memory_stats stats;
    struct unit_replay u;

    if (!unit_replay_init(&u, NULL))
        SKIP("no Vulkan driver");
    for (int round = 0; round < 5; round++) {
        for (uint64_t i = 0; i < 200; i++)
            buffers[i] =
                create_buffer(&u, round * 200 + i + 1, 1 + i * 997, i % 2 ? HOST : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
        stats = replay_memory_stats(&u.dev);
        CHECK(stats.used_bytes >= 199 * 200 / 2 * 997);
        CHECK(stats.allocated_bytes <= stats.used_bytes + stats.used_bytes / 4);
        for (uint64_t i = 0; i < 200; i++)
            destroy_buffer(&u, buffers[i * 77 % 200]);
        CHECK_EQ_U64(replay_memory_stats(&u.dev).used_bytes, 0);
        CHECK_EQ_U64(replay_memory_stats(&u.dev).allocations, 0);
    }
    /* A large one has an allocation of its own, which ends with it. */
    stats = replay_memory_stats(&u.dev);
    buffers[0] = create_buffer(&u, 2000, 100 << 20, HOST);
    CHECK_EQ_U64(replay_memory_stats(&u.dev).allocations, stats.allocations + 1);
    destroy_buffer(&u, buffers[0]);
    CHECK_EQ_U64(replay_memory_stats(&u.dev).allocations, stats.allocations);
    unit_replay_finish(&u);
}

/* ---- images ---- */

/* bytes: what it took when it was recorded */
static VkImage create_image_of(struct unit_replay *u, uint64_t index, VkImageTiling tiling,
                               VkMemoryPropertyFlags wanted, VkDeviceSize bytes)
{
    VkExternalMemoryImageCreateInfo external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
                                                .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .pNext = &external, /* dropped: the extension is not enabled, so the validation layer would complain */
        .imageType = VK_IMAGE_TYPE_2D,
        .format = VK_FORMAT_R8G8B8A8_UNORM,
        .extent = {37, 11, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = tiling,
        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
        .initialLayout = tiling == VK_IMAGE_TILING_LINEAR ? VK_IMAGE_LAYOUT_PREINITIALIZED : VK_IMAGE_LAYOUT_UNDEFINED,
    };
    VkImage image = gen_VkImage(index);
    struct gen_args_vkCreateImage create = {.device = u->dev.live, .pCreateInfo = &info, .pImage = &image};
    struct gen_args_lapilliBindImage bind = {.propertyFlags = wanted, .size = bytes};

    CHECK_EQ_INT(replay_CreateImage(&u->r, &u->dev, &create), LAP_OK);
    bind.image = image = gen_VkImage(replay_object_get(&u->r, GEN_HANDLE_VkImage, index)->live);
    CHECK_EQ_INT(replay_lapilliBindImage(&u->r, &u->dev, &bind), LAP_OK);
    CHECK_EQ_INT(replay_lapilliBindImage(&u->r, &u->dev, &bind), LAP_ERROR_REPLAY);
    return image;
}

static VkImage create_image(struct unit_replay *u, uint64_t index, VkImageTiling tiling, VkMemoryPropertyFlags wanted)
{
    return create_image_of(u, index, tiling, wanted, 0);
}

UNIT_TEST(images_get_what_this_host_wants_for_them)
{
    static const VkImageTiling tilings[] = {VK_IMAGE_TILING_LINEAR, VK_IMAGE_TILING_OPTIMAL};
    VkMemoryRequirements requirements;
    struct unit_replay u;

    if (!unit_replay_init(&u, NULL))
        SKIP("no Vulkan driver");
    for (uint64_t i = 0; i < 6; i++) {
        static const VkDeviceSize at_capture[] = {0, 1 << 20, UINT64_MAX};
        VkMemoryPropertyFlags wanted = i % 2 ? VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT : HOST;
        VkDeviceSize used = replay_memory_stats(&u.dev).used_bytes;
        VkImage image = create_image_of(&u, i + 1, tilings[i % 2], wanted, at_capture[i / 2]);
        u.dev.vk.GetImageMemoryRequirements(u.dev.live, image, &requirements);
        CHECK_EQ_U64(replay_image_of(&u.r, image, NULL)->places[0].bytes, requirements.size);
        CHECK_EQ_U64(replay_memory_stats(&u.dev).used_bytes, used + requirements.size);
        CHECK_EQ_U64(replay_memory_stats(&u.dev).allocated_bytes, used + requirements.size);
    }
    unit_replay_finish(&u);
}

/* A host whose rows are further apart than the driver's: where they go is seen in the memory. */
static PFN_vkGetImageSubresourceLayout true_layout;
static PFN_vkGetImageMemoryRequirements2 true_requirements;
enum { WIDER = 52 };

static VKAPI_ATTR void VKAPI_CALL wider_layout(VkDevice device, VkImage image, const VkImageSubresource *subresource,
                                               VkSubresourceLayout *layout)
{
    true_layout(device, image, subresource, layout);
    layout->offset += 8;
    layout->rowPitch += WIDER;
}

static VKAPI_ATTR void VKAPI_CALL wider_requirements(VkDevice device, const VkImageMemoryRequirementsInfo2 *info,
                                                     VkMemoryRequirements2 *requirements)
{
    true_requirements(device, info, requirements);
    requirements->memoryRequirements.size += 64 << 10;
}

UNIT_TEST(rows_go_where_this_host_wants_them)
{
    enum { ROW = 37 * 4 };
    struct gen_args_lapilliUpdateImage args = {.aspect = VK_IMAGE_ASPECT_COLOR_BIT, .dataSize = ROW};
    uint8_t row[ROW];
    struct unit_replay u;
    VkSubresourceLayout layout;
    const struct replay_memory_place *place;

    if (!unit_replay_init(&u, NULL))
        SKIP("no Vulkan driver");
    true_layout = u.dev.vk.GetImageSubresourceLayout;
    true_requirements = u.dev.vk.GetImageMemoryRequirements2;
    u.dev.vk.GetImageSubresourceLayout = wider_layout;
    u.dev.vk.GetImageMemoryRequirements2 = wider_requirements;
    args.image = create_image(&u, 1, VK_IMAGE_TILING_LINEAR, HOST);
    args.pData = row;
    place = &replay_image_of(&u.r, args.image, NULL)->places[0];
    wider_layout(u.dev.live, args.image, &(VkImageSubresource){VK_IMAGE_ASPECT_COLOR_BIT, 0, 0}, &layout);
    for (args.row = 0; args.row < 11; args.row++) {
        for (uint32_t x = 0; x < ROW; x++)
            row[x] = (uint8_t)(args.row * 31 + x * 7 + 1);
        CHECK_EQ_INT(replay_lapilliUpdateImage(&u.r, &u.dev, &args), LAP_OK);
        CHECK(memcmp(place->host + layout.offset + args.row * layout.rowPitch, row, ROW) == 0);
    }
    for (uint32_t y = 0; y < 11; y++) /* the padding is left alone */
        for (uint64_t x = ROW; x < layout.rowPitch; x++)
            CHECK_EQ_INT(place->host[layout.offset + y * layout.rowPitch + x], 0);
    u.dev.vk.GetImageSubresourceLayout = true_layout;
    unit_replay_finish(&u);
}

UNIT_TEST(linear_images_are_laid_out_by_row)
{
    struct gen_args_lapilliUpdateImage args = {.aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    struct unit_replay u;
    uint32_t row[37];
    const void *pixels = NULL;
    size_t bytes = 0;

    if (!unit_replay_init(&u, NULL))
        SKIP("no Vulkan driver");
    args.image = create_image(&u, 1, VK_IMAGE_TILING_LINEAR, HOST);
    args.pData = row;
    for (args.row = 0; args.row < 11; args.row++) {
        for (uint32_t x = 0; x < 37; x++)
            row[x] = args.row << 16 | x;
        args.offsetInRow = 0;
        args.dataSize = sizeof row;
        CHECK_EQ_INT(replay_lapilliUpdateImage(&u.r, &u.dev, &args), LAP_OK);
        args.offsetInRow = 4 * args.row; /* and a part of the row */
        args.dataSize = 4;
        row[0] = 0xffffffff;
        CHECK_EQ_INT(replay_lapilliUpdateImage(&u.r, &u.dev, &args), LAP_OK);
    }
    struct lap_readback_queue at = {.queue = u.gpu.queue, .family = u.gpu.family};
    /* Reading back returns to the layout that it found, which PREINITIALIZED can't be: the image is moved on first. */
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = u.gpu.family};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkImageMemoryBarrier barrier =
        lap_color_barrier(args.image, VK_IMAGE_LAYOUT_PREINITIALIZED, VK_IMAGE_LAYOUT_GENERAL, VK_ACCESS_HOST_WRITE_BIT,
                          VK_ACCESS_MEMORY_READ_BIT);
    VkCommandBuffer commands;
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    CHECK_EQ_INT(u.dev.vk.CreateCommandPool(u.dev.live, &pool, NULL, &allocate.commandPool), VK_SUCCESS);
    CHECK_EQ_INT(u.dev.vk.AllocateCommandBuffers(u.dev.live, &allocate, &commands), VK_SUCCESS);
    u.dev.vk.BeginCommandBuffer(commands, &begin);
    u.dev.vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0,
                                NULL, 1, &barrier);
    u.dev.vk.EndCommandBuffer(commands);
    CHECK_EQ_INT(u.dev.vk.QueueSubmit(u.gpu.queue, 1, &submit, VK_NULL_HANDLE), VK_SUCCESS);
    CHECK_EQ_INT(lap_readback_image(replay_memory_readback(&u.dev), &at, args.image, VK_FORMAT_R8G8B8A8_UNORM,
                                    (VkExtent2D){37, 11}, VK_IMAGE_LAYOUT_GENERAL, &pixels, &bytes, NULL),
                 LAP_OK);
    CHECK_EQ_U64(bytes, 37 * 11 * 4);
    for (uint32_t y = 0; pixels && y < 11; y++)
        for (uint32_t x = 0; x < 37; x++)
            CHECK_EQ_U64(((const uint32_t *)pixels)[y * 37 + x], x == y ? 0xffffffff : (y << 16 | x));
    u.dev.vk.DestroyCommandPool(u.dev.live, allocate.commandPool, NULL);
    unit_replay_finish(&u);
}

UNIT_TEST(wrong_packets_about_images_are_errors)
{
    uint8_t data[1 << 16] = {0};
    struct gen_args_lapilliUpdateImage good = {.aspect = VK_IMAGE_ASPECT_COLOR_BIT, .dataSize = 4, .pData = data}, args;
    struct gen_args_lapilliBindImage bind = {.planeAspect = VK_IMAGE_ASPECT_PLANE_1_BIT};
    struct unit_replay u;

    if (!unit_replay_init(&u, NULL))
        SKIP("no Vulkan driver");
    good.image = create_image(&u, 1, VK_IMAGE_TILING_LINEAR, HOST);
    bind.image = good.image;
    CHECK_EQ_INT(replay_lapilliBindImage(&u.r, &u.dev, &bind), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(replay_lapilliUpdateImage(&u.r, &u.dev, &good), LAP_OK);
    args = good, args.aspect = VK_IMAGE_ASPECT_COLOR_BIT | VK_IMAGE_ASPECT_DEPTH_BIT;
    CHECK_EQ_INT(replay_lapilliUpdateImage(&u.r, &u.dev, &args), LAP_ERROR_REPLAY);
    args = good, args.mipLevel = 1;
    CHECK_EQ_INT(replay_lapilliUpdateImage(&u.r, &u.dev, &args), LAP_ERROR_REPLAY);
    args = good, args.arrayLayer = UINT32_MAX;
    CHECK_EQ_INT(replay_lapilliUpdateImage(&u.r, &u.dev, &args), LAP_ERROR_REPLAY);
    args = good, args.row = 11;
    CHECK_EQ_INT(replay_lapilliUpdateImage(&u.r, &u.dev, &args), LAP_ERROR_REPLAY);
    args = good, args.slice = 1;
    CHECK_EQ_INT(replay_lapilliUpdateImage(&u.r, &u.dev, &args), LAP_ERROR_REPLAY);
    args = good, args.offsetInRow = UINT64_MAX;
    CHECK_EQ_INT(replay_lapilliUpdateImage(&u.r, &u.dev, &args), LAP_ERROR_REPLAY);
    args = good, args.dataSize = sizeof data;
    CHECK_EQ_INT(replay_lapilliUpdateImage(&u.r, &u.dev, &args), LAP_ERROR_REPLAY);
    args = good, args.image = create_image(&u, 2, VK_IMAGE_TILING_OPTIMAL, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    CHECK_EQ_INT(replay_lapilliUpdateImage(&u.r, &u.dev, &args), LAP_ERROR_REPLAY);
    args = good, args.image = VK_NULL_HANDLE;
    CHECK_EQ_INT(replay_lapilliUpdateImage(&u.r, &u.dev, &args), LAP_ERROR_INVALID);
    unit_replay_finish(&u);
}

UNIT_TEST(spans_of_an_image_are_put_where_they_lie)
{
    const uint32_t slices[2] = {0, 0}, rows[2] = {1, 10}, no_rows[2] = {1, 11};
    const uint64_t offsets[2] = {8, 4}, sizes[2] = {4, 2};
    const uint8_t data[6] = {1, 2, 3, 4, 5, 6};
    struct gen_args_lapilliUpdateImageSpans good = {.aspect = VK_IMAGE_ASPECT_COLOR_BIT,
                                                    .spanCount = 2,
                                                    .pSlices = slices,
                                                    .pRows = rows,
                                                    .pOffsets = offsets,
                                                    .pSizes = sizes,
                                                    .dataSize = 6,
                                                    .pData = data},
                                            args;
    struct unit_replay u;
    const struct replay_memory_place *place;
    VkSubresourceLayout layout;

    if (!unit_replay_init(&u, NULL))
        SKIP("no Vulkan driver");
    good.image = create_image(&u, 1, VK_IMAGE_TILING_LINEAR, HOST);
    place = &replay_image_of(&u.r, good.image, NULL)->places[0];
    u.dev.vk.GetImageSubresourceLayout(u.dev.live, good.image, &(VkImageSubresource){VK_IMAGE_ASPECT_COLOR_BIT, 0, 0},
                                       &layout);
    CHECK_EQ_INT(replay_lapilliUpdateImageSpans(&u.r, &u.dev, &good), LAP_OK);
    CHECK(memcmp(place->host + layout.offset + layout.rowPitch + 8, data, 4) == 0);
    CHECK(memcmp(place->host + layout.offset + 10 * layout.rowPitch + 4, data + 4, 2) == 0);
    args = good, args.dataSize = 5;
    CHECK_EQ_INT(replay_lapilliUpdateImageSpans(&u.r, &u.dev, &args), LAP_ERROR_REPLAY);
    args = good, args.dataSize = 7;
    CHECK_EQ_INT(replay_lapilliUpdateImageSpans(&u.r, &u.dev, &args), LAP_ERROR_REPLAY);
    args = good, args.pRows = no_rows;
    CHECK_EQ_INT(replay_lapilliUpdateImageSpans(&u.r, &u.dev, &args), LAP_ERROR_REPLAY);
    args = good, args.pSlices = NULL;
    CHECK_EQ_INT(replay_lapilliUpdateImageSpans(&u.r, &u.dev, &args), LAP_ERROR_REPLAY);
    args = good, args.pData = NULL;
    CHECK_EQ_INT(replay_lapilliUpdateImageSpans(&u.r, &u.dev, &args), LAP_ERROR_REPLAY);
    args = good, args.image = VK_NULL_HANDLE;
    CHECK_EQ_INT(replay_lapilliUpdateImageSpans(&u.r, &u.dev, &args), LAP_ERROR_INVALID);
    unit_replay_finish(&u);
}

/* ---- aliases ---- */

#define DEVICE VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT

static const VkBufferCreateInfo alias_buffer = {
    .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 4096, .usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT};
static const VkImageCreateInfo alias_image = {
    .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
    .imageType = VK_IMAGE_TYPE_2D,
    .format = VK_FORMAT_R8G8B8A8_UNORM,
    .extent = {16, 16, 1},
    .mipLevels = 1,
    .arrayLayers = 1,
    .samples = VK_SAMPLE_COUNT_1_BIT,
    .tiling = VK_IMAGE_TILING_LINEAR,
    .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
    .initialLayout = VK_IMAGE_LAYOUT_PREINITIALIZED,
};

/* What looking through a trace would have found: objects as above, at offsets of one memory. */
struct aliases {
    struct unit_replay u;
    struct lap_dictionary dictionary;
    int said[2]; /* a pipe for the log */
};

static bool aliases_init(struct aliases *a)
{
    if (!unit_replay_init(&a->u, NULL))
        return false;
    memset(&a->dictionary, 0, sizeof a->dictionary);
    a->u.r.dictionary = &a->dictionary;
    CHECK_EQ_INT(replay_aliases_create(&a->u.r.analysis.aliases), LAP_OK);
    CHECK_EQ_INT(pipe(a->said), 0);
    a->u.log.fd = a->said[1];
    a->u.log.level = LAP_LOG_WARNING;
    return true;
}

static void aliases_add(struct aliases *a, enum gen_handle_type type, uint64_t index, uint64_t offset, uint64_t layout)
{
    struct replay_alias_bind bind = {
        .type = type, .index = index, .memory = 1, .offset = offset, .bytes = 4096, .layout = layout};
    struct lap_enc enc;

    lap_enc_init(&enc, NULL);
    if (type == GEN_HANDLE_VkBuffer)
        gen_encode_VkBufferCreateInfo(&enc, &alias_buffer);
    else
        gen_encode_VkImageCreateInfo(&enc, &alias_image);
    CHECK(!enc.failed);
    CHECK_EQ_INT(replay_aliases_add(a->u.r.analysis.aliases, type, index, false, enc.base, (size_t)(enc.p - enc.base)),
                 LAP_OK);
    CHECK_EQ_INT(replay_aliases_bind(a->u.r.analysis.aliases, &bind), LAP_OK);
    lap_enc_finish(&enc);
}

static void aliases_finish(struct aliases *a, const char *said)
{
    char text[1024];
    ssize_t bytes;

    unit_replay_finish(&a->u);
    replay_aliases_destroy(&a->u.r.analysis.aliases);
    close(a->said[1]);
    bytes = read(a->said[0], text, sizeof text - 1);
    text[bytes > 0 ? bytes : 0] = '\0';
    CHECK(said ? strstr(text, said) != NULL : bytes == 0);
    close(a->said[0]);
}

static const struct replay_memory_place *place_of(struct aliases *a, VkBuffer buffer)
{
    return &replay_buffer_of(&a->u.r, buffer, NULL)->place;
}

UNIT_TEST(aliases_lie_in_one_allocation)
{
    VkBuffer first, second, other;
    uint8_t data[100];
    struct aliases a;
    VkDeviceSize used;

    if (!aliases_init(&a))
        SKIP("no Vulkan driver");
    memset(data, 0x5a, sizeof data);
    aliases_add(&a, GEN_HANDLE_VkBuffer, 1, 65536, 0);
    aliases_add(&a, GEN_HANDLE_VkBuffer, 2, 65536 + 2048, 0);
    aliases_add(&a, GEN_HANDLE_VkBuffer, 3, 65536 + 8192, 0);
    CHECK_EQ_INT(replay_aliases_seal(a.u.r.analysis.aliases), LAP_OK);
    second = create_buffer(&a.u, 2, 4096, HOST); /* not the one that begins first */
    used = replay_memory_stats(&a.u.dev).used_bytes;
    CHECK(used >= 2048 + 4096);
    CHECK_EQ_INT(update_buffer(&a.u, second, 10, sizeof data, data), LAP_OK);
    first = create_buffer(&a.u, 1, 4096, HOST);
    other = create_buffer(&a.u, 3, 4096, HOST);
    CHECK(place_of(&a, first)->memory == place_of(&a, second)->memory);
    CHECK_EQ_U64(place_of(&a, second)->offset - place_of(&a, first)->offset, 2048);
    CHECK(place_of(&a, first)->host + 2048 == place_of(&a, second)->host);
    CHECK(memcmp(place_of(&a, first)->host + 2048 + 10, data, sizeof data) == 0); /* it did not begin anew */
    CHECK(place_of(&a, first)->host[0] == 0);
    CHECK(place_of(&a, other)->holder == NULL);
    /* Who stays keeps the memory. */
    destroy_buffer(&a.u, other);
    destroy_buffer(&a.u, second);
    CHECK_EQ_U64(replay_memory_stats(&a.u.dev).used_bytes, used);
    CHECK(memcmp(place_of(&a, first)->host + 2048 + 10, data, sizeof data) == 0);
    destroy_buffer(&a.u, first);
    CHECK_EQ_U64(replay_memory_stats(&a.u.dev).used_bytes, 0);
    aliases_finish(&a, NULL);
}

UNIT_TEST(who_can_not_share_is_named)
{
    VkBuffer buffers[3];
    struct aliases a;

    if (!aliases_init(&a))
        SKIP("no Vulkan driver");
    aliases_add(&a, GEN_HANDLE_VkBuffer, 1, 0, 0);
    aliases_add(&a, GEN_HANDLE_VkBuffer, 2, 1, 0); /* no driver aligns buffers to bytes */
    aliases_add(&a, GEN_HANDLE_VkBuffer, 3, 2048, 0);
    CHECK_EQ_INT(replay_aliases_seal(a.u.r.analysis.aliases), LAP_OK);
    for (uint64_t i = 0; i < 3; i++)
        buffers[i] = create_buffer(&a.u, i + 1, 4096, HOST);
    CHECK(place_of(&a, buffers[0])->holder != NULL);
    CHECK(place_of(&a, buffers[0])->holder == place_of(&a, buffers[2])->holder);
    CHECK(place_of(&a, buffers[1])->holder == NULL);
    aliases_finish(&a, "VkBuffer:2 can't lie in one memory with VkBuffer:1 on this GPU (it is aligned differently)");
}

/* A linear image of the kind that is bound in these tests; its layout here. */
static uint64_t layout_here(struct unit_replay *u)
{
    VkImageCreateInfo info = alias_image;
    uint64_t hash;
    VkImage image;

    CHECK_EQ_INT(replay_image_create(&u->dev, &info, &image), VK_SUCCESS);
    hash = lap_layout_hash(u->dev.live, u->dev.vk.GetImageSubresourceLayout, image, &info, 0, false);
    u->dev.vk.DestroyImage(u->dev.live, image, NULL);
    return hash;
}

static const struct replay_memory_place *create_alias_image(struct unit_replay *u, uint64_t index)
{
    VkImage image = gen_VkImage(index);
    struct gen_args_vkCreateImage create = {.device = u->dev.live, .pCreateInfo = &alias_image, .pImage = &image};
    struct gen_args_lapilliBindImage bind = {.propertyFlags = HOST};

    CHECK_EQ_INT(replay_CreateImage(&u->r, &u->dev, &create), LAP_OK);
    bind.image = gen_VkImage(replay_object_get(&u->r, GEN_HANDLE_VkImage, index)->live);
    CHECK_EQ_INT(replay_lapilliBindImage(&u->r, &u->dev, &bind), LAP_OK);
    return &replay_image_of(&u->r, bind.image, NULL)->places[0];
}

UNIT_TEST(linear_images_share_bytes_where_their_rows_lie_alike)
{
    for (unsigned differs = 0; differs < 2; differs++) {
        const struct replay_memory_place *image;
        struct aliases a;
        VkBuffer buffer;

        if (!aliases_init(&a))
            SKIP("no Vulkan driver");
        aliases_add(&a, GEN_HANDLE_VkBuffer, 1, 0, 0);
        aliases_add(&a, GEN_HANDLE_VkImage, 1, 0, layout_here(&a.u) + differs);
        CHECK_EQ_INT(replay_aliases_seal(a.u.r.analysis.aliases), LAP_OK);
        buffer = create_buffer(&a.u, 1, 4096, HOST);
        image = create_alias_image(&a.u, 1);
        CHECK((image->holder != NULL) == !differs);
        CHECK((image->host == place_of(&a, buffer)->host) == !differs);
        aliases_finish(
            &a, differs ? "VkImage:1 can't lie in one memory with VkBuffer:1 on this GPU (its rows lie differently)"
                        : NULL);
    }
}

UNIT_TEST(images_that_are_alike_share_whatever_the_layout)
{
    const struct replay_memory_place *first, *second;
    struct aliases a;

    if (!aliases_init(&a))
        SKIP("no Vulkan driver");
    aliases_add(&a, GEN_HANDLE_VkImage, 1, 4096, 12345);
    aliases_add(&a, GEN_HANDLE_VkImage, 2, 4096, 12345);
    CHECK_EQ_INT(replay_aliases_seal(a.u.r.analysis.aliases), LAP_OK);
    first = create_alias_image(&a.u, 1);
    second = create_alias_image(&a.u, 2);
    CHECK(first->holder != NULL && first->holder == second->holder);
    CHECK_EQ_U64(first->offset, second->offset);
    aliases_finish(&a, NULL);
}

/* The objects are not what the trace said when it was looked through: too large for their place. */
UNIT_TEST(an_object_that_does_not_fit_gets_its_own_memory)
{
    VkBuffer small, large;
    struct aliases a;

    if (!aliases_init(&a))
        SKIP("no Vulkan driver");
    aliases_add(&a, GEN_HANDLE_VkBuffer, 1, 0, 0);
    aliases_add(&a, GEN_HANDLE_VkBuffer, 2, 0, 0);
    CHECK_EQ_INT(replay_aliases_seal(a.u.r.analysis.aliases), LAP_OK);
    large = create_buffer(&a.u, 1, 1 << 20, HOST);
    CHECK(place_of(&a, large)->holder == NULL);
    CHECK(place_of(&a, large)->bytes >= 1 << 20);
    small = create_buffer(&a.u, 2, 4096, DEVICE);
    CHECK(place_of(&a, small)->holder != NULL);
    aliases_finish(&a, NULL);
}

/* lapilli-replay has an exit status of its own for machines that can't play a trace. */
UNIT_TEST(what_a_device_lacks_is_told_from_what_fails)
{
    struct replay r = {.at.command = GEN_vkCreateImage};

    CHECK_EQ_INT(replay_result(&r, VK_SUCCESS), LAP_OK);
    CHECK_EQ_INT(replay_result(&r, VK_SUBOPTIMAL_KHR), LAP_OK);
    CHECK_EQ_INT(replay_result(&r, VK_ERROR_FORMAT_NOT_SUPPORTED), LAP_ERROR_UNSUPPORTED);
    CHECK_STR(lap_error_message(), "vkCreateImage gives VK_ERROR_FORMAT_NOT_SUPPORTED");
    CHECK_EQ_INT(replay_result(&r, VK_ERROR_FEATURE_NOT_PRESENT), LAP_ERROR_UNSUPPORTED);
    CHECK_EQ_INT(replay_result(&r, VK_ERROR_DEVICE_LOST), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(replay_result(&r, VK_ERROR_OUT_OF_DEVICE_MEMORY), LAP_ERROR_REPLAY);
}

UNIT_TEST(structures_are_taken_out_of_chains)
{
    const VkStructureType types[] = {VK_STRUCTURE_TYPE_EVENT_CREATE_INFO, VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkBaseInStructure last = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkBaseInStructure middle = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &last};
    VkBaseInStructure first = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO, .pNext = &middle};
    const void *chain = &first;

    CHECK(lap_chain_find(chain, VK_STRUCTURE_TYPE_FENCE_CREATE_INFO) == &last);
    lap_chain_drop(&chain, types, 2);
    CHECK(chain == &middle);
    CHECK(middle.pNext == NULL);
    CHECK(lap_chain_find(chain, VK_STRUCTURE_TYPE_FENCE_CREATE_INFO) == NULL);
    chain = NULL;
    lap_chain_drop(&chain, types, 2);
    CHECK(chain == NULL);
}

UNIT_MAIN();
