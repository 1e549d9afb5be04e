/* SPDX-License-Identifier: MIT */
#include "inspector/position/open_labels.h"

#include <string.h>

#include "vulkan/label.h"

void position_open_labels_init(struct position_open_labels *labels)
{
    lap_map_init(&labels->queues);
    lap_arena_init(&labels->arena, 0);
    labels->may_be = false;
}

void position_open_labels_finish(struct position_open_labels *labels)
{
    lap_map_finish(&labels->queues);
    lap_arena_finish(&labels->arena);
}

static struct position_queue_labels *labels_of(struct position_open_labels *labels, uint64_t queue)
{
    struct position_queue_labels *found = lap_map_get(&labels->queues, queue);

    if (found)
        return found;
    found = lap_arena_zalloc(&labels->arena, 1, sizeof *found, _Alignof(struct position_queue_labels));
    return found && lap_map_put(&labels->queues, queue, found, NULL) == LAP_OK ? found : NULL;
}

static void push(struct position_label_list *list, const char *text)
{
    if (list->count == POSITION_MOST_LABELS)
        memmove(list->texts, list->texts + 1, --list->count * sizeof *list->texts);
    list->texts[list->count++] = text;
}

static bool names_labels(const char *const *names, uint32_t count)
{
    for (uint32_t i = 0; names && i < count; i++)
        if (names[i] && (strcmp(names[i], VK_EXT_DEBUG_UTILS_EXTENSION_NAME) == 0 ||
                         strcmp(names[i], VK_EXT_DEBUG_MARKER_EXTENSION_NAME) == 0))
            return true;
    return false;
}

static enum lap_status see_queue(struct position_open_labels *labels, const struct trace_call *call)
{
    uint64_t queue;
    const char *text;
    enum lap_label_step step = lap_label_queue_step_of(call->command, call->args, &queue, &text);
    struct position_queue_labels *of = labels_of(labels, queue);
    char *copy = step == LAP_LABEL_BEGIN ? lap_arena_alloc(&labels->arena, strlen(text) + 1, 1) : NULL;

    if (!of || (step == LAP_LABEL_BEGIN && !copy))
        return lap_no_memory("labels");
    if (step == LAP_LABEL_BEGIN)
        push(&of->of_queue, strcpy(copy, text));
    else if (step == LAP_LABEL_END)
        of->of_queue.count -= of->of_queue.count > 0;
    return LAP_OK;
}

enum lap_status position_open_labels_see(struct position_open_labels *labels, const struct trace_call *call)
{
    switch (call->command) {
    case GEN_vkCreateInstance: {
        const VkInstanceCreateInfo *info = ((const struct gen_args_vkCreateInstance *)call->args)->pCreateInfo;
        labels->may_be |= info && names_labels(info->ppEnabledExtensionNames, info->enabledExtensionCount);
        return LAP_OK;
    }
    case GEN_vkCreateDevice: {
        const VkDeviceCreateInfo *info = ((const struct gen_args_vkCreateDevice *)call->args)->pCreateInfo;
        labels->may_be |= info && names_labels(info->ppEnabledExtensionNames, info->enabledExtensionCount);
        return LAP_OK;
    }
    case GEN_vkQueueBeginDebugUtilsLabelEXT:
    case GEN_vkQueueEndDebugUtilsLabelEXT:
        return see_queue(labels, call);
    default:
        return LAP_OK;
    }
}

enum lap_status position_open_labels_run(struct position_open_labels *labels, struct position_contents *contents,
                                         uint64_t queue, const struct position_recording *recording)
{
    struct position_contents_labels change;
    struct position_queue_labels *of = NULL;
    enum lap_status status =
        recording && labels->may_be ? position_contents_labels_of(contents, recording, &change) : LAP_END;

    /* Who asks for what a damaged one has is told. */
    if (status != LAP_OK || (!change.ended && !change.begun_count))
        return status == LAP_ERROR_MEMORY ? status : LAP_OK;
    of = labels_of(labels, queue);
    if (!of)
        return lap_no_memory("labels");
    of->left_open.count -= change.ended < of->left_open.count ? change.ended : of->left_open.count;
    for (uint32_t i = 0; i < change.begun_count; i++)
        push(&of->left_open, change.begun[i]);
    return LAP_OK;
}

const struct position_queue_labels *position_open_labels_of(const struct position_open_labels *labels, uint64_t queue)
{
    static const struct position_queue_labels none;
    const struct position_queue_labels *found = lap_map_get(&labels->queues, queue);

    return found ? found : &none;
}
