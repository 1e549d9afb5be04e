/* SPDX-License-Identifier: MIT */
/*
 * heaps: descriptors that a program keeps in heaps (VK_EXT_descriptor_heap), in a replay whose driver has other bytes
 * for them, of other sizes (docs/memory.md, "Descriptor heaps").
 *
 * The trace's heaps keep the recorded bytes. For each range that is bound there is a shadow, a heap of the replay's own
 * with this driver's descriptors at the same offsets, or at those offsets times a scale where they need more room.
 * Right before a command buffer that binds it, changed descriptors are translated (heap_translate.h). The functions of
 * descriptor_buffers.h call these. One thread.
 */
#ifndef LAP_REPLAYER_DESCRIPTOR_HEAPS_H
#define LAP_REPLAYER_DESCRIPTOR_HEAPS_H

#include "base/map.h"
#include "replayer/descriptor/commands.h"
#include "replayer/descriptor/heap_translate.h"
#include "vulkan/heap_sizes.h"

#define REPLAY_MOST_SCALE 64u

/* A type of descriptors, on the recorded driver (from) and on this one (to). Types of one recorded size are a class,
 * which is a kind of the table: the trace does not have the type at a place. */
struct replay_heap_type {
    uint32_t type, from, alignment, to, class;
    uint32_t stride; /* the result of OpConstantSizeOfEXT */
};

enum replay_heap_kind { REPLAY_HEAP_RESOURCES, REPLAY_HEAP_SAMPLERS, REPLAY_HEAP_KINDS };

struct replay_heap_room {
    uint32_t classes; /* bit N: class N lies in heaps of the kind */
    uint32_t place;   /* bytes; recorded descriptors begin at multiples of it */
    uint32_t scale;
    /* Of this driver. */
    VkDeviceSize alignment, reserved_alignment, reserved, most;
};

/* This driver's heap for a range of the trace's. */
struct replay_shadow {
    enum replay_heap_kind kind;
    VkDeviceAddress from; /* live address of the trace's */
    VkDeviceSize bytes;
    struct replay_own_buffer heap, seen;
    VkDeviceAddress to;
    VkDeviceSize to_bytes, reserved_offset;
};

struct replay_heaps {
    struct replay_heap_type types[LAP_HEAP_TYPES];
    uint32_t type_count; /* 0: not in the trace */
    struct replay_heap_room room[REPLAY_HEAP_KINDS];
    struct replay_descriptor_table table;
    struct replay_heap_translator translator;
    struct replay_shadow **shadows;
    size_t shadow_count, shadow_capacity;
    struct lap_map known; /* struct replay_heap_known by hash of class and recorded bytes */
    struct replay_heap_known **addresses;
    size_t address_count, address_capacity;
    bool same_strides, ambiguous;
};

/* Whether info enables heaps. */
bool replay_heaps_wanted(const struct replay_device *dev, const VkDeviceCreateInfo *info);
/* With the device, which has dev->descriptors.buffers. Nothing unless heaps are wanted. */
enum lap_status replay_heaps_create(struct replay *r, struct replay_device *dev,
                                    const VkDeviceCreateInfo *info) LAP_MUST_CHECK;
void replay_heaps_destroy(struct replay *r, struct replay_device *dev);
/* Buffers got other addresses, in the recorded range: descriptors of them are made anew. */
enum lap_status replay_heaps_renew(struct replay *r, struct replay_device *dev, VkDeviceAddress begin,
                                   VkDeviceAddress end) LAP_MUST_CHECK;

/* For the commands of command buffers (heap_commands.c); c is their state. */
enum lap_status replay_heaps_note(struct replay *r, struct replay_device *dev, struct replay_descriptor_commands *c,
                                  uint32_t command, const void *args) LAP_MUST_CHECK;
/* A secondary command buffer of the current one. */
enum lap_status replay_heaps_note_executed(struct replay *r, struct replay_descriptor_commands *c,
                                           const struct replay_descriptor_commands *secondary) LAP_MUST_CHECK;
/* The jobs of all that it binds, in the replay's scratch memory. A `from` below c->data_bytes is an offset there. */
enum lap_status replay_heaps_make_jobs(struct replay *r, const struct replay_device *dev,
                                       const struct replay_descriptor_commands *c, struct replay_heap_job **out,
                                       size_t *out_count) LAP_MUST_CHECK;

#endif
