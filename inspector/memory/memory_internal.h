/* SPDX-License-Identifier: MIT */
/* Shared by memory_state.c (objects), host_writes.c, device_writes.c (commands) and memory_read.c (answers). */
#ifndef LAP_INSPECTOR_MEMORY_INTERNAL_H
#define LAP_INSPECTOR_MEMORY_INTERNAL_H

#include "base/arena.h"
#include "base/map.h"
#include "inspector/memory/gates.h"
#include "inspector/memory/memory_state.h"
#include "inspector/state/bound_walk.h"
#include "inspector/state/shader_stores.h"

#define MEMORY_PLANES    4u
#define MEMORY_MOST_ROWS (UINT64_C(1) << 22) /* of a copy; more: the device writes all of it */

/* Memory that several VkDeviceMemory may share. */
struct memory_space {
    struct memory_store bytes;
    struct memory_store addressable; /* where shaders can store by address: runs of an event without meaning */
    bool is_foreign;                 /* others may write it, too */
    bool is_lost;                    /* sparse objects may write it, which are not followed */
};

struct memory_place { /* of a VkDeviceMemory */
    struct memory_space *space;
    uint64_t base;
    bool is_shared; /* the space is in the map of spaces */
};

struct memory_buffer {
    uint64_t size;
    bool has_address, is_sparse;
    struct memory_space *space; /* NULL: no memory is bound */
    uint64_t begin;             /* in the space */
};

struct memory_image {
    uint64_t index;
    VkImageCreateInfo info;
    struct {
        struct memory_space *space;
        uint64_t begin, end;
    } planes[MEMORY_PLANES]; /* or the whole */
    uint32_t plane_count;
    bool is_presentable;
    bool is_lost; /* texels that nobody wrote are not known either: something else in its memory was written */
    struct memory_event *owner; /* of its bytes in the spaces */
    struct lap_map stores;      /* struct memory_store, by subresource */
};

struct memory_view {
    uint64_t buffer, offset, bytes;
};

struct memory_sweep {           /* work that may have written anywhere */
    struct memory_event *event; /* NULL: none */
    uint64_t serial;
};

struct memory_state {
    const struct lap_reader *trace;
    const struct memory_wish *wish;
    struct lap_map memories, spaces, buffers, images, views;
    struct lap_arena arena;    /* of these */
    struct memory_event *mark; /* of addressable ranges */
    struct shader_stores shaders;
    struct gates gates;
    /* Work that waits for the host writes again when it may run, later than its place in the trace. */
    struct memory_late {
        struct memory_space *space; /* NULL: the image */
        uint64_t begin, end, image;
        struct memory_event *event;
    } * late;
    size_t late_count, late_capacity;
    uint64_t opened; /* gates.opened, as far as late writes were done */
    size_t segments;
    uint64_t copied;     /* runs */
    uint64_t late_again; /* late writes that were done while other gates were closed */
    uint64_t serial;     /* grows with each write that is noted */
    struct memory_sweep everything, by_address;
    struct lap_arena scratch;
    bool has_heap; /* descriptors are in a heap */
    /* The stores of the last draw or dispatch that stores. */
    struct {
        const struct bound *bound; /* its command buffer's; NULL: none */
        struct memory_event *event;
        uint64_t serial, run, pipeline;
        uint32_t last_bind;
    } last_work;
    uint64_t run;                    /* counts command buffers that are run */
    struct memory_event *pass_event; /* of the render pass that is open; NULL: none */
    struct bound_visit visit;        /* the command that is looked at */
    struct memory_reading *reading;  /* memory_read.c's, on the first question */
    enum lap_status status;          /* latched */
};

enum lap_status memory_no_memory(void);
void memory_fail(struct memory_state *m, enum lap_status status); /* latches it */

/* Whether the command that is looked at may wait for the host. If so, all its writes count as the device's. */
static inline bool memory_is_late(const struct memory_state *m)
{
    return m->gates.closed_count != 0;
}

/* A new event of the command that is looked at; NULL: no memory, which is latched. */
struct memory_event *memory_command_event(struct memory_state *m, enum memory_kind kind);

/* ---- writes: errors are latched ---- */

void memory_put_buffer(struct memory_state *m, uint64_t buffer, uint64_t offset, uint64_t bytes,
                       struct memory_event *event, uint64_t skip); /* bytes UINT64_MAX: to its end */

/* One layer of a level of an aspect. */
struct memory_region {
    uint32_t level, layer;
    VkImageAspectFlags aspect;
    VkOffset3D offset;
    VkExtent3D extent;
};
bool memory_image_is_large(const struct memory_image *image);
struct memory_image *memory_find_image(struct memory_state *m, uint64_t image); /* NULL: it is not followed */
/* The block of the aspect's texels, of one plane; false: effects of copies on the image are not known in bytes. */
bool memory_region_block(const struct memory_image *image, VkImageAspectFlags aspect, struct lap_texel_block *out);
/* In front of a write to it. */
void memory_begin_image_write(struct memory_state *m, struct memory_image *image);
void memory_put_region(struct memory_state *m, struct memory_image *image, const struct memory_region *region,
                       struct memory_event *event);
/* All levels and layers of a range, with all aspects or planes that it names. */
void memory_put_range(struct memory_state *m, struct memory_image *image, const VkImageSubresourceRange *range,
                      struct memory_event *event);
void memory_put_whole(struct memory_state *m, struct memory_image *image, struct memory_event *event);
void memory_sweep(struct memory_state *m, struct memory_sweep *sweep, struct memory_event *event);

/* When a gate was opened. */
void memory_write_late(struct memory_state *m);

/* ---- copies ---- */

/* Where bytes come from or go to: a space, or a subresource's store. */
struct memory_side {
    struct memory_space *space; /* NULL: a store of an image */
    struct memory_store *store; /* NULL: nothing was written there, or nothing can be kept */
    bool is_lost;               /* the gaps of the store are not known */
    uint64_t at;
};
bool memory_side_of_buffer(struct memory_state *m, uint64_t buffer, uint64_t offset, struct memory_side *out);
/* The store is made for a write, and an image that lost its contents to others is found lost. */
bool memory_side_of_image(struct memory_state *m, struct memory_image *image, VkImageAspectFlags aspect, uint32_t level,
                          uint32_t layer, bool writes, struct memory_side *out);
void memory_copy(struct memory_state *m, const struct memory_side *from, const struct memory_side *to, uint64_t bytes,
                 struct memory_event *copy);

/* The present state of a run of bytes, after the work that swept over it. origin NULL: nobody wrote it. */
struct memory_run {
    struct memory_event *origin, *copy;
    uint64_t skip, end;
    bool is_lost; /* with no origin: it is not known */
};
void memory_look(const struct memory_state *m, const struct memory_side *side, uint64_t begin, uint64_t end,
                 struct memory_run *out);

static inline uint64_t memory_divide_up(uint64_t number, uint64_t by)
{
    return (number + by - 1) / by;
}

static inline bool memory_is_one_aspect(VkImageAspectFlags aspect)
{
    return aspect && !(aspect & (aspect - 1));
}

/* The texels of a level in one direction. */
static inline uint32_t memory_level_size(uint32_t size, uint32_t level)
{
    uint32_t result = level < 32 ? size >> level : 0;
    return result ? result : 1;
}

/* Bytes of a level of an aspect, and its blocks in each direction; 0: not known. */
uint64_t memory_level_bytes(const struct memory_image *image, VkImageAspectFlags aspect, uint32_t level,
                            uint64_t *out_row_blocks, uint64_t *out_rows);

/* host_writes.c: calls that write contents, lose those of images, or drop them. */
void memory_see_write(struct memory_state *m, const struct trace_call *call);
void memory_lose_images(struct memory_state *m, const struct trace_call *call);
#ifdef VK_EXT_host_image_copy
void memory_see_transitions(struct memory_state *m, const struct trace_call *call);
#endif
void memory_forget_image(struct memory_image *image); /* its stores */

void memory_answers_end(struct memory_state *m); /* memory_read.c */

/* device_writes.c: a command that ran. */
enum lap_status memory_see_command(void *user, const struct bound_visit *visit);

#endif
