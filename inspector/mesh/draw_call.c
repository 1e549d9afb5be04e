/* SPDX-License-Identifier: MIT */
#include "inspector/mesh/draw_call.h"

#include <string.h>

#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"

#define INDIRECT(type, indexed)                                                                                        \
    {                                                                                                                  \
        const struct gen_args_##type *a = args;                                                                        \
        *out = (struct draw_source){indexed, a->drawCount, gen_u64_VkBuffer(a->buffer), a->offset, a->stride, 0, 0};   \
        return NULL;                                                                                                   \
    }
#define COUNTED(type, indexed)                                                                                         \
    {                                                                                                                  \
        const struct gen_args_##type *a = args;                                                                        \
        *out = (struct draw_source){indexed,                                                                           \
                                    a->maxDrawCount,                                                                   \
                                    gen_u64_VkBuffer(a->buffer),                                                       \
                                    a->offset,                                                                         \
                                    a->stride,                                                                         \
                                    gen_u64_VkBuffer(a->countBuffer),                                                  \
                                    a->countBufferOffset};                                                             \
        return NULL;                                                                                                   \
    }
#define DIRECT(indexed, draws)                                                                                         \
    {                                                                                                                  \
        *out = (struct draw_source){.is_indexed = indexed, .count = draws};                                            \
        return NULL;                                                                                                   \
    }

const char *draw_source_of(uint32_t command, const void *args, struct draw_source *out)
{
    switch (command) {
    case GEN_vkCmdDraw:
        DIRECT(false, 1)
    case GEN_vkCmdDrawIndexed:
        DIRECT(true, 1)
    case GEN_vkCmdDrawMultiEXT:
        DIRECT(false, ((const struct gen_args_vkCmdDrawMultiEXT *)args)->drawCount)
    case GEN_vkCmdDrawMultiIndexedEXT:
        DIRECT(true, ((const struct gen_args_vkCmdDrawMultiIndexedEXT *)args)->drawCount)
    case GEN_vkCmdDrawIndirect:
        INDIRECT(vkCmdDrawIndirect, false)
    case GEN_vkCmdDrawIndexedIndirect:
        INDIRECT(vkCmdDrawIndexedIndirect, true)
    case GEN_vkCmdDrawIndirectCount:
        COUNTED(vkCmdDrawIndirectCount, false)
    case GEN_vkCmdDrawIndexedIndirectCount:
        COUNTED(vkCmdDrawIndexedIndirectCount, true)
    case GEN_vkCmdDrawIndirectByteCountEXT:
        return "transform feedback counted its vertices, and that count is not in the trace";
    default:
        return strstr(gen_command_names[command], "MeshTasks") || strstr(gen_command_names[command], "Cluster")
                   ? "mesh shaders make its vertices: it takes none from buffers"
                   : "its vertices are not known to this build";
    }
}

static struct draw_call multi(const struct gen_args_vkCmdDrawMultiEXT *a, uint32_t number)
{
    const VkMultiDrawInfoEXT *info = a->pVertexInfo ? &a->pVertexInfo[number] : NULL; /* decoded without gaps */

    return info ? (struct draw_call){info->firstVertex, info->vertexCount, 0, a->firstInstance, a->instanceCount}
                : (struct draw_call){.count = 0};
}

static struct draw_call multi_indexed(const struct gen_args_vkCmdDrawMultiIndexedEXT *a, uint32_t number)
{
    const VkMultiDrawIndexedInfoEXT *info = a->pIndexInfo ? &a->pIndexInfo[number] : NULL;

    return info ? (struct draw_call){info->firstIndex, info->indexCount,
                                     a->pVertexOffset ? *a->pVertexOffset : info->vertexOffset, a->firstInstance,
                                     a->instanceCount}
                : (struct draw_call){.count = 0};
}

struct draw_call draw_call_of(uint32_t command, const void *args, uint32_t number)
{
    const struct gen_args_vkCmdDraw *draw = args;
    const struct gen_args_vkCmdDrawIndexed *indexed = args;

    switch (command) {
    case GEN_vkCmdDraw:
        return (struct draw_call){draw->firstVertex, draw->vertexCount, 0, draw->firstInstance, draw->instanceCount};
    case GEN_vkCmdDrawIndexed:
        return (struct draw_call){indexed->firstIndex, indexed->indexCount, indexed->vertexOffset,
                                  indexed->firstInstance, indexed->instanceCount};
    case GEN_vkCmdDrawMultiEXT:
        return multi(args, number);
    default:
        return multi_indexed(args, number);
    }
}

uint32_t draw_call_bytes(const struct draw_source *source)
{
    return source->is_indexed ? sizeof(VkDrawIndexedIndirectCommand) : sizeof(VkDrawIndirectCommand);
}

struct draw_call draw_call_read(const struct draw_source *source, const void *bytes)
{
    VkDrawIndexedIndirectCommand indexed;
    VkDrawIndirectCommand draw;

    if (source->is_indexed) {
        memcpy(&indexed, bytes, sizeof indexed);
        return (struct draw_call){indexed.firstIndex, indexed.indexCount, indexed.vertexOffset, indexed.firstInstance,
                                  indexed.instanceCount};
    }
    memcpy(&draw, bytes, sizeof draw);
    return (struct draw_call){draw.firstVertex, draw.vertexCount, 0, draw.firstInstance, draw.instanceCount};
}
