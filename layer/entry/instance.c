/* SPDX-License-Identifier: MIT */
/*
 * instance: the loader's instance chain, physical devices and their properties. Loader-Layer interface, "Layer
 * Instance/Device creation": the chain element is advanced before calling down, nothing is touched on failure, and no
 * trampoline of the loader is called from here.
 */
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "gen_decode.h"
#include "gen_layer.h"
#include "layer/core/description.h"
#include "layer/core/extensions.h"
#include "layer/core/records.h"
#include "layer/memory/backing.h"
#include "layer/part/part.h"

static VkLayerInstanceCreateInfo *instance_link(const VkInstanceCreateInfo *info)
{
    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
            ((const VkLayerInstanceCreateInfo *)s)->function == VK_LAYER_LINK_INFO)
            return (VkLayerInstanceCreateInfo *)(uintptr_t)s;
    return NULL;
}

static bool names_layer(const VkInstanceCreateInfo *info)
{
    for (uint32_t i = 0; i < info->enabledLayerCount; i++)
        if (strcmp(info->ppEnabledLayerNames[i], LAPILLI_LAYER_NAME) == 0)
            return true;
    return false;
}

/* Calls down with the additions of backing, and without them if that fails. */
static VkResult create_instance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *allocator,
                                VkLayerInstanceCreateInfo *link, PFN_vkCreateInstance create, VkInstance *out,
                                bool *out_imports)
{
    VkLayerInstanceLink *next = link->u.pLayerInfo->pNext;
    struct layer_backing_instance_request backing;

    link->u.pLayerInfo = next;
    *out_imports = layer_backing_instance_request(info, &backing);
    if (*out_imports) {
        VkResult result = create(&backing.info, allocator, out);
        layer_backing_instance_request_finish(&backing);
        if (result == VK_SUCCESS)
            return result;
        *out_imports = false;
        link->u.pLayerInfo = next; /* layers below have advanced it */
    }
    return create(info, allocator, out);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_CreateInstance(const VkInstanceCreateInfo *pCreateInfo,
                                                      const VkAllocationCallbacks *pAllocator, VkInstance *pInstance)
{
    VkLayerInstanceCreateInfo *link = instance_link(pCreateInfo);
    PFN_vkGetInstanceProcAddr next;
    PFN_GetPhysicalDeviceProcAddr next_physical_device;
    PFN_vkCreateInstance create;
    const struct gen_args_vkCreateInstance args = {
        .pCreateInfo = pCreateInfo, .pAllocator = pAllocator, .pInstance = pInstance};
    struct layer_instance *instance;
    struct layer_call call;
    bool imports;
    VkResult result;

    if (!link || !link->u.pLayerInfo)
        return VK_ERROR_INITIALIZATION_FAILED;
    next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    next_physical_device = link->u.pLayerInfo->pfnNextGetPhysicalDeviceProcAddr;
    create = (PFN_vkCreateInstance)next(VK_NULL_HANDLE, "vkCreateInstance");
    if (!create)
        return VK_ERROR_INITIALIZATION_FAILED;
    layer_resolve(names_layer(pCreateInfo));
    /* Without a record the layer can't call down, and loaders don't survive a layer that destroys the new instance: so
     * the record comes first. */
    if (lap_map_reserve(&layer.instances_by_table) != LAP_OK)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    instance = (struct layer_instance *)layer_object_prepare(GEN_HANDLE_VkInstance);
    if (!instance)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    static const struct layer_recording_hooks hooks = {.watch_forks = layer_fork_watch,
                                                       .opened = layer_describe_process,
                                                       .encode_call = gen_in_flight_encode,
                                                       .part_begins_at_once = layer_part_begins_at_once,
                                                       .frame_ended = layer_part_frame_ended,
                                                       .submitted = layer_part_submitted,
                                                       .waited = layer_part_waited,
                                                       .ends = layer_part_process_ends,
                                                       .forked = layer_part_forked,
                                                       .start = layer_part_start,
                                                       .stop = layer_part_stop,
                                                       .keep_last = layer_part_keep_last,
                                                       .keep = layer_part_keep,
                                                       .last = layer_part_last};
    layer_recording_start(&hooks); /* before the driver, which may crash */
    if (layer_call_begin(&call, GEN_vkCreateInstance, &args))
        layer_note_encode(&call);
    result = create_instance(pCreateInfo, pAllocator, link, create, pInstance, &imports);
    layer_call_end(&call);
    if (result != VK_SUCCESS) {
        free(instance);
        return result;
    }

    layer_recording_is_used();
    void *table = *(void **)*pInstance;
    bool adopted = layer_object_adopt(&instance->object, GEN_HANDLE_VkInstance, gen_u64_VkInstance(*pInstance));
    if (!adopted || lap_map_put(&layer.instances_by_table, (uint64_t)(uintptr_t)table, instance, NULL) != LAP_OK) {
        PFN_vkDestroyInstance destroy = (PFN_vkDestroyInstance)next(*pInstance, "vkDestroyInstance");
        if (adopted)
            layer_object_remove(NULL, GEN_HANDLE_VkInstance, gen_u64_VkInstance(*pInstance));
        else
            free(instance);
        if (destroy)
            destroy(*pInstance, pAllocator);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    instance->handle = *pInstance;
    instance->next_get_proc_addr = next;
    instance->next_get_physical_device_proc_addr = next_physical_device;
    instance->dispatch_table = table;
    instance->tables.maps = layer.map_pointers;
    instance->api_version = pCreateInfo->pApplicationInfo && pCreateInfo->pApplicationInfo->apiVersion
                                ? pCreateInfo->pApplicationInfo->apiVersion
                                : VK_API_VERSION_1_0;
    instance->knows_imports = imports;
    gen_load_instance_dispatch(&instance->vk, next, *pInstance, instance->api_version);
    instance->older_time_domains = (PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)next(
        *pInstance, "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT");

    struct lap_enc *enc = layer_packet_begin(&instance->tables, GEN_vkCreateInstance, 0);
    if (enc) {
        gen_encode_vkCreateInstance(enc, pCreateInfo, pAllocator, pInstance, result);
        layer_packet_end();
    }
    return result;
}

static bool is_physical_device_of(const void *record, const void *instance)
{
    return ((const struct layer_physical_device *)record)->instance == instance;
}

VKAPI_ATTR void VKAPI_CALL capture_DestroyInstance(VkInstance instance_handle, const VkAllocationCallbacks *pAllocator)
{
    struct layer_instance *instance;
    PFN_vkDestroyInstance destroy;

    if (!instance_handle || !(instance = layer_instance_of_VkInstance(instance_handle)))
        return;
    layer_hidden_end();
    struct lap_enc *enc = layer_packet_begin(&instance->tables, GEN_vkDestroyInstance, 0);
    if (enc) {
        gen_encode_vkDestroyInstance(enc, instance_handle, pAllocator);
        layer_packet_end();
    }
    layer_object_remove_owned(GEN_HANDLE_VkPhysicalDevice, is_physical_device_of, instance);
    destroy = instance->vk.DestroyInstance;
    lap_map_remove(&layer.instances_by_table, (uint64_t)(uintptr_t)instance->dispatch_table);
    layer_object_remove(NULL, GEN_HANDLE_VkInstance, gen_u64_VkInstance(instance_handle));
    destroy(instance_handle, pAllocator);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_EnumeratePhysicalDevices(VkInstance instance_handle,
                                                                uint32_t *pPhysicalDeviceCount,
                                                                VkPhysicalDevice *pPhysicalDevices)
{
    struct layer_instance *instance = layer_instance_of_VkInstance(instance_handle);
    VkResult result = instance->vk.EnumeratePhysicalDevices(instance_handle, pPhysicalDeviceCount, pPhysicalDevices);

    for (uint32_t i = 0; result >= 0 && pPhysicalDevices && i < *pPhysicalDeviceCount; i++)
        if (!layer_physical_device_add(instance, pPhysicalDevices[i]))
            result = VK_ERROR_OUT_OF_HOST_MEMORY;
    struct lap_enc *enc =
        layer_packet_begin(&instance->tables, GEN_vkEnumeratePhysicalDevices, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkEnumeratePhysicalDevices(enc, instance_handle, pPhysicalDeviceCount, pPhysicalDevices, result);
        layer_packet_end();
    }
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL
capture_EnumeratePhysicalDeviceGroups(VkInstance instance_handle, uint32_t *pPhysicalDeviceGroupCount,
                                      VkPhysicalDeviceGroupProperties *pPhysicalDeviceGroupProperties)
{
    struct layer_instance *instance = layer_instance_of_VkInstance(instance_handle);
    VkResult result = instance->vk.EnumeratePhysicalDeviceGroups(instance_handle, pPhysicalDeviceGroupCount,
                                                                 pPhysicalDeviceGroupProperties);

    for (uint32_t i = 0; result >= 0 && pPhysicalDeviceGroupProperties && i < *pPhysicalDeviceGroupCount; i++)
        for (uint32_t j = 0; j < pPhysicalDeviceGroupProperties[i].physicalDeviceCount; j++)
            if (!layer_physical_device_add(instance, pPhysicalDeviceGroupProperties[i].physicalDevices[j]))
                result = VK_ERROR_OUT_OF_HOST_MEMORY;
    struct lap_enc *enc =
        layer_packet_begin(&instance->tables, GEN_vkEnumeratePhysicalDeviceGroups, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkEnumeratePhysicalDeviceGroups(enc, instance_handle, pPhysicalDeviceGroupCount,
                                                   pPhysicalDeviceGroupProperties, result);
        layer_packet_end();
    }
    return result;
}
