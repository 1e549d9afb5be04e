/* SPDX-License-Identifier: MIT */
/*
 * generated: commands that are in memory (VK_EXT_device_generated_commands): dispatches that choose a pipeline of a set
 * and push an address and numbers, and draws with addresses of vertices and indices. The host writes the sequences
 * anew in each frame, and another one counts them. --preprocess: a command of its own does the driver's work ahead of
 * the execution, with the state of a command buffer that is being recorded.
 */
#include "common/app.h"
#include "shaders/generated_comp.h"
#include "shaders/ranges_frag.h"
#include "shaders/ranges_vert.h"

#ifdef VK_EXT_device_generated_commands

#define WORDS     32u
#define SIZE      16u
#define SEQUENCES 4u
#define MORE      1000u /* what the second pipeline adds */

struct place {
    struct app_buffer buffer;
    VkDeviceAddress address;
};

struct dispatch {
    uint32_t pipeline, spare;
    VkDeviceAddress results; /* pushed, as the next two are */
    uint32_t factor, first;
    VkDispatchIndirectCommand groups;
    uint32_t end;
};

struct draw {
    VkBindVertexBufferIndirectCommandEXT vertices;
    VkBindIndexBufferIndirectCommandEXT indices;
    VkDrawIndexedIndirectCommand draw;
    uint32_t end;
};

struct corner {
    float place[2];
    uint8_t tint[4];
};

/* A layout of commands, and what an execution of it needs. */
struct generator {
    VkIndirectCommandsLayoutEXT layout;
    VkGeneratedCommandsPipelineInfoEXT pipeline;
    VkGeneratedCommandsInfoEXT info;
    struct place sequences, scratch;
};

struct job {
    struct place results, corners, indices, count;
    struct app_buffer pixels;
    struct app_image target;
    VkRenderPass pass;
    VkFramebuffer framebuffer;
    VkPipelineLayout layout, draw_layout;
    VkPipeline dispatches[2], draw;
    VkIndirectExecutionSetEXT set;
    struct generator dispatcher, drawer;
};

static struct {
    PFN_vkCreateIndirectCommandsLayoutEXT create_layout;
    PFN_vkDestroyIndirectCommandsLayoutEXT destroy_layout;
    PFN_vkCreateIndirectExecutionSetEXT create_set;
    PFN_vkDestroyIndirectExecutionSetEXT destroy_set;
    PFN_vkUpdateIndirectExecutionSetPipelineEXT update_set;
    PFN_vkGetGeneratedCommandsMemoryRequirementsEXT requirements;
    PFN_vkCmdPreprocessGeneratedCommandsEXT preprocess;
    PFN_vkCmdExecuteGeneratedCommandsEXT execute;
} vk;

static bool use_preprocess;

static const VkPipelineCreateFlags2CreateInfoKHR bindable = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
    .flags = VK_PIPELINE_CREATE_2_INDIRECT_BINDABLE_BIT_EXT};

/* ---- buffers ---- */

/* type_bits: of the memory, beside what the buffer asks for. */
static void create_place(const struct app *app, struct place *place, VkDeviceSize size, VkBufferUsageFlags2KHR usage,
                         enum app_memory kind, uint32_t type_bits)
{
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &flags};
    const VkBufferUsageFlags2CreateInfoKHR usages = {.sType = VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR,
                                                     .usage = usage | VK_BUFFER_USAGE_2_SHADER_DEVICE_ADDRESS_BIT_KHR};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .pNext = &usages,
                                     .size = size,
                                     .usage = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
    VkBufferDeviceAddressInfo ask = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    struct app_buffer *buffer = &place->buffer;
    VkMemoryRequirements requirements;
    void *mapped = NULL;

    *buffer = (struct app_buffer){.size = size};
    CHECK_VK(vkCreateBuffer(app->device, &info, NULL, &buffer->buffer));
    vkGetBufferMemoryRequirements(app->device, buffer->buffer, &requirements);
    allocate.allocationSize = buffer->allocated = requirements.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, requirements.memoryTypeBits & type_bits, kind);
    buffer->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &buffer->memory));
    CHECK_VK(vkBindBufferMemory(app->device, buffer->buffer, buffer->memory, 0));
    ask.buffer = buffer->buffer;
    place->address = vkGetBufferDeviceAddress(app->device, &ask);
    CHECK(place->address || app->no_check);
    if (kind == APP_DEVICE)
        return;
    CHECK_VK(vkMapMemory(app->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    buffer->mapped = mapped;
    memset(mapped, 0, size);
    app_buffer_flush(app, buffer, 0, size);
}

/* ---- layouts ---- */

static VkIndirectCommandsLayoutTokenEXT token(VkIndirectCommandsTokenTypeEXT type, uint32_t offset)
{
    return (VkIndirectCommandsLayoutTokenEXT){
        .sType = VK_STRUCTURE_TYPE_INDIRECT_COMMANDS_LAYOUT_TOKEN_EXT, .type = type, .offset = offset};
}

static void create_generator(const struct app *app, struct generator *g, VkIndirectCommandsLayoutCreateInfoEXT *info,
                             VkIndirectExecutionSetEXT set, VkPipeline pipeline, uint32_t sequences)
{
    VkGeneratedCommandsMemoryRequirementsInfoEXT ask = {
        .sType = VK_STRUCTURE_TYPE_GENERATED_COMMANDS_MEMORY_REQUIREMENTS_INFO_EXT,
        .indirectExecutionSet = set,
        .maxSequenceCount = sequences,
        .maxDrawCount = sequences};
    VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};

    info->sType = VK_STRUCTURE_TYPE_INDIRECT_COMMANDS_LAYOUT_CREATE_INFO_EXT;
    info->flags = use_preprocess ? (VkFlags)VK_INDIRECT_COMMANDS_LAYOUT_USAGE_EXPLICIT_PREPROCESS_BIT_EXT : 0;
    CHECK_VK(vk.create_layout(app->device, info, NULL, &g->layout));
    g->pipeline = (VkGeneratedCommandsPipelineInfoEXT){.sType = VK_STRUCTURE_TYPE_GENERATED_COMMANDS_PIPELINE_INFO_EXT,
                                                       .pipeline = pipeline};
    if (!set)
        ask.pNext = &g->pipeline;
    ask.indirectCommandsLayout = g->layout;
    vk.requirements(app->device, &ask, &needs);
    create_place(app, &g->sequences, (VkDeviceSize)info->indirectStride * sequences,
                 VK_BUFFER_USAGE_2_INDIRECT_BUFFER_BIT_KHR, APP_UPLOAD, UINT32_MAX);
    if (needs.memoryRequirements.size)
        create_place(app, &g->scratch, needs.memoryRequirements.size, VK_BUFFER_USAGE_2_PREPROCESS_BUFFER_BIT_EXT,
                     APP_DEVICE, needs.memoryRequirements.memoryTypeBits);
    g->info = (VkGeneratedCommandsInfoEXT){.sType = VK_STRUCTURE_TYPE_GENERATED_COMMANDS_INFO_EXT,
                                           .pNext = ask.pNext,
                                           .shaderStages = info->shaderStages,
                                           .indirectExecutionSet = set,
                                           .indirectCommandsLayout = g->layout,
                                           .indirectAddress = g->sequences.address,
                                           .indirectAddressSize = g->sequences.buffer.size,
                                           .preprocessAddress = g->scratch.address,
                                           .preprocessSize = needs.memoryRequirements.size,
                                           .maxSequenceCount = sequences,
                                           .maxDrawCount = sequences};
}

static void create_dispatcher(const struct app *app, struct job *job)
{
    static const VkIndirectCommandsPushConstantTokenEXT push = {{VK_SHADER_STAGE_COMPUTE_BIT, 0, 16}};
    static const VkIndirectCommandsExecutionSetTokenEXT chosen = {VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT,
                                                                  VK_SHADER_STAGE_COMPUTE_BIT};
    VkIndirectCommandsLayoutTokenEXT tokens[3] = {
        token(VK_INDIRECT_COMMANDS_TOKEN_TYPE_EXECUTION_SET_EXT, offsetof(struct dispatch, pipeline)),
        token(VK_INDIRECT_COMMANDS_TOKEN_TYPE_PUSH_CONSTANT_EXT, offsetof(struct dispatch, results)),
        token(VK_INDIRECT_COMMANDS_TOKEN_TYPE_DISPATCH_EXT, offsetof(struct dispatch, groups))};
    VkIndirectCommandsLayoutCreateInfoEXT info = {.shaderStages = VK_SHADER_STAGE_COMPUTE_BIT,
                                                  .indirectStride = sizeof(struct dispatch),
                                                  .pipelineLayout = job->layout,
                                                  .tokenCount = COUNT_OF(tokens),
                                                  .pTokens = tokens};
    const VkIndirectExecutionSetPipelineInfoEXT pipelines = {
        .sType = VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_PIPELINE_INFO_EXT,
        .initialPipeline = job->dispatches[0],
        .maxPipelineCount = 2};
    const VkIndirectExecutionSetCreateInfoEXT set = {.sType = VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_CREATE_INFO_EXT,
                                                     .type = VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT,
                                                     .info = {.pPipelineInfo = &pipelines}};
    const VkWriteIndirectExecutionSetPipelineEXT write = {
        .sType = VK_STRUCTURE_TYPE_WRITE_INDIRECT_EXECUTION_SET_PIPELINE_EXT,
        .index = 1,
        .pipeline = job->dispatches[1]};

    tokens[0].data.pExecutionSet = &chosen;
    tokens[1].data.pPushConstant = &push;
    CHECK_VK(vk.create_set(app->device, &set, NULL, &job->set));
    vk.update_set(app->device, job->set, 1, &write);
    create_generator(app, &job->dispatcher, &info, job->set, VK_NULL_HANDLE, SEQUENCES);
    job->dispatcher.info.sequenceCountAddress = job->count.address;
}

static void create_drawer(const struct app *app, struct job *job)
{
    static const VkIndirectCommandsVertexBufferTokenEXT vertices = {0};
    static const VkIndirectCommandsIndexBufferTokenEXT indices = {
        VK_INDIRECT_COMMANDS_INPUT_MODE_VULKAN_INDEX_BUFFER_EXT};
    VkIndirectCommandsLayoutTokenEXT tokens[3] = {
        token(VK_INDIRECT_COMMANDS_TOKEN_TYPE_VERTEX_BUFFER_EXT, offsetof(struct draw, vertices)),
        token(VK_INDIRECT_COMMANDS_TOKEN_TYPE_INDEX_BUFFER_EXT, offsetof(struct draw, indices)),
        token(VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_INDEXED_EXT, offsetof(struct draw, draw))};
    VkIndirectCommandsLayoutCreateInfoEXT info = {.shaderStages =
                                                      VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT,
                                                  .indirectStride = sizeof(struct draw),
                                                  .tokenCount = COUNT_OF(tokens),
                                                  .pTokens = tokens};
    tokens[0].data.pVertexBuffer = &vertices;
    tokens[1].data.pIndexBuffer = &indices;
    create_generator(app, &job->drawer, &info, VK_NULL_HANDLE, job->draw, 2);
}

/* ---- what the host writes ---- */

static void write_dispatches(const struct app *app, const struct job *job, uint32_t frame)
{
    struct dispatch *sequences = (struct dispatch *)job->dispatcher.sequences.buffer.mapped;
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        sequences[i].pipeline = (i + frame) % 2;
        sequences[i].results = job->results.address;
        sequences[i].factor = frame + i + 1;
        sequences[i].first = i * 8;
        sequences[i].groups = (VkDispatchIndirectCommand){2, 1, 1};
    }
    *(uint32_t *)job->count.buffer.mapped = SEQUENCES - frame % 2;
    app_buffer_flush(app, &job->dispatcher.sequences.buffer, 0, job->dispatcher.sequences.buffer.size);
    app_buffer_flush(app, &job->count.buffer, 0, 4);
}

static uint32_t expected_result(uint32_t frame, uint32_t i)
{
    uint32_t sequence = i / 8;
    if (sequence >= SEQUENCES - frame % 2)
        frame--; /* what the frame before left */
    return i * (frame + sequence + 1) + (sequence + frame) % 2 * MORE;
}

/* The left half and the right one, each with vertices of its own. */
static void write_draws(const struct app *app, const struct job *job, uint32_t frame)
{
    struct draw *sequences = (struct draw *)job->drawer.sequences.buffer.mapped;
    struct corner *corners = (struct corner *)job->corners.buffer.mapped;
    static const float places[4][2] = {{0, -1}, {1, -1}, {0, 1}, {1, 1}};
    static const uint16_t order[6] = {0, 1, 2, 2, 1, 3};
    for (uint32_t i = 0; i < 8; i++) {
        const uint8_t tint[4] = {(uint8_t)(frame * 16), (uint8_t)(i / 4 * 128), 64, 255};
        corners[i].place[0] = places[i % 4][0] - (i < 4 ? 1.0f : 0.0f);
        corners[i].place[1] = places[i % 4][1];
        memcpy(corners[i].tint, tint, sizeof tint);
    }
    memcpy(job->indices.buffer.mapped, order, sizeof order);
    for (uint32_t i = 0; i < 2; i++) {
        sequences[i].vertices = (VkBindVertexBufferIndirectCommandEXT){job->corners.address + i * 4 * sizeof *corners,
                                                                       4 * sizeof *corners, sizeof *corners};
        sequences[i].indices =
            (VkBindIndexBufferIndirectCommandEXT){job->indices.address, sizeof order, VK_INDEX_TYPE_UINT16};
        sequences[i].draw = (VkDrawIndexedIndirectCommand){6, 1, 0, 0, 0};
    }
    app_buffer_flush(app, &job->drawer.sequences.buffer, 0, job->drawer.sequences.buffer.size);
    app_buffer_flush(app, &job->corners.buffer, 0, job->corners.buffer.size);
    app_buffer_flush(app, &job->indices.buffer, 0, job->indices.buffer.size);
}

/* ---- commands ---- */

static void barrier(VkCommandBuffer commands)
{
    app_memory_barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                       VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_READ_BIT);
}

static VkCommandBuffer begin_with_preprocess(const struct app *app, const struct generator *g, VkCommandBuffer state)
{
    VkCommandBuffer commands = app_begin(app);
    vk.preprocess(commands, &g->info, state);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMMAND_PREPROCESS_BIT_EXT,
                       VK_ACCESS_COMMAND_PREPROCESS_WRITE_BIT_EXT, VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT,
                       VK_ACCESS_INDIRECT_COMMAND_READ_BIT);
    return commands;
}

static void execute(const struct app *app, VkCommandBuffer commands, const struct generator *g,
                    VkCommandBuffer *out_ahead)
{
    *out_ahead = use_preprocess ? begin_with_preprocess(app, g, commands) : NULL;
    vk.execute(commands, use_preprocess, &g->info);
}

static void finish(const struct app *app, VkCommandBuffer commands, VkCommandBuffer ahead)
{
    barrier(commands);
    if (ahead)
        app_run(app, ahead);
    app_run(app, commands);
}

static void run_dispatches(const struct app *app, const struct job *job, uint32_t frame)
{
    const uint32_t *results = (const uint32_t *)job->results.buffer.mapped;
    VkCommandBuffer commands = app_begin(app), ahead;

    write_dispatches(app, job, frame);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->dispatches[0]);
    execute(app, commands, &job->dispatcher, &ahead);
    finish(app, commands, ahead);
    app_buffer_invalidate(app, &job->results.buffer, 0, WORDS * 4);
    for (uint32_t i = 0; i < WORDS; i++)
        EXPECT_EQ(app, results[i], expected_result(frame, i));
}

static void run_draws(const struct app *app, const struct job *job, uint32_t frame)
{
    const VkClearValue clear = {0};
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = job->pass,
                                         .framebuffer = job->framebuffer,
                                         .renderArea = {{0, 0}, {SIZE, SIZE}},
                                         .clearValueCount = 1,
                                         .pClearValues = &clear};
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {SIZE, SIZE, 1}};
    VkCommandBuffer commands = app_begin(app), ahead;

    write_draws(app, job, frame);
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, job->draw);
    app_set_viewport(commands, SIZE, SIZE);
    execute(app, commands, &job->drawer, &ahead);
    vkCmdEndRenderPass(commands);
    barrier(commands);
    vkCmdCopyImageToBuffer(commands, job->target.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, job->pixels.buffer, 1,
                           &region);
    finish(app, commands, ahead);
    app_buffer_invalidate(app, &job->pixels, 0, job->pixels.size);
    for (uint32_t i = 0; i < SIZE * SIZE; i++)
        EXPECT_EQ(app, ((const uint32_t *)job->pixels.mapped)[i],
                  0xff400000u | (i % SIZE < SIZE / 2 ? 0u : 0x8000u) | frame * 16);
}

/* ---- all of it ---- */

static VkPipeline compute_pipeline(const struct app *app, VkPipelineLayout layout, uint32_t more)
{
    static const VkSpecializationMapEntry entry = {0, 0, 4};
    const VkSpecializationInfo constants = {1, &entry, sizeof more, &more};
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                        .pNext = &bindable,
                                        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                  .pName = "main",
                                                  .pSpecializationInfo = &constants},
                                        .layout = layout};
    VkPipeline pipeline;
    info.stage.module = app_shader(app, generated_comp, sizeof generated_comp);
    CHECK_VK(vkCreateComputePipelines(app->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    vkDestroyShaderModule(app->device, info.stage.module, NULL);
    return pipeline;
}

static void create_pipelines(const struct app *app, struct job *job)
{
    static const VkVertexInputBindingDescription binding = {0, sizeof(struct corner), VK_VERTEX_INPUT_RATE_VERTEX};
    static const VkVertexInputAttributeDescription attributes[] = {
        {0, 0, VK_FORMAT_R32G32_SFLOAT, 0}, {1, 0, VK_FORMAT_R8G8B8A8_UNORM, offsetof(struct corner, tint)}};
    static const VkPipelineVertexInputStateCreateInfo input = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
        .vertexBindingDescriptionCount = 1,
        .pVertexBindingDescriptions = &binding,
        .vertexAttributeDescriptionCount = COUNT_OF(attributes),
        .pVertexAttributeDescriptions = attributes};
    static const VkDynamicState stride = VK_DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE;
    struct app_pipeline draw = {.next = &bindable,
                                .vertex_input = &input,
                                .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                .color_count = 1,
                                .dynamic = &stride,
                                .dynamic_count = 1};

    job->pass =
        app_render_pass(app, VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    job->framebuffer = app_framebuffer(app, job->pass, 1, &job->target.view, SIZE, SIZE);
    job->layout = app_pipeline_layout(app, 0, NULL, VK_SHADER_STAGE_COMPUTE_BIT, 16);
    job->draw_layout = app_pipeline_layout(app, 0, NULL, 0, 0);
    for (uint32_t i = 0; i < 2; i++)
        job->dispatches[i] = compute_pipeline(app, job->layout, i * MORE);
    draw.vertex = app_shader(app, ranges_vert, sizeof ranges_vert);
    draw.fragment = app_shader(app, ranges_frag, sizeof ranges_frag);
    draw.layout = job->draw_layout;
    draw.render_pass = job->pass;
    job->draw = app_graphics_pipeline(app, &draw);
    vkDestroyShaderModule(app->device, draw.vertex, NULL);
    vkDestroyShaderModule(app->device, draw.fragment, NULL);
}

static void create(const struct app *app, struct job *job)
{
    create_place(app, &job->results, WORDS * 4, VK_BUFFER_USAGE_2_STORAGE_BUFFER_BIT_KHR, APP_READBACK, UINT32_MAX);
    create_place(app, &job->count, 4, VK_BUFFER_USAGE_2_INDIRECT_BUFFER_BIT_KHR, APP_UPLOAD, UINT32_MAX);
    create_place(app, &job->corners, 8 * sizeof(struct corner), VK_BUFFER_USAGE_2_VERTEX_BUFFER_BIT_KHR, APP_UPLOAD,
                 UINT32_MAX);
    create_place(app, &job->indices, 16, VK_BUFFER_USAGE_2_INDEX_BUFFER_BIT_KHR, APP_UPLOAD, UINT32_MAX);
    app_buffer_create(app, &job->pixels, SIZE * SIZE * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_image_create_2d(app, &job->target, VK_FORMAT_R8G8B8A8_UNORM, SIZE, SIZE,
                        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT);
    create_pipelines(app, job);
    create_dispatcher(app, job);
    create_drawer(app, job);
}

static void destroy(const struct app *app, struct job *job)
{
    struct generator *generators[] = {&job->dispatcher, &job->drawer};
    struct place *places[] = {&job->results, &job->count, &job->corners, &job->indices};
    for (uint32_t i = 0; i < COUNT_OF(generators); i++) {
        vk.destroy_layout(app->device, generators[i]->layout, NULL);
        app_buffer_destroy(app, &generators[i]->sequences.buffer);
        if (generators[i]->scratch.buffer.buffer)
            app_buffer_destroy(app, &generators[i]->scratch.buffer);
    }
    vk.destroy_set(app->device, job->set, NULL);
    for (uint32_t i = 0; i < 2; i++)
        vkDestroyPipeline(app->device, job->dispatches[i], NULL);
    vkDestroyPipeline(app->device, job->draw, NULL);
    vkDestroyPipelineLayout(app->device, job->layout, NULL);
    vkDestroyPipelineLayout(app->device, job->draw_layout, NULL);
    vkDestroyFramebuffer(app->device, job->framebuffer, NULL);
    vkDestroyRenderPass(app->device, job->pass, NULL);
    app_image_destroy(app, &job->target);
    app_buffer_destroy(app, &job->pixels);
    for (uint32_t i = 0; i < COUNT_OF(places); i++)
        app_buffer_destroy(app, &places[i]->buffer);
}

static void create_device(struct app *app)
{
    static const char *const names[] = {"VK_EXT_device_generated_commands", "VK_KHR_maintenance5"};
    VkPhysicalDeviceDeviceGeneratedCommandsFeaturesEXT generated = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_GENERATED_COMMANDS_FEATURES_EXT};
    VkPhysicalDeviceMaintenance5FeaturesKHR maintenance = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR,
        .pNext = &generated,
        .maintenance5 = VK_TRUE};
    VkPhysicalDeviceVulkan12Features vulkan12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                 .pNext = &maintenance,
                                                 .bufferDeviceAddress = VK_TRUE};
    VkPhysicalDeviceDeviceGeneratedCommandsPropertiesEXT properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_GENERATED_COMMANDS_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &properties};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &generated};
    const struct app_device_request request = {.extensions = names, .extension_count = 2, .next = &vulkan12};
    const VkShaderStageFlags stages =
        VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT | VK_SHADER_STAGE_COMPUTE_BIT;

    if (app->api_version < VK_API_VERSION_1_3 || !app_has_extension(app, names[0]) || !app_has_extension(app, names[1]))
        app_skip(app, "there is no VK_EXT_device_generated_commands");
    vkGetPhysicalDeviceFeatures2(app->physical, &features);
    vkGetPhysicalDeviceProperties2(app->physical, &all);
    if (!generated.deviceGeneratedCommands)
        app_skip(app, "there are no generated commands");
    if (!app->no_check &&
        (~properties.supportedIndirectCommandsShaderStages & stages ||
         !(properties.supportedIndirectCommandsShaderStagesPipelineBinding & VK_SHADER_STAGE_COMPUTE_BIT)))
        app_skip(app, "some stages take no generated commands");
    generated.dynamicGeneratedPipelineLayout = VK_FALSE;
    app_device_create(app, &request);
}

static void load_functions(const struct app *app)
{
#define LOAD(member, name) vk.member = (PFN_vk##name)app_device_function(app, "vk" #name)
    LOAD(create_layout, CreateIndirectCommandsLayoutEXT);
    LOAD(destroy_layout, DestroyIndirectCommandsLayoutEXT);
    LOAD(create_set, CreateIndirectExecutionSetEXT);
    LOAD(destroy_set, DestroyIndirectExecutionSetEXT);
    LOAD(update_set, UpdateIndirectExecutionSetPipelineEXT);
    LOAD(requirements, GetGeneratedCommandsMemoryRequirementsEXT);
    LOAD(preprocess, CmdPreprocessGeneratedCommandsEXT);
    LOAD(execute, CmdExecuteGeneratedCommandsEXT);
#undef LOAD
}
#endif

int main(int argc, char **argv)
{
#ifndef VK_EXT_device_generated_commands
    static bool use_preprocess;
#endif
    static const struct app_option options[] = {
        {"--preprocess", "preprocess with a command of its own", &use_preprocess, NULL}, {0}};
    static const struct app_program program = {
        .name = "generated",
        .what = "Executes dispatches and draws that are in memory.",
        .frames = 3,
        .options = options,
    };
    struct app app;
    app_init(&app, argc, argv, &program);
#ifdef VK_EXT_device_generated_commands
    struct job job = {0};
    create_device(&app);
    load_functions(&app);
    create(&app, &job);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        run_dispatches(&app, &job, frame);
        run_draws(&app, &job, frame);
    }
    destroy(&app, &job);
    return app_finish(&app);
#else
    app_skip(&app, "the headers that it was built with are too old");
#endif
}
