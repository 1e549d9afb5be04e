/* SPDX-License-Identifier: MIT */
/* Framebuffers, and the usage of images that the replay copies from (--verify if the trace has checks of whole images;
 * --read; --pictures; --pixel), or whose texels a cut trace begins with. */
#include "gen_replay.h"
#include "replayer/core/handles.h"
#include "replayer/format/format.h"
#include "replayer/format/image_support.h"
#include "replayer/resource/create.h"
#include "replayer/resource/host_copy.h"
#include "vulkan/chain.h"

/* Nothing can be copied from transient attachments, so that pictures want others. */
static VkImageUsageFlags usage_here(const struct replay *r, VkImageCreateFlags flags, VkImageUsageFlags usage)
{
    if (r->options.pictures.folder || r->options.texel.wanted)
        usage &= ~(VkImageUsageFlags)VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT;
    if (flags & VK_IMAGE_CREATE_PROTECTED_BIT || usage & VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT)
        return usage;
    return usage | (r->options.reads_all_images ? VK_IMAGE_USAGE_TRANSFER_SRC_BIT : 0) |
           (r->options.writes_all_images ? VK_IMAGE_USAGE_TRANSFER_DST_BIT : 0);
}

void replay_image_need_usage(const struct replay *r, const struct replay_device *dev, VkImageCreateInfo *info)
{
    VkImageStencilUsageCreateInfo *stencil = (VkImageStencilUsageCreateInfo *)(uintptr_t)lap_chain_find(
        info->pNext, VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO); /* in the decoder's own memory */
    VkImageCreateInfo here = *info;

    here.usage = usage_here(r, info->flags, info->usage);
    here.format = replay_format_substitute(dev, info->format);
    if (info->tiling == VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT ||
        (here.usage != info->usage && !replay_format_image_has_usage(dev, &here)))
        return;
    info->usage = here.usage;
    if (stencil)
        stencil->stencilUsage = usage_here(r, info->flags, stencil->stencilUsage);
}

/* The create info of an imageless framebuffer repeats the usage of its images. */
enum lap_status replay_CreateFramebuffer(struct replay *r, struct replay_device *dev,
                                         struct gen_args_vkCreateFramebuffer *args)
{
    const VkFramebufferAttachmentsCreateInfo *attachments =
        lap_chain_find(args->pCreateInfo->pNext, VK_STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENTS_CREATE_INFO);
    uint64_t index = gen_u64_VkFramebuffer(*args->pFramebuffer);
    VkFramebuffer live = VK_NULL_HANDLE;
    VkResult result;

    for (uint32_t i = 0; attachments && attachments->pAttachmentImageInfos && i < attachments->attachmentImageInfoCount;
         i++) { /* in the decoder's own memory */
        VkFramebufferAttachmentImageInfo *image =
            (VkFramebufferAttachmentImageInfo *)(uintptr_t)&attachments->pAttachmentImageInfos[i];
        image->usage = replay_host_copies_usage(dev, usage_here(r, image->flags, image->usage));
    }
    result = dev->vk.CreateFramebuffer(dev->live, args->pCreateInfo, NULL, &live);
    if (result < 0)
        return replay_result(r, result);
    return replay_object_keep(r, GEN_HANDLE_VkFramebuffer, dev, index, gen_u64_VkFramebuffer(live));
}
