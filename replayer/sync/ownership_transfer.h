/* SPDX-License-Identifier: MIT */
/*
 * ownership_transfer: translates the queue family ownership transfers in recorded barriers. Where the two recorded
 * families map to one family of the replay device, or all its families share the resource, both halves of a transfer
 * become plain barriers within a family. Else only the families' numbers change.
 *
 * Generated code calls this for each barrier, where families have other numbers on the replay device or there are
 * several (_Families in codegen/emit_replay.py). queue_families.h maps the families. Any thread that plays a command
 * buffer.
 */
#ifndef LAP_REPLAYER_SYNC_OWNERSHIP_TRANSFER_H
#define LAP_REPLAYER_SYNC_OWNERSHIP_TRANSFER_H

#include "replayer/core/device.h"

/* The members of a barrier that a transfer changes. The layouts of a buffer are both UNDEFINED. */
struct replay_ownership_transfer {
    uint32_t source, destination; /* families */
    VkAccessFlags2 source_access, destination_access;
    VkImageLayout old_layout, new_layout;
};

/* Translates the families in a barrier of the played command buffer (r->at.block_family). A barrier with both
 * families IGNORED stays. shared: all families of the replay device share the resource. Where plain barriers replace
 * the two halves, the release makes available and changes the layout. The acquire makes visible and does not change
 * the layout, unless from UNDEFINED, where contents are discarded and a release may be lacking. */
void replay_ownership_transfer_translate(struct replay *r, const struct replay_device *dev,
                                         struct replay_ownership_transfer *barrier, bool shared);

/* Whether all families of the replay device share each buffer (replay_share_buffer). */
bool replay_shares_buffers(const struct replay_device *dev);

/* Where the device has several families, they share all buffers, all linear images, and those that the host copies to
 * or from, since the replay's own copies access these on queues of any family. */
void replay_share_buffer(const struct replay_device *dev, VkBufferCreateInfo *info);
void replay_share_image(const struct replay_device *dev, VkImageCreateInfo *info);

#endif
