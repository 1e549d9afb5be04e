/* SPDX-License-Identifier: MIT */
#include "layer/submit/external_sync.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file/own_file.h"
#include "gen_layer.h"
#include "layer/core/descriptor.h"
#include "layer/core/unseen.h"

#define MOST_FILES 32u /* descriptors that can be recognized: the newest ones */

enum origin { FROM_HERE, FROM_OUTSIDE, SIGNALLED };

/* The payload behind one exported, or imported, descriptor. */
struct handed_file {
    uint64_t payload; /* 0: no entry */
    bool copies, named;
    dev_t device;
    ino_t inode;
    struct lap_own_file file; /* where it has no name */
    struct layer_device *dev; /* copies: of the work; NULL: the device has ended, or the signal was seen */
    struct layer_work work;
};

struct layer_external_sync {
    uint64_t last_payload;
    uint32_t next;
    struct handed_file files[MOST_FILES];
};

/* ---- the table; devices_mutex is held ---- */

static struct layer_external_sync *table(void)
{
    if (!layer.handed)
        layer.handed = calloc(1, sizeof *layer.handed);
    return layer.handed;
}

static void stop_looking(struct handed_file *file)
{
    if (file->dev)
        atomic_fetch_sub_explicit(&file->dev->handed_files, 1, memory_order_relaxed);
    file->dev = NULL;
}

static void drop(struct handed_file *file)
{
    stop_looking(file);
    if (!file->named)
        lap_own_file_release(&file->file);
    *file = (struct handed_file){0};
}

static bool is_file(struct handed_file *file, bool copies, int fd, bool named, dev_t device, ino_t inode)
{
    if (!file->payload || file->copies != copies || file->named != named)
        return false;
    return named ? file->device == device && file->inode == inode
                 : layer_descriptor_is_same(lap_own_file_fd(&file->file), fd);
}

static struct handed_file *find(struct layer_external_sync *handed, bool copies, int fd)
{
    dev_t device = 0;
    ino_t inode = 0;
    bool named = layer_descriptor_name(fd, &device, &inode);

    for (uint32_t i = 0; i < MOST_FILES; i++) {
        struct handed_file *file = &handed->files[(handed->next + MOST_FILES - 1 - i) % MOST_FILES];
        if (is_file(file, copies, fd, named, device, inode))
            return file;
    }
    return NULL;
}

/* The program may close its descriptor, so a duplicate is kept; open files are compared. */
static struct handed_file *add(struct layer_external_sync *handed, uint64_t payload, bool copies, int fd)
{
    struct handed_file *file = &handed->files[handed->next];
    int own;

    handed->next = (handed->next + 1) % MOST_FILES;
    drop(file);
    file->payload = payload;
    file->copies = copies;
    file->named = layer_descriptor_name(fd, &file->device, &file->inode);
    if (!file->named) {
        own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        lap_own_file_init(&file->file, own, NULL);
    }
    return file;
}

/* ---- exports ---- */

/* The program may know of the signal, and so that the work is done. */
static void seen(struct layer_device *dev, uint64_t payload, struct layer_work work)
{
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_lapilliSeenSync, 0);
    if (enc) {
        gen_encode_lapilliSeenSync(enc, dev->handle, payload);
        layer_packet_end();
        layer_work_finished_work(dev, work);
    }
}

/* The last work that signals the object, if it is not known to be finished. */
static struct layer_work last_work(struct layer_device *dev, const struct layer_external_sync_object *object)
{
    const struct layer_semaphore *semaphore = LAYER_GET(dev, VkSemaphore, object->semaphore);
    const struct layer_fence *fence = LAYER_GET(dev, VkFence, object->fence);
    struct layer_work work = {0};

    pthread_mutex_lock(&dev->submit.mutex);
    if (semaphore)
        work = layer_submission_of_semaphore(dev, layer_sync_key(semaphore->object.index, semaphore->payload));
    else if (fence)
        work = layer_submission_of_fence(dev, layer_sync_key(fence->object.index, fence->payload));
    pthread_mutex_unlock(&dev->submit.mutex);
    return work;
}

/* The payload of the object and the member that has it: permanent or temporary. */
static _Atomic uint64_t *payload_of(const struct layer_external_sync_object *object, bool borrowed)
{
    struct layer_semaphore *semaphore = LAYER_GET(object->device, VkSemaphore, object->semaphore);
    struct layer_fence *fence = LAYER_GET(object->device, VkFence, object->fence);

    if (semaphore)
        return borrowed ? &semaphore->borrowed : &semaphore->payload;
    if (fence)
        return borrowed ? &fence->borrowed : &fence->payload;
    return NULL;
}

struct signalled {
    uint64_t key;
    bool is;
};

static void add_signalled(void *user, uint64_t handle, void *record)
{
    struct signalled *signalled = user;
    const struct layer_semaphore *semaphore = record;

    (void)handle;
    signalled->is |= layer_semaphore_key(semaphore) == signalled->key && semaphore->signalled;
}

/* After an export that moved the signal, or an import. */
static void find_signalled(const struct layer_external_sync_object *object, bool exported, bool copies)
{
    struct layer_device *dev = object->device;
    struct layer_semaphore *semaphore = LAYER_GET(dev, VkSemaphore, object->semaphore);
    struct signalled found = {0};

    if (!semaphore)
        return;
    pthread_mutex_lock(&dev->submit.mutex);
    found.key = layer_semaphore_key(semaphore);
    semaphore->signalled = false;
    if (!exported && !copies)
        lap_map_each(dev->maps[GEN_HANDLE_VkSemaphore], add_signalled, &found);
    semaphore->signalled = !exported && (copies || found.is);
    pthread_mutex_unlock(&dev->submit.mutex);
}

static void set_work(const struct layer_external_sync_object *object, struct layer_work work)
{
    struct layer_semaphore *semaphore = LAYER_GET(object->device, VkSemaphore, object->semaphore);
    struct layer_fence *fence = LAYER_GET(object->device, VkFence, object->fence);

    pthread_mutex_lock(&object->device->submit.mutex);
    if (semaphore)
        semaphore->work = work;
    else if (fence)
        fence->work = work;
    pthread_mutex_unlock(&object->device->submit.mutex);
}

void layer_external_sync_export(const struct layer_external_sync_object *object, bool copies, int fd)
{
    struct layer_device *dev = object->device;
    _Atomic uint64_t *own = payload_of(object, false), *borrowed = payload_of(object, true);
    struct layer_work work = {0};
    struct layer_external_sync *handed;
    uint64_t payload = 0;

    if (!own || !layer_is_recording())
        return;
    if (copies)
        work = last_work(dev, object);
    pthread_mutex_lock(&layer.devices_mutex);
    handed = table();
    if (handed) {
        payload = copies ? 0 : *borrowed ? *borrowed : *own;
        if (!payload)
            payload = ++handed->last_payload;
        if (!copies && !*borrowed)
            *own = payload;
        if (fd >= 0) {
            struct handed_file *file = add(handed, payload, copies, fd);
            if (copies && work.serial && !file->named) {
                file->dev = dev;
                file->work = work;
                atomic_fetch_add_explicit(&dev->handed_files, 1, memory_order_relaxed);
            }
        }
    }
    pthread_mutex_unlock(&layer.devices_mutex);
    if (!handed) {
        layer_stop("out of memory");
        return;
    }
    if (copies) { /* as a wait or a reset would */
        *borrowed = 0;
        set_work(object, (struct layer_work){0});
        find_signalled(object, true, true);
        if (object->fence)
            layer_forget_fence(dev, object->fence);
    }
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_lapilliExportSync, 0);
    if (enc) {
        gen_encode_lapilliExportSync(enc, dev->handle, object->semaphore, object->fence, copies, payload);
        layer_packet_end();
    }
    if (copies && fd == -1) /* it was there already */
        seen(dev, payload, work);
}

/* ---- imports ---- */

void layer_external_sync_find(const struct layer_external_sync_object *object, bool copies, bool temporary, int fd,
                              struct layer_external_sync_import *out)
{
    struct layer_external_sync *handed;
    struct handed_file *file = NULL;

    *out = (struct layer_external_sync_import){.copies = copies, .temporary = temporary || copies};
    if (!layer_is_recording())
        return;
    if (copies && fd == -1) {
        out->origin = SIGNALLED;
        return;
    }
    pthread_mutex_lock(&layer.devices_mutex);
    handed = table();
    if (handed)
        file = find(handed, copies, fd);
    if (file) {
        out->origin = FROM_HERE;
        if (file->dev == object->device)
            out->work = file->work;
    } else if (handed) {
        out->origin = FROM_OUTSIDE;
        file = add(handed, ++handed->last_payload, copies, fd);
        layer_note_unseen(LAP_UNSEEN_SIGNALS);
    }
    out->payload = file ? file->payload : 0;
    pthread_mutex_unlock(&layer.devices_mutex);
    if (!handed)
        layer_stop("out of memory");
}

void layer_external_sync_imported(const struct layer_external_sync_object *object,
                                  const struct layer_external_sync_import *import)
{
    struct layer_device *dev = object->device;
    _Atomic uint64_t *at = payload_of(object, import->temporary);

    if (!at)
        return;
    if (object->fence)
        layer_forget_fence(dev, object->fence);
    *at = import->copies ? 0 : import->payload;
    set_work(object, import->work);
    find_signalled(object, false, import->copies);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_lapilliImportSync, 0);
    if (enc) {
        gen_encode_lapilliImportSync(enc, dev->handle, object->semaphore, object->fence, import->copies,
                                     import->temporary, import->origin, import->payload);
        layer_packet_end();
    }
}

/* ---- signals seen with poll() ---- */

/* One of the device's files that is signalled, from number *at on; its payload, or 0. */
static uint64_t next_signalled(struct layer_device *dev, uint32_t *at, struct layer_work *out_work)
{
    uint64_t payload = 0;

    pthread_mutex_lock(&layer.devices_mutex);
    for (; layer.handed && *at < MOST_FILES && !payload; ++*at) {
        struct handed_file *file = &layer.handed->files[*at];
        struct pollfd look = {.events = POLLIN};
        if (file->dev != dev)
            continue;
        look.fd = lap_own_file_fd(&file->file);
        if (look.fd >= 0 && poll(&look, 1, 0) == 1 && look.revents & POLLIN) {
            payload = file->payload;
            *out_work = file->work;
            stop_looking(file);
        }
    }
    pthread_mutex_unlock(&layer.devices_mutex);
    return payload;
}

void layer_external_sync_look_at_files(struct layer_device *dev)
{
    struct layer_work work;
    uint32_t at = 0;
    uint64_t payload;

    while ((payload = next_signalled(dev, &at, &work)) != 0)
        seen(dev, payload, work);
}

void layer_external_sync_end_device(struct layer_device *dev)
{
    pthread_mutex_lock(&layer.devices_mutex);
    for (uint32_t i = 0; layer.handed && i < MOST_FILES; i++)
        if (layer.handed->files[i].dev == dev)
            stop_looking(&layer.handed->files[i]);
    pthread_mutex_unlock(&layer.devices_mutex);
}
