/* SPDX-License-Identifier: MIT */
/* The images of a trace whose formats may be replaced, found in a pass of its own. */
#include <stdlib.h>
#include <string.h>

#include "codegen/support/block.h"
#include "codegen/support/dictionary.h"
#include "gen_decode.h"
#include "replayer/format.h"
#include "replayer/resource.h"

#define MAX_HOLE  65536u /* numbers that other threads may have taken */
#define MOST_MADE 16u    /* images by one packet, on the average */

struct scan {
    struct lap_reader *reader;
    struct lap_dictionary dictionary;
    struct lap_arena arena;
    struct lap_dec_source source;
    struct replay_image_uses *out;
    uint32_t *use_of; /* [index of an image]: 1 + its use; 0: none that matters */
    uint64_t image_capacity;
    uint64_t ticket; /* of the current packet */
};

static bool may_be_replaced(VkFormat format)
{
    uint32_t count;
    return replay_format_is_depth_or_stencil(format) || replay_format_kind(format, &count) != VK_FORMAT_UNDEFINED;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static bool is_like(const struct replay_image_use *use, const VkImageCreateInfo *info, bool of_swapchain)
{
    return use->info.format == info->format && use->info.imageType == info->imageType &&
           use->info.tiling == info->tiling && use->info.usage == info->usage && use->info.flags == info->flags &&
           use->info.samples == info->samples && use->of_swapchain == of_swapchain;
}

/* Whether some format in a list is of another kind than the image's. */
static bool lists_others(const VkImageCreateInfo *info)
{
    const VkImageFormatListCreateInfo *list =
        replay_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO);
    uint32_t count;
    VkFormat kind = replay_format_kind(info->format, &count);

    for (uint32_t i = 0; list && list->pViewFormats && i < list->viewFormatCount; i++)
        if (list->pViewFormats[i] != info->format && replay_format_kind(list->pViewFormats[i], &count) != kind)
            return true;
    return false;
}

static enum lap_status add_use(struct scan *scan, const VkImageCreateInfo *info, bool of_swapchain, size_t *out_use)
{
    struct replay_image_uses *out = scan->out;
    struct replay_image_use *use;
    size_t i = 0;

    while (i < out->count && !is_like(&out->uses[i], info, of_swapchain))
        i++;
    if (i == out->capacity) {
        size_t capacity = out->capacity ? 2 * out->capacity : 16;
        struct replay_image_use *more = realloc(out->uses, capacity * sizeof *more);
        if (!more)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for the formats of images");
        out->uses = more;
        out->capacity = capacity;
    }
    use = &out->uses[i];
    if (i == out->count) {
        *use = (struct replay_image_use){.info = *info, .of_swapchain = of_swapchain};
        use->info.pNext = NULL;
        use->info.pQueueFamilyIndices = NULL;
        out->count++;
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

static enum lap_status note_image(struct scan *scan, uint64_t index, size_t use)
{
    /* Numbers are dense. A replay refuses others. */
    if (index > MAX_HOLE + MOST_MADE * scan->ticket)
        return LAP_OK;
    if (index >= scan->image_capacity) {
        uint64_t capacity = index * 2 + 64;
        uint32_t *more = realloc(scan->use_of, capacity * sizeof *more);
        if (!more)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for the formats of images");
        memset(more + scan->image_capacity, 0, (capacity - scan->image_capacity) * sizeof *more);
        scan->use_of = more;
        scan->image_capacity = capacity;
    }
    scan->use_of[index] = (uint32_t)use + 1;
    return LAP_OK;
}

static enum lap_status see_image(struct scan *scan, const struct gen_args_vkCreateImage *args)
{
    enum lap_status status;
    size_t use;

    if (!args->pCreateInfo || !args->pImage || !*args->pImage || !may_be_replaced(args->pCreateInfo->format))
        return LAP_OK;
    status = add_use(scan, args->pCreateInfo, false, &use);
    if (status != LAP_OK || !(args->pCreateInfo->flags & VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT))
        return status;
    return note_image(scan, gen_u64_VkImage(*args->pImage), use);
}

static enum lap_status see_swapchain(struct scan *scan, const struct gen_args_vkCreateSwapchainKHR *args)
{
    const VkSwapchainCreateInfoKHR *info = args->pCreateInfo;
    VkImageCreateInfo image = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .mipLevels = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .tiling = VK_IMAGE_TILING_OPTIMAL};
    size_t use;

    if (!info || !args->pSwapchain || !*args->pSwapchain || !may_be_replaced(info->imageFormat))
        return LAP_OK;
    image.pNext = info->pNext;
    image.format = info->imageFormat;
    image.extent = (VkExtent3D){info->imageExtent.width, info->imageExtent.height, 1};
    image.arrayLayers = info->imageArrayLayers;
    image.usage = info->imageUsage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    if (info->flags & VK_SWAPCHAIN_CREATE_MUTABLE_FORMAT_BIT_KHR)
        image.flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT;
    return add_use(scan, &image, true, &use);
}

static void see_view(struct scan *scan, const struct gen_args_vkCreateImageView *args)
{
    uint64_t image = args->pCreateInfo ? gen_u64_VkImage(args->pCreateInfo->image) : 0;
    struct replay_image_use *use;
    uint32_t count;

    if (image >= scan->image_capacity || !scan->use_of[image])
        return;
    use = &scan->out->uses[scan->use_of[image] - 1];
    if (args->pCreateInfo->format != use->info.format &&
        replay_format_kind(args->pCreateInfo->format, &count) != replay_format_kind(use->info.format, &count))
        use->seen_otherwise = true;
}

static enum lap_status see_template(struct scan *scan, const struct gen_args_vkCreateDescriptorUpdateTemplate *args)
{
    struct replay_image_uses *out = scan->out;
    const VkDescriptorUpdateTemplateCreateInfo *info = args->pCreateInfo;

    if (!info || !args->pDescriptorUpdateTemplate ||
        info->templateType != VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR ||
        info->pipelineBindPoint != VK_PIPELINE_BIND_POINT_COMPUTE)
        return LAP_OK;
    if (out->template_count == out->template_capacity) {
        size_t capacity = out->template_capacity ? 2 * out->template_capacity : 16;
        uint64_t *more = realloc(out->push_templates, capacity * sizeof *more);
        if (!more)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for update templates");
        out->push_templates = more;
        out->template_capacity = capacity;
    }
    out->push_templates[out->template_count++] = gen_u64_VkDescriptorUpdateTemplate(*args->pDescriptorUpdateTemplate);
    return LAP_OK;
}

static enum lap_status scan_packet(struct scan *scan, const struct lap_packet *packet)
{
    uint32_t command = lap_dictionary_command(&scan->dictionary, packet->command);
    struct lap_args args;
    struct lap_dec dec;

    if (packet->flags & (LAP_PACKET_INFO | LAP_PACKET_FAILED) ||
        (command != GEN_vkCreateImage && command != GEN_vkCreateSwapchainKHR && command != GEN_vkCreateImageView &&
         command != GEN_vkCreateDescriptorUpdateTemplate))
        return LAP_OK;
    scan->ticket = packet->ticket;
    lap_arena_reset(&scan->arena);
    lap_dec_init(&dec, packet->body, packet->bytes, &scan->arena, &scan->source);
    gen_decode_table[command](&dec, args.bytes);
    if (dec.status != LAP_OK)
        return LAP_OK; /* the replay will say so, if it comes that far */
    switch (command) {
    case GEN_vkCreateImage:
        return see_image(scan, (void *)args.bytes);
    case GEN_vkCreateSwapchainKHR:
        return see_swapchain(scan, (void *)args.bytes);
    case GEN_vkCreateImageView:
        see_view(scan, (void *)args.bytes);
        return LAP_OK;
    default:
        return see_template(scan, (void *)args.bytes);
    }
}

static int ascending(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

enum lap_status replay_find_images(const struct lap_reader *trace, uint64_t last_frame, struct replay_image_uses *out)
{
    struct scan scan = {.out = out};
    struct lap_packet packet;
    enum lap_status status = lap_reader_open_again(trace, NULL, &scan.reader);

    *out = (struct replay_image_uses){0};
    if (status == LAP_OK) {
        lap_arena_init(&scan.arena, (size_t)1 << 30);
        status = lap_dictionary_init(&scan.dictionary, scan.reader);
        scan.source = lap_dictionary_source(&scan.dictionary);
    }
    while (status == LAP_OK && lap_reader_next(scan.reader, &packet) == LAP_OK &&
           !(last_frame && packet.frame >= last_frame))
        status = scan_packet(&scan, &packet);
    if (out->template_count)
        qsort(out->push_templates, out->template_count, sizeof *out->push_templates, ascending);
    lap_dictionary_release(&scan.dictionary);
    lap_arena_finish(&scan.arena);
    lap_reader_close(&scan.reader);
    free(scan.use_of);
    return status;
}

void replay_image_uses_finish(struct replay_image_uses *uses)
{
    free(uses->uses);
    free(uses->push_templates);
    *uses = (struct replay_image_uses){0};
}
