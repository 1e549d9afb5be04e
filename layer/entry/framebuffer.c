/* SPDX-License-Identifier: MIT */
/* framebuffers: their records; attachment.c has the writes through them. */
#include <stdlib.h>

#include "gen_layer.h"
#include "layer/command/attachment.h"
#include "layer/submit/full_checks.h"

/* An imageless framebuffer names the usage of its images, which may be more than the program asked for. */
struct with_usage {
    VkFramebufferCreateInfo info;
    VkFramebufferAttachmentsCreateInfo attachments;
    VkFramebufferAttachmentImageInfo *images;
};

/* The program's own info, or one in *changed, whose images the caller frees; NULL: out of memory. */
static const VkFramebufferCreateInfo *add_usage(const VkFramebufferCreateInfo *info, struct with_usage *changed)
{
    const VkFramebufferAttachmentsCreateInfo *asked = info->pNext;

    changed->images = NULL;
    if (!layer.options.reads_back || !asked || asked->sType != VK_STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENTS_CREATE_INFO ||
        !asked->attachmentImageInfoCount)
        return info;
    changed->images = malloc(asked->attachmentImageInfoCount * sizeof *changed->images);
    if (!changed->images)
        return NULL;
    for (uint32_t i = 0; i < asked->attachmentImageInfoCount; i++) {
        changed->images[i] = asked->pAttachmentImageInfos[i];
        changed->images[i].usage = layer_verify_all_usage(changed->images[i].flags, changed->images[i].usage);
    }
    changed->attachments = *asked;
    changed->attachments.pAttachmentImageInfos = changed->images;
    changed->info = *info;
    changed->info.pNext = &changed->attachments;
    return &changed->info;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_CreateFramebuffer(VkDevice device, const VkFramebufferCreateInfo *pCreateInfo,
                                                         const VkAllocationCallbacks *pAllocator,
                                                         VkFramebuffer *pFramebuffer)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    struct with_usage changed;
    const VkFramebufferCreateInfo *info = add_usage(pCreateInfo, &changed);
    VkResult result =
        info ? dev->vk.CreateFramebuffer(device, info, pAllocator, pFramebuffer) : VK_ERROR_OUT_OF_HOST_MEMORY;
    struct lap_object *record = result >= 0 ? LAYER_ADD(dev, VkFramebuffer, *pFramebuffer) : NULL;
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkCreateFramebuffer, result < 0 ? LAP_PACKET_FAILED : 0);

    if (enc) {
        /* As images are recorded: layer/entry/resource.c. */
        gen_encode_vkCreateFramebuffer(enc, device, layer.options.parts.on && info ? info : pCreateInfo, pAllocator,
                                       pFramebuffer, result);
        layer_packet_end();
    }
    free(changed.images);
    if (record)
        layer_framebuffer_remember(dev, pCreateInfo, *pFramebuffer);
    return result;
}
