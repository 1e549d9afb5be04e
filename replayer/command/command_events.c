/* SPDX-License-Identifier: MIT */
#include "replayer/command/command_events.h"

#include <stdlib.h>

#include "base/map.h"
#include "gen_replay.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"

/* Limit for the steps of all command buffers, 16 bytes each. Each execution of a secondary command buffer copies its
 * steps into the primary one. */
#define STEPS_MOST ((uint64_t)1 << 23)

/* By index, since an event may end before a command buffer that refers to it. */
struct step {
    uint64_t event;
    enum replay_event_use use;
};

struct list {
    uint32_t count, capacity;
    struct step *steps;
};

struct replay_command_events {
    struct lap_map lists;   /* struct list by the command buffer's index */
    _Atomic uint64_t steps; /* reserved in all lists */
};

enum lap_status replay_command_events_create(struct replay *r, struct replay_device *dev)
{
    if (dev->sync.events)
        return LAP_OK;
    dev->sync.events = calloc(1, sizeof *dev->sync.events);
    if (!dev->sync.events)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    lap_map_init(&dev->sync.events->lists);
    return LAP_OK;
}

static void free_list(void *user, uint64_t key, void *value)
{
    struct list *list = value;
    (void)user;
    (void)key;
    free(list->steps);
    free(list);
}

void replay_command_events_destroy(struct replay_device *dev)
{
    if (!dev->sync.events)
        return;
    lap_map_each(&dev->sync.events->lists, free_list, NULL);
    lap_map_finish(&dev->sync.events->lists);
    free(dev->sync.events);
    dev->sync.events = NULL;
}

/* ---- lists ---- */

static uint64_t index_of(struct replay *r, VkCommandBuffer commands)
{
    return replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(commands));
}

static struct list *list_of(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands)
{
    return dev->sync.events ? lap_map_get(&dev->sync.events->lists, index_of(r, commands)) : NULL;
}

void replay_command_events_begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands)
{
    struct list *list = list_of(r, dev, commands);

    if (list)
        list->count = 0;
}

void replay_command_events_forget(struct replay *r, struct replay_device *dev, VkCommandBuffer commands)
{
    struct list *list = dev->sync.events ? lap_map_remove(&dev->sync.events->lists, index_of(r, commands)) : NULL;

    if (!list)
        return;
    dev->sync.events->steps -= list->capacity;
    free_list(NULL, 0, list);
}

uint32_t replay_command_events_count(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands)
{
    const struct list *list = list_of(r, dev, commands);
    return list ? list->count : 0;
}

uint32_t replay_command_events_write(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands,
                                     struct replay_event_step *out)
{
    const struct list *list = list_of(r, dev, commands);
    uint32_t count = 0;

    for (uint32_t i = 0; list && i < list->count; i++) {
        const struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkEvent, list->steps[i].event);
        if (object && object->record)
            out[count++] = (struct replay_event_step){object->record, list->steps[i].use};
    }
    return count;
}

/* NULL: out of memory. */
static struct list *need_list(struct replay *r, struct replay_device *dev, VkCommandBuffer commands)
{
    struct list *list = list_of(r, dev, commands);

    if (list)
        return list;
    list = calloc(1, sizeof *list);
    if (!list || lap_map_put(&dev->sync.events->lists, index_of(r, commands), list, NULL) != LAP_OK) {
        free(list);
        list = NULL;
    }
    return list;
}

/* Reserves room for more steps. */
static enum lap_status need_steps(struct replay *r, struct replay_device *dev, struct list *list, uint32_t count)
{
    uint64_t capacity = 2 * ((uint64_t)list->count + count), more = capacity - list->capacity, steps = more;
    struct step *larger;

    if (count <= list->capacity - list->count)
        return LAP_OK;
    for (const struct replay_device *each = r->devices; each; each = each->next)
        steps += each->sync.events && each != dev ? each->sync.events->steps : 0;
    if (dev->sync.events->steps + steps > STEPS_MOST)
        return lap_fail(LAP_ERROR_LIMIT, "events in command buffers take more than %u million steps",
                        (unsigned)(STEPS_MOST >> 20));
    larger = realloc(list->steps, capacity * sizeof *larger);
    if (!larger)
        return lap_no_memory("events in command buffers");
    dev->sync.events->steps += more;
    list->steps = larger;
    list->capacity = (uint32_t)capacity;
    return LAP_OK;
}

static enum lap_status add(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                           const struct step *steps, uint32_t count)
{
    struct list *list = count ? need_list(r, dev, commands) : NULL;
    enum lap_status status;

    if (!count)
        return LAP_OK;
    if (!list)
        return lap_no_memory("events in command buffers");
    status = need_steps(r, dev, list, count);
    for (uint32_t i = 0; i < count && status == LAP_OK; i++)
        list->steps[list->count++] = steps[i];
    return status;
}

/* ---- commands ---- */

static enum lap_status add_event(struct replay *r, struct replay_device *dev, VkCommandBuffer commands, VkEvent event,
                                 enum replay_event_use use)
{
    struct step step = {replay_object_index(r, GEN_HANDLE_VkEvent, gen_u64_VkEvent(event)), use};

    return replay_event_of(r, event) ? add(r, dev, commands, &step, 1) : LAP_OK;
}

static enum lap_status add_waits(struct replay *r, struct replay_device *dev, VkCommandBuffer commands, uint32_t count,
                                 const VkEvent *events)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < count && status == LAP_OK; i++)
        status = add_event(r, dev, commands, events[i], REPLAY_EVENT_WAIT);
    return status;
}

static enum lap_status add_executed(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                    uint32_t count, const VkCommandBuffer *secondaries)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        const struct list *list = secondaries[i] != commands ? list_of(r, dev, secondaries[i]) : NULL;
        if (list)
            status = add(r, dev, commands, list->steps, list->count);
    }
    return status;
}

enum lap_status replay_command_events_note(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                           const void *args)
{
    switch (r->at.command) {
    case GEN_vkCmdSetEvent:
        return add_event(r, dev, commands, ((const struct gen_args_vkCmdSetEvent *)args)->event, REPLAY_EVENT_SET);
    case GEN_vkCmdSetEvent2:
        return add_event(r, dev, commands, ((const struct gen_args_vkCmdSetEvent2 *)args)->event, REPLAY_EVENT_SET);
    case GEN_vkCmdResetEvent:
        return add_event(r, dev, commands, ((const struct gen_args_vkCmdResetEvent *)args)->event, REPLAY_EVENT_RESET);
    case GEN_vkCmdResetEvent2:
        return add_event(r, dev, commands, ((const struct gen_args_vkCmdResetEvent2 *)args)->event, REPLAY_EVENT_RESET);
    case GEN_vkCmdWaitEvents: {
        const struct gen_args_vkCmdWaitEvents *a = args;
        return add_waits(r, dev, commands, a->eventCount, a->pEvents);
    }
    case GEN_vkCmdWaitEvents2: {
        const struct gen_args_vkCmdWaitEvents2 *a = args;
        return add_waits(r, dev, commands, a->eventCount, a->pEvents);
    }
    case GEN_vkCmdExecuteCommands: {
        const struct gen_args_vkCmdExecuteCommands *a = args;
        return add_executed(r, dev, commands, a->commandBufferCount, a->pCommandBuffers);
    }
    default:
        return LAP_OK;
    }
}

struct replay_event *replay_event_of(struct replay *r, VkEvent event)
{
    struct replay_object *object =
        replay_object_get(r, GEN_HANDLE_VkEvent, replay_object_index(r, GEN_HANDLE_VkEvent, gen_u64_VkEvent(event)));
    return object ? object->record : NULL;
}
