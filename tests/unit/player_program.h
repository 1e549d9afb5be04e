/* SPDX-License-Identifier: MIT */
/*
 * player_program: traces of a small program, written packet by packet and played on whatever Vulkan device there is;
 * with the validation layer where it is installed, whose messages go to stdout and are counted.
 */
#ifndef LAP_TESTS_PLAYER_PROGRAM_H
#define LAP_TESTS_PLAYER_PROGRAM_H

#include <dlfcn.h>
#include <unistd.h>

#include "replayer/core/handles.h"
#include "replayer/play/player.h"
#include "replayer/verify/verify.h"
#include "tests/unit/sample_trace.h"
#include "trace/format/chunk.h"

#define BYTES               4096u
#define PATTERN             0x01020304u
#define VALIDATION_MANIFEST "/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json"

/* The handles of a small recorded program. */
struct program {
    struct sample s;
    VkInstance instance;
    VkPhysicalDevice gpu;
    VkDevice device;
    VkQueue queue;
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkFence fence;
    VkCommandPool pool;
    VkCommandBuffer commands;
    uint32_t family;
    /* What tests change. */
    VkDeviceCreateInfo device_info;
    const char *extensions[4];
    VkPhysicalDeviceFeatures features;
    struct lap_enc block;
    uint32_t block_commands;
};

#define PUT(p, command, ...)                                                                                           \
    (gen_encode_##command(sample_packet(&(p)->s, GEN_##command, 0), __VA_ARGS__), lap_packet_end((p)->s.stream))

static inline bool program_begin(struct program *p)
{
    memset(p, 0, sizeof *p);
    if (!sample_begin(&p->s))
        return false;
#define HANDLE(type) gen_##type(sample_handle(&p->s, GEN_HANDLE_##type, 1))
    p->instance = HANDLE(VkInstance);
    p->gpu = HANDLE(VkPhysicalDevice);
    p->device = HANDLE(VkDevice);
    p->queue = HANDLE(VkQueue);
    p->buffer = HANDLE(VkBuffer);
    p->memory = HANDLE(VkDeviceMemory);
    p->fence = HANDLE(VkFence);
    p->pool = HANDLE(VkCommandPool);
    p->commands = HANDLE(VkCommandBuffer);
#undef HANDLE
    p->device_info = (VkDeviceCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    return true;
}

static inline void put_families(struct program *p, uint32_t count, const VkQueueFlags *flags)
{
    VkQueueFamilyProperties families[4] = {{0}};

    for (uint32_t i = 0; i < count; i++)
        families[i] = (VkQueueFamilyProperties){.queueFlags = flags[i], .queueCount = 2};
    PUT(p, vkEnumeratePhysicalDevices, p->instance, &(uint32_t){1}, &p->gpu, VK_SUCCESS);
    PUT(p, vkGetPhysicalDeviceQueueFamilyProperties, p->gpu, &count, families);
}

static inline void put_instance(struct program *p)
{
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};

    PUT(p, vkCreateInstance, &info, NULL, &p->instance, VK_SUCCESS);
}

static inline void put_device(struct program *p)
{
    static const float priorities[2] = {1, 0.5f};
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = p->family,
                                     .queueCount = 2,
                                     .pQueuePriorities = priorities};

    p->device_info.queueCreateInfoCount = 1;
    p->device_info.pQueueCreateInfos = &queue;
    p->device_info.ppEnabledExtensionNames = p->extensions;
    p->device_info.pEnabledFeatures = &p->features;
    while (p->extensions[p->device_info.enabledExtensionCount])
        p->device_info.enabledExtensionCount++;
    PUT(p, vkCreateDevice, p->gpu, &p->device_info, NULL, &p->device, VK_SUCCESS);
    PUT(p, vkGetDeviceQueue, p->device, p->family, 1, &p->queue);
    PUT(p, vkGetDeviceQueue, p->device, p->family, 1, &p->queue);
}

static inline void put_objects(struct program *p)
{
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .size = BYTES,
                                 .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = p->family};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = p->pool, .commandBufferCount = 1};

    PUT(p, vkCreateBuffer, p->device, &buffer, NULL, &p->buffer, VK_SUCCESS);
    PUT(p, lapilliBindBuffer, p->buffer, p->memory, 0, BYTES,
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    PUT(p, vkCreateFence, p->device, &fence, NULL, &p->fence, VK_SUCCESS);
    PUT(p, vkCreateCommandPool, p->device, &pool, NULL, &p->pool, VK_SUCCESS);
    PUT(p, vkAllocateCommandBuffers, p->device, &allocate, &p->commands, VK_SUCCESS);
}

static inline void put_start(struct program *p)
{
    put_instance(p);
    put_device(p);
    put_objects(p);
}

#define COMMAND(p, command, ...)                                                                                       \
    ((void)(lap_enc_reserve(&(p)->block, LAP_WIRE_MAX_VARINT) && (lap_put_u64(&(p)->block, GEN_##command), true)),     \
     gen_encode_##command(&(p)->block __VA_OPT__(, ) __VA_ARGS__), (void)(p)->block_commands++)

static inline void block_begin(struct program *p)
{
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};

    lap_enc_init(&p->block, &p->s.tables);
    lap_enc_use_writer(&p->block, p->s.writer);
    p->block_commands = 0;
    COMMAND(p, vkBeginCommandBuffer, &begin);
}

static inline void block_end(struct program *p, uint32_t claimed_more)
{
    uint64_t id;

    COMMAND(p, vkEndCommandBuffer);
    CHECK(!p->block.failed);
    id = lap_writer_blob(p->s.writer, LAP_BLOB_BLOCK, p->block.base, (size_t)(p->block.p - p->block.base), NULL);
    PUT(p, lapilliBlock, p->commands, id, p->block_commands + claimed_more);
    lap_enc_finish(&p->block);
}

static inline void put_submit(struct program *p)
{
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &p->commands};

    PUT(p, vkQueueSubmit, p->queue, 1, &submit, p->fence);
    PUT(p, vkWaitForFences, p->device, 1, &p->fence, VK_TRUE, UINT64_MAX, VK_SUCCESS);
}

static inline void put_check(struct program *p, uint32_t pattern)
{
    uint32_t words[BYTES / 4];
    struct lap_blob_hash hash;

    for (unsigned i = 0; i < BYTES / 4; i++)
        words[i] = pattern;
    hash = lap_blob_hash_of(words, BYTES);
    PUT(p, lapilliCheckBuffer, p->buffer, 0, BYTES, hash.low, hash.high);
}

static inline void put_ends(struct program *p)
{
    PUT(p, vkDestroyBuffer, p->device, p->buffer, NULL);
    PUT(p, vkDestroyFence, p->device, p->fence, NULL);
    PUT(p, vkDestroyCommandPool, p->device, p->pool, NULL);
    PUT(p, vkDestroyDevice, p->device, NULL);
    PUT(p, vkDestroyInstance, p->instance, NULL);
}

/* Fills the buffer with a pattern, waits, and checks it. */
static inline void put_fill(struct program *p)
{
    block_begin(p);
    COMMAND(p, vkCmdFillBuffer, p->buffer, 0, VK_WHOLE_SIZE, PATTERN);
    block_end(p, 0);
    put_submit(p);
}

/* ---- playing ---- */

struct result {
    enum lap_status status;
    struct replay_check_summary checks;
    bool finished;
    uint64_t invalid; /* calls that were left out, or made in part */
    long validation_bytes;
    char error[512];
};

static bool expect_messages;
static replay_spirv_judge judge; /* of code in what is played; NULL: none */
static bool leaves_out;          /* calls that are not valid; else they end the replay */
static bool blackhole;           /* work is looked at, and not done */

/* An instance that stays: a driver that is unloaded and loaded again for each test leaves memory behind each time. */
static VkInstance kept;

static inline bool has_device(void)
{
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    static bool has;
    uint32_t count = 0;
    PFN_vkGetInstanceProcAddr get;
    PFN_vkCreateInstance create;
    void *loader;

    if (kept)
        return has;
    loader = dlopen("libvulkan.so.1", RTLD_NOW);
    get = loader ? (PFN_vkGetInstanceProcAddr)dlsym(loader, "vkGetInstanceProcAddr") : NULL;
    create = get ? (PFN_vkCreateInstance)get(NULL, "vkCreateInstance") : NULL;
    if (create && create(&info, NULL, &kept) == VK_SUCCESS)
        has = ((PFN_vkEnumeratePhysicalDevices)get(kept, "vkEnumeratePhysicalDevices"))(kept, &count, NULL) >= 0 &&
              count > 0;
    return has;
}

#define NEED_DEVICE()                                                                                                  \
    if (!has_device()) {                                                                                               \
        SKIP("no Vulkan device here");                                                                                 \
    }

/* What the validation layer says on stdout is kept apart, and shown. */
static inline struct result play_file(const struct replay_options *options)
{
    struct result result = {0};
    struct replay r;
    char text[2000];
    FILE *said = tmpfile();
    int out;

    fflush(stdout);
    out = dup(1);
    dup2(fileno(said), 1);
    result.status = replay_open(&r, options, NULL);
    if (result.status == LAP_OK)
        result.status = replay_run(&r);
    snprintf(result.error, sizeof result.error, "%s", result.status == LAP_OK ? "" : lap_error_message());
    result.checks = replay_check_summary(&r);
    result.invalid = r.summary.invalid_count;
    result.finished = replay_close(&r);
    fflush(stdout);
    dup2(out, 1);
    close(out);
    fseek(said, 0, SEEK_END);
    result.validation_bytes = ftell(said);
    rewind(said);
    while (!expect_messages && fgets(text, sizeof text, said))
        fputs(text, stdout);
    fclose(said);
    return result;
}

/* Ends the file, plays it and removes it. Several threads have to do and say the same as one. */
static inline struct result play(struct program *p, bool force)
{
    struct replay_options options = {.file = p->s.path,
                                     .verify = true,
                                     .force = force,
                                     .strict = !leaves_out,
                                     .present = REPLAY_PRESENT_OFF,
                                     .threads = 1,
                                     .judge = judge,
                                     .blackhole = blackhole};
    struct result result, again;

    lap_writer_frame(p->s.writer);
    sample_end(&p->s);
    result = play_file(&options);
    options.threads = 3;
    again = play_file(&options);
    CHECK_EQ_INT(again.status, result.status);
    CHECK_STR(again.error, result.error);
    CHECK_EQ_U64(again.checks.checks, result.checks.checks);
    CHECK_EQ_U64(again.checks.different, result.checks.different);
    CHECK_EQ_U64(again.invalid, result.invalid);
    CHECK_EQ_INT(again.finished, result.finished);
    CHECK_EQ_INT(again.validation_bytes != 0, result.validation_bytes != 0);
    sample_finish(&p->s);
    return result;
}

#define CHECK_PLAYED(result)                                                                                           \
    do {                                                                                                               \
        CHECK_EQ_INT((result).status, LAP_OK);                                                                         \
        CHECK_STR((result).error, "");                                                                                 \
        CHECK((result).finished);                                                                                      \
        CHECK_EQ_INT((result).validation_bytes, 0);                                                                    \
    } while (0)

#define CHECK_SAYS(result, wanted_status, text)                                                                        \
    do {                                                                                                               \
        CHECK_EQ_INT((result).status, wanted_status);                                                                  \
        if (!strstr((result).error, text))                                                                             \
            UNIT_FAIL("\"%s\" lacks \"%s\"", (result).error, text);                                                    \
    } while (0)

/* Plays a good trace in which so many checks were made and so many of them differ. */
static inline void check_played(struct program *p, uint64_t checks, uint64_t different)
{
    struct result result = play(p, false);
    CHECK_PLAYED(result);
    CHECK_EQ_U64(result.checks.checks, checks);
    CHECK_EQ_U64(result.checks.different, different);
}

/* A test with a program to write and play. */
#define PLAYER_TEST(name)                                                                                              \
    static void write_and_play_##name(struct program *p);                                                              \
    UNIT_TEST(name)                                                                                                    \
    {                                                                                                                  \
        struct program program;                                                                                        \
        NEED_DEVICE();                                                                                                 \
        CHECK(program_begin(&program));                                                                                \
        write_and_play_##name(&program);                                                                               \
    }                                                                                                                  \
    static void write_and_play_##name(struct program *p)

__attribute__((constructor)) static void use_validation(void)
{
    /* It prints to stdout when the program has no messenger of its own. */
    if (access(VALIDATION_MANIFEST, R_OK) == 0)
        setenv("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation", 0);
}

#endif
