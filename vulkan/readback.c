/* SPDX-License-Identifier: MIT */
#include "vulkan/readback.h"

#include <stdlib.h>

#include "vulkan/barrier.h"
#include "vulkan/texel/pixels.h"

/* Rounded up, so that the gradual resize of a window does not allocate each time. */
#define CAPACITY_STEP ((VkDeviceSize)1 << 20)

void lap_readback_init(struct lap_readback *rb, VkDevice device, const struct gen_device_dispatch *vk,
                       const VkPhysicalDeviceMemoryProperties *memory_properties,
                       lap_set_loader_data_fn set_loader_data)
{
    *rb = (struct lap_readback){
        .device = device, .vk = vk, .memory_properties = *memory_properties, .set_loader_data = set_loader_data};
}

static void free_buffer(struct lap_readback *rb)
{
    if (rb->buffer)
        rb->vk->DestroyBuffer(rb->device, rb->buffer, NULL);
    if (rb->memory)
        rb->vk->FreeMemory(rb->device, rb->memory, NULL);
    rb->buffer = VK_NULL_HANDLE;
    rb->memory = VK_NULL_HANDLE;
    rb->mapped = NULL;
    rb->capacity = 0;
}

void lap_readback_finish(struct lap_readback *rb)
{
    if (!rb->vk)
        return;
    free_buffer(rb);
    while (rb->families) {
        struct lap_readback_family *family = rb->families;
        rb->families = family->next;
        rb->vk->DestroyCommandPool(rb->device, family->pool, NULL);
        free(family);
    }
    if (rb->fence)
        rb->vk->DestroyFence(rb->device, rb->fence, NULL);
    *rb = (struct lap_readback){0};
}

static enum lap_status check(VkResult result, const char *call)
{
    if (result >= 0)
        return LAP_OK;
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY)
        return lap_fail(LAP_ERROR_MEMORY, "reading back: %s: out of memory", call);
    return lap_fail(LAP_ERROR_UNSUPPORTED, "reading back: %s returned %d", call, (int)result);
}

/* This memory is only read, and cached memory is faster by orders of magnitude. UINT32_MAX: none. */
static uint32_t choose_type(const struct lap_readback *rb, uint32_t mask)
{
    static const VkMemoryPropertyFlags wanted[] = {
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
    };
    /* AMD's uncached types are for debugging and require a feature; protected memory can't be mapped. */
    const VkMemoryPropertyFlags refused = VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD;

    for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++) {
        for (uint32_t i = 0; i < rb->memory_properties.memoryTypeCount; i++) {
            VkMemoryPropertyFlags flags = rb->memory_properties.memoryTypes[i].propertyFlags;
            if ((mask >> i & 1) && (flags & wanted[w]) == wanted[w] && !(flags & refused))
                return i;
        }
    }
    return UINT32_MAX;
}

static enum lap_status create_buffer(struct lap_readback *rb, VkDeviceSize capacity)
{
    VkBufferCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = capacity, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;
    enum lap_status status;

    status = check(rb->vk->CreateBuffer(rb->device, &create, NULL, &rb->buffer), "vkCreateBuffer");
    if (status != LAP_OK)
        return status;
    rb->vk->GetBufferMemoryRequirements(rb->device, rb->buffer, &needs);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = choose_type(rb, needs.memoryTypeBits);
    if (allocate.memoryTypeIndex == UINT32_MAX)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "reading back: no memory type is visible to the host");
    rb->coherent = rb->memory_properties.memoryTypes[allocate.memoryTypeIndex].propertyFlags &
                   VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    status = check(rb->vk->AllocateMemory(rb->device, &allocate, NULL, &rb->memory), "vkAllocateMemory");
    if (status == LAP_OK)
        status = check(rb->vk->BindBufferMemory(rb->device, rb->buffer, rb->memory, 0), "vkBindBufferMemory");
    if (status == LAP_OK)
        status = check(rb->vk->MapMemory(rb->device, rb->memory, 0, VK_WHOLE_SIZE, 0, &rb->mapped), "vkMapMemory");
    return status;
}

static enum lap_status need_buffer(struct lap_readback *rb, VkDeviceSize bytes)
{
    VkDeviceSize capacity = (bytes + CAPACITY_STEP - 1) / CAPACITY_STEP * CAPACITY_STEP;
    enum lap_status status;

    if (bytes <= rb->capacity)
        return LAP_OK;
    free_buffer(rb);
    status = create_buffer(rb, capacity);
    if (status == LAP_OK)
        rb->capacity = capacity;
    else
        free_buffer(rb);
    return status;
}

static enum lap_status create_family(struct lap_readback *rb, struct lap_readback_family *family)
{
    VkCommandPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                      .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                      .queueFamilyIndex = family->family};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    enum lap_status status =
        check(rb->vk->CreateCommandPool(rb->device, &create, NULL, &family->pool), "vkCreateCommandPool");

    if (status != LAP_OK)
        return status;
    allocate.commandPool = family->pool;
    status =
        check(rb->vk->AllocateCommandBuffers(rb->device, &allocate, &family->commands), "vkAllocateCommandBuffers");
    if (status == LAP_OK && rb->set_loader_data)
        status = check(rb->set_loader_data(rb->device, family->commands), "vkSetDeviceLoaderData");
    if (status != LAP_OK)
        rb->vk->DestroyCommandPool(rb->device, family->pool, NULL);
    return status;
}

static enum lap_status find_family(struct lap_readback *rb, uint32_t number, struct lap_readback_family **out_family)
{
    struct lap_readback_family *family;
    enum lap_status status;

    for (family = rb->families; family; family = family->next) {
        if (family->family == number) {
            *out_family = family;
            return LAP_OK;
        }
    }
    family = calloc(1, sizeof *family);
    if (!family)
        return lap_fail(LAP_ERROR_MEMORY, "reading back: out of memory");
    family->family = number;
    status = create_family(rb, family);
    if (status != LAP_OK) {
        free(family);
        return status;
    }
    family->next = rb->families;
    rb->families = family;
    *out_family = family;
    return LAP_OK;
}

/* Creates buffer, fence and command buffer as needed and begins the command buffer. */
static enum lap_status begin(struct lap_readback *rb, uint32_t number, VkDeviceSize bytes,
                             VkCommandBuffer *out_commands)
{
    VkFenceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkCommandBufferBeginInfo begin_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    struct lap_readback_family *family = NULL;
    enum lap_status status = need_buffer(rb, bytes);

    if (status == LAP_OK)
        status = find_family(rb, number, &family);
    if (status == LAP_OK && !rb->fence)
        status = check(rb->vk->CreateFence(rb->device, &create, NULL, &rb->fence), "vkCreateFence");
    if (status == LAP_OK)
        status = check(rb->vk->ResetCommandPool(rb->device, family->pool, 0), "vkResetCommandPool");
    if (status == LAP_OK)
        status = check(rb->vk->BeginCommandBuffer(family->commands, &begin_info), "vkBeginCommandBuffer");
    if (status == LAP_OK)
        *out_commands = family->commands;
    return status;
}

/* Makes the copy visible to the host, and submits. */
static enum lap_status submit(struct lap_readback *rb, const struct lap_readback_queue *at, VkCommandBuffer commands)
{
    static const VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                            .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                            .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    VkPipelineStageFlags few[4], *stages = few;
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    enum lap_status status;

    rb->vk->CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0,
                               NULL, 0, NULL);
    status = check(rb->vk->EndCommandBuffer(commands), "vkEndCommandBuffer");
    if (status != LAP_OK)
        return status;
    if (at->wait_count > sizeof few / sizeof *few && !(stages = malloc(at->wait_count * sizeof *stages)))
        return lap_fail(LAP_ERROR_MEMORY, "reading back: out of memory");
    for (uint32_t i = 0; i < at->wait_count; i++)
        stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    info.waitSemaphoreCount = at->wait_count;
    info.pWaitSemaphores = at->waits;
    info.pWaitDstStageMask = stages;
    info.signalSemaphoreCount = at->signal_count;
    info.pSignalSemaphores = at->signals;
    status = check(rb->vk->QueueSubmit(at->queue, 1, &info, rb->fence), "vkQueueSubmit");
    if (stages != few)
        free(stages);
    return status;
}

enum lap_status lap_readback_take(struct lap_readback *rb, const void **out_data)
{
    enum lap_status status =
        rb->wait ? rb->wait(rb, rb->fence)
                 : check(rb->vk->WaitForFences(rb->device, 1, &rb->fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");

    *out_data = NULL;
    if (status == LAP_OK)
        status = check(rb->vk->ResetFences(rb->device, 1, &rb->fence), "vkResetFences");
    if (status == LAP_OK && !rb->coherent) {
        VkMappedMemoryRange range = {
            .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = rb->memory, .size = VK_WHOLE_SIZE};
        status = check(rb->vk->InvalidateMappedMemoryRanges(rb->device, 1, &range), "vkInvalidateMappedMemoryRanges");
    }
    if (status == LAP_OK)
        *out_data = rb->mapped;
    return status;
}

/* Whether vkCmdCopyImageToBuffer accepts an image in this layout. */
static bool is_copy_layout(VkImageLayout layout)
{
    return layout == VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL || layout == VK_IMAGE_LAYOUT_GENERAL ||
           layout == VK_IMAGE_LAYOUT_SHARED_PRESENT_KHR;
}

/* range: the range of the barriers. */
static void record_image_copy(const struct lap_readback *rb, VkCommandBuffer commands, VkImage image,
                              VkImageLayout layout, const VkBufferImageCopy *region,
                              const VkImageSubresourceRange *range)
{
    VkImageLayout copy_layout = is_copy_layout(layout) ? layout : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    VkImageMemoryBarrier before =
        lap_color_barrier(image, layout, copy_layout, VK_ACCESS_MEMORY_WRITE_BIT, VK_ACCESS_TRANSFER_READ_BIT);
    VkImageMemoryBarrier after = lap_color_barrier(image, copy_layout, layout, VK_ACCESS_TRANSFER_READ_BIT,
                                                   VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);

    /* An image that was presented to be shared keeps its layout (VK_KHR_shared_presentable_image). */
    const bool on_display = layout == VK_IMAGE_LAYOUT_SHARED_PRESENT_KHR;
    const VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                 .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                 .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT};

    before.subresourceRange = after.subresourceRange = *range;
    rb->vk->CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                               on_display ? 1 : 0, &all, 0, NULL, on_display ? 0 : 1, &before);
    rb->vk->CmdCopyImageToBuffer(commands, image, copy_layout, rb->buffer, 1, region);
    if (layout != copy_layout)
        rb->vk->CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0,
                                   NULL, 0, NULL, 1, &after);
}

enum lap_status lap_readback_image(struct lap_readback *rb, const struct lap_readback_queue *at, VkImage image,
                                   VkFormat format, VkExtent2D extent, VkImageLayout layout, const void **out_pixels,
                                   size_t *out_bytes, bool *out_submitted)
{
    const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {extent.width, extent.height, 1}};
    uint64_t bytes = (uint64_t)extent.width * extent.height, pixel = lap_pixels_bytes(format);
    VkCommandBuffer commands;
    enum lap_status status;

    *out_pixels = NULL;
    *out_bytes = 0;
    if (out_submitted)
        *out_submitted = false;
    if (pixel == 0)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "images of format %d can't be read back", (int)format);
    if (bytes == 0 || bytes > SIZE_MAX / 2 / pixel)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "an image of %u x %u can't be read back", extent.width, extent.height);
    bytes *= pixel;
    status = begin(rb, at->family, bytes, &commands);
    if (status != LAP_OK)
        return status;
    record_image_copy(rb, commands, image, layout, &region, &range);
    status = submit(rb, at, commands);
    if (status != LAP_OK)
        return status;
    if (out_submitted)
        *out_submitted = true;
    status = lap_readback_take(rb, out_pixels);
    if (status == LAP_OK)
        *out_bytes = (size_t)bytes;
    return status;
}

enum lap_status lap_readback_start_region(struct lap_readback *rb, const struct lap_readback_queue *at, VkImage image,
                                          VkImageLayout layout, const VkImageSubresourceRange *range,
                                          const VkBufferImageCopy *region, uint64_t bytes)
{
    VkCommandBuffer commands;
    enum lap_status status = begin(rb, at->family, bytes, &commands);

    if (status != LAP_OK)
        return status;
    record_image_copy(rb, commands, image, layout, region, range);
    return submit(rb, at, commands);
}

enum lap_status lap_readback_region(struct lap_readback *rb, const struct lap_readback_queue *at, VkImage image,
                                    VkImageLayout layout, const VkImageSubresourceRange *range,
                                    const VkBufferImageCopy *region, uint64_t bytes, const void **out_data)
{
    enum lap_status status = lap_readback_start_region(rb, at, image, layout, range, region, bytes);

    *out_data = NULL;
    return status == LAP_OK ? lap_readback_take(rb, out_data) : status;
}

enum lap_status lap_readback_texels(struct lap_readback *rb, const struct lap_readback_queue *at, VkImage image,
                                    VkFormat format, VkImageLayout layout, const struct lap_texels *texels,
                                    const void **out_data)
{
    /* A barrier covers all aspects together, and all slices: with maintenance9 a volume has them as layers. */
    const VkImageSubresourceRange range = {lap_texels_range_of(lap_texels_parts(format)), texels->level, 1,
                                           texels->layer, texels->extent.depth > 1 ? VK_REMAINING_ARRAY_LAYERS : 1};
    const VkBufferImageCopy region = {.imageSubresource = {texels->aspect, texels->level, texels->layer, 1},
                                      .imageExtent = texels->extent};
    const uint64_t bytes = texels->rows * texels->row_bytes;
    enum lap_status status = lap_readback_region(rb, at, image, layout, &range, &region, bytes, out_data);

    if (status == LAP_OK)
        lap_texels_clean(format, texels->aspect, rb->mapped, bytes);
    return status;
}

enum lap_status lap_readback_start_buffer(struct lap_readback *rb, const struct lap_readback_queue *at, VkBuffer buffer,
                                          VkDeviceSize offset, VkDeviceSize bytes)
{
    VkBufferCopy region = {.srcOffset = offset, .size = bytes};
    VkMemoryBarrier before = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT};
    VkCommandBuffer commands;
    enum lap_status status;

    if (bytes > SIZE_MAX / 2)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "so many bytes can't be read back");
    status = begin(rb, at->family, bytes, &commands);
    if (status != LAP_OK)
        return status;
    rb->vk->CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1,
                               &before, 0, NULL, 0, NULL);
    rb->vk->CmdCopyBuffer(commands, buffer, rb->buffer, 1, &region);
    return submit(rb, at, commands);
}

enum lap_status lap_readback_buffer(struct lap_readback *rb, const struct lap_readback_queue *at, VkBuffer buffer,
                                    VkDeviceSize offset, VkDeviceSize bytes, const void **out_data)
{
    enum lap_status status = lap_readback_start_buffer(rb, at, buffer, offset, bytes);

    *out_data = NULL;
    return status == LAP_OK ? lap_readback_take(rb, out_data) : status;
}

enum lap_status lap_readback_clear(struct lap_readback *rb, const struct lap_readback_queue *at, VkBuffer buffer)
{
    VkCommandBuffer commands;
    const void *nothing;
    enum lap_status status = begin(rb, at->family, 1, &commands);

    if (status != LAP_OK)
        return status;
    rb->vk->CmdFillBuffer(commands, buffer, 0, VK_WHOLE_SIZE, 0);
    status = submit(rb, at, commands);
    return status == LAP_OK ? lap_readback_take(rb, &nothing) : status;
}
