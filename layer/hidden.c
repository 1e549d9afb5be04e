/* SPDX-License-Identifier: MIT */
/*
 * hidden: a program that asks for an extension which the layer hides from it (docs/extensions.md) gets
 * VK_ERROR_EXTENSION_NOT_PRESENT from the loader, which compares with what the layer shows and never calls down. All
 * that is seen of such a vkCreateDevice is that the loader, not the program, asks which extensions there are, and that
 * nothing comes of it. So the names that it is not shown are kept until a device is made, or it is known that none was.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer/layer.h"

#define NAMES_BYTES 1024u

/* Of extensions that the loader was not shown for a vkCreateDevice that has not reached the layer; NULL: of none. */
static _Atomic(char *) kept;

bool layer_hidden_is_loader(const void *caller)
{
    Dl_info info;
    const char *name;

    if (!dladdr(caller, &info) || !info.dli_fname)
        return false;
    /* A program's own question comes through the function that the loader exports, which may or may not call. */
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
    names = atomic_exchange(&kept, names);
    warn(names);
    free(names);
}

void layer_hidden_arrived(void)
{
    free(atomic_exchange(&kept, NULL));
}

void layer_hidden_end(void)
{
    char *names = atomic_exchange(&kept, NULL);
    warn(names);
    free(names);
}

void layer_hidden_exit(void)
{
    warn(atomic_load(&kept));
}
