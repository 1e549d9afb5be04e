/* SPDX-License-Identifier: MIT */
/*
 * Buffers and images that may be bound to imported pages. The first of a kind is created twice, with and without the
 * handle type; if both have the same memory requirements, all of the kind are created with it.
 */
#include <string.h>

#include "gen_layer.h"
#include "layer/memory/backing.h"
#include "vulkan/chain.h"

#define HOST_ALLOCATION VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT

static bool is_active(const struct layer_device *dev)
{
    return dev->backing.plan.types != 0;
}

/* ---- kinds ---- */

static bool find_kind(struct layer_device *dev, const uint64_t key[4], struct layer_backing_object *out)
{
    struct layer_backing_device *backing = &dev->backing;
    uint32_t count = backing->kind_count < LAYER_BACKING_KINDS ? backing->kind_count : LAYER_BACKING_KINDS;
    bool found = false;

    pthread_mutex_lock(&backing->mutex);
    for (uint32_t i = 0; i < count && !found; i++)
        if (memcmp(backing->kinds[i].key, key, sizeof backing->kinds[i].key) == 0) {
            *out = backing->kinds[i].object;
            found = true;
        }
    pthread_mutex_unlock(&backing->mutex);
    return found;
}

static void add_kind(struct layer_device *dev, const uint64_t key[4], const struct layer_backing_object *object)
{
    struct layer_backing_device *backing = &dev->backing;
    struct layer_backing_kind *kind;

    pthread_mutex_lock(&backing->mutex);
    kind = &backing->kinds[backing->kind_count++ % LAYER_BACKING_KINDS];
    memcpy(kind->key, key, sizeof kind->key);
    kind->object = *object;
    pthread_mutex_unlock(&backing->mutex);
}

/* Whether an object with the handle type and the requirements `external` can replace one without and with `plain`: it
 * loses only backed types, and the import types are among its types. */
static bool is_alike(const struct layer_backing_plan *plan, const VkMemoryRequirements *plain,
                     const VkMemoryRequirements *external, struct layer_backing_object *out)
{
    uint32_t backed = plain->memoryTypeBits & plan->types;
    bool alike = backed && plain->size == external->size && plain->alignment == external->alignment &&
                 !(plain->memoryTypeBits & ~backed & ~external->memoryTypeBits);

    for (uint32_t i = 0; i < VK_MAX_MEMORY_TYPES && alike; i++)
        if (backed >> i & 1 && !(external->memoryTypeBits >> plan->import_type[i] & 1))
            alike = false;
    out->importable = alike;
    out->moved_types = alike ? plain->memoryTypeBits & ~external->memoryTypeBits : 0;
    return alike;
}

static bool can_import(const VkExternalMemoryProperties *properties)
{
    return (properties->externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT) &&
           !(properties->externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT);
}

/* An object that stays as it is, and its memory types. Sparse ones are offered others. */
static void wait_for_memory(struct layer_device *dev, const VkMemoryRequirements *wants,
                            struct layer_backing_object *object)
{
    object->waits = object->sparse ? 0 : wants->memoryTypeBits & dev->backing.plan.types;
    if (!object->waits)
        return;
    pthread_mutex_lock(&dev->backing.mutex);
    for (uint32_t i = 0; i < VK_MAX_MEMORY_TYPES; i++)
        dev->backing.waiting[i] += object->waits >> i & 1;
    pthread_mutex_unlock(&dev->backing.mutex);
}

void layer_backing_settle(struct layer_device *dev, struct layer_backing_object *object)
{
    if (!object->waits)
        return;
    pthread_mutex_lock(&dev->backing.mutex);
    for (uint32_t i = 0; i < VK_MAX_MEMORY_TYPES; i++)
        dev->backing.waiting[i] -= object->waits >> i & 1;
    object->waits = 0;
    pthread_mutex_unlock(&dev->backing.mutex);
}

/* ---- buffers ---- */

static const VkBufferCreateFlags odd_buffers = VK_BUFFER_CREATE_SPARSE_BINDING_BIT |
                                               VK_BUFFER_CREATE_SPARSE_RESIDENCY_BIT |
                                               VK_BUFFER_CREATE_SPARSE_ALIASED_BIT | VK_BUFFER_CREATE_PROTECTED_BIT;

/* The chain's first structure, if it is the one with usage bits past the 32nd. */
static const VkBaseInStructure *long_usage(const VkBufferCreateInfo *info)
{
#if defined(VK_VERSION_1_4) || defined(VK_KHR_maintenance5)
    const VkBaseInStructure *first = info->pNext;
    return first && first->sType == VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR ? first : NULL;
#else
    return NULL;
#endif
}

/* Buffers with other structures in the chain (handle types, opaque addresses, video profiles) stay as they are. */
static bool is_plain_buffer(const VkBufferCreateInfo *info)
{
    const VkBaseInStructure *usage = long_usage(info);
    return (!info->pNext || (usage && !usage->pNext)) && !(info->flags & odd_buffers);
}

static bool driver_imports_buffer(const struct layer_device *dev, const VkBufferCreateInfo *info)
{
    VkPhysicalDeviceExternalBufferInfo asked = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
                                                .pNext = info->pNext,
                                                .flags = info->flags,
                                                .usage = info->usage,
                                                .handleType = HOST_ALLOCATION};
    VkExternalBufferProperties said = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    dev->instance->vk.GetPhysicalDeviceExternalBufferProperties(
        gen_VkPhysicalDevice(dev->physical_device->object.handle), &asked, &said);
    return can_import(&said.externalMemoryProperties);
}

static VkResult create_external_buffer(struct layer_device *dev, const VkBufferCreateInfo *info,
                                       const VkAllocationCallbacks *allocator, VkBuffer *out)
{
    VkExternalMemoryBufferCreateInfo handle_type = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                                    .pNext = info->pNext,
                                                    .handleTypes = HOST_ALLOCATION};
    VkBufferCreateInfo changed = *info;
    changed.pNext = &handle_type;
    return dev->vk.CreateBuffer(dev->handle, &changed, allocator, out);
}

/* *plain is the program's buffer, replaced by an importable one if possible. */
static void replace_buffer(struct layer_device *dev, const VkBufferCreateInfo *info,
                           const VkAllocationCallbacks *allocator, VkBuffer *plain, struct layer_backing_object *out)
{
    VkMemoryRequirements wants, external_wants;
    VkBuffer external, useless;

    dev->vk.GetBufferMemoryRequirements(dev->handle, *plain, &wants);
    if (!(wants.memoryTypeBits & dev->backing.plan.types) || !driver_imports_buffer(dev, info) ||
        create_external_buffer(dev, info, allocator, &external) != VK_SUCCESS)
        return;
    dev->vk.GetBufferMemoryRequirements(dev->handle, external, &external_wants);
    useless = is_alike(&dev->backing.plan, &wants, &external_wants, out) ? *plain : external;
    *plain = useless == external ? *plain : external;
    dev->vk.DestroyBuffer(dev->handle, useless, allocator);
}

/* The first of its kind is compared; the others follow it. */
static VkResult create_buffer(struct layer_device *dev, const VkBufferCreateInfo *info,
                              const VkAllocationCallbacks *allocator, VkBuffer *out_buffer,
                              struct layer_backing_object *out_object)
{
    const uint64_t key[4] = {1, info->flags, lap_chain_buffer_usage(info), info->sharingMode};
    VkResult result;

    if (is_plain_buffer(info) && find_kind(dev, key, out_object)) {
        if (out_object->importable && create_external_buffer(dev, info, allocator, out_buffer) == VK_SUCCESS)
            return VK_SUCCESS;
        memset(out_object, 0, sizeof *out_object);
        return dev->vk.CreateBuffer(dev->handle, info, allocator, out_buffer);
    }
    result = dev->vk.CreateBuffer(dev->handle, info, allocator, out_buffer);
    if (result == VK_SUCCESS && is_plain_buffer(info)) {
        replace_buffer(dev, info, allocator, out_buffer, out_object);
        add_kind(dev, key, out_object);
    }
    return result;
}

VkResult layer_backing_create_buffer(struct layer_device *dev, const VkBufferCreateInfo *info,
                                     const VkAllocationCallbacks *allocator, VkBuffer *out_buffer,
                                     struct layer_backing_object *out_object)
{
    VkMemoryRequirements wants;
    VkResult result;

    memset(out_object, 0, sizeof *out_object);
    out_object->sparse = info->flags & VK_BUFFER_CREATE_SPARSE_BINDING_BIT;
    if (!is_active(dev))
        return dev->vk.CreateBuffer(dev->handle, info, allocator, out_buffer);
    result = create_buffer(dev, info, allocator, out_buffer, out_object);
    if (result == VK_SUCCESS && !out_object->importable) {
        dev->vk.GetBufferMemoryRequirements(dev->handle, *out_buffer, &wants);
        wait_for_memory(dev, &wants, out_object);
    }
    return result;
}

/* ---- images ---- */

static const VkImageCreateFlags odd_images = VK_IMAGE_CREATE_SPARSE_BINDING_BIT | VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT |
                                             VK_IMAGE_CREATE_SPARSE_ALIASED_BIT | VK_IMAGE_CREATE_PROTECTED_BIT |
                                             VK_IMAGE_CREATE_DISJOINT_BIT;

/* Allowed structures in the chain: formats of views, and the usage of the stencil aspect.
 * VUID-VkImageCreateInfo-pNext-01443 allows no handle type for preinitialized images. */
static bool is_plain_image(const VkImageCreateInfo *info)
{
    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext)
        if (s->sType != VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO &&
            s->sType != VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO)
            return false;
    return !(info->flags & odd_images) && info->initialLayout == VK_IMAGE_LAYOUT_UNDEFINED &&
           (info->tiling == VK_IMAGE_TILING_LINEAR || info->tiling == VK_IMAGE_TILING_OPTIMAL);
}

static bool driver_imports_image(const struct layer_device *dev, const VkImageCreateInfo *info)
{
    VkPhysicalDeviceExternalImageFormatInfo handle_type = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO,
        .pNext = info->pNext,
        .handleType = HOST_ALLOCATION};
    VkPhysicalDeviceImageFormatInfo2 asked = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
                                              .pNext = &handle_type,
                                              .format = info->format,
                                              .type = info->imageType,
                                              .tiling = info->tiling,
                                              .usage = info->usage,
                                              .flags = info->flags};
    VkExternalImageFormatProperties external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
    VkImageFormatProperties2 said = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2, .pNext = &external};
    const VkImageFormatProperties *limits = &said.imageFormatProperties;

    return dev->instance->vk.GetPhysicalDeviceImageFormatProperties2(
               gen_VkPhysicalDevice(dev->physical_device->object.handle), &asked, &said) == VK_SUCCESS &&
           can_import(&external.externalMemoryProperties) && info->extent.width <= limits->maxExtent.width &&
           info->extent.height <= limits->maxExtent.height && info->extent.depth <= limits->maxExtent.depth &&
           info->mipLevels <= limits->maxMipLevels && info->arrayLayers <= limits->maxArrayLayers &&
           (info->samples & limits->sampleCounts);
}

static VkResult create_external_image(struct layer_device *dev, const VkImageCreateInfo *info,
                                      const VkAllocationCallbacks *allocator, VkImage *out)
{
    VkExternalMemoryImageCreateInfo handle_type = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
                                                   .pNext = info->pNext,
                                                   .handleTypes = HOST_ALLOCATION};
    VkImageCreateInfo changed = *info;
    changed.pNext = &handle_type;
    return dev->vk.CreateImage(dev->handle, &changed, allocator, out);
}

/* Drivers pad and compress by size, so each image that may lie in a backed type is compared. Where video memory is
 * apart, optimal ones may not; elsewhere programs do put them beside buffers. */
static void replace_image(struct layer_device *dev, const VkImageCreateInfo *info,
                          const VkAllocationCallbacks *allocator, VkImage *plain, struct layer_backing_object *out)
{
    VkMemoryRequirements wants, external_wants;
    VkImage external, useless;

    dev->vk.GetImageMemoryRequirements(dev->handle, *plain, &wants);
    if (!(wants.memoryTypeBits & dev->backing.plan.types) || !driver_imports_image(dev, info) ||
        create_external_image(dev, info, allocator, &external) != VK_SUCCESS)
        return;
    dev->vk.GetImageMemoryRequirements(dev->handle, external, &external_wants);
    useless = is_alike(&dev->backing.plan, &wants, &external_wants, out) ? *plain : external;
    *plain = useless == external ? *plain : external;
    dev->vk.DestroyImage(dev->handle, useless, allocator);
}

/* The memory of other images is external or in several pieces; its requirements can't be queried now. */
static bool is_measurable(const VkImageCreateInfo *info)
{
    return !(info->flags & VK_IMAGE_CREATE_DISJOINT_BIT) &&
           !lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO) &&
           !lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR);
}

VkResult layer_backing_create_image(struct layer_device *dev, const VkImageCreateInfo *info,
                                    const VkAllocationCallbacks *allocator, VkImage *out_image,
                                    struct layer_backing_object *out_object)
{
    VkResult result = dev->vk.CreateImage(dev->handle, info, allocator, out_image);
    VkMemoryRequirements wants;

    memset(out_object, 0, sizeof *out_object);
    out_object->sparse = info->flags & VK_IMAGE_CREATE_SPARSE_BINDING_BIT;
    if (result != VK_SUCCESS || !is_active(dev))
        return result;
    if (is_plain_image(info))
        replace_image(dev, info, allocator, out_image, out_object);
    if (!out_object->importable && is_measurable(info)) {
        dev->vk.GetImageMemoryRequirements(dev->handle, *out_image, &wants);
        wait_for_memory(dev, &wants, out_object);
    }
    return result;
}

/* ---- requirements of objects that stay as they are ---- */

void layer_backing_prefer_dedicated(const struct layer_device *dev, const struct layer_backing_object *object,
                                    uint32_t driver_types, void *chain)
{
    union {
        const void *found;
        VkMemoryDedicatedRequirements *dedicated;
    } at;

    if (object->importable || !(driver_types & dev->backing.plan.types))
        return;
    at.found = lap_chain_find(chain, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS);
    if (at.found)
        at.dedicated->prefersDedicatedAllocation = VK_TRUE;
}
