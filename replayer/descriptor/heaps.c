/* SPDX-License-Identifier: MIT */
/* heaps: sizes of descriptors on both drivers, and the meanings of recorded bytes (heaps.h). */
#include "replayer/descriptor/heaps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_replay.h"
#include "replayer/address/address.h"
#include "replayer/core/handles.h"
#include "replayer/descriptor/descriptor_buffers.h"

#ifdef VK_EXT_descriptor_heap

/* The current meaning of recorded bytes. Descriptors with an address are made anew when another buffer gets it. */
struct replay_heap_known {
    const struct replay_heap_type *type;
    VkDeviceAddress recorded, made_of; /* 0: none; the live address when it was last made */
    VkDeviceSize range;
    VkFormat format; /* of texel buffers */
    bool listed;     /* in heaps->addresses */
    unsigned char from[REPLAY_DESCRIPTOR_BYTES], to[REPLAY_DESCRIPTOR_BYTES];
};

static enum lap_status no_memory(struct replay *r)
{
    return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for descriptors in heaps"));
}

/* ---- devices ---- */

bool replay_heaps_wanted(const struct replay_device *dev, const VkDeviceCreateInfo *info)
{
    return lap_heaps_enabled(info) && dev->vk.WriteResourceDescriptorsEXT &&
           dev->instance->vk.GetPhysicalDeviceDescriptorSizeEXT;
}

enum lap_status replay_heaps_create(struct replay *r, struct replay_device *dev, const VkDeviceCreateInfo *info)
{
    struct replay_heaps *heaps;

    (void)r;
    if (!replay_heaps_wanted(dev, info))
        return LAP_OK;
    heaps = calloc(1, sizeof *heaps);
    if (!heaps)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a device");
    lap_map_init(&heaps->known);
    dev->descriptors.buffers->heaps = heaps;
    return LAP_OK;
}

static void end_known(void *user, uint64_t key, void *known)
{
    (void)user;
    (void)key;
    free(known);
}

void replay_heaps_destroy(struct replay *r, struct replay_device *dev)
{
    struct replay_heaps *heaps = dev->descriptors.buffers->heaps;
    uint32_t unknown;

    if (!heaps)
        return;
    unknown = replay_descriptor_table_unknown(r, dev, &heaps->table);
    if (unknown)
        lap_log(r->log, LAP_LOG_INFO,
                "%" PRIu32 " places in descriptor heaps have bytes that no call of the trace gave: numbers, or "
                "descriptors that a shader made",
                unknown);
    for (size_t i = 0; i < heaps->shadow_count; i++) {
        replay_own_buffer_free(r, dev, &heaps->shadows[i]->heap);
        replay_own_buffer_free(r, dev, &heaps->shadows[i]->seen);
        free(heaps->shadows[i]);
    }
    free(heaps->shadows);
    free(heaps->addresses);
    lap_map_each(&heaps->known, end_known, NULL);
    lap_map_finish(&heaps->known);
    replay_descriptor_table_finish(r, dev, &heaps->table);
    replay_heap_translator_destroy(dev, &heaps->translator);
    free(heaps);
    dev->descriptors.buffers->heaps = NULL;
}

/* ---- sizes ---- */

static enum replay_heap_kind kind_of(uint32_t type)
{
    return type == VK_DESCRIPTOR_TYPE_SAMPLER ? REPLAY_HEAP_SAMPLERS : REPLAY_HEAP_RESOURCES;
}

static void ask(const struct replay_device *dev, VkPhysicalDeviceDescriptorHeapPropertiesEXT *properties,
                struct lap_heap_sizes *out)
{
    VkPhysicalDeviceProperties2 properties2 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                               .pNext = properties};

    *properties = (VkPhysicalDeviceDescriptorHeapPropertiesEXT){
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_PROPERTIES_EXT};
    dev->instance->vk.GetPhysicalDeviceProperties2(dev->gpu, &properties2);
    lap_heap_sizes_get(dev->instance->vk.GetPhysicalDeviceDescriptorSizeEXT, dev->gpu, properties, out);
}

static const struct replay_heap_type *type_of(const struct replay_heaps *heaps, uint32_t type)
{
    for (uint32_t i = 0; i < heaps->type_count; i++)
        if (heaps->types[i].type == type)
            return &heaps->types[i];
    return NULL;
}

/* The scale of offsets that makes room for this driver's descriptors; 0: none does. */
static uint32_t scale_of(const struct replay_heap_type *type, uint32_t to_alignment)
{
    for (uint32_t scale = 1; scale <= REPLAY_MOST_SCALE; scale *= 2)
        if (type->to <= (uint64_t)type->from * scale &&
            (!to_alignment || (uint64_t)type->alignment * scale % to_alignment == 0))
            return scale;
    return 0;
}

static uint32_t common(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Adds a type that this driver has. LAP_END: it has none. */
static enum lap_status add_type(struct replay *r, struct replay_heaps *heaps, const struct lap_heap_sizes *own,
                                uint32_t type, uint32_t from, uint32_t alignment, uint32_t stride)
{
    struct replay_heap_room *room = &heaps->room[kind_of(type)];
    struct replay_heap_type *added = &heaps->types[heaps->type_count];
    uint32_t at = 0, scale;

    while (at < own->count && own->types[at] != type)
        at++;
    if (at == own->count)
        return LAP_OK; /* a descriptor of it is refused */
    if (!from || from % 4 || from > REPLAY_DESCRIPTOR_BYTES || !alignment || alignment % 4 || type_of(heaps, type) ||
        heaps->type_count == LAP_HEAP_TYPES)
        return replay_refuse(r, "recorded descriptors of a heap have %" PRIu32 " bytes, at multiples of %" PRIu32, from,
                             alignment);
    if (own->sizes[at] % 4 || own->sizes[at] > REPLAY_DESCRIPTOR_BYTES)
        return replay_refuse(r,
                             "the driver's descriptors have %" PRIu32 " bytes: whole words are wanted, and at most %u",
                             own->sizes[at], REPLAY_DESCRIPTOR_BYTES);
    *added = (struct replay_heap_type){
        .type = type, .from = from, .alignment = alignment, .to = own->sizes[at], .stride = stride};
    for (uint32_t i = 0; i < heaps->type_count; i++) {
        const struct replay_heap_type *other = &heaps->types[i];
        if (other->from == from && kind_of(other->type) == kind_of(type)) {
            added->class = other->class;
            break;
        }
        added->class = other->class >= added->class ? other->class + 1 : added->class;
    }
    scale = scale_of(added, own->alignments[at]);
    if (!scale)
        return replay_refuse(r,
                             "descriptors in heaps have %" PRIu32 " bytes on this GPU and had %" PRIu32
                             ": their offsets can't be scaled so far",
                             added->to, from);
    heaps->same_strides &= own->strides[at] == stride;
    heaps->type_count++;
    room->classes |= 1u << added->class;
    room->place = common(common(room->place, alignment), from);
    room->scale = scale > room->scale ? scale : room->scale;
    return LAP_OK;
}

static enum lap_status add_types(struct replay *r, struct replay_device *dev, struct replay_heaps *heaps,
                                 const struct gen_args_lapilliDescriptorHeaps *args)
{
    VkPhysicalDeviceDescriptorHeapPropertiesEXT p;
    struct lap_heap_sizes own;
    enum lap_status status = LAP_OK;

    ask(dev, &p, &own);
    heaps->same_strides = true;
    for (uint32_t kind = 0; kind < REPLAY_HEAP_KINDS; kind++)
        heaps->room[kind].scale = 1;
    for (uint32_t i = 0; i < args->typeCount && status == LAP_OK; i++)
        status = add_type(r, heaps, &own, args->pTypes[i], args->pSizes[i], args->pAlignments[i], args->pStrides[i]);
    /* One for both: a mapping does not name the heap of its offset. */
    for (uint32_t kind = 1; kind < REPLAY_HEAP_KINDS; kind++)
        if (heaps->room[kind].scale > heaps->room[0].scale)
            heaps->room[0].scale = heaps->room[kind].scale;
    for (uint32_t kind = 1; kind < REPLAY_HEAP_KINDS; kind++)
        heaps->room[kind].scale = heaps->room[0].scale;
    heaps->room[REPLAY_HEAP_RESOURCES].alignment = p.resourceHeapAlignment;
    heaps->room[REPLAY_HEAP_RESOURCES].reserved = p.minResourceHeapReservedRange;
    heaps->room[REPLAY_HEAP_RESOURCES].most = p.maxResourceHeapSize;
    heaps->room[REPLAY_HEAP_RESOURCES].reserved_alignment = p.imageDescriptorAlignment > p.bufferDescriptorAlignment
                                                                ? p.imageDescriptorAlignment
                                                                : p.bufferDescriptorAlignment;
    heaps->room[REPLAY_HEAP_SAMPLERS].alignment = p.samplerHeapAlignment;
    heaps->room[REPLAY_HEAP_SAMPLERS].reserved =
        p.minSamplerHeapReservedRangeWithEmbedded > p.minSamplerHeapReservedRange
            ? p.minSamplerHeapReservedRangeWithEmbedded
            : p.minSamplerHeapReservedRange;
    heaps->room[REPLAY_HEAP_SAMPLERS].most = p.maxSamplerHeapSize;
    heaps->room[REPLAY_HEAP_SAMPLERS].reserved_alignment = p.samplerDescriptorAlignment;
    return status;
}

enum lap_status replay_lapilliDescriptorHeaps(struct replay *r, struct replay_device *dev,
                                              struct gen_args_lapilliDescriptorHeaps *args)
{
    struct replay_heaps *heaps = dev->descriptors.buffers ? dev->descriptors.buffers->heaps : NULL;
    struct lap_descriptor_sizes sizes = {0};
    enum lap_status status;

    if (!heaps)
        return LAP_OK; /* the device lacks the structures that use them */
    if (heaps->type_count)
        return replay_fail(r, "the sizes of descriptors in heaps come twice");
    if (args->typeCount && (!args->pTypes || !args->pSizes || !args->pAlignments || !args->pStrides))
        return replay_fail(r, "the sizes of descriptors in heaps are missing");
    status = add_types(r, dev, heaps, args);
    if (status != LAP_OK || r->report)
        return status;
    for (uint32_t i = 0; i < heaps->type_count; i++)
        if (heaps->types[i].to > sizes.bytes[heaps->types[i].class])
            sizes.bytes[heaps->types[i].class] = heaps->types[i].to;
    heaps->table.epoch = 1;
    status = replay_descriptor_table_init(r, dev, &heaps->table, &sizes);
    return status == LAP_OK ? replay_heap_translator_create(r, dev, &heaps->translator) : status;
}

/* ---- meanings of bytes ---- */

/* The map's largest keys are reserved. */
static uint64_t key_of(const struct replay_heap_type *type, const unsigned char *bytes)
{
    uint64_t hash = 0xcbf29ce484222325u ^ type->class;

    for (size_t i = 0; i < type->from; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash >> 1;
}

/* Bytes of one type that become equal to those of another type's descriptor: the meaning is then ambiguous. */
static void warn_of_types(struct replay *r, struct replay_heaps *heaps)
{
    if (heaps->ambiguous)
        return;
    heaps->ambiguous = true;
    lap_log(r->log, LAP_LOG_WARNING,
            "descriptors of two types had the same bytes and have others on this GPU: in heaps the newest counts");
}

/* Updates of memory and vkCmdUpdateBuffer may have translated addresses in the recorded bytes. */
static enum lap_status put(struct replay *r, struct replay_device *dev, const struct replay_heap_known *known)
{
    struct replay_heaps *heaps = dev->descriptors.buffers->heaps;
    const struct replay_heap_type *type = known->type;
    unsigned char translated[REPLAY_DESCRIPTOR_BYTES];
    enum lap_status status =
        replay_descriptor_table_put(r, dev, &heaps->table, type->class, known->from, type->from, known->to);

    if (status != LAP_OK)
        return status;
    memcpy(translated, known->from, type->from);
    replay_address_words(dev, translated, type->from);
    return memcmp(translated, known->from, type->from) == 0
               ? LAP_OK
               : replay_descriptor_table_put(r, dev, &heaps->table, type->class, translated, type->from, known->to);
}

static enum lap_status keep(struct replay *r, struct replay_device *dev, const struct replay_heap_known *wanted)
{
    struct replay_heaps *heaps = dev->descriptors.buffers->heaps;
    uint64_t key = key_of(wanted->type, wanted->from);
    struct replay_heap_known *known = lap_map_get(&heaps->known, key);
    bool listed;

    if (known && (known->type->class != wanted->type->class ||
                  memcmp(known->from, wanted->from, wanted->type->from) != 0)) /* two with one hash: not followed */
        return put(r, dev, wanted);
    if (known && known->type != wanted->type && known->recorded == wanted->recorded &&
        memcmp(known->to, wanted->to, sizeof known->to) != 0)
        warn_of_types(r, heaps);
    if (!known) {
        known = malloc(sizeof *known);
        if (!known || lap_map_put(&heaps->known, key, known, NULL) != LAP_OK) {
            free(known);
            return no_memory(r);
        }
        *known = (struct replay_heap_known){0};
    }
    if (wanted->recorded && !known->listed) {
        if (!lap_array_grow(&heaps->addresses, sizeof(*heaps->addresses), &heaps->address_capacity,
                            heaps->address_count + 1))
            return no_memory(r);
        heaps->addresses[heaps->address_count++] = known;
        known->listed = true;
    }
    listed = known->listed;
    *known = *wanted;
    known->listed = listed;
    return put(r, dev, known);
}

/* Makes the bytes of this driver. */
static enum lap_status make(struct replay *r, struct replay_device *dev, const VkResourceDescriptorInfoEXT *info,
                            struct replay_heap_known *known)
{
    VkHostAddressRangeEXT bytes = {known->to, known->type->to};

    memset(known->to, 0, sizeof known->to);
    return replay_result(r, dev->vk.WriteResourceDescriptorsEXT(dev->live, 1, info, &bytes));
}

static bool is_texels(uint32_t type)
{
    return type == VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER || type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
}

static bool is_image(uint32_t type)
{
    return type == VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE || type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE ||
           type == VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT;
}

static enum lap_status begin_known(struct replay *r, struct replay_device *dev, uint32_t type,
                                   const VkHostAddressRangeEXT *bytes, struct replay_heap_known *out)
{
    const struct replay_heaps *heaps = dev->descriptors.buffers->heaps;

    *out = (struct replay_heap_known){.type = type_of(heaps, type)};
    if (!out->type)
        return replay_refuse(r, "descriptors of type %d lie in a heap", (int)type);
    if (!bytes->address || bytes->size < out->type->from)
        return replay_fail(r, "a recorded descriptor has %zu bytes, and its driver's have %" PRIu32,
                           bytes->address ? bytes->size : 0, out->type->from);
    memcpy(out->from, bytes->address, out->type->from);
    return LAP_OK;
}

enum lap_status replay_WriteResourceDescriptorsEXT(struct replay *r, struct replay_device *dev,
                                                   struct gen_args_vkWriteResourceDescriptorsEXT *args)
{
    enum lap_status status = LAP_OK;

    if (!dev->descriptors.buffers || !dev->descriptors.buffers->heaps)
        return replay_missing(r, GEN_vkWriteResourceDescriptorsEXT);
    for (uint32_t i = 0; i < args->resourceCount && status == LAP_OK; i++) {
        const VkResourceDescriptorInfoEXT *info = &args->pResources[i];
        struct replay_heap_known known;
        status = begin_known(r, dev, info->type, &args->pDescriptors[i], &known);
        if (status != LAP_OK)
            return status;
        if (is_texels(info->type) && info->data.pTexelBuffer) {
            known.made_of = info->data.pTexelBuffer->addressRange.address;
            known.range = info->data.pTexelBuffer->addressRange.size;
            known.format = info->data.pTexelBuffer->format;
        } else if (!is_texels(info->type) && !is_image(info->type) && info->data.pAddressRange) {
            known.made_of = info->data.pAddressRange->address;
            known.range = info->data.pAddressRange->size;
        }
        known.recorded = replay_address_recorded_of(dev, known.made_of);
        status = make(r, dev, info, &known);
        if (status == LAP_OK)
            status = keep(r, dev, &known);
    }
    return status;
}

enum lap_status replay_WriteSamplerDescriptorsEXT(struct replay *r, struct replay_device *dev,
                                                  struct gen_args_vkWriteSamplerDescriptorsEXT *args)
{
    enum lap_status status = LAP_OK;

    if (!dev->descriptors.buffers || !dev->descriptors.buffers->heaps || !dev->vk.WriteSamplerDescriptorsEXT)
        return replay_missing(r, GEN_vkWriteSamplerDescriptorsEXT);
    for (uint32_t i = 0; i < args->samplerCount && status == LAP_OK; i++) {
        struct replay_heap_known known;
        VkHostAddressRangeEXT bytes;
        status = begin_known(r, dev, VK_DESCRIPTOR_TYPE_SAMPLER, &args->pDescriptors[i], &known);
        if (status != LAP_OK)
            return status;
        bytes = (VkHostAddressRangeEXT){known.to, known.type->to};
        status = replay_result(r, dev->vk.WriteSamplerDescriptorsEXT(dev->live, 1, &args->pSamplers[i], &bytes));
        if (status == LAP_OK)
            status = keep(r, dev, &known);
    }
    return status;
}

static enum lap_status renew(struct replay *r, struct replay_device *dev, struct replay_heap_known *known)
{
    VkTexelBufferDescriptorInfoEXT texels = {.sType = VK_STRUCTURE_TYPE_TEXEL_BUFFER_DESCRIPTOR_INFO_EXT,
                                             .format = known->format};
    const VkDeviceAddressRangeEXT range = {replay_address_live_of(dev, known->recorded), known->range};
    VkResourceDescriptorInfoEXT info = {.sType = VK_STRUCTURE_TYPE_RESOURCE_DESCRIPTOR_INFO_EXT,
                                        .type = (VkDescriptorType)known->type->type};
    enum lap_status status;

    if (range.address == known->made_of || !replay_address_end_of(dev, range.address))
        return LAP_OK;
    known->made_of = range.address;
    texels.addressRange = range;
    if (is_texels(known->type->type))
        info.data.pTexelBuffer = &texels;
    else
        info.data.pAddressRange = &range;
    status = make(r, dev, &info, known);
    return status == LAP_OK ? put(r, dev, known) : status;
}

enum lap_status replay_heaps_renew(struct replay *r, struct replay_device *dev, VkDeviceAddress begin,
                                   VkDeviceAddress end)
{
    struct replay_heaps *heaps = dev->descriptors.buffers->heaps;
    enum lap_status status = LAP_OK;

    for (size_t i = 0; heaps && i < heaps->address_count && status == LAP_OK; i++)
        if (heaps->addresses[i]->recorded >= begin && heaps->addresses[i]->recorded < end)
            status = renew(r, dev, heaps->addresses[i]);
    return status;
}

/* ---- colors ---- */

/* Samplers name a custom border color by its index: the replay uses the recorded one, too. */
enum lap_status replay_RegisterCustomBorderColorEXT(struct replay *r, struct replay_device *dev,
                                                    struct gen_args_vkRegisterCustomBorderColorEXT *args)
{
    uint32_t index = args->pIndex ? *args->pIndex : 0;

    if (!dev->vk.RegisterCustomBorderColorEXT)
        return replay_missing(r, GEN_vkRegisterCustomBorderColorEXT);
    if (!args->pIndex)
        return replay_absent(r, "pIndex");
    return replay_result(r, dev->vk.RegisterCustomBorderColorEXT(dev->live, args->pBorderColor, VK_TRUE, &index));
}

#else

bool replay_heaps_wanted(const struct replay_device *dev, const VkDeviceCreateInfo *info)
{
    (void)dev;
    (void)info;
    return false;
}

enum lap_status replay_heaps_create(struct replay *r, struct replay_device *dev, const VkDeviceCreateInfo *info)
{
    (void)r;
    (void)dev;
    (void)info;
    return LAP_OK;
}

void replay_heaps_destroy(struct replay *r, struct replay_device *dev)
{
    (void)r;
    (void)dev;
}

enum lap_status replay_heaps_renew(struct replay *r, struct replay_device *dev, VkDeviceAddress begin,
                                   VkDeviceAddress end)
{
    (void)r;
    (void)dev;
    (void)begin;
    (void)end;
    return LAP_OK;
}

enum lap_status replay_lapilliDescriptorHeaps(struct replay *r, struct replay_device *dev,
                                              struct gen_args_lapilliDescriptorHeaps *args)
{
    (void)r;
    (void)dev;
    (void)args;
    return LAP_OK; /* this build has no call that uses them */
}

#endif
