/* SPDX-License-Identifier: MIT */
/*
 * codeless: compute pipelines whose code the driver has already, so that the program does not bring it: it names
 * identifiers of modules that are gone, or binaries that the driver gave for an earlier pipeline, also through data in
 * the program's own memory. Where the driver does not have the code after all, the program brings it. Caches of
 * pipelines and of validation are filled, merged, and made again from their data.
 */
#include "common/app.h"
#include "shaders/compute_scale_comp.h"

#define WORDS 128u

struct job {
    const struct app *app;
    struct app_buffer input, constant, result;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    uint32_t rounds, compiled, expected[WORDS];
};

static void create_job(const struct app *app, struct job *job)
{
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3};
    VkDescriptorSetLayoutBinding bindings[3];
    VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};

    *job = (struct job){.app = app};
    app_buffer_create(app, &job->input, WORDS * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_UPLOAD);
    app_buffer_create(app, &job->constant, WORDS * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_UPLOAD);
    app_buffer_create(app, &job->result, WORDS * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    memset(job->result.mapped, 0, WORDS * 4);
    app_buffer_flush(app, &job->result, 0, job->result.size);
    for (uint32_t i = 0; i < 3; i++)
        bindings[i] =
            (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    job->set_layout = app_set_layout(app, 3, bindings);
    job->layout = app_pipeline_layout(app, 1, &job->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, 12);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &job->pool));
    allocate.descriptorPool = job->pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &job->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &job->set));
    const VkDescriptorBufferInfo infos[3] = {{job->input.buffer, 0, VK_WHOLE_SIZE},
                                             {job->constant.buffer, 0, VK_WHOLE_SIZE},
                                             {job->result.buffer, 0, VK_WHOLE_SIZE}};
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

/* Computes with a pipeline and destroys it. */
static void use(struct job *job, VkPipeline pipeline)
{
    const struct app *app = job->app;
    const uint32_t push[3] = {++job->rounds + 2, 0, WORDS};
    uint32_t *input = (uint32_t *)job->input.mapped, *constant = (uint32_t *)job->constant.mapped;
    VkCommandBuffer commands = app_begin(app);

    for (uint32_t i = 0; i < WORDS; i++) {
        input[i] = job->rounds * 31 + i;
        constant[i] = i ^ job->rounds;
        job->expected[i] += input[i] * push[0] + constant[i];
    }
    app_buffer_flush(app, &job->input, 0, job->input.size);
    app_buffer_flush(app, &job->constant, 0, job->constant.size);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->layout, 0, 1, &job->set, 0, NULL);
    vkCmdPushConstants(commands, job->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, push);
    vkCmdDispatch(commands, WORDS / 64, 1, 1);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &job->result, 0, job->result.size);
    for (uint32_t i = 0; i < WORDS; i++)
        EXPECT_EQ(app, ((uint32_t *)job->result.mapped)[i], job->expected[i]);
    vkDestroyPipeline(app->device, pipeline, NULL);
}

static VkComputePipelineCreateInfo describe(const struct job *job, VkShaderModule module)
{
    return (VkComputePipelineCreateInfo){.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                         .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                   .module = module,
                                                   .pName = "main"},
                                         .layout = job->layout,
                                         .basePipelineIndex = -1};
}

static VkPipeline create(const struct job *job, VkPipelineCache cache, const VkComputePipelineCreateInfo *info)
{
    VkPipeline pipeline;
    CHECK_VK(vkCreateComputePipelines(job->app->device, cache, 1, info, NULL, &pipeline));
    return pipeline;
}

/* ---- identifiers ---- */

static void use_or_compile(struct job *job, VkResult result, VkPipeline pipeline)
{
    VkShaderModule module;
    VkComputePipelineCreateInfo info;

    if (result == VK_SUCCESS) {
        use(job, pipeline);
        return;
    }
    CHECK(result == VK_PIPELINE_COMPILE_REQUIRED_EXT && !pipeline);
    job->compiled++;
    module = app_shader(job->app, compute_scale_comp, sizeof compute_scale_comp);
    info = describe(job, module);
    use(job, create(job, VK_NULL_HANDLE, &info));
    vkDestroyShaderModule(job->app->device, module, NULL);
}

static void by_identifier(struct job *job)
{
    const struct app *app = job->app;
    VkShaderModuleIdentifierEXT identifier = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_IDENTIFIER_EXT},
                                same = identifier;
    VkShaderModule module = app_shader(app, compute_scale_comp, sizeof compute_scale_comp);
    const VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = sizeof compute_scale_comp,
                                           .pCode = compute_scale_comp};
    uint8_t unknown[VK_MAX_SHADER_MODULE_IDENTIFIER_SIZE_EXT];
    VkComputePipelineCreateInfo info = describe(job, module), infos[3];
    VkPipeline pipeline = VK_NULL_HANDLE, several[3] = {VK_NULL_HANDLE};

    use(job, create(job, VK_NULL_HANDLE, &info));
    ((PFN_vkGetShaderModuleIdentifierEXT)app_device_function(app, "vkGetShaderModuleIdentifierEXT"))(
        app->device, module, &identifier);
    ((PFN_vkGetShaderModuleCreateInfoIdentifierEXT)app_device_function(
        app, "vkGetShaderModuleCreateInfoIdentifierEXT"))(app->device, &code, &same);
    CHECK(identifier.identifierSize == same.identifierSize);
    CHECK(memcmp(identifier.identifier, same.identifier, same.identifierSize) == 0);
    vkDestroyShaderModule(app->device, module, NULL);

    VkPipelineShaderStageModuleIdentifierCreateInfoEXT named = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT,
        .identifierSize = identifier.identifierSize,
        .pIdentifier = identifier.identifier};
    info = describe(job, VK_NULL_HANDLE);
    info.flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT_EXT;
    info.stage.pNext = &named;
    VkResult result = vkCreateComputePipelines(app->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline);
    use_or_compile(job, result, pipeline);

    /* One that nobody knows, between two that somebody may know. */
    for (uint32_t i = 0; i < sizeof unknown; i++)
        unknown[i] = (uint8_t)(i < same.identifierSize ? same.identifier[i] ^ 0x5a : 0);
    VkPipelineShaderStageModuleIdentifierCreateInfoEXT other = named;
    other.pIdentifier = unknown;
    for (uint32_t i = 0; i < 3; i++)
        infos[i] = info;
    infos[1].stage.pNext = &other;
    result = vkCreateComputePipelines(app->device, VK_NULL_HANDLE, 3, infos, NULL, several);
    CHECK(result == VK_SUCCESS || result == VK_PIPELINE_COMPILE_REQUIRED_EXT);
    for (uint32_t i = 0; i < 3; i++)
        use_or_compile(job, several[i] ? VK_SUCCESS : VK_PIPELINE_COMPILE_REQUIRED_EXT, several[i]);
}

/* ---- binaries ---- */

#ifdef VK_KHR_pipeline_binary

#define MOST 8u

struct kept {
    uint32_t count;
    VkPipelineBinaryKeyKHR keys[MOST];
    VkPipelineBinaryDataKHR data[MOST];
};

static void keep(const struct app *app, VkPipeline pipeline, struct kept *kept)
{
    PFN_vkCreatePipelineBinariesKHR make =
        (PFN_vkCreatePipelineBinariesKHR)app_device_function(app, "vkCreatePipelineBinariesKHR");
    PFN_vkGetPipelineBinaryDataKHR get =
        (PFN_vkGetPipelineBinaryDataKHR)app_device_function(app, "vkGetPipelineBinaryDataKHR");
    PFN_vkDestroyPipelineBinaryKHR destroy =
        (PFN_vkDestroyPipelineBinaryKHR)app_device_function(app, "vkDestroyPipelineBinaryKHR");
    VkPipelineBinaryKHR binaries[MOST];
    const VkPipelineBinaryCreateInfoKHR from = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR,
                                                .pipeline = pipeline};
    VkPipelineBinaryHandlesInfoKHR handles = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR};
    const VkReleaseCapturedPipelineDataInfoKHR release = {
        .sType = VK_STRUCTURE_TYPE_RELEASE_CAPTURED_PIPELINE_DATA_INFO_KHR, .pipeline = pipeline};

    CHECK_VK(make(app->device, &from, NULL, &handles));
    CHECK(handles.pipelineBinaryCount > 0 && handles.pipelineBinaryCount <= MOST);
    handles.pPipelineBinaries = binaries;
    CHECK_VK(make(app->device, &from, NULL, &handles));
    CHECK_VK(((PFN_vkReleaseCapturedPipelineDataKHR)app_device_function(app, "vkReleaseCapturedPipelineDataKHR"))(
        app->device, &release, NULL));
    kept->count = handles.pipelineBinaryCount;
    for (uint32_t i = 0; i < kept->count; i++) {
        const VkPipelineBinaryDataInfoKHR which = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_DATA_INFO_KHR,
                                                   .pipelineBinary = binaries[i]};
        kept->keys[i] = (VkPipelineBinaryKeyKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR};
        CHECK_VK(get(app->device, &which, &kept->keys[i], &kept->data[i].dataSize, NULL));
        kept->data[i].pData = malloc(kept->data[i].dataSize);
        CHECK(kept->data[i].pData);
        CHECK_VK(get(app->device, &which, &kept->keys[i], &kept->data[i].dataSize, kept->data[i].pData));
        destroy(app->device, binaries[i], NULL);
    }
}

/* A pipeline from the kept binaries; its stage has no code. */
static void from_kept(struct job *job, const struct kept *kept)
{
    const struct app *app = job->app;
    VkPipelineBinaryKHR binaries[MOST] = {VK_NULL_HANDLE};
    const VkPipelineBinaryKeysAndDataKHR both = {kept->count, kept->keys, kept->data};
    const VkPipelineBinaryCreateInfoKHR from = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR,
                                                .pKeysAndDataInfo = &both};
    VkPipelineBinaryHandlesInfoKHR handles = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR,
                                              .pipelineBinaryCount = kept->count,
                                              .pPipelineBinaries = binaries};
    VkResult result = ((PFN_vkCreatePipelineBinariesKHR)app_device_function(app, "vkCreatePipelineBinariesKHR"))(
        app->device, &from, NULL, &handles);

    if (result != VK_SUCCESS) {
        CHECK(result == VK_PIPELINE_BINARY_MISSING_KHR);
        use_or_compile(job, VK_PIPELINE_COMPILE_REQUIRED_EXT, VK_NULL_HANDLE);
        return;
    }
    const VkPipelineBinaryInfoKHR list = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR, .binaryCount = kept->count, .pPipelineBinaries = binaries};
    VkComputePipelineCreateInfo info = describe(job, VK_NULL_HANDLE);
    info.pNext = &list;
    use(job, create(job, VK_NULL_HANDLE, &info));
    for (uint32_t i = 0; i < kept->count; i++)
        ((PFN_vkDestroyPipelineBinaryKHR)app_device_function(app, "vkDestroyPipelineBinaryKHR"))(app->device,
                                                                                                 binaries[i], NULL);
}

static void by_binary(struct job *job)
{
    const struct app *app = job->app;
    const VkPipelineCreateFlags2CreateInfoKHR flags = {.sType =
                                                           VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
                                                       .flags = VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR};
    PFN_vkGetPipelineKeyKHR get_key = (PFN_vkGetPipelineKeyKHR)app_device_function(app, "vkGetPipelineKeyKHR");
    VkPipelineBinaryKeyKHR global = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR}, key = global, again = global;
    VkShaderModule module = app_shader(app, compute_scale_comp, sizeof compute_scale_comp);
    VkComputePipelineCreateInfo info = describe(job, module);
    VkPipelineCreateInfoKHR create_info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_INFO_KHR, .pNext = &info};
    struct kept kept;
    VkPipeline pipeline;

    info.pNext = &flags;
    CHECK_VK(get_key(app->device, NULL, &global));
    CHECK_VK(get_key(app->device, &create_info, &key));
    CHECK_VK(get_key(app->device, &create_info, &again));
    CHECK(key.keySize == again.keySize && memcmp(key.key, again.key, key.keySize) == 0);
    pipeline = create(job, VK_NULL_HANDLE, &info);
    vkDestroyShaderModule(app->device, module, NULL);
    keep(app, pipeline, &kept);
    use(job, pipeline);
    from_kept(job, &kept);
    for (uint32_t i = 0; i < kept.count; i++)
        free(kept.data[i].pData);
}

#else

static void by_binary(struct job *job)
{
    CHECK(!job);
}

#endif

/* ---- caches ---- */

static void with_caches(struct job *job, bool validation)
{
    const struct app *app = job->app;
    VkPipelineCacheCreateInfo empty = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO}, filled = empty;
    VkValidationCacheCreateInfoEXT none = {.sType = VK_STRUCTURE_TYPE_VALIDATION_CACHE_CREATE_INFO_EXT};
    VkShaderModuleValidationCacheCreateInfoEXT chained = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_VALIDATION_CACHE_CREATE_INFO_EXT};
    VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                     .codeSize = sizeof compute_scale_comp,
                                     .pCode = compute_scale_comp};
    VkValidationCacheEXT checks[2] = {VK_NULL_HANDLE};
    VkPipelineCache caches[2];
    VkShaderModule module;
    void *data = NULL;

    for (uint32_t i = 0; i < 2 && validation; i++)
        CHECK_VK(((PFN_vkCreateValidationCacheEXT)app_device_function(app, "vkCreateValidationCacheEXT"))(
            app->device, &none, NULL, &checks[i]));
    chained.validationCache = checks[0];
    if (validation)
        code.pNext = &chained;
    CHECK_VK(vkCreateShaderModule(app->device, &code, NULL, &module));
    CHECK_VK(vkCreatePipelineCache(app->device, &empty, NULL, &caches[0]));
    VkComputePipelineCreateInfo info = describe(job, module);
    use(job, create(job, caches[0], &info));
    CHECK_VK(vkGetPipelineCacheData(app->device, caches[0], &filled.initialDataSize, NULL));
    if (filled.initialDataSize) {
        data = malloc(filled.initialDataSize);
        CHECK(data);
        CHECK_VK(vkGetPipelineCacheData(app->device, caches[0], &filled.initialDataSize, data));
        filled.pInitialData = data;
    }
    CHECK_VK(vkCreatePipelineCache(app->device, &filled, NULL, &caches[1]));
    free(data);
    CHECK_VK(vkMergePipelineCaches(app->device, caches[0], 1, &caches[1]));
    use(job, create(job, caches[0], &info));
    if (validation)
        CHECK_VK(((PFN_vkMergeValidationCachesEXT)app_device_function(app, "vkMergeValidationCachesEXT"))(
            app->device, checks[1], 1, &checks[0]));
    vkDestroyShaderModule(app->device, module, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        vkDestroyPipelineCache(app->device, caches[i], NULL);
        if (validation)
            ((PFN_vkDestroyValidationCacheEXT)app_device_function(app, "vkDestroyValidationCacheEXT"))(app->device,
                                                                                                       checks[i], NULL);
    }
}

/* ---- what the driver says of a pipeline ---- */

static void ask_properties(struct job *job)
{
    const struct app *app = job->app;
    VkShaderModule module = app_shader(app, compute_scale_comp, sizeof compute_scale_comp);
    VkComputePipelineCreateInfo info = describe(job, module);
    VkPipeline pipeline = create(job, VK_NULL_HANDLE, &info);
    const VkPipelineInfoEXT which = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_EXT, .pipeline = pipeline};
    VkPipelinePropertiesIdentifierEXT identifier = {.sType = VK_STRUCTURE_TYPE_PIPELINE_PROPERTIES_IDENTIFIER_EXT};
    CHECK_VK(((PFN_vkGetPipelinePropertiesEXT)app_device_function(app, "vkGetPipelinePropertiesEXT"))(
        app->device, &which, (VkBaseOutStructure *)&identifier));
    use(job, pipeline);
    vkDestroyShaderModule(app->device, module, NULL);
}

/* ---- the program ---- */

static void *chain(void *next, void *structure)
{
    ((VkBaseOutStructure *)structure)->pNext = next;
    return structure;
}

int main(int argc, char **argv)
{
    static bool identifiers_alone;
    static const struct app_option options[] = {
        {"--identifiers", "use no binaries, nor what they need", &identifiers_alone, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "codeless",
        .what = "Creates pipelines from identifiers and binaries instead of code.",
        .frames = 1,
        .options = options,
    };
    VkPhysicalDevicePipelineCreationCacheControlFeaturesEXT control = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_CREATION_CACHE_CONTROL_FEATURES_EXT,
        .pipelineCreationCacheControl = VK_TRUE};
    VkPhysicalDeviceShaderModuleIdentifierFeaturesEXT identifiers = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_MODULE_IDENTIFIER_FEATURES_EXT,
        .shaderModuleIdentifier = VK_TRUE};
    VkPhysicalDevicePipelinePropertiesFeaturesEXT properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_PROPERTIES_FEATURES_EXT,
        .pipelinePropertiesIdentifier = VK_TRUE};
    struct app_device_request request = {0};
    const char *names[8];
    bool has_identifiers, has_binaries = false, has_validation, has_properties;
    struct app app;
    struct job job;
    void *next = NULL;

    app_init(&app, argc, argv, &program);
    if (app.api_version < VK_API_VERSION_1_3)
        app_skip(&app, "needs Vulkan 1.3");
    has_identifiers = app_has_extension(&app, "VK_EXT_shader_module_identifier");
    has_validation = app_has_extension(&app, "VK_EXT_validation_cache");
    has_properties = app_has_extension(&app, "VK_EXT_pipeline_properties");
    if (has_identifiers) {
        names[request.extension_count++] = "VK_EXT_shader_module_identifier";
        next = chain(chain(next, &control), &identifiers);
    }
    if (has_validation)
        names[request.extension_count++] = "VK_EXT_validation_cache";
    if (has_properties) {
        names[request.extension_count++] = "VK_EXT_pipeline_properties";
        next = chain(next, &properties);
    }
#ifdef VK_KHR_pipeline_binary
    VkPhysicalDevicePipelineBinaryFeaturesKHR binaries = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_BINARY_FEATURES_KHR, .pipelineBinaries = VK_TRUE};
    VkPhysicalDeviceMaintenance5FeaturesKHR maintenance = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR, .maintenance5 = VK_TRUE};
    has_binaries = !identifiers_alone && app_has_extension(&app, "VK_KHR_pipeline_binary") &&
                   app_has_extension(&app, "VK_KHR_maintenance5");
    if (has_binaries) {
        names[request.extension_count++] = "VK_KHR_maintenance5";
        names[request.extension_count++] = "VK_KHR_pipeline_binary";
        next = chain(chain(next, &maintenance), &binaries);
    }
#endif
    request.extensions = names;
    request.next = next;
    app_device_create(&app, &request);
    create_job(&app, &job);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        with_caches(&job, has_validation);
        if (has_identifiers)
            by_identifier(&job);
        if (has_binaries)
            by_binary(&job);
        if (has_properties)
            ask_properties(&job);
    }
    printf("identifiers: %s, binaries: %s, validation caches: %s, properties: %s\n", has_identifiers ? "yes" : "no",
           has_binaries ? "yes" : "no", has_validation ? "yes" : "no", has_properties ? "yes" : "no");
    destroy_job(&app, &job);
    return app_finish(&app);
}
