/* SPDX-License-Identifier: MIT */
/*
 * conditional: commands that are executed where a word in memory is not 0 (VK_EXT_conditional_rendering), and inverted:
 * draws, dispatches and clears of attachments, in primary command buffers, within and around rendering, in secondary
 * ones and around them. The words are the host's, which stores others before each submit of the same commands, or are
 * written by an update, a copy and a dispatch in front. Cells of a picture and words of a buffer show what was done.
 */
#include "common/canvas.h"

#include "shaders/move_comp.h"

#define CONDITIONAL "VK_EXT_conditional_rendering"
#define WORDS       8u /* of conditions in each buffer */
#define ROUNDS      4u

enum way { DRAWN, CLEARED, AROUND, INSIDE, WAYS }; /* how cells come to be */

struct state {
    struct app app;
    struct app_canvas canvas;
    struct app_buffer host, device, out;
    struct app_compute move, mark; /* from the host's words to the device's, and to the results */
    VkCommandPool pool;
    VkCommandBuffer first, around, inside, dispatches;
    bool inherits;
    PFN_vkCmdBeginConditionalRenderingEXT begin;
    PFN_vkCmdEndConditionalRenderingEXT end;
};

/* Of a round, a buffer (0: the host's) and a number. */
static uint32_t condition(uint32_t round, uint32_t buffer, uint32_t number)
{
    static const uint32_t values[] = {0, 1, 0x80000000u, 0, 7, 0x100, 0, 0xffffffffu};
    return values[(number * (1 + 2 * buffer) + round * 3 + buffer) % COUNT_OF(values)];
}

static bool inverted(uint32_t number)
{
    return number % 3 == 1;
}

static bool happens(uint32_t round, uint32_t buffer, uint32_t number)
{
    return (condition(round, buffer, number) != 0) != inverted(number);
}

static void begin_if(const struct state *state, VkCommandBuffer commands, uint32_t buffer, uint32_t number)
{
    const VkConditionalRenderingBeginInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT,
        .buffer = buffer ? state->device.buffer : state->host.buffer,
        .offset = (VkDeviceSize)number * 4,
        .flags = inverted(number) ? VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT : 0};
    state->begin(commands, &info);
}

static uint32_t color_of(uint32_t cell)
{
    return 0xff000000u | (cell + 1) * 0x030201u;
}

static void clear_cell(VkCommandBuffer commands, uint32_t cell)
{
    VkClearAttachment attachment = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT};
    const VkClearRect rect = {.rect = {{(int32_t)(cell % APP_CELLS * APP_CELL), (int32_t)(cell / APP_CELLS * APP_CELL)},
                                       {APP_CELL, APP_CELL}},
                              .layerCount = 1};
    app_canvas_color(color_of(cell), attachment.clearValue.color.float32);
    vkCmdClearAttachments(commands, 1, &attachment, 1, &rect);
}

/* A row of the picture for each way and buffer. */
static uint32_t cell_of(enum way way, uint32_t buffer, uint32_t number)
{
    return ((uint32_t)way * 2 + buffer) * APP_CELLS + number;
}

static void begin_commands(const struct state *state, VkCommandBuffer commands, bool rendering, bool condition_around)
{
    const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    const VkCommandBufferInheritanceRenderingInfo formats = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
        .colorAttachmentCount = 1,
        .pColorAttachmentFormats = &format,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    const VkCommandBufferInheritanceConditionalRenderingInfoEXT inherited = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_CONDITIONAL_RENDERING_INFO_EXT,
        .pNext = rendering ? &formats : NULL,
        .conditionalRenderingEnable = condition_around};
    const VkCommandBufferInheritanceInfo inherits = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
                                                     .pNext = state->inherits ? &inherited : inherited.pNext};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags =
                                               (rendering ? VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT : 0) |
                                               (condition_around ? VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT : 0),
                                           .pInheritanceInfo = &inherits};
    CHECK_VK(vkBeginCommandBuffer(commands, &info));
}

static void record_secondaries(const struct state *state)
{
    const uint32_t push[] = {0, 2 * WORDS, 0, 5}; /* results[16] = 5 */
    VkCommandBuffer commands = state->around;

    begin_commands(state, commands, true, true);
    app_canvas_bind(&state->canvas, commands);
    for (uint32_t buffer = 0; buffer < 2; buffer++)
        app_canvas_cell(&state->canvas, commands, cell_of(AROUND, buffer, 0), color_of(buffer));
    CHECK_VK(vkEndCommandBuffer(commands));

    commands = state->inside;
    begin_commands(state, commands, true, false);
    app_canvas_bind(&state->canvas, commands);
    for (uint32_t i = 0; i < 2 * WORDS; i++) {
        begin_if(state, commands, i / WORDS, i % WORDS);
        app_canvas_cell(&state->canvas, commands, cell_of(INSIDE, i / WORDS, i % WORDS), color_of(i));
        state->end(commands);
    }
    CHECK_VK(vkEndCommandBuffer(commands));

    commands = state->dispatches;
    begin_commands(state, commands, false, true);
    app_compute_run(&state->mark, commands, push, 1);
    CHECK_VK(vkEndCommandBuffer(commands));
}

/* The device's conditions: some are updated here, some copied, and the rest comes from a dispatch. */
static void record_conditions(const struct state *state, VkCommandBuffer commands)
{
    const VkBufferCopy region = {.srcOffset = (VkDeviceSize)WORDS * 4, .dstOffset = 0, .size = 12};
    const uint32_t push[] = {WORDS + 3, 3, 1, 0};

    vkCmdCopyBuffer(commands, state->host.buffer, state->device.buffer, 1, &region);
    app_compute_run(&state->move, commands, push, WORDS - 3);
    vkCmdFillBuffer(commands, state->out.buffer, 0, VK_WHOLE_SIZE, 9);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_CONDITIONAL_RENDERING_BIT_EXT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_ACCESS_CONDITIONAL_RENDERING_READ_BIT_EXT | VK_ACCESS_SHADER_WRITE_BIT);
}

static void record_dispatches(const struct state *state, VkCommandBuffer commands)
{
    for (uint32_t i = 0; i < 2 * WORDS; i++) {
        const uint32_t push[] = {0, i, 0, 100 + i};
        begin_if(state, commands, i / WORDS, i % WORDS);
        app_compute_run(&state->mark, commands, push, 1);
        state->end(commands);
    }
    if (state->inherits) {
        begin_if(state, commands, 0, 1);
        vkCmdExecuteCommands(commands, 1, &state->dispatches);
        state->end(commands);
    }
}

static void record_draws(const struct state *state, VkCommandBuffer commands)
{
    app_canvas_begin_rendering(&state->canvas, commands, 0, NULL);
    app_canvas_bind(&state->canvas, commands);
    for (uint32_t i = 0; i < 2 * WORDS; i++) {
        uint32_t cell = cell_of(DRAWN, i / WORDS, i % WORDS);
        begin_if(state, commands, i / WORDS, i % WORDS);
        app_canvas_cell(&state->canvas, commands, cell, color_of(cell));
        cell = cell_of(CLEARED, i / WORDS, i % WORDS);
        clear_cell(commands, cell);
        state->end(commands);
    }
    vkCmdEndRendering(commands);
}

/* Over what is there: the picture is loaded. */
static void record_secondary_draws(const struct state *state, VkCommandBuffer commands)
{
    const VkRenderingAttachmentInfo color = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                             .imageView = state->canvas.image.view,
                                             .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                             .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                             .storeOp = VK_ATTACHMENT_STORE_OP_STORE};
    const VkRenderingInfo rendering = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                       .flags = VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT,
                                       .renderArea.extent = {APP_CANVAS_SIZE, APP_CANVAS_SIZE},
                                       .layerCount = 1,
                                       .colorAttachmentCount = 1,
                                       .pColorAttachments = &color};
    app_image_barrier(commands, &state->canvas.image, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
    if (state->inherits)
        begin_if(state, commands, 1, 2);
    vkCmdBeginRendering(commands, &rendering);
    if (state->inherits)
        vkCmdExecuteCommands(commands, 1, &state->around);
    vkCmdEndRendering(commands);
    if (state->inherits)
        state->end(commands);
    app_image_barrier(commands, &state->canvas.image, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdBeginRendering(commands, &rendering);
    vkCmdExecuteCommands(commands, 1, &state->inside);
    app_canvas_end_rendering(&state->canvas, commands);
}

static void record(const struct state *state)
{
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};

    record_secondaries(state);
    CHECK_VK(vkBeginCommandBuffer(state->first, &info));
    record_conditions(state, state->first);
    record_dispatches(state, state->first);
    record_draws(state, state->first);
    record_secondary_draws(state, state->first);
    CHECK_VK(vkEndCommandBuffer(state->first));
}

static void submit_and_check(struct state *state, uint32_t round)
{
    const struct app *app = &state->app;
    uint32_t *host = (uint32_t *)state->host.mapped, *out = (uint32_t *)state->out.mapped;

    for (uint32_t i = 0; i < 2 * WORDS; i++)
        host[i] = condition(round, i / WORDS, i % WORDS);
    app_buffer_flush(app, &state->host, 0, VK_WHOLE_SIZE);
    app_submit_wait(app, 1, &state->first);
    app_buffer_invalidate(app, &state->out, 0, VK_WHOLE_SIZE);
    for (uint32_t i = 0; i < 2 * WORDS; i++) {
        const uint32_t buffer = i / WORDS, number = i % WORDS;
        const bool done = happens(round, buffer, number);
        EXPECT_EQ(app, out[i], done ? 100 + i : 9);
        for (enum way way = DRAWN; way <= CLEARED; way++) {
            const uint32_t cell = cell_of(way, buffer, number);
            EXPECT_EQ(app, app_canvas_look(&state->canvas, cell), done ? color_of(cell) : 0);
        }
        EXPECT_EQ(app, app_canvas_look(&state->canvas, cell_of(INSIDE, buffer, number)), done ? color_of(i) : 0);
    }
    if (!state->inherits)
        return;
    EXPECT_EQ(app, out[2 * WORDS], happens(round, 0, 1) ? 5 : 9);
    for (uint32_t buffer = 0; buffer < 2; buffer++)
        EXPECT_EQ(app, app_canvas_look(&state->canvas, cell_of(AROUND, buffer, 0)),
                  happens(round, 1, 2) ? color_of(buffer) : 0);
}

static void create(struct state *state)
{
    const struct app *app = &state->app;
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = app->queue_family};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};
    VkCommandBuffer *secondaries[] = {&state->around, &state->inside, &state->dispatches};

    state->begin = (PFN_vkCmdBeginConditionalRenderingEXT)app_device_function(app, "vkCmdBeginConditionalRenderingEXT");
    state->end = (PFN_vkCmdEndConditionalRenderingEXT)app_device_function(app, "vkCmdEndConditionalRenderingEXT");
    app_canvas_create(app, &state->canvas);
    app_buffer_create(app, &state->host, (VkDeviceSize)2 * WORDS * 4,
                      VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                          VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                      APP_UPLOAD);
    app_buffer_create(app, &state->device, (VkDeviceSize)WORDS * 4,
                      VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                          VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                      APP_DEVICE);
    app_buffer_create(app, &state->out, (VkDeviceSize)(2 * WORDS + 1) * 4,
                      VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    app_compute_create(app, &state->move, move_comp, sizeof(move_comp), &state->host, &state->device);
    app_compute_create(app, &state->mark, move_comp, sizeof(move_comp), &state->host, &state->out);
    CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &state->pool));
    allocate.commandPool = state->pool;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &state->first));
    allocate.level = VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    for (uint32_t i = 0; i < COUNT_OF(secondaries); i++)
        CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, secondaries[i]));
}

static void destroy(struct state *state)
{
    const struct app *app = &state->app;

    vkDestroyCommandPool(app->device, state->pool, NULL);
    app_compute_destroy(app, &state->move);
    app_compute_destroy(app, &state->mark);
    app_buffer_destroy(app, &state->host);
    app_buffer_destroy(app, &state->device);
    app_buffer_destroy(app, &state->out);
    app_canvas_destroy(&state->canvas);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {.name = "conditional",
                                               .what = "commands that a word in memory decides on"};
    static struct state state;
    VkPhysicalDeviceConditionalRenderingFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT};
    struct app_wishes wishes = {.app = &state.app};

    app_init(&state.app, argc, argv, &program);
    if (state.app.api_version < VK_API_VERSION_1_3 || !APP_WISH(&wishes, CONDITIONAL, features, conditionalRendering))
        app_skip(&state.app, "no " CONDITIONAL);
    state.inherits = features.inheritedConditionalRendering;
    if (!state.inherits)
        printf("left out: conditions around secondary command buffers\n");
    app_wishes_device(&wishes, &state.app, NULL);
    create(&state);
    record(&state);
    for (uint32_t round = 0; round < ROUNDS; round++)
        submit_and_check(&state, round);
    destroy(&state);
    return app_finish(&state.app);
}
