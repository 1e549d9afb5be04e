/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdlib.h>

#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_reflect.h"
#include "tests/unit/unit.h"
#include "tools/show/text.h"
#include "vulkan/walk.h"

/* Writes down what is visited: {} structures, [] arrays, values by name. */
struct notes {
    char text[4096];
    size_t at;
    unsigned depth, pointed_arrays;
};

static void note(struct notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct notes *notes, const char *format, ...)
{
    va_list list;
    int written;

    va_start(list, format);
    written = vsnprintf(notes->text + notes->at, sizeof notes->text - notes->at, format, list);
    va_end(list);
    if (written > 0 && (size_t)written < sizeof notes->text - notes->at)
        notes->at += (size_t)written;
}

static bool on_begin_struct(void *user, const struct lap_place *place, uint32_t number)
{
    struct notes *notes = user;
    notes->depth++;
    note(notes, "%s{ ", place->member && !place->in_array ? gen_member_name(place->member) : "");
    return true;
}

static void on_end_struct(void *user, const struct lap_place *place, uint32_t number)
{
    struct notes *notes = user;
    notes->depth--;
    note(notes, "} ");
}

static bool on_begin_array(void *user, const struct lap_place *place, uint64_t count)
{
    struct notes *notes = user;
    notes->depth++;
    if (place->member->shape != GEN_SHAPE_ARRAY)
        notes->pointed_arrays++;
    note(notes, "%s%" PRIu64 "[ ", place->in_array ? "" : gen_member_name(place->member), count);
    return true;
}

static void on_end_array(void *user, const struct lap_place *place)
{
    struct notes *notes = user;
    notes->depth--;
    note(notes, "] ");
}

static void on_null(void *user, const struct lap_place *place)
{
    note(user, "%s=NULL ", gen_member_name(place->member));
}

static void on_value(void *user, const struct lap_place *place, const struct lap_value *value)
{
    char buffer[LAP_TEXT_FLAGS_MAX];

    if (!place->in_array)
        note(user, "%s=", gen_member_name(place->member));
    switch (value->kind) {
    case LAP_VALUE_SIGNED:
        note(user, "%" PRId64 " ", value->i);
        break;
    case LAP_VALUE_FLOAT:
        lap_text_float(value->f, value->width, buffer);
        note(user, "%s ", buffer);
        break;
    case LAP_VALUE_ENUM:
        note(user, "%s ", lap_text_enum(value->type, value->i) ? lap_text_enum(value->type, value->i) : "?");
        break;
    case LAP_VALUE_FLAGS:
        lap_text_flags(value->type, value->u, buffer);
        note(user, "%s ", buffer);
        break;
    case LAP_VALUE_HANDLE:
        lap_text_handle(value->type, value->u, buffer);
        note(user, "%s ", buffer);
        break;
    case LAP_VALUE_STRING:
        note(user, "'%.*s' ", (int)value->bytes, (const char *)value->data);
        break;
    case LAP_VALUE_BYTES:
        note(user, "<%zu> ", value->bytes);
        break;
    default:
        note(user, "%" PRIu64 " ", value->u);
        break;
    }
}

static struct notes notes;
static const struct lap_visitor visitor = {on_begin_struct, on_end_struct, on_begin_array, on_end_array,
                                           on_null,         on_value,      &notes};

static const char *walk_struct(uint32_t number, const void *data)
{
    memset(&notes, 0, sizeof notes);
    lap_walk_struct(number, data, &visitor);
    CHECK_EQ_U64(notes.depth, 0);
    return notes.text;
}

static const char *walk_command(uint32_t command, const void *args)
{
    memset(&notes, 0, sizeof notes);
    lap_walk_command(command, args, true, &visitor);
    CHECK_EQ_U64(notes.depth, 0);
    return notes.text;
}

UNIT_TEST(plain_members_and_counted_arrays_are_walked)
{
    uint32_t families[2] = {3, 4};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = 5,
                               .usage = VK_BUFFER_USAGE_INDEX_BUFFER_BIT,
                               .sharingMode = VK_SHARING_MODE_CONCURRENT,
                               .queueFamilyIndexCount = 2,
                               .pQueueFamilyIndices = families};

    CHECK_STR(
        walk_struct(GEN_STRUCT_VkBufferCreateInfo, &info),
        "{ sType=VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO pNext=NULL flags=0 size=5 usage=VK_BUFFER_USAGE_INDEX_BUFFER_BIT "
        "sharingMode=VK_SHARING_MODE_CONCURRENT queueFamilyIndexCount=2 pQueueFamilyIndices2[ 3 4 ] } ");
    info.pQueueFamilyIndices = NULL; /* not recorded: the count alone means nothing */
    CHECK(strstr(walk_struct(GEN_STRUCT_VkBufferCreateInfo, &info),
                 "queueFamilyIndexCount=2 pQueueFamilyIndices=NULL } ") != NULL);
}

UNIT_TEST(an_expression_may_be_a_count)
{
    VkSampleMask mask[2] = {1, 2};
    VkPipelineMultisampleStateCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                                 .rasterizationSamples = VK_SAMPLE_COUNT_64_BIT,
                                                 .pSampleMask = mask};

    CHECK(strstr(walk_struct(GEN_STRUCT_VkPipelineMultisampleStateCreateInfo, &info), "pSampleMask2[ 1 2 ] ") != NULL);
    info.rasterizationSamples = VK_SAMPLE_COUNT_4_BIT;
    CHECK(strstr(walk_struct(GEN_STRUCT_VkPipelineMultisampleStateCreateInfo, &info), "pSampleMask1[ 1 ] ") != NULL);
}

UNIT_TEST(a_count_may_be_behind_a_pointer)
{
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandBufferCount = 2};
    VkCommandBuffer made[2] = {gen_VkCommandBuffer(7), gen_VkCommandBuffer(8)};
    struct gen_args_vkAllocateCommandBuffers args = {
        .pAllocateInfo = &info, .pCommandBuffers = made, .result = VK_SUCCESS};
    uint32_t count = 1;
    VkPhysicalDevice devices[1] = {gen_VkPhysicalDevice(2)};
    struct gen_args_vkEnumeratePhysicalDevices enumerate = {
        .pPhysicalDeviceCount = &count, .pPhysicalDevices = devices, .result = VK_INCOMPLETE};

    CHECK(strstr(walk_command(GEN_vkAllocateCommandBuffers, &args),
                 "pCommandBuffers2[ VkCommandBuffer:7 VkCommandBuffer:8 ] result=VK_SUCCESS ") != NULL);
    args.pAllocateInfo = NULL; /* a hostile trace: nothing may be followed */
    CHECK(strstr(walk_command(GEN_vkAllocateCommandBuffers, &args), "pCommandBuffers0[ ] ") != NULL);
    CHECK(strstr(walk_command(GEN_vkEnumeratePhysicalDevices, &enumerate),
                 "pPhysicalDeviceCount=1 pPhysicalDevices1[ VkPhysicalDevice:2 ] result=VK_INCOMPLETE ") != NULL);
    enumerate.pPhysicalDeviceCount = NULL;
    CHECK(strstr(walk_command(GEN_vkEnumeratePhysicalDevices, &enumerate), "pPhysicalDevices0[ ] ") != NULL);
}

UNIT_TEST(chains_are_lists_of_structures)
{
    VkPhysicalDeviceMultiviewFeatures second = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTIVIEW_FEATURES,
                                                .multiview = VK_TRUE};
    VkPhysicalDevice16BitStorageFeatures first = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
                                                  .pNext = &second};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .pNext = &first};

    CHECK(strstr(
              walk_struct(GEN_STRUCT_VkCommandBufferBeginInfo, &begin),
              "pNext2[ { sType=VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES storageBuffer16BitAccess=0 ") !=
          NULL);
    CHECK(strstr(notes.text, "} { sType=VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTIVIEW_FEATURES multiview=1 ") != NULL);
}

UNIT_TEST(unions_are_walked_by_selector_or_raw)
{
    VkPipelineExecutableStatisticKHR statistic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR,
                                                  .name = "spills",
                                                  .format = VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR,
                                                  .value.i64 = -5};
    VkClearColorValue clear = {.float32 = {1, 0, 0.5f, 0}};

    CHECK(
        strstr(
            walk_struct(GEN_STRUCT_VkPipelineExecutableStatisticKHR, &statistic),
            "name='spills' description='' format=VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR value{ i64=-5 } ") !=
        NULL);
    statistic.format = (VkPipelineExecutableStatisticFormatKHR)77;
    CHECK(strstr(walk_struct(GEN_STRUCT_VkPipelineExecutableStatisticKHR, &statistic), "value{ } ") != NULL);
    CHECK_STR(walk_struct(GEN_STRUCT_VkClearColorValue, &clear),
              "{ float324[ 1 0 0.5 0 ] int324[ 1065353216 0 1056964608 0 ] uint324[ 1065353216 0 1056964608 0 ] } ");
}

UNIT_TEST(bit_fields_and_matrices_are_walked)
{
    VkAccelerationStructureInstanceKHR instance = {.transform.matrix = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}},
                                                   .instanceCustomIndex = 0xabcdef,
                                                   .mask = 0x12,
                                                   .flags = VK_GEOMETRY_INSTANCE_FORCE_OPAQUE_BIT_KHR};

    CHECK_STR(walk_struct(GEN_STRUCT_VkAccelerationStructureInstanceKHR, &instance),
              "{ transform{ matrix12[ 1 2 3 4 5 6 7 8 9 10 11 12 ] } instanceCustomIndex=11259375 mask=18 "
              "instanceShaderBindingTableRecordOffset=0 flags=VK_GEOMETRY_INSTANCE_FORCE_OPAQUE_BIT_KHR "
              "accelerationStructureReference=0 } ");
}

UNIT_TEST(rows_of_pointers_are_walked)
{
    VkAccelerationStructureBuildGeometryInfoKHR infos[2] = {
        {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR, .geometryCount = 1},
        {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR, .geometryCount = 2}};
    uint32_t one[1] = {5}, two[2] = {6, 7};
    const uint32_t *rows[2] = {one, two};
    struct gen_args_vkCmdBuildAccelerationStructuresIndirectKHR args = {
        .infoCount = 2, .pInfos = infos, .ppMaxPrimitiveCounts = rows};

    CHECK(strstr(walk_command(GEN_vkCmdBuildAccelerationStructuresIndirectKHR, &args),
                 "ppMaxPrimitiveCounts2[ 1[ 5 ] 2[ 6 7 ] ] ") != NULL);
}

UNIT_TEST(an_object_is_a_handle_of_the_named_type)
{
    VkDebugUtilsObjectNameInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                          .objectType = VK_OBJECT_TYPE_IMAGE,
                                          .objectHandle = 9,
                                          .pObjectName = "sky"};

    CHECK(strstr(walk_struct(GEN_STRUCT_VkDebugUtilsObjectNameInfoEXT, &info),
                 "objectType=VK_OBJECT_TYPE_IMAGE objectHandle=VkImage:9 pObjectName='sky' ") != NULL);
}

static bool refuse_struct(void *user, const struct lap_place *place, uint32_t number)
{
    return !place->member;
}

UNIT_TEST(what_is_refused_is_not_entered)
{
    struct lap_visitor picky = visitor;
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "hidden"};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};

    picky.begin_struct = refuse_struct;
    picky.end_struct = NULL;
    memset(&notes, 0, sizeof notes);
    lap_walk_struct(GEN_STRUCT_VkInstanceCreateInfo, &info, &picky);
    CHECK(strstr(notes.text, "hidden") == NULL);
    CHECK(strstr(notes.text, "enabledLayerCount=0") != NULL);
}

/* Tables and C structures come from the same registry; this sees that they also agree. */
static void check_members(const char *owner, const struct gen_member *members, unsigned count, size_t bytes)
{
    for (unsigned i = 0; i < count; i++) {
        const struct gen_member *member = &members[i];
        bool in_place = member->shape == GEN_SHAPE_VALUE || member->shape == GEN_SHAPE_STYPE;
        size_t size = member->shape == GEN_SHAPE_ARRAY  ? (size_t)member->count * member->element_bytes
                      : in_place                        ? member->element_bytes
                      : member->shape == GEN_SHAPE_BITS ? 0
                                                        : sizeof(void *);
        if (member->offset + size > bytes)
            UNIT_FAIL("%s.%s reaches behind its owner", owner, gen_member_name(member));
        if (member->element == GEN_ELEMENT_STRUCT && gen_struct_infos[member->type].bytes != member->element_bytes)
            UNIT_FAIL("%s.%s has another size than its structure", owner, gen_member_name(member));
        if ((member->count_kind == GEN_COUNT_MEMBER || member->count_kind == GEN_COUNT_POINTEE) &&
            member->count_member >= i)
            UNIT_FAIL("%s.%s is counted by a later member", owner, gen_member_name(member));
        if ((member->shape == GEN_SHAPE_BITS || member->shape == GEN_SHAPE_POINTERS ||
             member->count_kind == GEN_COUNT_COMPUTE) != (member->compute != NULL))
            UNIT_FAIL("%s.%s has or lacks a function", owner, gen_member_name(member));
    }
}

UNIT_TEST(every_table_fits_its_structure_and_zeroes_are_harmless)
{
    unsigned structs = 0, commands = 0;

    for (unsigned i = 1; i < GEN_STRUCT_COUNT; i++) {
        const struct gen_struct_info *info = &gen_struct_infos[i];
        void *zeroes = info->bytes ? calloc(1, info->bytes) : NULL;
        if (!zeroes)
            continue;
        structs++;
        check_members(gen_struct_names[i], info->members, info->member_count, info->bytes);
        walk_struct(i, zeroes);
        CHECK_EQ_U64(notes.pointed_arrays, 0);
        free(zeroes);
    }
    for (unsigned i = 1; i < GEN_COMMAND_COUNT; i++) {
        const struct gen_command_info *info = &gen_command_infos[i];
        void *zeroes = info->present ? calloc(1, gen_args_bytes[i] ? gen_args_bytes[i] : 1) : NULL;
        if (!zeroes)
            continue;
        commands++;
        check_members(gen_command_names[i], info->members, info->member_count + info->has_result, gen_args_bytes[i]);
        walk_command(i, zeroes);
        CHECK_EQ_U64(notes.pointed_arrays, 0);
        free(zeroes);
    }
    CHECK(structs > 600 && commands > 400);
}

UNIT_TEST(enum_tables_are_sorted)
{
    for (unsigned i = 0; i < GEN_ENUM_COUNT; i++)
        for (uint32_t j = 1; j < gen_enums[i].value_count; j++)
            CHECK(gen_enums[i].values[j - 1].value < gen_enums[i].values[j].value);
}

UNIT_TEST(other_names_are_found)
{
    CHECK_EQ_U64(gen_command_by_alias("vkBindBufferMemory2KHR"), GEN_vkBindBufferMemory2);
    CHECK_EQ_U64(gen_struct_by_alias("VkBindBufferMemoryInfoKHR"), GEN_STRUCT_VkBindBufferMemoryInfo);
    CHECK_EQ_U64(gen_handle_by_alias("VkSamplerYcbcrConversionKHR"), GEN_HANDLE_VkSamplerYcbcrConversion);
    CHECK_EQ_U64(gen_command_by_alias("vkNothing"), 0);
    CHECK_EQ_U64(gen_struct_of_type(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO), GEN_STRUCT_VkBufferCreateInfo);
    CHECK_EQ_U64(gen_struct_of_type((VkStructureType)0x7ffffff0), GEN_STRUCT_NONE);
}

UNIT_MAIN();
