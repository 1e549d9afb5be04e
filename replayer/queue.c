/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "gen_replay.h"
#include "replayer/player.h"

/* Recorded queues share those that this device has. A program may ask for the same queue many times. */
static enum lap_status give_queue(struct replay *r, struct replay_device *dev, uint32_t family, uint32_t number,
                                  uint64_t index)
{
    struct replay_queue *first = NULL;
    uint32_t count = 0;

    if (replay_object_get(r, GEN_HANDLE_VkQueue, index))
        return LAP_OK;
    /* Queues of one family stand side by side. */
    for (uint32_t i = 0; i < dev->queue_count; i++)
        if (dev->queues[i].family == family) {
            if (!first)
                first = &dev->queues[i];
            count++;
        }
    if (!first)
        return replay_fail(r, "the device has no queue of family %" PRIu32, family);
    return replay_object_add(r, GEN_HANDLE_VkQueue, index, gen_u64_VkQueue(first[number % count].live), dev, NULL);
}

enum lap_status replay_GetDeviceQueue(struct replay *r, struct replay_device *dev,
                                      struct gen_args_vkGetDeviceQueue *args)
{
    return give_queue(r, dev, args->queueFamilyIndex, args->queueIndex, gen_u64_VkQueue(*args->pQueue));
}

enum lap_status replay_GetDeviceQueue2(struct replay *r, struct replay_device *dev,
                                       struct gen_args_vkGetDeviceQueue2 *args)
{
    if (!*args->pQueue) /* no queue with these flags */
        return LAP_OK;
    return give_queue(r, dev, args->pQueueInfo->queueFamilyIndex, args->pQueueInfo->queueIndex,
                      gen_u64_VkQueue(*args->pQueue));
}
