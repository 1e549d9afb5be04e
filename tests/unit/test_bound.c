/* SPDX-License-Identifier: MIT */
/* What commands find bound: bytes of push constants, which prints do not show, and numbers that only a damaged trace
 * has. The rest is compared with printed lines (tests/e2e/bound.py). */
#include "inspector/state/bound.h"

#include "gen_decode.h"
#include "gen_reflect.h"
#include "tests/unit/unit.h"

static enum lap_status see(struct bound *bound, uint32_t index, uint32_t command, const void *args)
{
    const struct lap_block at = {.index = index};
    return bound_see(bound, &at, command, args);
}

static enum lap_status push(struct bound *bound, uint32_t offset, uint32_t size, const void *values)
{
    return see(bound, 1, GEN_vkCmdPushConstants,
               &(struct gen_args_vkCmdPushConstants){.offset = offset, .size = size, .pValues = values});
}

UNIT_TEST(pushed_bytes_go_before_earlier_ones)
{
    struct creation_facts facts;
    struct bound bound;

    creation_facts_init(&facts);
    bound_init(&bound, &facts);
    CHECK_EQ_INT(push(&bound, 8, 8, "abcdefgh"), LAP_OK);
    CHECK_EQ_INT(push(&bound, 4, 8, "01234567"), LAP_OK);
    CHECK_EQ_INT(bound.push_bytes, 16);
    CHECK(memcmp(bound.push + 4, "01234567efgh", 12) == 0);
    CHECK(memcmp(bound.push_known, "\0\0\0\0\1\1\1\1\1\1\1\1\1\1\1\1", 16) == 0);
    bound_begin(&bound, NULL);
    CHECK_EQ_INT(bound.push_bytes, 0);
    CHECK_EQ_INT(push(&bound, 12, 4, "wxyz"), LAP_OK);
    CHECK(memcmp(bound.push_known, "\0\0\0\0\0\0\0\0\0\0\0\0\1\1\1\1", 16) == 0);
    bound_finish(&bound);
    creation_facts_finish(&facts);
}

UNIT_TEST(numbers_that_no_device_has_are_refused)
{
    const VkBuffer buffers[2] = {0};
    const VkDeviceSize offsets[2] = {0};
    const VkDescriptorSet sets[2] = {0};
    struct creation_facts facts;
    struct bound bound;

    creation_facts_init(&facts);
    bound_init(&bound, &facts);
    CHECK_EQ_INT(push(&bound, UINT32_MAX, 4, "abcd"), LAP_ERROR_LIMIT);
    CHECK_EQ_INT(see(&bound, 1, GEN_vkCmdBindVertexBuffers,
                     &(struct gen_args_vkCmdBindVertexBuffers){
                         .firstBinding = UINT32_MAX, .bindingCount = 2, .pBuffers = buffers, .pOffsets = offsets}),
                 LAP_ERROR_LIMIT);
    CHECK_EQ_INT(see(&bound, 1, GEN_vkCmdBindDescriptorSets,
                     &(struct gen_args_vkCmdBindDescriptorSets){
                         .firstSet = UINT32_MAX, .descriptorSetCount = 2, .pDescriptorSets = sets}),
                 LAP_ERROR_LIMIT);
    bound_finish(&bound);
    creation_facts_finish(&facts);
}

UNIT_TEST(every_dynamic_state_has_its_command)
{
    /* Commands that bind buffers and rates have more parameters than these states. */
    static const char *const without[] = {"VK_DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE"};
    struct dynamic_states states;

    dynamic_states_init(&states);
    CHECK(states.count < DYNAMIC_STATES_MOST);
    for (uint32_t i = 0; i < GEN_ENUM_COUNT; i++)
        for (uint32_t k = 0; strcmp(gen_enums[i].name, "VkDynamicState") == 0 && k < gen_enums[i].value_count; k++)
            if (strcmp(gen_enums[i].values[k].name, without[0]) != 0 &&
                !dynamic_states_of(&states, (VkDynamicState)gen_enums[i].values[k].value))
                UNIT_FAIL("no command sets %s", gen_enums[i].values[k].name);
    UNIT_CHECKED();
}

UNIT_MAIN();
