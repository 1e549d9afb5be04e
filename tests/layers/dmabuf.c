/* SPDX-License-Identifier: MIT */
/*
 * dmabuf: a Vulkan layer, for tests only, that gives a driver dma-bufs (VK_EXT_external_memory_dma_buf), DRM format
 * modifiers (VK_EXT_image_drm_format_modifier) and foreign queue families. It stands next to the driver, which has
 * VK_EXT_external_memory_host.
 *
 * - A memfd stands for a dma-buf. Memory that is exported or imported is made of its pages.
 * - There are two modifiers: DRM_FORMAT_MOD_LINEAR, of linear tiling, and one that nobody else has, of optimal tiling.
 *   A list takes the tiled one if it is there. Planes lie where the driver places them; a program that asks for
 *   another place gets VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT. Disjoint and multi-planar images are not
 *   for it.
 *
 * The tables are behind one mutex; drivers are called without it.
 */
#include "tests/layers/chain.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DMA_BUF   VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT
#define PAGE      UINT64_C(4096)
#define LINEAR    UINT64_C(0)
#define TILED     UINT64_C(0x5a00000000000001)
#define MODIFIERS 2u
#define ADDED     3u

static const char *const added[ADDED] = {VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME,
                                         VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME,
                                         VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME};

struct memory {
    struct memory *next;
    VkDevice device;
    VkDeviceMemory handle;
    void *pages;
    size_t bytes;
    int fd;
};

struct image {
    struct image *next;
    VkDevice device;
    VkImage handle;
    uint64_t modifier;
    VkDeviceSize bytes;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct memory *memories;
static struct image *images;

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* ---- extensions and devices ---- */

/* NULL when out of memory. */
static VkExtensionProperties *extensions_below(VkPhysicalDevice gpu, uint32_t *out_count)
{
    PFN_vkEnumerateDeviceExtensionProperties ask = chain_instance_of(gpu)->next.EnumerateDeviceExtensionProperties;
    VkExtensionProperties *all;

    *out_count = 0;
    ask(gpu, NULL, out_count, NULL);
    all = calloc(*out_count + ADDED, sizeof *all);
    if (all)
        ask(gpu, NULL, out_count, all);
    return all;
}

static bool is_among(const VkExtensionProperties *all, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(all[i].extensionName, name) == 0)
            return true;
    return false;
}

static VKAPI_ATTR VkResult VKAPI_CALL EnumerateDeviceExtensionProperties(VkPhysicalDevice gpu, const char *layer,
                                                                         uint32_t *count, VkExtensionProperties *out)
{
    uint32_t have, room = *count;
    VkExtensionProperties *all;

    if (layer)
        return chain_instance_of(gpu)->next.EnumerateDeviceExtensionProperties(gpu, layer, count, out);
    all = extensions_below(gpu, &have);
    if (!all)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < ADDED; i++)
        if (!is_among(all, have, added[i])) {
            all[have].specVersion = 1;
            strcpy(all[have++].extensionName, added[i]);
        }
    *count = out && room < have ? room : have;
    if (out)
        memcpy(out, all, *count * sizeof *out);
    free(all);
    return out && room < have ? VK_INCOMPLETE : VK_SUCCESS;
}

static VkResult create_device(struct chain_device *device, PFN_vkCreateDevice create, const VkDeviceCreateInfo *info,
                              const VkAllocationCallbacks *allocator, VkDevice *out)
{
    VkDeviceCreateInfo changed = *info;
    const char **names = calloc(info->enabledExtensionCount + 1, sizeof *names);
    uint32_t have, count = 0;
    VkExtensionProperties *all = extensions_below(device->gpu, &have);
    bool host = false;
    VkResult result;

    if (!names || !all) {
        free(names);
        free(all);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++) {
        const char *name = info->ppEnabledExtensionNames[i];
        bool ours = false;
        for (uint32_t j = 0; j < ADDED; j++)
            ours = ours || strcmp(name, added[j]) == 0;
        if (!ours || is_among(all, have, name))
            names[count++] = name;
        host = host || strcmp(name, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME) == 0;
    }
    if (!host)
        names[count++] = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
    changed.enabledExtensionCount = count;
    changed.ppEnabledExtensionNames = names;
    result = create(device->gpu, &changed, allocator, out);
    free(names);
    free(all);
    return result;
}

/* ---- what is supported ---- */

static VkImageTiling tiling_of(uint64_t modifier)
{
    return modifier == LINEAR ? VK_IMAGE_TILING_LINEAR : VK_IMAGE_TILING_OPTIMAL;
}

static bool has_planes(VkFormat format)
{
    return format >= VK_FORMAT_G8B8G8R8_422_UNORM && format <= VK_FORMAT_G16_B16_R16_3PLANE_444_UNORM;
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceFormatProperties2(VkPhysicalDevice gpu, VkFormat format,
                                                                     VkFormatProperties2 *out)
{
    VkDrmFormatModifierPropertiesListEXT *list =
        chain_find(out->pNext, VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT);
    VkDrmFormatModifierPropertiesList2EXT *list_2 =
        chain_find(out->pNext, VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_2_EXT);
    VkDrmFormatModifierPropertiesEXT all[MODIFIERS];
    uint32_t count = 0;

    chain_instance_of(gpu)->next.GetPhysicalDeviceFormatProperties2(gpu, format, out);
    if (out->formatProperties.linearTilingFeatures && !has_planes(format))
        all[count++] = (VkDrmFormatModifierPropertiesEXT){LINEAR, 1, out->formatProperties.linearTilingFeatures};
    if (out->formatProperties.optimalTilingFeatures && !has_planes(format))
        all[count++] = (VkDrmFormatModifierPropertiesEXT){TILED, 1, out->formatProperties.optimalTilingFeatures};
    if (list) {
        if (!list->pDrmFormatModifierProperties || list->drmFormatModifierCount > count)
            list->drmFormatModifierCount = count;
        if (list->pDrmFormatModifierProperties)
            memcpy(list->pDrmFormatModifierProperties, all, list->drmFormatModifierCount * sizeof *all);
    }
    if (list_2) {
        if (!list_2->pDrmFormatModifierProperties || list_2->drmFormatModifierCount > count)
            list_2->drmFormatModifierCount = count;
        for (uint32_t i = 0; list_2->pDrmFormatModifierProperties && i < list_2->drmFormatModifierCount; i++)
            list_2->pDrmFormatModifierProperties[i] = (VkDrmFormatModifierProperties2EXT){
                all[i].drmFormatModifier, all[i].drmFormatModifierPlaneCount, all[i].drmFormatModifierTilingFeatures};
    }
}

static void describe(VkExternalMemoryProperties *out)
{
    *out = (VkExternalMemoryProperties){
        VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT, DMA_BUF, DMA_BUF};
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceImageFormatProperties2(
    VkPhysicalDevice gpu, const VkPhysicalDeviceImageFormatInfo2 *info, VkImageFormatProperties2 *out)
{
    const VkPhysicalDeviceImageDrmFormatModifierInfoEXT *modifier =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_DRM_FORMAT_MODIFIER_INFO_EXT);
    const VkPhysicalDeviceExternalImageFormatInfo *external =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO);
    VkExternalImageFormatProperties *answer =
        chain_find(out->pNext, VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES);
    VkPhysicalDeviceImageFormatInfo2 changed = *info;
    bool with_modifier = modifier && info->tiling == VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT;
    bool shared = external && external->handleType == DMA_BUF;
    VkImageFormatProperties2 plain = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2};
    VkResult result;

    if (!with_modifier && !shared)
        return chain_instance_of(gpu)->next.GetPhysicalDeviceImageFormatProperties2(gpu, info, out);
    if (has_planes(info->format) || info->flags & VK_IMAGE_CREATE_DISJOINT_BIT ||
        (with_modifier && modifier->drmFormatModifier != LINEAR && modifier->drmFormatModifier != TILED))
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    changed.pNext = NULL;
    if (with_modifier)
        changed.tiling = tiling_of(modifier->drmFormatModifier);
    result = chain_instance_of(gpu)->next.GetPhysicalDeviceImageFormatProperties2(gpu, &changed, &plain);
    out->imageFormatProperties = plain.imageFormatProperties;
    if (answer && shared)
        describe(&answer->externalMemoryProperties);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceExternalBufferProperties(
    VkPhysicalDevice gpu, const VkPhysicalDeviceExternalBufferInfo *info, VkExternalBufferProperties *out)
{
    if (info->handleType == DMA_BUF)
        describe(&out->externalMemoryProperties);
    else
        chain_instance_of(gpu)->next.GetPhysicalDeviceExternalBufferProperties(gpu, info, out);
}

/* ---- memory ---- */

/* fd < 0: new pages. Takes the descriptor if all goes well. Pages of the host are never for one object alone. */
static VkResult allocate_pages(struct chain_device *device, const VkMemoryAllocateInfo *info, int fd,
                               const VkAllocationCallbacks *allocator, VkDeviceMemory *out)
{
    VkImportMemoryHostPointerInfoEXT import = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                               .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT};
    VkMemoryAllocateInfo changed = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .pNext = &import,
                                    .allocationSize = whole_pages(info->allocationSize),
                                    .memoryTypeIndex = info->memoryTypeIndex};
    struct memory *memory = calloc(1, sizeof *memory);
    int own = fd;
    VkResult result;

    if (fd < 0)
        own = memfd_create("dma-buf", MFD_CLOEXEC);
    if (!memory || own < 0 || (fd < 0 && ftruncate(own, (off_t)changed.allocationSize) < 0)) {
        if (fd < 0 && own >= 0)
            close(own);
        free(memory);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    memory->bytes = changed.allocationSize;
    memory->pages = mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
    import.pHostPointer = memory->pages;
    result = memory->pages == MAP_FAILED || (uint64_t)lseek(own, 0, SEEK_END) < memory->bytes
                 ? VK_ERROR_INVALID_EXTERNAL_HANDLE
                 : device->next.AllocateMemory(device->handle, &changed, allocator, out);
    if (result < 0) {
        if (memory->pages != MAP_FAILED)
            munmap(memory->pages, memory->bytes);
        if (fd < 0)
            close(own);
        free(memory);
        return result;
    }
    memory->device = device->handle;
    memory->handle = *out;
    memory->fd = own;
    pthread_mutex_lock(&mutex);
    memory->next = memories;
    memories = memory;
    pthread_mutex_unlock(&mutex);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL AllocateMemory(VkDevice handle, const VkMemoryAllocateInfo *info,
                                                     const VkAllocationCallbacks *allocator, VkDeviceMemory *out)
{
    struct chain_device *device = chain_device_of(handle);
    const VkImportMemoryFdInfoKHR *import = chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
    const VkExportMemoryAllocateInfo *export = chain_find(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);

    if (import && import->handleType == DMA_BUF)
        return allocate_pages(device, info, import->fd, allocator, out);
    if (export && export->handleTypes & DMA_BUF)
        return allocate_pages(device, info, -1, allocator, out);
    return device->next.AllocateMemory(handle, info, allocator, out);
}

static VKAPI_ATTR void VKAPI_CALL FreeMemory(VkDevice handle, VkDeviceMemory memory,
                                             const VkAllocationCallbacks *allocator)
{
    struct memory **link, *found;

    pthread_mutex_lock(&mutex);
    for (link = &memories; *link && ((*link)->device != handle || (*link)->handle != memory); link = &(*link)->next) {
    }
    found = *link;
    if (found)
        *link = found->next;
    pthread_mutex_unlock(&mutex);
    chain_device_of(handle)->next.FreeMemory(handle, memory, allocator);
    if (!found)
        return;
    munmap(found->pages, found->bytes);
    close(found->fd);
    free(found);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetMemoryFdKHR(VkDevice handle, const VkMemoryGetFdInfoKHR *info, int *out)
{
    const struct memory *memory;

    if (info->handleType != DMA_BUF)
        return chain_device_of(handle)->next.GetMemoryFdKHR(handle, info, out);
    pthread_mutex_lock(&mutex);
    for (memory = memories; memory && (memory->device != handle || memory->handle != info->memory);
         memory = memory->next) {
    }
    *out = memory ? fcntl(memory->fd, F_DUPFD_CLOEXEC, 0) : -1;
    pthread_mutex_unlock(&mutex);
    return *out < 0 ? VK_ERROR_TOO_MANY_OBJECTS : VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetMemoryFdPropertiesKHR(VkDevice handle, VkExternalMemoryHandleTypeFlagBits type,
                                                               int fd, VkMemoryFdPropertiesKHR *out)
{
    struct chain_device *device = chain_device_of(handle);
    VkMemoryHostPointerPropertiesEXT properties = {.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    void *page;
    VkResult result;

    if (type != DMA_BUF)
        return device->next.GetMemoryFdPropertiesKHR(handle, type, fd, out);
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return VK_ERROR_INVALID_EXTERNAL_HANDLE;
    result = device->next.GetMemoryHostPointerPropertiesEXT(
        handle, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, page, &properties);
    out->memoryTypeBits = properties.memoryTypeBits;
    munmap(page, PAGE);
    return result;
}

/* ---- images ---- */

static struct image *find_image(VkDevice device, VkImage handle)
{
    struct image *image;
    pthread_mutex_lock(&mutex);
    for (image = images; image && (image->device != device || image->handle != handle); image = image->next) {
    }
    pthread_mutex_unlock(&mutex);
    return image;
}

static VkSubresourceLayout plane_of(struct chain_device *device, const struct image *image)
{
    VkImageSubresource color = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT};
    VkSubresourceLayout layout = {.size = image->bytes, .rowPitch = 256};
    if (image->modifier == LINEAR)
        device->next.GetImageSubresourceLayout(device->handle, image->handle, &color, &layout);
    return layout;
}

static VkResult create_with(struct chain_device *device, const VkImageCreateInfo *info, uint64_t modifier,
                            const VkSubresourceLayout *wanted, const VkAllocationCallbacks *allocator, VkImage *out)
{
    VkImageCreateInfo changed = *info;
    struct image *image = calloc(1, sizeof *image);
    VkMemoryRequirements requirements;
    VkSubresourceLayout is;
    VkResult result;

    if (!image)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    changed.tiling = tiling_of(modifier);
    changed.pNext = NULL;
    result = device->next.CreateImage(device->handle, &changed, allocator, out);
    if (result < 0) {
        free(image);
        return result;
    }
    device->next.GetImageMemoryRequirements(device->handle, *out, &requirements);
    *image = (struct image){.device = device->handle, .handle = *out, .modifier = modifier, .bytes = requirements.size};
    is = plane_of(device, image);
    if (wanted && (wanted->offset != is.offset || wanted->rowPitch != is.rowPitch)) {
        device->next.DestroyImage(device->handle, *out, allocator);
        free(image);
        return VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT;
    }
    pthread_mutex_lock(&mutex);
    image->next = images;
    images = image;
    pthread_mutex_unlock(&mutex);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateImage(VkDevice handle, const VkImageCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator, VkImage *out)
{
    struct chain_device *device = chain_device_of(handle);
    const VkImageDrmFormatModifierListCreateInfoEXT *list =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT);
    const VkImageDrmFormatModifierExplicitCreateInfoEXT *is =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT);
    uint64_t modifier = LINEAR;

    if (info->tiling != VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT || (!list && !is))
        return device->next.CreateImage(handle, info, allocator, out);
    if (is)
        return create_with(device, info, is->drmFormatModifier, is->pPlaneLayouts, allocator, out);
    for (uint32_t i = 0; i < list->drmFormatModifierCount; i++)
        if (list->pDrmFormatModifiers[i] == TILED)
            modifier = TILED;
    return create_with(device, info, modifier, NULL, allocator, out);
}

static VKAPI_ATTR void VKAPI_CALL DestroyImage(VkDevice handle, VkImage image, const VkAllocationCallbacks *allocator)
{
    struct image **link, *found;

    pthread_mutex_lock(&mutex);
    for (link = &images; *link && ((*link)->device != handle || (*link)->handle != image); link = &(*link)->next) {
    }
    found = *link;
    if (found)
        *link = found->next;
    pthread_mutex_unlock(&mutex);
    free(found);
    chain_device_of(handle)->next.DestroyImage(handle, image, allocator);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetImageDrmFormatModifierPropertiesEXT(VkDevice handle, VkImage image,
                                                                             VkImageDrmFormatModifierPropertiesEXT *out)
{
    const struct image *found = find_image(handle, image);
    if (!found)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    out->drmFormatModifier = found->modifier;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL GetImageSubresourceLayout(VkDevice handle, VkImage image,
                                                            const VkImageSubresource *which, VkSubresourceLayout *out)
{
    struct chain_device *device = chain_device_of(handle);
    const struct image *found = find_image(handle, image);

    if (found && which->aspectMask == VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT)
        *out = plane_of(device, found);
    else
        device->next.GetImageSubresourceLayout(handle, image, which, out);
}

static const struct chain_function *functions(size_t i)
{
    static const struct chain_function table[] = {
        CHAIN_OWN(EnumerateDeviceExtensionProperties),
        CHAIN_OWN_2(GetPhysicalDeviceFormatProperties2),
        CHAIN_OWN_2(GetPhysicalDeviceImageFormatProperties2),
        CHAIN_OWN_2(GetPhysicalDeviceExternalBufferProperties),
        CHAIN_OWN(AllocateMemory),
        CHAIN_OWN(FreeMemory),
        CHAIN_OWN(GetMemoryFdKHR),
        CHAIN_OWN(GetMemoryFdPropertiesKHR),
        CHAIN_OWN(CreateImage),
        CHAIN_OWN(DestroyImage),
        CHAIN_OWN(GetImageDrmFormatModifierPropertiesEXT),
        CHAIN_OWN(GetImageSubresourceLayout),
        CHAIN_END,
    };
    return i ? NULL : table;
}

const struct chain_layer chain_layer = {
    .device_bytes = sizeof(struct chain_device), .create_device = create_device, .functions = functions, .adds = true};
