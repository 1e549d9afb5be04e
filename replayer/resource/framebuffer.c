/* SPDX-License-Identifier: MIT */
/* Framebuffers, and the usage of images that the replay copies from (--verify if the trace has checks of whole images;
 * --read), or whose texels a cut trace begins with. */
#include "codegen/support/chain.h"
#include "gen_replay.h"
#include "replayer/core/handles.h"
#include "replayer/format/image_support.h"
#include "replayer/resource/create.h"
#include "replayer/resource/host_copy.h"

static VkImageUsageFlags usage_here(const struct replay *r, VkImageCreateFlags flags, VkImageUsageFlags usage)
{
    if (flags & VK_IMAGE_CREATE_PROTECTED_BIT || usage & VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT)
        return usage;
    return usage | (r->options.reads_all_images ? VK_IMAGE_USAGE_TRANSFER_SRC_BIT : 0) |
           (r->options.writes_all_images ? VK_IMAGE_USAGE_TRANSFER_DST_BIT : 0);
}

void replay_image_need_usage(const struct replay *r, const struct replay_device *dev, VkImageCreateInfo *info)
{
    VkImageCreateInfo changed = *info;

    changed.usage = usage_here(r, info->flags, info->usage);
    if (changed.usage != info->usage && info->tiling != VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT &&
        replay_format_image_has_usage(dev, &changed))
        *info = changed;
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
