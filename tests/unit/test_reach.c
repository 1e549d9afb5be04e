/* SPDX-License-Identifier: MIT */
/* Work whose shaders use descriptors of objects that are gone is refused; what they don't use may be gone. */

#include "replayer/reach.h"

#include "gen_replay.h"
#include "tests/unit/player_program.h"
#include "tests/unit/spirv_code.h"

#define IMAGE_TEXELS 4u

/* A compute shader: main calls a function that stores PATTERN to buffer 0 and, if it has one, to image 2, both of set
 * 0. Nobody calls the function that stores to buffer 1. */
enum {
    MAIN = 1,
    VOID,
    FUNCTION,
    UINT,
    BLOCK,
    TO_BLOCK,
    TO_UINT,
    ZERO,
    USED,
    UNUSED,
    STORES,
    NOBODY,
    VALUE,
    IMAGE,
    TO_IMAGE,
    TEXELS,
    PLACE,
    TEXEL,
    PLACE_TYPE,
    TEXEL_TYPE,
    FREE,
    BOUND = 64
};

static void put_function(int id, int label)
{
    put(54, VOID, id, 0, FUNCTION, -1);
    put(248, label, -1);
}

static void end_function(void)
{
    put(253, -1);
    put(56, -1);
}

static void make_code(bool image)
{
    begin_code(0x00010000, BOUND);
    put(17, 1, -1);
    put(14, 0, 1, -1);
    put(15, 5, MAIN, SPIRV_MAIN, -1);
    put(16, MAIN, 17, 1, 1, 1, -1);
    put(71, BLOCK, 3, -1); /* BufferBlock */
    put(72, BLOCK, 0, 35, 0, -1);
    for (int i = 0; i < (image ? 3 : 2); i++) {
        static const int variables[] = {USED, UNUSED, TEXELS};
        put(71, variables[i], 34, 0, -1);
        put(71, variables[i], 33, i, -1);
    }
    put(19, VOID, -1);
    put(33, FUNCTION, VOID, -1);
    put(21, UINT, 32, 0, -1);
    put(30, BLOCK, UINT, -1);
    put(32, TO_BLOCK, 2, BLOCK, -1);
    put(32, TO_UINT, 2, UINT, -1);
    put(43, UINT, ZERO, 0, -1);
    put(43, UINT, VALUE, PATTERN, -1);
    put(59, TO_BLOCK, USED, 2, -1);
    put(59, TO_BLOCK, UNUSED, 2, -1);
    if (image) {
        put(23, PLACE_TYPE, UINT, 2, -1);
        put(23, TEXEL_TYPE, UINT, 4, -1);
        put(44, PLACE_TYPE, PLACE, ZERO, ZERO, -1);
        put(44, TEXEL_TYPE, TEXEL, ZERO, ZERO, ZERO, ZERO, -1);
        put(25, IMAGE, UINT, 1, 0, 0, 0, 2, 33, -1); /* 2D, storage, R32ui */
        put(32, TO_IMAGE, 0, IMAGE, -1);
        put(59, TO_IMAGE, TEXELS, 0, -1);
    }
    put_function(MAIN, FREE);
    put(57, VOID, FREE + 1, STORES, -1);
    end_function();
    put_function(STORES, FREE + 2);
    put(65, TO_UINT, FREE + 3, USED, ZERO, -1);
    put(62, FREE + 3, VALUE, -1);
    if (image) {
        put(61, IMAGE, FREE + 4, TEXELS, -1);
        put(99, FREE + 4, PLACE, TEXEL, -1);
    }
    end_function();
    put_function(NOBODY, FREE + 5);
    put(65, TO_UINT, FREE + 6, UNUSED, ZERO, -1);
    put(62, FREE + 6, VALUE, -1);
    end_function();
}

/* The handles, and what tests change before put_pipeline. */
struct work {
    VkDescriptorSetLayout layout;
    VkPipelineLayout pipeline_layout;
    VkShaderModule module;
    VkPipeline pipeline;
    VkDescriptorPool pool;
    VkDescriptorSet sets[2];
    VkBuffer buffers[2];
    VkImage image;
    VkImageView view;
    VkDescriptorBindingFlags flags[3];
    bool has_image, pushes;
};

#define HANDLE(type, number) gen_##type(sample_handle(&p->s, GEN_HANDLE_##type, number))

static void put_buffer(struct program *p, VkBuffer *buffer)
{
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = BYTES, .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};

    PUT(p, vkCreateBuffer, p->device, &info, NULL, buffer, VK_SUCCESS);
    PUT(p, lapilliBindBuffer, *buffer, p->memory, 0, BYTES, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
}

static void put_image(struct program *p, struct work *w)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = VK_FORMAT_R32_UINT,
                              .extent = {IMAGE_TEXELS, IMAGE_TEXELS, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = VK_IMAGE_USAGE_STORAGE_BIT};
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .image = w->image,
                                  .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                  .format = VK_FORMAT_R32_UINT,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};

    PUT(p, vkCreateImage, p->device, &info, NULL, &w->image, VK_SUCCESS);
    PUT(p, lapilliBindImage, w->image, 0, p->memory, 0, 4 * IMAGE_TEXELS * IMAGE_TEXELS,
        VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, VK_NULL_HANDLE, 0);
    PUT(p, vkCreateImageView, p->device, &view, NULL, &w->view, VK_SUCCESS);
}

static void put_layout(struct program *p, struct work *w)
{
    VkDescriptorSetLayoutBinding bindings[3] = {
        {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {2, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    VkDescriptorSetLayoutBindingFlagsCreateInfo flags = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
        .bindingCount = w->has_image ? 3 : 2,
        .pBindingFlags = w->flags};
    VkDescriptorSetLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .pNext = w->flags[0] ? &flags : NULL,
        .flags = w->pushes ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR : 0,
        .bindingCount = w->has_image ? 3 : 2,
        .pBindings = bindings};

    PUT(p, vkCreateDescriptorSetLayout, p->device, &layout, NULL, &w->layout, VK_SUCCESS);
}

static void put_pipeline(struct program *p, struct work *w)
{
    VkPipelineLayoutCreateInfo pipeline_layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &w->layout};
    VkShaderModuleCreateInfo module = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = count * 4, .pCode = code};
    VkComputePipelineCreateInfo pipeline = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                            .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                      .module = w->module,
                                                      .pName = "main"},
                                            .layout = w->pipeline_layout};

    put_layout(p, w);
    PUT(p, vkCreatePipelineLayout, p->device, &pipeline_layout, NULL, &w->pipeline_layout, VK_SUCCESS);
    PUT(p, vkCreateShaderModule, p->device, &module, NULL, &w->module, VK_SUCCESS);
    PUT(p, vkCreateComputePipelines, p->device, VK_NULL_HANDLE, 1, &pipeline, NULL, &w->pipeline, VK_SUCCESS);
    PUT(p, vkDestroyShaderModule, p->device, w->module, NULL); /* pipelines do without */
}

static void put_sets(struct program *p, struct work *w)
{
    VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 4}, {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 2}};
    VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 2, .poolSizeCount = 2, .pPoolSizes = sizes};
    VkDescriptorSetLayout layouts[] = {w->layout, w->layout};
    VkDescriptorSetAllocateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = w->pool,
                                        .descriptorSetCount = 2,
                                        .pSetLayouts = layouts};

    PUT(p, vkCreateDescriptorPool, p->device, &pool, NULL, &w->pool, VK_SUCCESS);
    PUT(p, vkAllocateDescriptorSets, p->device, &sets, w->sets, VK_SUCCESS);
}

/* Up to three writes: buffers 0 and 1, and the image. */
static uint32_t writes_of(const struct work *w, VkDescriptorSet set, VkDescriptorBufferInfo buffers[2],
                          VkDescriptorImageInfo *image, VkWriteDescriptorSet out[3])
{
    for (uint32_t i = 0; i < 2; i++) {
        buffers[i] = (VkDescriptorBufferInfo){w->buffers[i], 0, VK_WHOLE_SIZE};
        out[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = set,
                                        .dstBinding = i,
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = &buffers[i]};
    }
    *image = (VkDescriptorImageInfo){.imageView = w->view, .imageLayout = VK_IMAGE_LAYOUT_GENERAL};
    out[2] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                    .dstSet = set,
                                    .dstBinding = 2,
                                    .descriptorCount = 1,
                                    .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                    .pImageInfo = image};
    return w->has_image ? 3 : 2;
}

static void put_writes(struct program *p, const struct work *w)
{
    VkDescriptorBufferInfo buffers[2];
    VkDescriptorImageInfo image;
    VkWriteDescriptorSet writes[3];
    uint32_t used = writes_of(w, w->sets[0], buffers, &image, writes);

    PUT(p, vkUpdateDescriptorSets, p->device, used, writes, 0, NULL);
}

/* From set 0 to set 1. */
static void put_copies(struct program *p, const struct work *w)
{
    VkCopyDescriptorSet copies[2];

    for (uint32_t i = 0; i < 2; i++)
        copies[i] = (VkCopyDescriptorSet){.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                          .srcSet = w->sets[0],
                                          .srcBinding = i,
                                          .dstSet = w->sets[1],
                                          .dstBinding = i,
                                          .descriptorCount = 1};
    PUT(p, vkUpdateDescriptorSets, p->device, 0, NULL, 2, copies);
}

static void put_layout_change(struct program *p, const struct work *w)
{
    VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                    .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                    .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .image = w->image,
                                    .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};

    COMMAND(p, vkCmdPipelineBarrier, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 0,
            NULL, 0, NULL, 1, &barrier);
}

static void put_commands(struct program *p, const struct work *w, int set)
{
    if (w->has_image)
        put_layout_change(p, w);
    COMMAND(p, vkCmdBindPipeline, VK_PIPELINE_BIND_POINT_COMPUTE, w->pipeline);
    COMMAND(p, vkCmdBindDescriptorSets, VK_PIPELINE_BIND_POINT_COMPUTE, w->pipeline_layout, 0, 1, &w->sets[set], 0,
            NULL);
    COMMAND(p, vkCmdDispatch, 1, 1, 1);
}

static void put_dispatch(struct program *p, const struct work *w, int set)
{
    block_begin(p);
    put_commands(p, w, set);
    block_end(p, 0);
}

static struct work begin(struct program *p, bool image)
{
    struct work w = {
        .layout = HANDLE(VkDescriptorSetLayout, 1),
        .pipeline_layout = HANDLE(VkPipelineLayout, 1),
        .module = HANDLE(VkShaderModule, 1),
        .pipeline = HANDLE(VkPipeline, 1),
        .pool = HANDLE(VkDescriptorPool, 1),
        .sets = {HANDLE(VkDescriptorSet, 1), HANDLE(VkDescriptorSet, 2)},
        .buffers = {HANDLE(VkBuffer, 2), HANDLE(VkBuffer, 3)},
        .image = HANDLE(VkImage, 1),
        .view = HANDLE(VkImageView, 1),
        .has_image = image,
    };

    make_code(image);
    return w;
}

/* All of it, up to the command buffer, which binds set 0. */
static struct work put_work(struct program *p, bool image)
{
    struct work w = begin(p, image);

    put_start(p);
    for (int i = 0; i < 2; i++)
        put_buffer(p, &w.buffers[i]);
    if (image)
        put_image(p, &w);
    put_pipeline(p, &w);
    put_sets(p, &w);
    put_writes(p, &w);
    put_dispatch(p, &w, 0);
    return w;
}

static struct result play_strictly(struct program *p)
{
    struct result result;

    if (!validate_descriptors)
        validate_descriptors = REPLAY_VALIDATE_USED;
    result = play(p, false);
    validate_descriptors = REPLAY_VALIDATE_NOTHING;
    return result;
}

/* False: the driver lacks something. What may be gone is not given to it: lavapipe follows descriptors that no shader
 * uses. */
static bool check_let_pass(struct program *p)
{
    struct result result;

    blackhole = true;
    result = play_strictly(p);
    blackhole = false;
    if (result.status == LAP_ERROR_UNSUPPORTED)
        return false;
    CHECK_PLAYED(result);
    return true;
}

#define CHECK_REFUSED(p, text)                                                                                         \
    do {                                                                                                               \
        struct result refused = play_strictly(p);                                                                      \
        CHECK_SAYS(refused, LAP_ERROR_REPLAY, text);                                                                   \
        CHECK_EQ_INT(refused.validation_bytes, 0); /* nobody else has seen it */                                       \
    } while (0)

PLAYER_TEST(work_with_all_it_uses_is_played)
{
    struct result result;

    (void)put_work(p, true);
    put_submit(p);
    result = play_strictly(p);
    CHECK_PLAYED(result);
}

PLAYER_TEST(a_buffer_that_is_used_must_be_there)
{
    struct work w = put_work(p, false);
    struct result result;

    PUT(p, vkDestroyBuffer, p->device, w.buffers[0], NULL);
    put_submit(p);
    result = play_strictly(p);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "(vkQueueSubmit), chunk at offset ");
    CHECK_SAYS(result, LAP_ERROR_REPLAY,
               "VkCommandBuffer:1 (block 1): command 4 (vkCmdDispatch): VkDescriptorSet:1: descriptor 0 of binding 0 "
               "of set 0: VkBuffer:2 is not alive any more");
    CHECK_EQ_INT(result.validation_bytes, 0);
}

/* The work stands in a secondary command buffer. */
static struct work put_executed_work(struct program *p)
{
    VkCommandBuffer primary = p->commands, secondary = HANDLE(VkCommandBuffer, 2);
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = p->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
                                            .commandBufferCount = 1};
    VkCommandBufferInheritanceInfo inheritance = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                     .pInheritanceInfo = &inheritance};
    struct work w = put_work(p, false);

    PUT(p, vkResetCommandPool, p->device, p->pool, 0);
    PUT(p, vkAllocateCommandBuffers, p->device, &allocate, &secondary, VK_SUCCESS);
    p->commands = secondary;
    lap_enc_init(&p->block, &p->s.tables, p->s.writer);
    p->block_commands = 0;
    p->block.scratch[COND_SCRATCH_SECONDARY] = 1;
    COMMAND(p, vkBeginCommandBuffer, &info);
    put_commands(p, &w, 0);
    block_end(p, 0);
    p->commands = primary;
    block_begin(p);
    COMMAND(p, vkCmdExecuteCommands, 1, &secondary);
    block_end(p, 0);
    return w;
}

PLAYER_TEST(work_in_a_secondary_command_buffer_is_looked_at)
{
    struct result result;
    struct work w;

    (void)put_executed_work(p);
    put_submit(p);
    result = play_strictly(p);
    CHECK_PLAYED(result);
    CHECK(program_begin(p));
    w = put_executed_work(p);
    PUT(p, vkDestroyBuffer, p->device, w.buffers[0], NULL);
    put_submit(p);
    CHECK_REFUSED(p, "VkCommandBuffer:2 (block 2): command 4 (vkCmdDispatch): VkDescriptorSet:1: descriptor 0 of ");
}

PLAYER_TEST(it_may_have_gone_before_the_set_was_bound)
{
    struct work w = begin(p, false);

    put_start(p);
    for (int i = 0; i < 2; i++)
        put_buffer(p, &w.buffers[i]);
    put_pipeline(p, &w);
    put_sets(p, &w);
    put_writes(p, &w);
    PUT(p, vkDestroyBuffer, p->device, w.buffers[0], NULL);
    put_dispatch(p, &w, 0);
    put_submit(p);
    CHECK_REFUSED(p, "(lapilliBlock), chunk at offset ");
}

PLAYER_TEST(a_buffer_that_no_shader_uses_may_go)
{
    struct work w = put_work(p, false);

    PUT(p, vkDestroyBuffer, p->device, w.buffers[1], NULL);
    put_submit(p);
    if (!check_let_pass(p))
        SKIP("the driver lacks an extension or a feature");
    CHECK(program_begin(p));
    w = put_work(p, false);
    PUT(p, vkDestroyBuffer, p->device, w.buffers[1], NULL);
    put_submit(p);
    validate_descriptors = REPLAY_VALIDATE_BOUND;
    CHECK_REFUSED(
        p, "VkCommandBuffer:1 (block 1): command 3 (vkCmdBindDescriptorSets): VkDescriptorSet:1: descriptor 0 of "
           "binding 1 of set 0: VkBuffer:3 is not alive any more");
}

PLAYER_TEST(a_descriptor_that_was_written_anew_is_good)
{
    struct work w = put_work(p, false);
    struct result result;
    VkBuffer old = w.buffers[0];

    w.buffers[0] = HANDLE(VkBuffer, 4);
    put_buffer(p, &w.buffers[0]);
    put_writes(p, &w);
    PUT(p, vkDestroyBuffer, p->device, old, NULL);
    PUT(p, vkResetCommandPool, p->device, p->pool, 0);
    put_dispatch(p, &w, 0);
    put_submit(p);
    result = play_strictly(p);
    CHECK_PLAYED(result);
}

/* A number that is given again is another object. */
PLAYER_TEST(a_new_buffer_does_not_stand_for_the_old_one)
{
    struct work w = put_work(p, false);

    PUT(p, vkDestroyBuffer, p->device, w.buffers[0], NULL);
    put_buffer(p, &w.buffers[0]);
    put_submit(p);
    CHECK_REFUSED(p, "VkBuffer:2 is not alive any more");
}

PLAYER_TEST(a_copied_descriptor_names_the_same)
{
    struct work w = put_work(p, false);

    put_copies(p, &w);
    PUT(p, vkResetCommandPool, p->device, p->pool, 0);
    put_dispatch(p, &w, 1);
    PUT(p, vkDestroyBuffer, p->device, w.buffers[0], NULL);
    put_submit(p);
    CHECK_REFUSED(p, "VkDescriptorSet:2: descriptor 0 of binding 0 of set 0: VkBuffer:2 is not alive any more");
}

/* The command buffer that put_work records has a barrier, which names the image as well. */
static void put_work_without_barrier(struct program *p, struct work *w)
{
    *w = put_work(p, true);
    w->has_image = false;
    PUT(p, vkResetCommandPool, p->device, p->pool, 0);
    put_dispatch(p, w, 0);
}

PLAYER_TEST(a_view_and_its_image_must_be_there)
{
    struct work w;

    put_work_without_barrier(p, &w);
    PUT(p, vkDestroyImageView, p->device, w.view, NULL);
    put_submit(p);
    CHECK_REFUSED(p, "binding 2 of set 0: VkImageView:1 is not alive any more");
    CHECK(program_begin(p));
    put_work_without_barrier(p, &w);
    PUT(p, vkDestroyImage, p->device, w.image, NULL);
    put_submit(p);
    CHECK_REFUSED(p, "binding 2 of set 0: VkImageView:1: VkImage:1 is not alive any more");
}

static void put_partly_bound_work(struct program *p, struct work *w)
{
    static VkPhysicalDeviceDescriptorIndexingFeatures features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_INDEXING_FEATURES,
        .descriptorBindingPartiallyBound = VK_TRUE};

    *w = begin(p, false);
    p->device_info.pNext = &features;
    w->flags[0] = w->flags[1] = VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT;
    put_start(p);
    for (int i = 0; i < 2; i++)
        put_buffer(p, &w->buffers[i]);
    put_pipeline(p, w);
    put_sets(p, w);
    put_writes(p, w);
    put_dispatch(p, w, 0);
    PUT(p, vkDestroyBuffer, p->device, w->buffers[0], NULL);
    put_submit(p);
}

/* Which elements are used of bindings that may be bound in part only the shader knows. */
PLAYER_TEST(bindings_that_may_be_bound_in_part)
{
    struct work w;

    put_partly_bound_work(p, &w);
    if (!check_let_pass(p))
        SKIP("the driver lacks an extension or a feature");
    CHECK(program_begin(p));
    put_partly_bound_work(p, &w);
    validate_descriptors = REPLAY_VALIDATE_BOUND;
    CHECK_REFUSED(p, "VkBuffer:2 is not alive any more");
}

static void put_pushing_work(struct program *p, struct work *w, int gone)
{
    VkDescriptorBufferInfo buffers[2];
    VkDescriptorImageInfo image;
    VkWriteDescriptorSet writes[3];
    uint32_t used;

    *w = begin(p, false);
    w->pushes = true;
    p->extensions[0] = VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME;
    put_start(p);
    for (int i = 0; i < 2; i++)
        put_buffer(p, &w->buffers[i]);
    put_pipeline(p, w);
    used = writes_of(w, VK_NULL_HANDLE, buffers, &image, writes);
    block_begin(p);
    COMMAND(p, vkCmdBindPipeline, VK_PIPELINE_BIND_POINT_COMPUTE, w->pipeline);
#ifdef VK_VERSION_1_4
    COMMAND(p, vkCmdPushDescriptorSet, VK_PIPELINE_BIND_POINT_COMPUTE, w->pipeline_layout, 0, used, writes);
#else
    COMMAND(p, vkCmdPushDescriptorSetKHR, VK_PIPELINE_BIND_POINT_COMPUTE, w->pipeline_layout, 0, used, writes);
#endif
    COMMAND(p, vkCmdDispatch, 1, 1, 1);
    block_end(p, 0);
    PUT(p, vkDestroyBuffer, p->device, w->buffers[gone], NULL);
    put_submit(p);
}

PLAYER_TEST(what_was_pushed_must_be_there_if_it_is_used)
{
    struct work w;

    put_pushing_work(p, &w, 1);
    if (!check_let_pass(p))
        SKIP("the driver lacks an extension or a feature");
    CHECK(program_begin(p));
    put_pushing_work(p, &w, 0);
    CHECK_REFUSED(p, "command 4 (vkCmdDispatch): descriptor 0 of binding 0 of set 0: VkBuffer:2 is not alive any more");
    CHECK(program_begin(p));
    put_pushing_work(p, &w, 1);
    validate_descriptors = REPLAY_VALIDATE_BOUND;
    CHECK_REFUSED(p, "command 3 (vkCmdPushDescriptorSet");
}

/* ---- sets that end while work uses them ---- */

static void put_write(struct program *p, const struct work *w, VkDescriptorSet set)
{
    VkDescriptorBufferInfo buffers[2];
    VkDescriptorImageInfo image;
    VkWriteDescriptorSet writes[3];
    uint32_t used = writes_of(w, set, buffers, &image, writes);

    PUT(p, vkUpdateDescriptorSets, p->device, used, writes, 0, NULL);
}

/* Behind the first one. */
static void put_more_commands(struct program *p, VkCommandBuffer commands[3])
{
    VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = p->pool, .commandBufferCount = 2};

    PUT(p, vkAllocateCommandBuffers, p->device, &info, commands + 1, VK_SUCCESS);
}

/* And nobody waits for it. */
static void put_given(struct program *p)
{
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &p->commands};

    PUT(p, vkQueueSubmit, p->queue, 1, &submit, VK_NULL_HANDLE);
}

/* No program does that. The driver gets its pools reset when the work is over: so the validation layer says nothing,
 * and drivers that compute on the CPU find what they follow. */
PLAYER_TEST(pools_are_reset_while_work_uses_their_sets)
{
    struct work w = begin(p, false);
    VkDescriptorSet sets[4] = {w.sets[0], w.sets[1], HANDLE(VkDescriptorSet, 3), HANDLE(VkDescriptorSet, 4)};
    VkCommandBuffer commands[3] = {p->commands, HANDLE(VkCommandBuffer, 2), HANDLE(VkCommandBuffer, 3)};
    VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = w.pool,
                                        .descriptorSetCount = 1,
                                        .pSetLayouts = &w.layout};

    put_start(p);
    put_more_commands(p, commands);
    for (int i = 0; i < 2; i++)
        put_buffer(p, &w.buffers[i]);
    put_pipeline(p, &w);
    put_sets(p, &w);
    for (int i = 0; i < 3; i++) {
        p->commands = commands[i];
        w.sets[0] = sets[i ? i + 1 : 0];
        if (i)
            PUT(p, vkAllocateDescriptorSets, p->device, &info, &w.sets[0], VK_SUCCESS);
        put_write(p, &w, w.sets[0]);
        block_begin(p);
        for (int j = 0; j < 200; j++)
            put_commands(p, &w, 0);
        block_end(p, 0);
        put_given(p);
        PUT(p, vkResetDescriptorPool, p->device, w.pool, 0);
    }
    PUT(p, vkDestroyDescriptorPool, p->device, w.pool, NULL);
    PUT(p, vkDeviceWaitIdle, p->device, VK_SUCCESS);
    check_played(p, 0, 0);
}

/* Nor that: what is written here is written when the work is over, as the validation layer sees. */
PLAYER_TEST(sets_are_written_when_no_work_has_them)
{
    VkCommandBuffer commands[3] = {p->commands, HANDLE(VkCommandBuffer, 2), HANDLE(VkCommandBuffer, 3)};
    struct work w = put_work(p, false);
    struct result result;

    put_more_commands(p, commands);
    put_given(p);
    put_writes(p, &w);
    p->commands = commands[1];
    put_dispatch(p, &w, 0);
    put_given(p);
    put_write(p, &w, w.sets[1]); /* no work has it */
    p->commands = commands[2];
    put_dispatch(p, &w, 1);
    put_given(p);
    put_copies(p, &w);
    PUT(p, vkDeviceWaitIdle, p->device, VK_SUCCESS);
    result = play_strictly(p);
    CHECK_PLAYED(result);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_layout(VkDevice device, const VkDescriptorSetLayoutCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator, VkDescriptorSetLayout *out)
{
    *out = gen_VkDescriptorSetLayout(1);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice device, const VkDescriptorPoolCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator, VkDescriptorPool *out)
{
    *out = gen_VkDescriptorPool(1);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_pool(VkDevice device, VkDescriptorPool pool,
                                               const VkAllocationCallbacks *allocator)
{
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate_sets(VkDevice device, const VkDescriptorSetAllocateInfo *info,
                                                    VkDescriptorSet *out)
{
    for (uint32_t i = 0; i < info->descriptorSetCount; i++)
        out[i] = gen_VkDescriptorSet(i + 1);
    return VK_SUCCESS;
}

/* On a driver that makes sets, of which nobody asks more. */
UNIT_TEST(bindings_say_whether_they_may_be_written_meanwhile)
{
    static const struct {
        VkDescriptorBindingFlags flags[3];
        struct replay_reach_part part;
        bool may;
    } cases[] = {
        {{0, 0, 0}, {1, 0, 0, 1}, false},
        {{VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT, 0, 0}, {1, 0, 0, 1}, true},
        {{VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT, 0, 0}, {1, 1, 0, 1}, false},
        {{VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT, 0, 0}, {1, 0, 0, 2}, false}, /* the next one, too */
        {{VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT, 0, 0}, {1, 0, 1, 1}, false},
        {{VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT, VK_DESCRIPTOR_BINDING_UPDATE_UNUSED_WHILE_PENDING_BIT, 0},
         {2, 0, 0, 2},
         true},
        {{VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT, VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT, 0},
         {2, 1, 0, UINT32_MAX},
         false},
        {{VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT, 0, 0}, {1, 0, 0, 1}, false},
        {{VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT, 0, 0}, {1, 7, 0, 1}, false},
        {{VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT, 0, 0}, {9, 0, 0, 1}, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct program program, *p = &program;
        struct replay_options options = {.threads = 1, .validate_descriptors = REPLAY_VALIDATE_USED};
        struct replay_device dev = {.vk = {.CreateDescriptorSetLayout = create_layout,
                                           .CreateDescriptorPool = create_pool,
                                           .DestroyDescriptorPool = destroy_pool,
                                           .AllocateDescriptorSets = allocate_sets}};
        struct gen_args_vkDestroyDescriptorPool destroy = {.descriptorPool = gen_VkDescriptorPool(1)};
        struct replay r;
        struct work w;
        CHECK(program_begin(p));
        w = begin(p, false);
        memcpy(w.flags, cases[i].flags, sizeof w.flags);
        put_layout(p, &w);
        put_sets(p, &w);
        lap_writer_frame(p->s.writer);
        sample_end(&p->s);
        options.file = p->s.path;
        CHECK_EQ_INT(replay_open(&r, &options, NULL), LAP_OK);
        CHECK_EQ_INT(replay_object_add(&r, GEN_HANDLE_VkDevice, 1, 0x1000, &dev, NULL), LAP_OK);
        while (lap_reader_next(r.reader, &r.packet) == LAP_OK)
            CHECK_EQ_INT(replay_packet(&r), LAP_OK);
        CHECK_EQ_INT(replay_reach_may_write(&r, &cases[i].part), cases[i].may);
        CHECK_EQ_INT(replay_DestroyDescriptorPool(&r, &dev, &destroy), LAP_OK);
        CHECK(replay_close(&r));
        sample_finish(&p->s);
    }
}

UNIT_MAIN();
