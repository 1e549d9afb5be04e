/* SPDX-License-Identifier: MIT */
/*
 * descbuf: descriptors of all types in buffers (VK_EXT_descriptor_buffer): sets at places that move from frame to
 * frame, in two buffers, with arrays, an inline uniform block and an embedded sampler. An image that they name is made
 * anew in each frame, so equal bytes come to mean another image. A recorder or a replay that takes bytes for what they
 * meant earlier shows, and so does one that leaves them where another driver looks for other bytes.
 */
#include "common/app.h"
#include "shaders/descbuf_comp.h"

#define IMAGES  6u /* pictures, combined ones, and a stored one */
#define STORED  5u
#define PLACES  3u /* of each set in its buffer */
#define WORDS   16u
#define NUMBERS 1024u /* bytes of each part of `numbers` */
#define SAMPLED 5u

static bool stage, stage_early, update, secondary, twice, plain, variable;

static PFN_vkGetDescriptorEXT get_descriptor;
static PFN_vkGetDescriptorSetLayoutSizeEXT get_size;
static PFN_vkGetDescriptorSetLayoutBindingOffsetEXT get_offset;
static PFN_vkCmdBindDescriptorBuffersEXT bind_buffers;
static PFN_vkCmdSetDescriptorBufferOffsetsEXT set_offsets;
static PFN_vkCmdBindDescriptorBufferEmbeddedSamplersEXT bind_embedded;

struct scene {
    VkPhysicalDeviceDescriptorBufferPropertiesEXT properties;
    VkDescriptorSetLayout layouts[3];
    VkDeviceSize sizes[2]; /* of a place */
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkSampler sampler;
    struct app_image images[IMAGES];
    uint32_t values[IMAGES];
    struct app_buffer numbers, result, copy;
    struct app_buffer sets[2], staging[2]; /* staging: only where sets can't be mapped */
    uint32_t runs;
};

static VkDeviceAddress address_of(const struct app *app, const struct app_buffer *buffer)
{
    const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                            .buffer = buffer->buffer};
    return vkGetBufferDeviceAddress(app->device, &info);
}

/* ---- what descriptors name ---- */

static void create_image(const struct app *app, struct scene *scene, uint32_t number, uint32_t value)
{
    struct app_image *image = &scene->images[number];
    bool stored = number == STORED;
    VkClearColorValue color = {.float32 = {(float)value / 255.0f}};
    const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkCommandBuffer commands = app_begin(app);

    app_image_create_2d(app, image, stored ? VK_FORMAT_R32_UINT : VK_FORMAT_R8G8B8A8_UNORM, 2, 2,
                        VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                            (stored ? VK_IMAGE_USAGE_STORAGE_BIT : VK_IMAGE_USAGE_SAMPLED_BIT));
    if (stored)
        color.uint32[0] = value;
    app_image_barrier(commands, image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdClearColorImage(commands, image->image, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &range);
    app_image_barrier(commands, image, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
    app_run(app, commands);
    scene->values[number] = value;
}

/* Numbers that descriptors of buffers show: part p begins with p * 100 + seed, p * 100 + seed + 1, ... */
static void fill_numbers(const struct app *app, struct scene *scene, uint32_t seed)
{
    for (uint32_t part = 0; part < 8; part++)
        for (uint32_t i = 0; i < 16; i++)
            ((uint32_t *)(scene->numbers.mapped + (size_t)part * NUMBERS))[i] = part * 100 + seed + i;
    app_buffer_flush(app, &scene->numbers, 0, scene->numbers.size);
}

/* ---- layouts and buffers of descriptors ---- */

/* The last binding has so many descriptors as its place has room for. */
static const VkDescriptorSetLayoutBindingFlagsCreateInfo variable_count = {
    .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
    .bindingCount = 2,
    .pBindingFlags = (const VkDescriptorBindingFlags[]){0, VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT}};

static VkDescriptorSetLayout make_layout(const struct app *app, uint32_t count,
                                         const VkDescriptorSetLayoutBinding *bindings, bool embedded, const void *next)
{
    VkDescriptorSetLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                            .pNext = next,
                                            .flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_DESCRIPTOR_BUFFER_BIT_EXT,
                                            .bindingCount = count,
                                            .pBindings = bindings};
    VkDescriptorSetLayout layout;

    if (embedded)
        info.flags |= VK_DESCRIPTOR_SET_LAYOUT_CREATE_EMBEDDED_IMMUTABLE_SAMPLERS_BIT_EXT;
    CHECK_VK(vkCreateDescriptorSetLayout(app->device, &info, NULL, &layout));
    return layout;
}

static void create_layouts(const struct app *app, struct scene *scene)
{
    const VkShaderStageFlags stage_flags = VK_SHADER_STAGE_COMPUTE_BIT;
    const VkDescriptorSetLayoutBinding first[] = {
        {0, VK_DESCRIPTOR_TYPE_SAMPLER, 1, stage_flags, NULL},
        {1, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, 3, stage_flags, NULL},
        {2, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 2, stage_flags, NULL},
        {3, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1, stage_flags, NULL},
        {4, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, 1, stage_flags, NULL},
        {5, VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, 1, stage_flags, NULL},
        {6, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1, stage_flags, NULL},
        {7, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, stage_flags, NULL},
    };
    const VkDescriptorSetLayoutBinding second[] = {
        /* A driver may have an inline block behind an array of variable count. */
        {0, variable ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, variable ? 1 : 16,
         stage_flags, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, variable ? 1000 : 4, stage_flags, NULL},
    };
    const VkDescriptorSetLayoutBinding third[] = {{0, VK_DESCRIPTOR_TYPE_SAMPLER, 1, stage_flags, &scene->sampler}};
    const VkBool32 embedded = !plain;
    const VkSpecializationMapEntry entry = {.size = sizeof embedded};
    const VkSpecializationInfo constants = {1, &entry, sizeof embedded, &embedded};
    VkDeviceSize alignment = scene->properties.descriptorBufferOffsetAlignment;
    VkComputePipelineCreateInfo pipeline = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                            .flags = VK_PIPELINE_CREATE_DESCRIPTOR_BUFFER_BIT_EXT};

    scene->layouts[0] = make_layout(app, COUNT_OF(first), first, false, NULL);
    scene->layouts[1] = make_layout(app, COUNT_OF(second), second, false, variable ? &variable_count : NULL);
    scene->layouts[2] = make_layout(app, COUNT_OF(third), third, true, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        get_size(app->device, scene->layouts[i], &scene->sizes[i]);
        if (variable && i == 1) {
            get_offset(app->device, scene->layouts[i], 1, &scene->sizes[i]);
            scene->sizes[i] += 4 * scene->properties.storageBufferDescriptorSize;
        }
        scene->sizes[i] = (scene->sizes[i] + alignment - 1) / alignment * alignment;
    }
    scene->layout = app_pipeline_layout(app, 3, scene->layouts, 0, 0);
    pipeline.stage = (VkPipelineShaderStageCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                       .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                       .module = app_shader(app, descbuf_comp, sizeof descbuf_comp),
                                                       .pName = "main",
                                                       .pSpecializationInfo = &constants};
    pipeline.layout = scene->layout;
    CHECK_VK(vkCreateComputePipelines(app->device, VK_NULL_HANDLE, 1, &pipeline, NULL, &scene->pipeline));
    vkDestroyShaderModule(app->device, pipeline.stage.module, NULL);
}

static void create_sets(const struct app *app, struct scene *scene)
{
    const bool copied = stage || stage_early || update;
    VkBufferUsageFlags usage = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                               VK_BUFFER_USAGE_RESOURCE_DESCRIPTOR_BUFFER_BIT_EXT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

    for (uint32_t i = 0; i < 2; i++) {
        VkDeviceSize bytes = scene->sizes[i] * PLACES;
        app_buffer_create(app, &scene->sets[i], bytes,
                          usage | (i == 0 ? VK_BUFFER_USAGE_SAMPLER_DESCRIPTOR_BUFFER_BIT_EXT : 0),
                          copied ? APP_DEVICE : APP_UPLOAD);
        if (copied)
            app_buffer_create(app, &scene->staging[i], bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    }
}

static void create(const struct app *app, struct scene *scene)
{
    const VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO, .maxLod = 1.0f};
    VkCommandBuffer commands;

    CHECK_VK(vkCreateSampler(app->device, &sampler, NULL, &scene->sampler));
    for (uint32_t i = 0; i < IMAGES; i++)
        create_image(app, scene, i, 10 + i);
    app_buffer_create(app, &scene->numbers, (VkDeviceSize)8 * NUMBERS,
                      VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                          VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
                          VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT,
                      APP_UPLOAD);
    app_buffer_create(app, &scene->result, sizeof(uint32_t) * WORDS,
                      VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                          VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                      APP_DEVICE);
    app_buffer_create(app, &scene->copy, scene->result.size, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    commands = app_begin(app);
    vkCmdFillBuffer(commands, scene->result.buffer, 0, VK_WHOLE_SIZE, 0);
    app_run(app, commands);
    create_layouts(app, scene);
    create_sets(app, scene);
}

/* ---- descriptors ---- */

/* Where a program puts an element of a binding. */
struct writer {
    const struct app *app;
    const struct scene *scene;
    uint8_t *set; /* where the set begins in mapped memory */
    VkDescriptorSetLayout layout;
};

static uint8_t *binding_at(const struct writer *w, uint32_t binding)
{
    VkDeviceSize offset;
    get_offset(w->app->device, w->layout, binding, &offset);
    return w->set + offset;
}

static void write_descriptor(const struct writer *w, uint32_t binding, uint32_t element, size_t size,
                             VkDescriptorGetInfoEXT info)
{
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_GET_INFO_EXT;
    get_descriptor(w->app->device, &info, size, binding_at(w, binding) + element * size);
}

static void write_combined(const struct writer *w, uint32_t element, uint32_t count, const VkDescriptorImageInfo *image)
{
    const VkPhysicalDeviceDescriptorBufferPropertiesEXT *p = &w->scene->properties;
    const VkDescriptorGetInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_GET_INFO_EXT,
                                         .type = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                         .data.pCombinedImageSampler = image};
    size_t size = p->combinedImageSamplerDescriptorSize, images = p->sampledImageDescriptorSize;
    uint8_t bytes[512], *at = binding_at(w, 2);

    CHECK(size <= sizeof bytes);
    get_descriptor(w->app->device, &info, size, bytes);
    if (p->combinedImageSamplerDescriptorSingleArray) {
        memcpy(at + element * size, bytes, size);
    } else {
        memcpy(at + element * images, bytes, images);
        memcpy(at + count * images + element * p->samplerDescriptorSize, bytes + images, p->samplerDescriptorSize);
    }
}

static void write_sets(const struct app *app, const struct scene *scene, uint32_t place, uint32_t seed)
{
    const VkPhysicalDeviceDescriptorBufferPropertiesEXT *p = &scene->properties;
    const struct app_buffer *to = scene->staging[0].buffer ? scene->staging : scene->sets;
    struct writer w = {app, scene, to[0].mapped + place * scene->sizes[0], scene->layouts[0]};
    VkDeviceAddress numbers = address_of(app, &scene->numbers);
    VkDescriptorAddressInfoEXT address = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_ADDRESS_INFO_EXT};
    uint32_t block[4] = {seed, seed + 1, seed + 2, seed + 3};

    write_descriptor(&w, 0, 0, p->samplerDescriptorSize,
                     (VkDescriptorGetInfoEXT){.type = VK_DESCRIPTOR_TYPE_SAMPLER, .data.pSampler = &scene->sampler});
    for (uint32_t i = 0; i < IMAGES; i++) {
        const VkDescriptorImageInfo image = {scene->sampler, scene->images[i].view, VK_IMAGE_LAYOUT_GENERAL};
        if (i < 3)
            write_descriptor(
                &w, 1, i, p->sampledImageDescriptorSize,
                (VkDescriptorGetInfoEXT){.type = VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, .data.pSampledImage = &image});
        else if (i < STORED)
            write_combined(&w, i - 3, 2, &image);
        else
            write_descriptor(
                &w, 3, 0, p->storageImageDescriptorSize,
                (VkDescriptorGetInfoEXT){.type = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, .data.pStorageImage = &image});
    }
    address.range = 64;
    address.format = VK_FORMAT_R32_UINT;
    address.address = numbers + (VkDeviceSize)4 * NUMBERS;
    write_descriptor(&w, 4, 0, p->uniformTexelBufferDescriptorSize,
                     (VkDescriptorGetInfoEXT){.type = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
                                              .data.pUniformTexelBuffer = &address});
    address.address = numbers + (VkDeviceSize)5 * NUMBERS;
    write_descriptor(&w, 5, 0, p->storageTexelBufferDescriptorSize,
                     (VkDescriptorGetInfoEXT){.type = VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER,
                                              .data.pStorageTexelBuffer = &address});
    address.format = VK_FORMAT_UNDEFINED;
    address.address = numbers + (VkDeviceSize)6 * NUMBERS;
    write_descriptor(
        &w, 6, 0, p->uniformBufferDescriptorSize,
        (VkDescriptorGetInfoEXT){.type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, .data.pUniformBuffer = &address});
    address.address = address_of(app, &scene->result);
    address.range = scene->result.size;
    write_descriptor(
        &w, 7, 0, p->storageBufferDescriptorSize,
        (VkDescriptorGetInfoEXT){.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .data.pStorageBuffer = &address});

    w.set = to[1].mapped + place * scene->sizes[1];
    w.layout = scene->layouts[1];
    address.address = numbers + (VkDeviceSize)7 * NUMBERS;
    address.range = 64;
    if (variable)
        write_descriptor(
            &w, 0, 0, p->uniformBufferDescriptorSize,
            (VkDescriptorGetInfoEXT){.type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, .data.pUniformBuffer = &address});
    else
        memcpy(binding_at(&w, 0), block, sizeof block);
    for (uint32_t i = 0; i < 4; i++) {
        address.address = numbers + (VkDeviceSize)(3 - i) * NUMBERS;
        address.range = 64;
        write_descriptor(
            &w, 1, i, p->storageBufferDescriptorSize,
            (VkDescriptorGetInfoEXT){.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .data.pStorageBuffer = &address});
    }
    for (uint32_t i = 0; i < 2; i++)
        app_buffer_flush(app, &to[i], place * scene->sizes[i], scene->sizes[i]);
}

/* ---- frames ---- */

static void copy_sets(VkCommandBuffer commands, const struct scene *scene, uint32_t place)
{
    for (uint32_t i = 0; i < 2; i++) {
        const VkBufferCopy region = {place * scene->sizes[i], place * scene->sizes[i], scene->sizes[i]};
        if (update)
            vkCmdUpdateBuffer(commands, scene->sets[i].buffer, region.dstOffset, region.size,
                              scene->staging[i].mapped + region.srcOffset);
        else
            vkCmdCopyBuffer(commands, scene->staging[i].buffer, scene->sets[i].buffer, 1, &region);
    }
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_READ_BIT);
}

static void record_work(const struct app *app, const struct scene *scene, VkCommandBuffer commands, uint32_t place)
{
    VkDescriptorBufferBindingInfoEXT buffers[2];
    const uint32_t indices[2] = {0, 1};
    const VkDeviceSize offsets[2] = {place * scene->sizes[0], place * scene->sizes[1]};

    for (uint32_t i = 0; i < 2; i++)
        buffers[i] = (VkDescriptorBufferBindingInfoEXT){
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_BUFFER_BINDING_INFO_EXT,
            .address = address_of(app, &scene->sets[i]),
            .usage = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_RESOURCE_DESCRIPTOR_BUFFER_BIT_EXT |
                     VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                     (i == 0 ? VK_BUFFER_USAGE_SAMPLER_DESCRIPTOR_BUFFER_BIT_EXT : 0)};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->pipeline);
    bind_buffers(commands, 2, buffers);
    set_offsets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->layout, 0, 2, indices, offsets);
    if (!plain)
        bind_embedded(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->layout, 2);
    vkCmdDispatch(commands, 1, 1, 1);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT);
}

static void read_result(const struct app *app, const struct scene *scene, VkCommandBuffer commands)
{
    const VkBufferCopy all = {0, 0, scene->result.size};

    vkCmdCopyBuffer(commands, scene->result.buffer, scene->copy.buffer, 1, &all);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
}

static void check(const struct app *app, struct scene *scene, uint32_t seed, uint32_t runs)
{
    const uint32_t *results = (const uint32_t *)scene->copy.mapped;

    app_buffer_invalidate(app, &scene->copy, 0, scene->copy.size);
    for (uint32_t i = 0; i < IMAGES; i++)
        EXPECT_EQ(app, results[i], scene->values[i]);
    EXPECT_EQ(app, results[6], 400 + seed + 3);
    EXPECT_EQ(app, results[7], 500 + seed + 2);
    EXPECT_EQ(app, results[8], 600 + seed + 1);
    EXPECT_EQ(app, results[9], (variable ? 700 : 0) + seed + 2);
    for (uint32_t i = 0; i < 4; i++)
        EXPECT_EQ(app, results[10 + i], (3 - i) * 100 + seed);
    scene->runs += runs;
    EXPECT_EQ(app, results[14], scene->runs);
}

static void frame(const struct app *app, struct scene *scene, uint32_t number)
{
    uint32_t place = number % PLACES, seed = number * 7 + 1, remade = number % IMAGES;
    const bool copied = scene->staging[0].buffer;
    VkCommandBuffer commands, executed = VK_NULL_HANDLE;

    app_image_destroy(app, &scene->images[remade]);
    create_image(app, scene, remade, 40 + number);
    fill_numbers(app, scene, seed);
    write_sets(app, scene, place, seed);
    if (stage_early) {
        commands = app_begin(app);
        copy_sets(commands, scene, place);
        app_run(app, commands);
    }
    commands = app_begin(app);
    if (copied && !stage_early)
        copy_sets(commands, scene, place);
    if (secondary) {
        const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                      .commandPool = app->pool,
                                                      .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
                                                      .commandBufferCount = 1};
        const VkCommandBufferInheritanceInfo inherited = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
        const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                                .pInheritanceInfo = &inherited};
        CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &executed));
        CHECK_VK(vkBeginCommandBuffer(executed, &begin));
        record_work(app, scene, executed, place);
        CHECK_VK(vkEndCommandBuffer(executed));
        vkCmdExecuteCommands(commands, 1, &executed);
    } else {
        record_work(app, scene, commands, place);
    }
    read_result(app, scene, commands);
    if (executed)
        vkFreeCommandBuffers(app->device, app->pool, 1, &executed);
    check(app, scene, seed, 1);
}

/* Two contents of the same place in one command buffer: the second is copied over the first between two dispatches. */
static void frame_twice(const struct app *app, struct scene *scene, uint32_t number)
{
    uint32_t seed = number * 7 + 1;
    VkCommandBuffer commands;

    fill_numbers(app, scene, seed);
    write_sets(app, scene, 0, seed + 1000); /* the first's block shows nothing in the end */
    write_sets(app, scene, 1, seed);
    commands = app_begin(app);
    copy_sets(commands, scene, 0);
    record_work(app, scene, commands, 0);
    for (uint32_t i = 0; i < 2; i++) {
        const VkBufferCopy region = {scene->sizes[i], 0, scene->sizes[i]};
        vkCmdCopyBuffer(commands, scene->staging[i].buffer, scene->sets[i].buffer, 1, &region);
    }
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_READ_BIT);
    vkCmdDispatch(commands, 1, 1, 1);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT);
    read_result(app, scene, commands);
    check(app, scene, seed, 2);
}

static void destroy(const struct app *app, struct scene *scene)
{
    for (uint32_t i = 0; i < IMAGES; i++)
        app_image_destroy(app, &scene->images[i]);
    for (uint32_t i = 0; i < 2; i++) {
        app_buffer_destroy(app, &scene->sets[i]);
        if (scene->staging[i].buffer)
            app_buffer_destroy(app, &scene->staging[i]);
    }
    app_buffer_destroy(app, &scene->numbers);
    app_buffer_destroy(app, &scene->result);
    app_buffer_destroy(app, &scene->copy);
    vkDestroyPipeline(app->device, scene->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, scene->layout, NULL);
    for (uint32_t i = 0; i < 3; i++)
        vkDestroyDescriptorSetLayout(app->device, scene->layouts[i], NULL);
    vkDestroySampler(app->device, scene->sampler, NULL);
}

static void create_device(struct app *app, struct scene *scene)
{
    static const char *const extension = VK_EXT_DESCRIPTOR_BUFFER_EXTENSION_NAME;
    VkPhysicalDeviceDescriptorBufferFeaturesEXT has = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_BUFFER_FEATURES_EXT};
    VkPhysicalDeviceVulkan13Features has13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                              .pNext = &has};
    VkPhysicalDeviceVulkan12Features has12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                              .pNext = &has13};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &has12};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &scene->properties};
    VkPhysicalDeviceDescriptorBufferFeaturesEXT want = {.sType = has.sType, .descriptorBuffer = VK_TRUE};
    VkPhysicalDeviceVulkan13Features want13 = {
        .sType = has13.sType, .pNext = &want, .inlineUniformBlock = VK_TRUE, .synchronization2 = VK_TRUE};
    VkPhysicalDeviceVulkan12Features want12 = {.sType = has12.sType, .pNext = &want13, .bufferDeviceAddress = VK_TRUE};

    if (app->api_version < VK_API_VERSION_1_3 || !app_has_extension(app, extension))
        app_skip(app, "no Vulkan 1.3 with VK_EXT_descriptor_buffer");
    vkGetPhysicalDeviceFeatures2(app->physical, &features);
    if (variable && !has12.descriptorBindingVariableDescriptorCount)
        app_skip(app, "no variable counts of descriptors");
    want12.descriptorBindingVariableDescriptorCount = variable;
    if (!has.descriptorBuffer || !has12.bufferDeviceAddress || !has13.inlineUniformBlock)
        app_skip(app, "no descriptor buffers, addresses or inline uniform blocks");
    scene->properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_BUFFER_PROPERTIES_EXT;
    vkGetPhysicalDeviceProperties2(app->physical, &properties);
    if (!scene->properties.maxEmbeddedImmutableSamplerBindings || scene->properties.maxDescriptorBufferBindings < 2 ||
        scene->properties.maxResourceDescriptorBufferBindings < 2)
        app_skip(app, "no embedded samplers, or fewer than two descriptor buffers at once");
    app_device_create(app,
                      &(struct app_device_request){.extensions = &extension, .extension_count = 1, .next = &want12});
    get_descriptor = (PFN_vkGetDescriptorEXT)app_device_function(app, "vkGetDescriptorEXT");
    get_size = (PFN_vkGetDescriptorSetLayoutSizeEXT)app_device_function(app, "vkGetDescriptorSetLayoutSizeEXT");
    get_offset = (PFN_vkGetDescriptorSetLayoutBindingOffsetEXT)app_device_function(
        app, "vkGetDescriptorSetLayoutBindingOffsetEXT");
    bind_buffers = (PFN_vkCmdBindDescriptorBuffersEXT)app_device_function(app, "vkCmdBindDescriptorBuffersEXT");
    set_offsets =
        (PFN_vkCmdSetDescriptorBufferOffsetsEXT)app_device_function(app, "vkCmdSetDescriptorBufferOffsetsEXT");
    bind_embedded = (PFN_vkCmdBindDescriptorBufferEmbeddedSamplersEXT)app_device_function(
        app, "vkCmdBindDescriptorBufferEmbeddedSamplersEXT");
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--stage", "copy descriptors in the command buffer that uses them", &stage, NULL},
        {"--early", "copy them in an earlier submit", &stage_early, NULL},
        {"--update", "copy them with vkCmdUpdateBuffer", &update, NULL},
        {"--secondary", "use them in a secondary command buffer", &secondary, NULL},
        {"--plain", "use no embedded samplers", &plain, NULL},
        {"--variable", "an array with more elements in its layout than in memory", &variable, NULL},
        {"--twice", "copy others over them in the same command buffer", &twice, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "descbuf",
        .what = "Descriptors of all types in buffers.",
        .frames = 8,
        .options = options,
    };
    static struct scene scene;
    struct app app;

    app_init(&app, argc, argv, &program);
    stage |= twice;
    create_device(&app, &scene);
    create(&app, &scene);
    for (uint32_t i = 0; i < app.frames; i++)
        if (twice)
            frame_twice(&app, &scene, i);
        else
            frame(&app, &scene, i);
    destroy(&app, &scene);
    return app_finish(&app);
}
