/* SPDX-License-Identifier: MIT */
/*
 * surface: the window of a surface, for keys that begin parts (layer/part/key.h).
 */
#include <dlfcn.h>

#include "gen_layer.h"
#include "layer/core/records.h"
#include "layer/part/key.h"

void layer_surface_finish(struct lap_object *object)
{
    layer_key_unwatch((struct layer_surface *)object);
}

/* NULL: no keys are looked for. */
static __attribute__((unused)) struct layer_surface *watched(VkSurfaceKHR surface)
{
    return layer.options.parts.key
               ? layer_object_get(&layer.tables, GEN_HANDLE_VkSurfaceKHR, gen_u64_VkSurfaceKHR(surface))
               : NULL;
}

#ifdef VK_USE_PLATFORM_XCB_KHR
/* The library that the program, or its driver, has loaded: the layer needs none. */
static int socket_of(xcb_connection_t *connection)
{
    void *library = dlopen("libxcb.so.1", RTLD_LAZY | RTLD_NOLOAD);
    int (*get)(xcb_connection_t *) =
        library ? (int (*)(xcb_connection_t *))dlsym(library, "xcb_get_file_descriptor") : NULL;
    int fd = get ? get(connection) : -1;

    if (library)
        dlclose(library);
    return fd;
}

void hook_after_CreateXcbSurfaceKHR(struct layer_instance *instance_record, VkInstance instance,
                                    const VkXcbSurfaceCreateInfoKHR *pCreateInfo,
                                    const VkAllocationCallbacks *pAllocator, VkSurfaceKHR *pSurface, VkResult result)
{
    struct layer_surface *surface = watched(*pSurface);
    if (surface)
        layer_key_watch_x(surface, socket_of(pCreateInfo->connection), pCreateInfo->window);
}
#endif

#ifdef VK_USE_PLATFORM_XLIB_KHR
void hook_after_CreateXlibSurfaceKHR(struct layer_instance *instance_record, VkInstance instance,
                                     const VkXlibSurfaceCreateInfoKHR *pCreateInfo,
                                     const VkAllocationCallbacks *pAllocator, VkSurfaceKHR *pSurface, VkResult result)
{
    struct layer_surface *surface = watched(*pSurface);
    if (surface)
        layer_key_watch_x(surface, ConnectionNumber(pCreateInfo->dpy), (uint32_t)pCreateInfo->window);
}
#endif

#ifdef VK_USE_PLATFORM_WAYLAND_KHR
void hook_after_CreateWaylandSurfaceKHR(struct layer_instance *instance_record, VkInstance instance,
                                        const VkWaylandSurfaceCreateInfoKHR *pCreateInfo,
                                        const VkAllocationCallbacks *pAllocator, VkSurfaceKHR *pSurface,
                                        VkResult result)
{
    struct layer_surface *surface = watched(*pSurface);
    if (surface)
        layer_key_watch_wayland(surface, pCreateInfo->display);
}
#endif
