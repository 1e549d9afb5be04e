/* SPDX-License-Identifier: MIT */
/* driver_video: what the driver says of video: it codes everything. */
#include <stdio.h>
#include <string.h>

#include "gen_decode.h"
#include "tests/fuzz/driver_video.h"

#define SESSION_BYTES 8192u

void driver_fill_video_family(VkQueueFamilyProperties2 *out)
{
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_QUEUE_FAMILY_VIDEO_PROPERTIES_KHR)
            ((VkQueueFamilyVideoPropertiesKHR *)s)->videoCodecOperations =
                out->queueFamilyProperties.queueFlags & VK_QUEUE_VIDEO_DECODE_BIT_KHR ? UINT32_MAX : 0;
}

static VkResult ask(const struct gen_args_vkGetPhysicalDeviceVideoCapabilitiesKHR *args)
{
    static const struct {
        uint32_t operation;
        const char *name;
    } headers[] = {{1, "h264_decode"},       {2, "h265_decode"},       {4, "av1_decode"},      {8, "vp9_decode"},
                   {0x10000, "h264_encode"}, {0x20000, "h265_encode"}, {0x40000, "av1_encode"}};
    VkVideoCapabilitiesKHR *out = args->pCapabilities;

    out->minBitstreamBufferOffsetAlignment = out->minBitstreamBufferSizeAlignment = 16;
    out->minCodedExtent = (VkExtent2D){16, 16};
    out->maxCodedExtent = (VkExtent2D){8192, 8192};
    out->maxDpbSlots = 17;
    out->maxActiveReferencePictures = 16;
    memset(&out->stdHeaderVersion, 0, sizeof out->stdHeaderVersion);
    out->stdHeaderVersion.specVersion = 1u << 22;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (headers[i].operation == (uint32_t)args->pVideoProfile->videoCodecOperation) {
            snprintf(out->stdHeaderVersion.extensionName, sizeof out->stdHeaderVersion.extensionName,
                     "VK_STD_vulkan_video_codec_%s", headers[i].name);
            return VK_SUCCESS;
        }
    return VK_ERROR_VIDEO_PROFILE_OPERATION_NOT_SUPPORTED_KHR;
}

bool driver_answer_video(uint32_t command, void *args, uint64_t *out)
{
    *out = VK_SUCCESS;
    switch (command) {
    case GEN_vkGetPhysicalDeviceVideoCapabilitiesKHR:
        *out = (uint64_t)ask(args);
        return true;
    case GEN_vkGetPhysicalDeviceVideoFormatPropertiesKHR: {
        struct gen_args_vkGetPhysicalDeviceVideoFormatPropertiesKHR *a = args;
        if (a->pVideoFormatProperties && *a->pVideoFormatPropertyCount)
            a->pVideoFormatProperties[0].format = VK_FORMAT_G8_B8R8_2PLANE_420_UNORM;
        *a->pVideoFormatPropertyCount = 1;
        return true;
    }
    case GEN_vkGetVideoSessionMemoryRequirementsKHR: {
        struct gen_args_vkGetVideoSessionMemoryRequirementsKHR *a = args;
        if (a->pMemoryRequirements && *a->pMemoryRequirementsCount) {
            a->pMemoryRequirements[0].memoryBindIndex = 3;
            a->pMemoryRequirements[0].memoryRequirements = (VkMemoryRequirements){SESSION_BYTES, 64, 7};
        }
        *a->pMemoryRequirementsCount = 1;
        return true;
    }
    default:
        return false;
    }
}
