/* SPDX-License-Identifier: MIT */
#include "layer/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/tree.h"
#include "layer/layer.h"
#include "layer/resource.h"

struct layer_import {
    struct lap_tree_node node; /* in layer.imports: addresses */
    pid_t process;             /* a child of fork() has its own set */
    bool shared;               /* others may store to these pages */
};

/* ---- whose pages ---- */

/* A watch sees stores through one mapping only. Plain memory has no other; what is mapped in any other way (shared
 * memory, files, other rights than to read and write) may have, or is no memory that a watch could be armed on. */
static bool is_plain(const char *rights, const char *inode)
{
    return strcmp(rights, "rw-p") == 0 && strcmp(inode, "0") == 0;
}

static bool all_plain(FILE *maps, uint64_t begin, uint64_t end)
{
    char line[512], rights[8], inode[24];
    bool line_begins = true;

    while (begin < end && fgets(line, sizeof line, maps)) {
        uint64_t from, to;
        bool is_first_part = line_begins;
        line_begins = strchr(line, '\n') != NULL;
        if (!is_first_part ||
            sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %23s", &from, &to, rights, inode) != 4 || to <= begin)
            continue;
        if (from > begin || !is_plain(rights, inode))
            return false;
        begin = to;
    }
    return begin >= end;
}

static bool is_shared(uint64_t begin, uint64_t end)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    bool plain = maps && all_plain(maps, begin, end);
    if (maps)
        fclose(maps);
    return !plain;
}

/* ---- imports ---- */

static struct layer_import *create(const void *pages, VkDeviceSize bytes)
{
    struct layer_import *import = calloc(1, sizeof *import);
    if (!import)
        return NULL;
    import->node.begin = (uintptr_t)pages;
    import->node.end = import->node.begin + bytes;
    import->node.order = (uintptr_t)import;
    import->process = getpid();
    import->shared = is_shared(import->node.begin, import->node.end);
    return import;
}

/* False: some of the pages are imported now. */
static bool insert(struct layer_import *import)
{
    bool is_new;
    pthread_mutex_lock(&layer.devices_mutex);
    is_new = !lap_tree_first(layer.imports, import->node.begin, import->node.end);
    if (is_new)
        lap_tree_insert(&layer.imports, &import->node);
    pthread_mutex_unlock(&layer.devices_mutex);
    return is_new;
}

VkResult layer_import_begin(const VkMemoryAllocateInfo *info, struct layer_import **out)
{
    const VkImportMemoryHostPointerInfoEXT *asked =
        layer_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
    struct layer_import *import;

    *out = NULL;
    if (!asked || !asked->handleType || !layer_is_recording())
        return VK_SUCCESS;
    if (asked->handleType & ~LAYER_IMPORT_HANDLE_TYPES)
        return VK_ERROR_INVALID_EXTERNAL_HANDLE;
    if (info->allocationSize > UINTPTR_MAX - (uintptr_t)asked->pHostPointer)
        return VK_ERROR_INVALID_EXTERNAL_HANDLE;
    import = create(asked->pHostPointer, info->allocationSize);
    if (!import)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    if (!insert(import)) {
        if (!atomic_exchange(&layer.import_refused, true))
            lap_log(&layer.log, LAP_LOG_WARNING, "an import is refused: some of its pages are imported already");
        free(import);
        return VK_ERROR_INVALID_EXTERNAL_HANDLE;
    }
    *out = import;
    return VK_SUCCESS;
}

void layer_import_end(struct layer_import *import)
{
    if (!import)
        return;
    pthread_mutex_lock(&layer.devices_mutex);
    if (import->process == getpid())
        lap_tree_remove(&layer.imports, &import->node);
    pthread_mutex_unlock(&layer.devices_mutex);
    free(import);
}

void *layer_import_pointer(const struct layer_import *import, VkDeviceSize offset)
{
    return (void *)(uintptr_t)(import->node.begin + offset);
}

uint32_t layer_import_tracking_flags(const struct layer_import *import)
{
    return LAP_MEM_FILLED | (import->shared ? LAP_MEM_SHARED : 0u);
}
