/* SPDX-License-Identifier: MIT */
/* framebuffers: what they are made with; what they are written through is attachment's. */
#include <stdlib.h>

#include "gen_layer.h"
#include "layer/attachment.h"
#include "layer/verify_all.h"

/* An imageless framebuffer says which usage its images have, which may be more than the program asked for. */
static VkResult create(struct layer_device *dev, const VkFramebufferCreateInfo *info,
                       const VkAllocationCallbacks *allocator, VkFramebuffer *out)
{
    const VkFramebufferAttachmentsCreateInfo *asked = info->pNext;
    VkFramebufferAttachmentsCreateInfo attachments;
    VkFramebufferAttachmentImageInfo *images;
    VkFramebufferCreateInfo changed = *info;
    VkResult result;

    if (!layer.options.verify_all || !asked || asked->sType != VK_STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENTS_CREATE_INFO ||
        !asked->attachmentImageInfoCount)
        return dev->vk.CreateFramebuffer(dev->handle, info, allocator, out);
    images = malloc(asked->attachmentImageInfoCount * sizeof *images);
    if (!images)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < asked->attachmentImageInfoCount; i++) {
        images[i] = asked->pAttachmentImageInfos[i];
        images[i].usage = layer_verify_all_usage(images[i].flags, images[i].usage);
    }
    attachments = *asked;
    attachments.pAttachmentImageInfos = images;
    changed.pNext = &attachments;
    result = dev->vk.CreateFramebuffer(dev->handle, &changed, allocator, out);
    free(images);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_CreateFramebuffer(VkDevice device, const VkFramebufferCreateInfo *pCreateInfo,
                                                         const VkAllocationCallbacks *pAllocator,
                                                         VkFramebuffer *pFramebuffer)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = create(dev, pCreateInfo, pAllocator, pFramebuffer);
    struct lap_object *record = result >= 0 ? LAYER_ADD(dev, VkFramebuffer, *pFramebuffer) : NULL;
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkCreateFramebuffer, result < 0 ? LAP_PACKET_FAILED : 0);

    if (enc) {
        gen_encode_vkCreateFramebuffer(enc, device, pCreateInfo, pAllocator, pFramebuffer, result);
        layer_packet_end();
    }
    if (record)
        layer_framebuffer_remember(dev, pCreateInfo, *pFramebuffer);
    return result;
}
