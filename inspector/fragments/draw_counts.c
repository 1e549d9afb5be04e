/* SPDX-License-Identifier: MIT */
#include "inspector/fragments/draw_counts.h"

#include "gen_decode.h"
#include "gen_ids.h"

#define UNKNOWN DRAW_COUNT_UNKNOWN

#define COUNTS(type, ...)                                                                                              \
    {                                                                                                                  \
        const struct gen_args_##type *a = args;                                                                        \
        return (struct draw_counts){__VA_ARGS__};                                                                      \
    }

struct draw_counts draw_counts_of(uint32_t command, const void *args)
{
    switch (command) {
    case GEN_vkCmdDraw:
        COUNTS(vkCmdDraw, 1, a->vertexCount, a->instanceCount)
    case GEN_vkCmdDrawIndexed:
        COUNTS(vkCmdDrawIndexed, 1, a->indexCount, a->instanceCount)
    case GEN_vkCmdDrawIndirect:
        COUNTS(vkCmdDrawIndirect, a->drawCount, UNKNOWN, UNKNOWN)
    case GEN_vkCmdDrawIndexedIndirect:
        COUNTS(vkCmdDrawIndexedIndirect, a->drawCount, UNKNOWN, UNKNOWN)
#ifdef VK_EXT_multi_draw
    case GEN_vkCmdDrawMultiEXT:
        COUNTS(vkCmdDrawMultiEXT, a->drawCount, UNKNOWN, a->instanceCount)
    case GEN_vkCmdDrawMultiIndexedEXT:
        COUNTS(vkCmdDrawMultiIndexedEXT, a->drawCount, UNKNOWN, a->instanceCount)
#endif
#ifdef VK_EXT_mesh_shader
    case GEN_vkCmdDrawMeshTasksEXT:
        COUNTS(vkCmdDrawMeshTasksEXT, 1, a->groupCountX && a->groupCountY && a->groupCountZ ? UNKNOWN : 0, 1)
#endif
    default:
        return (struct draw_counts){UNKNOWN, UNKNOWN, UNKNOWN};
    }
}
