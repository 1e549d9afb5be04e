/* SPDX-License-Identifier: MIT */
/* The sets of damaged traces. */
#include "inspector/state/descriptors.h"

#include "gen_decode.h"
#include "gen_ids.h"
#include "tests/unit/unit.h"

static void see(struct descriptors *descriptors, uint32_t command, const void *args)
{
    const struct trace_call call = {.command = command, .args = args};
    CHECK_EQ_INT(descriptors_see(descriptors, &call), LAP_OK);
}

UNIT_TEST(a_set_that_is_allocated_while_it_lives_is_in_its_pool_once)
{
    const VkDescriptorSetLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    VkDescriptorSetLayout layout = gen_VkDescriptorSetLayout(1);
    VkDescriptorSet sets[] = {gen_VkDescriptorSet(5), gen_VkDescriptorSet(5)};
    const VkDescriptorSetLayout layouts[] = {layout, layout};
    const VkDescriptorSetAllocateInfo allocate = {
        .descriptorPool = gen_VkDescriptorPool(3), .descriptorSetCount = 2, .pSetLayouts = layouts};
    const struct gen_args_vkCreateDescriptorSetLayout create = {.pCreateInfo = &info, .pSetLayout = &layout};
    const struct gen_args_vkAllocateDescriptorSets args = {.pAllocateInfo = &allocate, .pDescriptorSets = sets};
    const struct gen_args_vkResetDescriptorPool reset = {.descriptorPool = gen_VkDescriptorPool(3)};
    struct descriptors descriptors;

    descriptors_init(&descriptors);
    see(&descriptors, GEN_vkCreateDescriptorSetLayout, &create);
    see(&descriptors, GEN_vkAllocateDescriptorSets, &args);
    CHECK(descriptors_of(&descriptors, 5) != NULL);
    see(&descriptors, GEN_vkResetDescriptorPool, &reset);
    CHECK(descriptors_of(&descriptors, 5) == NULL);
    descriptors_finish(&descriptors);
}

UNIT_MAIN();
