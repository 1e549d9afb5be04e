/* SPDX-License-Identifier: MIT */
#include "inspector/analysis/image_use.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/map.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "vulkan/modifier.h"
#include "vulkan/texel/pixels.h"

struct image_use_part {
    struct image_uses found;
    struct image_use *uses;
    size_t capacity;
    struct lap_map mutable; /* [index of a mutable-format image]: 1 + the index of its use */
};

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static bool is_like(const struct image_use *use, const VkImageCreateInfo *info, bool of_swapchain)
{
    return use->info.format == info->format && use->info.imageType == info->imageType &&
           use->info.tiling == info->tiling && use->info.usage == info->usage && use->info.flags == info->flags &&
           use->info.samples == info->samples && use->of_swapchain == of_swapchain;
}

/* Whether a format in a list belongs to another family than the image's. */
static bool lists_others(const VkImageCreateInfo *info)
{
    const VkBaseInStructure *s = info->pNext;
    const VkImageFormatListCreateInfo *list;
    VkFormat family = lap_pixels_family(info->format, NULL);

    while (s && s->sType != VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO)
        s = s->pNext;
    list = (const void *)s;
    for (uint32_t i = 0; list && list->pViewFormats && i < list->viewFormatCount; i++)
        if (list->pViewFormats[i] != info->format && lap_pixels_family(list->pViewFormats[i], NULL) != family)
            return true;
    return false;
}

static enum lap_status add_use(struct image_use_part *part, const VkImageCreateInfo *info, bool of_swapchain,
                               size_t *out_use)
{
    struct image_use *use;
    size_t i = 0;

    while (i < part->found.count && !is_like(&part->uses[i], info, of_swapchain))
        i++;
    if (!lap_array_grow(&part->uses, sizeof *part->uses, &part->capacity, i + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for the formats of images");
    part->found.uses = part->uses;
    use = &part->uses[i];
    if (i == part->found.count) {
        *use = (struct image_use){.info = *info, .of_swapchain = of_swapchain};
        use->info.pNext = NULL;
        use->info.pQueueFamilyIndices = NULL;
        part->found.count++;
    }
    use->info.extent.width = larger(use->info.extent.width, info->extent.width);
    use->info.extent.height = larger(use->info.extent.height, info->extent.height);
    use->info.extent.depth = larger(use->info.extent.depth, info->extent.depth);
    use->info.mipLevels = larger(use->info.mipLevels, info->mipLevels);
    use->info.arrayLayers = larger(use->info.arrayLayers, info->arrayLayers);
    use->seen_otherwise |= lists_others(info);
    use->count++;
    *out_use = i;
    return LAP_OK;
}

static enum lap_status see_image(struct image_use_part *part, const struct gen_args_vkCreateImage *args)
{
    VkImageCreateInfo info;
    enum lap_status status;
    size_t use;

    if (!args->pCreateInfo || !args->pImage || !*args->pImage || !lap_pixels_substitutable(args->pCreateInfo->format))
        return LAP_OK;
    info = *args->pCreateInfo;
    lap_modifier_remove(&info);
    status = add_use(part, &info, false, &use);
    if (status != LAP_OK || !(args->pCreateInfo->flags & VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT))
        return status;
    return lap_map_put(&part->mutable, gen_u64_VkImage(*args->pImage), (void *)(uintptr_t)(use + 1), NULL);
}

static enum lap_status see_swapchain(struct image_use_part *part, const VkSwapchainCreateInfoKHR *info,
                                     const VkSwapchainKHR *made)
{
    VkImageCreateInfo image = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .mipLevels = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .tiling = VK_IMAGE_TILING_OPTIMAL};
    size_t use;

    if (!info || !made || !*made || !lap_pixels_substitutable(info->imageFormat))
        return LAP_OK;
    image.pNext = info->pNext;
    image.format = info->imageFormat;
    image.extent = (VkExtent3D){info->imageExtent.width, info->imageExtent.height, 1};
    image.arrayLayers = info->imageArrayLayers;
    image.usage = info->imageUsage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    if (info->flags & VK_SWAPCHAIN_CREATE_MUTABLE_FORMAT_BIT_KHR)
        image.flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT;
    return add_use(part, &image, true, &use);
}

static enum lap_status see_swapchains(struct image_use_part *part,
                                      const struct gen_args_vkCreateSharedSwapchainsKHR *args)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; args->pCreateInfos && args->pSwapchains && i < args->swapchainCount && status == LAP_OK; i++)
        status = see_swapchain(part, &args->pCreateInfos[i], &args->pSwapchains[i]);
    return status;
}

static void see_view(struct image_use_part *part, const struct gen_args_vkCreateImageView *args)
{
    uintptr_t number =
        args->pCreateInfo ? (uintptr_t)lap_map_get(&part->mutable, gen_u64_VkImage(args->pCreateInfo->image)) : 0;
    struct image_use *use = number ? &part->uses[number - 1] : NULL;

    if (use && args->pCreateInfo->format != use->info.format &&
        lap_pixels_family(args->pCreateInfo->format, NULL) != lap_pixels_family(use->info.format, NULL))
        use->seen_otherwise = true;
}

static const uint16_t commands[] = {GEN_vkCreateImage, GEN_vkCreateSwapchainKHR, GEN_vkCreateSharedSwapchainsKHR,
                                    GEN_vkCreateImageView, GEN_COMMAND_NONE};

static enum lap_status visit(void *state, const struct trace_call *call)
{
    if (call->command == GEN_vkCreateImage)
        return see_image(state, call->args);
    if (call->command == GEN_vkCreateSwapchainKHR) {
        const struct gen_args_vkCreateSwapchainKHR *args = call->args;
        return see_swapchain(state, args->pCreateInfo, args->pSwapchain);
    }
    if (call->command == GEN_vkCreateSharedSwapchainsKHR)
        return see_swapchains(state, call->args);
    see_view(state, call->args);
    return LAP_OK;
}

void *image_use_create(void)
{
    struct image_use_part *part = calloc(1, sizeof *part);

    if (part)
        lap_map_init(&part->mutable);
    return part;
}

void image_use_destroy(void *state)
{
    struct image_use_part *part = state;

    if (!part)
        return;
    lap_map_finish(&part->mutable);
    free(part->uses);
    free(part);
}

void image_use_visitor(void *part, struct trace_visitor *out)
{
    *out = (struct trace_visitor){.commands = commands, .visit = visit, .state = part};
}

const struct image_uses *image_use_found(const void *part)
{
    return &((const struct image_use_part *)part)->found;
}
