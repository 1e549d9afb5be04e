/* SPDX-License-Identifier: MIT */
/* Compares texels that the host copied out of images (lapilliCheckRegion). */
#include <inttypes.h>

#include "gen_replay.h"
#include "replayer/resource/host_region.h"
#include "replayer/verify/verify.h"

static enum lap_status check_piece(void *context, const struct replay_host_region *from,
                                   const struct lap_texel_region *piece, void *texels, size_t bytes)
{
    const struct gen_args_lapilliCheckRegion *args = context;
    const uint64_t rows = (piece->extent.height + from->block.height - 1) / from->block.height *
                          (uint64_t)piece->extent.depth * piece->layer_count;
    const struct replay_checked_image what = {.index = from->index,
                                              .format = from->record->recorded_format,
                                              .rows = {piece->aspect, piece->level, piece->layer,
                                                       (uint32_t)piece->offset.z, (uint32_t)piece->offset.y,
                                                       (uint32_t)rows, 0, bytes / rows},
                                              .low = args->hashLow,
                                              .high = args->hashHigh};

    lap_texels_clean(from->record->recorded_format, piece->aspect, texels, bytes);
    return replay_check_image(from->r, &what, texels);
}

enum lap_status replay_lapilliCheckRegion(struct replay *r, struct replay_device *dev,
                                          struct gen_args_lapilliCheckRegion *args)
{
    struct replay_host_region from = {.r = r, .dev = dev, .image = args->image, .layout = args->layout};
    enum lap_status status;

    if (!r->check)
        return LAP_OK;
    if (!args->pOffset || !args->pExtent)
        return replay_fail(r, "a check of no texels");
    from.all = (struct lap_texel_region){args->aspect,     args->mipLevel, args->arrayLayer,
                                         args->layerCount, *args->pOffset, *args->pExtent};
    status = replay_host_region_examine(&from, false);
    if (status != LAP_OK)
        return status;
    if (lap_texels_region_bytes(&from.block, &from.all) > REPLAY_HOST_BYTES)
        return replay_fail(r, "a check of too many texels of VkImage:%" PRIu64, from.index);
    if (replay_check_is_ignored(r, GEN_HANDLE_VkImage, from.index))
        return LAP_OK;
    if (replay_format_conversion_rounds(from.conversion))
        return replay_check_skip_image(r, from.index, "has another format than the recorded one");
    return replay_host_region_read(&from, check_piece, args);
}
