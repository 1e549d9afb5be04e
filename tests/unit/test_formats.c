/* SPDX-License-Identifier: MIT */
/* When a replay on a device that lacks formats reads the trace ahead for its images. */
#include "inspector/analysis/trace_analysis.h"
#include "replayer/core/device.h"
#include "replayer/format/format.h"
#include "tests/unit/sample_trace.h"

static bool lacks(VkFormat format)
{
    return format == VK_FORMAT_S8_UINT ||
           (format >= VK_FORMAT_ETC2_R8G8B8_UNORM_BLOCK && format <= VK_FORMAT_ASTC_12x12_SRGB_BLOCK);
}

/* A device with every feature of every format but S8_UINT, ETC2 and ASTC. */
static VKAPI_ATTR void VKAPI_CALL get_format(VkPhysicalDevice gpu, VkFormat format, VkFormatProperties *out)
{
    VkFormatFeatureFlags all = lacks(format) ? 0 : UINT32_MAX;
    *out = (VkFormatProperties){all, all, all};
}

static VKAPI_ATTR VkResult VKAPI_CALL get_image_format(VkPhysicalDevice gpu, VkFormat format, VkImageType type,
                                                       VkImageTiling tiling, VkImageUsageFlags usage,
                                                       VkImageCreateFlags flags, VkImageFormatProperties *out)
{
    if (lacks(format))
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    *out = (VkImageFormatProperties){{4096, 4096, 4096}, 16, 16, 0x7f, 1 << 30};
    return VK_SUCCESS;
}

/* Whether the trace, which has an image of that format, is read ahead; and the substitute. */
static bool reads_ahead(VkFormat format, VkImageCreateFlags flags, const char *info, bool whole, VkFormat *out)
{
    struct replay_instance instance = {.vk = {.GetPhysicalDeviceFormatProperties = get_format,
                                              .GetPhysicalDeviceImageFormatProperties = get_image_format}};
    struct replay_device dev = {.instance = &instance};
    VkImageCreateInfo image_info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .flags = flags,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = format,
                                    .extent = {8, 8, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT};
    static struct replay r;
    struct sample s;
    bool reads;

    memset(&r, 0, sizeof r);
    CHECK(sample_begin(&s));
    VkDevice device = gen_VkDevice(sample_handle(&s, GEN_HANDLE_VkDevice, 1));
    VkImage image = gen_VkImage(sample_handle(&s, GEN_HANDLE_VkImage, 1));
    gen_encode_vkCreateImage(sample_packet(&s, GEN_vkCreateImage, 0), device, &image_info, NULL, &image, VK_SUCCESS);
    lap_packet_end(s.stream);
    lap_writer_info(s.writer, info);
    lap_writer_frame(s.writer);
    if (!whole)
        lap_writer_stop(s.writer, "a test");
    sample_end(&s);
    CHECK_EQ_INT(lap_reader_open(s.path, NULL, &r.reader), LAP_OK);
    CHECK_EQ_INT(replay_format_choose(&r, &dev), LAP_OK);
    *out = replay_format_substitute(&dev, format);
    if (format != VK_FORMAT_S8_UINT && *out != format)
        CHECK(replay_format_provides(&r, "textureCompressionETC2"));
    reads = r.analysis.trace && trace_analysis_images(r.analysis.trace);
    replay_format_destroy(&r);
    trace_analysis_destroy(&r.analysis.trace);
    lap_reader_close(&r.reader);
    sample_finish(&s);
    return reads;
}

static bool reads_for_stencil(const char *info, bool whole)
{
    VkFormat substitute;
    bool reads = reads_ahead(VK_FORMAT_S8_UINT, 0, info, whole, &substitute);

    CHECK_EQ_INT(substitute, VK_FORMAT_D24_UNORM_S8_UINT);
    return reads;
}

UNIT_TEST(a_trace_that_lists_its_formats_is_read_only_for_those_that_are_lacking)
{
    const char *listed = "{\"image_formats\":true,\"image_block_formats\":true,\"image_format_127\":true}";
    const char *others = "{\"image_formats\":true,\"image_block_formats\":true,\"image_format_37\":true}";

    CHECK(reads_for_stencil("{}", true));    /* nothing is listed */
    CHECK(reads_for_stencil(listed, true));  /* S8_UINT is */
    CHECK(!reads_for_stencil(others, true)); /* only what the device has */
    CHECK(reads_for_stencil("{\"image_formats\":true,\"image_block_formats\":true}", false)); /* it has no end */
    CHECK(reads_for_stencil("{\"image_formats\":true,\"image_format_37\":true}", true));      /* no compressed ones */
}

UNIT_TEST(compressed_formats_are_substituted_where_their_blocks_can_be_decoded)
{
    const char *info = "{\"image_formats\":true,\"image_block_formats\":true,\"image_format_151\":true}";
    VkFormat substitute;

    CHECK(reads_ahead(VK_FORMAT_ETC2_R8G8B8A8_SRGB_BLOCK, 0, info, true, &substitute));
    CHECK_EQ_INT(substitute, VK_FORMAT_R8G8B8A8_SRGB);
    CHECK(
        reads_ahead(VK_FORMAT_ETC2_R8G8B8A8_UNORM_BLOCK, VK_IMAGE_CREATE_SPARSE_BINDING_BIT, info, true, &substitute));
    CHECK_EQ_INT(substitute, VK_FORMAT_ETC2_R8G8B8A8_UNORM_BLOCK);
}

UNIT_MAIN();
