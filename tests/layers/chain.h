/* SPDX-License-Identifier: MIT */
/*
 * chain: what every Vulkan layer needs, for the layers that only tests use: it finds the next layer, keeps its
 * functions for each instance and device, and hands out this layer's own functions and the next one's for the rest.
 *
 * It is linked into each of them once; the layer defines chain_layer. The tables of instances and devices are behind
 * one mutex; the next layer is called without it. What chain_instance_of and chain_device_of give lives as long as the
 * instance or device.
 */
#ifndef TESTS_LAYERS_CHAIN_H
#define TESTS_LAYERS_CHAIN_H

#include "gen_dispatch.h"
#include <stdbool.h>
#include <stddef.h>
#include <vulkan/vulkan_core.h>

struct chain_instance {
    struct chain_instance *link;
    void *key;
    VkInstance handle;
    PFN_vkGetInstanceProcAddr get;
    struct gen_instance_dispatch next; /* the next layer's functions: NULL where it has none */
};

/* A layer may have a struct of its own that begins with this one (chain_layer.device_bytes). */
struct chain_device {
    struct chain_device *link;
    void *key;
    VkDevice handle;
    VkPhysicalDevice gpu;
    struct chain_instance *instance;
    PFN_vkGetDeviceProcAddr get;
    struct gen_device_dispatch next;
};

struct chain_function {
    const char *name;
    PFN_vkVoidFunction function;
};

/* Entries of a table of functions, named as in Vulkan; _2: under its name in an extension too. CHAIN_END ends the
 * table. */
#define CHAIN_OWN(name)                                                                                                \
    {                                                                                                                  \
        "vk" #name, (PFN_vkVoidFunction)(name)                                                                         \
    }
#define CHAIN_OWN_2(name)                                                                                              \
    {"vk" #name, (PFN_vkVoidFunction)(name)},                                                                          \
    {                                                                                                                  \
        "vk" #name "KHR", (PFN_vkVoidFunction)(name)                                                                   \
    }
#define CHAIN_END                                                                                                      \
    {                                                                                                                  \
        NULL, NULL                                                                                                     \
    }

/* Functions that became part of the core after registries that this is still built with: their names there. */
#ifdef VK_VERSION_1_4
#define CHAIN_MapMemory2                      MapMemory2
#define CHAIN_UnmapMemory2                    UnmapMemory2
#define CHAIN_GetDeviceImageSubresourceLayout GetDeviceImageSubresourceLayout
#else
#define CHAIN_MapMemory2                      MapMemory2KHR
#define CHAIN_UnmapMemory2                    UnmapMemory2KHR
#define CHAIN_GetDeviceImageSubresourceLayout GetDeviceImageSubresourceLayoutKHR
#endif

struct chain_layer {
    size_t device_bytes; /* of the struct that begins with struct chain_device */
    /* Before the first instance. NULL: nothing to do. */
    void (*start)(void);
    /*
     * Makes the device below, with other parameters if it likes. `device` knows its instance and gpu, no function yet.
     * NULL: as the program says.
     */
    VkResult (*create_device)(struct chain_device *device, PFN_vkCreateDevice create, const VkDeviceCreateInfo *info,
                              const VkAllocationCallbacks *allocator, VkDevice *out);
    /* The device is there, its functions too, and nobody else knows it yet. NULL: nothing to do. */
    void (*device_created)(struct chain_device *device);
    /* The layer's functions: the table number i, NULL behind the last. Not for creation and destruction of devices. */
    const struct chain_function *(*functions)(size_t i);
    bool adds; /* of the layer's functions, those too that the next layer has not */
    /* What is handed out for a function of any name, the layer's own or the next one's, which may be NULL; without
     * this: that one. */
    PFN_vkVoidFunction (*wrap)(const char *name, PFN_vkVoidFunction function, bool of_device);
};
extern const struct chain_layer chain_layer;

/* The instance of an instance or a physical device, the device of a device, queue or command buffer. */
struct chain_instance *chain_instance_of(const void *dispatchable);
struct chain_device *chain_device_of(const void *dispatchable);

/* The structure of this type in a pNext chain, or NULL. */
void *chain_find(const void *chain, VkStructureType type);

/* Is this memory imported? Takes the pNext of VkMemoryAllocateInfo. */
bool chain_is_import(const void *chain);

#endif
