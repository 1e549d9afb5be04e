/* SPDX-License-Identifier: MIT */
/*
 * objects: the objects that live at a ticket of a trace, with their names, memory and last changes; and the changes of
 * objects between two tickets. One pass reads the trace. The module follows calls, not the commands in command buffers.
 * One thread.
 */
#ifndef LAP_INSPECTOR_STATE_OBJECTS_H
#define LAP_INSPECTOR_STATE_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "gen_ids.h"
#include "inspector/analysis/object_lives.h"
#include "trace/read/reader.h"

/* Effects of calls on an object that lives (codegen/effects.toml). */
enum state_change {
    STATE_WRITTEN,   /* the host wrote its contents */
    STATE_DESCRIBED, /* descriptors were written: one for each VkWriteDescriptorSet and VkCopyDescriptorSet */
    STATE_RECORDED,  /* a command buffer, to its end */
    STATE_CHANGED,   /* anything else that changes it */
    STATE_CHANGES
};

struct state_binding { /* of a buffer, an image, or a plane of it */
    uint64_t ticket;
    uint64_t memory; /* VkDeviceMemory; 0: an image of a swapchain */
    uint64_t offset, size;
    VkMemoryPropertyFlags properties; /* of the recorded machine */
    VkImageAspectFlags plane;         /* 0: the whole */
    uint64_t swapchain;
    uint32_t swapchain_image;
    const struct state_binding *before; /* NULL: the first one */
};

struct state_notes {
    struct {
        const char *name; /* of vkSetDebugUtilsObjectNameEXT or vkDebugMarkerSetObjectNameEXT; NULL: none */
        bool mapped;
    } at[2];                             /* at the first ticket, and at the last one */
    const struct state_binding *binding; /* the newest one, up to the last ticket */
    bool has_properties;                 /* of memory: something is bound in it */
    VkMemoryPropertyFlags properties;
    struct {
        uint64_t count;       /* behind the first ticket */
        uint64_t last;        /* ticket, up to the last one; 0: never */
    } changes[STATE_CHANGES]; /* up to the last ticket */
    uint64_t written_bytes;   /* behind the first ticket, as far as packets have them */
    uint16_t changed_by;      /* the call of the last STATE_CHANGED: enum gen_command */
};

struct state_wish {
    uint64_t first,
        last; /* tickets, first <= last, and last is not 0. For one state `first` is 0: counts begin with the trace */
    bool to_end;        /* reads on behind the last ticket, for the ends of objects */
    bool lives_alone;   /* no notes */
    bool up_to_damage;  /* an error before the last ticket leaves *out usable, too */
    uint32_t used_type; /* objects whose creation names this one are found; GEN_HANDLE_NONE: not asked for */
    uint64_t used_index;
    void (*progress)(void *user, uint64_t done, uint64_t all); /* may be NULL */
    void *user;
};

struct state_objects;

/* An error behind the last ticket leaves *out usable, and is returned; an error before the ticket leaves *out NULL. The
 * reader outlives the objects. */
enum lap_status state_objects_find(const struct lap_reader *trace, const struct state_wish *wish,
                                   struct state_objects **out) LAP_MUST_CHECK;
void state_objects_free(struct state_objects **objects); /* also for NULL */

/* All objects that the trace made so far, also those that had ended. */
const struct object_lives *state_objects_lives(const struct state_objects *objects);
/* NULL: there is no such object. */
const struct object_life *state_objects_get(const struct state_objects *objects, uint32_t type, uint64_t index);
/* Of the object with this number in the lives. NULL: nothing is noted of it. */
const struct state_notes *state_objects_notes(const struct state_objects *objects, size_t number);
/* Numbers of the objects whose creation names the wanted one. */
const size_t *state_objects_users(const struct state_objects *objects, size_t *out_count);

#endif
