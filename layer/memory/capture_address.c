/* SPDX-License-Identifier: MIT */
#include "layer/memory/capture_address.h"
#include "vulkan/chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>

#include "gen_layer.h"
#include "layer/core/description.h"
#include "layer/memory/backing.h"

/* ---- copies of chains ---- */

#define ROUND(bytes) (((bytes) + 15u) & ~(size_t)15)

static size_t struct_bytes(const VkBaseInStructure *s)
{
    return s->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO ? sizeof(VkLayerDeviceCreateInfo)
                                                                   : gen_chain_struct_bytes(s->sType);
}

/* A new chain, with copies of the structures up to that of `type`, which is *out_found; the structures after it are
 * shared. The program's chain is not changed. NULL: no such structure, an unknown one before it, or out of memory. */
static void *copy_chain(const void *chain, VkStructureType type, void **out_found)
{
    const VkBaseInStructure *s = chain;
    size_t bytes = 0;
    unsigned char *copies, *at;

    for (; s; s = s->pNext) {
        size_t more = struct_bytes(s);
        if (!more)
            return NULL;
        bytes += ROUND(more);
        if (s->sType == type)
            break;
    }
    copies = s ? calloc(1, bytes) : NULL;
    if (!copies)
        return NULL;
    at = copies;
    for (s = chain;; s = s->pNext) {
        memcpy(at, s, struct_bytes(s));
        if (s->sType == type)
            break;
        ((VkBaseInStructure *)(void *)at)->pNext =
            (const VkBaseInStructure *)(const void *)(at + ROUND(struct_bytes(s)));
        at += ROUND(struct_bytes(s));
    }
    *out_found = at;
    return copies;
}

/* ---- devices ---- */

/* The structure that enables addresses; VK_STRUCTURE_TYPE_MAX_ENUM: none. */
static VkStructureType enabled_by(const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceVulkan12Features *core =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    const VkPhysicalDeviceBufferDeviceAddressFeatures *address =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);

    if (core && core->bufferDeviceAddress)
        return core->sType;
    return address && address->bufferDeviceAddress ? address->sType : VK_STRUCTURE_TYPE_MAX_ENUM;
}

static bool has_feature(const struct layer_physical_device *gpu)
{
    VkPhysicalDeviceBufferDeviceAddressFeatures address = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &address};

    if (!gpu->instance->vk.GetPhysicalDeviceFeatures2)
        return false;
    gpu->instance->vk.GetPhysicalDeviceFeatures2(gen_VkPhysicalDevice(gpu->object.handle), &features);
    return address.bufferDeviceAddressCaptureReplay;
}

/* False if the driver is too old to report it. */
static bool ask_driver_uuid(const struct layer_physical_device *gpu, uint8_t out[VK_UUID_SIZE])
{
    static const uint8_t none[VK_UUID_SIZE];
    VkPhysicalDeviceIDProperties ids = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &ids};

    if (gpu->properties.apiVersion >= VK_API_VERSION_1_1 && gpu->instance->api_version >= VK_API_VERSION_1_1 &&
        gpu->instance->vk.GetPhysicalDeviceProperties2)
        gpu->instance->vk.GetPhysicalDeviceProperties2(gen_VkPhysicalDevice(gpu->object.handle), &properties);
    memcpy(out, ids.driverUUID, VK_UUID_SIZE);
    return memcmp(out, none, sizeof none) != 0;
}

static const char *why_not(const struct layer_physical_device *gpu, const VkDeviceCreateInfo *asked)
{
    const VkDeviceGroupDeviceCreateInfo *group =
        lap_chain_find(asked->pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO);
    uint8_t uuid[VK_UUID_SIZE];

    if (!layer_is_recording())
        return "nothing is recorded";
    if (layer.options.no_addresses)
        return "switched off";
    if (group && group->physicalDeviceCount > 1)
        return "the device is a group of several";
    if (!has_feature(gpu))
        return "the driver lacks bufferDeviceAddressCaptureReplay";
    return ask_driver_uuid(gpu, uuid) ? NULL : "the driver has no UUID by which a replay could recognise it";
}

static void switch_on(void *found, VkStructureType by)
{
    if (by == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
        ((VkPhysicalDeviceVulkan12Features *)found)->bufferDeviceAddressCaptureReplay = VK_TRUE;
    else
        ((VkPhysicalDeviceBufferDeviceAddressFeatures *)found)->bufferDeviceAddressCaptureReplay = VK_TRUE;
}

/* Whether the host may have a driver convert matrices into a layout of its own. */
static bool converts_matrices(const VkDeviceCreateInfo *asked)
{
    for (uint32_t i = 0; i < asked->enabledExtensionCount; i++)
        if (strcmp(asked->ppEnabledExtensionNames[i], "VK_NV_cooperative_vector") == 0)
            return true;
    return false;
}

bool layer_address_request(const struct layer_physical_device *gpu, const VkDeviceCreateInfo *asked,
                           struct layer_address_request *out)
{
    const VkPhysicalDeviceAccelerationStructureFeaturesKHR *structures;
    VkStructureType by = enabled_by(asked);
    void *found = NULL;

    *out = (struct layer_address_request){.info = *asked, .identified = converts_matrices(asked)};
    if (by == VK_STRUCTURE_TYPE_MAX_ENUM)
        return false;
    structures = lap_chain_find(asked->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR);
    out->identified |= structures && structures->accelerationStructure;
    out->reason = why_not(gpu, asked);
    if (out->reason)
        return false;
    out->copies = copy_chain(asked->pNext, by, &found);
    if (!out->copies) {
        out->reason = "the program's create info has a structure that this build does not know";
        return false;
    }
    switch_on(found, by);
    out->info.pNext = out->copies;
    out->captured = true;
    return true;
}

void layer_address_request_finish(struct layer_address_request *request)
{
    free(request->copies);
    request->copies = NULL;
    request->captured = false;
}

void layer_address_init(struct layer_device *dev, const struct layer_address_request *request)
{
    bool has_functions = dev->vk.GetBufferOpaqueCaptureAddress && dev->vk.GetDeviceMemoryOpaqueCaptureAddress;

    bool imports =
        !request->captured || layer_backing_takes(dev, VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT |
                                                           VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT);

    dev->addresses.captured = request->captured && has_functions && imports;
    dev->addresses.identified = dev->addresses.captured || request->identified;
    dev->addresses.reason = request->reason;
    if (request->captured && has_functions && !imports)
        dev->addresses.reason =
            "the driver does not import the layer's pages as memory whose address can be asked for again";
    if (request->captured && !has_functions)
        dev->addresses.reason = "the driver lacks the functions that go with bufferDeviceAddressCaptureReplay";
}

void layer_address_describe(struct layer_device *dev)
{
    const struct layer_physical_device *gpu = dev->physical_device;
    uint8_t uuid[VK_UUID_SIZE];
    uint64_t halves[2];
    struct layer_description description;
    struct lap_enc *enc;

    if (dev->addresses.captured || dev->addresses.reason) {
        description = layer_describe_begin();
        layer_describe_text(&description, NULL, "address_capture",
                            dev->addresses.captured ? "opaque addresses" : "none");
        if (dev->addresses.reason)
            layer_describe_text(&description, NULL, "address_capture_reason", dev->addresses.reason);
        layer_describe_end(&description, "device addresses");
    }
    if (!dev->addresses.identified || !ask_driver_uuid(gpu, uuid))
        return;
    memcpy(halves, uuid, sizeof halves);
    enc = layer_packet_begin(&dev->tables, GEN_lapilliCaptureDevice, 0);
    if (enc) {
        gen_encode_lapilliCaptureDevice(enc, dev->handle, gpu->properties.vendorID, gpu->properties.deviceID,
                                        gpu->properties.driverVersion, halves[1], halves[0]);
        layer_packet_end();
    }
}

/* ---- buffers ---- */

/* Allowed in the chain: usage bits past the 32nd. Buffers with opaque addresses, external memory or video stay as they
 * are. */
static bool is_plain(const VkBufferCreateInfo *info)
{
    const VkBaseInStructure *first = info->pNext;

    if (info->flags & VK_BUFFER_CREATE_PROTECTED_BIT)
        return false;
#if defined(VK_VERSION_1_4) || defined(VK_KHR_maintenance5)
    if (first && first->sType == VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR)
        first = first->pNext;
#endif
    return !first;
}

/* Sizes count by their power of two. Never 0. */
static uint64_t kind_of(const VkBufferCreateInfo *info)
{
    const uint64_t parts[] = {lap_chain_buffer_usage(info), info->flags, (uint64_t)info->sharingMode,
                              info->size ? 63 - (uint64_t)__builtin_clzll(info->size) : 64};
    uint64_t hash = 0x9e3779b97f4a7c15u;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        hash = (hash ^ parts[i]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 33;
    }
    return hash | 2;
}

static void tell_difference(struct layer_device *dev, const VkBufferCreateInfo *info, const VkMemoryRequirements *plain,
                            const VkMemoryRequirements *flagged)
{
    struct layer_description description;
    char text[256];

    if (atomic_exchange(&dev->addresses.warned_of_difference, true))
        return;
    snprintf(text, sizeof text,
             "for a buffer of %llu bytes that can be created at an address again the driver wants %llu bytes at "
             "multiples of %llu in the types %#x, otherwise %llu at %llu in %#x: such buffers are left as they are",
             (unsigned long long)info->size, (unsigned long long)flagged->size, (unsigned long long)flagged->alignment,
             flagged->memoryTypeBits, (unsigned long long)plain->size, (unsigned long long)plain->alignment,
             plain->memoryTypeBits);
    description = layer_describe_begin();
    layer_describe_text(&description, NULL, "address_capture_reason", text);
    layer_describe_end(&description, "device addresses");
}

struct wish {
    VkMemoryRequirements requirements;
    struct layer_backing_object backing;
};

static bool ask(struct layer_device *dev, const VkBufferCreateInfo *info, struct wish *out)
{
    VkBuffer buffer;

    if (layer_backing_create_buffer(dev, info, NULL, &buffer, &out->backing) != VK_SUCCESS)
        return false;
    layer_backing_settle(dev, &out->backing);
    dev->vk.GetBufferMemoryRequirements(dev->handle, buffer, &out->requirements);
    dev->vk.DestroyBuffer(dev->handle, buffer, NULL);
    return true;
}

/* Creates a buffer with each create info and compares their memory requirements, and whether they can be bound to pages
 * of the layer. */
static bool wants_the_same(struct layer_device *dev, const VkBufferCreateInfo *asked, const VkBufferCreateInfo *flagged)
{
    struct wish plain_wish, flagged_wish;
    const VkMemoryRequirements *plain = &plain_wish.requirements, *with_flag = &flagged_wish.requirements;

    if (!ask(dev, flagged, &flagged_wish) || !ask(dev, asked, &plain_wish))
        return false;
    if (plain->size == with_flag->size && plain->alignment == with_flag->alignment &&
        plain->memoryTypeBits == with_flag->memoryTypeBits &&
        plain_wish.backing.importable == flagged_wish.backing.importable &&
        plain_wish.backing.moved_types == flagged_wish.backing.moved_types)
        return true;
    tell_difference(dev, asked, plain, with_flag);
    return false;
}

/* The first of its kind is compared; the others follow it. */
static bool kind_wants_the_same(struct layer_device *dev, const VkBufferCreateInfo *asked,
                                const VkBufferCreateInfo *flagged)
{
    uint64_t kind = kind_of(asked);
    atomic_uint_fast64_t *slot = &dev->addresses.kinds[(kind >> 32) % LAYER_ADDRESS_KINDS];
    uint64_t known = atomic_load_explicit(slot, memory_order_relaxed);

    if (known >> 1 != kind >> 1) {
        known = (kind & ~UINT64_C(1)) | wants_the_same(dev, asked, flagged);
        atomic_store_explicit(slot, known, memory_order_relaxed);
    }
    return known & 1;
}

const VkBufferCreateInfo *layer_address_buffer_info(struct layer_device *dev, const VkBufferCreateInfo *asked,
                                                    struct layer_address_buffer *out)
{
    if (!dev->addresses.captured || !(lap_chain_buffer_usage(asked) & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) ||
        !is_plain(asked))
        return asked;
    out->info = *asked;
    out->info.flags |= VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
    return kind_wants_the_same(dev, asked, &out->info) ? &out->info : asked;
}

void layer_address_buffer_created(struct layer_device *dev, VkBuffer buffer, struct layer_address_buffer *made)
{
    const VkBufferDeviceAddressInfo which = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = buffer};

    made->opaque = (VkBufferOpaqueCaptureAddressCreateInfo){
        .sType = VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO,
        .pNext = made->info.pNext,
        .opaqueCaptureAddress = dev->vk.GetBufferOpaqueCaptureAddress(dev->handle, &which)};
    made->info.pNext = &made->opaque;
}

/* ---- memory ---- */

const VkMemoryAllocateInfo *layer_address_memory_info(const struct layer_device *dev, const VkMemoryAllocateInfo *asked,
                                                      struct layer_address_memory *out)
{
    const VkMemoryAllocateFlagsInfo *flags;
    void *found = NULL;

    out->copies = NULL;
    if (!dev->addresses.captured)
        return asked;
    flags = lap_chain_find(asked->pNext, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
    if (!flags || !(flags->flags & VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT))
        return asked;
    out->copies = copy_chain(asked->pNext, flags->sType, &found);
    if (!out->copies)
        return asked;
    ((VkMemoryAllocateFlagsInfo *)found)->flags |= VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
    out->info = *asked;
    out->info.pNext = out->copies;
    return &out->info;
}

void layer_address_memory_finish(struct layer_address_memory *request)
{
    free(request->copies);
    request->copies = NULL;
}

void layer_address_record_memory(struct layer_device *dev, const struct layer_buffer *buffer,
                                 const struct layer_memory *memory)
{
    VkDeviceMemory handle = gen_VkDeviceMemory(memory->object.handle);
    VkDeviceMemoryOpaqueCaptureAddressInfo which = {.sType =
                                                        VK_STRUCTURE_TYPE_DEVICE_MEMORY_OPAQUE_CAPTURE_ADDRESS_INFO};
    VkBuffer dedicated = VK_NULL_HANDLE;
    uint64_t address;
    struct lap_enc *enc;

    /* A replay allocates imported and exported memory differently. */
    if (!buffer->capturable || !memory->capturable || memory->import || memory->payload)
        return;
    which.memory = layer_backing_driver_memory(memory, handle);
    address = dev->vk.GetDeviceMemoryOpaqueCaptureAddress(dev->handle, &which);
    if (memory->dedicated == buffer->object.handle && !memory->backing)
        dedicated = gen_VkBuffer(buffer->object.handle);
    enc = layer_packet_begin(&dev->tables, GEN_lapilliCaptureMemory, 0);
    if (enc) {
        gen_encode_lapilliCaptureMemory(enc, dev->handle, handle, memory->bytes, layer_backing_type(memory), dedicated,
                                        address);
        layer_packet_end();
    }
}
