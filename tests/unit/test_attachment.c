/* SPDX-License-Identifier: MIT */
/* Which texels of linear images attachments and stores of shaders write, and what is known of them afterwards. The
 * layer around attachment.c, render_pass.c and image_region.c is replaced by the few functions that they call. */
#include "layer/command/attachment.h"
#include "layer/command/image_region.h"
#include "layer/command/image_state.h"
#include "tests/unit/layer_device.h"

/* Texels of 4 bytes; 16 of them in a row, in 128 bytes; layers of 8192 bytes, in which level 1 begins at 4096. */
enum { WIDTH = 16, HEIGHT = 24, LAYERS = 4, PITCH = 128, LAYER = 8192, LEVEL = 4096, IMAGES = 3, VIEWS = 4, TEXEL = 4 };

static struct layer_image images[IMAGES]; /* linear; linear, other contents; optimal */
static struct layer_image_view views[VIEWS];
static struct layer_framebuffer framebuffer;
static struct layer_render_pass pass;
static struct layer_cmdbuf cb;

static VKAPI_ATTR void VKAPI_CALL subresource_layout(VkDevice device, VkImage image, const VkImageSubresource *which,
                                                     VkSubresourceLayout *out)
{
    *out = (VkSubresourceLayout){.offset = which->arrayLayer * LAYER + which->mipLevel * LEVEL, .rowPitch = PITCH};
}

#define IMAGE(n)    (0x100 + (n))
#define VIEW(n)     gen_VkImageView(0x200 + (n))
#define FRAMEBUFFER gen_VkFramebuffer(0x300)
#define PASS        gen_VkRenderPass(0x400)

static void add_image(uint32_t number, VkImageTiling tiling, uint32_t height)
{
    struct layer_image *image = &images[number];
    add_record(GEN_HANDLE_VkImage, IMAGE(number), number + 1, &image->object);
    image->info = (VkImageCreateInfo){.imageType = VK_IMAGE_TYPE_2D,
                                      .format = VK_FORMAT_R8G8B8A8_UNORM,
                                      .extent = {WIDTH, height, 1},
                                      .mipLevels = 2,
                                      .arrayLayers = LAYERS,
                                      .tiling = tiling};
    image->bytes = (VkDeviceSize)height * PITCH + LAYERS * LAYER;
    CHECK_EQ_INT(
        lap_memobj_create(dev->memtrack, image, image->bytes, tiling == VK_IMAGE_TILING_LINEAR, &image->memobj),
        LAP_OK);
    CHECK(layer_resource_add(dev, layer_resource_of_image(image), image->memobj));
}

static void add_view(uint32_t number, uint32_t image, struct layer_view_range range)
{
    add_record(GEN_HANDLE_VkImageView, 0x200 + number, number + 1, &views[number].object);
    views[number].image = &images[image];
    views[number].range = range;
}

static void begin(void)
{
    init_device();
    dev->vk.GetImageSubresourceLayout = subresource_layout;
    memset(images, 0, sizeof images);
    memset(views, 0, sizeof views);
    memset(&framebuffer, 0, sizeof framebuffer);
    memset(&pass, 0, sizeof pass);
    memset(&cb, 0, sizeof cb);
    add_image(0, VK_IMAGE_TILING_LINEAR, HEIGHT);
    add_image(1, VK_IMAGE_TILING_LINEAR, 1000);
    add_image(2, VK_IMAGE_TILING_OPTIMAL, HEIGHT);
    add_view(0, 0, (struct layer_view_range){1, 3, VK_IMAGE_ASPECT_COLOR_BIT, 0, 1});
    add_view(1, 1, (struct layer_view_range){0, 1, VK_IMAGE_ASPECT_COLOR_BIT, 0, 1});
    add_view(2, 2, (struct layer_view_range){0, 1, VK_IMAGE_ASPECT_COLOR_BIT, 0, 1});
    add_view(3, 0, (struct layer_view_range){2, 1, VK_IMAGE_ASPECT_COLOR_BIT, 1, 1});
    add_record(GEN_HANDLE_VkFramebuffer, 0x300, 1, &framebuffer.object);
    add_record(GEN_HANDLE_VkRenderPass, 0x400, 1, &pass.head.object);
    layer_touch_reset(&cb);
    cb.device = dev;
    cb.state = LAYER_CMDBUF_RECORDING;
}

static void end(void)
{
    layer_touch_finish(&cb);
    layer_framebuffer_finish(&framebuffer.object);
    layer_render_pass_finish(&pass.head.object);
    finish_device();
}

/* ---- what is expected ---- */

struct range {
    uint32_t image;
    uint64_t offset, bytes;
};

static void check_list(const char *what, struct lap_touched *list, uint32_t count, const struct range *expected)
{
    lap_touched_seal(list);
    if (list->count != count)
        printf("%s: %zu ranges\n", what, list->count);
    CHECK_EQ_U64(list->count, count);
    for (uint32_t i = 0; i < count && i < list->count; i++) {
        CHECK(list->ranges[i].written);
        CHECK(list->ranges[i].object == images[expected[i].image].memobj);
        CHECK_EQ_U64(list->ranges[i].offset, expected[i].offset);
        CHECK_EQ_U64(list->ranges[i].bytes, expected[i].bytes);
    }
}

/* These ranges and no others are written, all of them in this way. Then nothing is touched any more. */
static void check_written(enum layer_touch how, uint32_t count, const struct range *expected)
{
    check_list("written", &cb.touched.ranges, count, expected);
    check_list("partly", &cb.touched.partly, how == LAYER_WRITES_PARTLY ? count : 0, expected);
    check_list("unchecked", &cb.touched.unchecked, how == LAYER_WRITES_VARYING ? count : 0, expected);
    layer_touch_reset(&cb);
}

#define ALL(image)                                                                                                     \
    {                                                                                                                  \
        image, 0, images[image].bytes                                                                                  \
    }

/* Texels (2, 1) to (4, 2). */
static const VkRect2D small = {{2, 1}, {3, 2}};
#define SMALL_IN(layer)                                                                                                \
    {0, (layer)*LAYER + PITCH + 2 * TEXEL, 3 * TEXEL},                                                                 \
    {                                                                                                                  \
        0, (layer)*LAYER + 2 * PITCH + 2 * TEXEL, 3 * TEXEL                                                            \
    }

/* ---- dynamic rendering ---- */

static void render(VkImageView view, VkAttachmentLoadOp load, VkAttachmentStoreOp store, VkRect2D area, uint32_t layers,
                   uint32_t mask)
{
    const VkRenderingAttachmentInfo color = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                             .imageView = view,
                                             .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                             .loadOp = load,
                                             .storeOp = store};
    const VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                  .renderArea = area,
                                  .layerCount = layers,
                                  .viewMask = mask,
                                  .colorAttachmentCount = 1,
                                  .pColorAttachments = &color};
    hook_after_CmdBeginRendering(&cb, VK_NULL_HANDLE, &info);
}

UNIT_TEST(only_the_render_area_is_written)
{
    const VkAttachmentStoreOp store = VK_ATTACHMENT_STORE_OP_STORE;
    begin();
    render(VIEW(0), VK_ATTACHMENT_LOAD_OP_CLEAR, store, small, 1, 0);
    check_written(LAYER_WRITES, 2, (struct range[]){SMALL_IN(1)});
    /* Whole rows are one range; what is outside of the image is left out. */
    render(VIEW(0), VK_ATTACHMENT_LOAD_OP_CLEAR, store, (VkRect2D){{0, 20}, {100, 100}}, 1, 0);
    check_written(LAYER_WRITES, 1, (struct range[]){{0, LAYER + 20 * PITCH, 3 * PITCH + WIDTH * TEXEL}});
    /* The level of the view. */
    render(VIEW(3), VK_ATTACHMENT_LOAD_OP_CLEAR, store, (VkRect2D){{0, 3}, {8, 1}}, 1, 0);
    check_written(LAYER_WRITES, 1, (struct range[]){{0, 2 * LAYER + LEVEL + 3 * PITCH, 8 * TEXEL}});
    end();
}

UNIT_TEST(layers_are_those_of_the_view)
{
    const VkAttachmentStoreOp store = VK_ATTACHMENT_STORE_OP_STORE;
    begin();
    render(VIEW(0), VK_ATTACHMENT_LOAD_OP_CLEAR, store, small, 2, 0);
    check_written(LAYER_WRITES, 4, (struct range[]){SMALL_IN(1), SMALL_IN(2)});
    render(VIEW(0), VK_ATTACHMENT_LOAD_OP_CLEAR, store, small, 9, 0);
    check_written(LAYER_WRITES, 6, (struct range[]){SMALL_IN(1), SMALL_IN(2), SMALL_IN(3)});
    /* With a view mask its bits are the layers, whatever layerCount says. */
    render(VIEW(0), VK_ATTACHMENT_LOAD_OP_CLEAR, store, small, 1, 5);
    check_written(LAYER_WRITES, 4, (struct range[]){SMALL_IN(1), SMALL_IN(3)});
    end();
}

UNIT_TEST(load_and_store_operations_say_what_is_known)
{
    const VkAttachmentLoadOp clear = VK_ATTACHMENT_LOAD_OP_CLEAR, load = VK_ATTACHMENT_LOAD_OP_LOAD,
                             any = VK_ATTACHMENT_LOAD_OP_DONT_CARE, none = VK_ATTACHMENT_LOAD_OP_NONE_EXT;
    const VkAttachmentStoreOp store = VK_ATTACHMENT_STORE_OP_STORE;
    const struct {
        VkAttachmentLoadOp load;
        VkAttachmentStoreOp store;
        enum layer_touch how;
    } cases[] = {
        {clear, store, LAYER_WRITES},
        {load, store, LAYER_WRITES_PARTLY},
        {any, store, LAYER_WRITES_VARYING},
        {none, store, LAYER_WRITES_VARYING},
        {clear, VK_ATTACHMENT_STORE_OP_DONT_CARE, LAYER_WRITES_VARYING},
        {load, VK_ATTACHMENT_STORE_OP_NONE, LAYER_WRITES_VARYING},
    };
    begin();
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        render(VIEW(0), cases[i].load, cases[i].store, small, 1, 0);
        check_written(cases[i].how, 2, (struct range[]){SMALL_IN(1)});
    }
    end();
}

UNIT_TEST(a_resolve_overwrites_the_render_area)
{
    VkRenderingAttachmentInfo color = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                       .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                       .resolveMode = VK_RESOLVE_MODE_AVERAGE_BIT,
                                       .resolveImageView = VIEW(0),
                                       .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                       .storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE};
    const VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                  .renderArea = small,
                                  .layerCount = 1,
                                  .colorAttachmentCount = 1,
                                  .pColorAttachments = &color};
    begin();
    hook_after_CmdBeginRendering(&cb, VK_NULL_HANDLE, &info);
    check_written(LAYER_WRITES, 2, (struct range[]){SMALL_IN(1)});
    color.loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
    hook_after_CmdBeginRendering(&cb, VK_NULL_HANDLE, &info);
    check_written(LAYER_WRITES_VARYING, 2, (struct range[]){SMALL_IN(1)});
    end();
}

UNIT_TEST(what_cannot_be_told_is_all_of_the_image_and_not_checked)
{
    const VkAttachmentStoreOp store = VK_ATTACHMENT_STORE_OP_STORE;
    const VkRect2D tall = {{1, 100}, {2, 600}};
    begin();
    /* Too many rows: from the first byte to the last. */
    render(VIEW(1), VK_ATTACHMENT_LOAD_OP_CLEAR, store, tall, 1, 0);
    check_written(LAYER_WRITES_VARYING, 1, (struct range[]){{1, 100 * PITCH + TEXEL, 599 * PITCH + 2 * TEXEL}});
    views[0].range.level_count = 0; /* no view of levels and layers */
    render(VIEW(0), VK_ATTACHMENT_LOAD_OP_CLEAR, store, small, 1, 0);
    check_written(LAYER_WRITES_VARYING, 1, (struct range[]){ALL(0)});
    images[1].info.format = VK_FORMAT_BC1_RGB_UNORM_BLOCK; /* through a view of its blocks */
    render(VIEW(1), VK_ATTACHMENT_LOAD_OP_CLEAR, store, small, 1, 0);
    check_written(LAYER_WRITES_VARYING, 1, (struct range[]){ALL(1)});
    images[1].info.format = VK_FORMAT_D32_SFLOAT;
    render(VIEW(1), VK_ATTACHMENT_LOAD_OP_CLEAR, store, small, 1, 0);
    check_written(LAYER_WRITES_VARYING, 1, (struct range[]){ALL(1)});
    end();
}

UNIT_TEST(optimal_images_are_written_as_a_whole_and_device_memory_is_no_matter)
{
    const VkAttachmentStoreOp store = VK_ATTACHMENT_STORE_OP_STORE;
    begin();
    render(VIEW(2), VK_ATTACHMENT_LOAD_OP_LOAD, store, small, 1, 0);
    check_written(LAYER_WRITES, 1, (struct range[]){ALL(2)});
    render(VIEW(2), VK_ATTACHMENT_LOAD_OP_DONT_CARE, store, small, 1, 0);
    check_written(LAYER_WRITES, 1, (struct range[]){ALL(2)});
    images[0].device_only = images[2].device_only = true;
    render(VIEW(2), VK_ATTACHMENT_LOAD_OP_CLEAR, store, small, 1, 0);
    render(VIEW(0), VK_ATTACHMENT_LOAD_OP_CLEAR, store, small, 1, 0);
    check_written(LAYER_WRITES, 0, NULL);
    end();
}

UNIT_TEST(of_several_devices_each_has_its_own_area)
{
    const VkDeviceGroupRenderPassBeginInfo group = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_GROUP_RENDER_PASS_BEGIN_INFO, .deviceMask = 3, .deviceRenderAreaCount = 2};
    const VkRenderingAttachmentInfo color = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                             .imageView = VIEW(0),
                                             .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                             .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                             .storeOp = VK_ATTACHMENT_STORE_OP_STORE};
    const VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                  .pNext = &group,
                                  .renderArea = small,
                                  .layerCount = 1,
                                  .colorAttachmentCount = 1,
                                  .pColorAttachments = &color};
    begin();
    hook_after_CmdBeginRendering(&cb, VK_NULL_HANDLE, &info);
    check_written(LAYER_WRITES_VARYING, 1, (struct range[]){ALL(0)});
    end();
}

/* ---- render passes ---- */

/* One attachment, described and used as the test wants it, drawn to in a framebuffer of two layers. */
static struct {
    VkAttachmentDescription attachments[2]; /* the second one: what is resolved */
    VkSubpassDescription subpasses[2];
    VkAttachmentReference color, input, resolve;
    uint32_t masks[2];
    bool imageless;
    VkRect2D area;
} scene;

static const VkAttachmentReference unused = {VK_ATTACHMENT_UNUSED, VK_IMAGE_LAYOUT_UNDEFINED};

static void begin_scene(void)
{
    const VkAttachmentDescription plain = {.format = VK_FORMAT_R8G8B8A8_UNORM,
                                           .samples = VK_SAMPLE_COUNT_1_BIT,
                                           .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                           .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                           .initialLayout = VK_IMAGE_LAYOUT_GENERAL,
                                           .finalLayout = VK_IMAGE_LAYOUT_GENERAL};
    memset(&scene, 0, sizeof scene);
    scene.area = small;
    scene.attachments[0] = scene.attachments[1] = plain;
    scene.color = scene.input = scene.resolve = unused;
    for (uint32_t i = 0; i < 2; i++)
        scene.subpasses[i] = (VkSubpassDescription){.colorAttachmentCount = 1,
                                                    .pColorAttachments = &unused,
                                                    .inputAttachmentCount = 1,
                                                    .pInputAttachments = &unused};
    scene.subpasses[0].pColorAttachments = &scene.color;
    scene.subpasses[0].pResolveAttachments = &scene.resolve;
    scene.subpasses[1].pInputAttachments = &scene.input;
}

static void draw_scene(void)
{
    const VkRenderPassMultiviewCreateInfo multiview = {
        .sType = VK_STRUCTURE_TYPE_RENDER_PASS_MULTIVIEW_CREATE_INFO, .subpassCount = 2, .pViewMasks = scene.masks};
    const VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .pNext = scene.masks[0] ? &multiview : NULL,
                                         .attachmentCount = 2,
                                         .pAttachments = scene.attachments,
                                         .subpassCount = 2,
                                         .pSubpasses = scene.subpasses};
    const VkImageView shown[2] = {VIEW(0), VIEW(2)};
    const VkFramebufferCreateInfo frame = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                           .flags = scene.imageless ? VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT : 0u,
                                           .attachmentCount = 2,
                                           .pAttachments = scene.imageless ? NULL : shown,
                                           .layers = scene.masks[0] ? 1 : 2};
    const VkRenderPassAttachmentBeginInfo later = {
        .sType = VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO, .attachmentCount = 2, .pAttachments = shown};
    const VkRenderPassBeginInfo start = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .pNext = scene.imageless ? &later : NULL,
                                         .renderPass = PASS,
                                         .framebuffer = FRAMEBUFFER,
                                         .renderArea = scene.area};
    VkRenderPass pass_handle = PASS;
    VkFramebuffer framebuffer_handle = FRAMEBUFFER;
    layer_render_pass_finish(&pass.head.object);
    layer_framebuffer_finish(&framebuffer.object);
    pass.head.attachments = NULL;
    framebuffer.views = NULL;
    framebuffer.view_count = 0;
    images[2].device_only = true; /* what is resolved does not matter here */
    hook_after_CreateRenderPass(dev, VK_NULL_HANDLE, &info, NULL, &pass_handle, VK_SUCCESS);
    layer_framebuffer_remember(dev, &frame, framebuffer_handle);
    hook_after_CmdBeginRenderPass(&cb, VK_NULL_HANDLE, &start, VK_SUBPASS_CONTENTS_INLINE);
}

static void check_scene(enum layer_touch how)
{
    draw_scene();
    check_written(how, 4, (struct range[]){SMALL_IN(1), SMALL_IN(2)});
}

/* All of it is read, or nothing at all is touched. */
static void check_not_written(bool read)
{
    draw_scene();
    CHECK_EQ_U64(cb.touched.ranges.count, read);
    CHECK(!read || !cb.touched.ranges.ranges[0].written);
    CHECK(cb.touched.partly.count == 0 && cb.touched.unchecked.count == 0);
    layer_touch_reset(&cb);
}

static enum layer_step_kind step_of_scene(void)
{
    enum layer_step_kind kind;
    draw_scene();
    CHECK(cb.image_steps.count > 0);
    kind = cb.image_steps.items[0].kind;
    layer_touch_reset(&cb);
    return kind;
}

UNIT_TEST(what_a_render_pass_stores_nothing_of_is_discarded_where_it_has_all_of_it)
{
    begin();
    layer.options.reads_back = true;
    begin_scene();
    scene.color.attachment = 0;
    scene.masks[0] = scene.masks[1] = 7; /* the view's layers */
    scene.attachments[0].loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    scene.attachments[0].storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
    CHECK_EQ_INT(step_of_scene(), LAYER_STEP_VARIES);
    scene.area = (VkRect2D){.extent = {WIDTH, HEIGHT}};
    CHECK_EQ_INT(step_of_scene(), LAYER_STEP_DISCARDED);
    scene.attachments[0].storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    CHECK_EQ_INT(step_of_scene(), LAYER_STEP_COVERED);
    scene.attachments[0].loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE; /* what is drawn is stored */
    CHECK_EQ_INT(step_of_scene(), LAYER_STEP_VARIES);
    layer.options.reads_back = false;
    end();
}

UNIT_TEST(a_render_pass_writes_what_its_operations_say)
{
    begin();
    for (int imageless = 0; imageless < 2; imageless++) {
        begin_scene();
        scene.imageless = imageless;
        scene.color.attachment = 0;
        check_scene(LAYER_WRITES_PARTLY);
        scene.attachments[0].initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
        check_scene(LAYER_WRITES_VARYING);
        scene.attachments[0].loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
        check_scene(LAYER_WRITES);
        scene.input.attachment = 0; /* read as well */
        check_scene(LAYER_WRITES);
        scene.attachments[0].flags = VK_ATTACHMENT_DESCRIPTION_MAY_ALIAS_BIT;
        check_scene(LAYER_WRITES_VARYING);
        scene.attachments[0].flags = 0;
        scene.attachments[0].storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
        check_scene(LAYER_WRITES_VARYING);
    }
    end();
}

UNIT_TEST(what_no_subpass_draws_to_is_not_written)
{
    begin();
    begin_scene();
    scene.attachments[0].loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    check_not_written(true); /* no subpass uses it: no operation is performed */
    scene.attachments[0].loadOp = VK_ATTACHMENT_LOAD_OP_LOAD;
    scene.input.attachment = 0;
    check_not_written(true);
    scene.attachments[0].storeOp = VK_ATTACHMENT_STORE_OP_NONE;
    check_not_written(true);
    scene.attachments[0].storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
    check_scene(LAYER_WRITES_VARYING);
    scene.attachments[0].storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    scene.attachments[0].loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    check_scene(LAYER_WRITES);
    end();
}

UNIT_TEST(a_resolve_is_as_definite_as_what_is_resolved)
{
    begin();
    begin_scene();
    scene.attachments[0].loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
    scene.attachments[0].initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
    scene.attachments[1].loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    scene.attachments[1].storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
    scene.color.attachment = 1;
    scene.resolve.attachment = 0;
    check_scene(LAYER_WRITES);
    scene.attachments[1].loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
    check_scene(LAYER_WRITES_VARYING);
    scene.attachments[1].loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    scene.attachments[0].storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
    check_scene(LAYER_WRITES_VARYING);
    end();
}

UNIT_TEST(view_masks_of_all_subpasses_that_use_it_are_the_layers)
{
    begin();
    begin_scene();
    scene.attachments[0].loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    scene.color.attachment = 0;
    scene.masks[0] = 4;
    scene.masks[1] = 1;
    draw_scene();
    check_written(LAYER_WRITES, 2, (struct range[]){SMALL_IN(3)});
    scene.input.attachment = 0;
    draw_scene();
    check_written(LAYER_WRITES, 4, (struct range[]){SMALL_IN(1), SMALL_IN(3)});
    end();
}

UNIT_TEST(nothing_is_noted_while_nothing_is_recorded)
{
    begin();
    begin_scene();
    scene.color.attachment = 0;
    cb.state = LAYER_CMDBUF_INITIAL;
    check_not_written(false);
    render(VIEW(0), VK_ATTACHMENT_LOAD_OP_CLEAR, VK_ATTACHMENT_STORE_OP_STORE, small, 1, 0);
    check_written(LAYER_WRITES, 0, NULL);
    end();
}

/* ---- stores ---- */

static void push(uint32_t view)
{
    const VkDescriptorImageInfo info = {.imageView = VIEW(view), .imageLayout = VK_IMAGE_LAYOUT_GENERAL};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                        .pImageInfo = &info};
    layer_touch_push(&cb, VK_PIPELINE_BIND_POINT_COMPUTE, 0, &write);
}

UNIT_TEST(shaders_store_to_what_a_view_shows)
{
    const struct lap_spirv_access writes = {.stores = {lap_spirv_bit(0)}};
    const uint64_t rows = (HEIGHT - 1) * PITCH + WIDTH * TEXEL, level = (HEIGHT / 2 - 1) * PITCH + WIDTH / 2 * TEXEL;
    struct layer_touched touched;
    begin();
    layer_touched_init(&touched);
    for (uint32_t view = 0; view < VIEWS; view += 3) {
        const struct range all_layers[] = {{0, LAYER, rows}, {0, 2 * LAYER, rows}, {0, 3 * LAYER, rows}};
        const struct range one_level[] = {{0, 2 * LAYER + LEVEL, level}};
        push(view);
        cb.bound[LAYER_BIND_COMPUTE].access = &writes;
        cb.bound[LAYER_BIND_COMPUTE].stale = true;
        layer_touch_work(&cb, LAYER_BIND_COMPUTE);
        CHECK(cb.touched.ranges.count == 1 && !cb.touched.ranges.ranges[0].written); /* all of it is read */
        lap_touched_reset(&cb.touched.ranges);
        layer_touched_reset(&touched);
        CHECK(layer_touch_resolve(dev, &cb, 0, 1, &touched));
        check_list("stored", &touched.ranges, view ? 1 : 3, view ? one_level : all_layers);
        check_list("partly", &touched.partly, view ? 1 : 3, view ? one_level : all_layers);
        check_list("unchecked", &touched.unchecked, 0, NULL);
        layer_touch_reset(&cb);
    }
    layer_touched_finish(&touched);
    end();
}

UNIT_MAIN();
