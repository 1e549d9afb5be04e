/* SPDX-License-Identifier: MIT */
/*
 * fork: a child that goes on without exec has a copy of the layer's tables and locks at the time of the fork, and none
 * of the threads that may have been changing them. So all locks are taken before, in the order of docs/architecture.md
 * ("Locks"), and initialised again in the child.
 *
 * The layer must not block fork(). A lock that the forking thread holds itself (a driver forks inside a call of the
 * layer) is left alone: the child continues with it. If another thread does not release a lock in time, the child
 * forgets the data under it. The locks of the writer are not taken: its functions return before their first lock once
 * it is abandoned. Neither is verify.mutex, which is held while the GPU works.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "layer/core/records.h"

#define FORK_WAIT_NS INT64_C(500000000) /* for all locks together */
#define NANOSECONDS  INT64_C(1000000000)
#define MAX_MISSED   16u

/* The current fork; under devices_mutex. A lock is identified by its place in the order. */
static struct {
    _Atomic uintptr_t thread; /* 0: none */
    struct timespec deadline;
    uint32_t place;
    struct missed {
        uint32_t place;
        bool own; /* of the forking thread */
    } missed[MAX_MISSED];
    uint32_t missed_count;
    uint32_t end; /* from this place on no lock was tried */
} forking;

typedef void (*visit_fn)(pthread_mutex_t *mutex, struct layer_device *dev);

/* Visits all locks in their order. dev: the device whose submissions or tracker the lock guards. The list of devices is
 * the same before and after the fork, so the places are, too. */
static void each_mutex(visit_fn visit)
{
    forking.place = 0;
    visit(&layer.recording_mutex, NULL);
    for (struct layer_device *dev = layer.devices; dev; dev = dev->next)
        visit(&dev->submit.mutex, dev);
    for (struct layer_device *dev = layer.devices; dev; dev = dev->next)
        visit(&dev->descriptors.mutex, NULL); /* slots are complete at any time */
    for (struct layer_device *dev = layer.devices; dev; dev = dev->next)
        visit(&dev->map_mutex, NULL); /* the tracker has the mappings, too */
    for (struct layer_device *dev = layer.devices; dev; dev = dev->next)
        visit(&dev->backing.mutex, NULL); /* complete at any time, as slots are */
    for (struct layer_device *dev = layer.devices; dev; dev = dev->next)
        visit(&dev->copies.mutex, NULL); /* the child's device is never used */
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++)
        visit(&layer.object_mutex[type], NULL);
    for (struct layer_device *dev = layer.devices; dev; dev = dev->next)
        if (dev->memtrack) /* NULL where nothing is recorded, and in the child of a child: see forget */
            visit(lap_memtrack_mutex(dev->memtrack), dev);
    visit(&layer.instances_by_table.mutex, NULL);
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++)
        visit(&layer.maps[type].mutex, NULL);
    for (struct layer_device *dev = layer.devices; dev; dev = dev->next) {
        for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++)
            if (!gen_handle_global[type])
                visit(&dev->own_maps[type].mutex, dev);
        visit(&dev->submit.resources.mutex, dev);
        visit(&dev->code.known.mutex, NULL); /* additions are complete at any time */
    }
}

static const struct missed *find_missed(uint32_t place)
{
    for (uint32_t i = 0; i < forking.missed_count; i++)
        if (forking.missed[i].place == place)
            return &forking.missed[i];
    return NULL;
}

static void take(pthread_mutex_t *mutex, struct layer_device *dev)
{
    uint32_t place = forking.place++;
    int error = place < forking.end ? pthread_mutex_timedlock(mutex, &forking.deadline) : 0;
    if (error == 0)
        return;
    if (forking.missed_count == MAX_MISSED)
        forking.end = place;
    else
        forking.missed[forking.missed_count++] = (struct missed){place, error == EDEADLK};
}

static void give_back(pthread_mutex_t *mutex, struct layer_device *dev)
{
    uint32_t place = forking.place++;
    if (place < forking.end && !find_missed(place))
        pthread_mutex_unlock(mutex);
}

static bool is_mine(void)
{
    return atomic_load(&forking.thread) == (uintptr_t)pthread_self();
}

static void before_fork(void)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    int64_t end = deadline.tv_nsec + FORK_WAIT_NS;
    deadline.tv_sec += (time_t)(end / NANOSECONDS);
    deadline.tv_nsec = (long)(end % NANOSECONDS);
    if (pthread_mutex_timedlock(&layer.devices_mutex, &deadline) != 0)
        return;
    forking.deadline = deadline;
    forking.missed_count = 0;
    forking.end = UINT32_MAX;
    atomic_store(&forking.thread, (uintptr_t)pthread_self());
    each_mutex(take);
}

static void in_parent(void)
{
    if (!is_mine())
        return;
    each_mutex(give_back);
    atomic_store(&forking.thread, 0);
    pthread_mutex_unlock(&layer.devices_mutex);
}

/* ---- the child ---- */

static void forget_memory(void *user, uint64_t handle, void *record)
{
    ((struct layer_memory *)record)->mem = NULL;
}

static void forget_buffer(void *user, uint64_t handle, void *record)
{
    ((struct layer_buffer *)record)->memobj = NULL;
}

static void forget_image(void *user, uint64_t handle, void *record)
{
    ((struct layer_image *)record)->memobj = NULL;
}

/* Another thread may have been changing the records of the work and the memory of a device: the child drops them, and
 * passes all calls through. Their memory stays allocated. */
static void forget(struct layer_device *dev)
{
    dev->memtrack = NULL;
    lap_map_each(&dev->own_maps[GEN_HANDLE_VkDeviceMemory], forget_memory, NULL);
    lap_map_each(&dev->own_maps[GEN_HANDLE_VkBuffer], forget_buffer, NULL);
    lap_map_each(&dev->own_maps[GEN_HANDLE_VkImage], forget_image, NULL);
    lap_map_init(&dev->submit.resources);
    dev->submit.first = dev->submit.last = dev->submit.spare = NULL;
    dev->submit.gated_count = 0;
    dev->submit.snapshots.all = NULL;
    dev->submit.snapshots.count = dev->submit.snapshots.capacity = 0;
    atomic_store(&dev->submit.count, 0);
    memset(&dev->submit.touched, 0, sizeof dev->submit.touched);
    memset(&dev->submit.batch, 0, sizeof dev->submit.batch);
    memset(&dev->submit.unseen, 0, sizeof dev->submit.unseen);
}

static void make_anew(pthread_mutex_t *mutex, struct layer_device *dev)
{
    uint32_t place = forking.place++;
    const struct missed *missed = find_missed(place);
    layer_mutex_init(mutex);
    if (dev && (place >= forking.end || (missed && !missed->own)))
        dev->torn = true;
}

static void inherit_instance(void *user, uint64_t handle, void *record)
{
    ((struct layer_instance *)record)->tables.inherited = true;
}

static void in_child(void)
{
    if (!is_mine()) { /* not even the list could be locked */
        forking.missed_count = 0;
        forking.end = 0;
    }
    each_mutex(make_anew);
    for (struct layer_device *dev = layer.devices; dev; dev = dev->next) {
        if (dev->torn)
            forget(dev);
        dev->tables.inherited = true;
        layer_mutex_init(&dev->verify.mutex);
        dev->verify.readback = NULL;
    }
    lap_map_each(&layer.maps[GEN_HANDLE_VkInstance], inherit_instance, NULL);
    layer.imports = NULL; /* those of devices that are not recorded here */
    layer.payloads = NULL;
    atomic_store(&layer.unseen, 0);
    layer.handed = NULL;
    atomic_store(&forking.thread, 0);
    layer_mutex_init(&layer.devices_mutex);
    layer_recording_forked();
}

bool layer_fork_watch(void)
{
    return pthread_atfork(before_fork, in_parent, in_child) == 0;
}

/* ---- watched devices ---- */

void layer_fork_add(struct layer_device *dev)
{
    pthread_mutex_lock(&layer.devices_mutex);
    dev->next = layer.devices;
    dev->previous = &layer.devices;
    if (dev->next)
        dev->next->previous = &dev->next;
    layer.devices = dev;
    pthread_mutex_unlock(&layer.devices_mutex);
}

void layer_fork_remove(struct layer_device *dev)
{
    pthread_mutex_lock(&layer.devices_mutex);
    *dev->previous = dev->next;
    if (dev->next)
        dev->next->previous = dev->previous;
    pthread_mutex_unlock(&layer.devices_mutex);
}
