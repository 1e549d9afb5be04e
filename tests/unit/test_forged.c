/* SPDX-License-Identifier: MIT */
/* What the layer hides from programs is in no trace that it wrote. A forged one that has it all the same is refused, on
 * a driver that has everything and ends the process when it gets what is hidden (tests/fuzz/driver.h). */
#include "gen_reflect.h"
#include "gen_replay.h"
#include "replayer/core/report.h"
#include "replayer/play/check_trace.h"
#include "tests/fuzz/driver.h"
#include "tests/unit/player_program.h"

#define ADDRESS UINT64_C(0x4141414141414141)

/* The player's calls come here (module.mk): the driver stands for the loader. So do a sanitizer's, before anything
 * else. */
void *__real_dlopen(const char *path, int flags);
void *__real_dlsym(void *library, const char *name);
void *__wrap_dlopen(const char *path, int flags);
void *__wrap_dlsym(void *library, const char *name);

static char library;

void *__wrap_dlopen(const char *path, int flags)
{
    return path && strcmp(path, "libvulkan.so.1") == 0 ? &library : __real_dlopen(path, flags);
}

void *__wrap_dlsym(void *from, const char *name)
{
    if (from != &library)
        return __real_dlsym(from, name);
    return strcmp(name, "vkGetInstanceProcAddr") == 0 ? (void *)driver_get_instance_proc_addr : NULL;
}

static void begin(struct program *p)
{
    driver_reset();
    CHECK(program_begin(p));
}

UNIT_TEST(the_driver_takes_good_traces)
{
    struct program p;

    begin(&p);
    put_start(&p);
    put_fill(&p);
    put_ends(&p);
    check_played(&p, 0, 0);
}

/* Nor does it take resets of what work under way has. */
UNIT_TEST(sets_that_work_has_stay)
{
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    VkDescriptorPoolCreateInfo pool_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetLayoutCreateInfo layout_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    VkPipelineLayoutCreateInfo pipeline_info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1};
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1};
    VkDescriptorSetLayout layout;
    VkPipelineLayout pipeline_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    struct program p;

    begin(&p);
    layout = gen_VkDescriptorSetLayout(sample_handle(&p.s, GEN_HANDLE_VkDescriptorSetLayout, 1));
    pipeline_layout = gen_VkPipelineLayout(sample_handle(&p.s, GEN_HANDLE_VkPipelineLayout, 1));
    pool = gen_VkDescriptorPool(sample_handle(&p.s, GEN_HANDLE_VkDescriptorPool, 1));
    set = gen_VkDescriptorSet(sample_handle(&p.s, GEN_HANDLE_VkDescriptorSet, 1));
    allocate.descriptorPool = pool;
    allocate.pSetLayouts = &layout;
    submit.pCommandBuffers = &p.commands;
    put_start(&p);
    PUT(&p, vkCreateDescriptorSetLayout, p.device, &layout_info, NULL, &layout, VK_SUCCESS);
    PUT(&p, vkCreatePipelineLayout, p.device, &pipeline_info, NULL, &pipeline_layout, VK_SUCCESS);
    PUT(&p, vkCreateDescriptorPool, p.device, &pool_info, NULL, &pool, VK_SUCCESS);
    PUT(&p, vkAllocateDescriptorSets, p.device, &allocate, &set, VK_SUCCESS);
    block_begin(&p);
    COMMAND(&p, vkCmdBindDescriptorSets, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_layout, 0, 1, &set, 0, NULL);
    block_end(&p, 0);
    PUT(&p, vkQueueSubmit, p.queue, 1, &submit, VK_NULL_HANDLE);
    PUT(&p, vkResetDescriptorPool, p.device, pool, 0);
    PUT(&p, vkDestroyDescriptorPool, p.device, pool, NULL);
    check_played(&p, 0, 0);
}

#define DRIVER(name) ((PFN_##name)driver_get_instance_proc_addr(NULL, #name))

/* Handles that are pointers, and numbers of 64 bits, are as wide as they are on this machine. */
UNIT_TEST(the_driver_knows_how_wide_handles_and_addresses_are)
{
    const VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    const VkBufferCreateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 1};
    const VkInstanceCreateInfo instance_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    const VkDeviceCreateInfo device_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 3};
    VkBufferDeviceAddressInfo address = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    VkCommandBuffer commands[4] = {NULL};
    VkInstance instance;
    VkPhysicalDevice gpu;
    VkDevice device;
    VkCommandPool pool;

    driver_reset();
    CHECK_EQ_INT(DRIVER(vkCreateInstance)(&instance_info, NULL, &instance), VK_SUCCESS);
    CHECK_EQ_INT(DRIVER(vkEnumeratePhysicalDevices)(instance, &(uint32_t){1}, &gpu), VK_SUCCESS);
    CHECK_EQ_INT(DRIVER(vkCreateDevice)(gpu, &device_info, NULL, &device), VK_SUCCESS);
    CHECK_EQ_INT(DRIVER(vkCreateCommandPool)(device, &pool_info, NULL, &pool), VK_SUCCESS);
    CHECK_EQ_INT(DRIVER(vkCreateBuffer)(device, &buffer_info, NULL, &address.buffer), VK_SUCCESS);
    CHECK(DRIVER(vkGetBufferDeviceAddress)(device, &address) > UINT32_MAX);
    allocate.commandPool = pool;
    CHECK_EQ_INT(DRIVER(vkAllocateCommandBuffers)(device, &allocate, commands), VK_SUCCESS);
    CHECK(commands[0] != commands[1] && commands[1] != commands[2] && commands[2] && !commands[3]);
    DRIVER(vkFreeCommandBuffers)(device, pool, 2, commands + 1);
    CHECK_EQ_INT(DRIVER(vkEndCommandBuffer)(commands[0]), VK_SUCCESS);
    DRIVER(vkDestroyInstance)(instance, NULL);
}

/* Nothing of the packet is looked at. */
UNIT_TEST(hidden_commands_are_refused)
{
    unsigned commands = 0;

    for (uint32_t command = 1; command < GEN_COMMAND_COUNT; command++) {
        struct program p;
        struct result result;
        if (!gen_replay_refusals[command] || gen_command_dispatch[command] == GEN_HANDLE_VkCommandBuffer)
            continue;
        commands++;
        begin(&p);
        put_start(&p);
        (void)sample_packet(&p.s, command, 0);
        lap_packet_end(p.s.stream);
        result = play(&p, false);
        CHECK_SAYS(result, LAP_ERROR_UNSUPPORTED, gen_command_names[command]);
        CHECK_SAYS(result, LAP_ERROR_UNSUPPORTED, " is never replayed: ");
        CHECK_SAYS(result, LAP_ERROR_UNSUPPORTED, gen_replay_refusals[command]);
    }
    CHECK(commands > 0); /* how many depends on the registry */
}

UNIT_TEST(hidden_commands_in_blocks_are_refused)
{
    struct program p;
    struct result result;

    begin(&p);
    put_start(&p);
    block_begin(&p);
    COMMAND(&p, vkCmdCopyAccelerationStructureNV, VK_NULL_HANDLE, VK_NULL_HANDLE,
            VK_COPY_ACCELERATION_STRUCTURE_MODE_CLONE_KHR);
    block_end(&p, 0);
    result = play(&p, false);
    CHECK_SAYS(result, LAP_ERROR_UNSUPPORTED,
               "vkCmdCopyAccelerationStructureNV is never replayed: VK_NV_ray_tracing is hidden");
}

/* --force does not help. */
UNIT_TEST(hidden_extensions_of_devices_are_refused)
{
    unsigned extensions = 0;

    for (uint32_t i = 0; i < GEN_EXTENSION_COUNT; i++)
        for (int force = 0; gen_extensions[i].hidden && gen_extensions[i].device && force < 2; force++) {
            struct program p;
            struct result result;
            extensions++;
            begin(&p);
            p.extensions[0] = gen_extensions[i].name;
            put_start(&p);
            result = play(&p, force);
            CHECK_SAYS(result, LAP_ERROR_UNSUPPORTED, "the trace enables features that are hidden");
            CHECK_SAYS(result, LAP_ERROR_UNSUPPORTED, gen_extensions[i].name);
        }
    CHECK(extensions > 2 * 20);
}

#define REFUSAL_BYTES sizeof(((struct replay_report *)NULL)->refusal)

/* A structure of nothing but zeroes that can stand in a chain. */
static VkBaseOutStructure *make_struct(uint32_t number)
{
    VkBaseOutStructure *s = calloc(1, gen_struct_infos[number].bytes);

    CHECK(s != NULL);
    s->sType = gen_type_of_struct((enum gen_struct)number);
    return s;
}

/* hidden: also what no layer records. */
static void put_buffer_with(struct program *p, const void *chain, bool hidden)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .pNext = chain,
                               .size = BYTES,
                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkBuffer buffer = gen_VkBuffer(sample_handle(&p->s, GEN_HANDLE_VkBuffer, 2));
    struct lap_enc *enc;

    enc = sample_packet(&p->s, GEN_vkCreateBuffer, 0);
    enc->takes_hidden = hidden;
    gen_encode_vkCreateBuffer(enc, p->device, &info, NULL, &buffer, VK_SUCCESS);
    enc->takes_hidden = false;
    lap_packet_end(p->s.stream);
}

static bool is_of_a_hidden_extension(uint32_t number)
{
    bool hidden = false;

    for (uint32_t i = 0; i < GEN_EXTENSION_COUNT; i++)
        for (const uint16_t *at = gen_extensions[i].structs; *at; at++)
            if (*at == number && !gen_extensions[i].hidden)
                return false; /* another one has it, too */
            else
                hidden = *at == number || hidden;
    return hidden;
}

UNIT_TEST(hidden_structures_are_refused)
{
    unsigned structs = 0;

    for (uint32_t number = 1; number < GEN_STRUCT_COUNT; number++) {
        struct program p;
        struct result result;
        VkBaseOutStructure *s;
        CHECK(!is_of_a_hidden_extension(number) || gen_fates[number] != GEN_FATE_TAKEN);
        if (gen_fates[number] != GEN_FATE_REFUSED || !gen_struct_infos[number].bytes)
            continue;
        structs++;
        s = make_struct(number);
        begin(&p);
        put_start(&p);
        put_buffer_with(&p, s, true);
        result = play(&p, false);
        CHECK_SAYS(result, LAP_ERROR_UNSUPPORTED, gen_struct_names[number]);
        CHECK_SAYS(result, LAP_ERROR_UNSUPPORTED, " is hidden from programs and never replayed");
        free(s);
    }
    CHECK(structs > 0);
}

/* A program may chain what it was never shown. */
UNIT_TEST(hidden_structures_are_not_recorded)
{
    VkExternalMemoryImageCreateInfoNV hidden = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO_NV};
    VkOpaqueCaptureDescriptorDataCreateInfoEXT opaque = {
        .sType = VK_STRUCTURE_TYPE_OPAQUE_CAPTURE_DESCRIPTOR_DATA_CREATE_INFO_EXT, .pNext = &hidden};
    struct program p;

    begin(&p);
    put_start(&p);
    put_buffer_with(&p, &opaque, false);
    check_played(&p, 0, 0);
}

/* The driver looks at the chains that it gets. */
UNIT_TEST(what_no_replayed_command_takes_is_left_out)
{
    unsigned structs = 0;

    for (uint32_t number = 1; number < GEN_STRUCT_COUNT; number++) {
        VkBaseOutStructure *s;
        struct program p;
        if ((gen_fates[number] != GEN_FATE_PASSED && gen_fates[number] != GEN_FATE_QUIET) ||
            !gen_struct_infos[number].bytes)
            continue;
        structs++;
        s = make_struct(number);
        begin(&p);
        if (gen_fates[number] == GEN_FATE_QUIET)
            p.device_info.pNext = s;
        put_start(&p);
        if (gen_fates[number] == GEN_FATE_PASSED)
            put_buffer_with(&p, s, false);
        check_played(&p, 0, 0);
        free(s);
    }
    CHECK(structs > 80);
}

/* What lapilli check says. */
static void examine(struct program *p, char refusal[REFUSAL_BYTES])
{
    struct replay_options options = {.file = p->s.path, .quiet = true, .present = REPLAY_PRESENT_OFF};
    struct replay_report report = {.count = 0};
    struct replay r;

    lap_writer_frame(p->s.writer);
    sample_end(&p->s);
    CHECK(replay_open(&r, &options, NULL) == LAP_OK);
    r.report = &report;
    CHECK(replay_check_trace(&r) == LAP_OK);
    snprintf(refusal, REFUSAL_BYTES, "%s", report.refusal);
    CHECK(replay_close(&r));
    replay_report_finish(&report);
    sample_finish(&p->s);
}

/* A report looks at the rest on a device on which they are off: the driver looks whether they are. */
UNIT_TEST(hidden_features_are_refused)
{
    char refusal[REFUSAL_BYTES];
    unsigned features = 0;

    for (uint32_t number = 1; number < GEN_STRUCT_COUNT; number++) {
        const struct gen_struct_info *info = &gen_struct_infos[number];
        for (uint32_t i = 0; i < info->member_count; i++) {
            struct program p;
            struct result result;
            VkBaseOutStructure *s;
            if (!(info->members[i].flags & GEN_MEMBER_HIDDEN))
                continue;
            features++;
            s = make_struct(number);
            *(VkBool32 *)(void *)((char *)s + info->members[i].offset) = VK_TRUE;
            begin(&p);
            p.device_info.pNext = s;
            put_start(&p);
            result = play(&p, features % 2);
            CHECK_SAYS(result, LAP_ERROR_UNSUPPORTED, "the trace enables features that are hidden");
            CHECK_SAYS(result, LAP_ERROR_UNSUPPORTED, gen_member_name(&info->members[i]));
            begin(&p);
            p.device_info.pNext = s;
            put_start(&p);
            examine(&p, refusal);
            CHECK(strstr(refusal, gen_member_name(&info->members[i])));
            free(s);
        }
    }
    CHECK(features >= 6);
}

UNIT_TEST(caches_begin_empty)
{
    static const char data[] = "code for the driver to execute";
    VkPipelineCacheCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO, .initialDataSize = sizeof data, .pInitialData = data};
    VkPipelineCache cache;
    struct program p;

    begin(&p);
    cache = gen_VkPipelineCache(sample_handle(&p.s, GEN_HANDLE_VkPipelineCache, 1));
    put_start(&p);
    PUT(&p, vkCreatePipelineCache, p.device, &info, NULL, &cache, VK_SUCCESS);
    check_played(&p, 0, 0);
}

UNIT_TEST(addresses_of_the_host_come_out_as_null)
{
    struct program p;

    begin(&p);
    p.extensions[0] = "VK_NV_device_diagnostic_checkpoints";
    put_start(&p);
    block_begin(&p);
    COMMAND(&p, vkCmdSetCheckpointNV, (const void *)(uintptr_t)ADDRESS);
    block_end(&p, 0);
    put_submit(&p);
    check_played(&p, 0, 0);
}

UNIT_TEST(imports_are_not_replayed)
{
    VkImportMemoryFdInfoKHR fd = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
                                  .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
                                  .fd = 3};
    VkImportMemoryHostPointerInfoEXT pointer = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                                .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
                                                .pHostPointer = (void *)(uintptr_t)ADDRESS};
    const void *chains[] = {&fd, &pointer};

    for (int i = 0; i < 2; i++) {
        VkMemoryAllocateInfo allocate = {
            .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = chains[i], .allocationSize = BYTES};
        VkImportSemaphoreFdInfoKHR semaphore = {.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR, .fd = 3};
        struct program p;
        begin(&p);
        put_start(&p);
        put_buffer_with(&p, chains[i], false);
        PUT(&p, vkAllocateMemory, p.device, &allocate, NULL, &p.memory, VK_SUCCESS);
        PUT(&p, vkImportSemaphoreFdKHR, p.device, &semaphore, VK_SUCCESS);
        check_played(&p, 0, 0);
    }
}

UNIT_TEST(reports_say_what_is_refused)
{
    VkExternalMemoryImageCreateInfoNV hidden = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO_NV};
    char refusal[REFUSAL_BYTES];
    struct program p;

    begin(&p);
    put_start(&p);
    block_begin(&p);
    COMMAND(&p, vkCmdCopyAccelerationStructureNV, VK_NULL_HANDLE, VK_NULL_HANDLE,
            VK_COPY_ACCELERATION_STRUCTURE_MODE_CLONE_KHR);
    block_end(&p, 0);
    examine(&p, refusal);
    CHECK(strstr(refusal, "vkCmdCopyAccelerationStructureNV is never replayed"));
    begin(&p);
    put_start(&p);
    (void)sample_packet(&p.s, GEN_vkCreateCuModuleNVX, 0);
    lap_packet_end(p.s.stream);
    examine(&p, refusal);
    CHECK(strstr(refusal, "vkCreateCuModuleNVX is never replayed"));
    begin(&p);
    p.extensions[0] = "VK_NVX_binary_import";
    put_start(&p);
    examine(&p, refusal);
    CHECK(strstr(refusal, "hidden from programs and never replayed: VK_NVX_binary_import"));
    begin(&p);
    put_start(&p);
    put_buffer_with(&p, &hidden, true);
    examine(&p, refusal);
    CHECK(strstr(refusal, "VkExternalMemoryImageCreateInfoNV is hidden from programs and never replayed"));
}

/* Loaders do what is in them whatever layers hide, so a good trace may name it. */
UNIT_TEST(hidden_extensions_of_instances_are_left_out)
{
    unsigned extensions = 0;

    for (uint32_t i = 0; i < GEN_EXTENSION_COUNT; i++) {
        VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
        VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                     .pApplicationInfo = &application,
                                     .enabledExtensionCount = 1,
                                     .ppEnabledExtensionNames = &gen_extensions[i].name};
        struct program p;
        if (!gen_extensions[i].hidden || gen_extensions[i].device)
            continue;
        extensions++;
        begin(&p);
        PUT(&p, vkCreateInstance, &info, NULL, &p.instance, VK_SUCCESS);
        put_device(&p);
        put_objects(&p);
        put_fill(&p);
        put_ends(&p);
        check_played(&p, 0, 0);
    }
    CHECK(extensions > 0);
}

#ifdef VK_LUNARG_direct_driver_loading
/* Nor is what stands for a library. */
UNIT_TEST(no_driver_is_loaded_for_a_trace)
{
    VkDirectDriverLoadingInfoLUNARG driver = {.sType = VK_STRUCTURE_TYPE_DIRECT_DRIVER_LOADING_INFO_LUNARG,
                                              .pfnGetInstanceProcAddr =
                                                  (PFN_vkGetInstanceProcAddrLUNARG)(uintptr_t)ADDRESS};
    VkDirectDriverLoadingListLUNARG list = {.sType = VK_STRUCTURE_TYPE_DIRECT_DRIVER_LOADING_LIST_LUNARG,
                                            .mode = VK_DIRECT_DRIVER_LOADING_MODE_EXCLUSIVE_LUNARG,
                                            .driverCount = 1,
                                            .pDrivers = &driver};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pNext = &list};
    struct program p;

    begin(&p);
    PUT(&p, vkCreateInstance, &info, NULL, &p.instance, VK_SUCCESS);
    put_device(&p);
    put_objects(&p);
    put_fill(&p);
    put_ends(&p);
    check_played(&p, 0, 0);
}
#endif

UNIT_MAIN();
