/* SPDX-License-Identifier: MIT */
/* Which queues arguments of commands want. */
#include "inspector/analysis/command_queues.h"

#include "gen_decode.h"
#include "gen_ids.h"
#include "tests/unit/unit.h"
#include "vulkan/queue_kinds.h"

#define GRAPHICS lap_queue_kinds_set(VK_QUEUE_GRAPHICS_BIT)
#define COMPUTE  lap_queue_kinds_set(VK_QUEUE_COMPUTE_BIT)

static uint64_t of_queries(VkQueryType type, VkQueryPipelineStatisticFlags statistics)
{
    const VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = type, .pipelineStatistics = statistics};
    VkQueryPool pool = gen_VkQueryPool(7);
    const struct gen_args_vkCreateQueryPool create = {.pCreateInfo = &info, .pQueryPool = &pool};
    const struct gen_args_vkCmdBeginQuery begin = {.queryPool = pool};
    uint64_t sets = command_queues_of_created(GEN_vkCreateQueryPool, &create);

    CHECK_EQ_U64(command_queues_named(GEN_vkCreateQueryPool, &create),
                 command_queues_named(GEN_vkCmdBeginQuery, &begin));
    return command_queues_of_arguments(GEN_vkCmdBeginQuery, &begin, sets);
}

UNIT_TEST(queries_want_the_queues_of_their_type)
{
    CHECK_EQ_U64(of_queries(VK_QUERY_TYPE_OCCLUSION, 0), GRAPHICS);
    CHECK_EQ_U64(of_queries(VK_QUERY_TYPE_TIMESTAMP, 0), 0);
    CHECK_EQ_U64(
        of_queries(VK_QUERY_TYPE_PIPELINE_STATISTICS, VK_QUERY_PIPELINE_STATISTIC_CLIPPING_PRIMITIVES_BIT |
                                                          VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT),
        GRAPHICS | COMPUTE);
}

static uint64_t of_copy(VkImageAspectFlags aspect)
{
    const VkBufferImageCopy regions[] = {{.imageSubresource = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT}},
                                         {.imageSubresource = {.aspectMask = aspect}}};
    const struct gen_args_vkCmdCopyBufferToImage args = {.regionCount = 2, .pRegions = regions};
    return command_queues_of_arguments(GEN_vkCmdCopyBufferToImage, &args, 0);
}

UNIT_TEST(texels_of_depth_and_stencil_want_graphics)
{
    CHECK_EQ_U64(of_copy(VK_IMAGE_ASPECT_COLOR_BIT), 0);
    CHECK_EQ_U64(of_copy(VK_IMAGE_ASPECT_DEPTH_BIT), GRAPHICS);
    CHECK_EQ_U64(of_copy(VK_IMAGE_ASPECT_STENCIL_BIT), GRAPHICS);
}

UNIT_TEST(pipelines_want_the_queues_of_their_bind_point)
{
    struct gen_args_vkCmdBindPipeline args = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS};

    CHECK_EQ_U64(command_queues_of_arguments(GEN_vkCmdBindPipeline, &args, 0), GRAPHICS);
    args.pipelineBindPoint = VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR;
    CHECK_EQ_U64(command_queues_of_arguments(GEN_vkCmdBindPipeline, &args, 0), COMPUTE);
}

UNIT_MAIN();
