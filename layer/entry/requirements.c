/* SPDX-License-Identifier: MIT */
/* Questions about memory requirements: masks of memory types are those of the types that the program is shown. */
#include "gen_layer.h"
#include "gen_renamed.h"
#include "layer/memory/backing.h"
#include "layer/memory/host_import.h"
#include "layer/submit/full_checks.h"
#include "vulkan/chain.h"

static uint32_t shown(const struct layer_device *dev, uint32_t mask)
{
    return lap_virtual_types_shown_mask(&dev->physical_device->types, mask);
}

static uint32_t shown_to(const struct layer_device *dev, const struct layer_backing_object *object, uint32_t mask)
{
    return layer_backing_shown_types(dev, object->sparse, mask | object->moved_types);
}

static const struct layer_backing_object as_asked;

static const struct layer_backing_object *of_buffer(const struct layer_device *dev, VkBuffer handle)
{
    const struct layer_buffer *buffer = LAYER_GET(dev, VkBuffer, handle);
    return buffer ? &buffer->backing : &as_asked;
}

static const struct layer_backing_object *of_image(const struct layer_device *dev, VkImage handle)
{
    const struct layer_image *image = LAYER_GET(dev, VkImage, handle);
    return image ? &image->backing : &as_asked;
}

static bool is_linear(const struct layer_device *dev, VkImage handle)
{
    const struct layer_image *image = LAYER_GET(dev, VkImage, handle);
    return image && image->info.tiling == VK_IMAGE_TILING_LINEAR;
}

#define RECORD(command, ...)                                                                                           \
    do {                                                                                                               \
        struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vk##command, 0);                                    \
        if (enc) {                                                                                                     \
            gen_encode_vk##command(enc, __VA_ARGS__);                                                                  \
            layer_packet_end();                                                                                        \
        }                                                                                                              \
    } while (0)

VKAPI_ATTR void VKAPI_CALL capture_GetBufferMemoryRequirements(VkDevice device, VkBuffer buffer,
                                                               VkMemoryRequirements *pMemoryRequirements)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    dev->vk.GetBufferMemoryRequirements(device, buffer, pMemoryRequirements);
    pMemoryRequirements->memoryTypeBits = shown_to(dev, of_buffer(dev, buffer), pMemoryRequirements->memoryTypeBits);
    RECORD(GetBufferMemoryRequirements, device, buffer, pMemoryRequirements);
}

VKAPI_ATTR void VKAPI_CALL capture_GetBufferMemoryRequirements2(VkDevice device,
                                                                const VkBufferMemoryRequirementsInfo2 *pInfo,
                                                                VkMemoryRequirements2 *pMemoryRequirements)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkMemoryRequirements *requirements = &pMemoryRequirements->memoryRequirements;
    const struct layer_backing_object *object = of_buffer(dev, pInfo->buffer);
    dev->vk.GetBufferMemoryRequirements2(device, pInfo, pMemoryRequirements);
    layer_backing_prefer_dedicated(dev, object, requirements->memoryTypeBits, pMemoryRequirements->pNext);
    requirements->memoryTypeBits = shown_to(dev, object, requirements->memoryTypeBits);
    RECORD(GetBufferMemoryRequirements2, device, pInfo, pMemoryRequirements);
}

VKAPI_ATTR void VKAPI_CALL capture_GetImageMemoryRequirements(VkDevice device, VkImage image,
                                                              VkMemoryRequirements *pMemoryRequirements)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    dev->vk.GetImageMemoryRequirements(device, image, pMemoryRequirements);
    pMemoryRequirements->memoryTypeBits = shown_to(dev, of_image(dev, image), pMemoryRequirements->memoryTypeBits);
    RECORD(GetImageMemoryRequirements, device, image, pMemoryRequirements);
}

VKAPI_ATTR void VKAPI_CALL capture_GetImageMemoryRequirements2(VkDevice device,
                                                               const VkImageMemoryRequirementsInfo2 *pInfo,
                                                               VkMemoryRequirements2 *pMemoryRequirements)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkMemoryRequirements *requirements = &pMemoryRequirements->memoryRequirements;
    const struct layer_backing_object *object = of_image(dev, pInfo->image);
    dev->vk.GetImageMemoryRequirements2(device, pInfo, pMemoryRequirements);
    if (is_linear(dev, pInfo->image))
        layer_backing_prefer_dedicated(dev, object, requirements->memoryTypeBits, pMemoryRequirements->pNext);
    requirements->memoryTypeBits = shown_to(dev, object, requirements->memoryTypeBits);
    RECORD(GetImageMemoryRequirements2, device, pInfo, pMemoryRequirements);
}

VKAPI_ATTR void VKAPI_CALL capture_GetDeviceBufferMemoryRequirements(VkDevice device,
                                                                     const VkDeviceBufferMemoryRequirements *pInfo,
                                                                     VkMemoryRequirements2 *pMemoryRequirements)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkMemoryRequirements *requirements = &pMemoryRequirements->memoryRequirements;
    /* Of the create info for the driver. */
    VkDeviceBufferMemoryRequirements info = *pInfo;
    struct layer_readable_buffer changed;
    bool readable;
    info.pCreateInfo = layer_verify_all_buffer(pInfo->pCreateInfo, &changed, &readable);
    dev->vk.GetDeviceBufferMemoryRequirements(device, &info, pMemoryRequirements);
    requirements->memoryTypeBits = layer_backing_shown_types(
        dev, pInfo->pCreateInfo->flags & VK_BUFFER_CREATE_SPARSE_BINDING_BIT, requirements->memoryTypeBits);
    RECORD(GetDeviceBufferMemoryRequirements, device, pInfo, pMemoryRequirements);
}

VKAPI_ATTR void VKAPI_CALL capture_GetDeviceImageMemoryRequirements(VkDevice device,
                                                                    const VkDeviceImageMemoryRequirements *pInfo,
                                                                    VkMemoryRequirements2 *pMemoryRequirements)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkMemoryRequirements *requirements = &pMemoryRequirements->memoryRequirements;
    VkDeviceImageMemoryRequirements info = *pInfo;
    VkImageCreateInfo changed;
    bool readable;
    info.pCreateInfo = layer_verify_all_image(dev, pInfo->pCreateInfo, &changed, &readable);
    dev->vk.GetDeviceImageMemoryRequirements(device, &info, pMemoryRequirements);
    requirements->memoryTypeBits = layer_backing_shown_types(
        dev, pInfo->pCreateInfo->flags & VK_IMAGE_CREATE_SPARSE_BINDING_BIT, requirements->memoryTypeBits);
    RECORD(GetDeviceImageMemoryRequirements, device, pInfo, pMemoryRequirements);
}

#ifdef VK_KHR_maintenance5
VKAPI_ATTR void VKAPI_CALL capture_GetDeviceImageSubresourceLayoutKHR(VkDevice device,
                                                                      const VkDeviceImageSubresourceInfoKHR *pInfo,
                                                                      VkSubresourceLayout2KHR *pLayout)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkDeviceImageSubresourceInfoKHR info = *pInfo;
    VkImageCreateInfo changed;
    bool readable;
    info.pCreateInfo = layer_verify_all_image(dev, pInfo->pCreateInfo, &changed, &readable);
    dev->vk.GetDeviceImageSubresourceLayoutKHR(device, &info, pLayout);
    RECORD(GetDeviceImageSubresourceLayoutKHR, device, pInfo, pLayout);
}
#endif

VKAPI_ATTR VkResult VKAPI_CALL capture_GetMemoryFdPropertiesKHR(VkDevice device,
                                                                VkExternalMemoryHandleTypeFlagBits handleType, int fd,
                                                                VkMemoryFdPropertiesKHR *pMemoryFdProperties)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = VK_ERROR_INVALID_EXTERNAL_HANDLE;
    if (layer_shows_memory_types(handleType))
        result = dev->vk.GetMemoryFdPropertiesKHR(device, handleType, fd, pMemoryFdProperties);
    if (result >= 0)
        pMemoryFdProperties->memoryTypeBits = shown(dev, pMemoryFdProperties->memoryTypeBits);
    struct lap_enc *enc =
        layer_packet_begin(&dev->tables, GEN_vkGetMemoryFdPropertiesKHR, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkGetMemoryFdPropertiesKHR(enc, device, handleType, fd, pMemoryFdProperties, result);
        layer_packet_end();
    }
    return result;
}

/* A buffer of a camera or a decoder often has only a format of its own, a number of this driver's. False: it is one. */
static bool has_known_format(const VkAndroidHardwareBufferFormatPropertiesANDROID *format)
{
    return format->format != VK_FORMAT_UNDEFINED || !format->externalFormat;
}

static void refuse_format(uint64_t format)
{
    static _Atomic uint64_t last; /* an app may ask for each picture of a camera */

    if (atomic_exchange(&last, format) == format)
        return;
    lap_log(&layer.log, LAP_LOG_WARNING,
            "the program asks for an AHardwareBuffer of the external format %#llx, which only this driver knows: no "
            "trace can have its contents, so vkGetAndroidHardwareBufferPropertiesANDROID fails",
            (unsigned long long)format);
}

/* Without the numbers of external formats, too: no image is made with one. */
static VkResult ask_buffer(struct layer_device *dev, const struct AHardwareBuffer *buffer,
                           VkAndroidHardwareBufferPropertiesANDROID *out)
{
    VkAndroidHardwareBufferFormatPropertiesANDROID
        own = {.sType = VK_STRUCTURE_TYPE_ANDROID_HARDWARE_BUFFER_FORMAT_PROPERTIES_ANDROID, .pNext = out->pNext},
        *asked = (void *)(uintptr_t)lap_chain_find(out->pNext, own.sType);
    VkAndroidHardwareBufferFormatProperties2ANDROID *asked_2 = (void *)(uintptr_t)lap_chain_find(
        out->pNext, VK_STRUCTURE_TYPE_ANDROID_HARDWARE_BUFFER_FORMAT_PROPERTIES_2_ANDROID);
    VkResult result;

    if (!asked)
        out->pNext = &own;
    result = dev->vk.GetAndroidHardwareBufferPropertiesANDROID(dev->handle, buffer, out);
    out->pNext = asked ? out->pNext : own.pNext;
    asked = asked ? asked : &own;
    if (result >= 0 && !has_known_format(asked)) {
        refuse_format(asked->externalFormat);
        result = VK_ERROR_INVALID_EXTERNAL_HANDLE;
    }
    asked->externalFormat = 0;
    if (asked_2)
        asked_2->externalFormat = 0;
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_GetAndroidHardwareBufferPropertiesANDROID(
    VkDevice device, const struct AHardwareBuffer *buffer, VkAndroidHardwareBufferPropertiesANDROID *pProperties)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = ask_buffer(dev, buffer, pProperties);
    if (result >= 0)
        pProperties->memoryTypeBits = shown(dev, pProperties->memoryTypeBits);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkGetAndroidHardwareBufferPropertiesANDROID,
                                             result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkGetAndroidHardwareBufferPropertiesANDROID(enc, device, buffer, pProperties, result);
        layer_packet_end();
    }
    return result;
}

/* Pages of the host can be memory of no other type; where types are split, a part of one without the property is shown
 * beside it. */
static uint32_t host_visible(const struct layer_device *dev, uint32_t mask)
{
    const struct lap_virtual_types *types = &dev->physical_device->types;
    for (uint32_t i = 0; i < types->shown_count; i++)
        if (!(types->shown[i].flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT))
            mask &= ~(UINT32_C(1) << i);
    return mask;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_GetMemoryHostPointerPropertiesEXT(
    VkDevice device, VkExternalMemoryHandleTypeFlagBits handleType, const void *pHostPointer,
    VkMemoryHostPointerPropertiesEXT *pMemoryHostPointerProperties)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = VK_ERROR_INVALID_EXTERNAL_HANDLE;
    if (!(handleType & ~LAYER_IMPORT_HANDLE_TYPES))
        result =
            dev->vk.GetMemoryHostPointerPropertiesEXT(device, handleType, pHostPointer, pMemoryHostPointerProperties);
    if (result >= 0)
        pMemoryHostPointerProperties->memoryTypeBits =
            host_visible(dev, shown(dev, pMemoryHostPointerProperties->memoryTypeBits));
    struct lap_enc *enc =
        layer_packet_begin(&dev->tables, GEN_vkGetMemoryHostPointerPropertiesEXT, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkGetMemoryHostPointerPropertiesEXT(enc, device, handleType, pHostPointer,
                                                       pMemoryHostPointerProperties, result);
        layer_packet_end();
    }
    return result;
}
