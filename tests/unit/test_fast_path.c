/* SPDX-License-Identifier: MIT */
/* The usual case of recorded commands: it writes what the long way writes, and knows what it does not know. The layer
 * around touched.c is replaced by the few functions that it calls. */
#include "gen_encode_block.h"
#include "gen_quick.h"
#include "tests/unit/layer_device.h"

enum { BUFFERS = 4, SETS = 12, ROOM = 4096 };

static struct layer_cmdbuf cb;
static struct layer_buffer buffers[BUFFERS];
static struct layer_descriptor_set sets[SETS];
static struct lap_object layout;
static struct lap_set_layout one_dynamic = {.dynamic_count = 1}, no_dynamic, two_dynamic = {.dynamic_count = 2};

#define BUFFER(n) gen_VkBuffer(0x1000 + 0x100 * (uint64_t)(n))
#define SET(n)    gen_VkDescriptorSet(0x2000 + 0x100 * (uint64_t)(n))
#define LAYOUT    gen_VkPipelineLayout(0x3000)

static void begin_recording(void)
{
    layer_touch_reset(&cb);
    lap_enc_reset(&cb.enc);
    CHECK(lap_enc_reserve(&cb.enc, ROOM));
    cb.command_count = 0;
    cb.state = LAYER_CMDBUF_RECORDING;
}

/* Sets 0 to 7 have one dynamic offset, 8 and 9 none, 10 and 11 two. */
static void begin(void)
{
    init_device();
    memset(buffers, 0, sizeof buffers);
    for (uint32_t i = 0; i < BUFFERS; i++) {
        add_record(GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(BUFFER(i)), i ? i * 100 : 1, &buffers[i].object);
        CHECK_EQ_INT(lap_memobj_create(dev->memtrack, &buffers[i], 4096, true, &buffers[i].memobj), LAP_OK);
        buffers[i].bytes = 4096;
    }
    memset(sets, 0, sizeof sets);
    for (uint32_t i = 0; i < SETS; i++) {
        add_record(GEN_HANDLE_VkDescriptorSet, gen_u64_VkDescriptorSet(SET(i)), i * 1000 + 1, &sets[i].object);
        sets[i].layout = i < 8 ? &one_dynamic : i < 10 ? &no_dynamic : &two_dynamic;
    }
    add_record(GEN_HANDLE_VkPipelineLayout, gen_u64_VkPipelineLayout(LAYOUT), 300, &layout);
    memset(&cb, 0, sizeof cb);
    cb.device = dev;
    lap_enc_init(&cb.enc, &dev->tables);
    begin_recording();
}

static void end(void)
{
    layer_touch_finish(&cb);
    lap_enc_finish(&cb.enc);
    finish_device();
}

/* Both ways, one after the other. */
#define CHECK_SAME(name, ...)                                                                                          \
    do {                                                                                                               \
        struct lap_enc slow;                                                                                           \
        begin_recording();                                                                                             \
        CHECK(gen_quick_##name(&cb, __VA_ARGS__));                                                                     \
        CHECK_EQ_U64(cb.command_count, 1);                                                                             \
        lap_enc_init(&slow, &dev->tables);                                                                             \
        CHECK(lap_enc_reserve(&slow, LAP_WIRE_MAX_VARINT));                                                            \
        lap_put_u64(&slow, GEN_##name);                                                                                \
        gen_encode_##name(&slow, __VA_ARGS__);                                                                         \
        CHECK_EQ_U64(cb.enc.p - cb.enc.base, slow.p - slow.base);                                                      \
        CHECK(memcmp(cb.enc.base, slow.base, (size_t)(slow.p - slow.base)) == 0);                                      \
        lap_enc_finish(&slow);                                                                                         \
    } while (0)

#define CHECK_REFUSED(name, ...)                                                                                       \
    do {                                                                                                               \
        const uint8_t *before = cb.enc.p;                                                                              \
        CHECK(!gen_quick_##name(&cb, __VA_ARGS__));                                                                    \
        CHECK(cb.enc.p == before && cb.command_count == 0);                                                            \
    } while (0)

static const uint32_t values[] = {0, 1, 127, 128, 16383, 16384, 1u << 31, UINT32_MAX};
#define VALUES (sizeof values / sizeof values[0])

UNIT_TEST(numbers_are_written_alike)
{
    begin();
    for (uint32_t i = 0; i < VALUES; i++) {
        CHECK_SAME(vkCmdDraw, values[i], 1, values[(i + 1) % VALUES], values[(i + 3) % VALUES]);
        CHECK_SAME(vkCmdDrawIndexed, 3, values[i], 0, (int32_t)values[i], 1);
        CHECK_SAME(vkCmdSetDepthBias, (float)values[i], -0.5f, 1e30f);
    }
    CHECK_SAME(vkCmdDispatch, 1, 200, 3);
    end();
}

UNIT_TEST(lists_and_handles_are_written_alike)
{
    const VkBuffer handles[LAYER_FAST_ITEMS] = {BUFFER(0), BUFFER(1), BUFFER(2), BUFFER(3),
                                                BUFFER(3), BUFFER(0), BUFFER(1), BUFFER(1)};
    const VkDeviceSize offsets[LAYER_FAST_ITEMS] = {0, 127, 128, 1u << 20, UINT64_C(1) << 40, UINT64_MAX, 5, 6};
    const VkDescriptorSet some[] = {SET(0), SET(1), SET(8), SET(3)};
    begin();
    for (uint32_t count = 0; count <= LAYER_FAST_ITEMS; count++)
        CHECK_SAME(vkCmdBindVertexBuffers, count, count, handles, offsets);
    for (uint32_t i = 0; i < VALUES; i++)
        CHECK_SAME(vkCmdBindDescriptorSets, VK_PIPELINE_BIND_POINT_COMPUTE, LAYOUT, i, i % 4, some, VALUES - i,
                   values + i);
    CHECK_SAME(vkCmdBindDescriptorSets, VK_PIPELINE_BIND_POINT_GRAPHICS, LAYOUT, 0, 4, some, 0, NULL);
    CHECK_SAME(vkCmdBindIndexBuffer, BUFFER(2), 1000, VK_INDEX_TYPE_UINT32);
    end();
}

UNIT_TEST(bytes_are_written_alike)
{
    uint8_t bytes[LAYER_FAST_BYTES];
    begin();
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    for (uint32_t size = 0; size <= LAYER_FAST_BYTES; size += 4)
        CHECK_SAME(vkCmdPushConstants, LAYOUT, VK_SHADER_STAGE_ALL, size, size, bytes);
    end();
}

UNIT_TEST(what_is_unusual_is_left_alone)
{
    uint8_t bytes[2 * LAYER_FAST_BYTES] = {0};
    const VkBuffer handles[LAYER_FAST_ITEMS + 1] = {BUFFER(0), VK_NULL_HANDLE}, unknown = gen_VkBuffer(0x7777);
    const VkDeviceSize offsets[LAYER_FAST_ITEMS + 1] = {0};
    begin();
    CHECK_REFUSED(vkCmdBindVertexBuffers, 0, LAYER_FAST_ITEMS + 1, handles, offsets);
    CHECK_REFUSED(vkCmdBindVertexBuffers, 0, 2, handles, offsets);
    CHECK_REFUSED(vkCmdBindVertexBuffers, 0, 1, &unknown, offsets);
    CHECK_REFUSED(vkCmdPushConstants, LAYOUT, VK_SHADER_STAGE_ALL, 0, LAYER_FAST_BYTES + 4, bytes);
    CHECK_REFUSED(vkCmdPushConstants, LAYOUT, VK_SHADER_STAGE_ALL, 0, 6, bytes);
    CHECK_REFUSED(vkCmdPushConstants, VK_NULL_HANDLE, VK_SHADER_STAGE_ALL, 0, 4, bytes);
    cb.enc.p = cb.enc.end - 10;
    CHECK_REFUSED(vkCmdDraw, 1, 1, 1, 1);
    begin_recording();
    cb.enc.failed = true;
    CHECK_REFUSED(vkCmdDraw, 1, 1, 1, 1);
    begin_recording();
    cb.state = LAYER_CMDBUF_EXECUTABLE;
    CHECK_REFUSED(vkCmdDraw, 1, 1, 1, 1);
    end();
}

/* ---- what is touched ---- */

static void bind(uint32_t first, uint32_t count, const VkDescriptorSet *handles, uint32_t offset_count,
                 const uint32_t *offsets)
{
    layer_touch_sets(&cb, VK_PIPELINE_BIND_POINT_COMPUTE, first, count, handles, offset_count, offsets);
}

static bool quick_bind(uint32_t first, uint32_t count, const VkDescriptorSet *handles, uint32_t offset_count,
                       const uint32_t *offsets)
{
    return quick_CmdBindDescriptorSets(&cb, NULL, VK_PIPELINE_BIND_POINT_COMPUTE, LAYOUT, first, count, handles,
                                       offset_count, offsets);
}

UNIT_TEST(sets_that_were_bound_are_known_by_their_offsets)
{
    const VkDescriptorSet both[] = {SET(1), SET(8)}, swapped[] = {SET(8), SET(1)}, wide = SET(10);
    const uint32_t offsets[] = {256, 512}, other[] = {768};
    begin();
    CHECK(!quick_bind(0, 2, both, 1, offsets));
    bind(0, 2, both, 1, offsets);
    bind(0, 1, both, 1, offsets + 1);
    CHECK_EQ_U64(cb.sets_count, 3);
    struct layer_bound *bound = &cb.bound[LAYER_BIND_COMPUTE];
    for (uint32_t i = 0; i < 3; i++) {
        memset(bound, 0, sizeof *bound);
        CHECK(quick_bind(i, 2, both, 1, offsets));
        CHECK(bound->sets[i] == 1 && bound->sets[i + 1] == 2);
        CHECK(quick_bind(i, 2, swapped, 1, offsets));
        CHECK(bound->sets[i] == 2 && bound->sets[i + 1] == 1);
        CHECK(quick_bind(i, 1, both, 1, offsets + 1));
        CHECK(bound->sets[i] == 3);
    }
    CHECK(quick_bind(0, 1, both, 1, other)); /* there is room to note it */
    CHECK(bound->sets[0] == 4 && cb.sets[3].offsets[0] == other[0] &&
          cb.sets[3].set == gen_u64_VkDescriptorSet(SET(1)));
    CHECK(quick_bind(0, 1, both, 1, other) && bound->sets[0] == 4);
    CHECK(!quick_bind(0, 1, both, 0, NULL));
    bind(0, 1, &wide, 2, offsets);
    CHECK(!quick_bind(0, 1, &wide, 2, offsets));
    CHECK(!quick_bind(LAP_SPIRV_SETS - 1, 2, both, 1, offsets));
    CHECK(!quick_bind(UINT32_MAX, 2, both, 1, offsets));
    CHECK_EQ_U64(cb.sets_count, 5);
    begin_recording();
    CHECK(quick_bind(0, 1, both, 1, offsets) && cb.sets_count == 1);
    cb.state = LAYER_CMDBUF_EXECUTABLE;
    CHECK(!quick_bind(0, 1, both, 1, offsets + 1));
    CHECK_EQ_U64(cb.sets_count, 1);
    end();
}

/* As many as there is room for are found again, whatever else was bound in between. */
UNIT_TEST(a_frame_of_offsets_is_known)
{
    uint32_t found = 0;
    begin();
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 256; i++) {
            const VkDescriptorSet set = SET(i % 8);
            const uint32_t offset = i / 8 * 256;
            found += quick_bind(0, 1, &set, 1, &offset);
            bind(0, 1, &set, 1, &offset);
            CHECK_EQ_U64(cb.sets[cb.bound[LAYER_BIND_COMPUTE].sets[0] - 1].index, sets[i % 8].object.index);
            CHECK_EQ_U64(cb.sets[cb.bound[LAYER_BIND_COMPUTE].sets[0] - 1].offsets[0], offset);
        }
    CHECK_EQ_U64(cb.sets_count, 256);
    CHECK_EQ_U64(found, 512 - 5); /* but for those that found no room */
    end();
}

/* Nearly all of them, where there are more than the command buffer begins with places for. */
UNIT_TEST(thousands_of_offsets_are_known)
{
    enum { MANY = 5000 };
    begin();
    for (uint32_t round = 0; round < 3; round++)
        for (uint32_t i = 0; i < MANY; i++) {
            const VkDescriptorSet set = SET(i * 7 % 8);
            const uint32_t offset = i * 256;
            bind(0, 1, &set, 1, &offset);
            CHECK_EQ_U64(cb.sets[cb.bound[LAYER_BIND_COMPUTE].sets[0] - 1].offsets[0], offset);
        }
    CHECK(cb.sets_count < MANY + 3 * MANY / 10);
    end();
}

UNIT_TEST(what_the_pipeline_stores_to_makes_binds_stale)
{
    struct lap_spirv_access access = {.stores = {0, 1}};
    const VkDescriptorSet set = SET(8);
    begin();
    struct layer_bound *bound = &cb.bound[LAYER_BIND_COMPUTE];
    bind(0, 1, &set, 0, NULL);
    bound->access = &access;
    CHECK(quick_bind(0, 1, &set, 0, NULL) && !bound->stale && quick_CmdDispatch(&cb));
    CHECK(quick_bind(1, 1, &set, 0, NULL) && bound->stale && !quick_CmdDispatch(&cb));
    CHECK(quick_CmdDraw(&cb));
    end();
}

UNIT_TEST(buffers_that_are_read_are_known_from_where_on)
{
    const VkDeviceSize from[] = {100, 200};
    const VkBuffer handles[] = {BUFFER(0), BUFFER(1)};
    begin();
    buffers[1].device_only = true;
    CHECK(!quick_CmdBindIndexBuffer(&cb, NULL, BUFFER(0), 100, VK_INDEX_TYPE_UINT16));
    layer_touch_buffer(&cb, BUFFER(0), 100, UINT64_MAX, LAYER_READS);
    layer_touch_buffer(&cb, BUFFER(1), 100, UINT64_MAX, LAYER_READS);
    CHECK_EQ_U64(cb.touched.ranges.count, 1);
    CHECK(quick_CmdBindIndexBuffer(&cb, NULL, BUFFER(0), 100, VK_INDEX_TYPE_UINT16));
    CHECK(!quick_CmdBindIndexBuffer(&cb, NULL, BUFFER(0), 99, VK_INDEX_TYPE_UINT16));
    CHECK(quick_CmdBindIndexBuffer(&cb, NULL, BUFFER(1), 0, VK_INDEX_TYPE_UINT16));
    CHECK(quick_CmdBindVertexBuffers(&cb, NULL, 0, 2, handles, from));
    CHECK(!quick_CmdBindVertexBuffers(&cb, NULL, 0, 2, handles, NULL));
    layer_touch_buffer(&cb, BUFFER(2), 0, 50, LAYER_READS);
    layer_touch_buffer(&cb, BUFFER(3), 0, UINT64_MAX, LAYER_WRITES);
    CHECK(!layer_touch_has_read(&cb, BUFFER(2), 0) && !layer_touch_has_read(&cb, BUFFER(3), 0));
    CHECK(!layer_touch_has_read(&cb, VK_NULL_HANDLE, 0));
    begin_recording();
    CHECK(!layer_touch_has_read(&cb, BUFFER(0), 100));
    end();
}

UNIT_MAIN();
