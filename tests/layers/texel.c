/* SPDX-License-Identifier: MIT */
/*
 * texel: makes of the driver one with a fault: in one render pass one texel has another colour.
 *
 *   LAPILLI_TEXEL  N: in the pass that ends as the N-th, counted over all command buffers that are recorded. N?: in
 * some processes, and not in others
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "tests/layers/chain.h"

static unsigned long wanted; /* 0: none */
static atomic_ulong passes;

static void start(void)
{
    const char *text = getenv("LAPILLI_TEXEL");
    struct timespec now = {0};
    char *end = NULL;

    wanted = text ? strtoul(text, &end, 10) : 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (end && *end == '?' && now.tv_nsec / 1000 % 2)
        wanted = 0;
}

static void spoil(VkCommandBuffer commands)
{
    const VkClearAttachment red = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .clearValue.color.float32 = {1, 0, 0, 1}};
    const VkClearRect texel = {{{8, 8}, {1, 1}}, 0, 1};

    if (atomic_fetch_add(&passes, 1) + 1 == wanted)
        chain_device_of(commands)->next.CmdClearAttachments(commands, 1, &red, 1, &texel);
}

static VKAPI_ATTR void VKAPI_CALL CmdEndRenderPass(VkCommandBuffer commands)
{
    spoil(commands);
    chain_device_of(commands)->next.CmdEndRenderPass(commands);
}

static VKAPI_ATTR void VKAPI_CALL CmdEndRendering(VkCommandBuffer commands)
{
    spoil(commands);
    chain_device_of(commands)->next.CmdEndRendering(commands);
}

static const struct chain_function *functions(size_t i)
{
    static const struct chain_function table[] = {CHAIN_OWN(CmdEndRenderPass), CHAIN_OWN_2(CmdEndRendering), CHAIN_END};
    return i == 0 ? table : NULL;
}

const struct chain_layer chain_layer = {
    .device_bytes = sizeof(struct chain_device), .start = start, .functions = functions};
