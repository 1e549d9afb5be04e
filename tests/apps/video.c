/* SPDX-License-Identifier: MIT */
/*
 * video: decodes three pictures of H.264, whose bits the program writes itself, so that every sample is known: the
 * first has its samples in the stream as they are, the second repeats it, the third moves it by whole samples. The
 * parameters of the third come into the session later. Decoded pictures are copied to buffers by the queue for
 * everything else.
 */
#include <vulkan/vulkan.h>

#include "common/app.h"

#define MACROBLOCK   16u
#define LEAST_SIDE   128u
#define PICTURES     3u
#define SLOTS        2u
#define STREAM_BYTES (1u << 20)
#define MOST_MEMORY  16u
#define MOST_FORMATS 64u
#define FORMAT       VK_FORMAT_G8_B8R8_2PLANE_420_UNORM
/* Usage of decoded pictures, and of references. */
#define SHOWN (VK_IMAGE_USAGE_VIDEO_DECODE_DST_BIT_KHR | VK_IMAGE_USAGE_TRANSFER_SRC_BIT)
#define KEPT  VK_IMAGE_USAGE_VIDEO_DECODE_DPB_BIT_KHR
/* By how much the third picture moves: luma samples, even so that chroma moves by whole ones. */
#define MOVE_X 2
#define MOVE_Y (-4)

struct functions {
    PFN_vkGetPhysicalDeviceVideoCapabilitiesKHR get_capabilities;
    PFN_vkGetPhysicalDeviceVideoFormatPropertiesKHR get_formats;
    PFN_vkCreateVideoSessionKHR create_session;
    PFN_vkDestroyVideoSessionKHR destroy_session;
    PFN_vkGetVideoSessionMemoryRequirementsKHR get_memory;
    PFN_vkBindVideoSessionMemoryKHR bind_memory;
    PFN_vkCreateVideoSessionParametersKHR create_parameters;
    PFN_vkUpdateVideoSessionParametersKHR update_parameters;
    PFN_vkDestroyVideoSessionParametersKHR destroy_parameters;
    PFN_vkCmdBeginVideoCodingKHR begin;
    PFN_vkCmdEndVideoCodingKHR end;
    PFN_vkCmdControlVideoCodingKHR control;
    PFN_vkCmdDecodeVideoKHR decode;
    PFN_vkCmdPipelineBarrier2 barrier;
    PFN_vkQueueSubmit2 submit;
};

/* A picture: a plane of luma, and one of both chromas in turn at half the size. */
struct picture {
    uint8_t *luma, *chroma;
};

struct job {
    struct functions vk;
    VkVideoDecodeH264ProfileInfoKHR h264;
    VkVideoProfileInfoKHR profile;
    VkVideoProfileListInfoKHR profiles;
    VkVideoDecodeH264CapabilitiesKHR h264_can;
    VkVideoDecodeCapabilitiesKHR decode_can;
    VkVideoCapabilitiesKHR can;
    uint32_t family, width, height;
    bool coincide, has_status;
    VkQueue queue;
    VkCommandPool pool;
    VkVideoSessionKHR session;
    VkDeviceMemory memories[MOST_MEMORY];
    uint32_t memory_count;
    VkVideoSessionParametersKHR parameters;
    VkQueryPool status;
    struct app_buffer stream, read_back;
    VkImage references, output; /* the same one where they coincide */
    VkDeviceMemory reference_memory, output_memory;
    VkImageView reference_view, output_view;
    VkSemaphore decoded;
    struct picture expected[PICTURES];
    uint32_t offsets[PICTURES], bytes[PICTURES]; /* in the stream */
};

/* ---- bits of H.264 (ITU-T H.264, 7.3) ---- */

struct bits {
    uint8_t *data;
    uint32_t bytes, zeroes; /* zeroes: in a row at the end */
    uint32_t value, count;  /* of the byte that is being written */
};

/* "emulation_prevention_three_byte" */
static void put_byte(struct bits *bits, uint8_t byte)
{
    CHECK(bits->bytes + 2 <= STREAM_BYTES);
    if (bits->zeroes >= 2 && byte <= 3) {
        bits->data[bits->bytes++] = 3;
        bits->zeroes = 0;
    }
    bits->data[bits->bytes++] = byte;
    bits->zeroes = byte ? 0 : bits->zeroes + 1;
}

static void put(struct bits *bits, uint32_t value, uint32_t count)
{
    while (count--) {
        bits->value = bits->value << 1 | (value >> count & 1);
        if (++bits->count == 8) {
            put_byte(bits, (uint8_t)bits->value);
            bits->value = bits->count = 0;
        }
    }
}

static void put_unsigned(struct bits *bits, uint32_t value)
{
    uint32_t length = 0;
    while ((value + 1) >> (length + 1))
        length++;
    put(bits, 0, length);
    put(bits, value + 1, length + 1);
}

static void put_signed(struct bits *bits, int32_t value)
{
    put_unsigned(bits, value > 0 ? (uint32_t)(2 * value - 1) : (uint32_t)(-2 * value));
}

static void align(struct bits *bits)
{
    while (bits->count)
        put(bits, 0, 1);
}

/* The header of a slice that is all of the picture with this number. */
static void begin_slice(struct bits *bits, uint32_t number)
{
    static const uint8_t start[] = {0, 0, 1};
    for (uint32_t i = 0; i < sizeof start; i++)
        bits->data[bits->bytes++] = start[i];
    bits->zeroes = 0;
    put(bits, number ? 0x61 : 0x65, 8);         /* a reference picture, of an IDR picture the first */
    put_unsigned(bits, 0);                      /* first_mb_in_slice */
    put_unsigned(bits, number ? 5 : 7);         /* slice_type: P or I, as all slices of the picture */
    put_unsigned(bits, number == PICTURES - 1); /* pic_parameter_set_id */
    put(bits, number, 4);                       /* frame_num */
    if (!number)
        put_unsigned(bits, 0); /* idr_pic_id */
    put(bits, 2 * number, 4);  /* pic_order_cnt_lsb */
    put(bits, 0, 2);           /* P: num_ref_idx_active_override_flag, ref_pic_list_modification_flag_l0. IDR:
                                  no_output_of_prior_pics_flag, long_term_reference_flag */
    if (number)
        put(bits, 0, 1);   /* adaptive_ref_pic_marking_mode_flag */
    put_signed(bits, 0);   /* slice_qp_delta */
    put_unsigned(bits, 1); /* disable_deblocking_filter_idc */
}

static void end_slice(struct bits *bits)
{
    put(bits, 1, 1); /* rbsp_stop_one_bit */
    align(bits);
}

/* Macroblocks with their samples as they are (I_PCM). */
static void put_samples(const struct job *job, struct bits *bits, const struct picture *picture)
{
    const uint32_t width = job->width, half = MACROBLOCK / 2;

    for (uint32_t y = 0; y < job->height; y += MACROBLOCK)
        for (uint32_t x = 0; x < width; x += MACROBLOCK) {
            put_unsigned(bits, 25);
            align(bits);
            for (uint32_t i = 0; i < MACROBLOCK * MACROBLOCK; i++)
                put(bits, picture->luma[(y + i / MACROBLOCK) * width + x + i % MACROBLOCK], 8);
            for (uint32_t plane = 0; plane < 2; plane++)
                for (uint32_t i = 0; i < half * half; i++)
                    put(bits, picture->chroma[(y / 2 + i / half) * width + x + 2 * (i % half) + plane], 8);
        }
}

/* All macroblocks have the same vector, which is predicted but for the first. */
static void put_moves(const struct job *job, struct bits *bits)
{
    uint32_t count = job->width / MACROBLOCK * (job->height / MACROBLOCK);

    for (uint32_t i = 0; i < count; i++) {
        put_unsigned(bits, 0);                /* mb_skip_run */
        put_unsigned(bits, 0);                /* mb_type: P_L0_16x16 */
        put_signed(bits, i ? 0 : 4 * MOVE_X); /* mvd_l0, in quarters of a sample */
        put_signed(bits, i ? 0 : 4 * MOVE_Y);
        put_unsigned(bits, 0); /* coded_block_pattern: nothing is left over */
    }
}

static void write_stream(const struct app *app, struct job *job)
{
    const uint64_t offset_atom = job->can.minBitstreamBufferOffsetAlignment,
                   size_atom = job->can.minBitstreamBufferSizeAlignment;
    struct bits bits = {.data = job->stream.mapped};

    memset(job->stream.mapped, 0, STREAM_BYTES);
    for (uint32_t i = 0; i < PICTURES; i++) {
        bits.bytes = (uint32_t)((bits.bytes + offset_atom - 1) / offset_atom * offset_atom);
        job->offsets[i] = bits.bytes;
        begin_slice(&bits, i);
        if (i == 0)
            put_samples(job, &bits, &job->expected[0]);
        else if (i == 1)
            put_unsigned(&bits, job->width / MACROBLOCK * (job->height / MACROBLOCK)); /* mb_skip_run */
        else
            put_moves(job, &bits);
        end_slice(&bits);
        job->bytes[i] = (uint32_t)((bits.bytes - job->offsets[i] + size_atom - 1) / size_atom * size_atom);
        bits.bytes = job->offsets[i] + job->bytes[i];
        CHECK(bits.bytes <= STREAM_BYTES);
    }
    app_buffer_flush(app, &job->stream, 0, STREAM_BYTES);
}

/* ---- what comes out ---- */

static uint32_t clamp(int64_t value, uint32_t end)
{
    return value < 0 ? 0 : value >= (int64_t)end ? end - 1 : (uint32_t)value;
}

static void expect_pictures(struct job *job)
{
    const uint32_t width = job->width, height = job->height;
    uint32_t random = 1;

    for (uint32_t i = 0; i < PICTURES; i++) {
        job->expected[i].luma = malloc((size_t)width * height);
        job->expected[i].chroma = malloc((size_t)width * height / 2);
        CHECK(job->expected[i].luma && job->expected[i].chroma);
    }
    for (uint32_t i = 0; i < width * height; i++)
        job->expected[0].luma[i] = (uint8_t)(16 + ((random = random * 1664525 + 1013904223) >> 24) % 220);
    for (uint32_t i = 0; i < width * height / 2; i++)
        job->expected[0].chroma[i] = (uint8_t)(16 + ((random = random * 1664525 + 1013904223) >> 24) % 220);
    memcpy(job->expected[1].luma, job->expected[0].luma, (size_t)width * height);
    memcpy(job->expected[1].chroma, job->expected[0].chroma, (size_t)width * height / 2);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            job->expected[2].luma[y * width + x] =
                job->expected[1].luma[clamp((int64_t)y + MOVE_Y, height) * width + clamp((int64_t)x + MOVE_X, width)];
    for (uint32_t y = 0; y < height / 2; y++)
        for (uint32_t x = 0; x < width; x++)
            job->expected[2].chroma[y * width + x] =
                job->expected[1].chroma[clamp((int64_t)y + MOVE_Y / 2, height / 2) * width +
                                        2 * clamp((int64_t)(x / 2) + MOVE_X / 2, width / 2) + x % 2];
}

static void check_picture(const struct app *app, const struct job *job, uint32_t number)
{
    const size_t luma = (size_t)job->width * job->height;

    app_buffer_invalidate(app, &job->read_back, 0, luma * 3 / 2);
    EXPECT_EQ(app, memcmp(job->read_back.mapped, job->expected[number].luma, luma), 0);
    EXPECT_EQ(app, memcmp(job->read_back.mapped + luma, job->expected[number].chroma, luma / 2), 0);
}

/* ---- the device ---- */

static void choose_family(const struct app *app, struct job *job)
{
    VkQueueFamilyQueryResultStatusPropertiesKHR status[16];
    VkQueueFamilyVideoPropertiesKHR videos[16];
    VkQueueFamilyProperties2 families[16];
    uint32_t count = 16;

    for (uint32_t i = 0; i < count; i++) {
        status[i] = (VkQueueFamilyQueryResultStatusPropertiesKHR){
            .sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_QUERY_RESULT_STATUS_PROPERTIES_KHR};
        videos[i] = (VkQueueFamilyVideoPropertiesKHR){.sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_VIDEO_PROPERTIES_KHR,
                                                      .pNext = &status[i]};
        families[i] =
            (VkQueueFamilyProperties2){.sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2, .pNext = &videos[i]};
    }
    vkGetPhysicalDeviceQueueFamilyProperties2(app->physical, &count, families);
    for (job->family = 0; job->family < count; job->family++)
        if (families[job->family].queueFamilyProperties.queueFlags & VK_QUEUE_VIDEO_DECODE_BIT_KHR &&
            videos[job->family].videoCodecOperations & VK_VIDEO_CODEC_OPERATION_DECODE_H264_BIT_KHR) {
            job->has_status = status[job->family].queryResultStatusSupport;
            return;
        }
    app_skip(app, "no queues decode H.264");
}

static bool has_format(const struct app *app, const struct job *job, VkImageUsageFlags usage)
{
    const VkPhysicalDeviceVideoFormatInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VIDEO_FORMAT_INFO_KHR, .pNext = &job->profiles, .imageUsage = usage};
    VkVideoFormatPropertiesKHR formats[MOST_FORMATS];
    uint32_t count = MOST_FORMATS;
    bool found = false;

    memset(formats, 0, sizeof formats);
    for (uint32_t i = 0; i < MOST_FORMATS; i++)
        formats[i].sType = VK_STRUCTURE_TYPE_VIDEO_FORMAT_PROPERTIES_KHR;
    if (job->vk.get_formats(app->physical, &info, &count, formats) < 0)
        return false;
    for (uint32_t i = 0; i < count; i++)
        found = found || (formats[i].format == FORMAT && formats[i].imageTiling == VK_IMAGE_TILING_OPTIMAL);
    return found;
}

static void ask(const struct app *app, struct job *job)
{
    static const StdVideoH264ProfileIdc profiles[] = {STD_VIDEO_H264_PROFILE_IDC_BASELINE,
                                                      STD_VIDEO_H264_PROFILE_IDC_MAIN, STD_VIDEO_H264_PROFILE_IDC_HIGH};
    VkResult result = VK_NOT_READY;

    job->vk.get_capabilities = (PFN_vkGetPhysicalDeviceVideoCapabilitiesKHR)vkGetInstanceProcAddr(
        app->instance, "vkGetPhysicalDeviceVideoCapabilitiesKHR");
    job->vk.get_formats = (PFN_vkGetPhysicalDeviceVideoFormatPropertiesKHR)vkGetInstanceProcAddr(
        app->instance, "vkGetPhysicalDeviceVideoFormatPropertiesKHR");
    job->h264 = (VkVideoDecodeH264ProfileInfoKHR){.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_H264_PROFILE_INFO_KHR,
                                                  .stdProfileIdc = STD_VIDEO_H264_PROFILE_IDC_BASELINE,
                                                  .pictureLayout = VK_VIDEO_DECODE_H264_PICTURE_LAYOUT_PROGRESSIVE_KHR};
    job->profile = (VkVideoProfileInfoKHR){.sType = VK_STRUCTURE_TYPE_VIDEO_PROFILE_INFO_KHR,
                                           .pNext = &job->h264,
                                           .videoCodecOperation = VK_VIDEO_CODEC_OPERATION_DECODE_H264_BIT_KHR,
                                           .chromaSubsampling = VK_VIDEO_CHROMA_SUBSAMPLING_420_BIT_KHR,
                                           .lumaBitDepth = VK_VIDEO_COMPONENT_BIT_DEPTH_8_BIT_KHR,
                                           .chromaBitDepth = VK_VIDEO_COMPONENT_BIT_DEPTH_8_BIT_KHR};
    job->profiles = (VkVideoProfileListInfoKHR){
        .sType = VK_STRUCTURE_TYPE_VIDEO_PROFILE_LIST_INFO_KHR, .profileCount = 1, .pProfiles = &job->profile};
    job->h264_can.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_H264_CAPABILITIES_KHR;
    job->decode_can.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_CAPABILITIES_KHR;
    job->decode_can.pNext = &job->h264_can;
    job->can.sType = VK_STRUCTURE_TYPE_VIDEO_CAPABILITIES_KHR;
    job->can.pNext = &job->decode_can;
    /* What the stream has is in any of these. */
    for (uint32_t i = 0; i < COUNT_OF(profiles) && result != VK_SUCCESS; i++) {
        job->h264.stdProfileIdc = profiles[i];
        result = job->vk.get_capabilities(app->physical, &job->profile, &job->can);
    }
    if (result != VK_SUCCESS)
        app_skip(app, "the device does not decode H.264's simple profiles");
    job->coincide = job->decode_can.flags & VK_VIDEO_DECODE_CAPABILITY_DPB_AND_OUTPUT_COINCIDE_BIT_KHR &&
                    has_format(app, job, SHOWN | KEPT);
    if (!job->coincide && !(has_format(app, job, SHOWN) && has_format(app, job, KEPT)))
        app_skip(app, "decoded pictures can't be copied in a format of two planes");
    job->width = job->height = LEAST_SIDE;
    while (job->width < job->can.minCodedExtent.width)
        job->width += MACROBLOCK;
    while (job->height < job->can.minCodedExtent.height)
        job->height += MACROBLOCK;
    if (job->can.maxDpbSlots < SLOTS || job->width > job->can.maxCodedExtent.width ||
        job->height > job->can.maxCodedExtent.height || job->width * job->height > STREAM_BYTES / 2)
        app_skip(app, "pictures or references are too few or too small");
}

static void create_device(struct app *app, struct job *job)
{
    static const char *const extensions[] = {"VK_KHR_video_queue", "VK_KHR_video_decode_queue",
                                             "VK_KHR_video_decode_h264"};
    const VkPhysicalDeviceSynchronization2Features two = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES, .synchronization2 = VK_TRUE};
    const float priority = 1;
    const VkDeviceQueueCreateInfo queues[] = {{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                               .queueFamilyIndex = app->queue_family,
                                               .queueCount = 1,
                                               .pQueuePriorities = &priority},
                                              {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                               .queueFamilyIndex = job->family,
                                               .queueCount = 1,
                                               .pQueuePriorities = &priority}};
    const struct app_device_request request = {.extensions = extensions,
                                               .extension_count = COUNT_OF(extensions),
                                               .next = &two,
                                               .queues = queues,
                                               .queue_count = job->family == app->queue_family ? 1 : 2};
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = job->family};
    const VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};

    app_device_create(app, &request);
    job->vk.create_session = (PFN_vkCreateVideoSessionKHR)app_device_function(app, "vkCreateVideoSessionKHR");
    job->vk.destroy_session = (PFN_vkDestroyVideoSessionKHR)app_device_function(app, "vkDestroyVideoSessionKHR");
    job->vk.get_memory =
        (PFN_vkGetVideoSessionMemoryRequirementsKHR)app_device_function(app, "vkGetVideoSessionMemoryRequirementsKHR");
    job->vk.bind_memory = (PFN_vkBindVideoSessionMemoryKHR)app_device_function(app, "vkBindVideoSessionMemoryKHR");
    job->vk.create_parameters =
        (PFN_vkCreateVideoSessionParametersKHR)app_device_function(app, "vkCreateVideoSessionParametersKHR");
    job->vk.update_parameters =
        (PFN_vkUpdateVideoSessionParametersKHR)app_device_function(app, "vkUpdateVideoSessionParametersKHR");
    job->vk.destroy_parameters =
        (PFN_vkDestroyVideoSessionParametersKHR)app_device_function(app, "vkDestroyVideoSessionParametersKHR");
    job->vk.begin = (PFN_vkCmdBeginVideoCodingKHR)app_device_function(app, "vkCmdBeginVideoCodingKHR");
    job->vk.end = (PFN_vkCmdEndVideoCodingKHR)app_device_function(app, "vkCmdEndVideoCodingKHR");
    job->vk.control = (PFN_vkCmdControlVideoCodingKHR)app_device_function(app, "vkCmdControlVideoCodingKHR");
    job->vk.decode = (PFN_vkCmdDecodeVideoKHR)app_device_function(app, "vkCmdDecodeVideoKHR");
    job->vk.barrier = (PFN_vkCmdPipelineBarrier2)app_device_function(app, "vkCmdPipelineBarrier2");
    job->vk.submit = (PFN_vkQueueSubmit2)app_device_function(app, "vkQueueSubmit2");
    vkGetDeviceQueue(app->device, job->family, 0, &job->queue);
    CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &job->pool));
    CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &job->decoded));
}

/* ---- sessions ---- */

static void create_session(const struct app *app, struct job *job)
{
    const VkVideoSessionCreateInfoKHR create = {.sType = VK_STRUCTURE_TYPE_VIDEO_SESSION_CREATE_INFO_KHR,
                                                .queueFamilyIndex = job->family,
                                                .pVideoProfile = &job->profile,
                                                .pictureFormat = FORMAT,
                                                .maxCodedExtent = {job->width, job->height},
                                                .referencePictureFormat = FORMAT,
                                                .maxDpbSlots = SLOTS,
                                                .maxActiveReferencePictures = 1,
                                                .pStdHeaderVersion = &job->can.stdHeaderVersion};
    VkVideoSessionMemoryRequirementsKHR needs[MOST_MEMORY];
    VkBindVideoSessionMemoryInfoKHR binds[MOST_MEMORY];
    uint32_t count = 0;

    CHECK_VK(job->vk.create_session(app->device, &create, NULL, &job->session));
    CHECK_VK(job->vk.get_memory(app->device, job->session, &count, NULL));
    CHECK(count <= MOST_MEMORY);
    memset(needs, 0, sizeof needs);
    for (uint32_t i = 0; i < count; i++)
        needs[i].sType = VK_STRUCTURE_TYPE_VIDEO_SESSION_MEMORY_REQUIREMENTS_KHR;
    CHECK_VK(job->vk.get_memory(app->device, job->session, &count, needs));
    for (uint32_t i = 0; i < count; i++) {
        const VkMemoryRequirements *need = &needs[i].memoryRequirements;
        VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = need->size};
        allocate.memoryTypeIndex = app_memory_type_for(app, need->memoryTypeBits, APP_DEVICE);
        CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &job->memories[i]));
        binds[i] = (VkBindVideoSessionMemoryInfoKHR){.sType = VK_STRUCTURE_TYPE_BIND_VIDEO_SESSION_MEMORY_INFO_KHR,
                                                     .memoryBindIndex = needs[i].memoryBindIndex,
                                                     .memory = job->memories[i],
                                                     .memorySize = need->size};
    }
    job->memory_count = count;
    if (count)
        CHECK_VK(job->vk.bind_memory(app->device, job->session, count, binds));
}

static StdVideoH264PictureParameterSet picture_parameters(uint8_t number)
{
    return (StdVideoH264PictureParameterSet){.flags = {.deblocking_filter_control_present_flag = 1},
                                             .seq_parameter_set_id = 0,
                                             .pic_parameter_set_id = number,
                                             .weighted_bipred_idc = STD_VIDEO_H264_WEIGHTED_BIPRED_IDC_DEFAULT};
}

static void create_parameters(const struct app *app, struct job *job)
{
    /* What the stream need not say: how fast it is shown. */
    const StdVideoH264SequenceParameterSetVui shown = {
        .flags = {.aspect_ratio_info_present_flag = 1, .timing_info_present_flag = 1, .fixed_frame_rate_flag = 1},
        .aspect_ratio_idc = STD_VIDEO_H264_ASPECT_RATIO_IDC_SQUARE,
        .num_units_in_tick = 1,
        .time_scale = 50};
    const StdVideoH264SequenceParameterSet sequence = {.flags = {.constraint_set0_flag = 1,
                                                                 .direct_8x8_inference_flag = 1,
                                                                 .frame_mbs_only_flag = 1,
                                                                 .vui_parameters_present_flag = 1},
                                                       .profile_idc = job->h264.stdProfileIdc,
                                                       .level_idc = STD_VIDEO_H264_LEVEL_IDC_3_0,
                                                       .chroma_format_idc = STD_VIDEO_H264_CHROMA_FORMAT_IDC_420,
                                                       .pic_order_cnt_type = STD_VIDEO_H264_POC_TYPE_0,
                                                       .max_num_ref_frames = 1,
                                                       .pic_width_in_mbs_minus1 = job->width / MACROBLOCK - 1,
                                                       .pic_height_in_map_units_minus1 = job->height / MACROBLOCK - 1,
                                                       .pSequenceParameterSetVui = &shown};
    const StdVideoH264PictureParameterSet picture = picture_parameters(0);
    const VkVideoDecodeH264SessionParametersAddInfoKHR first = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_H264_SESSION_PARAMETERS_ADD_INFO_KHR,
        .stdSPSCount = 1,
        .pStdSPSs = &sequence,
        .stdPPSCount = 1,
        .pStdPPSs = &picture};
    const VkVideoDecodeH264SessionParametersCreateInfoKHR h264 = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_H264_SESSION_PARAMETERS_CREATE_INFO_KHR,
        .maxStdSPSCount = 1,
        .maxStdPPSCount = 2,
        .pParametersAddInfo = &first};
    const VkVideoSessionParametersCreateInfoKHR create = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_SESSION_PARAMETERS_CREATE_INFO_KHR,
        .pNext = &h264,
        .videoSession = job->session};

    CHECK_VK(job->vk.create_parameters(app->device, &create, NULL, &job->parameters));
}

static void update_parameters(const struct app *app, struct job *job)
{
    const StdVideoH264PictureParameterSet picture = picture_parameters(1);
    const VkVideoDecodeH264SessionParametersAddInfoKHR more = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_H264_SESSION_PARAMETERS_ADD_INFO_KHR,
        .stdPPSCount = 1,
        .pStdPPSs = &picture};
    const VkVideoSessionParametersUpdateInfoKHR update = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_SESSION_PARAMETERS_UPDATE_INFO_KHR, .pNext = &more, .updateSequenceCount = 1};

    CHECK_VK(job->vk.update_parameters(app->device, job->parameters, &update));
}

static void create_status(const struct app *app, struct job *job)
{
    const VkQueryPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                          .pNext = &job->profile,
                                          .queryType = VK_QUERY_TYPE_RESULT_STATUS_ONLY_KHR,
                                          .queryCount = PICTURES};

    if (job->has_status)
        CHECK_VK(vkCreateQueryPool(app->device, &create, NULL, &job->status));
}

/* ---- buffers and images ---- */

static void create_stream(const struct app *app, struct job *job)
{
    const VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                       .pNext = &job->profiles,
                                       .size = STREAM_BYTES,
                                       .usage = VK_BUFFER_USAGE_VIDEO_DECODE_SRC_BIT_KHR};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    struct app_buffer *buffer = &job->stream;
    VkMemoryRequirements needs;
    void *data;

    buffer->size = STREAM_BYTES;
    CHECK_VK(vkCreateBuffer(app->device, &create, NULL, &buffer->buffer));
    vkGetBufferMemoryRequirements(app->device, buffer->buffer, &needs);
    allocate.allocationSize = buffer->allocated = needs.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, needs.memoryTypeBits, APP_UPLOAD);
    buffer->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &buffer->memory));
    CHECK_VK(vkBindBufferMemory(app->device, buffer->buffer, buffer->memory, 0));
    CHECK_VK(vkMapMemory(app->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &data));
    buffer->mapped = data;
}

static void create_image(const struct app *app, const struct job *job, VkImageUsageFlags usage, uint32_t layers,
                         VkImage *out_image, VkDeviceMemory *out_memory, VkImageView *out_view)
{
    const uint32_t families[] = {app->queue_family, job->family};
    const bool both = usage & VK_IMAGE_USAGE_TRANSFER_SRC_BIT && job->family != app->queue_family;
    const VkImageCreateInfo create = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                      .pNext = &job->profiles,
                                      .imageType = VK_IMAGE_TYPE_2D,
                                      .format = FORMAT,
                                      .extent = {job->width, job->height, 1},
                                      .mipLevels = 1,
                                      .arrayLayers = layers,
                                      .samples = VK_SAMPLE_COUNT_1_BIT,
                                      .tiling = VK_IMAGE_TILING_OPTIMAL,
                                      .usage = usage,
                                      .sharingMode = both ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
                                      .queueFamilyIndexCount = both ? 2 : 0,
                                      .pQueueFamilyIndices = both ? families : NULL};
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .viewType = VK_IMAGE_VIEW_TYPE_2D_ARRAY,
                                  .format = FORMAT,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, layers}};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;

    CHECK_VK(vkCreateImage(app->device, &create, NULL, out_image));
    vkGetImageMemoryRequirements(app->device, *out_image, &needs);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, needs.memoryTypeBits, APP_DEVICE);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, out_memory));
    CHECK_VK(vkBindImageMemory(app->device, *out_image, *out_memory, 0));
    view.image = *out_image;
    CHECK_VK(vkCreateImageView(app->device, &view, NULL, out_view));
}

static void create_images(const struct app *app, struct job *job)
{
    create_image(app, job, job->coincide ? SHOWN | KEPT : KEPT, SLOTS, &job->references, &job->reference_memory,
                 &job->reference_view);
    if (!job->coincide)
        create_image(app, job, SHOWN, 1, &job->output, &job->output_memory, &job->output_view);
}

/* ---- decoding ---- */

static VkImageMemoryBarrier2 barrier_of(VkImage image, uint32_t layer, VkImageLayout from, VkImageLayout to)
{
    return (VkImageMemoryBarrier2){.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
                                   .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                   .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
                                   .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                   .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
                                   .oldLayout = from,
                                   .newLayout = to,
                                   .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                   .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                   .image = image,
                                   .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, layer, 1}};
}

static void transition(const struct job *job, VkCommandBuffer commands, VkImage image, uint32_t layer,
                       VkImageLayout from, VkImageLayout to)
{
    const VkImageMemoryBarrier2 barrier = barrier_of(image, layer, from, to);
    const VkDependencyInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .imageMemoryBarrierCount = 1, .pImageMemoryBarriers = &barrier};
    job->vk.barrier(commands, &info);
}

static VkVideoPictureResourceInfoKHR resource_of(const struct job *job, VkImageView view, uint32_t layer)
{
    return (VkVideoPictureResourceInfoKHR){.sType = VK_STRUCTURE_TYPE_VIDEO_PICTURE_RESOURCE_INFO_KHR,
                                           .codedExtent = {job->width, job->height},
                                           .baseArrayLayer = layer,
                                           .imageViewBinding = view};
}

/* The picture with this number, into the slot that the one before does not have. */
static void record_decode(const struct job *job, VkCommandBuffer commands, uint32_t number)
{
    const uint32_t slot = number % SLOTS, before = (number + 1) % SLOTS;
    const StdVideoDecodeH264ReferenceInfo kept = {.FrameNum = (uint16_t)number,
                                                  .PicOrderCnt = {2 * (int32_t)number, 2 * (int32_t)number}};
    const StdVideoDecodeH264ReferenceInfo last = {.FrameNum = (uint16_t)(number - 1),
                                                  .PicOrderCnt = {2 * (int32_t)number - 2, 2 * (int32_t)number - 2}};
    const VkVideoDecodeH264DpbSlotInfoKHR infos[] = {
        {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_H264_DPB_SLOT_INFO_KHR, .pStdReferenceInfo = &kept},
        {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_H264_DPB_SLOT_INFO_KHR, .pStdReferenceInfo = &last}};
    const VkVideoPictureResourceInfoKHR pictures[] = {resource_of(job, job->reference_view, slot),
                                                      resource_of(job, job->reference_view, before)};
    VkVideoReferenceSlotInfoKHR slots[] = {{.sType = VK_STRUCTURE_TYPE_VIDEO_REFERENCE_SLOT_INFO_KHR,
                                            .pNext = &infos[0],
                                            .slotIndex = -1, /* nothing is in it yet */
                                            .pPictureResource = &pictures[0]},
                                           {.sType = VK_STRUCTURE_TYPE_VIDEO_REFERENCE_SLOT_INFO_KHR,
                                            .pNext = &infos[1],
                                            .slotIndex = (int32_t)before,
                                            .pPictureResource = &pictures[1]}};
    const VkVideoBeginCodingInfoKHR begin = {.sType = VK_STRUCTURE_TYPE_VIDEO_BEGIN_CODING_INFO_KHR,
                                             .videoSession = job->session,
                                             .videoSessionParameters = job->parameters,
                                             .referenceSlotCount = number ? 2 : 1,
                                             .pReferenceSlots = slots};
    const VkVideoCodingControlInfoKHR reset = {.sType = VK_STRUCTURE_TYPE_VIDEO_CODING_CONTROL_INFO_KHR,
                                               .flags = VK_VIDEO_CODING_CONTROL_RESET_BIT_KHR};
    const VkVideoEndCodingInfoKHR end = {.sType = VK_STRUCTURE_TYPE_VIDEO_END_CODING_INFO_KHR};
    const StdVideoDecodeH264PictureInfo picture = {
        .flags = {.is_intra = !number, .IdrPicFlag = !number, .is_reference = 1},
        .pic_parameter_set_id = number == PICTURES - 1,
        .frame_num = (uint16_t)number,
        .PicOrderCnt = {2 * (int32_t)number, 2 * (int32_t)number}};
    const uint32_t offset = 0;
    const VkVideoDecodeH264PictureInfoKHR h264 = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_H264_PICTURE_INFO_KHR,
                                                  .pStdPictureInfo = &picture,
                                                  .sliceCount = 1,
                                                  .pSliceOffsets = &offset};
    VkVideoReferenceSlotInfoKHR setup = slots[0];
    VkVideoDecodeInfoKHR decode = {.sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_INFO_KHR,
                                   .pNext = &h264,
                                   .srcBuffer = job->stream.buffer,
                                   .srcBufferOffset = job->offsets[number],
                                   .srcBufferRange = job->bytes[number],
                                   .dstPictureResource = pictures[0],
                                   .pSetupReferenceSlot = &setup,
                                   .referenceSlotCount = number ? 1 : 0,
                                   .pReferenceSlots = number ? &slots[1] : NULL};

    setup.slotIndex = (int32_t)slot;
    if (!job->coincide)
        decode.dstPictureResource = resource_of(job, job->output_view, 0);
    job->vk.begin(commands, &begin);
    if (!number)
        job->vk.control(commands, &reset);
    if (job->status)
        vkCmdBeginQuery(commands, job->status, number, 0);
    job->vk.decode(commands, &decode);
    if (job->status)
        vkCmdEndQuery(commands, job->status, number);
    job->vk.end(commands, &end);
}

static VkCommandBuffer begin_commands(const struct app *app, VkCommandPool pool)
{
    const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = pool,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                  .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkCommandBuffer commands;

    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &commands));
    CHECK_VK(vkBeginCommandBuffer(commands, &begin));
    return commands;
}

static void submit(const struct job *job, VkQueue queue, VkCommandBuffer commands, bool waits)
{
    const VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                              .commandBuffer = commands};
    const VkSemaphoreSubmitInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                             .semaphore = job->decoded,
                                             .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .waitSemaphoreInfoCount = waits,
                                .pWaitSemaphoreInfos = &semaphore,
                                .commandBufferInfoCount = 1,
                                .pCommandBufferInfos = &buffer,
                                .signalSemaphoreInfoCount = !waits,
                                .pSignalSemaphoreInfos = &semaphore};

    CHECK_VK(vkEndCommandBuffer(commands));
    CHECK_VK(job->vk.submit(queue, 1, &info, VK_NULL_HANDLE));
}

static void decode_picture(const struct app *app, const struct job *job, uint32_t number)
{
    const VkImageLayout dpb = VK_IMAGE_LAYOUT_VIDEO_DECODE_DPB_KHR, dst = VK_IMAGE_LAYOUT_VIDEO_DECODE_DST_KHR,
                        none = VK_IMAGE_LAYOUT_UNDEFINED, from = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    const uint32_t slot = number % SLOTS, layer = job->coincide ? slot : 0;
    const VkImage shown = job->coincide ? job->references : job->output;
    const VkBufferImageCopy planes[] = {
        {.imageSubresource = {VK_IMAGE_ASPECT_PLANE_0_BIT, 0, layer, 1}, .imageExtent = {job->width, job->height, 1}},
        {.bufferOffset = (VkDeviceSize)job->width * job->height,
         .imageSubresource = {VK_IMAGE_ASPECT_PLANE_1_BIT, 0, layer, 1},
         .imageExtent = {job->width / 2, job->height / 2, 1}}};
    VkCommandBuffer commands = begin_commands(app, job->pool), copies;
    uint32_t status = 0;

    if (job->status)
        vkCmdResetQueryPool(commands, job->status, number, 1);
    transition(job, commands, job->references, slot, none, dpb);
    if (!job->coincide)
        transition(job, commands, shown, 0, none, dst);
    record_decode(job, commands, number);
    submit(job, job->queue, commands, false);
    copies = begin_commands(app, app->pool);
    transition(job, copies, shown, layer, job->coincide ? dpb : dst, from);
    vkCmdCopyImageToBuffer(copies, shown, from, job->read_back.buffer, COUNT_OF(planes), planes);
    app_memory_barrier(copies, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                       VK_ACCESS_HOST_READ_BIT);
    if (job->coincide)
        transition(job, copies, shown, layer, from, dpb);
    submit(job, app->queue, copies, true);
    CHECK_VK(vkQueueWaitIdle(app->queue));
    if (job->status) {
        CHECK_VK(vkGetQueryPoolResults(app->device, job->status, number, 1, sizeof status, &status, sizeof status,
                                       VK_QUERY_RESULT_WITH_STATUS_BIT_KHR | VK_QUERY_RESULT_WAIT_BIT));
        EXPECT_EQ(app, status, VK_QUERY_RESULT_STATUS_COMPLETE_KHR);
    }
    check_picture(app, job, number);
    CHECK_VK(vkQueueWaitIdle(job->queue));
    vkFreeCommandBuffers(app->device, job->pool, 1, &commands);
    vkFreeCommandBuffers(app->device, app->pool, 1, &copies);
}

static void destroy(const struct app *app, struct job *job)
{
    vkDestroyQueryPool(app->device, job->status, NULL);
    vkDestroyImageView(app->device, job->output_view, NULL);
    vkDestroyImage(app->device, job->output, NULL);
    vkFreeMemory(app->device, job->output_memory, NULL);
    vkDestroyImageView(app->device, job->reference_view, NULL);
    vkDestroyImage(app->device, job->references, NULL);
    vkFreeMemory(app->device, job->reference_memory, NULL);
    app_buffer_destroy(app, &job->stream);
    app_buffer_destroy(app, &job->read_back);
    job->vk.destroy_parameters(app->device, job->parameters, NULL);
    job->vk.destroy_session(app->device, job->session, NULL);
    for (uint32_t i = 0; i < job->memory_count; i++)
        vkFreeMemory(app->device, job->memories[i], NULL);
    vkDestroySemaphore(app->device, job->decoded, NULL);
    vkDestroyCommandPool(app->device, job->pool, NULL);
    for (uint32_t i = 0; i < PICTURES; i++) {
        free(job->expected[i].luma);
        free(job->expected[i].chroma);
    }
}

int main(int argc, char **argv)
{
    static const struct app_program program = {.name = "video", .what = "decodes pictures of H.264", .frames = 1};
    struct job job = {0};
    struct app app;

    app_init(&app, argc, argv, &program);
    if (app.api_version < VK_API_VERSION_1_3)
        app_skip(&app, "no Vulkan 1.3");
    if (!app_has_extension(&app, "VK_KHR_video_decode_h264"))
        app_skip(&app, "no VK_KHR_video_decode_h264");
    choose_family(&app, &job);
    ask(&app, &job);
    create_device(&app, &job);
    create_session(&app, &job);
    create_parameters(&app, &job);
    create_status(&app, &job);
    create_stream(&app, &job);
    app_buffer_create(&app, &job.read_back, (VkDeviceSize)job.width * job.height * 3 / 2,
                      VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    create_images(&app, &job);
    expect_pictures(&job);
    write_stream(&app, &job);
    for (uint32_t frame = 0; frame < app.frames; frame++)
        for (uint32_t i = 0; i < PICTURES; i++) {
            if (frame == 0 && i == PICTURES - 1)
                update_parameters(&app, &job);
            decode_picture(&app, &job, i);
        }
    destroy(&app, &job);
    return app_finish(&app);
}
