/* SPDX-License-Identifier: MIT */
/* What a replay learns of shader groups: which of a trace's words reach a driver, and how much stack rays get. The
 * driver's functions are this test's. */
#include "replayer/ray_tracing/internal.h"
#include "tests/unit/replay_device.h"

#define HANDLE 8u

static uint32_t asked_groups, asked_stacks;

static VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice gpu, VkPhysicalDeviceProperties2 *out)
{
    VkPhysicalDeviceRayTracingPipelinePropertiesKHR *rays = out->pNext;
    rays->shaderGroupHandleSize = HANDLE;
    rays->shaderGroupHandleAlignment = 16;
    rays->shaderGroupBaseAlignment = 32;
    rays->maxRayRecursionDepth = 2;
}

/* Group n has n + 1 in all bytes. */
static VKAPI_ATTR VkResult VKAPI_CALL get_handles(VkDevice device, VkPipeline pipeline, uint32_t first, uint32_t count,
                                                  size_t bytes, void *out)
{
    asked_groups += count;
    CHECK_EQ_U64(bytes, (uint64_t)count * HANDLE);
    for (uint32_t i = 0; i < count; i++)
        memset((char *)out + (size_t)i * HANDLE, (int)(first + i + 1), HANDLE);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkDeviceSize VKAPI_CALL get_stack(VkDevice device, VkPipeline pipeline, uint32_t group,
                                                    VkShaderGroupShaderKHR shader)
{
    asked_stacks++;
    return 16 + 8 * group;
}

static bool begin(struct unit_replay *u)
{
    if (!unit_replay_init(u, NULL))
        return false;
    u->instance.vk.GetPhysicalDeviceProperties2 = get_properties;
    u->dev.vk.GetRayTracingShaderGroupHandlesKHR = get_handles;
    u->dev.vk.GetRayTracingShaderGroupStackSizeKHR = get_stack;
    asked_groups = asked_stacks = 0;
    return true;
}

static void end(struct unit_replay *u)
{
    replay_ray_tracing_finish(&u->r, &u->dev);
    CHECK(!u->dev.rays.tracing);
    unit_replay_finish(u);
}

/* A general group, and a hit group with two shaders. */
static const VkRayTracingShaderGroupCreateInfoKHR groups[] = {
    {.type = VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR,
     .generalShader = 0,
     .closestHitShader = VK_SHADER_UNUSED_KHR,
     .anyHitShader = VK_SHADER_UNUSED_KHR,
     .intersectionShader = VK_SHADER_UNUSED_KHR},
    {.type = VK_RAY_TRACING_SHADER_GROUP_TYPE_TRIANGLES_HIT_GROUP_KHR,
     .generalShader = VK_SHADER_UNUSED_KHR,
     .closestHitShader = 1,
     .anyHitShader = 2,
     .intersectionShader = 0 /* ignored */},
};

static void create(struct unit_replay *u, uint64_t pipeline, VkPipeline library, VkFlags64 flags)
{
    const VkPipelineLibraryCreateInfoKHR libraries = {.libraryCount = library ? 1 : 0, .pLibraries = &library};
    const VkRayTracingPipelineCreateInfoKHR info = {.groupCount = 2, .pGroups = groups, .pLibraryInfo = &libraries};
    CHECK_EQ_INT(replay_ray_tracing_created(&u->r, &u->dev, gen_VkPipeline(pipeline), &info, flags), LAP_OK);
}

static enum lap_status tell(struct unit_replay *u, uint64_t pipeline, uint32_t count, uint32_t size, size_t bytes,
                            const void *handles, uint32_t stack_count, const uint32_t *stacks)
{
    struct gen_args_lapilliShaderGroups args = {.device = u->dev.live,
                                                .pipeline = gen_VkPipeline(pipeline),
                                                .handleSize = size,
                                                .handleAlignment = 32,
                                                .baseAlignment = 64,
                                                .groupCount = count,
                                                .dataSize = bytes,
                                                .pHandles = handles,
                                                .stackSizeCount = stack_count,
                                                .pStackSizes = stacks};
    return replay_lapilliShaderGroups(&u->r, &u->dev, &args);
}

static const struct replay_ray_tracing_groups *groups_of(const struct unit_replay *u, uint64_t pipeline)
{
    return lap_map_get(&u->dev.rays.tracing->groups, pipeline);
}

UNIT_TEST(handles_are_compared)
{
    unsigned char recorded[4 * HANDLE];
    struct unit_replay u;

    if (!begin(&u))
        return;
    create(&u, 100, VK_NULL_HANDLE, VK_PIPELINE_CREATE_LIBRARY_BIT_KHR);
    create(&u, 200, gen_VkPipeline(100), 0);
    CHECK_EQ_U64(groups_of(&u, 200)->made, 4);
    for (uint32_t i = 0; i < sizeof recorded; i++)
        recorded[i] = (unsigned char)(i / HANDLE + 1);
    CHECK_EQ_INT(tell(&u, 200, 4, HANDLE, sizeof recorded, recorded, 0, NULL), LAP_OK);
    CHECK(!groups_of(&u, 200)->differ && !groups_of(&u, 200)->stricter);
    create(&u, 300, gen_VkPipeline(100), 0);
    recorded[3 * HANDLE] = 0;
    CHECK_EQ_INT(tell(&u, 300, 4, HANDLE, sizeof recorded, recorded, 0, NULL), LAP_OK);
    CHECK(groups_of(&u, 300)->differ);
    create(&u, 400, VK_NULL_HANDLE, 0); /* half as large there */
    CHECK_EQ_INT(tell(&u, 400, 2, HANDLE / 2, HANDLE, recorded, 0, NULL), LAP_OK);
    CHECK(groups_of(&u, 400)->differ);
    replay_ray_tracing_forget_pipeline(&u.dev, gen_VkPipeline(400));
    CHECK(!groups_of(&u, 400));
    end(&u);
}

/* None of it reaches the driver. */
UNIT_TEST(wrong_words_are_refused)
{
    static const unsigned char bytes[8 * HANDLE];
    static const uint32_t stacks[4];
    struct unit_replay u;

    if (!begin(&u))
        return;
    CHECK(tell(&u, 200, 2, HANDLE, sizeof(char[2 * HANDLE]), bytes, 0, NULL) < 0); /* no pipeline at all */
    create(&u, 100, VK_NULL_HANDLE, VK_PIPELINE_CREATE_LIBRARY_BIT_KHR);
    create(&u, 200, VK_NULL_HANDLE, 0);
    CHECK(tell(&u, 100, 2, HANDLE, 2 * HANDLE, bytes, 0, NULL) < 0);
    CHECK(tell(&u, 200, 3, HANDLE, 3 * HANDLE, bytes, 0, NULL) < 0);
    CHECK(tell(&u, 200, 0, HANDLE, 0, bytes, 0, NULL) < 0);
    CHECK(tell(&u, 200, 2, HANDLE, 3 * HANDLE, bytes, 0, NULL) < 0);
    CHECK(tell(&u, 200, 2, 6, 12, bytes, 0, NULL) < 0);
    CHECK(tell(&u, 200, 2, 0x80000000u, (size_t)((uint64_t)1 << 32), bytes, 0, NULL) < 0);
    CHECK(tell(&u, 200, 2, HANDLE, 2 * HANDLE, NULL, 0, NULL) < 0);
    CHECK(tell(&u, 200, 2, HANDLE, 2 * HANDLE, bytes, 4, stacks) < 0);
    CHECK(tell(&u, 200, 2, HANDLE, 2 * HANDLE, bytes, 3, NULL) < 0);
    CHECK_EQ_U64(asked_groups + asked_stacks, 0);
    CHECK_EQ_INT(tell(&u, 200, 2, HANDLE, 2 * HANDLE, bytes, 3, stacks), LAP_OK);
    CHECK(tell(&u, 200, 2, HANDLE, 2 * HANDLE, bytes, 3, stacks) < 0); /* again */
    CHECK_EQ_U64(asked_groups, 2);
    CHECK_EQ_U64(asked_stacks, 3);
    end(&u);
}

UNIT_TEST(stacks_grow)
{
    static const unsigned char bytes[2 * HANDLE];
    static const uint32_t as_here[] = {16, 24, 24}, smaller[] = {16, 12, 24}, none[] = {16, 24, 0};
    struct unit_replay u;

    if (!begin(&u))
        return;
    create(&u, 100, VK_NULL_HANDLE, 0);
    CHECK_EQ_INT(tell(&u, 100, 2, HANDLE, sizeof bytes, bytes, 3, as_here), LAP_OK);
    CHECK_EQ_U64(replay_ray_tracing_stack_size(&u.dev, 101), 101);
    create(&u, 200, VK_NULL_HANDLE, 0);
    CHECK_EQ_INT(tell(&u, 200, 2, HANDLE, sizeof bytes, bytes, 3, smaller), LAP_OK);
    CHECK_EQ_U64(replay_ray_tracing_stack_size(&u.dev, 101), 202);
    create(&u, 300, VK_NULL_HANDLE, 0);
    CHECK_EQ_INT(tell(&u, 300, 2, HANDLE, sizeof bytes, bytes, 3, none), LAP_OK);
    CHECK(replay_ray_tracing_stack_size(&u.dev, 101) >= 202 + 24);
    CHECK_EQ_U64(replay_ray_tracing_stack_size(&u.dev, UINT32_MAX), UINT32_MAX);
    end(&u);
}

UNIT_TEST(depth_is_checked)
{
    VkRayTracingPipelineCreateInfoKHR info = {.maxPipelineRayRecursionDepth = 2};
    struct unit_replay u;

    if (!begin(&u))
        return;
    CHECK_EQ_INT(replay_ray_tracing_check(&u.r, &u.dev, &info), LAP_OK);
    info.maxPipelineRayRecursionDepth = 3;
    CHECK_EQ_INT(replay_ray_tracing_check(&u.r, &u.dev, &info), LAP_ERROR_UNSUPPORTED);
    end(&u);
}

UNIT_MAIN();
