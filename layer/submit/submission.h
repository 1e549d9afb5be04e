/* SPDX-License-Identifier: MIT */
/*
 * submission: the list of submitted work behind submit.h. All of it under dev->submit.mutex.
 */
#ifndef LAP_LAYER_SUBMISSION_H
#define LAP_LAYER_SUBMISSION_H

#include "layer/command/progress_query.h"
#include "layer/command/touched.h"
#include "layer/submit/submit.h"

/* A signal of a semaphore. Binary semaphores are counted, so that both kinds are numbers that grow. */
struct layer_point {
    uint64_t semaphore; /* key of the record: external_sync.h */
    uint64_t handle;
    uint64_t value;
    bool partial; /* signalled when some stages were done; others may still run */
};

/* A wait for an event that the host sets (host_gate.h). */
struct layer_host_gate {
    uint64_t event, index; /* handle and index of the record */
    uint64_t number;       /* of the host's sets */
};

struct layer_written {
    layer_resource resource;
    uint64_t offset, bytes;
    bool check; /* its contents are the same in every run */
};

static inline bool layer_written_overlap(const struct layer_written *a, const struct layer_written *b)
{
    return a->resource == b->resource && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* The program's knowledge of the work, in ascending order. */
enum layer_submission_state {
    LAYER_RUNNING,
    LAYER_SEEN,    /* some of it may be known to be done: by a signal of some stages, an event or a query */
    LAYER_FINISHED /* the program has waited for all of it, and so does a replay */
};

/* One batch of a vkQueueSubmit, or the part of it between two waits for events of the host. Seen but unfinished
 * submissions are kept to be checked (capture --verify). */
struct layer_submission {
    struct layer_submission *next;
    VkQueue queue;
    uint64_t serial;
    uint64_t fence; /* key of the record (external_sync.h); 0: none, or reset since */
    enum layer_submission_state state;
    bool anywhere;   /* its shaders may store at unknown places */
    bool unsearched; /* and these were not searched yet */
    bool absorbed;   /* memory tracking has been notified that its device writes are over */
    bool gated;      /* it can't have begun: host_gate.h */
    struct layer_progress_queries progress_queries;
    struct layer_point *signals, *waits;
    struct layer_host_gate *gates;
    struct layer_written *written;
    uint32_t signal_count, wait_count, gate_count, written_count;
    uint32_t signal_capacity, wait_capacity, gate_capacity, written_capacity;
};

/* A submission at the end of the list, or NULL when out of memory (the recording stops). */
struct layer_submission *layer_submission_begin(struct layer_device *dev, VkQueue queue);
bool layer_submission_signal(struct layer_submission *submission, struct layer_point point);
bool layer_submission_wait(struct layer_submission *submission, struct layer_point point);
bool layer_submission_gate(struct layer_submission *submission, struct layer_host_gate gate);
bool layer_submission_wrote(struct layer_submission *submission, struct layer_written written);
/* Keeps the list short. After a submission was filled in. */
void layer_submission_end(struct layer_device *dev);
/* Adds the memory that it writes. */
void layer_submission_writes_to(struct layer_device *dev, const struct layer_submission *submission,
                                struct lap_touched *touched);
/* A signal may have released gated work (host_gate.h): writes packets of all host writes; from now on the memory that
 * the work writes counts as written by the device. */
void layer_submission_let_go(struct layer_device *dev);
/* True when the submit with this serial is not known to be finished. */
bool layer_submission_is_running(const struct layer_device *dev, uint64_t serial);
/* The last submission that signals a semaphore, or the fence, by key (external_sync.h); serial 0: none is running. */
struct layer_work layer_submission_of_semaphore(const struct layer_device *dev, uint64_t key);
struct layer_work layer_submission_of_fence(const struct layer_device *dev, uint64_t key);
/* The layer itself has waited for the queue, and a replay does so, too: the work counts as waited for by the program.
 * Under verify.mutex only. */
void layer_submission_waited(struct layer_device *dev, VkQueue queue);
/* The device is idle: all of its work is finished. Under verify.mutex only. */
void layer_submission_idle(struct layer_device *dev);
/* Whether other work may have changed a range that finished work wrote, or may still change it. */
bool layer_submission_may_differ(const struct layer_device *dev, const struct layer_submission *submission,
                                 const struct layer_written *range);
/* True when work that the program has not waited for, and that may have begun, may store at unknown places. */
bool layer_submission_stores_anywhere(const struct layer_device *dev);
/* True when work that the program has not waited for writes some of the range. */
bool layer_submission_writes(const struct layer_device *dev, const struct layer_written *range);
/* sparse_snapshot.c. A range of an object is about to get other memory, but unfinished work still writes to the current
 * memory. Such places are kept, under numbers of their own, until the work is finished. */
void layer_submission_moves(struct layer_device *dev, const struct layer_written *range);
/* Drops the places that no work writes any more (all: every place). */
void layer_sparse_snapshots_release(struct layer_device *dev, bool all);
/* The driver rejected the submit: drops the submissions with serials [first, last]. */
void layer_submission_cancel(struct layer_device *dev, uint64_t first, uint64_t last);

#endif
