/* SPDX-License-Identifier: MIT */
#include "inspector/fragments/fragment_tests.h"

#include <math.h>

#include "gen_decode.h"
#include "gen_ids.h"
#include "tests/unit/unit.h"
#include "vulkan/texel/texel_codes.h"
#include "vulkan/texel/texel_values.h"

/* A draw into 64 x 64 texels of R8G8B8A8_UNORM with depth and stencil; nothing is tested at first. */
struct scene {
    struct raster_state state;
    struct fragment_place place;
    struct fragment fragment;
    struct fragment_texel texel;
    struct fragment_result result;
};

static const struct gen_format *format_of(VkFormat format, VkImageAspectFlags aspect)
{
    return lap_texel_format(format, aspect);
}

static struct scene scene_with(VkFormat depth)
{
    const float half = 0.5f, fifth = 0.2f;
    struct scene s = {
        .state = {.is_known = true,
                  .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                  .shape = {.viewport_count = 1,
                            .scissor_count = 1,
                            .viewports = {{0, 0, 64, 64, 0, 1}},
                            .scissors = {{{0, 0}, {64, 64}}}},
                  .output = {.samples = VK_SAMPLE_COUNT_1_BIT,
                             .sample_mask = UINT32_MAX,
                             .target_count = 1,
                             .targets = {{.blend = {.colorWriteMask = 15}}}}},
        .place = {.x = 10,
                  .y = 20,
                  .depth = format_of(depth, VK_IMAGE_ASPECT_DEPTH_BIT),
                  .stencil = true,
                  .color = format_of(VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_ASPECT_COLOR_BIT)},
        .fragment = {.depth = 0.5f, .returned = true, .front = true, .count = 4},
        .texel = {.has_depth = true, .has_stencil = true, .has_color = true, .stencil = 0x35, .color = {1, 2, 3, 4}}};

    memcpy(&s.fragment.output[0], &half, sizeof half);
    memcpy(&s.fragment.output[1], &fifth, sizeof fifth);
    s.texel.depth = lap_texel_code_of(s.place.depth, 0, 0.75);
    return s;
}

static struct scene scene(void)
{
    return scene_with(VK_FORMAT_D24_UNORM_S8_UINT);
}

static void run(struct scene *s)
{
    fragment_tests_run(&s->state, &s->place, &s->fragment, &s->texel, &s->result);
}

static double depth_behind(const struct scene *s)
{
    unsigned char texel[8] = {0};
    double values[4];

    lap_texel_put_code(s->place.depth, 0, s->result.after.depth, texel);
    lap_texel_values(s->place.depth, texel, values);
    return values[0];
}

/* ---- depth ---- */

UNIT_TEST(depth_is_compared_by_each_operator)
{
    /* of less, equal, greater: bits of what an operator is true for */
    static const unsigned holds[] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const float own[] = {0.25f, 0.75f, 1};

    for (unsigned op = VK_COMPARE_OP_NEVER; op <= VK_COMPARE_OP_ALWAYS; op++)
        for (unsigned i = 0; i < 3; i++) {
            struct scene s = scene_with(VK_FORMAT_D32_SFLOAT_S8_UINT);
            s.state.tests = (struct raster_tests){.depth = true, .writes_depth = true, .compare = (VkCompareOp)op};
            s.fragment.depth = own[i];
            run(&s);
            CHECK_EQ_INT(s.result.fate, holds[op] >> i & 1 ? FRAGMENT_PASSED : FRAGMENT_DEPTH);
            CHECK(depth_behind(&s) == (holds[op] >> i & 1 ? (double)own[i] : 0.75));
            CHECK_EQ_INT(s.result.writes, holds[op] >> i & 1);
            if (s.result.fate == FRAGMENT_DEPTH)
                CHECK(s.result.op == (VkCompareOp)op && s.result.own == (double)own[i] && s.result.stored == 0.75);
        }
}

/* A fragment that is less than a step in front is not in front. */
UNIT_TEST(depth_is_that_of_the_format)
{
    static const struct {
        VkFormat format;
        double step;
    } formats[] = {{VK_FORMAT_D16_UNORM_S8_UINT, 0x1p-16}, {VK_FORMAT_D24_UNORM_S8_UINT, 0x1p-24}};

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct scene s = scene_with(formats[i].format);
        s.state.tests = (struct raster_tests){.depth = true, .writes_depth = true, .compare = VK_COMPARE_OP_LESS};
        s.texel.depth = lap_texel_code_of(s.place.depth, 0, 0.25);
        s.fragment.depth = (float)(0.25 - formats[i].step / 4);
        run(&s);
        CHECK_EQ_INT(s.result.fate, FRAGMENT_DEPTH);
        s.fragment.depth = (float)(0.25 - 2 * formats[i].step);
        run(&s);
        CHECK_EQ_INT(s.result.fate, FRAGMENT_PASSED);
        CHECK(fabs(depth_behind(&s) - (double)s.fragment.depth) <= formats[i].step);
    }
}

UNIT_TEST(depth_is_clamped_written_and_left)
{
    struct scene s = scene_with(VK_FORMAT_D32_SFLOAT_S8_UINT);

    s.state.tests = (struct raster_tests){.depth = true, .writes_depth = true, .compare = VK_COMPARE_OP_ALWAYS};
    s.state.shape.clamps_depth = true;
    s.state.shape.viewports[0].minDepth = 1;
    s.state.shape.viewports[0].maxDepth = 0.5f;
    s.fragment.depth = 0.25f;
    run(&s);
    CHECK(depth_behind(&s) == 0.5);
    s.fragment.writes_depth = true;
    s.fragment.own_depth = 7;
    run(&s);
    CHECK(depth_behind(&s) == 1);
    s.state.shape.has_clamp_range = true;
    s.state.shape.clamp_range[0] = 2;
    s.state.shape.clamp_range[1] = 3;
    run(&s);
    CHECK(depth_behind(&s) == 3);
    s.state.shape.clamps_depth = false;
    s.fragment.own_depth = 0.125f;
    s.place.early = true; /* the code's depth does not count */
    run(&s);
    CHECK(depth_behind(&s) == 0.25);
    s.state.tests.writes_depth = false;
    s.place.early = false;
    run(&s);
    CHECK_EQ_INT(s.result.fate, FRAGMENT_PASSED);
    CHECK(depth_behind(&s) == 0.25);
    s.state.tests.depth = false; /* then it is not written */
    s.state.tests.writes_depth = true;
    run(&s);
    CHECK(depth_behind(&s) == 0.25);
}

UNIT_TEST(bounds_are_those_of_the_depth_in_front)
{
    struct scene s = scene();

    s.state.tests = (struct raster_tests){
        .bounds = true, .least = 0.5f, .most = 0.8f, .stencil = true, .depth = true, .compare = VK_COMPARE_OP_LESS};
    s.state.tests.faces[0] = (VkStencilOpState){.failOp = VK_STENCIL_OP_ZERO, .writeMask = 255};
    s.fragment.depth = 0.1f;
    run(&s);
    CHECK_EQ_INT(s.result.fate, FRAGMENT_STENCIL);
    s.state.tests.most = 0.7f;
    s.texel.stencil = 7;
    run(&s);
    CHECK_EQ_INT(s.result.fate, FRAGMENT_BOUNDS);
    CHECK(fabs(s.result.stored - 0.75) < 0x1p-24 && s.texel.stencil == 7);
}

/* ---- stencil ---- */

UNIT_TEST(stencil_is_changed_by_each_operation)
{
    static const struct {
        VkStencilOp op;
        uint8_t before, after;
    } cases[] = {{VK_STENCIL_OP_KEEP, 7, 7},
                 {VK_STENCIL_OP_ZERO, 7, 0},
                 {VK_STENCIL_OP_REPLACE, 7, 0x5a},
                 {VK_STENCIL_OP_INCREMENT_AND_CLAMP, 7, 8},
                 {VK_STENCIL_OP_INCREMENT_AND_CLAMP, 255, 255},
                 {VK_STENCIL_OP_DECREMENT_AND_CLAMP, 7, 6},
                 {VK_STENCIL_OP_DECREMENT_AND_CLAMP, 0, 0},
                 {VK_STENCIL_OP_INVERT, 7, 0xf8},
                 {VK_STENCIL_OP_INCREMENT_AND_WRAP, 255, 0},
                 {VK_STENCIL_OP_DECREMENT_AND_WRAP, 0, 255}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned when = 0; when < 3; when++) { /* the stencil test fails, the depth test does, both pass */
            struct scene s = scene();
            VkStencilOpState *face = &s.state.tests.faces[1];
            s.state.tests.stencil = s.state.tests.depth = true;
            s.state.tests.compare = when == 1 ? VK_COMPARE_OP_GREATER : VK_COMPARE_OP_LESS;
            *face = (VkStencilOpState){when == 0 ? cases[i].op : VK_STENCIL_OP_INVERT,
                                       when == 2 ? cases[i].op : VK_STENCIL_OP_INVERT,
                                       when == 1 ? cases[i].op : VK_STENCIL_OP_INVERT,
                                       when == 0 ? VK_COMPARE_OP_NEVER : VK_COMPARE_OP_ALWAYS,
                                       255,
                                       255,
                                       0x5a};
            s.fragment.front = false;
            s.texel.stencil = cases[i].before;
            run(&s);
            CHECK_EQ_INT(s.result.fate, when == 0 ? FRAGMENT_STENCIL : when == 1 ? FRAGMENT_DEPTH : FRAGMENT_PASSED);
            CHECK_EQ_INT(s.result.after.stencil, cases[i].after);
        }
}

UNIT_TEST(stencil_is_masked_and_of_the_face)
{
    struct scene s = scene();

    s.state.tests.stencil = true;
    s.state.tests.faces[0] = (VkStencilOpState){.passOp = VK_STENCIL_OP_REPLACE,
                                                .compareOp = VK_COMPARE_OP_EQUAL,
                                                .compareMask = 0x0f,
                                                .writeMask = 0xf0,
                                                .reference = 0xa5};
    s.state.tests.faces[1] = (VkStencilOpState){.compareOp = VK_COMPARE_OP_NEVER};
    run(&s);
    CHECK_EQ_INT(s.result.fate, FRAGMENT_PASSED);
    CHECK_EQ_INT(s.texel.stencil, 0xa5);
    s.state.tests.faces[0].compareOp = VK_COMPARE_OP_GREATER;
    run(&s);
    CHECK(s.result.fate == FRAGMENT_STENCIL && s.result.op == VK_COMPARE_OP_GREATER && s.result.own == 5 &&
          s.result.stored == 5);
    s.fragment.writes_stencil = true;
    s.fragment.own_stencil = 0x36;
    run(&s);
    CHECK_EQ_INT(s.result.fate, FRAGMENT_PASSED);
    CHECK_EQ_INT(s.texel.stencil, 0x35);
    s.fragment.front = false;
    run(&s);
    CHECK_EQ_INT(s.result.fate, FRAGMENT_STENCIL);
    s.place.stencil = false; /* there is none: the test passes */
    run(&s);
    CHECK_EQ_INT(s.result.fate, FRAGMENT_PASSED);
}

/* ---- the code ---- */

UNIT_TEST(discarded_fragments_leave_nothing_but_with_early_tests)
{
    struct scene s = scene();

    s.state.tests = (struct raster_tests){.depth = true, .writes_depth = true, .compare = VK_COMPARE_OP_LESS};
    s.fragment.returned = false;
    run(&s);
    CHECK_EQ_INT(s.result.fate, FRAGMENT_DISCARDED);
    CHECK(fabs(depth_behind(&s) - 0.75) < 0x1p-24 && s.texel.color[0] == 1);
    s.place.early = true;
    run(&s);
    CHECK_EQ_INT(s.result.fate, FRAGMENT_DISCARDED);
    CHECK(fabs(depth_behind(&s) - 0.5) < 0x1p-24 && s.texel.color[0] == 1 && !s.result.writes);
}

UNIT_TEST(coverage_is_that_of_masks_and_of_alpha)
{
    struct scene s = scene();
    const float half = 0.5f, one = 1;

    s.state.output.sample_mask = 2;
    run(&s);
    CHECK_EQ_INT(s.result.fate, FRAGMENT_SAMPLE_MASK);
    s.state.output.sample_mask = 1;
    s.fragment.writes_samples = true;
    s.fragment.own_samples = 2;
    run(&s);
    CHECK_EQ_INT(s.result.fate, FRAGMENT_SAMPLE_MASK);
    s.fragment.own_samples = 3;
    s.state.output.alpha_to_coverage = true;
    run(&s);
    CHECK_EQ_INT(s.result.fate, FRAGMENT_COVERAGE);
    memcpy(&s.fragment.output[3], &one, sizeof one);
    run(&s);
    CHECK_EQ_INT(s.result.fate, FRAGMENT_PASSED);
    memcpy(&s.fragment.output[3], &half, sizeof half);
    run(&s);
    CHECK(s.result.fate == FRAGMENT_UNCERTAIN && s.texel.unknown == 15 && !s.texel.has_depth);
    s.state.shape.scissors[0].extent.width = 10;
    run(&s);
    CHECK_EQ_INT(s.result.fate, FRAGMENT_SCISSOR);
}

UNIT_TEST(unknown_state_decides_nothing)
{
    struct scene s = scene();

    s.texel.has_depth = false;
    s.state.tests = (struct raster_tests){.depth = true, .writes_depth = true, .compare = VK_COMPARE_OP_LESS};
    run(&s);
    CHECK_EQ_INT(s.result.fate, FRAGMENT_UNCERTAIN);
    s.state.tests.compare = VK_COMPARE_OP_ALWAYS;
    run(&s);
    CHECK(s.result.fate == FRAGMENT_PASSED && s.texel.has_depth);
    s.state.is_known = false;
    run(&s);
    CHECK_EQ_INT(s.result.fate, FRAGMENT_UNCERTAIN);
}

/* ---- color ---- */

UNIT_TEST(color_is_the_output_where_nothing_blends)
{
    struct scene s = scene();
    VkPipelineColorBlendAttachmentState *blend = &s.state.output.targets[0].blend;

    blend->colorWriteMask = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT;
    run(&s);
    CHECK(s.result.writes && !s.texel.unknown && memcmp(s.texel.color, "\x80\x33\3\4", 4) == 0);
    CHECK(!s.result.blends && fabs(s.result.depth - 0.5) < 0x1p-24);
    CHECK_EQ_INT(fragment_colors_differ(s.place.color, &s.texel, (const unsigned char *)"\x7f\x34\3\4"), 0);
    CHECK_EQ_INT(fragment_colors_differ(s.place.color, &s.texel, (const unsigned char *)"\x7e\x36\3\4"), 2);
    blend->blendEnable = VK_TRUE;
    run(&s);
    CHECK(s.result.blends && s.texel.unknown == 3);
    CHECK_EQ_INT(fragment_colors_differ(s.place.color, &s.texel, (const unsigned char *)"\0\0\3\4"), 0);
    blend->srcColorBlendFactor = blend->srcAlphaBlendFactor = VK_BLEND_FACTOR_ONE;
    run(&s);
    CHECK_EQ_INT(s.texel.unknown, 0);
    s.state.output.has_logic_op = true;
    run(&s);
    CHECK_EQ_INT(s.texel.unknown, 3);
    s.state.output.logic_op = VK_LOGIC_OP_COPY;
    s.state.output.alpha_to_one = true;
    s.fragment.count = 1; /* the rest is undefined, but for alpha */
    blend->colorWriteMask = 15;
    run(&s);
    CHECK_EQ_INT(s.texel.unknown, 6);
    CHECK_EQ_INT(s.texel.color[3], 255);
    s.state.output.targets[0].is_off = true;
    s.texel.unknown = 0;
    run(&s);
    CHECK(s.result.fate == FRAGMENT_PASSED && !s.result.writes && !s.texel.unknown);
}

UNIT_TEST(integers_are_kept)
{
    struct scene s = scene();

    s.place.color = format_of(VK_FORMAT_R16G16_SINT, VK_IMAGE_ASPECT_COLOR_BIT);
    s.state.output.targets[0].blend.blendEnable = VK_TRUE; /* which integers have not */
    s.fragment.scalar = FRAGMENT_INT;
    s.fragment.output[0] = (uint32_t)-2;
    s.fragment.output[1] = 300;
    run(&s);
    CHECK(!s.texel.unknown && memcmp(s.texel.color, "\xfe\xff\x2c\1", 4) == 0);
    CHECK_EQ_INT(fragment_colors_differ(s.place.color, &s.texel, (const unsigned char *)"\xff\xff\x2c\1"), 1);
    s.fragment.scalar = FRAGMENT_FLOAT;
    run(&s);
    CHECK_EQ_INT(s.texel.unknown, 3);
}

/* ---- several, and none ---- */

UNIT_TEST(fragments_are_in_the_order_of_primitives)
{
    struct fragment all[3] = {{.primitive = 5}, {.primitive = 2}, {.primitive = 9}};
    struct draw_counts counts = {1, 30, 1};

    CHECK(fragments_sort(&counts, all, 3) && all[0].primitive == 2 && all[1].primitive == 5 && all[2].primitive == 9);
    all[2].primitive = 5;
    CHECK(!fragments_sort(&counts, all, 3));
    all[2].primitive = 1;
    counts.instances = 2;
    CHECK(!fragments_sort(&counts, all, 3) && all[0].primitive == 2 && fragments_sort(&counts, all, 1));
    counts.instances = 1;
    all[1].primitive = FRAGMENT_UNKNOWN;
    CHECK(!fragments_sort(&counts, all, 3));
}

UNIT_TEST(a_draw_without_fragments_has_a_reason)
{
    const struct gen_args_vkCmdDraw nothing = {.vertexCount = 3};
    struct scene s = scene();
    struct fragment_draw draw = {.counts = {1, 3, 1}, .area = {{0, 0}, {64, 64}}};

#define REASON fragments_absence(&s.state, &s.place, &draw)
    CHECK_EQ_INT(REASON, FRAGMENTS_NOT_COVERED);
    s.place.early = true;
    CHECK_EQ_INT(REASON, FRAGMENTS_EARLY);
    draw.has_condition = true;
    CHECK_EQ_INT(REASON, FRAGMENTS_CONDITION);
    s.state.output.sample_mask = 0;
    CHECK_EQ_INT(REASON, FRAGMENTS_SAMPLE_MASK);
    s.state.shape.cull = VK_CULL_MODE_FRONT_AND_BACK;
    CHECK_EQ_INT(REASON, FRAGMENTS_CULLED);
    s.state.topology = VK_PRIMITIVE_TOPOLOGY_LINE_LIST;
    CHECK_EQ_INT(REASON, FRAGMENTS_SAMPLE_MASK);
    s.state.shape.viewports[0] = (VkViewport){0, 64, 64, -64, 0, 1}; /* upside down */
    CHECK_EQ_INT(REASON, FRAGMENTS_SAMPLE_MASK);
    s.state.shape.viewports[0].height = -43;
    CHECK_EQ_INT(REASON, FRAGMENTS_VIEWPORT);
    s.state.shape.scissors[0].offset.y = 21;
    CHECK_EQ_INT(REASON, FRAGMENTS_SCISSOR);
    s.state.shape.scissor_count = 2;
    s.state.shape.scissors[1] = draw.area;
    CHECK_EQ_INT(REASON, FRAGMENTS_VIEWPORT);
    draw.area.extent.width = 10;
    CHECK_EQ_INT(REASON, FRAGMENTS_RENDER_AREA);
    s.state.shape.discards = true;
    CHECK_EQ_INT(REASON, FRAGMENTS_RASTERIZER_DISCARD);
    draw.counts = draw_counts_of(GEN_vkCmdDraw, &nothing);
    CHECK_EQ_INT(REASON, FRAGMENTS_NO_VERTICES);
}

UNIT_MAIN();
