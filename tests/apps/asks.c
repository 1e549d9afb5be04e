/* SPDX-License-Identifier: MIT */
/*
 * asks: what programs ask before they use something, and what they take for an answer. Prints which functions of a list
 * the loader gives for an instance and a device that enable no extension: the list is the same whatever is recorded.
 * Handle types of other processes and APIs must be supported only where the extension is that they come with.
 */
#include "common/app.h"

static const char *const functions[] = {
    "vkBindBufferMemory2",
    "vkBindBufferMemory2KHR",
    "vkCmdBeginDebugUtilsLabelEXT",
    "vkCmdBeginRenderPass2",
    "vkCmdBeginRenderPass2KHR",
    "vkCmdDrawIndirectCount",
    "vkCmdDrawIndirectCountAMD",
    "vkCmdDrawIndirectCountKHR",
    "vkCmdPushDescriptorSetKHR",
    "vkCreateSwapchainKHR",
    "vkGetBufferDeviceAddressEXT",
    "vkGetMemoryFdKHR",
    "vkGetMemoryHostPointerPropertiesEXT",
    "vkGetSemaphoreCounterValueKHR",
    "vkQueueBeginDebugUtilsLabelEXT",
    "vkQueueSubmit",
    "vkQueueSubmit2KHR",
    "vkSetDebugUtilsObjectNameEXT",
    "vkWaitSemaphoresKHR",
    "vkNoSuchFunction",
};

static void ask_for_functions(const struct app *app)
{
    for (uint32_t i = 0; i < COUNT_OF(functions); i++)
        printf("%s: instance %s, device %s\n", functions[i],
               vkGetInstanceProcAddr(app->instance, functions[i]) ? "yes" : "no",
               vkGetDeviceProcAddr(app->device, functions[i]) ? "yes" : "no");
}

/* Loaders give this one for every device, and some programs call what they are given without having asked for the
 * extension. */
static void name_the_device(const struct app *app)
{
    VkDebugUtilsObjectNameInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT};
    PFN_vkSetDebugUtilsObjectNameEXT set_name =
        (PFN_vkSetDebugUtilsObjectNameEXT)vkGetDeviceProcAddr(app->device, "vkSetDebugUtilsObjectNameEXT");
    info.objectType = VK_OBJECT_TYPE_DEVICE;
    info.objectHandle = (uint64_t)(uintptr_t)app->device;
    info.pObjectName = "the device";
    if (set_name)
        CHECK_VK(set_name(app->device, &info));
}

struct external_type {
    uint32_t bit;
    const char *extension;
};

static bool may_be_used(const struct app *app, const struct external_type *type,
                        const VkExternalMemoryProperties *properties)
{
    printf("%s, type 0x%x: features 0x%x\n", type->extension, type->bit, properties->externalMemoryFeatures);
    return properties->externalMemoryFeatures == 0 || app_has_extension(app, type->extension);
}

static void ask_for_external_memory(const struct app *app)
{
    static const struct external_type types[] = {
        {VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, "VK_KHR_external_memory_fd"},
        {VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT, "VK_EXT_external_memory_dma_buf"},
        {VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, "VK_EXT_external_memory_host"},
        {VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_MAPPED_FOREIGN_MEMORY_BIT_EXT, "VK_EXT_external_memory_host"},
    };
    for (uint32_t i = 0; i < COUNT_OF(types); i++) {
        VkPhysicalDeviceExternalBufferInfo buffer = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO};
        VkExternalBufferProperties buffer_answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
        buffer.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
        buffer.handleType = types[i].bit;
        vkGetPhysicalDeviceExternalBufferProperties(app->physical, &buffer, &buffer_answer);
        CHECK(may_be_used(app, &types[i], &buffer_answer.externalMemoryProperties));

        VkPhysicalDeviceExternalImageFormatInfo external = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO, .handleType = types[i].bit};
        VkPhysicalDeviceImageFormatInfo2 image = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2};
        VkExternalImageFormatProperties external_answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
        VkImageFormatProperties2 image_answer = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                                 .pNext = &external_answer};
        image.pNext = &external;
        image.format = VK_FORMAT_R8G8B8A8_UNORM;
        image.type = VK_IMAGE_TYPE_2D;
        image.tiling = VK_IMAGE_TILING_LINEAR;
        image.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
        VkResult result = vkGetPhysicalDeviceImageFormatProperties2(app->physical, &image, &image_answer);
        CHECK(result == VK_SUCCESS || result == VK_ERROR_FORMAT_NOT_SUPPORTED);
        if (result == VK_SUCCESS)
            CHECK(may_be_used(app, &types[i], &external_answer.externalMemoryProperties));
    }
}

static void ask_for_external_semaphores_and_fences(const struct app *app)
{
    VkPhysicalDeviceExternalSemaphoreInfo semaphore = {.sType =
                                                           VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
                                                       .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalSemaphoreProperties semaphore_answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    vkGetPhysicalDeviceExternalSemaphoreProperties(app->physical, &semaphore, &semaphore_answer);
    CHECK(!semaphore_answer.externalSemaphoreFeatures || app_has_extension(app, "VK_KHR_external_semaphore_fd"));

    VkPhysicalDeviceExternalFenceInfo fence = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_FENCE_INFO,
                                               .handleType = VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalFenceProperties fence_answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_FENCE_PROPERTIES};
    vkGetPhysicalDeviceExternalFenceProperties(app->physical, &fence, &fence_answer);
    CHECK(!fence_answer.externalFenceFeatures || app_has_extension(app, "VK_KHR_external_fence_fd"));
}

/* Some drivers have no tools, and leave the count as it is. */
static void ask_for_tools(const struct app *app)
{
    VkPhysicalDeviceToolProperties tools[64];
    uint32_t count = COUNT_OF(tools);

    for (uint32_t i = 0; i < count; i++)
        tools[i] = (VkPhysicalDeviceToolProperties){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TOOL_PROPERTIES};
    if (app->api_version < VK_API_VERSION_1_3)
        return;
    CHECK(vkGetPhysicalDeviceToolProperties(app->physical, &count, tools) == VK_SUCCESS);
    CHECK(count <= COUNT_OF(tools));
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "asks",
        .what = "Asks for functions and for what can be shared with others.",
        .frames = 1,
    };
    struct app app;
    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    if (app.api_version < VK_API_VERSION_1_1)
        app_skip(&app, "Vulkan 1.0");
    ask_for_functions(&app);
    name_the_device(&app);
    ask_for_tools(&app);
    ask_for_external_memory(&app);
    ask_for_external_semaphores_and_fences(&app);
    return app_finish(&app);
}
