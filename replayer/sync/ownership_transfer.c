/* SPDX-License-Identifier: MIT */
#include "replayer/sync/ownership_transfer.h"

#include "replayer/device/queue_families.h"
#include "replayer/device/queues.h"

bool replay_shares_buffers(const struct replay_device *dev)
{
    return dev->queues.family_count > 1;
}

void replay_share_buffer(const struct replay_device *dev, VkBufferCreateInfo *info)
{
    if (!replay_shares_buffers(dev))
        return;
    info->sharingMode = VK_SHARING_MODE_CONCURRENT;
    info->queueFamilyIndexCount = dev->queues.family_count;
    info->pQueueFamilyIndices = dev->queues.families;
}

/* VK_IMAGE_USAGE_HOST_TRANSFER_BIT, which older headers lack. */
#define HOST_TRANSFER 0x00400000u

void replay_share_image(const struct replay_device *dev, VkImageCreateInfo *info)
{
    if (dev->queues.family_count < 2 || (info->tiling != VK_IMAGE_TILING_LINEAR && !(info->usage & HOST_TRANSFER)))
        return;
    info->sharingMode = VK_SHARING_MODE_CONCURRENT;
    info->queueFamilyIndexCount = dev->queues.family_count;
    info->pQueueFamilyIndices = dev->queues.families;
}

/* Turns half of a transfer between two recorded families into a plain barrier. It clears the access mask that a
 * transfer ignores: those accesses may not fit the stages. */
static void make_plain(struct replay_ownership_transfer *barrier, bool acquires)
{
    barrier->source = barrier->destination = VK_QUEUE_FAMILY_IGNORED;
    if (!acquires) {
        barrier->destination_access = 0;
        return;
    }
    barrier->source_access = 0;
    if (barrier->old_layout != VK_IMAGE_LAYOUT_UNDEFINED)
        barrier->old_layout = barrier->new_layout;
}

void replay_ownership_transfer_translate(struct replay *r, const struct replay_device *dev,
                                         struct replay_ownership_transfer *barrier, bool shared)
{
    const uint32_t from = barrier->source, to = barrier->destination;
    const bool from_is_family = from < REPLAY_MAX_FAMILIES, to_is_family = to < REPLAY_MAX_FAMILIES;

    barrier->source = replay_queue_map_family(r, dev, from);
    barrier->destination = replay_queue_map_family(r, dev, to);
    if (from == to) { /* no transfer */
        if (shared)
            barrier->source = barrier->destination = VK_QUEUE_FAMILY_IGNORED;
    } else if (!from_is_family || !to_is_family) { /* from or to EXTERNAL or FOREIGN: remains a transfer */
        if (shared) /* a shared resource belongs to no family, so the other index is IGNORED */
            *(from_is_family ? &barrier->source : &barrier->destination) = VK_QUEUE_FAMILY_IGNORED;
    } else if (shared || barrier->source == barrier->destination) {
        make_plain(barrier, r->at.block_family == to);
    }
}
