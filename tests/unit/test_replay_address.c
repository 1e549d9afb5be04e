/* SPDX-License-Identifier: MIT */
/* Device addresses in a replay: buffers, what the host writes into them, checks, constants. The device is a real one,
 * its addresses are not: they follow from the buffers. */
#include "replayer/address/address.h"

#include "gen_renamed.h"
#include "replayer/verify/verify.h"
#include "tests/unit/replay_buffer.h"
#include "vulkan/texel/pixels.h"

#define RECORDED 0x7f1200000000u
#define LIVE     0x560000000000u
#define BYTES    0x3000u

static uint64_t asked;
static VkDeviceAddress next_address;

static VkDeviceAddress VKAPI_CALL give_address(VkDevice device, const VkBufferDeviceAddressInfo *info)
{
    asked++;
    return next_address;
}

static bool begin(struct unit_replay *u)
{
    static const struct replay_options options = {.verify = true};

    if (!unit_replay_init(u, &options))
        return false;
    asked = 0;
    u->dev.addresses.enabled = true; /* but memory is allocated as the unit's device allows it */
    u->dev.vk.GetBufferDeviceAddress = give_address;
    CHECK_EQ_INT(replay_check_create(&u->r), LAP_OK);
    return true;
}

static void end(struct unit_replay *u)
{
    replay_objects_destroy_left(&u->r, &u->dev);
    replay_address_finish(&u->r, &u->dev);
    CHECK(!u->dev.addresses.known);
    replay_check_destroy(&u->r);
    unit_replay_finish(u);
}

static enum lap_status ask(struct unit_replay *u, VkBuffer buffer, uint64_t recorded, uint64_t live)
{
    VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = buffer};
    struct gen_args_vkGetBufferDeviceAddress args = {.device = u->dev.live, .pInfo = &info, .result = recorded};
    next_address = live;
    return replay_GetBufferDeviceAddress(&u->r, &u->dev, &args);
}

static void update(struct unit_replay *u, VkBuffer buffer, VkDeviceSize offset, size_t bytes, const void *data)
{
    CHECK_EQ_INT(update_buffer(u, buffer, offset, bytes, data), LAP_OK);
}

/* How many checks have differed after one that expects `data` there. */
static uint64_t differences(struct unit_replay *u, VkBuffer buffer, VkDeviceSize offset, const void *data, size_t bytes)
{
    struct gen_args_lapilliCheckBuffer args = {.buffer = buffer, .offset = offset, .size = bytes};
    lap_pixels_hash(data, bytes, &args.hashLow, &args.hashHigh);
    CHECK_EQ_INT(replay_lapilliCheckBuffer(&u->r, &u->dev, &args), LAP_OK);
    return replay_check_summary(&u->r).different;
}

static uint64_t word_at(struct unit_replay *u, VkBuffer buffer, VkDeviceSize offset)
{
    uint64_t word;
    memcpy(&word, replay_buffer_of(&u->r, buffer, NULL)->place.host + offset, sizeof word);
    return word;
}

UNIT_TEST(nothing_is_translated_before_an_address_is_known)
{
    uint64_t address = RECORDED + 16;
    struct unit_replay u;
    VkBuffer buffer;

    if (!begin(&u))
        SKIP("no Vulkan driver");
    buffer = create_buffer(&u, 1, BYTES, HOST);
    update(&u, buffer, 8, 8, &address);
    CHECK_EQ_U64(word_at(&u, buffer, 8), address);
    CHECK(!u.dev.addresses.known && !u.r.source.address && !u.r.source.words);
    CHECK_EQ_U64(replay_address_counts(&u.dev).buffers, 0);
    u.dev.addresses.enabled = false; /* a replay by force, where there are none */
    CHECK_EQ_INT(ask(&u, buffer, RECORDED, LIVE), LAP_ERROR_UNSUPPORTED);
    CHECK(!u.dev.addresses.known);
    CHECK_EQ_U64(asked, 0);
    end(&u);
}

UNIT_TEST(updates_and_checks_go_both_ways)
{
    uint64_t words[4] = {RECORDED + 16, 5, RECORDED + BYTES, RECORDED + BYTES + 1};
    struct unit_replay u;
    VkBuffer buffer, other;

    if (!begin(&u))
        SKIP("no Vulkan driver");
    buffer = create_buffer(&u, 1, BYTES, HOST);
    other = create_buffer(&u, 2, BYTES, HOST);
    CHECK_EQ_INT(ask(&u, other, RECORDED, LIVE), LAP_OK);
    CHECK_EQ_INT(ask(&u, other, RECORDED, LIVE), LAP_OK); /* asked again */
    CHECK_EQ_U64(asked, 1);
    update(&u, buffer, 40, sizeof words, words);
    CHECK_EQ_U64(word_at(&u, buffer, 40), LIVE + 16);
    CHECK_EQ_U64(word_at(&u, buffer, 48), 5);
    CHECK_EQ_U64(word_at(&u, buffer, 56), LIVE + BYTES);
    CHECK_EQ_U64(word_at(&u, buffer, 64), RECORDED + BYTES + 1);
    CHECK_EQ_U64(differences(&u, buffer, 40, words, sizeof words), 0);
    /* Of a word that stands across an end of what is checked the part counts. */
    CHECK_EQ_U64(differences(&u, buffer, 43, (const char *)words + 3, 19), 0);
    CHECK_EQ_U64(differences(&u, buffer, 48, &words[1], 10), 0);
    u.log.fd = -1;
    words[0]++;
    CHECK_EQ_U64(differences(&u, buffer, 40, words, sizeof words), 1);
    CHECK_EQ_U64(replay_address_counts(&u.dev).updated, 2);
    CHECK(replay_address_counts(&u.dev).checked > 0);
    end(&u);
}

UNIT_TEST(memory_that_the_host_can_not_see_is_translated_too)
{
    uint64_t address = RECORDED + 0x100, expected[2];
    struct replay_buffer *record;
    struct replay_memory_place place;
    struct unit_replay u;
    VkBuffer buffer, other;

    if (!begin(&u))
        SKIP("no Vulkan driver");
    buffer = create_buffer(&u, 1, BYTES, HOST);
    other = create_buffer(&u, 2, BYTES, HOST);
    CHECK_EQ_INT(ask(&u, other, RECORDED, LIVE), LAP_OK);
    record = replay_buffer_of(&u.r, buffer, NULL);
    place = record->place;
    record->place.host = NULL;
    /* Across two pages of the copy that is kept, and then a byte of it. */
    update(&u, buffer, 4093, 8, (const char[8]){1, 2, 3});
    update(&u, buffer, 4092, 8, &address);
    update(&u, buffer, 4093, 1, "\x02");
    address = RECORDED + 0x200;
    expected[0] = address;
    expected[1] = 0;
    CHECK_EQ_U64(differences(&u, buffer, 4092, expected, sizeof expected), 0);
    /* Given again. */
    destroy_buffer(&u, other);
    other = create_buffer(&u, 3, BYTES, HOST);
    CHECK_EQ_INT(ask(&u, other, RECORDED, LIVE + 0x10000), LAP_OK);
    CHECK_EQ_U64(differences(&u, buffer, 4092, expected, sizeof expected), 0);
    CHECK_EQ_U64(replay_address_counts(&u.dev).renewed, 1);
    record->place = place;
    u.dev.vk.DeviceWaitIdle(u.dev.live);
    CHECK_EQ_U64(word_at(&u, buffer, 4092), LIVE + 0x10200);
    end(&u);
}

UNIT_TEST(constants_of_eight_bytes_are_translated)
{
    struct {
        uint32_t four;
        uint64_t eight, other;
    } __attribute__((packed)) data = {7, RECORDED + 4, RECORDED - 1}, before = data;
    const VkSpecializationMapEntry entries[] = {{1, 0, 4}, {2, 4, 8}, {3, 12, 8}, {4, 16, 8}, {5, UINT32_MAX, 8}};
    VkSpecializationInfo info = {5, entries, sizeof data, &data};
    struct unit_replay u;
    VkBuffer buffer;
    uint64_t word;

    if (!begin(&u))
        SKIP("no Vulkan driver");
    buffer = create_buffer(&u, 1, BYTES, HOST);
    CHECK_EQ_INT(ask(&u, buffer, RECORDED, LIVE), LAP_OK);
    CHECK_EQ_INT(replay_address_constants(&u.r, &u.dev, NULL), LAP_OK);
    CHECK_EQ_INT(replay_address_constants(&u.r, &u.dev, &info), LAP_OK);
    CHECK(info.pData != &data && memcmp(&data, &before, sizeof data) == 0);
    memcpy(&word, (const char *)info.pData + 4, sizeof word);
    CHECK_EQ_U64(word, LIVE + 4);
    CHECK(memcmp(info.pData, &data, 4) == 0 && memcmp((const char *)info.pData + 12, &data.other, 8) == 0);
    CHECK_EQ_U64(replay_address_counts(&u.dev).constants, 1);
    end(&u);
}

/* Two constants of 4 bytes, in whatever order the entries are; three in a row, of which two are one; the upper half
 * first; and what only looks like it: apart from each other, or of which a half is taken. */
UNIT_TEST(constants_of_four_bytes_side_by_side_are_translated)
{
    const uint32_t low = (uint32_t)RECORDED, high = (uint32_t)(RECORDED >> 32);
    const uint32_t live_low = (uint32_t)LIVE, live_high = (uint32_t)(LIVE >> 32), far = 2 * BYTES;
    const uint32_t data[] = {high, low + 8, high, low + 12, far, high, low + 16, far, low, far, high, low + 24, high};
    const uint32_t expected[] = {high, live_low + 8, live_high, low + 12,  far,           live_high, live_low + 16,
                                 far,  low,          far,       live_high, live_low + 24, high};
    /* The last word is none: a constant of 2 bytes. */
    const VkSpecializationMapEntry entries[] = {
        {1, 8, 4},  {2, 4, 4}, {3, 0, 4},  {4, 12, 4}, {5, 16, 4}, {6, 20, 4}, {7, 24, 4}, {8, 28, 4},
        {9, 32, 4}, {2, 4, 4}, {9, 40, 4}, {9, 44, 4}, {1, 48, 2}, {1, 52, 4}, {1, 50, 4}, {1, UINT32_MAX, 4}};
    VkSpecializationInfo info = {sizeof entries / sizeof entries[0], entries, sizeof data, data};
    struct unit_replay u;
    VkBuffer buffer;

    if (!begin(&u))
        SKIP("no Vulkan driver");
    buffer = create_buffer(&u, 1, BYTES, HOST);
    CHECK_EQ_INT(ask(&u, buffer, RECORDED, LIVE), LAP_OK);
    CHECK_EQ_INT(replay_address_constants(&u.r, &u.dev, &info), LAP_OK);
    CHECK(info.pData != data);
    for (size_t i = 0; i < sizeof data / sizeof data[0]; i++)
        CHECK_EQ_U64(((const uint32_t *)info.pData)[i], expected[i]);
    CHECK_EQ_U64(replay_address_counts(&u.dev).constants, 3);
    end(&u);
}

/* A small number behind which the upper half stands is in range, too: what a buffer begins at is meant. */
UNIT_TEST(constants_that_could_be_two_addresses)
{
    const uint32_t data[] = {11, (uint32_t)(RECORDED >> 32), (uint32_t)RECORDED};
    const uint32_t expected[] = {11, (uint32_t)(LIVE >> 32), (uint32_t)LIVE};
    const VkSpecializationMapEntry entries[] = {{1, 0, 4}, {2, 4, 4}, {3, 8, 4}};
    VkSpecializationInfo info = {3, entries, sizeof data, data};
    struct unit_replay u;
    VkBuffer buffer;

    if (!begin(&u))
        SKIP("no Vulkan driver");
    buffer = create_buffer(&u, 1, BYTES, HOST);
    CHECK_EQ_INT(ask(&u, buffer, RECORDED, LIVE), LAP_OK);
    CHECK_EQ_INT(replay_address_constants(&u.r, &u.dev, &info), LAP_OK);
    CHECK(memcmp(info.pData, expected, sizeof expected) == 0);
    CHECK_EQ_U64(replay_address_counts(&u.dev).constants, 1);
    end(&u);
}

UNIT_TEST(addresses_that_are_the_same_are_not_translated)
{
    uint64_t words[3] = {RECORDED + 16, RECORDED + BYTES, RECORDED + BYTES + 16};
    struct unit_replay u;
    VkBuffer buffer, same, other, next;

    if (!begin(&u))
        SKIP("no Vulkan driver");
    buffer = create_buffer(&u, 1, BYTES, HOST);
    same = create_buffer(&u, 2, BYTES, HOST);
    CHECK_EQ_INT(ask(&u, same, RECORDED + BYTES, RECORDED + BYTES), LAP_OK);
    CHECK(!u.dev.addresses.translated && !u.r.source.address && !u.r.source.words);
    update(&u, buffer, 0, sizeof words, words);
    CHECK(!replay_buffer_of(&u.r, buffer, NULL)->addresses); /* nothing was looked at */
    /* The end of what moved is the begin of what did not, and names that. */
    other = create_buffer(&u, 3, BYTES, HOST);
    CHECK_EQ_INT(ask(&u, other, RECORDED, LIVE), LAP_OK);
    CHECK(u.dev.addresses.translated && u.r.source.address && u.r.source.words);
    update(&u, buffer, 0, sizeof words, words);
    CHECK_EQ_U64(word_at(&u, buffer, 0), LIVE + 16);
    CHECK_EQ_U64(word_at(&u, buffer, 8), RECORDED + BYTES);
    CHECK_EQ_U64(word_at(&u, buffer, 16), RECORDED + BYTES + 16);
    CHECK_EQ_U64(differences(&u, buffer, 0, words, sizeof words), 0);
    CHECK_EQ_U64(replay_address_counts(&u.dev).updated, 1);
    CHECK_EQ_U64(replay_address_counts(&u.dev).checked, 1);
    CHECK_EQ_U64(replay_address_counts(&u.dev).buffers, 2);
    CHECK_EQ_U64(replay_address_counts(&u.dev).preserved, 1);
    /* What stayed ends, and its address is given to what does not. */
    destroy_buffer(&u, same);
    next = create_buffer(&u, 4, BYTES, HOST);
    CHECK_EQ_INT(ask(&u, next, RECORDED + BYTES, LIVE + 0x10000), LAP_OK);
    CHECK_EQ_U64(word_at(&u, buffer, 16), LIVE + 0x10010);
    CHECK_EQ_U64(replay_address_counts(&u.dev).renewed, 2);
    end(&u);
}

/* ---- push constants ---- */

#define LAYOUT(n) ((VkPipelineLayout)(uintptr_t)(0x1000 + (n)))

/* What shaders read, by layout; 0: push data and what has no layout. */
static uint32_t pushed[3][4];

static void VKAPI_CALL push_constants(VkCommandBuffer commands, VkPipelineLayout layout, VkShaderStageFlags stages,
                                      uint32_t offset, uint32_t bytes, const void *values)
{
    CHECK_EQ_U64(stages, layout == LAYOUT(1) ? VK_SHADER_STAGE_COMPUTE_BIT : VK_SHADER_STAGE_ALL_GRAPHICS);
    memcpy((char *)pushed[layout == LAYOUT(1) ? 1 : 2] + offset, values, bytes);
}

static void play(struct unit_replay *u, uint32_t command, void *args)
{
    u->r.at.command = command;
    CHECK_EQ_INT(replay_address_command(&u->r, &u->dev, VK_NULL_HANDLE, args), LAP_OK);
}

/* Pushes words as a command buffer's playback does; returns the 8 bytes that are then at the offset `at`. */
static uint64_t push(struct unit_replay *u, unsigned layout, uint32_t word, uint32_t value, uint32_t at)
{
    struct gen_args_vkCmdPushConstants args = {.layout = LAYOUT(layout),
                                               .stageFlags = layout == 1 ? VK_SHADER_STAGE_COMPUTE_BIT
                                                                         : VK_SHADER_STAGE_ALL_GRAPHICS,
                                               .offset = 4 * word,
                                               .size = 4,
                                               .pValues = &value};
    uint64_t found;

    play(u, GEN_vkCmdPushConstants, &args);
    push_constants(args.commandBuffer, args.layout, args.stageFlags, args.offset, args.size, args.pValues);
    memcpy(&found, &pushed[layout][at], 8);
    return found;
}

UNIT_TEST(halves_that_are_pushed_one_after_the_other_are_one_address)
{
    const uint32_t low = (uint32_t)RECORDED, high = (uint32_t)(RECORDED >> 32);
    struct unit_replay u;

    if (!begin(&u))
        SKIP("no Vulkan driver");
    CHECK_EQ_INT(ask(&u, create_buffer(&u, 1, BYTES, HOST), RECORDED, LIVE), LAP_OK);
    u.dev.vk.CmdPushConstants = push_constants;
    replay_address_commands_begin(&u.dev);
    CHECK_EQ_U64(push(&u, 1, 2, high, 1), (uint64_t)high << 32); /* half an address is a number */
    CHECK_EQ_U64(push(&u, 2, 1, low, 1), low);                   /* and so is one of another bind point's */
    CHECK_EQ_U64(push(&u, 1, 1, low + 8, 1), LIVE + 8);
    CHECK_EQ_U64(push(&u, 1, 1, low + 16, 1), LIVE + 16);
    CHECK_EQ_U64(push(&u, 1, 1, 1 << 20, 1),
                 1 << 20 | (uint64_t)high << 32); /* the upper half is what was recorded again */
    CHECK_EQ_U64(push(&u, 2, 2, high, 1), LIVE);
    CHECK_EQ_U64(replay_address_counts(&u.dev).pushed, 3);
    play(&u, GEN_vkCmdExecuteCommands, &(struct gen_args_vkCmdExecuteCommands){0});
    CHECK_EQ_U64(push(&u, 2, 1, low + 8, 1) & UINT32_MAX, low + 8);
    end(&u);
}

#ifdef VK_KHR_maintenance6
static void VKAPI_CALL push_constants_2(VkCommandBuffer commands, const VkPushConstantsInfoKHR *info)
{
    CHECK(!info->layout && info->stageFlags == VK_SHADER_STAGE_ALL);
    memcpy((char *)pushed[0] + info->offset, info->pValues, info->size);
}

UNIT_TEST(halves_that_are_pushed_without_a_layout_are_one_address)
{
    const uint32_t halves[2] = {(uint32_t)RECORDED, (uint32_t)(RECORDED >> 32)};
    struct unit_replay u;

    if (!begin(&u))
        SKIP("no Vulkan driver");
    CHECK_EQ_INT(ask(&u, create_buffer(&u, 1, BYTES, HOST), RECORDED, LIVE), LAP_OK);
    u.dev.vk.CmdPushConstants2KHR = push_constants_2;
    replay_address_commands_begin(&u.dev);
    for (uint32_t i = 0; i < 2; i++) {
        VkPushConstantsInfoKHR info = {
            .stageFlags = VK_SHADER_STAGE_ALL, .offset = 4 * i, .size = 4, .pValues = &halves[i]};
        play(&u, GEN_vkCmdPushConstants2KHR, &(struct gen_args_vkCmdPushConstants2KHR){.pPushConstantsInfo = &info});
        push_constants_2(VK_NULL_HANDLE, &info);
    }
    CHECK_EQ_U64(pushed[0][0] | (uint64_t)pushed[0][1] << 32, LIVE);
    end(&u);
}
#endif

#ifdef VK_EXT_descriptor_heap
static void VKAPI_CALL push_data(VkCommandBuffer commands, const VkPushDataInfoEXT *info)
{
    memcpy((char *)pushed[0] + info->offset, info->data.address, info->data.size);
}

UNIT_TEST(halves_in_push_data_are_one_address)
{
    const uint32_t halves[2] = {(uint32_t)RECORDED, (uint32_t)(RECORDED >> 32)};
    struct unit_replay u;

    if (!begin(&u))
        SKIP("no Vulkan driver");
    CHECK_EQ_INT(ask(&u, create_buffer(&u, 1, BYTES, HOST), RECORDED, LIVE), LAP_OK);
    u.dev.vk.CmdPushDataEXT = push_data;
    replay_address_commands_begin(&u.dev);
    for (uint32_t i = 2; i-- > 0;) {
        VkPushDataInfoEXT info = {.offset = 8 + 4 * i, .data = {&halves[i], 4}};
        play(&u, GEN_vkCmdPushDataEXT, &(struct gen_args_vkCmdPushDataEXT){.pPushDataInfo = &info});
        push_data(VK_NULL_HANDLE, &info);
    }
    CHECK_EQ_U64(pushed[0][2] | (uint64_t)pushed[0][3] << 32, LIVE);
    end(&u);
}
#endif

UNIT_TEST(a_device_that_gives_no_address_is_refused)
{
    struct unit_replay u;
    VkBuffer buffer;

    if (!begin(&u))
        SKIP("no Vulkan driver");
    buffer = create_buffer(&u, 1, BYTES, HOST);
    CHECK_EQ_INT(ask(&u, buffer, RECORDED, 0), LAP_ERROR_UNSUPPORTED);
    CHECK_EQ_INT(ask(&u, buffer, UINT64_MAX - 4, LIVE), LAP_ERROR_FORMAT);
    u.dev.vk.GetBufferDeviceAddress = NULL;
    CHECK_EQ_INT(ask(&u, buffer, RECORDED, LIVE), LAP_ERROR_UNSUPPORTED);
    end(&u);
}

UNIT_MAIN();
