/* SPDX-License-Identifier: MIT */
/* What formats are used for, beside making images of them: texel buffers, vertices, views of another format, filters.
 * Swapchains' images are the replay's own, and not looked at. */
#include <string.h>

#include "replayer/limits_internal.h"
#include "replayer/resource.h"

/* An image, or a view of one. */
struct limits_image {
    VkFormat format;
    VkImageTiling tiling;
    VkImageUsageFlags usage;
};

struct limits_sampler {
    bool filters; /* it takes more than the nearest texel */
};

static VkFormatProperties ask(const struct limits_look *look, VkFormat format)
{
    const struct replay_instance *instance = look->limits->instance;
    VkFormatProperties properties;

    memset(&properties, 0, sizeof properties);
    instance->vk.GetPhysicalDeviceFormatProperties(instance->gpu, format, &properties);
    return properties;
}

static void lacks(const struct limits_look *look, VkFormat format, const char *what)
{
    const char *name = replay_enum_name("VkFormat", format);
    limits_report(look, REPLAY_AREA_FORMAT, REPLAY_IGNORED, name ? name : "unknown",
                  "the driver does not promise it for %s", what);
}

static void require(const struct limits_look *look, VkFormat format, VkFormatFeatureFlags has,
                    VkFormatFeatureFlags wanted, const char *what)
{
    if ((has & wanted) != wanted)
        lacks(look, format, what);
}

static void require_in_tiling(const struct limits_look *look, VkFormat format, VkImageTiling tiling,
                              VkFormatFeatureFlags wanted, const char *what)
{
    VkFormatProperties has;

    if (format == VK_FORMAT_UNDEFINED || (tiling != VK_IMAGE_TILING_LINEAR && tiling != VK_IMAGE_TILING_OPTIMAL))
        return;
    has = ask(look, format);
    require(look, format, tiling == VK_IMAGE_TILING_LINEAR ? has.linearTilingFeatures : has.optimalTilingFeatures,
            wanted, what);
}

static void look_at_usage(const struct limits_look *look, const struct limits_image *view)
{
    static const struct {
        VkImageUsageFlags usage;
        VkFormatFeatureFlags feature;
        const char *what;
    } rows[] = {
        {VK_IMAGE_USAGE_SAMPLED_BIT, VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT, "views that are sampled"},
        {VK_IMAGE_USAGE_STORAGE_BIT, VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT, "views that shaders store to"},
        {VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT,
         "views that are color attachments"},
        {VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT,
         "views that are depth attachments"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (view->usage & rows[i].usage)
            require_in_tiling(look, view->format, view->tiling, rows[i].feature, rows[i].what);
}

static enum lap_status look_at_view(const struct limits_look *look, const struct gen_args_vkCreateImageView *args)
{
    const VkImageViewCreateInfo *info = args->pCreateInfo;
    const struct limits_image *image = info ? lap_map_get(&look->limits->images, gen_u64_VkImage(info->image)) : NULL;
    const VkImageViewUsageCreateInfo *usage;
    struct limits_image *view;

    if (!image || !args->pView || !*args->pView)
        return LAP_OK;
    view = limits_keep(&look->limits->views, gen_u64_VkImageView(*args->pView), sizeof *view);
    if (!view)
        return limits_no_memory();
    usage = replay_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_VIEW_USAGE_CREATE_INFO);
    *view = (struct limits_image){info->format, image->tiling, usage ? usage->usage : image->usage};
    /* In the image's own format the driver was asked for the image. */
    if (view->format != image->format)
        look_at_usage(look, view);
    return LAP_OK;
}

static enum lap_status keep_image(const struct limits_look *look, const struct gen_args_vkCreateImage *args)
{
    struct limits_image *image;

    if (!args->pCreateInfo || !args->pImage || !*args->pImage)
        return LAP_OK;
    image = limits_keep(&look->limits->images, gen_u64_VkImage(*args->pImage), sizeof *image);
    if (!image)
        return limits_no_memory();
    *image = (struct limits_image){args->pCreateInfo->format, args->pCreateInfo->tiling, args->pCreateInfo->usage};
    return LAP_OK;
}

static enum lap_status keep_sampler(const struct limits_look *look, const struct gen_args_vkCreateSampler *args)
{
    const VkSamplerCreateInfo *info = args->pCreateInfo;
    struct limits_sampler *sampler;

    if (!info || !args->pSampler || !*args->pSampler)
        return LAP_OK;
    sampler = limits_keep(&look->limits->samplers, gen_u64_VkSampler(*args->pSampler), sizeof *sampler);
    if (!sampler)
        return limits_no_memory();
    sampler->filters = info->magFilter == VK_FILTER_LINEAR || info->minFilter == VK_FILTER_LINEAR;
    return LAP_OK;
}

/* Images and samplers that are written together; those that shaders put together are not known. */
static void look_at_writes(const struct limits_look *look, const struct gen_args_vkUpdateDescriptorSets *args)
{
    for (uint32_t i = 0; i < args->descriptorWriteCount && args->pDescriptorWrites; i++) {
        const VkWriteDescriptorSet *write = &args->pDescriptorWrites[i];
        if (write->descriptorType != VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER || !write->pImageInfo)
            continue;
        for (uint32_t j = 0; j < write->descriptorCount; j++) {
            const struct limits_sampler *sampler =
                lap_map_get(&look->limits->samplers, gen_u64_VkSampler(write->pImageInfo[j].sampler));
            const struct limits_image *view =
                lap_map_get(&look->limits->views, gen_u64_VkImageView(write->pImageInfo[j].imageView));
            if (sampler && sampler->filters && view)
                require_in_tiling(look, view->format, view->tiling, VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT,
                                  "a filter that is linear");
        }
    }
}

static void look_at_blit(const struct limits_look *look, VkImage source, VkImage target, VkFilter filter)
{
    const struct limits_image *from = lap_map_get(&look->limits->images, gen_u64_VkImage(source));
    const struct limits_image *to = lap_map_get(&look->limits->images, gen_u64_VkImage(target));

    if (from)
        require_in_tiling(look, from->format, from->tiling, VK_FORMAT_FEATURE_BLIT_SRC_BIT, "the source of a blit");
    if (from && filter == VK_FILTER_LINEAR)
        require_in_tiling(look, from->format, from->tiling, VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT,
                          "a blit with a filter that is linear");
    if (to)
        require_in_tiling(look, to->format, to->tiling, VK_FORMAT_FEATURE_BLIT_DST_BIT, "the target of a blit");
}

static void look_at_texel_buffer(const struct limits_look *look, const VkBufferViewCreateInfo *info)
{
    const VkFormatFeatureFlags either =
        VK_FORMAT_FEATURE_UNIFORM_TEXEL_BUFFER_BIT | VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT;
    uint32_t bytes = gen_texel_bytes(info->format);

    if (!(ask(look, info->format).bufferFeatures & either))
        lacks(look, info->format, "texel buffers");
    if (bytes && info->range != VK_WHOLE_SIZE)
        LIMITS_EXCEEDS(look, maxTexelBufferElements, "the number of texels of a buffer", info->range / bytes);
}

static void look_at_vertex_formats(const struct limits_look *look, const VkPipelineVertexInputStateCreateInfo *info)
{
    for (uint32_t i = 0; info && i < info->vertexAttributeDescriptionCount && info->pVertexAttributeDescriptions; i++) {
        VkFormat format = info->pVertexAttributeDescriptions[i].format;
        require(look, format, ask(look, format).bufferFeatures, VK_FORMAT_FEATURE_VERTEX_BUFFER_BIT, "vertices");
    }
}

enum lap_status limits_look_at_formats(struct limits_look *look, const void *raw)
{
    switch (look->command) {
    case GEN_vkCreateImage:
        return keep_image(look, raw);
    case GEN_vkCreateImageView:
        return look_at_view(look, raw);
    case GEN_vkCreateSampler:
        return keep_sampler(look, raw);
    case GEN_vkUpdateDescriptorSets:
        look_at_writes(look, raw);
        break;
    case GEN_vkCmdBlitImage: {
        const struct gen_args_vkCmdBlitImage *args = raw;
        look_at_blit(look, args->srcImage, args->dstImage, args->filter);
        break;
    }
    case GEN_vkCmdBlitImage2: {
        const VkBlitImageInfo2 *info = ((const struct gen_args_vkCmdBlitImage2 *)raw)->pBlitImageInfo;
        if (info)
            look_at_blit(look, info->srcImage, info->dstImage, info->filter);
        break;
    }
    case GEN_vkCreateBufferView: {
        const struct gen_args_vkCreateBufferView *args = raw;
        if (args->pCreateInfo)
            look_at_texel_buffer(look, args->pCreateInfo);
        break;
    }
    case GEN_vkCreateGraphicsPipelines: {
        const struct gen_args_vkCreateGraphicsPipelines *args = raw;
        for (uint32_t i = 0; i < args->createInfoCount && args->pCreateInfos; i++)
            look_at_vertex_formats(look, args->pCreateInfos[i].pVertexInputState);
        break;
    }
    default:
        break;
    }
    return LAP_OK;
}
