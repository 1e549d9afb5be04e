/* SPDX-License-Identifier: MIT */
/*
 * suspended: dynamic rendering that one command buffer begins and suspends, and others of the same submission resume:
 * three primary ones with one between them that only sets state, then secondary ones that resume what the primary one
 * suspended, and the other way round. The first command buffer of each also writes a word that only the last submission
 * reads, while nobody reads the picture any more. --stop N: only the first parts are drawn, and the picture is not
 * read.
 */
#include "common/app.h"
#include "shaders/headless_frag.h"
#include "shaders/headless_vert.h"

#define PARTS  3u /* of a picture, each drawn by another command buffer */
#define STRIP  16u
#define SIZE   (PARTS * STRIP)
#define ROUNDS 4u
#define FORMAT VK_FORMAT_R8G8B8A8_UNORM

enum primary { FIRST, BETWEEN, SECOND, THIRD, OUTER, LAST, PRIMARIES };
enum secondary { WITHIN, RESUMES, SETS, ENDS, SECONDARIES };

struct state {
    struct app app;
    uint32_t stop; /* parts that are drawn */
    struct app_buffer words, read, pixels;
    struct app_image target;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkCommandPool pool;
    VkCommandBuffer primary[PRIMARIES], secondary[SECONDARIES];
};

/* ---- commands ---- */

static void begin(VkCommandBuffer commands)
{
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    CHECK_VK(vkBeginCommandBuffer(commands, &info));
}

static VkRenderingFlags flags_of(const struct state *state, uint32_t part)
{
    return (part ? VK_RENDERING_RESUMING_BIT : 0u) | (part + 1 < state->stop ? VK_RENDERING_SUSPENDING_BIT : 0u);
}

/* within: it continues the first part. */
static void begin_secondary(const struct state *state, VkCommandBuffer commands, bool within)
{
    static const VkFormat format = FORMAT;
    const VkCommandBufferInheritanceRenderingInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
        .flags = flags_of(state, 0),
        .colorAttachmentCount = 1,
        .pColorAttachmentFormats = &format,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    const VkCommandBufferInheritanceInfo inherits = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
                                                     .pNext = within ? &rendering : NULL};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = within ? VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT : 0,
                                           .pInheritanceInfo = &inherits};
    CHECK_VK(vkBeginCommandBuffer(commands, &info));
}

static void begin_rendering(const struct state *state, VkCommandBuffer commands, VkRenderingFlags flags)
{
    const VkRenderingAttachmentInfo color = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                             .imageView = state->target.view,
                                             .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                             .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                             .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                             .clearValue = {.color.float32 = {0, 0, 0, 1}}};
    const VkRenderingInfo rendering = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                       .flags = flags,
                                       .renderArea.extent = {SIZE, SIZE},
                                       .layerCount = 1,
                                       .colorAttachmentCount = 1,
                                       .pColorAttachments = &color};
    vkCmdBeginRendering(commands, &rendering);
}

static uint32_t shade(uint32_t round, uint32_t part)
{
    return (round * PARTS + part) & 15;
}

/* What a draw needs; none of it is an action, so it may stand where rendering is suspended. */
static void set_state(const struct state *state, VkCommandBuffer commands, uint32_t round, uint32_t part)
{
    const VkViewport viewport = {0, 0, SIZE, SIZE, 0, 1};
    const VkRect2D strip = {{0, (int32_t)(part * STRIP)}, {SIZE, STRIP}};
    const uint32_t frame = shade(round, part);

    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, state->pipeline);
    vkCmdSetViewport(commands, 0, 1, &viewport);
    vkCmdSetScissor(commands, 0, 1, &strip);
    vkCmdPushConstants(commands, state->layout, VK_SHADER_STAGE_FRAGMENT_BIT, 0, 4, &frame);
}

static void render(const struct state *state, VkCommandBuffer commands, uint32_t part)
{
    if (part >= state->stop)
        return;
    begin_rendering(state, commands, flags_of(state, part));
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdEndRendering(commands);
}

static uint32_t word(uint32_t number)
{
    return 0xa0000000u + number * 1000003u;
}

/* Before the first part of a picture. */
static void write_word(const struct state *state, VkCommandBuffer commands, uint32_t number)
{
    vkCmdFillBuffer(commands, state->words.buffer, number * 4, 4, word(number));
    app_image_barrier(commands, &state->target, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
}

/* Behind the last part of a picture. */
static void read_picture(const struct state *state, VkCommandBuffer commands)
{
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {SIZE, SIZE, 1}};

    if (state->stop < PARTS)
        return;
    app_image_barrier(commands, &state->target, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                      VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    vkCmdCopyImageToBuffer(commands, state->target.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, state->pixels.buffer, 1,
                           &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

static void record_primaries(const struct state *state, uint32_t round)
{
    const VkCommandBuffer *commands = state->primary;

    begin(commands[FIRST]);
    write_word(state, commands[FIRST], round * 2);
    set_state(state, commands[FIRST], round, 0);
    render(state, commands[FIRST], 0);
    CHECK_VK(vkEndCommandBuffer(commands[FIRST]));

    begin(commands[BETWEEN]);
    set_state(state, commands[BETWEEN], round, 1);
    CHECK_VK(vkEndCommandBuffer(commands[BETWEEN]));

    begin(commands[SECOND]);
    set_state(state, commands[SECOND], round, 1);
    render(state, commands[SECOND], 1);
    CHECK_VK(vkEndCommandBuffer(commands[SECOND]));

    begin(commands[THIRD]);
    set_state(state, commands[THIRD], round, 2);
    render(state, commands[THIRD], 2);
    read_picture(state, commands[THIRD]);
    CHECK_VK(vkEndCommandBuffer(commands[THIRD]));
}

static void record_secondaries(const struct state *state, uint32_t round)
{
    const VkCommandBuffer *outer = state->primary, *inner = state->secondary;

    begin_secondary(state, inner[WITHIN], true);
    set_state(state, inner[WITHIN], round, 0);
    vkCmdDraw(inner[WITHIN], 3, 1, 0, 0);
    CHECK_VK(vkEndCommandBuffer(inner[WITHIN]));

    begin_secondary(state, inner[RESUMES], false);
    set_state(state, inner[RESUMES], round, 1);
    render(state, inner[RESUMES], 1);
    CHECK_VK(vkEndCommandBuffer(inner[RESUMES]));

    begin_secondary(state, inner[SETS], false);
    set_state(state, inner[SETS], round, 2);
    CHECK_VK(vkEndCommandBuffer(inner[SETS]));

    begin_secondary(state, inner[ENDS], false);
    set_state(state, inner[ENDS], round, 2);
    render(state, inner[ENDS], 2);
    CHECK_VK(vkEndCommandBuffer(inner[ENDS]));

    begin(outer[OUTER]);
    write_word(state, outer[OUTER], round * 2 + 1);
    begin_rendering(state, outer[OUTER], flags_of(state, 0) | VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
    vkCmdExecuteCommands(outer[OUTER], 1, &inner[WITHIN]);
    vkCmdEndRendering(outer[OUTER]);
    vkCmdExecuteCommands(outer[OUTER], 1, &inner[RESUMES]);
    CHECK_VK(vkEndCommandBuffer(outer[OUTER]));

    begin(outer[LAST]);
    vkCmdExecuteCommands(outer[LAST], 2, &inner[SETS]);
    read_picture(state, outer[LAST]);
    CHECK_VK(vkEndCommandBuffer(outer[LAST]));
}

/* ---- checks ---- */

static void check_picture(const struct state *state, uint32_t round)
{
    const struct app *app = &state->app;

    if (state->stop < PARTS)
        return;
    app_buffer_invalidate(app, &state->pixels, 0, state->pixels.size);
    for (uint32_t y = 0; y < SIZE; y++)
        for (uint32_t x = 0; x < SIZE; x++)
            EXPECT_EQ(app, ((uint32_t *)state->pixels.mapped)[y * SIZE + x],
                      (x / 16 * 32) | (y / 16 * 32) << 8 | shade(round, y / STRIP) * 16 << 16 | 0xff000000u);
}

static void check_words(const struct state *state)
{
    const struct app *app = &state->app;
    const VkBufferCopy region = {.size = ROUNDS * 2 * 4};
    VkCommandBuffer commands = app_begin(app);

    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT);
    vkCmdCopyBuffer(commands, state->words.buffer, state->read.buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &state->read, 0, state->read.size);
    for (uint32_t i = 0; i < ROUNDS * 2; i++)
        EXPECT_EQ(app, ((uint32_t *)state->read.mapped)[i], word(i));
}

/* ---- the whole ---- */

static void create(struct state *state)
{
    const struct app *app = &state->app;
    static const VkFormat format = FORMAT;
    const VkPipelineRenderingCreateInfo rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                     .colorAttachmentCount = 1,
                                                     .pColorAttachmentFormats = &format};
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = app->queue_family};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = PRIMARIES};
    struct app_pipeline shaders = {.vertex = app_shader(app, headless_vert, sizeof(headless_vert)),
                                   .fragment = app_shader(app, headless_frag, sizeof(headless_frag)),
                                   .next = &rendering,
                                   .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                   .color_count = 1};

    app_buffer_create(app, &state->words, ROUNDS * 2 * 4,
                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_DEVICE);
    app_buffer_create(app, &state->read, ROUNDS * 2 * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_buffer_create(app, &state->pixels, SIZE * SIZE * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_image_create_2d(app, &state->target, FORMAT, SIZE, SIZE,
                        VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    state->layout = app_pipeline_layout(app, 0, NULL, VK_SHADER_STAGE_FRAGMENT_BIT, 4);
    shaders.layout = state->layout;
    state->pipeline = app_graphics_pipeline(app, &shaders);
    vkDestroyShaderModule(app->device, shaders.vertex, NULL);
    vkDestroyShaderModule(app->device, shaders.fragment, NULL);
    CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &state->pool));
    allocate.commandPool = state->pool;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, state->primary));
    allocate.level = VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    allocate.commandBufferCount = SECONDARIES;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, state->secondary));
}

static void destroy(struct state *state)
{
    const struct app *app = &state->app;

    vkDestroyCommandPool(app->device, state->pool, NULL);
    vkDestroyPipeline(app->device, state->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, state->layout, NULL);
    app_image_destroy(app, &state->target);
    app_buffer_destroy(app, &state->words);
    app_buffer_destroy(app, &state->read);
    app_buffer_destroy(app, &state->pixels);
}

int main(int argc, char **argv)
{
    static uint32_t stop = PARTS;
    static const struct app_option options[] = {{"--stop", "draw so many parts", NULL, &stop}, {0}};
    static const struct app_program program = {
        .name = "suspended",
        .what = "Dynamic rendering that other command buffers of the submission resume.",
        .options = options};
    VkPhysicalDeviceVulkan13Features features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                                 .dynamicRendering = VK_TRUE};
    const struct app_device_request request = {.next = &features};
    static struct state state;
    struct app *app = &state.app;

    app_init(app, argc, argv, &program);
    CHECK(stop >= 1 && stop <= PARTS);
    state.stop = stop;
    if (app->api_version < VK_API_VERSION_1_3)
        app_skip(app, "needs Vulkan 1.3");
    app_device_create(app, &request);
    create(&state);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        record_primaries(&state, round);
        app_submit_wait(app, THIRD + 1, state.primary);
        check_picture(&state, round);
        record_secondaries(&state, round);
        app_submit_wait(app, 2, &state.primary[OUTER]);
        check_picture(&state, round);
    }
    check_words(&state);
    destroy(&state);
    app_device_destroy(app);
    return app_finish(app);
}
