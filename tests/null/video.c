/* SPDX-License-Identifier: MIT */
/* Video: codecs that the driver says it decodes and encodes, and sessions that want memory. Nothing is coded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/null/machine.h"

#define MEMORIES 3u
#define PAGE     4096u

#define DECODES                                                                                                        \
    (VK_VIDEO_CODEC_OPERATION_DECODE_H264_BIT_KHR | VK_VIDEO_CODEC_OPERATION_DECODE_H265_BIT_KHR | 0x4u /* AV1 */ |    \
     0x8u /* VP9 */)
#define ENCODES 0x70000u /* H.264, H.265, AV1 */

/* Whether the driver is to differ in this way: what another one codes. */
static bool is_another(const char *way)
{
    const char *named = getenv("NULL_VIDEO");
    return named && strcmp(named, way) == 0;
}

void null_fill_video_family(VkQueueFlags flags, void *chain)
{
    const uint32_t decodes = is_another("codec") ? DECODES & ~1u : DECODES;
    const uint32_t coded = (flags & NULL_QUEUE_DECODE ? decodes : 0) | (flags & NULL_QUEUE_ENCODE ? ENCODES : 0);

    for (VkBaseOutStructure *s = chain; s; s = s->pNext) {
        if (s->sType == VK_STRUCTURE_TYPE_QUEUE_FAMILY_VIDEO_PROPERTIES_KHR)
            ((VkQueueFamilyVideoPropertiesKHR *)s)->videoCodecOperations = coded;
        if (s->sType == VK_STRUCTURE_TYPE_QUEUE_FAMILY_QUERY_RESULT_STATUS_PROPERTIES_KHR)
            ((VkQueueFamilyQueryResultStatusPropertiesKHR *)s)->queryResultStatusSupport = coded != 0;
    }
}

/* The headers of the codecs are all of version 1.0. */
static const char *header_of(uint32_t operation)
{
    switch (operation) {
    case VK_VIDEO_CODEC_OPERATION_DECODE_H264_BIT_KHR:
        return "VK_STD_vulkan_video_codec_h264_decode";
    case VK_VIDEO_CODEC_OPERATION_DECODE_H265_BIT_KHR:
        return "VK_STD_vulkan_video_codec_h265_decode";
    case 0x4:
        return "VK_STD_vulkan_video_codec_av1_decode";
    case 0x8:
        return "VK_STD_vulkan_video_codec_vp9_decode";
    case 0x10000:
        return "VK_STD_vulkan_video_codec_h264_encode";
    case 0x20000:
        return "VK_STD_vulkan_video_codec_h265_encode";
    case 0x40000:
        return "VK_STD_vulkan_video_codec_av1_encode";
    default:
        return NULL;
    }
}

/* What codecs add to the answer: all that they can, and for the rest the numbers that programs look at. */
static void fill_chain(void *chain)
{
    for (VkBaseOutStructure *s = chain; s; s = s->pNext)
        switch ((uint32_t)s->sType) {
        case VK_STRUCTURE_TYPE_VIDEO_DECODE_CAPABILITIES_KHR:
            ((VkVideoDecodeCapabilitiesKHR *)s)->flags = VK_VIDEO_DECODE_CAPABILITY_DPB_AND_OUTPUT_DISTINCT_BIT_KHR;
            break;
        case VK_STRUCTURE_TYPE_VIDEO_DECODE_H264_CAPABILITIES_KHR:
            ((VkVideoDecodeH264CapabilitiesKHR *)s)->maxLevelIdc = STD_VIDEO_H264_LEVEL_IDC_6_2;
            break;
        case VK_STRUCTURE_TYPE_VIDEO_DECODE_H265_CAPABILITIES_KHR:
            ((VkVideoDecodeH265CapabilitiesKHR *)s)->maxLevelIdc = STD_VIDEO_H265_LEVEL_IDC_6_2;
            break;
#ifdef VK_KHR_video_encode_queue
        case VK_STRUCTURE_TYPE_VIDEO_ENCODE_CAPABILITIES_KHR: {
            VkVideoEncodeCapabilitiesKHR *can = (VkVideoEncodeCapabilitiesKHR *)s;
            can->rateControlModes =
                VK_VIDEO_ENCODE_RATE_CONTROL_MODE_DISABLED_BIT_KHR | VK_VIDEO_ENCODE_RATE_CONTROL_MODE_CBR_BIT_KHR;
            can->maxRateControlLayers = 4;
            can->maxBitrate = 1u << 30;
            can->maxQualityLevels = 2;
            can->encodeInputPictureGranularity = (VkExtent2D){16, 16};
            can->supportedEncodeFeedbackFlags = VK_VIDEO_ENCODE_FEEDBACK_BITSTREAM_BUFFER_OFFSET_BIT_KHR |
                                                VK_VIDEO_ENCODE_FEEDBACK_BITSTREAM_BYTES_WRITTEN_BIT_KHR;
            break;
        }
        case VK_STRUCTURE_TYPE_VIDEO_ENCODE_H264_CAPABILITIES_KHR: {
            VkVideoEncodeH264CapabilitiesKHR *can = (VkVideoEncodeH264CapabilitiesKHR *)s;
            can->maxLevelIdc = STD_VIDEO_H264_LEVEL_IDC_6_2;
            can->maxSliceCount = 8;
            can->maxPPictureL0ReferenceCount = 4;
            can->maxQp = 51;
            break;
        }
#endif
        default:
            break;
        }
}

VKAPI_ATTR VkResult VKAPI_CALL hand_GetPhysicalDeviceVideoCapabilitiesKHR(VkPhysicalDevice physicalDevice,
                                                                          const VkVideoProfileInfoKHR *pVideoProfile,
                                                                          VkVideoCapabilitiesKHR *pCapabilities)
{
    const char *header = header_of((uint32_t)pVideoProfile->videoCodecOperation);

    if (!header)
        return VK_ERROR_VIDEO_PROFILE_OPERATION_NOT_SUPPORTED_KHR;
    pCapabilities->flags = VK_VIDEO_CAPABILITY_SEPARATE_REFERENCE_IMAGES_BIT_KHR;
    pCapabilities->minBitstreamBufferOffsetAlignment = pCapabilities->minBitstreamBufferSizeAlignment = 256;
    pCapabilities->pictureAccessGranularity = (VkExtent2D){16, 16};
    pCapabilities->minCodedExtent = (VkExtent2D){64, 64};
    pCapabilities->maxCodedExtent = (VkExtent2D){8192, 8192};
    pCapabilities->maxDpbSlots = 17;
    pCapabilities->maxActiveReferencePictures = 16;
    memset(&pCapabilities->stdHeaderVersion, 0, sizeof pCapabilities->stdHeaderVersion);
    snprintf(pCapabilities->stdHeaderVersion.extensionName, VK_MAX_EXTENSION_NAME_SIZE, "%s", header);
    pCapabilities->stdHeaderVersion.specVersion = is_another("version") ? 9u << 12 : 1u << 22;
    if (is_another("profile"))
        return VK_ERROR_VIDEO_PROFILE_CODEC_NOT_SUPPORTED_KHR;
    if (is_another("extent"))
        pCapabilities->maxCodedExtent = (VkExtent2D){96, 96};
    if (is_another("slots"))
        pCapabilities->maxDpbSlots = pCapabilities->maxActiveReferencePictures = 1;
    fill_chain(pCapabilities->pNext);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_GetPhysicalDeviceVideoFormatPropertiesKHR(
    VkPhysicalDevice physicalDevice, const VkPhysicalDeviceVideoFormatInfoKHR *pVideoFormatInfo,
    uint32_t *pVideoFormatPropertyCount, VkVideoFormatPropertiesKHR *pVideoFormatProperties)
{
    static const VkFormat formats[] = {VK_FORMAT_G8_B8R8_2PLANE_420_UNORM,
                                       VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16};
    const uint32_t count = sizeof formats / sizeof formats[0], room = *pVideoFormatPropertyCount;

    *pVideoFormatPropertyCount = pVideoFormatProperties && room < count ? room : count;
    for (uint32_t i = 0; pVideoFormatProperties && i < *pVideoFormatPropertyCount; i++) {
        pVideoFormatProperties[i].format = formats[is_another("format") ? 1 : i];
        pVideoFormatProperties[i].componentMapping = (VkComponentMapping){0};
        pVideoFormatProperties[i].imageCreateFlags = 0;
        pVideoFormatProperties[i].imageType = VK_IMAGE_TYPE_2D;
        pVideoFormatProperties[i].imageTiling = VK_IMAGE_TILING_OPTIMAL;
        pVideoFormatProperties[i].imageUsageFlags =
            pVideoFormatInfo->imageUsage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
            (pVideoFormatInfo->imageUsage & 0x1c00 ? 0x1400 : 0xc000); /* outputs may be references */
    }
    return pVideoFormatProperties && room < count ? VK_INCOMPLETE : VK_SUCCESS;
}

/* Numbers and sizes that another driver would not have. */
VKAPI_ATTR VkResult VKAPI_CALL hand_GetVideoSessionMemoryRequirementsKHR(
    VkDevice device, VkVideoSessionKHR videoSession, uint32_t *pMemoryRequirementsCount,
    VkVideoSessionMemoryRequirementsKHR *pMemoryRequirements)
{
    const uint32_t room = *pMemoryRequirementsCount, count = is_another("memory") ? MEMORIES - 1 : MEMORIES;

    *pMemoryRequirementsCount = pMemoryRequirements && room < count ? room : count;
    for (uint32_t i = 0; pMemoryRequirements && i < *pMemoryRequirementsCount; i++) {
        pMemoryRequirements[i].memoryBindIndex = 7 * i + count;
        pMemoryRequirements[i].memoryRequirements =
            (VkMemoryRequirements){(i + 1) * (count + 2) * PAGE, PAGE, null_memory_types()};
    }
    return pMemoryRequirements && room < count ? VK_INCOMPLETE : VK_SUCCESS;
}
