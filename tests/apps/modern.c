/* SPDX-License-Identifier: MIT */
/*
 * modern: a frame without render passes or framebuffers: dynamic rendering with secondary command buffers, push
 * descriptors, descriptor update templates (for sets and pushed), push constants, synchronization2, timeline
 * semaphores, the copy commands of the second generation, extended dynamic state, names and labels. A part whose
 * extension the device lacks is left out, and the program says so; without Vulkan 1.3 there is nothing to run.
 */
#include "common/target.h"
#include "shaders/headless_vert.h"
#include "shaders/modern_frag.h"

#define ATOM 256u /* between the uniforms in their buffer */

struct functions {
    PFN_vkCmdBeginRenderingKHR begin_rendering;
    PFN_vkCmdEndRenderingKHR end_rendering;
    PFN_vkQueueSubmit2KHR submit2;
    PFN_vkCmdPipelineBarrier2KHR pipeline_barrier2;
    PFN_vkCmdCopyBuffer2KHR copy_buffer2;
    PFN_vkCmdCopyImageToBuffer2KHR copy_image_to_buffer2;
    PFN_vkCmdPushDescriptorSetKHR push_descriptor;
    PFN_vkCmdPushDescriptorSetWithTemplateKHR push_with_template;
    PFN_vkCmdSetCullModeEXT set_cull_mode;
    PFN_vkCmdSetFrontFaceEXT set_front_face;
    PFN_vkCmdSetPrimitiveTopologyEXT set_topology;
    PFN_vkCmdSetDepthTestEnableEXT set_depth_test;
    PFN_vkCmdDrawMultiEXT draw_multi;
    PFN_vkSetDebugUtilsObjectNameEXT set_name;
    PFN_vkCmdBeginDebugUtilsLabelEXT begin_label;
    PFN_vkCmdEndDebugUtilsLabelEXT end_label;
    PFN_vkCmdInsertDebugUtilsLabelEXT insert_label;
    PFN_vkQueueInsertDebugUtilsLabelEXT insert_queue_label;
    PFN_vkQueueBeginDebugUtilsLabelEXT begin_queue_label;
    PFN_vkQueueEndDebugUtilsLabelEXT end_queue_label;
};

struct renderer {
    struct app *app;
    struct functions vk;
    bool push, dynamic_state, multi_draw, khr_names, labels;
    struct app_image image;
    struct app_buffer uniforms, staging, pixels;
    VkDescriptorSetLayout set_layout, push_layout;
    VkDescriptorPool descriptor_pool;
    VkPipelineLayout layout, push_pipeline_layout;
    VkPipeline pipeline, push_pipeline;
    VkDescriptorUpdateTemplate update_template, push_template;
    VkCommandPool secondary_pool;
    VkSemaphore timeline;
    VkDebugUtilsMessengerEXT messenger;
};

/* The picture has four quarters, each drawn with a descriptor that came another way. */
enum quarter { BY_WRITE, BY_TEMPLATE, BY_PUSH, BY_PUSH_TEMPLATE, QUARTERS };

/* What the update templates read: with gaps, as programs lay their data out. */
struct template_data {
    uint64_t before;
    VkDescriptorBufferInfo uniform;
    uint32_t between[5];
    VkDescriptorBufferInfo storage;
};

static uint32_t color_of(uint32_t frame, uint32_t quarter)
{
    return (quarter * 60 + 20) << 24 | (frame * 8 & 0xff) << 16 | 0x8000 | 0xff;
}

static PFN_vkVoidFunction function(const struct renderer *r, const char *name, const char *suffix)
{
    char full[64];
    snprintf(full, sizeof(full), "%s%s", name, r->khr_names ? suffix : "");
    return app_device_function(r->app, full);
}

static void load(struct renderer *r)
{
    struct functions *vk = &r->vk;
    vk->begin_rendering = (PFN_vkCmdBeginRenderingKHR)function(r, "vkCmdBeginRendering", "KHR");
    vk->end_rendering = (PFN_vkCmdEndRenderingKHR)function(r, "vkCmdEndRendering", "KHR");
    vk->submit2 = (PFN_vkQueueSubmit2KHR)function(r, "vkQueueSubmit2", "KHR");
    vk->pipeline_barrier2 = (PFN_vkCmdPipelineBarrier2KHR)function(r, "vkCmdPipelineBarrier2", "KHR");
    vk->copy_buffer2 = (PFN_vkCmdCopyBuffer2KHR)function(r, "vkCmdCopyBuffer2", "KHR");
    vk->copy_image_to_buffer2 = (PFN_vkCmdCopyImageToBuffer2KHR)function(r, "vkCmdCopyImageToBuffer2", "KHR");
    if (r->push) {
        vk->push_descriptor = (PFN_vkCmdPushDescriptorSetKHR)app_device_function(r->app, "vkCmdPushDescriptorSetKHR");
        vk->push_with_template = (PFN_vkCmdPushDescriptorSetWithTemplateKHR)app_device_function(
            r->app, "vkCmdPushDescriptorSetWithTemplateKHR");
    }
    if (r->dynamic_state) {
        vk->set_cull_mode = (PFN_vkCmdSetCullModeEXT)function(r, "vkCmdSetCullMode", "EXT");
        vk->set_front_face = (PFN_vkCmdSetFrontFaceEXT)function(r, "vkCmdSetFrontFace", "EXT");
        vk->set_topology = (PFN_vkCmdSetPrimitiveTopologyEXT)function(r, "vkCmdSetPrimitiveTopology", "EXT");
        vk->set_depth_test = (PFN_vkCmdSetDepthTestEnableEXT)function(r, "vkCmdSetDepthTestEnable", "EXT");
    }
    if (r->multi_draw)
        vk->draw_multi = (PFN_vkCmdDrawMultiEXT)app_device_function(r->app, "vkCmdDrawMultiEXT");
    VkInstance instance = r->app->instance; /* NULL where the instance has no VK_EXT_debug_utils */
    vk->set_name = (PFN_vkSetDebugUtilsObjectNameEXT)vkGetInstanceProcAddr(instance, "vkSetDebugUtilsObjectNameEXT");
    vk->begin_label = (PFN_vkCmdBeginDebugUtilsLabelEXT)vkGetInstanceProcAddr(instance, "vkCmdBeginDebugUtilsLabelEXT");
    vk->end_label = (PFN_vkCmdEndDebugUtilsLabelEXT)vkGetInstanceProcAddr(instance, "vkCmdEndDebugUtilsLabelEXT");
    vk->insert_label =
        (PFN_vkCmdInsertDebugUtilsLabelEXT)vkGetInstanceProcAddr(instance, "vkCmdInsertDebugUtilsLabelEXT");
    vk->insert_queue_label =
        (PFN_vkQueueInsertDebugUtilsLabelEXT)vkGetInstanceProcAddr(instance, "vkQueueInsertDebugUtilsLabelEXT");
    vk->begin_queue_label =
        (PFN_vkQueueBeginDebugUtilsLabelEXT)vkGetInstanceProcAddr(instance, "vkQueueBeginDebugUtilsLabelEXT");
    vk->end_queue_label =
        (PFN_vkQueueEndDebugUtilsLabelEXT)vkGetInstanceProcAddr(instance, "vkQueueEndDebugUtilsLabelEXT");
}

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    if (severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT)
        printf("%s: %s\n", (const char *)user, data->pMessage);
    return VK_FALSE;
}

static void create_messenger(struct renderer *r)
{
    VkInstance instance = r->app->instance;
    PFN_vkCreateDebugUtilsMessengerEXT create =
        (PFN_vkCreateDebugUtilsMessengerEXT)vkGetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT");
    if (!create)
        return;
    VkDebugUtilsMessengerCreateInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
    info.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
    info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT;
    info.pfnUserCallback = on_message;
    info.pUserData = (void *)"message";
    CHECK_VK(create(instance, &info, NULL, &r->messenger));
}

static void destroy_messenger(struct renderer *r)
{
    PFN_vkDestroyDebugUtilsMessengerEXT destroy =
        (PFN_vkDestroyDebugUtilsMessengerEXT)vkGetInstanceProcAddr(r->app->instance, "vkDestroyDebugUtilsMessengerEXT");
    if (destroy)
        destroy(r->app->instance, r->messenger, NULL);
}

static void create_device(struct renderer *r)
{
    struct app *app = r->app;
    if (app->api_version < VK_API_VERSION_1_3)
        app_skip(app, "needs Vulkan 1.3");
    VkPhysicalDeviceExtendedDynamicStateFeaturesEXT state = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTENDED_DYNAMIC_STATE_FEATURES_EXT};
    VkPhysicalDeviceMultiDrawFeaturesEXT multi_draw = {.sType =
                                                           VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTI_DRAW_FEATURES_EXT};
    VkPhysicalDeviceVulkan13Features features13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    VkPhysicalDeviceVulkan12Features features12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                   .pNext = &features13};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &features12};
    vkGetPhysicalDeviceFeatures2(app->physical, &features);
    /* Vulkan 1.3 demands all three. */
    CHECK(app->no_check ||
          (features13.dynamicRendering && features13.synchronization2 && features12.timelineSemaphore));

    const char *extensions[8];
    struct app_device_request request = {.extensions = extensions};
    r->dynamic_state = true; /* part of 1.3 */
    if (r->khr_names) {
        const char *names[] = {"VK_KHR_dynamic_rendering", "VK_KHR_synchronization2", "VK_KHR_copy_commands2"};
        for (uint32_t i = 0; i < COUNT_OF(names); i++) {
            if (!app_has_extension(app, names[i]))
                app_skip(app, "the extensions that 1.3 took in are not there by their own names");
            extensions[request.extension_count++] = names[i];
        }
        r->dynamic_state = app_has_extension(app, "VK_EXT_extended_dynamic_state");
        if (r->dynamic_state)
            extensions[request.extension_count++] = "VK_EXT_extended_dynamic_state";
        else
            printf("left out: extended dynamic state\n");
    }
    r->push = app_has_extension(app, "VK_KHR_push_descriptor");
    if (r->push)
        extensions[request.extension_count++] = "VK_KHR_push_descriptor";
    else
        printf("left out: push descriptors\n");
    r->multi_draw = app_has_extension(app, "VK_EXT_multi_draw");
    if (r->multi_draw)
        extensions[request.extension_count++] = "VK_EXT_multi_draw";
    else
        printf("left out: multi draw\n");

    VkPhysicalDeviceVulkan13Features want13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    want13.dynamicRendering = want13.synchronization2 = VK_TRUE;
    if (r->khr_names && r->dynamic_state) {
        state.extendedDynamicState = VK_TRUE;
        want13.pNext = &state;
    }
    VkPhysicalDeviceVulkan12Features want12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    want12.pNext = &want13;
    want12.timelineSemaphore = VK_TRUE;
    if (r->multi_draw) {
        multi_draw.multiDraw = VK_TRUE;
        multi_draw.pNext = want13.pNext;
        want13.pNext = &multi_draw;
    }
    VkPhysicalDeviceFeatures2 want = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &want12};
    request.next = &want;
    app_device_create(app, &request);
    load(r);
}

static void set_name(const struct renderer *r, VkObjectType type, uint64_t handle, const char *name)
{
    VkDebugUtilsObjectNameInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT};
    info.objectType = type;
    info.objectHandle = handle;
    info.pObjectName = name;
    if (r->vk.set_name)
        CHECK_VK(r->vk.set_name(r->app->device, &info));
}

static VkDescriptorUpdateTemplate create_template(const struct renderer *r, bool push)
{
    const VkDescriptorUpdateTemplateEntry entries[] = {
        {0, 0, 1, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, offsetof(struct template_data, uniform), 0},
        {1, 0, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, offsetof(struct template_data, storage), 0},
    };
    VkDescriptorUpdateTemplateCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO};
    info.descriptorUpdateEntryCount = COUNT_OF(entries);
    info.pDescriptorUpdateEntries = entries;
    info.templateType = push ? VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR
                             : VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET;
    info.descriptorSetLayout = push ? VK_NULL_HANDLE : r->set_layout;
    info.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
    info.pipelineLayout = push ? r->push_pipeline_layout : VK_NULL_HANDLE;
    VkDescriptorUpdateTemplate result;
    CHECK_VK(vkCreateDescriptorUpdateTemplate(r->app->device, &info, NULL, &result));
    return result;
}

static VkPipeline create_pipeline(const struct renderer *r, VkPipelineLayout layout)
{
    const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    const VkDynamicState states[] = {VK_DYNAMIC_STATE_CULL_MODE, VK_DYNAMIC_STATE_FRONT_FACE,
                                     VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY, VK_DYNAMIC_STATE_DEPTH_TEST_ENABLE};
    VkPipelineRenderingCreateInfo rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO};
    rendering.colorAttachmentCount = 1;
    rendering.pColorAttachmentFormats = &format;
    struct app_pipeline info = {
        .vertex = app_shader(r->app, headless_vert, sizeof(headless_vert)),
        .fragment = app_shader(r->app, modern_frag, sizeof(modern_frag)),
        .layout = layout,
        .next = &rendering,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
        .color_count = 1,
        .dynamic = states,
        .dynamic_count = r->dynamic_state ? COUNT_OF(states) : 0,
    };
    set_name(r, VK_OBJECT_TYPE_SHADER_MODULE, (uint64_t)info.fragment, "four quarters");
    VkPipeline pipeline = app_graphics_pipeline(r->app, &info);
    vkDestroyShaderModule(r->app->device, info.vertex, NULL);
    vkDestroyShaderModule(r->app->device, info.fragment, NULL);
    return pipeline;
}

static void create(struct renderer *r)
{
    struct app *app = r->app;
    app_image_create_2d(app, &r->image, VK_FORMAT_R8G8B8A8_UNORM, app->width, app->height,
                        VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    app_buffer_create(app, &r->pixels, app->width * app->height * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_buffer_create(app, &r->staging, QUARTERS * ATOM, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &r->uniforms, QUARTERS * ATOM,
                      VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                          VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                      APP_DEVICE);
    set_name(r, VK_OBJECT_TYPE_IMAGE, (uint64_t)r->image.image, "the picture");
    set_name(r, VK_OBJECT_TYPE_BUFFER, (uint64_t)r->uniforms.buffer, "uniforms");

    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1, VK_SHADER_STAGE_FRAGMENT_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_FRAGMENT_BIT, NULL},
    };
    r->set_layout = app_set_layout(app, COUNT_OF(bindings), bindings);
    r->layout = app_pipeline_layout(app, 1, &r->set_layout, VK_SHADER_STAGE_FRAGMENT_BIT, 16);
    r->pipeline = create_pipeline(r, r->layout);
    r->update_template = create_template(r, false);
    if (r->push) {
        VkDescriptorSetLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
        layout.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
        layout.bindingCount = COUNT_OF(bindings);
        layout.pBindings = bindings;
        CHECK_VK(vkCreateDescriptorSetLayout(app->device, &layout, NULL, &r->push_layout));
        r->push_pipeline_layout = app_pipeline_layout(app, 1, &r->push_layout, VK_SHADER_STAGE_FRAGMENT_BIT, 16);
        r->push_pipeline = create_pipeline(r, r->push_pipeline_layout);
        r->push_template = create_template(r, true);
    }
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 2},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2}};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = 2;
    pool.poolSizeCount = COUNT_OF(sizes);
    pool.pPoolSizes = sizes;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &r->descriptor_pool));
    VkCommandPoolCreateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    commands.queueFamilyIndex = app->queue_family;
    CHECK_VK(vkCreateCommandPool(app->device, &commands, NULL, &r->secondary_pool));
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    type.initialValue = 100;
    VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &r->timeline));
}

static struct template_data data_of(const struct renderer *r, uint32_t quarter)
{
    struct template_data data = {.before = UINT64_MAX, .between = {1, 2, 3, 4, 5}};
    data.uniform = (VkDescriptorBufferInfo){r->uniforms.buffer, quarter * ATOM, 16};
    data.storage = (VkDescriptorBufferInfo){r->uniforms.buffer, quarter * ATOM, 32};
    return data;
}

static void writes_of(struct template_data *data, VkDescriptorSet set, VkWriteDescriptorSet writes[2])
{
    for (uint32_t i = 0; i < 2; i++) {
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
        writes[i].dstSet = set;
        writes[i].dstBinding = i;
        writes[i].descriptorCount = 1;
        writes[i].descriptorType = i ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
        writes[i].pBufferInfo = i ? &data->storage : &data->uniform;
    }
}

/* Draws stand among the program's own data: read side by side, they would draw nothing. */
static void draw_with_gaps(const struct renderer *r, VkCommandBuffer commands)
{
    const struct {
        VkMultiDrawInfoEXT draw;
        uint32_t other;
    } draws[] = {{{0, 2}, 0}, {{0, 2}, 0}, {{0, 3}, 0}};
    r->vk.draw_multi(commands, COUNT_OF(draws), &draws[0].draw, 1, 0, sizeof(draws[0]));
}

/* Draws one quarter of the picture into a secondary command buffer. */
static void record_quarter(const struct renderer *r, VkCommandBuffer commands, VkDescriptorSet set, uint32_t quarter)
{
    const struct app *app = r->app;
    const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    VkCommandBufferInheritanceRenderingInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO};
    rendering.colorAttachmentCount = 1;
    rendering.pColorAttachmentFormats = &format;
    rendering.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
    VkCommandBufferInheritanceInfo inheritance = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    inheritance.pNext = &rendering;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT | VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    begin.pInheritanceInfo = &inheritance;
    CHECK_VK(vkBeginCommandBuffer(commands, &begin));
    bool push = quarter >= BY_PUSH && r->push;
    VkPipelineLayout layout = push ? r->push_pipeline_layout : r->layout;
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, push ? r->push_pipeline : r->pipeline);
    uint32_t half_width = app->width / 2, half_height = app->height / 2;
    VkViewport viewport = {(float)(quarter % 2 * half_width),
                           (float)(quarter / 2 * half_height),
                           (float)half_width,
                           (float)half_height,
                           0,
                           1};
    VkRect2D scissor = {{(int32_t)viewport.x, (int32_t)viewport.y}, {half_width, half_height}};
    vkCmdSetViewport(commands, 0, 1, &viewport);
    vkCmdSetScissor(commands, 0, 1, &scissor);
    if (r->dynamic_state) {
        r->vk.set_cull_mode(commands, VK_CULL_MODE_NONE);
        r->vk.set_front_face(commands, VK_FRONT_FACE_CLOCKWISE);
        r->vk.set_topology(commands, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST);
        r->vk.set_depth_test(commands, VK_FALSE);
    }
    struct template_data data = data_of(r, quarter);
    VkWriteDescriptorSet writes[2];
    writes_of(&data, VK_NULL_HANDLE, writes);
    if (push && quarter == BY_PUSH)
        r->vk.push_descriptor(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, layout, 0, 2, writes);
    else if (push)
        r->vk.push_with_template(commands, r->push_template, layout, 0, &data);
    else
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, layout, 0, 1, &set, 0, NULL);
    memset(&data, 0xee, sizeof(data)); /* all was read when the call returned */
    const float blue_alpha[4] = {0, 0, 128 / 255.0f, 1};
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_FRAGMENT_BIT, 0, 8, blue_alpha);
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_FRAGMENT_BIT, 8, 8, blue_alpha + 2);
    if (r->multi_draw)
        draw_with_gaps(r, commands);
    else
        vkCmdDraw(commands, 3, 1, 0, 0);
    CHECK_VK(vkEndCommandBuffer(commands));
}

static void image_barrier2(const struct renderer *r, VkCommandBuffer commands, VkImageLayout from, VkImageLayout to)
{
    VkImageMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2};
    barrier.srcStageMask = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT | VK_PIPELINE_STAGE_2_COPY_BIT;
    barrier.srcAccessMask = VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT;
    barrier.dstStageMask = barrier.srcStageMask;
    barrier.dstAccessMask = VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_TRANSFER_READ_BIT;
    barrier.oldLayout = from;
    barrier.newLayout = to;
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.image = r->image.image;
    barrier.subresourceRange = (VkImageSubresourceRange){VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO};
    dependency.imageMemoryBarrierCount = 1;
    dependency.pImageMemoryBarriers = &barrier;
    r->vk.pipeline_barrier2(commands, &dependency);
}

static void record_upload(const struct renderer *r, VkCommandBuffer commands)
{
    VkBufferCopy2 region = {.sType = VK_STRUCTURE_TYPE_BUFFER_COPY_2, .size = r->staging.size};
    VkCopyBufferInfo2 copy = {.sType = VK_STRUCTURE_TYPE_COPY_BUFFER_INFO_2};
    copy.srcBuffer = r->staging.buffer;
    copy.dstBuffer = r->uniforms.buffer;
    copy.regionCount = 1;
    copy.pRegions = &region;
    r->vk.copy_buffer2(commands, &copy);
    VkBufferMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2};
    barrier.srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT;
    barrier.srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT;
    barrier.dstStageMask = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT;
    barrier.dstAccessMask = VK_ACCESS_2_UNIFORM_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_READ_BIT;
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.buffer = r->uniforms.buffer;
    barrier.size = VK_WHOLE_SIZE;
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO};
    dependency.bufferMemoryBarrierCount = 1;
    dependency.pBufferMemoryBarriers = &barrier;
    r->vk.pipeline_barrier2(commands, &dependency);
}

static void record_rendering(const struct renderer *r, VkCommandBuffer commands, const VkCommandBuffer *secondaries)
{
    VkRenderingAttachmentInfo attachment = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
    attachment.imageView = r->image.view;
    attachment.imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
    attachment.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    attachment.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    VkRenderingInfo rendering = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO};
    rendering.flags = VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT;
    rendering.renderArea.extent = (VkExtent2D){r->app->width, r->app->height};
    rendering.layerCount = 1;
    rendering.colorAttachmentCount = 1;
    rendering.pColorAttachments = &attachment;
    image_barrier2(r, commands, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    r->vk.begin_rendering(commands, &rendering);
    vkCmdExecuteCommands(commands, QUARTERS, secondaries);
    r->vk.end_rendering(commands);
    image_barrier2(r, commands, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    VkBufferImageCopy2 region = {.sType = VK_STRUCTURE_TYPE_BUFFER_IMAGE_COPY_2};
    region.imageSubresource = (VkImageSubresourceLayers){VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = (VkExtent3D){r->app->width, r->app->height, 1};
    VkCopyImageToBufferInfo2 copy = {.sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_BUFFER_INFO_2};
    copy.srcImage = r->image.image;
    copy.srcImageLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    copy.dstBuffer = r->pixels.buffer;
    copy.regionCount = 1;
    copy.pRegions = &region;
    r->vk.copy_image_to_buffer2(commands, &copy);
    VkMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2};
    barrier.srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT;
    barrier.srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT;
    barrier.dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT;
    barrier.dstAccessMask = VK_ACCESS_2_HOST_READ_BIT;
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO};
    dependency.memoryBarrierCount = 1;
    dependency.pMemoryBarriers = &barrier;
    r->vk.pipeline_barrier2(commands, &dependency);
}

/* Two submits in one call: the upload signals first + 1, the drawing waits for it and signals first + 2. */
static void submit(const struct renderer *r, VkCommandBuffer upload, VkCommandBuffer drawing, uint64_t first)
{
    VkCommandBufferSubmitInfo buffers[2] = {{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO},
                                            {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO}};
    VkSemaphoreSubmitInfo waits[2], signals[2];
    VkSubmitInfo2 submits[2];
    buffers[0].commandBuffer = upload;
    buffers[1].commandBuffer = drawing;
    for (uint32_t i = 0; i < 2; i++) {
        waits[i] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO};
        waits[i].semaphore = r->timeline;
        waits[i].stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        signals[i] = waits[i];
        waits[i].value = first + i;
        signals[i].value = first + i + 1;
        submits[i] = (VkSubmitInfo2){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2};
        submits[i].waitSemaphoreInfoCount = submits[i].signalSemaphoreInfoCount = 1;
        submits[i].pWaitSemaphoreInfos = &waits[i];
        submits[i].pSignalSemaphoreInfos = &signals[i];
        submits[i].commandBufferInfoCount = 1;
        submits[i].pCommandBufferInfos = &buffers[i];
    }
    CHECK_VK(r->vk.submit2(r->app->queue, 2, submits, VK_NULL_HANDLE));
}

/* --labels: around both command buffers of a frame, and of two frames. */
static void begin_labels(const struct renderer *r, VkCommandBuffer upload, uint32_t frame)
{
    VkDebugUtilsLabelEXT label = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, .pLabelName = "two frames"};

    if (!r->labels || !r->vk.begin_label)
        return;
    if (frame % 2 == 0)
        r->vk.begin_label(upload, &label);
    label.pLabelName = "from the upload on";
    r->vk.begin_label(upload, &label);
}

static void end_labels(const struct renderer *r, VkCommandBuffer drawing, uint32_t frame)
{
    for (uint32_t i = 0; r->labels && r->vk.end_label && i < 1 + frame % 2; i++)
        r->vk.end_label(drawing);
}

static void run_frame(struct renderer *r, uint32_t frame)
{
    const struct app *app = r->app;
    uint64_t first = 100 + frame * 2;
    for (uint32_t q = 0; q < QUARTERS; q++) { /* red is read from the uniform, green from the storage buffer */
        float values[8] = {(float)(color_of(frame, q) >> 24) / 255.0f};
        values[4] = (float)(color_of(frame, q) >> 16 & 0xff) / 255.0f;
        memcpy(r->staging.mapped + q * ATOM, values, sizeof(values));
    }
    app_buffer_flush(app, &r->staging, 0, r->staging.size);

    VkDescriptorSetLayout layouts[2] = {r->set_layout, r->set_layout};
    VkDescriptorSet sets[2];
    VkDescriptorSetAllocateInfo allocate_sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate_sets.descriptorPool = r->descriptor_pool;
    allocate_sets.descriptorSetCount = 2;
    allocate_sets.pSetLayouts = layouts;
    CHECK_VK(vkResetDescriptorPool(app->device, r->descriptor_pool, 0));
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate_sets, sets));
    struct template_data data = data_of(r, BY_WRITE);
    VkWriteDescriptorSet writes[2];
    writes_of(&data, sets[0], writes);
    vkUpdateDescriptorSets(app->device, 2, writes, 0, NULL);
    data = data_of(r, BY_TEMPLATE);
    vkUpdateDescriptorSetWithTemplate(app->device, sets[1], r->update_template, &data);

    VkCommandBuffer secondaries[QUARTERS];
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = r->secondary_pool;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    allocate.commandBufferCount = QUARTERS;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, secondaries));
    for (uint32_t q = 0; q < QUARTERS; q++)
        record_quarter(r, secondaries[q], sets[q % 2], q);

    VkCommandBuffer upload = app_begin(app), drawing = app_begin(app);
    begin_labels(r, upload, frame);
    record_upload(r, upload);
    CHECK_VK(vkEndCommandBuffer(upload));
    /* A page that takes labels for markup would run this. */
    VkDebugUtilsLabelEXT label = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
                                  .pLabelName = "four quarters <img src=x onerror=alert(1)>"};
    if (r->vk.begin_label)
        r->vk.begin_label(drawing, &label);
    record_rendering(r, drawing, secondaries);
    if (r->vk.end_label)
        r->vk.end_label(drawing);
    label.pLabelName = "all four are drawn";
    if (r->vk.insert_label)
        r->vk.insert_label(drawing, &label);
    end_labels(r, drawing, frame);
    CHECK_VK(vkEndCommandBuffer(drawing));
    label.pLabelName = "four are submitted";
    if (r->vk.insert_queue_label)
        r->vk.insert_queue_label(app->queue, &label);
    label.pLabelName = "a frame";
    if (r->vk.begin_queue_label)
        r->vk.begin_queue_label(app->queue, &label);
    submit(r, upload, drawing, first);
    if (r->vk.end_queue_label)
        r->vk.end_queue_label(app->queue);

    const uint64_t last = first + 2;
    VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
    wait.semaphoreCount = 1;
    wait.pSemaphores = &r->timeline;
    wait.pValues = &last;
    CHECK_VK(vkWaitSemaphores(app->device, &wait, UINT64_MAX));
    vkFreeCommandBuffers(app->device, app->pool, 1, &upload);
    vkFreeCommandBuffers(app->device, app->pool, 1, &drawing);
    vkFreeCommandBuffers(app->device, r->secondary_pool, QUARTERS, secondaries);
    app_buffer_invalidate(app, &r->pixels, 0, r->pixels.size);
    struct app_pixels pixels = {.bytes = r->pixels.mapped, .width = app->width, .height = app->height, .frame = frame};
    for (uint32_t q = 0; q < QUARTERS; q++) {
        uint32_t shown = q >= BY_PUSH && !r->push ? q % 2 : q; /* the sets' own where nothing can be pushed */
        EXPECT_PIXEL(app, &pixels, 0.25 + q % 2 * 0.5, 0.25 + q / 2 * 0.5, color_of(frame, shown));
    }
}

static void destroy(struct renderer *r)
{
    VkDevice device = r->app->device;
    vkDestroyDescriptorUpdateTemplate(device, r->update_template, NULL);
    vkDestroyDescriptorUpdateTemplate(device, r->push_template, NULL);
    vkDestroyPipeline(device, r->pipeline, NULL);
    vkDestroyPipeline(device, r->push_pipeline, NULL);
    vkDestroyPipelineLayout(device, r->layout, NULL);
    vkDestroyPipelineLayout(device, r->push_pipeline_layout, NULL);
    vkDestroyDescriptorPool(device, r->descriptor_pool, NULL);
    vkDestroyDescriptorSetLayout(device, r->set_layout, NULL);
    vkDestroyDescriptorSetLayout(device, r->push_layout, NULL);
    vkDestroyCommandPool(device, r->secondary_pool, NULL);
    vkDestroySemaphore(device, r->timeline, NULL);
    app_image_destroy(r->app, &r->image);
    app_buffer_destroy(r->app, &r->uniforms);
    app_buffer_destroy(r->app, &r->staging);
    app_buffer_destroy(r->app, &r->pixels);
}

int main(int argc, char **argv)
{
    static bool khr_names, labels;
    static const struct app_option options[] = {
        {"--khr", "use the extensions' names where Vulkan 1.3 has its own", &khr_names, NULL},
        {"--labels", "labels that end in later command buffers, at which some drivers crash", &labels, NULL},
        {0},
    };
    static const char *const instance_extensions[] = {"VK_EXT_debug_utils", NULL};
    static const struct app_program program = {
        .name = "modern",
        .what = "Dynamic rendering, secondaries, push descriptors, templates, synchronization2, timelines.",
        .frames = 30,
        .instance_extensions = instance_extensions,
        .options = options,
    };
    struct app app;
    struct renderer renderer = {.app = &app};
    app_init(&app, argc, argv, &program);
    renderer.khr_names = khr_names;
    renderer.labels = labels;
    create_messenger(&renderer);
    create_device(&renderer);
    create(&renderer);
    for (uint32_t frame = 0; frame < app.frames; frame++)
        run_frame(&renderer, frame);
    destroy(&renderer);
    app_device_destroy(&app);
    destroy_messenger(&renderer);
    return app_finish(&app);
}
