/* SPDX-License-Identifier: MIT */
#include "app.h"

uint32_t app_memory_type(const struct app *app, uint32_t type_bits, VkMemoryPropertyFlags required,
                         VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags unwanted)
{
    /* Such types need features or usages that these programs never ask for. */
    const VkMemoryPropertyFlags never = VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT |
                                        VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD |
                                        VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;
    int best = -1, best_score = 0;
    for (uint32_t i = 0; i < app->memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = app->memory.memoryTypes[i].propertyFlags;
        if (!(type_bits >> i & 1) || (flags & required) != required || flags & never)
            continue;
        int score = 8 * __builtin_popcount(flags & wanted) - __builtin_popcount(flags & unwanted);
        if (best < 0 || score > best_score) {
            best = (int)i;
            best_score = score;
        }
    }
    if (best < 0)
        app_fail(__FILE__, __LINE__, "no memory type of 0x%x has flags 0x%x", type_bits, required);
    return (uint32_t)best;
}

uint32_t app_memory_type_for(const struct app *app, uint32_t type_bits, enum app_memory kind)
{
    const VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    const VkMemoryPropertyFlags coherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    const VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    switch (kind) {
    case APP_UPLOAD:
        return app_memory_type(app, type_bits, visible, coherent, cached | local);
    case APP_READBACK:
        return app_memory_type(app, type_bits, visible, cached | coherent, local);
    case APP_DEVICE:
    default:
        return app_memory_type(app, type_bits, 0, local, visible);
    }
}

bool app_memory_coherent(const struct app *app, uint32_t type)
{
    return app->memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
}

void app_memory_sync(const struct app *app, VkDeviceMemory memory, VkDeviceSize allocated_bytes, VkDeviceSize offset,
                     VkDeviceSize size, bool invalidate)
{
    VkDeviceSize atom = app->properties.limits.nonCoherentAtomSize;
    VkDeviceSize end = (offset + size + atom - 1) / atom * atom;
    VkMappedMemoryRange range = {.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE};
    range.memory = memory;
    range.offset = offset / atom * atom;
    range.size = end > allocated_bytes ? VK_WHOLE_SIZE : end - range.offset;
    if (invalidate)
        CHECK_VK(vkInvalidateMappedMemoryRanges(app->device, 1, &range));
    else
        CHECK_VK(vkFlushMappedMemoryRanges(app->device, 1, &range));
}

void app_buffer_create(const struct app *app, struct app_buffer *buffer, VkDeviceSize size, VkBufferUsageFlags usage,
                       enum app_memory kind)
{
    *buffer = (struct app_buffer){.size = size};
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    create.size = size;
    create.usage = usage;
    create.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    CHECK_VK(vkCreateBuffer(app->device, &create, NULL, &buffer->buffer));
    VkMemoryRequirements requirements;
    vkGetBufferMemoryRequirements(app->device, buffer->buffer, &requirements);
    CHECK(requirements.size >= size && requirements.memoryTypeBits);
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    if (usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT)
        allocate.pNext = &flags;
    allocate.allocationSize = requirements.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, requirements.memoryTypeBits, kind);
    buffer->allocated = requirements.size;
    buffer->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &buffer->memory));
    CHECK_VK(vkBindBufferMemory(app->device, buffer->buffer, buffer->memory, 0));
    if (kind != APP_DEVICE) {
        void *mapped = NULL;
        CHECK_VK(vkMapMemory(app->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
        CHECK(mapped);
        buffer->mapped = mapped;
    }
}

void app_buffer_destroy(const struct app *app, struct app_buffer *buffer)
{
    vkDestroyBuffer(app->device, buffer->buffer, NULL);
    vkFreeMemory(app->device, buffer->memory, NULL); /* unmaps */
    *buffer = (struct app_buffer){0};
}

void app_buffer_flush(const struct app *app, const struct app_buffer *buffer, VkDeviceSize offset, VkDeviceSize size)
{
    if (!buffer->coherent)
        app_memory_sync(app, buffer->memory, buffer->allocated, offset, size, false);
}

void app_buffer_invalidate(const struct app *app, const struct app_buffer *buffer, VkDeviceSize offset,
                           VkDeviceSize size)
{
    if (!buffer->coherent)
        app_memory_sync(app, buffer->memory, buffer->allocated, offset, size, true);
}

void app_image_create(const struct app *app, struct app_image *image, const VkImageCreateInfo *info,
                      VkImageAspectFlags aspect, VkImageViewType view_type)
{
    *image = (struct app_image){.aspect = aspect};
    CHECK_VK(vkCreateImage(app->device, info, NULL, &image->image));
    VkMemoryRequirements requirements;
    vkGetImageMemoryRequirements(app->device, image->image, &requirements);
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    allocate.allocationSize = requirements.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, requirements.memoryTypeBits, APP_DEVICE);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &image->memory));
    CHECK_VK(vkBindImageMemory(app->device, image->image, image->memory, 0));
    const VkImageUsageFlags transfer = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    if (view_type == VK_IMAGE_VIEW_TYPE_MAX_ENUM || !(info->usage & ~transfer))
        return;
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
    view.image = image->image;
    view.viewType = view_type;
    view.format = info->format;
    view.subresourceRange = (VkImageSubresourceRange){aspect, 0, info->mipLevels, 0, info->arrayLayers};
    CHECK_VK(vkCreateImageView(app->device, &view, NULL, &image->view));
}

void app_image_create_2d(const struct app *app, struct app_image *image, VkFormat format, uint32_t width,
                         uint32_t height, VkImageUsageFlags usage)
{
    bool depth = usage & VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
    info.imageType = VK_IMAGE_TYPE_2D;
    info.format = format;
    info.extent = (VkExtent3D){width, height, 1};
    info.mipLevels = 1;
    info.arrayLayers = 1;
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.tiling = VK_IMAGE_TILING_OPTIMAL;
    info.usage = usage;
    app_image_create(app, image, &info, depth ? VK_IMAGE_ASPECT_DEPTH_BIT : VK_IMAGE_ASPECT_COLOR_BIT,
                     VK_IMAGE_VIEW_TYPE_2D);
}

void app_image_destroy(const struct app *app, struct app_image *image)
{
    vkDestroyImageView(app->device, image->view, NULL);
    vkDestroyImage(app->device, image->image, NULL);
    vkFreeMemory(app->device, image->memory, NULL);
    *image = (struct app_image){0};
}

bool app_format_has(const struct app *app, VkFormat format, VkImageTiling tiling, VkFormatFeatureFlags features)
{
    VkFormatProperties properties;
    vkGetPhysicalDeviceFormatProperties(app->physical, format, &properties);
    VkFormatFeatureFlags has =
        tiling == VK_IMAGE_TILING_LINEAR ? properties.linearTilingFeatures : properties.optimalTilingFeatures;
    return (has & features) == features;
}
