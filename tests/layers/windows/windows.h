/* SPDX-License-Identifier: MIT */
/* windows: what windows.c and displays.c, the two halves of a layer, know of each other. */
#ifndef LAP_TESTS_LAYERS_WINDOWS_H
#define LAP_TESTS_LAYERS_WINDOWS_H

#include <pthread.h>

#include "tests/layers/chain.h"

/* A VkSurfaceKHR. */
struct surface {
    bool of_display;
};

struct device {
    struct chain_device chain; /* first */
    VkQueue queue;             /* that acquired images are signalled on */
    pthread_mutex_t mutex;     /* swapchains and queues, which programs call from several threads */
    uint64_t presents;
};

static inline struct device *device_of(const void *dispatchable)
{
    return (struct device *)chain_device_of(dispatchable);
}

VkResult windows_create_surface(bool of_display, VkSurfaceKHR *out);
VKAPI_ATTR VkResult VKAPI_CALL windows_create_swapchain(VkDevice handle, const VkSwapchainCreateInfoKHR *info,
                                                        const VkAllocationCallbacks *allocator, VkSwapchainKHR *out);
VKAPI_ATTR void VKAPI_CALL windows_destroy_swapchain(VkDevice handle, VkSwapchainKHR gone,
                                                     const VkAllocationCallbacks *allocator);

/* displays.c: devices without what the layer adds, and the functions of displays. */
VkResult displays_create_device(struct chain_device *device, PFN_vkCreateDevice create, const VkDeviceCreateInfo *info,
                                const VkAllocationCallbacks *allocator, VkDevice *out);
extern const struct chain_function displays_functions[];

#endif
