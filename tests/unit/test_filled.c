/* SPDX-License-Identifier: MIT */
/* What a driver does not fill in of a structure is whatever the program's memory held: none of it comes into a trace.
 */
#include "gen_encode.h"
#include "tests/unit/unit.h"

#ifdef VK_VERSION_1_4 /* its registry has the name without the suffix */
#define gen_encode_VkQueueFamilyGlobalPriorityPropertiesKHR gen_encode_VkQueueFamilyGlobalPriorityProperties
#endif

static struct lap_map empty;
static struct lap_map *maps[GEN_HANDLE_COUNT];
static const struct lap_object_tables tables = {.maps = maps};

static void begin(struct lap_enc *enc)
{
    for (uint32_t i = 0; i < GEN_HANDLE_COUNT; i++)
        maps[i] = &empty;
    lap_enc_init(enc, &tables);
}

/* Encodes two structures of a type that differ where nothing was filled in: the bytes must be the same. */
#define CHECK_SAME(type, one, other)                                                                                   \
    do {                                                                                                               \
        struct lap_enc a, b;                                                                                           \
        begin(&a);                                                                                                     \
        begin(&b);                                                                                                     \
        gen_encode_##type(&a, one);                                                                                    \
        gen_encode_##type(&b, other);                                                                                  \
        CHECK(!a.failed && !b.failed);                                                                                 \
        CHECK_EQ_U64(a.p - a.base, b.p - b.base);                                                                      \
        CHECK(memcmp(a.base, b.base, (size_t)(a.p - a.base)) == 0);                                                    \
        lap_enc_finish(&a);                                                                                            \
        lap_enc_finish(&b);                                                                                            \
    } while (0)

UNIT_TEST(memory_types_and_heaps_end_where_their_counts_say)
{
    VkPhysicalDeviceMemoryProperties clean = {.memoryTypeCount = 2, .memoryHeapCount = 1}, dirty;

    clean.memoryTypes[1] = (VkMemoryType){VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, 0};
    clean.memoryHeaps[0] = (VkMemoryHeap){1 << 30, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    dirty = clean;
    memset(&dirty.memoryTypes[2], 0xab, sizeof dirty.memoryTypes - 2 * sizeof dirty.memoryTypes[0]);
    memset(&dirty.memoryHeaps[1], 0xab, sizeof dirty.memoryHeaps - sizeof dirty.memoryHeaps[0]);
    CHECK_SAME(VkPhysicalDeviceMemoryProperties, &clean, &dirty);
    dirty.memoryTypeCount = dirty.memoryHeapCount = UINT32_MAX; /* never more than there can be */
    struct lap_enc enc;
    begin(&enc);
    gen_encode_VkPhysicalDeviceMemoryProperties(&enc, &dirty);
    CHECK(!enc.failed);
    lap_enc_finish(&enc);
}

UNIT_TEST(groups_and_priorities_end_where_their_counts_say)
{
    VkPhysicalDeviceGroupProperties group = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GROUP_PROPERTIES,
                                             .physicalDeviceCount = 1},
                                    other_group = group;
    VkQueueFamilyGlobalPriorityPropertiesKHR
        families = {.sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_GLOBAL_PRIORITY_PROPERTIES_KHR,
                    .priorityCount = 1,
                    .priorities = {VK_QUEUE_GLOBAL_PRIORITY_MEDIUM_KHR}},
        other_families = families;

    memset(&other_group.physicalDevices[1], 0xab,
           sizeof other_group.physicalDevices - sizeof other_group.physicalDevices[0]);
    CHECK_SAME(VkPhysicalDeviceGroupProperties, &group, &other_group);
    memset(&other_families.priorities[1], 0xab, sizeof other_families.priorities - sizeof other_families.priorities[0]);
    CHECK_SAME(VkQueueFamilyGlobalPriorityPropertiesKHR, &families, &other_families);
}

UNIT_TEST(what_is_not_valid_is_left_out)
{
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES}, other_id = id;
    VkPhysicalDeviceVulkan11Properties all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES},
                                       other_all = all;
    VkPipelineCreationFeedback feedback = {0, 0}, other_feedback = {0, 0xabababababab};

    other_id.deviceNodeMask = other_all.deviceNodeMask = 0xabababab;
    memset(other_id.deviceLUID, 0xab, sizeof other_id.deviceLUID);
    memset(other_all.deviceLUID, 0xab, sizeof other_all.deviceLUID);
    CHECK_SAME(VkPhysicalDeviceIDProperties, &id, &other_id);
    CHECK_SAME(VkPhysicalDeviceVulkan11Properties, &all, &other_all);
    CHECK_SAME(VkPipelineCreationFeedback, &feedback, &other_feedback);
    /* And what is valid is there. */
    struct lap_enc enc;
    other_id.deviceLUIDValid = VK_TRUE;
    begin(&enc);
    gen_encode_VkPhysicalDeviceIDProperties(&enc, &other_id);
    CHECK(memmem(enc.base, (size_t)(enc.p - enc.base), other_id.deviceLUID, VK_LUID_SIZE) != NULL);
    lap_enc_finish(&enc);
}

UNIT_TEST(clear_values_that_nobody_reads_are_left_out)
{
    VkClearAttachment depth = {.aspectMask = VK_IMAGE_ASPECT_DEPTH_BIT}, other_depth = depth;
    VkRenderingAttachmentInfo loaded = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                        .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD},
                              other_loaded = loaded;

    memset(&other_depth.clearValue, 0xab, sizeof other_depth.clearValue);
    other_depth.clearValue.depthStencil = depth.clearValue.depthStencil;
    CHECK_SAME(VkClearAttachment, &depth, &other_depth);
    memset(&other_loaded.clearValue, 0xab, sizeof other_loaded.clearValue);
    CHECK_SAME(VkRenderingAttachmentInfo, &loaded, &other_loaded);
}

UNIT_TEST(names_end_where_their_nul_is)
{
    VkExtensionProperties name = {.extensionName = "VK_KHR_swapchain", .specVersion = 70}, other = name;

    memset(other.extensionName + sizeof "VK_KHR_swapchain", 0xab,
           sizeof other.extensionName - sizeof "VK_KHR_swapchain");
    CHECK_SAME(VkExtensionProperties, &name, &other);
}

UNIT_MAIN();
