/* SPDX-License-Identifier: MIT */
/*
 * push: descriptors that are pushed, some at a time, over what was pushed before: buffers, arrays in part and across
 * bindings (from their first element on, since lavapipe 22 pushes nowhere else), images, immutable samplers, by writes
 * and by templates, through two pipeline layouts that are alike, in primary and secondary command buffers, which are
 * submitted again, recorded anew, reset with their pool, and freed. With --two by vkCmdPushDescriptorSet2KHR. With
 * --core by Vulkan 1.4's feature, without the extension. With --early the set layouts are gone when descriptors are
 * pushed, which validation layers of the time of Debian 12 take for an error. With --stores nothing of that, but one
 * write of two bindings, of which a shader stores to the second.
 */
#include "common/app.h"
#include "shaders/move_comp.h"
#include "shaders/push_gather_comp.h"

#define STRIDE   256u /* enough for every offset alignment */
#define NUMBERS  64u  /* words: number n is n + 1 */
#define PICTURES 3u
#define RESULTS  8u  /* of a dispatch */
#define LOOKS    24u /* dispatches of a command buffer */
#define MANY     3u

enum { FIRST = 0, MANY_BINDING = 1, PLAIN = 2, PICTURE = 3, COMBINED = 4, STORED = 7, LAYOUT_BINDINGS = 6 };

/* What a template reads. */
struct template_data {
    VkDescriptorBufferInfo many[2];
    VkDescriptorImageInfo picture;
};

struct scene {
    const struct app *app;
    struct app_buffer numbers, results;
    struct app_image pictures[PICTURES];
    VkSampler sampler;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkDescriptorSetLayout set_layout; /* for pushing */
    VkPipelineLayout layouts[2];
    VkDescriptorUpdateTemplate template;
    VkPipeline pipeline;
    PFN_vkCmdPushDescriptorSetKHR push;
    PFN_vkCmdPushDescriptorSetWithTemplateKHR push_with_template;
#ifdef VK_KHR_maintenance6
    PFN_vkCmdPushDescriptorSet2KHR push_2;
    PFN_vkCmdPushDescriptorSetWithTemplate2KHR push_with_template_2;
#endif
    uint32_t seed, looks; /* looks: in the results so far */
    uint32_t model[RESULTS];
    uint32_t expected[8 * LOOKS][RESULTS];
};

static bool two, early, core, stores;

static const uint32_t picture_codes[PICTURES] = {51, 102, 204};

/* ---- making ---- */

static void create_device(struct app *app, struct scene *scene)
{
    const char *extensions[2] = {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME};
    struct app_device_request request = {.extensions = extensions, .extension_count = 1};
#ifdef VK_KHR_maintenance6
    const VkPhysicalDeviceMaintenance6FeaturesKHR features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_6_FEATURES_KHR, .maintenance6 = VK_TRUE};

    if (two) {
        extensions[request.extension_count++] = VK_KHR_MAINTENANCE_6_EXTENSION_NAME;
        request.next = &features;
    }
#else
    if (two)
        app_skip(app, "these headers have no VK_KHR_maintenance6");
#endif
#ifdef VK_VERSION_1_4
    const VkPhysicalDeviceVulkan14Features version = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_4_FEATURES,
                                                      .pushDescriptor = VK_TRUE};
    if (core) {
        request.extension_count = 0;
        request.next = &version;
    }
#endif
    if (core && app->api_version < APP_VULKAN_1_4)
        app_skip(app, "no Vulkan 1.4");
    app_device_create(app, &request);
    scene->push = (PFN_vkCmdPushDescriptorSetKHR)app_device_function(app, core ? "vkCmdPushDescriptorSet"
                                                                               : "vkCmdPushDescriptorSetKHR");
    scene->push_with_template = (PFN_vkCmdPushDescriptorSetWithTemplateKHR)app_device_function(
        app, core ? "vkCmdPushDescriptorSetWithTemplate" : "vkCmdPushDescriptorSetWithTemplateKHR");
#ifdef VK_KHR_maintenance6
    if (two) {
        scene->push_2 = (PFN_vkCmdPushDescriptorSet2KHR)app_device_function(app, "vkCmdPushDescriptorSet2KHR");
        scene->push_with_template_2 = (PFN_vkCmdPushDescriptorSetWithTemplate2KHR)app_device_function(
            app, "vkCmdPushDescriptorSetWithTemplate2KHR");
    }
#endif
}

static void create_pictures(struct scene *scene)
{
    const struct app *app = scene->app;
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkCommandBuffer commands = app_begin(app);

    for (uint32_t i = 0; i < PICTURES; i++) {
        const VkClearColorValue color = {.float32 = {(float)picture_codes[i] / 255.0f, 0, 0, 1}};
        app_image_create_2d(app, &scene->pictures[i], VK_FORMAT_R8G8B8A8_UNORM, 4, 4,
                            VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
        app_image_barrier(commands, &scene->pictures[i], VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
        vkCmdClearColorImage(commands, scene->pictures[i].image, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &all);
        app_image_barrier(commands, &scene->pictures[i], VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
    }
    app_run(app, commands);
}

static VkDescriptorSetLayout create_push_layout(const struct scene *scene)
{
    const VkShaderStageFlags stage = VK_SHADER_STAGE_COMPUTE_BIT;
    const VkDescriptorSetLayoutBinding bindings[LAYOUT_BINDINGS] = {
        {STORED, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, stage, NULL}, /* in no order */
        {FIRST, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1, stage, NULL},
        {MANY_BINDING, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, MANY, stage, NULL},
        {PLAIN, VK_DESCRIPTOR_TYPE_SAMPLER, 1, stage, &scene->sampler},
        {PICTURE, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, 1, stage, NULL},
        {COMBINED, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, stage, &scene->sampler},
    };
    const VkDescriptorSetLayoutCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                    .flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR,
                                                    .bindingCount = LAYOUT_BINDINGS,
                                                    .pBindings = bindings};
    VkDescriptorSetLayout layout;

    CHECK_VK(vkCreateDescriptorSetLayout(scene->app->device, &create, NULL, &layout));
    return layout;
}

static void create_template(struct scene *scene)
{
    const VkDescriptorUpdateTemplateEntry entries[] = {
        {MANY_BINDING, 0, 2, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, offsetof(struct template_data, many),
         sizeof(VkDescriptorBufferInfo)},
        {PICTURE, 0, 1, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, offsetof(struct template_data, picture), 0}};
    VkDescriptorUpdateTemplateCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
                                                   .descriptorUpdateEntryCount = COUNT_OF(entries),
                                                   .pDescriptorUpdateEntries = entries,
                                                   .templateType =
                                                       VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR,
                                                   .pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE,
                                                   .pipelineLayout = scene->layouts[0],
                                                   .set = 1};

    CHECK_VK(vkCreateDescriptorUpdateTemplate(scene->app->device, &create, NULL, &scene->template));
}

static void create_layouts(struct scene *scene)
{
    const struct app *app = scene->app;
    const VkDescriptorSetLayoutBinding result = {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT,
                                                 NULL};
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1};
    const VkDescriptorBufferInfo whole = {scene->results.buffer, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &whole};
    VkDescriptorSetLayout sets[2] = {app_set_layout(app, 1, &result)};

    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &scene->pool));
    allocate.descriptorPool = scene->pool;
    allocate.pSetLayouts = sets;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &scene->set));
    write.dstSet = scene->set;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    sets[1] = scene->set_layout = create_push_layout(scene);
    for (uint32_t i = 0; i < 2; i++)
        scene->layouts[i] = app_pipeline_layout(app, 2, sets, VK_SHADER_STAGE_COMPUTE_BIT, 4);
    vkDestroyDescriptorSetLayout(app->device, sets[0], NULL);
    create_template(scene);
    if (early)
        vkDestroyDescriptorSetLayout(app->device, scene->set_layout, NULL);
    scene->pipeline = app_compute_pipeline(app, push_gather_comp, sizeof push_gather_comp, scene->layouts[0]);
}

static void create_scene(struct scene *scene)
{
    const struct app *app = scene->app;
    const VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};

    app_buffer_create(app, &scene->numbers, NUMBERS * STRIDE,
                      VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_UPLOAD);
    app_buffer_create(app, &scene->results, sizeof scene->expected, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    for (uint32_t i = 0; i < NUMBERS; i++)
        memcpy(scene->numbers.mapped + i * STRIDE, &(uint32_t){i + 1}, 4);
    app_buffer_flush(app, &scene->numbers, 0, scene->numbers.size);
    CHECK_VK(vkCreateSampler(app->device, &sampler, NULL, &scene->sampler));
    create_pictures(scene);
    create_layouts(scene);
}

static void destroy_scene(struct scene *scene)
{
    const struct app *app = scene->app;

    vkDestroyPipeline(app->device, scene->pipeline, NULL);
    vkDestroyDescriptorUpdateTemplate(app->device, scene->template, NULL);
    for (uint32_t i = 0; i < 2; i++)
        vkDestroyPipelineLayout(app->device, scene->layouts[i], NULL);
    if (!early)
        vkDestroyDescriptorSetLayout(app->device, scene->set_layout, NULL);
    vkDestroyDescriptorPool(app->device, scene->pool, NULL);
    vkDestroySampler(app->device, scene->sampler, NULL);
    for (uint32_t i = 0; i < PICTURES; i++)
        app_image_destroy(app, &scene->pictures[i]);
    app_buffer_destroy(app, &scene->numbers);
    app_buffer_destroy(app, &scene->results);
}

/* ---- pushing ---- */

static uint32_t random_below(struct scene *scene, uint32_t count)
{
    return app_random(&scene->seed) % count;
}

static VkDescriptorBufferInfo number(struct scene *scene, uint32_t result)
{
    uint32_t n = random_below(scene, NUMBERS);

    scene->model[result] = n + 1;
    return (VkDescriptorBufferInfo){scene->numbers.buffer, (VkDeviceSize)n * STRIDE, 16};
}

static VkDescriptorImageInfo picture(struct scene *scene, uint32_t result)
{
    uint32_t n = random_below(scene, PICTURES);

    scene->model[result] = picture_codes[n];
    return (VkDescriptorImageInfo){scene->sampler, scene->pictures[n].view, VK_IMAGE_LAYOUT_GENERAL};
}

static void push_writes(struct scene *scene, VkCommandBuffer commands, uint32_t count,
                        const VkWriteDescriptorSet *writes)
{
    VkPipelineLayout layout = scene->layouts[random_below(scene, 2)];

#ifdef VK_KHR_maintenance6
    if (two) {
        const VkPushDescriptorSetInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PUSH_DESCRIPTOR_SET_INFO_KHR,
                                                 .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                                 .layout = layout,
                                                 .set = 1,
                                                 .descriptorWriteCount = count,
                                                 .pDescriptorWrites = writes};
        scene->push_2(commands, &info);
        return;
    }
#endif
    scene->push(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 1, count, writes);
}

static void push_template(struct scene *scene, VkCommandBuffer commands)
{
    const struct template_data data = {{number(scene, 1), number(scene, 2)}, picture(scene, 4)};

#ifdef VK_KHR_maintenance6
    if (two) {
        const VkPushDescriptorSetWithTemplateInfoKHR info = {
            .sType = VK_STRUCTURE_TYPE_PUSH_DESCRIPTOR_SET_WITH_TEMPLATE_INFO_KHR,
            .descriptorUpdateTemplate = scene->template,
            .layout = scene->layouts[0],
            .set = 1,
            .pData = &data};
        scene->push_with_template_2(commands, &info);
        return;
    }
#endif
    scene->push_with_template(commands, scene->template, scene->layouts[0], 1, &data);
}

/* Some of what there is, or all of it. */
static void push_some(struct scene *scene, VkCommandBuffer commands, bool all)
{
    VkDescriptorBufferInfo first, many[1 + MANY], stored;
    VkDescriptorImageInfo shown, combined, plain = {.sampler = scene->sampler}; /* ignored */
    VkWriteDescriptorSet writes[LAYOUT_BINDINGS];
    uint32_t count = 0;
    const VkWriteDescriptorSet empty = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .descriptorCount = 1};

#define ADD(what, infos, ...)                                                                                          \
    (writes[count] = empty, writes[count].dstBinding = (what), writes[count].infos, __VA_ARGS__, count++)
    if (all || random_below(scene, 3) == 0) { /* the first one and the array behind it, in one write */
        uint32_t last = all ? MANY : random_below(scene, MANY + 1);
        for (uint32_t i = 0; i <= last; i++)
            many[i] = number(scene, i);
        ADD(FIRST, descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, writes[count].pBufferInfo = many,
            writes[count].descriptorCount = last + 1);
    } else if (random_below(scene, 2)) {
        first = number(scene, 1);
        ADD(MANY_BINDING, descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, writes[count].pBufferInfo = &first,
            (void)0);
    }
    if (all || random_below(scene, 4) == 0)
        ADD(PLAIN, descriptorType = VK_DESCRIPTOR_TYPE_SAMPLER, writes[count].pImageInfo = &plain, (void)0);
    if (all || random_below(scene, 3) == 0) {
        shown = picture(scene, 4);
        ADD(PICTURE, descriptorType = VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, writes[count].pImageInfo = &shown, (void)0);
    }
    if (all || random_below(scene, 3) == 0) {
        combined = picture(scene, 5);
        ADD(COMBINED, descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, writes[count].pImageInfo = &combined,
            (void)0);
    }
    if (all || random_below(scene, 3) == 0) {
        stored = number(scene, 6);
        ADD(STORED, descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, writes[count].pBufferInfo = &stored, (void)0);
    }
#undef ADD
    if (count)
        push_writes(scene, commands, count, writes);
    if (random_below(scene, 4) == 0)
        push_template(scene, commands);
}

/* Dispatches, each with something else pushed over what was pushed. */
static void look(struct scene *scene, VkCommandBuffer commands, uint32_t looks)
{
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->layouts[0], 0, 1, &scene->set, 0, NULL);
    for (uint32_t i = 0; i < looks; i++) {
        const uint32_t at = scene->looks * RESULTS;
        push_some(scene, commands, i == 0);
        vkCmdPushConstants(commands, scene->layouts[0], VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &at);
        vkCmdDispatch(commands, 1, 1, 1);
        scene->model[RESULTS - 1] = 77;
        CHECK(scene->looks < COUNT_OF(scene->expected));
        memcpy(scene->expected[scene->looks++], scene->model, sizeof scene->model);
    }
}

/* ---- the run ---- */

static void begin(VkCommandBuffer commands, bool secondary)
{
    const VkCommandBufferInheritanceInfo inheritance = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = secondary ? VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT : 0,
                                           .pInheritanceInfo = secondary ? &inheritance : NULL};
    CHECK_VK(vkBeginCommandBuffer(commands, &info));
}

static void end(VkCommandBuffer commands)
{
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                       VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT);
    CHECK_VK(vkEndCommandBuffer(commands));
}

static void check(struct scene *scene)
{
    const struct app *app = scene->app;

    app_buffer_invalidate(app, &scene->results, 0, scene->results.size);
    for (uint32_t i = 0; i < scene->looks; i++)
        for (uint32_t j = 0; j < RESULTS; j++) {
            uint32_t got;
            memcpy(&got, scene->results.mapped + (i * RESULTS + j) * 4, 4);
            EXPECT_EQ(app, got, scene->expected[i][j]);
        }
    scene->looks = 0;
}

static VkCommandBuffer allocate(const struct scene *scene, VkCommandPool pool, VkCommandBufferLevel level)
{
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = pool,
                                              .level = level,
                                              .commandBufferCount = 1};
    VkCommandBuffer commands;
    CHECK_VK(vkAllocateCommandBuffers(scene->app->device, &info, &commands));
    return commands;
}

static void play_round(struct scene *scene, VkCommandPool pool, VkCommandBuffer primary, uint32_t round)
{
    const struct app *app = scene->app;
    VkCommandBuffer secondary = allocate(scene, pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY), other;

    begin(secondary, true);
    look(scene, secondary, LOOKS / 2);
    CHECK_VK(vkEndCommandBuffer(secondary));
    begin(primary, false);
    look(scene, primary, LOOKS);
    vkCmdExecuteCommands(primary, 1, &secondary);
    look(scene, primary, round % 3 ? 2 : LOOKS); /* what was pushed is gone */
    end(primary);
    app_submit_wait(app, 1, &primary);
    app_submit_wait(app, 1, &primary); /* once more */
    check(scene);
    vkFreeCommandBuffers(app->device, pool, 1, &secondary);
    other = allocate(scene, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    begin(other, false);
    look(scene, other, 3);
    end(other);
    app_submit_wait(app, 1, &other);
    check(scene);
    if (round % 2)
        CHECK_VK(vkResetCommandPool(app->device, pool, 0));
    vkFreeCommandBuffers(app->device, pool, 1, &other);
}

static void store_across(const struct scene *scene)
{
    const struct app *app = scene->app;
    const VkShaderStageFlags stage = VK_SHADER_STAGE_COMPUTE_BIT;
    const VkDescriptorSetLayoutBinding bindings[] = {{0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, stage, NULL},
                                                     {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, stage, NULL}};
    const VkDescriptorSetLayoutCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                    .flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR,
                                                    .bindingCount = COUNT_OF(bindings),
                                                    .pBindings = bindings};
    const VkDescriptorBufferInfo buffers[] = {{scene->numbers.buffer, 0, VK_WHOLE_SIZE},
                                              {scene->results.buffer, 0, VK_WHOLE_SIZE}};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .descriptorCount = COUNT_OF(buffers),
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = buffers};
    const uint32_t moved[] = {0, 3, 5, 2}; /* from, to, factor, more: 1 * 5 + 2 */
    VkDescriptorSetLayout set;
    VkPipelineLayout layout;
    VkCommandBuffer commands;
    VkPipeline pipeline;
    uint32_t got;

    CHECK_VK(vkCreateDescriptorSetLayout(app->device, &create, NULL, &set));
    layout = app_pipeline_layout(app, 1, &set, stage, sizeof moved);
    pipeline = app_compute_pipeline(app, move_comp, sizeof move_comp, layout);
    commands = app_begin(app);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    scene->push(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &write);
    vkCmdPushConstants(commands, layout, stage, 0, sizeof moved, moved);
    vkCmdDispatch(commands, 1, 1, 1);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &scene->results, 0, scene->results.size);
    memcpy(&got, scene->results.mapped + 12, 4);
    EXPECT_EQ(app, got, 7);
    vkDestroyPipeline(app->device, pipeline, NULL);
    vkDestroyPipelineLayout(app->device, layout, NULL);
    vkDestroyDescriptorSetLayout(app->device, set, NULL);
}

static const struct app_option options[] = {
    {"--stores", "store to the second of two bindings that one write fills, and nothing else", &stores, NULL},
    {"--two", "push by the commands of VK_KHR_maintenance6", &two, NULL},
    {"--core", "push by Vulkan 1.4's feature", &core, NULL},
    {"--early", "destroy the set layout before anything is pushed", &early, NULL},
    {.name = NULL}};

int main(int argc, char **argv)
{
    static const struct app_program program = {.name = "push",
                                               .what = "Pushes descriptors over one another.",
                                               .frames = 6,
                                               .options = options,
                                               .vulkan_1_4 = &core};
    VkCommandPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                      .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
    static struct scene scene = {.seed = 5};
    VkCommandBuffer primary;
    VkCommandPool pool;
    struct app app;

    app_init(&app, argc, argv, &program);
    create_device(&app, &scene);
    scene.app = &app;
    create_scene(&scene);
    create.queueFamilyIndex = app.queue_family;
    CHECK_VK(vkCreateCommandPool(app.device, &create, NULL, &pool));
    primary = allocate(&scene, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    if (stores)
        store_across(&scene);
    for (uint32_t round = 0; round < app.frames && !stores; round++)
        play_round(&scene, pool, primary, round);
    vkDestroyCommandPool(app.device, pool, NULL);
    destroy_scene(&scene);
    return app_finish(&app);
}
