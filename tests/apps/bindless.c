/* SPDX-License-Identifier: MIT */
/*
 * bindless: one descriptor set for all buffers, as engines have it. The set has a variable number of descriptors of
 * which some were never written and some name buffers that are gone; it is bound once, in command buffers that are
 * recorded once and submitted again and again, three in flight. Descriptors are written after the bind, while other
 * command buffers that use the set are pending, and right after a submit. Most buffers lie in one mapped allocation;
 * the host writes into those that no pending work uses, whether their descriptors are used or not, while the GPU reads
 * others of the same array and stores into some that only it works on.
 */
#include "common/app.h"
#include "shaders/bindless_gather_comp.h"

#define WORDS     1024u /* of a buffer */
#define BYTES     (WORDS * 4)
#define BUFFERS   64u
#define IN_FLIGHT 3u
#define READ      8u /* buffers that a submit reads */
#define CAPACITY  500u
#define TABLE     60u /* descriptors of the set: READ for each submit in flight, its target, and the rest */
#define TARGETS   (IN_FLIGHT * READ)
#define LOOSE     (TARGETS + IN_FLIGHT) /* descriptors from here on are used by nothing */
#define STORED    16u                   /* each of so many words is stored to */

struct push {
    uint32_t first, count, target, previous;
};

struct slot {
    VkCommandBuffer commands;
    VkDescriptorSet set;
    VkFence fence;
    struct app_buffer results;
    uint32_t buffers[READ]; /* numbers of those that are read */
    bool pending;
    uint32_t read[WORDS], previous[WORDS]; /* what the GPU must have found */
};

struct state {
    const struct app *app;
    VkDeviceMemory memory;
    VkDeviceSize spacing;
    uint8_t *mapped;
    bool coherent;
    VkBuffer buffers[BUFFERS];
    struct app_buffer targets[IN_FLIGHT]; /* stored to by the slot of that number, read by others */
    uint32_t model[BUFFERS][WORDS], target_model[IN_FLIGHT][WORDS];
    VkDescriptorSetLayout result_layout, table_layout;
    VkDescriptorPool pool;
    VkDescriptorSet table;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    struct slot slots[IN_FLIGHT];
    uint32_t seed;
};

static void create_device(struct app *app)
{
    VkPhysicalDeviceVulkan12Features has = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &has};
    if (app->api_version < VK_API_VERSION_1_2)
        app_skip(app, "no Vulkan 1.2");
    vkGetPhysicalDeviceFeatures2(app->physical, &features);
    if (!has.runtimeDescriptorArray || !has.shaderStorageBufferArrayNonUniformIndexing ||
        !has.descriptorBindingStorageBufferUpdateAfterBind || !has.descriptorBindingUpdateUnusedWhilePending ||
        !has.descriptorBindingPartiallyBound || !has.descriptorBindingVariableDescriptorCount)
        app_skip(app, "no arrays of storage buffers that may be partially bound and updated after bind");
    VkPhysicalDeviceVulkan12Features want = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    want.descriptorIndexing = has.descriptorIndexing;
    want.runtimeDescriptorArray = VK_TRUE;
    want.shaderStorageBufferArrayNonUniformIndexing = VK_TRUE;
    want.descriptorBindingStorageBufferUpdateAfterBind = VK_TRUE;
    want.descriptorBindingUpdateUnusedWhilePending = VK_TRUE;
    want.descriptorBindingPartiallyBound = VK_TRUE;
    want.descriptorBindingVariableDescriptorCount = VK_TRUE;
    app_device_create(app, &(struct app_device_request){.next = &want});
}

/* ---- buffers ---- */

static VkBuffer create_buffer(const struct state *state)
{
    VkBuffer buffer;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.size = BYTES;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    CHECK_VK(vkCreateBuffer(state->app->device, &info, NULL, &buffer));
    return buffer;
}

static uint32_t *words_of(const struct state *state, uint32_t number)
{
    return (uint32_t *)(void *)(state->mapped + number * state->spacing);
}

/* The host writes words one by one, with unwritten ones in between. */
static void write_words(struct state *state, uint32_t number, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t word = app_random(&state->seed) % WORDS;
        words_of(state, number)[word] = state->model[number][word] = app_random(&state->seed);
    }
    if (!state->coherent)
        app_memory_sync(state->app, state->memory, BUFFERS * state->spacing, number * state->spacing, BYTES, false);
}

static void create_buffers(struct state *state)
{
    const struct app *app = state->app;
    VkMemoryRequirements requirements;
    for (uint32_t i = 0; i < BUFFERS; i++)
        state->buffers[i] = create_buffer(state);
    vkGetBufferMemoryRequirements(app->device, state->buffers[0], &requirements);
    VkDeviceSize atom = app->properties.limits.nonCoherentAtomSize;
    VkDeviceSize alignment = requirements.alignment > atom ? requirements.alignment : atom; /* powers of two */
    state->spacing = (requirements.size + alignment - 1) / alignment * alignment;
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    allocate.allocationSize = BUFFERS * state->spacing;
    allocate.memoryTypeIndex = app_memory_type_for(app, requirements.memoryTypeBits, APP_READBACK);
    state->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &state->memory));
    void *mapped = NULL;
    CHECK_VK(vkMapMemory(app->device, state->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    state->mapped = mapped;
    memset(state->mapped, 0, (size_t)(BUFFERS * state->spacing));
    for (uint32_t i = 0; i < BUFFERS; i++) {
        CHECK_VK(vkBindBufferMemory(app->device, state->buffers[i], state->memory, i * state->spacing));
        write_words(state, i, 64);
    }
    if (!state->coherent)
        app_memory_sync(app, state->memory, BUFFERS * state->spacing, 0, BUFFERS * state->spacing, false);
}

static bool is_used(const struct state *state, uint32_t number)
{
    for (uint32_t i = 0; i < IN_FLIGHT; i++)
        for (uint32_t j = 0; j < READ; j++)
            if (state->slots[i].buffers[j] == number)
                return true;
    return false;
}

static uint32_t unused_buffer(struct state *state)
{
    uint32_t number;
    do
        number = app_random(&state->seed) % BUFFERS;
    while (is_used(state, number));
    return number;
}

/* ---- descriptors ---- */

static void create_layouts(struct state *state)
{
    const struct app *app = state->app;
    VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    state->result_layout = app_set_layout(app, 1, &binding);
    const VkDescriptorBindingFlags bindless =
        VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT | VK_DESCRIPTOR_BINDING_UPDATE_UNUSED_WHILE_PENDING_BIT |
        VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT | VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT;
    VkDescriptorSetLayoutBindingFlagsCreateInfo flags = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO};
    flags.bindingCount = 1;
    flags.pBindingFlags = &bindless;
    VkDescriptorSetLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    info.pNext = &flags;
    info.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT;
    info.bindingCount = 1;
    info.pBindings = &binding;
    binding.descriptorCount = CAPACITY;
    CHECK_VK(vkCreateDescriptorSetLayout(app->device, &info, NULL, &state->table_layout));
    const VkDescriptorSetLayout layouts[] = {state->result_layout, state->table_layout};
    state->layout = app_pipeline_layout(app, 2, layouts, VK_SHADER_STAGE_COMPUTE_BIT, sizeof(struct push));
    state->pipeline = app_compute_pipeline(app, bindless_gather_comp, sizeof(bindless_gather_comp), state->layout);
}

static void write_descriptor(const struct state *state, VkDescriptorSet set, uint32_t element, VkBuffer buffer)
{
    const VkDescriptorBufferInfo info = {buffer, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = set;
    write.dstArrayElement = element;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &info;
    vkUpdateDescriptorSets(state->app->device, 1, &write, 0, NULL);
}

static void create_sets(struct state *state)
{
    const struct app *app = state->app;
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, IN_FLIGHT + TABLE};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.flags = VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT;
    pool.maxSets = IN_FLIGHT + 1;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &state->pool));
    const uint32_t count = TABLE;
    VkDescriptorSetVariableDescriptorCountAllocateInfo variable = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO};
    variable.descriptorSetCount = 1;
    variable.pDescriptorCounts = &count;
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.pNext = &variable;
    allocate.descriptorPool = state->pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &state->table_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &state->table));
    const VkDescriptorSetLayout layouts[IN_FLIGHT] = {state->result_layout, state->result_layout, state->result_layout};
    VkDescriptorSet sets[IN_FLIGHT];
    allocate.pNext = NULL;
    allocate.descriptorSetCount = IN_FLIGHT;
    allocate.pSetLayouts = layouts;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, sets));
    for (uint32_t i = 0; i < IN_FLIGHT; i++) {
        struct slot *slot = &state->slots[i];
        slot->set = sets[i];
        app_buffer_create(app, &state->targets[i], BYTES,
                          VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_DEVICE);
        app_buffer_create(app, &slot->results, BYTES * 2, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
        write_descriptor(state, slot->set, 0, slot->results.buffer);
        write_descriptor(state, state->table, TARGETS + i, state->targets[i].buffer);
    }
}

/* ---- commands ---- */

/* Nothing that they read is in the table yet. */
static void record(struct state *state, uint32_t number)
{
    struct slot *slot = &state->slots[number];
    const VkDescriptorSet sets[2] = {slot->set, state->table};
    const struct push push = {number * READ, READ, TARGETS + number, TARGETS + (number + 1) % IN_FLIGHT};
    const VkPipelineStageFlags compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    CHECK_VK(vkCreateFence(state->app->device, &fence, NULL, &slot->fence));
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = state->app->pool;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    CHECK_VK(vkAllocateCommandBuffers(state->app->device, &allocate, &slot->commands));
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    CHECK_VK(vkBeginCommandBuffer(slot->commands, &begin));
    vkCmdBindPipeline(slot->commands, VK_PIPELINE_BIND_POINT_COMPUTE, state->pipeline);
    vkCmdBindDescriptorSets(slot->commands, VK_PIPELINE_BIND_POINT_COMPUTE, state->layout, 0, 2, sets, 0, NULL);
    vkCmdPushConstants(slot->commands, state->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), &push);
    app_memory_barrier(slot->commands, compute, VK_ACCESS_SHADER_WRITE_BIT, compute,
                       VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    vkCmdDispatch(slot->commands, WORDS / 64, 1, 1);
    app_memory_barrier(slot->commands, compute, VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                       VK_ACCESS_HOST_READ_BIT);
    CHECK_VK(vkEndCommandBuffer(slot->commands));
}

static void clear_targets(const struct state *state)
{
    VkCommandBuffer commands = app_begin(state->app);
    for (uint32_t i = 0; i < IN_FLIGHT; i++)
        vkCmdFillBuffer(commands, state->targets[i].buffer, 0, VK_WHOLE_SIZE, 0);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    app_run(state->app, commands);
}

static void finish(struct state *state, uint32_t number)
{
    const struct app *app = state->app;
    struct slot *slot = &state->slots[number];
    if (!slot->pending)
        return;
    CHECK_VK(vkWaitForFences(app->device, 1, &slot->fence, VK_TRUE, UINT64_MAX));
    CHECK_VK(vkResetFences(app->device, 1, &slot->fence));
    slot->pending = false;
    app_buffer_invalidate(app, &slot->results, 0, slot->results.size);
    const uint32_t *results = (const uint32_t *)(const void *)slot->results.mapped;
    for (uint32_t i = 0; i < WORDS; i++) {
        EXPECT_EQ(app, results[2 * i], slot->read[i]);
        EXPECT_EQ(app, results[2 * i + 1], i % STORED ? i : slot->previous[i]);
    }
}

/* What the GPU will find, and what is in its target from then on. */
static void expect(struct state *state, uint32_t number)
{
    struct slot *slot = &state->slots[number];
    const uint32_t *previous = state->target_model[(number + 1) % IN_FLIGHT];
    for (uint32_t i = 0; i < WORDS; i++)
        slot->read[i] = state->model[slot->buffers[i % READ]][i];
    for (uint32_t i = 0; i < WORDS; i += STORED) {
        slot->previous[i] = previous[i];
        state->target_model[number][i] += slot->read[i];
    }
}

/* A buffer that no pending work uses goes; a loose descriptor goes on naming it. Another takes its memory. */
static void replace_buffer(struct state *state)
{
    uint32_t number = unused_buffer(state);
    write_descriptor(state, state->table, LOOSE + app_random(&state->seed) % (TABLE - LOOSE), state->buffers[number]);
    vkDestroyBuffer(state->app->device, state->buffers[number], NULL);
    state->buffers[number] = create_buffer(state);
    CHECK_VK(vkBindBufferMemory(state->app->device, state->buffers[number], state->memory, number * state->spacing));
}

static void run_frame(struct state *state, uint32_t frame)
{
    uint32_t number = frame % IN_FLIGHT;
    struct slot *slot = &state->slots[number];
    finish(state, number);
    memset(slot->buffers, 0xff, sizeof(slot->buffers));
    /* The other submits are pending and use the same set. */
    for (uint32_t i = 0; i < READ; i++) {
        uint32_t buffer = unused_buffer(state);
        slot->buffers[i] = buffer;
        write_words(state, buffer, i % 2 ? 20 : 0);
        write_descriptor(state, state->table, number * READ + i, state->buffers[buffer]);
        write_words(state, buffer, i % 3 ? 5 : 0);
    }
    for (uint32_t i = 0; i < 4; i++) /* for submits to come */
        write_words(state, unused_buffer(state), 10);
    expect(state, number);
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &slot->commands;
    CHECK_VK(vkQueueSubmit(state->app->queue, 1, &submit, slot->fence));
    slot->pending = true;
    write_words(state, unused_buffer(state), 10);
    write_descriptor(state, state->table, LOOSE + frame % 8, state->buffers[unused_buffer(state)]);
    if (frame % 5 == 4)
        replace_buffer(state);
}

static void destroy(struct state *state)
{
    VkDevice device = state->app->device;
    for (uint32_t i = 0; i < IN_FLIGHT; i++) {
        vkDestroyFence(device, state->slots[i].fence, NULL);
        vkFreeCommandBuffers(device, state->app->pool, 1, &state->slots[i].commands);
        app_buffer_destroy(state->app, &state->slots[i].results);
        app_buffer_destroy(state->app, &state->targets[i]);
    }
    vkDestroyPipeline(device, state->pipeline, NULL);
    vkDestroyPipelineLayout(device, state->layout, NULL);
    vkDestroyDescriptorPool(device, state->pool, NULL);
    vkDestroyDescriptorSetLayout(device, state->result_layout, NULL);
    vkDestroyDescriptorSetLayout(device, state->table_layout, NULL);
    for (uint32_t i = 0; i < BUFFERS; i++)
        vkDestroyBuffer(device, state->buffers[i], NULL);
    vkUnmapMemory(device, state->memory);
    vkFreeMemory(device, state->memory, NULL);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "bindless",
        .what = "One large descriptor set that is updated while command buffers that use it are pending.",
        .frames = 40,
    };
    struct app app;
    static struct state state;
    app_init(&app, argc, argv, &program);
    state.app = &app;
    state.seed = 777;
    create_device(&app);
    create_buffers(&state);
    create_layouts(&state);
    create_sets(&state);
    for (uint32_t i = 0; i < IN_FLIGHT; i++) {
        memset(state.slots[i].buffers, 0xff, sizeof(state.slots[i].buffers));
        record(&state, i);
    }
    clear_targets(&state);
    for (uint32_t frame = 0; frame < app.frames; frame++)
        run_frame(&state, frame);
    for (uint32_t i = 0; i < IN_FLIGHT; i++)
        finish(&state, (app.frames + i) % IN_FLIGHT);
    destroy(&state);
    return app_finish(&app);
}
