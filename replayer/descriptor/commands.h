/* SPDX-License-Identifier: MIT */
/*
 * commands: the state of one command buffer for descriptors in buffers (sets.c). A set that the trace binds at an
 * address with a layout is a region: recorded bytes there, and room of this driver's layout in a buffer of the command
 * buffer's own (a chunk). Recorded bytes are read before the command buffer begins. Where its own copies change them
 * (copies.c), they are read from the sources of the copies (jobs.c).
 */
#ifndef LAP_REPLAYER_DESCRIPTOR_COMMANDS_H
#define LAP_REPLAYER_DESCRIPTOR_COMMANDS_H

#include "replayer/descriptor/descriptor_internal.h"

#define REPLAY_MOST_BOUND    64u /* descriptor buffers; drivers allow 32 */
#define REPLAY_MOST_SETS     32u /* of a bind point */
#define REPLAY_POINTS        3u  /* graphics, compute, ray tracing */
#define REPLAY_PATTERN_BYTES REPLAY_DESCRIPTOR_BYTES

struct replay_region {
    VkDeviceAddress from, end; /* recorded bytes of the set, and where their buffer ends */
    struct replay_descriptor_layout *layout;
    VkDeviceAddress to;
    VkDeviceSize offset; /* of `to` in its chunk */
    uint32_t chunk;
    uint32_t copies; /* frozen: those before this one hold */
    bool frozen;     /* later copies change the recorded bytes for later work */
    uint64_t work;   /* the count of work when it was first bound */
};

/* Bytes that the command buffer writes into a descriptor buffer. */
struct replay_descriptor_copy {
    VkDeviceAddress to, end;
    VkDeviceAddress from; /* address, or an offset in the data */
    bool pattern;         /* REPLAY_PATTERN_BYTES of data, again and again */
};

/* Bytes of a buffer without descriptors that the command buffer writes. */
struct replay_written {
    VkDeviceAddress begin, end;
};

struct replay_bound_set {
    struct replay_descriptor_layout *layout; /* its region's; NULL: none is bound */
    VkDeviceAddress from, end;
    VkPipelineLayout pipeline_layout;
    uint32_t region;
};

/* A heap that the command buffer binds (heaps.h). */
struct replay_heap_use {
    struct replay_shadow *shadow;
    bool bound, worked; /* now; work followed */
};

struct replay_descriptor_commands {
    struct replay_own_buffer *chunks; /* the last one is bound */
    size_t chunk_count, chunk_capacity;
    VkDeviceSize used; /* of the last one */
    bool chunk_bound;
    struct replay_region *regions;
    size_t region_count, region_capacity;
    uint32_t *index; /* regions by hash, plus 1; 0: free */
    size_t index_size;
    struct replay_descriptor_copy *copies;
    size_t copy_count, copy_capacity;
    unsigned char *data;
    size_t data_bytes, data_capacity;
    struct replay_descriptor_job *jobs;
    size_t job_count, job_capacity;
    VkDeviceAddress bound[REPLAY_MOST_BOUND], bound_ends[REPLAY_MOST_BOUND];
    struct replay_bound_set sets[REPLAY_POINTS][REPLAY_MOST_SETS];
    uint64_t work;
    bool dispatched;                /* shaders may have stored */
    struct replay_written *written; /* to notice descriptors that it copies on */
    size_t written_count, written_capacity;
    struct replay_heap_use *heaps;
    size_t heap_count, heap_capacity;
    struct replay_descriptor_copy *heap_copies; /* into buffers that may be heaps */
    size_t heap_copy_count, heap_copy_capacity;
    struct replay_translation translation;
    bool translates; /* translation is recorded and has to precede the command buffer */
};

struct replay_descriptor_commands *replay_descriptor_commands_of(const struct replay_device *dev,
                                                                 VkCommandBuffer commands); /* NULL: none */
/* How many elements of a binding lie in the region's recorded buffer. */
uint32_t replay_region_elements(const struct replay_region *region, const struct replay_descriptor_binding *binding);
/* Bound sets whose regions were frozen get new ones. */
enum lap_status replay_regions_thaw(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                    struct replay_descriptor_commands *c) LAP_MUST_CHECK;
/* Jobs of all regions, in c->jobs. */
enum lap_status replay_regions_make_jobs(struct replay *r, struct replay_descriptor_commands *c) LAP_MUST_CHECK;
enum lap_status replay_descriptors_no_memory(struct replay *r);

#endif
