/* SPDX-License-Identifier: MIT */
#include "layer/core/extensions.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_layer.h"
#include "layer/core/hardware_functions.h"
#include "layer/core/layer.h"

static int compare_names(const void *key, const void *element)
{
    return strcmp(key, *(const char *const *)element);
}

/* Such memory is recorded only with the system's functions. */
static bool lacks_system(const char *extension)
{
    return strcmp(extension, VK_ANDROID_EXTERNAL_MEMORY_ANDROID_HARDWARE_BUFFER_EXTENSION_NAME) == 0 &&
           !layer_hardware_exists();
}

bool layer_shows_extension(const char *extension)
{
    return !lacks_system(extension) &&
           bsearch(extension, gen_known_extensions, gen_known_extension_count, sizeof(char *), compare_names) &&
           !bsearch(extension, gen_hidden_extensions, gen_hidden_extension_count, sizeof(char *), compare_names);
}

VkExtensionProperties *layer_device_extensions(const struct layer_instance *instance, VkPhysicalDevice physicalDevice,
                                               size_t more, uint32_t *out_count, VkResult *out_result)
{
    VkExtensionProperties *all = NULL;
    do {
        free(all);
        all = NULL;
        *out_count = 0;
        *out_result = instance->vk.EnumerateDeviceExtensionProperties(physicalDevice, NULL, out_count, NULL);
        if (*out_result != VK_SUCCESS)
            return NULL;
        all = calloc(*out_count + more + 1, sizeof *all);
        if (!all) {
            *out_result = VK_ERROR_OUT_OF_HOST_MEMORY;
            return NULL;
        }
        *out_result = instance->vk.EnumerateDeviceExtensionProperties(physicalDevice, NULL, out_count, all);
    } while (*out_result == VK_INCOMPLETE);
    if (*out_result != VK_SUCCESS) {
        free(all);
        all = NULL;
    }
    return all;
}

bool layer_device_has_extension(const struct layer_physical_device *gpu, const char *extension)
{
    uint32_t count;
    VkResult result;
    VkExtensionProperties *all =
        layer_device_extensions(gpu->instance, gen_VkPhysicalDevice(gpu->object.handle), 0, &count, &result);
    bool found = false;

    for (uint32_t i = 0; all && i < count && !found; i++)
        found = strcmp(all[i].extensionName, extension) == 0;
    free(all);
    return found;
}

/* ---- a program that asks for a hidden one ---- */

#define NAMES_BYTES 1024u

/* Names of hidden extensions, for a vkCreateDevice that has not reached the layer; NULL: none. */
static _Atomic(char *) hidden_names;

bool layer_hidden_is_loader(const void *caller)
{
    Dl_info info;
    const char *name;

    if (!dladdr(caller, &info) || !info.dli_fname)
        return false;
    /* A program's own query comes through the loader's exported function, which may jump instead of calling. */
    if (info.dli_sname && strcmp(info.dli_sname, "vkEnumerateDeviceExtensionProperties") == 0)
        return false;
    name = strrchr(info.dli_fname, '/');
    return strncmp(name ? name + 1 : info.dli_fname, "libvulkan", strlen("libvulkan")) == 0;
}

static void warn(const char *names)
{
    if (names)
        lap_log(&layer.log, LAP_LOG_WARNING,
                "a vkCreateDevice failed before it came to a driver. If that was VK_ERROR_EXTENSION_NOT_PRESENT: these "
                "are hidden from a program that is recorded (docs/extensions.md): %s",
                names);
}

void layer_hidden_ask(const VkExtensionProperties *all, uint32_t count)
{
    char *names = malloc(NAMES_BYTES);
    size_t used = 0;
    unsigned more = 0;

    if (!names)
        return;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = all[i].extensionName;
        if (layer_shows_extension(name))
            continue;
        if (more || used + strlen(name) + 32 > NAMES_BYTES)
            more++;
        else
            used += (size_t)snprintf(names + used, NAMES_BYTES - used, "%s%s", used ? ", " : "", name);
    }
    if (more)
        used += (size_t)snprintf(names + used, NAMES_BYTES - used, " and %u more", more);
    if (!used) {
        free(names);
        names = NULL;
    }
    names = atomic_exchange(&hidden_names, names);
    warn(names);
    free(names);
}

void layer_hidden_arrived(void)
{
    free(atomic_exchange(&hidden_names, NULL));
}

void layer_hidden_end(void)
{
    char *names = atomic_exchange(&hidden_names, NULL);
    warn(names);
    free(names);
}

void layer_hidden_exit(void)
{
    warn(atomic_load(&hidden_names));
}
