/* SPDX-License-Identifier: MIT */
/*
 * pass_pieces: decoded parameters of a render pass, changed for a piece of it. All pieces store their attachments, and
 * all but the first one load them. The parameters are the decoder's memory, so they may change. One thread.
 */
#ifndef LAP_INSPECTOR_TWIN_PASS_PIECES_H
#define LAP_INSPECTOR_TWIN_PASS_PIECES_H

#include <stdbool.h>
#include <vulkan/vulkan_core.h>

enum piece { PIECE_FIRST, PIECE_MIDDLE, PIECE_LAST, PIECES };

void pass_piece(const VkRenderPassCreateInfo *info, enum piece piece);
void pass_piece2(const VkRenderPassCreateInfo2 *info, enum piece piece);

/* Of dynamic rendering. loads: it is not the first piece. */
void rendering_piece(const VkRenderingInfo *info, bool loads);

#endif
