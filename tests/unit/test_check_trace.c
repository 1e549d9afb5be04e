/* SPDX-License-Identifier: MIT */
/* What the report says of traces with made-up needs, on whatever Vulkan device there is, and that a replay of the same
 * trace ends with the same sentence. */
#include "replayer/play/check_trace.h"

#include "replayer/core/handles.h"
#include "replayer/device/requirements.h"
#include "replayer/play/player.h"
#include "tests/unit/device.h"
#include "tests/unit/sample_trace.h"

#define PUT(p, command, ...)                                                                                           \
    (gen_encode_##command(sample_packet(&(p)->s, GEN_##command, 0), __VA_ARGS__), lap_packet_end((p)->s.stream))

struct program {
    struct sample s;
    VkInstance instance;
    VkPhysicalDevice gpu;
    VkDevice device;
    VkPhysicalDeviceLimits limits; /* of the real one */
    VkQueueFlags family;           /* of the recorded machine's only family */
    VkPhysicalDeviceFeatures features;
    VkImageCreateFlags image_flags;
    const char *extensions[2];
    struct replay_report report;
};

static bool program_begin(struct program *p)
{
    struct unit_device device;

    memset(p, 0, sizeof *p);
    if (!unit_device_init(&device))
        return false;
    p->limits = device.properties.limits;
    unit_device_finish(&device);
    CHECK(sample_begin(&p->s));
    p->instance = gen_VkInstance(sample_handle(&p->s, GEN_HANDLE_VkInstance, 1));
    p->gpu = gen_VkPhysicalDevice(sample_handle(&p->s, GEN_HANDLE_VkPhysicalDevice, 1));
    p->device = gen_VkDevice(sample_handle(&p->s, GEN_HANDLE_VkDevice, 1));
    p->family = VK_QUEUE_TRANSFER_BIT;
    return true;
}

static void put_start(struct program *p)
{
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    VkQueueFamilyProperties family = {.queueFlags = p->family, .queueCount = 1};
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                 .queueCreateInfoCount = 1,
                                 .pQueueCreateInfos = &queue,
                                 .ppEnabledExtensionNames = p->extensions,
                                 .enabledExtensionCount = p->extensions[0] ? 1 : 0,
                                 .pEnabledFeatures = &p->features};

    PUT(p, vkCreateInstance, &info, NULL, &p->instance, VK_SUCCESS);
    PUT(p, vkEnumeratePhysicalDevices, p->instance, &(uint32_t){1}, &p->gpu, VK_SUCCESS);
    PUT(p, vkGetPhysicalDeviceQueueFamilyProperties, p->gpu, &(uint32_t){1}, &family);
    PUT(p, vkCreateDevice, p->gpu, &device, NULL, &p->device, VK_SUCCESS);
}

/* What the trace does with a family is what it needs it for. */
static void put_sparse_bind(struct program *p)
{
    VkQueue queue = gen_VkQueue(sample_handle(&p->s, GEN_HANDLE_VkQueue, 1));

    PUT(p, vkGetDeviceQueue, p->device, 0, 0, &queue);
    PUT(p, vkQueueBindSparse, queue, 0, NULL, VK_NULL_HANDLE);
}

static void put_image(struct program *p, uint32_t width)
{
    VkImage image = gen_VkImage(sample_handle(&p->s, GEN_HANDLE_VkImage, 1));
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .flags = p->image_flags,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = VK_FORMAT_R8G8B8A8_UNORM,
                              .extent = {width, 4, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = VK_IMAGE_USAGE_SAMPLED_BIT};

    PUT(p, vkCreateImage, p->device, &info, NULL, &image, VK_SUCCESS);
}

/* Ends the file. */
static void end(struct program *p)
{
    lap_writer_frame(p->s.writer);
    sample_end(&p->s);
}

static void examine(struct program *p, bool force)
{
    struct replay_options options = {.file = p->s.path, .force = force, .present = REPLAY_PRESENT_OFF};
    struct replay r;

    memset(&p->report, 0, sizeof p->report);
    CHECK_EQ_INT(replay_open(&r, &options, NULL), LAP_OK);
    r.report = &p->report;
    CHECK_EQ_INT(replay_check_trace(&r), LAP_OK);
    CHECK(!p->report.failed);
    CHECK(replay_close(&r));
}

/* What a replay of it ends with is what the report says. */
static void check_replay_agrees(struct program *p)
{
    struct replay_options options = {.file = p->s.path, .present = REPLAY_PRESENT_OFF};
    struct replay r;
    enum lap_status status = replay_open(&r, &options, NULL);

    CHECK_EQ_INT(status, LAP_OK);
    status = replay_run(&r);
    if (p->report.refusal[0]) {
        CHECK(status < 0);
        CHECK_STR(lap_error_message(), p->report.refusal);
    } else {
        CHECK_EQ_INT(status, LAP_OK);
    }
    CHECK(replay_close(&r));
}

static void finish(struct program *p)
{
    replay_report_finish(&p->report);
    sample_finish(&p->s);
}

static const struct replay_finding *find(const struct program *p, enum replay_area area, const char *name)
{
    for (size_t i = 0; i < p->report.count; i++)
        if (p->report.findings[i].area == area && strcmp(p->report.findings[i].name, name) == 0)
            return &p->report.findings[i];
    return NULL;
}

#define CHECK_FOUND(p, area, name, wanted)                                                                             \
    do {                                                                                                               \
        const struct replay_finding *found = find(p, area, name);                                                      \
        CHECK(found && found->outcome == (wanted));                                                                    \
    } while (0)

UNIT_TEST(what_is_here_is_not_lacking)
{
    struct program p;

    if (!program_begin(&p))
        SKIP("no Vulkan device here");
    put_start(&p);
    put_image(&p, 16);
    end(&p);
    examine(&p, false);
    CHECK_STR(p.report.refusal, "");
    CHECK_EQ_U64(p.report.count, 1);
    CHECK_FOUND(&p, REPLAY_AREA_QUEUES, "0", REPLAY_MAPPED);
    CHECK(p.report.gpu[0]);
    check_replay_agrees(&p);
    finish(&p);
}

UNIT_TEST(extensions_that_nothing_uses_are_dropped)
{
    struct program p;

    if (!program_begin(&p))
        SKIP("no Vulkan device here");
    p.extensions[0] = "VK_HUAWEI_subpass_shading";
    put_start(&p);
    end(&p);
    examine(&p, false);
    CHECK_STR(p.report.refusal, "");
    CHECK_FOUND(&p, REPLAY_AREA_EXTENSION, "VK_HUAWEI_subpass_shading", REPLAY_DROPPED);
    check_replay_agrees(&p);
    finish(&p);
}

/* No image is sparse, and no GPU that is not asked for it need be able to. */
UNIT_TEST(features_that_nothing_uses_are_dropped)
{
    struct program p;

    if (!program_begin(&p))
        SKIP("no Vulkan device here");
    p.features.sparseResidency16Samples = VK_TRUE;
    put_start(&p);
    put_image(&p, 16);
    end(&p);
    examine(&p, false);
    CHECK_STR(p.report.refusal, "");
    if (find(&p, REPLAY_AREA_FEATURE, "sparseResidency16Samples"))
        CHECK_FOUND(&p, REPLAY_AREA_FEATURE, "sparseResidency16Samples", REPLAY_DROPPED);
    check_replay_agrees(&p);
    finish(&p);
}

UNIT_TEST(features_that_are_lacking_are_refused)
{
    struct program p;

    if (!program_begin(&p))
        SKIP("no Vulkan device here");
    p.features.sparseResidency16Samples = VK_TRUE;
    p.image_flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT | VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT;
    put_start(&p);
    put_image(&p, 1u << 30);
    end(&p);
    examine(&p, false);
    if (!p.report.refusal[0] || !find(&p, REPLAY_AREA_FEATURE, "sparseResidency16Samples")) {
        finish(&p);
        SKIP("this device has everything");
    }
    CHECK_FOUND(&p, REPLAY_AREA_FEATURE, "sparseResidency16Samples", REPLAY_REFUSED);
    CHECK(find(&p, REPLAY_AREA_FORMAT, "VK_FORMAT_R8G8B8A8_UNORM")); /* the report goes on */
    CHECK(strstr(find(&p, REPLAY_AREA_FEATURE, "sparseResidency16Samples")->text,
                 "(VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT, frame 1, packet ") != NULL);
    check_replay_agrees(&p);
    replay_report_finish(&p.report);
    examine(&p, true);
    CHECK_FOUND(&p, REPLAY_AREA_FEATURE, "sparseResidency16Samples", REPLAY_DROPPED);
    finish(&p);
}

UNIT_TEST(families_that_are_lacking_are_refused)
{
    struct program p;

    if (!program_begin(&p))
        SKIP("no Vulkan device here");
    p.family = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_SPARSE_BINDING_BIT;
    p.features.sparseBinding = VK_TRUE;
    p.image_flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT;
    put_start(&p);
    put_image(&p, 16);
    put_sparse_bind(&p);
    end(&p);
    examine(&p, false);
    if (!find(&p, REPLAY_AREA_QUEUES, "0") || find(&p, REPLAY_AREA_QUEUES, "0")->outcome == REPLAY_MAPPED) {
        finish(&p);
        SKIP("this device has sparse binding");
    }
    CHECK_FOUND(&p, REPLAY_AREA_QUEUES, "0", REPLAY_REFUSED);
    CHECK_FOUND(&p, REPLAY_AREA_FEATURE, "sparseBinding", REPLAY_REFUSED);
    check_replay_agrees(&p);
    finish(&p);
}

/* Whether a driver makes what it does not promise is its own affair: the replay does what the report says. */
UNIT_TEST(images_that_are_not_promised_are_found)
{
    struct program p;

    if (!program_begin(&p))
        SKIP("no Vulkan device here");
    put_start(&p);
    put_image(&p, 1u << 30);
    end(&p);
    examine(&p, false);
    CHECK_FOUND(&p, REPLAY_AREA_FORMAT, "VK_FORMAT_R8G8B8A8_UNORM",
                p.report.refusal[0] ? REPLAY_REFUSED : REPLAY_IGNORED);
    check_replay_agrees(&p);
    finish(&p);
}

/* A block that binds one set with a dynamic storage buffer and a dynamic uniform buffer, in this order of numbers. */
static void put_dynamic_offsets(struct program *p, uint32_t storage, uint32_t uniform)
{
    VkDescriptorSetLayoutBinding bindings[] = {
        {.binding = 7, .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, .descriptorCount = 1},
        {.binding = 2, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, .descriptorCount = 1}};
    VkDescriptorSetLayoutCreateInfo set_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 2, .pBindings = bindings};
    VkDescriptorSetLayout set_layout =
        gen_VkDescriptorSetLayout(sample_handle(&p->s, GEN_HANDLE_VkDescriptorSetLayout, 1));
    VkPushConstantRange range = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = p->limits.maxPushConstantsSize + 4};
    VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .setLayoutCount = 1,
                                       .pSetLayouts = &set_layout,
                                       .pushConstantRangeCount = 1,
                                       .pPushConstantRanges = &range};
    VkPipelineLayout layout = gen_VkPipelineLayout(sample_handle(&p->s, GEN_HANDLE_VkPipelineLayout, 1));
    VkDescriptorSet set = gen_VkDescriptorSet(sample_handle(&p->s, GEN_HANDLE_VkDescriptorSet, 1));
    VkCommandBuffer commands = gen_VkCommandBuffer(sample_handle(&p->s, GEN_HANDLE_VkCommandBuffer, 1));
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    uint32_t offsets[] = {storage, uniform};
    struct lap_enc block;
    uint64_t id;

    PUT(p, vkCreateDescriptorSetLayout, p->device, &set_info, NULL, &set_layout, VK_SUCCESS);
    PUT(p, vkCreatePipelineLayout, p->device, &info, NULL, &layout, VK_SUCCESS);
    lap_enc_init(&block, &p->s.tables);
    lap_enc_use_writer(&block, p->s.writer);
    if (lap_enc_reserve(&block, LAP_WIRE_MAX_VARINT))
        lap_put_u64(&block, GEN_vkBeginCommandBuffer);
    gen_encode_vkBeginCommandBuffer(&block, &begin);
    if (lap_enc_reserve(&block, LAP_WIRE_MAX_VARINT))
        lap_put_u64(&block, GEN_vkCmdBindDescriptorSets);
    gen_encode_vkCmdBindDescriptorSets(&block, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 2, offsets);
    if (lap_enc_reserve(&block, LAP_WIRE_MAX_VARINT))
        lap_put_u64(&block, GEN_vkEndCommandBuffer);
    gen_encode_vkEndCommandBuffer(&block);
    CHECK(!block.failed);
    id = lap_writer_blob(p->s.writer, LAP_BLOB_BLOCK, block.base, (size_t)(block.p - block.base), NULL);
    lap_enc_finish(&block);
    PUT(p, lapilliBlock, commands, id, 3);
}

/* A device of an older Vulkan than the program asked for: all that it lacks is said at once. */
UNIT_TEST(commands_of_later_versions_are_looked_for)
{
    struct replay_options options = {.present = REPLAY_PRESENT_OFF};
    struct replay_instance instance = {.api_version = VK_API_VERSION_1_3,
                                       .properties = {.apiVersion = VK_API_VERSION_1_1, .deviceName = "toy"}};
    struct replay_device dev = {.instance = &instance}; /* without one function */
    struct program p;
    struct replay r;

    if (!program_begin(&p))
        SKIP("no Vulkan device here");
    put_start(&p);
    put_dynamic_offsets(&p, 0, 0);
    end(&p);
    options.file = p.s.path;
    CHECK_EQ_INT(replay_open(&r, &options, NULL), LAP_OK);
    CHECK_EQ_INT(replay_requirements_commands(&r, &dev), LAP_ERROR_UNSUPPORTED);
    CHECK(strstr(lap_error_message(), "toy has Vulkan 1.1, which lacks requirements of the trace: ") != NULL);
    CHECK(strstr(lap_error_message(), "vkCmdBindDescriptorSets") != NULL);
    CHECK(strstr(lap_error_message(), "vkCreatePipelineLayout") != NULL);
    r.options.force = true;
    CHECK_EQ_INT(replay_requirements_commands(&r, &dev), LAP_OK);
    r.options.force = false;
    instance.properties.apiVersion = VK_API_VERSION_1_3; /* then it is left to the call */
    CHECK_EQ_INT(replay_requirements_commands(&r, &dev), LAP_OK);
    CHECK(replay_close(&r));
    finish(&p);
}

/* Each kind of buffer has its own alignment, and offsets come in the order of the bindings' numbers. */
UNIT_TEST(limits_are_compared)
{
    for (int wrong = 0; wrong < 3; wrong++) {
        struct program p;
        if (!program_begin(&p))
            SKIP("no Vulkan device here");
        put_start(&p);
        put_dynamic_offsets(&p, wrong == 1 ? 1 : 0, wrong == 2 ? 1 : 0);
        end(&p);
        examine(&p, false);
        CHECK_STR(p.report.refusal, ""); /* the driver is to say what it makes of it */
        CHECK_FOUND(&p, REPLAY_AREA_LIMIT, "maxPushConstantsSize", REPLAY_MAY_FAIL);
        CHECK(!find(&p, REPLAY_AREA_LIMIT, "minStorageBufferOffsetAlignment") ==
              !(wrong == 1 && p.limits.minStorageBufferOffsetAlignment > 1));
        CHECK(!find(&p, REPLAY_AREA_LIMIT, "minUniformBufferOffsetAlignment") ==
              !(wrong == 2 && p.limits.minUniformBufferOffsetAlignment > 1));
        finish(&p);
    }
}

UNIT_MAIN();
