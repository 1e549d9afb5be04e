/* SPDX-License-Identifier: MIT */
/*
 * deferred_destroy: destroys objects after the submitted work that may use them. A valid program destroys nothing that
 * such work uses; but a trace may do anything, and a driver that computes on the CPU would access freed memory. So
 * while a device is busy (replay_device.busy, submission.h), the replay defers a destruction until all earlier
 * submissions are over. It does not wait for that: destructions come in the recorded order, some frames later.
 *
 * A deferred object brings its own destroy function. One thread.
 */
#ifndef LAP_REPLAYER_SYNC_DEFERRED_DESTROY_H
#define LAP_REPLAYER_SYNC_DEFERRED_DESTROY_H

#include "gen_replay.h"
#include "replayer/core/device.h"

/* A deferred object. */
struct replay_deferred {
    void (*destroy)(struct replay *r, struct replay_device *dev, const struct replay_deferred *object);
    uint64_t live, data;       /* data, detail: for the destroy function */
    enum gen_handle_type type; /* of live */
    uint32_t detail;
    uint64_t number; /* set by this module: the last submission that may use it */
};

/* Defers a destruction, on a busy device. Where there is no room, it waits for the device and destroys the object at
 * once. */
void replay_deferred_destroy_add(struct replay_device *dev, struct replay_deferred object);
/* The same without a wait. False: no room, or the device is idle; nothing is done. */
bool replay_deferred_destroy_try(struct replay_device *dev, struct replay_deferred object);
/* The same for an object with a vkDestroy* command of the device, which may also be idle. It waits for descriptor sets
 * that show the object, too (shown.h). */
void replay_deferred_destroy_handle(struct replay_device *dev, enum gen_handle_type type, uint64_t live);

/* The number of deferred objects, and whether one of this type is among them. */
size_t replay_deferred_destroy_count(const struct replay_device *dev);
bool replay_deferred_destroy_has(const struct replay_device *dev, enum gen_handle_type type);

/* Destroys an object of the device, deferred if the device is busy. Also for the replay's own objects, which the
 * trace's work may use. */
static inline void replay_destroy(struct replay_device *dev, enum gen_handle_type type, uint64_t live)
{
    if (__builtin_expect(dev->busy, 0))
        replay_deferred_destroy_handle(dev, type, live);
    else
        gen_destroy_live(dev, type, live);
}

/* ---- for submission.c ---- */

enum lap_status replay_deferred_destroy_create(struct replay *r, struct replay_device *dev) LAP_MUST_CHECK;
/* Destroys the objects that waited only for submissions up to this number, which are over. The oldest first, so
 * children are destroyed before their parents. */
void replay_deferred_destroy_run(struct replay_device *dev, uint64_t number);
/* Call it with no deferred objects. */
void replay_deferred_destroy_finish(struct replay_device *dev);

#endif
