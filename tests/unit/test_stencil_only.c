/* SPDX-License-Identifier: MIT */
/* A format with depth stands for stencil alone: what a driver is given then, without a driver. */
#include "replayer/format/stencil_only.h"

#include "gen_replay.h"
#include "replayer/core/handles.h"
#include "replayer/format/format.h"
#include "replayer/memory/resource.h"
#include "replayer/play/player.h"
#include "tests/unit/unit.h"

#define HERE VK_FORMAT_D24_UNORM_S8_UINT

enum { ALONE = 1, BOTH = 2 }; /* images and their views */

struct stencils {
    struct replay r;
    struct replay_instance instance;
    struct replay_device dev;
    struct replay_formats formats;
};

/* What the driver was given last. */
static struct {
    VkAttachmentDescription2 attachments[3];
    VkAttachmentReference2 drawn, read, resolved;
    VkSubpassDescriptionDepthStencilResolve resolve;
    bool resolves_alone, sees_resolve;
    char tests[64]; /* of depths and their bounds, in order: T and t, B and b */
} given;

static VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice gpu, VkPhysicalDeviceProperties2 *out)
{
    VkPhysicalDeviceDepthStencilResolveProperties *resolve = out->pNext;
    (void)gpu;
    resolve->independentResolveNone = given.resolves_alone;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pass2(VkDevice device, const VkRenderPassCreateInfo2 *info,
                                                   const VkAllocationCallbacks *allocator, VkRenderPass *out)
{
    const VkSubpassDescription2 *last = &info->pSubpasses[info->subpassCount - 1];
    static uint64_t next = 0x100;
    (void)device;
    (void)allocator;
    memcpy(given.attachments, info->pAttachments, info->attachmentCount * sizeof *info->pAttachments);
    given.drawn = *last->pDepthStencilAttachment;
    given.read = *last->pInputAttachments;
    given.sees_resolve = last->pNext != NULL;
    if (last->pNext) {
        given.resolve = *(const VkSubpassDescriptionDepthStencilResolve *)last->pNext;
        given.resolved = *given.resolve.pDepthStencilResolveAttachment;
    }
    *out = gen_VkRenderPass(next++);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pass(VkDevice device, const VkRenderPassCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator, VkRenderPass *out)
{
    const VkAttachmentDescription *a = &info->pAttachments[0];
    const VkSubpassDescription *last = &info->pSubpasses[info->subpassCount - 1];
    (void)device;
    (void)allocator;
    given.attachments[0] = (VkAttachmentDescription2){.format = a->format,
                                                      .loadOp = a->loadOp,
                                                      .storeOp = a->storeOp,
                                                      .stencilLoadOp = a->stencilLoadOp,
                                                      .stencilStoreOp = a->stencilStoreOp,
                                                      .initialLayout = a->initialLayout,
                                                      .finalLayout = a->finalLayout};
    given.drawn.layout = last->pDepthStencilAttachment->layout;
    given.read.layout = last->pInputAttachments->layout;
    *out = gen_VkRenderPass(0x200);
    return VK_SUCCESS;
}

static void note_test(const char *sign)
{
    CHECK(strlen(given.tests) + 1 < sizeof given.tests);
    strcat(given.tests, sign);
}

static VKAPI_ATTR void VKAPI_CALL set_test(VkCommandBuffer commands, VkBool32 enable)
{
    (void)commands;
    note_test(enable ? "T" : "t");
}

static VKAPI_ATTR void VKAPI_CALL set_bounds(VkCommandBuffer commands, VkBool32 enable)
{
    (void)commands;
    note_test(enable ? "B" : "b");
}

static void init(struct stencils *u)
{
    struct replay_image *record;
    struct replay_object *view;

    memset(u, 0, sizeof *u);
    memset(&given, 0, sizeof given);
    lap_arena_init(&u->r.arena, 0);
    u->dev.instance = &u->instance;
    u->dev.formats.substitutes = u->r.formats = &u->formats;
    u->dev.formats.stencils_differ = true;
    for (uint32_t i = 0; i < LAP_DEC_FORMATS; i++)
        u->formats.substitutes[i] = (uint16_t)i;
    u->formats.substitutes[VK_FORMAT_S8_UINT] = HERE;
    u->instance.vk.GetPhysicalDeviceProperties2 = get_properties;
    u->dev.vk.CreateRenderPass = create_pass;
    u->dev.vk.CreateRenderPass2 = create_pass2;
    u->dev.vk.CmdSetDepthTestEnable = set_test;
    u->dev.vk.CmdSetDepthBoundsTestEnable = set_bounds;
    for (uint64_t i = ALONE; i <= BOTH; i++) {
        CHECK_EQ_INT(replay_image_add(&u->r, &u->dev, i, gen_VkImage(16 * i), &record), LAP_OK);
        record->recorded_format = i == ALONE ? VK_FORMAT_S8_UINT : HERE;
        record->info.format = HERE;
        CHECK_EQ_INT(replay_object_add(&u->r, GEN_HANDLE_VkImageView, i, 256 * i, &u->dev, &view), LAP_OK);
        view->image = i;
    }
}

static void finish(struct stencils *u)
{
    for (uint64_t i = ALONE; i <= BOTH; i++)
        replay_image_free(&u->r, replay_object_get(&u->r, GEN_HANDLE_VkImage, i)->record);
    replay_tables_finish(&u->r);
    lap_slab_finish(&u->r.objects.images);
    lap_arena_finish(&u->r.arena);
}

UNIT_TEST(transitions_take_depth_along)
{
    const VkImageLayout alone = VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL,
                        read = VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL;
    VkImageAspectFlags aspects = VK_IMAGE_ASPECT_STENCIL_BIT;
    VkImageLayout from = alone, to = read;
    struct stencils u;

    init(&u);
    replay_format_stencil_transition(&u.r, gen_VkImage(16 * BOTH), &aspects, &from, &to);
    CHECK(aspects == VK_IMAGE_ASPECT_STENCIL_BIT && from == alone && to == read);
    replay_format_stencil_transition(&u.r, gen_VkImage(16 * ALONE), &aspects, &from, &to);
    CHECK_EQ_U64(aspects, VK_IMAGE_ASPECT_STENCIL_BIT | VK_IMAGE_ASPECT_DEPTH_BIT);
    CHECK_EQ_U64(from, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL);
    CHECK_EQ_U64(to, VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL);
    CHECK_EQ_U64(replay_format_stencil_layout(&u.r, gen_VkImageView(256 * BOTH), read), read);
    CHECK_EQ_U64(replay_format_stencil_layout(&u.r, VK_NULL_HANDLE, read), read);
    CHECK_EQ_U64(replay_format_stencil_layout(&u.r, gen_VkImageView(256 * ALONE), VK_IMAGE_LAYOUT_GENERAL),
                 VK_IMAGE_LAYOUT_GENERAL);
    CHECK_EQ_U64(replay_format_stencil_layout(&u.r, gen_VkImageView(256 * ALONE), read),
                 VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL);
    finish(&u);
}

/* Two subpasses, the last of which draws to attachment 0 (stencil alone, or both), reads it, and resolves it to 1. */
struct pass {
    VkAttachmentDescription2 attachments[2];
    VkAttachmentReference2 drawn, read, resolved;
    VkSubpassDescriptionDepthStencilResolve resolve;
    VkSubpassDescription2 subpasses[2];
    VkRenderPassCreateInfo2 info;
};

static void describe(struct pass *p, VkFormat format)
{
    const VkAttachmentDescription2 attachment = {.format = format,
                                                 .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                 .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                 .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                 .stencilStoreOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                 .initialLayout = VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL,
                                                 .finalLayout = VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL};
    const VkImageLayout drawn = VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL;
    *p = (struct pass){
        .attachments = {attachment, attachment},
        .drawn = {.attachment = 0, .layout = drawn},
        .read = {.attachment = 0, .layout = VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL},
        .resolved = {.attachment = 1, .layout = drawn},
        .resolve = {.sType = VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_DEPTH_STENCIL_RESOLVE,
                    .stencilResolveMode = VK_RESOLVE_MODE_MAX_BIT,
                    .depthResolveMode = VK_RESOLVE_MODE_AVERAGE_BIT,
                    .pDepthStencilResolveAttachment = &p->resolved},
        .subpasses[1] = {.pNext = &p->resolve,
                         .inputAttachmentCount = 1,
                         .pInputAttachments = &p->read,
                         .pDepthStencilAttachment = &p->drawn},
        .info = {.attachmentCount = 2, .pAttachments = p->attachments, .subpassCount = 2, .pSubpasses = p->subpasses}};
}

static VkRenderPass make(struct stencils *u, uint64_t index, struct pass *p)
{
    VkRenderPass pass = gen_VkRenderPass(index);
    struct gen_args_vkCreateRenderPass2 args = {.pCreateInfo = &p->info, .pRenderPass = &pass};
    CHECK_EQ_INT(replay_CreateRenderPass2(&u->r, &u->dev, &args), LAP_OK);
    return gen_VkRenderPass(replay_object_get(&u->r, GEN_HANDLE_VkRenderPass, index)->live);
}

UNIT_TEST(passes_leave_depth_alone)
{
    struct stencils u;
    struct pass p;

    init(&u);
    describe(&p, VK_FORMAT_S8_UINT);
    make(&u, 1, &p);
    for (int i = 0; i < 2; i++) {
        const VkAttachmentDescription2 *a = &given.attachments[i];
        CHECK_EQ_U64(a->format, HERE);
        CHECK_EQ_U64(a->loadOp, VK_ATTACHMENT_LOAD_OP_DONT_CARE);
        CHECK_EQ_U64(a->storeOp, VK_ATTACHMENT_STORE_OP_DONT_CARE);
        CHECK_EQ_U64(a->stencilLoadOp, VK_ATTACHMENT_LOAD_OP_CLEAR);
        CHECK_EQ_U64(a->stencilStoreOp, VK_ATTACHMENT_STORE_OP_STORE);
        CHECK_EQ_U64(a->initialLayout, VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL);
        CHECK_EQ_U64(a->finalLayout, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL);
    }
    CHECK_EQ_U64(given.drawn.layout, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL);
    CHECK_EQ_U64(given.read.layout, VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL);
    CHECK_EQ_U64(given.resolved.layout, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL);
    CHECK(given.sees_resolve);
    CHECK_EQ_U64(given.resolve.stencilResolveMode, VK_RESOLVE_MODE_MAX_BIT);
    CHECK_EQ_U64(given.resolve.depthResolveMode, VK_RESOLVE_MODE_MAX_BIT); /* one mode for both */
    given.resolves_alone = true;
    describe(&p, VK_FORMAT_S8_UINT);
    make(&u, 2, &p);
    CHECK_EQ_U64(given.resolve.depthResolveMode, VK_RESOLVE_MODE_NONE);
    describe(&p, HERE);
    make(&u, 3, &p);
    CHECK_EQ_U64(given.attachments[0].loadOp, VK_ATTACHMENT_LOAD_OP_LOAD);
    CHECK_EQ_U64(given.attachments[0].finalLayout, VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL);
    CHECK_EQ_U64(given.drawn.layout, VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL);
    CHECK_EQ_U64(given.resolve.depthResolveMode, VK_RESOLVE_MODE_AVERAGE_BIT);
    finish(&u);
}

UNIT_TEST(the_first_form_of_a_pass_is_no_different)
{
    VkAttachmentDescription attachment = {.format = VK_FORMAT_S8_UINT,
                                          .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                          .initialLayout = VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL,
                                          .finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL};
    VkAttachmentReference drawn = {0, VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL},
                          read = {0, VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL};
    const VkSubpassDescription subpass = {
        .inputAttachmentCount = 1, .pInputAttachments = &read, .pDepthStencilAttachment = &drawn};
    const VkRenderPassCreateInfo info = {
        .attachmentCount = 1, .pAttachments = &attachment, .subpassCount = 1, .pSubpasses = &subpass};
    VkRenderPass pass = gen_VkRenderPass(1);
    struct gen_args_vkCreateRenderPass args = {.pCreateInfo = &info, .pRenderPass = &pass};
    struct stencils u;

    init(&u);
    CHECK_EQ_INT(replay_CreateRenderPass(&u.r, &u.dev, &args), LAP_OK);
    CHECK_EQ_U64(given.attachments[0].format, HERE);
    CHECK_EQ_U64(given.attachments[0].loadOp, VK_ATTACHMENT_LOAD_OP_DONT_CARE);
    CHECK_EQ_U64(given.attachments[0].storeOp, VK_ATTACHMENT_STORE_OP_DONT_CARE);
    CHECK_EQ_U64(given.attachments[0].initialLayout, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL);
    CHECK_EQ_U64(given.attachments[0].finalLayout, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    CHECK_EQ_U64(given.drawn.layout, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL);
    CHECK_EQ_U64(given.read.layout, VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL);
    finish(&u);
}

/* In subpass 0 there is no depth, in subpass 1 it was not there when the trace was recorded. */
UNIT_TEST(pipelines_pass_depth_tests_where_there_was_no_depth)
{
    static const VkFormat depths[] = {VK_FORMAT_UNDEFINED, HERE};
    struct stencils u;
    struct pass p;
    VkRenderPass passes[2];

    init(&u);
    for (int both = 0; both < 2; both++) {
        describe(&p, both ? HERE : VK_FORMAT_S8_UINT);
        passes[both] = make(&u, 1 + (uint64_t)both, &p);
    }
    for (int i = 0; i < 6; i++) {
        VkPipelineDepthStencilStateCreateInfo state = {.depthTestEnable = VK_TRUE,
                                                       .depthWriteEnable = VK_TRUE,
                                                       .depthBoundsTestEnable = VK_TRUE,
                                                       .stencilTestEnable = VK_TRUE};
        const VkPipelineRenderingCreateInfo rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                         .depthAttachmentFormat = depths[i % 2],
                                                         .stencilAttachmentFormat = HERE};
        const VkGraphicsPipelineCreateInfo info = {.pNext = i < 4 ? NULL : &rendering,
                                                   .renderPass = i < 4 ? passes[i % 2] : VK_NULL_HANDLE,
                                                   .subpass = (uint32_t)i / 2 % 2,
                                                   .pDepthStencilState = &state};
        bool off = i == 2 || i == 4;
        replay_format_stencil_pipeline(&u.r, &info);
        CHECK(state.depthTestEnable != off && state.depthWriteEnable != off && state.depthBoundsTestEnable != off);
        CHECK(state.stencilTestEnable);
    }
    finish(&u);
}

/* Replays a command, and checks what was set beside it since the last one. */
static void note(struct stencils *u, struct replay_format_depth_tests *tests, uint32_t command, const void *args,
                 const char *expected)
{
    given.tests[0] = 0;
    u->r.at.command = command;
    replay_format_stencil_note(&u->r, &u->dev, VK_NULL_HANDLE, tests, args);
    if (strcmp(given.tests, expected))
        fprintf(stderr, "%s: \"%s\", expected \"%s\"\n", gen_command_names[command], given.tests, expected);
    CHECK(!strcmp(given.tests, expected));
}

UNIT_TEST(dynamic_depth_tests_are_off_where_there_was_no_depth)
{
    const struct gen_args_vkCmdSetDepthTestEnable on = {.depthTestEnable = VK_TRUE}, off = {0};
    const struct gen_args_vkCmdSetDepthBoundsTestEnable bounds = {.depthBoundsTestEnable = VK_TRUE};
    const VkRenderingAttachmentInfo attachment = {.imageView = gen_VkImageView(256 * ALONE)}, none = {0};
    struct replay_format_depth_tests tests = {0}, inherited = {0}, inherited_rendering = {0};
    struct stencils u;
    struct pass p;

    init(&u);
    describe(&p, VK_FORMAT_S8_UINT);
    const VkRenderPassBeginInfo begin = {.renderPass = make(&u, 1, &p)};
    const struct gen_args_vkCmdBeginRenderPass begins = {.pRenderPassBegin = &begin};
    note(&u, &tests, GEN_vkCmdSetDepthTestEnable, &on, "");
    note(&u, &tests, GEN_vkCmdBeginRenderPass, &begins, "");
    note(&u, &tests, GEN_vkCmdNextSubpass, NULL, "t");
    note(&u, &tests, GEN_vkCmdSetDepthTestEnable, &on, "t");
    note(&u, &tests, GEN_vkCmdSetDepthBoundsTestEnable, &bounds, "tb");
    note(&u, &tests, GEN_vkCmdEndRenderPass, NULL, "TB");
    note(&u, &tests, GEN_vkCmdSetDepthTestEnable, &off, "");
    const VkRenderingInfo alone = {.pStencilAttachment = &attachment, .pDepthAttachment = &none},
                          both = {.pStencilAttachment = &attachment, .pDepthAttachment = &attachment};
    const struct gen_args_vkCmdBeginRendering rendering_alone = {.pRenderingInfo = &alone},
                                              rendering_both = {.pRenderingInfo = &both};
    note(&u, &tests, GEN_vkCmdBeginRendering, &rendering_both, "");
    note(&u, &tests, GEN_vkCmdEndRendering, NULL, "");
    note(&u, &tests, GEN_vkCmdBeginRendering, &rendering_alone, "b");
    note(&u, &tests, GEN_vkCmdExecuteCommands, NULL, "");
    note(&u, &tests, GEN_vkCmdEndRendering, NULL, "");

    const VkCommandBufferInheritanceRenderingInfo formats = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO, .stencilAttachmentFormat = HERE};
    const VkCommandBufferInheritanceInfo in_pass = {.renderPass = begin.renderPass, .subpass = 1},
                                         in_rendering = {.pNext = &formats};
    const VkCommandBufferBeginInfo pass_info = {.pInheritanceInfo = &in_pass},
                                   rendering_info = {.pInheritanceInfo = &in_rendering};
    const struct gen_args_vkBeginCommandBuffer begin_pass = {.pBeginInfo = &pass_info},
                                               begin_rendering = {.pBeginInfo = &rendering_info};
    note(&u, &inherited, GEN_vkBeginCommandBuffer, &begin_pass, "");
    note(&u, &inherited, GEN_vkCmdSetDepthTestEnable, &on, "t");
    note(&u, &inherited_rendering, GEN_vkBeginCommandBuffer, &begin_rendering, "");
    note(&u, &inherited_rendering, GEN_vkCmdSetDepthTestEnable, &on, "t");
    finish(&u);
}

UNIT_MAIN();
