/* SPDX-License-Identifier: MIT */
/*
 * pass: which commands begin, advance and end a render pass or dynamic rendering. The one list of them: whatever
 * follows passes through a command buffer asks here.
 */
#ifndef LAP_VULKAN_PASS_H
#define LAP_VULKAN_PASS_H

#include <stdint.h>

#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"

enum lap_pass_step {
    LAP_PASS_NONE,
    LAP_PASS_BEGIN, /* a render pass */
    LAP_PASS_BEGIN_RENDERING,
    LAP_PASS_NEXT, /* subpass */
    LAP_PASS_END,
    LAP_PASS_END_RENDERING
};

static inline enum lap_pass_step lap_pass_step_of(uint32_t command)
{
    switch (command) {
    case GEN_vkCmdBeginRenderPass:
    case GEN_vkCmdBeginRenderPass2:
        return LAP_PASS_BEGIN;
    case GEN_vkCmdBeginRendering:
        return LAP_PASS_BEGIN_RENDERING;
    case GEN_vkCmdNextSubpass:
    case GEN_vkCmdNextSubpass2:
        return LAP_PASS_NEXT;
    case GEN_vkCmdEndRenderPass:
    case GEN_vkCmdEndRenderPass2:
        return LAP_PASS_END;
    case GEN_vkCmdEndRendering:
#ifdef VK_EXT_fragment_density_map_offset
    case GEN_vkCmdEndRendering2EXT:
#endif
        return LAP_PASS_END_RENDERING;
    default:
        return LAP_PASS_NONE;
    }
}

/* The render pass that a command of LAP_PASS_BEGIN begins, from its arguments. NULL also for other commands. */
static inline const VkRenderPassBeginInfo *lap_pass_begin_info(uint32_t command, const void *args)
{
    return command == GEN_vkCmdBeginRenderPass ? ((const struct gen_args_vkCmdBeginRenderPass *)args)->pRenderPassBegin
           : command == GEN_vkCmdBeginRenderPass2
               ? ((const struct gen_args_vkCmdBeginRenderPass2 *)args)->pRenderPassBegin
               : NULL;
}

/* The same of LAP_PASS_BEGIN_RENDERING. */
static inline const VkRenderingInfo *lap_pass_rendering_info(uint32_t command, const void *args)
{
    return command == GEN_vkCmdBeginRendering ? ((const struct gen_args_vkCmdBeginRendering *)args)->pRenderingInfo
                                              : NULL;
}

#endif
