/* SPDX-License-Identifier: MIT */
/*
 * ends: sixteen pieces of work in one submit, one after the other: clears of cells in the two subpasses of a render
 * pass, with a query in it; clears in two secondary command buffers in another render pass; fills of a buffer. With
 * --stop N only the first N are recorded, and what is open then ends. So it says what a trace that is cut there leaves.
 */
#include "common/app.h"

#define FORMAT      VK_FORMAT_R8G8B8A8_UNORM
#define CELL        8u
#define IMAGES      3u
#define STEPS       16u
#define OF_AN_IMAGE 4u /* steps, and cells in a row */
#define WIDTH       (CELL * OF_AN_IMAGE)
#define IMAGE_BYTES (WIDTH * CELL * 4u)
#define PART_BYTES  64u /* of the buffer, that a step fills */
#define NOTHING     0xff000000u

struct scene {
    struct app app;
    uint32_t stop;
    struct app_image images[IMAGES];
    struct app_buffer filled, read;
    VkRenderPass two, one;
    VkFramebuffer framebuffers[2];
    VkQueryPool queries;
    VkCommandBuffer secondary[2];
};

static uint32_t color_of(uint32_t step)
{
    return 0xff000000u | (step + 1) * 0x0c0805u;
}

/* ---- creation ---- */

static VkRenderPass create_pass(const struct app *app, uint32_t count)
{
    VkAttachmentDescription attachments[2];
    VkAttachmentReference references[2];
    VkSubpassDescription subpasses[2];
    const VkSubpassDependency dependency = {.srcSubpass = 0,
                                            .dstSubpass = 1,
                                            .srcStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                                            .dstStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                                            .srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
                                            .dstAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
                                            .dependencyFlags = VK_DEPENDENCY_BY_REGION_BIT};
    const VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = count,
                                         .pAttachments = attachments,
                                         .subpassCount = count,
                                         .pSubpasses = subpasses,
                                         .dependencyCount = count - 1,
                                         .pDependencies = &dependency};
    VkRenderPass pass;

    for (uint32_t i = 0; i < count; i++) {
        attachments[i] = (VkAttachmentDescription){.format = FORMAT,
                                                   .samples = VK_SAMPLE_COUNT_1_BIT,
                                                   .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                   .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                   .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
                                                   .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
                                                   .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
                                                   .finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL};
        references[i] = (VkAttachmentReference){i, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
        subpasses[i] = (VkSubpassDescription){.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
                                              .colorAttachmentCount = 1,
                                              .pColorAttachments = &references[i]};
    }
    CHECK_VK(vkCreateRenderPass(app->device, &info, NULL, &pass));
    return pass;
}

static void create(struct scene *scene)
{
    const struct app *app = &scene->app;
    const VkQueryPoolCreateInfo queries = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_OCCLUSION, .queryCount = 1};
    const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = app->pool,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
                                                  .commandBufferCount = 2};
    VkImageView views[IMAGES];
    VkCommandBuffer commands;

    for (uint32_t i = 0; i < IMAGES; i++) {
        app_image_create_2d(app, &scene->images[i], FORMAT, WIDTH, CELL,
                            VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
        views[i] = scene->images[i].view;
    }
    app_buffer_create(app, &scene->filled, OF_AN_IMAGE * PART_BYTES,
                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_DEVICE);
    app_buffer_create(app, &scene->read, IMAGES * IMAGE_BYTES + scene->filled.size, VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                      APP_READBACK);
    scene->two = create_pass(app, 2);
    scene->one = create_pass(app, 1);
    scene->framebuffers[0] = app_framebuffer(app, scene->two, 2, views, WIDTH, CELL);
    scene->framebuffers[1] = app_framebuffer(app, scene->one, 1, &views[2], WIDTH, CELL);
    CHECK_VK(vkCreateQueryPool(app->device, &queries, NULL, &scene->queries));
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, scene->secondary));
    commands = app_begin(app);
    vkCmdFillBuffer(commands, scene->filled.buffer, 0, VK_WHOLE_SIZE, NOTHING);
    app_run(app, commands);
}

static void destroy(struct scene *scene)
{
    const struct app *app = &scene->app;

    vkDestroyQueryPool(app->device, scene->queries, NULL);
    for (uint32_t i = 0; i < 2; i++)
        vkDestroyFramebuffer(app->device, scene->framebuffers[i], NULL);
    vkDestroyRenderPass(app->device, scene->two, NULL);
    vkDestroyRenderPass(app->device, scene->one, NULL);
    app_buffer_destroy(app, &scene->read);
    app_buffer_destroy(app, &scene->filled);
    for (uint32_t i = 0; i < IMAGES; i++)
        app_image_destroy(app, &scene->images[i]);
}

/* ---- work ---- */

static void begin_pass(VkCommandBuffer commands, VkRenderPass pass, VkFramebuffer framebuffer,
                       VkSubpassContents contents)
{
    const VkClearValue clears[] = {{.color.float32 = {0, 0, 0, 1}}, {.color.float32 = {0, 0, 0, 1}}};
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = pass,
                                         .framebuffer = framebuffer,
                                         .renderArea.extent = {WIDTH, CELL},
                                         .clearValueCount = 2,
                                         .pClearValues = clears};
    vkCmdBeginRenderPass(commands, &begin, contents);
}

static void clear_cell(VkCommandBuffer commands, uint32_t step)
{
    const uint32_t color = color_of(step);
    const VkClearAttachment attachment = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT,
                                          .clearValue.color.float32 = {(float)(color & 255) / 255,
                                                                       (float)(color >> 8 & 255) / 255,
                                                                       (float)(color >> 16 & 255) / 255, 1}};
    const VkClearRect rect = {.rect = {{(int32_t)(step % OF_AN_IMAGE * CELL), 0}, {CELL, CELL}}, .layerCount = 1};
    vkCmdClearAttachments(commands, 1, &attachment, 1, &rect);
}

static void clear_cells(const struct scene *scene, VkCommandBuffer commands, uint32_t first, uint32_t count)
{
    for (uint32_t step = first; step < first + count && step < scene->stop; step++)
        clear_cell(commands, step);
}

/* Steps 0 to 7. */
static void draw_two(const struct scene *scene, VkCommandBuffer commands)
{
    vkCmdResetQueryPool(commands, scene->queries, 0, 1);
    begin_pass(commands, scene->two, scene->framebuffers[0], VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBeginQuery(commands, scene->queries, 0, 0);
    clear_cells(scene, commands, 0, OF_AN_IMAGE);
    vkCmdEndQuery(commands, scene->queries, 0);
    vkCmdNextSubpass(commands, VK_SUBPASS_CONTENTS_INLINE);
    clear_cells(scene, commands, OF_AN_IMAGE, OF_AN_IMAGE);
    vkCmdEndRenderPass(commands);
}

/* Steps 8 to 11, two in a command buffer. */
static void draw_one(const struct scene *scene, VkCommandBuffer commands)
{
    const VkCommandBufferInheritanceInfo inheritance = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
                                                        .renderPass = scene->one,
                                                        .framebuffer = scene->framebuffers[1]};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT,
                                            .pInheritanceInfo = &inheritance};
    const uint32_t first = 2 * OF_AN_IMAGE, count = scene->stop <= first + 2 ? 1 : 2;

    for (uint32_t i = 0; i < count; i++) {
        CHECK_VK(vkBeginCommandBuffer(scene->secondary[i], &begin));
        clear_cells(scene, scene->secondary[i], first + 2 * i, 2);
        CHECK_VK(vkEndCommandBuffer(scene->secondary[i]));
    }
    begin_pass(commands, scene->one, scene->framebuffers[1], VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
    vkCmdExecuteCommands(commands, count, scene->secondary);
    vkCmdEndRenderPass(commands);
}

/* Steps 12 to 15. */
static void fill(const struct scene *scene, VkCommandBuffer commands)
{
    for (uint32_t step = 3 * OF_AN_IMAGE; step < scene->stop; step++)
        vkCmdFillBuffer(commands, scene->filled.buffer, step % OF_AN_IMAGE * PART_BYTES, PART_BYTES, color_of(step));
}

static void work(struct scene *scene)
{
    const struct app *app = &scene->app;
    VkCommandBuffer commands[2] = {app_begin(app)};
    uint32_t count = 1;

    draw_two(scene, commands[0]);
    CHECK_VK(vkEndCommandBuffer(commands[0]));
    if (scene->stop > 2 * OF_AN_IMAGE) {
        commands[count++] = app_begin(app);
        draw_one(scene, commands[1]);
        fill(scene, commands[1]);
        CHECK_VK(vkEndCommandBuffer(commands[1]));
    }
    app_submit_wait(app, count, commands);
    vkFreeCommandBuffers(app->device, app->pool, count, commands);
}

/* ---- checks ---- */

static void check(const struct scene *scene)
{
    const struct app *app = &scene->app;
    const uint32_t images = scene->stop > 2 * OF_AN_IMAGE ? IMAGES : 2; /* that were drawn to */
    const VkBufferCopy all = {.dstOffset = IMAGES * IMAGE_BYTES, .size = scene->filled.size};
    const uint32_t *texels = (const uint32_t *)scene->read.mapped, *words = texels + IMAGES * IMAGE_BYTES / 4;
    VkCommandBuffer commands = app_begin(app);

    for (uint32_t i = 0; i < images; i++) {
        const VkBufferImageCopy region = {.bufferOffset = i * IMAGE_BYTES,
                                          .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                          .imageExtent = {WIDTH, CELL, 1}};
        app_image_barrier(commands, &scene->images[i], VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                          VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
        vkCmdCopyImageToBuffer(commands, scene->images[i].image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                               scene->read.buffer, 1, &region);
    }
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT);
    vkCmdCopyBuffer(commands, scene->filled.buffer, scene->read.buffer, 1, &all);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &scene->read, 0, VK_WHOLE_SIZE);
    for (uint32_t step = 0; step < images * OF_AN_IMAGE; step++)
        EXPECT_EQ(app, texels[step / OF_AN_IMAGE * IMAGE_BYTES / 4 + step % OF_AN_IMAGE * CELL],
                  step < scene->stop ? color_of(step) : NOTHING);
    for (uint32_t step = 3 * OF_AN_IMAGE; step < STEPS; step++)
        EXPECT_EQ(app, words[step % OF_AN_IMAGE * PART_BYTES / 4], step < scene->stop ? color_of(step) : NOTHING);
}

int main(int argc, char **argv)
{
    struct scene scene = {.stop = STEPS};
    const struct app_option options[] = {
        {"--stop", "record only so many pieces of work, at least 1", NULL, &scene.stop}, {NULL, NULL, NULL, NULL}};
    const struct app_program program = {
        .name = "ends", .what = "Work that ends after any piece of it.", .frames = 1, .options = options};

    app_init(&scene.app, argc, argv, &program);
    CHECK(scene.stop >= 1 && scene.stop <= STEPS);
    app_device_create(&scene.app, NULL);
    create(&scene);
    for (uint32_t frame = 0; frame < scene.app.frames; frame++) {
        work(&scene);
        check(&scene);
    }
    destroy(&scene);
    return app_finish(&scene.app);
}
