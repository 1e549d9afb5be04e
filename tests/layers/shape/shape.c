/* SPDX-License-Identifier: MIT */
/*
 * shape: a Vulkan layer, for tests only, that makes a driver look like another one, so that a trace can be replayed on
 * "another machine". It stands next to the driver. LAPILLI_SHAPE says what it changes: words with commas between them,
 * each explained at the top of the file that reads it.
 *
 *   memory.c      split, open, merged, one-visible, reverse, garbage, allocations=N, crowded=BYTES
 *   resources.c   pad=BYTES, align=BYTES, dedicated, pitch=TEXELS
 *   structures.c  structures=FACTOR
 *   limits.c      version=N, granularity=BYTES, offsets=BYTES, limits=NAME:VALUE+NAME:VALUE
 *   features.c    features=NAME+NAME, extensions=NAME+NAME, no-device
 *   formats.c     formats=F+F
 *   queues.c      families=one, families=behind
 *   owners.c      owners
 *   windows.c     images=N
 *   groups.c      groups=N, handles=BYTES
 *
 * What it shows is what it insists on: masks, sizes and indices are translated both ways, memory of a type that is not
 * HOST_VISIBLE can't be mapped, and images of a format that is gone can't be made. Where all types that an object is
 * allowed are gone its mask is empty. Left as they are: the requirements of sparse images' pages and of video sessions,
 * and the families that barriers name (the driver with one family has no use for them).
 *
 * Tables are behind a mutex; drivers are called without it.
 */
#include "tests/layers/shape/shape.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shape_noted {
    struct shape_noted *next;
    VkDevice device;
    uint64_t handle;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

const struct shape_topic *shape_topic(size_t i)
{
    static const struct shape_topic *const topics[] = {
        &shape_memory, &shape_resources, &shape_limits,  &shape_features,   &shape_formats,
        &shape_queues, &shape_owners,    &shape_windows, &shape_structures, &shape_groups,
    };
    return i < sizeof topics / sizeof topics[0] ? topics[i] : NULL;
}

struct shape_device *shape_device_of(const void *dispatchable)
{
    return (struct shape_device *)chain_device_of(dispatchable);
}

bool shape_read_number(const char *text, uint64_t *out)
{
    char *end;
    *out = strtoull(text, &end, 10);
    return *out && !*end;
}

void shape_raise(VkDeviceSize *limit, VkDeviceSize least)
{
    if (*limit < least)
        *limit = least;
}

bool shape_note(struct shape_noted **list, VkDevice device, uint64_t handle)
{
    struct shape_noted *noted = malloc(sizeof *noted);
    if (!noted)
        return false;
    pthread_mutex_lock(&mutex);
    *noted = (struct shape_noted){.next = *list, .device = device, .handle = handle};
    *list = noted;
    pthread_mutex_unlock(&mutex);
    return true;
}

bool shape_is_noted(struct shape_noted *const *list, VkDevice device, uint64_t handle)
{
    const struct shape_noted *noted;
    pthread_mutex_lock(&mutex);
    for (noted = *list; noted && (noted->device != device || noted->handle != handle); noted = noted->next) {
    }
    pthread_mutex_unlock(&mutex);
    return noted;
}

void shape_forget(struct shape_noted **list, VkDevice device, uint64_t handle)
{
    struct shape_noted *found = NULL;
    pthread_mutex_lock(&mutex);
    for (struct shape_noted **link = list; *link; link = &(*link)->next)
        if ((*link)->device == device && (*link)->handle == handle) {
            found = *link;
            *link = found->next;
            break;
        }
    pthread_mutex_unlock(&mutex);
    free(found);
}

static bool read_word(const char *name, const char *value)
{
    for (size_t i = 0; shape_topic(i); i++)
        if (shape_topic(i)->read_word(name, value))
            return true;
    return false;
}

static void start(void)
{
    const char *text = getenv("LAPILLI_SHAPE");
    char *copy = strdup(text ? text : ""), *rest = NULL;

    for (char *word = copy ? strtok_r(copy, ",", &rest) : NULL; word; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = 0;
        if (!read_word(word, value ? value : ""))
            fprintf(stderr, "shape: LAPILLI_SHAPE: what is \"%s\"?\n", word);
    }
    free(copy);
}

static VkResult create_device(struct chain_device *device, PFN_vkCreateDevice create, const VkDeviceCreateInfo *info,
                              const VkAllocationCallbacks *allocator, VkDevice *out)
{
    VkDeviceCreateInfo changed = *info;
    for (size_t i = 0; shape_topic(i); i++) {
        const struct shape_topic *topic = shape_topic(i);
        VkResult result =
            topic->change_device ? topic->change_device((struct shape_device *)device, &changed) : VK_SUCCESS;
        if (result < 0)
            return result;
    }
    return create(device->gpu, &changed, allocator, out);
}

static void device_created(struct chain_device *device)
{
    for (size_t i = 0; shape_topic(i); i++)
        if (shape_topic(i)->device_created)
            shape_topic(i)->device_created((struct shape_device *)device);
}

static const struct chain_function *functions(size_t i)
{
    const struct shape_topic *topic = shape_topic(i);
    return topic ? topic->functions : NULL;
}

const struct chain_layer chain_layer = {.device_bytes = sizeof(struct shape_device),
                                        .start = start,
                                        .create_device = create_device,
                                        .device_created = device_created,
                                        .functions = functions};
