/* SPDX-License-Identifier: MIT */
#include "replayer/format/refused_copies.h"

#include <stdlib.h>

#include "base/map.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "replayer/core/device.h"
#include "replayer/format/block_copies.h"
#include "replayer/format/block_format.h"
#include "replayer/format/format.h"
#include "vulkan/texel/pixels.h"

struct replay_refused_copies {
    struct lap_map decoded; /* [index of an image]: its recorded format */
};

struct replay_refused_copies *replay_refused_copies_create(void)
{
    struct replay_refused_copies *look = calloc(1, sizeof *look);

    if (look)
        lap_map_init(&look->decoded);
    return look;
}

void replay_refused_copies_destroy(struct replay_refused_copies *look)
{
    if (!look)
        return;
    lap_map_finish(&look->decoded);
    free(look);
}

enum lap_status replay_refused_copies_image(struct replay_refused_copies *look, const struct replay_device *dev,
                                            uint64_t image, VkFormat recorded)
{
    if (!replay_block_format(recorded) || replay_format_substitute(dev, recorded) == recorded)
        return LAP_OK;
    return lap_map_put(&look->decoded, image, (void *)(uintptr_t)recorded, NULL);
}

static VkFormat decoded(const struct replay_refused_copies *look, VkImage image)
{
    return (VkFormat)(uintptr_t)lap_map_get(&look->decoded, gen_u64_VkImage(image));
}

static enum lap_status look_at_copy(const struct replay_refused_copies *look, struct replay *r, VkImage from,
                                    VkImage to)
{
    VkFormat source = decoded(look, from), target = to ? decoded(look, to) : VK_FORMAT_UNDEFINED;

    return !source || replay_blocks_decode_alike(source, target) ? LAP_OK : replay_blocks_refuse(r, source);
}

enum lap_status replay_refused_copies_call(struct replay_refused_copies *look, struct replay *r, const void *args)
{
    switch (r->at.command) {
    case GEN_vkCmdCopyImageToBuffer:
        return look_at_copy(look, r, ((const struct gen_args_vkCmdCopyImageToBuffer *)args)->srcImage, VK_NULL_HANDLE);
    case GEN_vkCmdCopyImageToBuffer2: {
        const VkCopyImageToBufferInfo2 *info =
            ((const struct gen_args_vkCmdCopyImageToBuffer2 *)args)->pCopyImageToBufferInfo;
        return info ? look_at_copy(look, r, info->srcImage, VK_NULL_HANDLE) : LAP_OK;
    }
    case GEN_vkCmdCopyImage: {
        const struct gen_args_vkCmdCopyImage *a = args;
        return look_at_copy(look, r, a->srcImage, a->dstImage);
    }
    case GEN_vkCmdCopyImage2: {
        const VkCopyImageInfo2 *info = ((const struct gen_args_vkCmdCopyImage2 *)args)->pCopyImageInfo;
        return info ? look_at_copy(look, r, info->srcImage, info->dstImage) : LAP_OK;
    }
    default:
        return LAP_OK;
    }
}
