/* SPDX-License-Identifier: MIT */
/* Descriptors that are pushed on a device that can't: which sets are bound instead, what is in them, and when they are
 * given back. The driver is a few functions that remember what is in a set. */
#include "gen_renamed.h"
#include "replayer/device/extension_fallback.h"
#include "replayer/resource/push_descriptors.h"

#include <stdlib.h>

#include "gen_replay.h"
#include "replayer/core/handles.h"
#include "replayer/play/player.h"
#include "tests/unit/unit.h"

#define MOST_SETS  4096u
#define MOST_POOLS 256u
#define BINDINGS   8u
#define ELEMENTS   4u

static struct {
    uint64_t layouts, made_layouts, pipeline_layouts, pools, made_pools, sets; /* alive, or made */
    struct {
        uint64_t pool; /* 0: gone */
        uint64_t buffers[BINDINGS][ELEMENTS];
    } set[MOST_SETS + 1];
    uint64_t bound[2]; /* by set number, at the compute bind point */
    uint64_t flags, writes, copies;
    bool refuses_sets;
} driver;

static VKAPI_ATTR VkResult VKAPI_CALL create_set_layout(VkDevice device, const VkDescriptorSetLayoutCreateInfo *info,
                                                        const VkAllocationCallbacks *allocator,
                                                        VkDescriptorSetLayout *out)
{
    driver.flags |= info->flags;
    driver.layouts++;
    *out = gen_VkDescriptorSetLayout(++driver.made_layouts);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_set_layout(VkDevice device, VkDescriptorSetLayout layout,
                                                     const VkAllocationCallbacks *allocator)
{
    driver.layouts--;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pipeline_layout(VkDevice device, const VkPipelineLayoutCreateInfo *info,
                                                             const VkAllocationCallbacks *allocator,
                                                             VkPipelineLayout *out)
{
    *out = gen_VkPipelineLayout(++driver.pipeline_layouts);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_pipeline_layout(VkDevice device, VkPipelineLayout layout,
                                                          const VkAllocationCallbacks *allocator)
{
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice device, const VkDescriptorPoolCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator, VkDescriptorPool *out)
{
    CHECK(driver.made_pools < MOST_POOLS);
    for (uint32_t i = 0; i < info->poolSizeCount; i++)
        CHECK(info->pPoolSizes[i].descriptorCount > 0);
    driver.pools++;
    *out = gen_VkDescriptorPool(++driver.made_pools);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL reset_pool(VkDevice device, VkDescriptorPool pool,
                                                 VkDescriptorPoolResetFlags flags)
{
    for (uint64_t i = 1; i <= driver.sets; i++)
        if (driver.set[i].pool == gen_u64_VkDescriptorPool(pool))
            driver.set[i].pool = 0;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_pool(VkDevice device, VkDescriptorPool pool,
                                               const VkAllocationCallbacks *allocator)
{
    (void)reset_pool(device, pool, 0);
    driver.pools--;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate_sets(VkDevice device, const VkDescriptorSetAllocateInfo *info,
                                                    VkDescriptorSet *out)
{
    if (driver.refuses_sets)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    for (uint32_t i = 0; i < info->descriptorSetCount; i++) {
        CHECK(driver.sets < MOST_SETS);
        driver.set[++driver.sets].pool = gen_u64_VkDescriptorPool(info->descriptorPool);
        out[i] = gen_VkDescriptorSet(driver.sets);
    }
    return VK_SUCCESS;
}

/* Only of buffers; elements past a binding's end are left out. */
static VKAPI_ATTR void VKAPI_CALL update_sets(VkDevice device, uint32_t write_count, const VkWriteDescriptorSet *writes,
                                              uint32_t copy_count, const VkCopyDescriptorSet *copies)
{
    for (uint32_t i = 0; i < write_count; i++) {
        uint64_t set = gen_u64_VkDescriptorSet(writes[i].dstSet);
        CHECK(set && driver.set[set].pool);
        for (uint32_t j = 0; j < writes[i].descriptorCount && writes[i].dstArrayElement + j < ELEMENTS; j++)
            driver.set[set].buffers[writes[i].dstBinding][writes[i].dstArrayElement + j] =
                gen_u64_VkBuffer(writes[i].pBufferInfo[j].buffer);
    }
    for (uint32_t i = 0; i < copy_count; i++) {
        uint64_t from = gen_u64_VkDescriptorSet(copies[i].srcSet), to = gen_u64_VkDescriptorSet(copies[i].dstSet);
        CHECK(driver.set[from].pool && driver.set[to].pool);
        for (uint32_t j = 0; j < copies[i].descriptorCount; j++) {
            uint64_t what = driver.set[from].buffers[copies[i].srcBinding][copies[i].srcArrayElement + j];
            CHECK(what != 0); /* nothing is copied that was never written */
            driver.set[to].buffers[copies[i].dstBinding][copies[i].dstArrayElement + j] = what;
            driver.copies++;
        }
    }
    driver.writes += write_count;
}

static VKAPI_ATTR void VKAPI_CALL bind_sets(VkCommandBuffer commands, VkPipelineBindPoint point,
                                            VkPipelineLayout layout, uint32_t first, uint32_t count,
                                            const VkDescriptorSet *sets, uint32_t offset_count, const uint32_t *offsets)
{
    CHECK_EQ_U64(count, 1);
    if (point == VK_PIPELINE_BIND_POINT_COMPUTE)
        driver.bound[first] = gen_u64_VkDescriptorSet(sets[0]);
}

/* ---- a replay on it ---- */

#define COMMANDS gen_VkCommandBuffer(77)

struct world {
    struct replay r;
    struct replay_instance instance;
    struct replay_device dev;
    struct lap_log log;
};

static void world_init(struct world *w)
{
    static const char *const names[] = {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME};
    const VkDeviceCreateInfo recorded = {.enabledExtensionCount = 1, .ppEnabledExtensionNames = names};

    memset(w, 0, sizeof *w);
    memset(&driver, 0, sizeof driver);
    w->log = (struct lap_log){.fd = 2, .level = LAP_LOG_ERROR, .prefix = "test: "};
    w->r.log = &w->log;
    w->r.devices = &w->dev;
    w->dev.instance = &w->instance;
    lap_arena_init(&w->r.arena, 0);
    w->dev.vk = (struct gen_device_dispatch){.CreateDescriptorSetLayout = create_set_layout,
                                             .DestroyDescriptorSetLayout = destroy_set_layout,
                                             .CreatePipelineLayout = create_pipeline_layout,
                                             .DestroyPipelineLayout = destroy_pipeline_layout,
                                             .CreateDescriptorPool = create_pool,
                                             .ResetDescriptorPool = reset_pool,
                                             .DestroyDescriptorPool = destroy_pool,
                                             .AllocateDescriptorSets = allocate_sets,
                                             .UpdateDescriptorSets = update_sets,
                                             .CmdBindDescriptorSets = bind_sets};
    CHECK_EQ_INT(replay_push_descriptors_create(&w->r, &w->dev, replay_push_descriptors_are_enabled(&recorded)),
                 LAP_OK);
    CHECK(w->dev.descriptors.push != NULL);
}

static void world_finish(struct world *w)
{
    replay_push_descriptors_destroy(&w->dev);
    CHECK_EQ_U64(driver.layouts, 0);
    CHECK_EQ_U64(driver.pools, 0);
    CHECK_EQ_U64(w->r.objects.alive, 0);
    replay_tables_finish(&w->r);
    lap_arena_finish(&w->r.arena);
}

/* Bindings 0: one buffer; 1: four of them; 3: an immutable sampler; 5: one buffer. */
static void make_set_layout(struct world *w, uint64_t index, bool pushed)
{
    static const VkSampler sampler[1];
    const VkDescriptorSetLayoutBinding bindings[] = {
        {5, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_ALL, NULL},
        {0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1, VK_SHADER_STAGE_ALL, NULL},
        {1, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 4, VK_SHADER_STAGE_ALL, NULL},
        {3, VK_DESCRIPTOR_TYPE_SAMPLER, 1, VK_SHADER_STAGE_ALL, sampler},
    };
    VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 4, .pBindings = bindings};
    VkDescriptorSetLayout number = gen_VkDescriptorSetLayout(index);
    struct gen_args_vkCreateDescriptorSetLayout args = {.pCreateInfo = &info, .pSetLayout = &number};

    info.flags = pushed ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR : 0;
    CHECK_EQ_INT(replay_CreateDescriptorSetLayout(&w->r, &w->dev, &args), LAP_OK);
}

static VkPipelineLayout make_pipeline_layout(struct world *w, uint64_t index, uint64_t first, uint64_t second)
{
    const VkDescriptorSetLayout sets[2] = {
        gen_VkDescriptorSetLayout(replay_object_get(&w->r, GEN_HANDLE_VkDescriptorSetLayout, first)->live),
        gen_VkDescriptorSetLayout(replay_object_get(&w->r, GEN_HANDLE_VkDescriptorSetLayout, second)->live)};
    VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 2, .pSetLayouts = sets};
    VkPipelineLayout number = gen_VkPipelineLayout(index);
    struct gen_args_vkCreatePipelineLayout args = {.pCreateInfo = &info, .pPipelineLayout = &number};

    CHECK_EQ_INT(replay_CreatePipelineLayout(&w->r, &w->dev, &args), LAP_OK);
    return gen_VkPipelineLayout(replay_object_get(&w->r, GEN_HANDLE_VkPipelineLayout, index)->live);
}

static void end_layouts(struct world *w, uint64_t set_layouts, uint64_t pipeline_layouts)
{
    for (uint64_t i = 1; i <= set_layouts; i++)
        CHECK_EQ_INT(replay_end_VkDescriptorSetLayout(&w->r, &w->dev, i,
                                                      replay_object_get(&w->r, GEN_HANDLE_VkDescriptorSetLayout, i)),
                     LAP_OK);
    for (uint64_t i = 1; i <= pipeline_layouts; i++)
        CHECK_EQ_INT(
            replay_end_VkPipelineLayout(&w->r, &w->dev, i, replay_object_get(&w->r, GEN_HANDLE_VkPipelineLayout, i)),
            LAP_OK);
}

/* Buffers first, first + 1, ... to consecutive elements. */
static enum lap_status push_at(struct world *w, VkPipelineBindPoint point, VkPipelineLayout layout, uint32_t set,
                               uint32_t binding, uint32_t element, uint32_t count, uint64_t first)
{
    VkDescriptorBufferInfo buffers[16];
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstBinding = binding,
                                  .dstArrayElement = element,
                                  .descriptorCount = count,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                                  .pBufferInfo = buffers};
    struct gen_args_vkCmdPushDescriptorSetKHR args = {.commandBuffer = COMMANDS,
                                                      .pipelineBindPoint = point,
                                                      .layout = layout,
                                                      .set = set,
                                                      .descriptorWriteCount = 1,
                                                      .pDescriptorWrites = &write};

    for (uint32_t i = 0; i < count && i < 16; i++)
        buffers[i] = (VkDescriptorBufferInfo){.buffer = gen_VkBuffer(first + i)};
    lap_arena_reset(&w->r.arena);
    return replay_CmdPushDescriptorSetKHR(&w->r, &w->dev, &args);
}

static enum lap_status push(struct world *w, VkPipelineLayout layout, uint32_t binding, uint32_t element,
                            uint32_t count, uint64_t first)
{
    return push_at(w, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 1, binding, element, count, first);
}

static uint64_t bound(uint32_t binding, uint32_t element)
{
    return driver.set[driver.bound[1]].buffers[binding][element];
}

UNIT_TEST(what_was_pushed_stays_until_it_is_pushed_over)
{
    struct world w;
    VkPipelineLayout layout, alike, other;

    world_init(&w);
    make_set_layout(&w, 1, false);
    make_set_layout(&w, 2, true);
    make_set_layout(&w, 3, true);
    CHECK_EQ_U64(driver.flags, 0); /* the driver has no such layouts */
    layout = make_pipeline_layout(&w, 1, 1, 2);
    alike = make_pipeline_layout(&w, 2, 1, 3);
    other = make_pipeline_layout(&w, 3, 2, 1);
    CHECK_EQ_INT(replay_push_descriptors_begin(&w.r, &w.dev, COMMANDS), LAP_OK);
    CHECK_EQ_INT(push(&w, layout, 0, 0, 1, 10), LAP_OK);
    CHECK_EQ_U64(bound(0, 0), 10);
    CHECK_EQ_INT(push(&w, layout, 1, 1, 2, 20), LAP_OK); /* elements 1 and 2 */
    CHECK_EQ_U64(bound(0, 0), 10);
    CHECK_EQ_U64(bound(1, 0), 0);
    CHECK_EQ_U64(bound(1, 1), 20);
    CHECK_EQ_U64(bound(1, 2), 21);
    CHECK_EQ_INT(push(&w, alike, 1, 2, 1, 30), LAP_OK);
    CHECK_EQ_U64(bound(0, 0), 10);
    CHECK_EQ_U64(bound(1, 1), 20);
    CHECK_EQ_U64(bound(1, 2), 30);
    /* All of it in one write: nothing is copied. */
    driver.copies = 0;
    CHECK_EQ_INT(push(&w, layout, 0, 0, 5, 40), LAP_OK);
    CHECK_EQ_U64(bound(0, 0), 40);
    CHECK_EQ_U64(driver.copies, 0);
    /* Another bind point has its own. */
    CHECK_EQ_INT(push_at(&w, VK_PIPELINE_BIND_POINT_GRAPHICS, layout, 1, 0, 0, 1, 50), LAP_OK);
    CHECK_EQ_U64(driver.copies, 0);
    CHECK_EQ_U64(bound(0, 0), 40);
    /* And so has another number. */
    CHECK_EQ_INT(push_at(&w, VK_PIPELINE_BIND_POINT_COMPUTE, other, 0, 0, 0, 1, 60), LAP_OK);
    CHECK_EQ_U64(driver.set[driver.bound[0]].buffers[0][0], 60);
    CHECK_EQ_U64(bound(0, 0), 40);
    /* What other command buffers push is not seen afterwards. */
    replay_push_descriptors_clear(&w.dev);
    CHECK_EQ_INT(push(&w, layout, 5, 0, 1, 70), LAP_OK);
    CHECK_EQ_U64(bound(0, 0), 0);
    CHECK_EQ_U64(driver.copies, 0);
    end_layouts(&w, 3, 3);
    world_finish(&w);
}

UNIT_TEST(immutable_samplers_are_not_written)
{
    VkWriteDescriptorSet write = {
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstBinding = 3, .descriptorCount = 1};
    struct gen_args_vkCmdPushDescriptorSetKHR args = {.commandBuffer = COMMANDS,
                                                      .pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE,
                                                      .set = 1,
                                                      .descriptorWriteCount = 1,
                                                      .pDescriptorWrites = &write};
    struct world w;

    world_init(&w);
    make_set_layout(&w, 1, true);
    args.layout = make_pipeline_layout(&w, 1, 1, 1);
    CHECK_EQ_INT(replay_push_descriptors_begin(&w.r, &w.dev, COMMANDS), LAP_OK);
    CHECK_EQ_INT(replay_CmdPushDescriptorSetKHR(&w.r, &w.dev, &args), LAP_OK);
    CHECK(driver.bound[1] != 0);
    CHECK_EQ_U64(driver.writes, 0);
    CHECK_EQ_INT(push(&w, args.layout, 0, 0, 1, 10), LAP_OK);
    CHECK_EQ_U64(driver.copies, 0);
    end_layouts(&w, 1, 1);
    world_finish(&w);
}

UNIT_TEST(sets_end_with_the_command_buffer_and_are_used_again)
{
    struct world w;
    VkPipelineLayout layout;
    uint64_t pools, sets;

    world_init(&w);
    make_set_layout(&w, 1, true);
    layout = make_pipeline_layout(&w, 1, 1, 1);
    /* A program may take away what it needs no more. */
    CHECK_EQ_INT(
        replay_end_VkDescriptorSetLayout(&w.r, &w.dev, 1, replay_object_get(&w.r, GEN_HANDLE_VkDescriptorSetLayout, 1)),
        LAP_OK);
    CHECK_EQ_INT(replay_push_descriptors_begin(&w.r, &w.dev, COMMANDS), LAP_OK);
    for (uint64_t i = 0; i < 100; i++)
        CHECK_EQ_INT(push(&w, layout, 0, 0, 1, 1 + i), LAP_OK);
    pools = driver.made_pools;
    CHECK(pools > 1 && pools < 10);
    CHECK(w.r.objects.alive >= 100);
    sets = w.r.objects.alive;
    for (int round = 0; round < 5; round++) {
        CHECK_EQ_INT(replay_push_descriptors_begin(&w.r, &w.dev, COMMANDS), LAP_OK);
        for (uint64_t i = 0; i < 100; i++)
            CHECK_EQ_INT(push(&w, layout, 0, 0, 1, 1 + i), LAP_OK);
        CHECK_EQ_U64(bound(0, 0), 100);
    }
    CHECK_EQ_U64(driver.made_pools, pools);
    CHECK_EQ_U64(w.r.objects.alive, sets);
    replay_push_descriptors_forget(&w.dev, COMMANDS);
    replay_push_descriptors_forget(&w.dev, COMMANDS);
    CHECK_EQ_U64(driver.pools, 0);
    CHECK_EQ_U64(w.r.objects.alive, 0 + 1); /* the pipeline layout */
    CHECK_EQ_INT(replay_end_VkPipelineLayout(&w.r, &w.dev, 1, replay_object_get(&w.r, GEN_HANDLE_VkPipelineLayout, 1)),
                 LAP_OK);
    world_finish(&w);
}

UNIT_TEST(wrong_pushes_are_errors)
{
    struct world w;
    VkPipelineLayout layout;

    world_init(&w);
    make_set_layout(&w, 1, false);
    make_set_layout(&w, 2, true);
    layout = make_pipeline_layout(&w, 1, 1, 2);
    CHECK(push(&w, layout, 0, 0, 1, 1) < 0); /* nothing is being recorded */
    CHECK_EQ_INT(replay_push_descriptors_begin(&w.r, &w.dev, COMMANDS), LAP_OK);
    CHECK(push(&w, layout, 2, 0, 1, 1) < 0);
    CHECK(push(&w, layout, 7, 0, 1, 1) < 0);
    CHECK(push(&w, layout, 1, 3, 16, 1) < 0); /* past the last binding */
    CHECK(push(&w, layout, 1, UINT32_MAX, 1, 1) < 0);
    CHECK(push_at(&w, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 0, 0, 1, 1) < 0); /* its sets are bound */
    CHECK(push_at(&w, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 2, 0, 0, 1, 1) < 0);
    CHECK(push_at(&w, VK_PIPELINE_BIND_POINT_COMPUTE, VK_NULL_HANDLE, 0, 0, 0, 1, 1) < 0);
    driver.refuses_sets = true;
    CHECK(push(&w, layout, 0, 0, 1, 1) < 0);
    driver.refuses_sets = false;
    CHECK_EQ_INT(push(&w, layout, 0, 0, 1, 1), LAP_OK);
    end_layouts(&w, 2, 1);
    world_finish(&w);
}

UNIT_TEST(it_stands_for_the_extension_and_the_feature)
{
    CHECK(replay_extension_emulation("VK_KHR_push_descriptor"));
    CHECK(replay_extension_emulation("pushDescriptor"));
    CHECK(!replay_extension_emulation("VK_EXT_multi_draw"));
}

UNIT_MAIN();
