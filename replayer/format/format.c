/* SPDX-License-Identifier: MIT */
#include "replayer/format/format.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/analysis/analysis.h"
#include "replayer/core/device.h"
#include "replayer/core/report.h"
#include "replayer/format/block_format.h"
#include "replayer/format/texel_convert.h"
#include "vulkan/texel/pixels.h"

#define MAX_CANDIDATES 3
#define HOST_TRANSFER  UINT32_C(0x00400000) /* VK_IMAGE_USAGE_HOST_TRANSFER_BIT, which older headers lack */

/* Substitutes for depth and stencil formats, best first: more precise ones, then less precise ones. None loses an
 * aspect. Only those of a stencil format add one; stencil_only.h describes how the replay handles that depth. */
static const struct {
    VkFormat format, candidates[MAX_CANDIDATES];
} depths[] = {
    {VK_FORMAT_S8_UINT, {VK_FORMAT_D24_UNORM_S8_UINT, VK_FORMAT_D32_SFLOAT_S8_UINT, VK_FORMAT_D16_UNORM_S8_UINT}},
    {VK_FORMAT_D16_UNORM, {VK_FORMAT_X8_D24_UNORM_PACK32, VK_FORMAT_D32_SFLOAT}},
    {VK_FORMAT_X8_D24_UNORM_PACK32, {VK_FORMAT_D32_SFLOAT, VK_FORMAT_D16_UNORM}},
    {VK_FORMAT_D32_SFLOAT, {VK_FORMAT_X8_D24_UNORM_PACK32, VK_FORMAT_D16_UNORM}},
    {VK_FORMAT_D16_UNORM_S8_UINT, {VK_FORMAT_D24_UNORM_S8_UINT, VK_FORMAT_D32_SFLOAT_S8_UINT}},
    {VK_FORMAT_D24_UNORM_S8_UINT, {VK_FORMAT_D32_SFLOAT_S8_UINT, VK_FORMAT_D16_UNORM_S8_UINT}},
    {VK_FORMAT_D32_SFLOAT_S8_UINT, {VK_FORMAT_D24_UNORM_S8_UINT, VK_FORMAT_D16_UNORM_S8_UINT}},
};

/* The families of color formats (lap_pixels_family), and the first formats of the families that may substitute them. */
static const struct kind {
    VkFormat first;
    VkFormat candidates[MAX_CANDIDATES];
} kinds[] = {
    {VK_FORMAT_R5G6B5_UNORM_PACK16, {VK_FORMAT_B5G6R5_UNORM_PACK16}},
    {VK_FORMAT_B5G6R5_UNORM_PACK16, {VK_FORMAT_R5G6B5_UNORM_PACK16}},
    {VK_FORMAT_R8G8B8A8_UNORM, {VK_FORMAT_A8B8G8R8_UNORM_PACK32, VK_FORMAT_B8G8R8A8_UNORM}},
    {VK_FORMAT_B8G8R8A8_UNORM, {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_A8B8G8R8_UNORM_PACK32}},
    {VK_FORMAT_A8B8G8R8_UNORM_PACK32, {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_B8G8R8A8_UNORM}},
    {VK_FORMAT_A2R10G10B10_UNORM_PACK32, {VK_FORMAT_A2B10G10R10_UNORM_PACK32}},
    {VK_FORMAT_A2B10G10R10_UNORM_PACK32, {VK_FORMAT_A2R10G10B10_UNORM_PACK32}},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static uint32_t count_of(const struct kind *kind)
{
    uint32_t count = 0;
    (void)lap_pixels_family(kind->first, &count);
    return count;
}

const char *replay_format_name(VkFormat format)
{
    const char *name = replay_enum_name("VkFormat", format);
    return name ? name : "an unknown format";
}

VkFormat replay_format_substitute(const struct replay_device *dev, VkFormat recorded)
{
    const struct replay_formats *formats = dev->formats.substitutes;
    return formats && (uint32_t)recorded < LAP_DEC_FORMATS ? (VkFormat)formats->substitutes[recorded] : recorded;
}

/* ---- queries ---- */

static VkFormatFeatureFlags features_of(const struct replay_device *dev, VkFormat format, VkImageTiling tiling)
{
    VkFormatProperties properties;

    dev->instance->vk.GetPhysicalDeviceFormatProperties(dev->gpu, format, &properties);
    return tiling == VK_IMAGE_TILING_LINEAR ? properties.linearTilingFeatures : properties.optimalTilingFeatures;
}

bool replay_format_can_be_queried(const struct replay_device *dev, VkFormat format, VkImageTiling tiling)
{
    return format < VK_FORMAT_BC1_RGB_UNORM_BLOCK || format > VK_FORMAT_ASTC_12x12_SRGB_BLOCK ||
           (tiling != VK_IMAGE_TILING_OPTIMAL && tiling != VK_IMAGE_TILING_LINEAR) || features_of(dev, format, tiling);
}

#define VIDEO                                                                                                          \
    (VK_IMAGE_USAGE_VIDEO_DECODE_DST_BIT_KHR | VK_IMAGE_USAGE_VIDEO_DECODE_SRC_BIT_KHR |                               \
     VK_IMAGE_USAGE_VIDEO_DECODE_DPB_BIT_KHR | 0xe000u) /* the last ones encode: older headers lack their names */

/* Whether the device supports such images in a format. */
static bool promises(const struct replay_device *dev, const struct image_use *use, VkFormat format)
{
    const VkImageCreateInfo *info = &use->info;
    VkImageFormatProperties most;

    if ((info->tiling != VK_IMAGE_TILING_OPTIMAL && info->tiling != VK_IMAGE_TILING_LINEAR) || info->usage & VIDEO)
        return true; /* this query does not cover it */
    if (dev->instance->vk.GetPhysicalDeviceImageFormatProperties(dev->gpu, format, info->imageType, info->tiling,
                                                                 info->usage, info->flags, &most) < 0)
        return false;
    return info->extent.width <= most.maxExtent.width && info->extent.height <= most.maxExtent.height &&
           info->extent.depth <= most.maxExtent.depth && info->mipLevels <= most.maxMipLevels &&
           info->arrayLayers <= most.maxArrayLayers && (info->samples & most.sampleCounts);
}

/* Whether the device supports all images of the `count` formats from `from` on in the corresponding formats from `to`
 * on. */
static bool promises_all(const struct replay_device *dev, const struct image_uses *uses, VkFormat from, VkFormat to,
                         uint32_t count)
{
    for (size_t i = 0; i < uses->count; i++) {
        const struct image_use *use = &uses->uses[i];
        uint32_t number = (uint32_t)use->info.format - (uint32_t)from;
        if (number < count && !promises(dev, use, (VkFormat)((uint32_t)to + number)))
            return false;
    }
    return true;
}

/* ---- choice ---- */

#define ATTACHMENT VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT

static bool is_used(const struct image_uses *uses, VkFormat format)
{
    for (size_t i = 0; i < uses->count; i++)
        if (uses->uses[i].info.format == format)
            return true;
    return false;
}

/* Two kinds of image can't be converted. In linear images host updates have interleaved depth and stencil. In sparse
 * stencil images nothing binds memory for the added depth. */
static bool can_be_replaced(const struct image_uses *uses, VkFormat format)
{
    for (size_t i = 0; i < uses->count; i++) {
        const VkImageCreateInfo *info = &uses->uses[i].info;
        if (info->format != format)
            continue;
        if (info->tiling == VK_IMAGE_TILING_LINEAR && format >= VK_FORMAT_S8_UINT)
            return false;
        if (info->flags & VK_IMAGE_CREATE_SPARSE_BINDING_BIT && format == VK_FORMAT_S8_UINT)
            return false;
    }
    return true;
}

/* A format without images in the trace may still occur in render passes, so the driver must support it. */
static bool lacks_depth(const struct replay_device *dev, const struct image_uses *uses, VkFormat format)
{
    return is_used(uses, format) ? !promises_all(dev, uses, format, format, 1)
                                 : !(features_of(dev, format, VK_IMAGE_TILING_OPTIMAL) & ATTACHMENT);
}

static VkFormat choose_depth(const struct replay_device *dev, const struct image_uses *uses, VkFormat format,
                             const VkFormat candidates[MAX_CANDIDATES])
{
    if (!lacks_depth(dev, uses, format) || !can_be_replaced(uses, format))
        return format;
    for (int i = 0; i < MAX_CANDIDATES && candidates[i]; i++)
        if (promises_all(dev, uses, format, candidates[i], 1) &&
            features_of(dev, candidates[i], VK_IMAGE_TILING_OPTIMAL) & ATTACHMENT)
            return candidates[i];
    /* Drivers create more images than they report as supported, but not in formats that can't be attachments. */
    if (!(features_of(dev, format, VK_IMAGE_TILING_OPTIMAL) & ATTACHMENT))
        for (int i = 0; i < MAX_CANDIDATES && candidates[i]; i++)
            if (features_of(dev, candidates[i], VK_IMAGE_TILING_OPTIMAL) & ATTACHMENT)
                return candidates[i];
    return format;
}

/* The formats of presentable images depend on surfaces, so plain images may not support them. Other images are left to
 * the driver, which may create more than it reports, unless it does not know the format at all. */
static bool lacks_kind(const struct replay_device *dev, const struct image_uses *uses, const struct kind *kind)
{
    bool lacks = false;

    for (size_t i = 0; i < uses->count; i++) {
        const struct image_use *use = &uses->uses[i];
        if ((uint32_t)use->info.format - (uint32_t)kind->first >= count_of(kind))
            continue;
        if (use->seen_otherwise)
            return false; /* views in other formats would see other bits */
        lacks |= !promises(dev, use, use->info.format) &&
                 (use->of_swapchain || !features_of(dev, use->info.format, use->info.tiling));
    }
    return lacks;
}

static VkFormat choose_kind(const struct replay_device *dev, const struct image_uses *uses, const struct kind *kind)
{
    if (!lacks_kind(dev, uses, kind))
        return kind->first;
    for (int i = 0; i < MAX_CANDIDATES; i++)
        if (kind->candidates[i] && promises_all(dev, uses, kind->first, kind->candidates[i], count_of(kind)))
            return kind->candidates[i];
    return kind->first;
}

/* ---- compressed formats ---- */

/* The other format with the same blocks: UNORM and SRGB. Others have numbers of their own. */
static VkFormat pair_of(VkFormat format)
{
    uint32_t count = 0;
    VkFormat first = lap_pixels_family(format, &count);
    return count == 2 ? (VkFormat)(2 * (uint32_t)first + 1 - (uint32_t)format) : format;
}

/* Why blocks of such images can't be decoded; NULL: they can. Host updates, host copies and sparse binds name blocks,
 * and so do views of another format. */
static const char *obstacle_of(const struct image_use *use)
{
    if (use->info.tiling != VK_IMAGE_TILING_OPTIMAL)
        return "an image is not of optimal tiling";
    if (use->info.flags & VK_IMAGE_CREATE_SPARSE_BINDING_BIT)
        return "an image is sparse";
    if (use->info.flags & VK_IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT || use->seen_otherwise)
        return "views of an image show its blocks as texels";
    if (use->info.usage & HOST_TRANSFER)
        return "the host copies from or to an image";
    return NULL;
}

/* Whether the device lacks images of a format, or of its pair: both change together. out_why: a reason not to decode
 * them, if there is one. */
static bool lacks_blocks(const struct replay_device *dev, const struct image_uses *uses, VkFormat format,
                         const char **out_why)
{
    bool lacks = false;

    *out_why = NULL;
    for (size_t i = 0; i < uses->count; i++) {
        const struct image_use *use = &uses->uses[i];
        if (use->info.format != format && use->info.format != pair_of(format))
            continue;
        if (!*out_why)
            *out_why = obstacle_of(use);
        lacks |= !promises(dev, use, use->info.format);
    }
    return lacks;
}

static VkFormat choose_for_blocks(const struct replay_device *dev, struct replay_formats *formats,
                                  const struct replay_block_format *blocks, const char **out_why)
{
    if (!lacks_blocks(dev, formats->uses, blocks->format, out_why)) {
        *out_why = NULL;
        return blocks->format;
    }
    for (int i = 0; !*out_why && i < REPLAY_BLOCK_SUBSTITUTES && blocks->substitutes[i].format; i++)
        if (promises_all(dev, formats->uses, blocks->format, blocks->substitutes[i].format, 1))
            return blocks->substitutes[i].format;
    if (!*out_why)
        *out_why = "no uncompressed format of this device has all that its images need";
    return blocks->format;
}

static enum replay_block_feature feature_of(VkFormat format)
{
    return format < VK_FORMAT_ETC2_R8G8B8_UNORM_BLOCK ? REPLAY_BLOCK_FEATURE_BC
           : format < VK_FORMAT_ASTC_4x4_UNORM_BLOCK  ? REPLAY_BLOCK_FEATURE_ETC2
                                                      : REPLAY_BLOCK_FEATURE_ASTC;
}

/* A creation of such an image reports the driver's refusal again. */
static void report_obstacle(struct replay *r, VkFormat format, const char *why)
{
    lap_log(r->log, LAP_LOG_WARNING, "this device lacks images of %s, and their blocks can't be decoded: %s",
            replay_format_name(format), why);
    replay_report_add(r->report, REPLAY_AREA_FORMAT, REPLAY_REFUSED, replay_format_name(format),
                      "the device lacks it, and its blocks can't be decoded: %s", why);
}

static void choose_blocks(struct replay *r, const struct replay_device *dev, struct replay_formats *formats)
{
    size_t count;
    const struct replay_block_format *blocks = replay_block_formats(&count);

    for (size_t i = 0; i < count; i++) {
        const char *why;
        VkFormat format = blocks[i].format;
        formats->substitutes[format] = (uint16_t)choose_for_blocks(dev, formats, &blocks[i], &why);
        if (!why || !is_used(formats->uses, format))
            continue;
        formats->lacks_blocks[feature_of(format)] = true;
        report_obstacle(r, format, why);
    }
}

const char *replay_format_provides(const struct replay *r, const char *feature)
{
    static const char *const names[REPLAY_BLOCK_FEATURES] = {
        [REPLAY_BLOCK_FEATURE_BC] = "textureCompressionBC",
        [REPLAY_BLOCK_FEATURE_ETC2] = "textureCompressionETC2",
        [REPLAY_BLOCK_FEATURE_ASTC] = "textureCompressionASTC_LDR",
    };

    for (int i = 0; i < REPLAY_BLOCK_FEATURES && r->formats; i++)
        if (strcmp(names[i], feature) == 0)
            return r->formats->lacks_blocks[i] ? NULL : "the replay decodes the blocks of its formats";
    return NULL;
}

/* ---- report ---- */

static const char *describe(VkFormat recorded, VkFormat substitute)
{
    if (replay_block_format(recorded))
        return "into which blocks are decoded";
    if (recorded == VK_FORMAT_S8_UINT)
        return "whose depth is left alone";
    switch (replay_format_conversion(recorded, substitute, VK_IMAGE_ASPECT_DEPTH_BIT)) {
    case REPLAY_CONVERT_NONE:
        return "which has the same texels";
    case REPLAY_CONVERT_D16_TO_D24:
    case REPLAY_CONVERT_D16_TO_D32:
    case REPLAY_CONVERT_D24_TO_D32:
        return "which is more precise";
    case REPLAY_CONVERT_D24_TO_D16:
    case REPLAY_CONVERT_D32_TO_D16:
    case REPLAY_CONVERT_D32_TO_D24:
        return "which is less precise";
    default:
        return "with the same components in another order";
    }
}

static void report_substitute(struct replay *r, VkFormat recorded, VkFormat substitute)
{
    lap_log(r->log, LAP_LOG_WARNING, "this device lacks images of %s: %s substitutes it, %s",
            replay_format_name(recorded), replay_format_name(substitute), describe(recorded, substitute));
    replay_report_add(r->report, REPLAY_AREA_FORMAT, REPLAY_MAPPED, replay_format_name(recorded),
                      "%s substitutes it, %s", replay_format_name(substitute), describe(recorded, substitute));
}

/* ---- formats of a trace ---- */

/* Whether the trace may have images of this format, or of the family that it begins, according to the layer's
 * summary. */
static bool may_have(const cJSON *info, VkFormat format)
{
    char key[32];

    snprintf(key, sizeof key, "image_format_%u", (unsigned)format);
    return !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(info, "image_formats")) ||
           cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(info, key));
}

/* The same for compressed formats, which older layers did not note. Only images name them. */
static bool lacks_some_blocks(const struct replay_device *dev, const cJSON *info)
{
    bool noted = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(info, "image_block_formats"));
    size_t count;
    const struct replay_block_format *formats = replay_block_formats(&count);

    for (size_t i = 0; i < count; i++)
        if (!(features_of(dev, formats[i].format, VK_IMAGE_TILING_OPTIMAL) & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT) &&
            (!noted || may_have(info, lap_pixels_substitutable(formats[i].format))))
            return true;
    return false;
}

enum lacking { NOTHING, UNUSED_ONLY, SOMETHING };

/* Whether the device lacks a feature of a format in the tables. Only if the trace may use that format does the trace
 * have to be read. */
static enum lacking what_lacks(const struct replay *r, const struct replay_device *dev)
{
    const VkFormatFeatureFlags depth = ATTACHMENT | VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT,
                               color = VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT | VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT |
                                       VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT;
    const struct lap_reader_summary *summary = lap_reader_summary(r->reader);
    cJSON *info = summary->complete ? cJSON_Parse(summary->info) : NULL;
    enum lacking lacking = NOTHING;

    for (size_t i = 0; i < COUNT(depths) && lacking != SOMETHING; i++)
        if (depth & ~features_of(dev, depths[i].format, VK_IMAGE_TILING_OPTIMAL))
            lacking = may_have(info, depths[i].format) ? SOMETHING : UNUSED_ONLY;
    for (size_t i = 0; i < COUNT(kinds) && lacking != SOMETHING; i++)
        if (color & ~features_of(dev, kinds[i].first, VK_IMAGE_TILING_OPTIMAL))
            lacking = may_have(info, kinds[i].first) ? SOMETHING : UNUSED_ONLY;
    if (lacking != SOMETHING && lacks_some_blocks(dev, info))
        lacking = SOMETHING;
    cJSON_Delete(info);
    return lacking;
}

static bool choose_all(struct replay *r, const struct replay_device *dev, struct replay_formats *formats)
{
    bool any = false;

    for (uint32_t i = 0; i < LAP_DEC_FORMATS; i++)
        formats->substitutes[i] = (uint16_t)i;
    for (size_t i = 0; i < COUNT(depths); i++)
        formats->substitutes[depths[i].format] =
            (uint16_t)choose_depth(dev, formats->uses, depths[i].format, depths[i].candidates);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        VkFormat substitute = choose_kind(dev, formats->uses, &kinds[i]);
        for (uint32_t j = 0; j < count_of(&kinds[i]); j++)
            formats->substitutes[(uint32_t)kinds[i].first + j] = (uint16_t)((uint32_t)substitute + j);
    }
    choose_blocks(r, dev, formats);
    for (uint32_t i = 0; i < LAP_DEC_FORMATS; i++)
        if (formats->substitutes[i] != i) {
            any = true;
            if (!is_used(formats->uses, (VkFormat)i))
                continue;
            formats->converts_copies = true;
            report_substitute(r, (VkFormat)i, (VkFormat)formats->substitutes[i]);
        }
    return any;
}

/* Damage in the trace is no error for this pass: playback ends there, so the uses before it are enough. */
static enum lap_status find_uses(struct replay *r, const struct replay_device *dev, enum lacking lacking,
                                 const struct image_uses **out)
{
    static const struct image_uses none = {.count = 0};
    enum lap_status status = LAP_OK;

    *out = &none;
    if (lacking != SOMETHING)
        return LAP_OK;
    status = replay_analyze(r, dev->recorded.other_gpu ? REPLAY_ANALYSIS_OTHER_DEVICE : TRACE_ANALYSIS_IMAGES);
    if (r->analysis.trace && trace_analysis_images(r->analysis.trace))
        *out = trace_analysis_images(r->analysis.trace);
    return status == LAP_ERROR_MEMORY ? status : LAP_OK;
}

enum lap_status replay_format_choose(struct replay *r, struct replay_device *dev)
{
    if (!r->formats) {
        enum lacking lacking = r->reader ? what_lacks(r, dev) : NOTHING;
        enum lap_status status = LAP_OK;

        r->formats = calloc(1, sizeof *r->formats);
        if (!r->formats)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for formats");
        if (lacking != NOTHING)
            status = find_uses(r, dev, lacking, &r->formats->uses);
        if (status != LAP_OK) {
            replay_format_destroy(r);
            return status;
        }
        r->formats->differ = lacking != NOTHING && choose_all(r, dev, r->formats);
        r->source.formats = r->formats->differ ? r->formats->substitutes : NULL;
    }
    dev->formats.substitutes = r->formats->differ ? r->formats : NULL;
    dev->formats.stencils_differ = replay_format_substitute(dev, VK_FORMAT_S8_UINT) != VK_FORMAT_S8_UINT;
    return LAP_OK;
}

void replay_format_destroy(struct replay *r)
{
    free(r->formats);
    r->formats = NULL;
}
