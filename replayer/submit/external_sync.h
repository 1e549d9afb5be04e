/* SPDX-License-Identifier: MIT */
/*
 * external_sync: semaphores and fences that the program exported as file descriptors (lapilliExportSync,
 * lapilliImportSync; docs/ordering.md, "Signals by descriptor"). A replay has no descriptors: an imported semaphore or
 * fence becomes the exported one, and a copy takes over the live object with its signal. Signals from outside the trace
 * count as given, and the replay makes the waits from outside, so that signals and waits of binary semaphores
 * alternate.
 *
 * One thread. Nothing here runs while a device has none of these objects.
 */
#ifndef LAP_REPLAYER_SUBMIT_EXTERNAL_SYNC_H
#define LAP_REPLAYER_SUBMIT_EXTERNAL_SYNC_H

#include "replayer/core/device.h"
#include "replayer/submit/schedule.h"

/* The record of a VkSemaphore: objects of the trace with one live semaphore have one record. */
struct replay_semaphore_record {
    struct replay_semaphore schedule; /* first */
    uint32_t users;                   /* objects with it, beside the first */
    bool handed;                      /* the program could export it, so that others can signal it and wait for it */
    bool from_outside;                /* created outside the trace */
    bool pending;                     /* handed, binary: signalled, and not waited for yet */
    bool signalled, waited;           /* binary_semaphores.h: its state, and whether there was a wait */
};

/* The record of a live semaphore, created on first use. NULL: no such semaphore, or out of memory. */
struct replay_semaphore_record *replay_semaphore_record_of(struct replay *r, VkSemaphore live);

/* Before vkCreateSemaphore and vkCreateFence: drops from the chain the structures that make them exportable. True:
 * there were some. */
bool replay_external_sync_drop_exports(const void **chain);
/* After that, if it was exportable: from now on its signals are followed. */
enum lap_status replay_external_sync_created(struct replay *r, struct replay_device *dev,
                                             VkSemaphore live) LAP_MUST_CHECK;

/* Before a call goes into the schedule or to the driver: gives each wait and signal the semaphore that it is for at
 * that point. args are those of GEN_vkQueueSubmit, GEN_vkQueueSubmit2, GEN_vkQueueBindSparse or GEN_vkQueuePresentKHR,
 * which the current packet has, too. */
enum lap_status replay_external_sync_resolve(struct replay *r, struct replay_device *dev, uint32_t command,
                                             void *args) LAP_MUST_CHECK;
static inline enum lap_status replay_external_sync_before(struct replay *r, struct replay_device *dev, uint32_t command,
                                                          void *args)
{
    return __builtin_expect(dev->sync.handed != NULL, 0) ? replay_external_sync_resolve(r, dev, command, args) : LAP_OK;
}

/* Before waits for fences: handles fences that are copies from other devices. *out_over: no signal in the trace ends
 * the wait. */
enum lap_status replay_external_sync_await(struct replay *r, struct replay_device *dev, VkFence fence,
                                           bool *out_over) LAP_MUST_CHECK;
/* Before a reset: imported fences of the current packet get their own payloads back, in the list, too. */
enum lap_status replay_external_sync_reset(struct replay *r, struct replay_device *dev, uint32_t count,
                                           VkFence *fences) LAP_MUST_CHECK;

/* Before the end of an object. False: other objects have its live object, which stays. */
bool replay_external_sync_end(struct replay *r, struct replay_device *dev, enum gen_handle_type type, uint64_t index);

/* Before the end of the device's objects. */
void replay_external_sync_finish(struct replay *r, struct replay_device *dev);

#endif
