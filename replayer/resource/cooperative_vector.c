/* SPDX-License-Identifier: MIT */
/*
 * cooperative_vector: matrices in a driver's own layouts (VK_NV_cooperative_vector). A replay repeats conversions on
 * the device, if its driver's matrix fits into the recorded one's memory. Results of conversions on the host are in the
 * trace as bytes that only the recorded driver reads.
 */
#include "gen_replay.h"
#include "replayer/core/device.h"

#ifdef VK_NV_cooperative_vector

static bool is_opaque(VkCooperativeVectorMatrixLayoutNV layout)
{
    return layout != VK_COOPERATIVE_VECTOR_MATRIX_LAYOUT_ROW_MAJOR_NV &&
           layout != VK_COOPERATIVE_VECTOR_MATRIX_LAYOUT_COLUMN_MAJOR_NV;
}

enum lap_status replay_ConvertCooperativeVectorMatrixNV(struct replay *r, struct replay_device *dev,
                                                        struct gen_args_vkConvertCooperativeVectorMatrixNV *args)
{
    return !is_opaque(args->pInfo->dstLayout) || dev->recorded.same_driver
               ? LAP_OK
               : replay_refuse(r, "the host converts a matrix into a layout that only the recorded driver reads, and "
                                  "this is another one");
}

/* The bytes that a matrix takes on this device; 0: unknown. */
static size_t bytes_of(const struct replay_device *dev, const VkConvertCooperativeVectorMatrixInfoNV *info)
{
    VkConvertCooperativeVectorMatrixInfoNV ask = *info;
    size_t bytes = 0;

    ask.pDstSize = &bytes;
    ask.srcData.hostAddress = NULL;
    ask.dstData.hostAddress = NULL;
    return dev->vk.ConvertCooperativeVectorMatrixNV(dev->live, &ask) == VK_SUCCESS ? bytes : 0;
}

enum lap_status replay_CmdConvertCooperativeVectorMatrixNV(struct replay *r, struct replay_device *dev,
                                                           struct gen_args_vkCmdConvertCooperativeVectorMatrixNV *args)
{
    if (!dev->vk.ConvertCooperativeVectorMatrixNV)
        return replay_missing(r, GEN_vkConvertCooperativeVectorMatrixNV);
    for (uint32_t i = 0; i < args->infoCount; i++) {
        size_t bytes = is_opaque(args->pInfos[i].dstLayout) ? bytes_of(dev, &args->pInfos[i]) : 0;
        if (bytes > *args->pInfos[i].pDstSize)
            return replay_refuse(r, "a converted matrix has %zu bytes on this device, and the program has room for %zu",
                                 bytes, *args->pInfos[i].pDstSize);
    }
    dev->vk.CmdConvertCooperativeVectorMatrixNV(args->commandBuffer, args->infoCount, args->pInfos);
    return LAP_OK;
}
#endif
