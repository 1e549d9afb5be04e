/* SPDX-License-Identifier: MIT */
#include "replayer/device/video_profile.h"

#include "vulkan/chain.h"

bool replay_video_profile_is_whole(const VkVideoProfileInfoKHR *profile)
{
    static const struct {
        uint32_t operation, type;
    } wanted[] = {
        {VK_VIDEO_CODEC_OPERATION_DECODE_H264_BIT_KHR, VK_STRUCTURE_TYPE_VIDEO_DECODE_H264_PROFILE_INFO_KHR},
        {VK_VIDEO_CODEC_OPERATION_DECODE_H265_BIT_KHR, VK_STRUCTURE_TYPE_VIDEO_DECODE_H265_PROFILE_INFO_KHR},
#ifdef VK_KHR_video_decode_av1
        {VK_VIDEO_CODEC_OPERATION_DECODE_AV1_BIT_KHR, VK_STRUCTURE_TYPE_VIDEO_DECODE_AV1_PROFILE_INFO_KHR},
#endif
#ifdef VK_KHR_video_decode_vp9
        {VK_VIDEO_CODEC_OPERATION_DECODE_VP9_BIT_KHR, VK_STRUCTURE_TYPE_VIDEO_DECODE_VP9_PROFILE_INFO_KHR},
#endif
#ifdef VK_KHR_video_encode_queue
        {VK_VIDEO_CODEC_OPERATION_ENCODE_H264_BIT_KHR, VK_STRUCTURE_TYPE_VIDEO_ENCODE_H264_PROFILE_INFO_KHR},
        {VK_VIDEO_CODEC_OPERATION_ENCODE_H265_BIT_KHR, VK_STRUCTURE_TYPE_VIDEO_ENCODE_H265_PROFILE_INFO_KHR},
#endif
#ifdef VK_KHR_video_encode_av1
        {VK_VIDEO_CODEC_OPERATION_ENCODE_AV1_BIT_KHR, VK_STRUCTURE_TYPE_VIDEO_ENCODE_AV1_PROFILE_INFO_KHR},
#endif
    };

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if ((uint32_t)profile->videoCodecOperation == wanted[i].operation)
            return lap_chain_find(profile->pNext, (VkStructureType)wanted[i].type) != NULL;
    return false;
}

enum lap_status replay_video_profiles_check(struct replay *r, const void *chain)
{
    const VkVideoProfileListInfoKHR *list = lap_chain_find(chain, VK_STRUCTURE_TYPE_VIDEO_PROFILE_LIST_INFO_KHR);
    const VkVideoProfileInfoKHR *profile = lap_chain_find(chain, VK_STRUCTURE_TYPE_VIDEO_PROFILE_INFO_KHR);
    bool whole = !profile || replay_video_profile_is_whole(profile);

    for (uint32_t i = 0; list && i < list->profileCount; i++)
        whole = whole && replay_video_profile_is_whole(&list->pProfiles[i]);
    return whole ? LAP_OK : replay_invalid(r, "a video profile without the structure of its codec");
}
