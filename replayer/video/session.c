/* SPDX-License-Identifier: MIT */
/*
 * session: video sessions in a replay. The driver sets the memory requirements of a session. So a replay queries its
 * own device and binds memory of its own when it creates the session: vkBindVideoSessionMemoryKHR of the trace is left
 * out. Before that, it queries the support of the profile: a driver that can't decode or encode it would fail in some
 * later command, or behave in an undefined way.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen_reflect.h"
#include "replayer/core/handles.h"
#include "replayer/device/queues.h"
#include "replayer/device/video_profile.h"
#include "replayer/format/format.h"
#include "replayer/memory/memory.h"
#include "replayer/sync/deferred_destroy.h"
#include "replayer/video/session.h"
#include "vulkan/chain.h"
#include "vulkan/queue_kinds.h"

#define MOST_BINDS   64u
#define MOST_FORMATS 256u
#define MOST_MAPS    64u

/* replay_object.record of a VkVideoSessionKHR. */
struct session {
    VkVideoProfileInfoKHR profile; /* with a chain of the session's own */
    uint32_t count;
    struct replay_memory_place places[MOST_BINDS];
};

/* ---- the driver's support ---- */

/* An answer with the chain of a codec. */
struct answer {
    VkVideoCapabilitiesKHR capabilities;
    VkVideoDecodeCapabilitiesKHR decode;
    VkVideoDecodeH264CapabilitiesKHR h264;
    VkVideoDecodeH265CapabilitiesKHR h265;
#ifdef VK_KHR_video_decode_av1
    VkVideoDecodeAV1CapabilitiesKHR av1;
#endif
#ifdef VK_KHR_video_decode_vp9
    VkVideoDecodeVP9CapabilitiesKHR vp9;
#endif
#ifdef VK_KHR_video_encode_queue
    VkVideoEncodeCapabilitiesKHR encode;
    VkVideoEncodeH264CapabilitiesKHR encode_h264;
    VkVideoEncodeH265CapabilitiesKHR encode_h265;
#endif
#ifdef VK_KHR_video_encode_av1
    VkVideoEncodeAV1CapabilitiesKHR encode_av1;
#endif
};

static void add(struct answer *out, void *structure, VkStructureType type)
{
    VkBaseOutStructure *s = structure;

    s->sType = type;
    s->pNext = out->capabilities.pNext;
    out->capabilities.pNext = s;
}

/* The kind of queue for an operation; 0: one that this build does not know. */
static VkQueueFlags prepare(struct answer *out, VkVideoCodecOperationFlagBitsKHR operation)
{
    VkQueueFlags kind = LAP_QUEUE_VIDEO_DECODE;

    memset(out, 0, sizeof *out);
    out->capabilities.sType = VK_STRUCTURE_TYPE_VIDEO_CAPABILITIES_KHR;
    switch ((uint32_t)operation) {
    case VK_VIDEO_CODEC_OPERATION_DECODE_H264_BIT_KHR:
        add(out, &out->h264, VK_STRUCTURE_TYPE_VIDEO_DECODE_H264_CAPABILITIES_KHR);
        break;
    case VK_VIDEO_CODEC_OPERATION_DECODE_H265_BIT_KHR:
        add(out, &out->h265, VK_STRUCTURE_TYPE_VIDEO_DECODE_H265_CAPABILITIES_KHR);
        break;
#ifdef VK_KHR_video_decode_av1
    case VK_VIDEO_CODEC_OPERATION_DECODE_AV1_BIT_KHR:
        add(out, &out->av1, VK_STRUCTURE_TYPE_VIDEO_DECODE_AV1_CAPABILITIES_KHR);
        break;
#endif
#ifdef VK_KHR_video_decode_vp9
    case VK_VIDEO_CODEC_OPERATION_DECODE_VP9_BIT_KHR:
        add(out, &out->vp9, VK_STRUCTURE_TYPE_VIDEO_DECODE_VP9_CAPABILITIES_KHR);
        break;
#endif
#ifdef VK_KHR_video_encode_queue
    case VK_VIDEO_CODEC_OPERATION_ENCODE_H264_BIT_KHR:
        add(out, &out->encode_h264, VK_STRUCTURE_TYPE_VIDEO_ENCODE_H264_CAPABILITIES_KHR);
        kind = LAP_QUEUE_VIDEO_ENCODE;
        break;
    case VK_VIDEO_CODEC_OPERATION_ENCODE_H265_BIT_KHR:
        add(out, &out->encode_h265, VK_STRUCTURE_TYPE_VIDEO_ENCODE_H265_CAPABILITIES_KHR);
        kind = LAP_QUEUE_VIDEO_ENCODE;
        break;
#endif
#ifdef VK_KHR_video_encode_av1
    case VK_VIDEO_CODEC_OPERATION_ENCODE_AV1_BIT_KHR:
        add(out, &out->encode_av1, VK_STRUCTURE_TYPE_VIDEO_ENCODE_AV1_CAPABILITIES_KHR);
        kind = LAP_QUEUE_VIDEO_ENCODE;
        break;
#endif
    default:
        return 0;
    }
#ifdef VK_KHR_video_encode_queue
    if (kind == LAP_QUEUE_VIDEO_ENCODE)
        add(out, &out->encode, VK_STRUCTURE_TYPE_VIDEO_ENCODE_CAPABILITIES_KHR);
#endif
    if (kind == LAP_QUEUE_VIDEO_DECODE)
        add(out, &out->decode, VK_STRUCTURE_TYPE_VIDEO_DECODE_CAPABILITIES_KHR);
    return kind;
}

/* The registry's name of an operation. */
static const char *name_of(VkVideoCodecOperationFlagBitsKHR operation)
{
    for (uint32_t i = 0; i < GEN_ENUM_COUNT; i++)
        if (strcmp(gen_enums[i].name, "VkVideoCodecOperationFlagBitsKHR") == 0)
            for (uint32_t j = 0; j < gen_enums[i].value_count; j++)
                if (gen_enums[i].values[j].value == (int64_t)operation)
                    return gen_enum_value_name(&gen_enums[i].values[j]);
    return "an unknown codec";
}

static enum lap_status check_family(struct replay *r, const struct replay_device *dev, uint64_t index,
                                    const VkVideoSessionCreateInfoKHR *info, VkQueueFlags kind)
{
    VkQueueFamilyVideoPropertiesKHR videos[REPLAY_MAX_FAMILIES];
    VkQueueFamilyProperties2 families[REPLAY_MAX_FAMILIES];
    uint32_t count = REPLAY_MAX_FAMILIES, family = info->queueFamilyIndex;

    for (uint32_t i = 0; i < REPLAY_MAX_FAMILIES; i++) {
        videos[i] = (VkQueueFamilyVideoPropertiesKHR){.sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_VIDEO_PROPERTIES_KHR};
        families[i] =
            (VkQueueFamilyProperties2){.sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2, .pNext = &videos[i]};
    }
    dev->instance->vk.GetPhysicalDeviceQueueFamilyProperties2(dev->gpu, &count, families);
    if (family >= count || !(families[family].queueFamilyProperties.queueFlags & kind) ||
        !(videos[family].videoCodecOperations & (uint32_t)info->pVideoProfile->videoCodecOperation))
        return replay_refuse(r, "VkVideoSessionKHR:%" PRIu64 ": queue family %" PRIu32 " of this GPU has no %s", index,
                             family, name_of(info->pVideoProfile->videoCodecOperation));
    return LAP_OK;
}

static enum lap_status check_format(struct replay *r, const struct replay_device *dev, uint64_t index,
                                    const VkVideoSessionCreateInfoKHR *info, VkFormat format, VkImageUsageFlags usage,
                                    const char *what)
{
    const VkVideoProfileListInfoKHR profiles = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_PROFILE_LIST_INFO_KHR, .profileCount = 1, .pProfiles = info->pVideoProfile};
    const VkPhysicalDeviceVideoFormatInfoKHR question = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VIDEO_FORMAT_INFO_KHR, .pNext = &profiles, .imageUsage = usage};
    VkVideoFormatPropertiesKHR *formats;
    uint32_t count = MOST_FORMATS;
    bool found = false;

    if (format == VK_FORMAT_UNDEFINED || !dev->instance->vk.GetPhysicalDeviceVideoFormatPropertiesKHR)
        return LAP_OK;
    formats = calloc(count, sizeof *formats);
    if (!formats)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for formats of video");
    for (uint32_t i = 0; i < count; i++)
        formats[i].sType = VK_STRUCTURE_TYPE_VIDEO_FORMAT_PROPERTIES_KHR;
    if (dev->instance->vk.GetPhysicalDeviceVideoFormatPropertiesKHR(dev->gpu, &question, &count, formats) < 0)
        count = 0;
    for (uint32_t i = 0; i < count; i++)
        found = found || formats[i].format == format;
    free(formats);
    return found ? LAP_OK
                 : replay_refuse(r, "VkVideoSessionKHR:%" PRIu64 ": this GPU has no %s of %s for %s", index, what,
                                 replay_format_name(format), name_of(info->pVideoProfile->videoCodecOperation));
}

static enum lap_status check_limits(struct replay *r, uint64_t index, const VkVideoSessionCreateInfoKHR *info,
                                    const VkVideoCapabilitiesKHR *can)
{
    const VkExtensionProperties *header = info->pStdHeaderVersion;

    if (info->maxCodedExtent.width > can->maxCodedExtent.width ||
        info->maxCodedExtent.height > can->maxCodedExtent.height)
        return replay_refuse(r,
                             "VkVideoSessionKHR:%" PRIu64 ": pictures of %" PRIu32 " x %" PRIu32
                             ", and this GPU codes at most %" PRIu32 " x %" PRIu32,
                             index, info->maxCodedExtent.width, info->maxCodedExtent.height, can->maxCodedExtent.width,
                             can->maxCodedExtent.height);
    if (info->maxDpbSlots > can->maxDpbSlots || info->maxActiveReferencePictures > can->maxActiveReferencePictures)
        return replay_refuse(r,
                             "VkVideoSessionKHR:%" PRIu64 ": %" PRIu32 " reference slots with %" PRIu32
                             " pictures at a time, and this GPU has at most %" PRIu32 " with %" PRIu32,
                             index, info->maxDpbSlots, info->maxActiveReferencePictures, can->maxDpbSlots,
                             can->maxActiveReferencePictures);
    if (strncmp(header->extensionName, can->stdHeaderVersion.extensionName, VK_MAX_EXTENSION_NAME_SIZE) != 0 ||
        header->specVersion > can->stdHeaderVersion.specVersion)
        return replay_refuse(r,
                             "VkVideoSessionKHR:%" PRIu64 ": parameters of %.*s, version %#" PRIx32
                             ", and this driver has %.*s, version %#" PRIx32,
                             index, (int)VK_MAX_EXTENSION_NAME_SIZE, header->extensionName, header->specVersion,
                             (int)VK_MAX_EXTENSION_NAME_SIZE, can->stdHeaderVersion.extensionName,
                             can->stdHeaderVersion.specVersion);
    return LAP_OK;
}

enum lap_status replay_video_session_supported(struct replay *r, const struct replay_device *dev, uint64_t index,
                                               const VkVideoSessionCreateInfoKHR *info)
{
    const VkVideoProfileInfoKHR *profile = info->pVideoProfile;
    struct answer answer;
    VkQueueFlags kind = prepare(&answer, profile->videoCodecOperation);
    enum lap_status status;
    bool decodes = kind == LAP_QUEUE_VIDEO_DECODE;
    VkResult result;

    if (!dev->instance->vk.GetPhysicalDeviceVideoCapabilitiesKHR ||
        !dev->instance->vk.GetPhysicalDeviceQueueFamilyProperties2)
        return replay_missing(r, GEN_vkGetPhysicalDeviceVideoCapabilitiesKHR);
    if (!kind)
        return replay_refuse(r, "VkVideoSessionKHR:%" PRIu64 " is of a codec that this build does not know (%#x)",
                             index, (unsigned)profile->videoCodecOperation);
    if (!replay_video_profile_is_whole(profile))
        return replay_invalid(r, "a video profile without the structure of its codec");
    status = check_family(r, dev, index, info, kind);
    if (status != LAP_OK)
        return status;
    result = dev->instance->vk.GetPhysicalDeviceVideoCapabilitiesKHR(dev->gpu, profile, &answer.capabilities);
    if (result < 0)
        return replay_refuse(r, "VkVideoSessionKHR:%" PRIu64 ": this GPU does not code this profile of %s: %s", index,
                             name_of(profile->videoCodecOperation), replay_result_name(result));
    status = check_limits(r, index, info, &answer.capabilities);
    if (status == LAP_OK)
        status = check_format(r, dev, index, info, info->pictureFormat,
                              decodes ? VK_IMAGE_USAGE_VIDEO_DECODE_DST_BIT_KHR : 0x4000, "pictures");
    if (status == LAP_OK && info->maxDpbSlots)
        status = check_format(r, dev, index, info, info->referencePictureFormat,
                              decodes ? VK_IMAGE_USAGE_VIDEO_DECODE_DPB_BIT_KHR : 0x8000, "reference pictures");
    return status;
}

/* ---- memory ---- */

static void free_session(struct replay_device *dev, struct session *session)
{
    VkBaseInStructure *next = (VkBaseInStructure *)(uintptr_t)session->profile.pNext;

    for (uint32_t i = 0; i < session->count; i++)
        replay_memory_place_free(dev, &session->places[i]);
    while (next) {
        VkBaseInStructure *s = next;
        next = (VkBaseInStructure *)(uintptr_t)s->pNext;
        free(s);
    }
    free(session);
}

/* NULL: out of memory. Structures in the chain of a profile point to nothing else. */
static struct session *make_session(struct replay_device *dev, const VkVideoProfileInfoKHR *profile)
{
    struct session *session = calloc(1, sizeof *session);

    if (!session)
        return NULL;
    session->profile = *profile;
    session->profile.pNext = NULL;
    for (const VkBaseInStructure *s = profile->pNext; s; s = s->pNext) {
        uint32_t bytes = gen_struct_infos[gen_struct_of_type(s->sType)].bytes;
        VkBaseInStructure *copy = bytes >= sizeof *s ? malloc(bytes) : NULL;
        if (!copy) {
            free_session(dev, session);
            return NULL;
        }
        memcpy(copy, s, bytes);
        copy->pNext = session->profile.pNext;
        session->profile.pNext = copy;
    }
    return session;
}

static enum lap_status bind(struct replay *r, struct replay_device *dev, VkVideoSessionKHR live,
                            struct session *session)
{
    VkVideoSessionMemoryRequirementsKHR needs[MOST_BINDS];
    VkBindVideoSessionMemoryInfoKHR binds[MOST_BINDS];
    uint32_t count = MOST_BINDS;
    enum lap_status status = LAP_OK;
    VkResult result;

    for (uint32_t i = 0; i < MOST_BINDS; i++)
        needs[i] =
            (VkVideoSessionMemoryRequirementsKHR){.sType = VK_STRUCTURE_TYPE_VIDEO_SESSION_MEMORY_REQUIREMENTS_KHR};
    result = dev->vk.GetVideoSessionMemoryRequirementsKHR(dev->live, live, &count, needs);
    if (result != VK_SUCCESS)
        return replay_refuse(r, "the driver wants more than %u memories for a video session", MOST_BINDS);
    for (; session->count < count && status == LAP_OK; session->count++) {
        const VkVideoSessionMemoryRequirementsKHR *need = &needs[session->count];
        const struct replay_memory_needs wanted = {.requirements = need->memoryRequirements,
                                                   .wanted = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                                   .own = true,
                                                   .contents = REPLAY_CONTENTS_NEW};
        struct replay_memory_place *place = &session->places[session->count];
        status = replay_memory_place_alloc(r, dev, &wanted, place);
        binds[session->count] =
            (VkBindVideoSessionMemoryInfoKHR){.sType = VK_STRUCTURE_TYPE_BIND_VIDEO_SESSION_MEMORY_INFO_KHR,
                                              .memoryBindIndex = need->memoryBindIndex,
                                              .memory = place->memory,
                                              .memoryOffset = place->offset,
                                              .memorySize = need->memoryRequirements.size};
    }
    if (status == LAP_OK && count)
        status = replay_result(r, dev->vk.BindVideoSessionMemoryKHR(dev->live, live, count, binds));
    return status;
}

/* ---- sessions ---- */

enum lap_status replay_CreateVideoSessionKHR(struct replay *r, struct replay_device *dev,
                                             struct gen_args_vkCreateVideoSessionKHR *args)
{
    uint64_t index = gen_u64_VkVideoSessionKHR(*args->pVideoSession);
    VkVideoSessionKHR live = VK_NULL_HANDLE;
    struct session *session;
    enum lap_status status;

    if (!index)
        return LAP_OK; /* the recorded call failed */
    if (!dev->vk.GetVideoSessionMemoryRequirementsKHR || !dev->vk.BindVideoSessionMemoryKHR)
        return replay_missing(r, GEN_vkBindVideoSessionMemoryKHR);
    status = replay_video_session_supported(r, dev, index, args->pCreateInfo);
    if (status != LAP_OK)
        return status;
    session = make_session(dev, args->pCreateInfo->pVideoProfile);
    if (!session)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a video session");
    status = replay_result(r, dev->vk.CreateVideoSessionKHR(dev->live, args->pCreateInfo, NULL, &live));
    if (status == LAP_OK && (status = bind(r, dev, live, session)) != LAP_OK)
        dev->vk.DestroyVideoSessionKHR(dev->live, live, NULL);
    if (status == LAP_OK)
        status = gen_keep_VkVideoSessionKHR(r, dev, args->pVideoSession, &live, 1);
    if (status == LAP_OK)
        replay_object_get(r, GEN_HANDLE_VkVideoSessionKHR, index)->record = session;
    else
        free_session(dev, session);
    return status;
}

enum lap_status replay_end_VkVideoSessionKHR(struct replay *r, struct replay_device *dev, uint64_t index,
                                             struct replay_object *object)
{
    replay_destroy(dev, GEN_HANDLE_VkVideoSessionKHR, object->live);
    if (object->record)
        free_session(dev, object->record);
    replay_object_end(r, GEN_HANDLE_VkVideoSessionKHR, index, object);
    return LAP_OK;
}

/* ---- parameters ---- */

#ifdef VK_KHR_video_encode_quantization_map
static enum lap_status check_texel_size(struct replay *r, const struct replay_device *dev,
                                        const struct session *session, VkExtent2D wanted)
{
    const VkVideoProfileListInfoKHR profiles = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_PROFILE_LIST_INFO_KHR, .profileCount = 1, .pProfiles = &session->profile};
    const VkPhysicalDeviceVideoFormatInfoKHR question = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VIDEO_FORMAT_INFO_KHR,
        .pNext = &profiles,
        .imageUsage = VK_IMAGE_USAGE_VIDEO_ENCODE_QUANTIZATION_DELTA_MAP_BIT_KHR |
                      VK_IMAGE_USAGE_VIDEO_ENCODE_EMPHASIS_MAP_BIT_KHR};
    VkVideoFormatQuantizationMapPropertiesKHR maps[MOST_MAPS];
    VkVideoFormatPropertiesKHR formats[MOST_MAPS];

    for (uint32_t bit = 1; bit; bit <<= 1) {
        VkPhysicalDeviceVideoFormatInfoKHR one = question;
        uint32_t count = MOST_MAPS;
        if (!(question.imageUsage & bit))
            continue;
        one.imageUsage = bit;
        for (uint32_t i = 0; i < count; i++) {
            maps[i] = (VkVideoFormatQuantizationMapPropertiesKHR){
                .sType = VK_STRUCTURE_TYPE_VIDEO_FORMAT_QUANTIZATION_MAP_PROPERTIES_KHR};
            formats[i] =
                (VkVideoFormatPropertiesKHR){.sType = VK_STRUCTURE_TYPE_VIDEO_FORMAT_PROPERTIES_KHR, .pNext = &maps[i]};
        }
        if (dev->instance->vk.GetPhysicalDeviceVideoFormatPropertiesKHR(dev->gpu, &one, &count, formats) < 0)
            continue;
        for (uint32_t i = 0; i < count; i++)
            if (maps[i].quantizationMapTexelSize.width == wanted.width &&
                maps[i].quantizationMapTexelSize.height == wanted.height)
                return LAP_OK;
    }
    return replay_refuse(
        r, "quantization maps with texels for %" PRIu32 " x %" PRIu32 " samples, and this GPU has other ones",
        wanted.width, wanted.height);
}
#endif

enum lap_status replay_CreateVideoSessionParametersKHR(struct replay *r, struct replay_device *dev,
                                                       struct gen_args_vkCreateVideoSessionParametersKHR *args)
{
    VkVideoSessionParametersKHR live = VK_NULL_HANDLE;
    enum lap_status status = LAP_OK;

    if (!*args->pVideoSessionParameters)
        return LAP_OK; /* the recorded call failed */
#ifdef VK_KHR_video_encode_quantization_map
    const VkVideoEncodeQuantizationMapSessionParametersCreateInfoKHR *maps = lap_chain_find(
        args->pCreateInfo->pNext, VK_STRUCTURE_TYPE_VIDEO_ENCODE_QUANTIZATION_MAP_SESSION_PARAMETERS_CREATE_INFO_KHR);
    uint64_t index;
    const struct replay_object *session = replay_object_of(
        r, GEN_HANDLE_VkVideoSessionKHR, gen_u64_VkVideoSessionKHR(args->pCreateInfo->videoSession), &index);
    if (maps && maps->quantizationMapTexelSize.width && session && session->record)
        status = check_texel_size(r, dev, session->record, maps->quantizationMapTexelSize);
#endif
    if (status == LAP_OK)
        status = replay_result(r, dev->vk.CreateVideoSessionParametersKHR(dev->live, args->pCreateInfo, NULL, &live));
    return status == LAP_OK ? gen_keep_VkVideoSessionParametersKHR(r, dev, args->pVideoSessionParameters, &live, 1)
                            : status;
}
