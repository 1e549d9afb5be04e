/* SPDX-License-Identifier: MIT */
#include "replayer/sync/deferred_destroy.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "replayer/core/handles.h"
#include "replayer/sync/shown.h"
#include "replayer/sync/submission.h"

#define MOST 65536u /* with more, the replay waits for the device */

struct replay_deferred_destroy {
    struct replay *r;
    bool warned_lost; /* the warning about an object that is not destroyed has been logged */
    size_t first, count, capacity;
    struct replay_deferred *objects; /* in ascending order of numbers; those before `first` are destroyed */
};

enum lap_status replay_deferred_destroy_create(struct replay *r, struct replay_device *dev)
{
    if (dev->sync.deferred)
        return LAP_OK;
    dev->sync.deferred = calloc(1, sizeof *dev->sync.deferred);
    if (!dev->sync.deferred)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for deferred destructions");
    dev->sync.deferred->r = r;
    return LAP_OK;
}

void replay_deferred_destroy_finish(struct replay_device *dev)
{
    if (dev->sync.deferred)
        free(dev->sync.deferred->objects);
    free(dev->sync.deferred);
    dev->sync.deferred = NULL;
}

size_t replay_deferred_destroy_count(const struct replay_device *dev)
{
    return dev->sync.deferred ? dev->sync.deferred->count - dev->sync.deferred->first : 0;
}

bool replay_deferred_destroy_has(const struct replay_device *dev, enum gen_handle_type type)
{
    const struct replay_deferred_destroy *deferred = dev->sync.deferred;
    size_t i = deferred ? deferred->first : 0;

    while (deferred && i < deferred->count && deferred->objects[i].type != type)
        i++;
    return deferred && i < deferred->count;
}

void replay_deferred_destroy_run(struct replay_device *dev, uint64_t number)
{
    struct replay_deferred_destroy *deferred = dev->sync.deferred;
    size_t gone = 0;

    if (!deferred)
        return;
    while (deferred->first < deferred->count && deferred->objects[deferred->first].number <= number) {
        const struct replay_deferred object = deferred->objects[deferred->first++];
        object.destroy(deferred->r, dev, &object);
        gone++;
    }
    if (gone)
        replay_objects_release(deferred->r, gone);
    if (deferred->first == deferred->count)
        deferred->first = deferred->count = 0;
}

static bool need_room(struct replay_deferred_destroy *deferred)
{
    if (deferred->count < deferred->capacity)
        return true;
    if (deferred->first > deferred->count / 2) {
        deferred->count -= deferred->first;
        memmove(deferred->objects, deferred->objects + deferred->first, deferred->count * sizeof *deferred->objects);
        deferred->first = 0;
        return true;
    }
    return lap_array_grow(&deferred->objects, sizeof *deferred->objects, &deferred->capacity, deferred->count + 1);
}

static bool is_full(const struct replay_device *dev)
{
    return replay_deferred_destroy_count(dev) >= MOST;
}

bool replay_deferred_destroy_try(struct replay_device *dev, struct replay_deferred object)
{
    struct replay_deferred_destroy *deferred = dev->sync.deferred;

    if (!dev->busy || is_full(dev) || !need_room(deferred) || replay_objects_reserve(deferred->r, 1) != LAP_OK)
        return false;
    object.number = replay_submission_last(dev);
    LAP_ASSERT(deferred->first == deferred->count || deferred->objects[deferred->count - 1].number <= object.number,
               "what is put aside later waits for later submissions");
    deferred->objects[deferred->count++] = object;
    return true;
}

void replay_deferred_destroy_add(struct replay_device *dev, struct replay_deferred object)
{
    struct replay_deferred_destroy *deferred = dev->sync.deferred;

    if (is_full(dev))
        (void)replay_submission_await_all(dev);
    if (replay_deferred_destroy_try(dev, object))
        return;
    if (!dev->busy || replay_submission_await_all(dev)) {
        object.destroy(deferred->r, dev, &object);
    } else if (!deferred->warned_lost) {
        lap_log(deferred->r->log, LAP_LOG_WARNING, "%s is not destroyed: there is no memory, and the device is at work",
                gen_handle_names[object.type]);
        deferred->warned_lost = true;
    }
}

static void destroy_handle(struct replay *r, struct replay_device *dev, const struct replay_deferred *object)
{
    (void)r;
    gen_destroy_live(dev, object->type, object->live);
}

void replay_deferred_destroy_handle(struct replay_device *dev, enum gen_handle_type type, uint64_t live)
{
    if (!live || (dev->shown && replay_shown_keep(dev, type, live)))
        return;
    if (dev->busy)
        replay_deferred_destroy_add(dev,
                                    (struct replay_deferred){.destroy = destroy_handle, .type = type, .live = live});
    else
        gen_destroy_live(dev, type, live);
}
