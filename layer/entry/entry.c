/* SPDX-License-Identifier: MIT */
/*
 * entry: the entry points for the loader. Interface version 2: one exported negotiate function returns the others; the
 * remaining exports are for Android's loader (layers_extensions.cpp).
 *
 * While the layer is not armed only the two chains (instance and device creation) are intercepted, because the loader's
 * chain elements must be advanced; everything else goes straight to the next layer.
 */
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "gen_decode.h"
#include "gen_layer.h"
#include "include/lapilli.h"
#include "layer/core/extensions.h"
#include "layer/memory/backing.h"
#include "layer/part/part.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *pVersionStruct);
EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char *pName);
EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice device, const char *pName);
EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkEnumerateInstanceLayerProperties(uint32_t *pPropertyCount,
                                                                         VkLayerProperties *pProperties);
EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkEnumerateDeviceLayerProperties(VkPhysicalDevice physicalDevice,
                                                                       uint32_t *pPropertyCount,
                                                                       VkLayerProperties *pProperties);
EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkEnumerateInstanceExtensionProperties(const char *pLayerName,
                                                                             uint32_t *pPropertyCount,
                                                                             VkExtensionProperties *pProperties);
EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkEnumerateDeviceExtensionProperties(VkPhysicalDevice physicalDevice,
                                                                           const char *pLayerName,
                                                                           uint32_t *pPropertyCount,
                                                                           VkExtensionProperties *pProperties);

/* Also in the manifest, so that the loader does not query drivers for them. */
static const VkExtensionProperties own_device_extensions[] = {
    {VK_EXT_TOOLING_INFO_EXTENSION_NAME, VK_EXT_TOOLING_INFO_SPEC_VERSION},
#ifdef VK_EXT_frame_boundary
    {VK_EXT_FRAME_BOUNDARY_EXTENSION_NAME, VK_EXT_FRAME_BOUNDARY_SPEC_VERSION},
#endif
};

#define OWN_COUNT (sizeof own_device_extensions / sizeof *own_device_extensions)

static bool has_extension(const VkExtensionProperties *extensions, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(extensions[i].extensionName, name) == 0)
            return true;
    return false;
}

static bool is_own_name(const char *name)
{
    return name && strcmp(name, LAPILLI_LAYER_NAME) == 0;
}

/* The two-call idiom: VK_INCOMPLETE when there is less room than there are elements. */
static VkResult give(const void *from, uint32_t have, size_t bytes, uint32_t *count, void *to)
{
    uint32_t room = *count;
    if (!to) {
        *count = have;
        return VK_SUCCESS;
    }
    *count = room < have ? room : have;
    if (*count)
        memcpy(to, from, *count * bytes);
    return *count < have ? VK_INCOMPLETE : VK_SUCCESS;
}

static VkResult give_own_layer(uint32_t *count, VkLayerProperties *properties)
{
    const VkLayerProperties own = {LAPILLI_LAYER_NAME, VK_HEADER_VERSION_COMPLETE, LAPILLI_IMPLEMENTATION_VERSION,
                                   LAPILLI_LAYER_DESCRIPTION};
    return give(&own, 1, sizeof own, count, properties);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_EnumerateInstanceLayerProperties(uint32_t *pPropertyCount,
                                                                        VkLayerProperties *pProperties)
{
    return give_own_layer(pPropertyCount, pProperties);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_EnumerateDeviceLayerProperties(VkPhysicalDevice physicalDevice,
                                                                      uint32_t *pPropertyCount,
                                                                      VkLayerProperties *pProperties)
{
    return give_own_layer(pPropertyCount, pProperties);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_EnumerateInstanceExtensionProperties(const char *pLayerName,
                                                                            uint32_t *pPropertyCount,
                                                                            VkExtensionProperties *pProperties)
{
    if (!is_own_name(pLayerName))
        return VK_ERROR_LAYER_NOT_PRESENT;
    return give(NULL, 0, sizeof *pProperties, pPropertyCount, pProperties);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_EnumerateInstanceVersion(uint32_t *pApiVersion)
{
    *pApiVersion = VK_HEADER_VERSION_COMPLETE;
    return VK_SUCCESS;
}

static VkResult show_extensions(VkPhysicalDevice physicalDevice, const char *pLayerName, uint32_t *pPropertyCount,
                                VkExtensionProperties *pProperties, bool for_loader)
{
    struct layer_instance *instance;
    VkExtensionProperties *all;
    uint32_t count, shown = 0;
    VkResult result;

    if (is_own_name(pLayerName))
        return give(own_device_extensions, OWN_COUNT, sizeof *pProperties, pPropertyCount, pProperties);
    if (!physicalDevice || !(instance = layer_instance_of_VkPhysicalDevice(physicalDevice)))
        return VK_ERROR_LAYER_NOT_PRESENT;
    if (layer.pass_through || pLayerName)
        return instance->vk.EnumerateDeviceExtensionProperties(physicalDevice, pLayerName, pPropertyCount, pProperties);
    all = layer_device_extensions(instance, physicalDevice, OWN_COUNT, &count, &result);
    if (!all)
        return result;
    if (pProperties && for_loader)
        layer_hidden_ask(all, count);
    for (uint32_t i = 0; i < count; i++)
        if (layer_shows_extension(all[i].extensionName))
            all[shown++] = all[i];
    for (size_t i = 0; i < OWN_COUNT; i++)
        if (!has_extension(all, shown, own_device_extensions[i].extensionName))
            all[shown++] = own_device_extensions[i];
    result = give(all, shown, sizeof *all, pPropertyCount, pProperties);
    free(all);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_EnumerateDeviceExtensionProperties(VkPhysicalDevice physicalDevice,
                                                                          const char *pLayerName,
                                                                          uint32_t *pPropertyCount,
                                                                          VkExtensionProperties *pProperties)
{
    const struct gen_args_vkEnumerateDeviceExtensionProperties args = {.physicalDevice = physicalDevice,
                                                                       .pLayerName = pLayerName,
                                                                       .pPropertyCount = pPropertyCount,
                                                                       .pProperties = pProperties};
    bool for_loader = layer_hidden_is_loader(__builtin_return_address(0));
    struct layer_call call;
    VkResult result;

    if (layer_call_begin(&call, GEN_vkEnumerateDeviceExtensionProperties, &args))
        layer_note_encode(&call);
    result = show_extensions(physicalDevice, pLayerName, pPropertyCount, pProperties, for_loader);
    layer_call_end(&call);
    return result;
}

static int compare_entries(const void *key, const void *element)
{
    return strcmp(key, ((const struct gen_entry *)element)->name);
}

static const struct gen_entry *find_entry(const char *name)
{
    return bsearch(name, gen_entries, gen_entry_count, sizeof *gen_entries, compare_entries);
}

/* True when the next layer or driver has the function. */
static bool is_available(const void *dispatch, const struct gen_entry *entry)
{
    PFN_vkVoidFunction next;
    memcpy(&next, (const char *)dispatch + entry->dispatch_offset, sizeof next);
    return next != NULL;
}

static const char *const chain_commands[] = {"vkCreateDevice", "vkDestroyDevice", "vkDestroyInstance",
                                             "vkGetDeviceProcAddr", "vkGetInstanceProcAddr"};

static bool is_chain_command(const char *name)
{
    for (size_t i = 0; i < sizeof chain_commands / sizeof *chain_commands; i++)
        if (strcmp(name, chain_commands[i]) == 0)
            return true;
    return false;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL capture_GetInstanceProcAddr(VkInstance handle, const char *pName)
{
    /* Layers above query vkCreateDevice without an instance, too: Mesa's overlay, and layers derived from it. */
    static const char *const global[] = {"vkCreateDevice", "vkCreateInstance", "vkEnumerateInstanceExtensionProperties",
                                         "vkEnumerateInstanceLayerProperties", "vkGetInstanceProcAddr"};
    const struct gen_entry *entry = find_entry(pName);
    struct layer_instance *instance;

    for (size_t i = 0; entry && i < sizeof global / sizeof *global; i++)
        if (strcmp(pName, global[i]) == 0)
            return entry->function;
    if (!handle || !(instance = layer_instance_of_VkInstance(handle)))
        return NULL;
    if (!entry || (layer.pass_through && !is_chain_command(pName)))
        return instance->next_get_proc_addr(handle, pName);
    if (entry->device_level || strcmp(pName, "vkEnumerateInstanceVersion") == 0)
        return instance->next_get_proc_addr(handle, pName) ? entry->function : NULL;
    return is_available(&instance->vk, entry) ? entry->function : NULL;
}

static VKAPI_ATTR VkBool32 VKAPI_CALL begin_capture(VkDevice device)
{
    return layer_part_begin();
}

static VKAPI_ATTR VkBool32 VKAPI_CALL end_capture(VkDevice device)
{
    return layer_part_end();
}

/* The program's own: include/lapilli.h. Newer loaders hand on no name that does not begin with vk. */
static PFN_vkVoidFunction find_own(const char *name)
{
    const PFN_lapBeginCapture begin = begin_capture;
    const PFN_lapEndCapture end = end_capture;

    if (strcmp(name, LAP_BEGIN_CAPTURE) == 0 || strcmp(name, "lapBeginCapture") == 0)
        return (PFN_vkVoidFunction)begin;
    if (strcmp(name, LAP_END_CAPTURE) == 0 || strcmp(name, "lapEndCapture") == 0)
        return (PFN_vkVoidFunction)end;
    return NULL;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL capture_GetDeviceProcAddr(VkDevice handle, const char *pName)
{
    const struct gen_entry *entry = find_entry(pName);
    struct layer_device *dev = handle ? layer_device_of_VkDevice(handle) : NULL;

    if (!dev)
        return NULL;
    if (!entry && !layer.pass_through && find_own(pName))
        return find_own(pName);
    if (!entry || (layer.pass_through && !is_chain_command(pName)))
        return dev->loader.next_get_proc_addr(handle, pName);
    /* Only by this exact name: programs query an extension's name of a function to learn whether they may use it. */
    return entry->device_level && !layer_backing_hides(dev, pName) && dev->loader.next_get_proc_addr(handle, pName)
               ? entry->function
               : NULL;
}

/* Physical-device commands that this registry does not know go on to the next layer. */
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_physical_device_proc_addr(VkInstance handle, const char *pName)
{
    const struct gen_entry *entry = find_entry(pName);
    struct layer_instance *instance = handle ? layer_instance_of_VkInstance(handle) : NULL;

    if (!instance)
        return NULL;
    if (!entry || entry->device_level || layer.pass_through)
        return instance->next_get_physical_device_proc_addr
                   ? instance->next_get_physical_device_proc_addr(handle, pName)
                   : NULL;
    return is_available(&instance->vk, entry) ? entry->function : NULL;
}

VKAPI_ATTR VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *pVersionStruct)
{
    if (!pVersionStruct || pVersionStruct->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT ||
        pVersionStruct->loaderLayerInterfaceVersion < 2)
        return VK_ERROR_INITIALIZATION_FAILED;
    pVersionStruct->loaderLayerInterfaceVersion = 2;
    pVersionStruct->pfnGetInstanceProcAddr = capture_GetInstanceProcAddr;
    pVersionStruct->pfnGetDeviceProcAddr = capture_GetDeviceProcAddr;
    pVersionStruct->pfnGetPhysicalDeviceProcAddr = get_physical_device_proc_addr;
    return VK_SUCCESS;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char *pName)
{
    return capture_GetInstanceProcAddr(instance, pName);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice device, const char *pName)
{
    return capture_GetDeviceProcAddr(device, pName);
}

VKAPI_ATTR VkResult VKAPI_CALL vkEnumerateInstanceLayerProperties(uint32_t *pPropertyCount,
                                                                  VkLayerProperties *pProperties)
{
    return give_own_layer(pPropertyCount, pProperties);
}

VKAPI_ATTR VkResult VKAPI_CALL vkEnumerateDeviceLayerProperties(VkPhysicalDevice physicalDevice,
                                                                uint32_t *pPropertyCount,
                                                                VkLayerProperties *pProperties)
{
    return give_own_layer(pPropertyCount, pProperties);
}

VKAPI_ATTR VkResult VKAPI_CALL vkEnumerateInstanceExtensionProperties(const char *pLayerName, uint32_t *pPropertyCount,
                                                                      VkExtensionProperties *pProperties)
{
    return capture_EnumerateInstanceExtensionProperties(pLayerName, pPropertyCount, pProperties);
}

VKAPI_ATTR VkResult VKAPI_CALL vkEnumerateDeviceExtensionProperties(VkPhysicalDevice physicalDevice,
                                                                    const char *pLayerName, uint32_t *pPropertyCount,
                                                                    VkExtensionProperties *pProperties)
{
    return capture_EnumerateDeviceExtensionProperties(physicalDevice, pLayerName, pPropertyCount, pProperties);
}
