/* SPDX-License-Identifier: MIT */
/* The objects of a slice: the data of their creations, and shared contents. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_reflect.h"
#include "inspector/slice/slice_see.h"
#include "vulkan/chain.h"
#include "vulkan/texel/texels.h"

#define MOST_HOLES (1u << 20)
#define MOST_MADE  16u /* average number of objects of a type per packet */

/* ---- objects ---- */

uint32_t slice_new_object(struct slice_facts *f, uint32_t type)
{
    if (f->object_count >= UINT32_MAX / 2 ||
        !lap_array_grow(&f->objects, sizeof *f->objects, &f->object_capacity, f->object_count + 1)) {
        slice_no_memory(f);
        return 0;
    }
    f->objects[f->object_count] = (struct slice_object){.type = (uint16_t)type, .same_as = (uint32_t)f->object_count};
    f->objects[f->object_count].addresses = gen_handle_addresses[type];
    if (gen_handle_contents[type] == GEN_CONTENTS_HELD) {
        f->objects[f->object_count].contents = (struct slice_run){f->ids.count, 1};
        if (!slice_add_id(f, &f->ids, (uint32_t)f->object_count))
            return 0;
    }
    return (uint32_t)f->object_count++;
}

uint32_t slice_object_of(struct slice_facts *f, uint32_t type, uint64_t index)
{
    size_t before;

    if (type >= GEN_HANDLE_COUNT || !index || *f->status != LAP_OK)
        return 0;
    before = f->numbers[type].capacity;
    if (index > MOST_HOLES + MOST_MADE * (uint64_t)f->packet_count) {
        slice_fail(f, lap_fail(LAP_ERROR_LIMIT, "there is no room for %s %" PRIu64, gen_handle_names[type], index));
        return 0;
    }
    if (!slice_make_room(f, &f->numbers[type].at, sizeof(uint32_t), &f->numbers[type].capacity, (size_t)index + 1))
        return 0;
    memset(f->numbers[type].at + before, 0, (f->numbers[type].capacity - before) * sizeof(uint32_t));
    if (!f->numbers[type].at[index] && (f->numbers[type].at[index] = slice_new_object(f, type)))
        f->objects[f->numbers[type].at[index]].index = index;
    return f->numbers[type].at[index];
}

/* While more may join: of a tree. */
static uint32_t root_of(struct slice_facts *f, uint32_t object)
{
    while (f->objects[object].same_as != object) {
        f->objects[object].same_as = f->objects[f->objects[object].same_as].same_as;
        object = f->objects[object].same_as;
    }
    return object;
}

void slice_join(struct slice_facts *f, uint32_t a, uint32_t b)
{
    uint32_t x = root_of(f, a), y = root_of(f, b);

    if (x != y)
        f->objects[y].same_as = x;
    f->objects[x].shared = true;
}

uint32_t *slice_seen_of(struct slice_facts *f, uint32_t object)
{
    size_t before = f->now.seen_capacity;

    if (!slice_make_room(f, &f->now.seen, sizeof *f->now.seen, &f->now.seen_capacity, f->object_count))
        return NULL;
    memset(f->now.seen + before, 0, (f->now.seen_capacity - before) * sizeof *f->now.seen);
    return &f->now.seen[object];
}

/* False: it was seen in this packet or block. */
static bool see_once(struct slice_facts *f, uint32_t object)
{
    uint32_t *seen = slice_seen_of(f, object);

    if (!seen || *seen / 2 == f->now.seen_number)
        return false;
    *seen = f->now.seen_number * 2;
    return true;
}

void slice_note_contents(struct slice_facts *f, uint32_t object, struct slice_run names)
{
    struct slice_run found = {f->ids.count, 0};

    if (f->objects[object].contents.count || gen_handle_contents[f->objects[object].type] == GEN_CONTENTS_NONE)
        return;
    f->now.seen_number++;
    for (uint32_t i = 0; i < names.count; i++) {
        const struct slice_object *named = &f->objects[f->ids.at[names.from + i]];
        struct slice_run contents = named->contents;
        f->objects[object].addresses |= named->addresses;
        for (uint32_t k = 0; k < contents.count; k++) {
            uint32_t id = f->ids.at[contents.from + k];
            if (see_once(f, id) && slice_add_id(f, &f->ids, id))
                found.count++;
        }
    }
    f->objects[object].contents = found;
}

/* ---- data of creations ---- */

/* Formats of several planes count as one aspect. */
static uint32_t aspects_of(VkFormat format)
{
    VkImageAspectFlags aspects = lap_texels_aspects(format);
    return aspects ? aspects : VK_IMAGE_ASPECT_COLOR_BIT;
}

static void see_image(struct slice_facts *f, const VkImageCreateInfo *info, uint32_t object)
{
    struct slice_object *o = &f->objects[object];

    if (!info)
        return;
    o->aspects = aspects_of(info->format);
    o->layers = info->arrayLayers;
    if (info->imageType != VK_IMAGE_TYPE_3D) {
        o->width = info->extent.width;
        o->height = info->extent.height;
    }
    /* Sparse ones share memory with others, as the queue binds it. */
    o->mips = info->flags & VK_IMAGE_CREATE_SPARSE_BINDING_BIT ? 0 : info->mipLevels;
}

/* Structures, descriptors and shader groups, as the driver that was recorded had them. */
#define OPAQUE_USAGE                                                                                                   \
    ((uint64_t)VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR |                                                \
     (uint64_t)VK_BUFFER_USAGE_SHADER_BINDING_TABLE_BIT_KHR | 0x00200000u /* SAMPLER_DESCRIPTOR_BUFFER */ |            \
     0x00400000u /* RESOURCE_DESCRIPTOR_BUFFER */ | 0x04000000u /* PUSH_DESCRIPTORS_DESCRIPTOR_BUFFER */ |             \
     0x10000000u /* DESCRIPTOR_HEAP */ | 0x01000000u /* MICROMAP_STORAGE */ |                                          \
     0x02000000u /* EXECUTION_GRAPH_SCRATCH */ | 0x80000000u /* PREPROCESS */)
#define OPAQUE_BUFFERS (VK_BUFFER_CREATE_SPARSE_BINDING_BIT | VK_BUFFER_CREATE_PROTECTED_BIT)

static void see_buffer(struct slice_facts *f, const VkBufferCreateInfo *info, uint32_t object)
{
    uint64_t usage;

    if (!info)
        return;
    usage = lap_chain_buffer_usage(info);
    f->objects[object].bytes = info->size;
    f->objects[object].opaque = usage & OPAQUE_USAGE || info->flags & OPAQUE_BUFFERS;
    if (usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) {
        slice_join(f, object, 0);
        (void)slice_add_id(f, &f->addressed, object);
    }
}

static void see_query_pool(struct slice_facts *f, const VkQueryPoolCreateInfo *info, uint32_t object)
{
    if (!info || f->objects[object].bytes)
        return;
    f->objects[object].bytes = info->queryCount;
    f->objects[object].queries = (uint32_t)info->queryType;
}

static void see_semaphore(struct slice_facts *f, const VkSemaphoreCreateInfo *info, uint32_t object)
{
    for (const VkBaseInStructure *c = info ? info->pNext : NULL; c; c = c->pNext)
        if (c->sType == VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO) {
            const VkSemaphoreTypeCreateInfo *type = (const void *)c;
            f->objects[object].timeline = type->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE;
            f->objects[object].bytes = type->initialValue;
        }
}

bool slice_covers(const struct slice_object *image, const VkImageSubresourceRange *range)
{
    return image->mips && range->baseMipLevel == 0 && range->baseArrayLayer == 0 &&
           (range->levelCount == VK_REMAINING_MIP_LEVELS || range->levelCount >= image->mips) &&
           (range->layerCount == VK_REMAINING_ARRAY_LAYERS || range->layerCount >= image->layers) &&
           (image->aspects & ~range->aspectMask) == 0;
}

static void see_view(struct slice_facts *f, const VkImageViewCreateInfo *info, uint32_t object)
{
    uint32_t of = info ? OBJECT(f, VkImage, info->image) : 0;

    if (of)
        f->objects[object].full =
            slice_covers(&f->objects[of], &info->subresourceRange) && info->viewType != VK_IMAGE_VIEW_TYPE_3D;
}

static void see_framebuffer(struct slice_facts *f, const VkFramebufferCreateInfo *info, uint32_t object)
{
    uint64_t from = f->ids.count;

    f->objects[object].layers = info ? info->layers : 0;
    for (uint32_t i = 0; info && info->pAttachments && i < info->attachmentCount; i++)
        if (!slice_add_id(f, &f->ids, OBJECT(f, VkImageView, info->pAttachments[i])))
            return;
    f->objects[object].refs = (struct slice_run){from, (uint32_t)(f->ids.count - from)};
}

/* Whether all aspects of an attachment begin without their old contents. */
static bool begins_anew(VkFormat format, VkAttachmentLoadOp load, VkAttachmentLoadOp stencil_load)
{
    const VkImageAspectFlags aspects = lap_texels_aspects(format), stencil = VK_IMAGE_ASPECT_STENCIL_BIT;

    return aspects && (!(aspects & ~stencil) || slice_begins_anew(load)) &&
           (!(aspects & stencil) || slice_begins_anew(stencil_load));
}

static void use_attachment(uint32_t *used, uint32_t attachment)
{
    if (attachment < 32)
        *used |= 1u << attachment;
}

/* Nothing is loaded for attachments that no subpass has, and for views that it does not draw to. */
static void see_render_pass(struct slice_facts *f, const VkRenderPassCreateInfo *info, uint32_t object)
{
    const bool plain =
        info && !info->flags && !lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_MULTIVIEW_CREATE_INFO);
    uint32_t used = 0;

    for (uint32_t i = 0; plain && info->pSubpasses && i < info->subpassCount; i++) {
        const VkSubpassDescription *subpass = &info->pSubpasses[i];
        for (uint32_t k = 0; subpass->pColorAttachments && k < subpass->colorAttachmentCount; k++)
            use_attachment(&used, subpass->pColorAttachments[k].attachment);
        if (subpass->pDepthStencilAttachment)
            use_attachment(&used, subpass->pDepthStencilAttachment->attachment);
    }
    for (uint32_t i = 0; info && info->pAttachments && i < info->attachmentCount && i < 32; i++) {
        const VkAttachmentDescription *a = &info->pAttachments[i];
        if (a->initialLayout == VK_IMAGE_LAYOUT_UNDEFINED)
            f->objects[object].discards |= 1u << i;
        if (used >> i & 1 && begins_anew(a->format, a->loadOp, a->stencilLoadOp))
            f->objects[object].clears |= 1u << i;
    }
}

static void see_render_pass2(struct slice_facts *f, const VkRenderPassCreateInfo2 *info, uint32_t object)
{
    bool plain = info && !info->flags;
    uint32_t used = 0;

    for (uint32_t i = 0; plain && info->pSubpasses && i < info->subpassCount; i++) {
        const VkSubpassDescription2 *subpass = &info->pSubpasses[i];
        plain = !subpass->viewMask;
        for (uint32_t k = 0; subpass->pColorAttachments && k < subpass->colorAttachmentCount; k++)
            use_attachment(&used, subpass->pColorAttachments[k].attachment);
        if (subpass->pDepthStencilAttachment)
            use_attachment(&used, subpass->pDepthStencilAttachment->attachment);
    }
    for (uint32_t i = 0; info && info->pAttachments && i < info->attachmentCount && i < 32; i++) {
        const VkAttachmentDescription2 *a = &info->pAttachments[i];
        if (a->initialLayout == VK_IMAGE_LAYOUT_UNDEFINED && !a->pNext)
            f->objects[object].discards |= 1u << i;
        if (plain && used >> i & 1 && begins_anew(a->format, a->loadOp, a->stencilLoadOp))
            f->objects[object].clears |= 1u << i;
    }
}

static void see_swapchain(struct slice_facts *f, const VkSwapchainCreateInfoKHR *info, uint32_t object)
{
    if (info) {
        f->objects[object].layers = info->imageArrayLayers;
        f->objects[object].width = info->imageExtent.width;
        f->objects[object].height = info->imageExtent.height;
    }
    f->objects[object].refs = (struct slice_run){0, 0};
}

static void see_swapchain_images(struct slice_facts *f, const struct gen_args_vkGetSwapchainImagesKHR *a)
{
    uint32_t swapchain = OBJECT(f, VkSwapchainKHR, a->swapchain);
    uint64_t from = f->ids.count;

    for (uint32_t i = 0; swapchain && a->pSwapchainImages && a->pSwapchainImageCount && i < *a->pSwapchainImageCount;
         i++) {
        uint32_t image = OBJECT(f, VkImage, a->pSwapchainImages[i]);
        if (!image || !slice_add_id(f, &f->ids, image))
            return;
        f->objects[image].mips = 1;
        f->objects[image].layers = f->objects[swapchain].layers;
        f->objects[image].width = f->objects[swapchain].width;
        f->objects[image].height = f->objects[swapchain].height;
        f->objects[image].aspects = VK_IMAGE_ASPECT_COLOR_BIT;
        f->objects[image].placed = f->objects[image].presented = true; /* a replay has an image of its own */
    }
    if (swapchain && f->ids.count - from >= f->objects[swapchain].refs.count)
        f->objects[swapchain].refs = (struct slice_run){from, (uint32_t)(f->ids.count - from)};
}

#define SEE(command, member, handle, see)                                                                              \
    case GEN_##command: {                                                                                              \
        const struct gen_args_##command *a = call->args;                                                               \
        uint32_t object = a->member ? OBJECT(f, handle, *a->member) : 0;                                               \
        if (object)                                                                                                    \
            see(f, a->pCreateInfo, object);                                                                            \
        break;                                                                                                         \
    }

void slice_see_creation(struct slice_facts *f, const struct trace_call *call)
{
    switch (call->command) {
        SEE(vkCreateImage, pImage, VkImage, see_image)
        SEE(vkCreateBuffer, pBuffer, VkBuffer, see_buffer)
        SEE(vkCreateQueryPool, pQueryPool, VkQueryPool, see_query_pool)
        SEE(vkCreateSemaphore, pSemaphore, VkSemaphore, see_semaphore)
        SEE(vkCreateImageView, pView, VkImageView, see_view)
        SEE(vkCreateFramebuffer, pFramebuffer, VkFramebuffer, see_framebuffer)
        SEE(vkCreateRenderPass, pRenderPass, VkRenderPass, see_render_pass)
        SEE(vkCreateRenderPass2, pRenderPass, VkRenderPass, see_render_pass2)
        SEE(vkCreateSwapchainKHR, pSwapchain, VkSwapchainKHR, see_swapchain)
        SEE(vkCreateDescriptorSetLayout, pSetLayout, VkDescriptorSetLayout, slice_see_set_layout)
    case GEN_vkAllocateDescriptorSets:
        slice_see_sets(f, call->args);
        break;
    case GEN_vkGetSwapchainImagesKHR:
        see_swapchain_images(f, call->args);
        break;
    default:
        break;
    }
}

/* ---- memory ---- */

void slice_see_place(struct slice_facts *f, uint32_t object, VkDeviceMemory memory, uint64_t offset, uint64_t size)
{
    uint32_t of = OBJECT(f, VkDeviceMemory, memory);
    struct slice_place *place;

    if (!object || !of)
        return;
    f->objects[object].placed = true;
    if (!slice_make_room(f, &f->places, sizeof *f->places, &f->place_capacity, f->place_count + 1))
        return;
    place = &f->places[f->place_count++];
    *place = (struct slice_place){of, offset, offset + size < offset ? UINT64_MAX : offset + size, object};
}

static int compare_places(const void *a, const void *b)
{
    const struct slice_place *x = a, *y = b;
    return x->memory != y->memory ? SLICE_ORDER(x->memory, y->memory) : SLICE_ORDER(x->from, y->from);
}

/* Objects that overlap in memory share their contents. */
void slice_join_places(struct slice_facts *f)
{
    for (size_t i = 0; i < f->place_count; i++) {
        const struct slice_object *memory = &f->objects[f->places[i].memory];
        if (memory->space) {
            f->places[i].memory = UINT64_C(1) << 40 | memory->space;
            f->places[i].from += memory->bytes;
            f->places[i].to += memory->bytes;
        }
    }
    if (f->place_count)
        qsort(f->places, f->place_count, sizeof *f->places, compare_places);
    for (size_t i = 1, reach = 0; i < f->place_count; i++) {
        const struct slice_place *far = &f->places[reach], *at = &f->places[i];
        if (far->memory == at->memory && at->from < far->to && at->object != far->object)
            slice_join(f, far->object, at->object);
        if (far->memory != at->memory || at->to > far->to)
            reach = i;
    }
    for (uint32_t id = 0; id < f->object_count; id++)
        f->objects[id].same_as = root_of(f, id);
}

void slice_see_bound_image(struct slice_facts *f, const struct gen_args_lapilliBindImage *a)
{
    uint32_t image = OBJECT(f, VkImage, a->image);
    uint32_t swapchain = OBJECT(f, VkSwapchainKHR, a->swapchain);

    slice_see_place(f, image, a->memory, a->memoryOffset, a->size);
    if (image && swapchain && a->swapchainImageIndex < f->objects[swapchain].refs.count)
        slice_join(f, image, f->ids.at[f->objects[swapchain].refs.from + a->swapchainImageIndex]);
    else if (image && swapchain)
        f->objects[root_of(f, image)].shared = true;
}
