/* SPDX-License-Identifier: MIT */
/* Texels of other formats: as whole numbers say they must be, there and back again, and by the device as by the host.
 */
#include "replayer/format/texel_convert.h"

#include <math.h>

#include "replayer/format/format.h"
#include "replayer/format/gpu_convert.h"
#include "replayer/memory/resource.h"
#include "tests/unit/replay_device.h"

static uint32_t convert_one(enum replay_format_conversion conversion, uint32_t texel)
{
    uint32_t result = 0;
    replay_format_convert(conversion, &texel, &result, 1);
    return result;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

UNIT_TEST(a_conversion_follows_from_both_formats)
{
    const VkImageAspectFlags color = VK_IMAGE_ASPECT_COLOR_BIT, depth = VK_IMAGE_ASPECT_DEPTH_BIT;

    CHECK_EQ_INT(replay_format_conversion(VK_FORMAT_B8G8R8A8_SRGB, VK_FORMAT_R8G8B8A8_SRGB, color),
                 REPLAY_CONVERT_8888);
    CHECK_EQ_INT(replay_format_conversion(VK_FORMAT_R8G8B8A8_UINT, VK_FORMAT_A8B8G8R8_UINT_PACK32, color),
                 REPLAY_CONVERT_NONE);
    CHECK_EQ_INT(
        replay_format_conversion(VK_FORMAT_A2B10G10R10_UNORM_PACK32, VK_FORMAT_A2R10G10B10_UNORM_PACK32, color),
        REPLAY_CONVERT_2101010);
    CHECK_EQ_INT(replay_format_conversion(VK_FORMAT_B5G6R5_UNORM_PACK16, VK_FORMAT_R5G6B5_UNORM_PACK16, color),
                 REPLAY_CONVERT_565);
    CHECK_EQ_INT(replay_format_conversion(VK_FORMAT_D24_UNORM_S8_UINT, VK_FORMAT_D32_SFLOAT_S8_UINT, depth),
                 REPLAY_CONVERT_D24_TO_D32);
    CHECK_EQ_INT(replay_format_conversion(VK_FORMAT_D24_UNORM_S8_UINT, VK_FORMAT_D32_SFLOAT_S8_UINT,
                                          VK_IMAGE_ASPECT_STENCIL_BIT),
                 REPLAY_CONVERT_NONE);
    CHECK_EQ_INT(replay_format_conversion(VK_FORMAT_X8_D24_UNORM_PACK32, VK_FORMAT_X8_D24_UNORM_PACK32, depth),
                 REPLAY_CONVERT_NONE);
}

UNIT_TEST(components_change_places)
{
    static const uint8_t from[4] = {1, 2, 3, 4};
    uint8_t to[4];

    replay_format_convert(REPLAY_CONVERT_8888, from, to, 1);
    CHECK(to[0] == 3 && to[1] == 2 && to[2] == 1 && to[3] == 4);
    CHECK_EQ_U64(convert_one(REPLAY_CONVERT_2101010, 2u << 30 | 700u << 20 | 300u << 10 | 5u),
                 2u << 30 | 5u << 20 | 300u << 10 | 700u);
    CHECK_EQ_U64(convert_one(REPLAY_CONVERT_565, 30u << 11 | 50u << 5 | 7u), 7u << 11 | 50u << 5 | 30u);
    for (enum replay_format_conversion c = REPLAY_CONVERT_8888; c <= REPLAY_CONVERT_565; c++)
        for (uint32_t i = 0; i < 1000; i++) {
            uint32_t texel = i * 2654435761u & (c == REPLAY_CONVERT_565 ? 0xffffu : ~0u);
            CHECK_EQ_U64(convert_one(c, convert_one(c, texel)), texel);
        }
}

UNIT_TEST(depths_come_back_as_they_were)
{
    for (uint32_t depth = 0; depth <= 0xffffff; depth += depth % 4096 < 64 ? 1 : 13) {
        uint32_t here = convert_one(REPLAY_CONVERT_D24_TO_D32, depth | 0xab000000u);
        CHECK_EQ_U64(here, bits_of((float)(depth / 16777215.0)));
        CHECK_EQ_U64(convert_one(REPLAY_CONVERT_D32_TO_D24, here), depth);
        CHECK_EQ_U64(convert_one(REPLAY_CONVERT_D24_TO_D16, depth), (uint32_t)lrint(depth / 16777215.0 * 65535.0));
    }
    for (uint32_t depth = 0; depth <= 0xffff; depth++) {
        uint32_t here = convert_one(REPLAY_CONVERT_D16_TO_D32, depth);
        CHECK_EQ_U64(here, bits_of((float)(depth / 65535.0)));
        CHECK_EQ_U64(convert_one(REPLAY_CONVERT_D32_TO_D16, here), depth);
        here = convert_one(REPLAY_CONVERT_D16_TO_D24, depth);
        CHECK_EQ_U64(here, (uint32_t)lrint(depth / 65535.0 * 16777215.0));
        CHECK_EQ_U64(convert_one(REPLAY_CONVERT_D24_TO_D16, here), depth);
    }
}

UNIT_TEST(floats_that_are_no_depths_are_clamped)
{
    static const float low[] = {0.0f, -0.0f, -1.0f, 1e-30f, 2.9e-8f, -INFINITY, NAN}, high[] = {1.0f, 1.5f, INFINITY};

    for (size_t i = 0; i < sizeof low / sizeof *low; i++)
        CHECK_EQ_U64(convert_one(REPLAY_CONVERT_D32_TO_D24, bits_of(low[i])), 0);
    for (size_t i = 0; i < sizeof high / sizeof *high; i++) {
        CHECK_EQ_U64(convert_one(REPLAY_CONVERT_D32_TO_D24, bits_of(high[i])), 0xffffff);
        CHECK_EQ_U64(convert_one(REPLAY_CONVERT_D32_TO_D16, bits_of(high[i])), 0xffff);
    }
    for (uint32_t i = 1; i < 100000; i++) {
        float value = (float)i / 100000.0f;
        CHECK_EQ_U64(convert_one(REPLAY_CONVERT_D32_TO_D24, bits_of(value)), (uint32_t)lrint(value * 16777215.0));
    }
}

/* ---- by the device ---- */

#define TEXELS 5003u /* odd */

struct host_buffer {
    VkBuffer buffer;
    struct replay_memory_place place;
};

static void create_buffer(struct unit_replay *u, struct host_buffer *out, VkDeviceSize bytes)
{
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .size = bytes,
                                 .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    struct replay_memory_needs needs;

    CHECK_EQ_INT(u->dev.vk.CreateBuffer(u->dev.live, &create, NULL, &out->buffer), VK_SUCCESS);
    replay_memory_buffer_needs(&u->dev, out->buffer, &needs);
    needs.wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    CHECK_EQ_INT(replay_memory_place_alloc(&u->r, &u->dev, &needs, &out->place), LAP_OK);
    CHECK_EQ_INT(u->dev.vk.BindBufferMemory(u->dev.live, out->buffer, out->place.memory, out->place.offset),
                 VK_SUCCESS);
    CHECK(out->place.host != NULL);
}

static void destroy_buffer(struct unit_replay *u, struct host_buffer *buffer)
{
    u->dev.vk.DestroyBuffer(u->dev.live, buffer->buffer, NULL);
    replay_memory_place_free(&u->dev, &buffer->place);
}

/* Depths, and things that are none. */
static uint32_t some_texel(enum replay_format_conversion conversion, uint32_t i)
{
    uint32_t random = i * 2654435761u;

    if (conversion != REPLAY_CONVERT_D32_TO_D24 && conversion != REPLAY_CONVERT_D32_TO_D16)
        return random;
    return i % 8 ? bits_of((float)random / 4294967296.0f * (i % 3 ? 1.0f : 1e-6f)) : random;
}

static void record_and_run(struct unit_replay *u, VkCommandBuffer commands, enum replay_format_conversion conversion,
                           const struct host_buffer *from, const struct host_buffer *to)
{
    struct replay_texel_bytes bytes = replay_format_conversion_bytes(conversion);
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    struct replay_format_texels room;
    VkBufferCopy in = {0, 0, TEXELS * bytes.from}, out = {0, 0, TEXELS * bytes.to};

    replay_format_converter_reuse(&u->dev, commands);
    CHECK_EQ_INT(u->dev.vk.BeginCommandBuffer(commands, &begin), VK_SUCCESS);
    CHECK_EQ_INT(replay_format_converter_begin(&u->r, &u->dev, commands, conversion, TEXELS, &room), LAP_OK);
    in.dstOffset = room.from;
    u->dev.vk.CmdCopyBuffer(commands, from->buffer, room.buffer, 1, &in);
    CHECK_EQ_INT(replay_format_converter_run(&u->r, &u->dev, commands, conversion, &room), LAP_OK);
    out.srcOffset = room.to;
    u->dev.vk.CmdCopyBuffer(commands, room.buffer, to->buffer, 1, &out);
    u->dev.vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host,
                                 0, NULL, 0, NULL);
    CHECK_EQ_INT(u->dev.vk.EndCommandBuffer(commands), VK_SUCCESS);
    CHECK_EQ_INT(u->dev.vk.QueueSubmit(u->queue.live, 1, &submit, VK_NULL_HANDLE), VK_SUCCESS);
    CHECK_EQ_INT(u->dev.vk.QueueWaitIdle(u->queue.live), VK_SUCCESS);
}

UNIT_TEST(the_device_converts_as_the_host_does)
{
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};
    static uint32_t wanted[TEXELS];
    struct host_buffer from, to;
    VkCommandBuffer commands;
    struct unit_replay u;

    if (!unit_replay_init(&u, NULL))
        SKIP("no Vulkan driver");
    pool.queueFamilyIndex = u.queue.family;
    CHECK_EQ_INT(u.dev.vk.CreateCommandPool(u.dev.live, &pool, NULL, &allocate.commandPool), VK_SUCCESS);
    CHECK_EQ_INT(u.dev.vk.AllocateCommandBuffers(u.dev.live, &allocate, &commands), VK_SUCCESS);
    create_buffer(&u, &from, TEXELS * 4);
    create_buffer(&u, &to, TEXELS * 4);
    for (enum replay_format_conversion c = REPLAY_CONVERT_8888; c < REPLAY_CONVERT_COUNT; c++) {
        struct replay_texel_bytes bytes = replay_format_conversion_bytes(c);
        for (uint32_t i = 0; i < TEXELS; i++) {
            uint32_t texel = some_texel(c, i);
            memcpy(from.place.host + i * bytes.from, &texel, bytes.from);
        }
        record_and_run(&u, commands, c, &from, &to);
        replay_format_convert(c, from.place.host, wanted, TEXELS);
        for (uint32_t i = 0; i < TEXELS; i++)
            CHECK(memcmp(to.place.host + i * bytes.to, (const uint8_t *)wanted + i * bytes.to, bytes.to) == 0);
    }
    replay_format_converter_forget(&u.dev, commands);
    u.dev.vk.DestroyCommandPool(u.dev.live, allocate.commandPool, NULL);
    destroy_buffer(&u, &from);
    destroy_buffer(&u, &to);
    replay_format_converter_destroy(&u.dev);
    unit_replay_finish(&u);
}

/* ---- what is not compared ---- */

UNIT_TEST(runs_of_rounded_bytes_are_kept_or_merged)
{
    struct replay_buffer buffer = {.bytes = 1000000};

    for (uint32_t i = 0; i < REPLAY_MAX_ROUNDED; i++)
        replay_buffer_rounded(&buffer, i * 1000, 100);
    CHECK(replay_buffer_is_rounded(&buffer, 3099, 10) && replay_buffer_is_rounded(&buffer, 2990, 11));
    CHECK(!replay_buffer_is_rounded(&buffer, 3100, 900) && !replay_buffer_is_rounded(&buffer, 2990, 10));
    replay_buffer_rounded(&buffer, 50, 1000); /* joins two runs */
    CHECK(replay_buffer_is_rounded(&buffer, 500, 1) && !replay_buffer_is_rounded(&buffer, 1500, 100));
    for (uint32_t i = 0; i < 100; i++)
        replay_buffer_rounded(&buffer, 100000 + i * 1000, 10);
    for (uint32_t i = 0; i < 100; i++)
        CHECK(replay_buffer_is_rounded(&buffer, 100000 + i * 1000, 10));
    CHECK(replay_buffer_is_rounded(&buffer, 2000, 1) && !replay_buffer_is_rounded(&buffer, 200000, 1));
}

UNIT_MAIN();
