/* SPDX-License-Identifier: MIT */
/* What the loader asks for, instances, devices, memory and what lies in it. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/null/machine.h"
#include "tests/null/pool.h"

#define EXPORT     __attribute__((visibility("default")))
#define ALIGNMENT  256u
#define ID(handle) ((const struct null_object *)(handle))->id

/* ---- the loader ---- */

static const struct null_entry *find_entry(const char *name)
{
    uint32_t first = 0, end = null_entry_count;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        int order = strcmp(name, null_entries[middle].name);
        if (order == 0)
            return &null_entries[middle];
        if (order < 0)
            end = middle;
        else
            first = middle + 1;
    }
    return NULL;
}

static PFN_vkVoidFunction find(const char *name)
{
    const struct null_entry *entry = find_entry(name);
    return entry ? entry->function : NULL;
}

EXPORT VkResult vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version);
EXPORT VkResult vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version)
{
    if (*version > 5)
        *version = 5;
    return VK_SUCCESS;
}

EXPORT PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance instance, const char *name);
EXPORT PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance instance, const char *name)
{
    return find(name);
}

/* By this a loader that is older than a command knows that its handle is a physical device. */
EXPORT PFN_vkVoidFunction vk_icdGetPhysicalDeviceProcAddr(VkInstance instance, const char *name);
EXPORT PFN_vkVoidFunction vk_icdGetPhysicalDeviceProcAddr(VkInstance instance, const char *name)
{
    const struct null_entry *entry = find_entry(name);
    return entry && entry->of_physical_device ? entry->function : NULL;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL hand_GetInstanceProcAddr(VkInstance instance, const char *pName)
{
    return find(pName);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL hand_GetDeviceProcAddr(VkDevice device, const char *pName)
{
    return find(pName);
}

/* ---- instances ---- */

struct instance {
    struct null_thing thing;
    struct null_object *gpu;
};

VKAPI_ATTR VkResult VKAPI_CALL hand_CreateInstance(const VkInstanceCreateInfo *pCreateInfo,
                                                   const VkAllocationCallbacks *pAllocator, VkInstance *pInstance)
{
    struct instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    instance->gpu = null_make_object(NULL_TYPE_VkPhysicalDevice, NULL);
    *pInstance = (VkInstance)null_make_object(NULL_TYPE_VkInstance, instance);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hand_DestroyInstance(VkInstance instance, const VkAllocationCallbacks *pAllocator)
{
    struct instance *thing = instance ? (struct instance *)null_thing_of(ID(instance)) : NULL;
    if (thing)
        null_end(NULL_vkDestroyInstance, NULL_TYPE_VkPhysicalDevice, thing->gpu->id);
    if (instance)
        null_end(NULL_vkDestroyInstance, NULL_TYPE_VkInstance, ID(instance));
}

VKAPI_ATTR VkResult VKAPI_CALL hand_EnumeratePhysicalDevices(VkInstance instance, uint32_t *pPhysicalDeviceCount,
                                                             VkPhysicalDevice *pPhysicalDevices)
{
    const struct instance *thing = (const struct instance *)null_thing_of(ID(instance));
    if (pPhysicalDevices && *pPhysicalDeviceCount == 0)
        return VK_INCOMPLETE;
    *pPhysicalDeviceCount = 1;
    if (pPhysicalDevices)
        pPhysicalDevices[0] = (VkPhysicalDevice)thing->gpu;
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL
hand_EnumeratePhysicalDeviceGroups(VkInstance instance, uint32_t *pPhysicalDeviceGroupCount,
                                   VkPhysicalDeviceGroupProperties *pPhysicalDeviceGroupProperties)
{
    const struct instance *thing = (const struct instance *)null_thing_of(ID(instance));
    if (pPhysicalDeviceGroupProperties && *pPhysicalDeviceGroupCount == 0)
        return VK_INCOMPLETE;
    *pPhysicalDeviceGroupCount = 1;
    if (pPhysicalDeviceGroupProperties) {
        pPhysicalDeviceGroupProperties->physicalDeviceCount = 1;
        pPhysicalDeviceGroupProperties->physicalDevices[0] = (VkPhysicalDevice)thing->gpu;
        pPhysicalDeviceGroupProperties->subsetAllocation = VK_FALSE;
    }
    return VK_SUCCESS;
}

/* ---- devices ---- */

struct device {
    struct null_thing thing;
    struct null_object *queues[NULL_FAMILIES][NULL_QUEUES];
};

VKAPI_ATTR VkResult VKAPI_CALL hand_CreateDevice(VkPhysicalDevice physicalDevice, const VkDeviceCreateInfo *pCreateInfo,
                                                 const VkAllocationCallbacks *pAllocator, VkDevice *pDevice)
{
    struct device *device = calloc(1, sizeof *device);
    if (!device)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t f = 0; f < NULL_FAMILIES; f++)
        for (uint32_t i = 0; i < NULL_QUEUES; i++)
            device->queues[f][i] = null_make_object(NULL_TYPE_VkQueue, NULL);
    *pDevice = (VkDevice)null_make_object(NULL_TYPE_VkDevice, device);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hand_DestroyDevice(VkDevice device, const VkAllocationCallbacks *pAllocator)
{
    const struct device *thing = device ? (const struct device *)null_thing_of(ID(device)) : NULL;
    for (uint32_t f = 0; thing && f < NULL_FAMILIES; f++)
        for (uint32_t i = 0; i < NULL_QUEUES; i++)
            null_end(NULL_vkDestroyDevice, NULL_TYPE_VkQueue, thing->queues[f][i]->id);
    if (device)
        null_end(NULL_vkDestroyDevice, NULL_TYPE_VkDevice, ID(device));
}

VKAPI_ATTR void VKAPI_CALL hand_GetDeviceQueue(VkDevice device, uint32_t queueFamilyIndex, uint32_t queueIndex,
                                               VkQueue *pQueue)
{
    const struct device *thing = (const struct device *)null_thing_of(ID(device));
    *pQueue = queueFamilyIndex < NULL_FAMILIES && queueIndex < NULL_QUEUES
                  ? (VkQueue)thing->queues[queueFamilyIndex][queueIndex]
                  : NULL;
}

VKAPI_ATTR void VKAPI_CALL hand_GetDeviceQueue2(VkDevice device, const VkDeviceQueueInfo2 *pQueueInfo, VkQueue *pQueue)
{
    hand_GetDeviceQueue(device, pQueueInfo->queueFamilyIndex, pQueueInfo->queueIndex, pQueue);
}

/* ---- memory ---- */

static struct null_thing *new_thing(uint64_t bytes)
{
    struct null_thing *thing = calloc(1, sizeof *thing);
    if (thing)
        thing->bytes = bytes;
    return thing;
}

static void *imported_pages(const void *chain)
{
    for (const VkBaseInStructure *s = chain; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT)
            return ((const VkImportMemoryHostPointerInfoEXT *)s)->pHostPointer;
    return NULL;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_AllocateMemory(VkDevice device, const VkMemoryAllocateInfo *pAllocateInfo,
                                                   const VkAllocationCallbacks *pAllocator, VkDeviceMemory *pMemory)
{
    struct null_thing *thing = new_thing(pAllocateInfo->allocationSize);
    if (!thing)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    thing->pages = imported_pages(pAllocateInfo->pNext);
    thing->imported = thing->pages != NULL;
    if (!thing->pages && null_memory_is_visible(pAllocateInfo->memoryTypeIndex)) {
        thing->pages =
            mmap(NULL, thing->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (thing->pages == MAP_FAILED) {
            free(thing);
            return VK_ERROR_OUT_OF_DEVICE_MEMORY;
        }
    }
    *pMemory = (VkDeviceMemory)null_make(NULL_TYPE_VkDeviceMemory, thing);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hand_FreeMemory(VkDevice device, VkDeviceMemory memory,
                                           const VkAllocationCallbacks *pAllocator)
{
    null_end(NULL_vkFreeMemory, NULL_TYPE_VkDeviceMemory, (uint64_t)memory);
}

VKAPI_ATTR VkResult VKAPI_CALL hand_MapMemory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                              VkDeviceSize size, VkMemoryMapFlags flags, void **ppData)
{
    const struct null_thing *thing = null_thing_of((uint64_t)memory);
    if (!thing || !thing->pages || offset >= thing->bytes)
        return VK_ERROR_MEMORY_MAP_FAILED;
    *ppData = (char *)thing->pages + offset;
    return VK_SUCCESS;
}

#ifdef VK_KHR_map_memory2
#ifndef VK_VERSION_1_4
#define hand_MapMemory2   hand_MapMemory2KHR
#define hand_UnmapMemory2 hand_UnmapMemory2KHR
#endif

#ifdef VK_EXT_map_memory_placed
/* The pages go where the program wants them; nobody else gets their own addresses meanwhile. */
static VkResult place(struct null_thing *thing, const VkMemoryMapInfoKHR *info)
{
    const uint64_t bytes = info->size == VK_WHOLE_SIZE ? thing->bytes - info->offset : info->size;
    char *home = (char *)thing->pages + info->offset;
    void *address = NULL;

    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_MEMORY_MAP_PLACED_INFO_EXT)
            address = ((const VkMemoryMapPlacedInfoEXT *)s)->pPlacedAddress;
    if (!address || thing->imported || thing->placed || info->offset >= thing->bytes ||
        mremap(home, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, address) == MAP_FAILED)
        return VK_ERROR_MEMORY_MAP_FAILED;
    if (mmap(home, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != home)
        abort();
    thing->placed = address;
    thing->placed_offset = info->offset;
    thing->placed_bytes = bytes;
    return VK_SUCCESS;
}

static void bring_home(struct null_thing *thing, bool reserve)
{
    const uint64_t bytes = thing->placed_bytes;
    char *home = (char *)thing->pages + thing->placed_offset;

    if (mremap(thing->placed, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, home) == MAP_FAILED)
        abort();
    if (reserve && mmap(thing->placed, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
                       thing->placed)
        abort();
    thing->placed = NULL;
}
#endif

VKAPI_ATTR VkResult VKAPI_CALL hand_MapMemory2(VkDevice device, const VkMemoryMapInfoKHR *pMemoryMapInfo, void **ppData)
{
#ifdef VK_EXT_map_memory_placed
    struct null_thing *thing = null_thing_of((uint64_t)pMemoryMapInfo->memory);
    if (thing && thing->pages && pMemoryMapInfo->flags & VK_MEMORY_MAP_PLACED_BIT_EXT) {
        VkResult result = place(thing, pMemoryMapInfo);
        *ppData = thing->placed;
        return result;
    }
#endif
    return hand_MapMemory(device, pMemoryMapInfo->memory, pMemoryMapInfo->offset, pMemoryMapInfo->size, 0, ppData);
}

VKAPI_ATTR VkResult VKAPI_CALL hand_UnmapMemory2(VkDevice device, const VkMemoryUnmapInfoKHR *pMemoryUnmapInfo)
{
#ifdef VK_EXT_map_memory_placed
    struct null_thing *thing = null_thing_of((uint64_t)pMemoryUnmapInfo->memory);
    if (thing && thing->placed)
        bring_home(thing, pMemoryUnmapInfo->flags & VK_MEMORY_UNMAP_RESERVE_BIT_EXT);
#endif
    return VK_SUCCESS;
}
#endif

VKAPI_ATTR VkResult VKAPI_CALL hand_GetMemoryHostPointerPropertiesEXT(
    VkDevice device, VkExternalMemoryHandleTypeFlagBits handleType, const void *pHostPointer,
    VkMemoryHostPointerPropertiesEXT *pMemoryHostPointerProperties)
{
    uint32_t types = null_memory_types();
    for (uint32_t i = 0; i < 32; i++)
        if (!null_memory_is_visible(i))
            types &= ~(1u << i);
    pMemoryHostPointerProperties->memoryTypeBits = types;
    return VK_SUCCESS;
}

/* ---- buffers and images ---- */

static void require(uint64_t bytes, VkMemoryRequirements *out)
{
    *out = (VkMemoryRequirements){(bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, ALIGNMENT, null_memory_types()};
}

/* Sixteen bytes a texel are enough for any format; levels below the first take less than it together. */
static uint64_t image_bytes(const VkImageCreateInfo *info)
{
    uint64_t texels = (uint64_t)info->extent.width * info->extent.height * info->extent.depth * info->arrayLayers;
    return texels * 16 * info->samples * (info->mipLevels > 1 ? 2 : 1);
}

VKAPI_ATTR VkResult VKAPI_CALL hand_CreateBuffer(VkDevice device, const VkBufferCreateInfo *pCreateInfo,
                                                 const VkAllocationCallbacks *pAllocator, VkBuffer *pBuffer)
{
    struct null_thing *thing = new_thing(pCreateInfo->size);
    if (!thing)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    thing->address = null_address();
    *pBuffer = (VkBuffer)null_make(NULL_TYPE_VkBuffer, thing);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_CreateImage(VkDevice device, const VkImageCreateInfo *pCreateInfo,
                                                const VkAllocationCallbacks *pAllocator, VkImage *pImage)
{
    struct null_thing *thing = new_thing(image_bytes(pCreateInfo));
    if (!thing)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    *pImage = (VkImage)null_make(NULL_TYPE_VkImage, thing);
    return VK_SUCCESS;
}

static void requirements_of(uint64_t id, VkMemoryRequirements *out)
{
    const struct null_thing *thing = null_thing_of(id);
    require(thing ? thing->bytes : 0, out);
}

VKAPI_ATTR void VKAPI_CALL hand_GetBufferMemoryRequirements(VkDevice device, VkBuffer buffer,
                                                            VkMemoryRequirements *pMemoryRequirements)
{
    requirements_of((uint64_t)buffer, pMemoryRequirements);
}

VKAPI_ATTR void VKAPI_CALL hand_GetBufferMemoryRequirements2(VkDevice device,
                                                             const VkBufferMemoryRequirementsInfo2 *pInfo,
                                                             VkMemoryRequirements2 *pMemoryRequirements)
{
    requirements_of((uint64_t)pInfo->buffer, &pMemoryRequirements->memoryRequirements);
}

VKAPI_ATTR void VKAPI_CALL hand_GetImageMemoryRequirements(VkDevice device, VkImage image,
                                                           VkMemoryRequirements *pMemoryRequirements)
{
    requirements_of((uint64_t)image, pMemoryRequirements);
}

VKAPI_ATTR void VKAPI_CALL hand_GetImageMemoryRequirements2(VkDevice device,
                                                            const VkImageMemoryRequirementsInfo2 *pInfo,
                                                            VkMemoryRequirements2 *pMemoryRequirements)
{
    requirements_of((uint64_t)pInfo->image, &pMemoryRequirements->memoryRequirements);
}

VKAPI_ATTR void VKAPI_CALL hand_GetDeviceBufferMemoryRequirements(VkDevice device,
                                                                  const VkDeviceBufferMemoryRequirements *pInfo,
                                                                  VkMemoryRequirements2 *pMemoryRequirements)
{
    require(pInfo->pCreateInfo->size, &pMemoryRequirements->memoryRequirements);
}

VKAPI_ATTR void VKAPI_CALL hand_GetDeviceImageMemoryRequirements(VkDevice device,
                                                                 const VkDeviceImageMemoryRequirements *pInfo,
                                                                 VkMemoryRequirements2 *pMemoryRequirements)
{
    require(image_bytes(pInfo->pCreateInfo), &pMemoryRequirements->memoryRequirements);
}

VKAPI_ATTR void VKAPI_CALL hand_GetImageSubresourceLayout(VkDevice device, VkImage image,
                                                          const VkImageSubresource *pSubresource,
                                                          VkSubresourceLayout *pLayout)
{
    const struct null_thing *thing = null_thing_of((uint64_t)image);
    *pLayout =
        (VkSubresourceLayout){.size = thing ? thing->bytes : 0, .rowPitch = 64, .arrayPitch = 64, .depthPitch = 64};
}

/* ---- pools ---- */

static struct null_thing *pool_of(uint64_t id)
{
    return null_thing_of(id);
}

VKAPI_ATTR VkResult VKAPI_CALL hand_CreateCommandPool(VkDevice device, const VkCommandPoolCreateInfo *pCreateInfo,
                                                      const VkAllocationCallbacks *pAllocator,
                                                      VkCommandPool *pCommandPool)
{
    struct null_thing *thing = new_thing(0);
    if (!thing)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    *pCommandPool = (VkCommandPool)null_make(NULL_TYPE_VkCommandPool, thing);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_AllocateCommandBuffers(VkDevice device,
                                                           const VkCommandBufferAllocateInfo *pAllocateInfo,
                                                           VkCommandBuffer *pCommandBuffers)
{
    struct null_thing *pool = pool_of((uint64_t)pAllocateInfo->commandPool);
    for (uint32_t i = 0; i < pAllocateInfo->commandBufferCount; i++) {
        struct null_object *object = null_make_object(NULL_TYPE_VkCommandBuffer, NULL);
        if (pool)
            null_pool_add(pool, NULL_TYPE_VkCommandBuffer, object->id);
        pCommandBuffers[i] = (VkCommandBuffer)object;
    }
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hand_FreeCommandBuffers(VkDevice device, VkCommandPool commandPool,
                                                   uint32_t commandBufferCount, const VkCommandBuffer *pCommandBuffers)
{
    struct null_thing *pool = pool_of((uint64_t)commandPool);
    for (uint32_t i = 0; i < commandBufferCount; i++) {
        uint64_t id = pCommandBuffers[i] ? ID(pCommandBuffers[i]) : 0;
        if (pool)
            null_pool_remove(pool, id);
        null_end(NULL_vkFreeCommandBuffers, NULL_TYPE_VkCommandBuffer, id);
    }
}

VKAPI_ATTR void VKAPI_CALL hand_DestroyCommandPool(VkDevice device, VkCommandPool commandPool,
                                                   const VkAllocationCallbacks *pAllocator)
{
    null_end(NULL_vkDestroyCommandPool, NULL_TYPE_VkCommandPool, (uint64_t)commandPool);
}

VKAPI_ATTR VkResult VKAPI_CALL hand_CreateDescriptorPool(VkDevice device, const VkDescriptorPoolCreateInfo *pCreateInfo,
                                                         const VkAllocationCallbacks *pAllocator,
                                                         VkDescriptorPool *pDescriptorPool)
{
    struct null_thing *thing = new_thing(0);
    if (!thing)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    *pDescriptorPool = (VkDescriptorPool)null_make(NULL_TYPE_VkDescriptorPool, thing);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_AllocateDescriptorSets(VkDevice device,
                                                           const VkDescriptorSetAllocateInfo *pAllocateInfo,
                                                           VkDescriptorSet *pDescriptorSets)
{
    struct null_thing *pool = pool_of((uint64_t)pAllocateInfo->descriptorPool);
    for (uint32_t i = 0; i < pAllocateInfo->descriptorSetCount; i++) {
        uint64_t id = null_make(NULL_TYPE_VkDescriptorSet, NULL);
        if (pool)
            null_pool_add(pool, NULL_TYPE_VkDescriptorSet, id);
        pDescriptorSets[i] = (VkDescriptorSet)id;
    }
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_FreeDescriptorSets(VkDevice device, VkDescriptorPool descriptorPool,
                                                       uint32_t descriptorSetCount,
                                                       const VkDescriptorSet *pDescriptorSets)
{
    struct null_thing *pool = pool_of((uint64_t)descriptorPool);
    for (uint32_t i = 0; i < descriptorSetCount; i++) {
        if (pool)
            null_pool_remove(pool, (uint64_t)pDescriptorSets[i]);
        null_end(NULL_vkFreeDescriptorSets, NULL_TYPE_VkDescriptorSet, (uint64_t)pDescriptorSets[i]);
    }
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_ResetDescriptorPool(VkDevice device, VkDescriptorPool descriptorPool,
                                                        VkDescriptorPoolResetFlags flags)
{
    struct null_thing *pool = pool_of((uint64_t)descriptorPool);
    if (pool)
        null_pool_end(NULL_vkResetDescriptorPool, pool);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hand_DestroyDescriptorPool(VkDevice device, VkDescriptorPool descriptorPool,
                                                      const VkAllocationCallbacks *pAllocator)
{
    null_end(NULL_vkDestroyDescriptorPool, NULL_TYPE_VkDescriptorPool, (uint64_t)descriptorPool);
}
