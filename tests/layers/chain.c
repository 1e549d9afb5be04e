/* SPDX-License-Identifier: MIT */
#include "tests/layers/chain.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>

#define EXPORT __attribute__((visibility("default")))
/* The core's name of a function is tried whatever version the program asked for, then the extension's. */
#define ANY_VERSION UINT32_MAX

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct chain_instance *instances;
static struct chain_device *devices;

static void *key_of(const void *dispatchable)
{
    return *(void *const *)dispatchable;
}

struct chain_instance *chain_instance_of(const void *dispatchable)
{
    struct chain_instance *instance;
    pthread_mutex_lock(&mutex);
    for (instance = instances; instance && instance->key != key_of(dispatchable); instance = instance->link) {
    }
    pthread_mutex_unlock(&mutex);
    return instance;
}

struct chain_device *chain_device_of(const void *dispatchable)
{
    struct chain_device *device;
    pthread_mutex_lock(&mutex);
    for (device = devices; device && device->key != key_of(dispatchable); device = device->link) {
    }
    pthread_mutex_unlock(&mutex);
    return device;
}

void *chain_find(const void *chain, VkStructureType type)
{
    VkBaseOutStructure *s = (void *)(uintptr_t)chain;
    while (s && s->sType != type)
        s = s->pNext;
    return s;
}

bool chain_is_import(const void *chain)
{
    return chain_find(chain, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR) ||
           chain_find(chain, VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
}

/* The loader's element of a creation chain that holds the next layer's functions. */
#define CHAIN_ELEMENT(type, stype)                                                                                     \
    static type *find_##type(const void *chain)                                                                        \
    {                                                                                                                  \
        for (type *s = (type *)(uintptr_t)chain; s; s = (type *)(uintptr_t)s->pNext)                                   \
            if (s->sType == (stype) && s->function == VK_LAYER_LINK_INFO)                                              \
                return s;                                                                                              \
        return NULL;                                                                                                   \
    }
CHAIN_ELEMENT(VkLayerInstanceCreateInfo, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO)
CHAIN_ELEMENT(VkLayerDeviceCreateInfo, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO)

static void start(void)
{
    if (chain_layer.start)
        chain_layer.start();
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateInstance(const VkInstanceCreateInfo *create,
                                                     const VkAllocationCallbacks *allocator, VkInstance *out)
{
    VkLayerInstanceCreateInfo *element = find_VkLayerInstanceCreateInfo(create->pNext);
    struct chain_instance *instance = calloc(1, sizeof *instance);
    VkResult result = VK_ERROR_INITIALIZATION_FAILED;

    pthread_once(&once, start);
    if (element && instance) {
        instance->get = element->u.pLayerInfo->pfnNextGetInstanceProcAddr;
        element->u.pLayerInfo = element->u.pLayerInfo->pNext;
        result = ((PFN_vkCreateInstance)instance->get(NULL, "vkCreateInstance"))(create, allocator, out);
    }
    if (result < 0) {
        free(instance);
        return result;
    }
    instance->handle = *out;
    instance->key = key_of(*out);
    gen_load_instance_dispatch(&instance->next, instance->get, *out, ANY_VERSION);
    pthread_mutex_lock(&mutex);
    instance->link = instances;
    instances = instance;
    pthread_mutex_unlock(&mutex);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL DestroyInstance(VkInstance handle, const VkAllocationCallbacks *allocator)
{
    struct chain_instance **link, *instance;
    if (!handle)
        return;
    pthread_mutex_lock(&mutex);
    for (link = &instances; (*link)->handle != handle; link = &(*link)->link) {
    }
    instance = *link;
    *link = instance->link;
    pthread_mutex_unlock(&mutex);
    instance->next.DestroyInstance(handle, allocator);
    free(instance);
}

static VkResult create_below(struct chain_device *device, VkLayerDeviceCreateInfo *element,
                             const VkDeviceCreateInfo *info, const VkAllocationCallbacks *allocator, VkDevice *out)
{
    PFN_vkGetInstanceProcAddr get = element->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)get(device->instance->handle, "vkCreateDevice");

    device->get = element->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    element->u.pLayerInfo = element->u.pLayerInfo->pNext;
    if (chain_layer.create_device)
        return chain_layer.create_device(device, create, info, allocator, out);
    return create(device->gpu, info, allocator, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice gpu, const VkDeviceCreateInfo *create,
                                                   const VkAllocationCallbacks *allocator, VkDevice *out)
{
    VkLayerDeviceCreateInfo *element = find_VkLayerDeviceCreateInfo(create->pNext);
    struct chain_device *device = calloc(1, chain_layer.device_bytes);
    VkResult result = VK_ERROR_INITIALIZATION_FAILED;

    if (element && device) {
        device->instance = chain_instance_of(gpu);
        device->gpu = gpu;
        result = create_below(device, element, create, allocator, out);
    }
    if (result < 0) {
        free(device);
        return result;
    }
    device->handle = *out;
    device->key = key_of(*out);
    gen_load_device_dispatch(&device->next, device->get, *out, ANY_VERSION);
    if (chain_layer.device_created)
        chain_layer.device_created(device);
    pthread_mutex_lock(&mutex);
    device->link = devices;
    devices = device;
    pthread_mutex_unlock(&mutex);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL DestroyDevice(VkDevice handle, const VkAllocationCallbacks *allocator)
{
    struct chain_device **link, *device;
    if (!handle)
        return;
    pthread_mutex_lock(&mutex);
    for (link = &devices; (*link)->handle != handle; link = &(*link)->link) {
    }
    device = *link;
    *link = device->link;
    pthread_mutex_unlock(&mutex);
    device->next.DestroyDevice(handle, allocator);
    free(device);
}

/* ---- what the loader calls ---- */

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char *name);
EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice device, const char *name);

static PFN_vkVoidFunction find_in(const struct chain_function *table, const char *name)
{
    for (; table->name; table++)
        if (!strcmp(table->name, name))
            return table->function;
    return NULL;
}

static PFN_vkVoidFunction find_own(const char *name)
{
    static const struct chain_function common[] = {
        {"vkGetInstanceProcAddr", (PFN_vkVoidFunction)vkGetInstanceProcAddr},
        {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)vkGetDeviceProcAddr},
        CHAIN_OWN(CreateInstance),
        CHAIN_OWN(DestroyInstance),
        CHAIN_OWN(CreateDevice),
        CHAIN_OWN(DestroyDevice),
        CHAIN_END,
    };
    PFN_vkVoidFunction function = find_in(common, name);
    for (size_t i = 0; !function && chain_layer.functions(i); i++)
        function = find_in(chain_layer.functions(i), name);
    return function;
}

static PFN_vkVoidFunction handed_out(const char *name, PFN_vkVoidFunction function, bool of_device)
{
    return chain_layer.wrap ? chain_layer.wrap(name, function, of_device) : function;
}

/* A function that the next layer has not (an extension's that is not enabled) is not here either, but in layers that
 * add some. */
static PFN_vkVoidFunction choose(PFN_vkVoidFunction own, PFN_vkVoidFunction next)
{
    return own && (next || chain_layer.adds) ? own : next;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char *name)
{
    const struct chain_instance *known = instance ? chain_instance_of(instance) : NULL;
    PFN_vkVoidFunction own = find_own(name), next;
    if (!known) /* or not yet: where no layer is above, the loader asks for vkCreateInstance with its own */
        return handed_out(name, own, false);
    next = known->get(instance, name);
    return handed_out(name, choose(own, next), false);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice device, const char *name)
{
    PFN_vkVoidFunction own = find_own(name), next = chain_device_of(device)->get(device, name);
    return handed_out(name, choose(own, next), true);
}
