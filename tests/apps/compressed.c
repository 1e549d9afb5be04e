/* SPDX-License-Identifier: MIT */
/*
 * compressed: images of every compressed format that the device has: layers, cubes and volumes, with levels that end
 * within blocks. Random blocks come from a buffer with padded rows, one by one, from another image of the format or of
 * its pair (UNORM and sRGB), and as texels of another image. A fragment shader reads each texel, and a blit some;
 * blocks of one color say what some must be. With --read, blocks come back to the host.
 */
#include "common/app.h"
#include "shaders/compressed_frag.h"
#include "shaders/compressed_vert.h"

#define LEVELS  3u
#define LAYERS  2u
#define FACES   6u
#define SLICES  3u
#define BLITTED 192u /* the first row of the picture that a blit fills */
#define PICTURE 256u /* width and height of what the texels become */

struct kind {
    VkFormat format;
    uint32_t width, height, bytes; /* of a block */
    uint32_t wide;                 /* of shaders/compressed.frag */
};

enum form { ARRAY, CUBE, VOLUME, FORMS };

struct which {
    uint32_t is_volume, level, first, count, width, height, wide;
};

struct scene {
    struct app app;
    struct app_image picture, shown, dummy_volume, dummy_layers;
    VkSampler sampler;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkRenderPass pass;
    VkFramebuffer framebuffer;
    VkPipeline pipeline;
    uint32_t seed, formats;
};

static bool reads, as_texels;

static const VkImageSubresourceLayers plain = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};

static struct kind kind_of(VkFormat format)
{
    static const uint8_t sides[14][2] = {{4, 4}, {5, 4},  {5, 5},  {6, 5},  {6, 6},   {8, 5},   {8, 6},
                                         {8, 8}, {10, 5}, {10, 6}, {10, 8}, {10, 10}, {12, 10}, {12, 12}};
    struct kind kind = {format, 4, 4, 16, 0};

    if (format >= VK_FORMAT_ASTC_4x4_UNORM_BLOCK) {
        kind.width = sides[(format - VK_FORMAT_ASTC_4x4_UNORM_BLOCK) / 2][0];
        kind.height = sides[(format - VK_FORMAT_ASTC_4x4_UNORM_BLOCK) / 2][1];
        return kind;
    }
    if (format <= VK_FORMAT_BC1_RGBA_SRGB_BLOCK || format == VK_FORMAT_BC4_UNORM_BLOCK ||
        format == VK_FORMAT_BC4_SNORM_BLOCK ||
        (format >= VK_FORMAT_ETC2_R8G8B8_UNORM_BLOCK && format <= VK_FORMAT_ETC2_R8G8B8A1_SRGB_BLOCK) ||
        format == VK_FORMAT_EAC_R11_UNORM_BLOCK || format == VK_FORMAT_EAC_R11_SNORM_BLOCK)
        kind.bytes = 8;
    if (format == VK_FORMAT_BC4_SNORM_BLOCK || format == VK_FORMAT_BC5_SNORM_BLOCK ||
        format == VK_FORMAT_EAC_R11_SNORM_BLOCK || format == VK_FORMAT_EAC_R11G11_SNORM_BLOCK)
        kind.wide = 1;
    if (format == VK_FORMAT_BC6H_UFLOAT_BLOCK || format == VK_FORMAT_BC6H_SFLOAT_BLOCK)
        kind.wide = 2;
    return kind;
}

static uint32_t level_size(uint32_t size, uint32_t level)
{
    return size >> level ? size >> level : 1;
}

static uint32_t blocks_of(uint32_t texels, uint32_t size)
{
    return (texels + size - 1) / size;
}

/* A block of (0, 1, 0) or of 0, where that is easily said. */
static bool make_known(const struct kind *kind, uint8_t *block)
{
    static const uint8_t bc1[8] = {0xe0, 0x07, 0xe0, 0x07}, astc[16] = {0xfc, 0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                                        0,    0,    0xff, 0xff, 0,    0,    0xff, 0xff};
    if (kind->format <= VK_FORMAT_BC1_RGBA_SRGB_BLOCK)
        memcpy(block, bc1, 8);
    else if (kind->format >= VK_FORMAT_ASTC_4x4_UNORM_BLOCK)
        memcpy(block, astc, 16);
    else
        return false;
    return true;
}

static void fill(struct scene *scene, const struct kind *kind, uint8_t *bytes, VkDeviceSize count)
{
    for (VkDeviceSize i = 0; i < count; i += 4) {
        uint32_t word = app_random(&scene->seed);
        memcpy(bytes + i, &word, 4);
    }
    if (kind->wide == 2 || kind->format == VK_FORMAT_BC7_UNORM_BLOCK) /* each mode */
        for (VkDeviceSize i = 0; i < count; i += 16)
            bytes[i] = kind->wide == 2 ? (uint8_t)(i / 16 * 7) : (uint8_t)(bytes[i] << i / 16 % 8 | 1u << i / 16 % 8);
    if (kind->format >= VK_FORMAT_ASTC_4x4_UNORM_BLOCK) /* fewer errors: grids that fit each block, one plane and two */
        for (VkDeviceSize i = 0; i < count; i += 16) {
            uint32_t modes[] = {0x42, 0x53, 0x41, 0x52, 0x453, 0x251, 0x63, 0x442}, mode = modes[i / 16 % 8];
            bytes[i] = (uint8_t)mode;
            bytes[i + 1] = (uint8_t)((bytes[i + 1] & 0xf8u) | mode >> 8);
        }
}

static uint32_t columns_of(enum form form)
{
    return form == CUBE ? 3 : 5;
}

/* Of the first level: it ends within blocks. */
static VkExtent3D extent_of(const struct kind *kind, enum form form)
{
    VkExtent3D extent = {columns_of(form) * kind->width + 1, 4 * kind->height + 2, form == VOLUME ? SLICES : 1};

    if (form == CUBE)
        extent.height = extent.width;
    return extent;
}

static uint32_t layers_of(enum form form)
{
    return form == VOLUME ? 1 : form == CUBE ? FACES : LAYERS;
}

static VkImageCreateInfo image_info(const struct kind *kind, enum form form)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = form == VOLUME ? VK_IMAGE_TYPE_3D : VK_IMAGE_TYPE_2D,
                              .format = kind->format,
                              .extent = extent_of(kind, form),
                              .mipLevels = LEVELS,
                              .arrayLayers = layers_of(form),
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .tiling = VK_IMAGE_TILING_OPTIMAL,
                              .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                                       VK_IMAGE_USAGE_SAMPLED_BIT};

    if (form == CUBE)
        info.flags = VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT;
    if (as_texels)
        info.flags |= VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT;
    return info;
}

static void create_image(const struct scene *scene, const struct kind *kind, enum form form, struct app_image *image)
{
    const VkImageCreateInfo info = image_info(kind, form);
    app_image_create(&scene->app, image, &info, VK_IMAGE_ASPECT_COLOR_BIT,
                     form == VOLUME ? VK_IMAGE_VIEW_TYPE_3D : VK_IMAGE_VIEW_TYPE_2D_ARRAY);
}

/* One region for each level, with rows that are longer than they need to be. */
static VkDeviceSize plan(const struct kind *kind, enum form form, VkBufferImageCopy regions[LEVELS])
{
    const VkExtent3D extent = extent_of(kind, form);
    VkDeviceSize at = 0;

    for (uint32_t level = 0; level < LEVELS; level++) {
        VkBufferImageCopy *region = &regions[level];
        *region = (VkBufferImageCopy){.bufferOffset = at};
        region->imageSubresource = (VkImageSubresourceLayers){VK_IMAGE_ASPECT_COLOR_BIT, level, 0, layers_of(form)};
        region->imageExtent = (VkExtent3D){level_size(extent.width, level), level_size(extent.height, level),
                                           level_size(extent.depth, level)};
        region->bufferRowLength = (blocks_of(region->imageExtent.width, kind->width) + 2) * kind->width;
        region->bufferImageHeight = (blocks_of(region->imageExtent.height, kind->height) + 1) * kind->height;
        at += (VkDeviceSize)(region->bufferRowLength / kind->width) * (region->bufferImageHeight / kind->height) *
              kind->bytes * region->imageExtent.depth * layers_of(form);
    }
    return at;
}

static void descriptors(const struct scene *scene, VkDescriptorPool *pool, VkDescriptorSet *set,
                        const struct app_image *image, enum form form)
{
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 2};
    const VkDescriptorPoolCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &scene->set_layout};
    const VkDescriptorImageInfo images[] = {
        {scene->sampler, form == VOLUME ? scene->dummy_layers.view : image->view, VK_IMAGE_LAYOUT_GENERAL},
        {scene->sampler, form == VOLUME ? image->view : scene->dummy_volume.view, VK_IMAGE_LAYOUT_GENERAL}};
    VkWriteDescriptorSet writes[2];

    CHECK_VK(vkCreateDescriptorPool(scene->app.device, &create, NULL, pool));
    allocate.descriptorPool = *pool;
    CHECK_VK(vkAllocateDescriptorSets(scene->app.device, &allocate, set));
    for (uint32_t i = 0; i < 2; i++)
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = *set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                           .pImageInfo = &images[i]};
    vkUpdateDescriptorSets(scene->app.device, 2, writes, 0, NULL);
}

static void barrier(VkCommandBuffer commands)
{
    app_memory_barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
}

/* Reads the levels of an image into the picture; returns the place behind. */
static uint32_t show(const struct scene *scene, VkCommandBuffer commands, VkDescriptorSet set, const struct kind *kind,
                     enum form form, const VkBufferImageCopy regions[LEVELS], uint32_t first)
{
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = scene->pass,
                                         .framebuffer = scene->framebuffer,
                                         .renderArea = {{0, 0}, {PICTURE, PICTURE}}};

    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    app_set_viewport(commands, PICTURE, PICTURE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, scene->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, scene->layout, 0, 1, &set, 0, NULL);
    for (uint32_t level = 0; level < LEVELS; level++) {
        const VkExtent3D *extent = &regions[level].imageExtent;
        uint32_t count = extent->width * extent->height * extent->depth * layers_of(form);
        const struct which which = {form == VOLUME, level, first, count, extent->width, extent->height, kind->wide};
        vkCmdPushConstants(commands, scene->layout, VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof(which), &which);
        vkCmdDraw(commands, 3, 1, 0, 0);
        first += count;
    }
    vkCmdEndRenderPass(commands);
    CHECK(first <= PICTURE * BLITTED);
    return first;
}

static bool is_offered(const struct app *app, const struct kind *kind, enum form form)
{
    const VkImageCreateInfo info = image_info(kind, form);
    VkImageFormatProperties most;

    return app_format_has(app, kind->format, VK_IMAGE_TILING_OPTIMAL,
                          VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | VK_FORMAT_FEATURE_TRANSFER_SRC_BIT |
                              VK_FORMAT_FEATURE_TRANSFER_DST_BIT) &&
           vkGetPhysicalDeviceImageFormatProperties(app->physical, kind->format, info.imageType, info.tiling,
                                                    info.usage, info.flags, &most) == VK_SUCCESS;
}

/* UNORM and sRGB; others have no pair. */
static VkFormat pair_of(const struct kind *kind)
{
    uint32_t first = ((uint32_t)kind->format - 1) / 2 * 2 + 1;
    bool has_none = (kind->format >= VK_FORMAT_BC4_UNORM_BLOCK && kind->format <= VK_FORMAT_BC6H_SFLOAT_BLOCK) ||
                    (kind->format >= VK_FORMAT_EAC_R11_UNORM_BLOCK && kind->format <= VK_FORMAT_EAC_R11G11_SNORM_BLOCK);
    return has_none ? kind->format : (VkFormat)(2 * first + 1 - (uint32_t)kind->format);
}

/* The texels of the picture come to the host's image. */
static void take_picture(const struct scene *scene)
{
    VkCommandBuffer commands = app_begin(&scene->app);
    const VkImageCopy copy = {plain, {0, 0, 0}, plain, {0, 0, 0}, {PICTURE, PICTURE, 1}};

    vkCmdCopyImage(commands, scene->picture.image, VK_IMAGE_LAYOUT_GENERAL, scene->shown.image, VK_IMAGE_LAYOUT_GENERAL,
                   1, &copy);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(&scene->app, commands);
}

static void check_known(const struct scene *scene, const struct kind *kind, bool known)
{
    const VkImageSubresource which = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
    VkSubresourceLayout layout;
    uint8_t *mapped;
    void *memory;

    CHECK_VK(vkMapMemory(scene->app.device, scene->shown.memory, 0, VK_WHOLE_SIZE, 0, &memory));
    vkGetImageSubresourceLayout(scene->app.device, scene->shown.image, &which, &layout);
    mapped = (uint8_t *)memory + layout.offset;
    for (uint32_t i = 0; known && i < kind->width; i++) { /* the first row of the first block */
        EXPECT_EQ(&scene->app, mapped[4 * i], 0);
        EXPECT_EQ(&scene->app, mapped[4 * i + 1], 255);
        EXPECT_EQ(&scene->app, mapped[4 * i + 2], 0);
        EXPECT_EQ(&scene->app, mapped[4 * i + 3], 255);
    }
    vkUnmapMemory(scene->app.device, scene->shown.memory);
}

/* Blocks that the host wrote come back, by way of an image. */
static void check_read(const struct scene *scene, const struct app_image *image, const struct app_buffer *upload,
                       const struct kind *kind)
{
    const struct app *app = &scene->app;
    const VkBufferImageCopy back = {.imageSubresource = plain,
                                    .imageOffset = {(int32_t)kind->width, 0, 0},
                                    .imageExtent = {2 * kind->width, kind->height, 1}};
    VkCommandBuffer commands = app_begin(app);
    struct app_buffer read;

    app_buffer_create(app, &read, 2 * kind->bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    vkCmdCopyImageToBuffer(commands, image->image, VK_IMAGE_LAYOUT_GENERAL, read.buffer, 1, &back);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &read, 0, VK_WHOLE_SIZE);
    EXPECT_EQ(app, memcmp(read.mapped, upload->mapped + kind->bytes, 2 * kind->bytes), 0);
    app_buffer_destroy(app, &read);
}

/* The second and the third image get all of the first, and then blocks of their own: in their second layer or slice,
 * and as texels. */
static void copy_images(VkCommandBuffer commands, const struct kind *kind, enum form form,
                        const struct app_image images[3], const struct app_image *words,
                        const VkBufferImageCopy regions[LEVELS], const struct app_buffer *upload, VkDeviceSize at)
{
    VkBufferImageCopy one = {.bufferOffset = at, .imageSubresource = plain};
    VkImageCopy copies[LEVELS], from_words = {plain, {0, 0, 0}, plain, {0, 0, 0}, {2, 2, 1}};

    for (uint32_t level = 0; level < LEVELS; level++)
        copies[level] = (VkImageCopy){regions[level].imageSubresource,
                                      {0, 0, 0},
                                      regions[level].imageSubresource,
                                      {0, 0, 0},
                                      regions[level].imageExtent};
    for (int i = 1; i < 3; i++)
        vkCmdCopyImage(commands, images[0].image, VK_IMAGE_LAYOUT_GENERAL, images[i].image, VK_IMAGE_LAYOUT_GENERAL,
                       LEVELS, copies);
    barrier(commands);
    one.imageOffset = (VkOffset3D){(int32_t)kind->width, (int32_t)kind->height, form == VOLUME};
    one.imageSubresource.baseArrayLayer = form != VOLUME;
    one.imageExtent = (VkExtent3D){2 * kind->width, kind->height, 1};
    for (int i = 1; i < 3; i++) {
        from_words.dstOffset.x = i == 2 ? (int32_t)((columns_of(form) - 2) * kind->width) : 0;
        from_words.dstOffset.y = (int32_t)kind->height;
        vkCmdCopyBufferToImage(commands, upload->buffer, images[i].image, VK_IMAGE_LAYOUT_GENERAL, 1, &one);
        vkCmdCopyImage(commands, words->image, VK_IMAGE_LAYOUT_GENERAL, images[i].image, VK_IMAGE_LAYOUT_GENERAL, 1,
                       &from_words);
    }
    barrier(commands);
}

static void blit(const struct scene *scene, VkCommandBuffer commands, const struct kind *kind, enum form form,
                 const struct app_image *image)
{
    const VkExtent3D extent = extent_of(kind, form);
    const VkImageBlit region = {
        plain,
        {{0, 0, 0}, {(int32_t)extent.width, (int32_t)extent.height, 1}},
        plain,
        {{0, (int32_t)BLITTED, 0}, {(int32_t)extent.width, (int32_t)(BLITTED + extent.height), 1}}};

    if (app_format_has(&scene->app, kind->format, VK_IMAGE_TILING_OPTIMAL, VK_FORMAT_FEATURE_BLIT_SRC_BIT) &&
        app_format_has(&scene->app, VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_TILING_OPTIMAL, VK_FORMAT_FEATURE_BLIT_DST_BIT))
        vkCmdBlitImage(commands, image->image, VK_IMAGE_LAYOUT_GENERAL, scene->picture.image, VK_IMAGE_LAYOUT_GENERAL,
                       1, &region, VK_FILTER_NEAREST);
    barrier(commands);
}

static void test(struct scene *scene, const struct kind *kind, enum form form)
{
    const struct app *app = &scene->app;
    const struct kind pair = {pair_of(kind), kind->width, kind->height, kind->bytes, kind->wide};
    const struct kind *kinds[3] = {kind, kind, &pair};
    VkBufferImageCopy regions[LEVELS], two_by_two;
    struct app_buffer upload;
    struct app_image images[3], words;
    VkDescriptorPool pools[3];
    VkDescriptorSet sets[3];
    VkCommandBuffer commands;
    VkDeviceSize bytes = plan(kind, form, regions);
    uint32_t first = 0;
    bool known;

    app_buffer_create(app, &upload, bytes + 4 * kind->bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    fill(scene, kind, upload.mapped, upload.size);
    known = make_known(kind, upload.mapped);
    app_buffer_flush(app, &upload, 0, VK_WHOLE_SIZE);
    for (int i = 0; i < 3; i++) {
        create_image(scene, kinds[i], form, &images[i]);
        descriptors(scene, &pools[i], &sets[i], &images[i], form);
    }
    app_image_create_2d(app, &words, kind->bytes == 8 ? VK_FORMAT_R32G32_UINT : VK_FORMAT_R32G32B32A32_UINT, 2, 2,
                        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    commands = app_begin(app);
    for (int i = 0; i < 3; i++)
        app_image_barrier(commands, &images[i], VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    app_image_barrier(commands, &words, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdCopyBufferToImage(commands, upload.buffer, images[0].image, VK_IMAGE_LAYOUT_GENERAL, LEVELS, regions);
    two_by_two = (VkBufferImageCopy){.bufferOffset = bytes, .imageSubresource = plain, .imageExtent = {2, 2, 1}};
    vkCmdCopyBufferToImage(commands, upload.buffer, words.image, VK_IMAGE_LAYOUT_GENERAL, 1, &two_by_two);
    barrier(commands);
    copy_images(commands, kind, form, images, &words, regions, &upload, bytes);
    for (int i = 0; i < 3; i++)
        first = show(scene, commands, sets[i], kinds[i], form, regions, first);
    barrier(commands);
    blit(scene, commands, kind, form, &images[1]);
    app_run(app, commands);
    take_picture(scene);
    check_known(scene, kind, known);
    if (reads)
        check_read(scene, &images[0], &upload, kind);
    for (int i = 0; i < 3; i++) {
        vkDestroyDescriptorPool(app->device, pools[i], NULL);
        app_image_destroy(app, &images[i]);
    }
    app_image_destroy(app, &words);
    app_buffer_destroy(app, &upload);
    scene->formats++;
}

/* What was drawn before stays. */
static VkRenderPass create_pass(const struct app *app)
{
    const VkAttachmentDescription attachment = {.format = VK_FORMAT_R8G8B8A8_UNORM,
                                                .samples = VK_SAMPLE_COUNT_1_BIT,
                                                .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
                                                .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
                                                .initialLayout = VK_IMAGE_LAYOUT_GENERAL,
                                                .finalLayout = VK_IMAGE_LAYOUT_GENERAL};
    const VkAttachmentReference reference = {0, VK_IMAGE_LAYOUT_GENERAL};
    const VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
                                          .colorAttachmentCount = 1,
                                          .pColorAttachments = &reference};
    const VkRenderPassCreateInfo create = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                           .attachmentCount = 1,
                                           .pAttachments = &attachment,
                                           .subpassCount = 1,
                                           .pSubpasses = &subpass};
    VkRenderPass pass;

    CHECK_VK(vkCreateRenderPass(app->device, &create, NULL, &pass));
    return pass;
}

static void create_pipeline(struct scene *scene)
{
    const struct app *app = &scene->app;
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_FRAGMENT_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_FRAGMENT_BIT, NULL}};
    const VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO, .maxLod = LEVELS};
    struct app_pipeline pipeline = {.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST, .color_count = 1};

    CHECK_VK(vkCreateSampler(app->device, &sampler, NULL, &scene->sampler));
    scene->set_layout = app_set_layout(app, 2, bindings);
    scene->layout = app_pipeline_layout(app, 1, &scene->set_layout, VK_SHADER_STAGE_FRAGMENT_BIT, sizeof(struct which));
    scene->pass = create_pass(app);
    scene->framebuffer = app_framebuffer(app, scene->pass, 1, &scene->picture.view, PICTURE, PICTURE);
    pipeline.layout = scene->layout;
    pipeline.render_pass = scene->pass;
    pipeline.vertex = app_shader(app, compressed_vert, sizeof(compressed_vert));
    pipeline.fragment = app_shader(app, compressed_frag, sizeof(compressed_frag));
    scene->pipeline = app_graphics_pipeline(app, &pipeline);
    vkDestroyShaderModule(app->device, pipeline.vertex, NULL);
    vkDestroyShaderModule(app->device, pipeline.fragment, NULL);
}

/* The picture; an image of the host's; and what the descriptor shows that a shader does not use. */
static void create_images(struct scene *scene)
{
    const struct app *app = &scene->app;
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = VK_FORMAT_R8G8B8A8_UNORM,
                              .extent = {PICTURE, PICTURE, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .tiling = VK_IMAGE_TILING_LINEAR,
                              .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    const VkClearColorValue nothing = {{0}};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;
    VkCommandBuffer commands;

    app_image_create_2d(app, &scene->picture, VK_FORMAT_R8G8B8A8_UNORM, PICTURE, PICTURE,
                        VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                            VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    CHECK_VK(vkCreateImage(app->device, &info, NULL, &scene->shown.image));
    scene->shown.aspect = VK_IMAGE_ASPECT_COLOR_BIT;
    vkGetImageMemoryRequirements(app->device, scene->shown.image, &needs);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, needs.memoryTypeBits, APP_READBACK);
    if (!app_memory_coherent(app, allocate.memoryTypeIndex))
        app_skip(app, "linear images have no coherent memory");
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &scene->shown.memory));
    CHECK_VK(vkBindImageMemory(app->device, scene->shown.image, scene->shown.memory, 0));
    info.tiling = VK_IMAGE_TILING_OPTIMAL;
    info.usage = VK_IMAGE_USAGE_SAMPLED_BIT;
    info.extent = (VkExtent3D){4, 4, 1};
    app_image_create(app, &scene->dummy_layers, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_2D_ARRAY);
    info.imageType = VK_IMAGE_TYPE_3D;
    app_image_create(app, &scene->dummy_volume, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_3D);
    commands = app_begin(app);
    app_image_barrier(commands, &scene->picture, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    app_image_barrier(commands, &scene->shown, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    app_image_barrier(commands, &scene->dummy_layers, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    app_image_barrier(commands, &scene->dummy_volume, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdClearColorImage(commands, scene->picture.image, VK_IMAGE_LAYOUT_GENERAL, &nothing, 1, &all);
    barrier(commands);
    app_run(app, commands);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--read", "copy blocks back to the host", &reads, NULL},
        {"--texels", "images whose blocks may be seen as texels", &as_texels, NULL},
        {0}};
    static const struct app_program program = {
        .name = "compressed", .what = "Reads images of all compressed formats.", .frames = 1, .options = options};
    VkPhysicalDeviceFeatures features = {0};
    struct scene scene = {.seed = 1};
    struct app *app = &scene.app;

    app_init(app, argc, argv, &program);
    features.textureCompressionBC = app->features.textureCompressionBC;
    features.textureCompressionETC2 = app->features.textureCompressionETC2;
    features.textureCompressionASTC_LDR = app->features.textureCompressionASTC_LDR;
    app_device_create(app, &(struct app_device_request){.features = &features});
    create_images(&scene);
    create_pipeline(&scene);
    for (uint32_t f = VK_FORMAT_BC1_RGB_UNORM_BLOCK; f <= VK_FORMAT_ASTC_12x12_SRGB_BLOCK; f++) {
        const struct kind kind = kind_of((VkFormat)f);
        for (int form = 0; form < FORMS; form++)
            if (is_offered(app, &kind, (enum form)form))
                test(&scene, &kind, (enum form)form);
    }
    printf("%u kinds of images\n", scene.formats);
    if (!scene.formats)
        app_skip(app, "no compressed formats");
    app_image_destroy(app, &scene.picture);
    vkDestroyImage(app->device, scene.shown.image, NULL);
    vkFreeMemory(app->device, scene.shown.memory, NULL);
    app_image_destroy(app, &scene.dummy_volume);
    app_image_destroy(app, &scene.dummy_layers);
    vkDestroyPipeline(app->device, scene.pipeline, NULL);
    vkDestroyFramebuffer(app->device, scene.framebuffer, NULL);
    vkDestroyRenderPass(app->device, scene.pass, NULL);
    vkDestroyPipelineLayout(app->device, scene.layout, NULL);
    vkDestroyDescriptorSetLayout(app->device, scene.set_layout, NULL);
    vkDestroySampler(app->device, scene.sampler, NULL);
    return app_finish(app);
}
