/* SPDX-License-Identifier: MIT */
/* What is kept of living objects, for a recording that begins later, and when it goes. */
#include "layer/core/keeper.h"

#include <malloc.h>
#include <stdlib.h>

#include "gen_encode.h"
#include "gen_encode_block.h"
#include "tests/unit/unit.h"

#define INSTANCE gen_VkInstance(1)
#define GPU      gen_VkPhysicalDevice(1)
#define DEVICE   gen_VkDevice(1)

static struct lap_map maps[GEN_HANDLE_COUNT];
static struct lap_map *pointers[GEN_HANDLE_COUNT];
static struct lap_object_tables tables = {.maps = pointers};

/* The program's handle of an object is its index. */
static uint64_t known(uint32_t type, uint64_t index)
{
    struct lap_object *object = lap_map_get(&maps[type], index);
    if (object)
        return index;
    object = calloc(1, sizeof *object);
    *object = (struct lap_object){.index = index, .handle = index, .type = type};
    CHECK_EQ_INT(lap_map_put(&maps[type], index, object, NULL), LAP_OK);
    return index;
}

#define NEW(type, index) gen_##type(known(GEN_HANDLE_##type, index))

static void ignore(enum gen_command command, uint32_t flags, const void *body, size_t bytes) {}

#define KEEP(command, ...)                                                                                             \
    do {                                                                                                               \
        CHECK(layer_keeper_wants(GEN_##command, 0));                                                                   \
        struct lap_enc *keep_enc = layer_keeper_begin(&tables, GEN_##command, gen_command_flags[GEN_##command]);       \
        gen_encode_##command(keep_enc, __VA_ARGS__);                                                                   \
        layer_keeper_end(ignore);                                                                                      \
    } while (0)

static void begin(void)
{
    static bool initialised;
    const VkInstanceCreateInfo instance_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    const VkDeviceCreateInfo device_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    VkInstance instance;
    VkPhysicalDevice gpu;
    VkDevice device;
    uint32_t one = 1;

    if (!initialised) {
        for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++) {
            lap_map_init(&maps[type]);
            pointers[type] = &maps[type];
        }
        layer_keeper_init();
        initialised = true;
    }
    instance = NEW(VkInstance, 1), gpu = NEW(VkPhysicalDevice, 1), device = NEW(VkDevice, 1);
    KEEP(vkCreateInstance, &instance_info, NULL, &instance, VK_SUCCESS);
    KEEP(vkEnumeratePhysicalDevices, instance, &one, &gpu, VK_SUCCESS);
    KEEP(vkCreateDevice, gpu, &device_info, NULL, &device, VK_SUCCESS);
    CHECK_EQ_U64(layer_keeper_size().objects, 3);
}

static void check_empty(void)
{
    const struct layer_keeper_size size = layer_keeper_size();
    CHECK_EQ_U64(size.objects, 0);
    CHECK_EQ_U64(size.packets, 0);
    CHECK_EQ_U64(size.bytes, 0);
    CHECK(!layer_keeper_fault());
}

static void end(void)
{
    KEEP(vkDestroyDevice, DEVICE, NULL);
    KEEP(vkDestroyInstance, INSTANCE, NULL);
    check_empty();
}

static void check_only_the_device(void)
{
    CHECK_EQ_U64(layer_keeper_size().objects, 3);
    CHECK_EQ_U64(layer_keeper_size().packets, 3);
}

/* ---- what is written ---- */

#define MOST 64
static struct {
    uint32_t commands[MOST];
    size_t count, blocks;
    uint64_t block_commands;
} written;

static void note_packet(enum gen_command command, uint32_t flags, const void *body, size_t bytes)
{
    if (written.count < MOST)
        written.commands[written.count++] = command;
}

static void note_block(const struct lap_object_tables *of, uint64_t command_buffer, const void *block, size_t bytes,
                       uint64_t command_count)
{
    note_packet(GEN_lapilliBlock, 0, block, bytes);
    written.blocks++;
    written.block_commands += command_count;
}

static void note_info(const char *json) {}

static void write_all(void)
{
    static const struct layer_keeper_sink sink = {note_packet, note_block, note_info};
    memset(&written, 0, sizeof written);
    CHECK(layer_keeper_write(&sink, false));
    CHECK(layer_keeper_write(&sink, true));
}

static size_t count_of(uint32_t command)
{
    size_t count = 0;
    for (size_t i = 0; i < written.count; i++)
        count += written.commands[i] == command;
    return count;
}

/* MOST: it is not there. */
static size_t place_of(uint32_t command)
{
    for (size_t i = 0; i < written.count; i++)
        if (written.commands[i] == command)
            return i;
    return MOST;
}

/* ---- objects ---- */

static void create_buffer(uint64_t index)
{
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 64, .usage = 1};
    VkBuffer buffer = NEW(VkBuffer, index);
    KEEP(vkCreateBuffer, DEVICE, &info, NULL, &buffer, VK_SUCCESS);
}

static void create_module_and_layout(uint64_t index)
{
    static const uint32_t code[] = {0x07230203, 0x10000, 0, 1, 0};
    const VkShaderModuleCreateInfo module_info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof code, .pCode = code};
    const VkPipelineLayoutCreateInfo layout_info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    VkShaderModule module = NEW(VkShaderModule, index);
    VkPipelineLayout layout = NEW(VkPipelineLayout, index);
    KEEP(vkCreateShaderModule, DEVICE, &module_info, NULL, &module, VK_SUCCESS);
    KEEP(vkCreatePipelineLayout, DEVICE, &layout_info, NULL, &layout, VK_SUCCESS);
}

static void create_pipelines(uint64_t first, uint32_t count, uint64_t module)
{
    VkComputePipelineCreateInfo infos[3];
    VkPipeline pipelines[3];
    for (uint32_t i = 0; i < count; i++) {
        infos[i] = (VkComputePipelineCreateInfo){.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                                 .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                           .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                           .module = NEW(VkShaderModule, module),
                                                           .pName = "main"},
                                                 .layout = NEW(VkPipelineLayout, module)};
        pipelines[i] = NEW(VkPipeline, first + i);
    }
    KEEP(vkCreateComputePipelines, DEVICE, VK_NULL_HANDLE, count, infos, NULL, pipelines, VK_SUCCESS);
}

static void destroy_module_and_layout(uint64_t index)
{
    KEEP(vkDestroyShaderModule, DEVICE, gen_VkShaderModule(index), NULL);
    KEEP(vkDestroyPipelineLayout, DEVICE, gen_VkPipelineLayout(index), NULL);
}

static void create_command_buffer(uint64_t index)
{
    const VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkCommandPool pool = NEW(VkCommandPool, index);
    VkCommandBuffer commands = NEW(VkCommandBuffer, index);
    const VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
    KEEP(vkCreateCommandPool, DEVICE, &pool_info, NULL, &pool, VK_SUCCESS);
    KEEP(vkAllocateCommandBuffers, DEVICE, &info, &commands, VK_SUCCESS);
}

static void record_pipeline(uint64_t command_buffer, uint64_t pipeline, uint64_t times)
{
    struct lap_enc enc;
    lap_enc_init(&enc, &tables);
    for (uint64_t i = 0; i < times; i++) {
        CHECK(lap_enc_reserve(&enc, LAP_WIRE_MAX_VARINT));
        lap_put_u64(&enc, GEN_vkCmdBindPipeline);
        gen_encode_vkCmdBindPipeline(&enc, VK_PIPELINE_BIND_POINT_COMPUTE, gen_VkPipeline(pipeline));
    }
    layer_keeper_block(command_buffer, enc.base, (size_t)(enc.p - enc.base), times);
    lap_enc_finish(&enc);
}

/* ---- tests ---- */

UNIT_TEST(what_was_made_goes_with_its_end)
{
    begin();
    for (uint64_t i = 1; i <= 10; i++)
        create_buffer(i);
    CHECK(layer_keeper_lives(GEN_HANDLE_VkBuffer, 10));
    CHECK_EQ_U64(layer_keeper_size().objects, 13);
    for (uint64_t i = 1; i <= 10; i++)
        KEEP(vkDestroyBuffer, DEVICE, gen_VkBuffer(i), NULL);
    CHECK(!layer_keeper_lives(GEN_HANDLE_VkBuffer, 10));
    check_only_the_device();
    end();
}

UNIT_TEST(a_device_takes_with_it_what_was_not_destroyed)
{
    begin();
    create_buffer(1);
    create_module_and_layout(1);
    create_pipelines(1, 3, 1);
    create_command_buffer(1);
    record_pipeline(1, 1, 2);
    destroy_module_and_layout(1);
    end();
}

UNIT_TEST(a_pipeline_keeps_its_module_and_layout)
{
    begin();
    create_module_and_layout(1);
    create_pipelines(1, 1, 1);
    create_command_buffer(1);
    record_pipeline(1, 1, 1);
    destroy_module_and_layout(1);
    CHECK(!layer_keeper_lives(GEN_HANDLE_VkShaderModule, 1));
    write_all();
    CHECK(place_of(GEN_vkCreateShaderModule) < place_of(GEN_vkCreateComputePipelines));
    CHECK(place_of(GEN_vkCreatePipelineLayout) < place_of(GEN_vkCreateComputePipelines));
    CHECK(place_of(GEN_lapilliBlock) > place_of(GEN_vkCreateComputePipelines));
    CHECK(place_of(GEN_lapilliBlock) < place_of(GEN_vkDestroyShaderModule));
    CHECK_EQ_U64(count_of(GEN_vkDestroyShaderModule), 1);
    CHECK_EQ_U64(count_of(GEN_vkDestroyPipelineLayout), 1);
    KEEP(vkDestroyPipeline, DEVICE, gen_VkPipeline(1), NULL);
    CHECK_EQ_U64(layer_keeper_size().objects, 5); /* the pool and its command buffer */
    KEEP(vkDestroyCommandPool, DEVICE, gen_VkCommandPool(1), NULL);
    check_only_the_device();
    end();
}

UNIT_TEST(of_a_batch_one_may_live)
{
    begin();
    create_module_and_layout(1);
    create_pipelines(1, 3, 1);
    destroy_module_and_layout(1);
    KEEP(vkDestroyPipeline, DEVICE, gen_VkPipeline(1), NULL);
    KEEP(vkDestroyPipeline, DEVICE, gen_VkPipeline(3), NULL);
    write_all();
    CHECK_EQ_U64(count_of(GEN_vkCreateComputePipelines), 1);
    CHECK_EQ_U64(count_of(GEN_vkDestroyPipeline), 2);
    CHECK(!layer_keeper_lives(GEN_HANDLE_VkPipeline, 1));
    CHECK(layer_keeper_lives(GEN_HANDLE_VkPipeline, 2));
    KEEP(vkDestroyPipeline, DEVICE, gen_VkPipeline(2), NULL);
    check_only_the_device();
    end();
}

static void allocate_sets(uint64_t first)
{
    const VkDescriptorSetLayout layouts[3] = {gen_VkDescriptorSetLayout(1), gen_VkDescriptorSetLayout(1),
                                              gen_VkDescriptorSetLayout(1)};
    const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = gen_VkDescriptorPool(1),
                                              .descriptorSetCount = 3,
                                              .pSetLayouts = layouts};
    VkDescriptorSet sets[3];
    for (uint64_t i = 0; i < 3; i++)
        sets[i] = NEW(VkDescriptorSet, first + i);
    KEEP(vkAllocateDescriptorSets, DEVICE, &info, sets, VK_SUCCESS);
}

UNIT_TEST(sets_end_one_by_one_or_with_their_pool)
{
    const VkDescriptorSetLayoutCreateInfo layout_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    const VkDescriptorPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 9};
    const VkDescriptorSet freed[2] = {gen_VkDescriptorSet(1), gen_VkDescriptorSet(3)}, last = gen_VkDescriptorSet(2);
    VkDescriptorSetLayout layout;
    VkDescriptorPool pool;

    begin();
    layout = NEW(VkDescriptorSetLayout, 1), pool = NEW(VkDescriptorPool, 1);
    KEEP(vkCreateDescriptorSetLayout, DEVICE, &layout_info, NULL, &layout, VK_SUCCESS);
    KEEP(vkCreateDescriptorPool, DEVICE, &pool_info, NULL, &pool, VK_SUCCESS);
    allocate_sets(1);
    KEEP(vkFreeDescriptorSets, DEVICE, pool, 2, freed);
    write_all();
    CHECK_EQ_U64(count_of(GEN_vkAllocateDescriptorSets), 1);
    CHECK_EQ_U64(count_of(GEN_vkFreeDescriptorSets), 2); /* one set each */
    KEEP(vkFreeDescriptorSets, DEVICE, pool, 1, &last);
    CHECK_EQ_U64(layer_keeper_size().objects, 5);
    CHECK_EQ_U64(layer_keeper_size().packets, 5);

    allocate_sets(11);
    KEEP(vkDestroyDescriptorSetLayout, DEVICE, layout, NULL);
    CHECK_EQ_U64(layer_keeper_size().objects, 8);
    KEEP(vkResetDescriptorPool, DEVICE, pool, 0);
    CHECK(!layer_keeper_lives(GEN_HANDLE_VkDescriptorSet, 12));
    CHECK_EQ_U64(layer_keeper_size().objects, 4);
    KEEP(vkCreateDescriptorSetLayout, DEVICE, &layout_info, NULL, &layout, VK_SUCCESS);
    allocate_sets(21);
    KEEP(vkDestroyDescriptorPool, DEVICE, pool, NULL);
    CHECK_EQ_U64(layer_keeper_size().objects, 4);
    KEEP(vkDestroyDescriptorSetLayout, DEVICE, layout, NULL);
    check_only_the_device();
    end();
}

UNIT_TEST(the_last_name_stays)
{
    VkDebugUtilsObjectNameInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                          .objectType = VK_OBJECT_TYPE_BUFFER,
                                          .objectHandle = 1};
    size_t before;

    begin();
    create_buffer(1);
    create_buffer(2);
    info.pObjectName = "one";
    KEEP(vkSetDebugUtilsObjectNameEXT, DEVICE, &info, VK_SUCCESS);
    before = layer_keeper_size().bytes;
    for (int i = 0; i < 1000; i++) {
        info.pObjectName = i % 2 ? "two" : "six";
        KEEP(vkSetDebugUtilsObjectNameEXT, DEVICE, &info, VK_SUCCESS);
    }
    CHECK_EQ_U64(layer_keeper_size().packets, 6);
    CHECK_EQ_U64(layer_keeper_size().bytes, before);
    info.objectHandle = 2;
    KEEP(vkSetDebugUtilsObjectNameEXT, DEVICE, &info, VK_SUCCESS);
    CHECK_EQ_U64(layer_keeper_size().packets, 7);
    KEEP(vkDestroyBuffer, DEVICE, gen_VkBuffer(1), NULL);
    CHECK_EQ_U64(layer_keeper_size().packets, 5);
    end();
}

static void create_swapchain(uint64_t index, uint64_t old)
{
    const VkSwapchainCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
                                           .surface = gen_VkSurfaceKHR(1),
                                           .oldSwapchain = gen_VkSwapchainKHR(old)};
    VkSwapchainKHR swapchain = NEW(VkSwapchainKHR, index);
    VkImage images[2] = {NEW(VkImage, 2 * index), NEW(VkImage, 2 * index + 1)};
    uint32_t two = 2;
    KEEP(vkCreateSwapchainKHR, DEVICE, &info, NULL, &swapchain, VK_SUCCESS);
    KEEP(vkGetSwapchainImagesKHR, DEVICE, swapchain, &two, images, VK_SUCCESS);
}

UNIT_TEST(a_window_that_is_resized_for_ever_costs_no_more)
{
    const VkHeadlessSurfaceCreateInfoEXT info = {.sType = VK_STRUCTURE_TYPE_HEADLESS_SURFACE_CREATE_INFO_EXT};
    struct layer_keeper_size first, last;
    VkSurfaceKHR surface;

    begin();
    surface = NEW(VkSurfaceKHR, 1);
    KEEP(vkCreateHeadlessSurfaceEXT, INSTANCE, &info, NULL, &surface, VK_SUCCESS);
    create_swapchain(1000, 0);
    first = layer_keeper_size();
    for (uint64_t i = 1001; i <= 2000; i++) { /* numbers of the same length */
        create_swapchain(i, i - 1);
        KEEP(vkDestroySwapchainKHR, DEVICE, gen_VkSwapchainKHR(i - 1), NULL);
    }
    last = layer_keeper_size();
    CHECK_EQ_U64(last.objects, first.objects);
    CHECK_EQ_U64(last.packets, first.packets);
    CHECK_EQ_U64(last.bytes, first.bytes);
    write_all();
    CHECK_EQ_U64(count_of(GEN_vkCreateSwapchainKHR), 1);
    CHECK_EQ_U64(count_of(GEN_vkDestroySwapchainKHR), 0);
    KEEP(vkDestroySwapchainKHR, DEVICE, gen_VkSwapchainKHR(2000), NULL);
    KEEP(vkDestroySurfaceKHR, INSTANCE, surface, NULL);
    check_only_the_device();
    end();
}

UNIT_TEST(blocks_that_name_what_is_gone_are_left_out)
{
    begin();
    create_module_and_layout(1);
    create_pipelines(1, 1, 1);
    create_pipelines(2, 1, 1);
    create_command_buffer(1);
    create_command_buffer(2);
    record_pipeline(1, 1, 9);
    record_pipeline(1, 1, 3); /* the last one holds */
    record_pipeline(2, 2, 4);
    write_all();
    CHECK_EQ_U64(written.blocks, 2);
    CHECK_EQ_U64(written.block_commands, 7);
    KEEP(vkDestroyPipeline, DEVICE, gen_VkPipeline(1), NULL);
    write_all();
    CHECK_EQ_U64(written.blocks, 1);
    CHECK_EQ_U64(written.block_commands, 4);
    create_pipelines(3, 1, 1); /* who asks for the same again gets another object */
    write_all();
    CHECK_EQ_U64(written.blocks, 1);
    end();
}

UNIT_TEST(a_queue_that_is_asked_for_again_is_the_same)
{
    VkQueue queue;
    struct layer_keeper_size once;

    begin();
    queue = NEW(VkQueue, 1);
    KEEP(vkGetDeviceQueue, DEVICE, 0, 0, &queue);
    once = layer_keeper_size();
    for (int i = 0; i < 100; i++)
        KEEP(vkGetDeviceQueue, DEVICE, 0, 0, &queue);
    CHECK_EQ_U64(layer_keeper_size().objects, once.objects);
    CHECK_EQ_U64(layer_keeper_size().packets, once.packets);
    CHECK_EQ_U64(layer_keeper_size().bytes, once.bytes);
    end();
}

/* What mallinfo2() counts is the C library's. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OTHER_MALLOC
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
#define OTHER_MALLOC
#endif

#ifndef OTHER_MALLOC
#define COUNT 10000u
UNIT_TEST(memory_of_an_object)
{
    const size_t most = 180; /* with what malloc and a hash table that doubles add; 32 of it is one slot twice over */
    struct layer_keeper_size size, first;
    size_t before, each;

    begin();
    for (uint64_t i = 1; i <= COUNT; i++)
        known(GEN_HANDLE_VkBuffer, i);
    first = layer_keeper_size();
    before = mallinfo2().uordblks;
    for (uint64_t i = 1; i <= COUNT; i++)
        create_buffer(i);
    size = layer_keeper_size();
    each = (mallinfo2().uordblks - before - (size.bytes - first.bytes)) / COUNT;
    printf("%zu bytes for each of %u buffers, beyond the %zu of its creation\n", each, COUNT,
           (size.bytes - first.bytes) / COUNT);
    CHECK(each > 0 && each <= most);
    for (uint64_t i = 1; i <= COUNT; i++)
        KEEP(vkDestroyBuffer, DEVICE, gen_VkBuffer(i), NULL);
    check_only_the_device();
    CHECK(mallinfo2().uordblks - before < COUNT * 100); /* the hash table alone stays */
    end();
}
#endif

UNIT_MAIN();

/* ---- descriptors in buffers ---- */

static void get_descriptor(uint64_t sampler, unsigned char byte)
{
    const VkSampler handle = gen_VkSampler(sampler);
    const VkDescriptorGetInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_GET_INFO_EXT,
                                         .type = VK_DESCRIPTOR_TYPE_SAMPLER,
                                         .data = {.pSampler = &handle}};
    const unsigned char bytes[4] = {byte};
    KEEP(vkGetDescriptorEXT, DEVICE, &info, sizeof bytes, (void *)(uintptr_t)bytes);
}

static unsigned char order[MOST];
static size_t order_count;

static void note_descriptor(enum gen_command command, uint32_t flags, const void *body, size_t bytes)
{
    const unsigned char *last = (const unsigned char *)body + bytes;
    if (command == GEN_vkGetDescriptorEXT && order_count < MOST)
        order[order_count++] = last[-4];
}

UNIT_TEST(of_equal_descriptors_the_last_is_kept)
{
    static const struct layer_keeper_sink sink = {note_descriptor, note_block, note_info};
    const VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    VkSampler sampler = NEW(VkSampler, 1);
    begin();
    KEEP(vkCreateSampler, DEVICE, &info, NULL, &sampler, VK_SUCCESS);
    for (unsigned i = 0; i < 1000; i++) {
        get_descriptor(1, 1);
        get_descriptor(1, 2);
    }
    get_descriptor(1, 1);
    CHECK_EQ_U64(layer_keeper_size().packets, 3 + 1 + 2);
    order_count = 0;
    CHECK(layer_keeper_write(&sink, false));
    CHECK_EQ_U64(order_count, 2);
    CHECK_EQ_U64(order[0], 2); /* the newest meaning of bytes comes last */
    CHECK_EQ_U64(order[1], 1);
    KEEP(vkDestroySampler, DEVICE, sampler, NULL);
    check_only_the_device();
    end();
}

UNIT_TEST(a_descriptor_goes_with_its_view)
{
    const VkSamplerCreateInfo sampler_info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    const VkImageCreateInfo image_info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
    VkSampler sampler = NEW(VkSampler, 2);
    VkImage image = NEW(VkImage, 1);
    begin();
    KEEP(vkCreateSampler, DEVICE, &sampler_info, NULL, &sampler, VK_SUCCESS);
    KEEP(vkCreateImage, DEVICE, &image_info, NULL, &image, VK_SUCCESS);
    for (uint64_t i = 1; i <= 100; i++) {
        const VkImageViewCreateInfo view_info = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO, .image = image};
        VkImageView view = NEW(VkImageView, i);
        const VkDescriptorImageInfo both = {.sampler = sampler, .imageView = view};
        const VkDescriptorGetInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_GET_INFO_EXT,
                                             .type = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                             .data = {.pCombinedImageSampler = &both}};
        unsigned char bytes[4] = {(unsigned char)i};
        KEEP(vkCreateImageView, DEVICE, &view_info, NULL, &view, VK_SUCCESS);
        KEEP(vkGetDescriptorEXT, DEVICE, &info, sizeof bytes, bytes);
        CHECK_EQ_U64(layer_keeper_size().packets, 3 + 2 + 2);
        KEEP(vkDestroyImageView, DEVICE, view, NULL);
    }
    CHECK_EQ_U64(layer_keeper_size().packets, 3 + 2);
    KEEP(vkDestroyImage, DEVICE, image, NULL);
    KEEP(vkDestroySampler, DEVICE, sampler, NULL);
    check_only_the_device();
    end();
}
