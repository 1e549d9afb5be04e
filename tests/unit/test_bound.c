/* SPDX-License-Identifier: MIT */
/* What commands find bound, where no program of tests/apps shows it: what makes state undefined, bytes of push
 * constants, numbers that only a damaged trace has. The rest is compared with printed lines (tests/e2e/bound.py). */
#include "inspector/state/bound.h"

#include "gen_decode.h"
#include "gen_reflect.h"
#include "gen_renamed.h"
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
    bound_begin(&bound, NULL, NULL);
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
    for (uint32_t i = 0; i <= BOUND_MOST_HELD; i++) /* each query is another one */
        CHECK_EQ_INT(see(&bound, i, GEN_vkCmdBeginQuery, &(struct gen_args_vkCmdBeginQuery){.query = i}),
                     i < BOUND_MOST_HELD ? LAP_OK : LAP_ERROR_LIMIT);
    bound_finish(&bound);
    creation_facts_finish(&facts);
}

/* ---- what makes state undefined ---- */

static void make(struct creation_facts *facts, uint32_t command, const void *args)
{
    const struct trace_call call = {.command = command, .args = args};
    CHECK_EQ_INT(creation_facts_see(facts, &call), LAP_OK);
}

/* Set layout `index`, with so many dynamic descriptors; equal ones are defined identically. */
static void make_set_layout(struct creation_facts *facts, uint64_t index, uint32_t dynamic)
{
    const VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
                                                  .descriptorCount = dynamic};
    const VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
    VkDescriptorSetLayout layout = gen_VkDescriptorSetLayout(index);

    make(facts, GEN_vkCreateDescriptorSetLayout,
         &(struct gen_args_vkCreateDescriptorSetLayout){.pCreateInfo = &info, .pSetLayout = &layout});
}

static void make_layout(struct creation_facts *facts, uint64_t index, uint64_t first, uint64_t second, uint64_t third)
{
    const VkDescriptorSetLayout sets[3] = {gen_VkDescriptorSetLayout(first), gen_VkDescriptorSetLayout(second),
                                           gen_VkDescriptorSetLayout(third)};
    const VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 3, .pSetLayouts = sets};
    VkPipelineLayout layout = gen_VkPipelineLayout(index);

    make(facts, GEN_vkCreatePipelineLayout,
         &(struct gen_args_vkCreatePipelineLayout){.pCreateInfo = &info, .pPipelineLayout = &layout});
}

static void make_pipeline(struct creation_facts *facts, uint64_t index, VkDynamicState state)
{
    const VkPipelineDynamicStateCreateInfo dynamic = {.dynamicStateCount = 1, .pDynamicStates = &state};
    const VkGraphicsPipelineCreateInfo info = {.pDynamicState = &dynamic};
    VkPipeline pipeline = gen_VkPipeline(index);

    make(facts, GEN_vkCreateGraphicsPipelines,
         &(struct gen_args_vkCreateGraphicsPipelines){
             .createInfoCount = 1, .pCreateInfos = &info, .pPipelines = &pipeline});
}

static void bind(struct bound *bound, uint64_t layout, uint32_t first, uint32_t count, const uint32_t *offsets,
                 uint32_t offset_count)
{
    const VkDescriptorSet sets[3] = {gen_VkDescriptorSet(first + 1), gen_VkDescriptorSet(first + 2),
                                     gen_VkDescriptorSet(first + 3)};
    const struct gen_args_vkCmdBindDescriptorSets args = {.layout = gen_VkPipelineLayout(layout),
                                                          .firstSet = first,
                                                          .descriptorSetCount = count,
                                                          .pDescriptorSets = sets,
                                                          .dynamicOffsetCount = offset_count,
                                                          .pDynamicOffsets = offsets};
    CHECK_EQ_INT(see(bound, 1, GEN_vkCmdBindDescriptorSets, &args), LAP_OK);
}

/* The sets that are bound, as bits. */
static unsigned bound_sets(const struct bound *bound)
{
    const struct bound_pipeline *point = &bound->points[BOUND_GRAPHICS];
    unsigned bits = 0;

    for (size_t i = 0; i < point->set_count; i++)
        bits |= point->sets[i].kind ? 1u << i : 0;
    return bits;
}

UNIT_TEST(sets_are_disturbed_by_layouts_that_are_not_compatible)
{
    static const uint32_t offsets[3] = {16, 32, 48};
    struct creation_facts facts;
    struct bound bound;

    creation_facts_init(&facts);
    bound_init(&bound, &facts);
    make_set_layout(&facts, 1, 1);
    make_set_layout(&facts, 2, 2);
    make_set_layout(&facts, 3, 1); /* as the first one */
    make_layout(&facts, 1, 1, 2, 1);
    make_layout(&facts, 2, 3, 2, 3); /* compatible */
    make_layout(&facts, 3, 1, 1, 1); /* from set 1 on not */
    bind(&bound, 1, 0, 2, offsets, 3);
    CHECK(bound.points[BOUND_GRAPHICS].sets[0].offset_count == 1 &&
          bound.points[BOUND_GRAPHICS].sets[0].offsets[0] == 16);
    CHECK(bound.points[BOUND_GRAPHICS].sets[1].offset_count == 2 &&
          bound.points[BOUND_GRAPHICS].sets[1].offsets[1] == 48);
    bind(&bound, 1, 2, 1, offsets, 1);
    bind(&bound, 2, 1, 1, offsets, 2);
    CHECK_EQ_INT(bound_sets(&bound), 7);
    bind(&bound, 3, 0, 1, offsets, 1); /* set 0 was compatible, so those behind it stay */
    CHECK_EQ_INT(bound_sets(&bound), 7);
    bind(&bound, 3, 2, 1, offsets, 1); /* set 1 in front of it was not */
    CHECK_EQ_INT(bound_sets(&bound), 5);
    bind(&bound, 1, 1, 1, offsets, 2);
    CHECK_EQ_INT(bound_sets(&bound), 7);
    bind(&bound, 3, 1, 1, offsets, 1); /* nor was the set in its place, so what is behind it goes */
    CHECK_EQ_INT(bound_sets(&bound), 3);
    bound_finish(&bound);
    creation_facts_finish(&facts);
}

UNIT_TEST(what_a_pipeline_has_replaces_what_was_set)
{
    const struct gen_args_vkCmdSetLineWidth width = {.lineWidth = 1};
    const struct gen_args_vkCmdSetCullMode cull = {.cullMode = 1};
    struct creation_facts facts;
    struct bound bound;

    creation_facts_init(&facts);
    bound_init(&bound, &facts);
    make_pipeline(&facts, 1, VK_DYNAMIC_STATE_CULL_MODE);
    CHECK_EQ_INT(see(&bound, 1, GEN_vkCmdSetLineWidth, &width), LAP_OK);
    CHECK_EQ_INT(see(&bound, 2, GEN_vkCmdSetCullMode, &cull), LAP_OK);
    CHECK_EQ_INT(see(&bound, 3, GEN_vkCmdSetDeviceMask, &(struct gen_args_vkCmdSetDeviceMask){.deviceMask = 1}),
                 LAP_OK);
    bound.shaders[0].shader = 1;
    CHECK_EQ_INT(
        see(&bound, 4, GEN_vkCmdBindPipeline, &(struct gen_args_vkCmdBindPipeline){.pipeline = gen_VkPipeline(1)}),
        LAP_OK);
    CHECK_EQ_INT(bound.setting_count, 2);
    CHECK(bound.settings[0].index == 2 && bound.settings[1].index == 3);
    CHECK_EQ_INT(bound.shaders[0].shader, 0);
#ifdef VK_KHR_dynamic_rendering_local_read
    CHECK_EQ_INT(see(&bound, 5, GEN_vkCmdSetRenderingAttachmentLocationsKHR,
                     &(struct gen_args_vkCmdSetRenderingAttachmentLocationsKHR){.pLocationInfo = NULL}),
                 LAP_OK);
    CHECK_EQ_INT(bound.setting_count, 3);
    CHECK_EQ_INT(
        see(&bound, 6, GEN_vkCmdBeginRendering, &(struct gen_args_vkCmdBeginRendering){.pRenderingInfo = NULL}),
        LAP_OK);
    CHECK_EQ_INT(bound.setting_count, 2);
#endif
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
            if (strcmp(gen_enum_value_name(&gen_enums[i].values[k]), without[0]) != 0 &&
                !dynamic_states_of(&states, (VkDynamicState)gen_enums[i].values[k].value))
                UNIT_FAIL("no command sets %s", gen_enum_value_name(&gen_enums[i].values[k]));
    UNIT_CHECKED();
}

UNIT_MAIN();
