/* SPDX-License-Identifier: MIT */
#include "layer/memory/host_import.h"
#include "vulkan/chain.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/process/address_space.h"
#include "base/tree.h"
#include "layer/core/layer.h"

struct layer_host_import {
    struct lap_tree_node node; /* in layer.imports: addresses */
    struct layer_device *device;
    pid_t process;       /* a child of fork() has its own set */
    bool shared;         /* others may store to these pages; under devices_mutex from when it is in the set */
    struct lap_mem *mem; /* while it is tracked; under devices_mutex */
};

/* ---- imports ---- */

static struct layer_host_import *create(struct layer_device *dev, const void *pages, VkDeviceSize bytes)
{
    struct layer_host_import *import = calloc(1, sizeof *import);
    if (!import)
        return NULL;
    import->node.begin = (uintptr_t)pages;
    import->node.end = import->node.begin + bytes;
    import->node.order = (uintptr_t)import;
    import->device = dev;
    import->process = getpid();
    return import;
}

static void share(struct layer_host_import *import)
{
    if (!import->shared && import->mem)
        lap_mem_share(import->mem);
    import->shared = true;
}

/* Pages that another device has imported, too: each device's writes are unknown to the other one's tracker. */
static void meet_other_device(void *context, struct lap_tree_node *node)
{
    struct layer_host_import *import = context;
    struct layer_host_import *other =
        (struct layer_host_import *)(void *)((char *)node - offsetof(struct layer_host_import, node));
    if (other->device == import->device)
        return;
    share(other);
    share(import);
    if (!atomic_exchange(&layer.imports_meet, true))
        lap_log(
            &layer.log, LAP_LOG_WARNING,
            "two devices have imported the same pages: images of optimal tiling there will not be shared in a replay");
}

/* A watch sees stores through one mapping only. Plain memory has no other mapping; other memory (shared memory, files,
 * rights other than read and write) may have one, or can't be watched. */
static bool is_shared(uint64_t begin, uint64_t end)
{
    return !lap_memory_is_plain((const void *)(uintptr_t)begin, (size_t)(end - begin));
}

/* Pages that are already imported were checked at that import, and may have other rights now because they are
 * watched. */
static bool any_shared(uint64_t begin, uint64_t end)
{
    while (begin < end) {
        const struct lap_tree_node *other = lap_tree_first(layer.imports, begin, end);
        if ((!other || other->begin > begin) && is_shared(begin, other ? other->begin : end))
            return true;
        begin = other ? other->end : end;
    }
    return false;
}

static void insert(struct layer_host_import *import)
{
    pthread_mutex_lock(&layer.devices_mutex);
    import->shared = any_shared(import->node.begin, import->node.end);
    if (!import->device->import_space)
        import->device->import_space = ++layer.last_space;
    lap_tree_visit(layer.imports, import->node.begin, import->node.end, meet_other_device, import);
    lap_tree_insert(&layer.imports, &import->node);
    pthread_mutex_unlock(&layer.devices_mutex);
}

VkResult layer_host_import_begin(struct layer_device *dev, const VkMemoryAllocateInfo *info,
                                 struct layer_host_import **out)
{
    const VkImportMemoryHostPointerInfoEXT *asked =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
    struct layer_host_import *import;

    *out = NULL;
    if (!asked || !asked->handleType || !layer_is_recording())
        return VK_SUCCESS;
    if (asked->handleType & ~LAYER_IMPORT_HANDLE_TYPES)
        return VK_ERROR_INVALID_EXTERNAL_HANDLE;
    if (info->allocationSize > UINTPTR_MAX - (uintptr_t)asked->pHostPointer)
        return VK_ERROR_INVALID_EXTERNAL_HANDLE;
    import = create(dev, asked->pHostPointer, info->allocationSize);
    if (!import)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    insert(import);
    *out = import;
    return VK_SUCCESS;
}

enum lap_status layer_host_import_track(struct layer_host_import *import, uint32_t flags, struct lap_mem **out)
{
    enum lap_status status;
    pthread_mutex_lock(&layer.devices_mutex);
    status = lap_mem_import(import->device->memtrack, layer_host_import_pointer(import, 0),
                            import->node.end - import->node.begin, flags | (import->shared ? LAP_MEM_SHARED : 0u), out);
    import->mem = *out;
    pthread_mutex_unlock(&layer.devices_mutex);
    return status;
}

void layer_host_import_untrack(struct layer_host_import *import)
{
    if (!import)
        return;
    pthread_mutex_lock(&layer.devices_mutex);
    import->mem = NULL;
    pthread_mutex_unlock(&layer.devices_mutex);
}

void layer_host_import_end(struct layer_host_import *import)
{
    if (!import)
        return;
    pthread_mutex_lock(&layer.devices_mutex);
    if (import->process == getpid())
        lap_tree_remove(&layer.imports, &import->node);
    pthread_mutex_unlock(&layer.devices_mutex);
    free(import);
}

void *layer_host_import_pointer(const struct layer_host_import *import, VkDeviceSize offset)
{
    return (void *)(uintptr_t)(import->node.begin + offset);
}

void layer_host_import_place(const struct layer_host_import *import, uint64_t *out_space, uint64_t *out_offset)
{
    *out_space = import->device->import_space;
    *out_offset = import->node.begin;
}
