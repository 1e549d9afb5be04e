/* SPDX-License-Identifier: MIT */
/*
 * attached: linear images as attachments and storage images, read by the host: cleared or loaded, in a part of their
 * area, by render passes with and without images in their framebuffer, by dynamic rendering in two parts, as the target
 * of a resolve, and by imageStore. The host owns the texels beside the render area and the padding of the rows, and
 * writes both while the device is at work. A model without padding says what every texel must be.
 *
 * At the end the program says how many bytes of texels it knows the device to have left in a definite state. With
 * --undefined images lie where something else was before, and are drawn to without being loaded, or stored to in part:
 * only what is cleared is definite then. One is stored to in part in new memory, which is mapped afterwards; what it
 * shows beside that came from nobody who used Vulkan.
 */
#include "common/app.h"
#include "shaders/attached_store_comp.h"

#define SIZE   40u
#define HEIGHT 32u
#define MARGIN 8u /* rows at the top that only the host writes */
#define BLOCK  8u /* drivers that render by the processor read and write small blocks, with what is beside the area */
#define FORMAT VK_FORMAT_R8G8B8A8_UNORM

struct picture {
    VkImage image;
    VkImageView view;
    VkDeviceMemory memory;
    VkSubresourceLayout layout;
    uint8_t *mapped;
    uint32_t model[HEIGHT][SIZE];
};

struct rectangle {
    uint32_t x, y, width, height;
};

struct store_push {
    int32_t x, y, width, height;
    uint32_t value;
};

struct scene {
    struct app *app;
    struct picture target, stored;
    struct app_image samples; /* what is resolved; NULL image: none */
    VkRenderPass passes[3];   /* by load operation: loaded, cleared, nothing */
    VkRenderPass resolving;
    VkFramebuffer framebuffer, imageless, resolve_framebuffer;
    bool has_imageless, has_rendering, has_push, has_stores;
    PFN_vkCmdPushDescriptorSetKHR push_descriptor;
    VkDescriptorSetLayout set_layout, push_set_layout;
    VkDescriptorPool descriptor_pool;
    VkDescriptorSet set;
    VkPipelineLayout layout, push_layout;
    VkPipeline pipeline, push_pipeline;
    VkFence fence;
    uint32_t seed;
    uint64_t definite; /* bytes of texels */
};

static bool undefined;

enum way {
    PASS_CLEARED,
    PASS_LOADED,
    PASS_IMAGELESS,
    RENDERING_CLEARED,
    RENDERING_LOADED,
    RESOLVED,
    STORED,
    PUSHED,
    WAYS
};

static uint32_t *texel(const struct picture *picture, uint32_t x, uint32_t y)
{
    return (uint32_t *)(void *)(picture->mapped + picture->layout.offset + y * picture->layout.rowPitch) + x;
}

static VkClearValue clear_value(uint32_t texel)
{
    VkClearValue value;
    for (uint32_t i = 0; i < 4; i++)
        value.color.float32[i] = (float)(texel >> 8 * i & 0xff) / 255.0f;
    return value;
}

/* ---- pictures ---- */

static void picture_image(const struct app *app, struct picture *picture, VkImageUsageFlags usage,
                          VkImageLayout initial, VkMemoryRequirements *requirements)
{
    const VkImageCreateInfo create = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                      .imageType = VK_IMAGE_TYPE_2D,
                                      .format = FORMAT,
                                      .extent = {SIZE, HEIGHT, 1},
                                      .mipLevels = 1,
                                      .arrayLayers = 1,
                                      .samples = VK_SAMPLE_COUNT_1_BIT,
                                      .tiling = VK_IMAGE_TILING_LINEAR,
                                      .usage = usage,
                                      .initialLayout = initial};
    const VkImageSubresource which = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
    CHECK_VK(vkCreateImage(app->device, &create, NULL, &picture->image));
    vkGetImageMemoryRequirements(app->device, picture->image, requirements);
    vkGetImageSubresourceLayout(app->device, picture->image, &which, &picture->layout);
}

static void picture_memory(const struct app *app, struct picture *picture, const VkMemoryRequirements *requirements)
{
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                     .allocationSize = requirements->size};
    allocate.memoryTypeIndex = app_memory_type_for(app, requirements->memoryTypeBits, APP_READBACK);
    if (!app_memory_coherent(app, allocate.memoryTypeIndex))
        app_skip(app, "linear images have no coherent memory");
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &picture->memory));
}

static void map_picture(const struct app *app, struct picture *picture)
{
    void *mapped = NULL;
    CHECK_VK(vkMapMemory(app->device, picture->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    picture->mapped = mapped;
}

static void picture_view(const struct app *app, struct picture *picture)
{
    const VkImageViewCreateInfo create = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                          .image = picture->image,
                                          .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                          .format = FORMAT,
                                          .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    CHECK_VK(vkBindImageMemory(app->device, picture->image, picture->memory, 0));
    CHECK_VK(vkCreateImageView(app->device, &create, NULL, &picture->view));
}

/* What is left over from a buffer that the device filled, which is gone before the image comes. */
static void leave_something(const struct app *app, const struct picture *picture, VkDeviceSize bytes)
{
    const VkBufferCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkCommandBuffer commands = app_begin(app);
    VkMemoryRequirements requirements;
    VkBuffer buffer;
    CHECK_VK(vkCreateBuffer(app->device, &create, NULL, &buffer));
    vkGetBufferMemoryRequirements(app->device, buffer, &requirements);
    CHECK(requirements.size <= bytes);
    CHECK_VK(vkBindBufferMemory(app->device, buffer, picture->memory, 0));
    vkCmdFillBuffer(commands, buffer, 0, VK_WHOLE_SIZE, 0xa5c3f00f);
    app_run(app, commands);
    vkDestroyBuffer(app->device, buffer, NULL);
}

static void host_fills(struct scene *scene, struct picture *picture, const struct rectangle *where)
{
    for (uint32_t y = where->y; y < where->y + where->height; y++)
        for (uint32_t x = where->x; x < where->x + where->width; x++)
            *texel(picture, x, y) = picture->model[y][x] = app_random(&scene->seed) << 8 | 0xff;
}

static const struct rectangle everything = {0, 0, SIZE, HEIGHT};

static void create_picture(struct scene *scene, struct picture *picture, VkImageUsageFlags usage)
{
    const struct app *app = scene->app;
    VkImageLayout initial = undefined ? VK_IMAGE_LAYOUT_UNDEFINED : VK_IMAGE_LAYOUT_PREINITIALIZED;
    struct app_image image = {.aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    VkMemoryRequirements requirements;
    VkCommandBuffer commands;

    picture_image(app, picture, usage, initial, &requirements);
    picture_memory(app, picture, &requirements);
    map_picture(app, picture);
    if (undefined)
        leave_something(app, picture, requirements.size / 4 * 4);
    picture_view(app, picture);
    if (!undefined)
        host_fills(scene, picture, &everything);
    image.image = picture->image;
    commands = app_begin(app);
    app_image_barrier(commands, &image, initial, VK_IMAGE_LAYOUT_GENERAL);
    app_run(app, commands);
}

static void destroy_picture(const struct app *app, struct picture *picture)
{
    vkDestroyImageView(app->device, picture->view, NULL);
    vkDestroyImage(app->device, picture->image, NULL);
    vkFreeMemory(app->device, picture->memory, NULL);
}

/* ---- passes ---- */

static VkRenderPass create_pass(const struct app *app, VkAttachmentLoadOp load, VkSampleCountFlagBits samples)
{
    const VkAttachmentDescription attachments[2] = {
        {.format = FORMAT,
         .samples = samples,
         .loadOp = load,
         .storeOp = samples == VK_SAMPLE_COUNT_1_BIT ? VK_ATTACHMENT_STORE_OP_STORE : VK_ATTACHMENT_STORE_OP_DONT_CARE,
         .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
         .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
         .initialLayout = samples == VK_SAMPLE_COUNT_1_BIT ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_UNDEFINED,
         .finalLayout = VK_IMAGE_LAYOUT_GENERAL},
        {.format = FORMAT,
         .samples = VK_SAMPLE_COUNT_1_BIT,
         .loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
         .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
         .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
         .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
         .initialLayout = VK_IMAGE_LAYOUT_GENERAL,
         .finalLayout = VK_IMAGE_LAYOUT_GENERAL}};
    const VkAttachmentReference color = {0, VK_IMAGE_LAYOUT_GENERAL}, resolve = {1, VK_IMAGE_LAYOUT_GENERAL};
    const VkSubpassDescription subpass = {.colorAttachmentCount = 1,
                                          .pColorAttachments = &color,
                                          .pResolveAttachments = samples == VK_SAMPLE_COUNT_1_BIT ? NULL : &resolve};
    const VkRenderPassCreateInfo create = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                           .attachmentCount = samples == VK_SAMPLE_COUNT_1_BIT ? 1 : 2,
                                           .pAttachments = attachments,
                                           .subpassCount = 1,
                                           .pSubpasses = &subpass};
    VkRenderPass pass;
    CHECK_VK(vkCreateRenderPass(app->device, &create, NULL, &pass));
    return pass;
}

static VkFramebuffer create_imageless(const struct app *app, VkRenderPass pass)
{
    static const VkFormat format = FORMAT;
    const VkFramebufferAttachmentImageInfo image = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENT_IMAGE_INFO,
                                                    .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
                                                    .width = SIZE,
                                                    .height = HEIGHT,
                                                    .layerCount = 1,
                                                    .viewFormatCount = 1,
                                                    .pViewFormats = &format};
    const VkFramebufferAttachmentsCreateInfo images = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENTS_CREATE_INFO,
                                                       .attachmentImageInfoCount = 1,
                                                       .pAttachmentImageInfos = &image};
    const VkFramebufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                            .pNext = &images,
                                            .flags = VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT,
                                            .renderPass = pass,
                                            .attachmentCount = 1,
                                            .width = SIZE,
                                            .height = HEIGHT,
                                            .layers = 1};
    VkFramebuffer framebuffer;
    CHECK_VK(vkCreateFramebuffer(app->device, &create, NULL, &framebuffer));
    return framebuffer;
}

static void create_passes(struct scene *scene)
{
    const struct app *app = scene->app;
    for (uint32_t load = 0; load < COUNT_OF(scene->passes); load++)
        scene->passes[load] = create_pass(app, (VkAttachmentLoadOp)load, VK_SAMPLE_COUNT_1_BIT);
    scene->framebuffer = app_framebuffer(app, scene->passes[0], 1, &scene->target.view, SIZE, HEIGHT);
    if (scene->has_imageless)
        scene->imageless = create_imageless(app, scene->passes[0]);
    const VkImageCreateInfo create = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                      .imageType = VK_IMAGE_TYPE_2D,
                                      .format = FORMAT,
                                      .extent = {SIZE, HEIGHT, 1},
                                      .mipLevels = 1,
                                      .arrayLayers = 1,
                                      .samples = VK_SAMPLE_COUNT_4_BIT, /* every device has it */
                                      .tiling = VK_IMAGE_TILING_OPTIMAL,
                                      .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT};
    app_image_create(app, &scene->samples, &create, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_2D);
    scene->resolving = create_pass(app, VK_ATTACHMENT_LOAD_OP_CLEAR, VK_SAMPLE_COUNT_4_BIT);
    const VkImageView views[2] = {scene->samples.view, scene->target.view};
    scene->resolve_framebuffer = app_framebuffer(app, scene->resolving, 2, views, SIZE, HEIGHT);
}

/* ---- stores ---- */

static void create_stores(struct scene *scene)
{
    const struct app *app = scene->app;
    const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1, VK_SHADER_STAGE_COMPUTE_BIT,
                                                  NULL};
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &scene->set_layout};
    const VkDescriptorImageInfo image = {.imageView = scene->stored.view, .imageLayout = VK_IMAGE_LAYOUT_GENERAL};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                  .pImageInfo = &image};
    scene->set_layout = app_set_layout(app, 1, &binding);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &scene->descriptor_pool));
    allocate.descriptorPool = scene->descriptor_pool;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &scene->set));
    write.dstSet = scene->set;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    scene->layout =
        app_pipeline_layout(app, 1, &scene->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, sizeof(struct store_push));
    scene->pipeline = app_compute_pipeline(app, attached_store_comp, sizeof attached_store_comp, scene->layout);
    if (!scene->has_push)
        return;
    VkDescriptorSetLayoutCreateInfo pushed = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                              .flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR,
                                              .bindingCount = 1,
                                              .pBindings = &binding};
    CHECK_VK(vkCreateDescriptorSetLayout(app->device, &pushed, NULL, &scene->push_set_layout));
    scene->push_layout =
        app_pipeline_layout(app, 1, &scene->push_set_layout, VK_SHADER_STAGE_COMPUTE_BIT, sizeof(struct store_push));
    scene->push_pipeline =
        app_compute_pipeline(app, attached_store_comp, sizeof attached_store_comp, scene->push_layout);
    scene->push_descriptor = (PFN_vkCmdPushDescriptorSetKHR)app_device_function(app, "vkCmdPushDescriptorSetKHR");
}

static void store(struct scene *scene, VkCommandBuffer commands, bool pushed, const struct rectangle *where)
{
    const VkDescriptorImageInfo image = {.imageView = scene->stored.view, .imageLayout = VK_IMAGE_LAYOUT_GENERAL};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                        .pImageInfo = &image};
    const struct store_push push = {(int32_t)where->x, (int32_t)where->y, (int32_t)where->width, (int32_t)where->height,
                                    app_random(&scene->seed)};
    VkPipelineLayout layout = pushed ? scene->push_layout : scene->layout;
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pushed ? scene->push_pipeline : scene->pipeline);
    if (pushed)
        scene->push_descriptor(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &write);
    else
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &scene->set, 0, NULL);
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
    vkCmdDispatch(commands, (where->width + 7) / 8, (where->height + 7) / 8, 1);
    for (uint32_t y = where->y; y < where->y + where->height; y++)
        for (uint32_t x = where->x; x < where->x + where->width; x++)
            scene->stored.model[y][x] = push.value;
}

/* ---- drawing ---- */

static VkRect2D rect_of(const struct rectangle *r)
{
    return (VkRect2D){{(int32_t)r->x, (int32_t)r->y}, {r->width, r->height}};
}

/* A rectangle within the render area. */
static void draw(struct scene *scene, VkCommandBuffer commands, const struct rectangle *where)
{
    const uint32_t color = app_random(&scene->seed);
    const VkClearAttachment clear = {VK_IMAGE_ASPECT_COLOR_BIT, 0, clear_value(color)};
    const VkClearRect rect = {rect_of(where), 0, 1};
    vkCmdClearAttachments(commands, 1, &clear, 1, &rect);
    for (uint32_t y = where->y; y < where->y + where->height; y++)
        for (uint32_t x = where->x; x < where->x + where->width; x++)
            scene->target.model[y][x] = color;
}

static void cleared(struct scene *scene, const struct rectangle *area, uint32_t color)
{
    for (uint32_t y = area->y; y < area->y + area->height; y++)
        for (uint32_t x = area->x; x < area->x + area->width; x++)
            scene->target.model[y][x] = color;
}

static void draw_in_pass(struct scene *scene, VkCommandBuffer commands, enum way way, VkAttachmentLoadOp load,
                         const struct rectangle *area, const struct rectangle *inner)
{
    const uint32_t color = app_random(&scene->seed);
    const VkClearValue clear = clear_value(color);
    const VkRenderPassAttachmentBeginInfo views = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO,
                                                   .attachmentCount = 1,
                                                   .pAttachments = &scene->target.view};
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .pNext = way == PASS_IMAGELESS ? &views : NULL,
                                         .renderPass = way == RESOLVED ? scene->resolving : scene->passes[load],
                                         .framebuffer = way == RESOLVED         ? scene->resolve_framebuffer
                                                        : way == PASS_IMAGELESS ? scene->imageless
                                                                                : scene->framebuffer,
                                         .renderArea = rect_of(area),
                                         .clearValueCount = 1,
                                         .pClearValues = &clear};
    if (load == VK_ATTACHMENT_LOAD_OP_CLEAR)
        cleared(scene, area, color);
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    draw(scene, commands, inner);
    vkCmdEndRenderPass(commands);
}

static void draw_dynamically(struct scene *scene, VkCommandBuffer commands, VkAttachmentLoadOp load,
                             const struct rectangle *area, const struct rectangle *inner)
{
    const uint32_t color = app_random(&scene->seed);
    const VkRenderingAttachmentInfo attachment = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                                  .imageView = scene->target.view,
                                                  .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                                  .loadOp = load,
                                                  .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                  .clearValue = clear_value(color)};
    VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                            .renderArea = rect_of(area),
                            .layerCount = 1,
                            .colorAttachmentCount = 1,
                            .pColorAttachments = &attachment};
    struct rectangle first = *inner, second = *inner;
    if (load == VK_ATTACHMENT_LOAD_OP_CLEAR)
        cleared(scene, area, color);
    first.height /= 2;
    second.y += first.height;
    second.height -= first.height;
    info.flags = VK_RENDERING_SUSPENDING_BIT;
    vkCmdBeginRendering(commands, &info);
    draw(scene, commands, &first);
    vkCmdEndRendering(commands);
    info.flags = VK_RENDERING_RESUMING_BIT;
    vkCmdBeginRendering(commands, &info);
    draw(scene, commands, &second);
    vkCmdEndRendering(commands);
}

/* ---- frames ---- */

static bool has(const struct scene *scene, enum way way)
{
    switch (way) {
    case PASS_IMAGELESS:
        return scene->has_imageless;
    case RENDERING_CLEARED:
    case RENDERING_LOADED:
        return scene->has_rendering;
    case STORED:
        return scene->has_stores;
    case PUSHED:
        return scene->has_stores && scene->has_push;
    default:
        return true;
    }
}

static void record(struct scene *scene, VkCommandBuffer commands, enum way way, const struct rectangle *area,
                   const struct rectangle *inner)
{
    const VkAttachmentLoadOp vague = undefined ? VK_ATTACHMENT_LOAD_OP_DONT_CARE : VK_ATTACHMENT_LOAD_OP_LOAD;
    const VkDeviceSize bytes = (VkDeviceSize)area->width * area->height * 4;
    switch (way) {
    case PASS_CLEARED:
    case PASS_IMAGELESS:
    case RESOLVED:
        draw_in_pass(scene, commands, way, VK_ATTACHMENT_LOAD_OP_CLEAR, area, inner);
        scene->definite += bytes;
        break;
    case PASS_LOADED:
        draw_in_pass(scene, commands, way, vague, area, inner);
        scene->definite += undefined ? 0 : bytes;
        break;
    case RENDERING_CLEARED:
        draw_dynamically(scene, commands, VK_ATTACHMENT_LOAD_OP_CLEAR, area, inner);
        scene->definite += bytes;
        break;
    case RENDERING_LOADED: /* with --undefined it loads what is left over */
        draw_dynamically(scene, commands, VK_ATTACHMENT_LOAD_OP_LOAD, area, inner);
        scene->definite += undefined ? 0 : bytes;
        break;
    default:
        store(scene, commands, way == PUSHED, inner);
        scene->definite += undefined ? 0 : SIZE * HEIGHT * 4;
        break;
    }
}

/* The device has nothing to do with these texels, nor with what is between the rows. */
static void host_writes_beside(struct scene *scene, const struct rectangle *area, uint32_t frame)
{
    const uint32_t left_end = area->x / BLOCK * BLOCK,
                   right_begin = (area->x + area->width + BLOCK - 1) / BLOCK * BLOCK;
    const struct rectangle top = {0, 0, SIZE, MARGIN}, left = {0, area->y, left_end, area->height},
                           right = {right_begin, area->y, SIZE - right_begin, area->height};
    struct picture *target = &scene->target;
    host_fills(scene, target, &top);
    host_fills(scene, target, &left);
    host_fills(scene, target, &right);
    for (uint32_t y = 0; y + 1 < HEIGHT; y++)
        memset(texel(target, SIZE, y), (int)(frame + y), (size_t)target->layout.rowPitch - (size_t)SIZE * 4);
}

static void check(struct scene *scene, uint32_t frame)
{
    const struct picture *target = &scene->target;
    for (uint32_t y = 0; y < HEIGHT && !undefined; y++) {
        EXPECT_EQ(scene->app, memcmp(texel(target, 0, y), target->model[y], sizeof target->model[y]), 0);
        if (scene->has_stores)
            EXPECT_EQ(scene->app,
                      memcmp(texel(&scene->stored, 0, y), scene->stored.model[y], sizeof scene->stored.model[y]), 0);
    }
    for (uint32_t y = 0; y + 1 < HEIGHT; y++) {
        const uint8_t *padding = (const uint8_t *)texel(target, SIZE, y);
        for (size_t i = 0; i < (size_t)target->layout.rowPitch - (size_t)SIZE * 4; i++)
            EXPECT_EQ(scene->app, padding[i], (uint8_t)(frame + y));
    }
}

static void run_frame(struct scene *scene, uint32_t frame)
{
    const struct app *app = scene->app;
    const struct rectangle area = {7 + frame % 5, MARGIN + 1 + frame % 3, 17, 13},
                           inner = {area.x + 2, area.y + 3, 9, 6}, loaded = {area.x + 1, area.y + 1, 15, 2};
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1};
    VkCommandBuffer commands;

    if (!undefined)
        host_fills(scene, &scene->target, &loaded);
    commands = app_begin(app);
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1,
                         &barrier, 0, NULL, 0, NULL);
    record(scene, commands, (enum way)(frame % WAYS), &area, &inner);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    CHECK_VK(vkEndCommandBuffer(commands));
    submit.pCommandBuffers = &commands;
    CHECK_VK(vkResetFences(app->device, 1, &scene->fence));
    CHECK_VK(vkQueueSubmit(app->queue, 1, &submit, scene->fence));
    host_writes_beside(scene, &area, frame);
    CHECK_VK(vkWaitForFences(app->device, 1, &scene->fence, VK_TRUE, UINT64_MAX));
    vkFreeCommandBuffers(app->device, app->pool, 1, &commands);
    check(scene, frame);
}

/* New memory often is what was freed a moment ago. The program does not see it before it is stored to. */
static void store_in_new_memory(struct scene *scene)
{
    const struct app *app = scene->app;
    const struct rectangle where = {5, 4, 16, 8};
    struct picture picture = {0};
    struct app_image image = {.aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    VkDescriptorImageInfo info = {.imageLayout = VK_IMAGE_LAYOUT_GENERAL};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = scene->set,
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                        .pImageInfo = &info};
    VkMemoryRequirements requirements;
    VkCommandBuffer commands;

    picture_image(app, &picture, VK_IMAGE_USAGE_STORAGE_BIT, VK_IMAGE_LAYOUT_UNDEFINED, &requirements);
    picture_memory(app, &picture, &requirements);
    map_picture(app, &picture);
    memset(picture.mapped, 0x5a, requirements.size);
    vkFreeMemory(app->device, picture.memory, NULL);
    picture_memory(app, &picture, &requirements);
    picture_view(app, &picture);
    info.imageView = picture.view;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    image.image = picture.image;
    commands = app_begin(app);
    app_image_barrier(commands, &image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    store(scene, commands, false, &where);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    map_picture(app, &picture);
    for (uint32_t y = where.y; y < where.y + where.height; y++)
        EXPECT_EQ(app, memcmp(texel(&picture, where.x, y), &scene->stored.model[y][where.x], (size_t)where.width * 4),
                  0);
    scene->definite += SIZE * HEIGHT * 4;
    destroy_picture(app, &picture);
}

/* ---- device ---- */

static void create_device(struct scene *scene)
{
    struct app *app = scene->app;
    VkPhysicalDeviceVulkan13Features features13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    VkPhysicalDeviceVulkan12Features features12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                   .pNext = &features13};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &features12};
    VkPhysicalDeviceVulkan13Features want13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    VkPhysicalDeviceVulkan12Features want12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                               .pNext = &want13};
    static const char *const push = "VK_KHR_push_descriptor";
    struct app_device_request request = {.extensions = &push};

    if (app->api_version >= VK_API_VERSION_1_3) {
        vkGetPhysicalDeviceFeatures2(app->physical, &features);
        scene->has_imageless = features12.imagelessFramebuffer;
        scene->has_rendering = features13.dynamicRendering;
        want12.imagelessFramebuffer = features12.imagelessFramebuffer;
        want13.dynamicRendering = features13.dynamicRendering;
        request.next = &want12;
    }
    scene->has_push = app_has_extension(app, push);
    request.extension_count = scene->has_push;
    app_device_create(app, &request);
}

static void destroy_scene(struct scene *scene)
{
    const struct app *app = scene->app;
    vkDestroyFence(app->device, scene->fence, NULL);
    vkDestroyPipeline(app->device, scene->push_pipeline, NULL);
    vkDestroyPipeline(app->device, scene->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, scene->push_layout, NULL);
    vkDestroyPipelineLayout(app->device, scene->layout, NULL);
    vkDestroyDescriptorPool(app->device, scene->descriptor_pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, scene->push_set_layout, NULL);
    vkDestroyDescriptorSetLayout(app->device, scene->set_layout, NULL);
    vkDestroyFramebuffer(app->device, scene->resolve_framebuffer, NULL);
    vkDestroyFramebuffer(app->device, scene->imageless, NULL);
    vkDestroyFramebuffer(app->device, scene->framebuffer, NULL);
    vkDestroyRenderPass(app->device, scene->resolving, NULL);
    for (uint32_t i = 0; i < COUNT_OF(scene->passes); i++)
        vkDestroyRenderPass(app->device, scene->passes[i], NULL);
    app_image_destroy(app, &scene->samples);
    destroy_picture(app, &scene->stored);
    destroy_picture(app, &scene->target);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--undefined", "images over leftovers, that are drawn to without being loaded", &undefined, NULL}, {0}};
    static const struct app_program program = {
        .name = "attached",
        .what = "Linear images as attachments and storage images, beside texels of the host.",
        .frames = 24,
        .options = options,
    };
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    struct scene scene = {.seed = 7};
    struct app app;
    app_init(&app, argc, argv, &program);
    if (!app_format_has(&app, FORMAT, VK_IMAGE_TILING_LINEAR, VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT))
        app_skip(&app, "images of linear tiling are no attachments");
    scene.app = &app;
    create_device(&scene);
    scene.has_stores = app_format_has(&app, FORMAT, VK_IMAGE_TILING_LINEAR, VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT);
    create_picture(&scene, &scene.target, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT);
    create_passes(&scene);
    if (scene.has_stores) {
        create_picture(&scene, &scene.stored, VK_IMAGE_USAGE_STORAGE_BIT);
        create_stores(&scene);
    }
    CHECK_VK(vkCreateFence(app.device, &fence, NULL, &scene.fence));
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        if (has(&scene, (enum way)(frame % WAYS)))
            run_frame(&scene, frame);
        else
            printf("left out: frame %u, which the device can't draw\n", frame);
    }
    if (undefined && scene.has_stores)
        store_in_new_memory(&scene);
    printf("definite bytes of the device: %" PRIu64 "\n", scene.definite);
    destroy_scene(&scene);
    return app_finish(&app);
}
