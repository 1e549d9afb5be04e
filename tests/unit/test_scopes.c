/* SPDX-License-Identifier: MIT */
/* What is open in a command buffer, and how it ends. */
#include "inspector/twin/scopes.h"

#include <stdlib.h>

#include "gen_decode.h"
#include "tests/unit/unit.h"
#include "trace/format/decode.h"
#include "vulkan/block.h"

struct cut {
    struct lap_dictionary dictionary;
    struct recode recode;
    struct scopes scopes;
    uint32_t commands;
    uint32_t subpasses; /* of all render passes */
};

static void begin(struct cut *cut)
{
    *cut = (struct cut){.subpasses = 1};
    cut->dictionary.commands = malloc(GEN_COMMAND_COUNT * sizeof *cut->dictionary.commands);
    cut->dictionary.command_count = cut->dictionary.commands ? GEN_COMMAND_COUNT : 0;
    for (uint32_t i = 0; i < cut->dictionary.command_count; i++)
        cut->dictionary.commands[i] = i;
    recode_init(&cut->recode, &cut->dictionary);
}

static void finish(struct cut *cut)
{
    scopes_finish(&cut->scopes);
    recode_finish(&cut->recode);
    free(cut->dictionary.commands);
}

static void see(struct cut *cut, uint32_t command, const void *args)
{
    CHECK_EQ_INT(scopes_see(&cut->scopes, &cut->recode, command, args), LAP_OK);
}

static void see_query(struct cut *cut, bool begins, uint64_t pool, uint32_t number)
{
    struct gen_args_vkCmdBeginQuery beginning = {.queryPool = gen_VkQueryPool(pool), .query = number};
    struct gen_args_vkCmdEndQuery end = {.queryPool = gen_VkQueryPool(pool), .query = number};
    see(cut, begins ? GEN_vkCmdBeginQuery : GEN_vkCmdEndQuery, begins ? (void *)&beginning : (void *)&end);
}

static void see_pass(struct cut *cut, uint64_t pass)
{
    VkRenderPassBeginInfo info = {.renderPass = gen_VkRenderPass(pass)};
    struct gen_args_vkCmdBeginRenderPass args = {.pRenderPassBegin = &info};
    see(cut, GEN_vkCmdBeginRenderPass, &args);
}

static void see_rendering(struct cut *cut, VkRenderingFlags flags)
{
    VkRenderingInfo info = {.flags = flags};
    struct gen_args_vkCmdBeginRendering args = {.pRenderingInfo = &info};
    see(cut, GEN_vkCmdBeginRendering, &args);
}

static uint32_t subpasses(void *user, uint64_t render_pass)
{
    return ((struct cut *)user)->subpasses;
}

static enum lap_status end(struct cut *cut)
{
    lap_enc_reset(&cut->recode.enc);
    cut->commands = 0;
    return scopes_end(&cut->scopes, subpasses, cut, &cut->recode, &cut->commands);
}

/* The commands that end it are these, which have bodies of so many bytes. */
static void check_ends(struct cut *cut, const uint32_t *commands, const size_t *bodies, uint32_t count)
{
    const uint8_t *at, *behind;

    CHECK_EQ_INT(end(cut), LAP_OK);
    CHECK_EQ_U64(cut->commands, count);
    at = cut->recode.enc.base;
    behind = cut->recode.enc.p;
    for (uint32_t i = 0; i < count && at < behind; i++) {
        uint64_t number = 0;
        for (unsigned shift = 0; at < behind; shift += 7) {
            number |= (uint64_t)(*at & 0x7f) << shift;
            if (!(*at++ & 0x80))
                break;
        }
        CHECK_STR(gen_command_names[number < GEN_COMMAND_COUNT ? number : 0], gen_command_names[commands[i]]);
        at += bodies[i];
    }
    CHECK(at == behind);
}

UNIT_TEST(what_has_ended_is_not_open)
{
    struct cut cut;
    begin(&cut);
    see_query(&cut, true, 1, 2);
    see_pass(&cut, 1);
    see(&cut, GEN_vkCmdEndRenderPass, NULL);
    see_query(&cut, false, 1, 2);
    see_rendering(&cut, 0);
    see(&cut, GEN_vkCmdEndRendering, NULL);
    check_ends(&cut, NULL, NULL, 0);
    finish(&cut);
}

UNIT_TEST(the_last_scope_ends_first)
{
    static const uint32_t ends[] = {GEN_vkCmdEndQuery, GEN_vkCmdEndRenderPass, GEN_vkCmdEndQuery,
                                    GEN_vkCmdEndDebugUtilsLabelEXT};
    static const size_t bodies[] = {2, 0, 2, 0};
    struct cut cut;
    begin(&cut);
    see(&cut, GEN_vkCmdBeginDebugUtilsLabelEXT, NULL);
    see_query(&cut, true, 1, 0);
    see_pass(&cut, 1);
    see_query(&cut, true, 1, 1);
    check_ends(&cut, ends, bodies, 4);
    finish(&cut);
}

UNIT_TEST(queries_end_by_their_numbers)
{
    static const uint32_t ends[] = {GEN_vkCmdEndQuery};
    static const size_t bodies[] = {2};
    struct cut cut;
    begin(&cut);
    see_query(&cut, true, 1, 0);
    see_query(&cut, true, 2, 0);
    see_query(&cut, true, 1, 5);
    see_query(&cut, false, 1, 0);
    see_query(&cut, false, 2, 0);
    see_query(&cut, false, 3, 5);
    check_ends(&cut, ends, bodies, 1);
    CHECK_EQ_U64(cut.recode.enc.p[-2], 1);
    CHECK_EQ_U64(cut.recode.enc.p[-1], 5);
    finish(&cut);
}

UNIT_TEST(a_render_pass_goes_through_its_other_subpasses)
{
    static const uint32_t ends[] = {GEN_vkCmdNextSubpass, GEN_vkCmdNextSubpass, GEN_vkCmdEndRenderPass};
    static const size_t bodies[] = {1, 1, 0};
    struct cut cut;
    begin(&cut);
    cut.subpasses = 4;
    see_pass(&cut, 1);
    see(&cut, GEN_vkCmdNextSubpass, NULL);
    check_ends(&cut, ends, bodies, 3);
    cut.subpasses = 0;
    CHECK_EQ_INT(end(&cut), LAP_ERROR_UNSUPPORTED);
    finish(&cut);
}

UNIT_TEST(conditions_and_feedback_end)
{
    static const uint32_t ends[] = {GEN_vkCmdEndTransformFeedbackEXT, GEN_vkCmdEndConditionalRenderingEXT,
                                    GEN_vkCmdEndRendering, GEN_vkCmdDebugMarkerEndEXT};
    static const size_t bodies[] = {4, 0, 0, 0};
    struct cut cut;
    begin(&cut);
    see(&cut, GEN_vkCmdDebugMarkerBeginEXT, NULL);
    see_rendering(&cut, 0);
    see(&cut, GEN_vkCmdBeginConditionalRenderingEXT, NULL);
    see(&cut, GEN_vkCmdBeginTransformFeedbackEXT, NULL);
    check_ends(&cut, ends, bodies, 4);
    finish(&cut);
}

static VkRenderingFlags flags_of_resume(const struct scope *scope)
{
    const struct lap_dec_source source = {.blob = NULL};
    struct lap_args args;
    struct lap_arena arena;
    struct lap_dec dec;
    VkRenderingFlags flags;
    lap_arena_init(&arena, 0);
    lap_dec_init(&dec, scope->resume, scope->resume_bytes, &arena, &source);
    CHECK_EQ_U64(lap_get_u64(&dec), GEN_vkCmdBeginRendering);
    gen_decode_table[GEN_vkCmdBeginRendering](&dec, args.bytes);
    CHECK_EQ_INT(dec.status, LAP_OK);
    flags = ((const struct gen_args_vkCmdBeginRendering *)(const void *)args.bytes)->pRenderingInfo->flags;
    lap_arena_finish(&arena);
    return flags;
}

UNIT_TEST(what_is_suspended_is_resumed_and_ends)
{
    static const uint32_t ends[] = {GEN_vkCmdEndDebugUtilsLabelEXT, GEN_vkCmdEndRendering, GEN_vkCmdBeginRendering,
                                    GEN_vkCmdEndRendering, GEN_vkCmdEndQuery};
    size_t bodies[] = {0, 0, 0, 0, 2};
    uint8_t number[LAP_WIRE_MAX_VARINT];
    struct cut cut;
    begin(&cut);
    see_query(&cut, true, 1, 1);
    see_rendering(&cut, VK_RENDERING_SUSPENDING_BIT | VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
    see(&cut, GEN_vkCmdBeginDebugUtilsLabelEXT, NULL);
    bodies[2] = cut.scopes.open[1].resume_bytes - (size_t)(lap_at_u64(number, GEN_vkCmdBeginRendering) - number);
    CHECK_EQ_INT(flags_of_resume(&cut.scopes.open[1]), VK_RENDERING_RESUMING_BIT);
    check_ends(&cut, ends, bodies, 5);
    see(&cut, GEN_vkCmdEndDebugUtilsLabelEXT, NULL);
    see(&cut, GEN_vkCmdEndRendering, NULL);
    check_ends(&cut, ends + 2, bodies + 2, 3);
    see_rendering(&cut, VK_RENDERING_RESUMING_BIT | VK_RENDERING_SUSPENDING_BIT);
    CHECK_EQ_U64(cut.scopes.count, 2);
    check_ends(&cut, ends + 1, bodies + 1, 4);
    see(&cut, GEN_vkCmdEndRendering, NULL);
    see_rendering(&cut, VK_RENDERING_RESUMING_BIT);
    CHECK(cut.scopes.open[1].resume == NULL);
    bodies[3] = 0;
    check_ends(&cut, ends + 3, bodies + 3, 2);
    see(&cut, GEN_vkCmdEndRendering, NULL);
    check_ends(&cut, ends + 4, bodies + 4, 1);
    finish(&cut);
}

UNIT_TEST(only_what_is_suspended_ends_where_the_command_buffer_does)
{
    struct cut cut;
    begin(&cut);
    see(&cut, GEN_vkCmdBeginDebugUtilsLabelEXT, NULL);
    see_rendering(&cut, VK_RENDERING_SUSPENDING_BIT);
    see(&cut, GEN_vkCmdEndRendering, NULL);
    CHECK_EQ_INT(scopes_end_suspended(&cut.scopes, &cut.recode, &cut.commands), LAP_OK);
    CHECK_EQ_U64(cut.commands, 2);
    scopes_resume(&cut.scopes);
    cut.commands = 0;
    CHECK_EQ_INT(scopes_end_suspended(&cut.scopes, &cut.recode, &cut.commands), LAP_OK);
    CHECK_EQ_U64(cut.commands, 0);
    CHECK_EQ_U64(cut.scopes.count, 1);
    finish(&cut);
}

/* A registry to come may have scopes of which nothing is known here. */
UNIT_TEST(each_command_that_begins_something_opens_a_scope)
{
    static const VkRenderPassBeginInfo pass;
    static const struct gen_args_vkCmdBeginRenderPass2 begins = {.pRenderPassBegin = &pass};
    static const unsigned char nothing[GEN_ARGS_MAX_BYTES];

    for (uint32_t i = 1; i < GEN_COMMAND_COUNT; i++) {
        struct cut cut;
        if (strncmp(gen_command_names[i], "vkCmdBegin", 10) != 0 ||
            strcmp(gen_command_names[i], "vkCmdBeginCustomResolveEXT") == 0) /* which ends with its render pass */
            continue;
        begin(&cut);
        see(&cut, i, i == GEN_vkCmdBeginRenderPass2 ? (const void *)&begins : nothing);
        if (cut.scopes.count != 1)
            UNIT_FAIL("%s opens nothing", gen_command_names[i]);
        finish(&cut);
    }
}

UNIT_MAIN();
