/* SPDX-License-Identifier: MIT */
/* What the driver answers: plausible numbers, memory that is there, everything supported. */
#include "tests/fuzz/driver.h"
#include "tests/fuzz/driver_video.h"
#include "vulkan/queue_kinds.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gen_decode.h"
#include "gen_reflect.h"

#define MAX_MEMORY_BYTES ((uint64_t)16 << 20) /* of one allocation */
#define MAX_OBJECTS      (1u << 20)
#define ALIGNMENT        256u
#define ALL_TYPES        7u
#define ADDRESS_BITS     32u /* of places in one buffer: more than a pointer of 32 bits has */

/* ---- physical devices ---- */

/* Queue families: the last one codes video. */
#define FAMILIES     3u
#define VIDEO_FAMILY 2u

static void fill_features(VkBaseOutStructure *chain)
{
    for (; chain; chain = chain->pNext) {
        const struct gen_struct_info *info = &gen_struct_infos[gen_struct_of_type(chain->sType)];
        for (uint32_t i = 0; info->features && i < info->member_count; i++)
            if (info->members[i].element == GEN_ELEMENT_BOOL)
                memcpy((char *)chain + info->members[i].offset, &(VkBool32){VK_TRUE}, sizeof(VkBool32));
    }
}

static void fill_limits(VkPhysicalDeviceProperties *out)
{
    VkPhysicalDeviceLimits *limits = &out->limits;

    *out = (VkPhysicalDeviceProperties){.apiVersion = VK_API_VERSION_1_3, .deviceType = VK_PHYSICAL_DEVICE_TYPE_OTHER};
    strcpy(out->deviceName, "nothing");
    limits->maxImageDimension1D = limits->maxImageDimension2D = limits->maxImageDimensionCube = 16384;
    limits->maxImageDimension3D = limits->maxImageArrayLayers = 2048;
    limits->maxMemoryAllocationCount = 4096;
    limits->bufferImageGranularity = limits->nonCoherentAtomSize = 64;
    limits->sparseAddressSpaceSize = UINT64_C(1) << 40;
    limits->maxPushConstantsSize = 256;
    limits->maxBoundDescriptorSets = 8;
    limits->minMemoryMapAlignment = 64;
    limits->minTexelBufferOffsetAlignment = limits->minUniformBufferOffsetAlignment = 16;
    limits->minStorageBufferOffsetAlignment = limits->optimalBufferCopyOffsetAlignment = 16;
    limits->optimalBufferCopyRowPitchAlignment = 1;
    limits->timestampPeriod = 1;
}

static void fill_family(VkQueueFamilyProperties *out, uint32_t number)
{
    *out = (VkQueueFamilyProperties){.queueFlags = VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT,
                                     .queueCount = 16,
                                     .timestampValidBits = 64,
                                     .minImageTransferGranularity = {1, 1, 1}};
    if (number == 0)
        out->queueFlags |= VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    if (number == VIDEO_FAMILY)
        out->queueFlags |= LAP_QUEUE_VIDEO_DECODE | LAP_QUEUE_VIDEO_ENCODE;
}

static void fill_memory(VkPhysicalDeviceMemoryProperties *out)
{
    *out = (VkPhysicalDeviceMemoryProperties){.memoryTypeCount = 3, .memoryHeapCount = 1};
    out->memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    out->memoryTypes[1].propertyFlags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    out->memoryTypes[2].propertyFlags =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    out->memoryHeaps[0] = (VkMemoryHeap){UINT64_C(1) << 34, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
}

static void fill_image_format(VkImageFormatProperties *out)
{
    *out = (VkImageFormatProperties){{16384, 16384, 2048}, 15, 2048, 0x7f, UINT64_C(1) << 32};
}

/* How many there are, or the first of them: `put` fills in one. */
static uint64_t list(uint32_t *count, void *out, size_t element_bytes, uint32_t there, void (*put)(void *, uint32_t))
{
    uint32_t given = out && *count < there ? *count : there;

    for (uint32_t i = 0; out && i < given; i++)
        put((char *)out + i * element_bytes, i);
    *count = given;
    return given < there ? VK_INCOMPLETE : VK_SUCCESS;
}

static void put_family(void *out, uint32_t number)
{
    fill_family(out, number);
}
static void put_family2(void *out, uint32_t number)
{
    fill_family(&((VkQueueFamilyProperties2 *)out)->queueFamilyProperties, number);
    driver_fill_video_family(out);
}

static bool list_devices; /* extensions of devices, else of instances */

static void put_extension(void *out, uint32_t number)
{
    VkExtensionProperties *properties = out;

    for (uint32_t i = 0; i < GEN_EXTENSION_COUNT; i++)
        if (gen_extensions[i].device == list_devices && number-- == 0) {
            memset(properties, 0, sizeof *properties);
            strncpy(properties->extensionName, gen_extensions[i].name, VK_MAX_EXTENSION_NAME_SIZE - 1);
            properties->specVersion = 1;
            return;
        }
}

static uint64_t list_extensions(uint32_t *count, VkExtensionProperties *out, bool of_devices)
{
    uint32_t there = 0;

    list_devices = of_devices;
    for (uint32_t i = 0; i < GEN_EXTENSION_COUNT; i++)
        there += gen_extensions[i].device == of_devices;
    return list(count, out, sizeof *out, there, put_extension);
}

static uint64_t enumerate_gpus(const struct gen_args_vkEnumeratePhysicalDevices *args)
{
    uint64_t handle = 0, found = 0;
    size_t at = 0;

    for (struct driver_object *o; (o = driver_object_next(&at, &handle)) != NULL;)
        if (o->type == GEN_HANDLE_VkPhysicalDevice && o->device == gen_u64_VkInstance(args->instance))
            found = handle;
    if (!found)
        found = driver_object_new(GEN_HANDLE_VkPhysicalDevice, gen_u64_VkInstance(args->instance));
    if (args->pPhysicalDevices && *args->pPhysicalDeviceCount)
        args->pPhysicalDevices[0] = gen_VkPhysicalDevice(found);
    *args->pPhysicalDeviceCount = 1;
    return VK_SUCCESS;
}

/* Questions about a physical device and the instance; false: it is none of these. */
static bool answer_gpu(uint32_t command, void *args, uint64_t *out)
{
    *out = VK_SUCCESS;
    switch (command) {
    case GEN_vkEnumerateInstanceVersion:
        *((struct gen_args_vkEnumerateInstanceVersion *)args)->pApiVersion = VK_API_VERSION_1_3;
        return true;
    case GEN_vkEnumerateInstanceLayerProperties:
        *((struct gen_args_vkEnumerateInstanceLayerProperties *)args)->pPropertyCount = 0;
        return true;
    case GEN_vkEnumerateDeviceLayerProperties:
        *((struct gen_args_vkEnumerateDeviceLayerProperties *)args)->pPropertyCount = 0;
        return true;
    case GEN_vkEnumerateInstanceExtensionProperties: {
        struct gen_args_vkEnumerateInstanceExtensionProperties *a = args;
        *out = list_extensions(a->pPropertyCount, a->pProperties, false);
        return true;
    }
    case GEN_vkEnumerateDeviceExtensionProperties: {
        struct gen_args_vkEnumerateDeviceExtensionProperties *a = args;
        *out = list_extensions(a->pPropertyCount, a->pProperties, true);
        return true;
    }
    case GEN_vkEnumeratePhysicalDevices:
        *out = enumerate_gpus(args);
        return true;
    case GEN_vkEnumeratePhysicalDeviceGroups:
        *((struct gen_args_vkEnumeratePhysicalDeviceGroups *)args)->pPhysicalDeviceGroupCount = 0;
        return true;
    case GEN_vkGetPhysicalDeviceProperties:
        fill_limits(((struct gen_args_vkGetPhysicalDeviceProperties *)args)->pProperties);
        return true;
    case GEN_vkGetPhysicalDeviceProperties2:
        fill_limits(&((struct gen_args_vkGetPhysicalDeviceProperties2 *)args)->pProperties->properties);
        return true;
    case GEN_vkGetPhysicalDeviceFeatures: {
        VkPhysicalDeviceFeatures *features = ((struct gen_args_vkGetPhysicalDeviceFeatures *)args)->pFeatures;
        for (size_t i = 0; i < sizeof *features / sizeof(VkBool32); i++)
            ((VkBool32 *)features)[i] = VK_TRUE;
        return true;
    }
    case GEN_vkGetPhysicalDeviceFeatures2: {
        VkPhysicalDeviceFeatures2 *features = ((struct gen_args_vkGetPhysicalDeviceFeatures2 *)args)->pFeatures;
        for (size_t i = 0; i < sizeof features->features / sizeof(VkBool32); i++)
            ((VkBool32 *)&features->features)[i] = VK_TRUE;
        fill_features(features->pNext);
        return true;
    }
    case GEN_vkGetPhysicalDeviceMemoryProperties:
        fill_memory(((struct gen_args_vkGetPhysicalDeviceMemoryProperties *)args)->pMemoryProperties);
        return true;
    case GEN_vkGetPhysicalDeviceMemoryProperties2:
        fill_memory(
            &((struct gen_args_vkGetPhysicalDeviceMemoryProperties2 *)args)->pMemoryProperties->memoryProperties);
        return true;
    case GEN_vkGetPhysicalDeviceQueueFamilyProperties: {
        struct gen_args_vkGetPhysicalDeviceQueueFamilyProperties *a = args;
        (void)list(a->pQueueFamilyPropertyCount, a->pQueueFamilyProperties, sizeof *a->pQueueFamilyProperties, FAMILIES,
                   put_family);
        return true;
    }
    case GEN_vkGetPhysicalDeviceQueueFamilyProperties2: {
        struct gen_args_vkGetPhysicalDeviceQueueFamilyProperties2 *a = args;
        (void)list(a->pQueueFamilyPropertyCount, a->pQueueFamilyProperties, sizeof *a->pQueueFamilyProperties, FAMILIES,
                   put_family2);
        return true;
    }
    case GEN_vkGetPhysicalDeviceFormatProperties:
        *((struct gen_args_vkGetPhysicalDeviceFormatProperties *)args)->pFormatProperties =
            (VkFormatProperties){0x1ffffff, 0x1ffffff, 0x1ffffff};
        return true;
    case GEN_vkGetPhysicalDeviceFormatProperties2:
        ((struct gen_args_vkGetPhysicalDeviceFormatProperties2 *)args)->pFormatProperties->formatProperties =
            (VkFormatProperties){0x1ffffff, 0x1ffffff, 0x1ffffff};
        return true;
    case GEN_vkGetPhysicalDeviceImageFormatProperties:
        fill_image_format(((struct gen_args_vkGetPhysicalDeviceImageFormatProperties *)args)->pImageFormatProperties);
        return true;
    case GEN_vkGetPhysicalDeviceImageFormatProperties2:
        fill_image_format(&((struct gen_args_vkGetPhysicalDeviceImageFormatProperties2 *)args)
                               ->pImageFormatProperties->imageFormatProperties);
        return true;
    case GEN_vkGetPhysicalDeviceSparseImageFormatProperties:
        *((struct gen_args_vkGetPhysicalDeviceSparseImageFormatProperties *)args)->pPropertyCount = 0;
        return true;
    case GEN_vkGetPhysicalDeviceSparseImageFormatProperties2:
        *((struct gen_args_vkGetPhysicalDeviceSparseImageFormatProperties2 *)args)->pPropertyCount = 0;
        return true;
    default:
        return false;
    }
}

/* ---- memory ---- */

static VkMemoryRequirements needs(uint64_t bytes)
{
    return (VkMemoryRequirements){bytes > UINT64_MAX - ALIGNMENT ? bytes
                                                                 : (bytes + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1),
                                  ALIGNMENT, ALL_TYPES};
}

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) || product > UINT64_C(1) << 50 ? UINT64_C(1) << 50 : product;
}

/* Rows of 16 bytes a texel, one level behind the other as large as the first: room for every format. */
static uint64_t level_bytes(const struct driver_object *image)
{
    return times(times(times(image->width, 16), image->height), image->depth);
}

static uint64_t image_bytes(const VkImageCreateInfo *info, struct driver_object *image)
{
    *image = (struct driver_object){.type = image->type,
                                    .alive = image->alive,
                                    .device = image->device,
                                    .width = info->extent.width,
                                    .height = info->extent.height,
                                    .depth = info->extent.depth,
                                    .levels = info->mipLevels,
                                    .layers = info->arrayLayers};
    return image->bytes =
               times(times(times(level_bytes(image), info->mipLevels), info->arrayLayers), (uint32_t)info->samples);
}

static uint64_t map(uint64_t memory, uint64_t offset, void **out)
{
    struct driver_object *object = driver_object(GEN_HANDLE_VkDeviceMemory, memory);

    if (offset > object->bytes)
        driver_problem("mapped behind its end");
    *out = (char *)object->data + offset;
    return VK_SUCCESS;
}

static VkSubresourceLayout layout_of(uint64_t handle, const VkImageSubresource *part)
{
    const struct driver_object *image = driver_object(GEN_HANDLE_VkImage, handle);
    uint64_t level = level_bytes(image);

    if (part->mipLevel >= image->levels || part->arrayLayer >= image->layers)
        driver_problem("asks for level %u and layer %u of an image with %u and %u", part->mipLevel, part->arrayLayer,
                       image->levels, image->layers);
    return (VkSubresourceLayout){.offset = times(level, (uint64_t)part->arrayLayer * image->levels + part->mipLevel),
                                 .size = level,
                                 .rowPitch = times(image->width, 16),
                                 .arrayPitch = times(level, image->levels),
                                 .depthPitch = times(times(image->width, 16), image->height)};
}

static bool answer_memory(uint32_t command, void *args, uint64_t *out)
{
    *out = VK_SUCCESS;
    switch (command) {
    case GEN_vkGetBufferMemoryRequirements: {
        struct gen_args_vkGetBufferMemoryRequirements *a = args;
        *a->pMemoryRequirements = needs(driver_object(GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(a->buffer))->bytes);
        return true;
    }
    case GEN_vkGetBufferMemoryRequirements2: {
        struct gen_args_vkGetBufferMemoryRequirements2 *a = args;
        a->pMemoryRequirements->memoryRequirements =
            needs(driver_object(GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(a->pInfo->buffer))->bytes);
        return true;
    }
    case GEN_vkGetImageMemoryRequirements: {
        struct gen_args_vkGetImageMemoryRequirements *a = args;
        *a->pMemoryRequirements = needs(driver_object(GEN_HANDLE_VkImage, gen_u64_VkImage(a->image))->bytes);
        return true;
    }
    case GEN_vkGetImageMemoryRequirements2: {
        struct gen_args_vkGetImageMemoryRequirements2 *a = args;
        a->pMemoryRequirements->memoryRequirements =
            needs(driver_object(GEN_HANDLE_VkImage, gen_u64_VkImage(a->pInfo->image))->bytes);
        return true;
    }
    case GEN_vkGetDeviceBufferMemoryRequirements: {
        struct gen_args_vkGetDeviceBufferMemoryRequirements *a = args;
        a->pMemoryRequirements->memoryRequirements = needs(a->pInfo->pCreateInfo->size);
        return true;
    }
    case GEN_vkGetDeviceImageMemoryRequirements: {
        struct gen_args_vkGetDeviceImageMemoryRequirements *a = args;
        struct driver_object image = {.type = GEN_HANDLE_VkImage};
        a->pMemoryRequirements->memoryRequirements = needs(image_bytes(a->pInfo->pCreateInfo, &image));
        return true;
    }
    case GEN_vkGetImageSparseMemoryRequirements:
        *((struct gen_args_vkGetImageSparseMemoryRequirements *)args)->pSparseMemoryRequirementCount = 0;
        return true;
    case GEN_vkGetImageSparseMemoryRequirements2:
        *((struct gen_args_vkGetImageSparseMemoryRequirements2 *)args)->pSparseMemoryRequirementCount = 0;
        return true;
    case GEN_vkMapMemory: {
        struct gen_args_vkMapMemory *a = args;
        *out = map(gen_u64_VkDeviceMemory(a->memory), a->offset, a->ppData);
        return true;
    }
    case GEN_vkGetImageSubresourceLayout: {
        struct gen_args_vkGetImageSubresourceLayout *a = args;
        *a->pLayout = layout_of(gen_u64_VkImage(a->image), a->pSubresource);
        return true;
    }
    case GEN_vkGetBufferDeviceAddress:
        *out = driver_object_number(gen_u64_VkBuffer(((struct gen_args_vkGetBufferDeviceAddress *)args)->pInfo->buffer))
               << ADDRESS_BITS;
        return true;
    default:
        return false;
    }
}

/* ---- objects ---- */

static uint64_t get_queue(uint64_t device, uint32_t family, uint32_t number, VkQueue *out)
{
    uint64_t handle = 0;
    size_t at = 0;

    for (struct driver_object *o; (o = driver_object_next(&at, &handle)) != NULL;)
        if (o->type == GEN_HANDLE_VkQueue && o->device == device && o->family == family && o->number == number) {
            *out = gen_VkQueue(handle);
            return 0;
        }
    handle = driver_object_new(GEN_HANDLE_VkQueue, device);
    driver_object(GEN_HANDLE_VkQueue, handle)->family = family;
    driver_object(GEN_HANDLE_VkQueue, handle)->number = number;
    driver_object(GEN_HANDLE_VkQueue, handle)->pool = device;
    *out = gen_VkQueue(handle);
    return 0;
}

/* What is kept of a new object; false: there is no memory for it. */
static bool note(uint32_t command, const void *args, uint64_t handle)
{
    struct driver_object *object;

    switch (command) {
    case GEN_vkCreateBuffer:
        object = driver_object(GEN_HANDLE_VkBuffer, handle);
        object->bytes = ((const struct gen_args_vkCreateBuffer *)args)->pCreateInfo->size;
        return true;
    case GEN_vkCreateImage:
        object = driver_object(GEN_HANDLE_VkImage, handle);
        (void)image_bytes(((const struct gen_args_vkCreateImage *)args)->pCreateInfo, object);
        return true;
    case GEN_vkAllocateMemory:
        object = driver_object(GEN_HANDLE_VkDeviceMemory, handle);
        object->bytes = ((const struct gen_args_vkAllocateMemory *)args)->pAllocateInfo->allocationSize;
        object->data = object->bytes <= MAX_MEMORY_BYTES ? calloc(1, object->bytes + 1) : NULL;
        return object->data != NULL;
    case GEN_vkCreateFence:
        driver_object(GEN_HANDLE_VkFence, handle)->signalled =
            ((const struct gen_args_vkCreateFence *)args)->pCreateInfo->flags & VK_FENCE_CREATE_SIGNALED_BIT;
        return true;
    case GEN_vkAllocateCommandBuffers:
        driver_object(GEN_HANDLE_VkCommandBuffer, handle)->pool =
            gen_u64_VkCommandPool(((const struct gen_args_vkAllocateCommandBuffers *)args)->pAllocateInfo->commandPool);
        return true;
    case GEN_vkAllocateDescriptorSets:
        driver_object(GEN_HANDLE_VkDescriptorSet, handle)->pool = gen_u64_VkDescriptorPool(
            ((const struct gen_args_vkAllocateDescriptorSets *)args)->pAllocateInfo->descriptorPool);
        return true;
    default:
        return true;
    }
}

static uint64_t count_of(const struct gen_command_info *info, const struct gen_member *member, const void *args)
{
    const struct gen_member *counter = info->members + member->count_member;
    uint64_t value = 0;

    if (member->count_kind == GEN_COUNT_COMPUTE)
        return member->compute(args, 0);
    if (member->count_kind != GEN_COUNT_MEMBER)
        return member->count;
    memcpy(&value, (const char *)args + counter->offset, counter->element_bytes);
    return value;
}

static void end_owned(uint64_t owner)
{
    uint64_t handle;
    size_t at = 0;

    for (struct driver_object *o; (o = driver_object_next(&at, &handle)) != NULL;)
        if (o->device == owner)
            driver_object_end(o->type, handle);
}

/* What a replay that ended early leaves goes with the device. */
static void end(const struct gen_member *member, const void *at)
{
    uint64_t handle = driver_load_handle(member, at);

    if (member->type == GEN_HANDLE_VkDevice || member->type == GEN_HANDLE_VkInstance)
        end_owned(handle);
    driver_object_end(member->type, handle);
}

/* False: there is no room for it. */
static bool make(uint32_t command, const void *args, const struct gen_member *member, void *at, uint64_t owner)
{
    uint64_t handle = driver_object_new(member->type, owner);
    bool made = note(command, args, handle) && driver_object_number(handle) <= MAX_OBJECTS;

    if (!made)
        driver_object_end(member->type, handle);
    driver_store_handle(member, at, made ? handle : 0);
    return made;
}

/* Makes, or ends, what a call makes or ends. */
static uint64_t change(uint32_t command, void *args, uint64_t owner)
{
    const struct gen_command_info *info = &gen_command_infos[command];

    for (uint32_t i = 0; i < info->member_count; i++) {
        const struct gen_member *member = &info->members[i];
        char *place = (char *)args + member->offset, *first = place;
        uint64_t count = 1;
        if (!(member->flags & (GEN_MEMBER_CREATED | GEN_MEMBER_DESTROYED)))
            continue;
        if (member->shape != GEN_SHAPE_VALUE) {
            count = count_of(info, member, args);
            memcpy(&first, place, sizeof first);
        }
        for (uint64_t j = 0; first && j < count; j++) {
            char *at = first + j * member->element_bytes;
            if (member->flags & GEN_MEMBER_DESTROYED)
                end(member, at);
            else if (!make(command, args, member, at, owner))
                return (uint64_t)VK_ERROR_OUT_OF_DEVICE_MEMORY;
        }
    }
    return VK_SUCCESS;
}

/* Ends what is of a pool, which stays. */
static void empty_pool(uint64_t pool)
{
    uint64_t handle;
    size_t at = 0;

    for (struct driver_object *o; (o = driver_object_next(&at, &handle)) != NULL;)
        if (o->pool == pool)
            driver_object_end(o->type, handle);
}

/* ---- work ---- */

#define ASKED 3u /* then a fence is signalled that nobody waits for */

static uint64_t last_work;

/* All up to it is over on the queue. */
static void let_be_over(uint64_t queue, uint64_t work)
{
    struct driver_object *object = driver_object(GEN_HANDLE_VkQueue, queue);

    object->work = work > object->work ? work : object->work;
}

static void let_all_be_over(uint64_t device)
{
    uint64_t handle;
    size_t at = 0;

    for (struct driver_object *o; (o = driver_object_next(&at, &handle)) != NULL;)
        if (o->type == GEN_HANDLE_VkQueue && o->device == device)
            o->work = last_work;
}

static bool is_signalled(struct driver_object *fence)
{
    if (fence->work && !driver_is_under_way(fence)) {
        fence->signalled = true;
        fence->work = 0;
    }
    return fence->signalled;
}

/* In the place of a queue's family: what a device's sparse binds are on. No other work waits for them. */
#define BINDS UINT32_MAX

static uint64_t binds_of(uint64_t device)
{
    uint64_t handle;
    size_t at = 0;

    for (struct driver_object *o; (o = driver_object_next(&at, &handle)) != NULL;)
        if (o->type == GEN_HANDLE_VkQueue && o->device == device && o->family == BINDS)
            return handle;
    handle = driver_object_new(GEN_HANDLE_VkQueue, device);
    driver_object(GEN_HANDLE_VkQueue, handle)->family = BINDS;
    return handle;
}

static void give(uint64_t queue, VkFence fence)
{
    struct driver_object *object = driver_object(GEN_HANDLE_VkFence, gen_u64_VkFence(fence));

    last_work++;
    if (!object)
        return;
    if (is_signalled(object))
        return; /* it tells of nothing: a replay does not look whether it is under way */
    if (object->work)
        driver_problem("a fence is given that is under way");
    object->queue = queue;
    object->work = last_work;
    object->asked = 0;
}

static uint64_t submit(const struct gen_args_vkQueueSubmit *args)
{
    give(gen_u64_VkQueue(args->queue), args->fence);
    for (uint32_t i = 0; i < args->submitCount; i++)
        for (uint32_t j = 0; j < args->pSubmits[i].commandBufferCount; j++)
            driver_work(gen_u64_VkCommandBuffer(args->pSubmits[i].pCommandBuffers[j]), gen_u64_VkQueue(args->queue),
                        last_work);
    return VK_SUCCESS;
}

static uint64_t submit2(const struct gen_args_vkQueueSubmit2 *args)
{
    give(gen_u64_VkQueue(args->queue), args->fence);
    for (uint32_t i = 0; i < args->submitCount; i++)
        for (uint32_t j = 0; j < args->pSubmits[i].commandBufferInfoCount; j++)
            driver_work(gen_u64_VkCommandBuffer(args->pSubmits[i].pCommandBufferInfos[j].commandBuffer),
                        gen_u64_VkQueue(args->queue), last_work);
    return VK_SUCCESS;
}

static void bind_one(const VkBindSparseInfo *info, uint64_t queue)
{
    for (uint32_t i = 0; i < info->bufferBindCount; i++) {
        const VkSparseBufferMemoryBindInfo *bind = &info->pBufferBinds[i];
        driver_work(gen_u64_VkBuffer(bind->buffer), queue, last_work);
        for (uint32_t j = 0; j < bind->bindCount; j++)
            driver_work(gen_u64_VkDeviceMemory(bind->pBinds[j].memory), queue, last_work);
    }
    for (uint32_t i = 0; i < info->imageOpaqueBindCount; i++) {
        const VkSparseImageOpaqueMemoryBindInfo *bind = &info->pImageOpaqueBinds[i];
        driver_work(gen_u64_VkImage(bind->image), queue, last_work);
        for (uint32_t j = 0; j < bind->bindCount; j++)
            driver_work(gen_u64_VkDeviceMemory(bind->pBinds[j].memory), queue, last_work);
    }
    for (uint32_t i = 0; i < info->imageBindCount; i++) {
        const VkSparseImageMemoryBindInfo *bind = &info->pImageBinds[i];
        driver_work(gen_u64_VkImage(bind->image), queue, last_work);
        for (uint32_t j = 0; j < bind->bindCount; j++)
            driver_work(gen_u64_VkDeviceMemory(bind->pBinds[j].memory), queue, last_work);
    }
}

static uint64_t bind_sparse(const struct gen_args_vkQueueBindSparse *args, uint64_t device)
{
    uint64_t queue = binds_of(device);

    give(queue, args->fence);
    for (uint32_t i = 0; i < args->bindInfoCount; i++)
        bind_one(&args->pBindInfo[i], queue);
    return VK_SUCCESS;
}

static uint64_t ask(VkFence handle)
{
    struct driver_object *fence = driver_object(GEN_HANDLE_VkFence, gen_u64_VkFence(handle));

    if (!is_signalled(fence) && fence->work && ++fence->asked == ASKED)
        let_be_over(fence->queue, fence->work);
    return is_signalled(fence) ? VK_SUCCESS : VK_NOT_READY;
}

/* One that nothing signals is waited for in vain: nobody wants that. */
static uint64_t wait(const struct gen_args_vkWaitForFences *args)
{
    for (uint32_t i = 0; i < args->fenceCount; i++) {
        struct driver_object *fence = driver_object(GEN_HANDLE_VkFence, gen_u64_VkFence(args->pFences[i]));
        if (fence->work)
            let_be_over(fence->queue, fence->work);
    }
    return VK_SUCCESS;
}

static uint64_t reset(const struct gen_args_vkResetFences *args)
{
    for (uint32_t i = 0; i < args->fenceCount; i++) {
        struct driver_object *fence = driver_object(GEN_HANDLE_VkFence, gen_u64_VkFence(args->pFences[i]));
        if (!is_signalled(fence) && fence->work)
            driver_problem("a fence is reset that is under way");
        fence->signalled = false;
    }
    return VK_SUCCESS;
}

/* Its command buffers are recorded no more. */
static void reset_pool(uint64_t pool)
{
    uint64_t handle;
    size_t at = 0;

    for (struct driver_object *o; (o = driver_object_next(&at, &handle)) != NULL;)
        if (o->pool == pool) {
            driver_idle(o->type, handle);
            o->name_count = 0;
        }
}

static void reset_commands(VkCommandBuffer commands)
{
    driver_idle(GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(commands));
    driver_object(GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(commands))->name_count = 0;
}

static bool answer_work(uint32_t command, void *args, uint64_t owner, uint64_t *out)
{
    *out = VK_SUCCESS;
    switch (command) {
    case GEN_vkQueueSubmit:
        *out = submit(args);
        return true;
    case GEN_vkQueueSubmit2:
        *out = submit2(args);
        return true;
    case GEN_vkQueueBindSparse:
        *out = bind_sparse(args, owner);
        return true;
    case GEN_vkGetFenceStatus:
        *out = ask(((struct gen_args_vkGetFenceStatus *)args)->fence);
        return true;
    case GEN_vkWaitForFences:
        *out = wait(args);
        return true;
    case GEN_vkResetFences:
        *out = reset(args);
        return true;
    case GEN_vkQueueWaitIdle:
        let_be_over(gen_u64_VkQueue(((struct gen_args_vkQueueWaitIdle *)args)->queue), last_work);
        return true;
    case GEN_vkDeviceWaitIdle:
        let_all_be_over(owner);
        return true;
    case GEN_vkBeginCommandBuffer:
        reset_commands(((struct gen_args_vkBeginCommandBuffer *)args)->commandBuffer);
        return true;
    case GEN_vkResetCommandBuffer:
        reset_commands(((struct gen_args_vkResetCommandBuffer *)args)->commandBuffer);
        return true;
    case GEN_vkResetQueryPool:
        driver_idle(GEN_HANDLE_VkQueryPool, gen_u64_VkQueryPool(((struct gen_args_vkResetQueryPool *)args)->queryPool));
        return true;
    case GEN_vkResetCommandPool:
        reset_pool(gen_u64_VkCommandPool(((struct gen_args_vkResetCommandPool *)args)->commandPool));
        return true;
    default:
        return false;
    }
}

static uint64_t answer(uint32_t command, void *args)
{
    uint64_t result, owner;

    driver_check(command, args);
    owner = driver_owner(command, args);
    if (answer_gpu(command, args, &result) || answer_memory(command, args, &result) ||
        driver_answer_video(command, args, &result) || answer_work(command, args, owner, &result))
        return result;
    switch (command) {
    case GEN_vkGetInstanceProcAddr: {
        struct gen_args_vkGetInstanceProcAddr *a = args;
        return (uint64_t)(uintptr_t)driver_get_instance_proc_addr(a->instance, a->pName);
    }
    case GEN_vkGetDeviceProcAddr: {
        struct gen_args_vkGetDeviceProcAddr *a = args;
        return (uint64_t)(uintptr_t)driver_get_instance_proc_addr(NULL, a->pName);
    }
    case GEN_vkGetDeviceQueue: {
        struct gen_args_vkGetDeviceQueue *a = args;
        return get_queue(owner, a->queueFamilyIndex, a->queueIndex, a->pQueue);
    }
    case GEN_vkGetDeviceQueue2: {
        struct gen_args_vkGetDeviceQueue2 *a = args;
        return get_queue(owner, a->pQueueInfo->queueFamilyIndex, a->pQueueInfo->queueIndex, a->pQueue);
    }
    case GEN_vkResetDescriptorPool:
        empty_pool(gen_u64_VkDescriptorPool(((struct gen_args_vkResetDescriptorPool *)args)->descriptorPool));
        return VK_SUCCESS;
    case GEN_vkGetEventStatus:
        return VK_EVENT_SET;
    case GEN_vkGetSemaphoreCounterValue:
        *((struct gen_args_vkGetSemaphoreCounterValue *)args)->pValue = UINT64_C(1) << 62;
        return VK_SUCCESS;
    case GEN_vkGetQueryPoolResults: {
        struct gen_args_vkGetQueryPoolResults *a = args;
        memset(a->pData, 0, a->dataSize);
        return VK_SUCCESS;
    }
    default:
        return change(command, args, command == GEN_vkCreateInstance ? 0 : owner);
    }
}

uint64_t driver_call(uint32_t command, void *args)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    uint64_t result;

    pthread_mutex_lock(&one_at_a_time);
    result = answer(command, args);
    pthread_mutex_unlock(&one_at_a_time);
    return result;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct driver_function *)a)->name, ((const struct driver_function *)b)->name);
}

PFN_vkVoidFunction VKAPI_CALL driver_get_instance_proc_addr(VkInstance instance, const char *name)
{
    static bool sorted;
    struct driver_function wanted = {.name = name}, *found;

    if (!sorted) {
        qsort(driver_functions, driver_function_count, sizeof wanted, by_name);
        sorted = true;
    }
    found = bsearch(&wanted, driver_functions, driver_function_count, sizeof wanted, by_name);
    return found ? found->function : NULL;
}
