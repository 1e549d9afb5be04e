/* SPDX-License-Identifier: MIT */
/* Lists of touched ranges, and what command buffers touch when they are submitted. The layer around descriptor.c,
 * pipeline.c and touched.c is replaced by the few functions that they call. */
#include "layer/command/shader_access.h"
#include "layer/command/touched.h"
#include "layer/entry/descriptor_buffer.h"
#include "layer/memory/capture_address.h"
#include "layer/part/descriptor_contents.h"
#include "tests/unit/layer_device.h"

/* ---- lists ---- */

static struct lap_memtrack *tracker;
static struct lap_memobj *a, *b;

static void begin(void)
{
    struct lap_memtrack_options options = {.watch = LAP_WATCH_COMPARE};
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, NULL, 1000, true, &a), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, NULL, 1000, true, &b), LAP_OK);
}

static void check_range(const struct lap_touched *touched, size_t index, const struct lap_memobj *object,
                        uint64_t offset, uint64_t bytes, bool written)
{
    CHECK(index < touched->count);
    if (index >= touched->count)
        return;
    CHECK(touched->ranges[index].object == object);
    CHECK_EQ_U64(touched->ranges[index].offset, offset);
    CHECK_EQ_U64(touched->ranges[index].bytes, bytes);
    CHECK_EQ_INT(touched->ranges[index].written, written);
}

/* That is layer/entry/descriptor_buffer.c's. */
void layer_descriptor_buffers_layout(struct layer_device *device, VkDescriptorSetLayout layout,
                                     const VkDescriptorSetLayoutCreateInfo *info)
{
}
/* That is layer/memory/address_constants.c's. */
void layer_address_check_constants(struct layer_device *device, const VkSpecializationInfo *info) {}
/* Runs, repetitions and single ranges in any order come out as qsort puts them, merged where they meet. */
UNIT_TEST(long_lists_are_sorted)
{
    struct lap_memtrack_options options = {.watch = LAP_WATCH_COMPARE};
    struct lap_memtrack *others = NULL;
    struct lap_memobj *objects[3];
    struct lap_touched touched;
    uint32_t state = 5;
    CHECK_EQ_INT(lap_memtrack_create(&options, &others), LAP_OK);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQ_INT(lap_memobj_create(others, NULL, 1 << 20, true, &objects[i]), LAP_OK);
    lap_touched_init(&touched);
    for (unsigned round = 0; round < 200; round++) {
        bool read[3][4096] = {{0}}, written[3][4096] = {{0}};
        uint64_t at = 0;
        lap_touched_reset(&touched);
        for (unsigned i = 0, count = round * 7; i < count; i++) {
            state = state * 1664525u + 1013904223u;
            unsigned object = state >> 8 & (round % 2 ? 1 : 0), writes = (state >> 12) % 4 == 0;
            at = (state >> 16) % 5 == 0 ? (state >> 20) % 4096 : (at + 1 + (state >> 20) % 3) % 4096;
            (writes ? written : read)[object][at] = true;
            CHECK(lap_touched_add(&touched, objects[object], at * 16, 16, writes));
        }
        lap_touched_seal(&touched);
        for (size_t i = 0; i < touched.count; i++) {
            const struct lap_touched_range *range = &touched.ranges[i], *before = range - 1;
            unsigned object = range->object == objects[1];
            for (uint64_t j = range->offset / 16; j < (range->offset + range->bytes) / 16; j++) {
                CHECK((range->written ? written : read)[object][j]);
                (range->written ? written : read)[object][j] = false;
            }
            CHECK(i == 0 || before->order < range->order ||
                  (before->order == range->order &&
                   (before->written < range->written ||
                    (before->written == range->written && before->offset + before->bytes < range->offset))));
        }
        CHECK(!memchr(read, true, sizeof(read)) && !memchr(written, true, sizeof(written)));
    }
    lap_touched_finish(&touched);
    lap_memtrack_destroy(&others);
}

UNIT_TEST(clamps_to_the_object)
{
    struct lap_touched touched;
    begin();
    lap_touched_init(&touched);
    CHECK(lap_touched_add(&touched, a, 900, UINT64_MAX, false));
    CHECK(lap_touched_add(&touched, b, 990, 20, true));
    CHECK(lap_touched_add(&touched, b, 1000, 1, true));
    CHECK(lap_touched_add(&touched, b, UINT64_MAX, UINT64_MAX, true));
    CHECK(lap_touched_add(&touched, b, 5, 0, true));
    CHECK_EQ_U64(touched.count, 2);
    check_range(&touched, 0, a, 900, 100, false);
    check_range(&touched, 1, b, 990, 10, true);
    lap_touched_finish(&touched);
    lap_memtrack_destroy(&tracker);
}

UNIT_TEST(seal_sorts_merges_and_keeps_written_apart)
{
    struct lap_touched touched;
    begin();
    lap_touched_init(&touched);
    CHECK(lap_touched_add(&touched, b, 500, 10, false));
    CHECK(lap_touched_add(&touched, a, 50, 50, true));
    CHECK(lap_touched_add(&touched, a, 200, 10, false));
    CHECK(lap_touched_add(&touched, a, 90, 10, false));
    CHECK(lap_touched_add(&touched, a, 0, 100, false));
    CHECK(lap_touched_add(&touched, b, 495, 5, false));
    lap_touched_seal(&touched);
    CHECK_EQ_U64(touched.count, 4);
    check_range(&touched, 0, a, 0, 100, false);
    check_range(&touched, 1, a, 200, 10, false);
    check_range(&touched, 2, a, 50, 50, true);
    check_range(&touched, 3, b, 495, 15, false);
    lap_touched_finish(&touched);
    lap_memtrack_destroy(&tracker);
}

UNIT_TEST(many_draws_of_the_same_ranges_stay_small)
{
    struct lap_touched touched;
    begin();
    lap_touched_init(&touched);
    for (unsigned draw = 0; draw < 100000; draw++)
        CHECK(lap_touched_add(&touched, draw & 1 ? a : b, draw % 10 * 100, 50, false));
    CHECK(touched.capacity <= 64);
    lap_touched_seal(&touched);
    CHECK_EQ_U64(touched.count, 10);
    lap_touched_finish(&touched);
    lap_memtrack_destroy(&tracker);
}

UNIT_TEST(what_is_read_anyway_need_not_be_added)
{
    struct lap_touched touched;
    begin();
    lap_touched_init(&touched);
    CHECK(!lap_touched_reads(&touched, a, 1000, 0, 10));
    CHECK(lap_touched_add(&touched, a, 100, UINT64_MAX, false));
    CHECK(lap_touched_reads(&touched, a, 1000, 100, UINT64_MAX) && lap_touched_reads(&touched, a, 1000, 500, 600));
    CHECK(!lap_touched_reads(&touched, a, 1000, 99, 200) && !lap_touched_reads(&touched, b, 1000, 500, 600));
    CHECK(lap_touched_add(&touched, b, 0, 500, false));
    CHECK(lap_touched_reads(&touched, b, 1000, 0, 500) && !lap_touched_reads(&touched, b, 1000, 0, 501));
    CHECK(!lap_touched_reads(&touched, b, 1000, 400, UINT64_MAX) && !lap_touched_reads(&touched, a, 1000, 500, 600));
    CHECK(lap_touched_add(&touched, a, 0, 1000, true)); /* written, which says nothing of reads */
    CHECK(!lap_touched_reads(&touched, a, 1000, 0, 10));
    lap_touched_finish(&touched);
    lap_memtrack_destroy(&tracker);
}

UNIT_TEST(append_takes_ranges_and_everything)
{
    struct lap_touched touched, more;
    begin();
    lap_touched_init(&touched);
    lap_touched_init(&more);
    CHECK(lap_touched_add(&more, a, 0, 10, false));
    CHECK(lap_touched_append(&touched, &more));
    CHECK(!touched.everything);
    more.everything = true;
    CHECK(lap_touched_append(&touched, &more));
    CHECK(touched.everything);
    CHECK_EQ_U64(touched.count, 1);
    lap_touched_reset(&touched);
    CHECK(touched.count == 0 && !touched.everything);
    lap_touched_finish(&touched);
    lap_touched_finish(&more);
    lap_memtrack_destroy(&tracker);
}

UNIT_TEST(what_is_appended_again_and_again_takes_room_once)
{
    struct lap_touched touched, more;
    begin();
    lap_touched_init(&touched);
    lap_touched_init(&more);
    for (uint64_t i = 0; i < 16; i++)
        CHECK(lap_touched_add(&more, i % 2 ? a : b, (15 - i) * 4, 2, i % 3 == 0));
    for (unsigned i = 0; i < 1000; i++)
        CHECK(lap_touched_append(&touched, &more));
    CHECK(touched.capacity <= 128);
    lap_touched_seal(&touched);
    lap_touched_seal(&more);
    CHECK_EQ_U64(touched.count, more.count);
    for (size_t i = 0; i < more.count && i < touched.count; i++)
        CHECK(memcmp(&touched.ranges[i].offset, &more.ranges[i].offset, 2 * sizeof(uint64_t)) == 0 &&
              touched.ranges[i].object == more.ranges[i].object && touched.ranges[i].written == more.ranges[i].written);
    lap_touched_finish(&touched);
    lap_touched_finish(&more);
    lap_memtrack_destroy(&tracker);
}

/* ---- command buffers ---- */

enum { BYTES = 4096, BUFFERS = 6, SETS = 3, PIPELINES = 3 };

static struct layer_buffer buffers[BUFFERS];
static struct layer_set_layout set_layout;
static struct layer_descriptor_pool set_pool;
static struct layer_descriptor_set sets[SETS];
static struct layer_pipeline pipelines[PIPELINES];
static struct layer_cmdbuf primary, secondary;
static struct layer_touched touched;

void layer_descriptor_contents_finish(struct layer_descriptor_contents *contents) {}
void layer_descriptor_contents_write(struct layer_device *device, const VkWriteDescriptorSet *write) {}
void layer_descriptor_contents_copy(struct layer_device *device, const VkCopyDescriptorSet *copy) {}

bool layer_is_recording(void)
{
    return true;
}
void layer_object_remove(struct layer_device *device, enum gen_handle_type type, uint64_t handle) {}

#define BUFFER(n)   gen_VkBuffer(0x100 + (n))
#define SET(n)      gen_VkDescriptorSet(0x200 + (n))
#define PIPELINE(n) gen_VkPipeline(0x300 + (n))
#define LAYOUT      gen_VkDescriptorSetLayout(0x400)
#define POOL        gen_VkDescriptorPool(0x401)

static void begin_recording(struct layer_cmdbuf *cb)
{
    layer_touch_reset(cb);
    cb->device = dev;
    cb->state = LAYER_CMDBUF_RECORDING;
}

/* SETS sets of one layout. */
static void begin_sets(uint32_t binding_count, const VkDescriptorSetLayoutBinding *bindings,
                       const VkDescriptorBindingFlags *flags, const uint32_t *variable_counts)
{
    init_device();
    memset(buffers, 0, sizeof buffers);
    for (uint32_t i = 0; i < BUFFERS; i++) {
        add_record(GEN_HANDLE_VkBuffer, 0x100 + i, i + 1, &buffers[i].object);
        CHECK_EQ_INT(lap_memobj_create(dev->memtrack, &buffers[i], BYTES, true, &buffers[i].memobj), LAP_OK);
        CHECK(layer_resource_add(dev, layer_resource_of_buffer(&buffers[i]), buffers[i].memobj));
    }
    memset(pipelines, 0, sizeof pipelines);
    for (uint32_t i = 0; i < PIPELINES; i++)
        add_record(GEN_HANDLE_VkPipeline, 0x300 + i, i + 1, &pipelines[i].object);
    memset(&primary, 0, sizeof primary);
    memset(&secondary, 0, sizeof secondary);
    begin_recording(&primary);
    begin_recording(&secondary);

    VkDescriptorSetLayoutBindingFlagsCreateInfo binding_flags = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
        .bindingCount = binding_count,
        .pBindingFlags = flags};
    VkDescriptorSetLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                            .pNext = flags ? &binding_flags : NULL,
                                            .bindingCount = binding_count,
                                            .pBindings = bindings};
    VkDescriptorSetLayout layout = LAYOUT, layouts[SETS] = {LAYOUT, LAYOUT, LAYOUT};
    VkDescriptorSet handles[SETS] = {SET(0), SET(1), SET(2)};
    VkDescriptorSetVariableDescriptorCountAllocateInfo variable = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO,
        .descriptorSetCount = SETS,
        .pDescriptorCounts = variable_counts};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .pNext = variable_counts ? &variable : NULL,
                                            .descriptorPool = POOL,
                                            .descriptorSetCount = SETS,
                                            .pSetLayouts = layouts};
    memset(&set_layout, 0, sizeof set_layout);
    memset(&set_pool, 0, sizeof set_pool);
    memset(sets, 0, sizeof sets);
    add_record(GEN_HANDLE_VkDescriptorSetLayout, 0x400, 1, &set_layout.object);
    add_record(GEN_HANDLE_VkDescriptorPool, 0x401, 1, &set_pool.object);
    for (uint32_t i = 0; i < SETS; i++)
        add_record(GEN_HANDLE_VkDescriptorSet, 0x200 + i, i + 1, &sets[i].object);
    hook_after_CreateDescriptorSetLayout(dev, VK_NULL_HANDLE, &info, NULL, &layout, VK_SUCCESS);
    hook_after_AllocateDescriptorSets(dev, VK_NULL_HANDLE, &allocate, handles, VK_SUCCESS);
}

/* One binding of storage buffers, number 0. */
static void begin_array(uint32_t count, VkDescriptorBindingFlags flags, const uint32_t *variable_counts)
{
    VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count, VK_SHADER_STAGE_ALL, NULL};
    begin_sets(1, &binding, &flags, variable_counts);
}

#define BINDLESS                                                                                                       \
    (VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT | VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT |                         \
     VK_DESCRIPTOR_BINDING_UPDATE_UNUSED_WHILE_PENDING_BIT)

static void end_sets(void)
{
    layer_touched_finish(&touched);
    layer_touch_finish(&primary);
    layer_touch_finish(&secondary);
    for (uint32_t i = 0; i < SETS; i++)
        layer_descriptor_set_finish(&sets[i].object);
    layer_set_layout_finish(&set_layout.object);
    for (uint32_t i = 0; i < PIPELINES; i++)
        layer_pipeline_finish(&pipelines[i].object);
    finish_device();
}

/* The descriptor number `element` of binding 0 names 16 bytes of a buffer, where `buffer` times 64 is. */
static void write_buffer(uint32_t set, uint32_t element, uint32_t buffer)
{
    VkDescriptorBufferInfo info = {BUFFER(buffer), buffer * 64, 16};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = SET(set),
                                  .dstArrayElement = element,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &info};
    hook_after_UpdateDescriptorSets(dev, VK_NULL_HANDLE, 1, &write, 0, NULL);
}

static void write_acceleration_structure(uint32_t set, uint32_t element)
{
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = SET(set),
                                  .dstArrayElement = element,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR};
    hook_after_UpdateDescriptorSets(dev, VK_NULL_HANDLE, 1, &write, 0, NULL);
}

static void bind(struct layer_cmdbuf *cb, uint32_t set)
{
    VkDescriptorSet handle = SET(set);
    layer_touch_sets(cb, VK_PIPELINE_BIND_POINT_COMPUTE, 0, 1, &handle, 0, NULL);
}

static void submit(void)
{
    layer_touched_reset(&touched);
    CHECK(layer_touch_resolve(dev, &primary, 0, ++dev->submit.serial, &touched));
    lap_touched_seal(&touched.ranges);
}

/* The submit touches the ranges that write_buffer gives these buffers, in this order, and no more. */
static void check_submit(uint32_t count, const uint32_t *expected, bool written)
{
    submit();
    CHECK(!touched.ranges.everything);
    CHECK_EQ_U64(touched.ranges.count, count);
    for (uint32_t i = 0; i < count; i++)
        check_range(&touched.ranges, i, buffers[expected[i]].memobj, expected[i] * 64, 16, written);
}

UNIT_TEST(descriptors_that_are_written_after_the_bind_are_touched)
{
    begin_array(100000, BINDLESS, NULL);
    bind(&primary, 0);
    check_submit(0, NULL, false);
    write_buffer(0, 5, 3);
    write_buffer(0, 99999, 1);
    write_buffer(1, 7, 4); /* not bound */
    check_submit(2, (uint32_t[]){1, 3}, false);
    /* While the first submit is pending. The next one finds it. */
    write_buffer(0, 5, 0);
    write_buffer(0, 63, 2);
    write_buffer(0, 64, 5);
    check_submit(4, (uint32_t[]){0, 1, 2, 5}, false);
    end_sets();
}

UNIT_TEST(a_set_has_as_many_descriptors_as_it_was_given)
{
    begin_array(1000, BINDLESS | VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT, (uint32_t[]){10, 0, 1000});
    for (uint32_t i = 0; i < SETS; i++) {
        bind(&primary, i);
        write_buffer(i, 9, i);
        write_buffer(i, 10, i + 3);
    }
    check_submit(3, (uint32_t[]){0, 2, 5}, false);
    end_sets();
}

UNIT_TEST(what_a_descriptor_named_may_be_gone)
{
    begin_array(4, BINDLESS, NULL);
    write_buffer(0, 0, 1);
    write_buffer(0, 1, 2);
    bind(&primary, 0);
    layer_resource_remove(dev, layer_resource_of_buffer(&buffers[1]));
    check_submit(1, (uint32_t[]){2}, false);
    end_sets();
}

UNIT_TEST(a_descriptor_that_leads_anywhere_makes_everything_touched_while_it_is_there)
{
    VkCopyDescriptorSet copy = {.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                .srcSet = SET(0),
                                .srcArrayElement = 1,
                                .dstSet = SET(1),
                                .dstArrayElement = 2,
                                .descriptorCount = 1};
    begin_array(4, 0, NULL);
    write_buffer(0, 0, 3);
    write_acceleration_structure(0, 1);
    write_buffer(1, 0, 2);
    bind(&primary, 1);
    check_submit(1, (uint32_t[]){2}, false); /* the other set is no matter */
    hook_after_UpdateDescriptorSets(dev, VK_NULL_HANDLE, 0, NULL, 1, &copy);
    submit();
    CHECK(touched.ranges.everything);
    begin_recording(&primary);
    bind(&primary, 0);
    submit();
    CHECK(touched.ranges.everything);
    write_buffer(0, 1, 4);
    check_submit(2, (uint32_t[]){3, 4}, false);
    end_sets();
}

UNIT_TEST(what_is_pushed_may_lead_anywhere)
{
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR};
    begin_array(1, 0, NULL);
    layer_touch_push(&primary, VK_PIPELINE_BIND_POINT_COMPUTE, 0, &write);
    submit();
    CHECK(touched.ranges.everything);
    end_sets();
}

/* ---- pipelines ---- */

static const uint32_t plain_shader[] = {0x07230203, 0x00010300, 0, 10, 0, 2 << 16 | 17, 1};
static const uint32_t address_shader[] = {0x07230203, 0x00010300, 0, 10, 0, 2 << 16 | 17, 5347};
/* A store to binding 0 of set 0: variable 2 of pointer type 1. */
static const uint32_t storing_shader[] = {0x07230203, 0x00010300,   0, 10, 0,  4 << 16 | 71, 2, 34,
                                          0,          4 << 16 | 71, 2, 33, 0,  4 << 16 | 32, 1, 12,
                                          3,          4 << 16 | 59, 1, 2,  12, 3 << 16 | 62, 2, 5};

static void make_pipeline(uint32_t number, const uint32_t *words, size_t bytes)
{
    VkShaderModuleCreateInfo code = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes, .pCode = words};
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                        .stage = {.pNext = words ? &code : NULL}};
    layer_shader_access_of_compute(dev, PIPELINE(number), &info);
}

static bool reaches_everything(VkPipelineBindPoint point, uint32_t pipeline)
{
    begin_recording(&primary);
    bind(&primary, 0);
    hook_after_CmdBindPipeline(&primary, VK_NULL_HANDLE, point, PIPELINE(pipeline));
    hook_after_CmdDispatch(&primary, VK_NULL_HANDLE, 1, 1, 1);
    submit();
    CHECK_EQ_U64(touched.ranges.count, 1); /* what is known is told all the same */
    return touched.ranges.everything;
}

UNIT_TEST(shaders_that_follow_addresses_make_everything_touched_in_their_own_submits)
{
    for (int enabled = 0; enabled < 2; enabled++) {
        begin_array(8, BINDLESS, NULL);
        write_buffer(0, 0, 1);
        dev->device_addresses = enabled;
        make_pipeline(0, plain_shader, sizeof plain_shader);
        make_pipeline(1, address_shader, sizeof address_shader);
        make_pipeline(2, NULL, 0); /* code that only the driver has */
        CHECK(!reaches_everything(VK_PIPELINE_BIND_POINT_COMPUTE, 0));
        CHECK_EQ_INT(reaches_everything(VK_PIPELINE_BIND_POINT_COMPUTE, 1), enabled);
        CHECK(!reaches_everything(VK_PIPELINE_BIND_POINT_COMPUTE, 0));
        CHECK_EQ_INT(reaches_everything(VK_PIPELINE_BIND_POINT_COMPUTE, 2), enabled);
        CHECK(reaches_everything(VK_PIPELINE_BIND_POINT_SUBPASS_SHADING_HUAWEI, 0));
        end_sets();
    }
}

UNIT_TEST(what_executes_a_command_buffer_reaches_as_much)
{
    begin_array(8, BINDLESS, NULL);
    write_buffer(0, 0, 1);
    bind(&secondary, 0);
    layer_touch_secondary(&primary, &secondary);
    check_submit(1, (uint32_t[]){1}, false);
    layer_touch_unknown(&secondary);
    submit();
    CHECK(!touched.ranges.everything);
    layer_touch_secondary(&primary, &secondary);
    submit();
    CHECK(touched.ranges.everything);
    CHECK_EQ_U64(primary.sets_count, 1); /* the same set */
    bind(&secondary, 1);
    layer_touch_secondary(&primary, &secondary);
    CHECK_EQ_U64(primary.sets_count, 2);
    begin_recording(&primary);
    submit();
    CHECK(!touched.ranges.everything);
    primary.state = LAYER_CMDBUF_INITIAL;
    layer_touch_unknown(&primary);
    submit();
    CHECK(!touched.ranges.everything);
    end_sets();
}

static void check_store(uint32_t set, bool announced)
{
    make_pipeline(0, storing_shader, sizeof storing_shader);
    write_buffer(set, 0, 2);
    begin_recording(&primary);
    bind(&primary, set);
    hook_after_CmdBindPipeline(&primary, VK_NULL_HANDLE, VK_PIPELINE_BIND_POINT_COMPUTE, PIPELINE(0));
    hook_after_CmdDispatch(&primary, VK_NULL_HANDLE, 1, 1, 1);
    check_submit(1, (uint32_t[]){2}, announced);
    layer_pipeline_finish(&pipelines[0].object);
    pipelines[0].access = NULL;
}

#ifdef VK_EXT_shader_object
/* A dispatch with what is bound now: is the buffer of set 0 announced? */
static void check_dispatch(bool announced)
{
    hook_after_CmdDispatch(&primary, VK_NULL_HANDLE, 1, 1, 1);
    check_submit(1, (uint32_t[]){2}, announced);
}

/* The shader of another stage, a null one, and a pipeline end what a shader object stores to from then on. */
UNIT_TEST(shader_objects_store_as_long_as_they_are_bound)
{
    static const VkShaderStageFlagBits compute = VK_SHADER_STAGE_COMPUTE_BIT, fragment = VK_SHADER_STAGE_FRAGMENT_BIT;
    static struct layer_shader storing, plain;
    const VkShaderEXT store = gen_VkShaderEXT(0x901), none = VK_NULL_HANDLE;
    struct lap_spirv_access access;

    for (int way = 0; way < 5; way++) {
        begin_array(1, 0, NULL);
        add_record(GEN_HANDLE_VkShaderEXT, 0x901, 1, &storing.object);
        add_record(GEN_HANDLE_VkShaderEXT, 0x902, 2, &plain.object);
        lap_spirv_find_access(storing_shader, sizeof storing_shader / 4, &access);
        storing.access = layer_shader_access_keep_bound(dev, access);
        make_pipeline(1, plain_shader, sizeof plain_shader);
        write_buffer(0, 0, 2);
        begin_recording(&primary);
        bind(&primary, 0);
        hook_after_CmdBindShadersEXT(&primary, VK_NULL_HANDLE, 1, way == 1 ? &fragment : &compute, &store);
        if (way == 2)
            hook_after_CmdBindShadersEXT(&primary, VK_NULL_HANDLE, 1, &compute, &none);
        if (way == 3)
            hook_after_CmdBindShadersEXT(&primary, VK_NULL_HANDLE, 1, &compute, NULL);
        if (way == 4)
            hook_after_CmdBindPipeline(&primary, VK_NULL_HANDLE, VK_PIPELINE_BIND_POINT_COMPUTE, PIPELINE(1));
        check_dispatch(way == 0);
        layer_shader_finish(&storing.object);
        storing.access = NULL;
        free(primary.shaders);
        primary.shaders = NULL;
        end_sets();
    }
}
#endif

/* Announced as written, the host's writes to the others would be lost. */
UNIT_TEST(stores_to_elements_of_tables_are_not_announced)
{
    static const VkDescriptorBindingFlags table[] = {VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT,
                                                     VK_DESCRIPTOR_BINDING_UPDATE_UNUSED_WHILE_PENDING_BIT,
                                                     VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT};
    for (uint32_t count = 1; count < 3; count++) {
        begin_array(count, 0, NULL);
        check_store(0, true);
        end_sets();
        for (uint32_t i = 0; i < sizeof table / sizeof table[0]; i++) {
            begin_array(count, table[i], NULL);
            check_store(0, count == 1);
            end_sets();
        }
    }
    begin_array(100, VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT, (uint32_t[]){1, 2, 1});
    check_store(0, true);
    check_store(1, false);
    end_sets();
}

/* ---- threads ---- */

static void *keep_writing(void *context)
{
    uint32_t element = *(const uint32_t *)context;
    for (uint32_t i = 0; i < 2000; i++)
        write_buffer(0, element, i % BUFFERS);
    write_buffer(0, element, element);
    return NULL;
}

UNIT_TEST(threads_may_write_to_a_set_that_is_being_submitted)
{
    pthread_t threads[2];
    uint32_t elements[2] = {1, 3};
    begin_array(8, BINDLESS, NULL);
    write_buffer(0, 0, 0);
    bind(&primary, 0);
    for (uint32_t i = 0; i < 2; i++)
        CHECK_EQ_INT(pthread_create(&threads[i], NULL, keep_writing, &elements[i]), 0);
    for (uint32_t i = 0; i < 200; i++) {
        submit();
        CHECK(touched.ranges.count > 0 && touched.ranges.ranges[0].object == buffers[0].memobj &&
              touched.ranges.ranges[0].offset == 0);
    }
    for (uint32_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    check_submit(3, (uint32_t[]){0, 1, 3}, false);
    end_sets();
}

UNIT_MAIN();

enum { PLACES = 64, PLACE_BYTES = BYTES / PLACES };

/* Each place of a buffer, as dynamic offsets of a set with that many descriptors, again and again. */
static void bind_places(uint32_t dynamic_count)
{
    VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, dynamic_count,
                                            VK_SHADER_STAGE_ALL, NULL};
    VkDescriptorSet handle = SET(0);
    uint32_t offsets[8], entries = 0;
    begin_sets(1, &binding, NULL, NULL);
    for (uint32_t i = 0; i < dynamic_count; i++) {
        VkDescriptorBufferInfo info = {BUFFER(0), 0, 16};
        VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                      .dstSet = handle,
                                      .dstArrayElement = i,
                                      .descriptorCount = 1,
                                      .descriptorType = binding.descriptorType,
                                      .pBufferInfo = &info};
        hook_after_UpdateDescriptorSets(dev, VK_NULL_HANDLE, 1, &write, 0, NULL);
    }
    for (uint32_t round = 0; round < 10; round++) {
        for (uint32_t place = 0; place < PLACES; place++) {
            for (uint32_t i = 0; i < dynamic_count; i++)
                offsets[i] = (place * 7 + i * 5) % PLACES * PLACE_BYTES;
            layer_touch_sets(&primary, VK_PIPELINE_BIND_POINT_GRAPHICS, 0, 1, &handle, dynamic_count, offsets);
        }
        if (round == 0)
            entries = primary.sets_count;
    }
    CHECK(entries >= PLACES && primary.sets_count <= entries + entries / 4); /* few were forgotten between */
    submit();
    CHECK_EQ_U64(touched.ranges.count, PLACES);
    for (uint32_t i = 0; i < PLACES; i++)
        check_range(&touched.ranges, i, buffers[0].memobj, (uint64_t)i * PLACE_BYTES, 16, false);
    end_sets();
}

UNIT_TEST(binds_with_the_same_dynamic_offsets_are_remembered_once)
{
    bind_places(1);
    bind_places(2);
    bind_places(7);
}
