/* SPDX-License-Identifier: MIT */
#include "layer/core/hardware_functions.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

struct layer_hardware_functions layer_hardware;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool exists;

static void *find(void *library, const char *name)
{
    return library ? dlsym(library, name) : NULL;
}

/* The library stays: it is a part of the system. */
static void look_up(void)
{
    struct layer_hardware_functions *f = &layer_hardware;
    void *library = dlopen("libnativewindow.so", RTLD_NOW | RTLD_LOCAL);

    *(void **)&f->acquire = find(library, "AHardwareBuffer_acquire");
    *(void **)&f->release = find(library, "AHardwareBuffer_release");
    *(void **)&f->describe = find(library, "AHardwareBuffer_describe");
    *(void **)&f->lock = find(library, "AHardwareBuffer_lock");
    *(void **)&f->unlock = find(library, "AHardwareBuffer_unlock");
    *(void **)&f->id = find(library, "AHardwareBuffer_getId");
    exists = f->acquire && f->release && f->describe && f->lock && f->unlock;
}

bool layer_hardware_exists(void)
{
    pthread_once(&once, look_up);
    return exists;
}
