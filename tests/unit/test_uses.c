/* SPDX-License-Identifier: MIT */
#include "gen_reflect.h"
#include "tests/unit/sample_trace.h"
#include "tools/uses.h"

static bool is_used(const struct lap_uses *uses, const char *name)
{
    for (unsigned i = 0; i < GEN_EXTENSION_COUNT; i++)
        if (strcmp(gen_extensions[i].name, name) == 0)
            return uses->used[i];
    return false;
}

UNIT_TEST(used_is_less_than_enabled)
{
    struct sample sample;
    struct lap_calls calls;
    struct lap_uses uses;
    enum lap_status status;

    CHECK(sample_begin(&sample));
    sample_record(&sample);
    sample_end(&sample);
    CHECK_EQ_INT(lap_calls_open(&calls, sample.path), LAP_OK);
    CHECK_EQ_INT(lap_uses_init(&uses), LAP_OK);
    while ((status = lap_calls_next(&calls)) == LAP_OK)
        CHECK_EQ_INT(lap_uses_add(&uses, &calls), LAP_OK);
    CHECK_EQ_INT(status, LAP_END);
    lap_uses_settle(&uses);

    CHECK(is_used(&uses, "VK_EXT_custom_border_color"));         /* a feature of it is on */
    CHECK(!is_used(&uses, "VK_EXT_vertex_input_dynamic_state")); /* its features structure is there, all off */
    CHECK(!is_used(&uses, "VK_KHR_swapchain"));                  /* enabled, no command of it appears */
    CHECK(is_used(&uses, "VK_EXT_depth_range_unrestricted"));    /* adds nothing that could be seen */
    CHECK(!is_used(&uses, "VK_EXT_mesh_shader"));                /* not enabled */
    CHECK_EQ_U64(uses.feature_count, 2);
    if (uses.feature_count == 2) {
        CHECK_STR(uses.features[0], "customBorderColors");
        CHECK_STR(uses.features[1], "samplerAnisotropy");
    }
    CHECK(uses.commands[GEN_vkCmdCopyBuffer]); /* seen inside the block */
    lap_uses_finish(&uses);
    lap_calls_close(&calls);
    sample_finish(&sample);
}

UNIT_MAIN();
