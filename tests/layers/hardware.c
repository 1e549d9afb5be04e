/* SPDX-License-Identifier: MIT */
/*
 * hardware: a Vulkan layer, for tests only, that gives a driver memory that is an AHardwareBuffer
 * (VK_ANDROID_external_memory_android_hardware_buffer), and foreign queue families. It stands next to the driver, which
 * has VK_EXT_external_memory_host. The same library has the functions of Android's libnativewindow.so.
 *
 * A buffer's texels lie in pages as in the driver's linear images, padding behind the rows included. To programs, and
 * to layers above, images of buffers are of optimal tiling: their layout is nobody's business, and neither is their
 * memory before they are bound. Who asks the driver all the same ends the process.
 */
#include "tests/apps/common/hardware.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/layers/chain.h"

#define BUFFER_BIT VK_EXTERNAL_MEMORY_HANDLE_TYPE_ANDROID_HARDWARE_BUFFER_BIT_ANDROID
#define PAGE       UINT64_C(4096)
#define ROW        64u /* rows begin at multiples of so many bytes, as in llvmpipe */
#define YUV        UINT64_C(7)
#define ADDED      2u

static const char *const added[ADDED] = {VK_ANDROID_EXTERNAL_MEMORY_ANDROID_HARDWARE_BUFFER_EXTENSION_NAME,
                                         VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME};

static const struct kind {
    enum hardware_format format;
    VkFormat is;
    uint32_t bytes;
} kinds[] = {{HARDWARE_R8G8B8A8, VK_FORMAT_R8G8B8A8_UNORM, 4},
             {HARDWARE_R5G6B5, VK_FORMAT_R5G6B5_UNORM_PACK16, 2},
             {HARDWARE_R16G16B16A16_FLOAT, VK_FORMAT_R16G16B16A16_SFLOAT, 8},
             {HARDWARE_BLOB, VK_FORMAT_UNDEFINED, 1},
             {HARDWARE_R10G10B10A2, VK_FORMAT_A2B10G10R10_UNORM_PACK32, 4},
             {HARDWARE_R8, VK_FORMAT_R8_UNORM, 1},
             {HARDWARE_Y8CB8CR8_420, VK_FORMAT_UNDEFINED, 2}};

static const struct kind *kind_of(uint32_t format)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((uint32_t)kinds[i].format == format)
            return &kinds[i];
    return NULL;
}

static uint32_t pitch_of(const struct kind *kind, uint32_t width)
{
    return kind->format == HARDWARE_BLOB ? width : (width * kind->bytes + ROW - 1) / ROW * ROW;
}

/* ---- libnativewindow.so ---- */

struct AHardwareBuffer {
    struct hardware_description is;
    atomic_uint references;
    unsigned char *pages;
    size_t bytes;
};

#define DECLARE(type, name, parameters) __attribute__((visibility("default"))) type AHardwareBuffer_##name parameters;
HARDWARE_FUNCTIONS(DECLARE)

int AHardwareBuffer_allocate(const struct hardware_description *is, struct AHardwareBuffer **out)
{
    const struct kind *kind = kind_of(is->format);
    struct AHardwareBuffer *buffer = calloc(1, sizeof *buffer);
    uint32_t pitch;

    if (!buffer || !kind)
        return -1;
    pitch = pitch_of(kind, is->width);
    buffer->is = *is;
    buffer->is.stride = pitch / kind->bytes;
    buffer->references = 1;
    buffer->bytes = (size_t)(((uint64_t)pitch * is->height + PAGE - 1) / PAGE * PAGE);
    buffer->pages = mmap(NULL, buffer->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (buffer->pages == MAP_FAILED)
        return -1;
    *out = buffer;
    return 0;
}

void AHardwareBuffer_acquire(struct AHardwareBuffer *buffer)
{
    atomic_fetch_add(&buffer->references, 1);
}

void AHardwareBuffer_release(struct AHardwareBuffer *buffer)
{
    if (atomic_fetch_sub(&buffer->references, 1) != 1)
        return;
    munmap(buffer->pages, buffer->bytes);
    free(buffer);
}

void AHardwareBuffer_describe(const struct AHardwareBuffer *buffer, struct hardware_description *out)
{
    *out = buffer->is;
}

int AHardwareBuffer_lock(struct AHardwareBuffer *buffer, uint64_t usage, int32_t fence, const void *rectangle,
                         void **out)
{
    if (!usage || usage & ~buffer->is.usage)
        return -1;
    *out = buffer->pages;
    return 0;
}

int AHardwareBuffer_unlock(struct AHardwareBuffer *buffer, int32_t *fence)
{
    return 0;
}

/* ---- what the layer knows ---- */

struct memory {
    struct memory *next;
    VkDevice device;
    VkDeviceMemory handle;
    struct AHardwareBuffer *buffer;
};

struct image {
    struct image *next;
    VkDevice device;
    VkImage handle;
    VkImageCreateInfo info;
    bool bound;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct memory *memories;
static struct image *images;

static struct image *image_of(VkDevice device, VkImage handle)
{
    struct image *image;
    pthread_mutex_lock(&mutex);
    for (image = images; image && (image->device != device || image->handle != handle); image = image->next) {
    }
    pthread_mutex_unlock(&mutex);
    return image;
}

static void need(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "hardware: %s\n", what);
    abort();
}

/* ---- extensions and devices ---- */

static VkExtensionProperties *extensions_below(VkPhysicalDevice gpu, uint32_t *out_count)
{
    PFN_vkEnumerateDeviceExtensionProperties ask = chain_instance_of(gpu)->next.EnumerateDeviceExtensionProperties;
    VkExtensionProperties *all;

    *out_count = 0;
    ask(gpu, NULL, out_count, NULL);
    all = calloc(*out_count + ADDED, sizeof *all);
    need(all, "out of memory");
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

    need(names, "out of memory");
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++) {
        const char *name = info->ppEnabledExtensionNames[i];
        bool ours = strcmp(name, added[0]) == 0 || strcmp(name, added[1]) == 0;
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

static void describe(VkExternalMemoryProperties *out)
{
    *out = (VkExternalMemoryProperties){VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT |
                                            VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT |
                                            VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT,
                                        BUFFER_BIT, BUFFER_BIT};
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceImageFormatProperties2(
    VkPhysicalDevice gpu, const VkPhysicalDeviceImageFormatInfo2 *info, VkImageFormatProperties2 *out)
{
    const VkPhysicalDeviceExternalImageFormatInfo *external =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO);
    VkExternalImageFormatProperties *answer =
        chain_find(out->pNext, VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES);
    VkPhysicalDeviceImageFormatInfo2 changed = *info;
    VkImageFormatProperties2 plain = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2};
    VkResult result;

    if (!external || external->handleType != BUFFER_BIT)
        return chain_instance_of(gpu)->next.GetPhysicalDeviceImageFormatProperties2(gpu, info, out);
    changed.pNext = NULL;
    changed.tiling = VK_IMAGE_TILING_LINEAR;
    result = chain_instance_of(gpu)->next.GetPhysicalDeviceImageFormatProperties2(gpu, &changed, &plain);
    out->imageFormatProperties = plain.imageFormatProperties;
    if (answer)
        describe(&answer->externalMemoryProperties);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceExternalBufferProperties(
    VkPhysicalDevice gpu, const VkPhysicalDeviceExternalBufferInfo *info, VkExternalBufferProperties *out)
{
    if (info->handleType == BUFFER_BIT)
        describe(&out->externalMemoryProperties);
    else
        chain_instance_of(gpu)->next.GetPhysicalDeviceExternalBufferProperties(gpu, info, out);
}

/* ---- memory ---- */

static VKAPI_ATTR VkResult VKAPI_CALL GetAndroidHardwareBufferPropertiesANDROID(
    VkDevice handle, const struct AHardwareBuffer *buffer, VkAndroidHardwareBufferPropertiesANDROID *out)
{
    struct chain_device *device = chain_device_of(handle);
    VkMemoryHostPointerPropertiesEXT pages = {.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    VkAndroidHardwareBufferFormatPropertiesANDROID *format =
        chain_find(out->pNext, VK_STRUCTURE_TYPE_ANDROID_HARDWARE_BUFFER_FORMAT_PROPERTIES_ANDROID);
    VkResult result = device->next.GetMemoryHostPointerPropertiesEXT(
        handle, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, buffer->pages, &pages);

    out->allocationSize = buffer->bytes;
    out->memoryTypeBits = pages.memoryTypeBits;
    if (format) {
        format->format = kind_of(buffer->is.format)->is;
        format->externalFormat = buffer->is.format == HARDWARE_BLOB ? 0 : YUV + format->format;
        format->formatFeatures = VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT;
    }
    return result;
}

static VkResult make_memory(struct chain_device *device, const VkMemoryAllocateInfo *info,
                            struct AHardwareBuffer *buffer, const VkAllocationCallbacks *allocator, VkDeviceMemory *out)
{
    VkImportMemoryHostPointerInfoEXT import = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                               .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
                                               .pHostPointer = buffer->pages};
    VkMemoryAllocateInfo changed = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .pNext = &import,
                                    .allocationSize = buffer->bytes,
                                    .memoryTypeIndex = info->memoryTypeIndex};
    struct memory *memory = calloc(1, sizeof *memory);
    VkResult result = device->next.AllocateMemory(device->handle, &changed, allocator, out);

    need(memory, "out of memory");
    if (result < 0) {
        AHardwareBuffer_release(buffer);
        free(memory);
        return result;
    }
    *memory = (struct memory){.device = device->handle, .handle = *out, .buffer = buffer};
    pthread_mutex_lock(&mutex);
    memory->next = memories;
    memories = memory;
    pthread_mutex_unlock(&mutex);
    return result;
}

static struct AHardwareBuffer *buffer_for(VkDevice device, const VkMemoryDedicatedAllocateInfo *dedicated)
{
    const struct image *image = dedicated ? image_of(device, dedicated->image) : NULL;
    struct hardware_description is = {
        .layers = 1, .usage = HARDWARE_GPU_SAMPLE | HARDWARE_CPU_READ, .format = HARDWARE_R8G8B8A8};
    struct AHardwareBuffer *buffer = NULL;

    need(image && image->info.format == VK_FORMAT_R8G8B8A8_UNORM, "exported memory is for one image of RGBA");
    is.width = image->info.extent.width;
    is.height = image->info.extent.height;
    need(AHardwareBuffer_allocate(&is, &buffer) == 0, "out of memory");
    return buffer;
}

static VKAPI_ATTR VkResult VKAPI_CALL AllocateMemory(VkDevice handle, const VkMemoryAllocateInfo *info,
                                                     const VkAllocationCallbacks *allocator, VkDeviceMemory *out)
{
    struct chain_device *device = chain_device_of(handle);
    const VkImportAndroidHardwareBufferInfoANDROID *import =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_ANDROID_HARDWARE_BUFFER_INFO_ANDROID);
    const VkExportMemoryAllocateInfo *export = chain_find(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);

    if (import) {
        need(info->allocationSize == import->buffer->bytes, "imported memory has another size than the buffer");
        AHardwareBuffer_acquire(import->buffer);
        return make_memory(device, info, import->buffer, allocator, out);
    }
    if (!export || !(export->handleTypes & BUFFER_BIT))
        return device->next.AllocateMemory(handle, info, allocator, out);
    need(!info->allocationSize, "the driver chooses the size of exported memory");
    return make_memory(device, info,
                       buffer_for(handle, chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO)),
                       allocator, out);
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
    if (found)
        AHardwareBuffer_release(found->buffer);
    free(found);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetMemoryAndroidHardwareBufferANDROID(
    VkDevice handle, const VkMemoryGetAndroidHardwareBufferInfoANDROID *info, struct AHardwareBuffer **out)
{
    const struct memory *memory;

    pthread_mutex_lock(&mutex);
    for (memory = memories; memory && (memory->device != handle || memory->handle != info->memory);
         memory = memory->next) {
    }
    pthread_mutex_unlock(&mutex);
    need(memory, "memory without a buffer is exported as one");
    AHardwareBuffer_acquire(memory->buffer);
    *out = memory->buffer;
    return VK_SUCCESS;
}

/* ---- images ---- */

static VKAPI_ATTR VkResult VKAPI_CALL CreateImage(VkDevice handle, const VkImageCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator, VkImage *out)
{
    struct chain_device *device = chain_device_of(handle);
    const VkExternalMemoryImageCreateInfo *external =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    VkImageCreateInfo changed = *info;
    struct image *image;
    VkResult result;

    if (!external || !(external->handleTypes & BUFFER_BIT))
        return device->next.CreateImage(handle, info, allocator, out);
    need(info->tiling == VK_IMAGE_TILING_OPTIMAL, "images of buffers are of optimal tiling");
    changed.tiling = VK_IMAGE_TILING_LINEAR;
    changed.pNext = NULL;
    result = device->next.CreateImage(handle, &changed, allocator, out);
    if (result < 0)
        return result;
    image = calloc(1, sizeof *image);
    need(image, "out of memory");
    *image = (struct image){.device = handle, .handle = *out, .info = *info};
    pthread_mutex_lock(&mutex);
    image->next = images;
    images = image;
    pthread_mutex_unlock(&mutex);
    return result;
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

static VKAPI_ATTR VkResult VKAPI_CALL BindImageMemory(VkDevice handle, VkImage image, VkDeviceMemory memory,
                                                      VkDeviceSize offset)
{
    struct chain_device *device = chain_device_of(handle);
    struct image *found = image_of(handle, image);
    VkImageSubresource color = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT};
    const struct kind *kind = kinds;
    VkSubresourceLayout layout;

    if (found) {
        while (kind->is != found->info.format)
            kind++;
        device->next.GetImageSubresourceLayout(handle, image, &color, &layout);
        need(layout.offset == 0 && layout.rowPitch == pitch_of(kind, found->info.extent.width),
             "the driver's rows lie somewhere else than the buffer's");
        found->bound = true;
    }
    return device->next.BindImageMemory(handle, image, memory, offset);
}

static VKAPI_ATTR void VKAPI_CALL GetImageMemoryRequirements(VkDevice handle, VkImage image, VkMemoryRequirements *out)
{
    const struct image *found = image_of(handle, image);
    need(!found || found->bound, "an image of a buffer is asked about its memory before it has any");
    chain_device_of(handle)->next.GetImageMemoryRequirements(handle, image, out);
}

static VKAPI_ATTR void VKAPI_CALL GetImageMemoryRequirements2(VkDevice handle,
                                                              const VkImageMemoryRequirementsInfo2 *info,
                                                              VkMemoryRequirements2 *out)
{
    const struct image *found = image_of(handle, info->image);
    need(!found || found->bound, "an image of a buffer is asked about its memory before it has any");
    chain_device_of(handle)->next.GetImageMemoryRequirements2(handle, info, out);
}

static VKAPI_ATTR void VKAPI_CALL GetImageSubresourceLayout(VkDevice handle, VkImage image,
                                                            const VkImageSubresource *which, VkSubresourceLayout *out)
{
    need(!image_of(handle, image), "an image of optimal tiling is asked where its texels lie");
    chain_device_of(handle)->next.GetImageSubresourceLayout(handle, image, which, out);
}

static const struct chain_function *functions(size_t i)
{
    static const struct chain_function table[] = {
        CHAIN_OWN(EnumerateDeviceExtensionProperties),
        CHAIN_OWN_2(GetPhysicalDeviceImageFormatProperties2),
        CHAIN_OWN_2(GetPhysicalDeviceExternalBufferProperties),
        CHAIN_OWN(GetAndroidHardwareBufferPropertiesANDROID),
        CHAIN_OWN(AllocateMemory),
        CHAIN_OWN(FreeMemory),
        CHAIN_OWN(GetMemoryAndroidHardwareBufferANDROID),
        CHAIN_OWN(CreateImage),
        CHAIN_OWN(DestroyImage),
        CHAIN_OWN(BindImageMemory),
        CHAIN_OWN(GetImageMemoryRequirements),
        CHAIN_OWN_2(GetImageMemoryRequirements2),
        CHAIN_OWN(GetImageSubresourceLayout),
        CHAIN_END,
    };
    return i ? NULL : table;
}

const struct chain_layer chain_layer = {
    .device_bytes = sizeof(struct chain_device), .create_device = create_device, .functions = functions, .adds = true};
