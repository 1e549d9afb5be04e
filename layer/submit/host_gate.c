/* SPDX-License-Identifier: MIT */
#include "layer/submit/host_gate.h"

#include "gen_layer.h"

/* ---- semaphores ---- */

static struct layer_semaphore *semaphore_of(struct layer_device *dev, const struct layer_point *point)
{
    struct layer_semaphore *record = lap_map_get(dev->tables.maps[GEN_HANDLE_VkSemaphore], point->handle);
    return record && record->object.index == point->semaphore ? record : NULL;
}

bool layer_host_gate_is_shut(struct layer_device *dev, const struct layer_point *point)
{
    const struct layer_semaphore *record = semaphore_of(dev, point);
    return record && point->value > record->open &&
           point->value > atomic_load_explicit(&record->known, memory_order_relaxed);
}

void layer_host_gate_signalled(struct layer_device *dev, const struct layer_point *point)
{
    struct layer_semaphore *record = semaphore_of(dev, point);
    if (record && point->value > record->open)
        record->open = point->value;
}

/* ---- events ---- */

static struct layer_event *event_of(struct layer_device *dev, uint64_t handle, uint64_t index)
{
    struct layer_event *record = lap_map_get(dev->tables.maps[GEN_HANDLE_VkEvent], handle);
    return record && record->object.index == index ? record : NULL;
}

bool layer_host_gate_step(struct layer_device *dev, const struct layer_event_step *step, struct layer_host_gate *out)
{
    struct layer_event *event = event_of(dev, step->event, step->index);
    if (!event)
        return false;
    switch (step->kind) {
    case LAYER_EVENT_SET:
        event->set = true;
        return false;
    case LAYER_EVENT_RESET:
        if (event->set)
            event->spent = event->awaited > event->host_sets ? event->awaited : event->host_sets;
        event->set = false;
        return false;
    case LAYER_EVENT_WAITED_FOR:
        break;
    }
    if (event->set)
        return false;
    event->set = true; /* for later commands */
    event->awaited = event->spent + 1;
    *out = (struct layer_host_gate){step->event, step->index, event->awaited};
    return true;
}

void layer_host_gate_host_set(struct layer_device *dev, VkEvent handle)
{
    struct layer_event *event = LAYER_GET(dev, VkEvent, handle);
    if (!event || (event->set && event->awaited <= event->host_sets))
        return;
    event->host_sets++;
    if (event->host_sets > event->spent)
        event->set = true;
}

void layer_host_gate_host_reset(struct layer_device *dev, VkEvent handle)
{
    struct layer_event *event = LAYER_GET(dev, VkEvent, handle);
    if (!event)
        return;
    event->set = false;
    event->spent = event->host_sets;
}

static bool is_awaited(struct layer_device *dev, const struct layer_host_gate *gate)
{
    const struct layer_event *event = event_of(dev, gate->event, gate->index);
    return event && event->host_sets < gate->number;
}

/* ---- submitted work ---- */

bool layer_host_gate_on_queue(const struct layer_device *dev, VkQueue queue)
{
    for (const struct layer_submission *s = dev->submit.gated_count ? dev->submit.first : NULL; s; s = s->next)
        if (s->gated && s->queue == queue)
            return true;
    return false;
}

void layer_host_gate_shut(struct layer_device *dev, struct layer_submission *submission)
{
    dev->submit.gated_count += !submission->gated;
    submission->gated = true;
}

void layer_host_gate_lift(struct layer_device *dev, struct layer_submission *submission)
{
    if (!submission->gated)
        return;
    submission->gated = false;
    dev->submit.gated_count--;
    for (uint32_t i = 0; i < submission->gate_count; i++) {
        struct layer_event *event = event_of(dev, submission->gates[i].event, submission->gates[i].index);
        if (event && event->host_sets < submission->gates[i].number) /* set by other means than a recorded vkSetEvent */
            event->host_sets = submission->gates[i].number;
    }
    for (uint32_t i = 0; i < submission->signal_count; i++)
        layer_host_gate_signalled(dev, &submission->signals[i]);
}

static bool waits(struct layer_device *dev, const struct layer_submission *submission)
{
    for (uint32_t i = 0; i < submission->gate_count; i++)
        if (is_awaited(dev, &submission->gates[i]))
            return true;
    for (uint32_t i = 0; i < submission->wait_count; i++)
        if (layer_host_gate_is_shut(dev, &submission->waits[i]))
            return true;
    for (const struct layer_submission *s = dev->submit.first; s != submission; s = s->next)
        if (s->gated && s->queue == submission->queue)
            return true;
    return false;
}

uint64_t layer_host_gate_open(struct layer_device *dev, struct lap_touched *opened)
{
    uint64_t oldest = UINT64_MAX;
    bool again = true;
    while (again && dev->submit.gated_count) {
        again = false;
        for (struct layer_submission *s = dev->submit.first; s; s = s->next) {
            if (!s->gated || waits(dev, s))
                continue;
            layer_host_gate_lift(dev, s);
            layer_submission_writes_to(dev, s, opened);
            opened->everything |= s->anywhere;
            oldest = s->serial < oldest ? s->serial : oldest;
            again = true; /* others may wait for its signals, in front of it, too */
        }
    }
    return oldest;
}
