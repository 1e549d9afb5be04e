/* SPDX-License-Identifier: MIT */
/*
 * sample_trace: a small trace for the tests of tools: an instance, a device, a buffer with an update, a command buffer.
 */
#ifndef LAP_TESTS_SAMPLE_TRACE_H
#define LAP_TESTS_SAMPLE_TRACE_H

#include <stdlib.h>
#include <unistd.h>

#include "base/object.h"
#include "gen_encode_block.h"
#include "gen_ids.h"
#include "tests/unit/unit.h"
#include "trace/write/writer.h"

#define SAMPLE_THREAD 4242

struct sample {
    char path[64];
    struct lap_map maps[GEN_HANDLE_COUNT];
    struct lap_map *map_list[GEN_HANDLE_COUNT];
    struct lap_object_tables tables;
    struct lap_object objects[64];
    unsigned object_count;
    struct lap_writer *writer;
    struct lap_stream *stream;
};

/* A handle value of the recorded program, known as number `index` of its type. */
static inline uint64_t sample_handle(struct sample *sample, uint32_t type, uint64_t index)
{
    struct lap_object *object = &sample->objects[sample->object_count++];
    *object = (struct lap_object){.index = index, .handle = 0x1000 * type + index, .type = type};
    CHECK(lap_map_put(&sample->maps[type], object->handle, object, NULL) == LAP_OK);
    return object->handle;
}

static inline bool sample_begin(struct sample *sample)
{
    struct lap_writer_options options = {.names.commands = {gen_command_names, GEN_COMMAND_COUNT},
                                         .names.structs = {gen_struct_names, GEN_STRUCT_COUNT},
                                         .names.handle_types = {gen_handle_names, GEN_HANDLE_COUNT},
                                         .packer = &lap_codec_lz4};
    int fd;

    memset(sample, 0, sizeof *sample);
    snprintf(sample->path, sizeof sample->path, "%s/lapilli-sample-XXXXXX", P_tmpdir);
    fd = mkstemp(sample->path);
    if (fd < 0)
        return false;
    close(fd);
    unlink(sample->path); /* the writer wants to create it */
    for (unsigned i = 0; i < GEN_HANDLE_COUNT; i++) {
        lap_map_init(&sample->maps[i]);
        sample->map_list[i] = &sample->maps[i];
    }
    sample->tables.maps = sample->map_list;
    if (lap_writer_create(sample->path, &options, &sample->writer) != LAP_OK)
        return false;
    sample->stream = lap_writer_stream(sample->writer, SAMPLE_THREAD);
    return sample->stream != NULL;
}

static inline struct lap_enc *sample_packet(struct sample *sample, uint32_t command, uint32_t more_flags)
{
    uint64_t ticket;
    lap_writer_count(sample->writer, LAP_COUNTER_CALLS, 1);
    return lap_packet_begin(sample->stream, command, gen_command_flags[command] | more_flags, &sample->tables, &ticket);
}

static inline void sample_end(struct sample *sample)
{
    lap_writer_destroy(&sample->writer);
}

static inline void sample_finish(struct sample *sample)
{
    unlink(sample->path);
    for (unsigned i = 0; i < GEN_HANDLE_COUNT; i++)
        lap_map_finish(&sample->maps[i]);
}

/* The calls, without the end of the file: frame 0 has creations, frame 1 the update, the block and the submit. */
static inline void sample_record(struct sample *sample)
{
    static const char *const extensions[] = {"VK_KHR_swapchain", "VK_EXT_custom_border_color",
                                             "VK_EXT_vertex_input_dynamic_state", "VK_EXT_depth_range_unrestricted"};
    VkInstance instance = gen_VkInstance(sample_handle(sample, GEN_HANDLE_VkInstance, 1));
    VkPhysicalDevice gpu = gen_VkPhysicalDevice(sample_handle(sample, GEN_HANDLE_VkPhysicalDevice, 1));
    VkDevice device = gen_VkDevice(sample_handle(sample, GEN_HANDLE_VkDevice, 1));
    VkBuffer buffer = gen_VkBuffer(sample_handle(sample, GEN_HANDLE_VkBuffer, 12));
    VkCommandBuffer commands = gen_VkCommandBuffer(sample_handle(sample, GEN_HANDLE_VkCommandBuffer, 3));
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .pApplicationName = "sam\"ple\xff",
                                     .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo instance_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                          .pApplicationInfo = &application};
    VkPhysicalDeviceVertexInputDynamicStateFeaturesEXT unused = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VERTEX_INPUT_DYNAMIC_STATE_FEATURES_EXT};
    VkPhysicalDeviceCustomBorderColorFeaturesEXT border = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CUSTOM_BORDER_COLOR_FEATURES_EXT,
        .pNext = &unused,
        .customBorderColors = VK_TRUE};
    VkPhysicalDeviceFeatures features = {.samplerAnisotropy = VK_TRUE};
    float priority = 0.1f;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    VkDeviceCreateInfo device_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                      .pNext = &border,
                                      .queueCreateInfoCount = 1,
                                      .pQueueCreateInfos = &queue,
                                      .enabledExtensionCount = 4,
                                      .ppEnabledExtensionNames = extensions,
                                      .pEnabledFeatures = &features};
    VkBufferCreateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                      .size = UINT64_C(1) << 60,
                                      .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT |
                                               0x40000000};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkBufferCopy copies[2] = {{.size = 4}, {.srcOffset = 4, .dstOffset = 8, .size = 4}};
    struct lap_enc block;
    uint64_t id;

    gen_encode_vkCreateInstance(sample_packet(sample, GEN_vkCreateInstance, 0), &instance_info, NULL, &instance,
                                VK_SUCCESS);
    lap_packet_end(sample->stream);
    gen_encode_vkCreateDevice(sample_packet(sample, GEN_vkCreateDevice, 0), gpu, &device_info, NULL, &device,
                              VK_SUCCESS);
    lap_packet_end(sample->stream);
    gen_encode_vkCreateBuffer(sample_packet(sample, GEN_vkCreateBuffer, 0), device, &buffer_info, NULL, &buffer,
                              VK_SUCCESS);
    lap_packet_end(sample->stream);
    gen_encode_vkCreateBuffer(sample_packet(sample, GEN_vkCreateBuffer, LAP_PACKET_FAILED), device, &buffer_info, NULL,
                              &buffer, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    lap_packet_end(sample->stream);
    lap_writer_frame(sample->writer);

    gen_encode_lapilliUpdateBuffer(sample_packet(sample, GEN_lapilliUpdateBuffer, 0), buffer, 16, 5, "hello");
    lap_packet_end(sample->stream);
    lap_enc_init(&block, &sample->tables);
    lap_enc_use_writer(&block, sample->writer);
    if (lap_enc_reserve(&block, LAP_WIRE_MAX_VARINT))
        lap_put_u64(&block, GEN_vkBeginCommandBuffer);
    gen_encode_vkBeginCommandBuffer(&block, &begin);
    if (lap_enc_reserve(&block, LAP_WIRE_MAX_VARINT))
        lap_put_u64(&block, GEN_vkCmdCopyBuffer);
    gen_encode_vkCmdCopyBuffer(&block, buffer, buffer, 2, copies);
    if (lap_enc_reserve(&block, LAP_WIRE_MAX_VARINT))
        lap_put_u64(&block, GEN_vkEndCommandBuffer);
    gen_encode_vkEndCommandBuffer(&block);
    CHECK(!block.failed);
    id = lap_writer_blob(sample->writer, LAP_BLOB_BLOCK, block.base, (size_t)(block.p - block.base), NULL);
    lap_enc_finish(&block);
    lap_writer_count(sample->writer, LAP_COUNTER_COMMANDS, 3);
    gen_encode_lapilliBlock(sample_packet(sample, GEN_lapilliBlock, 0), commands, id, 3);
    lap_packet_end(sample->stream);
    gen_encode_vkDestroyBuffer(sample_packet(sample, GEN_vkDestroyBuffer, 0), device, buffer, NULL);
    lap_packet_end(sample->stream);
    lap_writer_info(sample->writer, "{\"program\":\"/usr/bin/sample\",\"pid\":7}");
    lap_writer_frame(sample->writer);
}

#endif
