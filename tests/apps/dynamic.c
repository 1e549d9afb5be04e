/* SPDX-License-Identifier: MIT */
/*
 * dynamic: pipelines with all the dynamic state that a device has, and a picture whose quarters differ in it. With
 * --absent, structures all of whose state is dynamic are left out. The pipelines
 * are whole, or linked from libraries (--libraries): with and without link time optimization, with set layouts of their
 * own. With --garbage, structure members that the libraries ignore lead nowhere, or have any number.
 */
#include "common/states.h"
#include "shaders/states_frag.h"
#include "shaders/states_vert.h"

#define SCALE 3u

struct programs {
    VkPipelineShaderStageCreateInfo stages[2];
    VkSpecializationMapEntry entry;
    VkSpecializationInfo constants;
    uint32_t scale;
    VkPipelineRenderingCreateInfo rendering;
    VkFormat format;
};

static void describe(const struct app *app, struct programs *programs)
{
    *programs = (struct programs){.scale = SCALE, .format = VK_FORMAT_R8G8B8A8_UNORM};
    programs->entry = (VkSpecializationMapEntry){7, 0, 4};
    programs->constants = (VkSpecializationInfo){1, &programs->entry, 4, &programs->scale};
    programs->stages[0] =
        (VkPipelineShaderStageCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                          .stage = VK_SHADER_STAGE_VERTEX_BIT,
                                          .module = app_shader(app, states_vert, sizeof states_vert),
                                          .pName = "main"};
    programs->stages[1] =
        (VkPipelineShaderStageCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                          .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
                                          .module = app_shader(app, states_frag, sizeof states_frag),
                                          .pName = "main",
                                          .pSpecializationInfo = &programs->constants};
    programs->rendering = (VkPipelineRenderingCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                          .colorAttachmentCount = 1,
                                                          .pColorAttachmentFormats = &programs->format};
}

static void draw_all(struct app_picture *picture, const struct app_states *states, VkPipeline pipeline)
{
    VkCommandBuffer commands = app_picture_begin(picture);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    for (uint32_t quarter = 0; quarter < 4; quarter++) {
        app_states_set(states, commands, quarter);
        app_picture_draw(picture, states, commands, quarter);
    }
    app_picture_end(picture, states, commands, SCALE);
}

/* ---- libraries ---- */

struct link {
    VkPipelineLayout layout, vertex, fragment; /* of the linked pipeline, and of the libraries with these stages */
    VkPipelineCreateFlags flags;               /* of the libraries */
    bool optimize;                             /* when they are linked */
    bool alone;                                /* one library has two parts */
    bool garbage;
};

/* What a library with these parts ignores. Drivers look at stages, layouts and render passes all the same. */
static void fill_ignored(const struct app_states *states, VkGraphicsPipelineCreateInfo *info,
                         VkPipelineRenderingCreateInfo *rendering, VkPipelineColorBlendStateCreateInfo *blend,
                         VkGraphicsPipelineLibraryFlagsEXT parts)
{
    const bool all_blend_is_dynamic =
        app_states_has(states, VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT) &&
        app_states_has(states, VK_DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT) &&
        app_states_has(states, VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT) &&
        (!states->blends_coherently || app_states_has(states, VK_DYNAMIC_STATE_COLOR_BLEND_ADVANCED_EXT));
    void *const lost = (void *)(uintptr_t)0xdead000;
    const VkGraphicsPipelineLibraryFlagsEXT stages = VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT |
                                                     VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT,
                                            output = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT;

    if (!(parts & VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT)) {
        info->pVertexInputState = lost;
        info->pInputAssemblyState = lost;
    }
    if (!(parts & VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT)) {
        info->pViewportState = lost;
        info->pRasterizationState = lost;
        info->pTessellationState = lost;
    }
    if (!(parts & VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT))
        info->pDepthStencilState = lost;
    if (!(parts & (VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT | output)))
        info->pMultisampleState = lost;
    if (parts & output) {
        if (all_blend_is_dynamic)
            *blend = (VkPipelineColorBlendStateCreateInfo){
                .sType = blend->sType, .attachmentCount = 5921370, .pAttachments = lost};
        return;
    }
    info->pColorBlendState = lost;
    rendering->colorAttachmentCount = 5921370;
    rendering->pColorAttachmentFormats = lost;
    rendering->depthAttachmentFormat = rendering->stencilAttachmentFormat = 5921370;
    if (parts & stages)
        return;
    rendering->viewMask = 0xdead;
    info->subpass = 5921370;
}

static VkPipeline library(const struct app_states *states, const struct programs *programs, const struct link *link,
                          VkGraphicsPipelineLibraryFlagsEXT parts)
{
    const VkVertexInputBindingDescription binding = {.stride = 8};
    const VkVertexInputAttributeDescription attribute = {.format = VK_FORMAT_R32G32_SFLOAT};
    const VkPipelineVertexInputStateCreateInfo input = {.sType =
                                                            VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
                                                        .vertexBindingDescriptionCount = 1,
                                                        .pVertexBindingDescriptions = &binding,
                                                        .vertexAttributeDescriptionCount = 1,
                                                        .pVertexAttributeDescriptions = &attribute};
    const VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
    const VkPipelineViewportStateCreateInfo viewports = {.sType =
                                                             VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
    const VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .lineWidth = 1};
    const VkPipelineMultisampleStateCreateInfo samples = {.sType =
                                                              VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                                          .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    const VkPipelineDepthStencilStateCreateInfo depth = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO};
    const VkPipelineColorBlendAttachmentState attachment = {.colorWriteMask = 0xf};
    VkPipelineColorBlendStateCreateInfo blend = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                 .attachmentCount = 1,
                                                 .pAttachments = &attachment};
    const VkPipelineDynamicStateCreateInfo dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                      .dynamicStateCount = states->dynamic_count,
                                                      .pDynamicStates = states->dynamic};
    VkPipelineRenderingCreateInfo rendering = programs->rendering;
    const VkGraphicsPipelineLibraryCreateInfoEXT part = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT, .pNext = &rendering, .flags = parts};
    VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    VkPipelineShaderStageCreateInfo stages[2];
    VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                         .pNext = &part,
                                         .flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR | link->flags,
                                         .pDynamicState = &dynamic};
    VkPipeline pipeline;

    if (parts & VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT) {
        info.pVertexInputState = &input;
        info.pInputAssemblyState = &assembly;
    }
    if (parts & VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT) {
        stages[info.stageCount++] = programs->stages[0];
        info.pViewportState = &viewports;
        info.pRasterizationState = &raster;
        info.layout = link->vertex;
    }
    if (parts & VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT) {
        stages[info.stageCount] = programs->stages[1];
        stages[info.stageCount].module = VK_NULL_HANDLE; /* the code alone */
        code.codeSize = sizeof states_frag;
        code.pCode = states_frag;
        stages[info.stageCount++].pNext = &code;
        info.pMultisampleState = &samples;
        info.pDepthStencilState = &depth;
        info.layout = link->fragment;
    }
    if (parts & VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT) {
        info.pMultisampleState = &samples;
        info.pColorBlendState = &blend;
    }
    info.pStages = info.stageCount ? stages : NULL;
    if (link->garbage)
        fill_ignored(states, &info, &rendering, &blend, parts);
    CHECK_VK(vkCreateGraphicsPipelines(states->app->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    return pipeline;
}

/* What is drawn with libraries; they have to outlive the pipelines that they are linked into. */
struct linked {
    VkPipeline libraries[4], pipeline;
    uint32_t count;
};

static struct linked link_them(const struct app_states *states, const struct programs *programs,
                               const struct link *link)
{
    static const VkGraphicsPipelineLibraryFlagsEXT apart[4] = {
        VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT,
        VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT,
        VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT,
        VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT};
    struct linked linked = {.count = 0};

    if (link->alone)
        linked.libraries[linked.count++] = library(states, programs, link, apart[0] | apart[1]);
    for (uint32_t i = link->alone ? 2 : 0; i < 4; i++)
        linked.libraries[linked.count++] = library(states, programs, link, apart[i]);
    const VkPipelineLibraryCreateInfoKHR list = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR,
                                                 .libraryCount = linked.count,
                                                 .pLibraries = linked.libraries};
    const VkGraphicsPipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
        .pNext = &list,
        .flags = link->optimize ? VK_PIPELINE_CREATE_LINK_TIME_OPTIMIZATION_BIT_EXT : 0u,
        .layout = link->layout};
    CHECK_VK(vkCreateGraphicsPipelines(states->app->device, VK_NULL_HANDLE, 1, &info, NULL, &linked.pipeline));
    return linked;
}

static VkPipelineLayout independent(const struct app *app, VkDescriptorSetLayout first, VkDescriptorSetLayout second)
{
    const VkPipelineLayoutCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .flags = VK_PIPELINE_LAYOUT_CREATE_INDEPENDENT_SETS_BIT_EXT,
        .setLayoutCount = 2,
        .pSetLayouts = (const VkDescriptorSetLayout[2]){first, second},
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &(VkPushConstantRange){VK_SHADER_STAGE_FRAGMENT_BIT, 0, APP_PUSH_BYTES}};
    VkPipelineLayout layout;
    CHECK_VK(vkCreatePipelineLayout(app->device, &create, NULL, &layout));
    return layout;
}

static void draw_linked(const struct app_states *states, const struct programs *programs, struct app_picture *picture,
                        bool garbage)
{
    const struct app *app = states->app;
    VkDescriptorSetLayout nothing = app_set_layout(app, 0, NULL);
    VkPipelineLayout whole = picture->layout, both = independent(app, picture->set_layout, nothing),
                     vertex = independent(app, VK_NULL_HANDLE, nothing),
                     fragment = independent(app, picture->set_layout, VK_NULL_HANDLE);
    const VkPipelineCreateFlags retain = VK_PIPELINE_CREATE_RETAIN_LINK_TIME_OPTIMIZATION_INFO_BIT_EXT;
    const struct link ways[] = {
        {whole, whole, whole, 0, false, false, garbage},        {whole, whole, whole, 0, false, true, garbage},
        {whole, whole, whole, retain, true, false, garbage},    {both, vertex, fragment, 0, false, false, garbage},
        {both, vertex, fragment, retain, false, true, garbage}, {both, vertex, fragment, retain, true, false, garbage},
    };
    for (uint32_t i = 0; i < COUNT_OF(ways); i++) {
        struct linked linked = link_them(states, programs, &ways[i]);
        picture->layout = ways[i].layout;
        draw_all(picture, states, linked.pipeline);
        vkDestroyPipeline(app->device, linked.pipeline, NULL);
        for (uint32_t j = 0; j < linked.count; j++)
            vkDestroyPipeline(app->device, linked.libraries[j], NULL);
    }
    picture->layout = whole;
    vkDestroyPipelineLayout(app->device, both, NULL);
    vkDestroyPipelineLayout(app->device, vertex, NULL);
    vkDestroyPipelineLayout(app->device, fragment, NULL);
    vkDestroyDescriptorSetLayout(app->device, nothing, NULL);
}

/* ---- the program ---- */

static const void *find_libraries(const struct app *app, struct app_states *states)
{
    static VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT,
        .graphicsPipelineLibrary = VK_TRUE};
    if (!app_has_extension(app, "VK_EXT_graphics_pipeline_library"))
        app_skip(app, "no VK_EXT_graphics_pipeline_library");
    states->extensions[states->extension_count++] = "VK_KHR_pipeline_library";
    states->extensions[states->extension_count++] = "VK_EXT_graphics_pipeline_library";
    features.pNext = (void *)(uintptr_t)states->features;
    return &features;
}

int main(int argc, char **argv)
{
    static bool absent, libraries, garbage;
    static const struct app_option options[] = {
        {"--absent", "leave out structures all of whose state is dynamic", &absent, NULL},
        {"--libraries", "link the pipelines from libraries", &libraries, NULL},
        {"--garbage", "and fill what they ignore", &garbage, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "dynamic",
        .what = "Draws with pipelines all of whose state is dynamic.",
        .frames = 3,
        .options = options,
    };
    VkPhysicalDeviceVulkan13Features features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                                 .dynamicRendering = VK_TRUE};
    struct app_device_request request = {0};
    struct app_states states;
    struct app_picture picture;
    struct programs programs;
    struct app app;

    app_init(&app, argc, argv, &program);
    if (app.api_version < VK_API_VERSION_1_3)
        app_skip(&app, "needs Vulkan 1.3");
    if (!app.features.fragmentStoresAndAtomics)
        app_skip(&app, "shaders of fragments can't store");
    app_states_find(&app, &states);
    features.pNext = (void *)(uintptr_t)(libraries ? find_libraries(&app, &states) : states.features);
    request.next = &features;
    request.extensions = states.extensions;
    request.extension_count = states.extension_count;
    if (absent && strstr(app.properties.deviceName, "llvmpipe") &&
        app.properties.apiVersion < VK_MAKE_API_VERSION(0, 1, 4, 0))
        app_skip(&app, "this driver crashes without these structures");
    if (getenv("VK_INSTANCE_LAYERS") && strstr(getenv("VK_INSTANCE_LAYERS"), "VK_LAYER_KHRONOS_validation"))
        garbage = false; /* it follows what is ignored */
    app_device_create(&app, &request);
    printf("%u dynamic states\n", states.dynamic_count);
    app_picture_create(&app, &picture);
    describe(&app, &programs);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        if (libraries) {
            draw_linked(&states, &programs, &picture, garbage);
            continue;
        }
        VkPipeline pipeline =
            app_states_pipeline(&states, programs.stages, picture.layout, &programs.rendering, absent);
        draw_all(&picture, &states, pipeline);
        vkDestroyPipeline(app.device, pipeline, NULL);
    }
    vkDestroyShaderModule(app.device, programs.stages[0].module, NULL);
    vkDestroyShaderModule(app.device, programs.stages[1].module, NULL);
    app_picture_destroy(&picture);
    return app_finish(&app);
}
