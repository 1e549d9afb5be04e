/* SPDX-License-Identifier: MIT */
#include "replayer/format.h"

#include <stdlib.h>

#include "replayer/convert.h"
#include "replayer/player.h"
#include "replayer/report.h"

#define MAX_CANDIDATES 3

/* What may stand for a format of depth and stencil, best first: more precise ones, then less precise ones. None loses
 * an aspect, and none adds one but to stencil alone: what then is done about the depth, stencil.h says. */
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

/* Kinds of color formats: how many there are of each, in the same order of numeric types. */
static const struct kind {
    VkFormat first;
    uint32_t count;
    VkFormat candidates[MAX_CANDIDATES];
} kinds[] = {
    {VK_FORMAT_R5G6B5_UNORM_PACK16, 1, {VK_FORMAT_B5G6R5_UNORM_PACK16}},
    {VK_FORMAT_B5G6R5_UNORM_PACK16, 1, {VK_FORMAT_R5G6B5_UNORM_PACK16}},
    {VK_FORMAT_R8G8B8A8_UNORM, 7, {VK_FORMAT_A8B8G8R8_UNORM_PACK32, VK_FORMAT_B8G8R8A8_UNORM}},
    {VK_FORMAT_B8G8R8A8_UNORM, 7, {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_A8B8G8R8_UNORM_PACK32}},
    {VK_FORMAT_A8B8G8R8_UNORM_PACK32, 7, {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_B8G8R8A8_UNORM}},
    {VK_FORMAT_A2R10G10B10_UNORM_PACK32, 6, {VK_FORMAT_A2B10G10R10_UNORM_PACK32}},
    {VK_FORMAT_A2B10G10R10_UNORM_PACK32, 6, {VK_FORMAT_A2R10G10B10_UNORM_PACK32}},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

VkFormat replay_format_kind(VkFormat format, uint32_t *out_count)
{
    *out_count = 0;
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (format >= kinds[i].first && (uint32_t)(format - kinds[i].first) < kinds[i].count) {
            *out_count = kinds[i].count;
            return kinds[i].first;
        }
    return VK_FORMAT_UNDEFINED;
}

bool replay_format_is_depth_or_stencil(VkFormat format)
{
    for (size_t i = 0; i < COUNT(depths); i++)
        if (depths[i].format == format)
            return true;
    return false;
}

const char *replay_format_name(VkFormat format)
{
    const char *name = replay_enum_name("VkFormat", format);
    return name ? name : "an unknown format";
}

VkFormat replay_format_here(const struct replay_device *dev, VkFormat recorded)
{
    const struct replay_formats *formats = dev->formats;
    return formats && (uint32_t)recorded < LAP_DEC_FORMATS ? (VkFormat)formats->here[recorded] : recorded;
}

/* ---- asking ---- */

static VkFormatFeatureFlags features_of(const struct replay_device *dev, VkFormat format, VkImageTiling tiling)
{
    VkFormatProperties properties;

    dev->instance->vk.GetPhysicalDeviceFormatProperties(dev->gpu, format, &properties);
    return tiling == VK_IMAGE_TILING_LINEAR ? properties.linearTilingFeatures : properties.optimalTilingFeatures;
}

bool replay_format_can_be(const struct replay_device *dev, VkFormat format, VkImageTiling tiling)
{
    return format < VK_FORMAT_BC1_RGB_UNORM_BLOCK || format > VK_FORMAT_ASTC_12x12_SRGB_BLOCK ||
           (tiling != VK_IMAGE_TILING_OPTIMAL && tiling != VK_IMAGE_TILING_LINEAR) || features_of(dev, format, tiling);
}

/* Whether the device promises images like these in a format. */
static bool promises(const struct replay_device *dev, const struct replay_image_use *use, VkFormat format)
{
    const VkImageCreateInfo *info = &use->info;
    VkImageFormatProperties most;

    if (info->tiling != VK_IMAGE_TILING_OPTIMAL && info->tiling != VK_IMAGE_TILING_LINEAR)
        return true; /* it can't be asked about like this */
    if (dev->instance->vk.GetPhysicalDeviceImageFormatProperties(dev->gpu, format, info->imageType, info->tiling,
                                                                 info->usage, info->flags, &most) < 0)
        return false;
    return info->extent.width <= most.maxExtent.width && info->extent.height <= most.maxExtent.height &&
           info->extent.depth <= most.maxExtent.depth && info->mipLevels <= most.maxMipLevels &&
           info->arrayLayers <= most.maxArrayLayers && (info->samples & most.sampleCounts);
}

/* Whether it promises all images of `count` formats from `from` on, as those from `to` on. */
static bool promises_all(const struct replay_device *dev, const struct replay_image_uses *uses, VkFormat from,
                         VkFormat to, uint32_t count)
{
    for (size_t i = 0; i < uses->count; i++) {
        const struct replay_image_use *use = &uses->uses[i];
        uint32_t number = (uint32_t)use->info.format - (uint32_t)from;
        if (number < count && !promises(dev, use, (VkFormat)((uint32_t)to + number)))
            return false;
    }
    return true;
}

/* ---- choosing ---- */

#define ATTACHMENT VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT

static bool is_used(const struct replay_image_uses *uses, VkFormat format)
{
    for (size_t i = 0; i < uses->count; i++)
        if (uses->uses[i].info.format == format)
            return true;
    return false;
}

/* Host updates of rows in which depth and stencil lie side by side can't be converted, and nobody binds pages for a
 * depth that was not there. */
static bool can_be_replaced(const struct replay_image_uses *uses, VkFormat format)
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

/* Formats of which the trace has no image may be those of render passes: a driver must know them. */
static bool lacks_depth(const struct replay_device *dev, const struct replay_image_uses *uses, VkFormat format)
{
    return is_used(uses, format) ? !promises_all(dev, uses, format, format, 1)
                                 : !(features_of(dev, format, VK_IMAGE_TILING_OPTIMAL) & ATTACHMENT);
}

static VkFormat choose_depth(const struct replay_device *dev, const struct replay_image_uses *uses, VkFormat format,
                             const VkFormat candidates[MAX_CANDIDATES])
{
    if (!lacks_depth(dev, uses, format) || !can_be_replaced(uses, format))
        return format;
    for (int i = 0; i < MAX_CANDIDATES && candidates[i]; i++)
        if (promises_all(dev, uses, format, candidates[i], 1) &&
            features_of(dev, candidates[i], VK_IMAGE_TILING_OPTIMAL) & ATTACHMENT)
            return candidates[i];
    /* Drivers make more than they promise; what can't even be drawn to they can't make. */
    if (!(features_of(dev, format, VK_IMAGE_TILING_OPTIMAL) & ATTACHMENT))
        for (int i = 0; i < MAX_CANDIDATES && candidates[i]; i++)
            if (features_of(dev, candidates[i], VK_IMAGE_TILING_OPTIMAL) & ATTACHMENT)
                return candidates[i];
    return format;
}

/* Presentable images are made of what surfaces take, which need not be what plain images can be. Others are left to
 * the driver, which may make more than it promises, unless it knows nothing of the format. */
static bool lacks_kind(const struct replay_device *dev, const struct replay_image_uses *uses, const struct kind *kind)
{
    bool lacks = false;

    for (size_t i = 0; i < uses->count; i++) {
        const struct replay_image_use *use = &uses->uses[i];
        if ((uint32_t)use->info.format - (uint32_t)kind->first >= kind->count)
            continue;
        if (use->seen_otherwise)
            return false; /* such views would see other bits */
        lacks |= !promises(dev, use, use->info.format) &&
                 (use->of_swapchain || !features_of(dev, use->info.format, use->info.tiling));
    }
    return lacks;
}

static VkFormat choose_kind(const struct replay_device *dev, const struct replay_image_uses *uses,
                            const struct kind *kind)
{
    if (!lacks_kind(dev, uses, kind))
        return kind->first;
    for (int i = 0; i < MAX_CANDIDATES; i++)
        if (kind->candidates[i] && promises_all(dev, uses, kind->first, kind->candidates[i], kind->count))
            return kind->candidates[i];
    return kind->first;
}

/* ---- saying ---- */

static const char *how(VkFormat recorded, VkFormat here)
{
    if (recorded == VK_FORMAT_S8_UINT)
        return "whose depth is left alone";
    switch (replay_conversion(recorded, here, VK_IMAGE_ASPECT_DEPTH_BIT)) {
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

static void say(struct replay *r, VkFormat recorded, VkFormat here)
{
    lap_log(r->log, LAP_LOG_WARNING, "this device lacks images of %s: %s stands for it, %s",
            replay_format_name(recorded), replay_format_name(here), how(recorded, here));
    replay_report_add(r->report, REPLAY_AREA_FORMAT, REPLAY_MAPPED, replay_format_name(recorded),
                      "%s stands for it, %s", replay_format_name(here), how(recorded, here));
}

/* ---- all of it ---- */

/* Where the device has everything that the tables name the trace need not be read for this. */
static bool has_everything(const struct replay_device *dev)
{
    const VkFormatFeatureFlags depth = ATTACHMENT | VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT,
                               color = VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT | VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT |
                                       VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT;

    for (size_t i = 0; i < COUNT(depths); i++)
        if (depth & ~features_of(dev, depths[i].format, VK_IMAGE_TILING_OPTIMAL))
            return false;
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (color & ~features_of(dev, kinds[i].first, VK_IMAGE_TILING_OPTIMAL))
            return false;
    return true;
}

static bool choose_all(struct replay *r, const struct replay_device *dev, struct replay_formats *formats)
{
    bool any = false;

    for (uint32_t i = 0; i < LAP_DEC_FORMATS; i++)
        formats->here[i] = (uint16_t)i;
    for (size_t i = 0; i < COUNT(depths); i++)
        formats->here[depths[i].format] =
            (uint16_t)choose_depth(dev, &formats->uses, depths[i].format, depths[i].candidates);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        VkFormat here = choose_kind(dev, &formats->uses, &kinds[i]);
        for (uint32_t j = 0; j < kinds[i].count; j++)
            formats->here[(uint32_t)kinds[i].first + j] = (uint16_t)((uint32_t)here + j);
    }
    for (uint32_t i = 0; i < LAP_DEC_FORMATS; i++)
        if (formats->here[i] != i) {
            any = true;
            if (!is_used(&formats->uses, (VkFormat)i))
                continue;
            formats->follows = true;
            say(r, (VkFormat)i, (VkFormat)formats->here[i]);
        }
    return any;
}

enum lap_status replay_formats_choose(struct replay *r, struct replay_device *dev)
{
    struct replay_formats *formats;
    enum lap_status status;

    if (!r->formats_chosen && r->reader && !has_everything(dev)) {
        formats = calloc(1, sizeof *formats);
        if (!formats)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for formats");
        status = replay_find_images(r->reader, r->options.last_frame, &formats->uses);
        r->formats = formats;
        if (status != LAP_OK || !choose_all(r, dev, formats))
            replay_formats_destroy(r);
        if (status != LAP_OK)
            return status;
    }
    r->formats_chosen = true;
    r->source.formats = r->formats ? r->formats->here : NULL;
    dev->formats = r->formats;
    dev->stencils_differ = replay_format_here(dev, VK_FORMAT_S8_UINT) != VK_FORMAT_S8_UINT;
    return LAP_OK;
}

void replay_formats_destroy(struct replay *r)
{
    if (r->formats)
        replay_image_uses_finish(&r->formats->uses);
    free(r->formats);
    r->formats = NULL;
}
