/* SPDX-License-Identifier: MIT */
#include "vulkan/set_layout.h"

#include "tests/unit/unit.h"

UNIT_TEST(bytes_past_the_end_of_a_block_are_in_the_next_one)
{
    const VkDescriptorSetLayoutBinding bindings[] = {{1, VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, 16, 0, NULL},
                                                     {2, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 0, 0, NULL},
                                                     {4, VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, 8, 0, NULL},
                                                     {5, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, 0, NULL}};
    const VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 4, .pBindings = bindings};
    static const struct {
        uint32_t binding, offset, bytes, in_binding, at;
    } places[] = {
        {1, 0, 16, 1, 0}, {1, 12, 4, 1, 12}, {1, 16, 8, 4, 0}, {1, 20, 4, 4, 4}, {4, 4, 4, 4, 4},
        {1, 24, 0, 1, 0}, {4, 8, 0, 4, 0},   {5, 0, 0, 5, 0},  {3, 0, 0, 3, 0},
    };
    struct lap_set_layout *layout = lap_set_layout_new(&info);

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint32_t binding = places[i].binding, offset = places[i].offset;
        CHECK_EQ_U64(lap_set_layout_bytes(layout, &binding, &offset), places[i].bytes);
        CHECK_EQ_U64(binding, places[i].in_binding);
        CHECK(!places[i].bytes || offset == places[i].at);
    }
    lap_set_layout_release(layout);
}

UNIT_MAIN();
