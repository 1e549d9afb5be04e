/* SPDX-License-Identifier: MIT */
/*
 * shader_objects: draws and dispatches with shader objects: each stage created alone, linked, from code and from the
 * binaries that the driver gave for it, on this device and on another one; bound together and one by one, among
 * pipelines, and unbound. Shaders store among bytes of the host, so a recorder has to know what they write.
 */
#include "common/states.h"
#include "shaders/compute_scale_comp.h"
#include "shaders/states_frag.h"
#include "shaders/states_vert.h"

#ifdef VK_EXT_shader_object

#define SCALE 5u
#define WORDS 256u

struct objects {
    struct app *app;
    PFN_vkCreateShadersEXT create;
    PFN_vkDestroyShaderEXT destroy;
    PFN_vkGetShaderBinaryDataEXT get_binary;
    PFN_vkCmdBindShadersEXT bind;
    bool tessellation, geometry; /* stages that have to be unbound */
    VkSpecializationMapEntry entry;
    VkSpecializationInfo constants;
    uint32_t scale;
    uint32_t refused; /* binaries that the driver did not take */
};

struct binary {
    void *data;
    size_t size;
};

static struct binary binary_of(const struct objects *o, VkShaderEXT shader)
{
    struct binary binary = {0};
    CHECK_VK(o->get_binary(o->app->device, shader, &binary.size, NULL));
    if (binary.size == 0) { /* a driver that only pretends */
        CHECK(o->app->no_check);
        return binary;
    }
    binary.data = aligned_alloc(16, (binary.size + 15) / 16 * 16);
    CHECK(binary.data);
    CHECK_VK(o->get_binary(o->app->device, shader, &binary.size, binary.data));
    return binary;
}

/* ---- graphics ---- */

static void describe(const struct objects *o, const struct app_picture *picture, VkShaderCreateInfoEXT infos[2],
                     VkShaderCreateFlagsEXT flags)
{
    static const VkPushConstantRange range = {VK_SHADER_STAGE_FRAGMENT_BIT, 0, APP_PUSH_BYTES};
    for (uint32_t i = 0; i < 2; i++) {
        infos[i] = (VkShaderCreateInfoEXT){.sType = VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT,
                                           .flags = flags,
                                           .codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT,
                                           .pName = "main",
                                           .setLayoutCount = 1,
                                           .pSetLayouts = &picture->set_layout,
                                           .pushConstantRangeCount = 1,
                                           .pPushConstantRanges = &range};
    }
    infos[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
    infos[0].nextStage = VK_SHADER_STAGE_FRAGMENT_BIT;
    infos[0].codeSize = sizeof states_vert;
    infos[0].pCode = states_vert;
    infos[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
    infos[1].codeSize = sizeof states_frag;
    infos[1].pCode = states_frag;
    infos[1].pSpecializationInfo = &o->constants;
}

static void destroy_both(const struct objects *o, VkShaderEXT shaders[2])
{
    for (uint32_t i = 0; i < 2; i++)
        o->destroy(o->app->device, shaders[i], NULL);
}

/* From the binaries of the shaders; these are gone by then. The driver may refuse them: then from the code. */
static void create_again(struct objects *o, VkShaderCreateInfoEXT infos[2], VkShaderEXT shaders[2])
{
    VkShaderCreateInfoEXT from_binary[2] = {infos[0], infos[1]};
    struct binary binaries[2];
    VkResult result = VK_INCOMPATIBLE_SHADER_BINARY_EXT;

    for (uint32_t i = 0; i < 2; i++) {
        binaries[i] = binary_of(o, shaders[i]);
        from_binary[i].codeType = VK_SHADER_CODE_TYPE_BINARY_EXT;
        from_binary[i].codeSize = binaries[i].size;
        from_binary[i].pCode = binaries[i].data;
    }
    destroy_both(o, shaders);
    if (binaries[0].size && binaries[1].size)
        result = o->create(o->app->device, 2, from_binary, NULL, shaders);
    for (uint32_t i = 0; i < 2; i++)
        free(binaries[i].data);
    if (result == VK_SUCCESS)
        return;
    CHECK(result == VK_INCOMPATIBLE_SHADER_BINARY_EXT);
    o->refused++;
    if (binaries[0].size && binaries[1].size)
        destroy_both(o, shaders);
    CHECK_VK(o->create(o->app->device, 2, infos, NULL, shaders));
}

static void unbind_others(const struct objects *o, VkCommandBuffer commands)
{
    static const VkShaderStageFlagBits before[3] = {VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT,
                                                    VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT,
                                                    VK_SHADER_STAGE_GEOMETRY_BIT};
    const VkShaderEXT none[2] = {VK_NULL_HANDLE, VK_NULL_HANDLE};
    if (o->tessellation)
        o->bind(commands, 2, before, none);
    if (o->geometry)
        o->bind(commands, 1, &before[2], NULL);
}

static void draw(struct objects *o, struct app_picture *picture, const struct app_states *states,
                 const VkShaderEXT shaders[2], bool one_by_one)
{
    static const VkShaderStageFlagBits stages[2] = {VK_SHADER_STAGE_VERTEX_BIT, VK_SHADER_STAGE_FRAGMENT_BIT};
    VkCommandBuffer commands = app_picture_begin(picture);
    unbind_others(o, commands);
    if (one_by_one) {
        o->bind(commands, 1, &stages[0], &shaders[0]);
        o->bind(commands, 1, &stages[1], &shaders[1]);
    } else {
        o->bind(commands, 2, stages, shaders);
    }
    for (uint32_t quarter = 0; quarter < 4; quarter++) {
        app_states_set(states, commands, quarter);
        app_picture_draw(picture, states, commands, quarter);
    }
    o->bind(commands, 2, stages, NULL);
    app_picture_end(picture, states, commands, SCALE);
}

static void draw_all(struct objects *o, struct app_picture *picture, const struct app_states *states)
{
    for (uint32_t way = 0; way < 4; way++) {
        const bool linked = way & 1, again = way & 2;
        VkShaderCreateInfoEXT infos[2];
        VkShaderEXT shaders[2];
        describe(o, picture, infos, linked ? VK_SHADER_CREATE_LINK_STAGE_BIT_EXT : 0u);
        CHECK_VK(o->create(o->app->device, 2, infos, NULL, shaders));
        if (again)
            create_again(o, infos, shaders);
        draw(o, picture, states, shaders, !linked);
        destroy_both(o, shaders);
    }
}

/* ---- compute ---- */

struct job {
    struct app_buffer input, constant, result;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    uint32_t expected[WORDS];
};

struct push {
    uint32_t factor, first, count;
};

static void create_job(const struct app *app, struct job *job)
{
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3};
    VkDescriptorSetLayoutBinding bindings[3];
    VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};

    *job = (struct job){0};
    app_buffer_create(app, &job->input, WORDS * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_UPLOAD);
    app_buffer_create(app, &job->constant, WORDS * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_UPLOAD);
    app_buffer_create(app, &job->result, 2 * WORDS * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    memset(job->result.mapped, 0, 2 * WORDS * 4);
    app_buffer_flush(app, &job->result, 0, job->result.size);
    for (uint32_t i = 0; i < 3; i++)
        bindings[i] =
            (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    job->set_layout = app_set_layout(app, 3, bindings);
    job->layout = app_pipeline_layout(app, 1, &job->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, sizeof(struct push));
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &job->pool));
    allocate.descriptorPool = job->pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &job->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &job->set));
    const VkDescriptorBufferInfo infos[3] = {{job->input.buffer, 0, VK_WHOLE_SIZE},
                                             {job->constant.buffer, 0, VK_WHOLE_SIZE},
                                             {job->result.buffer, 0, WORDS * 4}};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = job->set,
                                  .descriptorCount = 3,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = infos};
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
}

static void destroy_job(const struct app *app, struct job *job)
{
    vkDestroyDescriptorPool(app->device, job->pool, NULL);
    vkDestroyPipelineLayout(app->device, job->layout, NULL);
    vkDestroyDescriptorSetLayout(app->device, job->set_layout, NULL);
    app_buffer_destroy(app, &job->input);
    app_buffer_destroy(app, &job->constant);
    app_buffer_destroy(app, &job->result);
}

static void record(const struct objects *o, const struct job *job, VkCommandBuffer commands, VkShaderEXT shader,
                   VkPipeline pipeline, struct push push)
{
    static const VkShaderStageFlagBits stage = VK_SHADER_STAGE_COMPUTE_BIT;
    if (pipeline)
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    else
        o->bind(commands, 1, &stage, &shader);
    vkCmdPushConstants(commands, job->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
    vkCmdDispatch(commands, push.count / 64, 1, 1);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                       VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT);
}

static void compute_once(const struct objects *o, struct job *job, VkShaderEXT shader, VkPipeline pipeline,
                         uint32_t round)
{
    const struct app *app = o->app;
    uint32_t *input = (uint32_t *)job->input.mapped, *constant = (uint32_t *)job->constant.mapped,
             *result = (uint32_t *)job->result.mapped;
    VkCommandBuffer commands = app_begin(app);

    for (uint32_t i = 0; i < WORDS; i++) {
        input[i] = round * 17 + i;
        constant[i] = i ^ round;
        result[WORDS + i] = round * 1000 + i;
    }
    app_buffer_flush(app, &job->input, 0, job->input.size);
    app_buffer_flush(app, &job->constant, 0, job->constant.size);
    app_buffer_flush(app, &job->result, WORDS * 4, WORDS * 4);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->layout, 0, 1, &job->set, 0, NULL);
    record(o, job, commands, shader, VK_NULL_HANDLE, (struct push){3, 0, WORDS / 2});
    record(o, job, commands, shader, pipeline, (struct push){4, WORDS / 4, WORDS / 2});
    record(o, job, commands, shader, VK_NULL_HANDLE, (struct push){5, WORDS / 2, WORDS / 2});
    app_run(app, commands);
    for (uint32_t i = 0; i < WORDS; i++) {
        const uint32_t factors = (i < WORDS / 2 ? 3 : 5) + (i >= WORDS / 4 && i < WORDS * 3 / 4 ? 4 : 0),
                       times = i >= WORDS / 4 && i < WORDS * 3 / 4 ? 2 : 1;
        job->expected[i] += input[i] * factors + constant[i] * times;
    }
    app_buffer_invalidate(app, &job->result, 0, job->result.size);
    for (uint32_t i = 0; i < WORDS; i++) {
        EXPECT_EQ(app, result[i], job->expected[i]);
        CHECK(result[WORDS + i] == round * 1000 + i);
    }
}

static VkShaderCreateInfoEXT compute_info(const struct job *job)
{
    static const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(struct push)};
    return (VkShaderCreateInfoEXT){.sType = VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT,
                                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                   .codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT,
                                   .codeSize = sizeof compute_scale_comp,
                                   .pCode = compute_scale_comp,
                                   .pName = "main",
                                   .setLayoutCount = 1,
                                   .pSetLayouts = &job->set_layout,
                                   .pushConstantRangeCount = 1,
                                   .pPushConstantRanges = &range};
}

/* Returns the binary of the shader. */
static struct binary compute(struct objects *o, const struct binary *known)
{
    const struct app *app = o->app;
    struct job job;
    VkShaderEXT shader = VK_NULL_HANDLE;
    struct binary binary;
    create_job(app, &job);
    VkPipeline pipeline = app_compute_pipeline(app, compute_scale_comp, sizeof compute_scale_comp, job.layout);
    VkShaderCreateInfoEXT info = compute_info(&job), from_binary = info;
    VkResult result = VK_INCOMPATIBLE_SHADER_BINARY_EXT;

    if (known && known->size) {
        from_binary.codeType = VK_SHADER_CODE_TYPE_BINARY_EXT;
        from_binary.codeSize = known->size;
        from_binary.pCode = known->data;
        result = o->create(app->device, 1, &from_binary, NULL, &shader);
        CHECK(result == VK_SUCCESS || result == VK_INCOMPATIBLE_SHADER_BINARY_EXT);
        CHECK(result == VK_SUCCESS || !shader);
        o->refused += result != VK_SUCCESS;
    }
    if (result != VK_SUCCESS)
        CHECK_VK(o->create(app->device, 1, &info, NULL, &shader));
    compute_once(o, &job, shader, pipeline, 1);
    binary = binary_of(o, shader);
    o->destroy(app->device, shader, NULL);
    if (binary.size) { /* of the binary of a binary, too */
        from_binary.codeType = VK_SHADER_CODE_TYPE_BINARY_EXT;
        from_binary.codeSize = binary.size;
        from_binary.pCode = binary.data;
        if (o->create(app->device, 1, &from_binary, NULL, &shader) != VK_SUCCESS) {
            o->refused++;
            CHECK_VK(o->create(app->device, 1, &info, NULL, &shader));
        }
        compute_once(o, &job, shader, pipeline, 2);
        o->destroy(app->device, shader, NULL);
    }
    vkDestroyPipeline(app->device, pipeline, NULL);
    destroy_job(app, &job);
    return binary;
}

/* ---- the program ---- */

static void load(struct objects *o)
{
    o->create = (PFN_vkCreateShadersEXT)app_device_function(o->app, "vkCreateShadersEXT");
    o->destroy = (PFN_vkDestroyShaderEXT)app_device_function(o->app, "vkDestroyShaderEXT");
    o->get_binary = (PFN_vkGetShaderBinaryDataEXT)app_device_function(o->app, "vkGetShaderBinaryDataEXT");
    o->bind = (PFN_vkCmdBindShadersEXT)app_device_function(o->app, "vkCmdBindShadersEXT");
}

static void run(struct app *app)
{
    VkPhysicalDeviceShaderObjectFeaturesEXT shaders = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT, .shaderObject = VK_TRUE};
    VkPhysicalDeviceVulkan13Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, .pNext = &shaders, .dynamicRendering = VK_TRUE};
    struct app_device_request request = {.next = &features};
    struct objects o = {.app = app, .scale = SCALE};
    struct app_picture picture;
    struct app_states states;
    struct binary binary, other;
    struct app second;

    app_states_find(app, &states);
    shaders.pNext = (void *)(uintptr_t)states.features;
    states.extensions[states.extension_count++] = "VK_EXT_shader_object";
    request.extensions = states.extensions;
    request.extension_count = states.extension_count;
    second = *app;
    app_device_create(app, &request);
    o.tessellation = app->features.tessellationShader;
    o.geometry = app->features.geometryShader;
    o.entry = (VkSpecializationMapEntry){7, 0, 4};
    o.constants = (VkSpecializationInfo){1, &o.entry, 4, &o.scale};
    load(&o);
    app_picture_create(app, &picture);
    for (uint32_t frame = 0; frame < app->frames; frame++)
        draw_all(&o, &picture, &states);
    app_picture_destroy(&picture);
    binary = compute(&o, NULL);
    /* The same binary on another device. */
    app_device_create(&second, &request);
    o.app = &second;
    load(&o);
    other = compute(&o, &binary);
    app_device_destroy(&second);
    free(binary.data);
    free(other.data);
    printf("%u binaries refused\n", o.refused);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "shader_objects",
        .what = "Draws and computes with shader objects from code and from binaries.",
        .frames = 2,
    };
    struct app app;

    app_init(&app, argc, argv, &program);
    if (app.api_version < VK_API_VERSION_1_3)
        app_skip(&app, "needs Vulkan 1.3");
    if (!app_has_extension(&app, "VK_EXT_shader_object"))
        app_skip(&app, "no VK_EXT_shader_object");
    if (!app.features.fragmentStoresAndAtomics)
        app_skip(&app, "shaders of fragments can't store");
    run(&app);
    return app_finish(&app);
}

#else

int main(int argc, char **argv)
{
    static const struct app_program program = {.name = "shader_objects", .what = "Needs newer headers.", .frames = 1};
    struct app app;
    app_init(&app, argc, argv, &program);
    app_skip(&app, "the headers have no VK_EXT_shader_object");
}

#endif
