/* SPDX-License-Identifier: MIT */
/* descriptor_internal: shared by the files of this folder. */
#ifndef LAP_REPLAYER_DESCRIPTOR_DESCRIPTOR_INTERNAL_H
#define LAP_REPLAYER_DESCRIPTOR_DESCRIPTOR_INTERNAL_H

#include "base/map.h"
#include "replayer/descriptor/table.h"
#include "replayer/descriptor/translate.h"

/* One binding of a set, on the recorded driver (from) and on this one (to). */
struct replay_descriptor_binding {
    enum lap_descriptor_kind kind;
    uint32_t kinds, count;
    uint64_t from, to; /* offsets in the set */
    uint32_t from_stride, to_stride;
    uint32_t from_samplers, to_samplers; /* strides of samplers behind images, or 0 */
};

/* A set layout. Command buffers refer to it after the trace's object has ended. */
struct replay_descriptor_layout {
    uint32_t references;
    bool recorded; /* its recorded places are known */
    uint64_t to_bytes;
    uint32_t count;
    uint32_t *numbers; /* of the bindings */
    struct replay_descriptor_binding bindings[];
};

/* The record of a pipeline layout. */
struct replay_descriptor_pipeline_layout {
    uint32_t count;
    struct replay_descriptor_layout *sets[]; /* NULL: a set that lies in no buffer */
};

/* A descriptor that names an address: the address may be another buffer's later. */
struct replay_descriptor_address {
    enum lap_descriptor_kind kind;
    VkDeviceAddress recorded;
    VkDeviceSize range;
    VkFormat format;
    VkDeviceAddress made_of; /* the live address when it was last made */
    uint32_t from_bytes;
    unsigned char from[REPLAY_DESCRIPTOR_BYTES];
};

struct replay_heaps;

struct replay_descriptor_buffers {
    bool has_buffers;                  /* the program enabled descriptor buffers */
    struct replay_heaps *heaps;        /* heaps.h; NULL: it enabled no descriptor heaps */
    struct lap_descriptor_sizes sizes; /* this driver's */
    struct replay_descriptor_table table;
    struct replay_translator translator;
    struct lap_map layouts, pipeline_layouts;   /* by index in the trace */
    struct lap_map commands;                    /* struct replay_descriptor_commands by live handle */
    struct replay_descriptor_commands *playing; /* the command buffer that is being played */
    struct replay_descriptor_address **addresses;
    size_t address_count, address_capacity;
    struct lap_map known_addresses; /* by hash of the recorded bytes: those above */
    uint32_t reported;              /* unknown descriptors that were reported */
    bool may_be_stored;             /* some buffer of descriptors is a storage buffer, too */
    bool warned_stored;             /* of descriptors that a shader may store */
};

struct replay_descriptor_layout *replay_descriptor_layout_keep(struct replay_descriptor_layout *layout);
void replay_descriptor_layout_release(struct replay_descriptor_layout *layout); /* also NULL */

/* Addresses of buffers may be others since the last submit. */
enum lap_status replay_descriptor_buffers_renew(struct replay *r, struct replay_device *dev) LAP_MUST_CHECK;
void replay_descriptor_commands_finish(struct replay *r, struct replay_device *dev);

#endif
