/* SPDX-License-Identifier: MIT */
/* external_sync_objects: the state of external_sync.c for a device's semaphores and fences, for the calls that name
 * them (external_sync_calls.c). */
#ifndef LAP_REPLAYER_SUBMIT_EXTERNAL_SYNC_OBJECTS_H
#define LAP_REPLAYER_SUBMIT_EXTERNAL_SYNC_OBJECTS_H

#include "base/arena.h"
#include "replayer/submit/external_sync.h"

/* One signal, the payload of a sync file. A semaphore can be waited for once, a fence any number of times. */
struct copy {
    struct copy *next;
    uint64_t payload;
    VkSemaphore semaphore; /* 0: claimed, or it is a fence's signal */
    VkFence fence;
    uint64_t claimed_by; /* index of the VkSemaphore that has it until its next wait; 0: none */
    VkQueue waited_on;   /* the queue of the wait for it */
};

/* An opaque payload, by one of its objects. */
struct shared {
    struct shared *next;
    uint64_t payload, index;
    enum gen_handle_type type;
};

/* An object that has another's payload until its next wait, or reset. */
struct borrowed {
    struct borrowed *next;
    enum gen_handle_type type;
    uint64_t index, own_live;
    void *own_record;
    bool shares;                   /* a shared payload: the live object is another's */
    struct replay_device *awaited; /* the copy's device, where it is another */
    VkFence fence;                 /* of a copy there; or of a fence's copy for a semaphore */
};

/* A semaphore of no object any more, which submitted work waits for. */
struct retired {
    struct retired *next;
    VkSemaphore live;
    struct replay_semaphore_record *record;
};

struct replay_external_sync {
    struct retired *retired;
    struct lap_arena arena; /* packets that are decoded again */
    struct copy *copies;    /* newest first */
    uint32_t copy_count;
    struct shared *shared;
    struct borrowed *borrowed;
    VkFence signalled; /* for fences whose signal is not the trace's */
    bool warned;
};

/* The link to what an object has borrowed, or to NULL. */
struct borrowed **replay_external_sync_borrowed(struct replay_device *dev, enum gen_handle_type type, uint64_t index);
/* Restores the object's own payload; the borrowed one was not waited for. Does nothing where nothing is borrowed. */
void replay_external_sync_give_back(struct replay *r, struct replay_device *dev, enum gen_handle_type type,
                                    uint64_t index);
/* The same where the current call waits for it on a queue. */
enum lap_status replay_external_sync_give_back_waited(struct replay *r, struct replay_device *dev,
                                                      struct borrowed **link, VkQueue queue) LAP_MUST_CHECK;
/* Destroys semaphores that earlier calls have waited for and that no object has any more. */
void replay_external_sync_destroy_retired(struct replay_device *dev);

/* On the main queue: waits for a semaphore (or none) and signals others, and a fence (or none). */
enum lap_status replay_external_sync_pass_on(struct replay *r, struct replay_device *dev, VkSemaphore wait,
                                             uint32_t count, const VkSemaphore *signals, VkFence fence) LAP_MUST_CHECK;
/* Signals a semaphore after the work of a queue (NULL: the main queue), which work of the trace can't do. */
enum lap_status replay_external_sync_signal(struct replay *r, struct replay_device *dev, VkQueue after,
                                            VkSemaphore semaphore) LAP_MUST_CHECK;
/* Reports once that a signal from outside the trace counts as given. */
void replay_external_sync_say_outside(struct replay *r, struct replay_device *dev);

#endif
