/* SPDX-License-Identifier: MIT */
/*
 * unfilled: asks for structures that drivers fill in part, in memory that nobody wrote and that holds a secret: a block
 * of the heap that was in use before. What the driver leaves as it was must not be in a recording. Prints the secret,
 * as the number that each 4 bytes of it are.
 */
#include "common/app.h"

#include <stddef.h>

#define SECRET 0x5ec2e7edu
#define BLOCK  4096u

static bool garbage;

static void *nowhere(void)
{
    return garbage ? (void *)(uintptr_t)SECRET : NULL;
}

/* Malloc gives the block that was freed last: what was in it still is, and counts as never written. */
static void *with_secret(void)
{
    uint32_t *block = malloc(BLOCK);
    for (uint32_t i = 0; i < BLOCK / 4; i++)
        ((volatile uint32_t *)block)[i] = SECRET;
    free(block);
    return malloc(BLOCK);
}

static void ask_for_memory(const struct app *app)
{
    VkPhysicalDeviceMemoryProperties *properties = with_secret();
    VkPhysicalDeviceMemoryProperties2 *properties_2 = with_secret();
    vkGetPhysicalDeviceMemoryProperties(app->physical, properties);
    EXPECT_EQ(app, properties->memoryTypeCount > 0 && properties->memoryHeapCount > 0, true);
    properties_2->sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
    properties_2->pNext = NULL;
    vkGetPhysicalDeviceMemoryProperties2(app->physical, properties_2);
    EXPECT_EQ(app, properties_2->memoryProperties.memoryTypeCount, properties->memoryTypeCount);
    free(properties);
    free(properties_2);
}

static void ask_for_identity(const struct app *app)
{
    VkPhysicalDeviceIDProperties *id = with_secret();
    VkPhysicalDeviceProperties2 *properties = with_secret();
    id->sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
    id->pNext = NULL;
    properties->sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties->pNext = id;
    vkGetPhysicalDeviceProperties2(app->physical, properties);
    EXPECT_EQ(app, memcmp(&properties->properties.deviceID, &app->properties.deviceID, sizeof(uint32_t)), 0);
    free(id);
    free(properties);
}

static void ask_for_groups(const struct app *app)
{
    VkPhysicalDeviceGroupProperties *group = with_secret();
    uint32_t count = 1;
    group->sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GROUP_PROPERTIES;
    group->pNext = nowhere();
    EXPECT_EQ(app, vkEnumeratePhysicalDeviceGroups(app->instance, &count, group) >= 0 && count == 1, true);
    free(group);
}

static void ask_for_external_fences(const struct app *app)
{
    VkPhysicalDeviceExternalFenceInfo info = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_FENCE_INFO,
                                              .handleType = VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalFenceProperties *properties = with_secret();
    properties->sType = VK_STRUCTURE_TYPE_EXTERNAL_FENCE_PROPERTIES;
    properties->pNext = nowhere();
    vkGetPhysicalDeviceExternalFenceProperties(app->physical, &info, properties);
    EXPECT_EQ(app, properties->externalFenceFeatures != SECRET, true);
    free(properties);
}

static void ask_for_tools(const struct app *app)
{
    VkPhysicalDeviceToolProperties *tools = with_secret();
    uint32_t count = BLOCK / sizeof *tools;
    for (uint32_t i = 0; i < count; i++) {
        tools[i].sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TOOL_PROPERTIES;
        tools[i].pNext = nowhere();
    }
    EXPECT_EQ(app, vkGetPhysicalDeviceToolProperties(app->physical, &count, tools) >= 0, true);
    free(tools);
}

static void ask_for_extensions(const struct app *app)
{
    VkExtensionProperties *extensions = with_secret();
    uint32_t count = BLOCK / sizeof *extensions;
    EXPECT_EQ(app, vkEnumerateDeviceExtensionProperties(app->physical, NULL, &count, extensions) >= 0, true);
    free(extensions);
}

static void ask_for_an_unusable_image(const struct app *app)
{
    VkImageFormatProperties *properties = with_secret();
    VkResult result =
        vkGetPhysicalDeviceImageFormatProperties(app->physical, VK_FORMAT_ASTC_12x12_SRGB_BLOCK, VK_IMAGE_TYPE_1D,
                                                 VK_IMAGE_TILING_LINEAR, VK_IMAGE_USAGE_STORAGE_BIT, 0, properties);
    EXPECT_EQ(app, result == VK_ERROR_FORMAT_NOT_SUPPORTED || result == VK_SUCCESS, true);
    free(properties);
}

/* Results lie further apart than they are long. */
static void ask_for_queries(const struct app *app)
{
    VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    uint64_t *results = with_secret();
    struct app_buffer filled;
    VkQueryPool pool;
    info.queryType = VK_QUERY_TYPE_OCCLUSION;
    info.queryCount = 4;
    CHECK_VK(vkCreateQueryPool(app->device, &info, NULL, &pool));
    app_buffer_create(app, &filled, 256, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    VkCommandBuffer commands = app_begin(app);
    vkCmdFillBuffer(commands, filled.buffer, 0, VK_WHOLE_SIZE, 0x01020304);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    vkCmdResetQueryPool(commands, pool, 0, 4);
    for (uint32_t i = 0; i < 4; i++) {
        vkCmdBeginQuery(commands, pool, i, 0);
        vkCmdEndQuery(commands, pool, i);
    }
    app_run(app, commands);
    app_buffer_invalidate(app, &filled, 0, filled.size);
    EXPECT_EQ(app, filled.mapped[255], 1);
    CHECK_VK(vkGetQueryPoolResults(app->device, pool, 0, 4, 4 * 64, results, 64,
                                   VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    vkDestroyQueryPool(app->device, pool, NULL);
    app_buffer_destroy(app, &filled);
    free(results);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--garbage", "leave pNext unwritten where nothing may stand", &garbage, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "unfilled", .what = "Structures that drivers fill in part.", .frames = 1, .options = options};
    struct app app;
    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    ask_for_memory(&app);
    ask_for_extensions(&app);
    ask_for_an_unusable_image(&app);
    ask_for_queries(&app);
    if (app.api_version >= VK_API_VERSION_1_1) {
        ask_for_identity(&app);
        ask_for_groups(&app);
        ask_for_external_fences(&app);
    }
    if (app.api_version >= VK_API_VERSION_1_3)
        ask_for_tools(&app);
    printf("secret: %u\n", SECRET);
    return app_finish(&app);
}
