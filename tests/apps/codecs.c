/* SPDX-License-Identifier: MIT */
/*
 * codecs: sessions, parameters and pictures of every codec of video, to decode and to encode, with everything that
 * their structures may point to. It calls, for a recorder to take it down; what is coded is not looked at, since the
 * streams are none. Run with --no-check on a driver that pretends (tests/null); real ones are spared.
 */
#include "common/app.h"

#ifdef VK_KHR_video_decode_vp9
#define SIDE         256u
#define STREAM_BYTES 65536u
#define MOST_MEMORY  8u
#define FORMAT       VK_FORMAT_G8_B8R8_2PLANE_420_UNORM

static const char *const extensions[] = {
    "VK_KHR_video_queue", "VK_KHR_video_decode_queue", "VK_KHR_video_encode_queue", "VK_KHR_video_decode_h264",
    "VK_KHR_video_decode_h265", "VK_KHR_video_decode_av1", "VK_KHR_video_decode_vp9", "VK_KHR_video_encode_h264",
    "VK_KHR_video_encode_h265", "VK_KHR_video_encode_av1", "VK_KHR_video_maintenance1",
    /* No GPU has all of these. */
    "VK_QCOM_rotated_copy_commands", "VK_NV_optical_flow", "VK_HUAWEI_subpass_shading"};

#define LOAD(name) PFN_vk##name name = (PFN_vk##name)app_device_function(app, "vk" #name)

struct job {
    const struct app *app;
    uint32_t family; /* of what is being coded */
    bool encodes;
    VkVideoProfileInfoKHR profile;
    VkVideoSessionKHR session;
    VkVideoSessionParametersKHR parameters;
    VkDeviceMemory memories[MOST_MEMORY + 2];
    uint32_t memory_count;
    VkImage image;
    VkImageView view;
    VkBuffer stream;
    VkQueryPool queries;
};

/* ---- a session and what it works on ---- */

static VkDeviceMemory take_memory(struct job *job, VkMemoryRequirements needs)
{
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};

    CHECK(job->memory_count < COUNT_OF(job->memories));
    allocate.memoryTypeIndex = app_memory_type_for(job->app, needs.memoryTypeBits, APP_DEVICE);
    CHECK_VK(vkAllocateMemory(job->app->device, &allocate, NULL, &job->memories[job->memory_count]));
    return job->memories[job->memory_count++];
}

static void bind_session(struct job *job)
{
    const struct app *app = job->app;
    LOAD(GetVideoSessionMemoryRequirementsKHR);
    LOAD(BindVideoSessionMemoryKHR);
    VkVideoSessionMemoryRequirementsKHR needs[MOST_MEMORY] = {{0}};
    VkBindVideoSessionMemoryInfoKHR binds[MOST_MEMORY];
    uint32_t count = MOST_MEMORY;

    for (uint32_t i = 0; i < count; i++)
        needs[i].sType = VK_STRUCTURE_TYPE_VIDEO_SESSION_MEMORY_REQUIREMENTS_KHR;
    CHECK_VK(GetVideoSessionMemoryRequirementsKHR(app->device, job->session, &count, needs));
    for (uint32_t i = 0; i < count; i++)
        binds[i] = (VkBindVideoSessionMemoryInfoKHR){.sType = VK_STRUCTURE_TYPE_BIND_VIDEO_SESSION_MEMORY_INFO_KHR,
                                                     .memoryBindIndex = needs[i].memoryBindIndex,
                                                     .memory = take_memory(job, needs[i].memoryRequirements),
                                                     .memorySize = needs[i].memoryRequirements.size};
    CHECK_VK(BindVideoSessionMemoryKHR(app->device, job->session, count, binds));
}

static void create_queries(struct job *job)
{
    VkQueryPoolVideoEncodeFeedbackCreateInfoKHR feedback = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_VIDEO_ENCODE_FEEDBACK_CREATE_INFO_KHR,
        .pNext = &job->profile,
        .encodeFeedbackFlags = VK_VIDEO_ENCODE_FEEDBACK_BITSTREAM_BYTES_WRITTEN_BIT_KHR};
    VkQueryPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                    .pNext = &job->profile,
                                    .queryType = VK_QUERY_TYPE_RESULT_STATUS_ONLY_KHR,
                                    .queryCount = 1};

    if (job->encodes) {
        create.pNext = &feedback;
        create.queryType = VK_QUERY_TYPE_VIDEO_ENCODE_FEEDBACK_KHR;
    }
    CHECK_VK(vkCreateQueryPool(job->app->device, &create, NULL, &job->queries));
}

static void begin_job(struct job *job, const void *codec, VkVideoCodecOperationFlagBitsKHR operation, void *can)
{
    const struct app *app = job->app;
    LOAD(CreateVideoSessionKHR);
    PFN_vkGetPhysicalDeviceVideoCapabilitiesKHR ask =
        (PFN_vkGetPhysicalDeviceVideoCapabilitiesKHR)vkGetInstanceProcAddr(app->instance,
                                                                           "vkGetPhysicalDeviceVideoCapabilitiesKHR");
    VkVideoCapabilitiesKHR capabilities = {.sType = VK_STRUCTURE_TYPE_VIDEO_CAPABILITIES_KHR, .pNext = can};
    const VkVideoProfileListInfoKHR profiles = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_PROFILE_LIST_INFO_KHR, .profileCount = 1, .pProfiles = &job->profile};
    const VkBufferCreateInfo stream = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                       .pNext = &profiles,
                                       .size = STREAM_BYTES,
                                       .usage = job->encodes ? VK_BUFFER_USAGE_VIDEO_ENCODE_DST_BIT_KHR
                                                             : VK_BUFFER_USAGE_VIDEO_DECODE_SRC_BIT_KHR};
    const VkImageCreateInfo image = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .pNext = &profiles,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = FORMAT,
        .extent = {SIDE, SIDE, 1},
        .mipLevels = 1,
        .arrayLayers = 3,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = job->encodes ? VK_IMAGE_USAGE_VIDEO_ENCODE_SRC_BIT_KHR | VK_IMAGE_USAGE_VIDEO_ENCODE_DPB_BIT_KHR
                              : VK_IMAGE_USAGE_VIDEO_DECODE_DST_BIT_KHR | VK_IMAGE_USAGE_VIDEO_DECODE_DPB_BIT_KHR};
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .viewType = VK_IMAGE_VIEW_TYPE_2D_ARRAY,
                                  .format = FORMAT,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 3}};
    VkVideoSessionCreateInfoKHR create = {.sType = VK_STRUCTURE_TYPE_VIDEO_SESSION_CREATE_INFO_KHR,
                                          .queueFamilyIndex = job->family,
                                          .flags = VK_VIDEO_SESSION_CREATE_INLINE_QUERIES_BIT_KHR,
                                          .pVideoProfile = &job->profile,
                                          .pictureFormat = FORMAT,
                                          .maxCodedExtent = {SIDE, SIDE},
                                          .referencePictureFormat = FORMAT,
                                          .maxDpbSlots = 2,
                                          .maxActiveReferencePictures = 1,
                                          .pStdHeaderVersion = &capabilities.stdHeaderVersion};
    VkMemoryRequirements needs;

    job->profile = (VkVideoProfileInfoKHR){.sType = VK_STRUCTURE_TYPE_VIDEO_PROFILE_INFO_KHR,
                                           .pNext = codec,
                                           .videoCodecOperation = operation,
                                           .chromaSubsampling = VK_VIDEO_CHROMA_SUBSAMPLING_420_BIT_KHR,
                                           .lumaBitDepth = VK_VIDEO_COMPONENT_BIT_DEPTH_8_BIT_KHR,
                                           .chromaBitDepth = VK_VIDEO_COMPONENT_BIT_DEPTH_8_BIT_KHR};
    CHECK_VK(ask(app->physical, &job->profile, &capabilities));
    CHECK_VK(CreateVideoSessionKHR(app->device, &create, NULL, &job->session));
    bind_session(job);
    CHECK_VK(vkCreateBuffer(app->device, &stream, NULL, &job->stream));
    vkGetBufferMemoryRequirements(app->device, job->stream, &needs);
    CHECK_VK(vkBindBufferMemory(app->device, job->stream, take_memory(job, needs), 0));
    CHECK_VK(vkCreateImage(app->device, &image, NULL, &job->image));
    vkGetImageMemoryRequirements(app->device, job->image, &needs);
    CHECK_VK(vkBindImageMemory(app->device, job->image, take_memory(job, needs), 0));
    view.image = job->image;
    CHECK_VK(vkCreateImageView(app->device, &view, NULL, &job->view));
    create_queries(job);
}

static void create_parameters(struct job *job, const void *codec)
{
    const struct app *app = job->app;
    LOAD(CreateVideoSessionParametersKHR);
    const VkVideoSessionParametersCreateInfoKHR create = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_SESSION_PARAMETERS_CREATE_INFO_KHR,
        .pNext = codec,
        .videoSession = job->session};

    CHECK_VK(CreateVideoSessionParametersKHR(app->device, &create, NULL, &job->parameters));
}

static VkVideoPictureResourceInfoKHR picture_of(const struct job *job, uint32_t layer)
{
    return (VkVideoPictureResourceInfoKHR){.sType = VK_STRUCTURE_TYPE_VIDEO_PICTURE_RESOURCE_INFO_KHR,
                                           .codedExtent = {SIDE, SIDE},
                                           .baseArrayLayer = layer,
                                           .imageViewBinding = job->view};
}

/* Codes one picture (layer 0) with a reference (1) into a slot (2), and ends everything. `control` may be NULL. */
static void end_job(struct job *job, const void *codec, const void *slot_codec, const void *control)
{
    const struct app *app = job->app;
    LOAD(CmdBeginVideoCodingKHR);
    LOAD(CmdControlVideoCodingKHR);
    LOAD(CmdDecodeVideoKHR);
    LOAD(CmdEncodeVideoKHR);
    LOAD(CmdEndVideoCodingKHR);
    LOAD(DestroyVideoSessionKHR);
    LOAD(DestroyVideoSessionParametersKHR);
    const VkVideoPictureResourceInfoKHR pictures[] = {picture_of(job, 0), picture_of(job, 1), picture_of(job, 2)};
    const VkVideoReferenceSlotInfoKHR slots[] = {{.sType = VK_STRUCTURE_TYPE_VIDEO_REFERENCE_SLOT_INFO_KHR,
                                                  .pNext = slot_codec,
                                                  .slotIndex = 0,
                                                  .pPictureResource = &pictures[1]},
                                                 {.sType = VK_STRUCTURE_TYPE_VIDEO_REFERENCE_SLOT_INFO_KHR,
                                                  .pNext = slot_codec,
                                                  .slotIndex = 1,
                                                  .pPictureResource = &pictures[2]}};
    const VkVideoBeginCodingInfoKHR begin = {.sType = VK_STRUCTURE_TYPE_VIDEO_BEGIN_CODING_INFO_KHR,
                                             .videoSession = job->session,
                                             .videoSessionParameters = job->parameters,
                                             .referenceSlotCount = 1,
                                             .pReferenceSlots = slots};
    const VkVideoCodingControlInfoKHR reset = {.sType = VK_STRUCTURE_TYPE_VIDEO_CODING_CONTROL_INFO_KHR,
                                               .pNext = control,
                                               .flags =
                                                   VK_VIDEO_CODING_CONTROL_RESET_BIT_KHR |
                                                   (control ? VK_VIDEO_CODING_CONTROL_ENCODE_RATE_CONTROL_BIT_KHR : 0)};
    const VkVideoEndCodingInfoKHR end = {.sType = VK_STRUCTURE_TYPE_VIDEO_END_CODING_INFO_KHR};
    const VkVideoInlineQueryInfoKHR query = {.sType = VK_STRUCTURE_TYPE_VIDEO_INLINE_QUERY_INFO_KHR,
                                             .pNext = codec,
                                             .queryPool = job->queries,
                                             .queryCount = 1};
    const VkVideoDecodeInfoKHR decode = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_INFO_KHR,
                                         .pNext = &query,
                                         .srcBuffer = job->stream,
                                         .srcBufferRange = STREAM_BYTES / 2,
                                         .dstPictureResource = pictures[0],
                                         .pSetupReferenceSlot = &slots[1],
                                         .referenceSlotCount = 1,
                                         .pReferenceSlots = slots};
    const VkVideoEncodeInfoKHR encode = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_INFO_KHR,
                                         .pNext = &query,
                                         .dstBuffer = job->stream,
                                         .dstBufferOffset = STREAM_BYTES / 2,
                                         .dstBufferRange = STREAM_BYTES / 2,
                                         .srcPictureResource = pictures[0],
                                         .pSetupReferenceSlot = &slots[1],
                                         .referenceSlotCount = 1,
                                         .pReferenceSlots = slots};
    const VkCommandPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                            .queueFamilyIndex = job->family};
    const VkCommandBufferBeginInfo once = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    VkCommandBuffer commands;
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    VkQueue queue;

    CHECK_VK(vkCreateCommandPool(app->device, &create, NULL, &allocate.commandPool));
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &commands));
    CHECK_VK(vkBeginCommandBuffer(commands, &once));
    vkCmdResetQueryPool(commands, job->queries, 0, 1);
    CmdBeginVideoCodingKHR(commands, &begin);
    CmdControlVideoCodingKHR(commands, &reset);
    if (job->encodes)
        CmdEncodeVideoKHR(commands, &encode);
    else
        CmdDecodeVideoKHR(commands, &decode);
    CmdEndVideoCodingKHR(commands, &end);
    CHECK_VK(vkEndCommandBuffer(commands));
    vkGetDeviceQueue(app->device, job->family, 0, &queue);
    CHECK_VK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
    CHECK_VK(vkQueueWaitIdle(queue));
    vkDestroyCommandPool(app->device, allocate.commandPool, NULL);
    vkDestroyQueryPool(app->device, job->queries, NULL);
    vkDestroyImageView(app->device, job->view, NULL);
    vkDestroyImage(app->device, job->image, NULL);
    vkDestroyBuffer(app->device, job->stream, NULL);
    DestroyVideoSessionParametersKHR(app->device, job->parameters, NULL);
    DestroyVideoSessionKHR(app->device, job->session, NULL);
    for (uint32_t i = 0; i < job->memory_count; i++)
        vkFreeMemory(app->device, job->memories[i], NULL);
}

static struct job job_of(const struct app *app, const uint32_t families[2], bool encodes)
{
    return (struct job){.app = app, .family = families[encodes], .encodes = encodes};
}

/* ---- H.264 ---- */

static const StdVideoH264ScalingLists lists_264 = {.scaling_list_present_mask = 3,
                                                   .use_default_scaling_matrix_mask = 1,
                                                   .ScalingList4x4 = {{1, 2, 3}, {4, 5, 6}},
                                                   .ScalingList8x8 = {{7}, {8}}};
static const StdVideoH264HrdParameters hrd_264 = {
    .cpb_cnt_minus1 = 1, .bit_rate_scale = 2, .bit_rate_value_minus1 = {3, 4}, .cbr_flag = {1}};
static const StdVideoH264SequenceParameterSetVui vui_264 = {
    .flags = {.timing_info_present_flag = 1, .nal_hrd_parameters_present_flag = 1},
    .num_units_in_tick = 1,
    .time_scale = 60,
    .pHrdParameters = &hrd_264};
static const int32_t offsets_264[] = {-3, 7, 11};
static const StdVideoH264SequenceParameterSet sps_264 = {
    .flags = {.frame_mbs_only_flag = 1, .seq_scaling_matrix_present_flag = 1, .vui_parameters_present_flag = 1},
    .profile_idc = STD_VIDEO_H264_PROFILE_IDC_HIGH,
    .level_idc = STD_VIDEO_H264_LEVEL_IDC_4_1,
    .chroma_format_idc = STD_VIDEO_H264_CHROMA_FORMAT_IDC_420,
    .pic_order_cnt_type = STD_VIDEO_H264_POC_TYPE_1,
    .num_ref_frames_in_pic_order_cnt_cycle = COUNT_OF(offsets_264),
    .max_num_ref_frames = 1,
    .pic_width_in_mbs_minus1 = SIDE / 16 - 1,
    .pic_height_in_map_units_minus1 = SIDE / 16 - 1,
    .pOffsetForRefFrame = offsets_264,
    .pScalingLists = &lists_264,
    .pSequenceParameterSetVui = &vui_264};
static const StdVideoH264PictureParameterSet pps_264 = {
    .flags = {.transform_8x8_mode_flag = 1, .pic_scaling_matrix_present_flag = 1},
    .chroma_qp_index_offset = -2,
    .pScalingLists = &lists_264};

static void encode_264(const struct app *app, const uint32_t families[2])
{
    LOAD(GetEncodedVideoSessionParametersKHR);
    struct job job = job_of(app, families, true);
    const VkVideoEncodeH264ProfileInfoKHR profile = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_H264_PROFILE_INFO_KHR,
                                                     .stdProfileIdc = STD_VIDEO_H264_PROFILE_IDC_HIGH};
    VkVideoEncodeH264CapabilitiesKHR can_264 = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_H264_CAPABILITIES_KHR};
    VkVideoEncodeCapabilitiesKHR can = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_CAPABILITIES_KHR, .pNext = &can_264};
    const VkVideoEncodeH264SessionParametersAddInfoKHR sets = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_H264_SESSION_PARAMETERS_ADD_INFO_KHR,
        .stdSPSCount = 1,
        .pStdSPSs = &sps_264,
        .stdPPSCount = 1,
        .pStdPPSs = &pps_264};
    const VkVideoEncodeQualityLevelInfoKHR quality = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_QUALITY_LEVEL_INFO_KHR,
                                                      .qualityLevel = 1};
    const VkVideoEncodeH264SessionParametersCreateInfoKHR parameters = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_H264_SESSION_PARAMETERS_CREATE_INFO_KHR,
        .pNext = &quality,
        .maxStdSPSCount = 1,
        .maxStdPPSCount = 1,
        .pParametersAddInfo = &sets};
    const StdVideoEncodeH264RefListModEntry changes[] = {{.abs_diff_pic_num_minus1 = 1}, {.long_term_pic_num = 2}};
    const StdVideoEncodeH264RefPicMarkingEntry marks[] = {{.difference_of_pic_nums_minus1 = 3}};
    const StdVideoEncodeH264ReferenceListsInfo references = {.flags = {.ref_pic_list_modification_flag_l0 = 1},
                                                             .refList0ModOpCount = COUNT_OF(changes),
                                                             .refPicMarkingOpCount = COUNT_OF(marks),
                                                             .pRefList0ModOperations = changes,
                                                             .pRefPicMarkingOperations = marks};
    const StdVideoEncodeH264PictureInfo picture = {.flags = {.is_reference = 1},
                                                   .primary_pic_type = STD_VIDEO_H264_PICTURE_TYPE_P,
                                                   .frame_num = 1,
                                                   .PicOrderCnt = 2,
                                                   .pRefLists = &references};
    const StdVideoEncodeH264WeightTable weights = {.luma_weight_l0 = {-5, 6}};
    const StdVideoEncodeH264SliceHeader header = {
        .slice_type = STD_VIDEO_H264_SLICE_TYPE_P, .slice_qp_delta = -1, .pWeightTable = &weights};
    const VkVideoEncodeH264NaluSliceInfoKHR slices[] = {
        {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_H264_NALU_SLICE_INFO_KHR, .pStdSliceHeader = &header},
        {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_H264_NALU_SLICE_INFO_KHR, .pStdSliceHeader = &header}};
    const VkVideoEncodeH264PictureInfoKHR info = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_H264_PICTURE_INFO_KHR,
                                                  .naluSliceEntryCount = COUNT_OF(slices),
                                                  .pNaluSliceEntries = slices,
                                                  .pStdPictureInfo = &picture};
    const StdVideoEncodeH264ReferenceInfo reference = {.FrameNum = 1};
    const VkVideoEncodeH264DpbSlotInfoKHR slot = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_H264_DPB_SLOT_INFO_KHR,
                                                  .pStdReferenceInfo = &reference};
    const VkVideoEncodeRateControlLayerInfoKHR layers[] = {
        {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_RATE_CONTROL_LAYER_INFO_KHR,
         .averageBitrate = 1000000,
         .maxBitrate = 1000000,
         .frameRateNumerator = 25,
         .frameRateDenominator = 1}};
    const VkVideoEncodeRateControlInfoKHR control = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_RATE_CONTROL_INFO_KHR,
                                                     .rateControlMode = VK_VIDEO_ENCODE_RATE_CONTROL_MODE_CBR_BIT_KHR,
                                                     .layerCount = 1,
                                                     .pLayers = layers,
                                                     .virtualBufferSizeInMs = 100};
    VkVideoEncodeSessionParametersFeedbackInfoKHR feedback = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_SESSION_PARAMETERS_FEEDBACK_INFO_KHR};
    VkVideoEncodeH264SessionParametersGetInfoKHR wanted = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_H264_SESSION_PARAMETERS_GET_INFO_KHR, .writeStdSPS = VK_TRUE};
    VkVideoEncodeSessionParametersGetInfoKHR ask = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_SESSION_PARAMETERS_GET_INFO_KHR, .pNext = &wanted};
    size_t bytes = 0;

    begin_job(&job, &profile, VK_VIDEO_CODEC_OPERATION_ENCODE_H264_BIT_KHR, &can);
    create_parameters(&job, &parameters);
    ask.videoSessionParameters = job.parameters;
    CHECK_VK(GetEncodedVideoSessionParametersKHR(app->device, &ask, &feedback, &bytes, NULL));
    end_job(&job, &info, &slot, &control);
}

/* ---- H.265 ---- */

static const StdVideoH265SubLayerHrdParameters layers_265[] = {{.bit_rate_value_minus1 = {1, 2}, .cbr_flag = 1},
                                                               {.cpb_size_value_minus1 = {3, 4}, .cbr_flag = 2}};
static const StdVideoH265HrdParameters hrd_265 = {.flags = {.nal_hrd_parameters_present_flag = 1,
                                                            .vcl_hrd_parameters_present_flag = 1,
                                                            .fixed_pic_rate_general_flag = 0x81},
                                                  .elemental_duration_in_tc_minus1 = {300, 400},
                                                  .pSubLayerHrdParametersNal = layers_265,
                                                  .pSubLayerHrdParametersVcl = layers_265};
static const StdVideoH265DecPicBufMgr buffers_265 = {.max_latency_increase_plus1 = {1}, .max_num_reorder_pics = {2}};
static const StdVideoH265ProfileTierLevel tier_265 = {.general_profile_idc = STD_VIDEO_H265_PROFILE_IDC_MAIN,
                                                      .general_level_idc = STD_VIDEO_H265_LEVEL_IDC_4_1};
static const StdVideoH265VideoParameterSet vps_265 = {.flags = {.vps_timing_info_present_flag = 1},
                                                      .vps_max_sub_layers_minus1 = 1,
                                                      .vps_time_scale = 25,
                                                      .pDecPicBufMgr = &buffers_265,
                                                      .pHrdParameters = &hrd_265,
                                                      .pProfileTierLevel = &tier_265};
static const StdVideoH265ScalingLists scaling_265 = {.ScalingList4x4 = {{9, 8, 7}}, .ScalingList32x32 = {{6}}};
static const StdVideoH265ShortTermRefPicSet sets_265[] = {{.num_negative_pics = 1, .delta_poc_s0_minus1 = {500}},
                                                          {.num_positive_pics = 1, .delta_poc_s1_minus1 = {600}}};
static const StdVideoH265LongTermRefPicsSps long_265 = {.used_by_curr_pic_lt_sps_flag = 1};
static const StdVideoH265SequenceParameterSetVui vui_265 = {
    .flags = {.vui_timing_info_present_flag = 1, .vui_hrd_parameters_present_flag = 1},
    .vui_time_scale = 50,
    .pHrdParameters = &hrd_265};
static const StdVideoH265PredictorPaletteEntries palette_265 = {.PredictorPaletteEntries = {{1000, 2000}}};
static const StdVideoH265SequenceParameterSet sps_265 = {
    .flags = {.sps_scaling_list_data_present_flag = 1,
              .long_term_ref_pics_present_flag = 1,
              .vui_parameters_present_flag = 1,
              .sps_palette_predictor_initializers_present_flag = 1},
    .chroma_format_idc = STD_VIDEO_H265_CHROMA_FORMAT_IDC_420,
    .pic_width_in_luma_samples = SIDE,
    .pic_height_in_luma_samples = SIDE,
    .sps_max_sub_layers_minus1 = 1,
    .num_short_term_ref_pic_sets = COUNT_OF(sets_265),
    .num_long_term_ref_pics_sps = 1,
    .pProfileTierLevel = &tier_265,
    .pDecPicBufMgr = &buffers_265,
    .pScalingLists = &scaling_265,
    .pShortTermRefPicSet = sets_265,
    .pLongTermRefPicsSps = &long_265,
    .pSequenceParameterSetVui = &vui_265,
    .pPredictorPaletteEntries = &palette_265};
static const StdVideoH265PictureParameterSet pps_265 = {
    .flags = {.pps_scaling_list_data_present_flag = 1, .pps_palette_predictor_initializers_present_flag = 1},
    .init_qp_minus26 = -4,
    .pScalingLists = &scaling_265,
    .pPredictorPaletteEntries = &palette_265};

static void decode_265(const struct app *app, const uint32_t families[2])
{
    struct job job = job_of(app, families, false);
    const VkVideoDecodeH265ProfileInfoKHR profile = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_H265_PROFILE_INFO_KHR,
                                                     .stdProfileIdc = STD_VIDEO_H265_PROFILE_IDC_MAIN};
    VkVideoDecodeH265CapabilitiesKHR can_265 = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_H265_CAPABILITIES_KHR};
    VkVideoDecodeCapabilitiesKHR can = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_CAPABILITIES_KHR, .pNext = &can_265};
    const VkVideoDecodeH265SessionParametersAddInfoKHR sets = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_H265_SESSION_PARAMETERS_ADD_INFO_KHR,
        .stdVPSCount = 1,
        .pStdVPSs = &vps_265,
        .stdSPSCount = 1,
        .pStdSPSs = &sps_265,
        .stdPPSCount = 1,
        .pStdPPSs = &pps_265};
    const VkVideoDecodeH265SessionParametersCreateInfoKHR parameters = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_H265_SESSION_PARAMETERS_CREATE_INFO_KHR,
        .maxStdVPSCount = 1,
        .maxStdSPSCount = 1,
        .maxStdPPSCount = 1,
        .pParametersAddInfo = &sets};
    const StdVideoDecodeH265PictureInfo picture = {
        .flags = {.IrapPicFlag = 1}, .PicOrderCntVal = -6, .RefPicSetStCurrBefore = {0, 0xff}};
    const uint32_t offsets[] = {0, 4096};
    const VkVideoDecodeH265PictureInfoKHR info = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_H265_PICTURE_INFO_KHR,
                                                  .pStdPictureInfo = &picture,
                                                  .sliceSegmentCount = COUNT_OF(offsets),
                                                  .pSliceSegmentOffsets = offsets};
    const StdVideoDecodeH265ReferenceInfo reference = {.flags = {.used_for_long_term_reference = 1}};
    const VkVideoDecodeH265DpbSlotInfoKHR slot = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_H265_DPB_SLOT_INFO_KHR,
                                                  .pStdReferenceInfo = &reference};

    begin_job(&job, &profile, VK_VIDEO_CODEC_OPERATION_DECODE_H265_BIT_KHR, &can);
    create_parameters(&job, &parameters);
    end_job(&job, &info, &slot, NULL);
}

static void encode_265(const struct app *app, const uint32_t families[2])
{
    struct job job = job_of(app, families, true);
    const VkVideoEncodeH265ProfileInfoKHR profile = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_H265_PROFILE_INFO_KHR,
                                                     .stdProfileIdc = STD_VIDEO_H265_PROFILE_IDC_MAIN};
    VkVideoEncodeH265CapabilitiesKHR can_265 = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_H265_CAPABILITIES_KHR};
    VkVideoEncodeCapabilitiesKHR can = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_CAPABILITIES_KHR, .pNext = &can_265};
    const VkVideoEncodeH265SessionParametersAddInfoKHR sets = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_H265_SESSION_PARAMETERS_ADD_INFO_KHR,
        .stdVPSCount = 1,
        .pStdVPSs = &vps_265,
        .stdSPSCount = 1,
        .pStdSPSs = &sps_265,
        .stdPPSCount = 1,
        .pStdPPSs = &pps_265};
    const VkVideoEncodeH265SessionParametersCreateInfoKHR parameters = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_H265_SESSION_PARAMETERS_CREATE_INFO_KHR,
        .maxStdVPSCount = 1,
        .maxStdSPSCount = 1,
        .maxStdPPSCount = 1,
        .pParametersAddInfo = &sets};
    const StdVideoEncodeH265ReferenceListsInfo references = {.RefPicList0 = {1, 0xff}};
    const StdVideoEncodeH265LongTermRefPics pictures = {.num_long_term_pics = 1};
    const StdVideoEncodeH265PictureInfo picture = {.pic_type = STD_VIDEO_H265_PICTURE_TYPE_P,
                                                   .PicOrderCntVal = 3,
                                                   .pRefLists = &references,
                                                   .pShortTermRefPicSet = &sets_265[0],
                                                   .pLongTermRefPics = &pictures};
    const StdVideoEncodeH265WeightTable weights = {.luma_offset_l0 = {-9}};
    const StdVideoEncodeH265SliceSegmentHeader header = {
        .slice_type = STD_VIDEO_H265_SLICE_TYPE_P, .slice_cb_qp_offset = -3, .pWeightTable = &weights};
    const VkVideoEncodeH265NaluSliceSegmentInfoKHR segment = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_H265_NALU_SLICE_SEGMENT_INFO_KHR, .pStdSliceSegmentHeader = &header};
    const VkVideoEncodeH265PictureInfoKHR info = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_H265_PICTURE_INFO_KHR,
                                                  .naluSliceSegmentEntryCount = 1,
                                                  .pNaluSliceSegmentEntries = &segment,
                                                  .pStdPictureInfo = &picture};
    const StdVideoEncodeH265ReferenceInfo reference = {.pic_type = STD_VIDEO_H265_PICTURE_TYPE_I};
    const VkVideoEncodeH265DpbSlotInfoKHR slot = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_H265_DPB_SLOT_INFO_KHR,
                                                  .pStdReferenceInfo = &reference};

    begin_job(&job, &profile, VK_VIDEO_CODEC_OPERATION_ENCODE_H265_BIT_KHR, &can);
    create_parameters(&job, &parameters);
    end_job(&job, &info, &slot, NULL);
}

/* ---- AV1 ---- */

static const StdVideoAV1ColorConfig color_av1 = {.BitDepth = 8, .subsampling_x = 1, .subsampling_y = 1};
static const StdVideoAV1TimingInfo timing_av1 = {.num_units_in_display_tick = 1, .time_scale = 30};
static const StdVideoAV1SequenceHeader sequence_av1 = {.flags = {.timing_info_present_flag = 1},
                                                       .seq_profile = STD_VIDEO_AV1_PROFILE_MAIN,
                                                       .max_frame_width_minus_1 = SIDE - 1,
                                                       .max_frame_height_minus_1 = SIDE - 1,
                                                       .pColorConfig = &color_av1,
                                                       .pTimingInfo = &timing_av1};
static const uint16_t starts_av1[] = {0, 300, 600}, sizes_av1[] = {3, 4, 500};
static const StdVideoAV1TileInfo tiles_av1 = {.TileCols = 3,
                                              .TileRows = 2,
                                              .pMiColStarts = starts_av1,
                                              .pMiRowStarts = starts_av1,
                                              .pWidthInSbsMinus1 = sizes_av1,
                                              .pHeightInSbsMinus1 = sizes_av1};
static const StdVideoAV1Quantization quantization_av1 = {.base_q_idx = 100, .DeltaQYDc = -3};
static const StdVideoAV1Segmentation segmentation_av1 = {.FeatureEnabled = {1, 2}, .FeatureData = {{-300, 300}}};
static const StdVideoAV1LoopFilter filter_av1 = {.loop_filter_level = {1, 2}, .loop_filter_ref_deltas = {-1, 1}};
static const StdVideoAV1CDEF cdef_av1 = {.cdef_bits = 1, .cdef_y_pri_strength = {1, 2}};
static const StdVideoAV1LoopRestoration restoration_av1 = {.LoopRestorationSize = {256, 128}};
static const StdVideoAV1GlobalMotion motion_av1 = {.GmType = {1}, .gm_params = {{65536, -70000}}};
static const StdVideoAV1FilmGrain grain_av1 = {.grain_seed = 4000, .num_y_points = 1, .ar_coeffs_y_plus_128 = {-4}};

static void decode_av1(const struct app *app, const uint32_t families[2])
{
    struct job job = job_of(app, families, false);
    const VkVideoDecodeAV1ProfileInfoKHR profile = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_AV1_PROFILE_INFO_KHR,
                                                    .stdProfile = STD_VIDEO_AV1_PROFILE_MAIN,
                                                    .filmGrainSupport = VK_TRUE};
    VkVideoDecodeAV1CapabilitiesKHR can_av1 = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_AV1_CAPABILITIES_KHR};
    VkVideoDecodeCapabilitiesKHR can = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_CAPABILITIES_KHR, .pNext = &can_av1};
    const VkVideoDecodeAV1SessionParametersCreateInfoKHR parameters = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_AV1_SESSION_PARAMETERS_CREATE_INFO_KHR,
        .pStdSequenceHeader = &sequence_av1};
    const StdVideoDecodeAV1PictureInfo picture = {.flags = {.segmentation_enabled = 1, .apply_grain = 1},
                                                  .frame_type = STD_VIDEO_AV1_FRAME_TYPE_INTER,
                                                  .expectedFrameId = {1, 2},
                                                  .pTileInfo = &tiles_av1,
                                                  .pQuantization = &quantization_av1,
                                                  .pSegmentation = &segmentation_av1,
                                                  .pLoopFilter = &filter_av1,
                                                  .pCDEF = &cdef_av1,
                                                  .pLoopRestoration = &restoration_av1,
                                                  .pGlobalMotion = &motion_av1,
                                                  .pFilmGrain = &grain_av1};
    const uint32_t offsets[] = {100, 200}, sizes[] = {100, 50};
    const VkVideoDecodeAV1PictureInfoKHR info = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_AV1_PICTURE_INFO_KHR,
                                                 .pStdPictureInfo = &picture,
                                                 .referenceNameSlotIndices = {0, -1, -1, -1, -1, -1, -1},
                                                 .tileCount = COUNT_OF(offsets),
                                                 .pTileOffsets = offsets,
                                                 .pTileSizes = sizes};
    const StdVideoDecodeAV1ReferenceInfo reference = {.OrderHint = 1};
    const VkVideoDecodeAV1DpbSlotInfoKHR slot = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_AV1_DPB_SLOT_INFO_KHR,
                                                 .pStdReferenceInfo = &reference};

    begin_job(&job, &profile, VK_VIDEO_CODEC_OPERATION_DECODE_AV1_BIT_KHR, &can);
    create_parameters(&job, &parameters);
    end_job(&job, &info, &slot, NULL);
}

static void encode_av1(const struct app *app, const uint32_t families[2])
{
    struct job job = job_of(app, families, true);
    const VkVideoEncodeAV1ProfileInfoKHR profile = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_AV1_PROFILE_INFO_KHR,
                                                    .stdProfile = STD_VIDEO_AV1_PROFILE_MAIN};
    VkVideoEncodeAV1CapabilitiesKHR can_av1 = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_AV1_CAPABILITIES_KHR};
    VkVideoEncodeCapabilitiesKHR can = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_CAPABILITIES_KHR, .pNext = &can_av1};
    const StdVideoEncodeAV1OperatingPointInfo points[] = {{.seq_level_idx = 5}, {.seq_level_idx = 6}};
    const StdVideoEncodeAV1DecoderModelInfo decoder = {.num_units_in_decoding_tick = 9};
    const VkVideoEncodeAV1SessionParametersCreateInfoKHR parameters = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_AV1_SESSION_PARAMETERS_CREATE_INFO_KHR,
        .pStdSequenceHeader = &sequence_av1,
        .pStdDecoderModelInfo = &decoder,
        .stdOperatingPointCount = COUNT_OF(points),
        .pStdOperatingPoints = points};
    const uint32_t times[] = {70000, 80000}; /* for each operating point */
    const StdVideoEncodeAV1ExtensionHeader extension = {.temporal_id = 1};
    const StdVideoEncodeAV1PictureInfo picture = {
        .flags = {.buffer_removal_time_present_flag = 1, .segmentation_enabled = 1},
        .frame_type = STD_VIDEO_AV1_FRAME_TYPE_INTER,
        .ref_frame_idx = {-1, 2},
        .pTileInfo = &tiles_av1,
        .pQuantization = &quantization_av1,
        .pSegmentation = &segmentation_av1,
        .pLoopFilter = &filter_av1,
        .pCDEF = &cdef_av1,
        .pLoopRestoration = &restoration_av1,
        .pGlobalMotion = &motion_av1,
        .pExtensionHeader = &extension,
        .pBufferRemovalTimes = times};
    const VkVideoEncodeAV1PictureInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_AV1_PICTURE_INFO_KHR,
        .predictionMode = VK_VIDEO_ENCODE_AV1_PREDICTION_MODE_SINGLE_REFERENCE_KHR,
        .rateControlGroup = VK_VIDEO_ENCODE_AV1_RATE_CONTROL_GROUP_PREDICTIVE_KHR,
        .pStdPictureInfo = &picture};
    const StdVideoEncodeAV1ReferenceInfo reference = {.RefFrameId = 7, .pExtensionHeader = &extension};
    const VkVideoEncodeAV1DpbSlotInfoKHR slot = {.sType = VK_STRUCTURE_TYPE_VIDEO_ENCODE_AV1_DPB_SLOT_INFO_KHR,
                                                 .pStdReferenceInfo = &reference};

    begin_job(&job, &profile, VK_VIDEO_CODEC_OPERATION_ENCODE_AV1_BIT_KHR, &can);
    create_parameters(&job, &parameters);
    end_job(&job, &info, &slot, NULL);
}

/* ---- VP9, which has no parameters ---- */

static void decode_vp9(const struct app *app, const uint32_t families[2])
{
    struct job job = job_of(app, families, false);
    const VkVideoDecodeVP9ProfileInfoKHR profile = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_VP9_PROFILE_INFO_KHR,
                                                    .stdProfile = STD_VIDEO_VP9_PROFILE_0};
    VkVideoDecodeVP9CapabilitiesKHR can_vp9 = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_VP9_CAPABILITIES_KHR};
    VkVideoDecodeCapabilitiesKHR can = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_CAPABILITIES_KHR, .pNext = &can_vp9};
    const StdVideoVP9ColorConfig color = {.BitDepth = 8, .subsampling_x = 1, .subsampling_y = 1};
    const StdVideoVP9LoopFilter filter = {.loop_filter_level = 3, .loop_filter_ref_deltas = {-1}};
    const StdVideoVP9Segmentation segmentation = {.segmentation_tree_probs = {255}, .FeatureData = {{-7}}};
    const StdVideoDecodeVP9PictureInfo picture = {.flags = {.segmentation_enabled = 1, .show_frame = 1},
                                                  .frame_type = STD_VIDEO_VP9_FRAME_TYPE_NON_KEY,
                                                  .delta_q_y_dc = -2,
                                                  .pColorConfig = &color,
                                                  .pLoopFilter = &filter,
                                                  .pSegmentation = &segmentation};
    const VkVideoDecodeVP9PictureInfoKHR info = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_VP9_PICTURE_INFO_KHR,
                                                 .pStdPictureInfo = &picture,
                                                 .referenceNameSlotIndices = {0, -1, -1},
                                                 .compressedHeaderOffset = 20,
                                                 .tilesOffset = 60};

    begin_job(&job, &profile, VK_VIDEO_CODEC_OPERATION_DECODE_VP9_BIT_KHR, &can);
    end_job(&job, &info, NULL, NULL);
}

/* Something that a replay can compare. */
static void fill(const struct app *app)
{
    struct app_buffer buffer;
    VkCommandBuffer commands;

    app_buffer_create(app, &buffer, 256, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    commands = app_begin(app);
    vkCmdFillBuffer(commands, buffer.buffer, 0, VK_WHOLE_SIZE, 7);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &buffer, 0, 256);
    EXPECT_EQ(app, buffer.mapped[0], 7);
    app_buffer_destroy(app, &buffer);
}

static void create_device(struct app *app, uint32_t families[2])
{
    const VkPhysicalDeviceVideoMaintenance1FeaturesKHR inlined = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VIDEO_MAINTENANCE_1_FEATURES_KHR, .videoMaintenance1 = VK_TRUE};
    const VkPhysicalDeviceVideoDecodeVP9FeaturesKHR vp9 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VIDEO_DECODE_VP9_FEATURES_KHR,
        .pNext = (void *)(uintptr_t)&inlined,
        .videoDecodeVP9 = VK_TRUE};
    const VkPhysicalDeviceVideoEncodeAV1FeaturesKHR av1 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VIDEO_ENCODE_AV1_FEATURES_KHR,
        .pNext = (void *)(uintptr_t)&vp9,
        .videoEncodeAV1 = VK_TRUE};
    const float priority = 1;
    VkQueueFamilyProperties properties[16];
    VkDeviceQueueCreateInfo queues[3];
    struct app_device_request request = {.extensions = extensions,
                                         .extension_count = COUNT_OF(extensions),
                                         .next = &av1,
                                         .queues = queues,
                                         .queue_count = 3};
    uint32_t count = 16;

    for (uint32_t i = 0; i < COUNT_OF(extensions); i++)
        if (!app_has_extension(app, extensions[i]))
            app_skip(app, "this driver does not pretend to code everything");
    vkGetPhysicalDeviceQueueFamilyProperties(app->physical, &count, properties);
    for (uint32_t i = 0; i < count; i++) {
        if (properties[i].queueFlags & VK_QUEUE_VIDEO_DECODE_BIT_KHR)
            families[0] = i;
        if (properties[i].queueFlags & VK_QUEUE_VIDEO_ENCODE_BIT_KHR)
            families[1] = i;
    }
    for (uint32_t i = 0; i < 3; i++)
        queues[i] = (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                              .queueFamilyIndex = i ? families[i - 1] : app->queue_family,
                                              .queueCount = 1,
                                              .pQueuePriorities = &priority};
    app_device_create(app, &request);
}
#endif

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "codecs", .what = "calls what decodes and encodes video of every codec", .frames = 1};
    struct app app;

    app_init(&app, argc, argv, &program);
#ifdef VK_KHR_video_decode_vp9
    uint32_t families[2] = {0, 0}; /* that decodes, that encodes */
    create_device(&app, families);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        encode_264(&app, families);
        decode_265(&app, families);
        encode_265(&app, families);
        decode_av1(&app, families);
        encode_av1(&app, families);
        decode_vp9(&app, families);
        fill(&app);
    }
    return app_finish(&app);
#else
    app_skip(&app, "built from a registry without all codecs");
#endif
}
