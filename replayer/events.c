/* SPDX-License-Identifier: MIT */
#include "replayer/events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "gen_replay.h"
#include "replayer/command_pool.h"
#include "replayer/converter.h"
#include "replayer/pending.h"
#include "replayer/player.h"
#include "replayer/push.h"
#include "replayer/submit.h"

/* Steps of all command buffers, and what is known of their events, each 16 bytes; and as many of one submit
 * (submit_parts.c). A secondary command buffer's are its primaries' once more, each time that it is executed. */
#define STEPS_MOST ((uint64_t)1 << 23)
#define PARTS_MOST ((uint64_t)1 << 20) /* of all command buffers */

/* What a wait finds, by what its own command buffer has done before. */
enum found { FOUND_NOTHING, FOUND_SET, FOUND_RESET };

/* By index, since an event may end before a command buffer that names it. */
struct step {
    uint64_t event;
    enum replay_event_use use;
    enum found found; /* of a wait */
};

/* An event's last use in a command buffer, in a table with open addresses. */
struct known {
    uint64_t event;
    uint32_t round; /* another one than the list's: the place is empty */
    bool set;
};

/* Of a part but the first. */
struct part {
    VkCommandBuffer live;
    uint32_t first_step;
};

struct list {
    uint32_t count, capacity;
    struct step *steps;
    struct known *known;
    uint32_t known_count, known_capacity, round;
    bool told;  /* the part has done something that the program can ask for */
    bool waits; /* for an event that the command buffer does not set before */
    struct part *parts;
    uint32_t part_count, made_parts; /* those that are left from an earlier recording are taken again */
    uint32_t part_capacity;
};

struct replay_events {
    struct lap_map lists;   /* struct list by the command buffer's index */
    _Atomic uint64_t steps; /* room for them in all lists, and for what is known */
    _Atomic uint64_t parts; /* that were made */
};

/* ---- lists ---- */

static uint64_t index_of(struct replay *r, VkCommandBuffer commands)
{
    return replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(commands));
}

static struct list *list_of(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands)
{
    return dev->events ? lap_map_get(&dev->events->lists, index_of(r, commands)) : NULL;
}

static void free_list(void *user, uint64_t key, void *value)
{
    struct list *list = value;
    (void)user;
    (void)key;
    free(list->steps);
    free(list->known);
    free(list->parts);
    free(list);
}

static enum lap_status need_events(struct replay *r, struct replay_device *dev)
{
    if (dev->events)
        return LAP_OK;
    dev->events = calloc(1, sizeof *dev->events);
    if (!dev->events)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    lap_map_init(&dev->events->lists);
    return replay_submits_begin(r, dev);
}

void replay_events_begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands)
{
    struct list *list = list_of(r, dev, commands);

    if (!list)
        return;
    list->count = list->part_count = list->known_count = 0;
    list->told = list->waits = false;
    if (++list->round == 0 && list->known) { /* once in four billion recordings */
        memset(list->known, 0, list->known_capacity * sizeof *list->known);
        list->round = 1;
    }
}

void replay_events_forget(struct replay *r, struct replay_device *dev, VkCommandPool pool, VkCommandBuffer commands)
{
    struct list *list = dev->events ? lap_map_remove(&dev->events->lists, index_of(r, commands)) : NULL;

    for (uint32_t i = 0; list && i < list->made_parts; i++) {
        replay_converter_forget(dev, list->parts[i].live);
        replay_push_forget(dev, list->parts[i].live);
        if (pool && dev->pending.busy)
            replay_pending_end(dev, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(list->parts[i].live),
                               gen_u64_VkCommandPool(pool));
        else if (pool)
            dev->vk.FreeCommandBuffers(dev->live, pool, 1, &list->parts[i].live);
    }
    if (list) {
        dev->events->steps -= (uint64_t)list->capacity + list->known_capacity;
        dev->events->parts -= list->made_parts;
        free_list(NULL, 0, list);
    }
}

void replay_events_finish(struct replay_device *dev)
{
    if (!dev->events)
        return;
    lap_map_each(&dev->events->lists, free_list, NULL);
    lap_map_finish(&dev->events->lists);
    free(dev->events);
    dev->events = NULL;
}

uint32_t replay_events_count(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands)
{
    const struct list *list = list_of(r, dev, commands);
    return list ? list->count : 0;
}

/* Where the steps of a part begin; those of the part behind the last one: where they end. */
static uint32_t first_step(const struct list *list, uint32_t part)
{
    return part > list->part_count ? list->count : part ? list->parts[part - 1].first_step : 0;
}

uint32_t replay_events_write(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands, uint32_t part,
                             struct replay_event_step *out)
{
    const struct list *list = list_of(r, dev, commands);
    uint32_t count = 0, end = list ? first_step(list, part + 1) : 0;

    for (uint32_t i = list ? first_step(list, part) : 0; i < end; i++) {
        const struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkEvent, list->steps[i].event);
        if (object && object->record)
            out[count++] = (struct replay_event_step){object->record, list->steps[i].use};
    }
    return count;
}

/* ---- what is known of events ---- */

/* The event's place, or an empty one; the table has room. */
static struct known *find_known(const struct list *list, uint64_t event)
{
    uint32_t mask = list->known_capacity - 1;
    uint32_t at = (uint32_t)((event * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;

    while (list->known[at].round == list->round && list->known[at].event != event)
        at = (at + 1) & mask;
    return &list->known[at];
}

/* What a wait for it finds behind the commands so far. */
static enum found find(const struct list *list, uint64_t event)
{
    const struct known *known = list->known_count ? find_known(list, event) : NULL;

    if (!known || known->round != list->round)
        return FOUND_NOTHING;
    return known->set ? FOUND_SET : FOUND_RESET;
}

static enum lap_status no_steps(void)
{
    return lap_fail(LAP_ERROR_MEMORY, "out of memory for what command buffers wait for");
}

/* Counts room for so many steps more. */
static enum lap_status take_steps(struct replay *r, struct replay_device *dev, uint64_t more)
{
    uint64_t steps = more;

    for (const struct replay_device *each = r->devices; each; each = each->next)
        steps += each->events && each != dev ? each->events->steps : 0;
    if (dev->events->steps + steps > STEPS_MOST)
        return lap_fail(LAP_ERROR_LIMIT, "what command buffers do with events takes more than %u million steps",
                        (unsigned)(STEPS_MOST >> 20));
    dev->events->steps += more;
    return LAP_OK;
}

/* Room for one event more. */
static enum lap_status need_known(struct replay *r, struct replay_device *dev, struct list *list)
{
    struct list more = *list;
    enum lap_status status;

    if (2 * (list->known_count + 1) <= list->known_capacity)
        return LAP_OK;
    more.known_capacity = list->known_capacity ? 2 * list->known_capacity : 8;
    status = take_steps(r, dev, more.known_capacity - list->known_capacity);
    if (status != LAP_OK)
        return status;
    more.known = calloc(more.known_capacity, sizeof *more.known);
    if (!more.known) {
        dev->events->steps -= more.known_capacity - list->known_capacity;
        return no_steps();
    }
    if (!more.round)
        more.round = 1;
    for (uint32_t i = 0; i < list->known_capacity; i++)
        if (list->known[i].round == list->round)
            *find_known(&more, list->known[i].event) = list->known[i];
    free(list->known);
    *list = more;
    return LAP_OK;
}

/* A step comes behind those so far. */
static enum lap_status know(struct replay *r, struct replay_device *dev, struct list *list, struct step *step)
{
    enum lap_status status = need_known(r, dev, list);
    struct known *known;

    if (status != LAP_OK)
        return status;
    known = find_known(list, step->event);
    if (known->round != list->round) {
        *known = (struct known){.event = step->event, .round = list->round};
        list->known_count++;
    } else if (step->use == REPLAY_EVENT_WAIT && step->found == FOUND_NOTHING) {
        step->found = known->set ? FOUND_SET : FOUND_RESET;
    }
    list->waits = list->waits || (step->use == REPLAY_EVENT_WAIT && step->found != FOUND_SET);
    known->set = step->use != REPLAY_EVENT_RESET; /* a wait is over when it is set */
    return LAP_OK;
}

/* ---- commands ---- */

/* NULL when there is no memory. */
static struct list *need_list(struct replay *r, struct replay_device *dev, VkCommandBuffer commands)
{
    struct list *list = list_of(r, dev, commands);

    if (list)
        return list;
    list = calloc(1, sizeof *list);
    if (!list || lap_map_put(&dev->events->lists, index_of(r, commands), list, NULL) != LAP_OK) {
        free(list);
        list = NULL;
    }
    return list;
}

/* Room for so many steps more. */
static enum lap_status need_steps(struct replay *r, struct replay_device *dev, struct list *list, uint32_t count)
{
    uint64_t capacity = 2 * ((uint64_t)list->count + count), more = capacity - list->capacity;
    struct step *steps;
    enum lap_status status;

    if (count <= list->capacity - list->count)
        return LAP_OK;
    status = take_steps(r, dev, more);
    if (status != LAP_OK)
        return status;
    steps = realloc(list->steps, capacity * sizeof *steps);
    if (!steps) {
        dev->events->steps -= more;
        return no_steps();
    }
    list->steps = steps;
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
        return no_steps();
    status = need_steps(r, dev, list, count);
    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        list->steps[list->count] = steps[i];
        status = know(r, dev, list, &list->steps[list->count]);
        list->count += status == LAP_OK;
    }
    return status;
}

/* The program may ask for what a command leaves behind. */
static enum lap_status tell(struct replay *r, struct replay_device *dev, VkCommandBuffer commands)
{
    struct list *list = need_list(r, dev, commands);

    if (list)
        list->told = true;
    return list ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory for what command buffers tell");
}

static enum lap_status add_event(struct replay *r, struct replay_device *dev, VkCommandBuffer commands, VkEvent event,
                                 enum replay_event_use use)
{
    struct step step = {replay_object_index(r, GEN_HANDLE_VkEvent, gen_u64_VkEvent(event)), use, FOUND_NOTHING};

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

enum lap_status replay_events_note_executed(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                            VkCommandBuffer secondary, uint32_t part)
{
    const struct list *list = list_of(r, dev, secondary);
    enum lap_status status = LAP_OK;

    if (!list || secondary == commands)
        return LAP_OK;
    if (part < list->part_count || list->told) /* where another one begins, something was told */
        status = tell(r, dev, commands);
    return status != LAP_OK ? status
                            : add(r, dev, commands, list->steps + first_step(list, part),
                                  first_step(list, part + 1) - first_step(list, part));
}

enum lap_status replay_events_note(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                   const void *args)
{
    enum lap_status status = LAP_OK;

    switch (r->command) {
    case GEN_vkCmdSetEvent:
        status = tell(r, dev, commands);
        return status != LAP_OK ? status
                                : add_event(r, dev, commands, ((const struct gen_args_vkCmdSetEvent *)args)->event,
                                            REPLAY_EVENT_SET);
    case GEN_vkCmdSetEvent2:
        status = tell(r, dev, commands);
        return status != LAP_OK ? status
                                : add_event(r, dev, commands, ((const struct gen_args_vkCmdSetEvent2 *)args)->event,
                                            REPLAY_EVENT_SET);
    case GEN_vkCmdEndQuery:
    case GEN_vkCmdEndQueryIndexedEXT:
    case GEN_vkCmdWriteTimestamp:
    case GEN_vkCmdWriteTimestamp2:
        return tell(r, dev, commands);
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
        for (uint32_t i = 0; i < a->commandBufferCount && status == LAP_OK; i++)
            status = replay_events_note_executed(r, dev, commands, a->pCommandBuffers[i], 0);
        return status;
    }
    default:
        return LAP_OK;
    }
}

/* ---- parts ---- */

static bool waits_for_one(struct replay *r, const struct list *list, uint32_t count, const VkEvent *events)
{
    for (uint32_t i = 0; events && i < count; i++)
        if (replay_event_of(r, events[i]) &&
            find(list, replay_object_index(r, GEN_HANDLE_VkEvent, gen_u64_VkEvent(events[i]))) != FOUND_SET)
            return true;
    return false;
}

/* Whether steps of a secondary command buffer wait for an event that is not set when they are executed now. */
static bool waits_within(const struct list *list, const struct list *secondary, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; secondary->waits && i < end; i++) {
        const struct step *step = &secondary->steps[i];
        if (step->use == REPLAY_EVENT_WAIT &&
            (step->found == FOUND_RESET || (step->found == FOUND_NOTHING && find(list, step->event) != FOUND_SET)))
            return true;
    }
    return false;
}

bool replay_events_waits(struct replay *r, const struct replay_device *dev, VkCommandBuffer secondary)
{
    const struct list *list = list_of(r, dev, secondary);
    return list && list->waits;
}

bool replay_events_told(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands)
{
    const struct list *list = list_of(r, dev, commands);
    return list && list->told;
}

bool replay_events_divide_executed(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands,
                                   VkCommandBuffer secondary, uint32_t part)
{
    const struct list *list = list_of(r, dev, commands), *executed = list_of(r, dev, secondary);

    return list && list->told && executed &&
           waits_within(list, executed, first_step(executed, part), first_step(executed, part + 1));
}

bool replay_events_divide(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands, const void *args)
{
    const struct list *list = NULL;

    if (r->command == GEN_vkCmdWaitEvents || r->command == GEN_vkCmdWaitEvents2 ||
        r->command == GEN_vkCmdExecuteCommands)
        list = list_of(r, dev, commands);
    if (!list || !list->told)
        return false;
    if (r->command == GEN_vkCmdWaitEvents) {
        const struct gen_args_vkCmdWaitEvents *a = args;
        return waits_for_one(r, list, a->eventCount, a->pEvents);
    }
    if (r->command == GEN_vkCmdWaitEvents2) {
        const struct gen_args_vkCmdWaitEvents2 *a = args;
        return waits_for_one(r, list, a->eventCount, a->pEvents);
    }
    const struct gen_args_vkCmdExecuteCommands *a = args;
    for (uint32_t i = 0; a->pCommandBuffers && i < a->commandBufferCount; i++) {
        const struct list *executed = list_of(r, dev, a->pCommandBuffers[i]);
        if (executed && waits_within(list, executed, 0, executed->count))
            return true;
    }
    return false;
}

/* Of the same pool, so that they are reset with it. */
static enum lap_status make_part(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                 struct list *list)
{
    bool secondary;
    uint64_t pool = replay_command_buffer_pool(r, commands, &secondary);
    const struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkCommandPool, pool);
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = gen_VkCommandPool(object ? object->live : 0),
                                        .level = secondary ? VK_COMMAND_BUFFER_LEVEL_SECONDARY
                                                           : VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = 1};
    uint64_t parts = dev->events->parts;
    enum lap_status status;

    for (const struct replay_device *each = r->devices; each; each = each->next)
        parts += each->events && each != dev ? each->events->parts : 0;
    if (parts >= PARTS_MOST)
        return lap_fail(LAP_ERROR_LIMIT, "command buffers have more than %u million parts",
                        (unsigned)(PARTS_MOST >> 20));
    if (list->made_parts == list->part_capacity) {
        uint32_t capacity = list->part_capacity ? 2 * list->part_capacity : 4;
        struct part *more = realloc(list->parts, capacity * sizeof *more);
        if (!more)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for a part of a command buffer");
        list->parts = more;
        list->part_capacity = capacity;
    }
    if (!object)
        return replay_absent(r, "commandPool");
    status = replay_result(r, dev->vk.AllocateCommandBuffers(dev->live, &info, &list->parts[list->made_parts].live));
    list->made_parts += status == LAP_OK;
    dev->events->parts += status == LAP_OK;
    return status;
}

enum lap_status replay_events_add_part(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                       VkCommandBuffer *out_part)
{
    struct list *list = need_list(r, dev, commands);
    enum lap_status status = list ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory for a part of a command buffer");

    if (status == LAP_OK && list->part_count == list->made_parts)
        status = make_part(r, dev, commands, list);
    if (status != LAP_OK)
        return status;
    list->parts[list->part_count].first_step = list->count;
    *out_part = list->parts[list->part_count++].live;
    list->told = false;
    return LAP_OK;
}

uint32_t replay_events_parts(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands)
{
    const struct list *list = list_of(r, dev, commands);
    return list ? list->part_count + 1 : 1;
}

VkCommandBuffer replay_events_part(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands,
                                   uint32_t number)
{
    const struct list *list = number ? list_of(r, dev, commands) : NULL;
    return list && number <= list->part_count ? list->parts[number - 1].live : commands;
}

/* ---- events ---- */

struct replay_event *replay_event_of(struct replay *r, VkEvent event)
{
    struct replay_object *object =
        replay_object_get(r, GEN_HANDLE_VkEvent, replay_object_index(r, GEN_HANDLE_VkEvent, gen_u64_VkEvent(event)));
    return object ? object->record : NULL;
}

enum lap_status replay_CreateEvent(struct replay *r, struct replay_device *dev, struct gen_args_vkCreateEvent *args)
{
    uint64_t index = gen_u64_VkEvent(*args->pEvent);
    VkEvent live = VK_NULL_HANDLE;
    struct replay_object *object;
    enum lap_status status = replay_result(r, dev->vk.CreateEvent(dev->live, args->pCreateInfo, NULL, &live));

    if (status == LAP_OK)
        status = gen_keep_VkEvent(r, dev, args->pEvent, &live, 1);
    if (status != LAP_OK || !index || args->pCreateInfo->flags & VK_EVENT_CREATE_DEVICE_ONLY_BIT)
        return status;
    object = replay_object_get(r, GEN_HANDLE_VkEvent, index);
    if (object)
        object->record = calloc(1, sizeof(struct replay_event));
    return object && object->record ? need_events(r, dev) : replay_no_scratch(r);
}

enum lap_status replay_DestroyEvent(struct replay *r, struct replay_device *dev, struct gen_args_vkDestroyEvent *args)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkEvent, gen_u64_VkEvent(args->event));
    struct replay_event *known = replay_event_of(r, args->event);

    if (known && replay_submits_name_event(dev, known))
        return replay_fail(r, "VkEvent:%" PRIu64 " is destroyed before the work that names it", index);
    if (known)
        replay_submits_forget_event(dev, known);
    replay_pending_destroy(dev, GEN_HANDLE_VkEvent, gen_u64_VkEvent(args->event));
    free(known);
    replay_object_remove(r, GEN_HANDLE_VkEvent, index);
    return LAP_OK;
}

enum lap_status replay_SetEvent(struct replay *r, struct replay_device *dev, struct gen_args_vkSetEvent *args)
{
    enum lap_status status = replay_result(r, dev->vk.SetEvent(dev->live, args->event));

    return status == LAP_OK ? replay_submits_set_event(dev, replay_event_of(r, args->event)) : status;
}

enum lap_status replay_ResetEvent(struct replay *r, struct replay_device *dev, struct gen_args_vkResetEvent *args)
{
    struct replay_event *known = replay_event_of(r, args->event);

    if (known)
        replay_schedule_reset(known);
    return replay_result(r, dev->vk.ResetEvent(dev->live, args->event));
}
