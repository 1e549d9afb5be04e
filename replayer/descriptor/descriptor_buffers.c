/* SPDX-License-Identifier: MIT */
#include "replayer/descriptor/descriptor_buffers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_replay.h"
#include "replayer/address/address.h"
#include "replayer/core/handles.h"
#include "replayer/descriptor/heaps.h"

static enum lap_status no_memory(struct replay *r)
{
    return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for descriptors"));
}

/* ---- devices ---- */

enum lap_status replay_descriptor_buffers_create(struct replay *r, struct replay_device *dev,
                                                 const VkDeviceCreateInfo *info)
{
    struct replay_descriptor_buffers *d;
    enum lap_status status;
    bool buffers = lap_descriptor_buffers_enabled(info) && dev->vk.GetDescriptorEXT;

    if (r->report)
        buffers = false; /* the sizes for heaps are checked */
    if (!buffers && !replay_heaps_wanted(dev, info))
        return LAP_OK;
    /* A program that has the feature and no addresses can't bind a buffer: a call that does so is missing here. */
    if (!dev->addresses.enabled || !dev->vk.GetBufferDeviceAddress)
        return LAP_OK;
    d = calloc(1, sizeof *d);
    if (!d)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a device");
    lap_map_init(&d->layouts);
    lap_map_init(&d->pipeline_layouts);
    lap_map_init(&d->commands);
    lap_map_init(&d->known_addresses);
    dev->descriptors.buffers = d;
    d->has_buffers = buffers;
    status = replay_heaps_create(r, dev, info);
    if (status != LAP_OK || !buffers)
        return status;
    lap_descriptor_sizes_get(dev->instance->vk.GetPhysicalDeviceProperties2, dev->gpu, info, &d->sizes);
    status = replay_translator_create(r, dev, &d->translator);
    return status == LAP_OK ? replay_descriptor_table_init(r, dev, &d->table, &d->sizes) : status;
}

static void end_layout(void *user, uint64_t index, void *layout)
{
    (void)user;
    (void)index;
    replay_descriptor_layout_release(layout);
}

static void end_pipeline_layout(void *user, uint64_t index, void *data)
{
    struct replay_descriptor_pipeline_layout *layout = data;

    (void)user;
    (void)index;
    for (uint32_t i = 0; layout && i < layout->count; i++)
        replay_descriptor_layout_release(layout->sets[i]);
    free(layout);
}

static void report_unknown(struct replay *r, struct replay_device *dev)
{
    struct replay_descriptor_buffers *d = dev->descriptors.buffers;
    uint32_t unknown = replay_descriptor_table_unknown(r, dev, &d->table);

    if (unknown != d->reported)
        lap_log(r->log, LAP_LOG_WARNING,
                "%" PRIu32
                " descriptors in buffers have bytes that no vkGetDescriptorEXT of the trace gave: unused, or "
                "made by a shader; they are null in the replay",
                unknown - d->reported);
    d->reported = unknown;
}

void replay_descriptor_buffers_destroy(struct replay *r, struct replay_device *dev)
{
    struct replay_descriptor_buffers *d = dev->descriptors.buffers;

    if (!d)
        return;
    report_unknown(r, dev);
    replay_descriptor_commands_finish(r, dev);
    replay_heaps_destroy(r, dev);
    lap_map_each(&d->pipeline_layouts, end_pipeline_layout, NULL);
    lap_map_each(&d->layouts, end_layout, NULL);
    lap_map_finish(&d->pipeline_layouts);
    lap_map_finish(&d->layouts);
    lap_map_finish(&d->commands);
    lap_map_finish(&d->known_addresses);
    replay_descriptor_table_finish(r, dev, &d->table);
    replay_translator_destroy(dev, &d->translator);
    for (size_t i = 0; i < d->address_count; i++)
        free(d->addresses[i]);
    free(d->addresses);
    free(d);
    dev->descriptors.buffers = NULL;
}

bool replay_descriptor_buffers_note_buffer(struct replay_device *dev, uint64_t usage)
{
    const uint64_t descriptors =
        VK_BUFFER_USAGE_RESOURCE_DESCRIPTOR_BUFFER_BIT_EXT | VK_BUFFER_USAGE_SAMPLER_DESCRIPTOR_BUFFER_BIT_EXT;
    const uint64_t stores = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT;

    if (!dev->descriptors.buffers || !(usage & descriptors))
        return false;
    dev->descriptors.buffers->may_be_stored |= (usage & stores) != 0;
    return true;
}

/* ---- layouts ---- */

struct replay_descriptor_layout *replay_descriptor_layout_keep(struct replay_descriptor_layout *layout)
{
    layout->references++;
    return layout;
}

void replay_descriptor_layout_release(struct replay_descriptor_layout *layout)
{
    if (!layout || --layout->references)
        return;
    free(layout->numbers);
    free(layout);
}

static struct replay_descriptor_layout *make_layout(const struct replay_device *dev, VkDescriptorSetLayout live,
                                                    const struct lap_descriptor_places *places)
{
    struct replay_descriptor_layout *layout = calloc(1, sizeof *layout + places->count * sizeof layout->bindings[0]);

    if (!layout)
        return NULL;
    layout->references = 1;
    layout->count = places->count;
    layout->numbers = calloc(places->count + 1, sizeof *layout->numbers);
    if (!layout->numbers) {
        free(layout);
        return NULL;
    }
    dev->vk.GetDescriptorSetLayoutSizeEXT(dev->live, live, &layout->to_bytes);
    for (uint32_t i = 0; i < places->count; i++) {
        const struct lap_descriptor_place *place = &places->items[i];
        struct replay_descriptor_binding *binding = &layout->bindings[i];
        *binding = (struct replay_descriptor_binding){.kind = place->kind,
                                                      .kinds = place->kinds,
                                                      .count = place->count,
                                                      .to_stride = place->stride,
                                                      .to_samplers = place->sampler_stride};
        layout->numbers[i] = place->binding;
        dev->vk.GetDescriptorSetLayoutBindingOffsetEXT(dev->live, live, place->binding, &binding->to);
    }
    return layout;
}

enum lap_status replay_descriptor_buffers_layout(struct replay *r, struct replay_device *dev, uint64_t index,
                                                 VkDescriptorSetLayout live,
                                                 const VkDescriptorSetLayoutCreateInfo *info)
{
    struct replay_descriptor_buffers *d = dev->descriptors.buffers;
    struct replay_descriptor_layout *layout;
    struct lap_descriptor_places *places;

    if (!d || !d->has_buffers || !index || !lap_descriptor_layout_has_places(info))
        return LAP_OK;
    places = lap_descriptor_places_new(&d->sizes, info);
    layout = places ? make_layout(dev, live, places) : NULL;
    free(places);
    if (layout && lap_map_put(&d->layouts, index, layout, NULL) == LAP_OK)
        return LAP_OK;
    replay_descriptor_layout_release(layout);
    return no_memory(r);
}

static bool is_word(uint64_t bytes)
{
    return bytes % 4 == 0;
}

enum lap_status replay_lapilliDescriptorLayout(struct replay *r, struct replay_device *dev,
                                               struct gen_args_lapilliDescriptorLayout *args)
{
    struct replay_descriptor_buffers *d = dev->descriptors.buffers;
    uint64_t index =
        replay_object_index(r, GEN_HANDLE_VkDescriptorSetLayout, gen_u64_VkDescriptorSetLayout(args->layout));
    struct replay_descriptor_layout *layout = d ? lap_map_get(&d->layouts, index) : NULL;

    if (!d || !d->has_buffers)
        return LAP_OK; /* the device lacks the structures that use it */
    if (!layout || args->bindingCount != layout->count)
        return replay_fail(r, "the recorded places of %" PRIu32 " bindings of a layout that has others",
                           args->bindingCount);
    for (uint32_t i = 0; i < layout->count; i++) {
        struct replay_descriptor_binding *binding = &layout->bindings[i];
        if (args->pBindings[i] != layout->numbers[i] || args->pOffsets[i] > UINT32_MAX || !is_word(args->pOffsets[i]) ||
            args->pStrides[i] > REPLAY_DESCRIPTOR_BYTES || args->pSamplerStrides[i] > REPLAY_DESCRIPTOR_BYTES ||
            !is_word(args->pSamplerStrides[i]) ||
            (binding->kind != LAP_DESCRIPTOR_INLINE && !is_word(args->pStrides[i])))
            return replay_fail(r, "a binding of a layout has no place that descriptors can have");
        binding->from = args->pOffsets[i];
        binding->from_stride = args->pStrides[i];
        binding->from_samplers = args->pSamplerStrides[i];
    }
    layout->recorded = true;
    return LAP_OK;
}

void replay_descriptor_buffers_end_layout(struct replay_device *dev, uint64_t index)
{
    if (dev->descriptors.buffers)
        replay_descriptor_layout_release(lap_map_remove(&dev->descriptors.buffers->layouts, index));
}

enum lap_status replay_descriptor_buffers_pipeline_layout(struct replay *r, struct replay_device *dev, uint64_t index,
                                                          const VkPipelineLayoutCreateInfo *info)
{
    struct replay_descriptor_buffers *d = dev->descriptors.buffers;
    struct replay_descriptor_pipeline_layout *layout;
    uint32_t count = info->pSetLayouts ? info->setLayoutCount : 0;

    if (!d || !d->has_buffers || !index || !count)
        return LAP_OK;
    layout = calloc(1, sizeof *layout + count * sizeof *layout->sets);
    if (!layout)
        return no_memory(r);
    layout->count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct replay_descriptor_layout *set =
            lap_map_get(&d->layouts, replay_object_index(r, GEN_HANDLE_VkDescriptorSetLayout,
                                                         gen_u64_VkDescriptorSetLayout(info->pSetLayouts[i])));
        layout->sets[i] = set ? replay_descriptor_layout_keep(set) : NULL;
    }
    if (lap_map_put(&d->pipeline_layouts, index, layout, NULL) == LAP_OK)
        return LAP_OK;
    end_pipeline_layout(NULL, index, layout);
    return no_memory(r);
}

void replay_descriptor_buffers_end_pipeline_layout(struct replay_device *dev, uint64_t index)
{
    if (dev->descriptors.buffers)
        end_pipeline_layout(NULL, index, lap_map_remove(&dev->descriptors.buffers->pipeline_layouts, index));
}

/* ---- meanings of bytes ---- */

static const VkDescriptorAddressInfoEXT *address_info(const VkDescriptorGetInfoEXT *info)
{
    switch (info->type) {
    case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
        return info->data.pUniformTexelBuffer;
    case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
        return info->data.pStorageTexelBuffer;
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
        return info->data.pUniformBuffer;
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
        return info->data.pStorageBuffer;
    default:
        return NULL;
    }
}

/* A hash of the recorded bytes and kind; the map's largest keys are reserved. */
static uint64_t key_of(enum lap_descriptor_kind kind, const unsigned char *bytes, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325u ^ kind;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash >> 1;
}

/* Bytes written by vkCmdUpdateBuffer and host updates have translated addresses, so these are added as well. */
static enum lap_status put(struct replay *r, struct replay_device *dev, enum lap_descriptor_kind kind, const void *from,
                           uint32_t from_bytes, const void *to)
{
    struct replay_descriptor_buffers *d = dev->descriptors.buffers;
    unsigned char translated[REPLAY_DESCRIPTOR_BYTES];
    enum lap_status status = replay_descriptor_table_put(r, dev, &d->table, kind, from, from_bytes, to);

    if (status != LAP_OK)
        return status;
    memcpy(translated, from, from_bytes);
    replay_address_words(dev, translated, from_bytes);
    return memcmp(translated, from, from_bytes) == 0
               ? LAP_OK
               : replay_descriptor_table_put(r, dev, &d->table, kind, translated, from_bytes, to);
}

/* Notes a descriptor that names an address; a later one with the same bytes replaces it. */
static enum lap_status keep_address(struct replay *r, struct replay_device *dev,
                                    const struct replay_descriptor_address *wanted)
{
    struct replay_descriptor_buffers *d = dev->descriptors.buffers;
    uint64_t key = key_of(wanted->kind, wanted->from, wanted->from_bytes);
    struct replay_descriptor_address *known = lap_map_get(&d->known_addresses, key);

    if (known && (known->kind != wanted->kind || memcmp(known->from, wanted->from, wanted->from_bytes) != 0))
        return LAP_OK; /* two with one hash: this one is not followed */
    if (known) {
        *known = *wanted;
        return LAP_OK;
    }
    known = malloc(sizeof *known);
    if (!known || !lap_array_grow(&d->addresses, sizeof(*d->addresses), &d->address_capacity, d->address_count + 1) ||
        lap_map_put(&d->known_addresses, key, known, NULL) != LAP_OK) {
        free(known);
        return no_memory(r);
    }
    *known = *wanted;
    d->addresses[d->address_count++] = known;
    return LAP_OK;
}

enum lap_status replay_GetDescriptorEXT(struct replay *r, struct replay_device *dev,
                                        struct gen_args_vkGetDescriptorEXT *args)
{
    struct replay_descriptor_buffers *d = dev->descriptors.buffers;
    const VkDescriptorGetInfoEXT *info = args->pDescriptorInfo;
    const VkDescriptorAddressInfoEXT *address = address_info(info);
    enum lap_descriptor_kind kind = lap_descriptor_kind_of(info->type);
    unsigned char to[REPLAY_DESCRIPTOR_BYTES] = {0};
    enum lap_status status;

    if (!d || !d->has_buffers)
        return replay_missing(r, GEN_vkGetDescriptorEXT);
    if (kind >= LAP_DESCRIPTOR_KINDS)
        return replay_invalid(r, "a descriptor of a type that lies in no buffer");
    if (!args->pDescriptor || args->dataSize > REPLAY_DESCRIPTOR_BYTES)
        return replay_fail(r, "a recorded descriptor has %zu bytes", args->dataSize);
    dev->vk.GetDescriptorEXT(dev->live, info, d->sizes.bytes[kind], to);
    status = put(r, dev, kind, args->pDescriptor, (uint32_t)args->dataSize, to);
    if (status == LAP_OK && ((address && address->address) ||
                             (kind == LAP_DESCRIPTOR_ACCELERATION_STRUCTURE && info->data.accelerationStructure))) {
        struct replay_descriptor_address kept = {.kind = kind,
                                                 .made_of =
                                                     address ? address->address : info->data.accelerationStructure,
                                                 .range = address ? address->range : 0,
                                                 .format = address ? address->format : VK_FORMAT_UNDEFINED,
                                                 .from_bytes = (uint32_t)args->dataSize};
        kept.recorded = replay_address_recorded_of(dev, kept.made_of);
        memcpy(kept.from, args->pDescriptor, args->dataSize);
        status = keep_address(r, dev, &kept);
    }
    return status;
}

static enum lap_status renew(struct replay *r, struct replay_device *dev, struct replay_descriptor_address *kept)
{
    VkDescriptorAddressInfoEXT address = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_ADDRESS_INFO_EXT,
                                          .address = replay_address_live_of(dev, kept->recorded),
                                          .range = kept->range,
                                          .format = kept->format};
    VkDescriptorGetInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_GET_INFO_EXT};
    unsigned char to[REPLAY_DESCRIPTOR_BYTES] = {0};

    if (address.address == kept->made_of || !replay_address_end_of(dev, address.address))
        return LAP_OK;
    kept->made_of = address.address;
    if (kept->kind == LAP_DESCRIPTOR_UNIFORM_TEXELS) {
        info.type = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
        info.data.pUniformTexelBuffer = &address;
    } else if (kept->kind == LAP_DESCRIPTOR_STORAGE_TEXELS) {
        info.type = VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
        info.data.pStorageTexelBuffer = &address;
    } else if (kept->kind == LAP_DESCRIPTOR_UNIFORM_BUFFER) {
        info.type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
        info.data.pUniformBuffer = &address;
    } else if (kept->kind == LAP_DESCRIPTOR_STORAGE_BUFFER) {
        info.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        info.data.pStorageBuffer = &address;
    } else {
        info.type = VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR;
        info.data.accelerationStructure = address.address;
    }
    dev->vk.GetDescriptorEXT(dev->live, &info, dev->descriptors.buffers->sizes.bytes[kept->kind], to);
    return put(r, dev, kept->kind, kept->from, kept->from_bytes, to);
}

enum lap_status replay_descriptor_buffers_renew(struct replay *r, struct replay_device *dev)
{
    struct replay_descriptor_buffers *d = dev->descriptors.buffers;
    VkDeviceAddress begin, end;
    enum lap_status status = LAP_OK;

    if (!replay_address_renewed(dev, &begin, &end))
        return LAP_OK;
    for (size_t i = 0; i < d->address_count && status == LAP_OK; i++)
        if (d->addresses[i]->recorded >= begin && d->addresses[i]->recorded < end)
            status = renew(r, dev, d->addresses[i]);
    return status == LAP_OK ? replay_heaps_renew(r, dev, begin, end) : status;
}
