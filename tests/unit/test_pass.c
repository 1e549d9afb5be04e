/* SPDX-License-Identifier: MIT */
/* Passes, in every registry that this builds with. */
#include "vulkan/pass.h"

#include "tests/unit/unit.h"

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

UNIT_TEST(each_command_that_begins_advances_or_ends_a_pass_is_known)
{
    static const struct {
        const char *begins;
        enum lap_pass_step step;
    } table[] = {{"vkCmdBeginRenderPass", LAP_PASS_BEGIN},
                 {"vkCmdBeginRendering", LAP_PASS_BEGIN_RENDERING},
                 {"vkCmdNextSubpass", LAP_PASS_NEXT},
                 {"vkCmdEndRenderPass", LAP_PASS_END},
                 {"vkCmdEndRendering", LAP_PASS_END_RENDERING},
                 {"vkCmdBeginRender", LAP_PASS_NONE},
                 {"vkCmdEndRender", LAP_PASS_NONE} /* of no kind yet */};
    const size_t of_no_kind = sizeof table / sizeof *table - 2;
    unsigned known = 0;

    for (uint32_t command = 0; command < GEN_COMMAND_COUNT; command++) {
        const char *name = gen_command_names[command];
        enum lap_pass_step step = LAP_PASS_NONE;
        size_t i = 0;
        while (i < sizeof table / sizeof *table && !begins(name, table[i].begins))
            i++;
        if (i < sizeof table / sizeof *table)
            step = table[i].step;
        if (lap_pass_step_of(command) != step || (i >= of_no_kind && i < sizeof table / sizeof *table))
            UNIT_FAIL("%s is step %d, expected %d", name, lap_pass_step_of(command), step);
        known += step != LAP_PASS_NONE;
    }
    CHECK(known >= 8); /* as in Vulkan 1.3 */
}

UNIT_TEST(what_a_command_begins_is_known_of_both_versions)
{
    const VkRenderPassBeginInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO};
    const struct gen_args_vkCmdBeginRenderPass first = {.pRenderPassBegin = &info};
    const struct gen_args_vkCmdBeginRenderPass2 second = {.pRenderPassBegin = &info};
    const struct gen_args_vkCmdBeginRendering rendering = {0};

    CHECK(lap_pass_begin_info(GEN_vkCmdBeginRenderPass, &first) == &info);
    CHECK(lap_pass_begin_info(GEN_vkCmdBeginRenderPass2, &second) == &info);
    CHECK(!lap_pass_begin_info(GEN_vkCmdBeginRendering, &rendering));
}

UNIT_MAIN();
