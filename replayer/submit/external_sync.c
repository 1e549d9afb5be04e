/* SPDX-License-Identifier: MIT */
#include "replayer/submit/external_sync.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/core/handles.h"
#include "replayer/device/queues.h"
#include "replayer/submit/acquired_images.h"
#include "replayer/submit/external_sync_objects.h"
#include "replayer/submit/submit.h"
#include "replayer/sync/deferred_destroy.h"
#include "replayer/sync/submission.h"
#include "replayer/sync/wait.h"
#include "vulkan/chain.h"

#define MOST_COPIES 64u /* more than the layer can distinguish (layer/submit/external_sync.c) */

enum origin { FROM_HERE, FROM_OUTSIDE, SIGNALLED };

static enum lap_status need(struct replay *r, struct replay_device *dev)
{
    if (!dev->sync.handed)
        dev->sync.handed = calloc(1, sizeof *dev->sync.handed);
    if (!dev->sync.handed)
        return replay_no_scratch(r);
    if (!dev->sync.handed->arena.limit_bytes)
        lap_arena_init(&dev->sync.handed->arena, r->arena.limit_bytes);
    return LAP_OK;
}

/* ---- records ---- */

struct replay_semaphore_record *replay_semaphore_record_of(struct replay *r, VkSemaphore live)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkSemaphore, gen_u64_VkSemaphore(live));
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkSemaphore, index);

    for (const struct replay_device *dev = r->devices; !object && dev; dev = dev->next)
        for (struct retired *retired = dev->sync.handed ? dev->sync.handed->retired : NULL; retired;
             retired = retired->next)
            if (retired->live == live)
                return retired->record;
    if (object && !object->record)
        object->record = calloc(1, sizeof(struct replay_semaphore_record));
    return object ? object->record : NULL;
}

static struct replay_semaphore_record *record_of(struct replay_object *object)
{
    if (!object->record)
        object->record = calloc(1, sizeof(struct replay_semaphore_record));
    return object->record;
}

bool replay_external_sync_drop_exports(const void **chain)
{
    static const VkStructureType dropped[] = {VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
                                              VK_STRUCTURE_TYPE_EXPORT_FENCE_CREATE_INFO};
    const VkExportSemaphoreCreateInfo *export = lap_chain_find(*chain, VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO);
    bool shares = export && export->handleTypes &
                                ~(VkExternalSemaphoreHandleTypeFlags)VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT;

    lap_chain_drop(chain, dropped, sizeof dropped / sizeof *dropped);
    return shares;
}

enum lap_status replay_external_sync_created(struct replay *r, struct replay_device *dev, VkSemaphore live)
{
    struct replay_semaphore_record *record = replay_semaphore_record_of(r, live);
    enum lap_status status = record ? need(r, dev) : replay_no_scratch(r);

    if (status == LAP_OK)
        record->handed = true;
    return status;
}

/* ---- the replay's own waits and signals ---- */

static enum lap_status new_semaphore(struct replay *r, struct replay_device *dev, VkSemaphore *out)
{
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    return replay_result(r, dev->vk.CreateSemaphore(dev->live, &info, NULL, out));
}

static enum lap_status new_fence(struct replay *r, struct replay_device *dev, VkFenceCreateFlags flags, VkFence *out)
{
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .flags = flags};
    return replay_result(r, dev->vk.CreateFence(dev->live, &info, NULL, out));
}

/* On the main queue: waits for one semaphore, and signals up to two and a fence. Counts as work, so that these objects
 * are destroyed after it. */
enum lap_status replay_external_sync_pass_on(struct replay *r, struct replay_device *dev, VkSemaphore wait,
                                             uint32_t count, const VkSemaphore *signals, VkFence fence)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .waitSemaphoreCount = wait ? 1 : 0,
                                 .pWaitSemaphores = &wait,
                                 .pWaitDstStageMask = &stage,
                                 .signalSemaphoreCount = count,
                                 .pSignalSemaphores = signals};
    struct replay_submission submission;
    enum lap_status status;
    VkResult result;
    bool stuck = false;

    if (!dev->queues.main)
        return replay_fail(r, "the device has no queue that could wait for a semaphore");
    status = wait ? replay_submits_need(r, dev, 1, &wait, &stuck) : LAP_OK;
    if (status == LAP_OK && wait)
        status = replay_acquired_images_signal(r, dev, 1, &wait);
    if (status == LAP_OK)
        status = replay_submission_begin(r, dev, dev->queues.main->live, fence, &submission);
    if (status != LAP_OK)
        return status;
    result = dev->vk.QueueSubmit(dev->queues.main->live, 1, &submit, submission.fence);
    replay_submission_end(dev, dev->queues.main->live, &submission, result >= 0);
    return replay_result(r, result);
}

/* Signals a semaphore whose signal is not in the trace, or has been given already. */
enum lap_status replay_external_sync_signal(struct replay *r, struct replay_device *dev, VkQueue after,
                                            VkSemaphore semaphore)
{
    const struct replay_queue *queue = after ? replay_queue_find(dev, after) : dev->queues.main;

    if (!queue)
        return replay_fail(r, "the device has no queue that could signal a semaphore");
    return replay_acquired_images_signal_later(r, dev, queue, semaphore);
}

void replay_external_sync_say_outside(struct replay *r, struct replay_device *dev)
{
    if (!dev->sync.handed->warned)
        lap_log(r->log, LAP_LOG_WARNING,
                "packet %" PRIu64 ": a signal of another process or API is taken as given (said once)",
                r->at.packet.ticket);
    dev->sync.handed->warned = true;
}

/* ---- copies ---- */

static struct copy *find_copy(struct replay_device *dev, uint64_t payload)
{
    struct copy *copy = dev->sync.handed ? dev->sync.handed->copies : NULL;

    while (copy && copy->payload != payload)
        copy = copy->next;
    return copy;
}

static bool is_borrowed_fence(const struct replay *r, VkFence fence)
{
    for (const struct replay_device *dev = r->devices; dev; dev = dev->next)
        for (const struct borrowed *b = dev->sync.handed ? dev->sync.handed->borrowed : NULL; b; b = b->next)
            if (b->fence == fence)
                return true;
    return false;
}

static void drop_copy(struct replay *r, struct replay_device *dev, struct copy **link)
{
    struct copy *copy = *link;

    *link = copy->next;
    dev->sync.handed->copy_count--;
    replay_acquired_images_forget(dev, copy->semaphore);
    if (copy->semaphore)
        replay_destroy(dev, GEN_HANDLE_VkSemaphore, gen_u64_VkSemaphore(copy->semaphore));
    if (copy->fence)
        replay_destroy(dev, GEN_HANDLE_VkFence, gen_u64_VkFence(copy->fence));
    free(copy);
}

/* The oldest copy without a waiting fence makes room. */
static void drop_oldest(struct replay *r, struct replay_device *dev)
{
    struct copy **oldest = NULL;

    for (struct copy **link = &dev->sync.handed->copies; *link; link = &(*link)->next)
        if (!(*link)->fence || !is_borrowed_fence(r, (*link)->fence))
            oldest = link;
    if (oldest && dev->sync.handed->copy_count > MOST_COPIES)
        drop_copy(r, dev, oldest);
}

static struct copy *add_copy(struct replay *r, struct replay_device *dev, uint64_t payload)
{
    struct copy *copy = calloc(1, sizeof *copy);

    if (!copy)
        return NULL;
    copy->payload = payload;
    copy->next = dev->sync.handed->copies;
    dev->sync.handed->copies = copy;
    dev->sync.handed->copy_count++;
    drop_oldest(r, dev);
    return copy;
}

/* Gives a copy a fence of any device, for waits by the host. */
static enum lap_status need_fence(struct replay *r, struct replay_device *dev, struct copy *copy)
{
    struct replay_object *holder;
    VkSemaphore signal, next = VK_NULL_HANDLE;
    enum lap_status status;

    if (copy->fence)
        return LAP_OK;
    status = new_fence(r, dev, 0, &copy->fence);
    holder = copy->claimed_by ? replay_object_get(r, GEN_HANDLE_VkSemaphore, copy->claimed_by) : NULL;
    signal = holder ? gen_VkSemaphore(holder->live) : copy->semaphore;
    if (status == LAP_OK && signal)
        status = new_semaphore(r, dev, &next);
    if (status == LAP_OK)
        status = replay_external_sync_pass_on(r, dev, signal, signal ? 1 : 0, &next, copy->fence);
    if (status != LAP_OK || !signal)
        return status;
    replay_destroy(dev, GEN_HANDLE_VkSemaphore, gen_u64_VkSemaphore(signal));
    if (holder)
        replay_object_move(r, GEN_HANDLE_VkSemaphore, copy->claimed_by, gen_u64_VkSemaphore(next));
    else
        copy->semaphore = next;
    return LAP_OK;
}

/* A semaphore with the copy's signal, for one wait by the object `index`. */
static enum lap_status claim(struct replay *r, struct replay_device *dev, struct copy *copy, uint64_t index,
                             VkSemaphore *out)
{
    struct replay_object *holder;
    VkSemaphore two[2] = {VK_NULL_HANDLE, VK_NULL_HANDLE}, old;
    enum lap_status status;

    if (copy->semaphore) {
        *out = copy->semaphore;
        copy->semaphore = VK_NULL_HANDLE;
        copy->claimed_by = index;
        return LAP_OK;
    }
    holder = copy->claimed_by ? replay_object_get(r, GEN_HANDLE_VkSemaphore, copy->claimed_by) : NULL;
    if (!holder) { /* after the wait of its last holder */
        status = new_semaphore(r, dev, out);
        return status == LAP_OK ? replay_external_sync_signal(r, dev, copy->waited_on, *out) : status;
    }
    old = gen_VkSemaphore(holder->live);
    status = new_semaphore(r, dev, &two[0]);
    if (status == LAP_OK)
        status = new_semaphore(r, dev, &two[1]);
    if (status == LAP_OK)
        status = replay_external_sync_pass_on(r, dev, old, 2, two, VK_NULL_HANDLE);
    if (status != LAP_OK)
        return status;
    replay_destroy(dev, GEN_HANDLE_VkSemaphore, gen_u64_VkSemaphore(old));
    replay_object_move(r, GEN_HANDLE_VkSemaphore, copy->claimed_by, gen_u64_VkSemaphore(two[0]));
    *out = two[1];
    return LAP_OK;
}

/* ---- objects with another's payload for a while ---- */

struct borrowed **replay_external_sync_borrowed(struct replay_device *dev, enum gen_handle_type type, uint64_t index)
{
    struct borrowed **link = &dev->sync.handed->borrowed;

    while (*link && ((*link)->type != type || (*link)->index != index))
        link = &(*link)->next;
    return link;
}

/* Removes one user of a shared object. True: it was the last. */
static bool let_go(struct replay_semaphore_record *record)
{
    if (!record || !record->users)
        return true;
    record->users--;
    return false;
}

/* An object of another that no one uses now. */
struct spent {
    uint64_t live;
    struct replay_semaphore_record *record;
};

/* Restores the object's own payload. waited_on: the queue of the wait that ends the loan; NULL: there was none. */
static struct spent give_back(struct replay *r, struct replay_device *dev, struct borrowed **link, VkQueue waited_on)
{
    struct borrowed *b = *link;
    struct replay_object *object = replay_object_get(r, b->type, b->index);
    struct spent spent = {object->live, object->record};

    for (struct copy *copy = b->type == GEN_HANDLE_VkSemaphore ? dev->sync.handed->copies : NULL; copy;
         copy = copy->next)
        if (copy->claimed_by == b->index) {
            copy->claimed_by = 0;
            copy->waited_on = waited_on;
            if (!waited_on) { /* it was never waited for */
                copy->semaphore = gen_VkSemaphore(spent.live);
                spent.live = 0;
            }
        }
    if (b->shares ? !let_go(spent.record) : b->type == GEN_HANDLE_VkFence)
        spent = (struct spent){0, NULL}; /* other objects have it */
    replay_object_move(r, b->type, b->index, b->own_live);
    object->record = b->own_record;
    *link = b->next;
    free(b);
    return spent;
}

static void destroy_live(struct replay_device *dev, enum gen_handle_type type, uint64_t live)
{
    if (!live)
        return;
    if (type == GEN_HANDLE_VkSemaphore)
        replay_acquired_images_forget(dev, gen_VkSemaphore(live));
    replay_destroy(dev, type, live);
}

void replay_external_sync_give_back(struct replay *r, struct replay_device *dev, enum gen_handle_type type,
                                    uint64_t index)
{
    struct borrowed **link = replay_external_sync_borrowed(dev, type, index);
    struct spent spent;

    if (!*link)
        return;
    spent = give_back(r, dev, link, NULL);
    destroy_live(dev, type, spent.live);
    free(spent.record);
}

/* The current call waits for these semaphores; a later one destroys them, when no held work names them. */
void replay_external_sync_destroy_retired(struct replay_device *dev)
{
    struct retired **link = &dev->sync.handed->retired;

    while (*link) {
        struct retired *retired = *link;
        if (retired->record && replay_submits_name_semaphore(dev, &retired->record->schedule)) {
            link = &retired->next;
            continue;
        }
        *link = retired->next;
        destroy_live(dev, GEN_HANDLE_VkSemaphore, gen_u64_VkSemaphore(retired->live));
        free(retired->record);
        free(retired);
    }
}

enum lap_status replay_external_sync_give_back_waited(struct replay *r, struct replay_device *dev,
                                                      struct borrowed **link, VkQueue queue)
{
    struct retired *retired = calloc(1, sizeof *retired);
    struct spent spent;

    if (!retired)
        return replay_no_scratch(r);
    spent = give_back(r, dev, link, queue);
    if (!spent.live) {
        free(retired);
        return LAP_OK;
    }
    *retired = (struct retired){dev->sync.handed->retired, gen_VkSemaphore(spent.live), spent.record};
    dev->sync.handed->retired = retired;
    return LAP_OK;
}

/* Gives the object another live object until it is given back. */
static enum lap_status lend(struct replay *r, struct replay_device *dev, enum gen_handle_type type, uint64_t index,
                            uint64_t live, void *record, struct borrowed **out)
{
    struct replay_object *object = replay_object_get(r, type, index);
    struct borrowed *b = calloc(1, sizeof *b);

    if (!b)
        return replay_no_scratch(r);
    *b = (struct borrowed){.next = dev->sync.handed->borrowed,
                           .type = type,
                           .index = index,
                           .own_live = object->live,
                           .own_record = object->record};
    dev->sync.handed->borrowed = b;
    replay_object_move(r, type, index, live);
    object->record = record;
    *out = b;
    return LAP_OK;
}

/* ---- exports ---- */

static enum lap_status export_semaphore_copy(struct replay *r, struct replay_device *dev, uint64_t index,
                                             struct copy *copy)
{
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkSemaphore, index);
    struct borrowed **link = replay_external_sync_borrowed(dev, GEN_HANDLE_VkSemaphore, index);
    struct replay_semaphore_record *record = record_of(object);
    VkSemaphore live = gen_VkSemaphore(object->live), next;
    bool stuck, unknown = record && record->handed && !record->pending;
    enum lap_status status;

    if (!record)
        return replay_no_scratch(r);
    if (record->schedule.timeline)
        return replay_fail(r, "VkSemaphore:%" PRIu64 " is a timeline semaphore: it can't be a sync file", index);
    status = new_semaphore(r, dev, &next);
    if (status != LAP_OK)
        return status;
    copy->semaphore = next;
    if (record->handed || *link) { /* other objects may have the live one, which stays */
        record->pending = false;
        if (unknown && !(*link && !(*link)->shares))
            return replay_external_sync_signal(r, dev, VK_NULL_HANDLE, next);
        status = replay_external_sync_pass_on(r, dev, live, 1, &next, VK_NULL_HANDLE);
        return *link && status == LAP_OK ? replay_external_sync_give_back_waited(r, dev, link, dev->queues.main->live)
                                         : status;
    }
    status = replay_submits_need(r, dev, 1, &live, &stuck);
    if (status == LAP_OK)
        status = replay_acquired_images_signal(r, dev, 1, &live);
    copy->semaphore = live;
    replay_object_move(r, GEN_HANDLE_VkSemaphore, index, gen_u64_VkSemaphore(next));
    record->schedule = (struct replay_semaphore){0};
    return status;
}

static enum lap_status export_fence_copy(struct replay *r, struct replay_device *dev, uint64_t index, struct copy *copy)
{
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkFence, index);
    struct borrowed **link = replay_external_sync_borrowed(dev, GEN_HANDLE_VkFence, index);
    VkFence next;
    enum lap_status status;

    if (object->record || *link) { /* other objects may have the live one: the copy is its current state */
        bool over;
        status = replay_external_sync_await(r, dev, gen_VkFence(object->live), &over);
        if (status == LAP_OK && !over)
            status = replay_wait_fence(r, dev, gen_VkFence(object->live), "a fence that is exported");
        if (status == LAP_OK)
            status = new_fence(r, dev, VK_FENCE_CREATE_SIGNALED_BIT, &copy->fence);
        if (*link)
            replay_external_sync_give_back(r, dev, GEN_HANDLE_VkFence, index);
        else if (status == LAP_OK)
            status = replay_result(r, dev->vk.ResetFences(dev->live, 1, &(VkFence){gen_VkFence(object->live)}));
        return status;
    }
    status = new_fence(r, dev, 0, &next);
    if (status != LAP_OK)
        return status;
    copy->fence = gen_VkFence(object->live);
    replay_object_move(r, GEN_HANDLE_VkFence, index, gen_u64_VkFence(next));
    return LAP_OK;
}

static enum lap_status export_shared(struct replay *r, struct replay_device *dev, enum gen_handle_type type,
                                     uint64_t index, uint64_t payload)
{
    struct replay_object *object = replay_object_get(r, type, index);
    struct shared *shared = dev->sync.handed->shared;

    while (shared && (shared->payload != payload || shared->type != type))
        shared = shared->next;
    if (shared)
        return LAP_OK;
    if (!record_of(object) || !(shared = calloc(1, sizeof *shared)))
        return replay_no_scratch(r);
    ((struct replay_semaphore_record *)object->record)->handed = true;
    *shared = (struct shared){dev->sync.handed->shared, payload, index, type};
    dev->sync.handed->shared = shared;
    return LAP_OK;
}

/* The index of the one of both objects that the packet names; 0: neither, or a dead one. */
static uint64_t object_index(struct replay *r, VkSemaphore semaphore, VkFence fence, enum gen_handle_type *out_type)
{
    *out_type = semaphore ? GEN_HANDLE_VkSemaphore : GEN_HANDLE_VkFence;
    return replay_object_index(r, *out_type, semaphore ? gen_u64_VkSemaphore(semaphore) : gen_u64_VkFence(fence));
}

enum lap_status replay_lapilliExportSync(struct replay *r, struct replay_device *dev,
                                         struct gen_args_lapilliExportSync *args)
{
    enum gen_handle_type type;
    uint64_t index = object_index(r, args->semaphore, args->fence, &type);
    enum lap_status status = need(r, dev);
    struct copy *copy;

    if (status != LAP_OK)
        return status;
    if (!index)
        return replay_fail(r, "a semaphore or fence that is not alive");
    if (!args->copies)
        return export_shared(r, dev, type, index, args->payload);
    copy = add_copy(r, dev, args->payload);
    if (!copy)
        return replay_no_scratch(r);
    return type == GEN_HANDLE_VkSemaphore ? export_semaphore_copy(r, dev, index, copy)
                                          : export_fence_copy(r, dev, index, copy);
}

/* ---- imports ---- */

static struct copy *find_copy_anywhere(struct replay *r, uint64_t payload, struct replay_device **out_dev)
{
    for (*out_dev = r->devices; *out_dev; *out_dev = (*out_dev)->next) {
        struct copy *copy = find_copy(*out_dev, payload);
        if (copy)
            return copy;
    }
    return NULL;
}

static enum lap_status import_semaphore_copy(struct replay *r, struct replay_device *dev, uint64_t index,
                                             struct copy *copy, struct replay_device *from)
{
    struct replay_semaphore_record *record = calloc(1, sizeof *record);
    VkSemaphore live = VK_NULL_HANDLE;
    struct borrowed *b = NULL;
    bool by_fence = copy && (from != dev || (!copy->semaphore && copy->fence && !copy->claimed_by && !copy->waited_on));
    enum lap_status status = record ? LAP_OK : replay_no_scratch(r);

    if (status == LAP_OK && copy && from != dev)
        status = need_fence(r, from, copy);
    if (status == LAP_OK && copy && !by_fence)
        status = claim(r, dev, copy, index, &live);
    else if (status == LAP_OK)
        status = new_semaphore(r, dev, &live);
    if (status == LAP_OK && !copy)
        status = replay_external_sync_signal(r, dev, VK_NULL_HANDLE, live);
    if (status == LAP_OK)
        status = lend(r, dev, GEN_HANDLE_VkSemaphore, index, gen_u64_VkSemaphore(live), record, &b);
    if (status != LAP_OK) {
        free(record);
        return status;
    }
    if (by_fence) {
        b->awaited = from;
        b->fence = copy->fence;
    }
    return LAP_OK;
}

static enum lap_status import_fence_copy(struct replay *r, struct replay_device *dev, uint64_t index, struct copy *copy,
                                         struct replay_device *from)
{
    enum lap_status status = LAP_OK;
    struct borrowed *b;

    if (copy)
        status = need_fence(r, from, copy);
    if (status == LAP_OK && !dev->sync.handed->signalled)
        status = new_fence(r, dev, VK_FENCE_CREATE_SIGNALED_BIT, &dev->sync.handed->signalled);
    if (status == LAP_OK)
        status = lend(r, dev, GEN_HANDLE_VkFence, index,
                      gen_u64_VkFence(copy && from == dev ? copy->fence : dev->sync.handed->signalled), NULL, &b);
    if (status == LAP_OK && copy) {
        b->fence = copy->fence;
        b->awaited = from == dev ? NULL : from;
    }
    return status;
}

static enum lap_status import_shared(struct replay *r, struct replay_device *dev, enum gen_handle_type type,
                                     uint64_t index, const struct gen_args_lapilliImportSync *args)
{
    struct replay_object *object = replay_object_get(r, type, index), *other;
    const struct shared *shared = NULL;
    struct replay_semaphore_record *record;
    struct replay_device *from = NULL;
    struct borrowed *b;
    enum lap_status status;

    for (from = r->devices; from && !shared; from = shared ? from : from->next)
        for (shared = from->sync.handed ? from->sync.handed->shared : NULL; shared; shared = shared->next)
            if (shared->payload == args->payload && shared->type == type)
                break;
    other = shared ? replay_object_get(r, type, shared->index) : NULL;
    if (!other) { /* from outside the trace, or its last object is gone */
        record = record_of(object);
        if (!record)
            return replay_no_scratch(r);
        record->handed = record->from_outside = true;
        return export_shared(r, dev, type, index, args->payload);
    }
    if (from != dev)
        return replay_refuse(r, "%s:%" PRIu64 " is shared by two devices, which a replay does not do",
                             gen_handle_names[type], index);
    if (other == object)
        return LAP_OK;
    record = other->record;
    record->users++;
    if (args->temporary) {
        status = lend(r, dev, type, index, other->live, record, &b);
        if (status == LAP_OK)
            b->shares = true;
        return status;
    }
    if (let_go(object->record)) {
        if (type == GEN_HANDLE_VkSemaphore && dev->sync.submits && object->record &&
            replay_submits_name_semaphore(dev, object->record))
            return replay_fail(r, "VkSemaphore:%" PRIu64 " is imported while work waits for it", index);
        destroy_live(dev, type, object->live);
        free(object->record);
    }
    replay_object_move(r, type, index, other->live);
    object->record = record;
    return LAP_OK;
}

enum lap_status replay_lapilliImportSync(struct replay *r, struct replay_device *dev,
                                         struct gen_args_lapilliImportSync *args)
{
    enum gen_handle_type type;
    uint64_t index = object_index(r, args->semaphore, args->fence, &type);
    enum lap_status status = need(r, dev);
    struct replay_device *from = dev;
    struct copy *copy = NULL;

    if (status != LAP_OK)
        return status;
    if (!index)
        return replay_fail(r, "a semaphore or fence that is not alive");
    replay_external_sync_give_back(r, dev, type, index);
    if (!args->copies)
        return import_shared(r, dev, type, index, args);
    if (args->origin == FROM_HERE)
        copy = find_copy_anywhere(r, args->payload, &from);
    if (!copy && args->origin != SIGNALLED)
        replay_external_sync_say_outside(r, dev);
    return type == GEN_HANDLE_VkSemaphore ? import_semaphore_copy(r, dev, index, copy, from)
                                          : import_fence_copy(r, dev, index, copy, from);
}

enum lap_status replay_lapilliSeenSync(struct replay *r, struct replay_device *dev,
                                       struct gen_args_lapilliSeenSync *args)
{
    struct copy *copy = find_copy(dev, args->payload);
    enum lap_status status;

    if (!copy || r->options.blackhole)
        return LAP_OK;
    status = need_fence(r, dev, copy);
    return status == LAP_OK ? replay_wait_fence(r, dev, copy->fence, "the signal of a sync file") : status;
}

/* ---- ends ---- */

/* A payload is found by its first object: another one replaces it. */
static void end_shared(struct replay *r, struct replay_device *dev, enum gen_handle_type type, uint64_t index,
                       const void *record)
{
    struct replay_table *table = &r->objects.tables[type];

    for (struct shared **link = &dev->sync.handed->shared; *link;) {
        struct shared *shared = *link;
        uint64_t other = 0;
        if (shared->type != type || shared->index != index) {
            link = &shared->next;
            continue;
        }
        for (uint64_t i = 1; i < table->live.count && !other; i++) {
            const struct replay_object *object = i == index ? NULL : replay_object_get(r, type, i);
            if (object && record && object->record == record)
                other = i;
        }
        if (other) {
            shared->index = other;
            link = &shared->next;
        } else {
            *link = shared->next;
            free(shared);
        }
    }
}

bool replay_external_sync_end(struct replay *r, struct replay_device *dev, enum gen_handle_type type, uint64_t index)
{
    struct replay_object *object = replay_object_get(r, type, index);

    if (!dev->sync.handed || !object)
        return true;
    replay_external_sync_give_back(r, dev, type, index);
    end_shared(r, dev, type, index, object->record);
    return let_go(object->record);
}

void replay_external_sync_finish(struct replay *r, struct replay_device *dev)
{
    if (!dev->sync.handed)
        return;
    while (dev->sync.handed->borrowed) {
        const struct borrowed *b = dev->sync.handed->borrowed;
        replay_external_sync_give_back(r, dev, b->type, b->index);
    }
    replay_external_sync_destroy_retired(dev);
    while (dev->sync.handed->copies)
        drop_copy(r, dev, &dev->sync.handed->copies);
    while (dev->sync.handed->shared) {
        struct shared *shared = dev->sync.handed->shared;
        dev->sync.handed->shared = shared->next;
        free(shared);
    }
    if (dev->sync.handed->signalled)
        dev->vk.DestroyFence(dev->live, dev->sync.handed->signalled, NULL);
    lap_arena_finish(&dev->sync.handed->arena);
}
