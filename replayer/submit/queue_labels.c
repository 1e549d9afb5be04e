/* SPDX-License-Identifier: MIT */
/* Debug labels of queues. A part of a run may have the end of a label that began before it: it is left out, since calls
 * must be balanced (VUID-vkQueueEndDebugUtilsLabelEXT-None-01911), and Mesa 22 crashes. */
#include "gen_replay.h"
#include "replayer/core/replay.h"
#include "replayer/device/queues.h"

enum lap_status replay_QueueBeginDebugUtilsLabelEXT(struct replay *r, struct replay_device *dev,
                                                    struct gen_args_vkQueueBeginDebugUtilsLabelEXT *args)
{
    struct replay_queue *queue = replay_queue_find(dev, args->queue);

    if (!dev->vk.QueueBeginDebugUtilsLabelEXT)
        return replay_missing(r, GEN_vkQueueBeginDebugUtilsLabelEXT);
    if (queue)
        queue->open_labels++;
    dev->vk.QueueBeginDebugUtilsLabelEXT(args->queue, args->pLabelInfo);
    return LAP_OK;
}

enum lap_status replay_QueueEndDebugUtilsLabelEXT(struct replay *r, struct replay_device *dev,
                                                  struct gen_args_vkQueueEndDebugUtilsLabelEXT *args)
{
    struct replay_queue *queue = replay_queue_find(dev, args->queue);

    if (!dev->vk.QueueEndDebugUtilsLabelEXT)
        return replay_missing(r, GEN_vkQueueEndDebugUtilsLabelEXT);
    if (!queue || !queue->open_labels)
        return LAP_OK;
    queue->open_labels--;
    dev->vk.QueueEndDebugUtilsLabelEXT(args->queue);
    return LAP_OK;
}
