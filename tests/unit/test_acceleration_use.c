/* SPDX-License-Identifier: MIT */
/* What a trace builds into acceleration structures, and copies into them. */
#include "inspector/analysis/acceleration_use.h"

#include "gen_decode.h"
#include "gen_ids.h"
#include "unit.h"

#define FIRST  5u
#define SECOND 6u

static VkAccelerationStructureKHR structure(uint64_t index)
{
    return gen_VkAccelerationStructureKHR(index);
}

static void see(void *part, uint32_t command, const void *args)
{
    struct trace_visitor visitor;
    struct trace_call call = {.command = command, .args = args};

    acceleration_use_visitor(part, &visitor);
    if (command == GEN_vkCreateAccelerationStructureKHR)
        CHECK_EQ_INT(visitor.visit(part, &call), LAP_OK);
    else
        CHECK_EQ_INT(visitor.visit_in_block(part, &call), LAP_OK);
}

static VkAccelerationStructureGeometryKHR triangles(VkFormat format, VkDeviceAddress address)
{
    VkAccelerationStructureGeometryKHR geometry = {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR};

    geometry.geometryType = VK_GEOMETRY_TYPE_TRIANGLES_KHR;
    geometry.geometry.triangles.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_TRIANGLES_DATA_KHR;
    geometry.geometry.triangles.vertexFormat = format;
    geometry.geometry.triangles.vertexData.deviceAddress = address;
    geometry.geometry.triangles.transformData.deviceAddress = address;
    return geometry;
}

/* Two geometries, one command. */
static void build(void *part, uint64_t index, VkFormat format, VkDeviceAddress address, uint32_t first, uint32_t second)
{
    const VkAccelerationStructureGeometryKHR geometries[] = {triangles(format, address), triangles(format, 0)};
    const VkAccelerationStructureGeometryKHR *const pointers[] = {&geometries[0], &geometries[1]};
    const VkAccelerationStructureBuildRangeInfoKHR range[] = {{.primitiveCount = first}, {.primitiveCount = second}};
    const VkAccelerationStructureBuildRangeInfoKHR *const ranges = range;
    VkAccelerationStructureBuildGeometryInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR,
        .type = VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR,
        .dstAccelerationStructure = structure(index),
        .geometryCount = 2};
    const struct gen_args_vkCmdBuildAccelerationStructuresKHR args = {
        .infoCount = 1, .pInfos = &info, .ppBuildRangeInfos = &ranges};

    if (address % 2)
        info.ppGeometries = pointers;
    else
        info.pGeometries = geometries;
    see(part, GEN_vkCmdBuildAccelerationStructuresKHR, &args);
}

UNIT_TEST(builds_that_differ_in_their_number_only_are_one)
{
    void *part = acceleration_use_create();
    const struct acceleration_use *use;

    CHECK(part != NULL && acceleration_use_of(part, FIRST) == NULL);
    build(part, FIRST, VK_FORMAT_R32G32B32_SFLOAT, 0x1000, 7, 1);
    build(part, FIRST, VK_FORMAT_R32G32B32_SFLOAT, 0x2001, 3, 9);
    use = acceleration_use_of(part, FIRST);
    CHECK(use && use->builds && !use->builds->next && !use->sources);
    CHECK_EQ_U64(use->builds->geometry_count, 2);
    CHECK_EQ_U64(use->builds->counts[0], 7);
    CHECK_EQ_U64(use->builds->counts[1], 9);
    CHECK_EQ_U64(use->builds->geometries[0].geometry.triangles.vertexData.deviceAddress, 0);
    CHECK_EQ_U64(use->builds->geometries[0].geometry.triangles.transformData.deviceAddress, 1);
    CHECK_EQ_U64(use->builds->geometries[1].geometry.triangles.transformData.deviceAddress, 0);
    build(part, FIRST, VK_FORMAT_R16G16B16A16_SFLOAT, 0x1000, 1, 1);
    CHECK(use->builds->next && !use->builds->next->next);
    acceleration_use_destroy(part);
}

UNIT_TEST(the_most_that_an_indirect_build_allows_counts)
{
    void *part = acceleration_use_create();
    const uint32_t counts[] = {40, 2}, *const most = counts;
    const VkAccelerationStructureGeometryKHR geometries[] = {triangles(VK_FORMAT_R32G32B32_SFLOAT, 0),
                                                             triangles(VK_FORMAT_R32G32B32_SFLOAT, 0)};
    const VkAccelerationStructureBuildGeometryInfoKHR info = {
        .dstAccelerationStructure = structure(FIRST), .geometryCount = 2, .pGeometries = geometries};
    const struct gen_args_vkCmdBuildAccelerationStructuresIndirectKHR args = {
        .infoCount = 1, .pInfos = &info, .ppMaxPrimitiveCounts = &most};

    see(part, GEN_vkCmdBuildAccelerationStructuresIndirectKHR, &args);
    CHECK_EQ_U64(acceleration_use_of(part, FIRST)->builds->counts[0], 40);
    acceleration_use_destroy(part);
}

UNIT_TEST(copies_name_their_sources_once)
{
    void *part = acceleration_use_create();
    const VkAccelerationStructureCreateInfoKHR create = {.size = 512};
    VkAccelerationStructureKHR made = structure(SECOND);
    const struct gen_args_vkCreateAccelerationStructureKHR created = {.pCreateInfo = &create,
                                                                      .pAccelerationStructure = &made};
    VkCopyAccelerationStructureInfoKHR info = {.src = structure(FIRST), .dst = structure(SECOND)};
    const struct gen_args_vkCmdCopyAccelerationStructureKHR args = {.pInfo = &info};
    const struct acceleration_use *use;

    see(part, GEN_vkCreateAccelerationStructureKHR, &created);
    see(part, GEN_vkCmdCopyAccelerationStructureKHR, &args);
    see(part, GEN_vkCmdCopyAccelerationStructureKHR, &args);
    use = acceleration_use_of(part, SECOND);
    CHECK(use && use->sources && !use->sources->next && !use->builds);
    CHECK_EQ_U64(use->sources->index, FIRST);
    CHECK_EQ_U64(use->created_bytes, 512);
    acceleration_use_destroy(part);
}

/* A replay refuses them. */
UNIT_TEST(incomplete_builds_are_left_out)
{
    void *part = acceleration_use_create();
    const VkAccelerationStructureBuildGeometryInfoKHR info = {.dstAccelerationStructure = structure(FIRST),
                                                              .geometryCount = 3};
    const VkAccelerationStructureBuildRangeInfoKHR range[3] = {{0}};
    const VkAccelerationStructureBuildRangeInfoKHR *const ranges[] = {range};
    struct gen_args_vkCmdBuildAccelerationStructuresKHR args = {.infoCount = 1, .pInfos = &info};

    see(part, GEN_vkCmdBuildAccelerationStructuresKHR, &args);
    args.ppBuildRangeInfos = ranges;
    see(part, GEN_vkCmdBuildAccelerationStructuresKHR, &args);
    CHECK(acceleration_use_of(part, FIRST) == NULL);
    acceleration_use_destroy(part);
    acceleration_use_destroy(NULL);
}

UNIT_MAIN();
